/* SPDX-License-Identifier: Apache-2.0
 * resize: what an element of a resized axis reads (ONNX Resize, coordinate_transformation_mode). */
#ifndef WICK_IR_RESIZE_H
#define WICK_IR_RESIZE_H

#include "compiler/ir/ops.h"

enum { WK_RESIZE_TAPS = 4 };

typedef struct {
  int64_t in, out;
  double scale, start, end; /* roi of tf_crop_and_resize, in units of the input's length */
  const wk_attr_resize *a;
} wk_resize_axis;

wk_resize_axis wk_resize_axis_of(const wk_attr_resize *a, const wk_type *x, int axis);
/* False: elements stay where they are. */
bool wk_resize_changes(const wk_resize_axis *m);
/* Where element i of the result lies in the input. */
double wk_resize_coordinate(const wk_resize_axis *m, int64_t i);
/* Elements *first, *first + 1, … of the input, maybe outside of it, and their weights, for a result
 * at coordinate x: one for nearest, two for linear, four for cubic. Returns how many. */
int wk_resize_taps(const wk_resize_axis *m, double x, int64_t *first, double w[WK_RESIZE_TAPS]);

#endif
