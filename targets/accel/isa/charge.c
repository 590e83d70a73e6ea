/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/charge.h"

#include <stdlib.h>
#include <string.h>

/* The commands of a queue, in order. */
typedef struct {
  const uint32_t *commands;
  size_t n, head, next; /* the first that has not retired, that has not started */
} queue_walk;

typedef struct {
  wk_accel_span *spans;
  queue_walk queues[WK_QUEUE_COUNT];
  uint32_t last; /* that retired */
} walk;

static bool is_compute(int queue) { return queue == WK_QUEUE_ex || queue == WK_QUEUE_ve; }

static uint32_t number_of(const walk *w, int queue, size_t i) {
  const queue_walk *q = &w->queues[queue];
  return i < q->n ? q->commands[i] : WK_ACCEL_NOBODY;
}

static const wk_accel_span *at(const walk *w, int queue, size_t i) {
  uint32_t number = number_of(w, queue, i);
  return number == WK_ACCEL_NOBODY ? NULL : &w->spans[number];
}

static const wk_accel_span *head_of(const walk *w, int queue) {
  return at(w, queue, w->queues[queue].head);
}

static void advance(walk *w, uint64_t now) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    queue_walk *x = &w->queues[q];
    for (const wk_accel_span *s; (s = head_of(w, q)) && s->retire <= now; x->head++)
      w->last = number_of(w, q, x->head);
    for (const wk_accel_span *s; (s = at(w, q, x->next)) && s->start <= now;) x->next++;
  }
}

/* When something starts or retires next, `end` at the latest. */
static uint64_t next_event(const walk *w, uint64_t end) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    const wk_accel_span *head = head_of(w, q), *next = at(w, q, w->queues[q].next);
    if (head && head->retire < end) end = head->retire;
    if (next && next->start < end) end = next->start;
  }
  return end;
}

static uint32_t owner(const walk *w, uint64_t now) {
  const wk_accel_span *ex = head_of(w, WK_QUEUE_ex), *ve = head_of(w, WK_QUEUE_ve);
  bool is_ex = ex && (ex->start <= now || !ve || (ve->start > now && ex->start <= ve->start));
  if (is_ex) return number_of(w, WK_QUEUE_ex, w->queues[WK_QUEUE_ex].head);
  if (ve) return number_of(w, WK_QUEUE_ve, w->queues[WK_QUEUE_ve].head);
  uint32_t first = WK_ACCEL_NOBODY;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    uint32_t i = number_of(w, q, w->queues[q].head);
    if (i != WK_ACCEL_NOBODY &&
        (first == WK_ACCEL_NOBODY || w->spans[i].start < w->spans[first].start))
      first = i;
  }
  return first != WK_ACCEL_NOBODY ? first : w->last;
}

/* A command of ex gives its cycles to the next one in time for what the array needs for that, for
 * the one behind it, and so on: from the last one back. */
static void hand_over(walk *w) {
  const queue_walk *ex = &w->queues[WK_QUEUE_ex];
  for (size_t i = ex->n; i-- > 1;) {
    const wk_accel_span *next = at(w, WK_QUEUE_ex, i);
    wk_accel_span *s = &w->spans[ex->commands[i - 1]];
    uint64_t latest = next->retire > next->array ? next->retire - next->array : 0;
    if (latest < next->start) latest = next->start;
    if (latest < s->retire) s->retire = latest;
  }
}

/* The numbers of the n commands, queue behind queue. A MARK computes nothing: whose cycles they are
 * is decided by what it stands between. */
static void sort_by_queue(walk *w, size_t n, uint32_t *numbers) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    w->queues[q].commands = numbers;
    for (uint32_t i = 0; i < n; i++)
      if (w->spans[i].queue == q && w->spans[i].opcode != WK_CMD_MARK) *numbers++ = i;
    w->queues[q].n = (size_t)(numbers - w->queues[q].commands);
  }
}

static void visit_all(walk *w, uint64_t cycles, wk_accel_charge_visit *visit, void *context) {
  for (uint64_t now = 0, next; now < cycles; now = next) {
    bool transfers = false, computes = false;
    advance(w, now);
    next = next_event(w, cycles);
    for (int q = 0; q < WK_QUEUE_COUNT; q++) {
      const wk_accel_span *s = head_of(w, q);
      if (s && s->start <= now) *(is_compute(q) ? &computes : &transfers) = true;
    }
    visit(context, now, next, owner(w, now), transfers, computes);
  }
}

wk_status wk_accel_charge_walk(const wk_accel_span *spans, size_t n, uint64_t cycles,
                               wk_accel_charge_visit *visit, void *context) {
  walk w = {.spans = malloc((n + 1) * sizeof *spans), .last = WK_ACCEL_NOBODY};
  uint32_t *numbers = malloc((n + 1) * sizeof *numbers);
  wk_status s = w.spans && numbers ? NULL : wk_error(WK_RESOURCE, "out of memory");
  if (!s) {
    memcpy(w.spans, spans, n * sizeof *spans);
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
  const wk_accel_span *spans;
  uint32_t layers;
  wk_accel_charge *out;
} sums;

static void add(void *context, uint64_t from, uint64_t to, uint32_t owner, bool transfers,
                bool computes) {
  sums *x = context;
  uint32_t who = owner == WK_ACCEL_NOBODY ? 0 : x->spans[owner].operator;
  wk_accel_charge *c = &x->out[who <= x->layers ? who : 0];
  c->cycles += to - from;
  if (transfers) c->transfers += to - from;
  if (transfers && computes) c->overlapped += to - from;
}

wk_status wk_accel_charge_cycles(const wk_accel_span *spans, size_t n, uint64_t cycles,
                                 uint32_t layers, wk_accel_charge *out) {
  return wk_accel_charge_walk(spans, n, cycles, add, &(sums){spans, layers, out});
}
