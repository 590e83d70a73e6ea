/* SPDX-License-Identifier: Apache-2.0
 * taps: elements of a max_pool's windows by their number, row by row, and by their place in x. Both
 * expressions are evaluated at the positions [n, c, o...] of the windows. */
#ifndef WICK_IR_TAPS_H
#define WICK_IR_TAPS_H

#include "compiler/ir/expr.h"
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

#endif
