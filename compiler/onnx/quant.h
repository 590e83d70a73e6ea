/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_ONNX_QUANT_H
#define WICK_ONNX_QUANT_H

#include "compiler/onnx/make.h"

/* Affine quantisation with scales and zero points that broadcast against x; zero may be WK_NONE. */
wk_value_id wk_quant_quantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale, wk_value_id zero,
                              wk_dtype t);
wk_value_id wk_quant_dequantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale,
                                wk_value_id zero);
/* These inputs are constants or left out. */
bool wk_quant_is_fixed(const wk_onnx_node *c, const int *inputs, int n);
/* The bias of integer sums as a real tensor, from the scales of the factors. */
wk_value_id wk_quant_bias(wk_onnx_node *c, wk_value_id bias, wk_value_id sx, wk_value_id sw);
/* x - zero in i32. */
wk_value_id wk_quant_centred(wk_onnx_node *c, wk_value_id x, wk_value_id zero);

#endif
