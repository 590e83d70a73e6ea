/* SPDX-License-Identifier: Apache-2.0
 * What plans take, by the schedule model. */
#include <string.h>

#include "compiler/stream/search.h"

typedef wk_sched_searching searching;
typedef wk_sched_verdict verdict;

/* Of the first steps: when they have retired; cycles of queues' own work, and until when it is. */
typedef struct {
  size_t n;
  int64_t end, busy[WK_SCHED_QUEUES], last[WK_SCHED_QUEUES];
} progress;

static void go_on(progress *p, const wk_sched_steps *s, const wk_sched_times *t, size_t n) {
  for (; p->n < n; p->n++) {
    int q = s->list.data[p->n].queue;
    int64_t from = t->start[p->n], retire = t->retire[p->n];
    if (from < p->last[q]) from = p->last[q];
    if (retire > from) p->busy[q] += retire - from, p->last[q] = retire;
    if (p->end < retire) p->end = retire;
  }
}

/* Cycles, bytes and work of all rounds: those that were not built are like the second one. */
static void add_up(const wk_sched_steps *s, const wk_sched_times *t, verdict *v,
                   int64_t busy[WK_SCHED_QUEUES]) {
  progress p = {0};
  v->cycles = t->cycles;
  v->bytes = s->loaded + s->stored;
  memset(busy, 0, WK_SCHED_QUEUES * sizeof *busy);
  for (size_t i = 0; i < s->rounds.n; i++) {
    const wk_sched_round_steps *r = &s->rounds.data[i];
    go_on(&p, s, t, r->end[0]);
    const progress first = p;
    go_on(&p, s, t, r->end[1]);
    v->cycles += r->more * (p.end - first.end);
    v->bytes += r->more * (r->bytes[1] - r->bytes[0]);
    for (int q = 0; q < WK_SCHED_QUEUES; q++) busy[q] += r->more * (p.busy[q] - first.busy[q]);
  }
  go_on(&p, s, t, s->list.n);
  for (int q = 0; q < WK_SCHED_QUEUES; q++) busy[q] += p.busy[q];
}

/* The one that the step is for; some have no layer: then the first one of its group. */
static int operator_of(const searching *x, size_t step) {
  const wk_sched_step *s = &x->steps->list.data[step];
  const int first = x->steps->first.data[s->group];
  for (int i = first; i < (int)x->net->n_ops; i++)
    if (x->net->ops[i].layer + 1 == s->layer) return i;
  return first;
}

/* Of the steps as far as they were built: the operator of the one that has no room. */
static verdict misfit(const searching *x, const wk_sched_group *first, size_t failed) {
  const wk_sched_steps *s = x->steps;
  verdict v = {.steps = (int64_t)s->list.n};
  if (failed < s->list.n) v.misfit = operator_of(x, failed) - first->first;
  return v;
}

static verdict sum_up(const searching *x, const wk_sched_times *t) {
  const wk_sched_machine *m = x->net->machine;
  verdict v = {.fits = true, .steps = (int64_t)x->steps->list.n};
  int64_t work[WK_SCHED_QUEUES];
  add_up(x->steps, t, &v, work);
  v.most = v.bus = (double)v.bytes * (double)m->bytes_den / (double)m->bytes_num;
  for (int q = 0; q < m->queues.n; q++) {
    if (!wk_sched_in(m->queues.computes, q)) continue;
    v.busy[q] = (double)work[q];
    if (v.busy[q] > v.most) v.most = v.busy[q];
  }
  return v;
}

verdict wk_sched_judge_anew(const searching *x, const wk_sched_plan *p, size_t g0, size_t g1) {
  wk_sched_steps *s = x->steps;
  wk_sched_times t;
  int64_t room = x->net->machine->scratchpad;
  const wk_sched_group *first = &p->groups.data[g0];
  wk_sched_steps_clear(s, x->net);
  if (!wk_sched_build_within(x->net, p, x->uses, g0, g1, room, s))
    return misfit(x, first, s->list.n - 1);
  wk_sched_prefetch mode = wk_sched_mode_of(p, x->o->prefetch);
  wk_sched_depend(x->net, mode, x->o->without, s);
  wk_arena *a = wk_arena_new();
  bool fits = wk_sched_simulate(x->net, s, room, mode, a, &t);
  verdict v = fits ? sum_up(x, &t) : misfit(x, first, t.failed);
  wk_arena_free(a);
  return v;
}

verdict wk_sched_judge_all(const searching *x) {
  wk_sched_plan p = x->plan;
  p.limit = 0;
  return wk_sched_judge(x, &p, 0, p.groups.n);
}

verdict wk_sched_judge_goal(const searching *x) {
  bool is_first = x->plan.limit == 1;
  return is_first ? wk_sched_judge(x, &x->plan, 0, x->plan.groups.n) : wk_sched_judge_all(x);
}
