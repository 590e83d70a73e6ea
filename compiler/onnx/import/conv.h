/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_ONNX_IMPORT_CONV_H
#define WICK_ONNX_IMPORT_CONV_H

#include "compiler/onnx/import/make.h"

/* A convolution of x by w (and bias b or WK_NONE) with the attributes of this Conv-like node. */
wk_value_id wk_conv_emit(wk_onnx_node *c, wk_value_id x, wk_value_id w, wk_value_id b);

#endif
