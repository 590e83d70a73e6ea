/* SPDX-License-Identifier: Apache-2.0
 * Private to this folder: conversion to narrow types (types.h). */
#ifndef WICK_ONNX_IMPORT_NARROW_H
#define WICK_ONNX_IMPORT_NARROW_H

#include "compiler/onnx/import/importer.h"

/* x / scale + zero as a narrow float, and (x - zero) * scale (f32) of one. Zero may be WK_NONE. */
wk_value_id wk_narrow_quantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale, wk_value_id zero,
                               wk_dtype t, bool saturates);
wk_value_id wk_narrow_dequantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale,
                                 wk_value_id zero);

/* Bytes as the `per` values in each of them, along a last axis of their own; those of the low bits
 * come first unless high_first. */
wk_value_id wk_narrow_apart(wk_onnx_node *c, wk_value_id x, int per, bool high_first);
/* Bytes below 16, an even number along the last axis, two to a byte: the first in the low bits. */
wk_value_id wk_narrow_pack(wk_onnx_node *c, wk_value_id x);

#endif
