/* SPDX-License-Identifier: Apache-2.0
 * Movement of quantised values: one scale goes wherever the elements go, scales of channels keep
 * movement as it is. */
#include "tests/unit/rewrite_case.h"

#define Y "output %y\n"
#define TENSOR "%x: i8<0.5,3>[2,3,4], %s: i8<0.5,3>[1,4], %c: bool[2,3,4]"
#define CHANNELS                                                                              \
  "%x: i8<axis=1,{0.5,0.25,2},{3,0,1}>[2,3,4], %s: i8<axis=1,{0.5,0.25,2,1},{3,0,1,0}>[1,4], " \
  "%c: bool[2,3,4]"

#define RESHAPES                                                                            \
  "%a = reshape(%x) {shape=[2,3,2,2]}\n%y = reshape(%a) {shape=[2,3,1,4]}\n" Y
#define TRANSPOSES                                                                          \
  "%u = reshape(%x) {shape=[2,3,2,2]}\n%a = transpose(%u) {perm=[3,1,0,2]}\n"               \
  "%y = transpose(%a) {perm=[3,1,2,0]}\n" Y
#define ONES                                                                                \
  "%u = slice(%x) {starts=[0,0,0], sizes=[1,3,4], steps=[1,1,1]}\n"                         \
  "%v = reshape(%u) {shape=[1,3,1,4]}\n%y = transpose(%v) {perm=[2,1,0,3]}\n" Y
#define EXPANDS "%a = expand(%s) {shape=[3,4]}\n%y = expand(%a) {shape=[3,4]}\n" Y
#define SLICES                                                                              \
  "%a = slice(%x) {starts=[0,0,1], sizes=[2,3,3], steps=[1,1,1]}\n"                         \
  "%y = slice(%a) {starts=[0,0,1], sizes=[2,3,2], steps=[1,1,1]}\n" Y
#define JOINED                                                                              \
  "%a = slice(%x) {starts=[0,0,0], sizes=[2,3,1], steps=[1,1,1]}\n"                         \
  "%b = slice(%x) {starts=[0,0,1], sizes=[2,3,2], steps=[1,1,1]}\n"                         \
  "%y = concat(%a, %b) {axis=2}\n" Y
#define CUT                                                                                 \
  "%a = concat(%x, %x) {axis=2}\n%b, %d = split(%a) {axis=2, sizes=[4,4]}\n"                \
  "%y = reshape(%d) {shape=[2,3,4,1]}\n" Y
#define PADS                                                                                \
  "%a = pad(%x) {before=[0,0,1], after=[0,0,0]}\n"                                          \
  "%y = pad(%a) {before=[1,0,0], after=[0,0,2]}\n" Y
#define ACROSS                                                                              \
  "%a = transpose(%x) {perm=[2,1,0]}\n%b = relu(%a)\n"                              \
  "%y = transpose(%b) {perm=[2,1,0]}\n" Y

static const rewrite_case merged[] = {{TENSOR, RESHAPES, "reshape"},
                                      {NULL, TRANSPOSES, "reshape transpose"},
                                      {NULL, ONES, "slice reshape"},
                                      {NULL, SLICES, "slice"},
                                      {NULL, JOINED, "slice"},
                                      {NULL, CUT, "reshape"},
                                      {NULL, PADS, "pad"},
                                      {NULL, ACROSS, "transpose relu transpose"},
                                      {CHANNELS, RESHAPES, "reshape reshape"},
                                      {NULL, TRANSPOSES, "reshape transpose transpose"},
                                      {NULL, ONES, "slice reshape transpose"},
                                      {NULL, SLICES, "slice slice"},
                                      {NULL, JOINED, "slice slice concat"},
                                      {NULL, CUT, "concat split reshape"},
                                      {NULL, PADS, "pad pad"},
                                      {NULL, ACROSS, "transpose relu transpose"}};

#define TILE "%y = tile(%s) {repeats=[3,1]}\n" Y
#define GATHER                                                                              \
  "%i = constant i64[2] {3, 1}\n%y = gather(%x, %i) {axis=2}\n" Y
#define WHERE                                                                               \
  "%t = constant bool[2,3,4] splat(1)\n%y = where(%t, %s, %x)\n" Y
#define EXPANDED "%a = expand(%s) {shape=[3,4]}\n%y = where(%c, %a, %a)\n" Y
#define FOLD                                                                                \
  "%a = reshape(%x) {shape=[2,3,4,1]}\n%y = reduce_max(%a) {axes=[3]}\n" Y

static const rewrite_case simplified[] = {{TENSOR, TILE, "expand"},
                                          {NULL, GATHER, "slice"},
                                          {NULL, EXPANDED, "expand where"},
                                          {NULL, FOLD, "reshape reduce_max"},
                                          {CHANNELS, TILE, "tile"},
                                          {NULL, WHERE, "where"},
                                          {NULL, EXPANDED, "expand where"},
                                          {NULL, FOLD, "reshape reduce_max"}};

static void test_merged(void **state) {
  (void)state;
  assert_int_equal(rewrite_check("merge-movement", false, merged, WK_COUNTOF(merged)), 0);
}

static void test_simplified(void **state) {
  (void)state;
  assert_int_equal(rewrite_check("simplify", false, simplified, WK_COUNTOF(simplified)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_merged),
                                     cmocka_unit_test(test_simplified)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
