/* SPDX-License-Identifier: Apache-2.0
 * wire: from bytes to protobuf-c messages, with budgets that hold before anything is unpacked. */
#ifndef WICK_ONNX_WIRE_WIRE_H
#define WICK_ONNX_WIRE_WIRE_H

#include "compiler/onnx/onnx.h"
#include "onnx.pb-c.h"

/* Levels of messages within messages: 64 nested subgraphs at 3 levels each, and the rest. */
#define WK_WIRE_MAX_DEPTH 200
#define WK_GRAPH_MAX_DEPTH 64

/* Unpacks data[0..n) as a message of type d into the arena (nothing is freed singly). raw_data of
 * tensors is not copied: wk_wire_raw gives the bytes inside `data`, which must outlive their use.
 * WK_INPUT when the bytes are no such message, WK_RESOURCE past a budget. */
wk_status wk_wire_unpack(const ProtobufCMessageDescriptor *d, const uint8_t *data, size_t n,
                         wk_arena *arena, ProtobufCMessage **out) WK_MUST_CHECK;
/* The fields of the outermost message alone, which a model has few of: false when no program would
 * write them so (wrong wire types, lengths past the end, a single field that is repeated, numbers
 * beyond those of the format). Contents are not looked at. */
bool wk_wire_is_plausible(const ProtobufCMessageDescriptor *d, const uint8_t *data, size_t n);
/* The raw_data of a tensor, unpacked by wk_wire_unpack or made in memory; false: it has none. */
bool wk_wire_raw(const Onnx__TensorProto *t, const uint8_t **data, size_t *n);

/* The number at *p, which is moved past it; false: there is none before `end`. */
bool wk_wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out);

#endif
