/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes/fuse.h"

bool wk_expr_uses_index(const wk_expr *e) {
  for (uint32_t i = 0; e && i < e->n; i++)
    if (e->nodes[i].op == WK_EX_INDEX) return true;
  return false;
}

bool wk_is_elementwise(const wk_node *n) {
  if (n->op == WK_OP_MAP) return !wk_expr_uses_index(WK_ATTR(n, map)->body);
  return wk_op_get(n->op)->cls == WK_CLASS_ELEMENTWISE;
}

/* Of a node or a copy of one. */
static wk_node_id id_of(const wk_graph *g, const wk_node *n) {
  uint32_t k = 0;
  while (n->out[k] == WK_NONE) k++;
  return wk_val(g, n->out[k])->node;
}

bool wk_fuse_allowed(const wk_pass_ctx *c, const wk_graph *g, const wk_node *n,
                     const wk_node *with, const wk_node *fused) {
  uint32_t t = 0;
  if (!c->owners) return true;
  const wk_targets *all = wk_owners_targets(c->owners);
  if (all->n > 1) t = wk_owners_first(c->owners, g, id_of(g, n));
  if (t == all->n) return true; /* the partition refuses it, fused or not */
  if (with && all->n > 1 && wk_owners_first(c->owners, g, id_of(g, with)) != t) return false;
  const wk_instance *owner = all->list[t];
  return !owner->target->fuses || owner->target->fuses(owner, g, fused);
}

wk_node wk_fuse_as(const wk_node *n, void *attrs, uint32_t n_in, const wk_value_id *in,
                   const wk_value_id *out) {
  wk_node y = *n;
  y.attrs = attrs;
  y.n_in = n_in;
  y.in = (wk_value_id *)(uintptr_t)in;
  y.out = (wk_value_id *)(uintptr_t)out;
  return y;
}

uint16_t wk_fuse_input(wk_fuse *f, wk_value_id v) {
  uint32_t k = 0;
  while (k < f->n && f->in[k] != v) k++;
  if (k == f->n) f->in[f->n++] = v;
  return wk_expr_input(f->b, f->first + k, wk_val(f->g, v)->type.dtype);
}

uint16_t wk_fuse_inline(wk_fuse *f, const wk_expr *e, const wk_value_id *values, uint32_t n,
                        const uint16_t *given) {
  uint16_t inputs[2 * WK_FUSE_MAX_INPUTS + 8] = {0};
  for (uint32_t k = 0; k < n; k++)
    inputs[k] = values[k] == WK_NONE ? given[k] : wk_fuse_input(f, values[k]);
  return wk_expr_inline(f->b, e, inputs, 0);
}

bool wk_fuse_same_space(const wk_type *a, const wk_type *b) {
  if (a->rank > b->rank) return false;
  for (int i = 0; i < b->rank; i++) {
    int k = i - (b->rank - a->rank);
    if ((k < 0 ? 1 : a->dims[k]) != b->dims[i]) return false;
  }
  return true;
}
