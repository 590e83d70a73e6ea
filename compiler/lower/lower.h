/* SPDX-License-Identifier: Apache-2.0
 * lower: graph to program (rank 3).
 *   1. wk_lower_nodes     every GRAPH operator that nobody claims becomes primitives (BOTH rows)
 *                         and views (reshape, transpose, slice, expand, concat, split, pad)
 *   2. (graph passes on primitives, layout, order)
 *   3. wk_generate        primitives become instructions, views become strides or copies
 *   4. wk_inst_passes     instruction passes, listed in inst_passes.c */
#ifndef WICK_LOWER_H
#define WICK_LOWER_H

#include "compiler/eval/eval.h"
#include "compiler/memory/memory.h"

/* True: node n of g stays as it is. Asked once about every node that lowering would replace, in
 * order; n is gone when more is added to g. */
typedef bool (*wk_claims)(void *ctx, const wk_graph *g, const wk_node *n);
/* claims NULL: nothing stays. What stays is no primitive: whoever claims a node takes it out before
 * wk_generate. */
wk_status wk_lower_nodes(wk_module *m, wk_claims claims, void *ctx) WK_MUST_CHECK;

/* One node that is no primitive and no view: primitives at the end of the graph take its place with
 * all who use it, so the graph is to be normalised. out[i]: the new value of output i; WK_NONE: it
 * has none. */
wk_status wk_lower_node(wk_graph *g, wk_node_id n, wk_value_id *out) WK_MUST_CHECK;

/* What became of the weights of a product, or of a table. Strings live in the module. */
typedef struct {
  const char *node, *weights;
  bool is_table;
  double error;       /* relative: root of sum of squares of what is lost by that of all */
  int64_t was, bytes; /* of the floats; of numbers and scales */
} wk_block_row;

typedef struct {
  WK_VEC(wk_block_row) rows; /* of each constant */
  int64_t products, tables;  /* that read them */
  double error;              /* of all, relative */
  int64_t was, bytes;
} wk_block_report;
void wk_block_report_free(wk_block_report *r);

/* Constant matrices of floats that products multiply by, and tables that rows are gathered from,
 * become whole numbers of `bits` (4 or 8) in blocks of `block` (a power of two from 16 on) along k,
 * with a scale of bf16 each; the other operands and results keep their types. What would not become
 * much smaller stays, and so does what is not finite. `changes` grows by the nodes. */
wk_status wk_convert_blocks(wk_module *m, int bits, int64_t block, wk_block_report *r,
                            int64_t *changes) WK_MUST_CHECK;

/* Chooses the memory order of every value (wk_value.order); convolutions write channels last if
 * that is wished for. */
wk_status wk_layout_assign(wk_module *m, bool channels_last) WK_MUST_CHECK;

/* Program of m->main: buffers for every value that needs one, views for the rest; copies are
 * counted. All memory of the program is its own, except constant data, which stays the module's.
 * rows_from: from so many multiply-accumulates on a product goes by limits with rows (wk_limit),
 * and what is around it, and other instructions list these; 0: none does.
 * WK_UNSUPPORTED: a node has a predicate, and instructions have none. */
wk_status wk_generate(const wk_module *m, int64_t rows_from, wk_program **out) WK_MUST_CHECK;
/* Inputs and outputs alone, for a target that works on the graph. */
wk_status wk_generate_frame(const wk_module *m, wk_program **out) WK_MUST_CHECK;

typedef struct {
  const char *name;
  wk_status (*run)(wk_program *p, wk_arena *scratch, int64_t *changes);
  const char *doc;
} wk_inst_pass;
extern const wk_inst_pass wk_inst_passes[];
extern const size_t wk_inst_passes_count;

/* Chains of reduce and map become nests, run row by row with their rows in SCRATCH: for targets
 * whose threads have caches or whose groups have memory. */
wk_status wk_inst_dead_stores(wk_program *p, wk_arena *scratch, int64_t *changes) WK_MUST_CHECK;
wk_status wk_inst_fuse_nests(wk_program *p, wk_arena *scratch, int64_t *changes) WK_MUST_CHECK;

#endif
