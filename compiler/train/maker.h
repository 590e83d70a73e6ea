/* SPDX-License-Identifier: Apache-2.0
 * Private to train/: a step that is being made.
 *
 *   step.c    loss, gradients, updates, all of it
 *   master.c  weights of 16 bits, which are trained in f32
 *   scale.c   the factor of gradients that f16 would round to 0 */
#ifndef WICK_TRAIN_MAKER_H
#define WICK_TRAIN_MAKER_H

#include "compiler/lower/build.h"
#include "compiler/train/step.h"

typedef struct {
  wk_low l; /* its status is the builder's */
  wk_graph *g;
  const wk_step_options *o;
  wk_step *s;
  WK_VEC(wk_value_id) weights, gradients; /* those that have one */
  WK_VEC(wk_dtype) stored;                /* what the file has these weights as */
  WK_VEC(wk_value_id) sums;               /* of their gradients in earlier batches */
  wk_value_id rate, step, loss;
  wk_value_id ends;   /* a scalar of bool: this batch ends the step; WK_NONE: each does */
  wk_value_id goes;   /* the loss is a finite number: variables change */
  wk_value_id finite; /* all gradients are */
  wk_value_id valid;  /* the run can go on */
  wk_value_id apply;  /* weights change */
  wk_value_id scale, good; /* scale.c; WK_NONE: gradients are what they are */
} wk_step_maker;

/* A variable that the model has not, NAME.ROLE, which begins with `first` everywhere. */
wk_value_id wk_step_state(wk_step_maker *k, const char *name, const char *role, const wk_type *t,
                          double first);
/* Variable v becomes next in runs for which `when` is true. */
void wk_step_update(wk_step_maker *k, wk_value_id when, wk_value_id v, wk_value_id next);

/* The constant of this name, WK_NONE: there is none. One of f16 or bf16 becomes one of f32, and
 * what reads it reads its rounding; the graph is to be normalised then. *stored: its type before.
 */
wk_status wk_master_open(wk_graph *g, const char *name, wk_dtype *stored,
                         wk_value_id *out) WK_MUST_CHECK;
/* True: v is a weight whose elements wk_master_open widens. */
static inline bool wk_is_halves(wk_dtype t) { return t == WK_F16 || t == WK_BF16; }

/* Opens the scale where a value of the graph is of f16, before gradients are asked for. */
void wk_scale_open(wk_step_maker *k);
/* Divides the gradients, which are of loss times scale. */
void wk_scale_undo(wk_step_maker *k);
/* What the scale is in the next step, once k->finite is known. */
void wk_scale_update(wk_step_maker *k);
/* The step may be without effect as long as the scale can be smaller. */
wk_value_id wk_scale_can_shrink(wk_step_maker *k);

#endif
