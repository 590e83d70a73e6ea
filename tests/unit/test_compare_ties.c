/* SPDX-License-Identifier: Apache-2.0
 * Which results may be a step of their quantisation off: those behind operators in floats, and no
 * others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/verify/compare.h"

#define QUANTISED(x) "i8(add(round(div(" x ", 0.02f32)), -2.0f32))"
#define BACK(q) "mul(f32(sub(i32(" q "), -2i32)), 0.02f32)"

static const char head[] = "program \"p\" {\n"
                           "  buffer input 0 %x : f32[1,2,2,2] align 64\n"
                           "  buffer input 1 %i : i32[1,2,2,2] align 64\n"
                           "  buffer input 2 %w : f32[2,2,1,1] align 64\n"
                           "  buffer output 0 %y : f32[1,2,2,2] align 64\n"
                           "  buffer output 1 %q : i8[1,2,2,2] align 64\n"
                           "  buffer act %a : 32 align 64\n"
                           "  buffer act %b : 32 align 64\n";
#define T(name, type) "%" name "[1,2,2,2]:" type
#define MAP(out, in, body) "  map(@out " out "; @in " in ") {body=\"" body "\"} \"m\"\n"
#define CONV(out, in, epilogue)                                                                  \
  "  conv(@out " out "; @in " in ", @in %w[2,2,1,1]:f32) {strides=[1,1], pads=[0,0,0,0], "        \
  "dilations=[1,1]" epilogue "} \"c\"\n"

static const struct {
  const char *name, *text;
  double alone; /* of the last instruction, fed alike */
  double y, q;  /* of the outputs of all */
} rows[] = {
    {"a quantisation as it comes", MAP(T("q", "i8"), T("x", "f32"), QUANTISED("%0")), 0, 0, 0},
    {"… and back", MAP(T("y", "f32"), T("x", "f32"), BACK(QUANTISED("%0"))), 0, 0, 0},
    {"of a sum", MAP(T("q", "i8"), T("x", "f32"), QUANTISED("add(%0, mul(%0, %0))")), 1, 0, 1},
    {"of a function, and back", MAP(T("y", "f32"), T("x", "f32"), BACK(QUANTISED("exp(%0)"))),
     0.02, 0.02, 0},
    {"behind a convolution", CONV(T("y", "f32"), T("x", "f32"), ", epilogue=\""
                                  BACK(QUANTISED("%0")) "\""), 0.02, 0.02, 0},
    {"… with limits", CONV(T("y", "f32"), T("x", "f32"), ", epilogue=\"max("
                           BACK(QUANTISED("%0")) ", 0.0f32)\""), 0.02, 0.02, 0},
    {"a convolution in floats", CONV(T("y", "f32"), T("x", "f32"), ""), 0, 0, 0},
    {"rounded, not quantised", CONV(T("y", "f32"), T("x", "f32"), ", epilogue=\"round(%0)\""),
     0, 0, 0},
    {"two instructions", CONV(T("a", "f32"), T("x", "f32"), "")
                         MAP(T("q", "i8"), T("a", "f32"), QUANTISED("%0")), 0, 0, 1},
    {"three", CONV(T("a", "f32"), T("x", "f32"), "") MAP(T("b", "i8"), T("a", "f32"),
     QUANTISED("%0")) MAP(T("y", "f32"), T("b", "i8"), BACK("%0")), 0, 0.02, 0},
    {"of integers", MAP(T("q", "i8"), T("i", "i32"), "sat<i8>(rescale(%0, 1073741824i64, 30i64))"),
     0, 0, 0},
    {"of integers, scaled", MAP(T("q", "i8"), T("i", "i32"), "i8(round(mul(f32(%0), 0.5f32)))"),
     0, 0, 0},
    {"of another output alone", MAP(T("q", "i8"), T("x", "f32"), QUANTISED("%0"))
     MAP(T("y", "f32"), T("x", "f32"), BACK(QUANTISED("exp(%0)"))), 0.02, 0.02, 0},
    {"… in two instructions", CONV(T("a", "f32"), T("x", "f32"), "")
     MAP(T("q", "i8"), T("a", "f32"), QUANTISED("%0"))
     MAP(T("y", "f32"), T("x", "f32"), BACK(QUANTISED("%0"))), 0, 0, 1},
    {"far before", MAP(T("a", "f32"), T("x", "f32"), BACK(QUANTISED("exp(%0)"))) MAP(T("b", "f32"),
     T("a", "f32"), BACK(QUANTISED("%0"))) MAP(T("q", "i8"), T("b", "f32"), QUANTISED("%0")),
     0, 0, 1},
    {"an operand that is absent", "  conv(@out " T("a", "f32") "; @in " T("x", "f32")
     ", @in %w[2,2,1,1]:f32, -) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1]} \"c\"\n"
     MAP(T("q", "i8"), T("a", "f32"), QUANTISED("%0")), 0, 0, 1},
};

static void steps(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_program *p = NULL;
    wk_str text = {0};
    wk_str_printf(&text, "%s%s}\n", head, rows[i].text);
    wk_status s = wk_program_parse(text.s, "row", &p);
    if (s) fail_msg("%s: %s: %s\n%s", rows[i].name, s->place, s->message, text.s);
    const wk_inst *last = p->body.insts.data[p->body.insts.n - 1];
    double alone = wk_compare_step(last, 0, true);
    double y = wk_compare_output_step(p, p->outputs.data[0].buffer);
    double q = wk_compare_output_step(p, p->outputs.data[1].buffer);
    if (fabs(alone - rows[i].alone) > 1e-8) fail_msg("%s: alone %g", rows[i].name, alone);
    if (fabs(y - rows[i].y) > 1e-8) fail_msg("%s: y %g", rows[i].name, y);
    if (fabs(q - rows[i].q) > 1e-8) fail_msg("%s: q %g", rows[i].name, q);
    wk_program_free(p);
    wk_str_free(&text);
  }
}

/* Of the last output of a graph with %x : f32, %i : i32 and %s, the scale, as constant. */
static const struct {
  const char *name, *text;
  double step;
} graphs[] = {
    {"a quantisation as it comes", "%q = map(%x, %s) {body=\"" QUANTISED("%0") "\"} : i8[2,2]\n"
     "output %q\n", 0},
    {"of a function", "%q = map(%x) {body=\"" QUANTISED("exp(%0)") "\"} : i8[2,2]\n"
     "output %q\n", 1},
    {"… by a scale that is an operand", "%q = map(%x, %s) {body=\"i8(round(div(exp(%0), %1)))\"} "
     ": i8[2,2]\n%y = map(%q, %s) {body=\"mul(f32(%0), %1)\"} : f32[2,2]\noutput %y\n", 0.5},
    {"of a product", "%a = matmul(%x, %x) : f32[2,2]\n"
     "%q = map(%a) {body=\"" QUANTISED("%0") "\"} : i8[2,2]\noutput %q\n", 1},
    {"beside it, of integers", "%a = matmul(%x, %x) : f32[2,2]\n"
     "%q = map(%a) {body=\"" QUANTISED("%0") "\"} : i8[2,2]\n"
     "%b = map(%x) {body=\"" QUANTISED("%0") "\"} : i8[2,2]\noutput %q\noutput %b\n", 0},
    {"behind it, of integers", "%a = matmul(%x, %x) : f32[2,2]\n"
     "%q = map(%a) {body=\"" QUANTISED("%0") "\"} : i8[2,2]\n"
     "%b = map(%q) {body=\"" QUANTISED(BACK("%0")) "\"} : i8[2,2]\noutput %b\n", 1},
};

static void steps_of_graphs(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(graphs); i++) {
    wk_module *m = NULL;
    wk_str text = {0};
    wk_str_printf(&text, "module \"m\" {\ngraph @main(%%x: f32[2,2], %%i: i32[2,2]) {\n"
                  "%%s = constant f32[] splat(0.5)\n%s}\n}\n", graphs[i].text);
    wk_status s = wk_module_parse(text.s, "graph", &m);
    if (s) fail_msg("%s: %s: %s\n%s", graphs[i].name, s->place, s->message, text.s);
    double step = wk_compare_value_step(m->main, m->main->outputs.data[m->main->outputs.n - 1]);
    if (fabs(step - graphs[i].step) > 1e-8) fail_msg("%s: %g", graphs[i].name, step);
    wk_module_free(m);
    wk_str_free(&text);
  }
}

static void what_is_taken(void **state) {
  (void)state;
  int64_t n = 6;
  float got[] = {0, 0.02f, 0.04f, -0.02f, 0.0200001f, 0.5f}, want[] = {0, 0, 0, 0, 0.02f, 0.48f};
  wk_tensor g = {wk_type_make(WK_F32, 1, &n), got}, w = {wk_type_make(WK_F32, 1, &n), want};
  assert_int_equal(wk_compare_take_steps(&g, &w, 0), 0);
  assert_int_equal(wk_compare_take_steps(&g, &w, 0.02), 3);
  for (int i = 0; i < 6; i++)
    assert_true(i == 2 ? got[i] > 0.03f : i == 4 || got[i] == want[i]); /* two steps are two */
  int8_t one[] = {3, 4, 5, 127, -128, 0}, two[] = {3, 5, 3, 126, -127, 0};
  g = (wk_tensor){wk_type_make(WK_I8, 1, &n), one};
  w = (wk_tensor){wk_type_make(WK_I8, 1, &n), two};
  assert_int_equal(wk_compare_take_steps(&g, &w, 1), 3);
  assert_int_equal(one[2], 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps), cmocka_unit_test(steps_of_graphs),
                                     cmocka_unit_test(what_is_taken)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
