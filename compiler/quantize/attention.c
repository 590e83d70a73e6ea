/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "compiler/quantize/quantize.h"

static wk_status add(wk_graph *g, wk_op op, const char *name, void *attrs, wk_value_id a,
                     wk_value_id b, wk_value_id *out) {
  const wk_value_id in[] = {a, b};
  wk_node_desc d = {.op = op, .name = name, .attrs = attrs, .in = in,
                    .n_in = b == WK_NONE ? 1 : 2, .n_out = 1};
  return wk_graph_add(g, &d, out);
}

/* softmax(scale * q k^T + mask) v */
static wk_status split(wk_graph *g, wk_node_id id) {
  const wk_node n = *wk_nod(g, id);
  wk_arena *a = g->module->arena;
  int rank = wk_val(g, n.in[1])->type.rank;
  int64_t perm[WK_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 1] = rank - 2;
  perm[rank - 2] = rank - 1;
  wk_attr_transpose *t = wk_attrs_new(a, WK_OP_TRANSPOSE);
  wk_attr_softmax *soft = wk_attrs_new(a, WK_OP_SOFTMAX);
  t->perm = wk_ints_dup(a, perm, rank);
  soft->axis = rank - 1;
  wk_value_id x;
  wk_value_id scale = wk_graph_scalar(g, wk_val(g, n.in[0])->type.dtype,
                                      ((const wk_attr_attention *)n.attrs)->scale);
  WK_TRY(add(g, WK_OP_TRANSPOSE, wk_arena_printf(a, "%s_kt", n.name), t, n.in[1], WK_NONE, &x));
  WK_TRY(add(g, WK_OP_MATMUL, wk_arena_printf(a, "%s_scores", n.name), NULL, n.in[0], x, &x));
  WK_TRY(add(g, WK_OP_MUL, wk_arena_printf(a, "%s_scale", n.name), NULL, x, scale, &x));
  if (n.n_in > 3 && n.in[3] != WK_NONE)
    WK_TRY(add(g, WK_OP_ADD, wk_arena_printf(a, "%s_mask", n.name), NULL, x, n.in[3], &x));
  WK_TRY(add(g, WK_OP_SOFTMAX, wk_arena_printf(a, "%s_softmax", n.name), soft, x, WK_NONE, &x));
  WK_TRY(add(g, WK_OP_MATMUL, n.name, NULL, x, n.in[2], &x));
  wk_graph_replace(g, n.out[0], x);
  wk_node_remove(g, id);
  return NULL;
}

wk_status wk_quantize_split_attention(wk_module *m, int64_t *count) {
  size_t n = m->main->nodes.n;
  *count = 0;
  for (size_t i = 0; i < n; i++) {
    const wk_node *node = &m->main->nodes.data[i];
    if (node->dead || node->op != WK_OP_ATTENTION || node->predicate != WK_NONE) continue;
    WK_TRY(split(m->main, (wk_node_id)i));
    ++*count;
  }
  return *count ? wk_module_normalise(m) : NULL;
}
