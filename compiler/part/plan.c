/* SPDX-License-Identifier: Apache-2.0
 * What rows of the plan wait for, and where the edges lie.
 *
 * Rows begin in order but need not end so. A row waits for every earlier one that writes what it
 * reads or writes, and for every one that reads what it writes; edges that share memory count as
 * one. Edges that a loop mentions live through all of it. */
#include "compiler/memory/plan.h"
#include "compiler/part/cut.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct {
  int64_t first, last;
} span;

static size_t behind(const wk_parts *p, size_t row) {
  const wk_part_row *r = &p->rows.data[row];
  return row + 1 + r->body_count + r->else_count;
}

/* Per row, the rows of the outermost loop around it, or itself. */
static span *loops_around(const wk_parts *p, wk_arena *a) {
  span *s = wk_arena_alloc(a, p->rows.n * sizeof *s);
  size_t end = 0;
  for (size_t i = 0; i < p->rows.n; i++) {
    if (i >= end) s[i] = (span){(int64_t)i, (int64_t)i};
    if (i >= end && p->rows.data[i].kind == WICK_ROW_LOOP) {
      end = behind(p, i);
      for (size_t k = i; k < end; k++) s[k] = (span){(int64_t)i, (int64_t)end - 1};
    }
  }
  return s;
}

/* One behind the other, where more are live together than the planner takes on. */
static int64_t stack(wk_plan_item *items, size_t n) {
  int64_t end = 0;
  for (size_t k = 0; k < n; k++) {
    items[k].offset = end;
    end += wk_ceil_div(items[k].size, WICK_ALIGN) * WICK_ALIGN;
  }
  return end;
}

/* The edge that has the bytes. */
static uint32_t base_of(const wk_parts *p, uint32_t t) {
  uint32_t alias = p->tensors.data[t].alias;
  return alias == WK_NONE ? t : alias;
}

static wk_status place_edges(wk_parts *p, wk_arena *a) {
  size_t n_io = p->n_in + p->n_out, n = p->tensors.n - n_io;
  wk_plan_item *items = wk_arena_alloc(a, n * sizeof *items);
  const span *around = loops_around(p, a);
  wk_plan_result result = {0};
  for (size_t k = 0; k < n; k++) {
    const wk_part_tensor *t = &p->tensors.data[n_io + k];
    bool has_own = !t->variable && t->alias == WK_NONE;
    items[k] = (wk_plan_item){.size = has_own ? t->bytes : 0, .align = WICK_ALIGN,
                              .lower = INT64_MAX, .fixed = -1};
  }
  for (size_t i = 0; i < p->rows.n; i++)
    for (size_t k = 0; k < p->rows.data[i].tensors.n; k++) {
      uint32_t t = p->rows.data[i].tensors.data[k];
      if (t == WK_NONE || t < n_io) continue;
      wk_plan_item *x = &items[base_of(p, t) - n_io];
      if (around[i].first < x->lower) x->lower = around[i].first;
      if (around[i].last + 1 > x->upper) x->upper = around[i].last + 1;
    }
  for (size_t k = 0; k < n; k++)
    if (items[k].lower == INT64_MAX) items[k].lower = 0;
  wk_status s = wk_plan(items, n, NULL, &result);
  if (s && s->code == WK_RESOURCE) {
    wk_status_free(s);
    s = NULL;
    result.peak = stack(items, n);
  }
  WK_TRY(s);
  WK_TRY(wk_plan_check(items, n, 0));
  for (size_t k = 0; k < n; k++)
    p->tensors.data[n_io + k].offset = items[base_of(p, (uint32_t)(n_io + k)) - n_io].offset;
  p->edge_bytes = result.peak;
  return NULL;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static bool same_memory(const wk_parts *p, uint32_t a, uint32_t b) {
  if (a == b) return true;
  if (a < p->n_in + p->n_out || b < p->n_in + p->n_out) return false;
  const wk_part_tensor *x = &p->tensors.data[a], *y = &p->tensors.data[b];
  if (x->variable || y->variable)
    return x->variable && y->variable && !strcmp(x->variable, y->variable);
  return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

static bool writes(const wk_parts *p, const wk_part_row *r, size_t k) {
  switch (r->kind) {
    case WICK_ROW_RUN: return k >= wk_graph_plain_inputs(p->parts.data[r->part].module->main);
    case WICK_ROW_IF: return false;
    default: return k == 1;
  }
}

/* What a row has of variables that its part has itself. */
typedef enum { NOTHING, READS, CHANGES } use;

static use use_of(const wk_parts *p, const wk_part_row *r, const char *variable) {
  if (r->kind != WICK_ROW_RUN) return NOTHING;
  const wk_graph *g = p->parts.data[r->part].module->main;
  for (size_t i = wk_graph_plain_inputs(g); i < g->inputs.n; i++)
    if (!strcmp(wk_val(g, g->inputs.data[i])->name, variable))
      return wk_graph_new_value(g, g->inputs.data[i]) == WK_NONE ? READS : CHANGES;
  return NOTHING;
}

/* a's part has a variable, and b has the same one, or a tensor that lies there. */
static bool conflict_in_state(const wk_parts *p, const wk_part_row *a, const wk_part_row *b) {
  if (a->kind != WICK_ROW_RUN) return false;
  const wk_graph *g = p->parts.data[a->part].module->main;
  for (size_t i = wk_graph_plain_inputs(g); i < g->inputs.n; i++) {
    const char *name = wk_val(g, g->inputs.data[i])->name;
    use x = use_of(p, a, name), y = use_of(p, b, name);
    for (size_t k = 0; k < b->tensors.n && y == NOTHING; k++) {
      uint32_t t = b->tensors.data[k];
      const char *variable = t == WK_NONE ? NULL : p->tensors.data[t].variable;
      if (variable && !strcmp(variable, name)) y = READS;
    }
    if (y != NOTHING && (x == CHANGES || y == CHANGES)) return true;
  }
  return false;
}

static bool conflict(const wk_parts *p, const wk_part_row *a, const wk_part_row *b) {
  if (conflict_in_state(p, a, b) || conflict_in_state(p, b, a)) return true;
  for (size_t i = 0; i < a->tensors.n; i++)
    for (size_t k = 0; k < b->tensors.n; k++) {
      uint32_t x = a->tensors.data[i], y = b->tensors.data[k];
      if (x == WK_NONE || y == WK_NONE || !(writes(p, a, i) || writes(p, b, k))) continue;
      if (same_memory(p, x, y)) return true;
    }
  return false;
}

/* i, or something inside, must have finished before j, or what is inside, begins. */
static bool must_wait(const wk_parts *p, size_t i, size_t j) {
  for (size_t k = j; k < behind(p, j); k++)
    for (size_t h = i; h < behind(p, i); h++)
      if (conflict(p, &p->rows.data[h], &p->rows.data[k])) return true;
  return false;
}

/* The rows beside j, or beside a row around it, that come before it, from the first to the last. */
static void list_before(const wk_parts *p, size_t j, wk_numbers *out) {
  out->n = 0;
  for (size_t i = 0; i < j;) {
    if (behind(p, i) > j) { /* around it: what stands in it comes next */
      bool other_arm = p->rows.data[i].kind == WICK_ROW_IF && j > i + p->rows.data[i].body_count;
      i += 1 + (other_arm ? p->rows.data[i].body_count : 0);
      continue;
    }
    wk_vec_push(out, (uint32_t)i);
    i = behind(p, i);
  }
}

/* done[j]: bits of the rows that have finished when row j begins. A row that one which is waited
 * for has waited for is not named again. */
static void find_waits(wk_parts *p, wk_arena *a) {
  size_t words = (p->rows.n + 63) / 64;
  uint64_t *done = wk_arena_alloc(a, p->rows.n * words * sizeof *done);
  wk_numbers before = {0};
  for (size_t j = 0; j < p->rows.n; j++) {
    uint64_t *mine = done + j * words;
    list_before(p, j, &before);
    for (size_t k = before.n; k-- > 0;) {
      uint32_t i = before.data[k];
      if (mine[i / 64] >> i % 64 & 1 || !must_wait(p, i, j)) continue;
      wk_vec_push(&p->rows.data[j].waits, i);
      mine[i / 64] |= UINT64_C(1) << i % 64;
      for (size_t w = 0; w < words; w++) mine[w] |= done[i * words + w];
    }
  }
  wk_vec_free(&before);
}

wk_status wk_cut_plan(wk_parts *p) {
  wk_arena *a = wk_arena_new();
  wk_status s = place_edges(p, a);
  if (!s) find_waits(p, a);
  wk_arena_free(a);
  return s;
}
