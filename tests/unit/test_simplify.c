/* SPDX-License-Identifier: Apache-2.0
 * Identities that are made use of, and what nearly is one: other numbers, types, shapes, signs. */
#include "tests/unit/rewrite_case.h"

#define Y "output %y\n"
#define CAST2(via, to) "%a = cast(%x) {to=" via "}\n%y = cast(%a) {to=" to "}\n" Y
#define ONE "cast"
#define TWO "cast cast"

/* Two casts: one, none or both. The first must hold every number. */
static const rewrite_case casts[] = {
    {"%x: f32[3]", "%y = cast(%x) {to=f32}\n" Y, ""},
    {NULL, CAST2("f64", "f32"), ""},
    {NULL, CAST2("f64", "i32"), ONE},
    {NULL, CAST2("f16", "f32"), TWO},
    {NULL, CAST2("bf16", "f32"), TWO},
    {NULL, CAST2("i32", "f32"), TWO},
    {NULL, CAST2("i64", "f32"), TWO},
    {"%x: f64[3]", CAST2("f32", "f64"), TWO},
    {"%x: f16[3]", CAST2("f32", "f16"), ""},
    {NULL, CAST2("f64", "f32"), ONE},
    {NULL, CAST2("bf16", "f32"), TWO},
    {NULL, CAST2("f32", "f64"), ONE},
    {"%x: bf16[3]", CAST2("f32", "bf16"), ""},
    {NULL, CAST2("f16", "f32"), TWO},
    {"%x: i8[3]", CAST2("i16", "i8"), ""},
    {NULL, CAST2("i16", "u8"), ONE},
    {NULL, CAST2("i64", "f32"), ONE},
    {NULL, CAST2("u8", "i8"), TWO},
    {NULL, CAST2("u16", "i32"), TWO},
    {NULL, CAST2("u64", "i64"), TWO},
    {NULL, CAST2("bf16", "i8"), ""},
    {NULL, CAST2("bf16", "i16"), ONE},
    {NULL, CAST2("bf16", "u8"), TWO},
    {NULL, CAST2("f16", "i8"), ""},
    {NULL, CAST2("f32", "i32"), ONE},
    {NULL, CAST2("f32", "f64"), ONE},
    {NULL, CAST2("bool", "i8"), TWO},
    {"%x: u8[3]", CAST2("i8", "u8"), TWO},
    {NULL, CAST2("i16", "u8"), ""},
    {NULL, CAST2("u16", "i8"), ONE},
    {NULL, CAST2("bf16", "u8"), ""},
    {NULL, CAST2("f16", "i8"), TWO},
    {NULL, CAST2("f16", "i16"), ONE},
    {NULL, CAST2("f16", "f32"), ONE},
    {"%x: i16[3]", CAST2("bf16", "f32"), TWO},
    {NULL, CAST2("f16", "f32"), TWO},
    {NULL, CAST2("f32", "i16"), ""},
    {NULL, CAST2("f32", "i8"), TWO},
    {NULL, CAST2("f32", "f64"), ONE},
    {"%x: u16[3]", CAST2("f32", "u16"), ""},
    {NULL, CAST2("i16", "u16"), TWO},
    {NULL, CAST2("i32", "u16"), ""},
    {"%x: i32[3]", CAST2("f32", "i32"), TWO},
    {NULL, CAST2("f64", "i32"), ""},
    {NULL, CAST2("f64", "i16"), TWO},
    {NULL, CAST2("f64", "f32"), ONE},
    {NULL, CAST2("i64", "u32"), ONE},
    {"%x: u32[3]", CAST2("f64", "u32"), ""},
    {NULL, CAST2("i64", "f64"), ONE},
    {NULL, CAST2("i32", "f64"), TWO},
    {"%x: i64[3]", CAST2("f64", "i64"), TWO},
    {NULL, CAST2("i32", "i64"), TWO},
    {"%x: bool[3]", CAST2("i8", "bool"), ""},
    {NULL, CAST2("f32", "bool"), ""},
    {NULL, CAST2("u8", "f32"), ONE},
    {NULL, CAST2("bf16", "i64"), ONE}};

static const rewrite_case unary[] = {
    {"%x: f32[2,3], %b: bool[3], %i: i32[3]", "%y = identity(%x)\n" Y, ""},
    {NULL, "%a = neg(%x)\n%y = neg(%a)\n" Y, ""},
    {NULL, "%a = neg(%x)\n%y = abs(%a)\n" Y, "abs"},
    {NULL, "%a = abs(%x)\n%y = neg(%a)\n" Y, "abs neg"},
    {NULL, "%a = abs(%x)\n%y = abs(%a)\n" Y, "abs"},
    {NULL, "%a = sign(%x)\n%y = sign(%a)\n" Y, "sign"},
    {NULL, "%a = sign(%x)\n%y = neg(%a)\n" Y, "sign neg"},
    {NULL, "%a = not(%b)\n%y = not(%a)\n" Y, ""},
    {NULL, "%a = bit_not(%i)\n%y = bit_not(%a)\n" Y, ""},
    {NULL, "%a = bit_not(%i)\n%y = neg(%a)\n" Y, "bit_not neg"},
    {NULL, "%a = exp(%x)\n%y = exp(%a)\n" Y, "exp exp"},
    {NULL, "%a = floor(%x)\n%y = floor(%a)\n" Y, "floor"},
    {NULL, "%a = floor(%x)\n%y = ceil(%a)\n" Y, "floor"},
    {NULL, "%a = floor(%x)\n%y = round(%a)\n" Y, "floor"},
    {NULL, "%a = ceil(%x)\n%y = floor(%a)\n" Y, "ceil"},
    {NULL, "%a = ceil(%x)\n%y = round(%a)\n" Y, "ceil"},
    {NULL, "%a = round(%x)\n%y = floor(%a)\n" Y, "round"},
    {NULL, "%a = round(%x)\n%y = ceil(%a)\n" Y, "round"},
    {NULL, "%a = relu(%x)\n%y = floor(%a)\n" Y, "relu floor"},
    {NULL, "%a = floor(%x)\n%y = relu(%a)\n" Y, "floor relu"}};

#define CLIP(name, of, lo, hi) "%" name " = clip(%" of ") {lo=" lo ", hi=" hi "}\n"

static const rewrite_case limits[] = {
    {"%x: f32[2,3], %i: i32[3], %l: i64[3]", "%a = relu(%x)\n%y = relu(%a)\n" Y, "relu"},
    {NULL, CLIP("y", "x", "0.0", "inf") Y, "relu"},
    {NULL, CLIP("y", "x", "-0.0", "inf") Y, "clip"},
    {NULL, CLIP("y", "x", "0.0", "6.0") Y, "clip"},
    {NULL, CLIP("y", "x", "1.0", "inf") Y, "clip"},
    {NULL, CLIP("y", "x", "-inf", "inf") Y, ""},
    {NULL, CLIP("y", "x", "-inf", "1.0") Y, "clip"},
    {NULL, CLIP("a", "x", "-1.0", "3.0") CLIP("y", "a", "0.0", "2.0") Y, "clip"},
    {NULL, CLIP("a", "x", "-1.0", "3.0") CLIP("y", "a", "-2.0", "4.0") Y, "clip"},
    {NULL, CLIP("a", "x", "-1.0", "3.0") CLIP("y", "a", "-2.0", "4.0") "output %a\n" Y, "clip"},
    {NULL, CLIP("a", "x", "-1.0", "3.0") CLIP("y", "a", "-2.0", "2.0") "output %a\n" Y,
     "clip clip"},
    {NULL, CLIP("a", "x", "-1.0", "3.0") CLIP("y", "a", "0.0", "4.0") "output %a\n" Y,
     "clip clip"},
    {NULL, CLIP("a", "x", "-1.0", "1.0") CLIP("y", "a", "2.0", "3.0") Y, "clip"},
    {NULL, CLIP("a", "x", "3.0", "2.0") CLIP("y", "a", "0.0", "1.0") Y, "clip clip"},
    {NULL, CLIP("a", "x", "0.0", "1.0") CLIP("y", "a", "3.0", "2.0") Y, "clip clip"},
    {NULL, CLIP("a", "x", "-inf", "2.0") "%y = relu(%a)\n" Y, "clip"},
    {NULL, CLIP("a", "x", "1.0", "inf") "%y = relu(%a)\n" Y, "clip"},
    {NULL, "%y = max(%x, %k0)\n" Y, "relu"},
    {NULL, "%y = max(%k0, %x)\n" Y, "relu"},
    {NULL, "%y = max(%x, %k1)\n" Y, "clip"},
    {NULL, "%y = min(%x, %k6)\n" Y, "clip"},
    {NULL, "%a = min(%x, %k6)\n%y = max(%a, %k0)\n" Y, "clip"},
    {NULL, "%y = max(%x, %x)\n" Y, ""},
    {NULL, "%k = constant f32[] {nan}\n%y = max(%x, %k)\n" Y, "max"},
    {NULL, "%k = constant f32[4,2,3] splat(1.0)\n%y = max(%x, %k)\n" Y, "max"},
    {NULL, "%k = constant f32[3] {1.0, 1.0, 2.0}\n%y = max(%x, %k)\n" Y, "max"},
    {NULL, "public %k = constant f32[] {1.0}\n%y = max(%x, %k)\n" Y, "max"},
    {NULL, "%k = constant i32[] {1}\n%y = max(%i, %k)\n" Y, "clip"},
    {NULL, "%k = constant i64[] {1}\n%y = max(%l, %k)\n" Y, "max"},
    {NULL, "%y = max(%l, %l)\n" Y, ""},
    {NULL, "%y = relu(%l)\n" Y, "relu"},
    {NULL, "%a = relu(%l)\n%y = relu(%a)\n" Y, "relu relu"},
    {"%x: u64[3]", "%k = constant u64[] {1}\n%y = min(%x, %k)\n" Y, "min"}};

#define WITH(op) "%y = " op "(%x, %k)\n" Y
#define FROM(op) "%y = " op "(%k, %x)\n" Y
#define F(v) "%k = constant f32[] {" v "}\n"

static const rewrite_case arithmetic[] = {
    {"%x: f32[2,3], %i: i32[3], %b: bool[3]", F("-0.0") WITH("add"), ""},
    {NULL, F("-0.0") FROM("add"), ""},
    {NULL, F("0.0") WITH("add"), "add"},
    {NULL, F("0.0") FROM("add"), "add"},
    {NULL, F("0.0") WITH("sub"), ""},
    {NULL, F("-0.0") WITH("sub"), "sub"},
    {NULL, F("0.0") FROM("sub"), "sub"},
    {NULL, F("1.0") WITH("mul"), ""},
    {NULL, F("1.0") FROM("mul"), ""},
    {NULL, F("0.0") WITH("mul"), "mul"},
    {NULL, F("-1.0") WITH("mul"), "neg"},
    {NULL, F("-1.0") FROM("mul"), "neg"},
    {NULL, F("1.0") WITH("div"), ""},
    {NULL, F("1.0") FROM("div"), "div"},
    {NULL, F("-1.0") WITH("div"), "neg"},
    {NULL, F("-1.0") FROM("div"), "div"},
    {NULL, F("4.0") WITH("div"), "mul"},
    {NULL, F("-0.25") WITH("div"), "mul"},
    {NULL, F("3.0") WITH("div"), "div"},
    {NULL, F("6.0") WITH("div"), "div"},
    {NULL, F("0.0") WITH("div"), "div"},
    {NULL, F("inf") WITH("div"), "div"},
    {NULL, F("nan") WITH("div"), "div"},
    {NULL, "public " F("1.0") WITH("mul"), "mul"},
    {NULL, "%k = constant f32[3] splat(1.0)\n" WITH("mul"), ""},
    {NULL, "%k = constant f32[1,2,3] splat(1.0)\n" WITH("mul"), "mul"},
    {NULL, "%k = constant f32[1,2,3] splat(-1.0)\n" WITH("mul"), "mul"},
    {NULL, "%k = constant f32[1,2,3] splat(4.0)\n" WITH("div"), "mul"},
    {NULL, "%k = constant f32[3] splat(4.0)\n" WITH("div"), "mul"},
    {NULL, "%k = constant f32[3] {4.0, 4.0, 2.0}\n" WITH("div"), "div"},
    {NULL, "%k = constant f32[3] {1.0, 1.0, 2.0}\n" WITH("mul"), "mul"},
    {NULL, F("1.0") WITH("pow"), ""},
    {NULL, F("2.0") WITH("pow"), "mul"},
    {NULL, F("3.0") WITH("pow"), "mul mul"},
    {NULL, F("4.0") WITH("pow"), "pow"},
    {NULL, F("0.0") WITH("pow"), "pow"},
    {NULL, F("2.0") FROM("pow"), "pow"},
    {NULL, "%k = constant f32[1,2,3] splat(2.0)\n" WITH("pow"), "pow"},
    /* integers, truths */
    {NULL, "%k = constant i32[] {0}\n%y = add(%i, %k)\n" Y, ""},
    {NULL, "%k = constant i32[] {4}\n%y = div(%i, %k)\n" Y, "div"},
    {NULL, "%k = constant i32[] {-1}\n%y = div(%i, %k)\n" Y, "div"},
    {NULL, "%k = constant i32[] {-1}\n%y = mul(%i, %k)\n" Y, "neg"},
    {NULL, "%k = constant bool[] {1}\n%y = and(%b, %k)\n" Y, ""},
    {NULL, "%k = constant bool[] {0}\n%y = and(%b, %k)\n" Y, "and"},
    {NULL, "%k = constant bool[] {0}\n%y = or(%b, %k)\n" Y, ""},
    {NULL, "%k = constant bool[] {1}\n%y = or(%k, %b)\n" Y, "or"},
    {NULL, "%k = constant bool[] {0}\n%y = xor(%k, %b)\n" Y, ""},
    {NULL, "%k = constant bool[] {1}\n%y = xor(%k, %b)\n" Y, "xor"},
    {NULL, "%y = and(%b, %b)\n" Y, ""},
    {NULL, "%y = or(%b, %b)\n" Y, ""},
    {NULL, "%y = xor(%b, %b)\n" Y, "xor"},
    /* powers of two whose reciprocals are normal numbers */
    {"%x: f16[3]", "%k = constant f16[] {16384.0}\n" WITH("div"), "mul"},
    {NULL, "%k = constant f16[] {32768.0}\n" WITH("div"), "div"},
    {NULL, "%k = constant f16[] {0.00006103515625}\n" WITH("div"), "mul"},
    {NULL, "%k = constant f16[] {0.000030517578125}\n" WITH("div"), "div"},
    {NULL, "%k = constant f16[] {2.0}\n" WITH("pow"), "mul"},
    {NULL, "%k = constant f16[] {3.0}\n" WITH("pow"), "pow"},
    {"%x: f32[3]", F("8.507059173023462e37") WITH("div"), "mul"},
    {NULL, F("1.7014118346046923e38") WITH("div"), "div"},
    {NULL, F("1.1754943508222875e-38") WITH("div"), "mul"},
    {NULL, F("5.877471754111438e-39") WITH("div"), "div"},
    {"%x: f64[3]", "%k = constant f64[] {1.7014118346046923e38}\n" WITH("div"), "mul"},
    {NULL, "%k = constant f64[] {4.49423283715579e307}\n" WITH("div"), "mul"},
    {NULL, "%k = constant f64[] {8.98846567431158e307}\n" WITH("div"), "div"}};

static const rewrite_case choices[] = {
    {"%c: bool[2,3], %x: f32[2,3], %z: f32[2,3], %v: f32[3]", "%y = where(%c, %x, %x)\n" Y, ""},
    {NULL, "%y = where(%c, %x, %z)\n" Y, "where"},
    {NULL, "%y = where(%c, %v, %v)\n" Y, "where"},
    {NULL, "%k = constant bool[] {1}\n%a = where(%k, %x, %z)\n%y = neg(%a)\noutput %z\n" Y,
     "neg"},
    {NULL, "%k = constant bool[] {0}\n%y = where(%k, %x, %z)\n" Y, ""},
    {NULL, "%k = constant bool[] {1}\n%y = where(%k, %v, %x)\n" Y, "expand"},
    {NULL, "%k = constant bool[] {0}\n%y = where(%k, %v, %x)\n" Y, ""},
    {NULL, "%k = constant bool[3] {1, 1, 0}\n%y = where(%k, %x, %z)\n" Y, "where"},
    {NULL, "public %k = constant bool[] {1}\n%y = where(%k, %x, %z)\n" Y, "where"},
    /* broadcasts in front of what broadcasts itself */
    {NULL, "%a = expand(%v) {shape=[2,3]}\n%y = add(%x, %a)\n" Y, "add"},
    {NULL, "%a = expand(%v) {shape=[2,3]}\n%y = add(%a, %x)\n" Y, "add"},
    {NULL, "%a = expand(%v) {shape=[2,3]}\n%y = neg(%a)\n" Y, "expand neg"},
    {NULL, "%a = expand(%v) {shape=[2,3]}\n%y = add(%a, %k2)\n" Y, "expand add"},
    {NULL, "%a = expand(%v) {shape=[2,3]}\n%b = expand(%v) {shape=[2,3]}\n%y = sub(%a, %b)\n" Y,
     "expand sub"},
    {NULL, "%a = reshape(%v) {shape=[1,3]}\n%y = add(%x, %a)\n" Y, "add"},
    {NULL, "%a = reshape(%v) {shape=[1,1,3]}\n%y = add(%x, %a)\n" Y, "reshape add"},
    {NULL, "%a = reshape(%v) {shape=[3,1]}\n%b = reshape(%v) {shape=[1,3]}\n%y = add(%a, %b)\n" Y,
     "reshape add"},
    {NULL, "%a = expand(%v) {shape=[2,3]}\n%y = add(%x, %a)\noutput %a\n" Y, "expand add"},
    {NULL, "%a = map(%x) {body=\"%0\"}\n%y = neg(%a)\n" Y, "neg"},
    {NULL, "%y = map(%x, %z) {body=\"%0\"}\n" Y, "map"},
    {NULL, "%y = map(%v, %x) {body=\"%1\"}\n" Y, "map"}};

/* ---- movement -------------------------------------------------------------------------------- */

#define GATHER(dims, v) "%k = constant i64[" dims "] {" v "}\n%y = gather(%x, %k) {axis=1}\n" Y
#define WINDOW(kernel, pads, strides)                                                      \
  "{kernel=[" kernel "], pads=[" pads "], strides=[" strides "], dilations=[1,1]}\n"

static const rewrite_case movement[] = {
    {"%x: f32[2,6], %o: f32[2,1], %e: f32[2,0]", "%y = pad(%x) {before=[0,0], after=[0,0]}\n" Y,
     ""},
    {NULL, "%y = pad(%x) {before=[0,0], after=[0,1]}\n" Y, "pad"},
    {NULL, "%y = pad(%x) {before=[0,1], after=[0,-1]}\n" Y, "pad"},
    {NULL, "%y = pad(%x) {before=[-1,0], after=[1,0]}\n" Y, "pad"},
    {NULL, "%y = slice(%x) {starts=[0,0], sizes=[2,6], steps=[1,1]}\n" Y, ""},
    {NULL, "%y = slice(%x) {starts=[0,5], sizes=[2,6], steps=[1,-1]}\n" Y, "slice"},
    {NULL, "%y = slice(%x) {starts=[1,0], sizes=[2,6], steps=[-1,1]}\n" Y, "slice"},
    {NULL, "%y = slice(%o) {starts=[0,0], sizes=[2,1], steps=[1,-1]}\n" Y, ""},
    {NULL, "%y = slice(%x) {starts=[0,0], sizes=[2,5], steps=[1,1]}\n" Y, "slice"},
    {NULL, "%y = transpose(%x) {perm=[0,1]}\n" Y, ""},
    {NULL, "%y = transpose(%x) {perm=[1,0]}\n" Y, "transpose"},
    {NULL, "%y = tile(%x) {repeats=[1,1]}\n" Y, ""},
    {NULL, "%y = tile(%x) {repeats=[1,2]}\n" Y, "tile"},
    {NULL, "%y = tile(%o) {repeats=[1,2]}\n" Y, "expand"},
    {NULL, "%y = tile(%o) {repeats=[2,2]}\n" Y, "tile"},
    {NULL, "%y = concat(%x, %e) {axis=1}\n" Y, ""},
    {NULL, "%y = concat(%e, %x, %o) {axis=1}\n" Y, "concat"},
    {NULL, "%y = concat(%x, %o) {axis=1}\n" Y, "concat"},
    {NULL, "%y = concat(%e, %e) {axis=1}\n" Y, ""},
    {NULL, "%y = split(%x) {axis=1, sizes=[6]}\n" Y, ""},
    {NULL, "%y, - = split(%x) {axis=1, sizes=[6,0]}\n" Y, "split"},
    /* indices at equal distances, counted from either end */
    {NULL, GATHER("3", "1,2,3"), "slice"},
    {NULL, GATHER("3", "0,2,4"), "slice"},
    {NULL, GATHER("3", "5,3,1"), "slice"},
    {NULL, GATHER("3", "-1,-2,-3"), "slice"},
    {NULL, GATHER("3", "4,-1,0"), "gather"},
    {NULL, GATHER("3", "0,1,3"), "gather"},
    {NULL, GATHER("4", "0,1,2,4"), "gather"},
    {NULL, GATHER("2", "3,3"), "gather"},
    {NULL, GATHER("1", "3"), "slice"},
    {NULL, GATHER("", "3"), "slice reshape"},
    {NULL, GATHER("6", "0,1,2,3,4,5"), ""},
    {NULL, GATHER("2,2", "1,2,3,4"), "slice reshape"},
    {NULL, "%k = constant i64[2] {0,1}\n%y = gather(%x, %k)\n" Y, ""},
    {NULL, "%k = constant i32[2] {1,0}\n%y = gather(%x, %k)\n" Y, "slice"},
    {NULL, "public %k = constant i64[2] {0,1}\n%y = gather(%x, %k)\n" Y, "gather"},
    {NULL, "%k = constant i64[0] {}\n%y = gather(%x, %k)\n" Y, "gather"},
    /* folds of one element each */
    {NULL, "%y = reduce_sum(%o) {axes=[1]}\n" Y, ""},
    {NULL, "%y = reduce_sum(%o) {axes=[1], keepdims=0}\n" Y, "reshape"},
    {NULL, "%y = reduce_mean(%o) {axes=[1]}\n" Y, ""},
    {NULL, "%y = reduce_max(%o) {axes=[1]}\n" Y, ""},
    {NULL, "%y = reduce_min(%o) {axes=[1]}\n" Y, ""},
    {NULL, "%y = reduce_prod(%o) {axes=[1]}\n" Y, ""},
    {NULL, "%y = reduce_l1(%o) {axes=[1]}\n" Y, "abs"},
    {NULL, "%y = reduce_sum_square(%o) {axes=[1]}\n" Y, "mul"},
    {NULL, "%y = reduce_l2(%o) {axes=[1]}\n" Y, "reduce_l2"},
    {NULL, "%y = reduce_log_sum(%o) {axes=[1]}\n" Y, "reduce_log_sum"},
    {NULL, "%y = reduce_sum(%o) {axes=[0]}\n" Y, "reduce_sum"},
    {NULL, "%y = reduce_sum(%o) {axes=[0,1]}\n" Y, "reduce_sum"},
    {NULL, "%y = reduce_sum(%x) {axes=[1]}\n" Y, "reduce_sum"},
    /* windows of one element */
    {"%x: f32[1,1,3,3]", "%y = max_pool(%x) " WINDOW("1,1", "0,0,0,0", "1,1") Y, ""},
    {NULL, "%y = max_pool(%x) " WINDOW("1,2", "0,0,0,0", "1,1") Y, "max_pool"},
    {NULL, "%y = max_pool(%x) " WINDOW("2,1", "1,0,0,0", "1,1") Y, "max_pool"},
    {NULL, "%y = max_pool(%x) " WINDOW("1,1", "0,0,0,0", "1,2") Y, "max_pool"},
    {NULL, "%y, %i = max_pool(%x) " WINDOW("1,1", "0,0,0,0", "1,1") "output %i\n" Y, "max_pool"},
    {NULL, "%y, - = max_pool(%x) " WINDOW("1,1", "0,0,0,0", "1,1") Y, ""},
    {NULL, "%y = avg_pool(%x) {kernel=[1,1], pads=[0,0,0,0], real_pads=[0,0,0,0], strides=[1,1], "
     "dilations=[1,1]}\n" Y, ""},
    {NULL, "%y = avg_pool(%x) {kernel=[1,1], pads=[0,0,0,0], real_pads=[0,0,0,0], strides=[2,2], "
     "dilations=[1,1]}\n" Y, "avg_pool"}};

#define TEST(table)                                                                        \
  static void test_##table(void **state) {                                                 \
    (void)state;                                                                           \
    assert_int_equal(rewrite_check("simplify", false, table, WK_COUNTOF(table)), 0);       \
  }
TEST(casts)
TEST(unary)
TEST(limits)
TEST(arithmetic)
TEST(choices)
TEST(movement)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_casts),      cmocka_unit_test(test_unary),
      cmocka_unit_test(test_limits),     cmocka_unit_test(test_arithmetic),
      cmocka_unit_test(test_choices),    cmocka_unit_test(test_movement)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
