/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick grad`.
 *
 *   cmd_grad.c     options, the graph, the proof
 *   grad_leaves.c  the model, what is differentiated with respect to */
#ifndef WICK_CLI_FIT_GRAD_H
#define WICK_CLI_FIT_GRAD_H

#include "cli/run.h"

typedef struct {
  wk_binding_args binding;
  const char *of, *output;
  wk_strings wrt, input;
  int emit;
  int64_t seed, elements;
  double tolerance;
  bool check, weights, verbose;
} wk_grad_opts;

/* A tensor of the file: an input, an initialiser, or what a Constant holds. */
typedef struct {
  const char *name;
  wk_type type;
  wk_value_id value; /* of the main graph; WK_NONE: nothing there reads it */
  wk_value_id out;   /* its derivative, once there is one; WK_NONE: 0 */
  bool is_read;      /* the graph is as it is because of its value, of which no derivative tells */
} wk_grad_leaf;

typedef struct {
  wk_module *m;
  wk_arena *arena;
  wk_run_job job;          /* the files of --input */
  wk_import_report report; /* of the import */
  WK_VEC(wk_grad_leaf) leaves;
  WK_VEC(wk_value_id) of;
} wk_grad_job;

/* Imports the model with the shapes of the files of --input. */
wk_status wk_grad_open(wk_grad_job *d, const wk_grad_opts *o, const char *path) WK_MUST_CHECK;
void wk_grad_close(wk_grad_job *d);
/* Those of floats that --wrt names; without it all inputs, and all initialisers, or what Constants
 * hold where there are none. WK_USAGE: nothing has a name that it gives. */
wk_status wk_grad_choose(wk_grad_job *d, const wk_grad_opts *o) WK_MUST_CHECK;
/* For each input of the graph what a file gives, or else random numbers; in: zeroed, to be freed
 * by the caller. */
wk_status wk_grad_inputs(wk_grad_job *d, const wk_grad_opts *o, wk_tensor *in) WK_MUST_CHECK;

#endif
