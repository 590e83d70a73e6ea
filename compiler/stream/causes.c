/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/causes.h"

#include <stdlib.h>

/* ---- who released whom ----------------------------------------------------------------------- */

void wk_sched_numbers_of(const wk_sched_span *spans, uint32_t n, wk_sched_numbers *x) {
  *x = (wk_sched_numbers){0};
  for (int q = 0; q < WK_SCHED_QUEUES; q++) x->of[q] = wk_xcalloc(n, sizeof(uint32_t));
  for (uint32_t i = 0; i < n; i++) x->of[spans[i].queue][x->n[spans[i].queue]++] = i;
}

void wk_sched_numbers_free(wk_sched_numbers *x) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++) free(x->of[q]);
}

void wk_sched_find_releases(wk_sched_span *spans, uint32_t n, wk_sched_counts *waits) {
  wk_sched_numbers x;
  wk_sched_numbers_of(spans, n, &x);
  for (int q = 0; q < WK_SCHED_QUEUES; q++)
    for (uint32_t k = 0; k < x.n[q]; k++) {
      uint32_t i = x.of[q][k];
      spans[i].released_by = wk_sched_released_by(spans, &x, q, k, waits[i]);
    }
  wk_sched_numbers_free(&x);
}

/* ---- what commands wait for ------------------------------------------------------------------ */

typedef struct {
  const wk_sched_run *r;
  const wk_sched_span *spans; /* of r */
  uint32_t n;
  uint32_t *before; /* of each that has run: the one before it in its queue, or NOBODY */
  struct idle *idle; /* n_idle, in the order of time */
  size_t n_idle;
  wk_sched_causes *out;
} walk;

/* Between the event that a command waits for and its start lie a few cycles of the machine's own;
 * whatever comes later than that was not what it waited for. */
enum { HAND_OVER = 16 };

static bool is_compute(const walk *w, const wk_sched_span *s) {
  return wk_sched_in(w->r->queues->computes, s->queue);
}

static bool is_transfer(const walk *w, const wk_sched_span *s) {
  return s->kind == WK_SCHED_WORKS && !is_compute(w, s);
}

static bool is_store(const walk *w, const wk_sched_span *s) {
  return is_transfer(w, s) && wk_sched_in(w->r->queues->stores, s->queue);
}

static bool is_of_loads(const walk *w, const wk_sched_span *s) {
  return !wk_sched_in(w->r->queues->computes | w->r->queues->stores, s->queue);
}

static bool waits_for_what_it_reads(const walk *w, uint32_t i) {
  uint32_t store = w->spans[i].released_by;
  return w->r->reads_back && is_transfer(w, &w->spans[i]) && is_store(w, &w->spans[store]) &&
         w->r->reads_back(w->r->context, i, store);
}

static bool is_released(const walk *w, uint32_t i) {
  const wk_sched_span *s = &w->spans[i];
  return s->released_by != WK_SCHED_NOBODY &&
         s->start - w->spans[s->released_by].retire <= HAND_OVER;
}

/* Why a transfer did not begin earlier. Behind another one of its queue: why that did not. */
static wk_sched_cause held_by(const walk *w, uint32_t i) {
  enum { FAR = 64 };
  for (int step = 0; step < FAR && !is_released(w, i); step++) {
    uint32_t before = w->before[i];
    if (before == WK_SCHED_NOBODY ||
        w->spans[i].start > w->spans[before].retire + HAND_OVER)
      return WK_CAUSE_order;
    i = before;
  }
  const wk_sched_span *s = &w->spans[i];
  if (!is_released(w, i) || !is_of_loads(w, s) || waits_for_what_it_reads(w, i))
    return WK_CAUSE_order;
  return WK_CAUSE_space; /* what stood there was still read, or on its way to memory */
}

/* ---- when the memory had nothing to do ------------------------------------------------------- */

/* Cycles in which it moved nothing, until a transfer's first byte: `held` of them before that was
 * asked for, `latency` behind. What could have been asked for while others moved has its latency
 * from what held it back. What of the idle time explains a wait is used up. */
struct idle {
  uint64_t end, held, latency;
  wk_sched_cause cause;
};

typedef struct {
  uint64_t from, to; /* memory has answered, and sends or takes its bytes */
  uint32_t command;
} moving;

static int by_end(const void *a, const void *b) {
  const moving *x = a, *y = b;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return x->command < y->command ? -1 : x->command > y->command;
}

/* A load's bytes come behind its latency; behind a store's bytes comes the answer. */
static moving bytes_of(const walk *w, uint32_t i) {
  const wk_sched_span *s = &w->spans[i];
  uint64_t all = s->retire - s->start, read = w->r->read_latency;
  uint64_t write = w->r->write_latency;
  if (is_store(w, s)) return (moving){s->start, s->retire - (write < all ? write : all), i};
  return (moving){s->start + (read < all ? read : all), s->retire, i};
}

static moving *moving_of(const walk *w, size_t *n) {
  moving *list = wk_xcalloc(w->n, sizeof *list);
  *n = 0;
  for (uint32_t i = 0; i < w->n; i++)
    if (wk_sched_has_run(&w->spans[i]) && is_transfer(w, &w->spans[i]))
      list[(*n)++] = bytes_of(w, i);
  qsort(list, *n, sizeof *list, by_end);
  return list;
}

/* Memory could have sent what this load brings in [from, to). */
static void add_idle(walk *w, uint64_t from, uint64_t to, uint32_t load) {
  uint64_t start = w->spans[load].start, asked = start < from ? from : start < to ? start : to;
  struct idle x = {to, asked - from, to - asked, held_by(w, load)};
  bool is_held = x.held && w->spans[load].released_by == WK_SCHED_NOBODY;
  uint64_t hidden = from < x.latency ? from : x.latency; /* behind what moved before */
  if (is_held || x.cause == WK_CAUSE_space) x.held += hidden, x.latency -= hidden;
  w->idle[w->n_idle++] = x;
}

/* Before a store it could have sent what the next load brings: the store was not there yet. */
static void find_idle(walk *w) {
  size_t n, first = 0;
  moving *list = moving_of(w, &n);
  uint64_t end = 0;
  struct { uint64_t from, to; } *gaps = wk_xcalloc(n, sizeof *gaps);
  w->idle = wk_xcalloc(n, sizeof *w->idle);
  for (size_t k = 0, m = 0; k < n; k++) {
    const moving *t = &list[k];
    if (t->from > end) gaps[m].from = end, gaps[m++].to = t->from;
    if (t->to > end) end = t->to;
    if (is_store(w, &w->spans[t->command])) continue;
    for (; first < m; first++) add_idle(w, gaps[first].from, gaps[first].to, t->command);
  }
  free(gaps);
  free(list);
}

/* ---- whose cycles ---------------------------------------------------------------------------- */

static wk_sched_moved moved_by(const walk *w, const wk_sched_span *s) {
  if (!is_transfer(w, s)) return WK_MOVED_NOTHING;
  if (s->moved) return (wk_sched_moved)s->moved;
  return is_store(w, s) ? WK_MOVED_RESULTS : WK_MOVED_INPUTS;
}

static void add_row(walk *w, wk_sched_cause cause, uint32_t command, uint64_t cycles) {
  wk_sched_cause_row row = {.cause = cause, .cycles = cycles};
  if (!cycles) return;
  if (command != WK_SCHED_NOBODY) {
    row.operator = w->spans[command].operator;
    if (cause >= WK_CAUSE_bandwidth) row.moved = moved_by(w, &w->spans[command]);
  }
  w->out->cycles[cause] += cycles;
  wk_vec_push(&w->out->rows, row);
}

/* The transfer that a command waits for, itself if it is one: back through what released each, and
 * through fills, which move nothing. NOBODY: it waits for none. */
static uint32_t awaited(const walk *w, uint32_t i) {
  enum { FAR = 64 };
  for (int step = 0; i != WK_SCHED_NOBODY && step < FAR; step++) {
    const wk_sched_span *s = &w->spans[i];
    if (is_transfer(w, s)) return i;
    bool released = is_released(w, i);
    if (!released && is_compute(w, s)) return WK_SCHED_NOBODY;
    i = released ? s->released_by : w->before[i];
  }
  return WK_SCHED_NOBODY;
}

/* Of [from, to), how long a store has sent its last byte and has no answer. */
static uint64_t answered_in(const walk *w, uint32_t store, uint64_t from, uint64_t to) {
  uint64_t begin = bytes_of(w, store).to, end = w->spans[store].retire;
  if (begin < from) begin = from;
  if (end > to) end = to;
  return begin < end ? end - begin : 0;
}

/* Nothing computes until a transfer has come. It and those before it kept the memory busy but for
 * times when it had nothing to do: had it been busy then, all of them had come earlier by as much.
 * The latest of these times explain the wait, each once; what they do not explain is bytes. */
static void explain(walk *w, uint32_t transfer, uint64_t from, uint64_t to) {
  uint64_t retire = w->spans[transfer].retire, cycles = to - from;
  uint64_t answer = is_store(w, &w->spans[transfer]) ? answered_in(w, transfer, from, to) : 0;
  add_row(w, WK_CAUSE_latency, transfer, answer);
  cycles -= answer;
  size_t low = 0, high = w->n_idle;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (w->idle[middle].end <= retire) low = middle + 1;
    else high = middle;
  }
  for (size_t k = low; k-- > 0 && cycles;) {
    struct idle *x = &w->idle[k];
    uint64_t latency = x->latency < cycles ? x->latency : cycles;
    x->latency -= latency, cycles -= latency;
    add_row(w, WK_CAUSE_latency, transfer, latency);
    uint64_t held = x->held < cycles ? x->held : cycles;
    x->held -= held, cycles -= held;
    add_row(w, x->cause, transfer, held);
  }
  add_row(w, WK_CAUSE_bandwidth, transfer, cycles);
}

/* Of the engine that sets the pace. */
static bool is_first(const walk *w, const wk_sched_span *s) {
  return is_compute(w, s) && s->queue == __builtin_ctz(w->r->queues->computes);
}

static void visit(void *context, uint64_t from, uint64_t to, uint32_t owner, bool transfers,
                  bool computes) {
  walk *w = context;
  (void)transfers, (void)computes;
  const wk_sched_span *s = owner == WK_SCHED_NOBODY ? NULL : &w->spans[owner];
  if (s && is_compute(w, s) && s->start <= from) {
    add_row(w, is_first(w, s) ? WK_CAUSE_compute : WK_CAUSE_vector, owner, to - from);
    return;
  }
  uint32_t transfer = s ? awaited(w, owner) : WK_SCHED_NOBODY;
  if (transfer == WK_SCHED_NOBODY || w->spans[transfer].retire <= from)
    add_row(w, WK_CAUSE_dispatch, owner, to - from);
  else explain(w, transfer, from, to);
}

static void find_before(walk *w) {
  uint32_t last[WK_SCHED_QUEUES];
  for (int q = 0; q < WK_SCHED_QUEUES; q++) last[q] = WK_SCHED_NOBODY;
  for (uint32_t i = 0; i < w->n; i++) {
    if (!wk_sched_has_run(&w->spans[i])) continue;
    w->before[i] = last[w->spans[i].queue];
    last[w->spans[i].queue] = i;
  }
}

/* ---- what the first engine needs ------------------------------------------------------------- */

typedef struct {
  uint64_t array, drain;
} bound;

static void add_bound(const walk *w, const wk_sched_span *s, bound *b) {
  if (!is_first(w, s) || s->kind == WK_SCHED_MARKS) return;
  b->array += s->array || !wk_sched_has_run(s) ? s->array : s->retire - s->start;
  b->drain += s->drain;
}

static void move_cycles(wk_sched_causes *c, const wk_sched_cause_row *from, wk_sched_cause to,
                        uint64_t cycles) {
  const wk_sched_cause_row row = {to, WK_MOVED_NOTHING, from->operator, cycles};
  if (!cycles) return;
  c->cycles[from->cause] -= cycles;
  c->cycles[to] += cycles;
  wk_vec_push(&c->rows, row);
}

static void split_row(wk_sched_causes *c, size_t i, bound b) {
  wk_sched_cause_row row = c->rows.data[i];
  if (b.array > row.cycles) b.array = row.cycles;
  if (b.drain > row.cycles) b.drain = row.cycles;
  if (b.drain < b.array) b.drain = b.array;
  c->rows.data[i].cycles = b.array;
  move_cycles(c, &row, WK_CAUSE_drain, b.drain - b.array);
  move_cycles(c, &row, WK_CAUSE_conflicts, row.cycles - b.drain);
}

/* Of the cycles in which the first engine runs those are computing that it needs; others the
 * drain's. */
static void split_compute(const walk *w) {
  uint32_t layers = 0;
  for (uint32_t i = 0; i < w->n; i++)
    if (w->spans[i].operator > layers) layers = w->spans[i].operator;
  bound *bounds = wk_xcalloc((size_t)layers + 1, sizeof *bounds);
  for (uint32_t i = 0; i < w->n; i++) add_bound(w, &w->spans[i], &bounds[w->spans[i].operator]);
  for (size_t i = 0, n = w->out->rows.n; i < n; i++) {
    const wk_sched_cause_row *row = &w->out->rows.data[i];
    if (row->cause == WK_CAUSE_compute) split_row(w->out, i, bounds[row->operator]);
  }
  free(bounds);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_cycles(const void *a, const void *b) {
  const wk_sched_cause_row *x = a, *y = b;
  if (x->cycles != y->cycles) return x->cycles < y->cycles ? 1 : -1;
  if (x->operator != y->operator) return x->operator < y->operator ? -1 : 1;
  return x->cause != y->cause ? (int)x->cause - (int)y->cause : (int)x->moved - (int)y->moved;
}

static int by_key(const void *a, const void *b) {
  const wk_sched_cause_row *x = a, *y = b;
  if (x->operator != y->operator) return x->operator < y->operator ? -1 : 1;
  return x->cause != y->cause ? (int)x->cause - (int)y->cause : (int)x->moved - (int)y->moved;
}

static void join_rows(wk_sched_causes *c) {
  size_t n = 0;
  if (c->rows.n) qsort(c->rows.data, c->rows.n, sizeof *c->rows.data, by_key);
  for (size_t i = 0; i < c->rows.n; i++) {
    if (n && !by_key(&c->rows.data[n - 1], &c->rows.data[i]))
      c->rows.data[n - 1].cycles += c->rows.data[i].cycles;
    else c->rows.data[n++] = c->rows.data[i];
  }
  c->rows.n = n;
}

void wk_sched_causes_of(const wk_sched_run *r, wk_sched_causes *out) {
  walk w = {.r = r, .spans = r->spans, .n = r->n, .out = out};
  *out = (wk_sched_causes){0};
  w.before = wk_xcalloc(w.n, sizeof *w.before);
  find_before(&w);
  find_idle(&w);
  wk_xcheck(wk_sched_charge_walk(r->queues, r->spans, r->n, r->cycles, visit, &w));
  join_rows(out);
  split_compute(&w);
  for (int k = WK_CAUSE_bandwidth; k < WK_CAUSE_COUNT; k++) out->exposed += out->cycles[k];
  if (out->rows.n) qsort(out->rows.data, out->rows.n, sizeof *out->rows.data, by_cycles);
  free(w.idle);
  free(w.before);
}

void wk_sched_causes_free(wk_sched_causes *c) { wk_vec_free(&c->rows); }
