/* SPDX-License-Identifier: Apache-2.0
 * expr_c: scalar expressions as C text, for targets that generate C or OpenCL C 1.2 (rank 1). The
 * text is the same for both: what differs between them is behind macros of the prelude, which comes
 * once at the head of a file. C needs <math.h> and <stdint.h> (the prelude includes them) and a
 * compiler that keeps to IEEE 754: no -ffast-math, no contraction (-ffp-contract=off; OpenCL: the
 * prelude turns it off). f64 in OpenCL needs cl_khr_fp64. Pointers to tensors are WK_GLOBAL: to
 * __global memory in OpenCL C, without a word in C.
 *
 * Results are those of wk_expr_eval bit for bit, but for NaNs, which stay NaNs, and for what the
 * functions of <math.h> from exp to erf, and pow, round differently. On OpenCL devices that divide,
 * take roots or treat subnormal numbers as their profile allows these may differ, too. */
#ifndef WICK_CGEN_EXPR_C_H
#define WICK_CGEN_EXPR_C_H

#include "compiler/expr/expr.h"

/* The C type of an element in memory, which the prelude declares: "wk_f32", "wk_u8". f16 and bf16
 * are their 16 bits, bool is one byte. */
const char *wk_expr_c_type(wk_dtype t);

/* Appends types and helper functions, all of them static and named wk_…. */
void wk_expr_c_prelude(wk_str *b);

/* What stands around an expression. */
typedef struct {
  const char *name;          /* base of the names that are declared */
  const char *indent;        /* begins each line; NULL: nothing */
  const char *const *inputs; /* input k as a C expression of the type in memory; evaluated once */
  const char *const *index;  /* position along axis k; NULL: no INDEX nodes */
} wk_expr_c;

/* Declarations, a line each, that end with one for each result r: `const wk_f32 NAMEr = …;`, of the
 * type in memory. Temporaries are NAME_0, NAME_1, … */
void wk_expr_c_print(wk_str *b, const wk_expr *e, const wk_expr_c *c);

#endif
