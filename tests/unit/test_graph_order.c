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

/* ---- all that normalisation keeps ------------------------------------------------------------ */

enum { DRAWN = 20, PARTS = 3 };

/* Something that node order[j] may read: nothing, an input, a constant, or a part of a node before
 * it in `order`. */
static wk_value_id draw_value(const wk_graph *g, wk_rng *r, const wk_node_id *order, int j) {
  int64_t kind = wk_rng_range(r, 0, 9);
  if (kind == 0) return WK_NONE;
  if (kind > 2 && j > 0) {
    const wk_node *n = wk_nod(g, order[wk_rng_range(r, 0, j - 1)]);
    if (!n->dead) return n->out[wk_rng_range(r, 0, PARTS - 1)];
  }
  return (wk_value_id)wk_rng_range(r, 0, 6); /* what draw_graph begins with */
}

/* Splits whose parts are not all there, read in an order that is not theirs; some were removed. */
static wk_graph *draw_graph(wk_rng *r) {
  static const float data[6] = {0};
  static const char *const names[] = {NULL, ""};
  const wk_type t = wk_type_make(WK_F32, 2, (const int64_t[]){2, 3});
  wk_node_id order[DRAWN];
  wk_graph *g = wk_graph_new(wk_module_new("m"), "main");
  for (int k = 0; k < 4; k++)
    wk_val(g, wk_graph_constant(g, "c", &t, data))->is_public = wk_rng_range(r, 0, 1);
  wk_value_id x = wk_graph_input(g, "x", &t), v;
  wk_graph_input(g, "late", &t);
  wk_value_id w = wk_graph_variable(g, "w", &t, data, true);
  for (uint32_t k = 0; k < DRAWN; k++) {
    const char *parts[PARTS];
    wk_attr_split *a = wk_attrs_new(g->module->arena, WK_OP_SPLIT);
    a->axis = 1;
    a->sizes = wk_ints_fill(g->module->arena, PARTS, 1);
    for (int i = 0; i < PARTS; i++) parts[i] = names[wk_rng_range(r, 0, 3) == 0];
    wk_node_desc d = {.op = WK_OP_SPLIT, .attrs = a, .in = &x, .n_in = 1, .n_out = PARTS,
                      .name = wk_arena_printf(g->module->arena, "n%u", k), .out_names = parts};
    assert_null(wk_graph_add(g, &d, NULL));
    uint32_t at = (uint32_t)wk_rng_range(r, 0, k);
    order[k] = order[at];
    order[at] = k;
  }
  for (int j = 0; j < DRAWN; j++) {
    wk_node *n = wk_nod(g, order[j]);
    n->n_in = (uint32_t)wk_rng_range(r, 1, 4);
    n->in = wk_arena_alloc(g->module->arena, n->n_in * sizeof *n->in);
    for (uint32_t i = 0; i < n->n_in; i++) n->in[i] = draw_value(g, r, order, j);
    if (wk_rng_range(r, 0, 2) == 0) n->predicate = draw_value(g, r, order, j);
    if (wk_rng_range(r, 0, 6) == 0) wk_node_remove(g, order[j]);
  }
  for (int k = 0; k < 3; k++)
    if ((v = draw_value(g, r, order, DRAWN)) != WK_NONE) wk_graph_output(g, "y", v);
  v = draw_value(g, r, order, DRAWN);
  wk_graph_update(g, w, v == WK_NONE ? x : v);
  return g;
}

static const char *name_of(const wk_graph *g, wk_value_id v) {
  return v == WK_NONE ? "-" : wk_val(g, v)->name;
}

static void add_node(wk_str *b, const wk_graph *g, const wk_node *n) {
  wk_str_printf(b, "%s:", n->name);
  for (uint32_t k = 0; k < n->n_in; k++) wk_str_printf(b, " %s", name_of(g, n->in[k]));
  wk_str_printf(b, " if %s ->", name_of(g, n->predicate));
  for (uint32_t k = 0; k < n->n_out; k++) wk_str_printf(b, " %s", name_of(g, n->out[k]));
  wk_str_add(b, "\n");
}

static void add_ends(wk_str *b, const wk_graph *g) {
  for (size_t i = 0; i < g->inputs.n; i++) wk_str_printf(b, "%s ", name_of(g, g->inputs.data[i]));
  for (size_t i = 0; i < g->outputs.n; i++)
    wk_str_printf(b, "%s=%s ", name_of(g, g->updates.data[i]), name_of(g, g->outputs.data[i]));
  wk_str_add(b, "\n");
}

static bool is_ready(const wk_graph *g, const wk_node *n, const bool *done) {
  for (uint32_t k = 0; k <= n->n_in; k++) {
    wk_value_id v = k < n->n_in ? n->in[k] : n->predicate;
    if (v != WK_NONE && wk_val(g, v)->kind == WK_VALUE_NODE && !done[wk_val(g, v)->node])
      return false;
  }
  return true;
}

static bool is_mentioned(const wk_graph *g, wk_value_id v) {
  bool found = wk_is_const(g, v) && wk_val(g, v)->is_public;
  for (size_t i = 0; i < g->inputs.n; i++) found |= g->inputs.data[i] == v;
  for (size_t i = 0; i < g->outputs.n; i++) found |= g->outputs.data[i] == v;
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++) found |= n->in[k] == v;
    for (uint32_t k = 0; k < n->n_out; k++) found |= n->out[k] == v;
    found |= n->predicate == v;
  }
  return found;
}

/* The graph as it has to become: always the first of the nodes that are ready, and the values that
 * something mentions. */
static void add_wanted(wk_str *b, const wk_graph *g) {
  bool done[DRAWN] = {false};
  for (uint32_t k = 0; k < g->nodes.n; k++) {
    const wk_node *n = wk_nod(g, k);
    if (n->dead || done[k] || !is_ready(g, n, done)) continue;
    add_node(b, g, n);
    done[k] = true;
    k = UINT32_MAX; /* from the first on */
  }
  add_ends(b, g);
  for (wk_value_id v = 0; v < g->values.n; v++)
    if (is_mentioned(g, v)) wk_str_printf(b, "%s ", wk_val(g, v)->name);
}

static void assert_uses(const wk_graph *g) {
  wk_arena *a = wk_arena_new();
  wk_uses u = wk_graph_uses(g, a);
  for (wk_value_id v = 0; v < g->values.n; v++) {
    const wk_use *use = u.uses + u.first[v];
    for (uint32_t i = 0; i < g->nodes.n; i++) {
      const wk_node *n = wk_nod(g, i);
      for (uint32_t k = 0; !n->dead && k <= n->n_in; k++) {
        if ((k < n->n_in ? n->in[k] : n->predicate) != v) continue;
        assert_true(use->node == i && use->index == k);
        use++;
      }
    }
    for (uint32_t i = 0; i < g->outputs.n; i++) {
      if (g->outputs.data[i] != v) continue;
      assert_true(use->node == WK_NONE && use->index == i);
      use++;
    }
    assert_ptr_equal(use, u.uses + u.first[v + 1]);
    assert_int_equal(wk_use_count(&u, v), use - (u.uses + u.first[v]));
  }
  wk_arena_free(a);
}

static void the_first_that_is_ready_comes_next(void **state) {
  (void)state;
  wk_rng r = {3};
  for (int round = 0; round < 300; round++) {
    wk_graph *g = draw_graph(&r);
    wk_str want = {0}, got = {0};
    add_wanted(&want, g);
    assert_uses(g);
    assert_null(wk_graph_normalise(g));
    assert_uses(g);
    for (uint32_t k = 0; k < g->nodes.n; k++) add_node(&got, g, wk_nod(g, k));
    add_ends(&got, g);
    for (wk_value_id v = 0; v < g->values.n; v++) {
      uint32_t at;
      const wk_value *x = wk_val(g, v);
      wk_str_printf(&got, "%s ", x->name);
      assert_true(wk_map_get(g->names, x->name, &at) && at == v);
      if (x->kind == WK_VALUE_NODE) assert_int_equal(wk_nod(g, x->node)->out[x->index], v);
    }
    assert_string_equal(got.s, want.s);
    wk_str_free(&want);
    wk_str_free(&got);
    wk_module_free(g->module);
  }
}

/* What a node made goes with it, unless it is made otherwise by then. */
static void removal(void **state) {
  (void)state;
  wk_value_id x;
  wk_graph *g = empty_graph(&x);
  for (int k = 0; k < 5; k++) {
    wk_attr_split *a = wk_attrs_new(g->module->arena, WK_OP_SPLIT);
    a->axis = 1;
    a->sizes = wk_ints_fill(g->module->arena, PARTS, 1);
    wk_node_desc d = {.op = WK_OP_SPLIT, .attrs = a, .in = &x, .n_in = 1, .n_out = PARTS};
    wk_value_id out[PARTS];
    assert_null(wk_graph_add(g, &d, out));
    wk_node_id id = (wk_node_id)k;
    if (k == 1) wk_val(g, out[0])->kind = WK_VALUE_CONSTANT;
    if (k == 2) wk_val(g, out[2])->node = 0;
    if (k == 3) wk_nod(g, id)->out[1] = WK_NONE;
    wk_node_remove(g, id);
    assert_true(wk_nod(g, id)->dead);
    assert_int_equal(wk_val(g, out[0])->kind, k == 1 ? WK_VALUE_CONSTANT : WK_VALUE_DEAD);
    assert_int_equal(wk_val(g, out[1])->kind, k == 3 ? WK_VALUE_NODE : WK_VALUE_DEAD);
    assert_int_equal(wk_val(g, out[2])->kind, k == 2 ? WK_VALUE_NODE : WK_VALUE_DEAD);
  }
  assert_int_equal(wk_val(g, x)->kind, WK_VALUE_INPUT);
  wk_module_free(g->module);
}

/* Whether a name goes over: to a value that has none of its own, from one that has. */
static void names_change_hands(void **state) {
  static const struct {
    const char *from, *to;
    bool is_public, goes;
  } cases[] = {{"old", NULL, false, true},
               {NULL, NULL, false, false},
               {"old", "new", false, false},
               {"old", NULL, true, false}};
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_value_id x, v[2];
    wk_graph *g = empty_graph(&x);
    const char *names[] = {cases[k].from, cases[k].to};
    for (int i = 0; i < 2; i++) {
      wk_node_desc d = {.op = WK_OP_RELU, .in = &x, .n_in = 1, .n_out = 1, .out_names = &names[i]};
      assert_null(wk_graph_add(g, &d, &v[i]));
    }
    wk_val(g, v[1])->is_public = cases[k].is_public;
    const char *before[] = {wk_val(g, v[0])->name, wk_val(g, v[1])->name};
    wk_graph_replace(g, v[0], v[1]);
    for (int i = 0; i < 2; i++) {
      uint32_t id;
      assert_string_equal(wk_val(g, v[i])->name, before[cases[k].goes ? 1 - i : i]);
      assert_true(wk_map_get(g->names, wk_val(g, v[i])->name, &id) && id == v[i]);
    }
    wk_graph_take_name(g, x, v[1]); /* an input keeps its own */
    assert_string_equal(wk_val(g, x)->name, "x");
    wk_module_free(g->module);
  }
}

/* What takes the place of a value does so in live nodes, predicates and outputs. */
static void uses_are_replaced(void **state) {
  (void)state;
  wk_rng r = {17};
  for (int round = 0; round < 50; round++) {
    wk_graph *g = draw_graph(&r);
    wk_value_id from = (wk_value_id)wk_rng_range(&r, 0, 6), to = (from + 1) % 7;
    wk_str want = {0}, got = {0};
    const char *name = wk_val(g, from)->name;
    wk_val(g, from)->name = wk_val(g, to)->name; /* as text they are the same then */
    for (uint32_t k = 0; k < g->nodes.n; k++) add_node(&want, g, wk_nod(g, k));
    add_ends(&want, g);
    wk_graph_replace_uses(g, from, to);
    for (uint32_t k = 0; k < g->nodes.n; k++) add_node(&got, g, wk_nod(g, k));
    add_ends(&got, g);
    assert_string_equal(got.s, want.s);
    wk_val(g, from)->name = name;
    for (uint32_t k = 0; k < g->nodes.n; k++) {
      const wk_node *n = wk_nod(g, k);
      for (uint32_t i = 0; !n->dead && i < n->n_in; i++) assert_true(n->in[i] != from);
      assert_true(n->dead || n->predicate != from);
    }
    for (size_t i = 0; i < g->outputs.n; i++) assert_true(g->outputs.data[i] != from);
    wk_str_free(&want);
    wk_str_free(&got);
    wk_module_free(g->module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_cycles_are_named),
                                     cmocka_unit_test(shuffled_graphs_are_sorted),
                                     cmocka_unit_test(the_first_that_is_ready_comes_next),
                                     cmocka_unit_test(removal),
                                     cmocka_unit_test(names_change_hands),
                                     cmocka_unit_test(uses_are_replaced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
