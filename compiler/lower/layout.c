/* SPDX-License-Identifier: Apache-2.0
 * Layout assignment: the memory order of every value. No transposes are inserted; order is a
 * property of storage, so the only cost of a bad choice is a copy where a reshape cannot be
 * shown by strides.
 *
 * Forwards: convolutions write channels last on targets that prefer it; every other operator
 * keeps the order of its main input; a transpose or reshape gets the order that makes it a view.
 * Backwards: a value that is only transposed on its way to a reshape is written in the
 * transposed order, so that both are views (the way out of attention). */
#include <string.h>

#include "compiler/lower/generate.h"

static void set_order(wk_value *v, const uint8_t *order) {
  v->has_order = false;
  memcpy(v->order, order, (size_t)v->type.rank);
  for (int i = 0; i < v->type.rank; i++) v->has_order |= order[i] != i;
}

static void get_order(const wk_value *v, uint8_t order[WK_MAX_RANK]) {
  for (int i = 0; i < v->type.rank; i++) order[i] = v->has_order ? v->order[i] : (uint8_t)i;
}

static void set_channels_last(wk_value *v) {
  uint8_t order[WK_MAX_RANK];
  int rank = v->type.rank;
  order[0] = 0;
  for (int i = 2; i < rank; i++) order[i - 1] = (uint8_t)i;
  order[rank - 1] = 1;
  set_order(v, order);
}

/* The order of a dense view: axes by falling stride, ties (size 1) by axis. */
static bool order_of_view(const wk_view *w, uint8_t order[WK_MAX_RANK]) {
  uint64_t expect = 1;
  for (int i = 0; i < w->rank; i++) {
    int k = i;
    for (; k > 0 && w->strides[order[k - 1]] < w->strides[i]; k--) order[k] = order[k - 1];
    order[k] = (uint8_t)i;
  }
  for (int i = w->rank - 1; i >= 0; i--) {
    int axis = order[i];
    if (w->dims[axis] == 1) continue;
    if (w->strides[axis] != (int64_t)expect) return false;
    expect *= (uint64_t)w->dims[axis];
  }
  return true;
}

static bool is_channels_last(const wk_value *v) {
  wk_value as = *v;
  if (v->type.rank < 3 || !v->has_order) return false;
  set_channels_last(&as);
  return !memcmp(as.order, v->order, (size_t)v->type.rank);
}

static void order_through_reshape(const wk_value *x, wk_value *y, bool channels_last) {
  wk_view from = wk_view_ordered(0, x), to;
  uint8_t order[WK_MAX_RANK];
  if (wk_view_reshape(&from, y->type.rank, y->type.dims, &to) && order_of_view(&to, order))
    set_order(y, order);
  else if (is_channels_last(x) && channels_last && y->type.rank >= 3)
    set_channels_last(y);
}

static void order_through_transpose(const wk_value *x, wk_value *y, const int64_t *perm) {
  uint8_t from[WK_MAX_RANK], to[WK_MAX_RANK];
  get_order(x, from);
  for (int k = 0; k < x->type.rank; k++)
    for (int i = 0; i < x->type.rank; i++)
      if (perm[i] == from[k]) to[k] = (uint8_t)i;
  set_order(y, to);
}

/* Its elements lie in another order than row-major: axes of one element make no difference. */
static bool is_permuted(const wk_value *v) {
  int last = -1;
  for (int k = 0; v->has_order && k < v->type.rank; k++) {
    if (v->type.dims[v->order[k]] == 1) continue;
    if (v->order[k] < last) return true;
    last = v->order[k];
  }
  return false;
}

/* The input that decides: of the output's rank, ordered if any is, with the output's shape if
 * any has; NULL: none is ordered. */
static const wk_value *main_input(const wk_graph *g, const wk_node *n, const wk_value *y) {
  const wk_value *best = NULL;
  int best_score = -1;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == WK_NONE) continue;
    const wk_value *x = wk_val(g, n->in[i]);
    if (x->type.rank != y->type.rank) continue;
    int score = 2 * wk_shape_equal(&x->type, &y->type) + is_permuted(x);
    if (score > best_score) {
      best = x;
      best_score = score;
    }
  }
  return best && is_permuted(best) ? best : NULL;
}

static void keep_order(const wk_value *x, wk_value *y) {
  uint8_t order[WK_MAX_RANK];
  if (!x || x->type.rank != y->type.rank) return;
  get_order(x, order);
  set_order(y, order);
}

static void order_through_reduce(const wk_value *x, wk_value *y, const wk_attr_reduce *a) {
  if (a->keepdims) {
    keep_order(x, y);
    return;
  }
  uint8_t from[WK_MAX_RANK], to[WK_MAX_RANK];
  int n = 0;
  get_order(x, from);
  for (int k = 0; k < x->type.rank; k++) {
    int below = 0;
    bool gone = false;
    for (int64_t i = 0; i < a->axes.n; i++) {
      gone |= a->axes.v[i] == from[k];
      below += a->axes.v[i] < from[k];
    }
    if (!gone) to[n++] = (uint8_t)(from[k] - below);
  }
  if (n == y->type.rank) set_order(y, to);
}

static void forwards(wk_graph *g, const wk_node *n, bool channels_last) {
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_value *y = wk_val(g, n->out[k]);
    const wk_value *x = n->n_in && n->in[0] != WK_NONE ? wk_val(g, n->in[0]) : NULL;
    switch (wk_op_get(n->op)->traits.order) {
    case WK_ORDER_ROWS: break;
    case WK_ORDER_CHANNELS_LAST:
      if (channels_last) set_channels_last(y);
      break;
    case WK_ORDER_FIRST: keep_order(x, y); break;
    case WK_ORDER_MAIN: keep_order(main_input(g, n, y), y); break;
    case WK_ORDER_RESHAPE: order_through_reshape(x, y, channels_last); break;
    case WK_ORDER_TRANSPOSE: order_through_transpose(x, y, WK_ATTR(n, transpose)->perm.v); break;
    case WK_ORDER_REDUCE: order_through_reduce(x, y, WK_ATTR(n, reduce)); break;
    case WK_ORDER_GATHER:
      keep_order(x && x->type.rank == 1 ? wk_val(g, n->in[1]) : x, y);
      break;
    }
  }
}

static bool writes_any_order(wk_op op) { return wk_op_get(op)->traits.any_order; }

/* v is transposed to y, and y is reshaped: v written in y's row-major order makes both views. */
static void backwards(wk_graph *g, const wk_uses *uses, wk_value_id v) {
  wk_value *x = wk_val(g, v);
  if (x->kind != WK_VALUE_NODE || x->has_order || !writes_any_order(wk_nod(g, x->node)->op)) return;
  if (wk_use_count(uses, v) != 1) return;
  wk_use u = uses->uses[uses->first[v]];
  if (u.node == WK_NONE || wk_nod(g, u.node)->op != WK_OP_TRANSPOSE) return;
  const wk_node *t = wk_nod(g, u.node);
  const int64_t *perm = WK_ATTR(t, transpose)->perm.v;
  wk_value *y = wk_val(g, t->out[0]);
  for (uint32_t i = uses->first[t->out[0]]; i < uses->first[t->out[0] + 1]; i++) {
    wk_use w = uses->uses[i];
    if (w.node == WK_NONE || wk_nod(g, w.node)->op != WK_OP_RESHAPE) return;
  }
  uint8_t order[WK_MAX_RANK];
  for (int i = 0; i < x->type.rank; i++) order[i] = (uint8_t)perm[i];
  set_order(x, order);
  y->has_order = false;
}

wk_status wk_layout_assign(wk_module *m, bool channels_last) {
  for (size_t k = 0; k < m->graphs.n; k++) {
    wk_graph *g = m->graphs.data[k];
    wk_arena *scratch = wk_arena_new();
    for (size_t i = 0; i < g->values.n; i++) g->values.data[i].has_order = false;
    wk_uses uses = wk_graph_uses(g, scratch);
    for (size_t i = 0; i < g->nodes.n; i++) forwards(g, wk_nod(g, (wk_node_id)i), channels_last);
    for (size_t v = 0; v < g->values.n; v++) backwards(g, &uses, (wk_value_id)v);
    /* reshapes behind values that changed */
    for (size_t i = 0; i < g->nodes.n; i++)
      if (wk_nod(g, (wk_node_id)i)->op == WK_OP_RESHAPE)
        forwards(g, wk_nod(g, (wk_node_id)i), channels_last);
    wk_arena_free(scratch);
  }
  return NULL;
}
