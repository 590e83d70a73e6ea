/* SPDX-License-Identifier: Apache-2.0
 * The order of nodes after normalisation, on drawn graphs: topological where there is one, and
 * where there is none, a node on a cycle is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/empty_graph.h"

enum { LINKED = 12 };

/* What node k reads: a few of the nodes before it, of those behind it only rarely, the input, and
 * nothing. leads[a][b]: b reads a. */
static void draw_links(wk_graph *g, wk_rng *r, bool leads[LINKED][LINKED]) {
  for (uint32_t k = 0; k < LINKED; k++) {
    wk_node *n = wk_nod(g, k);
    n->n_in = (uint32_t)wk_rng_range(r, 1, 4);
    n->in = wk_arena_alloc(g->module->arena, n->n_in * sizeof *n->in);
    for (uint32_t i = 0; i <= n->n_in; i++) {
      int64_t from = wk_rng_range(r, -3, (int64_t)k - 1);
      if (wk_rng_range(r, 0, 39) == 0) from = wk_rng_range(r, k, LINKED - 1);
      wk_value_id v = from >= 0 ? wk_nod(g, (wk_node_id)from)->out[0] : from == -1 ? 0 : WK_NONE;
      if (from >= 0) leads[from][k] = true;
      if (i < n->n_in) n->in[i] = v;
      else n->predicate = v;
    }
  }
}

/* Drawn graphs of which some have cycles: they are refused just then, and what is named lies on
 * one, whichever of its operands the cycle runs through. */
static void drawn_cycles_are_named(void **state) {
  (void)state;
  wk_rng r = {5};
  int cycles = 0;
  for (int round = 0; round < 400; round++) {
    wk_value_id x;
    wk_graph *g = empty_graph(&x);
    bool leads[LINKED][LINKED] = {{false}}, any = false;
    for (int k = 0; k < LINKED; k++) (void)wk_build(g, WK_OP_RELU, NULL, 1, x);
    draw_links(g, &r, leads);
    for (int via = 0; via < LINKED; via++)
      for (int a = 0; a < LINKED; a++)
        for (int b = 0; b < LINKED; b++) leads[a][b] |= leads[a][via] && leads[via][b];
    for (int k = 0; k < LINKED; k++) any |= leads[k][k];
    wk_status s = wk_graph_normalise(g);
    assert_true(!s == !any);
    if (s) {
      const char *number = strstr(s->message, "node ");
      unsigned long node = number ? strtoul(number + 5, NULL, 10) : LINKED;
      assert_true(node < LINKED && leads[node][node]);
      cycles++;
    }
    wk_status_free(s);
    wk_module_free(g->module);
  }
  assert_in_range(cycles, 150, 250);
}

/* Random graphs, shuffled: the order is topological and nothing is lost. */
static void shuffled_graphs_are_sorted(void **state) {
  (void)state;
  wk_rng r = {11};
  for (int round = 0; round < 200; round++) {
    wk_value_id x;
    wk_graph *g = empty_graph(&x);
    WK_VEC(wk_value_id) made = {0};
    wk_vec_push(&made, x);
    int n = (int)wk_rng_range(&r, 1, 40);
    for (int k = 0; k < n; k++) {
      wk_value_id p = made.data[wk_rng_range(&r, 0, (int64_t)made.n - 1)];
      wk_value_id q = made.data[wk_rng_range(&r, 0, (int64_t)made.n - 1)];
      wk_vec_push(&made, wk_build(g, WK_OP_ADD, NULL, 2, p, q));
    }
    for (int k = n - 1; k > 0; k--) {
      wk_node *a = wk_nod(g, (wk_node_id)k), *b = wk_nod(g, (wk_node_id)wk_rng_range(&r, 0, k));
      wk_node swap = *a;
      *a = *b;
      *b = swap;
    }
    for (int k = 0; k < n; k++) wk_val(g, wk_nod(g, (wk_node_id)k)->out[0])->node = (wk_node_id)k;
    wk_graph_output(g, "y", made.data[made.n - 1]);
    assert_null(wk_graph_normalise(g));
    assert_int_equal(g->nodes.n, n);
    assert_null(wk_module_verify(g->module));
    wk_vec_free(&made);
    wk_module_free(g->module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_cycles_are_named),
                                     cmocka_unit_test(shuffled_graphs_are_sorted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
