/* SPDX-License-Identifier: Apache-2.0
 * How values lie where they enter and leave the accelerator's parts, and graphs that are changed
 * for it before they are cut: each condition by its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/pipeline/targets.h"
#include "targets/accel/compile/net.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"

#define QUANTISED "sat<i8>(rescale(%0, 9000000i64, 13i64))"
#define CONV(y, x, w, attrs, type)                                                               \
  "  %w" y " = constant i8[" w "] splat(3)\n  %" y " = conv(%" x ", %w" y ") {strides=[1,1], "   \
  "pads=[0,0,0,0], " attrs ", epilogue=\"" QUANTISED "\"} : i8[" type "]\n"
#define PLAIN "dilations=[1,1]"

static wk_module *module_of(const char *graph) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\ngraph @main%s}\n}\n", graph);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s: %s: %s", s->place, s->message, graph);
  wk_str_free(&text);
  return m;
}

static wk_value_id value_named(const wk_graph *g, const char *name) {
  for (wk_value_id v = 0; v < g->values.n; v++)
    if (wk_val(g, v)->name && !strcmp(wk_val(g, v)->name, name)) return v;
  fail_msg("no value %s", name);
  return WK_NONE;
}

/* ---- dense images ---------------------------------------------------------------------------- */

static void bytes_of_pixels(void **state) {
  static const int want[] = {1, 1, 2, 4, 4, 8, 8, 8, 8, 16};
  (void)state;
  for (int i = 1; i < 10; i++) assert_int_equal(wk_accel_dense_lanes(i), want[i]);
}

/* Is %x dense where it enters? Machine "base": 16 lanes. */
static const struct {
  bool is_dense;
  const char *graph;
} images[] = {
    {true, "(%x: i8[1,3,4,4]) {\n" CONV("y", "x", "8,3,1,1", PLAIN, "1,8,4,4") "  output %y\n"},
    {true, "(%x: i8[1,8,4,4]) {\n" CONV("y", "x", "8,8,1,1", PLAIN, "1,8,4,4") "  output %y\n"},
    {true, "(%x: i8[1,1,2,2]) {\n" CONV("y", "x", "8,1,1,1", PLAIN, "1,8,2,2") "  output %y\n"},
    /* more than half of the lanes; a stack; a row, a column */
    {false, "(%x: i8[1,9,4,4]) {\n" CONV("y", "x", "8,9,1,1", PLAIN, "1,8,4,4") "  output %y\n"},
    {true, "(%x: i8[2,3,4,4]) {\n" CONV("y", "x", "8,3,1,1", PLAIN, "2,8,4,4") "  output %y\n"},
    {false, "(%x: i8[1,3,1,4]) {\n" CONV("y", "x", "8,3,1,1", PLAIN, "1,8,1,4") "  output %y\n"},
    {false, "(%x: i8[1,3,4,1]) {\n" CONV("y", "x", "8,3,1,1", PLAIN, "1,8,4,1") "  output %y\n"},
    {false, "(%x: i8[1,3,4]) {\n  %w = constant i8[8,3,1] splat(3)\n  %y = conv(%x, %w) {"
            "strides=[1], pads=[0,0], dilations=[1], epilogue=\"" QUANTISED
            "\"} : i8[1,8,4]\n  output %y\n"},
    /* a result as well; read by nobody, by something else, by something else as well */
    {false, "(%x: i8[1,3,4,4]) {\n" CONV("y", "x", "8,3,1,1", PLAIN, "1,8,4,4")
            "  output %y\n  output %x\n"},
    {false, "(%x: i8[1,3,4,4]) {\n" CONV("y", "x", "8,3,1,1", PLAIN, "1,8,4,4")
            "  output %x\n  output %y\n"},
    {false, "(%x: i8[1,3,4,4], %z: i8[1,3,4,4]) {\n"
            CONV("y", "z", "8,3,1,1", PLAIN, "1,8,4,4") "  output %y\n"},
    {false, "(%x: i8[1,3,4,4]) {\n  %y = map(%x) {body=\"min(%0, 7i8)\"} : i8[1,3,4,4]\n"
            "  output %y\n"},
    {false, "(%x: i8[1,3,4,4]) {\n  %a = map(%x) {body=\"min(%0, 7i8)\"} : i8[1,3,4,4]\n"
            CONV("y", "x", "8,3,1,1", PLAIN, "1,8,4,4") "  output %a\n  output %y\n"},
    {false, "(%x: i8[1,3,4,4]) {\n" CONV("y", "x", "8,3,1,1", PLAIN, "1,8,4,4")
            "  %a = map(%x) {body=\"min(%0, 7i8)\"} : i8[1,3,4,4]\n  output %a\n  output %y\n"},
    /* as weights, as a residual */
    {false, "(%z: i8[1,3,4,4], %x: i8[1,3,4,4]) {\n  %y = conv(%z, %x) {strides=[1,1], "
            "pads=[0,0,0,0], dilations=[1,1], epilogue=\"" QUANTISED
            "\"} : i8[1,1,1,1]\n  output %y\n"},
    {false, "(%z: i8[1,3,4,4], %x: i8[1,3,4,4]) {\n  %w = constant i8[3,3,1,1] splat(3)\n"
            "  %y = conv(%z, %w, -, %x) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
            "epilogue=\"sat<i8>(shr_round(add(mul(i32(" QUANTISED "), 5i32), mul(i32(%1), 3i32)), "
            "4i32))\"} : i8[1,3,4,4]\n  output %y\n"},
    /* groups; dilation along rows, along columns */
    {false, "(%x: i8[1,4,4,4]) {\n" CONV("y", "x", "8,2,1,1", PLAIN ", group=2", "1,8,4,4")
            "  output %y\n"},
    {true, "(%x: i8[1,3,4,4]) {\n" CONV("y", "x", "8,3,2,1", "dilations=[2,1]", "1,8,2,4")
           "  output %y\n"},
    {false, "(%x: i8[1,3,4,4]) {\n" CONV("y", "x", "8,3,1,2", "dilations=[1,2]", "1,8,4,2")
            "  output %y\n"},
    /* two readers, whose padding is the same or not; of the second group */
    {true, "(%x: i8[1,4,4,4]) {\n" CONV("a", "x", "8,4,1,1", PLAIN ", pad_value=5", "1,8,4,4")
           CONV("y", "x", "8,4,1,1", PLAIN ", pad_value=5", "1,8,4,4")
           "  output %a\n  output %y\n"},
    {false, "(%x: i8[1,4,4,4]) {\n" CONV("a", "x", "8,4,1,1", PLAIN ", pad_value=5", "1,8,4,4")
            CONV("y", "x", "8,4,1,1", PLAIN ", pad_value=6", "1,8,4,4")
            "  output %a\n  output %y\n"},
    {false, "(%x: i8[1,4,4,4]) {\n" CONV("a", "x", "8,4,1,1", PLAIN ", pad_value=5", "1,8,4,4")
            CONV("y", "x", "8,4,1,1", PLAIN, "1,8,4,4") "  output %a\n  output %y\n"},
    {false, "(%x: i8[1,4,4,4]) {\n" CONV("a", "x", "8,4,1,1", PLAIN, "1,8,4,4")
            CONV("y", "x", "8,2,1,1", PLAIN ", group=2", "1,8,4,4") "  output %a\n  output %y\n"},
};

static void dense_inputs(void **state) {
  wk_machine base;
  (void)state;
  assert_null(wk_machine_read("base", &base));
  for (size_t i = 0; i < WK_COUNTOF(images); i++) {
    wk_module *m = module_of(images[i].graph);
    bool is_dense = wk_accel_dense_axis(&base, m->main, value_named(m->main, "x")) >= 0;
    if (is_dense != images[i].is_dense) fail_msg("%d: %s", is_dense, images[i].graph);
    wk_module_free(m);
  }
}

/* ---- the axis of the lanes ------------------------------------------------------------------- */

/* "NAME:AXIS …". */
static const struct {
  const char *graph, *axes;
} layouts[] = {
    /* inputs: of four axes the second one, else the last one, or what a window reads them by */
    {"(%a: i8[5], %b: i8[5,6], %c: i8[5,6,7], %d: i8[5,6,7,8], %e: i8[5,6,7,8,9]) {\n"
     "  output %a\n", "a:0 b:1 c:2 d:1 e:4"},
    {"(%x: i8[1,4,8]) {\n  %p = max_pool(%x) {kernel=[1], strides=[1], pads=[0,0], dilations=[1]} "
     ": i8[1,4,8]\n  %m = map(%p) {body=\"min(%0, 7i8)\"} : i8[1,4,8]\n  output %m\n",
     "x:1 p:1 m:1"},
    {"(%x: i8[1,4,4,4]) {\n" CONV("c", "x", "8,4,1,1", PLAIN, "1,8,4,4")
     "  %w = constant i8[8,3,2,2] splat(3)\n  %t = conv_transpose(%c, %w) {strides=[2,2], "
     "pads=[0,0,0,0], dilations=[1,1], output_padding=[0,0], epilogue=\"" QUANTISED
     "\"} : i8[1,3,8,8]\n  output %t\n", "c:1 t:1"},
    {"(%x: i8[1,4,4,4]) {\n  %a = integer_avg_pool(%x) {kernel=[2,2], strides=[1,1], "
     "pads=[0,0,0,0], dilations=[1,1], real_pads=[0,0,0,0], lo=-128, hi=127, to=i8} : "
     "i8[1,4,3,3]\n  output %a\n", "a:1"},
    {"(%x: i8[2,3,4,8], %z: i8[2,3,8,5]) {\n  %w = constant i8[8,6] splat(3)\n"
     "  %p = matmul(%x, %w) {epilogue=\"" QUANTISED "\"} : i8[2,3,4,6]\n"
     "  %q = integer_matmul(%x, %z) {epilogue=\"" QUANTISED "\"} : i8[2,3,4,5]\n"
     "  %s = integer_softmax(%x) {axis=3, mult=1073741824, shift=30, lo=-128, hi=127, to=i8} : "
     "i8[2,3,4,8]\n"
     "  %u = integer_softmax(%x) {axis=2, mult=1073741824, shift=30, lo=-128, hi=127, to=i8} : "
     "i8[2,3,4,8]\n"
     "  %g = constant i32[8] splat(3)\n  %b = constant i32[8] splat(0)\n"
     "  %n = integer_norm(%x, %g, %b) {axis=3, shift=20, lo=-128, hi=127, to=i8} : i8[2,3,4,8]\n"
     "  output %p\n  output %q\n  output %s\n  output %u\n  output %n\n",
     "x:3 p:3 q:3 s:3 u:2 n:3"},
    /* elementwise: as the operand that has the result's dims, be it the second one */
    {"(%x: i8[2,3,4,8], %z: i8[2,3,1,8]) {\n"
     "  %s = integer_softmax(%x) {axis=3, mult=1073741824, shift=30, lo=-128, hi=127, to=i8} : "
     "i8[2,3,4,8]\n"
     "  %a = map(%z, %s) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[2,3,4,8]\n"
     "  %b = map(%s, %z) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[2,3,4,8]\n"
     "  %c = map(%x, %s) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[2,3,4,8]\n"
     "  output %a\n  output %b\n  output %c\n", "a:3 b:3 c:3"},
    {"(%x: i8[2,1,4,8], %z: i8[2,3,1,8]) {\n" /* neither has them: the last one of as many axes */
     "  %s = integer_softmax(%z) {axis=3, mult=1073741824, shift=30, lo=-128, hi=127, to=i8} : "
     "i8[2,3,1,8]\n"
     "  %a = map(%x, %s) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[2,3,4,8]\n"
     "  %b = map(%s, %x) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[2,3,4,8]\n"
     "  output %a\n  output %b\n", "a:3 b:1"},
    {"(%x: i8[3,8]) {\n  %c = constant i8[2,3,1,8] splat(3)\n" /* of fewer axes: none */
     "  %a = map(%c, %x) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[2,3,3,8]\n"
     "  output %a\n", "a:1"},
    /* tables, padding and what is put together: as what is read */
    {"(%x: u8[2,3,4,8]) {\n  %t = constant i8[256] splat(3)\n"
     "  %s = integer_softmax(%x) {axis=3, mult=1073741824, shift=30, lo=0, hi=255, to=u8} : "
     "u8[2,3,4,8]\n  %g = gather(%t, %s) : i8[2,3,4,8]\n  %c = concat(%s, %x) {axis=0} : "
     "u8[4,3,4,8]\n  %d = concat(%x, %s) {axis=0} : u8[4,3,4,8]\n"
     "  %f = constant u8[] {0}\n  %p = pad(%s, %f) {before=[0,0,0,0], after=[0,0,0,8]} : "
     "u8[2,3,4,16]\n  output %g\n  output %c\n  output %d\n  output %p\n",
     "g:3 c:3 d:3 p:3"},
    /* movement takes the axis along */
    {"(%x: i8[2,3,4,8]) {\n  %t = transpose(%x) {perm=[0,2,3,1]} : i8[2,4,8,3]\n"
     "  %s = slice(%t) {starts=[0,0,0,0], sizes=[2,2,8,3], steps=[1,1,1,1]} : i8[2,2,8,3]\n"
     "  %r = reshape(%s) {shape=[2,2,8,1,3]} : i8[2,2,8,1,3]\n"
     "  %m = map(%r) {body=\"min(%0, 7i8)\"} : i8[2,2,8,1,3]\n  output %m\n",
     "t:3 s:3 r:4 m:4"},
    {"(%x: i8[2,32,4,8]) {\n  %r = reshape(%x) {shape=[2,2,16,4,8]} : i8[2,2,16,4,8]\n"
     "  %t = transpose(%r) {perm=[0,2,1,3,4]} : i8[2,16,2,4,8]\n  output %t\n", "r:2 t:1"},
};

static void axes_of_lanes(void **state) {
  wk_machine base;
  (void)state;
  assert_null(wk_machine_read("base", &base));
  for (size_t i = 0; i < WK_COUNTOF(layouts); i++) {
    wk_module *m = module_of(layouts[i].graph);
    char name[20];
    int axis, used;
    for (const char *at = layouts[i].axes; sscanf(at, " %19[a-z]:%d%n", name, &axis, &used) == 2;
         at += used) {
      int got = wk_accel_edge_lanes(&base, m->main, value_named(m->main, name)).axis;
      if (got != axis) fail_msg("%s: %d, not %d, of %s", name, got, axis, layouts[i].graph);
    }
    wk_module_free(m);
  }
}

/* ---- channels that are shuffled -------------------------------------------------------------- */

#define SHUFFLED(x, apart, perm, turned, y)                                                      \
  "(%x: " x ") {\n  %a = reshape(%x) {shape=[" apart "]} : i8[" apart "]\n  %t = transpose(%a) " \
  "{perm=[" perm "]} : i8[" turned "]\n  %y = reshape(%t) {shape=[" y "]} : i8[" y "]\n"         \
  "  output %y\n"

static const struct {
  int convs;
  const char *graph;
} shuffles[] = {
    {1, SHUFFLED("i8[1,6,2,3]", "1,2,3,2,3", "0,2,1,3,4", "1,3,2,2,3", "1,6,2,3")},
    {1, SHUFFLED("i8[2,6,2,3]", "2,3,2,2,3", "0,2,1,3,4", "2,2,3,2,3", "2,6,2,3")},
    {1, SHUFFLED("i8[1,1024,1,2]", "1,2,512,1,2", "0,2,1,3,4", "1,512,2,1,2", "1,1024,1,2")},
    {0, SHUFFLED("i8[1,1026,1,2]", "1,2,513,1,2", "0,2,1,3,4", "1,513,2,1,2", "1,1026,1,2")},
    /* other axes, other orders */
    {0, SHUFFLED("i8[1,6,2,3]", "1,2,3,2,3", "0,1,2,3,4", "1,2,3,2,3", "1,6,2,3")},
    {0, SHUFFLED("i8[1,6,2,2]", "1,2,3,2,2", "0,2,1,4,3", "1,3,2,2,2", "1,6,2,2")},
    {0, SHUFFLED("i8[2,6,2,3]", "2,2,3,2,3", "1,2,0,3,4", "2,3,2,2,3", "2,6,2,3")},
    {0, SHUFFLED("i8[1,6,2,3]", "1,2,3,3,2", "0,2,1,3,4", "1,3,2,3,2", "1,6,2,3")},
    {0, SHUFFLED("i8[1,6,2,3]", "1,2,3,2,3", "0,2,1,3,4", "1,3,2,2,3", "1,6,3,2")},
    {0, SHUFFLED("i8[2,6,2,3]", "1,4,3,2,3", "0,2,1,3,4", "1,3,4,2,3", "2,6,2,3")},
    {0, SHUFFLED("i8[1,6,4]", "1,2,3,4", "0,2,1,3", "1,3,2,4", "1,6,4")},
    {0, SHUFFLED("i8[1,6,1,4]", "1,2,3,4", "0,2,1,3", "1,3,2,4", "1,6,1,4")},
    {0, "(%x: i8[1,6,2,3]) {\n  %a = reshape(%x) {shape=[1,2,3,2,3]} : i8[1,2,3,2,3]\n"
        "  %y = transpose(%a) {perm=[0,2,1,3,4]} : i8[1,3,2,2,3]\n  output %y\n"},
    {0, "(%x: i8[1,2,3,2,3]) {\n  %t = transpose(%x) {perm=[0,2,1,3,4]} : i8[1,3,2,2,3]\n"
        "  %y = reshape(%t) {shape=[1,6,2,3]} : i8[1,6,2,3]\n  output %y\n"},
    {0, "(%x: i32[1,6,2,3]) {\n  %a = reshape(%x) {shape=[1,2,3,2,3]} : i32[1,2,3,2,3]\n"
        "  %t = transpose(%a) {perm=[0,2,1,3,4]} : i32[1,3,2,2,3]\n"
        "  %y = reshape(%t) {shape=[1,6,2,3]} : i32[1,6,2,3]\n  output %y\n"},
};

static int convs_of(const wk_graph *g) {
  int n = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    n += !g->nodes.data[i].dead && g->nodes.data[i].op == WK_OP_CONV;
  return n;
}

static void shuffled_channels(void **state) {
  (void)state;
  wk_targets targets;
  wk_status opened =
      wk_targets_open(&(wk_target_args){.target = "accel:base", .cpu = "avx2"}, &targets);
  if (opened) fail_msg("%s", opened->message);
  for (size_t i = 0; i < WK_COUNTOF(shuffles); i++) {
    wk_module *m = module_of(shuffles[i].graph), *was = wk_module_clone(m);
    const wk_graph *g = was->main;
    wk_tensor *in = random_integer_inputs(g, 1), want = {0}, got = {0};
    wk_str why = {0};
    wk_adaptation done = {0};
    wk_status s = wk_accel_adapt(targets.list[0], m, &done);
    if (!s) s = wk_eval_graph(g, in, &want, NULL, NULL);
    if (!s) s = wk_eval_graph(m->main, in, &got, NULL, NULL);
    if (s) fail_msg("%s: %s", s->message, shuffles[i].graph);
    if (convs_of(m->main) != shuffles[i].convs || (done.changes > 0) != (shuffles[i].convs > 0))
      fail_msg("%d, %lld changes: %s", convs_of(m->main), (long long)done.changes,
               shuffles[i].graph);
    if (!random_same(g, &got, &want, &why)) fail_msg("%s: %s", why.s, shuffles[i].graph);
    random_tensors_free(in, g->inputs.n);
    wk_tensor_free(&want);
    wk_tensor_free(&got);
    wk_module_free(was);
    wk_module_free(m);
  }
  wk_targets_close(&targets);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_of_pixels), cmocka_unit_test(dense_inputs),
      cmocka_unit_test(axes_of_lanes), cmocka_unit_test(shuffled_channels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
