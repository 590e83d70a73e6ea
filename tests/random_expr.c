/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_expr.h"

#include <math.h>

const wk_dtype random_expr_inputs[RANDOM_EXPR_INPUTS] = {WK_F32, WK_I8,  WK_U64,  WK_BOOL,
                                                         WK_F16, WK_I64, WK_F64,  WK_BF16,
                                                         WK_I32, WK_U8,  WK_U32};

bool random_expr_is_exact(wk_expr_op op) {
  return op != WK_EX_POW && !(op >= WK_EX_EXP && op <= WK_EX_ERF);
}

wk_expr *random_expr(wk_arena *a, wk_rng *r, int size, bool exact) {
  wk_expr_builder *b = wk_expr_begin(a);
  for (int k = 0; k < RANDOM_EXPR_INPUTS; k++) wk_expr_input(b, k, random_expr_inputs[k]);
  wk_expr_index(b, 1);
  for (int k = 0; k < size; k++) {
    uint32_t n = wk_expr_count(b);
    uint16_t arg[3];
    wk_dtype t[3];
    for (int j = 0; j < 3; j++) {
      arg[j] = (uint16_t)wk_rng_range(r, 0, (int64_t)n - 1);
      t[j] = wk_expr_dtype(b, arg[j]);
    }
    wk_dtype to = (wk_dtype)wk_rng_range(r, WK_F32, WK_BOOL);
    int64_t what = wk_rng_range(r, 0, 9);
    char why[64];
    if (what == 0) wk_expr_cast(b, to, arg[0]);
    else if (what == 1)
      wk_expr_f(b, to, (wk_rng_unit(r) - 0.5) * exp2((double)wk_rng_range(r, -40, 70)));
    else if (what == 2) wk_expr_i(b, to, (int64_t)wk_rng_next(r) >> wk_rng_range(r, 0, 63));
    else if (what == 3 && wk_dtype_is_int(to) && wk_dtype_is_int(t[0])) wk_expr_sat(b, to, arg[0]);
    else {
      wk_expr_op op = (wk_expr_op)wk_rng_range(r, WK_EX_NEG, WK_EX_RESCALE);
      int arity = wk_expr_op_arity(op);
      for (int j = 1; j < arity; j++) /* make the arguments agree */
        if (!(op == WK_EX_SELECT && j == 1)) {
          t[j] = op == WK_EX_RESCALE ? WK_I64 : t[j - 1];
          arg[j] = wk_expr_cast(b, t[j], arg[j]);
        }
      if (op == WK_EX_SELECT) arg[0] = wk_expr_cast(b, WK_BOOL, arg[0]), t[0] = WK_BOOL;
      if (wk_expr_refusal(op, t, why)) continue;
      if (exact && wk_dtype_is_float(t[0]) && !random_expr_is_exact(op)) continue;
      if (arity == 1) wk_expr_1(b, op, arg[0]);
      else if (arity == 2) wk_expr_2(b, op, arg[0], arg[1]);
      else wk_expr_3(b, op, arg[0], arg[1], arg[2]);
    }
  }
  uint16_t results[RANDOM_EXPR_RESULTS];
  int n = (int)wk_rng_range(r, 1, RANDOM_EXPR_RESULTS);
  for (int k = 0; k < n; k++)
    results[k] = (uint16_t)wk_rng_range(r, k ? 0 : wk_expr_count(b) - 1, wk_expr_count(b) - 1);
  return wk_expr_finish(b, results, n);
}
