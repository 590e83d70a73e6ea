/* SPDX-License-Identifier: Apache-2.0
 * From steps to a stream: order, places, waits. */
#include "compiler/stream/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/memory/plan.h"

typedef struct {
  const wk_sched_net *net;
  wk_sched_steps *steps;
  wk_arena *arena;
  wk_sched_schedule *out;
} scheduling;

/* ---- places ---------------------------------------------------------------------------------- */

/* Places come with the times; the planner's checker, which shares no code with either, confirms
 * that no two buffers that live at the same time share a byte. */
static wk_status check_places(scheduling *x) {
  size_t n = x->steps->buffers.n;
  const wk_sched_machine *m = x->net->machine;
  wk_plan_item *items = wk_xcalloc(n, sizeof *items);
  for (size_t i = 0; i < n; i++) {
    wk_sched_buffer *b = &x->steps->buffers.data[i];
    b->at = x->out->times.place[i];
    items[i] = (wk_plan_item){.size = b->bytes, .align = m->align, .lower = INT64_MAX,
                              .fixed = -1, .offset = b->at};
  }
  for (size_t i = 0; i < x->steps->list.n; i++)
    for (int k = 0; k < x->steps->list.data[i].n_access; k++) {
      wk_plan_item *b = &items[x->steps->list.data[i].access[k].buffer];
      if (x->out->times.start[i] < b->lower) b->lower = x->out->times.start[i];
      if (x->out->times.retire[i] > b->upper) b->upper = x->out->times.retire[i];
    }
  for (size_t i = 0; i < n; i++)
    if (items[i].lower == INT64_MAX) items[i].lower = items[i].upper = 0;
  wk_status s = wk_plan_check(items, n, m->scratchpad);
  free(items);
  return s;
}

static const char *layer_of(const scheduling *x, size_t step) {
  uint32_t layer = x->steps->list.data[step].layer;
  return layer ? x->net->layers[layer - 1] : NULL;
}

static wk_status find_places(scheduling *x, wk_sched_prefetch mode) {
  int64_t capacity = x->net->machine->scratchpad;
  if (!wk_sched_simulate(x->net, x->steps, capacity, mode, x->arena, &x->out->times))
    return wk_error_at(WK_RESOURCE, layer_of(x, x->out->times.failed),
                       "the schedule has no room for it in %lld bytes of scratchpad",
                       (long long)capacity);
  wk_sched_order(&x->out->times, x->steps->list.n, x->out->order);
  return check_places(x);
}

/* Tensors in WORK: each from its first store to its last load. */
static wk_status place_tensors(scheduling *x, wk_plan_item **out) {
  size_t n = x->net->n_tensors;
  wk_plan_item *items = wk_xcalloc(n, sizeof *items);
  *out = items;
  for (size_t t = 0; t < n; t++)
    items[t] = (wk_plan_item){.size = x->net->tensors[t].bytes,
                              .align = x->net->machine->memory_align, .lower = INT64_MAX,
                              .fixed = -1};
  for (size_t i = 0; i < x->steps->list.n; i++) {
    int t = x->steps->list.data[i].tensor;
    if (t < 0) continue;
    if (x->out->times.start[i] < items[t].lower) items[t].lower = x->out->times.start[i];
    if (x->out->times.retire[i] > items[t].upper) items[t].upper = x->out->times.retire[i];
  }
  for (size_t t = 0; t < n; t++)
    if (x->net->tensors[t].home != WK_SCHED_WORK || items[t].lower == INT64_MAX)
      items[t].lower = items[t].upper = 0;
  wk_plan_result r;
  WK_TRY(wk_plan(items, n, &(wk_plan_options){.effort = 2000}, &r));
  x->out->work_bytes = r.peak;
  for (size_t t = 0; t < n; t++)
    if (x->net->tensors[t].home == WK_SCHED_WORK)
      x->net->tensors[t].at = items[t].offset;
  return NULL;
}

/* ---- who was there before -------------------------------------------------------------------- */

typedef wk_sched_counts counts;

static void join(counts a, const counts b) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++)
    if (a[q] < b[q]) a[q] = b[q];
}

/* The first step of each queue that uses a buffer waits for all that used its bytes before. */
typedef struct {
  counts *users;  /* of each buffer, so far */
  counts *before; /* of each buffer: who used its bytes before it */
  uint32_t *left; /* accesses that are still to come */
  counts *cells;  /* of the scratchpad */
  int64_t cell;
} reuse;

static void enter(reuse *r, const wk_sched_buffer *b, int number) {
  for (int64_t i = b->at / r->cell; i <= (b->at + b->bytes - 1) / r->cell; i++)
    join(r->before[number], r->cells[i]);
}

static void leave(reuse *r, const wk_sched_buffer *b, int number) {
  for (int64_t i = b->at / r->cell; i <= (b->at + b->bytes - 1) / r->cell; i++)
    join(r->cells[i], r->users[number]);
}

/* A serial queue need not be told to wait for itself. */
static bool is_serial(const scheduling *x, int queue) {
  return wk_sched_in(x->net->machine->queues.serial, queue);
}

static void add_needs(const scheduling *x, wk_sched_step *s, const counts c) {
  for (int q = 0; q < x->net->machine->queues.n; q++)
    if (c[q] > s->needs[q] && !(q == s->queue && is_serial(x, q))) s->needs[q] = c[q];
}

static void note_reuse(scheduling *x) {
  size_t n = x->steps->buffers.n;
  reuse r = {.cell = x->net->machine->align};
  r.users = wk_xcalloc(n, sizeof *r.users);
  r.before = wk_xcalloc(n, sizeof *r.before);
  r.left = wk_xcalloc(n, sizeof *r.left);
  r.cells = wk_xcalloc((size_t)(x->net->machine->scratchpad / r.cell), sizeof *r.cells);
  for (size_t i = 0; i < x->steps->list.n; i++)
    for (int k = 0; k < x->steps->list.data[i].n_access; k++)
      r.left[x->steps->list.data[i].access[k].buffer]++;
  bool *seen = wk_xcalloc(n, sizeof *seen);
  for (size_t i = 0; i < x->steps->list.n; i++) {
    wk_sched_step *s = &x->steps->list.data[x->out->order[i]];
    for (int k = 0; k < s->n_access; k++) {
      int b = s->access[k].buffer;
      if (!seen[b]) enter(&r, &x->steps->buffers.data[b], b);
      seen[b] = true;
      if (!r.users[b][s->queue]) add_needs(x, s, r.before[b]);
    }
    for (int k = 0; k < s->n_access; k++) {
      int b = s->access[k].buffer;
      if (r.users[b][s->queue] < s->ordinal + 1) r.users[b][s->queue] = s->ordinal + 1;
      if (!--r.left[b]) leave(&r, &x->steps->buffers.data[b], b);
    }
  }
  free(seen);
  free(r.users);
  free(r.before);
  free(r.left);
  free(r.cells);
}

/* The same for tensors in WORK. */
static void note_memory_reuse(scheduling *x, const wk_plan_item *items) {
  size_t n = x->net->n_tensors;
  counts *users = wk_xcalloc(n, sizeof *users);
  for (size_t i = 0; i < x->steps->list.n; i++) {
    wk_sched_step *s = &x->steps->list.data[x->out->order[i]];
    int t = s->tensor;
    if (t < 0 || x->net->tensors[t].home != WK_SCHED_WORK) continue;
    const wk_plan_item *a = &items[t];
    for (size_t u = 0; u < n && !users[t][s->queue]; u++) {
      const wk_plan_item *b = &items[u];
      if (b->upper <= a->lower && b->offset < a->offset + a->size &&
          a->offset < b->offset + b->size && b->upper > b->lower)
        add_needs(x, s, users[u]);
    }
    users[t][s->queue] = s->ordinal + 1;
  }
  free(users);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* What is known to have retired when a command starts, and of what it stands for once it has
 * retired itself. A wait that follows from another one, or from the command before in the same
 * queue, is left out. */
typedef struct {
  counts *known[WK_SCHED_QUEUES]; /* of each command: at its start, itself added */
  counts queue[WK_SCHED_QUEUES];  /* of the last command of each queue, at its start */
} clocks;

static void find_waits_of(const scheduling *x, clocks *k, const wk_sched_step *s, counts waits) {
  counts now;
  int queues = x->net->machine->queues.n;
  memcpy(now, k->queue[s->queue], sizeof now);
  if (is_serial(x, s->queue) && s->ordinal) join(now, k->known[s->queue][s->ordinal - 1]);
  memcpy(waits, s->needs, sizeof now);
  for (int q = 0; q < queues; q++)
    if (waits[q] <= now[q]) waits[q] = 0;
  for (int q = 0; q < queues; q++)
    for (int r = 0; r < queues && waits[q]; r++)
      if (r != q && waits[r] && k->known[r][waits[r] - 1][q] >= waits[q]) waits[q] = 0;
  for (int q = 0; q < queues; q++)
    if (waits[q]) join(now, k->known[q][waits[q] - 1]);
  memcpy(k->queue[s->queue], now, sizeof now);
  if (now[s->queue] < s->ordinal + 1) now[s->queue] = s->ordinal + 1;
  memcpy(k->known[s->queue][s->ordinal], now, sizeof now);
}

static void find_waits(scheduling *x, wk_sched_prefetch mode) {
  clocks k = {0};
  wk_sched_counts issued = {0};
  int queues = x->net->machine->queues.n;
  for (int q = 0; q < queues; q++) k.known[q] = wk_xcalloc(x->steps->issued[q], sizeof **k.known);
  for (size_t i = 0; i < x->steps->list.n; i++) {
    uint32_t number = x->out->order[i];
    wk_sched_step *s = &x->steps->list.data[number];
    if (mode == WK_PREFETCH_SERIAL) add_needs(x, s, issued);
    find_waits_of(x, &k, s, x->out->waits[number]);
    issued[s->queue]++;
  }
  for (int q = 0; q < queues; q++) free(k.known[q]);
}

wk_status wk_sched_schedule_steps(const wk_sched_net *net, wk_sched_steps *steps,
                                  wk_sched_prefetch mode, wk_arena *a, wk_sched_schedule *out) {
  scheduling x = {.net = net, .steps = steps, .arena = a, .out = out};
  wk_plan_item *tensors = NULL;
  size_t n = steps->list.n;
  *out = (wk_sched_schedule){.order = wk_arena_alloc(a, n * sizeof *out->order),
                             .waits = wk_arena_alloc(a, n * sizeof *out->waits),
                             .uses = wk_arena_alloc(a, n * sizeof *out->uses)};
  for (size_t i = 0; i < n; i++)
    memcpy(out->uses[i], steps->list.data[i].needs, sizeof out->uses[i]);
  wk_status s = NULL;
  if (n + 1 >= net->machine->most_commands)
    s = wk_error(WK_RESOURCE, "more than %u commands", net->machine->most_commands);
  if (!s) s = find_places(&x, mode);
  if (!s) s = place_tensors(&x, &tensors);
  if (!s) {
    note_reuse(&x);
    note_memory_reuse(&x, tensors);
    find_waits(&x, mode);
  }
  free(tensors);
  return s;
}
