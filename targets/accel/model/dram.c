/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/support/support.h"

enum { TRAFFIC_ID = 255, TRAFFIC_BYTES = WK_TRAFFIC_BYTES };

typedef struct {
  uint64_t ready; /* cycle; UINT64_MAX: a write whose data is still coming */
  uint32_t address, beats, beats_here; /* beats_here: of a write, those that have come */
  uint8_t id;
  bool is_write;
  uint8_t *data;     /* of a write, where there is memory: beats * bus bytes, owned */
  uint64_t *strobes; /* one a beat, owned */
} burst;

/* A read burst that the pipe has taken. Beat j, from 0, is on the bus from a cycle that follows
 * from `start`, 1 / bytes_num cycles. */
typedef struct {
  uint64_t start, answer; /* answer: the number of its beat 0 among all answers */
  uint32_t address, beats, given;
  uint8_t id;
  uint8_t *data; /* as memory was then, where there is memory; owned */
} reply;

typedef struct {
  uint64_t visible;
  uint8_t id, resp;
} response;

struct wk_dram {
  wk_dram_params p;
  uint8_t *memory;
  uint64_t now, free_at; /* cycles; units of 1 / bytes_num cycles */
  uint64_t answers;      /* read beats and write responses so far, for error_beat */
  uint64_t traffic;      /* units of 1 / traffic_den bytes */
  uint64_t next_refresh;
  uint32_t inside;
  wk_rng rng;
  WK_VEC(burst) pending; /* in the order of acceptance */
  size_t first_open;     /* pending write whose data comes next, an index; pending.n: none */
  uint64_t next_ready;   /* least `ready` of all pending */
  WK_VEC(reply) replies; /* a queue: from replies_head */
  size_t replies_head;
  uint64_t next_beat;    /* cycle from which the oldest beat is on the bus; UINT64_MAX: none */
  WK_VEC(response) responses;
  size_t responses_head;
  uint32_t others; /* of the pending, those of others */
  bool has_failed;
};

static void drop_burst(burst *b) {
  free(b->data);
  free(b->strobes);
}

void wk_dram_reset(wk_dram *d) {
  for (size_t i = 0; i < d->pending.n; i++) drop_burst(&d->pending.data[i]);
  while (d->replies_head < d->replies.n) free(d->replies.data[d->replies_head++].data);
  d->others = 0;
  d->pending.n = d->replies.n = d->replies_head = d->responses.n = d->responses_head = 0;
  d->now = d->free_at = d->answers = d->traffic = 0;
  d->next_refresh = d->p.refresh_interval;
  d->inside = 0;
  d->first_open = 0;
  d->next_ready = d->next_beat = UINT64_MAX;
  d->rng = (wk_rng){.s = d->p.seed};
}

wk_dram_params wk_dram_params_of(const wk_machine *m) {
  return (wk_dram_params){.bus = (uint32_t)m->bus,
                          .bytes_num = (uint32_t)m->dram_bytes.num,
                          .bytes_den = (uint32_t)m->dram_bytes.den,
                          .latency = (uint32_t)m->dram_latency,
                          .write_latency = (uint32_t)m->dram_write_latency,
                          .outstanding = (uint32_t)m->dram_outstanding,
                          .overhead = (uint32_t)m->dram_overhead,
                          .jitter = (uint32_t)m->dram_jitter,
                          .refresh_interval = (uint32_t)m->dram_refresh_interval,
                          .refresh_cycles = (uint32_t)m->dram_refresh_cycles,
                          .traffic_num = (uint32_t)m->dram_traffic.num,
                          .traffic_den = (uint32_t)m->dram_traffic.den,
                          .seed = (uint64_t)m->dram_seed,
                          .error_beat = m->dram_error,
                          .size = (uint64_t)m->dram_size};
}

/* Room for all requests that may be inside at once, so that taking one cannot fail; twice that for
 * queues, which move down only when they are full. */
static bool reserve(wk_dram *d) {
  size_t n = d->p.outstanding;
  return wk_vec_try_reserve(&d->pending, n) && wk_vec_try_reserve(&d->replies, 2 * n) &&
         wk_vec_try_reserve(&d->responses, 2 * n);
}

wk_dram *wk_dram_new(const wk_dram_params *p, uint8_t *memory) {
  wk_dram *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  d->p = *p;
  d->memory = memory;
  wk_dram_reset(d);
  if (reserve(d)) return d;
  wk_dram_free(d);
  return NULL;
}

bool wk_dram_has_failed(const wk_dram *d) { return d->has_failed; }

void wk_dram_free(wk_dram *d) {
  if (!d) return;
  wk_dram_reset(d);
  wk_vec_free(&d->pending);
  wk_vec_free(&d->replies);
  wk_vec_free(&d->responses);
  free(d);
}

uint64_t wk_dram_cycle(const wk_dram *d) { return d->now; }

/* ---- requests -------------------------------------------------------------------------------- */

bool wk_dram_can_request(const wk_dram *d) { return d->inside < d->p.outstanding; }

static void find_next_ready(wk_dram *d) {
  d->next_ready = UINT64_MAX;
  for (size_t i = 0; i < d->pending.n; i++)
    if (d->pending.data[i].ready < d->next_ready) d->next_ready = d->pending.data[i].ready;
}

/* Nothing is allocated here for whoever asks wk_dram_can_request. */
static void add_burst(wk_dram *d, burst b) {
  if (!wk_vec_try_reserve(&d->pending, d->pending.n + 1)) {
    drop_burst(&b);
    d->has_failed = true;
    return;
  }
  d->pending.data[d->pending.n++] = b;
  if (b.ready < d->next_ready) d->next_ready = b.ready;
}

static uint64_t jitter(wk_dram *d) {
  return d->p.jitter ? (uint64_t)wk_rng_range(&d->rng, 0, d->p.jitter) : 0;
}

void wk_dram_read(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats) {
  d->inside++;
  add_burst(d, (burst){.ready = d->now + d->p.latency + jitter(d), .address = address,
                       .beats = beats, .id = id});
}

static void find_first_open(wk_dram *d) {
  while (d->first_open < d->pending.n) {
    const burst *b = &d->pending.data[d->first_open];
    if (b->is_write && b->beats_here < b->beats) return;
    d->first_open++;
  }
}

void wk_dram_write(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats) {
  burst b = {.ready = UINT64_MAX, .address = address, .beats = beats, .id = id, .is_write = true};
  if (d->memory) {
    b.data = malloc((size_t)beats * d->p.bus);
    b.strobes = malloc(beats * sizeof *b.strobes);
  }
  if (d->memory && (!b.data || !b.strobes)) {
    drop_burst(&b);
    b.data = NULL, b.strobes = NULL;
    d->has_failed = true;
  }
  d->inside++;
  add_burst(d, b);
}

bool wk_dram_write_beat(wk_dram *d, const uint8_t *data, uint64_t strobe) {
  find_first_open(d);
  if (d->first_open == d->pending.n) return false;
  burst *b = &d->pending.data[d->first_open];
  if (b->data) {
    memcpy(b->data + (size_t)b->beats_here * d->p.bus, data, d->p.bus);
    b->strobes[b->beats_here] = strobe;
  }
  if (++b->beats_here < b->beats) return true;
  b->ready = d->now + jitter(d);
  if (b->ready < d->next_ready) d->next_ready = b->ready;
  return true;
}

/* ---- the pipe -------------------------------------------------------------------------------- */

/* What answer number n is, if it is a beat, or the last of a burst, at this address. */
static uint8_t answer(const wk_dram *d, uint64_t n, uint64_t address) {
  if ((int64_t)n == d->p.error_beat) return WK_DRAM_SLVERR;
  return address + d->p.bus > d->p.size ? WK_DRAM_DECERR : WK_DRAM_OKAY;
}

static uint64_t beat_cost(const wk_dram *d) { return (uint64_t)d->p.bus * d->p.bytes_den; }

static void find_next_beat(wk_dram *d) {
  d->next_beat = UINT64_MAX;
  if (d->replies_head == d->replies.n) return;
  const reply *r = &d->replies.data[d->replies_head];
  d->next_beat = wk_ceil_div(r->start + (r->given + 1) * beat_cost(d), d->p.bytes_num);
}

/* Beats that do not lie whole in memory are zeros. */
static uint8_t *data_of(const wk_dram *d, const burst *b) {
  size_t n = (size_t)b->beats * d->p.bus, have = 0;
  if (!d->memory) return NULL;
  uint8_t *data = calloc(1, n);
  if (!data) return NULL;
  if (b->address < d->p.size) have = (d->p.size - b->address) / d->p.bus * d->p.bus;
  memcpy(data, d->memory + b->address, have < n ? have : n);
  return data;
}

static void serve_read(wk_dram *d, const burst *b, uint64_t start) {
  const reply r = {.start = start, .answer = d->answers, .address = b->address, .beats = b->beats,
                   .id = b->id, .data = data_of(d, b)};
  if (d->replies.n == d->replies.cap) {
    d->replies.n -= d->replies_head;
    memmove(d->replies.data, d->replies.data + d->replies_head,
            d->replies.n * sizeof *d->replies.data);
    d->replies_head = 0;
  }
  d->has_failed |= d->memory && !r.data;
  d->answers += b->beats;
  if (wk_vec_try_reserve(&d->replies, d->replies.n + 1)) d->replies.data[d->replies.n++] = r;
  if (d->replies_head + 1 == d->replies.n) find_next_beat(d);
}

static void store_beat(wk_dram *d, const burst *b, uint32_t j) {
  uint64_t address = (uint64_t)b->address + (uint64_t)j * d->p.bus;
  for (uint32_t i = 0; i < d->p.bus; i++)
    if (b->strobes[j] >> i & 1) d->memory[address + i] = b->data[(size_t)j * d->p.bus + i];
}

static void serve_write(wk_dram *d, const burst *b, uint64_t end) {
  uint64_t last = (uint64_t)b->address + (uint64_t)(b->beats - 1) * d->p.bus;
  response out = {.visible = wk_ceil_div(end, d->p.bytes_num) + d->p.write_latency, .id = b->id,
                  .resp = answer(d, d->answers++, last)};
  if (d->memory && !b->data) out.resp = WK_DRAM_SLVERR;
  if (d->memory && out.resp == WK_DRAM_OKAY)
    for (uint32_t j = 0; j < b->beats; j++) store_beat(d, b, j);
  if (d->responses.n == d->responses.cap) {
    d->responses.n -= d->responses_head;
    memmove(d->responses.data, d->responses.data + d->responses_head,
            d->responses.n * sizeof *d->responses.data);
    d->responses_head = 0;
  }
  if (wk_vec_try_reserve(&d->responses, d->responses.n + 1))
    d->responses.data[d->responses.n++] = out;
}

/* Of the bursts that are ready and the oldest of their id and kind, the one that was ready
 * first. */
static size_t choose(const wk_dram *d) {
  uint64_t seen[2][4] = {{0}};
  size_t best = d->pending.n;
  for (size_t i = 0; i < d->pending.n; i++) {
    const burst *b = &d->pending.data[i];
    uint64_t *word = &seen[b->is_write][b->id / 64], bit = UINT64_C(1) << b->id % 64;
    if (*word & bit) continue;
    *word |= bit;
    if (b->ready > d->now) continue;
    if (best == d->pending.n || b->ready < d->pending.data[best].ready) best = i;
  }
  return best;
}

static bool serve_one(wk_dram *d) {
  size_t i = choose(d);
  if (i == d->pending.n) return false;
  burst b = d->pending.data[i];
  uint64_t ready = b.ready * d->p.bytes_num, start = d->free_at > ready ? d->free_at : ready;
  start += (uint64_t)d->p.overhead * d->p.bytes_num;
  d->free_at = start + b.beats * beat_cost(d);
  if (b.is_write) serve_write(d, &b, d->free_at);
  else if (b.id != TRAFFIC_ID) serve_read(d, &b, start);
  else d->others--;
  drop_burst(&b);
  memmove(&d->pending.data[i], &d->pending.data[i + 1],
          (d->pending.n - i - 1) * sizeof *d->pending.data);
  d->pending.n--;
  if (d->first_open > i) d->first_open--;
  find_next_ready(d);
  return true;
}

static void add_traffic(wk_dram *d) {
  uint32_t beats = TRAFFIC_BYTES / d->p.bus;
  uint64_t size = (uint64_t)TRAFFIC_BYTES * d->p.traffic_den;
  d->traffic += (uint64_t)d->p.traffic_num * 2 * (wk_rng_next(&d->rng) >> 63);
  if (d->traffic < size) return;
  d->traffic -= size;
  if (!wk_vec_try_reserve(&d->pending, (size_t)d->p.outstanding + d->others + 1)) {
    d->has_failed = true;
    return;
  }
  d->others++;
  add_burst(d, (burst){.ready = d->now, .beats = beats, .id = TRAFFIC_ID});
}

/* The refreshes of all cycles before `end`. The pipe is busy behind the last of them for as long as
 * behind one alone, or as long as all of them keep it from what it has to do: they do not meet. */
static void refresh_until(wk_dram *d, uint64_t end) {
  if (end <= d->next_refresh) return;
  uint64_t n = (end - 1 - d->next_refresh) / d->p.refresh_interval + 1;
  uint64_t last = d->next_refresh + (n - 1) * d->p.refresh_interval;
  uint64_t pause = (uint64_t)d->p.refresh_cycles * d->p.bytes_num;
  uint64_t alone = last * d->p.bytes_num + pause;
  d->free_at += n * pause;
  if (d->free_at < alone) d->free_at = alone;
  d->next_refresh = last + d->p.refresh_interval;
}

void wk_dram_tick(wk_dram *d) {
  if (d->p.traffic_num) add_traffic(d);
  if (d->p.refresh_interval) refresh_until(d, d->now + 1);
  while (d->next_ready <= d->now && d->free_at < (d->now + 1) * d->p.bytes_num)
    if (!serve_one(d)) break;
  d->now++;
}

/* ---- answers --------------------------------------------------------------------------------- */

bool wk_dram_read_beat(wk_dram *d, wk_dram_beat *out) {
  if (d->next_beat > d->now) return false;
  static const uint8_t lost[64]; /* the widest bus */
  const reply *r = &d->replies.data[d->replies_head];
  uint64_t offset = (uint64_t)r->given * d->p.bus;
  bool is_lost = d->memory && !r->data;
  *out = (wk_dram_beat){.id = r->id,
                        .resp = is_lost ? WK_DRAM_SLVERR
                                        : answer(d, r->answer + r->given, r->address + offset),
                        .last = r->given + 1 == r->beats,
                        .data = r->data ? r->data + offset : is_lost ? lost : NULL};
  return true;
}

void wk_dram_pop_read(wk_dram *d) {
  reply *r = &d->replies.data[d->replies_head];
  if (++r->given == r->beats) {
    d->inside--;
    free(r->data);
    if (++d->replies_head == d->replies.n) d->replies_head = d->replies.n = 0;
  }
  find_next_beat(d);
}

bool wk_dram_response(wk_dram *d, uint8_t *id, uint8_t *resp) {
  if (d->responses_head == d->responses.n) return false;
  const response *r = &d->responses.data[d->responses_head];
  if (r->visible > d->now) return false;
  *id = r->id;
  *resp = r->resp;
  return true;
}

void wk_dram_pop_response(wk_dram *d) {
  d->inside--;
  if (++d->responses_head == d->responses.n) d->responses_head = d->responses.n = 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t sooner(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint64_t wk_dram_next_event(const wk_dram *d) {
  uint64_t next = d->next_beat;
  if (d->responses_head < d->responses.n)
    next = sooner(next, d->responses.data[d->responses_head].visible);
  if (d->next_ready != UINT64_MAX) {
    uint64_t pipe = d->free_at / d->p.bytes_num;
    next = sooner(next, pipe > d->next_ready ? pipe : d->next_ready);
  }
  return next < d->now ? d->now : next;
}

void wk_dram_skip_to(wk_dram *d, uint64_t cycle) {
  if (d->p.traffic_num) { /* which every cycle has a coin thrown for */
    while (d->now < cycle) wk_dram_tick(d);
    return;
  }
  if (d->p.refresh_interval) refresh_until(d, cycle);
  if (cycle > d->now) d->now = cycle;
}
