/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing by index. Every index comes from a tensor: one outside its axis ends the
 * evaluation with an error that names the node. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

static wk_status out_of_range(const wk_eval_call *c, int64_t index, int64_t n, int64_t axis) {
  return EVAL_BAD(c, "index %lld is outside axis %lld of size %lld", (long long)index,
                  (long long)axis, (long long)n);
}

/* ---- gather ---------------------------------------------------------------------------------- */

wk_status wk_eval_gather(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *data = &c->a.in[0], *indices = &c->a.in[1];
  int64_t axis = ((const wk_attr_gather *)c->a.node->attrs)->axis;
  wk_axis v = wk_axis_of(&data->type, axis);
  int64_t n = wk_type_count(&indices->type), to = 0;
  size_t bytes = (size_t)(v.inner * wk_dtype_size(data->type.dtype));
  for (int64_t o = 0; o < v.outer; o++) {
    for (int64_t k = 0; k < n; k++, to += v.inner) {
      int64_t at, index = wk_load_i64(indices->data, indices->type.dtype, k);
      if (!wk_index_ok(index, v.n, &at)) return out_of_range(c, index, v.n, axis);
      memcpy(wk_at(&c->a.out[0], to), wk_at(data, (o * v.n + at) * v.inner), bytes);
    }
  }
  return NULL;
}

/* Position in data that element `pos` of indices names, whose value is index i of the axis. */
static int64_t element_position(const int64_t *pos, int rank, const int64_t *strides, int64_t axis,
                                int64_t i) {
  return wk_walk_dot(rank, pos, strides) + (i - pos[axis]) * strides[axis];
}

wk_status wk_eval_gather_elements(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *data = &c->a.in[0], *indices = &c->a.in[1];
  int64_t axis = ((const wk_attr_gather_elements *)c->a.node->attrs)->axis;
  int64_t strides[WK_MAX_RANK], pos[WK_MAX_RANK] = {0}, count = wk_type_count(&indices->type);
  int rank = data->type.rank;
  size_t size = (size_t)wk_dtype_size(data->type.dtype);
  wk_type_strides(&data->type, strides);
  for (int64_t k = 0; k < count; k++) {
    int64_t at, index = wk_load_i64(indices->data, indices->type.dtype, k);
    if (!wk_index_ok(index, data->type.dims[axis], &at))
      return out_of_range(c, index, data->type.dims[axis], axis);
    memcpy(wk_at(&c->a.out[0], k), wk_at(data, element_position(pos, rank, strides, axis, at)),
           size);
    wk_walk_next(rank, indices->type.dims, pos);
  }
  return NULL;
}

/* Coordinates [k * depth, …) of indices as a position in data whose axes start at `first`. */
static wk_status coordinates(const wk_eval_call *c, int64_t k, int first, int64_t *out) {
  const wk_tensor *data = &c->a.in[0], *indices = &c->a.in[1];
  int64_t depth = indices->type.dims[indices->type.rank - 1], strides[WK_MAX_RANK];
  wk_type_strides(&data->type, strides);
  *out = 0;
  for (int64_t d = 0; d < depth; d++) {
    int64_t at, index = wk_load_i64(indices->data, indices->type.dtype, k * depth + d);
    int64_t n = data->type.dims[first + d];
    if (!wk_index_ok(index, n, &at)) return out_of_range(c, index, n, first + d);
    *out += at * strides[first + d];
  }
  return NULL;
}

wk_status wk_eval_gather_nd(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *data = &c->a.in[0], *indices = &c->a.in[1];
  int batch = (int)((const wk_attr_gather_nd *)c->a.node->attrs)->batch_dims;
  int last = indices->type.rank - 1, depth = (int)indices->type.dims[last];
  int64_t rows = wk_dims_count(indices->type.dims, 0, last);
  int64_t batches = wk_dims_count(indices->type.dims, 0, batch);
  int64_t slice = wk_dims_count(data->type.dims, batch + depth, data->type.rank);
  int64_t batch_size = wk_dims_count(data->type.dims, batch, data->type.rank);
  size_t bytes = (size_t)(slice * wk_dtype_size(data->type.dtype));
  for (int64_t k = 0; k < rows; k++) {
    int64_t at;
    WK_TRY(coordinates(c, k, batch, &at));
    at += k / (rows / batches) * batch_size;
    memcpy(wk_at(&c->a.out[0], k * slice), wk_at(data, at), bytes);
  }
  return NULL;
}

/* ---- scatter --------------------------------------------------------------------------------- */

/* How an update meets what is there; WK_EX_INPUT: replaces it. */
static wk_expr_op combiner(const char *reduction) {
  static const struct { const char *name; wk_expr_op op; } rows[] = {
      {"add", WK_EX_ADD}, {"mul", WK_EX_MUL}, {"min", WK_EX_MIN}, {"max", WK_EX_MAX}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (strcmp(rows[i].name, reduction) == 0) return rows[i].op;
  return WK_EX_INPUT;
}

static void combine(wk_expr_op op, wk_dtype t, char *to, const char *from, int64_t n) {
  int size = wk_dtype_size(t);
  if (op == WK_EX_INPUT) {
    memcpy(to, from, (size_t)(n * size));
    return;
  }
  for (int64_t i = 0; i < n; i++, to += size, from += size) {
    wk_scalar a = wk_scalar_load(to, t), b = wk_scalar_load(from, t);
    wk_scalar_store(to, t, wk_expr_apply(op, t, t, a, b, b));
  }
}

static void copy_data(const wk_eval_call *c) {
  memmove(c->a.out[0].data, c->a.in[0].data, (size_t)wk_type_bytes(&c->a.in[0].type));
}

/* Sums and products of a 16-bit float are rounded when all updates have met. */
static bool meets_wide(const wk_eval_call *c, wk_expr_op op) {
  wk_dtype t = c->a.in[0].type.dtype;
  return (op == WK_EX_ADD || op == WK_EX_MUL) && wk_compute_dtype(t) != t;
}

static void copy_reals(const wk_tensor *from, wk_tensor *to) {
  for (int64_t i = 0; i < wk_type_count(&to->type); i++) {
    double v;
    wk_reals_read(&v, from, i, 1, 1);
    wk_reals_write(&v, to, i, 1, 1);
  }
}

static wk_status wide_copy(const wk_tensor *t, wk_tensor *out) {
  wk_type type = t->type;
  type.dtype = wk_compute_dtype(type.dtype);
  WK_TRY(wk_tensor_alloc(&type, out));
  copy_reals(t, out);
  return NULL;
}

static wk_status run_wide(const wk_eval_call *c, wk_status (*run)(const wk_eval_call *c)) {
  wk_tensor in[3] = {0}, y = {0};
  in[1] = c->a.in[1];
  wk_eval_call wide = *c;
  wide.a.in = in;
  wide.a.out = &y;
  wk_status s;
  WK_TRY_GOTO(s, done, wide_copy(&c->a.in[0], &in[0]));
  WK_TRY_GOTO(s, done, wide_copy(&c->a.in[2], &in[2]));
  WK_TRY_GOTO(s, done, wk_tensor_alloc(&in[0].type, &y));
  WK_TRY_GOTO(s, done, run(&wide));
  copy_reals(&y, &c->a.out[0]);
done:
  wk_tensor_free(&in[0]);
  wk_tensor_free(&in[2]);
  wk_tensor_free(&y);
  return s;
}

wk_status wk_eval_scatter_elements(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_scatter_elements *a = c->a.node->attrs;
  const wk_tensor *data = &c->a.in[0], *indices = &c->a.in[1], *updates = &c->a.in[2];
  int64_t strides[WK_MAX_RANK], pos[WK_MAX_RANK] = {0}, count = wk_type_count(&indices->type);
  int rank = data->type.rank;
  wk_expr_op op = combiner(a->reduction);
  if (meets_wide(c, op)) return run_wide(c, wk_eval_scatter_elements);
  wk_type_strides(&data->type, strides);
  copy_data(c);
  for (int64_t k = 0; k < count; k++) {
    int64_t at, index = wk_load_i64(indices->data, indices->type.dtype, k);
    if (!wk_index_ok(index, data->type.dims[a->axis], &at))
      return out_of_range(c, index, data->type.dims[a->axis], a->axis);
    combine(op, data->type.dtype,
            wk_at(&c->a.out[0], element_position(pos, rank, strides, a->axis, at)),
            wk_at(updates, k), 1);
    wk_walk_next(rank, indices->type.dims, pos);
  }
  return NULL;
}

wk_status wk_eval_scatter_nd(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *data = &c->a.in[0], *indices = &c->a.in[1], *updates = &c->a.in[2];
  wk_expr_op op = combiner(((const wk_attr_scatter_nd *)c->a.node->attrs)->reduction);
  if (meets_wide(c, op)) return run_wide(c, wk_eval_scatter_nd);
  int last = indices->type.rank - 1, depth = (int)indices->type.dims[last];
  int64_t rows = wk_dims_count(indices->type.dims, 0, last);
  int64_t slice = wk_dims_count(data->type.dims, depth, data->type.rank);
  copy_data(c);
  for (int64_t k = 0; k < rows; k++) {
    int64_t at;
    WK_TRY(coordinates(c, k, 0, &at));
    combine(op, data->type.dtype, wk_at(&c->a.out[0], at), wk_at(updates, k * slice), slice);
  }
  return NULL;
}

/* ---- one_hot, max_unpool --------------------------------------------------------------------- */

wk_status wk_eval_one_hot(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_one_hot *a = c->a.node->attrs;
  const wk_tensor *indices = &c->a.in[0], *values = &c->a.in[1], *y = &c->a.out[0];
  wk_axis v = wk_axis_of(&y->type, a->axis);
  size_t size = (size_t)wk_dtype_size(y->type.dtype);
  for (int64_t o = 0; o < v.outer; o++) {
    for (int64_t i = 0; i < v.inner; i++) {
      int64_t hot = wk_load_i64(indices->data, indices->type.dtype, o * v.inner + i);
      if (!wk_index_ok(hot, a->depth, &hot)) hot = -1; /* no position is hot */
      for (int64_t d = 0; d < v.n; d++)
        memcpy(wk_at(y, (o * v.n + d) * v.inner + i), wk_at(values, d == hot), size);
    }
  }
  return NULL;
}

wk_status wk_eval_max_unpool(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *x = &c->a.in[0], *indices = &c->a.in[1], *y = &c->a.out[0];
  int64_t count = wk_type_count(&x->type), n = wk_type_count(&y->type);
  size_t size = (size_t)wk_dtype_size(x->type.dtype);
  memset(y->data, 0, (size_t)wk_type_bytes(&y->type));
  for (int64_t k = 0; k < count; k++) {
    int64_t at = wk_load_i64(indices->data, indices->type.dtype, k);
    if (at < 0 || at >= n)
      return EVAL_BAD(c, "index %lld is outside the %lld elements of the output", (long long)at,
                      (long long)n);
    memcpy(wk_at(y, at), wk_at(x, k), size);
  }
  return NULL;
}

/* ---- along an axis --------------------------------------------------------------------------- */

wk_status wk_eval_reverse_sequence(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_reverse_sequence *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0], *lengths = &c->a.in[1];
  int64_t strides[WK_MAX_RANK], pos[WK_MAX_RANK] = {0}, count = wk_type_count(&x->type);
  int64_t steps = x->type.dims[a->time_axis];
  size_t size = (size_t)wk_dtype_size(x->type.dtype);
  wk_type_strides(&x->type, strides);
  for (int64_t b = 0; b < lengths->type.dims[0]; b++) {
    int64_t n = wk_load_i64(lengths->data, lengths->type.dtype, b);
    if (n < 0 || n > steps)
      return EVAL_BAD(c, "sequence length %lld is outside 0..%lld", (long long)n, (long long)steps);
  }
  for (int64_t k = 0; k < count; k++) {
    int64_t t = pos[a->time_axis];
    int64_t n = wk_load_i64(lengths->data, lengths->type.dtype, pos[a->batch_axis]);
    int64_t from = t < n ? n - 1 - t : t;
    memcpy(wk_at(&c->a.out[0], k), wk_at(x, k + (from - t) * strides[a->time_axis]), size);
    wk_walk_next(x->type.rank, x->type.dims, pos);
  }
  return NULL;
}

wk_status wk_eval_trilu(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *x = &c->a.in[0], *k = wk_eval_in(c, 1), *y = &c->a.out[0];
  bool upper = ((const wk_attr_trilu *)c->a.node->attrs)->upper != 0;
  int64_t rows = x->type.dims[x->type.rank - 2], cols = x->type.dims[x->type.rank - 1];
  int64_t diagonal = k ? wk_load_i64(k->data, k->type.dtype, 0) : 0;
  if (diagonal > cols) diagonal = cols; /* further out changes nothing, and sums stay in range */
  if (diagonal < -rows) diagonal = -rows;
  int64_t count = wk_type_count(&x->type);
  size_t size = (size_t)wk_dtype_size(x->type.dtype);
  for (int64_t i = 0; i < count; i++) {
    int64_t col = i % cols, row = i / cols % rows;
    bool keep = upper ? col >= row + diagonal : col <= row + diagonal;
    if (keep) memcpy(wk_at(y, i), wk_at(x, i), size);
    else memset(wk_at(y, i), 0, size);
  }
  return NULL;
}

static void running_sum(wk_scalar *v, int64_t n, bool real, bool exclusive, bool reverse) {
  wk_scalar sum = {.i = 0};
  if (real) sum.f = 0;
  for (int64_t i = 0; i < n; i++) {
    wk_scalar *at = &v[reverse ? n - 1 - i : i], x = *at, before = sum;
    if (real) sum.f += x.f;
    else sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)x.i);
    *at = exclusive ? before : sum;
  }
}

wk_status wk_eval_cum_sum(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_cum_sum *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0];
  wk_dtype t = x->type.dtype;
  wk_axis v = wk_axis_of(&x->type, a->axis);
  wk_scalar *line;
  WK_TRY(wk_scalars_alloc(v.n, &line));
  for (int64_t o = 0; o < v.outer; o++) {
    for (int64_t i = 0; i < v.inner; i++) {
      int64_t first = o * v.n * v.inner + i;
      wk_scalars_read(line, x->data, t, first, v.inner, v.n);
      running_sum(line, v.n, wk_dtype_is_float(t), a->exclusive != 0, a->reverse != 0);
      wk_scalars_write(line, c->a.out[0].data, t, first, v.inner, v.n);
    }
  }
  free(line);
  return NULL;
}

/* ---- top_k ----------------------------------------------------------------------------------- */

typedef struct { wk_scalar v; int64_t at; } ranked;
typedef struct { wk_dtype dtype; bool largest; } ranking;

/* A total order: NaN counts as the largest value, ties go to the lower position. */
static int rank_order(const void *pa, const void *pb, void *ctx) {
  const ranked *a = pa, *b = pb;
  const ranking *r = ctx;
  int order;
  if (wk_dtype_is_float(r->dtype)) {
    bool an = a->v.f != a->v.f, bn = b->v.f != b->v.f;
    order = an || bn ? an - bn : (a->v.f > b->v.f) - (a->v.f < b->v.f);
  } else if (r->dtype == WK_U64) {
    order = ((uint64_t)a->v.i > (uint64_t)b->v.i) - ((uint64_t)a->v.i < (uint64_t)b->v.i);
  } else {
    order = (a->v.i > b->v.i) - (a->v.i < b->v.i);
  }
  if (order) return r->largest ? -order : order;
  return (a->at > b->at) - (a->at < b->at);
}

wk_status wk_eval_top_k(const wk_eval_call *c) {
  const wk_attr_top_k *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0];
  wk_tensor *values = wk_eval_out(c, 0), *indices = wk_eval_out(c, 1);
  wk_axis v = wk_axis_of(&x->type, a->axis);
  ranking r = {x->type.dtype, a->largest != 0};
  void *memory;
  WK_TRY(wk_try_malloc((size_t)v.n * sizeof(ranked), &memory));
  ranked *line = memory;
  for (int64_t o = 0; o < v.outer; o++) {
    for (int64_t i = 0; i < v.inner; i++) {
      for (int64_t k = 0; k < v.n; k++)
        line[k] = (ranked){wk_scalar_load(wk_at(x, (o * v.n + k) * v.inner + i), r.dtype), k};
      qsort_r(line, (size_t)v.n, sizeof *line, rank_order, &r);
      for (int64_t k = 0; k < a->k; k++) {
        int64_t to = (o * a->k + k) * v.inner + i;
        if (values) wk_scalar_store(wk_at(values, to), r.dtype, line[k].v);
        if (indices) wk_store_i64(indices->data, indices->type.dtype, to, line[k].at);
      }
    }
  }
  free(memory);
  return NULL;
}
