/* SPDX-License-Identifier: Apache-2.0
 * Variables from the graph to a session: what a run leaves in them is what the next one finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"

static const wk_type i64_scalar = {.dtype = WK_I64};

static void must(wk_status s) {
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
}

/* ---- the evaluator --------------------------------------------------------------------------- */

static wk_tensor i64_tensor(int64_t v) {
  wk_tensor t;
  must(wk_tensor_alloc(&i64_scalar, &t));
  *(int64_t *)t.data = v;
  return t;
}

static int64_t i64_of(const wk_tensor *t) { return *(const int64_t *)t->data; }

/* A counter and a sum: what they become is given back, and taken again. */
static void graphs_give_back(void **state) {
  (void)state;
  wk_module *m = wk_module_new("test");
  wk_graph *g = wk_graph_new(m, "main");
  static const int64_t one = 1, ten = 10;
  wk_value_id x = wk_graph_input(g, "x", &i64_scalar);
  wk_value_id k = wk_graph_variable(g, "count", &i64_scalar, &one, false);
  wk_value_id sum = wk_graph_variable(g, "sum", &i64_scalar, &ten, false);
  wk_value_id next = wk_build(g, WK_OP_ADD, NULL, 2, k, wk_graph_scalar(g, WK_I64, 1));
  wk_graph_update(g, k, next);
  wk_value_id product = wk_build(g, WK_OP_MUL, NULL, 2, x, k);
  wk_graph_update(g, sum, wk_build(g, WK_OP_ADD, NULL, 2, sum, product));
  wk_graph_output(g, "before", sum);
  wk_tensor in[3] = {i64_tensor(5)}, out[3], again[3];
  must(wk_eval_graph(g, in, out, NULL, NULL));
  assert_int_equal(i64_of(&out[0]), 10);
  assert_int_equal(i64_of(&out[1]), 2);
  assert_int_equal(i64_of(&out[2]), 15);
  in[1] = out[1];
  in[2] = out[2];
  must(wk_eval_graph(g, in, again, NULL, NULL));
  assert_int_equal(i64_of(&again[0]), 15);
  assert_int_equal(i64_of(&again[1]), 3);
  assert_int_equal(i64_of(&again[2]), 25);
  assert_int_equal(one, 1);
  assert_int_equal(i64_of(&out[2]), 15);
  in[2] = i64_tensor(1);
  in[2].type.dtype = WK_F64;
  wk_tensor none[3];
  wk_status s = wk_eval_graph(g, in, none, NULL, NULL);
  assert_string_equal(s->message, "input is f64[], the graph wants i64[]");
  wk_status_free(s);
  wk_tensor_free(&in[0]);
  wk_tensor_free(&in[2]);
  for (size_t i = 0; i < 3; i++) {
    wk_tensor_free(&out[i]);
    wk_tensor_free(&again[i]);
  }
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_give_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
