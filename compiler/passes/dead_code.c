/* SPDX-License-Identifier: Apache-2.0
 * Dead code: backwards from the outputs; a node none of whose results is needed goes. */
#include "compiler/passes/pass.h"

wk_status wk_pass_dead_code(wk_graph *g, wk_pass_ctx *c) {
  bool *needed = wk_arena_alloc(c->scratch, g->values.n);
  for (size_t i = 0; i < g->outputs.n; i++) needed[g->outputs.data[i]] = true;
  for (size_t i = g->nodes.n; i-- > 0;) {
    wk_node *n = wk_nod(g, (wk_node_id)i);
    bool keep = false;
    for (uint32_t k = 0; k < n->n_out; k++) keep |= n->out[k] != WK_NONE && needed[n->out[k]];
    if (!keep && !n->dead) {
      wk_node_remove(g, (wk_node_id)i);
      c->changes++;
    }
    if (!keep) continue;
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] != WK_NONE) needed[n->in[k]] = true;
    if (n->predicate != WK_NONE) needed[n->predicate] = true;
  }
  return NULL;
}
