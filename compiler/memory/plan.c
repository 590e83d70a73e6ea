/* SPDX-License-Identifier: Apache-2.0
 *
 * Placement from above: validate, reduce to independent parts (plan_split.c), place each part
 * greedily, and where that misses the goal, search (plan_search.c). The goal is the capacity
 * when one is given, else the lower bound; when the bound itself is not reached the peak is
 * bisected between bound and greedy result, each step an exact search with a slice of the
 * budget. Parts share no time, so the peak is the largest of theirs: a part that fits below the
 * goal is left alone. */
#include "compiler/memory/plan.h"
#include "compiler/memory/plan_split.h"

#include <stdlib.h>
#include <string.h>

/* All sums of padded sizes and fixed ends stay below this, so no offset can overflow. */
#define TOTAL_LIMIT (INT64_MAX / 16)

typedef struct { int64_t time, bytes; } change;

static int change_ascending(const void *x, const void *y) {
  const change *a = x, *b = y;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->bytes > b->bytes) - (a->bytes < b->bytes); /* ends before starts */
}

static bool padded_size(const wk_plan_item *it, int64_t *out) {
  int64_t up;
  if (it->size < 0 || it->align < 1 || it->lower > it->upper) return false;
  if (!wk_add_ok(it->size, it->align - 1, &up)) return false;
  *out = up / it->align * it->align;
  return true;
}

int64_t wk_plan_bound(const wk_plan_item *items, size_t n) {
  if (!n) return 0;
  change *changes = wk_xcalloc(n, 2 * sizeof *changes);
  size_t m = 0;
  int64_t bound = 0, live = 0, total = 0;
  for (size_t i = 0; i < n && bound >= 0; i++) {
    int64_t size;
    if (!padded_size(&items[i], &size) || !wk_add_ok(total, size, &total)) bound = -1;
    else if (size > 0 && items[i].lower < items[i].upper) {
      changes[m++] = (change){items[i].lower, size};
      changes[m++] = (change){items[i].upper, -size};
    }
  }
  if (bound == 0) qsort(changes, m, sizeof *changes, change_ascending);
  for (size_t q = 0; bound >= 0 && q < m; q++) {
    live += changes[q].bytes;
    if (live > bound) bound = live;
  }
  free(changes);
  return bound;
}

static wk_status validate(const wk_plan_item *items, size_t n) {
  int64_t total = 0;
  if (n > UINT32_MAX / 4) return wk_error(WK_RESOURCE, "%zu buffers are too many to place", n);
  for (size_t i = 0; i < n; i++) {
    const wk_plan_item *it = &items[i];
    int64_t size, end = 0;
    if (it->size < 0) return wk_error(WK_INPUT, "item %zu has negative size %lld", i,
                                      (long long)it->size);
    if (it->align < 1) return wk_error(WK_INPUT, "item %zu has alignment %lld", i,
                                       (long long)it->align);
    if (it->lower > it->upper)
      return wk_error(WK_INPUT, "item %zu ends before it starts: [%lld, %lld)", i,
                      (long long)it->lower, (long long)it->upper);
    if (it->fixed < -1 || (it->fixed >= 0 && it->fixed % it->align))
      return wk_error(WK_INPUT, "item %zu has fixed offset %lld, alignment %lld", i,
                      (long long)it->fixed, (long long)it->align);
    if (!padded_size(it, &size) || !wk_add_ok(total, size, &total) ||
        !wk_add_ok(total, it->align, &total) || total > TOTAL_LIMIT ||
        (it->fixed >= 0 && (!wk_add_ok(it->fixed, size, &end) || end > TOTAL_LIMIT)))
      return wk_error(WK_RESOURCE, "the buffer sizes overflow at item %zu (size %lld)", i,
                      (long long)it->size);
  }
  return NULL;
}

/* ---- one part ----------------------------------------------------------------------------- */

typedef struct {
  wk_plan_search *search; /* made on first use; NULL when the part is too large for it */
  int64_t *nodes;
  int64_t proved;         /* no placement has a peak below this */
} effort;

/* Bisects the peak of `p` between `goal` and what it has, each try with a slice of `budget`. */
static void lower_peak(wk_plan_part *p, int64_t goal, int64_t budget, effort *e) {
  int64_t until = *e->nodes + budget, low = goal, slice = budget / 2;
  while (low < p->peak && *e->nodes < until) {
    int64_t capacity = low == goal ? goal : low + (p->peak - 1 - low) / 2;
    if (slice > until - *e->nodes) slice = until - *e->nodes;
    wk_search_end end = wk_plan_search_run(e->search, capacity, slice, e->nodes);
    if (end == WK_SEARCH_FOUND && capacity == goal) return;
    if (end == WK_SEARCH_NONE) e->proved = capacity + 1;
    if (end != WK_SEARCH_FOUND) low = capacity + 1;
    slice = budget / 8 + 1;
  }
}

static void search_part(wk_plan_part *p, int64_t goal, bool must_fit, int64_t budget, effort *e) {
  wk_arena *arena = wk_arena_new();
  e->search = wk_plan_search_new(p, arena);
  if (e->search && must_fit) {
    if (wk_plan_search_run(e->search, goal, budget, e->nodes) == WK_SEARCH_NONE)
      e->proved = goal + 1;
  } else if (e->search) {
    lower_peak(p, goal, budget, e);
  }
  wk_plan_search_free(e->search);
  wk_arena_free(arena);
}

/* Places all parts. *proved: in units, no placement has a lower peak. Returns the peak. */
static int64_t place_parts(const wk_plan_split *split, int64_t capacity, int64_t budget,
                           int64_t *nodes, int64_t *proved) {
  wk_arena *scratch = wk_arena_new();
  int64_t goal = capacity > 0 ? capacity : split->bound, peak = split->blocks_top;
  uint32_t missed = 0;
  for (uint32_t k = 0; k < split->n; k++) {
    wk_plan_greedy(&split->parts[k], split->bound, scratch);
    wk_arena_reset(scratch);
    if (split->parts[k].peak > goal) missed++;
  }
  wk_arena_free(scratch);
  *proved = split->bound;
  int64_t spent_until = *nodes + budget;
  for (uint32_t k = 0; k < split->n; k++) {
    wk_plan_part *p = &split->parts[k];
    effort e = {.nodes = nodes, .proved = 0};
    if (p->peak > goal && missed > 0) {
      int64_t share = (spent_until - *nodes) / missed--;
      if (share > 0) search_part(p, goal, capacity > 0, share, &e);
      if (capacity == 0 && p->peak > goal) goal = p->peak;
    }
    if (e.proved > *proved) *proved = e.proved;
    if (p->peak > peak) peak = p->peak;
  }
  return peak;
}

static wk_status refusal(int64_t peak, int64_t proved, int64_t capacity, int64_t unit) {
  if (proved > capacity / unit)
    return wk_error(WK_FAILED,
                    "the buffers do not fit in %lld bytes: at least %lld are needed",
                    (long long)capacity, (long long)(proved * unit));
  return wk_error(WK_FAILED,
                  "no placement within %lld bytes was found (best: %lld, lower bound: %lld)",
                  (long long)capacity, (long long)(peak * unit), (long long)(proved * unit));
}

wk_status wk_plan(wk_plan_item *items, size_t n, const wk_plan_options *options,
                  wk_plan_result *result) {
  wk_plan_options o = options ? *options : (wk_plan_options){0, WK_PLAN_EFFORT};
  *result = (wk_plan_result){.optimal = true};
  if (o.capacity < 0 || o.effort < 0)
    return wk_error(WK_USAGE, "capacity %lld, effort %lld: neither may be negative",
                    (long long)o.capacity, (long long)o.effort);
  WK_TRY(validate(items, n));
  result->bound = wk_plan_bound(items, n);
  for (size_t i = 0; i < n; i++) items[i].offset = items[i].fixed >= 0 ? items[i].fixed : 0;

  wk_plan_split split;
  wk_arena *arena = wk_arena_new();
  wk_status st = wk_plan_split_items(items, n, arena, &split);
  if (!st) {
    int64_t capacity = o.capacity / split.unit, proved;
    /* A capacity below the unit or the bound cannot be met: minimise, then say so. */
    bool hopeless = o.capacity > 0 && capacity < split.bound;
    int64_t peak = place_parts(&split, hopeless ? 0 : capacity, hopeless ? 0 : o.effort,
                               &result->nodes, &proved);
    wk_plan_split_store(&split, items);
    result->peak = peak * split.unit;
    result->optimal = peak == proved;
    if (o.capacity > 0 && peak > capacity) st = refusal(peak, proved, o.capacity, split.unit);
  }
  wk_arena_free(arena);
  return st;
}
