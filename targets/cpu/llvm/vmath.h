/* SPDX-License-Identifier: Apache-2.0
 * vmath: transcendental functions as vector code without calls out of the module.
 *
 * Accuracy against the exact value, in units of the last place:
 *   f32  exp, log, tanh, erf at most 2; all others are computed in f64 and rounded once
 *   f64  at most 4, but pow: relative error at most 1e-13; fmod and mod are exact
 * Subnormal arguments and results, infinities and NaN are as in C. sin, cos and tan hold to that
 * for |x| <= 1e6 (1e15 where the instruction set has fused multiply-add); beyond, sin and cos stay
 * bounded but mean nothing. */
#ifndef WICK_CPU_VMATH_H
#define WICK_CPU_VMATH_H

#include "compiler/expr/expr.h"
#include "targets/cpu/llvm/vector.h"

/* True for EXP … ERF, MOD, FMOD and POW of floats. */
bool wk_vmath_has(wk_expr_op op);
/* a, b: vectors of v->real (b for MOD, FMOD and POW). exp, log, tanh and erf of floats are emitted
 * in place, everything else as a call of an internal function of the module. */
wk_ssa wk_vmath_codegen(const wk_lanes *v, wk_expr_op op, wk_ssa a, wk_ssa b);

/* Private to vmath*.c: the bodies over f64 vectors. */
wk_ssa wk_vmath_fmod64(const wk_lanes *v, wk_ssa p, wk_ssa q);
typedef wk_ssa (*wk_vmath_body)(const wk_lanes *v, wk_ssa a, wk_ssa b);
wk_vmath_body wk_vmath_body64(wk_expr_op op);

#endif
