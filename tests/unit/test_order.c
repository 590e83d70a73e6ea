/* SPDX-License-Identifier: Apache-2.0
 * What the order of nodes comes to on drawn graphs, small and large: bytes before and after, and
 * the orders themselves. One that is chosen otherwise gives the same numbers in more memory, or
 * later. */
#include "tests/unit/case_text.h"

#include "compiler/memory/memory.h"
#include "tests/random_middle.h"

typedef struct {
  int64_t before, after;
  uint32_t orders;
} figures;

static const struct {
  int nodes, graphs;
  figures want;
} rows[] = {{8, 60, {123445, 122089, 0x1d2cf22b}},
            {30, 40, {229856, 199224, 0x7c3c7e9d}},
            {90, 20, {180544, 136172, 0xa022eab8}},
            {300, 5, {118644, 71464, 0x6e696600}}};

static figures measure(int nodes, int graphs) {
  figures f = {0};
  uint64_t hash = 0;
  for (uint64_t seed = 1; seed <= (uint64_t)graphs; seed++) {
    wk_module *m = random_middle_graph(seed * 17, nodes);
    int64_t before, after;
    wk_status s = wk_order_nodes(m, &before, &after);
    if (s) fail_msg("%s", s->message);
    assert_true(after <= before);
    assert_null(wk_module_verify(m));
    f.before += before;
    f.after += after;
    for (size_t i = 0; i < m->main->nodes.n; i++) {
      const wk_node *n = &m->main->nodes.data[i];
      const char *op = wk_op_get(n->op)->name;
      hash = wk_hash64(op, strlen(op), hash);
      hash = wk_hash64(n->in, n->n_in * sizeof *n->in, hash);
    }
    wk_module_free(m);
  }
  f.orders = (uint32_t)hash;
  return f;
}

static void test_figures(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    figures f = measure(rows[i].nodes, rows[i].graphs), w = rows[i].want;
    if (f.before == w.before && f.after == w.after && f.orders == w.orders) continue;
    differ++;
    print_message("{%d, %d, {%lld, %lld, 0x%08x}}\n", rows[i].nodes, rows[i].graphs,
                  (long long)f.before, (long long)f.after, f.orders);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
