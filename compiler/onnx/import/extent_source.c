/* SPDX-License-Identifier: Apache-2.0
 * Rules of operators whose results have as many elements as values say. There is room for as many
 * as there can be, and their number is a size like others. Where the values are constants the
 * handlers compute all at once. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/extent.h"
#include "compiler/onnx/import/handlers.h"

static bool is_constant(wk_onnx_node *c, int i) {
  if (!wk_onnx_has(c, i)) return true;
  return !wk_extent_has_open(c->im, c->g, c->in[i]) && wk_onnx_is_computable(c, c->in[i]);
}

/* The number that value n (i64[], at most `most`) has at run time. */
static const wk_size *counted(wk_onnx_node *c, wk_value_id n, int64_t most) {
  if (!wk_onnx_ok(c)) return wk_size_const(c, 0);
  const wk_unknown u = {.text = wk_extent_own_text(c, "count"), .most = most, .g = c->g,
                        .value = n};
  return wk_size_unknown(c, &u);
}

static wk_value_id sum_of(wk_onnx_node *c, wk_value_id flags) {
  return wk_make_reduce(c, WK_OP_REDUCE_SUM, wk_make_cast(c, flags, WK_I64),
                        wk_make_axes(c, 0, 1), false);
}

/* Positions of the flags that are set, in order: i64[count] and how many there are. */
static wk_value_id positions_of(wk_onnx_node *c, wk_value_id flags, const wk_size **n) {
  int64_t count = wk_type_count(wk_onnx_type(c, flags)), room = count + 1;
  WK_MAKE_ATTRS(c, sum, CUM_SUM, cum_sum);
  WK_MAKE_ATTRS(c, put, SCATTER_ELEMENTS, scatter_elements);
  wk_value_id set = wk_make_cast(c, flags, WK_I64);
  wk_value_id before = wk_make_2(c, WK_OP_SUB, wk_make(c, WK_OP_CUM_SUM, sum, 1, set),
                                 wk_extent_number(c, 1));
  wk_value_id spare = wk_extent_number(c, count);
  wk_value_id place = wk_make_where(c, flags, before, spare);
  wk_value_id none = wk_make_expand(c, wk_extent_number(c, 0), 1, &room);
  wk_value_id at = wk_make(c, WK_OP_SCATTER_ELEMENTS, put, 3, none, place,
                           wk_make_iota(c, count));
  *n = counted(c, sum_of(c, flags), count);
  return wk_extent_set(c, wk_make_slice(c, at, 0, 0, count, 1), n);
}

/* Not zero, and within the sizes: bool[elements]. */
static wk_value_id flags_of(wk_onnx_node *c, int i) {
  wk_extent_fill(c, i, UINT32_MAX, WK_FILL_ZERO);
  wk_type t = *wk_onnx_type(c, c->in[i]);
  int64_t count = wk_type_count(&t);
  wk_value_id x = c->in[i];
  if (t.dtype != WK_BOOL) {
    wk_value_id zero = wk_extent_scalar(c, t.dtype, WK_FILL_ZERO);
    x = wk_make_1(c, WK_OP_NOT, wk_make_2(c, WK_OP_EQUAL, x, zero));
  }
  return wk_make_reshape(c, x, 1, &count);
}

/* The coordinate along each axis of elements by their positions. */
wk_status wk_extent_non_zero(wk_onnx_node *c) {
  const wk_type t = *wk_onnx_type(c, c->in[0]);
  int64_t count = wk_type_count(&t), strides[WK_MAX_RANK], row[2] = {1, count};
  if (is_constant(c, 0) || count == 0) return c->row->handler(c);
  const wk_size *n;
  wk_value_id at = positions_of(c, flags_of(c, 0), &n), axes[WK_MAX_RANK];
  wk_type_strides(&t, strides);
  for (int a = 0; a < t.rank && wk_onnx_ok(c); a++) {
    wk_value_id v = at;
    if (strides[a] > 1) v = wk_make_2(c, WK_OP_DIV, v, wk_extent_number(c, strides[a]));
    if (a > 0) v = wk_make_2(c, WK_OP_MOD, v, wk_extent_number(c, t.dims[a]));
    axes[a] = wk_make_reshape(c, v, 2, row);
  }
  if (!wk_onnx_need(c, t.rank > 0, "the input is a scalar")) return c->status;
  const wk_size *dims[2] = {wk_size_const(c, t.rank), n};
  return wk_onnx_return(c, wk_extent_set(c, wk_make_concat(c, axes, t.rank, 0), dims));
}

wk_status wk_extent_compress(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK], *n;
  bool is_flat = !wk_onnx_attr(c, "axis");
  if (is_constant(c, 1) && !wk_extent_has_open(c->im, c->g, c->in[0])) return c->row->handler(c);
  int rank = wk_onnx_type(c, c->in[0])->rank;
  int axis = is_flat ? 0 : (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), rank);
  if (!wk_onnx_ok(c) || !wk_onnx_valid(c, wk_onnx_type(c, c->in[1])->dtype == WK_BOOL,
                                       "the condition is not bool")) return c->status;
  wk_value_id x = c->in[0];
  wk_extent_dims(c, x, dims);
  if (is_flat) {
    const wk_size *all = wk_size_const(c, 1);
    for (int i = 0; i < rank; i++) all = wk_size_mul(c, all, dims[i]);
    dims[0] = all;
    x = wk_extent_reshape(c, x, 1, dims);
  }
  wk_value_id at = positions_of(c, flags_of(c, 1), &n);
  if (!wk_onnx_ok(c)) return c->status;
  int64_t there = wk_onnx_type(c, x)->dims[axis];
  wk_onnx_valid(c, wk_type_count(wk_onnx_type(c, c->in[1])) <= there,
                "the condition has more entries than the axis");
  dims[axis] = n;
  return wk_onnx_return(c, wk_extent_set(c, wk_make_gather(c, x, at, axis), dims));
}

/* ---- detection ------------------------------------------------------------------------------- */

/* Boxes that are none have a score that no threshold takes. */
static void forget_boxes(wk_onnx_node *c) {
  wk_dtype t = wk_onnx_type(c, c->in[1])->dtype;
  bool is_open = wk_extent_is_open(c, c->in[1], 2) || wk_extent_is_open(c, c->in[1], 1) ||
                 wk_extent_is_open(c, c->in[1], 0);
  wk_onnx_need(c, !wk_extent_is_open(c, c->in[0], 1) || wk_extent_is_open(c, c->in[1], 2),
               "boxes and scores may differ in number");
  if (!is_open || !wk_onnx_ok(c)) return;
  wk_extent_fill(c, 0, UINT32_MAX, WK_FILL_ZERO);
  wk_extent_fill(c, 1, UINT32_MAX, WK_FILL_LEAST);
  if (!wk_onnx_has(c, 4)) c->in[4] = wk_make_scalar(c, t, -3.0e38);
  if (c->n_in < 5) c->n_in = 5;
}

/* Filled rows come first, the others hold -1. */
wk_status wk_extent_non_max_suppression(wk_onnx_node *c) {
  const wk_type boxes = *wk_onnx_type(c, c->in[0]), scores = *wk_onnx_type(c, c->in[1]);
  if (!wk_onnx_valid(c, boxes.rank == 3 && scores.rank == 3,
                     "boxes and scores must have rank 3")) return c->status;
  if (is_constant(c, 0) && is_constant(c, 1)) return c->row->handler(c);
  forget_boxes(c);
  wk_value_id kept = wk_onnx_kept_boxes(c);
  if (!wk_onnx_ok(c)) return c->status;
  int64_t rows = wk_onnx_type(c, kept)->dims[0];
  wk_value_id first = wk_make_reshape(c, wk_make_slice(c, kept, 1, 0, 1, 1), 1, &rows);
  wk_value_id filled = wk_make_2(c, WK_OP_GREATER_EQUAL, first, wk_extent_number(c, 0));
  const wk_size *dims[2] = {counted(c, sum_of(c, filled), rows), wk_size_const(c, 3)};
  return wk_onnx_return(c, wk_extent_set(c, kept, dims));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* With room for the most that k may be. What is beyond a size comes last. */
wk_status wk_extent_top_k(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  const wk_size *dims[WK_MAX_RANK];
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", -1), rank);
  int64_t n = 1;
  if (!wk_onnx_ok(c)) return c->status;
  bool is_open = wk_extent_has_open(c->im, c->g, c->in[0]);
  if (!is_open && is_constant(c, 1)) return c->row->handler(c);
  const wk_size *fixed = wk_size_const(c, wk_onnx_int(c, "k", 0)); /* before opset 10 */
  const wk_size *const *k = c->opset < 10 ? &fixed : wk_extent_elements(c, c->in[1], &n);
  if (!wk_onnx_valid(c, n == 1, "k must be a scalar")) return c->status;
  wk_extent_dims(c, c->in[0], dims);
  int64_t room = wk_onnx_type(c, c->in[0])->dims[axis];
  if (!k) { /* any number that is there */
    wk_value_id v = wk_make_reshape(c, wk_make_cast(c, c->in[1], WK_I64), 0, NULL);
    wk_value_id within = wk_make_2(c, WK_OP_MIN, v, wk_size_value(c, dims[axis]));
    dims[axis] = counted(c, within, room);
  } else dims[axis] = wk_size_min(c, k[0], dims[axis]);
  bool largest = wk_onnx_int(c, "largest", 1) != 0;
  wk_extent_fill(c, 0, 1u << axis, largest ? WK_FILL_LEAST : WK_FILL_MOST);
  int64_t most = wk_size_most(c, dims[axis]);
  const int64_t one = 1, take = most < room ? most : room;
  if (c->opset >= 10) c->in[1] = wk_make_i64s(c, &take, one);
  if (!wk_extent_plain(c)) return c->status;
  for (int i = 0; i < 2; i++) /* before opset 10 there may be more than the room */
    wk_onnx_result(c, i, wk_make_slice(c, c->out[i].value, axis, 0, take, 1));
  wk_extent_result(c, 0, dims);
  wk_extent_result(c, 1, dims);
  return c->status;
}

/* Elements of a sorted list that are not equal to the one before: bool[count]. */
static wk_value_id differences(wk_onnx_node *c, wk_value_id sorted, int64_t count) {
  const bool yes = true;
  const int64_t one = 1;
  wk_type flag = wk_type_make(WK_BOOL, 1, &one);
  wk_value_id differs = wk_make_constant_splat(c, &flag, &yes);
  if (count > 1) {
    wk_value_id a = wk_make_slice(c, sorted, 0, 0, count - 1, 1);
    wk_value_id b = wk_make_slice(c, sorted, 0, 1, count - 1, 1);
    wk_value_id parts[] = {differs, wk_make_1(c, WK_OP_NOT, wk_make_2(c, WK_OP_EQUAL, a, b))};
    differs = wk_make_concat(c, parts, 2, 0);
  }
  return differs;
}

/* Flattened, sorted: those that are not equal to the one before. */
wk_status wk_extent_unique(wk_onnx_node *c) {
  if (is_constant(c, 0)) return c->row->handler(c);
  const wk_type t = *wk_onnx_type(c, c->in[0]);
  int64_t count = wk_type_count(&t);
  bool is_flat = !wk_onnx_attr(c, "axis") || t.rank == 1;
  bool is_open = wk_extent_has_open(c->im, c->g, c->in[0]);
  if (!wk_onnx_need(c, !is_open, "distinct elements of a tensor whose size is only known at run "
                    "time")) return c->status;
  if (!is_flat || !wk_onnx_int(c, "sorted", 1) || count == 0) return c->row->handler(c);
  WK_MAKE_ATTRS(c, sort, TOP_K, top_k);
  sort->axis = 0;
  sort->k = count;
  sort->largest = 0;
  wk_value_id flat = wk_make_reshape(c, c->in[0], 1, &count), sorted[2];
  wk_make_n(c, WK_OP_TOP_K, sort, &flat, 1, sorted, 2);
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id differs = differences(c, sorted[0], count);
  const wk_size *n;
  wk_value_id starts = positions_of(c, differs, &n);
  WK_MAKE_ATTRS(c, sum, CUM_SUM, cum_sum);
  WK_MAKE_ATTRS(c, put, SCATTER_ELEMENTS, scatter_elements);
  wk_value_id group = wk_make(c, WK_OP_CUM_SUM, sum, 1, wk_make_cast(c, differs, WK_I64));
  group = wk_make_2(c, WK_OP_SUB, group, wk_extent_number(c, 1));
  wk_value_id zeros = wk_make_expand(c, wk_extent_number(c, 0), 1, &count);
  wk_value_id ones = wk_make_expand(c, wk_extent_number(c, 1), 1, &count);
  WK_MAKE_ATTRS(c, add, SCATTER_ELEMENTS, scatter_elements);
  add->reduction = "add";
  wk_value_id at = wk_make_cast(c, sorted[1], WK_I64);
  wk_onnx_result(c, 0, wk_make_gather(c, sorted[0], starts, 0));
  wk_onnx_result(c, 1, wk_make_gather(c, at, starts, 0));
  wk_onnx_result(c, 2, wk_make(c, WK_OP_SCATTER_ELEMENTS, put, 3, zeros, at, group));
  wk_onnx_result(c, 3, wk_make(c, WK_OP_SCATTER_ELEMENTS, add, 3, zeros, group, ones));
  for (int i = 0; i < 4; i++)
    if (i != 2) wk_extent_result(c, i, &n);
  return c->status;
}
