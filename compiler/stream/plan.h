/* SPDX-License-Identifier: Apache-2.0
 * plan: what a schedule decides before commands exist. Operators are computed in their order, in
 * groups; a group goes through its tensors in strips of rows, each operator computing the rows that
 * the next ones need, so that what is made and used within a group never exists whole. Tensors may
 * stay in the scratchpad from one group to a later one. */
#ifndef WICK_STREAM_PLAN_H
#define WICK_STREAM_PLAN_H

#include "compiler/stream/prefetch.h"

typedef struct {
  int first, last; /* operators */
  int strips;
  bool keeps; /* constants are loaded once, not for every strip */
  bool alone; /* it begins when what groups before have in the scratchpad has gone, so that its own
                 buffers lie as if it were the first; but for what is resident */
} wk_sched_group;

typedef struct {
  WK_VEC(wk_sched_group) groups;
  int *resident; /* of each tensor: the last operator that finds it in the scratchpad; -1: none */
  int lasting;   /* steps: a buffer that is used for longer lies where those do that last */
  int64_t chunk; /* bytes of constants that are loaded in one go, about */
  bool marks;    /* a MARK behind every group */
  int misfit;    /* no plan was found: the operator that no group with it has room for */
} wk_sched_plan;

void wk_sched_plan_free(wk_sched_plan *p);

/* Steps of groups [g0, g1), added to empty ones. Tensors that come from before or go on after them
 * are in memory unless they are resident. */
void wk_sched_build(const wk_sched_net *net, const wk_sched_plan *p, const wk_sched_use *uses,
                    size_t g0, size_t g1, wk_sched_steps *out);
/* What each step must wait for, whatever is where, and what the mode has it wait for besides;
 * without: ideas that are left out (ideas.h). */
void wk_sched_depend(const wk_sched_net *net, wk_sched_prefetch mode, unsigned without,
                     wk_sched_steps *s);

/* ---- what does not fit ----------------------------------------------------------------------- */

/* The least scratchpad, larger than the machine's, with which `fits` is true; 0: there is none. */
typedef bool wk_sched_fits(void *ctx, int64_t scratchpad);
int64_t wk_sched_least_scratchpad(const wk_sched_machine *m, wk_sched_fits *fits, void *ctx);
/* "it needs 40000 bytes of scratchpad for one row of its result; machine 'tiny' has 16384,
 * scratchpad=65536 fits", in the arena. */
const char *wk_sched_room_reason(const wk_sched_machine *m, wk_arena *a, int64_t need,
                                 const char *what, int64_t fits);

#endif
