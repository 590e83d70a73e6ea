/* SPDX-License-Identifier: Apache-2.0
 * Private to vmath*.c: formulas over a `const wk_lanes *v` in scope. */
#ifndef WICK_CPU_VMATH_BUILD_H
#define WICK_CPU_VMATH_BUILD_H

#include "targets/cpu/llvm/vmath.h"

#define B_ (v->e->b)
#define ADD(a, b) LLVMBuildFAdd(B_, a, b, "")
#define SUB(a, b) LLVMBuildFSub(B_, a, b, "")
#define MUL(a, b) LLVMBuildFMul(B_, a, b, "")
#define DIV(a, b) LLVMBuildFDiv(B_, a, b, "")
#define NEG(a) LLVMBuildFNeg(B_, a, "")
#define FMA(a, b, c) wk_lanes_fma(v, a, b, c)
#define REAL(x) wk_lanes_real(v, x)
#define WORD(x) wk_lanes_word(v, (uint64_t)(x))
#define POLY(x, c) wk_lanes_poly(v, x, c, (int)WK_COUNTOF(c))
#define CMP(op, a, b) LLVMBuildFCmp(B_, LLVMReal##op, a, b, "")
#define PICK(c, a, b) LLVMBuildSelect(B_, c, a, b, "")
#define BOTH(a, b) LLVMBuildAnd(B_, a, b, "")
#define EITHER(a, b) LLVMBuildOr(B_, a, b, "")
#define IADD(a, b) LLVMBuildAdd(B_, a, b, "")
#define ISUB(a, b) LLVMBuildSub(B_, a, b, "")
#define IAND(a, b) LLVMBuildAnd(B_, a, b, "")
#define SHL(a, n) LLVMBuildShl(B_, a, WORD(n), "")
#define SHR(a, n) LLVMBuildLShr(B_, a, WORD(n), "")
#define SAR(a, n) LLVMBuildAShr(B_, a, WORD(n), "")
#define ICMP(op, a, b) LLVMBuildICmp(B_, LLVMInt##op, a, b, "")
#define AS_WORD(a) LLVMBuildBitCast(B_, a, v->word, "")
#define AS_REAL(a) LLVMBuildBitCast(B_, a, v->real, "")
#define TO_REAL(a) LLVMBuildSIToFP(B_, a, v->real, "")
#define INF REAL((double)__builtin_inff())
#define NOT_A_NUMBER REAL((double)__builtin_nanf(""))

static inline wk_ssa vm_unary(const wk_lanes *v, const char *name, wk_ssa a) {
  return wk_lanes_intrinsic(v->e, name, v->real, &a, 1);
}
static inline wk_ssa vm_copysign(const wk_lanes *v, wk_ssa size, wk_ssa sign) {
  wk_ssa args[] = {size, sign};
  return wk_lanes_intrinsic(v->e, "llvm.copysign", v->real, args, 2);
}
#define ABS(a) vm_unary(v, "llvm.fabs", a)
#define SQRT(a) vm_unary(v, "llvm.sqrt", a)
#define COPYSIGN(a, s) vm_copysign(v, a, s)

/* x limited to [lo, hi]; NaN passes. */
static inline wk_ssa vm_clamp(const wk_lanes *v, wk_ssa x, double lo, double hi) {
  x = PICK(CMP(OLT, x, REAL(lo)), REAL(lo), x);
  return PICK(CMP(OGT, x, REAL(hi)), REAL(hi), x);
}

#endif
