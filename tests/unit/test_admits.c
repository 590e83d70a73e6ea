/* SPDX-License-Identifier: Apache-2.0
 * A target that supports nodes and does not admit their part: the graph is cut again until it does,
 * and what is left of it computes the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/pipeline.h"
#include "tests/plain_target.h"

/* Has maps, in parts of at most so many inputs; names the node that reads the last one. */
typedef struct {
  wk_instance base;
  size_t most_inputs;
  bool names_none;
  int *asked;
} narrow;

static bool narrow_supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                            const char **reason) {
  (void)t, (void)g, (void)a;
  *reason = "it is no map";
  return n->op == WK_OP_MAP;
}

static bool narrow_admits(const wk_instance *t, const wk_graph *part, wk_arena *a, wk_node_id *node,
                          const char **reason) {
  const narrow *x = (const narrow *)(const void *)t;
  (*x->asked)++;
  if (part->inputs.n <= x->most_inputs) return true;
  *reason = wk_arena_printf(a, "its part has %zu inputs", part->inputs.n);
  for (size_t i = 0; i < part->nodes.n && !x->names_none; i++)
    for (uint32_t k = 0; k < part->nodes.data[i].n_in; k++)
      if (part->nodes.data[i].in[k] == part->inputs.data[part->inputs.n - 1])
        *node = (wk_node_id)i;
  return false;
}

static const wk_target narrow_target = {.name = "narrow", .supports = narrow_supports,
                                        .wish = plain_wish, .admits = narrow_admits};

/* The running sums cut it into parts of one input, two and one. */
static const char *const two_parts =
    "graph @main(%x: f32[8], %y: f32[8]) {\n%a = relu(%x) : f32[8]\n%b = neg(%a) : f32[8]\n"
    "%s = cum_sum(%b) {axis=0} : f32[8]\n%c = add(%s, %y) : f32[8]\n%d = abs(%c) : f32[8]\n"
    "%t = cum_sum(%d) {axis=0} : f32[8]\n%e = neg(%t) : f32[8]\n"
    "output %a\noutput %c\noutput %e\n}\n";
/* Nothing but maps: the part is the module itself. */
static const char *const one_part =
    "graph @main(%x: f32[8], %y: f32[8]) {\n%a = relu(%x) : f32[8]\n"
    "%b = add(%a, %y) : f32[8]\n%c = neg(%b) : f32[8]\noutput %a\noutput %b\noutput %c\n}\n";

typedef struct {
  size_t nodes;   /* on the target, of the module */
  size_t reasons; /* that are not "it is no map" */
  int asked;
} outcome;

static wk_module *module_of(const char *graph) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\n%s}\n", graph);
  assert_null(wk_module_parse(text.s, "t", &m));
  wk_str_free(&text);
  return m;
}

static void count(const wk_parts *p, outcome *out) {
  for (size_t i = 0; i < p->of.n; i++)
    out->nodes += p->of.data[i] != WK_NONE && p->parts.data[p->of.data[i]].target == 0;
  for (size_t i = 0; i < p->reasons.n; i++) {
    if (!strcmp(p->reasons.data[i].reason, "it is no map")) continue;
    out->reasons++;
    assert_string_equal(p->reasons.data[i].reason, "its part has 2 inputs");
  }
  for (size_t i = 0; i < p->parts.n; i++)
    assert_true(p->parts.data[i].target == 1 || p->parts.data[i].module->main->inputs.n == 1);
}

static wk_status compile(const char *graph, bool names_none, bool has_host, const char *stop_after,
                         outcome *out) {
  narrow t = {{&narrow_target, NULL, true}, 1, names_none, &out->asked};
  wk_instance *const list[] = {&t.base, &plain_instance};
  const wk_targets targets = {.list = list, .n = has_host ? 2 : 1, .has_host = has_host};
  const wk_pipeline_options o = {.targets = &targets, .stop_after = stop_after};
  wk_pipeline_report report;
  wk_parts *p;
  wk_module *m = module_of(graph);
  *out = (outcome){.asked = 0};
  wk_status s = wk_pipeline_run(m, &o, &report, &p);
  if (!s) count(p, out);
  wk_parts_free(p);
  wk_pipeline_report_free(&report);
  wk_module_free(m);
  return s;
}

static void one_node_goes(void **state) {
  outcome x;
  (void)state;
  assert_null(compile(two_parts, false, true, NULL, &x));
  assert_int_equal(x.reasons, 1);
  assert_int_equal(x.nodes, 4); /* all maps but the sum of two */
}

static void all_nodes_go(void **state) {
  outcome x;
  (void)state;
  assert_null(compile(one_part, true, true, NULL, &x));
  assert_int_equal(x.nodes, 0);
  assert_int_equal(x.reasons, 3);
  assert_int_equal(x.asked, 1);
}

static void a_whole_module_is_cut(void **state) {
  outcome x;
  (void)state;
  assert_null(compile(one_part, false, true, NULL, &x));
  assert_int_equal(x.reasons, 1);
  assert_int_equal(x.nodes, 2);
}

static void nobody_has_it(void **state) {
  outcome x;
  (void)state;
  wk_status s = compile(one_part, false, false, NULL, &x);
  assert_non_null(s);
  assert_int_equal(s->code, WK_UNSUPPORTED);
  assert_non_null(strstr(s->message, "target narrow: map: its part has 2 inputs"));
  wk_status_free(s);
}

static void a_stop_waits_for_the_last_round(void **state) {
  outcome x;
  (void)state;
  assert_null(compile(one_part, true, true, "admit", &x));
  assert_int_equal(x.nodes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_node_goes), cmocka_unit_test(all_nodes_go),
      cmocka_unit_test(a_whole_module_is_cut), cmocka_unit_test(nobody_has_it),
      cmocka_unit_test(a_stop_waits_for_the_last_round)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
