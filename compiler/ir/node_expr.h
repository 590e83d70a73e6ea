/* SPDX-License-Identifier: Apache-2.0
 * Private to this folder: the definition of an elementwise operator as an expression. */
#ifndef WICK_IR_NODE_EXPR_H
#define WICK_IR_NODE_EXPR_H

#include "compiler/ir/ops.h"

/* Instantiates the semantics column of op for inputs of these dtypes and this result dtype. */
wk_status wk_op_expr(wk_op op, const void *attrs, const wk_dtype *dtypes, int n_inputs,
                     wk_dtype out_dtype, wk_arena *a, wk_expr **out) WK_MUST_CHECK;

#endif
