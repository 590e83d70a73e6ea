/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/grad/parts.h"

#include <stdlib.h>

static uint32_t *last_of(wk_adjoints *p, wk_value_id v) {
  while (p->last.n <= v) wk_vec_push(&p->last, WK_NONE);
  return &p->last.data[v];
}

void wk_adjoints_give(wk_adjoints *p, wk_value_id v, wk_value_id part) {
  uint32_t *last = last_of(p, v);
  const wk_adjoint_part one = {part, *last};
  *last = (uint32_t)p->parts.n;
  wk_vec_push(&p->parts, one);
}

void wk_adjoints_move(wk_adjoints *p, wk_value_id from, wk_value_id to) {
  uint32_t k = *last_of(p, from), *end = last_of(p, to);
  while (*end != WK_NONE) end = &p->parts.data[*end].next;
  *end = k;
  *last_of(p, from) = WK_NONE;
}

void wk_adjoints_replace(wk_adjoints *p, wk_value_id from, wk_value_id to) {
  for (size_t k = 0; k < p->parts.n; k++)
    if (p->parts.data[k].value == from) p->parts.data[k].value = to;
}

void wk_adjoints_free(wk_adjoints *p) {
  wk_vec_free(&p->last);
  wk_vec_free(&p->parts);
}

/* ---- slices -------------------------------------------------------------------------------- */

/* A part that is x with zeros around it along one axis: x is [first, end) of it. */
typedef struct {
  wk_value_id part, x;
  int axis;
  int64_t first, end;
} piece;

static bool is_piece(const wk_graph *g, wk_value_id part, piece *out) {
  const wk_value *v = wk_val(g, part);
  const wk_node *n = wk_def(g, part);
  if (!n || n->op != WK_OP_PAD || n->n_in > 1) return false;
  const wk_attr_pad *p = WK_ATTR(n, pad);
  *out = (piece){.part = part, .x = n->in[0], .axis = -1};
  for (int i = 0; i < v->type.rank; i++) {
    if (!p->before.v[i] && !p->after.v[i]) continue;
    if (out->axis >= 0 || p->before.v[i] < 0 || p->after.v[i] < 0) return false;
    out->axis = i;
    out->first = p->before.v[i];
    out->end = v->type.dims[i] - p->after.v[i];
  }
  return out->axis >= 0;
}

static int by_place(const void *a, const void *b) {
  const piece *x = a, *y = b;
  if (x->axis != y->axis) return x->axis - y->axis;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return x->part < y->part ? -1 : x->part > y->part;
}

/* Pieces next to each other, all n of them, as one part. */
static wk_value_id joined(wk_low *l, const piece *p, size_t n, const wk_type *t) {
  wk_value_id *xs = wk_arena_alloc(l->arena, n * sizeof *xs);
  int64_t before[WK_MAX_RANK] = {0}, after[WK_MAX_RANK] = {0};
  if (n == 1) return p->part;
  for (size_t i = 0; i < n; i++) xs[i] = p[i].x;
  wk_value_id y = wk_low_concat(l, xs, (uint32_t)n, p->axis);
  before[p->axis] = p->first;
  after[p->axis] = t->dims[p->axis] - p[n - 1].end;
  if (l->status || (!before[p->axis] && !after[p->axis])) return y;
  wk_attr_pad *pad = wk_attrs_new(l->arena, WK_OP_PAD);
  pad->before = wk_ints_dup(l->arena, before, t->rank);
  pad->after = wk_ints_dup(l->arena, after, t->rank);
  return wk_low_add(l, WK_OP_PAD, pad, &y, 1, 1, NULL);
}

/* Replaces pieces among v[n] by fewer parts; returns how many parts there are. */
static size_t join_pieces(wk_low *l, wk_value_id *v, size_t n, const wk_type *t) {
  piece *p = wk_arena_alloc(l->arena, n * sizeof *p);
  size_t pieces = 0, kept = 0, end;
  for (size_t i = 0; i < n; i++) {
    if (is_piece(l->g, v[i], &p[pieces])) pieces++;
    else v[kept++] = v[i];
  }
  qsort(p, pieces, sizeof *p, by_place);
  for (size_t i = 0; i < pieces; i = end) {
    for (end = i + 1; end < pieces && p[end].axis == p[i].axis && p[end].first == p[end - 1].end;)
      end++;
    v[kept++] = joined(l, &p[i], end - i, t);
  }
  return kept;
}

/* ---- sums ---------------------------------------------------------------------------------- */

static wk_value_id add_up(wk_low *l, wk_value_id *v, size_t n, const wk_type *t) {
  n = join_pieces(l, v, n, t);
  wk_value_id sum = v[0];
  for (size_t i = 1; i < n; i++) sum = wk_low_map(l, t->dtype, "add(a, b)", 2, sum, v[i]);
  return sum;
}

wk_status wk_adjoints_sum(wk_adjoints *p, wk_graph *g, const char *name, wk_value_id v,
                          wk_value_id *out) {
  wk_arena *arena = g->module->arena;
  uint32_t last = *last_of(p, v);
  size_t n = 0;
  for (uint32_t k = last; k != WK_NONE; k = p->parts.data[k].next) n++;
  *out = n ? p->parts.data[last].value : WK_NONE;
  if (n < 2) return NULL;
  const wk_type t = wk_val(g, v)->type;
  wk_low l = {.g = g, .arena = arena, .name = wk_arena_printf(arena, "grad(%s)", name)};
  wk_value_id *parts = wk_arena_alloc(arena, n * sizeof *parts);
  size_t i = n;
  for (uint32_t k = last; k != WK_NONE; k = p->parts.data[k].next)
    parts[--i] = p->parts.data[k].value;
  *out = add_up(&l, parts, n, &t);
  *last_of(p, v) = WK_NONE;
  wk_adjoints_give(p, v, *out);
  return l.status;
}
