/* SPDX-License-Identifier: Apache-2.0
 * A list schedule: the vector unit, the array and stores keep their order, a load may begin as soon
 * as what it needs has retired and memory is free; of several that may, the one that comes first in
 * the stream does. */
#include <stdlib.h>
#include <string.h>

#include "cli/study/what_if.h"
#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

enum { TAIL = 64 }; /* cycles until what an engine has made is there for others */

typedef struct {
  uint64_t at;
  uint32_t command;
} event;
typedef WK_VEC(event) heap; /* the least `at`, then the least command, first */

typedef struct {
  const wk_if_commands *x;
  int assumed;
  uint32_t *missing;        /* per command: needs that have not retired */
  uint32_t *first, *needed; /* who needs command i: needed[first[i] .. first[i + 1] - 1] */
  uint32_t *queues[WK_QUEUE_COUNT], size[WK_QUEUE_COUNT], head[WK_QUEUE_COUNT];
  uint64_t free_at[WK_QUEUE_COUNT], memory, now;
  int64_t words; /* of the last tile of ex */
  heap ready, running; /* loads by number, commands by retirement */
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

static bool moves(const wk_isa_command *c) {
  return c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST;
}

static bool is_ordered(const wk_isa_command *c) { return c->queue < WK_QUEUE_ld0; }

/* For which the queue, or the memory, is busy. */
static uint64_t busy_cycles(walk *w, const wk_isa_command *c) {
  const wk_machine *m = w->x->machine;
  if (moves(c)) {
    uint64_t n = wk_transfer_bytes(c);
    if (w->assumed & WK_IF_FAST) return wk_ceil_div(n, (uint64_t)m->bus);
    return n * (uint64_t)m->dram_bytes.den / (uint64_t)m->dram_bytes.num + 1;
  }
  if (c->queue != WK_QUEUE_ex || c->opcode == WK_CMD_MARK) return wk_isa_duration(m, c) + 1;
  wk_isa_bound b = wk_isa_bound_of(m, c, &w->words);
  return (uint64_t)(b.array > b.drain ? b.array : b.drain) + 1;
}

static uint64_t delay(const walk *w, const wk_isa_command *c) {
  if (!moves(c) || w->assumed & WK_IF_AT_ONCE) return TAIL;
  const wk_machine *m = w->x->machine;
  return TAIL + (uint64_t)(c->opcode == WK_CMD_LD ? m->dram_latency : m->dram_write_latency);
}

static void start(walk *w, uint32_t i) {
  const wk_isa_command *c = &w->x->c[i];
  uint64_t end = w->now + busy_cycles(w, c);
  if (moves(c)) w->memory = end;
  if (is_ordered(c)) w->free_at[c->queue] = end, w->head[c->queue]++;
  w->started[w->n_started++] = (event){w->now, i};
  push(&w->running, (event){end + delay(w, c), i});
}

static void become_ready(walk *w, uint32_t i) {
  if (!is_ordered(&w->x->c[i])) push(&w->ready, (event){0, i});
}

static void retire(walk *w, uint32_t i) {
  for (uint32_t k = w->first[i]; k < w->first[i + 1]; k++)
    if (!--w->missing[w->needed[k]]) become_ready(w, w->needed[k]);
}

/* The next of a queue that keeps its order, if it may start now; NOBODY. */
static uint32_t head_of(const walk *w, int q) {
  if (w->head[q] == w->size[q] || w->free_at[q] > w->now) return WK_SCHED_NOBODY;
  uint32_t i = w->queues[q][w->head[q]];
  return w->missing[i] ? WK_SCHED_NOBODY : i;
}

static bool start_transfer(walk *w) {
  uint32_t store = head_of(w, WK_QUEUE_st);
  if (w->memory > w->now) return false;
  if (w->ready.n && w->ready.data[0].command < store) start(w, pop(&w->ready).command);
  else if (store != WK_SCHED_NOBODY) start(w, store);
  else return false;
  return true;
}

static void start_all(walk *w) {
  for (int q = 0; q < WK_QUEUE_st; q++)
    for (uint32_t i; (i = head_of(w, q)) != WK_SCHED_NOBODY;) start(w, i);
  while (start_transfer(w)) continue;
}

/* When something retires, or a queue or memory is free again. */
static uint64_t next_time(const walk *w) {
  uint64_t next = w->running.n ? w->running.data[0].at : UINT64_MAX;
  for (int q = 0; q < WK_QUEUE_ld0; q++)
    if (w->free_at[q] > w->now && w->free_at[q] < next) next = w->free_at[q];
  if (w->memory > w->now && w->memory < next) next = w->memory;
  return next;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void find_needed(walk *w) {
  const wk_if_commands *x = w->x;
  uint32_t *at = wk_xcalloc(x->n, sizeof *at);
  w->needed = wk_xcalloc(x->first[x->n], sizeof *w->needed);
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = x->first[i]; k < x->first[i + 1] && !x->is_gone[i]; k++)
      w->first[x->needs[k] + 1]++;
  for (uint32_t i = 0; i < x->n; i++) w->first[i + 1] += w->first[i];
  for (uint32_t i = 0; i < x->n; i++) at[i] = w->first[i];
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = x->first[i]; k < x->first[i + 1] && !x->is_gone[i]; k++, w->missing[i]++)
      w->needed[at[x->needs[k]]++] = i;
  free(at);
}

static void schedule(walk *w) {
  const wk_if_commands *x = w->x;
  find_needed(w);
  for (int q = 0; q < WK_QUEUE_ld0; q++) w->queues[q] = wk_xcalloc(x->n, sizeof(uint32_t));
  for (uint32_t i = 0; i < x->n; i++) {
    int q = (int)x->c[i].queue;
    if (x->is_gone[i]) continue;
    if (is_ordered(&x->c[i])) w->queues[q][w->size[q]++] = i;
    else if (!w->missing[i]) become_ready(w, i);
  }
  for (;;) {
    start_all(w);
    uint64_t next = next_time(w);
    if (next == UINT64_MAX) break;
    w->now = next;
    while (w->running.n && w->running.data[0].at <= w->now) retire(w, pop(&w->running).command);
  }
  for (int q = 0; q < WK_QUEUE_ld0; q++) free(w->queues[q]);
}

static int by_start(const void *a, const void *b) {
  const event *x = a, *y = b;
  return is_before(x, y) ? -1 : is_before(y, x);
}

/* Loads take turns with the channels. */
static void hand_out(const walk *w, wk_isa_command *out) {
  const wk_if_commands *x = w->x;
  uint32_t *ordinal = wk_xcalloc(x->n, sizeof *ordinal), count[WK_QUEUE_COUNT] = {0};
  int *queue = wk_xcalloc(x->n, sizeof *queue), turn = 0;
  for (uint32_t k = 0; k < w->n_started; k++) {
    uint32_t i = w->started[k].command;
    out[k] = x->c[i];
    if (!is_ordered(&x->c[i])) {
      out[k].queue = (uint32_t)(WK_QUEUE_ld0 + turn);
      turn = (turn + 1) % (int)x->machine->load_channels;
    }
    queue[i] = (int)out[k].queue;
    ordinal[i] = ++count[queue[i]];
    out[k].wait = 0;
    memset(out[k].threshold, 0, sizeof out[k].threshold);
    for (uint32_t n = x->first[i]; n < x->first[i + 1]; n++)
      wk_isa_wait(&out[k], queue[x->needs[n]], ordinal[x->needs[n]]);
  }
  free(ordinal);
  free(queue);
}

uint32_t wk_if_order(const wk_if_commands *x, int assumed, wk_isa_command *out) {
  walk w = {.x = x, .assumed = assumed};
  w.missing = wk_xcalloc(x->n, sizeof *w.missing);
  w.first = wk_xcalloc(x->n + 1, sizeof *w.first);
  w.started = wk_xcalloc(x->n, sizeof *w.started);
  schedule(&w);
  qsort(w.started, w.n_started, sizeof *w.started, by_start);
  hand_out(&w, out);
  wk_vec_free(&w.ready);
  wk_vec_free(&w.running);
  free(w.started);
  free(w.needed);
  free(w.first);
  free(w.missing);
  return w.n_started;
}
