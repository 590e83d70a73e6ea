/* SPDX-License-Identifier: Apache-2.0
 * Node lowering: every GRAPH operator but those claimed is replaced by primitives and views.
 * Elementwise operators become `map` by their definition in ops.def; the rest has one function
 * each, listed in build.h. What replaces a node takes its place in the order, so that the order of
 * the model is kept. */
#include <stdlib.h>
#include <string.h>

#include "compiler/lower/build.h"

static const wk_lower_fn lowerings[WK_OP_COUNT] = {
#define X(op, fn) [WK_OP_##op] = wk_lower_##fn,
    WK_LOWERINGS(X)
#undef X
};

static void lower_elementwise(wk_low *l, const wk_node *n, wk_value_id *out) {
  wk_attr_map *a = wk_attrs_new(l->arena, WK_OP_MAP);
  wk_expr *e = NULL;
  wk_status s = wk_node_expr(l->g, n, l->arena, &e);
  if (s) {
    wk_low_fail(l, s);
    return;
  }
  a->body = e;
  out[0] = wk_low_add(l, WK_OP_MAP, a, n->in, n->n_in, 1, NULL);
}

/* Where updates meet in memory, memory is what sums and products are computed in. */
static bool meets_narrow(const wk_graph *g, const wk_node *n) {
  const char *how = n->op == WK_OP_SCATTER_ELEMENTS ? WK_ATTR(n, scatter_elements)->reduction
                    : n->op == WK_OP_SCATTER_ND     ? WK_ATTR(n, scatter_nd)->reduction
                                                    : "none";
  if (strcmp(how, "add") != 0 && strcmp(how, "mul") != 0) return false;
  wk_dtype t = wk_val(g, n->in[0])->type.dtype;
  return wk_compute_dtype(t) != t;
}

static void lower_scatter(wk_low *l, const wk_node *n, wk_value_id *out) {
  wk_dtype t = wk_low_type(l, n->in[0])->dtype, wide = wk_compute_dtype(t);
  wk_value_id in[] = {wk_low_map(l, wide, "a", 1, n->in[0]), n->in[1],
                      wk_low_map(l, wide, "a", 1, n->in[2])};
  void *attrs = wk_attrs_clone(l->arena, n->op, n->attrs);
  out[0] = wk_low_map(l, t, "a", 1, wk_low_add(l, n->op, attrs, in, 3, 1, NULL));
}

/* What values have been replaced by; the uses follow as the nodes are visited. */
typedef struct { WK_VEC(wk_value_id) to; } redirects;

static void redirect(redirects *r, wk_value_id *v) {
  if (*v != WK_NONE && *v < r->to.n && r->to.data[*v] != WK_NONE) *v = r->to.data[*v];
}

static void redirect_inputs(redirects *r, wk_node *n) {
  for (uint32_t k = 0; k < n->n_in; k++) redirect(r, &n->in[k]);
  redirect(r, &n->predicate);
}

static void replace(redirects *r, wk_graph *g, wk_value_id from, wk_value_id to) {
  while (r->to.n <= from) wk_vec_push(&r->to, WK_NONE);
  r->to.data[from] = to;
  wk_graph_take_name(g, from, to);
}

typedef struct {
  wk_claims run;
  void *ctx;
} claims;

/* Views stay: program generation turns them into strides or copies. */
static bool is_replaced(const wk_graph *g, const wk_node *n) {
  return !n->dead && wk_node_view(n) == WK_VIEW_NONE &&
         (wk_op_get(n->op)->kind != WK_KIND_BOTH || meets_narrow(g, n));
}

/* What makes the results of n is needed where they were. The values between need not lie along the
 * batch: they are computed for all of it. A result that is there already gets a copy. */
static void keep_predicate(wk_low *l, const wk_node *n, size_t first, wk_value_id *out) {
  for (uint32_t i = 0; i < n->n_out && n->predicate != WK_NONE; i++) {
    if (out[i] == WK_NONE) continue;
    const wk_value *v = wk_val(l->g, out[i]);
    if (v->kind != WK_VALUE_NODE || v->node < first)
      out[i] = wk_low_map(l, v->type.dtype, "a", 1, out[i]);
    if (l->status) return;
    wk_nod(l->g, wk_val(l->g, out[i])->node)->predicate = n->predicate;
  }
}

/* n: a copy of a node of g; its operands are up to date. */
static wk_status expand(wk_graph *g, const wk_node *n, wk_value_id *out) {
  const wk_op_info *info = wk_op_get(n->op);
  size_t first = g->nodes.n;
  wk_low l = {.g = g, .arena = g->module->arena, .name = n->name};
  for (uint32_t i = 0; i < n->n_out; i++) out[i] = WK_NONE;
  if (info->kind == WK_KIND_BOTH) lower_scatter(&l, n, out);
  else if (info->cls == WK_CLASS_ELEMENTWISE) lower_elementwise(&l, n, out);
  else if (lowerings[n->op]) lowerings[n->op](&l, n, out);
  else return wk_error_at(WK_INTERNAL, n->name, "no lowering for operator %s", info->name);
  if (!l.status) keep_predicate(&l, n, first, out);
  if (!l.status) return NULL;
  return wk_status_note(wk_status_place(l.status, n->name), "while lowering %s", info->name);
}

static wk_status lower_node(redirects *r, wk_graph *g, wk_node_id id, const claims *c) {
  redirect_inputs(r, wk_nod(g, id));
  wk_node n = *wk_nod(g, id); /* a copy: adding nodes moves the array */
  if (!is_replaced(g, &n) || (c->run && c->run(c->ctx, g, wk_nod(g, id)))) return NULL;
  wk_value_id *out = wk_arena_alloc(g->module->arena, n.n_out * sizeof *out);
  WK_TRY(expand(g, &n, out));
  for (uint32_t i = 0; i < n.n_out; i++)
    if (n.out[i] != WK_NONE && out[i] != WK_NONE) replace(r, g, n.out[i], out[i]);
  wk_node_remove(g, id);
  return NULL;
}

wk_status wk_lower_node(wk_graph *g, wk_node_id id, wk_value_id *out) {
  const wk_node n = *wk_nod(g, id);
  if (!is_replaced(g, &n))
    return wk_error_at(WK_INTERNAL, n.name, "%s is a primitive", wk_op_get(n.op)->name);
  WK_TRY(expand(g, &n, out));
  for (uint32_t i = 0; i < n.n_out; i++)
    if (n.out[i] != WK_NONE && out[i] != WK_NONE) wk_graph_replace(g, n.out[i], out[i]);
  wk_node_remove(g, id);
  return NULL;
}

/* Nodes from `n` on were built in place of node from[k - n]: they are moved there. */
static void restore_order(wk_graph *g, size_t n, const wk_node_id *from) {
  wk_node *sorted = wk_xmalloc(g->nodes.n * sizeof *sorted);
  size_t count = 0, built = n;
  for (size_t i = 0; i < n; i++) {
    for (; built < g->nodes.n && from[built - n] == i; built++)
      sorted[count++] = g->nodes.data[built];
    sorted[count++] = g->nodes.data[i];
  }
  memcpy(g->nodes.data, sorted, count * sizeof *sorted);
  free(sorted);
  for (size_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_out; k++)
      if (g->nodes.data[i].out[k] != WK_NONE)
        wk_val(g, g->nodes.data[i].out[k])->node = (wk_node_id)i;
}

static wk_status lower_graph(wk_graph *g, const claims *c) {
  WK_VEC(wk_node_id) from = {0};
  redirects r = {0};
  size_t n = g->nodes.n;
  wk_status s = NULL;
  for (size_t i = 0; i < n && !s; i++) {
    s = lower_node(&r, g, (wk_node_id)i, c);
    while (from.n < g->nodes.n - n) wk_vec_push(&from, (wk_node_id)i);
  }
  for (size_t i = 0; i < g->outputs.n; i++) redirect(&r, &g->outputs.data[i]);
  wk_vec_free(&r.to);
  if (from.n) restore_order(g, n, from.data);
  wk_vec_free(&from);
  return s ? s : wk_graph_normalise(g);
}

/* Graphs made while lowering (loop bodies) are appended to the module and visited in their turn. */
wk_status wk_lower_nodes(wk_module *m, wk_claims run, void *ctx) {
  const claims c = {run, ctx};
  for (size_t k = 0; k < m->graphs.n; k++) WK_TRY(lower_graph(m->graphs.data[k], &c));
  return wk_module_verify(m);
}
