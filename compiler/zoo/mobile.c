/* SPDX-License-Identifier: Apache-2.0
 * MobileNetV2 (arXiv 1801.04381), EfficientNet-b0 (arXiv 1905.11946), SqueezeNet 1.1 (arXiv
 * 1602.07360), DS-CNN (arXiv 1711.07128), and a small one for digits. */
#include "compiler/zoo/nets.h"

static void scope_of(wick_builder *b, const char *kind, int stage, int i) {
  char scope[32];
  snprintf(scope, sizeof scope, "%s%d.%d", kind, stage, i);
  wick_scope(b, scope);
}

static wick_value inverted_residual(wick_builder *b, wick_value x, int64_t expand, int64_t out,
                                    int64_t stride) {
  int64_t in = wick_type_of(b, x).dims[1], hidden = in * expand;
  wick_value y = expand == 1 ? x : wk_zoo_conv_bn(b, x, hidden, 1, 1, 1, WK_OP_CLIP);
  y = wk_zoo_conv_bn(b, y, hidden, 3, stride, hidden, WK_OP_CLIP);
  y = wk_zoo_conv_bn(b, y, out, 1, 1, 1, WK_OP_IDENTITY);
  return stride == 1 && in == out ? wick_add(b, x, y) : y;
}

void wk_zoo_mobilenet_v2(wick_builder *b) {
  static const struct { int expand, out, n, stride; } stages[] = {
      {1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
      {6, 320, 1, 1}};
  wick_scope(b, "stem");
  wick_value x = wk_zoo_conv_bn(b, wk_zoo_image(b, 224), 32, 3, 2, 1, WK_OP_CLIP);
  for (int s = 0; s < (int)WK_COUNTOF(stages); s++)
    for (int i = 0; i < stages[s].n; i++) {
      scope_of(b, "block", s + 1, i);
      x = inverted_residual(b, x, stages[s].expand, stages[s].out, i ? 1 : stages[s].stride);
    }
  wick_scope(b, "head");
  wk_zoo_classify(b, wk_zoo_conv_bn(b, x, 1280, 1, 1, 1, WK_OP_CLIP));
}

/* The gate looks at the mean of each channel. */
static wick_value squeeze_excite(wick_builder *b, wick_value x, int64_t squeezed) {
  wick_value g = wick_global_avg_pool(b, x);
  g = wick_conv(b, g, &(wick_conv_opts){.out = squeezed, .kernel = 1, .bias = true});
  g = wick_unary(b, WK_OP_SILU, g);
  g = wick_conv(b, g,
                &(wick_conv_opts){.out = wick_type_of(b, x).dims[1], .kernel = 1, .bias = true});
  return wick_mul(b, x, wick_unary(b, WK_OP_SIGMOID, g));
}

static wick_value mb_conv(wick_builder *b, wick_value x, int64_t expand, int64_t kernel,
                          int64_t out,
                          int64_t stride) {
  int64_t in = wick_type_of(b, x).dims[1], hidden = in * expand;
  wick_value y = expand == 1 ? x : wk_zoo_conv_bn(b, x, hidden, 1, 1, 1, WK_OP_SILU);
  y = wk_zoo_conv_bn(b, y, hidden, kernel, stride, hidden, WK_OP_SILU);
  y = squeeze_excite(b, y, in / 4);
  y = wk_zoo_conv_bn(b, y, out, 1, 1, 1, WK_OP_IDENTITY);
  return stride == 1 && in == out ? wick_add(b, x, y) : y;
}

void wk_zoo_efficientnet_b0(wick_builder *b) {
  static const struct { int expand, kernel, out, n, stride; } stages[] = {
      {1, 3, 16, 1, 1}, {6, 3, 24, 2, 2}, {6, 5, 40, 2, 2}, {6, 3, 80, 3, 2}, {6, 5, 112, 3, 1},
      {6, 5, 192, 4, 2}, {6, 3, 320, 1, 1}};
  wick_scope(b, "stem");
  wick_value x = wk_zoo_conv_bn(b, wk_zoo_image(b, 224), 32, 3, 2, 1, WK_OP_SILU);
  for (int s = 0; s < (int)WK_COUNTOF(stages); s++)
    for (int i = 0; i < stages[s].n; i++) {
      scope_of(b, "block", s + 1, i);
      x = mb_conv(b, x, stages[s].expand, stages[s].kernel, stages[s].out,
                  i ? 1 : stages[s].stride);
    }
  wick_scope(b, "head");
  wk_zoo_classify(b, wk_zoo_conv_bn(b, x, 1280, 1, 1, 1, WK_OP_SILU));
}

static wick_value conv_relu(wick_builder *b, wick_value x, int64_t out, int64_t kernel,
                            int64_t stride,
                            int64_t pad) {
  return wick_relu(b,
                   wick_conv(b, x, &(wick_conv_opts){.out = out, .kernel = kernel, .stride = stride,
                                                        .pad = pad, .bias = true}));
}

static wick_value fire(wick_builder *b, wick_value x, int64_t squeeze, int64_t expand) {
  wick_value s = conv_relu(b, x, squeeze, 1, 1, 0);
  wick_value both[] = {conv_relu(b, s, expand, 1, 1, 0), conv_relu(b, s, expand, 3, 1, 1)};
  return wick_concat(b, both, 2, 1);
}

void wk_zoo_squeezenet(wick_builder *b) {
  static const struct { int squeeze, expand, pool; } fires[] = {
      {16, 64, 0}, {16, 64, 1}, {32, 128, 0}, {32, 128, 1}, {48, 192, 0}, {48, 192, 0},
      {64, 256, 0}, {64, 256, 0}};
  wick_scope(b, "stem");
  wick_value x = conv_relu(b, wk_zoo_image(b, 224), 64, 3, 2, 0);
  x = wick_max_pool(b, x, 3, 2, 0);
  for (int i = 0; i < (int)WK_COUNTOF(fires); i++) {
    scope_of(b, "fire", i + 2, 0);
    x = fire(b, x, fires[i].squeeze, fires[i].expand);
    if (fires[i].pool) x = wick_max_pool(b, x, 3, 2, 0);
  }
  wick_scope(b, "classifier");
  x = wick_global_avg_pool(b, conv_relu(b, x, 1000, 1, 1, 0));
  wick_output(b, "output", wick_flatten(b, x));
}

void wk_zoo_ds_cnn(wick_builder *b) {
  int64_t dims[] = {1, 1, 49, 10};
  wick_scope(b, "stem");
  wick_value x = wick_input(b, "input", WK_F32, 4, dims);
  x = wick_conv(b, x,
                &(wick_conv_opts){.out = 64, .kernel = 10, .kernel_w = 4, .stride = 2, .pad = 4,
                                        .pad_w = 1});
  x = wick_relu(b, wick_batch_norm(b, x));
  for (int i = 0; i < 4; i++) {
    scope_of(b, "block", i, 0);
    x = wk_zoo_conv_bn(b, x, 64, 3, 1, 64, WK_OP_RELU);
    x = wk_zoo_conv_bn(b, x, 64, 1, 1, 1, WK_OP_RELU);
  }
  wick_scope(b, "classifier");
  x = wick_linear(b, wick_flatten(b, wick_global_avg_pool(b, x)), 12);
  wick_output(b, "output", wick_softmax(b, x, -1));
}

/* For `wick train`: learns handwritten digits within seconds. */
void wk_zoo_digits_cnn(wick_builder *b) {
  int64_t dims[] = {32, 1, 8, 8};
  wick_scope(b, "stem");
  wick_value x = wk_zoo_conv_bn(b, wick_input(b, "input", WK_F32, 4, dims), 16, 3, 1, 1,
                                WK_OP_RELU);
  wick_scope(b, "block");
  x = wick_max_pool(b, wk_zoo_conv_bn(b, x, 32, 3, 1, 1, WK_OP_RELU), 2, 2, 0);
  wick_scope(b, "classifier");
  wick_output(b, "output", wick_linear(b, wick_flatten(b, x), 10));
}
