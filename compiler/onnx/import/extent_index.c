/* SPDX-License-Identifier: Apache-2.0
 * Rules of operators that look up by positions. Positions that lie beyond a size become 0, so that
 * they are within the tensor whatever is there. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

/* Some of these axes have an open size. */
static bool has_open(const wk_onnx_node *c, wk_value_id v, int from, int to) {
  for (int i = from; i < to; i++)
    if (wk_extent_is_open(c, v, i)) return true;
  return false;
}

static uint32_t all_axes(void) { return UINT32_MAX; }

/* Positions within a size, from its start; others become `invalid`, where nothing is. */
static wk_value_id from_start(wk_onnx_node *c, wk_value_id at, wk_value_id size, int64_t invalid) {
  wk_value_id zero = wk_extent_number(c, 0);
  at = wk_make_cast(c, at, WK_I64);
  at = wk_make_where(c, wk_make_2(c, WK_OP_LESS, at, zero), wk_make_2(c, WK_OP_ADD, at, size), at);
  wk_value_id is_there = wk_make_2(c, WK_OP_AND, wk_make_2(c, WK_OP_GREATER_EQUAL, at, zero),
                                   wk_make_2(c, WK_OP_LESS, at, size));
  return wk_make_where(c, is_there, at, wk_extent_number(c, invalid));
}

/* Constant positions that are there whatever the size is. */
static bool are_there(wk_onnx_node *c, wk_value_id at, const wk_size *size) {
  if (!wk_is_const(c->g, at) || wk_extent_has_open(c->im, c->g, at)) return false;
  wk_ints v = wk_onnx_const_ints(c, at, "the positions");
  for (int64_t k = 0; k < v.n; k++)
    if (v.v[k] < 0 || v.v[k] >= wk_size_least(c, size)) return false;
  return true;
}

/* Operand i, positions along an axis of this size: those that are not there lead behind its room,
 * so that the run fails. */
static void count_from_start(wk_onnx_node *c, int i, const wk_size *size, int64_t invalid) {
  const wk_size *dims[WK_MAX_RANK];
  if (are_there(c, c->in[i], size)) return;
  wk_extent_dims(c, c->in[i], dims);
  wk_value_id at = from_start(c, c->in[i], wk_size_value(c, size), invalid);
  c->in[i] = wk_extent_set(c, at, dims);
}

/* The same of the coordinates that are operand i's last axis, along axes of x from `first` on.
 * more: elements that the first of these axes has been given. */
static void count_coordinates(wk_onnx_node *c, int i, int first, int64_t more) {
  const wk_size *dims[WK_MAX_RANK], *sizes[WK_MAX_RANK];
  const wk_type at = *wk_onnx_type(c, c->in[i]), x = *wk_onnx_type(c, c->in[0]);
  int64_t depth = at.dims[at.rank - 1], invalid = 0;
  for (int k = 0; k < depth; k++) {
    sizes[k] = wk_extent_dim(c, c->in[0], first + k);
    if (x.dims[first + k] + more > invalid) invalid = x.dims[first + k] + more;
  }
  wk_extent_dims(c, c->in[i], dims);
  wk_value_id v = from_start(c, c->in[i], wk_extent_list_of(c, sizes, depth), invalid);
  c->in[i] = wk_extent_set(c, v, dims);
}

/* Elements of a list at known positions. */
static bool gather_elements(wk_onnx_node *c) {
  int64_t n;
  const wk_size *const *list = wk_extent_elements(c, c->in[0], &n);
  if (!list || wk_onnx_type(c, c->in[0])->rank != 1 || !wk_is_const(c->g, c->in[1])) return false;
  wk_ints at = wk_onnx_const_ints(c, c->in[1], "the positions");
  const wk_size **some = wk_arena_alloc(c->im->arena, (size_t)at.n * sizeof *some);
  for (int64_t i = 0; i < at.n; i++) {
    int64_t k = at.v[i] < 0 ? at.v[i] + n : at.v[i];
    if (!wk_onnx_valid(c, k >= 0 && k < n, "position %lld is outside a list of %lld",
                       (long long)at.v[i], (long long)n)) return true;
    some[i] = list[k];
  }
  if (wk_extent_plain(c)) wk_extent_set_elements(c, c->out[0].value, some, at.n);
  return true;
}

wk_status wk_extent_gather(wk_onnx_node *c) {
  const wk_size *dims[2 * WK_MAX_RANK];
  if (gather_elements(c)) return c->status;
  int rank = wk_onnx_type(c, c->in[0])->rank, n = 0;
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), rank);
  if (!wk_onnx_ok(c)) return c->status;
  if (wk_extent_is_open(c, c->in[0], axis))
    count_from_start(c, 1, wk_extent_dim(c, c->in[0], axis), wk_onnx_type(c, c->in[0])->dims[axis]);
  wk_extent_fill(c, 1, all_axes(), WK_FILL_ZERO);
  int at = wk_onnx_type(c, c->in[1])->rank;
  for (int i = 0; i < axis; i++) dims[n++] = wk_extent_dim(c, c->in[0], i);
  for (int i = 0; i < at; i++) dims[n++] = wk_extent_dim(c, c->in[1], i);
  for (int i = axis + 1; i < rank; i++) dims[n++] = wk_extent_dim(c, c->in[0], i);
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

wk_status wk_extent_gather_elements(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), wk_onnx_type(c, c->in[0])->rank);
  if (!wk_onnx_ok(c)) return c->status;
  if (wk_extent_is_open(c, c->in[0], axis))
    count_from_start(c, 1, wk_extent_dim(c, c->in[0], axis), wk_onnx_type(c, c->in[0])->dims[axis]);
  wk_extent_fill(c, 1, all_axes(), WK_FILL_ZERO);
  wk_extent_dims(c, c->in[1], dims);
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

wk_status wk_extent_gather_nd(wk_onnx_node *c) {
  const wk_size *dims[2 * WK_MAX_RANK];
  const wk_type x = *wk_onnx_type(c, c->in[0]), at = *wk_onnx_type(c, c->in[1]);
  int64_t batch = wk_onnx_int(c, "batch_dims", 0), depth = at.rank ? at.dims[at.rank - 1] : 0;
  int n = 0;
  if (!wk_onnx_valid(c, at.rank >= 1 && batch + depth <= x.rank, "coordinates do not fit"))
    return c->status;
  if (has_open(c, c->in[0], (int)batch, (int)(batch + depth)))
    count_coordinates(c, 1, (int)batch, 0);
  wk_extent_fill(c, 1, all_axes(), WK_FILL_ZERO);
  for (int i = 0; i < at.rank - 1; i++) dims[n++] = wk_extent_dim(c, c->in[1], i);
  for (int i = (int)(batch + depth); i < x.rank; i++) dims[n++] = wk_extent_dim(c, c->in[0], i);
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

wk_status wk_extent_one_hot(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK + 1];
  int rank = wk_onnx_type(c, c->in[0])->rank, n = 0;
  int64_t count, axis = wk_onnx_int(c, "axis", -1);
  const wk_size *const *depth = wk_extent_list(c, 1, "the depth", &count);
  if (!depth || !wk_onnx_valid(c, count == 1, "the depth is no scalar")) return c->status;
  axis = wk_onnx_axis(c, axis, rank + 1);
  wk_extent_fill(c, 0, all_axes(), WK_FILL_ZERO);
  for (int i = 0; i <= rank; i++)
    dims[i] = i == axis ? depth[0] : wk_extent_dim(c, c->in[0], n++);
  int64_t room = wk_size_most(c, depth[0]), known;
  if (!wk_size_is_const(depth[0], &known)) {
    count_from_start(c, 0, depth[0], room); /* which none is */
    c->in[1] = wk_extent_number(c, room);
  }
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* x with one more element along the axis, for what is to be written nowhere. */
static wk_value_id with_spare(wk_onnx_node *c, wk_value_id x, int axis) {
  wk_type t = *wk_onnx_type(c, x);
  int64_t before[WK_MAX_RANK] = {0}, after[WK_MAX_RANK] = {0};
  after[axis] = 1;
  WK_MAKE_ATTRS(c, a, PAD, pad);
  a->mode = "constant";
  a->before = wk_ints_dup(c->im->m->arena, before, t.rank);
  a->after = wk_ints_dup(c->im->m->arena, after, t.rank);
  return wk_make(c, WK_OP_PAD, a, 1, x);
}

/* v with `fill` beyond the sizes of its first axes. */
static wk_value_id filled(wk_onnx_node *c, wk_value_id v, int axes, int64_t fill) {
  wk_value_id scalar = wk_make_scalar(c, wk_onnx_type(c, v)->dtype, (double)fill);
  for (int i = 0; i < axes; i++) v = wk_extent_filled(c, v, i, scalar);
  return v;
}

/* Runs the handler on x with a spare, to which the positions lead that are none. */
static wk_status write_spared(wk_onnx_node *c, int axis) {
  const wk_size *dims[WK_MAX_RANK];
  int64_t size = wk_onnx_type(c, c->in[0])->dims[axis];
  wk_extent_dims(c, c->in[0], dims);
  c->in[0] = with_spare(c, c->in[0], axis);
  if (!wk_extent_plain(c)) return c->status;
  wk_onnx_result(c, 0, wk_make_slice(c, c->out[0].value, axis, 0, size, 1));
  wk_extent_result(c, 0, dims);
  return c->status;
}

static wk_status write_plain(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK];
  wk_extent_dims(c, c->in[0], dims);
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

/* There are as many updates along axis i as positions; room, too. */
static bool same_open(wk_onnx_node *c, int i) {
  if (i >= wk_onnx_type(c, c->in[2])->rank ||
      !wk_extent_meet(c, &c->in[2], i, wk_extent_dim(c, c->in[1], i)))
    return false;
  wk_extent_even(c, 1, i, 2, i);
  return wk_onnx_ok(c);
}

wk_status wk_extent_scatter_elements(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), x.rank);
  if (!wk_onnx_ok(c)) return c->status;
  bool spares = has_open(c, c->in[1], 0, x.rank);
  for (int i = 0; i < x.rank && wk_onnx_has(c, 2); i++)
    if (!same_open(c, i)) return c->status;
  if (spares || wk_extent_is_open(c, c->in[0], axis))
    count_from_start(c, 1, wk_extent_dim(c, c->in[0], axis), x.dims[axis] + spares);
  if (!spares) return write_plain(c);
  c->in[1] = filled(c, c->in[1], x.rank, x.dims[axis]);
  return write_spared(c, axis);
}

/* The first coordinate of updates that are none leads to the spare, the others to 0. */
static wk_value_id spared_coordinates(wk_onnx_node *c, int axes, int64_t depth, int64_t spare) {
  const wk_size *dims[WK_MAX_RANK];
  const wk_dtype t = wk_onnx_type(c, c->in[1])->dtype;
  int64_t *v = wk_arena_alloc(c->im->arena, (size_t)depth * sizeof *v);
  v[0] = spare;
  wk_value_id at = c->in[1], nowhere = wk_make_cast(c, wk_make_i64s(c, v, depth), t);
  wk_extent_dims(c, at, dims);
  for (int i = 0; i < axes; i++) {
    if (!wk_extent_is_open(c, c->in[1], i)) continue;
    wk_value_id below = wk_extent_below(c, wk_onnx_type(c, at)->dims[i], dims[i]);
    at = wk_make_where(c, wk_make_along(c, below, i, axes + 1), at, nowhere);
  }
  return wk_extent_set(c, at, dims);
}

wk_status wk_extent_scatter_nd(wk_onnx_node *c) {
  const wk_type at = *wk_onnx_type(c, c->in[1]), x = *wk_onnx_type(c, c->in[0]);
  int64_t depth = at.rank ? at.dims[at.rank - 1] : 0;
  if (!wk_onnx_valid(c, depth >= 1 && depth <= x.rank, "coordinates do not fit")) return c->status;
  int axes = at.rank - 1;
  bool spares = has_open(c, c->in[1], 0, axes);
  for (int i = 0; i < axes && wk_onnx_has(c, 2); i++)
    if (!same_open(c, i)) return c->status;
  if (spares || has_open(c, c->in[0], 0, (int)depth)) count_coordinates(c, 1, 0, spares);
  if (!spares) return write_plain(c);
  c->in[1] = spared_coordinates(c, axes, depth, x.dims[0]);
  return write_spared(c, 0);
}

/* Boxes that are none lie at 0 and take from the first image. */
wk_status wk_extent_roi_align(wk_onnx_node *c) {
  const wk_size *dims[4];
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  if (!wk_onnx_valid(c, x.rank == 4, "the images have rank %d, not 4", x.rank)) return c->status;
  if (wk_extent_is_open(c, c->in[0], 0))
    count_from_start(c, 2, wk_extent_dim(c, c->in[0], 0), x.dims[0]);
  wk_extent_fill(c, 1, 1, WK_FILL_ZERO);
  wk_extent_fill(c, 2, 1, WK_FILL_ZERO);
  wk_extent_match(c, 1, 0, 2, 0);
  if (!wk_onnx_ok(c)) return c->status;
  wk_extent_dims(c, c->in[0], dims);
  if (has_open(c, c->in[0], 2, 4)) {
    c->in[3] = wk_extent_list_of(c, dims + 2, 2);
    c->n_in = 4;
  }
  dims[0] = wk_extent_dim(c, c->in[1], 0);
  if (!wk_extent_plain(c)) return c->status;
  for (int i = 2; i < 4; i++)
    dims[i] = wk_size_const(c, wk_onnx_type(c, c->out[0].value)->dims[i]);
  wk_extent_result(c, 0, dims);
  return c->status;
}
