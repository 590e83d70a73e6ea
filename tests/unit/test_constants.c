/* SPDX-License-Identifier: Apache-2.0
 * What is not trained by itself: operands of ONNX's operators, contents, uses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compiler/train/step.h"
#include "tests/unit/model_builder.h"

static const char *constant(const wk_import_report *r, const char *name) {
  for (size_t i = 0; i < r->weights.n; i++)
    if (!strcmp(r->weights.data[i].name, name))
      return r->weights.data[i].constant ? r->weights.data[i].constant : "";
  return "none";
}

/* ---- operands -------------------------------------------------------------------------------- */

static const struct { const char *domain, *op; } rows[] = {
#define UNTRAINED(domain, op, input, each, what) {domain, op},
#define UNTRAINED_NUMBER(domain, op, input, each, what) {domain, op},
#include "compiler/onnx/import/untrained.def"
};

/* Every operator of the table is one that can be imported. */
static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    bool found = false;
    for (size_t k = 0; k < wk_onnx_op_count() && !found; k++) {
      const wk_onnx_op op = wk_onnx_op_get(k);
      found = !strcmp(op.domain, rows[i].domain) && !strcmp(op.name, rows[i].op);
    }
    if (!found) fail_msg("%s.%s", rows[i].domain, rows[i].op);
  }
}

static void add_f32(builder *b, Onnx__GraphProto *g, const char *name, int rank,
                    const int64_t *dims, const float *v) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  ADD(b, g->initializer, g->n_initializer,
      raw_tensor(b, name, ELEM_F32, rank, dims, v, (size_t)n * sizeof *v));
}

static const float some[16] = {0.3f, 1.7f, -0.4f, 0.9f, 2.1f, -1.3f, 0.2f, 0.8f,
                               1.1f, -0.6f, 0.5f, 1.9f, -2.2f, 0.1f, 0.7f, 1.3f};

/* A loss of x w with class weights, which some nodes make of the initialiser c. */
static void check_loss(const char *op, const char *const nodes[][3], const char *classes,
                       const char *want) {
  static const int64_t four[2] = {4, 4};
  builder b = new_model(17);
  wk_import_report r;
  add_f32(&b, b.g, "w", 2, four, some);
  add_f32(&b, b.g, "c", 1, four, some);
  add_input(&b, b.g, "x", ELEM_F32, "8 4");
  add_input(&b, b.g, "t", ELEM_I64, "8");
  add_node(&b, b.g, "MatMul", "x w", "h");
  for (int i = 0; nodes[i][0]; i++) add_node(&b, b.g, nodes[i][0], nodes[i][1], nodes[i][2]);
  char in[64];
  snprintf(in, sizeof in, "h t %s", classes);
  add_node(&b, b.g, op, in, "y");
  add_output(&b, b.g, "y", ELEM_F32);
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  wk_weight_names names = {0};
  wk_step_weights(m, &r, &names);
  assert_string_equal(constant(&r, "c"), want);
  assert_string_equal(constant(&r, "w"), "");
  assert_int_equal(names.n, *want ? 1 : 2);
  wk_vec_free(&names);
  wk_import_report_free(&r);
  wk_module_free(m);
}

static void test_operands(void **state) {
  (void)state;
  static const char *const as_is[][3] = {{NULL}};
  static const char *const moved[][3] = {{"Identity", "c", "d"}, {"Flatten", "d", "e"},
                                         {"Squeeze", "e", "k"}, {NULL}};
  static const char *const scaled[][3] = {{"ReduceSum", "c", "s"}, {"Div", "c s", "k"}, {NULL}};
  check_loss("SoftmaxCrossEntropyLoss", as_is, "c", "class weights");
  check_loss("NegativeLogLikelihoodLoss", as_is, "c", "class weights");
  check_loss("SoftmaxCrossEntropyLoss", moved, "k", "class weights");
  check_loss("SoftmaxCrossEntropyLoss", scaled, "k", "class weights");
}

/* Within a branch that is handed the initialiser. */
static void test_bodies(void **state) {
  (void)state;
  static const int64_t dims[2] = {4, 4};
  builder b = new_model(17);
  wk_import_report r;
  add_f32(&b, b.g, "w", 2, dims, some);
  add_f32(&b, b.g, "c", 1, dims, some);
  add_input(&b, b.g, "x", ELEM_F32, "8 4");
  add_input(&b, b.g, "t", ELEM_I64, "8");
  add_input(&b, b.g, "f", ELEM_BOOL, "");
  add_node(&b, b.g, "MatMul", "x w", "h");
  Onnx__GraphProto *yes = new_graph(&b, "yes"), *no = new_graph(&b, "no");
  add_node(&b, yes, "SoftmaxCrossEntropyLoss", "h t c", "p");
  add_output(&b, yes, "p", ELEM_F32);
  add_node(&b, no, "SoftmaxCrossEntropyLoss", "h t", "q");
  add_output(&b, no, "q", ELEM_F32);
  Onnx__NodeProto *n = add_node(&b, b.g, "If", "f", "y");
  set_graph(&b, n, "then_branch", yes);
  set_graph(&b, n, "else_branch", no);
  add_output(&b, b.g, "y", ELEM_F32);
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  assert_string_equal(constant(&r, "c"), "class weights");
  assert_string_equal(constant(&r, "w"), "");
  wk_import_report_free(&r);
  wk_module_free(m);
}

/* What an operator of attention adds to its scores is a bias that is learned, or a mask. */
static void check_bias(const char *domain, const char *op, const char *in, const float *values,
                       const char *want) {
  static const int64_t dims[4] = {1, 1, 4, 4};
  builder b = new_model(23);
  if (*domain) add_opset(&b, domain, 1);
  wk_import_report r;
  add_f32(&b, b.g, "c", 4, dims, values);
  add_input(&b, b.g, "x", ELEM_F32, !strcmp(op, "MultiHeadAttention") ? "1 4 8" : "1 1 4 4");
  Onnx__NodeProto *n = add_node(&b, b.g, op, in, "y");
  n->domain = text(&b, domain);
  if (!strcmp(op, "MultiHeadAttention")) set_int(&b, n, "num_heads", 2);
  if (!strcmp(op, "BiasSoftmax")) set_int(&b, n, "axis", 3);
  if (!strcmp(op, "BiasSoftmax")) set_int(&b, n, "is_inner_broadcast", 0);
  add_output(&b, b.g, "y", ELEM_F32);
  wk_module *m = import_for(&b, WK_FOR_TRAINING, &r);
  wk_weight_names names = {0};
  wk_step_weights(m, &r, &names);
  assert_string_equal(constant(&r, "c"), want);
  wk_vec_free(&names);
  wk_import_report_free(&r);
  wk_module_free(m);
}

static void test_biases(void **state) {
  (void)state;
  static const float far[16] = {0, -1e4f, -1e4f, -1e4f, 0, 0, -1e4f, -1e4f,
                                0, 0, 0, -1e4f, 0, 0, 0, 0};
  static const struct { const char *domain, *op, *in; } ops[] = {
      {"", "Attention", "x x x c"},
      {"com.microsoft", "MultiHeadAttention", "x x x - - c"},
      {"com.microsoft", "BiasSoftmax", "x c"}};
  for (size_t i = 0; i < WK_COUNTOF(ops); i++) {
    check_bias(ops[i].domain, ops[i].op, ops[i].in, some, "");
    check_bias(ops[i].domain, ops[i].op, ops[i].in, far, "a mask");
  }
}

/* ---- contents and uses ----------------------------------------------------------------------- */

/* The constants of a graph, all of them weights; what c is. */
static void check_graph(const char *body, const char *want) {
  char text[2048];
  wk_module *m = NULL;
  wk_import_report r = {.arena = wk_arena_new()};
  wk_weight_names names = {0};
  snprintf(text, sizeof text, "module \"m\" {\n  graph @main(%s\n  }\n}\n", body);
  wk_status s = wk_module_parse(text, "m", &m);
  if (s) fail_msg("%s: %s", text, s->message);
  for (size_t i = 0; i < m->main->values.n; i++) {
    const wk_value *v = &m->main->values.data[i];
    if (v->kind == WK_VALUE_CONSTANT)
      wk_vec_push(&r.weights, ((wk_import_weight){.name = v->name, .type = v->type}));
  }
  wk_step_weights(m, &r, &names);
  if (strcmp(constant(&r, "c"), want))
    fail_msg("%s\nis '%s', not '%s'", body, constant(&r, "c"), want);
  wk_vec_free(&names);
  wk_import_report_free(&r);
  wk_module_free(m);
}

#define ADDED(type, contents)                                                                    \
  "%x: f32[3,4]) {\n%c = constant " type " {" contents "}\n%h = tanh(%x)\n%y = add(%h, %c)\n"      \
  "output %y"
#define SINES "0, 0.84147, 0.9093, 0.14112, -0.7568, -0.95892, -0.27942, 0.65699"
#define COSINES "1, 0.5403, -0.41615, -0.98999, -0.65364, 0.28366, 0.96017, 0.7539"

static void test_contents(void **state) {
  (void)state;
  check_graph(ADDED("f32[4]", "0, 1, inf, 2"), "not finite");
  check_graph(ADDED("f32[4]", "0, -inf, 0, -inf"), "not finite");
  check_graph(ADDED("f32[4]", "0, 1, nan, 2"), "not finite");
  check_graph(ADDED("f32[4]", "0, -10000, 0, -10000"), "a mask");
  check_graph(ADDED("f32[4]", "0, -3.4e38, 0, 0"), "a mask");
  check_graph(ADDED("f32[1]", "-10000"), "a mask");
  check_graph(ADDED("f32[4]", "0, -100, -10000, 0"), "a mask");
  check_graph(ADDED("f32[4]", "-1000, -1001, -1002, -1003"), "");
  check_graph(ADDED("f32[4]", "0, -0.5, 0, -0.5"), "");
  check_graph(ADDED("f32[4]", "0, -200, 1, -200"), "");
  check_graph(ADDED("f32[4]", "0, 0, 0, 0"), "");
  check_graph(ADDED("f32[4]", "1, 1, 1, 1"), "");
  check_graph(ADDED("f32[3,4]", "1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0"), "a mask");
  check_graph(ADDED("f32[3,4]", "1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0"), "");
  /* sines and cosines by turns, half and half, in two tables */
  check_graph("%x: f32[4,4]) {\n%c = constant f32[4,4] {0, 1, 0.84147, 0.5403, 0.9093, -0.41615, "
              "0.14112, -0.98999, -0.7568, -0.65364, -0.95892, 0.28366, -0.27942, 0.96017, 0.65699,"
              " 0.7539}\n%y = add(%x, %c)\noutput %y", "a table of sines");
  check_graph("%x: f32[16]) {\n%c = constant f32[16] {" SINES ", " COSINES "}\n%y = add(%x, %c)\n"
              "output %y", "a table of sines");
  check_graph("%x: f32[8]) {\n%c = constant f32[8] {" COSINES "}\n"
              "%s = constant f32[8] {" SINES "}\n%n = neg(%x)\n%a = mul(%x, %c)\n"
              "%b = mul(%n, %s)\n%y = add(%a, %b)\noutput %y", "a table of sines");
  /* a row for padding, a column that fills up */
  check_graph("%x: f32[5,4]) {\n%c = constant f32[5,4] {0, 0, 0, 0, 0, 1, 0.84147, 0.5403, "
              "0.9093, -0.41615, 0.14112, -0.98999, -0.7568, -0.65364, -0.95892, 0.28366, "
              "-0.27942, 0.96017, 0.65699, 0.7539}\n%y = add(%x, %c)\noutput %y",
              "a table of sines");
  check_graph("%x: f32[3,5]) {\n%c = constant f32[3,5] {0, 0.84147, 1, 0.5403, 0, 0.9093, 0.14112, "
              "-0.41615, -0.98999, 0, -0.7568, -0.95892, -0.65364, 0.28366, 0}\n%y = add(%x, %c)\n"
              "output %y", "a table of sines");
  check_graph("%x: f32[3,6]) {\n%c = constant f32[3,6] {0, 0.84147, 0.3, 1, 0.5403, 0, 0.9093, "
              "0.14112, 0.5, -0.41615, -0.98999, 0, -0.7568, -0.95892, 0.7, -0.65364, 0.28366, 0}\n"
              "%y = add(%x, %c)\noutput %y", "a table of sines");
  check_graph("%x: f32[5,4]) {\n%c = constant f32[5,4] {0, 0, 0, 0, 0, 1, 0.84147, 0.7403, "
              "0.9093, -0.41615, 0.14112, -0.98999, -0.7568, -0.65364, -0.95892, 0.28366, "
              "-0.27942, 0.96017, 0.65699, 0.7539}\n%y = add(%x, %c)\noutput %y", "");
  check_graph("%x: f32[3,4]) {\n%c = constant f32[3,4] {0, 0, 0, 0, 0, 0, 0, 0, 0.3, 0.2, 0.1, "
              "0.5}\n%y = add(%x, %c)\noutput %y", "");
  /* blocks on the diagonal */
  check_graph("%x: f32[4,4]) {\n%c = constant f32[4,4] {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, "
              "1, 1}\n%y = add(%x, %c)\noutput %y", "");
  check_graph("%x: f32[4]) {\n%c = constant f32[4] {1, 1, 1, 1}\n%s = constant f32[4] {0, 0, 0, 0}"
              "\n%h = tanh(%x)\n%a = mul(%h, %c)\n%y = add(%a, %s)\noutput %y", "");
}

#define NORMAL "normalisation of an input"

static void test_uses(void **state) {
  (void)state;
  check_graph("%x: f32[3,4]) {\n%c = constant f32[4] {1, 2, 3, 4}\n%y = sub(%x, %c)\noutput %y",
              NORMAL);
  check_graph("%x: f32[3,4]) {\n%c = constant f32[4] {1, 2, 3, 4}\n%h = tanh(%x)\n"
              "%y = sub(%h, %c)\noutput %y", "");
  check_graph("%x: f32[3,4]) {\n%m = constant f32[4] {1, 2, 3, 4}\n%c = constant f32[4] "
              "{1, 2, 3, 5}\n%a = sub(%x, %m)\n%y = mul(%c, %a)\noutput %y", NORMAL);
  check_graph("%x: f32[3,4]) {\n%c = constant f32[4] {1, 2, 3, 4}\n%y = mul(%x, %c)\noutput %y",
              "");
  check_graph("%x: u8[3,4]) {\n%c = constant f32[1] {0.004}\n%f = cast(%x) {to=f32}\n"
              "%y = mul(%f, %c)\noutput %y", NORMAL);
  check_graph("%x: f32[2,3,4]) {\n%c = constant f32[1,3,1] {1, 2, 3}\n%k = constant f32[1,3,1] "
              "{4, 5, 6}\n%a = mul(%x, %c)\n%y = conv(%a, %k) {strides=[1], pads=[0,0], "
              "dilations=[1]}\noutput %y", NORMAL);
  check_graph("%x: f32[3,4]) {\n%c = constant f32[5,1,4] splat(0.5)\n%y = sub(%x, %c)\noutput %y",
              ""); /* centres, not means */
  check_graph("%x: f32[3,4], %p: f32[3,1]) {\n%c = constant f32[1,4] {1, 0.1, 0.01, 0.001}\n"
              "%a = mul(%p, %c)\n%s = sin(%a)\n%o = cos(%a)\n%t = mul(%x, %s)\n%u = mul(%x, %o)\n"
              "%y = add(%t, %u)\noutput %y", "frequencies");
  check_graph("%x: f32[3,4]) {\n%c = constant f32[1,4] {1, 0.1, 0.01, 0.001}\n%a = mul(%x, %c)\n"
              "%y = sin(%a)\noutput %y", "");
}

#define FOUR "constant f32[4] {1, 2, 3, 4}"
#define BEFORE_MATRIX(input, lines)                                                              \
  "%x: " input ") {\n%w = constant f32[4,2] splat(0.5)\n" lines                                  \
  "%y = matmul(%b, %w)\noutput %y"

/* What inputs are normalised with by more than one chain. */
static void test_normalisations(void **state) {
  (void)state;
  check_graph("%x: f32[1,2,4,4]) {\n%c = constant f32[2,1,1] {1, 2}\n%r = avg_pool(%x) "
              "{kernel=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1], "
              "real_pads=[0,0,0,0]}\n%y = sub(%r, %c)\noutput %y", NORMAL);
  check_graph("%x: f32[1,2,4]) {\n%c = constant f32[1] {1}\n%p, %q = split(%x) {axis=1, "
              "sizes=[1,1]}\n%y = sub(%q, %c)\noutput %y", NORMAL);
  check_graph("%x: f32[1,2,4]) {\n%c = constant f32[1] {3}\n%k = constant f32[1] {1}\n"
              "%p, %q = split(%x) {axis=1, sizes=[1,1]}\n%s = sub(%p, %k)\n%t = sub(%q, %k)\n"
              "%j = concat(%s, %t) {axis=1}\n%y = mul(%j, %c)\noutput %y", NORMAL);
  check_graph("%x: f32[1,2,4], %z: f32[1,2,4]) {\n%c = constant f32[1] {3}\n"
              "%k = constant f32[1] {1}\n%s = sub(%x, %k)\n%t = tanh(%z)\n"
              "%j = concat(%s, %t) {axis=1}\n%y = mul(%j, %c)\noutput %y", "");
  /* of the deviation, and of the variance */
  check_graph("%x: f32[3,4]) {\n%c = " FOUR "\n%m = constant f32[4] {1, 2, 3, 5}\n"
              "%i = reciprocal(%c)\n%a = sub(%x, %m)\n%y = mul(%a, %i)\noutput %y", NORMAL);
  check_graph("%x: f32[3,4]) {\n%c = " FOUR "\n%e = constant f32[] {0.001}\n%v = add(%c, %e)\n"
              "%s = sqrt(%v)\n%y = div(%x, %s)\noutput %y", NORMAL);
  check_graph("%x: f32[3,4]) {\n%c = " FOUR "\n%s = exp(%c)\n%y = div(%x, %s)\noutput %y", "");
  check_graph("%x: f32[3,4], %i: i64[3]) {\n%c = constant f32[9,4] splat(0.5)\n"
              "%s = gather(%c, %i) {axis=0}\n%y = sub(%x, %s)\noutput %y", "");
  /* a factor and an offset, or one of them */
  check_graph(BEFORE_MATRIX("f32[3,4]", "%c = " FOUR "\n%k = " FOUR "\n%a = mul(%x, %c)\n"
                                        "%b = add(%a, %k)\n"), NORMAL);
  check_graph(BEFORE_MATRIX("f32[3,4]", "%c = " FOUR "\n%k = " FOUR "\n%a = mul(%x, %k)\n"
                                        "%b = add(%a, %c)\n"), NORMAL);
  check_graph(BEFORE_MATRIX("f32[3,4]", "%c = " FOUR "\n%b = mul(%x, %c)\n"), "");
  check_graph(BEFORE_MATRIX("f32[3,4]", "%c = " FOUR "\n%k = " FOUR "\n%a = mul(%x, %c)\n"
                                        "%d = add(%a, %k)\n%b = tanh(%d)\n"), "");
  check_graph(BEFORE_MATRIX("f32[3,4]", "%c = " FOUR "\n%b = add(%x, %c)\n"), "");
  check_graph("%x: f32[3,4]) {\n%c = " FOUR "\n%k = " FOUR "\n%a = add(%x, %c)\n"
              "%y = div(%a, %k)\noutput %y", NORMAL);
  check_graph("%x: f32[3,4]) {\n%c = " FOUR "\n%k = constant f32[1] {2}\n%a = add(%x, %c)\n"
              "%y = div(%a, %k)\noutput %y", "");
}

#define LOSS(axes, inputs, contents, lines)                                                      \
  "%x: f32[3,4], " inputs ") {\n%w = constant f32[4,4] splat(0.5)\n%c = " contents "\n"   \
  "%z = matmul(%x, %w)\n" lines "%y = reduce_mean(%p) {axes=[" axes "], keepdims=0}\noutput %y"
#define DIFFERENCE "%d = sub(%z, %t)\n%e = mul(%d, %d)\n"
#define CHOSEN "%v = constant f32[2] {0, 1}\n%l = log_softmax(%z) {axis=1}\n"                     \
               "%o = one_hot(%t, %v) {depth=4, axis=1}\n"

/* Weights of classes that multiply what depends on the labels. */
static void test_classes(void **state) {
  (void)state;
  check_graph(LOSS("0,1", "%t: f32[3,4]", FOUR, DIFFERENCE "%p = mul(%e, %c)\n"), "class weights");
  check_graph(LOSS("0,1", "%t: f32[3,4]", FOUR, "%k = mul(%z, %c)\n%p = sub(%k, %t)\n"), "");
  check_graph(LOSS("0,1", "%t: f32[3,4]", FOUR, DIFFERENCE "%p = add(%e, %c)\n"), "");
  check_graph(LOSS("0,1", "%t: f32[3,4]", "constant f32[4,4] splat(0.5)", "%k = sub(%z, %t)\n"
                   "%p = matmul(%k, %c)\n"), "");
  check_graph(LOSS("0,1", "%t: i64[3]", FOUR, CHOSEN "%k = mul(%l, %o)\n%p = mul(%k, %c)\n"),
              "class weights");
  check_graph(LOSS("0,1", "%t: i64[3]", FOUR, CHOSEN "%n = mul(%l, %o)\n%k = mul(%o, %c)\n"
                   "%p = mul(%n, %k)\n"), "class weights");
  check_graph(LOSS("0", "%t: i64[3]", FOUR, CHOSEN "%k = mul(%l, %o)\n%s = reduce_sum(%k) "
                   "{axes=[1], keepdims=0}\n%g = gather(%c, %t) {axis=0}\n%p = mul(%s, %g)\n"),
              "class weights");
  check_graph(LOSS("0,1", "%t: i64[3]", FOUR, CHOSEN "%k = mul(%c, %o)\n%p = mul(%k, %l)\n"),
              "class weights");
  check_graph(LOSS("0,1", "%t: f32[3,4]", FOUR, "%k = mul(%c, %t)\n%s = softplus(%z)\n"
                   "%p = mul(%s, %k)\n"), "class weights");
  check_graph(LOSS("0,1", "%t: f32[3,4]", FOUR, "%k = mul(%c, %t)\n%p = sub(%z, %k)\n"), "");
  /* a bias of each of what an input names */
  check_graph(LOSS("0", "%t: f32[3], %u: i64[3]", FOUR, "%r = reduce_sum(%z) {axes=[1], "
                   "keepdims=0}\n"
                   "%g = gather(%c, %u) {axis=0}\n%k = add(%r, %g)\n%p = sub(%k, %t)\n"), "");
  check_graph("%x: f32[3,4], %t: f32[3,4]) {\n%c = " FOUR "\n%k = mul(%x, %c)\n%d = sub(%k, %t)\n"
              "%y = reduce_mean(%d) {axes=[0,1], keepdims=0}\noutput %y", "");
  check_graph("%x: f32[3,4], %t: f32[3,4]) {\n%w = constant f32[4,4] splat(0.5)\n%c = " FOUR "\n"
              "%z = matmul(%x, %w)\n%d = sub(%z, %t)\n%y = mul(%d, %c)\noutput %y", "");
}

#define BAND "1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1"
#define DISTANCES "0, -1, -2, -3, -1, 0, -1, -2, -2, -1, 0, -1, -3, -2, -1, 0"
#define SCORES(contents, lines)                                                                  \
  "%x: f32[2,4,4]) {\n%c = constant f32[4,4] {" contents "}\n%q = tanh(%x)\n" lines               \
  "%y = softmax(%s) {axis=2}\noutput %y"
#define ADDED_TO_SCORES "%s = add(%q, %c)\n"

/* What comes to the scores of attention. */
static void test_masks(void **state) {
  (void)state;
  check_graph(SCORES(BAND, "%1 = constant f32[] {1}\n%f = constant f32[] {-10000}\n"
                           "%i = sub(%1, %c)\n%b = mul(%i, %f)\n%s = add(%q, %b)\n"), "a mask");
  check_graph(SCORES(BAND, "%s = mul(%q, %c)\n"), "a mask");
  check_graph(SCORES(BAND, "%w = constant f32[4,4] splat(0.5)\n%h = mul(%q, %c)\n"
                           "%s = matmul(%h, %w)\n"), "");
  check_graph(SCORES("0, -50, 0, 0, 0, 0, -50, 0, 0, 0, 0, -30, 0, 0, 0, 0", ADDED_TO_SCORES),
              "a mask");
  check_graph(SCORES("0, -5, 0, 0, 0, 0, -5, 0, 0, 0, 0, -3, 0, 0, 0, 0", ADDED_TO_SCORES), "");
  check_graph(SCORES("0, -50, 0.1, 0, 0, 0, -50, 0, 0, 0, 0, -30, 0, 0, 0, 0", ADDED_TO_SCORES),
              "");
  check_graph(SCORES("1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1", "%s = mul(%q, %c)\n"), "");
  check_graph(SCORES(DISTANCES, ADDED_TO_SCORES), "distances");
  check_graph(SCORES("0, 1, 2, 3, -1, 0, 1, 2, -2, -1, 0, 1, -3, -2, -1, 0", ADDED_TO_SCORES),
              "distances");
  check_graph(SCORES("0, -1, -2, -3, -1, 0, -1, -2, -2, -1, 0, -1, -3, -2.5, -1, 0",
                     ADDED_TO_SCORES), "");
  check_graph("%x: f32[2,4,4]) {\n%c = constant f32[2,1,1] {0.5, 0.25}\n%d = constant f32[4,4] {"
              DISTANCES "}\n%b = mul(%c, %d)\n%q = tanh(%x)\n%s = add(%q, %b)\n"
              "%y = softmax(%s) {axis=2}\noutput %y", "slopes of distances");
  check_graph("%x: f32[3,4,4]) {\n%c = constant f32[3,1,1] {0.5, 0.3, 0.4}\n"
              "%d = constant f32[4,4] {" DISTANCES "}\n%b = mul(%c, %d)\n%q = tanh(%x)\n"
              "%s = add(%q, %b)\n"
              "%y = softmax(%s) {axis=2}\noutput %y", "");
  check_graph("%x: f32[4,4]) {\n%c = constant f32[4,4] {" DISTANCES "}\n%q = tanh(%x)\n"
              "%y = add(%q, %c)\noutput %y", "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_operands),
      cmocka_unit_test(test_bodies),
      cmocka_unit_test(test_biases),
      cmocka_unit_test(test_contents),
      cmocka_unit_test(test_uses),
      cmocka_unit_test(test_normalisations),
      cmocka_unit_test(test_masks),
      cmocka_unit_test(test_classes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
