/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/charge.h"

#include <stdlib.h>

/* The commands of a queue, in order. */
typedef struct {
  WK_VEC(uint32_t) commands;
  size_t head, next; /* the first that has not retired, that has not started */
} queue_walk;

typedef struct {
  const wk_accel_span *spans;
  queue_walk queues[WK_QUEUE_COUNT];
  uint32_t last; /* layer of a command that retired last */
} walk;

static bool is_compute(int queue) { return queue == WK_QUEUE_ex || queue == WK_QUEUE_ve; }

static const wk_accel_span *at(const walk *w, int queue, size_t i) {
  const queue_walk *q = &w->queues[queue];
  return i < q->commands.n ? &w->spans[q->commands.data[i]] : NULL;
}

static const wk_accel_span *head_of(const walk *w, int queue) {
  return at(w, queue, w->queues[queue].head);
}

static void advance(walk *w, uint64_t now) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    queue_walk *x = &w->queues[q];
    for (const wk_accel_span *s; (s = head_of(w, q)) && s->retire <= now; x->head++)
      w->last = s->operator;
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
  if (ex && ex->start <= now) return ex->operator;
  if (ve && ve->start <= now) return ve->operator;
  if (ex && (!ve || ex->start <= ve->start)) return ex->operator;
  if (ve) return ve->operator;
  const wk_accel_span *first = NULL;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    const wk_accel_span *s = head_of(w, q);
    if (s && (!first || s->start < first->start)) first = s;
  }
  return first ? first->operator : w->last;
}

static void charge(const walk *w, uint64_t now, uint64_t cycles, wk_accel_charge *to) {
  bool transfers = false, computes = false;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    const wk_accel_span *s = head_of(w, q);
    if (s && s->start <= now) *(is_compute(q) ? &computes : &transfers) = true;
  }
  to->cycles += cycles;
  if (transfers) to->transfers += cycles;
  if (transfers && computes) to->overlapped += cycles;
}

/* A MARK computes nothing: whose cycles they are is decided by what it stands between. */
void wk_accel_charge_cycles(const wk_accel_span *spans, size_t n, uint64_t cycles, uint32_t layers,
                            wk_accel_charge *out) {
  walk w = {.spans = spans};
  for (uint32_t i = 0; i < n; i++)
    if (spans[i].opcode != WK_CMD_MARK) wk_vec_push(&w.queues[spans[i].queue].commands, i);
  for (uint64_t now = 0, next; now < cycles; now = next) {
    advance(&w, now);
    next = next_event(&w, cycles);
    uint32_t who = owner(&w, now);
    charge(&w, now, next - now, &out[who <= layers ? who : 0]);
  }
  for (int q = 0; q < WK_QUEUE_COUNT; q++) wk_vec_free(&w.queues[q].commands);
}
