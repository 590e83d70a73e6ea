/* SPDX-License-Identifier: Apache-2.0
 * Private to adapt*.c: rules that rewrite a graph of integers into one that the machine runs
 * better, with the same results (wk_rule of passes/rewrite.h). */
#ifndef WICK_ACCEL_ADAPT_H
#define WICK_ACCEL_ADAPT_H

#include "compiler/passes/rewrite.h"

/* Splits, and gathers of one index, as slices; slices of what is reshaped or transposed: of what it
 * was before. */
bool wk_accel_cut_first(wk_rewrite *r, wk_node_id id, const wk_node *n);
/* Products with constant matrices of which slices of columns are read. r->c->data: the machine. */
bool wk_accel_part_columns(wk_rewrite *r, wk_node_id id, const wk_node *n);
/* Products of a stack of matrices as one with a constant matrix. r->c->data: the machine. */
bool wk_accel_keep_stacks(wk_rewrite *r, wk_node_id id, const wk_node *n);
/* Products whose right operand repeats its matrices. */
bool wk_accel_share_heads(wk_rewrite *r, wk_node_id id, const wk_node *n);
/* Attention over a cache, for every so many keys. c->data: the step, an int64_t; 0: for all keys
 * alone. */
wk_status wk_accel_take_filled(wk_graph *g, wk_pass_ctx *c) WK_MUST_CHECK;
/* Maxima of large windows: of columns of maxima of rows. */
bool wk_accel_part_windows(wk_rewrite *r, wk_node_id id, const wk_node *n);

/* Images whose rows are long beside the scratchpad, in pieces of their width: all of them, or those
 * alone that would have no room. c->data: the machine. */
wk_status wk_accel_part_width(wk_graph *g, wk_pass_ctx *c) WK_MUST_CHECK;
wk_status wk_accel_make_room(wk_graph *g, wk_pass_ctx *c) WK_MUST_CHECK;

/* x [n,g,k,…] as [n,k,g,…]; reshapes around it join the two axes. */
typedef struct {
  wk_value_id x;
  int64_t groups, each;
} wk_accel_shuffle;
/* The shuffle that ends with this reshape; false: it is none. */
bool wk_accel_shuffle_of(const wk_rewrite *r, const wk_node *joined, wk_accel_shuffle *s);
/* Resizing to the nearest pixel, depth to space, space to depth. */
bool wk_accel_move_pixels(wk_rewrite *r, wk_node_id id, const wk_node *n);
/* Shuffles of channels beside a convolution: in its weights. */
bool wk_accel_turn_weights(wk_rewrite *r, wk_node_id id, const wk_node *n);
/* Convolutions of blocks of pixels: of the pixels. r->c->data: the machine. */
bool wk_accel_widen_windows(wk_rewrite *r, wk_node_id id, const wk_node *n);

#endif
