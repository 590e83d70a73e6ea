/* SPDX-License-Identifier: Apache-2.0
 * MaxRoiPool: regions of whole pixels cut into bins, the largest element of each. Bins lie where
 * data says, so a maximum is over an axis whole, along which all that is outside is -infinity;
 * first over rows, then over columns. */
#include <math.h>

#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"

typedef struct {
  wk_value_id rois; /* [r, 5]: image, then left, top, right, bottom; computed in t */
  wk_dtype t;
  int64_t r, sizes[2], bins[2]; /* rows, columns */
  double scale;
} regions;

/* Corner k of all regions in pixels, [r, 1]: halves are rounded away from zero. */
static wk_value_id corner(wk_onnx_node *c, const regions *p, int k) {
  wk_value_id v = wk_make_mul_f(c, wk_make_slice(c, p->rois, 1, k, 1, 1), p->scale);
  wk_value_id whole = wk_make_1(c, WK_OP_FLOOR, wk_make_add_f(c, wk_make_1(c, WK_OP_ABS, v), 0.5));
  return wk_make_2(c, WK_OP_MUL, wk_make_1(c, WK_OP_SIGN, v), whole);
}

/* Where the bins of an axis begin (or, one further, end), within the image: [r, bins]. */
static wk_value_id edge(wk_onnx_node *c, const regions *p, int axis, wk_value_id begin,
                        wk_value_id bin, bool is_end) {
  wk_value_id i = wk_make_cast(c, wk_make_iota(c, p->bins[axis]), p->t);
  if (is_end) i = wk_make_add_f(c, i, 1);
  wk_value_id at = wk_make_2(c, WK_OP_MUL, bin, i);
  at = wk_make_1(c, is_end ? WK_OP_CEIL : WK_OP_FLOOR, at);
  WK_MAKE_ATTRS(c, a, CLIP, clip);
  a->lo = 0;
  a->hi = (double)p->sizes[axis];
  return wk_make(c, WK_OP_CLIP, a, 1, wk_make_2(c, WK_OP_ADD, at, begin));
}

/* The part of each bin along an axis: [r, bins, size], true inside; *is_empty [r, bins]. */
static wk_value_id inside(wk_onnx_node *c, const regions *p, int axis, wk_value_id *is_empty) {
  wk_value_id begin = corner(c, p, 2 - axis), end = corner(c, p, 4 - axis);
  wk_value_id extent = wk_make_add_f(c, wk_make_2(c, WK_OP_SUB, end, begin), 1);
  extent = wk_make_2(c, WK_OP_MAX, extent, wk_make_scalar(c, p->t, 1));
  wk_value_id bin = wk_make_2(c, WK_OP_DIV, extent,
                              wk_make_scalar(c, p->t, (double)p->bins[axis]));
  wk_value_id from = edge(c, p, axis, begin, bin, false), to = edge(c, p, axis, begin, bin, true);
  *is_empty = wk_make_2(c, WK_OP_LESS_EQUAL, to, from);
  const int64_t wide[] = {p->r, p->bins[axis], 1};
  wk_value_id at = wk_make_cast(c, wk_make_iota(c, p->sizes[axis]), p->t);
  wk_value_id above = wk_make_2(c, WK_OP_GREATER_EQUAL, at, wk_make_reshape(c, from, 3, wide));
  wk_value_id below = wk_make_2(c, WK_OP_LESS, at, wk_make_reshape(c, to, 3, wide));
  return wk_make_2(c, WK_OP_AND, above, below);
}

/* The largest element of x where `mask` is true, along the last axis. */
static wk_value_id largest(wk_onnx_node *c, wk_value_id x, wk_value_id mask, int rank) {
  wk_value_id none = wk_make_scalar(c, wk_onnx_type(c, x)->dtype, -INFINITY);
  x = wk_make_where(c, mask, x, none);
  return wk_make_reduce(c, WK_OP_REDUCE_MAX, x, wk_make_axes(c, rank - 1, rank), false);
}

wk_status wk_onnx_max_roi_pool(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), rois = *wk_onnx_type(c, c->in[1]);
  wk_ints bins = wk_onnx_ints(c, "pooled_shape");
  wk_onnx_valid(c, x.rank == 4, "the input has rank %d, not 4", x.rank);
  wk_onnx_valid(c, rois.rank == 2 && rois.dims[1] == 5, "the regions are not [n,5]");
  wk_onnx_valid(c, bins.n == 2 && bins.v[0] > 0 && bins.v[1] > 0 && bins.v[0] < 1 << 20 &&
                       bins.v[1] < 1 << 20, "pooled_shape is not two sizes");
  if (c->status) return c->status;
  wk_onnx_valid(c, x.dims[2] > 0 && x.dims[3] > 0, "the input is empty");
  wk_dtype t = x.dtype == WK_F64 || rois.dtype == WK_F64 ? WK_F64 : WK_F32;
  regions p = {.rois = wk_make_cast(c, c->in[1], t), .t = t, .r = rois.dims[0],
               .sizes = {x.dims[2], x.dims[3]}, .bins = {bins.v[0], bins.v[1]},
               .scale = wk_onnx_float(c, "spatial_scale", 1)};
  int64_t image_dims[] = {p.r}, rows[] = {p.r, 1, p.bins[0], 1, p.sizes[0]};
  int64_t columns[] = {p.r, 1, 1, p.bins[1], p.sizes[1]};
  int64_t image[] = {p.r, x.dims[1], 1, p.sizes[1], p.sizes[0]};
  int64_t bands[] = {p.r, x.dims[1], p.bins[0], 1, p.sizes[1]};
  wk_value_id empty[2], mask[2];
  for (int axis = 0; axis < 2; axis++) mask[axis] = inside(c, &p, axis, &empty[axis]);
  wk_value_id of = wk_make_cast(c, wk_make_slice(c, p.rois, 1, 0, 1, 1), WK_I64);
  wk_value_id y = wk_make_gather(c, c->in[0], wk_make_reshape(c, of, 1, image_dims), 0);
  y = wk_make_reshape(c, wk_make_move_axis(c, y, 2, 3), 5, image);
  y = largest(c, y, wk_make_reshape(c, mask[0], 5, rows), 5);
  y = largest(c, wk_make_reshape(c, y, 5, bands), wk_make_reshape(c, mask[1], 5, columns), 5);
  int64_t high[] = {p.r, 1, p.bins[0], 1}, wide[] = {p.r, 1, 1, p.bins[1]};
  wk_value_id none = wk_make_2(c, WK_OP_OR, wk_make_reshape(c, empty[0], 4, high),
                               wk_make_reshape(c, empty[1], 4, wide));
  return wk_onnx_return(c, wk_make_where(c, none, wk_make_scalar(c, x.dtype, 0), y));
}
