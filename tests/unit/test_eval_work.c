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
    {"graph @main(%x: f32[2,3]) {\n%y = reduce(%x) {axes=[1], post=\"exp(%0)\"}\n",
     6 + (1 + 4 * 2) * 2},
    /* what is walked is the inputs against each other */
    {"graph @main(%x: f32[5,1], %w: f32[1,7]) {\n%y = reduce(%x, %w) {axes=[0,1], "
     "pre=\"add(%0, %1)\"}\n", 35 * (1 + 4 * 3) + 1},
    {"graph @main(%x: f32[7], %w: f32[5,1]) {\n%y = reduce(%x, %w) {axes=[0], kind=\"argmax\", "
     "pre=\"mul(%0, %1)\"}\n", 35 * (1 + 4 * 3) + 7},
    {"graph @main(%x: f32[2,1,1], %w: f32[3,1], %v: f32[4]) {\n%y = reduce(%x, %w, %v) {axes=[2], "
     "pre=\"add(add(%0, %1), %2)\"}\n", 24 * (1 + 4 * 5) + 6},
    {"graph @main(%x: f32[4], %w: f32[4]) {\n%y = reduce(%x, %w) {axes=[0], "
     "pre=\"add(%0, %1)\"}\n", 8 * (1 + 4 * 3) + 1},
    {"graph @main(%x: f32[2,3], %w: f32[3,4]) {\n%y = matmul(%x, %w) "
     "{epilogue=\"exp(%0)\"}\n", 24 + 18 + (1 + 4 * 2) * 8},
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
    {"graph @main(%x: f32[1,1,4,4], %r: f32[3,4], %b: i64[3]) {\n%y = roi_align(%x, %r, %b) "
     "{height=2, width=1, samples=1}\n", 16 + 12 + 3 + 1 * 6},
    {"graph @main(%x: f32[5,4], %o: i64[3]) {\n%y = segment_reduce(%x, %o)\n",
     20 + 3 + 5 * 8 * 4 + 8},
    {"graph @main(%x: f32[5,4], %o: i64[3], %i: i64[7]) {\n%y = segment_reduce(%x, %o, %i)\n",
     20 + 3 + 7 + 7 * 8 * 4 + 8},
    {"graph @main(%x: i8[1,1,4,6]) {\n%y = integer_avg_pool(%x) {" POOL ", real_pads=[0,0,0,0], "
     "to=i8, lo=-128, hi=127}\n", 24 + 6 * 4},
    {"graph @main(%x: i8[2,3]) {\n%y = integer_softmax(%x) {axis=1, scale=0.5, mult=1073741824, "
     "shift=22, to=i8, lo=-128, hi=127}\n", 6 + 4 * 6},
    {"graph @main(%x: i8[2,3], %g: i32[3], %b: i32[3]) {\n%y = integer_norm(%x, %g, %b) {axis=1, "
     "centred=1, epsilon=1, shift=20, to=i8, lo=-128, hi=127}\n", 6 + 3 + 3 + 4 * 6},
    {"graph @main(%x: f32[1,1,2,2], %t: u8[1,1,2,2]) {\n%y = unpool(%x, %t) {" POOL
     ", size=[4,6]}\n", 4 + 4 + 6 * 24},
    {"graph @main(%b: f32[1,3,4], %s: f32[1,2,3]) {\n%y = non_max_suppression(%b, %s) {rows=5}\n",
     12 + 6 + 12 * 18},
    {"graph @main(%x: f32[1,1,2,2]) {\n%y = resize(%x) {sizes=[1,1,4,4], "
     "scales=[1.0,1.0,2.0,2.0]}\n", 4 + 16 * 16},
    {"graph @main(%x: f32[1,2,4,4], %w: f32[3,2,2,2]) {\n%y = conv(%x, %w) {strides=[1,1], "
     "pads=[0,0,0,0], dilations=[1,1]}\n", 27 * 8 + 32 + 24 + 27},
    {"graph @main(%x: f32[1,2,4,4], %w: f32[3,2,2,2]) {\n%y = conv(%x, %w) {strides=[1,1], "
     "pads=[0,0,0,0], dilations=[1,1], epilogue=\"exp(%0)\"}\n",
     27 * 8 + 32 + 24 + (1 + 4 * 2) * 27},
    {"graph @main(%x: f32[2,3]) {\n%y = softmax(%x) {axis=1}\n", 6 + 6},
    {"graph @main(%x: f32[2,3], %i: i64[4]) {\n%y = gather(%x, %i) {axis=0}\n", 6 + 4 + 12},
    {"graph @main() {\n%y = random_uniform() {shape=[4]}\n", 4},
    {"graph @main(%x: f32[4]) {\n%y = cum_sum(%x) {axis=0}\n", 4 + 4},
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
    {"graph @main(%x: f32[4], %w: f32[4]) {\n%y = loop(-, %x, %w) {trip=5, n_state=1} do @idle : "
     "f32[4]\n", 8 + 4 + 5 * (8 + 4 + 16)},
};
static const char bodies[] = MUL
    "graph @one(%a: f32[4]) {\n%b = exp(%a)\noutput %b\n}\n"
    "graph @two(%a: f32[4]) {\n%b = exp(%a)\n%c = exp(%b)\noutput %c\n}\n"
    "graph @outer(%i: i64[], %s: f32[4], %w: f32[4]) {\n"
    "%t = loop(-, %s, %w) {trip=2, n_state=1} do @mul : f32[4]\noutput %t\n}\n"
    "graph @idle(%i: i64[], %s: f32[4], %w: f32[4]) {\n"
    "%t = loop(-, %s, %w) {trip=0, n_state=1} do @mul : f32[4]\noutput %t\n}\n";

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

/* What is nested in arms: as many graphs at once as bodies may be deep. */
static void test_arms(void **state) {
  (void)state;
  static const struct { int in_first, in_second; bool random, folds; } rows[] = {
      {0, 0, false, true}, {1, 1, false, true}, {1, 0, true, false}, {0, 1, true, false},
      {32, 0, false, true}, {33, 0, false, false}, {0, 31, false, true}, {0, 32, false, false}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_module *m = NULL;
    wk_str text = {0};
    wk_str_add(&text, "module \"m\" {\ngraph @main() {\n%c = constant bool[] {1}\n%k = constant "
               "f32[4] {1, 2, 3, 4}\n%y = if(%c, %c, %k) then @first else @second : f32[4]\n"
               "output %y\n}\n");
    for (int arm = 0; arm < 2; arm++) {
      int n = arm ? rows[i].in_second : rows[i].in_first;
      wk_str_printf(&text, "graph @%s(%%c: bool[], %%v0: f32[4]) {\n", arm ? "second" : "first");
      for (int k = 0; k < n; k++)
        wk_str_printf(&text, "%%v%d = if(%%c, %%v%d) then @leaf%d_%d else @other%d_%d : f32[4]\n",
                      k + 1, k, arm, k, arm, k);
      wk_str_printf(&text, "%%r = exp(%%v%d)\noutput %%r\n}\n", n);
      for (int k = 0; k < 2 * n; k++)
        wk_str_printf(&text, "graph @%s%d_%d(%%a: f32[4]) {\n%s\noutput %%b\n}\n",
                      k & 1 ? "other" : "leaf", arm, k / 2,
                      rows[i].random && k & 1 ? "%b = random_uniform() {shape=[4]}"
                                              : "%b = exp(%a)");
    }
    wk_str_add(&text, "}\n");
    wk_status s = wk_module_parse(text.s, "case", &m);
    if (s) fail_msg("%s: %s\n%s", s->place ? s->place : "", s->message, text.s);
    if (wk_eval_is_foldable(m->main, last_of(m->main)) != rows[i].folds) fail_msg("row %zu", i);
    wk_str_free(&text);
    wk_module_free(m);
  }
}

/* Weights of few bits that become larger stay as they are until somebody takes them. */
static void test_widens(void **state) {
  (void)state;
  static const struct { const char *from, *to; bool widens; } rows[] = {
      {"i4", "f32", true}, {"u4", "f16", true}, {"i2", "i16", true}, {"u2", "bf16", true},
      {"f4e2m1fn", "f32", true}, {"i4", "i8", false}, {"u4", "u8", false}, {"u2", "bool", false},
      {"f8e5m2", "f32", false}, {"f6e2m3fn", "f32", false}, {"i8", "f32", false},
      {"f16", "f32", false}, {"bool", "f32", false}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    char text[256];
    snprintf(text, sizeof text, "graph @main(%%x: %s[4]) {\n%%y = cast(%%x) {to=%s}\n",
             rows[i].from, rows[i].to);
    wk_module *m = parse(text);
    if (wk_eval_widens(m->main, last_of(m->main)) != rows[i].widens) fail_msg("%s", text);
    wk_module_free(m);
  }
  wk_module *m = parse("graph @main(%x: i8[4], %s: f32[], %z: i8[]) {\n"
                       "%y = dequantize(%x, %s, %z)\n");
  assert_true(wk_eval_widens(m->main, last_of(m->main)));
  wk_module_free(m);
  m = parse("graph @main(%x: i4[4]) {\n%y = reshape(%x) {shape=[2,2]}\n");
  assert_false(wk_eval_widens(m->main, last_of(m->main)));
  wk_module_free(m);
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
                                     cmocka_unit_test(test_limits), cmocka_unit_test(test_arms),
                                     cmocka_unit_test(test_widens)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
