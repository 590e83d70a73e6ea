/* SPDX-License-Identifier: Apache-2.0 */
/* The four functions that networks use all the time over f32, and the way to all others. Reduction
 * and polynomials of exp, log and tanh are those of the Cephes library (single precision); erf is
 * 1 - exp(p(|x|)) with a polynomial in the exponent. */
#include "targets/cpu/llvm/vmath_build.h"

#include <stdio.h>

/* p * 2^n: two factors, so that neither the largest nor a subnormal result is lost. */
static wk_ssa scale32(const wk_lanes *v, wk_ssa p, wk_ssa n) {
  wk_ssa half = SAR(n, 1), rest = ISUB(n, half);
  wk_ssa a = AS_REAL(SHL(IADD(half, WORD(127)), 23)), b = AS_REAL(SHL(IADD(rest, WORD(127)), 23));
  return MUL(MUL(p, a), b);
}

static wk_ssa scalef512(const wk_lanes *v, wk_ssa p, wk_ssa n) {
  LLVMTypeRef i16 = LLVMInt16TypeInContext(v->e->ctx);
  wk_ssa args[] = {p, n, LLVMConstNull(v->real), LLVMConstAllOnes(i16),
                   LLVMConstInt(v->e->i32, 4, 0)};
  return wk_simd_call(v->e, WK_SIMD_SCALE, args, 5);
}

/* Adding 1.5 * 2^23 leaves the rounded multiple of ln 2 in the low bits. */
static wk_ssa exp32(const wk_lanes *v, wk_ssa x) {
  static const double c[] = {
      0.5, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4};
  wk_ssa magic = REAL(0x1.8p23), one = REAL(1);
  x = vm_clamp(v, x, -104, 89);
  wk_ssa t = FMA(x, REAL(1.44269504088896341), magic), n = SUB(t, magic);
  wk_ssa r = FMA(n, REAL(-0.693359375), x);
  r = FMA(n, REAL(2.12194440e-4), r);
  wk_ssa p = ADD(FMA(POLY(r, c), MUL(r, r), r), one);
  if (v->e->simd->intrinsic[WK_SIMD_SCALE] && v->lanes == v->e->simd->lanes)
    return scalef512(v, p, n);
  return scale32(v, p, ISUB(AS_WORD(t), WORD(0x4b400000)));
}

static wk_ssa log32(const wk_lanes *v, wk_ssa x) {
  static const double c[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
                             -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
                             1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
  wk_ssa small = CMP(OLT, x, REAL(0x1p-126));
  wk_ssa u = AS_WORD(PICK(small, MUL(x, REAL(0x1p23)), x));
  wk_ssa e = SAR(ISUB(u, WORD(0x3f3504f3)), 23);
  wk_ssa f = SUB(AS_REAL(ISUB(u, SHL(e, 23))), REAL(1)), z = MUL(f, f);
  wk_ssa k = ADD(TO_REAL(e), PICK(small, REAL(-23), REAL(0)));
  wk_ssa y = FMA(k, REAL(-2.12194440e-4), MUL(MUL(f, z), POLY(f, c)));
  y = FMA(k, REAL(0.693359375), ADD(f, FMA(z, REAL(-0.5), y)));
  wk_ssa zero = REAL(0);
  wk_ssa edge = PICK(CMP(OEQ, x, zero), NEG(INF), PICK(CMP(OEQ, x, INF), INF, NOT_A_NUMBER));
  return PICK(BOTH(CMP(OGT, x, zero), CMP(OLT, x, INF)), y, edge);
}

static wk_ssa tanh32(const wk_lanes *v, wk_ssa x) {
  static const double c[] = {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                             2.06390887954e-2, -5.70498872745e-3};
  wk_ssa a = ABS(x), z = MUL(x, x);
  wk_ssa near = FMA(MUL(a, z), POLY(z, c), a);
  wk_ssa t = ADD(exp32(v, ADD(a, a)), REAL(1));
  wk_ssa far = SUB(REAL(1), DIV(REAL(2), t));
  return COPYSIGN(PICK(CMP(OLT, a, REAL(0.625)), near, far), x);
}

static wk_ssa erf32(const wk_lanes *v, wk_ssa x) {
  static const double near[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                                -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};
  static const double far[] = {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2,
                               -3.88396438e-3, 3.83197126e-4,  -1.72853470e-5};
  wk_ssa a = ABS(x), s = MUL(a, a), t = PICK(CMP(OGT, a, REAL(4)), REAL(4), a);
  wk_ssa small = FMA(POLY(s, near), a, a);
  wk_ssa large = SUB(REAL(1), exp32(v, FMA(POLY(t, far), t, NEG(t))));
  return COPYSIGN(PICK(CMP(OLT, a, REAL(0.9219)), small, large), x);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

typedef wk_ssa (*body32)(const wk_lanes *v, wk_ssa x);

static body32 in_place(wk_expr_op op) {
  static const body32 bodies[WK_EX_COUNT] = {
      [WK_EX_EXP] = exp32, [WK_EX_LOG] = log32, [WK_EX_TANH] = tanh32, [WK_EX_ERF] = erf32};
  return bodies[op];
}

bool wk_vmath_has(wk_expr_op op) { return wk_vmath_body64(op) != NULL; }

/* The function over f64 vectors of these lanes, made at its first use in the module. */
static wk_ssa function64(const wk_lanes *v, wk_expr_op op, unsigned n) {
  char name[64];
  snprintf(name, sizeof name, "wk.math.%s.%d", wk_expr_op_name(op), v->lanes);
  wk_ssa fn = LLVMGetNamedFunction(v->e->mod, name);
  if (fn) return fn;
  wk_llvm_place place = wk_llvm_save(v->e);
  LLVMTypeRef params[] = {v->real, v->real};
  fn = LLVMAddFunction(v->e->mod, name, LLVMFunctionType(v->real, params, n, 0));
  LLVMSetLinkage(fn, LLVMInternalLinkage);
  wk_llvm_attributes(v->e, fn);
  wk_llvm_keep_apart(v->e, fn);
  v->e->fn = fn;
  LLVMPositionBuilderAtEnd(B_, LLVMAppendBasicBlockInContext(v->e->ctx, fn, ""));
  wk_ssa b = n > 1 ? LLVMGetParam(fn, 1) : NULL;
  LLVMBuildRet(B_, wk_vmath_body64(op)(v, LLVMGetParam(fn, 0), b));
  wk_llvm_restore(v->e, place);
  return fn;
}

wk_ssa wk_vmath_codegen(const wk_lanes *v, wk_expr_op op, wk_ssa a, wk_ssa b) {
  if (v->bits == 32 && in_place(op)) return in_place(op)(v, a);
  wk_lanes d = wk_lanes_make(v->e, v->lanes, 64);
  unsigned n = wk_expr_op_arity(op) > 1 ? 2 : 1;
  wk_ssa fn = function64(&d, op, n), args[] = {a, b};
  for (unsigned i = 0; i < n && v->bits == 32; i++)
    args[i] = LLVMBuildFPExt(B_, args[i], d.real, "");
  wk_ssa y = LLVMBuildCall2(B_, LLVMGlobalGetValueType(fn), fn, args, n, "");
  return v->bits == 32 ? LLVMBuildFPTrunc(B_, y, v->real, "") : y;
}
