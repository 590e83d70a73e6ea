/* SPDX-License-Identifier: Apache-2.0
 * Convolutions and pools along sizes that are only known at run time. */
#include <string.h>

#include "compiler/onnx/import/extent.h"

static const wk_type *type(const wk_onnx_node *c, int i) { return wk_onnx_type(c, c->in[i]); }

/* The kernel of an axis, from the weights or as the node says. */
static int64_t kernel_of(wk_onnx_node *c, int axis) {
  wk_ints kernel = wk_onnx_ints(c, "kernel_shape");
  bool has_weights = !strstr(c->row->name, "Pool");
  int weights = !strcmp(c->row->name, "QLinearConv") ? 3 : 1;
  if (has_weights) return type(c, weights)->dims[axis + 2];
  return axis < kernel.n ? kernel.v[axis] : 1;
}

static int64_t entry(wk_ints v, int i, int64_t otherwise) { return i < v.n ? v.v[i] : otherwise; }

/* Pads of an axis: how many there are before and behind. */
static void pads_of(wk_onnx_node *c, int axis, int n, int64_t span, int64_t pads[2]) {
  const char *mode = wk_onnx_text(c, "auto_pad", "NOTSET");
  wk_ints v = wk_onnx_ints(c, "pads");
  bool is_same = !strncmp(mode, "SAME", 4);
  pads[0] = !strcmp(mode, "NOTSET") ? entry(v, axis, 0) : 0;
  pads[1] = !strcmp(mode, "NOTSET") ? entry(v, axis + n, 0) : 0;
  if (is_same) {
    pads[0] = !strcmp(mode, "SAME_UPPER") ? span / 2 : span - span / 2;
    pads[1] = span - pads[0];
  }
}

/* Of x windows, how many begin within it and its pads, and are whole, or with ceil_mode not. */
static const wk_size *windows_in(wk_onnx_node *c, const wk_size *x, const int64_t pads[2],
                                 int64_t span, int64_t stride) {
  const wk_size *by = wk_size_const(c, stride), *none = wk_size_const(c, 0);
  bool rounds_up = wk_onnx_int(c, "ceil_mode", 0) && stride > 1;
  const wk_size *y = wk_size_plus(c, x, pads[0] + pads[1] - span - 1 + stride);
  if (!rounds_up) return wk_size_max(c, wk_size_div(c, y, by), none);
  y = wk_size_div(c, wk_size_plus(c, y, stride - 1), by);
  const wk_size *begun = wk_size_div(c, wk_size_plus(c, x, pads[0] + stride - 1), by);
  return wk_size_max(c, wk_size_min(c, y, begun), none);
}

/* auto_pad SAME: how many pads there are before an axis of this size. */
static const wk_size *pads_before(wk_onnx_node *c, const wk_size *x, int64_t span,
                                  int64_t stride) {
  const wk_size *by = wk_size_const(c, stride);
  const wk_size *y = wk_size_div(c, wk_size_plus(c, x, stride - 1), by);
  y = wk_size_sub(c, wk_size_plus(c, wk_size_mul(c, y, by), span + 1 - stride), x);
  y = wk_size_max(c, y, wk_size_const(c, 0));
  const wk_size *half = wk_size_div(c, y, wk_size_const(c, 2));
  bool is_upper = !strcmp(wk_onnx_text(c, "auto_pad", "NOTSET"), "SAME_UPPER");
  return is_upper ? half : wk_size_sub(c, y, half);
}

/* x along an axis in a room of a multiple of the stride, so far behind as there are more pads than
 * before one of that size, with `fill` around it. */
static void place(wk_onnx_node *c, int axis, int64_t span, int64_t stride, wk_value_id fill) {
  const wk_size *dims[WK_MAX_RANK], *x = wk_extent_dim(c, c->in[0], axis);
  int64_t room = wk_ceil_div(wk_onnx_type(c, c->in[0])->dims[axis], stride) * stride;
  const wk_size *least = pads_before(c, wk_size_const(c, room), span, stride);
  const wk_size *shift = wk_size_sub(c, pads_before(c, x, span, stride), least);
  if (c->status) return;
  wk_value_id at = wk_make_2(c, WK_OP_SUB, wk_make_iota(c, room), wk_size_value(c, shift));
  wk_value_id is_there =
      wk_make_2(c, WK_OP_AND,
                wk_make_2(c, WK_OP_GREATER_EQUAL, at, wk_extent_number(c, 0)),
                wk_make_2(c, WK_OP_LESS, at, wk_size_value(c, x)));
  wk_extent_dims(c, c->in[0], dims);
  dims[axis] = wk_size_const(c, room);
  wk_value_id y = wk_make_gather(c, c->in[0], wk_extent_within(c, at, x), axis);
  is_there = wk_make_along(c, is_there, axis, type(c, 0)->rank);
  c->in[0] = wk_extent_set(c, wk_make_where(c, is_there, y, fill), dims);
}

/* Sizes of what windows over x leave; `back`: of what is spread from it. x is placed for pads that
 * depend on its size. */
static bool window_dims(wk_onnx_node *c, bool back, wk_value_id fill, const wk_size **dims) {
  int n = type(c, 0)->rank - 2;
  wk_ints strides = wk_onnx_ints(c, "strides"), dilations = wk_onnx_ints(c, "dilations");
  wk_ints more = wk_onnx_ints(c, "output_padding");
  bool is_same = !strncmp(wk_onnx_text(c, "auto_pad", "NOTSET"), "SAME", 4);
  wk_onnx_need(c, !wk_extent_is_open(c, c->in[0], 1), "the number of channels is only known at "
               "run time");
  for (int i = 0; i < n && wk_onnx_ok(c); i++) {
    if (!wk_extent_is_open(c, c->in[0], i + 2)) {
      dims[i + 2] = NULL;
      continue;
    }
    int64_t stride = entry(strides, i, 1), pads[2];
    int64_t span = entry(dilations, i, 1) * (kernel_of(c, i) - 1);
    const wk_size *x = wk_extent_dim(c, c->in[0], i + 2);
    if (!wk_onnx_valid(c, stride > 0, "the stride is %lld", (long long)stride)) break;
    pads_of(c, i, n, span, pads);
    if (back) {
      const wk_size *y = wk_size_mul(c, wk_size_plus(c, x, -1), wk_size_const(c, stride));
      dims[i + 2] = wk_size_plus(c, y, entry(more, i, 0) + span + 1 - pads[0] - pads[1]);
    } else if (is_same && stride > 1) {
      dims[i + 2] = wk_size_div(c, wk_size_plus(c, x, stride - 1), wk_size_const(c, stride));
      place(c, i + 2, span, stride, fill);
    } else {
      dims[i + 2] = windows_in(c, x, pads, span, stride);
    }
  }
  return wk_onnx_ok(c);
}

/* Runs the handler; what is not in `dims` the result's type says. */
static wk_status slide(wk_onnx_node *c, const wk_size **dims, const wk_size *batch) {
  if (!wk_extent_plain(c)) return c->status;
  const wk_type y = *wk_onnx_type(c, c->out[0].value);
  dims[0] = batch;
  for (int i = 1; i < y.rank; i++)
    if (i == 1 || !dims[i]) dims[i] = wk_size_const(c, y.dims[i]);
  wk_extent_result(c, 0, dims);
  return c->status;
}

static uint32_t images(void) { return ~3u; }

static wk_status window(wk_onnx_node *c, wk_fill fill, bool back) {
  const wk_size *dims[WK_MAX_RANK], *batch = wk_extent_dim(c, c->in[0], 0);
  for (int i = 1; i < c->n_in; i++)
    wk_onnx_need(c, !wk_extent_has_open(c->im, c->g, c->in[i]),
                 "weights have a size that is only known at run time");
  wk_value_id beyond = wk_extent_scalar(c, type(c, 0)->dtype, fill);
  if (!window_dims(c, back, beyond, dims)) return c->status;
  wk_extent_fill(c, 0, images(), fill);
  return slide(c, dims, batch);
}

wk_status wk_extent_conv(wk_onnx_node *c) { return window(c, WK_FILL_ZERO, false); }

wk_status wk_extent_conv_transpose(wk_onnx_node *c) {
  wk_onnx_need(c, wk_onnx_ints(c, "output_shape").n <= 0 &&
               !strncmp(wk_onnx_text(c, "auto_pad", "NOTSET"), "NOTSET", 6),
               "output_shape and auto_pad, where a size is only known at run time");
  return wk_onnx_ok(c) ? window(c, WK_FILL_ZERO, true) : c->status;
}

/* Padding stands for 0, which is the zero point. */
wk_status wk_extent_quantised_conv(wk_onnx_node *c) {
  const wk_size *dims[WK_MAX_RANK], *batch = wk_extent_dim(c, c->in[0], 0);
  wk_value_id zero = wk_onnx_has(c, 2) ? wk_make_reshape(c, c->in[2], 0, NULL) : WK_NONE;
  if (zero == WK_NONE) zero = wk_extent_scalar(c, type(c, 0)->dtype, WK_FILL_ZERO);
  if (!window_dims(c, false, zero, dims)) return c->status;
  for (int i = 2; i < type(c, 0)->rank && wk_onnx_ok(c); i++)
    c->in[0] = wk_extent_filled(c, c->in[0], i, zero);
  return slide(c, dims, batch);
}

wk_status wk_extent_max_pool(wk_onnx_node *c) {
  bool is_open = false;
  for (int i = 1; i < type(c, 0)->rank; i++)
    is_open = is_open || wk_extent_is_open(c, c->in[0], i);
  wk_onnx_need(c, !is_open || !wk_onnx_wants(c, 1), "positions of the largest elements, where a "
               "size is only known at run time");
  return wk_onnx_ok(c) ? window(c, WK_FILL_LEAST, false) : c->status;
}

static wk_value_id ones_like(wk_onnx_node *c, wk_value_id x) {
  wk_type t = *wk_onnx_type(c, x);
  const wk_size *dims[WK_MAX_RANK];
  wk_extent_dims(c, x, dims);
  t.dims[0] = t.dims[1] = 1;
  dims[0] = dims[1] = wk_size_const(c, 1);
  double one = 1;
  wk_value_id v = wk_make_expand(c, wk_make_f64s(c, t.dtype, &one, 0, NULL), t.rank, t.dims);
  return wk_extent_set(c, wk_make_1(c, WK_OP_IDENTITY, v), dims);
}

/* Where padding does not count, the mean of what is there by the mean of ones that are there. */
wk_status wk_extent_average_pool(wk_onnx_node *c) {
  wk_value_id x = c->in[0];
  const wk_size *dims[WK_MAX_RANK];
  bool counts = wk_onnx_int(c, "count_include_pad", 0) != 0;
  wk_onnx_need(c, !counts || !wk_onnx_int(c, "ceil_mode", 0), "count_include_pad with ceil_mode, "
               "where a size is only known at run time");
  if (!wk_onnx_ok(c)) return c->status;
  if (window(c, WK_FILL_ZERO, false) || counts) return c->status;
  wk_value_id y = c->out[0].value;
  wk_extent_dims(c, y, dims);
  c->in[0] = ones_like(c, x);
  wk_value_id count = window(c, WK_FILL_ZERO, false) ? WK_NONE : c->out[0].value;
  wk_value_id floor = wk_make_scalar(c, wk_onnx_type(c, x)->dtype, 1e-6);
  count = wk_make_2(c, WK_OP_MAX, count, floor); /* beyond the sizes there is nothing */
  wk_onnx_result(c, 0, wk_make_2(c, WK_OP_DIV, y, count));
  wk_extent_result(c, 0, dims);
  return c->status;
}
