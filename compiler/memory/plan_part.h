/* SPDX-License-Identifier: Apache-2.0
 * plan_part: inside the planner only. A part is an independent placement problem: free items whose
 * lifetimes form one connected stretch of time. Time is reduced to sections (the maximal sets of
 * items that live together, in order of time), bytes to units (all sizes, alignments and fixed
 * offsets divided by their greatest common divisor). Fixed items are blocks: obstacles in the way
 * of the free ones. */
#ifndef WICK_MEMORY_PLAN_PART_H
#define WICK_MEMORY_PLAN_PART_H

#include "compiler/support/support.h"

typedef struct { int64_t bottom, top; } wk_plan_span; /* units, [bottom, top) */

/* Rows of a sparse table: row r is ids[at[r] .. at[r + 1]). */
typedef struct { uint32_t *at, *ids; } wk_plan_rows;

typedef struct {
  uint32_t n, sections;
  int64_t *size, *align;   /* units; size > 0 */
  int64_t *lower, *upper;  /* schedule time, for heuristics */
  uint32_t *first, *last;  /* item i lives in sections [first, last); items ascend by first */
  uint32_t *item;          /* the caller's index */
  wk_plan_rows overlap;    /* per item: the items that live at some time with it, ascending */
  uint32_t *block_at;      /* per item: blocks[block_at[i] .. block_at[i + 1]) are in its way, */
  wk_plan_span *blocks;    /* ascending by top */
  uint32_t *wall_at;       /* per section: walls[wall_at[s] .. wall_at[s + 1]) stand in it */
  wk_plan_span *walls;
  int64_t bound;           /* largest sum of sizes, walls included, over the sections */
  int64_t *offset, peak;   /* the best placement so far, units */
} wk_plan_part;

/* The lowest offset >= v, aligned, at which item i runs into no block. */
int64_t wk_plan_part_clear(const wk_plan_part *p, uint32_t i, int64_t v);

/* Sets p->offset and p->peak to the best of several list placements; stops early at `goal`. */
void wk_plan_greedy(wk_plan_part *p, int64_t goal, wk_arena *scratch);

typedef enum { WK_SEARCH_FOUND, WK_SEARCH_NONE, WK_SEARCH_LIMIT } wk_search_end;

/* The exact search on one part; what it learns about hard sections is kept from call to call. */
typedef struct wk_plan_search wk_plan_search;
/* NULL when the part is too large for its tables. */
wk_plan_search *wk_plan_search_new(wk_plan_part *p, wk_arena *arena);
/* FOUND: p->offset and p->peak (<= capacity) are set. NONE: proved impossible. LIMIT: `budget`
 * nodes were not enough. Adds the nodes spent to *nodes. */
wk_search_end wk_plan_search_run(wk_plan_search *s, int64_t capacity, int64_t budget,
                                 int64_t *nodes);
void wk_plan_search_free(wk_plan_search *s); /* its growing tables; NULL ok */

#endif
