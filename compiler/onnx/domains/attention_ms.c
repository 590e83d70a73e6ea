/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/domains/attention_ms.h"

#include <math.h>

double wk_ms_scale(wk_onnx_node *c, int64_t depth) {
  double scale = wk_onnx_float(c, "scale", 0);
  return scale != 0 ? scale : 1 / sqrt((double)depth);
}

wk_value_id wk_ms_attend(wk_onnx_node *c, wk_attention *a, wk_mask *mask, wk_dtype t,
                         wk_value_id *scores) {
  if (c->status) return WK_NONE;
  wk_dtype inner = wk_compute_dtype(t);
  a->q = wk_make_cast(c, a->q, inner);
  a->k = wk_make_cast(c, a->k, inner);
  a->v = wk_make_cast(c, a->v, inner);
  a->mask = mask;
  wk_value_id y = wk_heads_merge(c, wk_attend(c, a, scores));
  return wk_extent_like(c, wk_make_cast(c, y, t), y);
}

void wk_ms_bias(wk_onnx_node *c, wk_mask *m, int i) {
  if (!wk_onnx_has(c, i) || c->status) return;
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  int64_t known;
  bool is_fixed = t.rank == 4 && wk_size_is_const(m->sizes[3], &known) &&
                  !wk_extent_is_open(c, c->in[i], 3);
  wk_onnx_valid(c, t.rank == 4 && (!is_fixed || t.dims[3] >= m->n),
                "attention_bias does not cover %lld keys", (long long)m->n);
  if (c->status) return;
  wk_value_id x = is_fixed ? wk_make_slice(c, c->in[i], 3, 0, m->n, 1) : c->in[i];
  wk_mask_apply(c, m, wk_extent_like(c, x, c->in[i]));
}

/* times * the batch + more */
static bool is_batches(wk_onnx_node *c, const wk_mask *m, const wk_size *size, int times,
                       int more) {
  const wk_size *all = wk_size_mul(c, m->sizes[0], wk_size_const(c, times));
  return wk_size_equal(size, wk_size_plus(c, all, more));
}

/* Keys before their sample's end, and from its start on: bool [batch, 1, 1, n]. */
static wk_value_id seen_by_position(wk_onnx_node *c, const wk_mask *m, wk_value_id given) {
  const wk_size *batch = m->sizes[0];
  bool has_starts = is_batches(c, m, wk_extent_dim(c, given, 0), 2, 0);
  wk_value_id positions = wk_extent_like(c, wk_make_cast(c, given, WK_I64), given);
  wk_value_id key = wk_make_along(c, wk_make_iota(c, m->n), 3, 4);
  wk_value_id end = wk_extent_window(c, positions, 0, wk_size_const(c, 0), 1, batch);
  wk_value_id seen = wk_make_2(c, WK_OP_LESS, key, wk_make_along(c, end, 0, 4));
  if (!has_starts) return seen;
  wk_value_id start = wk_extent_window(c, positions, 0, batch, 1, batch);
  start = wk_make_2(c, WK_OP_GREATER_EQUAL, key, wk_make_along(c, start, 0, 4));
  return wk_make_2(c, WK_OP_AND, seen, start);
}

/* Queries from `past` on and the first keys of a mask for all positions, [batch, 1, longest,
 * longest]. */
static wk_value_id cut(wk_onnx_node *c, const wk_mask *m, wk_value_id x, const wk_size *past) {
  int64_t known;
  const wk_type t = *wk_onnx_type(c, x);
  const wk_size *end = wk_size_add(c, past, m->sizes[2]);
  bool fits = !wk_size_is_const(end, &known) || t.dims[2] >= known;
  fits = fits && (!wk_size_is_const(m->sizes[3], &known) || t.dims[3] >= known);
  if (!fits || t.dims[1] != 1) return WK_NONE;
  x = wk_extent_window(c, x, 2, past, 1, m->sizes[2]);
  return wk_extent_window(c, x, 3, wk_size_const(c, 0), 1, m->sizes[3]);
}

/* The mask of keys as it is given, [batch, 1, m or 1, n]; WK_NONE when it has another shape. */
static wk_value_id seen_by_mask(wk_onnx_node *c, const wk_mask *m, wk_value_id x,
                                const wk_size *past) {
  int rank = wk_onnx_type(c, x)->rank;
  const int64_t dims[] = {m->batch, 1, rank == 2 ? 1 : m->m, m->n};
  const wk_size *sizes[] = {m->sizes[0], wk_size_const(c, 1),
                            rank == 2 ? wk_size_const(c, 1) : m->sizes[2], m->sizes[3]};
  wk_dtype t = wk_onnx_type(c, x)->dtype;
  x = wk_mask_axis(c, m, x, 0, 0);
  bool fits = wk_onnx_type(c, x)->dims[0] == m->batch;
  if (fits && rank == 4) x = cut(c, m, x, past);
  else if (fits) {
    if (rank == 3) x = wk_mask_axis(c, m, x, 1, 2);
    x = wk_mask_axis(c, m, x, rank - 1, 3);
    const wk_type *y = wk_onnx_type(c, x);
    fits = (rank == 2 || y->dims[1] == m->m) && y->dims[rank - 1] == m->n;
  }
  if (!fits || x == WK_NONE || c->status) return WK_NONE;
  x = wk_make_reshape(c, x, 4, dims);
  return wk_extent_set(c, wk_make_2(c, WK_OP_GREATER, x, wk_make_scalar(c, t, 0)), sizes);
}

void wk_ms_mask(wk_onnx_node *c, wk_mask *m, int i, const wk_size *past) {
  if (!wk_onnx_has(c, i) || c->status) return;
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  if (!wk_onnx_valid(c, t.rank >= 1 && t.rank <= 4, "a mask has rank %d", t.rank)) return;
  /* one entry per sample stands for no mask, as exporters write it */
  if (t.rank == 2 && m->n != 1 && t.dims[1] == 1 && (t.dims[0] == 1 || t.dims[0] == m->batch))
    return;
  const wk_size *entries = wk_extent_dim(c, c->in[i], 0);
  bool by_position = t.rank == 1 && (is_batches(c, m, entries, 1, 0) ||
                                     is_batches(c, m, entries, 2, 0) ||
                                     is_batches(c, m, entries, 3, 2));
  wk_onnx_need(c, t.rank != 1 || by_position,
               "a mask_index of %s entries for a batch of %s is not supported",
               wk_size_text(c, entries), wk_size_text(c, m->sizes[0]));
  if (c->status) return;
  wk_value_id seen = by_position ? seen_by_position(c, m, c->in[i])
                                 : seen_by_mask(c, m, c->in[i], past);
  if (!wk_onnx_valid(c, seen != WK_NONE, "the mask does not fit %lld queries and %lld keys",
                     (long long)m->m, (long long)m->n))
    return;
  double lost = wk_onnx_float(c, "mask_filter_value", -10000.0f);
  wk_value_id term = wk_make_where(c, seen, wk_make_scalar(c, m->dtype, 0),
                                   wk_make_scalar(c, m->dtype, lost));
  if (by_position) {
    const wk_size *sizes[] = {m->sizes[0], wk_size_const(c, 1), wk_size_const(c, 1), m->sizes[3]};
    term = wk_extent_set(c, term, sizes);
  } else term = wk_extent_like(c, term, seen);
  wk_mask_apply(c, m, term);
}
