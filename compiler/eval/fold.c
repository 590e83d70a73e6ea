/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding: a node whose inputs are constants is evaluated now. */
#include <stdlib.h>

#include "compiler/eval/handler.h"

#define MAX_TRIPS 4096 /* of a loop that is folded */

/* Bodies are searched with a work list; what a hostile file nests deeply is not folded. */
static bool bodies_foldable(const wk_node *n) {
  const wk_graph *work[WK_EVAL_MAX_DEPTH];
  size_t left = 0;
  for (uint32_t b = 0; b < n->n_bodies; b++) work[left++] = n->bodies[b];
  while (left) {
    const wk_graph *g = work[--left];
    for (size_t i = 0; i < g->nodes.n; i++) {
      const wk_node *inner = &g->nodes.data[i];
      if (inner->dead) continue;
      if (!wk_op_is_pure(inner->op) || inner->op == WK_OP_LOOP) return false;
      if (left + inner->n_bodies > WK_COUNTOF(work)) return false;
      for (uint32_t b = 0; b < inner->n_bodies; b++) work[left++] = inner->bodies[b];
    }
  }
  return n->op != WK_OP_LOOP || WK_ATTR(n, loop)->trip <= MAX_TRIPS;
}

bool wk_eval_widens(const wk_graph *g, const wk_node *n) {
  if (n->op != WK_OP_CAST) return n->op == WK_OP_DEQUANTIZE;
  wk_dtype from = wk_val(g, n->in[0])->type.dtype, to = wk_val(g, n->out[0])->type.dtype;
  return wk_dtype_is_narrow(from) && wk_dtype_bits(from) <= 4 && wk_dtype_size(to) > 1;
}

bool wk_eval_is_foldable(const wk_graph *g, const wk_node *n) {
  if (n->dead || n->predicate != WK_NONE || !wk_op_is_pure(n->op)) return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && !wk_is_const(g, n->in[k])) return false;
  return n->n_bodies == 0 || bodies_foldable(n);
}

static bool within_budget(const wk_graph *g, const wk_node *n, int64_t budget) {
  if (budget > g->module->constant_bytes_left) budget = g->module->constant_bytes_left;
  int64_t total = 0;
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE &&
        !wk_add_ok(total, wk_type_bytes(&wk_val(g, n->out[k])->type), &total))
      return false;
  return total <= budget && wk_eval_work(g, n) <= g->module->fold_work_left;
}

/* Constants for the outputs, computed but not yet in anyone's place. */
static wk_status compute(wk_graph *g, wk_node_id id, wk_value_id *made) {
  const wk_node *n = wk_nod(g, id);
  wk_tensor *in = wk_xcalloc(n->n_in, sizeof *in), *out = wk_xcalloc(n->n_out, sizeof *out);
  wk_status s = NULL;
  for (uint32_t k = 0; k < n->n_out && !s; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_type t = wk_val(g, n->out[k])->type;
    out[k].type = t;
    s = wk_graph_constant_alloc(g, NULL, &t, &made[k], &out[k].data);
  }
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE) continue;
    const wk_value *v = wk_val(g, n->in[k]);
    in[k] = (wk_tensor){v->type, (void *)(uintptr_t)v->data};
  }
  wk_eval_node_args a = {n, g, in, out};
  if (!s) s = wk_eval_node(&a);
  free(in);
  free(out);
  return s;
}

wk_status wk_eval_fold(wk_graph *g, wk_node_id id, int64_t budget, bool *folded) {
  *folded = false;
  if (!wk_eval_is_foldable(g, wk_nod(g, id)) || !within_budget(g, wk_nod(g, id), budget))
    return NULL;
  g->module->fold_work_left -= wk_eval_work(g, wk_nod(g, id));
  uint32_t n_out = wk_nod(g, id)->n_out;
  wk_value_id *made = wk_xcalloc(n_out, sizeof *made);
  wk_status s = compute(g, id, made);
  for (uint32_t k = 0; k < n_out && !s; k++) {
    wk_value_id out = wk_nod(g, id)->out[k];
    if (out != WK_NONE) wk_graph_replace(g, out, made[k]);
  }
  if (!s) wk_node_remove(g, id);
  *folded = !s;
  free(made);
  return s;
}
