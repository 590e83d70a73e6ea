/* SPDX-License-Identifier: Apache-2.0
 * eval: the reference semantics of every graph operator and every instruction (rank 2). Plain and
 * obviously right first, reasonably fast second (ResNet-50 in seconds): the oracle of every test,
 * the constant folder, and the target `eval`. Contractions and float sums accumulate in f64. */
#ifndef WICK_EVAL_H
#define WICK_EVAL_H

#include "compiler/ir/ir.h"

/* One node. in[i].data NULL = input left out. out[i].type is set by the caller (from inference) and
 * out[i].data points to zeroed storage of that size, or NULL when that output is not wanted. Body
 * graphs of IF and LOOP are evaluated through wk_eval_graph. */
typedef struct {
  const wk_node *node;
  const wk_graph *graph;
  const wk_tensor *in;
  wk_tensor *out;
} wk_eval_node_args;
wk_status wk_eval_node(const wk_eval_node_args *a) WK_MUST_CHECK;

/* Called after each node with its outputs (dump, profile, layer-by-layer comparison); what it
 * writes into their data is what later nodes read. A status returned ends the evaluation. depth
 * 0 = main graph. */
typedef wk_status (*wk_eval_hook)(void *ctx, const wk_graph *g, const wk_node *n,
                                  const wk_tensor *in, const wk_tensor *out, int depth);

/* Evaluates a graph: inputs parallel to g->inputs (types must match), outputs parallel to
 * g->outputs; the data of outputs is malloc'ed (wk_tensor_free). Intermediates are freed at their
 * last use. A variable whose input has no data (of any type) has what it begins with. No input is
 * written: what a variable becomes is the output that is its update. */
wk_status wk_eval_graph(const wk_graph *g, const wk_tensor *inputs, wk_tensor *outputs,
                        wk_eval_hook hook, void *ctx) WK_MUST_CHECK;

/* Runs a placed or unplaced program: inputs/outputs are caller's memory (io order of the program),
 * behind them the states: what they hold before (NULL: what they begin with) and where to put what
 * they hold in the end (NULL: nowhere). Buffers that are not placed get storage of their own, so do
 * states; the other placed ones share one arena per region, filled with 0xAA bytes first so that
 * reads of memory never written show. */
typedef wk_status (*wk_eval_inst_hook)(void *ctx, const wk_program *p, const wk_inst *i,
                                       void *const *bases);
wk_status wk_eval_program(const wk_program *p, const void *const *inputs, void *const *outputs,
                          wk_eval_inst_hook hook, void *ctx) WK_MUST_CHECK;
/* The same; results that limits of instructions leave out (wk_limit) become NaN, or bytes of 0xAA,
 * after each of them, so that it shows if anything uses them. */
wk_status wk_eval_program_poisoned(const wk_program *p, const void *const *inputs,
                                   void *const *outputs) WK_MUST_CHECK;
/* One instruction on memory: bases[b] is the address of buffer b. */
wk_status wk_eval_inst(const wk_program *p, const wk_inst *inst, void *const *bases,
                       int64_t iteration)
    WK_MUST_CHECK;

/* Counter-based random numbers (philox4x32-10): the block for element index / 4, word index % 4. */
uint32_t wk_philox(uint64_t seed, uint64_t index);

/* What evaluating the node takes, in elements that are read and multiplied, bodies times their
 * trips. Saturates. */
int64_t wk_eval_work(const wk_graph *g, const wk_node *n);

/* Dequantisation, and conversion of elements of 4 bits or fewer: before the passes such weights
 * stay as they are, for the integer operators that take them and for pack-constants. */
bool wk_eval_widens(const wk_graph *g, const wk_node *n);
/* True when every input of the node is a constant (and it is not random and has no bodies with
 * run-time state): its outputs can be computed now. */
bool wk_eval_is_foldable(const wk_graph *g, const wk_node *n);
/* Computes a node all of whose inputs are constants and replaces its outputs by constants of the
 * graph (names kept). budget: largest total output size in bytes that is folded; the module's
 * budgets are kept to as well. *folded says what happened. */
wk_status wk_eval_fold(wk_graph *g, wk_node_id n, int64_t budget, bool *folded) WK_MUST_CHECK;

/* Comparison of tensors: |got-want| <= rtol*|want| + max(atol, scale*max|want|); NaN equals NaN;
 * ints and bools exact. Fills the worst element. */
typedef struct { double rtol, atol, scale; } wk_tolerance; /* default 1e-3, 1e-7, 1e-5 */
typedef struct {
  bool equal;           /* within tolerance everywhere */
  int64_t mismatches, worst; /* count; flat index of the worst element (-1: none) */
  double got, want, max_abs, max_rel;
} wk_diff;
wk_diff wk_tensor_diff(const wk_tensor *got, const wk_tensor *want, const wk_tolerance *tol);

#endif
