/* SPDX-License-Identifier: Apache-2.0
 * Drawn instances of placement, for the planner's tests. */
#ifndef WICK_TEST_PLAN_DRAW_H
#define WICK_TEST_PLAN_DRAW_H

#include "compiler/memory/plan.h"

/* Cuts the rectangle [0, time) x [0, bytes) into n pieces: a perfect packing exists. */
static inline void plan_draw_cuts(wk_rng *rng, wk_plan_item *items, size_t n, int64_t time,
                                  int64_t bytes) {
  items[0] = (wk_plan_item){.size = bytes, .align = 1, .upper = time, .fixed = -1};
  for (size_t count = 1; count < n;) {
    wk_plan_item *it = &items[wk_rng_range(rng, 0, (int64_t)count - 1)];
    bool in_time = wk_rng_next(rng) & 1;
    int64_t extent = in_time ? it->upper - it->lower : it->size;
    if (extent < 2) continue;
    int64_t at = wk_rng_range(rng, 1, extent - 1);
    wk_plan_item *piece = &items[count++];
    *piece = *it;
    if (in_time) it->upper = piece->lower = it->lower + at;
    else it->size = at, piece->size -= at;
  }
}

#endif
