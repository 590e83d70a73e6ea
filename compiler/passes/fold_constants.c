/* SPDX-License-Identifier: Apache-2.0
 * Constant folding by the evaluator. Results are kept when they are not much larger than what they
 * replace: an expanded or tiled constant stays an operator, since views cost nothing, and what has
 * a few bits per element keeps them. What the weights of a convolution are computed from is folded
 * at any size, since its kernels take constants. */
#include "compiler/passes/pack.h"
#include "compiler/passes/pass.h"

#define ALWAYS_BYTES (64 << 10)
#define MAX_VISITS 64

static bool is_pointwise(const wk_node *n) {
  return n->op == WK_OP_MAP || wk_op_get(n->op)->cls == WK_CLASS_ELEMENTWISE;
}

/* v becomes the weights of a convolution, computed element by element, or moved. */
static bool feeds_weights(const wk_graph *g, const wk_uses *u, wk_value_id v, int *visits) {
  for (uint32_t k = u->first[v]; k < u->first[v + 1] && --*visits > 0; k++) {
    const wk_node *n = u->uses[k].node == WK_NONE ? NULL : wk_nod(g, u->uses[k].node);
    if (!n || n->dead) continue;
    bool is_conv = n->op == WK_OP_CONV || n->op == WK_OP_CONV_TRANSPOSE;
    if (is_conv && u->uses[k].index == 1) return true;
    bool goes_on = is_pointwise(n) || wk_op_get(n->op)->cls == WK_CLASS_MOVEMENT;
    if (goes_on && n->n_out == 1 && feeds_weights(g, u, n->out[0], visits)) return true;
  }
  return false;
}

static int64_t budget_for(const wk_graph *g, const wk_node *n, bool are_weights) {
  int64_t bytes = ALWAYS_BYTES;
  if (are_weights && is_pointwise(n)) return INT64_MAX;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) bytes += wk_type_bytes(&wk_val(g, n->in[k])->type);
  return bytes;
}

/* Elements of a few bits would become many times as large. */
static bool widens_packed(const wk_graph *g, const wk_node *n) {
  if (!is_pointwise(n) || wk_dtype_size(wk_val(g, n->out[0])->type.dtype) == 1) return false;
  if (n->op == WK_OP_MAP && wk_takes_apart(WK_ATTR(n, map)->body)) return true;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && wk_is_worth_packing(wk_val(g, n->in[k]))) return true;
  return false;
}

/* Views of a large constant cost nothing as they are: targets read, or pack, through strides. */
static bool worth_folding(const wk_graph *g, const wk_node *n, bool are_weights) {
  switch (n->op) {
  case WK_OP_EXPAND:
  case WK_OP_TRANSPOSE:
  case WK_OP_RESHAPE:
  case WK_OP_SLICE: return wk_type_bytes(&wk_val(g, n->out[0])->type) <= ALWAYS_BYTES;
  case WK_OP_SPLIT: return wk_type_bytes(&wk_val(g, n->in[0])->type) <= ALWAYS_BYTES;
  default: return are_weights || !widens_packed(g, n);
  }
}

wk_status wk_pass_fold_constants(wk_graph *g, wk_pass_ctx *c) {
  size_t n_nodes = g->nodes.n;
  const wk_uses uses = wk_graph_uses(g, c->scratch);
  for (size_t i = 0; i < n_nodes; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    bool folded = false;
    int visits = MAX_VISITS;
    if (n->dead || !wk_eval_is_foldable(g, n)) continue;
    bool are_weights = n->n_out == 1 && feeds_weights(g, &uses, n->out[0], &visits);
    if (!worth_folding(g, n, are_weights)) continue;
    WK_TRY(wk_eval_fold(g, (wk_node_id)i, budget_for(g, n, are_weights), &folded));
    c->changes += folded;
  }
  return NULL;
}
