/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of indexing, resampling, detection and linear algebra. */
#include <math.h>
#include <string.h>

#include "compiler/ir/infer.h"

/* The dims of t from `first` up to `end` behind those of y. */
static wk_status append(const wk_infer *i, wk_type *y, const wk_type *t, int first, int end) {
  if (y->rank + (end - first) > WK_MAX_RANK)
    return UNSUPPORTED(i, "result has rank %d, more than %d", y->rank + end - first, WK_MAX_RANK);
  for (int k = first; k < end; k++) y->dims[y->rank++] = t->dims[k];
  return NULL;
}

/* ---- gather and scatter ---------------------------------------------------------------------- */

wk_status wk_infer_gather(const wk_infer *i) {
  const wk_attr_gather *at = i->attrs;
  const wk_type *data = i->in[0], *indices = i->in[1];
  if (!wk_dtype_is_int(indices->dtype))
    return BAD(i, "indices must be integers, not %s", wk_dtype_name(indices->dtype));
  WK_TRY(wk_want_axis(i, "axis", at->axis, data->rank));
  wk_type y = {.dtype = data->dtype};
  WK_TRY(append(i, &y, data, 0, (int)at->axis));
  WK_TRY(append(i, &y, indices, 0, indices->rank));
  WK_TRY(append(i, &y, data, (int)at->axis + 1, data->rank));
  if (data->dims[at->axis] == 0 && wk_type_count(indices) > 0)
    return BAD(i, "axis %lld of data is empty", wk_ll(at->axis));
  i->out[0] = y;
  return wk_carry_quant(i, 0, false, &i->out[0]);
}

/* indices has data's rank and, but along the axis, no dim larger than data's. */
static wk_status want_element_indices(const wk_infer *i, int64_t axis) {
  const wk_type *data = i->in[0], *indices = i->in[1];
  WK_TRY(wk_want_index(i, 1));
  WK_TRY(wk_want_axis(i, "axis", axis, data->rank));
  if (indices->rank != data->rank)
    return BAD(i, "data has rank %d but indices has rank %d", data->rank, indices->rank);
  for (int k = 0; k < data->rank; k++)
    if (k != axis && indices->dims[k] > data->dims[k])
      return BAD(i, "indices has %lld along axis %d but data has %lld", wk_ll(indices->dims[k]), k,
                 wk_ll(data->dims[k]));
  if (data->dims[axis] == 0 && wk_type_count(indices) > 0)
    return BAD(i, "axis %lld of data is empty", wk_ll(axis));
  return NULL;
}

wk_status wk_infer_gather_elements(const wk_infer *i) {
  const wk_attr_gather_elements *at = i->attrs;
  WK_TRY(want_element_indices(i, at->axis));
  i->out[0] = wk_type_make(i->in[0]->dtype, i->in[1]->rank, i->in[1]->dims);
  return wk_carry_quant(i, 0, false, &i->out[0]);
}

/* The last axis of indices holds coordinates for data's axes from `batch` on: *depth of them. */
static wk_status want_coordinates(const wk_infer *i, int64_t batch, int *depth) {
  const wk_type *data = i->in[0], *indices = i->in[1];
  WK_TRY(wk_want_index(i, 1));
  WK_TRY(wk_want_rank(i, 1, 1, WK_MAX_RANK));
  if (batch < 0 || batch >= indices->rank || batch > data->rank)
    return BAD(i, "batch_dims %lld is outside data of rank %d and indices of rank %d",
               wk_ll(batch), data->rank, indices->rank);
  int64_t n = indices->dims[indices->rank - 1];
  if (n > data->rank - batch)
    return BAD(i, "indices holds %lld coordinates for %d axes of data", wk_ll(n),
               data->rank - (int)batch);
  for (int k = 0; k < batch; k++)
    if (data->dims[k] != indices->dims[k])
      return BAD(i, "data and indices differ along batch axis %d", k);
  for (int64_t k = batch; k < batch + n; k++)
    if (data->dims[k] == 0 && wk_type_count(indices) > 0)
      return BAD(i, "axis %lld of data is empty", wk_ll(k));
  *depth = (int)n;
  return NULL;
}

wk_status wk_infer_gather_nd(const wk_infer *i) {
  const wk_attr_gather_nd *at = i->attrs;
  const wk_type *data = i->in[0], *indices = i->in[1];
  int depth;
  WK_TRY(want_coordinates(i, at->batch_dims, &depth));
  wk_type y = {.dtype = data->dtype};
  WK_TRY(append(i, &y, indices, 0, indices->rank - 1));
  WK_TRY(append(i, &y, data, (int)at->batch_dims + depth, data->rank));
  i->out[0] = y;
  return wk_carry_quant(i, 0, false, &i->out[0]);
}

static wk_status want_reduction(const wk_infer *i) {
  WK_TRY(wk_want_choice(i, "reduction", "none add mul min max"));
  if (i->in[0]->dtype != WK_BOOL || strcmp(wk_infer_attr_text(i, "reduction"), "none") == 0)
    return NULL;
  return BAD(i, "bool elements cannot be combined by %s", wk_infer_attr_text(i, "reduction"));
}

wk_status wk_infer_scatter_elements(const wk_infer *i) {
  const wk_attr_scatter_elements *at = i->attrs;
  WK_TRY(want_element_indices(i, at->axis));
  WK_TRY(want_reduction(i));
  WK_TRY(wk_want_type(i, 2, i->in[0]->dtype, i->in[1]->rank, i->in[1]->dims));
  i->out[0] = *i->in[0];
  return NULL;
}

wk_status wk_infer_scatter_nd(const wk_infer *i) {
  const wk_type *data = i->in[0], *indices = i->in[1];
  int depth;
  WK_TRY(want_coordinates(i, 0, &depth));
  WK_TRY(want_reduction(i));
  wk_type updates = {.dtype = data->dtype};
  WK_TRY(append(i, &updates, indices, 0, indices->rank - 1));
  WK_TRY(append(i, &updates, data, depth, data->rank));
  WK_TRY(wk_want_type(i, 2, updates.dtype, updates.rank, updates.dims));
  i->out[0] = *data;
  return NULL;
}

wk_status wk_infer_one_hot(const wk_infer *i) {
  const wk_attr_one_hot *at = i->attrs;
  const wk_type *indices = i->in[0], *values = i->in[1];
  const int64_t two = 2;
  if (indices->dtype == WK_BOOL) return BAD(i, "indices must be numbers, not bool");
  WK_TRY(wk_want_type(i, 1, values->dtype, 1, &two));
  WK_TRY(wk_want_at_least(i, "depth", at->depth, 0));
  WK_TRY(wk_want_axis(i, "axis", at->axis, indices->rank + 1));
  wk_type y = {.dtype = values->dtype}, depth = {.rank = 1, .dims = {at->depth}};
  WK_TRY(append(i, &y, indices, 0, (int)at->axis));
  WK_TRY(append(i, &y, &depth, 0, 1));
  WK_TRY(append(i, &y, indices, (int)at->axis, indices->rank));
  i->out[0] = y;
  return NULL;
}

/* ---- along an axis --------------------------------------------------------------------------- */

wk_status wk_infer_cum_sum(const wk_infer *i) {
  const wk_attr_cum_sum *at = i->attrs;
  if (i->in[0]->dtype == WK_BOOL) return BAD(i, "x must be a number, not bool");
  WK_TRY(wk_want_axis(i, "axis", at->axis, i->in[0]->rank));
  WK_TRY(wk_want_flag(i, "exclusive"));
  WK_TRY(wk_want_flag(i, "reverse"));
  i->out[0] = *i->in[0];
  i->out[0].quant = NULL;
  return NULL;
}

wk_status wk_infer_top_k(const wk_infer *i) {
  const wk_attr_top_k *at = i->attrs;
  const wk_type *x = i->in[0];
  if (x->dtype == WK_BOOL) return BAD(i, "x must be a number, not bool");
  WK_TRY(wk_want_axis(i, "axis", at->axis, x->rank));
  WK_TRY(wk_want_flag(i, "largest"));
  WK_TRY(wk_want_flag(i, "sorted"));
  if (at->k < 0 || at->k > x->dims[at->axis])
    return BAD(i, "k is %lld but axis %lld has %lld", wk_ll(at->k), wk_ll(at->axis),
               wk_ll(x->dims[at->axis]));
  wk_type y = wk_type_make(x->dtype, x->rank, x->dims);
  y.dims[at->axis] = at->k;
  i->out[0] = i->out[1] = y;
  i->out[1].dtype = WK_I64;
  return wk_carry_quant(i, 0, false, &i->out[0]);
}

wk_status wk_infer_reverse_sequence(const wk_infer *i) {
  const wk_attr_reverse_sequence *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_axis(i, "batch_axis", at->batch_axis, x->rank));
  WK_TRY(wk_want_axis(i, "time_axis", at->time_axis, x->rank));
  if (at->batch_axis == at->time_axis)
    return BAD(i, "batch_axis and time_axis are both %lld", wk_ll(at->time_axis));
  WK_TRY(wk_want_index(i, 1));
  WK_TRY(wk_want_type(i, 1, i->in[1]->dtype, 1, &x->dims[at->batch_axis]));
  i->out[0] = *x;
  return NULL;
}

wk_status wk_infer_trilu(const wk_infer *i) {
  WK_TRY(wk_want_rank(i, 0, 2, WK_MAX_RANK));
  WK_TRY(wk_want_scalar(i, 1, WK_I64));
  WK_TRY(wk_want_flag(i, "upper"));
  i->out[0] = *i->in[0];
  return NULL;
}

/* ---- images ---------------------------------------------------------------------------------- */

wk_status wk_infer_max_unpool(const wk_infer *i) {
  const wk_attr_max_unpool *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_rank(i, 0, 3, WK_MAX_RANK));
  WK_TRY(wk_want_type(i, 1, WK_I64, x->rank, x->dims));
  WK_TRY(wk_want_list(i, "shape", at->shape, x->rank, 0));
  for (int k = 0; k < 2; k++)
    if (at->shape.v[k] != x->dims[k])
      return BAD(i, "shape has %lld along axis %d but x has %lld", wk_ll(at->shape.v[k]), k,
                 wk_ll(x->dims[k]));
  i->out[0] = wk_type_make(x->dtype, x->rank, at->shape.v);
  return NULL;
}

wk_status wk_infer_resize(const wk_infer *i) {
  const wk_attr_resize *at = i->attrs;
  const wk_type *x = i->in[0];
  if (x->dtype == WK_BOOL) return BAD(i, "x must be a number, not bool");
  WK_TRY(wk_want_choice(i, "mode", "nearest linear cubic"));
  WK_TRY(wk_want_choice(i, "coordinates",
                        "half_pixel asymmetric align_corners pytorch_half_pixel "
                        "half_pixel_symmetric tf_half_pixel_for_nn tf_crop_and_resize"));
  WK_TRY(wk_want_choice(i, "nearest", "round_prefer_floor round_prefer_ceil floor ceil"));
  WK_TRY(wk_want_flag(i, "exclude_outside"));
  WK_TRY(wk_want_list(i, "sizes", at->sizes, x->rank, 0));
  if (at->scales.n != x->rank)
    return BAD(i, "scales has %lld entries for rank %d", wk_ll(at->scales.n), x->rank);
  for (int k = 0; k < x->rank; k++) {
    if (!(at->scales.v[k] > 0) || isinf(at->scales.v[k]))
      return BAD(i, "scales[%d] is %g, must be positive", k, at->scales.v[k]);
    if (x->dims[k] == 0 && at->sizes.v[k] > 0)
      return BAD(i, "axis %d of x is empty: nothing to interpolate", k);
  }
  bool crops = strcmp(at->coordinates, "tf_crop_and_resize") == 0;
  if (at->roi.n != (crops ? 2 * x->rank : 0))
    return BAD(i, "roi has %lld entries, needs %d", wk_ll(at->roi.n), crops ? 2 * x->rank : 0);
  i->out[0] = wk_type_make(x->dtype, x->rank, at->sizes.v);
  return NULL;
}

wk_status wk_infer_depth_to_space(const wk_infer *i) {
  const wk_attr_depth_to_space *at = i->attrs;
  wk_type y = wk_type_make(i->in[0]->dtype, i->in[0]->rank, i->in[0]->dims);
  WK_TRY(wk_want_rank(i, 0, 4, 4));
  WK_TRY(wk_want_flag(i, "back"));
  WK_TRY(wk_want_flag(i, "by_columns"));
  WK_TRY(wk_want_at_least(i, "rows", at->rows, 1));
  WK_TRY(wk_want_at_least(i, "columns", at->columns, 1));
  const int64_t block[2] = {at->rows, at->columns};
  for (int k = 0; k < 2; k++) {
    int64_t *deep = &y.dims[1], *wide = &y.dims[2 + k];
    int64_t *less = at->back ? wide : deep, *more = at->back ? deep : wide;
    if (*less % block[k] || !wk_mul_ok(*more, block[k], more))
      return BAD(i, "x has no blocks of %lld by %lld", wk_ll(at->rows), wk_ll(at->columns));
    *less /= block[k];
  }
  i->out[0] = y;
  return NULL;
}

wk_status wk_infer_grid_sample(const wk_infer *i) {
  const wk_type *x = i->in[0], *grid = i->in[1], *factors = wk_infer_in(i, 2);
  int n = x->rank - 2; /* axes that are sampled */
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_float(i, 1));
  WK_TRY(wk_want_rank(i, 0, 3, 5));
  WK_TRY(wk_want_rank(i, 1, x->rank, x->rank));
  WK_TRY(wk_want_choice(i, "mode", "linear nearest cubic"));
  WK_TRY(wk_want_choice(i, "padding", "zeros border reflection"));
  WK_TRY(wk_want_flag(i, "align_corners"));
  WK_TRY(wk_want_flag(i, "pixels"));
  if (grid->dims[0] != x->dims[0])
    return BAD(i, "x has batch %lld but grid has %lld", wk_ll(x->dims[0]), wk_ll(grid->dims[0]));
  if (grid->dims[n + 1] != n)
    return BAD(i, "the last axis of grid has %lld, needs %d", wk_ll(grid->dims[n + 1]), n);
  for (int k = 0; k < n; k++)
    if (x->dims[k + 2] == 0) return BAD(i, "x is empty: nothing to sample");
  if (factors) {
    WK_TRY(wk_want_float(i, 2));
    WK_TRY(wk_want_type(i, 2, factors->dtype, n + 1, grid->dims));
  }
  wk_type y = *x;
  memcpy(y.dims + 2, grid->dims + 1, (size_t)n * sizeof *y.dims);
  i->out[0] = y;
  return NULL;
}

wk_status wk_infer_roi_align(const wk_infer *i) {
  const wk_attr_roi_align *at = i->attrs;
  const wk_type *x = i->in[0], *rois = i->in[1];
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_rank(i, 0, 4, 4));
  WK_TRY(wk_want_rank(i, 1, 2, 2));
  WK_TRY(wk_want_type(i, 1, x->dtype, 2, (const int64_t[]){rois->dims[0], 4}));
  WK_TRY(wk_want_index(i, 2));
  WK_TRY(wk_want_type(i, 2, i->in[2]->dtype, 1, rois->dims));
  WK_TRY(wk_want_choice(i, "mode", "avg max"));
  WK_TRY(wk_want_at_least(i, "height", at->height, 1));
  WK_TRY(wk_want_at_least(i, "width", at->width, 1));
  WK_TRY(wk_want_at_least(i, "samples", at->samples, 0));
  WK_TRY(wk_want_flag(i, "half_pixel"));
  if (rois->dims[0] > 0 && (x->dims[0] == 0 || x->dims[2] == 0 || x->dims[3] == 0))
    return BAD(i, "x is empty: nothing to sample");
  i->out[0] = wk_type_make(
      x->dtype, 4, (const int64_t[]){rois->dims[0], x->dims[1], at->height, at->width});
  return NULL;
}

wk_status wk_infer_non_max_suppression(const wk_infer *i) {
  const wk_attr_non_max_suppression *at = i->attrs;
  const wk_type *boxes = i->in[0], *scores = i->in[1];
  WK_TRY(wk_want_rank(i, 0, 3, 3));
  WK_TRY(wk_want_rank(i, 1, 3, 3));
  WK_TRY(wk_want_type(i, 0, WK_F32, 3, (const int64_t[]){boxes->dims[0], boxes->dims[1], 4}));
  WK_TRY(wk_want_type(i, 1, WK_F32, 3,
                      (const int64_t[]){boxes->dims[0], scores->dims[1], boxes->dims[1]}));
  WK_TRY(wk_want_scalar(i, 2, WK_I64));
  WK_TRY(wk_want_scalar(i, 3, WK_F32));
  WK_TRY(wk_want_scalar(i, 4, WK_F32));
  WK_TRY(wk_want_flag(i, "center_point"));
  WK_TRY(wk_want_choice(i, "overlap", "area corners pixels"));
  WK_TRY(wk_want_at_least(i, "rows", at->rows, 0));
  i->out[0] = wk_type_make(WK_I64, 2, (const int64_t[]){at->rows, 3});
  return NULL;
}

/* ---- segments -------------------------------------------------------------------------------- */

wk_segment_rows wk_segment_rows_of(const char *form) {
  static const struct {
    const char *name;
    wk_segment_rows rows;
  } forms[] = {{"fused8", {8, 4}}, {"fused8_half", {8, 2}}, {"fused4", {4, 2}},
               {"fused2", {2, 2}}};
  for (size_t k = 0; k < WK_COUNTOF(forms); k++)
    if (!strcmp(forms[k].name, form)) return forms[k].rows;
  return (wk_segment_rows){0, 0}; /* plain */
}

int64_t wk_segment_width(const wk_segment_rows *r, int64_t columns) {
  return r->bits ? (columns - 2 * r->tail) * (8 / r->bits) : columns;
}

/* The types of rows and of what comes of them. */
static wk_status want_rows(const wk_infer *i, const wk_segment_rows *r) {
  const wk_attr_segment_reduce *at = i->attrs;
  const wk_type *data = i->in[0];
  bool is_byte = data->dtype == WK_U8 || data->dtype == WK_I8;
  if (!wk_dtype_is_float(at->to))
    return BAD(i, "to is %s, needs a float type", wk_dtype_name(at->to));
  if (r->bits && data->dtype != WK_U8)
    return BAD(i, "rows %s are bytes (u8), not %s", at->rows, wk_dtype_name(data->dtype));
  if (r->bits && data->dims[1] < 2 * r->tail)
    return BAD(i, "rows of %lld bytes do not hold a scale and a bias", wk_ll(data->dims[1]));
  if (!is_byte && !wk_dtype_is_float(data->dtype))
    return BAD(i, "data is %s, needs floats or 8-bit integers", wk_dtype_name(data->dtype));
  if (at->to != data->dtype && (at->to != WK_F32 || data->dtype == WK_F64))
    return BAD(i, "data is %s, from which %s is not made", wk_dtype_name(data->dtype),
               wk_dtype_name(at->to));
  for (uint32_t k = 4; k < 6; k++) {
    if (!wk_infer_in(i, k)) continue;
    if (r->bits || !is_byte)
      return BAD(i, "%s is of plain 8-bit rows alone", wk_infer_operand(i, k).s);
    WK_TRY(wk_want_type(i, k, WK_F32, 1, data->dims));
  }
  return NULL;
}

wk_status wk_infer_segment_reduce(const wk_infer *i) {
  const wk_attr_segment_reduce *at = i->attrs;
  const wk_type *data = i->in[0], *indices = wk_infer_in(i, 2);
  WK_TRY(wk_want_choice(i, "kind", "sum mean max"));
  WK_TRY(wk_want_choice(i, "rows", "plain fused8 fused8_half fused4 fused2"));
  WK_TRY(wk_want_rank(i, 0, 2, 2));
  WK_TRY(wk_want_rank(i, 1, 1, 1));
  WK_TRY(wk_want_index(i, 1));
  if (i->in[1]->dims[0] < 1) return BAD(i, "offsets is empty, needs one more than segments");
  wk_segment_rows rows = wk_segment_rows_of(at->rows);
  WK_TRY(want_rows(i, &rows));
  if (indices) {
    WK_TRY(wk_want_rank(i, 2, 1, 1));
    WK_TRY(wk_want_index(i, 2));
    if (data->dims[0] == 0 && indices->dims[0] > 0) return BAD(i, "data has no rows to read");
  }
  if (at->padding < -1 || at->padding >= data->dims[0])
    return BAD(i, "padding %lld is no row of %lld", wk_ll(at->padding), wk_ll(data->dims[0]));
  WK_TRY(wk_want_type(i, 3, at->to, 1, indices ? indices->dims : data->dims));
  i->out[0] = wk_type_make(at->to, 2, (const int64_t[]){i->in[1]->dims[0] - 1,
                                                        wk_segment_width(&rows, data->dims[1])});
  return NULL;
}

/* ---- linear algebra -------------------------------------------------------------------------- */

wk_status wk_infer_det(const wk_infer *i) {
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_rank(i, 0, 2, WK_MAX_RANK));
  if (x->dims[x->rank - 1] != x->dims[x->rank - 2])
    return BAD(i, "x holds %lld x %lld matrices, needs square ones",
               wk_ll(x->dims[x->rank - 2]), wk_ll(x->dims[x->rank - 1]));
  i->out[0] = wk_type_make(x->dtype, x->rank - 2, x->dims);
  return NULL;
}
