/* SPDX-License-Identifier: Apache-2.0
 * Transformers with norms in front of their layers: GPT-2 (Radford et al., 2019), ViT-B/16 (arXiv
 * 2010.11929), the encoder of Whisper-tiny (arXiv 2212.04356), and a small Llama (arXiv 2302.13971)
 * with grouped queries. */
#include "compiler/zoo/nets.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static void layer_scope(wick_builder *b, int layer) {
  char scope[32];
  snprintf(scope, sizeof scope, "layer%d", layer);
  wick_scope(b, scope);
}

/* [1, 1, n, n] for scores: `hidden` for tokens behind the one in hand. */
static wick_value causal_mask(wick_builder *b, int64_t n, float hidden) {
  float *x = wk_xcalloc((size_t)(n * n), sizeof *x);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = i + 1; k < n; k++) x[i * n + k] = hidden;
  wick_value v = wick_constant(b, 4, (const int64_t[]){1, 1, n, n}, x);
  free(x);
  return v;
}

static int64_t width_of(wick_builder *b, wick_value x) { return wick_type_of(b, x).dims[2]; }

/* Two linear layers, `act` between them. */
static wick_value feed_forward(wick_builder *b, wick_value x, wk_op act) {
  int64_t width = width_of(b, x);
  return wick_linear(b, wick_unary(b, act, wick_linear(b, x, 4 * width)), width);
}

/* ---- GPT-2 ----------------------------------------------------------------------------------- */

/* One product makes queries, keys and values. */
static wick_value joint_attention(wick_builder *b, wick_value x, int64_t heads, wick_value mask) {
  int64_t width = width_of(b, x);
  wick_value all = wick_linear(b, x, 3 * width), part[3];
  for (int k = 0; k < 3; k++)
    part[k] = wk_zoo_heads(b, wick_slice(b, all, 2, k * width, width), heads);
  return wick_linear(b, wk_zoo_attend(b, part[0], part[1], part[2], mask), width);
}

/* Rows of one table name the tokens and, transposed, judge them. */
void wk_zoo_gpt2_small(wick_builder *b) {
  enum { TOKENS = 128, WIDTH = 768, HEADS = 12, LAYERS = 12, WORDS = 50257 };
  wick_value ids = wick_input(b, "input_ids", WK_I64, 2, (const int64_t[]){1, TOKENS});
  wick_scope(b, "embeddings");
  wick_value words = wick_parameter(b, 2, (const int64_t[]){WORDS, WIDTH}, 0.05f);
  wick_value x = wick_add(b, wick_rows(b, words, ids),
                          wick_parameter(b, 3, (const int64_t[]){1, TOKENS, WIDTH}, 0.02f));
  wick_value mask = causal_mask(b, TOKENS, -10000);
  for (int i = 0; i < LAYERS; i++) {
    layer_scope(b, i);
    x = wick_add(b, x, joint_attention(b, wick_layer_norm(b, x), HEADS, mask));
    x = wick_add(b, x, feed_forward(b, wick_layer_norm(b, x), WK_OP_GELU_TANH));
  }
  wick_scope(b, "head");
  x = wick_layer_norm(b, x);
  wick_output(b, "logits", wick_matmul(b, x, wick_transpose(b, words, (const int64_t[]){1, 0})));
}

/* ---- ViT and Whisper ------------------------------------------------------------------------- */

static wick_value self_attention(wick_builder *b, wick_value x, int64_t heads, bool keys_biased) {
  int64_t width = width_of(b, x);
  wick_value q = wick_linear(b, x, width);
  wick_value k = keys_biased ? wick_linear(b, x, width) : wick_project(b, x, width);
  wick_value v = wick_linear(b, x, width);
  q = wk_zoo_heads(b, q, heads);
  k = wk_zoo_heads(b, k, heads);
  v = wk_zoo_heads(b, v, heads);
  return wick_linear(b, wk_zoo_attend(b, q, k, v, WICK_NO_VALUE), width);
}

static wick_value encoder(wick_builder *b, wick_value x, int layers, int64_t heads,
                          bool keys_biased) {
  for (int i = 0; i < layers; i++) {
    layer_scope(b, i);
    x = wick_add(b, x, self_attention(b, wick_layer_norm(b, x), heads, keys_biased));
    x = wick_add(b, x, feed_forward(b, wick_layer_norm(b, x), WK_OP_GELU));
  }
  return wick_layer_norm(b, x);
}

/* Patches as tokens, a token of no patch before them. */
void wk_zoo_vit_b16(wick_builder *b) {
  enum { SIDE = 14, WIDTH = 768, TOKENS = SIDE * SIDE + 1 };
  wick_value image = wk_zoo_image(b, 16 * SIDE), tokens[2];
  int64_t n = wick_type_of(b, image).dims[0];
  wick_scope(b, "embeddings");
  wick_value x = wick_conv(
      b, image, &(wick_conv_opts){.out = WIDTH, .kernel = 16, .stride = 16, .bias = true});
  x = wick_reshape(b, x, 3, (const int64_t[]){n, WIDTH, SIDE * SIDE});
  tokens[1] = wick_transpose(b, x, (const int64_t[]){0, 2, 1});
  tokens[0] = wick_parameter(b, 3, (const int64_t[]){1, 1, WIDTH}, 0.5f);
  if (n > 1) tokens[0] = wick_expand(b, tokens[0], 3, (const int64_t[]){n, 1, WIDTH});
  x = wick_add(b, wick_concat(b, tokens, 2, 1),
               wick_parameter(b, 3, (const int64_t[]){1, TOKENS, WIDTH}, 0.5f));
  x = encoder(b, x, 12, 12, true);
  wick_scope(b, "classifier");
  x = wick_reshape(b, wick_slice(b, x, 1, 0, 1), 2, (const int64_t[]){n, WIDTH});
  wick_output(b, "output", wick_linear(b, x, 1000));
}

/* Angles of `n` places, `half` to each: place * 10000^(-k / last), ratio = 10000^(-1 / last). */
static double *angles(int64_t n, int64_t half, double ratio) {
  double *x = wk_xcalloc((size_t)(n * half), sizeof *x), frequency = 1;
  for (int64_t k = 0; k < half; k++, frequency *= ratio)
    for (int64_t i = 0; i < n; i++) x[i * half + k] = (double)i * frequency;
  return x;
}

/* Sines of each place, then cosines. */
static wick_value sinusoids(wick_builder *b, int64_t n, int64_t half, double ratio) {
  float *x = wk_xcalloc((size_t)(2 * n * half), sizeof *x);
  double *angle = angles(n, half, ratio);
  for (int64_t i = 0; i < n * half; i++) {
    float *row = x + i / half * 2 * half;
    row[i % half] = (float)sin(angle[i]);
    row[half + i % half] = (float)cos(angle[i]);
  }
  wick_value v = wick_constant(b, 3, (const int64_t[]){1, n, 2 * half}, x);
  free(angle);
  free(x);
  return v;
}

void wk_zoo_whisper_tiny(wick_builder *b) {
  enum { FRAMES = 3000, WIDTH = 384 };
  wick_value x = wick_input(b, "input_features", WK_F32, 3, (const int64_t[]){1, 80, FRAMES});
  wick_scope(b, "stem");
  for (int stride = 1; stride <= 2; stride++)
    x = wick_unary(b, WK_OP_GELU,
                   wick_conv(b, x, &(wick_conv_opts){.out = WIDTH, .kernel = 3, .stride = stride,
                                                     .pad = 1, .bias = true}));
  x = wick_transpose(b, x, (const int64_t[]){0, 2, 1});
  x = wick_add(b, x, sinusoids(b, FRAMES / 2, WIDTH / 2, 0x1.e7e575fa13238p-1));
  wick_output(b, "last_hidden_state", encoder(b, x, 4, 6, false));
}

/* ---- Llama ----------------------------------------------------------------------------------- */

typedef struct {
  wick_value cos, sin; /* [1, 1, tokens, width of a head] */
} rotary;

/* Both halves of a head turn by the same angles. */
static rotary rotary_of(wick_builder *b, int64_t n, int64_t half, double ratio) {
  double *angle = angles(n, half, ratio);
  float *c = wk_xcalloc((size_t)(4 * n * half), sizeof *c), *s = c + 2 * n * half;
  for (int64_t i = 0; i < 2 * n * half; i++) {
    double a = angle[i / (2 * half) * half + i % half];
    c[i] = (float)cos(a);
    s[i] = (float)sin(a);
  }
  const int64_t dims[] = {1, 1, n, 2 * half};
  rotary r = {wick_constant(b, 4, dims, c), wick_constant(b, 4, dims, s)};
  free(angle);
  free(c);
  return r;
}

/* x cos + (-x2, x1) sin, where x1 and x2 are the halves of each head. */
static wick_value rotated(wick_builder *b, wick_value x, rotary r) {
  int64_t half = wick_type_of(b, x).dims[3] / 2;
  wick_value halves[2] = {wick_unary(b, WK_OP_NEG, wick_slice(b, x, 3, half, half)),
                          wick_slice(b, x, 3, 0, half)};
  wick_value turned = wick_mul(b, wick_concat(b, halves, 2, 3), r.sin);
  return wick_add(b, wick_mul(b, x, r.cos), turned);
}

/* Each of the heads of x for `times` of the queries. */
static wick_value repeated(wick_builder *b, wick_value x, int64_t times) {
  const wk_type t = wick_type_of(b, x);
  const int64_t *d = t.dims;
  x = wick_reshape(b, x, 5, (const int64_t[]){d[0], d[1], 1, d[2], d[3]});
  x = wick_expand(b, x, 5, (const int64_t[]){d[0], d[1], times, d[2], d[3]});
  return wick_reshape(b, x, 4, (const int64_t[]){d[0], d[1] * times, d[2], d[3]});
}

static wick_value grouped_attention(wick_builder *b, wick_value x, int64_t heads, int64_t groups,
                                    rotary r, wick_value mask) {
  int64_t width = width_of(b, x), narrow = width / heads * groups;
  wick_value q = wick_project(b, x, width), k = wick_project(b, x, narrow);
  wick_value v = wk_zoo_heads(b, wick_project(b, x, narrow), groups);
  q = rotated(b, wk_zoo_heads(b, q, heads), r);
  k = rotated(b, wk_zoo_heads(b, k, groups), r);
  v = repeated(b, v, heads / groups);
  k = repeated(b, k, heads / groups);
  return wick_project(b, wk_zoo_attend(b, q, k, v, mask), width);
}

static wick_value gated(wick_builder *b, wick_value x, int64_t hidden) {
  wick_value gate = wick_project(b, x, hidden);
  gate = wick_mul(b, gate, wick_unary(b, WK_OP_SIGMOID, gate));
  return wick_project(b, wick_mul(b, gate, wick_project(b, x, hidden)), width_of(b, x));
}

void wk_zoo_llama_tiny(wick_builder *b) {
  enum { TOKENS = 128, WIDTH = 512, HEADS = 8, GROUPS = 2, LAYERS = 6, HIDDEN = 1408,
         WORDS = 32000 };
  wick_value ids = wick_input(b, "input_ids", WK_I64, 2, (const int64_t[]){1, TOKENS});
  wick_scope(b, "embeddings");
  wick_value x = wick_embedding(b, ids, WORDS, WIDTH);
  rotary r = rotary_of(b, TOKENS, WIDTH / HEADS / 2, 0x1.7ff2224115d9ap-1);
  wick_value mask = causal_mask(b, TOKENS, -FLT_MAX);
  for (int i = 0; i < LAYERS; i++) {
    layer_scope(b, i);
    x = wick_add(b, x, grouped_attention(b, wick_rms_norm(b, x), HEADS, GROUPS, r, mask));
    x = wick_add(b, x, gated(b, wick_rms_norm(b, x), HIDDEN));
  }
  wick_scope(b, "head");
  wick_output(b, "logits", wick_project(b, wick_rms_norm(b, x), WORDS));
}
