/* SPDX-License-Identifier: Apache-2.0
 * prepare: the target's own rewrites of a program before placement. Private to this folder. */
#ifndef WICK_CPU_PREPARE_H
#define WICK_CPU_PREPARE_H

#include "targets/cpu/kernels/contract.h"
#include "targets/cpu/simd.h"

typedef struct {
  wk_program *p;
  const wk_simd *simd;
  wk_block *out; /* the block under construction */
  /* Whether the weights that were packed last serve the next convolution that has the same. */
  bool shares_panels;
  wk_view packed_from, packed; /* of the last one */
  int64_t packed_bytes;
} wk_prepare;

/* Convolutions and products: what does not fit the kernels is taken apart (copies before and after,
 * epilogues as maps), constant operands are packed. Runs once. */
wk_status wk_prepare_program(wk_program *p, const wk_simd *simd) WK_MUST_CHECK;

/* Zeroed memory for the contents of a constant, owned by the program. */
wk_status wk_prepare_data(wk_prepare *r, int64_t bytes, float **out) WK_MUST_CHECK;
/* One CONV, MATMUL or generic CONV_TRANSPOSE appended to r->out, in the form that code generation
 * expects. */
wk_status wk_prepare_contract(wk_prepare *r, wk_inst *i) WK_MUST_CHECK;
/* The same where all sums are zero: what bias and epilogue make of that. */
wk_status wk_prepare_zero(wk_prepare *r, const wk_inst *i) WK_MUST_CHECK;
/* A transposed convolution as one convolution per output phase; *done is false when it has to run
 * as it is. */
wk_status wk_prepare_transpose(wk_prepare *r, wk_inst *i, bool *done) WK_MUST_CHECK;

/* The right operand of a fitting instruction becomes panels, by instructions appended to r->out
 * when it is no constant. */
wk_status wk_prepare_pack(wk_prepare *r, wk_inst *i, const wk_contract *c) WK_MUST_CHECK;

/* A convolution in three dimensions as convolutions in two; *done is false when it has to run as it
 * is, or is none. */
wk_status wk_prepare_volume(wk_prepare *r, wk_inst *i, bool *done) WK_MUST_CHECK;

/* A convolution of few images with a large window as one of more; *done is false when it does not
 * pay. */
wk_status wk_prepare_columns(wk_prepare *r, wk_inst *i, bool *done) WK_MUST_CHECK;

/* ---- pieces of the above --------------------------------------------------------------------- */

/* A dense view of the dims of `like` in a new buffer, axes from slowest to fastest as in order[].
 */
wk_view wk_prepare_temporary(wk_prepare *r, const wk_view *like, wk_dtype t, const int *order);
/* Takes bias and epilogue off the instruction and returns the map that does them, NULL if none is
 * needed. With `direct` the accumulator may lie where the result goes, else order[] is that of its
 * axes in memory. */
wk_inst *wk_prepare_epilogue(wk_prepare *r, wk_inst *i, const int *order, bool direct);
/* Appends dst = src, under the name of an instruction. */
void wk_prepare_copy(wk_prepare *r, const wk_inst *of, wk_view dst, wk_view src);
/* dst = src in the type of dst; not appended. */
wk_inst *wk_prepare_conversion(wk_prepare *r, const wk_inst *of, wk_view dst, wk_view src);

#endif
