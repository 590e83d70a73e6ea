/* SPDX-License-Identifier: Apache-2.0
 * The traits column of ops.def against the other columns and against who reads it, of every
 * operator; and that what ordering foresees of storage is what program generation chooses. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/lower/build.h"
#include "compiler/lower/lower.h"
#include "compiler/memory/order_model.h"
#include "tests/random_middle.h"

enum {
  PRIMITIVES = 25,   /* as many as there are; one more is work for every target */
  INSTRUCTIONS = 3   /* that are no primitives */
};

static bool has_lowering(wk_op op) {
  static const bool has[WK_OP_COUNT] = {
#define X(op, fn) [WK_OP_##op] = true,
      WK_LOWERINGS(X)
#undef X
  };
  return has[op];
}

static bool has_ints(wk_op op, const char *name) {
  const wk_field *f = wk_op_field(wk_op_get(op), name, strlen(name));
  return f && f->kind == WK_FIELD_INTS;
}

/* Fails where the operator's row says otherwise. */
static void expect(wk_op op, const char *what, bool is, bool want) {
  if (is != want) fail_msg("%s: %s is %d", wk_op_get(op)->name, what, is);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void test_lowered(void **state) {
  (void)state;
  for (int k = 0; k < WK_OP_COUNT; k++) {
    wk_op op = (wk_op)k;
    const wk_op_info *info = wk_op_get(op);
    bool is_view = info->traits.view != WK_VIEW_NONE;
    bool by_definition = info->cls == WK_CLASS_ELEMENTWISE && !is_view;
    bool wanted = info->kind == WK_KIND_GRAPH && !by_definition && (!is_view || op == WK_OP_PAD);
    expect(op, "having a lowering", has_lowering(op), wanted);
    if (is_view) expect(op, "being a graph operator", info->kind == WK_KIND_GRAPH, true);
  }
}

static void test_windows(void **state) {
  (void)state;
  for (int k = 0; k < WK_OP_COUNT; k++) {
    wk_op op = (wk_op)k;
    const wk_op_traits *t = &wk_op_get(op)->traits;
    bool has = has_ints(op, "strides") && has_ints(op, "pads") && has_ints(op, "dilations");
    expect(op, "having a window", t->window != WK_WINDOW_NONE, has);
    expect(op, "having a kernel", has_ints(op, "kernel"), t->work == WK_WORK_WINDOW);
  }
}

/* Where the epilogue reads operands there are any number of them, and the first is that. */
static void check_first(wk_op op, const wk_op_info *info) {
  uint32_t first = wk_op_first_elementwise(op);
  char name[32], before[32] = "";
  if (first == UINT32_MAX) return;
  wk_op_operand_name(info->inputs, (int)first, name);
  if (first > 0) wk_op_operand_name(info->inputs, (int)first - 1, before);
  expect(op, "taking any number", info->max_in == -1, true);
  expect(op, "the first operand being the first of a name", strcmp(name, before) != 0, true);
  expect(op, "its having the last name", !strcmp(name, "extra") || !strcmp(name, "xs"), true);
}

static void test_epilogues(void **state) {
  (void)state;
  for (int k = 0; k < WK_OP_COUNT; k++) {
    wk_op op = (wk_op)k;
    const wk_op_info *info = wk_op_get(op);
    bool has = false, is_one = false;
    for (int f = 0; f < info->n_fields; f++) {
      has |= info->fields[f].kind == WK_FIELD_EXPR;
      is_one |= info->fields[f].kind == WK_FIELD_EXPR &&
                info->fields[f].offset == info->traits.epilogue;
    }
    expect(op, "having an epilogue", info->traits.has_epilogue, has);
    if (has) expect(op, "its being an expression", is_one, true);
    check_first(op, info);
    expect(op, "having extras", wk_op_takes_extras(op),
           info->cls == WK_CLASS_CONTRACTION && info->kind == WK_KIND_BOTH);
  }
}

static void test_classes(void **state) {
  (void)state;
  for (int k = 0; k < WK_OP_COUNT; k++) {
    wk_op op = (wk_op)k;
    const wk_op_info *info = wk_op_get(op);
    bool by_definition = info->cls == WK_CLASS_ELEMENTWISE;
    expect(op, "working by definition", info->traits.work == WK_WORK_SCALAR, by_definition);
    if (info->cls == WK_CLASS_MOVEMENT)
      expect(op, "taking narrow types", info->traits.narrow, true);
  }
}

static void test_primitives(void **state) {
  (void)state;
  assert_true(wk_op_count(WK_KIND_BOTH) <= PRIMITIVES);
  assert_true(wk_op_count(WK_KIND_INST) <= INSTRUCTIONS);
  assert_int_equal(wk_op_count(WK_KIND_BOTH) + wk_op_count(WK_KIND_INST) +
                       wk_op_count(WK_KIND_GRAPH), WK_OP_COUNT);
}

/* ---- ordering and program generation --------------------------------------------------------- */

static bool has_buffer(const wk_program *p, const char *name) {
  for (size_t b = 0; b < p->buffers.n; b++)
    if (p->buffers.data[b].region == WK_REGION_ACT && !strcmp(p->buffers.data[b].name, name))
      return true;
  return false;
}

static bool is_output(const wk_graph *g, wk_value_id v) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v) return true;
  return false;
}

static bool has_reshape(const wk_graph *g) {
  for (size_t i = 0; i < g->nodes.n; i++)
    if (g->nodes.data[i].op == WK_OP_RESHAPE) return true;
  return false;
}

/* Values that stand for a block have a buffer of their own, and others none, unless there are
 * reshapes that strides cannot express. Returns how many share the block of another one. */
static int compare(wk_module *m) {
  const wk_graph *g = m->main;
  wk_arena *arena = wk_arena_new();
  int64_t *peaks = wk_arena_alloc(arena, m->graphs.n * sizeof *peaks);
  wk_order_model model = wk_order_model_of(g, peaks, arena);
  wk_program *p;
  int shared = 0;
  assert_null(wk_generate(m, 1, &p));
  for (wk_value_id v = 0; v < g->values.n; v++) {
    const wk_value *x = wk_val(g, v);
    if (x->kind != WK_VALUE_NODE || is_output(g, v)) continue;
    bool stands = model.block_of[v] == v, has = has_buffer(p, x->name);
    if (stands && !has) fail_msg("%s: no buffer is made, as was foreseen", x->name);
    if (!stands && has && !has_reshape(g)) fail_msg("%s: a buffer that was not foreseen", x->name);
    shared += !stands;
  }
  wk_program_free(p);
  wk_arena_free(arena);
  return shared;
}

static void test_storage(void **state) {
  (void)state;
  int shared = 0, plain = 0;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    wk_module *m = random_middle_graph(seed, 4 + (int)(seed % 20));
    assert_null(wk_lower_nodes(m, NULL, NULL));
    assert_null(wk_layout_assign(m, seed % 2));
    bool has_bodies = m->graphs.n > 1; /* whose values may have the same names */
    if (!has_bodies) shared += compare(m);
    plain += !has_bodies && !has_reshape(m->main);
    wk_module_free(m);
  }
  assert_true(shared > 1000 && plain > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lowered),  cmocka_unit_test(test_windows),
      cmocka_unit_test(test_epilogues), cmocka_unit_test(test_classes),
      cmocka_unit_test(test_primitives), cmocka_unit_test(test_storage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
