/* SPDX-License-Identifier: Apache-2.0
 * caffe2: nets of Caffe2 as a front door to the ONNX importer (rank 3). A net is two files: what is
 * computed (predict_net) and the weights (init_net), each in the wire format or as protobuf text.
 * It is translated to an ONNX model in memory (opset 12), which is then imported like any other.
 *
 * The functions take model files of any form: what is no net goes to the ONNX importer. */
#ifndef WICK_CAFFE2_H
#define WICK_CAFFE2_H

#include "compiler/onnx/onnx.h"

/* As wk_import_onnx. Of a net, operators without meaning here are reported all together.
 * report->hash, when it is asked for, is XXH3-64 of the model in the wire format: of an ONNX file
 * as it is, of protobuf text of what it says, of a net of the ONNX model that it becomes. Weights
 * of a net count, external data of an ONNX model does not. */
wk_status wk_net_import(const char *path, const wk_import_options *o, wk_import_report *report,
                        wk_module **out) WK_MUST_CHECK;
/* As wk_onnx_inspect. Blobs of a net that nobody makes are inputs, with and without shape. Of the
 * options, init_net and value_info are read; o may be NULL. */
wk_status wk_net_inspect(const char *path, const wk_import_options *o,
                         wk_onnx_info *out) WK_MUST_CHECK;
/* What a model file is, by its contents; of what is none of these, ONNX says why. */
typedef enum { WK_MODEL_ONNX, WK_MODEL_TEXT, WK_MODEL_NET } wk_model_kind;
wk_status wk_model_kind_of(const char *path, wk_model_kind *out) WK_MUST_CHECK;

/* The operators of the table, sorted by name. */
typedef struct {
  const char *type;
  const char *as;     /* "Conv", "an initialiser": what it becomes, or the body of a function */
  const char *reason; /* why it is refused; NULL: it is not */
  bool is_function;   /* `as` is a body, in the notation of body.c */
  bool is_int8;       /* `as` is the operator of Caffe2 whose 8-bit form it is */
} wk_caffe2_op;
size_t wk_caffe2_op_count(void);
wk_caffe2_op wk_caffe2_op_get(size_t i);

#endif
