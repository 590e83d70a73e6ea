/* SPDX-License-Identifier: Apache-2.0
 * Normalisations. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/quant.h"

/* Mean and (biased) variance of x over axes, with the reduced axes kept. The variance is one fold,
 * so that nothing of x's size is kept for its adjoint. */
static void moments(wk_onnx_node *c, wk_value_id x, wk_ints axes, wk_value_id *mean,
                    wk_value_id *var) {
  WK_MAKE_ATTRS(c, a, REDUCE, reduce);
  *mean = wk_make_reduce(c, WK_OP_REDUCE_MEAN, x, axes, true);
  const wk_type type = *wk_onnx_type(c, x);
  wk_dtype t = type.dtype, wide = wk_compute_dtype(t);
  double count = 1;
  for (int64_t i = 0; i < axes.n; i++) count *= (double)type.dims[axes.v[i]];
  wk_expr_builder *b = wk_expr_begin(c->im->m->arena);
  uint16_t v = wk_expr_cast(b, wide, wk_expr_input(b, 0, t));
  v = wk_expr_2(b, WK_EX_SUB, v, wk_expr_cast(b, wide, wk_expr_input(b, 1, t)));
  v = wk_expr_2(b, WK_EX_MUL, v, v);
  a->kind = "sum";
  a->axes = axes;
  a->keepdims = 1;
  a->pre = wk_expr_finish(b, &v, 1);
  b = wk_expr_begin(c->im->m->arena);
  v = wk_expr_2(b, WK_EX_DIV, wk_expr_input(b, 0, wide), wk_expr_f(b, wide, count));
  v = wk_expr_cast(b, t, v);
  a->post = wk_expr_finish(b, &v, 1);
  *var = wk_make(c, WK_OP_REDUCE, a, 2, x, *mean);
}

/* ---- batch normalisation ------------------------------------------------------------------- */

static wk_value_id affine(wk_onnx_node *c, wk_value_id x, wk_value_id mean, wk_value_id var,
                          double eps) {
  WK_MAKE_ATTRS(c, a, BATCH_NORM, batch_norm);
  a->epsilon = eps;
  wk_dtype t = wk_onnx_type(c, x)->dtype;
  wk_value_id v[4] = {c->in[1], c->in[2], mean, var};
  for (int i = 0; i < 4; i++) v[i] = wk_make_cast(c, v[i], t);
  return wk_make(c, WK_OP_BATCH_NORM, a, 5, x, v[0], v[1], v[2], v[3]);
}

static wk_value_id running(wk_onnx_node *c, wk_value_id old, wk_value_id now, double momentum) {
  wk_value_id a = wk_make_mul_f(c, old, momentum);
  return wk_make_2(c, WK_OP_ADD, a, wk_make_mul_f(c, now, 1.0 - momentum));
}

/* Statistics of this batch, and the running ones moved towards them. */
static wk_status batch_norm_training(wk_onnx_node *c, double eps) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  double momentum = wk_onnx_float(c, "momentum", 0.9f);
  int64_t axes[WK_MAX_RANK], n = 0, channels = x.dims[1];
  wk_value_id mean, var;
  for (int i = 0; i < x.rank; i++) {
    if (i != 1) axes[n++] = i;
  }
  moments(c, c->in[0], wk_ints_dup(c->im->m->arena, axes, n), &mean, &var);
  mean = wk_make_reshape(c, mean, 1, &channels);
  var = wk_make_reshape(c, var, 1, &channels);
  wk_onnx_result(c, 0, affine(c, c->in[0], mean, var, eps));
  wk_dtype t = wk_onnx_type(c, c->in[3])->dtype;
  for (int i = 0; i < 2; i++) {
    wk_value_id now = wk_make_cast(c, i ? var : mean, t);
    wk_onnx_result(c, 1 + i, running(c, wk_training_now(c, c->in[3 + i]), now, momentum));
    wk_training_move(c, c->in[3 + i], c->out[1 + i].value);
  }
  return c->status;
}

wk_status wk_onnx_batch_norm(wk_onnx_node *c) {
  double eps = wk_onnx_float(c, "epsilon", 1e-5f);
  wk_onnx_valid(c, wk_onnx_type(c, c->in[0])->rank >= 2, "the input has no channel axis");
  wk_onnx_need(c, wk_onnx_int(c, "spatial", 1) != 0,
               "statistics per element (spatial=0) are not supported");
  if (!wk_onnx_ok(c)) return c->status;
  bool is_asked = c->opset >= 14 && wk_onnx_int(c, "training_mode", 0);
  wk_import_purpose purpose = c->im->opt->purpose;
  if (purpose == WK_FOR_TRAINING || (purpose < WK_FOR_EVALUATION && is_asked))
    return batch_norm_training(c, eps);
  if (purpose == WK_FOR_EVALUATION || purpose == WK_FOR_TRAINING_FROZEN_NORM)
    return wk_onnx_return(c, affine(c, c->in[0], c->in[3], c->in[4], eps));
  bool trains = c->opset < 7 && !wk_onnx_int(c, "is_test", 0) && wk_onnx_wants(c, 1);
  wk_onnx_need(c, !trains, "training mode before opset 14 is not supported");
  return wk_onnx_return(c, affine(c, c->in[0], c->in[3], c->in[4], eps));
}

/* ---- the others ---------------------------------------------------------------------------- */

wk_status wk_onnx_instance_norm(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, INSTANCE_NORM, instance_norm);
  a->epsilon = wk_onnx_float(c, "epsilon", 1e-5f);
  return wk_onnx_return(c, wk_make(c, WK_OP_INSTANCE_NORM, a, 3, c->in[0], c->in[1], c->in[2]));
}

/* [groups] -> [channels], each repeated. */
static wk_value_id per_channel(wk_onnx_node *c, wk_value_id v, int64_t groups, int64_t channels) {
  const int64_t column[2] = {groups, 1}, wide[2] = {groups, channels / groups};
  v = wk_make_expand(c, wk_make_reshape(c, v, 2, column), 2, wide);
  return wk_make_reshape(c, v, 1, &channels);
}

/* Before opset 21 scale and bias had one entry per group. */
wk_status wk_onnx_group_norm(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t groups = wk_onnx_int(c, "num_groups", 0);
  wk_value_id scale = c->in[1], bias = c->in[2];
  if (!wk_onnx_valid(c, x.rank >= 2 && groups > 0 && x.dims[1] % groups == 0,
                     "%lld groups do not divide the channels",
                     (long long)groups)) return c->status;
  if (c->opset < 21) {
    scale = per_channel(c, scale, groups, x.dims[1]);
    bias = per_channel(c, bias, groups, x.dims[1]);
  }
  WK_MAKE_ATTRS(c, a, GROUP_NORM, group_norm);
  a->groups = groups;
  a->epsilon = wk_onnx_float(c, "epsilon", 1e-5f);
  return wk_onnx_return(c, wk_make(c, WK_OP_GROUP_NORM, a, 3, c->in[0], scale, bias));
}

/* com.microsoft: channels last unless it says otherwise, SiLU behind it where `activation` is 1. */
static wk_value_id group_norm_of(wk_onnx_node *c, wk_value_id x, bool last) {
  const wk_type t = *wk_onnx_type(c, x);
  int64_t activation = wk_onnx_int(c, "activation", 0);
  wk_onnx_valid(c, activation == 0 || activation == 1, "activation is %lld, not 0 or 1",
                (long long)activation);
  WK_MAKE_ATTRS(c, a, GROUP_NORM, group_norm);
  a->groups = wk_onnx_int(c, "groups", 0);
  a->epsilon = wk_onnx_float(c, "epsilon", 1e-5f);
  if (last) x = wk_make_channels_first(c, x);
  wk_value_id y = wk_make(c, WK_OP_GROUP_NORM, a, 3, x, wk_make_cast(c, c->in[1], t.dtype),
                          wk_make_cast(c, c->in[2], t.dtype));
  if (activation) y = wk_make_1(c, WK_OP_SILU, y);
  return last ? wk_make_channels_last(c, y) : y;
}

wk_status wk_onnx_group_norm_ms(wk_onnx_node *c) {
  bool last = wk_onnx_int(c, "channels_last", 1) != 0;
  return wk_onnx_return(c, group_norm_of(c, c->in[0], last));
}

/* Of x + skip + bias, which output 1 is; skip may be [n, channels]. */
wk_status wk_onnx_skip_group_norm(wk_onnx_node *c) {
  bool last = wk_onnx_int(c, "channels_last", 1) != 0;
  const wk_type x = *wk_onnx_type(c, c->in[0]), s = *wk_onnx_type(c, c->in[3]);
  if (!wk_onnx_valid(c, x.rank == 4 && (s.rank == 2 || s.rank == 4), "no images, or no skip"))
    return c->status;
  const wk_ints axes = {2, last ? (const int64_t[]){1, 2} : (const int64_t[]){2, 3}};
  wk_value_id skip = s.rank == 2 ? wk_make_unsqueeze(c, c->in[3], axes) : c->in[3];
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, c->in[0], skip);
  if (wk_onnx_has(c, 4))
    sum = wk_make_2(c, WK_OP_ADD, sum, wk_make_along(c, c->in[4], last ? 3 : 1, 4));
  const wk_type t = *wk_onnx_type(c, sum);
  wk_onnx_valid(c, wk_shape_equal(&x, &t), "skip or bias does not fit the input");
  wk_onnx_result(c, 1, sum);
  return wk_onnx_return(c, group_norm_of(c, sum, last));
}

static wk_status layer_norm_of(wk_onnx_node *c, wk_value_id x, wk_value_id scale, wk_value_id bias,
                               double epsilon) {
  WK_MAKE_ATTRS(c, a, LAYER_NORM, layer_norm);
  a->axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", -1), wk_onnx_type(c, x)->rank);
  a->epsilon = wk_onnx_float(c, "epsilon", epsilon);
  const wk_value_id in[3] = {x, scale, bias};
  wk_value_id out[3] = {WK_NONE, WK_NONE, WK_NONE};
  int n_out = wk_onnx_wants(c, 2) ? 3 : wk_onnx_wants(c, 1) ? 2 : 1;
  wk_make_n(c, WK_OP_LAYER_NORM, a, in, bias == WK_NONE ? 2 : 3, out, n_out);
  for (int i = 0; i < 3; i++) wk_onnx_result(c, i, out[i]);
  return c->status;
}

wk_status wk_onnx_layer_norm(wk_onnx_node *c) {
  return layer_norm_of(c, c->in[0], c->in[1], c->in[2], 1e-5f);
}

/* com.microsoft: LayerNormalization(x + skip + bias); output 3 is the sum. */
wk_status wk_onnx_skip_layer_norm(wk_onnx_node *c) {
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, c->in[0], c->in[1]);
  if (wk_onnx_has(c, 4)) sum = wk_make_2(c, WK_OP_ADD, sum, c->in[4]);
  layer_norm_of(c, sum, c->in[2], c->in[3], 1e-12f);
  wk_onnx_result(c, 1, WK_NONE);
  wk_onnx_result(c, 2, WK_NONE);
  wk_onnx_result(c, 3, sum);
  return c->status;
}

/* Rows of a table [entries, hidden] for positions [.., length]. */
static wk_value_id rows_of(wk_onnx_node *c, int table, wk_value_id positions) {
  if (!wk_onnx_valid(c, wk_onnx_has(c, table) && wk_onnx_type(c, c->in[table])->rank == 2,
                     "input %d is no table of embeddings", table))
    return WK_NONE;
  return wk_make_gather(c, c->in[table], positions, 0);
}

/* How many words of each sample the mask (input 7) shows: i32[batch]. */
static wk_value_id count_words(wk_onnx_node *c, int64_t batch) {
  if (!wk_onnx_has(c, 7)) return wk_make_expand(c, wk_make_scalar(c, WK_I32, 0), 1, &batch);
  wk_value_id shown = wk_make_2(c, WK_OP_EQUAL, c->in[7],
                                wk_make_scalar(c, wk_onnx_type(c, c->in[7])->dtype, 1));
  return wk_make_reduce(c, WK_OP_REDUCE_SUM, wk_make_cast(c, shown, WK_I32),
                        wk_make_axes(c, 1, 2), false);
}

/* com.microsoft: LayerNormalization of the sum of a word's, its position's and its segment's
 * embeddings; output 1 counts the words that the mask shows, output 2 is the sum. */
wk_status wk_onnx_embed_layer_norm(wk_onnx_node *c) {
  const wk_type ids = *wk_onnx_type(c, c->in[0]), table = *wk_onnx_type(c, c->in[3]);
  bool has_positions = wk_onnx_has(c, 8);
  wk_onnx_valid(c, ids.rank == 2, "input_ids are not [batch, length]");
  wk_onnx_valid(c, wk_onnx_has(c, 5) && wk_onnx_has(c, 6), "gamma or beta is missing");
  wk_onnx_valid(c, has_positions || (table.rank == 2 && table.dims[0] >= ids.dims[1]),
                "there are fewer positions than words");
  if (c->status) return c->status;
  wk_value_id position = has_positions ? rows_of(c, 3, c->in[8])
                                       : wk_make_slice(c, c->in[3], 0, 0, ids.dims[1], 1);
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, rows_of(c, 2, c->in[0]), position);
  if (wk_onnx_has(c, 1)) sum = wk_make_2(c, WK_OP_ADD, sum, rows_of(c, 4, c->in[1]));
  layer_norm_of(c, sum, c->in[5], c->in[6], 1e-12f);
  wk_onnx_result(c, 1, count_words(c, ids.dims[0]));
  wk_onnx_result(c, 2, sum);
  return c->status;
}

/* The same with 8-bit tables, gamma and beta: their scales are five inputs further on than
 * themselves and one less (there is a mask between), their zero points ten. */
wk_status wk_onnx_quantized_embed_layer_norm(wk_onnx_node *c) {
  enum { IDS, SEGMENTS, WORDS, POSITIONS, SEGMENT_TABLE, GAMMA, BETA, SCALE = 6, ZERO = 11 };
  const wk_type ids = *wk_onnx_type(c, c->in[IDS]), table = *wk_onnx_type(c, c->in[POSITIONS]);
  bool has_segments = wk_onnx_has(c, SEGMENTS);
  wk_value_id x[BETA + 1] = {0};
  for (int i = WORDS; i <= BETA; i++)
    wk_onnx_valid(c, (i == SEGMENT_TABLE && !has_segments) ||
                         (wk_onnx_has(c, i) && wk_onnx_has(c, i + SCALE) &&
                          wk_onnx_has(c, i + ZERO)), "input %d or its scale is missing", i);
  wk_onnx_valid(c, ids.rank == 2 && table.rank == 2 && table.dims[0] >= ids.dims[1],
                "input_ids are not [batch, length], or there are fewer positions than words");
  if (c->status) return c->status;
  x[WORDS] = rows_of(c, WORDS, c->in[IDS]);
  x[POSITIONS] = wk_make_slice(c, c->in[POSITIONS], 0, 0, ids.dims[1], 1);
  if (has_segments) x[SEGMENT_TABLE] = rows_of(c, SEGMENT_TABLE, c->in[SEGMENTS]);
  x[GAMMA] = c->in[GAMMA];
  x[BETA] = c->in[BETA];
  for (int i = WORDS; i <= BETA; i++) {
    if (i != SEGMENT_TABLE || has_segments)
      x[i] = wk_quant_dequantize(c, x[i], c->in[i + SCALE], c->in[i + ZERO]);
  }
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, x[WORDS], x[POSITIONS]);
  if (has_segments) sum = wk_make_2(c, WK_OP_ADD, sum, x[SEGMENT_TABLE]);
  layer_norm_of(c, sum, x[GAMMA], x[BETA], 1e-12f);
  wk_onnx_result(c, 1, count_words(c, ids.dims[0]));
  wk_onnx_result(c, 2, WK_NONE);
  return c->status;
}

/* x / sqrt(mean(x^2) + epsilon) * scale, computed in `stash`; the result has the type of the scale.
 * *inv_std: the factor of x. */
static wk_value_id rms_norm_of(wk_onnx_node *c, wk_value_id x, wk_value_id scale, double epsilon,
                               wk_dtype stash, wk_value_id *inv_std) {
  const wk_type t = *wk_onnx_type(c, x);
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", -1), t.rank);
  if (t.dtype == WK_F64) stash = WK_F64;
  x = wk_make_cast(c, x, stash);
  wk_value_id square = wk_make_2(c, WK_OP_MUL, x, x);
  square = wk_make_reduce(c, WK_OP_REDUCE_MEAN, square, wk_make_axes(c, (int)axis, t.rank), true);
  square = wk_make_1(c, WK_OP_SQRT,
                     wk_make_add_f(c, square, wk_onnx_float(c, "epsilon", epsilon)));
  if (inv_std) *inv_std = wk_make_1(c, WK_OP_RECIPROCAL, square);
  x = wk_make_2(c, WK_OP_DIV, x, square);
  x = wk_make_2(c, WK_OP_MUL, x, wk_make_cast(c, scale, stash));
  return wk_make_cast(c, x, wk_onnx_type(c, scale)->dtype);
}

wk_status wk_onnx_rms_norm(wk_onnx_node *c) {
  wk_dtype stash = wk_onnx_dtype(c, "stash_type", WK_F32);
  return wk_onnx_return(c, rms_norm_of(c, c->in[0], c->in[1], 1e-5f, stash, NULL));
}

/* ONNX Runtime's name for it, with the factor as output 1. */
wk_status wk_onnx_simplified_layer_norm(wk_onnx_node *c) {
  wk_dtype stash = wk_onnx_dtype(c, "stash_type", WK_F32);
  wk_value_id inv_std = WK_NONE;
  wk_value_id y = rms_norm_of(c, c->in[0], c->in[1], 1e-5f, stash,
                              wk_onnx_wants(c, 1) ? &inv_std : NULL);
  wk_onnx_result(c, 1, inv_std);
  return wk_onnx_return(c, y);
}

/* com.microsoft: the same of x + skip + bias; output 3 is the sum. */
wk_status wk_onnx_skip_simplified_layer_norm(wk_onnx_node *c) {
  wk_value_id sum = wk_make_2(c, WK_OP_ADD, c->in[0], c->in[1]);
  if (wk_onnx_has(c, 3)) sum = wk_make_2(c, WK_OP_ADD, sum, c->in[3]);
  wk_onnx_result(c, 1, WK_NONE);
  wk_onnx_result(c, 2, WK_NONE);
  wk_onnx_result(c, 3, sum);
  return wk_onnx_return(c, rms_norm_of(c, sum, c->in[2], 1e-12f, WK_F32, NULL));
}

wk_status wk_onnx_lp_norm(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, LP_NORM, lp_norm);
  a->axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", -1), wk_onnx_type(c, c->in[0])->rank);
  a->p = wk_onnx_int(c, "p", 2);
  return wk_onnx_return(c, wk_make(c, WK_OP_LP_NORM, a, 1, c->in[0]));
}

/* (x - mean) / (deviation + 1e-9) over axes. */
wk_status wk_onnx_mean_variance_norm(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_ints axes = wk_onnx_ints(c, "axes");
  if (axes.n < 0) axes = wk_ints_dup(c->im->m->arena, (const int64_t[]){0, 2, 3}, 3);
  axes = wk_onnx_axes(c, axes, rank);
  wk_value_id mean, var;
  moments(c, c->in[0], axes, &mean, &var);
  wk_value_id deviation = wk_make_add_f(c, wk_make_1(c, WK_OP_SQRT, var), 1e-9);
  wk_value_id d = wk_make_2(c, WK_OP_SUB, c->in[0], mean);
  return wk_onnx_return(c, wk_make_2(c, WK_OP_DIV, d, deviation));
}
