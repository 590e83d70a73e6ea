/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/study/causes.h"

#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

const struct wk_cause_info wk_cause_infos[WK_CAUSE_COUNT] = {
#define WK_X(name, doc) {#name, doc},
    WK_CAUSES(WK_X)
#undef WK_X
};

/* ---- what commands wait for ------------------------------------------------------------------ */

typedef struct {
  const wk_sim_shown *x;
  const wk_sim_span *spans;
  uint32_t n;
  bool *is_weight;  /* of each command: it loads weights */
  uint32_t *before; /* of each that has run: the one before it in its queue, or NOBODY */
  struct idle *idle; /* n_idle, in the order of time */
  size_t n_idle;
  wk_causes *out;
} walk;

/* Between the event that a command waits for and its start lie a few cycles of the machine's own;
 * whatever comes later than that was not what it waited for. */
enum { HAND_OVER = 16 };

static bool has_run(const wk_sim_span *s) {
  return s->start != WK_SIM_NEVER && s->retire != WK_SIM_NEVER;
}

static bool is_transfer(const wk_sim_span *s) {
  return s->opcode == WK_CMD_LD || s->opcode == WK_CMD_ST;
}

static bool is_store(const wk_sim_span *s) { return s->opcode == WK_CMD_ST; }

static bool is_compute(const wk_sim_span *s) {
  return s->queue == WK_QUEUE_ex || s->queue == WK_QUEUE_ve;
}

/* A load brings back what a store has put into memory. */
static bool reads_back(const wk_isa_command *load, const wk_isa_command *store) {
  return load->opcode == WK_CMD_LD && store->opcode == WK_CMD_ST &&
         WK_V(load, LD, dram) < wk_transfer_end(store) &&
         WK_V(store, ST, dram) < wk_transfer_end(load);
}

static bool waits_for_what_it_reads(const walk *w, uint32_t i) {
  wk_isa_command load, store;
  return wk_stream_get(w->x->stream, i, &load) &&
         wk_stream_get(w->x->stream, w->spans[i].released_by, &store) &&
         reads_back(&load, &store);
}

static bool is_released(const walk *w, uint32_t i) {
  const wk_sim_span *s = &w->spans[i];
  return s->released_by != WK_SIM_NOBODY &&
         s->start - w->spans[s->released_by].retire <= HAND_OVER;
}

/* Why a transfer did not begin earlier. Behind another one of its queue: why that did not. */
static wk_cause held_by(const walk *w, uint32_t i) {
  enum { FAR = 64 };
  for (int step = 0; step < FAR && !is_released(w, i); step++) {
    uint32_t before = w->before[i];
    if (before == WK_SIM_NOBODY ||
        w->spans[i].start > w->spans[before].retire + HAND_OVER)
      return WK_CAUSE_order;
    i = before;
  }
  const wk_sim_span *s = &w->spans[i];
  if (!is_released(w, i) || s->queue < WK_QUEUE_ld0 || waits_for_what_it_reads(w, i))
    return WK_CAUSE_order;
  return WK_CAUSE_space; /* what stood there was still read, or on its way to memory */
}

/* ---- when the memory had nothing to do ------------------------------------------------------- */

/* Cycles in which it moved nothing, until a transfer's first byte: `held` of them before that was
 * asked for, `latency` behind. What could have been asked for while others moved has its latency
 * from what held it back. What of the idle time explains a wait is used up. */
struct idle {
  uint64_t end, held, latency;
  wk_cause cause;
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
  const wk_sim_span *s = &w->spans[i];
  uint64_t all = s->retire - s->start, read = (uint64_t)w->x->machine->dram_latency;
  uint64_t write = (uint64_t)w->x->machine->dram_write_latency;
  if (is_store(s)) return (moving){s->start, s->retire - (write < all ? write : all), i};
  return (moving){s->start + (read < all ? read : all), s->retire, i};
}

static moving *moving_of(const walk *w, size_t *n) {
  moving *list = wk_xcalloc(w->n, sizeof *list);
  *n = 0;
  for (uint32_t i = 0; i < w->n; i++)
    if (has_run(&w->spans[i]) && is_transfer(&w->spans[i])) list[(*n)++] = bytes_of(w, i);
  qsort(list, *n, sizeof *list, by_end);
  return list;
}

/* Memory could have sent what this load brings in [from, to). */
static void add_idle(walk *w, uint64_t from, uint64_t to, uint32_t load) {
  uint64_t start = w->spans[load].start, asked = start < from ? from : start < to ? start : to;
  struct idle x = {to, asked - from, to - asked, held_by(w, load)};
  bool is_held = x.held && w->spans[load].released_by == WK_SIM_NOBODY;
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
    if (is_store(&w->spans[t->command])) continue;
    for (; first < m; first++) add_idle(w, gaps[first].from, gaps[first].to, t->command);
  }
  free(gaps);
  free(list);
}

/* ---- whose cycles ---------------------------------------------------------------------------- */

static void add_row(walk *w, wk_cause cause, uint32_t command, uint64_t cycles) {
  wk_cause_row row = {.cause = cause, .cycles = cycles};
  if (!cycles) return;
  if (command != WK_SIM_NOBODY) {
    const wk_sim_span *s = &w->spans[command];
    row.operator = s->operator;
    if (cause >= WK_CAUSE_bandwidth && is_transfer(s))
      row.moved = is_store(s)             ? WK_MOVED_RESULTS
                  : w->is_weight[command] ? WK_MOVED_WEIGHTS
                                          : WK_MOVED_INPUTS;
  }
  w->out->cycles[cause] += cycles;
  wk_vec_push(&w->out->rows, row);
}

/* The transfer that a command waits for, itself if it is one: back through what released each, and
 * through fills, which move nothing. NOBODY: it waits for none. */
static uint32_t awaited(const walk *w, uint32_t i) {
  enum { FAR = 64 };
  for (int step = 0; i != WK_SIM_NOBODY && step < FAR; step++) {
    const wk_sim_span *s = &w->spans[i];
    if (is_transfer(s)) return i;
    bool released = is_released(w, i);
    if (!released && is_compute(s)) return WK_SIM_NOBODY;
    i = released ? s->released_by : w->before[i];
  }
  return WK_SIM_NOBODY;
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
  uint64_t answer = is_store(&w->spans[transfer]) ? answered_in(w, transfer, from, to) : 0;
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

static void visit(walk *w, uint64_t from, uint64_t to, uint32_t owner) {
  const wk_sim_span *s = owner == WK_SIM_NOBODY ? NULL : &w->spans[owner];
  if (s && is_compute(s) && s->start <= from) {
    add_row(w, s->queue == WK_QUEUE_ex ? WK_CAUSE_compute : WK_CAUSE_vector, owner, to - from);
    return;
  }
  uint32_t transfer = s ? awaited(w, owner) : WK_SIM_NOBODY;
  if (transfer == WK_SIM_NOBODY || w->spans[transfer].retire <= from)
    add_row(w, WK_CAUSE_dispatch, owner, to - from);
  else explain(w, transfer, from, to);
}

/* The walk numbers spans: those that have run. */
typedef struct {
  walk *w;
  uint32_t *command;
} charging;

static void visit_span(void *context, uint64_t from, uint64_t to, uint32_t owner, bool transfers,
                       bool computes) {
  const charging *c = context;
  (void)transfers, (void)computes;
  visit(c->w, from, to, owner == WK_ACCEL_NOBODY ? WK_SIM_NOBODY : c->command[owner]);
}

static void charge(walk *w) {
  charging c = {.w = w};
  wk_accel_span *spans;
  size_t n;
  wk_xcheck(wk_sim_spans_of(w->x->run, &spans, &c.command, &n));
  wk_xcheck(wk_accel_charge_walk(spans, n, w->x->run->result.cycles, visit_span, &c));
  free(spans);
  free(c.command);
}

static void find_before(walk *w) {
  uint32_t last[WK_QUEUE_COUNT];
  for (int q = 0; q < WK_QUEUE_COUNT; q++) last[q] = WK_SIM_NOBODY;
  for (uint32_t i = 0; i < w->n; i++) {
    if (!has_run(&w->spans[i])) continue;
    w->before[i] = last[w->spans[i].queue];
    last[w->spans[i].queue] = i;
  }
}

/* Of the cycles in which ex runs those are computing that the array needs; others the drain's. */
static void split_compute(walk *w) {
  wk_causes *c = w->out;
  uint32_t layers = 0;
  for (uint32_t i = 0; i < w->n; i++)
    if (w->spans[i].operator > layers) layers = w->spans[i].operator;
  wk_isa_bound *bounds = wk_xcalloc(layers + 1, sizeof *bounds);
  int64_t words = 0;
  for (uint32_t i = 0; i < w->n; i++) {
    wk_isa_command x;
    if (!wk_stream_get(w->x->stream, i, &x)) continue;
    wk_isa_bound b = wk_isa_bound_of(w->x->machine, &x, &words);
    bounds[w->spans[i].operator].array += b.array;
    bounds[w->spans[i].operator].drain += b.drain;
  }
  for (size_t i = 0, n = c->rows.n; i < n; i++) {
    wk_cause_row *r = &c->rows.data[i];
    if (r->cause != WK_CAUSE_compute) continue;
    const wk_isa_bound *b = &bounds[r->operator];
    uint64_t all = r->cycles, array = (uint64_t)b->array, drain = (uint64_t)b->drain;
    if (array > all) array = all;
    if (drain > all) drain = all;
    if (drain < array) drain = array;
    wk_cause_row more[2] = {{WK_CAUSE_drain, WK_MOVED_NOTHING, r->operator, drain - array},
                            {WK_CAUSE_conflicts, WK_MOVED_NOTHING, r->operator, all - drain}};
    r->cycles = array;
    c->cycles[WK_CAUSE_compute] -= all - array;
    for (int k = 0; k < 2; k++) {
      c->cycles[more[k].cause] += more[k].cycles;
      if (more[k].cycles) wk_vec_push(&c->rows, more[k]);
    }
  }
  free(bounds);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_cycles(const void *a, const void *b) {
  const wk_cause_row *x = a, *y = b;
  if (x->cycles != y->cycles) return x->cycles < y->cycles ? 1 : -1;
  if (x->operator != y->operator) return x->operator < y->operator ? -1 : 1;
  return x->cause != y->cause ? (int)x->cause - (int)y->cause : (int)x->moved - (int)y->moved;
}

static int by_key(const void *a, const void *b) {
  const wk_cause_row *x = a, *y = b;
  if (x->operator != y->operator) return x->operator < y->operator ? -1 : 1;
  return x->cause != y->cause ? (int)x->cause - (int)y->cause : (int)x->moved - (int)y->moved;
}

static void join_rows(wk_causes *c) {
  size_t n = 0;
  if (c->rows.n) qsort(c->rows.data, c->rows.n, sizeof *c->rows.data, by_key);
  for (size_t i = 0; i < c->rows.n; i++) {
    if (n && !by_key(&c->rows.data[n - 1], &c->rows.data[i]))
      c->rows.data[n - 1].cycles += c->rows.data[i].cycles;
    else c->rows.data[n++] = c->rows.data[i];
  }
  c->rows.n = n;
}

void wk_causes_of(const wk_sim_shown *x, wk_causes *out) {
  walk w = {.x = x, .spans = x->run->spans, .n = x->run->n, .out = out};
  *out = (wk_causes){0};
  w.is_weight = wk_weights_of(x);
  w.before = wk_xcalloc(w.n, sizeof *w.before);
  find_before(&w);
  find_idle(&w);
  charge(&w);
  join_rows(out);
  split_compute(&w);
  for (int k = WK_CAUSE_bandwidth; k < WK_CAUSE_COUNT; k++) out->exposed += out->cycles[k];
  if (out->rows.n) qsort(out->rows.data, out->rows.n, sizeof *out->rows.data, by_cycles);
  free(w.idle);
  free(w.before);
  free(w.is_weight);
}

void wk_causes_free(wk_causes *c) {
  wk_vec_free(&c->rows);
}
