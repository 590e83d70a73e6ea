/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick compare`.
 *
 *   compare_parts.c    the targets' code for one part after the other
 *   compare_layers.c   within a part: the target's code for one instruction after the other
 *   compare_steps.c    a session's own steps, as they are in a package
 *   compare_passes.c   the evaluator's result after one compiler step after the other
 *   compare_ties.c     quantisations behind operators in floats
 *   isolate.c          one instruction as a program of its own */
#ifndef WICK_CLI_VERIFY_COMPARE_H
#define WICK_CLI_VERIFY_COMPARE_H

#include "cli/run.h"

typedef struct {
  wk_run_opts run; /* target: what is compared with the evaluator */
  const char *package; /* NULL: the model is compiled */
  bool passes;
  double rtol, atol; /* negative: not given */
} wk_compare_opts;

/* What was given, else what suits the class of the operator. */
wk_tolerance wk_compare_tolerance(const wk_compare_opts *o, wk_op op);

/* job: the model on the evaluator, with its inputs. WK_FAILED with an empty message when something
 * differs; what differs is printed. */
wk_status wk_compare_parts(const wk_compare_opts *o, const wk_run_job *job) WK_MUST_CHECK;
wk_status wk_compare_passes(const wk_compare_opts *o, const wk_run_job *job) WK_MUST_CHECK;
wk_status wk_compare_package(const wk_compare_opts *o, const wk_run_job *job) WK_MUST_CHECK;

typedef struct {
  const char *name;        /* "accel:tiny"; of the host "cpu" */
  size_t parts, different; /* parts that were run */
} wk_compare_target;

typedef struct {
  size_t layers, different;        /* instructions that were run on their own */
  size_t parts, parts_different;   /* parts that were run */
  bool is_whole;                   /* the host's one part is the model */
  wk_compare_target *targets;      /* n_targets, as --target has them */
  size_t n_targets;
  int64_t steps; /* elements off by a step of a quantisation behind an operator in floats */
} wk_compare_count;
/* Prints nothing. Targets and their names are in the arena of the job. */
wk_status wk_compare_count_parts(const wk_compare_opts *o, const wk_run_job *job,
                                 wk_compare_count *out) WK_MUST_CHECK;

/* One comparison under way. */
typedef struct {
  const wk_compare_opts *o;
  wk_arena *arena;
  bool quiet; /* nothing is printed */
  bool found; /* something that differs: what comes next differs "also" */
  const char *indent; /* of lines about instructions */
  wk_compare_count count;
} wk_comparison;

/* What the session's steps leave against what the evaluator computes under the same names of the
 * graph; `in`: of both. Adds to c->count.layers and different, steps that could be compared. where:
 * as below. */
wk_status wk_compare_steps(wk_comparison *c, wick_session *session, const wk_graph *g,
                           const char *where, const void *const *in) WK_MUST_CHECK;

/* A program for one target, instruction by instruction. It has been through all passes but those of
 * the target that the evaluator cannot run, and has no offsets. */
typedef struct wk_layers wk_layers;
/* where: what messages have in front of an instruction, "part 1 on cpu, ". c, p and where stay. */
wk_status wk_layers_new(wk_comparison *c, const wk_instance *t, const wk_program *p,
                        const char *where, wk_layers **out) WK_MUST_CHECK;
/* in, out: memory of the program's inputs and outputs; out receives what the evaluator computes. An
 * instruction counts once, however often it runs. */
wk_status wk_layers_run(wk_layers *l, const void *const *in, void *const *out) WK_MUST_CHECK;
void wk_layers_free(wk_layers *l); /* NULL ok */

/* What one step of the quantisation is worth in that result of the instruction, when an operator in
 * floats feeds it; 0: nothing may differ. is_alone: its operands are the evaluator's, so that an
 * operand which is quantised as it comes is none of these. */
double wk_compare_step(const wk_inst *i, uint32_t operand, bool is_alone);
/* The same in what the whole program leaves in a buffer, fed by an operator that it comes from. */
double wk_compare_output_step(const wk_program *p, uint32_t buffer);
/* The same in a value of a graph, whose steps run on what those before them left. */
double wk_compare_value_step(const wk_graph *g, wk_value_id v);
/* Elements of got that are a step off become what is wanted; how many these were. */
int64_t wk_compare_take_steps(wk_tensor *got, const wk_tensor *want, double step);
void wk_compare_print_steps(int64_t n); /* nothing when there are none */
/* Were tolerances given? Then they alone count. */
static inline bool wk_compare_is_given(const wk_compare_opts *o) {
  return o->rtol >= 0 || o->atol >= 0;
}

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
