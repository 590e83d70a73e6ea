/* SPDX-License-Identifier: Apache-2.0
 * Movement of quantised tensors: which operators move the integers, what is left of them, and that
 * the results are the same numbers. */
#include <string.h>

#include "tests/unit/graph_text.h"

#include "compiler/integer/integer.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"

#define NUMBERS                                                                              \
  "%s = constant f32[] {0.5}\n%z = constant i8[] {3}\n%w0 = constant i8[] {0}\n"             \
  "%k0 = constant f32[] {0.0}\n%k2 = constant f32[] {2.0}\n"                                 \
  "%big = constant i64[] {1152921504606846977}\n"                                           \
  "%rs = constant f32[2,1] {0.5, 0.25}\n%rz = constant i8[2,1] {3, -7}\n"
#define X "%x = dequantize(%a, %s, %z)\n"
#define X0 "%x = dequantize(%a, %s, %w0)\n"
#define ROWS "%x = dequantize(%a, %rs, %rz)\n"
#define ALIKE                                                                                   \
  "%as = constant f32[2,1] {0.5, 0.5}\n%az = constant i8[2,1] {3, 3}\n"                        \
  "%x = dequantize(%a, %as, %az)\n"
#define CUBE                                                                                    \
  "%cs = constant f32[1,1,3] {0.5, 0.5, 0.5}\n%c = reshape(%a) {shape=[1,2,3]}\n"              \
  "%x = dequantize(%c, %cs, %z)\n"
#define Q "%q = quantize(%y, %s, %z) {to=i8}\noutput %q\n"
#define Q0 "%q = quantize(%y, %s, %w0) {to=i8}\noutput %q\n"
#define TWICE X "%d = add(%x, %x)\n"
#define PAD(mode) "{before=[0,1], after=[1,0], mode=\"" mode "\"}\n"
#define RESIZE "sizes=[2,6], scales=[1.0,2.0], "

static const struct { const char *body, *left; } cases[] = {
    /* what is padded with is real 0: the zero point */
    {X "%y = pad(%x) " PAD("constant") Q, "pad"},
    {X "%y = pad(%x, %k0) " PAD("constant") Q, "pad"},
    {X0 "%y = pad(%x) " PAD("constant") Q0, "pad"},
    {X0 "%y = pad(%x, %k0) " PAD("constant") Q0, "pad"},
    {X "%y = pad(%x, %k2) " PAD("constant") Q, "dequantize pad quantize"},
    {X "%y = pad(%x, %f) " PAD("constant") Q, "dequantize pad quantize"},
    {X "%y = pad(%x, -) " PAD("constant") Q, "pad"},
    {X "%y = pad(%x) " PAD("edge") Q, "pad"},
    {X "%y = pad(%x) " PAD("wrap") Q, "pad"},
    {X "%y = pad(%x) {before=[0,2], after=[1,1], mode=\"reflect\"}\n" Q, "pad"},
    {ROWS "%y = pad(%x) " PAD("edge") Q, "dequantize pad quantize"},
    {X "%y = resize(%x) {" RESIZE "mode=\"nearest\"}\n" Q, "resize"},
    {X "%y = resize(%x) {" RESIZE "mode=\"linear\"}\n" Q, "integer_resize"},
    {X "%y = resize(%x) {" RESIZE "mode=\"cubic\"}\n" Q, "dequantize resize quantize"},
    {X "%y = resize(%x) {" RESIZE "mode=\"nearest\", coordinates=\"tf_crop_and_resize\", "
     "roi=[0.0,0.0,1.0,1.5], extrapolation=1.0}\n" Q, "dequantize resize quantize"},
    {X "%y = tile(%x) {repeats=[2,1]}\n" Q, "tile"},
    {X "%y = slice(%x) {starts=[0,1], sizes=[2,2], steps=[1,1]}\n" Q, "slice"},
    {X "%y = reshape(%x) {shape=[3,2]}\n" Q, "reshape"},
    {X "%y = expand(%x) {shape=[2,2,3]}\n" Q, "expand"},
    {X "%y = gather(%x, %i) {axis=0}\n" Q, "gather"},
    {X "%y = transpose(%x) {perm=[1,0]}\n" Q, "transpose"},
    {X "%t = transpose(%x) {perm=[1,0]}\n%y = pad(%t) " PAD("constant") Q, "transpose pad"},
    {ROWS "%y = transpose(%x) {perm=[1,0]}\n" Q, "transpose dequantize quantize"},
    {ROWS "%y = slice(%x) {starts=[0,1], sizes=[2,2], steps=[1,1]}\n" Q,
     "dequantize slice quantize"},
    /* what is computed, moved and then quantised is quantised first */
    {TWICE "%y = transpose(%d) {perm=[1,0]}\n" Q, "map transpose"},
    {TWICE "%y = reshape(%d) {shape=[6]}\n" Q, "map reshape"},
    {TWICE "%y = slice(%d) {starts=[0,1], sizes=[2,2], steps=[1,1]}\n" Q,
     "dequantize add slice quantize"},
    {TWICE "%y = transpose(%d) {perm=[1,0]}\noutput %y\n" Q, "dequantize add transpose quantize"},
    {TWICE "%y = transpose(%d) {perm=[1,0]}\noutput %d\n" Q, "dequantize add transpose quantize"},
    {TWICE "%y = transpose(%d) {perm=[1,0]}\n%cs = constant f32[1,2] {0.5, 0.25}\n"
     "%q = quantize(%y, %cs, %z) {to=i8}\noutput %q\n", "dequantize add transpose quantize"},
    {TWICE "%y = transpose(%d) {perm=[1,0]}\n%cz = constant i8[1,2] {0, 3}\n"
     "%q = quantize(%y, %s, %cz) {to=i8}\noutput %q\n", "dequantize add transpose quantize"},
    {"%y = transpose(%r) {perm=[1,0]}\n" Q, "transpose quantize"},
    {X "%y, %u = split(%x) {axis=1, sizes=[1,2]}\noutput %u\n" Q, "slice slice dequantize"},
    {X "%y, - = split(%x) {axis=1, sizes=[1,2]}\n" Q, "slice"},
    {X "%u, %y = split(%x) {axis=0, sizes=[1,1]}\n" Q, "slice"},
    {X "%u, %v, %y = split(%x) {axis=1, sizes=[1,1,1]}\n%o = add(%u, %v)\noutput %o\n" Q,
     "slice dequantize slice dequantize add slice"},
    /* clamps rise, but for those of integers */
    {TWICE "%t = reshape(%d) {shape=[6]}\n%y = max(%t, %k0)\noutput %y\n",
     "dequantize add clip reshape"},
    {X "%j = add(%i, %i)\n%t = reshape(%j) {shape=[3,1]}\n%y = max(%t, %big)\noutput %y\n",
     "dequantize add reshape max"},
    /* one number as many: per row, all alike */
    {ALIKE "%y = concat(%x, %x) {axis=0}\noutput %y\n", "concat dequantize"},
    {ALIKE "%u = slice(%x) {starts=[0,0], sizes=[1,3], steps=[1,1]}\n"
     "%y = concat(%x, %u) {axis=0}\noutput %y\n", "slice concat dequantize"},
    {CUBE "%y, - = max_pool(%x) {kernel=[2], strides=[1], pads=[0,0], dilations=[1]}\noutput %y\n",
     "reshape max_pool dequantize"},
};

static void must(size_t k, wk_status s) {
  if (s) fail_msg("case %zu: %s: %s", k, s->place ? s->place : "", s->message);
}

static int bad;

static void expect_left(size_t k, const wk_graph *g) {
  wk_str left = {0};
  wk_str_add(&left, "");
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead)
      wk_str_printf(&left, "%s%s", left.n ? " " : "", wk_op_get(g->nodes.data[i].op)->name);
  if (strcmp(left.s, cases[k].left)) {
    print_error("case %zu: %s  left: %s\n  want: %s\n", k, cases[k].body, left.s, cases[k].left);
    bad++;
  }
  wk_str_free(&left);
}

static void expect_same(size_t k, const wk_graph *real, const wk_graph *integer) {
  size_t n = real->outputs.n;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    wk_tensor *in = random_integer_inputs(real, seed);
    wk_tensor *want = wk_xcalloc(n, sizeof *want), *got = wk_xcalloc(n, sizeof *got);
    for (size_t i = 0; i < real->inputs.n; i++)
      if (in[i].type.dtype == WK_I64) memset(in[i].data, 0, wk_type_bytes(&in[i].type));
    must(k, wk_eval_graph(real, in, want, NULL, NULL));
    must(k, wk_eval_graph(integer, in, got, NULL, NULL));
    for (size_t i = 0; i < n; i++) {
      assert_true(wk_type_equal(&want[i].type, &got[i].type));
      if (!memcmp(want[i].data, got[i].data, (size_t)wk_type_bytes(&want[i].type))) continue;
      print_error("case %zu, output %zu differs: %s", k, i, cases[k].body);
      bad++;
    }
    random_tensors_free(want, n);
    random_tensors_free(got, n);
    random_tensors_free(in, real->inputs.n);
  }
}

static void test_moves(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    wk_module *m =
        graph_of("%a: i8[2,3], %f: f32[], %i: i64[3], %r: f32[2,3]", NUMBERS, cases[k].body);
    wk_module *c = wk_module_clone(m);
    int64_t changes;
    do must(k, wk_integer_convert(c, &changes));
    while (changes);
    must(k, wk_module_verify(c));
    expect_left(k, c->main);
    expect_same(k, m->main, c->main);
    wk_module_free(c);
    wk_module_free(m);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
