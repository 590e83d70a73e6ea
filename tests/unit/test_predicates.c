/* SPDX-License-Identifier: Apache-2.0
 * No node loses its predicate: passes and lowering keep it, and what has no place for one (targets
 * that run instructions, programs, ONNX, adjoints) refuses the node by name. tests/golden has
 * lowering, programs and adjoints as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/lower/lower.h"
#include "compiler/onnx/onnx.h"
#include "compiler/part/part.h"
#include "compiler/passes/passes.h"
#include "tests/unit/maps_target.h"

/* Passes would merge, fuse, move, fold or recognise all of these; none is an output alone. */
static const char many[] =
    "graph @main(%x: f32[2,3,4,4], %p: bool[2], %q: bool[2]) {\n"
    "  %w = constant f32[3,3,1,1] {1, 2, 3, 4, 5, 6, 7, 8, 9}\n"
    "  %k = constant f32[1,3,1,1] {1, 2, 3}\n"
    "  %pad = pad(%x) {mode=\"constant\", before=[0,0,1,1], after=[0,0,1,1]} when %p\n"
    "  %conv = conv(%pad, %w) {strides=[1,1], dilations=[1,1], pads=[0,0,0,0]} when %p\n"
    "  %scale = mul(%conv, %k) when %p\n"
    "  %relu = relu(%scale) when %p\n"
    "  %t1 = transpose(%relu) {perm=[0,2,3,1]} when %p\n"
    "  %t2 = transpose(%t1) {perm=[0,3,1,2]} when %p\n"
    "  %same1 = exp(%x) when %p\n"
    "  %same2 = exp(%x) when %q\n"
    "  %same3 = exp(%x)\n"
    "  %sig = sigmoid(%x) when %p\n"
    "  %silu = mul(%x, %sig) when %p\n"
    "  %split1, %split2 = split(%x) {axis=1, sizes=[1,2]} when %p\n"
    "  %concat = concat(%split1, %split2) {axis=1} when %p\n"
    "  %copy = identity(%x) when %p\n"
    "  %zero = neg(%k) when %p\n"
    "  %norm = softmax(%x) {axis=1} when %p\n"
    "  %cast = cast(%x) {to=f32} when %p\n"
    "  output %t2\n  output %same1\n  output %same2\n  output %same3\n  output %silu\n"
    "  output %concat\n  output %copy\n  output %zero\n  output %norm\n  output %cast\n"
    "}\n";

static wk_module *parsed(const char *graphs) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\n%s}\n", graphs);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  wk_str_free(&text);
  return m;
}

static void expect_refusal(wk_status s, const char *place, const char *text) {
  assert_non_null(s);
  if (s->code != WK_UNSUPPORTED || strcmp(s->place, place) != 0 || strcmp(s->message, text) != 0)
    fail_msg("%s: %s", s->place, s->message);
  wk_status_free(s);
}

static size_t count_predicates(const wk_graph *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    n += !g->nodes.data[i].dead && g->nodes.data[i].predicate != WK_NONE;
  return n;
}

/* All of them are there, and each output but "same3" comes from a node that has its own. */
static void expect_predicates(const wk_graph *g) {
  assert_int_equal(count_predicates(g), 16);
  for (size_t i = 0; i < g->outputs.n; i++) {
    const char *name = g->output_names.data[i];
    const wk_value *v = wk_val(g, g->outputs.data[i]);
    if (v->kind != WK_VALUE_NODE) fail_msg("%s is made by no node", name);
    wk_value_id p = wk_nod(g, v->node)->predicate;
    const char *wanted = !strcmp(name, "same2") ? "q" : strcmp(name, "same3") ? "p" : NULL;
    if (!wanted && p != WK_NONE) fail_msg("%s has a predicate", name);
    if (wanted && (p == WK_NONE || strcmp(wk_val(g, p)->name, wanted) != 0))
      fail_msg("%s has lost its predicate", name);
  }
}

static void passes_keep_predicates(void **state) {
  (void)state;
  for (size_t k = 0; k < wk_passes_count; k++) {
    int64_t changes = 0;
    wk_module *m = parsed(many);
    if (!(wk_passes[k].stages & WK_STAGE_GRAPH)) assert_null(wk_lower_nodes(m, NULL, NULL));
    assert_null(wk_pass_run_one(m, &wk_passes[k], NULL, &changes));
    expect_predicates(m->main);
    wk_module_free(m);
  }
}

static void stages_keep_predicates(void **state) {
  wk_module *m = parsed(many);
  (void)state;
  assert_null(wk_passes_run(m, WK_STAGE_GRAPH, NULL, NULL, NULL));
  expect_predicates(m->main);
  assert_null(wk_lower_nodes(m, NULL, NULL));
  expect_predicates(m->main);
  assert_null(wk_passes_run(m, WK_STAGE_PRIMITIVE, NULL, NULL, NULL));
  expect_predicates(m->main);
  wk_program *p;
  wk_status s = wk_generate(m, 1, &p);
  assert_non_null(s);
  assert_non_null(strstr(s->message, "its predicate %p would be lost"));
  wk_status_free(s);
  wk_module_free(m);
}

static void targets_refuse_predicates(void **state) {
  (void)state;
  wk_parts *parts;
  wk_module *m = parsed("graph @main(%x: f32[2,3], %p: bool[2]) {\n"
                        "  %a = map(%x) {body=\"neg(%0)\"} \"first\"\n"
                        "  %b = map(%a) {body=\"exp(%0)\"} when %p \"second\"\n"
                        "  %c = transpose(%b) {perm=[1,0]} when %p \"third\"\n"
                        "  output %c\n}\n");
  wk_status s = partition_for(m, &maps_targets, NULL, &parts);
  assert_non_null(s);
  assert_non_null(s->notes);
  assert_string_equal(s->notes, "third: transpose: its predicate %p would be lost\n");
  expect_refusal(s, "second", "target host: map: its predicate %p would be lost");
  wk_module_free(m);
}

static void bodies_refuse_predicates(void **state) {
  (void)state;
  wk_parts *parts;
  wk_module *m = parsed("graph @then(%x: f32[2], %p: bool[2]) {\n"
                        "  %t = map(%x) {body=\"neg(%0)\"} when %p\n  output %t\n}\n"
                        "graph @else(%x: f32[2], %p: bool[2]) {\n"
                        "  %u = map(%x) {body=\"exp(%0)\"}\n  output %u\n}\n"
                        "graph @main(%x: f32[2], %p: bool[2], %c: bool[]) {\n"
                        "  %y = if(%c, %x, %p) then @then else @else\n  output %y\n}\n");
  const wk_targets host = {.list = maps_list + 1, .n = 1, .has_host = true};
  expect_refusal(partition_for(m, &host, NULL, &parts), "t",
                 "target host: map: its predicate %p would be lost");
  wk_module_free(m);
}

/* It works on graphs, and says that it keeps predicates. */
static void a_target_keeps_predicates(void **state) {
  (void)state;
  wk_target keeps = maps_target;
  keeps.takes_graph = keeps.keeps_predicates = true;
  wk_instance instance = {.target = &keeps, .is_here = true};
  wk_instance *const list[] = {&instance, &dear_instance};
  wk_parts *parts;
  wk_module *m = parsed("graph @main(%x: f32[2], %p: bool[2]) {\n"
                        "  %a = map(%x) {body=\"neg(%0)\"} when %p\n"
                        "  %b = map(%a) {body=\"exp(%0)\"}\n  output %b\n}\n");
  const wk_targets both = {.list = list, .n = 2, .has_host = true};
  assert_null(partition_for(m, &both, NULL, &parts));
  assert_int_equal(parts->parts.n, 1);
  const wk_graph *g = parts->parts.data[0].module->main;
  assert_int_equal(parts->parts.data[0].target, 0);
  assert_string_equal(wk_val(g, wk_nod(g, 0)->predicate)->name, "p");
  wk_parts_free(parts);
  keeps.takes_graph = false; /* of instructions it gets none */
  expect_refusal(partition_for(m, &(wk_targets){.list = list, .n = 1}, NULL, &parts), "a",
                 "target maps: map: its predicate %p would be lost");
  wk_module_free(m);
}

static void onnx_has_no_predicates(void **state) {
  (void)state;
  char path[] = "/tmp/wick-predicates-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  wk_module *m = parsed("graph @main(%x: f32[2,3], %p: bool[2]) {\n"
                        "  %y = relu(%x) when %p \"node\"\n  output %y\n}\n");
  expect_refusal(wk_export_onnx(m, path), "node",
                 "its predicate %p would be lost: ONNX has none");
  wk_module_free(m);
  close(fd);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_keep_predicates),   cmocka_unit_test(stages_keep_predicates),
      cmocka_unit_test(targets_refuse_predicates), cmocka_unit_test(bodies_refuse_predicates),
      cmocka_unit_test(a_target_keeps_predicates), cmocka_unit_test(onnx_has_no_predicates)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
