/* SPDX-License-Identifier: Apache-2.0
 * onnxruntime's quantised operators (com.microsoft): real operator between a dequantisation of
 * every operand and a quantisation of the result. Products are summed in i32 as in
 * QLinearMatMul. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/quant.h"
#include "compiler/onnx/import/window.h"

/* Operand with scale and zero point in the next two inputs. */
static wk_value_id real_input(wk_onnx_node *c, int i) {
  wk_value_id zero = wk_onnx_has(c, i + 2) ? c->in[i + 2] : WK_NONE;
  return wk_quant_dequantize(c, c->in[i], c->in[i + 1], zero);
}

/* The result from its scale and zero point in inputs i and i + 1. */
static wk_status quantized(wk_onnx_node *c, wk_value_id y, int i) {
  wk_value_id zero = wk_onnx_has(c, i + 1) ? c->in[i + 1] : WK_NONE;
  return wk_onnx_return(c,
                        wk_quant_quantize(c, y, c->in[i], zero, wk_onnx_type(c, c->in[0])->dtype));
}

/* QLinearAdd, QLinearMul: a, b, then the parameters of y. */
wk_status wk_onnx_qlinear_binary(wk_onnx_node *c) {
  wk_value_id y = wk_make_2(c, c->row->op, real_input(c, 0), real_input(c, 3));
  return quantized(c, y, 6);
}

wk_status wk_onnx_qlinear_sigmoid(wk_onnx_node *c) {
  return quantized(c, wk_make_1(c, WK_OP_SIGMOID, real_input(c, 0)), 3);
}

wk_status wk_onnx_qlinear_leaky_relu(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, LEAKY_RELU, leaky_relu);
  a->alpha = wk_onnx_float(c, "alpha", 0.01f);
  return quantized(c, wk_make(c, WK_OP_LEAKY_RELU, a, 1, real_input(c, 0)), 3);
}

wk_status wk_onnx_qlinear_global_average(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_onnx_valid(c, rank >= 3, "the input has rank %d", rank);
  bool last = wk_onnx_int(c, "channels_last", 0) != 0;
  wk_ints axes = last ? wk_make_axes(c, 1, rank - 1) : wk_make_axes(c, 2, rank);
  return quantized(c, wk_make_reduce(c, WK_OP_REDUCE_MEAN, real_input(c, 0), axes, true), 3);
}

wk_status wk_onnx_qlinear_average_pool(wk_onnx_node *c) {
  bool last = wk_onnx_int(c, "channels_last", 0) != 0;
  wk_value_id x = real_input(c, 0);
  x = wk_window_average(c, last ? wk_make_channels_first(c, x) : x);
  return quantized(c, last ? wk_make_channels_last(c, x) : x, 3);
}

/* QLinearSoftmax: attribute `opset` says which Softmax is meant. */
wk_status wk_onnx_qlinear_softmax(wk_onnx_node *c) {
  wk_value_id y = wk_make_softmax(c, WK_OP_SOFTMAX, real_input(c, 0), wk_onnx_int(c, "opset", 13));
  return quantized(c, y, 3);
}

/* QLinearWhere: a condition, then x, y and the parameters of the result. */
wk_status wk_onnx_qlinear_where(wk_onnx_node *c) {
  wk_dtype t = wk_onnx_type(c, c->in[1])->dtype;
  wk_value_id y = wk_make_where(c, c->in[0], real_input(c, 1), real_input(c, 4));
  return wk_onnx_return(c, wk_quant_quantize(c, y, c->in[7], c->in[8], t));
}

/* QLinearConcat: scale and zero point of y, then triples. */
wk_status wk_onnx_qlinear_concat(wk_onnx_node *c) {
  int n = (c->n_in - 2) / 3;
  if (!wk_onnx_valid(c, (c->n_in - 2) % 3 == 0 && n > 0, "%d inputs do not fit this operator",
                     c->n_in))
    return c->status;
  wk_value_id *parts = wk_arena_alloc(c->im->arena, (size_t)n * sizeof *parts);
  for (int i = 0; i < n; i++) parts[i] = real_input(c, 2 + 3 * i);
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), wk_onnx_type(c, parts[0])->rank);
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id y = wk_make_concat(c, parts, n, axis);
  return wk_onnx_return(
      c, wk_quant_quantize(c, y, c->in[0], c->in[1], wk_onnx_type(c, c->in[1])->dtype));
}

static wk_value_id transposed(wk_onnx_node *c, wk_value_id x, const char *flag) {
  wk_onnx_valid(c, wk_onnx_type(c, x)->rank == 2, "an operand is not a matrix");
  return wk_onnx_int(c, flag, 0) && wk_onnx_ok(c) ? wk_make_move_axis(c, x, 1, 0) : x;
}

/* Columns of the product: a scalar or [n] as it is. */
static wk_value_id flat(wk_onnx_node *c, wk_value_id v) {
  int64_t n = wk_type_count(wk_onnx_type(c, v));
  return wk_make_reshape(c, v, n == 1 ? 0 : 1, &n);
}

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, BIAS, Y_SCALE, Y_ZERO };

/* The real product between dequantisations and the quantisation, if any. */
static wk_status real_gemm(wk_onnx_node *c) {
  wk_value_id sa = flat(c, c->in[A_SCALE]), sb = flat(c, c->in[B_SCALE]);
  wk_value_id a = transposed(c, c->in[A], "transA"), b = transposed(c, c->in[B], "transB");
  a = wk_quant_dequantize(c, a, sa, flat(c, c->in[A_ZERO]));
  b = wk_quant_dequantize(c, b, sb, flat(c, c->in[B_ZERO]));
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, a, b);
  if (wk_onnx_has(c, BIAS)) y = wk_make_2(c, WK_OP_ADD, y, wk_quant_bias(c, c->in[BIAS], sa, sb));
  return wk_onnx_has(c, Y_SCALE) ? quantized(c, y, Y_SCALE) : wk_onnx_return(c, y);
}

/* QGemm: alpha * a b + bias (i32, scaled by alpha * scale_a * scale_b); real without scale of y. */
wk_status wk_onnx_qgemm(wk_onnx_node *c) {
  static const int fixed[] = {A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, BIAS, Y_SCALE, Y_ZERO};
  if (wk_onnx_float(c, "alpha", 1.0) == 1.0 && wk_quant_is_fixed(c, fixed, WK_COUNTOF(fixed)))
    return real_gemm(c);
  wk_value_id a = wk_quant_centred(c, transposed(c, c->in[A], "transA"), flat(c, c->in[A_ZERO]));
  wk_value_id b = transposed(c, c->in[B], "transB");
  b = wk_quant_centred(c, b, flat(c, c->in[B_ZERO]));
  wk_value_id sum = wk_make_2(c, WK_OP_MATMUL, a, b);
  if (wk_onnx_has(c, BIAS)) sum = wk_make_2(c, WK_OP_ADD, sum, c->in[BIAS]);
  wk_value_id scale = wk_make_2(c, WK_OP_MUL, flat(c, c->in[A_SCALE]), flat(c, c->in[B_SCALE]));
  double alpha = wk_onnx_float(c, "alpha", 1.0);
  if (alpha != 1.0) scale = wk_make_mul_f(c, scale, alpha);
  if (!wk_onnx_has(c, Y_SCALE)) {
    return wk_onnx_return(c, wk_make_2(c, WK_OP_MUL, wk_make_cast(c, sum, WK_F32), scale));
  }
  scale = wk_make_2(c, WK_OP_DIV, scale, flat(c, c->in[Y_SCALE]));
  wk_value_id y = wk_make_2(c, WK_OP_MUL, wk_make_cast(c, sum, WK_F32), scale);
  wk_value_id zero = wk_onnx_has(c, Y_ZERO) ? c->in[Y_ZERO] : WK_NONE;
  wk_dtype t = wk_onnx_type(c, zero == WK_NONE ? c->in[A] : zero)->dtype;
  return wk_onnx_return(c, wk_quant_quantize(c, y, wk_make_scalar(c, WK_F32, 1), zero, t));
}
