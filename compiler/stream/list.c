/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/list.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

typedef struct {
  uint64_t at;
  uint32_t command;
} event;
typedef WK_VEC(event) heap; /* the least `at`, then the least command, first */

typedef struct {
  const wk_sched_list *x;
  uint32_t *missing;        /* per command: needs that have not retired */
  uint32_t *first, *needed; /* who needs command i: needed[first[i] .. first[i + 1] - 1] */
  uint32_t *queues[WK_SCHED_QUEUES], size[WK_SCHED_QUEUES], head[WK_SCHED_QUEUES];
  uint64_t free_at[WK_SCHED_QUEUES], memory, now, end;
  heap ready[WK_SCHED_QUEUES]; /* of queues without order: commands that miss nothing, by number */
  heap running;                /* by retirement */
  event *started;
  uint32_t n_started;
} walk;

/* ---- a heap ---------------------------------------------------------------------------------- */

static bool is_before(const event *a, const event *b) {
  return a->at != b->at ? a->at < b->at : a->command < b->command;
}

static void swap(event *a, event *b) {
  event x = *a;
  *a = *b, *b = x;
}

static void push(heap *h, event e) {
  wk_vec_push(h, e);
  for (size_t i = h->n - 1; i && is_before(&h->data[i], &h->data[(i - 1) / 2]); i = (i - 1) / 2)
    swap(&h->data[i], &h->data[(i - 1) / 2]);
}

static event pop(heap *h) {
  event top = h->data[0];
  h->data[0] = h->data[--h->n];
  for (size_t i = 0, k; (k = 2 * i + 1) < h->n; i = k) {
    if (k + 1 < h->n && is_before(&h->data[k + 1], &h->data[k])) k++;
    if (!is_before(&h->data[k], &h->data[i])) break;
    swap(&h->data[i], &h->data[k]);
  }
  return top;
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool is_ordered(const wk_sched_list *x, int queue) {
  return wk_sched_in(x->ordered, queue);
}

static bool is_gone(const wk_sched_list *x, uint32_t i) { return x->is_gone && x->is_gone[i]; }

static void start(walk *w, uint32_t i) {
  const wk_sched_list *x = w->x;
  int queue = x->queue[i];
  uint64_t end = w->now + x->time[i].busy;
  if (x->moves[i]) w->memory = end;
  if (is_ordered(x, queue)) w->free_at[queue] = end, w->head[queue]++;
  if (wk_sched_in(x->serial, queue)) w->free_at[queue] = end + x->time[i].delay;
  w->started[w->n_started++] = (event){w->now, i};
  push(&w->running, (event){end + x->time[i].delay, i});
}

static void become_ready(walk *w, uint32_t i) {
  int queue = w->x->queue[i];
  if (!is_ordered(w->x, queue)) push(&w->ready[queue], (event){0, i});
}

static void retire(walk *w, uint32_t i) {
  w->end = w->now;
  for (uint32_t k = w->first[i]; k < w->first[i + 1]; k++)
    if (!--w->missing[w->needed[k]]) become_ready(w, w->needed[k]);
}

/* The next of a queue, if it may start now; NOBODY. */
static uint32_t head_of(const walk *w, int q) {
  if (w->free_at[q] > w->now) return NOBODY;
  if (w->ready[q].n) return w->ready[q].data[0].command;
  if (w->head[q] == w->size[q]) return NOBODY;
  uint32_t i = w->queues[q][w->head[q]];
  return w->missing[i] ? NOBODY : i;
}

static bool start_transfer(walk *w) {
  uint32_t next = NOBODY;
  if (w->memory > w->now) return false;
  for (int q = 0; q < WK_SCHED_QUEUES; q++) {
    uint32_t head = wk_sched_in(w->x->computes, q) ? NOBODY : head_of(w, q);
    if (head < next) next = head;
  }
  if (next == NOBODY) return false;
  if (w->ready[w->x->queue[next]].n) pop(&w->ready[w->x->queue[next]]);
  start(w, next);
  return true;
}

static void start_all(walk *w) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++)
    for (uint32_t i; wk_sched_in(w->x->computes, q) && (i = head_of(w, q)) != NOBODY;) start(w, i);
  while (start_transfer(w)) continue;
}

/* When something retires, or a queue or memory is free again. */
static uint64_t next_time(const walk *w) {
  uint64_t next = w->running.n ? w->running.data[0].at : UINT64_MAX;
  for (int q = 0; q < WK_SCHED_QUEUES; q++)
    if (w->free_at[q] > w->now && w->free_at[q] < next) next = w->free_at[q];
  if (w->memory > w->now && w->memory < next) next = w->memory;
  return next;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void find_needed(walk *w) {
  const wk_sched_list *x = w->x;
  uint32_t *at = wk_xcalloc(x->n, sizeof *at);
  w->needed = wk_xcalloc(x->first[x->n], sizeof *w->needed);
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = x->first[i]; k < x->first[i + 1] && !is_gone(x, i); k++)
      w->first[x->needs[k] + 1]++;
  for (uint32_t i = 0; i < x->n; i++) w->first[i + 1] += w->first[i];
  for (uint32_t i = 0; i < x->n; i++) at[i] = w->first[i];
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = x->first[i]; k < x->first[i + 1] && !is_gone(x, i); k++, w->missing[i]++)
      w->needed[at[x->needs[k]]++] = i;
  free(at);
}

static void fill_queues(walk *w) {
  const wk_sched_list *x = w->x;
  for (int q = 0; q < WK_SCHED_QUEUES; q++)
    if (is_ordered(x, q)) w->queues[q] = wk_xcalloc(x->n, sizeof(uint32_t));
  for (uint32_t i = 0; i < x->n; i++) {
    int q = x->queue[i];
    if (is_gone(x, i)) continue;
    if (is_ordered(x, q)) w->queues[q][w->size[q]++] = i;
    else if (!w->missing[i]) become_ready(w, i);
  }
}

static void schedule(walk *w) {
  find_needed(w);
  fill_queues(w);
  for (;;) {
    start_all(w);
    uint64_t next = next_time(w);
    if (next == UINT64_MAX) break;
    w->now = next;
    while (w->running.n && w->running.data[0].at <= w->now) retire(w, pop(&w->running).command);
  }
  for (int q = 0; q < WK_SCHED_QUEUES; q++) free(w->queues[q]);
}

static int by_start(const void *a, const void *b) {
  const event *x = a, *y = b;
  return is_before(x, y) ? -1 : is_before(y, x);
}

uint32_t wk_sched_list_order(const wk_sched_list *x, uint32_t *order, uint64_t *cycles) {
  walk w = {.x = x};
  w.missing = wk_xcalloc(x->n, sizeof *w.missing);
  w.first = wk_xcalloc((size_t)x->n + 1, sizeof *w.first);
  w.started = wk_xcalloc(x->n, sizeof *w.started);
  schedule(&w);
  if (w.n_started) qsort(w.started, w.n_started, sizeof *w.started, by_start);
  for (uint32_t k = 0; k < w.n_started; k++) order[k] = w.started[k].command;
  if (cycles) *cycles = w.end;
  for (int q = 0; q < WK_SCHED_QUEUES; q++) wk_vec_free(&w.ready[q]);
  wk_vec_free(&w.running);
  free(w.started);
  free(w.needed);
  free(w.first);
  free(w.missing);
  return w.n_started;
}
