/* SPDX-License-Identifier: Apache-2.0
 * Private to the search: what search.c and improve.c share. */
#ifndef WICK_ACCEL_SEARCH_H
#define WICK_ACCEL_SEARCH_H

#include "targets/accel/compile/compile.h"
#include "targets/accel/compile/ideas.h"

typedef struct {
  const wk_accel_net *net;
  const wk_accel_use *uses;
  const wk_accel_options *o;
  bool *is_tied; /* of each tensor: its writers write the same planes */
  wk_accel_plan plan;
  int guess; /* whose costs have led to the plan: wk_accel_candidate.cost is by it */
  wk_accel_steps *steps; /* of the plan that is judged: its room is used again */
} wk_accel_searching;

typedef struct {
  bool fits;
  double cost; /* cycles, about: of a group, so that those of all can be added up */
  double most; /* the largest of the next line */
  double ex, ve, bus; /* cycles that they are busy */
  int64_t cycles, bytes;
} wk_accel_verdict;

static inline bool wk_accel_leaves_out(const wk_accel_searching *x, unsigned idea) {
  return x->o->without & idea;
}

/* Groups [g0, g1) of a plan, by the schedule model. */
wk_accel_verdict wk_accel_judge(const wk_accel_searching *x, const wk_accel_plan *p, size_t g0,
                                size_t g1);
/* Operators that write the same planes are in one group; so are all writers of what the group
 * reads and writes. */
bool wk_accel_is_group(const wk_accel_searching *x, int first, int last);
/* Strips that make sense: at most one for every row of a result. */
int wk_accel_most_strips(const wk_accel_searching *x, int first, int last);
/* The tensor may stay in the scratchpad until operator `last`: it goes from one group of the plan
 * to a later one. */
bool wk_accel_may_stay(const wk_accel_searching *x, size_t tensor, int last);
/* The group of an operator. */
size_t wk_accel_group_of(const wk_accel_plan *p, int op);

/* Changes x->plan step by step where that makes the whole faster; at most `tries` are judged. */
void wk_accel_improve(wk_accel_searching *x, int tries);

#endif
