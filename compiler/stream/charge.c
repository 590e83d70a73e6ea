/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/charge.h"

#include <stdlib.h>
#include <string.h>

/* The commands of a queue, in order. */
typedef struct {
  const uint32_t *commands;
  size_t n, head, next; /* the first that has not retired, that has not started */
} queue_walk;

typedef struct {
  unsigned computes; /* queues */
  wk_sched_span *spans;
  queue_walk queues[WK_SCHED_QUEUES];
  uint32_t last; /* that retired */
} walk;

static uint32_t number_of(const walk *w, int queue, size_t i) {
  const queue_walk *q = &w->queues[queue];
  return i < q->n ? q->commands[i] : WK_SCHED_NOBODY;
}

static const wk_sched_span *at(const walk *w, int queue, size_t i) {
  uint32_t number = number_of(w, queue, i);
  return number == WK_SCHED_NOBODY ? NULL : &w->spans[number];
}

static const wk_sched_span *head_of(const walk *w, int queue) {
  return at(w, queue, w->queues[queue].head);
}

static void advance(walk *w, uint64_t now) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++) {
    queue_walk *x = &w->queues[q];
    for (const wk_sched_span *s; (s = head_of(w, q)) && s->retire <= now; x->head++)
      w->last = number_of(w, q, x->head);
    for (const wk_sched_span *s; (s = at(w, q, x->next)) && s->start <= now;) x->next++;
  }
}

/* When something starts or retires next, `end` at the latest. */
static uint64_t next_event(const walk *w, uint64_t end) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++) {
    const wk_sched_span *head = head_of(w, q), *next = at(w, q, w->queues[q].next);
    if (head && head->retire < end) end = head->retire;
    if (next && next->start < end) end = next->start;
  }
  return end;
}

/* Of the queues in the set, the one whose next command starts first; of several of them, or that
 * have started by now, the first; -1: there is none. */
static int first_of(const walk *w, unsigned set, uint64_t now) {
  uint64_t first = UINT64_MAX;
  int found = -1;
  for (int q = 0; q < WK_SCHED_QUEUES; q++) {
    const wk_sched_span *s = wk_sched_in(set, q) ? head_of(w, q) : NULL;
    uint64_t start = s && s->start > now ? s->start : now;
    if (s && start < first) first = start, found = q;
  }
  return found;
}

static uint32_t owner(const walk *w, uint64_t now) {
  int q = first_of(w, w->computes, now);
  if (q < 0) q = first_of(w, ~0u, 0);
  return q < 0 ? w->last : number_of(w, q, w->queues[q].head);
}

/* A command of the first engine gives its cycles to the next one in time for what the array needs
 * for that, for the one behind it, and so on: from the last one back. */
static void hand_over(walk *w) {
  if (!w->computes) return;
  int engine = __builtin_ctz(w->computes);
  for (size_t i = w->queues[engine].n; i-- > 1;) {
    const wk_sched_span *next = at(w, engine, i);
    wk_sched_span *s = &w->spans[number_of(w, engine, i - 1)];
    uint64_t latest = next->retire > next->array ? next->retire - next->array : 0;
    if (latest < next->start) latest = next->start;
    if (latest < s->retire) s->retire = latest;
  }
}

static bool is_counted(const wk_sched_span *s) {
  return s->kind != WK_SCHED_MARKS && wk_sched_has_run(s);
}

/* The numbers of the n commands, queue behind queue. A mark does nothing: whose cycles they are is
 * decided by what it stands between. */
static void sort_by_queue(walk *w, size_t n, uint32_t *numbers) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++) {
    w->queues[q].commands = numbers;
    for (uint32_t i = 0; i < n; i++)
      if (w->spans[i].queue == q && is_counted(&w->spans[i])) *numbers++ = i;
    w->queues[q].n = (size_t)(numbers - w->queues[q].commands);
  }
}

static void visit_all(walk *w, uint64_t cycles, wk_sched_visit *visit, void *context) {
  for (uint64_t now = 0, next; now < cycles; now = next) {
    bool transfers = false, computes = false;
    advance(w, now);
    next = next_event(w, cycles);
    for (int q = 0; q < WK_SCHED_QUEUES; q++) {
      const wk_sched_span *s = head_of(w, q);
      if (s && s->start <= now) *(wk_sched_in(w->computes, q) ? &computes : &transfers) = true;
    }
    visit(context, now, next, owner(w, now), transfers, computes);
  }
}

wk_status wk_sched_charge_walk(const wk_sched_queues *queues, const wk_sched_span *spans, size_t n,
                               uint64_t cycles, wk_sched_visit *visit, void *context) {
  walk w = {.computes = queues->computes, .spans = malloc((n + 1) * sizeof *spans),
            .last = WK_SCHED_NOBODY};
  uint32_t *numbers = malloc((n + 1) * sizeof *numbers);
  wk_status s = w.spans && numbers ? NULL : wk_error(WK_RESOURCE, "out of memory");
  if (!s) {
    if (n) memcpy(w.spans, spans, n * sizeof *spans);
    sort_by_queue(&w, n, numbers);
    hand_over(&w);
    visit_all(&w, cycles, visit, context);
  }
  free(numbers);
  free(w.spans);
  return s;
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct {
  const wk_sched_span *spans;
  uint32_t layers;
  wk_sched_charge *out;
} sums;

static void add(void *context, uint64_t from, uint64_t to, uint32_t owner, bool transfers,
                bool computes) {
  sums *x = context;
  uint32_t who = owner == WK_SCHED_NOBODY ? 0 : x->spans[owner].operator;
  wk_sched_charge *c = &x->out[who <= x->layers ? who : 0];
  c->cycles += to - from;
  if (transfers) c->transfers += to - from;
  if (transfers && computes) c->overlapped += to - from;
}

wk_status wk_sched_charge_cycles(const wk_sched_queues *queues, const wk_sched_span *spans,
                                 size_t n, uint64_t cycles, uint32_t layers,
                                 wk_sched_charge *out) {
  return wk_sched_charge_walk(queues, spans, n, cycles, add, &(sums){spans, layers, out});
}

/* ---- who released whom ----------------------------------------------------------------------- */

uint32_t wk_sched_released_by(const wk_sched_span *spans, const wk_sched_numbers *x, int queue,
                              uint32_t ordinal, const wk_sched_counts waits) {
  uint64_t latest = ordinal ? spans[x->of[queue][ordinal - 1]].start : 0;
  uint32_t released_by = WK_SCHED_NOBODY;
  if (spans[x->of[queue][ordinal]].start == WK_SCHED_NOT_RUN) return released_by;
  for (int q = 0; q < WK_SCHED_QUEUES; q++) {
    if (!waits[q] || waits[q] > x->n[q]) continue;
    uint32_t other = x->of[q][waits[q] - 1];
    uint64_t retire = spans[other].retire;
    if (retire == WK_SCHED_NOT_RUN || retire < latest) continue;
    latest = retire;
    released_by = other;
  }
  return released_by;
}
