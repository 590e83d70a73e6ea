/* SPDX-License-Identifier: Apache-2.0
 * Programs for test_inst_c that read and write by index or go along lines, and nests. */
#ifndef WICK_TESTS_INST_C_INDEX_CASES_H
#define WICK_TESTS_INST_C_INDEX_CASES_H

#include "tests/unit/inst_c_cases.h"

static const inst_c_case inst_c_index_cases[] = {
    /* ---- reads by index */
    {.text = "buffer input 0 %x : f32[2,4,3]\n"
     "buffer input 1 %n : i32[5,2]\n"
     "buffer output 0 %y : f32[2,5,2,3]\n"
     "gather(@out %y[2,5,2,3]:f32; @in %x[2,4,3]:f32, @in %n[5,2]:i32) {axis=1}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : f32[2,4,3]\n"
     "buffer input 1 %n : u8[5,2]\n"
     "buffer output 0 %y : f32[2,5,2,3]\n"
     "gather(@out %y[2,5,2,3]:f32; @in %x[2,4,3]:f32, @in %n[5,2]:u8) {axis=1}",
     .least = 0, .most = 3},
    {.text = "buffer input 0 %x : f32[2,4,3]\n"
     "buffer input 1 %n : i64[5,2]\n"
     "buffer output 0 %y : f32[2,5,2,3]\n"
     "gather(@out %y[2,5,2,3]:f32; @in %x[2,4,3]:f32, @in %n[5,2]:i64) {axis=1}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : f32[2,4,3]\n"
     "buffer input 1 %n : i64[]\n"
     "buffer output 0 %y : f32[2,4]\n"
     "gather(@out %y[2,4]:f32; @in %x[2,4,3]:f32, @in %n[]:i64) {axis=2}",
     .least = -3, .most = 2},
    {.text = "buffer input 0 %x : f32[2,4,3]\n"
     "buffer input 1 %n : i64[5,2]\n"
     "buffer output 0 %y : f32[2,5,2,3]\n"
     "gather(@out %y[2,5,2,3]:f32; @in %x[2,4,3]:f32, @in %n[5,2]:i64) {axis=1}",
     .least = 4, .most = 9, .is_out_of_range = true},
    {.text = "buffer input 0 %x : f32[2,4,3]\n"
     "buffer input 1 %n : i32[2,6,3]\n"
     "buffer output 0 %y : f32[2,6,3]\n"
     "gather_elements(@out %y[2,6,3]:f32; @in %x[2,4,3]:f32, @in %n[2,6,3]:i32) {axis=1}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : f32[2,4,3]\n"
     "buffer input 1 %n : i32[2,6,3]\n"
     "buffer output 0 %y : f32[2,6,3]\n"
     "gather_elements(@out %y[2,6,3]:f32; @in %x[2,4,3]:f32, @in %n[2,6,3]:i32) {axis=1}",
     .least = -9, .most = -5, .is_out_of_range = true},
    {.text = "buffer input 0 %x : u16[3,4,5,2]\n"
     "buffer input 1 %n : i64[3,6,2]\n"
     "buffer output 0 %y : u16[3,6,2]\n"
     "gather_nd(@out %y[3,6,2]:u16; @in %x[3,4,5,2]:u16, @in %n[3,6,2]:i64) {batch_dims=1}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : f16[3,4]\n"
     "buffer input 1 %n : i64[6,1]\n"
     "buffer output 0 %y : f16[6,4]\n"
     "gather_nd(@out %y[6,4]:f16; @in %x[3,4]:f16, @in %n[6,1]:i64)",
     .least = 3, .most = 5, .is_out_of_range = true},
    /* ---- writes by index */
    {.text = "buffer input 0 %x : f32[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,5]\n"
     "buffer input 2 %u : f32[2,7,5]\n"
     "buffer output 0 %y : f32[3,4,5]\n"
     "scatter_elements(@out %y[3,4,5]:f32; @in %x[3,4,5]:f32, @in %n[2,7,5]:i64, @in "
     "%u[2,7,5]:f32) {axis=1, reduction=\"none\"}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : f32[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,2]\n"
     "buffer input 2 %u : f32[2,7,5]\n"
     "buffer output 0 %y : f32[3,4,5]\n"
     "scatter_nd(@out %y[3,4,5]:f32; @in %x[3,4,5]:f32, @in %n[2,7,2]:i64, @in "
     "%u[2,7,5]:f32) {reduction=\"none\"}",
     .least = -3, .most = 2},
    {.text = "buffer input 0 %x : f16[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,5]\n"
     "buffer input 2 %u : f16[2,7,5]\n"
     "buffer output 0 %y : f16[3,4,5]\n"
     "scatter_elements(@out %y[3,4,5]:f16; @in %x[3,4,5]:f16, @in %n[2,7,5]:i64, @in "
     "%u[2,7,5]:f16) {axis=1, reduction=\"add\"}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : f16[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,2]\n"
     "buffer input 2 %u : f16[2,7,5]\n"
     "buffer output 0 %y : f16[3,4,5]\n"
     "scatter_nd(@out %y[3,4,5]:f16; @in %x[3,4,5]:f16, @in %n[2,7,2]:i64, @in "
     "%u[2,7,5]:f16) {reduction=\"add\"}",
     .least = -3, .most = 2},
    {.text = "buffer input 0 %x : i8[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,5]\n"
     "buffer input 2 %u : i8[2,7,5]\n"
     "buffer output 0 %y : i8[3,4,5]\n"
     "scatter_elements(@out %y[3,4,5]:i8; @in %x[3,4,5]:i8, @in %n[2,7,5]:i64, @in "
     "%u[2,7,5]:i8) {axis=1, reduction=\"mul\"}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : i8[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,2]\n"
     "buffer input 2 %u : i8[2,7,5]\n"
     "buffer output 0 %y : i8[3,4,5]\n"
     "scatter_nd(@out %y[3,4,5]:i8; @in %x[3,4,5]:i8, @in %n[2,7,2]:i64, @in %u[2,7,5]:i8) "
     "{reduction=\"mul\"}",
     .least = -3, .most = 2},
    {.text = "buffer input 0 %x : u64[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,5]\n"
     "buffer input 2 %u : u64[2,7,5]\n"
     "buffer output 0 %y : u64[3,4,5]\n"
     "scatter_elements(@out %y[3,4,5]:u64; @in %x[3,4,5]:u64, @in %n[2,7,5]:i64, @in "
     "%u[2,7,5]:u64) {axis=1, reduction=\"min\"}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : u64[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,2]\n"
     "buffer input 2 %u : u64[2,7,5]\n"
     "buffer output 0 %y : u64[3,4,5]\n"
     "scatter_nd(@out %y[3,4,5]:u64; @in %x[3,4,5]:u64, @in %n[2,7,2]:i64, @in "
     "%u[2,7,5]:u64) {reduction=\"min\"}",
     .least = -3, .most = 2},
    {.text = "buffer input 0 %x : f32[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,5]\n"
     "buffer input 2 %u : f32[2,7,5]\n"
     "buffer output 0 %y : f32[3,4,5]\n"
     "scatter_elements(@out %y[3,4,5]:f32; @in %x[3,4,5]:f32, @in %n[2,7,5]:i64, @in "
     "%u[2,7,5]:f32) {axis=1, reduction=\"max\"}",
     .least = -4, .most = 3},
    {.text = "buffer input 0 %x : f32[3,4,5]\n"
     "buffer input 1 %n : i64[2,7,2]\n"
     "buffer input 2 %u : f32[2,7,5]\n"
     "buffer output 0 %y : f32[3,4,5]\n"
     "scatter_nd(@out %y[3,4,5]:f32; @in %x[3,4,5]:f32, @in %n[2,7,2]:i64, @in "
     "%u[2,7,5]:f32) {reduction=\"max\"}",
     .least = -3, .most = 2},
    {.text = "buffer input 0 %x : f32[4]\n"
     "buffer input 1 %n : i64[1,0]\n"
     "buffer input 2 %u : f32[1,4]\n"
     "buffer output 0 %y : f32[4]\n"
     "scatter_nd(@out %y[4]:f32; @in %x[4]:f32, @in %n[1,0]:i64, @in %u[1,4]:f32) "
     "{reduction=\"add\"}"},
    {.text = "buffer input 0 %x : i32[4]\n"
     "buffer input 1 %n : i32[9]\n"
     "buffer input 2 %u : i32[9]\n"
     "buffer output 0 %y : i32[4]\n"
     "scatter_elements(@out %y[4]:i32; @in %x[4]:i32, @in %n[9]:i32, @in %u[9]:i32)",
     .least = 4, .most = 9, .is_out_of_range = true},
    {.text = "buffer input 0 %x : i64[4]\n"
     "buffer input 1 %n : i64[9,1]\n"
     "buffer input 2 %u : i64[9]\n"
     "buffer output 0 %y : i64[4]\n"
     "scatter_nd(@out %y[4]:i64; @in %x[4]:i64, @in %n[9,1]:i64, @in %u[9]:i64)",
     .least = 4, .most = 9, .is_out_of_range = true},
    /* ---- writes by many indices, line by line */
    {.text = "buffer input 0 %x : f32[3,400,60]\n"
     "buffer input 1 %n : i64[2,70,60]\n"
     "buffer input 2 %u : f32[2,70,60]\n"
     "buffer output 0 %y : f32[3,400,60]\n"
     "scatter_elements(@out %y[3,400,60]:f32; @in %x[3,400,60]:f32, "
     "@in %n[2,70,60]:i64, @in %u[2,70,60]:f32) {axis=1, reduction=\"none\"}",
     .least = -40, .most = 39},
    {.text = "buffer input 0 %x : f32[3,400,60]\n"
     "buffer input 1 %n : i64[3,70,60]\n"
     "buffer input 2 %u : f32[3,70,60]\n"
     "buffer output 0 %y : f32[3,400,60]\n"
     "scatter_elements(@out %y[3,400,60]:f32; @in %x[3,400,60]:f32, "
     "@in %n[3,70,60]:i64, @in %u[3,70,60]:f32) {axis=1, reduction=\"none\"}",
     .least = -40, .most = 39},
    {.text = "buffer input 0 %x : f32[300,20,9]\n"
     "buffer input 1 %n : i64[10,9,2]\n"
     "buffer input 2 %u : f32[10,9,9]\n"
     "buffer output 0 %y : f32[300,20,9]\n"
     "scatter_nd(@out %y[300,20,9]:f32; @in %x[300,20,9]:f32, "
     "@in %n[10,9,2]:i64, @in %u[10,9,9]:f32) {reduction=\"none\"}",
     .least = -20, .most = 19},
    {.text = "buffer input 0 %x : f16[3,400,60]\n"
     "buffer input 1 %n : i64[2,70,60]\n"
     "buffer input 2 %u : f16[2,70,60]\n"
     "buffer output 0 %y : f16[3,400,60]\n"
     "scatter_elements(@out %y[3,400,60]:f16; @in %x[3,400,60]:f16, "
     "@in %n[2,70,60]:i64, @in %u[2,70,60]:f16) {axis=1, reduction=\"add\"}",
     .least = -40, .most = 39},
    {.text = "buffer input 0 %x : f16[300,20,9]\n"
     "buffer input 1 %n : i64[10,9,2]\n"
     "buffer input 2 %u : f16[10,9,9]\n"
     "buffer output 0 %y : f16[300,20,9]\n"
     "scatter_nd(@out %y[300,20,9]:f16; @in %x[300,20,9]:f16, "
     "@in %n[10,9,2]:i64, @in %u[10,9,9]:f16) {reduction=\"add\"}",
     .least = -20, .most = 19},
    {.text = "buffer input 0 %x : i8[3,400,60]\n"
     "buffer input 1 %n : i64[2,70,60]\n"
     "buffer input 2 %u : i8[2,70,60]\n"
     "buffer output 0 %y : i8[3,400,60]\n"
     "scatter_elements(@out %y[3,400,60]:i8; @in %x[3,400,60]:i8, "
     "@in %n[2,70,60]:i64, @in %u[2,70,60]:i8) {axis=1, reduction=\"mul\"}",
     .least = -40, .most = 39},
    {.text = "buffer input 0 %x : i8[300,20,9]\n"
     "buffer input 1 %n : i64[10,9,2]\n"
     "buffer input 2 %u : i8[10,9,9]\n"
     "buffer output 0 %y : i8[300,20,9]\n"
     "scatter_nd(@out %y[300,20,9]:i8; @in %x[300,20,9]:i8, "
     "@in %n[10,9,2]:i64, @in %u[10,9,9]:i8) {reduction=\"mul\"}",
     .least = -20, .most = 19},
    {.text = "buffer input 0 %x : f32[3,400,60]\n"
     "buffer input 1 %n : i64[2,70,60]\n"
     "buffer input 2 %u : f32[2,70,60]\n"
     "buffer output 0 %y : f32[3,400,60]\n"
     "scatter_elements(@out %y[3,400,60]:f32; @in %x[3,400,60]:f32, "
     "@in %n[2,70,60]:i64, @in %u[2,70,60]:f32) {axis=1, reduction=\"max\"}",
     .least = -40, .most = 39},
    {.text = "buffer input 0 %x : f32[300,20,9]\n"
     "buffer input 1 %n : i64[10,9,2]\n"
     "buffer input 2 %u : f32[10,9,9]\n"
     "buffer output 0 %y : f32[300,20,9]\n"
     "scatter_nd(@out %y[300,20,9]:f32; @in %x[300,20,9]:f32, "
     "@in %n[10,9,2]:i64, @in %u[10,9,9]:f32) {reduction=\"max\"}",
     .least = -20, .most = 19},
    {.text = "buffer input 0 %x : i32[300,20,9]\n"
     "buffer input 1 %n : i64[10,9,2]\n"
     "buffer input 2 %u : i32[10,9,9]\n"
     "buffer output 0 %y : i32[300,20,9]\n"
     "scatter_nd(@out %y[300,20,9]:i32; @in %x[300,20,9]:i32, "
     "@in %n[10,9,2]:i64, @in %u[10,9,9]:i32)",
     .least = 0, .most = 21, .is_out_of_range = true},
    /* ---- lines */
    {.text = "buffer input 0 %x : f32[3,7,2]\n"
     "buffer output 0 %y : f32[3,7,2]\n"
     "cum_sum(@out %y[3,7,2]:f32; @in %x[3,7,2]:f32) {axis=1, exclusive=0, reverse=0}"},
    {.text = "buffer input 0 %x : f32[3,7,2]\n"
     "buffer output 0 %y : f32[3,7,2]\n"
     "cum_sum(@out %y[3,7,2]:f32; @in %x[3,7,2]:f32) {axis=1, exclusive=0, reverse=1}"},
    {.text = "buffer input 0 %x : f32[3,7,2]\n"
     "buffer output 0 %y : f32[3,7,2]\n"
     "cum_sum(@out %y[3,7,2]:f32; @in %x[3,7,2]:f32) {axis=1, exclusive=1, reverse=0}"},
    {.text = "buffer input 0 %x : f32[3,7,2]\n"
     "buffer output 0 %y : f32[3,7,2]\n"
     "cum_sum(@out %y[3,7,2]:f32; @in %x[3,7,2]:f32) {axis=1, exclusive=1, reverse=1}"},
    {.text = "buffer input 0 %x : i8[40]\n"
     "buffer output 0 %y : i8[40]\n"
     "cum_sum(@out %y[40]:i8; @in %x[40]:i8)"},
    {.text = "buffer input 0 %x : bf16[400]\n"
     "buffer output 0 %y : bf16[400]\n"
     "cum_sum(@out %y[400]:bf16; @in %x[400]:bf16)"},
    {.text = "buffer input 0 %x : f32[3,11,2]\n"
     "buffer output 0 %y : f32[3,5,2]\n"
     "buffer output 1 %z : i64[3,5,2]\n"
     "top_k(@out %y[3,5,2]:f32, @out %z[3,5,2]:i64; @in %x[3,11,2]:f32) {axis=1, k=5}",
     .nans = 0.2},
    {.text = "buffer input 0 %x : f16[3,11,2]\n"
     "buffer output 0 %y : f16[3,11,2]\n"
     "buffer output 1 %z : i64[3,11,2]\n"
     "top_k(@out %y[3,11,2]:f16, @out %z[3,11,2]:i64; @in %x[3,11,2]:f16) {axis=1, k=11, "
     "largest=0}",
     .nans = 0.2},
    {.text = "buffer input 0 %x : i8[3,11,2]\n"
     "buffer output 0 %y : i8[3,4,2]\n"
     "buffer output 1 %z : i64[3,4,2]\n"
     "top_k(@out %y[3,4,2]:i8, @out %z[3,4,2]:i64; @in %x[3,11,2]:i8) {axis=1, k=4, "
     "largest=0}",
     .least = 1, .most = 6, .nans = 0.2},
    {.text = "buffer input 0 %x : u64[3,11,2]\n"
     "buffer output 0 %y : u64[3,11,2]\n"
     "buffer output 1 %z : i64[3,11,2]\n"
     "top_k(@out %y[3,11,2]:u64, @out %z[3,11,2]:i64; @in %x[3,11,2]:u64) {axis=1, k=11}",
     .least = 1, .most = 6, .nans = 0.2},
    {.text = "buffer input 0 %x : f32[0]\n"
     "buffer output 0 %y : f32[0]\n"
     "buffer output 1 %z : i64[0]\n"
     "top_k(@out %y[0]:f32, @out %z[0]:i64; @in %x[0]:f32) {axis=0, k=0}"},
    /* ---- segments */
    {.text = "buffer input 0 %x : f32[6,5]\n"
     "buffer input 1 %n : i64[7]\n"
     "buffer input 2 %w : f32[7]\n"
     "buffer const %o : 16 = {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0}\n"
     "buffer output 0 %y : f32[3,5]\n"
     "segment_reduce(@out %y[3,5]:f32; @in %x[6,5]:f32, @in %o[4]:i32, @in %n[7]:i64, @in "
     "%w[7]:f32) {padding=2}",
     .least = -6, .most = 5},
    {.text = "buffer input 0 %x : f16[7,5]\n"
     "buffer const %o : 16 = {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0}\n"
     "buffer output 0 %y : f16[3,5]\n"
     "segment_reduce(@out %y[3,5]:f16; @in %x[7,5]:f16, @in %o[4]:i32) {kind=\"max\", "
     "empty=-3.5, to=f16}",
     .nans = 0.1},
    {.text = "buffer input 0 %x : i8[6,5]\n"
     "buffer input 1 %n : i32[7]\n"
     "buffer input 2 %s : f32[6]\n"
     "buffer input 3 %b : f32[6]\n"
     "buffer const %o : 16 = {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0}\n"
     "buffer output 0 %y : f32[3,5]\n"
     "segment_reduce(@out %y[3,5]:f32; @in %x[6,5]:i8, @in %o[4]:i32, @in %n[7]:i32, -, "
     "@in %s[6]:f32, @in %b[6]:f32) {kind=\"mean\"}",
     .least = -6, .most = 5, .is_rounded = true},
    {.text = "buffer const %x : 12 = {33, 67, 0, 56, 0, 188, 240, 122, 0, 52, 0, 64}\n"
     "buffer input 0 %n : i32[7]\n"
     "buffer const %o : 16 = {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0}\n"
     "buffer output 0 %y : f32[3,4]\n"
     "segment_reduce(@out %y[3,4]:f32; @in %x[2,6]:u8, @in %o[4]:i32, @in %n[7]:i32) "
     "{rows=\"fused4\"}",
     .least = -2, .most = 1},
    {.text = "buffer const %x : 12 = {228, 27, 0, 56, 0, 188, 240, 122, 0, 52, 0, 64}\n"
     "buffer input 0 %n : i32[7]\n"
     "buffer const %o : 16 = {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0}\n"
     "buffer output 0 %y : f32[3,8]\n"
     "segment_reduce(@out %y[3,8]:f32; @in %x[2,6]:u8, @in %o[4]:i32, @in %n[7]:i32) "
     "{rows=\"fused2\"}",
     .least = -2, .most = 1},
    {.text = "buffer const %x : 20 = {9, 3, 0, 0, 0, 63, 0, 0, 128, 191, 255, 0, 0, 0, 128, 62, 0, "
     "0, 128, 64}\n"
     "buffer input 0 %n : i32[7]\n"
     "buffer const %o : 16 = {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0}\n"
     "buffer output 0 %y : f32[3,2]\n"
     "segment_reduce(@out %y[3,2]:f32 *(1,3); @in %x[2,10]:u8, @in %o[4]:i32, @in %n[7]:i32) "
     "{rows=\"fused8\"}",
     .least = -2, .most = 1},
    {.text = "buffer input 0 %x : f32[6,5]\n"
     "buffer input 1 %n : i64[7]\n"
     "buffer const %o : 16 = {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0}\n"
     "buffer output 0 %y : f32[3,5]\n"
     "segment_reduce(@out %y[3,5]:f32; @in %x[6,5]:f32, @in %o[4]:i32, @in %n[7]:i64)",
     .least = 6, .most = 9, .is_out_of_range = true},
    {.text = "buffer input 0 %x : f32[6,5]\n"
     "buffer const %o : 12 = {0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0}\n"
     "buffer output 0 %y : f32[2,5]\n"
     "segment_reduce(@out %y[2,5]:f32; @in %x[6,5]:f32, @in %o[3]:i32)",
     .is_out_of_range = true},
    /* ---- nests */
    {.text = "buffer input 0 %x : f32[5,3,9]\n"
     "buffer output 0 %y : f32[5,3,9]\n"
     "buffer scratch %m : 4\n"
     "buffer scratch %d : 36\n"
     "buffer scratch %v : 4\n"
     "nest() {outer=2} do {\n"
     "reduce(@out %m[5,3,9]:f32 *(0,0,0); @in %x[5,3,9]:f32) {axes=[2], kind=\"max\"}\n"
     "map(@out %d[5,3,9]:f32 *(0,0,1); @in %x[5,3,9]:f32, @in %m[5,3,9]:f32 *(0,0,0)) "
     "{body=\"add(sub(%0, %1), f32(index<1>()))\"}\n"
     "reduce(@out %v[5,3,9]:f32 *(0,0,0); @in %d[5,3,9]:f32 *(0,0,1)) {axes=[2]}\n"
     "map(@out %y[5,3,9]:f32; @in %d[5,3,9]:f32 *(0,0,1), @in %v[5,3,9]:f32 *(0,0,0)) "
     "{body=\"mul(%0, %1)\"}\n"
     "}"},
    {.text = "buffer input 0 %x : i16[4,6]\n"
     "buffer output 0 %y : i16[6,4]\n"
     "nest() do {\n"
     "copy(@out %y[6,4]:i16; @in %x[6,4]:i16 *(1,6))\n"
     "}"},
};

#endif
