/* SPDX-License-Identifier: Apache-2.0
 * Optimiser steps of ai.onnx.preview.training. Inputs are R (rate), T (step number), then the
 * tensors X, then as many gradients G, then the accumulated values; outputs are the new ones in
 * that order. What they compute stands in compiler/optim/optimizers.def. */
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/optim/optim.h"

#define FIRST 2

/* One tensor of several, of which there are n. */
static void step(wk_onnx_node *c, wk_optimizer_kind k, const wk_hypers *h, int i, int n) {
  wk_value_id states[WK_OPTIMIZER_STATES], factors[WK_OPTIMIZER_FACTORS];
  wk_value_id out[1 + WK_OPTIMIZER_STATES], count = wk_make_cast(c, c->in[1], WK_I64);
  int n_states = wk_optimizer_states(k);
  count = wk_make_add_f(c, count, 1);
  if (!wk_onnx_ok(c)) return;
  for (int s = 0; s < n_states; s++) states[s] = c->in[FIRST + (2 + s) * n + i];
  wk_update_desc d = {.kind = k, .name = c->name, .hypers = h, .weight = c->in[FIRST + i],
                      .gradient = c->in[FIRST + n + i], .states = states, .factors = factors,
                      .apply = WK_NONE};
  wk_dtype t = wk_onnx_type(c, d.weight)->dtype;
  wk_onnx_latch(c, wk_factors_build(c->g, c->name, k, h, c->in[0], count, wk_compute_dtype(t),
                                    factors));
  if (wk_onnx_ok(c)) wk_onnx_latch(c, wk_optimizer_build(c->g, &d, out, out + 1));
  for (int s = 0; wk_onnx_ok(c) && s <= n_states; s++) wk_onnx_result(c, s * n + i, out[s]);
}

/* Every tensor comes with a gradient and its states. */
static wk_status steps(wk_onnx_node *c, wk_optimizer_kind k, wk_hypers h) {
  int groups = 2 + wk_optimizer_states(k), n = (c->n_in - FIRST) / groups;
  h.weight_decay = wk_onnx_float(c, "norm_coefficient", 0.0);
  wk_onnx_valid(c, n >= 1 && (c->n_in - FIRST) % groups == 0, "%d inputs do not fit this operator",
                c->n_in);
  for (int i = 0; i < c->n_in; i++) wk_onnx_valid(c, wk_onnx_has(c, i), "input %d is missing", i);
  for (int i = 0; wk_onnx_ok(c) && i < n; i++) step(c, k, &h, i, n);
  return c->status;
}

wk_status wk_onnx_adagrad(wk_onnx_node *c) {
  return steps(c, WK_OPTIMIZER_ADAGRAD,
               (wk_hypers){.rate_decay = wk_onnx_float(c, "decay_factor", 0.0),
                           .epsilon = wk_onnx_float(c, "epsilon", 1e-6f)});
}

wk_status wk_onnx_adam(wk_onnx_node *c) {
  /* The specification's default is 1e-6, but its own test data was made with another one. */
  wk_onnx_need(c, wk_onnx_attr(c, "epsilon") != NULL,
               "Adam without an explicit epsilon is not supported");
  return steps(c, WK_OPTIMIZER_ADAM_PLAIN,
               (wk_hypers){.beta1 = wk_onnx_float(c, "alpha", 0.9f),
                           .beta2 = wk_onnx_float(c, "beta", 0.999f),
                           .epsilon = wk_onnx_float(c, "epsilon", 1e-6f),
                           .shrink = wk_onnx_float(c, "norm_coefficient_post", 0.0)});
}

/* alpha is the momentum; the gradient's factor beta is 1 in step 0, as if it were 1 - dampening. */
wk_status wk_onnx_momentum(wk_onnx_node *c) {
  bool nesterov = wk_onnx_text_is(c, "mode", "standard", "nesterov");
  return steps(c, nesterov ? WK_OPTIMIZER_NESTEROV : WK_OPTIMIZER_MOMENTUM,
               (wk_hypers){.momentum = wk_onnx_float(c, "alpha", 0.0),
                           .dampening = 1.0 - wk_onnx_float(c, "beta", 0.0)});
}
