/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/kernels/cut.h"

wk_ssa wk_cut_up(wk_llvm *e, wk_ssa n, int64_t by) {
  return wk_llvm_div(e, wk_llvm_add(e, n, wk_llvm_int(e, by - 1)), by);
}

wk_cut wk_cut_whole(wk_llvm *e, const wk_gemm_plan *p) {
  return (wk_cut){.tiles = wk_llvm_int(e, p->tiles),
                  .base = wk_llvm_int(e, p->base),
                  .taller = wk_llvm_int(e, p->taller)};
}

/* Short ones all, of the others what wastes a quarter at most: each is compiled. */
int wk_cut_heights(const wk_gemm_plan *p, int64_t heights[WK_CUT_HEIGHTS]) {
  enum { SHORT = 6 };
  int n = 0;
  for (int64_t h = 1; h <= p->rows; h++) {
    bool is_step = h <= SHORT || h % 4 == 0;
    if (!is_step && h != p->base && h != p->rows) continue;
    if (n == WK_CUT_HEIGHTS) WK_BUG("a tile of more rows than heights are listed for");
    heights[n++] = h;
  }
  return n;
}

/* The least height of at least `rows`. */
static wk_ssa height_of(wk_llvm *e, const wk_gemm_plan *p, wk_ssa rows) {
  int64_t heights[WK_CUT_HEIGHTS];
  int n = wk_cut_heights(p, heights);
  wk_ssa h = wk_llvm_int(e, heights[n - 1]);
  for (int i = n - 1; i-- > 0;)
    h = wk_llvm_select(e, wk_llvm_lt(e, rows, wk_llvm_int(e, heights[i] + 1)),
                       wk_llvm_int(e, heights[i]), h);
  return h;
}

/* With fewer tiles than the whole has, all of them fit its rows at any height: (tiles - 1) x the
 * register tile's rows < m. With as many they are cut as the whole is. */
wk_cut wk_cut_of(wk_llvm *e, const wk_gemm_plan *p, wk_ssa live) {
  wk_cut all = wk_cut_whole(e, p);
  wk_ssa zero = wk_llvm_int(e, 0), one = wk_llvm_int(e, 1);
  wk_ssa tiles = wk_cut_up(e, live, p->rows);
  wk_ssa some = wk_llvm_select(e, wk_llvm_lt(e, tiles, one), one, tiles);
  wk_ssa each = LLVMBuildUDiv(e->b, wk_llvm_sub(e, wk_llvm_add(e, live, some), one), some, "");
  wk_ssa is_short = wk_llvm_lt(e, tiles, all.tiles);
  return (wk_cut){.tiles = tiles,
                  .base = wk_llvm_select(e, is_short, height_of(e, p, each), all.base),
                  .taller = wk_llvm_select(e, is_short, zero, all.taller),
                  .live = live};
}

wk_ssa wk_cut_first(wk_llvm *e, const wk_cut *c, wk_ssa tile) {
  bool is_even = LLVMIsAConstantInt(c->taller) && LLVMConstIntGetZExtValue(c->taller) == 0;
  wk_ssa extra = is_even ? c->taller : wk_llvm_min(e, tile, c->taller);
  wk_ssa first = LLVMIsAConstantInt(c->base)
                     ? wk_llvm_mul(e, tile, LLVMConstIntGetSExtValue(c->base))
                     : LLVMBuildMul(e->b, tile, c->base, "");
  return wk_llvm_add(e, first, extra);
}

wk_ssa wk_cut_rows(wk_llvm *e, const wk_cut *c, wk_ssa tile) {
  wk_ssa is_tall = wk_llvm_lt(e, tile, c->taller);
  return wk_llvm_add(e, c->base, LLVMBuildZExt(e->b, is_tall, e->i64, ""));
}

wk_ssa wk_cut_live(wk_llvm *e, const wk_cut *c, wk_ssa tile) {
  return wk_llvm_min(e, wk_cut_rows(e, c, tile), wk_llvm_sub(e, c->live, wk_cut_first(e, c, tile)));
}
