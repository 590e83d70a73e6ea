/* SPDX-License-Identifier: Apache-2.0
 * cut: how the rows of a product are cut into tiles: as planned, or, where a run says how many rows
 * there are, evenly into as few tiles as hold these. Private to this folder. */
#ifndef WICK_CPU_CUT_H
#define WICK_CPU_CUT_H

#include "targets/cpu/kernels/rows.h"

/* Tile i has base rows, and one more where i < taller; all of them exist, those from `live` on
 * (NULL: none) are not needed. */
typedef struct {
  wk_ssa tiles, base, taller, live;
} wk_cut;

wk_cut wk_cut_whole(wk_llvm *e, const wk_gemm_plan *p);
/* The first `live` rows, of as many as the plan is for at most. */
wk_cut wk_cut_of(wk_llvm *e, const wk_gemm_plan *p, wk_ssa live);

/* First row of a tile, its rows, and those of them that are needed. */
wk_ssa wk_cut_first(wk_llvm *e, const wk_cut *c, wk_ssa tile);
wk_ssa wk_cut_rows(wk_llvm *e, const wk_cut *c, wk_ssa tile);
wk_ssa wk_cut_live(wk_llvm *e, const wk_cut *c, wk_ssa tile);

/* The heights that there are code for where rows have a limit, rising. Those of wk_cut_of are among
 * them. Returns how many. */
enum { WK_CUT_HEIGHTS = 10 };
int wk_cut_heights(const wk_gemm_plan *p, int64_t heights[WK_CUT_HEIGHTS]);

/* n / by, rounded up. */
wk_ssa wk_cut_up(wk_llvm *e, wk_ssa n, int64_t by);

#endif
