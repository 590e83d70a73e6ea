/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_ONNX_IMPORT_MATMUL_H
#define WICK_ONNX_IMPORT_MATMUL_H

#include "compiler/onnx/import/make.h"

/* False, with an error, when the operands of a product are floats of two types: ONNX has one. */
bool wk_matmul_same_floats(wk_onnx_node *c, wk_value_id a, wk_value_id b);
/* numpy's matmul, ranks of at least 1. */
wk_value_id wk_matmul_emit(wk_onnx_node *c, wk_value_id a, wk_value_id b);

#endif
