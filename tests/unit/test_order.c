/* SPDX-License-Identifier: Apache-2.0
 * What the order of nodes comes to on drawn graphs, small and large: bytes before and after, and
 * the orders themselves. One that is chosen otherwise gives the same numbers in more memory, or
 * later. */
#include "tests/unit/case_text.h"

#include "compiler/lower/lower.h"
#include "compiler/memory/memory.h"
#include "tests/random_middle.h"

typedef struct {
  int64_t before, after;
  uint64_t orders; /* a hash, of which the last 32 bits count */
} figures;

static const struct {
  int nodes, graphs;
  figures want;
} rows[] = {{8, 60, {120709, 118969, 0x5a59d831}},
            {30, 40, {226372, 194872, 0x3a0af68e}},
            {90, 20, {181172, 136324, 0xafb00ebe}},
            {300, 5, {112284, 73848, 0xd924183f}}};

/* Orders the module's nodes, and adds what that comes to. */
static void add_figures(wk_module *m, figures *f) {
  int64_t before, after;
  wk_status s = wk_order_nodes(m, &before, &after);
  if (s) fail_msg("%s", s->message);
  assert_true(after <= before);
  assert_null(wk_module_verify(m));
  f->before += before;
  f->after += after;
  uint64_t hash = f->orders;
  for (size_t i = 0; i < m->main->nodes.n; i++) {
    const wk_node *n = &m->main->nodes.data[i];
    const char *op = wk_op_get(n->op)->name;
    hash = wk_hash64(op, strlen(op), hash);
    hash = wk_hash64(n->in, n->n_in * sizeof *n->in, hash);
  }
  f->orders = hash;
  wk_module_free(m);
}

static figures measure(int nodes, int graphs) {
  figures f = {0};
  for (uint64_t seed = 1; seed <= (uint64_t)graphs; seed++)
    add_figures(random_middle_graph(seed * 17, nodes), &f);
  return f;
}

/* Prints the row where they are not as wanted; `name`: what the row begins with. */
static bool is_as(const figures *f, const figures *want, const char *name) {
  bool same = f->before == want->before && f->after == want->after &&
              (uint32_t)f->orders == want->orders;
  if (!same)
    print_message("{%s, {%lld, %lld, 0x%08x}}\n", name, (long long)f->before, (long long)f->after,
                  (uint32_t)f->orders);
  return same;
}

static void test_figures(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    figures f = measure(rows[i].nodes, rows[i].graphs);
    char name[32];
    snprintf(name, sizeof name, "%d, %d", rows[i].nodes, rows[i].graphs);
    differ += !is_as(&f, &rows[i].want, name);
  }
  assert_int_equal(differ, 0);
}

/* ---- wide graphs ----------------------------------------------------------------------------- */

enum { WIDTHS = 6 };

typedef struct {
  wk_value_id x, matrix[WIDTHS][WIDTHS];
} wide_inputs;

static wide_inputs add_inputs(wk_graph *g) {
  wide_inputs in;
  for (int i = 0; i < WIDTHS; i++)
    for (int k = 0; k < WIDTHS; k++) {
      wk_type t = wk_type_make(WK_F32, 2, (const int64_t[]){16 * (i + 1), 16 * (k + 1)});
      in.matrix[i][k] = wk_graph_input(g, NULL, &t);
    }
  wk_type t = wk_type_make(WK_F32, 2, (const int64_t[]){1, 16});
  in.x = wk_graph_input(g, "x", &t);
  return in;
}

/* So many products of two, each of which could begin at once, in rows of drawn lengths, and as many
 * sums of two of them; all are joined in the end. There are more steps than are looked at: the best
 * of them are. */
static wk_value_id add_wide(wk_graph *g, const wide_inputs *in, uint64_t seed, int chains) {
  wk_rng r = {seed};
  wk_value_id *ends = wk_xmalloc((size_t)chains * sizeof *ends), y;
  wk_value_id *products = wk_xmalloc((size_t)chains * sizeof *products);
  for (int c = 0; c < chains; c++) {
    int64_t a = wk_rng_range(&r, 0, WIDTHS - 1);
    products[c] = wk_build(g, WK_OP_MATMUL, NULL, 2, in->x, in->matrix[0][a]);
    products[c] = wk_build(g, WK_OP_MATMUL, NULL, 2, products[c], in->matrix[a][c % WIDTHS]);
  }
  for (int c = 0; c < chains; c++) {
    int64_t other = c % WIDTHS + WIDTHS * wk_rng_range(&r, 0, chains / WIDTHS - 1);
    ends[c] = wk_build(g, WK_OP_ADD, NULL, 2, products[c], products[other]);
    ends[c] = wk_build(g, WK_OP_MATMUL, NULL, 2, ends[c], in->matrix[c % WIDTHS][0]);
  }
  free(products);
  wk_attr_concat *along = wk_attrs_new(g->module->arena, WK_OP_CONCAT);
  along->axis = 1;
  wk_node_desc d = {.op = WK_OP_CONCAT, .attrs = along, .in = ends, .n_in = (uint32_t)chains};
  assert_null(wk_graph_add(g, &d, &y));
  free(ends);
  return y;
}

/* `blocks` times the same, one behind the other. */
static wk_module *wide_graph(uint64_t seed, int chains, int blocks) {
  wk_module *m = wk_module_new("wide");
  wk_graph *g = wk_graph_new(m, "main");
  wide_inputs in = add_inputs(g);
  wk_type t = wk_type_make(WK_F32, 2, (const int64_t[]){16 * chains, 16});
  wk_value_id joins = blocks > 1 ? wk_graph_input(g, "joins", &t) : WK_NONE, y = WK_NONE;
  for (int k = 0; k < blocks; k++) {
    y = add_wide(g, &in, seed, chains);
    if (blocks > 1) in.x = y = wk_build(g, WK_OP_MATMUL, NULL, 2, y, joins);
  }
  wk_graph_output(g, "y", y);
  assert_null(wk_lower_nodes(m, NULL, NULL));
  return m;
}

/* Blocks that meet in one tensor are ordered on their own: many need what one does. */
static void test_blocks(void **state) {
  (void)state;
  figures one = {0}, many = {0};
  add_figures(wide_graph(1, 90, 2), &one);
  add_figures(wide_graph(1, 90, 14), &many);
  assert_int_equal(many.after, one.after);
  assert_true(one.after < one.before);
}

static void test_wide(void **state) {
  (void)state;
  static const struct {
    int chains;
    figures want;
  } wide[] = {{30, {13824, 2688, 0x0b249b04}},
              {66, {30208, 6016, 0x08b2fd39}},
              {90, {40640, 6016, 0x67a22a73}},
              {180, {81216, 21696, 0xcfdecd2a}}};
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(wide); i++) {
    figures f = {0};
    for (uint64_t seed = 1; seed <= 2; seed++) add_figures(wide_graph(seed, wide[i].chains, 1), &f);
    char name[16];
    snprintf(name, sizeof name, "%d", wide[i].chains);
    differ += !is_as(&f, &wide[i].want, name);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures), cmocka_unit_test(test_wide),
                                     cmocka_unit_test(test_blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
