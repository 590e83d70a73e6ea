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
  return wk_make_cast(c, wk_heads_merge(c, wk_attend(c, a, scores)), t);
}

void wk_ms_bias(wk_onnx_node *c, wk_mask *m, int i) {
  if (!wk_onnx_has(c, i) || c->status) return;
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  wk_onnx_valid(c, t.rank == 4 && t.dims[3] >= m->n, "attention_bias does not cover %lld keys",
                (long long)m->n);
  if (c->status) return;
  wk_mask_apply(c, m, wk_make_slice(c, c->in[i], 3, 0, m->n, 1));
}

/* Keys before their sample's end, and from its start on: bool [batch, 1, 1, n]. */
static wk_value_id seen_by_position(wk_onnx_node *c, const wk_mask *m, wk_value_id positions) {
  bool has_starts = wk_onnx_type(c, positions)->dims[0] == 2 * m->batch;
  positions = wk_make_cast(c, positions, WK_I64);
  wk_value_id key = wk_make_along(c, wk_make_iota(c, m->n), 3, 4);
  wk_value_id end = wk_make_slice(c, positions, 0, 0, m->batch, 1);
  wk_value_id seen = wk_make_2(c, WK_OP_LESS, key, wk_make_along(c, end, 0, 4));
  if (!has_starts) return seen;
  wk_value_id start = wk_make_slice(c, positions, 0, m->batch, m->batch, 1);
  start = wk_make_2(c, WK_OP_GREATER_EQUAL, key, wk_make_along(c, start, 0, 4));
  return wk_make_2(c, WK_OP_AND, seen, start);
}

/* The mask of keys as it is given, [batch, 1, m or 1, n]; WK_NONE when it has another shape. */
static wk_value_id seen_by_mask(wk_onnx_node *c, const wk_mask *m, wk_value_id x, int64_t past) {
  const wk_type t = *wk_onnx_type(c, x);
  const int64_t dims[] = {m->batch, 1, t.rank == 2 ? 1 : m->m, m->n};
  bool fits = t.dims[0] == m->batch;
  if (t.rank == 4) {
    fits = fits && t.dims[1] == 1 && t.dims[2] >= past + m->m && t.dims[3] >= m->n;
    if (!fits) return WK_NONE;
    x = wk_make_slice(c, wk_make_slice(c, x, 2, past, m->m, 1), 3, 0, m->n, 1);
  } else {
    fits = fits && (t.rank == 2 || t.dims[1] == m->m) && t.dims[t.rank - 1] == m->n;
    if (!fits) return WK_NONE;
    x = wk_make_reshape(c, x, 4, dims);
  }
  return wk_make_2(c, WK_OP_GREATER, x, wk_make_scalar(c, t.dtype, 0));
}

void wk_ms_mask(wk_onnx_node *c, wk_mask *m, int i, int64_t past) {
  if (!wk_onnx_has(c, i) || c->status) return;
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  if (!wk_onnx_valid(c, t.rank >= 1 && t.rank <= 4, "a mask has rank %d", t.rank)) return;
  /* one entry per sample stands for no mask, as exporters write it */
  if (t.rank == 2 && m->n != 1 && t.dims[1] == 1 && (t.dims[0] == 1 || t.dims[0] == m->batch))
    return;
  bool by_position = t.rank == 1 && (t.dims[0] == m->batch || t.dims[0] == 2 * m->batch ||
                                     t.dims[0] == 3 * m->batch + 2);
  wk_onnx_need(c, t.rank != 1 || by_position,
               "a mask_index of %lld entries for a batch of %lld is not supported",
               (long long)t.dims[0], (long long)m->batch);
  if (c->status) return;
  wk_value_id seen = by_position ? seen_by_position(c, m, c->in[i])
                                 : seen_by_mask(c, m, c->in[i], past);
  if (!wk_onnx_valid(c, seen != WK_NONE, "the mask does not fit %lld queries and %lld keys",
                     (long long)m->m, (long long)m->n))
    return;
  double lost = wk_onnx_float(c, "mask_filter_value", -10000.0f);
  wk_mask_apply(c, m, wk_make_where(c, seen, wk_make_scalar(c, m->dtype, 0),
                                    wk_make_scalar(c, m->dtype, lost)));
}
