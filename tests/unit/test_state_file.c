/* SPDX-License-Identifier: Apache-2.0
 * Files of states that cannot be read or written; test_device.c has those that can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/toy_device.h"

static void *package;

static int load_toy(void **state) {
  size_t size;
  wick_model *model = NULL;
  wk_package *p = toy_package();
  wk_status s = wk_package_bytes(p, &package, &size);
  wk_package_free(p);
  if (s || wick_device_register(&toy_async) != WICK_OK ||
      wick_device_register(&toy_sync) != WICK_OK)
    return 1;
  wick_status status = wick_model_load_memory(package, size, NULL, &model);
  *state = model;
  return status != WICK_OK;
}

static int free_toy(void **state) {
  wick_model_free(*state);
  free(package);
  return 0;
}

/* The header of a file of states and its rows, as runtime/state.c has them. */
enum { STATE_COUNT = 12, STATE_CRC = 28, STATE_ROWS = 32, STATE_NAME = 0, STATE_OFFSET = 80,
       STATE_BYTES = 88, STATE_ROW = 96 };

/* Numbers that lead out of the file, with checksums that fit. */
static void contradictions_are_refused(void **state) {
  const wick_model *model = *state;
  static const struct {
    int row, field;
    uint64_t value;
  } cases[] = {{0, STATE_NAME, UINT64_MAX}, {1, STATE_NAME, 1 << 20},
               {0, STATE_OFFSET, UINT64_MAX}, {1, STATE_BYTES, UINT64_MAX},
               {1, STATE_BYTES, 1 << 20}};
  char path[] = "/tmp/wick-test-XXXXXX";
  close(mkstemp(path));
  wick_state *a, *b;
  wick_error_detail detail;
  wk_file f;
  assert_int_equal(wick_state_new(model, &a), WICK_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(wick_state_save(a, path, &detail), WICK_OK);
    assert_null(wk_file_map(path, &f));
    uint8_t *bytes = malloc(f.size);
    uint32_t count, crc = 0;
    memcpy(bytes, f.data, f.size);
    memcpy(&count, bytes + STATE_COUNT, 4);
    assert_int_equal(count, 2);
    memcpy(bytes + STATE_ROWS + cases[i].row * STATE_ROW + cases[i].field, &cases[i].value, 8);
    memcpy(bytes + STATE_CRC, &crc, 4);
    crc = wk_crc32c(0, bytes, STATE_ROWS + 2 * STATE_ROW);
    memcpy(bytes + STATE_CRC, &crc, 4);
    assert_null(wk_write_file(path, bytes, f.size));
    assert_int_equal(wick_state_load(model, path, &detail, &b), WICK_CORRUPT);
    assert_string_equal(detail.text, "the state file contradicts itself");
    wk_file_unmap(&f);
    free(bytes);
  }
  unlink(path);
  wick_state_free(a);
}

/* Nothing is left where a file of states cannot be. */
static void state_that_cannot_be_saved(void **state) {
  char folder[] = "/tmp/wick-test-XXXXXX", path[5000];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/taken", folder);
  assert_int_equal(mkdir(path, 0777), 0);
  wick_state *a;
  wick_error_detail detail;
  assert_int_equal(wick_state_new(*state, &a), WICK_OK);
  assert_int_equal(wick_state_save(a, path, &detail), WICK_CANNOT_WRITE);
  assert_non_null(strstr(detail.text, "/taken: Is a directory"));
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(rmdir(folder), 0);
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 1] = 0;
  assert_int_equal(wick_state_save(a, path, &detail), WICK_CANNOT_WRITE);
  wick_state_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(contradictions_are_refused),
                                     cmocka_unit_test(state_that_cannot_be_saved)};
  return cmocka_run_group_tests(tests, load_toy, free_toy);
}
