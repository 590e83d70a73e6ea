/* SPDX-License-Identifier: Apache-2.0
 * What the check of derivatives by differences reports, where they differ: of operators that round,
 * whose derivatives are straight through them by design, and so known to be others. */
#include "tests/unit/case_text.h"

#include "compiler/grad/grad.h"

/* What there is to say of an input. */
typedef struct {
  const char *name;
  int64_t tried, kinks, at;
  double ratio; /* adjoint / difference; 0: neither */
  double error;
} row;

typedef struct {
  const char *what, *graph, *of; /* of: an output; NULL: all */
  const char *in[2];
  int elements;
  row rows[2];
} report_case;

/* Derivative w + 1, which differences see as 1: steps of fake_quantize are 1 wide, x lies between
 * two. */
#define ROUNDED                                                                      \
  "%s = constant f64[] {1}\n%z = constant f64[] {0}\n"                                 \
  "%f = fake_quantize(%x, %s, %z) {lo=-100.0, hi=100.0} : f64[4]\n"                    \
  "%g = mul(%f, %w) : f64[4]\n%y = add(%g, %x) : f64[4]\n"

static const report_case cases[] = {
    {"right", "%y = mul(%x, %w) : f64[4]\noutput %y\n", NULL,
     {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{0,1,3,1}"}, 9,
     {{"x", 4, 0, 0, 0, 0}, {"w", 4, 0, 0, 1, 0}}},
    {"the worst of all", ROUNDED "output %y\n", NULL,
     {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{0,1,3,1}"}, 9,
     {{"x", 4, 0, 2, 4, 0.75}, {"w", 4, 0, 0, 1, 0}}},
    {"one of two that are worst", ROUNDED "output %y\n", NULL,
     {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{0,3,3,1}"}, 9,
     {{"x", 4, 0, -2, 4, 0.75}, {"w", 4, 0, 0, 1, 0}}},
    {"the last", ROUNDED "output %y\n", NULL,
     {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{0,1,3,7}"}, 9,
     {{"x", 4, 0, 3, 8, 0.875}, {"w", 4, 0, 0, 1, 0}}},
    {"jumps are no errors", ROUNDED "output %y\n", NULL,
     {"f64[4]{1.25,2.5,3.25,4.5}", "f64[4]{0,3,1,9}"}, 9,
     {{"x", 4, 2, 2, 2, 0.5}, {"w", 4, 0, 0, 1, 0}}},
    {"of one output", ROUNDED "%o = neg(%x) : f64[4]\noutput %y\noutput %o\n", "o",
     {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{0,1,3,1}"}, 9,
     {{"x", 4, 0, 0, 1, 0}, {"w", 4, 0, 0, 0, 0}}},
    {"some elements of many", "%y = mul(%x, %w) : f64[4]\noutput %y\n", NULL,
     {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{1,1,3,1}"}, 3,
     {{"x", 3, 0, -2, 1, 0}, {"w", 3, 0, -2, 1, 0}}},
    {"just as many as there are", "%y = mul(%x, %w) : f64[4]\noutput %y\n", NULL,
     {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{1,1,3,1}"}, 4,
     {{"x", 4, 0, 0, 1, 0}, {"w", 4, 0, 0, 1, 0}}},
    {"none where all are kinks", ROUNDED "output %y\n", NULL,
     {"f64[4]{1.5,2.5,3.5,4.5}", "f64[4]{1,2,3,4}"}, 9,
     {{"x", 4, 4, -1, 0, 0}, {"w", 4, 0, 0, 1, 0}}},
    {"no derivative at all", "%f = floor(%x) : f64[4]\n%y = add(%f, %w) : f64[4]\noutput %y\n",
     NULL, {"f64[4]{1.25,2.25,3.25,4.25}", "f64[4]{1,2,3,4}"}, 9,
     {{"x", 4, 0, 0, 0, 0}, {"w", 4, 0, 0, 1, 0}}},
};

static void check_case(const report_case *c) {
  char text[1024];
  wk_module *m = NULL;
  snprintf(text, sizeof text,
           "module \"m\" {\ngraph @main(%%x: f64[4], %%w: f64[4]) {\n%s}\n}\n", c->graph);
  wk_status s = wk_module_parse(text, "case", &m);
  if (!s) s = wk_module_normalise(m);
  if (s) fail_msg("%s: %s", c->what, s->message);
  wk_tensor in[2] = {case_tensor(c->in[0]), case_tensor(c->in[1])};
  wk_grad_check_options o = {.of = c->of, .inputs = in, .seed = 3, .elements = c->elements};
  wk_grad_check_report r;
  s = wk_grad_check(m, &o, &r);
  if (s) fail_msg("%s: %s", c->what, s->message);
  assert_true(r.rows.n >= 2);
  for (size_t k = 0; k < 2; k++) {
    const wk_grad_check_row *got = &r.rows.data[k];
    const row *want = &c->rows[k];
    bool at = want->at == -2 || got->at == want->at;
    assert_string_equal(got->name, want->name);
    assert_true(got->type.rank == 1 && got->type.dims[0] == 4);
    bool same = got->tried == want->tried && got->kinks == want->kinks && at &&
                fabs(got->error - want->error) < 1e-6;
    if (want->ratio > 0 && got->at >= 0)
      same = same && fabs(got->adjoint / got->difference - want->ratio) < 1e-5;
    if (!same)
      fail_msg("%s, %s: %d tried, %d kinks, at %d: %g and %g, error %g", c->what, got->name,
               (int)got->tried, (int)got->kinks, (int)got->at, got->adjoint, got->difference,
               got->error);
  }
  double worst = 0;
  for (size_t k = 0; k < r.rows.n; k++) worst = fmax(worst, r.rows.data[k].error);
  assert_true(r.worst == worst && (r.rows.n == 2 || !strcmp(r.rows.data[2].name, "s")));
  wk_grad_check_free(&r);
  assert_true(r.rows.n == 0 && !r.arena);
  for (int k = 0; k < 2; k++) wk_tensor_free(&in[k]);
  wk_module_free(m);
}

static void reports(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) check_case(&cases[i]);
}

/* The weights that outputs are drawn, by seed, and halves that are widened. */
static void seeds(void **state) {
  (void)state;
  double adjoint[3];
  for (int k = 0; k < 3; k++) {
    wk_module *m = NULL;
    assert_null(wk_module_parse("module \"m\" {\ngraph @main(%x: f16[1]) {\n%y = neg(%x) : f16[1]\n"
                                "output %y\n}\n}\n", "case", &m));
    wk_tensor in = case_tensor("f16[1]{1.5}");
    wk_grad_check_options o = {.inputs = &in, .seed = k == 2 ? 9 : 4, .elements = 1};
    wk_grad_check_report r;
    assert_null(wk_grad_check(m, &o, &r));
    adjoint[k] = r.rows.data[0].adjoint;
    assert_true(adjoint[k] > -1.5 && adjoint[k] <= -0.5);
    assert_true(r.rows.data[0].error == 0);
    wk_grad_check_free(&r);
    wk_tensor_free(&in);
    wk_module_free(m);
  }
  assert_true(adjoint[0] == adjoint[1] && adjoint[0] != adjoint[2]);
}

static void unknown_output(void **state) {
  (void)state;
  wk_module *m = NULL;
  assert_null(wk_module_parse("module \"m\" {\ngraph @main(%x: f32[1]) {\n%y = neg(%x) : f32[1]\n"
                              "output %y\n}\n}\n", "case", &m));
  wk_tensor in = case_tensor("f32[1]{1.5}");
  wk_grad_check_options o = {.of = "z", .inputs = &in, .elements = 1};
  wk_grad_check_report r;
  wk_status s = wk_grad_check(m, &o, &r);
  assert_string_equal(s ? s->message : "", "the model has no output 'z'");
  assert_int_equal(s->code, WK_INPUT);
  wk_status_free(s);
  wk_grad_check_free(&r);
  wk_tensor_free(&in);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reports), cmocka_unit_test(seeds),
                                     cmocka_unit_test(unknown_output)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
