/* SPDX-License-Identifier: Apache-2.0
 * lower: graph to program (rank 3).
 *   1. wk_lower_nodes     every GRAPH operator becomes primitives (BOTH rows) and views (reshape,
 *                         transpose, slice, expand, concat, split, pad)
 *   2. (graph passes on primitives, layout, order)
 *   3. wk_generate        primitives become instructions, views become strides or copies
 *   4. wk_inst_passes     instruction passes, listed in inst_passes.c */
#ifndef WICK_LOWER_H
#define WICK_LOWER_H

#include "compiler/eval/eval.h"
#include "compiler/memory/memory.h"
#include "compiler/target/target.h"

/* A target may claim operators (it keeps them): claims(op) true = leave as it is. May be NULL. */
wk_status wk_lower_nodes(wk_module *m, const wk_target *t) WK_MUST_CHECK;

/* Chooses the memory order of every value (wk_value.order). */
wk_status wk_layout_assign(wk_module *m, const wk_target *t) WK_MUST_CHECK;

/* Program of m->main: buffers for every value that needs one, views for the rest; copies are
 * counted. All memory of the program is its own, except constant data, which stays the module's. */
wk_status wk_generate(const wk_module *m, wk_program **out) WK_MUST_CHECK;

typedef struct {
  const char *name;
  wk_status (*run)(wk_program *p, wk_arena *scratch, int64_t *changes);
  const char *doc;
} wk_inst_pass;
extern const wk_inst_pass wk_inst_passes[];
extern const size_t wk_inst_passes_count;

#endif
