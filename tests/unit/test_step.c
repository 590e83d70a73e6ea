/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a training step, evaluated: y = x w for four samples, of which the gradients are
 * known. Also: what is refused, the order of inputs and outputs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/train/step.h"
#include "tests/unit/model_builder.h"

static const float samples[4][2] = {{1, 2}, {3, -1}, {0, 4}, {-2, 0.5f}};
static const float targets[4] = {1, 0, 2, -3};
static const float begin[2] = {0.5f, -1};

static void add_weight(builder *b, const char *name, int64_t n, const float *v) {
  const int64_t dims[2] = {2, 1};
  Onnx__TensorProto *t =
      raw_tensor(b, name, ELEM_F32, n == 2 ? 2 : 1, n == 2 ? dims : &n, v, (size_t)n * sizeof *v);
  ADD(b, b->g->initializer, b->g->n_initializer, t);
}

/* batch: "4"; x, w: names; elem: of y. The weight `spare` goes to an output that the loss does not
 * see. */
static wk_module *model_of(const char *batch, const char *x, const char *w, int elem,
                           wk_import_purpose purpose, wk_import_report *r) {
  static const float spare = 7;
  builder b = new_model(13);
  char in[64];
  char dims[16];
  snprintf(dims, sizeof dims, "%s 2", batch);
  add_weight(&b, w, 2, begin);
  add_weight(&b, "spare", 1, &spare);
  add_input(&b, b.g, x, ELEM_F32, dims);
  snprintf(in, sizeof in, "%s %s", x, w);
  add_node(&b, b.g, "MatMul", in, "step");
  set_int(&b, add_node(&b, b.g, "Cast", "step", "y"), "to", elem);
  snprintf(in, sizeof in, "%s spare", x);
  add_node(&b, b.g, "Mul", in, "z");
  add_output(&b, b.g, "y", elem);
  add_output(&b, b.g, "z", ELEM_F32);
  return import_for(&b, purpose, r);
}

static wk_module *model(const char *batch, wk_import_purpose purpose, wk_import_report *r) {
  return model_of(batch, "x", "w", ELEM_F32, purpose, r);
}

static wk_step_options options(void) {
  return (wk_step_options){.output = "y", .loss = WK_LOSS_MSE, .optimizer = WK_OPTIMIZER_SGD,
                           .accumulate = 1};
}

typedef struct {
  wk_module *m;
  wk_import_report report;
  wk_step s;
  wk_tensor state[8]; /* of the variables, in the order of the graph's inputs */
  size_t plain, n;
  double loss, norm; /* NaN: the step has no norm */
  bool valid;
} fixture;

static void build_of(fixture *f, const char *batch, const char *x, const char *w, int elem,
                     const wk_step_options *o) {
  const char *const names[] = {w, "spare"};
  *f = (fixture){0};
  f->m = model_of(batch, x, w, elem, WK_FOR_TRAINING, &f->report);
  wk_status s = wk_step_build(f->m, &f->report, o, names, 2, &f->s);
  if (s) fail_msg("%s", s->message);
  f->plain = wk_graph_plain_inputs(f->m->main);
  f->n = f->m->main->inputs.n - f->plain;
}

static void build(fixture *f, const char *batch, const wk_step_options *o) {
  build_of(f, batch, "x", "w", ELEM_F32, o);
}

static void drop(fixture *f) {
  for (size_t i = 0; i < f->n; i++) wk_tensor_free(&f->state[i]);
  wk_step_free(&f->s);
  wk_import_report_free(&f->report);
  wk_module_free(f->m);
}

/* A run with samples from `first` on; the variables take their next values. */
static void run(fixture *f, int first, int n, double rate, int64_t step, bool apply) {
  const wk_graph *g = f->m->main;
  const int64_t x_dims[2] = {n, 2}, y_dims[2] = {n, 1};
  wk_tensor in[16] = {{wk_type_make(WK_F32, 2, x_dims), (void *)(uintptr_t)samples[first]}};
  wk_tensor out[16];
  in[f->s.labels] =
      (wk_tensor){wk_type_make(WK_F32, 2, y_dims), (void *)(uintptr_t)&targets[first]};
  in[f->s.rate] = (wk_tensor){wk_type_make(WK_F64, 0, NULL), &rate};
  in[f->s.step] = (wk_tensor){wk_type_make(WK_I64, 0, NULL), &step};
  if (f->s.apply != WK_STEP_NONE)
    in[f->s.apply] = (wk_tensor){wk_type_make(WK_BOOL, 0, NULL), &apply};
  for (size_t i = 0; i < f->n; i++) in[f->plain + i] = f->state[i];
  wk_status s = wk_eval_graph(g, in, out, NULL, NULL);
  if (s) fail_msg("%s", s->message);
  f->loss = wk_load_f64(out[f->s.loss].data, out[f->s.loss].type.dtype, 0);
  f->valid = *(const bool *)out[f->s.valid].data;
  f->norm = f->s.norm == WK_STEP_NONE ? NAN : wk_load_f64(out[f->s.norm].data, WK_F32, 0);
  for (size_t i = 0; i < g->outputs.n; i++)
    for (size_t k = 0; k < f->n; k++) {
      if (g->updates.data[i] != g->inputs.data[f->plain + k]) continue;
      wk_tensor_free(&f->state[k]);
      f->state[k] = out[i];
      out[i] = (wk_tensor){0};
    }
  for (size_t i = 0; i < g->outputs.n; i++) wk_tensor_free(&out[i]);
}

static const float *weight(const fixture *f) {
  for (size_t k = 0; k < f->n; k++)
    if (!strcmp(wk_val(f->m->main, f->m->main->inputs.data[f->plain + k])->name, "w"))
      return f->state[k].data;
  return begin;
}

/* Of the mean square error of samples first..first + n at w. */
static double gradient(const double *w, int first, int n, double out[2]) {
  double loss = 0;
  out[0] = out[1] = 0;
  for (int i = first; i < first + n; i++) {
    double d = samples[i][0] * w[0] + samples[i][1] * w[1] - targets[i];
    loss += d * d / n;
    for (int k = 0; k < 2; k++) out[k] += 2 * d * samples[i][k] / n;
  }
  return loss;
}

static void expect(const fixture *f, const double *w) {
  for (int k = 0; k < 2; k++)
    if (fabs((double)weight(f)[k] - w[k]) > 1e-6)
      fail_msg("w[%d] is %.9g instead of %.9g", k, (double)weight(f)[k], w[k]);
}

static void test_steps(void **state) {
  (void)state;
  wk_step_options o = options();
  fixture f;
  double w[2] = {0.5, -1}, g[2];
  build(&f, "4", &o);
  assert_int_equal(f.s.idle.n, 1);
  assert_string_equal(f.s.idle.data[0], "spare");
  for (int i = 1; i <= 3; i++) {
    double loss = gradient(w, 0, 4, g);
    for (int k = 0; k < 2; k++) w[k] -= 0.1 * g[k];
    run(&f, 0, 4, 0.1, i, true);
    expect(&f, w);
    assert_true(fabs(f.loss - loss) < 1e-5);
  }
  drop(&f);
}

static void test_clip(void **state) {
  (void)state;
  wk_step_options o = options();
  fixture f;
  double w[2] = {0.5, -1}, g[2];
  o.clip_norm = 0.5;
  build(&f, "4", &o);
  gradient(w, 0, 4, g);
  double norm = hypot(g[0], g[1]);
  assert_true(norm > 1);
  for (int k = 0; k < 2; k++) w[k] -= 0.1 * g[k] * 0.5 / (norm + 1e-6);
  run(&f, 0, 4, 0.1, 1, true);
  expect(&f, w);
  assert_true(fabs(f.norm - norm) < 1e-5 * norm);
  drop(&f);
}

/* The norm is told where somebody asks for it, and changes nothing. With accumulate that of the
 * mean. */
static void test_norm(void **state) {
  (void)state;
  wk_step_options o = options();
  fixture f, plain;
  double w[2] = {0.5, -1}, g[2];
  build(&plain, "4", &o);
  o.has_norm = true;
  build(&f, "4", &o);
  run(&plain, 0, 4, 0.1, 1, true);
  run(&f, 0, 4, 0.1, 1, true);
  gradient(w, 0, 4, g);
  assert_true(isnan(plain.norm));
  assert_true(fabs(f.norm - hypot(g[0], g[1])) < 1e-5);
  assert_memory_equal(weight(&plain), weight(&f), sizeof begin);
  drop(&plain);
  drop(&f);
  o.accumulate = 2;
  build(&f, "2", &o);
  run(&f, 0, 2, 0.1, 1, false);
  run(&f, 2, 2, 0.1, 1, true);
  assert_true(fabs(f.norm - hypot(g[0], g[1])) < 1e-5);
  drop(&f);
}

/* Two batches of two make the step of one of four. */
static void test_accumulate(void **state) {
  (void)state;
  wk_step_options o = options();
  fixture f;
  double w[2] = {0.5, -1}, g[2];
  o.accumulate = 2;
  build(&f, "2", &o);
  for (int i = 1; i <= 2; i++) {
    run(&f, 0, 2, 0.1, i, false);
    expect(&f, w);
    gradient(w, 0, 4, g);
    for (int k = 0; k < 2; k++) w[k] -= 0.1 * g[k];
    run(&f, 2, 2, 0.1, i, true);
    expect(&f, w);
  }
  drop(&f);
}

/* A loss that is no finite number leaves everything as it was; large gradients, whose squares are
 * infinite, are finite. */
static void test_not_finite(void **state) {
  (void)state;
  wk_step_options o = options();
  fixture f;
  o.optimizer = WK_OPTIMIZER_MOMENTUM;
  o.hypers.momentum = 0.5;
  build(&f, "4", &o);
  run(&f, 0, 4, 2e17, 1, true);
  run(&f, 0, 4, 1e10, 2, true);
  assert_true(f.valid && f.loss > 1e37);
  float now[2];
  memcpy(now, weight(&f), sizeof now);
  assert_true(fabsf(now[0]) > 1e20f);
  run(&f, 0, 4, 0.1, 3, true);
  assert_false(isfinite(f.loss) || f.valid);
  assert_memory_equal(now, weight(&f), sizeof now);
  drop(&f);
}

enum { ELEM_F16 = 10, ELEM_BF16 = 16 };

/* The loss of halves is computed and added up in f32: its elements are beyond 65504. */
static void test_halves(void **state) {
  (void)state;
  static const int elems[] = {ELEM_F16, ELEM_BF16};
  for (size_t i = 0; i < WK_COUNTOF(elems); i++) {
    wk_step_options o = options();
    wk_import_report r;
    wk_step e;
    fixture f;
    build_of(&f, "4", "x", "w", elems[i], &o);
    const wk_graph *g = f.m->main;
    assert_int_equal(wk_val(g, g->inputs.data[f.s.labels])->type.dtype, WK_F32);
    run(&f, 0, 4, 100, 1, true);
    run(&f, 0, 4, 0, 2, true);
    assert_true(f.valid && f.loss > 1e6 && f.loss < 1e8);
    wk_module *m = model_of("4", "x", "w", elems[i], WK_FOR_EVALUATION, &r);
    assert_null(wk_step_evaluation(m, &f.s, &o, &e));
    assert_int_equal(wk_val(m->main, m->main->outputs.data[0])->type.dtype, WK_F32);
    wk_step_free(&e);
    wk_import_report_free(&r);
    wk_module_free(m);
    drop(&f);
  }
}

/* Over several batches their gradients are added up in f32, too. */
static void test_sums_of_halves(void **state) {
  (void)state;
  static const uint16_t w[2] = {0x3c00, 0x4000};
  static const int64_t dims[2] = {2, 1};
  static const char *const name = "w";
  wk_step_options o = options();
  wk_import_report r;
  wk_module *m;
  wk_step s;
  builder b = new_model(13);
  ADD(&b, b.g->initializer, b.g->n_initializer,
      raw_tensor(&b, "w", ELEM_F16, 2, dims, w, sizeof w));
  add_input(&b, b.g, "x", ELEM_F16, "4 2");
  add_node(&b, b.g, "MatMul", "x w", "y");
  add_output(&b, b.g, "y", ELEM_F16);
  const wk_import_options import = {.purpose = WK_FOR_TRAINING};
  assert_null(import_model(&b, &import, &r, &m));
  o.accumulate = 2;
  assert_null(wk_step_build(m, &r, &o, &name, 1, &s));
  assert_int_equal(s.variables.n, 4);
  assert_string_equal(s.variables.data[2].name, "w.sum");
  assert_int_equal(s.variables.data[2].type.dtype, WK_F32);
  assert_int_equal(s.variables.data[3].stored, WK_F16);
  wk_step_free(&s);
  wk_import_report_free(&r);
  wk_module_free(m);
}

static const char *input_name(const wk_graph *g, size_t i) {
  return wk_val(g, g->inputs.data[i])->name;
}

/* The model keeps its names, and what it computes on the way is no reason for others. */
static void test_names(void **state) {
  (void)state;
  wk_step_options o = options();
  wk_import_report r;
  wk_step e;
  fixture f;
  build_of(&f, "4", "labels", "rate", ELEM_F32, &o);
  const wk_graph *g = f.m->main;
  assert_string_equal(input_name(g, 0), "labels");
  assert_string_equal(input_name(g, f.s.labels), "train.labels");
  assert_string_equal(input_name(g, f.s.rate), "train.rate");
  assert_string_equal(input_name(g, f.s.step), "step");
  assert_string_equal(input_name(g, f.plain), "rate");
  assert_string_equal(f.s.variables.data[0].name, "rate");
  assert_string_equal(f.s.labels_name, "train.labels");
  wk_module *m = model_of("4", "labels", "rate", ELEM_F32, WK_FOR_EVALUATION, &r);
  assert_null(wk_step_evaluation(m, &f.s, &o, &e));
  assert_string_equal(input_name(m->main, 0), "labels");
  assert_string_equal(input_name(m->main, e.labels), "train.labels");
  wk_step_free(&e);
  wk_import_report_free(&r);
  wk_module_free(m);
  drop(&f);
}

/* A gradient that is not finite beside a loss that is one: a square root's at 0, as in y = x w +
 * sqrt(0 w). With a limit of the norm, which every update waits for, nothing changes. */
static wk_module *rooted(wk_import_report *r) {
  builder b = new_model(13);
  add_weight(&b, "w", 2, begin);
  add_input(&b, b.g, "x", ELEM_F32, "4 2");
  add_node(&b, b.g, "MatMul", "x w", "h");
  add_node(&b, b.g, "Sub", "h h", "zero");
  add_node(&b, b.g, "Sqrt", "zero", "root");
  add_node(&b, b.g, "Add", "h root", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  return import_for(&b, WK_FOR_TRAINING, r);
}

static void test_gradient_not_finite(void **state) {
  (void)state;
  static const char *const name = "w";
  for (int limits = 0; limits < 2; limits++) {
    wk_step_options o = options();
    fixture f = {0};
    o.optimizer = WK_OPTIMIZER_ADAM;
    o.hypers = wk_optimizer_get(o.optimizer)->defaults;
    o.clip_norm = limits;
    f.m = rooted(&f.report);
    assert_null(wk_step_build(f.m, &f.report, &o, &name, 1, &f.s));
    f.plain = wk_graph_plain_inputs(f.m->main);
    f.n = f.m->main->inputs.n - f.plain;
    run(&f, 0, 4, 0.1, 1, true);
    assert_true(isfinite(f.loss) && !f.valid);
    for (size_t k = 0; k < f.n; k++) {
      const float *now = f.state[k].data;
      bool is_weight = !strcmp(input_name(f.m->main, f.plain + k), "w");
      for (int i = 0; limits && i < 2; i++)
        assert_true(now[i] == (is_weight ? begin[i] : 0.0f));
      if (!limits && is_weight) assert_false(isfinite(now[0]) && isfinite(now[1]));
    }
    drop(&f);
  }
}

static void test_evaluation(void **state) {
  (void)state;
  wk_step_options o = options();
  wk_import_report r;
  wk_step e;
  fixture f;
  build(&f, "4", &o);
  wk_module *m = model("4", WK_FOR_EVALUATION, &r);
  assert_null(wk_step_evaluation(m, &f.s, &o, &e));
  const wk_graph *g = m->main;
  assert_int_equal(g->inputs.n, 3); /* x, labels, w */
  assert_true(wk_is_variable(g, g->inputs.data[2]));
  const int64_t x_dims[2] = {4, 2}, y_dims[2] = {4, 1};
  wk_tensor in[3] = {{wk_type_make(WK_F32, 2, x_dims), (void *)(uintptr_t)samples},
                     {wk_type_make(WK_F32, 2, y_dims), (void *)(uintptr_t)targets}}, out[2];
  assert_null(wk_eval_graph(g, in, out, NULL, NULL));
  assert_int_equal(out[0].type.dims[0], 4);
  /* y[0] is -1.5, y[1] 2.5 */
  assert_true(fabsf(((const float *)out[0].data)[0] - 6.25f) < 1e-6f);
  assert_true(fabsf(((const float *)out[1].data)[1] - 2.5f) < 1e-6f);
  for (int i = 0; i < 2; i++) wk_tensor_free(&out[i]);
  wk_step_free(&e);
  wk_import_report_free(&r);
  wk_module_free(m);
  drop(&f);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct { const char *output, *weight, *error, *notes; } cases[] = {
      {"y", "spare", "nothing to train: the loss depends on none of the weights", NULL},
      {"y", NULL, "nothing to train: all weights are frozen", NULL},
      {"nobody", "w", "the model has no output 'nobody'; it has", "y\nz\n"}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_import_report r;
    wk_step s;
    wk_step_options o = options();
    o.output = cases[i].output;
    wk_module *m = model("4", WK_FOR_TRAINING, &r);
    wk_status st = wk_step_build(m, &r, &o, &cases[i].weight, cases[i].weight ? 1 : 0, &s);
    assert_non_null(st);
    if (!strstr(st->message, cases[i].error)) fail_msg("%s", st->message);
    if (cases[i].notes) assert_string_equal(st->notes, cases[i].notes);
    wk_status_free(st);
    wk_step_free(&s);
    wk_import_report_free(&r);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps),      cmocka_unit_test(test_clip),
      cmocka_unit_test(test_accumulate), cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_norm),       cmocka_unit_test(test_gradient_not_finite),
      cmocka_unit_test(test_halves),     cmocka_unit_test(test_names),
      cmocka_unit_test(test_sums_of_halves),
      cmocka_unit_test(test_evaluation), cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
