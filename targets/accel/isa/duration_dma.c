/* SPDX-License-Identifier: Apache-2.0
 * How long LD and ST take: a step for every burst, none for beats and accesses to the scratchpad.
 *
 * Beat b of a transfer passes in b + H, access k to the scratchpad takes place in k + G; H and G
 * only grow, and what they are in the end is what counts. What one of them waits for is a maximum
 * over the beats of a burst of a difference of two staircases, one step a beat (or B / R of a slow
 * memory) against the accesses that a beat's bytes complete. An access has at most N bytes and
 * N <= B, so that a beat completes one at least: such a difference is largest at an end of the
 * burst. */
#include "targets/accel/isa/internal.h"

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- accesses to the scratchpad -------------------------------------------------------------- */

/* Chunks of so many bytes take `per_chunk` accesses of `width` bytes, the last of which may have
 * less. */
typedef struct {
  int64_t chunk, width, per_chunk;
} accesses;

static accesses accesses_of(const wk_machine *m, const wk_isa_command *c) {
  int64_t c0 = WK_SV(c, LD, c0), n = m->array;
  if (c0 % n == 0) return (accesses){n, n, 1};
  return (accesses){c0, least(c0, n), wk_ceil_div(c0, n)};
}

/* How many are complete when so many bytes are there. */
static int64_t complete_in(const accesses *a, int64_t bytes) {
  if (a->per_chunk == 1) return bytes / a->chunk;
  return bytes / a->chunk * a->per_chunk + bytes % a->chunk / a->width;
}

/* How many it takes for so many bytes. */
static int64_t needed_for(const accesses *a, int64_t bytes) {
  if (a->per_chunk == 1) return wk_ceil_div(bytes, a->chunk);
  return bytes / a->chunk * a->per_chunk + wk_ceil_div(bytes % a->chunk, a->width);
}

/* ---- bursts ---------------------------------------------------------------------------------- */

/* Runs of a transfer, joined, cut into bursts. */
typedef struct {
  int64_t address, rest, i[3], n[3], s[3], run;
  bool over;
} cutter;

/* One of them: where it begins in its first beat, and what was before it. */
typedef struct {
  int64_t lane, bytes, beats;
  int64_t first, before; /* its first beat; bytes before it */
} burst;

static cutter cut(const wk_isa_command *c) {
  cutter x = {.address = WK_SV(c, LD, dram),
              .run = WK_SV(c, LD, n0),
              .n = {WK_SV(c, LD, n1), WK_SV(c, LD, n2), WK_SV(c, LD, n3)},
              .s = {WK_SV(c, LD, s1), WK_SV(c, LD, s2), WK_SV(c, LD, s3)}};
  for (int k = 0; k < 3 && (x.n[k] == 1 || x.s[k] == x.run); k++) {
    x.run *= x.n[k];
    x.n[k] = 1;
  }
  x.rest = x.run;
  return x;
}

/* *b: the burst before. */
static void cut_next(cutter *x, const wk_machine *m, const wk_isa_command *c, burst *b) {
  int64_t room = m->burst - x->address % m->burst;
  b->first += b->beats;
  b->before += b->bytes;
  b->bytes = least(room, x->rest);
  b->lane = x->address % m->bus;
  b->beats = wk_ceil_div(b->lane + b->bytes, m->bus);
  x->address += b->bytes;
  x->rest -= b->bytes;
  if (x->rest) return;
  int k = 0;
  while (k < 3 && ++x->i[k] == x->n[k]) x->i[k++] = 0;
  x->over = k == 3;
  x->address = WK_SV(c, LD, dram) + x->i[0] * x->s[0] + x->i[1] * x->s[1] + x->i[2] * x->s[2];
  x->rest = x->run;
}

/* Bytes of the transfer before beat j of a burst. */
static int64_t bytes_before(const wk_machine *m, const burst *b, int64_t j) {
  if (j == 0) return b->before;
  return b->before + least(b->bytes, j * m->bus - b->lane);
}

/* When the requests of a channel are on the bus: one a cycle, and `bursts` at most without their
 * last beat (LD) or answer (ST). */
typedef struct {
  int64_t last, free_at[64];
  int64_t n;
} requests;

static int64_t request(requests *r) {
  r->last = r->last ? r->last + 1 : WK_COST_dma_request;
  return r->last = most(r->last, r->free_at[r->n]);
}

/* The newest burst is over; its place can be used by a request that is on the bus in `cycle`. */
static void complete(const wk_machine *m, requests *r, int64_t cycle) {
  r->free_at[r->n] = cycle;
  r->n = (r->n + 1) % m->bursts;
}

/* ---- LD -------------------------------------------------------------------------------------- */

typedef struct {
  const wk_machine *m;
  accesses a;
  int64_t stride; /* beats after which accesses lie in beats as before */
  int64_t num, cost; /* the memory takes cost / num cycles for a beat */
  int64_t free_at;   /* 1 / num cycles: end of the burst before */
  int64_t taken;     /* the last beat, on the bus */
  int64_t lag;       /* access k is in cycle k + lag */
} loading;

/* When beat j of the burst that the memory starts in start / num is on the bus. */
static int64_t taken_in(const loading *l, int64_t start, int64_t j) {
  int64_t first = most(l->taken + 1, wk_ceil_div(start + l->cost, l->num)) + j;
  return most(first, wk_ceil_div(start + (j + 1) * l->cost, l->num));
}

/* The first access that beat j completes is behind it. */
static void wait_for_beat(loading *l, const burst *b, int64_t start, int64_t j) {
  int64_t done = complete_in(&l->a, bytes_before(l->m, b, j));
  l->lag = most(l->lag, taken_in(l, start, j) + WK_COST_dma_write - done);
}

/* A whole beat that comes in the cycle after the one before cannot make accesses wait longer. Beats
 * of a memory slower than the bus can; of those a stride apart, which complete equally many
 * accesses more, the first or the last. A beat that is not whole stands by itself. */
static void load_burst(loading *l, const burst *b, int64_t start) {
  bool is_slow = l->cost > l->num;
  int64_t last = b->beats - 1, classes = (is_slow ? l->stride : 1) + (b->lane > 0);
  for (int64_t j = 0; j <= last && j < classes; j++) {
    wait_for_beat(l, b, start, j);
    if (is_slow) wait_for_beat(l, b, start, last - (last - j) % l->stride);
  }
  l->taken = taken_in(l, start, last);
  l->free_at = start + b->beats * l->cost;
}

static int64_t common(int64_t a, int64_t b) { return b ? common(b, a % b) : a; }

uint64_t wk_isa_duration_load(const wk_machine *m, const wk_isa_command *c) {
  loading l = {.m = m, .a = accesses_of(m, c), .num = m->dram_bytes.num,
               .cost = m->bus * m->dram_bytes.den, .lag = 1};
  requests r = {0};
  burst b = {0};
  cutter x = cut(c);
  l.stride = l.a.chunk / common(l.a.chunk, m->bus);
  while (!x.over) {
    cut_next(&x, m, c, &b);
    int64_t ready = (request(&r) + m->dram_latency) * l.num;
    load_burst(&l, &b, most(l.free_at, ready) + m->dram_overhead * l.num);
    complete(m, &r, l.taken + WK_COST_dma_load_again);
  }
  return (uint64_t)(l.lag + needed_for(&l.a, b.before + b.bytes));
}

/* ---- ST -------------------------------------------------------------------------------------- */

/* Beat b is sent in b + sends, access k takes place in k + reads. */
typedef struct {
  const wk_machine *m;
  accesses a;
  int64_t sends, reads;
} storing;

/* A beat leaves, and there is room for an access that did not fit in before. Who waits most is
 * released by one of the first two: a beat makes room for an access at least. */
static void make_room(storing *s, const burst *b) {
  int64_t room = 3 * s->m->bus + s->m->array;
  for (int64_t j = 0; j < least(2, b->beats); j++) {
    int64_t fits = complete_in(&s->a, bytes_before(s->m, b, j) + room);
    s->reads = most(s->reads, s->sends + b->first + j - fits);
  }
}

/* A beat is sent when the last of its bytes has been read; the last full one waits most, or the
 * one behind it. */
static void wait_for_bytes(storing *s, const burst *b) {
  for (int64_t j = most(0, b->beats - 2); j < b->beats; j++) {
    int64_t access = needed_for(&s->a, bytes_before(s->m, b, j + 1)) - 1;
    s->sends = most(s->sends, s->reads + access + WK_COST_dma_send - (b->first + j));
  }
}

uint64_t wk_isa_duration_store(const wk_machine *m, const wk_isa_command *c) {
  storing s = {.m = m, .a = accesses_of(m, c), .sends = 1, .reads = WK_COST_dma_read};
  int64_t num = m->dram_bytes.num, cost = m->bus * m->dram_bytes.den, free_at = 0, answer = 0;
  requests r = {0};
  burst b = {0};
  cutter x = cut(c);
  while (!x.over) {
    cut_next(&x, m, c, &b);
    s.sends = most(s.sends, request(&r) + 1 - b.first);
    make_room(&s, &b);
    wait_for_bytes(&s, &b);
    int64_t sent = s.sends + b.first + b.beats - 1;
    free_at = most(free_at, sent * num) + m->dram_overhead * num + b.beats * cost;
    answer = wk_ceil_div(free_at, num) + m->dram_write_latency;
    complete(m, &r, answer + WK_COST_dma_store_again);
  }
  return (uint64_t)answer + 1;
}
