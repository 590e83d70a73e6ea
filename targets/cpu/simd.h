/* SPDX-License-Identifier: Apache-2.0
 * simd: the instruction sets that the CPU target emits for. One row of simd.def says how wide a
 * vector is, how many registers there are, which register tiles the matrix kernels use and which
 * instructions have to be asked for by name; code that emits kernels asks the row and never the
 * name. */
#ifndef WICK_CPU_SIMD_H
#define WICK_CPU_SIMD_H

#include "compiler/support/support.h"

#include <stdbool.h>
#include <stdint.h>

#define WK_CPU_MAX_NV 4 /* widest panel, in vectors */

/* Instructions that no operation of LLVM stands for. */
typedef enum {
  WK_SIMD_PAIRS,    /* i32 sums of two products of neighbouring i16 */
  WK_SIMD_QUADS,    /* adds up the products of four u8 and four i8 */
  WK_SIMD_PACK_I16, /* of two vectors of i32 */
  WK_SIMD_PACK_I8,  /* of two vectors of i16 */
  WK_SIMD_PACK_U8,
  WK_SIMD_SCALE,    /* x * 2^n of floats */
  WK_SIMD_INTRINSICS
} wk_simd_intrinsic;

typedef struct {
  const char *name;     /* "avx512-vnni", "avx512", "avx2", "x86-64", "aarch64" */
  const char *rare;     /* the row whose compiled C (rare/) this one links */
  const char *triple;   /* LLVM target triple of the emitted object */
  const char *cpu;      /* LLVM cpu whose instructions may be used */
  const char *tune;     /* LLVM cpu whose costs guide scheduling */
  const char *features; /* LLVM feature string on top of cpu ("" = none) */
  const char *needs;    /* what a machine must have, by the names of wick_cpu_has, with spaces */
  const char *vector_width;   /* value of the "prefer-vector-width" attribute */
  int lanes;                  /* floats in a vector */
  int registers;              /* vector registers */
  bool has_fma;               /* otherwise multiply, round, add */
  bool has_masks;             /* masked loads and stores are single instructions */
  const char *intrinsic[WK_SIMD_INTRINSICS]; /* LLVM's names; NULL: there is none */
  int nv_max;                 /* widest panel that the tile table holds */
  int mr[WK_CPU_MAX_NV + 1];  /* mr[v]: rows of the tile whose panel is v vectors wide */
  int mr8[WK_CPU_MAX_NV + 1]; /* the same for products of 8-bit integers */
  int64_t l1_bytes, l2_bytes; /* cache sizes that blocking assumes */
} wk_simd;

/* `name`: "native" (the best row that this machine runs), a row's name, or an LLVM cpu name of the
 * table (haswell, skylake-avx512, znver4, neoverse-n1, …). An unknown name is WK_USAGE with the
 * nearest known one in the message. *out is static storage. */
wk_status wk_simd_find(const char *name, const wk_simd **out) WK_MUST_CHECK;
/* Row `i` of the table, NULL past its end; rows go from the most to the least capable. */
const wk_simd *wk_simd_row(int i);
/* True when code for this row runs on this machine. */
bool wk_simd_runs_here(const wk_simd *simd);

#endif
