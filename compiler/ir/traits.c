/* SPDX-License-Identifier: Apache-2.0
 * What the traits column of ops.def says of operators and nodes; and that each row says what it
 * has to. */
#include <math.h>
#include <string.h>

#include "compiler/ir/graph.h"

/* ---- rows are complete ----------------------------------------------------------------------- */

#define T_VIEW(v)
#define T_WINDOW(v)
#define T_WINDOW_OUTSIDE(f)
#define T_EPILOGUE_OF(f, first)
#define T_EPILOGUE(f)
#define T_BEGINS_AS_FIRST
#define T_MACS(v) + 100
#define T_ORDER(v) + 1
#define T_ANY_ORDER
#define T_WORK(v) + 10
#define T_NARROW
#define T_SCALAR T_ORDER(ROWS) T_WORK(SCALAR)
#define MULTIPLIES(c) (WK_CLASS_##c == WK_CLASS_CONTRACTION || WK_CLASS_##c == WK_CLASS_RECURRENT)
#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc)         \
  _Static_assert((0 traits) % 100 == 11, #name ": T_ORDER and T_WORK once each"); \
  _Static_assert((0 traits) / 100 <= 1 && (0 traits) / 100 >= MULTIPLIES(cls),    \
                 #name ": T_MACS once where it multiplies");
#include "compiler/ir/ops.def"
#undef OP

/* ---- operators ------------------------------------------------------------------------------- */

int wk_op_count(wk_op_kind kind) {
  int n = 0;
  for (int op = 0; op < WK_OP_COUNT; op++) n += wk_op_get((wk_op)op)->kind == kind;
  return n;
}

const wk_expr *wk_op_epilogue(wk_op op, const void *attrs) {
  const wk_op_traits *t = &wk_op_get(op)->traits;
  return t->has_epilogue ? *(const wk_expr *const *)((const char *)attrs + t->epilogue) : NULL;
}

void wk_op_set_epilogue(wk_op op, void *attrs, const wk_expr *e) {
  const wk_op_traits *t = &wk_op_get(op)->traits;
  if (!t->has_epilogue) WK_BUG("the operator has no epilogue");
  *(const wk_expr **)((char *)attrs + t->epilogue) = e;
}

uint32_t wk_op_first_elementwise(wk_op op) {
  const wk_op_traits *t = &wk_op_get(op)->traits;
  return t->has_epilogue ? t->elementwise : UINT32_MAX;
}

bool wk_op_is_elementwise(wk_op op, uint32_t k) {
  const wk_op_traits *t = &wk_op_get(op)->traits;
  return (k == 0 && t->begins_as_first) || k >= wk_op_first_elementwise(op);
}

bool wk_op_takes_extras(wk_op op) {
  return wk_op_get(op)->cls == WK_CLASS_CONTRACTION && wk_op_first_elementwise(op) != UINT32_MAX;
}

wk_ints *wk_op_ints(wk_op op, void *attrs, const char *name) {
  const wk_field *f = wk_op_field(wk_op_get(op), name, strlen(name));
  return f && f->kind == WK_FIELD_INTS ? (wk_ints *)((char *)attrs + f->offset) : NULL;
}

double wk_op_outside(wk_op op, const void *attrs) {
  const wk_op_traits *t = &wk_op_get(op)->traits;
  switch (t->window) {
  case WK_WINDOW_ZERO: return 0;
  case WK_WINDOW_LEAST: return -INFINITY;
  case WK_WINDOW_ATTRIBUTE:
    return (double)*(const int64_t *)((const char *)attrs + t->outside);
  case WK_WINDOW_NONE:
  case WK_WINDOW_BACK: break;
  }
  WK_BUG("no window slides over x");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

wk_view_trait wk_node_view(const wk_node *n) {
  if (n->op == WK_OP_PAD && strcmp(WK_ATTR(n, pad)->mode, "constant") != 0) return WK_VIEW_NONE;
  return wk_op_get(n->op)->traits.view;
}

bool wk_node_shows(const wk_node *n) {
  wk_view_trait v = wk_node_view(n);
  return v == WK_VIEW_WHOLE || v == WK_VIEW_PART;
}

static bool crops(const wk_attr_pad *a) {
  for (int64_t i = 0; i < a->before.n; i++)
    if (a->before.v[i] < 0 || a->after.v[i] < 0) return true;
  return false;
}

uint32_t wk_node_written_into(const wk_node *n) {
  switch (wk_node_view(n)) {
  case WK_VIEW_NONE:
  case WK_VIEW_PART: return 0;
  case WK_VIEW_WHOLE: return 1;
  case WK_VIEW_PIECES: return n->n_in;
  case WK_VIEW_INSIDE: return !crops(WK_ATTR(n, pad));
  }
  return 0;
}
