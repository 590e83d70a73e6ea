/* SPDX-License-Identifier: Apache-2.0
 * Parts of the program verifier; private to compiler/ir. */
#ifndef WICK_IR_PROGRAM_CHECK_H
#define WICK_IR_PROGRAM_CHECK_H

#include "compiler/ir/program.h"

/* How many operands and bodies the row has, their dims and dtypes, the attributes' expressions.
 * Every view of the instruction has been found well-formed before. */
wk_status wk_inst_check_operands(const wk_inst *i) WK_MUST_CHECK;

/* wk_view_disjoint in every iteration of a loop of `trip` iterations. */
bool wk_view_disjoint_in_loop(const wk_view *a, const wk_view *b, int64_t trip);

/* A status that names the instruction. */
#define BAD_INST(i, ...) wk_inst_bad((i), __FILE__, __LINE__, __VA_ARGS__)
wk_status wk_inst_bad(const wk_inst *i, const char *file, int line, const char *fmt, ...)
    WK_PRINTF(4, 5) WK_MUST_CHECK;

#endif
