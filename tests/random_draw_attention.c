/* SPDX-License-Identifier: Apache-2.0
 * Patterns that importing a transformer makes: rotary embeddings, norms by the root of the mean
 * square, attention of groups of heads on a cache in which positions are written, and products with
 * packed weights. */
#include "tests/random_draw.h"

static wk_value_id cut(draw *d, wk_value_id x, int axis, int64_t start, int64_t size,
                       int64_t step) {
  int64_t starts[WK_MAX_RANK] = {0}, steps[WK_MAX_RANK];
  if (x == WK_NONE) return x;
  wk_type t = *draw_type(d, x);
  for (int i = 0; i < t.rank; i++) steps[i] = 1;
  starts[axis] = start;
  t.dims[axis] = size;
  steps[axis] = step;
  wk_attr_slice *a = wk_attrs_new(d->a, WK_OP_SLICE);
  a->starts = wk_ints_dup(d->a, starts, t.rank);
  a->sizes = wk_ints_dup(d->a, t.dims, t.rank);
  a->steps = wk_ints_dup(d->a, steps, t.rank);
  return draw_1(d, WK_OP_SLICE, a, x);
}

static wk_value_id shaped(draw *d, wk_value_id x, int rank, const int64_t *dims) {
  if (x == WK_NONE) return x;
  wk_attr_reshape *a = wk_attrs_new(d->a, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(d->a, dims, rank);
  return draw_1(d, WK_OP_RESHAPE, a, x);
}

static wk_value_id joined(draw *d, wk_value_id x, wk_value_id y, int64_t axis) {
  wk_attr_concat *a = wk_attrs_new(d->a, WK_OP_CONCAT);
  a->axis = axis;
  return draw_2(d, WK_OP_CONCAT, a, x, y);
}

static wk_value_id cast(draw *d, wk_value_id x, wk_dtype t) {
  wk_attr_cast *a = wk_attrs_new(d->a, WK_OP_CAST);
  a->to = t;
  return draw_1(d, WK_OP_CAST, a, x);
}

/* ---- rotation -------------------------------------------------------------------------------- */

/* Rows of a table [positions, pairs] for [batch, length], for all heads. */
static wk_value_id table_rows(draw *d, wk_value_id at, const int64_t *dims, int64_t pairs) {
  const int64_t table[] = {6, pairs}, rows[] = {dims[0], 1, dims[2], pairs};
  wk_value_id x = draw_fresh(d, WK_F32, 2, table, draw_chance(d, 70), -1, 1);
  wk_attr_gather *a = wk_attrs_new(d->a, WK_OP_GATHER);
  return shaped(d, draw_2(d, WK_OP_GATHER, a, x, at), 4, rows);
}

/* x [batch, heads, length, depth] with its pairs turned, as neighbours or halves. */
static wk_value_id turned(draw *d, wk_value_id x, wk_value_id at) {
  if (x == WK_NONE) return x;
  const wk_type t = *draw_type(d, x);
  int64_t pairs = draw_int(d, 1, t.dims[3] / 2);
  bool neighbours = draw_chance(d, 50);
  wk_value_id c = table_rows(d, at, t.dims, pairs), s = table_rows(d, at, t.dims, pairs);
  wk_value_id p = cut(d, x, 3, 0, pairs, neighbours ? 2 : 1);
  wk_value_id q = cut(d, x, 3, neighbours ? 1 : pairs, pairs, neighbours ? 2 : 1);
  wk_value_id a = draw_2(d, WK_OP_SUB, NULL, draw_2(d, WK_OP_MUL, NULL, c, p),
                         draw_2(d, WK_OP_MUL, NULL, s, q));
  wk_value_id b = draw_2(d, WK_OP_ADD, NULL, draw_2(d, WK_OP_MUL, NULL, s, p),
                         draw_2(d, WK_OP_MUL, NULL, c, q));
  const int64_t pair[] = {t.dims[0], t.dims[1], t.dims[2], pairs, 1};
  const int64_t flat[] = {t.dims[0], t.dims[1], t.dims[2], 2 * pairs};
  wk_value_id y = neighbours
                      ? shaped(d, joined(d, shaped(d, a, 5, pair), shaped(d, b, 5, pair), 4), 4,
                               flat)
                      : joined(d, a, b, 3);
  if (2 * pairs == t.dims[3]) return y;
  return joined(d, y, cut(d, x, 3, 2 * pairs, t.dims[3] - 2 * pairs, 1), 3);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The cache [batch, heads, length, depth] with rows written at first, i64[1]. */
static wk_value_id written(draw *d, wk_value_id cache, wk_value_id x, wk_value_id first) {
  if (cache == WK_NONE || x == WK_NONE) return WK_NONE;
  const wk_type t = *draw_type(d, x);
  const int64_t dims[] = {t.dims[0], t.dims[1], t.dims[2], 2}, one[] = {1, 1, t.dims[2], 1};
  const int64_t at[] = {t.dims[0], t.dims[1], t.dims[2], 1};
  wk_type places = wk_type_make(WK_I64, 4, dims), steps = wk_type_make(WK_I64, 4, one);
  wk_value_id lead = draw_fresh(d, WK_I64, 4, places.dims, true, 0, 0);
  wk_value_id step = draw_fresh(d, WK_I64, 4, steps.dims, true, 0, 0);
  int64_t *l = d->v.data[lead].t.data, *s = d->v.data[step].t.data;
  for (int64_t i = 0; i < wk_type_count(&places) / 2; i++) {
    l[2 * i] = i / (dims[1] * dims[2]);
    l[2 * i + 1] = i / dims[2] % dims[1];
  }
  for (int64_t i = 0; i < dims[2]; i++) s[i] = i;
  wk_attr_expand *e = wk_attrs_new(d->a, WK_OP_EXPAND);
  e->shape = wk_ints_dup(d->a, at, 4);
  wk_value_id where = draw_1(d, WK_OP_EXPAND, e, draw_2(d, WK_OP_ADD, NULL, first, step));
  const wk_value_id in[] = {cache, joined(d, lead, where, 3), x};
  return draw_node(d, WK_OP_SCATTER_ND, wk_attrs_new(d->a, WK_OP_SCATTER_ND), 3, in, 0);
}

/* Heads of queries in groups that share keys and values, which a cache holds. */
void draw_cached_attention(draw *d) {
  int64_t batch = draw_int(d, 1, 2), shared = draw_int(d, 1, 2), group = draw_int(d, 1, 2);
  int64_t m = draw_int(d, 1, 3), n = draw_int(d, 4, 6), depth = 2 * draw_int(d, 1, 3);
  const int64_t q_dims[] = {batch, shared * group, m, depth}, k_dims[] = {batch, shared, m, depth};
  const int64_t cache[] = {batch, shared, n, depth}, at[] = {batch, m}, one = 1;
  wk_value_id q = draw_of_type(d, WK_F32, 4, q_dims), k = draw_of_type(d, WK_F32, 4, k_dims);
  wk_value_id v = draw_of_type(d, WK_F32, 4, k_dims);
  wk_value_id first = draw_fresh(d, WK_I64, 1, &one, false, 0, (double)(n - m));
  if (draw_chance(d, 60)) {
    wk_value_id places = draw_fresh(d, WK_I64, 2, at, draw_chance(d, 30), 0, 5);
    q = turned(d, q, places);
    k = turned(d, k, places);
  }
  k = written(d, draw_of_type(d, WK_F32, 4, cache), k, first);
  v = written(d, draw_of_type(d, WK_F32, 4, cache), v, first);
  const int64_t rows[] = {batch, shared, group * m, depth};
  const int64_t wide[] = {batch, shared, group, m, depth};
  const int64_t repeated[] = {batch, shared, 1, n, depth};
  bool is_flat = m == 1 || group == 1;
  q = is_flat ? shaped(d, q, 4, rows) : shaped(d, q, 5, wide);
  if (!is_flat) k = shaped(d, k, 5, repeated), v = shaped(d, v, 5, repeated);
  const int64_t mask[] = {is_flat ? group * m : m, n};
  wk_value_id in[] = {q, k, v, draw_of_type(d, WK_F32, 2, mask)};
  wk_attr_attention *a = wk_attrs_new(d->a, WK_OP_ATTENTION);
  a->scale = 0.5;
  if (q == WK_NONE || k == WK_NONE || v == WK_NONE) return;
  wk_value_id y = draw_node(d, WK_OP_ATTENTION, a, draw_chance(d, 60) ? 4 : 3, in, 0);
  shaped(d, y, 4, q_dims);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* x / sqrt(mean(x^2) + e) * scale, of x or of x and what is added to it. */
void draw_rms_norm(draw *d) {
  wk_value_id x = draw_real(d, 2, 4);
  if (draw_chance(d, 40)) x = draw_2(d, WK_OP_ADD, NULL, x, draw_beside(d, x, false));
  if (x == WK_NONE) return;
  const wk_type t = *draw_type(d, x);
  int64_t last = t.rank - 1;
  wk_attr_reduce_mean *a = wk_attrs_new(d->a, WK_OP_REDUCE_MEAN);
  a->axes = wk_ints_dup(d->a, &last, 1);
  wk_value_id s = draw_1(d, WK_OP_REDUCE_MEAN, a, draw_2(d, WK_OP_MUL, NULL, x, x));
  s = draw_2(d, WK_OP_ADD, NULL, s, draw_number(d, t.dtype, 0.01));
  s = draw_1(d, WK_OP_SQRT, NULL, s);
  wk_value_id y = draw_2(d, WK_OP_DIV, NULL, x, s);
  wk_value_id gamma = draw_fresh(d, t.dtype, 1, &t.dims[last], true, 0.5, 2);
  y = draw_2(d, WK_OP_MUL, NULL, y, gamma);
  if (draw_chance(d, 30)) draw_2(d, WK_OP_MUL, NULL, y, draw_1(d, WK_OP_SIGMOID, NULL, y));
}

/* ---- packed weights -------------------------------------------------------------------------- */

/* A product with pairs of 4-bit weights [n, blocks, bytes] and a scale for each block: the low and
 * the high bits with the columns that they meet, in one sum. */
void draw_packed_product(draw *d) {
  int64_t rows = draw_int(d, 1, 3), n = draw_int(d, 2, 6), blocks = draw_int(d, 1, 3);
  int64_t bytes = 4 * draw_int(d, 1, 4);
  const int64_t w_dims[] = {n, blocks, bytes}, s_dims[] = {n, blocks, 1};
  const int64_t x_dims[] = {rows, 1, blocks, bytes};
  wk_value_id w = draw_fresh(d, WK_U8, 3, w_dims, draw_chance(d, 70), 0, 255), sum = WK_NONE;
  wk_value_id scale = draw_fresh(d, WK_F32, 3, s_dims, draw_chance(d, 70), 0.01, 0.1);
  wk_value_id zero = draw_chance(d, 50) ? draw_fresh(d, WK_U8, 3, s_dims, true, 0, 15)
                                        : draw_number(d, WK_U8, 8);
  for (int i = 0; i < 2; i++) {
    wk_value_id x = draw_fresh(d, WK_F32, 4, x_dims, false, -1, 1);
    wk_value_id bits = draw_2(d, WK_OP_BIT_AND, NULL, w, draw_number(d, WK_U8, i ? 240 : 15));
    wk_value_id v = draw_2(d, WK_OP_MUL, NULL, cast(d, bits, WK_F32),
                           draw_number(d, WK_F32, i ? 1.0 / 16 : 1));
    v = draw_2(d, WK_OP_SUB, NULL, v, cast(d, zero, WK_F32));
    v = draw_2(d, WK_OP_MUL, NULL, x, v);
    sum = i ? draw_2(d, WK_OP_ADD, NULL, sum, v) : v;
  }
  const int64_t axes[] = {2, 3};
  wk_attr_reduce_sum *a = wk_attrs_new(d->a, WK_OP_REDUCE_SUM);
  a->axes = wk_ints_dup(d->a, axes, 2);
  draw_1(d, WK_OP_REDUCE_SUM, a, draw_2(d, WK_OP_MUL, NULL, scale, sum));
}
