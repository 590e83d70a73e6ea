/* SPDX-License-Identifier: Apache-2.0
 * demand_masks: what the graph says of positions where values are true, or all the same. Private to
 * demand*.c. */
#ifndef WICK_LOWER_DEMAND_MASKS_H
#define WICK_LOWER_DEMAND_MASKS_H

#include "compiler/expr/expr.h"
#include "compiler/ir/axes.h"

/* A value of booleans that is true at most at positions below a size along one axis, or where a
 * predicate is true along `span` axes. */
typedef struct {
  int axis; /* -1: it is none */
  wk_value_id size;
  int span; /* 0: of a size */
} wk_mask;

/* From a size on a value has the same number everywhere. */
typedef struct {
  wk_value_id size; /* WK_NONE: that is not known */
  wk_scalar number; /* of the value's type */
} wk_rest;

/* Per value; rests and folds per axis, too. */
typedef struct {
  const wk_graph *g;
  wk_mask *masks;
  wk_rest (*rests)[WK_MAX_RANK];
  wk_value_id (*folds)[WK_MAX_RANK]; /* of a reduce: from where on nothing changes what it makes */
} wk_masks;

wk_masks wk_masks_find(const wk_graph *g, wk_arena *a);
/* Node k of a map's expression as a mask of the result, whose rank is `rank`. */
wk_mask wk_mask_in(const wk_masks *d, const wk_node *n, const wk_expr *e, uint16_t k, int rank);
/* A number that is there as long as a run lasts: not what a variable had before. */
bool wk_is_size(const wk_masks *d, wk_value_id v);

#endif
