/* SPDX-License-Identifier: Apache-2.0
 *
 * The independent checker: a sweep over time that keeps the live items sorted by offset. As long as
 * the live items are disjoint, a new one can collide only with its two neighbours in that order, so
 * each item costs two binary searches and one move of the array's tail. */
#include "compiler/memory/plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct { int64_t time; size_t item; } event;

static int event_ascending(const void *x, const void *y) {
  const event *a = x, *b = y;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->item > b->item) - (a->item < b->item);
}

static bool occupies(const wk_plan_item *it) { return it->size > 0 && it->lower < it->upper; }

static wk_status check_alone(const wk_plan_item *it, size_t i, int64_t capacity) {
  int64_t end;
  if (it->size < 0 || it->lower > it->upper || it->align < 1)
    return wk_error(WK_INTERNAL,
                    "item %zu is malformed: size %lld, lifetime [%lld, %lld), align %lld", i,
                    (long long)it->size, (long long)it->lower, (long long)it->upper,
                    (long long)it->align);
  if (it->offset < 0 || !wk_add_ok(it->offset, it->size, &end))
    return wk_error(WK_INTERNAL, "item %zu has offset %lld, size %lld: out of range", i,
                    (long long)it->offset, (long long)it->size);
  if (it->offset % it->align)
    return wk_error(WK_INTERNAL, "item %zu is misaligned: offset %lld, align %lld", i,
                    (long long)it->offset, (long long)it->align);
  if (it->fixed >= 0 && it->offset != it->fixed)
    return wk_error(WK_INTERNAL, "item %zu was moved from its fixed offset %lld to %lld", i,
                    (long long)it->fixed, (long long)it->offset);
  if (occupies(it) && capacity > 0 && end > capacity)
    return wk_error(WK_INTERNAL, "item %zu ends at %lld, beyond the capacity %lld", i,
                    (long long)end, (long long)capacity);
  return NULL;
}

static wk_status collision(const wk_plan_item *items, size_t a, size_t b) {
  const wk_plan_item *x = &items[a < b ? a : b], *y = &items[a < b ? b : a];
  return wk_error(WK_INTERNAL,
                  "items %zu and %zu overlap: bytes [%lld, %lld) in [%lld, %lld) and bytes "
                  "[%lld, %lld) in [%lld, %lld)",
                  a < b ? a : b, a < b ? b : a, (long long)x->offset,
                  (long long)(x->offset + x->size), (long long)x->lower, (long long)x->upper,
                  (long long)y->offset, (long long)(y->offset + y->size), (long long)y->lower,
                  (long long)y->upper);
}

/* The first position in live[0..n) whose item's offset is not below `offset`. */
static size_t position(const wk_plan_item *items, const size_t *live, size_t n, int64_t offset) {
  size_t lo = 0, hi = n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (items[live[mid]].offset < offset) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static wk_status sweep(const wk_plan_item *items, const event *starts, const event *ends, size_t n,
                       size_t *live) {
  size_t count = 0, next_end = 0;
  for (size_t q = 0; q < n; q++) {
    for (; next_end < n && ends[next_end].time <= starts[q].time; next_end++) {
      size_t at = position(items, live, count, items[ends[next_end].item].offset);
      memmove(live + at, live + at + 1, (count - at - 1) * sizeof *live);
      count--;
    }
    size_t item = starts[q].item;
    const wk_plan_item *it = &items[item];
    size_t at = position(items, live, count, it->offset);
    if (at < count && items[live[at]].offset < it->offset + it->size)
      return collision(items, item, live[at]);
    if (at > 0 && items[live[at - 1]].offset + items[live[at - 1]].size > it->offset)
      return collision(items, item, live[at - 1]);
    memmove(live + at + 1, live + at, (count - at) * sizeof *live);
    live[at] = item;
    count++;
  }
  return NULL;
}

wk_status wk_plan_check(const wk_plan_item *items, size_t n, int64_t capacity) {
  for (size_t i = 0; i < n; i++) WK_TRY(check_alone(&items[i], i, capacity));
  if (!n) return NULL;
  wk_arena *arena = wk_arena_new();
  event *starts = wk_arena_alloc(arena, n * sizeof *starts);
  event *ends = wk_arena_alloc(arena, n * sizeof *ends);
  size_t *live = wk_arena_alloc(arena, n * sizeof *live);
  size_t m = 0;
  for (size_t i = 0; i < n; i++) {
    if (!occupies(&items[i])) continue;
    starts[m] = (event){items[i].lower, i};
    ends[m++] = (event){items[i].upper, i};
  }
  qsort(starts, m, sizeof *starts, event_ascending);
  qsort(ends, m, sizeof *ends, event_ascending);
  wk_status st = sweep(items, starts, ends, m, live);
  wk_arena_free(arena);
  return st;
}
