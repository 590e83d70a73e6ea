/* SPDX-License-Identifier: Apache-2.0
 * Placement of a program's buffers: activations and per-thread scratch by the planner over their
 * live ranges, constants one after the other. */
#include "compiler/memory/memory.h"

#define CONST_ALIGN 64

static wk_status place_region(wk_program *p, wk_region region, int64_t align, const wk_live *live,
                              wk_arena *scratch, int64_t *bound) {
  wk_plan_item *items = wk_arena_alloc(scratch, (p->buffers.n + 1) * sizeof *items);
  uint32_t *ids = wk_arena_alloc(scratch, (p->buffers.n + 1) * sizeof *ids);
  size_t n = 0;
  for (size_t b = 0; b < p->buffers.n; b++) {
    wk_buffer *buf = &p->buffers.data[b];
    if (buf->region != region) continue;
    buf->offset = 0;
    if (live[b].first > live[b].last || buf->size == 0) continue;
    items[n] = (wk_plan_item){.size = buf->size, .align = buf->align > align ? buf->align : align,
                              .lower = live[b].first, .upper = live[b].last + 1, .fixed = -1};
    ids[n++] = (uint32_t)b;
  }
  wk_plan_result result = {0};
  WK_TRY(wk_plan(items, n, NULL, &result));
  for (size_t i = 0; i < n; i++) p->buffers.data[ids[i]].offset = items[i].offset;
  p->region_size[region] = result.peak;
  *bound = result.bound;
  return NULL;
}

static void place_constants(wk_program *p, const wk_live *live) {
  uint64_t at = 0;
  for (size_t b = 0; b < p->buffers.n; b++) {
    wk_buffer *buf = &p->buffers.data[b];
    if (buf->region != WK_REGION_CONST) continue;
    buf->offset = 0;
    if (live[b].first > live[b].last) continue;
    at = wk_align_up(at, CONST_ALIGN);
    buf->offset = (int64_t)at;
    at += (uint64_t)buf->size;
  }
  p->region_size[WK_REGION_CONST] = (int64_t)at;
}

wk_status wk_place(wk_program *p, int64_t align) {
  wk_arena *scratch = wk_arena_new();
  wk_live *live = wk_liveness(p, scratch);
  int64_t ignored;
  wk_status s = place_region(p, WK_REGION_ACT, align, live, scratch, &p->act_bound);
  if (!s) s = place_region(p, WK_REGION_SCRATCH, 64, live, scratch, &ignored);
  place_constants(p, live);
  wk_arena_free(scratch);
  return wk_status_note(s, "while placing the buffers of %s", p->name);
}
