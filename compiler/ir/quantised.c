/* SPDX-License-Identifier: Apache-2.0 */
/* What the integers of quantised tensors stand for. */
#include <string.h>

#include "compiler/ir/graph.h"

static void add(wk_module *m, const wk_value_scale *q) {
  wk_value_scale copy = *q;
  if (wk_module_quantised(m, q->value)) return;
  copy.value = wk_arena_strdup(m->arena, q->value);
  wk_vec_push(&m->quantised, copy);
}

static bool is_scalar(const wk_graph *g, wk_value_id v) {
  return v != WK_NONE && wk_is_const(g, v) && wk_type_count(&wk_val(g, v)->type) == 1;
}

static double scalar(const wk_graph *g, wk_value_id v) {
  return wk_load_f64(wk_val(g, v)->data, wk_val(g, v)->type.dtype, 0);
}

static void note(wk_module *m, const wk_graph *g, const wk_node *n) {
  bool is_known = n->op == WK_OP_QUANTIZE || n->op == WK_OP_DEQUANTIZE;
  if (n->dead || !is_known || !is_scalar(g, n->in[1])) return;
  if (n->n_in > 2 && n->in[2] != WK_NONE && !is_scalar(g, n->in[2])) return;
  const wk_value *x = wk_val(g, n->op == WK_OP_QUANTIZE ? n->out[0] : n->in[0]);
  bool has_zero = n->n_in > 2 && n->in[2] != WK_NONE;
  if (x->kind == WK_VALUE_CONSTANT || !x->name) return;
  add(m, &(wk_value_scale){x->name, scalar(g, n->in[1]),
                         has_zero ? (int64_t)scalar(g, n->in[2]) : 0});
}

void wk_module_note_quantised(wk_module *m) {
  for (size_t i = 0; i < m->main->nodes.n; i++) note(m, m->main, &m->main->nodes.data[i]);
}

void wk_module_copy_quantised(wk_module *m, const wk_module *from) {
  for (size_t i = 0; i < from->quantised.n; i++) add(m, &from->quantised.data[i]);
}

const wk_value_scale *wk_module_quantised(const wk_module *m, const char *value) {
  for (size_t i = 0; value && i < m->quantised.n; i++)
    if (!strcmp(m->quantised.data[i].value, value)) return &m->quantised.data[i];
  return NULL;
}
