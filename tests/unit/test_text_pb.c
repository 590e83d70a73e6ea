/* SPDX-License-Identifier: Apache-2.0
 * Protobuf text: what may be written in several ways means the same bytes, those of protobuf's
 * libraries; what is wrong is named with line and column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/caffe2/net.h"
#include "compiler/onnx/wire/text.h"
#include "tests/hostile/fields.h"
#include "tests/hostile/hostile.h"

static wk_status to_wire(const ProtobufCMessageDescriptor *d, const char *text, size_t n,
                         wk_str *out) {
  uint8_t *bytes;
  size_t size;
  wk_status s = wk_text_to_wire("t", text, n, d, &bytes, &size);
  if (s) return s;
  if (size) wk_str_addn(out, (char *)bytes, size);
  free(bytes);
  return NULL;
}

/* ---- the same in other words --------------------------------------------------------------- */

#define TENSOR &onnx__tensor_proto__descriptor
#define NODE &onnx__node_proto__descriptor
#define ATTRIBUTE &onnx__attribute_proto__descriptor
#define GRAPH &onnx__graph_proto__descriptor
#define FUNCTION &onnx__function_proto__descriptor
#define VALUE &onnx__value_info_proto__descriptor
#define NET &caffe2__net_def__descriptor
#define ARGUMENT &caffe2__argument__descriptor

static const struct {
  const ProtobufCMessageDescriptor *d;
  const char *text;
  const char *wire;
  size_t n;
} same[] = {
#define SAME(d, text, wire) {d, text, wire, sizeof wire - 1}
    SAME(NODE, "op_type: \"Add\"", "\"\003Add"),
    SAME(NODE, "op_type:'Add'", "\"\003Add"),
    SAME(NODE, " # op_type: 1\r\n\top_type :\n'A' \"d\"\n# more\n'd' ; # end", "\"\003Add"),
    SAME(NODE, "\xef\xbb\xbfop_type: 'Add',", "\"\003Add"),
    SAME(NODE, "input: 'a' input: 'b'", "\n\001a\n\001b"),
    SAME(NODE, "input: ['a', 'b']", "\n\001a\n\001b"),
    SAME(NODE, "input: ['a'] output: [] input: \"b\";", "\n\001a\n\001b"),
    SAME(NODE, "attribute { name: 'x' }", "*\003\n\001x"),
    SAME(NODE, "attribute: < name: 'x' >", "*\003\n\001x"),
    SAME(NODE, "attribute: [{ name: 'x' }, < name: 'y' >]", "*\003\n\001x*\003\n\001y"),
    SAME(NODE, "attribute [{ name: 'x', }]", "*\003\n\001x"),
    SAME(NODE, "attribute {}", "*\000"),
    SAME(NODE, "overload: 'o' metadata_props { key: 'k' value: 'v' }",
         "B\001oJ\006\n\001k\022\001v"),
    SAME(NODE, "op_type: '\\U0001F600\\uFFFF\\u07ff\\u0080\\u007f'",
         "\"\014\xf0\x9f\x98\x80\xef\xbf\xbf\xdf\xbf\xc2\x80\177"),
    /* fields that are newer than the schema */
    SAME(FUNCTION, "attribute_proto { name: 'a' } value_info { name: 'b' } overload: 'c'",
         "Z\003\n\001ab\003\n\001bj\001c"),
    SAME(FUNCTION, "metadata_props { key: 'k' value: 'v' }", "r\006\n\001k\022\001v"),
    SAME(GRAPH, "metadata_props { key: 'k' value: 'v' }", "\x82\001\006\n\001k\022\001v"),
    SAME(TENSOR, "metadata_props { key: 'k' value: 'v' }", "\x82\001\006\n\001k\022\001v"),
    SAME(VALUE, "metadata_props { key: 'k' value: 'v' }", "\"\006\n\001k\022\001v"),
    /* integers, packed and not */
    SAME(TENSOR, "dims: 127 dims: 128", "\010\177\010\200\001"),
    SAME(TENSOR, "dims: 2 dims: 0x3 dims: 010", "\010\002\010\003\010\010"),
    SAME(TENSOR, "int64_data: 1 int64_data: -1 int64_data: [300]",
         ":\015\001\xff\xff\xff\xff\xff\xff\xff\xff\xff\001\xac\002"),
    SAME(TENSOR, "int64_data: []", ""),
    SAME(TENSOR, "int32_data: 1 name: 'n' int32_data: 2", "*\001\001B\001n*\001\002"),
    SAME(TENSOR, "int32_data: [-2147483648]",
         "*\n\x80\x80\x80\x80\xf8\xff\xff\xff\xff\001"),
    SAME(TENSOR, "uint64_data: 18446744073709551615",
         "Z\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\001"),
    /* floats */
    SAME(TENSOR, "float_data: [1, 1.0, 1.f, 1e0, 10E-1, 0.1e1F]",
         "\"\030\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f"),
    SAME(TENSOR, "float_data: [-.5, - .5, inf, -inf, Infinity]",
         "\"\024\0\0\0\xbf\0\0\0\xbf\0\0\x80\x7f\0\0\x80\xff\0\0\x80\x7f"),
    SAME(TENSOR, "float_data: 16777217 float_data: 1e-50 float_data: -0 float_data: 1e40",
         "\"\020\0\0\x80\x4b\0\0\0\0\0\0\0\x80\0\0\x80\x7f"),
    SAME(TENSOR, "double_data: 0.1", "R\010\x9a\x99\x99\x99\x99\x99\xb9\x3f"),
    SAME(ATTRIBUTE, "floats: 1 floats: [2]", "=\0\0\x80\x3f=\0\0\0\x40"),
    SAME(ARGUMENT, "f: 1 floats: [2]", "\025\0\0\x80\x3f-\0\0\0\x40"),
    /* enumerations and bools */
    SAME(ATTRIBUTE, "type: FLOATS", "\xa0\001\006"),
    SAME(ATTRIBUTE, "type: 6", "\xa0\001\006"),
    SAME(NET, "op { is_gradient_op: true } op { is_gradient_op: t } op { is_gradient_op: 1 }",
         "\022\002H\001\022\002H\001\022\002H\001"),
    SAME(NET, "op { is_gradient_op: False }", "\022\002H\0"),
    SAME(NET, "device_option { device_type: CUDA }", "*\002\010\001"),
    /* escapes */
    SAME(TENSOR, "raw_data: '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?'",
         "J\013\a\b\f\n\r\t\v\\'\"?"),
    SAME(TENSOR, "raw_data: '\\0\\1\\12\\123\\1234\\x4\\x41\\X414\\377'",
         "J\013\0\001\nSS4\004AA4\xff"),
    SAME(TENSOR, "name: '\\u00e9\\U0001F600\xc3\xa9'", "B\010\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9"),
    /* lengths of two bytes */
    SAME(GRAPH, "node { attribute { name: '" "0123456789012345678901234567890123456789"
         "0123456789012345678901234567890123456789012345678901234567890123456789"
         "01234567890123456789" "' } }",
         "\n\x88\001*\x85\001\n\x82\001" "0123456789012345678901234567890123456789"
         "0123456789012345678901234567890123456789012345678901234567890123456789"
         "01234567890123456789"),
};

static void one_meaning_has_the_same_bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(same); i++) {
    wk_str got = {0};
    wk_status s = to_wire(same[i].d, same[i].text, strlen(same[i].text), &got);
    if (s) fail_msg("%s: %s: %s", same[i].text, s->place, s->message);
    if (got.n != same[i].n || (got.n && memcmp(got.s, same[i].wire, got.n) != 0)) {
      for (size_t k = 0; k < got.n; k++) printf("\\x%02x", (uint8_t)got.s[k]);
      fail_msg("%s: %zu bytes instead of %zu", same[i].text, got.n, same[i].n);
    }
    wk_str_free(&got);
  }
}

/* ---- models -------------------------------------------------------------------------------- */

static void models_printed_as_text_come_back(void **state) {
  (void)state;
  seed_list models = {0};
  seeds_onnx(&models, "/tmp");
  assert_true(models.n >= 10);
  for (size_t i = 0; i < models.n; i++) {
    wk_str *b = &models.data[i], text = {0}, got = {0};
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, b->n, (const uint8_t *)b->s);
    uint8_t *packed = malloc(onnx__model_proto__get_packed_size(m) + 1);
    size_t n = onnx__model_proto__pack(m, packed);
    message_text(&text, &m->base);
    wk_status s = to_wire(&onnx__model_proto__descriptor, text.s, text.n, &got);
    if (s) fail_msg("model %zu: %s: %s", i, s->place, s->message);
    assert_int_equal(got.n, n);
    assert_memory_equal(got.s, packed, n);
    onnx__model_proto__free_unpacked(m, NULL);
    free(packed);
    wk_str_free(&text);
    wk_str_free(&got);
    wk_str_free(b);
  }
  wk_vec_free(&models);
}

/* ---- what is wrong ------------------------------------------------------------------------- */

static const struct {
  const ProtobufCMessageDescriptor *d;
  const char *text, *place, *message;
} wrong[] = {
    {NODE, "input: \"a\"\n  otput: \"b\"", "t:2:3", "NodeProto has no field 'otput'; did you mean "
                                                 "'output'?"},
    {NODE, "attribute {\n  name: \"x\"\n", "t:3:1", "the text ends within 'attribute', which began "
                                               "in line 1"},
    {NODE, "attribute < name: 'x' }", "t:1:23", "the name of a field is expected, not '}'"},
    {NODE, "input: ['a', ]", "t:1:14", "a string is expected, not ']'"},
    {NODE, "input: ['a' 'b'", "t:1:16", "the text ends where ']' is expected"},
    {NODE, "op_type: [\"Add\"]", "t:1:10", "a string is expected, not '['"},
    {NODE, "op_type: Add", "t:1:10", "a string is expected, not 'Add'"},
    {NODE, "op_type \"Add\"", "t:1:9", "':' is expected, not '\"Add\"'"},
    {NODE, "op_type: 'a\nb'", "t:1:10", "this string has no closing quote on its line"},
    {NODE, "op_type: '\\xg'", "t:1:11", "this escape is not known"},
    {NODE, "op_type: '\\400'", "t:1:11", "this escape is not known"},
    {NODE, "op_type: '\\u12'", "t:1:11", "this escape is not known"},
    {NODE, "op_type: 'a\\000b'", "t:1:10", "this string holds a zero byte"},
    {NODE, "op_type: 'a'; op_type: 'b'", "t:1:15", "'op_type' is given twice"},
    {NODE, "[ext]: 1", "t:1:1", "the name of a field is expected, not '['"},
    {TENSOR, "dims: 0x1e+5", "t:1:11", "the name of a field is expected, not '+'"},
    {TENSOR, "dims: 0X1E-5", "t:1:11", "the name of a field is expected, not '-'"},
    {TENSOR, "float_data: 1e-5-5", "t:1:17", "the name of a field is expected, not '-'"},
    {TENSOR, "dims: 08", "t:1:7", "an integer is expected, not '08'"},
    {TENSOR, "dims: 1.5", "t:1:7", "an integer is expected, not '1.5'"},
    {TENSOR, "dims: 9223372036854775808", "t:1:7", "the integer does not fit 64 bits"},
    {TENSOR, "dims: 99999999999999999999", "t:1:7", "the integer '99999999999999999999' is too "
                                                    "large"},
    {TENSOR, "data_type: 2147483648", "t:1:12", "the integer does not fit 32 bits"},
    {TENSOR, "uint64_data: -1", "t:1:14", "the integer does not fit 64 bits without sign"},
    {TENSOR, "float_data: 0x1p3", "t:1:13", "a number is expected, not '0x1p3'"},
    {TENSOR, "float_data: [1 2]", "t:1:16", "']' is expected, not '2'"},
    {TENSOR, "float_data: one", "t:1:13", "a number is expected, not 'one'"},
    {ATTRIBUTE, "type: FLOOTS", "t:1:7", "'FLOOTS' is no value of AttributeType"},
    {NET, "op { is_gradient_op: yes }", "t:1:22", "true or false is expected, not 'yes'"},
    {NET, "name: 'x' }", "t:1:11", "the name of a field is expected, not '}'"},
    {NET, "name: \"\xff\" \x01", "t:1:11", "the byte 0x01 is no text of this format"},
};

static void errors_name_their_place(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(wrong); i++) {
    wk_str got = {0};
    wk_status s = to_wire(wrong[i].d, wrong[i].text, strlen(wrong[i].text), &got);
    if (!s) fail_msg("%s is accepted", wrong[i].text);
    if (strcmp(s->place, wrong[i].place) != 0 || strcmp(s->message, wrong[i].message) != 0)
      fail_msg("%s: %s: %s", wrong[i].text, s->place, s->message);
    wk_status_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_meaning_has_the_same_bytes),
      cmocka_unit_test(models_printed_as_text_come_back),
      cmocka_unit_test(errors_name_their_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
