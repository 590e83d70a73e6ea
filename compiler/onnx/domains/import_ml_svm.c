/* SPDX-License-Identifier: Apache-2.0
 * Support vector machines. */
#include <string.h>

#include "compiler/onnx/domains/ml.h"
#include "compiler/onnx/import/handlers.h"

typedef enum { LINEAR, POLY, RBF, SIGMOID } kernel;

static kernel kernel_of(wk_onnx_node *c) {
  static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const char *name = wk_onnx_text(c, "kernel_type", "LINEAR");
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    if (strcmp(name, names[i]) == 0) return (kernel)i;
  wk_onnx_fail(c, WK_INPUT, "kernel_type '%s' is not one of LINEAR, POLY, RBF and SIGMOID", name);
  return LINEAR;
}

/* Of the differences, since squares of the norms would cancel. */
static wk_value_id distances(wk_onnx_node *c, wk_value_id x, const double *v, int64_t n,
                             int64_t features) {
  wk_value_id s = wk_make_f64s(c, WK_F32, v, 3, (const int64_t[]){1, n, features});
  x = wk_make_unsqueeze(c, x, (wk_ints){.n = 1, .v = (const int64_t[]){1}});
  return wk_make_reduce(c, WK_OP_REDUCE_SUM_SQUARE, wk_make_2(c, WK_OP_SUB, x, s),
                        wk_make_axes(c, 2, 3), false);
}

/* The kernel between rows x [m, f] and n vectors: [m, n]. */
static wk_value_id kernels(wk_onnx_node *c, wk_value_id x, int64_t n) {
  kernel k = kernel_of(c);
  wk_floats v = wk_onnx_floats(c, "support_vectors"), p = wk_onnx_floats(c, "kernel_params");
  int64_t features = wk_onnx_type(c, x)->dims[1];
  wk_onnx_has_list(c, "support_vectors", v.n);
  wk_onnx_valid(c, v.n > 0 && v.n % n == 0 && v.n / n == features,
                "%lld numbers for %lld support_vectors of %lld features", (long long)v.n,
                (long long)n, (long long)features);
  wk_onnx_valid(c, p.n <= 0 || p.n >= 3, "kernel_params has %lld numbers, not 3", (long long)p.n);
  if (!wk_onnx_ok(c)) return WK_NONE;
  double gamma = p.n > 0 ? p.v[0] : 0, coef0 = p.n > 0 ? p.v[1] : 0, degree = p.n > 0 ? p.v[2] : 0;
  if (k == RBF)
    return wk_make_1(c, WK_OP_EXP, wk_make_mul_f(c, distances(c, x, v.v, n, features), -gamma));
  wk_value_id s = wk_make_f64s(c, WK_F32, v.v, 2, (const int64_t[]){n, features});
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, x, wk_make_transpose(c, s, (const int64_t[]){1, 0}));
  if (k == LINEAR) return y;
  y = wk_make_add_f(c, wk_make_mul_f(c, y, gamma), coef0);
  if (k == SIGMOID) return wk_make_1(c, WK_OP_TANH, y);
  return wk_make_2(c, WK_OP_POW, y, wk_make_scalar(c, WK_F32, degree));
}

/* ---- SVMRegressor -------------------------------------------------------------------------- */

wk_status wk_onnx_svm_regressor(wk_onnx_node *c) {
  wk_value_id x = wk_make_cast(c, wk_ml_rows(c, c->in[0]), WK_F32);
  wk_ml_transform t = wk_ml_post_transform(c);
  int64_t n = wk_onnx_int(c, "n_supports", 0);
  wk_floats weights = wk_onnx_floats(c, "coefficients"), rho = wk_onnx_floats(c, "rho");
  wk_onnx_has_list(c, "coefficients", weights.n);
  wk_onnx_has_list(c, "rho", rho.n);
  if (!wk_onnx_ok(c)) return c->status;
  int64_t want = n > 0 ? n : wk_onnx_type(c, x)->dims[1];
  if (!wk_onnx_valid(c, weights.n == want && rho.n >= 1, "%lld coefficients, not %lld, or no rho",
                     (long long)weights.n, (long long)want)) return c->status;
  wk_value_id w = wk_make_f64s(c, WK_F32, weights.v, 2, (const int64_t[]){want, 1});
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, n > 0 ? kernels(c, x, n) : x, w);
  y = wk_make_add_f(c, y, rho.v[0]);
  if (!wk_onnx_int(c, "one_class", 0)) return wk_onnx_return(c, wk_ml_transform_emit(c, t, y));
  wk_value_id inside = wk_make_2(c, WK_OP_GREATER, y, wk_make_scalar(c, WK_F32, 0));
  return wk_onnx_return(c, wk_make_where(c, inside, wk_make_scalar(c, WK_F32, 1),
                                         wk_make_scalar(c, WK_F32, -1)));
}

/* ---- SVMClassifier ------------------------------------------------------------------------- */

/* Tables by pair of classes, within bounds. */
#define MAX_CLASSES 256
#define MAX_WEIGHTS (1 << 25)

typedef struct {
  int64_t classes, pairs, vectors;
  wk_ints per_class;
  wk_floats weights; /* [classes - 1, vectors]: of a vector against each other class */
  wk_floats prob_a, prob_b; /* of sigmoids, one of each pair; or none */
} machine;

static bool read_machine(wk_onnx_node *c, int64_t classes, machine *m) {
  *m = (machine){.classes = classes,
                 .pairs = classes * (classes - 1) / 2,
                 .per_class = wk_onnx_ints(c, "vectors_per_class"),
                 .weights = wk_onnx_floats(c, "coefficients"),
                 .prob_a = wk_onnx_floats(c, "prob_a"),
                 .prob_b = wk_onnx_floats(c, "prob_b")};
  if (!wk_onnx_need(c, m->per_class.n > 0, "linear machines without vectors_per_class are not "
                    "supported")) return false;
  if (!wk_onnx_need(c, classes <= MAX_CLASSES, "more than %d classes are not supported",
                    MAX_CLASSES)) return false;
  if (!wk_onnx_has_list(c, "coefficients", m->weights.n)) return false;
  bool fit = classes >= 2 && m->per_class.n == classes;
  for (int64_t i = 0; fit && i < classes; i++) {
    fit = m->per_class.v[i] >= 0 && m->per_class.v[i] <= m->weights.n;
    m->vectors += fit ? m->per_class.v[i] : 0;
  }
  fit = fit && m->vectors > 0 && m->weights.n % m->vectors == 0 &&
        m->weights.n / m->vectors == classes - 1;
  return wk_onnx_valid(c, fit, "coefficients, vectors_per_class and labels do not fit") &&
         wk_onnx_need(c, m->vectors <= MAX_WEIGHTS / m->pairs,
                      "%lld vectors for %lld classes are too many", (long long)m->vectors,
                      (long long)classes);
}

static double *zeros(wk_onnx_node *c, int64_t rows, int64_t columns) {
  size_t size = (size_t)rows * (size_t)columns * sizeof(double);
  return wk_arena_alloc(c->im->arena, size);
}

/* Weights [vectors, pairs] of the decision between each two classes. */
static wk_value_id pair_weights(wk_onnx_node *c, const machine *m) {
  double *w = zeros(c, m->vectors, m->pairs);
  for (int64_t k = 0, own = 0, end = m->per_class.v[0]; k < m->vectors; k++) {
    while (k == end) end += m->per_class.v[++own];
    for (int64_t i = 0, p = 0; i < m->classes; i++)
      for (int64_t j = i + 1; j < m->classes; j++, p++) {
        int64_t row = own == i ? j - 1 : i;
        if (own == i || own == j) w[k * m->pairs + p] = m->weights.v[row * m->vectors + k];
      }
  }
  return wk_make_f64s(c, WK_F32, w, 2, (const int64_t[]){m->vectors, m->pairs});
}

/* The class with the most decisions for it; the first of several. */
static wk_value_id most_votes(wk_onnx_node *c, const machine *m, wk_value_id scores) {
  double *of = zeros(c, m->pairs, m->classes), *base = zeros(c, 1, m->classes);
  for (int64_t i = 0, p = 0; i < m->classes; i++)
    for (int64_t j = i + 1; j < m->classes; j++, p++) {
      of[p * m->classes + i] = 1;
      of[p * m->classes + j] = -1;
      base[j] += 1;
    }
  wk_value_id first = wk_make_2(c, WK_OP_GREATER, scores, wk_make_scalar(c, WK_F32, 0));
  wk_value_id w = wk_make_f64s(c, WK_F32, of, 2, (const int64_t[]){m->pairs, m->classes});
  wk_value_id votes = wk_make_2(c, WK_OP_MATMUL, wk_make_cast(c, first, WK_F32), w);
  votes = wk_make_2(c, WK_OP_ADD, votes, wk_make_f64s(c, WK_F32, base, 1, &m->classes));
  WK_MAKE_ATTRS(c, a, ARG_MAX, arg_max);
  a->axis = 1;
  a->keepdims = 0;
  return wk_make(c, WK_OP_ARG_MAX, a, 1, votes);
}

/* Probabilities of classes from the scores of pairs, by Platt's sigmoids. */
static wk_value_id probabilities(wk_onnx_node *c, const machine *m, wk_value_id scores) {
  wk_value_id a = wk_make_f64s(c, WK_F32, m->prob_a.v, 1, &m->pairs);
  wk_value_id b = wk_make_f64s(c, WK_F32, m->prob_b.v, 1, &m->pairs);
  wk_value_id x = wk_make_2(c, WK_OP_ADD, wk_make_2(c, WK_OP_MUL, scores, a), b);
  wk_value_id p = wk_make_1(c, WK_OP_SIGMOID, wk_make_1(c, WK_OP_NEG, x));
  p = wk_make_2(c, WK_OP_MAX, p, wk_make_scalar(c, WK_F32, 1e-7f));
  p = wk_make_2(c, WK_OP_MIN, p, wk_make_scalar(c, WK_F32, 1 - 1e-7f));
  return wk_ml_couple(c, p, m->classes);
}

wk_status wk_onnx_svm_classifier(wk_onnx_node *c) {
  wk_ml_labels labels;
  machine m;
  wk_value_id x = wk_make_cast(c, wk_ml_rows(c, c->in[0]), WK_F32);
  wk_ml_transform t = wk_ml_post_transform(c);
  wk_floats rho = wk_onnx_floats(c, "rho");
  if (!wk_ml_labels_read(c, "classlabels_ints", "classlabels_strings", &labels)) return c->status;
  if (!read_machine(c, labels.n, &m)) return c->status;
  wk_onnx_has_list(c, "rho", rho.n);
  wk_onnx_valid(c, rho.n >= m.pairs, "%lld numbers rho for %lld pairs of classes",
                (long long)rho.n, (long long)m.pairs);
  bool has_probabilities = m.prob_a.n > 0;
  if (has_probabilities) wk_onnx_has_list(c, "prob_b", m.prob_b.n);
  wk_onnx_valid(c, !has_probabilities || (m.prob_a.n == m.pairs && m.prob_b.n == m.pairs),
                "%lld numbers prob_a and %lld prob_b for %lld pairs of classes",
                (long long)m.prob_a.n, (long long)m.prob_b.n, (long long)m.pairs);
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id s = wk_make_2(c, WK_OP_MATMUL, kernels(c, x, m.vectors), pair_weights(c, &m));
  s = wk_make_2(c, WK_OP_ADD, s, wk_make_f64s(c, WK_F32, rho.v, 1, &m.pairs));
  wk_ml_labels_result(c, &labels, most_votes(c, &m, s));
  if (has_probabilities) {
    wk_onnx_result(c, 1, wk_ml_transform_emit(c, t, probabilities(c, &m, s)));
    return c->status;
  }
  wk_ml_second how = t == WK_ML_NONE ? WK_ML_OPPOSITE : WK_ML_COMPLEMENT; /* as ONNX Runtime */
  wk_onnx_result(c, 1, m.classes == 2 ? wk_ml_second_emit(c, how, t, s)
                                      : wk_ml_transform_emit(c, t, s));
  return c->status;
}
