/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/zoo/nets.h"

#include <string.h>

const wk_zoo_entry wk_zoo[] = {
    {"resnet18", "image classifier, 1x3x224x224, residual blocks", wk_zoo_resnet18},
    {"resnet50", "image classifier, 1x3x224x224, bottleneck residual blocks", wk_zoo_resnet50},
    {"vgg19", "image classifier, 1x3x224x224, plain 3x3 convolutions", wk_zoo_vgg19},
    {"mobilenet_v2", "image classifier, 1x3x224x224, inverted residuals", wk_zoo_mobilenet_v2},
    {"squeezenet", "image classifier, 1x3x224x224, fire modules", wk_zoo_squeezenet},
    {"densenet121", "image classifier, 1x3x224x224, dense blocks", wk_zoo_densenet121},
    {"efficientnet_b0", "image classifier, 1x3x224x224, squeeze-excite, SiLU",
     wk_zoo_efficientnet_b0},
    {"ds_cnn", "keyword spotting, 1x1x49x10, depthwise-separable", wk_zoo_ds_cnn},
    {"digits_cnn", "digits of 8x8, 32 at a time, two convolutions", wk_zoo_digits_cnn},
    {"unet", "segmentation, 1x3x256x256, skip connections", wk_zoo_unet},
    {"lstm", "sequence classifier, 64 steps of 40 features, two-layer LSTM", wk_zoo_lstm},
    {"bert_base", "text encoder, 1x128 tokens, 12 layers", wk_zoo_bert_base},
    {"gpt2_small", "text decoder, 1x128 tokens, 12 layers, logits of 50257 words",
     wk_zoo_gpt2_small},
    {"llama_tiny", "text decoder, 1x128 tokens, 6 layers, RMS norms, rotary positions, "
     "grouped queries", wk_zoo_llama_tiny},
    {"vit_b16", "image classifier, 1x3x224x224, 12 layers on patches of 16x16", wk_zoo_vit_b16},
    {"whisper_tiny", "speech encoder, 1x80x3000, 1500 tokens, 4 layers", wk_zoo_whisper_tiny},
    {"convnext_tiny", "image classifier, 1x3x224x224, 7x7 depthwise and linear layers",
     wk_zoo_convnext_tiny},
    {"swin_tiny", "image classifier, 1x3x224x224, attention in shifted windows of 7x7",
     wk_zoo_swin_tiny},
    {"dlrm", "recommendation, 16 of 13 numbers and 8 bags, tables of floats and of 8-bit rows",
     wk_zoo_dlrm},
};
const size_t wk_zoo_count = WK_COUNTOF(wk_zoo);

const wk_zoo_entry *wk_zoo_find(const char *name) {
  for (size_t i = 0; i < wk_zoo_count; i++)
    if (!strcmp(wk_zoo[i].name, name)) return &wk_zoo[i];
  return NULL;
}

wk_status wk_zoo_build(const wk_zoo_entry *e, uint64_t seed, int64_t batch, wk_module **out) {
  wick_builder *b = wick_builder_new(e->name, seed);
  wick_set_batch(b, batch);
  e->build(b);
  return wick_builder_finish(b, out);
}
