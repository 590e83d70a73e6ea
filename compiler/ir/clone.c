/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of graphs, and of parts of them, into the same or another module. Graphs that a copied
 * node has as bodies are put on a work list and copied once each, however many nodes share them. */
#include "compiler/ir/graph_names.h"

#include <stdlib.h>

typedef struct {
  const wk_graph *from;
  wk_graph *to;
} pair;

typedef struct {
  wk_module *m;
  wk_map *index;      /* name of a graph -> pair */
  WK_VEC(pair) pairs; /* every graph that has a copy; those from `next` on are still empty */
  size_t next;
} cloner;

static wk_graph *copy_of(cloner *c, const wk_graph *g) {
  uint32_t i;
  if (wk_map_get(c->index, g->name, &i)) return c->pairs.data[i].to;
  pair p = {g, wk_graph_new(c->m, g->name)};
  wk_map_put(c->index, g->name, (uint32_t)c->pairs.n);
  wk_vec_push(&c->pairs, p);
  return p.to;
}

static wk_value_id *dup_ids(wk_arena *a, const wk_value_id *ids, uint32_t n) {
  return wk_arena_memdup(a, ids, n * sizeof *ids);
}

static const wk_quant *dup_quant(wk_arena *a, const wk_quant *q) {
  if (!q) return NULL;
  wk_quant *copy = wk_arena_memdup(a, q, sizeof *q);
  copy->scale = wk_arena_memdup(a, q->scale, (size_t)q->n * sizeof *q->scale);
  copy->zero_point = wk_arena_memdup(a, q->zero_point, (size_t)q->n * sizeof *q->zero_point);
  return copy;
}

static void copy_values(wk_arena *a, const wk_graph *from, wk_graph *to) {
  for (size_t i = 0; i < from->values.n; i++) {
    wk_value v = from->values.data[i];
    v.name = wk_arena_strdup(a, v.name);
    v.type.quant = dup_quant(a, v.type.quant);
    wk_vec_push(&to->values, v);
    wk_map_put(to->names, v.name, (uint32_t)i);
  }
  for (size_t i = 0; i < from->inputs.n; i++) wk_vec_push(&to->inputs, from->inputs.data[i]);
  for (size_t i = 0; i < from->outputs.n; i++) {
    wk_vec_push(&to->outputs, from->outputs.data[i]);
    wk_vec_push(&to->output_names, wk_arena_strdup(a, from->output_names.data[i]));
    wk_vec_push(&to->updates, from->updates.data[i]);
  }
}

/* Its values keep their ids. */
static wk_node copy_node(cloner *c, const wk_node *n) {
  wk_arena *a = c->m->arena;
  wk_node copy = *n;
  copy.name = wk_arena_strdup(a, n->name);
  copy.attrs = wk_attrs_clone(a, n->op, n->attrs);
  copy.in = dup_ids(a, n->in, n->n_in);
  copy.out = dup_ids(a, n->out, n->n_out);
  copy.bodies = wk_arena_alloc(a, n->n_bodies * sizeof *copy.bodies);
  for (uint32_t b = 0; b < n->n_bodies; b++) copy.bodies[b] = copy_of(c, n->bodies[b]);
  return copy;
}

static void copy_nodes(cloner *c, const wk_graph *from, wk_graph *to) {
  for (size_t i = 0; i < from->nodes.n; i++)
    wk_vec_push(&to->nodes, copy_node(c, &from->nodes.data[i]));
}

static void copy_pending(cloner *c) {
  for (; c->next < c->pairs.n; c->next++) {
    pair p = c->pairs.data[c->next];
    copy_values(c->m->arena, p.from, p.to);
    copy_nodes(c, p.from, p.to);
  }
}

wk_graph *wk_graph_clone_into(wk_module *m, const wk_graph *g) {
  cloner c = {.m = m, .index = wk_map_new()};
  wk_graph *copy = copy_of(&c, g);
  copy_pending(&c);
  wk_vec_free(&c.pairs);
  wk_map_free(c.index);
  return copy;
}

wk_module *wk_module_clone(const wk_module *m) {
  wk_module *copy = wk_module_new(m->name);
  copy->producer = m->producer ? wk_arena_strdup(copy->arena, m->producer) : NULL;
  copy->opset = m->opset;
  copy->constant_bytes_left = m->constant_bytes_left;
  copy->fold_work_left = m->fold_work_left;
  cloner c = {.m = copy, .index = wk_map_new()};
  for (size_t i = 0; i < m->graphs.n; i++) copy_of(&c, m->graphs.data[i]); /* the main one first */
  copy_pending(&c);
  wk_module_copy_labels(copy, m);
  wk_module_copy_open(copy, m);
  wk_module_copy_quantised(copy, m);
  wk_vec_free(&c.pairs);
  wk_map_free(c.index);
  return copy;
}

/* ---- parts of graphs ------------------------------------------------------------------------- */

typedef struct {
  const wk_graph *from;
  wk_graph *to;
  wk_value_id *id; /* of from's values in to; WK_NONE: not there yet */
} extraction;

static wk_value_id take_value(extraction *x, wk_value_id v, wk_value_kind kind) {
  if (v == WK_NONE || x->id[v] != WK_NONE) return v == WK_NONE ? WK_NONE : x->id[v];
  wk_arena *a = x->to->module->arena;
  wk_value copy = *wk_val(x->from, v);
  copy.name = wk_arena_strdup(a, copy.name);
  copy.type.quant = dup_quant(a, copy.type.quant);
  copy.kind = kind;
  x->id[v] = (wk_value_id)x->to->values.n;
  wk_vec_push(&x->to->values, copy);
  wk_map_put(x->to->names, copy.name, x->id[v]);
  return x->id[v];
}

static wk_value_id take_operand(extraction *x, wk_value_id v) {
  return take_value(x, v, v == WK_NONE ? WK_VALUE_DEAD : wk_val(x->from, v)->kind);
}

static void take_node(extraction *x, cloner *c, wk_node_id id) {
  wk_node n = copy_node(c, wk_nod(x->from, id));
  for (uint32_t k = 0; k < n.n_in; k++) n.in[k] = take_operand(x, n.in[k]);
  for (uint32_t k = 0; k < n.n_out; k++) {
    n.out[k] = take_value(x, n.out[k], WK_VALUE_NODE);
    if (n.out[k] == WK_NONE) continue;
    wk_val(x->to, n.out[k])->node = (wk_node_id)x->to->nodes.n;
  }
  n.predicate = take_operand(x, n.predicate);
  wk_vec_push(&x->to->nodes, n);
}

wk_graph *wk_graph_extract(wk_module *m, const wk_graph *g, const wk_graph_piece *piece) {
  cloner c = {.m = m, .index = wk_map_new()};
  extraction x = {.from = g, .to = wk_graph_new(m, g->name),
                  .id = wk_xmalloc(g->values.n * sizeof(wk_value_id))};
  for (size_t v = 0; v < g->values.n; v++) x.id[v] = WK_NONE;
  for (size_t k = 0; k < piece->n_in; k++)
    wk_vec_push(&x.to->inputs, take_value(&x, piece->in[k], WK_VALUE_INPUT));
  for (size_t k = 0; k < piece->n_nodes; k++) take_node(&x, &c, piece->nodes[k]);
  for (size_t k = 0; k < piece->n_out; k++) {
    wk_vec_push(&x.to->outputs, take_operand(&x, piece->out[k]));
    wk_vec_push(&x.to->output_names, wk_arena_strdup(m->arena, piece->out_names[k]));
    wk_value_id updated = piece->updates ? piece->updates[k] : WK_NONE;
    wk_vec_push(&x.to->updates, updated == WK_NONE ? WK_NONE : x.id[updated]);
  }
  copy_pending(&c);
  free(x.id);
  wk_vec_free(&c.pairs);
  wk_map_free(c.index);
  return x.to;
}

/* ---- graphs within graphs -------------------------------------------------------------------- */

static bool makes_wanted(const wk_node *n, const bool *wanted) {
  bool any = false;
  for (uint32_t k = 0; k < n->n_out; k++) any = any || (n->out[k] != WK_NONE && wanted[n->out[k]]);
  return any && !n->dead;
}

/* wanted[v]: an output depends on v. */
static void mark_wanted(const wk_graph *g, bool *wanted) {
  for (size_t i = 0; i < g->outputs.n; i++) wanted[g->outputs.data[i]] = true;
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = &g->nodes.data[i];
    bool any = makes_wanted(n, wanted);
    for (uint32_t k = 0; any && k < n->n_in; k++)
      if (n->in[k] != WK_NONE) wanted[n->in[k]] = true;
  }
}

static const char *own_name(const wk_value *v) {
  return wk_name_is_generated(v->name) ? NULL : v->name;
}

static wk_status inline_node(wk_graph *to, const wk_graph *from, const wk_node *n,
                             wk_value_id *id) {
  wk_value_id *in = wk_xmalloc((n->n_in + n->n_out) * sizeof *in), *out = in + n->n_in;
  const char **names = wk_xmalloc(n->n_out * sizeof *names);
  for (uint32_t k = 0; k < n->n_in; k++) in[k] = n->in[k] == WK_NONE ? WK_NONE : id[n->in[k]];
  for (uint32_t k = 0; k < n->n_out; k++)
    names[k] = n->out[k] == WK_NONE ? "" : own_name(wk_val(from, n->out[k]));
  const wk_node_desc d = {.op = n->op, .name = n->name, .attrs = n->attrs, .in = in,
                          .n_in = n->n_in, .n_out = n->n_out, .out_names = names,
                          .bodies = n->bodies, .n_bodies = n->n_bodies};
  wk_status s = wk_graph_add(to, &d, out);
  for (uint32_t k = 0; !s && k < n->n_out; k++)
    if (n->out[k] != WK_NONE) id[n->out[k]] = out[k];
  free(names);
  free(in);
  return s;
}

wk_status wk_graph_inline(wk_graph *to, const wk_graph *from, const wk_value_id *in,
                          wk_value_id *out) {
  size_t n = from->values.n;
  bool *wanted = wk_xcalloc(n, sizeof *wanted);
  wk_value_id *id = wk_xmalloc(n * sizeof *id);
  wk_status s = NULL;
  mark_wanted(from, wanted);
  for (size_t v = 0; v < n; v++) {
    const wk_value *x = wk_val(from, (wk_value_id)v);
    bool is_constant = wanted[v] && x->kind == WK_VALUE_CONSTANT;
    id[v] = is_constant ? wk_graph_constant(to, own_name(x), &x->type, x->data) : WK_NONE;
  }
  for (size_t k = 0; k < from->inputs.n; k++) id[from->inputs.data[k]] = in[k];
  for (size_t i = 0; i < from->nodes.n && !s; i++) {
    const wk_node *x = &from->nodes.data[i];
    if (makes_wanted(x, wanted)) s = inline_node(to, from, x, id);
  }
  for (size_t i = 0; i < from->outputs.n && !s; i++) out[i] = id[from->outputs.data[i]];
  free(id);
  free(wanted);
  return s;
}
