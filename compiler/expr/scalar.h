/* SPDX-License-Identifier: Apache-2.0
 * Conversions shared by the files of this folder: one element as a wk_scalar (expr.h), whose member
 * is chosen by the element type. Not part of the public headers. */
#ifndef WICK_EXPR_SCALAR_H
#define WICK_EXPR_SCALAR_H

#include "compiler/expr/expr.h"

/* v rounded to the nearest value of a float type, ties to even; overflow gives infinity. */
double wk_round_float(double v, wk_dtype t);
double wk_round_f16(double v);
double wk_round_bf16(double v);
/* The low bits of v, sign- or zero-extended as the integer type says (bool: bit 0). */
int64_t wk_wrap_int(int64_t v, wk_dtype t);
/* Smallest and largest value; for u64 the largest is given as INT64_MAX. */
void wk_int_range(wk_dtype t, int64_t *lo, int64_t *hi);
/* WK_EX_RESCALE, for any numbers. */
int64_t wk_scalar_rescale(int64_t a, int64_t m, int64_t s);
/* The conversion of WK_EX_CAST. */
wk_scalar wk_scalar_cast(wk_scalar a, wk_dtype from, wk_dtype to);
/* The conversion of WK_EX_BITS. */
wk_scalar wk_scalar_bits(wk_scalar a, wk_dtype from, wk_dtype to);

/* The statements for every i below n. The constant inner count lets compilers vectorise at -O2. */
#define COLUMN_LOOP(...)                        \
  for (int at_ = 0; at_ < n; at_ += 8) {        \
    if (n - at_ >= 8)                           \
      for (int k_ = 0; k_ < 8; k_++) {          \
        const int i = at_ + k_;                 \
        __VA_ARGS__                             \
      }                                         \
    else                                        \
      for (int i = at_; i < n; i++) {           \
        __VA_ARGS__                             \
      }                                         \
  }

/* One operation over n elements. b is valid for binary operations only; bits is the width of the
 * arguments' type. y may not overlap a or b. Results are not yet rounded or wrapped. */
typedef void (*wk_expr_kernel)(const wk_scalar *restrict a, const wk_scalar *restrict b,
                               wk_scalar *restrict y, int n, int bits);

typedef struct {
  wk_expr_kernel real;        /* float arguments; NULL: not defined for them */
  wk_expr_kernel integer;     /* integers but u64, and bool */
  wk_expr_kernel integer_u64;
  bool takes_bool;
  bool is_exact;              /* float results need no rounding */
} wk_expr_rule;

/* All NULL for INPUT, CONST, INDEX, CAST, SAT, SELECT and RESCALE. */
const wk_expr_rule *wk_expr_rule_get(wk_expr_op op);

#endif
