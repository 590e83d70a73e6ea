/* SPDX-License-Identifier: Apache-2.0 */
/* Losses against numbers computed with NumPy from their definitions, optimisers against loops that
 * follow the documentation of torch.optim and of ai.onnx.preview.training line by line. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"
#include "compiler/optim/optim.h"

/* ---- losses ---------------------------------------------------------------------------------- */

static const struct {
  wk_loss_kind kind;
  wk_reduction reduction;
  const char *x, *target, *want, *metric;
} loss_cases[] = {
    {WK_LOSS_CROSS_ENTROPY, WK_REDUCTION_NONE,
     "f64[3,3]{1,2,3,0,0,1000,-1e4,1e4,0}", "i64[3]{2,0,1}",
     "f64[3]{0.40760596444437997,1000,0}", "f32[]{0.6666667}"},
    {WK_LOSS_CROSS_ENTROPY, WK_REDUCTION_MEAN, "f64[1,2,2]{0,3,0,0}", "i64[1,2]{0,1}",
     "f64[]{1.8708672660668437}", "f32[]{0.5}"},
    {WK_LOSS_NLL, WK_REDUCTION_SUM, "f32[2,2]{-1,-2,-3,-4}", "i32[2]{1,0}", "f32[]{5}",
     "f32[]{0.5}"},
    {WK_LOSS_BCE, WK_REDUCTION_NONE, "f64[6]{0,2,-3,88,-1e4,1e4}", "f64[6]{1,0,0.25,1,0,1}",
     "f64[6]{0.6931471805599453,2.1269280110429727,0.798587351573742,0,0,0}",
     "f32[]{0.6666667}"},
    {WK_LOSS_MSE, WK_REDUCTION_MEAN, "f32[2,2]{1,2,3,4}", "f32[2,2]{1,0,0,0}", "f32[]{7.25}",
     "f32[]{2.25}"},
    {WK_LOSS_L1, WK_REDUCTION_MEAN, "f32[4]{1,2,-3,4}", "f32[4]{1,0,0,0}", "f32[]{2.25}", NULL},
    {WK_LOSS_HUBER, WK_REDUCTION_NONE, "f64[5]{0,0.5,1,-1,-3}", "f64[5]{0}",
     "f64[5]{0,0.125,0.5,0.5,2.5}", "f32[]{1.1}"},
};

static wk_value_id constant(wk_graph *g, const wk_tensor *t) {
  return wk_graph_constant(g, NULL, &t->type, t->data);
}

/* Evaluates a module without inputs. */
static void evaluate(wk_module *m, wk_tensor *out) {
  wk_status s = wk_module_verify(m);
  if (!s) s = wk_eval_graph(m->main, NULL, out, NULL, NULL);
  if (s) fail_msg("%s", s->message);
}

static void expect_tensor(const wk_tensor *got, const char *text, double rtol) {
  wk_tensor want = case_tensor(text);
  const wk_tolerance tol = {.rtol = rtol, .atol = 1e-300, .scale = 0};
  assert_true(wk_type_equal(&got->type, &want.type));
  wk_diff d = wk_tensor_diff(got, &want, &tol);
  if (!d.equal) fail_msg("%s: got %.17g, want %.17g", text, d.got, d.want);
  wk_tensor_free(&want);
}

static void test_losses(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(loss_cases); i++) {
    wk_module *m = wk_module_new("loss");
    wk_graph *g = wk_graph_new(m, "main");
    wk_tensor x = case_tensor(loss_cases[i].x), t = case_tensor(loss_cases[i].target), out[2];
    wk_loss_desc d = {.kind = loss_cases[i].kind, .reduction = loss_cases[i].reduction,
                      .prediction = constant(g, &x), .target = constant(g, &t),
                      .weights = WK_NONE};
    wk_value_id loss, metric;
    assert_null(wk_loss_build(g, &d, &loss, NULL));
    d.reduction = WK_REDUCTION_MEAN;
    assert_null(wk_metric_build(g, &d, &metric));
    wk_graph_output(g, "loss", loss);
    assert_int_equal(metric == WK_NONE, loss_cases[i].metric == NULL);
    if (metric != WK_NONE) wk_graph_output(g, "metric", metric);
    evaluate(m, out);
    expect_tensor(&out[0], loss_cases[i].want, out[0].type.dtype == WK_F32 ? 1e-6 : 1e-13);
    wk_tensor_free(&out[0]);
    if (metric != WK_NONE) expect_tensor(&out[1], loss_cases[i].metric, 1e-6);
    if (metric != WK_NONE) wk_tensor_free(&out[1]);
    wk_module_free(m);
    wk_tensor_free(&x);
    wk_tensor_free(&t);
  }
}

static void test_targets(void **state) {
  (void)state;
  wk_type p = case_type("f32[4,10,3]"), t, want = case_type("i64[4,3]");
  assert_null(wk_loss_target(WK_LOSS_CROSS_ENTROPY, &p, &t));
  assert_true(wk_type_equal(&t, &want));
  assert_null(wk_loss_target(WK_LOSS_MSE, &p, &t));
  assert_true(wk_type_equal(&t, &p));
  static const char *const bad[] = {"f32[4]", "i32[4,10]", "f32[4,0]"};
  for (size_t i = 0; i < WK_COUNTOF(bad); i++) {
    p = case_type(bad[i]);
    wk_status s = wk_loss_target(WK_LOSS_NLL, &p, &t);
    assert_non_null(s);
    assert_int_equal(s->code, WK_INPUT);
    wk_status_free(s);
  }
}

/* ---- optimisers ------------------------------------------------------------------------------ */

enum { ELEMENTS = 3, STEPS = 4 };

typedef struct { double w, m, v; } cell;
typedef void (*oracle)(cell *c, double g, const wk_hypers *h, int t);

static void sgd(cell *c, double g, const wk_hypers *h, int t) {
  (void)t;
  g += h->weight_decay * c->w;
  c->w -= h->rate * g;
}

static void momentum(cell *c, double g, const wk_hypers *h, int t) {
  g += h->weight_decay * c->w;
  c->m = t > 1 ? h->momentum * c->m + (1 - h->dampening) * g : g;
  c->w -= h->rate * c->m;
}

static void nesterov(cell *c, double g, const wk_hypers *h, int t) {
  g += h->weight_decay * c->w;
  c->m = t > 1 ? h->momentum * c->m + (1 - h->dampening) * g : g;
  c->w -= h->rate * (g + h->momentum * c->m);
}

static void adam_moved(cell *c, double g, const wk_hypers *h, int t) {
  c->m = h->beta1 * c->m + (1 - h->beta1) * g;
  c->v = h->beta2 * c->v + (1 - h->beta2) * g * g;
  double m_hat = c->m / (1 - pow(h->beta1, t)), v_hat = c->v / (1 - pow(h->beta2, t));
  c->w -= h->rate * m_hat / (sqrt(v_hat) + h->epsilon);
}

static void adam(cell *c, double g, const wk_hypers *h, int t) {
  adam_moved(c, g + h->weight_decay * c->w, h, t);
}

static void adamw(cell *c, double g, const wk_hypers *h, int t) {
  c->w -= h->rate * h->weight_decay * c->w;
  adam_moved(c, g, h, t);
}

static void adagrad(cell *c, double g, const wk_hypers *h, int t) {
  g += h->weight_decay * c->w;
  c->v += g * g;
  c->w -= h->rate / (1 + (t - 1) * h->rate_decay) * g / (sqrt(c->v) + h->epsilon);
}

static void adam_plain(cell *c, double g, const wk_hypers *h, int t) {
  int T = t - 1;
  g += h->weight_decay * c->w;
  c->m = h->beta1 * c->m + (1 - h->beta1) * g;
  c->v = h->beta2 * c->v + (1 - h->beta2) * g * g;
  double r = T ? h->rate * sqrt(1 - pow(h->beta2, T)) / (1 - pow(h->beta1, T)) : h->rate;
  c->w = (1 - h->shrink) * (c->w - r * c->m / (sqrt(c->v) + h->epsilon));
}

static const oracle oracles[WK_OPTIMIZER_COUNT] = {
    [WK_OPTIMIZER_SGD] = sgd, [WK_OPTIMIZER_MOMENTUM] = momentum,
    [WK_OPTIMIZER_NESTEROV] = nesterov, [WK_OPTIMIZER_ADAM] = adam, [WK_OPTIMIZER_ADAMW] = adamw,
    [WK_OPTIMIZER_ADAGRAD] = adagrad, [WK_OPTIMIZER_ADAM_PLAIN] = adam_plain};

/* One step in a graph of its own; w and the states are tensors of ELEMENTS. */
static void run_step(wk_optimizer_kind k, const wk_hypers *h, int t, wk_tensor *w,
                     wk_tensor *states, const wk_tensor *gradient, wk_tensor *apply) {
  wk_module *m = wk_module_new("step");
  wk_graph *g = wk_graph_new(m, "main");
  wk_value_id ids[WK_OPTIMIZER_STATES], factors[WK_OPTIMIZER_FACTORS];
  wk_value_id new_states[WK_OPTIMIZER_STATES], y;
  wk_tensor out[1 + WK_OPTIMIZER_STATES];
  int n = wk_optimizer_states(k);
  for (int i = 0; i < n; i++) ids[i] = constant(g, &states[i]);
  wk_value_id rate = wk_graph_scalar(g, WK_F64, h->rate), step = wk_graph_scalar(g, WK_I64, t);
  assert_null(wk_factors_build(g, "step", k, h, rate, step, wk_compute_dtype(w->type.dtype),
                               factors));
  wk_update_desc d = {.kind = k, .name = "step", .hypers = h, .weight = constant(g, w),
                      .gradient = constant(g, gradient), .states = ids, .factors = factors,
                      .apply = apply ? constant(g, apply) : WK_NONE};
  assert_null(wk_optimizer_build(g, &d, &y, new_states));
  wk_graph_output(g, "w", y);
  for (int i = 0; i < n; i++) wk_graph_output(g, NULL, new_states[i]);
  evaluate(m, out);
  for (int i = 0; i <= n; i++) {
    wk_tensor *to = i ? &states[i - 1] : w;
    assert_true(wk_type_equal(&out[i].type, &to->type));
    memcpy(to->data, out[i].data, (size_t)wk_type_bytes(&to->type));
    wk_tensor_free(&out[i]);
  }
  wk_module_free(m);
}

static void compare_steps(wk_optimizer_kind k, const wk_hypers *h, wk_dtype t, double tolerance) {
  static const double start[ELEMENTS] = {1.5, -0.25, 2};
  static const double gradients[STEPS][ELEMENTS] = {
      {0.5, -2, 1e-3}, {-0.25, -1, 3}, {4, 0, -0.125}, {0.75, 1, 1}};
  const int64_t dims = ELEMENTS;
  const wk_type type = wk_type_make(t, 1, &dims);
  const wk_type state_type = wk_type_make(wk_compute_dtype(t), 1, &dims);
  wk_tensor w, g, states[WK_OPTIMIZER_STATES];
  cell cells[ELEMENTS];
  assert_null(wk_tensor_alloc(&type, &w));
  assert_null(wk_tensor_alloc(&type, &g));
  for (int i = 0; i < WK_OPTIMIZER_STATES; i++)
    assert_null(wk_tensor_alloc(&state_type, &states[i]));
  for (int e = 0; e < ELEMENTS; e++) {
    cells[e] = (cell){.w = start[e]};
    wk_store_f64(w.data, t, e, start[e]);
  }
  for (int s = 0; s < STEPS; s++) {
    for (int e = 0; e < ELEMENTS; e++) {
      oracles[k](&cells[e], gradients[s][e], h, s + 1);
      wk_store_f64(g.data, t, e, gradients[s][e]);
    }
    uint8_t choice = 0; /* a step that is not made, and then the same that is */
    wk_tensor apply = {.type = wk_type_make(WK_BOOL, 0, NULL), .data = &choice};
    if (s % 2) run_step(k, h, s + 1, &w, states, &g, &apply);
    choice = 1;
    run_step(k, h, s + 1, &w, states, &g, s % 2 ? &apply : NULL);
    for (int e = 0; e < ELEMENTS; e++) {
      double got = wk_load_f64(w.data, t, e);
      if (!(fabs(got - cells[e].w) <= tolerance))
        fail_msg("%s, step %d: got %.17g, want %.17g", wk_optimizer_get(k)->name, s + 1, got,
                 cells[e].w);
    }
  }
  wk_tensor_free(&w);
  wk_tensor_free(&g);
  for (int i = 0; i < WK_OPTIMIZER_STATES; i++) wk_tensor_free(&states[i]);
}

static void test_optimizers(void **state) {
  (void)state;
  for (int k = 0; k < WK_OPTIMIZER_COUNT; k++) {
    wk_hypers h = wk_optimizer_get((wk_optimizer_kind)k)->defaults;
    for (int variant = 0; variant < 2; variant++) {
      compare_steps((wk_optimizer_kind)k, &h, WK_F64, 1e-13);
      compare_steps((wk_optimizer_kind)k, &h, WK_F32, 2e-6);
      compare_steps((wk_optimizer_kind)k, &h, WK_F16, 4e-3);
      h.rate = 0.125;
      h.weight_decay = 0.0625;
      h.dampening = h.rate_decay = 0.25;
      h.shrink = 0.03125;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_losses),
      cmocka_unit_test(test_targets),
      cmocka_unit_test(test_optimizers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
