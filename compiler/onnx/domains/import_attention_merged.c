/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft: Attention and QAttention, which project their input to queries, keys and values
 * with one matrix of weights. */
#include "compiler/onnx/domains/attention_ms.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/matmul.h"
#include "compiler/onnx/import/quant.h"

/* Sizes of queries (keys alike) and values, together the columns of the weights. */
typedef struct { int64_t heads, hidden, v_hidden; } sizes;

static bool read_sizes(wk_onnx_node *c, sizes *s) {
  const wk_type *x = wk_onnx_type(c, c->in[0]), *w = wk_onnx_type(c, c->in[1]);
  wk_ints given = wk_onnx_ints(c, "qkv_hidden_sizes");
  s->heads = wk_onnx_int(c, "num_heads", 0);
  bool fits = x->rank == 3 && w->rank == 2 && w->dims[0] == x->dims[2];
  if (!wk_onnx_valid(c, fits, "the weights are no matrix for an input [batch,length,hidden]") ||
      !wk_onnx_valid(c, s->heads > 0, "num_heads is %lld", (long long)s->heads))
    return false;
  int64_t columns = w->dims[1];
  bool is_even = given.n <= 0;
  fits = is_even ? columns % 3 == 0 : given.n == 3 && given.v[0] == given.v[1];
  s->hidden = is_even ? columns / 3 : fits ? given.v[0] : 0;
  fits = fits && s->hidden > 0 && s->hidden < columns && columns - s->hidden > s->hidden;
  s->v_hidden = columns - 2 * s->hidden;
  fits = fits && (is_even || given.v[2] == s->v_hidden);
  return wk_onnx_valid(c, fits && s->hidden % s->heads == 0 && s->v_hidden % s->heads == 0,
                       "%lld columns of weights are not queries, keys and values of %lld heads",
                       (long long)columns, (long long)s->heads);
}

/* Columns first … first + n of the projection, with heads. */
static wk_value_id part(wk_onnx_node *c, wk_value_id x, int64_t first, int64_t n, int64_t heads) {
  wk_value_id y = wk_extent_like(c, wk_make_slice(c, x, 2, first, n, 1), x);
  return wk_heads_split(c, y, heads);
}

/* Keys (0) or values (1) of a past [2, batch, heads, length, depth]. */
static wk_value_id past_of(wk_onnx_node *c, int input, int64_t which, wk_value_id now) {
  if (c->status || !wk_onnx_has(c, input)) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, c->in[input]), x = *wk_onnx_type(c, now);
  bool fits = t.rank == 5 && t.dims[0] == 2 && t.dims[1] == x.dims[0] && t.dims[2] == x.dims[1] &&
              t.dims[4] == x.dims[3] && t.dtype == x.dtype;
  if (!wk_onnx_valid(c, fits, "the past is not [2,batch,heads,length,depth]")) return WK_NONE;
  const wk_size *dims[5];
  wk_extent_dims(c, c->in[input], dims);
  wk_value_id y = wk_make_slice(c, c->in[input], 0, which, 1, 1);
  return wk_extent_set(c, wk_make_reshape(c, y, 4, t.dims + 1), dims + 1);
}

static wk_value_id stacked(wk_onnx_node *c, wk_value_id k, wk_value_id v) {
  const wk_ints first = {1, (const int64_t[]){0}};
  const wk_value_id parts[] = {wk_make_unsqueeze(c, k, first), wk_make_unsqueeze(c, v, first)};
  const wk_size *dims[5] = {wk_size_const(c, 2)};
  if (c->status) return WK_NONE;
  wk_extent_dims(c, k, dims + 1);
  return wk_extent_set(c, wk_make_concat(c, parts, 2, 0), dims);
}

/* Only batches and lengths may have sizes that are only known at run time. */
static bool check_sizes_of(wk_onnx_node *c, int past_input) {
  wk_extent_allow(c, 0, 1u << 0 | 1u << 1);
  for (int i = 1; i < 3; i++) wk_extent_allow(c, i, 0);
  wk_extent_allow(c, past_input, 1u << 1 | 1u << 3);
  return wk_extent_match(c, 0, 0, past_input, 1);
}

/* Attention of a projection [batch, length, 2 * hidden + v_hidden]; mask, past and bias are
 * inputs, -1: none. */
static wk_status attend_merged(wk_onnx_node *c, wk_value_id x, const sizes *s, int mask_input,
                               int past_input, int bias_input) {
  if (c->status) return c->status;
  wk_dtype t = wk_onnx_type(c, x)->dtype;
  wk_attention a = {.q = part(c, x, 0, s->hidden, s->heads),
                    .k = part(c, x, s->hidden, s->hidden, s->heads),
                    .v = part(c, x, 2 * s->hidden, s->v_hidden, s->heads)};
  bool has_past = wk_onnx_has(c, past_input);
  wk_onnx_valid(c, !has_past || s->hidden == s->v_hidden,
                "with a past, keys and values have one size");
  a.k = wk_heads_append(c, past_of(c, past_input, 0, a.k), a.k);
  a.v = wk_heads_append(c, past_of(c, past_input, 1, a.v), a.v);
  if (wk_onnx_wants(c, 1)) {
    wk_onnx_valid(c, s->hidden == s->v_hidden, "with a present, keys and values have one size");
    wk_onnx_result(c, 1, stacked(c, a.k, a.v));
  }
  a.scale = wk_ms_scale(c, s->hidden / s->heads);
  const wk_size *past = has_past ? wk_extent_dim(c, c->in[past_input], 3) : wk_size_const(c, 0);
  wk_mask mask = wk_mask_for(c, a.q, a.k);
  wk_ms_mask(c, &mask, mask_input, past);
  if (bias_input >= 0) wk_ms_bias(c, &mask, bias_input);
  if (wk_onnx_int(c, "unidirectional", 0)) wk_mask_window(c, &mask, past, WK_NONE, -1, 0);
  wk_onnx_result(c, 0, wk_ms_attend(c, &a, &mask, t, NULL));
  return c->status;
}

/* What both operators have and nothing here computes. */
static bool is_plain(wk_onnx_node *c) {
  wk_onnx_need(c, !wk_onnx_int(c, "do_rotary", 0), "do_rotary is not supported");
  wk_onnx_need(c, !wk_onnx_int(c, "past_present_share_buffer", 0),
               "a past that shares its buffer with the present is not supported");
  return wk_onnx_ok(c);
}

wk_status wk_onnx_attention_ms(wk_onnx_node *c) {
  enum { INPUT, WEIGHTS, BIAS, MASK, PAST, SCORES_BIAS };
  sizes s;
  if (!is_plain(c) || !check_sizes_of(c, PAST) || !read_sizes(c, &s)) return c->status;
  wk_value_id x = wk_matmul_emit(c, c->in[INPUT], c->in[WEIGHTS]);
  if (wk_onnx_has(c, BIAS)) x = wk_make_2(c, WK_OP_ADD, x, c->in[BIAS]);
  x = wk_extent_like(c, x, c->in[INPUT]);
  return attend_merged(c, x, &s, MASK, PAST, SCORES_BIAS);
}

wk_status wk_onnx_qattention(wk_onnx_node *c) {
  enum { INPUT, WEIGHTS, BIAS, SCALE, W_SCALE, MASK, ZERO, W_ZERO, PAST };
  sizes s;
  if (!is_plain(c) || !check_sizes_of(c, PAST) || !read_sizes(c, &s)) return c->status;
  wk_value_id zero = wk_onnx_has(c, ZERO) ? c->in[ZERO] : WK_NONE;
  wk_value_id w_zero = wk_onnx_has(c, W_ZERO) ? c->in[W_ZERO] : WK_NONE;
  wk_value_id x = wk_quant_product(c, c->in[INPUT], zero, c->in[SCALE], c->in[WEIGHTS], w_zero,
                                   c->in[W_SCALE], c->in[BIAS]);
  x = wk_extent_like(c, x, c->in[INPUT]);
  return attend_merged(c, x, &s, MASK, PAST, -1);
}
