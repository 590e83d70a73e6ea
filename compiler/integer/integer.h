/* SPDX-License-Identifier: Apache-2.0
 * integer: what a quantised model means (rank 3). Real operators between dequantisation and
 * quantisation become the integer operators that compiler/expr/quant.h defines. */
#ifndef WICK_INTEGER_H
#define WICK_INTEGER_H

#include "compiler/ir/graph.h"

/* Quantised graphs (real operators between dequantisation and quantisation) become integer graphs,
 * as compiler/expr/quant.h defines them. No optimisation but part of what a quantised model means,
 * so it comes before evaluation and before the passes. `changes`: rewrites. */
wk_status wk_integer_convert(wk_module *m, int64_t *changes) WK_MUST_CHECK;

/* What conversion makes of an operator between quantised tensors, for documents: an operator of
 * graphs (GATHER: a table of 256 entries, of functions of one tensor); WK_OP_COUNT: it stays
 * real. */
wk_op wk_integer_form_of(wk_op op);

/* Afterwards, for targets that multiply bytes alone: convolutions without groups and products of
 * 2-dimensional weights that conversion had to widen to 16 bits (those of u8 whose zero point is
 * not in the middle) multiply bytes, twice or three times as many, with the same sums. */
wk_status wk_integer_narrow(wk_module *m, int64_t *changes) WK_MUST_CHECK;

/* What became of an operator of a converted graph. Strings live in the module and the arena. */
typedef struct {
  const char *node, *op;
  bool is_integer;
  const char *reason; /* why not; NULL: there is nothing to say */
} wk_integer_row;
/* Rows for every operator that computes; none for a module without quantisation. */
size_t wk_integer_rows(const wk_module *m, wk_arena *a, wk_integer_row **out);

/* ---- requantisation -------------------------------------------------------------------------- */

/* The end of a requantisation, to 8 bits: min(max(of + zero, lo), hi), of + zero an i32. */
typedef struct {
  wk_dtype dtype;          /* of the result: i8 or u8 */
  uint16_t saturation, of; /* nodes; limits that are tighter than dtype lie around `saturation` */
  int64_t zero, lo, hi;    /* dtype's least <= lo <= hi <= its greatest */
} wk_requant_range;
/* Node k of x is one. */
bool wk_requant_range_at(const wk_expr *x, uint16_t k, wk_requant_range *out);

#define WK_REQUANT_NONE (-1)
#define WK_REQUANT_TERMS 4

/* The same number everywhere, or an element of an input (any integer type but u64). */
typedef struct {
  int input; /* WK_REQUANT_NONE: value */
  int64_t value;
} wk_requant_number;

/* factor * (element of an input of i32) */
typedef struct {
  int input;
  int64_t factor;
} wk_requant_term;

/* (v - zero) * mult. v is an element of an input of i8 or u8, or what the first stage gives. */
typedef struct {
  int input; /* WK_REQUANT_NONE: the first stage's result */
  wk_dtype dtype;
  int64_t zero, mult;
} wk_requant_operand;

typedef enum {
  WK_REQUANT_VALUE,  /* no first stage: an 8-bit input */
  WK_REQUANT_SUM,    /* input 0, an accumulator of i32, + bias + sum of terms, modulo 2^32 */
  WK_REQUANT_PRODUCT /* product of factors[0] and factors[1], inputs with mult 1 */
} wk_requant_kind;

/* An expression that requantises, in one stage or two:
 *
 *   v = min(max(rescale(what kind says; mult, shift) + y.zero, y.lo), y.hi)
 *   w = min(max(shr_round(a + b; shift2) + y2.zero, y2.lo), y2.hi)             has_second
 *
 * a and b as wk_requant_operand says, their sum below 2^31 in magnitude; where there is only a,
 * b.dtype is WK_DTYPE_NONE and b.mult 0. b is never the first stage's result. VALUE has the second
 * stage alone: a sum or difference of two tensors of different scales, or a change of scale.
 * Zero points have 16 bits and a sign. */
typedef struct {
  wk_requant_kind kind;
  int64_t bias; /* an i32 */
  int n_terms;
  wk_requant_term terms[WK_REQUANT_TERMS];
  wk_requant_operand factors[2];
  wk_requant_number mult, shift;
  wk_requant_range y;

  bool has_second;
  wk_requant_operand a, b;
  int64_t shift2; /* 0 .. 31 */
  wk_requant_range y2;
} wk_requant;

/* Everything that conversion makes for a result of 8 bits, as an epilogue, map or last step of a
 * fold, and what fusion makes of a contraction and a sum: input 0 is the accumulator, or operand 0
 * of the map. False for any other expression; then *out says nothing. The numbers are as they are
 * in the expression: a multiplier is 0 .. 2^24 - 1 and a shift 1 .. 62 in all that conversion
 * makes. */
bool wk_requant_of(const wk_expr *x, wk_requant *out);

#endif
