/* SPDX-License-Identifier: Apache-2.0
 * expr_codegen: scalar expressions (compiler/expr/expr.h) as vector code, with the results that
 * wk_expr_eval gives: bit for bit but for the functions of vmath.h and for the sign of a zero that
 * min or max chooses. Nothing traps and nothing is called outside of the module. */
#ifndef WICK_CPU_EXPR_CODEGEN_H
#define WICK_CPU_EXPR_CODEGEN_H

#include "targets/cpu/expr/expr_plan.h"
#include "targets/cpu/kernels/kernels.h"
#include "targets/cpu/llvm/vector.h"

/* inputs[k], results[r]: vectors of `lanes` register elements (vector.h); inputs that no node reads
 * may be NULL. how: expr_plan.h; NULL: planned by the types of the inputs. index[a]: vector of i64
 * positions along axis a, only for axes that INDEX nodes name. */
void wk_expr_codegen(wk_llvm *e, const wk_expr *x, const wk_how *how, int lanes,
                     const wk_ssa *inputs, const wk_ssa *index, wk_ssa *results);

/* Rough cost in simple vector instructions. */
int wk_expr_cost(const wk_expr *x);

/* The epilogue of a kernel (kernels.h) that computes result 0 of x, an expression without INDEX:
 * input 0 is the accumulator, input 1 + i is operand i; facts: what is known of them, or NULL. x
 * and the arena must outlive the emission; operands[] is copied. WK_UNSUPPORTED when x is none of
 * that or there are more operands than the kernels take. */
wk_status wk_expr_epilogue(wk_arena *a, const wk_expr *x, const wk_facts *facts,
                           const wk_cpu_operand *operands, int n_operands,
                           wk_cpu_epilogue *out) WK_MUST_CHECK;

#endif
