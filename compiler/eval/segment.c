/* SPDX-License-Identifier: Apache-2.0 */
/* segment_reduce: rows that indices name, weighted, become one row per segment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

typedef struct {
  const wk_eval_call *c;
  const wk_attr_segment_reduce *a;
  const wk_tensor *data, *offsets, *indices, *weights, *scale, *bias;
  wk_segment_rows rows;
  int64_t n, width; /* indices; elements of a row */
  double *row, *sum;
} segments;

static double tail(const wk_segment_rows *r, const uint8_t *at) {
  wk_dtype t = r->tail == 4 ? WK_F32 : WK_F16;
  uint32_t aligned = 0;
  memcpy(&aligned, at, (size_t)r->tail);
  return wk_load_f64(&aligned, t, 0);
}

/* Row `at` of data as numbers. */
static void read_row(const segments *s, int64_t at) {
  int64_t columns = s->data->type.dims[1];
  double scale = 1, bias = 0;
  if (s->rows.bits) {
    const uint8_t *bytes = (const uint8_t *)s->data->data + at * columns;
    int bits = s->rows.bits, each = 8 / bits;
    for (int64_t k = 0; k < s->width; k++)
      s->row[k] = bytes[k / each] >> k % each * bits & ((1 << bits) - 1);
    bytes += columns - 2 * s->rows.tail;
    scale = tail(&s->rows, bytes);
    bias = tail(&s->rows, bytes + s->rows.tail);
  } else {
    wk_reals_read(s->row, s->data, at * columns, 1, columns);
    if (s->scale) scale = wk_load_f64(s->scale->data, WK_F32, at);
    if (s->bias) bias = wk_load_f64(s->bias->data, WK_F32, at);
  }
  if (s->rows.bits || s->scale || s->bias)
    for (int64_t k = 0; k < s->width; k++) s->row[k] = s->row[k] * scale + bias;
}

/* The sum or the largest of rows [first, end); *count: how many of them count. */
static wk_status fold(const segments *s, int64_t first, int64_t end, int64_t *count) {
  bool is_max = strcmp(s->a->kind, "max") == 0;
  *count = 0;
  for (int64_t k = 0; k < s->width; k++) s->sum[k] = is_max ? -INFINITY : 0;
  for (int64_t i = first; i < end; i++) {
    int64_t at = i, rows = s->data->type.dims[0];
    if (s->indices) {
      int64_t index = wk_load_i64(s->indices->data, s->indices->type.dtype, i);
      if (!wk_index_ok(index, rows, &at))
        return EVAL_BAD(s->c, "index %lld is outside axis 0 of size %lld", (long long)index,
                        (long long)rows);
    }
    if (at == s->a->padding) continue;
    read_row(s, at);
    double w = s->weights ? wk_load_f64(s->weights->data, s->weights->type.dtype, i) : 1;
    for (int64_t k = 0; k < s->width; k++) {
      double x = w * s->row[k];
      if (!is_max) s->sum[k] += x;
      else if (x > s->sum[k] || isnan(x)) s->sum[k] = isnan(s->sum[k]) ? s->sum[k] : x;
    }
    ++*count;
  }
  return NULL;
}

static wk_status run(const segments *s) {
  const wk_tensor *y = wk_eval_out(s->c, 0);
  bool is_mean = strcmp(s->a->kind, "mean") == 0, is_max = strcmp(s->a->kind, "max") == 0;
  for (int64_t k = 0; k < y->type.dims[0]; k++) {
    int64_t first = wk_load_i64(s->offsets->data, s->offsets->type.dtype, k), count;
    int64_t end = wk_load_i64(s->offsets->data, s->offsets->type.dtype, k + 1);
    if (first < 0 || end < first || end > s->n)
      return EVAL_BAD(s->c, "segment %lld goes from %lld to %lld, outside of 0 to %lld",
                      (long long)k, (long long)first, (long long)end, (long long)s->n);
    WK_TRY(fold(s, first, end, &count));
    for (int64_t j = 0; j < s->width; j++) {
      double x = s->sum[j];
      if (is_mean && count > 0) x /= (double)count;
      if (is_max && count == 0) x = s->a->empty;
      wk_store_f64(y->data, y->type.dtype, k * s->width + j, x);
    }
  }
  return NULL;
}

wk_status wk_eval_segment_reduce(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  segments s = {.c = c, .a = c->a.node->attrs, .data = &c->a.in[0], .offsets = &c->a.in[1],
                .indices = wk_eval_in(c, 2), .weights = wk_eval_in(c, 3),
                .scale = wk_eval_in(c, 4), .bias = wk_eval_in(c, 5)};
  s.rows = wk_segment_rows_of(s.a->rows);
  s.n = s.indices ? s.indices->type.dims[0] : s.data->type.dims[0];
  s.width = c->a.out[0].type.dims[1];
  WK_TRY(wk_reals_alloc(2 * s.width, &s.row));
  s.sum = s.row + s.width;
  wk_status status = run(&s);
  free(s.row);
  return status;
}
