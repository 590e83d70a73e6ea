/* SPDX-License-Identifier: Apache-2.0
 * Predicates where there is no place for them. */
#include "compiler/ir/graph.h"

const char *wk_node_called(const wk_graph *g, const wk_node *n) {
  for (uint32_t k = 0; k < n->n_out && !*n->name; k++)
    if (n->out[k] != WK_NONE) return wk_val(g, n->out[k])->name;
  return n->name;
}

wk_status wk_node_no_predicate(const wk_graph *g, const wk_node *n, const char *where) {
  if (n->dead || n->predicate == WK_NONE) return NULL;
  return wk_error_at(WK_UNSUPPORTED, wk_node_called(g, n),
                     "its predicate %%%s would be lost: %s has none",
                     wk_val(g, n->predicate)->name, where);
}

wk_status wk_module_no_predicates(const wk_module *m, const char *where) {
  for (size_t k = 0; k < m->graphs.n; k++) {
    const wk_graph *g = m->graphs.data[k];
    for (size_t i = 0; i < g->nodes.n; i++)
      WK_TRY(wk_node_no_predicate(g, wk_nod(g, (wk_node_id)i), where));
  }
  return NULL;
}
