/* SPDX-License-Identifier: Apache-2.0
 * A module in f64, in which derivatives can be compared with differences. */
#include <string.h>

#include "compiler/grad/grad.h"

static wk_dtype widened(wk_dtype t) {
  return t == WK_F32 || t == WK_F16 || t == WK_BF16 ? WK_F64 : t;
}

static const wk_expr *widen_expr(wk_arena *a, const wk_expr *e) {
  wk_expr *y = wk_expr_clone(a, e);
  uint16_t *inputs = wk_arena_alloc(a, y->n * sizeof *inputs);
  uint16_t *results = wk_arena_alloc(a, y->n_results * sizeof *results);
  wk_expr_builder *b = wk_expr_begin(a);
  for (uint32_t k = 0; k < y->n; k++) y->nodes[k].dtype = widened(y->nodes[k].dtype);
  for (uint32_t k = 0; k < y->n; k++)
    if (y->nodes[k].op == WK_EX_INPUT)
      inputs[y->nodes[k].imm.i] = wk_expr_input(b, y->nodes[k].imm.i, y->nodes[k].dtype);
  for (uint32_t r = 0; r < y->n_results; r++) results[r] = wk_expr_inline(b, y, inputs, (int)r);
  return wk_expr_finish(b, results, (int)y->n_results);
}

static bool reads_bits(const wk_expr *e) {
  for (uint32_t k = 0; k < e->n; k++) {
    const wk_expr_node *x = &e->nodes[k];
    if (x->op == WK_EX_BITS && (widened(x->dtype) != x->dtype ||
                                widened(e->nodes[x->arg[0]].dtype) != e->nodes[x->arg[0]].dtype))
      return true;
  }
  return false;
}

static wk_status widen_attrs(wk_graph *g, wk_node *n) {
  const wk_op_info *info = wk_op_get(n->op);
  n->attrs = wk_attrs_clone(g->module->arena, n->op, n->attrs);
  for (int k = 0; k < info->n_fields; k++) {
    const wk_field *f = &info->fields[k];
    char *at = (char *)n->attrs + f->offset;
    if (f->kind == WK_FIELD_DTYPE) *(int64_t *)at = widened((wk_dtype)*(int64_t *)at);
    const wk_expr **e = f->kind == WK_FIELD_EXPR ? (const wk_expr **)at : NULL;
    if (!e || !*e) continue;
    if (reads_bits(*e)) return wk_error_at(WK_UNSUPPORTED, n->name, "it reads the bits of a float");
    *e = widen_expr(g->module->arena, *e);
  }
  if (n->op != WK_OP_BITCAST) return NULL;
  return wk_error_at(WK_UNSUPPORTED, n->name, "it reads the bits of a float");
}

/* An operator whose definition computes in f32 whatever its operands are becomes a map in f64. */
static wk_status widen_definition(wk_graph *g, wk_node *n) {
  const wk_op_info *info = wk_op_get(n->op);
  wk_expr *e;
  if (info->cls != WK_CLASS_ELEMENTWISE || !strstr(info->semantics, "f32(")) return NULL;
  WK_TRY(wk_node_expr(g, n, g->module->arena, &e));
  wk_attr_map *m = wk_attrs_new(g->module->arena, WK_OP_MAP);
  m->body = e;
  n->op = WK_OP_MAP;
  n->attrs = m;
  return NULL;
}

static wk_status widen_constant(wk_graph *g, wk_value_id id) {
  const wk_value v = *wk_val(g, id);
  wk_type t = v.type;
  t.dtype = widened(t.dtype);
  int64_t n = wk_type_count(&t);
  void *data = wk_xcalloc((size_t)wk_type_bytes(&t), 1);
  wk_vec_push(&g->module->blobs, data);
  if (t.dtype == v.type.dtype) memcpy(data, v.data, (size_t)wk_type_bytes(&t));
  else for (int64_t i = 0; i < n; i++) wk_store_f64(data, WK_F64, i,
                                                    wk_load_f64(v.data, v.type.dtype, i));
  wk_val(g, id)->data = data;
  return NULL;
}

static wk_status widen_graph(wk_graph *g) {
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead) WK_TRY(widen_definition(g, wk_nod(g, (wk_node_id)i)));
  for (size_t v = 0; v < g->values.n; v++) {
    wk_value *x = wk_val(g, (wk_value_id)v);
    if (x->kind == WK_VALUE_CONSTANT) WK_TRY(widen_constant(g, (wk_value_id)v));
    x->type.dtype = widened(x->type.dtype);
  }
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead) WK_TRY(widen_attrs(g, wk_nod(g, (wk_node_id)i)));
  return NULL;
}

wk_status wk_widen_floats(const wk_module *m, wk_module **out) {
  wk_module *w = wk_module_clone(m);
  wk_status s = NULL;
  for (size_t k = 0; k < w->graphs.n && !s; k++) s = widen_graph(w->graphs.data[k]);
  wk_status refused = s ? NULL : wk_module_verify(w);
  if (refused) s = wk_error(WK_UNSUPPORTED, "not in f64: %s", refused->message);
  wk_status_free(refused);
  if (s) wk_module_free(w);
  else *out = w;
  return s;
}
