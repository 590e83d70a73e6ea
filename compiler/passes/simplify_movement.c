/* SPDX-License-Identifier: Apache-2.0
 * Part of `simplify`: movement, reductions and windows that do nothing, or that a cheaper operator
 * does (a view instead of copies). */
#include <string.h>

#include "compiler/passes/simplify.h"

#define MAX_INDICES 65536 /* constant indices of a gather that are looked at */

static bool use(wk_rewrite *r, const wk_node *n, wk_value_id v) {
  return wk_rewrite_replace(r, n->out[0], v);
}

static bool all_are(wk_ints v, int64_t want) {
  for (int64_t i = 0; i < v.n; i++)
    if (v.v[i] != want) return false;
  return true;
}

static bool keeps_shape(wk_rewrite *r, const wk_node *n) { return use(r, n, n->in[0]); }

static bool pad(wk_rewrite *r, const wk_node *n) {
  const wk_attr_pad *a = n->attrs;
  return all_are(a->before, 0) && all_are(a->after, 0) && use(r, n, n->in[0]);
}

static bool slice(wk_rewrite *r, const wk_node *n) {
  const wk_attr_slice *a = n->attrs;
  const wk_type *x = wk_type_of(r, n->in[0]);
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] > 1 && a->steps.v[i] != 1) return false;
  return use(r, n, n->in[0]);
}

static bool transpose(wk_rewrite *r, const wk_node *n) {
  const wk_attr_transpose *a = n->attrs;
  for (int64_t i = 0; i < a->perm.n; i++)
    if (a->perm.v[i] != i) return false;
  return use(r, n, n->in[0]);
}

/* Repetition of axes of size 1 is a broadcast. */
static bool tile(wk_rewrite *r, const wk_node *n) {
  const wk_type t = *wk_type_of(r, n->out[0]), *x = wk_type_of(r, n->in[0]);
  if (use(r, n, n->in[0])) return true;
  for (int i = 0; i < t.rank; i++)
    if (x->dims[i] != 1 && x->dims[i] != t.dims[i]) return false;
  if (!wk_is_movable(x)) return false;
  wk_attr_expand *a = wk_attrs_new(r->arena, WK_OP_EXPAND);
  a->shape = wk_ints_dup(r->arena, t.dims, t.rank);
  return use(r, n, wk_rewrite_1(r, WK_OP_EXPAND, a, n->in[0]));
}

static bool concat(wk_rewrite *r, const wk_node *n) {
  int64_t axis = WK_ATTR(n, concat)->axis;
  uint32_t kept = 0;
  wk_value_id *in = wk_arena_alloc(r->c->scratch, n->n_in * sizeof *in);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (wk_type_of(r, n->in[k])->dims[axis] > 0) in[kept++] = n->in[k];
  if (kept == 0) in[kept++] = n->in[0];
  if (kept == 1) return use(r, n, in[0]);
  if (kept == n->n_in) return false;
  void *a = wk_attrs_clone(r->arena, WK_OP_CONCAT, n->attrs);
  return use(r, n, wk_rewrite_add(r, WK_OP_CONCAT, a, kept, in));
}

static bool split(wk_rewrite *r, const wk_node *n) { return n->n_out == 1 && use(r, n, n->in[0]); }

/* Constant indices at equal distances: a slice. */
static bool gather(wk_rewrite *r, const wk_node *n) {
  wk_value_id x = n->in[0];
  int axis = (int)WK_ATTR(n, gather)->axis;
  const wk_type t = *wk_type_of(r, x), y = *wk_type_of(r, n->out[0]);
  const wk_value *indices = wk_val(r->g, n->in[1]);
  int64_t count = wk_type_count(&indices->type), size = t.dims[axis], first = 0, step = 1;
  if (!wk_known(r, n->in[1]) || count < 1 || count > MAX_INDICES) return false;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = wk_load_i64(indices->data, indices->type.dtype, i);
    if (at < -size || at >= size) return false;
    if (at < 0) at += size;
    if (i == 0) first = at;
    if (i == 1) step = at - first;
    if (at != first + i * step) return false;
  }
  if (step == 0) return false;
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) sizes[i] = t.dims[i], steps[i] = 1;
  starts[axis] = first;
  sizes[axis] = count;
  steps[axis] = step;
  wk_value_id s = wk_rewrite_slice(r, x, starts, sizes, steps);
  return use(r, n, wk_rewrite_reshape(r, s, y.rank, y.dims));
}

/* Folds of one element each. */
static bool reduce(wk_rewrite *r, const wk_node *n) {
  const wk_attr_reduce_sum *a = n->attrs; /* the same fields in all reductions */
  const wk_type x = *wk_type_of(r, n->in[0]), y = *wk_type_of(r, n->out[0]);
  for (int64_t i = 0; i < a->axes.n; i++)
    if (x.dims[a->axes.v[i]] != 1) return false;
  if (x.quant) return false;
  wk_value_id v = n->in[0];
  if (n->op == WK_OP_REDUCE_L1) v = wk_rewrite_1(r, WK_OP_ABS, NULL, v);
  if (n->op == WK_OP_REDUCE_SUM_SQUARE) v = wk_rewrite_2(r, WK_OP_MUL, NULL, v, v);
  return use(r, n, wk_rewrite_reshape(r, v, y.rank, y.dims));
}

static bool resize(wk_rewrite *r, const wk_node *n) {
  const wk_attr_resize *a = n->attrs;
  for (int64_t i = 0; i < a->scales.n; i++)
    if (a->scales.v[i] != 1) return false;
  bool aligned = strcmp(a->coordinates, "tf_crop_and_resize") &&
                 strcmp(a->coordinates, "tf_half_pixel_for_nn");
  return aligned && use(r, n, n->in[0]);
}

static bool pool(wk_rewrite *r, const wk_node *n) {
  const wk_attr_max_pool *a = n->attrs; /* avg_pool begins with the same fields */
  if (n->n_out > 1 && n->out[1] != WK_NONE) return false;
  return all_are(a->kernel, 1) && all_are(a->strides, 1) && all_are(a->pads, 0) &&
         use(r, n, n->in[0]);
}

_Static_assert(offsetof(wk_attr_max_pool, kernel) == offsetof(wk_attr_avg_pool, kernel) &&
                   offsetof(wk_attr_max_pool, strides) == offsetof(wk_attr_avg_pool, strides) &&
                   offsetof(wk_attr_max_pool, pads) == offsetof(wk_attr_avg_pool, pads),
               "pools share their first fields");

bool wk_simplify_movement(wk_rewrite *r, const wk_node *n) {
  switch (n->op) {
  case WK_OP_RESHAPE:
  case WK_OP_EXPAND: return keeps_shape(r, n);
  case WK_OP_PAD: return pad(r, n);
  case WK_OP_SLICE: return slice(r, n);
  case WK_OP_TRANSPOSE: return transpose(r, n);
  case WK_OP_TILE: return tile(r, n);
  case WK_OP_CONCAT: return concat(r, n);
  case WK_OP_SPLIT: return split(r, n);
  case WK_OP_GATHER: return gather(r, n);
  case WK_OP_REDUCE_SUM:
  case WK_OP_REDUCE_MEAN:
  case WK_OP_REDUCE_MAX:
  case WK_OP_REDUCE_MIN:
  case WK_OP_REDUCE_PROD:
  case WK_OP_REDUCE_L1:
  case WK_OP_REDUCE_SUM_SQUARE: return reduce(r, n);
  case WK_OP_RESIZE: return resize(r, n);
  case WK_OP_MAX_POOL:
  case WK_OP_AVG_POOL: return pool(r, n);
  default: return false;
  }
}
