/* SPDX-License-Identifier: Apache-2.0
 * Private to grad/: the rows of adjoints.def. */
#ifndef WICK_GRAD_TABLE_H
#define WICK_GRAD_TABLE_H

#include "compiler/grad/adjoint.h"

typedef struct {
  wk_adjoint_kind kind;
  wk_adjoint_fn rule;  /* RULE, EXPRESSION */
  const char *text[3]; /* OWN, STRAIGHT */
  const char *note;    /* never NULL */
} wk_adjoint_row;
const wk_adjoint_row *wk_adjoint_row_of(wk_op op);

#endif
