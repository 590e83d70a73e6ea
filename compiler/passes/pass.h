/* SPDX-License-Identifier: Apache-2.0
 * For passes/ and integer/: the pass functions and what they share. */
#ifndef WICK_PASSES_PASS_H
#define WICK_PASSES_PASS_H

#include "compiler/passes/passes.h"

#define PASS(name, fn, stages, doc) wk_status wk_pass_##fn(wk_graph *g, wk_pass_ctx *c);
#include "compiler/passes/passes.def"
#undef PASS

/* wk_def, when it has this operator. */
wk_node *wk_def_op(const wk_graph *g, wk_value_id v, wk_op op);
/* The value has exactly one use, and that is by a node. */
bool wk_single_use(const wk_uses *u, wk_value_id v);
/* A constant all of whose elements have the same bits (0.0 and -0.0 differ): its value. That is
 * rounded for 64-bit integers: beyond 2^53, compare what the constant holds. */
bool wk_const_splat(const wk_graph *g, wk_value_id v, double *value);
/* Adds a node with default name handling; the new node takes the name of `like`. */
wk_status wk_add_like(wk_graph *g, const wk_node *like, wk_op op, void *attrs,
                      const wk_value_id *in, uint32_t n_in, wk_value_id *out) WK_MUST_CHECK;

#endif
