/* SPDX-License-Identifier: Apache-2.0
 * Part of `merge-movement`: what concat joins and what split and slice cut is followed to its
 * source. */
#include <string.h>

#include "compiler/passes/movement.h"

typedef wk_piece piece;

static piece whole(const wk_rewrite *r, wk_value_id v) {
  piece p = {.x = v};
  const wk_type *t = wk_type_of(r, v);
  memcpy(p.sizes, t->dims, sizeof p.sizes);
  return p;
}

piece wk_piece_of(const wk_rewrite *r, wk_value_id v) {
  piece p = whole(r, v);
  const wk_node *n = wk_def(r->g, v);
  if (!n || n->predicate != WK_NONE || !wk_is_movable(wk_type_of(r, v))) return p;
  if (n->op == WK_OP_SPLIT) {
    const wk_attr_split *a = n->attrs;
    for (uint32_t k = 0; k < wk_val(r->g, v)->index; k++) p.starts[a->axis] += a->sizes.v[k];
    p.x = n->in[0];
  } else if (n->op == WK_OP_SLICE) {
    const wk_attr_slice *a = n->attrs;
    for (int64_t i = 0; i < a->starts.n; i++)
      if (a->sizes.v[i] == 0 || (a->sizes.v[i] > 1 && a->steps.v[i] != 1)) return p;
    for (int64_t i = 0; i < a->starts.n; i++) p.starts[i] = a->starts.v[i];
    p.x = n->in[0];
  }
  return p;
}

static wk_value_id cut(wk_rewrite *r, const piece *p) {
  return wk_rewrite_slice(r, p->x, p->starts, p->sizes, NULL);
}

/* The range [start, start + size) of the axis lies in one operand of the concat: that operand, and
 * *start becomes relative to it. */
static wk_value_id operand_with(const wk_rewrite *r, const wk_node *concat, int64_t *start,
                                int64_t size) {
  int64_t axis = WK_ATTR(concat, concat)->axis, at = 0;
  for (uint32_t k = 0; k < concat->n_in; k++) {
    int64_t n = wk_type_of(r, concat->in[k])->dims[axis];
    if (*start >= at && *start + size <= at + n) {
      *start -= at;
      return concat->in[k];
    }
    at += n;
  }
  return WK_NONE;
}

/* ---- concat --------------------------------------------------------------------------------- */

/* b continues a along the axis. */
static bool follows(const piece *a, const piece *b, int axis, int rank) {
  if (a->x != b->x) return false;
  for (int i = 0; i < rank; i++) {
    if (i == axis ? a->starts[i] + a->sizes[i] != b->starts[i]
                  : a->starts[i] != b->starts[i] || a->sizes[i] != b->sizes[i])
      return false;
  }
  return true;
}

static bool join_pieces(wk_rewrite *r, const wk_node *n) {
  int axis = (int)WK_ATTR(n, concat)->axis, rank = wk_type_of(r, n->out[0])->rank;
  piece *pieces = wk_arena_alloc(r->c->scratch, n->n_in * sizeof *pieces);
  wk_value_id *in = wk_arena_alloc(r->c->scratch, n->n_in * sizeof *in);
  bool *joined = wk_arena_alloc(r->c->scratch, n->n_in);
  uint32_t kept = 0;
  for (uint32_t k = 0; k < n->n_in; k++) {
    piece p = wk_piece_of(r, n->in[k]);
    if (kept && follows(&pieces[kept - 1], &p, axis, rank)) {
      pieces[kept - 1].sizes[axis] += p.sizes[axis];
      joined[kept - 1] = true;
      continue;
    }
    in[kept] = n->in[k];
    joined[kept] = false;
    pieces[kept++] = p;
  }
  if (kept == n->n_in) return false;
  for (uint32_t k = 0; k < kept; k++)
    if (joined[k]) in[k] = cut(r, &pieces[k]);
  if (r->status) return false;
  if (kept == 1) return wk_rewrite_replace(r, n->out[0], in[0]);
  void *a = wk_attrs_clone(r->arena, WK_OP_CONCAT, n->attrs);
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_add(r, WK_OP_CONCAT, a, kept, in));
}

/* The operand's own operands when it is a concat along the same axis with no other user. */
static const wk_node *nested(const wk_rewrite *r, const wk_node *n, uint32_t k) {
  const wk_node *p = wk_made_once_by(r, n->in[k], WK_OP_CONCAT);
  return p && WK_ATTR(p, concat)->axis == WK_ATTR(n, concat)->axis ? p : NULL;
}

static bool flatten(wk_rewrite *r, const wk_node *n) {
  uint32_t total = 0, at = 0;
  for (uint32_t k = 0; k < n->n_in; k++) {
    const wk_node *p = nested(r, n, k);
    total += p ? p->n_in : 1;
  }
  if (total == n->n_in) return false;
  wk_value_id *in = wk_arena_alloc(r->c->scratch, total * sizeof *in);
  for (uint32_t k = 0; k < n->n_in; k++) {
    const wk_node *p = nested(r, n, k);
    for (uint32_t i = 0; p && i < p->n_in; i++) in[at++] = p->in[i];
    if (!p) in[at++] = n->in[k];
  }
  void *a = wk_attrs_clone(r->arena, WK_OP_CONCAT, n->attrs);
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_add(r, WK_OP_CONCAT, a, total, in));
}

bool wk_merge_concat(wk_rewrite *r, const wk_node *n) { return join_pieces(r, n) || flatten(r, n); }

/* ---- split and slice ------------------------------------------------------------------------ */

bool wk_merge_split(wk_rewrite *r, const wk_node *n) {
  const wk_attr_split *a = n->attrs;
  const wk_node *concat = wk_made_by(r, n->in[0], WK_OP_CONCAT);
  bool changed = false;
  if (!concat || WK_ATTR(concat, concat)->axis != a->axis) return false;
  int64_t at = 0;
  for (uint32_t k = 0; k < n->n_out && wk_made_by(r, n->in[0], WK_OP_CONCAT); k++) {
    int64_t start = at;
    at += a->sizes.v[k];
    if (n->out[k] == WK_NONE || !r->uses[n->out[k]]) continue;
    wk_value_id x = operand_with(r, wk_def(r->g, n->in[0]), &start, a->sizes.v[k]);
    if (x == WK_NONE) continue;
    piece p = whole(r, x);
    p.starts[a->axis] = start;
    p.sizes[a->axis] = a->sizes.v[k];
    changed |= wk_rewrite_replace(r, n->out[k], cut(r, &p));
  }
  return changed;
}

static bool slice_of_slice(wk_rewrite *r, const wk_node *n, const wk_node *inner) {
  const wk_attr_slice *a = inner->attrs, *b = n->attrs;
  int64_t starts[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int64_t i = 0; i < b->starts.n; i++) {
    if (!wk_mul_ok(a->steps.v[i], b->steps.v[i], &steps[i])) return false;
    starts[i] = a->starts.v[i] + b->starts.v[i] * a->steps.v[i];
    if (b->sizes.v[i] == 0) starts[i] = 0, steps[i] = 1;
  }
  return wk_rewrite_replace(r, n->out[0],
                            wk_rewrite_slice(r, inner->in[0], starts, b->sizes.v, steps));
}

static bool slice_of_concat(wk_rewrite *r, const wk_node *n, const wk_node *concat) {
  const wk_attr_slice *a = n->attrs;
  int64_t axis = WK_ATTR(concat, concat)->axis, starts[WK_MAX_RANK];
  if (a->sizes.v[axis] == 0 || (a->sizes.v[axis] > 1 && a->steps.v[axis] != 1)) return false;
  for (int64_t i = 0; i < a->starts.n; i++) starts[i] = a->starts.v[i];
  wk_value_id x = operand_with(r, concat, &starts[axis], a->sizes.v[axis]);
  return x != WK_NONE && wk_rewrite_replace(r, n->out[0],
                                            wk_rewrite_slice(r, x, starts, a->sizes.v, a->steps.v));
}

static bool slice_of_split(wk_rewrite *r, const wk_node *n) {
  const wk_attr_slice *a = n->attrs;
  const wk_node *p = wk_def(r->g, n->in[0]);
  if (!p || p->op != WK_OP_SPLIT || p->predicate != WK_NONE) return false;
  piece from = wk_piece_of(r, n->in[0]);
  int64_t starts[WK_MAX_RANK];
  for (int64_t i = 0; i < a->starts.n; i++) starts[i] = a->starts.v[i] + from.starts[i];
  return wk_rewrite_replace(r, n->out[0],
                            wk_rewrite_slice(r, from.x, starts, a->sizes.v, a->steps.v));
}

bool wk_merge_slice(wk_rewrite *r, const wk_node *n) {
  const wk_node *inner = wk_made_by(r, n->in[0], WK_OP_SLICE);
  if (inner) return slice_of_slice(r, n, inner);
  inner = wk_made_by(r, n->in[0], WK_OP_CONCAT);
  return inner ? slice_of_concat(r, n, inner) : slice_of_split(r, n);
}
