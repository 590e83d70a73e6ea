/* SPDX-License-Identifier: Apache-2.0
 * Rows that a mask leaves nothing: what they give is replaced, and no NaN of theirs reaches a
 * derivative of the other rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/grad/grad.h"

static wk_module *parse(const char *body) {
  char text[2048];
  wk_module *m = NULL;
  snprintf(text, sizeof text, "module \"m\" {\n  graph @main(%s\n  }\n}\n", body);
  wk_status s = wk_module_parse(text, "m", &m);
  if (s) fail_msg("%s: %s", text, s->message);
  return m;
}

static void fill(const wk_graph *g, wk_tensor *in) {
  wk_rng rng = {5};
  for (size_t k = 0; k < g->inputs.n; k++) {
    const wk_type *t = &wk_val(g, g->inputs.data[k])->type;
    assert_null(wk_tensor_alloc(t, &in[k]));
    for (int64_t i = 0; i < wk_type_count(t); i++)
      wk_store_f64(in[k].data, t->dtype, i, wk_rng_normal(&rng));
  }
}

/* Sums of the gradient of each input, all of whose elements are finite. */
static void gradient_of(const char *body, double *sums) {
  wk_module *m = parse(body);
  wk_graph *g = m->main;
  size_t n = g->inputs.n;
  wk_tensor in[4], out[4] = {{.data = NULL}};
  wk_value_id of = g->outputs.data[0], wrt[4], d[4];
  fill(g, in);
  memcpy(wrt, g->inputs.data, n * sizeof *wrt);
  const wk_grad_request r = {1, n, &of, NULL, wrt, d};
  assert_null(wk_grad(g, &r));
  wk_graph_drop_outputs(g);
  for (size_t k = 0; k < n; k++) wk_graph_output(g, NULL, d[k]);
  assert_null(wk_module_normalise(m));
  assert_null(wk_eval_graph(g, in, out, NULL, NULL));
  for (size_t k = 0; k < n; k++) {
    sums[k] = 0;
    for (int64_t i = 0; i < wk_type_count(&out[k].type); i++) {
      double v = wk_load_f64(out[k].data, out[k].type.dtype, i);
      if (!isfinite(v)) fail_msg("input %zu, element %d: %g\n%s", k, (int)i, v, body);
      sums[k] += fabs(v);
    }
    wk_tensor_free(&out[k]);
    wk_tensor_free(&in[k]);
  }
  wk_module_free(m);
}

#define Q "%q: f32[2,4], %k: f32[3,4], %v: f32[3,4]"
#define ATTEND "%a = attention(%q, %k, %v, %m) {scale=0.5} : f32[2,4]\n"
#define GUARD                                                                                    \
  "%e = constant bool[2,1] {1, 0}\n%z = constant f32[] {0}\n%y = where(%e, %z, %a)\n"     \
  "output %y\n"
#define MASK "%m = constant f32[2,3] {-inf, -inf, -inf, 0, 0, -inf}\n"

/* The second row alone is as if there were no first one. */
static void test_attention(void **state) {
  double got[4], want[4];
  (void)state;
  gradient_of(Q ") {\n" MASK ATTEND GUARD, got);
  gradient_of("%o: f32[2,4], %k: f32[3,4], %v: f32[3,4]) {\n"
              "%q = slice(%o) {starts=[1,0], sizes=[1,4], steps=[1,1]}\n"
              "%m = constant f32[1,3] {0, 0, -inf}\n"
              "%a = attention(%q, %k, %v, %m) {scale=0.5} : f32[1,4]\noutput %a\n", want);
  for (int k = 0; k < 3; k++) assert_true(fabs(got[k] - want[k]) <= 1e-6);
  assert_true(want[0] > 0.01);
}

/* All rows are empty; the mask is an input, too. */
static void test_forms(void **state) {
  double got[4];
  (void)state;
  gradient_of(Q ") {\n%m = constant f32[1,3] {-inf, -inf, -inf}\n" ATTEND
              "%z = constant f32[] {0}\n%e = constant bool[2,1] {1, 1}\n"
              "%y = where(%e, %z, %a)\noutput %y\n", got);
  for (int k = 0; k < 3; k++) assert_true(got[k] == 0);
  gradient_of(Q ", %b: f32[2,3]) {\n%i = constant f32[2,1] {-inf, 0}\n%m = add(%b, %i)\n" ATTEND
              GUARD, got);
  assert_true(got[3] > 0);
  gradient_of("%q: f16[2,4], %k: f16[3,4], %v: f16[3,4]) {\n%m = constant f16[2,3] "
              "{-inf, -inf, -inf, 0, 0, -inf}\n%a = attention(%q, %k, %v, %m) {scale=0.5}\n"
              "%e = constant bool[2,1] {1, 0}\n%z = constant f16[] {0}\n"
              "%y = where(%e, %z, %a)\noutput %y\n", got);
}

/* Written out: softmax and its logarithm, and what is chosen instead. */
static void test_softmax(void **state) {
  static const char *const ops[] = {"softmax", "log_softmax"};
  double got[4];
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(ops); i++) {
    char text[1024];
    snprintf(text, sizeof text, "%%x: f32[2,3], %%w: f32[2,3]) {\n%s%%s = add(%%x, %%m)\n"
             "%%a = %s(%%s) {axis=1}\n%%e = constant bool[2,3] {1, 1, 1, 0, 0, "
             "1}\n%%z = constant f32[] {0}\n%%p = where(%%e, %%z, %%a)\n"
             "%%y = mul(%%p, %%w)\noutput %%y\n", MASK, ops[i]);
    gradient_of(text, got);
    assert_true(got[0] > 0 && got[1] > 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention), cmocka_unit_test(test_forms),
                                     cmocka_unit_test(test_softmax)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
