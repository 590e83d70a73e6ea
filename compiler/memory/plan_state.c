/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference in one section, whose unplaced items exclude each other in the byte dimension (a
 * single-machine scheduling problem with release times `low` and one deadline, the capacity):
 *   overload    for every v: the items with low >= v must fit in [v, capacity);
 *   not first   if item k below all of a set O would push O over the capacity, then k lies above
 *               some item of O, so low(k) >= the least low + size in O. Of all such O the one with
 *               the largest ends is best, found in one pass over the items sorted by low + size;
 *   floor       the least low; between the highest placed item and it, bytes stay empty.
 * Completions are sought among placements with the least sum of offsets; in those every item rests
 * on 0, on a block or on another item, and none could be dropped into an empty hole below it. */
#include "compiler/memory/plan_state.h"

#include <stdlib.h>
#include <string.h>

enum { UNDO_LOW, UNDO_FLOOR, UNDO_TOP, UNDO_PLACED };

/* Table entries beyond which a part is not searched. */
#define ROW_LIMIT ((int64_t)1 << 24)
/* "Not first" can creep up in small steps; after so many updates in one inference it rests. */
#define CREEP_LIMIT 300

bool wk_plan_state_init(wk_plan_state *st, const wk_plan_part *p, wk_arena *arena) {
  *st = (wk_plan_state){.p = p};
  uint32_t n = p->n, sections = p->sections;
  int64_t entries = 0;
  for (uint32_t i = 0; i < n; i++) entries += p->last[i] - p->first[i];
  if (entries > ROW_LIMIT) return false;
  st->low = wk_arena_alloc(arena, n * sizeof *st->low);
  st->placed = wk_arena_alloc(arena, n * sizeof *st->placed);
  st->floor = wk_arena_alloc(arena, sections * sizeof *st->floor);
  st->top = wk_arena_alloc(arena, sections * sizeof *st->top);
  st->rest = wk_arena_alloc(arena, sections * sizeof *st->rest);
  st->shared = wk_arena_alloc(arena, sections * sizeof *st->shared);
  st->dirty = wk_arena_alloc(arena, sections * sizeof *st->dirty);
  st->is_dirty = wk_arena_alloc(arena, sections * sizeof *st->is_dirty);
  uint32_t *at = wk_arena_alloc(arena, ((size_t)sections + 2) * sizeof *at), longest = 0;
  uint32_t *ids = wk_arena_alloc(arena, (size_t)entries * sizeof *ids);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t s = p->first[i]; s < p->last[i]; s++) at[s + 2]++;
  for (uint32_t s = 0; s < sections; s++) {
    if (at[s + 2] > longest) longest = at[s + 2];
    at[s + 2] += at[s + 1];
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t s = p->first[i]; s < p->last[i]; s++) ids[at[s + 1]++] = i;
  st->live = (wk_plan_rows){at, ids};
  st->by_low = wk_arena_alloc(arena, (size_t)entries * sizeof *ids);
  st->by_end = wk_arena_alloc(arena, (size_t)entries * sizeof *ids);
  st->prefix = wk_arena_alloc(arena, longest * sizeof *st->prefix);
  st->end = wk_arena_alloc(arena, longest * sizeof *st->end);
  st->row = wk_arena_alloc(arena, longest * sizeof *st->row);
  return true;
}

void wk_plan_state_free(wk_plan_state *st) { wk_vec_free(&st->trail); }

/* ---- changes -------------------------------------------------------------------------------- */

static void record(wk_plan_state *st, int kind, uint32_t index, int64_t old) {
  wk_plan_undo u = {old, index, (uint8_t)kind};
  wk_vec_push(&st->trail, u);
}

static void mark(wk_plan_state *st, uint32_t s) {
  if (st->is_dirty[s]) return;
  st->is_dirty[s] = true;
  st->dirty[st->n_dirty++] = s;
}

static void raise_low(wk_plan_state *st, uint32_t i, int64_t v) {
  v = wk_plan_part_clear(st->p, i, v);
  if (v <= st->low[i]) return;
  record(st, UNDO_LOW, i, st->low[i]);
  st->low[i] = v;
  for (uint32_t s = st->p->first[i]; s < st->p->last[i]; s++) mark(st, s);
}

void wk_plan_state_undo(wk_plan_state *st, size_t to) {
  const wk_plan_part *p = st->p;
  while (st->trail.n > to) {
    wk_plan_undo u = st->trail.data[--st->trail.n];
    switch (u.kind) {
      case UNDO_LOW: st->low[u.index] = u.old; break;
      case UNDO_FLOOR: st->floor[u.index] = u.old; break;
      case UNDO_TOP: st->top[u.index] = u.old; break;
      default:
        st->placed[u.index] = false;
        for (uint32_t s = p->first[u.index]; s < p->last[u.index]; s++) {
          st->rest[s] += p->size[u.index];
          if (s + 1 < p->last[u.index]) st->shared[s]++;
        }
    }
  }
}

/* ---- inference ------------------------------------------------------------------------------ */

/* Insertion sort, descending: the rows change little from one call to the next. */
static void sort_row(const wk_plan_state *st, uint32_t *row, uint32_t n, bool by_end) {
  const int64_t *low = st->low, *size = st->p->size;
  for (uint32_t q = 1; q < n; q++) {
    uint32_t x = row[q], at = q;
    int64_t v = low[x] + (by_end ? size[x] : 0);
    for (; at > 0 && low[row[at - 1]] + (by_end ? size[row[at - 1]] : 0) < v; at--)
      row[at] = row[at - 1];
    row[at] = x;
  }
}

/* Bytes above v in section s that fixed items take. */
static int64_t walls_above(const wk_plan_part *p, uint32_t s, int64_t v) {
  int64_t sum = 0;
  for (uint32_t q = p->wall_at[s]; q < p->wall_at[s + 1]; q++) {
    int64_t bottom = p->walls[q].bottom > v ? p->walls[q].bottom : v;
    if (p->walls[q].top > bottom) sum += p->walls[q].top - bottom;
  }
  return sum;
}

static bool is_overloaded(wk_plan_state *st, uint32_t s) {
  uint32_t from = st->live.at[s], n = st->live.at[s + 1] - from;
  sort_row(st, st->by_low + from, n, false);
  int64_t sum = 0;
  for (uint32_t q = from; q < from + n; q++) {
    uint32_t i = st->by_low[q];
    if (st->placed[i]) continue;
    sum += st->p->size[i];
    if (st->low[i] + sum + walls_above(st->p, s, st->low[i]) > st->capacity) return true;
  }
  return false;
}

static void infer_not_first(wk_plan_state *st, uint32_t s) {
  uint32_t from = st->live.at[s], length = st->live.at[s + 1] - from, n = 0;
  sort_row(st, st->by_end + from, length, true);
  int64_t sum = 0;
  for (uint32_t q = from; q < from + length; q++) {
    uint32_t i = st->by_end[q];
    if (st->placed[i]) continue;
    st->row[n] = i;
    st->end[n] = st->low[i] + st->p->size[i];
    st->prefix[n++] = sum += st->p->size[i];
  }
  /* `least` is the shortest prefix that overflows above item r; it only moves on, as ends descend.
   * A prefix that holds r itself must overflow without it. */
  for (uint32_t r = 0, least = 0; r < n; r++) {
    uint32_t i = st->row[r], at;
    int64_t low = st->low[i], room = st->capacity - st->end[r];
    while (least < n && st->prefix[least] <= room) least++;
    at = least;
    if (at >= r)
      while (at < n && st->end[at] > low && (at == r || st->prefix[at] <= room + st->p->size[i]))
        at++;
    if (at < n && st->end[at] > low) raise_low(st, i, st->end[at]);
  }
}

/* Infers in section s; false: no completion. */
static bool update_section(wk_plan_state *st, uint32_t s, bool creep) {
  int64_t highest = -1, lowest = WK_FLOOR_DONE;
  uint32_t n = 0;
  for (uint32_t q = st->live.at[s]; q < st->live.at[s + 1]; q++) {
    uint32_t i = st->live.ids[q];
    if (st->placed[i]) continue;
    n++;
    if (st->low[i] > highest) highest = st->low[i];
    if (st->low[i] < lowest) lowest = st->low[i];
  }
  if (lowest > st->floor[s]) {
    record(st, UNDO_FLOOR, s, st->floor[s]);
    st->floor[s] = lowest;
  }
  bool walled = st->p->wall_at[s] != st->p->wall_at[s + 1];
  if (!n || (!walled && highest + st->rest[s] <= st->capacity)) return true;
  if (is_overloaded(st, s)) return false;
  if (n > 1 && creep) infer_not_first(st, s);
  return true;
}

static bool infer(wk_plan_state *st) {
  bool ok = true;
  for (int count = 0; st->n_dirty; count++) {
    uint32_t s = st->dirty[--st->n_dirty];
    st->is_dirty[s] = false;
    if (!ok) continue;
    st->visits += 2 * (st->live.at[s + 1] - st->live.at[s]);
    if (!update_section(st, s, count < CREEP_LIMIT)) {
      ok = false;
      st->failed = s;
    }
  }
  return ok;
}

/* ---- decisions ------------------------------------------------------------------------------ */

bool wk_plan_state_reset(wk_plan_state *st, int64_t capacity) {
  const wk_plan_part *p = st->p;
  uint32_t entries = st->live.at[p->sections];
  st->capacity = capacity;
  st->trail.n = 0;
  memset(st->placed, 0, p->n * sizeof *st->placed);
  memset(st->floor, 0, p->sections * sizeof *st->floor);
  memset(st->top, 0, p->sections * sizeof *st->top);
  memset(st->rest, 0, p->sections * sizeof *st->rest);
  memset(st->shared, 0, p->sections * sizeof *st->shared);
  memcpy(st->by_low, st->live.ids, entries * sizeof *st->by_low);
  memcpy(st->by_end, st->live.ids, entries * sizeof *st->by_end);
  for (uint32_t i = 0; i < p->n; i++) {
    st->low[i] = wk_plan_part_clear(p, i, 0);
    for (uint32_t s = p->first[i]; s < p->last[i]; s++) {
      st->rest[s] += p->size[i];
      if (s + 1 < p->last[i]) st->shared[s]++;
    }
  }
  for (uint32_t s = 0; s < p->sections; s++) mark(st, s);
  return infer(st);
}

bool wk_plan_state_place(wk_plan_state *st, uint32_t i) {
  const wk_plan_part *p = st->p;
  int64_t top = st->low[i] + p->size[i];
  record(st, UNDO_PLACED, i, 0);
  st->placed[i] = true;
  for (uint32_t s = p->first[i]; s < p->last[i]; s++) {
    record(st, UNDO_TOP, s, st->top[s]);
    st->top[s] = top;
    st->rest[s] -= p->size[i];
    if (s + 1 < p->last[i]) st->shared[s]--;
    mark(st, s);
  }
  for (uint32_t q = p->overlap.at[i]; q < p->overlap.at[i + 1]; q++)
    if (!st->placed[p->overlap.ids[q]]) raise_low(st, p->overlap.ids[q], top);
  return infer(st);
}

static bool starts_at_floor(const wk_plan_state *st, uint32_t i, uint32_t s) {
  return !st->placed[i] && st->low[i] == st->floor[s] && st->p->first[i] <= s && s < st->p->last[i];
}

/* The lowest top above the floor of s on which item i can rest, but for items that start there. */
static int64_t next_rest(const wk_plan_state *st, uint32_t i, uint32_t s) {
  const wk_plan_part *p = st->p;
  int64_t least = WK_FLOOR_DONE;
  for (uint32_t q = p->overlap.at[i]; q < p->overlap.at[i + 1]; q++) {
    uint32_t k = p->overlap.ids[q];
    if (st->placed[k] || starts_at_floor(st, k, s)) continue;
    if (st->low[k] + p->size[k] < least) least = st->low[k] + p->size[k];
  }
  for (uint32_t b = p->block_at[i]; b < p->block_at[i + 1]; b++)
    if (p->blocks[b].top > st->floor[s] && p->blocks[b].top < least) least = p->blocks[b].top;
  return least;
}

/* Could item i drop into a hole that stays empty under it? */
static bool is_dominated(const wk_plan_state *st, uint32_t i) {
  const wk_plan_part *p = st->p;
  int64_t bottom = 0, ceiling = WK_FLOOR_DONE;
  if (p->block_at[i] != p->block_at[i + 1]) return false;
  for (uint32_t s = p->first[i]; s < p->last[i]; s++) {
    if (st->top[s] > bottom) bottom = st->top[s];
    if (st->floor[s] < ceiling) ceiling = st->floor[s];
  }
  return wk_plan_part_clear(p, i, bottom) + p->size[i] <= ceiling;
}

bool wk_plan_state_exclude(wk_plan_state *st, uint32_t s) {
  const wk_plan_part *p = st->p;
  uint32_t *row = st->row, n = 0;
  int64_t least = WK_FLOOR_DONE, smallest = WK_FLOOR_DONE, second = WK_FLOOR_DONE;
  for (uint32_t q = st->live.at[s]; q < st->live.at[s + 1]; q++) {
    uint32_t i = st->live.ids[q];
    if (!starts_at_floor(st, i, s)) continue;
    st->prefix[n] = next_rest(st, i, s);
    if (st->prefix[n] < least) least = st->prefix[n];
    row[n++] = i;
    if (p->size[i] < smallest) second = smallest, smallest = p->size[i];
    else if (p->size[i] < second) second = p->size[i];
  }
  /* The lowest excluded item of s rests at `least` or higher, so one that rests on another excluded
   * item starts that one's size higher. */
  size_t from = st->trail.n;
  for (uint32_t q = 0; q < n; q++) {
    int64_t other = least + (p->size[row[q]] == smallest ? second : smallest);
    int64_t v = st->prefix[q] < other ? st->prefix[q] : other;
    raise_low(st, row[q], v < st->capacity ? v : st->capacity);
  }
  size_t to = st->trail.n;
  if (!infer(st)) return false;
  for (size_t q = from; q < to; q++)
    if (is_dominated(st, st->trail.data[q].index)) return false;
  return true;
}
