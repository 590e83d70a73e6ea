/* SPDX-License-Identifier: Apache-2.0
 * A step moves a weight by much less than halves can tell apart: what is trained is a weight of
 * f32, the master, and the model computes with its rounding. */
#include <string.h>

#include "compiler/ir/graph_names.h"
#include "compiler/train/maker.h"

static wk_value_id find(const wk_graph *g, const char *name) {
  for (size_t i = 0; i < g->values.n; i++)
    if (g->values.data[i].kind == WK_VALUE_CONSTANT && !strcmp(g->values.data[i].name, name))
      return (wk_value_id)i;
  return WK_NONE;
}

/* Reads what v is of, and takes its place. */
static wk_status round_to(wk_graph *g, wk_value_id master, wk_value_id v, wk_dtype t) {
  wk_low l = {.g = g, .arena = g->module->arena, .name = wk_val(g, master)->name};
  wk_attr_cast *a = wk_attrs_new(l.arena, WK_OP_CAST);
  a->to = t;
  wk_value_id rounded = wk_low_add(&l, WK_OP_CAST, a, &master, 1, 1, NULL);
  WK_TRY(l.status);
  wk_graph_replace_uses(g, v, rounded);
  return NULL;
}

wk_status wk_master_open(wk_graph *g, const char *name, wk_dtype *stored, wk_value_id *out) {
  wk_value_id v = *out = find(g, name);
  if (v == WK_NONE) return NULL;
  const wk_value half = *wk_val(g, v);
  wk_type t = half.type;
  void *data;
  *stored = t.dtype;
  if (!wk_is_halves(t.dtype)) return NULL;
  t.dtype = WK_F32;
  wk_graph_set_name(g, v, wk_graph_unique_name(g, NULL));
  WK_TRY(wk_graph_constant_alloc(g, NULL, &t, out, &data));
  wk_graph_set_name(g, *out, half.name);
  for (int64_t i = 0, n = wk_type_count(&t); i < n; i++)
    wk_store_f64(data, WK_F32, i, wk_load_f64(half.data, half.type.dtype, i));
  return round_to(g, *out, v, half.type.dtype);
}
