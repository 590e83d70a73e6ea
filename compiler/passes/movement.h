/* SPDX-License-Identifier: Apache-2.0
 * Private to passes/: the two halves of `merge-movement`, and what others ask of movement. */
#ifndef WICK_PASSES_MOVEMENT_H
#define WICK_PASSES_MOVEMENT_H

#include "compiler/passes/rewrite.h"

/* A range of a value along every axis, in steps of 1. */
typedef struct {
  wk_value_id x;
  int64_t starts[WK_MAX_RANK], sizes[WK_MAX_RANK];
} wk_piece;
/* v as a piece of what it is cut from: itself when it is cut from nothing (merge_concat.c). */
wk_piece wk_piece_of(const wk_rewrite *r, wk_value_id v);

/* concat, split and slice of each other (merge_concat.c). */
bool wk_merge_concat(wk_rewrite *r, const wk_node *n);
bool wk_merge_split(wk_rewrite *r, const wk_node *n);
bool wk_merge_slice(wk_rewrite *r, const wk_node *n);

/* Moves transposes and reshapes across elementwise operators where fewer remain
 * (sink_movement.c). */
wk_status wk_sink_movement(wk_graph *g, wk_pass_ctx *c) WK_MUST_CHECK;

/* y dims[i] = x dims[perm[i]]: x of that type keeps its row-major elements in place. */
bool wk_perm_is_reshape(const wk_type *x, const int64_t *perm);

#endif
