/* SPDX-License-Identifier: Apache-2.0
 * Private to this folder: what makes an instruction's loops (inst_c.h), a function for each
 * operator. `out` has the dims of the first output and nothing else yet. */
#ifndef WICK_CGEN_INST_C_MAKE_H
#define WICK_CGEN_INST_C_MAKE_H

#include "compiler/cgen/inst_c.h"

typedef struct {
  const wk_inst *i;
  wk_arena *a;
  wk_inst_c *out;
} wk_loops;

/* k0, k1, … and p0, p1, … */
extern const char *const wk_inst_c_k[WK_MAX_RANK], *const wk_inst_c_p[WK_MAX_RANK];

/* False: there are no loops for such an instruction. */
bool wk_cgen_map(const wk_loops *m);
bool wk_cgen_copy(const wk_loops *m);
bool wk_cgen_fill(const wk_loops *m);
bool wk_cgen_reduce(const wk_loops *m);
bool wk_cgen_matmul(const wk_loops *m);
bool wk_cgen_conv(const wk_loops *m);
bool wk_cgen_conv_transpose(const wk_loops *m);
bool wk_cgen_max_pool(const wk_loops *m);
bool wk_cgen_avg_pool(const wk_loops *m);
bool wk_cgen_lp_pool(const wk_loops *m);
bool wk_cgen_unpool(const wk_loops *m);
bool wk_cgen_gather(const wk_loops *m);
bool wk_cgen_gather_elements(const wk_loops *m);
bool wk_cgen_gather_nd(const wk_loops *m);
bool wk_cgen_scatter_elements(const wk_loops *m);
bool wk_cgen_scatter_nd(const wk_loops *m);
bool wk_cgen_cum_sum(const wk_loops *m);
bool wk_cgen_top_k(const wk_loops *m);
bool wk_cgen_segment_reduce(const wk_loops *m);
bool wk_cgen_nest(const wk_loops *m);

/* Why not, of a node; NULL: there are loops for it. */
const char *wk_cgen_refuse_top_k(const wk_graph *g, const wk_node *n);

/* wk_inst_c_for from axis `first` on. */
void wk_cgen_for(wk_str *b, char letter, int first, int rank, const int64_t *dims);

/* ---- what they share ------------------------------------------------------------------------- */

const wk_view *wk_cgen_input(const wk_loops *m, uint32_t k);
uint32_t wk_cgen_inputs(const wk_loops *m);
/* Input k at the position of the output, whose axes its own end with. */
wk_inst_c_read wk_cgen_read(const wk_loops *m, uint32_t k);
wk_inst_c_read *wk_cgen_reads(const wk_loops *m, size_t n); /* room for n */
/* All inputs at the position of the output, as the reads of `end`. */
void wk_cgen_end_with_inputs(const wk_loops *m, const wk_expr *end);

wk_inst_c_position *wk_cgen_positions(const wk_loops *m, int64_t n); /* room for n */
/* The coordinates that lie along the last axis of input 1 at `row`, as positions along the axes of
 * input 0 from `first` on; returns how many. */
int wk_cgen_coordinates(const wk_loops *m, int first, const char *const *row);

typedef struct {
  const wk_ints *strides, *dilations, *pads;
} wk_cgen_window;
/* Positions of input 0 in the window of i at k along the spatial axes; returns the condition under
 * which they are in it extended by `margin` (begins, then ends; NULL: not at all). */
const char *wk_cgen_in_window(const wk_loops *m, const wk_cgen_window *w, const int64_t *margin,
                               const char **at);

/* Positions of input 0 whose window has position i at k; returns the condition under which there
 * are such. */
const char *wk_cgen_reached(const wk_loops *m, const wk_cgen_window *w, const char **at);

/* A constant of type t: what a fold of this kind begins with. */
const wk_expr *wk_cgen_neutral(const wk_loops *m, const char *kind, wk_dtype t);

uint16_t wk_expr_both(wk_expr_builder *b, uint16_t x, uint16_t y);   /* and */
uint16_t wk_expr_either(wk_expr_builder *b, uint16_t x, uint16_t y); /* or */
uint16_t wk_expr_negative(wk_expr_builder *b, uint16_t x);           /* i64 x < 0 */
/* x comes before y in descending order or in ascending order; NaN is the largest. */
uint16_t wk_expr_ahead(wk_expr_builder *b, bool descends, uint16_t x, uint16_t y);
uint16_t wk_expr_tie(wk_expr_builder *b, uint16_t x, uint16_t y); /* neither is ahead */
static inline const wk_expr *wk_expr_done(wk_expr_builder *b, uint16_t y) {
  return wk_expr_finish(b, &y, 1);
}

#endif
