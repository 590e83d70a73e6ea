/* SPDX-License-Identifier: Apache-2.0
 * Files of states: how they are laid out, and those that cannot be read or written; test_device.c
 * has what models make of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/toy_model.h"

/* The header of a file of states and its rows, as runtime/state.c has them. */
enum { STATE_VERSION = 8, STATE_COUNT = 12, STATE_FILE_SIZE = 16, STATE_DATA_CRC = 24,
       STATE_CRC = 28, STATE_ROWS = 32, STATE_NAME = 0, STATE_DTYPE = 8, STATE_RANK = 12,
       STATE_DIMS = 16, STATE_OFFSET = 80, STATE_BYTES = 88, STATE_ROW = 96,
       STATE_DATA = STATE_ROWS + 2 * STATE_ROW };

/* A file of the model's states, in memory. */
typedef struct {
  char path[32];
  uint8_t *bytes;
  size_t size;
} saved;

static saved save(const wick_model *model) {
  saved f = {"/tmp/wick-test-XXXXXX", NULL, 0};
  wick_state *s;
  wick_error_detail detail = {"before"};
  wk_file map;
  close(mkstemp(f.path));
  assert_int_equal(wick_state_new(model, &s), WICK_OK);
  assert_int_equal(wick_state_save(s, f.path, &detail), WICK_OK);
  assert_string_equal(detail.text, "");
  wick_state_free(s);
  assert_null(wk_file_map(f.path, &map));
  f.bytes = malloc(map.size);
  f.size = map.size;
  memcpy(f.bytes, map.data, map.size);
  wk_file_unmap(&map);
  return f;
}

static void discard(saved *f) {
  unlink(f->path);
  free(f->bytes);
}

static uint32_t u32_at(const uint8_t *at) {
  uint32_t n;
  memcpy(&n, at, sizeof n);
  return n;
}

static uint64_t u64_at(const uint8_t *at) {
  uint64_t n;
  memcpy(&n, at, sizeof n);
  return n;
}

/* Checksums that fit what is there. */
static void seal(uint8_t *bytes, size_t size, size_t rows) {
  const uint32_t none = 0;
  size_t data = STATE_ROWS + rows * STATE_ROW;
  uint32_t crc = wk_crc32c(0, bytes + data, size - data);
  memcpy(bytes + STATE_DATA_CRC, &crc, 4);
  memcpy(bytes + STATE_CRC, &none, 4);
  crc = wk_crc32c(0, bytes, data);
  memcpy(bytes + STATE_CRC, &crc, 4);
}

static void expect_load(const wick_model *model, const saved *f, size_t size, wick_status status,
                        const char *why) {
  wick_state *s = NULL;
  wick_error_detail detail = {"before"};
  assert_null(wk_write_file(f->path, f->bytes, size));
  assert_int_equal(wick_state_load(model, f->path, &detail, &s), status);
  assert_string_equal(detail.text, why);
  assert_int_equal(s != NULL, status == WICK_OK);
  wick_state_free(s);
}

/* Byte by byte: every field, names one behind the other, states at 64 each, zeros between them. */
static void files_are_laid_out_as_they_say(void **state) {
  static const struct {
    const char *name;
    uint32_t dtype;
    uint64_t bytes;
  } rows[] = {{"zeros", WICK_I8, 4}, {"w", WICK_F32, 16}};
  saved f = save(*state);
  size_t name = STATE_DATA, data = (STATE_DATA + 8 + 63) / 64 * 64;
  struct stat st;
  assert_memory_equal(f.bytes, "WICKSTA", 8);
  assert_int_equal(u32_at(f.bytes + STATE_VERSION), 1);
  assert_int_equal(u32_at(f.bytes + STATE_COUNT), 2);
  assert_int_equal(u64_at(f.bytes + STATE_FILE_SIZE), f.size);
  for (size_t i = 0; i < 2; i++) {
    const uint8_t *row = f.bytes + STATE_ROWS + i * STATE_ROW;
    assert_int_equal(u64_at(row + STATE_NAME), name);
    assert_string_equal((char *)f.bytes + name, rows[i].name);
    assert_int_equal(u32_at(row + STATE_DTYPE), rows[i].dtype);
    assert_int_equal(u32_at(row + STATE_RANK), 1);
    assert_int_equal(u64_at(row + STATE_DIMS), 4);
    assert_int_equal(u64_at(row + STATE_OFFSET), data + 64 * i);
    assert_int_equal(u64_at(row + STATE_BYTES), rows[i].bytes);
    name += strlen(rows[i].name) + 1;
  }
  assert_int_equal(name, STATE_DATA + 8);
  for (size_t i = name; i < data + 64; i++) assert_int_equal(f.bytes[i], 0);
  assert_memory_equal(f.bytes + data + 64, toy_initial, sizeof toy_initial);
  assert_int_equal(f.size, data + 64 + 16);
  uint8_t *again = malloc(f.size);
  memcpy(again, f.bytes, f.size);
  seal(again, f.size, 2);
  assert_memory_equal(again, f.bytes, f.size);
  free(again);
  mode_t mask = umask(0);
  umask(mask);
  assert_int_equal(stat(f.path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
  discard(&f);
}

/* Numbers that lead out of the file or are another model's, with checksums that fit; and those that
 * are just right. */
static void contradictions_are_refused(void **state) {
  static const char wrong[] = "the state file contradicts itself",
                    other[] = "state 'w' has another type or shape";
  static const struct {
    int row, field, size;
    uint64_t value; /* from the file's end where is_end */
    bool is_end;
    wick_status status;
    const char *why;
  } cases[] = {
      {0, STATE_NAME, 8, UINT64_MAX, false, WICK_CORRUPT, wrong},
      {1, STATE_NAME, 8, 1 << 20, false, WICK_CORRUPT, wrong},
      {0, STATE_NAME, 8, 0, true, WICK_CORRUPT, wrong},
      {1, STATE_NAME, 8, (uint64_t)-1, true, WICK_CORRUPT, wrong}, /* no NUL: 0x42 */
      {0, STATE_OFFSET, 8, UINT64_MAX, false, WICK_CORRUPT, wrong},
      {1, STATE_OFFSET, 8, (uint64_t)-15, true, WICK_CORRUPT, wrong},
      {1, STATE_OFFSET, 8, (uint64_t)-16, true, WICK_OK, ""},
      {1, STATE_BYTES, 8, UINT64_MAX, false, WICK_CORRUPT, wrong},
      {1, STATE_BYTES, 8, 1 << 20, false, WICK_CORRUPT, wrong},
      {1, STATE_BYTES, 8, 17, false, WICK_CORRUPT, wrong},
      {1, STATE_BYTES, 8, 15, false, WICK_BAD_STATE, other},
      {1, STATE_DTYPE, 4, WICK_I32, false, WICK_BAD_STATE, other},
      {1, STATE_RANK, 4, 2, false, WICK_BAD_STATE, other},
      {1, STATE_DIMS, 8, 2, false, WICK_BAD_STATE, other},
      {1, STATE_DIMS + 8, 8, 1, false, WICK_BAD_STATE, other},
      {1, STATE_DIMS + 56, 8, 1, false, WICK_BAD_STATE, other},
      {0, STATE_DTYPE, 4, WICK_U8, false, WICK_BAD_STATE,
       "state 'zeros' has another type or shape"},
      {0, STATE_NAME, 8, STATE_DATA + 1, false, WICK_BAD_STATE, "it has no state 'zeros'"},
      {1, STATE_NAME, 8, STATE_DATA + 5, false, WICK_BAD_STATE, "it has no state 'w'"},
  };
  saved f = save(*state);
  assert_int_equal(f.bytes[f.size - 1], 0x42);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t *at = f.bytes + STATE_ROWS + cases[i].row * STATE_ROW + cases[i].field;
    uint64_t kept, value = cases[i].value + (cases[i].is_end ? f.size : 0);
    memcpy(&kept, at, 8);
    memcpy(at, &value, (size_t)cases[i].size);
    seal(f.bytes, f.size, 2);
    expect_load(*state, &f, f.size, cases[i].status, cases[i].why);
    memcpy(at, &kept, 8);
  }
  seal(f.bytes, f.size, 2);
  expect_load(*state, &f, f.size, WICK_OK, "");
  discard(&f);
}

static void headers_are_checked(void **state) {
  static const char cut[] = "the state file is truncated", none[] = "not a file of states",
                    crc[] = "checksum of the state file differs";
  saved f = save(*state);
  uint64_t size;
  expect_load(*state, &f, 0, WICK_BAD_STATE, none);
  expect_load(*state, &f, STATE_ROWS - 1, WICK_BAD_STATE, none);
  expect_load(*state, &f, STATE_ROWS, WICK_CORRUPT, cut);
  expect_load(*state, &f, f.size - 1, WICK_CORRUPT, cut);
  for (uint32_t version = 0; version <= 2; version += 2) {
    char why[64];
    snprintf(why, sizeof why, "state version %u, this runtime reads 1", version);
    memcpy(f.bytes + STATE_VERSION, &version, 4);
    expect_load(*state, &f, f.size, WICK_BAD_VERSION, why);
  }
  f.bytes[STATE_VERSION] = 1, f.bytes[STATE_VERSION + 1] = 0;
  f.bytes[6] = 'B';
  expect_load(*state, &f, f.size, WICK_BAD_STATE, none);
  f.bytes[6] = 'A', f.bytes[7] = 1;
  expect_load(*state, &f, f.size, WICK_BAD_STATE, none);
  f.bytes[7] = 0;
  f.bytes[STATE_COUNT] = 3; /* for which there is room, and then there is not */
  expect_load(*state, &f, f.size, WICK_CORRUPT, crc);
  f.bytes[STATE_COUNT] = 4;
  expect_load(*state, &f, f.size, WICK_CORRUPT, cut);
  f.bytes[STATE_COUNT] = 2;
  size = STATE_DATA; /* nothing but rows, of states that are not there */
  memcpy(f.bytes + STATE_FILE_SIZE, &size, 8);
  seal(f.bytes, size, 2);
  expect_load(*state, &f, size, WICK_CORRUPT, "the state file contradicts itself");
  f.bytes[STATE_COUNT] = 3;
  expect_load(*state, &f, size, WICK_CORRUPT, cut);
  discard(&f);
}

static void arguments_are_checked(void **state) {
  const wick_model *model = *state;
  saved f = save(model);
  wick_error_detail detail = {"before"};
  wick_state *s = NULL;
  assert_int_equal(wick_state_new(NULL, &s), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_state_new(model, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_state_load(NULL, f.path, &detail, &s), WICK_BAD_ARGUMENT);
  assert_string_equal(detail.text, "");
  assert_int_equal(wick_state_load(model, NULL, NULL, &s), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_state_load(model, f.path, NULL, NULL), WICK_BAD_ARGUMENT);
  assert_null(s);
  assert_int_equal(wick_state_load(model, f.path, NULL, &s), WICK_OK);
  snprintf(detail.text, sizeof detail.text, "before");
  assert_int_equal(wick_state_save(NULL, f.path, &detail), WICK_BAD_ARGUMENT);
  assert_string_equal(detail.text, "");
  assert_int_equal(wick_state_save(s, NULL, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_state_save(s, f.path, NULL), WICK_OK);
  assert_null(wick_state_data(NULL, 0));
  assert_null(wick_state_data(s, 2));
  assert_non_null(wick_state_data(s, 0));
  assert_int_equal(wick_state_load(model, "/tmp", &detail, &s), WICK_BAD_STATE);
  assert_string_equal(detail.text, "not a file of states");
  wick_state_free(s);
  discard(&f);
}

/* What a state is: as in the package, as another one, and as in the package again. */
static void states_are_copied_and_reset(void **state) {
  wick_state *a, *b;
  const wick_model_info *m = wick_model_describe(*state);
  assert_int_equal(wick_state_new(*state, &a), WICK_OK);
  assert_int_equal(wick_state_new(*state, &b), WICK_OK);
  for (uint32_t i = 0; i < m->state_count; i++)
    memset(wick_state_data(a, i), 7 + (int)i, m->states[i].tensor->bytes);
  assert_int_equal(wick_state_copy(a, b), WICK_OK);
  for (uint32_t i = 0; i < m->state_count; i++)
    assert_memory_equal(wick_state_data(a, i), wick_state_data(b, i), m->states[i].tensor->bytes);
  assert_int_equal(wick_state_reset(a), WICK_OK);
  assert_int_equal(wick_state_copy(b, b), WICK_OK);
  wick_state_free(b);
  assert_int_equal(wick_state_new(*state, &b), WICK_OK);
  for (uint32_t i = 0; i < m->state_count; i++)
    assert_memory_equal(wick_state_data(a, i), wick_state_data(b, i), m->states[i].tensor->bytes);
  assert_int_equal(wick_state_copy(NULL, b), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_state_copy(a, NULL), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_state_reset(NULL), WICK_BAD_ARGUMENT);
  wick_state_free(a);
  wick_state_free(b);
}

/* No room: the file that is there stays as it is, and nothing is beside it. */
static void files_stay_when_there_is_no_room(void **state) {
  char folder[] = "/tmp/wick-test-XXXXXX", path[64];
  wick_state *s, *old;
  wick_error_detail detail;
  struct rlimit before, small;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/state", folder);
  assert_int_equal(wick_state_new(*state, &s), WICK_OK);
  assert_int_equal(wick_state_save(s, path, NULL), WICK_OK);
  ((float *)wick_state_data(s, 1))[0] = 77;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (rlim_t room = 0; room < 336; room += 67) {
    small = (struct rlimit){room, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    wick_status status = wick_state_save(s, path, &detail);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, WICK_CANNOT_WRITE);
    assert_non_null(strstr(detail.text, "/state: File too large"));
  }
  signal(SIGXFSZ, handler);
  assert_int_equal(wick_state_load(*state, path, &detail, &old), WICK_OK);
  assert_memory_equal(wick_state_data(old, 1), toy_initial, sizeof toy_initial);
  wick_state_free(old);
  wick_state_free(s);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

/* Of a program that has closed its input, the first file is number 0. */
static void files_may_have_number_0(void **state) {
  int input = dup(0);
  close(0);
  saved f = save(*state);
  expect_load(*state, &f, f.size, WICK_OK, "");
  close(0);
  assert_true(dup2(input, 0) == 0);
  close(input);
  discard(&f);
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

/* The file fits, what the package asks for does not. */
static void memory_is_limited(void **state) {
  wick_pkg_header header;
  wick_model *small;
  wick_error_detail why;
  wick_state *s;
  saved f = save(*state);
  const wick_load_options o = {.size = sizeof o, .memory_limit = WICK_PAGE - 1};
  memcpy(&header, toy_bytes, sizeof header);
  assert_true(f.size < WICK_PAGE);
  assert_int_equal(wick_model_load_memory(toy_bytes, header.file_size, &o, &small), WICK_OK);
  assert_int_equal(wick_state_load(small, f.path, &why, &s), WICK_NO_MEMORY);
  assert_string_equal(why.text, "the package asks for 4096 bytes of memory; 4095 are the most "
                                "that there may be");
  wick_model_free(small);
  discard(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_are_laid_out_as_they_say),
      cmocka_unit_test(contradictions_are_refused),
      cmocka_unit_test(headers_are_checked),
      cmocka_unit_test(arguments_are_checked),
      cmocka_unit_test(states_are_copied_and_reset),
      cmocka_unit_test(files_stay_when_there_is_no_room),
      cmocka_unit_test(files_may_have_number_0),
      cmocka_unit_test(state_that_cannot_be_saved),
      cmocka_unit_test(memory_is_limited),
  };
  return cmocka_run_group_tests(tests, load_toy, free_toy);
}
