/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/filled.h"

#include <limits.h>

#include "compiler/ir/axes.h"

/* What is known of a tensor of bools or bytes from the position on. */
typedef enum { IS_FALSE, IS_TRUE } constancy;

static const wk_type *type_of(const wk_graph *g, wk_value_id v) { return &wk_val(g, v)->type; }

/* ---- movement -------------------------------------------------------------------------------- */

int wk_accel_axis_before(const wk_graph *g, const wk_node *n, int axis) {
  const wk_type *x = type_of(g, n->in[0]), *y = type_of(g, n->out[0]);
  switch (n->op) {
    case WK_OP_IDENTITY: return axis;
    case WK_OP_TRANSPOSE: return (int)WK_ATTR(n, transpose)->perm.v[axis];
    case WK_OP_RESHAPE: return wk_same_axis(y, x, axis);
    case WK_OP_EXPAND: {
      int at = axis - y->rank + x->rank;
      return at >= 0 && x->dims[at] == y->dims[axis] ? at : -1;
    }
    default: return -1;
  }
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Axis `axis` of n's result, counted from the last one as operands are; -1: v has none. */
static int axis_of_operand(const wk_graph *g, const wk_node *n, wk_value_id v, int axis) {
  return axis - type_of(g, n->out[0])->rank + type_of(g, v)->rank;
}

/* It has no more than one element along the axis. */
static bool is_apart(const wk_graph *g, const wk_node *n, wk_value_id v, int axis) {
  int at = axis_of_operand(g, n, v, axis);
  return at < 0 || type_of(g, v)->dims[at] == 1;
}

/* position OP bound, or bound OP position: what it is from bound + more on. */
static const struct {
  wk_op op;
  bool is_first; /* the position */
  constancy then;
  int64_t more;
} comparisons[] = {{WK_OP_LESS, true, IS_FALSE, 0},          {WK_OP_LESS, false, IS_TRUE, 1},
                   {WK_OP_LESS_EQUAL, true, IS_FALSE, 1},    {WK_OP_LESS_EQUAL, false, IS_TRUE, 0},
                   {WK_OP_GREATER, true, IS_TRUE, 1},        {WK_OP_GREATER, false, IS_FALSE, 0},
                   {WK_OP_GREATER_EQUAL, true, IS_TRUE, 0},
                   {WK_OP_GREATER_EQUAL, false, IS_FALSE, 1}};

static bool compared(const wk_graph *g, const wk_node *n, int axis, constancy want,
                     wk_accel_filled *out) {
  for (size_t i = 0; i < WK_COUNTOF(comparisons); i++) {
    if (comparisons[i].op != n->op || comparisons[i].then != want) continue;
    wk_value_id at = n->in[!comparisons[i].is_first], bound = n->in[comparisons[i].is_first];
    int counts = wk_counting_axis(g, at);
    if (counts < 0 || counts != axis_of_operand(g, n, at, axis) || !is_apart(g, n, bound, axis) ||
        type_of(g, bound)->dtype != WK_I64)
      continue;
    *out = (wk_accel_filled){bound, comparisons[i].more};
    return true;
  }
  return false;
}

static bool bool_from(const wk_graph *g, wk_value_id v, int axis, constancy want,
                      wk_accel_filled *out) {
  const wk_node *n = wk_def(g, v);
  if (!n || n->predicate != WK_NONE) return false;
  if (compared(g, n, axis, want, out)) return true;
  if (n->op == WK_OP_NOT) return bool_from(g, n->in[0], axis, !want, out);
  bool either = n->op == (want == IS_FALSE ? WK_OP_AND : WK_OP_OR);
  for (uint32_t k = 0; either && k < n->n_in; k++)
    if (!is_apart(g, n, n->in[k], axis) &&
        bool_from(g, n->in[k], axis_of_operand(g, n, n->in[k], axis), want, out))
      return true;
  int before = n->n_in ? wk_accel_axis_before(g, n, axis) : -1;
  return before >= 0 && bool_from(g, n->in[0], before, want, out);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int64_t least_of(wk_dtype t) { return t == WK_I8 ? INT8_MIN : 0; }

static bool is_input(const wk_expr *e, uint16_t node, int64_t *k) {
  *k = e->nodes[node].imm.i;
  return e->nodes[node].op == WK_EX_INPUT;
}

/* `min` of two operands. */
static bool is_least_of_two(const wk_node *n) {
  int64_t k;
  if (n->op != WK_OP_MAP || n->n_in != 2) return false;
  const wk_expr *e = WK_ATTR(n, map)->body;
  const wk_expr_node *y = &e->nodes[e->results[0]];
  return e->n_results == 1 && y->op == WK_EX_MIN && is_input(e, y->arg[0], &k) &&
         is_input(e, y->arg[1], &k);
}

/* select(%k, a, b) of constants, of which one is the least: from where a bool has it chosen. */
static bool chosen(const wk_graph *g, const wk_node *n, int axis, wk_accel_filled *out) {
  int64_t k;
  if (n->op != WK_OP_MAP || n->n_in != 1) return false;
  const wk_expr *e = WK_ATTR(n, map)->body;
  const wk_expr_node *y = &e->nodes[e->results[0]];
  if (e->n_results != 1 || y->op != WK_EX_SELECT || !is_input(e, y->arg[0], &k)) return false;
  for (int i = 0; i < 2; i++) {
    const wk_expr_node *c = &e->nodes[y->arg[1 + i]];
    if (c->op == WK_EX_CONST && c->imm.i == least_of(y->dtype) &&
        bool_from(g, n->in[0], axis, i ? IS_FALSE : IS_TRUE, out))
      return true;
  }
  return false;
}

bool wk_accel_filled_of(const wk_graph *g, wk_value_id v, int axis, wk_accel_filled *out) {
  const wk_node *n = wk_def(g, v);
  if (!n || n->predicate != WK_NONE || n->n_in == 0) return false;
  for (uint32_t k = 0; is_least_of_two(n) && k < 2; k++)
    if (!is_apart(g, n, n->in[k], axis) &&
        wk_accel_filled_of(g, n->in[k], axis_of_operand(g, n, n->in[k], axis), out))
      return true;
  if (chosen(g, n, axis, out)) return true;
  int before = wk_accel_axis_before(g, n, axis);
  return before >= 0 && wk_accel_filled_of(g, n->in[0], before, out);
}
