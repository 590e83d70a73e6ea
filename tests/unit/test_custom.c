/* SPDX-License-Identifier: Apache-2.0
 * Custom operators: rows that are registered, nodes in text, inference, what passes leave alone,
 * the evaluator; routines of programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/ir/custom.h"
#include "compiler/ir/ir.h"
#include "compiler/passes/passes.h"
#include "runtime/routine.h"

/* y = by x + the sum of more. */
static int32_t scale(const wick_call *call) {
  const wick_call_tensor *x = call->inputs, *y = call->outputs;
  double by = call->attributes[0].values[0], more = 0;
  int64_t n = 1;
  for (uint32_t i = 0; i < x->rank; i++) n *= x->dims[i];
  for (int64_t i = 0; i < call->attributes[1].count; i++) more += call->attributes[1].values[i];
  if (by < 0) return 3;
  for (int64_t i = 0; i < n && y->data; i++)
    ((float *)y->data)[i] = (float)(((const float *)x->data)[i] * by + more);
  return 0;
}

static const wk_custom_attr attrs[] = {{.name = "by", .kind = WK_CUSTOM_FLOAT, .is_required = true},
                                       {.name = "more", .kind = WK_CUSTOM_INTS},
                                       {0}};
static const wk_custom_op op = {.domain = "test", .name = "Scale", .doc = "x by, and more",
                                .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
                                .attrs = attrs, .reference = scale, .routine = "test_scale"};

static void expect_error(wk_status s, wk_code code, const char *text) {
  assert_non_null(s);
  assert_int_equal(s->code, code);
  if (!strstr(s->message, text)) fail_msg("'%s' instead of '%s'", s->message, text);
  wk_status_free(s);
}

static wk_module *parse(const char *text) {
  wk_module *m = NULL;
  wk_status s = wk_module_parse(text, "text", &m);
  if (s) fail_msg("%s", s->message);
  return m;
}

#define GRAPH(nodes) "module \"m\" opset 17 {\n  graph @g(%x: f32[2,3]) {\n" nodes "  }\n}\n"
#define SCALE(to, from, counts, values)                                                          \
  "    %" to " = custom(%" from ") {domain=\"test\", op=\"Scale\", counts=" counts ", values="    \
  values "} : f32[2,3] \"s\"\n"

static void rows(void **state) {
  (void)state;
  wk_custom_op bad = op;
  assert_ptr_equal(wk_custom_find("test", "Scale"), &op);
  assert_null(wk_custom_find("test", "scale"));
  assert_null(wk_custom_find("", "Scale"));
  assert_null(wk_custom_register(&op)); /* again */
  bad.routine = "test-scale";
  expect_error(wk_custom_register(&bad), WK_INPUT, "lacks routine, a name of C");
  bad = op;
  expect_error(wk_custom_register(&bad), WK_USAGE, "there is an operator test.Scale already");
  bad.domain = "";
  expect_error(wk_custom_register(&bad), WK_INPUT, "lacks a domain");
  bad = op;
  bad.reference = NULL;
  expect_error(wk_custom_register(&bad), WK_INPUT, "lacks reference");
  assert_int_equal(wk_custom_attr_count(&op), 2);
}

static void texts(void **state) {
  (void)state;
  static const char text[] = GRAPH(SCALE("y", "x", "[1,2]", "[2.0,1.0,0.5]") "    output %y\n");
  wk_module *m = parse(text);
  wk_str b = {0};
  wk_module_print(&b, m, WK_PRINT_FULL);
  assert_string_equal(b.s, text);
  wk_str_free(&b);
  wk_module_free(m);
  wk_module *none = NULL;
  expect_error(wk_module_parse(GRAPH(SCALE("y", "x", "[1]", "[2.0]") "    output %y\n"), "text",
                               &none),
               WK_INPUT, "attributes are not those of test.Scale");
  expect_error(wk_module_parse(GRAPH(SCALE("y", "x", "[1,-1]", "[2.0]") "    output %y\n"), "text",
                               &none),
               WK_INPUT, "attributes are not those of test.Scale");
  expect_error(wk_module_parse(GRAPH(SCALE("y", "x", "[2,0]", "[2.0,1.0]") "    output %y\n"),
                               "text", &none),
               WK_INPUT, "attributes are not those of test.Scale");
}

/* Nothing is known of what it computes: equal calls stay apart, calls of constants stay. */
static void passes_leave_it(void **state) {
  (void)state;
  wk_module *m = parse(GRAPH(SCALE("a", "x", "[1,0]", "[2.0]") SCALE("b", "x", "[1,0]", "[2.0]")
                             "    %c = constant f32[2,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}\n"
                             SCALE("d", "c", "[1,0]", "[3.0]") "    output %a\n    output %b\n"
                             "    output %d\n"));
  wk_status s = wk_passes_run(m, WK_STAGE_GRAPH, NULL, NULL, NULL);
  if (s) fail_msg("%s", s->message);
  size_t calls = 0;
  for (size_t i = 0; i < m->main->nodes.n; i++)
    calls += !m->main->nodes.data[i].dead && m->main->nodes.data[i].op == WK_OP_CUSTOM;
  assert_int_equal(calls, 3);
  wk_module_free(m);
}

static void evaluation(void **state) {
  (void)state;
  float x[6] = {1, 2, 3, 4, 5, 6};
  wk_module *m = parse(GRAPH(SCALE("y", "x", "[1,2]", "[2.0,1.0,0.5]") "    output %y\n"));
  const int64_t dims[] = {2, 3};
  const wk_type t = wk_type_make(WK_F32, 2, dims);
  wk_tensor in = {t, x}, out = {0};
  wk_status s = wk_eval_graph(m->main, &in, &out, NULL, NULL);
  if (s) fail_msg("%s", s->message);
  for (int i = 0; i < 6; i++) assert_true(((const float *)out.data)[i] == 2 * x[i] + 1.5f);
  wk_tensor_free(&out);
  wk_module_free(m);
  m = parse(GRAPH(SCALE("y", "x", "[1,0]", "[-2.0]") "    output %y\n"));
  expect_error(wk_eval_graph(m->main, &in, &out, NULL, NULL), WK_INPUT,
               "the reference of test.Scale failed with 3");
  wk_module_free(m);
}

static void routines(void **state) {
  (void)state;
  static const wick_routine own = {"test_scale", scale}, same = {"test_scale", scale},
                            nameless = {"9", scale}, empty = {"test_scale2", NULL};
  assert_null(wick_routine_find("test_scale"));
  assert_int_equal(wick_routine_register(&own), WICK_OK);
  assert_int_equal(wick_routine_register(&own), WICK_OK);
  assert_int_equal(wick_routine_register(&same), WICK_OK);
  assert_ptr_equal(wick_routine_find("test_scale"), &own);
  assert_int_equal(wick_routine_register(&nameless), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_routine_register(&empty), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_routine_register(NULL), WICK_BAD_ARGUMENT);
  const wick_routine other = {"test_scale", (wick_routine_fn)(uintptr_t)abort};
  assert_int_equal(wick_routine_register(&other), WICK_BUSY);
  assert_null(wick_routine_find(NULL));
  static wick_routine many[WICK_MAX_ROUTINES];
  static char names[WICK_MAX_ROUTINES][16];
  for (int i = 0; i < WICK_MAX_ROUTINES; i++) {
    snprintf(names[i], sizeof names[i], "many_%d", i);
    many[i] = (wick_routine){names[i], scale};
    assert_int_equal(wick_routine_register(&many[i]),
                     i + 1 < WICK_MAX_ROUTINES ? WICK_OK : WICK_NO_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows),       cmocka_unit_test(texts),    cmocka_unit_test(passes_leave_it),
      cmocka_unit_test(evaluation), cmocka_unit_test(routines),
  };
  wk_status s = wk_custom_register(&op);
  if (s) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
