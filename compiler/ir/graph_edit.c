/* SPDX-License-Identifier: Apache-2.0 */
/* Changing graphs: uses, replacement, removal, and normalisation, which drops what is dead, puts
 * nodes back into a topological order and renumbers. The order is Kahn's with a min-heap on the old
 * position, so an order that is already valid stays as it is. */
#include "compiler/ir/graph.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/graph_names.h"

void wk_graph_replace_uses(wk_graph *g, wk_value_id from, wk_value_id to) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] == from) n->in[k] = to;
    if (n->predicate == from) n->predicate = to;
  }
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == from) g->outputs.data[i] = to;
}

void wk_graph_replace(wk_graph *g, wk_value_id from, wk_value_id to) {
  wk_graph_replace_uses(g, from, to);
  wk_graph_take_name(g, from, to);
}

void wk_graph_take_name(wk_graph *g, wk_value_id from, wk_value_id to) {
  const char *old = wk_val(g, from)->name, *generated = wk_val(g, to)->name;
  if (wk_name_is_generated(old) || !wk_name_is_generated(generated)) return;
  if (wk_val(g, to)->is_public || wk_val(g, from)->kind == WK_VALUE_INPUT) return;
  wk_graph_set_name(g, from, generated);
  wk_graph_set_name(g, to, old);
}

void wk_node_remove(wk_graph *g, wk_node_id id) {
  wk_node *n = wk_nod(g, id);
  n->dead = true;
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    wk_value *v = wk_val(g, n->out[k]);
    /* folding may have turned it into a constant, fusion may have given it to another node */
    if (v->kind == WK_VALUE_NODE && v->node == id) v->kind = WK_VALUE_DEAD;
  }
}

/* ---- uses ---------------------------------------------------------------------------------- */

typedef void (*use_fn)(void *ctx, wk_value_id v, wk_node_id node, uint32_t index);

static void each_use(const wk_graph *g, use_fn f, void *ctx) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] != WK_NONE) f(ctx, n->in[k], (wk_node_id)i, k);
    if (n->predicate != WK_NONE) f(ctx, n->predicate, (wk_node_id)i, n->n_in);
  }
  for (size_t i = 0; i < g->outputs.n; i++) f(ctx, g->outputs.data[i], WK_NONE, (uint32_t)i);
}

/* Counting sort by value. While it fills, slot v + 1 of `first` is the next free place of value v,
 * which is where v + 1 starts once all its uses are in. */
typedef struct {
  uint32_t *first;
  wk_use *uses;
} use_table;

static void count_use(void *ctx, wk_value_id v, wk_node_id node, uint32_t index) {
  (void)node, (void)index;
  ((use_table *)ctx)->first[v + 2]++;
}

static void store_use(void *ctx, wk_value_id v, wk_node_id node, uint32_t index) {
  use_table *t = ctx;
  t->uses[t->first[v + 1]++] = (wk_use){.node = node, .index = index};
}

wk_uses wk_graph_uses(const wk_graph *g, wk_arena *scratch) {
  size_t n = g->values.n;
  use_table t = {.first = wk_arena_alloc(scratch, (n + 2) * sizeof *t.first)};
  each_use(g, count_use, &t);
  for (size_t v = 2; v < n + 2; v++) t.first[v] += t.first[v - 1];
  t.uses = wk_arena_alloc(scratch, t.first[n + 1] * sizeof *t.uses);
  each_use(g, store_use, &t);
  return (wk_uses){.first = t.first, .uses = t.uses};
}

/* ---- topological order --------------------------------------------------------------------- */

typedef struct {
  wk_node_id *heap;
  size_t n;
} min_heap;

static void heap_push(min_heap *h, wk_node_id x) {
  size_t i = h->n++;
  for (; i > 0 && h->heap[(i - 1) / 2] > x; i = (i - 1) / 2) h->heap[i] = h->heap[(i - 1) / 2];
  h->heap[i] = x;
}

static wk_node_id heap_pop(min_heap *h) {
  wk_node_id top = h->heap[0], x = h->heap[--h->n];
  size_t i = 0;
  for (;;) {
    size_t c = 2 * i + 1;
    if (c >= h->n) break;
    if (c + 1 < h->n && h->heap[c + 1] < h->heap[c]) c++;
    if (h->heap[c] >= x) break;
    h->heap[i] = h->heap[c];
    i = c;
  }
  h->heap[i] = x;
  return top;
}

/* The live node that makes v, WK_NONE for constants, inputs and absent operands. */
static wk_node_id definer(const wk_graph *g, wk_value_id v) {
  if (v == WK_NONE || wk_val(g, v)->kind != WK_VALUE_NODE) return WK_NONE;
  return wk_nod(g, wk_val(g, v)->node)->dead ? WK_NONE : wk_val(g, v)->node;
}

static uint32_t count_definers(const wk_graph *g, const wk_node *n) {
  uint32_t count = definer(g, n->predicate) != WK_NONE;
  for (uint32_t k = 0; k < n->n_in; k++) count += definer(g, n->in[k]) != WK_NONE;
  return count;
}

/* Live nodes in topological order; waiting[i] stays above 0 for those on or behind a cycle. */
static size_t sort_nodes(const wk_graph *g, wk_arena *scratch, wk_node_id *order,
                         uint32_t *waiting) {
  min_heap h = {.heap = wk_arena_alloc(scratch, g->nodes.n * sizeof *h.heap)};
  wk_uses uses = wk_graph_uses(g, scratch);
  for (size_t i = 0; i < g->nodes.n; i++) {
    if (g->nodes.data[i].dead) continue;
    waiting[i] = count_definers(g, &g->nodes.data[i]);
    if (!waiting[i]) heap_push(&h, (wk_node_id)i);
  }
  size_t n_sorted = 0;
  while (h.n) {
    wk_node_id id = heap_pop(&h);
    order[n_sorted++] = id;
    const wk_node *n = wk_nod(g, id);
    for (uint32_t k = 0; k < n->n_out; k++) {
      if (n->out[k] == WK_NONE) continue;
      for (uint32_t u = uses.first[n->out[k]]; u < uses.first[n->out[k] + 1]; u++)
        if (uses.uses[u].node != WK_NONE && --waiting[uses.uses[u].node] == 0)
          heap_push(&h, uses.uses[u].node);
    }
  }
  return n_sorted;
}

static wk_node_id waiting_definer(const wk_graph *g, const wk_node *n, const uint32_t *waiting) {
  wk_node_id d = definer(g, n->predicate);
  for (uint32_t k = 0; k < n->n_in && (d == WK_NONE || !waiting[d]); k++) d = definer(g, n->in[k]);
  return d;
}

/* Walking against the edges for as many steps as there are nodes ends on a cycle. */
static wk_status cycle_error(const wk_graph *g, const uint32_t *waiting) {
  wk_node_id at = 0;
  while (!waiting[at]) at++;
  for (size_t i = 0; i < g->nodes.n; i++) at = waiting_definer(g, wk_nod(g, at), waiting);
  const wk_node *n = wk_nod(g, at);
  return wk_error_at(WK_INPUT, *n->name ? n->name : NULL,
                     "graph %s has a cycle through %s node %u", g->name, wk_op_get(n->op)->name,
                     at);
}

/* ---- renumbering --------------------------------------------------------------------------- */

/* What stays: the signature, public constants, and what live nodes use or make. */
static void mark_values(const wk_graph *g, bool *live) {
  for (size_t v = 0; v < g->values.n; v++)
    live[v] = g->values.data[v].kind == WK_VALUE_CONSTANT && g->values.data[v].is_public;
  for (size_t i = 0; i < g->outputs.n; i++) live[g->outputs.data[i]] = true;
  for (size_t i = 0; i < g->inputs.n; i++) live[g->inputs.data[i]] = true;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] != WK_NONE) live[n->in[k]] = true;
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != WK_NONE) live[n->out[k]] = true;
    if (n->predicate != WK_NONE) live[n->predicate] = true;
  }
}

static wk_status check_uses(const wk_graph *g, const bool *live) {
  for (size_t i = 0; i < g->values.n; i++) {
    const wk_value *v = &g->values.data[i];
    bool gone = v->kind == WK_VALUE_DEAD || (v->kind == WK_VALUE_NODE && wk_nod(g, v->node)->dead);
    if (live[i] && gone)
      return wk_error(WK_INTERNAL, "graph %s: %%%s is used but its node was removed", g->name,
                      v->name);
  }
  return NULL;
}

/* Packs the values that stay; to[] maps old ids to new ones. */
static void pack_values(wk_graph *g, const bool *live, wk_value_id *to) {
  size_t n = 0;
  wk_map_free(g->names);
  g->names = wk_map_new();
  for (size_t v = 0; v < g->values.n; v++) {
    if (!live[v]) continue;
    to[v] = (wk_value_id)n;
    g->values.data[n] = g->values.data[v];
    wk_map_put(g->names, g->values.data[n].name, (uint32_t)n);
    n++;
  }
  g->values.n = n;
}

static void renumber_node(wk_graph *g, wk_node *n, wk_node_id id, const wk_value_id *to) {
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) n->in[k] = to[n->in[k]];
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    n->out[k] = to[n->out[k]];
    wk_val(g, n->out[k])->node = id;
    wk_val(g, n->out[k])->index = k;
  }
  if (n->predicate != WK_NONE) n->predicate = to[n->predicate];
}

static void renumber(wk_graph *g, const bool *live, const wk_node_id *order, size_t n_nodes,
                     wk_arena *scratch) {
  wk_value_id *to = wk_arena_alloc(scratch, g->values.n * sizeof *to);
  wk_node *sorted = wk_arena_alloc(scratch, n_nodes * sizeof *sorted);
  pack_values(g, live, to);
  for (size_t i = 0; i < n_nodes; i++) {
    sorted[i] = *wk_nod(g, order[i]);
    renumber_node(g, &sorted[i], (wk_node_id)i, to);
  }
  if (n_nodes) memcpy(g->nodes.data, sorted, n_nodes * sizeof *sorted);
  g->nodes.n = n_nodes;
  for (size_t i = 0; i < g->inputs.n; i++) g->inputs.data[i] = to[g->inputs.data[i]];
  for (size_t i = 0; i < g->outputs.n; i++) {
    g->outputs.data[i] = to[g->outputs.data[i]];
    if (g->updates.data[i] != WK_NONE) g->updates.data[i] = to[g->updates.data[i]];
  }
}

wk_status wk_graph_normalise(wk_graph *g) {
  wk_arena *scratch = wk_arena_new();
  wk_node_id *order = wk_arena_alloc(scratch, g->nodes.n * sizeof *order);
  uint32_t *waiting = wk_arena_alloc(scratch, g->nodes.n * sizeof *waiting);
  bool *live = wk_arena_alloc(scratch, g->values.n);
  size_t alive = 0, sorted = sort_nodes(g, scratch, order, waiting);
  for (size_t i = 0; i < g->nodes.n; i++) alive += !g->nodes.data[i].dead;
  mark_values(g, live);
  wk_status s = sorted < alive ? cycle_error(g, waiting) : check_uses(g, live);
  if (!s) renumber(g, live, order, sorted, scratch);
  wk_arena_free(scratch);
  return s;
}
