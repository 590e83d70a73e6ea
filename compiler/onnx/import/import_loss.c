/* SPDX-License-Identifier: Apache-2.0
 * Losses over classes, as compiler/optim/losses.def has them. x is [n,c,d...], the targets are
 * [n,d...]. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/optim/optim.h"

static wk_reduction reduction(wk_onnx_node *c) {
  const char *how = wk_onnx_text(c, "reduction", "mean");
  if (strcmp(how, "none") == 0) return WK_REDUCTION_NONE;
  if (strcmp(how, "sum") == 0) return WK_REDUCTION_SUM;
  wk_onnx_valid(c, strcmp(how, "mean") == 0, "reduction '%s' is not known", how);
  return WK_REDUCTION_MEAN;
}

static wk_status loss(wk_onnx_node *c, wk_loss_kind kind) {
  wk_value_id y = WK_NONE, scores = WK_NONE;
  wk_loss_desc d = {.kind = kind, .name = c->name, .reduction = reduction(c),
                    .prediction = c->in[0], .target = c->in[1], .weights = c->in[2],
                    .has_ignored = wk_onnx_attr(c, "ignore_index") != NULL,
                    .ignored = wk_onnx_int(c, "ignore_index", 0)};
  if (wk_onnx_ok(c)) wk_onnx_latch(c, wk_loss_build(c->g, &d, &y, &scores));
  wk_onnx_result(c, 0, y);
  if (kind == WK_LOSS_CROSS_ENTROPY) wk_onnx_result(c, 1, scores);
  return c->status;
}

wk_status wk_onnx_nll_loss(wk_onnx_node *c) { return loss(c, WK_LOSS_NLL); }
wk_status wk_onnx_softmax_cross_entropy(wk_onnx_node *c) { return loss(c, WK_LOSS_CROSS_ENTROPY); }
