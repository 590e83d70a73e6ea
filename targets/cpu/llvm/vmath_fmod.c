/* SPDX-License-Identifier: Apache-2.0 */
/* The exact remainder. Each round takes k * (b * 2^n) off, where n brings the divisor within 2^24
 * of what is left and k is the rounded quotient: a short integer, so that its products with both
 * halves of the scaled divisor are exact. At most 90 rounds for f64, 12 for f32. */
#include "targets/cpu/llvm/vmath_build.h"

/* floor(log2 x) of x > 0 */
static wk_ssa exponent(const wk_lanes *v, wk_ssa x) {
  wk_ssa small = CMP(OLT, x, REAL(0x1p-1022));
  wk_ssa e = SHR(AS_WORD(PICK(small, MUL(x, REAL(0x1p54)), x)), 52);
  return ISUB(e, PICK(small, WORD(1023 + 54), WORD(1023)));
}

static wk_ssa power(const wk_lanes *v, wk_ssa n) { return AS_REAL(SHL(IADD(n, WORD(1023)), 52)); }

static wk_ssa any(const wk_lanes *v, wk_ssa cond) {
  return wk_lanes_intrinsic(v->e, "llvm.vector.reduce.or", v->cond, &cond, 1);
}

/* One round where r >= b. */
static wk_ssa step(const wk_lanes *v, wk_ssa r, wk_ssa b, wk_ssa eb) {
  wk_ssa active = CMP(OGE, r, b);
  wk_ssa n = ISUB(ISUB(exponent(v, r), eb), WORD(23));
  n = PICK(BOTH(active, ICMP(SGT, n, WORD(0))), n, WORD(0));
  wk_ssa third = SHR(n, 2), last = ISUB(n, IADD(third, third));
  wk_ssa half = SHR(last, 1), s = b;
  s = MUL(MUL(s, power(v, third)), power(v, third));
  s = MUL(MUL(s, power(v, half)), power(v, ISUB(last, half)));
  wk_ssa k = wk_lanes_round(v, WK_ROUND_EVEN, DIV(r, s));
  wk_ssa hi = AS_REAL(IAND(AS_WORD(s), WORD(~INT64_C(0x7ffffff)))), lo = SUB(s, hi);
  wk_ssa left = SUB(SUB(r, MUL(k, hi)), MUL(k, lo));
  left = PICK(CMP(OLT, left, REAL(0)), ADD(left, s), left);
  return PICK(active, left, r);
}

wk_ssa wk_vmath_fmod64(const wk_lanes *v, wk_ssa p, wk_ssa q) {
  wk_ssa a = ABS(p), b = ABS(q), zero = REAL(0);
  wk_ssa ok = BOTH(CMP(OLT, a, INF), CMP(OGT, b, zero));
  a = PICK(ok, a, zero);
  wk_ssa finite = PICK(BOTH(ok, CMP(OLT, b, INF)), b, REAL(0x1.fffffffffffffp1023));
  LLVMBasicBlockRef before = LLVMGetInsertBlock(B_);
  LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(v->e->ctx, v->e->fn, "");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(v->e->ctx, v->e->fn, "");
  wk_ssa eb = exponent(v, finite);
  wk_ssa too_large = BOTH(CMP(OGE, a, finite), CMP(OLT, b, INF));
  LLVMBuildCondBr(B_, any(v, too_large), body, done);
  LLVMPositionBuilderAtEnd(B_, body);
  wk_ssa r = LLVMBuildPhi(B_, v->real, "");
  wk_ssa next = step(v, r, finite, eb);
  LLVMBuildCondBr(B_, any(v, BOTH(CMP(OGE, next, finite), CMP(OLT, b, INF))), body, done);
  wk_ssa first[] = {a, next};
  LLVMBasicBlockRef from[] = {before, body};
  LLVMAddIncoming(r, first, from, 2);
  LLVMPositionBuilderAtEnd(B_, done);
  wk_ssa y = LLVMBuildPhi(B_, v->real, "");
  LLVMAddIncoming(y, first, from, 2);
  y = PICK(CMP(OEQ, b, INF), a, y);
  return PICK(ok, COPYSIGN(y, p), NOT_A_NUMBER);
}
