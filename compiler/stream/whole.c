/* SPDX-License-Identifier: Apache-2.0
 * The whole of a long plan, put together from runs of its groups. A run has some groups before and
 * behind that others have, too, as what is near decides how fast a group is; what two runs share
 * counts once. Runs that are alike, of the same layers or of the plan before a change, are judged
 * once. */
#include <stdlib.h>

#include "compiler/stream/crew.h"

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

/* Groups [from, to) and those around them. */
static wk_sched_run widened(const wk_sched_plan *p, size_t from, size_t to) {
  wk_sched_widen(p, SHARED, &from, &to);
  return (wk_sched_run){p, from, to};
}

/* Adds a run, or takes it away. */
static void add(wk_sched_verdict *all, const wk_sched_searching *x, wk_sched_run r, int sign) {
  wk_sched_verdict v = wk_sched_judge(x, r.plan, r.from, r.to);
  all->fits = all->fits && v.fits;
  all->cycles += sign * v.cycles;
  all->bytes += sign * v.bytes;
  all->steps += v.steps;
}

bool wk_sched_is_long(const wk_sched_plan *p) { return p->groups.n >= LONG; }

static bool is_cut(const wk_sched_searching *x, const wk_sched_plan *p) {
  return wk_sched_is_long(p) && x->verdicts;
}

void wk_sched_add_whole(const wk_sched_searching *x, const wk_sched_plan *p, wk_sched_runs *out) {
  size_t n = p->groups.n;
  if (!is_cut(x, p)) wk_vec_push(out, ((wk_sched_run){p, 0, n}));
  for (size_t from = 0, to; is_cut(x, p) && from < n; from = to) {
    to = next_cut(x, p, from);
    wk_vec_push(out, widened(p, from, to));
    if (to < n) wk_vec_push(out, widened(p, to, to));
  }
}

static void judge_runs_ahead(const wk_sched_searching *x, const wk_sched_plan *p) {
  wk_sched_runs runs = {0};
  if (wk_sched_beside(x) > 1) wk_sched_add_whole(x, p, &runs);
  wk_sched_judge_ahead(x, runs.data, runs.n);
  wk_vec_free(&runs);
}

wk_sched_verdict wk_sched_judge_whole(const wk_sched_searching *x, const wk_sched_plan *p) {
  size_t n = p->groups.n;
  wk_sched_verdict all = {.fits = true};
  if (!is_cut(x, p)) return wk_sched_judge(x, p, 0, n);
  judge_runs_ahead(x, p);
  for (size_t from = 0, to; from < n && all.fits; from = to) {
    to = next_cut(x, p, from);
    add(&all, x, widened(p, from, to), 1);
    if (to < n) add(&all, x, widened(p, to, to), -1);
  }
  return all;
}
