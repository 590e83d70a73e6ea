/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of graphs into the same or another module. Graphs that a copied node has as bodies are put
 * on a work list and copied once each, however many nodes share them. */
#include "compiler/ir/graph.h"

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
  }
}

static void copy_nodes(cloner *c, const wk_graph *from, wk_graph *to) {
  wk_arena *a = c->m->arena;
  for (size_t i = 0; i < from->nodes.n; i++) {
    const wk_node *n = &from->nodes.data[i];
    wk_node copy = *n;
    copy.name = wk_arena_strdup(a, n->name);
    copy.attrs = wk_attrs_clone(a, n->op, n->attrs);
    copy.in = dup_ids(a, n->in, n->n_in);
    copy.out = dup_ids(a, n->out, n->n_out);
    copy.bodies = wk_arena_alloc(a, n->n_bodies * sizeof *copy.bodies);
    for (uint32_t b = 0; b < n->n_bodies; b++) copy.bodies[b] = copy_of(c, n->bodies[b]);
    wk_vec_push(&to->nodes, copy);
  }
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
  for (size_t i = 0; i < m->graphs.n; i++) copy_of(&c, m->graphs.data[i]);
  if (m->main) copy->main = copy_of(&c, m->main);
  copy_pending(&c);
  wk_vec_free(&c.pairs);
  wk_map_free(c.index);
  return copy;
}
