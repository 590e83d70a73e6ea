/* SPDX-License-Identifier: Apache-2.0
 * Edges from one layout to another. Each conversion is a part of nothing but movement, on the
 * target that does it with the least: the one that wrote the tensor, the one that reads it, or the
 * host. Who reads a tensor in a layout that somebody has asked for before gets the same one. */
#include "compiler/part/cut.h"

#include <math.h>

const wk_edge_layout wk_cut_row_major_layout = {.split = -1, .order = {0, 1, 2, 3, 4, 5, 6, 7}};

size_t wk_cut_enter(const wk_cut *c) { return c->converted.n; }
void wk_cut_leave(wk_cut *c, size_t entered) { c->converted.n = entered; }

/* ---- who ------------------------------------------------------------------------------------- */

static double host_rates(const wk_cut *c, const wk_cut_tensor *from, const wk_cut_tensor *to) {
  const wk_target_cost cost = wk_targets_cost(c->targets, wk_cut_host(c));
  wk_type x = wk_cut_laid_type(&from->type, &from->layout);
  wk_type y = wk_cut_laid_type(&to->type, &to->layout);
  return cost.per_part + cost.per_byte * (double)(wk_type_bytes(&x) + wk_type_bytes(&y));
}

/* INFINITY: it does not. */
static double cost_of(const wk_cut *c, uint32_t target, const wk_cut_tensor *from,
                      const wk_cut_tensor *to) {
  const wk_instance *t = c->targets->list[target];
  double cost = INFINITY;
  if (!t->target->converts)
    return wk_cut_is_host(c, target) ? host_rates(c, from, to) : INFINITY;
  bool does = t->target->converts(t, &from->type, &from->layout, &to->layout, &cost);
  return does ? cost : INFINITY;
}

/* WK_NONE: nobody. */
static uint32_t converter(const wk_cut *c, const wk_cut_tensor *from, const wk_cut_tensor *to,
                          uint32_t reader) {
  const uint32_t asked[] = {c->targets->has_host ? wk_cut_host(c) : WK_NONE, from->writer, reader};
  uint32_t best = WK_NONE;
  double least = INFINITY;
  for (size_t k = 0; k < WK_COUNTOF(asked); k++) {
    if (asked[k] >= c->targets->n) continue;
    double cost = cost_of(c, asked[k], from, to);
    if (!(cost < least)) continue;
    best = asked[k];
    least = cost;
  }
  return best;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static wk_status convert(wk_cut *c, uint32_t from, uint32_t to, uint32_t reader) {
  const wk_cut_tensor x = c->tensors.data[from], y = c->tensors.data[to];
  const wk_part_tensor *t = &c->p->tensors.data[from];
  uint32_t target = converter(c, &x, &y, reader);
  wk_value_id v, out;
  if (target == WK_NONE)
    return wk_error_at(WK_UNSUPPORTED, t->name, "two targets want this tensor in different "
                                                "layouts, and without a host nobody converts it");
  wk_module *m = wk_module_new(WK_LAYOUT_NODE);
  wk_graph *g = wk_graph_new(m, WK_LAYOUT_NODE);
  v = wk_graph_input(g, t->name, &t->type);
  wk_status s = wk_cut_unlay(g, v, &x.type, &x.layout, &out);
  if (!s) s = wk_cut_lay(g, out, &y.layout, &out);
  if (s) {
    wk_module_free(m);
    return s;
  }
  wk_graph_output(g, c->p->tensors.data[to].name, out);
  return wk_cut_add_own(c, m, target, from, to);
}

static void add_copy(wk_cut *c, uint32_t from, uint32_t to) {
  wk_part_row r = {.kind = WICK_ROW_COPY, .bytes = wk_type_bytes(&c->p->tensors.data[to].type)};
  if (r.bytes == 0) return;
  wk_vec_push(&r.tensors, from);
  wk_vec_push(&r.tensors, to);
  wk_vec_push(&c->p->rows, r);
}

/* What holds `from` in this layout, if there is something. */
static uint32_t find(const wk_cut *c, uint32_t from, const wk_edge_layout *layout) {
  const wk_type *t = &c->tensors.data[from].type;
  if (wk_cut_same_layout(t, &c->tensors.data[from].layout, layout)) return from;
  for (size_t k = 0; k < c->converted.n; k++) {
    wk_cut_conversion x = c->converted.data[k];
    if (x.from == from && wk_cut_same_layout(t, &c->tensors.data[x.to].layout, layout)) return x.to;
  }
  return WK_NONE;
}

wk_status wk_cut_copy(wk_cut *c, uint32_t from, uint32_t to, uint32_t reader) {
  uint32_t same = find(c, from, &c->tensors.data[to].layout);
  if (same == WK_NONE) return convert(c, from, to, reader);
  add_copy(c, same, to);
  return NULL;
}

wk_status wk_cut_in_layout(wk_cut *c, const wk_edge_layout *layout, uint32_t reader,
                           uint32_t *tensor) {
  wk_cut_conversion x = {*tensor, find(c, *tensor, layout)};
  if (x.to == WK_NONE) {
    const wk_type t = c->tensors.data[x.from].type;
    bool is_same = wk_cut_can_alias(c, x.from, layout);
    x.to = is_same ? wk_cut_alias(c, x.from, layout)
                   : wk_cut_edge(c, c->p->tensors.data[x.from].name, &t, layout);
    if (!is_same) WK_TRY(convert(c, x.from, x.to, reader));
    wk_vec_push(&c->converted, x);
  }
  *tensor = x.to;
  return NULL;
}
