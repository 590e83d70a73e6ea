/* SPDX-License-Identifier: Apache-2.0 */
/* What each scalar operation computes, once, over arrays: floats in double, integers in 64 bits.
 * The evaluator (expr_eval.c) rounds or wraps to the element type afterwards. Signed arithmetic
 * goes through uint64_t, where overflow is defined. */
#include "compiler/expr/quant.h"
#include "compiler/expr/scalar.h"

#include <math.h>

#define KERNEL(name)                                                            \
  static void name(const wk_scalar *restrict a, const wk_scalar *restrict b,    \
                   wk_scalar *restrict y, int n, int bits)
#define LOOP(...)            \
  {                          \
    (void)b, (void)bits;     \
    COLUMN_LOOP(__VA_ARGS__) \
  }
#define REAL_1(name, value) \
  KERNEL(name) LOOP(double p = a[i].f; y[i].f = (value);)
#define REAL_2(name, value) \
  KERNEL(name) LOOP(double p = a[i].f, q = b[i].f; y[i].f = (value);)
#define REAL_TEST(name, value) \
  KERNEL(name) LOOP(double p = a[i].f, q = b[i].f; y[i].i = (value);)
#define INT_1(name, value) \
  KERNEL(name) LOOP(int64_t p = a[i].i; y[i].i = (int64_t)(value);)
#define INT_2(name, value) \
  KERNEL(name) LOOP(int64_t p = a[i].i, q = b[i].i; y[i].i = (int64_t)(value);)
#define U64_2(name, value) \
  KERNEL(name)             \
  LOOP(uint64_t p = (uint64_t)a[i].i, q = (uint64_t)b[i].i; y[i].i = (int64_t)(value);)

/* ---- floats ---------------------------------------------------------------------------------- */

/* Sign of the divisor; exact up to the last addition, unlike a - floor(a/b)*b as written. */
static double real_mod(double p, double q) {
  double r = fmod(p, q);
  if (r == 0) return copysign(0, q);
  return (r < 0) != (q < 0) ? r + q : r;
}

REAL_1(real_neg, -p)
REAL_1(real_abs, fabs(p))
REAL_1(real_sign, p > 0 ? 1 : p < 0 ? -1 : p == 0 ? 0 : p)
REAL_1(real_floor, floor(p))
REAL_1(real_ceil, ceil(p))
REAL_1(real_round, nearbyint(p))
REAL_1(real_trunc, trunc(p))
REAL_1(real_sqrt, sqrt(p))
REAL_1(real_exp, exp(p))
REAL_1(real_log, log(p))
REAL_1(real_sin, sin(p))
REAL_1(real_cos, cos(p))
REAL_1(real_tan, tan(p))
REAL_1(real_asin, asin(p))
REAL_1(real_acos, acos(p))
REAL_1(real_atan, atan(p))
REAL_1(real_sinh, sinh(p))
REAL_1(real_cosh, cosh(p))
REAL_1(real_asinh, asinh(p))
REAL_1(real_acosh, acosh(p))
REAL_1(real_atanh, atanh(p))
REAL_1(real_tanh, tanh(p))
REAL_1(real_erf, erf(p))
KERNEL(real_is_nan) LOOP(y[i].i = isnan(a[i].f) != 0;)
KERNEL(real_is_inf) LOOP(y[i].i = isinf(a[i].f) != 0;)
REAL_2(real_add, p + q)
REAL_2(real_sub, p - q)
REAL_2(real_mul, p *q)
REAL_2(real_div, p / q)
REAL_2(real_mod_2, real_mod(p, q))
REAL_2(real_fmod, fmod(p, q))
REAL_2(real_pow, pow(p, q))
REAL_2(real_min, ((p < q) | (p != p)) ? p : q)
REAL_2(real_max, ((p > q) | (p != p)) ? p : q)
REAL_TEST(real_eq, p == q)
REAL_TEST(real_ne, p != q)
REAL_TEST(real_lt, p < q)
REAL_TEST(real_le, p <= q)
REAL_TEST(real_gt, p > q)
REAL_TEST(real_ge, p >= q)

/* ---- integers -------------------------------------------------------------------------------- */

static int64_t wrap_neg(int64_t p) { return (int64_t)(0 - (uint64_t)p); }

static int64_t int_div(int64_t p, int64_t q) {
  if (q == 0) return 0;
  return q == -1 ? wrap_neg(p) : p / q;
}

static int64_t int_rem(int64_t p, int64_t q) { return q == 0 || q == -1 ? 0 : p % q; }

static int64_t int_mod(int64_t p, int64_t q) {
  int64_t r = int_rem(p, q);
  return r != 0 && (r < 0) != (q < 0) ? r + q : r;
}

static uint64_t u64_pow(uint64_t p, uint64_t q) {
  uint64_t y = 1;
  for (; q; q >>= 1, p *= p)
    if (q & 1) y *= p;
  return y;
}

static int64_t int_pow(int64_t p, int64_t q) {
  if (q >= 0) return (int64_t)u64_pow((uint64_t)p, (uint64_t)q);
  if (p == 1) return 1;
  return p == -1 ? (q & 1 ? -1 : 1) : 0;
}

INT_1(int_same, p)
INT_1(int_neg, wrap_neg(p))
INT_1(int_abs, p < 0 ? wrap_neg(p) : p)
INT_1(int_sign, (p > 0) - (p < 0))
INT_1(u64_sign, p != 0)
INT_1(int_not, ~p)
INT_2(int_add, (uint64_t)p + (uint64_t)q)
INT_2(int_sub, (uint64_t)p - (uint64_t)q)
INT_2(int_mul, (uint64_t)p *(uint64_t)q)
INT_2(int_div_2, int_div(p, q))
INT_2(int_mod_2, int_mod(p, q))
INT_2(int_fmod, int_rem(p, q))
INT_2(int_pow_2, int_pow(p, q))
INT_2(int_min, p < q ? p : q)
INT_2(int_max, p > q ? p : q)
INT_2(int_and, p &q)
INT_2(int_or, p | q)
INT_2(int_xor, p ^ q)
INT_2(int_eq, p == q)
INT_2(int_ne, p != q)
INT_2(int_lt, p < q)
INT_2(int_le, p <= q)
INT_2(int_gt, p > q)
INT_2(int_ge, p >= q)
U64_2(u64_div, q ? p / q : 0)
U64_2(u64_rem, q ? p % q : 0)
U64_2(u64_pow_2, u64_pow(p, q))
U64_2(u64_min, p < q ? p : q)
U64_2(u64_max, p > q ? p : q)
U64_2(u64_lt, p < q)
U64_2(u64_le, p <= q)
U64_2(u64_gt, p > q)
U64_2(u64_ge, p >= q)
/* A negative amount is past the width. Narrow values are sign- or zero-extended, so that shifting
 * them by 63 gives what shifting by their width would. */
U64_2(int_shl, q < (uint64_t)bits ? p << q : 0)
KERNEL(int_shr)
LOOP(uint64_t q = (uint64_t)b[i].i; y[i].i = a[i].i >> (q < (uint64_t)bits ? q : 63);)
U64_2(u64_shr, q < 64 ? p >> q : 0)

/* The quotient rounded down and what is left of p; one more when that is over half, or half of an
 * odd one. Nothing overflows: a quotient that is rounded up is no limit of its type. */
static int64_t int_shr_round(int64_t p, uint64_t q, int bits) {
  if (q >= (uint64_t)bits) return 0;
  uint64_t mask = ((uint64_t)1 << q) - 1, down = (uint64_t)(p >> q);
  return (int64_t)(down + (((uint64_t)p & mask) + (down & 1) > (mask >> 1) + 1));
}

static uint64_t u64_shr_round(uint64_t p, uint64_t q) {
  if (q >= 64) return 0;
  uint64_t mask = ((uint64_t)1 << q) - 1, down = p >> q;
  return down + ((p & mask) + (down & 1) > (mask >> 1) + 1);
}

/* Shifts outside of 1 .. 62 do what the steps of the definition do with them. */
int64_t wk_scalar_rescale(int64_t a, int64_t m, int64_t s) {
  uint64_t before = (uint64_t)s - 1, half = before < 64 ? UINT64_C(1) << before : 0;
  int64_t p = (int64_t)((uint64_t)a * (uint64_t)m + half) >> ((uint64_t)s < 64 ? s : 63);
  p = p < INT32_MIN ? INT32_MIN : p > INT32_MAX ? INT32_MAX : p;
  return int_shr_round(p, WK_RESCALE_FRACTION, 32);
}

KERNEL(int_shr_round_2)
LOOP(y[i].i = int_shr_round(a[i].i, (uint64_t)b[i].i, bits);)
U64_2(u64_shr_round_2, u64_shr_round(p, q))

/* clang-format off */
static const wk_expr_rule rules[WK_EX_COUNT] = {
    [WK_EX_NEG] = {real_neg, int_neg, int_neg, false, true},
    [WK_EX_ABS] = {real_abs, int_abs, int_same, false, true},
    [WK_EX_SIGN] = {real_sign, int_sign, u64_sign, false, true},
    [WK_EX_FLOOR] = {real_floor, int_same, int_same, false, true},
    [WK_EX_CEIL] = {real_ceil, int_same, int_same, false, true},
    [WK_EX_ROUND] = {real_round, int_same, int_same, false, true},
    [WK_EX_TRUNC] = {real_trunc, int_same, int_same, false, true},
    [WK_EX_SQRT] = {real_sqrt, NULL, NULL, false, false},
    [WK_EX_EXP] = {real_exp, NULL, NULL, false, false},
    [WK_EX_LOG] = {real_log, NULL, NULL, false, false},
    [WK_EX_SIN] = {real_sin, NULL, NULL, false, false},
    [WK_EX_COS] = {real_cos, NULL, NULL, false, false},
    [WK_EX_TAN] = {real_tan, NULL, NULL, false, false},
    [WK_EX_ASIN] = {real_asin, NULL, NULL, false, false},
    [WK_EX_ACOS] = {real_acos, NULL, NULL, false, false},
    [WK_EX_ATAN] = {real_atan, NULL, NULL, false, false},
    [WK_EX_SINH] = {real_sinh, NULL, NULL, false, false},
    [WK_EX_COSH] = {real_cosh, NULL, NULL, false, false},
    [WK_EX_ASINH] = {real_asinh, NULL, NULL, false, false},
    [WK_EX_ACOSH] = {real_acosh, NULL, NULL, false, false},
    [WK_EX_ATANH] = {real_atanh, NULL, NULL, false, false},
    [WK_EX_TANH] = {real_tanh, NULL, NULL, false, false},
    [WK_EX_ERF] = {real_erf, NULL, NULL, false, false},
    [WK_EX_NOT] = {NULL, int_not, int_not, true, true},
    [WK_EX_IS_NAN] = {real_is_nan, NULL, NULL, false, true},
    [WK_EX_IS_INF] = {real_is_inf, NULL, NULL, false, true},
    [WK_EX_ADD] = {real_add, int_add, int_add, false, false},
    [WK_EX_SUB] = {real_sub, int_sub, int_sub, false, false},
    [WK_EX_MUL] = {real_mul, int_mul, int_mul, false, false},
    [WK_EX_DIV] = {real_div, int_div_2, u64_div, false, false},
    [WK_EX_MOD] = {real_mod_2, int_mod_2, u64_rem, false, false},
    [WK_EX_FMOD] = {real_fmod, int_fmod, u64_rem, false, true},
    [WK_EX_POW] = {real_pow, int_pow_2, u64_pow_2, false, false},
    [WK_EX_MIN] = {real_min, int_min, u64_min, false, true},
    [WK_EX_MAX] = {real_max, int_max, u64_max, false, true},
    [WK_EX_AND] = {NULL, int_and, int_and, true, true},
    [WK_EX_OR] = {NULL, int_or, int_or, true, true},
    [WK_EX_XOR] = {NULL, int_xor, int_xor, true, true},
    [WK_EX_SHL] = {NULL, int_shl, int_shl, false, true},
    [WK_EX_SHR] = {NULL, int_shr, u64_shr, false, true},
    [WK_EX_SHR_ROUND] = {NULL, int_shr_round_2, u64_shr_round_2, false, true},
    [WK_EX_EQ] = {real_eq, int_eq, int_eq, true, true},
    [WK_EX_NE] = {real_ne, int_ne, int_ne, true, true},
    [WK_EX_LT] = {real_lt, int_lt, u64_lt, true, true},
    [WK_EX_LE] = {real_le, int_le, u64_le, true, true},
    [WK_EX_GT] = {real_gt, int_gt, u64_gt, true, true},
    [WK_EX_GE] = {real_ge, int_ge, u64_ge, true, true},
};
/* clang-format on */

const wk_expr_rule *wk_expr_rule_get(wk_expr_op op) { return &rules[op]; }
