/* SPDX-License-Identifier: Apache-2.0
 * Every handler named in onnx_ops.def. */
#ifndef WICK_IMPORT_HANDLERS_H
#define WICK_IMPORT_HANDLERS_H

#include "compiler/import/importer.h"

#define ONNX_OP(domain, name, since, known, min_in, max_in, dtypes, handler, op) \
  wk_status handler(wk_onnx_node *c);
#include "compiler/import/onnx_ops.def"
#undef ONNX_OP
wk_status wk_onnx_own(wk_onnx_node *c); /* any operator of the exporter's domain */

#endif
