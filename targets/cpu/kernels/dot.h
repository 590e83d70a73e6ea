/* SPDX-License-Identifier: Apache-2.0
 * dot: the multiply-add of the register tile. k advances by words of four bytes: one float, or four
 * neighbouring 8-bit integers, of A a word in all lanes, of B a word for each column. Packed
 * constants of f16 and bf16 keep their two bytes and become floats as they are loaded. Sums of
 * integers are exact modulo 2^32 on every instruction set. Private to this folder. */
#ifndef WICK_CPU_DOT_H
#define WICK_CPU_DOT_H

#include "targets/cpu/kernels/kernels.h"

enum { WK_DOT_PARTS = 2 };
typedef struct {
  wk_ssa part[WK_DOT_PARTS];
} wk_dot_operand;

/* Elements of a word. */
static inline int wk_dot_unit(const wk_cpu_types *t) { return wk_cpu_is_float(t) ? 1 : 4; }
/* Bytes of a word of packed B. */
static inline int wk_dot_b_bytes(const wk_cpu_types *t) {
  return wk_cpu_is_float(t) ? wk_dtype_size(t->b) : 4;
}
/* Where the multiply-add wants A unsigned, signed A goes in as a + 128, and each panel of B begins
 * with the sums that this takes away again, -128 * (sum of the column): 1 when it does, else 0. */
int wk_dot_heads(const wk_simd *simd, const wk_cpu_types *t);

LLVMTypeRef wk_dot_accumulator(wk_llvm *e, const wk_cpu_types *t);
/* Words of A are f32 or integers. */
wk_dot_operand wk_dot_a(wk_llvm *e, const wk_cpu_types *t, wk_ssa at);
wk_dot_operand wk_dot_b(wk_llvm *e, const wk_cpu_types *t, wk_ssa at);
wk_ssa wk_dot_codegen(wk_llvm *e, const wk_cpu_types *t, const wk_dot_operand *a,
                      const wk_dot_operand *b, wk_ssa acc);
/* The heads of the columns whose words of B are given, added to `sum`. */
wk_ssa wk_dot_head(wk_llvm *e, wk_ssa words, wk_ssa sum);

/* Depthwise: a lane is a channel, and a word holds up to so many taps of it, the same of x and w:
 * one float, or 8-bit integers, or 16-bit ones where the former cannot be multiplied. */
int wk_dot_taps(const wk_simd *simd, const wk_cpu_types *t);
/* Blocks of 16 to 64 channels that are joined at once: up to so many vectors, 1, 2 or 4. Their
 * words come out laced: four channels for vector 0, four for vector 1, … and again. */
int wk_dot_lace(const wk_simd *simd, const wk_cpu_types *t);
/* Where a channel of such a block lies, in words of all its vectors. */
int64_t wk_dot_laced(const wk_simd *simd, int lace, int64_t channel);
/* n taps, rows of `lace` vectors of elements each, as words. */
void wk_dot_join_laced(wk_llvm *e, const wk_cpu_types *t, int lace, const wk_ssa *x, int n,
                       wk_ssa *out);
/* Laced vectors of words to vectors in order, and back. */
void wk_unlace(wk_llvm *e, int lace, const wk_ssa *v, wk_ssa *out);
void wk_lace(wk_llvm *e, int lace, const wk_ssa *v, wk_ssa *out);
/* acc + the products of the taps, and the word of weights that this wants. */
wk_ssa wk_dot_taps_codegen(wk_llvm *e, const wk_cpu_types *t, wk_ssa x, wk_ssa w, wk_ssa acc);
uint32_t wk_dot_weight(const wk_simd *simd, const wk_cpu_types *t, int tap, const void *w);
/* The inverse, of integers. */
int32_t wk_dot_weight_of(const wk_simd *simd, const wk_cpu_types *t, int tap, uint32_t word);

#endif
