/* SPDX-License-Identifier: Apache-2.0
 * blocks: a product whose weights are whole numbers of few bits, in blocks along k that have a
 * scale, and maybe a zero point, each. What importing finds in a model and what --convert makes of
 * floats are one thing, and this is how it is computed. */
#ifndef WICK_LOWER_BLOCKS_H
#define WICK_LOWER_BLOCKS_H

#include "compiler/lower/build.h"

#define WK_BLOCK_COLUMNS 16 /* columns of the result that lie side by side */

/* Weights [n, k]: for a result of n columns, or a table of n rows. In memory they are cut into
 * tiles of `columns` times all of k, padded with zeros to whole tiles and blocks. Element i of a
 * word is at bit i * bits. What an element stands for: (element - zero point) * scale. */
typedef struct {
  int64_t n, k, block;  /* block: a multiple of the elements of a word */
  int64_t columns;      /* that lie side by side: WK_BLOCK_COLUMNS; 1 in a table */
  int bits;             /* 2, 4 or 8 */
  wk_value_id words;    /* wk_block_word(bits) [tiles, blocks, words of a block, columns] */
  wk_value_id scales;   /* floats [tiles, blocks, 1, columns] */
  wk_value_id zeros;    /* numbers [tiles, blocks, 1, columns]; WK_NONE: 1 << (bits - 1) each */
} wk_blocks;

wk_dtype wk_block_word(int bits);
int wk_block_per(int bits); /* elements of a word */
static inline int64_t wk_block_count(const wk_blocks *w) { return wk_ceil_div(w->k, w->block); }
static inline int64_t wk_block_tiles(const wk_blocks *w) { return wk_ceil_div(w->n, w->columns); }
/* Of the words, and of what there is one for each block of. */
wk_type wk_block_words_type(const wk_blocks *w);
wk_type wk_block_scales_type(const wk_blocks *w, wk_dtype t);

/* x f32 [rows, k] times the weights: f32 [rows, n]. */
wk_value_id wk_low_block_product(wk_low *l, wk_value_id x, const wk_blocks *w);
/* Rows of a table: f32 [dims of the indices, k]. */
wk_value_id wk_low_block_rows(wk_low *l, const wk_blocks *w, wk_value_id indices);

/* ---- floats as blocks ------------------------------------------------------------------------ */

/* Floats [n, k] in memory, steps in elements. */
typedef struct {
  const void *data;
  wk_dtype dtype;
  int64_t step_n, step_k;
} wk_block_floats;

/* Sums of squares. */
typedef struct { double error, all; } wk_block_error;

/* Writes words and scales (bf16), zeroed, for 4 or 8 bits, where every zero point is that of
 * WK_NONE. Scales are those of a few with which the largest element of a block is about as far as
 * elements go that has the least error; elements are rounded to nearest. False: a float is not
 * finite, or beyond 1e18 (in f16: 6e4). */
bool wk_block_encode(const wk_block_floats *from, const wk_blocks *w, void *words, uint16_t *scales,
                     wk_block_error *e);

#endif
