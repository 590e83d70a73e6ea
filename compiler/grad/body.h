/* SPDX-License-Identifier: Apache-2.0
 * Private to grad/: bodies that run backwards. One is a copy of the forward body, which computes
 * its values once more, with the adjoints that wk_grad adds to it; then it gets the inputs and the
 * outputs of the node that it becomes the body of. */
#ifndef WICK_GRAD_BODY_H
#define WICK_GRAD_BODY_H

#include "compiler/grad/adjoint.h"

typedef struct {
  wk_low l;           /* builds in the copy, whose values have the ids of the original's */
  wk_value_id *seed;  /* per output: the new input that is its adjoint; WK_NONE: it has none */
  wk_value_id *dx;    /* per input: its adjoint; WK_NONE: 0, or not wanted */
} wk_body;

/* Copies and differentiates: seeded is per output of the body, wanted per input; both of floats. An
 * error is a's. */
void wk_body_begin(wk_adjoint *a, const wk_graph *forward, const bool *seeded, const bool *wanted,
                   wk_body *b);

/* live[v]: true for root and everything that it is computed from. */
void wk_body_mark(const wk_graph *g, wk_value_id root, bool *live);

/* Gives g these inputs and outputs, drops what no output is computed from, and normalises. Inputs
 * that are not listed must not be live. */
wk_status wk_body_end(wk_graph *g, const wk_value_id *in, size_t n_in, const wk_value_id *out,
                      size_t n_out) WK_MUST_CHECK;

#endif
