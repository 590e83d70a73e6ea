/* SPDX-License-Identifier: Apache-2.0
 * Multipliers and shifts of sums that become 8-bit integers again. */
#ifndef WICK_TESTS_PROGRAM_REQUANT_H
#define WICK_TESTS_PROGRAM_REQUANT_H

#include "tests/unit/program_build.h"

/* A constant of n random numbers between lo and hi. */
static inline wk_view range_constant(wk_program *p, wk_dtype t, int64_t n, int64_t lo, int64_t hi) {
  wk_view v = CONST(p, t, n);
  wk_rng rng = {99 + p->buffers.n};
  void *data = (void *)(uintptr_t)p->buffers.data[v.buffer].data;
  for (int64_t i = 0; i < n; i++) wk_store_i64(data, t, i, wk_rng_range(&rng, lo, hi));
  return v;
}

/* A vector along an axis of y. */
static inline wk_view along(wk_view v, const wk_view *y, int axis) {
  wk_view w = *y;
  memset(w.strides, 0, sizeof w.strides);
  w.strides[axis] = v.strides[0];
  w.buffer = v.buffer, w.dtype = v.dtype, w.offset = v.offset, w.role = WK_ROLE_IN;
  return w;
}

static inline wk_view multipliers(wk_program *p, const wk_view *y, int axis) {
  wk_view m = range_constant(p, WK_I32, y->dims[axis], INT64_C(1) << 30, INT32_MAX);
  *(int32_t *)(uintptr_t)p->buffers.data[m.buffer].data = 1 << 30; /* one that meets halves */
  return along(m, y, axis);
}

static inline wk_view shifts(wk_program *p, const wk_view *y, int axis, int64_t lo, int64_t hi) {
  return along(range_constant(p, WK_I64, y->dims[axis], lo, hi), y, axis);
}

#define PER_CHANNEL "sat<u8>(add(shr_round(mul(i64(%0), i64(%1)), %2), 128i64))"
static const wk_dtype per_channel_types[] = {WK_I32, WK_I32, WK_I64};

#endif
