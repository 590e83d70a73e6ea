/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick test`.
 *
 *   test_case.c   one model folder: import, compile, run, compare
 *   test_outputs.c  how each output is to be compared
 *   test_labels.c  outputs of strings
 *   test_layers.c   how far the layers of a quantised model agree when its outputs do not
 *   test_jobs.c   many folders, in processes of their own
 *   test_junit.c  the results as JUnit XML */
#ifndef WICK_CLI_VERIFY_TEST_CASE_H
#define WICK_CLI_VERIFY_TEST_CASE_H

#include "cli/test_data.h"
#include "compiler/pipeline/runner.h"

typedef struct {
  wk_target_args target;
  int64_t threads;
  wk_tolerance tolerance;
  bool is_default;        /* no tolerance was asked for */
  double mean_steps, max_steps; /* by default, outputs of quantised tensors are compared in steps */
  int64_t random_weights; /* seed, -1: the model's own weights and the stored outputs */
  int64_t jobs;           /* processes at a time; 0: everything in this process */
  int64_t timeout;        /* seconds for each case */
  bool strict_opset;      /* as in wk_import_options */
} wk_test_options;

typedef enum { WK_TEST_PASSED, WK_TEST_FAILED, WK_TEST_SKIPPED } wk_verdict;

typedef struct {
  const char *dir, *name;
  wk_verdict verdict;
  char *text;     /* why it failed or was skipped, one line; of a case that passed the inputs whose
                   * values decide sizes, NULL where there are none; malloc'ed */
  char *note;     /* what the user should know about its import; malloc'ed; NULL: nothing */
  double seconds;
} wk_test_case;

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct {
  bool is_random;  /* depends on a random operator: dtype and shape count */
  bool is_dynamic; /* depends on a quantisation whose scale is computed at run time */
  double step;     /* of the quantised tensor that it is the real value of; 0: none */
} wk_test_output;
/* Per output of the model; malloc'ed. */
wk_test_output *wk_test_outputs(const wk_module *m);

/* Outputs of one shape whose elements have labels; WK_FAILED: the labels differ. */
wk_status wk_test_labelled(const wk_test_set *s, const wk_labels *l, const wk_tensor *got,
                           const wk_tensor *want) WK_MUST_CHECK;

/* The graph as imported has nodes that quantise or dequantise. */
bool wk_test_is_quantised(const wk_module *real);

/* Adds a clause on the layers of a quantised model, each fed alike: with integer operators (m)
 * against the graph as imported (real), and the target's instructions against the evaluator's. */
wk_status wk_test_layers(const wk_test_options *o, const wk_module *real, const wk_module *m,
                         wk_tensor *in, wk_str *text) WK_MUST_CHECK;

typedef void (*wk_test_done)(void *ctx, const wk_test_case *c);

/* Fills verdict, seconds, text and note. When a quantised model has failed, `found` (NULL: nobody)
 * is called with them, and then the text grows by how far the model's layers agree. That may take
 * far longer than the case itself. */
void wk_test_case_run(const wk_test_options *o, wk_test_case *c, wk_test_done found, void *ctx);

/* Runs all cases; `done` is called for each in order. */
wk_status wk_test_jobs_run(const wk_test_options *o, wk_test_case *cases, size_t n,
                           wk_test_done done, void *ctx) WK_MUST_CHECK;

void wk_test_junit_write(FILE *f, const wk_test_case *cases, size_t n);

#endif
