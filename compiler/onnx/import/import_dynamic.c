/* SPDX-License-Identifier: Apache-2.0
 * Operators whose result sizes depend on values. They need those values at import; the result is a
 * constant, or a gather by constant positions. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

static bool is_nonzero(const void *data, wk_dtype t, int64_t i) {
  return wk_dtype_is_float(t) ? wk_load_f64(data, t, i) != 0 : wk_load_i64(data, t, i) != 0;
}

/* Positions, one row per axis. Where there is nothing, the values need not be known. */
wk_status wk_onnx_non_zero(wk_onnx_node *c) {
  const wk_type t = *wk_onnx_type(c, c->in[0]);
  int64_t n = 0, count = wk_type_count(&t), strides[WK_MAX_RANK];
  const void *x = count > 0 ? wk_onnx_const(c, c->in[0], "the input of NonZero") : NULL;
  if (count > 0 && !x) return c->status;
  for (int64_t i = 0; i < count; i++) n += is_nonzero(x, t.dtype, i);
  void *data;
  wk_type y = wk_type_make(WK_I64, 2, (const int64_t[]){t.rank, n});
  wk_value_id v = wk_make_constant(c, &y, &data);
  wk_type_strides(&t, strides);
  int64_t *out = data, k = 0;
  for (int64_t i = 0; data && i < count; i++) {
    if (!is_nonzero(x, t.dtype, i)) continue;
    for (int a = 0; a < t.rank; a++) out[a * n + k] = i / strides[a] % t.dims[a];
    k++;
  }
  return wk_onnx_return(c, v);
}

wk_status wk_onnx_compress(wk_onnx_node *c) {
  const uint8_t *keep = wk_onnx_const(c, c->in[1], "the condition of Compress");
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  if (!keep) return c->status;
  int64_t n = wk_type_count(wk_onnx_type(c, c->in[1])), count = wk_type_count(&x), kept = 0;
  bool is_flat = !wk_onnx_attr(c, "axis");
  int64_t axis = is_flat ? 0 : wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), x.rank);
  if (!wk_onnx_ok(c)) return c->status;
  wk_onnx_valid(c, wk_onnx_type(c, c->in[1])->dtype == WK_BOOL, "the condition is not bool");
  wk_onnx_valid(c, n <= (is_flat ? count : x.dims[axis]),
                "the condition has %lld entries, more than the axis", (long long)n);
  int64_t *at = wk_arena_alloc(c->im->arena, (size_t)n * sizeof *at);
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    if (keep[i]) at[kept++] = i;
  }
  wk_value_id data = is_flat ? wk_make_reshape(c, c->in[0], 1, &count) : c->in[0];
  return wk_onnx_return(c, wk_make_gather(c, data, wk_make_i64s(c, at, kept), axis));
}

/* ---- Unique -------------------------------------------------------------------------------- */

/* x seen as n slices of `size` elements: element k of slice i lies at offset(i, k). */
typedef struct {
  const void *data;
  wk_dtype t;
  int64_t n, size, inner;
} slices;

static int64_t offset(const slices *s, int64_t i, int64_t k) {
  return k / s->inner * (s->inner * s->n) + i * s->inner + k % s->inner;
}

static int compare_slices(const slices *s, int64_t a, int64_t b) {
  for (int64_t k = 0; k < s->size; k++) {
    int64_t i = offset(s, a, k), j = offset(s, b, k);
    if (wk_dtype_is_float(s->t)) {
      double x = wk_load_f64(s->data, s->t, i), y = wk_load_f64(s->data, s->t, j);
      if (x != y) return x < y ? -1 : 1;
    } else {
      int64_t x = wk_load_i64(s->data, s->t, i), y = wk_load_i64(s->data, s->t, j);
      bool below = s->t == WK_U64 ? (uint64_t)x < (uint64_t)y : x < y;
      if (x != y) return below ? -1 : 1;
    }
  }
  return 0;
}

static int by_value(const void *a, const void *b, void *ctx) {
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  int order = compare_slices(ctx, i, j);
  return order ? order : (i > j) - (i < j);
}

static int by_position(const void *a, const void *b, void *ctx) {
  const int64_t *first = ctx;
  int64_t i = first[*(const int64_t *)a], j = first[*(const int64_t *)b];
  return (i > j) - (i < j);
}

typedef struct { int64_t n, *first, *inverse, *counts; } groups;

/* Groups equal slices; groups come by value, or by first appearance. */
static groups group_slices(wk_arena *a, const slices *s, bool sorted) {
  size_t n = (size_t)s->n;
  int64_t *order = wk_arena_alloc(a, n * sizeof *order);
  groups g = {.first = wk_arena_alloc(a, n * sizeof(int64_t)),
              .inverse = wk_arena_alloc(a, n * sizeof(int64_t)),
              .counts = wk_arena_alloc(a, n * sizeof(int64_t))};
  for (size_t i = 0; i < n; i++) order[i] = (int64_t)i;
  qsort_r(order, n, sizeof *order, by_value, (void *)(uintptr_t)s);
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || compare_slices(s, order[i - 1], order[i]) != 0) g.first[g.n++] = order[i];
    g.inverse[order[i]] = g.n - 1;
    g.counts[g.n - 1]++;
  }
  if (sorted) return g;
  int64_t *rank = wk_arena_alloc(a, n * sizeof *rank),
          *place = wk_arena_alloc(a, n * sizeof *place);
  groups h = {.n = g.n, .first = wk_arena_alloc(a, n * sizeof(int64_t)), .inverse = g.inverse,
              .counts = wk_arena_alloc(a, n * sizeof(int64_t))};
  for (int64_t i = 0; i < g.n; i++) rank[i] = i;
  qsort_r(rank, (size_t)g.n, sizeof *rank, by_position, g.first);
  for (int64_t i = 0; i < g.n; i++) {
    place[rank[i]] = i;
    h.first[i] = g.first[rank[i]];
    h.counts[i] = g.counts[rank[i]];
  }
  for (size_t i = 0; i < n; i++) h.inverse[i] = place[h.inverse[i]];
  return h;
}

wk_status wk_onnx_unique(wk_onnx_node *c) {
  const void *data = wk_onnx_const(c, c->in[0], "the input of Unique");
  if (!data) return c->status;
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t count = wk_type_count(&x);
  bool is_flat = !wk_onnx_attr(c, "axis");
  int64_t axis = is_flat ? 0 : wk_onnx_axis(c, wk_onnx_int(c, "axis", 0), x.rank);
  if (!wk_onnx_ok(c)) return c->status;
  slices s = {
      .data = data, .t = x.dtype, .n = is_flat ? count : x.dims[axis], .size = 1, .inner = 1};
  for (int i = 0; !is_flat && i < x.rank; i++) {
    if (i != axis) s.size *= x.dims[i];
    if (i > axis) s.inner *= x.dims[i];
  }
  if (s.inner == 0) s.inner = 1;
  groups g = group_slices(c->im->arena, &s, wk_onnx_int(c, "sorted", 1) != 0);
  wk_value_id flat = is_flat ? wk_make_reshape(c, c->in[0], 1, &count) : c->in[0];
  wk_value_id first = wk_make_i64s(c, g.first, g.n);
  wk_onnx_result(c, 0, wk_make_gather(c, flat, first, axis));
  wk_onnx_result(c, 1, first);
  wk_onnx_result(c, 2, wk_make_i64s(c, g.inverse, s.n));
  wk_onnx_result(c, 3, wk_make_i64s(c, g.counts, g.n));
  return c->status;
}

/* ---- NonMaxSuppression --------------------------------------------------------------------- */

wk_value_id wk_onnx_kept_boxes(wk_onnx_node *c) {
  const wk_type boxes = *wk_onnx_type(c, c->in[0]), scores = *wk_onnx_type(c, c->in[1]);
  wk_onnx_valid(c, boxes.rank == 3 && scores.rank == 3, "boxes and scores must have rank 3");
  int64_t limit = wk_onnx_has(c, 2) ? wk_onnx_const_int(c, c->in[2], "the number of boxes") : 0;
  if (!wk_onnx_ok(c)) return WK_NONE;
  if (limit > boxes.dims[1]) limit = boxes.dims[1];
  int64_t rows;
  bool ok = wk_mul_ok(scores.dims[0], scores.dims[1], &rows) &&
            wk_mul_ok(rows, limit > 0 ? limit : 0, &rows);
  if (!wk_onnx_need(c, ok && rows < (int64_t)1 << 20, "%lld boxes are too many", (long long)limit))
    return WK_NONE;
  WK_MAKE_ATTRS(c, a, NON_MAX_SUPPRESSION, non_max_suppression);
  a->center_point = wk_onnx_int(c, "center_point_box", 0) != 0;
  a->overlap = wk_onnx_text(c, "overlap", a->overlap); /* of the domain wick only */
  a->rows = rows;
  wk_value_id in[5], y;
  for (int i = 0; i < 5; i++) {
    in[i] = i > 1 && wk_onnx_has(c, i) ? wk_make_reshape(c, c->in[i], 0, NULL) : c->in[i];
  }
  wk_make_n(c, WK_OP_NON_MAX_SUPPRESSION, a, in, c->n_in, &y, 1);
  return y;
}

/* The rows that are filled. */
wk_status wk_onnx_non_max_suppression(wk_onnx_node *c) {
  wk_value_id y = wk_onnx_kept_boxes(c);
  if (!wk_onnx_ok(c)) return c->status;
  int64_t rows = wk_onnx_type(c, y)->dims[0];
  const int64_t *kept = wk_onnx_const(c, y, "the number of boxes that NonMaxSuppression keeps");
  int64_t n = 0;
  while (kept && n < rows && kept[3 * n] >= 0) n++;
  return kept ? wk_onnx_return(c, wk_make_slice(c, y, 0, 0, n, 1)) : c->status;
}
