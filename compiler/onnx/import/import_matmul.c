/* SPDX-License-Identifier: Apache-2.0
 * Products of matrices. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/matmul.h"

bool wk_matmul_same_floats(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  wk_dtype ta = wk_onnx_type(c, a)->dtype, tb = wk_onnx_type(c, b)->dtype;
  bool is_float = wk_dtype_is_float(ta) && wk_dtype_is_float(tb);
  return wk_onnx_valid(c, !is_float || ta == tb, "multiplies %s by %s: both must have one type",
                       wk_dtype_name(ta), wk_dtype_name(tb));
}

/* numpy: a vector on the left is a row, on the right a column, and that axis is dropped again. */
wk_value_id wk_matmul_emit(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  const wk_type ta = *wk_onnx_type(c, a), tb = *wk_onnx_type(c, b);
  if (!wk_onnx_valid(c, ta.rank >= 1 && tb.rank >= 1, "an operand is a scalar") ||
      !wk_matmul_same_floats(c, a, b))
    return WK_NONE;
  const int64_t row[2] = {1, ta.dims[0]}, column[2] = {tb.dims[0], 1};
  if (ta.rank == 1) a = wk_make_reshape(c, a, 2, row);
  if (tb.rank == 1) b = wk_make_reshape(c, b, 2, column);
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, a, b);
  const wk_type ty = *wk_onnx_type(c, y);
  if (tb.rank == 1) y = wk_make_squeeze(c, y, (wk_ints){1, (const int64_t[]){ty.rank - 1}});
  int last = wk_onnx_type(c, y)->rank - (tb.rank == 1 ? 1 : 2);
  if (ta.rank == 1) y = wk_make_squeeze(c, y, (wk_ints){1, (const int64_t[]){last}});
  return y;
}

wk_status wk_onnx_matmul(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_matmul_emit(c, c->in[0], c->in[1]));
}

static wk_value_id transpose_last(wk_onnx_node *c, wk_value_id x) {
  int rank = wk_onnx_type(c, x)->rank;
  if (!wk_onnx_valid(c, rank >= 2, "an operand has rank %d", rank)) return WK_NONE;
  return wk_make_move_axis(c, x, rank - 1, rank - 2);
}

/* A bias of the product itself. */
static bool is_bias(wk_onnx_node *c, wk_value_id bias, wk_value_id b) {
  const wk_type *t = wk_onnx_type(c, bias), *tb = wk_onnx_type(c, b);
  return t->rank == 1 && tb->rank == 2 && t->dims[0] == tb->dims[1] &&
         t->dtype == tb->dtype;
}

static wk_value_id widened(wk_onnx_node *c, wk_value_id x) {
  return wk_onnx_ok(c) ? wk_make_cast(c, x, wk_compute_dtype(wk_onnx_type(c, x)->dtype)) : x;
}

/* alpha * a b + beta * c; of 16-bit floats in f32, rounded once. */
wk_status wk_onnx_gemm(wk_onnx_node *c) {
  wk_value_id a = c->in[0], b = c->in[1];
  wk_dtype t = wk_onnx_type(c, a)->dtype, wide = wk_compute_dtype(t);
  double alpha = wk_onnx_float(c, "alpha", 1.0), beta = wk_onnx_float(c, "beta", 1.0);
  wk_onnx_valid(c, wk_onnx_type(c, a)->rank == 2 && wk_onnx_type(c, b)->rank == 2,
                "an operand is not a matrix");
  wk_matmul_same_floats(c, a, b);
  if (wk_onnx_int(c, "transA", 0)) a = transpose_last(c, a);
  if (wk_onnx_int(c, "transB", 0)) b = transpose_last(c, b);
  bool adds = wk_onnx_has(c, 2) && beta != 0.0, is_plain = alpha == 1.0 && beta == 1.0;
  if (wide != t && adds && is_plain && wk_onnx_ok(c) && is_bias(c, c->in[2], b))
    return wk_onnx_return(c, wk_make(c, WK_OP_MATMUL, NULL, 3, a, b, c->in[2]));
  if (adds || alpha != 1.0) a = widened(c, a), b = widened(c, b);
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, a, b);
  if (alpha != 1.0) y = wk_make_mul_f(c, y, alpha);
  if (!adds) return wk_onnx_return(c, wk_make_cast(c, y, t));
  wk_value_id bias = widened(c, c->in[2]);
  if (beta != 1.0) bias = wk_make_mul_f(c, bias, beta);
  const wk_type product = *wk_onnx_type(c, y);
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, y, bias);
  wk_onnx_valid(c, !wk_onnx_ok(c) || wk_shape_equal(&product, wk_onnx_type(c, sum)),
                "operand C does not broadcast to the product");
  return wk_onnx_return(c, wk_make_cast(c, sum, t));
}

/* The first axis becomes the last but one. */
static wk_value_id batch_first(wk_onnx_node *c, wk_value_id x) {
  int rank = wk_onnx_type(c, x)->rank;
  if (!wk_onnx_valid(c, rank >= 3, "an operand with its rows first has rank %d", rank))
    return WK_NONE;
  return wk_make_move_axis(c, x, 0, rank - 2);
}

/* com.microsoft FusedMatMul: alpha * op(a) op(b); vectors are not transposed. */
wk_status wk_onnx_fused_matmul(wk_onnx_node *c) {
  wk_value_id a = c->in[0], b = c->in[1];
  double alpha = wk_onnx_float(c, "alpha", 1.0);
  bool matrices[2];
  for (int i = 0; i < 2; i++) matrices[i] = wk_onnx_type(c, c->in[i])->rank > 1;
  if (wk_onnx_int(c, "transBatchA", 0)) a = batch_first(c, a);
  if (wk_onnx_int(c, "transBatchB", 0)) b = batch_first(c, b);
  if (wk_onnx_int(c, "transA", 0) && matrices[0]) a = transpose_last(c, a);
  if (wk_onnx_int(c, "transB", 0) && matrices[1]) b = transpose_last(c, b);
  wk_dtype t = wk_onnx_type(c, a)->dtype;
  if (alpha == 1.0) return wk_onnx_return(c, wk_matmul_emit(c, a, b));
  a = widened(c, a), b = widened(c, b);
  wk_value_id y = wk_make_mul_f(c, wk_matmul_emit(c, a, b), alpha);
  return wk_onnx_return(c, wk_make_cast(c, y, t));
}
