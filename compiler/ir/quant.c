/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/quant.h"

#include <math.h>

#include "compiler/ir/scalar.h"

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
  int64_t p = (a * r->mult + (INT64_C(1) << (r->shift - 1))) >> r->shift;
  wk_scalar q = {.i = p < INT32_MIN ? INT32_MIN : p > INT32_MAX ? INT32_MAX : p};
  wk_scalar fraction = {.i = WK_RESCALE_FRACTION};
  return wk_expr_apply(WK_EX_SHR_ROUND, WK_I32, WK_I32, q, fraction, fraction).i;
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

void wk_softmax_table(double scale, int32_t table[256]) {
  for (int d = 0; d < 256; d++) table[d] = (int32_t)nearbyint(ldexp(exp(-scale * d), 23));
}
