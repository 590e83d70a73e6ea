/* SPDX-License-Identifier: Apache-2.0
 * What stays in the scratchpad from one group of a plan to a later one. */
#include "compiler/stream/search.h"

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
static verdict judge_around(const searching *x, size_t tensor, int last, size_t around) {
  const wk_sched_use *u = &x->uses[tensor];
  const wk_sched_plan *p = &x->plan;
  size_t to = wk_sched_group_of(p, last) + 1;
  size_t from = wk_sched_group_of(p, u->first_writer >= 0 ? u->first_writer : u->first_reader);
  wk_sched_widen(p, around, &from, &to);
  return wk_sched_judge(x, p, from, to);
}

/* The tensor stays until operator `last` where that makes what is around it faster, or a plan that
 * is not long; what is near shows where it does not. */
static bool stays_until(searching *x, size_t tensor, int last) {
  const size_t far = wk_sched_is_long(&x->plan) ? 6 : x->plan.groups.n, distances[] = {2, far};
  int *resident = &x->plan.resident[tensor], before = *resident;
  int until = x->plan.groups.data[wk_sched_group_of(&x->plan, last)].last;
  for (size_t i = 0; i < WK_COUNTOF(distances); i++) {
    *resident = before;
    verdict now = judge_around(x, tensor, last, distances[i]);
    *resident = until;
    verdict v = judge_around(x, tensor, last, distances[i]);
    bool is_worse = !v.fits || (now.fits && v.cycles > now.cycles + now.cycles / 64);
    bool is_better = wk_sched_is_better(&v, &now);
    if (i && is_better) return true;
    if (is_worse) break;
  }
  *resident = before;
  return false;
}

void wk_sched_forget_residents(searching *x) {
  for (size_t t = 0; t < x->net->n_tensors; t++) x->plan.resident[t] = -1;
}

/* Of the tensors that stay while the layer is computed, the largest one. -1: there is none. */
static int largest_at(const searching *x, uint32_t layer) {
  int largest = -1;
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_use *u = &x->uses[t];
    int last = x->plan.resident[t], from = u->first_writer >= 0 ? u->first_writer : u->first_reader;
    bool stays = last >= 0 && x->net->ops[from].layer <= layer && x->net->ops[last].layer >= layer;
    if (stays && (largest < 0 || x->net->tensors[t].bytes > x->net->tensors[largest].bytes))
      largest = (int)t;
  }
  return largest;
}

/* Group of the layer, or the first. */
static wk_sched_group *group_at(const searching *x, uint32_t layer) {
  int op = 0;
  while (op + 1 < (int)x->net->n_ops && x->net->ops[op].layer < layer) op++;
  return &x->plan.groups.data[wk_sched_group_of(&x->plan, op)];
}

/* Runs of groups may fit where the whole does not, and some rounds where all do not: then less
 * stays, or stages do not overlap. */
static void make_room(searching *x) {
  enum { TRIES = 12 };
  for (int i = 0; i < TRIES; i++) {
    verdict v = wk_sched_judge_goal(x);
    if (v.fits) return;
    uint32_t layer = x->net->ops[0].layer + (uint32_t)v.misfit;
    int t = largest_at(x, layer);
    wk_sched_group *g = group_at(x, layer);
    if (t >= 0) x->plan.resident[t] = -1;
    else if (g->staggers) g->staggers = false;
    else break;
  }
  wk_sched_forget_residents(x);
}

void wk_sched_find_residents(searching *x) {
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    int last[] = {x->uses[t].last_reader, x->uses[t].first_reader};
    for (int k = 0; k < (last[0] == last[1] ? 1 : 2); k++)
      if (wk_sched_may_stay(x, t, last[k]) && stays_until(x, t, last[k])) break;
  }
  make_room(x);
}

void wk_sched_find_residents_again(searching *x) {
  if (wk_sched_judge_all(x).fits) return;
  wk_sched_forget_residents(x);
  wk_sched_find_residents(x);
}
