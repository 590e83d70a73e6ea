/* SPDX-License-Identifier: Apache-2.0
 * The schedule model. Steps are taken in program order, which is the order of every queue; buffers
 * get room in the order in which they are first used, as early as there is some; so one pass finds
 * when each step starts. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/schedule.h"
#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* Bandwidth in slots of a fixed number of cycles; transfers take what is left from their start
 * on. A slot without anything left points behind itself. */
enum { SLOT = 64 };

typedef struct {
  double *left;
  uint32_t *next;
  size_t n, cap;
  double slot_bytes;
} bus;

static void grow(bus *b, size_t want) {
  if (want < b->n) return;
  if (want >= b->cap) {
    b->cap = want * 2 + 1024;
    b->left = wk_xrealloc(b->left, b->cap * sizeof *b->left);
    b->next = wk_xrealloc(b->next, b->cap * sizeof *b->next);
  }
  for (; b->n <= want; b->n++) {
    b->left[b->n] = b->slot_bytes;
    b->next[b->n] = (uint32_t)b->n;
  }
}

static size_t find(bus *b, size_t i) {
  grow(b, i + 1);
  size_t root = i;
  while (b->next[root] != root) {
    root = b->next[root];
    grow(b, root + 1);
  }
  while (b->next[i] != root && b->next[i] != i) {
    size_t up = b->next[i];
    b->next[i] = (uint32_t)root;
    i = up;
  }
  return root;
}

/* The cycle in which the last of these bytes is moved. */
static int64_t transfer(bus *b, int64_t start, double bytes) {
  size_t i = find(b, (size_t)(start / SLOT));
  double end = (double)start;
  while (bytes > 0) {
    double most = b->left[i];
    if ((size_t)(start / SLOT) == i) { /* only what is behind the start */
      double rest = b->slot_bytes * (double)(SLOT - start % SLOT) / SLOT;
      if (rest < most) most = rest;
    }
    double take = bytes < most ? bytes : most;
    bytes -= take;
    b->left[i] -= take;
    double from = (double)i * SLOT;
    if (from < (double)start) from = (double)start;
    end = (double)(i + 1) * SLOT - b->left[i] / b->slot_bytes * SLOT;
    if (end < from) end = from;
    if (b->left[i] <= 1e-6) b->next[i] = (uint32_t)i + 1;
    if (bytes > 0) i = find(b, i + 1);
  }
  return (int64_t)(end + 0.999);
}

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
 * waits until there is a gap: those that live long at the top, the others in the smallest gap from
 * the bottom. */
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

static void leave(room *r, int buffer) {
  size_t i = 0;
  while (r->live[i].buffer != buffer) i++;
  memmove(&r->live[i], &r->live[i + 1], (--r->n_live - i) * sizeof *r->live);
}

/* The gap before live buffer i, or behind the last one. */
static int64_t gap(const room *r, size_t i, int64_t *at) {
  *at = i ? r->live[i - 1].end : 0;
  return (i < r->n_live ? r->live[i].at : r->capacity) - *at;
}

static bool enter(room *r, int buffer, int64_t bytes, bool is_long, int64_t *place) {
  int64_t best = INT64_MAX;
  size_t where = 0;
  for (size_t i = 0; i <= r->n_live; i++) {
    int64_t at, size = gap(r, i, &at);
    if (size < bytes || (!is_long && size >= best)) continue;
    best = size;
    where = i;
    *place = is_long ? at + size - bytes : at;
  }
  if (best == INT64_MAX) return false;
  memmove(&r->live[where + 1], &r->live[where], (r->n_live++ - where) * sizeof *r->live);
  r->live[where] = (interval){*place, *place + bytes, buffer};
  return true;
}

static bool take(room *r, int buffer, int64_t bytes, bool is_long, int64_t *place) {
  while (!enter(r, buffer, bytes, is_long, place)) {
    if (!r->n) return false;
    release x = pop(r);
    leave(r, x.buffer);
    if (x.time > r->now) r->now = x.time;
  }
  return true;
}

enum { LONG = 64 }; /* steps: a buffer that is used for so long lives long */

/* ---- engines --------------------------------------------------------------------------------- */

typedef struct {
  const wk_accel_net *net;
  const wk_accel_steps *steps;
  const wk_machine *m;
  wk_accel_times *t;
  wk_accel_prefetch mode;
  int64_t *retired[WK_QUEUE_COUNT]; /* by ordinal; in order, so that of the last is the latest */
  int64_t free_at[WK_QUEUE_COUNT];  /* when the next command may start */
  int64_t words, lines;    /* of ex: end of the array's last word; last line of weights */
  int64_t drain;           /* end of the last drain */
  int64_t last;            /* the latest retirement of all */
  bus bus;
  room room;
  int64_t *since; /* of each buffer: when it got its room */
  int64_t *ends;  /* of each buffer: when the last step that uses it has retired */
  /* groups whose first buffer waits until all others that end before have gone */
  bool *begins_alone;
  int group;
  int64_t barrier; /* nothing of the group starts before */
} simulation;

typedef struct {
  int64_t tiles, words, lines, pixels;
  bool drains, has_residual;
} sums;

static sums sums_of(const wk_machine *m, const wk_isa_command *c) {
  wk_epilogue e = wk_epilogue_of(c);
  sums s = {.pixels = (int64_t)e.ny * e.nx, .drains = e.drain, .has_residual = e.residual,
            .lines = e.n};
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

/* isa.md, Durations: weights of the next command are fetched while the array works, its words
 * follow without a gap, its drain follows the drain. */
static int64_t run_sums(simulation *x, const wk_isa_command *c, int64_t start) {
  sums s = sums_of(x->m, c);
  int64_t from = start > x->lines ? start : x->lines;
  int64_t begin = from + s.lines + WK_COST_ex_tile;
  if (begin < x->words) begin = x->words;
  int64_t step = s.words > s.lines + WK_COST_ex_tile ? s.words : s.lines + WK_COST_ex_tile;
  int64_t last = begin + (s.tiles - 1) * step;
  x->lines = last > start ? last : start; /* its weights were complete when its last tile began */
  x->words = last + s.words;
  x->free_at[WK_QUEUE_ex] = start + 1;
  if (!s.drains) return x->words + WK_COST_ex_sum + WK_COST_ex_retire;
  int64_t drain = x->words + WK_COST_ex_sum;
  if (drain < x->drain) drain = x->drain;
  x->drain = drain + s.pixels * (s.has_residual ? 2 : 1);
  return x->drain + WK_COST_ex_drain;
}

static int64_t run_load(simulation *x, const wk_accel_step *s, int64_t start) {
  int64_t begin = start + WK_COST_dma_request + x->m->dram_latency;
  int64_t end = transfer(&x->bus, begin, (double)s->bytes);
  int64_t writes = start; /* at most N bytes of a chunk a cycle */
  int64_t chunk = WK_SV(&s->c, LD, c0), chunks = s->bytes / chunk;
  writes = begin + chunks * wk_accel_up(chunk, x->net->n);
  if (writes > end) end = writes;
  x->free_at[s->c.queue] = end - x->m->dram_latency > start + 1 ? end - x->m->dram_latency
                                                                : start + 1;
  return end + WK_COST_dma_write + 1;
}

static int64_t run_store(simulation *x, const wk_accel_step *s, int64_t start) {
  int64_t end = transfer(&x->bus, start + WK_COST_dma_read + WK_COST_dma_send, (double)s->bytes);
  x->free_at[s->c.queue] = end > start + 1 ? end : start + 1;
  return end + x->m->dram_write_latency + 1;
}

static int64_t run(simulation *x, const wk_accel_step *s, int64_t start) {
  switch (s->c.opcode) {
    case WK_CMD_CONV:
    case WK_CMD_DWC:
    case WK_CMD_MM: return run_sums(x, &s->c, start);
    case WK_CMD_LD: return run_load(x, s, start);
    case WK_CMD_ST: return run_store(x, s, start);
    default: break;
  }
  int64_t end = start + (int64_t)wk_isa_duration(x->m, &s->c);
  x->free_at[s->c.queue] = end;
  return end;
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
    leave(&x->room, r.buffer);
    if (r.time > x->room.now) x->room.now = r.time;
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
      bool is_long = b->last - b->first > LONG;
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

static bool step(simulation *x, size_t i) {
  const wk_accel_step *s = &x->steps->list.data[i];
  int64_t start = x->free_at[s->c.queue];
  if (!make_room(x, i, &start)) return false;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (s->needs[q] && x->retired[q][s->needs[q] - 1] > start)
      start = x->retired[q][s->needs[q] - 1];
  bool is_waiting = x->mode == WK_PREFETCH_SERIAL || x->mode == WK_PREFETCH_OFF;
  if (is_waiting && start < x->last) start = x->last;
  int64_t end = run(x, s, start), before = s->ordinal ? x->retired[s->c.queue][s->ordinal - 1] : 0;
  if (end < before) end = before;
  x->retired[s->c.queue][s->ordinal] = end;
  if (end > x->last) x->last = end;
  x->t->start[i] = start;
  x->t->retire[i] = end;
  free_room(x, i, end);
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
  free(x->bus.left);
  free(x->bus.next);
}

/* Buffers of one group may lie so that a later one finds no gap for its own. Alone it does: so it
 * begins when the others have gone. */
bool wk_accel_simulate(const wk_accel_net *net, const wk_accel_steps *s, int64_t capacity,
                       wk_accel_prefetch mode, wk_arena *a, wk_accel_times *out) {
  const wk_machine *m = net->machine;
  bool *alone = wk_xcalloc((size_t)s->groups + 1, sizeof *alone), fine = false;
  *out = (wk_accel_times){.start = wk_arena_alloc(a, (s->list.n + 1) * sizeof(int64_t)),
                          .retire = wk_arena_alloc(a, (s->list.n + 1) * sizeof(int64_t)),
                          .place = wk_arena_alloc(a, (s->buffers.n + 1) * sizeof(int64_t))};
  for (;;) {
    simulation x = {.net = net, .steps = s, .m = m, .t = out, .mode = mode, .begins_alone = alone,
                    .group = -1};
    size_t failed;
    x.bus.slot_bytes = (double)m->dram_bytes.num / (double)m->dram_bytes.den * SLOT;
    x.room.capacity = capacity;
    simulate(&x, &failed);
    fine = failed == s->list.n;
    if (fine || alone[s->list.data[failed].group] || !s->list.data[failed].group) break;
    alone[s->list.data[failed].group] = true;
  }
  free(alone);
  return fine;
}
