/* SPDX-License-Identifier: Apache-2.0
 * .npy files: both ways, and broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"

/* In memory where there is such a folder: every write is synchronised to the disk. */
static char dir[64], path[96];

static int make_folder(void **state) {
  (void)state;
  bool has_memory = access("/dev/shm", W_OK) == 0;
  snprintf(dir, sizeof dir, "%s/wick-npy-XXXXXX", has_memory ? "/dev/shm" : "/tmp");
  if (!mkdtemp(dir)) return 1;
  snprintf(path, sizeof path, "%s/t.npy", dir);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(dir);
}

static void write_bytes(const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static wk_code read_code(wk_tensor *t) {
  wk_status s = wk_tensor_read_npy(path, t);
  wk_code code = s ? s->code : WK_OK;
  wk_status_free(s);
  return code;
}

static void round_trip(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{0}, {5}, {2, 3}, {2, 3, 4}, {3, 0, 2}};
  static const int ranks[] = {0, 1, 2, 3, 3};
  for (int dtype = 1; dtype < WK_DTYPE_COUNT; dtype++) {
    for (size_t k = 0; k < WK_COUNTOF(ranks); k++) {
      const wk_type type = wk_type_make((wk_dtype)dtype, ranks[k], shapes[k]);
      wk_tensor t, back;
      assert_null(wk_tensor_alloc(&type, &t));
      for (int64_t i = 0; i < wk_type_count(&type); i++) wk_store_i64(t.data, type.dtype, i, i % 2);
      assert_null(wk_tensor_write_npy(path, &t));
      assert_int_equal(read_code(&back), WK_OK);
      wk_type read = type; /* what the file says of narrow types */
      read.dtype = wk_dtype_storage(type.dtype);
      assert_true(wk_type_equal(&read, &back.type));
      assert_memory_equal(t.data, back.data, (size_t)wk_type_bytes(&type));
      wk_tensor_free(&t);
      wk_tensor_free(&back);
    }
  }
}

/* The file that numpy writes for a [2,3] array, in the given version and order. */
static size_t numpy_file(uint8_t *out, int version, const char *order) {
  char header[256];
  int n = snprintf(header, sizeof header,
                   "{'descr': '<i4', 'fortran_order': %s, 'shape': (2, 3), }", order);
  size_t at = 0, length = (size_t)n;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (uint8_t)version;
  out[7] = 0;
  out[8] = (uint8_t)length;
  out[9] = (uint8_t)(length >> 8);
  at = 10;
  if (version > 1) {
    out[10] = out[11] = 0;
    at = 12;
  }
  memcpy(out + at, header, length);
  at += length;
  const int32_t data[6] = {0, 1, 2, 3, 4, 5};
  memcpy(out + at, data, sizeof data);
  return at + sizeof data;
}

static void orders_and_versions(void **state) {
  (void)state;
  static const int32_t fortran[] = {0, 2, 4, 1, 3, 5}, plain[] = {0, 1, 2, 3, 4, 5};
  for (int version = 1; version <= 3; version++) {
    for (int f = 0; f < 2; f++) {
      uint8_t bytes[512];
      wk_tensor t;
      write_bytes(bytes, numpy_file(bytes, version, f ? "True" : "False"));
      assert_int_equal(read_code(&t), WK_OK);
      assert_memory_equal(t.data, f ? fortran : plain, sizeof plain);
      wk_tensor_free(&t);
    }
  }
}

static void broken(void **state) {
  (void)state;
  uint8_t bytes[512], copy[512];
  size_t n = numpy_file(bytes, 1, "False");
  for (size_t k = 0; k < n; k++) {
    wk_tensor t;
    write_bytes(bytes, k);
    assert_int_equal(read_code(&t), WK_INPUT);
  }
  wk_rng rng = {3};
  for (int round = 0; round < 300; round++) {
    wk_tensor t;
    memcpy(copy, bytes, n);
    copy[wk_rng_next(&rng) % n] = (uint8_t)wk_rng_next(&rng);
    write_bytes(copy, n);
    if (read_code(&t) == WK_OK) wk_tensor_free(&t);
  }
}

/* A header without a shape, and one without a type. */
static void lacking(void **state) {
  (void)state;
  static const char *const headers[] = {"{'descr': '<i4', 'fortran_order': False}",
                                        "{'shape': (6,), 'fortran_order': False}"};
  for (size_t k = 0; k < WK_COUNTOF(headers); k++) {
    uint8_t bytes[128] = "\x93NUMPY\x01";
    size_t n = strlen(headers[k]);
    bytes[8] = (uint8_t)n;
    memcpy(bytes + 10, headers[k], n);
    wk_tensor t;
    write_bytes(bytes, 10 + n + 4 * 6 * k);
    assert_int_equal(read_code(&t), WK_INPUT);
  }
}

static void byte_order_is_no_zero(void **state) {
  (void)state;
  uint8_t bytes[512];
  wk_tensor t;
  size_t n = numpy_file(bytes, 1, "False"), at = 0;
  while (bytes[at] != '<') at++;
  bytes[at] = 0;
  write_bytes(bytes, n);
  assert_int_equal(read_code(&t), WK_UNSUPPORTED);
}

static int mapped(void) { /* lines of the table of maps */
  int n = 0, c;
  FILE *f = fopen("/proc/self/maps", "r");
  while (f && (c = getc(f)) != EOF) n += c == '\n';
  if (f) fclose(f);
  return n;
}

static void nothing_stays_mapped(void **state) {
  (void)state;
  uint8_t bytes[512];
  size_t n = numpy_file(bytes, 1, "False");
  int before = mapped();
  for (int round = 0; round < 200; round++) {
    wk_tensor t;
    write_bytes(bytes, round % 2 ? n : n / 2);
    if (read_code(&t) == WK_OK) wk_tensor_free(&t);
    write_bytes("\010\001\020\001\"\004abcd", round % 2 ? 10 : 9); /* f32[1], cut off */
    wk_status s = wk_tensor_read_pb(path, &t, NULL);
    if (!s) wk_tensor_free(&t);
    wk_status_free(s);
  }
  assert_true(mapped() < before + 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(round_trip),
    cmocka_unit_test(orders_and_versions),
    cmocka_unit_test(broken),
    cmocka_unit_test(lacking),
    cmocka_unit_test(byte_order_is_no_zero),
    cmocka_unit_test(nothing_stays_mapped),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
