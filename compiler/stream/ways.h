/* SPDX-License-Identifier: Apache-2.0
 * ways: how operators can be computed as one group, and what each way costs by itself. */
#ifndef WICK_STREAM_WAYS_H
#define WICK_STREAM_WAYS_H

#include "compiler/stream/search.h"

enum { WK_SCHED_GUESSES = 4 };

/* What a mode's search goes by. unhidden: how much of what a group by itself does not hide its
 * neighbours will not hide either. Where they may, that is not known, so groups are found with each
 * of some guesses, and judged as a whole; more: of each group, for what its neighbours are kept
 * from. Where a group waits for those before, it is all. pieces: constants are loaded in pieces of
 * the scratchpad divided by that, to begin with: small ones where loads run beside what computes,
 * few where each is waited for. margin: a plan without groups has more commands and more bytes, of
 * which the schedule model is less sure the more they run side by side: it is taken where it is
 * faster by more than a part in that. */
typedef struct {
  int guesses, pieces, margin;
  double unhidden[WK_SCHED_GUESSES], more;
} wk_sched_by_mode;
extern const wk_sched_by_mode wk_sched_modes[WK_PREFETCH_COUNT];

/* What an effort allows: operators of a group, more strips that are tried although they were no
 * better, how fast their number grows, and of the local search: changes that are tried for each
 * operator, as if there were some more, and all together at most; thousands of steps in the plans
 * that are judged for it. */
typedef struct {
  int longest, worse, step, tries, most, steps;
} wk_sched_by_effort;
extern const wk_sched_by_effort wk_sched_efforts[];

/* A way to compute operators as one group. */
typedef struct {
  double cost;
  wk_sched_group group;
} wk_sched_way;

static inline int wk_sched_guesses(const wk_sched_searching *x) {
  return wk_sched_modes[x->o->prefetch].guesses;
}
/* The best ways to compute operators [first, last] as one group, for each guess. False: no such
 * group fits. */
bool wk_sched_best_group(const wk_sched_searching *x, int first, int last,
                         wk_sched_way best[WK_SCHED_GUESSES]);
wk_sched_verdict wk_sched_judge_group(const wk_sched_searching *x, const wk_sched_group *g);
/* Cycles, about: of a group, so that those of all can be added up. */
double wk_sched_cost(const wk_sched_searching *x, const wk_sched_verdict *v, int guess);
/* Where somebody asks, the way is among those that were tried. */
void wk_sched_record(const wk_sched_searching *x, const wk_sched_group *g,
                     const wk_sched_verdict *v);
/* Bytes of constants that are loaded in one go to begin with. */
int64_t wk_sched_first_chunk(const wk_sched_searching *x);

#endif
