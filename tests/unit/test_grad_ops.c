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

static wk_module *parse(size_t i) {
  wk_str text = {0};
  wk_module *m = NULL;
  wk_str_printf(&text, "module \"m\" {\n%s}\n", cases[i].graph);
  wk_status s = wk_module_parse(text.s, "case", &m);
  if (!s) s = wk_module_normalise(m);
  if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
  wk_str_free(&text);
  return m;
}

/* The adjoints become outputs. */
static wk_status differentiate(wk_graph *g) {
  wk_value_id of[] = {g->outputs.data[0]}, wrt[] = {g->inputs.data[0], WK_NONE};
  wk_value_id out[2] = {WK_NONE, WK_NONE};
  size_t n_wrt = g->inputs.n > 1 ? 2 : 1;
  if (n_wrt > 1) wrt[1] = g->inputs.data[1];
  WK_TRY(wk_grad(g, &(wk_grad_request){1, n_wrt, of, NULL, wrt, out}));
  for (size_t k = 0; k < n_wrt; k++)
    if (out[k] != WK_NONE) wk_graph_output(g, k ? "dw" : "dx", out[k]);
  return wk_graph_normalise(g);
}

/* Constants that are too large end it wherever that is found: nothing is half done, or lost. */
static void test_budgets(void **state) {
  (void)state;
  static const int64_t budgets[] = {0, 1, 4, 8, 12, 16, 24, 32, 40, 64, 72, 96, 128, 256, 512,
                                    4096, 1 << 20};
  int refused = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    bool fits = false;
    for (size_t k = 0; k < WK_COUNTOF(budgets); k++) {
      wk_module *m = parse(i);
      m->constant_bytes_left = budgets[k];
      wk_status s = differentiate(m->main);
      if (s) assert_int_equal(s->code, WK_RESOURCE);
      if (s && fits) fail_msg("%s: %d bytes: %s", cases[i].graph, (int)budgets[k], s->message);
      if (!s) assert_null(wk_module_verify(m));
      fits = !s;
      refused += !fits;
      wk_status_free(s);
      wk_module_free(m);
    }
    if (!fits) fail_msg("%s", cases[i].graph);
  }
  print_message("%d times refused\n", refused);
  assert_true(refused > 20);
}

static void test_ops(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str b = {0};
    wk_module *m = parse(i);
    wk_status s = differentiate(m->main);
    if (s) fail_msg("%s: %s", cases[i].graph, s->message);
    assert_null(wk_module_verify(m));
    add_ops(&b, m->main);
    if (strcmp(b.s, cases[i].ops)) {
      differ++;
      print_message("%zu:\n%s%s\n", i, cases[i].graph, b.s);
    }
    wk_str_free(&b);
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops), cmocka_unit_test(test_budgets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
