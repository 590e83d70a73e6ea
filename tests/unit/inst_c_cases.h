/* SPDX-License-Identifier: Apache-2.0
 * Programs for test_inst_c, each of one instruction or few. */
#ifndef WICK_TESTS_INST_C_CASES_H
#define WICK_TESTS_INST_C_CASES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const char *text;     /* of the program, between its braces */
  int64_t least, most;  /* of the elements of integers; both 0: -100 and 100 */
  double nans;          /* how many floats are none, of 1 */
  bool is_rounded;      /* floats are near the evaluator's */
  bool is_out_of_range; /* what the evaluator ends with is reported */
} inst_c_case;

static const inst_c_case inst_c_cases[] = {
    /* ---- elementwise */
    {"buffer input 0 %x : f32[2,3]\n buffer output 0 %y : f32[3,2]\n"
     "map(@out %y[2,3]:f32 *(1,2); @in %x[2,3]:f32) {body=\"mul(%0, f32(index<1>()))\"}", 0, 0, 0,
     false, false},
    {"buffer input 0 %x : f16[5]\n buffer output 0 %y : f16[2,5]\n"
     "copy(@out %y[2,5]:f16; @in %x[2,5]:f16 *(0,1))", 0, 0, 0.2, false, false},
    {"buffer output 0 %y : bf16[2,5]\n fill(@out %y[2,5]:bf16) {value=1.5}", 0, 0, 0, false,
     false},
    /* ---- folds */
    {"buffer input 0 %x : f32[4,9]\n buffer output 0 %y : f32[4]\n"
     "reduce(@out %y[4,9]:f32 *(1,0); @in %x[4,9]:f32) {axes=[1], pre=\"mul(%0, %0)\", "
     "post=\"div(%0, 2.0f32)\"}", 0, 0, 0, false, false},
    {"buffer input 0 %x : u64[4,3,2]\n buffer output 0 %y : u64[3]\n"
     "reduce(@out %y[4,3,2]:u64 *(0,1,0); @in %x[4,3,2]:u64) {axes=[0,2], kind=\"min\"}", 0, 0, 0,
     false, false},
    /* ---- contractions */
    {"buffer input 0 %a : i8[2,3,4]\n buffer input 1 %b : u8[4,5]\n buffer input 2 %c : i32[5]\n"
     "buffer output 0 %y : i32[2,3,5]\n"
     "matmul(@out %y[2,3,5]:i32; @in %a[2,3,4]:i8, @in %b[2,4,5]:u8 *(0,5,1), @in %c[5]:i32)",
     0, 100, 0, false, false},
    {"buffer input 0 %x : f32[2,4,5,6]\n buffer input 1 %w : f32[6,2,3,2]\n"
     "buffer input 2 %b : f32[6]\n buffer output 0 %y : f32[2,6,3,7]\n"
     "conv(@out %y[2,6,3,7]:f32; @in %x[2,4,5,6]:f32, @in %w[6,2,3,2]:f32, @in %b[6]:f32) "
     "{strides=[2,1], pads=[1,1,1,1], dilations=[1,1], group=2}", 0, 0, 0, false, false},
    /* ---- windows */
    {"buffer input 0 %x : f32[2,3,7,6]\n buffer output 0 %y : f32[2,3,4,3]\n"
     "max_pool(@out %y[2,3,4,3]:f32, -; @in %x[2,3,7,6]:f32) {kernel=[2,3], strides=[2,2], "
     "pads=[1,1,0,1], dilations=[1,1]}", 0, 0, 0.2, false, false},
    {"buffer input 0 %x : f32[1,2,6,6]\n buffer output 0 %y : f32[1,2,3,3]\n"
     "avg_pool(@out %y[1,2,3,3]:f32; @in %x[1,2,6,6]:f32) {kernel=[2,4], strides=[2,2], "
     "pads=[0,1,0,1], dilations=[1,1], real_pads=[0,0,0,1]}", 0, 0, 0, true, false},
};

#endif
