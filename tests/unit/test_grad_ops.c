/* SPDX-License-Identifier: Apache-2.0
 * What gradients consist of: how many of which operators there are once the derivative of y with
 * respect to x (and w) is there, before any pass. A choice that is made otherwise gives the same
 * numbers, later. */
#include "tests/unit/case_text.h"

#include "compiler/grad/grad.h"

static const struct {
  const char *graph, *ops;
} cases[] = {
#define GRADIENT(graph, ops) {graph, ops},
#include "tests/unit/grad_ops.def"
#undef GRADIENT
};

/* Those of bodies are in brackets. */
static void add_ops(wk_str *b, const wk_graph *g) {
  uint32_t count[WK_OP_COUNT] = {0};
  for (size_t i = 0; i < g->nodes.n; i++) count[g->nodes.data[i].op]++;
  bool first = true;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    if (!count[op]) continue;
    wk_str_printf(b, "%s%s", first ? "" : " ", wk_op_get((wk_op)op)->name);
    if (count[op] > 1) wk_str_printf(b, " %u", (unsigned)count[op]);
    first = false;
  }
  for (size_t i = 0; i < g->nodes.n; i++)
    for (uint32_t k = 0; k < g->nodes.data[i].n_bodies; k++) {
      wk_str_add(b, " [");
      add_ops(b, g->nodes.data[i].bodies[k]);
      wk_str_add(b, "]");
    }
}

static void test_ops(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0}, b = {0};
    wk_module *m;
    wk_str_printf(&text, "module \"m\" {\n%s}\n", cases[i].graph);
    wk_status s = wk_module_parse(text.s, "case", &m);
    if (!s) s = wk_module_normalise(m);
    if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
    wk_graph *g = m->main;
    wk_value_id of[] = {g->outputs.data[0]}, wrt[] = {g->inputs.data[0], WK_NONE};
    wk_value_id out[2] = {WK_NONE, WK_NONE};
    size_t n_wrt = g->inputs.n > 1 ? 2 : 1;
    if (n_wrt > 1) wrt[1] = g->inputs.data[1];
    s = wk_grad(g, &(wk_grad_request){1, n_wrt, of, NULL, wrt, out});
    if (s) fail_msg("%s: %s", cases[i].graph, s->message);
    for (size_t k = 0; k < n_wrt; k++)
      if (out[k] != WK_NONE) wk_graph_output(g, k ? "dw" : "dx", out[k]);
    assert_null(wk_module_normalise(m));
    assert_null(wk_module_verify(m));
    add_ops(&b, g);
    if (strcmp(b.s, cases[i].ops)) {
      differ++;
      print_message("%zu:\n%s%s\n", i, cases[i].graph, b.s);
    }
    wk_str_free(&text);
    wk_str_free(&b);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
