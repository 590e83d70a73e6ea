/* SPDX-License-Identifier: Apache-2.0
 * train: the graph of one training step, made of the graph of a model. */
#ifndef WICK_TRAIN_STEP_H
#define WICK_TRAIN_STEP_H

#include "compiler/onnx/onnx.h"
#include "compiler/optim/optim.h"

typedef struct {
  const char *output; /* of the model: what the loss is of, or */
  bool is_loss;       /* what is the loss itself: the mean of its elements */
  wk_loss_kind loss;
  wk_optimizer_kind optimizer;
  wk_hypers hypers;   /* rate aside, which is an input */
  double clip_norm;   /* gradients are scaled so that their common norm does not exceed it; 0: no */
  bool has_norm;      /* there is an output of the gradients' norm; with clip_norm always */
  int64_t accumulate; /* batches whose mean gradient makes a step; 1: each */
} wk_step_options;

/* What lives from step to step, variables of the module: a weight, a state of the optimiser, a
 * statistic. */
typedef struct {
  const char *name;
  wk_type type;
  wk_dtype stored;   /* what the file has it as: weights of f16 and bf16 are trained as f32, and the
                      * model computes with their roundings */
  bool is_weight;    /* of the model, and trained */
  bool is_statistic; /* of the model, and moved */
} wk_step_variable;

#define WK_STEP_NONE SIZE_MAX
typedef struct {
  wk_arena *arena;
  WK_VEC(wk_step_variable) variables;
  /* Positions among the inputs, behind the model's; WK_STEP_NONE: the step has no such one. Their
   * names are these, behind as many "train." as keep them apart from the model's. */
  size_t labels; /* wk_loss_target says of what type */
  size_t rate;   /* f64 */
  size_t step;   /* i64, 1 in the first step */
  size_t key;    /* i64, another one in each batch */
  size_t apply;  /* bool: this batch ends the step; accumulate > 1 */
  /* Positions among the outputs. */
  size_t loss;   /* a scalar: f64 if what it is of is, else f32 */
  size_t metric; /* f32, a scalar */
  size_t valid;  /* bool: loss and gradients are finite; WK_STEP_NONE in an evaluation */
  size_t norm;   /* f32 or f64, a scalar: the common norm of the gradients that make the step (with
                  * accumulate, of those so far), before it is limited */
  bool waits;    /* weights and the optimiser's states change only in runs that are valid */
  const char *labels_name; /* of that input; NULL: there is none */
  int64_t classes; /* that labels are of; 0: they are no classes */
  WK_VEC(const char *) idle; /* chosen weights that the loss does not depend on */
} wk_step;

/* m: imported for training; becomes the step. report: of its import. weights: names of the
 * initialisers to train. When the loss of a run is no finite number, no variable changes. When an
 * element of a gradient is none (with accumulate, of their sum), `valid` says so, and what it
 * updates is none either; with clip_norm no weight and no state of the optimiser changes then, and
 * with accumulate their sums are 0 again once the step has ended. Where the model has values of f16
 * the gradients are computed of a multiple of the loss; when one is not finite no weight changes,
 * the multiple is halved, and the run stays valid as long as it can be.
 * WK_UNSUPPORTED: a gradient has no path, or nothing is to be trained. */
wk_status wk_step_build(wk_module *m, const wk_import_report *report, const wk_step_options *o,
                        const char *const *weights, size_t n, wk_step *out) WK_MUST_CHECK;
/* m: imported for evaluation; becomes the evaluation of the variables of `step` that it reads:
 * outputs are loss and metric, as elements (of dims[0] samples), or the loss as is_loss has it. */
wk_status wk_step_evaluation(wk_module *m, const wk_step *step, const wk_step_options *o,
                             wk_step *out) WK_MUST_CHECK;
/* m: imported for evaluation; weights and statistics become the variables of `step`. */
wk_status wk_step_inference(wk_module *m, const wk_step *step) WK_MUST_CHECK;
void wk_step_free(wk_step *s);

/* The initialisers that are trained unless the user says otherwise: floats of rank 1 and more. What
 * is a constant by its operand, its contents or its use is none of them, and marked in the report.
 * In the arena of the report. */
typedef WK_VEC(const char *) wk_weight_names;
void wk_step_weights(const wk_module *m, wk_import_report *report, wk_weight_names *out);

#endif
