/* SPDX-License-Identifier: Apache-2.0
 * integer: what a quantised model means (rank 3). Real operators between dequantisation and
 * quantisation become the integer operators that compiler/ir/quant.h defines. */
#ifndef WICK_INTEGER_H
#define WICK_INTEGER_H

#include "compiler/ir/graph.h"

/* Quantised graphs (real operators between dequantisation and quantisation) become integer graphs,
 * as compiler/ir/quant.h defines them. No optimisation but part of what a quantised model means, so
 * it comes before evaluation and before the passes. `changes`: rewrites. */
wk_status wk_integer_convert(wk_module *m, int64_t *changes) WK_MUST_CHECK;

/* What became of an operator of a converted graph. Strings live in the module and the arena. */
typedef struct {
  const char *node, *op;
  bool is_integer;
  const char *reason; /* why not; NULL: there is nothing to say */
} wk_integer_row;
/* Rows for every operator that computes; none for a module without quantisation. */
size_t wk_integer_rows(const wk_module *m, wk_arena *a, wk_integer_row **out);

#endif
