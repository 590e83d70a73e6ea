/* SPDX-License-Identifier: Apache-2.0
 * Which operators between quantised tensors become integer ones, and which that nearly could stay
 * real: other operands, numbers beyond what integers hold, sizes beyond what sums hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/unit/graph_text.h"

#define NUMBERS                                                                              \
  "%s = constant f32[] {0.5}\n%t = constant f32[] {0.25}\n%z = constant i8[] {3}\n"          \
  "%w0 = constant i8[] {0}\n%k2 = constant f32[] {2.0}\n%k0 = constant f32[] {0.0}\n"        \
  "%big = constant f32[] {1e20}\n%small = constant f32[] {1e-20}\n"
#define X "%x = dequantize(%a, %s, %z)\n"
#define Z "%v = dequantize(%b, %t, %z)\n"
#define LESS "%c = less(%a, %b)\n"
#define Q "%q = quantize(%y, %t, %z) {to=i8}\noutput %q\n"
#define PADS "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
#define REAL(op) "dequantize dequantize " op " quantize"
#define REAL1(op) "dequantize " op " quantize"

typedef struct { const char *args, *body, *left; } rule_case; /* left: operators, in order */

static const rule_case maps[] = {
    {"%a: i8[2,3], %b: i8[2,3], %f: f32[2,3], %i: i64[2]",
     X Z "%y = add(%x, %v)\n" Q, "map"},
    {NULL, X Z "%y = sub(%v, %x)\n" Q, "map"},
    {NULL, X Z "%y = mul(%x, %v)\n" Q, "map"},
    {NULL, X "%y = mul(%x, %x)\n" Q, "map"},
    {NULL, X Z "%y = div(%x, %v)\n" Q, REAL("div")},
    {NULL, X "%y = add(%x, %f)\n" Q, REAL1("add")},
    {NULL, X "%y = mul(%f, %x)\n" Q, REAL1("mul")},
    {NULL, X "%v = dequantize(%b, %big, %z)\n%y = add(%x, %v)\n" Q, REAL("add")},
    {NULL, "%x = dequantize(%a, %big, %z)\n" Z "%y = add(%x, %v)\n" Q, REAL("add")},
    {NULL, X "%v = dequantize(%b, %big, %z)\n%y = mul(%x, %v)\n" Q, REAL("mul")},
    {NULL, X "%v = dequantize(%b, %small, %z)\n%y = mul(%x, %v)\n" Q, "map"},
    {NULL, X Z "%y = add(%x, %v)\n%q = quantize(%y, %small, %z) {to=i8}\noutput %q\n",
     REAL("add")},
    {NULL, X "%q = quantize(%x, %t, %z) {to=i8}\noutput %q\n", "map"},
    {NULL, X "%q = quantize(%x, %s, %z) {to=i8}\noutput %q\n", ""},
    {NULL, X "%q = quantize(%x, %s, %w0) {to=i8}\noutput %q\n", "map"},
    {NULL, X "%h = constant u8[] {3}\n%q = quantize(%x, %s, %h) {to=u8}\noutput %q\n", "map"},
    {NULL, X "%q = quantize(%x, %small, %z) {to=i8}\noutput %q\n", "dequantize quantize"},
    {NULL, X "%h = constant i32[] {3}\n%q = quantize(%x, %s, %h) {to=i32}\noutput %q\n",
     "dequantize quantize"},
    {NULL, "%n = constant f32[] {-0.5}\n" X "%q = quantize(%x, %n, %z) {to=i8}\noutput %q\n",
     "dequantize quantize"},
    {NULL, X "%y = concat(%x, %x) {axis=0}\n%q = quantize(%y, %s, %z) {to=i8}\noutput %q\n",
     "concat"},
    {NULL, X Z "%y = concat(%x, %v) {axis=0}\n" Q, "map concat"},
    {NULL, X "%y = concat(%x, %f) {axis=0}\n" Q, REAL1("concat")},
    {NULL, "%x = dequantize(%a, %big, %z)\n" Z "%y = concat(%v, %x) {axis=0}\n" Q,
     REAL("concat")},
    /* choices: a byte for each bool, the lesser of it and a side, the greater of both */
    {NULL, LESS X Z "%y = where(%c, %x, %v)\n" Q, "less map map map map map map"},
    {NULL, LESS X "%u = tanh(%x)\n%v = neg(%x)\n%y = where(%c, %u, %v)\n" Q,
     "less gather gather map map map map map"},
    {NULL, LESS X "%y = where(%c, %x, %k2)\n" Q, "less map map map map map"},
    {NULL, LESS X "%n = constant f32[] {-1e30}\n%y = where(%c, %n, %x)\n" Q, "less map map map"},
    {NULL, LESS X "%y = where(%c, %k0, %k2)\n" Q, "less dequantize where quantize"},
    {NULL, LESS X "%y = where(%c, %f, %x)\n" Q, "less dequantize where quantize"},
    {NULL, X "%c = constant bool[3] {1, 0, 1}\n%y = where(%c, %x, %k2)\n%u = relu(%y)\n"
     "%q = quantize(%u, %t, %z) {to=i8}\noutput %q\n", "map map map"},
    /* limits go into the conversion */
    {NULL, X Z "%u = add(%x, %v)\n%y = relu(%u)\n" Q, "map"},
    {NULL, X Z "%u = add(%x, %v)\n%y = clip(%u) {lo=-1.0, hi=2.0}\n" Q, "map"},
    {NULL, X Z "%u = add(%x, %v)\n%y = max(%k2, %u)\n" Q, "map"},
    {NULL, X Z "%u = add(%x, %v)\n%y = min(%u, %k2)\n" Q, "map"},
    {NULL, X Z "%u = add(%x, %v)\n%h = relu(%u)\n%y = min(%h, %k2)\n" Q, "map"},
    {NULL, X "%y = max(%x, %f)\n" Q, REAL1("max")},
    {NULL, X "%k = constant f32[4,2,3] splat(2.0)\n%y = max(%x, %k)\n" Q, REAL1("max")}};

static const rule_case tables[] = {
    {"%a: i8[2,3], %b: i8[2,3], %f: f32[2,3]", X "%y = tanh(%x)\n" Q, "gather"},
    {NULL, X "%u = tanh(%x)\n%y = mul(%u, %x)\n" Q, "gather"},
    {NULL, X "%u = tanh(%x)\n%y = mul(%u, %k2)\n" Q, "gather"},
    {NULL, X "%u = tanh(%x)\n%v = exp(%x)\n%y = div(%u, %v)\n" Q, "gather"},
    {NULL, X "%u = tanh(%x)\n%v = exp(%u)\n%y = div(%u, %v)\noutput %v\n" Q,
     "dequantize tanh exp gather"},
    {NULL, X Z "%u = tanh(%x)\n%y = div(%u, %v)\n" Q, "dequantize dequantize tanh div quantize"},
    {NULL, X "%u = tanh(%x)\n%y = div(%u, %f)\n" Q, "dequantize tanh div quantize"},
    {NULL, X "%v = dequantize(%a, %t, %z)\n%u = tanh(%x)\n%y = mul(%u, %v)\n" Q, "gather"},
    {NULL, X "%v = dequantize(%a, %s, %w0)\n%u = tanh(%x)\n%y = sub(%u, %v)\n" Q, "gather"},
    {NULL, X "%h = tanh(%x)\n%p = quantize(%h, %t, %z) {to=i8}\n%v = dequantize(%p, %t, %z)\n"
     "%u = mul(%x, %v)\n%y = div(%u, %k2)\n" Q, "gather"},
    {NULL, X "%k = constant f32[4,2,3] splat(2.0)\n%u = tanh(%x)\n%y = div(%u, %k)\n" Q,
     "dequantize tanh div quantize"},
    {NULL, X "%u = softmax(%x) {axis=1}\n%y = exp(%u)\n" Q,
     "dequantize softmax exp quantize"},
    {"%a: i8[2,1], %b: i8[2,3]", X Z "%u = tanh(%x)\n%y = div(%u, %v)\n" Q,
     "dequantize dequantize tanh div quantize"}};

/* Of what is no number anything may become. */
static const rule_case nans[] = {
    {"%a: i8[2,3]", X "%v = dequantize(%a, %s, %z)\n%u = tanh(%x)\n%y = div(%u, %v)\n" Q,
     "gather"}};

#define MEAN "%y = reduce_mean(%x) {axes=[0]}\n" Q
#define AVERAGE(kernel)                                                                       \
  X "%y = avg_pool(%x) {kernel=[" kernel "], strides=[1,1], pads=[0,0,0,0], "                 \
  "real_pads=[0,0,0,0], dilations=[1,1]}\n" Q
#define MOST X "%y = max_pool(%x) {kernel=[2,2], strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"

#define LINEAR(sizes, scales, coordinates)                                                        \
  "%y = resize(%x) {sizes=[" sizes "], scales=[" scales "], mode=\"linear\", coordinates=\""       \
  coordinates "\"}\n"

static const rule_case windows[] = {
    {"%a: i8[4194304]", X MEAN, "reduce"},
    {"%a: i8[4194305]", X MEAN, REAL1("reduce_mean")},
    {"%a: i8[2048,2048]", X "%y = reduce_mean(%x) {axes=[0,1]}\n" Q, "reduce"},
    {"%a: i8[2049,2048]", X "%y = reduce_mean(%x) {axes=[0,1]}\n" Q, REAL1("reduce_mean")},
    {"%a: i8[2049,2048]", X MEAN, "reduce"},
    {"%a: i8[3,4]", "%x = dequantize(%a, %big, %z)\n" MEAN, REAL1("reduce_mean")},
    {"%a: i8[3,4]", X "%y = reduce_sum(%x) {axes=[0]}\n" Q, REAL1("reduce_sum")},
    {"%a: i8[3,4]", X "%y = reduce_max(%x) {axes=[0]}\n" Q, "reduce_max map"},
    {"%a: i8[3,4]", X "%y = reduce_min(%x) {axes=[0]}\n%q = quantize(%y, %s, %z) {to=i8}\n"
     "output %q\n", "reduce_min"},
    {"%a: i8[1,2,3,5]", X LINEAR("1,2,6,5", "1.0,1.0,2.0,1.0", "half_pixel") Q, "integer_resize"},
    {NULL, X LINEAR("1,2,6,9", "1.0,1.0,2.0,1.8", "align_corners") "%u = relu(%y)\n"
     "%q = quantize(%u, %s, %z) {to=i8}\noutput %q\n", "integer_resize integer_resize"},
    {NULL, X LINEAR("1,2,3,5", "1.0,1.0,1.0,1.0", "half_pixel") Q, "map"},
    {NULL, X LINEAR("1,2,6,5", "1.0,1.0,2.0,1.0",
                    "tf_crop_and_resize\", roi=[0.0,0.0,0.0,0.0,1.0,1.0,1.0,1.0], nearest=\"floor")
     Q, REAL1("resize")},
    /* steps of the first axis that the second makes two of the result */
    {NULL, X LINEAR("1,2,6,9", "1.0,1.0,2.0,1.8", "asymmetric") Q,
     REAL1("resize")},
    {"%a: i8[1,1,256,256]", AVERAGE("256,256"), "integer_avg_pool"},
    {"%a: i8[1,1,256,257]", AVERAGE("256,257"), REAL1("avg_pool")},
    {"%a: i8[1,256,256,256]", AVERAGE("256,256"), "integer_avg_pool"},
    {"%a: i8[1,257,256,256]", AVERAGE("256,256"), REAL1("avg_pool")},
    {"%a: i8[1,0,4,4]", AVERAGE("2,2"), REAL1("avg_pool")},
    {"%a: i8[1,2,4,4]", MOST Q, "max_pool map"},
    {"%a: i8[1,2,4,4]", MOST "%q = quantize(%y, %s, %z) {to=i8}\noutput %q\n", "max_pool"},
    {"%a: i8[1,2,4,4]", X "%y, %i = max_pool(%x) {kernel=[2,2], strides=[1,1], pads=[0,0,0,0], "
     "dilations=[1,1]}\noutput %i\n" Q, REAL1("max_pool")},
    {"%a: i8[1,2,4,4]", X "%y, - = max_pool(%x) {kernel=[2,2], strides=[1,1], pads=[0,0,0,0], "
     "dilations=[1,1]}\n" Q, "max_pool map"}};

#define WEIGHTS "%wq = constant i8[3,2] {1,2,3,4,5,6}\n"
#define PER(scale, zero)                                                                      \
  "%ws = constant f32[2] {" scale "}\n%wz = constant i8[2] {" zero "}\n"                      \
  "%w = dequantize(%wq, %ws, %wz)\n"
#define ONE "%w = dequantize(%wq, %s, %w0)\n"

static const rule_case products[] = {
    {"%a: i8[2,3], %b: i8[3,2], %f: f32[2], %wf: f32[3,2]",
     X WEIGHTS ONE "%y = matmul(%x, %w)\n" Q, "matmul"},
    {NULL, X WEIGHTS ONE "%y = matmul(%x, %w)\noutput %y\n", "matmul"},
    {NULL, X "%y = matmul(%x, %wf)\n" Q, REAL1("matmul")},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {1.0, 2.0}\n%y = matmul(%x, %w, %k)\n" Q,
     "matmul"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {1.0, 2.0}\n%u = matmul(%x, %w)\n"
     "%y = add(%u, %k)\n" Q, "matmul"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2,1] {1.0, 2.0}\n%u = matmul(%x, %w)\n"
     "%y = add(%u, %k)\n" Q, "matmul add quantize"},
    {NULL, X WEIGHTS ONE "%u = matmul(%x, %w)\n%y = add(%u, %f)\n" Q, "matmul add quantize"}};

#define CONV "{pads=[0,0,0,0], strides=[1,1], dilations=[1,1]}"
#define BACK "{pads=[0,0,0,0], strides=[1,1], dilations=[1,1], output_padding=[0,0]"
#define TO(scale) "%q = quantize(%y, " scale ", %z) {to=i8}\noutput %q\n"
#define NUMBER(name, v) "%" name " = constant f32[] {" v "}\n"
#define STAYS(op) "dequantize dequantize " op

/* What weights, biases and products may be. */
static const rule_case contractions[] = {
    {"%a: i8[2,3], %b: i8[3,2], %f: f32[2], %s2: f32[2], %c: i8[1,2,2,2], %i: i8[2]",
     X WEIGHTS PER("0.5, 0.25", "0, 1") "%y = matmul(%x, %w)\n" Q, "matmul"},
    {NULL, X WEIGHTS "%ws = constant f32[1,2] {0.5, 0.25}\n%w = dequantize(%wq, %ws, %w0)\n"
     "%y = matmul(%x, %w)\n" Q, "matmul"},
    {NULL, X WEIGHTS "%ws = constant f32[3,1] {0.5, 0.25, 1.0}\n%w = dequantize(%wq, %ws, %w0)\n"
     "%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    {NULL, X WEIGHTS "%wz = constant i8[3,1] {0, 0, 1}\n%w = dequantize(%wq, %s, %wz)\n"
     "%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    {NULL, X "%wq = constant i8[3,3] {1,2,3,4,5,6,7,8,9}\n"
     "%ws = constant f32[3,1] {0.5, 0.25, 1.0}\n%w = dequantize(%wq, %ws, %w0)\n"
     "%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    /* views of what the model has, which are not folded where there are many */
    {NULL, X WEIGHTS "%sv = constant f32[2] {0.5, 0.25}\n%ws = reshape(%sv) {shape=[1,2]}\n"
     "%zv = constant i8[2] {0, 1}\n%wz = reshape(%zv) {shape=[1,2]}\n"
     "%w = dequantize(%wq, %ws, %wz)\n%y = matmul(%x, %w)\n" Q, "matmul"},
    {NULL, X WEIGHTS PER("0.5, 0.0", "0, 0") "%y = matmul(%x, %w)\n" Q, "matmul"},
    {NULL, X WEIGHTS PER("-0.5, 0.5", "3, 0") "%y = matmul(%x, %w)\n" Q, "matmul"},
    {NULL, X WEIGHTS PER("0.0, -0.0", "1, 2") "%k = constant f32[2] {1.5, -40.0}\n"
     "%y = matmul(%x, %w, %k)\n" Q, "matmul"},
    {NULL, X WEIGHTS PER("0.5, 0.0", "0, 0") "%y = matmul(%x, %w)\noutput %y\n", "matmul"},
    {NULL, X WEIGHTS PER("0.5, inf", "0, 0") "%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    {NULL, X WEIGHTS "%w = dequantize(%wq, %s2, %w0)\n%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    {NULL, X WEIGHTS "%w = dequantize(%wq, %s, %i)\n%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    {NULL, X "%wq = constant i32[3,2] {1,2,3,4,5,6}\n%h = constant i32[] {0}\n"
     "%w = dequantize(%wq, %s, %h)\n%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    /* of two activations: no bias, and one scale each */
    {NULL, X Z "%y = matmul(%x, %v)\n" Q, "integer_matmul"},
    {NULL, X Z "%y = matmul(%x, %v)\noutput %y\n", "integer_matmul"},
    {NULL, X Z "%k = constant f32[2] {1.0, 2.0}\n%y = matmul(%x, %v, %k)\n" Q, REAL("matmul")},
    {NULL, X Z "%k = constant f32[2] {1.0, 2.0}\n%u = matmul(%x, %v)\n%y = add(%u, %k)\n" Q,
     "integer_matmul add quantize"},
    {NULL, X "%ws = constant f32[1,2] {0.5, 0.25}\n%v = dequantize(%b, %ws, %w0)\n"
     "%y = matmul(%x, %v)\n" Q, REAL("matmul")},
    {NULL, "%ws = constant f32[2,1] {0.5, 0.25}\n%x = dequantize(%a, %ws, %w0)\n" WEIGHTS ONE
     "%y = matmul(%x, %w)\n" Q, REAL("matmul")},
    /* what is added */
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {1.0, 2.0}\n%u = matmul(%x, %w)\n"
     "%y = add(%k, %u)\n" Q, "matmul"},
    {NULL, X WEIGHTS ONE "%k = constant f32[3] {1.0, 2.0, 3.0}\n%u = matmul(%x, %w)\n"
     "%h = transpose(%u) {perm=[1,0]}\n%g = constant f32[2] {1.0, 2.0}\n%y = add(%h, %g)\n" Q,
     "matmul transpose add quantize"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {1.0, 2.0}\n%u = matmul(%x, %w)\n"
     "%y = add(%u, %k)\noutput %u\n" Q, "matmul add quantize"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {1.0, 2.0}\n%u = matmul(%x, %w)\n"
     "%y = add(%u, %k)\noutput %y\n" Q, "matmul add quantize"},
    {NULL, X WEIGHTS ONE "%k = constant f32[3,2,2] splat(1.0)\n%u = matmul(%x, %w)\n"
     "%y = add(%u, %k)\n" Q, "matmul add quantize"},
    {NULL, X WEIGHTS ONE "%u = matmul(%x, %w)\n%y = add(%u, %u)\n" Q, "matmul add quantize"},
    {NULL, X WEIGHTS ONE "%y = matmul(%x, %w, -, %f) {epilogue=\"mul(%0, %1)\"}\n" Q,
     REAL("matmul")},
    /* what is computed channel by channel */
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {2.0, -3.0}\n%u = matmul(%x, %w)\n"
     "%y = mul(%u, %k)\n" Q, "matmul"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {2.0, -3.0}\n%u = matmul(%x, %w, %k)\n"
     "%d = div(%u, %k)\n%e = sub(%k, %d)\n%y = add(%e, %k)\n" Q, "matmul"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {2.0, 0.0}\n%u = matmul(%x, %w)\n"
     "%y = div(%u, %k)\n" Q, "matmul div quantize"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {2.0, 0.0}\n%u = matmul(%x, %w)\n"
     "%y = div(%k, %u)\n" Q, "matmul div quantize"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2,1] {2.0, 3.0}\n%u = matmul(%x, %w)\n"
     "%y = mul(%u, %k)\n" Q, "matmul mul quantize"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {2.0, 3.0}\n%u = matmul(%x, %w)\n"
     "%y = mul(%u, %k)\noutput %u\n" Q, "matmul mul quantize"},
    {NULL, "%x = dequantize(%c, %s, %z)\n%wq = constant i8[2,2,1,1] {1,2,3,4}\n" ONE
     "%k = constant f32[2] {1.0, -2.0}\n%v = constant f32[2] {0.999, 0.249}\n"
     "%o = constant f32[2] {0.0, 0.0}\n%u = conv(%x, %w) " CONV
     "\n%y = batch_norm(%u, %k, %k, %o, %v) {epsilon=0.001}\n" Q, "conv"},
    {NULL, X WEIGHTS ONE "%k = constant f32[2] {1.0, 2.0}\n%v = constant f32[2] {0.999, 0.249}\n"
     "%o = constant f32[2] {0.0, 0.0}\n%u = matmul(%x, %w)\n"
     "%y = batch_norm(%u, %k, %k, %o, %v) {epsilon=0.001}\n" Q, "matmul"},
    {NULL, X Z "%u = matmul(%x, %v)\n%y = mul(%u, %t)\n" Q, "integer_matmul"},
    {NULL, X Z "%u = matmul(%x, %v)\n%y = add(%u, %t)\n" Q, "integer_matmul add quantize"},
    /* convolutions */
    {NULL, "%x = dequantize(%c, %s, %z)\n%wq = constant i8[2,2,1,1] {1,2,3,4}\n" ONE
     "%y = conv(%x, %w) " CONV "\n" Q, "conv"},
    {NULL, "%x = dequantize(%c, %s, %z)\n%wq = constant i8[2,2,1,1] {1,2,3,4}\n" ONE
     "%k = constant f32[2,1,1] {1.0, 2.0}\n%u = conv(%x, %w) " CONV "\n%y = add(%u, %k)\n" Q,
     "conv"},
    {NULL, "%x = dequantize(%c, %s, %z)\n%wq = constant i8[2,2,1,1] {1,2,3,4}\n" ONE
     "%k = constant f32[1,2,1] {1.0, 2.0}\n%u = conv(%x, %w) " CONV "\n%y = add(%u, %k)\n" Q,
     "conv add quantize"},
    {NULL, "%x = dequantize(%c, %s, %z)\n%wq = constant i8[2,2,1,1] {1,2,3,4}\n" ONE
     "%y = conv(%x, %w, -, %k2) {pads=[0,0,0,0], strides=[1,1], dilations=[1,1], "
     "epilogue=\"mul(%0, %1)\"}\n" Q, REAL("conv")},
    {NULL, "%x = dequantize(%c, %s, %z)\n%wq = constant i8[2,1,2,2] splat(3)\n" ONE
     "%y = conv_transpose(%x, %w) " BACK "}\n" Q, "map conv_transpose"},
    {NULL, "%x = dequantize(%c, %s, %w0)\n%wq = constant i8[2,1,2,2] splat(3)\n" ONE
     "%y = conv_transpose(%x, %w) " BACK "}\n" Q, "conv_transpose"},
    {NULL, "%x = dequantize(%c, %s, %w0)\n%wq = constant i8[2,1,2,2] splat(3)\n" ONE
     "%y = conv_transpose(%x, %w) " BACK "}\noutput %y\n", STAYS("conv_transpose")},
    {NULL, "%x = dequantize(%c, %s, %w0)\n%wq = constant i8[2,1,2,2] splat(3)\n" ONE
     "%u = conv_transpose(%x, %w) " BACK "}\n%y = add(%u, %k2)\n" Q, "conv_transpose"},
    {NULL, "%x = dequantize(%c, %s, %w0)\n%wq = constant i8[2,1,2,2] splat(3)\n" ONE
     "%y = conv_transpose(%x, %w, -, %k2) " BACK ", epilogue=\"mul(%0, %1)\"}\n" Q,
     REAL("conv_transpose")}};

#define GAIN                                                                                  \
  "%g = constant f32[4] {1.0, -2.0, 0.5, 3.0}\n%h = constant f32[4] {0.5, 0.0, -1.0, 2.0}\n"
#define BY(shape, v) "%g = constant f32" shape " {" v "}\n%y = layer_norm(%x, %g) "
#define NORM "{axis=1, epsilon=1e-5}\n"
/* (x - mean) / sqrt(variance + epsilon), written out */
#define STANDARD                                                                              \
  "%m = reduce_mean(%x) {axes=[1], keepdims=1}\n%d = sub(%x, %m)\n%d2 = mul(%d, %d)\n"     \
  "%var = reduce_mean(%d2) {axes=[1], keepdims=1}\n%e = constant f32[] {1e-5}\n"            \
  "%ve = add(%var, %e)\n%r = sqrt(%ve)\n%n = div(%d, %r)\n"

#define STAYS_STANDARD "dequantize reduce_mean sub mul reduce_mean add sqrt div "

#define SMALL "%tenth = constant f32[] {0.1}\n%x = dequantize(%a, %tenth, %z)\n"
static const rule_case norms[] = {
    {"%a: i8[3,4], %f: f32[4]", X GAIN "%y = layer_norm(%x, %g, %h) " NORM Q, "integer_norm"},
    {NULL, X GAIN "%y = layer_norm(%x, %g) " NORM Q, "integer_norm"},
    {NULL, X GAIN "%y = layer_norm(%x, %h, %g) " NORM Q, "integer_norm"},
    {NULL, X GAIN "%y, - = layer_norm(%x, %g, %h) " NORM Q, "integer_norm"},
    {NULL, X GAIN "%y, %m = layer_norm(%x, %g, %h) " NORM "output %m\n" Q,
     REAL1("layer_norm")},
    {NULL, X GAIN "%y, -, %s1 = layer_norm(%x, %g, %h) " NORM "output %s1\n" Q,
     REAL1("layer_norm")},
    {NULL, X "%y = layer_norm(%x, %f, %f) " NORM Q, REAL1("layer_norm")},
    {NULL, X GAIN STANDARD "%u = mul(%n, %g)\n%y = add(%u, %h)\n" Q, "integer_norm"},
    {NULL, X GAIN STANDARD "%u = mul(%g, %n)\n%y = add(%h, %u)\n" Q, "integer_norm"},
    {NULL, X GAIN STANDARD "%y = add(%n, %h)\n" Q, "integer_norm"},
    {NULL, X GAIN STANDARD "%y = mul(%n, %g)\n" Q, "integer_norm"},
    {NULL, X STANDARD "%y = add(%n, %k2)\n" Q, "integer_norm"},
    {NULL, X STANDARD "%y = mul(%n, %f)\n" Q, STAYS_STANDARD "mul quantize"},
    {NULL, X GAIN STANDARD "%u = mul(%n, %g)\n%y = add(%u, %h)\noutput %u\n" Q,
     STAYS_STANDARD "mul add quantize"},
    {NULL, X GAIN STANDARD "%u = mul(%n, %g)\n%y = add(%u, %h)\noutput %n\n" Q,
     STAYS_STANDARD "mul add quantize"},
    /* softmax in pieces */
    {NULL, SMALL "%e = exp(%x)\n%u = reduce_sum(%e) {axes=[1]}\n%y = div(%e, %u)\n" Q,
     "integer_softmax"},
    {NULL, X "%m = reduce_max(%x) {axes=[1]}\n%d = sub(%x, %m)\n%e = exp(%d)\n"
     "%u = reduce_sum(%e) {axes=[1]}\n%i = reciprocal(%u)\n%y = mul(%i, %e)\n" Q,
     "integer_softmax"},
    {NULL, SMALL "%e = exp(%x)\n%u = reduce_sum(%e) {axes=[1]}\n%y = div(%e, %u)\noutput %e\n" Q,
     "dequantize exp reduce_sum div quantize"},
    {NULL, X "%e = exp(%x)\n"
     "%u = reduce_sum(%e) {axes=[1]}\n%y = div(%e, %u)\n" Q,
     "dequantize exp reduce_sum div quantize"},
    /* parameters lie along the row, whose axes may be several */
    {"%a: i8[3,2,2]", X BY("[2,2]", "1.0, -2.0, 0.5, 3.0") NORM Q, "integer_norm"},
    {NULL, X BY("[1,2,2]", "1.0, -2.0, 0.5, 3.0") NORM Q, "integer_norm"},
    {NULL, X BY("[]", "2.0") NORM Q, "integer_norm"},
    {NULL, X BY("[2]", "1.0, -2.0") NORM Q, REAL1("layer_norm")},
    {NULL, X BY("[2,1]", "1.0, -2.0") NORM Q, REAL1("layer_norm")},
    {"%a: i8[3,1,4]", X BY("[4]", "1.0, -2.0, 0.5, 3.0") NORM Q, "integer_norm"},
    {"%a: i8[3,4,1]", X BY("[4,1]", "1.0, -2.0, 0.5, 3.0") NORM Q, "integer_norm"},
    {"%a: i8[3,4,4]", X BY("[4,1]", "1.0, -2.0, 0.5, 3.0") "{axis=2, epsilon=1e-5}\n" Q,
     REAL1("layer_norm")},
    {NULL, X BY("[4]", "1.0, -2.0, 0.5, 3.0") "{axis=2, epsilon=1e-5}\n" Q, "integer_norm"}};

#define CHANNELS(n) "%wq = constant i8[3," n "] splat(1)\n" ONE "%y = matmul(%x, %w)\n" Q
#define GROUPS(n)                                                                             \
  "%x = dequantize(%c, %s, %w0)\n%wq = constant i8[2," n ",1,1] splat(1)\n" ONE              \
  "%y = conv_transpose(%x, %w) " BACK ", group=2}\n" Q
#define BIASED(bias, by)                                                                      \
  X WEIGHTS ONE "%k = constant f32[2] {0.0, " bias "}\n" NUMBER("to", by)                   \
  "%y = matmul(%x, %w, %k)\n" TO("%to")
#define SCALED(from, by)                                                                      \
  NUMBER("from", from) NUMBER("to", by) "%x = dequantize(%a, %from, %z)\n"
#define TWO(one, two, by)                                                                     \
  SCALED(one, by) NUMBER("from2", two) "%v = dequantize(%b, %from2, %z)\n"
#define WEIGHED(from, by) SCALED(from, by) WEIGHTS ONE "%y = matmul(%x, %w)\n" TO("%to")
#define POOLED(kernel, pads, from)                                                            \
  SCALED(from, "1.0") "%y = avg_pool(%x) {kernel=[" kernel "], strides=[1,1], pads=[" pads    \
  "], real_pads=[0,0,0,0], dilations=[1,1]}\n" TO("%to")

/* The last numbers that integers hold, and the next ones. */
static const rule_case limits[] = {
    {"%a: i8[1,3], %c: i8[1,2,1,1]", X CHANNELS("1048576"), "matmul"},
    {NULL, X CHANNELS("1048577"), "integer_matmul"}, /* as of two activations */
    {NULL, X CHANNELS("0"), "integer_matmul"},
    {NULL, GROUPS("524288"), "conv_transpose"},
    {NULL, GROUPS("524289"), REAL("conv_transpose")},
    {"%a: i8[2,3], %b: i8[2,3]", BIASED("268435440.0", "1.0"), "matmul"}, /* in units of 1/4 */
    {NULL, BIASED("268435456.0", "1.0"), "matmul quantize"},
    {NULL, BIASED("-268435440.0", "1.0"), "matmul"},
    {NULL, BIASED("-268435456.0", "1.0"), "matmul quantize"},
    {NULL, BIASED("0.125", "16.0"), "matmul"}, /* what rounding the bias costs: half a unit */
    {NULL, BIASED("0.125", "15.9"), "matmul quantize"},
    {NULL, BIASED("-0.125", "15.9"), "matmul quantize"},
    {NULL, BIASED("0.25", "15.9"), "matmul"},
    {NULL, WEIGHED("255.0", "1.0"), "matmul"}, /* weights are in halves */
    {NULL, WEIGHED("256.0", "1.0"), "matmul quantize"},
    {NULL, WEIGHED("1.0", "1e18"), "matmul"}, /* nothing is left of it below 2^-60 */
    {NULL, WEIGHED("1.0", "5.7646075e17"), "matmul"},
    {NULL, SCALED("2097151.0", "1.0") "%q = quantize(%x, %to, %z) {to=i8}\noutput %q\n", "map"},
    {NULL, SCALED("2097152.0", "1.0") "%q = quantize(%x, %to, %z) {to=i8}\noutput %q\n",
     "dequantize quantize"},
    {NULL, TWO("2097151.0", "1.0", "1.0") "%y = add(%x, %v)\n" TO("%to"), "map"},
    {NULL, TWO("2097152.0", "1.0", "1.0") "%y = add(%x, %v)\n" TO("%to"), REAL("add")},
    {NULL, TWO("1.0", "2097151.0", "1.0") "%y = sub(%x, %v)\n" TO("%to"), "map"},
    {NULL, TWO("1.0", "2097152.0", "1.0") "%y = sub(%x, %v)\n" TO("%to"), REAL("sub")},
    {NULL, TWO("127.0", "1.0", "1.0") "%y = mul(%x, %v)\n" TO("%to"), "map"},
    {NULL, TWO("128.0", "1.0", "1.0") "%y = mul(%x, %v)\n" TO("%to"), REAL("mul")},
    {NULL, TWO("1.0", "128.0", "1.0") "%y = mul(%x, %v)\n" TO("%to"), REAL("mul")},
    {NULL, SCALED("255.0", "1.0") "%y = reduce_mean(%x) {axes=[0]}\n" TO("%to"), "reduce"},
    {NULL, SCALED("256.0", "1.0") "%y = reduce_mean(%x) {axes=[0]}\n" TO("%to"),
     REAL1("reduce_mean")},
    {NULL, SCALED("767.0", "1.0") "%y = reduce_mean(%x) {axes=[0,1]}\n" TO("%to"), "reduce"},
    /* every window counts: those at the edges, which see the least, above all */
    {"%a: i8[1,1,2,2]", POOLED("2,2", "0,0,0,0", "511.0"), "integer_avg_pool"},
    {NULL, POOLED("2,2", "0,0,0,0", "512.0"), REAL1("avg_pool")},
    {NULL, POOLED("2,2", "1,0,0,0", "255.0"), "integer_avg_pool"},
    {NULL, POOLED("2,2", "1,0,0,0", "256.0"), REAL1("avg_pool")},
    {NULL, POOLED("2,2", "0,1,0,0", "256.0"), REAL1("avg_pool")},
    {NULL, POOLED("2,2", "0,0,1,0", "256.0"), REAL1("avg_pool")},
    {NULL, POOLED("2,2", "0,0,0,1", "256.0"), REAL1("avg_pool")},
    {NULL, POOLED("2,2", "1,1,1,1", "127.0"), "integer_avg_pool"},
    {NULL, POOLED("2,2", "1,0,0,1", "128.0"), REAL1("avg_pool")},
    {"%a: i8[1,1,2,4]", POOLED("2,1", "0,0,0,0", "255.0"), "integer_avg_pool"},
    {NULL, POOLED("2,1", "0,0,0,0", "256.0"), REAL1("avg_pool")},
    {NULL, POOLED("1,4", "0,0,0,0", "511.0"), "integer_avg_pool"}};

static wk_module *converted(const char *args, const char *body) {
  wk_module *m = graph_of(args, NUMBERS, body);
  int64_t changes;
  wk_status s = wk_integer_convert(m, &changes);
  if (s) fail_msg("%s\n%s: %s", body, s->place ? s->place : "", s->message);
  return m;
}

static wk_tensor *value_of(const wk_module *m, const wk_tensor *in) {
  wk_tensor *out = wk_xcalloc(m->main->outputs.n, sizeof *out);
  wk_status s = wk_eval_graph(m->main, in, out, NULL, NULL);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  return out;
}

/* Integers that are as before, but for rounding; where that is soon known. */
static int compute_other_numbers(const char *args, const char *body, const wk_module *m) {
  wk_module *real = graph_of(args, NUMBERS, body);
  int64_t elements = 0;
  int differ = 0;
  for (size_t i = 0; i < real->main->values.n; i++)
    elements += wk_type_count(&real->main->values.data[i].type);
  for (uint64_t seed = 1; seed <= 2 && elements < 10000; seed++) {
    wk_tensor *in = random_integer_inputs(real->main, seed);
    wk_tensor *want = value_of(real, in), *got = value_of(m, in);
    for (size_t k = 0; k < real->main->outputs.n; k++) {
      if (!wk_dtype_is_int(want[k].type.dtype)) continue;
      assert_true(wk_type_equal(&want[k].type, &got[k].type));
      for (int64_t i = 0; i < wk_type_count(&want[k].type); i++)
        differ += llabs(wk_load_i64(want[k].data, want[k].type.dtype, i) -
                        wk_load_i64(got[k].data, got[k].type.dtype, i)) > 1;
    }
    random_tensors_free(want, real->main->outputs.n);
    random_tensors_free(got, real->main->outputs.n);
    random_tensors_free(in, real->main->inputs.n);
  }
  wk_module_free(real);
  return differ;
}

static void check(const rule_case *c, size_t n, bool computes) {
  const char *args = "";
  int bad = 0;
  for (size_t i = 0; i < n; i++) {
    if (c[i].args) args = c[i].args;
    wk_module *m = converted(args, c[i].body);
    wk_str left = {0};
    wk_str_add(&left, "");
    for (size_t k = 0; k < m->main->nodes.n; k++)
      if (!m->main->nodes.data[k].dead)
        wk_str_printf(&left, "%s%s", left.n ? " " : "", wk_op_get(m->main->nodes.data[k].op)->name);
    if (strcmp(left.s, c[i].left)) {
      print_error("case %zu (%s): %s  left: %s\n  want: %s\n", i, args, c[i].body, left.s,
                  c[i].left);
      bad++;
    }
    int differ = computes ? compute_other_numbers(args, c[i].body, m) : 0;
    if (differ) print_error("case %zu (%s): %s: %d other numbers\n", i, args, c[i].body, differ);
    bad += differ > 0;
    wk_str_free(&left);
    wk_module_free(m);
  }
  assert_int_equal(bad, 0);
}

/* A channel in whose scale its bias is no integer gets another scale just where all its weights are
 * 0: one weight of all is not, each in turn, for every channel. `inner`: weights behind the axis of
 * the channels, of which there are 3. */
static void test_dead_channels(void **state) {
  (void)state;
  static const struct { const char *x, *weights, *scales, *bias, *node; int n, inner; } rows[] = {
      {"i8[2,2]", "[2,3]", "[1,3]", "[3]", "%u = matmul(%x, %w)\n%y = add(%u, %k)\n", 6, 1},
      {"i8[1,2,2,2]", "[3,2,1,2]", "[3,1,1,1]", "[3]", "%y = conv(%x, %w, %k) " CONV "\n", 12, 4},
      {"i8[1,3,2,2]", "[3,1,2,1]", "[3,1,1,1]", "[3]",
       "%y = conv(%x, %w, %k) {group=3, pads=[0,0,0,0], strides=[1,1], dilations=[1,1]}\n", 6, 2},
      {"i8[1,2,2,2]", "[2,3,1,2]", "[1,3,1,1]", "[3]",
       "%y = conv_transpose(%x, %w, %k) " BACK "}\n", 12, 2}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    for (int at = 0; at < rows[i].n; at++)
      for (int channel = 0; channel < 3; channel++) {
        wk_str args = {0}, body = {0};
        wk_str_printf(&args, "%%a: %s", rows[i].x);
        wk_str_printf(&body, "%%x = dequantize(%%a, %%s, %%w0)\n%%wq = constant i8%s {",
                      rows[i].weights);
        for (int k = 0; k < rows[i].n; k++) wk_str_printf(&body, k ? ",%d" : "%d", 5 * (k == at));
        wk_str_printf(&body, "}\n%%ws = constant f32%s {", rows[i].scales);
        for (int k = 0; k < 3; k++)
          wk_str_printf(&body, "%s%s", k ? "," : "", k == channel ? "1e-12" : "0.5");
        wk_str_printf(&body, "}\n%%k = constant f32%s {", rows[i].bias);
        for (int k = 0; k < 3; k++)
          wk_str_printf(&body, "%s%s", k ? "," : "", k == channel ? "-20.0" : "1.0");
        wk_str_printf(&body, "}\n%%w = dequantize(%%wq, %%ws, %%w0)\n%s%s", rows[i].node,
                      Q);
        wk_module *m = converted(args.s, body.s);
        bool is_real = false, is_live = at / rows[i].inner % 3 == channel;
        for (size_t k = 0; k < m->main->nodes.n; k++)
          is_real |= !m->main->nodes.data[k].dead &&
                     m->main->nodes.data[k].op == WK_OP_QUANTIZE;
        if (is_real != is_live) fail_msg("weight %d, channel %d: %s", at, channel, body.s);
        wk_module_free(m);
        wk_str_free(&args);
        wk_str_free(&body);
      }
}

/* A table of up to 24 operators in a row. */
static void test_chains(void **state) {
  (void)state;
  for (int n = 23; n <= 25; n++) {
    wk_str body = {0};
    wk_str_add(&body, X "%v0 = tanh(%x)\n");
    for (int i = 1; i < n - 1; i++) wk_str_printf(&body, "%%v%d = sin(%%v%d)\n", i, i - 1);
    wk_str_printf(&body, "%%y = cos(%%v%d)\n", n - 2);
    wk_str_add(&body, Q);
    wk_module *m = converted("%a: i8[2,3]", body.s);
    assert_int_equal(m->main->nodes.n, n <= 24 ? 1 : n + 2);
    wk_module_free(m);
    wk_str_free(&body);
  }
}

/* What operators become by themselves; the others have no integer form. */
static const char forms[] =
    "identity: itself\n"
    "reshape: itself\n"
    "transpose: itself\n"
    "slice: itself\n"
    "expand: itself\n"
    "concat: itself\n"
    "split: itself\n"
    "pad: itself\n"
    "tile: itself\n"
    "conv: itself\n"
    "conv_transpose: itself\n"
    "matmul: itself\n"
    "integer_avg_pool: avg_pool\n"
    "integer_softmax: softmax\n"
    "integer_norm: layer_norm\n"
    "integer_resize: resize\n"
    "max_pool: itself\n"
    "reduce_max: itself\n"
    "reduce_min: itself\n"
    "gather: abs neg sign floor ceil round sqrt reciprocal exp log sin cos tan asin acos "
    "atan sinh cosh asinh acosh atanh tanh erf sigmoid relu leaky_relu thresholded_relu elu "
    "selu celu softplus softsign hard_sigmoid hard_swish silu gelu gelu_tanh mish shrink "
    "clip div mod fmod min max pow prelu fake_quantize gather\n"
    "map: add sub mul where quantize dequantize\n"
    "reduce: reduce_mean\n";

static void test_forms(void **state) {
  (void)state;
  wk_str b = {0};
  for (int form = 0; form < WK_OP_COUNT; form++) {
    bool any = false;
    for (int op = 0; op < WK_OP_COUNT; op++) {
      if (wk_integer_form_of((wk_op)op) != (wk_op)form) continue;
      if (!any) wk_str_printf(&b, "%s:", wk_op_get((wk_op)form)->name);
      if (op != form || any) wk_str_printf(&b, " %s", wk_op_get((wk_op)op)->name);
      else wk_str_add(&b, " itself");
      any = true;
    }
    if (any) wk_str_add(&b, "\n");
  }
  if (strcmp(b.s, forms)) fail_msg("\n%s", b.s);
  wk_str_free(&b);
}

#define TEST(table, computes)                                                                 \
  static void test_##table(void **state) {                                                    \
    (void)state;                                                                              \
    check(table, WK_COUNTOF(table), computes);                                                \
  }
TEST(maps, true)
TEST(tables, true)
TEST(nans, false)
TEST(windows, true)
TEST(products, true)
TEST(contractions, true)
TEST(limits, true)
TEST(norms, true)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps), cmocka_unit_test(test_tables), cmocka_unit_test(test_nans),
      cmocka_unit_test(test_windows), cmocka_unit_test(test_norms),
      cmocka_unit_test(test_products), cmocka_unit_test(test_contractions),
      cmocka_unit_test(test_limits),   cmocka_unit_test(test_dead_channels),
      cmocka_unit_test(test_chains),   cmocka_unit_test(test_forms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
