/* SPDX-License-Identifier: Apache-2.0
 * An LSTM classifier and BERT-base (arXiv 1810.04805): 12 layers, width 768, 12 heads, 128 tokens.
 */
#include "compiler/zoo/nets.h"

#include <math.h>

void wk_zoo_lstm(wick_builder *b) {
  int64_t dims[] = {64, 1, 40}, flat[] = {64, 1, 256}, last[] = {1, 128};
  wick_value x = wick_input(b, "input", WK_F32, 3, dims);
  wick_scope(b, "encoder");
  x = wick_lstm(b, x, 128, true);                               /* [64, 2, 1, 128] */
  x = wick_transpose(b, x, (int64_t[]){0, 2, 1, 3});
  x = wick_lstm(b, wick_reshape(b, x, 3, flat), 128, false);    /* [64, 1, 1, 128] */
  x = wick_reshape(b, wick_slice(b, x, 0, 63, 1), 2, last);
  wick_scope(b, "classifier");
  wick_output(b, "output", wick_softmax(b, wick_linear(b, x, 12), -1));
}

#define TOKENS 128
#define WIDTH 768
#define HEADS 12

wick_value wk_zoo_heads(wick_builder *b, wick_value x, int64_t heads) {
  const wk_type t = wick_type_of(b, x);
  int64_t dims[] = {t.dims[0], t.dims[1], heads, t.dims[2] / heads};
  return wick_transpose(b, wick_reshape(b, x, 4, dims), (const int64_t[]){0, 2, 1, 3});
}

wick_value wk_zoo_scores(wick_builder *b, wick_value q, wick_value k) {
  double width = (double)wick_type_of(b, q).dims[3];
  wick_value s = wick_matmul(b, q, wick_transpose(b, k, (const int64_t[]){0, 1, 3, 2}));
  return wick_mul(b, s, wick_scalar(b, 1 / sqrt(width)));
}

wick_value wk_zoo_mix(wick_builder *b, wick_value scores, wick_value v) {
  wick_value y = wick_matmul(b, wick_softmax(b, scores, -1), v);
  const wk_type t = wick_type_of(b, y);
  int64_t dims[] = {t.dims[0], t.dims[2], t.dims[1] * t.dims[3]};
  return wick_reshape(b, wick_transpose(b, y, (const int64_t[]){0, 2, 1, 3}), 3, dims);
}

wick_value wk_zoo_attend(wick_builder *b, wick_value q, wick_value k, wick_value v,
                         wick_value mask) {
  wick_value s = wk_zoo_scores(b, q, k);
  return wk_zoo_mix(b, mask == WICK_NO_VALUE ? s : wick_add(b, s, mask), v);
}

static wick_value self_attention(wick_builder *b, wick_value x, wick_value mask) {
  wick_value q = wk_zoo_heads(b, wick_linear(b, x, WIDTH), HEADS);
  wick_value k = wk_zoo_heads(b, wick_linear(b, x, WIDTH), HEADS);
  wick_value v = wk_zoo_heads(b, wick_linear(b, x, WIDTH), HEADS);
  return wick_linear(b, wk_zoo_attend(b, q, k, v, mask), WIDTH);
}

static wick_value encoder_layer(wick_builder *b, wick_value x, wick_value mask) {
  x = wick_layer_norm(b, wick_add(b, x, self_attention(b, x, mask)));
  wick_value y = wick_unary(b, WK_OP_GELU, wick_linear(b, x, 4 * WIDTH));
  return wick_layer_norm(b, wick_add(b, x, wick_linear(b, y, WIDTH)));
}

/* The mask is 1 for tokens to attend to; it becomes 0 or -10000 on the scores. */
static wick_value score_mask(wick_builder *b, wick_value mask) {
  int64_t dims[] = {1, 1, 1, TOKENS};
  wick_value m = wick_unary(b, WK_OP_NEG, wick_reshape(b, mask, 4, dims));
  return wick_mul(b, wick_add(b, m, wick_scalar(b, 1)), wick_scalar(b, -10000));
}

void wk_zoo_bert_base(wick_builder *b) {
  int64_t dims[] = {1, TOKENS}, positions[] = {1, TOKENS, WIDTH};
  char scope[32];
  wick_value ids = wick_input(b, "input_ids", WK_I64, 2, dims);
  wick_value kinds = wick_input(b, "token_type_ids", WK_I64, 2, dims);
  wick_value mask = wick_input(b, "attention_mask", WK_F32, 2, dims);
  wick_scope(b, "embeddings");
  wick_value x =
      wick_add(b, wick_embedding(b, ids, 30522, WIDTH), wick_embedding(b, kinds, 2, WIDTH));
  x = wick_layer_norm(b, wick_add(b, x, wick_parameter(b, 3, positions, 0.5f)));
  mask = score_mask(b, mask);
  for (int i = 0; i < 12; i++) {
    snprintf(scope, sizeof scope, "layer%d", i);
    wick_scope(b, scope);
    x = encoder_layer(b, x, mask);
  }
  wick_output(b, "last_hidden_state", x);
  wick_scope(b, "pooler");
  int64_t first[] = {1, WIDTH};
  x = wick_reshape(b, wick_slice(b, x, 1, 0, 1), 2, first);
  wick_output(b, "pooler_output", wick_unary(b, WK_OP_TANH, wick_linear(b, x, WIDTH)));
}
