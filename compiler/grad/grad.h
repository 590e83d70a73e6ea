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

/* Adds what computes the derivatives to g, which is normalised (its nodes are in order) and is to
 * be normalised again; ids stay as they are until then. WK_UNSUPPORTED names the first operator on
 * a path from wrt to `of` that has no derivative, and why. */
wk_status wk_grad(wk_graph *g, const wk_grad_request *r) WK_MUST_CHECK;

/* How an operator is differentiated. */
typedef enum {
  WK_ADJOINT_EXPRESSION, /* by its definition and the derivatives of scalar operations */
  WK_ADJOINT_OWN,        /* by expressions of its own */
  WK_ADJOINT_STRAIGHT,   /* likewise, straight through its steps */
  WK_ADJOINT_RULE,       /* by a function that builds its adjoint */
  WK_ADJOINT_LOWER,      /* by those of its primitives */
  WK_ADJOINT_CONSTANT,   /* it is a function of reals, and constant almost everywhere: 0 */
  WK_ADJOINT_NO_PATH,    /* nothing leads from floats to floats: it has other results, or no
                            operands */
  WK_ADJOINT_NONE        /* not at all */
} wk_adjoint_kind;
/* *note: why not, or ""; static. Instructions have none. */
wk_adjoint_kind wk_adjoint_of(wk_op op, const char **note);
const char *wk_adjoint_kind_name(wk_adjoint_kind k);
/* It has a derivative, be it 0. */
static inline bool wk_adjoint_exists(wk_adjoint_kind k) {
  return k != WK_ADJOINT_NO_PATH && k != WK_ADJOINT_NONE;
}

/* ---- proof --------------------------------------------------------------------------------- */

/* A clone of m in which every float of 16 or 32 bits is one of 64: values, constants, what casts
 * and expressions say. Its constants are its own. WK_UNSUPPORTED: it reads the bits of a float,
 * or an operator takes f32 alone. */
wk_status wk_widen_floats(const wk_module *m, wk_module **out) WK_MUST_CHECK;

/* Adjoints against central differences, both in f64 (of a widened clone): of the sum of all float
 * outputs, or of one, weighted by random numbers. */
typedef struct {
  const char *of;          /* name of an output; NULL: all */
  const wk_tensor *inputs; /* parallel to the main graph's */
  uint64_t seed;
  int elements;            /* that are tried of each tensor, drawn by seed; all where there are no
                              more */
  const char *const *wrt;  /* n_wrt names of inputs and constants that are tried; NULL: all of
                              floats */
  size_t n_wrt;
} wk_grad_check_options;

/* What there is to say of one input, or of one constant that a node reads; in the order of wrt. */
typedef struct {
  const char *name;        /* in the report's arena */
  wk_type type;            /* as the model has it */
  int64_t tried;
  int64_t kinks;           /* of these, without a stable difference: jumps and kinks nearby */
  int64_t at;              /* the worst element; -1: none */
  double adjoint, difference, error; /* there; error as below */
} wk_grad_check_row;

typedef struct {
  wk_arena *arena;
  WK_VEC(wk_grad_check_row) rows;
  double worst; /* error of the worst row */
} wk_grad_check_report;

/* error = |adjoint - difference| / max(|adjoint|, |difference|), where that exceeds what rounding
 * of the outputs explains; else 0. Both derivatives of two step widths are extrapolated. */
wk_status wk_grad_check(const wk_module *m, const wk_grad_check_options *o,
                        wk_grad_check_report *report) WK_MUST_CHECK;
void wk_grad_check_free(wk_grad_check_report *r);

#endif
