/* SPDX-License-Identifier: Apache-2.0
 * grad: reverse-mode differentiation, graph to graph (rank 3.2). Runs before any fusion.
 *
 * What an operator's adjoint is stands in adjoints.def; elementwise operators have theirs by the
 * derivatives in expr.def. Adjoints are ordinary nodes of the same graph, named "grad(NODE)", and
 * have the type of the value that they belong to. */
#ifndef WICK_GRAD_H
#define WICK_GRAD_H

#include "compiler/ir/ir.h"

/* Sum over i of <seed[i], of[i]> differentiated with respect to each of wrt, values of any kind. */
typedef struct {
  size_t n_of, n_wrt;
  wk_value_id *of;         /* of float types. An operator that is differentiated by way of its
                              primitives is replaced by them: of and wrt are told the new values */
  const wk_value_id *seed; /* of the types of `of`; NULL, or WK_NONE: ones */
  wk_value_id *wrt;
  wk_value_id *out;        /* n_wrt results; WK_NONE: 0, nothing depends on it differentiably */
} wk_grad_request;

/* Adds what computes the derivatives to g, which is normalised (its nodes are in order) and is to be
 * normalised again; ids stay as they are until then. WK_UNSUPPORTED names the first operator on a
 * path from wrt to `of` that has no derivative, and why. */
wk_status wk_grad(wk_graph *g, const wk_grad_request *r) WK_MUST_CHECK;

/* How an operator is differentiated. */
typedef enum {
  WK_ADJOINT_EXPRESSION, /* by its definition and the derivatives of scalar operations */
  WK_ADJOINT_OWN,        /* by expressions of its own */
  WK_ADJOINT_RULE,       /* by a function that builds its adjoint */
  WK_ADJOINT_LOWER,      /* by those of its primitives */
  WK_ADJOINT_ZERO,       /* it is constant almost everywhere, or has no floats */
  WK_ADJOINT_NONE        /* not at all */
} wk_adjoint_kind;
/* *note: why not, or ""; static. Instructions have none. */
wk_adjoint_kind wk_adjoint_of(wk_op op, const char **note);
const char *wk_adjoint_kind_name(wk_adjoint_kind k);

#endif
