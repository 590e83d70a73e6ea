/* SPDX-License-Identifier: Apache-2.0
 * What of a plan is not of its groups: the few values that make sense are tried. */
#include <stdlib.h>
#include <string.h>

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

/* What stays from before operator `op` until behind it does not. */
static void end_stays(const searching *x, int op, int *resident) {
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_use *u = &x->uses[t];
    int from = u->first_writer >= 0 ? u->first_writer : u->first_reader;
    if (from < op && resident[t] >= op) resident[t] = -1;
  }
}

/* The last ones first: an operator that nothing stands beside in its round waits for each. */
void wk_sched_find_followers(searching *x) {
  if (wk_sched_is_long(&x->plan)) return; /* each would be judged for long */
  const size_t bytes = x->net->n_tensors * sizeof *x->plan.resident;
  int *before = wk_xmalloc(bytes);
  verdict least = wk_sched_judge_all(x);
  for (size_t g = x->plan.groups.n; g-- > 1;) {
    wk_sched_group *y = &x->plan.groups.data[g];
    if (!y->follows) continue;
    memcpy(before, x->plan.resident, bytes);
    y->follows = false;
    end_stays(x, y->first, x->plan.resident);
    verdict v = wk_sched_judge_all(x);
    if (wk_sched_is_better(&v, &least)) {
      least = v;
    } else {
      y->follows = true;
      memcpy(x->plan.resident, before, bytes);
    }
  }
  free(before);
}
