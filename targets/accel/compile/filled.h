/* SPDX-License-Identifier: Apache-2.0
 * filled: how far a mask lets anything through. A cache has a position for each key that there may
 * ever be; what lies behind the keys of a run is masked, by a comparison of positions with a number
 * of the run. */
#ifndef WICK_ACCEL_FILLED_H
#define WICK_ACCEL_FILLED_H

#include "compiler/ir/ir.h"

/* Positions from the greatest element of `bound`, of i64, plus `more` on. */
typedef struct {
  wk_value_id bound;
  int64_t more;
} wk_accel_filled;

/* Elements of v, of i8 or u8, are the least of their type from such a position along the axis on;
 * false: nothing is known. */
bool wk_accel_filled_of(const wk_graph *g, wk_value_id v, int axis, wk_accel_filled *out);

/* The axis of its only operand that axis `axis` of the result of a movement is; -1: it is not that
 * simple. */
int wk_accel_axis_before(const wk_graph *g, const wk_node *n, int axis);

#endif
