/* SPDX-License-Identifier: Apache-2.0
 * DenseNet-121 (arXiv 1608.06993) and a U-Net (arXiv 1505.04597) with batch norm. */
#include "compiler/zoo/nets.h"

#define GROWTH 32

static wick_value norm_relu(wick_builder *b, wick_value x) {
  return wick_relu(b, wick_batch_norm(b, x));
}

static wick_value dense_layer(wick_builder *b, wick_value x) {
  wick_value y = wick_conv(b, norm_relu(b, x), &(wick_conv_opts){.out = 4 * GROWTH, .kernel = 1});
  y = wick_conv(b, norm_relu(b, y), &(wick_conv_opts){.out = GROWTH, .kernel = 3, .pad = 1});
  wick_value both[] = {x, y};
  return wick_concat(b, both, 2, 1);
}

void wk_zoo_densenet121(wick_builder *b) {
  static const int layers[] = {6, 12, 24, 16};
  char scope[32];
  wick_scope(b, "stem");
  wick_value x = wk_zoo_conv_bn(b, wk_zoo_image(b, 224), 64, 7, 2, 1, WK_OP_RELU);
  x = wick_max_pool(b, x, 3, 2, 1);
  for (int s = 0; s < 4; s++) {
    for (int i = 0; i < layers[s]; i++) {
      snprintf(scope, sizeof scope, "block%d.%d", s + 1, i);
      wick_scope(b, scope);
      x = dense_layer(b, x);
    }
    if (s == 3) break;
    snprintf(scope, sizeof scope, "transition%d", s + 1);
    wick_scope(b, scope);
    x = wick_conv(b, norm_relu(b, x),
                  &(wick_conv_opts){.out = wick_type_of(b, x).dims[1] / 2, .kernel = 1});
    x = wick_avg_pool(b, x, 2, 2, 0);
  }
  wick_scope(b, "head");
  wk_zoo_classify(b, norm_relu(b, x));
}

static wick_value double_conv(wick_builder *b, wick_value x, int64_t width) {
  x = wk_zoo_conv_bn(b, x, width, 3, 1, 1, WK_OP_RELU);
  return wk_zoo_conv_bn(b, x, width, 3, 1, 1, WK_OP_RELU);
}

void wk_zoo_unet(wick_builder *b) {
  wick_value skip[4], x = wk_zoo_image(b, 256);
  char scope[32];
  for (int i = 0; i < 4; i++) {
    snprintf(scope, sizeof scope, "down%d", i);
    wick_scope(b, scope);
    skip[i] = double_conv(b, x, 32 << i);
    x = wick_max_pool(b, skip[i], 2, 2, 0);
  }
  wick_scope(b, "bottom");
  x = double_conv(b, x, 512);
  for (int i = 3; i >= 0; i--) {
    snprintf(scope, sizeof scope, "up%d", i);
    wick_scope(b, scope);
    x = wick_conv_transpose(b, x, &(wick_conv_opts){.out = 32 << i, .kernel = 2, .stride = 2,
                                                    .bias = true});
    wick_value both[] = {skip[i], x};
    x = double_conv(b, wick_concat(b, both, 2, 1), 32 << i);
  }
  wick_scope(b, "head");
  x = wick_conv(b, x, &(wick_conv_opts){.out = 5, .kernel = 1, .bias = true});
  wick_output(b, "output", wick_softmax(b, x, 1));
}
