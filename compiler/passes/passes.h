/* SPDX-License-Identifier: Apache-2.0
 * passes: graph in, graph out, one pass per file, listed in passes.def (rank 3). */
#ifndef WICK_PASSES_H
#define WICK_PASSES_H

#include "compiler/eval/eval.h"
#include "compiler/target/owners.h"

/* Name of the node that gives an output of which only some rows are asked for: where(asked, y, 0).
 * A pass may let more rows through. */
#define WK_NEEDED_NODE "--needed"

typedef struct {
  wk_owners *owners; /* who has which node, whose fuses() is asked; NULL: every fusion is fine */
  wk_arena *scratch; /* reset by the pass manager after each graph */
  int64_t changes;   /* the pass adds how many rewrites it made */
  const void *data;  /* the pass's own */
} wk_pass_ctx;

/* Runs on one graph (bodies are visited by the manager, innermost first). The graph is normalised
 * and, in every build, verified after each pass that changed something. */
typedef wk_status (*wk_pass_fn)(wk_graph *g, wk_pass_ctx *c);

/* Where a pass runs: on imported graphs, or on graphs of primitives after lowering. A pass may be
 * in both. Passes of a stage run in the table's order, again and again until nothing changes (at
 * most 8 rounds). */
typedef enum { WK_STAGE_GRAPH = 1, WK_STAGE_PRIMITIVE = 2 } wk_stage;

typedef struct {
  const char *name; /* "fold-constants" */
  wk_pass_fn run;
  unsigned stages;  /* bit set of wk_stage */
  const char *doc;
  const void *data; /* for whom it runs, as the pass knows it; else NULL */
} wk_pass;

extern const wk_pass wk_passes[];
extern const size_t wk_passes_count;
const wk_pass *wk_pass_find(const char *name);

/* Called after every pass that ran on the module (`changes` of this run). A status ends the
 * pipeline. */
typedef wk_status (*wk_pass_hook)(void *ctx, const wk_pass *p, const wk_module *m, int64_t changes,
                                  double seconds);
wk_status wk_passes_run(wk_module *m, wk_stage stage, wk_owners *owners, wk_pass_hook hook,
                        void *ctx) WK_MUST_CHECK;
/* Values of f32 become f16 or bf16 (`to`), constants with them, where the operator takes that;
 * inputs and outputs of graphs keep their types. Finite constants beyond the range of `to` become
 * its largest number, those that would become 0 its least. `changes` grows by the nodes. */
wk_status wk_convert_floats(wk_module *m, wk_dtype to, int64_t *changes) WK_MUST_CHECK;
/* What a mask takes away at least: exp(-64) is 2^-92. */
#define WK_MASK_FAR (-64)
/* Masks that are added to scores before a softmax (0, or far below 0, as -10000, -3.4e38 and -inf
 * are) as choices: softmax(where(taken away, -FLT_MAX, scores)). Such a softmax has an integer
 * form, whatever the mask is when the model runs. A constant bias in which some numbers are far
 * below all others is a bias and a mask. A mask that is computed is one by its last steps: 1 - m,
 * or m - 1, by 1000 or more, a choice, a mask where a bool holds; an input of the model is none. */
wk_status wk_choose_masks(wk_module *m, int64_t *changes) WK_MUST_CHECK;
wk_status wk_pass_run_one(wk_module *m, const wk_pass *p, wk_owners *owners,
                          int64_t *changes) WK_MUST_CHECK;

#endif
