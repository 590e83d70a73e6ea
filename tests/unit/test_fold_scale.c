/* SPDX-License-Identifier: Apache-2.0
 * What goes into the weights of a convolution or product, into a batch norm, into the pads of a
 * window; and what nearly does. */
#include "tests/unit/rewrite_case.h"

#define Y "output %y\n"
#define PADS "{strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n"
#define PADDED "{strides=[1,1], pads=[0,0,0,1], dilations=[1,1]}\n"
#define W "%w = constant f32[2,2,1,1] {1.0, 2.0, 3.0, 4.0}\n"
#define S "%s = constant f32[2,1,1] {2.0, 3.0}\n"
#define CONV W "%a = conv(%x, %w) " PADS
#define FOUR(a, b, c, d) "batch_norm(%a, " a ", " b ", " c ", " d ")"
#define ONE_TWO "%o = constant f32[2] {1.0, 2.0}\n"
#define K2(name, type, data) "%" name " = constant " type " {" data "}\n"

static const rewrite_case behind[] = {
    {"%x: f32[1,2,3,3], %z: f32[2,3], %c: f32[2,1,1], %v: f32[2], %d: f32[2,2,1,1]",
     CONV S "%y = mul(%a, %s)\n" Y, "conv"},
    {NULL, CONV S "%y = mul(%s, %a)\n" Y, "conv"},
    {NULL, CONV S "%y = div(%a, %s)\n" Y, "conv"},
    {NULL, CONV S "%y = div(%s, %a)\n" Y, "conv div"},
    {NULL, CONV S "%y = add(%a, %s)\n" Y, "conv"},
    {NULL, CONV S "%y = add(%s, %a)\n" Y, "conv"},
    {NULL, CONV S "%y = sub(%a, %s)\n" Y, "conv"},
    {NULL, CONV S "%y = sub(%s, %a)\n" Y, "conv"},
    {NULL, CONV S "%y = max(%s, %a)\n" Y, "conv max"},
    {NULL, CONV S "%y = pow(%a, %s)\n" Y, "conv pow"},
    {NULL, CONV "%y = mul(%a, %c)\n" Y, "conv mul"},
    {NULL, CONV "%y = add(%a, %c)\n" Y, "conv add"},
    {NULL, CONV "%y = mul(%a, %a)\n" Y, "conv mul"},
    /* what callers may set is not known */
    {NULL, CONV "public " S "%y = mul(%a, %s)\n" Y, "conv mul"},
    {NULL, "public " CONV S "%y = mul(%a, %s)\n" Y, "conv mul"},
    {NULL, "public " CONV S "%y = add(%a, %s)\n" Y, "conv"},
    {NULL, W S "public " ONE_TWO "%a = conv(%x, %w, %o) " PADS "%y = add(%a, %s)\n" Y, "conv add"},
    /* along which axis the constant differs, and of which rank it is */
    {NULL, CONV "%y = mul(%a, %k3)\n" Y, "conv"},
    {NULL, CONV K2("k", "f32[1,1,1,1]", "3.0") "%y = mul(%a, %k)\n" Y, "conv"},
    {NULL, CONV K2("k", "f32[1,2,1,1]", "3.0, 4.0") "%y = mul(%a, %k)\n" Y, "conv"},
    {NULL, CONV K2("k", "f32[1,1,1,1,1]", "3.0") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[1,1,2,1,1]", "3.0, 4.0") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[3]", "3.0, 4.0, 5.0") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[3,1]", "3.0, 4.0, 5.0") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[2,1,3]", "3,4,5,6,7,8") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[1,1,3]", "3,4,5") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[2,1,1,1]", "3,4") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, W "%b = conv(%x, %w) " PADS "%a = reshape(%b) {shape=[1,2,9]}\n"
     K2("k", "f32[2,1]", "3,4") "%y = mul(%a, %k)\n" Y, "conv reshape mul"},
    /* numbers that a float does not hold */
    {NULL, CONV "%y = div(%a, %k0)\n" Y, "conv div"},
    {NULL, CONV K2("k", "f32[2,1,1]", "1.0, inf") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[2,1,1]", "inf, 1.0") "%y = add(%a, %k)\n" Y, "conv add"},
    {NULL, CONV K2("k", "f32[2,1,1]", "1.0, 2e38") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, CONV K2("k", "f32[2,1,1]", "2e38, 1.0") "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, W K2("b", "f32[2]", "1.0, 3e38") K2("k", "f32[2,1,1]", "1.0, 2.0")
     "%a = conv(%x, %w, %b) " PADS "%y = mul(%a, %k)\n" Y, "conv mul"},
    {NULL, W K2("b", "f32[2]", "3e38, 1.0") K2("k", "f32[2,1,1]", "2.0, 1.0")
     "%a = conv(%x, %w, %b) " PADS "%y = mul(%a, %k)\n" Y, "conv mul"},
    /* biases, weights and results that are computed, shared or read elsewhere */
    {NULL, W S ONE_TWO "%a = conv(%x, %w, %o) " PADS "%y = mul(%a, %s)\n" Y, "conv"},
    {NULL, W S ONE_TWO "%a = conv(%x, %w, %o) " PADS "%y = add(%a, %s)\n" Y, "conv"},
    {NULL, W S "%a = conv(%x, %w, %v) " PADS "%y = mul(%a, %s)\n" Y, "conv mul"},
    {NULL, W S "%a = conv(%x, %w, %v) " PADS "%y = add(%a, %s)\n" Y, "conv add"},
    {NULL, S "%a = conv(%x, %d) " PADS "%y = mul(%a, %s)\n" Y, "conv mul"},
    {NULL, S "%a = conv(%x, %d) " PADS "%y = add(%a, %s)\n" Y, "conv"},
    {NULL, CONV S "%y = mul(%a, %s)\noutput %a\n" Y, "conv mul"},
    {NULL, CONV S "%y = mul(%a, %s)\noutput %w\n" Y, "conv mul"},
    {NULL, CONV S "%y = add(%a, %s)\noutput %w\n" Y, "conv"},
    {NULL, CONV S "%b = relu(%w)\n%y = mul(%a, %s)\noutput %b\n" Y, "conv relu mul"},
    {NULL, CONV S "%b = relu(%a)\n%y = mul(%b, %s)\n" Y, "conv relu mul"},
    {NULL, CONV S "%b = mul(%a, %s)\n%y = add(%b, %s)\n" Y, "conv"},
    {NULL, W S "%a = conv(%x, %w) " PADDED "%y = add(%a, %s)\n" Y, "conv"},
    /* batch norms */
    {NULL, CONV ONE_TWO "%y = " FOUR("%o", "%o", "%o", "%o") "\n" Y, "conv"},
    {NULL, CONV ONE_TWO "%y = " FOUR("%v", "%o", "%o", "%o") "\n" Y, "conv batch_norm"},
    {NULL, CONV ONE_TWO "%y = " FOUR("%o", "%v", "%o", "%o") "\n" Y, "conv batch_norm"},
    {NULL, CONV ONE_TWO "%y = " FOUR("%o", "%o", "%v", "%o") "\n" Y, "conv batch_norm"},
    {NULL, CONV ONE_TWO "%k = constant f32[2] {1.0, 0.0}\n%u = abs(%v)\n%y = "
     FOUR("%o", "%o", "%o", "%u") "\n" Y, "conv abs batch_norm"},
    {NULL, CONV ONE_TWO K2("k", "f32[2]", "1.0, 0.0") "%y = " FOUR("%o", "%o", "%o", "%k")
     "\n" Y, "conv"},
    {NULL, CONV ONE_TWO K2("k", "f32[2]", "1.0, 0.0") "%y = " FOUR("%o", "%o", "%o", "%k")
     " {epsilon=0.0}\n" Y, "conv batch_norm"},
    /* products and transposed convolutions */
    {NULL, K2("w", "f32[3,2]", "1,2,3,4,5,6") ONE_TWO "%a = matmul(%z, %w)\n%y = mul(%a, %o)\n" Y,
     "matmul"},
    {NULL, K2("w", "f32[3,2]", "1,2,3,4,5,6") K2("k", "f32[2,1]", "1,2")
     "%a = matmul(%z, %w)\n%y = mul(%a, %k)\n" Y, "matmul mul"},
    {NULL, K2("w", "f32[2,3,2]", "1,2,3,4,5,6,7,8,9,10,11,12") ONE_TWO
     "%a = matmul(%z, %w)\n%y = mul(%a, %o)\n" Y, "matmul"},
    {NULL, K2("w", "f32[2,3,2]", "1,2,3,4,5,6,7,8,9,10,11,12") ONE_TWO
     "%a = matmul(%z, %w)\n%y = add(%a, %o)\n" Y, "matmul"},
    {NULL, K2("w", "f32[2,3,2]", "1,2,3,4,5,6,7,8,9,10,11,12") K2("k", "f32[2,1,1]", "1,2")
     "%a = matmul(%z, %w)\n%y = mul(%a, %k)\n" Y, "matmul mul"},
    {NULL, W S "%a = conv_transpose(%x, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
     "output_padding=[0,0]}\n%y = mul(%a, %s)\n" Y, "conv_transpose"},
    {NULL, "%w = constant f32[2,3,1,2] {1,2,3,4,5,6,7,8,9,10,11,12}\n"
     K2("k", "f32[3,1,1]", "2,3,4") "%a = conv_transpose(%x, %w) {strides=[1,1], "
     "pads=[0,0,0,0], dilations=[1,1], output_padding=[0,0]}\n%y = mul(%a, %k)\n" Y,
     "conv_transpose"},
    {NULL, K2("w", "f32[2,3]", "1,2,3,4,5,6") ONE_TWO "%t = transpose(%w) {perm=[1,0]}\n"
     "%a = matmul(%z, %t)\n%y = mul(%a, %o)\n" Y, "matmul"},
    {NULL, K2("w", "f32[2,3]", "1,2,3,4,5,6") ONE_TWO "%t = transpose(%w) {perm=[1,0]}\n"
     "%a = matmul(%z, %t)\n%y = mul(%a, %o)\noutput %t\n" Y, "transpose matmul mul"},
    {NULL, K2("w", "f32[2,3]", "1,2,3,4,5,6") ONE_TWO "%t = transpose(%w) {perm=[1,0]}\n"
     "%a = matmul(%z, %t)\n%y = mul(%a, %o)\noutput %w\n" Y, "transpose matmul mul"},
    {NULL, ONE_TWO "%t = transpose(%z) {perm=[1,0]}\n%a = matmul(%z, %t)\n%y = mul(%a, %o)\n" Y,
     "transpose matmul mul"},
    {NULL, K2("w", "f32[3,2]", "1,2,3,4,5,6") ONE_TWO "%t = relu(%w)\n"
     "%a = matmul(%z, %t)\n%y = mul(%a, %o)\n" Y, "relu matmul mul"}};

static const rewrite_case before[] = {
    {"%x: f32[1,2,3,3], %z: f32[2,3], %c: f32[2,1,1], %v: f32[2], %d: f32[2,2,1,1]",
     W S "%a = mul(%x, %s)\n%y = conv(%a, %w) " PADS Y, "conv"},
    {NULL, W S "%a = mul(%s, %x)\n%y = conv(%a, %w) " PADDED Y, "conv"},
    {NULL, W S "%a = add(%x, %s)\n%y = conv(%a, %w) " PADS Y, "conv"},
    {NULL, W S "%a = add(%x, %s)\n%y = conv(%a, %w) " PADDED Y, "add conv"},
    {NULL, W S "%a = sub(%s, %x)\n%y = conv(%a, %w) " PADS Y, "conv"},
    {NULL, W S "%a = sub(%s, %x)\n%y = conv(%a, %w) " PADDED Y, "sub conv"},
    {NULL, W S "%a = div(%x, %s)\n%y = conv(%a, %w) " PADS Y, "conv"},
    {NULL, W S "%a = div(%s, %x)\n%y = conv(%a, %w) " PADS Y, "div conv"},
    {NULL, W S "%a = max(%s, %x)\n%y = conv(%a, %w) " PADS Y, "max conv"},
    {NULL, W "%a = mul(%c, %x)\n%y = conv(%a, %w) " PADS Y, "mul conv"},
    {NULL, W K2("k", "f32[3]", "1,2,3") "%a = mul(%k, %x)\n%y = conv(%a, %w) " PADS Y,
     "mul conv"},
    {NULL, W ONE_TWO "%a = batch_norm(%x, %o, %o, %o, %o)\n%y = conv(%a, %w) " PADS Y, "conv"},
    {NULL, W ONE_TWO "%a = batch_norm(%x, %o, %o, %o, %o)\n%y = conv(%a, %w) " PADDED Y,
     "batch_norm conv"},
    {NULL, W ONE_TWO "%a = batch_norm(%x, %o, %v, %o, %o)\n%y = conv(%a, %w) " PADS Y,
     "batch_norm conv"},
    /* how far a shift may be; of one channel, the last, is enough */
    {NULL, W K2("k", "f32[2,1,1]", "1.0, 256.0") "%a = add(%x, %k)\n%y = conv(%a, %w) " PADS Y,
     "conv"},
    {NULL, W K2("k", "f32[2,1,1]", "1.0, 256.1") "%a = add(%x, %k)\n%y = conv(%a, %w) " PADS Y,
     "add conv"},
    {NULL, W K2("k", "f32[2,1,1]", "-256.1, 1.0") "%a = add(%x, %k)\n%y = conv(%a, %w) " PADS Y,
     "add conv"},
    {NULL, W ONE_TWO K2("m", "f32[2]", "256.0, 512.0") K2("u", "f32[2]", "1.0, 4.0")
     "%a = batch_norm(%x, %o, %o, %m, %u) {epsilon=0.0}\n%y = conv(%a, %w) " PADS Y, "conv"},
    {NULL, W ONE_TWO K2("m", "f32[2]", "1.0, 513.0") K2("u", "f32[2]", "1.0, 4.0")
     "%a = batch_norm(%x, %o, %o, %m, %u) {epsilon=0.0}\n%y = conv(%a, %w) " PADS Y,
     "batch_norm conv"},
    {NULL, W ONE_TWO K2("m", "f32[2]", "-257.0, 1.0") K2("u", "f32[2]", "1.0, 4.0")
     "%a = batch_norm(%x, %o, %o, %m, %u) {epsilon=0.0}\n%y = conv(%a, %w) " PADS Y,
     "batch_norm conv"},
    /* biases, weights and what is scaled computed, shared or read elsewhere */
    {NULL, W S ONE_TWO "%a = add(%x, %s)\n%y = conv(%a, %w, %o) " PADS Y, "conv"},
    {NULL, W S "%a = add(%x, %s)\n%y = conv(%a, %w, %v) " PADS Y, "add conv"},
    {NULL, W S "%a = mul(%x, %s)\n%y = conv(%a, %w, %v) " PADS Y, "mul conv"},
    {NULL, S "%a = add(%x, %s)\n%y = conv(%a, %d) " PADS Y, "add conv"},
    {NULL, S "%a = mul(%x, %s)\n%y = conv(%a, %d) " PADS Y, "mul conv"},
    {NULL, W S "%a = mul(%x, %s)\n%y = conv(%a, %w) " PADS "output %a\n" Y, "mul conv"},
    {NULL, W S "%a = mul(%x, %s)\n%y = conv(%a, %w) " PADS "output %w\n" Y, "mul conv"},
    {NULL, W S "%a = add(%x, %s)\n%y = conv(%a, %w) " PADS "output %w\n" Y, "add conv"},
    {NULL, W K2("k", "f32[2,1,1]", "2e38, 1") "%a = mul(%x, %k)\n%y = conv(%a, %w) " PADS Y,
     "mul conv"},
    {NULL, W K2("k", "f32[2,1,1]", "1, 2e38") "%a = mul(%x, %k)\n%y = conv(%a, %w) " PADS Y,
     "mul conv"},
    /* groups: two of two channels, each with its own */
    {"%x: f32[1,4,2,2]", "%w = constant f32[2,2,1,1] {1.0, 2.0, 3.0, 4.0}\n"
     "%s = constant f32[4,1,1] {2.0, 3.0, 4.0, 5.0}\n%a = mul(%x, %s)\n%b = add(%a, %s)\n"
     "%y = conv(%b, %w) {group=2, strides=[1,1], pads=[0,0,0,0], dilations=[1,1]}\n" Y, "conv"},
    /* products; what they do with the rows is another matter */
    {"%z: f32[2,3], %x: f32[1,2,3,3], %t: f32[4,2,3]",
     K2("w", "f32[3,2]", "1,2,3,4,5,6") K2("k", "f32[3]", "1,2,3")
     "%a = mul(%z, %k)\n%y = matmul(%a, %w)\n" Y, "matmul"},
    {NULL, K2("w", "f32[3,2]", "1,2,3,4,5,6") K2("k", "f32[3]", "1,2,3")
     "%a = add(%z, %k)\n%y = matmul(%a, %w)\n" Y, "matmul"},
    {NULL, K2("w", "f32[3,2]", "1,2,3,4,5,6") K2("k", "f32[3]", "1,2,3")
     "%a = add(%t, %k)\n%y = matmul(%a, %w)\n" Y, "matmul"},
    {NULL, K2("w", "f32[2,3]", "1,2,3,4,5,6") K2("k", "f32[3]", "1,2,3")
     "%u = transpose(%w) {perm=[1,0]}\n%a = add(%z, %k)\n%y = matmul(%a, %u)\n" Y,
     "transpose matmul"},
    {NULL, K2("w", "f32[2,3]", "1,2,3,4,5,6") K2("k", "f32[3]", "1,2,3")
     "%u = transpose(%w) {perm=[1,0]}\n%a = mul(%z, %k)\n%y = matmul(%a, %u)\n" Y, "matmul"},
    {NULL, K2("w", "f32[3,2]", "1,2,3,4,5,6") K2("k", "f32[2,1]", "1,2")
     "%a = mul(%z, %k)\n%y = matmul(%a, %w)\n" Y, "mul matmul"},
    {NULL, K2("w", "f32[3,2]", "1,2,3,4,5,6") K2("k", "f32[3]", "1,2,3")
     "%a = mul(%w, %k2)\n%b = transpose(%w) {perm=[1,0]}\n%y = matmul(%b, %w)\noutput %a\n" Y,
     "mul transpose matmul"},
    {NULL, "%w = constant f32[1,3,2] {1,2,3,4,5,6}\n" K2("k", "f32[3]", "1,2,3")
     "%a = mul(%z, %k)\n%y = matmul(%a, %w)\n" Y, "mul matmul"},
    {NULL, "%w = constant f32[2,2,1,1] {1.0, 2.0, 3.0, 4.0}\n%s = constant f32[2,1,1] {2.0, 3.0}\n"
     "%a = mul(%x, %s)\n%y = conv_transpose(%a, %w) {strides=[1,1], pads=[0,0,0,0], "
     "dilations=[1,1], output_padding=[0,0]}\n" Y, "mul conv_transpose"},
    /* the operand on the right is no x */
    {NULL, K2("w", "f32[2,2]", "1,2,3,4") K2("k", "f32[3]", "1,2,3")
     "%a = mul(%z, %k)\n%y = matmul(%w, %a)\n" Y, "mul matmul"}};

#define NORM "%a = batch_norm(%x, %o, %o, %m, %u)\n"

static const rewrite_case norms[] = {
    {"%x: f32[1,2,3,3], %m: f32[2], %u_1_2: f32[2], %c: f32[2,1,1]",
     ONE_TWO S "%u = abs(%u_1_2)\n" NORM "%y = mul(%a, %s)\n" Y, "abs batch_norm"},
    {NULL, ONE_TWO S "%u = abs(%u_1_2)\n" NORM "%y = div(%a, %s)\n" Y, "abs batch_norm"},
    {NULL, ONE_TWO S "%u = abs(%u_1_2)\n" NORM "%y = sub(%s, %a)\n" Y, "abs batch_norm"},
    {NULL, ONE_TWO S "%u = abs(%u_1_2)\n" NORM "%b = add(%a, %s)\n%y = mul(%k3, %b)\n" Y,
     "abs batch_norm"},
    {NULL, ONE_TWO S "%u = abs(%u_1_2)\n" NORM "%y = mul(%a, %s)\noutput %a\n" Y,
     "abs batch_norm mul"},
    {NULL, ONE_TWO "%u = abs(%u_1_2)\n" NORM "%y = mul(%a, %c)\n" Y, "abs batch_norm mul"},
    {NULL, ONE_TWO K2("k", "f32[3]", "1,2,3") "%u = abs(%u_1_2)\n" NORM "%y = mul(%a, %k)\n" Y,
     "abs batch_norm mul"},
    {NULL, ONE_TWO S "%u = abs(%u_1_2)\n%a = batch_norm(%x, %m, %o, %m, %u)\n%y = mul(%a, %s)\n" Y,
     "abs batch_norm mul"},
    {NULL, ONE_TWO S "%u = abs(%u_1_2)\n%a = batch_norm(%x, %o, %m, %m, %u)\n%y = mul(%a, %s)\n" Y,
     "abs batch_norm mul"},
    {NULL, ONE_TWO K2("k", "f32[2,1,1]", "1.0, 2e38") "%u = abs(%u_1_2)\n" NORM
     "%y = mul(%a, %k)\n" Y, "abs batch_norm mul"},
    {NULL, ONE_TWO K2("h", "f32[2]", "1.0, 3e38") K2("k", "f32[2,1,1]", "1.0, 2.0")
     "%u = abs(%u_1_2)\n%a = batch_norm(%x, %o, %h, %m, %u)\n%y = mul(%a, %k)\n" Y,
     "abs batch_norm mul"}};

/* How many channels there may be, and which floats. */
#define WIDE(n)                                                                            \
  "%w = constant f32[1," n "] splat(3.0)\n%a = matmul(%x, %w)\n%b = mul(%a, %k2)\n"        \
  "%y = reduce_sum(%b) {axes=[1]}\n" Y
static const rewrite_case limits[] = {
    {"%x: f32[1,1]", WIDE("1048576"), "matmul reduce_sum"},
    {NULL, WIDE("1048577"), "matmul mul reduce_sum"},
    {"%x: f64[2,2]", "%w = constant f64[2,2] {1,2,3,4}\n%k = constant f64[2] {0.1, 1e300}\n"
     "%a = mul(%x, %k)\n%b = matmul(%a, %w)\n%y = add(%b, %k)\n" Y, "matmul"},
    {"%x: f16[2,2]", "%w = constant f16[2,2] {1,2,3,4}\n%k = constant f16[2] {0.5, 2}\n"
     "%a = mul(%x, %k)\n%b = matmul(%a, %w)\n%y = add(%b, %k)\n" Y, "mul matmul add"},
    {"%x: bf16[2,2]", "%w = constant bf16[2,2] {1,2,3,4}\n%k = constant bf16[2] {0.5, 2}\n"
     "%a = mul(%x, %k)\n%b = matmul(%a, %w)\n%y = add(%b, %k)\n" Y, "mul matmul add"},
    {"%x: i32[2,2]", "%w = constant i32[2,2] {1,2,3,4}\n%k = constant i32[2] {5, 2}\n"
     "%a = mul(%x, %k)\n%b = matmul(%a, %w)\n%y = add(%b, %k)\n" Y, "mul matmul add"},
    {"%x: f32[2,0]", "%w = constant f32[0,2] {}\n%b = matmul(%x, %w)\n%y = add(%b, %k3)\n" Y,
     "matmul"}};

/* ---- pads ------------------------------------------------------------------------------------ */

#define PAD(before, after) "%a = pad(%x) {before=[" before "], after=[" after "]}\n"
#define V "%w = constant f32[1,2,2,2] splat(0.5)\n"
#define LOW "%k = constant f32[] {-inf}\n"
#define AS(k) "%a = pad(%x, %" k ") {before=[0,0,1,2], after=[0,0,0,1]}\n"
#define KERNEL "{kernel=[2,2], pads=[0,0,0,0], strides=[1,1], dilations=[1,1]}\n"
#define MEAN                                                                               \
  "{kernel=[2,2], pads=[0,1,0,0], real_pads=[0,1,0,0], strides=[1,1], dilations=[1,1]}\n"

static const rewrite_case pads[] = {
    {"%x: f32[1,2,3,4], %d: f32[], %l: f32[2,4]", V PAD("0,0,1,2", "0,0,0,3")
     "%y = conv(%a, %w) " PADS Y, "conv"},
    {NULL, V AS("k0") "%y = conv(%a, %w) " PADDED Y, "conv"},
    {NULL, AS("k0") "%y = avg_pool(%a) " MEAN Y, "avg_pool"},
    {NULL, AS("k0") "%y = lp_pool(%a) {p=2, kernel=[2,2], pads=[0,0,0,0], strides=[1,1], "
     "dilations=[1,1]}\n" Y, "lp_pool"},
    {NULL, LOW AS("k") "%y = max_pool(%a) " KERNEL Y, "max_pool"},
    /* each amount that is none of a window's */
    {NULL, "%w = constant f32[1,3,2,2] splat(0.5)\n" PAD("0,0,0,0", "0,1,0,0")
     "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, "%w = constant f32[1,3,2,2] splat(0.5)\n" PAD("0,1,0,0", "0,0,0,0")
     "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, V PAD("1,0,1,1", "0,0,1,1") "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, V PAD("0,0,1,1", "1,0,1,1") "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, V PAD("0,0,1,-1", "0,0,1,1") "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, V PAD("0,0,1,1", "0,0,-1,1") "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, V PAD("0,0,1,1", "0,0,1,-1") "%y = conv(%a, %w) " PADS Y, "pad conv"},
    /* each filling that is not what the window sees outside */
    {NULL, V AS("k1") "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, V AS("d") "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, AS("k1") "%y = avg_pool(%a) " MEAN Y, "pad avg_pool"},
    {NULL, AS("k1") "%y = lp_pool(%a) {p=2, kernel=[2,2], pads=[0,0,0,0], strides=[1,1], "
     "dilations=[1,1]}\n" Y, "pad lp_pool"},
    {NULL, AS("k0") "%y = max_pool(%a) " KERNEL Y, "pad max_pool"},
    {NULL, PAD("0,0,1,1", "0,0,1,1") "%y = max_pool(%a) " KERNEL Y, "pad max_pool"},
    {NULL, V "%a = pad(%x) {mode=\"reflect\", before=[0,0,1,1], after=[0,0,1,1]}\n"
     "%y = conv(%a, %w) " PADS Y, "pad conv"},
    {NULL, V "%a = pad(%x) {mode=\"wrap\", before=[0,0,1,1], after=[0,0,1,1]}\n"
     "%y = conv(%a, %w) " PADS Y, "pad conv"},
    /* others read it as well: it stays for them alone; positions that count the padding */
    {NULL, V PAD("0,0,1,1", "0,0,1,1") "%y = conv(%a, %w) " PADS "output %a\n" Y, "pad conv"},
    {NULL, LOW AS("k") "%y, %i = max_pool(%a) " KERNEL "output %i\n" Y, "pad max_pool"},
    {NULL, V PAD("0,0,1,1", "0,0,1,1") "%b = relu(%a)\n%y = conv(%b, %w) " PADS Y,
     "pad relu conv"},
    {NULL, PAD("0,0,1,1", "0,0,1,1") "%w = constant f32[2,1,1,1] {1.0, 2.0}\n"
     "%y = conv_transpose(%a, %w) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], "
     "output_padding=[0,0]}\n" Y, "pad conv_transpose"},
    {NULL, "%a = pad(%l) {before=[0,1], after=[0,1]}\n%w = constant f32[6,1] splat(2.0)\n"
     "%y = matmul(%a, %w)\n" Y, "pad matmul"}};

static int check(const char *pass, const rewrite_case *c, size_t n) {
  return rewrite_check(pass, false, c, n);
}

static void test_behind(void **state) {
  (void)state;
  assert_int_equal(check("fold-scale", behind, WK_COUNTOF(behind)), 0);
}

static void test_before(void **state) {
  (void)state;
  assert_int_equal(check("fold-scale", before, WK_COUNTOF(before)), 0);
}

static void test_norms(void **state) {
  (void)state;
  assert_int_equal(check("fold-scale", norms, WK_COUNTOF(norms)), 0);
}

static void test_limits(void **state) {
  (void)state;
  assert_int_equal(check("fold-scale", limits, WK_COUNTOF(limits)), 0);
}

static void test_pads(void **state) {
  (void)state;
  assert_int_equal(check("fuse-pad", pads, WK_COUNTOF(pads)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_behind), cmocka_unit_test(test_before), cmocka_unit_test(test_norms),
      cmocka_unit_test(test_limits), cmocka_unit_test(test_pads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
