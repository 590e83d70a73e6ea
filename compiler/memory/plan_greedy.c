/* SPDX-License-Identifier: Apache-2.0
 *
 * List placement: the items are taken in some order and each goes into a gap that the items placed
 * before leave within its lifetime: the lowest that is large enough (first fit) or the tightest
 * (best fit). No single order is good for every network, so several are tried, the best is kept. */
#include "compiler/memory/plan_part.h"

#include <stdlib.h>
#include <string.h>

int64_t wk_plan_part_clear(const wk_plan_part *p, uint32_t i, int64_t v) {
  int64_t align = p->align[i], at = wk_ceil_div(v, align) * align;
  for (uint32_t b = p->block_at[i]; b < p->block_at[i + 1]; b++)
    if (at < p->blocks[b].top && p->blocks[b].bottom < at + p->size[i])
      at = wk_ceil_div(p->blocks[b].top, align) * align;
  return at;
}

typedef enum { BY_SIZE, BY_AREA, BY_LIFETIME, BY_OVERLAP, BY_LOWER, ORDERS } order_kind;

typedef struct { double key; uint32_t item; } ranked;

static int rank_descending(const void *x, const void *y) {
  const ranked *a = x, *b = y;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  return a->item < b->item ? -1 : 1;
}

static double order_key(const wk_plan_part *p, order_kind kind, uint32_t i) {
  double time = (double)p->upper[i] - (double)p->lower[i];
  switch (kind) {
    case BY_SIZE: return (double)p->size[i];
    case BY_AREA: return (double)p->size[i] * time;
    case BY_LIFETIME: return time;
    case BY_OVERLAP: return (double)(p->overlap.at[i + 1] - p->overlap.at[i]);
    default: return -(double)p->lower[i];
  }
}

static int span_ascending(const void *x, const void *y) {
  const wk_plan_span *a = x, *b = y;
  if (a->bottom != b->bottom) return a->bottom < b->bottom ? -1 : 1;
  return (a->top > b->top) - (a->top < b->top);
}

/* Where item i goes, given the placed items of its lifetime and the blocks in its way. */
static int64_t fit(const wk_plan_part *p, uint32_t i, bool tightest, const int64_t *offset,
                   wk_plan_span *taken) {
  size_t n = 0;
  for (uint32_t q = p->overlap.at[i]; q < p->overlap.at[i + 1]; q++) {
    uint32_t k = p->overlap.ids[q];
    if (offset[k] >= 0) taken[n++] = (wk_plan_span){offset[k], offset[k] + p->size[k]};
  }
  for (uint32_t b = p->block_at[i]; b < p->block_at[i + 1]; b++) taken[n++] = p->blocks[b];
  qsort(taken, n, sizeof *taken, span_ascending);
  int64_t align = p->align[i], free_from = 0, best = -1, best_gap = INT64_MAX;
  for (size_t q = 0; q < n; q++) {
    int64_t gap = taken[q].bottom - free_from;
    if (gap >= p->size[i] && gap < best_gap) {
      best = free_from;
      best_gap = gap;
      if (!tightest) return best;
    }
    int64_t top = wk_ceil_div(taken[q].top, align) * align;
    if (top > free_from) free_from = top;
  }
  return best >= 0 ? best : free_from;
}

void wk_plan_greedy(wk_plan_part *p, int64_t goal, wk_arena *scratch) {
  uint32_t blocks = p->block_at[p->n];
  ranked *order = wk_arena_alloc(scratch, p->n * sizeof *order);
  int64_t *offset = wk_arena_alloc(scratch, p->n * sizeof *offset);
  wk_plan_span *taken = wk_arena_alloc(scratch, ((size_t)p->n + blocks) * sizeof *taken);
  p->peak = INT64_MAX;
  for (int round = 0; round < 2 * ORDERS && p->peak > goal; round++) {
    for (uint32_t i = 0; i < p->n; i++) {
      order[i] = (ranked){order_key(p, (order_kind)(round / 2), i), i};
      offset[i] = -1;
    }
    qsort(order, p->n, sizeof *order, rank_descending);
    int64_t peak = 0;
    for (uint32_t q = 0; q < p->n && peak < p->peak; q++) {
      uint32_t i = order[q].item;
      offset[i] = fit(p, i, round & 1, offset, taken);
      if (offset[i] + p->size[i] > peak) peak = offset[i] + p->size[i];
    }
    if (peak >= p->peak) continue;
    p->peak = peak;
    memcpy(p->offset, offset, p->n * sizeof *offset);
  }
}
