/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/sums.h"

#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

typedef struct {
  wk_isa_tiles t;
  int64_t pixels, n;
  bool drains, has_residual;
} sums;

static sums sums_of(const wk_machine *m, const wk_isa_command *c) {
  wk_epilogue e = wk_epilogue_of(c);
  return (sums){.t = wk_isa_tiles_of(m, c), .pixels = (int64_t)e.ny * e.nx, .n = e.n,
                .drains = e.drain, .has_residual = e.residual};
}

static int64_t drain_cycles(const sums *s) {
  return s->drains ? s->pixels * (s->has_residual ? 2 : 1) : 0;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* The 32 bytes of a record and its entries. */
static int64_t record_reads(const wk_machine *m, const sums *s) {
  if (!s->drains) return 0;
  return WK_RECORD_BYTES / m->array + wk_ceil_div(WK_ENTRY_BYTES * s->n, m->array);
}

/* Results cannot overtake an array that reads less than a word for a pixel, which is a bank for
 * more than a cycle: cycles that the drain of step i loses behind the next command. */
static int64_t held_up(const wk_accel_array *x, const wk_sched_steps *steps, size_t i,
                       int64_t pixels) {
  enum { NEAR = 32 };
  for (size_t k = i + 1; k < steps->list.n && k < i + NEAR; k++) {
    const wk_isa_command *c = wk_accel_step_command(steps, k);
    if (c->queue != WK_QUEUE_ex || c->opcode == WK_CMD_MARK) continue;
    int64_t column = c->opcode == WK_CMD_CONV ? WK_SV(c, CONV, in_x) : 0;
    if (column < 1 || column >= x->m->array) return 0;
    sums s = sums_of(x->m, c);
    int64_t during = s.t.words * column / x->m->array;
    if (during > pixels) during = pixels;
    return during * x->m->array / column - during;
  }
  return 0;
}

/* Cycles by which tiles are later since the vector unit stays at a bank of their lines, while its
 * command goes on. */
static int64_t held_back(const wk_accel_array *x, const sums *s, int64_t begin) {
  int64_t left = x->held_until - begin;
  if (x->held <= 0 || left <= 0) return 0;
  double lines = (double)s->t.last, words = (double)s->t.words / (double)s->t.tiles;
  double late = lines * (1 + x->held / (double)x->m->banks) - (words > lines ? words : lines);
  if (late <= 0) return 0;
  return (int64_t)(late * (double)s->t.tiles *
                   (left < s->t.span ? (double)left / (double)s->t.span : 1));
}

/* isa.md, Durations: weights of the next command are fetched while the array works, its words
 * follow without a gap, its drain follows the drain. The engine takes a command when the array has
 * begun with the one before and has all of its weights; the array begins with one when the drain
 * has begun with the last but one. */
int64_t wk_accel_array_run(wk_accel_array *x, const wk_sched_steps *steps, size_t i,
                           int64_t start) {
  const wk_isa_command *c = wk_accel_step_command(steps, i);
  if (c->opcode == WK_CMD_MARK) return x->free = start + WK_COST_mark;
  sums s = sums_of(x->m, c);
  int64_t from = later(start, x->lines), enters = later(x->words, x->drains[0]);
  int64_t begin = later(from + s.t.first, enters), late = held_back(x, &s, begin);
  int64_t end = begin + s.t.span + late;
  int64_t last = end - s.t.last_words, loaded = s.t.tiles > 1 ? last - s.t.last_step : from;
  x->free = later(loaded + s.t.last, later(start, enters));
  x->lines = last; /* its weights were complete when its last tile began */
  x->words = end;
  const wk_accel_stretch stretch = wk_accel_ports_stretch(x->m, c, begin, end);
  wk_accel_ports_add(&x->ports, &stretch);
  int64_t record = later(enters, x->drains[1]) + WK_COST_ex_record + record_reads(x->m, &s);
  int64_t drain = later(later(x->words + WK_COST_ex_sum, record), x->drain);
  x->drains[0] = x->drains[1];
  x->drains[1] = drain;
  if (!s.drains) return drain + WK_COST_ex_retire;
  x->drain = drain + drain_cycles(&s) + held_up(x, steps, i, s.pixels);
  return x->drain + WK_COST_ex_drain;
}
