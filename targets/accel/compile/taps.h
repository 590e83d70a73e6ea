/* SPDX-License-Identifier: Apache-2.0
 * taps: the windows of an operator along an axis. Result i reads elements i * stride - pad +
 * k * dilation of `in`, k < taps, as far as these exist. */
#ifndef WICK_ACCEL_COMPILE_TAPS_H
#define WICK_ACCEL_COMPILE_TAPS_H

#include "targets/accel/compile/net.h"

typedef struct {
  int64_t in, out, taps, stride, dilation, pad;
} wk_accel_taps;

static inline wk_accel_taps wk_accel_taps_of_rows(const wk_accel_op *op) {
  return (wk_accel_taps){op->a.h, op->out.h, op->ky, op->sy, op->dy, op->pad_t};
}
static inline wk_accel_taps wk_accel_taps_of_columns(const wk_accel_op *op) {
  return (wk_accel_taps){op->a.w, op->out.w, op->kx, op->sx, op->dx, op->pad_l};
}

/* How many taps of results read element `at`. */
static inline int64_t wk_accel_taps_on(const wk_accel_taps *w, int64_t at) {
  int64_t n = 0;
  for (int64_t k = 0; k < w->taps; k++) {
    int64_t i = at + w->pad - k * w->dilation;
    n += i >= 0 && i % w->stride == 0 && i / w->stride < w->out;
  }
  return n;
}

#endif
