/* SPDX-License-Identifier: Apache-2.0
 * Random scalar expressions. */
#ifndef WICK_TESTS_RANDOM_EXPR_H
#define WICK_TESTS_RANDOM_EXPR_H

#include "compiler/expr/expr.h"

/* The types of what they read; they also read index<1>(). */
enum { RANDOM_EXPR_INPUTS = 11, RANDOM_EXPR_RESULTS = 3 };
extern const wk_dtype random_expr_inputs[RANDOM_EXPR_INPUTS];

/* Up to `size` nodes, 1 to RANDOM_EXPR_RESULTS results. exact: only operations whose result does
 * not depend on a library of functions. */
wk_expr *random_expr(wk_arena *a, wk_rng *r, int size, bool exact);
bool random_expr_is_exact(wk_expr_op op);

#endif
