/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft: GroupQueryAttention with its cache of fixed or growing length, and
 * MultiHeadAttention. */
#include "compiler/onnx/attention_ms.h"
#include "compiler/onnx/handlers.h"

/* ---- GroupQueryAttention --------------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, SEQLENS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK };

typedef struct {
  int64_t batch, length, heads, kv_heads, depth;
  wk_value_id q, k, v; /* with heads */
  wk_value_id firsts;  /* position of the first query: i64[batch] */
} group;

static void read_operands(wk_onnx_node *c, group *g) {
  const wk_type t = *wk_onnx_type(c, c->in[QUERY]);
  *g = (group){.heads = wk_onnx_int(c, "num_heads", 0),
               .kv_heads = wk_onnx_int(c, "kv_num_heads", 0)};
  bool packed = !wk_onnx_has(c, KEY);
  bool fits = t.rank == 3 && g->heads > 0 && g->heads < (int64_t)1 << 30 && g->kv_heads > 0 &&
              g->heads % g->kv_heads == 0;
  int64_t in_row = !fits ? 1 : packed ? g->heads + 2 * g->kv_heads : g->heads;
  fits = fits && t.dims[2] % in_row == 0;
  if (!wk_onnx_valid(c, fits, "the query is not [batch,length,heads * depth]") ||
      !wk_onnx_valid(c, packed != wk_onnx_has(c, VALUE), "keys and values come together"))
    return;
  g->batch = t.dims[0];
  g->length = t.dims[1];
  g->depth = t.dims[2] / in_row;
  int64_t q = g->heads * g->depth, kv = g->kv_heads * g->depth;
  g->q = packed ? wk_make_slice(c, c->in[QUERY], 2, 0, q, 1) : c->in[QUERY];
  g->k = packed ? wk_make_slice(c, c->in[QUERY], 2, q, kv, 1) : c->in[KEY];
  g->v = packed ? wk_make_slice(c, c->in[QUERY], 2, q + kv, kv, 1) : c->in[VALUE];
  for (int i = 0; i < 2 && !c->status; i++) {
    const wk_type x = *wk_onnx_type(c, i ? g->v : g->k);
    wk_onnx_valid(c, x.rank == 3 && x.dims[0] == g->batch && x.dims[1] == g->length &&
                         x.dims[2] == kv, "keys or values are not [batch,length,kv heads * depth]");
  }
  g->q = wk_heads_split(c, g->q, g->heads);
  g->k = wk_heads_split(c, g->k, g->kv_heads);
  g->v = wk_heads_split(c, g->v, g->kv_heads);
  wk_value_id last = wk_make_reshape(c, wk_make_cast(c, c->in[SEQLENS], WK_I64), 1, &g->batch);
  g->firsts = wk_make_2(c, WK_OP_MAX, wk_make_add_f(c, last, 1 - (double)g->length),
                        wk_make_scalar(c, WK_I64, 0));
}

static void rotate(wk_onnx_node *c, group *g) {
  if (!wk_onnx_int(c, "do_rotary", 0) || c->status) return;
  if (!wk_onnx_valid(c, wk_onnx_has(c, COS) && wk_onnx_has(c, SIN), "do_rotary needs its tables"))
    return;
  wk_value_id at = wk_onnx_has(c, POSITIONS) ? c->in[POSITIONS] : WK_NONE;
  if (at == WK_NONE)
    at = wk_make_2(c, WK_OP_ADD, wk_make_along(c, g->firsts, 0, 2), wk_make_iota(c, g->length));
  wk_rotation r = {.cos = wk_rotation_rows(c, c->in[COS], at, true),
                   .sin = wk_rotation_rows(c, c->in[SIN], at, true),
                   .interleaved = wk_onnx_int(c, "rotary_interleaved", 0) != 0};
  g->q = wk_rotate(c, g->q, &r);
  g->k = wk_rotate(c, g->k, &r);
}

/* The cache with the new rows. It is as long as the past, or as total_sequence_length says where
 * that is known and more. Rows past a sample's length keep what the past has there, as where ONNX
 * Runtime shares the buffers. */
static wk_value_id present(wk_onnx_node *c, const group *g, int input, wk_value_id x) {
  if (c->status || !wk_onnx_has(c, input)) return x;
  wk_value_id cache = c->in[input];
  const wk_type t = *wk_onnx_type(c, cache), y = *wk_onnx_type(c, x);
  bool fits = t.rank == 4 && t.dtype == y.dtype && t.dims[0] == y.dims[0] &&
              t.dims[1] == y.dims[1] && t.dims[3] == y.dims[3];
  if (!wk_onnx_valid(c, fits, "input %d, a past, is not [batch,kv heads,length,depth]", input))
    return WK_NONE;
  if (t.dims[2] == 0) return x;
  int64_t total = 0;
  if (wk_is_const(c->g, c->in[TOTAL]))
    total = wk_onnx_const_int(c, c->in[TOTAL], "total_sequence_length");
  if (total > t.dims[2]) {
    int64_t more[] = {t.dims[0], t.dims[1], total - t.dims[2], t.dims[3]};
    wk_value_id zeros = wk_make_expand(c, wk_make_scalar(c, t.dtype, 0), 4, more);
    cache = wk_make_concat(c, (const wk_value_id[]){cache, zeros}, 2, 2);
  }
  wk_onnx_valid(c, total > t.dims[2] || g->length <= t.dims[2],
                "%lld new positions do not fit a past of length %lld", (long long)g->length,
                (long long)t.dims[2]);
  return wk_cache_write(c, cache, x, g->firsts, 2, false);
}

wk_status wk_onnx_group_query_attention(wk_onnx_node *c) {
  group g;
  int64_t window = wk_onnx_int(c, "local_window_size", -1);
  wk_dtype t = wk_onnx_type(c, c->in[QUERY])->dtype;
  for (int i = QUERY; i <= TOTAL; i++)
    wk_onnx_valid(c, (i >= KEY && i <= PAST_VALUE) || wk_onnx_has(c, i), "input %d is missing", i);
  wk_onnx_need(c, !wk_onnx_int(c, "smooth_softmax", 0) && !wk_onnx_has(c, SINK),
               "smooth softmax and sinks are not supported");
  wk_onnx_need(c, c->n_in <= SINK + 1 && wk_onnx_int(c, "qk_output", 0) == 0,
               "quantised caches and the output of scores are not supported");
  if (c->status) return c->status;
  read_operands(c, &g);
  rotate(c, &g);
  g.k = present(c, &g, PAST_KEY, g.k);
  g.v = present(c, &g, PAST_VALUE, g.v);
  if (c->status) return c->status;
  wk_onnx_result(c, 1, g.k);
  wk_onnx_result(c, 2, g.v);
  wk_attention a = {.q = g.q, .k = g.k, .v = g.v, .scale = wk_ms_scale(c, g.depth),
                    .softcap = wk_onnx_float(c, "softcap", 0)};
  wk_mask mask = wk_mask_for(c, wk_make_cast(c, a.q, wk_compute_dtype(t)), a.k);
  wk_mask_window(c, &mask, 0, g.firsts, window > 0 ? window - 1 : -1, 0);
  wk_ms_bias(c, &mask, BIAS);
  wk_onnx_result(c, 0, wk_ms_attend(c, &a, &mask, t));
  return c->status;
}

/* ---- MultiHeadAttention ---------------------------------------------------------------------- */

/* Part i of n, packed between the heads and their elements: [batch,length,heads,n,depth]. */
static wk_value_id unpacked(wk_onnx_node *c, wk_value_id x, int i, int n, int64_t heads) {
  const wk_type t = *wk_onnx_type(c, x);
  if (!wk_onnx_valid(c, t.rank == 5 && t.dims[2] == heads && t.dims[3] == n,
                     "a packed operand is not [batch,length,heads,%d,depth]", n))
    return WK_NONE;
  const int64_t flat[] = {t.dims[0], t.dims[1], heads * t.dims[4]};
  return wk_make_reshape(c, wk_make_slice(c, x, 3, i, 1, 1), 3, flat);
}

/* Operand i (query, key, value) as [batch, heads, length, depth], with its part of the bias. */
static wk_value_id operand(wk_onnx_node *c, int i, int64_t heads) {
  bool all = !wk_onnx_has(c, 1);
  wk_value_id x = c->in[i];
  if (all) x = unpacked(c, c->in[0], i, 3, heads);
  else if (i > 0 && !wk_onnx_has(c, 2)) x = unpacked(c, c->in[1], i - 1, 2, heads);
  if (c->status) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, x);
  if (t.rank == 4) return x; /* keys and values with heads have no bias */
  if (!wk_onnx_valid(c, t.rank == 3 && t.dims[2] % heads == 0,
                     "operand %d is not [batch,length,heads * depth]", i))
    return WK_NONE;
  if (wk_onnx_has(c, 3)) {
    const wk_type b = *wk_onnx_type(c, c->in[3]);
    int64_t first = i == 2 ? b.dims[0] - t.dims[2] : i * t.dims[2];
    if (!wk_onnx_valid(c, b.rank == 1 && first >= 0 && first + t.dims[2] <= b.dims[0],
                       "the bias does not fit the operands"))
      return WK_NONE;
    x = wk_make_2(c, WK_OP_ADD, x, wk_make_slice(c, c->in[3], 0, first, t.dims[2], 1));
  }
  return wk_heads_split(c, x, heads);
}

wk_status wk_onnx_multi_head_attention(wk_onnx_node *c) {
  int64_t heads = wk_onnx_int(c, "num_heads", 0), past = 0;
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  wk_onnx_valid(c, heads > 0 && heads < (int64_t)1 << 31, "num_heads is %lld", (long long)heads);
  wk_onnx_need(c, c->n_in <= 8 && !wk_onnx_wants(c, 3), "cache indirection is not supported");
  if (c->status) return c->status;
  wk_attention a = {
      .q = operand(c, 0, heads), .k = operand(c, 1, heads), .v = operand(c, 2, heads)};
  if (c->status) return c->status;
  if (wk_onnx_has(c, 6)) past = wk_onnx_type(c, c->in[6])->dims[2];
  a.k = wk_heads_append(c, wk_onnx_has(c, 6) ? c->in[6] : WK_NONE, a.k);
  a.v = wk_heads_append(c, wk_onnx_has(c, 7) ? c->in[7] : WK_NONE, a.v);
  if (c->status) return c->status;
  wk_onnx_result(c, 1, a.k);
  wk_onnx_result(c, 2, a.v);
  a.scale = wk_ms_scale(c, wk_onnx_type(c, a.q)->dims[3]);
  wk_mask mask = wk_mask_for(c, wk_make_cast(c, a.q, wk_compute_dtype(t)), a.k);
  wk_ms_mask(c, &mask, 4, past);
  wk_ms_bias(c, &mask, 5);
  if (wk_onnx_int(c, "unidirectional", 0)) wk_mask_window(c, &mask, past, WK_NONE, -1, 0);
  wk_onnx_result(c, 0, wk_ms_attend(c, &a, &mask, t));
  return c->status;
}
