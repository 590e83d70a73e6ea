/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/zoo/nets.h"

wick_value wk_zoo_image(wick_builder *b, int64_t size) {
  int64_t dims[] = {1, 3, size, size};
  return wick_input(b, "input", WK_F32, 4, dims);
}

wick_value wk_zoo_conv_bn(wick_builder *b, wick_value x, int64_t out, int64_t kernel,
                          int64_t stride,
                          int64_t group, wk_op act) {
  wick_conv_opts o = {.out = out, .kernel = kernel, .stride = stride, .pad = kernel / 2,
                      .group = group};
  x = wick_batch_norm(b, wick_conv(b, x, &o));
  if (act == WK_OP_CLIP) return wick_clip(b, x, 0, 6);
  return act == WK_OP_IDENTITY ? x : wick_unary(b, act, x);
}

void wk_zoo_classify(wick_builder *b, wick_value x) {
  wick_scope(b, "classifier");
  wick_output(b, "output", wick_linear(b, wick_flatten(b, wick_global_avg_pool(b, x)), 1000));
}
