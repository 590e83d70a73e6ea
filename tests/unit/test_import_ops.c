/* SPDX-License-Identifier: Apache-2.0
 * Operators that the recorded tests of the ONNX suites do not have: one node on constants each,
 * with results worked out by hand from the operator's definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "tests/unit/model_builder.h"

#define MICROSOFT "com.microsoft"
enum {
  ELEM_U8 = 2, ELEM_I8 = 3, ELEM_I32 = 6, ELEM_F64 = 11, ELEM_U32 = 12, ELEM_U64 = 13, ELEM_U4 = 21,
  ELEM_I4 = 22
};

/* ---- building -------------------------------------------------------------------------------- */

/* dims: as "2 3"; "" is a scalar. */
static int read_dims(const char *text_, int64_t *dims) {
  int n = 0;
  char *end;
  for (const char *p = text_; *p; p = end + (*end == ' ')) dims[n++] = strtoll(p, &end, 10);
  return n;
}

static void add_data(builder *b, const char *name, int32_t elem, const char *dims_text,
                     const void *data, size_t size) {
  int64_t dims[WK_MAX_RANK], n = 1;
  int rank = read_dims(dims_text, dims);
  for (int i = 0; i < rank; i++) n *= dims[i];
  Onnx__TensorProto *t = raw_tensor(b, name, elem, rank, dims, data, (size_t)n * size);
  ADD(b, b->g->initializer, b->g->n_initializer, t);
}

#define ADD_F32(b, name, dims, ...) \
  add_data(b, name, ELEM_F32, dims, (const float[]){__VA_ARGS__}, sizeof(float))
#define ADD_I64(b, name, dims, ...) \
  add_data(b, name, ELEM_I64, dims, (const int64_t[]){__VA_ARGS__}, sizeof(int64_t))
#define ADD_U8(b, name, dims, ...) \
  add_data(b, name, ELEM_U8, dims, (const uint8_t[]){__VA_ARGS__}, 1)

static void set_float(builder *b, Onnx__NodeProto *n, const char *name, float v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->has_f = true;
  a->f = v;
}

static void set_text(builder *b, Onnx__NodeProto *n, const char *name, const char *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->has_s = true;
  a->s = (ProtobufCBinaryData){strlen(v), (uint8_t *)text(b, v)};
}

static void set_ints(builder *b, Onnx__NodeProto *n, const char *name, size_t count,
                     const int64_t *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->n_ints = count;
  a->ints = wk_arena_memdup(b->a, v, count * sizeof *v);
}

static void set_floats(builder *b, Onnx__NodeProto *n, const char *name, size_t count,
                       const float *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->n_floats = count;
  a->floats = wk_arena_memdup(b->a, v, count * sizeof *v);
}
#define INTS(...) sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}
#define FLOATS(...) sizeof((float[]){__VA_ARGS__}) / sizeof(float), (const float[]){__VA_ARGS__}

static Onnx__NodeProto *microsoft(builder *b, const char *op, const char *in, const char *out) {
  Onnx__NodeProto *n = add_node(b, b->g, op, in, out);
  n->domain = text(b, MICROSOFT);
  add_opset(b, MICROSOFT, 1);
  return n;
}

static void set_texts(builder *b, Onnx__NodeProto *n, const char *name, size_t count,
                      const char *const *v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->n_strings = count;
  a->strings = wk_arena_alloc(b->a, count * sizeof *a->strings);
  for (size_t i = 0; i < count; i++)
    a->strings[i] = (ProtobufCBinaryData){strlen(v[i]), (uint8_t *)text(b, v[i])};
}

static Onnx__NodeProto *machine_learning(builder *b, const char *op, const char *in,
                                         const char *out) {
  Onnx__NodeProto *n = add_node(b, b->g, op, in, out);
  n->domain = text(b, "ai.onnx.ml");
  add_opset(b, "ai.onnx.ml", 3);
  return n;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Imports, evaluates and frees the model, whose outputs (of any type) it names. */
static wk_tensor output_of(builder *b, const char *name) {
  wk_module *m = NULL;
  wk_tensor out;
  add_output(b, b->g, name, 0);
  b->g->output[0]->type = NULL; /* whatever it is */
  wk_status s = import_model(b, NULL, NULL, &m);
  if (!s) s = wk_eval_graph(m->main, NULL, &out, NULL, NULL);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  wk_module_free(m);
  return out;
}

static void expect_numbers(builder *b, const char *name, const char *dims_text, wk_dtype type,
                           int64_t n, const double *want) {
  int64_t dims[WK_MAX_RANK];
  wk_type shape = wk_type_make(type, read_dims(dims_text, dims), dims);
  wk_tensor got = output_of(b, name);
  assert_true(wk_type_equal(&got.type, &shape));
  assert_int_equal(wk_type_count(&got.type), n);
  for (int64_t i = 0; i < n; i++)
    assert_float_equal(wk_load_f64(got.data, type, i), want[i], 1e-5 * (1 + fabs(want[i])));
  wk_tensor_free(&got);
}
#define EXPECT(b, name, dims, type, ...)                                              \
  expect_numbers(b, name, dims, type, sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
                 (const double[]){__VA_ARGS__})

static void expect_refusal(builder *b, const char *name, wk_code code, const char *part) {
  wk_module *m = NULL;
  add_output(b, b->g, name, ELEM_F32);
  wk_status s = import_model(b, NULL, NULL, &m);
  assert_non_null(s);
  assert_int_equal(s->code, code);
  wk_str all = {0};
  wk_str_printf(&all, "%s %s", s->message, s->notes ? s->notes : "");
  if (!strstr(all.s, part)) fail_msg("'%s' lacks '%s'", all.s, part);
  wk_str_free(&all);
  wk_status_free(s);
}

/* ---- padding and sampling -------------------------------------------------------------------- */

static builder crop_model(size_t n, const int64_t *shape) {
  builder b = new_model(18);
  ADD_F32(&b, "x", "2 5", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  add_i64s(&b, b.g, "shape", shape, (int64_t)n);
  return b;
}

static void center_crop_pad(void **state) {
  (void)state;
  builder b = crop_model(INTS(4, 3));
  add_node(&b, b.g, "CenterCropPad", "x shape", "y");
  EXPECT(&b, "y", "4 3", WK_F32, 0, 0, 0, 2, 3, 4, 7, 8, 9, 0, 0, 0);
  b = crop_model(INTS(2, 3)); /* odd differences: the larger part is behind */
  set_ints(&b, add_node(&b, b.g, "CenterCropPad", "x shape", "y"), "axes", INTS(-1, 0));
  EXPECT(&b, "y", "3 2", WK_F32, 2, 3, 7, 8, 0, 0);
  b = crop_model(INTS(8));
  set_ints(&b, add_node(&b, b.g, "CenterCropPad", "x shape", "y"), "axes", INTS(1));
  EXPECT(&b, "y", "2 8", WK_F32, 0, 1, 2, 3, 4, 5, 0, 0, 0, 6, 7, 8, 9, 10, 0, 0);
  b = crop_model(INTS(8));
  add_node(&b, b.g, "CenterCropPad", "x shape", "y");
  expect_refusal(&b, "y", WK_INPUT, "1 sizes for 2 axes");
  b = crop_model(INTS(2, -1));
  add_node(&b, b.g, "CenterCropPad", "x shape", "y");
  expect_refusal(&b, "y", WK_INPUT, "size -1 is not valid");
}

static void lp_pool(void **state) {
  (void)state;
  for (int p = 1; p <= 3; p++) {
    builder b = new_model(18);
    ADD_F32(&b, "x", "1 1 1 4", 1, -2, 3, -4);
    Onnx__NodeProto *n = add_node(&b, b.g, "LpPool", "x", "y");
    set_ints(&b, n, "kernel_shape", INTS(1, 2));
    set_ints(&b, n, "strides", INTS(1, 2));
    if (p != 2) set_int(&b, n, "p", p); /* 2 is the default */
    EXPECT(&b, "y", "1 1 1 2", WK_F32, pow(1 + pow(2, p), 1.0 / p),
           pow(pow(3, p) + pow(4, p), 1.0 / p));
  }
  builder b = new_model(18);
  ADD_F32(&b, "x", "1 1 1 5", 3, 9, 4, 9, 12);
  Onnx__NodeProto *n = add_node(&b, b.g, "LpPool", "x", "y");
  set_ints(&b, n, "kernel_shape", INTS(1, 2));
  set_ints(&b, n, "dilations", INTS(1, 2));
  set_ints(&b, n, "pads", INTS(0, 2, 0, 0));
  EXPECT(&b, "y", "1 1 1 5", WK_F32, 3, 9, 5, sqrt(162), sqrt(160));
}

static void resizing(void **state) {
  (void)state;
  static const struct { const char *policy, *dims; int64_t n; } cases[] = {
      {"not_larger", "1 1 3 6", 18}, {"not_smaller", "1 1 7 14", 98}, {"stretch", "1 1 7 6", 42}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    builder b = new_model(18);
    ADD_F32(&b, "x", "1 1 2 4", 1, 2, 3, 4, 5, 6, 7, 8);
    ADD_I64(&b, "sizes", "2", 7, 6);
    Onnx__NodeProto *n = add_node(&b, b.g, "Resize", "x - - sizes", "y");
    set_ints(&b, n, "axes", INTS(2, 3));
    set_text(&b, n, "keep_aspect_ratio_policy", cases[i].policy);
    set_text(&b, n, "mode", "nearest");
    wk_tensor y = output_of(&b, "y");
    int64_t dims[4];
    wk_type want = wk_type_make(WK_F32, read_dims(cases[i].dims, dims), dims);
    assert_true(wk_type_equal(&y.type, &want));
    assert_float_equal(((float *)y.data)[cases[i].n - 1], 8, 0);
    wk_tensor_free(&y);
  }
  builder b = new_model(1);
  ADD_F32(&b, "x", "1 1 1 2", 1, 2);
  Onnx__NodeProto *n = add_node(&b, b.g, "Upsample", "x", "y");
  set_float(&b, n, "height_scale", 2);
  set_float(&b, n, "width_scale", 3);
  EXPECT(&b, "y", "1 1 2 6", WK_F32, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2);
  b = new_model(7);
  ADD_F32(&b, "x", "1 1 1 2", 1, 2);
  set_floats(&b, add_node(&b, b.g, "Upsample", "x", "y"), "scales", FLOATS(1, 1, 1, 2));
  EXPECT(&b, "y", "1 1 1 4", WK_F32, 1, 1, 2, 2);
}

/* ---- normalisation and activations ----------------------------------------------------------- */

static void normalisation(void **state) {
  (void)state;
  builder b = new_model(23);
  ADD_F32(&b, "x", "2 2", 3, 4, 6, -8);
  ADD_F32(&b, "scale", "2", 1, 2);
  set_float(&b, add_node(&b, b.g, "RMSNormalization", "x scale", "y"), "epsilon", 0.5f);
  EXPECT(&b, "y", "2 2", WK_F32, 3 / sqrt(13), 8 / sqrt(13), 6 / sqrt(50.5), -16 / sqrt(50.5));
  b = new_model(23);
  ADD_F32(&b, "x", "2 2", 1, 2, 3, 4);
  ADD_F32(&b, "scale", "2 2", 1, 2, 3, 4);
  set_int(&b, add_node(&b, b.g, "RMSNormalization", "x scale", "y"), "axis", -2);
  EXPECT(&b, "y", "2 2", WK_F32, 1 / sqrt(7.50001), 4 / sqrt(7.50001), 9 / sqrt(7.50001),
         16 / sqrt(7.50001));
  for (int opset = 18; opset <= 21; opset += 3) { /* per group, then per channel */
    b = new_model(opset);
    ADD_F32(&b, "x", "1 4 1", 1, 3, 2, 6);
    if (opset < 21) ADD_F32(&b, "scale", "2", 2, 3);
    else ADD_F32(&b, "scale", "4", 2, 2, 3, 3);
    if (opset < 21) ADD_F32(&b, "bias", "2", 10, 20);
    else ADD_F32(&b, "bias", "4", 10, 10, 20, 20);
    Onnx__NodeProto *n = add_node(&b, b.g, "GroupNormalization", "x scale bias", "y");
    set_int(&b, n, "num_groups", 2);
    set_float(&b, n, "epsilon", 0);
    EXPECT(&b, "y", "1 4 1", WK_F32, 8, 12, 17, 23);
  }
  for (int k = 0; k < 2; k++) {
    b = new_model(17);
    ADD_F32(&b, "x", "1 2", 1, 3);
    ADD_F32(&b, "skip", "1 2", 1, 1);
    ADD_F32(&b, "gamma", "2", 2, 2);
    ADD_F32(&b, "beta", "2", 1, 1);
    ADD_F32(&b, "bias", "2", 0, 2);
    Onnx__NodeProto *n = microsoft(&b, "SkipLayerNormalization", "x skip gamma beta bias",
                                   "y - - sum");
    set_float(&b, n, "epsilon", 0);
    if (k) EXPECT(&b, "sum", "1 2", WK_F32, 2, 6);
    else EXPECT(&b, "y", "1 2", WK_F32, -1, 3);
  }
}

static double gelu(double x) { return 0.5 * x * (1 + erf(x / sqrt(2))); }
static double gelu_tanh(double x) {
  return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void activations(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    builder b = new_model(20);
    ADD_F32(&b, "x", "2", 1, -2);
    Onnx__NodeProto *n = add_node(&b, b.g, "Gelu", "x", "y");
    if (k) set_text(&b, n, "approximate", k == 1 ? "none" : "tanh");
    if (k == 2) EXPECT(&b, "y", "2", WK_F32, gelu_tanh(1), gelu_tanh(-2));
    else EXPECT(&b, "y", "2", WK_F32, gelu(1), gelu(-2));
  }
  for (int k = 0; k < 3; k++) {
    builder b = new_model(24);
    ADD_F32(&b, "x", "2", 1, -2);
    Onnx__NodeProto *n = add_node(&b, b.g, "Swish", "x", "y");
    if (k) set_float(&b, n, "alpha", (float)k);
    double alpha = k ? k : 1;
    EXPECT(&b, "y", "2", WK_F32, sigmoid(alpha), -2 * sigmoid(-2 * alpha));
  }
  builder b = new_model(17);
  ADD_F32(&b, "x", "2", 0.25f, -1);
  ADD_F32(&b, "bias", "2", 0.5f, -1);
  microsoft(&b, "BiasGelu", "x bias", "y");
  EXPECT(&b, "y", "2", WK_F32, gelu(0.75), gelu(-2));
  for (int opset = 6; opset <= 9; opset += 3) { /* along the channels, then along the last axis */
    b = new_model(opset);
    ADD_F32(&b, "x", "1 2 2", -1, -1, -1, -1);
    ADD_F32(&b, "slope", "2", 0.5f, 0.25f);
    add_node(&b, b.g, "PRelu", "x slope", "y");
    if (opset == 6) EXPECT(&b, "y", "1 2 2", WK_F32, -0.5, -0.5, -0.25, -0.25);
    else EXPECT(&b, "y", "1 2 2", WK_F32, -0.5, -0.25, -0.5, -0.25);
  }
}

/* ---- sequences and optionals ----------------------------------------------------------------- */

static builder sequence_model(void) {
  builder b = new_model(17);
  ADD_F32(&b, "a", "2", 1, 2);
  ADD_F32(&b, "b", "1", 3);
  ADD_F32(&b, "c", "1", 4);
  ADD_I64(&b, "first", "", 0);
  ADD_I64(&b, "last", "", -1);
  add_node(&b, b.g, "SequenceConstruct", "a b c", "s");
  return b;
}

static void sequences(void **state) {
  (void)state;
  builder b = sequence_model();
  add_node(&b, b.g, "SequenceErase", "s", "t");
  add_node(&b, b.g, "SequenceLength", "t", "n");
  EXPECT(&b, "n", "", WK_I64, 2);
  b = sequence_model();
  add_node(&b, b.g, "SequenceErase", "s", "t");
  add_node(&b, b.g, "SequenceAt", "t last", "y");
  EXPECT(&b, "y", "1", WK_F32, 3);
  b = sequence_model();
  add_node(&b, b.g, "SequenceErase", "s first", "t");
  add_node(&b, b.g, "SequenceAt", "t first", "y");
  EXPECT(&b, "y", "1", WK_F32, 3);
  b = sequence_model();
  add_node(&b, b.g, "SequenceInsert", "s a", "t"); /* at the end */
  add_node(&b, b.g, "SequenceAt", "t last", "y");
  EXPECT(&b, "y", "2", WK_F32, 1, 2);
  b = sequence_model();
  add_node(&b, b.g, "SequenceInsert", "s b first", "t");
  add_node(&b, b.g, "SequenceAt", "t first", "y");
  EXPECT(&b, "y", "1", WK_F32, 3);
}

/* y[i] = x[i] + u[i] and z[i] = -k, k the same for all. */
static builder map_model(const char *second) {
  builder b = sequence_model();
  Onnx__GraphProto *g = new_graph(&b, "body");
  add_input(&b, g, "x", ELEM_F32, NULL);
  add_input(&b, g, "u", ELEM_F32, NULL);
  add_input(&b, g, "k", ELEM_F32, NULL);
  add_node(&b, g, "Add", "x u", "sum");
  add_node(&b, g, "Neg", "k", "minus");
  add_output(&b, g, "sum", ELEM_F32);
  add_output(&b, g, "minus", ELEM_F32);
  add_node(&b, b.g, "SequenceConstruct", "b c a", "t");
  add_node(&b, b.g, "SequenceConstruct", "b c", "short");
  Onnx__NodeProto *n = add_node(&b, b.g, "SequenceMap", second, "y z");
  set_graph(&b, n, "body", g);
  return b;
}

static void sequence_maps(void **state) {
  (void)state;
  builder b = map_model("s t a");
  add_node(&b, b.g, "ConcatFromSequence", "y", "all");
  set_int(&b, b.g->node[b.g->n_node - 1], "axis", 0);
  EXPECT(&b, "all", "5", WK_F32, 4, 5, 7, 5, 6);
  b = map_model("s t a");
  add_node(&b, b.g, "SequenceAt", "z last", "y1");
  EXPECT(&b, "y1", "2", WK_F32, -1, -2);
  b = map_model("s short a");
  add_node(&b, b.g, "SequenceAt", "z last", "y1");
  expect_refusal(&b, "y1", WK_INPUT, "the sequences have different lengths");
}

static void optionals(void **state) {
  (void)state;
  builder b = sequence_model();
  add_node(&b, b.g, "Optional", "b", "o");
  add_node(&b, b.g, "OptionalGetElement", "o", "y");
  EXPECT(&b, "y", "1", WK_F32, 3);
  b = sequence_model();
  add_node(&b, b.g, "Optional", "b", "o");
  add_node(&b, b.g, "OptionalHasElement", "o", "y");
  EXPECT(&b, "y", "", WK_BOOL, 1);
  b = sequence_model();
  add_node(&b, b.g, "Optional", "s", "o");
  add_node(&b, b.g, "OptionalGetElement", "o", "t");
  add_node(&b, b.g, "SequenceAt", "t last", "y");
  EXPECT(&b, "y", "1", WK_F32, 4);
}

/* ---- constants ------------------------------------------------------------------------------- */

static void constant_nodes(void **state) {
  (void)state;
  builder b = new_model(13);
  set_int(&b, add_node(&b, b.g, "Constant", "", "y"), "value_int", -7);
  EXPECT(&b, "y", "", WK_I64, -7);
  b = new_model(13);
  set_ints(&b, add_node(&b, b.g, "Constant", "", "y"), "value_ints", INTS(4, -5));
  EXPECT(&b, "y", "2", WK_I64, 4, -5);
  b = new_model(13);
  set_float(&b, add_node(&b, b.g, "Constant", "", "y"), "value_float", 2.5f);
  EXPECT(&b, "y", "", WK_F32, 2.5);
  b = new_model(13);
  set_floats(&b, add_node(&b, b.g, "Constant", "", "y"), "value_floats", FLOATS(1.5f, -2.5f, 4));
  EXPECT(&b, "y", "3", WK_F32, 1.5, -2.5, 4);
  b = new_model(13);
  add_node(&b, b.g, "Constant", "", "y");
  expect_refusal(&b, "y", WK_INPUT, "it has no value");
}

/* 5 and 6 in a tensor of 2 x 3; indices of so many dims. */
static builder sparse_model(const char *dims, const int64_t *indices) {
  builder b = new_model(13);
  int64_t shape[2];
  int rank = read_dims(dims, shape);
  size_t bytes = sizeof *indices * (size_t)(rank == 2 ? shape[0] * shape[1] : shape[0]);
  Onnx__SparseTensorProto *s = wk_arena_alloc(b.a, sizeof *s);
  onnx__sparse_tensor_proto__init(s);
  s->n_dims = 2;
  s->dims = wk_arena_memdup(b.a, (const int64_t[]){2, 3}, 2 * sizeof *s->dims);
  s->values = raw_tensor(&b, "", ELEM_F32, 1, (const int64_t[]){2}, (const float[]){5, 6}, 8);
  s->indices = raw_tensor(&b, "", ELEM_I64, rank, shape, indices, bytes);
  attribute(&b, add_node(&b, b.g, "Constant", "", "y"), "sparse_value")->sparse_tensor = s;
  return b;
}

static void sparse_constants(void **state) {
  (void)state;
  builder b = sparse_model("2", (const int64_t[]){1, 5});
  EXPECT(&b, "y", "2 3", WK_F32, 0, 5, 0, 0, 0, 6);
  b = sparse_model("2 2", (const int64_t[]){0, 2, 1, 0});
  EXPECT(&b, "y", "2 3", WK_F32, 0, 0, 5, 6, 0, 0);
  static const struct { const char *dims; int64_t at[4]; const char *part; } wrong[] = {
      {"2", {1, 6}, "out of range"},          {"2", {-1, 0}, "out of range"},
      {"2 2", {0, 3, 1, 0}, "out of range"},  {"2 2", {0, 0, 2, 0}, "out of range"},
      {"2 2", {0, 0, 1, -1}, "out of range"}, {"1", {0}, "malformed"},
      {"2 1", {0, 1}, "malformed"},           {"1 2", {0, 1}, "malformed"}};
  for (size_t i = 0; i < WK_COUNTOF(wrong); i++) {
    b = sparse_model(wrong[i].dims, wrong[i].at);
    expect_refusal(&b, "y", WK_INPUT, wrong[i].part);
  }
}

/* Data in the typed fields, where bytes would do as well. */
static void typed_data(void **state) {
  (void)state;
  static const struct { int32_t elem; wk_dtype type; } types[] = {
      {ELEM_F64, WK_F64}, {ELEM_U32, WK_U32}, {ELEM_U64, WK_U64}, {ELEM_BOOL, WK_BOOL},
      {ELEM_I32, WK_I32}, {ELEM_U8, WK_U8},   {ELEM_I8, WK_I8},   {ELEM_I64, WK_I64}};
  for (size_t i = 0; i < WK_COUNTOF(types); i++) {
    builder b = new_model(13);
    const int64_t dims = 3;
    Onnx__TensorProto *t = raw_tensor(&b, "w", types[i].elem, 1, &dims, "", 0);
    t->has_raw_data = false;
    t->n_double_data = types[i].type == WK_F64 ? 3 : 0;
    t->double_data = wk_arena_memdup(b.a, (const double[]){1, 0, 7}, 3 * sizeof(double));
    t->n_uint64_data = types[i].type == WK_U32 || types[i].type == WK_U64 ? 3 : 0;
    t->uint64_data = wk_arena_memdup(b.a, (const uint64_t[]){1, 0, 7}, 3 * sizeof(uint64_t));
    t->n_int64_data = types[i].type == WK_I64 ? 3 : 0;
    t->int64_data = wk_arena_memdup(b.a, (const int64_t[]){1, 0, 7}, 3 * sizeof(int64_t));
    t->n_int32_data = t->n_double_data + t->n_uint64_data + t->n_int64_data ? 0 : 3;
    t->int32_data = wk_arena_memdup(b.a, (const int32_t[]){1, 0, 7}, 3 * sizeof(int32_t));
    ADD(&b, b.g->initializer, b.g->n_initializer, t);
    add_node(&b, b.g, "Identity", "w", "y");
    EXPECT(&b, "y", "3", types[i].type, 1, 0, types[i].type == WK_BOOL ? 1 : 7);
  }
}

/* Three elements of 4 bits are two bytes, each in an integer of its own; low bits come first. */
static void packed_data(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    builder b = new_model(21);
    const int64_t dims = 3;
    Onnx__TensorProto *t = raw_tensor(&b, "w", k ? ELEM_I4 : ELEM_U4, 1, &dims, "", 0);
    t->has_raw_data = false;
    t->n_int32_data = 2;
    t->int32_data = wk_arena_memdup(b.a, (const int32_t[]){0x8f, 0x03}, 2 * sizeof(int32_t));
    ADD(&b, b.g->initializer, b.g->n_initializer, t);
    set_int(&b, add_node(&b, b.g, "Cast", "w", "y"), "to", ELEM_I32);
    EXPECT(&b, "y", "3", WK_I32, k ? -1 : 15, k ? -8 : 8, 3);
  }
}

/* Bytes of bools are 0 or 1 once they are read. */
static void raw_bools(void **state) {
  (void)state;
  builder b = new_model(17);
  add_data(&b, "w", ELEM_BOOL, "4", (const uint8_t[]){2, 0, 255, 1}, 1);
  set_int(&b, add_node(&b, b.g, "Cast", "w", "y"), "to", ELEM_I32);
  EXPECT(&b, "y", "4", WK_I32, 1, 0, 1, 1);
}

/* A sparse initialiser is a constant, and the default of an input of its name. */
static void sparse_initialisers(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    builder b = sparse_model("2", (const int64_t[]){1, 5});
    Onnx__SparseTensorProto *s = b.g->node[0]->attribute[0]->sparse_tensor;
    b.g->n_node = 0;
    s->values->name = text(&b, "w");
    ADD(&b, b.g->sparse_initializer, b.g->n_sparse_initializer, s);
    if (k) add_input(&b, b.g, "w", ELEM_F32, "2 3");
    add_node(&b, b.g, "Neg", "w", "y");
    EXPECT(&b, "y", "2 3", WK_F32, -0.0, -5, -0.0, -0.0, -0.0, -6);
  }
  builder b = sparse_model("2", (const int64_t[]){1, 5});
  Onnx__SparseTensorProto *s = b.g->node[0]->attribute[0]->sparse_tensor;
  s->n_dims = WK_MAX_RANK + 1;
  s->dims = wk_arena_alloc(b.a, s->n_dims * sizeof *s->dims);
  expect_refusal(&b, "y", WK_UNSUPPORTED, "rank 9 exceeds 8");
}

/* Strings, by their numbers among the labels that they are. */
static void constant_texts(void **state) {
  (void)state;
  static const char *const words[] = {"ash", "oak", "elm"};
  for (int k = 0; k < 2; k++) {
    builder b = new_model(17);
    Onnx__NodeProto *n = add_node(&b, b.g, "Constant", "", "w");
    if (k == 0) set_text(&b, n, "value_string", "oak");
    else set_texts(&b, n, "value_strings", 3, words);
    n = machine_learning(&b, "LabelEncoder", "w", "y");
    set_texts(&b, n, "keys_strings", 2, words);
    set_ints(&b, n, "values_int64s", INTS(7, 8));
    if (k == 0) EXPECT(&b, "y", "", WK_I64, 8);
    else EXPECT(&b, "y", "3", WK_I64, 7, 8, -1);
  }
}

/* Constants of one value take next to no memory, however large they are. */
static void large_splats(void **state) {
  (void)state;
  enum { CONSTANTS = 3 };
  const int64_t n = (int64_t)1 << 28; /* 1 GiB each */
  builder b = new_model(13);
  struct rusage before, after;
  wk_module *m = NULL;
  ADD_I64(&b, "shape", "1", n);
  for (int i = 0; i < CONSTANTS; i++) {
    const float value = (float)i + 0.5f;
    Onnx__NodeProto *node = add_node(&b, b.g, "ConstantOfShape", "shape", i ? "y" : "x");
    if (i > 1) node->output[0] = text(&b, "z");
    attribute(&b, node, "value")->t =
        raw_tensor(&b, "", ELEM_F32, 1, (const int64_t[]){1}, &value, sizeof value);
    add_output(&b, b.g, node->output[0], ELEM_F32);
  }
  getrusage(RUSAGE_SELF, &before);
  wk_status s = import_model(&b, NULL, NULL, &m);
  if (s) wk_status_print(stderr, s);
  assert_null(s);
  for (int i = 0; i < CONSTANTS; i++) {
    const wk_value *v = wk_val(m->main, m->main->outputs.data[i]);
    const float *data = v->data;
    assert_non_null(data);
    for (int64_t k = 0; k < n; k += n / 8 - 1) assert_float_equal(data[k], i + 0.5, 0);
    assert_float_equal(data[n - 1], i + 0.5, 0);
  }
  getrusage(RUSAGE_SELF, &after);
  assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 64 << 10); /* KiB */
  wk_module_free(m);
}

/* ---- random numbers -------------------------------------------------------------------------- */

static void random_numbers(void **state) {
  (void)state;
  enum { N = 20000 };
  for (int like = 0; like < 2; like++) {
    builder b = new_model(13);
    ADD_I64(&b, "shape", "1", N);
    add_node(&b, b.g, "ConstantOfShape", "shape", "x");
    Onnx__NodeProto *n = add_node(&b, b.g, like ? "RandomNormalLike" : "RandomNormal",
                                  like ? "x" : "", "y");
    set_float(&b, n, "mean", 3);
    set_float(&b, n, "scale", 2);
    if (!like) set_ints(&b, n, "shape", INTS(N));
    wk_tensor y = output_of(&b, "y");
    double sum = 0, squares = 0;
    assert_int_equal(wk_type_count(&y.type), N);
    for (int i = 0; i < N; i++) {
      double v = (double)((float *)y.data)[i];
      sum += v;
      squares += v * v;
    }
    assert_float_equal(sum / N, 3, 0.1);
    assert_float_equal(sqrt(squares / N - sum / N * sum / N), 2, 0.1);
    wk_tensor_free(&y);
  }
}

static void multinomial(void **state) {
  (void)state;
  enum { N = 20000 };
  builder b = new_model(13);
  ADD_F32(&b, "x", "2 3", logf(0.7f), logf(0.2f), logf(0.1f), logf(0.1f), logf(0.1f), logf(0.8f));
  Onnx__NodeProto *n = add_node(&b, b.g, "Multinomial", "x", "y");
  set_int(&b, n, "sample_size", N);
  set_int(&b, n, "dtype", ELEM_I64);
  wk_tensor y = output_of(&b, "y");
  assert_int_equal(y.type.dtype, WK_I64);
  assert_int_equal(y.type.dims[0], 2);
  assert_int_equal(y.type.dims[1], N);
  static const double want[2][3] = {{0.7, 0.2, 0.1}, {0.1, 0.1, 0.8}};
  for (int row = 0; row < 2; row++) {
    int count[3] = {0};
    for (int i = 0; i < N; i++) count[((int64_t *)y.data)[row * N + i]]++;
    for (int k = 0; k < 3; k++) assert_float_equal((double)count[k] / N, want[row][k], 0.02);
  }
  wk_tensor_free(&y);
}

/* ---- optimisers ------------------------------------------------------------------------------ */

enum { ADAGRAD, ADAM, MOMENTUM, NESTEROV };
typedef struct { double x, g, v, h; } weight;

static const double rate = 0.25, alpha = 0.5, beta = 0.75, decay = 0.125, epsilon = 0.0625,
                    lambda = 0.25, post = 0.5;

/* The specification's formulas for one number. */
static void step_of(int kind, int64_t step, weight *w) {
  double g = w->g + lambda * w->x;
  if (kind == ADAGRAD) {
    w->h += g * g;
    w->x -= rate / (1 + decay * (double)step) * g / (sqrt(w->h) + epsilon);
  } else if (kind == ADAM) {
    double t = (double)step;
    w->v = alpha * w->v + (1 - alpha) * g;
    w->h = beta * w->h + (1 - beta) * g * g;
    double r = step ? rate * sqrt(1 - pow(beta, t)) / (1 - pow(alpha, t)) : rate;
    w->x = (1 - post) * (w->x - r * w->v / (sqrt(w->h) + epsilon));
  } else {
    w->v = alpha * w->v + (step ? beta : 1) * g;
    w->x -= rate * (kind == NESTEROV ? g + alpha * w->v : w->v);
  }
}

static builder optimiser(int kind, int64_t step, const weight *w) {
  static const char *const ops[] = {"Adagrad", "Adam", "Momentum", "Momentum"};
  builder b = new_model(17);
  add_opset(&b, "ai.onnx.preview.training", 1);
  ADD_F32(&b, "r", "", (float)rate);
  ADD_I64(&b, "t", "", step);
  for (int i = 0; i < 2; i++) { /* of one and of two numbers */
    ADD_F32(&b, i ? "x1" : "x0", i ? "2" : "1", (float)w[i].x, (float)w[2].x);
    ADD_F32(&b, i ? "g1" : "g0", i ? "2" : "1", (float)w[i].g, (float)w[2].g);
    ADD_F32(&b, i ? "v1" : "v0", i ? "2" : "1", (float)w[i].v, (float)w[2].v);
    ADD_F32(&b, i ? "h1" : "h0", i ? "2" : "1", (float)w[i].h, (float)w[2].h);
  }
  Onnx__NodeProto *n = add_node(&b, b.g, ops[kind],
                                kind == ADAGRAD ? "r t x0 x1 g0 g1 h0 h1"
                                : kind == ADAM  ? "r t x0 x1 g0 g1 v0 v1 h0 h1"
                                                : "r t x0 x1 g0 g1 v0 v1",
                                kind == ADAM ? "X0 X1 V0 V1 H0 H1"
                                             : kind == ADAGRAD ? "X0 X1 H0 H1" : "X0 X1 V0 V1");
  n->domain = text(&b, "ai.onnx.preview.training");
  set_float(&b, n, "norm_coefficient", (float)lambda);
  if (kind == ADAGRAD) set_float(&b, n, "decay_factor", (float)decay);
  if (kind != ADAGRAD) set_float(&b, n, "alpha", (float)alpha);
  if (kind != ADAGRAD) set_float(&b, n, "beta", (float)beta);
  if (kind <= ADAM) set_float(&b, n, "epsilon", (float)epsilon);
  if (kind == ADAM) set_float(&b, n, "norm_coefficient_post", (float)post);
  if (kind >= MOMENTUM) set_text(&b, n, "mode", kind == NESTEROV ? "nesterov" : "standard");
  return b;
}

static void optimisers(void **state) {
  (void)state;
  for (int kind = ADAGRAD; kind <= NESTEROV; kind++)
    for (int64_t step = 0; step < 4; step += 3) {
      const weight before[3] = {{1, 0.5, 2, 4}, {-2, 1.5, 0.5, 1}, {3, -0.25, -1, 9}};
      weight w[3];
      memcpy(w, before, sizeof w);
      for (int i = 0; i < 3; i++) step_of(kind, step, &w[i]);
      builder b = optimiser(kind, step, before);
      EXPECT(&b, "X0", "1", WK_F32, w[0].x);
      b = optimiser(kind, step, before);
      EXPECT(&b, "X1", "2", WK_F32, w[1].x, w[2].x);
      b = optimiser(kind, step, before);
      if (kind == ADAGRAD) EXPECT(&b, "H1", "2", WK_F32, w[1].h, w[2].h);
      else EXPECT(&b, "V1", "2", WK_F32, w[1].v, w[2].v);
      if (kind != ADAM) continue;
      b = optimiser(kind, step, before);
      EXPECT(&b, "H1", "2", WK_F32, w[1].h, w[2].h);
    }
}

/* ---- old forms, quantised products ----------------------------------------------------------- */

static void old_forms(void **state) {
  (void)state;
  builder b = new_model(1);
  ADD_F32(&b, "x", "5", 1, 2, 3, 4, 5);
  ADD_I64(&b, "parts", "2", 2, 3);
  set_int(&b, add_node(&b, b.g, "Split", "x parts", "p y"), "axis", 0);
  EXPECT(&b, "y", "3", WK_F32, 3, 4, 5);
  b = new_model(1);
  ADD_F32(&b, "x", "2 1", 1, 2);
  ADD_I64(&b, "tiles", "1", 3);
  ADD_I64(&b, "axis", "1", 1);
  add_node(&b, b.g, "Tile", "x tiles axis", "y");
  EXPECT(&b, "y", "2 3", WK_F32, 1, 1, 1, 2, 2, 2);
}

/* Types by their names, k as an attribute, an axis of one element. */
static void old_attributes(void **state) {
  (void)state;
  builder b = new_model(1);
  ADD_F32(&b, "x", "3", 1.75f, -2.5f, 3);
  set_text(&b, add_node(&b, b.g, "Cast", "x", "y"), "to", "INT64");
  EXPECT(&b, "y", "3", WK_I64, 1, -2, 3);
  b = new_model(1);
  ADD_F32(&b, "x", "4", 1, 4, 2, 3);
  set_int(&b, add_node(&b, b.g, "TopK", "x", "v y"), "k", 2);
  EXPECT(&b, "y", "2", WK_I64, 1, 3);
  b = new_model(6);
  ADD_F32(&b, "x", "2", 1, 4);
  set_int(&b, add_node(&b, b.g, "Dropout", "x", "z y"), "is_test", 1);
  EXPECT(&b, "y", "2", WK_F32, 1, 1);
}

/* What export writes where ONNX has no such operator: attributes by their names in ops.def. */
static void own_operator(void **state) {
  static const char *const functions[] = {"Relu"};
  (void)state;
  builder b = new_model(17);
  ADD_F32(&b, "x", "3 1 1", 1, -3, 0.5f);
  ADD_F32(&b, "w", "1 1 1", 1);
  ADD_F32(&b, "r", "1 1 1", 2);
  Onnx__NodeProto *n = add_node(&b, b.g, "rnn", "x w r", "y");
  n->domain = text(&b, "wick");
  add_opset(&b, "wick", 1);
  set_texts(&b, n, "activations", 1, functions);
  EXPECT(&b, "y", "3 1 1 1", WK_F32, 1, 0, 0.5);
}

/* Vectors of bytes, as sums of products. */
static void integer_vectors(void **state) {
  (void)state;
  builder b = new_model(17);
  ADD_U8(&b, "a", "2", 5, 200);
  ADD_U8(&b, "b", "2 2", 3, 4, 5, 6);
  ADD_U8(&b, "za", "", 1);
  add_node(&b, b.g, "MatMulInteger", "a b za", "y");
  EXPECT(&b, "y", "2", WK_I32, 4 * 3 + 199 * 5, 4 * 4 + 199 * 6);
}

/* What is not a float is compared with the threshold's floor. */
static void binarizer(void **state) {
  (void)state;
  builder b = new_model(17);
  ADD_I64(&b, "x", "4", -2, -1, 0, 1);
  set_float(&b, machine_learning(&b, "Binarizer", "x", "y"), "threshold", -0.5f);
  EXPECT(&b, "y", "4", WK_I64, 0, 0, 1, 1);
}

/* Of u64, numbers of 2^63 and more are above all others. */
static void unique_words(void **state) {
  (void)state;
  builder b = new_model(17);
  add_data(&b, "x", ELEM_U64, "4", (const uint64_t[]){1ull << 63, 5, UINT64_MAX, 5}, 8);
  add_node(&b, b.g, "Unique", "x", "- y");
  EXPECT(&b, "y", "3", WK_I64, 1, 0, 2);
}

/* One element along the axis: itself, or 1. */
static void product_of_one(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    builder b = new_model(26);
    ADD_F32(&b, "x", "2 1", 3, -4);
    ADD_I64(&b, "axis", "", 1);
    set_int(&b, add_node(&b, b.g, "CumProd", "x axis", "y"), "exclusive", k);
    EXPECT(&b, "y", "2 1", WK_F32, k ? 1 : 3, k ? 1 : -4);
  }
}

/* alpha * (a - 1) (b - 2) * 0.5 * 0.25 + bias in the same unit, with and without a scale of y. */
static void quantised_gemm(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    builder b = new_model(17);
    ADD_U8(&b, "a", "2 1", 5, 9); /* transposed: 1 x 2, real 4 8 */
    ADD_U8(&b, "b", "2 2", 3, 4, 5, 6); /* real 1 2, 3 4 */
    ADD_U8(&b, "za", "", 1);
    ADD_U8(&b, "zb", "", 2);
    ADD_U8(&b, "zy", "", 10);
    ADD_F32(&b, "sa", "", 0.5f);
    ADD_F32(&b, "sb", "", 0.25f);
    ADD_F32(&b, "sy", "", 0.5f);
    add_data(&b, "bias", ELEM_I32, "2", (const int32_t[]){4, -8}, 4);
    Onnx__NodeProto *n = microsoft(&b, "QGemm", k ? "a sa za b sb zb bias sy zy"
                                                  : "a sa za b sb zb bias", "y");
    set_int(&b, n, "transA", 1);
    set_float(&b, n, "alpha", 2);
    /* sums 28 and 40, with bias 32 and 32, times 2 * 0.125 */
    if (k) EXPECT(&b, "y", "1 2", WK_U8, 26, 26);
    else EXPECT(&b, "y", "1 2", WK_F32, 8, 8);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(center_crop_pad),  cmocka_unit_test(lp_pool),
      cmocka_unit_test(resizing),         cmocka_unit_test(normalisation),
      cmocka_unit_test(activations),      cmocka_unit_test(sequences),
      cmocka_unit_test(sequence_maps),    cmocka_unit_test(optionals),
      cmocka_unit_test(constant_nodes),   cmocka_unit_test(sparse_constants),
      cmocka_unit_test(typed_data),       cmocka_unit_test(random_numbers),
      cmocka_unit_test(multinomial),      cmocka_unit_test(old_forms),
      cmocka_unit_test(quantised_gemm),   cmocka_unit_test(optimisers),
      cmocka_unit_test(packed_data),      cmocka_unit_test(raw_bools),
      cmocka_unit_test(constant_texts),   cmocka_unit_test(sparse_initialisers),
      cmocka_unit_test(old_attributes),   cmocka_unit_test(binarizer),
      cmocka_unit_test(integer_vectors),  cmocka_unit_test(own_operator),
      cmocka_unit_test(unique_words),     cmocka_unit_test(product_of_one),
      cmocka_unit_test(large_splats)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
