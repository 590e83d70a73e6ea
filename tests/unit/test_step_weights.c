/* SPDX-License-Identifier: Apache-2.0
 * Steps of several weights at once, against the formulas: y = (x w) s + b for four samples. What a
 * norm is of all gradients, what of them is limited, added up over batches and in which order
 * variables stand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/train/step.h"
#include "tests/unit/model_builder.h"

enum { N = 4, WEIGHTS = 4 }; /* w[0], w[1], s, b */
static const float samples[N][2] = {{1, 2}, {3, -1}, {0, 4}, {-2, 0.5f}};
static const float targets[N] = {1, 0, 2, -3};
static const double begin[WEIGHTS] = {0.5, -1, 1.5, 0.25};
/* Not in the order in which the model has them. */
static const char *const names[] = {"s", "w", "b"};
static const int first_of[] = {2, 0, 3}, count_of[] = {1, 2, 1};

static wk_module *model(wk_import_report *r) {
  const float w[2] = {0.5f, -1}, s = 1.5f, b0 = 0.25f;
  const int64_t dims[2] = {2, 1}, one = 1;
  builder b = new_model(13);
  ADD(&b, b.g->initializer, b.g->n_initializer,
      raw_tensor(&b, "w", ELEM_F32, 2, dims, w, sizeof w));
  ADD(&b, b.g->initializer, b.g->n_initializer,
      raw_tensor(&b, "s", ELEM_F32, 1, &one, &s, sizeof s));
  ADD(&b, b.g->initializer, b.g->n_initializer,
      raw_tensor(&b, "b", ELEM_F32, 1, &one, &b0, sizeof b0));
  add_input(&b, b.g, "x", ELEM_F32, "2 2");
  add_node(&b, b.g, "MatMul", "x w", "h");
  add_node(&b, b.g, "Mul", "h s", "t");
  add_node(&b, b.g, "Add", "t b", "y");
  add_output(&b, b.g, "y", ELEM_F32);
  return import_for(&b, WK_FOR_TRAINING, r);
}

/* Of the mean square error of samples first, first + 1. */
static void gradient(const double *v, int first, double *out) {
  memset(out, 0, WEIGHTS * sizeof *out);
  for (int i = first; i < first + 2; i++) {
    double h = (double)samples[i][0] * v[0] + (double)samples[i][1] * v[1];
    double d = h * v[2] + v[3] - (double)targets[i];
    for (int k = 0; k < 2; k++) out[k] += d * (double)samples[i][k] * v[2];
    out[2] += d * h;
    out[3] += d;
  }
}

typedef struct {
  wk_module *m;
  wk_import_report report;
  wk_step s;
  wk_tensor state[16];
  size_t plain, n;
  double norm;
} fixture;

static void build(fixture *f, const wk_step_options *o) {
  *f = (fixture){.norm = NAN};
  f->m = model(&f->report);
  wk_status s = wk_step_build(f->m, &f->report, o, names, WK_COUNTOF(names), &f->s);
  if (s) fail_msg("%s", s->message);
  f->plain = wk_graph_plain_inputs(f->m->main);
  f->n = f->m->main->inputs.n - f->plain;
}

static void drop(fixture *f) {
  for (size_t i = 0; i < f->n; i++) wk_tensor_free(&f->state[i]);
  wk_step_free(&f->s);
  wk_import_report_free(&f->report);
  wk_module_free(f->m);
}

static void run(fixture *f, int first, int64_t step, bool apply) {
  const wk_graph *g = f->m->main;
  const int64_t x_dims[2] = {2, 2}, y_dims[2] = {2, 1};
  double rate = 0.02;
  wk_tensor in[24] = {{wk_type_make(WK_F32, 2, x_dims), (void *)(uintptr_t)samples[first]}};
  wk_tensor out[24];
  in[f->s.labels] =
      (wk_tensor){wk_type_make(WK_F32, 2, y_dims), (void *)(uintptr_t)&targets[first]};
  in[f->s.rate] = (wk_tensor){wk_type_make(WK_F64, 0, NULL), &rate};
  in[f->s.step] = (wk_tensor){wk_type_make(WK_I64, 0, NULL), &step};
  if (f->s.apply != WK_STEP_NONE)
    in[f->s.apply] = (wk_tensor){wk_type_make(WK_BOOL, 0, NULL), &apply};
  for (size_t i = 0; i < f->n; i++) {
    const wk_value *v = wk_val(g, g->inputs.data[f->plain + i]);
    in[f->plain + i] = f->state[i].data
                           ? f->state[i] : (wk_tensor){v->type, (void *)(uintptr_t)v->initial};
  }
  wk_status s = wk_eval_graph(g, in, out, NULL, NULL);
  if (s) fail_msg("%s", s->message);
  assert_true(*(const bool *)out[f->s.valid].data);
  if (f->s.norm != WK_STEP_NONE) f->norm = wk_load_f64(out[f->s.norm].data, WK_F32, 0);
  for (size_t i = 0; i < g->outputs.n; i++)
    for (size_t k = 0; k < f->n; k++) {
      if (g->updates.data[i] != g->inputs.data[f->plain + k]) continue;
      wk_tensor_free(&f->state[k]);
      f->state[k] = out[i];
      out[i] = (wk_tensor){0};
    }
  for (size_t i = 0; i < g->outputs.n; i++) wk_tensor_free(&out[i]);
}

static void expect(const fixture *f, const double *v) {
  for (size_t k = 0; k < WK_COUNTOF(names); k++)
    for (size_t i = 0; i < f->n; i++) {
      const wk_graph *g = f->m->main;
      if (strcmp(wk_val(g, g->inputs.data[f->plain + i])->name, names[k])) continue;
      for (int e = 0; e < count_of[k]; e++) {
        double got = (double)((const float *)f->state[i].data)[e];
        double want = v[first_of[k] + e];
        if (fabs(got - want) > 4e-6 * fmax(1, fabs(want)))
          fail_msg("%s[%d] is %.9g instead of %.9g", names[k], e, got, want);
      }
    }
}

static double norm_of(const double *g) {
  double sum = 0;
  for (int k = 0; k < WEIGHTS; k++) sum += g[k] * g[k];
  return sqrt(sum);
}

/* Steps of SGD with momentum; batches: of each step. limit: of the norm, 0: none. */
static void check(int batches, double limit) {
  wk_step_options o = {.output = "y", .loss = WK_LOSS_MSE, .optimizer = WK_OPTIMIZER_MOMENTUM,
                       .hypers = wk_optimizer_get(WK_OPTIMIZER_MOMENTUM)->defaults,
                       .accumulate = batches, .clip_norm = limit, .has_norm = true};
  fixture f;
  double v[WEIGHTS], speed[WEIGHTS] = {0}, g[WEIGHTS], sum[WEIGHTS];
  memcpy(v, begin, sizeof v);
  o.hypers.momentum = 0.5;
  build(&f, &o);
  for (int64_t step = 1; step <= 3; step++) {
    memset(sum, 0, sizeof sum);
    for (int b = 0; b < batches; b++) {
      int first = (int)(b + step) % 2 * 2;
      gradient(v, first, g);
      for (int k = 0; k < WEIGHTS; k++) sum[k] += g[k] / batches;
      run(&f, first, step, b + 1 == batches);
      if (b + 1 < batches) expect(&f, v);
    }
    double norm = norm_of(sum), by = limit > 0 ? fmin(1, limit / (norm + 1e-6)) : 1;
    if (fabs(f.norm - norm) > 1e-5 * norm) fail_msg("norm %.9g, not %.9g", f.norm, norm);
    for (int k = 0; k < WEIGHTS; k++) {
      speed[k] = 0.5 * speed[k] + by * sum[k];
      v[k] -= 0.02 * speed[k];
    }
    expect(&f, v);
  }
  drop(&f);
}

static void all_weights_move(void **state) {
  (void)state;
  check(1, 0);
  check(1, 0.75);
  check(1, 1e6); /* never reached */
  check(2, 0);
  check(3, 0);
  check(2, 0.75);
}

/* Names in order, then how many nodes: what all weights share is computed once. */
static void variables(void **state) {
  (void)state;
  static const struct {
    wk_optimizer_kind kind;
    int accumulate;
    const char *variables;
    size_t nodes;
  } rows[] = {{WK_OPTIMIZER_SGD, 1, "s! w! b!", 34},
              {WK_OPTIMIZER_MOMENTUM, 1, "s.m s! w.m w! b.m b!", 34},
              {WK_OPTIMIZER_ADAM, 1, "s.m s.v s! w.m w.v w! b.m b.v b!", 34},
              {WK_OPTIMIZER_ADAM, 2,
               "s.sum w.sum b.sum s.m s.v s! w.m w.v w! b.m b.v b!", 47}};
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_step_options o = {.output = "y", .loss = WK_LOSS_MSE, .optimizer = rows[i].kind,
                         .hypers = wk_optimizer_get(rows[i].kind)->defaults,
                         .accumulate = rows[i].accumulate};
    fixture f;
    wk_str b = {0};
    build(&f, &o);
    for (size_t k = 0; k < f.s.variables.n; k++) {
      const wk_step_variable *v = &f.s.variables.data[k];
      wk_str_printf(&b, k ? " %s%s" : "%s%s", v->name, v->is_weight ? "!" : "");
    }
    if (strcmp(b.s, rows[i].variables) || f.m->main->nodes.n != rows[i].nodes) {
      differ++;
      print_message("\"%s\", %zu\n", b.s, f.m->main->nodes.n);
    }
    assert_int_equal(f.s.variables.n, f.n);
    wk_str_free(&b);
    drop(&f);
  }
  assert_int_equal(differ, 0);
}

/* y of h, the product; where nothing goes back to the weights it is said why not. */
static const struct {
  const char *op, *second; /* then y is op(h), or op(h, second) */
  int to;                  /* of a Cast */
  const char *says;
} between[] = {
    {"Neg", "", 0, NULL},
    {"Floor", "", 0,
     "nothing to train: between the weights and the loss is the floor 'between', whose derivative "
     "is 0"},
    {"Sign", "", 0,
     "nothing to train: between the weights and the loss is the sign 'between', whose derivative "
     "is 0"},
    {"Sub", "h", 0, NULL}, /* 0, but not for a reason of kind */
    {"Cast", "", 6, "the output 'y' is of i32: a loss, and what one is of, has floats"},
    {"Cast", "", 11, NULL},
};

static void refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(between); i++) {
    const float w[2] = {0.5f, -1};
    const int64_t dims[2] = {2, 1};
    static const char *const only = "w";
    char in[8];
    wk_import_report r;
    wk_step step;
    wk_module *m;
    builder b = new_model(13);
    ADD(&b, b.g->initializer, b.g->n_initializer,
        raw_tensor(&b, "w", ELEM_F32, 2, dims, w, sizeof w));
    add_input(&b, b.g, "x", ELEM_F32, "2 2");
    add_node(&b, b.g, "MatMul", "x w", "h");
    snprintf(in, sizeof in, *between[i].second ? "h %s" : "h", between[i].second);
    Onnx__NodeProto *n = add_node(&b, b.g, between[i].op, in, "y");
    n->name = wk_arena_strdup(b.a, "between");
    if (between[i].to) set_int(&b, n, "to", between[i].to);
    add_output(&b, b.g, "y", between[i].to ? between[i].to : ELEM_F32);
    m = import_for(&b, WK_FOR_TRAINING, &r);
    const wk_step_options o = {.output = "y", .loss = WK_LOSS_MSE, .optimizer = WK_OPTIMIZER_SGD,
                               .accumulate = 1};
    wk_status s = wk_step_build(m, &r, &o, &only, 1, &step);
    assert_string_equal(s ? s->message : "", between[i].says ? between[i].says : "");
    if (s) assert_int_equal(s->code, between[i].to ? WK_USAGE : WK_UNSUPPORTED);
    wk_status_free(s);
    wk_step_free(&step);
    wk_import_report_free(&r);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_weights_move),
                                     cmocka_unit_test(variables), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
