/* SPDX-License-Identifier: Apache-2.0
 * Small graphs compiled for the accelerator, each of which was once compiled wrongly or not at all:
 * the functional model computes what the evaluator does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/unit/accel_package.h"

typedef struct {
  const char *what;
  wk_target_args target;
  const char *graph;
} accel_case;

#define SUM "sat<i8>(rescale(%0, 9000000i64, 13i64))"

static const accel_case cases[] = {
    {"a line of pixels has no strips", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,9,300], %y: i8[9,300]) {\n"
     "  %s = map(%x, %y) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[2,9,300]\n"
     "  %p = map(%s) {body=\"min(%0, 7i8)\"} : i8[2,9,300]\n"
     "  output %p\n}\n"},
    {"many dense images", {.target = "accel:base"},
     "graph @main(%x: i8[256,1,16,16]) {\n"
     "  %w = constant i8[16,1,5,5] splat(3)\n"
     "  %y = conv(%x, %w) {strides=[4,4], pads=[2,2,2,2], dilations=[1,1], epilogue=\"" SUM "\"} : "
     "i8[256,16,4,4]\n"
     "  output %y\n}\n"},
    {"a result whose axes are in any order", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,6,93,93]) {\n"
     "  %y = transpose(%x) {perm=[3,1,2,0]} : u8[93,6,93,1]\n"
     "  output %y\n}\n"},
    {"a result that begins within a block", {.target = "accel:base"},
     "graph @main(%x: i8[1,16,2,2]) {\n"
     "  %a, %b = split(%x) {axis=1, sizes=[2,14]} : i8[1,2,2,2], i8[1,14,2,2]\n"
     "  output %a\n  output %b\n}\n"},
    {"and reaches into the next one", {.target = "accel:base"},
     "graph @main(%x: u8[1,51,82,13]) {\n"
     "  %a, %b = split(%x) {axis=1, sizes=[15,36]} : u8[1,15,82,13], u8[1,36,82,13]\n"
     "  output %b\n}\n"},
    {"padding with a value", {.target = "accel:base"},
     "graph @main(%x: u8[1,9,5,5]) {\n"
     "  %f = constant u8[] {77}\n"
     "  %y = pad(%x, %f) {before=[0,0,0,0], after=[0,3,0,0]} : u8[1,12,5,5]\n"
     "  %z = max_pool(%y) {kernel=[2,2], strides=[1,1], pads=[0,0,0,0], dilations=[1,1]} : "
     "u8[1,12,4,4]\n"
     "  output %z\n}\n"},
    {"channels in groups of a block", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,24,12,12]) {\n"
     "  %y = reshape(%x) {shape=[1,3,8,12,12]} : u8[1,3,8,12,12]\n"
     "  output %y\n}\n"},
    {"rows of a result from several writers", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,16,2,13]) {\n"
     "  %y = concat(%x, %x, %x) {axis=2} : u8[1,16,6,13]\n"
     "  output %y\n}\n"},
    {"what is concatenated twice and read between", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,2,52,52]) {\n"
     "  %a = concat(%x, %x) {axis=1} : i8[1,4,52,52]\n"
     "  %p = max_pool(%a) {kernel=[2,3], strides=[2,1], pads=[0,2,0,2], dilations=[1,1]} : "
     "i8[1,4,26,54]\n"
     "  %b = concat(%a, %a, %a) : i8[3,4,52,52]\n"
     "  output %p\n  output %b\n}\n"},
    {"elements that lie in no blocks", {.target = "accel:base"},
     "graph @main(%x: u8[2,1,18,18]) {\n"
     "  %y = reshape(%x) {shape=[2,324]} : u8[2,324]\n"
     "  output %y\n}\n"},
    {"six axes from within a block", {.target = "accel:base"},
     "graph @main(%x: i8[3,33,12,12]) {\n"
     "  %a, %b = split(%x) {axis=1, sizes=[31,2]} : i8[3,31,12,12], i8[3,2,12,12]\n"
     "  %y = reshape(%b) {shape=[3,2,6,2,6,2]} : i8[3,2,6,2,6,2]\n"
     "  output %y\n}\n"},
    {"lanes of a line that come with their layout", {.target = "accel:base"},
     "graph @main(%x: u8[1,5,11], %y: i8[1,1,11]) {\n"
     "  %z = map(%x, %y) {body=\"sat<u8>(add(rescale(mul(sub(i32(%0), 106i32), i32(%1)), "
     "8738598i64, 26i64), 21i32))\"} : u8[1,5,11]\n"
     "  output %z\n}\n"},
    {"blocks and pixels that are broadcast", {.target = "accel:base"},
     "graph @main(%x: u8[1,32,8,8], %y: u8[1,1,8,8]) {\n"
     "  %z = map(%x, %y) {body=\"sat<i8>(rescale(mul(sub(i32(%0), 38i32), sub(i32(%1), 128i32)), "
     "10241527i64, 27i64))\"} : i8[1,32,8,8]\n"
     "  output %z\n}\n"},
    {"a dense pixel", {.target = "accel:wide"},
     "graph @main(%x: i8[1,9,1,1]) {\n"
     "  %w = constant i8[3,9,1,1] {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, -2, 3, -4, 5, -6, 7, -8, 9, 9, 8, "
     "7, 6, 5, 4, 3, 2, 1}\n"
     "  %y = conv(%x, %w) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], epilogue=\"" SUM
     "\"} : i8[1,3,3,3]\n"
     "  output %y\n}\n"},
    {"parts of one block from within blocks", {.target = "accel:wide"},
     "graph @main(%x: u8[2,32,25,25]) {\n"
     "  %a = slice(%x) {starts=[0,16,0,0], sizes=[2,15,25,25], steps=[1,1,1,1]} : u8[2,15,25,25]\n"
     "  %y = concat(%a, %x, %a) {axis=1} : u8[2,62,25,25]\n"
     "  output %y\n}\n"},
    {"windows behind the image", {.target = "accel:wide", .settings = WK_SETTINGS({"effort", "2"})},
     "graph @main(%x: i8[2,4,8,8]) {\n"
     "  %w = constant i8[4,1,1,1] {52, 55, 25, 119}\n"
     "  %y = conv(%x, %w) {strides=[1,1], pads=[0,1,3,0], dilations=[1,1], group=4, epilogue=\"" SUM
     "\", pad_value=-100} : i8[2,4,11,9]\n"
     "  output %y\n}\n"},
    {"an image that is turned round", {.target = "accel:base"},
     "graph @main(%x: i8[1,4,8,8]) {\n"
     "  %t = slice(%x) {starts=[0,0,7,7], sizes=[1,4,8,8], steps=[1,1,-1,-1]} : i8[1,4,8,8]\n"
     "  %w = constant i8[1,4,1,1] {3, -5, 7, 11}\n"
     "  %y = conv(%t, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], epilogue=\"" SUM
     "\"} : i8[1,1,8,8]\n"
     "  output %y\n"
     "}\n"},
    {"pixels that lie far apart", {.target = "accel:base"},
     "graph @main(%x: i8[1,4,2,5000]) {\n"
     "  %m = map(%x) {body=\"min(%0, 90i8)\"} : i8[1,4,2,5000]\n"
     "  %t = slice(%m) {starts=[0,0,0,0], sizes=[1,4,2,18], steps=[1,1,1,280]} : i8[1,4,2,18]\n"
     "  %w = constant i8[1,4,1,1] {3, -5, 7, 11}\n"
     "  %y = conv(%t, %w) {strides=[1,15], pads=[0,0,0,0], dilations=[1,1], epilogue=\"" SUM
     "\"} : i8[1,1,2,2]\n"
     "  output %y\n"
     "}\n"},
    {"a window that begins far before its image", {.target = "accel:wide"},
     "graph @main(%x: i8[1,1,20,1000]) {\n"
     "  %w = constant i8[1,1,3,1] {3, -5, 7}\n"
     "  %y = conv(%x, %w) {strides=[1,2], pads=[63,0,63,0], dilations=[31,1], epilogue=\"" SUM
     "\"} : i8[1,1,84,500]\n"
     "  output %y\n"
     "}\n"},
    {"dense images with padding on either side", {.target = "accel:base"},
     "graph @main(%x: i8[1,3,8,8]) {\n"
     "  %w = constant i8[1,3,1,3] {3, -5, 7, 11, 2, -4, 6, 9, -8}\n"
     "  %a = conv(%x, %w) {strides=[1,1], pads=[0,0,0,2], dilations=[1,1], epilogue=\"" SUM
     "\"} : i8[1,1,8,8]\n"
     "  %b = conv(%x, %w) {strides=[1,1], pads=[0,2,0,0], dilations=[1,1], epilogue=\"" SUM
     "\"} : i8[1,1,8,8]\n"
     "  output %a\n  output %b\n"
     "}\n"},
    {"and with other values", {.target = "accel:base"},
     "graph @main(%x: i8[1,3,8,8]) {\n"
     "  %w = constant i8[1,3,1,3] {3, -5, 7, 11, 2, -4, 6, 9, -8}\n"
     "  %a = conv(%x, %w) {strides=[1,1], pads=[0,1,0,1], dilations=[1,1], epilogue=\"" SUM
     "\", pad_value=50} : i8[1,1,8,8]\n"
     "  %b = conv(%x, %w) {strides=[1,1], pads=[0,1,0,1], dilations=[1,1], epilogue=\"" SUM
     "\", pad_value=-100} : i8[1,1,8,8]\n"
     "  output %a\n  output %b\n"
     "}\n"},
    {"a zero point that bytes do not have", {.target = "accel:base"},
     "graph @main(%x: i8[1,4,8,8], %y: i8[1,4,8,8]) {\n"
     "  %z = map(%x, %y) {body=\"sat<i8>(rescale(mul(sub(i32(%0), 300i32), "
     "i32(%1)), 8738598i64, 16i64))\"} : i8[1,4,8,8]\n"
     "  output %z\n"
     "}\n"},
};

/* "$288" are 288 numbers, no two channels' the same. */
static void add_graph(wk_str *text, const char *graph) {
  for (const char *at = graph; *at;) {
    if (*at != '$') {
      wk_str_addn(text, at++, 1);
      continue;
    }
    char *end;
    long n = strtol(at + 1, &end, 10);
    for (long i = 0; i < n; i++)
      wk_str_printf(text, "%s%ld", i ? ", " : "{", (i * 37 + i * i / 7) % 255 - 127);
    wk_str_add(text, "}");
    at = end;
  }
}

static int accel_parts;

static void count_parts(const wk_parts *p) {
  accel_parts = 0;
  for (size_t i = 0; i < p->parts.n; i++)
    accel_parts += !strcmp(p->parts.data[i].instance->target->name, "accel");
}

static void check_case(const accel_case *c) {
  wk_module *m, *copy;
  wk_str text = {0}, why = {0};
  wk_str_add(&text, "module \"case\" {\n");
  add_graph(&text, c->graph);
  wk_str_add(&text, "}\n");
  wk_status s = wk_module_parse(text.s, "case", &m);
  if (s) fail_msg("%s: %s: %s", c->what, s->place, s->message);
  const wk_graph *g = m->main;
  wk_tensor *in = random_integer_inputs(g, 1);
  wk_tensor *want = wk_xcalloc(g->outputs.n + 1, sizeof *want);
  wk_tensor *got = wk_xcalloc(g->outputs.n + 1, sizeof *got);
  copy = wk_module_clone(m);
  s = wk_eval_graph(g, in, want, NULL, NULL);
  if (!s) s = accel_compile(copy, &c->target, package_file, count_parts);
  if (!s) s = accel_run(package_file, g, in, got);
  if (s) fail_msg("%s: %s: %s", c->what, s->place ? s->place : "", s->message);
  if (!random_same(g, got, want, &why)) fail_msg("%s: %s", c->what, why.s);
  random_tensors_free(got, g->outputs.n);
  random_tensors_free(want, g->outputs.n);
  random_tensors_free(in, g->inputs.n);
  wk_module_free(copy);
  wk_module_free(m);
  wk_str_free(&text);
}

static void test_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) check_case(&cases[i]);
}

/* Too large for the scratchpad of tiny at once, one way or the other. */
static const accel_case large[] = {
    {"a maximum of some channels after the others", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,60,3,500]) {\n"
     "  %y = max_pool(%x) {kernel=[3,3], strides=[1,1], pads=[1,1,1,1], dilations=[1,1]} : "
     "i8[1,60,3,500]\n  output %y\n}\n"},
    {"a convolution of each channel, some after the others", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,60,3,500]) {\n  %w = constant i8[60,1,3,3] $540\n"
     "  %b = constant i32[60] $60\n"
     "  %y = conv(%x, %w, %b) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=60, "
     "pad_value=77, epilogue=\"" SUM "\"} : i8[1,60,3,500]\n  output %y\n}\n"},
    {"a sum of some channels after the others", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,60,2,600], %z: u8[1,60,2,600]) {\n"
     "  %y = map(%x, %z) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[1,60,2,600]\n"
     "  output %y\n}\n"},
    {"channels from within a block", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,64,3,240]) {\n"
     "  %s = slice(%x) {starts=[0,3,0,0], sizes=[1,60,3,240], steps=[1,1,1,1]} : i8[1,60,3,240]\n"
     "  %y = max_pool(%s) {kernel=[3,3], strides=[1,1], pads=[1,1,1,1], dilations=[1,1]} : "
     "i8[1,60,3,240]\n  output %y\n}\n"},
    {"a mean of some channels after the others", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,60,3,500]) {\n"
     "  %y = integer_avg_pool(%x) {kernel=[3,3], strides=[1,1], pads=[1,1,1,1], dilations=[1,1], "
     "real_pads=[0,0,0,0], factor=2.5, x_zero=3, lo=-128, hi=120, to=i8} : i8[1,60,3,500]\n"
     "  output %y\n}\n"},
    {"images one by one", {.target = "accel:tiny"},
     "graph @main(%x: i8[3,64,5,100], %z: i8[3,12,5,100]) {\n"
     "  %w = constant i8[12,64,3,3] $6912\n"
     "  %y = conv(%x, %w, -, %z) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], "
     "epilogue=\"sat<i8>(shr_round(add(mul(i32(sat<i8>(rescale(%0, 9000000i64, 17i64))), 5i32), "
     "mul(i32(%1), 3i32)), 3i32))\"} : i8[3,12,5,100]\n  output %y\n}\n"},
    {"sums part by part, of more pixels than there are sums", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,40,24,24]) {\n  %w = constant i8[5,40,7,7] $9800\n"
     "  %y = conv(%x, %w) {strides=[1,1], pads=[3,3,3,3], dilations=[1,1], epilogue=\"sat<i8>("
     "rescale(%0, 9000000i64, 20i64))\"} : i8[1,5,24,24]\n  output %y\n}\n"},
    {"sums part by part, with the same constants for each strip", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,256,9,9]) {\n  %w = constant i8[9,256,3,3] $20736\n"
     "  %y = conv(%x, %w) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], epilogue=\"sat<i8>("
     "rescale(%0, 9000000i64, 20i64))\"} : i8[1,9,9,9]\n  output %y\n}\n"},
    {"images that were flattened", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,11,4,5]) {\n  %f = reshape(%x) {shape=[2,220]} : i8[2,220]\n"
     "  %w = constant i8[220,9] $1980\n  %y = matmul(%f, %w) {epilogue=\"sat<i8>(rescale(%0, "
     "9000000i64, 17i64))\"} : i8[2,9]\n  output %y\n}\n"},
    {"fewer rows and columns than strides", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,9,1,4]) {\n  %w = constant i8[9,3,1,2] $54\n"
     "  %y = conv_transpose(%x, %w) {strides=[3,3], pads=[0,1,0,2], dilations=[1,1], "
     "output_padding=[0,0], epilogue=\"" SUM "\"} : i8[1,3,1,8]\n  output %y\n}\n"},
    {"a function with constants of its own", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,9,4,4]) {\n  %a = constant i32[] {5}\n  %b = constant i32[1] {-3}\n"
     "  %y = map(%a, %x, %b) {body=\"sat<u8>(add(mul(i32(%1), %0), %2))\"} : u8[1,9,4,4]\n"
     "  output %y\n}\n"},
};

#define SCALE(x) "sat<i8>(rescale(" x ", 9000000i64, 17i64))"
#define OF_GROUPS(n, w, pads, more, y)                                                           \
  "  %y = conv(%x, %w, %b" more ") {strides=[1,1], pads=[" pads "], dilations=[1,1], group=" n   \
  ", pad_value=77, epilogue=\"" SCALE("%0") "\"} : i8[" y "]\n  output %y\n}\n"

/* Groups side by side as one product, by how many of them there is room for; and functions of two
 * operands and folds in all the ways in which these can lie to each other. One part each. */
/* A block of ConvNeXt: norm and products over the channels of each pixel. */
#define CHANNELS_LAST(pixels, image)                                                          \
  "  %g = constant i32[40] $40\n  %v = constant i8[40,24] $960\n"                             \
  "  %w = constant i8[24,40] $960\n"                                                          \
  "  %t = transpose(%x) {perm=[0,2,3,1]} : i8[" pixels ",40]\n"                               \
  "  %n = integer_norm(%t, %g, %g) {axis=3, centred=1, epsilon=100, shift=23, x_zero=3, "      \
  "zero=2, lo=-128, hi=127, to=i8} : i8[" pixels ",40]\n"                                     \
  "  %a = matmul(%n, %v) {epilogue=\"" SCALE("%0") "\"} : i8[" pixels ",24]\n"                \
  "  %m = map(%a) {body=\"max(%0, -9i8)\"} : i8[" pixels ",24]\n"                             \
  "  %b = matmul(%m, %w) {epilogue=\"" SCALE("%0") "\"} : i8[" pixels ",40]\n"                \
  "  %f = transpose(%b) {perm=[0,3,1,2]} : i8[" image "]\n"                                   \
  "  %y = map(%x, %f) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[" image "]\n"            \
  "  output %y\n}\n"

/* Products over columns, then a sum with what they were made of. */
#define COLUMNS(n, l, c, weights)                                                                \
  "graph @main(%x: i8[" n "," l "," c "]) {\n"                                                   \
  "  %v = constant i8[" l ",9] $" weights "\n  %w = constant i8[9," l "] $" weights "\n"        \
  "  %t = transpose(%x) {perm=[0,2,1]} : i8[" n "," c "," l "]\n"                                \
  "  %a = matmul(%t, %v) {epilogue=\"" SCALE("%0") "\"} : i8[" n "," c ",9]\n"                    \
  "  %b = matmul(%a, %w) {epilogue=\"" SCALE("%0") "\"} : i8[" n "," c "," l "]\n"                \
  "  %f = transpose(%b) {perm=[0,2,1]} : i8[" n "," l "," c "]\n"                                \
  "  %y = map(%x, %f) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[" n "," l "," c "]\n"       \
  "  output %y\n}\n"

static const accel_case forms[] = {
    {"columns of whole blocks", {.target = "accel:base"}, COLUMNS("1", "32", "48", "288")},
    {"columns of parts of blocks", {.target = "accel:tiny"}, COLUMNS("1", "21", "43", "189")},
    {"columns of three matrices", {.target = "accel:base"}, COLUMNS("3", "33", "20", "297")},
    {"columns of less than a block", {.target = "accel:wide"}, COLUMNS("2", "5", "3", "45")},
    {"norms of columns", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,19,30]) {\n  %g = constant i32[19] $19\n"
     "  %w = constant i8[30,30] $900\n"
     "  %p = matmul(%x, %w) {epilogue=\"" SCALE("%0") "\"} : i8[2,19,30]\n"
     "  %t = transpose(%p) {perm=[0,2,1]} : i8[2,30,19]\n"
     "  %n = integer_norm(%t, %g, %g) {axis=2, centred=1, epsilon=100, shift=23, x_zero=3, zero=2, "
     "lo=-128, hi=127, to=i8} : i8[2,30,19]\n  output %n\n}\n"},
    {"images whose channels are last in between, a strip at a time", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,40,40,60]) {\n" CHANNELS_LAST("1,40,60", "1,40,40,60")},
    {"two such images", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,40,30,20]) {\n" CHANNELS_LAST("2,30,20", "2,40,30,20")},
    {"such images of one row, and of one column", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,40,1,20]) {\n" CHANNELS_LAST("1,1,20", "1,40,1,20")},
    {"such an image of one block of channels, of which a part is taken", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,9,30,20]) {\n  %g = constant i32[9] $9\n"
     "  %t = transpose(%x) {perm=[0,2,3,1]} : i8[1,30,20,9]\n"
     "  %s = slice(%t) {starts=[0,3,5,0], sizes=[1,20,11,9], steps=[1,1,1,1]} : i8[1,20,11,9]\n"
     "  %y = integer_norm(%s, %g, %g) {axis=3, centred=1, epsilon=100, shift=23, x_zero=3, zero=2, "
     "lo=-128, hi=127, to=i8} : i8[1,20,11,9]\n  output %y\n}\n"},
    {"windows of an image, and the image of windows", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,24,12,12]) {\n  %g = constant i32[24] $24\n"
     "  %w = constant i8[24,24] $576\n"
     "  %t = transpose(%x) {perm=[0,2,3,1]} : i8[2,12,12,24]\n"
     "  %n = integer_norm(%t, %g, %g) {axis=3, centred=1, epsilon=100, shift=23, x_zero=3, "
     "zero=2, lo=-128, hi=127, to=i8} : i8[2,12,12,24]\n"
     "  %a = reshape(%n) {shape=[2,4,3,3,4,24]} : i8[2,4,3,3,4,24]\n"
     "  %b = transpose(%a) {perm=[0,1,3,2,4,5]} : i8[2,4,3,3,4,24]\n"
     "  %c = reshape(%b) {shape=[24,12,24]} : i8[24,12,24]\n"
     "  %m = matmul(%c, %w) {epilogue=\"" SCALE("%0") "\"} : i8[24,12,24]\n"
     "  %d = reshape(%m) {shape=[2,4,3,3,4,24]} : i8[2,4,3,3,4,24]\n"
     "  %e = transpose(%d) {perm=[0,1,3,2,4,5]} : i8[2,4,3,3,4,24]\n"
     "  %f = reshape(%e) {shape=[2,12,12,24]} : i8[2,12,12,24]\n"
     "  %y = map(%n, %f) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[2,12,12,24]\n"
     "  output %y\n}\n"},
    {"a bias for each head of every window", {.target = "accel:tiny"},
     "graph @main(%q: u8[6,2,40,24], %k: u8[6,2,24,40], %v: i8[1,2,40,40]) {\n"
     "  %s = integer_matmul(%q, %k) {a_zero=7, b_zero=100, epilogue=\"sat<i8>(rescale(%0, "
     "9000000i64, 20i64))\"} : i8[6,2,40,40]\n"
     "  %n = integer_softmax(%v) {axis=3, mult=1073741824, shift=30, zero=-128, lo=-128, hi=127, "
     "scale=0.05, to=i8} : i8[1,2,40,40]\n"
     "  %y = map(%s, %n) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[6,2,40,40]\n"
     "  output %y\n}\n"},
    {"queries that share keys", {.target = "accel:tiny"},
     "graph @main(%q: u8[2,6,20,24], %k: u8[2,2,30,24]) {\n"
     "  %r = reshape(%k) {shape=[2,2,1,30,24]} : u8[2,2,1,30,24]\n"
     "  %e = expand(%r) {shape=[2,2,3,30,24]} : u8[2,2,3,30,24]\n"
     "  %h = reshape(%e) {shape=[2,6,30,24]} : u8[2,6,30,24]\n"
     "  %t = transpose(%h) {perm=[0,1,3,2]} : u8[2,6,24,30]\n"
     "  %y = integer_matmul(%q, %t) {a_zero=7, b_zero=100, epilogue=\"sat<i8>(rescale(%0, "
     "9000000i64, 20i64))\"} : i8[2,6,20,30]\n  output %y\n}\n"},
    {"two groups at a time, with more results than channels", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,8,5,6]) {\n  %w = constant i8[12,2,2,3] $144\n"
     "  %b = constant i32[12] $12\n" OF_GROUPS("4", "12,2,2,3", "1,0,0,2", "", "1,12,5,6")},
    {"all groups at once", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,6,4,4]) {\n  %w = constant i8[6,2,1,1] $12\n"
     "  %b = constant i32[6] $6\n" OF_GROUPS("3", "6,2,1,1", "0,0,0,0", "", "2,6,4,4")},
    {"as many as divide them", {.target = "accel:base"},
     "graph @main(%x: i8[1,15,3,3]) {\n  %w = constant i8[10,3,3,3] $270\n"
     "  %b = constant i32[10] $10\n" OF_GROUPS("5", "10,3,3,3", "1,1,1,1", "", "1,10,3,3")},
    {"one group at a time", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,22,3,4]) {\n  %w = constant i8[14,11,1,2] $308\n"
     "  %b = constant i32[14] $14\n" OF_GROUPS("2", "14,11,1,2", "0,1,0,0", "", "1,14,3,4")},
    {"two results of every channel", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,9,3,3]) {\n  %w = constant i8[18,1,3,3] $162\n"
     "  %b = constant i32[18] $18\n" OF_GROUPS("9", "18,1,3,3", "1,1,1,1", "", "1,18,3,3")},
    {"groups and a second operand", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,8,4,4], %z: i8[1,12,4,4]) {\n  %w = constant i8[12,2,1,1] $24\n"
     "  %b = constant i32[12] $12\n"
     "  %y = conv(%x, %w, %b, %z) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=4, "
     "epilogue=\"sat<i8>(shr_round(add(mul(i32(" SCALE("%0") "), 5i32), mul(i32(%1), -3i32)), "
     "3i32))\"} : i8[1,12,4,4]\n  output %y\n}\n"},
    {"one channel in another lane than its result", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,12,4,4]) {\n"
     "  %s = slice(%x) {starts=[0,3,0,0], sizes=[1,9,4,4], steps=[1,1,1,1]} : i8[1,9,4,4]\n"
     "  %w = constant i8[9,1,2,2] $36\n"
     "  %y = conv(%s, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=9, epilogue=\""
     SUM "\"} : i8[1,9,3,3]\n  output %y\n}\n"},
    {"a row taken from all rows", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,9,4,5], %z: u8[1,9,1,5]) {\n"
     "  %y = map(%z, %x) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[2,9,4,5]\n"
     "  output %y\n}\n"},
    {"a column, and a product", {.target = "accel:tiny"},
     "graph @main(%x: u8[2,9,4,5], %z: i8[2,9,4,1]) {\n"
     "  %y = map(%x, %z) {body=\"sat<u8>(add(" "rescale(mul(sub(i32(%0), 100i32), "
     "sub(i32(%1), -7i32)), 9000000i64, 26i64), 90i32))\"} : u8[2,9,4,5]\n  output %y\n}\n"},
    {"one channel, one value for all of them", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,19,4,5], %z: i8[1,1,4,5], %v: i8[1,1,1,1]) {\n"
     "  %a = map(%z, %x) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[1,19,4,5]\n"
     "  %y = map(%a, %v) {body=\"sat<i8>(add(i32(%0), i32(%1)))\"} : i8[1,19,4,5]\n"
     "  output %y\n}\n"},
    {"more axes than a command has", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,3,2,3,9], %z: i8[2,1,2,3,9]) {\n"
     "  %y = map(%z, %x) {body=\"sat<i8>(sub(i32(%0), i32(%1)))\"} : i8[2,3,2,3,9]\n"
     "  output %y\n}\n"},
    {"functions of u8 and i8", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,9,2,2], %z: i8[1,9,2,2]) {\n"
     "  %a = map(%x) {body=\"sat<i8>(sub(i32(%0), 128i32))\"} : i8[1,9,2,2]\n"
     "  %b = map(%z) {body=\"sat<u8>(mul(i32(%0), i32(%0)))\"} : u8[1,9,2,2]\n"
     "  output %a\n  output %b\n}\n"},
    {"the mean of images", {.target = "accel:tiny"},
     "graph @main(%x: u8[3,9,5,4]) {\n  %y = reduce(%x) {axes=[2,3], keepdims=0, "
     "pre=\"i32(%0)\", post=\"sat<i8>(rescale(add(%0, -2000i32), 9000000i64, 27i64))\"} : "
     "i8[3,9]\n  output %y\n}\n"},
    {"and of those of more rows than a window has", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,9,70,2]) {\n  %y = reduce(%x) {axes=[2,3], keepdims=1, "
     "pre=\"i32(%0)\", post=\"" SCALE("%0") "\"} : i8[1,9,1,1]\n  output %y\n}\n"},
#define MEAN_IN_PIECES(x, y, bias)                                                       \
  "graph @main(%x: " x ") {\n  %y = reduce(%x) {axes=[2,3], keepdims=1, "                \
  "pre=\"i32(%0)\", post=\"sat<i8>(rescale(add(%0, " bias "i32), 7700000i64, 17i64))\"} : " \
  "i8[" y ",1,1]\n  output %y\n}\n"
    {"of large ones in pieces", {.target = "accel:tiny"},
     MEAN_IN_PIECES("u8[2,20,40,28]", "2,20", "-142801")},
    {"in pieces of an odd number of pixels", {.target = "accel:tiny"},
     MEAN_IN_PIECES("i8[1,9,45,39]", "1,9", "321")},
    {"in pieces of which the last is smaller", {.target = "accel:tiny"},
     MEAN_IN_PIECES("i8[1,9,29,38]", "1,9", "0")},
    {"in pieces side by side", {.target = "accel:tiny"},
     MEAN_IN_PIECES("u8[1,9,70,70]", "1,9", "-624750")},
    {"means of taps inside", {.target = "accel:tiny"},
     "graph @main(%x: u8[1,9,5,6]) {\n  %y = integer_avg_pool(%x) {kernel=[3,2], strides=[2,1], "
     "pads=[1,1,1,0], dilations=[1,1], real_pads=[0,0,0,0], factor=1.5, x_zero=9, zero=-5, "
     "lo=-100, hi=90, to=i8} : i8[1,9,3,6]\n  output %y\n}\n"},
    {"means of all taps, padding included", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,9,5,6]) {\n  %y = integer_avg_pool(%x) {kernel=[3,2], strides=[1,1], "
     "pads=[1,1,1,0], dilations=[1,1], real_pads=[1,1,1,0], factor=1.5, x_zero=9, zero=-5, "
     "lo=-100, hi=90, to=i8} : i8[1,9,5,6]\n  output %y\n}\n"},
    {"products of matrices", {.target = "accel:tiny"},
     "graph @main(%x: u8[2,5,11], %z: i8[2,11,13]) {\n"
     "  %a = max_pool(%x) {kernel=[1], strides=[1], pads=[0,0], dilations=[1]} : u8[2,5,11]\n"
     "  %y = integer_matmul(%x, %z) {a_zero=100, b_zero=-3, epilogue=\"" SCALE("%0") "\"} : "
     "i8[2,5,13]\n  output %a\n  output %y\n}\n"},
    {"a product of every matrix with the same one", {.target = "accel:tiny"},
     "graph @main(%x: i8[3,5,11], %z: i8[11,13]) {\n"
     "  %a = max_pool(%x) {kernel=[1], strides=[1], pads=[0,0], dilations=[1]} : i8[3,5,11]\n"
     "  %y = integer_matmul(%x, %z) {epilogue=\"" SCALE("%0") "\"} : i8[3,5,13]\n"
     "  output %a\n  output %y\n}\n"},
    {"one of several parts", {.target = "accel:tiny"},
     "graph @main(%x: i8[1,24,4,4]) {\n"
     "  -, %b, - = split(%x) {axis=1, sizes=[8,8,8]} : i8[1,8,4,4]\n"
     "  %y = max_pool(%b) {kernel=[2,2], strides=[1,1], pads=[0,0,0,0], dilations=[1,1]} : "
     "i8[1,8,3,3]\n  output %y\n}\n"},
    {"rows of softmax and of norms", {.target = "accel:tiny"},
     "graph @main(%x: i8[2,3,11]) {\n"
     "  %s = integer_softmax(%x) {axis=2, mult=1073741824, shift=30, scale=0.05, zero=-128, "
     "lo=-128, hi=127, to=i8} : i8[2,3,11]\n"
     "  %g = constant i32[11] $11\n  %b = constant i32[11] $11\n"
     "  %n = integer_norm(%x, %g, %b) {axis=2, shift=20, epsilon=77, x_zero=3, zero=4, lo=-120, "
     "hi=110, to=i8} : i8[2,3,11]\n"
     "  %m = integer_norm(%x, %g, %b) {axis=2, centred=0, shift=20, epsilon=77, x_zero=3, lo=-120, "
     "hi=110, to=i8} : i8[2,3,11]\n  output %s\n  output %n\n  output %m\n}\n"},
};

static void test_forms(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(forms); i++) {
    check_case(&forms[i]);
    if (accel_parts != 1) fail_msg("%s: %d parts", forms[i].what, accel_parts);
  }
}

static void test_large(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(large); i++) {
    check_case(&large[i]);
    if (accel_parts != 1) fail_msg("%s: %d parts", large[i].what, accel_parts);
  }
}

/* More blocks along the sum than a command takes. */
static void test_long_rows(void **state) {
  (void)state;
  check_case(&(accel_case){"long rows", {.target = "accel:tiny"},
                           "graph @main(%x: u8[3,5000]) {\n  %w = constant i8[5000,2] $10000\n"
                           "  %y = matmul(%x, %w) {epilogue=\"" SUM "\"} : i8[3,2]\n"
                           "  output %y\n}\n"});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),
                                     cmocka_unit_test(test_forms),
                                     cmocka_unit_test(test_large),
                                     cmocka_unit_test(test_long_rows)};
  return cmocka_run_group_tests(tests, open_package_file, remove_package_file);
}
