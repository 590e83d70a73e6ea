/* SPDX-License-Identifier: Apache-2.0
 * Placement of a program's buffers: activations and per-thread scratch by the planner over their
 * live ranges, constants and states one after the other. */
#include <stdlib.h>
#include <string.h>

#include "compiler/memory/memory.h"

#define LASTING_ALIGN 64

static wk_status place_region(wk_program *p, wk_region region, int64_t align, const wk_live *live,
                              wk_arena *scratch, int64_t *bound) {
  wk_plan_item *items = wk_arena_alloc(scratch, p->buffers.n * sizeof *items);
  uint32_t *ids = wk_arena_alloc(scratch, p->buffers.n * sizeof *ids);
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
    at = wk_align_up(at, LASTING_ALIGN);
    buf->offset = (int64_t)at;
    at += (uint64_t)buf->size;
  }
  p->region_size[WK_REGION_CONST] = (int64_t)at;
}

/* ---- states ---------------------------------------------------------------------------------- */

typedef struct {
  WK_VEC(wk_state) all;
  wk_map *index; /* name -> position */
  int64_t size;
} state_table;

static wk_status same_state(const wk_state *a, const wk_state *b) {
  const char *name = a->io->name;
  const wk_type *t = &a->io->type;
  if (!wk_type_equal(t, &b->io->type)) {
    wk_str have = {0}, other = {0};
    wk_type_print(&have, t);
    wk_type_print(&other, &b->io->type);
    wk_status s = wk_error_at(WK_INPUT, name, "a variable is %s in one program, %s in another",
                              have.s, other.s);
    wk_str_free(&have);
    wk_str_free(&other);
    return s;
  }
  if (a->initial == b->initial || memcmp(a->initial, b->initial, (size_t)wk_type_bytes(t)) == 0)
    return NULL;
  return wk_error_at(WK_INPUT, name, "a variable begins differently in two programs");
}

static wk_status place_states(state_table *t, wk_program *p) {
  for (size_t i = 0; i < p->states.n; i++) {
    wk_buffer *b = &p->buffers.data[p->states.data[i].buffer];
    wk_state state = {&p->states.data[i], b->data,
                      (int64_t)wk_align_up((uint64_t)t->size, LASTING_ALIGN)};
    uint32_t at = (uint32_t)t->all.n;
    if (wk_map_get(t->index, state.io->name, &at)) {
      WK_TRY(same_state(&t->all.data[at], &state));
    } else {
      wk_map_put(t->index, state.io->name, at);
      wk_vec_push(&t->all, state);
      t->size = state.offset + b->size;
    }
    b->offset = t->all.data[at].offset;
  }
  return NULL;
}

wk_status wk_place_states(wk_program *const *programs, size_t n, wk_arena *scratch,
                          wk_state **states, size_t *n_states) {
  state_table t = {.index = wk_map_new()};
  wk_status s = NULL;
  for (size_t i = 0; i < n && !s; i++) s = place_states(&t, programs[i]);
  for (size_t i = 0; i < n; i++) programs[i]->region_size[WK_REGION_STATE] = t.size;
  if (states) {
    *states = wk_arena_memdup(scratch, t.all.data, t.all.n * sizeof **states);
    *n_states = t.all.n;
  }
  wk_vec_free(&t.all);
  wk_map_free(t.index);
  return s;
}

wk_status wk_place(wk_program *p, int64_t align) {
  wk_arena *scratch = wk_arena_new();
  wk_live *live = wk_liveness(p, scratch);
  int64_t ignored;
  wk_status s = place_region(p, WK_REGION_ACT, align, live, scratch, &p->act_bound);
  if (!s) s = place_region(p, WK_REGION_SCRATCH, 64, live, scratch, &ignored);
  place_constants(p, live);
  if (!s) s = wk_place_states(&p, 1, scratch, NULL, NULL);
  wk_arena_free(scratch);
  return wk_status_note(s, "while placing the buffers of %s", p->name);
}
