/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_ONNX_IMPORT_QUANT_H
#define WICK_ONNX_IMPORT_QUANT_H

#include "compiler/onnx/import/make.h"

/* Affine quantisation with scales and zero points that broadcast against x; zero may be WK_NONE. */
wk_value_id wk_quant_quantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale, wk_value_id zero,
                              wk_dtype t);
wk_value_id wk_quant_dequantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale,
                                wk_value_id zero);
/* v with each entry repeated `block` times along the axis, cut to `size`: scales of blocks. */
wk_value_id wk_quant_spread(wk_onnx_node *c, wk_value_id v, int64_t axis, int64_t block,
                            int64_t size);
/* x (f32) as u8 with the scale and zero point that its range asks for, 0 included. */
typedef struct { wk_value_id q, scale, zero; } wk_dynamic;
wk_dynamic wk_quant_dynamic(wk_onnx_node *c, wk_value_id x);
/* WK_NONE in place of zero points that are constant and 0. */
wk_value_id wk_quant_unless_zero(wk_onnx_node *c, wk_value_id v);
/* These inputs are constants or left out. */
bool wk_quant_is_fixed(const wk_onnx_node *c, const int *inputs, int n);
/* The bias of integer sums as a real tensor, from the scales of the factors. */
wk_value_id wk_quant_bias(wk_onnx_node *c, wk_value_id bias, wk_value_id sx, wk_value_id sw);
/* The product of integers (numpy's matmul, matrices) times the scales, then the bias: f32. Scales
 * and zero points are scalars, of rows (a) or columns (b); zero points and bias may be WK_NONE. */
wk_value_id wk_quant_product(wk_onnx_node *c, wk_value_id a, wk_value_id za, wk_value_id sa,
                             wk_value_id b, wk_value_id zb, wk_value_id sb, wk_value_id bias);
/* x - zero in i32. */
wk_value_id wk_quant_centred(wk_onnx_node *c, wk_value_id x, wk_value_id zero);

#endif
