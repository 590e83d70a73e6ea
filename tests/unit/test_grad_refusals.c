/* SPDX-License-Identifier: Apache-2.0
 * What cannot be differentiated, in whole sentences, and the nearest that can. */
#include "tests/unit/case_text.h"

#include "compiler/grad/grad.h"

#define MATMUL_EXTRAS(n) "%y = matmul(%x, %x, -" n
#define FOUR ", %x, %x, %x, %x"
#define THREE ", %x, %x, %x"

static const struct {
  const char *graph; /* y of x */
  const char *says;  /* NULL: it has a gradient */
  const char *place;
} cases[] = {
    {"graph @main(%x: f32[4]) {\n%y = neg(%x) : f32[4]\noutput %y\n}\n", NULL, NULL},
    {"graph @main(%x: f32[4]) {\n%y = cast(%x) {to=i32} : i32[4]\noutput %y\n}\n",
     "i32 has no gradient", "y"},
    {"graph @main(%x: f32[4]) {\n%y = cast(%x) {to=f16} : f16[4]\noutput %y\n}\n", NULL, NULL},
    {"graph @main(%x: bool[]) {\n%y = not(%x) : bool[]\noutput %y\n}\n", "bool has no gradient",
     "y"},
    {"graph @main(%x: f32[4,4]) {\n" MATMUL_EXTRAS(THREE THREE)
     ") {epilogue=\"add(add(add(add(%0, %1), add(%2, %3)), add(%4, %5)), %6)\"} : f32[4,4]\n"
     "output %y\n}\n", NULL, NULL}, /* the sum and six more */
    {"graph @main(%x: f32[4,4]) {\n" MATMUL_EXTRAS(FOUR THREE)
     ") {epilogue=\"add(add(add(add(%0, %1), add(%2, %3)), add(%4, %5)), add(%6, %7))\"} : "
     "f32[4,4] \"product\"\noutput %y\n}\n",
     "an epilogue of more than 7 tensors (while differentiating matmul)", "product"},
    {"graph @main(%x: f32[4]) {\n%y = reduce(%x" FOUR THREE
     ") {axes=[0], pre=\"add(add(add(%0, %1), add(%2, %3)), add(add(%4, %5), add(%6, %7)))\"} "
     ": f32[1]\noutput %y\n}\n", NULL, NULL},
    {"graph @main(%x: f32[4]) {\n%y = reduce(%x" FOUR FOUR
     ") {axes=[0], pre=\"add(add(add(%0, %1), add(%2, %3)), add(add(%4, %5), add(%6, add(%7, "
     "%8))))\"} : f32[1]\noutput %y\n}\n",
     "a fold of more than 8 tensors (while differentiating reduce)", NULL},
    {"graph @main(%x: f32[1,1,1,1,1,1,2]) {\n%y = loop(-, %x) {trip=3, n_state=1} do @body : "
     "f32[1,1,1,1,1,1,2]\noutput %y\n}\n"
     "graph @body(%i: i64[], %s: f32[1,1,1,1,1,1,2]) {\n%t = tanh(%s) : f32[1,1,1,1,1,1,2]\n"
     "output %t\n}\n", NULL, NULL},
    {"graph @main(%x: f32[1,1,1,1,1,1,1,2]) {\n%y = loop(-, %x) {trip=3, n_state=1} do @body : "
     "f32[1,1,1,1,1,1,1,2] \"again\"\noutput %y\n}\n"
     "graph @body(%i: i64[], %s: f32[1,1,1,1,1,1,1,2]) {\n%t = sin(%s) : f32[1,1,1,1,1,1,1,2]\n"
     "output %t\n}\n",
     "a state of rank 8 cannot be kept per iteration (while differentiating loop)", "again"},
    {"graph @main(%x: f32[1,1,1,1,1,1,1,2]) {\n%y = loop(-, %x) {trip=3, n_state=1} do @body : "
     "f32[1,1,1,1,1,1,1,2]\noutput %y\n}\n"
     "graph @body(%i: i64[], %s: f32[1,1,1,1,1,1,1,2]) {\n%t = neg(%s) : f32[1,1,1,1,1,1,1,2]\n"
     "output %t\n}\n", NULL, NULL}, /* which the way back does not need */
    {"graph @main(%x: f32[1024]) {\n%k = constant bool[] {1}\n%y = loop(%k, %x) "
     "{trip=9223372036854775807, n_state=1, has_cond=1} do @body : f32[1024] \"long\"\n"
     "output %y\n}\n"
     "graph @body(%i: i64[], %s: f32[1024]) {\n%k = constant bool[] {0}\n%t = sin(%s) : f32[1024]\n"
     "output %k\noutput %t\n}\n",
     "it may run 9223372036854775807 times, and what the way back needs of all iterations is too "
     "large (while differentiating loop)", "long"},
    {"graph @main(%x: f32[1024]) {\n%k = constant bool[] {1}\n%y = loop(%k, %x) "
     "{trip=9223372036854775807, n_state=1, has_cond=1} do @body : f32[1024]\n"
     "output %y\n}\n"
     "graph @body(%i: i64[], %s: f32[1024]) {\n%k = constant bool[] {0}\n%t = neg(%s) : f32[1024]\n"
     "output %k\noutput %t\n}\n", NULL, NULL},
    {"graph @main(%x: f32[1,1,4,4]) {\n%r = constant f32[1,4] {0, 0, 2, 2}\n"
     "%b = constant i64[1] {0}\n%y = roi_align(%x, %r, %b) {height=2, width=2, samples=1, "
     "mode=\"max\"} : f32[1,1,2,2] \"regions\"\noutput %y\n}\n",
     "maxima of samples have no gradient (while differentiating roi_align)", "regions"},
    {"graph @main(%x: f32[1,1,4,4]) {\n%r = constant f32[1,4] {0, 0, 2, 2}\n"
     "%b = constant i64[1] {0}\n%y = roi_align(%x, %r, %b) {height=2, width=2, samples=0} : "
     "f32[1,1,2,2]\noutput %y\n}\n",
     "how many samples there are depends on the regions (while differentiating roi_align)", NULL},
    {"graph @main(%x: f32[1,1,4,4]) {\n%r = constant f32[1,4] {0, 0, 2, 2}\n"
     "%b = constant i64[1] {0}\n%y = roi_align(%x, %r, %b) {height=2, width=2, samples=1} : "
     "f32[1,1,2,2]\noutput %y\n}\n", NULL, NULL},
};

static void refusals(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0};
    wk_module *m;
    wk_str_printf(&text, "module \"m\" {\n%s}\n", cases[i].graph);
    wk_status s = wk_module_parse(text.s, "case", &m);
    if (!s) s = wk_module_normalise(m);
    if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
    wk_value_id of = m->main->outputs.data[0], wrt = m->main->inputs.data[0], out = WK_NONE;
    s = wk_grad(m->main, &(wk_grad_request){1, 1, &of, NULL, &wrt, &out});
    const char *place = s && s->place ? s->place : "", *want = cases[i].place;
    if (strcmp(s ? s->message : "", cases[i].says ? cases[i].says : "") ||
        (want && strcmp(place, want))) {
      differ++;
      print_message("%zu: '%s': %s\n", i, place, s ? s->message : "fine");
    }
    if (s) assert_int_equal(s->code, strstr(s->message, "has no gradient") ? WK_INPUT
                                                                            : WK_UNSUPPORTED);
    if (!s) {
      wk_graph_output(m->main, "dx", out == WK_NONE ? wrt : out);
      assert_null(wk_module_normalise(m));
      assert_null(wk_module_verify(m));
    }
    wk_status_free(s);
    wk_str_free(&text);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

/* One operator of each kind, by the names that users read. */
static void kinds(void **state) {
  (void)state;
  static const struct { wk_op op; wk_adjoint_kind kind; const char *name; bool exists; } rows[] = {
      {WK_OP_EXP, WK_ADJOINT_EXPRESSION, "definition", true},
      {WK_OP_SIGMOID, WK_ADJOINT_OWN, "own expression", true},
      {WK_OP_FAKE_QUANTIZE, WK_ADJOINT_STRAIGHT, "straight through", true},
      {WK_OP_CONV, WK_ADJOINT_RULE, "rule", true},
      {WK_OP_LSTM, WK_ADJOINT_LOWER, "primitives", true},
      {WK_OP_FLOOR, WK_ADJOINT_CONSTANT, "constant", true},
      {WK_OP_ARG_MAX, WK_ADJOINT_NO_PATH, "no path", false}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    const char *note = NULL;
    assert_int_equal(wk_adjoint_of(rows[i].op, &note), rows[i].kind);
    assert_string_equal(wk_adjoint_kind_name(rows[i].kind), rows[i].name);
    assert_int_equal(wk_adjoint_exists(rows[i].kind), rows[i].exists);
    assert_string_equal(note, "");
  }
  assert_string_equal(wk_adjoint_kind_name(WK_ADJOINT_NONE), "none");
  assert_false(wk_adjoint_exists(WK_ADJOINT_NONE));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(refusals), cmocka_unit_test(kinds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
