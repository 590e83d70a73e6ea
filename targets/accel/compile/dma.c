/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/dma.h"

#include <string.h>

#include "targets/accel/isa/duration.h"

typedef wk_accel_dma dma;
typedef wk_accel_channel channel;
typedef wk_accel_transfer transfer;

enum { FRONT = WK_QUEUE_COUNT }; /* the front end as a source of bursts */
enum { SETUP = 3 };              /* cycles from one command to the next */
enum { AHEAD = 32 };             /* commands that the front end has room for */
enum { DISPATCH = 3 };           /* cycles from the last beat of a command to its start */
enum { GEARBOX_BEATS = 2, FIFO_BEATS = 6 }; /* of a load: next to the scratchpad; up to the bus */
enum { OPEN_LOADS = 10, OPEN_STORES = 16 };
enum { FEWEST = 8 }; /* packs in flight */

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Cycles in which memory moves so many parts of bytes, rounded down and up. Divisions by what is no
 * constant take long, and a power of two is the rule. */
static int64_t whole_cycles(const dma *d, int64_t parts) {
  return d->shift >= 0 ? parts >> d->shift : parts / d->machine->dram_bytes.num;
}

static int64_t cycles_for(const dma *d, int64_t parts) {
  return whole_cycles(d, parts + d->machine->dram_bytes.num - 1);
}

/* ---- what a command moves -------------------------------------------------------------------- */

/* Segments begin at multiples of a beat. */
static void find_traffic(const dma *d, const wk_isa_command *c, transfer *t) {
  const wk_machine *m = d->machine;
  int64_t run = WK_SV(c, LD, n0), runs = WK_SV(c, LD, n1), stride = WK_SV(c, LD, s1);
  int64_t at = WK_SV(c, LD, dram), beats = 0, bursts = 0;
  if (stride == run) run *= runs, runs = 1;
  int64_t tried = runs < m->bus ? runs : m->bus; /* then they lie in the bus as before */
  if (stride % m->bus == 0 && stride % m->burst == 0) tried = 1;
  for (int64_t i = 0; i < tried; i++) {
    int64_t from = at + i * stride;
    beats += wk_ceil_div(from % m->bus + run, m->bus);
    bursts += wk_ceil_div(from % m->burst + run, m->burst);
  }
  beats = beats * runs / tried;
  t->bursts = bursts * runs / tried;
  t->beats = beats;
  t->per_beat = wk_ceil_div(t->accesses, beats);
  t->burst_beats = beats % t->bursts ? 0 : beats / t->bursts;
  t->burst_accesses = t->accesses % t->bursts ? 0 : t->accesses / t->bursts;
}

static int64_t accesses_of(const wk_machine *m, const wk_isa_command *c, int64_t bytes) {
  if (c->opcode == WK_CMD_FILL)
    return WK_SV(c, FILL, c2) * WK_SV(c, FILL, c1) * wk_ceil_div(WK_SV(c, FILL, c0), m->array);
  return bytes / WK_SV(c, LD, c0) * wk_ceil_div(WK_SV(c, LD, c0), m->array);
}

/* Beats of the first n bursts, accesses of them. */
static int64_t beats_before(const transfer *t, int64_t n) {
  return t->burst_beats ? t->burst_beats * n : t->beats * n / t->bursts;
}
static int64_t accesses_before(const transfer *t, int64_t n) {
  return t->burst_accesses ? t->burst_accesses * n : t->accesses * n / t->bursts;
}

/* Beats of `size` bursts behind the first n. */
static int64_t beats_of(const transfer *t, int64_t n, int64_t size) {
  return beats_before(t, n + size) - beats_before(t, n);
}

/* Of the next bursts that are served. */
static int64_t serve_beats(transfer *t, int64_t size) {
  int64_t before = t->served_beats;
  t->served_beats = beats_before(t, t->served + size);
  return t->served_beats - before;
}

/* ---- bursts that wait for memory ------------------------------------------------------------- */

static void push(wk_accel_waiting *w, int64_t ready, int source) {
  w->at[(w->head + w->n++) % WK_ACCEL_BURSTS] = (wk_accel_burst){ready, source};
}

static int64_t first_ready(const wk_accel_waiting *w) {
  return w->n ? w->at[w->head].ready : WK_SCHED_NEVER;
}

/* Of two that are ready in the same cycle, the read was asked for before. */
static wk_accel_burst pop_burst(dma *d) {
  wk_accel_waiting *w = first_ready(&d->writes) < first_ready(&d->reads) ? &d->writes : &d->reads;
  wk_accel_burst b = w->at[w->head];
  w->head = (w->head + 1) % WK_ACCEL_BURSTS;
  w->n--;
  return b;
}

static int64_t next_service(const dma *d) {
  int64_t read = first_ready(&d->reads), write = first_ready(&d->writes);
  return later(read < write ? read : write, d->free);
}

/* Memory moves so many beats of some bursts: from when it is busy with them, 1 / num cycles. */
static int64_t occupy(dma *d, int64_t ready, int64_t bursts, int64_t beats) {
  const wk_machine *m = d->machine;
  int64_t num = m->dram_bytes.num;
  int64_t start = later(d->free_at, ready * num) + m->dram_overhead * bursts * num;
  d->free_at = start + beats * m->bus * m->dram_bytes.den;
  d->free = whole_cycles(d, d->free_at);
  return start;
}

/* Read bursts: when the last beat has come over the bus, one a cycle, and as fast as memory is. */
static void deliver(dma *d, int64_t ready, int64_t bursts, int64_t beats) {
  const wk_machine *m = d->machine;
  int64_t start = occupy(d, ready, bursts, beats);
  int64_t first = later(d->delivered + 1, cycles_for(d, start + m->bus * m->dram_bytes.den));
  d->delivered = later(first + beats - 1, cycles_for(d, d->free_at));
}

/* ---- the scratchpad -------------------------------------------------------------------------- */

/* Buffers begin at a bank. */
static int banks_of(const wk_machine *m, const wk_sched_step *s) {
  int64_t first = s->access[0].from, pitch = s->access[0].s0;
  return first % m->array || pitch % m->array ? 2 : 1;
}

/* Cycles that an access of the command waits. */
static double waits(const dma *d, const transfer *t, int64_t now) {
  return t->banks * (wk_accel_ports_now(d->ports, now) + d->vector);
}

/* Whole cycles of what accesses wait for. */
static int64_t wait_for_banks(dma *d, channel *x, const transfer *t, int64_t accesses) {
  x->waited += (double)accesses * waits(d, t, d->now);
  int64_t whole = (int64_t)x->waited;
  x->waited -= (double)whole;
  return whole;
}

/* ---- commands of a channel ------------------------------------------------------------------- */

static transfer *open_of(channel *x, uint32_t n) { return &x->open[n % WK_ACCEL_OPEN]; }

/* Of the next pack. */
static int64_t size_of(const dma *d, const channel *x, const transfer *t) {
  int64_t room = d->together - x->places % d->together, rest = t->bursts - t->asked;
  return rest < room ? rest : room;
}

/* Cycles in which memory serves a burst of the machine. */
static int64_t pace(const dma *d) {
  const wk_machine *m = d->machine;
  return m->dram_overhead + whole_cycles(d, m->burst * m->dram_bytes.den);
}

/* Whose place is the channel's number `place`; -1: it was free from the beginning. */
static int64_t owner_of(const dma *d, const channel *x, int64_t place) {
  int64_t n = x->last_free;
  if (place <= d->machine->bursts) return -1;
  while (x->taken[n % WK_ACCEL_WINDOW] < place - d->machine->bursts) n++;
  return n;
}

/* When that place is free, those of a pack one after the other; NEVER: not known yet. */
static int64_t place_at(const dma *d, const channel *x, int64_t place) {
  int64_t n = owner_of(d, x, place);
  if (n < 0) return 0;
  if (x->served <= n) return WK_SCHED_NEVER;
  int64_t behind = x->taken[n % WK_ACCEL_WINDOW] - (place - d->machine->bursts);
  return x->free_at[n % WK_ACCEL_WINDOW] - behind * pace(d);
}

/* When the next pack is asked for, so that its bursts have their places in time. */
static int64_t places_at(const dma *d, const channel *x, const transfer *t) {
  int64_t size = size_of(d, x, t);
  int64_t first = place_at(d, x, x->places + 1), last = place_at(d, x, x->places + size);
  return last == WK_SCHED_NEVER ? last : later(first, last - (size - 1) * pace(d));
}

static int64_t next_request(const dma *d, const channel *x, const transfer *t) {
  int64_t place = places_at(d, x, t);
  if (place == WK_SCHED_NEVER) return place;
  int64_t begin = t->asked ? 0 : t->passes + WK_COST_dma_request - SETUP;
  return later(later(x->last_ask + 1, begin), place);
}

/* Of a pack, whose bursts are asked for one a cycle. Returns the last one. */
static int64_t note_request(const dma *d, channel *x, transfer *t, int64_t at) {
  int64_t size = size_of(d, x, t), before = owner_of(d, x, x->places + 1);
  if (before >= 0) x->last_free = before;
  x->places += size;
  x->size[x->asked % WK_ACCEL_WINDOW] = size;
  x->taken[x->asked % WK_ACCEL_WINDOW] = x->places;
  x->asked_at[x->asked++ % WK_ACCEL_WINDOW] = at;
  x->last_ask = at + size - 1;
  t->asked += size;
  if (t->asked < t->bursts) return x->last_ask;
  x->walked = x->last_ask;
  while (x->asking < x->passed &&
         open_of(x, x->asking)->asked == open_of(x, x->asking)->bursts)
    x->asking++;
  return x->last_ask;
}

/* Nobody is in the way of requests for writes. */
static void ask_writes(const dma *d, channel *x) {
  while (x->asking < x->passed) {
    transfer *t = open_of(x, x->asking);
    int64_t at = next_request(d, x, t);
    if (at == WK_SCHED_NEVER) return;
    (void)note_request(d, x, t, at);
  }
}

/* Stores: cycles that the accesses of the first n bursts take. */
static int64_t accesses_in(const transfer *t, int64_t n) {
  return (int64_t)((double)accesses_before(t, n) * t->slow);
}

/* The beats of a pack are on the bus one after the other, behind those of the one before, its
 * request, and the access that reads its last byte. */
static int64_t next_sent(channel *x) {
  if (x->sent == x->asked) return WK_SCHED_NEVER;
  const transfer *t = open_of(x, x->sending);
  int64_t size = x->size[x->sent % WK_ACCEL_WINDOW];
  int64_t read = t->from + accesses_in(t, t->sent + size) - 1 + WK_COST_dma_send;
  int64_t asked = x->asked_at[x->sent % WK_ACCEL_WINDOW];
  return later(read, later(x->last_sent, asked) + beats_of(t, t->sent, size));
}

static void pass(dma *d, channel *x);

static void find_next(dma *d, channel *x) {
  pass(d, x);
  if (x->is_store) {
    ask_writes(d, x);
    pass(d, x);
    ask_writes(d, x);
    x->next_at = next_sent(x);
  } else {
    x->next_at = x->asking < x->passed ? next_request(d, x, open_of(x, x->asking))
                                       : WK_SCHED_NEVER;
  }
}

static void complete(dma *d, channel *x, int64_t retire) {
  d->done[d->n_done++] = (wk_sched_done){open_of(x, x->done)->step, retire};
  d->has_news = true;
  x->retired[x->done++ % WK_ACCEL_OPEN] = retire;
}

/* Each writes in its turn. */
static void run_fills(dma *d, channel *x) {
  while (x->done < x->passed && open_of(x, x->done)->is_fill) {
    const transfer *t = open_of(x, x->done);
    x->moved = later(t->start + WK_COST_fill, x->moved) + t->accesses;
    x->moved += wait_for_banks(d, x, t, t->accesses);
    complete(d, x, x->moved);
  }
}

/* The command in the setup stage goes on, where that is known. */
static void pass(dma *d, channel *x) {
  bool is_waiting = !x->has_next || x->passed - x->done >= x->limit;
  if (is_waiting || (!x->next.is_fill && x->asking < x->passed)) return;
  transfer *t = open_of(x, x->passed);
  *t = x->next;
  t->passes = t->start + SETUP;
  if (!t->is_fill) t->passes = later(t->passes, x->walked);
  if (x->passed >= x->limit)
    t->passes = later(t->passes, x->retired[(x->passed - x->limit) % WK_ACCEL_OPEN]);
  if (x->asking == x->passed && t->is_fill) x->asking++;
  x->passed++;
  x->has_next = false;
  x->free = t->passes;
  d->has_news = true;
  if (x->is_store) {
    t->from = later(t->passes + WK_COST_dma_read - SETUP, x->moved);
    t->slow = 1 + waits(d, t, t->from);
    x->moved = t->from + accesses_in(t, t->bursts);
  }
  run_fills(d, x);
}

void wk_accel_dma_start(dma *d, const wk_sched_steps *steps, uint32_t index, int64_t start) {
  const wk_sched_step *s = &steps->list.data[index];
  const wk_isa_command *c = wk_accel_step_command(steps, index);
  channel *x = &d->channels[c->queue];
  x->next = (transfer){.step = index, .is_fill = c->opcode == WK_CMD_FILL, .start = start,
                       .banks = banks_of(d->machine, s),
                       .accesses = accesses_of(d->machine, c, s->bytes)};
  if (!x->next.is_fill) find_traffic(d, c, &x->next);
  x->has_next = true;
  find_next(d, x);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The next one that asks for or sends a pack; of those of one cycle, not who asked last. NULL:
 * there is none. */
static channel *next_channel(dma *d) {
  int best = WK_QUEUE_st;
  for (int q = WK_QUEUE_ld0; q < d->queues; q++) {
    int64_t at = d->channels[q].next_at, least = d->channels[best].next_at;
    if (at < least || (at == least && best == d->turn)) best = q;
  }
  return d->channels[best].next_at == WK_SCHED_NEVER ? NULL : &d->channels[best];
}

static int64_t time_of(const dma *d, const channel *x) {
  return x->is_store ? x->next_at : later(x->next_at, d->last_ask + 1);
}

static void ask_or_send(dma *d, channel *x) {
  int queue = (int)(x - d->channels);
  int64_t at = time_of(d, x);
  if (x->is_store) {
    transfer *t = open_of(x, x->sending);
    push(&d->writes, at, queue);
    x->last_sent = at;
    t->sent += x->size[x->sent++ % WK_ACCEL_WINDOW];
    if (t->sent == t->bursts) x->sending++;
  } else {
    push(&d->reads, at + d->machine->dram_latency, queue);
    d->turn = queue;
    d->last_ask = note_request(d, x, open_of(x, x->asking), at);
  }
  find_next(d, x);
}

/* The bus waits for a channel whose buffer is full; a burst's place is free when the gearbox has
 * its last beat. */
static void serve_load(dma *d, channel *x, int64_t ready) {
  transfer *t = open_of(x, x->done);
  int64_t size = x->size[x->served % WK_ACCEL_WINDOW];
  int64_t accesses = accesses_before(t, t->served + size) - t->served_accesses;
  deliver(d, ready, size, serve_beats(t, size));
  t->served_accesses += accesses;
  int64_t last = d->delivered + WK_COST_dma_write + 1;
  x->moved = later(x->moved + accesses + wait_for_banks(d, x, t, accesses), last);
  int64_t rest = x->moved - WK_COST_dma_write - 1;
  d->delivered = later(d->delivered, rest - FIFO_BEATS * t->per_beat);
  int64_t free = later(d->delivered, rest - GEARBOX_BEATS * t->per_beat);
  x->free_at[x->served++ % WK_ACCEL_WINDOW] = free + WK_COST_dma_load_again;
  t->served += size;
  if (t->served < t->bursts) return;
  complete(d, x, x->moved);
  run_fills(d, x);
}

static void serve_store(dma *d, channel *x, int64_t ready) {
  const wk_machine *m = d->machine;
  transfer *t = open_of(x, x->done);
  int64_t size = x->size[x->served % WK_ACCEL_WINDOW];
  (void)occupy(d, ready, size, serve_beats(t, size));
  int64_t answer = cycles_for(d, d->free_at) + m->dram_write_latency;
  x->free_at[x->served++ % WK_ACCEL_WINDOW] = answer + WK_COST_dma_store_again;
  t->served += size;
  if (t->served == t->bursts) complete(d, x, answer + 1);
}

static int64_t batch_of(const dma *d, int64_t n) {
  int64_t rest = d->commands - n * d->per_batch;
  return rest < d->per_batch ? rest : d->per_batch;
}

static void serve_front(dma *d, int64_t ready) {
  int64_t bytes = batch_of(d, d->fetched) * WK_COMMAND_BYTES;
  deliver(d, ready, 1, bytes / d->machine->bus);
  d->batch_at[d->fetched++ % WK_ACCEL_BATCHES] = d->delivered;
  d->has_news = true;
}

static void serve(dma *d) {
  wk_accel_burst b = pop_burst(d);
  if (b.source == FRONT) {
    serve_front(d, b.ready);
    return;
  }
  channel *x = &d->channels[b.source];
  if (x->is_store) serve_store(d, x, b.ready);
  else serve_load(d, x, b.ready);
  find_next(d, x);
}

bool wk_accel_dma_run(dma *d, int64_t until) {
  d->has_news = false;
  while (!d->has_news) {
    channel *x = next_channel(d);
    int64_t serves = next_service(d), asks = x ? time_of(d, x) : WK_SCHED_NEVER;
    int64_t at = asks <= serves ? asks : serves;
    if (at >= until) return false;
    d->now = later(d->now, at);
    if (asks <= serves) ask_or_send(d, x);
    else serve(d);
  }
  return true;
}

/* ---- front end ------------------------------------------------------------------------------- */

/* It is not known how many commands wait in their queues. When it stands still, one is full. */
void wk_accel_dma_fetch(dma *d, int64_t started, int64_t now) {
  int64_t ahead = started + AHEAD + d->machine->fifo;
  while (d->batches * d->per_batch < d->commands &&
         (d->batches + 1) * d->per_batch <= ahead) {
    push(&d->reads, now + 1 + d->machine->dram_latency, FRONT);
    d->batches++;
  }
}

/* The commands of a batch come one after the other. */
int64_t wk_accel_dma_fetched(const dma *d, int64_t n) {
  int64_t batch = n / d->per_batch;
  if (batch >= d->fetched) return WK_SCHED_NEVER;
  int64_t at = d->batch_at[batch % WK_ACCEL_BATCHES];
  if (!at) return 0;
  const wk_fraction rate = d->machine->dram_bytes;
  int64_t behind = (batch_of(d, batch) - 1 - n % d->per_batch) * WK_COMMAND_BYTES;
  return later(0, at - behind * rate.den / rate.num) + DISPATCH;
}

void wk_accel_dma_init(dma *d, const wk_machine *m, const wk_accel_ports *ports, int64_t commands,
                       bool is_begin) {
  memset(d, 0, sizeof *d);
  d->machine = m;
  d->shift = __builtin_ctzll((unsigned long long)m->dram_bytes.num);
  if (m->dram_bytes.num != (int64_t)1 << d->shift) d->shift = -1;
  d->together = m->bursts < FEWEST ? 1 : m->bursts / FEWEST;
  d->ports = ports;
  d->commands = commands;
  d->per_batch = m->burst / WK_COMMAND_BYTES;
  d->queues = wk_machine_queues(m);
  for (int q = WK_QUEUE_st; q < WK_QUEUE_COUNT; q++) {
    channel *x = &d->channels[q];
    x->is_store = q == WK_QUEUE_st;
    x->limit = x->is_store ? OPEN_STORES : OPEN_LOADS;
    x->next_at = WK_SCHED_NEVER;
    x->last_ask = x->last_sent = -1;
  }
  d->last_ask = -1;
  if (!is_begin)
    while ((d->fetched + 1) * d->per_batch <= AHEAD) d->batch_at[d->fetched++] = 0;
  d->batches = d->fetched;
  wk_accel_dma_fetch(d, is_begin ? -m->fifo : 0, 0);
}
