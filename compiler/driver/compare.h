/* SPDX-License-Identifier: Apache-2.0
 * Private to driver/: the parts of `wick compare`.
 *
 *   compare_layers.c   the target's code for one instruction after the other
 *   compare_passes.c   the evaluator's result after one compiler step after the other
 *   isolate.c          one instruction as a program of its own */
#ifndef WICK_DRIVER_COMPARE_H
#define WICK_DRIVER_COMPARE_H

#include "compiler/driver/run.h"

typedef struct {
  wk_run_opts run; /* target: what is compared with the evaluator */
  bool passes;
  double rtol, atol; /* negative: not given */
} wk_compare_opts;

/* What was given, else what suits the class of the operator. */
wk_tolerance wk_compare_tolerance(const wk_compare_opts *o, wk_op op);

/* job: the model on the evaluator, with its inputs. WK_FAILED with an empty message when something
 * differs; what differs is printed. */
wk_status wk_compare_layers(const wk_compare_opts *o, const wk_run_job *job) WK_MUST_CHECK;
wk_status wk_compare_passes(const wk_compare_opts *o, const wk_run_job *job) WK_MUST_CHECK;

/* Prints nothing; counts the instructions that were run, and those whose result differs. */
typedef struct { size_t layers, different; } wk_compare_count;
wk_status wk_compare_count_layers(const wk_compare_opts *o, const wk_run_job *job,
                                  wk_compare_count *out) WK_MUST_CHECK;

/* An instruction of a program alone. What it reads are inputs, what it writes are outputs that
 * begin as copies of further inputs, so that what it leaves alone is there to be seen; all are
 * bytes. */
typedef struct {
  uint32_t buffer; /* of the original program */
  bool before;     /* an input that holds a written buffer's contents before */
} wk_isolated_input;

typedef struct {
  wk_program *program;
  WK_VEC(wk_isolated_input) inputs; /* per program input */
  WK_VEC(uint32_t) outputs;         /* per program output: buffer of the original */
} wk_isolated;

/* Constants stay those of p. */
wk_status wk_isolate(const wk_program *p, const wk_inst *inst, wk_isolated *out) WK_MUST_CHECK;
void wk_isolated_free(wk_isolated *x);

#endif
