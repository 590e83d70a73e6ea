/* SPDX-License-Identifier: Apache-2.0
 * net: NetDef files. */
#ifndef WICK_CAFFE2_NET_H
#define WICK_CAFFE2_NET_H

#include "caffe2.pb-c.h"
#include "compiler/caffe2/caffe2.h"
#include "compiler/onnx/import/source.h"

typedef struct {
  wk_arena *arena; /* owns the messages */
  const Caffe2__NetDef *def;
  size_t size;     /* of the file, in the wire format */
} wk_net;

/* True when the file holds a NetDef, by its contents. */
wk_status wk_net_is_net(const char *path, bool *out) WK_MUST_CHECK;
wk_status wk_net_read(const char *path, wk_net *out) WK_MUST_CHECK;
void wk_net_free(wk_net *n);

/* Shapes of inputs from a JSON file, {"data": [1, [1, 3, 224, 224]]}: TensorProto.DataType of ONNX,
 * then the sizes. In the order of the file. */
typedef struct {
  const char *name;
  int32_t elem_type;
  int rank;
  int64_t dims[WK_MAX_RANK];
} wk_value_info;
typedef WK_VEC(wk_value_info) wk_value_infos;
wk_status wk_value_info_read(const char *path, wk_arena *a, wk_value_infos *out) WK_MUST_CHECK;

#endif
