/* SPDX-License-Identifier: Apache-2.0
 * What the accelerator's compiler rewrites of products and images before anything is placed: which,
 * and that results stay the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/targets.h"
#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/net.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"

static wk_targets targets;

static wk_module *module_of(const char *graph) {
  wk_module *m;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\ngraph @main%s}\n}\n", graph);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s: %s: %s", s->place, s->message, graph);
  wk_str_free(&text);
  return m;
}

static int count(const wk_graph *g, wk_op op) {
  int n = 0;
  for (size_t i = 0; i < g->nodes.n; i++)
    n += !g->nodes.data[i].dead && g->nodes.data[i].op == op;
  return n;
}

/* Queries, then keys or values that are repeated, as they come, repeated, joined, and turned. */
#define SHARED(q, k, repeats, joined, turn, y)                                           \
  "(%q: u8[" q "], %k: u8[" k "]) {\n  %e = expand(%k) {shape=[" repeats "]}\n"          \
  "  %r = reshape(%e) {shape=[" joined "]}\n" turn                                       \
  "  %y = integer_matmul(%q, %" y ") {a_zero=7, b_zero=100, epilogue=\"sat<i8>(shr_round(%0, " \
  "9i32))\"}\n  output %y\n"
#define TURN(perm) "  %t = transpose(%r) {perm=[" perm "]}\n"

static const struct {
  int expands; /* that are left */
  const char *graph;
} products[] = {
    {0, SHARED("1,4,3,5", "1,2,1,5,6", "1,2,2,5,6", "1,4,5,6", "", "r")},
    {0, SHARED("1,4,3,5", "1,2,1,6,5", "1,2,2,6,5", "1,4,6,5", TURN("0,1,3,2"), "t")},
    {0, SHARED("2,6,3,5", "2,2,1,6,5", "2,2,3,6,5", "2,6,6,5", TURN("0,1,3,2"), "t")},
    {0, SHARED("6,3,5", "2,1,5,6", "2,3,5,6", "6,5,6", "", "r")},
    {0, SHARED("1,4,3,5", "1,1,1,5,6", "1,1,4,5,6", "1,4,5,6", "", "r")},
    /* repeated as a whole, other axes, other orders */
    {1, SHARED("1,4,3,5", "1,1,2,5,6", "1,2,2,5,6", "1,4,5,6", "", "r")},
    {1, SHARED("1,4,3,10", "1,2,2,1,6", "1,2,2,10,6", "1,4,10,6", "", "r")},
    {1, SHARED("1,4,3,5", "1,2,1,6,5", "1,2,2,6,5", "1,4,5,6", "", "r")},
    {1, SHARED("4,1,3,5", "1,2,1,6,5", "1,2,2,6,5", "1,4,6,5", TURN("1,0,3,2"), "t")},
    /* queries that are broadcast */
    {1, SHARED("1,1,3,5", "1,2,1,5,6", "1,2,2,5,6", "1,4,5,6", "", "r")},
};

/* Weights and biases of ones become numbers that differ. */
static void vary(wk_graph *g) {
  wk_rng r = {7};
  for (size_t v = 0; v < g->values.n; v++) {
    const wk_value *x = wk_val(g, (wk_value_id)v);
    int64_t most = x->type.dtype == WK_I8 ? 127 : 9999;
    if (x->kind != WK_VALUE_CONSTANT || x->type.dtype == WK_I64 ||
        wk_load_i64(x->data, x->type.dtype, 0) != 1)
      continue;
    for (int64_t i = 0; i < wk_type_count(&x->type); i++)
      wk_store_i64((void *)(uintptr_t)x->data, x->type.dtype, i, wk_rng_range(&r, -most, most));
  }
}

/* What rewrites a module. */
typedef wk_status rewriting(wk_module *m);

static wk_status adapt(wk_module *m) {
  wk_adaptation done = {0};
  return wk_accel_adapt(targets.list[0], m, &done);
}

static int64_t macs_of(const wk_graph *g) {
  int64_t n = 0;
  for (size_t i = 0; i < g->nodes.n; i++) n += wk_node_model_macs(g, &g->nodes.data[i]);
  return n;
}

/* The graph has so many of the operator left, and computes the same. Returns how many
 * multiplications of the model it counts fewer. */
static int64_t check_rewritten(rewriting *rewrite, const char *graph, wk_op op, int left) {
  wk_module *m = module_of(graph);
  vary(m->main);
  wk_module *was = wk_module_clone(m);
  const wk_graph *g = was->main;
  wk_tensor *in = random_integer_inputs(g, 1), want[3] = {0}, got[3] = {0};
  wk_str why = {0};
  wk_status s = rewrite(m);
  if (!s) s = wk_eval_graph(g, in, want, NULL, NULL);
  if (!s) s = wk_eval_graph(m->main, in, got, NULL, NULL);
  if (s) fail_msg("%s: %s", s->message, graph);
  if (count(m->main, op) != left) fail_msg("%d: %s", count(m->main, op), graph);
  if (!random_same(g, got, want, &why)) fail_msg("%s: %s", why.s, graph);
  const int64_t fewer = macs_of(g) - macs_of(m->main);
  random_tensors_free(in, g->inputs.n);
  for (size_t i = 0; i < g->outputs.n; i++) wk_tensor_free(&want[i]), wk_tensor_free(&got[i]);
  wk_module_free(was);
  wk_module_free(m);
  return fewer;
}

static void check_adapted(const char *graph, wk_op op, int left) {
  (void)check_rewritten(adapt, graph, op, left);
}

static void shared_heads(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(products); i++)
    check_adapted(products[i].graph, WK_OP_EXPAND, products[i].expands);
}

/* ---- columns of a product -------------------------------------------------------------------- */

#define JOINED(dims, w, rest)                                                      \
  "(%x: u8[" dims "64]) {\n  %w = constant i8[64," w "] splat(3)\n"                      \
  "  %b = constant i32[" w "] splat(500)\n"                                              \
  "  %y = matmul(%x, %w, %b) {epilogue=\"sat<i8>(shr_round(%0, 9i32))\"}\n" rest

static const struct {
  int products; /* that are left */
  const char *graph;
} columns[] = {
    {3, JOINED("2,5,", "48", "  %q, %k, %v = split(%y) {axis=2, sizes=[16,16,16]}\n"
               "  output %q\n  output %k\n  output %v\n")},
    {2, JOINED("5,", "48",
               "  %q = slice(%y) {starts=[0,0], sizes=[5,16], steps=[1,1]}\n"
               "  %k = slice(%y) {starts=[0,16], sizes=[5,32], steps=[1,1]}\n"
               "  output %q\n  output %k\n")},
    /* heads of queries, keys and values, taken apart before they are chosen */
    {3, JOINED("1,5,", "96", "  %r = reshape(%y) {shape=[1,5,3,2,16]}\n"
               "  %t = transpose(%r) {perm=[2,0,3,1,4]}\n"
               "  %0 = constant i64[] {0}\n  %1 = constant i64[] {1}\n"
               "  %2 = constant i64[] {-1}\n  %q = gather(%t, %0)\n  %k = gather(%t, %1)\n"
               "  %v = gather(%t, %2)\n  output %q\n  output %k\n  output %v\n")},
    /* more blocks than before, columns read twice, all of them read, rows */
    {1, JOINED("5,", "48",
               "  %q = slice(%y) {starts=[0,0], sizes=[5,24], steps=[1,1]}\n"
               "  %k = slice(%y) {starts=[0,24], sizes=[5,24], steps=[1,1]}\n"
               "  output %q\n  output %k\n")},
    {1, JOINED("5,", "48",
               "  %q = slice(%y) {starts=[0,0], sizes=[5,32], steps=[1,1]}\n"
               "  %k = slice(%y) {starts=[0,16], sizes=[5,32], steps=[1,1]}\n"
               "  output %q\n  output %k\n")},
    {1, JOINED("5,", "48",
               "  %q = slice(%y) {starts=[0,0], sizes=[5,16], steps=[1,1]}\n"
               "  %k = slice(%y) {starts=[0,16], sizes=[5,32], steps=[1,1]}\n"
               "  output %q\n  output %k\n  output %y\n")},
    {1, JOINED("6,", "48",
               "  %q = slice(%y) {starts=[0,0], sizes=[3,48], steps=[1,1]}\n"
               "  %k = slice(%y) {starts=[3,0], sizes=[3,48], steps=[1,1]}\n"
               "  output %q\n  output %k\n")},
};

static void columns_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(columns); i++)
    check_adapted(columns[i].graph, WK_OP_MATMUL, columns[i].products);
}

/* ---- images ---------------------------------------------------------------------------------- */

#define QUANTISED "epilogue=\"sat<i8>(rescale(%0, 9000000i64, 27i64))\""
#define ONE_TAP "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1], " QUANTISED "}\n"
#define MOVED(y, x, apart, perm, joined)                                                          \
  "  %a" y " = reshape(%" x ") {shape=[" apart "]}\n  %t" y " = transpose(%a" y ") {perm=[" perm  \
  "]}\n  %" y " = reshape(%t" y ") {shape=[" joined "]}\n"
#define CONV(y, x, w, attrs) \
  "  %w" y " = constant i8[" w "] splat(1)\n  %" y " = conv(%" x ", %w" y ") " attrs
#define END(y) "  output %" y "\n"
#define DEEP "(%x: i8[2,12,2,3]) {\n"
#define LAST "(%x: i8[2,4,6,5]) {\n"
#define WIDE "(%x: i8[2,3,4,6]) {\n"

static const struct {
  wk_op op;
  int left;
  const char *graph;
} images[] = {
    /* channels as [rows, columns, c], then [c, rows, columns], which are turned by a convolution */
    {WK_OP_TRANSPOSE, 0, DEEP MOVED("y", "x", "2,2,2,3,2,3", "0,3,4,1,5,2", "2,3,4,6") END("y")},
    {WK_OP_TRANSPOSE, 0, DEEP MOVED("y", "x", "2,3,2,2,2,3", "0,1,4,2,5,3", "2,3,4,6") END("y")},
    {WK_OP_CONV, 1, DEEP MOVED("y", "x", "2,3,2,2,2,3", "0,1,4,2,5,3", "2,3,4,6") END("y")},
    {WK_OP_TRANSPOSE, 0, WIDE MOVED("y", "x", "2,3,2,2,3,2", "0,3,5,1,2,4", "2,12,2,3") END("y")},
    {WK_OP_CONV, 1, WIDE MOVED("y", "x", "2,3,2,2,3,2", "0,1,3,5,2,4", "2,12,2,3") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 1,
     DEEP MOVED("y", "x", "2,3,4,1,2,3", "0,3,4,1,5,2", "2,1,6,12") END("y")},
    /* column by column; channels last, as rows or not */
    {WK_OP_DEPTH_TO_SPACE, 1,
     DEEP MOVED("y", "x", "2,2,2,3,2,3", "0,3,4,2,5,1", "2,3,4,6") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 1,
     WIDE MOVED("y", "x", "2,3,2,2,2,3", "0,5,3,1,2,4", "2,18,2,2") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 1,
     LAST MOVED("y", "x", "2,2,2,3,2,5", "0,1,3,4,2,5", "2,2,3,20") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 1,
     LAST MOVED("y", "x", "2,2,2,3,2,5", "0,1,3,2,4,5", "2,6,20") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 1,
     "(%x: i8[1,24,20]) {\n" MOVED("y", "x", "1,4,6,2,2,5", "0,1,3,2,4,5", "1,8,12,5") END("y")},
    /* windows of pixels, other orders of axes, other sizes */
    {WK_OP_DEPTH_TO_SPACE, 0,
     LAST MOVED("y", "x", "2,2,2,3,2,5", "0,1,3,2,4,5", "12,4,5") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 0,
     DEEP MOVED("y", "x", "2,2,2,3,2,3", "0,4,3,1,5,2", "2,2,6,6") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 0,
     DEEP MOVED("y", "x", "2,2,2,3,2,3", "0,3,4,1,5,2", "2,3,2,12") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 0,
     WIDE MOVED("y", "x", "2,3,2,2,3,2", "0,3,5,1,2,4", "2,6,4,3") END("y")},
    /* the order of channels in the weights of what makes them, or reads them */
    {WK_OP_CONV, 1, "(%x: i8[1,5,2,3]) {\n  %b = constant i32[12] splat(1)\n"
     "  %w = constant i8[12,5,1,1] splat(1)\n  %c = conv(%x, %w, %b) " ONE_TAP
     MOVED("y", "c", "1,3,2,2,2,3", "0,1,4,2,5,3", "1,3,4,6") END("y")},
    {WK_OP_CONV, 2, "(%x: i8[1,5,2,3]) {\n" CONV("c", "x", "12,5,1,1", ONE_TAP)
     MOVED("y", "c", "1,3,2,2,2,3", "0,1,4,2,5,3", "1,3,4,6") END("y") END("c")},
    {WK_OP_CONV, 1, WIDE MOVED("d", "x", "2,3,2,2,3,2", "0,1,3,5,2,4", "2,12,2,3")
     CONV("y", "d", "4,12,1,1", ONE_TAP) END("y")},
    /* a window of blocks of an image that lies dense is one of pixels */
    {WK_OP_DEPTH_TO_SPACE, 0, WIDE MOVED("d", "x", "2,3,2,2,3,2", "0,3,5,1,2,4", "2,12,2,3")
     CONV("y", "d", "4,12,3,3", "{strides=[1,2], pads=[1,1,1,1], dilations=[1,1], " QUANTISED
     "}\n") END("y")},
    {WK_OP_DEPTH_TO_SPACE, 1, WIDE MOVED("d", "x", "2,3,2,2,3,2", "0,3,5,1,2,4", "2,12,2,3")
     CONV("y", "d", "4,12,1,1", ONE_TAP) END("y")},
    {WK_OP_DEPTH_TO_SPACE, 1,
     "(%x: i8[1,9,4,4]) {\n" MOVED("d", "x", "1,9,2,2,2,2", "0,3,5,1,2,4", "1,36,2,2")
     CONV("y", "d", "4,36,2,2", ONE_TAP) END("y")},
    /* the nearest pixel, along each axis that is resized */
    {WK_OP_INTEGER_RESIZE, 2, WIDE "  %y = resize(%x) {sizes=[2,3,9,12], "
     "scales=[1.0,1.0,2.25,2.0], mode=\"nearest\"}\n" END("y")},
    {WK_OP_INTEGER_RESIZE, 1, WIDE "  %y = resize(%x) {sizes=[2,3,4,3], "
     "scales=[1.0,1.0,1.0,0.5], mode=\"nearest\", coordinates=\"asymmetric\"}\n" END("y")},
    {WK_OP_RESIZE, 1, WIDE "  %y = resize(%x) {sizes=[2,3,4,3], scales=[1.0,1.0,1.0,0.5], "
     "mode=\"linear\"}\n" END("y")},
};

static void pixels_move(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(images); i++)
    check_adapted(images[i].graph, images[i].op, images[i].left);
}

/* ---- cuts come first ------------------------------------------------------------------------- */

static const struct {
  wk_op op;
  int left;
  const char *graph;
} cuts[] = {
    {WK_OP_SPLIT, 0,
     "(%x: i8[3,6]) {\n  %a, %b = split(%x) {axis=1, sizes=[2,4]}\n  output %a\n  output %b\n"},
    {WK_OP_SPLIT, 0,
     "(%x: i8[3,6]) {\n  -, %b = split(%x) {axis=1, sizes=[2,4]}\n  output %b\n"},
    {WK_OP_SPLIT, 0,
     "(%x: i8[3,6]) {\n  %a, - = split(%x) {axis=1, sizes=[2,4]}\n  output %a\n"},
    {WK_OP_SPLIT, 1,
     "(%x: i16[3,6]) {\n  %a, %b = split(%x) {axis=1, sizes=[2,4]}\n  output %a\n  output %b\n"},
    {WK_OP_GATHER, 0,
     "(%x: i8[3,6]) {\n  %i = constant i64[] {-1}\n  %y = gather(%x, %i)\n  output %y\n"},
    /* no element lies along the axis that the last one was cut into */
    {WK_OP_RESHAPE, 1,
     "(%x: i8[0,6]) {\n  %r = reshape(%x) {shape=[0,2,5]}\n"
     "  %y = slice(%r) {starts=[0,1,0], sizes=[0,1,5], steps=[1,1,1]}\n  output %y\n"},
};

static void cuts_first(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cuts); i++)
    check_adapted(cuts[i].graph, cuts[i].op, cuts[i].left);
}

/* ---- windows --------------------------------------------------------------------------------- */

#define MAXIMA(x, kernel, strides, pads, dilations)                                             \
  "(%x: " x ") {\n  %y, - = max_pool(%x) {kernel=[" kernel "], strides=[" strides "], pads=["    \
  pads "], dilations=[" dilations "]}\n  output %y\n"

static const struct {
  int pools; /* that are left */
  const char *graph;
} windows[] = {
    {2, MAXIMA("i8[2,5,9,11]", "3,3", "1,1", "1,1,1,1", "1,1")},
    {2, MAXIMA("u8[1,5,9,11]", "5,4", "1,2", "1,2,2,0", "1,2")},
    {2, MAXIMA("i8[1,3,6,7]", "9,13", "1,1", "4,6,4,6", "1,1")},
    {2, MAXIMA("i8[1,3,9,9]", "3,3", "1,1", "1,3,4,1", "1,1")}, /* nothing but padding */
    /* small ones, those that step as far as they reach, of one axis, of others than bytes */
    {1, MAXIMA("i8[1,5,9,11]", "2,2", "1,1", "0,0,0,0", "1,1")},
    {1, MAXIMA("i8[1,5,24,24]", "8,8", "8,8", "0,0,0,0", "1,1")},
    {1, MAXIMA("i8[1,5,9,11]", "1,7", "1,1", "0,3,0,3", "1,1")},
    {1, MAXIMA("i8[1,5,11]", "7", "1", "3,3", "1")},
    {1, MAXIMA("i32[1,5,9,11]", "5,5", "1,1", "2,2,2,2", "1,1")},
    {1, "(%x: i8[1,2,9,9]) {\n  %y, %i = max_pool(%x) {kernel=[5,5], strides=[1,1], "
        "pads=[2,2,2,2], dilations=[1,1]}\n  output %y\n  output %i\n"},
};

static void windows_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(windows); i++)
    check_adapted(windows[i].graph, WK_OP_MAX_POOL, windows[i].pools);
}

/* ---- pieces of the width --------------------------------------------------------------------- */

#define SCALED "epilogue=\"sat<u8>(rescale(%0, 9000000i64, 27i64))\""
#define WEIGHTS(name, dims) "  %" name " = constant i8[" dims "] splat(1)\n"
#define SUM(y, x, w, attrs) "  %" y " = conv(%" x ", %" w ") {" attrs ", " SCALED "}\n"
#define PLAIN "strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"
#define SAME "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]"
#define HALVES "strides=[2,2], pads=[1,1,1,1], dilations=[1,1]"
#define ADDED(y, a, b) "  %" y " = map(%" a ", %" b ") {body=\"max(%0, %1)\"}\n"

static const struct {
  wk_op op;
  int left;
  const char *graph;
} widths[] = {
    /* depthwise between two of one tap, at its edges and within; with a stride; dilated */
    {WK_OP_CONV, 12, "(%x: u8[1,8,20,240]) {\n" WEIGHTS("v", "24,8,1,1") WEIGHTS("w", "24,1,3,3")
     WEIGHTS("u", "8,24,1,1") SUM("a", "x", "v", PLAIN) SUM("b", "a", "w", SAME ", group=24")
     SUM("y", "b", "u", PLAIN) END("y")},
    {WK_OP_CONV, 6, "(%x: u8[1,8,20,241]) {\n" WEIGHTS("w", "8,1,3,3") WEIGHTS("u", "8,8,1,1")
     SUM("b", "x", "w", HALVES ", group=8") SUM("y", "b", "u", PLAIN) END("y")},
    {WK_OP_CONV, 8, "(%x: u8[1,8,20,240]) {\n" WEIGHTS("w", "8,1,3,3")
     SUM("y", "x", "w", "strides=[1,1], pads=[3,3,3,3], dilations=[3,3], group=8") END("y")},
    /* what is added, of the region or from before; an image that the next region and others see */
    {WK_OP_MAP, 8, "(%x: u8[1,8,20,240]) {\n" WEIGHTS("w", "8,1,3,3")
     SUM("a", "x", "w", SAME ", group=8") ADDED("b", "a", "x") ADDED("y", "b", "a") END("y")},
    {WK_OP_CONCAT, 2, "(%x: u8[1,8,20,240]) {\n" WEIGHTS("w", "8,1,3,3")
     SUM("a", "x", "w", SAME ", group=8") SUM("y", "a", "w", SAME ", group=8") END("y") END("a")},
    /* a pool, whose pieces see what is outside alone at the ends */
    {WK_OP_MAX_POOL, 4, "(%x: u8[1,8,20,240]) {\n  %y, - = max_pool(%x) {kernel=[3,3], " SAME
     "}\n" END("y")},
    /* sums of many channels go through the whole row as long as that has room */
    {WK_OP_CONV, 4, "(%x: u8[1,64,6,120]) {\n" WEIGHTS("w", "8,64,3,3") SUM("y", "x", "w", SAME)
     END("y")},
    {WK_OP_CONV, 1, "(%x: u8[1,8,6,120]) {\n" WEIGHTS("w", "8,8,3,3") SUM("y", "x", "w", SAME)
     END("y")},
    /* no windows; narrow; much would be loaded twice; a gate for all pixels comes whole */
    {WK_OP_CONV, 1, "(%x: u8[1,8,20,240]) {\n" WEIGHTS("v", "24,8,1,1") SUM("y", "x", "v", PLAIN)
     END("y")},
    {WK_OP_CONV, 1, "(%x: u8[1,8,20,60]) {\n" WEIGHTS("w", "8,1,3,3")
     SUM("y", "x", "w", SAME ", group=8") END("y")},
    {WK_OP_CONV, 1, "(%x: u8[1,8,20,240]) {\n" WEIGHTS("w", "8,1,3,99")
     SUM("y", "x", "w", "strides=[1,1], pads=[1,49,1,49], dilations=[1,1], group=8") END("y")},
    {WK_OP_MAP, 4, "(%x: u8[1,8,20,240], %g: u8[1,8,1,1]) {\n" WEIGHTS("w", "8,1,3,3")
     SUM("a", "x", "w", SAME ", group=8") ADDED("y", "a", "g") END("y")},
};

/* On a machine of 8 lanes and little room. */
static wk_status part_width(wk_module *m) {
  wk_machine machine = *wk_accel_machine_of(targets.list[0]);
  const wk_pass step = {.name = "widths", .run = wk_accel_part_width, .data = &machine};
  int64_t changes = 0;
  machine.array = 8, machine.scratchpad = 16384;
  return wk_pass_run_one(m, &step, NULL, &changes);
}

static void pieces_of_width(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(widths); i++)
    assert_int_equal(
        check_rewritten(part_width, widths[i].graph, widths[i].op, widths[i].left), 0);
}

static int setup(void **state) {
  (void)state;
  wk_status s = wk_targets_open(&(wk_target_args){.target = "accel:base", .cpu = "avx2"}, &targets);
  if (s) fail_msg("%s", s->message);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  wk_targets_close(&targets);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shared_heads),
                                     cmocka_unit_test(columns_apart),
                                     cmocka_unit_test(pixels_move),
                                     cmocka_unit_test(cuts_first),
                                     cmocka_unit_test(windows_apart),
                                     cmocka_unit_test(pieces_of_width)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
