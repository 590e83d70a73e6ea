/* SPDX-License-Identifier: Apache-2.0
 * Optimiser steps of ai.onnx.preview.training. Inputs are R (rate), T (step number), then the
 * tensors X, then as many gradients G, then the accumulated values; outputs are the new ones in
 * that order. */
#include <string.h>

#include "compiler/onnx/make.h"
#include "compiler/onnx/handlers.h"

#define FIRST 2

/* Number of tensors when each comes with `groups` inputs; 0 after an error. */
static int tensor_count(wk_onnx_node *c, int groups) {
  int n = (c->n_in - FIRST) / groups;
  wk_onnx_valid(c, n >= 1 && (c->n_in - FIRST) % groups == 0, "%d inputs do not fit this operator",
                c->n_in);
  return wk_onnx_ok(c) ? n : 0;
}

static wk_value_id regularised(wk_onnx_node *c, wk_value_id g, wk_value_id x) {
  double lambda = wk_onnx_float(c, "norm_coefficient", 0.0);
  return lambda == 0 ? g : wk_make_2(c, WK_OP_ADD, g, wk_make_mul_f(c, x, lambda));
}

static wk_value_id add(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  return wk_make_2(c, WK_OP_ADD, a, b);
}
static wk_value_id sub(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  return wk_make_2(c, WK_OP_SUB, a, b);
}
static wk_value_id mul(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  return wk_make_2(c, WK_OP_MUL, a, b);
}
static wk_value_id quotient(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  return wk_make_2(c, WK_OP_DIV, a, b);
}

/* a of type t, as a scalar. */
static wk_value_id scalar_as(wk_onnx_node *c, wk_value_id v, wk_dtype t) {
  return wk_make_cast(c, wk_make_reshape(c, v, 0, NULL), t);
}

wk_status wk_onnx_adagrad(wk_onnx_node *c) {
  int n = tensor_count(c, 3);
  double decay = wk_onnx_float(c, "decay_factor", 0.0), eps = wk_onnx_float(c, "epsilon", 1e-6f);
  for (int i = 0; i < n; i++) {
    wk_value_id x = c->in[FIRST + i], g = c->in[FIRST + n + i], h = c->in[FIRST + 2 * n + i];
    wk_dtype t = wk_onnx_type(c, x)->dtype;
    wk_value_id step = wk_make_add_f(c, wk_make_mul_f(c, scalar_as(c, c->in[1], t), decay), 1.0);
    wk_value_id rate = quotient(c, scalar_as(c, c->in[0], t), step);
    g = regularised(c, g, x);
    h = add(c, h, mul(c, g, g));
    wk_value_id root = wk_make_add_f(c, wk_make_1(c, WK_OP_SQRT, h), eps);
    wk_onnx_result(c, i, sub(c, x, quotient(c, mul(c, rate, g), root)));
    wk_onnx_result(c, n + i, h);
  }
  return c->status;
}

/* Rate corrected for the bias of the first steps; at step 0 the rate itself. */
static wk_value_id adam_rate(wk_onnx_node *c, wk_dtype t, double alpha, double beta) {
  wk_value_id step = scalar_as(c, c->in[1], t), rate = scalar_as(c, c->in[0], t);
  wk_value_id one = wk_make_scalar(c, t, 1);
  wk_value_id b = sub(c, one, wk_make_2(c, WK_OP_POW, wk_make_scalar(c, t, beta), step));
  wk_value_id a = sub(c, one, wk_make_2(c, WK_OP_POW, wk_make_scalar(c, t, alpha), step));
  wk_value_id later = quotient(c, mul(c, rate, wk_make_1(c, WK_OP_SQRT, b)), a);
  wk_value_id is_later = wk_make_2(c, WK_OP_GREATER, step, wk_make_scalar(c, t, 0));
  return wk_make_where(c, is_later, later, rate);
}

wk_status wk_onnx_adam(wk_onnx_node *c) {
  int n = tensor_count(c, 4);
  double alpha = wk_onnx_float(c, "alpha", 0.9f), beta = wk_onnx_float(c, "beta", 0.999f);
  double eps = wk_onnx_float(c, "epsilon", 1e-6f),
         post = wk_onnx_float(c, "norm_coefficient_post", 0.0);
  /* The specification's default is 1e-6, but its own test data was made with another one. */
  wk_onnx_need(c, wk_onnx_attr(c, "epsilon") != NULL,
               "Adam without an explicit epsilon is not supported");
  for (int i = 0; i < n; i++) {
    wk_value_id x = c->in[FIRST + i], g = c->in[FIRST + n + i];
    wk_value_id v = c->in[FIRST + 2 * n + i], h = c->in[FIRST + 3 * n + i];
    wk_dtype t = wk_onnx_type(c, x)->dtype;
    g = regularised(c, g, x);
    v = add(c, wk_make_mul_f(c, v, alpha), wk_make_mul_f(c, g, 1.0 - alpha));
    h = add(c, wk_make_mul_f(c, h, beta), wk_make_mul_f(c, mul(c, g, g), 1.0 - beta));
    wk_value_id root = wk_make_add_f(c, wk_make_1(c, WK_OP_SQRT, h), eps);
    wk_value_id y = sub(c, x, quotient(c, mul(c, adam_rate(c, t, alpha, beta), v), root));
    if (post != 0) y = wk_make_mul_f(c, y, 1.0 - post);
    wk_onnx_result(c, i, y);
    wk_onnx_result(c, n + i, v);
    wk_onnx_result(c, 2 * n + i, h);
  }
  return c->status;
}

/* v = alpha v + beta' g with beta' 1 in step 0; x - rate v, or Nesterov's x - rate (g + alpha
 * v). */
wk_status wk_onnx_momentum(wk_onnx_node *c) {
  int n = tensor_count(c, 3);
  double alpha = wk_onnx_float(c, "alpha", 0.0), beta = wk_onnx_float(c, "beta", 0.0);
  bool nesterov = wk_onnx_text_is(c, "mode", "standard", "nesterov");
  for (int i = 0; i < n; i++) {
    wk_value_id x = c->in[FIRST + i], g = c->in[FIRST + n + i], v = c->in[FIRST + 2 * n + i];
    wk_dtype t = wk_onnx_type(c, x)->dtype;
    wk_value_id step = scalar_as(c, c->in[1], t), rate = scalar_as(c, c->in[0], t);
    wk_value_id is_later = wk_make_2(c, WK_OP_GREATER, step, wk_make_scalar(c, t, 0));
    wk_value_id weight =
        wk_make_where(c, is_later, wk_make_scalar(c, t, beta), wk_make_scalar(c, t, 1));
    g = regularised(c, g, x);
    v = add(c, wk_make_mul_f(c, v, alpha), mul(c, weight, g));
    wk_value_id move = nesterov ? add(c, g, wk_make_mul_f(c, v, alpha)) : v;
    wk_onnx_result(c, i, sub(c, x, mul(c, rate, move)));
    wk_onnx_result(c, n + i, v);
  }
  return c->status;
}
