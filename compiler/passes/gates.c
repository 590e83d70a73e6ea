/* SPDX-License-Identifier: Apache-2.0
 * Gates: where a number per row multiplies what products made, and is 0 for most of the rows,
 *     g * y   becomes   select(g != 0, g * y, 0)
 * so that a predicate says which rows of y are needed (lower/demand.h): mixtures of experts that
 * compute every expert for every token. Numbers are 0 for most rows where they are scattered into
 * zeros, chosen between something and 0, or such numbers times or divided by others. */
#include "compiler/passes/rewrite.h"

enum {
  DEPTH = 12,            /* nodes on the way from a gate, or from what it multiplies */
  WORTH_MACS = 1 << 18   /* of a product on that way */
};

static bool is_zero(const wk_rewrite *r, wk_value_id v) {
  double c;
  return wk_known(r, v) && wk_const_splat(r->g, v, &c) && c == 0;
}

static bool is_gate(const wk_rewrite *r, wk_value_id v, int depth);

/* The first zero of values [2] is what is elsewhere. */
static bool is_one_hot(const wk_rewrite *r, const wk_node *n) {
  const wk_value *v = wk_val(r->g, n->in[1]);
  return wk_known(r, n->in[1]) && wk_load_f64(v->data, v->type.dtype, 0) == 0;
}

static bool is_gate_of(const wk_rewrite *r, const wk_node *n, int depth) {
  switch (n->op) {
    case WK_OP_SCATTER_ELEMENTS:
    case WK_OP_SCATTER_ND:
      return is_zero(r, n->in[0]);
    case WK_OP_WHERE:
      return is_zero(r, n->in[1]) || is_zero(r, n->in[2]);
    case WK_OP_ONE_HOT:
      return is_one_hot(r, n);
    case WK_OP_MUL:
      return is_gate(r, n->in[0], depth) || is_gate(r, n->in[1], depth);
    case WK_OP_DIV:
    case WK_OP_CAST:
    case WK_OP_IDENTITY:
    case WK_OP_RESHAPE:
    case WK_OP_TRANSPOSE:
    case WK_OP_SLICE:
    case WK_OP_EXPAND:
    case WK_OP_SPLIT:
    case WK_OP_GATHER:
    case WK_OP_REDUCE_SUM:
      return is_gate(r, n->in[0], depth);
    default: return false;
  }
}

/* 0 at many places, as far as the graph shows. */
static bool is_gate(const wk_rewrite *r, wk_value_id v, int depth) {
  const wk_node *n = wk_def(r->g, v);
  return n && depth < DEPTH && is_gate_of(r, n, depth + 1);
}

/* A product with one matrix, large enough, is on the way to v, which has its rows. */
static bool has_product(const wk_rewrite *r, wk_value_id v, int depth) {
  const wk_node *n = wk_def(r->g, v);
  if (!n || depth == DEPTH || !wk_once(r, v)) return false;
  if (n->op == WK_OP_MATMUL) return wk_node_macs(r->g, n) >= WORTH_MACS;
  if (wk_op_get(n->op)->cls != WK_CLASS_ELEMENTWISE && n->op != WK_OP_RESHAPE) return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && has_product(r, n->in[k], depth + 1)) return true;
  return false;
}

/* One number for each row: all that it has along the last axis. */
static bool is_per_row(const wk_rewrite *r, wk_value_id gate, const wk_type *y) {
  const wk_type *t = wk_type_of(r, gate);
  return t->rank == y->rank && t->rank > 0 && t->dims[t->rank - 1] == 1 &&
         y->dims[y->rank - 1] > 1 && wk_type_count(t) > 1;
}

static bool is_selected(const wk_rewrite *r, wk_value_id v) {
  for (uint32_t at = r->first[v]; at; at = r->cells.data[at].next) {
    wk_node_id user = r->cells.data[at].node;
    if (user != WK_NONE && wk_nod(r->g, user)->op == WK_OP_WHERE) return true;
  }
  return false;
}

static bool select_rows(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->op != WK_OP_MUL || n->out[0] == WK_NONE) return false;
  const wk_type y = *wk_type_of(r, n->out[0]); /* new values move the old ones */
  if (!wk_dtype_is_float(y.dtype) || is_selected(r, n->out[0])) return false;
  for (int k = 0; k < 2; k++) {
    wk_value_id gate = n->in[k];
    if (!is_per_row(r, gate, &y) || !is_gate(r, gate, 0) || !has_product(r, n->in[1 - k], 0))
      continue;
    wk_value_id zero = wk_rewrite_scalar(r, wk_type_of(r, gate)->dtype, 0);
    wk_value_id none = wk_rewrite_2(r, WK_OP_EQUAL, NULL, gate, zero);
    const wk_value_id in[] = {wk_rewrite_1(r, WK_OP_NOT, NULL, none),
                              wk_rewrite_2(r, WK_OP_MUL, NULL, n->in[0], n->in[1]),
                              wk_rewrite_scalar(r, y.dtype, 0)};
    return wk_rewrite_replace(r, n->out[0], wk_rewrite_add(r, WK_OP_WHERE, NULL, 3, in));
  }
  return false;
}

wk_status wk_pass_gates(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, select_rows); }
