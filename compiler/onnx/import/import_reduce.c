/* SPDX-License-Identifier: Apache-2.0
 * Reductions and what works along one axis. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

wk_status wk_onnx_reduce(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  bool is_log = c->row->op == WK_OP_REDUCE_LOG_SUM || c->row->op == WK_OP_REDUCE_LOG_SUM_EXP;
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  wk_onnx_valid(c, c->opset < 28 || !is_log || wk_dtype_is_float(t),
                "%s has no logarithm since opset 28", wk_dtype_name(t));
  int64_t since = c->row->op == WK_OP_REDUCE_SUM ? 13 : 18; /* axes became an input */
  wk_ints axes = wk_onnx_ints_input(c, since, 1, "axes");
  bool keep = wk_onnx_int(c, "keepdims", 1) != 0;
  if (!wk_onnx_ok(c)) return c->status;
  if (axes.n <= 0) {
    bool none = c->opset >= since && wk_onnx_int(c, "noop_with_empty_axes", 0) != 0;
    axes = wk_make_axes(c, 0, none ? 0 : rank);
  } else {
    axes = wk_onnx_axes(c, axes, rank);
  }
  wk_value_id x = c->in[0];
  bool is_bool = t == WK_BOOL; /* Max and Min since opset 20 */
  if (is_bool) x = wk_make_cast(c, x, WK_U8);
  x = wk_make_reduce(c, c->row->op, x, axes, keep);
  return wk_onnx_return(c, is_bool ? wk_make_cast(c, x, WK_BOOL) : x);
}

wk_status wk_onnx_arg_reduce(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_attr_arg_max *a = wk_make_attrs(c, c->row->op); /* the layout that both share */
  a->axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), rank);
  a->keepdims = wk_onnx_int(c, "keepdims", 1) != 0;
  a->select_last = wk_onnx_int(c, "select_last_index", 0) != 0;
  return wk_onnx_return(c, wk_make(c, c->row->op, a, 1, c->in[0]));
}

/* Before opset 13 the input was seen as a matrix: everything from the axis on is one row. */
wk_value_id wk_make_softmax(wk_onnx_node *c, wk_op op, wk_value_id v, int64_t opset) {
  if (!wk_onnx_ok(c)) return WK_NONE;
  const wk_type x = *wk_onnx_type(c, v);
  bool is_matrix = opset < 13;
  int64_t axis = wk_onnx_int(c, "axis", is_matrix ? 1 : -1);
  if (!is_matrix || axis != x.rank) axis = wk_onnx_axis(c, axis, x.rank);
  if (!wk_onnx_ok(c)) return WK_NONE;
  wk_attr_softmax *a = wk_make_attrs(c, op); /* softmax, log_softmax, hardmax alike */
  a->axis = axis;
  if (!is_matrix || axis == x.rank - 1) return wk_make(c, op, a, 1, v);
  int64_t dims[2] = {1, 1};
  for (int i = 0; i < x.rank; i++) dims[i >= axis] *= x.dims[i];
  a->axis = 1;
  wk_value_id y = wk_make(c, op, a, 1, wk_make_reshape(c, v, 2, dims));
  return wk_make_reshape(c, y, x.rank, x.dims);
}

wk_status wk_onnx_softmax(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_make_softmax(c, c->row->op, c->in[0], c->opset));
}
