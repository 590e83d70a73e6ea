/* SPDX-License-Identifier: Apache-2.0
 * What is said of each operator of a quantised model: whether it computes in integers, and if not,
 * why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "tests/unit/graph_text.h"

#define NUMBERS                                                                            \
  "%s = constant f32[] {0.5}\n%t = constant f32[] {0.25}\n%z = constant i8[] {3}\n"        \
  "%u = constant u8[] {130}\n"
#define X "%x = dequantize(%a, %s, %z)\n"
#define Z "%v = dequantize(%b, %t, %z)\n"
#define OUT(of) "%q = quantize(%" of ", %t, %z) {to=i8}\noutput %q\n"
#define PADS "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
#define WEIGHTS                                                                            \
  "%wq = constant i8[3,3] {1,2,3,4,5,6,7,8,9}\n%w0 = constant i8[] {0}\n"                  \
  "%w = dequantize(%wq, %s, %w0)\n"
#define ARGS "%a: i8[2,3], %b: i8[2,3], %f: f32[2,3], %sc: f32[], %p: bool[2,3]"

/* rows: "name operator: integer" or "... : reason" for each operator. */
static const struct { const char *args, *body, *rows; } cases[] = {
    {ARGS, X Z "%y = add(%x, %v)\n" OUT("y"), "map: integer\n"},
    {ARGS, X "%y = add(%x, %f)\n" OUT("y"), "add: operand f is not quantised\n"},
    {ARGS, X "%y = add(%f, %x)\n" OUT("y"), "add: operand f is not quantised\n"},
    {ARGS, X Z "%y = add(%x, %v)\noutput %y\n", "add: its result is not quantised\n"},
    /* who wants a real result gets it from an operator of its own */
    {ARGS, X Z "%y = add(%x, %v)\noutput %y\n" OUT("y"),
     "add: its result is not quantised\nmap: integer\n"},
    {ARGS, X Z "%y = add(%x, %v)\n%k = neg(%y)\noutput %k\n" OUT("y"),
     "add: its result is not quantised\nneg: operand y is not quantised\nmap: integer\n"},
    {ARGS, X Z "%y = add(%x, %v)\n%k = cast(%y) {to=i32}\noutput %k\n" OUT("y"),
     "add: its result is not quantised\ncast: integer\nmap: integer\n"},
    {ARGS, X Z "%y = pow(%x, %v)\noutput %y\n" OUT("y"),
     "pow: its result is used unquantised, too\n"},
    {ARGS, X Z "%y = pow(%x, %v)\n%k = neg(%y)\noutput %k\n" OUT("y"),
     "pow: its result is used unquantised, too\nneg: operand y is not quantised\n"},
    {ARGS, X Z "%y = pow(%x, %v)\n" OUT("y") "%r = quantize(%y, %s, %z) {to=i8}\noutput %r\n",
     "pow: pow has no integer form for these operands\n"},
    {ARGS, X Z "%y = add(%x, %v)\n" OUT("y") "%r = quantize(%y, %s, %z) {to=i8}\noutput %r\n",
     "map: integer\nmap: integer\n"},
    {ARGS, "%x = dequantize(%a, %sc, %z)\n" Z "%y = add(%x, %v)\n" OUT("y"),
     "add: operand x has no constant scale of its own\n"},
    {ARGS, X "%v = dequantize(%b, %sc, %z)\n%y = add(%x, %v)\n" OUT("y"),
     "add: operand v has no constant scale of its own\n"},
    {ARGS, X Z "%y = pow(%x, %v)\n" OUT("y"), "pow: pow has no integer form for these operands\n"},
    {ARGS, X WEIGHTS "%y = matmul(%x, %w)\n" OUT("y"), "matmul: integer\n"},
    {ARGS, X WEIGHTS "%y = matmul(%x, %w)\noutput %y\n",
     "matmul: sums in integers; its result is real\n"},
    {ARGS, X "%y = transpose(%x) {perm=[1,0]}\noutput %y\n", ""},
    {ARGS, X "%y = identity(%x)\noutput %y\n", ""},
    /* rows, as long as they may be and longer */
    {"%a: i8[2,32768]", X "%y = softmax(%x) {axis=1}\n" OUT("y"), "integer_softmax: integer\n"},
    {"%a: i8[2,32769]", X "%y = softmax(%x) {axis=1}\n" OUT("y"),
     "softmax: its rows have more than 32768 elements\n"},
    {"%a: i8[32769,2]", X "%y = softmax(%x) {axis=0}\n" OUT("y"),
     "softmax: its rows have more than 32768 elements\n"},
    {"%a: i8[2,32769]", X "%y = softmax(%x) {axis=0}\n" OUT("y"), "integer_softmax: integer\n"},
    {"%a: i8[2,64,512]", X "%o = constant f32[] {1.0}\n%y = layer_norm(%x, %o) {axis=1}\n"
     OUT("y"), "integer_norm: integer\n"},
    {"%a: i8[2,64,513]", X "%o = constant f32[] {1.0}\n%y = layer_norm(%x, %o) {axis=1}\n"
     OUT("y"), "layer_norm: its rows have more than 32768 elements\n"},
    {"%a: i8[2,64,513]", X "%o = constant f32[] {1.0}\n%y = layer_norm(%x, %o) {axis=2}\n"
     OUT("y"), "integer_norm: integer\n"},
    {"%a: i8[2,3], %g: f32[3]", X "%y = layer_norm(%x, %g) {axis=1}\n" OUT("y"),
     "layer_norm: operand g is not quantised\n"},
    {"%a: i8[2,3]", X "%g = constant f32[3] {1,2,3}\n%y = layer_norm(%x, %g, %g) {axis=1}\n"
     OUT("y"), "integer_norm: integer\n"},
    /* nothing is said of models that are not quantised */
    {"%f: f32[2,3]", "%y = neg(%f)\noutput %y\n", ""},
    {"%a: i8[2,3]", "%y = neg(%a)\noutput %y\n", ""},
    {"%a: i8[2,3]", "%y = map(%a) {body=\"neg(%0)\"}\noutput %y\n", "map: integer\n"},
    {"%a: i32[2,3]", "%y = map(%a) {body=\"neg(%0)\"}\noutput %y\n", ""},
    {"%a: i8[2,3], %b: i8[3,2]", "%y = matmul(%a, %b)\n%r = neg(%y)\noutput %r\n",
     "matmul: integer\nneg: integer\n"},
    {"%a: u8[2,3], %b: i8[3,2], %f: f32[2]", "%y = matmul(%a, %b)\n%r = neg(%f)\noutput %y\n"
     "output %r\n", "matmul: integer\nneg: operand f is not quantised\n"}};

static void rows_of(const wk_module *m, wk_str *b) {
  wk_arena *a = wk_arena_new();
  wk_integer_row *rows;
  size_t n = wk_integer_rows(m, a, &rows);
  wk_str_add(b, "");
  for (size_t i = 0; i < n; i++) {
    assert_true(rows[i].is_integer || rows[i].reason);
    wk_str_printf(b, "%s: %s\n", rows[i].op, rows[i].reason ? rows[i].reason : "integer");
  }
  wk_arena_free(a);
}

static void test_rows(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str got = {0};
    int64_t changes;
    bool scaled = strstr(cases[i].body, "dequantize") != NULL;
    wk_module *m = graph_of(cases[i].args, scaled ? NUMBERS : "", cases[i].body);
    assert_null(wk_integer_convert(m, &changes));
    rows_of(m, &got);
    if (strcmp(got.s, cases[i].rows)) {
      print_error("case %zu: %s-- is:\n%s-- want:\n%s", i, cases[i].body, got.s, cases[i].rows);
      bad++;
    }
    wk_module_free(m);
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
