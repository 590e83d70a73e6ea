/* SPDX-License-Identifier: Apache-2.0
 * TfIdfVectorizer of numbers: how often each n-gram of a pool occurs in a row, also with elements
 * skipped between its own. All windows of a length are compared with all n-grams at once. */
#include <string.h>

#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"

typedef struct {
  wk_value_id x;             /* i64[rows, length] */
  int64_t rows, length, least, most, skips;
  wk_ints pool, starts, places; /* numbers; where the n-grams of 1, 2 … begin; their outputs */
} grams;

static bool read_grams(wk_onnx_node *c, grams *g) {
  const wk_type t = *wk_onnx_type(c, c->in[0]);
  *g = (grams){.least = wk_onnx_int(c, "min_gram_length", 0),
               .most = wk_onnx_int(c, "max_gram_length", 0),
               .skips = wk_onnx_int(c, "max_skip_count", 0),
               .pool = wk_onnx_ints(c, "pool_int64s"),
               .starts = wk_onnx_ints(c, "ngram_counts"),
               .places = wk_onnx_ints(c, "ngram_indexes")};
  wk_onnx_need(c, g->pool.n >= 0, WK_ONNX_NO_STRINGS);
  wk_onnx_valid(c, t.rank == 1 || t.rank == 2, "the input has rank %d, not 1 or 2", t.rank);
  wk_onnx_valid(c, g->least >= 1 && g->most >= g->least && g->most <= g->starts.n && g->skips >= 0,
                "n-grams of %lld to %lld numbers do not fit %lld ngram_counts", (long long)g->least,
                (long long)g->most, (long long)g->starts.n);
  if (c->status) return false;
  int64_t total = 0;
  for (int64_t n = 1; n <= g->starts.n && wk_onnx_ok(c); n++) {
    int64_t end = n < g->starts.n ? g->starts.v[n] : g->pool.n, start = g->starts.v[n - 1];
    wk_onnx_valid(c, start >= 0 && start <= end && end <= g->pool.n && (end - start) % n == 0,
                  "ngram_counts do not divide the pool into n-grams of %lld", (long long)n);
    total += (end - start) / n;
  }
  wk_onnx_valid(c, total == g->places.n, "%lld ngram_indexes for %lld n-grams",
                (long long)g->places.n, (long long)total);
  if (c->status) return false;
  g->rows = t.rank == 2 ? t.dims[0] : 1;
  g->length = t.dims[t.rank - 1];
  if (g->skips > g->length) g->skips = g->length; /* past the row in any case */
  const int64_t dims[] = {g->rows, g->length};
  g->x = wk_make_reshape(c, wk_make_cast(c, c->in[0], WK_I64), 2, dims);
  return wk_onnx_ok(c);
}

/* Element k of each of `count` n-grams from `start` on, to compare with the windows. */
static wk_value_id elements(wk_onnx_node *c, const grams *g, int64_t start, int64_t count,
                            int64_t n, int64_t k) {
  void *data;
  const int64_t dims[] = {1, 1, count};
  const wk_type t = wk_type_make(WK_I64, 3, dims);
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; data && i < count; i++) ((int64_t *)data)[i] = g->pool.v[start + i * n + k];
  return v;
}

/* f32[rows, count]: occurrences whose elements are `step` apart. */
static wk_value_id occurrences(wk_onnx_node *c, const grams *g, int64_t start, int64_t count,
                               int64_t n, int64_t step) {
  int64_t windows = g->length - (n - 1) * step;
  const int64_t dims[] = {g->rows, windows, 1};
  wk_value_id all = WK_NONE;
  for (int64_t k = 0; k < n && wk_onnx_ok(c); k++) {
    wk_value_id x = wk_make_reshape(c, wk_make_slice(c, g->x, 1, k * step, windows, 1), 3, dims);
    wk_value_id is = wk_make_2(c, WK_OP_EQUAL, x, elements(c, g, start, count, n, k));
    all = k ? wk_make_2(c, WK_OP_AND, all, is) : is;
  }
  all = wk_make_cast(c, all, WK_F32);
  return wk_make_reduce(c, WK_OP_REDUCE_SUM, all, wk_make_axes(c, 1, 2), false);
}

static wk_value_id zeros(wk_onnx_node *c, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return wk_make_expand(c, wk_make_scalar(c, WK_F32, 0), 2, dims);
}

/* Occurrences of the n-grams of n numbers, skips included; those of one number skip nothing. */
static wk_value_id count_grams(wk_onnx_node *c, const grams *g, int64_t n, int64_t start,
                               int64_t count) {
  wk_value_id sum = zeros(c, g->rows, count);
  if (n < g->least || n > g->most) return sum;
  for (int64_t step = 1; step <= (n == 1 ? 1 : g->skips + 1) && wk_onnx_ok(c); step++) {
    if ((n - 1) * step >= g->length) break;
    sum = wk_make_2(c, WK_OP_ADD, sum, occurrences(c, g, start, count, n, step));
  }
  return sum;
}

/* Columns in the order of the output: column ngram_indexes[j] is that of n-gram j; others are 0. */
static wk_value_id placed(wk_onnx_node *c, const grams *g, wk_value_id counts) {
  int64_t width = 0;
  for (int64_t j = 0; j < g->places.n; j++) {
    if (!wk_onnx_valid(c, g->places.v[j] >= 0 && g->places.v[j] < 1 << 24, "ngram_indexes: %lld",
                       (long long)g->places.v[j]))
      return WK_NONE;
    if (g->places.v[j] >= width) width = g->places.v[j] + 1;
  }
  if (c->status) return WK_NONE;
  int64_t *from = wk_arena_alloc(c->im->arena, (size_t)width * sizeof *from);
  for (int64_t i = 0; i < width; i++) from[i] = g->places.n; /* a column of zeros behind them */
  for (int64_t j = 0; j < g->places.n; j++) {
    wk_onnx_need(c, from[g->places.v[j]] == g->places.n,
                 "two n-grams of one output, %lld, are not supported", (long long)g->places.v[j]);
    from[g->places.v[j]] = j;
  }
  const wk_value_id parts[] = {counts, zeros(c, g->rows, 1)};
  return wk_make_gather(c, wk_make_concat(c, parts, 2, 1), wk_make_i64s(c, from, width), 1);
}

static wk_value_id weighted(wk_onnx_node *c, const grams *g, wk_value_id counts) {
  bool tf = wk_onnx_text_is(c, "mode", "", "TF"), idf = wk_onnx_text_is(c, "mode", "", "IDF");
  wk_floats w = wk_onnx_floats(c, "weights");
  wk_onnx_valid(c, tf || idf || wk_onnx_text_is(c, "mode", "", "TFIDF"),
                "mode '%s' is none of TF, IDF and TFIDF", wk_onnx_text(c, "mode", ""));
  wk_onnx_valid(c, w.n < 0 || w.n == g->places.n, "%lld weights for %lld n-grams", (long long)w.n,
                (long long)g->places.n);
  if (c->status || tf) return counts;
  if (idf) counts = wk_make_2(c, WK_OP_MIN, counts, wk_make_scalar(c, WK_F32, 1));
  return w.n < 0 ? counts
                 : wk_make_2(c, WK_OP_MUL, counts, wk_make_f64s(c, WK_F32, w.v, 1, &w.n));
}

wk_status wk_onnx_tf_idf(wk_onnx_node *c) {
  enum { MOST = 64 };
  grams g;
  wk_value_id parts[MOST];
  int n_parts = 0;
  if (!read_grams(c, &g)) return c->status;
  if (!wk_onnx_need(c, g.starts.n <= MOST, "n-grams of more than %d numbers are not supported",
                    MOST))
    return c->status;
  for (int64_t n = 1; n <= g.starts.n && wk_onnx_ok(c); n++) {
    int64_t end = n < g.starts.n ? g.starts.v[n] : g.pool.n, count = (end - g.starts.v[n - 1]) / n;
    if (count > 0) parts[n_parts++] = count_grams(c, &g, n, g.starts.v[n - 1], count);
  }
  if (!wk_onnx_valid(c, n_parts > 0, "the pool is empty")) return c->status;
  wk_value_id y = placed(c, &g, weighted(c, &g, wk_make_concat(c, parts, n_parts, 1)));
  if (c->status) return c->status;
  if (wk_onnx_type(c, c->in[0])->rank == 1)
    y = wk_make_reshape(c, y, 1, &wk_onnx_type(c, y)->dims[1]);
  return wk_onnx_return(c, y);
}
