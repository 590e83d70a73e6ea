/* SPDX-License-Identifier: Apache-2.0
 * What runs passes: in which order, on which graphs, how often, and what becomes of a pass that
 * fails or leaves a graph that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/passes/pass.h"

static wk_module *module(const char *graphs) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\n%s}\n", graphs);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  wk_str_free(&text);
  return m;
}

/* A graph with two bodies, one of which has a body. */
static const char *const nested =
    "graph @main(%c: bool[], %x: f32[2]) {\n%y = if(%c, %x) then @one else @two : f32[2]\n"
    "output %y\n}\n"
    "graph @one(%a: f32[2]) {\n%n = neg(%a)\noutput %n\n}\n"
    "graph @two(%a: f32[2]) {\n%n = loop(-, %a) {trip=2, n_state=1} do @three : f32[2]\n"
    "output %n\n}\n"
    "graph @three(%i: i64[], %a: f32[2]) {\n%n = abs(%a)\noutput %n\n}\n";

/* ---- one pass -------------------------------------------------------------------------------- */

static wk_str visited;
static const char *fails_on, *spoils, *drops_of;

static bool is(const char *name, const wk_graph *g) { return name && !strcmp(name, g->name); }

static wk_status failure(const wk_graph *g) {
  return is(fails_on, g) ? wk_error(WK_UNSUPPORTED, "not %s", g->name) : NULL;
}

/* Changes every graph: as often as it has letters in its name. */
static wk_status count_letters(wk_graph *g, wk_pass_ctx *c) {
  wk_str_printf(&visited, "%s ", g->name);
  c->changes += (int64_t)strlen(g->name);
  if (is(spoils, g)) wk_val(g, g->nodes.data[0].out[0])->type.dims[0] = 5;
  return failure(g);
}

static wk_status change_nothing(wk_graph *g, wk_pass_ctx *c) {
  (void)c;
  return failure(g);
}

/* In one graph, what its node makes is its last input. */
static wk_status drop_node(wk_graph *g, wk_pass_ctx *c) {
  wk_node *n = &g->nodes.data[0];
  if (!is(drops_of, g)) return NULL;
  wk_graph_replace_uses(g, n->out[0], n->in[n->n_in - 1]);
  wk_node_remove(g, 0);
  c->changes++;
  return NULL;
}

/* The message of the run, "" for none. */
static void run(wk_pass_fn fn, int64_t want_changes, wk_code want, const char *message) {
  const wk_pass pass = {.name = "letters", .run = fn, .stages = WK_STAGE_GRAPH};
  wk_module *m = module(nested);
  int64_t changes = -1;
  visited = (wk_str){0};
  wk_status s = wk_pass_run_one(m, &pass, NULL, &changes);
  assert_int_equal(s ? s->code : WK_OK, want);
  assert_string_equal(s ? s->message : "", message);
  assert_int_equal(changes, want_changes);
  wk_status_free(s);
  wk_module_free(m);
}

static void expect_visited(const char *want) {
  assert_string_equal(visited.n ? visited.s : "", want);
  wk_str_free(&visited);
}

static void test_bodies_first(void **state) {
  (void)state;
  fails_on = spoils = NULL;
  run(count_letters, 4 + 3 + 3 + 5, WK_OK, "");
  expect_visited("three two one main ");
  run(change_nothing, 0, WK_OK, "");
}

/* Nothing runs behind a failure, which stays what it was. */
static void test_failures(void **state) {
  (void)state;
  spoils = NULL;
  fails_on = "two";
  run(count_letters, 5 + 3, WK_UNSUPPORTED, "not two (in pass letters)");
  expect_visited("three two ");
  run(change_nothing, 0, WK_UNSUPPORTED, "not two (in pass letters)");
  fails_on = "main";
  run(count_letters, 4 + 3 + 3 + 5, WK_UNSUPPORTED, "not main (in pass letters)");
  expect_visited("three two one main ");
  fails_on = NULL;
}

/* Whatever pass breaks a graph is named, whichever graph it is. */
static void test_spoiled(void **state) {
  (void)state;
  static const char *const graphs[] = {"three", "two", "one", "main"};
  for (size_t i = 0; i < WK_COUNTOF(graphs); i++) {
    const wk_pass pass = {.name = "letters", .run = count_letters, .stages = WK_STAGE_GRAPH};
    wk_module *m = module(nested);
    int64_t changes;
    spoils = graphs[i];
    wk_status s = wk_pass_run_one(m, &pass, NULL, &changes);
    if (!s) fail_msg("%s may have another type", graphs[i]);
    assert_int_equal(s->code, WK_INTERNAL);
    if (!strstr(s->message, " (in pass letters)")) fail_msg("%s: %s", graphs[i], s->message);
    wk_status_free(s);
    wk_module_free(m);
    expect_visited("three two one main ");
  }
  spoils = NULL;
}

/* Graphs are tidy behind a pass, so that who comes next finds no nodes that are gone. */
static void test_tidied(void **state) {
  (void)state;
  static const char *const graphs[] = {"three", "two", "one", "main"};
  const wk_pass pass = {.name = "drop", .run = drop_node, .stages = WK_STAGE_GRAPH};
  for (size_t i = 0; i < WK_COUNTOF(graphs); i++) {
    wk_module *m = module(nested);
    int64_t changes;
    drops_of = graphs[i];
    wk_status s = wk_pass_run_one(m, &pass, NULL, &changes);
    if (s) fail_msg("%s: %s", graphs[i], s->message);
    assert_int_equal(changes, 1);
    for (size_t k = 0; k < m->graphs.n; k++) {
      const wk_graph *g = m->graphs.data[k];
      if (g->nodes.n != !is(drops_of, g)) fail_msg("%s: %zu nodes", g->name, g->nodes.n);
    }
    wk_module_free(m);
  }
}

/* ---- all of a stage -------------------------------------------------------------------------- */

typedef struct {
  size_t calls, ends_at; /* ends_at: the call that ends the run, 0 for none */
  int64_t changes, in_round;
  size_t of_stage;
  unsigned stage;
  const wk_module *m;
} record;

static size_t passes_of(unsigned stage) {
  size_t n = 0;
  for (size_t i = 0; i < wk_passes_count; i++) n += (wk_passes[i].stages & stage) != 0;
  return n;
}

/* Passes come in the table's order, round for round, and a round without changes is the last. */
static wk_status see(void *ctx, const wk_pass *p, const wk_module *m, int64_t changes,
                     double seconds) {
  record *r = ctx;
  size_t at = r->calls++ % r->of_stage, k = 0;
  if (at == 0 && r->calls > 1) {
    assert_true(r->in_round > 0);
    r->in_round = 0;
  }
  while (!(wk_passes[k].stages & r->stage) || at--) k++;
  assert_ptr_equal(p, &wk_passes[k]);
  assert_ptr_equal(m, r->m);
  assert_true(seconds >= 0 && seconds < 1000);
  r->changes += changes;
  r->in_round += changes;
  return r->calls == r->ends_at ? wk_error(WK_USAGE, "enough") : NULL;
}

static record run_stage(wk_stage stage, const char *graphs, size_t ends_at) {
  wk_module *m = module(graphs);
  record r = {.ends_at = ends_at, .of_stage = passes_of(stage), .stage = stage, .m = m};
  wk_status s = wk_passes_run(m, stage, NULL, see, &r);
  assert_int_equal(s != NULL, ends_at != 0);
  if (s) assert_string_equal(s->message, "enough"); /* it is no pass's fault */
  else assert_int_equal(r.calls % r.of_stage, 0);
  if (s) assert_int_equal(r.calls, ends_at);
  else assert_int_equal(r.in_round, 0);
  wk_status_free(s);
  wk_module_free(m);
  return r;
}

static void test_rounds(void **state) {
  (void)state;
  static const wk_stage stages[] = {WK_STAGE_GRAPH, WK_STAGE_PRIMITIVE};
  for (size_t i = 0; i < WK_COUNTOF(stages); i++) {
    size_t n = passes_of(stages[i]);
    record r = run_stage(stages[i], "graph @main(%x: f32[2]) {\noutput %x\n}\n", 0);
    assert_int_equal(r.calls, n);
    assert_int_equal(r.changes, 0);
    /* merged in the first round, of which dead-code is the last; nothing is left for the second */
    const char *twice = "graph @main(%x: f32[2,3]) {\n%a = transpose(%x) {perm=[1,0]}\n"
                        "%b = transpose(%a) {perm=[1,0]}\noutput %b\n}\n";
    r = run_stage(stages[i], twice, 0);
    assert_true(r.calls >= 2 * n);
    assert_true(r.changes > 0);
    run_stage(stages[i], twice, 1);
    run_stage(stages[i], twice, n);
    run_stage(stages[i], twice, n + 1);
  }
}

static void test_names(void **state) {
  (void)state;
  for (size_t i = 0; i < wk_passes_count; i++)
    assert_ptr_equal(wk_pass_find(wk_passes[i].name), &wk_passes[i]);
  static const char *const none[] = {"", "fold", "fold-constants ", "Simplify", "dead-cod"};
  for (size_t i = 0; i < WK_COUNTOF(none); i++) assert_null(wk_pass_find(none[i]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bodies_first), cmocka_unit_test(test_failures),
      cmocka_unit_test(test_spoiled), cmocka_unit_test(test_tidied),
      cmocka_unit_test(test_rounds), cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
