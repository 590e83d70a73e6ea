/* SPDX-License-Identifier: Apache-2.0
 * How much of something the texts of graphs and programs may have, and how much of it is printed:
 * both sides of each limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/ir/ir.h"
#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* NULL: the text is taken. */
static void expect_module(const char *text, const char *message, const char *what) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "t", &m);
  if ((s == NULL) != (message == NULL) || (s && !strstr(s->message, message)))
    fail_msg("%s: %s", what, s ? s->message : "taken");
  wk_status_free(s);
  wk_module_free(m);
}

static void expect_program(const char *text, const char *message, const char *what) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "t", &p);
  if ((s == NULL) != (message == NULL) || (s && !strstr(s->message, message)))
    fail_msg("%s: %s", what, s ? s->message : "taken");
  wk_status_free(s);
  wk_program_free(p);
}

/* ---- nesting --------------------------------------------------------------------------------- */

static void nested_graphs(int n, const char *message) {
  wk_str b = {0};
  char what[32];
  snprintf(what, sizeof what, "%d bodies", n);
  wk_str_add(&b, "module \"m\" {\n");
  for (int k = 0; k < n; k++)
    wk_str_printf(&b, "graph @g%d(%s%%a: f32[2]) {\n%%y = loop(-, %%a) {trip=1, n_state=1} do @g%d "
                  ": f32[2]\noutput %%y\n}\n", k, k ? "%i: i64[], " : "", k + 1);
  wk_str_printf(&b, "graph @g%d(%%i: i64[], %%a: f32[2]) {\n%%y = neg(%%a)\noutput %%y\n}\n}\n", n);
  expect_module(b.s, message, what);
  wk_str_free(&b);
}

/* then: the second body, as deep as the first. */
static void nested_insts(int n, bool otherwise, const char *message) {
  wk_str b = {0};
  char what[32];
  snprintf(what, sizeof what, "%d bodies", n);
  wk_str_add(&b, "program \"m\" {\n  buffer input 0 %c : bool[] align 64\n"
             "  buffer output 0 %y : f32[2] align 64\n");
  for (int k = 0; k < n; k++)
    wk_str_add(&b, otherwise ? "if(; @in %c[]:bool) then {\n} else {\n"
                             : "loop(; -, -) {trip=4, n_state=0} do {\n");
  for (int k = 0; k < n; k++) wk_str_add(&b, "}\n");
  wk_str_add(&b, "}\n");
  expect_program(b.s, message, what);
  wk_str_free(&b);
}

static void test_nesting(void **state) {
  (void)state;
  const char *deep = "bodies are nested more than 64 deep";
  nested_graphs(1, NULL);
  nested_graphs(64, NULL);
  nested_graphs(65, deep);
  nested_insts(1, false, NULL);
  nested_insts(64, false, NULL);
  nested_insts(65, false, deep);
  nested_insts(64, true, NULL);
  nested_insts(65, true, deep);
}

/* Graphs in turn may be as deep as they like together. */
static void test_breadth(void **state) {
  (void)state;
  wk_str b = {0};
  wk_str_add(&b, "module \"m\" {\ngraph @main(%a: f32[2]) {\n");
  for (int k = 0; k < 70; k++)
    wk_str_printf(&b, "%%y%d = loop(-, %%a) {trip=1, n_state=1} do @g%d : f32[2]\n"
                  "output %%y%d\n", k, k, k);
  wk_str_add(&b, "}\n");
  for (int k = 0; k < 70; k++)
    wk_str_printf(&b, "graph @g%d(%%i: i64[], %%a: f32[2]) {\n%%y = neg(%%a)\noutput %%y\n}\n", k);
  wk_str_add(&b, "}\n");
  expect_module(b.s, NULL, "70 bodies");
  wk_str_free(&b);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

#define MODULE(constants) "module \"m\" {\ngraph @main(%x: f32[]) {\n" constants "output %x\n}\n}\n"

static void test_splats(void **state) {
  (void)state;
  const char *more = "the splats of this text need more than 256.0 MiB";
  expect_module(MODULE("%a = constant u8[268435457] splat(0)\n"), more, "256 MiB and a byte");
  expect_module(MODULE("%a = constant u8[1024] splat(0)\n"
                       "%b = constant u8[268434433] splat(0)\n"), more, "together a byte more");
  static const struct { int64_t budget, left; } cases[] = {{12, 0}, {13, 1}, {11, -1}, {0, -1}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_arena *a = wk_arena_new();
    wk_lexer l;
    const int64_t three = 3;
    const wk_type t = wk_type_make(WK_F32, 1, &three);
    int64_t budget = cases[i].budget;
    assert_null(wk_lex_start(&l, a, "splat(0)", "t"));
    wk_status s = wk_data_check(&l, &t, &budget);
    assert_int_equal(s != NULL, cases[i].left < 0);
    assert_int_equal(budget, s ? cases[i].budget : cases[i].left);
    wk_status_free(s);
    wk_arena_free(a);
  }
}

/* As many elements as the text has room for. */
static void test_missing_data(void **state) {
  (void)state;
  expect_module(MODULE("%a = constant u8[1000000] {1, 2}\n"),
                "the text ends before 1000000 elements", "a million");
  expect_module(MODULE("%a = constant u8[3] {1, 2}\n"), "',' expected", "one less");
  expect_module(MODULE("%a = constant u8[2] {1, 2}\n"), NULL, "all");
  expect_module(MODULE("%a = constant u8[1] {1, 2}\n"), "'}' expected", "one more");
}

static void test_bindings(void **state) {
  (void)state;
  static const struct { const char *text, *message; } cases[] = {
      {"program \"m\" {\n  buffer input 65536 %x : f32[2] align 64\n}\n",
       "the position 65536 is too large"},
      {"program \"m\" {\n  buffer input 65535 %x : f32[2] align 64\n}\n", "binding 0 has no name"},
      {"program \"m\" {\n  buffer input 0 %x : f32[2] align 64\n"
       "  buffer input 0 %y : f32[2] align 64\n}\n", "input 0 is bound twice"},
      {"program \"m\" {\n  buffer input 1 %x : f32[2] align 64\n"
       "  buffer input 0 %y : f32[2] align 64\n}\n", NULL}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++)
    expect_program(cases[i].text, cases[i].message, cases[i].text);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* How the data of n elements is printed: as a list, in digits of bytes, or not. */
static void prints(wk_dtype t, int64_t n, wk_print_flags how, const char *begin) {
  wk_type type = wk_type_make(t, 1, &n);
  char *data = wk_xcalloc((size_t)wk_type_bytes(&type) + 1, 1);
  wk_str b = {0};
  for (int64_t i = 0; i < n; i++) wk_store_i64(data, t, i, i + 1);
  wk_data_print(&b, &type, data, how);
  if (strncmp(b.s, begin, strlen(begin)))
    fail_msg("%lld of %s: %.40s", (long long)n, wk_dtype_name(t), b.s);
  wk_str_free(&b);
  free(data);
}

static void test_data(void **state) {
  (void)state;
  prints(WK_I32, 2, WK_PRINT_SHORT, " {1, 2}");
  prints(WK_I32, 16, WK_PRINT_SHORT, " {1, 2, 3");
  prints(WK_I32, 17, WK_PRINT_SHORT, " elided(");
  prints(WK_I32, 16, WK_PRINT_FULL, " {1, 2, 3");
  prints(WK_I32, 17, WK_PRINT_FULL, " hex(\"0100000002000000");
  prints(WK_F64, 16, WK_PRINT_SHORT, " {1.0, 2.0, 3");
  prints(WK_U8, 16, WK_PRINT_SHORT, " {1, 2, 3");
  prints(WK_U8, 17, WK_PRINT_SHORT, " elided(");
}

/* Constants of programs, up to 64 bytes. */
static void test_short_contents(void **state) {
  (void)state;
  for (int n = 63; n <= 65; n++) {
    wk_str b = {0}, again = {0};
    wk_program *p;
    wk_str_printf(&b, "program \"m\" {\n  buffer const %%k : %d align 64 = hex(\"", n);
    for (int i = 0; i < n; i++) wk_str_printf(&b, "%02x", i);
    wk_str_add(&b, "\")\n}\n");
    wk_status s = wk_program_parse(b.s, "t", &p);
    if (s) fail_msg("%s: %s", s->place, s->message);
    wk_program_print(&again, p, WK_PRINT_SHORT);
    if ((strstr(again.s, "elided(") != NULL) != (n > 64)) fail_msg("%d bytes: %s", n, again.s);
    wk_str_free(&again);
    again = (wk_str){0};
    wk_program_print(&again, p, WK_PRINT_FULL);
    assert_null(strstr(again.s, "elided("));
    wk_str_free(&again);
    wk_str_free(&b);
    wk_program_free(p);
  }
}

/* Names in pictures: the last 60 bytes, from the beginning of a character on. */
static void test_labels(void **state) {
  (void)state;
  static const char *const sixty = "012345678901234567890123456789012345678901234567890123456789";
  static const struct { const char *before, *after; bool cut; } cases[] = {
      {"", "", false}, {"a", "", true}, {"abc", "", true}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str name = {0}, b = {0}, want = {0};
    wk_str_printf(&name, "%s%s", cases[i].before, sixty);
    wk_str_printf(&want, "digraph \"%s%s\" {\n", cases[i].cut ? "..." : "", sixty);
    wk_module *m = wk_module_new(name.s);
    wk_module_dot(&b, m, NULL);
    if (strncmp(b.s, want.s, want.n)) fail_msg("%.90s", b.s);
    wk_module_free(m);
    wk_str_free(&name);
    wk_str_free(&b);
    wk_str_free(&want);
  }
  wk_str name = {0}, b = {0};
  wk_str_printf(&name, "x\xc3\xa4%.58s\"", sixty); /* 62 bytes: the cut lies within the second */
  wk_module *m = wk_module_new(name.s);
  wk_module_dot(&b, m, NULL);
  wk_str want = {0};
  wk_str_printf(&want, "digraph \"...%.58s\\\"\" {\n", sixty);
  if (strncmp(b.s, want.s, want.n)) fail_msg("%.90s", b.s);
  wk_str_free(&want);
  wk_str_free(&b);
  wk_str_free(&name);
  wk_module_free(m);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void test_map_operands(void **state) {
  (void)state;
  for (int n = 1024; n <= 1025; n++) {
    wk_str b = {0};
    wk_str_add(&b, MODULE("%y = map(%x"));
    b.n = strlen("module \"m\" {\ngraph @main(%x: f32[]) {\n%y = map(%x");
    b.s[b.n] = '\0';
    for (int i = 1; i < n; i++) wk_str_add(&b, ", %x");
    wk_str_add(&b, ") {body=\"neg(%0)\"} : f32[]\noutput %y\n}\n}\n");
    expect_module(b.s, n > 1024 ? "1025 inputs, at most 1024 are handled" : NULL, "operands");
    wk_str_free(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nesting),      cmocka_unit_test(test_breadth),
      cmocka_unit_test(test_splats),       cmocka_unit_test(test_missing_data),
      cmocka_unit_test(test_bindings),     cmocka_unit_test(test_data),
      cmocka_unit_test(test_short_contents), cmocka_unit_test(test_labels),
      cmocka_unit_test(test_map_operands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
