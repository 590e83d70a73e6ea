/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WICK_QUANTIZE_WEIGHTS_H
#define WICK_QUANTIZE_WEIGHTS_H

#include "compiler/quantize/quantize.h"

/* A constant f32 tensor as outer × channels × inner; one channel means one scale for all. */
typedef struct {
  const float *data;
  int64_t outer, channels, inner;
} wk_weight_view;
wk_weight_view wk_weight_view_of(const wk_value *v, int axis); /* axis -1: one channel */

/* Symmetric i8 with numbers in -127..127 and zero point 0. Scales are at least floors[c] (may be
 * NULL). scale has an entry for each channel. */
void wk_weights_quantise(const wk_weight_view *w, const double *floors, wk_range_method method,
                         float *scale, int8_t *out);

/* Output channel axis of the weights of a layer that leads; -1 when one scale has to do. */
int wk_weight_axis(const wk_graph *g, const wk_node *n);

#endif
