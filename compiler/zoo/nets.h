/* SPDX-License-Identifier: Apache-2.0
 * Private to zoo/: the architectures, and layers that several of them share. */
#ifndef WICK_ZOO_NETS_H
#define WICK_ZOO_NETS_H

#include "compiler/zoo/zoo.h"

void wk_zoo_resnet18(wick_builder *b);
void wk_zoo_resnet50(wick_builder *b);
void wk_zoo_vgg19(wick_builder *b);
void wk_zoo_mobilenet_v2(wick_builder *b);
void wk_zoo_squeezenet(wick_builder *b);
void wk_zoo_densenet121(wick_builder *b);
void wk_zoo_efficientnet_b0(wick_builder *b);
void wk_zoo_ds_cnn(wick_builder *b);
void wk_zoo_digits_cnn(wick_builder *b);
void wk_zoo_unet(wick_builder *b);
void wk_zoo_lstm(wick_builder *b);
void wk_zoo_bert_base(wick_builder *b);
void wk_zoo_gpt2_small(wick_builder *b);
void wk_zoo_llama_tiny(wick_builder *b);
void wk_zoo_vit_b16(wick_builder *b);
void wk_zoo_whisper_tiny(wick_builder *b);
void wk_zoo_convnext_tiny(wick_builder *b);
void wk_zoo_swin_tiny(wick_builder *b);
void wk_zoo_dlrm(wick_builder *b);

/* The network input "input" [1, 3, size, size]. */
wick_value wk_zoo_image(wick_builder *b, int64_t size);
/* Convolution without bias, batch norm; activation op, or WK_OP_IDENTITY for none. */
wick_value wk_zoo_conv_bn(wick_builder *b, wick_value x, int64_t out, int64_t kernel,
                          int64_t stride,
                          int64_t group, wk_op act);
/* Global average, flatten, linear layer of 1000 classes, output "output". */
void wk_zoo_classify(wick_builder *b, wick_value x);

/* Rows of all heads [n, tokens, heads * width] as [n, heads, tokens, width]. */
wick_value wk_zoo_heads(wick_builder *b, wick_value x, int64_t heads);
/* q k^T / sqrt(width), of heads. */
wick_value wk_zoo_scores(wick_builder *b, wick_value q, wick_value k);
/* softmax(scores) v as rows of all heads. */
wick_value wk_zoo_mix(wick_builder *b, wick_value scores, wick_value v);
/* Both, with a mask that is added to the scores; WICK_NO_VALUE: none. */
wick_value wk_zoo_attend(wick_builder *b, wick_value q, wick_value k, wick_value v,
                         wick_value mask);

#endif
