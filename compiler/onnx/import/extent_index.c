/* SPDX-License-Identifier: Apache-2.0
 * Rules of operators that look up by positions. Positions that lie beyond a size become 0, so that
 * they are within the tensor whatever is there. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

static wk_value_id number(wk_onnx_node *c, int64_t v) {
  return wk_make_scalar(c, WK_I64, (double)v);
}

static uint32_t all_axes(void) { return UINT32_MAX; }

/* Positions along an axis of open size that are counted from its end. */
static void count_from_start(wk_onnx_node *c, int i, const wk_size *size) {
  const wk_size *dims[WK_MAX_RANK];
  wk_value_id at = c->in[i];
  if (wk_is_const(c->g, at)) {
    wk_ints v = wk_onnx_const_ints(c, at, "the positions");
    bool any = false;
    for (int64_t k = 0; k < v.n; k++) any = any || v.v[k] < 0;
    if (!any) return;
  }
  wk_extent_dims(c, at, dims);
  at = wk_make_cast(c, at, WK_I64);
  wk_value_id is_back = wk_make_2(c, WK_OP_LESS, at, number(c, 0));
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, at, wk_size_value(c, size));
  c->in[i] = wk_extent_set(c, wk_make_where(c, is_back, sum, at), dims);
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
    count_from_start(c, 1, wk_extent_dim(c, c->in[0], axis));
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
    count_from_start(c, 1, wk_extent_dim(c, c->in[0], axis));
  wk_extent_fill(c, 1, all_axes(), WK_FILL_ZERO);
  wk_extent_dims(c, c->in[1], dims);
  if (wk_extent_plain(c)) wk_extent_result(c, 0, dims);
  return c->status;
}

/* Axes that coordinates go along have known sizes, or their coordinates are not negative. */
wk_status wk_extent_gather_nd(wk_onnx_node *c) {
  const wk_size *dims[2 * WK_MAX_RANK];
  const wk_type x = *wk_onnx_type(c, c->in[0]), at = *wk_onnx_type(c, c->in[1]);
  int64_t batch = wk_onnx_int(c, "batch_dims", 0), depth = at.rank ? at.dims[at.rank - 1] : 0;
  int n = 0;
  if (!wk_onnx_valid(c, at.rank >= 1 && batch + depth <= x.rank, "coordinates do not fit"))
    return c->status;
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
    count_from_start(c, 0, depth[0]);
    c->in[1] = number(c, room);
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

/* Some of these axes of the positions have an open size. */
static bool has_open(const wk_onnx_node *c, wk_value_id v, int axes) {
  for (int i = 0; i < axes; i++)
    if (wk_extent_is_open(c, v, i)) return true;
  return false;
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

wk_status wk_extent_scatter_elements(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), x.rank);
  if (!wk_onnx_ok(c)) return c->status;
  bool spares = has_open(c, c->in[1], x.rank);
  if (spares || wk_extent_is_open(c, c->in[0], axis))
    count_from_start(c, 1, wk_extent_dim(c, c->in[0], axis));
  if (!spares) return write_plain(c);
  c->in[1] = filled(c, c->in[1], x.rank, x.dims[axis]);
  return write_spared(c, axis);
}

/* Part [from, to) of the coordinates. */
static wk_value_id coordinates(wk_onnx_node *c, int64_t from, int64_t to) {
  const wk_size *dims[WK_MAX_RANK];
  int last = wk_onnx_type(c, c->in[1])->rank - 1;
  wk_extent_dims(c, c->in[1], dims);
  dims[last] = wk_size_const(c, to - from);
  return wk_extent_set(c, wk_make_slice(c, c->in[1], last, from, to - from, 1), dims);
}

/* The first coordinate leads to the spare. */
wk_status wk_extent_scatter_nd(wk_onnx_node *c) {
  const wk_type at = *wk_onnx_type(c, c->in[1]), x = *wk_onnx_type(c, c->in[0]);
  int64_t depth = at.rank ? at.dims[at.rank - 1] : 0;
  if (!wk_onnx_valid(c, depth >= 1 && depth <= x.rank, "coordinates do not fit")) return c->status;
  int axes = at.rank - 1;
  if (!has_open(c, c->in[1], axes)) return write_plain(c);
  wk_value_id whole = c->in[1], rest = depth > 1 ? coordinates(c, 1, depth) : WK_NONE;
  c->in[1] = coordinates(c, 0, 1);
  count_from_start(c, 1, wk_extent_dim(c, c->in[0], 0));
  wk_value_id parts[] = {wk_make_cast(c, filled(c, c->in[1], axes, x.dims[0]), at.dtype), rest};
  if (rest != WK_NONE) parts[1] = filled(c, rest, axes, 0);
  c->in[1] = rest == WK_NONE ? parts[0] : wk_make_concat(c, parts, 2, axes);
  wk_status s = write_spared(c, 0);
  c->in[1] = whole;
  return s;
}

/* Boxes that are none lie at 0 and take from the first image. */
wk_status wk_extent_roi_align(wk_onnx_node *c) {
  const wk_size *dims[4];
  wk_extent_fill(c, 1, 1, WK_FILL_ZERO);
  wk_extent_fill(c, 2, 1, WK_FILL_ZERO);
  bool is_open = false;
  for (int i = 0; i < wk_onnx_type(c, c->in[0])->rank; i++)
    is_open = is_open || (i > 0 && wk_extent_is_open(c, c->in[0], i));
  wk_onnx_need(c, !is_open, "the image must have sizes that are known at compile time");
  const wk_size *boxes = wk_extent_dim(c, c->in[1], 0);
  if (!wk_extent_plain(c)) return c->status;
  wk_extent_dims(c, c->out[0].value, dims);
  dims[0] = boxes;
  wk_extent_result(c, 0, dims);
  return c->status;
}
