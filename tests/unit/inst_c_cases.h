/* SPDX-License-Identifier: Apache-2.0
 * Programs for test_inst_c, each of one instruction or few: elements, folds, contractions and
 * windows. */
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
    {.text = "buffer input 0 %x : f32[2,3]\n"
     "buffer output 0 %y : f32[3,2]\n"
     "map(@out %y[2,3]:f32 *(1,2); @in %x[2,3]:f32) {body=\"mul(%0, f32(index<1>()))\"}"},
    {.text = "buffer input 0 %x : f16[5]\n"
     "buffer output 0 %y : f16[2,5]\n"
     "copy(@out %y[2,5]:f16; @in %x[2,5]:f16 *(0,1))",
     .nans = 0.2},
    {.text = "buffer output 0 %y : bf16[2,5]\n"
     "fill(@out %y[2,5]:bf16) {value=1.5}"},
    /* ---- folds */
    {.text = "buffer input 0 %x : f32[4,9]\n"
     "buffer output 0 %y : f32[4]\n"
     "reduce(@out %y[4,9]:f32 *(1,0); @in %x[4,9]:f32) {axes=[1], pre=\"mul(%0, %0)\", "
     "post=\"div(%0, 2.0f32)\"}"},
    {.text = "buffer input 0 %x : u64[4,3,2]\n"
     "buffer output 0 %y : u64[3]\n"
     "reduce(@out %y[4,3,2]:u64 *(0,1,0); @in %x[4,3,2]:u64) {axes=[0,2], kind=\"min\"}"},
    {.text = "buffer input 0 %x : bf16[3,900]\n"
     "buffer output 0 %y : bf16[3]\n"
     "reduce(@out %y[3,900]:bf16 *(1,0); @in %x[3,900]:bf16) {axes=[1], "
     "pre=\"bf16(add(f32(%0), 3.0f32))\"}"},
    {.text = "buffer input 0 %x : f16[3,900]\n"
     "buffer output 0 %y : f16[3]\n"
     "reduce(@out %y[3,900]:f16 *(1,0); @in %x[3,900]:f16) {axes=[1], "
     "pre=\"a = f32(%0); mul(a, a)\", post=\"f16(%0)\"}"},
    {.text = "buffer input 0 %x : f32[4,9,3]\n"
     "buffer output 0 %y : i64[4,3]\n"
     "reduce(@out %y[4,9,3]:i64 *(3,0,1); @in %x[4,9,3]:f32) {axes=[1], kind=\"argmax\"}",
     .nans = 0.15},
    {.text = "buffer input 0 %x : f32[4,9,3]\n"
     "buffer output 0 %y : i64[4,3]\n"
     "reduce(@out %y[4,9,3]:i64 *(3,0,1); @in %x[4,9,3]:f32) {axes=[1], kind=\"argmin\", "
     "select_last=1}",
     .nans = 0.15},
    {.text = "buffer input 0 %x : f16[4,9,3]\n"
     "buffer output 0 %y : i64[4,3]\n"
     "reduce(@out %y[4,9,3]:i64 *(3,0,1); @in %x[4,9,3]:f16) {axes=[1], kind=\"argmax\", "
     "select_last=1}",
     .nans = 0.15},
    {.text = "buffer input 0 %x : u8[4,9,3]\n"
     "buffer output 0 %y : i64[4,3]\n"
     "reduce(@out %y[4,9,3]:i64 *(3,0,1); @in %x[4,9,3]:u8) {axes=[1], kind=\"argmin\"}",
     .least = 1, .most = 4, .nans = 0.15},
    {.text = "buffer input 0 %x : i64[4,9,3]\n"
     "buffer output 0 %y : i64[4,3]\n"
     "reduce(@out %y[4,9,3]:i64 *(3,0,1); @in %x[4,9,3]:i64) {axes=[1], kind=\"argmax\", "
     "select_last=1}",
     .least = 1, .most = 4, .nans = 0.15},
    {.text = "buffer input 0 %x : i32[4,9]\n"
     "buffer output 0 %y : f32[4]\n"
     "reduce(@out %y[4,9]:f32 *(1,0); @in %x[4,9]:i32) {axes=[1], kind=\"argmax\", "
     "pre=\"f32(neg(%0))\", post=\"f32(%0)\"}",
     .least = -3, .most = 3},
    /* ---- contractions */
    {.text = "buffer input 0 %a : i8[2,3,4]\n"
     "buffer input 1 %b : u8[4,5]\n"
     "buffer input 2 %c : i32[5]\n"
     "buffer output 0 %y : i32[2,3,5]\n"
     "matmul(@out %y[2,3,5]:i32; @in %a[2,3,4]:i8, @in %b[2,4,5]:u8 *(0,5,1), @in %c[5]:i32)",
     .least = 0, .most = 100},
    {.text = "buffer input 0 %a : f16[3,400]\n"
     "buffer input 1 %b : f16[400,2]\n"
     "buffer input 2 %c : f16[2]\n"
     "buffer output 0 %y : f16[3,2]\n"
     "matmul(@out %y[3,2]:f16; @in %a[3,400]:f16, @in %b[400,2]:f16, @in %c[2]:f16)"},
    {.text = "buffer input 0 %x : f32[2,4,5,6]\n"
     "buffer input 1 %w : f32[6,2,3,2]\n"
     "buffer input 2 %b : f32[6]\n"
     "buffer output 0 %y : f32[2,6,3,7]\n"
     "conv(@out %y[2,6,3,7]:f32; @in %x[2,4,5,6]:f32, @in %w[6,2,3,2]:f32, @in %b[6]:f32) "
     "{strides=[2,1], pads=[1,1,1,1], dilations=[1,1], group=2}"},
    {.text = "buffer input 0 %x : bf16[1,64,5]\n"
     "buffer input 1 %w : bf16[2,64,3]\n"
     "buffer output 0 %y : bf16[1,2,3]\n"
     "conv(@out %y[1,2,3]:bf16; @in %x[1,64,5]:bf16, @in %w[2,64,3]:bf16, -) {strides=[1], "
     "pads=[0,0], dilations=[1]}"},
    {.text = "buffer input 0 %x : f32[2,4,5,3]\n"
     "buffer input 1 %w : f32[4,3,3,2]\n"
     "buffer input 2 %b : f32[6]\n"
     "buffer output 0 %y : f32[2,6,13,6]\n"
     "conv_transpose(@out %y[2,6,13,6]:f32; @in %x[2,4,5,3]:f32, @in %w[4,3,3,2]:f32, @in "
     "%b[6]:f32) {strides=[2,3], pads=[1,2,0,1], dilations=[2,1], group=2, "
     "output_padding=[1,1]}"},
    {.text = "buffer input 0 %x : i8[1,2,4]\n"
     "buffer input 1 %w : i8[2,3,2]\n"
     "buffer output 0 %y : i32[1,3,8]\n"
     "conv_transpose(@out %y[1,3,8]:i32; @in %x[1,2,4]:i8, @in %w[2,3,2]:i8, -) "
     "{strides=[2], pads=[0,0], dilations=[1], group=1, output_padding=[0]}"},
    /* ---- windows */
    {.text = "buffer input 0 %x : f32[2,3,7,6]\n"
     "buffer output 0 %y : f32[2,3,4,3]\n"
     "max_pool(@out %y[2,3,4,3]:f32, -; @in %x[2,3,7,6]:f32) {kernel=[2,3], strides=[2,2], "
     "pads=[1,1,0,1], dilations=[1,1]}",
     .nans = 0.2},
    {.text = "buffer input 0 %x : f32[2,3,7,6]\n"
     "buffer output 0 %y : f32[2,3,4,3]\n"
     "buffer output 1 %z : i64[2,3,4,3]\n"
     "max_pool(@out %y[2,3,4,3]:f32, @out %z[2,3,4,3]:i64; @in %x[2,3,7,6]:f32) "
     "{kernel=[2,3], strides=[2,2], pads=[1,1,0,1], dilations=[1,1]}",
     .nans = 0.3},
    {.text = "buffer input 0 %x : f16[2,3,7,6]\n"
     "buffer output 0 %y : f16[2,3,4,3]\n"
     "buffer output 1 %z : i64[2,3,4,3]\n"
     "max_pool(@out %y[2,3,4,3]:f16, @out %z[2,3,4,3]:i64; @in %x[2,3,7,6]:f16) "
     "{kernel=[2,3], strides=[2,2], pads=[1,1,0,1], dilations=[1,1], column_major=1}",
     .nans = 0.3},
    {.text = "buffer input 0 %x : u8[2,3,7,6]\n"
     "buffer output 0 %y : u8[2,3,4,3]\n"
     "buffer output 1 %z : i64[2,3,4,3]\n"
     "max_pool(@out %y[2,3,4,3]:u8, @out %z[2,3,4,3]:i64; @in %x[2,3,7,6]:u8) {kernel=[2,3],"
     " strides=[2,2], pads=[1,1,0,1], dilations=[1,1], column_major=1}",
     .least = 1, .most = 5, .nans = 0.3},
    {.text = "buffer input 0 %x : f32[2,3,7,6]\n"
     "buffer output 0 %y : f32[2,3,4,3]\n"
     "buffer output 1 %z : u8[2,3,4,3]\n"
     "max_pool(@out %y[2,3,4,3]:f32, @out %z[2,3,4,3]:u8; @in %x[2,3,7,6]:f32) "
     "{kernel=[2,3], strides=[2,2], pads=[1,1,0,1], dilations=[1,1], taps=1}",
     .nans = 0.3},
    {.text = "buffer input 0 %x : f16[2,3,4,3]\n"
     "buffer input 1 %t : u8[2,3,4,3]\n"
     "buffer output 0 %y : f16[2,3,7,6]\n"
     "unpool(@out %y[2,3,7,6]:f16; @in %x[2,3,4,3]:f16, @in %t[2,3,4,3]:u8) {kernel=[2,3], "
     "strides=[2,2], pads=[1,1,0,1], dilations=[1,1], size=[7,6]}",
     .least = 0, .most = 5},
    {.text = "buffer input 0 %x : f32[1,2,6,6]\n"
     "buffer output 0 %y : f32[1,2,3,3]\n"
     "avg_pool(@out %y[1,2,3,3]:f32; @in %x[1,2,6,6]:f32) {kernel=[2,4], strides=[2,2], "
     "pads=[0,1,0,1], dilations=[1,1], real_pads=[0,0,0,1]}",
     .is_rounded = true},
    {.text = "buffer input 0 %x : f16[1,1,4]\n"
     "buffer output 0 %y : f16[1,1,4]\n"
     "avg_pool(@out %y[1,1,4]:f16; @in %x[1,1,4]:f16) {kernel=[2], strides=[3], pads=[4,4], "
     "dilations=[1], real_pads=[0,0]}",
     .is_rounded = true},
    {.text = "buffer input 0 %x : f32[1,2,6,6]\n"
     "buffer output 0 %y : f32[1,2,3,3]\n"
     "lp_pool(@out %y[1,2,3,3]:f32; @in %x[1,2,6,6]:f32) {kernel=[2,4], strides=[2,2], "
     "pads=[0,1,0,1], dilations=[1,1], p=1}",
     .is_rounded = true},
    {.text = "buffer input 0 %x : bf16[1,2,6,6]\n"
     "buffer output 0 %y : bf16[1,2,3,3]\n"
     "lp_pool(@out %y[1,2,3,3]:bf16; @in %x[1,2,6,6]:bf16) {kernel=[2,4], strides=[2,2], "
     "pads=[0,1,0,1], dilations=[1,1], p=2}",
     .is_rounded = true},
    {.text = "buffer input 0 %x : f32[1,2,6,6]\n"
     "buffer output 0 %y : f32[1,2,3,3]\n"
     "lp_pool(@out %y[1,2,3,3]:f32; @in %x[1,2,6,6]:f32) {kernel=[2,4], strides=[2,2], "
     "pads=[0,1,0,1], dilations=[1,1], p=3}",
     .is_rounded = true},
};

#endif
