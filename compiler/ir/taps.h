/* SPDX-License-Identifier: Apache-2.0
 * taps: elements of windows. Those of a max_pool by their number, row by row, and by their place in
 * x: both expressions are evaluated at the positions [n, c, o...] of the windows. Those of an
 * average that count (compiler/expr/quant.h). */
#ifndef WICK_IR_TAPS_H
#define WICK_IR_TAPS_H

#include "compiler/expr/expr.h"
#include "compiler/ir/ops.h"

typedef struct {
  const wk_ints *kernel, *strides, *pads, *dilations;
  const int64_t *dims; /* [n, c, s...] of x */
  int rank;
} wk_taps;

/* Input 0, a tap of type t, as the i64 place in the flattened x; -1 where that is padding. */
const wk_expr *wk_taps_place(wk_arena *a, const wk_taps *w, wk_dtype t);
/* Input 0, an i64 place in the flattened x that the window has, as its tap of type t. */
const wk_expr *wk_taps_number(wk_arena *a, const wk_taps *w, wk_dtype t);

/* Taps of the window at output o (a position along each spatial axis) that count: those inside of x
 * extended by real_pads. 1 where there are none. */
int64_t wk_pool_count(const wk_attr_integer_avg_pool *p, const wk_type *x, const int64_t *o);

#endif
