/* SPDX-License-Identifier: Apache-2.0
 * The few functions of f64 that rare code needs, without a C library: relative error below 1e-14.
 * */
#ifndef WICK_CPU_RARE_MATH_H
#define WICK_CPU_RARE_MATH_H

#include "targets/cpu/rare/bitcode/scalar.h"

#define RARE_LN2 0.693147180559945309417232

RARE double rare_sqrt(double x) { return __builtin_sqrt(x); }

RARE double rare_floor(double x) {
  if (!(x > -0x1p52 && x < 0x1p52)) return x; /* whole already, or no number */
  double t = (double)(int64_t)x;
  return t > x ? t - 1 : t;
}

/* Exact remainder for x >= 0, y > 0: the largest y * 2^k that fits is taken off again and again. */
RARE double rare_fmod(double x, double y) {
  if (!(x < RARE_INFINITY)) return 0.0 * RARE_INFINITY;
  while (x >= y) {
    double part = y;
    while (part <= x / 2) part *= 2;
    x -= part;
  }
  return x;
}

/* To nearest, ties to even. */
RARE double rare_round(double x) {
  if (!(x > -0x1p52 && x < 0x1p52)) return x;
  double big = x < 0 ? -0x1.8p52 : 0x1.8p52;
  return x + big - big;
}

/* ln of a positive normal number: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), then
 * ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172. */
RARE double rare_log(double x) {
  if (x == 0) return -RARE_INFINITY;
  if (!(x > 0) || x == RARE_INFINITY) return x == RARE_INFINITY ? x : x - x + 0.0 / 0.0;
  int64_t bits, e = 0;
  if (x < 0x1p-1022) x *= 0x1p54, e = -54;
  __builtin_memcpy(&bits, &x, 8);
  e += (bits >> 52) - 1023;
  double m = rare_double((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  if (m > 1.41421356237309504880) m *= 0.5, e++;
  double s = (m - 1) / (m + 1), z = s * s, term = s, sum = s;
  for (int k = 3; k <= 25; k += 2) term *= z, sum += term / k;
  return 2 * sum + (double)e * RARE_LN2;
}

/* e^x = 2^n * e^r with |r| <= ln 2 / 2. */
RARE double rare_exp(double x) {
  if (x != x) return x;
  if (x > 709.8) return RARE_INFINITY;
  if (x < -745.2) return 0;
  double n = rare_round(x / RARE_LN2), r = x - n * 0x1.62e42fee00000p-1;
  r -= n * 0x1.a39ef35793c76p-33;
  double term = 1, sum = 1;
  for (int k = 1; k <= 18; k++) term *= r / k, sum += term;
  int64_t half = (int64_t)n / 2, rest = (int64_t)n - half;
  return sum * rare_double((half + 1023) << 52) * rare_double((rest + 1023) << 52);
}

/* cos(2 pi u) for 0 <= u <= 1: folded into an eighth of the circle. */
RARE double rare_cos_turn(double u) {
  double sign = 1;
  if (u > 0.5) u = 1 - u;
  if (u > 0.25) u = 0.5 - u, sign = -1;
  bool as_sin = u > 0.125;
  double a = 6.283185307179586476925287 * (as_sin ? 0.25 - u : u), z = a * a;
  double term = as_sin ? a : 1, sum = term;
  for (int k = as_sin ? 2 : 1; k <= 20; k += 2) term *= -z / (k * (k + 1)), sum += term;
  return sign * sum;
}

/* The p-th root of a sum of powers. */
RARE double rare_root(double x, int64_t p) {
  return x == 0 ? 0 : rare_exp(rare_log(x) / (double)p);
}

#endif
