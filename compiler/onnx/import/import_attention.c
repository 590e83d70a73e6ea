/* SPDX-License-Identifier: Apache-2.0
 * Attention, FlexAttention and the cache update TensorScatter. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/attention.h"
#include "compiler/onnx/import/handlers.h"

/* ---- operands -------------------------------------------------------------------------------- */

/* The operand as [batch, heads, length, depth]; the attribute gives the heads of one of rank 3. */
static wk_value_id with_heads(wk_onnx_node *c, wk_value_id x, const char *attribute) {
  int64_t heads = wk_onnx_int(c, attribute, 0);
  const wk_type *t = wk_onnx_type(c, x);
  if (t->rank == 3) {
    wk_onnx_valid(c, heads > 0, "operands of rank 3 need the attribute %s", attribute);
    return wk_heads_split(c, x, heads);
  }
  wk_onnx_valid(c, t->rank == 4, "an operand has rank %d, not 3 or 4", t->rank);
  wk_onnx_valid(c, t->rank != 4 || heads == 0 || heads == t->dims[1],
                "%s is %lld, the operand has %lld heads", attribute, (long long)heads,
                (long long)t->dims[1]);
  return x;
}

/* q, k and v agree? */
static bool check_operands(wk_onnx_node *c, const wk_attention *a) {
  if (c->status) return false;
  const wk_type *q = wk_onnx_type(c, a->q), *k = wk_onnx_type(c, a->k), *v = wk_onnx_type(c, a->v);
  wk_onnx_valid(c, q->dims[0] == k->dims[0] && k->dims[0] == v->dims[0],
                "queries, keys and values differ in their batch");
  wk_onnx_valid(c, k->dims[1] == v->dims[1], "keys and values differ in their heads");
  wk_onnx_valid(c, k->dims[2] == v->dims[2], "keys and values differ in their length");
  wk_onnx_valid(c, q->dims[3] == k->dims[3], "queries and keys differ in their depth");
  return wk_onnx_ok(c);
}

/* Only batches and lengths may have sizes that are only known at run time; those that are the same
 * have the same room. */
static bool check_sizes(wk_onnx_node *c) {
  enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };
  static const uint32_t with_heads = 1u << 0 | 1u << 2, merged = 1u << 0 | 1u << 1;
  bool is_merged = wk_onnx_type(c, c->in[0])->rank == 3;
  int length = is_merged ? 1 : 2;
  for (int i = Q; i <= V; i++) wk_extent_allow(c, i, is_merged ? merged : with_heads);
  wk_extent_allow(c, PAST_K, with_heads);
  wk_extent_allow(c, PAST_V, with_heads);
  static const int batched[] = {K, V, PAST_K, PAST_V, LENGTHS};
  for (size_t i = 0; i < WK_COUNTOF(batched); i++) wk_extent_match(c, Q, 0, batched[i], 0);
  wk_extent_match(c, K, length, V, length);
  wk_extent_match(c, PAST_K, 2, PAST_V, 2);
  return wk_onnx_ok(c);
}

static void to_compute_type(wk_onnx_node *c, wk_attention *a) {
  wk_dtype t = wk_compute_dtype(wk_onnx_type(c, a->q)->dtype);
  a->q = wk_make_cast(c, a->q, t);
  a->k = wk_make_cast(c, a->k, t);
  a->v = wk_make_cast(c, a->v, t);
}

static double default_scale(wk_onnx_node *c, wk_value_id q) {
  int64_t depth = c->status ? 1 : wk_onnx_type(c, q)->dims[3];
  double natural = depth > 0 ? 1 / sqrt((double)depth) : 1;
  return wk_onnx_float(c, "scale", natural);
}

/* The type of the softmax where it is not the one in which the scores come. A half that the
 * operands have themselves is no further rounding: everything inside is f32 then. */
static wk_dtype softmax_type(wk_onnx_node *c, wk_dtype operands) {
  wk_dtype t = wk_onnx_dtype(c, "softmax_precision", WK_DTYPE_NONE);
  if (t == WK_DTYPE_NONE || t == operands || t == wk_compute_dtype(operands)) return WK_DTYPE_NONE;
  wk_onnx_valid(c, wk_dtype_is_float(t), "softmax_precision is %s, no float", wk_dtype_name(t));
  return t;
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* A mask that is shorter than the keys does not allow the rest. */
static wk_value_id padded_mask(wk_onnx_node *c, wk_value_id mask, const wk_mask *m) {
  const wk_type t = *wk_onnx_type(c, mask);
  if (!wk_onnx_valid(c, t.rank > 0, "the mask is a scalar")) return WK_NONE;
  int last = t.rank - 1;
  const wk_size *size = wk_extent_dim(c, mask, last), *n = m->sizes[3], *dims[WK_MAX_RANK];
  int64_t missing = m->n - t.dims[last], after[WK_MAX_RANK] = {0};
  if (wk_size_equal(size, n)) return wk_mask_axis(c, m, mask, last, 3);
  wk_value_id never = wk_make_scalar(c, t.dtype, t.dtype == WK_BOOL ? 0 : -INFINITY);
  wk_extent_dims(c, mask, dims);
  mask = wk_extent_filled(c, mask, last, never);
  if (missing > 0) {
    after[last] = missing;
    wk_arena *arena = c->im->m->arena;
    WK_MAKE_ATTRS(c, a, PAD, pad);
    a->before = wk_ints_fill(arena, t.rank, 0);
    a->after = wk_ints_dup(arena, after, t.rank);
    mask = wk_make(c, WK_OP_PAD, a, 2, mask, never);
  }
  if (missing < 0 && !wk_extent_is_open(c, c->in[3], last)) return mask; /* does not fit */
  dims[last] = n;
  mask = wk_extent_set(c, wk_extent_room(c, mask, last, m->n), dims);
  return wk_extent_checked(c, mask, wk_size_max(c, size, n), n);
}

static void add_masks(wk_onnx_node *c, wk_mask *m) {
  bool has_lengths = wk_onnx_has(c, 6), causal = wk_onnx_int(c, "is_causal", 0) != 0;
  int64_t left = wk_onnx_int(c, "left_window_size", -1);
  int64_t right = wk_onnx_int(c, "right_window_size", -1);
  wk_onnx_valid(c, left >= -1 && right >= -1, "a window size is below -1");
  if (c->status) return;
  if (causal) right = 0;
  if (wk_onnx_has(c, 3)) {
    wk_value_id mask = c->in[3];
    if (!wk_dtype_is_float(wk_onnx_type(c, mask)->dtype) &&
        wk_onnx_type(c, mask)->dtype != WK_BOOL)
      mask = wk_extent_like(c, wk_make_cast(c, mask, m->dtype), mask);
    wk_mask_apply(c, m, padded_mask(c, mask, m));
  }
  wk_value_id firsts = WK_NONE;
  if (has_lengths) {
    const wk_type *t = wk_onnx_type(c, c->in[6]);
    if (!wk_onnx_valid(c, t->rank == 1 && t->dims[0] == m->batch && t->dtype == WK_I64,
                       "nonpad_kv_seqlen is not one i64 per sample"))
      return;
    wk_mask_lengths(c, m, c->in[6]);
    firsts = wk_extent_plus(c, c->in[6], wk_size_sub(c, wk_size_const(c, 0), m->sizes[2]));
  }
  const wk_size *past = wk_size_const(c, 0);
  if (wk_onnx_has(c, 4)) past = wk_extent_dim(c, c->in[4], 2);
  wk_mask_window(c, m, past, firsts, left, right);
}

/* Keys and values have a past each, with heads and of their type. */
static bool check_past(wk_onnx_node *c) {
  bool key = wk_onnx_has(c, 4), value = wk_onnx_has(c, 5);
  wk_onnx_valid(c, key == value, "past_key and past_value come together");
  wk_onnx_valid(c, !key || !wk_onnx_has(c, 6), "nonpad_kv_seqlen excludes a past");
  for (int i = 4; i < 6 && key && value; i++) {
    const wk_type *past = wk_onnx_type(c, c->in[i]), *x = wk_onnx_type(c, c->in[i - 3]);
    wk_onnx_valid(c, past->rank == 4 && past->dtype == x->dtype,
                  "input %d, a past, has not rank 4 or another type than input %d", i, i - 3);
  }
  return wk_onnx_ok(c);
}

wk_status wk_onnx_attention(wk_onnx_node *c) {
  const wk_type q = *wk_onnx_type(c, c->in[0]);
  for (int i = 1; i < 3; i++)
    wk_onnx_valid(c, wk_onnx_type(c, c->in[i])->rank == q.rank, "operands differ in rank");
  if (!check_past(c) || !check_sizes(c)) return c->status;
  wk_attention a = {.q = with_heads(c, c->in[0], "q_num_heads"),
                    .k = with_heads(c, c->in[1], "kv_num_heads"),
                    .v = with_heads(c, c->in[2], "kv_num_heads")};
  a.k = wk_heads_append(c, c->in[4], a.k);
  a.v = wk_heads_append(c, c->in[5], a.v);
  if (!check_operands(c, &a)) return c->status;
  wk_onnx_result(c, 1, a.k);
  wk_onnx_result(c, 2, a.v);
  wk_mask mask = wk_mask_for(c, a.q, a.k);
  to_compute_type(c, &a);
  a.scale = default_scale(c, a.q);
  a.softcap = wk_onnx_float(c, "softcap", 0);
  a.softmax = softmax_type(c, q.dtype);
  int64_t mode = wk_onnx_int(c, "qk_matmul_output_mode", 0);
  wk_onnx_valid(c, mode >= 0 && mode <= 3, "qk_matmul_output_mode is %lld", (long long)mode);
  if (c->status) return c->status;
  a.kind = (wk_scores)mode;
  add_masks(c, &mask);
  a.mask = &mask;
  wk_value_id scores = WK_NONE, y = wk_attend(c, &a, wk_onnx_wants(c, 3) ? &scores : NULL);
  if (q.rank == 3) y = wk_heads_merge(c, y);
  wk_onnx_result(c, 0, wk_extent_like(c, wk_make_cast(c, y, q.dtype), y));
  wk_value_id given = scores == WK_NONE ? WK_NONE : wk_make_cast(c, scores, q.dtype);
  wk_onnx_result(c, 3, scores == WK_NONE ? WK_NONE : wk_extent_like(c, given, scores));
  return c->status;
}

/* ---- FlexAttention --------------------------------------------------------------------------- */

static const Onnx__GraphProto *modifier(wk_onnx_node *c, const char *name) {
  return wk_onnx_attr(c, name) ? wk_onnx_graph(c, name) : NULL;
}

wk_status wk_onnx_flex_attention(wk_onnx_node *c) {
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  wk_attention a = {.q = c->in[0], .k = c->in[1], .v = c->in[2]};
  for (int i = 0; i < 3; i++)
    wk_onnx_valid(c, wk_onnx_type(c, c->in[i])->rank == 4, "an operand has not rank 4");
  if (!check_operands(c, &a)) return c->status;
  to_compute_type(c, &a);
  a.scale = default_scale(c, a.q);
  a.softmax = softmax_type(c, wk_compute_dtype(t));
  a.score_mod = modifier(c, "score_mod");
  a.prob_mod = modifier(c, "prob_mod");
  return wk_onnx_return(c, wk_make_cast(c, wk_attend(c, &a, NULL), t));
}

/* ---- TensorScatter --------------------------------------------------------------------------- */

/* Positions along the axis that the update goes to: i64 [batch, 1 …, length, 1]. */
static wk_value_id written_positions(wk_onnx_node *c, wk_value_id starts, int axis,
                                     wk_value_id steps, int64_t limit, bool circular) {
  wk_value_id start = wk_make_along(c, starts, 0, axis + 2);
  wk_value_id at = wk_make_2(c, WK_OP_ADD, start, wk_make_along(c, steps, axis, axis + 2));
  if (!circular) return at;
  return wk_make_2(c, WK_OP_MOD, at, wk_make_scalar(c, WK_I64, (double)limit));
}

/* Coordinates of the axes before this one, [dims[0], …, dims[axis - 1], length, axis]. */
static wk_value_id leading_coordinates(wk_onnx_node *c, const int64_t *dims, int axis) {
  void *data;
  int64_t all[WK_MAX_RANK + 1], rest = 1;
  memcpy(all, dims, (size_t)(axis + 1) * sizeof *all);
  all[axis + 1] = axis;
  const wk_type t = wk_type_make(WK_I64, axis + 2, all);
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int k = axis; k >= 0 && data; k--) {
    int64_t n = wk_type_count(&t) / axis;
    for (int64_t i = 0; i < n && k < axis; i++)
      ((int64_t *)data)[i * axis + k] = i / rest % dims[k];
    rest *= dims[k];
  }
  return v;
}

wk_value_id wk_cache_write_at(wk_onnx_node *c, wk_value_id cache, wk_value_id update,
                              wk_value_id at, int axis) {
  if (c->status) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, update);
  int64_t dims[WK_MAX_RANK + 1];
  memcpy(dims, t.dims, (size_t)(axis + 1) * sizeof *dims);
  dims[axis + 1] = 1;
  const wk_value_id parts[] = {leading_coordinates(c, t.dims, axis),
                               wk_make_expand(c, at, axis + 2, dims)};
  WK_MAKE_ATTRS(c, a, SCATTER_ND, scatter_nd);
  wk_value_id places = wk_make_concat(c, parts, 2, axis + 1);
  return wk_make(c, WK_OP_SCATTER_ND, a, 3, cache, places, update);
}

/* What is beyond the last row is written there once more. */
wk_value_id wk_cache_write(wk_onnx_node *c, wk_value_id cache, wk_value_id update,
                           wk_value_id starts, int axis, bool circular) {
  if (c->status) return WK_NONE;
  int64_t limit = wk_onnx_type(c, cache)->dims[axis], n = wk_onnx_type(c, update)->dims[axis];
  const wk_size *rows = wk_extent_dim(c, update, axis);
  if (!wk_onnx_need(c, wk_size_least(c, rows) >= 1 || n == 0,
                    "there may be no new positions at run time")) return WK_NONE;
  wk_value_id steps = wk_extent_count(c, n, rows);
  if (wk_extent_is_open(c, update, axis)) update = wk_make_gather(c, update, steps, axis);
  starts = wk_extent_filled(c, starts, 0, wk_extent_number(c, 0));
  wk_value_id at = written_positions(c, starts, axis, steps, limit, circular);
  return wk_extent_like(c, wk_cache_write_at(c, cache, update, at, axis), cache);
}

wk_status wk_onnx_tensor_scatter(wk_onnx_node *c) {
  for (int i = 1; i < 3; i++) wk_extent_match(c, 0, 0, i, 0);
  if (c->status) return c->status;
  const wk_type cache = *wk_onnx_type(c, c->in[0]), update = *wk_onnx_type(c, c->in[1]);
  int axis = (int)wk_onnx_axis(c, wk_onnx_int(c, "axis", -2), cache.rank);
  bool fits = axis > 0 && cache.rank == update.rank && cache.rank < WK_MAX_RANK &&
              update.dims[axis] <= cache.dims[axis];
  for (int i = 0; fits && i < cache.rank; i++)
    fits = i == axis || cache.dims[i] == update.dims[i];
  wk_onnx_valid(c, fits, "the update does not fit the cache along axis %d", axis);
  wk_onnx_valid(c, wk_onnx_text_is(c, "mode", "linear", "linear") ||
                       wk_onnx_text_is(c, "mode", "linear", "circular"),
                "mode '%s' is not defined", wk_onnx_text(c, "mode", "linear"));
  for (int i = 0; i < 2; i++) wk_extent_allow(c, i, i ? 1u | 1u << axis : 1u);
  if (c->status) return c->status;
  int64_t length = update.dims[axis], limit = cache.dims[axis];
  if (!wk_onnx_has(c, 2) && wk_extent_is_open(c, c->in[1], axis)) {
    wk_value_id starts = wk_make_expand(c, wk_extent_number(c, 0), 1, cache.dims);
    return wk_onnx_return(c, wk_cache_write(c, c->in[0], c->in[1], starts, axis, false));
  }
  if (!wk_onnx_has(c, 2)) {
    const wk_value_id parts[] = {c->in[1],
                                 wk_make_slice(c, c->in[0], axis, length, limit - length, 1)};
    wk_value_id y = length == limit ? c->in[1] : wk_make_concat(c, parts, 2, axis);
    return wk_onnx_return(c, wk_extent_like(c, y, c->in[0]));
  }
  const wk_type *starts = wk_onnx_type(c, c->in[2]);
  if (!wk_onnx_valid(c, starts->rank == 1 && starts->dims[0] == cache.dims[0],
                     "write_indices is not one number per sample"))
    return c->status;
  bool circular = wk_onnx_text_is(c, "mode", "linear", "circular");
  return wk_onnx_return(c, wk_cache_write(c, c->in[0], c->in[1], c->in[2], axis, circular));
}
