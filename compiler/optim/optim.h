/* SPDX-License-Identifier: Apache-2.0
 * optim: losses and optimisers, tables of expressions (losses.def, optimizers.def), and what builds
 * them into a graph. ONNX's operators of the same names and training use this one definition. */
#ifndef WICK_OPTIM_H
#define WICK_OPTIM_H

#include "compiler/ir/graph.h"

/* ---- losses ---------------------------------------------------------------------------------- */

typedef enum {
#define LOSS(e, name, target, scores, element, metric_name, metric, doc) WK_LOSS_##e,
#include "compiler/optim/losses.def"
#undef LOSS
  WK_LOSS_COUNT
} wk_loss_kind;

typedef enum { WK_TARGET_CLASSES, WK_TARGET_SAME } wk_target_kind;
typedef enum { WK_SCORES_PLAIN, WK_SCORES_LOG_SOFTMAX } wk_scores_kind;

typedef struct {
  const char *name;
  wk_target_kind target;
  wk_scores_kind scores;
  const char *element, *metric_name, *metric, *doc;
} wk_loss;
const wk_loss *wk_loss_get(wk_loss_kind k);

typedef enum { WK_REDUCTION_MEAN, WK_REDUCTION_SUM, WK_REDUCTION_NONE } wk_reduction;

/* With weights the mean is that of the weighted elements by the sum of their weights; ignored
 * samples have weight 0. */
typedef struct {
  wk_loss_kind kind;
  const char *name; /* of the nodes */
  wk_reduction reduction;
  wk_value_id prediction, target; /* CLASSES: target of i32 or i64 */
  wk_value_id weights; /* CLASSES: [c], of the prediction's dtype; WK_NONE: all 1 */
  bool has_ignored;    /* CLASSES: samples of class `ignored` do not count */
  int64_t ignored;
} wk_loss_desc;

/* The type that a target has to have for this prediction; WK_INPUT when no target fits it: CLASSES
 * needs an axis of classes, all of them elements of floats. */
wk_status wk_loss_target(wk_loss_kind k, const wk_type *prediction, wk_type *out) WK_MUST_CHECK;
/* *loss: a scalar, or a tensor of elements; *scores (may be NULL): what the prediction became.
 * WK_INPUT when the operands do not fit. */
wk_status wk_loss_build(wk_graph *g, const wk_loss_desc *d, wk_value_id *loss,
                        wk_value_id *scores) WK_MUST_CHECK;
/* The loss' metric, f32, reduced as the loss is; WK_NONE: it has none. */
wk_status wk_metric_build(wk_graph *g, const wk_loss_desc *d, wk_value_id *out) WK_MUST_CHECK;

/* ---- optimisers ------------------------------------------------------------------------------ */

#define WK_HYPERS(X)                                                                              \
  X(rate) X(momentum) X(dampening) X(beta1) X(beta2) X(epsilon) X(weight_decay) X(rate_decay)     \
  X(shrink)
typedef struct {
#define X(name) double name;
  WK_HYPERS(X)
#undef X
} wk_hypers;

typedef enum {
#define OPTIMIZER(e, name, decay, states, factors, texts, update, doc, ...) WK_OPTIMIZER_##e,
#include "compiler/optim/optimizers.def"
#undef OPTIMIZER
  WK_OPTIMIZER_COUNT
} wk_optimizer_kind;

typedef enum { WK_DECAY_L2, WK_DECAY_APART } wk_decay_kind;
enum { WK_OPTIMIZER_STATES = 2, WK_OPTIMIZER_FACTORS = 3 }; /* at most */

typedef struct {
  const char *name;
  wk_decay_kind decay;
  const char *states, *factors, *texts, *update, *doc;
  wk_hypers defaults;
} wk_optimizer;
const wk_optimizer *wk_optimizer_get(wk_optimizer_kind k);
int wk_optimizer_states(wk_optimizer_kind k);

/* The factors of a step, scalars of dtype t (f32 or f64): one `map`. rate: one float; step: one
 * integer or float, 1 in the first step. */
wk_status wk_factors_build(wk_graph *g, const char *name, wk_optimizer_kind k, const wk_hypers *h,
                           wk_value_id rate, wk_value_id step, wk_dtype t,
                           wk_value_id out[WK_OPTIMIZER_FACTORS]) WK_MUST_CHECK;

/* One step of one weight: one `map`. All of the weight's shape; states have the dtype in which the
 * weight is computed (wk_compute_dtype), and so have the factors. */
typedef struct {
  wk_optimizer_kind kind;
  const char *name; /* of the node */
  const wk_hypers *hypers;
  wk_value_id weight, gradient;
  const wk_value_id *states, *factors;
  wk_value_id apply; /* a scalar of bool: where it is false nothing changes; WK_NONE: always */
} wk_update_desc;
/* new_states: of the optimiser's number. */
wk_status wk_optimizer_build(wk_graph *g, const wk_update_desc *d, wk_value_id *new_weight,
                             wk_value_id *new_states) WK_MUST_CHECK;

#endif
