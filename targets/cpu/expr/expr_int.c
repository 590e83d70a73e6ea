/* SPDX-License-Identifier: Apache-2.0 */
/* Integer and bool operations, and conversions between element types. Division guards its divisor,
 * so that no instruction of the processor can trap. */
#include "compiler/expr/quant.h"
#include "compiler/expr/scalar.h"
#include "targets/cpu/expr/expr_ops.h"

#include <stdio.h>

static LLVMTypeRef vector_of(const wk_expr_at *at, wk_dtype t) {
  return wk_vector_type(wk_register_element(at->e, t), at->lanes);
}

static wk_ssa constant(wk_ssa like, int64_t x) { return wk_vector_int(NULL, LLVMTypeOf(like), x); }

#define PICK(c, yes, no) LLVMBuildSelect(at->e->b, c, yes, no, "")
#define TEST(op, l, r) LLVMBuildICmp(at->e->b, LLVMInt##op, l, r, "")

/* ---- division -------------------------------------------------------------------------------- */

/* p / q or p rem q with q = 0 and q = -1 taken out. */
static wk_ssa divide(const wk_expr_at *at, bool quotient, wk_ssa p, wk_ssa q) {
  LLVMBuilderRef b = at->e->b;
  wk_ssa zero = constant(p, 0), none = TEST(EQ, q, zero);
  if (!wk_dtype_is_signed(at->from)) {
    wk_ssa d = PICK(none, constant(p, 1), q);
    wk_ssa y = quotient ? LLVMBuildUDiv(b, p, d, "") : LLVMBuildURem(b, p, d, "");
    return PICK(none, zero, y);
  }
  wk_ssa minus = TEST(EQ, q, constant(p, -1));
  wk_ssa special = LLVMBuildOr(b, none, minus, ""), d = PICK(special, constant(p, 1), q);
  if (!quotient) return PICK(special, zero, LLVMBuildSRem(b, p, d, ""));
  wk_ssa y = PICK(minus, LLVMBuildNeg(b, p, ""), LLVMBuildSDiv(b, p, d, ""));
  return PICK(none, zero, y);
}

static wk_ssa modulo(const wk_expr_at *at, wk_ssa p, wk_ssa q) {
  LLVMBuilderRef b = at->e->b;
  wk_ssa r = divide(at, false, p, q), zero = constant(p, 0);
  if (!wk_dtype_is_signed(at->from)) return r;
  wk_ssa differs = TEST(SLT, LLVMBuildXor(b, r, q, ""), zero);
  wk_ssa moved = LLVMBuildAnd(b, differs, TEST(NE, r, zero), "");
  return PICK(moved, LLVMBuildAdd(b, r, q, ""), r);
}

/* ---- powers ---------------------------------------------------------------------------------- */

static wk_ssa power_by_squaring(const wk_expr_at *at, wk_ssa p, uint64_t n) {
  wk_ssa y = constant(p, 1);
  for (; n; n >>= 1) {
    if (n & 1) y = LLVMBuildMul(at->e->b, y, p, "");
    if (n > 1) p = LLVMBuildMul(at->e->b, p, p, "");
  }
  return y;
}

static void power_body(const wk_expr_at *at, LLVMTypeRef type, wk_ssa fn) {
  wk_llvm *e = at->e;
  wk_ssa p = LLVMGetParam(fn, 0), q = LLVMGetParam(fn, 1), one = wk_vector_int(e, type, 1);
  wk_ssa zero = LLVMConstNull(type);
  wk_ssa state[] = {one, p, q};
  wk_llvm_loop l;
  wk_llvm_begin(e, &l, wk_llvm_int(e, 0), wk_llvm_int(e, 8 * wk_dtype_size(at->from)), 1, state, 3);
  wk_ssa odd = TEST(NE, LLVMBuildAnd(e->b, l.phi[2], one, ""), zero);
  state[0] = PICK(odd, LLVMBuildMul(e->b, l.phi[0], l.phi[1], ""), l.phi[0]);
  state[1] = LLVMBuildMul(e->b, l.phi[1], l.phi[1], "");
  state[2] = LLVMBuildLShr(e->b, l.phi[2], one, "");
  wk_llvm_end(e, &l, state);
  wk_ssa y = l.phi[0];
  if (wk_dtype_is_signed(at->from)) {
    wk_ssa minus = constant(p, -1), is_odd = TEST(NE, LLVMBuildAnd(e->b, q, one, ""), zero);
    wk_ssa inverse = PICK(TEST(EQ, p, minus), PICK(is_odd, minus, one), zero);
    inverse = PICK(TEST(EQ, p, one), one, inverse);
    y = PICK(TEST(SLT, q, zero), inverse, y);
  }
  LLVMBuildRet(e->b, y);
}

static wk_ssa power(const wk_expr_at *at, wk_ssa p, wk_ssa q) {
  const wk_expr_node *n = &at->x->nodes[at->node->arg[1]];
  if (n->op == WK_EX_CONST && n->imm.i >= 0) return power_by_squaring(at, p, (uint64_t)n->imm.i);
  char name[64];
  snprintf(name, sizeof name, "wk.math.pow.%s.%d", wk_dtype_name(at->from), at->lanes);
  wk_ssa fn = LLVMGetNamedFunction(at->e->mod, name);
  LLVMTypeRef type = LLVMTypeOf(p), params[] = {type, type};
  if (!fn) {
    wk_llvm_place place = wk_llvm_save(at->e);
    fn = LLVMAddFunction(at->e->mod, name, LLVMFunctionType(type, params, 2, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    wk_llvm_attributes(at->e, fn);
    wk_llvm_keep_apart(at->e, fn);
    at->e->fn = fn;
    LLVMPositionBuilderAtEnd(at->e->b, LLVMAppendBasicBlockInContext(at->e->ctx, fn, ""));
    power_body(at, type, fn);
    wk_llvm_restore(at->e, place);
  }
  wk_ssa args[] = {p, q};
  return LLVMBuildCall2(at->e->b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
}

/* ---- shifts, comparisons --------------------------------------------------------------------- */

static wk_ssa shift(const wk_expr_at *at, bool left, wk_ssa p, wk_ssa q) {
  LLVMBuilderRef b = at->e->b;
  int64_t bits = 8 * wk_dtype_size(at->from);
  wk_ssa last = constant(p, bits - 1), fits = TEST(ULE, q, last), by = PICK(fits, q, last);
  if (left) return PICK(fits, LLVMBuildShl(b, p, by, ""), constant(p, 0));
  if (wk_dtype_is_signed(at->from)) return LLVMBuildAShr(b, p, by, "");
  return PICK(fits, LLVMBuildLShr(b, p, by, ""), constant(p, 0));
}

/* A sum that had half a unit added, shifted. `even`: where nothing is left below the unit it was a
 * half, and of two quotients the even one is taken. */
static wk_ssa round_sum(const wk_expr_at *at, wk_ssa sum, wk_ssa below, wk_ssa q, bool even) {
  LLVMBuilderRef b = at->e->b;
  wk_ssa y = LLVMBuildAShr(b, sum, q, "");
  if (!even) return y;
  wk_ssa tie = TEST(EQ, LLVMBuildAnd(b, sum, below, ""), constant(sum, 0));
  return PICK(tie, LLVMBuildAnd(b, y, constant(sum, -2), ""), y);
}

/* p / 2^q rounded, where p + 2^(q-1) overflows nowhere. */
static wk_ssa round_short(const wk_expr_at *at, wk_ssa p, wk_ssa q, bool even) {
  LLVMBuilderRef b = at->e->b;
  wk_ssa one = constant(p, 1), below = LLVMBuildSub(b, LLVMBuildShl(b, one, q, ""), one, "");
  wk_ssa half = LLVMBuildShl(b, one, LLVMBuildSub(b, q, one, ""), "");
  return round_sum(at, LLVMBuildAdd(b, p, half, ""), below, q, even);
}

/* Even lanes of `wide` (i32 pairs) as sign-extended i64, or the odd ones. */
static wk_ssa every_second(const wk_expr_at *at, wk_ssa v, bool odd) {
  LLVMBuilderRef b = at->e->b;
  LLVMTypeRef type = wk_vector_type(at->e->i64, at->lanes / 2);
  wk_ssa pairs = LLVMBuildBitCast(b, v, type, ""), word = wk_vector_int(at->e, type, 32);
  if (!odd) pairs = LLVMBuildShl(b, pairs, word, "");
  return LLVMBuildAShr(b, pairs, word, "");
}

typedef struct {
  wk_ssa low, high;
} word_pair;

/* a * b as words. */
static word_pair multiply_words(const wk_expr_at *at, wk_ssa a, wk_ssa b) {
  LLVMBuilderRef to = at->e->b;
  wk_ssa product[2], words[2], index[256];
  if (at->lanes == 1) {
    LLVMTypeRef wide = wk_vector_type(at->e->i64, 1), word = LLVMTypeOf(a);
    wk_ssa y = LLVMBuildMul(to, LLVMBuildSExt(to, a, wide, ""), LLVMBuildSExt(to, b, wide, ""), "");
    wk_ssa high = LLVMBuildAShr(to, y, wk_vector_int(at->e, wide, 32), "");
    return (word_pair){LLVMBuildTrunc(to, y, word, ""), LLVMBuildTrunc(to, high, word, "")};
  }
  for (int odd = 0; odd < 2; odd++) {
    product[odd] = LLVMBuildMul(to, every_second(at, a, odd), every_second(at, b, odd), "");
    product[odd] = LLVMBuildBitCast(to, product[odd], LLVMTypeOf(a), "");
  }
  for (int part = 0; part < 2; part++) {
    for (int i = 0; i < at->lanes; i++)
      index[i] = LLVMConstInt(at->e->i32, (unsigned)(i % 2 * at->lanes + i / 2 * 2 + part), 0);
    words[part] = LLVMBuildShuffleVector(to, product[0], product[1],
                                         LLVMConstVector(index, (unsigned)at->lanes), "");
  }
  return (word_pair){words[0], words[1]};
}

/* (a * b) >> (q - 1), see ONCE. */
static wk_ssa twice_product(const wk_expr_at *at, wk_ssa a, wk_ssa b, wk_ssa q) {
  LLVMBuilderRef to = at->e->b;
  wk_ssa rest = LLVMBuildSub(to, constant(q, 33 - at->how.by), q, "");
  b = LLVMBuildShl(to, b, constant(b, at->how.by), "");
  return multiply_words(at, LLVMBuildShl(to, a, rest, ""), b).high;
}

/* HIGH: what lies under the upper words decides only when these are at a half, and then it counts
 * as more than nothing: their lowest bit. */
wk_ssa wk_expr_high_codegen(const wk_expr_at *at, wk_ssa a, wk_ssa b, wk_ssa q) {
  LLVMBuilderRef to = at->e->b;
  bool even = at->how.how & WK_HOW_HIGH_EVEN;
  if (at->how.how & WK_HOW_ONCE) {
    wk_ssa one = constant(a, 1), y = LLVMBuildAdd(to, twice_product(at, a, b, q), one, "");
    return LLVMBuildAShr(to, y, one, "");
  }
  word_pair p = multiply_words(at, a, b);
  if (even) {
    wk_ssa rest = TEST(NE, p.low, constant(a, 0));
    p.high = LLVMBuildOr(to, p.high, LLVMBuildZExt(to, rest, LLVMTypeOf(a), ""), "");
  }
  return round_short(at, p.high, LLVMBuildSub(to, q, constant(q, 32), ""), even);
}

/* With h = twice_product, the first shift gives t = (h + 1) >> 1; a half of the second one is where
 * t + half has nothing below the unit. */
wk_ssa wk_expr_twice_codegen(const wk_expr_at *at, wk_ssa a, wk_ssa b, wk_ssa q) {
  const int64_t again = WK_RESCALE_FRACTION;
  wk_ssa h = twice_product(at, a, b, q), unit = constant(a, again + 1);
  wk_ssa sum = LLVMBuildAdd(at->e->b, h, constant(a, (INT64_C(1) << again) + 1), "");
  return round_sum(at, sum, constant(a, (INT64_C(2) << again) - 2), unit, true);
}

/* See the kernel in compiler/expr/expr_kernels.c. */
static wk_ssa shift_rounding(const wk_expr_at *at, wk_ssa p, wk_ssa q) {
  LLVMBuilderRef b = at->e->b;
  if (at->how.how & (WK_HOW_UP | WK_HOW_EVEN))
    return round_short(at, p, q, at->how.how & WK_HOW_EVEN);
  wk_ssa one = constant(p, 1), last = constant(p, 8 * wk_dtype_size(at->from) - 1);
  wk_ssa fits = TEST(ULE, q, last), by = PICK(fits, q, last);
  wk_ssa mask = LLVMBuildSub(b, LLVMBuildShl(b, one, by, ""), one, "");
  wk_ssa half = LLVMBuildAdd(b, LLVMBuildLShr(b, mask, one, ""), one, "");
  wk_ssa down = wk_dtype_is_signed(at->from) ? LLVMBuildAShr(b, p, by, "")
                                             : LLVMBuildLShr(b, p, by, "");
  wk_ssa rest = LLVMBuildAdd(b, LLVMBuildAnd(b, p, mask, ""), LLVMBuildAnd(b, down, one, ""), "");
  wk_ssa up = LLVMBuildZExt(b, TEST(UGT, rest, half), LLVMTypeOf(p), "");
  return PICK(fits, LLVMBuildAdd(b, down, up, ""), constant(p, 0));
}

static wk_ssa compare(const wk_expr_at *at, wk_expr_op op, wk_ssa p, wk_ssa q) {
  static const LLVMIntPredicate predicates[WK_EX_COUNT][2] = {
      [WK_EX_EQ] = {LLVMIntEQ, LLVMIntEQ},   [WK_EX_NE] = {LLVMIntNE, LLVMIntNE},
      [WK_EX_LT] = {LLVMIntULT, LLVMIntSLT}, [WK_EX_LE] = {LLVMIntULE, LLVMIntSLE},
      [WK_EX_GT] = {LLVMIntUGT, LLVMIntSGT}, [WK_EX_GE] = {LLVMIntUGE, LLVMIntSGE}};
  return LLVMBuildICmp(at->e->b, predicates[op][wk_dtype_is_signed(at->from)], p, q, "");
}

static wk_ssa sign(const wk_expr_at *at, wk_ssa p) {
  wk_ssa zero = constant(p, 0), one = constant(p, 1);
  wk_ssa positive = PICK(compare(at, WK_EX_GT, p, zero), one, zero);
  if (!wk_dtype_is_signed(at->from)) return positive;
  return PICK(TEST(SLT, p, zero), constant(p, -1), positive);
}

wk_ssa wk_expr_integer_codegen(const wk_expr_at *at, wk_ssa p, wk_ssa q) {
  LLVMBuilderRef b = at->e->b;
  bool is_signed = wk_dtype_is_signed(at->from);
  switch (at->node->op) {
    case WK_EX_NEG: return LLVMBuildNeg(b, p, "");
    case WK_EX_ABS:
      return is_signed ? PICK(TEST(SLT, p, constant(p, 0)), LLVMBuildNeg(b, p, ""), p) : p;
    case WK_EX_SIGN: return sign(at, p);
    case WK_EX_FLOOR:
    case WK_EX_CEIL:
    case WK_EX_ROUND:
    case WK_EX_TRUNC: return p;
    case WK_EX_NOT: return LLVMBuildNot(b, p, "");
    case WK_EX_ADD: return LLVMBuildAdd(b, p, q, "");
    case WK_EX_SUB: return LLVMBuildSub(b, p, q, "");
    case WK_EX_MUL: return LLVMBuildMul(b, p, q, "");
    case WK_EX_DIV: return divide(at, true, p, q);
    case WK_EX_MOD: return modulo(at, p, q);
    case WK_EX_FMOD: return divide(at, false, p, q);
    case WK_EX_POW: return power(at, p, q);
    case WK_EX_MIN:
    case WK_EX_MAX: {
      static const char *const names[] = {"llvm.umin", "llvm.smin", "llvm.umax", "llvm.smax"};
      wk_ssa args[] = {p, q};
      int which = 2 * (at->node->op == WK_EX_MAX) + is_signed;
      return wk_lanes_intrinsic(at->e, names[which], LLVMTypeOf(p), args, 2);
    }
    case WK_EX_AND: return LLVMBuildAnd(b, p, q, "");
    case WK_EX_OR: return LLVMBuildOr(b, p, q, "");
    case WK_EX_XOR: return LLVMBuildXor(b, p, q, "");
    case WK_EX_SHL: return shift(at, true, p, q);
    case WK_EX_SHR: return shift(at, false, p, q);
    case WK_EX_SHR_ROUND: return shift_rounding(at, p, q);
    default: return compare(at, at->node->op, p, q);
  }
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* To 8 or 16 bits: limited as a float, converted by way of i32, which vector units do at once. */
static wk_ssa saturate_narrow(const wk_expr_at *at, wk_ssa a, wk_dtype to) {
  LLVMBuilderRef b = at->e->b;
  int64_t lo, hi;
  wk_int_range(to, &lo, &hi);
  wk_lanes v = wk_lanes_make(at->e, at->lanes, at->from == WK_F64 ? 64 : 32);
  wk_ssa least = wk_lanes_real(&v, (double)lo), most = wk_lanes_real(&v, (double)hi);
  wk_ssa is_number = LLVMBuildFCmp(b, LLVMRealORD, a, a, "");
  a = PICK(is_number, a, LLVMConstNull(LLVMTypeOf(a)));
  a = PICK(LLVMBuildFCmp(b, LLVMRealOGT, a, least, ""), a, least);
  a = PICK(LLVMBuildFCmp(b, LLVMRealOLT, a, most, ""), a, most);
  return LLVMBuildTrunc(b, LLVMBuildFPToSI(b, a, vector_of(at, WK_I32), ""), vector_of(at, to), "");
}

static wk_ssa saturate_float(const wk_expr_at *at, wk_ssa a, wk_dtype to) {
  if (wk_dtype_size(to) <= 2) return saturate_narrow(at, a, to);
  static const char *const names[] = {"llvm.fptoui.sat", "llvm.fptosi.sat"};
  const char *name = names[wk_dtype_is_signed(to)];
  LLVMTypeRef types[] = {vector_of(at, to), LLVMTypeOf(a)};
  unsigned id = LLVMLookupIntrinsicID(name, 15);
  wk_ssa fn = LLVMGetIntrinsicDeclaration(at->e->mod, id, types, 2);
  return LLVMBuildCall2(at->e->b, LLVMIntrinsicGetType(at->e->ctx, id, types, 2), fn, &a, 1, "");
}

static wk_ssa to_real(const wk_expr_at *at, wk_ssa a, LLVMTypeRef type) {
  return wk_dtype_is_signed(at->from) ? LLVMBuildSIToFP(at->e->b, a, type, "")
                                      : LLVMBuildUIToFP(at->e->b, a, type, "");
}

/* Integers of 32 and 64 bits to f16 or bf16 with one rounding: through a double, which holds 53
 * bits; what a longer one loses stays as its last bit. */
static wk_ssa wide_to_narrow(const wk_expr_at *at, wk_ssa a, wk_dtype to) {
  LLVMBuilderRef b = at->e->b;
  wk_lanes d = wk_lanes_make(at->e, at->lanes, 64);
  if (wk_dtype_size(at->from) == 8) {
    wk_ssa zero = constant(a, 0), low = constant(a, 0x7ff);
    bool is_signed = wk_dtype_is_signed(at->from);
    wk_ssa m = is_signed ? PICK(TEST(SLT, a, zero), LLVMBuildNeg(b, a, ""), a) : a;
    wk_ssa sticky = TEST(NE, LLVMBuildAnd(b, m, low, ""), zero);
    wk_ssa cut = LLVMBuildAnd(b, a, constant(a, ~INT64_C(0x7ff)), "");
    cut = LLVMBuildOr(b, cut, PICK(sticky, constant(a, 0x800), zero), "");
    wk_ssa is_long = TEST(NE, LLVMBuildLShr(b, m, constant(a, 53), ""), zero);
    a = PICK(is_long, cut, a);
  }
  wk_ssa x = wk_narrow_odd(at->e, at->lanes, to_real(at, a, d.real));
  return wk_round_narrow(at->e, to, at->lanes, x);
}

static wk_ssa integer_to_real(const wk_expr_at *at, wk_ssa a, wk_dtype to) {
  bool is_narrow = to == WK_F16 || to == WK_BF16;
  if (is_narrow && wk_dtype_size(at->from) >= 4) return wide_to_narrow(at, a, to);
  return wk_round_narrow(at->e, to, at->lanes, to_real(at, a, vector_of(at, to)));
}

static wk_ssa real_to_real(const wk_expr_at *at, wk_ssa a, wk_dtype to) {
  bool from_wide = at->from == WK_F64, is_narrow = to == WK_F16 || to == WK_BF16;
  if (from_wide && is_narrow)
    return wk_round_narrow(at->e, to, at->lanes, wk_narrow_odd(at->e, at->lanes, a));
  if (from_wide != (to == WK_F64))
    return from_wide ? LLVMBuildFPTrunc(at->e->b, a, vector_of(at, to), "")
                     : LLVMBuildFPExt(at->e->b, a, vector_of(at, to), "");
  return wk_round_narrow(at->e, to, at->lanes, a);
}

static wk_ssa resize(const wk_expr_at *at, wk_ssa a, wk_dtype to) {
  LLVMTypeRef type = vector_of(at, to);
  int from_bits = at->from == WK_BOOL ? 1 : 8 * wk_dtype_size(at->from),
      bits = 8 * wk_dtype_size(to);
  if (from_bits == bits) return a;
  if (from_bits > bits) return LLVMBuildTrunc(at->e->b, a, type, "");
  return wk_dtype_is_signed(at->from) ? LLVMBuildSExt(at->e->b, a, type, "")
                                      : LLVMBuildZExt(at->e->b, a, type, "");
}

wk_ssa wk_expr_cast_codegen(const wk_expr_at *at, wk_ssa a) {
  wk_dtype to = at->node->dtype;
  bool real_from = wk_dtype_is_float(at->from);
  if (to == at->from) return a;
  if (to == WK_BOOL) {
    wk_ssa zero = LLVMConstNull(LLVMTypeOf(a));
    return real_from ? LLVMBuildFCmp(at->e->b, LLVMRealUNE, a, zero, "") : TEST(NE, a, zero);
  }
  if (real_from) return wk_dtype_is_float(to) ? real_to_real(at, a, to) : saturate_float(at, a, to);
  return wk_dtype_is_float(to) ? integer_to_real(at, a, to) : resize(at, a, to);
}

static wk_ssa limited(const wk_expr_at *at, const char *name, wk_ssa a, int64_t limit) {
  wk_ssa args[] = {a, constant(a, limit)};
  return wk_lanes_intrinsic(at->e, name, LLVMTypeOf(a), args, 2);
}

/* Limits of `to` that lie inside the range of the argument's type. */
wk_ssa wk_expr_sat_codegen(const wk_expr_at *at, wk_ssa a) {
  wk_dtype to = at->node->dtype;
  bool from_signed = wk_dtype_is_signed(at->from), to_signed = wk_dtype_is_signed(to);
  int from_digits = 8 * wk_dtype_size(at->from) - from_signed;
  int to_digits = 8 * wk_dtype_size(to) - to_signed;
  if (from_signed && (!to_signed || to_digits < from_digits))
    a = limited(at, "llvm.smax", a, to_signed ? INT64_MIN >> (63 - to_digits) : 0);
  if (to_digits < from_digits)
    a = limited(at, from_signed ? "llvm.smin" : "llvm.umin", a,
                (int64_t)(UINT64_MAX >> (64 - to_digits)));
  return resize(at, a, to);
}
