/* SPDX-License-Identifier: Apache-2.0
 * Updates of variables in the order of nodes. Program generation writes the new value of a variable
 * in its place when nothing reads the old one behind its producer; so whoever reads the variable,
 * through whatever view, becomes a predecessor of the producer. Where one of them also reads the
 * new value, or two updates want each other's old values, that cannot be: a copy at the end stays.
 */
#include <string.h>

#include "compiler/memory/order_model.h"

/* The node that computes the value, past what shows all of its elements; WK_NONE: none does. */
static wk_node_id producer(const wk_graph *g, wk_value_id v) {
  while (wk_val(g, v)->kind == WK_VALUE_NODE) {
    const wk_node *n = wk_nod(g, wk_val(g, v)->node);
    if (wk_node_view(n) != WK_VIEW_WHOLE) return wk_val(g, v)->node;
    v = n->in[0];
  }
  return WK_NONE;
}

/* Whether one of the starting nodes is `wanted` or comes behind it. */
static bool depends(const wk_order_model *m, const uint32_t *from, size_t n, uint32_t wanted,
                    wk_arena *scratch) {
  bool *seen = wk_arena_alloc(scratch, m->n_nodes);
  uint32_t *todo = wk_arena_alloc(scratch, m->n_nodes * sizeof *todo);
  size_t n_todo = 0;
  for (size_t k = 0; k < n; k++)
    if (!seen[from[k]]) seen[from[k]] = true, todo[n_todo++] = from[k];
  while (n_todo) {
    const wk_order_node *x = &m->nodes[todo[--n_todo]];
    for (uint32_t k = 0; k < x->n_preds; k++)
      if (!seen[x->preds[k]]) seen[x->preds[k]] = true, todo[n_todo++] = x->preds[k];
  }
  return seen[wanted];
}

static void add_predecessors(wk_order_node *n, const uint32_t *more, size_t n_more,
                             wk_arena *arena) {
  uint32_t *preds = wk_arena_alloc(arena, (n->n_preds + n_more) * sizeof *preds);
  memcpy(preds, n->preds, n->n_preds * sizeof *preds);
  for (size_t k = 0; k < n_more; k++) {
    bool known = false;
    for (uint32_t j = 0; j < n->n_preds && !known; j++) known = preds[j] == more[k];
    if (!known) preds[n->n_preds++] = more[k];
  }
  n->preds = preds;
}

void wk_order_updates(const wk_graph *g, const uint32_t *block, wk_order_model *m,
                      wk_arena *arena) {
  for (size_t i = wk_graph_plain_outputs(g); i < g->outputs.n; i++) {
    wk_node_id by = producer(g, g->outputs.data[i]);
    const wk_order_block *b = &m->blocks[block[g->updates.data[i]]];
    if (by == WK_NONE) continue;
    wk_arena *scratch = wk_arena_new();
    uint32_t *readers = wk_arena_alloc(scratch, b->n_users * sizeof *readers);
    size_t n = 0;
    for (uint32_t k = 0; k < b->n_users; k++)
      if (b->users[k] != by) readers[n++] = b->users[k];
    if (!depends(m, readers, n, by, scratch)) add_predecessors(&m->nodes[by], readers, n, arena);
    wk_arena_free(scratch);
  }
}

typedef struct {
  uint32_t node, next; /* predecessor to look at */
} visit;

void wk_order_sort(const wk_order_model *m, uint32_t *out, wk_arena *scratch) {
  bool *begun = wk_arena_alloc(scratch, m->n_nodes);
  visit *stack = wk_arena_alloc(scratch, m->n_nodes * sizeof *stack);
  size_t n = 0;
  for (uint32_t i = 0; i < m->n_nodes; i++) {
    size_t depth = 0;
    if (!begun[i]) begun[i] = true, stack[depth++] = (visit){i, 0};
    while (depth) {
      visit *v = &stack[depth - 1];
      const wk_order_node *x = &m->nodes[v->node];
      while (v->next < x->n_preds && begun[x->preds[v->next]]) v->next++;
      if (v->next == x->n_preds) {
        out[n++] = v->node;
        depth--;
      } else {
        uint32_t before = x->preds[v->next++];
        begun[before] = true;
        stack[depth++] = (visit){before, 0};
      }
    }
  }
}
