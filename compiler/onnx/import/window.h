/* SPDX-License-Identifier: Apache-2.0
 * window: strides, dilations and padding of convolutions and pools, made explicit. */
#ifndef WICK_ONNX_IMPORT_WINDOW_H
#define WICK_ONNX_IMPORT_WINDOW_H

#include "compiler/onnx/import/make.h"

typedef struct {
  int n; /* spatial axes */
  int64_t in[WK_MAX_RANK], kernel[WK_MAX_RANK], stride[WK_MAX_RANK], dilation[WK_MAX_RANK];
  int64_t begin[WK_MAX_RANK], end[WK_MAX_RANK];           /* padding */
  int64_t real_begin[WK_MAX_RANK], real_end[WK_MAX_RANK]; /* without what ceil_mode added */
} wk_window;

/* Reads attributes for an input x of this type. kernel: sizes when they follow from the weights,
 * NULL to read kernel_shape. Resolves auto_pad and ceil_mode. False after an error. */
bool wk_window_read(wk_onnx_node *c, const wk_type *x, const int64_t *kernel, wk_window *w);
/* As above without padding (transposed convolution has its own rule). */
bool wk_window_read_steps(wk_onnx_node *c, const wk_type *x, const int64_t *kernel, wk_window *w);
/* The explicit `pads` attribute into begin and end. */
bool wk_window_read_pads(wk_onnx_node *c, wk_window *w);
/* Attribute lists. */
wk_ints wk_window_strides(wk_onnx_node *c, const wk_window *w);
wk_ints wk_window_dilations(wk_onnx_node *c, const wk_window *w);
wk_ints wk_window_kernel(wk_onnx_node *c, const wk_window *w);
wk_ints wk_window_pads(wk_onnx_node *c, const wk_window *w); /* all begins, then all ends */
/* AveragePool by the node's attributes. */
wk_value_id wk_window_average(wk_onnx_node *c, wk_value_id x);

#endif
