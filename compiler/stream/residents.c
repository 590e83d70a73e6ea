/* SPDX-License-Identifier: Apache-2.0
 * What stays in the scratchpad from one group of a plan to a later one. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/crew.h"

typedef wk_sched_searching searching;
typedef wk_sched_verdict verdict;

size_t wk_sched_group_of(const wk_sched_plan *p, int op) {
  size_t g = 0;
  while (p->groups.data[g].last < op) g++;
  return g;
}

/* Of a tensor that stays from group g to group `end`: those of a round, if they go together. */
static int64_t resident_bytes(const searching *x, size_t tensor, size_t g, size_t end) {
  const wk_sched_plan *p = &x->plan;
  const wk_sched_tensor *y = &x->net->tensors[tensor];
  bool together = p->groups.data[g].rounds > 1;
  for (size_t i = g + 1; i <= end; i++) together = together && p->groups.data[i].follows;
  int64_t planes[2];
  if (!together) return y->bytes;
  wk_sched_planes_in(x->net, p->groups.data[g].first, p->groups.data[end].last, (int)tensor,
                     WK_SCHED_WRITES | WK_SCHED_READS, p->groups.data[g].rounds, 0, planes);
  return (planes[1] - planes[0]) * y->rows * y->row;
}

bool wk_sched_may_stay(const searching *x, size_t tensor, int last) {
  const wk_sched_use *u = &x->uses[tensor];
  const wk_sched_tensor *y = &x->net->tensors[tensor];
  int from = u->first_writer >= 0 ? u->first_writer : u->first_reader;
  if (wk_sched_leaves_out(x, WK_SCHED_RESIDENCY) || y->is_shaped || from < 0 ||
      u->last_reader < 0 || last < u->last_writer)
    return false;
  size_t g = wk_sched_group_of(&x->plan, from), end = wk_sched_group_of(&x->plan, last);
  return g != end && resident_bytes(x, tensor, g, end) <= x->net->machine->scratchpad / 2;
}

void wk_sched_widen(const wk_sched_plan *p, size_t by, size_t *from, size_t *to) {
  *from = *from > by ? *from - by : 0;
  *to = *to + by < p->groups.n ? *to + by : p->groups.n;
  while (*from && p->groups.data[*from].follows) --*from;
  while (*to < p->groups.n && p->groups.data[*to].follows) ++*to;
}

/* Groups from the first to the last that has the tensor, if it stays until operator `last`, and
 * `around` before and behind. */
static wk_sched_run run_around(const searching *x, const wk_sched_plan *p, size_t tensor, int last,
                               size_t around) {
  const wk_sched_use *u = &x->uses[tensor];
  wk_sched_run r = {.plan = p, .to = wk_sched_group_of(p, last) + 1};
  r.from = wk_sched_group_of(p, u->first_writer >= 0 ? u->first_writer : u->first_reader);
  wk_sched_widen(p, around, &r.from, &r.to);
  return r;
}

/* The tensor stays until operator `last` where that makes what is around it faster, or a plan that
 * is not long; what is near shows where it does not. */
static bool is_better_until(const searching *x, const wk_sched_plan *without,
                            const wk_sched_plan *with, size_t tensor, int last) {
  const size_t far = wk_sched_is_long(without) ? 6 : without->groups.n, distances[] = {2, far};
  for (size_t i = 0; i < WK_COUNTOF(distances); i++) {
    const wk_sched_run r = run_around(x, without, tensor, last, distances[i]);
    wk_sched_judge_ahead(x, (const wk_sched_run[]){r, {with, r.from, r.to}}, 2);
    verdict now = wk_sched_judge(x, without, r.from, r.to);
    verdict v = wk_sched_judge(x, with, r.from, r.to);
    bool is_worse = !v.fits || (now.fits && v.cycles > now.cycles + now.cycles / 64);
    if (i && wk_sched_is_better(&v, &now)) return true;
    if (is_worse) break;
  }
  return false;
}

void wk_sched_forget_residents(searching *x) {
  for (size_t t = 0; t < x->net->n_tensors; t++) x->plan.resident[t] = -1;
}

/* Of the tensors that stay while the operator is computed, the largest one. -1: there is none. */
static int largest_at(const searching *x, int op) {
  int largest = -1;
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_use *u = &x->uses[t];
    int last = x->plan.resident[t], from = u->first_writer >= 0 ? u->first_writer : u->first_reader;
    bool stays = from <= op && last >= op;
    if (stays && (largest < 0 || x->net->tensors[t].bytes > x->net->tensors[largest].bytes))
      largest = (int)t;
  }
  return largest;
}

/* Runs of groups may fit where the whole does not, and some rounds where all do not: then less
 * stays, or stages do not overlap. */
static void make_room(searching *x) {
  enum { TRIES = 12 };
  for (int i = 0; i < TRIES; i++) {
    verdict v = wk_sched_judge_goal(x);
    if (v.fits) return;
    int t = largest_at(x, v.misfit);
    wk_sched_group *g = &x->plan.groups.data[wk_sched_group_of(&x->plan, v.misfit)];
    if (t >= 0) x->plan.resident[t] = -1;
    else if (g->staggers) g->staggers = false;
    else break;
  }
  wk_sched_forget_residents(x);
}

/* Until when the tensor stays, beside those that do already: as in the plan; -1: it does not. */
static int stays_until(const searching *x, size_t tensor) {
  const wk_sched_use *u = &x->uses[tensor];
  const int last[] = {u->last_reader, u->first_reader};
  const size_t bytes = x->net->n_tensors * sizeof *x->plan.resident;
  wk_sched_plan with = x->plan;
  int until = -1;
  with.resident = memcpy(wk_xmalloc(bytes), x->plan.resident, bytes);
  for (int k = 0; k < (last[0] == last[1] ? 1 : 2) && until < 0; k++) {
    if (!wk_sched_may_stay(x, tensor, last[k])) continue;
    with.resident[tensor] = with.groups.data[wk_sched_group_of(&with, last[k])].last;
    if (is_better_until(x, &x->plan, &with, tensor, last[k])) until = with.resident[tensor];
  }
  free(with.resident);
  return until;
}

/* Tensors from the first on, up to the first one that stays. */
typedef struct {
  const searching *x;
  size_t first;
  atomic_size_t stays; /* of those that have been tried, the least that does */
} staying;

static void try_tensor(void *ctx, size_t i, wk_sched_steps *steps) {
  staying *s = ctx;
  size_t tensor = s->first + i, least = atomic_load(&s->stays);
  if (tensor > least) return;
  searching x = *s->x;
  x.steps = steps;
  if (stays_until(&x, tensor) < 0) return;
  while (tensor < least && !atomic_compare_exchange_weak(&s->stays, &least, tensor)) continue;
}

void wk_sched_find_residents(searching *x) {
  const size_t n = x->net->n_tensors;
  for (size_t t = 0; t < n; t++) {
    staying s = {.x = x, .first = t};
    atomic_init(&s.stays, n);
    wk_sched_do(x, try_tensor, &s, n - t);
    t = atomic_load(&s.stays);
    if (t < n) x->plan.resident[t] = stays_until(x, t);
  }
  make_room(x);
}

void wk_sched_find_residents_again(searching *x) {
  if (wk_sched_judge_all(x).fits) return;
  wk_sched_forget_residents(x);
  wk_sched_find_residents(x);
}
