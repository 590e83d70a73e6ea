/* SPDX-License-Identifier: Apache-2.0
 * expr_plan: how each node of an integer expression is computed, from what is known of its inputs.
 * Rescaling is defined in i64; nearly all of it fits i32 lanes, and rounding shifts have shorter
 * forms when the shift is known, or halves cannot occur. Results are the same bit for bit.
 *
 * A whole requantisation, rescale(x, m, s) + zero saturated to 8 bits, has a quick form besides: a
 * product of floats with 15 fractional bits. It is exact but for values so near to
 * a tie that either neighbour could be meant; these it names, about one in 16000, to be computed
 * again in the exact form. */
#ifndef WICK_CPU_EXPR_PLAN_H
#define WICK_CPU_EXPR_PLAN_H

#include "compiler/expr/expr.h"

/* lo <= v <= hi, and a v other than 0 is divisible by 2^zeros at most. Nothing is known of floats
 * and u64: any() of i64. */
typedef struct {
  int64_t lo, hi;
  int zeros;
} wk_fact;

wk_fact wk_fact_any(wk_dtype t);
wk_fact wk_fact_range(int64_t lo, int64_t hi);
wk_fact wk_fact_value(int64_t v);
wk_fact wk_fact_union(wk_fact a, wk_fact b);

/* What is known of the inputs, in each of n_sets cases: a case is a channel, whose constants are
 * then single values. */
typedef struct {
  int n_inputs, n_sets;
  const wk_fact *of; /* [set][input] */
} wk_facts;

enum {
  WK_HOW_NARROW = 1, /* an i64 node whose values are held as i32 */
  /* Rounding shifts of signed integers; 0: any shift. */
  WK_HOW_UP = 2,        /* 0 < shift < width, no halves: (p + half) >> s */
  WK_HOW_EVEN = 4,      /* 0 < shift < width, no overflow: half, less one unless the quotient is
                           odd, is added */
  WK_HOW_HIGH_UP = 8,   /* of a product of i32, shift > 32, no halves: by its upper words */
  WK_HOW_HIGH_EVEN = 16, /* the same with halves, shift > 33 */
  /* (p + 2^(s-1)) >> s of a product of i32, by the upper words of the product of the one times
     2^(33-s-by) and the other times 2^by. */
  WK_HOW_ONCE = 32,
  WK_HOW_TWICE = 64, /* a rescaling: that and its rounding shift in one step */
  WK_HOW_QUICK = 128 /* the saturation of a rescaling, quickly; x, m and s fit i32 */
};

#define WK_RESCALE_STEPS 16 /* nodes of its definition, at most */

typedef struct {
  uint8_t how, by;
  uint16_t product; /* the multiplication that HIGH, ONCE shift; the rescaling of QUICK */
  uint16_t first;   /* ONCE, TWICE: the argument that is x */
  int16_t zero;     /* QUICK */
  uint8_t steps[WK_RESCALE_STEPS]; /* of a rescaling by its definition: `how` of each node */
} wk_how;

/* Node k of x, a rescaling, by its definition: arguments are inputs 0 to 2, or literals. */
const wk_expr *wk_expr_rescale_plan(wk_arena *a, const wk_expr *x, uint32_t k);

/* how[k] for each node; facts NULL: nothing but the types of the inputs is known. quick: the same
 * with QUICK wherever that holds, or NULL; true when it does somewhere. */
bool wk_expr_plan(const wk_expr *x, const wk_facts *facts, wk_how *how, wk_how *quick);

#endif
