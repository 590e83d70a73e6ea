/* SPDX-License-Identifier: Apache-2.0
 * explain: `--explain LAYER`, the groups that the search has considered for a layer's operators and
 * what they were judged by. */
#ifndef WICK_STREAM_EXPLAIN_H
#define WICK_STREAM_EXPLAIN_H

#include "compiler/stream/machine.h"

typedef struct {
  wk_sched_group group;
  bool fits;             /* into the scratchpad; otherwise nothing of the rest is known */
  int64_t cycles, bytes; /* of the group alone, by the schedule model */
  int64_t busy[WK_SCHED_QUEUES], bus; /* cycles that engines and the memory are busy */
  double most;           /* the largest of these */
  double cost;           /* what the search adds up */
} wk_sched_candidate;

typedef struct {
  const char *layer;
  bool is_found; /* in one of the parts */
  wk_str text;   /* of all parts so far */
  WK_VEC(wk_sched_candidate) list; /* of one part, as considered */
  int64_t single, grouped; /* cycles of the part operator by operator, and in the groups with the
                              least total (INT64_MAX: they do not fit), where the former
                              were taken; 0: they were not */
  struct {
    char options[64];      /* that the plan was found with, where they are others than those asked
                              for; else "" */
    int64_t cycles, asked; /* that both take on the timing model; asked < 0: those do not fit */
  } instead;               /* of one part */
} wk_sched_explain;

/* Adds to the text what stands in the list about the layer, if the part has it, and which groups
 * the plan has; then the list is empty. */
void wk_sched_explain_text(wk_sched_explain *x, const wk_sched_net *net, const wk_sched_plan *p);

#endif
