/* SPDX-License-Identifier: Apache-2.0
 * Private to expr_*.c: one node under emission. */
#ifndef WICK_CPU_EXPR_OPS_H
#define WICK_CPU_EXPR_OPS_H

#include "targets/cpu/expr/expr_plan.h"
#include "targets/cpu/kernels/kernels.h"

typedef struct {
  wk_llvm *e;
  const wk_expr *x;
  const wk_expr_node *node;
  wk_dtype from; /* of argument 0 */
  int lanes;
  wk_how how;
} wk_expr_at;

wk_ssa wk_expr_cast_codegen(const wk_expr_at *at, wk_ssa a);
wk_ssa wk_expr_sat_codegen(const wk_expr_at *at, wk_ssa a);
wk_ssa wk_expr_integer_codegen(const wk_expr_at *at, wk_ssa p, wk_ssa q); /* integers and bools */
/* A product of a and b shifted by q, a plan's HIGH or ONCE; vectors of i32. */
wk_ssa wk_expr_high_codegen(const wk_expr_at *at, wk_ssa a, wk_ssa b, wk_ssa q);
/* rescale(a, b, q), a plan's TWICE; vectors of i32. */
wk_ssa wk_expr_twice_codegen(const wk_expr_at *at, wk_ssa a, wk_ssa b, wk_ssa q);
/* A plan's QUICK: the value that saturates to the node's type, of x, m and s (i32). */
wk_ssa wk_expr_quick_codegen(const wk_expr_at *at, wk_ssa x, wk_ssa m, wk_ssa s, wk_quick *q);

#endif
