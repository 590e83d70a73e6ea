/* SPDX-License-Identifier: Apache-2.0
 * gemm: what convolution and matmul have in common, private to this folder. Rows of A are given by
 * pointers (one per row and tap), B lies in panels of nv vectors: [panel][heads + taps * kc][nv *
 * lanes] words. A word is one float or four 8-bit integers, neighbours along k (dot.h). Rows of A
 * that are f16 or bf16 become floats in scratch, once for all panels of a task. */
#ifndef WICK_CPU_GEMM_H
#define WICK_CPU_GEMM_H

#include "targets/cpu/kernels/dot.h"

/* Where a product has B: in panels; to be packed into panels as it is needed; or read where it
 * lies, once, for few rows: rows of neighbouring columns, or columns of neighbouring k. */
typedef enum { WK_B_PANELS, WK_B_TO_PACK, WK_B_ROWS, WK_B_COLUMNS } wk_b_place;

/* ---- register tile --------------------------------------------------------------------------- */

typedef struct {
  int rows, nv;
  bool blocked;   /* takes partial sums in and out */
  bool masked;    /* the last vector has `lanes` valid columns */
  bool row_table; /* row offsets of y and the operands come from tables of int64 bytes */
  bool own_heads; /* heads are of each block of k by itself */
  bool by_k;      /* a pointer for each k instead of each row, whose rows are neighbours */
  wk_b_place b;   /* ROWS, COLUMNS: one tap; COLUMNS: one vector, k in whole vectors */
  int64_t b_step; /* bytes, of ROWS between values of k, of COLUMNS between columns */
  int64_t k;      /* COLUMNS: values of k */
  wk_cpu_types types;
  const wk_cpu_epilogue *epi;
} wk_tile_key;

/* Arguments of a tile kernel, in order. Present always: */
enum {
  WK_TILE_ATAB, /* ptr to row pointers: [tap][row], a tap is `ASTEP` bytes further; by_k: to one
                   for each of KC words, and TAPS, ASTEP are ignored */
  WK_TILE_TAPS,
  WK_TILE_ASTEP,
  WK_TILE_AOFF, /* bytes added to every row pointer */
  WK_TILE_KC,   /* words per tap */
  WK_TILE_B,    /* the first block of k: after the heads; ROWS, COLUMNS: the first column */
  WK_TILE_PF, /* memory to bring into level 2 meanwhile, 32 bytes per k; NULL: A's rows of the
                 next tile, whose row pointers are ANEXT bytes after these */
  WK_TILE_ANEXT, /* by_k: bytes per k from PF on, one line of each */
  WK_TILE_PART,  /* partial sums [rows][nv * lanes]; ignored unless blocked */
  WK_TILE_FLAGS, /* 1: start from the partial sums; 2: stop at partial sums */
  WK_TILE_LANES, /* valid columns of the last vector; ignored unless masked */
  WK_TILE_Y,     /* ptr to y at the tile's first column (and row, unless row_table) */
  WK_TILE_LDY,   /* i64 bytes between rows, or ptr to the table */
  WK_TILE_OPS    /* then a (ptr, i64 or ptr) pair like (Y, LDY) per operand */
};
#define WK_TILE_MAX_ARGS (WK_TILE_OPS + 2 * WK_CPU_MAX_OPERANDS)

wk_ssa wk_tile_codegen(wk_llvm *e, const wk_tile_key *key);
/* tile_columns.c: adds to the sums of each row, a vector of columns, those of B's columns from `b`
 * on; `lanes` are valid (NULL: all), others repeat the last. */
enum { WK_COLUMNS_ROWS = 6 };
void wk_columns_codegen(wk_llvm *e, const wk_tile_key *key, const wk_ssa *a, wk_ssa b, wk_ssa lanes,
                        wk_ssa *acc);
/* Identity of an epilogue as text of at most 63 characters. */
void wk_epilogue_name(const wk_cpu_epilogue *epi, char out[64]);
/* Types as text. */
#define WK_TYPES_NAME 16
const char *wk_types_name(const wk_cpu_types *t, char out[WK_TYPES_NAME]);
/* A vector of an operand of the epilogue: from `at` on, or the value there in every lane. */
wk_ssa wk_operand_load(wk_llvm *e, const wk_cpu_operand *o, wk_ssa at, wk_ssa mask);
/* True when the operand has the same value in every row. */
bool wk_operand_is_row_invariant(const wk_cpu_operand *o);

/* ---- panels ---------------------------------------------------------------------------------- */

typedef struct {
  int nv, nv_tail; /* vectors of a panel and of the last, narrower one (0 = none) */
  int64_t panels;  /* full panels */
  int64_t columns; /* padded columns: (panels * nv + nv_tail) * lanes */
} wk_panels;
wk_panels wk_panels_choose(const wk_simd *simd, const wk_cpu_types *t, int64_t n);
/* Rows of the tile whose panel is `nv` vectors wide. */
int wk_tile_rows(const wk_simd *simd, const wk_cpu_types *t, int nv);
/* Bytes of all panels, k in words. */
int64_t wk_panels_bytes(const wk_simd *simd, const wk_cpu_types *t, wk_panels p, int64_t k);
/* Packs b[k][j] (element strides) into panels; padding (columns, ends of words) is zero. */
void wk_panels_pack(const wk_simd *simd, const wk_cpu_types *t, wk_panels p, int64_t k, int64_t n,
                    const void *b, int64_t k_stride, int64_t n_stride, void *out);
/* The same for a convolution's weights, k = (r * kw + s) * cin/group + i with whole words for each
 * tap, one panel set per group. */
void wk_panels_pack_conv(const wk_simd *simd, wk_panels p, const wk_cpu_conv_desc *d, const void *w,
                         const int64_t w_stride[4], void *out);

/* What packing does to floats (kernels.h: wk_cpu_conv_pieces). */
int wk_panels_pieces(const wk_simd *simd, wk_panels p, const wk_cpu_conv_desc *d,
                     wk_cpu_conv_piece out[WK_CPU_CONV_PIECES]);

/* Sums of the positive and of the negative weights of each of n packed 8-bit columns. */
void wk_panels_reach(const wk_simd *simd, const wk_cpu_types *t, wk_panels p, int64_t k, int64_t n,
                     const void *packed, int64_t (*reach)[2]);

/* ---- driver ---------------------------------------------------------------------------------- */

typedef enum { WK_ROWS_PLAIN, WK_ROWS_CONV, WK_ROWS_STRIP } wk_rows_kind;

/* A batch of products; all strides in bytes, kc in words. Zero the whole struct first (it is
 * hashed). */
typedef struct {
  int64_t batch[2], m, n, taps, kc;
  int64_t a_batch[2], b_batch[2], y_batch[2], op_batch[WK_CPU_MAX_OPERANDS][2];
  wk_rows_kind rows;
  int64_t a_row;         /* WK_ROWS_PLAIN */
  wk_cpu_conv_desc conv; /* WK_ROWS_CONV, WK_ROWS_STRIP: geometry; x_stride in elements */
  int64_t cin;           /* channels that a row reads: cin / group */
  int64_t pixel;         /* bytes of that many, in whole words */
  bool row_table;        /* output rows have no single stride */
  int64_t y_row, op_row[WK_CPU_MAX_OPERANDS];
  wk_b_place b;
  int64_t b_k, b_n, k; /* of B that is in no panels yet: byte strides; k elements */
  wk_panels panels;
  wk_cpu_types types; /* in memory; of narrow floats tiles read A, and a B packed here, as f32 */
  /* Limits: 0: all; else which of the i64s behind the operands, from 1 on, says how many. */
  int row_limit, column_limit, fold_limit; /* fold: with one tap, words of one element */
  int64_t limit_rows; /* rows for each unit of row_limit */
  const wk_cpu_epilogue *epi;
} wk_gemm;

wk_status wk_gemm_codegen(wk_llvm *e, const wk_gemm *g, wk_cpu_kernel *out) WK_MUST_CHECK;

#endif
