/* SPDX-License-Identifier: Apache-2.0
 * What is said of models that the text of tests/hostile/model_text.h has no words for: fields that
 * are missing, sequences as inputs, what is given for these, and messages in messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/onnx/import/importer.h"
#include "compiler/onnx/wire/text.h"
#include "tests/hostile/model_text.h"

/* The message of protobuf text `text`, packed. */
static wk_str packed(const ProtobufCMessageDescriptor *d, const char *text) {
  uint8_t *bytes;
  size_t n;
  wk_str out = {0};
  wk_status s = wk_text_to_wire("t", text, strlen(text), d, &bytes, &n);
  if (s) fail_msg("%s", s->message);
  wk_str_addn(&out, (const char *)bytes, n);
  free(bytes);
  return out;
}

/* "" when the model is taken; the place and what is wrong. */
static wk_str import(const wk_str *model, const wk_import_options *o) {
  wk_str out = {0};
  wk_module *m = NULL;
  wk_status s = wk_import_onnx_memory(model->s, model->n, o, NULL, &m);
  wk_str_add(&out, "");
  if (s) wk_str_printf(&out, "%s: %s: %s", s->place ? s->place : "", s->message,
                       s->notes ? s->notes : "");
  wk_status_free(s);
  wk_module_free(m);
  return out;
}

/* 1 when `got`, which is released, is not what is wanted. */
static int differs(const char *name, wk_str *got, const char *want) {
  bool good = *want ? strstr(got->s, want) != NULL : !*got->s;
  if (!good) print_error("%s\n  is '%s', not '%s'\n", name, got->s, want);
  wk_str_free(got);
  return !good;
}

/* ---- models as protobuf text ----------------------------------------------------------------- */

#define TENSOR(name, size) "name: '" name "' type { tensor_type { elem_type: 1 shape { dim { " \
  "dim_value: " size " } } } } "
#define SEQUENCE(name) "name: '" name "' type { sequence_type { elem_type { tensor_type { " \
  "elem_type: 1 shape { dim { dim_value: 2 } } } } } } "
#define MODEL(graph) "ir_version: 8 opset_import { version: 17 } opset_import { domain: " \
  "'ai.onnx.preview.training' version: 1 } graph { " graph " }"
#define WITH_X(graph) MODEL("input { " TENSOR("x", "2") "} " graph)
#define NODE(op, in, out) "node { op_type: '" op "' input: ['" in "'] output: ['" out "'] } "
#define WEIGHT(fields) WITH_X("initializer { name: 'w' dims: 2 data_type: 1 " fields " } " \
                              NODE("Add", "x', 'w", "y") "output { name: 'y' }")
#define FILLED(fields) MODEL("initializer { name: 's' dims: 1 data_type: 7 int64_data: 2 } " \
  "node { op_type: 'ConstantOfShape' input: 's' output: 'y' attribute { name: 'value' t { " \
  "dims: 1 data_type: 1 " fields " } } } output { name: 'y' }")
#define IF(then, other) MODEL("initializer { name: 'k' data_type: 9 int32_data: 1 } node { " \
  "op_type: 'If' input: 'k' output: 'y' attribute { name: 'then_branch' " then " } " \
  "attribute { name: 'else_branch' " other " } } output { name: 'y' }")
#define LOOP(input) WITH_X("node { op_type: 'Loop' input: ['n', '', 'x'] output: 'y' attribute { " \
  "name: 'body' g { input { " input " } input { name: 'c' } input { name: 'v' } " \
  "output { name: 'c' } output { name: 'v' } } } } output { name: 'y' } " \
  "initializer { name: 'n' data_type: 7 int64_data: 3 }")

static const struct {
  const char *message, *text;
} models[] = {
  {"is not an ONNX model: it has no graph", "ir_version: 8 opset_import { version: 17 }"},
  {"a model input has no name", MODEL("input {} output { name: 'y' }")},
  {"a model input has no name", MODEL("input { " TENSOR("x", "2") "} input {}")},
  {"", LOOP("name: 'i'")},
  {"a graph input has no name", LOOP("doc_string: 'i'")},
  {"attribute 'then_branch' (a graph) is missing", IF("", "g {}")},
  {"attribute 'else_branch' (a graph) is missing", IF("g {}", "")},
  {"xs names no tensor", WITH_X(NODE("Exp", "x", "y")
    "node { op_type: 'Gradient' domain: 'ai.onnx.preview.training' input: 'x' output: 'd' "
    "attribute { name: 'xs' } attribute { name: 'y' s: 'y' } } output { name: 'd' }")},
  {"", WEIGHT("float_data: [1, 2]")},
  {"tensor 'w' has 1 elements, its shape needs 2", WEIGHT("float_data: 1")},
  {"tensors in segments are not supported", WEIGHT("float_data: [1, 2] segment { begin: 0 }")},
  {"the external data has no location", WEIGHT("data_location: EXTERNAL")},
  {"the external data has no location", WEIGHT("data_location: EXTERNAL external_data { "
                                              "key: 'place' value: 'w' }")},
  {"the data is in a file, but the model is not", WEIGHT("data_location: EXTERNAL external_data { "
                                                        "key: 'location' value: 'w' }")},
  {"", FILLED("float_data: 1")},
  {"data in another file is not supported here", FILLED("data_location: EXTERNAL")},
  {"the sparse tensor is too large", MODEL("sparse_initializer { dims: 2147483649 values { "
    "name: 'w' dims: 1 data_type: 1 float_data: 1 } indices { dims: 1 data_type: 7 int64_data: 0 "
    "} } " NODE("Exp", "w", "y") "output { name: 'y' }")},
  {"nothing to compute: all outputs are empty sequences", MODEL("node { op_type: 'SequenceEmpty' "
    "output: 'q' } output { " SEQUENCE("q") "}")},
  {"two outputs, or elements of outputs, have this name", WITH_X(
    NODE("SequenceConstruct", "x", "q") NODE("Exp", "x", "q[0]")
    "output { " SEQUENCE("q") "} output { name: 'q[0]' }")},
  {"", WITH_X(NODE("SequenceConstruct", "x", "q") NODE("Exp", "x", "q[1]")
              "output { " SEQUENCE("q") "} output { name: 'q[1]' }")},
  {"", WITH_X(NODE("SequenceConstruct", "x", "q")
              "output { " SEQUENCE("q") "} output { " SEQUENCE("q") "}")},
};

static void test_models(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(models); i++) {
    wk_str model = packed(&onnx__model_proto__descriptor, models[i].text);
    wk_str got = import(&model, NULL);
    bad += differs(models[i].text, &got, models[i].message);
    wk_str_free(&model);
  }
  assert_int_equal(bad, 0);
}

/* ---- what is given for inputs ---------------------------------------------------------------- */

#define OPTIONAL(name, type) "input { name: '" name "' type { optional_type { elem_type { " type \
  " } } } } "
#define PAIR "tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } }"
#define INPUTS(more) MODEL("input { " TENSOR("x", "2") "} input { " SEQUENCE("q") "} " \
  OPTIONAL("o", PAIR) OPTIONAL("p", "sequence_type { elem_type { " PAIR " } }") more \
  NODE("SequenceLength", "q", "n") "output { name: 'n' } " NODE("Exp", "x", "y") \
  "output { name: 'y' } ")

typedef struct {
  const char *input;
  int64_t n;
} length;

static const struct {
  const char *message, *more; /* inputs */
  length given[4];            /* for q, p, o and another */
  const char *value;          /* an input that is given two numbers */
} options[] = {
  {"", "", {{"q", 2}, {"p", 1}, {"o", 1}}, NULL},
  {"", "", {{"q", 2}, {"p", -1}, {"o", -1}}, NULL},
  {"", "", {{"q", 256}, {"p", 0}, {"o", 1}}, "x"},
  {"", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "q[1]"},
  {"--value q[2]: the sequence has 2 elements", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "q[2]"},
  {"--value q[1]: the sequence has 1 elements", "", {{"q", 1}, {"p", 1}, {"o", 1}}, "q[1]"},
  {"--value p[0]: the sequence has 0 elements", "", {{"q", 2}, {"p", -1}, {"o", 1}}, "p[0]"},
  {"--value p[0]: the sequence has 0 elements", "", {{"q", 2}, {"p", 0}, {"o", 1}}, "p[0]"},
  {"--value q: is a sequence: give its elements, q[0]", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "q"},
  {"--value p: is a sequence: give its elements, p[0]", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "p"},
  {"", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "o"},
  {"--value wholly: the model has no such input:", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "wholly"},
  {"--length wholly: the model has no such input:", "", {{"q", 2}, {"wholly", 1}}, NULL},
  {"--value o[0]: the model has no such input", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "o[0]"},
  {"--value q[00]: the model has no such input", "", {{"q", 2}, {"p", 1}, {"o", 1}}, "q[00]"},
  {"q[0] is an element of a sequence, not one", "", {{"q", 2}, {"p", 1}, {"o", 1}, {"q[0]", 1}},
   NULL},
  {"input x is neither a sequence nor optional", "", {{"q", 2}, {"p", 1}, {"o", 1}, {"x", 1}},
   NULL},
  {"input q is a sequence: it has a length", "", {{"q", -1}, {"p", 1}, {"o", 1}}, NULL},
  {"input o is an optional tensor: 1 or none", "", {{"q", 2}, {"p", 1}, {"o", 2}}, NULL},
  {"input o is an optional tensor: 1 or none", "", {{"q", 2}, {"p", 1}, {"o", 0}}, NULL},
  {"more than 256 elements are not supported", "", {{"q", 257}, {"p", 1}, {"o", 1}}, NULL},
  {"q[1]: another input has the name of this element", "input { " TENSOR("q[1]", "2") "} ",
   {{"q", 2}, {"p", 1}, {"o", 1}}, NULL},
  {"", "input { " TENSOR("q[2]", "2") "} ", {{"q", 2}, {"p", 1}, {"o", 1}}, NULL},
};

static void test_options(void **state) {
  float pair[] = {1, 2};
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(options); i++) {
    wk_str text = {0};
    wk_bind_length lengths[4] = {{0}};
    wk_bind_value v = {.input = options[i].value,
                       .value = {wk_type_make(WK_F32, 1, (const int64_t[]){2}), pair}};
    wk_import_options o = {.lengths = lengths, .values = &v, .n_values = v.input != NULL};
    wk_str_add(&text, INPUTS(""));
    text.n = (size_t)(strstr(text.s, NODE("SequenceLength", "q", "n")) - text.s);
    wk_str_printf(&text, "%s%s", options[i].more,
                  strstr(INPUTS(""), NODE("SequenceLength", "q", "n")));
    while (o.n_lengths < 4 && options[i].given[o.n_lengths].input) {
      const length *l = &options[i].given[o.n_lengths];
      lengths[o.n_lengths++] = (wk_bind_length){.input = l->input, .n = l->n};
    }
    wk_str model = packed(&onnx__model_proto__descriptor, text.s);
    wk_str got = import(&model, &o);
    bad += differs(options[i].message, &got, options[i].message);
    wk_str_free(&model);
    wk_str_free(&text);
  }
  assert_int_equal(bad, 0);
}

/* ---- for training ---------------------------------------------------------------------------- */

#define DROPOUT(ratio) "in x f32[2,3]; init r f32[]={" ratio "}; Dropout x,r -> y; out y"
#define BRANCH(node) "fun F a -> b (Dropout a -> b); in x f32[2,3]; in c bool[]; If c -> y {" \
  "then_branch=(" node " x -> t; out t) else_branch=(Exp x -> t; out t)}; out y"

static void test_training(void **state) {
  static const struct { const char *message, *text; } rows[] = {
    {"", DROPOUT("0")},
    {"", DROPOUT("0.999")},
    {"the ratio 1 is not in 0..1", DROPOUT("1")},
    {"the ratio -0.001 is not in 0..1", DROPOUT("-0.001")},
    {"the ratio nan is not in 0..1", DROPOUT("nan")},
    {"", "fun F a -> b (Dropout a -> b); in x f32[2,3]; local.F x -> y; out y"},
    {"", BRANCH("Dropout")},
    {"random numbers in a function that a body calls have no key", BRANCH("local.F")}};
  const wk_import_options o = {.purpose = WK_FOR_TRAINING};
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str model = {0};
    model_text(rows[i].text, &model);
    wk_str got = import(&model, &o);
    bad += differs(rows[i].text, &got, rows[i].message);
    wk_str_free(&model);
  }
  assert_int_equal(bad, 0);
}

/* ---- messages in messages -------------------------------------------------------------------- */

/* `inner`, which is released, as field `number`. */
static void put(wk_str *out, int number, wk_str *inner) {
  char head[12];
  size_t n = 0;
  head[n++] = (char)(number << 3 | 2);
  for (size_t v = inner->n;; v >>= 7) {
    head[n++] = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    if (v <= 0x7f) break;
  }
  wk_str_addn(out, head, n);
  if (inner->n) wk_str_addn(out, inner->s, inner->n);
  wk_str_free(inner);
}

/* A model, its graph, a node, an attribute, a graph …: `n` messages in one another. */
static wk_str nested(int n) {
  static const int fields[] = {5, 6, 1}; /* message i in what is around it: 2 is a node of 1 */
  wk_str m = {0};
  for (int i = n - 1; i > 0; i--) {
    wk_str outer = {0};
    put(&outer, i == 1 ? 7 : fields[i % 3], &m);
    m = outer;
  }
  return m;
}

static void test_depth(void **state) {
  (void)state;
  static const char *const words[] = {"attribute {", "g {", "node {"};
  for (int n = 200; n <= 201; n++) {
    wk_str model = nested(n), text = {0};
    wk_str got = import(&model, NULL);
    bool is_deep = strstr(got.s, "is nested more than 200 messages deep") != NULL;
    if (is_deep != (n > 200)) fail_msg("%d: %s", n, got.s);
    for (int i = 1; i < n; i++) wk_str_add(&text, i == 1 ? "graph {" : words[i % 3]);
    for (int i = 1; i < n; i++) wk_str_add(&text, "}");
    uint8_t *bytes = NULL;
    size_t size;
    wk_status s = wk_text_to_wire("t", text.s, text.n, &onnx__model_proto__descriptor, &bytes,
                                  &size);
    bool is_refused = s && strstr(s->message, "is nested more than 200 messages deep");
    if (is_refused != (n > 200)) fail_msg("%d: %s", n, s ? s->message : "taken");
    if (!s) assert_memory_equal(bytes, model.s, model.n);
    if (!s) free(bytes);
    wk_status_free(s);
    wk_str_free(&text);
    wk_str_free(&got);
    wk_str_free(&model);
  }
}

/* As many nodes as a file of that size may have, and one more. */
static void test_count(void **state) {
  size_t node = onnx__node_proto__descriptor.sizeof_message + 16, n = 0;
  size_t around = onnx__model_proto__descriptor.sizeof_message + 16 +
                  onnx__graph_proto__descriptor.sizeof_message + 16;
  (void)state;
  /* a node is two bytes, the graph's head four: its tag and a length of three bytes */
  while (around + (n + 1) * node <= ((size_t)64 << 20) + 16 * (4 + 2 * (n + 1))) n++;
  for (int more = 0; more < 2; more++) {
    wk_str graph = {0}, model = {0};
    for (size_t i = 0; i < n + (size_t)more; i++) wk_str_addn(&graph, "\012\0", 2);
    assert_in_range(graph.n, 1 << 14, (1 << 21) - 1);
    put(&model, 7, &graph);
    wk_str got = import(&model, NULL);
    if ((strstr(got.s, "holds too many messages") != NULL) != (more > 0)) fail_msg("%s", got.s);
    wk_str_free(&got);
    wk_str_free(&model);
  }
}

/* A field of another type within a node. */
static void test_types_of_fields(void **state) {
  (void)state;
  wk_str model = {0}, got;
  wk_str_addn(&model, "\072\004\012\002\040\001", 6);
  got = import(&model, NULL);
  assert_int_equal(differs("op_type", &got, "is not valid protobuf data"), 0);
  wk_str_free(&model);
}

/* ---- files of external data ------------------------------------------------------------------ */

static wk_status count_one(void *ctx, const char *location) {
  assert_string_equal(location, "w");
  ++*(int *)ctx;
  return NULL;
}

/* Graphs in one another, the innermost with a tensor in another file. */
static void test_external(void **state) {
  (void)state;
  for (int depth = 64; depth <= 65; depth++) {
    wk_arena *a = wk_arena_new();
    wk_str text = {0};
    ProtobufCMessage *m = NULL;
    int found = 0;
    wk_str_add(&text, "graph {");
    for (int i = 0; i < depth; i++) wk_str_add(&text, "node { attribute { g {");
    if (depth == 64)
      wk_str_add(&text, "initializer { data_location: EXTERNAL external_data { key: 'location' "
                        "value: 'w' } }");
    for (int i = 0; i < depth; i++) wk_str_add(&text, "} } }");
    wk_str_add(&text, "}");
    wk_str model = packed(&onnx__model_proto__descriptor, text.s);
    wk_status s = wk_wire_unpack(&onnx__model_proto__descriptor, (const uint8_t *)model.s, model.n,
                                 a, &m);
    assert_null(s);
    s = wk_onnx_each_external((const Onnx__ModelProto *)m, count_one, &found);
    assert_int_equal(found, depth == 64);
    if (depth == 64) assert_null(s);
    else assert_string_equal(s->message, "graphs are nested too deep");
    wk_status_free(s);
    wk_arena_free(a);
    wk_str_free(&text);
    wk_str_free(&model);
  }
}

/* 16 bytes of a file of 20. */
static void test_spans(void **state) {
  static const struct { const char *message, *where; } rows[] = {
    {"", "\"w\" 0 16"},
    {"", "\"w\""},
    {"", "\"w\" 4 16"},
    {"", "\"w\" 4"},
    {"w: offset and length lie outside the file", "\"w\" 5 16"},
    {"tensor 'w' has 12 bytes of data", "\"w\" 8"},
    {"tensor 'w' has 0 bytes of data", "\"w\" 20"},
    {"w: offset and length lie outside the file", "\"w\" 21"},
    {"w: offset and length lie outside the file", "\"w\" -1"},
    {"w: offset and length lie outside the file", "\"w\" 0 21"},
    {"tensor 'w' has 20 bytes of data", "\"w\" 0 20"}};
  static const float data[5] = {1, 2, 3, 4, 5};
  char dir[] = "/tmp/wick_spans_XXXXXX", file[64], model_file[64], text[128];
  int bad = 0;
  (void)state;
  assert_non_null(mkdtemp(dir));
  snprintf(file, sizeof file, "%s/w", dir);
  snprintf(model_file, sizeof model_file, "%s/m.onnx", dir);
  assert_null(wk_write_file(file, data, sizeof data));
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str model = {0}, got = {0};
    wk_module *m = NULL;
    snprintf(text, sizeof text, "init w f32[4]=external %s; Exp w -> y; out y", rows[i].where);
    model_text(text, &model);
    assert_null(wk_write_file(model_file, model.s, model.n));
    wk_status s = wk_import_onnx(model_file, NULL, NULL, &m);
    wk_str_add(&got, "");
    if (s) wk_str_printf(&got, "%s: %s", s->place, s->message);
    bad += differs(text, &got, rows[i].message);
    wk_status_free(s);
    wk_module_free(m);
    wk_str_free(&model);
  }
  assert_int_equal(remove(model_file) | remove(file) | rmdir(dir), 0);
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_models),   cmocka_unit_test(test_options),
      cmocka_unit_test(test_training), cmocka_unit_test(test_depth),
      cmocka_unit_test(test_count),    cmocka_unit_test(test_types_of_fields),
      cmocka_unit_test(test_external), cmocka_unit_test(test_spans)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
