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

typedef struct {
  uint8_t *data;
  size_t size;
} bytes;

static bytes build(const char *features) {
  bytes b;
  void *data;
  wk_package *p = tiny_package(features);
  assert_null(wk_package_bytes(p, &data, &b.size));
  wk_package_free(p);
  b.data = data;
  return b;
}

/* Reads every byte that the queries hand out. */
static size_t walk(const wick_model *model) {
  const wick_model_info *info = wick_model_describe(model);
  size_t sum = strlen(info->name) + strlen(info->compiler) + strlen(info->flags) +
               strlen(info->target) + strlen(info->machine) + strlen(info->features);
  for (uint32_t e = 0; e < info->entry_count; e++) {
    const wick_entry_info *entry = wick_model_entry(model, e);
    sum += strlen(entry->name) + entry->arena_bytes + entry->scratch_bytes;
    for (uint32_t i = 0; i < entry->input_count; i++) sum += strlen(entry->inputs[i].name);
    for (uint32_t i = 0; i < entry->output_count; i++)
      sum += strlen(entry->outputs[i].name) + strlen(wick_dtype_name(entry->outputs[i].dtype));
    for (uint32_t i = 0; i < entry->step_count; i++)
      sum += strlen(entry->steps[i].node) + strlen(entry->steps[i].op) +
             strlen(entry->steps[i].text);
  }
  return sum;
}

/* Loads a copy of exactly `size` bytes, so that reading past its end is seen by the sanitizer. */
static wick_status try_load(const uint8_t *data, size_t size, uint32_t flags,
                            wick_error_detail *detail) {
  uint8_t *copy = malloc(size ? size : 1);
  memcpy(copy, data, size);
  wick_model *model = NULL;
  wick_status status =
      wick_model_load_memory(copy, size, &(wick_load_options){flags, detail}, &model);
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

static void layout_is_as_documented(void **state) {
  (void)state;
  bytes b = build("");
  wick_pkg_header h;
  memcpy(&h, b.data, sizeof h);
  assert_string_equal(h.magic, "WICKPKG");
  assert_int_equal(h.file_size, b.size);
  assert_int_equal(h.sections[WICK_SECTION_CODE - 1].offset % WICK_PAGE, 0);
  assert_int_equal(h.sections[WICK_SECTION_CONST - 1].offset % WICK_PAGE, 0);
  for (uint32_t i = 0; i < WICK_SECTION_COUNT; i++) {
    const wick_pkg_section *s = &h.sections[i];
    assert_int_equal(s->kind, i + 1);
    assert_int_equal(wk_crc32c(0, b.data + s->offset, s->size), s->crc);
  }
  assert_memory_equal(b.data + h.sections[WICK_SECTION_CONST - 1].offset, tiny_consts,
                      sizeof tiny_consts);
  free(b.data);
}

static void equal_consts_share_an_offset(void **state) {
  (void)state;
  wk_package *p = wk_package_new(&(wk_package_meta){.machine = TINY_MACHINE});
  const char a[] = "weights", b[] = "WEIGHTS", a_again[] = "weights";
  assert_int_equal(wk_package_add_const(p, a, sizeof a), 0);
  assert_int_equal(wk_package_add_const(p, b, sizeof b), WICK_ALIGN);
  assert_int_equal(wk_package_add_const(p, a_again, sizeof a), 0);
  assert_int_equal(wk_package_add_const(p, "", 0), wk_package_add_const(p, NULL, 0));
  assert_int_equal(wk_package_add_const(p, a, sizeof a - 1), 2 * WICK_ALIGN);
  wk_package_free(p);
}

static void parts_that_do_not_fit_are_refused(void **state) {
  (void)state;
  for (int bad = 0; bad < 5; bad++) {
    wk_package *p = tiny_package("");
    int64_t dim = 1;
    wk_package_tensor x = {"x", WICK_F32, bad == 0 ? 9 : 1, &dim, 4, bad == 1 ? 3 : 4};
    int64_t dims[9] = {0};
    if (bad == 0) x.dims = dims;
    wk_package_step step = {"", "", "", bad == 2 ? sizeof tiny_code : 0, 0, 0};
    wk_package_entry e = {.inputs = &x, .n_inputs = 1, .steps = &step, .n_steps = 1,
                          .arena_align = bad == 3 ? 32 : 64};
    wk_package_add_entry(p, &e);
    if (bad == 4) wk_package_add_symbol(p, "outside", sizeof tiny_code, 1);
    void *data;
    size_t size;
    wk_status s = wk_package_bytes(p, &data, &size);
    assert_non_null(s);
    assert_int_equal(s->code, WK_INTERNAL);
    wk_status_free(s);
    wk_package_free(p);
  }
  wk_package *empty = wk_package_new(&(wk_package_meta){.machine = TINY_MACHINE});
  void *data;
  size_t size;
  wk_status s = wk_package_bytes(empty, &data, &size);
  assert_non_null(s);
  wk_status_free(s);
  wk_package_free(empty);
}

static void every_flipped_byte_is_refused(void **state) {
  (void)state;
  static const uint8_t flips[] = {0xff, 0x01, 0x80};
  bytes b = build("");
  assert_int_equal(try_load(b.data, b.size, 0, NULL), WICK_OK);
  for (size_t i = 0; i < b.size; i++)
    for (size_t k = 0; k < WK_COUNTOF(flips); k++) {
      wick_model *model;
      b.data[i] ^= flips[k];
      wick_status status = wick_model_load_memory(b.data, b.size, NULL, &model);
      b.data[i] ^= flips[k];
      if (status == WICK_OK) fail_msg("byte %zu flipped by %02x was accepted", i, flips[k]);
    }
  free(b.data);
}

static void flipped_bytes_without_checksums_never_crash(void **state) {
  (void)state;
  bytes b = build("");
  wick_pkg_header h;
  memcpy(&h, b.data, sizeof h);
  size_t tables = h.sections[WICK_SECTION_CODE - 1].offset, accepted = 0;
  static const uint8_t flips[] = {0xff, 0x01, 0x80, 0x10};
  for (size_t i = 0; i < tables; i++)
    for (size_t k = 0; k < WK_COUNTOF(flips); k++) {
      b.data[i] ^= flips[k];
      accepted += try_load(b.data, b.size, WICK_LOAD_UNCHECKED, NULL) == WICK_OK;
      b.data[i] ^= flips[k];
    }
  assert_true(accepted > 0);
  free(b.data);
}

/* Several bytes at once, and 32-bit words set to values that break careless arithmetic. */
static void random_damage_without_checksums_never_crashes(void **state) {
  (void)state;
  static const uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffc, 4096};
  bytes b = build("");
  wick_pkg_header h;
  memcpy(&h, b.data, sizeof h);
  int64_t tables = (int64_t)h.sections[WICK_SECTION_CODE - 1].offset;
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
    try_load(mutant, b.size, WICK_LOAD_UNCHECKED, NULL);
  }
  free(mutant);
  free(b.data);
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  bytes b = build("");
  for (size_t size = 0; size < b.size; size++)
    for (uint32_t flags = 0; flags <= WICK_LOAD_UNCHECKED; flags++)
      if (try_load(b.data, size, flags, NULL) == WICK_OK)
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
  assert_string_equal(detail.text, "format version 2, this runtime reads 1");
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
  wk_package *p = wk_package_new(&(wk_package_meta){
      .machine = TINY_MACHINE == WICK_MACHINE_X86_64 ? WICK_MACHINE_AARCH64 : WICK_MACHINE_X86_64});
  wk_package_add_code(p, tiny_code, sizeof tiny_code);
  wk_package_add_entry(p, &(wk_package_entry){.arena_align = 64});
  void *data;
  size_t size;
  wick_error_detail detail;
  assert_null(wk_package_bytes(p, &data, &size));
  assert_int_equal(try_load(data, size, 0, &detail), WICK_BAD_MACHINE);
  assert_non_null(strstr(detail.text, "aarch64"));
  assert_non_null(strstr(detail.text, "x86_64"));
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
      cmocka_unit_test(every_flipped_byte_is_refused),
      cmocka_unit_test(flipped_bytes_without_checksums_never_crash),
      cmocka_unit_test(random_damage_without_checksums_never_crashes),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(other_files_are_refused_by_name),
      cmocka_unit_test(missing_features_are_refused_by_name),
      cmocka_unit_test(other_machine_is_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
