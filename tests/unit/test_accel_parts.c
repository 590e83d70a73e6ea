/* SPDX-License-Identifier: Apache-2.0
 * The accelerator's parts of a package, as commands get them: of several units and entries, each
 * once, in the order in which they are used; and packages whose units are not what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/accel_parts.h"
#include "tests/accel_package.h"
#include "tests/accel_streams.h"

/* Units of a package in order: another target's, the accelerator's with two parts, one more with
 * one. What a test makes wrong is 0 else. */
typedef struct {
  uint64_t hash; /* added to that of the last unit */
  uint64_t code; /* added to that of the last part */
} wrong;

static wk_stream *assemble(const char *text) {
  wk_stream *s;
  wk_status status = wk_asm(text, strlen(text), "test.s", NULL, NULL, &s);
  if (status) fail_msg("%s: %s", status->place, status->message);
  return s;
}

static uint32_t put_part(wk_package *p, uint32_t unit, const char *name, uint64_t code,
                         const accel_part_io *io) {
  wk_package_tensor t[ACCEL_IO_MAX];
  int64_t dims[ACCEL_IO_MAX][1];
  for (size_t k = 0; k < io->n_io; k++) accel_fill_tensor(&t[k], dims[k], &io->io[k]);
  return wk_package_add_part(
      p, &(wk_package_part){.name = name, .unit = unit, .code = code, .inputs = t,
                            .n_inputs = io->n_in, .outputs = t + io->n_in,
                            .n_outputs = io->n_io - io->n_in});
}

static uint32_t put_unit(wk_package *p, accel_unit_data *u, uint64_t hash) {
  wk_accel_section own[ACCEL_SECTIONS];
  wk_machine_text(&u->machine_text, &u->machine);
  accel_list_sections(u, own);
  uint32_t unit = wk_package_add_unit(
      p, &(wk_package_unit){.target = "accel", .spec = "tiny",
                            .machine_hash = wk_machine_hash(&u->machine) + hash});
  if (u->constants.n) wk_package_add_const(p, unit, u->constants.data, u->constants.n);
  for (size_t i = 1; i < ACCEL_SECTIONS; i++)
    wk_package_add_section(p, unit, own[i].name, WICK_ALIGN, own[i].data, own[i].size);
  return unit;
}

enum { OTHER, COPY, PRODUCT, LAST, ROWS }; /* parts: of the other target, of the accelerator */

/* entries: of which part each is one, ends with ROWS. */
static void make(const char *path, const int *entries, wrong w) {
  wk_stream *s[] = {assemble(accel_copy), assemble(accel_product), assemble(accel_copy)};
  accel_unit_data two = {.constants = {0}}, one = {.constants = {0}};
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "parts"});
  uint32_t row[ROWS];
  void *data;
  size_t size;
  wk_out *out;
  accel_add_part(&two, s[0]);
  accel_add_part(&two, s[1]);
  accel_add_part(&one, s[2]);
  uint32_t other = wk_package_add_unit(p, &(wk_package_unit){.target = "toy"});
  wk_package_add_section(p, other, "object", WICK_ALIGN, "toy", 3);
  row[OTHER] = put_part(p, other, "other", 0, &two.io[0]);
  uint32_t unit = put_unit(p, &two, 0);
  row[COPY] = put_part(p, unit, "copy", 0, &two.io[0]);
  row[PRODUCT] = put_part(p, unit, "product", 1, &two.io[1]);
  row[LAST] = put_part(p, put_unit(p, &one, w.hash), "last", w.code, &one.io[0]);
  for (size_t i = 0; entries[i] != ROWS; i++) {
    char name[32];
    snprintf(name, sizeof name, "entry%zu", i);
    wk_package_add_whole(p, name, row[entries[i]]);
  }
  assert_null(wk_package_bytes(p, &data, &size));
  assert_null(wk_out_open(path, &out));
  wk_out_write(out, data, size);
  assert_null(wk_out_commit(out));
  wk_package_free(p);
  free(data);
  for (int i = 0; i < 3; i++) wk_stream_free(s[i]);
  accel_unit_free(&two);
  accel_unit_free(&one);
}

static const char path[] = "accel_parts.wick";

static void assert_says(wk_status s, wk_code code, const char *place, const char *message) {
  assert_non_null(s);
  assert_int_equal(s->code, code);
  if (place) assert_string_equal(s->place, place);
  assert_string_equal(s->message, message);
  wk_status_free(s);
}

static int set_up(void **state) {
  static char dir[] = "/tmp/wick_accel_parts_XXXXXX";
  (void)state;
  return !mkdtemp(dir) || chdir(dir);
}

static int clean_up(void **state) {
  char dir[64];
  (void)state;
  unlink(path);
  return !getcwd(dir, sizeof dir) || chdir("/") || rmdir(dir);
}

/* ---- what is read ---------------------------------------------------------------------------- */

static const int all[] = {LAST, OTHER, PRODUCT, COPY, PRODUCT, OTHER, LAST, COPY, ROWS};

static void each_part_once_in_the_order_of_use(void **state) {
  static const char *const names[] = {"last", "product", "copy"};
  static const uint32_t units[] = {2, 1, 1};
  wk_file f;
  wick_model *m;
  wk_accel_parts parts;
  (void)state;
  make(path, all, (wrong){0});
  assert_null(wk_file_map(path, &f));
  const wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_DESCRIBE};
  assert_int_equal(wick_model_load(path, &lo, &m), WICK_OK);
  assert_null(wk_accel_parts_read(m, &f, &parts));
  assert_int_equal(parts.n_parts, 3);
  assert_int_equal(parts.units[0].n_parts, 0); /* the other target's */
  assert_int_equal(parts.units[1].n_parts, 2);
  assert_int_equal(parts.units[2].n_parts, 1);
  for (size_t i = 0; i < 3; i++) {
    const wk_accel_package_part *x = &parts.parts[i];
    assert_string_equal(x->info->name, names[i]);
    assert_ptr_equal(x->unit, &parts.units[units[i]]);
    assert_ptr_equal(x->row, &x->unit->parts[x->info->code]);
    assert_string_equal(x->io[0].name, "x");
    assert_string_equal(x->io[1].name, "y");
    for (int k = 0; k < 2; k++) {
      assert_int_equal(x->io[k].bytes, 1024);
      assert_int_equal(x->io[k].is_output, k);
    }
  }
  wk_accel_parts_free(&parts);
  assert_null(parts.arena);
  wick_model_free(m);
  wk_file_unmap(&f);
}

static void nothing_for_the_accelerator(void **state) {
  static const int none[] = {OTHER, ROWS};
  wk_accel_streams streams;
  (void)state;
  make(path, none, (wrong){0});
  assert_says(wk_accel_streams_load(path, WK_ACCEL_ALL_PARTS, &(wk_asm_options){0}, &streams),
              WK_INPUT, path, WK_NO_ACCEL_PART);
  wk_accel_streams_free(&streams);
}

/* ---- what is wrong with it ------------------------------------------------------------------- */

static void units_of_another_version(void **state) {
  wk_accel_streams streams;
  wk_machine m;
  (void)state;
  assert_null(wk_machine_read("tiny", &m));
  make(path, all, (wrong){.hash = 1});
  char *text = NULL;
  assert_true(asprintf(&text, "compiled for machine 'tiny' of another version of Wick (hash %016llx"
                              ", not %016llx)", (unsigned long long)wk_machine_hash(&m) + 1,
                       (unsigned long long)wk_machine_hash(&m)) > 0);
  assert_says(wk_accel_streams_load(path, WK_ACCEL_ALL_PARTS, &(wk_asm_options){0}, &streams),
              WK_UNSUPPORTED, path, text);
  wk_accel_streams_free(&streams);
  free(text);
}

static void parts_that_their_unit_has_not(void **state) {
  wk_accel_streams streams;
  (void)state;
  for (uint64_t code = 1; code < 3; code++) {
    char text[64];
    snprintf(text, sizeof text, "section parts: there is no part %d", (int)code);
    make(path, all, (wrong){.code = code});
    assert_says(wk_accel_streams_load(path, WK_ACCEL_ALL_PARTS, &(wk_asm_options){0}, &streams),
                WK_INPUT, path, text);
    wk_accel_streams_free(&streams);
  }
}

/* ---- streams --------------------------------------------------------------------------------- */

static void streams_of_all_or_of_one(void **state) {
  static const uint32_t counts[] = {5, 11, 5}; /* commands of copy and product */
  wk_accel_streams streams;
  (void)state;
  make(path, all, (wrong){0});
  for (int64_t part = -1; part < 3; part++) {
    assert_null(wk_accel_streams_load(path, part, &(wk_asm_options){0}, &streams));
    assert_int_equal(streams.n, part < 0 ? 3 : 1);
    for (size_t i = 0; i < streams.n; i++)
      assert_int_equal(streams.list[i]->n, counts[part < 0 ? (int64_t)i : part]);
    wk_accel_streams_free(&streams);
    assert_int_equal(streams.n, 0);
  }
  for (int64_t part = 3; part < 5; part++) {
    char text[80];
    snprintf(text, sizeof text, "--part %d: the package has 3 for the accelerator, counted from 0",
             (int)part);
    assert_says(wk_accel_streams_load(path, part, &(wk_asm_options){0}, &streams), WK_USAGE, path,
                text);
    wk_accel_streams_free(&streams);
  }
}

/* The one that does not fit is the second: the first is given back. */
static void streams_for_another_machine(void **state) {
  wk_accel_streams streams;
  wk_machine base;
  (void)state;
  assert_null(wk_machine_read("base", &base));
  make(path, all, (wrong){0});
  for (int64_t part = -1; part < 3; part++) {
    wk_status s = wk_accel_streams_load(path, part, &(wk_asm_options){.machine = &base}, &streams);
    assert_non_null(s);
    assert_string_equal(s->place, path);
    assert_int_equal(streams.n, 1);
    wk_status_free(s);
    wk_accel_streams_free(&streams);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_part_once_in_the_order_of_use),
      cmocka_unit_test(nothing_for_the_accelerator),
      cmocka_unit_test(units_of_another_version),
      cmocka_unit_test(parts_that_their_unit_has_not),
      cmocka_unit_test(streams_of_all_or_of_one),
      cmocka_unit_test(streams_for_another_machine),
  };
  return cmocka_run_group_tests(tests, set_up, clean_up);
}
