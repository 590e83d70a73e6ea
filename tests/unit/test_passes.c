/* SPDX-License-Identifier: Apache-2.0
 * Passes and lowering change no results: random graphs are evaluated before and after each pass,
 * after lowering, and after each pass on primitives. A failure prints seed, pass and the shrunk
 * graph.
 *   test_passes [FIRST_SEED [COUNT]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "tests/random_graph.h"
#include "tests/random_rewritings.h"

static uint64_t first_seed = 1, n_seeds = 1500;

/* One step under test: passes of the stage before it have run when `settled`. */
typedef enum { PASS_ON_GRAPH, LOWER, PASS_ON_PRIMITIVES, EVERYTHING } step_kind;
typedef struct {
  step_kind kind;
  const wk_pass *pass;
  int64_t changes;
  wk_str text; /* what went wrong last */
} step;

static const char *step_name(const step *s) {
  return s->pass ? s->pass->name : s->kind == LOWER ? "lower" : "all passes and lower";
}

static wk_status change(step *s, wk_module *m) {
  int64_t changes = 0;
  if (s->kind == EVERYTHING) WK_TRY(wk_passes_run(m, WK_STAGE_GRAPH, NULL, NULL, NULL));
  if (s->kind != PASS_ON_GRAPH) WK_TRY(wk_lower_nodes(m, NULL, NULL));
  if (s->kind == EVERYTHING) WK_TRY(wk_passes_run(m, WK_STAGE_PRIMITIVE, NULL, NULL, NULL));
  if (s->pass) WK_TRY(wk_pass_run_one(m, s->pass, NULL, &changes));
  s->changes += changes;
  return wk_module_verify(m);
}

static wk_status run_changed(void *ctx, const wk_module *m, const wk_tensor *in, wk_tensor *out) {
  wk_module *changed = wk_module_clone(m);
  wk_status st = change(ctx, changed);
  if (!st) st = wk_eval_graph(changed->main, in, out, NULL, NULL);
  wk_module_free(changed);
  return st;
}

/* random_check: true when the step breaks m. */
static bool breaks(void *ctx, const wk_module *m) {
  step *s = ctx;
  return random_differs(m, run_changed, s, &s->text);
}

static void report(step *s, const wk_module *m, uint64_t seed) {
  wk_str text = {0};
  wk_module *small = random_reduce(m, breaks, s);
  breaks(s, small);
  wk_module_print(&text, small, WK_PRINT_SHORT);
  print_error("seed %llu, %s: %s\n%s\n", (unsigned long long)seed, step_name(s), s->text.s, text.s);
  wk_str_free(&text);
  wk_module_free(small);
}

static bool check(step *s, const wk_module *m, uint64_t seed) {
  bool bad = breaks(s, m);
  if (bad) report(s, m, seed);
  wk_str_free(&s->text);
  s->text = (wk_str){0};
  return !bad;
}

/* ---- random graphs --------------------------------------------------------------------------- */

static int check_graph(wk_module *m, uint64_t seed, int64_t *changes) {
  int bad = 0;
  for (size_t i = 0; i < wk_passes_count; i++) {
    const wk_pass *p = &wk_passes[i];
    step on_graph = {.kind = PASS_ON_GRAPH, .pass = p},
        on_primitives = {PASS_ON_PRIMITIVES, p, 0, {0}};
    if (p->stages & WK_STAGE_GRAPH) bad += !check(&on_graph, m, seed);
    if (p->stages & WK_STAGE_PRIMITIVE) bad += !check(&on_primitives, m, seed);
    changes[i] += on_graph.changes + on_primitives.changes;
  }
  step lower = {.kind = LOWER}, all = {.kind = EVERYTHING};
  bad += !check(&lower, m, seed);
  bad += !check(&all, m, seed);
  wk_module_free(m);
  return bad;
}

/* What random graphs have not: several heads, one by one, of seeds of tests/random_rewritings. */
static int check_heads(int64_t *changes) {
  enum { GRAPHS = 5 };
  size_t which = 0;
  int bad = 0, form = 0;
  while (strcmp(random_rewriting_at(which)->name, "heads") != 0) which++;
  while (strcmp(random_rewriting_at(which)->forms[form], "head by head") != 0) form++;
  for (uint64_t seed = 1; seed <= GRAPHS; seed++)
    bad += check_graph(random_rewritten(which, form, seed), seed, changes);
  return bad;
}

/* Nor experts, whose gates are 0 for most of the rows. */
static int check_text(const char *text, int64_t *changes) {
  wk_module *m;
  wk_status s = wk_module_parse(text, "text", &m);
  if (s) fail_msg("%s", s->message);
  return check_graph(m, 0, changes);
}

static int check_experts(int64_t *changes) {
  static const char text[] =
      "module \"m\" { graph @main(%x: f32[64,64], %c: bool[64,1], %n: f32[64,1], "
      "%w: f32[64,64]) {\n"
      "  %zero = constant f32[] {0}\n  %g = where(%c, %n, %zero)\n  %h = matmul(%x, %w)\n"
      "  %z = mul(%h, %g)\n  output %z\n}}";
  return check_text(text, changes);
}

/* Nor batches that are padded: four samples, of which one is masked as a whole. */
static int check_padded(int64_t *changes) {
  static const char text[] =
      "module \"m\" { graph @main(%x: f32[4,32,64], %q: f32[4,2,32,32], %n: f32[4,1,1,32], "
      "%w: f32[64,64]) {\n"
      "  %one = constant f32[] {1.0}\n  %far = constant f32[] {-10000.0}\n"
      "  %zero = constant f32[] {0.0}\n"
      "  %some = constant bool[4,1,1,1] {1, 1, 0, 1}\n"
      "  %p = greater(%n, %zero)\n  %s = and(%p, %some)\n  %bias = where(%s, %zero, %far)\n"
      "  %k = matmul(%x, %w)\n  %a = reshape(%k) {shape=[4,32,2,32]}\n"
      "  %h = transpose(%a) {perm=[0,2,1,3]}\n"
      "  %y = attention(%q, %h, %h, %bias) {scale=0.125}\n  output %y\n}}";
  return check_text(text, changes);
}

/* Nor branches: one of them alone reads a chain, the other a value that goes elsewhere, too. */
static int check_branches(int64_t *changes) {
  static const char text[] =
      "module \"m\" { graph @main(%c: bool[], %x: f32[4,8], %w: f32[8,8], %z: f32[4,8]) {\n"
      "  %a = matmul(%x, %w)\n  %b = relu(%a)\n  %d = add(%b, %x)\n  %e = neg(%z)\n"
      "  %y, %k = if(%c, %d, %e, %z) then @one else @other\n"
      "  %s = mul(%y, %e)\n  output %s\n  output %k\n}\n"
      "graph @one(%p: f32[4,8], %q: f32[4,8], %r: f32[4,8]) {\n"
      "  %u = mul(%p, %p)\n  %v = exp(%p)\n  output %u\n  output %v\n}\n"
      "graph @other(%p: f32[4,8], %q: f32[4,8], %r: f32[4,8]) {\n"
      "  %u = add(%q, %r)\n  output %u\n  output %r\n}}";
  return check_text(text, changes);
}

static void test_random_graphs(void **state) {
  (void)state;
  const random_options o = {.nodes = 14, .only = WK_OP_COUNT};
  int64_t *changes = wk_xcalloc(wk_passes_count, sizeof *changes);
  int bad = 0;
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++)
    bad += check_graph(random_graph(seed, &o), seed, changes);
  bad += check_heads(changes) + check_experts(changes) + check_padded(changes) +
         check_branches(changes);
  for (size_t i = 0; i < wk_passes_count; i++) {
    print_message("%-24s %lld rewrites\n", wk_passes[i].name, (long long)changes[i]);
    if (n_seeds >= 100) assert_true(changes[i] > 0);
  }
  free(changes);
  assert_int_equal(bad, 0);
}

/* Every operator alone, several times: lowering keeps its results. */
static void test_every_operator(void **state) {
  (void)state;
  int bad = 0;
  for (int op = 0; op < WK_OP_COUNT; op++) {
    const wk_op_info *info = wk_op_get((wk_op)op);
    if (info->kind == WK_KIND_INST || info->cls == WK_CLASS_CONTROL ||
        info->cls == WK_CLASS_PRIMITIVE || info->cls == WK_CLASS_CUSTOM)
      continue;
    size_t drawn = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
      const random_options o = {.nodes = 1, .only = (wk_op)op};
      wk_module *m = random_graph(seed, &o);
      drawn += m->main->nodes.n;
      step lower = {.kind = LOWER}, all = {.kind = EVERYTHING};
      bad += m->main->nodes.n && !check(&lower, m, seed);
      bad += m->main->nodes.n && !check(&all, m, seed);
      wk_module_free(m);
    }
    if (drawn < 3) print_error("%s was drawn %zu times\n", info->name, drawn);
    bad += drawn < 3;
  }
  assert_int_equal(bad, 0);
}

/* ---- floats stored in 16 bits ---------------------------------------------------------------- */

static void count_floats(const wk_module *m, int64_t n[WK_DTYPE_COUNT]) {
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t v = 0; v < m->graphs.data[k]->values.n; v++)
      n[m->graphs.data[k]->values.data[v].type.dtype]++;
}

static void check_edges(const wk_graph *before, const wk_graph *after) {
  assert_int_equal(before->outputs.n, after->outputs.n);
  for (size_t i = 0; i < before->outputs.n; i++) {
    const wk_type *was = &wk_val(before, before->outputs.data[i])->type;
    const wk_type *is = &wk_val(after, after->outputs.data[i])->type;
    assert_int_equal(was->dtype, is->dtype);
    assert_string_equal(before->output_names.data[i], after->output_names.data[i]);
  }
}

/* What has 16 bits is compared as such: a rounding of theirs is far more than one of f32. */
static void uncover(wk_graph *g) {
  for (size_t i = 0; i < g->outputs.n; i++) {
    const wk_value *v = wk_val(g, g->outputs.data[i]);
    const wk_node *n = v->kind == WK_VALUE_NODE ? wk_nod(g, v->node) : NULL;
    if (n && n->op == WK_OP_CAST) g->outputs.data[i] = n->in[0];
  }
}

/* Graphs stay valid and keep what is seen from outside, nearly all of their floats have 16 bits,
 * and they mean the same after passes and lowering. */
static void test_converted_graphs(void **state) {
  (void)state;
  const random_options o = {.nodes = 14, .only = WK_OP_COUNT};
  int64_t was[WK_DTYPE_COUNT] = {0}, is[WK_DTYPE_COUNT] = {0}, changes = 0;
  int bad = 0;
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds / 4; seed++) {
    wk_module *m = random_graph(seed, &o), *half = wk_module_clone(m);
    step all = {.kind = EVERYTHING};
    assert_null(wk_convert_floats(half, seed % 2 ? WK_F16 : WK_BF16, &changes));
    assert_null(wk_module_verify(half));
    check_edges(m->main, half->main);
    uncover(half->main);
    bad += !check(&all, half, seed);
    count_floats(m, was);
    count_floats(half, is);
    wk_module_free(half);
    wk_module_free(m);
  }
  print_message("%lld nodes, values of f32: %lld, then %lld\n", (long long)changes,
                (long long)was[WK_F32], (long long)is[WK_F32]);
  assert_int_equal(bad, 0);
}

static const char unconverted[] =
    "module \"m\" {\n"
    "  graph @main(%x: f32[1,4], %n: i64[1,4]) {\n"
    "    %c = constant f32[4] {1e9, -1e9, 1e-12, 0.0}\n"
    "    %k = cast(%n) {to=f32}\n"
    "    %a = add(%x, %c)\n"
    "    %b = mul(%a, %k)\n"
    "    %i = arg_max(%b) {axis=1}\n"
    "    output %b\n"
    "    output %i\n"
    "    output %c\n"
    "    output %x\n"
    "    output %b as \"again\"\n"
    "  }\n"
    "}\n";

/* Constants keep away from infinity and 0; what a graph gives keeps its type and name, and so do
 * constants and inputs that it only hands on. */
static const char converted[] =
    "module \"m\" {\n"
    "  graph @main(%x: f32[1,4], %n: i64[1,4]) {\n"
    "    %_9 = constant f32[4] {1e+09, -1e+09, 1e-12, 0.0}\n"
    "    %c = constant f16[4] {65504.0, -65504.0, 5.9604645e-08, 0.0}\n"
    "    %k = cast(%n) {to=f16} : f16[1,4]\n"
    "    %_8 = cast(%x) {to=f16} : f16[1,4] \"x\"\n"
    "    %a = add(%_8, %c) : f16[1,4]\n"
    "    %_13 = mul(%a, %k) : f16[1,4]\n"
    "    %i = arg_max(%_13) {axis=1} : i64[1,1]\n"
    "    %b = cast(%_13) : f32[1,4] \"b\"\n"
    "    output %b\n"
    "    output %i\n"
    "    output %_9 as \"c\"\n"
    "    output %x\n"
    "    output %b as \"again\"\n"
    "  }\n"
    "}\n";

static void test_converted_text(void **state) {
  (void)state;
  wk_module *m;
  int64_t changes = 0;
  wk_str text = {0};
  assert_null(wk_module_parse(unconverted, "test", &m));
  assert_null(wk_convert_floats(m, WK_F16, &changes));
  assert_int_equal(changes, 4);
  wk_module_print(&text, m, WK_PRINT_SHORT);
  assert_string_equal(text.s, converted);
  wk_str_free(&text);
  wk_module_free(m);
}

/* ---- the reducer ----------------------------------------------------------------------------- */

static bool has_softmax(void *ctx, const wk_module *m) {
  (void)ctx;
  for (size_t i = 0; i < m->main->nodes.n; i++)
    if (m->main->nodes.data[i].op == WK_OP_SOFTMAX) return true;
  return false;
}

static void test_reducer(void **state) {
  (void)state;
  const random_options o = {.nodes = 14, .only = WK_OP_COUNT};
  int found = 0;
  for (uint64_t seed = 1; seed < 60; seed++) {
    wk_module *m = random_graph(seed, &o);
    int64_t changes;
    assert_null(wk_pass_run_one(m, wk_pass_find("dead-code"), NULL, &changes));
    if (has_softmax(NULL, m)) {
      wk_module *small = random_reduce(m, has_softmax, NULL);
      assert_int_equal(small->main->nodes.n, 1);
      wk_module_free(small);
      found++;
    }
    wk_module_free(m);
  }
  assert_true(found > 3);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_every_operator),
      cmocka_unit_test(test_converted_graphs), cmocka_unit_test(test_converted_text),
      cmocka_unit_test(test_reducer)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
