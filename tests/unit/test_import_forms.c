/* SPDX-License-Identifier: Apache-2.0
 * Optimisers, old and rare forms of operators: one node on constants each, with results worked out
 * by hand from the operator's definition. */
#include "tests/hostile/model_text.h"
#include "tests/unit/import_node.h"

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

/* What an expression of such an operator reads: all inputs; before and after a fold; the sum of a
 * product and what comes behind its bias, there or not. WK_DTYPE_NONE: there is no such operand. */
static const struct {
  const char *model;
  wk_dtype type;
  double want[2];
} expressions[] = {
#define X "init x i8[2]={-100,100}; init z i16[2]={1000,-7}; "
#define M "init x u8[2,3]={200,100,50,1,2,3}; init w i16[3]={1000,1,-1}; "
    {X "wick.map x,z -> y {body=\"i32(%0)\"}; out y", WK_I32, {-100, 100}},
    {X "wick.map x,z -> y {body=\"add(i16(%0), %1)\"}; out y", WK_I16, {900, 93}},
    {X "wick.map x,z -> y {body=\"%2\"}; out y", WK_DTYPE_NONE, {0}},
    {M "wick.reduce x -> y {axes=[1] keepdims=0}; out y", WK_U8, {94, 6}},
    {M "wick.reduce x -> y {axes=[1] keepdims=0 post=\"i16(%0)\"}; out y", WK_I16, {94, 6}},
    {M "wick.reduce x -> y {axes=[1] keepdims=0 pre=\"i32(%0)\" post=\"sub(%0, 1i32)\"}; out y",
     WK_I32, {349, 5}},
    {M "wick.reduce x,w -> y {axes=[1] keepdims=0 pre=\"mul(i32(%0), i32(%1))\" "
       "post=\"f32(%0)\"}; out y", WK_F32, {200050, 999}},
    {M "wick.reduce x,w -> y {axes=[1] keepdims=0 pre=\"mul(i32(%0), i32(%1))\" "
       "post=\"i32(%1)\"}; out y", WK_DTYPE_NONE, {0}},
    {M "wick.reduce x -> y {axes=[1] keepdims=0 kind=\"argmax\" post=\"add(%0, 5i64)\"}; out y",
     WK_I64, {5, 7}},
#undef M
#define M "init a u8[2,2]={200,100,1,2}; init b i8[2,1]={100,-1}; init c i32[1]={9}; " \
  "init r i16[2,1]={-1,1}; init q f32[1]={0.5}; "
    {M "wick.matmul a,b -> y {epilogue=\"sub(%0, 1i32)\"}; out y", WK_I32, {19899, 97}},
    {M "wick.matmul a,b,c -> y {epilogue=\"sub(%0, 1i32)\"}; out y", WK_I32, {19908, 106}},
    {M "wick.matmul a,b,c,r,q -> y {epilogue=\"mul(f32(add(%0, i32(%1))), %2)\"}; out y", WK_F32,
     {9954, 54}},
    {M "wick.matmul a,b,_,r,q -> y {epilogue=\"mul(f32(add(%0, i32(%1))), %2)\"}; out y", WK_F32,
     {9949.5, 49.5}},
    {M "wick.matmul a,b,c,r -> y {epilogue=\"add(%0, i32(%2))\"}; out y", WK_DTYPE_NONE, {0}},
    {M "wick.matmul a,b,c -> y {epilogue=\"add(%0, i32(%1))\"}; out y", WK_DTYPE_NONE, {0}},
#undef M
#undef X
};

static void own_expressions(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(expressions); i++) {
    wk_str model = {0};
    wk_module *m = NULL;
    wk_tensor y;
    model_text(expressions[i].model, &model);
    wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
    bool is_refused = expressions[i].type == WK_DTYPE_NONE;
    if (!!s != is_refused) fail_msg("%s: %s", expressions[i].model, s ? s->message : "taken");
    if (is_refused && (s->code != WK_INPUT || !strstr(s->message, ": there is no input %")))
      fail_msg("%s: %s", expressions[i].model, s->message);
    wk_str_free(&model);
    wk_status_free(s);
    if (is_refused) continue;
    assert_null(wk_eval_graph(m->main, NULL, &y, NULL, NULL));
    assert_int_equal(y.type.dtype, expressions[i].type);
    assert_int_equal(wk_type_count(&y.type), 2);
    for (int k = 0; k < 2; k++)
      assert_true(wk_load_f64(y.data, y.type.dtype, k) == expressions[i].want[k]);
    wk_tensor_free(&y);
    wk_module_free(m);
  }
}

/* Bytes of vectors and matrices, with and without zero points, one for all or a list of them: for
 * each row of a and each column of b. */
static void integer_product(int ra, int rb, int zeros, bool is_list) {
  static const uint8_t a[] = {5, 200, 7, 0, 255, 31, 9, 90, 14, 77, 3, 128},
                       b[] = {3, 4, 5, 6, 250, 17, 99, 1, 0, 64, 255, 8},
                       za[] = {11, 99}, zb[] = {6, 130};
  static const char *const dims[][3] = {{"3", "2 3", "2 2 3"}, {"3", "3 2", "2 3 2"}};
  static const char *const inputs[] = {"a b", "a b za", "a b - zb", "a b za zb"};
  int batch = ra == 3 || rb == 3 ? 2 : 1, rows = ra == 1 ? 1 : 2, columns = rb == 1 ? 1 : 2;
  double want[8];
  for (int i = 0; i < batch * rows * columns; i++) {
    int n = i / (rows * columns), row = i / columns % rows, column = i % columns;
    want[i] = 0;
    for (int k = 0; k < 3; k++) {
      int x = a[(ra == 3 ? n * 6 : 0) + row * 3 + k] - (zeros & 1 ? za[is_list * row] : 0);
      int y = b[(rb == 3 ? n * 6 : 0) + k * columns + column];
      want[i] += x * (y - (zeros & 2 ? zb[is_list * column] : 0));
    }
  }
  builder m = new_model(17);
  add_data(&m, "a", ELEM_U8, dims[0][ra - 1], a, 1);
  add_data(&m, "b", ELEM_U8, dims[1][rb - 1], b, 1);
  add_data(&m, "za", ELEM_U8, !is_list ? "" : rows > 1 ? "2" : "1", za, 1);
  add_data(&m, "zb", ELEM_U8, !is_list ? "" : columns > 1 ? "2" : "1", zb, 1);
  add_node(&m, m.g, "MatMulInteger", inputs[zeros], "y");
  wk_tensor got = output_of(&m, "y");
  int rank = (batch > 1) + (ra > 1) + (rb > 1), sizes[] = {batch, rows, columns}, at = 0;
  assert_int_equal(got.type.rank, rank);
  for (int k = 0; k < 3; k++)
    if (k == 0 ? batch > 1 : k == 1 ? ra > 1 : rb > 1)
      assert_int_equal(got.type.dims[at++], sizes[k]);
  for (int i = 0; i < batch * rows * columns; i++)
    if (wk_load_f64(got.data, WK_I32, i) != want[i])
      fail_msg("ranks %d and %d, zero points %d: %g, not %g", ra, rb, zeros,
               wk_load_f64(got.data, WK_I32, i), want[i]);
  wk_tensor_free(&got);
}

static void integer_products(void **state) {
  (void)state;
  for (int ra = 1; ra <= 3; ra++)
    for (int rb = 1; rb <= 3; rb++)
      for (int zeros = 0; zeros < 4; zeros++)
        for (int is_list = 0; is_list < 2; is_list++) integer_product(ra, rb, zeros, is_list);
}

/* Of n-grams of one number and of two, in 5 7 5 7: those of a length that counts. */
static void lengths_of_grams(void **state) {
  (void)state;
  for (int least = 1; least <= 2; least++)
    for (int most = least; most <= 2; most++) {
      builder b = new_model(17);
      ADD_I64(&b, "x", "4", 5, 7, 5, 7);
      Onnx__NodeProto *n = add_node(&b, b.g, "TfIdfVectorizer", "x", "y");
      set_text(&b, n, "mode", "TF");
      set_int(&b, n, "min_gram_length", least);
      set_int(&b, n, "max_gram_length", most);
      set_int(&b, n, "max_skip_count", 0);
      set_ints(&b, n, "ngram_counts", INTS(0, 2));
      set_ints(&b, n, "ngram_indexes", INTS(0, 1, 2));
      set_ints(&b, n, "pool_int64s", INTS(5, 9, 5, 7));
      EXPECT(&b, "y", "3", WK_F32, least == 1 ? 2 : 0, 0, most == 2 ? 2 : 0);
    }
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

/* What bodies take from outside is one input of each, by whatever names they do. */
static void captures(void **state) {
  (void)state;
  wk_str model = {0};
  wk_module *m = NULL;
  model_text("in c bool[]; in p f32[2]; in q f32[2]; Identity p -> r; If c -> y "
             "{then_branch=(Add p,q -> a; Mul r,a -> b; Sub q,b -> d; out d) "
             "else_branch=(Mul q,q -> d; out d)}; out y",
             &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
  if (s) fail_msg("%s", s->message);
  assert_int_equal(m->graphs.n, 3);
  for (int k = 1; k < 3; k++) assert_int_equal(m->graphs.data[k]->inputs.n, 2);
  wk_module_free(m);
  wk_str_free(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(optimisers),
      cmocka_unit_test(captures),
      cmocka_unit_test(old_forms),
      cmocka_unit_test(old_attributes),
      cmocka_unit_test(own_operator),
      cmocka_unit_test(own_expressions),
      cmocka_unit_test(integer_products),
      cmocka_unit_test(lengths_of_grams),
      cmocka_unit_test(binarizer),
      cmocka_unit_test(unique_words),
      cmocka_unit_test(product_of_one),
      cmocka_unit_test(quantised_gemm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
