/* SPDX-License-Identifier: Apache-2.0
 * plan_split: inside the planner only. From the caller's items to independent parts. */
#ifndef WICK_MEMORY_PLAN_SPLIT_H
#define WICK_MEMORY_PLAN_SPLIT_H

#include "compiler/memory/plan.h"
#include "compiler/memory/plan_part.h"

typedef struct {
  int64_t unit;       /* bytes per unit */
  int64_t bound;      /* units: largest live sum, and the top of the highest fixed item */
  int64_t blocks_top; /* units: the top of the highest fixed item */
  wk_plan_part *parts;
  uint32_t n;
} wk_plan_split;

/* `items` are valid (plan.c). WK_INPUT: two fixed items collide; WK_RESOURCE: too many lifetimes
 * intersect. */
wk_status wk_plan_split_items(const wk_plan_item *items, size_t n, wk_arena *arena,
                              wk_plan_split *out) WK_MUST_CHECK;
/* Writes the parts' offsets back, in bytes. */
void wk_plan_split_store(const wk_plan_split *split, wk_plan_item *items);

#endif
