/* SPDX-License-Identifier: Apache-2.0
 * How long the evaluator is thought to take, for one node of each kind, and which nodes are folded
 * within which limits. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"

#define POOL "kernel=[2,3], strides=[2,3], pads=[0,0,0,0], dilations=[1,1]"
#define MUL "graph @mul(%i: i64[], %s: f32[4], %w: f32[4]) {\n%t = mul(%s, %w)\noutput %t\n}\n"

/* The work of the node of y, the last of the main graph: elements read, and as often as many for
 * each element made. */
static const struct {
  const char *graph;
  int64_t work;
} works[] = {
    {"graph @main(%x: f32[4]) {\n%y = relu(%x)\n", 4 + 8 * 4},
    {"graph @main(%x: f32[2,3], %w: f32[3]) {\n%y = add(%x, %w)\n", 9 + 8 * 6},
    {"graph @main(%x: f32[0]) {\n%y = relu(%x)\n", 0},
    {"graph @main(%x: f32[4], %w: f32[4]) {\n%y = map(%x, %w) {body=\"add(%0, %1)\"}\n",
     8 + (1 + 4 * 3) * 4},
    {"graph @main(%x: f32[2,3], %w: f32[3,4]) {\n%y = matmul(%x, %w)\n", 24 + 18 + 8},
    {"graph @main(%x: f32[2,3]) {\n%y = transpose(%x) {perm=[1,0]}\n", 6 + 6},
    {"graph @main(%x: f32[2,3]) {\n%y = reduce(%x) {axes=[1]}\n", 6 + 2},
    {"graph @main(%x: f32[2,3]) {\n%y = reduce(%x) {axes=[1], pre=\"mul(%0, %0)\"}\n",
     6 * (1 + 4 * 2) + 2},
    {"graph @main(%x: f32[1,1,4,6]) {\n%y = max_pool(%x) {" POOL "}\n", 24 + 6 * 4},
    {"graph @main(%x: f32[1,1,4,6]) {\n%y, %p = max_pool(%x) {" POOL "}\n", 24 + 6 * 8},
    {"graph @main(%x: f32[1,1,4,6]) {\n%y, - = max_pool(%x) {" POOL "}\n", 24 + 6 * 4},
    {"graph @main(%x: f32[1,1,4,6]) {\n%y = avg_pool(%x) {" POOL ", real_pads=[0,0,0,0]}\n",
     24 + 6 * 4},
    {"graph @main(%x: f32[1,1,4,6]) {\n%y = lp_pool(%x) {" POOL "}\n", 24 + 6 * 4},
    {"graph @main(%x: f32[1,8,2,2]) {\n%y = lrn(%x) {size=5}\n", 32 + 5 * 32},
    {"graph @main(%x: f32[2,3,3]) {\n%y = det(%x)\n", 18 + 3 * 18},
    {"graph @main(%x: f32[1,1,4,4], %r: f32[3,4], %b: i64[3]) {\n%y = roi_align(%x, %r, %b) "
     "{height=2, width=1, samples=3}\n", 16 + 12 + 3 + 9 * 6},
    {"graph @main(%x: f32[1,1,4,4], %r: f32[3,4], %b: i64[3]) {\n%y = roi_align(%x, %r, %b) "
     "{height=2, width=1, samples=0}\n", 16 + 12 + 3 + 16 * 6},
    {"graph @main(%x: f32[5,4], %o: i64[3]) {\n%y = segment_reduce(%x, %o)\n",
     20 + 3 + 5 * 8 * 4 + 8},
    {"graph @main(%x: f32[5,4], %o: i64[3], %i: i64[7]) {\n%y = segment_reduce(%x, %o, %i)\n",
     20 + 3 + 7 + 7 * 8 * 4 + 8},
    /* a body's nodes as often as it runs, with 16 for each */
    {"graph @main(%x: f32[4], %w: f32[4]) {\n%y = loop(-, %x, %w) {trip=3, n_state=1} do @mul : "
     "f32[4]\n", 8 + 4 + 3 * (8 + 8 * 4 + 16)},
    {"graph @main(%x: f32[4], %w: f32[4]) {\n%y = loop(-, %x, %w) {trip=0, n_state=1} do @mul : "
     "f32[4]\n", 8 + 4},
    {"graph @main(%x: f32[4], %w: f32[4]) {\n%y = loop(-, %x, %w) {trip=9223372036854775807, "
     "n_state=1} do @mul : f32[4]\n", INT64_MAX},
    {"graph @main(%c: bool[], %x: f32[4]) {\n%y = if(%c, %x) then @one else @two : f32[4]\n",
     1 + 4 + 4 + (4 + 8 * 4 + 16) + 2 * (4 + 8 * 4 + 16)},
    {"graph @main(%x: f32[4], %w: f32[4]) {\n%y = loop(-, %x, %w) {trip=5, n_state=1} do @outer : "
     "f32[4]\n", 8 + 4 + 5 * ((8 + 4 + 16) + 2 * (8 + 8 * 4 + 16))},
};
static const char bodies[] = MUL
    "graph @one(%a: f32[4]) {\n%b = exp(%a)\noutput %b\n}\n"
    "graph @two(%a: f32[4]) {\n%b = exp(%a)\n%c = exp(%b)\noutput %c\n}\n"
    "graph @outer(%i: i64[], %s: f32[4], %w: f32[4]) {\n"
    "%t = loop(-, %s, %w) {trip=2, n_state=1} do @mul : f32[4]\noutput %t\n}\n";

static wk_module *parse(const char *graph) {
  wk_str text = {0};
  wk_module *m = NULL;
  wk_str_printf(&text, "module \"m\" {\n%soutput %%y\n}\n%s}\n", graph, bodies);
  wk_status s = wk_module_parse(text.s, "case", &m);
  if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
  wk_str_free(&text);
  return m;
}

static const wk_node *last_of(const wk_graph *g) { return &g->nodes.data[g->nodes.n - 1]; }

static void test_work(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(works); i++) {
    wk_module *m = parse(works[i].graph);
    int64_t work = wk_eval_work(m->main, last_of(m->main));
    if (work != works[i].work) {
      differ++;
      print_message("%s%lld, not %lld\n", works[i].graph, (long long)work,
                    (long long)works[i].work);
    }
    wk_module_free(m);
  }
  assert_int_equal(differ, 0);
}

/* ---- folding --------------------------------------------------------------------------------- */

static const struct {
  const char *graph;
  bool folds;
} foldable[] = {
    {"graph @main() {\n%k = constant f32[4] {1, 2, 3, 4}\n%y = exp(%k)\n", true},
    {"graph @main(%x: f32[4]) {\n%k = constant f32[4] {1, 2, 3, 4}\n%y = add(%k, %x)\n", false},
    {"graph @main(%x: f32[4]) {\n%k = constant f32[4] {1, 2, 3, 4}\n%y = add(%x, %k)\n", false},
    {"graph @main() {\n%k = constant f32[4] {1, 2, 3, 4}\n%y = loop(-, %k, %k) {trip=4096, "
     "n_state=1} do @mul : f32[4]\n", true},
    {"graph @main() {\n%k = constant f32[4] {1, 2, 3, 4}\n%y = loop(-, %k, %k) {trip=4097, "
     "n_state=1} do @mul : f32[4]\n", false},
    {"graph @main() {\n%k = constant f32[4] {1, 2, 3, 4}\n%y = loop(-, %k, %k) {trip=2, "
     "n_state=1} do @outer : f32[4]\n", false}, /* a loop in a loop */
    {"graph @main() {\n%c = constant bool[] {1}\n%k = constant f32[4] {1, 2, 3, 4}\n"
     "%y = if(%c, %k) then @one else @two : f32[4]\n", true},
    {"graph @main() {\n%y = random_uniform() {shape=[4]}\n", false},
};

static void test_foldable(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(foldable); i++) {
    wk_module *m = parse(foldable[i].graph);
    bool folds = wk_eval_is_foldable(m->main, last_of(m->main));
    if (folds != foldable[i].folds) fail_msg("%s: %d", foldable[i].graph, folds);
    wk_module_free(m);
  }
}

/* Bytes of both results, of what is left for constants and of work: each at its limit and one
 * below. */
static void test_limits(void **state) {
  (void)state;
  static const char graph[] = "graph @main() {\n%k = constant f32[4] {1, 2, 3, 4}\n"
                              "%y, %z = split(%k) {axis=0, sizes=[1,3]}\noutput %z\n";
  enum { BYTES = 16, WORK = 4 + 4 };
  for (int below = 0; below < 4; below++) {
    wk_module *m = parse(graph);
    bool folded;
    wk_node_id id = (wk_node_id)m->main->nodes.n - 1;
    int64_t budget = BYTES;
    m->constant_bytes_left = BYTES;
    m->fold_work_left = WORK;
    if (below == 1) budget--;
    if (below == 2) m->constant_bytes_left--;
    if (below == 3) m->fold_work_left--;
    assert_null(wk_eval_fold(m->main, id, budget, &folded));
    assert_int_equal(folded, below == 0);
    if (folded) {
      assert_int_equal(m->fold_work_left, 0);
      assert_int_equal(m->constant_bytes_left, 0);
      assert_true(wk_nod(m->main, id)->dead);
      const wk_value *y = wk_val(m->main, m->main->outputs.data[1]);
      const wk_value *z = wk_val(m->main, m->main->outputs.data[0]);
      assert_true(y->kind == WK_VALUE_CONSTANT && z->kind == WK_VALUE_CONSTANT);
      assert_true(*(const float *)y->data == 1 && ((const float *)z->data)[2] == 4);
    } else {
      assert_int_equal(m->fold_work_left, WORK - (below == 3));
      assert_false(wk_nod(m->main, id)->dead);
    }
    wk_module_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_work), cmocka_unit_test(test_foldable),
                                     cmocka_unit_test(test_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
