/* SPDX-License-Identifier: Apache-2.0
 * plan_state: inside the planner only. The state of the exact search (the algorithm is described in
 * plan_search.c): which items are placed, what is known about the others, and the inference that
 * follows from every decision, undone through a trail. */
#ifndef WICK_MEMORY_PLAN_STATE_H
#define WICK_MEMORY_PLAN_STATE_H

#include "compiler/memory/plan_part.h"

#define WK_FLOOR_DONE (INT64_MAX / 4) /* the floor of a section whose items are all placed */

typedef struct { int64_t old; uint32_t index; uint8_t kind; } wk_plan_undo;

typedef struct {
  const wk_plan_part *p;
  int64_t capacity;
  int64_t *low;     /* per item: its offset when placed, else no completion puts it lower */
  bool *placed;
  int64_t *floor;   /* per section: the least `low` of its unplaced items */
  int64_t *top;     /* per section: where the highest placed item ends; [top, floor) stays empty */
  int64_t *rest;    /* per section: sum of the sizes of its unplaced items */
  uint32_t *shared; /* per section s: unplaced items that live in both s and s + 1 */
  wk_plan_rows live;          /* per section: its items */
  uint32_t *by_low, *by_end;  /* the same rows nearly sorted by low, by low + size, descending */
  WK_VEC(wk_plan_undo) trail;
  uint32_t *dirty, n_dirty;   /* sections whose inference is due */
  bool *is_dirty;
  int64_t *prefix, *end;      /* scratch, as long as the longest row */
  uint32_t *row;
  uint32_t failed;            /* the section at which the last inference failed */
  int64_t visits;             /* table entries visited so far, for the budget */
} wk_plan_state;

/* False when the rows would be too large. Tables live in `arena` except the trail. */
bool wk_plan_state_init(wk_plan_state *st, const wk_plan_part *p, wk_arena *arena);
void wk_plan_state_free(wk_plan_state *st);
/* Nothing placed. False: the capacity is refuted at once. */
bool wk_plan_state_reset(wk_plan_state *st, int64_t capacity);
/* Item i is put at its low, which equals the floor of all its sections. False: no completion. */
bool wk_plan_state_place(wk_plan_state *st, uint32_t i);
/* No item starts at the floor of section s. False: no completion, or none that is not dominated. */
bool wk_plan_state_exclude(wk_plan_state *st, uint32_t s);
void wk_plan_state_undo(wk_plan_state *st, size_t mark); /* back to trail length `mark` */

#endif
