/* SPDX-License-Identifier: Apache-2.0
 * What of a plan is not of its groups: the few values that make sense are tried. */
#include <stdlib.h>

#include "compiler/stream/crew.h"

typedef wk_sched_searching searching;
typedef wk_sched_verdict verdict;

/* Of plans that differ in what is not of their groups, the one that is fastest as a whole: its
 * number; 0: none fits. */
static size_t fastest(const searching *x, const wk_sched_plan *plans, size_t n, verdict *least) {
  wk_sched_runs runs = {0};
  size_t best = 0;
  for (size_t i = 0; i < n; i++) wk_sched_add_whole(x, &plans[i], &runs);
  wk_sched_judge_ahead(x, runs.data, runs.n);
  wk_vec_free(&runs);
  *least = (verdict){.fits = false};
  for (size_t i = 0; i < n; i++) {
    verdict v = wk_sched_judge_whole(x, &plans[i]);
    if (v.fits && (!least->fits || v.cycles < least->cycles)) *least = v, best = i;
  }
  return best;
}

verdict wk_sched_find_lasting(const searching *x, wk_sched_plan *p) {
  static const int tried[] = {WK_SCHED_LASTING, 24, 128};
  wk_sched_plan plans[WK_COUNTOF(tried)];
  verdict least;
  for (size_t i = 0; i < WK_COUNTOF(tried); i++) plans[i] = *p, plans[i].lasting = tried[i];
  p->lasting = tried[fastest(x, plans, WK_COUNTOF(tried), &least)];
  return least;
}

void wk_sched_find_chunk(searching *x) {
  const int64_t first = x->plan.chunk, tried[] = {first, first / 2, first * 2};
  wk_sched_plan plans[WK_COUNTOF(tried)];
  verdict least;
  for (size_t i = 0; i < WK_COUNTOF(tried); i++) plans[i] = x->plan, plans[i].chunk = tried[i];
  x->plan.chunk = tried[fastest(x, plans, WK_COUNTOF(tried), &least)];
}
