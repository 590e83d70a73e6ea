/* SPDX-License-Identifier: Apache-2.0
 * Every handler named in import_ops.def. */
#ifndef WICK_ONNX_IMPORT_HANDLERS_H
#define WICK_ONNX_IMPORT_HANDLERS_H

#include "compiler/onnx/import/importer.h"

#define ONNX_OP(domain, name, since, known, min_in, max_in, dtypes, handler, op) \
  wk_status handler(wk_onnx_node *c);
#include "compiler/onnx/import/import_ops.def"
#undef ONNX_OP
/* What NonMaxSuppression keeps, with room for every box: rows of -1 behind those that are
 * filled. */
wk_value_id wk_onnx_kept_boxes(wk_onnx_node *c);
/* Dropout of a step of training, by the step's key. */
wk_status wk_onnx_dropout_step(wk_onnx_node *c);
wk_status wk_onnx_own(wk_onnx_node *c); /* any operator of the exporter's domain */
wk_status wk_onnx_custom(wk_onnx_node *c); /* any operator of a plugin */

#endif
