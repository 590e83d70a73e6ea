/* SPDX-License-Identifier: Apache-2.0
 * ml: what the operators of ai.onnx.ml share (ml_score.c). Where their specification leaves a
 * choice, ONNX Runtime's is meant. */
#ifndef WICK_ONNX_DOMAINS_ML_H
#define WICK_ONNX_DOMAINS_ML_H

#include "compiler/onnx/import/make.h"

typedef enum {
  WK_ML_NONE,
  WK_ML_SOFTMAX,
  WK_ML_LOGISTIC,
  WK_ML_SOFTMAX_ZERO,
  WK_ML_PROBIT
} wk_ml_transform;

/* Numbers of attribute `name`, a list of floats, or of the tensor `name`_as_tensor; n is -1 when
 * both are absent. */
wk_floats wk_ml_floats(wk_onnx_node *c, const char *name);
/* Numbers of the tensor attribute `name`, whose element type *t receives. */
wk_floats wk_ml_tensor(wk_onnx_node *c, const char *name, wk_dtype *t);

/* Attribute post_transform, a text. */
wk_ml_transform wk_ml_post_transform(wk_onnx_node *c);
/* Of scores [n, k]. One column alone is never transformed but by PROBIT. */
wk_value_id wk_ml_transform_emit(wk_onnx_node *c, wk_ml_transform t, wk_value_id scores);

/* How two columns come from the score s [n, 1] of the second of two classes. LOGISTIC makes them of
 * -s and s; no other transform is applied. */
typedef enum {
  WK_ML_COMPLEMENT, /* 1 - s, s */
  WK_ML_OPPOSITE    /* -s, s */
} wk_ml_second;
wk_value_id wk_ml_second_emit(wk_onnx_node *c, wk_ml_second how, wk_ml_transform t, wk_value_id s);

/* Probabilities of classes, [n, classes], from those of the first of each two classes, [n, pairs]
 * in the order 0-1, 0-2 … 1-2 …, all above 0 and below 1 (ml_couple.c). */
wk_value_id wk_ml_couple(wk_onnx_node *c, wk_value_id pairs, int64_t classes);

/* Loops (ml_loop.c). False, with a refusal: so many graphs within graphs are too many. */
bool wk_ml_loop_fits(wk_onnx_node *c, int levels);
/* A graph for a body, in which *inner makes nodes; returns its first input, the number of the
 * iteration (i64). The caller adds further inputs and outputs and latches inner->status. */
wk_value_id wk_ml_loop_body(wk_onnx_node *c, wk_onnx_node *inner);
/* The loop, without slices. in: the condition or WK_NONE, the states, what the body reads besides;
 * out receives the states. */
void wk_ml_loop_add(wk_onnx_node *c, wk_graph *body, int64_t trip, const wk_value_id *in,
                    uint32_t n_in, int64_t n_state, wk_value_id *out);

/* x as rows [n, features]: a vector is one row. Integers become f32. */
wk_value_id wk_ml_rows(wk_onnx_node *c, wk_value_id x);

/* The labels of classes: attribute `ints` or `strings`. */
typedef struct {
  int64_t n;
  wk_ints ints;     /* n -1: strings */
  wk_texts strings;
} wk_ml_labels;
bool wk_ml_labels_read(wk_onnx_node *c, const char *ints, const char *strings, wk_ml_labels *out);
/* Labels of classes [n] as the result of output 0: numbers, or classes with their names. */
void wk_ml_labels_result(wk_onnx_node *c, const wk_ml_labels *labels, wk_value_id classes);

#endif
