/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes/pass.h"

#include <string.h>

wk_node *wk_def_op(const wk_graph *g, wk_value_id v, wk_op op) {
  wk_node *n = wk_def(g, v);
  return n && n->op == op && !n->dead ? n : NULL;
}

bool wk_single_use(const wk_uses *u, wk_value_id v) {
  return wk_use_count(u, v) == 1 && u->uses[u->first[v]].node != WK_NONE;
}

bool wk_const_splat(const wk_graph *g, wk_value_id v, double *value) {
  if (!wk_is_const(g, v)) return false;
  const wk_value *c = wk_val(g, v);
  int64_t n = wk_type_count(&c->type);
  if (n < 1 || n > 65536) return false;
  size_t size = (size_t)wk_dtype_size(c->type.dtype);
  *value = wk_load_f64(c->data, c->type.dtype, 0);
  return memcmp(c->data, (const char *)c->data + size, (size_t)(n - 1) * size) == 0;
}

wk_status wk_add_like(wk_graph *g, const wk_node *like, wk_op op, void *attrs,
                      const wk_value_id *in, uint32_t n_in, wk_value_id *out) {
  wk_node_desc d = {
      .op = op, .name = like->name, .attrs = attrs, .in = in, .n_in = n_in, .n_out = 1};
  WK_TRY(wk_graph_add(g, &d, out));
  if (op == like->op) g->nodes.data[g->nodes.n - 1].counted = like->counted;
  return NULL;
}
