/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/import/attention.h"

#include <math.h>
#include <string.h>

#include "compiler/onnx/import/control.h"

/* ---- heads ----------------------------------------------------------------------------------- */

wk_value_id wk_heads_split(wk_onnx_node *c, wk_value_id x, int64_t heads) {
  if (c->status) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, x);
  if (!wk_onnx_valid(c, t.rank == 3 && heads > 0 && t.dims[2] % heads == 0,
                     "%lld heads do not divide a hidden size of %lld", (long long)heads,
                     (long long)(t.rank == 3 ? t.dims[2] : 0)))
    return WK_NONE;
  const int64_t dims[] = {t.dims[0], t.dims[1], heads, t.dims[2] / heads}, perm[] = {0, 2, 1, 3};
  wk_value_id y = wk_make_transpose(c, wk_make_reshape(c, x, 4, dims), perm);
  const wk_size *sizes[] = {wk_extent_dim(c, x, 0), wk_size_const(c, dims[2]),
                            wk_extent_dim(c, x, 1), wk_size_const(c, dims[3])};
  return wk_extent_set(c, y, sizes);
}

wk_value_id wk_heads_merge(wk_onnx_node *c, wk_value_id x) {
  if (c->status) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, x);
  const int64_t dims[] = {t.dims[0], t.dims[2], t.dims[1] * t.dims[3]}, perm[] = {0, 2, 1, 3};
  wk_value_id y = wk_make_reshape(c, wk_make_transpose(c, x, perm), 3, dims);
  const wk_size *sizes[] = {wk_extent_dim(c, x, 0), wk_extent_dim(c, x, 2),
                            wk_size_const(c, dims[2])};
  return wk_extent_set(c, y, sizes);
}

wk_value_id wk_heads_append(wk_onnx_node *c, wk_value_id past, wk_value_id x) {
  if (c->status || past == WK_NONE) return x;
  const wk_value_id parts[] = {past, x};
  return wk_extent_join(c, parts, 2, 2);
}

/* ---- what a query sees ----------------------------------------------------------------------- */

wk_mask wk_mask_for(wk_onnx_node *c, wk_value_id q, wk_value_id k) {
  wk_mask m = {.allowed = WK_NONE, .bias = WK_NONE, .count = WK_NONE};
  if (c->status) return m;
  const wk_type *tq = wk_onnx_type(c, q), *tk = wk_onnx_type(c, k);
  m.dtype = wk_compute_dtype(tq->dtype);
  m.batch = tq->dims[0];
  m.heads = tq->dims[1];
  m.m = tq->dims[2];
  m.n = tk->dims[2];
  wk_extent_dims(c, q, m.sizes);
  m.sizes[3] = wk_extent_dim(c, k, 2);
  return m;
}

static bool is_all_true(const wk_onnx_node *c, wk_value_id v) {
  if (!wk_is_const(c->g, v)) return false;
  const uint8_t *b = wk_val(c->g, v)->data;
  for (int64_t i = 0; i < wk_type_count(wk_onnx_type(c, v)); i++) {
    if (!b[i]) return false;
  }
  return true;
}

static void allow(wk_onnx_node *c, wk_mask *m, wk_value_id cond) {
  if (c->status || is_all_true(c, cond)) return;
  m->allowed = m->allowed == WK_NONE ? cond : wk_make_2(c, WK_OP_AND, m->allowed, cond);
}

static void add(wk_onnx_node *c, wk_mask *m, wk_value_id term) {
  term = wk_make_cast(c, term, m->dtype);
  m->bias = m->bias == WK_NONE ? term : wk_make_2(c, WK_OP_ADD, m->bias, term);
}

wk_value_id wk_mask_axis(wk_onnx_node *c, const wk_mask *m, wk_value_id x, int axis, int of) {
  const int64_t rooms[] = {m->batch, m->heads, m->m, m->n};
  const wk_size *dims[WK_MAX_RANK], *want = m->sizes[of];
  if (c->status) return x;
  wk_extent_dims(c, x, dims);
  int64_t known, other;
  if (wk_size_is_const(dims[axis], &known) && wk_size_is_const(want, &other)) return x;
  x = wk_extent_room(c, wk_extent_checked(c, x, dims[axis], want), axis, rooms[of]);
  dims[axis] = want;
  return wk_extent_set(c, x, dims);
}

/* The mask in the sizes of the scores. Broadcasts to them without enlarging them? */
static bool fits(wk_onnx_node *c, const wk_mask *m, wk_value_id *mask) {
  const int64_t want[] = {m->batch, m->heads, m->m, m->n};
  int rank = wk_onnx_type(c, *mask)->rank;
  int64_t known;
  bool ok = rank <= 4;
  for (int i = 0; ok && i < rank; i++) {
    if (wk_size_is_const(wk_extent_dim(c, *mask, i), &known) && known == 1) continue;
    *mask = wk_mask_axis(c, m, *mask, i, 4 - rank + i);
    ok = wk_onnx_type(c, *mask)->dims[i] == want[4 - rank + i];
  }
  return wk_onnx_valid(c, ok, "the mask does not broadcast to the scores [%lld,%lld,%lld,%lld]",
                       (long long)want[0], (long long)want[1], (long long)want[2],
                       (long long)want[3]);
}

void wk_mask_apply(wk_onnx_node *c, wk_mask *m, wk_value_id mask) {
  if (c->status || !fits(c, m, &mask)) return;
  m->has_empty_rows = true;
  if (wk_onnx_type(c, mask)->dtype == WK_BOOL) allow(c, m, mask);
  else add(c, m, mask);
}

/* 0, 1 … n-1 along `axis` of a tensor of this rank. */
static wk_value_id count_up(wk_onnx_node *c, int64_t first, int64_t n, int axis, int rank) {
  void *data;
  const wk_type t = wk_type_make(WK_I64, 1, &n);
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; data && i < n; i++) ((int64_t *)data)[i] = first + i;
  return wk_make_along(c, v, axis, rank);
}

/* Of no sample count more keys than the largest of these, and `more`. */
static void count_keys(wk_onnx_node *c, wk_mask *m, wk_value_id lengths, const wk_size *more) {
  static const int64_t batch = 0;
  int64_t known;
  bool is_idle = c->im->opt->purpose != WK_FOR_INFERENCE || !wk_size_is_const(m->sizes[3], &known);
  if (c->status || is_idle || m->count != WK_NONE || wk_is_const(c->g, lengths)) return;
  lengths = wk_extent_filled(c, lengths, 0, wk_extent_number(c, 0));
  m->count = wk_make_reduce(c, WK_OP_REDUCE_MAX, lengths, (wk_ints){1, &batch}, false);
  m->count = wk_extent_plus(c, m->count, more);
}

void wk_mask_lengths(wk_onnx_node *c, wk_mask *m, wk_value_id lengths) {
  if (c->status) return;
  m->has_empty_rows = true;
  count_keys(c, m, lengths, wk_size_const(c, 0));
  lengths = wk_make_along(c, lengths, 0, 4);
  allow(c, m, wk_make_2(c, WK_OP_LESS, count_up(c, 0, m->n, 3, 4), lengths));
}

/* The first query sees a key, and so does the last one. */
static bool ends_see(wk_onnx_node *c, const wk_mask *m, const wk_size *first, int64_t left,
                     int64_t right) {
  const wk_size *behind = wk_size_sub(c, wk_size_add(c, first, m->sizes[2]), m->sizes[3]);
  return (right < 0 || wk_size_least(c, first) + right >= 0) &&
         (left < 0 || wk_size_most(c, behind) - 1 - left < 0);
}

void wk_mask_window(wk_onnx_node *c, wk_mask *m, const wk_size *first, wk_value_id firsts,
                    int64_t left, int64_t right) {
  if (c->status || (left < 0 && right < 0)) return;
  int64_t from = 0;
  bool is_one = firsts == WK_NONE, known = is_one && wk_size_is_const(first, &from);
  int rank = is_one ? 2 : 4;
  wk_value_id key = count_up(c, 0, m->n, rank - 1, rank);
  wk_value_id query = count_up(c, from, m->m, rank - 2, rank);
  if (!is_one) query = wk_make_2(c, WK_OP_ADD, query, wk_make_along(c, firsts, 0, rank));
  else if (!known) query = wk_make_2(c, WK_OP_ADD, query, wk_size_value(c, first));
  if (right >= 0)
    allow(c, m, wk_make_2(c, WK_OP_LESS_EQUAL, key, wk_make_add_f(c, query, (double)right)));
  if (left >= 0)
    allow(c, m, wk_make_2(c, WK_OP_GREATER_EQUAL, key, wk_make_add_f(c, query, -(double)left)));
  m->has_empty_rows = m->has_empty_rows || !is_one || !ends_see(c, m, first, left, right);
  if (!is_one && right >= 0 && m->n > m->m)
    count_keys(c, m, firsts, wk_size_plus(c, m->sizes[2], right));
}

static bool has_open_keys(const wk_mask *m) {
  int64_t known;
  return m && !wk_size_is_const(m->sizes[3], &known);
}

/* x, one of whose axes is that of the keys, with `fill` beyond those that count. */
static wk_value_id filled(wk_onnx_node *c, const wk_mask *m, wk_value_id x, int axis,
                          wk_fill fill) {
  bool is_open = has_open_keys(m);
  if (c->status || (!is_open && (!m || m->count == WK_NONE))) return x;
  const wk_type t = *wk_onnx_type(c, x);
  wk_value_id below = is_open ? wk_extent_below(c, m->n, m->sizes[3])
                              : wk_make_2(c, WK_OP_LESS, wk_make_iota(c, m->n), m->count);
  below = wk_make_along(c, below, axis, t.rank);
  return wk_make_where(c, below, x, wk_extent_scalar(c, t.dtype, fill));
}

/* What is added to the scores; WK_NONE: nothing. */
static wk_value_id mask_bias(wk_onnx_node *c, const wk_mask *m) {
  wk_value_id bias = m->bias;
  if (m->allowed != WK_NONE) {
    wk_value_id zero = bias == WK_NONE ? wk_make_scalar(c, m->dtype, 0) : bias;
    bias = wk_make_where(c, m->allowed, zero, wk_make_scalar(c, m->dtype, -INFINITY));
  }
  if (c->status || bias == WK_NONE) return bias;
  int rank = wk_onnx_type(c, bias)->rank; /* no empty row may be hidden by what is beyond */
  bool has_keys = rank > 0 && wk_onnx_type(c, bias)->dims[rank - 1] == m->n;
  bool may_hide = has_keys && m->has_empty_rows && has_open_keys(m);
  return may_hide ? filled(c, m, bias, rank - 1, WK_FILL_LEAST) : bias;
}

/* Rows in which nothing is seen, bool [.., m, 1]; WK_NONE: there are none. */
static wk_value_id empty_rows(wk_onnx_node *c, const wk_mask *m, wk_value_id bias) {
  if (c->status || bias == WK_NONE || !m->has_empty_rows) return WK_NONE;
  int rank = wk_onnx_type(c, bias)->rank;
  if (rank == 0) return WK_NONE;
  wk_value_id top =
      wk_make_reduce(c, WK_OP_REDUCE_MAX, bias, wk_make_axes(c, rank - 1, rank), true);
  wk_value_id none = wk_make_2(c, WK_OP_EQUAL, top, wk_make_scalar(c, m->dtype, -INFINITY));
  wk_value_id some = wk_make_1(c, WK_OP_NOT, none);
  return c->status || is_all_true(c, some) ? WK_NONE : none;
}

static wk_value_id zero_where(wk_onnx_node *c, wk_value_id cond, wk_value_id x) {
  if (c->status || cond == WK_NONE) return x;
  return wk_make_where(c, cond, wk_make_scalar(c, wk_onnx_type(c, x)->dtype, 0), x);
}

/* ---- groups of heads ------------------------------------------------------------------------- */

/* Heads of q that share a head of k and v. A single query makes its group the rows of one product;
 * otherwise the group is an axis along which k and v repeat. */
typedef struct { int64_t heads, shared, size, m; } groups;

static groups groups_of(wk_onnx_node *c, const wk_attention *a) {
  const wk_type *q = wk_onnx_type(c, a->q), *k = wk_onnx_type(c, a->k);
  groups g = {.heads = q->dims[1], .shared = k->dims[1], .size = 1, .m = q->dims[2]};
  if (wk_onnx_valid(c, g.shared > 0 && g.heads % g.shared == 0,
                    "%lld heads of keys do not divide %lld heads of queries", (long long)g.shared,
                    (long long)g.heads))
    g.size = g.heads / g.shared;
  return g;
}

/* [.., heads or 1, rows, columns] as the product has it. */
static wk_value_id grouped(wk_onnx_node *c, const groups *g, wk_value_id x) {
  const wk_type t = *wk_onnx_type(c, x);
  if (c->status || g->size == 1 || t.rank < 3) return x;
  int64_t dims[5], batch = t.rank == 4 ? t.dims[0] : 1, heads = t.dims[t.rank - 3];
  int64_t rows = t.dims[t.rank - 2], columns = t.dims[t.rank - 1];
  dims[0] = batch;
  dims[1] = heads == 1 ? 1 : g->shared;
  dims[2] = heads == g->heads ? g->size : 1;
  dims[3] = rows;
  dims[4] = columns;
  if (g->m != 1) return wk_make_reshape(c, x, 5, dims);
  dims[3] = columns;
  return wk_make_reshape(c, x, 4, dims);
}

/* k and v: their heads are the shared ones. */
static wk_value_id repeated(wk_onnx_node *c, const groups *g, wk_value_id x) {
  const wk_type t = *wk_onnx_type(c, x);
  if (c->status || g->size == 1 || g->m == 1) return x;
  const int64_t dims[] = {t.dims[0], t.dims[1], 1, t.dims[2], t.dims[3]};
  return wk_make_reshape(c, x, 5, dims);
}

static wk_value_id ungrouped(wk_onnx_node *c, const groups *g, wk_value_id x) {
  const wk_type t = *wk_onnx_type(c, x);
  if (c->status || g->size == 1) return x;
  const int64_t dims[] = {t.dims[0], g->heads, g->m, t.dims[t.rank - 1]};
  return wk_make_reshape(c, x, 4, dims);
}

/* ---- attention ------------------------------------------------------------------------------- */

static wk_value_id transposed(wk_onnx_node *c, wk_value_id x) {
  int rank = wk_onnx_type(c, x)->rank;
  return wk_make_move_axis(c, x, rank - 1, rank - 2);
}

static wk_value_id capped(wk_onnx_node *c, wk_value_id x, double cap) {
  if (cap == 0) return x;
  wk_value_id y = wk_make_1(c, WK_OP_TANH, wk_make_mul_f(c, x, 1 / cap));
  return wk_make_mul_f(c, y, cap);
}

/* A subgraph that keeps shape and type. */
static wk_value_id modified(wk_onnx_node *c, const Onnx__GraphProto *p, wk_value_id x) {
  if (!p || c->status) return x;
  const wk_type t = *wk_onnx_type(c, x);
  wk_bound in = wk_bound_tensor(x), out = {0};
  wk_body_inline(c, p, &in, 1, &out, 1);
  if (c->status || !wk_onnx_need(c, out.kind == WK_BOUND_TENSOR, "a modifier gives no tensor"))
    return WK_NONE;
  wk_onnx_valid(c, wk_type_equal(&t, wk_onnx_type(c, out.value)),
                "a modifier changes the shape or the type of its input");
  return out.value;
}

/* softmax along the last axis, whose denominators have the sink's part besides. */
static wk_value_id softmax_of(wk_onnx_node *c, const wk_attention *a, wk_value_id x) {
  if (!a->has_sink || c->status) {
    WK_MAKE_ATTRS(c, s, SOFTMAX, softmax);
    s->axis = 3;
    return wk_make(c, WK_OP_SOFTMAX, s, 1, x);
  }
  wk_dtype t = wk_onnx_type(c, x)->dtype;
  wk_ints last = wk_make_axes(c, 3, 4);
  wk_value_id sink = wk_make_along(c, wk_make_cast(c, a->sink, t), 1, 4);
  wk_value_id top = wk_make_reduce(c, WK_OP_REDUCE_MAX, x, last, true);
  top = wk_make_2(c, WK_OP_MAX, top, sink);
  x = wk_make_1(c, WK_OP_EXP, wk_make_2(c, WK_OP_SUB, x, top));
  sink = wk_make_1(c, WK_OP_EXP, wk_make_2(c, WK_OP_SUB, sink, top));
  wk_value_id sum = wk_make_reduce(c, WK_OP_REDUCE_SUM, x, last, true);
  return wk_make_2(c, WK_OP_DIV, x, wk_make_2(c, WK_OP_ADD, sum, sink));
}

/* y, [batch, heads, m, ..], with the open sizes of the scores along its first axes. */
static wk_value_id sized(wk_onnx_node *c, const wk_mask *m, wk_value_id y, int axes) {
  const wk_size *dims[WK_MAX_RANK];
  int64_t known;
  if (c->status || !m) return y;
  wk_extent_dims(c, y, dims);
  for (int i = 0; i < axes; i++)
    if (!wk_size_is_const(m->sizes[i], &known)) dims[i] = m->sizes[i];
  return wk_extent_set(c, y, dims);
}

/* Written out, where something is done between the products or wanted from there. */
static wk_value_id attend_in_steps(wk_onnx_node *c, const wk_attention *a, const groups *g,
                                   wk_value_id bias, wk_value_id empty, wk_value_id *scores) {
  wk_value_id kt = transposed(c, repeated(c, g, a->k)), steps[4];
  wk_value_id x = wk_make_2(c, WK_OP_MATMUL, grouped(c, g, a->q), kt);
  wk_dtype t = wk_onnx_type(c, x)->dtype, inner = a->softmax == WK_DTYPE_NONE ? t : a->softmax;
  x = steps[WK_SCORES_RAW] = ungrouped(c, g, wk_make_mul_f(c, x, a->scale));
  x = steps[WK_SCORES_CAPPED] = capped(c, x, a->softcap);
  if (bias != WK_NONE) x = wk_make_2(c, WK_OP_ADD, x, bias);
  steps[WK_SCORES_MASKED] = x;
  x = filled(c, a->mask, x, 3, WK_FILL_LEAST);
  x = modified(c, a->score_mod, wk_make_cast(c, x, inner));
  x = modified(c, a->prob_mod, softmax_of(c, a, x));
  x = steps[WK_SCORES_SOFTMAX] = zero_where(c, empty, wk_make_cast(c, x, t));
  if (scores) *scores = sized(c, a->mask, steps[a->kind], 4);
  wk_value_id v = repeated(c, g, a->v);
  x = grouped(c, g, x);
  if (c->status) return WK_NONE;
  x = filled(c, a->mask, x, wk_onnx_type(c, x)->rank - 1, WK_FILL_ZERO);
  if (has_open_keys(a->mask))
    v = filled(c, a->mask, v, wk_onnx_type(c, v)->rank - 2, WK_FILL_ZERO);
  return ungrouped(c, g, wk_make_2(c, WK_OP_MATMUL, x, v));
}

wk_value_id wk_attend(wk_onnx_node *c, const wk_attention *a, wk_value_id *scores) {
  if (c->status) return WK_NONE;
  const groups g = groups_of(c, a);
  wk_value_id bias = WK_NONE, empty = WK_NONE;
  if (a->mask) {
    bias = mask_bias(c, a->mask);
    empty = empty_rows(c, a->mask, bias);
  }
  if (c->status) return WK_NONE;
  bool in_steps = scores || a->has_sink || a->softcap != 0 || a->softmax != WK_DTYPE_NONE ||
                  a->score_mod || a->prob_mod;
  in_steps = in_steps || has_open_keys(a->mask) || (a->mask && a->mask->count != WK_NONE);
  if (in_steps) return sized(c, a->mask, attend_in_steps(c, a, &g, bias, empty, scores), 3);
  WK_MAKE_ATTRS(c, attr, ATTENTION, attention);
  attr->scale = a->scale;
  wk_value_id y = wk_make(c, WK_OP_ATTENTION, attr, bias == WK_NONE ? 3 : 4, grouped(c, &g, a->q),
                          repeated(c, &g, a->k), repeated(c, &g, a->v), grouped(c, &g, bias));
  return sized(c, a->mask, zero_where(c, empty, ungrouped(c, &g, y)), 3);
}
