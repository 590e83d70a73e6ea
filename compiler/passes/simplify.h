/* SPDX-License-Identifier: Apache-2.0
 * Private to passes/: identities of operators that move or fold elements, part of `simplify`. */
#ifndef WICK_PASSES_SIMPLIFY_H
#define WICK_PASSES_SIMPLIFY_H

#include "compiler/passes/rewrite.h"

bool wk_simplify_movement(wk_rewrite *r, const wk_node *n);

#endif
