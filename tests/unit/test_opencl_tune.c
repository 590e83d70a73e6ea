/* SPDX-License-Identifier: Apache-2.0
 * Tiles of products on OpenCL devices: which sizes are in question, which products are measured and
 * in which order, what is kept of that between processes, and what of it is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "targets/opencl/make.h"
#include "targets/opencl/tune.h"
#include "tests/unit/opencl_fixture.h"
#include "tests/unit/program_build.h"

/* A device that is not here. */
typedef struct {
  wick_opencl_type type;
  uint32_t width;
  uint64_t local_kib;
  uint32_t group, items;
} device_text;

static wk_opencl device_of(device_text of) {
  wk_opencl d = {.base = {.target = &wk_target_opencl},
                 .info = {.name = "a", .platform = "b", .version = "c", .driver = "d",
                          .type = of.type, .units = 8, .max_group = of.group,
                          .max_items = {of.items, 1, 1}, .base_align = 256,
                          .float_width = of.width, .memory = UINT64_C(1) << 40,
                          .max_alloc = UINT64_C(1) << 40, .local_memory = of.local_kib << 10},
                 .spec = "a device that is not here", .tune_seconds = 1000};
  d.family = of.type == WICK_OPENCL_CPU ? WK_CL_CPU : WK_CL_GPU;
  return d;
}

typedef struct {
  wk_dtype a, b;
  int64_t batch, m, n, k;
  bool is_input; /* b is none of the constants, and its rows go on to `readable` */
  int64_t readable;
} product;

static void add_product(wk_program *p, const product *v) {
  wk_dtype sum = wk_dtype_is_float(v->a) ? v->a : WK_I32;
  wk_view y = OUT(p, sum, v->batch, v->m, v->n), a = IN(p, v->a, v->batch, v->m, v->k), b;
  if (v->is_input) {
    b = IN(p, v->b, v->batch, v->k, v->readable);
    b.dims[2] = v->n;
  } else {
    b = CONST(p, v->b, v->batch, v->k, v->n);
  }
  append(p, WK_OP_MATMUL, 1, 3, y, a, b);
}

static wk_program *program_of(const product *v) {
  wk_program *p = wk_program_new("product");
  add_product(p, v);
  return p;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* "key: rows x vectors/parts of the sum, …", the sizes in question. */
static wk_str asked_of(const wk_opencl *device, const wk_program *p, const wk_cl_tiles *tiles) {
  wk_opencl d = *device;
  wk_cl_unit u;
  wk_str text = {0};
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "m", .compiler = "", .flags = ""});
  d.base.spec = d.spec;
  wk_cl_unit_begin(&u, &d, pkg);
  u.tiles = tiles;
  u.is_trial = true;
  assert_null(wk_cl_add_inst(&u, p, p->body.insts.data[0]));
  wk_str_printf(&text, "%s:", u.asked.key);
  for (int k = 0; k < u.asked.n; k++) {
    wk_cl_tile_size size = u.asked.sizes[k];
    wk_str_printf(&text, " %dx%d", size.rows, size.vectors);
    if (size.split > 1) wk_str_printf(&text, "/%d", size.split);
  }
  wk_cl_unit_finish(&u);
  wk_package_free(pkg);
  return text;
}

static void sizes(void **state) {
  static const struct {
    product of;
    device_text on;
    const char *asked;
  } cases[] = {
#include "tests/unit/opencl_tiles.def"
  };
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_opencl d = device_of(cases[i].on);
    wk_program *p = program_of(&cases[i].of);
    wk_str got = asked_of(&d, p, NULL);
    if (strcmp(got.s, cases[i].asked) && ++bad)
      print_message("it was \"%s\"\nit is  \"%s\"\n", cases[i].asked, got.s);
    wk_str_free(&got);
    wk_program_free(p);
  }
  assert_int_equal(bad, 0);
}

/* ---- what is known --------------------------------------------------------------------------- */

static const device_text cpu = {WICK_OPENCL_CPU, 4, 0, 256, 256};

static bool is_known(const wk_opencl *d, const char *key, int rows, int vectors) {
  wk_cl_tiles *t = wk_cl_tiles_open(d);
  wk_cl_tile_size size = {0};
  bool is = wk_cl_tiles_get(t, key, &size) && size.rows == rows && size.vectors == vectors;
  wk_cl_tiles_close(t);
  return is;
}

static void put(const wk_opencl *d, const char *key, int rows, int vectors) {
  wk_cl_tiles *t = wk_cl_tiles_open(d);
  wk_cl_tiles_put(t, key, (wk_cl_tile_size){rows, vectors, 1}, 1.5);
  wk_cl_tiles_close(t);
}

/* The file of tiles, when there is exactly one. */
static bool find_file(char *path, size_t size) {
  snprintf(path, size, "%s/opencl", own_cache);
  DIR *folder = opendir(path);
  int n = 0;
  for (struct dirent *e; folder && (e = readdir(folder));)
    if (!strncmp(e->d_name, "tiles-", 6) && !n++)
      snprintf(path, size, "%s/opencl/%s", own_cache, e->d_name);
  if (folder) closedir(folder);
  return n == 1;
}

static int forget(void **state) {
  (void)state;
  remove_cache();
  return mkdir(own_cache, 0700);
}

static void kept_for_the_device(void **state) {
  (void)state;
  wk_opencl d = device_of(cpu);
  put(&d, "first", 3, 2);
  put(&d, "second", 5, 1);
  assert_true(is_known(&d, "first", 3, 2) && is_known(&d, "second", 5, 1));
  assert_false(is_known(&d, "third", 0, 0));
  for (int k = 0; k < 4; k++) {
    wk_opencl other = device_of(cpu);
    char *const texts[] = {other.info.name, other.info.platform, other.info.version,
                           other.info.driver};
    texts[k][0] = 'z';
    assert_false(is_known(&other, "first", 3, 2));
    put(&other, "first", 7, 4);
    assert_true(is_known(&other, "first", 7, 4));
  }
  assert_true(is_known(&d, "first", 3, 2)); /* each has a file of its own */
}

/* Of two processes that measure at once, the later one keeps what the other found. */
static void kept_beside_others(void **state) {
  (void)state;
  wk_opencl d = device_of(cpu);
  put(&d, "both", 1, 1);
  wk_cl_tiles *one = wk_cl_tiles_open(&d), *two = wk_cl_tiles_open(&d);
  wk_cl_tile_size size;
  wk_cl_tiles_put(one, "one", (wk_cl_tile_size){2, 1, 1}, 1);
  wk_cl_tiles_put(one, "both", (wk_cl_tile_size){4, 1, 1}, 1);
  wk_cl_tiles_put(two, "two", (wk_cl_tile_size){3, 1, 1}, 1);
  assert_true(wk_cl_tiles_get(one, "one", &size) && size.rows == 2);
  assert_false(wk_cl_tiles_get(two, "one", &size));
  wk_cl_tiles_put(two, "two", (wk_cl_tile_size){6, 2, 1}, 1); /* measured again */
  wk_cl_tiles_close(one);
  wk_cl_tiles_close(two);
  assert_true(is_known(&d, "one", 2, 1) && is_known(&d, "two", 6, 2));
}

static void write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

/* Of "b, a, c, d": it does not change from version to version, or all would be measured again. */
#define FILE_OF_DEVICE "tiles-7271e76afea6b772.json"

static void the_file(void **state) {
  static const struct {
    const char *text;
    int rows; /* that are known of "key"; 0: none */
  } cases[] = {
      {"{\"device\": \"b, a, c, d\", \"tiles\": {\"key\": [3, 2, 1.5]}}", 3},
      {"{\"device\": \"b, a, c, d\", \"tiles\": {\"key\": [3, 2]}}", 3},
      {"{\"device\": \"b, a, c, e\", \"tiles\": {\"key\": [3, 2, 1.5]}}", 0},
      {"{\"tiles\": {\"key\": [3, 2, 1.5]}}", 0},
      {"{\"device\": 1, \"tiles\": {\"key\": [3, 2, 1.5]}}", 0},
      {"{\"device\": \"b, a, c, d\", \"tiles\": [\"key\", [3, 2, 1.5]]}", 0},
      {"{\"device\": \"b, a, c, d\"}", 0},
      {"{\"device\": \"b, a, c, d\", \"tiles\": {\"key\": [3, \"2\", 1.5]}}", 0},
      {"{\"device\": \"b, a, c, d\", \"tiles\": {\"key\": [3.0, 2, 1.5]}}", 0},
      {"{\"device\": \"b, a, c, d\", \"tiles\": {\"key\": [3]}}", 0},
      {"{\"device\": \"b, a, c, d\", \"tiles\": {\"key\": {}}}", 0},
      {"{\"device\": \"b, a, c, d\", \"tiles\": ", 0},
      {"[]", 0},
      {"", 0}};
  (void)state;
  wk_opencl d = device_of(cpu);
  char path[600];
  wk_cl_tiles_close(wk_cl_tiles_open(&d));
  assert_false(find_file(path, sizeof path)); /* nothing was measured, nothing is written */
  put(&d, "key", 4, 1);
  assert_true(find_file(path, sizeof path));
  assert_string_equal(strrchr(path, '/') + 1, FILE_OF_DEVICE);
  json_t *file = json_load_file(path, 0, NULL);
  json_t *want = json_pack("{ss s{s[iif]}}", "device", "b, a, c, d", "tiles", "key", 4, 1, 1.5);
  assert_true(json_equal(file, want));
  json_decref(want);
  json_decref(file);
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    write_file(path, cases[i].text);
    if (is_known(&d, "key", 3, 2) != (cases[i].rows != 0)) fail_msg("%s", cases[i].text);
    put(&d, "other", 1, 1); /* and what was damaged is written anew */
    assert_true(is_known(&d, "other", 1, 1));
  }
}

/* Where nothing can be written, what was measured holds for the process. */
static void no_folder(void **state) {
  (void)state;
  wk_opencl d = device_of(cpu);
  wk_cl_tile_size size;
  setenv("WICK_CACHE", "/dev/null/cache", 1);
  wk_cl_tiles *t = wk_cl_tiles_open(&d);
  wk_cl_tiles_put(t, "key", (wk_cl_tile_size){4, 2, 1}, 1);
  assert_true(wk_cl_tiles_get(t, "key", &size));
  assert_true(size.rows == 4 && size.vectors == 2);
  wk_cl_tiles_close(t);
  wk_cl_tiles_close(NULL);
  assert_false(is_known(&d, "key", 4, 2));
  setenv("WICK_CACHE", own_cache, 1);
}

/* ---- what is believed ------------------------------------------------------------------------ */

/* The kernels' text with a tile that is asked for (rows 0: none is), or with what is known. */
static wk_str source_of(const wk_opencl *d, const wk_program *p, wk_cl_tile_size forced,
                        const wk_cl_tiles *tiles) {
  wk_cl_unit u;
  wk_str text = {0};
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "m", .compiler = "", .flags = ""});
  wk_cl_unit_begin(&u, d, pkg);
  u.tiles = tiles;
  u.forced = forced;
  assert_null(wk_cl_add_inst(&u, p, p->body.insts.data[0]));
  wk_str_addn(&text, u.source.s, u.source.n);
  wk_cl_unit_finish(&u);
  wk_package_free(pkg);
  return text;
}

static void only_listed_sizes(void **state) {
  static const product v = {WK_F32, WK_F32, 1, 2, 64, 9, 0, 0}; /* 2x4 2x2 2x1 */
  static const struct {
    const char *key;
    int rows, vectors, want_rows, want_vectors;
  } cases[] = {{"matmul f32 f32 1x2x64 taps 1 depth 9 step 1 packed", 2, 2, 2, 2},
               {"matmul f32 f32 1x2x64 taps 1 depth 9 step 1 packed", 2, 1, 2, 1},
               {"matmul f32 f32 1x2x64 taps 1 depth 9 step 1 packed", 2, 4, 2, 4},
               {"matmul f32 f32 1x2x64 taps 1 depth 9 step 1 packed", 2, 3, 2, 4},
               {"matmul f32 f32 1x2x64 taps 1 depth 9 step 1 packed", 1, 2, 2, 4},
               {"matmul f32 f32 1x2x64 taps 1 depth 9 step 1 packed", 1000000, 4, 2, 4},
               {"matmul f32 f32 1x2x64 taps 1 depth 8 step 1 packed", 2, 2, 2, 4},
               {"matmul f32 f32 1x2x64 taps 1 depth 9 step 1 as it lies", 2, 2, 2, 4}};
  (void)state;
  wk_opencl d = device_of((device_text){WICK_OPENCL_CPU, 16, 0, 256, 256});
  d.base.spec = d.spec;
  wk_program *p = program_of(&v);
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_cl_tiles *t = wk_cl_tiles_open(&d);
    wk_cl_tiles_put(t, cases[i].key, (wk_cl_tile_size){cases[i].rows, cases[i].vectors, 1}, 1);
    wk_str got = source_of(&d, p, (wk_cl_tile_size){0}, t);
    wk_cl_tile_size size = {cases[i].want_rows, cases[i].want_vectors, 1};
    wk_str want = source_of(&d, p, size, NULL);
    wk_str plain = source_of(&d, p, (wk_cl_tile_size){0}, NULL);
    if (strcmp(got.s, want.s)) fail_msg("case %zu", i);
    assert_int_equal(strcmp(got.s, plain.s) == 0, size.vectors == 4);
    wk_str_free(&got);
    wk_str_free(&want);
    wk_str_free(&plain);
    wk_cl_tiles_close(t);
    forget(NULL);
  }
  wk_program_free(p);
}

/* ---- a trial's memory ------------------------------------------------------------------------ */

/* All buffers but constants lie in one arena, one behind the other, each once. */
static void memory_of_a_trial(void **state) {
  (void)state;
  wk_opencl d = device_of(cpu);
  d.base.spec = d.spec;
  wk_program *p = program_of(&(product){WK_F32, WK_F32, 1, 5, 7, 9, true, 8});
  wk_inst *i = p->body.insts.data[0];
  wk_cl_unit u;
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "m", .compiler = "", .flags = ""});
  wk_cl_unit_begin(&u, &d, pkg);
  u.is_trial = true;
  assert_null(wk_cl_add_inst(&u, p, i));
  assert_null(wk_cl_add_inst(&u, p, i));
  assert_int_equal(u.buffers.n, 3);
  assert_int_equal(u.needs.arena_bytes, 256 + 256 + 512);
  uint64_t bytes[] = {5 * 7 * 4, 5 * 9 * 4, 9 * 8 * 4}, end = 0;
  for (size_t k = 0; k < 3; k++) {
    assert_int_equal(u.buffers.data[k].place, WICK_CL_ARENA);
    assert_int_equal(u.buffers.data[k].offset, end);
    assert_int_equal(u.buffers.data[k].bytes, bytes[k]);
    end += (bytes[k] + 255) / 256 * 256;
  }
  wk_cl_unit_finish(&u);
  wk_package_free(pkg);
  wk_program_free(p);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static struct {
  wk_opencl *stop; /* tuning of this device ends behind the product that is measured */
  int n;
  char last[96];
} progress;

static void note(const char *what) {
  snprintf(progress.last, sizeof progress.last, "%s", what);
  progress.n++;
  if (progress.stop) progress.stop->tune_seconds = 0;
}

/* Products of two parts, some in a loop. How often each stands there, and macs:
 *   a 4x16x8   4 times  2048     b 4x24x16  once  1536     c 4x16x24  once  1536
 *   e 4x48x8   once     1536     a convolution    1152
 *   4x16x16    once     1024     one row of a few columns, for which there is one size */
static const product a = {WK_F32, WK_F32, 1, 4, 16, 8, 0, 0},
                     b = {WK_F32, WK_F32, 1, 4, 24, 16, 0, 0},
                     c = {WK_F32, WK_F32, 1, 4, 16, 24, 0, 0},
                     e = {WK_F32, WK_F32, 1, 4, 48, 8, 0, 0},
                     one = {WK_F32, WK_F32, 1, 1, 4, 600, 0, 0},
                     least = {WK_F32, WK_F32, 1, 4, 16, 16, 0, 0};

static void add_conv(wk_program *p) {
  wk_view y = NHWC(OUT(p, WK_F32, 1, 3, 3, 16)), x = NHWC(IN(p, WK_F32, 1, 3, 3, 8));
  wk_inst *i = append(p, WK_OP_CONV, 1, 3, y, x, CONST(p, WK_F32, 16, 8, 1, 1));
  set_conv(p, i, (conv_shape){1, 0, 1, 1}, NULL, 0);
}

static void add_loop(wk_program *p, const product *v) {
  wk_inst *loop = wk_inst_new(p, WK_OP_LOOP, "loop", 0, 1);
  loop->operands[0] = IN(p, WK_BOOL);
  ((wk_attr_loop *)loop->attrs)->trip = 2;
  loop->n_bodies = 1;
  loop->bodies = wk_arena_alloc(p->arena, sizeof *loop->bodies);
  add_product(p, v);
  wk_block_append(&loop->bodies[0], p->body.insts.data[--p->body.insts.n]);
  wk_block_append(&p->body, loop);
}

typedef struct {
  wk_program *first, *second;
  wk_target_part parts[2];
} parts;

static void make_parts(parts *x) {
  x->first = wk_program_new("first");
  x->second = wk_program_new("second");
  add_product(x->first, &least);
  add_product(x->first, &a);
  wk_view y = OUT(x->first, WK_F32, 8);
  wk_inst *map = append(x->first, WK_OP_MAP, 1, 2, y, IN(x->first, WK_F32, 8));
  ((wk_attr_map *)map->attrs)->body = EXPR_F32(x->first, "neg(%0)", 1);
  add_product(x->first, &a);
  add_product(x->first, &b);
  add_product(x->second, &a);
  add_product(x->second, &one);
  add_product(x->second, &c);
  add_product(x->second, &e);
  add_conv(x->second);
  add_loop(x->second, &a);
  x->parts[0] = (wk_target_part){.name = "0", .program = x->first};
  x->parts[1] = (wk_target_part){.name = "1", .program = x->second};
}

static void free_parts(parts *x) {
  wk_program_free(x->first);
  wk_program_free(x->second);
}

/* Tunes; expects that progress told of so many products, and this the last time. */
static void tune(wk_opencl *d, const parts *x, int n, const char *last) {
  const wk_emit_options o = {.model_name = "m", .command = "", .progress = note};
  d->base.spec = d->spec;
  wk_cl_tiles *t = wk_cl_tiles_open(d);
  progress.n = 0;
  *progress.last = '\0';
  assert_null(wk_cl_tune(d, t, x->parts, 2, &o));
  wk_cl_tiles_close(t);
  assert_int_equal(progress.n, n);
  if (strncmp(progress.last, last, strlen(last))) fail_msg("%s", progress.last);
  if (!n) return;
  int took = -1, most = -1; /* seconds; the machine may be busy */
  sscanf(progress.last + strlen(last), "%d of %d s", &took, &most);
  assert_in_range(took, 0, 300);
  assert_int_equal(most, 1000);
}

#define KEY(shape, depth) "matmul f32 f32 1x" shape " taps 1 depth " depth " step 1 packed"

/* What cannot be measured, as there is no such device, is left as it is foreseen to be. */
static void products(void **state) {
  (void)state;
  parts x;
  make_parts(&x);
  wk_opencl d = device_of(cpu);
  setenv("WICK_OPENCL_DEVICE", "no such device", 1);
  tune(&d, &x, 6, "tuning: product 6 of 6, ");
  char path[600];
  assert_false(find_file(path, sizeof path));
  put(&d, KEY("4x16", "24"), 4, 2);
  tune(&d, &x, 5, "tuning: product 5 of 5, ");
  progress.stop = &d;
  tune(&d, &x, 1, "tuning: product 1 of 5, ");
  tune(&d, &x, 0, "");
  progress.stop = NULL;
  d = device_of((device_text){WICK_OPENCL_GPU, 4, 64, 256, 256}); /* all forms */
  tune(&d, &x, 6, "tuning: product 6 of 6, ");
  d = device_of((device_text){WICK_OPENCL_GPU, 4, 8, 64, 64}); /* 16 x 16 alone */
  tune(&d, &x, 1, "tuning: product 1 of 1, "); /* parts of the sum of `one` */
  unsetenv("WICK_OPENCL_DEVICE");
  free_parts(&x);
}

static void the_fastest(void **state) {
  static const struct {
    double of[3];
    int n, least;
  } cases[] = {{{4}, 1, 0},       {{1, 2}, 2, 0},    {{2, 1}, 2, 1},    {{1, 1}, 2, 0},
               {{1, 2, 3}, 3, 0}, {{2, 1, 3}, 3, 1}, {{3, 2, 1}, 3, 2}, {{2, 1, 1}, 3, 1}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    assert_int_equal(wk_cl_least(cases[i].of, cases[i].n), cases[i].least);
}

/* The largest first, of equal ones that whose key is less; each is kept, with a size that was
 * asked for. */
static void measured(void **state) {
  static const char *const order[] = {KEY("4x16", "8"), KEY("4x16", "24")};
  (void)state;
  const wick_opencl_info *list;
  uint32_t n;
  wick_error_detail why = {{0}};
  if (wick_opencl_list(&list, &n, &why) != WICK_OK || list[0].type != WICK_OPENCL_CPU) {
    print_message("skipped: no OpenCL for the processor: %s\n", why.text);
    skip();
  }
  wk_opencl d = {.base = {.target = &wk_target_opencl}, .info = list[0], .family = WK_CL_CPU};
  wick_opencl_spec(list, 0, d.spec, sizeof d.spec);
  parts x;
  make_parts(&x);
  progress.stop = &d;
  for (int k = 0; k < 2; k++) {
    char path[600], first[64];
    d.tune_seconds = 1000;
    snprintf(first, sizeof first, "tuning: product 1 of %d, ", 6 - k);
    tune(&d, &x, 1, first);
    assert_true(find_file(path, sizeof path));
    json_t *file = json_load_file(path, 0, NULL);
    const json_t *tiles = json_object_get(file, "tiles"), *row = json_object_get(tiles, order[k]);
    assert_int_equal(json_object_size(tiles), k + 1);
    assert_non_null(row);
    assert_true(json_real_value(json_array_get(row, 2)) > 0.05);
    assert_true(json_real_value(json_array_get(row, 2)) < 1e7);
    const product *v = k == 0 ? &a : &c;
    wk_program *p = program_of(v);
    wk_str asked = asked_of(&d, p, NULL);
    char size[32];
    snprintf(size, sizeof size, " %dx%d", (int)json_integer_value(json_array_get(row, 0)),
             (int)json_integer_value(json_array_get(row, 1)));
    if (!strstr(asked.s, size)) fail_msg("%s has no%s", asked.s, size);
    wk_str_free(&asked);
    wk_program_free(p);
    json_decref(file);
  }
  progress.stop = NULL;
  free_parts(&x);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Compiles for the device; why: what is said, NULL: nothing. */
static void expect_limits(const wk_opencl *device, wk_program *p, const char *why) {
  wk_opencl d = *device;
  uint32_t row;
  wk_emit_result result = {.scratch_bytes = -1};
  const wk_target_part part = {.name = "0", .program = p};
  const wk_emit_options o = {.model_name = "m", .command = ""};
  d.base.spec = d.spec;
  d.tune_seconds = -1;
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "m", .compiler = "", .flags = ""});
  wk_status s = wk_cl_compile(&d, &part, 1, &o, pkg, &row, &result);
  if (why ? !s || strcmp(s->message, why) : s != NULL)
    fail_msg("'%s', not '%s'", s ? s->message : "", why ? why : "");
  assert_int_equal(result.scratch_bytes, 0);
  wk_status_free(s);
  wk_package_free(pkg);
}

static void limits(void **state) {
  (void)state;
  const device_text gpu = {WICK_OPENCL_GPU, 4, 64, 256, 256};
  wk_opencl d = device_of(gpu);
#define NEEDS "opencl:a device that is not here: the model needs "
  /* The right operand is the largest, among the constants; its panels are of 128 columns, and of
   * whole steps of 32. */
  wk_program *p = program_of(&(product){WK_F32, WK_F32, 1, 3, 65, 100, 0, 0});
  d.info.max_alloc = 128 * 128 * 4;
  expect_limits(&d, p, NULL);
  d.info.max_alloc--;
  expect_limits(&d, p, NEEDS "65536 bytes in one allocation, the device has 65535");
  d = device_of(gpu);
  d.info.local_memory = 2 * 16 * 64 * 4;
  expect_limits(&d, p, NULL);
  wk_program_free(p);
  /* An input. */
  p = program_of(&(product){WK_F32, WK_F32, 1, 300, 2, 100, 0, 0});
  d.info.max_alloc = 300 * 100 * 4;
  expect_limits(&d, p, NULL);
  d.info.max_alloc--;
  expect_limits(&d, p, NEEDS "120000 bytes in one allocation, the device has 119999");
  /* The arena, in one allocation and in all. */
  d = device_of(gpu);
  p->region_size[WK_REGION_ACT] = 1 << 20;
  d.info.max_alloc = d.info.memory = 1 << 20;
  expect_limits(&d, p, NULL);
  d.info.max_alloc--;
  expect_limits(&d, p, NEEDS "1048576 bytes in one allocation, the device has 1048575");
  d.info.max_alloc++, d.info.memory--;
  expect_limits(&d, p, NEEDS "1048576 bytes of memory, the device has 1048575");
  wk_program_free(p);
  /* Work items of a group and its memory, of a sum by a group. */
  p = wk_program_new("sum");
  wk_view y = OUT(p, WK_F32, 1), x = IN(p, WK_F32, 128);
  y.dims[0] = 128, y.strides[0] = 0;
  wk_inst *i = append(p, WK_OP_REDUCE, 1, 2, y, x);
  ((wk_attr_reduce *)i->attrs)->kind = "sum";
  ((wk_attr_reduce *)i->attrs)->axes = wk_ints_fill(p->arena, 1, 0);
  d = device_of((device_text){WICK_OPENCL_GPU, 4, 0, 64, 64});
  expect_limits(&d, p, NEEDS "512 bytes of local memory, the device has 0");
  d.info.local_memory = 511;
  expect_limits(&d, p, NEEDS "512 bytes of local memory, the device has 511");
  d.info.local_memory = 512;
  expect_limits(&d, p, NULL);
  d.info.max_group = 63; /* a smaller group sums up; that of a map has 64 */
  expect_limits(&d, p, NULL);
  wk_program_free(p);
  p = wk_program_new("map");
  i = append(p, WK_OP_MAP, 1, 2, OUT(p, WK_F32, 128), IN(p, WK_F32, 128));
  ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "neg(%0)", 1);
  expect_limits(&d, p, NEEDS "64 work items of a group, the device has 63");
  wk_program_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes),
      cmocka_unit_test_teardown(kept_for_the_device, forget),
      cmocka_unit_test_teardown(kept_beside_others, forget),
      cmocka_unit_test_teardown(the_file, forget),
      cmocka_unit_test(no_folder),
      cmocka_unit_test_teardown(only_listed_sizes, forget),
      cmocka_unit_test(memory_of_a_trial),
      cmocka_unit_test_teardown(products, forget),
      cmocka_unit_test(the_fastest),
      cmocka_unit_test_teardown(measured, forget),
      cmocka_unit_test(limits),
  };
  make_cache();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove_cache();
  return failed;
}
