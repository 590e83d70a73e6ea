/* SPDX-License-Identifier: Apache-2.0
 * An order that depends on what the graph computes, not on how it was written down: each node comes
 * right after all that its operands need, operands in turn, from the first result on. */
#include <stdlib.h>

#include "compiler/memory/order_model.h"

typedef struct {
  uint32_t node, next; /* operand to go to; behind the last: the predicate */
} visit;

/* The operand's node; WK_NONE: it has none that is still to come. */
static uint32_t maker(const wk_graph *g, const bool *seen, wk_value_id v) {
  if (v == WK_NONE || wk_val(g, v)->kind != WK_VALUE_NODE) return WK_NONE;
  uint32_t node = wk_val(g, v)->node;
  return seen[node] ? WK_NONE : node;
}

static void visit_all(const wk_graph *g, uint32_t root, bool *seen, visit *stack, uint32_t *order,
                      size_t *n) {
  size_t depth = 0;
  stack[depth++] = (visit){root, 0};
  seen[root] = true;
  while (depth) {
    visit *at = &stack[depth - 1];
    const wk_node *x = wk_nod(g, at->node);
    if (at->next > x->n_in) {
      order[(*n)++] = at->node;
      depth--;
      continue;
    }
    uint32_t k = at->next++, from = maker(g, seen, k < x->n_in ? x->in[k] : x->predicate);
    if (from == WK_NONE) continue;
    seen[from] = true;
    stack[depth++] = (visit){from, 0};
  }
}

void wk_order_by_results(wk_graph *g) {
  size_t n = 0, count = g->nodes.n;
  bool *seen = wk_xcalloc(count + 1, sizeof *seen);
  visit *stack = wk_xcalloc(count + 1, sizeof *stack);
  uint32_t *order = wk_xcalloc(count + 1, sizeof *order);
  for (size_t i = 0; i < g->outputs.n; i++) {
    uint32_t root = maker(g, seen, g->outputs.data[i]);
    if (root != WK_NONE) visit_all(g, root, seen, stack, order, &n);
  }
  for (size_t i = 0; i < count; i++)
    if (!seen[i]) visit_all(g, (uint32_t)i, seen, stack, order, &n);
  wk_order_apply(g, order);
  free(order);
  free(stack);
  free(seen);
}
