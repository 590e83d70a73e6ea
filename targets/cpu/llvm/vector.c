/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/llvm/vector.h"

#include <string.h>

LLVMTypeRef wk_vector_type(LLVMTypeRef element, int lanes) {
  return LLVMVectorType(element, (unsigned)lanes);
}

wk_lanes wk_lanes_make(wk_llvm *e, int lanes, int bits) {
  wk_lanes v = {.e = e, .lanes = lanes, .bits = bits};
  LLVMTypeRef real = bits == 64 ? LLVMDoubleTypeInContext(e->ctx) : e->f32;
  v.real = wk_vector_type(real, lanes);
  v.word = wk_vector_type(LLVMIntTypeInContext(e->ctx, (unsigned)bits), lanes);
  v.cond = wk_vector_type(e->i1, lanes);
  return v;
}

static wk_ssa repeat(LLVMTypeRef vector, wk_ssa element) {
  wk_ssa lanes[256];
  unsigned n = LLVMGetVectorSize(vector);
  for (unsigned i = 0; i < n; i++) lanes[i] = element;
  return LLVMConstVector(lanes, n);
}

wk_ssa wk_lanes_real(const wk_lanes *v, double x) {
  return repeat(v->real, LLVMConstReal(LLVMGetElementType(v->real), x));
}

wk_ssa wk_lanes_word(const wk_lanes *v, uint64_t x) {
  return wk_vector_int(v->e, v->word, (int64_t)x);
}

wk_ssa wk_vector_int(wk_llvm *e, LLVMTypeRef vector, int64_t x) {
  (void)e;
  return repeat(vector, LLVMConstInt(LLVMGetElementType(vector), (uint64_t)x, 1));
}

wk_ssa wk_vector_splat(wk_llvm *e, int lanes, wk_ssa scalar) {
  LLVMTypeRef type = wk_vector_type(LLVMTypeOf(scalar), lanes);
  if (LLVMIsConstant(scalar)) return repeat(type, scalar);
  wk_ssa v =
      LLVMBuildInsertElement(e->b, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, 0), "");
  return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(type),
                                LLVMConstNull(wk_vector_type(e->i32, lanes)), "");
}

wk_ssa wk_lanes_intrinsic(wk_llvm *e, const char *name, LLVMTypeRef type, wk_ssa *args,
                          unsigned n) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  wk_ssa fn = LLVMGetIntrinsicDeclaration(e->mod, id, &type, 1);
  return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, &type, 1), fn, args, n, "");
}

wk_ssa wk_simd_call(wk_llvm *e, wk_simd_intrinsic which, wk_ssa *args, unsigned n) {
  const char *name = e->simd->intrinsic[which];
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  wk_ssa fn = LLVMGetIntrinsicDeclaration(e->mod, id, NULL, 0);
  return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, NULL, 0), fn, args, n, "");
}

wk_ssa wk_lanes_fma(const wk_lanes *v, wk_ssa a, wk_ssa b, wk_ssa c) {
  LLVMBuilderRef at = v->e->b;
  if (!v->e->simd->has_fma) return LLVMBuildFAdd(at, LLVMBuildFMul(at, a, b, ""), c, "");
  wk_ssa args[] = {a, b, c};
  return wk_lanes_intrinsic(v->e, "llvm.fma", v->real, args, 3);
}

wk_ssa wk_lanes_poly(const wk_lanes *v, wk_ssa x, const double *c, int n) {
  wk_ssa y = wk_lanes_real(v, c[n - 1]);
  for (int i = n - 2; i >= 0; i--) y = wk_lanes_fma(v, y, x, wk_lanes_real(v, c[i]));
  return y;
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* Without rounding instructions: adding and taking away 2^23 (2^52) rounds a smaller magnitude to
 * an even integer; the other modes step back where that went too far. */
static wk_ssa round_by_addition(const wk_lanes *v, wk_round_mode mode, wk_ssa x) {
  LLVMBuilderRef b = v->e->b;
  wk_ssa limit = wk_lanes_real(v, v->bits == 64 ? 0x1p52 : 0x1p23), one = wk_lanes_real(v, 1);
  wk_ssa zero = LLVMConstNull(v->real);
  wk_ssa a = wk_lanes_intrinsic(v->e, "llvm.fabs", v->real, &x, 1);
  wk_ssa r = LLVMBuildFSub(b, LLVMBuildFAdd(b, a, limit, ""), limit, "");
  if (mode == WK_ROUND_TRUNC) {
    wk_ssa over = LLVMBuildFCmp(b, LLVMRealOGT, r, a, "");
    r = LLVMBuildFSub(b, r, LLVMBuildSelect(b, over, one, zero, ""), "");
  }
  wk_ssa args[] = {r, x};
  r = wk_lanes_intrinsic(v->e, "llvm.copysign", v->real, args, 2);
  if (mode == WK_ROUND_FLOOR || mode == WK_ROUND_CEIL) {
    bool floor = mode == WK_ROUND_FLOOR;
    wk_ssa past = LLVMBuildFCmp(b, floor ? LLVMRealOGT : LLVMRealOLT, r, x, "");
    wk_ssa step = LLVMBuildSelect(b, past, wk_lanes_real(v, floor ? -1 : 1), zero, "");
    args[0] = LLVMBuildFAdd(b, r, step, "");
    r = wk_lanes_intrinsic(v->e, "llvm.copysign", v->real, args, 2);
  }
  wk_ssa small = LLVMBuildFCmp(b, LLVMRealOLT, a, limit, "");
  return LLVMBuildSelect(b, small, r, x, "");
}

wk_ssa wk_lanes_round(const wk_lanes *v, wk_round_mode mode, wk_ssa x) {
  static const char *const names[] = {"llvm.roundeven", "llvm.floor", "llvm.ceil", "llvm.trunc"};
  /* Every instruction set with fused multiply-add has rounding and half precision as well. */
  if (!v->e->simd->has_fma) return round_by_addition(v, mode, x);
  return wk_lanes_intrinsic(v->e, names[mode], v->real, &x, 1);
}

/* ---- narrow floats --------------------------------------------------------------------------- */

static wk_ssa bits_of(const wk_lanes *v, wk_ssa x) {
  return LLVMBuildBitCast(v->e->b, x, v->word, "");
}
static wk_ssa real_of(const wk_lanes *v, wk_ssa x) {
  return LLVMBuildBitCast(v->e->b, x, v->real, "");
}

/* Conversion instructions. A single lane goes as a scalar: LLVM 19 for AArch64 crashes on vectors
 * of one half. */
static wk_ssa half_type(wk_llvm *e, int lanes, wk_ssa x, bool extend) {
  if (lanes == 1) {
    wk_ssa zero = LLVMConstInt(e->i32, 0, 0), one = LLVMBuildExtractElement(e->b, x, zero, "");
    LLVMTypeRef scalar = LLVMHalfTypeInContext(e->ctx);
    one = extend ? LLVMBuildFPExt(e->b, LLVMBuildBitCast(e->b, one, scalar, ""), e->f32, "")
                 : LLVMBuildFPTrunc(e->b, one, scalar, "");
    LLVMTypeRef type = wk_vector_type(extend ? e->f32 : LLVMTypeOf(one), 1);
    return LLVMBuildInsertElement(e->b, LLVMGetPoison(type), one, zero, "");
  }
  LLVMTypeRef half = wk_vector_type(LLVMHalfTypeInContext(e->ctx), lanes);
  if (!extend) return LLVMBuildFPTrunc(e->b, x, half, "");
  return LLVMBuildFPExt(e->b, LLVMBuildBitCast(e->b, x, half, ""), wk_vector_type(e->f32, lanes),
                        "");
}

static wk_ssa round_bf16(const wk_lanes *v, wk_ssa x) {
  LLVMBuilderRef b = v->e->b;
  wk_ssa u = bits_of(v, x), one = wk_lanes_word(v, 1);
  wk_ssa odd = LLVMBuildAnd(b, LLVMBuildLShr(b, u, wk_lanes_word(v, 16), ""), one, "");
  wk_ssa r = LLVMBuildAdd(b, LLVMBuildAdd(b, u, wk_lanes_word(v, 0x7fff), ""), odd, "");
  wk_ssa nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
  r = LLVMBuildSelect(b, nan, LLVMBuildOr(b, u, wk_lanes_word(v, 0x400000), ""), r, "");
  return real_of(v, LLVMBuildAnd(b, r, wk_lanes_word(v, 0xffff0000), ""));
}

/* Normal values: add half a unit of bit 13 and cut. Below 2^-14 a unit is 2^-24, which is what
 * adding 0.5 leaves. From 65520 on: infinity. */
static wk_ssa round_f16(const wk_lanes *v, wk_ssa x) {
  LLVMBuilderRef b = v->e->b;
  wk_ssa a = wk_lanes_intrinsic(v->e, "llvm.fabs", v->real, &x, 1), u = bits_of(v, a);
  wk_ssa half = wk_lanes_real(v, 0.5);
  wk_ssa odd = LLVMBuildLShr(b, u, wk_lanes_word(v, 13), "");
  odd = LLVMBuildAnd(b, odd, wk_lanes_word(v, 1), "");
  wk_ssa r = LLVMBuildAdd(b, LLVMBuildAdd(b, u, wk_lanes_word(v, 0xfff), ""), odd, "");
  r = real_of(v, LLVMBuildAnd(b, r, wk_lanes_word(v, 0xffffe000), ""));
  wk_ssa tiny = LLVMBuildFSub(b, LLVMBuildFAdd(b, a, half, ""), half, "");
  wk_ssa is_tiny = LLVMBuildFCmp(b, LLVMRealOLT, a, wk_lanes_real(v, 0x1p-14), "");
  r = LLVMBuildSelect(b, is_tiny, tiny, r, "");
  wk_ssa over = LLVMBuildFCmp(b, LLVMRealOGE, a, wk_lanes_real(v, 65520), "");
  r = LLVMBuildSelect(b, over, wk_lanes_real(v, (double)__builtin_inff()), r, "");
  wk_ssa nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
  wk_ssa args[] = {LLVMBuildSelect(b, nan, a, r, ""), x};
  return wk_lanes_intrinsic(v->e, "llvm.copysign", v->real, args, 2);
}

wk_ssa wk_round_narrow(wk_llvm *e, wk_dtype t, int lanes, wk_ssa x) {
  if (t != WK_F16 && t != WK_BF16) return x;
  wk_lanes v = wk_lanes_make(e, lanes, 32);
  if (t == WK_BF16) return round_bf16(&v, x);
  if (!e->simd->has_fma) return round_f16(&v, x);
  wk_ssa half = half_type(e, lanes, x, false);
  LLVMTypeRef bits = wk_vector_type(LLVMInt16TypeInContext(e->ctx), lanes);
  return half_type(e, lanes, LLVMBuildBitCast(e->b, half, bits, ""), true);
}

wk_ssa wk_narrow_odd(wk_llvm *e, int lanes, wk_ssa x) {
  wk_lanes f = wk_lanes_make(e, lanes, 32), d = wk_lanes_make(e, lanes, 64);
  wk_ssa y = LLVMBuildFPTrunc(e->b, x, f.real, ""), back = LLVMBuildFPExt(e->b, y, d.real, "");
  wk_ssa inexact = LLVMBuildFCmp(e->b, LLVMRealONE, back, x, "");
  wk_ssa size = wk_lanes_intrinsic(e, "llvm.fabs", d.real, &x, 1);
  wk_ssa back_size = wk_lanes_intrinsic(e, "llvm.fabs", d.real, &back, 1);
  wk_ssa up = LLVMBuildFCmp(e->b, LLVMRealOGT, back_size, size, "");
  wk_ssa u = bits_of(&f, y);
  u = LLVMBuildSub(e->b, u, LLVMBuildZExt(e->b, up, f.word, ""), "");
  u = LLVMBuildOr(e->b, u, LLVMBuildZExt(e->b, inexact, f.word, ""), "");
  return real_of(&f, u);
}

/* Bits of a half (in the low 16 of a word) to the float of that value: the exponent is rebased by a
 * multiplication, which also normalises. */
static wk_ssa half_bits_to_float(const wk_lanes *v, wk_ssa h) {
  LLVMBuilderRef b = v->e->b;
  wk_ssa body = LLVMBuildAnd(b, h, wk_lanes_word(v, 0x7fff), "");
  wk_ssa sign = LLVMBuildAnd(b, h, wk_lanes_word(v, 0x8000), "");
  wk_ssa shifted = LLVMBuildShl(b, body, wk_lanes_word(v, 13), "");
  wk_ssa f = LLVMBuildFMul(b, real_of(v, shifted), wk_lanes_real(v, 0x1p112), "");
  wk_ssa special = LLVMBuildICmp(b, LLVMIntUGE, body, wk_lanes_word(v, 0x7c00), "");
  wk_ssa top = LLVMBuildOr(b, shifted, wk_lanes_word(v, 0x7f800000), "");
  wk_ssa u = LLVMBuildSelect(b, special, top, bits_of(v, f), "");
  return real_of(v, LLVMBuildOr(b, u, LLVMBuildShl(b, sign, wk_lanes_word(v, 16), ""), ""));
}

/* The inverse, for floats that already hold a half's value. */
static wk_ssa float_to_half_bits(const wk_lanes *v, wk_ssa x) {
  LLVMBuilderRef b = v->e->b;
  wk_ssa u = bits_of(v, x);
  wk_ssa body = LLVMBuildAnd(b, u, wk_lanes_word(v, 0x7fffffff), "");
  wk_ssa sign = LLVMBuildAnd(b, u, wk_lanes_word(v, 0x80000000), "");
  wk_ssa f = LLVMBuildFMul(b, real_of(v, body), wk_lanes_real(v, 0x1p-112), "");
  wk_ssa special = LLVMBuildICmp(b, LLVMIntUGE, body, wk_lanes_word(v, 0x7f800000), "");
  wk_ssa h = LLVMBuildLShr(b, bits_of(v, f), wk_lanes_word(v, 13), "");
  wk_ssa top = LLVMBuildLShr(b, body, wk_lanes_word(v, 13), "");
  top = LLVMBuildOr(b, LLVMBuildAnd(b, top, wk_lanes_word(v, 0x3ff), ""), wk_lanes_word(v, 0x7c00),
                    "");
  h = LLVMBuildSelect(b, special, top, h, "");
  return LLVMBuildOr(b, h, LLVMBuildLShr(b, sign, wk_lanes_word(v, 16), ""), "");
}

/* ---- element types --------------------------------------------------------------------------- */

LLVMTypeRef wk_memory_element(wk_llvm *e, wk_dtype t) {
  if (t == WK_F32) return e->f32;
  if (t == WK_F64) return LLVMDoubleTypeInContext(e->ctx);
  return LLVMIntTypeInContext(e->ctx, 8 * (unsigned)wk_dtype_size(t));
}

LLVMTypeRef wk_register_element(wk_llvm *e, wk_dtype t) {
  if (t == WK_F16 || t == WK_BF16) return e->f32;
  return t == WK_BOOL ? e->i1 : wk_memory_element(e, t);
}

wk_ssa wk_from_memory(wk_llvm *e, wk_dtype t, int lanes, wk_ssa x) {
  wk_lanes v = wk_lanes_make(e, lanes, 32);
  if (t == WK_BOOL) return LLVMBuildICmp(e->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
  if (t != WK_F16 && t != WK_BF16) return x;
  if (t == WK_F16 && e->simd->has_fma) return half_type(e, lanes, x, true);
  wk_ssa u = LLVMBuildZExt(e->b, x, v.word, "");
  if (t == WK_F16) return half_bits_to_float(&v, u);
  return real_of(&v, LLVMBuildShl(e->b, u, wk_lanes_word(&v, 16), ""));
}

wk_ssa wk_to_memory(wk_llvm *e, wk_dtype t, int lanes, wk_ssa x) {
  wk_lanes v = wk_lanes_make(e, lanes, 32);
  LLVMTypeRef memory = wk_vector_type(wk_memory_element(e, t), lanes);
  if (t == WK_BOOL) return LLVMBuildZExt(e->b, x, memory, "");
  if (t != WK_F16 && t != WK_BF16) return x;
  if (t == WK_F16 && e->simd->has_fma)
    return LLVMBuildBitCast(e->b, half_type(e, lanes, x, false), memory, "");
  wk_ssa u = t == WK_F16 ? float_to_half_bits(&v, x)
                         : LLVMBuildLShr(e->b, bits_of(&v, x), wk_lanes_word(&v, 16), "");
  return LLVMBuildTrunc(e->b, u, memory, "");
}
