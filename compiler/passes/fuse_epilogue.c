/* SPDX-License-Identifier: Apache-2.0
 * Epilogues: a map that is the only user of a convolution or product, over the same space, moves
 * into its epilogue; the map's other operands become extra inputs (bias, residual, gate). */
#include "compiler/passes/fuse.h"

#define MAX_EXTRAS 6

static bool is_integer(const wk_graph *g, const wk_node *n) {
  return wk_dtype_is_int(wk_val(g, n->in[0])->type.dtype);
}

/* Operands and result have one type: what fused floats are limited to. */
static bool is_uniform(const wk_graph *g, const wk_node *m, wk_dtype t) {
  for (uint32_t k = 0; k < m->n_in; k++)
    if (wk_val(g, m->in[k])->type.dtype != t) return false;
  return wk_val(g, m->out[0])->type.dtype == t;
}

static wk_node *fitting_map(wk_graph *g, const wk_uses *u, const wk_node *n, wk_node_id *id) {
  wk_value_id y = n->out[0];
  if (!wk_single_use(u, y)) return NULL;
  *id = u->uses[u->first[y]].node;
  wk_node *m = wk_nod(g, *id);
  const wk_type *t = &wk_val(g, y)->type;
  if (m->dead || m->op != WK_OP_MAP || m->n_out != 1 || m->predicate != WK_NONE ||
      m->n_in + n->n_in > MAX_EXTRAS + 4)
    return NULL;
  const wk_value *out = wk_val(g, m->out[0]);
  if (!wk_shape_equal(&out->type, t)) return NULL;
  if (!is_integer(g, n) && !is_uniform(g, m, t->dtype)) return NULL;
  return wk_expr_uses_index(WK_ATTR(m, map)->body) ? NULL : m;
}

/* Inputs x, w, b stay; extras follow in order of first mention. Expression input 0 is the
 * accumulator. */
static wk_status fuse(wk_pass_ctx *c, wk_graph *g, wk_node_id id, wk_node_id map_id,
                      bool *changed) {
  wk_arena *a = g->module->arena;
  wk_node n = *wk_nod(g, id), m = *wk_nod(g, map_id);
  wk_dtype t = wk_accumulator_dtype(wk_val(g, n.in[0])->type.dtype);
  wk_fuse f = {.b = wk_expr_begin(a), .g = g, .first = 1};
  uint16_t acc = wk_expr_input(f.b, 0, t), given[2 * WK_FUSE_MAX_INPUTS] = {0};
  wk_value_id values[2 * WK_FUSE_MAX_INPUTS];
  const wk_expr *old = wk_op_epilogue(n.op, n.attrs);
  if (old) {
    values[0] = WK_NONE;
    given[0] = acc;
    for (uint32_t k = 3; k < n.n_in; k++) values[k - 2] = n.in[k];
    acc = wk_fuse_inline(&f, old, values, n.n_in > 3 ? n.n_in - 2 : 1, given);
  }
  acc = wk_expr_cast(f.b, wk_val(g, n.out[0])->type.dtype, acc); /* what is rounded stays rounded */
  for (uint32_t k = 0; k < m.n_in; k++) {
    values[k] = m.in[k] == n.out[0] ? WK_NONE : m.in[k];
    given[k] = acc;
  }
  uint16_t r = wk_fuse_inline(&f, WK_ATTR(&m, map)->body, values, m.n_in, given);
  const wk_expr *e = wk_expr_finish(f.b, &r, 1);
  void *attrs = wk_attrs_clone(a, n.op, n.attrs);
  wk_op_set_epilogue(n.op, attrs, e);
  wk_value_id in[2 * WK_FUSE_MAX_INPUTS + 8] = {n.in[0], n.in[1], n.n_in > 2 ? n.in[2] : WK_NONE};
  uint32_t n_in = f.n ? 3 : n.n_in < 3 ? n.n_in : 3;
  for (uint32_t k = 0; k < f.n; k++) in[n_in++] = f.in[k];
  wk_node fused = wk_fuse_as(&n, attrs, n_in, in, m.out);
  if (!wk_fuse_allowed(c, g, wk_nod(g, id), NULL, &fused)) return NULL;
  wk_value_id out;
  WK_TRY(wk_add_like(g, &n, n.op, attrs, in, n_in, &out));
  wk_graph_replace(g, m.out[0], out);
  wk_node_remove(g, id);
  wk_node_remove(g, map_id);
  c->changes++;
  *changed = true;
  return NULL;
}

wk_status wk_pass_fuse_epilogue(wk_graph *g, wk_pass_ctx *c) {
  for (bool changed = true; changed;) {
    changed = false;
    wk_uses u = wk_graph_uses(g, c->scratch);
    size_t n_nodes = g->nodes.n;
    for (size_t i = 0; i < n_nodes; i++) {
      const wk_node *n = wk_nod(g, (wk_node_id)i);
      wk_node_id map;
      if (n->dead || !wk_op_takes_extras(n->op) || n->predicate != WK_NONE) continue;
      if (!fitting_map(g, &u, n, &map)) continue;
      WK_TRY(fuse(c, g, (wk_node_id)i, map, &changed));
    }
    if (changed) WK_TRY(wk_graph_normalise(g));
    if (changed && c->owners) wk_owners_forget(c->owners);
  }
  return NULL;
}
