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
      for (int64_t i = 0; i < wk_type_count(&type); i++)
        wk_store_i64(t.data, type.dtype, i, (i + 1) % 2);
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
    wk_file file;
    wk_status bad = wk_tensor_map_npy(path, &file, &t); /* its data is not aligned: a copy */
    if (!bad) wk_tensor_free(&t);
    wk_status_free(bad);
    write_bytes("\010\001\020\001\"\004abcd", round % 2 ? 10 : 9); /* f32[1], cut off */
    wk_status s = wk_tensor_read_pb(path, &t, NULL);
    if (!s) wk_tensor_free(&t);
    wk_status_free(s);
  }
  assert_true(mapped() < before + 100);
}

/* A file of this version, header and data. */
static void write_file(int version, const char *header, const void *data, size_t n) {
  uint8_t bytes[1024] = "\x93NUMPY";
  size_t at = version > 1 ? 12 : 10, length = strlen(header);
  assert_true(at + length + n <= sizeof bytes);
  bytes[6] = (uint8_t)version;
  bytes[8] = (uint8_t)length;
  bytes[9] = (uint8_t)(length >> 8);
  memcpy(bytes + at, header, length);
  if (n) memcpy(bytes + at + length, data, n);
  write_bytes(bytes, at + length + n);
}

/* Every type in both orders of bytes and of dimensions: what numpy has at [i,j,k]. */
static void every_layout(void **state) {
  (void)state;
  enum { I = 2, J = 3, K = 4, N = I * J * K };
  static const struct { const char *descr; wk_dtype t; int size; } types[] = {
      {"f2", WK_F16, 2}, {"V2", WK_BF16, 2}, {"f4", WK_F32, 4}, {"f8", WK_F64, 8},
      {"i1", WK_I8, 1},  {"i2", WK_I16, 2},  {"i4", WK_I32, 4}, {"i8", WK_I64, 8},
      {"u1", WK_U8, 1},  {"u2", WK_U16, 2},  {"u4", WK_U32, 4}, {"u8", WK_U64, 8},
      {"b1", WK_BOOL, 1}, {"V1", WK_U8, 1},
  };
  static const char orders[] = "<>=|";
  for (size_t row = 0; row < 8 * WK_COUNTOF(types); row++) {
    const int size = types[row / 8].size;
    const char order = orders[row % 4];
    const bool is_fortran = row & 4;
    uint8_t data[N * 8], want[N * 8];
    char header[128];
    for (int n = 0; n < N; n++) {
      int i = n / (J * K), j = n / K % J, k = n % K, at = is_fortran ? i + I * (j + J * k) : n;
      for (int b = 0; b < size; b++) {
        uint8_t byte = (uint8_t)(types[row / 8].t == WK_BOOL ? 3 * (n % 3 == 0) : n * 8 + b);
        want[n * size + b] = (uint8_t)(types[row / 8].t == WK_BOOL ? byte != 0 : byte);
        data[at * size + (order == '>' ? size - 1 - b : b)] = byte;
      }
    }
    snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (2, 3, 4)}",
             order, types[row / 8].descr, is_fortran ? "True" : "False");
    write_file(1, header, data, (size_t)(N * size));
    wk_tensor t, m;
    wk_file file;
    assert_int_equal(read_code(&t), WK_OK);
    wk_type type = wk_type_make(types[row / 8].t, 3, (int64_t[]){I, J, K});
    assert_true(wk_type_equal(&t.type, &type));
    assert_memory_equal(t.data, want, (size_t)(N * size));
    assert_null(wk_tensor_map_npy(path, &file, &m));
    assert_true(wk_type_equal(&m.type, &type));
    assert_memory_equal(m.data, want, (size_t)(N * size));
    if (file.data) wk_file_unmap(&file);
    else wk_tensor_free(&m);
    wk_tensor_free(&t);
  }
}

/* What a mapped file holds is read where it lies, unless it is in another form than a tensor. */
static void mapping(void **state) {
  (void)state;
  static const struct { const char *start, *padding; bool is_in_place; } rows[] = {
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}", "", true},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}", " ", false}, /* unaligned */
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}", "  ", false},
      {"{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}", "", false},
      {"{'descr': '<i4', 'fortran_order': True, 'shape': (6,)}", "", true}, /* one order of two */
      {"{'descr': '>i4', 'fortran_order': False, 'shape': (2, 3)}", "", false},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (4, 6)}", "", false},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (4, 6)}", " ", true},
  };
  static const int32_t data[6] = {0, 1, 2, 3, 4, 5};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    char header[128];
    int n = snprintf(header, sizeof header, "%s", rows[i].start);
    while ((10 + n) % 4) header[n++] = ' ';
    snprintf(header + n, sizeof header - (size_t)n, "%s", rows[i].padding);
    write_file(1, header, data, sizeof data);
    wk_file file;
    wk_tensor read, t;
    assert_int_equal(read_code(&read), WK_OK);
    assert_null(wk_tensor_map_npy(path, &file, &t));
    assert_int_equal(file.data != NULL, rows[i].is_in_place);
    assert_int_equal(file.size, rows[i].is_in_place ? 10 + strlen(header) + sizeof data : 0);
    if (rows[i].is_in_place) assert_ptr_equal(t.data, file.data + 10 + strlen(header));
    assert_true(wk_type_equal(&t.type, &read.type));
    assert_memory_equal(t.data, read.data, sizeof data);
    if (file.data) wk_file_unmap(&file);
    else wk_tensor_free(&t);
    wk_tensor_free(&read);
  }
}

/* What is said of a file, and by both ways to read it. */
#define HEAD "{'descr': '<i4', 'fortran_order': False, 'shape': "
#define MALFORMED "has a malformed .npy header"
static const struct {
  const char *message, *header; /* "": it is read */
  int version, bytes;
} message_rows[] = {
    {"", HEAD "(2, 3)}", 1, 24},
    {"", HEAD "(2, 3)}", 3, 24},
    {"", HEAD "(24,)}", 1, 96},
    {"", HEAD "( 9,1)}", 1, 36},
    {"", HEAD "(2,\t3 ,)\n,}", 2, 24},
    {"", "{\"descr\":\"<i4\",\"shape\":(6,),\"fortran_order\":False,}", 1, 24},
    {"", HEAD "(1,1,1,1,1,1,1,6)}", 1, 24},
    {"", HEAD "()}", 1, 4},
    {"is .npy version 0; versions 1 to 3 are supported", HEAD "(2, 3)}", 0, 24},
    {"is .npy version 4; versions 1 to 3 are supported", HEAD "(2, 3)}", 4, 24},
    {"has 23 bytes of data, its shape needs 24", HEAD "(2, 3)}", 1, 23},
    {"has 25 bytes of data, its shape needs 24", HEAD "(2, 3)}", 2, 25},
    {"has 1 bytes of data, its shape needs 0", HEAD "(2, 0)}", 1, 1},
    {MALFORMED, HEAD "(2, 3)", 1, 24},
    {MALFORMED, HEAD "(2 3)}", 1, 24},
    {MALFORMED, HEAD "(2, -3)}", 1, 24},
    {MALFORMED, HEAD "(2, 3,,)}", 1, 24},
    {MALFORMED, HEAD "(2, 3}", 1, 24},
    {MALFORMED, HEAD "[2, 3]}", 1, 24},
    {MALFORMED, HEAD "(1,1,1,1,1,1,1,1,6)}", 1, 24},
    {MALFORMED, HEAD "(9223372036854775808,)}", 1, 24},
    {MALFORMED, HEAD "(2, 3), 'more': 1}", 1, 24},
    {MALFORMED, HEAD "(2, 3), 'more':}", 1, 24},
    {MALFORMED, "", 1, 0},
    {MALFORMED, "", 2, 0},
    {MALFORMED, HEAD "(2, 3), 'shap': (2, 3)}", 1, 24},
    {MALFORMED, HEAD "(2, 3), 'shape", 1, 24},
    {MALFORMED, HEAD "(2, 3), 'shape' (2, 3)}", 1, 24},
    {MALFORMED, "('descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}", 1, 24},
    {MALFORMED, "{'descr': '<i4', 'fortran_order': No, 'shape': (2, 3)}", 1, 24},
    {MALFORMED, "{'descr': '<i4', 'fortran_order': Fals", 1, 24},
    {MALFORMED, "{'descr': '<i4', 'fortran_order': False}", 1, 24},
    {MALFORMED, "{'fortran_order': False, 'shape': (2, 3)}", 1, 24},
    {"holds records, which are not supported",
     "{'descr': [('x', '<i4')], 'fortran_order': False, 'shape': (6,)}", 1, 24},
    {"has elements of type '<c8', which is not supported: numbers and booleans are",
     "{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", 1, 24},
    {"has elements of type '!i4', which is not supported: numbers and booleans are",
     "{'descr': '!i4', 'fortran_order': False, 'shape': (6,)}", 1, 24},
    {"has elements of type '<U10', which is not supported: numbers and booleans are",
     "{'descr': '<U10', 'fortran_order': False, 'shape': (6,)}", 1, 24},
    {"has elements of type 'abcdefghijklmnopqrst', which is not supported: numbers and booleans "
     "are",
     "{'descr': 'abcdefghijklmnopqrstuvwxyz', 'fortran_order': False, 'shape': (6,)}", 1, 24},
};

static void says(wk_status s, const char *message) {
  assert_string_equal(s ? s->message : "", message);
  if (s) assert_string_equal(s->place, path);
  wk_status_free(s);
}

static void messages(void **state) {
  (void)state;
  static const uint8_t data[96];
  for (size_t i = 0; i < WK_COUNTOF(message_rows); i++) {
    wk_tensor t, m;
    wk_file file;
    write_file(message_rows[i].version, message_rows[i].header, data,
               (size_t)message_rows[i].bytes);
    says(wk_tensor_read_npy(path, &t), message_rows[i].message);
    says(wk_tensor_map_npy(path, &file, &m), message_rows[i].message);
    bool is_read = !*message_rows[i].message;
    assert_int_equal(t.data != NULL, is_read);
    assert_int_equal(m.data != NULL, is_read);
    if (!is_read) assert_true(!file.data && !t.type.dtype && !m.type.dtype);
    if (file.data) wk_file_unmap(&file);
    else wk_tensor_free(&m);
    wk_tensor_free(&t);
  }
}

/* Headers whose length needs more than two bytes, and files that end before their header does. */
static void lengths(void **state) {
  (void)state;
  static const char header[] = HEAD "(2, 3)}";
  const size_t length = (1 << 24) + (2 << 16) + 300, at = 12;
  uint8_t *bytes = wk_xcalloc(at + length + 24, 1);
  memcpy(bytes, "\x93NUMPY\2\0", 8);
  for (int i = 0; i < 4; i++) bytes[8 + i] = (uint8_t)(length >> 8 * i);
  memset(bytes + at, ' ', length);
  memcpy(bytes + at, header, sizeof header - 1);
  bytes[at + length + 4] = 7;
  write_bytes(bytes, at + length + 24);
  wk_tensor t;
  assert_int_equal(read_code(&t), WK_OK);
  assert_int_equal(((int32_t *)t.data)[1], 7);
  wk_tensor_free(&t);
  write_bytes(bytes, at + length - 1);
  says(wk_tensor_read_npy(path, &t), "is cut off");
  write_bytes(bytes, 11);
  says(wk_tensor_read_npy(path, &t), "is cut off");
  write_bytes("\1\2\3\4\5\6", 6);
  says(wk_tensor_read_npy(path, &t), "is not a .npy file");
  write_bytes("\x89PNG\r\n\x1a\n1234", 12);
  says(wk_tensor_read_npy(path, &t), "is not a .npy file, but a PNG image");
  free(bytes);
}

/* Headers that end too early, where what follows would end them well: no byte of it counts. */
static void headers_end(void **state) {
  (void)state;
  static const char header[] = HEAD "(2, 3)}";
  for (size_t k = 0; k + 1 < sizeof header; k++) {
    char start[128];
    uint8_t data[128] = {0};
    wk_tensor t;
    snprintf(start, sizeof start, "%.*s", (int)k, header);
    memcpy(data, header + k, sizeof header - 1 - k);
    write_file(1, start, data, sizeof header - 1 - k + 24);
    bool in_type = k > strlen("{'descr'") && k < strlen("{'descr': '<i4'");
    says(wk_tensor_read_npy(path, &t),
         in_type ? "holds records, which are not supported" : MALFORMED);
  }
}

/* What is written, to the byte: a header of one line that ends where 64 bytes do. */
static void written(void **state) {
  (void)state;
  static const struct {
    wk_dtype t;
    int rank;
    const char *header;
  } rows[] = {
      {WK_F32, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"},
      {WK_BF16, 1, "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }"},
      {WK_U8, 0, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }"},
      {WK_BOOL, 3, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3, 4), }"},
      {WK_I8, 3, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3, 4), }"},
      {WK_I64, 8, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3, 4, 1, 10, 1, 1, 1), }"},
  };
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    char want[512] = "\x93NUMPY\1";
    const int64_t dims[] = {2, 3, 4, 1, 10, 1, 1, 1};
    const wk_type type = wk_type_make(rows[i].t, rows[i].rank, dims);
    size_t length = (10 + strlen(rows[i].header) + 1 + 63) / 64 * 64;
    wk_tensor t;
    wk_file file;
    assert_null(wk_tensor_alloc(&type, &t));
    memset(t.data, 1, (size_t)wk_type_bytes(&type));
    assert_null(wk_tensor_write_npy(path, &t));
    assert_null(wk_file_map(path, &file));
    want[8] = (char)(length - 10);
    memset(want + 10, ' ', length - 11);
    memcpy(want + 10, rows[i].header, strlen(rows[i].header));
    want[length - 1] = '\n';
    assert_int_equal(file.size, length + (size_t)wk_type_bytes(&type));
    assert_memory_equal(file.data, want, length);
    assert_memory_equal(file.data + length, t.data, (size_t)wk_type_bytes(&type));
    wk_file_unmap(&file);
    wk_tensor_free(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(round_trip),
    cmocka_unit_test(orders_and_versions),
    cmocka_unit_test(broken),
    cmocka_unit_test(lacking),
    cmocka_unit_test(byte_order_is_no_zero),
    cmocka_unit_test(nothing_stays_mapped),
    cmocka_unit_test(every_layout),
    cmocka_unit_test(mapping),
    cmocka_unit_test(messages),
    cmocka_unit_test(lengths),
    cmocka_unit_test(headers_end),
    cmocka_unit_test(written),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
