/* SPDX-License-Identifier: Apache-2.0
 * How `wick compile` shows what it found out. */
#ifndef WICK_CLI_COMPILE_H
#define WICK_CLI_COMPILE_H

#include "cli/text.h"
#include "compiler/compile/compile.h"

void wk_compile_summary(FILE *f, const wk_compilation *c);
/* A row of a summary: what a memory budget costs; none where there was no budget. */
void wk_remat_row(wk_table *t, const wk_remat_report *r);
/* --print-integer: every operator of quantised models, integer or not and why. */
void wk_compile_integers(FILE *f, const wk_compilation *c);
/* --print-parts: which target computes what, and why not another one. */
void wk_compile_parts(FILE *f, const wk_compilation *c);
void wk_compile_times(FILE *f, const wk_compilation *c);

#endif
