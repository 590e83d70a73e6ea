/* SPDX-License-Identifier: Apache-2.0
 * What the accelerator's compiler rewrites of products before anything is placed: which, and that
 * results stay the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/compile/net.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"

static wk_module *module_of(const char *graph) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\ngraph @main%s}\n}\n", graph);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s: %s: %s", s->place, s->message, graph);
  wk_str_free(&text);
  return m;
}

static int count(const wk_graph *g, wk_op op) {
  int n = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    n += !g->nodes.data[i].dead && g->nodes.data[i].op == op;
  return n;
}

/* Queries, then keys or values that are repeated, as they come, repeated, joined, and turned. */
#define SHARED(q, k, repeats, joined, turn, y)                                           \
  "(%q: u8[" q "], %k: u8[" k "]) {\n  %e = expand(%k) {shape=[" repeats "]}\n"          \
  "  %r = reshape(%e) {shape=[" joined "]}\n" turn                                       \
  "  %y = integer_matmul(%q, %" y ") {a_zero=7, b_zero=100, epilogue=\"sat<i8>(shr_round(%0, " \
  "9i32))\"}\n  output %y\n"
#define TURN(perm) "  %t = transpose(%r) {perm=[" perm "]}\n"

static const struct {
  int expands; /* that are left */
  const char *graph;
} products[] = {
    {0, SHARED("1,4,3,5", "1,2,1,5,6", "1,2,2,5,6", "1,4,5,6", "", "r")},
    {0, SHARED("1,4,3,5", "1,2,1,6,5", "1,2,2,6,5", "1,4,6,5", TURN("0,1,3,2"), "t")},
    {0, SHARED("2,6,3,5", "2,2,1,6,5", "2,2,3,6,5", "2,6,6,5", TURN("0,1,3,2"), "t")},
    {0, SHARED("6,3,5", "2,1,5,6", "2,3,5,6", "6,5,6", "", "r")},
    {0, SHARED("1,4,3,5", "1,1,1,5,6", "1,1,4,5,6", "1,4,5,6", "", "r")},
    /* repeated as a whole, other axes, other orders */
    {1, SHARED("1,4,3,5", "1,1,2,5,6", "1,2,2,5,6", "1,4,5,6", "", "r")},
    {1, SHARED("1,4,3,10", "1,2,2,1,6", "1,2,2,10,6", "1,4,10,6", "", "r")},
    {1, SHARED("1,4,3,5", "1,2,1,6,5", "1,2,2,6,5", "1,4,5,6", "", "r")},
    {1, SHARED("4,1,3,5", "1,2,1,6,5", "1,2,2,6,5", "1,4,6,5", TURN("1,0,3,2"), "t")},
    /* queries that are broadcast */
    {1, SHARED("1,1,3,5", "1,2,1,5,6", "1,2,2,5,6", "1,4,5,6", "", "r")},
};

static void shared_heads(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(products); i++) {
    wk_module *m = module_of(products[i].graph), *was = wk_module_clone(m);
    const wk_graph *g = was->main;
    wk_tensor *in = random_integer_inputs(g, 1), want = {0}, got = {0};
    wk_str why = {0};
    wk_adaptation done = {0};
    wk_status s = wk_accel_adapt(NULL, m, &done);
    if (!s) s = wk_eval_graph(g, in, &want, NULL, NULL);
    if (!s) s = wk_eval_graph(m->main, in, &got, NULL, NULL);
    if (s) fail_msg("%s: %s", s->message, products[i].graph);
    if (count(m->main, WK_OP_EXPAND) != products[i].expands)
      fail_msg("%d: %s", count(m->main, WK_OP_EXPAND), products[i].graph);
    if (!random_same(g, &got, &want, &why)) fail_msg("%s: %s", why.s, products[i].graph);
    random_tensors_free(in, g->inputs.n);
    wk_tensor_free(&want);
    wk_tensor_free(&got);
    wk_module_free(was);
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shared_heads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
