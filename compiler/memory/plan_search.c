/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact search for a placement of one part within a capacity. Stack the items bottom up on a
 * skyline (a floor per section). Take a valley, a run of sections at one floor with higher ones
 * on both sides, and a section s in it: in a placement where every item rests on something,
 * either exactly one of the items of s whose lower limit is that floor starts there (all its
 * sections lie in the valley), or none does, and then the floor of s rises to what the items of
 * s can rest on next and the bytes between stay empty. These cases exclude each other, so no
 * arrangement is met twice on one path, and valleys may be filled in any order. Runs alternate
 * between two: the section with the fewest cases per failed inference goes first, or forced
 * moves and then the lowest valley. Excluding is refuted at once where a section has no slack,
 * so most moves of a tight instance are forced.
 *
 * Further: a table of refuted states (unplaced items, their limits, the skyline); sections that no
 * longer share an unplaced item are solved one stretch after another, and a failure jumps back over
 * the decisions of other stretches; restarts after Luby's sequence, which keep the failure counts
 * and change the order of items, since run times have heavy tails. plan_state.c has the inference.
 * Ideas: M. D. Moffitt, "MiniMalloc", ASPLOS 2024 (canonical bottom-up order, section inference);
 * F. Boussemart et al., ECAI 2004 (failure weights); P. Baptiste et al., "Constraint-Based
 * Scheduling" (not-first). */
#include "compiler/memory/plan_state.h"

#include <stdlib.h>
#include <string.h>

#define MEMO_SIZE ((size_t)1 << 16) /* a power of two */
#define VISITS_PER_NODE 4096

typedef struct {
  uint32_t from, to;        /* the stretch of sections being solved */
  uint32_t section;         /* where the decision is taken */
  uint32_t n_choices, next; /* items to try, the next one; after them the exclusion */
  size_t choice0;           /* in `choices` */
  size_t trail;             /* undo to here before each try */
  uint64_t hash;
} frame;

struct wk_plan_search {
  wk_plan_part *p;
  wk_plan_state st;
  double *weight;       /* per section: failures */
  double *key;          /* per item: larger ones are tried first */
  uint32_t *starts;     /* items i with first[i] in section s: starts[s] <= i < starts[s + 1] */
  bool by_failures;     /* which of the two orders of sections this run follows */
  uint64_t *memo;       /* hashes of refuted states at memo_capacity */
  int64_t memo_capacity;
  WK_VEC(frame) frames;
  WK_VEC(uint32_t) choices;
  int64_t tries, limit; /* this run's decisions, in nodes */
  uint32_t runs;
  wk_rng rng;
};

wk_plan_search *wk_plan_search_new(wk_plan_part *p, wk_arena *arena) {
  wk_plan_search *s = wk_arena_alloc(arena, sizeof *s);
  if (!wk_plan_state_init(&s->st, p, arena)) return NULL;
  s->p = p;
  s->weight = wk_arena_alloc(arena, p->sections * sizeof *s->weight);
  s->key = wk_arena_alloc(arena, p->n * sizeof *s->key);
  s->starts = wk_arena_alloc(arena, ((size_t)p->sections + 1) * sizeof *s->starts);
  for (uint32_t i = 0; i < p->n; i++) s->starts[p->first[i] + 1]++;
  for (uint32_t q = 0; q < p->sections; q++) s->starts[q + 1] += s->starts[q];
  s->memo = wk_arena_alloc(arena, MEMO_SIZE * sizeof *s->memo);
  s->memo_capacity = -1;
  return s;
}

void wk_plan_search_free(wk_plan_search *s) {
  if (!s) return;
  wk_plan_state_free(&s->st);
  wk_vec_free(&s->frames);
  wk_vec_free(&s->choices);
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* The order in which the items of a section are tried; it differs from run to run. */
static void rank_items(wk_plan_search *s) {
  enum { SIZE, LENGTH, WEIGHTED_AREA, AREA } kinds[] = {LENGTH, WEIGHTED_AREA, AREA, SIZE};
  const wk_plan_part *p = s->p;
  for (uint32_t i = 0; i < p->n; i++) {
    double length = p->last[i] - p->first[i], weight = 0;
    double area = (double)p->size[i] * ((double)p->upper[i] - (double)p->lower[i]);
    for (uint32_t q = p->first[i]; q < p->last[i]; q++)
      if (s->weight[q] > weight) weight = s->weight[q];
    switch (kinds[s->runs % WK_COUNTOF(kinds)]) {
      case SIZE: s->key[i] = (double)p->size[i]; break;
      case LENGTH: s->key[i] = length; break;
      case WEIGHTED_AREA: s->key[i] = (weight + 1) * area; break;
      case AREA: s->key[i] = area; break;
    }
    s->key[i] *= 1 - 0.1 * wk_rng_unit(&s->rng);
  }
}

/* The unsolved stretch of [from, to) with most failures, else the fullest; false: none is left. */
static bool pick_stretch(const wk_plan_search *s, uint32_t from, uint32_t to, uint32_t *out_from,
                         uint32_t *out_to) {
  double best_weight = -1, weight = 0;
  int64_t best_rest = 0, rest = 0;
  uint32_t start = from;
  for (uint32_t q = from; q < to; q++) {
    weight += s->weight[q];
    if (s->st.rest[q] > rest) rest = s->st.rest[q];
    if (q + 1 < to && s->st.shared[q]) continue;
    if (rest > 0 && (weight > best_weight || (weight == best_weight && rest > best_rest))) {
      best_weight = weight;
      best_rest = rest;
      *out_from = start;
      *out_to = q + 1;
    }
    start = q + 1;
    weight = 0;
    rest = 0;
  }
  return best_weight >= 0;
}

static uint32_t count_starters(const wk_plan_state *st, uint32_t s) {
  uint32_t n = 0;
  for (uint32_t q = st->live.at[s]; q < st->live.at[s + 1]; q++)
    n += !st->placed[st->live.ids[q]] && st->low[st->live.ids[q]] == st->floor[s];
  return n;
}

/* Compared field by field; the least goes first. */
typedef struct { double first, second, last; } section_rank;

static section_rank rank_section(const wk_plan_search *s, uint32_t q) {
  const wk_plan_state *st = &s->st;
  double cases = count_starters(st, q) + (st->floor[q] + st->rest[q] < st->capacity);
  if (s->by_failures) return (section_rank){cases / (1 + s->weight[q]), 0, -s->weight[q]};
  return (section_rank){cases <= 1 ? -1 : (double)st->floor[q], cases, -s->weight[q]};
}

static bool ranks_before(section_rank a, section_rank b) {
  if (a.first != b.first) return a.first < b.first;
  if (a.second != b.second) return a.second < b.second;
  return a.last < b.last;
}

/* The best ranked section of a valley in [from, to). */
static uint32_t pick_section(const wk_plan_search *s, uint32_t from, uint32_t to) {
  const int64_t *floor = s->st.floor;
  uint32_t best = UINT32_MAX;
  section_rank least = {0};
  for (uint32_t left = from, right; left < to; left = right) {
    for (right = left + 1; right < to && floor[right] == floor[left]; right++) continue;
    if (floor[left] == WK_FLOOR_DONE || (left > from && floor[left - 1] < floor[left]) ||
        (right < to && floor[right] < floor[left]))
      continue;
    for (uint32_t q = left; q < right; q++) {
      section_rank r = rank_section(s, q);
      if (best != UINT32_MAX && !ranks_before(r, least)) continue;
      best = q;
      least = r;
    }
  }
  wk_assert(best != UINT32_MAX);
  return best;
}

static bool is_twin(const wk_plan_part *p, uint32_t a, uint32_t b) {
  return p->size[a] == p->size[b] && p->first[a] == p->first[b] && p->last[a] == p->last[b] &&
         p->align[a] == p->align[b];
}

/* Pushes the decision to be taken in stretch [from, to). Of twins only the first is a choice. */
static void push_frame(wk_plan_search *s, uint32_t from, uint32_t to, uint64_t hash) {
  wk_plan_state *st = &s->st;
  frame f = {.from = from, .to = to, .section = pick_section(s, from, to),
             .choice0 = s->choices.n, .trail = st->trail.n, .hash = hash};
  for (uint32_t q = st->live.at[f.section]; q < st->live.at[f.section + 1]; q++) {
    uint32_t i = st->live.ids[q];
    if (st->placed[i] || st->low[i] != st->floor[f.section]) continue;
    bool twin = false;
    for (size_t k = f.choice0; k < s->choices.n; k++)
      twin |= is_twin(s->p, s->choices.data[k], i);
    if (twin) continue;
    wk_vec_push(&s->choices, i);
    size_t at = s->choices.n - 1;
    for (; at > f.choice0 && s->key[s->choices.data[at - 1]] < s->key[i]; at--)
      s->choices.data[at] = s->choices.data[at - 1];
    s->choices.data[at] = i;
  }
  st->visits += (st->live.at[to] - st->live.at[from]) / 4; /* pick_section's scan is a light one */
  f.n_choices = (uint32_t)(s->choices.n - f.choice0);
  wk_vec_push(&s->frames, f);
}

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* All that the completions of stretch [from, to) depend on. */
static uint64_t hash_stretch(const wk_plan_search *s, uint32_t from, uint32_t to) {
  uint64_t h = 0;
  for (uint32_t q = from; q < to; q++)
    h += mix(mix(2 * (uint64_t)q + 1) ^ (uint64_t)s->st.top[q]);
  for (uint32_t i = s->starts[from]; i < s->starts[to]; i++)
    if (!s->st.placed[i]) h += mix(mix(2 * (uint64_t)i + 2) ^ (uint64_t)s->st.low[i]);
  return h | 1; /* 0 marks an empty entry of the table */
}

/* ---- one run -------------------------------------------------------------------------------- */

static void pop_frame(wk_plan_search *s) {
  s->frames.n--;
  s->choices.n = s->frames.data[s->frames.n].choice0;
}

/* The stretch [from, to) has no completion: back to the latest decision that it depends on. */
static bool jump_back(wk_plan_search *s, uint32_t from, uint32_t to) {
  for (; s->frames.n; pop_frame(s)) {
    const frame *f = &s->frames.data[s->frames.n - 1];
    if (f->from <= from && to <= f->to) return true;
  }
  return false;
}

/* Tries what is left of the top frame until a decision holds; false: all of it is refuted. */
static bool advance(wk_plan_search *s) {
  wk_plan_state *st = &s->st;
  frame *f = &s->frames.data[s->frames.n - 1];
  wk_plan_state_undo(st, f->trail);
  while (f->next <= f->n_choices) {
    uint32_t next = f->next++;
    s->tries++;
    if (next < f->n_choices) {
      if (wk_plan_state_place(st, s->choices.data[f->choice0 + next])) return true;
      s->weight[st->failed]++;
    } else if (st->floor[f->section] + st->rest[f->section] < st->capacity) {
      if (wk_plan_state_exclude(st, f->section)) return true;
      s->weight[f->section]++;
    }
    wk_plan_state_undo(st, f->trail);
  }
  return false;
}

/* After a failure in [from, to): the next decision that holds. False: the whole run is refuted. */
static bool retreat(wk_plan_search *s, uint32_t *from, uint32_t *to) {
  while (jump_back(s, *from, *to)) {
    bool held = advance(s);
    const frame *f = &s->frames.data[s->frames.n - 1];
    *from = f->from;
    *to = f->to;
    if (held) return true;
    s->memo[f->hash & (MEMO_SIZE - 1)] = f->hash;
    pop_frame(s);
  }
  return false;
}

static int64_t nodes_spent(const wk_plan_search *s) {
  return s->tries + s->st.visits / VISITS_PER_NODE;
}

static wk_search_end run_once(wk_plan_search *s, int64_t capacity) {
  s->frames.n = s->choices.n = 0;
  s->tries = s->st.visits = 0;
  if (!wk_plan_state_reset(&s->st, capacity)) return WK_SEARCH_NONE;
  uint32_t from = 0, to = s->p->sections;
  for (;;) {
    if (!pick_stretch(s, from, to, &from, &to) &&
        !pick_stretch(s, 0, s->p->sections, &from, &to))
      return WK_SEARCH_FOUND;
    uint64_t hash = hash_stretch(s, from, to);
    bool held = s->memo[hash & (MEMO_SIZE - 1)] != hash;
    if (held) {
      push_frame(s, from, to, hash);
      held = advance(s);
      if (!held) {
        s->memo[hash & (MEMO_SIZE - 1)] = hash;
        pop_frame(s);
      }
    }
    if (!held && !retreat(s, &from, &to)) return WK_SEARCH_NONE;
    if (nodes_spent(s) >= s->limit) return WK_SEARCH_LIMIT;
  }
}

/* 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... for i = 1, 2, ... */
static int64_t luby(uint32_t i) {
  uint32_t k = 1;
  for (;;) {
    while (((uint32_t)1 << k) - 1 < i) k++;
    if (((uint32_t)1 << k) - 1 == i) return (int64_t)1 << (k - 1);
    i -= ((uint32_t)1 << (k - 1)) - 1;
    k = 1;
  }
}

wk_search_end wk_plan_search_run(wk_plan_search *s, int64_t capacity, int64_t budget,
                                 int64_t *nodes) {
  int64_t unit = 100 + 2 * (int64_t)s->p->n;
  if (capacity != s->memo_capacity) memset(s->memo, 0, MEMO_SIZE * sizeof *s->memo);
  s->memo_capacity = capacity;
  for (uint32_t run = 1; budget > 0; run++) {
    rank_items(s);
    s->by_failures = s->runs & 1;
    s->runs++;
    s->limit = unit * luby(run) < budget ? unit * luby(run) : budget;
    wk_search_end end = run_once(s, capacity);
    int64_t spent = nodes_spent(s) + 1;
    *nodes += spent;
    budget -= spent;
    if (end == WK_SEARCH_NONE) return end;
    if (end == WK_SEARCH_LIMIT) continue;
    s->p->peak = 0;
    for (uint32_t i = 0; i < s->p->n; i++) {
      s->p->offset[i] = s->st.low[i];
      int64_t top = s->st.low[i] + s->p->size[i];
      if (top > s->p->peak) s->p->peak = top;
    }
    return end;
  }
  return WK_SEARCH_LIMIT;
}
