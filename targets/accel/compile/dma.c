/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/dma.h"

#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/duration.h"

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- bandwidth ------------------------------------------------------------------------------- */

enum { SLOT = 64 }; /* cycles */

static void grow(wk_accel_bus *b, size_t want) {
  if (want < b->n) return;
  if (want >= b->cap) {
    b->cap = want * 2 + 1024;
    b->left = wk_xrealloc(b->left, b->cap * sizeof *b->left);
    b->next = wk_xrealloc(b->next, b->cap * sizeof *b->next);
  }
  for (; b->n <= want; b->n++) {
    b->left[b->n] = b->rate * SLOT;
    b->next[b->n] = (uint32_t)b->n;
  }
}

static size_t find(wk_accel_bus *b, size_t i) {
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
static int64_t transfer(wk_accel_bus *b, int64_t start, double bytes) {
  size_t i = find(b, (size_t)(start / SLOT));
  double end = (double)start, least = end + bytes / b->rate;
  while (bytes > 0) {
    double most = b->left[i];
    if ((size_t)(start / SLOT) == i) { /* only what is behind the start */
      double rest = b->rate * (double)(SLOT - start % SLOT);
      if (rest < most) most = rest;
    }
    double take = bytes < most ? bytes : most;
    bytes -= take;
    b->left[i] -= take;
    end = (double)(i + 1) * SLOT - b->left[i] / b->rate;
    if (b->left[i] <= 1e-6) b->next[i] = (uint32_t)i + 1;
    if (bytes > 0) i = find(b, i + 1);
  }
  return (int64_t)((end > least ? end : least) + 0.999);
}

/* ---- channels -------------------------------------------------------------------------------- */

/* Bytes of whole beats, and bursts. Segments begin at multiples of a beat. */
typedef struct {
  int64_t bytes, bursts;
} traffic;

static traffic traffic_of(const wk_machine *m, const wk_isa_command *c) {
  int64_t run = WK_SV(c, LD, n0), runs = WK_SV(c, LD, n1), stride = WK_SV(c, LD, s1);
  int64_t at = WK_SV(c, LD, dram), beats = 0, bursts = 0;
  if (stride == run) run *= runs, runs = 1;
  int64_t tried = runs < m->bus ? runs : m->bus; /* then they lie in the bus as before */
  for (int64_t i = 0; i < tried; i++) {
    int64_t from = at + i * stride;
    beats += (from % m->bus + run + m->bus - 1) / m->bus;
    bursts += (from % m->burst + run + m->burst - 1) / m->burst;
  }
  return (traffic){beats * m->bus * runs / tried, bursts * runs / tried};
}

/* When this channel has so many bursts under way that it may ask for its last one: at most
 * `bursts`, counted back over the commands before. */
static int64_t last_request(const wk_accel_channel *x, int64_t limit, const wk_accel_transfer *t) {
  int64_t over = t->bursts - limit; /* of this command, those that must be back */
  if (over > 0) return t->begin + (t->end - t->begin) * over / t->bursts;
  for (int i = 0; i < WK_ACCEL_DMA_OPEN; i++) {
    const wk_accel_transfer *y = &x->last[i];
    if (!y->bursts) return 0;
    over += y->bursts;
    if (over > 0) return y->begin + (y->end - y->begin) * over / y->bursts;
  }
  return 0;
}

static void keep(wk_accel_channel *x, const wk_accel_transfer *t) {
  memmove(&x->last[1], &x->last[0], (WK_ACCEL_DMA_OPEN - 1) * sizeof *x->last);
  x->last[0] = *t;
}

enum { SETUP = 3 }; /* cycles from one command to the next */

/* Cycles of the scratchpad's port. */
static int64_t accesses(const wk_machine *m, const wk_isa_command *c, int64_t bytes) {
  int64_t chunk = WK_SV(c, LD, c0);
  return bytes / chunk * ((chunk + m->array - 1) / m->array);
}

static int64_t run_load(wk_accel_dma *d, wk_accel_channel *x, const wk_accel_step *s,
                        int64_t start) {
  const wk_machine *m = d->machine;
  traffic bus = traffic_of(m, &s->c);
  int64_t passes = later(later(start + SETUP, x->asked), x->last[WK_ACCEL_DMA_OPEN - 1].retire);
  int64_t begin = passes + WK_COST_dma_request - SETUP + m->dram_latency;
  wk_accel_transfer t = {.bursts = bus.bursts, .begin = begin};
  t.end = transfer(&d->bus, begin, (double)bus.bytes);
  int64_t moves = accesses(m, &s->c, s->bytes);
  x->moved = later(t.end, later(begin, x->moved) + moves) + WK_COST_dma_write;
  x->asked = later(passes + bus.bursts, last_request(x, m->bursts, &t));
  x->free_at = passes;
  t.retire = x->moved + 1;
  keep(x, &t);
  return t.retire;
}

/* Memory takes data as fast as they come, but moves a burst when it has all of it. */
static int64_t run_store(wk_accel_dma *d, wk_accel_channel *x, const wk_accel_step *s,
                         int64_t start) {
  const wk_machine *m = d->machine;
  traffic bus = traffic_of(m, &s->c);
  int64_t passes = later(start + SETUP, x->asked);
  int64_t reads = later(passes + WK_COST_dma_read - SETUP, x->moved);
  int64_t first = bus.bytes < m->burst ? bus.bytes : m->burst;
  int64_t begin = reads + WK_COST_dma_send + first / m->bus;
  wk_accel_transfer t = {.bursts = bus.bursts, .begin = begin};
  t.end = transfer(&d->bus, begin, (double)bus.bytes);
  x->moved = reads + accesses(m, &s->c, s->bytes);
  int64_t sent = x->moved + WK_COST_dma_send + (first * m->dram_bytes.den) / m->dram_bytes.num;
  if (t.end < sent) t.end = sent;
  x->asked = later(passes + bus.bursts, last_request(x, m->bursts, &t));
  x->free_at = passes;
  t.retire = t.end + m->dram_write_latency + 1;
  keep(x, &t);
  return t.retire;
}

/* It writes in its turn. */
static int64_t run_fill(const wk_accel_dma *d, wk_accel_channel *x, const wk_isa_command *c,
                        int64_t start) {
  const wk_machine *m = d->machine;
  int64_t chunk = (WK_SV(c, FILL, c0) + m->array - 1) / m->array;
  x->moved = later(start + WK_COST_fill, x->moved) +
             WK_SV(c, FILL, c2) * WK_SV(c, FILL, c1) * chunk;
  x->free_at = start + SETUP;
  return x->moved;
}

int64_t wk_accel_dma_run(wk_accel_dma *d, const wk_accel_step *s, int64_t start) {
  wk_accel_channel *x = &d->channels[s->c.queue];
  if (s->c.opcode == WK_CMD_LD) return run_load(d, x, s, start);
  if (s->c.opcode == WK_CMD_ST) return run_store(d, x, s, start);
  return run_fill(d, x, &s->c, start);
}

void wk_accel_dma_fetch(wk_accel_dma *d, int64_t start) {
  (void)transfer(&d->bus, start + d->machine->dram_latency, WK_COMMAND_BYTES);
}

/* ---- all ------------------------------------------------------------------------------------- */

void wk_accel_dma_init(wk_accel_dma *d, const wk_machine *m) {
  *d = (wk_accel_dma){.machine = m};
  d->bus.rate = (double)m->dram_bytes.num / (double)m->dram_bytes.den;
}

void wk_accel_dma_free(wk_accel_dma *d) {
  free(d->bus.left);
  free(d->bus.next);
}
