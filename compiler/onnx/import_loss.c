/* SPDX-License-Identifier: Apache-2.0
 * Losses over classes. x is [n,c,d...], the targets are [n,d...]. */
#include <string.h>

#include "compiler/onnx/make.h"
#include "compiler/onnx/handlers.h"

/* -x[target] for every sample; ignored targets become class 0 first. */
static wk_value_id picked(wk_onnx_node *c, wk_value_id log_prob, wk_value_id target) {
  const wk_ints channel = {1, (const int64_t[]){1}};
  WK_MAKE_ATTRS(c, a, GATHER_ELEMENTS, gather_elements);
  a->axis = 1;
  wk_value_id at = wk_make_unsqueeze(c, target, channel);
  wk_value_id v = wk_make(c, WK_OP_GATHER_ELEMENTS, a, 2, log_prob, at);
  return wk_make_1(c, WK_OP_NEG, wk_make_squeeze(c, v, channel));
}

/* The weight of every sample; WK_NONE when all are 1. */
static wk_value_id sample_weights(wk_onnx_node *c, wk_dtype t, wk_value_id target,
                                  wk_value_id ignored, wk_value_id weights) {
  wk_value_id w = WK_NONE;
  if (weights != WK_NONE) w = wk_make_gather(c, weights, target, 0);
  if (ignored == WK_NONE) return w;
  if (w == WK_NONE) w = wk_make_scalar(c, t, 1);
  return wk_make_where(c, ignored, wk_make_scalar(c, t, 0), w);
}

static wk_value_id reduced(wk_onnx_node *c, wk_value_id loss, wk_value_id w) {
  const char *how = wk_onnx_text(c, "reduction", "mean");
  wk_ints all = wk_make_axes(c, 0, wk_onnx_type(c, loss)->rank);
  if (strcmp(how, "none") == 0) return loss;
  if (strcmp(how, "sum") == 0) return wk_make_reduce(c, WK_OP_REDUCE_SUM, loss, all, false);
  wk_onnx_valid(c, strcmp(how, "mean") == 0, "reduction '%s' is not known", how);
  if (w == WK_NONE) return wk_make_reduce(c, WK_OP_REDUCE_MEAN, loss, all, false);
  wk_value_id total = wk_make_reduce(c, WK_OP_REDUCE_SUM, loss, all, false);
  return wk_make_2(c, WK_OP_DIV, total, wk_make_reduce(c, WK_OP_REDUCE_SUM, w, all, false));
}

static wk_value_id nll(wk_onnx_node *c, wk_value_id log_prob, wk_value_id target,
                       wk_value_id weights) {
  wk_dtype t = wk_onnx_type(c, log_prob)->dtype, index = wk_onnx_type(c, target)->dtype;
  wk_value_id ignored = WK_NONE;
  wk_onnx_valid(c, wk_onnx_type(c, log_prob)->rank == wk_onnx_type(c, target)->rank + 1,
                "targets of rank %d do not fit the scores", wk_onnx_type(c, target)->rank);
  if (wk_onnx_attr(c, "ignore_index")) {
    wk_value_id which = wk_make_scalar(c, index, (double)wk_onnx_int(c, "ignore_index", 0));
    ignored = wk_make_2(c, WK_OP_EQUAL, target, which);
    target = wk_make_where(c, ignored, wk_make_scalar(c, index, 0), target);
  }
  wk_value_id loss = picked(c, log_prob, target);
  wk_value_id w = sample_weights(c, t, target, ignored, weights);
  if (w != WK_NONE) loss = wk_make_2(c, WK_OP_MUL, loss, w);
  return reduced(c, loss, w);
}

wk_status wk_onnx_nll_loss(wk_onnx_node *c) {
  return wk_onnx_return(c, nll(c, c->in[0], c->in[1], c->in[2]));
}

wk_status wk_onnx_softmax_cross_entropy(wk_onnx_node *c) {
  wk_onnx_valid(c, wk_onnx_type(c, c->in[0])->rank >= 2, "the scores have no class axis");
  WK_MAKE_ATTRS(c, a, LOG_SOFTMAX, log_softmax);
  a->axis = 1;
  wk_value_id log_prob = wk_make(c, WK_OP_LOG_SOFTMAX, a, 1, c->in[0]);
  wk_onnx_result(c, 0, nll(c, log_prob, c->in[1], c->in[2]));
  wk_onnx_result(c, 1, log_prob);
  return c->status;
}
