/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/expr/quant.h"

#include <math.h>

#include "compiler/expr/scalar.h"

enum { MAX_SHIFT = 62 };

bool wk_scale_is_valid(double scale) { return isfinite(scale) && scale > 0; }

/* factor * 2^shift to the nearest integer, ties to even. */
static int64_t scaled(double factor, int shift) { return (int64_t)nearbyint(ldexp(factor, shift)); }

/* The shift that gives the factor's multiplier its top bit. */
static bool shift_for(double factor, int bits, int *shift) {
  int exponent;
  if (!wk_scale_is_valid(factor)) return false;
  (void)frexp(factor, &exponent); /* factor < 2^exponent */
  *shift = bits - exponent;
  if (*shift >= 0 && scaled(factor, *shift) == INT64_C(1) << bits)
    --*shift; /* rounded up to 2^bits */
  if (*shift > MAX_SHIFT) *shift = MAX_SHIFT;
  return *shift >= 0;
}

bool wk_rescale_of(double factor, wk_rescale *out) {
  int shift;
  factor = (float)factor;
  if (!shift_for(factor, WK_RESCALE_BITS, &shift)) return false;
  out->shift = shift - WK_RESCALE_FRACTION;
  out->mult = scaled(factor, shift);
  return out->shift >= 1;
}

bool wk_rescale_common(const double *factors, int n, int bits, int64_t *mults, int *shift) {
  double most = 0;
  for (int i = 0; i < n; i++) {
    if (!isfinite(factors[i]) || factors[i] < 0) return false;
    if (factors[i] > most) most = factors[i];
  }
  if (!shift_for(most, bits, shift)) return false;
  for (int i = 0; i < n; i++) mults[i] = scaled(factors[i], *shift);
  return true;
}

int64_t wk_rescale_apply(int64_t a, const wk_rescale *r) {
  return wk_scalar_rescale(a, r->mult, r->shift);
}

int64_t wk_quantize_value(double real, double scale, int64_t zero, wk_dtype t) {
  int64_t lo, hi;
  wk_int_range(t, &lo, &hi);
  double q = nearbyint(real / scale) + (double)zero;
  if (isnan(q)) return zero;
  return q <= (double)lo ? lo : q >= (double)hi ? hi : (int64_t)q;
}

/* ---- expressions ----------------------------------------------------------------------------- */

uint16_t wk_expr_rescale(wk_expr_builder *b, uint16_t x, uint16_t mult, uint16_t shift) {
  return wk_expr_3(b, WK_EX_RESCALE, x, mult, shift);
}

uint16_t wk_expr_rescale_steps(wk_expr_builder *b, uint16_t x, uint16_t mult, uint16_t shift) {
  uint16_t p = wk_expr_2(b, WK_EX_MUL, wk_expr_cast(b, WK_I64, x), mult),
           one = wk_expr_i(b, WK_I64, 1);
  uint16_t half = wk_expr_2(b, WK_EX_SHL, one, wk_expr_2(b, WK_EX_SUB, shift, one));
  p = wk_expr_2(b, WK_EX_SHR, wk_expr_2(b, WK_EX_ADD, p, half), shift);
  p = wk_expr_sat(b, WK_I32, p);
  return wk_expr_2(b, WK_EX_SHR_ROUND, p, wk_expr_i(b, WK_I32, WK_RESCALE_FRACTION));
}

uint16_t wk_expr_requantized(wk_expr_builder *b, uint16_t x, int64_t zero, wk_dtype t, int64_t lo,
                             int64_t hi) {
  int64_t least, most;
  wk_dtype wide = wk_expr_dtype(b, x);
  wk_int_range(t, &least, &most);
  if (zero) x = wk_expr_2(b, WK_EX_ADD, x, wk_expr_i(b, wide, zero));
  x = wk_expr_sat(b, t, x);
  if (lo > least) x = wk_expr_2(b, WK_EX_MAX, x, wk_expr_i(b, t, lo));
  if (hi < most) x = wk_expr_2(b, WK_EX_MIN, x, wk_expr_i(b, t, hi));
  return x;
}

uint16_t wk_expr_centred(wk_expr_builder *b, uint16_t x, int64_t zero) {
  x = wk_expr_cast(b, WK_I32, x);
  return zero ? wk_expr_2(b, WK_EX_SUB, x, wk_expr_i(b, WK_I32, zero)) : x;
}

/* ---- softmax --------------------------------------------------------------------------------- */

void wk_softmax_table(double scale, int64_t far, int32_t table[256]) {
  for (int d = 0; d < 256; d++)
    table[d] = d < far ? (int32_t)nearbyint(ldexp(exp(-scale * d), 23)) : 0;
}

enum { SOFTMAX_TOP = 39 }; /* bits of the largest sum */

/* A row's shift is s where sum is 2^23, s + 15 where it is 2^38 (adj is 1 there), never beyond. */
bool wk_softmax_factor(int64_t n, double y_scale, int64_t *m, int *s) {
  double inverse = 1 / y_scale;
  if (n < 1 || n > WK_SOFTMAX_ROW) return false;
  if (!wk_rescale_common(&inverse, 1, WK_SOFTMAX_BITS, m, s)) return false;
  return *s >= 1 && *s <= WK_SOFTMAX_SHIFT;
}

/* sum moves up by 8, 4, 2, 1 as long as it stays below 2^39. */
uint16_t wk_expr_softmax_bits(wk_expr_builder *b, uint16_t sum) {
  uint16_t z = wk_expr_i(b, WK_I32, SOFTMAX_TOP);
  for (int by = 8; by >= 1; by /= 2) {
    uint16_t limit = wk_expr_i(b, WK_I64, INT64_C(1) << (SOFTMAX_TOP - by));
    uint16_t fits = wk_expr_2(b, WK_EX_LT, sum, limit);
    uint16_t less = wk_expr_2(b, WK_EX_SUB, z, wk_expr_i(b, WK_I32, by));
    z = wk_expr_3(b, WK_EX_SELECT, fits, less, z);
    uint16_t up = wk_expr_2(b, WK_EX_SHL, sum, wk_expr_i(b, WK_I64, by));
    if (by > 1) sum = wk_expr_3(b, WK_EX_SELECT, fits, up, sum);
  }
  return z;
}

uint16_t wk_expr_softmax_quotient(wk_expr_builder *b, uint16_t sum, uint16_t z, int64_t m) {
  uint16_t up = wk_expr_2(b, WK_EX_SUB, wk_expr_cast(b, WK_I64, z), wk_expr_i(b, WK_I64, 7));
  uint16_t q = wk_expr_2(b, WK_EX_SHL, wk_expr_i(b, WK_I64, m), up);
  return wk_expr_cast(b, WK_I32, wk_expr_2(b, WK_EX_DIV, q, sum));
}

static uint16_t softmax_adjustment(wk_expr_builder *b, uint16_t quotient) {
  return wk_expr_2(b, WK_EX_SHR, quotient, wk_expr_i(b, WK_I32, WK_RESCALE_BITS));
}

uint16_t wk_expr_softmax_mult(wk_expr_builder *b, uint16_t quotient) {
  return wk_expr_2(b, WK_EX_SHR, quotient, softmax_adjustment(b, quotient));
}

uint16_t wk_expr_softmax_shift(wk_expr_builder *b, uint16_t quotient, uint16_t z, int s) {
  uint16_t shift = wk_expr_2(b, WK_EX_ADD, z, wk_expr_i(b, WK_I32, s - 7 - WK_RESCALE_FRACTION));
  return wk_expr_2(b, WK_EX_SUB, shift, softmax_adjustment(b, quotient));
}

/* ---- normalisation --------------------------------------------------------------------------- */

enum {
  NORM_GUARD = 16, /* fractional bits of the variance: an epsilon below 1 counts */
  NORM_TOP = 62,   /* bits of v */
  NORM_ONE = 29    /* fractional bits of r, for w as a fraction of 2^32 */
};

/* n * squares - sum^2 of centred numbers is no larger than that of n times +-255. */
static int64_t norm_most(int64_t n) { return (n * n * 255 * 255) << NORM_GUARD; }

int64_t wk_norm_epsilon_most(int64_t n) { return (INT64_C(1) << NORM_TOP) - 1 - norm_most(n); }

bool wk_norm_epsilon(int64_t n, double epsilon, double scale, int64_t *e) {
  if (n < 1 || n > WK_NORM_ROW || !(epsilon >= 0) || !wk_scale_is_valid(scale)) return false;
  int64_t most = norm_most(n);
  double exact = nearbyint(ldexp(epsilon / scale * (double)(n * n) / scale, NORM_GUARD));
  if (!(exact < ldexp(1, NORM_TOP) - (double)most)) return false;
  *e = exact < 1 ? 1 : (int64_t)exact;
  return *e <= wk_norm_epsilon_most(n);
}

bool wk_norm_factors(const double *gamma, const double *beta, int64_t n, double y_scale, int32_t *g,
                     int32_t *b, int *shift) {
  const int top = 10, bias_top = 14;
  double most = 0x1p-16;
  int64_t unused;
  for (int64_t i = 0; i < n; i++) {
    double factor = fabs(gamma[i]) / y_scale, bias = beta[i] / y_scale;
    if (!(factor < ldexp(1, top)) || !(fabs(bias) < ldexp(1, bias_top))) return false;
    if (factor > most) most = factor;
    b[i] = (int32_t)scaled(bias, WK_RESCALE_FRACTION);
  }
  if (!wk_rescale_common(&most, 1, WK_NORM_BITS, &unused, shift)) return false;
  for (int64_t i = 0; i < n; i++) g[i] = (int32_t)scaled(gamma[i] / y_scale, *shift);
  *shift += WK_NORM_FRACTION - WK_RESCALE_FRACTION;
  return true;
}

/* (x * y) >> by */
static uint16_t product_down(wk_expr_builder *b, uint16_t x, uint16_t y, int by) {
  return wk_expr_2(b, WK_EX_SHR, wk_expr_2(b, WK_EX_MUL, x, y), wk_expr_i(b, WK_I64, by));
}

uint16_t wk_expr_norm_variance(wk_expr_builder *b, uint16_t sum, uint16_t squares, int64_t n,
                               int64_t e) {
  sum = wk_expr_cast(b, WK_I64, sum);
  uint16_t v = wk_expr_2(b, WK_EX_MUL, wk_expr_cast(b, WK_I64, squares), wk_expr_i(b, WK_I64, n));
  v = wk_expr_2(b, WK_EX_SUB, v, wk_expr_2(b, WK_EX_MUL, sum, sum));
  v = wk_expr_2(b, WK_EX_SHL, v, wk_expr_i(b, WK_I64, NORM_GUARD));
  return wk_expr_2(b, WK_EX_ADD, v, wk_expr_i(b, WK_I64, e));
}

/* v moves up by 32, 16, … as long as it stays below 2^62. */
uint16_t wk_expr_norm_shift(wk_expr_builder *b, uint16_t v) {
  uint16_t s = wk_expr_i(b, WK_I32, 30);
  for (int by = 32; by >= 2; by /= 2) {
    uint16_t fits = wk_expr_2(b, WK_EX_LT, v, wk_expr_i(b, WK_I64, INT64_C(1) << (NORM_TOP - by)));
    uint16_t less = wk_expr_2(b, WK_EX_SUB, s, wk_expr_i(b, WK_I32, by / 2));
    s = wk_expr_3(b, WK_EX_SELECT, fits, less, s);
    uint16_t up = wk_expr_2(b, WK_EX_SHL, v, wk_expr_i(b, WK_I64, by));
    if (by > 2) v = wk_expr_3(b, WK_EX_SELECT, fits, up, v);
  }
  return s;
}

static uint16_t newton(wk_expr_builder *b, uint16_t r, uint16_t w) {
  uint16_t p = product_down(b, w, product_down(b, r, r, NORM_ONE), 32);
  uint16_t three = wk_expr_i(b, WK_I64, INT64_C(3) << NORM_ONE);
  return product_down(b, r, wk_expr_2(b, WK_EX_SUB, three, p), NORM_ONE + 1);
}

/* The lines are those of the least relative error, 2^-5.5, on either side of w = 2^31. */
uint16_t wk_expr_norm_inverse(wk_expr_builder *b, uint16_t v, uint16_t s) {
  s = wk_expr_cast(b, WK_I64, s);
  uint16_t one = wk_expr_i(b, WK_I64, 1), up = wk_expr_i(b, WK_I64, 30);
  up = wk_expr_2(b, WK_EX_SHL, wk_expr_2(b, WK_EX_SUB, up, s), one);
  uint16_t w = wk_expr_2(b, WK_EX_SHL, v, up);
  w = wk_expr_2(b, WK_EX_SHR, w, wk_expr_i(b, WK_I64, 30));
  uint16_t u = wk_expr_2(b, WK_EX_SHR, w, wk_expr_i(b, WK_I64, 16));
  uint16_t low = wk_expr_2(b, WK_EX_LT, u, wk_expr_i(b, WK_I64, 1 << 15));
  uint16_t at = wk_expr_3(b, WK_EX_SELECT, low, wk_expr_i(b, WK_I64, 20711 << 16),
                          wk_expr_i(b, WK_I64, 14645 << 16));
  uint16_t slope =
      wk_expr_3(b, WK_EX_SELECT, low, wk_expr_i(b, WK_I64, 18768), wk_expr_i(b, WK_I64, 6635));
  uint16_t r = wk_expr_2(b, WK_EX_SUB, at, wk_expr_2(b, WK_EX_MUL, u, slope));
  for (int i = 0; i < 3; i++) r = newton(b, r, w);
  return wk_expr_cast(b, WK_I32, r);
}

uint16_t wk_expr_norm_standard(wk_expr_builder *b, uint16_t q, uint16_t sum, uint16_t r, uint16_t s,
                               int64_t n) {
  uint16_t d = wk_expr_2(b, WK_EX_MUL, q, wk_expr_i(b, WK_I32, n));
  d = wk_expr_cast(b, WK_I64, wk_expr_2(b, WK_EX_SUB, d, sum));
  s = wk_expr_cast(b, WK_I64, s);
  uint16_t one = wk_expr_i(b, WK_I64, 1);
  uint16_t half = wk_expr_2(b, WK_EX_SHR, wk_expr_2(b, WK_EX_SHL, one, s), one);
  uint16_t x = wk_expr_2(b, WK_EX_MUL, d, wk_expr_cast(b, WK_I64, r));
  x = wk_expr_2(b, WK_EX_SHR, wk_expr_2(b, WK_EX_ADD, x, half), s);
  return wk_expr_cast(b, WK_I32, x);
}

uint16_t wk_expr_norm_scaled(wk_expr_builder *b, uint16_t x, uint16_t g, uint16_t bias, int shift) {
  uint16_t p = wk_expr_2(b, WK_EX_MUL, wk_expr_cast(b, WK_I64, x), wk_expr_cast(b, WK_I64, g));
  p = wk_expr_2(b, WK_EX_ADD, p, wk_expr_i(b, WK_I64, INT64_C(1) << (shift - 1)));
  p = wk_expr_2(b, WK_EX_SHR, p, wk_expr_i(b, WK_I64, shift));
  p = wk_expr_sat(b, WK_I32, wk_expr_2(b, WK_EX_ADD, p, wk_expr_cast(b, WK_I64, bias)));
  return wk_expr_2(b, WK_EX_SHR_ROUND, p, wk_expr_i(b, WK_I32, WK_RESCALE_FRACTION));
}
