/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/what_if.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- needs under an assumption --------------------------------------------------------------- */

typedef struct {
  const wk_sched_what_if_job *job;
  uint32_t n;
  int assumed;
  uint32_t *from, *of; /* needs by command: of[from[i] .. from[i + 1] - 1] are indices of them */
  bool *is_gone;
  uint32_t *first, *stamp; /* stamp: 1 + who has counted a command last */
  WK_VEC(uint32_t) needs;
} walk;

static void sort_needs(walk *w) {
  const wk_sched_what_if_job *job = w->job;
  w->from = wk_xcalloc((size_t)w->n + 2, sizeof *w->from);
  w->of = wk_xcalloc(job->n_needs, sizeof *w->of);
  for (size_t k = 0; k < job->n_needs; k++) w->from[job->needs[k].who + 2]++;
  for (uint32_t i = 0; i < w->n; i++) w->from[i + 2] += w->from[i + 1];
  for (size_t k = 0; k < job->n_needs; k++) w->of[w->from[job->needs[k].who + 1]++] = (uint32_t)k;
}

static void add_need(walk *w, uint32_t who, uint32_t of) {
  if (w->stamp[of] == who + 1) return;
  w->stamp[of] = who + 1;
  wk_vec_push(&w->needs, of);
}

/* Of what need not be: what it needs itself. */
static void add_needs_of(walk *w, uint32_t who, uint32_t of) {
  for (uint32_t k = w->first[of]; w->is_gone[of] && k < w->first[of + 1]; k++)
    add_need(w, who, w->needs.data[k]);
  if (!w->is_gone[of]) add_need(w, who, of);
}

static bool is_dropped(const walk *w, wk_sched_why why) {
  return (why == WK_SCHED_NEEDS_PLACE && w->assumed & WK_SCHED_IF_ROOM) ||
         (why == WK_SCHED_NEEDS_ORDER && w->assumed & WK_SCHED_IF_ANY_ORDER);
}

static void add_needs(walk *w, uint32_t i) {
  const uint32_t *instead = w->assumed & WK_SCHED_IF_ROOM ? w->job->instead : NULL;
  w->is_gone[i] = instead && instead[i] != WK_SCHED_NOBODY;
  if (w->is_gone[i] && instead[i] != i) {
    add_needs_of(w, i, instead[i]);
    return;
  }
  for (uint32_t k = w->from[i]; k < w->from[i + 1]; k++) {
    const wk_sched_need *x = &w->job->needs[w->of[k]];
    if (!is_dropped(w, x->why)) add_needs_of(w, i, x->of);
  }
}

static void open_walk(walk *w) {
  sort_needs(w);
  w->is_gone = wk_xcalloc(w->n, sizeof *w->is_gone);
  w->first = wk_xcalloc((size_t)w->n + 1, sizeof *w->first);
  w->stamp = wk_xcalloc(w->n, sizeof *w->stamp);
  for (uint32_t i = 0; i < w->n; i++) {
    add_needs(w, i);
    w->first[i + 1] = (uint32_t)w->needs.n;
  }
}

static void close_walk(walk *w) {
  free(w->from);
  free(w->of);
  free(w->is_gone);
  free(w->first);
  free(w->stamp);
  wk_vec_free(&w->needs);
}

/* ---- times ----------------------------------------------------------------------------------- */

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static bool computes(const wk_sched_run *r, const wk_sched_span *s) {
  return wk_sched_in(r->queues->computes, s->queue);
}

static bool moves(const wk_sched_run *r, const wk_sched_span *s) {
  return s->kind == WK_SCHED_WORKS && !computes(r, s);
}

wk_sched_time wk_sched_time_of(const wk_sched_run *r, uint32_t command, int assumed) {
  const wk_sched_span *s = &r->spans[command];
  uint64_t all = wk_sched_has_run(s) ? s->retire - s->start : 0, busy = most(s->array, s->drain);
  if (!moves(r, s)) {
    if (!s->array || !computes(r, s)) busy = all;
    return (wk_sched_time){busy, all > busy ? all - busy : 0};
  }
  bool stores = wk_sched_in(r->queues->stores, s->queue);
  uint64_t latency = least(all, stores ? r->write_latency : r->read_latency);
  if (!s->array) busy = all - latency;
  return (wk_sched_time){assumed & WK_SCHED_IF_FAST ? 0 : busy,
                         assumed & WK_SCHED_IF_AT_ONCE ? 0 : latency};
}

/* ---- cycles ---------------------------------------------------------------------------------- */

static uint64_t cycles_if(const wk_sched_what_if_job *job, int assumed) {
  const wk_sched_run *r = job->run;
  walk w = {.job = job, .n = r->n, .assumed = assumed};
  uint8_t *queue = wk_xcalloc(r->n, sizeof *queue);
  bool *moving = wk_xcalloc(r->n, sizeof *moving);
  wk_sched_time *time = wk_xcalloc(r->n, sizeof *time);
  uint32_t *order = wk_xcalloc(r->n, sizeof *order);
  uint64_t cycles;
  open_walk(&w);
  for (uint32_t i = 0; i < r->n; i++) {
    queue[i] = r->spans[i].queue;
    moving[i] = moves(r, &r->spans[i]);
    time[i] = job->time ? job->time(job->context, i, assumed) : wk_sched_time_of(r, i, assumed);
  }
  const unsigned computes_or_stores = r->queues->computes | r->queues->stores;
  const wk_sched_list list = {.n = r->n, .queue = queue, .moves = moving, .is_gone = w.is_gone,
                              .time = time, .first = w.first, .needs = w.needs.data,
                              .computes = r->queues->computes, .serial = r->queues->serial,
                              .ordered = assumed & WK_SCHED_IF_ANY_ORDER ? computes_or_stores
                                                                         : ~0u};
  wk_sched_list_order(&list, order, &cycles);
  close_walk(&w);
  free(queue);
  free(moving);
  free(time);
  free(order);
  return cycles;
}

static const struct {
  const char *name, *doc;
  int assumed;
} infos[WK_SCHED_WHAT_IFS] = {
#define WK_X(name, doc, assumed) {#name, doc, WK_SCHED_IF_##assumed},
    WK_SCHED_IFS(WK_X)
#undef WK_X
    {"all", "all of them",
     WK_SCHED_IF_FAST | WK_SCHED_IF_AT_ONCE | WK_SCHED_IF_ROOM | WK_SCHED_IF_ANY_ORDER}};

/* Whoever has more can do as with less. */
uint64_t wk_sched_what_ifs(const wk_sched_what_if_job *job,
                           wk_sched_what_if out[WK_SCHED_WHAT_IFS]) {
  uint64_t now = cycles_if(job, 0);
  for (int i = 0; i < WK_SCHED_WHAT_IFS; i++) {
    uint64_t cycles = least(now, cycles_if(job, infos[i].assumed));
    for (int k = 0; k < i; k++)
      if (!(infos[k].assumed & ~infos[i].assumed)) cycles = least(cycles, out[k].cycles);
    out[i] = (wk_sched_what_if){infos[i].name, infos[i].doc, cycles};
  }
  return now;
}

/* ---- counts, and output ---------------------------------------------------------------------- */

void wk_sched_needs_add(wk_sched_needs *x, const wk_sched_numbers *numbers, uint32_t who,
                        const wk_sched_counts counts, wk_sched_why why) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++) {
    if (!counts[q] || counts[q] > numbers->n[q]) continue;
    const wk_sched_need need = {who, numbers->of[q][counts[q] - 1], why};
    wk_vec_push(x, need);
  }
}

void wk_sched_what_ifs_print(wk_str *b, uint64_t now,
                             const wk_sched_what_if list[WK_SCHED_WHAT_IFS]) {
  for (int i = 0; i < WK_SCHED_WHAT_IFS; i++) {
    uint64_t won = now - list[i].cycles;
    wk_str_printf(b, "%-9s  %12" PRIu64 "  %12" PRIu64 " won  %5.1f %%  %s\n", list[i].name,
                  list[i].cycles, won, now ? 100.0 * (double)won / (double)now : 0, list[i].doc);
  }
}
