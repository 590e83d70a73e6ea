/* SPDX-License-Identifier: Apache-2.0
 * ideas: what --without leaves out of plans and schedules, to see what it is worth. What is
 * computed stays the same. */
#ifndef WICK_STREAM_IDEAS_H
#define WICK_STREAM_IDEAS_H

#include "compiler/stream/steps.h"

/* X(ENUMERATOR, NAME) */
#define WK_SCHED_IDEAS(X)                                                                  \
  X(EARLY_ISSUE, "early-issue") /* loads more than a tile ahead of what is computed */     \
  X(CROSS_LAYER, "cross-layer") /* loads for a group before the one before it has ended */ \
  X(RESIDENCY, "residency")     /* tensors that stay from group to group */                \
  X(FUSION, "fusion")           /* groups of several operators */                          \
  X(STAGGER, "stagger")         /* stages of a group that overlap in time */               \
  X(STACKS, "stacks")           /* some stacks after the others: of a batch, heads */      \
  X(LOCAL_SEARCH, "local-search")

enum {
#define X(enumerator, name) WK_SCHED_NUMBER_OF_##enumerator,
  WK_SCHED_IDEAS(X)
#undef X
};

/* Sets of them are unions. */
enum {
#define X(enumerator, name) WK_SCHED_##enumerator = 1 << WK_SCHED_NUMBER_OF_##enumerator,
  WK_SCHED_IDEAS(X)
#undef X
};

/* A set from names with commas between them. WK_USAGE: one of them is none. */
wk_status wk_sched_ideas_read(const char *text, unsigned *out) WK_MUST_CHECK;

extern const char *const wk_sched_idea_names[];

/* Adds what loads wait for, in the steps' needs, where EARLY_ISSUE or CROSS_LAYER is left out. A
 * tile is a run of loads with all steps up to the next load behind a command that computes. Without
 * early issue, loads of a tile wait until all that the tile before the last one computes has
 * retired: two buffers, one that is computed with and one that is loaded. Without crossing layers,
 * loads of a group wait for all steps of the groups before. */
void wk_sched_hold_loads(wk_sched_steps *s, const wk_sched_queues *q, unsigned without);

#endif
