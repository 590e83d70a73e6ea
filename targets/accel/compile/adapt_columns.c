/* SPDX-License-Identifier: Apache-2.0
 * A product whose columns are read in pieces, as those of queries, keys and values from one joined
 * projection, is a product for each piece: each is kept, fused and cut into strips as what reads it
 * wants. What cuts it behind a reshape or transposition cuts before. */
#include <string.h>

#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/net.h"

enum { MOST_PIECES = 64 };

/* ---- cuts come first ------------------------------------------------------------------------- */

static bool is_unit(wk_ints steps) {
  for (int64_t i = 0; i < steps.n; i++)
    if (steps.v[i] != 1) return false;
  return true;
}

/* The only axis that is cut; -1: none, or several. */
static int cut_axis(const wk_type *x, const wk_attr_slice *a) {
  int axis = -1;
  for (int i = 0; i < x->rank; i++) {
    if (a->sizes.v[i] == x->dims[i]) continue;
    if (axis >= 0) return -1;
    axis = i;
  }
  return is_unit(a->steps) ? axis : -1;
}

static wk_value_id sliced(wk_rewrite *r, wk_value_id x, int axis, int64_t from, int64_t size) {
  const wk_type t = *wk_type_of(r, x);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK];
  memcpy(sizes, t.dims, sizeof sizes);
  starts[axis] = from, sizes[axis] = size;
  return wk_rewrite_slice(r, x, starts, sizes, NULL);
}

static bool before_transpose(wk_rewrite *r, const wk_node *n, const wk_node *t, int axis) {
  const wk_attr_slice *a = WK_ATTR(n, slice);
  const int64_t *perm = WK_ATTR(t, transpose)->perm.v;
  const wk_value_id y = n->out[0];
  wk_value_id x = sliced(r, t->in[0], (int)perm[axis], a->starts.v[axis], a->sizes.v[axis]);
  return x != WK_NONE && wk_rewrite_replace(r, y, wk_rewrite_transpose(r, x, perm));
}

/* The axis is the outer one of those that the last axis of x has been cut into. */
static bool before_reshape(wk_rewrite *r, const wk_node *n, const wk_node *apart, int axis) {
  const wk_attr_slice *a = WK_ATTR(n, slice);
  const wk_type x = *wk_type_of(r, apart->in[0]), y = *wk_type_of(r, n->out[0]);
  const wk_type *t = wk_type_of(r, apart->out[0]);
  int64_t inner = 1;
  if (axis != x.rank - 1) return false;
  for (int i = 0; i < axis; i++)
    if (x.dims[i] != t->dims[i]) return false;
  for (int i = axis + 1; i < t->rank; i++) inner *= t->dims[i];
  const wk_value_id old = n->out[0];
  wk_value_id v = sliced(r, apart->in[0], axis, a->starts.v[axis] * inner,
                         a->sizes.v[axis] * inner);
  return v != WK_NONE && wk_rewrite_replace(r, old, wk_rewrite_reshape(r, v, y.rank, y.dims));
}

/* One of a row of indices. */
static bool before_gather(wk_rewrite *r, const wk_node *n) {
  const wk_type y = *wk_type_of(r, n->out[0]);
  const wk_value_id old = n->out[0];
  int axis = (int)WK_ATTR(n, gather)->axis;
  double at;
  int64_t size = wk_type_of(r, n->in[0])->dims[axis];
  if (!wk_known(r, n->in[1]) || wk_type_count(wk_type_of(r, n->in[1])) != 1 ||
      !wk_const_splat(r->g, n->in[1], &at) || at < -size || at >= size)
    return false;
  wk_value_id x = sliced(r, n->in[0], axis, (int64_t)(at < 0 ? at + size : at), 1);
  return x != WK_NONE && wk_rewrite_replace(r, old, wk_rewrite_reshape(r, x, y.rank, y.dims));
}

/* A split as slices. */
static bool as_slices(wk_rewrite *r, const wk_node *n) {
  const wk_attr_split a = *WK_ATTR(n, split);
  const wk_value_id x = n->in[0];
  wk_value_id *out = wk_arena_memdup(r->c->scratch, n->out, n->n_out * sizeof *out);
  int64_t at = 0;
  bool any = false;
  for (uint32_t k = 0, parts = n->n_out; k < parts; at += a.sizes.v[k++])
    if (out[k] != WK_NONE && r->uses[out[k]])
      any |= wk_rewrite_replace(r, out[k], sliced(r, x, (int)a.axis, at, a.sizes.v[k]));
  return any;
}

bool wk_accel_cut_first(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  bool cuts = n->op == WK_OP_SLICE || n->op == WK_OP_SPLIT || n->op == WK_OP_GATHER;
  const wk_type *x = cuts ? wk_type_of(r, n->in[0]) : NULL;
  if (!x || n->predicate != WK_NONE || !wk_accel_is_8_bit(x->dtype) || !wk_type_count(x))
    return false;
  if (n->op == WK_OP_SPLIT) return as_slices(r, n);
  if (n->out[0] == WK_NONE) return false;
  if (n->op == WK_OP_GATHER) return before_gather(r, n);
  int axis = cut_axis(x, WK_ATTR(n, slice));
  const wk_node *m = wk_def(r->g, n->in[0]);
  if (axis < 0 || !m || m->predicate != WK_NONE) return false;
  const wk_node of = *m;
  return of.op == WK_OP_TRANSPOSE ? before_transpose(r, n, &of, axis)
                                  : of.op == WK_OP_RESHAPE && before_reshape(r, n, &of, axis);
}

/* ---- a product for each piece ---------------------------------------------------------------- */

typedef struct {
  wk_node_id node; /* that cuts it out */
  int64_t from, size;
} piece;

static bool overlaps(const piece *a, const piece *b) {
  return a->from < b->from + b->size && b->from < a->from + a->size;
}

/* All that reads v cuts columns out of it, no column twice. */
static bool pieces_of(const wk_rewrite *r, wk_value_id v, piece out[MOST_PIECES], int *count) {
  const wk_type *t = wk_type_of(r, v);
  *count = 0;
  uint32_t uses = 0;
  for (size_t i = 0; i < r->g->nodes.n; i++) {
    const wk_node *n = &r->g->nodes.data[i];
    bool reads = false;
    for (uint32_t k = 0; !n->dead && k < n->n_in; k++) reads |= n->in[k] == v;
    if (!reads) continue;
    if (n->op != WK_OP_SLICE || n->predicate != WK_NONE || *count == MOST_PIECES ||
        cut_axis(t, WK_ATTR(n, slice)) != t->rank - 1)
      return false;
    piece p = {(wk_node_id)i, WK_ATTR(n, slice)->starts.v[t->rank - 1],
               WK_ATTR(n, slice)->sizes.v[t->rank - 1]};
    for (int k = 0; k < *count; k++)
      if (overlaps(&p, &out[k])) return false;
    out[(*count)++] = p;
    uses++;
  }
  return uses == r->uses[v] && *count > 1; /* no output, no predicate */
}

/* As many blocks of columns as before. */
static bool costs_no_more(const piece *p, int count, int64_t columns, int64_t n) {
  int64_t blocks = 0;
  for (int i = 0; i < count; i++) blocks += wk_ceil_div(p[i].size, n);
  return blocks <= wk_ceil_div(columns, n);
}

/* A constant of one number, or whose last axis is that of the columns. */
static bool goes_along(const wk_rewrite *r, wk_value_id v, int64_t columns) {
  const wk_type *t = wk_type_of(r, v);
  return wk_known(r, v) &&
         (wk_type_count(t) == 1 || (t->rank > 0 && t->dims[t->rank - 1] == columns));
}

static wk_value_id columns_of(wk_rewrite *r, wk_value_id v, const piece *p) {
  const wk_type *t = wk_type_of(r, v);
  if (wk_type_count(t) == 1) return v;
  wk_value_id x = sliced(r, v, t->rank - 1, p->from, p->size);
  return x == WK_NONE ? x : wk_rewrite_folded(r, x);
}

static bool make_piece(wk_rewrite *r, wk_node_id id, const piece *p) {
  const wk_node n = *wk_nod(r->g, id);
  wk_value_id in[WK_MAX_RANK + 8];
  memcpy(in, n.in, n.n_in * sizeof *in);
  for (uint32_t k = 1; k < n.n_in; k++) {
    if (in[k] == WK_NONE) continue;
    in[k] = columns_of(r, in[k], p);
    if (in[k] == WK_NONE) return false;
  }
  r->name = n.name;
  void *attrs = wk_attrs_clone(r->arena, n.op, n.attrs);
  return wk_rewrite_replace(r, wk_nod(r->g, p->node)->out[0],
                            wk_rewrite_like(r, &n, attrs, n.n_in, in));
}

bool wk_accel_part_columns(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  const wk_machine *m = r->c->data;
  piece p[MOST_PIECES];
  int count;
  if (n->op != WK_OP_MATMUL || n->predicate != WK_NONE || n->n_in > WK_MAX_RANK + 8 ||
      !wk_accel_is_8_bit(wk_type_of(r, n->out[0])->dtype) || !wk_known(r, n->in[1]) ||
      !pieces_of(r, n->out[0], p, &count))
    return false;
  const wk_type *y = wk_type_of(r, n->out[0]);
  int64_t columns = y->dims[y->rank - 1];
  for (uint32_t k = 1; k < n->n_in; k++)
    if (n->in[k] != WK_NONE && !goes_along(r, n->in[k], columns)) return false;
  if (!costs_no_more(p, count, columns, m->array)) return false;
  for (int i = 0; i < count; i++)
    if (!make_piece(r, id, &p[i])) return false;
  return true;
}
