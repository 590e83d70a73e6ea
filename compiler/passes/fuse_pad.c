/* SPDX-License-Identifier: Apache-2.0
 * Constant padding of the spatial axes becomes the padding of the window behind it, where that pads
 * with the same number: 0 for convolutions, means and norms, -infinity for maxima. The positions
 * that a mean counts (real_pads) are those of the padded tensor, so they grow with it. */
#include <string.h>

#include "compiler/passes/rewrite.h"

/* Amounts per spatial axis, begins then ends; false when it is no such padding. */
static bool spatial_amounts(const wk_rewrite *r, const wk_node *pad, double fill,
                            int64_t amounts[2 * WK_MAX_RANK]) {
  const wk_attr_pad *a = pad->attrs;
  int64_t rank = a->before.n;
  bool given = pad->n_in > 1 && pad->in[1] != WK_NONE;
  if (strcmp(a->mode, "constant") || rank < 3 || wk_type_of(r, pad->in[0])->quant) return false;
  if (given ? !wk_is_splat(r, pad->in[1], fill) : fill != 0) return false;
  for (int64_t i = 0; i < rank; i++) {
    if (a->before.v[i] < 0 || a->after.v[i] < 0) return false;
    if (i < 2 && (a->before.v[i] || a->after.v[i])) return false;
    if (i < 2) continue;
    amounts[i - 2] = a->before.v[i];
    amounts[rank - 2 + i - 2] = a->after.v[i];
  }
  return true;
}

static wk_ints grown(wk_arena *a, wk_ints pads, const int64_t *by) {
  int64_t v[2 * WK_MAX_RANK];
  for (int64_t i = 0; i < pads.n; i++) v[i] = pads.v[i] + by[i];
  return wk_ints_dup(a, v, pads.n);
}

/* Whether a window slides over the first operand and sees a number outside of it. */
static bool sees_outside(wk_op op) {
  switch (wk_op_get(op)->traits.window) {
  case WK_WINDOW_ZERO:
  case WK_WINDOW_LEAST:
  case WK_WINDOW_ATTRIBUTE: return true;
  case WK_WINDOW_NONE:
  case WK_WINDOW_BACK: break;
  }
  return false;
}

static bool fuse(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  int64_t amounts[2 * WK_MAX_RANK];
  if (!sees_outside(n->op) || n->n_out != 1) return false;
  const wk_node *pad = wk_made_by(r, n->in[0], WK_OP_PAD);
  if (!pad || !spatial_amounts(r, pad, wk_op_outside(n->op, n->attrs), amounts)) return false;
  void *attrs = wk_attrs_clone(r->arena, n->op, n->attrs);
  wk_ints *pads = wk_op_ints(n->op, attrs, "pads");
  *pads = grown(r->arena, *pads, amounts);
  wk_ints *real = wk_op_ints(n->op, attrs, "real_pads");
  if (real) *real = grown(r->arena, *real, amounts);
  wk_value_id *in = wk_arena_memdup(r->c->scratch, n->in, n->n_in * sizeof *in);
  in[0] = pad->in[0];
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_like(r, n, attrs, n->n_in, in));
}

wk_status wk_pass_fuse_pad(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, fuse); }
