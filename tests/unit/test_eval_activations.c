/* SPDX-License-Identifier: Apache-2.0
 * Functions of recurrences: each by its definition in ONNX, with the numbers that it has by default
 * and with given ones, of which those that have none take none; cut off before. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"

static double relu(double x, double a, double b) { return (void)a, (void)b, x > 0 ? x : 0; }
static double tangent(double x, double a, double b) { return (void)a, (void)b, tanh(x); }
static double sigmoid(double x, double a, double b) { return (void)a, (void)b, 1 / (1 + exp(-x)); }
static double affine(double x, double a, double b) { return a * x + b; }
static double leaky(double x, double a, double b) { return (void)b, x >= 0 ? x : a * x; }
static double threshold(double x, double a, double b) { return (void)b, x > a ? x : 0; }
static double scaled(double x, double a, double b) { return a * tanh(b * x); }
static double hard(double x, double a, double b) { return fmin(fmax(a * x + b, 0), 1); }
static double elu(double x, double a, double b) { return (void)b, x >= 0 ? x : a * expm1(x); }
static double softsign(double x, double a, double b) { return (void)a, (void)b, x / (1 + fabs(x)); }
static double softplus(double x, double a, double b) { return (void)a, (void)b, log1p(exp(x)); }

static const struct {
  const char *name;
  double (*fn)(double x, double alpha, double beta);
  int numbers;
  double alpha, beta; /* by default */
} functions[] = {
    {"Relu", relu, 0, 0, 0},          {"Tanh", tangent, 0, 0, 0},
    {"Sigmoid", sigmoid, 0, 0, 0},    {"Affine", affine, 2, 1, 0},
    {"LeakyRelu", leaky, 1, 0.01, 0}, {"ThresholdedRelu", threshold, 1, 1, 0},
    {"ScaledTanh", scaled, 2, 1, 1},  {"HardSigmoid", hard, 2, 0.2, 0.5},
    {"Elu", elu, 1, 1, 0},            {"Softsign", softsign, 0, 0, 0},
    {"Softplus", softplus, 0, 0, 0}};

enum { N = 16 };
static const double xs[N] = {0, 1,  -1, 0.25, -0.25, 2.5, -2.5, 4,
                             -4, 9, -9, 30,   -30,   1.5, -3,   0.75};

/* One step of x in each direction, by itself: y is the function of x. */
static void check(size_t forward, size_t back, int alphas, int betas, double clip) {
  static const double alpha[] = {0.75, 0.3}, beta[] = {0.4, -0.2};
  wk_module *m = wk_module_new("rnn");
  wk_graph *g = wk_graph_new(m, "main");
  wk_tensor in[] = {case_tensor("f64[1,16,1]{0}"), case_tensor("f64[2,1,1]{1,1}"),
                    case_tensor("f64[2,1,1]{1,1}")}, out;
  for (int i = 0; i < N; i++) wk_store_f64(in[0].data, WK_F64, i, xs[i]);
  wk_value_id ids[3];
  for (int k = 0; k < 3; k++) ids[k] = wk_graph_input(g, NULL, &in[k].type);
  char text[200];
  static const char *const alpha_text[] = {"", " alpha=0.75", " alpha=0.75,0.3"};
  static const char *const beta_text[] = {"", " beta=0.4", " beta=0.4,-0.2"};
  snprintf(text, sizeof text, "direction=bidirectional activations=%s,%s%s%s clip=%g",
           functions[forward].name, functions[back].name, alpha_text[alphas], beta_text[betas],
           clip);
  wk_node_desc d = {.op = WK_OP_RNN, .name = "rnn", .in = ids, .n_in = 3, .n_out = 1,
                    .attrs = case_attrs(m->arena, WK_OP_RNN, text)};
  wk_value_id y;
  assert_null(wk_graph_add(g, &d, &y));
  wk_graph_output(g, "y", y);
  assert_null(wk_eval_graph(g, in, &out, NULL, NULL));
  int next_alpha = 0, next_beta = 0;
  for (int k = 0; k < 2; k++) {
    size_t f = k ? back : forward;
    double a = functions[f].alpha, b = functions[f].beta;
    if (functions[f].numbers > 0 && next_alpha < alphas) a = alpha[next_alpha++];
    if (functions[f].numbers > 1 && next_beta < betas) b = beta[next_beta++];
    for (int i = 0; i < N; i++) {
      double want = functions[f].fn(fmin(fmax(xs[i], -clip), clip), a, b);
      double got = wk_load_f64(out.data, WK_F64, k * N + i);
      if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
        fail_msg("%s: %s of %g is %.17g, not %.17g", text, functions[f].name, xs[i], got, want);
    }
  }
  wk_tensor_free(&out);
  for (int k = 0; k < 3; k++) wk_tensor_free(&in[k]);
  wk_module_free(m);
}

static void test_functions(void **state) {
  (void)state;
  for (size_t f = 0; f < WK_COUNTOF(functions); f++)
    for (size_t b = 0; b < WK_COUNTOF(functions); b++)
      for (int k = 0; k < 9; k++) check(f, b, k % 3, k / 3, k % 2 ? 2 : 1e9);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
