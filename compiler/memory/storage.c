/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/memory/storage.h"

static bool is_free(const wk_storage_choice *c, wk_value_id v) {
  return wk_val(c->g, v)->kind == WK_VALUE_NODE && !c->is_settled(c->ctx, v);
}

void wk_storage_backwards(const wk_storage_choice *c) {
  for (size_t i = c->g->nodes.n; i-- > 0;) {
    const wk_node *n = wk_nod(c->g, (wk_node_id)i);
    if (n->n_out == 0 || n->out[0] == WK_NONE) continue;
    bool waits = wk_node_view(n) == WK_VIEW_WHOLE && !c->is_settled(c->ctx, n->out[0]);
    for (uint32_t k = 0; !waits && k < wk_node_written_into(n); k++)
      if (is_free(c, n->in[k])) c->settle_in_result(c->ctx, n, k);
  }
}
