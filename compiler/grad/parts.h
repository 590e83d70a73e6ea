/* SPDX-License-Identifier: Apache-2.0
 * Private to grad/: adjoints of values, a part from each node that reads them. They are added up
 * when all are there, in the order in which they were given; what the slices of a value got is
 * joined. */
#ifndef WICK_GRAD_PARTS_H
#define WICK_GRAD_PARTS_H

#include "compiler/lower/build.h"

typedef struct {
  wk_value_id value;
  uint32_t next; /* the part given before; WK_NONE */
} wk_adjoint_part;

typedef struct {
  WK_VEC(uint32_t) last; /* of values: their last part; WK_NONE: the adjoint is 0 so far */
  WK_VEC(wk_adjoint_part) parts;
} wk_adjoints;

/* part has the type of v. */
void wk_adjoints_give(wk_adjoints *p, wk_value_id v, wk_value_id part);
/* What `from` has been given is `to`'s. */
void wk_adjoints_move(wk_adjoints *p, wk_value_id from, wk_value_id to);
/* Parts that are `from` are `to`. */
void wk_adjoints_replace(wk_adjoints *p, wk_value_id from, wk_value_id to);
/* *out: the adjoint of v, which is one part from then on; WK_NONE: 0. name: of the node that made
 * it, or its own, for those that add up. */
wk_status wk_adjoints_sum(wk_adjoints *p, wk_graph *g, const char *name, wk_value_id v,
                          wk_value_id *out) WK_MUST_CHECK;
void wk_adjoints_free(wk_adjoints *p);

#endif
