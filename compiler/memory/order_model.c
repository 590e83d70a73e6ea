/* SPDX-License-Identifier: Apache-2.0
 * Blocks as program generation (compiler/lower/generate.c) chooses storage, by the rule that both
 * have (storage.h). Views come behind what they show, and who is written into a result before it:
 * a block's value never joins another one. Where strides cannot express a view the estimate misses
 * a copy. Updates of variables count as written in place, as the pass `sink-copies` does later. */
#include "compiler/memory/order_model.h"
#include "compiler/memory/storage.h"

#include <stdlib.h>

typedef struct {
  const wk_graph *g;
  uint32_t *up;  /* per value: the one that stands for its block */
  bool *settled; /* per value: its place has been chosen */
} blocks_of;

/* v is written into the block of `whole`, when its place is still free. */
static void settle_in(blocks_of *b, wk_value_id v, wk_value_id whole) {
  if (wk_val(b->g, v)->kind != WK_VALUE_NODE || b->settled[v]) return;
  b->settled[v] = true;
  b->up[v] = b->up[whole];
}

static bool is_settled(void *ctx, wk_value_id v) { return ((blocks_of *)ctx)->settled[v]; }

static void settle_in_result(void *ctx, const wk_node *n, uint32_t k) {
  settle_in(ctx, n->in[k], n->out[0]);
}

static void join_blocks(const wk_graph *g, uint32_t *up, wk_arena *arena) {
  blocks_of b = {.g = g, .up = up, .settled = wk_arena_alloc(arena, g->values.n)};
  for (size_t i = 0; i < g->outputs.n; i++) b.settled[g->outputs.data[i]] = true;
  wk_storage_backwards(&(wk_storage_choice){g, &b, is_settled, settle_in_result});
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    for (uint32_t k = 0; wk_node_shows(n) && k < n->n_out; k++)
      if (n->out[k] != WK_NONE) settle_in(&b, n->out[k], n->in[0]);
  }
}

/* That of the largest value; 0 where there is memory anyway. */
static void set_sizes(const wk_graph *g, bool is_main, const uint32_t *up,
                      wk_order_block *blocks) {
  for (size_t v = 0; v < g->values.n; v++) {
    const wk_value *val = wk_val(g, (wk_value_id)v);
    if (val->kind != WK_VALUE_NODE) continue;
    int64_t *size = &blocks[up[v]].size, bytes = wk_type_bytes(&val->type);
    if (bytes > *size) *size = bytes;
  }
  for (size_t v = 0; v < g->values.n; v++) {
    wk_value_kind kind = wk_val(g, (wk_value_id)v)->kind;
    if (kind == WK_VALUE_CONSTANT || kind == WK_VALUE_INPUT) blocks[v].size = 0;
  }
  for (size_t i = 0; is_main && i < g->outputs.n; i++) blocks[up[g->outputs.data[i]]].size = 0;
}

typedef struct { WK_VEC(uint32_t) ids; } list;

static void add_once(list *l, uint32_t x) {
  for (size_t i = 0; i < l->ids.n; i++)
    if (l->ids.data[i] == x) return;
  wk_vec_push(&l->ids, x);
}

static const uint32_t *take(wk_arena *a, list *l, uint32_t *n) {
  *n = (uint32_t)l->ids.n;
  const uint32_t *p = wk_arena_memdup(a, l->ids.data, l->ids.n * sizeof *l->ids.data);
  l->ids.n = 0;
  return p;
}

static void add_predecessor(const wk_graph *g, wk_value_id v, list *preds) {
  if (v != WK_NONE && wk_val(g, v)->kind == WK_VALUE_NODE) add_once(preds, wk_val(g, v)->node);
}

static void describe_node(const wk_graph *g, const uint32_t *up, const wk_node *n,
                          wk_order_node *out, wk_arena *arena) {
  list preds = {0}, blocks = {0}, inplace = {0};
  add_predecessor(g, n->predicate, &preds);
  for (uint32_t k = 0; k < n->n_in; k++) {
    wk_value_id v = n->in[k];
    if (v == WK_NONE) continue;
    add_once(&blocks, up[v]);
    add_predecessor(g, v, &preds);
    if (wk_op_is_elementwise(n->op, k)) add_once(&inplace, up[v]);
  }
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE) add_once(&blocks, up[n->out[k]]);
  out->preds = take(arena, &preds, &out->n_preds);
  out->blocks = take(arena, &blocks, &out->n_blocks);
  out->inplace = take(arena, &inplace, &out->n_inplace);
  wk_vec_free(&preds.ids);
  wk_vec_free(&blocks.ids);
  wk_vec_free(&inplace.ids);
}

static void list_users(wk_order_model *m, wk_arena *arena) {
  uint32_t *count = wk_arena_alloc(arena, m->n_blocks * sizeof *count);
  for (size_t i = 0; i < m->n_nodes; i++)
    for (uint32_t k = 0; k < m->nodes[i].n_blocks; k++) count[m->nodes[i].blocks[k]]++;
  uint32_t **users = wk_arena_alloc(arena, m->n_blocks * sizeof *users);
  for (size_t b = 0; b < m->n_blocks; b++) {
    users[b] = wk_arena_alloc(arena, count[b] * sizeof **users);
    m->blocks[b].users = users[b];
  }
  for (size_t i = 0; i < m->n_nodes; i++)
    for (uint32_t k = 0; k < m->nodes[i].n_blocks; k++) {
      wk_order_block *b = &m->blocks[m->nodes[i].blocks[k]];
      users[m->nodes[i].blocks[k]][b->n_users++] = (uint32_t)i;
    }
}

/* Bodies take turns (IF) or there is one (LOOP). */
static int64_t body_peak(const wk_graph *g, const wk_node *n, const int64_t *peaks) {
  int64_t most = 0;
  for (uint32_t b = 0; b < n->n_bodies; b++)
    for (size_t k = 0; k < g->module->graphs.n; k++)
      if (g->module->graphs.data[k] == n->bodies[b] && peaks[k] > most) most = peaks[k];
  return most;
}

wk_order_model wk_order_model_of(const wk_graph *g, const int64_t *peaks, wk_arena *arena) {
  bool is_main = g == g->module->main;
  wk_order_model m = {.n_nodes = g->nodes.n, .n_blocks = g->values.n};
  m.nodes = wk_arena_alloc(arena, m.n_nodes * sizeof *m.nodes);
  m.blocks = wk_arena_alloc(arena, m.n_blocks * sizeof *m.blocks);
  uint32_t *up = wk_arena_alloc(arena, m.n_blocks * sizeof *up);
  for (size_t v = 0; v < m.n_blocks; v++) up[v] = (uint32_t)v;
  join_blocks(g, up, arena);
  set_sizes(g, is_main, up, m.blocks);
  for (size_t i = 0; i < m.n_nodes; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    describe_node(g, up, n, &m.nodes[i], arena);
    m.nodes[i].transient = body_peak(g, n, peaks);
  }
  list_users(&m, arena);
  m.block_of = up;
  wk_order_updates(g, up, &m, arena);
  return m;
}
