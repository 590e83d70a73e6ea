/* SPDX-License-Identifier: Apache-2.0
 *
 * Time is cut to what matters: a section is a maximal set of items alive together, found by a sweep
 * (one is complete when, after some start, the first end comes). Every pair of items that meet does
 * so in a section, so each item is an interval of sections. A part is a maximal run of sections in
 * which every two neighbours share a free item. */
#include "compiler/memory/plan_split.h"

#include <stdlib.h>
#include <string.h>

/* Pairs of items that meet: beyond this, tables would take hundreds of megabytes. */
#define PAIR_LIMIT ((int64_t)1 << 24)

typedef struct {
  const wk_plan_item *items;
  uint32_t *free_items, n_free;   /* ascending by first section */
  uint32_t *blocks, n_blocks;     /* the fixed ones, ascending by lower */
  uint32_t *first, *last;         /* per item of the caller */
  int64_t *time;                  /* per section: a moment at which it is alive */
  int64_t *bound;                 /* per section, units */
  uint32_t sections;
  int64_t unit;
} split_work;

static int64_t padded_units(const split_work *w, uint32_t i) {
  const wk_plan_item *it = &w->items[i];
  return wk_ceil_div(it->size, it->align) * it->align / w->unit;
}

typedef struct { int64_t time; uint32_t item; bool start; } moment;

static int moment_ascending(const void *x, const void *y) {
  const moment *a = x, *b = y;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->start != b->start) return a->start ? 1 : -1;
  return (a->item > b->item) - (a->item < b->item);
}

/* The first section whose moment is not before t. */
static uint32_t section_from(const split_work *w, int64_t t) {
  uint32_t lo = 0, hi = w->sections;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (w->time[mid] < t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static void find_sections(split_work *w, const uint32_t *active, uint32_t m, wk_arena *arena) {
  moment *moments = wk_xcalloc(m ? m : 1, 2 * sizeof *moments);
  for (uint32_t q = 0; q < m; q++) {
    moments[2 * q] = (moment){w->items[active[q]].lower, active[q], true};
    moments[2 * q + 1] = (moment){w->items[active[q]].upper, active[q], false};
  }
  qsort(moments, 2 * (size_t)m, sizeof *moments, moment_ascending);
  w->time = wk_arena_alloc(arena, m * sizeof *w->time);
  w->bound = wk_arena_alloc(arena, m * sizeof *w->bound);
  int64_t live = 0;
  for (size_t q = 0; q < 2 * (size_t)m; q++) {
    if (moments[q].start) {
      live += padded_units(w, moments[q].item);
      continue;
    }
    if (moments[q - 1].start) {
      w->time[w->sections] = moments[q - 1].time;
      w->bound[w->sections++] = live;
    }
    live -= padded_units(w, moments[q].item);
  }
  free(moments);
  for (uint32_t q = 0; q < m; q++) {
    w->first[active[q]] = section_from(w, w->items[active[q]].lower);
    w->last[active[q]] = section_from(w, w->items[active[q]].upper);
  }
}

typedef struct { int64_t key; uint32_t item; } keyed;

static int keyed_ascending(const void *x, const void *y) {
  const keyed *a = x, *b = y;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->item > b->item) - (a->item < b->item);
}

static void sort_by(uint32_t *ids, uint32_t n, const split_work *w, bool by_section) {
  keyed *k = wk_xcalloc(n ? n : 1, sizeof *k);
  for (uint32_t q = 0; q < n; q++)
    k[q] = (keyed){by_section ? (int64_t)w->first[ids[q]] : w->items[ids[q]].lower, ids[q]};
  qsort(k, n, sizeof *k, keyed_ascending);
  for (uint32_t q = 0; q < n; q++) ids[q] = k[q].item;
  free(k);
}

static wk_status check_blocks(const split_work *w) {
  for (uint32_t p = 0; p < w->n_blocks; p++)
    for (uint32_t q = p + 1; q < w->n_blocks; q++) {
      uint32_t i = w->blocks[p], k = w->blocks[q];
      const wk_plan_item *a = &w->items[i], *b = &w->items[k];
      if (b->lower >= a->upper) break;
      int64_t x = a->fixed / w->unit, y = b->fixed / w->unit;
      if (x < y + padded_units(w, k) && y < x + padded_units(w, i))
        return wk_error(WK_INPUT, "the fixed items %u and %u overlap", i < k ? i : k,
                        i < k ? k : i);
    }
  return NULL;
}

/* ---- the tables of one part ----------------------------------------------------------------- */

/* Items ascend by first section, so those after i that meet it are a run. */
static uint32_t run_end(const wk_plan_part *p, uint32_t i) {
  uint32_t lo = i + 1, hi = p->n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (p->first[mid] < p->last[i]) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static wk_status fill_overlap(wk_plan_part *p, wk_arena *arena) {
  int64_t pairs = 0;
  for (uint32_t i = 0; i < p->n; i++) pairs += run_end(p, i) - i - 1;
  if (pairs > PAIR_LIMIT)
    return wk_error(WK_RESOURCE, "%lld pairs of buffers are live together, more than %lld",
                    (long long)pairs, (long long)PAIR_LIMIT);
  uint32_t *at = wk_arena_alloc(arena, ((size_t)p->n + 2) * sizeof *at);
  uint32_t *ids = wk_arena_alloc(arena, (size_t)(2 * pairs) * sizeof *ids);
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t k = i + 1, end = run_end(p, i); k < end; k++) at[i + 2]++, at[k + 2]++;
  for (uint32_t i = 0; i < p->n; i++) at[i + 2] += at[i + 1];
  /* at[i + 1] is the fill position of row i and ends as its end; k-th rows get i ascending first */
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t k = i + 1, end = run_end(p, i); k < end; k++) ids[at[k + 1]++] = i;
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t k = i + 1, end = run_end(p, i); k < end; k++) ids[at[i + 1]++] = k;
  p->overlap = (wk_plan_rows){at, ids};
  return NULL;
}

/* By their ends: what moves up past one of them has none before it in its way. */
static int span_ascending(const void *x, const void *y) {
  const wk_plan_span *a = x, *b = y;
  return (a->top > b->top) - (a->top < b->top);
}

typedef WK_VEC(wk_plan_span) span_list;

/* The blocks alive somewhere in [lower, upper), ascending by top, appended to `out`. */
static void blocks_within(const split_work *w, int64_t lower, int64_t upper, span_list *out) {
  size_t from = out->n;
  for (uint32_t q = 0; q < w->n_blocks; q++) {
    const wk_plan_item *b = &w->items[w->blocks[q]];
    if (b->lower >= upper) break;
    if (b->upper <= lower) continue;
    int64_t bottom = b->fixed / w->unit;
    wk_plan_span s = {bottom, bottom + padded_units(w, w->blocks[q])};
    wk_vec_push(out, s);
  }
  if (out->n > from + 1)
    qsort(out->data + from, out->n - from, sizeof *out->data, span_ascending);
}

static wk_status fill_blocks(const split_work *w, uint32_t section0, wk_plan_part *p,
                             wk_arena *arena) {
  span_list blocks = {0}, walls = {0};
  wk_status st = NULL;
  p->block_at = wk_arena_alloc(arena, ((size_t)p->n + 1) * sizeof *p->block_at);
  p->wall_at = wk_arena_alloc(arena, ((size_t)p->sections + 1) * sizeof *p->wall_at);
  for (uint32_t i = 0; i < p->n && (int64_t)blocks.n <= PAIR_LIMIT; i++) {
    blocks_within(w, p->lower[i], p->upper[i], &blocks);
    p->block_at[i + 1] = (uint32_t)blocks.n;
  }
  for (uint32_t s = 0; s < p->sections && (int64_t)walls.n <= PAIR_LIMIT; s++) {
    int64_t t = w->time[section0 + s];
    blocks_within(w, t, t + 1, &walls);
    p->wall_at[s + 1] = (uint32_t)walls.n;
  }
  if ((int64_t)blocks.n > PAIR_LIMIT || (int64_t)walls.n > PAIR_LIMIT) {
    st = wk_error(WK_RESOURCE, "too many fixed buffers are live together with others");
  } else {
    p->blocks = wk_arena_memdup(arena, blocks.n ? blocks.data : NULL, blocks.n * sizeof *p->blocks);
    p->walls = wk_arena_memdup(arena, walls.n ? walls.data : NULL, walls.n * sizeof *p->walls);
  }
  wk_vec_free(&blocks);
  wk_vec_free(&walls);
  return st;
}

/* Items ids[0..n), whose sections are [section0, section1). */
static wk_status make_part(const split_work *w, const uint32_t *ids, uint32_t n, uint32_t section0,
                           uint32_t section1, wk_arena *arena, wk_plan_part *p) {
  *p = (wk_plan_part){.n = n, .sections = section1 - section0};
  p->size = wk_arena_alloc(arena, n * sizeof *p->size);
  p->align = wk_arena_alloc(arena, n * sizeof *p->align);
  p->lower = wk_arena_alloc(arena, n * sizeof *p->lower);
  p->upper = wk_arena_alloc(arena, n * sizeof *p->upper);
  p->offset = wk_arena_alloc(arena, n * sizeof *p->offset);
  p->first = wk_arena_alloc(arena, n * sizeof *p->first);
  p->last = wk_arena_alloc(arena, n * sizeof *p->last);
  p->item = wk_arena_memdup(arena, ids, n * sizeof *ids);
  for (uint32_t q = 0; q < n; q++) {
    const wk_plan_item *it = &w->items[ids[q]];
    p->size[q] = padded_units(w, ids[q]);
    p->align[q] = it->align / w->unit;
    p->lower[q] = it->lower;
    p->upper[q] = it->upper;
    p->first[q] = w->first[ids[q]] - section0;
    p->last[q] = w->last[ids[q]] - section0;
  }
  for (uint32_t s = section0; s < section1; s++)
    if (w->bound[s] > p->bound) p->bound = w->bound[s];
  WK_TRY(fill_overlap(p, arena));
  return fill_blocks(w, section0, p, arena);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static wk_status make_parts(const split_work *w, wk_arena *arena, wk_plan_split *out) {
  out->parts = wk_arena_alloc(arena, (size_t)w->n_free * sizeof *out->parts);
  for (uint32_t q = 0; q < w->n_free;) {
    uint32_t end = q, last = w->last[w->free_items[q]];
    for (; end < w->n_free && (end == q || w->first[w->free_items[end]] < last); end++)
      if (w->last[w->free_items[end]] > last) last = w->last[w->free_items[end]];
    WK_TRY(make_part(w, w->free_items + q, end - q, w->first[w->free_items[q]], last, arena,
                     &out->parts[out->n++]));
    q = end;
  }
  return NULL;
}

wk_status wk_plan_split_items(const wk_plan_item *items, size_t n, wk_arena *arena,
                              wk_plan_split *out) {
  split_work w = {.items = items};
  uint32_t *active = wk_arena_alloc(arena, n * sizeof *active), m = 0;
  w.free_items = wk_arena_alloc(arena, n * sizeof *w.free_items);
  w.blocks = wk_arena_alloc(arena, n * sizeof *w.blocks);
  w.first = wk_arena_alloc(arena, n * sizeof *w.first);
  w.last = wk_arena_alloc(arena, n * sizeof *w.last);
  for (uint32_t i = 0; i < n; i++) {
    const wk_plan_item *it = &items[i];
    if (it->size == 0 || it->lower == it->upper) continue;
    active[m++] = i;
    if (it->fixed >= 0) w.blocks[w.n_blocks++] = i;
    else w.free_items[w.n_free++] = i;
    int64_t padded = wk_ceil_div(it->size, it->align) * it->align;
    w.unit = (int64_t)wk_gcd(wk_gcd((uint64_t)w.unit, (uint64_t)padded),
                             wk_gcd((uint64_t)it->align,
                                    it->fixed >= 0 ? (uint64_t)it->fixed : 0));
  }
  if (!w.unit) w.unit = 1;
  find_sections(&w, active, m, arena);
  sort_by(w.free_items, w.n_free, &w, true);
  sort_by(w.blocks, w.n_blocks, &w, false);
  *out = (wk_plan_split){.unit = w.unit};
  for (uint32_t q = 0; q < w.n_blocks; q++) {
    int64_t top = items[w.blocks[q]].fixed / w.unit + padded_units(&w, w.blocks[q]);
    if (top > out->blocks_top) out->blocks_top = top;
  }
  out->bound = out->blocks_top;
  for (uint32_t s = 0; s < w.sections; s++)
    if (w.bound[s] > out->bound) out->bound = w.bound[s];
  WK_TRY(check_blocks(&w));
  return make_parts(&w, arena, out);
}

void wk_plan_split_store(const wk_plan_split *split, wk_plan_item *items) {
  for (uint32_t k = 0; k < split->n; k++) {
    const wk_plan_part *p = &split->parts[k];
    for (uint32_t q = 0; q < p->n; q++) items[p->item[q]].offset = p->offset[q] * split->unit;
  }
}
