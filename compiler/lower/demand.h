/* SPDX-License-Identifier: Apache-2.0
 * demand: which elements of values somebody needs, where sizes are open (wk_open_axis) or selects
 * choose by predicates, values of booleans along one axis or several. Of an output nobody needs
 * what lies beyond its size; a select by positions below a size needs its operand below that, one
 * by a predicate where that is true; what is computed element by element, row by row or for each of
 * a batch needs of its operands what is needed of its results; a slice that a loop scans is needed
 * where a slice of a predicate is that it scans as well. Private to lower/. */
#ifndef WICK_LOWER_DEMAND_H
#define WICK_LOWER_DEMAND_H

#include "compiler/ir/graph.h"

/* Along an axis: WK_NONE, all; else those below this value, a size: one i64 that is no constant; or
 * those where it is true, a predicate, which goes along `span` axes from this one on, or along this
 * one and `second`, which may lie behind others.
 * While it is found out there are two more: nobody has asked yet, and the first few, so many. */
typedef struct {
  wk_value_id below[WK_MAX_RANK];
  int64_t few[WK_MAX_RANK];
  int span[WK_MAX_RANK];   /* 0 where there is no predicate */
  int second[WK_MAX_RANK]; /* where span is 2 */
} wk_need;

/* zero: the size from which on the value is zero along an axis; WK_NONE: none is known. fold: the
 * size from which on, along an axis of its operands, nothing changes what a reduce makes. */
typedef struct {
  wk_need need;
  wk_value_id zero[WK_MAX_RANK], fold[WK_MAX_RANK];
} wk_demand;

/* Per value; NULL where all of all is needed. */
wk_demand *wk_demand_find(const wk_graph *g, wk_arena *a);
/* A value of `below` is a predicate and no size. */
bool wk_is_predicate(const wk_graph *g, wk_value_id v);

#endif
