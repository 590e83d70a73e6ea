/* SPDX-License-Identifier: Apache-2.0
 * Names in sight. Bodies of IF and LOOP are graphs that see nothing from outside, so a name found
 * in an enclosing graph is carried inwards graph by graph: constants are repeated (they share their
 * data), everything else becomes an input of the body and an entry of its capture list. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/extent.h"

wk_scope *wk_scope_new(wk_scope *inside, bool is_function, wk_graph *g, const wk_frame *frame) {
  wk_scope *s = wk_xcalloc(1, sizeof *s);
  *s = (wk_scope){.parent = is_function ? NULL : inside, .g = g, .frame = frame,
                  .path = inside ? inside->path : "", .names = wk_map_new(),
                  .depth = inside ? inside->depth + 1 : 0};
  s->edge = inside && inside->g == g ? inside->edge : s;
  return s;
}

void wk_scope_enter(wk_importer *im, wk_scope *s, const Onnx__NodeProto *n, const void *what) {
  const char *place = wk_arena_printf(im->arena, "%s/%p.%p", s->path, (const void *)n, what);
  uint32_t times = 0;
  wk_map_get(im->entered, place, &times);
  wk_map_put(im->entered, place, times + 1);
  s->path = wk_arena_printf(im->arena, "%s.%u", place, times);
}

wk_map *wk_import_again(wk_importer *im) {
  wk_map *entered = im->entered;
  im->entered = wk_map_new();
  return entered;
}

void wk_import_go_on(wk_importer *im, wk_map *entered) {
  wk_map_free(im->entered);
  im->entered = entered;
}

void wk_scope_free(wk_scope *s) {
  if (!s) return;
  wk_map_free(s->names);
  wk_vec_free(&s->bound);
  wk_vec_free(&s->captures);
  free(s);
}

void wk_scope_bind(wk_scope *s, const char *name, wk_bound b) {
  wk_map_put(s->names, name, (uint32_t)s->bound.n);
  wk_vec_push(&s->bound, b);
}

bool wk_scope_has(const wk_scope *s, const char *name) {
  uint32_t i;
  return wk_map_get(s->names, name, &i);
}

static wk_value_id capture_input(wk_scope *s, const wk_value *outer, wk_value_id v) {
  for (size_t i = 0; i < s->captures.n; i++) {
    if (s->captures.data[i].outer == v) return s->captures.data[i].inner;
  }
  wk_capture capture = {.outer = v, .inner = wk_graph_input(s->g, outer->name, &outer->type)};
  wk_vec_push(&s->captures, capture);
  return capture.inner;
}

wk_value_id wk_scope_capture(wk_scope *s, const wk_graph *from, wk_value_id v) {
  const wk_value outer = *wk_val(from, v);
  if (outer.kind == WK_VALUE_CONSTANT)
    return wk_graph_constant(s->g, outer.name, &outer.type, outer.data);
  return capture_input(s, &outer, v);
}

/* What training keeps apart is no constant in bodies. */
static wk_value_id carry_value(wk_importer *im, wk_scope *s, const wk_graph *from, wk_value_id v) {
  const wk_value outer = *wk_val(from, v);
  wk_value_id inner = wk_training_keeps(im, from, v) ? capture_input(s, &outer, v)
                                                     : wk_scope_capture(s, from, v);
  wk_extents_carry(im, from, v, s->g, inner);
  return inner;
}

static wk_bound carry(wk_importer *im, wk_scope *s, const wk_graph *from, wk_bound b) {
  if (b.kind == WK_BOUND_TENSOR || b.kind == WK_BOUND_LABELLED)
    b.value = carry_value(im, s, from, b.value);
  if (b.kind != WK_BOUND_SEQUENCE) return b;
  wk_value_id *items = wk_arena_alloc(im->arena, b.n * sizeof *items);
  for (uint32_t i = 0; i < b.n; i++) items[i] = carry_value(im, s, from, b.items[i]);
  b.items = items;
  return b;
}

bool wk_scope_find(wk_importer *im, wk_scope *s, const char *name, wk_bound *out) {
  wk_scope *chain[WK_GRAPH_MAX_DEPTH + 1];
  int n = 0;
  uint32_t i = 0;
  wk_scope *at = s;
  while (at && !wk_map_get(at->names, name, &i)) {
    chain[n++] = at;
    at = at->parent;
  }
  if (!at) return false;
  *out = at->bound.data[i];
  const wk_graph *g = at->g;
  while (n-- > 0) {
    if (chain[n]->g == g) continue;
    *out = carry(im, chain[n], g, *out);
    g = chain[n]->g;
    wk_scope_bind(chain[n], name, *out);
  }
  return true;
}
