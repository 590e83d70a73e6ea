/* SPDX-License-Identifier: Apache-2.0
 * explain: `--explain LAYER`, the groups that the search has considered for a layer's operators and
 * what they were judged by. */
#ifndef WICK_ACCEL_EXPLAIN_H
#define WICK_ACCEL_EXPLAIN_H

#include "targets/accel/compile/plan.h"

typedef struct {
  wk_accel_group group;
  bool fits;             /* into the scratchpad; otherwise nothing of the rest is known */
  int64_t cycles, bytes; /* of the group alone, by the schedule model */
  int64_t ex, ve, bus;   /* cycles that the array, the vector unit and the memory are busy */
  double most;           /* the largest of these */
  double cost;           /* what the search adds up */
} wk_accel_candidate;

typedef struct {
  const char *layer;
  bool is_found; /* in one of the parts */
  wk_str text;   /* of all parts so far */
  WK_VEC(wk_accel_candidate) list; /* of one part, as considered */
  int64_t single, grouped; /* cycles of the part operator by operator, and in the groups with the
                              least total (INT64_MAX: they do not fit), where the former
                              were taken; 0: they were not */
} wk_accel_explain;

/* Adds to the text what stands in the list about the layer, if the part has it, and which groups
 * the plan has; then the list is empty. */
void wk_accel_explain_text(wk_accel_explain *x, const wk_accel_net *net, const wk_accel_plan *p);

#endif
