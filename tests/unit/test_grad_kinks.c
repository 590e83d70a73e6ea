/* SPDX-License-Identifier: Apache-2.0
 * Derivatives in f32 at kinks, ties and numbers of extreme size: those of PyTorch. What the check
 * by differences makes of kinks, and forms of operators that random graphs do not draw. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/grad/grad.h"

typedef struct {
  const char *op, *attrs;
  double a, b, da, db;
} kink;

static const kink kinks[] = {
#define KINK(op, attrs, a, b, da, db) {#op, attrs, a, b, da, db},
#include "tests/grad/kinks.def"
#undef KINK
};

/* Where PyTorch has NaN for the exponent, and so for all elements that it is broadcast to. */
static const kink negatives[] = {{"pow", "", -1.5, 2, -3, 0}, {"pow", "", -2, -1, -0.25, 0}};

/* The operator of one or two numbers, with its derivatives for outputs. A third operand is 4. */
static wk_module *module_of(const kink *k, int n) {
  char text[512];
  wk_module *m = NULL;
  snprintf(text, sizeof text,
           "module \"kink\" {\n  graph @main(%%a: f32[1]%s) {\n    %%c = constant f32[1] {4}\n"
           "    %%y = %s(%%a%s) {%s} : f32[1]\n    output %%y\n  }\n}\n",
           n > 1 ? ", %b: f32[1]" : "", k->op, n > 2 ? ", %b, %c" : n > 1 ? ", %b" : "", k->attrs);
  wk_status s = wk_module_parse(text, "kink", &m);
  if (s) fail_msg("%s: %s", text, s->message);
  wk_graph *g = m->main;
  wk_value_id of = g->outputs.data[0], wrt[2], out[2] = {WK_NONE, WK_NONE};
  n = n > 2 ? 2 : n;
  memcpy(wrt, g->inputs.data, (size_t)n * sizeof *wrt);
  const wk_grad_request r = {1, (size_t)n, &of, NULL, wrt, out};
  assert_null(wk_grad(g, &r));
  wk_graph_drop_outputs(g);
  for (int i = 0; i < n; i++) {
    wk_value_id d = out[i] == WK_NONE ? wrt[i] : out[i];
    wk_graph_output(g, out[i] == WK_NONE ? "zero" : i ? "db" : "da", d);
  }
  assert_null(wk_module_normalise(m));
  assert_null(wk_module_verify(m));
  return m;
}

/* Some are a difference from 1, in PyTorch too: an error of its last bit is none. */
static bool is_near(double got, double want) {
  return isfinite(got) && fabs(got - want) <= 2e-6 * fabs(want) + 0x1p-23;
}

static void check(const kink *rows, size_t n) {
  int bad = 0;
  for (size_t i = 0; i < n; i++) {
    const kink *k = &rows[i];
    wk_op op;
    assert_true(wk_op_from_name(k->op, strlen(k->op), &op));
    int n_in = wk_op_get(op)->max_in;
    wk_module *m = module_of(k, n_in);
    float a = (float)k->a, b = (float)k->b;
    const wk_type t = wk_val(m->main, m->main->inputs.data[0])->type;
    const wk_tensor in[] = {{t, &a}, {t, &b}};
    wk_tensor out[2] = {{.data = NULL}, {.data = NULL}};
    assert_null(wk_eval_graph(m->main, in, out, NULL, NULL));
    for (int o = 0; o < n_in && o < 2; o++) {
      bool is_zero = !strcmp(m->main->output_names.data[o], "zero");
      double got = is_zero ? 0 : (double)*(float *)out[o].data, want = o ? k->db : k->da;
      if (!is_near(got, want)) {
        print_message("%s(%g, %g) {%s}: derivative %d is %.9g, not %.9g\n", k->op, k->a, k->b,
                      k->attrs, o, got, want);
        bad++;
      }
      wk_tensor_free(&out[o]);
    }
    wk_module_free(m);
  }
  assert_int_equal(bad, 0);
}

static void test_kinks(void **state) {
  (void)state;
  check(kinks, WK_COUNTOF(kinks));
}

static void test_negatives(void **state) {
  (void)state;
  check(negatives, WK_COUNTOF(negatives));
}

/* ---- by differences -------------------------------------------------------------------------- */

/* One input of n numbers, all of which are tried. Returns how many of them are kinks. */
static int64_t check_differences(const char *body, const char *results, float *x, int64_t n) {
  char text[512];
  wk_module *m = NULL;
  wk_grad_check_report r;
  snprintf(text, sizeof text, "module \"m\" {\n  graph @main(%%x: f32[%lld]) {\n%s%s\n  }\n}\n",
           (long long)n, body, results);
  wk_status s = wk_module_parse(text, "m", &m);
  if (s) fail_msg("%s: %s", text, s->message);
  const wk_tensor in = {wk_val(m->main, m->main->inputs.data[0])->type, x};
  s = wk_grad_check(m, &(wk_grad_check_options){.inputs = &in, .seed = 1, .elements = (int)n}, &r);
  if (s) fail_msg("%s: %s", text, s->message);
  const wk_grad_check_row *row = &r.rows.data[0];
  assert_int_equal(row->tried, n);
  if (!(row->error <= 1e-6)) fail_msg("%s: error %g at %lld", text, row->error, (long long)row->at);
  int64_t count = row->kinks;
  wk_grad_check_free(&r);
  wk_module_free(m);
  return count;
}

/* Differences around a corner are stable, and half of what either side has: no error of the
 * adjoint. Where there is none, it counts. */
static void test_corners(void **state) {
  float x[] = {0, 1, -2, 0}, y[] = {0, 1, -2, 3}, far[] = {1000, 1001, -1000, 1000};
  (void)state;
  assert_int_equal(check_differences("%y = relu(%x)", "output %y", x, 4), 2);
  assert_int_equal(check_differences("%y = mul(%x, %x)", "output %y", y, 4), 0);
  assert_int_equal(check_differences("%k = constant f32[] {1000}\n%d = sub(%x, %k)\n%y = relu(%d)",
                                     "output %y", far, 4), 2);
  /* what bends by less than sums round to is none */
  assert_int_equal(check_differences("%k = constant f32[] {1e-12}\n%l = constant f32[] {1e3}\n"
                                     "%c = relu(%x)\n%s = mul(%c, %k)\n%p = mul(%x, %l)\n"
                                     "%t = add(%p, %l)\n%y = add(%s, %t)",
                                     "output %y", x, 4), 0);
}

/* Largest elements whose positions nobody reads; segments of a table's own rows, one of them left
 * out. */
static void test_forms(void **state) {
  float x[] = {3, 1, 4, 1.5f, -5, 9, 2, 6};
  (void)state;
  check_differences("%y, - = top_k(%x) {axis=0, k=3}\n%z = mul(%y, %y)", "output %z", x, 8);
  check_differences("%o = constant i64[3] {0, 1, 4}\n%t = reshape(%x) {shape=[4,2]}\n"
                    "%y = segment_reduce(%t, %o) {kind=\"mean\", padding=2}\n%z = mul(%y, %y)",
                    "output %z", x, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinks),
                                     cmocka_unit_test(test_negatives),
                                     cmocka_unit_test(test_corners), cmocka_unit_test(test_forms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
