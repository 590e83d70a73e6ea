/* SPDX-License-Identifier: Apache-2.0
 * crew: threads that judge plans beside one another, each with room for steps of its own. What is
 * found does not depend on how many there are. */
#ifndef WICK_STREAM_CREW_H
#define WICK_STREAM_CREW_H

#include "compiler/stream/search.h"

/* Runs `body` in the caller's thread, beside threads that help with its tasks: `threads` with the
 * caller's, fewer where no more can be had. steps: the room of the caller's. Where one of them
 * cannot go on (wk_end_by) the caller's does not, once all others have gone. */
typedef void wk_sched_body(void *ctx, wk_sched_crew *crew, wk_sched_steps *steps);
void wk_sched_with_crew(int threads, wk_sched_body *body, void *ctx);
/* How many threads judge for the search. */
int wk_sched_beside(const wk_sched_searching *x);

/* Task i, with the room for steps of the thread that does it. */
typedef void wk_sched_task(void *ctx, size_t i, wk_sched_steps *steps);
/* Does tasks [0, n), which begin in that order, beside one another, and returns when all are done.
 * x->steps: of the thread that calls it, which may be within a task. */
void wk_sched_do(const wk_sched_searching *x, wk_sched_task *task, void *ctx, size_t n);

/* Groups [from, to) of a plan. */
typedef struct {
  const wk_sched_plan *plan;
  size_t from, to;
} wk_sched_run;
/* Finds verdicts that are about to be asked for; nothing where one thread judges. */
void wk_sched_judge_ahead(const wk_sched_searching *x, const wk_sched_run *runs, size_t n);
/* Adds the runs that wk_sched_judge_whole asks for. */
typedef WK_VEC(wk_sched_run) wk_sched_runs;
void wk_sched_add_whole(const wk_sched_searching *x, const wk_sched_plan *p, wk_sched_runs *out);

#endif
