/* SPDX-License-Identifier: Apache-2.0
 * vector: emission helpers for vectors of any lane count and element type (builder.h has those of
 * the instruction set's float vector). Nothing here needs a call out of the module: what the
 * instruction set lacks (rounding, half precision) is emitted as arithmetic. */
#ifndef WICK_CPU_VECTOR_H
#define WICK_CPU_VECTOR_H

#include "compiler/expr/types.h"
#include "targets/cpu/llvm/builder.h"

/* Vectors of `lanes` floats of 32 or 64 bits, the integers of the same width, and conditions. */
typedef struct {
  wk_llvm *e;
  int lanes, bits;
  LLVMTypeRef real, word, cond;
} wk_lanes;

wk_lanes wk_lanes_make(wk_llvm *e, int lanes, int bits);
wk_ssa wk_lanes_real(const wk_lanes *v, double x);
wk_ssa wk_lanes_word(const wk_lanes *v, uint64_t x);
/* An overloaded intrinsic of one type over `n` arguments. */
wk_ssa wk_lanes_intrinsic(wk_llvm *e, const char *name, LLVMTypeRef type, wk_ssa *args, unsigned n);
/* An instruction that this processor has (simd.h). */
wk_ssa wk_simd_call(wk_llvm *e, wk_simd_intrinsic which, wk_ssa *args, unsigned n);
wk_ssa wk_lanes_fma(const wk_lanes *v, wk_ssa a, wk_ssa b, wk_ssa c);
/* sum c[i] * x^i, by Horner's rule */
wk_ssa wk_lanes_poly(const wk_lanes *v, wk_ssa x, const double *c, int n);

typedef enum { WK_ROUND_EVEN, WK_ROUND_FLOOR, WK_ROUND_CEIL, WK_ROUND_TRUNC } wk_round_mode;
wk_ssa wk_lanes_round(const wk_lanes *v, wk_round_mode mode, wk_ssa x);

/* The scalar in every one of `lanes` lanes. */
wk_ssa wk_vector_splat(wk_llvm *e, int lanes, wk_ssa scalar);
wk_ssa wk_vector_int(wk_llvm *e, LLVMTypeRef vector, int64_t x);
LLVMTypeRef wk_vector_type(LLVMTypeRef element, int lanes);

/* ---- element types --------------------------------------------------------------------------- */
/* In registers f16 and bf16 are floats that hold a value of the narrow type, bool is i1. */

LLVMTypeRef wk_register_element(wk_llvm *e, wk_dtype t);
LLVMTypeRef wk_memory_element(wk_llvm *e, wk_dtype t);
wk_ssa wk_from_memory(wk_llvm *e, wk_dtype t, int lanes, wk_ssa v);
wk_ssa wk_to_memory(wk_llvm *e, wk_dtype t, int lanes, wk_ssa v);
/* A float vector rounded to f16 or bf16, ties to even; x itself for other types. */
wk_ssa wk_round_narrow(wk_llvm *e, wk_dtype t, int lanes, wk_ssa x);
/* Doubles to floats "rounded to odd", so that rounding those to f16 or bf16 rounds only once. */
wk_ssa wk_narrow_odd(wk_llvm *e, int lanes, wk_ssa x);

#endif
