/* SPDX-License-Identifier: Apache-2.0
 * The front end, the bus, and the cycle that all share. */
#include "targets/accel/model/timing.h"

#include <stdlib.h>
#include <string.h>

/* ---- queues ---------------------------------------------------------------------------------- */

static const wk_isa_command *head_of(const wk_timing *t, int q) {
  const wk_command_queue *x = &t->waiting[q];
  return x->n ? &t->job->commands[x->index[x->head]] : NULL;
}

/* The queue that the command waits for; -1: it may start. */
static int waits_for(const wk_timing *t, const wk_isa_command *c) {
  for (int q = 0; q < t->queues; q++)
    if (c->wait >> q & 1 && t->retired[q] < c->threshold[q]) return q;
  return -1;
}

static const wk_isa_command *offered(const wk_timing *t, int q) {
  const wk_isa_command *c = head_of(t, q);
  return c && waits_for(t, c) < 0 ? c : NULL;
}

static void tell(const wk_timing *t, int q, uint32_t ordinal, bool retired) {
  if (t->job->event) t->job->event(t->job->context, t->now, q, ordinal, retired);
}

static void pop(wk_timing *t, int q) {
  wk_command_queue *x = &t->waiting[q];
  x->head = (x->head + 1) % 32;
  x->n--;
  tell(t, q, t->started[q]++, false);
  t->moved = true;
}

/* ---- front end (wick_fetch.sv, wick_dispatch.sv) --------------------------------------------- */

static uint32_t fetch_batch(const wk_timing *t) {
  uint32_t per_burst = (uint32_t)t->burst / WK_COMMAND_BYTES;
  uint32_t to_end = per_burst - (uint32_t)(t->fetch_address / WK_COMMAND_BYTES) % per_burst;
  return t->fetch_left < to_end ? t->fetch_left : to_end;
}

static bool fetch_asks(const wk_timing *t) {
  return t->fetch_left && t->fetch_room >= fetch_batch(t);
}

/* True: the first fetched command went to its queue (or was END). */
static bool dispatch(wk_timing *t, uint32_t fetched, const uint32_t *queued) {
  if (!fetched || t->ended || t->dispatched == t->job->n) return false;
  const wk_isa_command *c = &t->job->commands[t->dispatched];
  int q = (int)c->queue;
  if (c->opcode == WK_CMD_END) {
    t->ended = true;
  } else {
    wk_command_queue *x = &t->waiting[q];
    if (queued[q] == (uint32_t)t->m->fifo) return false;
    x->index[(x->head + x->n++) % 32] = t->dispatched;
    t->issued[q]++;
  }
  t->dispatched++;
  t->moved = true;
  return true;
}

/* A DMA queue has no room for the first fetched command. */
static bool is_held(const wk_timing *t, const uint32_t *queued) {
  if (!t->fetched_n || t->ended || t->dispatched == t->job->n) return false;
  uint32_t q = t->job->commands[t->dispatched].queue;
  return q >= WK_QUEUE_st && queued[q] == (uint32_t)t->m->fifo;
}

static void front_step(wk_timing *t, const uint32_t *queued) {
  bool asked = t->ar_granted == 0, popped = dispatch(t, t->fetched_n, queued);
  uint32_t per_command = WK_COMMAND_BYTES / (uint32_t)t->bus;
  t->fetched_n -= popped;
  t->fetch_room += popped;
  if (t->beat_valid && t->beat_id == 0) {
    t->r->counters[WK_COUNTER_bytes_fetch] += (uint64_t)t->bus;
    if (++t->fetch_beats == per_command) {
      t->fetch_beats = 0;
      t->fetched_n++;
    }
  }
  if (asked) {
    uint32_t batch = fetch_batch(t);
    t->fetch_room -= batch;
    t->fetch_left -= batch;
    t->fetch_address += (uint64_t)batch * WK_COMMAND_BYTES;
  }
}

/* ---- reads (wick_axi_read.sv) ---------------------------------------------------------------- */

static bool read_request(const wk_timing *t, int source, uint32_t *address, uint32_t *beats) {
  if (source > 0) return wk_timing_channel_request(t, &t->channels[source], address, beats);
  if (!fetch_asks(t)) return false;
  *address = (uint32_t)t->fetch_address;
  *beats = fetch_batch(t) * WK_COMMAND_BYTES / (uint32_t)t->bus;
  return true;
}

enum { MAX_LOST = 15 };

/* The fetch goes first, then the highest priority, one that has lost often before that; of equals
 * they take turns. */
static int arbitrate(const wk_timing *t, const bool *asks) {
  int best = -1, best_key = -1;
  if (asks[0]) return 0;
  for (int pass = 0; pass < 2; pass++)
    for (int s = 1; s <= t->loads; s++) {
      if (!asks[s] || (pass == 0) != (s > t->ar_turn)) continue;
      int key = (t->ar_lost[s] == MAX_LOST) * 8 + t->channels[s].walker.t.priority;
      if (key > best_key) {
        best = s;
        best_key = key;
      }
    }
  return best;
}

static void requests_pop(wk_timing *t, wk_requests *r) {
  memmove(r->at, r->at + 1, sizeof r->at[0] * (size_t)--r->n);
  t->moved = true;
}

static void requests_put(wk_timing *t, wk_requests *r, uint8_t id, uint32_t address,
                         uint32_t beats) {
  r->at[r->n].id = id;
  r->at[r->n].address = address;
  r->at[r->n++].beats = beats;
  t->moved = true;
}

static void read_requests(wk_timing *t, bool room) {
  bool asks[4] = {false}, sends = t->ar.n && room, full = t->ar.n == WK_BUS_DEPTH;
  uint32_t address[4] = {0}, beats[4] = {0};
  for (int s = 0; s <= t->loads; s++) asks[s] = read_request(t, s, &address[s], &beats[s]);
  t->ar_granted = -1;
  if (sends) {
    wk_dram_read(t->dram, t->ar.at[0].id, t->ar.at[0].address, t->ar.at[0].beats);
    requests_pop(t, &t->ar);
  }
  int best = full ? -1 : arbitrate(t, asks);
  if (best < 0) return;
  requests_put(t, &t->ar, (uint8_t)best, address[best], beats[best]);
  t->ar_granted = best;
  if (best) t->ar_turn = best;
  for (int s = 1; s <= t->loads; s++) {
    if (!asks[s] || s == best) t->ar_lost[s] = 0;
    else if (t->ar_lost[s] < MAX_LOST) t->ar_lost[s]++;
  }
}

/* ---- writes (wick_axi_write.sv, wick_mark.sv) ------------------------------------------------ */

enum { IDLE, ASK, FILL, SEND, ANSWER, ORDERS = 16 };

static uint32_t mark_burst(const wk_timing *t) {
  uint32_t per_burst = (uint32_t)(t->burst / t->bus);
  return t->mark.rest < per_burst ? t->mark.rest : per_burst;
}

static void mark_begin(wk_timing *t) {
  uint32_t words = (uint32_t)t->bus / 8;
  t->mark.state = ASK;
  t->mark.words = words;
  t->mark.rest = wk_ceil_div(WK_COUNTER_COUNT, words);
  t->mark.slot = 0;
}

/* granted: its request was taken; sent: its beat; answered: its burst. */
static void mark_step(wk_timing *t, bool granted, bool sent, bool answered) {
  switch (t->mark.state) {
    case IDLE:
      if (t->mark_taken) mark_begin(t);
      return;
    case ASK:
      if (!granted) return;
      t->mark.beats = mark_burst(t);
      t->mark.rest -= t->mark.beats;
      t->mark.state = FILL;
      break;
    case FILL:
      if (++t->mark.slot == t->mark.words) t->mark.slot = 0, t->mark.state = SEND;
      break;
    case SEND:
      if (!sent) return;
      t->mark.state = --t->mark.beats ? FILL : ANSWER;
      break;
    default:
      if (!answered) return;
      t->mark.state = t->mark.rest ? ASK : IDLE;
  }
  t->moved = true;
}

typedef struct {
  uint32_t beats[64], head, n; /* bursts that memory waits for data of */
} open_writes;

static void write_requests(wk_timing *t, bool room, open_writes *open) {
  uint32_t address, beats;
  bool sends = t->aw.n && room;
  bool free = t->aw.n < WK_BUS_DEPTH && t->order_n < ORDERS;
  bool store = wk_timing_channel_request(t, &t->channels[0], &address, &beats);
  t->aw_granted = false;
  if (sends) {
    wk_dram_write(t->dram, t->aw.at[0].id, t->aw.at[0].address, t->aw.at[0].beats);
    open->beats[(open->head + open->n++) % 64] = t->aw.at[0].beats;
    requests_pop(t, &t->aw);
  }
  if (!free) return;
  t->aw_mark = t->mark.state == ASK;
  if (!t->aw_mark && !store) return;
  t->aw_granted = true;
  requests_put(t, &t->aw, t->aw_mark, t->aw_mark ? 0 : address,
               t->aw_mark ? mark_burst(t) : beats);
}

static void write_data(wk_timing *t, bool was_open, open_writes *open, bool order_valid,
                       bool *mark_sent) {
  bool sends = t->w_n && was_open, free = t->w_n < WK_BUS_DEPTH, last = false;
  bool marks = t->order[t->order_head];
  bool has = marks ? t->mark.state == SEND
                   : wk_timing_store_has_beat(t, &t->channels[0], &last);
  if (sends) {
    wk_dram_write_beat(t->dram, NULL, 0);
    t->r->counters[WK_COUNTER_beats_write]++;
    if (--open->beats[open->head] == 0) open->head = (open->head + 1) % 64, open->n--;
    t->moved = true;
  }
  bool puts = free && order_valid && has;
  t->w_n += puts - sends;
  t->w_taken = puts && !marks;
  *mark_sent = puts && marks;
  if (marks) last = t->mark.beats == 1;
  if (puts && last) t->order_head = (t->order_head + 1) % 32, t->order_n--;
  t->moved |= puts;
}

static void answers(wk_timing *t) {
  wk_dram_beat beat;
  uint8_t id, resp;
  t->beat_valid = wk_dram_read_beat(t->dram, &beat);
  if (t->beat_valid && beat.id && t->channels[beat.id].beats == WK_BEATS) t->beat_valid = false;
  if (t->beat_valid) {
    t->beat_id = beat.id;
    t->r->counters[WK_COUNTER_beats_read]++;
    wk_dram_pop_read(t->dram);
  }
  t->answer_valid = wk_dram_response(t->dram, &id, &resp);
  if (t->answer_valid) {
    t->answer_mark = id == 1;
    wk_dram_pop_response(t->dram);
  }
  t->moved |= t->beat_valid || t->answer_valid;
}

/* ---- counters -------------------------------------------------------------------------------- */

static int engine_state(const wk_timing *t, int q) {
  if (q == WK_QUEUE_ex) return wk_timing_ex_state(t);
  if (q == WK_QUEUE_ve) return wk_timing_ve_state(t);
  return wk_timing_channel_state(t, &t->channels[q - WK_QUEUE_st]);
}

/* What queues do in a cycle: states, of `wait` the queue waited for; computes: ex or ve does. */
typedef struct {
  int states[WK_QUEUE_COUNT], waits[WK_QUEUE_COUNT];
  bool computes;
} activity;

static void count_cycles(wk_timing *t, const activity *a, uint64_t cycles) {
  uint64_t *c = t->r->counters;
  bool load = false, stuck = t->held;
  for (int q = 0; q < t->queues; q++) {
    c[wk_isa_counter(q, a->states[q], a->waits[q])] += cycles;
    if (q < WK_QUEUE_st) stuck |= a->states[q] == WK_STATE_wait && a->waits[q] >= WK_QUEUE_st;
  }
  for (int k = 1; k <= t->loads; k++)
    load |= t->channels[k].open || (t->channels[k].busy && !t->channels[k].pattern.t.fill);
  int set = load + 2 * a->computes + 4 * (t->channels[0].open > 0);
  c[WK_COUNTER_subset_none + set] += cycles;
  if (!a->computes && stuck) c[WK_COUNTER_exposed] += cycles;
  c[WK_COUNTER_cycles] += cycles;
}

static void find_states(const wk_timing *t, activity *a) {
  *a = (activity){.computes = false};
  for (int q = 0; q < t->queues; q++) {
    const wk_isa_command *c = head_of(t, q);
    a->states[q] = engine_state(t, q);
    if (q < WK_QUEUE_st) a->computes |= a->states[q] == WK_STATE_busy;
    if (a->states[q] != WK_STATE_empty || !c) continue;
    int r = waits_for(t, c); /* one that is about to start computes nothing yet */
    a->states[q] = r < 0 ? WK_STATE_busy : WK_STATE_wait;
    a->waits[q] = r < 0 ? 0 : r;
  }
}

/* ---- a cycle --------------------------------------------------------------------------------- */

static void step_engines(wk_timing *t) {
  const wk_isa_command *heads[WK_QUEUE_COUNT];
  bool taken[WK_QUEUE_COUNT] = {false};
  for (int q = 0; q < t->queues; q++) heads[q] = offered(t, q);
  for (int q = WK_QUEUE_st; q < t->queues; q++) t->retire[q] = t->channels[q - WK_QUEUE_st].done;
  taken[WK_QUEUE_ex] = wk_timing_ex_step(t, heads[WK_QUEUE_ex]);
  taken[WK_QUEUE_ve] = wk_timing_ve_step(t, heads[WK_QUEUE_ve]);
  for (int q = WK_QUEUE_st; q < t->queues; q++) {
    int k = q - WK_QUEUE_st;
    taken[q] = wk_timing_channel_step(t, &t->channels[k], k, heads[q]);
  }
  for (int q = 0; q < t->queues; q++)
    if (t->retire[q]) {
      tell(t, q, t->retired[q], true);
      t->moved = true;
    }
  for (int q = 0; q < t->queues; q++) {
    if (taken[q]) pop(t, q);
    t->retired[q] += t->retire[q];
  }
}

static void cycle(wk_timing *t, open_writes *open) {
  uint32_t queued[WK_QUEUE_COUNT];
  activity now;
  bool room = wk_dram_can_request(t->dram), was_open = open->n > 0, mark_sent;
  bool order_valid = t->order_n > 0;
  t->moved = false;
  for (int p = 0; p < WK_PORTS_MAX; p++) t->ports[p].wants = false;
  for (int q = 0; q < t->queues; q++) queued[q] = t->waiting[q].n;
  answers(t);
  read_requests(t, room);
  write_requests(t, room, open);
  write_data(t, was_open, open, order_valid, &mark_sent);
  if (t->aw_granted) t->order[(t->order_head + t->order_n++) % 32] = t->aw_mark;
  wk_timing_ex_ask(t);
  wk_timing_ve_ask(t);
  for (int k = 0; k <= t->loads; k++) wk_timing_channel_ask(t, &t->channels[k]);
  wk_timing_grant(t);
  find_states(t, &now);
  t->held = is_held(t, queued);
  count_cycles(t, &now, 1);
  t->mark_taken = false;
  uint32_t row = t->ex.mark_row;
  step_engines(t);
  if (t->mark_taken && t->job->mark) t->job->mark(t->job->context, row, t->r->counters);
  mark_step(t, t->aw_granted && t->aw_mark, mark_sent, t->answer_valid && t->answer_mark);
  front_step(t, queued);
  wk_dram_tick(t->dram);
  t->now++;
  if (t->moved) return;
  uint64_t next = wk_dram_next_event(t->dram), present = wk_dram_cycle(t->dram);
  if (next == UINT64_MAX || next <= present) return;
  count_cycles(t, &now, next - present);
  t->now += next - present;
  wk_dram_skip_to(t->dram, next);
}

static bool is_finished(const wk_timing *t) {
  if (!t->ended || t->mark.state != IDLE) return false;
  for (int q = 0; q < t->queues; q++)
    if (t->retired[q] != t->issued[q]) return false;
  return true;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static bool prepare(wk_timing *t, const wk_timing_job *job, wk_timing_result *r) {
  const wk_machine *m = job->machine;
  *t = (wk_timing){.job = job, .m = m, .n = (int)m->array, .banks = (int)m->banks,
                   .queues = wk_machine_queues(m), .loads = (int)m->load_channels,
                   .bus = (int)m->bus, .burst = (int)m->burst, .r = r,
                   .fetch_address = job->address, .fetch_left = job->n,
                   .fetch_room = WK_PREFETCH};
  t->dram = wk_dram_new(&job->dram, NULL);
  for (int k = 0; k <= t->loads; k++) {
    t->channels[k].is_store = k == 0;
    t->channels[k].port = k == 0 ? WK_PORT_ST : WK_PORT_LD + k - 1;
    t->channels[k].first = true;
  }
  return t->dram != NULL;
}

static void run_to_end(wk_timing *t, const wk_timing_job *job, wk_timing_result *r) {
  open_writes open = {0};
  activity end;
  while (!is_finished(t) && !r->gave_up) {
    cycle(t, &open);
    r->gave_up = job->max_cycles && t->now >= job->max_cycles;
  }
  find_states(t, &end);
  count_cycles(t, &end, 1); /* the cycle that sees the end */
  memcpy(r->done, t->retired, sizeof r->done);
  r->no_memory = wk_dram_has_failed(t->dram);
}

void wk_timing_run(const wk_timing_job *job, wk_timing_result *r) {
  wk_timing *t = calloc(1, sizeof *t);
  *r = (wk_timing_result){.gave_up = false};
  r->no_memory = !t || !prepare(t, job, r);
  if (!r->no_memory) run_to_end(t, job, r);
  if (t) wk_dram_free(t->dram);
  free(t);
}
