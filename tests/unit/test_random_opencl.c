/* SPDX-License-Identifier: Apache-2.0
 * Random graphs on the first OpenCL device, for all kinds of devices that it can pass for: graphs
 * of integers are what the evaluator computes, bit for bit, others within a tolerance. Some graphs
 * make a batch, which is one program. A failure prints the seed, the device's description and the
 * shrunk graph. Where there is no device all of it is skipped.
 *   test_random_opencl [FIRST_SEED [COUNT]]   COUNT graphs of integers, 100 in every run, and fewer
 *                                             of the other kinds */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/random_layers.h"
#include "tests/random_middle.h"
#include "tests/unit/opencl_batch.h"
#include "tests/unit/opencl_passing.h"

enum { BATCH = 20 };

static uint64_t first_seed = 1, n_seeds = RANDOM_COUNT(100);

/* ---- devices --------------------------------------------------------------------------------- */

/* What the device passes for; 0: as it is. Small ones have no tiles, or small ones. */
typedef struct {
  const char *name;
  wick_opencl_type type;
  uint32_t units, float_width, max_group;
  uint64_t local_memory;
  int has_dot, has_matrix;
} disguise;

static const disguise disguises[] = {
    {"cpu", WICK_OPENCL_CPU, 0, 0, 0, 0, 0, 0},
    {"gpu", WICK_OPENCL_GPU, 1, 0, 0, 0, 1, 0},
    {"gpu-matrix", WICK_OPENCL_GPU, 4, 0, 0, 0, 1, 1},
    {"cpu4", WICK_OPENCL_CPU, 0, 4, 0, 0, 0, 0},
    {"gpu64", WICK_OPENCL_GPU, 0, 0, 64, 8 << 10, 0, 0},
    {"cpu16", WICK_OPENCL_CPU, 0, 16, 0, 0, 0, 0},
    {"gpu-tiny", WICK_OPENCL_GPU, 0, 0, 64, 4 << 10, 0, 0},
    {"cpu8", WICK_OPENCL_CPU, 0, 8, 0, 0, 0, 0},
};

static void write_description(const disguise *d) {
  wick_opencl_info info = here;
  info.type = d->type;
  if (d->units) info.units = d->units;
  if (d->float_width) info.float_width = d->float_width;
  if (d->max_group) info.max_group = d->max_group;
  info.has_dot = d->has_dot;
  info.has_matrix = d->has_matrix;
  if (d->local_memory) info.local_memory = d->local_memory;
  write_passing(d->name, &info);
}

static int prepare(void **state) {
  (void)state;
  if (!find_device_here()) return 1;
  for (size_t i = 0; i < WK_COUNTOF(disguises) && has_device; i++) write_description(&disguises[i]);
  return 0;
}

/* ---- kinds of graphs ------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  wk_module *(*draw)(uint64_t seed);
  wk_tensor *(*inputs)(const wk_graph *g, uint64_t seed);
  double rtol; /* 0: the same bits */
} kind;

static wk_module *converted(wk_module *m) {
  int64_t changes;
  wk_status s = wk_integer_convert(m, &changes);
  if (s) fail_msg("%s", s->message);
  return m;
}

static wk_module *draw_integers(uint64_t seed) {
  return converted(random_integer_graph(seed, 1 + (int)(seed % 3)));
}

static wk_module *draw_layers(uint64_t seed) {
  return converted(random_layers_graph(seed, 1 + (int)(seed % 5)));
}

static wk_module *draw_floats(uint64_t seed) {
  const random_options o = {.nodes = 2 + (int)(seed % 5) * 5, .only = WK_OP_COUNT};
  return random_graph(seed, &o);
}

static wk_tensor *float_inputs(const wk_graph *g, uint64_t seed) {
  (void)seed;
  return random_inputs(g);
}

/* Those whose floats are not too coarse. */
static wk_module *draw_middle(uint64_t seed) {
  uint64_t s = seed + seed / 3 + 1;
  while (random_middle_is_coarse(s)) s++;
  return random_middle_graph(s, 4 + (int)(seed % 12));
}

/* What once failed, and what is drawn too seldom. */
static const char *const text_graphs[] = {
    /* channels backwards */
    "module \"t\" opset 17 { graph @t(%x: f32[1,24,9,9]) {\n"
    "%w = constant f32[20,24,3,3] splat(0.125)\n"
    "%f = slice(%x) {starts=[0,23,0,0], sizes=[1,24,9,9], steps=[1,-1,1,1]} : f32[1,24,9,9]\n"
    "%y = conv(%f, %w) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1]} : f32[1,20,9,9]\n"
    "output %y } }",
    /* rows that a run wants: of a matrix, of a batch that has one matrix, whose bias and residual
     * come along */
    "module \"t\" opset 17 { graph @t(%p: bool[70,1], %x: f32[70,64], %z: f32[]) {\n"
    "%w = constant f32[64,90] splat(0.25)\n%m = matmul(%x, %w)\n%y = where(%p, %m, %z)\n"
    "output %y } }",
    "module \"t\" opset 17 { graph @t(%p: bool[5,14,1], %x: f32[5,14,64], %w: f32[64,90], "
    "%b: f32[90], %r: f32[5,14,90], %z: f32[]) {\n"
    "%m = matmul(%x, %w)\n%c = add(%m, %b)\n%e = relu(%c)\n%f = add(%e, %r)\n"
    "%y = where(%p, %f, %z)\noutput %y } }",
    /* below sizes: rows, columns, and what is summed up */
    "module \"t\" opset 17 { graph @t(%n: i64[], %x: f32[2,64,40], %w: f32[2,40,70]) {\n"
    "%i = constant i64[8] {0, 1, 2, 3, 4, 5, 6, 7}\n%h = less(%i, %n)\n"
    "%g = reshape(%h) {shape=[8,1]}\n%k = expand(%g) {shape=[8,8]}\n"
    "%q = reshape(%k) {shape=[1,64,1]}\n%z = constant f32[] {0.0}\n"
    "%m = matmul(%x, %w)\n%y = where(%q, %m, %z)\noutput %y } }",
    /* computed right operands as wide as a tile, with an end along k */
    "module \"t\" opset 17 { graph @t(%x: f32[3,128,40], %z: f32[3,40,64]) {\n"
    "%y = matmul(%x, %z) : f32[3,128,64]\n"
    "output %y } }",
    "module \"t\" opset 17 { graph @t(%x: f32[3,20,9], %z: f32[3,9,32]) {\n"
    "%y = matmul(%x, %z) : f32[3,20,32]\n"
    "output %y } }",
    /* a product of nothing */
    "module \"t\" opset 17 { graph @t(%x: f32[3,0], %z: f32[0,40]) {\n"
    "%y = matmul(%x, %z) : f32[3,40]\n"
    "output %y } }",
    /* columns that are no whole vectors */
    "module \"t\" opset 17 { graph @t(%x: f32[2,7,19], %z: f32[2,23,19]) {\n"
    "%u = transpose(%z) {perm=[0,2,1]} : f32[2,19,23]\n"
    "%y = matmul(%x, %u) : f32[2,7,23]\n"
    "output %y } }",
    /* a nest whose rows are too long for a work item: rows of each of its instructions */
    "module \"t\" opset 17 { graph @t(%x: f32[2,3,40000]) {\n"
    "%g = constant f32[40000] splat(0.5)\n%b = constant f32[40000] splat(1.5)\n"
    "%y = layer_norm(%x, %g, %b) {axis=2} : f32[2,3,40000]\n"
    "output %y } }",
    /* nests with two axes inside, one of them of one element; rows that are no whole vectors */
    "module \"t\" opset 17 { graph @t(%x: f32[4,5,37], %z: f32[4,1,37]) {\n"
    "%g = constant f32[5,37] splat(0.5)\n%b = constant f32[5,37] splat(1.5)\n"
    "%h = constant f32[1,37] splat(0.5)\n%c = constant f32[1,37] splat(1.5)\n"
    "%y = layer_norm(%x, %g, %b) {axis=1} : f32[4,5,37]\n"
    "%u = layer_norm(%z, %h, %c) {axis=1} : f32[4,1,37]\n"
    "output %y\noutput %u } }",
    /* a transposed convolution whose first positions no window reaches */
    "module \"t\" opset 17 { graph @t(%x: f32[1,3,9,7]) {\n"
    "%w = constant f32[3,8,2,1] {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, "
    "7, 8, 9, 1, 9, 2, 8, 3, 7, 4, 6, 5, 5, 6, 4, 7, 3, 8, 2, 9, 1, 8, 2, 7, 3, 6}\n"
    "%y = conv_transpose(%x, %w) {strides=[2,1], pads=[5,3,4,0], dilations=[1,1], "
    "output_padding=[0,0]} : f32[1,8,9,4]\n"
    "output %y } }",
    /* groups of several columns */
    "module \"t\" opset 17 { graph @t(%x: f32[1,4,9,9]) {\n"
    "%w = constant f32[8,2,1,2] {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, "
    "7, 8, 9, 1, 9, 2, 8, 3, 7, 4}\n"
    "%y = conv(%x, %w) {strides=[1,1], pads=[0,1,0,0], dilations=[1,1], group=2} : f32[1,8,9,9]\n"
    "output %y } }",
    /* tiles of floats of 16 bits */
    "module \"t\" opset 17 { graph @t(%x: f16[19,24], %z: f16[24,23]) {\n"
    "%y = matmul(%x, %z) : f16[19,23]\noutput %y } }",
    "module \"t\" opset 17 { graph @t(%x: bf16[19,24], %z: bf16[24,23]) {\n"
    "%y = matmul(%x, %z) : bf16[19,23]\noutput %y } }"};

/* Products of halves with computed right operands: as wide as a tile, with an end along k, of one
 * column, of columns that are neighbours, turned. */
static const char *const half_graphs[] = {
    "module \"t\" opset 17 { graph @t(%x: f16[8,128,32], %z: f16[8,32,64]) {\n"
    "%y = matmul(%x, %z) : f16[8,128,64]\noutput %y } }",
    "module \"t\" opset 17 { graph @t(%x: f16[2,40,40], %z: f16[2,40,64]) {\n"
    "%y = matmul(%x, %z) : f16[2,40,64]\noutput %y } }",
    "module \"t\" opset 17 { graph @t(%x: f16[32,32], %z: f16[32,1]) {\n"
    "%y = matmul(%x, %z) : f16[32,1]\noutput %y } }",
    "module \"t\" opset 17 { graph @t(%x: bf16[3,70,48], %z: bf16[3,48,36]) {\n"
    "%y = matmul(%x, %z) : bf16[3,70,36]\noutput %y } }",
    "module \"t\" opset 17 { graph @t(%x: f16[2,33,64], %z: f16[2,65,64]) {\n"
    "%u = transpose(%z) {perm=[0,2,1]} : f16[2,64,65]\n"
    "%y = matmul(%x, %u) : f16[2,33,65]\noutput %y } }"};

static wk_module *draw_half(uint64_t number) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(half_graphs[number], "t", &m);
  if (s) fail_msg("%s", s->message);
  return m;
}

static wk_module *draw_text(uint64_t number) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text_graphs[number], "t", &m);
  if (s) fail_msg("%s", s->message);
  return m;
}

static const kind integers = {"integers", draw_integers, random_integer_inputs, 0},
                  layers = {"layers", draw_layers, random_integer_inputs, 0},
                  texts = {"texts", draw_text, float_inputs, 1e-5},
                  halves = {"halves", draw_half, float_inputs, 2e-2},
                  floats = {"floats", draw_floats, float_inputs, 1e-4},
                  middle = {"middle", draw_middle, random_middle_inputs, 1e-6};

static bool is_same(const kind *k, const wk_graph *g, const wk_tensor *got, const wk_tensor *want,
                    wk_str *text) {
  const wk_tolerance t = {k->rtol, k->rtol / 100, k->rtol};
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_diff d = wk_tensor_diff(&got[i], &want[i], &t);
    if (d.equal) continue;
    wk_str_printf(text, "output %s: element %lld is %.9g, want %.9g (%lld differ)",
                  g->output_names.data[i], (long long)d.worst, d.got, d.want,
                  (long long)d.mismatches);
    return false;
  }
  return true;
}

/* ---- one graph ------------------------------------------------------------------------------- */

typedef struct {
  const kind *kind;
  const disguise *device;
  const wk_targets *targets;
  uint64_t seed; /* of what is being looked at */
  wk_str text;   /* what went wrong last */
} attempt;

static void set_text(attempt *a, const char *what, wk_status s) {
  wk_str_printf(&a->text, "%s%s%s: %s", what, s->place ? ": " : "", s->place ? s->place : "",
                s->message);
  wk_status_free(s);
}

/* Entry number `entry` of the batch is m, compiled. */
static bool entry_differs(attempt *a, const opencl_batch *b, uint32_t entry, const wk_module *m) {
  const wk_graph *g = m->main;
  wk_tensor *in = a->kind->inputs(g, a->seed);
  wk_tensor *want = wk_xcalloc(g->outputs.n + 1, sizeof *want);
  wk_tensor *got = wk_xcalloc(g->outputs.n + 1, sizeof *got);
  wk_status s = wk_eval_graph(g, in, want, NULL, NULL);
  bool refused = s != NULL, bad = false;
  wk_status_free(s);
  if (!refused) {
    s = opencl_batch_run(b, entry, in, got);
    bad = s || !is_same(a->kind, g, got, want, &a->text);
    if (s) set_text(a, "run", s);
  }
  random_tensors_free(got, g->outputs.n);
  random_tensors_free(want, g->outputs.n);
  random_tensors_free(in, g->inputs.n);
  return bad;
}

/* random_check */
static bool differs(void *ctx, const wk_module *m) {
  attempt *a = ctx;
  opencl_batch b;
  wk_module *modules[] = {(wk_module *)(uintptr_t)m};
  wk_str_free(&a->text);
  a->text = (wk_str){0};
  wk_status s = opencl_batch_make(&b, a->targets, modules, 1);
  bool bad = s || entry_differs(a, &b, 0, m);
  if (s) set_text(a, "compilation", s);
  opencl_batch_free(&b);
  return bad;
}

/* False when it fails by itself: then the smallest graph that does has been printed. */
static bool report(attempt *a, const wk_module *m) {
  wk_str graph = {0};
  if (!differs(a, m)) return true;
  wk_module *small = random_reduce(m, differs, a);
  differs(a, small);
  wk_module_print(&graph, small, WK_PRINT_SHORT);
  print_error("%s, seed %llu on %s: %s\n%s\n", a->kind->name, (unsigned long long)a->seed,
              a->device->name, a->text.s, graph.s);
  wk_str_free(&graph);
  wk_module_free(small);
  return false;
}

/* ---- batches --------------------------------------------------------------------------------- */

static size_t all_nodes, all_device_nodes;

/* Graphs that fail; of a batch that nobody compiles, each one that fails alone. */
static int check_graphs(attempt *a, wk_module *const *modules, size_t n, uint64_t seed) {
  opencl_batch b;
  int bad = 0;
  wk_status s = opencl_batch_make(&b, a->targets, modules, n);
  for (size_t i = 0; i < n; i++) {
    a->seed = seed + i;
    bool differed = s || entry_differs(a, &b, (uint32_t)i, modules[i]);
    if (!differed) continue;
    if (!s)
      print_error("%s, seed %llu on %s, with others: %s\n", a->kind->name,
                  (unsigned long long)a->seed, a->device->name, a->text.s);
    bad += !report(a, modules[i]) || !s;
  }
  if (s && !bad)
    print_error("seeds from %llu together: %s\n", (unsigned long long)seed, s->message);
  bad += s && !bad;
  all_nodes += b.nodes;
  all_device_nodes += b.device_nodes;
  wk_status_free(s);
  opencl_batch_free(&b);
  return bad;
}

static int check_batch(const kind *k, const disguise *d, uint64_t seed, size_t n) {
  char target[96];
  wk_targets t;
  wk_module *modules[BATCH] = {0};
  attempt a = {.kind = k, .device = d, .targets = &t};
  snprintf(target, sizeof target, "opencl:%s/%s.json", folder, d->name);
  wk_status s = wk_targets_open(&(wk_target_args){.target = target}, &t);
  if (s) fail_msg("%s", s->message);
  for (size_t i = 0; i < n; i++) modules[i] = k->draw(seed + i);
  int bad = check_graphs(&a, modules, n, seed);
  for (size_t i = 0; i < n; i++) wk_module_free(modules[i]);
  wk_str_free(&a.text);
  wk_targets_close(&t);
  return bad;
}

/* `count` graphs from the first seed on; which device a batch is for follows from its seed. */
static void check_kind(const kind *k, uint64_t count, size_t size) {
  int bad = 0;
  if (!has_device) skip();
  all_nodes = all_device_nodes = 0;
  for (uint64_t done = 0; done < count; done += size) {
    const disguise *d = &disguises[(first_seed / size + done / size) % WK_COUNTOF(disguises)];
    size_t n = count - done < size ? (size_t)(count - done) : size;
    bad += check_batch(k, d, first_seed + done, n);
  }
  print_message("%s: %zu of %zu nodes on the device\n", k->name, all_device_nodes, all_nodes);
  assert_int_equal(bad, 0);
}

/* What bugs were found by, such as a fold of no axes, whose rows are single elements. */
static void seeds_that_failed(void **state) {
  (void)state;
  if (!has_device) skip();
  assert_int_equal(check_batch(&floats, &disguises[0], 203, 1), 0);
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(check_batch(&texts, &disguises[i], 0, WK_COUNTOF(text_graphs)), 0);
  for (size_t i = 1; i < 3; i++) /* GPUs without and with matrix units */
    assert_int_equal(check_batch(&halves, &disguises[i], 0, WK_COUNTOF(half_graphs)), 0);
}

/* The first of two parts on the device reads outside of a tensor, the second one does not. */
static void indices_out_of_range_are_reported(void **state) {
  static const char text[] =
      "module \"t\" opset 17 { graph @t(%x: f32[4,4], %i: i64[4], %j: i64[4]) {\n"
      "%a = gather(%x, %i) {axis=0} : f32[4,4]\n%d = det(%a) : f32[]\n"
      "%b = gather(%x, %j) {axis=0} : f32[4,4]\n%y = add(%b, %d) : f32[4,4]\n"
      "output %y } }";
  static const float x[16] = {1, 2, 3, 4};
  static const int64_t good[4] = {0, 1, 2, -1}, bad[4] = {0, 1, 4, -1};
  wk_targets t;
  wk_module *m = NULL;
  opencl_batch b;
  wk_tensor out[1] = {0};
  (void)state;
  if (!has_device) skip();
  assert_null(wk_module_parse(text, "t", &m));
  assert_null(wk_targets_open(&(wk_target_args){.target = "opencl"}, &t));
  assert_null(opencl_batch_make(&b, &t, &m, 1));
  for (int k = 0; k < 3; k++) {
    const wk_tensor in[] = {{.data = (void *)(uintptr_t)x},
                            {.data = (void *)(uintptr_t)(k == 1 ? bad : good)},
                            {.data = (void *)(uintptr_t)(k == 2 ? bad : good)}};
    wk_status s = opencl_batch_run(&b, 0, in, out);
    assert_int_equal(s != NULL, k > 0);
    if (s) assert_non_null(strstr(s->message, "an index is out of range"));
    wk_status_free(s);
    wk_tensor_free(&out[0]);
  }
  opencl_batch_free(&b);
  wk_targets_close(&t);
  wk_module_free(m);
}

static void random_integers(void **state) {
  (void)state;
  check_kind(&integers, n_seeds, BATCH);
}

static void random_floats(void **state) {
  (void)state;
  check_kind(&floats, (n_seeds + 4) / 5, BATCH / 2);
}

static void random_control(void **state) {
  (void)state;
  check_kind(&middle, (n_seeds + 3) / 4, BATCH / 2);
}

static void random_networks(void **state) {
  (void)state;
  check_kind(&layers, (n_seeds + 24) / 25, 2);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seeds_that_failed),
      cmocka_unit_test(indices_out_of_range_are_reported), cmocka_unit_test(random_integers),
      cmocka_unit_test(random_floats), cmocka_unit_test(random_control),
      cmocka_unit_test(random_networks)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, prepare, remove_passing);
}
