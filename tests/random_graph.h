/* SPDX-License-Identifier: Apache-2.0
 * Random valid graphs from a seed, drawn from the operator table: every node is checked by
 * inference and evaluated while the graph grows, so that what comes out computes on numbers of
 * ordinary size and is not sensitive to rounding (a graph on which two right programs may differ
 * tests nothing). Failing graphs are shrunk by random_reduce. */
#ifndef WICK_TESTS_RANDOM_GRAPH_H
#define WICK_TESTS_RANDOM_GRAPH_H

#include "compiler/eval/eval.h"

/* Of n graphs, how many a run draws: all, a third under sanitizers, which are many times slower. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define RANDOM_COUNT(n) (((n) + 2) / 3)
#else
#define RANDOM_COUNT(n) (n)
#endif

typedef struct {
  int nodes;         /* draws; about this many nodes */
  bool floats_only;  /* no integer tensors but indices */
  wk_op only;        /* WK_OP_COUNT: any; else every draw that is no operand is of this operator */
  bool no_motifs;    /* no patterns of several nodes */
} random_options;

/* The same seed and options give the same graph. */
wk_module *random_graph(uint64_t seed, const random_options *o);
/* The data that the inputs of a drawn graph were drawn with (it follows from their names): what has
 * been removed from the graph since does not matter. */
wk_tensor *random_inputs(const wk_graph *g);
void random_tensors_free(wk_tensor *t, size_t n); /* and the array */

/* Comparison of all outputs; on a difference `text` says where. */
bool random_same(const wk_graph *g, const wk_tensor *got, const wk_tensor *want, wk_str *text);

/* What m is compared with: its results by other means; a status is a failure, too. */
typedef wk_status (*random_run)(void *ctx, const wk_module *m, const wk_tensor *in, wk_tensor *out);
/* True when `run` fails or gives other results than the evaluator; `text`, emptied first, says
 * what. A graph that the evaluator refuses, as shrinking may make one, does not differ. */
bool random_differs(const wk_module *m, random_run run, void *ctx, wk_str *text);

/* Shrinks while fails(ctx, m) holds: outputs, then nodes (their users read an operand of the same
 * type or a fresh input instead), then unused inputs are taken away. Returns the smallest module
 * found, which shares the constants of `from`: free it first. */
typedef bool (*random_check)(void *ctx, const wk_module *m);
wk_module *random_reduce(const wk_module *from, random_check fails, void *ctx);

#endif
