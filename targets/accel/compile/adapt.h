/* SPDX-License-Identifier: Apache-2.0
 * Private to adapt*.c: rules that rewrite a graph of integers into one that the machine runs
 * better, with the same results (wk_rule of passes/rewrite.h). */
#ifndef WICK_ACCEL_ADAPT_H
#define WICK_ACCEL_ADAPT_H

#include "compiler/passes/rewrite.h"

/* Products whose right operand repeats its matrices. */
bool wk_accel_share_heads(wk_rewrite *r, wk_node_id id, const wk_node *n);

#endif
