/* SPDX-License-Identifier: Apache-2.0
 * The whole of a long plan, put together from runs of its groups. A run has some groups before and
 * behind that others have, too, as what is near decides how fast a group is; what two runs share
 * counts once. Runs that are alike, of the same layers or of the plan before a change, are judged
 * once. */
#include "compiler/stream/search.h"

enum {
  LONG = 24,   /* groups of a plan that is put together */
  SHARED = 4,  /* groups on each side of a cut that both runs have */
  FEWEST = 4, MOST = 12 /* groups between two cuts */
};

/* Where equal layers follow one another, they are cut at equal places: before the operator whose
 * look has the least hash. */
static size_t next_cut(const wk_sched_searching *x, const wk_sched_plan *p, size_t from) {
  size_t n = p->groups.n, best = n;
  uint64_t least = UINT64_MAX;
  for (size_t g = from + FEWEST; g <= from + MOST && g + FEWEST <= n; g++) {
    uint64_t hash = wk_sched_look_hash(x->looks, p->groups.data[g].first);
    if (p->groups.data[g].follows || hash >= least) continue;
    least = hash, best = g;
  }
  return best;
}

/* Adds groups [from, to) and those around them, or takes them away. */
static void add(wk_sched_verdict *all, const wk_sched_searching *x, const wk_sched_plan *p,
                size_t from, size_t to, int sign) {
  wk_sched_widen(p, SHARED, &from, &to);
  wk_sched_verdict v = wk_sched_judge(x, p, from, to);
  all->fits = all->fits && v.fits;
  all->cycles += sign * v.cycles;
  all->bytes += sign * v.bytes;
  all->steps += v.steps;
}

bool wk_sched_is_long(const wk_sched_plan *p) { return p->groups.n >= LONG; }

wk_sched_verdict wk_sched_judge_whole(const wk_sched_searching *x, const wk_sched_plan *p) {
  size_t n = p->groups.n;
  wk_sched_verdict all = {.fits = true};
  if (!wk_sched_is_long(p) || !x->verdicts) return wk_sched_judge(x, p, 0, n);
  for (size_t from = 0, to; from < n && all.fits; from = to) {
    to = next_cut(x, p, from);
    add(&all, x, p, from, to, 1);
    if (to < n) add(&all, x, p, to, to, -1);
  }
  return all;
}
