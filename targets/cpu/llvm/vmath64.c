/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions over f64 vectors. log, sin, cos and atan use the reductions and polynomials
 * of Sun's fdlibm; exp sums its Taylor series over |r| <= ln 2 / 2; the rest is built from these.
 */
#include "targets/cpu/llvm/vmath_build.h"

#define LN2_HI 6.93147180369123816490e-01 /* 33 bits: multiples up to 2^20 are exact */
#define LN2_LO 1.90821492927058770002e-10

/* e^x = p * 2^n with n as integers. */
typedef struct {
  wk_ssa p, n;
} exp_parts;

static exp_parts exp_split(const wk_lanes *v, wk_ssa x) {
  static const double c[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                             1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                             1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  wk_ssa magic = REAL(0x1.8p52);
  x = vm_clamp(v, x, -760, 720);
  wk_ssa t = FMA(x, REAL(1.44269504088896340736), magic), n = SUB(t, magic);
  wk_ssa r = FMA(n, REAL(-LN2_HI), x);
  r = FMA(n, REAL(-LN2_LO), r);
  wk_ssa p = ADD(REAL(1), FMA(POLY(r, c), MUL(r, r), r));
  return (exp_parts){p, ISUB(AS_WORD(t), WORD(0x4338000000000000))};
}

static wk_ssa exp_join(const wk_lanes *v, exp_parts e) {
  wk_ssa half = SAR(e.n, 1), rest = ISUB(e.n, half);
  wk_ssa a = AS_REAL(SHL(IADD(half, WORD(1023)), 52)), b = AS_REAL(SHL(IADD(rest, WORD(1023)), 52));
  return MUL(MUL(e.p, a), b);
}

static wk_ssa exp_of(const wk_lanes *v, wk_ssa x) { return exp_join(v, exp_split(v, x)); }

/* e^x / 2, which is finite wherever sinh and cosh are. */
static wk_ssa half_exp(const wk_lanes *v, wk_ssa x) {
  exp_parts e = exp_split(v, x);
  e.n = ISUB(e.n, WORD(1));
  return exp_join(v, e);
}

/* Small integers (below 2^51 in magnitude) to doubles without a conversion instruction. */
static wk_ssa small_to_real(const wk_lanes *v, wk_ssa n) {
  return SUB(AS_REAL(IADD(n, WORD(0x4338000000000000))), REAL(0x1.8p52));
}

static wk_ssa log_of(const wk_lanes *v, wk_ssa x) {
  static const double lg[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                              2.857142874366239149e-01, 2.222219843214978396e-01,
                              1.818357216161805012e-01, 1.531383769920937332e-01,
                              1.479819860511658591e-01};
  wk_ssa small = CMP(OLT, x, REAL(0x1p-1022)), zero = REAL(0);
  wk_ssa u = AS_WORD(PICK(small, MUL(x, REAL(0x1p54)), x));
  wk_ssa e = SAR(ISUB(u, WORD(0x3fe6a09e667f3bcd)), 52);
  wk_ssa f = SUB(AS_REAL(ISUB(u, SHL(e, 52))), REAL(1));
  wk_ssa k = ADD(small_to_real(v, e), PICK(small, REAL(-54), zero));
  wk_ssa s = DIV(f, ADD(REAL(2), f)), z = MUL(s, s), square = MUL(MUL(f, f), REAL(0.5));
  wk_ssa r = MUL(z, POLY(z, lg));
  wk_ssa low = FMA(k, REAL(LN2_LO), MUL(s, ADD(square, r)));
  wk_ssa y = SUB(MUL(k, REAL(LN2_HI)), SUB(SUB(square, low), f));
  wk_ssa edge = PICK(CMP(OEQ, x, zero), NEG(INF), PICK(CMP(OEQ, x, INF), INF, NOT_A_NUMBER));
  return PICK(BOTH(CMP(OGT, x, zero), CMP(OLT, x, INF)), y, edge);
}

/* log(1 + x): what rounding 1 + x lost is put back. */
static wk_ssa log1p64(const wk_lanes *v, wk_ssa x) {
  wk_ssa u = ADD(REAL(1), x), lost = DIV(SUB(x, SUB(u, REAL(1))), u);
  wk_ssa y = log_of(v, u);
  return PICK(BOTH(CMP(OLT, u, INF), CMP(OGT, u, REAL(0))), ADD(y, lost), y);
}

/* ---- circle ---------------------------------------------------------------------------------- */

typedef struct {
  wk_ssa sin, cos, quadrant;
} circle;

/* x minus the nearest multiple of pi/2, whose parts are short enough for exact products. */
static circle reduce(const wk_lanes *v, wk_ssa x) {
  static const double fused[] = {1.5707963267948966, 6.123233995736766e-17,
                                 -1.4973849048591833e-33};
  static const double split[] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                 2.02226624871116645580e-21, 8.47842766036889956997e-32};
  static const double sc[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                              -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                              -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  static const double cc[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                              2.48015872894767294178e-05, -2.75573143513906633035e-07,
                              2.08757232129817482790e-09, -1.13596475577881948265e-11};
  bool has_fma = v->e->simd->has_fma;
  wk_ssa magic = REAL(0x1.8p52), t = FMA(x, REAL(0.63661977236758134308), magic), n = SUB(t, magic);
  wk_ssa r = x;
  for (int i = 0; i < (has_fma ? 3 : 4); i++) r = FMA(n, REAL(has_fma ? -fused[i] : -split[i]), r);
  r = vm_clamp(v, r, -1, 1);
  wk_ssa z = MUL(r, r);
  circle c = {.quadrant = AS_WORD(t)};
  c.sin = FMA(MUL(r, z), POLY(z, sc), r);
  wk_ssa half = MUL(z, REAL(0.5)), w = SUB(REAL(1), half);
  wk_ssa low = FMA(MUL(z, z), POLY(z, cc), SUB(SUB(REAL(1), w), half));
  c.cos = ADD(w, low);
  return c;
}

static wk_ssa has_bit(const wk_lanes *v, wk_ssa word, int64_t bit) {
  return ICMP(NE, IAND(word, WORD(bit)), WORD(0));
}

static wk_ssa turn(const wk_lanes *v, circle c, wk_ssa quadrant) {
  wk_ssa y = PICK(has_bit(v, quadrant, 1), c.cos, c.sin);
  return PICK(has_bit(v, quadrant, 2), NEG(y), y);
}

static wk_ssa exp64(const wk_lanes *v, wk_ssa a, wk_ssa b) {
  (void)b;
  return exp_of(v, a);
}

static wk_ssa log64(const wk_lanes *v, wk_ssa a, wk_ssa b) {
  (void)b;
  return log_of(v, a);
}

static wk_ssa sin64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  circle c = reduce(v, x);
  return PICK(CMP(OEQ, x, REAL(0)), x, turn(v, c, c.quadrant));
}

static wk_ssa cos64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  circle c = reduce(v, x);
  return turn(v, c, IADD(c.quadrant, WORD(1)));
}

static wk_ssa tan64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  circle c = reduce(v, x);
  wk_ssa odd = has_bit(v, c.quadrant, 1);
  wk_ssa y = DIV(PICK(odd, NEG(c.cos), c.sin), PICK(odd, c.sin, c.cos));
  return PICK(CMP(OEQ, x, REAL(0)), x, y);
}

static wk_ssa atan64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  static const double even[] = {3.33333333333329318027e-01, 1.42857142725034663711e-01,
                                9.09088713343650656196e-02, 6.66107313738753120669e-02,
                                4.97687799461593236017e-02, 1.62858201153657823623e-02};
  static const double odd[] = {-1.99999999998764832476e-01, -1.11111104054623557880e-01,
                               -7.69187620504482999495e-02, -5.83357013379057348645e-02,
                               -3.65315727442169155270e-02};
  static const struct {
    double from, hi, lo, num[2], den[2]; /* (num0 * a + num1) / (den0 * a + den1) */
  } parts[] = {
      {7.0 / 16, 4.63647609000806093515e-01, 2.26987774529616870924e-17, {2, -1}, {1, 2}},
      {11.0 / 16, 7.85398163397448278999e-01, 3.06161699786838301793e-17, {1, -1}, {1, 1}},
      {19.0 / 16, 9.82793723247329054082e-01, 1.39033110312309984516e-17, {1, -1.5}, {1.5, 1}},
      {39.0 / 16, 1.57079632679489655800e+00, 6.12323399573676603587e-17, {0, -1}, {1, 0}},
  };
  (void)b;
  wk_ssa a = ABS(x), num = a, den = REAL(1), hi = REAL(0), lo = REAL(0);
  for (size_t i = 0; i < WK_COUNTOF(parts); i++) {
    wk_ssa past = CMP(OGE, a, REAL(parts[i].from));
    wk_ssa n =
        parts[i].num[0] == 0 ? REAL(-1) : FMA(a, REAL(parts[i].num[0]), REAL(parts[i].num[1]));
    num = PICK(past, n, num);
    den = PICK(past, FMA(a, REAL(parts[i].den[0]), REAL(parts[i].den[1])), den);
    hi = PICK(past, REAL(parts[i].hi), hi);
    lo = PICK(past, REAL(parts[i].lo), lo);
  }
  wk_ssa t = DIV(num, den), z = MUL(t, t), w = MUL(z, z);
  wk_ssa s = ADD(MUL(z, POLY(w, even)), MUL(w, POLY(w, odd)));
  return COPYSIGN(SUB(hi, SUB(SUB(MUL(t, s), lo), t)), x);
}

static wk_ssa asin64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  wk_ssa one = REAL(1), root = SQRT(MUL(SUB(one, x), ADD(one, x)));
  return atan64(v, DIV(x, root), b);
}

static wk_ssa acos64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  wk_ssa one = REAL(1), y = atan64(v, SQRT(DIV(SUB(one, x), ADD(one, x))), b);
  return ADD(y, y);
}

/* ---- hyperbola ------------------------------------------------------------------------------- */

static wk_ssa sinh_series(const wk_lanes *v, wk_ssa x) { /* |x| <= 1 */
  static const double c[] = {1.0 / 6,
                             1.0 / 120,
                             1.0 / 5040,
                             1.0 / 362880,
                             1.0 / 39916800,
                             1.0 / 6227020800.0,
                             1.0 / 1307674368000.0,
                             1.0 / 355687428096000.0};
  wk_ssa z = MUL(x, x);
  return FMA(MUL(x, z), POLY(z, c), x);
}

static wk_ssa sinh64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  wk_ssa a = ABS(x), h = half_exp(v, a);
  wk_ssa y = SUB(h, DIV(REAL(0.25), h));
  return COPYSIGN(PICK(CMP(OLT, a, REAL(1)), sinh_series(v, a), y), x);
}

static wk_ssa cosh64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  wk_ssa h = half_exp(v, ABS(x));
  return ADD(h, DIV(REAL(0.25), h));
}

/* Near zero tanh = s / sqrt(1 + s^2) with s = sinh. */
static wk_ssa tanh64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  wk_ssa a = ABS(x), one = REAL(1), s = sinh_series(v, a);
  wk_ssa near = DIV(s, SQRT(FMA(s, s, one)));
  wk_ssa far = SUB(one, DIV(REAL(2), ADD(exp_of(v, ADD(a, a)), one)));
  return COPYSIGN(PICK(CMP(OLT, a, REAL(0.75)), near, far), x);
}

static wk_ssa asinh64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  wk_ssa a = ABS(x), one = REAL(1), z = MUL(a, a), big = CMP(OGT, a, REAL(0x1p28));
  wk_ssa t = ADD(a, DIV(z, ADD(one, SQRT(ADD(one, z)))));
  wk_ssa y = log1p64(v, PICK(big, SUB(a, one), t));
  return COPYSIGN(PICK(big, ADD(y, REAL(0.69314718055994530942)), y), x);
}

static wk_ssa acosh64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  wk_ssa t = SUB(x, REAL(1)), big = CMP(OGT, x, REAL(0x1p28));
  wk_ssa s = ADD(t, SQRT(MUL(t, ADD(t, REAL(2)))));
  wk_ssa y = log1p64(v, PICK(big, t, s));
  y = PICK(big, ADD(y, REAL(0.69314718055994530942)), y);
  return PICK(CMP(OLT, x, REAL(1)), NOT_A_NUMBER, y);
}

static wk_ssa atanh64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  (void)b;
  wk_ssa a = ABS(x), t = DIV(ADD(a, a), SUB(REAL(1), a));
  return COPYSIGN(MUL(log1p64(v, t), REAL(0.5)), x);
}

/* ---- erf ------------------------------------------------------------------------------------- */

/* Chebyshev interpolants: erf(x) / x in x^2 on [0, 1]; e^(x^2) erfc(x) in (x-3)/(x+3) on [1, 6]. */
static wk_ssa erf64(const wk_lanes *v, wk_ssa x, wk_ssa b) {
  static const double near[] = {
      1.1283791670955125738,     -0.37612638903183748056,     0.11283791670954878666,
      -0.026866170645076793248,  0.0052239776248180144673,    -0.00085483269808337899052,
      0.00012055331111642710923, -0.000014925595266831181565, 1.6461000484121368033e-6,
      -1.6350312701054695011e-7, 1.4659775274047435814e-8,    -1.137284885679167367e-9,
      5.9571761477489114044e-11};
  static const double far[] = {
      0.17900115118138995042,     -0.32623356004303722836,    0.24560380171233087928,
      -0.15011593650077719356,    0.071665837197978253314,    -0.024392499318674116278,
      0.0042691363328393868213,   0.00070774643906220706321,  -0.00059706194864169630923,
      0.000045255294121296323626, 0.000064056557370028570875, -0.000012860421831200830565,
      -7.9781193859321719723e-6,  2.1192834460531113164e-6,   1.2519261188022666803e-6,
      -2.9026520043928662993e-7,  -2.2960836640172655615e-7,  2.1006932317945463182e-8,
      3.0997111248611912642e-8};
  (void)b;
  wk_ssa a = ABS(x), t = PICK(CMP(OGT, a, REAL(6)), REAL(6), a);
  wk_ssa small = MUL(a, POLY(MUL(t, t), near));
  wk_ssa u = DIV(SUB(t, REAL(3)), ADD(t, REAL(3)));
  wk_ssa rest = MUL(exp_of(v, NEG(MUL(t, t))), POLY(u, far));
  return COPYSIGN(PICK(CMP(OLT, a, REAL(1)), small, SUB(REAL(1), rest)), x);
}

/* ---- powers and remainders ------------------------------------------------------------------- */

static wk_ssa pow64(const wk_lanes *v, wk_ssa x, wk_ssa y) {
  wk_ssa a = ABS(x), one = REAL(1), zero = REAL(0);
  wk_ssa r = exp_of(v, MUL(y, log_of(v, a)));
  wk_ssa is_whole = CMP(OEQ, wk_lanes_round(v, WK_ROUND_TRUNC, y), y);
  wk_ssa h = MUL(y, REAL(0.5));
  wk_ssa is_odd = BOTH(is_whole, CMP(ONE, wk_lanes_round(v, WK_ROUND_TRUNC, h), h));
  wk_ssa negative = ICMP(SLT, AS_WORD(x), WORD(0));
  r = PICK(BOTH(negative, is_odd), NEG(r), r);
  wk_ssa no_root = BOTH(BOTH(CMP(OLT, x, zero), CMP(OLT, a, INF)), CMP(ONE, y, zero));
  r = PICK(BOTH(no_root, LLVMBuildNot(B_, is_whole, "")), NOT_A_NUMBER, r);
  wk_ssa ends = BOTH(CMP(OEQ, a, one), CMP(OEQ, ABS(y), INF));
  return PICK(EITHER(EITHER(CMP(OEQ, x, one), CMP(OEQ, y, zero)), ends), one, r);
}

/* Sign of the divisor. */
static wk_ssa mod64(const wk_lanes *v, wk_ssa p, wk_ssa q) {
  wk_ssa r = wk_vmath_fmod64(v, p, q), zero = REAL(0);
  wk_ssa differs = LLVMBuildXor(B_, CMP(OLT, r, zero), CMP(OLT, q, zero), "");
  wk_ssa y = PICK(differs, ADD(r, q), r);
  return PICK(CMP(OEQ, r, zero), COPYSIGN(zero, q), y);
}

wk_vmath_body wk_vmath_body64(wk_expr_op op) {
  static const wk_vmath_body bodies[WK_EX_COUNT] = {
      [WK_EX_EXP] = exp64,     [WK_EX_LOG] = log64,     [WK_EX_SIN] = sin64,
      [WK_EX_COS] = cos64,     [WK_EX_TAN] = tan64,     [WK_EX_ASIN] = asin64,
      [WK_EX_ACOS] = acos64,   [WK_EX_ATAN] = atan64,   [WK_EX_SINH] = sinh64,
      [WK_EX_COSH] = cosh64,   [WK_EX_ASINH] = asinh64, [WK_EX_ACOSH] = acosh64,
      [WK_EX_ATANH] = atanh64, [WK_EX_TANH] = tanh64,   [WK_EX_ERF] = erf64,
      [WK_EX_POW] = pow64,     [WK_EX_MOD] = mod64,     [WK_EX_FMOD] = wk_vmath_fmod64,
  };
  return bodies[op];
}
