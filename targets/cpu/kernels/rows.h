/* SPDX-License-Identifier: Apache-2.0
 * rows: the parts of a product's driver that touch data before the tiles do: row pointers, padded
 * strips of the input, narrow floats made wide, run-time packing of B. Private to this folder. */
#ifndef WICK_CPU_ROWS_H
#define WICK_CPU_ROWS_H

#include "targets/cpu/kernels/gemm.h"

/* How a product is cut; scratch offsets in bytes. */
typedef struct {
  int64_t rows, tiles, base, taller; /* the first `taller` tiles have base + 1 rows; rows = max */
  int64_t blocks, block_tiles, groups, group_panels;
  int64_t k_blocks, k_step; /* k_step: taps of a block when taps > 1, otherwise elements */
  int64_t zero_at, atab_at, rowtab_at, part_at, pack_at, strip_at, wide_at, scratch_bytes;
  int64_t wide_row; /* WK_ROWS_PLAIN: bytes between rows as f32 in scratch; 0: they stay in place */
} wk_gemm_plan;

/* Adds "wk.rows.<id>": void(scratch, a, tile0, tile1, row0, row1), which fills the table of row
 * pointers of these tiles and rows (and the strip, and the tables of output row offsets, if any).
 * Where rows have a limit, base and taller of the cut (cut.h) follow, and the list where there is
 * one (wk_gemm.has_list). */
enum {
  WK_ROWS_SCRATCH,
  WK_ROWS_A,
  WK_ROWS_TILE0,
  WK_ROWS_TILE1,
  WK_ROWS_ROW0,
  WK_ROWS_ROW1,
  WK_ROWS_BASE,
  WK_ROWS_TALLER,
  WK_ROWS_LIST,
  WK_ROWS_ARGS
};
static inline int wk_rows_args(const wk_gemm *g) {
  return g->has_list ? WK_ROWS_ARGS : g->row_limit ? WK_ROWS_LIST : WK_ROWS_BASE;
}
wk_ssa wk_rows_codegen(wk_llvm *e, const wk_gemm *g, const wk_gemm_plan *p, const char *id);
/* Scratch that a strip for `rows` consecutive output rows may take. */
int64_t wk_strip_bytes(const wk_simd *simd, const wk_gemm *g, int64_t rows);

/* Fills `bytes` (rounded up to whole vectors) at p with a byte. */
void wk_fill_codegen(wk_llvm *e, wk_ssa p, wk_ssa bytes, int32_t byte);

/* void widen(src, dst, rows, src_step, dst_step): rows of n elements of type t (f16, bf16) as f32;
 * steps between rows in bytes. */
wk_ssa wk_widen_codegen(wk_llvm *e, wk_dtype t, int64_t n);

/* void pack(src, dst, words, stride, columns, k): one panel of nv vectors from a run-time B, its
 * heads before dst. Not transposed: columns are contiguous and `stride` is between k; transposed: k
 * is contiguous, `stride` is between columns, whole words are read. When `masked`, only `columns`
 * of the panel exist. k: elements; the last word of integers may hold fewer. Panels of floats are
 * f32. */
wk_ssa wk_pack_codegen(wk_llvm *e, const wk_cpu_types *t, int nv, bool masked, bool transposed);

#endif
