/* SPDX-License-Identifier: Apache-2.0
 * The schedule model. Steps are taken in program order, which is the order of every queue; buffers
 * get room in the order in which they are first used, as early as there is some; so one pass finds
 * when each step starts. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/dma.h"
#include "targets/accel/compile/schedule.h"
#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

/* ---- room in the scratchpad ------------------------------------------------------------------ */

typedef struct {
  int64_t time;
  int buffer;
} release;

typedef struct {
  int64_t at, end;
  int buffer;
} interval;

/* Live buffers in the order of their addresses. A buffer gets a place when it gets its room, and
 * waits until there is a gap: those that live long in the highest one, the others in the
 * lowest. */
typedef struct {
  release *heap;
  interval *live;
  size_t n, n_live;
  int64_t capacity, now; /* now: when the last buffer got its room */
} room;

static void push(room *r, release x) {
  size_t i = r->n++;
  for (; i && r->heap[(i - 1) / 2].time > x.time; i = (i - 1) / 2)
    r->heap[i] = r->heap[(i - 1) / 2];
  r->heap[i] = x;
}

static release pop(room *r) {
  release top = r->heap[0], x = r->heap[--r->n];
  size_t i = 0;
  for (size_t k; (k = 2 * i + 1) < r->n; i = k) {
    if (k + 1 < r->n && r->heap[k + 1].time < r->heap[k].time) k++;
    if (x.time <= r->heap[k].time) break;
    r->heap[i] = r->heap[k];
  }
  r->heap[i] = x;
  return top;
}

static void leave(room *r, const release *x) {
  size_t i = 0;
  while (r->live[i].buffer != x->buffer) i++;
  if (x->time > r->now) r->now = x->time;
  memmove(&r->live[i], &r->live[i + 1], (--r->n_live - i) * sizeof *r->live);
}

/* The gap before live buffer i, or behind the last one. */
static int64_t gap(const room *r, size_t i, int64_t *at) {
  *at = i ? r->live[i - 1].end : 0;
  return (i < r->n_live ? r->live[i].at : r->capacity) - *at;
}

static bool enter(room *r, int buffer, int64_t bytes, bool is_long, int64_t *place) {
  size_t none = r->n_live + 1, where = none;
  for (size_t i = 0; i < none && (is_long || where == none); i++) {
    int64_t at, size = gap(r, i, &at);
    if (size < bytes) continue;
    where = i;
    *place = is_long ? at + size - bytes : at;
  }
  if (where == none) return false;
  memmove(&r->live[where + 1], &r->live[where], (r->n_live++ - where) * sizeof *r->live);
  r->live[where] = (interval){*place, *place + bytes, buffer};
  return true;
}

static bool take(room *r, int buffer, int64_t bytes, bool is_long, int64_t *place) {
  while (!enter(r, buffer, bytes, is_long, place)) {
    if (!r->n) return false;
    release x = pop(r);
    leave(r, &x);
  }
  return true;
}

/* ---- engines --------------------------------------------------------------------------------- */

typedef struct {
  const wk_accel_net *net;
  const wk_accel_steps *steps;
  const wk_machine *m;
  wk_accel_times *t;
  wk_accel_prefetch mode;
  int64_t *retired[WK_QUEUE_COUNT]; /* by ordinal; in order, so that of the last is the latest */
  int64_t free_at[2];      /* of ex and ve: when the next command may start */
  int64_t words, lines;    /* of ex: end of the array's last word; last line of weights */
  int64_t drains[2];       /* when the drain has begun with the last commands but one, and last */
  int64_t drain;           /* end of the last drain */
  int64_t last;            /* the latest retirement of all */
  wk_accel_dma dma;
  room room;
  int64_t *since; /* of each buffer: when it got its room */
  int64_t *ends;  /* of each buffer: when the last step that uses it has retired */
  /* groups whose first buffer waits until all others that end before have gone */
  bool *begins_alone;
  int group;
  int64_t barrier; /* nothing of the group starts before */
  const uint32_t *order; /* of steps that have their places; NULL: as they stand, without any */
} simulation;

typedef struct {
  int64_t tiles, words, lines, pixels, n;
  bool drains, has_residual;
} sums;

static sums sums_of(const wk_machine *m, const wk_isa_command *c) {
  wk_epilogue e = wk_epilogue_of(c);
  sums s = {.pixels = (int64_t)e.ny * e.nx, .drains = e.drain, .has_residual = e.residual,
            .lines = e.n, .n = e.n};
  s.words = s.pixels;
  if (c->opcode == WK_CMD_CONV)
    s.tiles = WK_SV(c, CONV, kc) * WK_SV(c, CONV, ky) * WK_SV(c, CONV, kx);
  else if (c->opcode == WK_CMD_MM) {
    s.tiles = WK_SV(c, MM, kc);
    if (WK_V(c, MM, transposed)) s.lines = m->array;
  } else {
    bool three = WK_V(c, DWC, taps) == WK_CHOICE_TAPS_three;
    s.lines = three ? 3 : 1;
    s.tiles = WK_SV(c, DWC, ky) * (three ? (WK_SV(c, DWC, kx) + 2) / 3 : WK_SV(c, DWC, kx));
    if (three) {
      int64_t lead = WK_V(c, DWC, w) ? WK_SV(c, DWC, pad_l) : 0;
      if (lead > 2) lead = 2;
      s.words = e.ny * (WK_SV(c, DWC, sx) * (e.nx - 1) + 3 - (lead < 1 ? 0 : lead));
    }
  }
  return s;
}

wk_accel_bound wk_accel_bound_of(const wk_machine *m, const wk_isa_command *c) {
  sums s = sums_of(m, c);
  int64_t least = s.lines + WK_COST_ex_tile, tile = s.words > least ? s.words : least;
  return (wk_accel_bound){s.tiles * tile,
                          s.drains ? s.pixels * (s.has_residual ? 2 : 1) : 0};
}

/* The 32 bytes of a record and its entries. */
static int64_t record_reads(const wk_machine *m, const sums *s) {
  if (!s->drains) return 0;
  return WK_RECORD_BYTES / m->array + wk_accel_up(WK_ENTRY_BYTES * s->n, m->array);
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Results cannot overtake an array that reads less than a word for a pixel, which is a bank for
 * more than a cycle: cycles that the drain of step i loses behind the next command. */
static int64_t held_up(const simulation *x, size_t i, int64_t pixels) {
  enum { NEAR = 32 };
  for (size_t k = i + 1; k < x->steps->list.n && k < i + NEAR; k++) {
    const wk_isa_command *c = &x->steps->list.data[k].c;
    if (c->queue != WK_QUEUE_ex || c->opcode == WK_CMD_MARK) continue;
    int64_t column = c->opcode == WK_CMD_CONV ? WK_SV(c, CONV, in_x) : 0;
    if (column < 1 || column >= x->m->array) return 0;
    sums s = sums_of(x->m, c);
    int64_t during = s.tiles * s.words * column / x->m->array;
    if (during > pixels) during = pixels;
    return during * x->m->array / column - during;
  }
  return 0;
}

/* isa.md, Durations: weights of the next command are fetched while the array works, its words
 * follow without a gap, its drain follows the drain. The engine takes a command when the array has
 * begun with the one before and has all of its weights; the array begins with one when the drain
 * has begun with the last but one. */
static int64_t run_sums(simulation *x, size_t i, int64_t start) {
  sums s = sums_of(x->m, &x->steps->list.data[i].c);
  int64_t tile = s.lines + WK_COST_ex_tile, step = later(s.words, tile);
  int64_t from = later(start, x->lines), enters = later(x->words, x->drains[0]);
  int64_t begin = later(from + tile, enters), last = begin + (s.tiles - 1) * step;
  x->free_at[WK_QUEUE_ex] = later((s.tiles > 1 ? last - step : from) + tile, later(start, enters));
  x->lines = last; /* its weights were complete when its last tile began */
  x->words = last + s.words;
  int64_t record = later(enters, x->drains[1]) + WK_COST_ex_record + record_reads(x->m, &s);
  int64_t drain = later(later(x->words + WK_COST_ex_sum, record), x->drain);
  x->drains[0] = x->drains[1];
  x->drains[1] = drain;
  if (!s.drains) return drain + WK_COST_ex_retire;
  x->drain = drain + s.pixels * (s.has_residual ? 2 : 1) + held_up(x, i, s.pixels);
  return x->drain + WK_COST_ex_drain;
}

static int64_t run(simulation *x, size_t i, int64_t start) {
  const wk_accel_step *s = &x->steps->list.data[i];
  switch (s->c.opcode) {
    case WK_CMD_CONV:
    case WK_CMD_DWC:
    case WK_CMD_MM: return run_sums(x, i, start);
    case WK_CMD_LD:
    case WK_CMD_ST:
    case WK_CMD_FILL: return wk_accel_dma_run(&x->dma, s, start);
    default: break;
  }
  int64_t end = start + (int64_t)wk_isa_duration(x->m, &s->c);
  x->free_at[s->c.queue] = end;
  return end;
}

static int64_t free_at(const simulation *x, uint32_t queue) {
  return queue < WK_QUEUE_st ? x->free_at[queue] : x->dma.channels[queue].free_at;
}

enum { FETCHED = 32, DISPATCH = 3 }; /* commands ahead; cycles from fetched to started */

static size_t nth(const simulation *x, size_t i) { return x->order ? x->order[i] : i; }

/* Commands are fetched as far ahead as the front end has room for: when the i-th one can be there.
 * Only the first ones of a part are waited for. */
static int64_t fetch(simulation *x, size_t i) {
  wk_accel_dma_fetch(&x->dma, i < FETCHED ? 0 : x->t->start[nth(x, i - FETCHED)]);
  if (!x->steps->is_begin) return 0;
  double paced = (double)(i + 1) * WK_COMMAND_BYTES / x->dma.bus.rate;
  return x->m->dram_latency + (int64_t)paced + DISPATCH;
}

static int64_t rounded(const simulation *x, const wk_accel_buffer *b) {
  return wk_accel_up(b->bytes, x->m->array) * x->m->array;
}

/* Buffers that the step is the first, or the last, to use; each once. */
static bool is_repeated(const wk_accel_step *s, int k) {
  for (int j = 0; j < k; j++)
    if (s->access[j].buffer == s->access[k].buffer) return true;
  return false;
}

static void begin_group(simulation *x, int group) {
  x->group = group;
  if (x->mode == WK_PREFETCH_DOUBLE) x->barrier = x->last;
  if (!x->begins_alone[group]) return;
  while (x->room.n) {
    release r = pop(&x->room);
    leave(&x->room, &r);
  }
}

static bool make_room(simulation *x, size_t i, int64_t *start) {
  const wk_accel_step *s = &x->steps->list.data[i];
  if (s->group != x->group) begin_group(x, s->group);
  if (*start < x->barrier) *start = x->barrier;
  for (int k = 0; k < s->n_access; k++) {
    int number = s->access[k].buffer;
    const wk_accel_buffer *b = &x->steps->buffers.data[number];
    if (b->first == (int)i && !is_repeated(s, k)) {
      bool is_long = b->last - b->first > x->steps->lasting;
      if (!take(&x->room, number, rounded(x, b), is_long, &x->t->place[number])) return false;
      x->since[number] = x->room.now;
    }
    if (*start < x->since[number]) *start = x->since[number];
  }
  return true;
}

static void free_room(simulation *x, size_t i, int64_t end) {
  const wk_accel_step *s = &x->steps->list.data[i];
  for (int k = 0; k < s->n_access; k++) {
    int number = s->access[k].buffer;
    if (is_repeated(s, k)) continue;
    if (x->ends[number] < end) x->ends[number] = end;
    if (x->steps->buffers.data[number].last == (int)i)
      push(&x->room, (release){x->ends[number], number});
  }
}

/* Of the steps in their order the n-th. */
static bool step(simulation *x, size_t n) {
  size_t i = nth(x, n);
  const wk_accel_step *s = &x->steps->list.data[i];
  int64_t start = later(free_at(x, s->c.queue), fetch(x, n));
  if (!x->order && !make_room(x, i, &start)) return false;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (s->needs[q] && x->retired[q][s->needs[q] - 1] > start)
      start = x->retired[q][s->needs[q] - 1];
  bool is_waiting = x->mode == WK_PREFETCH_SERIAL || x->mode == WK_PREFETCH_OFF;
  if (is_waiting && start < x->last) start = x->last;
  int64_t end = run(x, i, start), before = s->ordinal ? x->retired[s->c.queue][s->ordinal - 1] : 0;
  if (end < before) end = before;
  x->retired[s->c.queue][s->ordinal] = end;
  if (end > x->last) x->last = end;
  x->t->start[i] = start;
  x->t->retire[i] = end;
  if (!x->order) free_room(x, i, end);
  return true;
}

/* Until a step finds no room: *failed, or the number of steps. */
static void simulate(simulation *x, size_t *failed) {
  const wk_accel_steps *s = x->steps;
  x->room.heap = wk_xcalloc(s->buffers.n + 1, sizeof *x->room.heap);
  x->room.live = wk_xcalloc(s->buffers.n + 1, sizeof *x->room.live);
  x->since = wk_xcalloc(s->buffers.n + 1, sizeof *x->since);
  x->ends = wk_xcalloc(s->buffers.n + 1, sizeof *x->ends);
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    x->retired[q] = wk_xcalloc(s->issued[q] + 1, sizeof **x->retired);
  size_t i = 0;
  while (i < s->list.n && step(x, i)) i++;
  *failed = i;
  x->t->cycles = x->last;
  for (int q = 0; q < WK_QUEUE_COUNT; q++) free(x->retired[q]);
  free(x->room.heap);
  free(x->room.live);
  free(x->since);
  free(x->ends);
  wk_accel_dma_free(&x->dma);
}

typedef struct {
  int64_t start;
  uint32_t step;
} place_in_time;

static int by_start(const void *a, const void *b) {
  const place_in_time *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->step < y->step ? -1 : x->step > y->step;
}

void wk_accel_order(const wk_accel_times *t, size_t n, uint32_t *order) {
  place_in_time *all = wk_xcalloc(n + 1, sizeof *all);
  for (uint32_t i = 0; i < n; i++) all[i] = (place_in_time){t->start[i], i};
  qsort(all, n, sizeof *all, by_start);
  for (uint32_t i = 0; i < n; i++) order[i] = all[i].step;
  free(all);
}

/* When steps that have places, in the order of their starts, start one after the other. */
static void run_serially(const wk_accel_net *net, const wk_accel_steps *s, wk_accel_times *t) {
  uint32_t *order = wk_xcalloc(s->list.n + 1, sizeof *order);
  simulation x = {.net = net, .steps = s, .m = net->machine, .t = t, .mode = WK_PREFETCH_SERIAL,
                  .order = order};
  size_t failed;
  wk_accel_order(t, s->list.n, order);
  wk_accel_dma_init(&x.dma, net->machine);
  simulate(&x, &failed);
  free(order);
}

/* Buffers of one group may lie so that a later one finds no gap for its own. Alone it does: so it
 * begins when the others have gone. */
bool wk_accel_simulate(const wk_accel_net *net, const wk_accel_steps *s, int64_t capacity,
                       wk_accel_prefetch mode, wk_arena *a, wk_accel_times *out) {
  const wk_machine *m = net->machine;
  bool *alone = wk_xcalloc((size_t)s->groups + 1, sizeof *alone), fine = false;
  for (size_t g = 0; g < s->alone.n; g++) alone[g] = s->alone.data[g];
  *out = (wk_accel_times){.start = wk_arena_alloc(a, (s->list.n + 1) * sizeof(int64_t)),
                          .retire = wk_arena_alloc(a, (s->list.n + 1) * sizeof(int64_t)),
                          .place = wk_arena_alloc(a, (s->buffers.n + 1) * sizeof(int64_t))};
  for (;;) {
    simulation x = {.net = net, .steps = s, .m = m, .t = out, .begins_alone = alone, .group = -1,
                    .mode = mode == WK_PREFETCH_SERIAL ? WK_PREFETCH_AUTO : mode};
    size_t failed;
    wk_accel_dma_init(&x.dma, m);
    x.room.capacity = capacity;
    simulate(&x, &failed);
    fine = failed == s->list.n;
    out->failed = failed;
    if (fine || alone[s->list.data[failed].group] || !s->list.data[failed].group) break;
    alone[s->list.data[failed].group] = true;
  }
  free(alone);
  if (fine && mode == WK_PREFETCH_SERIAL) run_serially(net, s, out);
  return fine;
}
