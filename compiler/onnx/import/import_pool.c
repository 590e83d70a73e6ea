/* SPDX-License-Identifier: Apache-2.0
 * Pools. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/window.h"

wk_status wk_onnx_max_pool(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_window w;
  if (!wk_window_read(c, &x, NULL, &w)) return c->status;
  WK_MAKE_ATTRS(c, a, MAX_POOL, max_pool);
  a->kernel = wk_window_kernel(c, &w);
  a->strides = wk_window_strides(c, &w);
  a->dilations = wk_window_dilations(c, &w);
  a->pads = wk_window_pads(c, &w);
  a->column_major = wk_onnx_int(c, "storage_order", 0) != 0;
  wk_value_id out[2] = {WK_NONE, WK_NONE};
  wk_make_n(c, WK_OP_MAX_POOL, a, c->in, 1, out, wk_onnx_wants(c, 1) ? 2 : 1);
  wk_onnx_result(c, 0, out[0]);
  wk_onnx_result(c, 1, out[1]);
  return c->status;
}

wk_value_id wk_window_average(wk_onnx_node *c, wk_value_id v) {
  if (!wk_onnx_ok(c)) return WK_NONE;
  const wk_type x = *wk_onnx_type(c, v);
  wk_window w;
  if (!wk_window_read(c, &x, NULL, &w)) return WK_NONE;
  WK_MAKE_ATTRS(c, a, AVG_POOL, avg_pool);
  a->kernel = wk_window_kernel(c, &w);
  a->strides = wk_window_strides(c, &w);
  a->dilations = wk_window_dilations(c, &w);
  a->pads = wk_window_pads(c, &w);
  memcpy(w.begin, w.real_begin, sizeof w.begin);
  memcpy(w.end, w.real_end, sizeof w.end);
  bool counts = wk_onnx_int(c, "count_include_pad", 0) != 0;
  a->real_pads = counts ? wk_window_pads(c, &w) : wk_ints_fill(c->im->m->arena, 2 * w.n, 0);
  return wk_make(c, WK_OP_AVG_POOL, a, 1, v);
}

wk_status wk_onnx_average_pool(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_window_average(c, c->in[0]));
}

/* A float before opset 2. */
static int64_t power_of(wk_onnx_node *c) {
  double p = wk_onnx_float(c, "p", 2);
  wk_onnx_need(c, p >= 1 && p < 1 << 20 && p == floor(p), "p = %g is not supported", p);
  return wk_onnx_ok(c) ? (int64_t)p : 2;
}

wk_status wk_onnx_lp_pool(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_window w;
  if (!wk_window_read(c, &x, NULL, &w)) return c->status;
  WK_MAKE_ATTRS(c, a, LP_POOL, lp_pool);
  a->kernel = wk_window_kernel(c, &w);
  a->strides = wk_window_strides(c, &w);
  a->dilations = wk_window_dilations(c, &w);
  a->pads = wk_window_pads(c, &w);
  a->p = power_of(c);
  return wk_onnx_return(c, wk_make(c, WK_OP_LP_POOL, a, 1, c->in[0]));
}

/* GlobalAveragePool, GlobalMaxPool: reductions over the spatial axes. */
wk_status wk_onnx_global_pool(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_onnx_valid(c, rank >= 2, "the input has rank %d", rank);
  return wk_onnx_return(c, wk_make_reduce(c, c->row->op, c->in[0], wk_make_axes(c, 2, rank), true));
}

wk_status wk_onnx_global_lp_pool(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t p = power_of(c);
  if (!wk_onnx_valid(c, x.rank >= 2, "the input has rank %d", x.rank)) return c->status;
  if (p <= 2 || x.rank == 2) {
    wk_op op = p == 2 ? WK_OP_REDUCE_L2 : WK_OP_REDUCE_L1;
    wk_ints axes = wk_make_axes(c, 2, x.rank);
    return wk_onnx_return(c, wk_make_reduce(c, op, c->in[0], axes, true));
  }
  wk_arena *a = c->im->m->arena;
  WK_MAKE_ATTRS(c, pool, LP_POOL, lp_pool);
  pool->kernel = wk_ints_dup(a, x.dims + 2, x.rank - 2);
  pool->strides = pool->dilations = wk_ints_fill(a, x.rank - 2, 1);
  pool->pads = wk_ints_fill(a, 2 * (x.rank - 2), 0);
  pool->p = p;
  return wk_onnx_return(c, wk_make(c, WK_OP_LP_POOL, pool, 1, c->in[0]));
}

/* The indices count in the natural size, (in-1)*stride + kernel - pads; an output_shape given
 * extends that at the end. */
wk_status wk_onnx_max_unpool(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_window w;
  if (!wk_window_read_steps(c, &x, NULL, &w) || !wk_window_read_pads(c, &w)) return c->status;
  int64_t dims[WK_MAX_RANK], more[WK_MAX_RANK];
  for (int i = 0; i < x.rank; i++) {
    dims[i] = i < 2 ? x.dims[i] : (x.dims[i] - 1) * w.stride[i - 2] + w.kernel[i - 2] -
                                      w.begin[i - 2] - w.end[i - 2];
  }
  WK_MAKE_ATTRS(c, a, MAX_UNPOOL, max_unpool);
  a->shape = wk_ints_dup(c->im->m->arena, dims, x.rank);
  wk_value_id y = wk_make(c, WK_OP_MAX_UNPOOL, a, 2, c->in[0], c->in[1]);
  if (!wk_onnx_has(c, 2)) return wk_onnx_return(c, y);
  wk_ints shape = wk_onnx_const_ints(c, c->in[2], "the output shape");
  if (!wk_onnx_valid(c, shape.n == x.rank, "output_shape has %lld entries", (long long)shape.n)) {
    return c->status;
  }
  for (int i = 0; i < x.rank; i++) {
    wk_onnx_valid(c, shape.v[i] >= 0 && shape.v[i] < (int64_t)1 << 40,
                  "output_shape is out of range");
    more[i] = shape.v[i] - dims[i];
  }
  WK_MAKE_ATTRS(c, p, PAD, pad);
  p->before = wk_ints_fill(c->im->m->arena, x.rank, 0);
  p->after = wk_ints_dup(c->im->m->arena, more, x.rank);
  return wk_onnx_return(c, wk_make(c, WK_OP_PAD, p, 1, y));
}

wk_status wk_onnx_lrn(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, LRN, lrn);
  a->size = wk_onnx_int(c, "size", 1);
  a->alpha = wk_onnx_float(c, "alpha", a->alpha);
  a->beta = wk_onnx_float(c, "beta", a->beta);
  a->bias = wk_onnx_float(c, "bias", a->bias);
  return wk_onnx_return(c, wk_make(c, WK_OP_LRN, a, 1, c->in[0]));
}
