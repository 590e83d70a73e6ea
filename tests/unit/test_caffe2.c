/* SPDX-License-Identifier: Apache-2.0
 * The table of Caffe2's operators: sorted, and every row of it stands for something. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/caffe2/translate.h"

static void test_sorted(void **state) {
  (void)state;
  for (size_t i = 1; i < wk_caffe2_op_count(); i++)
    if (strcmp(wk_caffe2_op_get(i - 1).type, wk_caffe2_op_get(i).type) >= 0)
      fail_msg("%s stands before %s", wk_caffe2_op_get(i - 1).type, wk_caffe2_op_get(i).type);
}

/* An 8-bit operator needs the row of the one on floats. */
static void test_int8(void **state) {
  (void)state;
  for (size_t i = 0; i < wk_caffe2_op_count(); i++) {
    const wk_caffe2_op op = wk_caffe2_op_get(i);
    const wk_c2_row *row = op.is_int8 ? wk_c2_row_find(op.as) : NULL;
    if (op.is_int8 && (!row || row->handler == wk_c2_int8 || row->handler == wk_c2_refused))
      fail_msg("%s is the 8-bit form of '%s'", op.type, op.as);
  }
}

/* Compiles the body of a row by an operator that has all arguments, each of the value 1. */
static void check_body(const wk_c2_row *row) {
  wk_import_report rep = {.arena = wk_arena_new()};
  wk_c2 c = {.arena = wk_arena_new(), .rep = &rep, .slots = wk_map_new(), .taken = wk_map_new(),
             .noted = wk_map_new()};
  char *name = wk_arena_strdup(c.arena, "y");
  Caffe2__OperatorDef def = CAFFE2__OPERATOR_DEF__INIT;
  wk_c2_map m;
  Caffe2__Argument **list = wk_arena_alloc(c.arena, 16 * sizeof *list);
  def.n_output = 1;
  def.output = &name;
  def.arg = list;
  for (const char *p = row->args; wk_c2_next_map(&p, &m);) {
    Caffe2__Argument *a = wk_arena_alloc(c.arena, sizeof *a);
    caffe2__argument__init(a);
    a->name = wk_arena_strdup(c.arena, m.name);
    a->has_i = a->has_f = a->has_s = true;
    a->i = 1;
    a->f = 1;
    list[def.n_arg++] = a;
  }
  wk_c2_op o = {.c = &c, .def = &def, .row = row, .name = "y", .inner = "y", .n_out = 1};
  wk_c2_function(&o);
  if (o.status) fail_msg("%s: %s", row->type, o.status->message);
  assert_int_equal(c.functions.n, 1);
  assert_true(c.functions.data[0]->n_node > 0);
  assert_int_equal(c.functions.data[0]->n_output, (size_t)row->max_out);
  wk_vec_free(&c.nodes);
  wk_vec_free(&c.functions);
  wk_map_free(c.slots);
  wk_map_free(c.taken);
  wk_map_free(c.noted);
  wk_arena_free(c.arena);
  wk_arena_free(rep.arena);
}

static void test_bodies(void **state) {
  (void)state;
  int n = 0;
  for (size_t i = 0; i < wk_caffe2_op_count(); i++)
    if (wk_caffe2_op_get(i).is_function) {
      check_body(wk_c2_row_find(wk_caffe2_op_get(i).type));
      n++;
    }
  assert_true(n > 30);
}

static void test_refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < wk_caffe2_op_count(); i++) {
    const wk_caffe2_op op = wk_caffe2_op_get(i);
    if (op.reason ? !*op.reason : !*op.as) fail_msg("%s says nothing", op.type);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sorted),
      cmocka_unit_test(test_int8),
      cmocka_unit_test(test_bodies),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
