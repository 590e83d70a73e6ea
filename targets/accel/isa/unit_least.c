/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/unit_least.h"

#include <stdlib.h>
#include <string.h>

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

static const char *const names[] = {"array", "vector", "drain", "memory"};
enum { RESOURCES = WK_COUNTOF(names) };

wk_accel_need wk_accel_most_of(uint64_t ex, uint64_t drain, uint64_t ve, uint64_t memory) {
  const uint64_t of[RESOURCES] = {ex, ve, drain, memory};
  int best = 0;
  for (int i = 1; i < RESOURCES; i++)
    if (of[i] > of[best]) best = i;
  return (wk_accel_need){of[best], of[best] ? names[best] : ""};
}

uint64_t wk_accel_memory_cycles(const wk_machine *m, uint64_t bytes) {
  return wk_ceil_div(bytes * (uint64_t)m->dram_bytes.den, (uint64_t)m->dram_bytes.num);
}

wk_accel_need wk_accel_need_of(const wk_machine *m, const wk_accel_least *x) {
  uint64_t in = x->weights + x->in, bus = wk_ceil_div(most(in, x->out), (uint64_t)m->bus);
  uint64_t memory = wk_accel_memory_cycles(m, in + x->out);
  return wk_accel_most_of(x->ex, x->drain, x->ve, most(memory, bus));
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/* Bytes that have been moved, or are under way, when what they are for has not begun: as much as
 * there is room for, tiles of weights in the array among it, of three taps and twice. */
static uint64_t held(const wk_machine *m) {
  enum { TABLE = 256, TILES = 6 };
  return (uint64_t)(m->scratchpad + m->tables * TABLE + TILES * m->array * m->array +
                    m->load_channels * m->bursts * m->burst);
}

static void add(wk_accel_least *to, const wk_accel_least *x) {
  to->ex += x->ex, to->drain += x->drain, to->ve += x->ve;
  to->weights += x->weights, to->in += x->in, to->out += x->out;
}

/* Up to a cut: cycles, and of what they are. */
typedef struct {
  uint64_t cycles, of[RESOURCES];
} reached;

static uint32_t count_cuts(const wk_accel_cuts *cuts, uint32_t n) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < n && cuts; i++) {
    most = cuts[i].after > most ? cuts[i].after : most;
    if (cuts[i].before != WK_ACCEL_NO_CUT && cuts[i].before > most) most = cuts[i].before;
  }
  return most;
}

/* sums: of what layers do behind cut `from`, by the cut that they are before. Inputs may be others'
 * as well, and what is left may come later. */
static void sum_by_end(const wk_accel_least *layers, const wk_accel_cuts *cuts, uint32_t n,
                       uint32_t from, uint32_t end, wk_accel_least *sums) {
  memset(sums, 0, (end + 1) * sizeof *sums);
  for (uint32_t i = 0; i < n; i++) {
    const wk_accel_cuts c = cuts ? cuts[i] : (wk_accel_cuts){.before = WK_ACCEL_NO_CUT};
    wk_accel_least x = {0};
    if (c.after >= from) x = layers[i];
    if (from) x.in = 0, x.weights = c.late >= from ? c.weights : 0;
    add(&sums[c.before > end ? end : c.before], &x);
  }
}

static wk_accel_need between(const wk_machine *m, wk_accel_least x, bool is_start, bool is_end) {
  uint64_t free = held(m);
  if (!is_end) x.in = x.out = 0;
  if (!is_start) x.weights = x.weights > free ? x.weights - free : 0;
  return wk_accel_need_of(m, &x);
}

static void reach(reached *to, const reached *from, const wk_accel_need *more) {
  if (to->cycles >= from->cycles + more->cycles) return;
  *to = *from;
  to->cycles += more->cycles;
  for (int i = 0; i < RESOURCES; i++)
    if (!strcmp(more->binds, names[i])) to->of[i] += more->cycles;
}

wk_accel_need wk_accel_need_of_part(const wk_machine *m, const wk_accel_least *layers,
                                    const wk_accel_cuts *cuts, uint32_t n) {
  const uint32_t end = count_cuts(cuts, n) + 1;
  reached *at = wk_xcalloc(end + 1, sizeof *at);
  wk_accel_least *sums = wk_xcalloc(end + 1, sizeof *sums);
  for (uint32_t from = 0; from < end; from++) {
    wk_accel_least x = {0};
    sum_by_end(layers, cuts, n, from, end, sums);
    for (uint32_t to = from + 1; to <= end; to++) {
      add(&x, &sums[to]);
      wk_accel_need more = between(m, x, !from, to == end);
      reach(&at[to], &at[from], &more);
    }
  }
  wk_accel_need y = wk_accel_most_of(at[end].of[0], at[end].of[2], at[end].of[1], at[end].of[3]);
  y.cycles = at[end].cycles;
  free(at), free(sums);
  return y;
}
