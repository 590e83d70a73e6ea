/* SPDX-License-Identifier: Apache-2.0
 * ResNet (arXiv 1512.03385), stride in the 3x3 convolution of a bottleneck; VGG-19 (arXiv
 * 1409.1556). */
#include "compiler/zoo/nets.h"

static wick_value shortcut(wick_builder *b, wick_value x, int64_t out, int64_t stride) {
  if (wick_type_of(b, x).dims[1] == out && stride == 1) return x;
  return wk_zoo_conv_bn(b, x, out, 1, stride, 1, WK_OP_IDENTITY);
}

static wick_value basic(wick_builder *b, wick_value x, int64_t width, int64_t stride) {
  wick_value y = wk_zoo_conv_bn(b, x, width, 3, stride, 1, WK_OP_RELU);
  y = wk_zoo_conv_bn(b, y, width, 3, 1, 1, WK_OP_IDENTITY);
  return wick_relu(b, wick_add(b, y, shortcut(b, x, width, stride)));
}

static wick_value bottleneck(wick_builder *b, wick_value x, int64_t width, int64_t stride) {
  wick_value y = wk_zoo_conv_bn(b, x, width, 1, 1, 1, WK_OP_RELU);
  y = wk_zoo_conv_bn(b, y, width, 3, stride, 1, WK_OP_RELU);
  y = wk_zoo_conv_bn(b, y, 4 * width, 1, 1, 1, WK_OP_IDENTITY);
  return wick_relu(b, wick_add(b, y, shortcut(b, x, 4 * width, stride)));
}

static void resnet(wick_builder *b, const int *blocks,
                   wick_value (*block)(wick_builder *, wick_value, int64_t, int64_t)) {
  char scope[32];
  wick_scope(b, "stem");
  wick_value x = wk_zoo_conv_bn(b, wk_zoo_image(b, 224), 64, 7, 2, 1, WK_OP_RELU);
  x = wick_max_pool(b, x, 3, 2, 1);
  for (int stage = 0; stage < 4; stage++)
    for (int i = 0; i < blocks[stage]; i++) {
      snprintf(scope, sizeof scope, "layer%d.%d", stage + 1, i);
      wick_scope(b, scope);
      x = block(b, x, 64 << stage, stage && !i ? 2 : 1);
    }
  wk_zoo_classify(b, x);
}

void wk_zoo_resnet18(wick_builder *b) {
  static const int blocks[] = {2, 2, 2, 2};
  resnet(b, blocks, basic);
}

void wk_zoo_resnet50(wick_builder *b) {
  static const int blocks[] = {3, 4, 6, 3};
  resnet(b, blocks, bottleneck);
}

void wk_zoo_vgg19(wick_builder *b) {
  static const struct { int convs; int64_t width; } stages[] = {
      {2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}};
  wick_value x = wk_zoo_image(b, 224);
  wick_scope(b, "features");
  for (size_t s = 0; s < WK_COUNTOF(stages); s++) {
    for (int i = 0; i < stages[s].convs; i++)
      x = wick_relu(b,
                    wick_conv(b, x, &(wick_conv_opts){.out = stages[s].width, .kernel = 3, .pad = 1,
                                                         .bias = true}));
    x = wick_max_pool(b, x, 2, 2, 0);
  }
  wick_scope(b, "classifier");
  x = wick_relu(b, wick_linear(b, wick_flatten(b, x), 4096));
  x = wick_relu(b, wick_linear(b, x, 4096));
  wick_output(b, "output", wick_linear(b, x, 1000));
}
