/* SPDX-License-Identifier: Apache-2.0
 * Weights of f16 and bf16: steps smaller than what these can tell apart, gradients that f16 would
 * round to 0 or to infinity, and what models make of the weights that are trained. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/train/step.h"

enum { N = 4, STATES = 8 };

static wk_module *model(const char *dtype) {
  char text[512];
  wk_module *m = NULL;
  snprintf(text, sizeof text,
           "module \"m\" {\n  graph @main(%%x: %s[4,1]) {\n    %%w = constant %s[1,1] {1}\n"
           "    %%y = matmul(%%x, %%w)\n    output %%y as \"y\"\n  }\n}\n", dtype, dtype);
  wk_status s = wk_module_parse(text, "m", &m);
  if (s) fail_msg("%s", s->message);
  return m;
}

typedef struct {
  wk_module *m;
  wk_step s;
  wk_tensor state[STATES]; /* data NULL: as it begins */
  size_t plain;
  bool valid;
} fixture;

static void build(fixture *f, const char *dtype, int64_t accumulate) {
  static const char *const names[] = {"w"};
  const wk_import_report r = {0};
  const wk_step_options o = {.output = "y", .loss = WK_LOSS_MSE, .optimizer = WK_OPTIMIZER_SGD,
                             .accumulate = accumulate};
  *f = (fixture){.m = model(dtype)};
  wk_status s = wk_step_build(f->m, &r, &o, names, 1, &f->s);
  if (s) fail_msg("%s", s->message);
  f->plain = wk_graph_plain_inputs(f->m->main);
}

static void drop(fixture *f) {
  for (size_t k = 0; k < STATES; k++) wk_tensor_free(&f->state[k]);
  wk_step_free(&f->s);
  wk_module_free(f->m);
}

/* Of samples that are all x, whose target is t. */
static void run(fixture *f, double x, double t, double rate, bool apply) {
  const wk_graph *g = f->m->main;
  uint16_t samples[N];
  float targets[N];
  int64_t step = 1;
  const wk_type *type = &wk_val(g, g->inputs.data[0])->type;
  wk_tensor in[16] = {{*type, samples}}, out[16] = {{.data = NULL}};
  for (int i = 0; i < N; i++) {
    wk_store_f64(samples, type->dtype, i, x);
    targets[i] = (float)t;
  }
  in[f->s.labels] = (wk_tensor){wk_val(g, g->inputs.data[f->s.labels])->type, targets};
  in[f->s.rate] = (wk_tensor){wk_type_make(WK_F64, 0, NULL), &rate};
  in[f->s.step] = (wk_tensor){wk_type_make(WK_I64, 0, NULL), &step};
  if (f->s.apply != WK_STEP_NONE)
    in[f->s.apply] = (wk_tensor){wk_type_make(WK_BOOL, 0, NULL), &apply};
  for (size_t k = f->plain; k < g->inputs.n; k++) in[k] = f->state[k - f->plain];
  assert_null(wk_eval_graph(g, in, out, NULL, NULL));
  f->valid = *(const bool *)out[f->s.valid].data;
  for (size_t i = 0; i < g->outputs.n; i++)
    for (size_t k = f->plain; k < g->inputs.n; k++) {
      if (g->updates.data[i] != g->inputs.data[k]) continue;
      wk_tensor_free(&f->state[k - f->plain]);
      f->state[k - f->plain] = out[i];
      out[i] = (wk_tensor){0};
    }
  for (size_t i = 0; i < g->outputs.n; i++) wk_tensor_free(&out[i]);
}

static double value(const fixture *f, const char *name) {
  const wk_graph *g = f->m->main;
  for (size_t k = f->plain; k < g->inputs.n; k++) {
    const wk_value *v = wk_val(g, g->inputs.data[k]);
    if (!strcmp(v->name, name)) return wk_load_f64(f->state[k - f->plain].data, v->type.dtype, 0);
  }
  return NAN;
}

static void test_small_steps(void **state) {
  static const char *const dtypes[] = {"f16", "bf16"};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(dtypes); i++) {
    fixture f;
    build(&f, dtypes[i], 1);
    for (int k = 0; k < 100; k++) run(&f, 1, 2, 1e-5, true);
    assert_true(f.valid);
    assert_true(fabs(value(&f, "w") - 1.002) < 1e-5);
    for (size_t k = 0; k < f.s.variables.n; k++) {
      const wk_step_variable *v = &f.s.variables.data[k];
      assert_int_equal(v->type.dtype, WK_F32);
      if (v->is_weight) assert_int_equal(v->stored, i ? WK_BF16 : WK_F16);
    }
    assert_true(isnan(value(&f, "loss.scale")) == (i == 1)); /* bf16 needs none */
    drop(&f);
  }
}

/* A gradient of 2^-25, of which f16 makes 0. */
static void test_small_gradients(void **state) {
  (void)state;
  fixture f;
  build(&f, "f16", 1);
  run(&f, 0x1p-6, 0x1p-6 - 0x1p-20, 0x1p20, true);
  assert_true(f.valid);
  assert_true(value(&f, "w") == 1 - 0x1p-5);
  drop(&f);
}

/* Steps whose gradients overflow change nothing, until the scale is small enough. */
static void test_large_gradients(void **state) {
  (void)state;
  fixture f;
  build(&f, "f16", 1);
  for (int k = 0; k < 4; k++) {
    run(&f, 256, 255, 0x1p-20, true);
    assert_true(f.valid);
    assert_true(value(&f, "w") == 1 && value(&f, "loss.scale") == 1024 >> (k + 1));
  }
  run(&f, 256, 255, 0x1p-20, true);
  assert_true(value(&f, "w") == 1 - 0x1p-11 && value(&f, "loss.scale") == 64);
  assert_true(value(&f, "loss.steps") == 1);
  run(&f, 60000, -60000, 1, true); /* no scale is small enough: in the end the run says so */
  for (int k = 0; k < 8 && f.valid; k++) run(&f, 60000, -60000, 1, true);
  assert_false(f.valid);
  assert_true(value(&f, "loss.scale") == 1 && value(&f, "w") == 1 - 0x1p-11);
  drop(&f);
}

/* Over several batches it is what ends a step that counts. */
static void test_batches(void **state) {
  (void)state;
  fixture f;
  build(&f, "f16", 2);
  run(&f, 256, 255, 0x1p-20, false);
  assert_true(f.valid && value(&f, "loss.scale") == 1024);
  run(&f, 256, 255, 0x1p-20, true);
  assert_true(f.valid && value(&f, "loss.scale") == 512 && value(&f, "w") == 1);
  for (int k = 0; k < 8; k++) run(&f, 256, 255, 0x1p-20, k % 2);
  assert_true(value(&f, "loss.scale") == 64 && value(&f, "w") == 1 - 0x1p-11);
  drop(&f);
}

/* The evaluation and the model compute with the rounding of the weight that is trained. */
static void test_entries(void **state) {
  (void)state;
  fixture f;
  wk_step e;
  const wk_step_options o = {.output = "y", .loss = WK_LOSS_MSE, .accumulate = 1};
  build(&f, "f16", 1);
  wk_module *m[] = {model("f16"), model("f16")};
  assert_null(wk_step_inference(m[0], &f.s));
  assert_null(wk_step_evaluation(m[1], &f.s, &o, &e));
  for (int i = 0; i < 2; i++) {
    const wk_graph *g = m[i]->main;
    const wk_value *w = wk_val(g, g->inputs.data[wk_graph_plain_inputs(g)]);
    assert_string_equal(w->name, "w");
    assert_int_equal(w->type.dtype, WK_F32);
    assert_true(*(const float *)w->initial == 1);
  }
  assert_int_equal(wk_val(m[0]->main, m[0]->main->outputs.data[0])->type.dtype, WK_F16);
  wk_step_free(&e);
  wk_module_free(m[0]);
  wk_module_free(m[1]);
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_steps), cmocka_unit_test(test_small_gradients),
      cmocka_unit_test(test_large_gradients), cmocka_unit_test(test_batches),
      cmocka_unit_test(test_entries)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
