/* SPDX-License-Identifier: Apache-2.0
 * Floats of 8 bits and fewer: their formats (OCP 8-bit floating point and microscaling; fnuz: the
 * variants without infinities and -0) and what they become where programs compute with bytes. */
#ifndef WICK_EXPR_NARROW_H
#define WICK_EXPR_NARROW_H

#include "compiler/expr/expr.h"

/* A pattern is sign (but in f8e8m0fnu), exponent, mantissa. Exponent 0 holds multiples of
 * 2^(1 - bias - mantissa); in f8e8m0fnu every pattern p below the NaN is 2^(p - bias). */
typedef struct {
  int exponent, mantissa, bias; /* bits, bits, of the exponent */
  double most;                  /* the greatest finite value, which larger ones become */
  int infinity, nan_from;       /* magnitudes; past all patterns where there is none */
  uint8_t nan;                  /* what NaN becomes; -0 where the format has no NaN */
  bool has_sign, has_minus_zero;
} wk_narrow_format;

/* NULL: t is no narrow float. */
const wk_narrow_format *wk_narrow_format_of(wk_dtype t);

/* Bits beyond those of the format are ignored. */
double wk_narrow_value(const wk_narrow_format *f, uint8_t pattern);
/* v rounded to nearest, ties to even (f8e8m0fnu: |v| rounded up), once; finite values saturate, and
 * infinities where the format has none. (The cast of expressions makes all of them finite.) */
uint8_t wk_narrow_pattern(const wk_narrow_format *f, double v);

/* e with its narrow types as their storage (wk_dtype_storage): conversions become arithmetic on
 * bits, with the same results. e itself when it has none. */
const wk_expr *wk_expr_storage(wk_arena *a, const wk_expr *e);

#endif
