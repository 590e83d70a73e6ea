/* SPDX-License-Identifier: Apache-2.0
 * Files of tensors, sequences, optionals, strings and maps: what is taken, and what is said of the
 * rest. Files are written as protobuf text of values.proto; where bytes hold a message, they are
 * escaped: \010\002 is "dims: 2", \020\001 "data_type: FLOAT". */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/onnx/import/importer.h"
#include "compiler/onnx/wire/text.h"
#include "values.pb-c.h"

static char path[] = "/tmp/wick_values_XXXXXX";

static void write_bytes(const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  if (n) assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

static void write_text(const ProtobufCMessageDescriptor *d, const char *text) {
  uint8_t *bytes;
  size_t n;
  wk_status s = wk_text_to_wire("t", text, strlen(text), d, &bytes, &n);
  if (s) fail_msg("%s: %s", text, s->message);
  write_bytes(bytes, n);
  free(bytes);
}

/* 1 when s, which is released, is not what is wanted; "": none. */
static int differs(const char *text, wk_status s, const char *want) {
  bool good = *want ? s && !strcmp(s->message, want) && s->place && !strcmp(s->place, path) : !s;
  if (!good) print_error("%s\n  is '%s', not '%s'\n", text, s ? s->message : "", want);
  wk_status_free(s);
  return !good;
}

/* ---- lists ----------------------------------------------------------------------------------- */

#define HALF "'\\020\\001\\045\\000\\000\\000\\077'" /* f32[], 0.5 */

static void test_lists(void **state) {
  static const struct { const char *message, *text; bool is_optional; int64_t n; } rows[] = {
    {"", "", false, 0},
    {"", "tensors: " HALF " tensors: " HALF, false, 2},
    {"", "elem_type: 1 tensors: " HALF, false, 1},
    {"", "elem_type: 0", false, 0},
    {"is a sequence whose elements are no tensors", "elem_type: 2 tensors: " HALF, false, 0},
    {"is a sequence whose elements are no tensors", "elem_type: 4 maps {}", false, 0},
    {"is empty", "tensors: ''", false, 0},
    {"", "", true, WK_NO_ELEMENT},
    {"", "elem_type: 0 tensor: " HALF, true, WK_NO_ELEMENT},
    {"", "tensor: " HALF, true, WK_NO_ELEMENT},
    {"", "elem_type: 1 tensor: " HALF, true, 1},
    {"", "elem_type: 3 sequence: ''", true, 0},
    {"", "elem_type: 3 sequence: '\\020\\001'", true, 0},
    {"is a sequence whose elements are no tensors", "elem_type: 3 sequence: '\\020\\003'", true, 0},
    {"is an optional of neither a tensor nor a sequence", "elem_type: 1", true, 0},
    {"is an optional of neither a tensor nor a sequence", "elem_type: 3", true, 0},
    {"is an optional of neither a tensor nor a sequence", "elem_type: 1 sequence: ''", true, 0},
    {"is an optional of neither a tensor nor a sequence", "elem_type: 3 tensor: " HALF, true, 0},
    {"is an optional of neither a tensor nor a sequence",
     "elem_type: 4 tensor: " HALF " sequence: ''", true, 0},
  };
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    const wk_onnx_io io = {.is_optional = rows[i].is_optional};
    wk_tensor_list l;
    write_text(rows[i].is_optional ? &wick__optional_value__descriptor
                                   : &wick__sequence_value__descriptor, rows[i].text);
    wk_status s = wk_tensor_list_read_pb(path, &io, &l);
    bool is_taken = !s;
    bad += differs(rows[i].text, s, rows[i].message);
    if (is_taken) assert_int_equal(l.n, rows[i].n);
    for (int64_t k = 0; is_taken && k < l.n; k++) assert_true(*(float *)l.items[k].data == 0.5f);
    if (is_taken) wk_tensor_list_free(&l);
  }
  assert_int_equal(bad, 0);
}

static void test_tensors(void **state) {
  wk_tensor t;
  (void)state;
  write_bytes("", 0);
  assert_int_equal(differs("a tensor", wk_tensor_read_pb(path, &t, NULL), "is empty"), 0);
  write_text(&onnx__tensor_proto__descriptor, "data_type: 1 float_data: 0.5");
  assert_int_equal(differs("a tensor", wk_tensor_read_pb(path, &t, NULL), ""), 0);
  assert_true(*(float *)t.data == 0.5f);
  wk_tensor_free(&t);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static const char *const words[] = {"a", "bb"}, *const numbers[] = {"7", "-3"};
static const wk_labels elements = {.kind = WK_LABELS_ELEMENTS, .texts = {2, (const char **)words}};
static const wk_labels named = {.kind = WK_LABELS_COLUMNS, .texts = {2, (const char **)words}};
static const wk_labels numbered = {.kind = WK_LABELS_COLUMNS, .are_numbers = true,
                                   .texts = {2, (const char **)numbers}};
static const char *const long_numbers[] = {"10", "-123"};
static const wk_labels long_numbered = {.kind = WK_LABELS_COLUMNS, .are_numbers = true,
                                        .texts = {2, (const char **)long_numbers}};

#define VALUES(first, second) "values { tensors: [" first ", " second "] }"
#define ONE "'\\020\\001\\045\\000\\000\\200\\077'"             /* f32[], 1 */
#define TWO "'\\010\\002\\020\\001\\042\\010\\0\\0\\0\\0\\0\\0\\0\\0'" /* f32[2] */
#define NUMBERED(keys, values) "maps { keys: [" keys "] " values " }"
#define NAMED(keys, values) "maps { string_keys: [" keys "] " values " }"

static const struct {
  const char *message, *text;
  const wk_labels *labels;
  int64_t rows;
} maps[] = {
  {"", NUMBERED("7, -3", VALUES(HALF, ONE)), &numbered, 1},
  {"", NUMBERED("10, -123", VALUES(HALF, ONE)), &long_numbered, 1},
  {"entry 0 of map 0 is for none of the model's labels", NUMBERED("11, -123", VALUES(HALF, ONE)),
   &long_numbered, 0},
  {"", NAMED("'a', 'bb'", VALUES(HALF, ONE)) " " NAMED("'a', 'bb'", VALUES(HALF, ONE)), &named, 2},
  {"map 0 has 0 entries, the model has 2 labels", "maps { keys: [7, -3] }", &numbered, 0},
  {"map 1 has 1 entries, the model has 2 labels", NUMBERED("7, -3", VALUES(HALF, ONE))
   " " NUMBERED("7", "values { tensors: " ONE " }"), &numbered, 0},
  {"map 0 has 3 entries, the model has 2 labels",
   NUMBERED("7, -3, 8", VALUES(HALF, ONE ", " ONE)), &numbered, 0},
  {"entry 1 of map 0 is for none of the model's labels", NUMBERED("7, 3", VALUES(HALF, ONE)),
   &numbered, 0},
  {"entry 1 of map 0 is for none of the model's labels", NUMBERED("7, 7", VALUES(HALF, ONE)),
   &numbered, 0},
  {"entry 1 of map 0 is for none of the model's labels", NUMBERED("7", VALUES(HALF, ONE)),
   &numbered, 0},
  {"entry 0 of map 0 is for none of the model's labels", NAMED("'b', 'a'", VALUES(HALF, ONE)),
   &named, 0},
  {"entry 1 of map 0 is for none of the model's labels", NAMED("'a'", VALUES(HALF, ONE)),
   &named, 0},
  {"entry 0 of map 0 is for none of the model's labels", NAMED("'7', '-3'", VALUES(HALF, ONE)),
   &numbered, 0},
  {"a map has values that are not numbers", NUMBERED("7, -3", VALUES(HALF, TWO)), &numbered, 0},
  {"is empty", NUMBERED("7, -3", VALUES(HALF, "''")), &numbered, 0},
};

static void test_maps(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(maps); i++) {
    wk_tensor t;
    bool found;
    write_text(&wick__sequence_value__descriptor, maps[i].text);
    wk_status s = wk_labelled_read_pb(path, maps[i].labels, &t, &found);
    bool is_taken = !s;
    bad += differs(maps[i].text, s, maps[i].message);
    if (!is_taken) continue;
    assert_true(found);
    assert_int_equal(t.type.rank, 2);
    assert_int_equal(t.type.dims[0], maps[i].rows);
    assert_int_equal(t.type.dims[1], 2);
    for (int64_t k = 0; k < 2 * maps[i].rows; k++)
      assert_true(((float *)t.data)[k] == (k % 2 ? 1.0f : 0.5f));
    wk_tensor_free(&t);
  }
  assert_int_equal(bad, 0);
}

static void test_strings(void **state) {
  static const struct { const char *message, *text; } rows[] = {
    {"", "data_type: 8 dims: 3 string_data: ['bb', 'c', 'a']"},
    {"", "data_type: 8 dims: [1,1,1,1,1,1,1,3] string_data: ['bb', 'c', 'a']"},
    {"rank 9 exceeds 8", "data_type: 8 dims: [1,1,1,1,1,1,1,1,3] string_data: ['bb', 'c', 'a']"},
    {"dimension 0 is negative (-1)", "data_type: 8 dims: -1 string_data: 'a'"},
    {"a tensor of this shape is larger than 2^46 bytes",
     "data_type: 8 dims: [4294967296, 4294967296, 4294967296]"},
    {"2 strings for 3 elements", "data_type: 8 dims: 3 string_data: ['bb', 'c']"},
    {"4 strings for 3 elements", "data_type: 8 dims: 3 string_data: ['bb', 'c', 'a', 'a']"},
  };
  static const int64_t want[] = {1, -1, 0};
  wk_tensor t;
  bool found;
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    write_text(&onnx__tensor_proto__descriptor, rows[i].text);
    wk_status s = wk_labelled_read_pb(path, &elements, &t, &found);
    bool is_taken = !s;
    bad += differs(rows[i].text, s, rows[i].message);
    if (is_taken) assert_memory_equal(t.data, want, sizeof want);
    if (is_taken) wk_tensor_free(&t);
  }
  assert_int_equal(bad, 0);
  write_bytes("", 0);
  bad = differs("strings", wk_labelled_read_pb(path, &elements, &t, &found), "is empty");
  assert_int_equal(bad, 0);
  write_text(&onnx__tensor_proto__descriptor, "data_type: 1 float_data: 0.5"); /* is no strings */
  bad = differs("numbers", wk_labelled_read_pb(path, &elements, &t, &found), "");
  assert_int_equal(bad, 0);
  assert_false(found);
}

static int create(void **state) {
  (void)state;
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}

static int destroy(void **state) {
  (void)state;
  return remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lists), cmocka_unit_test(test_tensors), cmocka_unit_test(test_maps),
      cmocka_unit_test(test_strings)};
  return cmocka_run_group_tests(tests, create, destroy);
}
