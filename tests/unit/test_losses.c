/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and their metrics of drawn tensors against their definitions in plain C: every loss, rank,
 * reduction and type, with and without weights of classes and a class that does not count. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"
#include "compiler/optim/optim.h"

/* One case. Samples are all axes but that of the classes, axis 1. */
typedef struct {
  wk_loss_kind kind;
  wk_reduction reduction;
  wk_type x, target;
  bool weighted, ignores;
  int64_t ignored, classes, inner; /* inner: samples for each entry of axis 0 */
  double *v, *t, *w;               /* prediction, target, weights */
} loss_case;

static bool has_classes(const loss_case *c) {
  return wk_loss_get(c->kind)->target == WK_TARGET_CLASSES;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static double score_at(const loss_case *c, int64_t sample, int64_t k) {
  return c->v[(sample / c->inner * c->classes + k) * c->inner + sample % c->inner];
}

static double of_class(const loss_case *c, int64_t sample, int64_t k) {
  double most = -INFINITY, sum = 0;
  if (c->kind == WK_LOSS_NLL) return -score_at(c, sample, k);
  for (int64_t j = 0; j < c->classes; j++) most = fmax(most, score_at(c, sample, j));
  for (int64_t j = 0; j < c->classes; j++) sum += exp(score_at(c, sample, j) - most);
  return most + log(sum) - score_at(c, sample, k);
}

static double of_pair(wk_loss_kind kind, double x, double t) {
  double d = fabs(x - t), p = 1 / (1 + exp(-x));
  switch (kind) {
    case WK_LOSS_BCE: return -t * log(p) - (1 - t) * log(1 - p);
    case WK_LOSS_MSE: return d * d;
    case WK_LOSS_L1: return d;
    default: return d < 1 ? d * d / 2 : d - 0.5;
  }
}

static double metric_of(const loss_case *c, int64_t i) {
  if (!has_classes(c))
    return c->kind == WK_LOSS_BCE ? (c->v[i] > 0) == (c->t[i] > 0.5) : fabs(c->v[i] - c->t[i]);
  int64_t best = 0;
  for (int64_t k = 1; k < c->classes; k++)
    if (score_at(c, i, k) > score_at(c, i, best)) best = k;
  return (double)best == c->t[i];
}

static double loss_of(const loss_case *c, int64_t i, double *weight) {
  *weight = 1;
  if (!has_classes(c)) return of_pair(c->kind, c->v[i], c->t[i]);
  int64_t k = (int64_t)c->t[i];
  if (c->ignores && k == c->ignored) *weight = 0;
  else if (c->weighted) *weight = c->w[k];
  return *weight ? of_class(c, i, k) : 0;
}

/* want: of n elements, or one number. */
static void define(const loss_case *c, int64_t n, double *want, double *metric) {
  double sum = 0, weights = 0, weight;
  *metric = 0;
  for (int64_t i = 0; i < n; i++) {
    double one = loss_of(c, i, &weight);
    *metric += metric_of(c, i) / (double)n;
    sum += one * weight;
    weights += weight;
    if (c->reduction == WK_REDUCTION_NONE) want[i] = one * weight;
  }
  if (c->reduction == WK_REDUCTION_SUM) *want = sum;
  if (c->reduction == WK_REDUCTION_MEAN) *want = sum / weights;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static wk_value_id constant(wk_graph *g, const wk_type *t, const double *v) {
  void *data = wk_arena_alloc(g->module->arena, (size_t)wk_type_bytes(t));
  for (int64_t i = 0; i < wk_type_count(t); i++) wk_store_f64(data, t->dtype, i, v[i]);
  return wk_graph_constant(g, NULL, t, data);
}

static void expect(const loss_case *c, const wk_tensor *got, const double *want, const char *what) {
  for (int64_t i = 0; i < wk_type_count(&got->type); i++) {
    double v = wk_load_f64(got->data, got->type.dtype, i);
    double off = got->type.dtype == WK_F64 ? 1e-12 : 1e-5;
    if (!(fabs(v - want[i]) <= off * (1 + fabs(want[i]))))
      fail_msg("%s, rank %d, reduction %d%s%s: %s [%d] is %.9g, not %.9g",
               wk_loss_get(c->kind)->name, c->x.rank, (int)c->reduction,
               c->weighted ? ", weights" : "", c->ignores ? ", a class ignored" : "", what, (int)i,
               v, want[i]);
  }
}

static void check(const loss_case *c) {
  wk_module *m = wk_module_new("loss");
  wk_graph *g = wk_graph_new(m, "main");
  wk_type weights = wk_type_make(c->x.dtype, 1, &c->classes), want_type;
  wk_loss_desc d = {.kind = c->kind, .reduction = c->reduction, .name = "loss",
                    .prediction = constant(g, &c->x, c->v),
                    .target = constant(g, &c->target, c->t),
                    .weights = c->weighted ? constant(g, &weights, c->w) : WK_NONE,
                    .has_ignored = c->ignores, .ignored = c->ignored};
  wk_value_id loss, metric, scores = WK_NONE;
  wk_tensor out[2];
  int64_t n = wk_type_count(&c->target);
  double *want = wk_xcalloc((size_t)n, sizeof *want), mean;
  define(c, n, want, &mean);
  wk_status s = wk_loss_build(g, &d, &loss, &scores);
  if (s) fail_msg("%s", s->message);
  assert_true(wk_type_equal(&wk_val(g, scores)->type, &c->x));
  assert_int_equal(scores == d.prediction, c->kind != WK_LOSS_CROSS_ENTROPY);
  d.reduction = WK_REDUCTION_MEAN;
  assert_null(wk_metric_build(g, &d, &metric));
  wk_graph_output(g, "loss", loss);
  if (metric != WK_NONE) wk_graph_output(g, "metric", metric);
  assert_null(wk_module_verify(m));
  assert_null(wk_eval_graph(g, NULL, out, NULL, NULL));
  want_type = wk_type_make(c->x.dtype, 0, NULL);
  if (c->reduction == WK_REDUCTION_NONE) want_type = c->target;
  want_type.dtype = c->x.dtype;
  assert_true(wk_type_equal(&out[0].type, &want_type));
  expect(c, &out[0], want, "loss");
  if (metric != WK_NONE) {
    assert_int_equal(out[1].type.rank, 0);
    assert_int_equal(out[1].type.dtype, WK_F32);
    expect(c, &out[1], &mean, "metric");
    wk_tensor_free(&out[1]);
  }
  wk_tensor_free(&out[0]);
  free(want);
  wk_module_free(m);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* No two axes have the same size, as far as there is room; axis 1 has that of the classes. */
static void draw(wk_rng *r, loss_case *c, int rank) {
  static const int64_t sizes[WK_MAX_RANK] = {2, 3, 4, 5, 1, 2, 1, 2};
  int64_t dims[WK_MAX_RANK], own[WK_MAX_RANK] = {0};
  wk_dtype t = c->x.dtype, index = c->target.dtype;
  for (int i = 0; i < rank; i++) dims[i] = sizes[i];
  c->x = wk_type_make(t, rank, dims);
  c->classes = rank > 1 ? dims[1] : 1;
  for (int i = 0; i < rank - 1; i++) own[i] = dims[i ? i + 1 : 0];
  c->target = has_classes(c) ? wk_type_make(index, rank - 1, own) : c->x;
  c->inner = wk_type_count(&c->target) / dims[0];
  for (int64_t i = 0; i < wk_type_count(&c->x); i++) c->v[i] = 3 * wk_rng_normal(r);
  for (int64_t i = 0; i < wk_type_count(&c->target); i++)
    c->t[i] = has_classes(c) ? (double)wk_rng_range(r, 0, c->classes - 1) : wk_rng_unit(r);
  for (int64_t i = 0; i < c->classes; i++) c->w[i] = 0.25 + wk_rng_unit(r);
  c->ignored = c->classes - 1;
  /* A class that is ignored need not be one. */
  if (c->weighted && c->ignores) c->ignored = -7;
  for (int64_t i = 0; c->ignored < 0 && i < wk_type_count(&c->target); i += 2)
    c->t[i] = (double)c->ignored;
  if (has_classes(c)) c->t[wk_type_count(&c->target) - 1] = 0; /* that one counts */
}

static void test_all(void **state) {
  static double v[4096], t[4096], w[16];
  (void)state;
  wk_rng r = {5};
  for (int kind = 0; kind < WK_LOSS_COUNT; kind++)
    for (int i = 0; i < 48 * WK_MAX_RANK; i++) {
      loss_case c = {.kind = (wk_loss_kind)kind, .reduction = (wk_reduction)(i % 3),
                     .x.dtype = i / 3 % 2 ? WK_F64 : WK_F32,
                     .target.dtype = i / 6 % 2 ? WK_I64 : WK_I32, .v = v, .t = t, .w = w};
      bool classes = has_classes(&c);
      int rank = 1 + i / 48;
      c.weighted = classes && i / 12 % 2;
      c.ignores = classes && i / 24 % 2;
      if (classes && rank < 2) continue;
      draw(&r, &c, rank);
      check(&c);
    }
}

/* ---- what does not fit ----------------------------------------------------------------------- */

static const struct {
  wk_loss_kind kind;
  const char *x, *target, *message; /* NULL: none */
} pairs[] = {
    {WK_LOSS_NLL, "f32[2,3]", "i64[2]", NULL},
    {WK_LOSS_NLL, "f32[2,3]", "i32[2]", NULL},
    {WK_LOSS_NLL, "f32[2,3]", "i16[2]", "the targets do not fit the scores"},
    {WK_LOSS_NLL, "f32[2,3]", "f32[2]", "the targets do not fit the scores"},
    {WK_LOSS_NLL, "f32[2,3]", "i64[3]", "the targets do not fit the scores"},
    {WK_LOSS_NLL, "f32[2,3]", "i64[2,1]", "targets of rank 2 do not fit the scores"},
    {WK_LOSS_NLL, "f32[2,3]", "i64[]", "targets of rank 0 do not fit the scores"},
    {WK_LOSS_NLL, "f32[2,1]", "i64[2]", NULL},
    {WK_LOSS_NLL, "f32[2,0]", "i64[2]", "the scores of nll have no class axis"},
    {WK_LOSS_CROSS_ENTROPY, "f32[2]", "i64[2]", "the scores of cross-entropy have no class axis"},
    {WK_LOSS_CROSS_ENTROPY, "f16[2,3]", "i64[2]", NULL},
    {WK_LOSS_CROSS_ENTROPY, "f8e5m2[2,3]", "i64[2]", "cross-entropy is of floats, not of f8e5m2"},
    {WK_LOSS_CROSS_ENTROPY, "i32[2,3]", "i64[2]", "cross-entropy is of floats, not of i32"},
    {WK_LOSS_MSE, "f32[2,3]", "f32[2,3]", NULL},
    {WK_LOSS_MSE, "f32[]", "f32[]", NULL},
    {WK_LOSS_MSE, "f32[2,3]", "f64[2,3]", "the targets do not fit the scores"},
    {WK_LOSS_MSE, "f32[2,3]", "i32[2,3]", "the targets do not fit the scores"},
    {WK_LOSS_MSE, "i32[2,3]", "i32[2,3]", "mse is of floats, not of i32"},
    {WK_LOSS_L1, "f32[2,3]", "f32[2]", "targets of rank 1 do not fit the scores"},
    {WK_LOSS_HUBER, "f32[2,3]", "f32[2,1]", "the targets do not fit the scores"},
    {WK_LOSS_BCE, "f64[2]", "f64[2]", NULL},
};

/* A metric is refused as its loss is, unless there is none. */
static void test_pairs(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(pairs); i++) {
    wk_module *m = wk_module_new("loss");
    wk_graph *g = wk_graph_new(m, "main");
    wk_type x = case_type(pairs[i].x), t = case_type(pairs[i].target);
    wk_loss_desc d = {.kind = pairs[i].kind, .prediction = wk_graph_input(g, "x", &x),
                      .target = wk_graph_input(g, "t", &t), .weights = WK_NONE};
    wk_value_id loss = WK_NONE, metric = WK_NONE;
    wk_status s[2] = {wk_loss_build(g, &d, &loss, NULL), wk_metric_build(g, &d, &metric)};
    for (int k = 0; k < 2; k++) {
      const char *want = k && pairs[i].kind == WK_LOSS_L1 ? NULL : pairs[i].message;
      if (!s[k] != !want) fail_msg("%s, %s: %s", pairs[i].x, pairs[i].target,
                                   s[k] ? s[k]->message : "no error");
      if (s[k]) assert_string_equal(s[k]->message, want);
      if (s[k]) assert_int_equal(s[k]->code, WK_INPUT);
      wk_status_free(s[k]);
    }
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_pairs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
