/* SPDX-License-Identifier: Apache-2.0
 * Rematerialisation: gradients of random graphs give the same bits under any budget that is met, in
 * no more memory than that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/grad/grad.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "tests/random_graph.h"

/* A random graph of primitives that ends in the adjoints of its inputs; NULL: none is there. */
static wk_module *backward_graph(uint64_t seed) {
  random_options o = {.nodes = 12, .floats_only = true, .only = WK_OP_COUNT};
  wk_module *m = random_graph(seed, &o);
  wk_graph *g = m->main;
  WK_VEC(wk_value_id) of = {0}, wrt = {0}, out = {0};
  for (size_t i = 0; i < g->outputs.n; i++)
    if (wk_dtype_is_float(wk_val(g, g->outputs.data[i])->type.dtype))
      wk_vec_push(&of, g->outputs.data[i]);
  for (size_t i = 0; i < g->inputs.n; i++) {
    wk_vec_push(&wrt, g->inputs.data[i]);
    wk_vec_push(&out, WK_NONE);
  }
  const wk_grad_request r = {of.n, wrt.n, of.data, NULL, wrt.data, out.data};
  wk_status s = wk_grad(g, &r);
  bool any = false;
  for (size_t i = 0; i < wrt.n && !s; i++) {
    if (out.data[i] == WK_NONE) continue;
    char name[24];
    snprintf(name, sizeof name, "d%zu", i);
    wk_graph_output(g, name, out.data[i]);
    any = true;
  }
  if (!s) s = wk_module_normalise(m);
  if (!s) s = wk_lower_nodes(m, NULL, NULL);
  if (!s) s = wk_passes_run(m, WK_STAGE_PRIMITIVE, NULL, NULL, NULL);
  if (s || !any) {
    wk_module_free(m);
    m = NULL;
  }
  wk_status_free(s);
  wk_vec_free(&of);
  wk_vec_free(&wrt);
  wk_vec_free(&out);
  return m;
}

static wk_tensor *results(const wk_module *m, const wk_tensor *in) {
  wk_tensor *out = wk_xcalloc(m->main->outputs.n + 1, sizeof *out);
  wk_status s = wk_eval_graph(m->main, in, out, NULL, NULL);
  if (s) fail_msg("%s", s->message);
  return out;
}

static void check_same(uint64_t seed, const wk_module *m, const wk_tensor *got,
                       const wk_tensor *want) {
  for (size_t k = 0; k < m->main->outputs.n; k++)
    if (memcmp(got[k].data, want[k].data, (size_t)wk_type_bytes(&got[k].type)))
      fail_msg("seed %llu: output %zu differs", (unsigned long long)seed, k);
}

/* What there is with each budget; returns whether something was computed again. */
static bool check_budget(uint64_t seed, const wk_module *m, const wk_tensor *in, double part) {
  wk_remat_report all, r;
  wk_module *plain = wk_module_clone(m), *less = wk_module_clone(m);
  assert_null(wk_rematerialise(plain, INT64_MAX, &all));
  assert_int_equal(all.nodes, 0);
  int64_t budget = (int64_t)(part * (double)all.before);
  wk_status s = wk_rematerialise(less, budget, &r);
  if (s) {
    assert_int_equal(s->code, WK_RESOURCE);
    assert_true(r.least > budget);
  } else {
    wk_tensor *want = results(plain, in), *got = results(less, in);
    assert_true(r.peak <= budget);
    check_same(seed, m, got, want);
    random_tensors_free(want, m->main->outputs.n);
    random_tensors_free(got, m->main->outputs.n);
  }
  bool again = !s && r.nodes > 0;
  wk_status_free(s);
  wk_module_free(less);
  wk_module_free(plain);
  return again;
}

static void test_budgets(void **state) {
  int graphs = 0, again = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    wk_module *m = backward_graph(seed);
    if (!m) continue;
    wk_tensor *in = random_inputs(m->main);
    graphs++;
    for (double part = 0.9; part > 0.3; part -= 0.2) again += check_budget(seed, m, in, part);
    random_tensors_free(in, m->main->inputs.n);
    wk_module_free(m);
  }
  print_message("%d graphs, %d times something was computed again\n", graphs, again);
  assert_true(graphs > 50 && again > 20);
}

/* What it comes to over all graphs, which tells a choice that is made otherwise: where the budget
 * is met, memory, what is computed again, and the graphs. */
typedef struct {
  int met;
  int64_t least, peak, nodes, macs;
  uint32_t graphs;
} figures;

/* What nodes read and which are new, not the numbers of constants. */
static uint64_t hash_nodes(const wk_graph *g, uint64_t hash) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    const char *op = wk_op_get(n->op)->name;
    uint32_t is[] = {n->again, n->n_in, n->predicate};
    hash = wk_hash64(is, sizeof is, wk_hash64(op, strlen(op), hash));
    hash = wk_hash64(n->in, n->n_in * sizeof *n->in, hash);
  }
  return hash;
}

static figures measure(double part) {
  figures f = {0};
  uint64_t hash = 0;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    wk_module *m = backward_graph(seed);
    wk_remat_report all, r;
    if (!m) continue;
    wk_module *plain = wk_module_clone(m);
    assert_null(wk_rematerialise(plain, INT64_MAX, &all));
    assert_true(all.peak == all.before && all.least == all.before && all.macs == 0);
    wk_module_free(plain);
    wk_status s = wk_rematerialise(m, (int64_t)(part * (double)all.before), &r);
    f.least += r.least;
    if (!s) {
      hash = hash_nodes(m->main, hash);
      f.met++;
      f.peak += r.peak;
      f.nodes += r.nodes;
      f.macs += r.macs;
    }
    wk_status_free(s);
    wk_module_free(m);
  }
  f.graphs = (uint32_t)hash;
  return f;
}

static void test_figures(void **state) {
  (void)state;
  static const struct {
    double part;
    figures want;
  } rows[] = {{0.95, {60, 112080, 36430, 163, 744, 0xe71a4b73}},
              {0.85, {50, 112080, 26744, 252, 2320, 0xe349b249}},
              {0.7, {26, 112080, 4496, 77, 40, 0x5b09f013}}};
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    figures f = measure(rows[i].part), w = rows[i].want;
    if (f.met == w.met && f.least == w.least && f.peak == w.peak && f.nodes == w.nodes &&
        f.macs == w.macs && f.graphs == w.graphs)
      continue;
    differ++;
    print_message("{%g, {%d, %lld, %lld, %lld, %lld, 0x%08x}}\n", rows[i].part, f.met,
                  (long long)f.least, (long long)f.peak, (long long)f.nodes, (long long)f.macs,
                  f.graphs);
  }
  assert_int_equal(differ, 0);
}

/* A chain whose first value is needed once more at its end is computed again there. */
static void test_chain(void **state) {
  static const char text[] =
      "module \"chain\" {\n"
      "  graph @main(%x: f32[1024]) {\n"
      "    %a = tanh(%x) : f32[1024]\n"
      "    %b = reshape(%a) {shape=[2,512]} : f32[2,512]\n"
      "    %c = reduce_sum(%b) {axes=[1]} : f32[2,1]\n"
      "    %d = expand(%c) {shape=[2,2048]} : f32[2,2048]\n"
      "    %e = cum_sum(%d) {axis=1} : f32[2,2048]\n"
      "    %f = cum_sum(%e) {axis=1} : f32[2,2048]\n"
      "    %g = reduce_sum(%f) {axes=[0,1], keepdims=0} : f32[]\n"
      "    %y = add(%a, %g) : f32[1024]\n"
      "    output %y\n"
      "  }\n"
      "}\n";
  wk_remat_report r;
  wk_module *m, *again;
  wk_str b = {0};
  (void)state;
  assert_null(wk_module_parse(text, "chain", &m));
  wk_status s = wk_rematerialise(m, 1, &r);
  assert_int_equal(s->code, WK_RESOURCE);
  assert_true(r.least < r.before);
  wk_status_free(s);
  assert_null(wk_rematerialise(m, r.least, &r));
  assert_int_equal(r.nodes, 1);
  wk_module_print(&b, m, WK_PRINT_FULL);
  assert_non_null(strstr(b.s, "tanh(%x) again : f32[1024]"));
  assert_null(wk_module_parse(b.s, "again", &again));
  assert_null(wk_passes_run(again, WK_STAGE_GRAPH, NULL, NULL, NULL)); /* which merge the equal */
  b.n = 0;
  wk_module_print(&b, again, WK_PRINT_FULL);
  assert_non_null(strstr(b.s, "tanh(%x) again : f32[1024]"));
  wk_str_free(&b);
  wk_module_free(again);
  wk_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_budgets), cmocka_unit_test(test_figures),
                                     cmocka_unit_test(test_chain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
