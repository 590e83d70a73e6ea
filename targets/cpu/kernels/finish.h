/* SPDX-License-Identifier: Apache-2.0
 * finish: accumulators go through the epilogue to memory. Private to this folder. */
#ifndef WICK_CPU_FINISH_H
#define WICK_CPU_FINISH_H

#include "targets/cpu/kernels/kernels.h"

/* Vectors of an output tile: `nv` neighbours along the columns of one row, then the next row. */
typedef struct {
  wk_llvm *e;
  const wk_cpu_epilogue *epi;
  wk_dtype type; /* of the output */
  int n, nv;
  bool is_laced; /* the vectors of a row are laced (dot.h), 2 or 4 */
  const wk_ssa *acc;
  wk_ssa mask; /* of the last vector of each row; NULL: none */
  /* Address of the first column of a row (i64) in the output (operand -1) or in an operand. */
  wk_ssa (*address)(void *ctx, int operand, wk_ssa row);
  void *ctx;
} wk_finish;

/* What the accumulators of each row start from, nv vectors; epi->has_start. */
void wk_finish_start(const wk_finish *f, wk_ssa *out);
/* Leaves the builder where all of it is done. */
void wk_finish_codegen(const wk_finish *f);

#endif
