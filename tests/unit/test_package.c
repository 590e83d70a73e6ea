/* SPDX-License-Identifier: Apache-2.0
 * The package writer, and what the loader says to packages that were damaged on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/wick.h"
#include "tests/unit/tiny_package.h"
#include "tests/unit/toy_package.h"

typedef struct {
  uint8_t *data;
  size_t size;
} bytes;

static bytes bytes_of(wk_package *p) {
  bytes b;
  void *data;
  assert_null(wk_package_bytes(p, &data, &b.size));
  wk_package_free(p);
  b.data = data;
  return b;
}

static bytes build(const char *features) { return bytes_of(tiny_package(features)); }

/* One of two to damage: code for this machine; units, plans and state of many kinds. */
static bytes build_either(void **state) {
  return *(const int *)*state ? bytes_of(toy_package()) : build("");
}
/* Nobody here has a device for the toy. */
static uint32_t flags_of(void **state) { return *(const int *)*state ? WICK_LOAD_DESCRIBE : 0; }
static int tiny = 0, toy = 1;
#define EITHER_TEST(f)                                                                  \
  {#f " (tiny)", f, NULL, NULL, &tiny}, {#f " (toy)", f, NULL, NULL, &toy}

/* Reads every byte that the queries hand out. */
static size_t walk(const wick_model *model) {
  const wick_model_info *info = wick_model_describe(model);
  size_t sum = strlen(info->name) + strlen(info->compiler) + strlen(info->flags);
  for (uint32_t u = 0; u < info->unit_count; u++)
    sum += strlen(info->units[u].target) + strlen(info->units[u].spec) +
           strlen(info->units[u].machine) + strlen(info->units[u].features);
  for (uint32_t i = 0; i < info->section_count; i++) sum += strlen(info->sections[i].name);
  for (uint32_t i = 0; i < info->state_count; i++)
    sum += strlen(info->states[i].tensor->name) + info->states[i].tensor->bytes;
  for (uint32_t e = 0; e < info->entry_count; e++) {
    const wick_entry_info *entry = wick_model_entry(model, e);
    sum += strlen(entry->name) + entry->arena_bytes + entry->scratch_bytes;
    for (uint32_t i = 0; i < entry->input_count; i++) sum += strlen(entry->inputs[i].name);
    for (uint32_t i = 0; i < entry->output_count; i++)
      sum += strlen(entry->outputs[i].name) + strlen(wick_dtype_name(entry->outputs[i].dtype));
    for (uint32_t i = 0; i < entry->edge_count; i++) sum += strlen(entry->edges[i].name);
    for (uint32_t i = 0; i < entry->part_count; i++)
      sum += strlen(entry->parts[i]->name) + strlen(entry->parts[i]->target);
    for (uint32_t i = 0; i < entry->step_count; i++) {
      const wick_step_info *step = &entry->steps[i];
      sum += strlen(step->node) + strlen(step->op) + strlen(step->text);
      for (uint32_t k = 0; k < step->tensor_count; k++) sum += strlen(step->tensors[k].name);
    }
  }
  return sum;
}

/* Loads a copy of exactly `size` bytes, so that reading past its end is seen by the sanitizer. */
static wick_status try_load(const uint8_t *data, size_t size, uint32_t flags,
                            wick_error_detail *detail) {
  uint8_t *copy = malloc(size ? size : 1);
  memcpy(copy, data, size);
  wick_model *model = NULL;
  const wick_load_options options = {.size = sizeof options, .flags = flags, .detail = detail};
  wick_status status = wick_model_load_memory(copy, size, &options, &model);
  assert_true((status == WICK_OK) == (model != NULL));
  if (model) assert_true(walk(model) > 0);
  wick_model_free(model);
  free(copy);
  return status;
}

static void same_calls_same_bytes(void **state) {
  (void)state;
  bytes a = build("sse2"), b = build("sse2");
  assert_int_equal(a.size, b.size);
  assert_memory_equal(a.data, b.data, a.size);
  free(a.data);
  free(b.data);
}

static void file_and_memory_agree(void **state) {
  (void)state;
  char path[] = "/tmp/wick-test-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  wk_package *p = tiny_package("");
  wk_out *out;
  assert_null(wk_out_open(path, &out));
  assert_null(wk_package_write(p, out));
  assert_null(wk_out_commit(out));
  bytes b = build("");
  wk_file file;
  assert_null(wk_file_map(path, &file));
  assert_int_equal(file.size, b.size);
  assert_memory_equal(file.data, b.data, b.size);
  wk_file_unmap(&file);
  wk_package_free(p);
  free(b.data);
  unlink(path);
}

/* The sections of a file, behind its header. */
static const wick_pkg_section *sections_of(const bytes *b, uint32_t *n) {
  wick_pkg_header h;
  memcpy(&h, b->data, sizeof h);
  *n = h.section_count;
  return (const wick_pkg_section *)(b->data + sizeof h);
}

/* Where the first unit's sections begin: header and tables are before it. */
static size_t tables_end(const bytes *b) {
  uint32_t n;
  const wick_pkg_section *strings = &sections_of(b, &n)[WICK_TABLE_COUNT - 1];
  return strings->offset + strings->size;
}

static void layout_is_as_documented(void **state) {
  (void)state;
  bytes b = build("");
  wick_pkg_header h;
  uint32_t n;
  memcpy(&h, b.data, sizeof h);
  const wick_pkg_section *s = sections_of(&b, &n);
  assert_string_equal(h.magic, "WICKPKG");
  assert_int_equal(h.file_size, b.size);
  assert_int_equal(n, WICK_TABLE_COUNT + 2);
  for (uint32_t i = 0; i < n; i++) {
    if (i < WICK_TABLE_COUNT) assert_int_equal(s[i].kind, i + 1);
    assert_int_equal(s[i].unit, i < WICK_TABLE_COUNT ? WICK_NONE : 0);
    assert_int_equal(s[i].offset % s[i].align, 0);
    assert_int_equal(wk_crc32c(0, b.data + s[i].offset, s[i].size), s[i].crc);
  }
  assert_int_equal(s[n - 2].kind, WICK_SECTION_CODE);
  assert_int_equal(s[n - 2].align, WICK_PAGE);
  assert_int_equal(s[n - 1].kind, WICK_SECTION_CONST);
  assert_memory_equal(b.data + s[n - 1].offset, tiny_consts, sizeof tiny_consts);
  free(b.data);
}

static wk_package *empty_package(uint32_t *unit) {
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "empty"});
  *unit = wk_package_add_unit(p, &(wk_package_unit){.target = "cpu", .machine = TINY_MACHINE});
  return p;
}

static void equal_consts_share_an_offset(void **state) {
  (void)state;
  uint32_t u;
  wk_package *p = empty_package(&u);
  const char a[] = "weights", b[] = "WEIGHTS", a_again[] = "weights";
  assert_int_equal(wk_package_add_const(p, u, a, sizeof a), 0);
  assert_int_equal(wk_package_add_const(p, u, b, sizeof b), WICK_ALIGN);
  assert_int_equal(wk_package_add_const(p, u, a_again, sizeof a), 0);
  assert_int_equal(wk_package_add_const(p, u, "", 0), wk_package_add_const(p, u, NULL, 0));
  assert_int_equal(wk_package_add_const(p, u, a, sizeof a - 1), 2 * WICK_ALIGN);
  uint32_t other = wk_package_add_unit(p, &(wk_package_unit){.target = "other"});
  assert_int_equal(wk_package_add_const(p, other, b, sizeof b), 0);
  wk_package_free(p);
}

static void refuse(wk_package *p, const char *why) {
  void *data;
  size_t size;
  wk_status s = wk_package_bytes(p, &data, &size);
  assert_non_null(s);
  assert_int_equal(s->code, WK_INTERNAL);
  if (!strstr(s->message, why)) fail_msg("'%s' is not about '%s'", s->message, why);
  wk_status_free(s);
  wk_package_free(p);
}

/* One thing of each kind is wrong. */
static void parts_that_do_not_fit_are_refused(void **state) {
  (void)state;
  static const char *const why[] = {"rank", "alignment 3", "step 0 of part bad", "arena", "symbol",
                                    "part bad has no code", "row 0 runs no part", "no tensor 1",
                                    "waits for a later one", "section ''", "edges aligned to 5",
                                    "place 7"};
  for (size_t bad = 0; bad < WK_COUNTOF(why); bad++) {
    wk_package *p = tiny_package("");
    int64_t dims[9] = {1};
    uint32_t tensors[] = {0, 1}, waits[] = {0};
    wk_package_tensor x = {.name = "x", .dtype = WICK_F32, .rank = bad == 0 ? 9 : 1, .dims = dims,
                           .align = bad == 1 ? 3 : 4, .place = bad == 11 ? 7 : 0};
    wk_package_step step = {.code = bad == 2 ? sizeof tiny_code : 0};
    wk_package_part part = {.name = "bad", .inputs = &x, .n_inputs = 1, .steps = &step,
                            .n_steps = 1, .code = bad == 5 ? sizeof tiny_code : 0,
                            .arena_align = bad == 3 ? 32 : 64};
    uint32_t number = wk_package_add_part(p, &part);
    wk_package_row row = {.kind = WICK_ROW_RUN, .part = bad == 6 ? number + 1 : number,
                          .tensors = tensors, .n_tensors = bad == 7 ? 2 : 1, .waits = waits,
                          .n_waits = bad == 8};
    wk_package_entry e = {.name = "entry", .inputs = &x, .n_inputs = 1, .rows = &row, .n_rows = 1,
                          .edge_align = bad == 10 ? 5 : 0};
    wk_package_add_entry(p, &e);
    if (bad == 4) wk_package_add_symbol(p, 0, "outside", sizeof tiny_code, 1);
    if (bad == 9) wk_package_add_section(p, 0, "", 64, "x", 1);
    refuse(p, why[bad]);
  }
  uint32_t u;
  refuse(empty_package(&u), "no entry");
}

static void every_flipped_byte_is_refused(void **state) {
  static const uint8_t flips[] = {0xff, 0x01, 0x80};
  bytes b = build_either(state);
  const wick_load_options options = {.size = sizeof options, .flags = flags_of(state)};
  assert_int_equal(try_load(b.data, b.size, flags_of(state), NULL), WICK_OK);
  for (size_t i = 0; i < b.size; i++)
    for (size_t k = 0; k < WK_COUNTOF(flips); k++) {
      wick_model *model;
      b.data[i] ^= flips[k];
      wick_status status = wick_model_load_memory(b.data, b.size, &options, &model);
      b.data[i] ^= flips[k];
      if (status == WICK_OK) fail_msg("byte %zu flipped by %02x was accepted", i, flips[k]);
    }
  free(b.data);
}

static void flipped_bytes_without_checksums_never_crash(void **state) {
  bytes b = build_either(state);
  size_t tables = tables_end(&b), accepted = 0;
  static const uint8_t flips[] = {0xff, 0x01, 0x80, 0x10};
  for (size_t i = 0; i < tables; i++)
    for (size_t k = 0; k < WK_COUNTOF(flips); k++) {
      b.data[i] ^= flips[k];
      accepted += try_load(b.data, b.size, WICK_LOAD_UNCHECKED | flags_of(state), NULL) == WICK_OK;
      b.data[i] ^= flips[k];
    }
  assert_true(accepted > 0);
  free(b.data);
}

/* Several bytes at once, and 32-bit words set to values that break careless arithmetic. */
static void random_damage_without_checksums_never_crashes(void **state) {
  static const uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffc, 4096};
  bytes b = build_either(state);
  int64_t tables = (int64_t)tables_end(&b);
  uint8_t *mutant = malloc(b.size);
  wk_rng rng = {20240607};
  for (int round = 0; round < 20000; round++) {
    memcpy(mutant, b.data, b.size);
    int64_t n = wk_rng_range(&rng, 1, 4);
    while (n-- > 0) {
      int64_t at = wk_rng_range(&rng, 8, tables - 4) & ~INT64_C(3);
      uint32_t word = words[wk_rng_range(&rng, 0, WK_COUNTOF(words) - 1)];
      memcpy(mutant + at, &word, sizeof word);
    }
    try_load(mutant, b.size, WICK_LOAD_UNCHECKED | flags_of(state), NULL);
  }
  free(mutant);
  free(b.data);
}

static void every_truncation_is_refused(void **state) {
  bytes b = build_either(state);
  for (size_t size = 0; size < b.size; size++)
    for (uint32_t flags = 0; flags <= WICK_LOAD_UNCHECKED; flags++)
      if (try_load(b.data, size, flags | flags_of(state), NULL) == WICK_OK)
        fail_msg("the first %zu of %zu bytes were accepted", size, b.size);
  uint8_t *longer = calloc(1, b.size + 1);
  memcpy(longer, b.data, b.size);
  assert_int_equal(try_load(longer, b.size + 1, 0, NULL), WICK_CORRUPT);
  free(longer);
  free(b.data);
}

static void other_files_are_refused_by_name(void **state) {
  (void)state;
  static const uint8_t png[] = "\x89PNG\r\n\x1a\n and so on, but nothing of use";
  wick_error_detail detail;
  assert_int_equal(try_load(png, sizeof png, 0, &detail), WICK_NOT_PACKAGE);
  assert_string_equal(detail.text, "not a package");
  assert_int_equal(try_load(png, 0, 0, &detail), WICK_NOT_PACKAGE);
  bytes b = build("");
  uint32_t version = WICK_FORMAT_VERSION + 1;
  memcpy(b.data + offsetof(wick_pkg_header, version), &version, sizeof version);
  assert_int_equal(try_load(b.data, b.size, 0, &detail), WICK_BAD_VERSION);
  assert_string_equal(detail.text, "format version 7, this runtime reads 6");
  version = 1;
  memcpy(b.data + offsetof(wick_pkg_header, version), &version, sizeof version);
  assert_int_equal(try_load(b.data, b.size, 0, &detail), WICK_BAD_VERSION);
  assert_string_equal(detail.text, "format version 1, this runtime reads 6; compile the model "
                                   "again: wick compile MODEL.onnx");
  free(b.data);
}

static void missing_features_are_refused_by_name(void **state) {
  (void)state;
  wick_error_detail detail;
  bytes b = build("quantum avx1024");
  assert_int_equal(try_load(b.data, b.size, 0, &detail), WICK_BAD_MACHINE);
  assert_string_equal(detail.text, "this processor lacks quantum avx1024");
  free(b.data);
  char list[800] = "";
  for (int i = 0; i < 60; i++) strcat(list, "no-such-one ");
  b = build(list);
  assert_int_equal(try_load(b.data, b.size, 0, &detail), WICK_BAD_MACHINE);
  assert_non_null(strstr(detail.text, "this processor lacks no-such-one no-such-one"));
  free(b.data);
}

static void other_machine_is_refused_by_name(void **state) {
  (void)state;
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "other"});
  uint32_t unit = wk_package_add_unit(p, &(wk_package_unit){
      .target = "cpu",
      .machine = TINY_MACHINE == WICK_MACHINE_X86_64 ? WICK_MACHINE_AARCH64
                                                     : WICK_MACHINE_X86_64});
  wk_package_add_code(p, unit, tiny_code, sizeof tiny_code);
  wk_package_add_whole(p, "", wk_package_add_part(p, &(wk_package_part){.unit = unit}));
  void *data;
  size_t size;
  wick_error_detail detail;
  assert_null(wk_package_bytes(p, &data, &size));
  assert_int_equal(try_load(data, size, 0, &detail), WICK_BAD_MACHINE);
  assert_non_null(strstr(detail.text, "aarch64"));
  assert_non_null(strstr(detail.text, "x86_64"));
  assert_int_equal(try_load(data, size, WICK_LOAD_DESCRIBE, &detail), WICK_OK);
  free(data);
  wk_package_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_calls_same_bytes),
      cmocka_unit_test(file_and_memory_agree),
      cmocka_unit_test(layout_is_as_documented),
      cmocka_unit_test(equal_consts_share_an_offset),
      cmocka_unit_test(parts_that_do_not_fit_are_refused),
      EITHER_TEST(every_flipped_byte_is_refused),
      EITHER_TEST(flipped_bytes_without_checksums_never_crash),
      EITHER_TEST(random_damage_without_checksums_never_crashes),
      EITHER_TEST(every_truncation_is_refused),
      cmocka_unit_test(other_files_are_refused_by_name),
      cmocka_unit_test(missing_features_are_refused_by_name),
      cmocka_unit_test(other_machine_is_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
