/* SPDX-License-Identifier: Apache-2.0
 * The integer definition: what quantised operators compute, to the bit, on every executor.
 *
 *   real = scale * (q - zero), q in i8 or u8. Activations have one scale and zero point per tensor;
 *   weights one per tensor or per output channel, zero point 0 (others are subtracted exactly).
 *
 * Accumulators are i32 and wrap. A zero point never costs accuracy: with the padding of a
 * convolution equal to the zero point of x,
 *   sum (x - zx) * (w - zw) = sum x*w - zx * sum w - zw * sum x + k * zx * zw
 * holds modulo 2^32, which is how it is computed.
 *
 * Rescaling is the only rounding. A positive real factor s becomes a multiplier m of `bits` bits
 * and a right shift, s = m / 2^shift up to half a unit of m. Accumulators are rescaled by way of
 * 16 fractional bits:
 *   p = saturate_i32((a * m + 2^(shift-1)) >> shift)     a * m exact in i64, s * 2^16 = m / 2^shift
 *   rescale(a) = shr_round(p, 16)                        to nearest, ties to even (expr.def)
 *   q = saturate(rescale(a) + zero), clamped to the range of a fused activation
 * The factor is computed in f32, as other runtimes do: it then has 24 bits, and with the 16
 * fractional bits, close to those that an f32 product keeps, results near a tie come out as theirs
 * do. Differences of 8-bit numbers are rescaled in i32 with one rounding:
 * shr_round(sum of products, shift).
 *
 *   operator             a                                        s             bits, product in
 *   conv, matmul         accumulator + bias (i32)                 sx*sw/sy      24, i64
 *   mul                  (qa - za) * (qb - zb)                    sa*sb/sy      24, i64
 *   rescaling            qx - zx                                  sx/sy         22, i32
 *   add, sub             (qa - za) * ma ± (qb - zb) * mb          1/2^shift     22, i32
 *                        with ma, mb for sa/sy, sb/sy and the one shift of the larger
 *   average, mean        sum of (qx - zx) over the window (i32)   sx/(sy*count) 24, i64
 *   table functions      y = table[q]: 256 entries, each the quantised value of the real function
 *                        at the dequantised input, rounded once to nearest even
 *   max pool, movement   exact: they only choose values
 *   softmax              see below: 24-bit exponentials, one integer division per row
 *   layer norm, rms norm see below: exact sums, an integer 1/sqrt of 30 bits, no division
 *
 * Fusion never changes bits: a fused epilogue does the same steps, each with its own rounding.
 *
 * Error against real arithmetic, in steps of y, before saturation: 1/2 + 2^-17 + |a| * s * 2^-24
 * for an accumulator; for add 1/2 + (|qa-za| + |qb-zb|) * 2^-shift/2. */
#ifndef WICK_EXPR_QUANT_H
#define WICK_EXPR_QUANT_H

#include "compiler/expr/expr.h"

#define WK_RESCALE_BITS 24     /* multiplier of an i32 accumulator, product in i64 */
#define WK_RESCALE_FRACTION 16 /* fractional bits of a rescaled accumulator before it is rounded */
#define WK_RESCALE_BITS_8 22   /* multiplier of a difference of two 8-bit numbers, product in i32 */

typedef struct {
  int64_t mult; /* 0 <= mult < 2^WK_RESCALE_BITS; the top bit is set unless the factor is tiny */
  int shift;    /* 1 .. 62 */
} wk_rescale;

/* For factors > 0. False when the factor, rounded to f32, is not finite, is 0, or is 2^7 or more
 * (no 8-bit result needs one). */
bool wk_rescale_of(double factor, wk_rescale *out);
/* Multipliers of several factors >= 0 for one shift of 0 .. 62, chosen for the largest; false when
 * that is not finite, not positive, or at least 2^bits. */
bool wk_rescale_common(const double *factors, int n, int bits, int64_t *mults, int *shift);
int64_t wk_rescale_apply(int64_t a, const wk_rescale *r);

/* The scale is finite and positive. */
bool wk_scale_is_valid(double scale);
/* round_half_even(real / scale) + zero saturated to t; NaN gives zero. */
int64_t wk_quantize_value(double real, double scale, int64_t zero, wk_dtype t);

/* ---- expressions over accumulators (all dtypes as given above) ------------------------------- */

/* rescale(x), an i32; x of any integer dtype. mult and shift are nodes of i64. */
uint16_t wk_expr_rescale(wk_expr_builder *b, uint16_t x, uint16_t mult, uint16_t shift);
/* The same by the operations that define it, each a node of its own. */
uint16_t wk_expr_rescale_steps(wk_expr_builder *b, uint16_t x, uint16_t mult, uint16_t shift);
/* saturate(x + zero) to t, then clamped to [lo, hi], values of t. */
uint16_t wk_expr_requantized(wk_expr_builder *b, uint16_t x, int64_t zero, wk_dtype t, int64_t lo,
                             int64_t hi);
/* i32(x) - zero */
uint16_t wk_expr_centred(wk_expr_builder *b, uint16_t x, int64_t zero);

/* ---- averages -------------------------------------------------------------------------------- */

#define WK_POOL_TAPS (1 << 16)
#define WK_POOL_POSITIONS (1 << 24) /* of windows: each has a factor, which compilers look at */

/* ---- resize ---------------------------------------------------------------------------------- */

/* Linear interpolation goes axis by axis, in their order, each a step of its own; between them
 * numbers keep the type, scale and zero point of x:
 *
 *   y = saturate(shr_round((x[near] - zx) * near_mult + (x[far] - zx) * far_mult, shift) + zy)
 *
 * with the two elements that a result lies between. The multipliers are weight * sx / sy by one
 * shift for the axis (wk_rescale_common), so weights of halves, quarters and eighths are exact
 * where the scales are equal, and others are off by 2^-23. Each axis rounds by half a step of its
 * result at most: a result of n axes is off by half a step and (n - 1) sx / 2 sy; where
 * (n - 1) sx / sy is 2 or more there is no integer form. */
#define WK_RESIZE_SHIFT 30

/* ---- softmax --------------------------------------------------------------------------------- */

/* Integer softmax of a row of n <= WK_SOFTMAX_ROW numbers q (i8 or u8), one division per row:
 *
 *   e     = table[max(q) - q]   table[d] = round(2^23 * exp(-scale * d)), d in 0 .. far - 1; i32;
 *                               0 from there on; far is WK_SOFTMAX_FAR, beyond all d, but for masks
 *   sum   = sum e               i64, exact: 2^23 .. 2^38
 *   z     = number of bits of sum                            24 .. 39
 *   Q     = m * 2^(z-7) / sum, rounded down                  2^23 <= Q < 2^25
 *           1/sy = m / 2^s, 2^30 <= m < 2^31, 1 <= s <= 47
 *   adj   = Q >= 2^24
 *   mult  = Q >> adj, shift = s + z - 23 - adj               24 bits; 1 .. 62
 *   y     = saturate(rescale(e) + zero)                      rescale as above, by mult and shift
 *
 * Error against real arithmetic, in steps of y, before saturation, for the real result r of r/sy
 * steps: 1/2 + 2^-17 + (1 + r * (n + 3)) * 2^-24 / sy.
 *
 * With a mask: k is the greatest number of the type of q, T, where an element counts, else its
 * least, L.
 *
 *   t = min(q, k)     g = max(t)     u = min(max(saturate(t - g + T), L + 1), k)
 *   y = softmax(u) with far = 255, which no element that counts is away from T; where a row may
 *       count nowhere min(y, k), so that it is `zero` (clamped) everywhere
 *
 * Scores of L count as L + 1, and those 254 steps and more below g as 254. */
#define WK_SOFTMAX_ROW (1 << 15)
#define WK_SOFTMAX_BITS 31 /* of m */
#define WK_SOFTMAX_SHIFT 47 /* the largest s */
#define WK_SOFTMAX_FAR 256
void wk_softmax_table(double scale, int64_t far, int32_t table[256]);
/* m and s; false when n or s is out of range. */
bool wk_softmax_factor(int64_t n, double y_scale, int64_t *m, int *s);
/* The steps of a row as expressions, all of i32 but sum, an i64. */
uint16_t wk_expr_softmax_bits(wk_expr_builder *b, uint16_t sum);
uint16_t wk_expr_softmax_quotient(wk_expr_builder *b, uint16_t sum, uint16_t z, int64_t m);
uint16_t wk_expr_softmax_mult(wk_expr_builder *b, uint16_t quotient);
uint16_t wk_expr_softmax_shift(wk_expr_builder *b, uint16_t quotient, uint16_t z, int s);

/* ---- normalisation --------------------------------------------------------------------------- */

/* Integer layer normalisation of a row of n <= WK_NORM_ROW numbers q (i8 or u8). Wherever it is not
 * said otherwise, >> rounds down.
 *
 *   sum = sum q      squares = sum q^2                        i32, exact
 *   v   = (n * squares - sum^2) * 2^16 + e                    i64, 1 <= v < 2^62
 *           e = round(2^16 * epsilon * n^2 / sx^2), at least 1
 *   s   = 30 - h     h: the largest number with v * 4^h < 2^62     0 <= s <= 30
 *   w   = (v * 4^h) >> 30                                     2^30 <= w < 2^32
 *   r   = 2^45 / sqrt(w), in [2^29, 2^30 + 2]                 from a line, then three times Newton:
 *           u = w >> 16, r = (u < 2^15 ? 20711 : 14645) * 2^16 - u * (u < 2^15 ? 18768 : 6635)
 *           p = (w * ((r * r) >> 29)) >> 32, r = (r * (3 * 2^29 - p)) >> 30
 *   x   = ((n * q - sum) * r + 2^s / 2) >> s                  i32, 22 fractional bits: (q-mean)/dev
 *   p   = saturate_i32(((x * g + 2^(shift-1)) >> shift) + b)  16 fractional bits
 *   y   = saturate(shr_round(p, 16) + zero)
 *           g = round(gamma / sy * 2^(shift-6)), |g| < 2^24, one shift of 19 .. 45 for all columns;
 *           b = round(beta / sy * 2^16), |b| <= 2^30; i32 each
 *
 * Products have at most 32 bits by 32; |n * q - sum| < 2^23 and |x| < 2^30. The zero point of q
 * plays no part. RMS normalisation is the same on q - zero with 0 for sum.
 *
 * Error against real arithmetic, in steps of y, before saturation, for X = (q-mean)/dev, of which
 * |X| <= sqrt(n), and factors gamma/sy, the largest of which is G, at least 2^-16:
 *   1/2 + 2^-16 + |X * gamma/sy| * 2^-28 + |gamma/sy| * (2^-23 + 2^-17/sqrt(max(n-1,1)))
 *       + |X| * G * 2^-24 */
#define WK_NORM_ROW (1 << 15)
#define WK_NORM_BITS 24     /* of g */
#define WK_NORM_FRACTION 22 /* of x */
#define WK_NORM_SHIFT_LEAST 19
#define WK_NORM_SHIFT_MOST 45

/* e; false when n or epsilon is out of range, or epsilon is far beyond the variance that a row of
 * this scale can have. */
bool wk_norm_epsilon(int64_t n, double epsilon, double scale, int64_t *e);
/* The largest e for which every v of a row of n numbers is below 2^62. */
int64_t wk_norm_epsilon_most(int64_t n);
/* g, b and the shift of n columns; false unless |gamma| < 2^10 * y_scale, |beta| < 2^14 * y_scale
 * everywhere. */
bool wk_norm_factors(const double *gamma, const double *beta, int64_t n, double y_scale, int32_t *g,
                     int32_t *b, int *shift);
/* The steps as expressions: v from i32 sums, s from v, r from v and s; of i64, i32, i32. */
uint16_t wk_expr_norm_variance(wk_expr_builder *b, uint16_t sum, uint16_t squares, int64_t n,
                               int64_t e);
uint16_t wk_expr_norm_shift(wk_expr_builder *b, uint16_t v);
uint16_t wk_expr_norm_inverse(wk_expr_builder *b, uint16_t v, uint16_t s);
/* x, an i32; q, sum, r and s are of i32. */
uint16_t wk_expr_norm_standard(wk_expr_builder *b, uint16_t q, uint16_t sum, uint16_t r, uint16_t s,
                               int64_t n);
/* shr_round(p, 16), an i32; x, g and bias are of i32. Without bias it is rescale(x, g, shift). */
uint16_t wk_expr_norm_scaled(wk_expr_builder *b, uint16_t x, uint16_t g, uint16_t bias, int shift);

#endif
