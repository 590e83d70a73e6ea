/* SPDX-License-Identifier: Apache-2.0
 * message: parts of ONNX messages, for all who write them (the exporter, front doors of other
 * formats). Everything is allocated in the arena. */
#ifndef WICK_ONNX_WIRE_MESSAGE_H
#define WICK_ONNX_WIRE_MESSAGE_H

#include "compiler/onnx/wire/wire.h"

/* A new attribute of the node, without value. */
Onnx__AttributeProto *wk_message_attribute(wk_arena *a, Onnx__NodeProto *n, const char *name,
                                           Onnx__AttributeProto__AttributeType type);
/* A tensor without shape; elem_type 0: without type as well. */
Onnx__ValueInfoProto *wk_message_value(wk_arena *a, const char *name, int32_t elem_type);
/* Gives a typed value its shape. */
void wk_message_shape(wk_arena *a, Onnx__ValueInfoProto *v, int rank, const int64_t *dims);

#endif
