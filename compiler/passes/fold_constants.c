/* SPDX-License-Identifier: Apache-2.0
 * Constant folding by the evaluator. Results are kept when they are not much larger than what they
 * replace: an expanded or tiled constant stays an operator, since views cost nothing, and what has
 * a few bits per element keeps them. */
#include "compiler/passes/pack.h"
#include "compiler/passes/pass.h"

#define ALWAYS_BYTES (64 << 10)

static int64_t budget_for(const wk_graph *g, const wk_node *n) {
  int64_t bytes = ALWAYS_BYTES;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) bytes += wk_type_bytes(&wk_val(g, n->in[k])->type);
  return bytes;
}

/* Elements of a few bits would become many times as large. */
static bool widens_packed(const wk_graph *g, const wk_node *n) {
  bool is_map = n->op == WK_OP_MAP;
  if ((!is_map && wk_op_get(n->op)->cls != WK_CLASS_ELEMENTWISE) ||
      wk_dtype_size(wk_val(g, n->out[0])->type.dtype) == 1)
    return false;
  if (is_map && wk_takes_apart(WK_ATTR(n, map)->body)) return true;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && wk_is_worth_packing(wk_val(g, n->in[k]))) return true;
  return false;
}

/* Views of a large constant cost nothing as they are: targets read, or pack, through strides. */
static bool worth_folding(const wk_graph *g, const wk_node *n) {
  switch (n->op) {
  case WK_OP_EXPAND:
  case WK_OP_TRANSPOSE:
  case WK_OP_RESHAPE:
  case WK_OP_SLICE: return wk_type_bytes(&wk_val(g, n->out[0])->type) <= ALWAYS_BYTES;
  case WK_OP_SPLIT: return wk_type_bytes(&wk_val(g, n->in[0])->type) <= ALWAYS_BYTES;
  default: return !widens_packed(g, n);
  }
}

wk_status wk_pass_fold_constants(wk_graph *g, wk_pass_ctx *c) {
  size_t n_nodes = g->nodes.n;
  for (size_t i = 0; i < n_nodes; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    bool folded = false;
    if (n->dead || !worth_folding(g, n) || !wk_eval_is_foldable(g, n)) continue;
    WK_TRY(wk_eval_fold(g, (wk_node_id)i, budget_for(g, n), &folded));
    c->changes += folded;
  }
  return NULL;
}
