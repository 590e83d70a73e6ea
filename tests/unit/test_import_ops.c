/* SPDX-License-Identifier: Apache-2.0
 * Operators that the recorded tests of the ONNX suites do not have: one node on constants each,
 * with results worked out by hand from the operator's definition. */
#include <sys/resource.h>

#include "tests/unit/import_node.h"

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
  for (int k = 0; k < 2; k++) {
    b = new_model(17);
    ADD_F32(&b, "x", "2 2", 3, 4, 6, -8);
    ADD_F32(&b, "scale", "2", 1, 2);
    set_float(&b, add_node(&b, b.g, "SimplifiedLayerNormalization", "x scale", "y factor"),
              "epsilon", 0.5f);
    if (k) EXPECT(&b, "factor", "2 1", WK_F32, 1 / sqrt(13), 1 / sqrt(50.5));
    else EXPECT(&b, "y", "2 2", WK_F32, 3 / sqrt(13), 8 / sqrt(13), 6 / sqrt(50.5),
                -16 / sqrt(50.5));
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

/* Three constants of 1 GiB in a file with so many bytes besides. */
static void splats_of(size_t padding) {
  enum { CONSTANTS = 3 };
  const int64_t n = (int64_t)1 << 28; /* 1 GiB each */
  builder b = new_model(13);
  struct rusage before, after;
  wk_module *m = NULL;
  ADD_I64(&b, "shape", "1", n);
  char *doc = wk_arena_alloc(b.a, padding + 1);
  memset(doc, 'x', padding);
  b.model.doc_string = doc;
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
    assert_int_equal(data != NULL, padding > 0);
    if (!data) continue;
    for (int64_t k = 0; k < n; k += n / 8 - 1) assert_float_equal(data[k], i + 0.5, 0);
    assert_float_equal(data[n - 1], i + 0.5, 0);
  }
  getrusage(RUSAGE_SELF, &after);
  assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 64 << 10); /* KiB */
  wk_module_free(m);
}

/* Constants of one value take next to no memory, however large they are; a small file has them
 * computed at run time, as it could have any number of packages of gigabytes written. */
static void large_splats(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) splats_of(k ? 24 << 10 : 0);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(center_crop_pad),
      cmocka_unit_test(lp_pool),
      cmocka_unit_test(resizing),
      cmocka_unit_test(normalisation),
      cmocka_unit_test(activations),
      cmocka_unit_test(sequences),
      cmocka_unit_test(sequence_maps),
      cmocka_unit_test(optionals),
      cmocka_unit_test(constant_nodes),
      cmocka_unit_test(sparse_constants),
      cmocka_unit_test(typed_data),
      cmocka_unit_test(random_numbers),
      cmocka_unit_test(multinomial),
      cmocka_unit_test(packed_data),
      cmocka_unit_test(raw_bools),
      cmocka_unit_test(constant_texts),
      cmocka_unit_test(sparse_initialisers),
      cmocka_unit_test(large_splats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
