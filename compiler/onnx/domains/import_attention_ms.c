/* SPDX-License-Identifier: Apache-2.0
 * com.microsoft: GroupQueryAttention with its cache of fixed or growing length, and
 * MultiHeadAttention. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/domains/attention_ms.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/narrow.h"
#include "compiler/onnx/import/quant.h"

/* ---- GroupQueryAttention --------------------------------------------------------------------- */

enum {
  QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, SEQLENS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK, K_SCALE,
  V_SCALE, Q_NORM, K_NORM, LENGTHS
};

typedef struct {
  int64_t batch, length, heads, kv_heads, depth; /* rooms */
  const wk_size *rows;  /* the size of length */
  const wk_size *total; /* total_sequence_length where only a run knows it; or NULL */
  wk_value_id q, k, v;  /* with heads */
  wk_value_id firsts;   /* position of the first query: i64[batch] */
} group;

/* Columns first … first + n of packed operands. */
static wk_value_id columns(wk_onnx_node *c, wk_value_id x, int64_t first, int64_t n) {
  return wk_extent_like(c, wk_make_slice(c, x, 2, first, n, 1), x);
}

static void read_operands(wk_onnx_node *c, group *g) {
  const wk_type t = *wk_onnx_type(c, c->in[QUERY]);
  g->heads = wk_onnx_int(c, "num_heads", 0);
  g->kv_heads = wk_onnx_int(c, "kv_num_heads", 0);
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
  g->q = packed ? columns(c, c->in[QUERY], 0, q) : c->in[QUERY];
  g->k = packed ? columns(c, c->in[QUERY], q, kv) : c->in[KEY];
  g->v = packed ? columns(c, c->in[QUERY], q + kv, kv) : c->in[VALUE];
  for (int i = 0; i < 2 && !c->status; i++) {
    const wk_type x = *wk_onnx_type(c, i ? g->v : g->k);
    wk_onnx_valid(c, x.rank == 3 && x.dims[0] == g->batch && x.dims[1] == g->length &&
                         x.dims[2] == kv, "keys or values are not [batch,length,kv heads * depth]");
  }
  g->q = wk_heads_split(c, g->q, g->heads);
  g->k = wk_heads_split(c, g->k, g->kv_heads);
  g->v = wk_heads_split(c, g->v, g->kv_heads);
}

/* Positions of the first queries: lengths of the samples less their new words, of which a padded
 * chunk (query_seqlens) may have fewer than its rows. */
static void find_firsts(wk_onnx_node *c, group *g) {
  wk_value_id last = wk_make_reshape(c, wk_make_cast(c, c->in[SEQLENS], WK_I64), 1, &g->batch);
  if (wk_onnx_has(c, LENGTHS)) {
    wk_value_id n = wk_make_reshape(c, wk_make_cast(c, c->in[LENGTHS], WK_I64), 1, &g->batch);
    last = wk_make_2(c, WK_OP_SUB, wk_make_add_f(c, last, 1), n);
  } else {
    last = wk_extent_plus(c, last, wk_size_sub(c, wk_size_const(c, 1), g->rows));
  }
  g->firsts = wk_make_2(c, WK_OP_MAX, last, wk_make_scalar(c, WK_I64, 0));
  const wk_size *batch = wk_extent_dim(c, c->in[QUERY], 0);
  g->firsts = wk_extent_set(c, g->firsts, &batch);
  g->firsts = wk_extent_filled(c, g->firsts, 0, wk_extent_number(c, 0));
}

static void rotate(wk_onnx_node *c, group *g) {
  if (!wk_onnx_int(c, "do_rotary", 0) || c->status) return;
  if (!wk_onnx_valid(c, wk_onnx_has(c, COS) && wk_onnx_has(c, SIN), "do_rotary needs its tables"))
    return;
  wk_value_id at = wk_onnx_has(c, POSITIONS) ? c->in[POSITIONS] : WK_NONE;
  if (at == WK_NONE)
    at = wk_make_2(c, WK_OP_ADD, wk_make_along(c, g->firsts, 0, 2),
                   wk_extent_count(c, g->length, g->rows));
  wk_rotation r = {.cos = wk_rotation_rows(c, c->in[COS], at, true),
                   .sin = wk_rotation_rows(c, c->in[SIN], at, true),
                   .interleaved = wk_onnx_int(c, "rotary_interleaved", 0) != 0};
  g->q = wk_rotate(c, g->q, &r);
  g->k = wk_rotate(c, g->k, &r);
}

/* A cache of keys or values. Where it is quantised, its elements are bytes, or pairs of 4-bit
 * values with 8 added. */
typedef struct {
  int input, bits; /* bits 0: not quantised */
  wk_value_id scale;
} cache;

static cache cache_of(wk_onnx_node *c, int input, int scale, const char *attribute) {
  cache k = {.input = input, .scale = WK_NONE};
  const char *kind = wk_onnx_text(c, attribute, "NONE");
  if (strcmp(kind, "NONE") == 0) return k;
  bool is_known = strcmp(kind, "PER_TENSOR") == 0 || strcmp(kind, "PER_CHANNEL") == 0;
  k.bits = (int)wk_onnx_int(c, "kv_cache_bit_width", 8);
  wk_onnx_valid(c, is_known, "%s '%s' is not defined", attribute, kind);
  wk_onnx_valid(c, k.bits == 4 || k.bits == 8, "kv_cache_bit_width is %d, not 4 or 8", k.bits);
  wk_onnx_valid(c, wk_onnx_has(c, input) && wk_onnx_has(c, scale),
                "a quantised cache needs input %d and its scale, input %d", input, scale);
  if (c->status) return k;
  wk_onnx_valid(c, wk_onnx_type(c, c->in[input])->dtype == (k.bits == 4 ? WK_U8 : WK_I8),
                "a cache of %d bits is not %s", k.bits, k.bits == 4 ? "u8" : "i8");
  k.scale = wk_make_cast(c, c->in[scale], WK_F32);
  return k;
}

/* New rows as the cache has them. */
static wk_value_id stored(wk_onnx_node *c, const cache *k, wk_value_id x) {
  if (k->bits == 0) return x;
  wk_value_id from = x;
  x = wk_quant_quantize(c, wk_make_cast(c, x, WK_F32), k->scale, WK_NONE, WK_I8);
  if (k->bits == 8 || c->status) return wk_extent_like(c, x, from);
  x = wk_make_2(c, WK_OP_MAX, x, wk_make_scalar(c, WK_I8, -8));
  x = wk_make_2(c, WK_OP_MIN, x, wk_make_scalar(c, WK_I8, 7));
  x = wk_make_cast(c, wk_make_add_f(c, x, 8), WK_U8);
  int rank = wk_onnx_type(c, x)->rank;
  if (!wk_onnx_valid(c, rank == 4 && wk_onnx_type(c, x)->dims[3] % 2 == 0,
                     "heads of odd size have no cache of 4 bits"))
    return WK_NONE;
  return wk_extent_like(c, wk_narrow_pack(c, x), from);
}

/* The cache as real numbers of type t. */
static wk_value_id restored(wk_onnx_node *c, const cache *k, wk_value_id x, wk_dtype t) {
  if (k->bits == 0 || c->status) return x;
  const wk_value_id from = x;
  if (k->bits == 4) {
    wk_type two = *wk_onnx_type(c, x);
    two.dims[3] *= 2;
    x = wk_make_reshape(c, wk_narrow_apart(c, x, 2, false), 4, two.dims);
    x = wk_make_add_f(c, wk_make_cast(c, x, WK_I8), -8);
  }
  x = wk_make_cast(c, wk_quant_dequantize(c, x, k->scale, WK_NONE), t);
  return wk_extent_like(c, x, from);
}

/* total_sequence_length; 0 where it is not known. The inputs that decide it are on record then: who
 * has their values gives them. */
static int64_t total_length(wk_onnx_node *c) {
  if (c->status) return 0;
  int64_t undecided = c->im->undecided;
  int64_t total = wk_onnx_const_int(c, c->in[TOTAL], "total_sequence_length");
  if (!c->status || c->status->code != WK_UNSUPPORTED) return total;
  wk_status_free(c->status);
  c->status = NULL;
  c->im->undecided = undecided; /* nothing is refused for it */
  return 0;
}

/* Without a value, caches do not grow: where their buffers are shared, that is what is meant. */
static void note_length(wk_onnx_node *c, int64_t length) {
  const wk_import_report *rep = c->im->rep;
  const char *input = rep->need_value.n ? rep->need_value.data[rep->need_value.n - 1] : NULL;
  const char *how = "";
  if (input) how = wk_arena_printf(c->im->arena, ": --value %s=FILE says what it is", input);
  const char *text = wk_arena_printf(
      rep->arena, "%s: total_sequence_length is not known at compile time, so the caches stay as "
      "long as the past, %lld%s", c->name, (long long)length, how);
  for (size_t i = 0; i < rep->notes.n; i++)
    if (strcmp(rep->notes.data[i], text) == 0) return;
  wk_vec_push(&c->im->rep->notes, text);
}

/* The size of the cache: as long as the past, or as total_sequence_length says where that is known
 * and more. A past that has one size in one run and another in the next grows with each. */
static const wk_size *present_size(wk_onnx_node *c, group *g, wk_value_id past) {
  const wk_size *size = wk_extent_dim(c, past, 2);
  if (g->total && wk_extent_is_open(c, past, 2)) {
    g->firsts = wk_extent_checked(c, g->firsts, wk_size_max(c, size, g->total), g->total);
    return g->total;
  }
  wk_onnx_need(c, g->total || !wk_extent_is_open(c, past, 2), "the size of a past, %s, is only "
               "known at run time, and total_sequence_length does not follow from sizes",
               wk_size_text(c, size));
  int64_t length = wk_onnx_type(c, past)->dims[2], total = g->total ? 0 : total_length(c);
  if (g->total) return wk_size_max(c, size, g->total);
  if (total == 0) note_length(c, length);
  return wk_size_const(c, total > length ? total : length);
}

/* The cache with the new rows. Rows past a sample's length keep what the past has there, as where
 * ONNX Runtime shares the buffers: zeros behind it, but for a past that stays from run to run,
 * which has what was written there. */
static wk_value_id present(wk_onnx_node *c, group *g, int input, wk_value_id x) {
  if (c->status || !wk_onnx_has(c, input)) return x;
  wk_value_id past = c->in[input];
  const wk_type t = *wk_onnx_type(c, past), y = *wk_onnx_type(c, x);
  bool fits = t.rank == 4 && t.dtype == y.dtype && t.dims[0] == y.dims[0] &&
              t.dims[1] == y.dims[1] && t.dims[3] == y.dims[3];
  if (!wk_onnx_valid(c, fits, "input %d, a past, is not [batch,kv heads,length,depth]", input))
    return WK_NONE;
  if (t.dims[2] == 0 && !wk_extent_is_open(c, past, 2)) return x;
  const wk_size *size = present_size(c, g, past), *dims[4];
  int64_t room = wk_size_most(c, size);
  wk_onnx_valid(c, g->total || room > t.dims[2] || g->length <= t.dims[2],
                "%lld new positions do not fit a past of length %lld", (long long)g->length,
                (long long)t.dims[2]);
  bool stays = c->g == c->im->m->main && wk_extents_growing(c->im, past) == 2;
  if (!stays) past = wk_extent_filled(c, past, 2, wk_extent_scalar(c, t.dtype, WK_FILL_ZERO));
  past = wk_extent_room(c, past, 2, room);
  if (c->status) return WK_NONE;
  wk_extent_dims(c, past, dims);
  dims[2] = size;
  past = wk_extent_set(c, past, dims);
  return wk_cache_write(c, past, x, g->firsts, 2, false);
}

/* The cache as far as there are keys. */
static wk_value_id seen(wk_onnx_node *c, const group *g, wk_value_id x) {
  const wk_size *dims[4];
  if (c->status || !g->total || wk_size_equal(wk_extent_dim(c, x, 2), g->total)) return x;
  wk_extent_dims(c, x, dims);
  dims[2] = g->total;
  x = wk_extent_room(c, wk_extent_copy(c, x), 2, wk_size_most(c, g->total));
  if (!c->status) wk_extent_declare(c, x, dims);
  return x;
}

/* The score of a key that is always there and has no value: one for each head, or 0. */
static void read_sink(wk_onnx_node *c, const group *g, wk_attention *a) {
  bool smooth = wk_onnx_int(c, "smooth_softmax", 0) == 1;
  a->has_sink = smooth || wk_onnx_has(c, SINK);
  if (!a->has_sink || c->status) return;
  if (!wk_onnx_has(c, SINK)) {
    a->sink = wk_make_expand(c, wk_make_scalar(c, WK_F32, 0), 1, &g->heads);
    return;
  }
  const wk_type *t = wk_onnx_type(c, c->in[SINK]);
  wk_onnx_valid(c, t->rank == 1 && t->dims[0] == g->heads, "head_sink is not one number per head");
  a->sink = c->in[SINK];
}

/* Scores [batch, heads, length, keys] of the positions that there are; 0 where a key is not seen,
 * as ONNX Runtime has it. */
static void give_scores(wk_onnx_node *c, const group *g, wk_value_id scores, wk_dtype t) {
  if (c->status || scores == WK_NONE) return;
  int64_t total = g->total ? 0 : total_length(c), n = wk_onnx_type(c, scores)->dims[3];
  wk_onnx_need(c, g->total || wk_is_const(c->g, c->in[TOTAL]),
               "scores are given only where total_sequence_length is a constant");
  wk_dtype inner = c->status ? t : wk_onnx_type(c, scores)->dtype;
  wk_value_id none = wk_make_2(c, WK_OP_EQUAL, scores, wk_make_scalar(c, inner, -INFINITY));
  wk_value_id y = wk_make_where(c, none, wk_make_scalar(c, inner, 0), scores);
  if (total > 0 && total < n) y = wk_make_slice(c, y, 3, 0, total, 1);
  wk_onnx_result(c, 3, wk_extent_like(c, wk_make_cast(c, y, t), scores));
}

/* Only batches and lengths may have sizes that are only known at run time. */
static bool check_sizes(wk_onnx_node *c, group *g) {
  enum { ROWS = 3, CACHE = 1 << 0 | 1 << 2, SCORES = 1 << 0 | 1 << 2 | 1 << 3 };
  static const struct { int input; uint32_t axes; } rows[] = {
      {QUERY, ROWS}, {KEY, ROWS}, {VALUE, ROWS}, {PAST_KEY, CACHE}, {PAST_VALUE, CACHE},
      {SEQLENS, 1}, {COS, 0}, {SIN, 0}, {POSITIONS, ROWS}, {BIAS, SCORES}, {LENGTHS, 1}};
  int64_t n;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_extent_allow(c, rows[i].input, rows[i].axes);
    if (i > 0 && rows[i].axes && rows[i].input != BIAS)
      wk_extent_match(c, QUERY, 0, rows[i].input, 0);
    if (i > 0 && rows[i].axes == ROWS) wk_extent_match(c, QUERY, 1, rows[i].input, 1);
  }
  wk_extent_match(c, PAST_KEY, 2, PAST_VALUE, 2);
  wk_extent_fill(c, POSITIONS, ROWS, WK_FILL_ZERO);
  const wk_size *const *total = wk_onnx_ok(c) && !wk_is_const(c->g, c->in[TOTAL])
                                    ? wk_extent_elements(c, c->in[TOTAL], &n) : NULL;
  g->total = total ? total[0] : NULL;
  g->rows = wk_extent_dim(c, c->in[QUERY], 1);
  wk_onnx_need(c, !total || wk_size_least(c, *total) >= 1, "total_sequence_length, %s, may be 0",
               wk_onnx_ok(c) && total ? wk_size_text(c, *total) : "");
  return wk_onnx_ok(c);
}

/* What is asked for and not computed here, or does not fit. */
static bool check_group(wk_onnx_node *c) {
  int64_t causal = wk_onnx_int(c, "causal", 1), scores = wk_onnx_int(c, "qk_output", 0);
  for (int i = QUERY; i <= TOTAL; i++)
    wk_onnx_valid(c, (i >= KEY && i <= PAST_VALUE) || wk_onnx_has(c, i), "input %d is missing", i);
  wk_onnx_need(c, !wk_onnx_has(c, Q_NORM) && !wk_onnx_has(c, K_NORM),
               "norms of queries and keys are not supported");
  wk_onnx_need(c, wk_onnx_int(c, "sliding_window_cache", 0) == 0,
               "caches as long as the window are not supported");
  wk_onnx_valid(c, causal == 0 || causal == 1, "causal is %lld, not 0 or 1", (long long)causal);
  wk_onnx_valid(c, scores >= 0 && scores <= 2, "qk_output is %lld", (long long)scores);
  wk_onnx_valid(c, causal || wk_onnx_int(c, "local_window_size", -1) < 0,
                "a local window is causal");
  return wk_onnx_ok(c);
}

/* The queries of a sample see its keys up to their own position, or all of them. */
static void see_keys(wk_onnx_node *c, const group *g, wk_mask *mask) {
  int64_t window = wk_onnx_int(c, "local_window_size", -1);
  if (wk_onnx_int(c, "causal", 1)) {
    wk_mask_window(c, mask, NULL, g->firsts, window > 0 ? window - 1 : -1, 0);
    return;
  }
  wk_value_id last = wk_make_cast(c, c->in[SEQLENS], WK_I64);
  last = wk_make_add_f(c, wk_make_reshape(c, last, 1, &g->batch), 1);
  wk_mask_lengths(c, mask, last);
}

wk_status wk_onnx_group_query_attention(wk_onnx_node *c) {
  group g = {0};
  wk_dtype t = wk_onnx_type(c, c->in[QUERY])->dtype;
  if (!check_group(c) || !check_sizes(c, &g)) return c->status;
  read_operands(c, &g);
  if (c->status) return c->status;
  find_firsts(c, &g);
  rotate(c, &g);
  const cache keys = cache_of(c, PAST_KEY, K_SCALE, "k_quant_type");
  const cache values = cache_of(c, PAST_VALUE, V_SCALE, "v_quant_type");
  wk_value_id k = present(c, &g, PAST_KEY, stored(c, &keys, g.k));
  wk_value_id v = present(c, &g, PAST_VALUE, stored(c, &values, g.v));
  if (c->status) return c->status;
  wk_onnx_result(c, 1, k);
  wk_onnx_result(c, 2, v);
  k = seen(c, &g, k);
  v = seen(c, &g, v);
  wk_attention a = {.q = g.q, .k = restored(c, &keys, k, t), .v = restored(c, &values, v, t),
                    .scale = wk_ms_scale(c, g.depth), .softcap = wk_onnx_float(c, "softcap", 0),
                    .kind = wk_onnx_int(c, "qk_output", 0) == 2 ? WK_SCORES_SOFTMAX
                                                                : WK_SCORES_MASKED};
  read_sink(c, &g, &a);
  wk_mask mask = wk_mask_for(c, a.q, a.k);
  see_keys(c, &g, &mask);
  wk_ms_bias(c, &mask, BIAS);
  wk_value_id scores = WK_NONE;
  wk_onnx_result(c, 0, wk_ms_attend(c, &a, &mask, t, wk_onnx_wants(c, 3) ? &scores : NULL));
  give_scores(c, &g, scores, t);
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
  wk_value_id y = wk_make_reshape(c, wk_make_slice(c, x, 3, i, 1, 1), 3, flat);
  const wk_size *dims[] = {wk_extent_dim(c, x, 0), wk_extent_dim(c, x, 1),
                           wk_size_const(c, flat[2])};
  return wk_extent_set(c, y, dims);
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
    wk_value_id bias = wk_make_slice(c, c->in[3], 0, first, t.dims[2], 1);
    x = wk_extent_like(c, wk_make_2(c, WK_OP_ADD, x, bias), x);
  }
  return wk_heads_split(c, x, heads);
}

/* Only batches and lengths may have sizes that are only known at run time; operands with heads have
 * lengths behind them. */
static bool check_operands(wk_onnx_node *c) {
  enum { Q, K, V, B, MASK, SCORES_BIAS, PAST_K, PAST_V };
  int length[3] = {1, 1, 1};
  for (int i = Q; i <= V; i++) {
    if (wk_onnx_has(c, i) && wk_onnx_type(c, c->in[i])->rank == 4) length[i] = 2;
    wk_extent_allow(c, i, 1u | 1u << length[i]);
    wk_extent_match(c, Q, 0, i, 0);
  }
  wk_extent_allow(c, PAST_K, 1u | 1u << 2);
  wk_extent_allow(c, PAST_V, 1u | 1u << 2);
  wk_extent_match(c, Q, 0, PAST_K, 0);
  wk_extent_match(c, Q, 0, PAST_V, 0);
  wk_extent_match(c, K, length[K], V, length[V]);
  wk_extent_match(c, PAST_K, 2, PAST_V, 2);
  return wk_onnx_ok(c);
}

wk_status wk_onnx_multi_head_attention(wk_onnx_node *c) {
  int64_t heads = wk_onnx_int(c, "num_heads", 0);
  const wk_size *past = wk_size_const(c, 0);
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  wk_onnx_valid(c, heads > 0 && heads < (int64_t)1 << 31, "num_heads is %lld", (long long)heads);
  wk_onnx_need(c, c->n_in <= 8 && !wk_onnx_wants(c, 3), "cache indirection is not supported");
  if (c->status || !check_operands(c)) return c->status;
  wk_attention a = {
      .q = operand(c, 0, heads), .k = operand(c, 1, heads), .v = operand(c, 2, heads)};
  if (c->status) return c->status;
  if (wk_onnx_has(c, 6)) past = wk_extent_dim(c, c->in[6], 2);
  a.k = wk_heads_append(c, wk_onnx_has(c, 6) ? c->in[6] : WK_NONE, a.k);
  a.v = wk_heads_append(c, wk_onnx_has(c, 7) ? c->in[7] : WK_NONE, a.v);
  if (c->status) return c->status;
  wk_onnx_result(c, 1, a.k);
  wk_onnx_result(c, 2, a.v);
  a.scale = wk_ms_scale(c, wk_onnx_type(c, a.q)->dims[3]);
  wk_mask mask = wk_mask_for(c, a.q, a.k);
  wk_ms_mask(c, &mask, 4, past);
  wk_ms_bias(c, &mask, 5);
  if (wk_onnx_int(c, "unidirectional", 0)) wk_mask_window(c, &mask, past, WK_NONE, -1, 0);
  wk_onnx_result(c, 0, wk_ms_attend(c, &a, &mask, t, NULL));
  return c->status;
}
