/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_ONNX_EXPORT_EXPORT_OPS_H
#define WICK_ONNX_EXPORT_EXPORT_OPS_H

#include "compiler/onnx/export/export.h"

typedef wk_status (*wk_export_fn)(wk_export_graph *x);
/* The function that writes this operator, NULL when a table does. */
wk_export_fn wk_export_function(wk_op op);

/* Loops and branches (export_control.c). */
wk_status wk_export_if(wk_export_graph *x) WK_MUST_CHECK;
wk_status wk_export_loop(wk_export_graph *x) WK_MUST_CHECK;

#endif
