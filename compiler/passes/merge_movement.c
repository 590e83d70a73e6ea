/* SPDX-License-Identifier: Apache-2.0
 * Movement of movement: two reshapes, transposes, slices, expansions or paddings in a row are one;
 * a transpose that moves only axes of size 1 is a reshape; reshapes around a product that only drop
 * leading ones go. A reordered update of a variable stays whom others read: it is there in any
 * case, and a target finds it where the state lies. Then transposes and reshapes are moved where
 * they meet (sink_movement.c). */
#include <string.h>

#include "compiler/passes/movement.h"

static bool use(wk_rewrite *r, const wk_node *n, wk_value_id v) {
  return wk_rewrite_replace(r, n->out[0], v);
}

bool wk_perm_is_reshape(const wk_type *x, const int64_t *perm) {
  int64_t last = -1;
  for (int i = 0; i < x->rank; i++) {
    if (x->dims[perm[i]] == 1) continue;
    if (perm[i] < last) return false;
    last = perm[i];
  }
  return true;
}

/* ---- reshape -------------------------------------------------------------------------------- */

/* y is x with ones in front, or the other way round. */
static bool differ_in_leading_ones(const wk_type *x, const wk_type *y) {
  const wk_type *longer = x->rank > y->rank ? x : y, *other = x->rank > y->rank ? y : x;
  int more = longer->rank - other->rank;
  for (int i = 0; i < longer->rank; i++)
    if (longer->dims[i] != (i < more ? 1 : other->dims[i - more])) return false;
  return true;
}

/* reshape(matmul(reshape(x), w)) with one matrix w: the product over x itself. */
static wk_value_id product_without_reshapes(wk_rewrite *r, const wk_node *n) {
  const wk_node *p = wk_made_once_by(r, n->in[0], WK_OP_MATMUL);
  if (!p || p->n_in > 3 || WK_ATTR(p, matmul)->epilogue) return WK_NONE;
  const wk_node *inner = wk_made_by(r, p->in[0], WK_OP_RESHAPE);
  if (!inner || wk_type_of(r, p->in[1])->rank != 2) return WK_NONE;
  const wk_type *x = wk_type_of(r, inner->in[0]), *y = wk_type_of(r, n->out[0]);
  if (x->rank < 2 || y->rank != x->rank || !differ_in_leading_ones(x, wk_type_of(r, p->in[0])) ||
      !differ_in_leading_ones(y, wk_type_of(r, n->in[0])))
    return WK_NONE;
  const wk_value_id in[] = {inner->in[0], p->in[1], p->n_in > 2 ? p->in[2] : WK_NONE};
  return wk_rewrite_like(r, p, wk_attrs_clone(r->arena, WK_OP_MATMUL, p->attrs), p->n_in, in);
}

static bool reshape(wk_rewrite *r, const wk_node *n) {
  const wk_type y = *wk_type_of(r, n->out[0]);
  const wk_node *inner = wk_made_by(r, n->in[0], WK_OP_RESHAPE);
  if (inner && wk_is_update(r->g, n->in[0])) return false;
  if (inner) return use(r, n, wk_rewrite_reshape(r, inner->in[0], y.rank, y.dims));
  return use(r, n, product_without_reshapes(r, n));
}

/* ---- transpose ------------------------------------------------------------------------------ */

static bool transpose(wk_rewrite *r, const wk_node *n) {
  const int64_t *perm = WK_ATTR(n, transpose)->perm.v;
  const wk_type y = *wk_type_of(r, n->out[0]);
  const wk_node *inner = wk_made_by(r, n->in[0], WK_OP_TRANSPOSE);
  if (inner && wk_is_update(r->g, n->in[0])) return false;
  if (inner) {
    int64_t both[WK_MAX_RANK];
    for (int i = 0; i < y.rank; i++) both[i] = WK_ATTR(inner, transpose)->perm.v[perm[i]];
    return use(r, n, wk_rewrite_transpose(r, inner->in[0], both));
  }
  if (!wk_perm_is_reshape(wk_type_of(r, n->in[0]), perm)) return false;
  return use(r, n, wk_rewrite_reshape(r, n->in[0], y.rank, y.dims));
}

/* ---- expand, pad ---------------------------------------------------------------------------- */

static bool expand(wk_rewrite *r, const wk_node *n) {
  const wk_node *inner = wk_made_by(r, n->in[0], WK_OP_EXPAND);
  if (!inner) {
    inner = wk_made_by(r, n->in[0], WK_OP_RESHAPE); /* ones in front: expand adds them */
    if (!inner || wk_type_of(r, inner->in[0])->rank > wk_type_of(r, n->in[0])->rank ||
        !differ_in_leading_ones(wk_type_of(r, inner->in[0]), wk_type_of(r, n->in[0])))
      return false;
  }
  void *a = wk_attrs_clone(r->arena, WK_OP_EXPAND, n->attrs);
  return use(r, n, wk_rewrite_1(r, WK_OP_EXPAND, a, inner->in[0]));
}

/* The element that a padding in mode constant writes; NULL when it is not known. */
static const void *fill_of(const wk_rewrite *r, const wk_node *n) {
  static const uint64_t zero = 0;
  if (strcmp(WK_ATTR(n, pad)->mode, "constant")) return NULL;
  if (n->n_in < 2 || n->in[1] == WK_NONE) return &zero;
  return wk_known(r, n->in[1]) ? wk_val(r->g, n->in[1])->data : NULL;
}

static bool none_negative(wk_ints v) {
  for (int64_t i = 0; i < v.n; i++)
    if (v.v[i] < 0) return false;
  return true;
}

static bool pad(wk_rewrite *r, const wk_node *n) {
  const wk_node *inner = wk_made_once_by(r, n->in[0], WK_OP_PAD);
  const wk_attr_pad *outer = n->attrs;
  if (!inner) return false;
  const void *a = fill_of(r, n), *b = fill_of(r, inner);
  size_t size = (size_t)wk_dtype_size(wk_type_of(r, n->out[0])->dtype);
  if (!a || !b || memcmp(a, b, size)) return false;
  const wk_attr_pad *in = inner->attrs;
  if (!none_negative(outer->before) || !none_negative(outer->after) ||
      !none_negative(in->before) || !none_negative(in->after))
    return false;
  int64_t before[WK_MAX_RANK], after[WK_MAX_RANK];
  for (int64_t i = 0; i < in->before.n; i++) {
    before[i] = in->before.v[i] + outer->before.v[i];
    after[i] = in->after.v[i] + outer->after.v[i];
  }
  wk_attr_pad *both = wk_attrs_clone(r->arena, WK_OP_PAD, outer);
  both->before = wk_ints_dup(r->arena, before, in->before.n);
  both->after = wk_ints_dup(r->arena, after, in->before.n);
  const wk_value_id operands[] = {inner->in[0], n->n_in > 1 ? n->in[1] : WK_NONE};
  return use(r, n, wk_rewrite_add(r, WK_OP_PAD, both, n->n_in, operands));
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool merge(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->n_in < 1 || n->in[0] == WK_NONE || !wk_is_movable(wk_type_of(r, n->in[0]))) return false;
  if (n->op == WK_OP_SPLIT) return wk_merge_split(r, n);
  if (n->n_out != 1 || n->out[0] == WK_NONE) return false;
  switch (n->op) {
  case WK_OP_RESHAPE: return reshape(r, n);
  case WK_OP_TRANSPOSE: return transpose(r, n);
  case WK_OP_EXPAND: return expand(r, n);
  case WK_OP_PAD: return pad(r, n);
  case WK_OP_SLICE: return wk_merge_slice(r, n);
  case WK_OP_CONCAT: return wk_merge_concat(r, n);
  default: return false;
  }
}

wk_status wk_pass_merge_movement(wk_graph *g, wk_pass_ctx *c) {
  int64_t before = c->changes;
  WK_TRY(wk_rewrite_run(g, c, merge));
  if (c->changes != before) WK_TRY(wk_graph_normalise(g));
  return wk_sink_movement(g, c);
}
