/* SPDX-License-Identifier: Apache-2.0
 * Docs/ops.md, from the tables. */
#ifndef WICK_CLI_OPS_PAGE_H
#define WICK_CLI_OPS_PAGE_H

#include "compiler/onnx/onnx.h"

/* "7-28" */
void wk_ops_add_opsets(wk_str *b, const wk_onnx_op *op);
/* "f32 f16", of a bit per wk_dtype; "-": none */
void wk_ops_add_types(wk_str *b, uint32_t bits);
/* The page, on standard output. */
void wk_ops_page(void);

#endif
