/* SPDX-License-Identifier: Apache-2.0
 * axes: where an axis of a tensor comes from, and positions along one. */
#ifndef WICK_IR_AXES_H
#define WICK_IR_AXES_H

#include "compiler/ir/graph.h"

/* The axis of y, a reshape of x, that has the positions of axis i of x, as many before and behind
 * it; -1: none. */
int wk_same_axis(const wk_type *x, const wk_type *y, int i);
/* The axis along which a constant counts 0, 1 …, the same at all other positions; -1: none. */
int wk_counting_axis(const wk_graph *g, wk_value_id v);

#endif
