/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/lower/build.h"

#include <string.h>

#define TABLE_BYTES ((int64_t)64 << 20)

void wk_low_fail(wk_low *l, wk_status s) {
  if (l->status) wk_status_free(s);
  else l->status = s;
}

void *wk_low_table(wk_low *l, int64_t n, size_t entry) {
  int64_t bytes;
  wk_module *m = l->g->module;
  if (l->status) return NULL;
  if (!wk_mul_ok(n, (int64_t)entry, &bytes) || bytes > TABLE_BYTES ||
      bytes > m->constant_bytes_left) {
    wk_low_fail(l, wk_error_at(WK_RESOURCE, l->name, "a table of %lld entries is too large",
                               (long long)n));
    return NULL;
  }
  m->constant_bytes_left -= bytes;
  return wk_arena_alloc(l->arena, (size_t)bytes);
}

const wk_type *wk_low_type(const wk_low *l, wk_value_id v) { return &wk_val(l->g, v)->type; }

wk_value_id wk_low_add(wk_low *l, wk_op op, void *attrs, const wk_value_id *in, uint32_t n_in,
                       uint32_t n_out, wk_value_id *out) {
  wk_value_id first[WK_MAX_RANK] = {0};
  if (!out) out = first;
  if (l->status) return 0;
  wk_node_desc d = {.op = op, .name = l->name, .attrs = attrs, .in = in, .n_in = n_in,
                    .n_out = n_out};
  l->status = wk_graph_add(l->g, &d, out);
  return l->status ? 0 : out[0];
}

wk_value_id wk_low_map(wk_low *l, wk_dtype out, const char *text, int n, ...) {
  wk_value_id in[8];
  wk_dtype dtypes[8];
  va_list ap;
  if (l->status) return 0;
  va_start(ap, n);
  for (int i = 0; i < n; i++) {
    in[i] = va_arg(ap, wk_value_id);
    dtypes[i] = wk_low_type(l, in[i])->dtype;
  }
  va_end(ap);
  wk_attr_map *a = wk_attrs_new(l->arena, WK_OP_MAP);
  wk_expr *e = NULL;
  l->status = wk_expr_template(l->arena, text, "a b c d e f g h", dtypes, n, out, NULL, NULL, &e);
  a->body = e;
  return wk_low_add(l, WK_OP_MAP, a, in, (uint32_t)n, 1, NULL);
}

/* What a fold over elements of type t computes in. Sums of integers may wrap, unless something is
 * to be done with the whole sum. */
static wk_dtype fold_dtype(const char *kind, wk_dtype t, const char *post) {
  if (strcmp(kind, "sum") && strcmp(kind, "prod")) return t;
  if (wk_dtype_is_float(t)) return wk_compute_dtype(t);
  return post && wk_dtype_is_int(t) && wk_dtype_size(t) < 8 ? WK_I64 : t;
}

/* `text` over a of type t, with a cast before from `from` and one behind to `to`; NULL when
 * nothing is left to do. */
static const wk_expr *converted_expr(wk_low *l, const char *text, wk_dtype from, wk_dtype t,
                                     wk_dtype to) {
  wk_expr *e = NULL;
  if (l->status || (!text && from == t && to == t)) return NULL;
  l->status = wk_expr_template(l->arena, text ? text : "a", "a", &t, 1, t, NULL, NULL, &e);
  if (l->status) return NULL;
  wk_expr_builder *b = wk_expr_begin(l->arena);
  uint16_t x = wk_expr_input(b, 0, from);
  if (from != t) x = wk_expr_cast(b, t, x);
  x = wk_expr_inline(b, e, &x, 0);
  if (to != t) x = wk_expr_cast(b, to, x);
  return wk_expr_finish(b, &x, 1);
}

wk_value_id wk_low_reduce(wk_low *l, wk_dtype out, const char *kind, wk_value_id x,
                          const int64_t *axes, int n_axes, bool keepdims, const char *pre,
                          const char *post) {
  if (l->status) return 0;
  wk_attr_reduce *a = wk_attrs_new(l->arena, WK_OP_REDUCE);
  wk_dtype t = wk_low_type(l, x)->dtype, fold = fold_dtype(kind, t, post);
  bool is_arg = wk_fold_is_arg(kind);
  a->kind = wk_arena_strdup(l->arena, kind);
  a->axes = wk_ints_dup(l->arena, axes, n_axes);
  a->keepdims = keepdims;
  a->pre = converted_expr(l, pre, t, fold, fold);
  a->post = is_arg ? NULL : converted_expr(l, post, fold, fold, out);
  return wk_low_add(l, WK_OP_REDUCE, a, &x, 1, 1, NULL);
}

wk_value_id wk_low_reshape(wk_low *l, wk_value_id x, int rank, const int64_t *dims) {
  if (l->status) return 0;
  const wk_type *t = wk_low_type(l, x);
  bool same = t->rank == rank;
  for (int i = 0; same && i < rank; i++) same = t->dims[i] == dims[i];
  if (same) return x;
  wk_attr_reshape *a = wk_attrs_new(l->arena, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(l->arena, dims, rank);
  return wk_low_add(l, WK_OP_RESHAPE, a, &x, 1, 1, NULL);
}

wk_value_id wk_low_transpose(wk_low *l, wk_value_id x, const int64_t *perm) {
  if (l->status) return 0;
  wk_attr_transpose *a = wk_attrs_new(l->arena, WK_OP_TRANSPOSE);
  a->perm = wk_ints_dup(l->arena, perm, wk_low_type(l, x)->rank);
  return wk_low_add(l, WK_OP_TRANSPOSE, a, &x, 1, 1, NULL);
}

wk_value_id wk_low_slice(wk_low *l, wk_value_id x, int axis, int64_t start, int64_t size,
                         int64_t step) {
  if (l->status) return 0;
  const wk_type *t = wk_low_type(l, x);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int i = 0; i < t->rank; i++) {
    sizes[i] = t->dims[i];
    steps[i] = 1;
  }
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  wk_attr_slice *a = wk_attrs_new(l->arena, WK_OP_SLICE);
  a->starts = wk_ints_dup(l->arena, starts, t->rank);
  a->sizes = wk_ints_dup(l->arena, sizes, t->rank);
  a->steps = wk_ints_dup(l->arena, steps, t->rank);
  return wk_low_add(l, WK_OP_SLICE, a, &x, 1, 1, NULL);
}

wk_value_id wk_low_expand(wk_low *l, wk_value_id x, int rank, const int64_t *dims) {
  if (l->status) return 0;
  wk_attr_expand *a = wk_attrs_new(l->arena, WK_OP_EXPAND);
  a->shape = wk_ints_dup(l->arena, dims, rank);
  return wk_low_add(l, WK_OP_EXPAND, a, &x, 1, 1, NULL);
}

wk_value_id wk_low_concat(wk_low *l, const wk_value_id *xs, uint32_t n, int64_t axis) {
  if (l->status) return 0;
  if (n == 1) return xs[0];
  wk_attr_concat *a = wk_attrs_new(l->arena, WK_OP_CONCAT);
  a->axis = axis;
  return wk_low_add(l, WK_OP_CONCAT, a, xs, n, 1, NULL);
}

wk_value_id wk_low_matmul(wk_low *l, wk_dtype out, wk_value_id a, wk_value_id b,
                          wk_value_id bias) {
  wk_value_id in[] = {a, b, bias};
  if (l->status) return 0;
  wk_attr_matmul *at = wk_attrs_new(l->arena, WK_OP_MATMUL);
  wk_dtype t = wk_low_type(l, a)->dtype;
  if (out != t) {
    wk_expr_builder *e = wk_expr_begin(l->arena);
    uint16_t y = wk_expr_cast(e, out, wk_expr_input(e, 0, wk_accumulator_dtype(t)));
    at->epilogue = wk_expr_finish(e, &y, 1);
  }
  return wk_low_add(l, WK_OP_MATMUL, at, in, bias == WK_NONE ? 2 : 3, 1, NULL);
}

wk_value_id wk_low_gather(wk_low *l, wk_value_id data, wk_value_id indices, int64_t axis) {
  if (l->status) return 0;
  wk_attr_gather *a = wk_attrs_new(l->arena, WK_OP_GATHER);
  a->axis = axis;
  wk_value_id in[] = {data, indices};
  return wk_low_add(l, WK_OP_GATHER, a, in, 2, 1, NULL);
}

/* A length out of bounds names an entry that the table has not: gathering is what can refuse a
 * run. */
wk_value_id wk_low_lengths(wk_low *l, wk_value_id lengths, int64_t steps) {
  static const int64_t one = 1, zero = 0;
  char text[96];
  snprintf(text, sizeof text, "select(and(ge(a, 0), le(a, %lld)), 0, 1)", (long long)steps);
  wk_value_id n = wk_low_map(l, WK_I64, "i64(a)", 1, lengths);
  wk_value_id entry = wk_low_map(l, WK_I64, text, 1, n);
  wk_value_id none = wk_low_gather(l, wk_low_const_i64(l, 1, &one, &zero), entry, 0);
  return wk_low_map(l, WK_I64, "add(a, b)", 2, n, none);
}

wk_value_id wk_low_scalar(wk_low *l, wk_dtype t, double v) {
  return l->status ? 0 : wk_graph_scalar(l->g, t, v);
}

static wk_value_id constant(wk_low *l, wk_dtype t, int rank, const int64_t *dims, const void *v) {
  if (l->status) return 0;
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id id = 0;
  void *data;
  l->status = wk_graph_constant_alloc(l->g, NULL, &type, &id, &data);
  if (l->status) return 0;
  if (wk_type_bytes(&type)) memcpy(data, v, (size_t)wk_type_bytes(&type));
  return id;
}

wk_value_id wk_low_const_real(wk_low *l, wk_dtype t, int rank, const int64_t *dims,
                              const double *v) {
  if (l->status) return 0;
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id id = 0;
  void *data;
  l->status = wk_graph_constant_alloc(l->g, NULL, &type, &id, &data);
  for (int64_t i = 0; !l->status && i < wk_type_count(&type); i++) wk_store_f64(data, t, i, v[i]);
  return id;
}

wk_value_id wk_low_const_i32(wk_low *l, int rank, const int64_t *dims, const int32_t *v) {
  return constant(l, WK_I32, rank, dims, v);
}

wk_value_id wk_low_const_i64(wk_low *l, int rank, const int64_t *dims, const int64_t *v) {
  return constant(l, WK_I64, rank, dims, v);
}

wk_value_id wk_low_ones(wk_low *l, wk_dtype t, int rank, const int64_t *dims) {
  if (l->status) return 0;
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id id = 0;
  void *data;
  l->status = wk_graph_constant_alloc(l->g, NULL, &type, &id, &data);
  for (int64_t i = 0; !l->status && i < wk_type_count(&type); i++) wk_store_i64(data, t, i, 1);
  return id;
}

wk_value_id wk_low_per_channel(wk_low *l, wk_value_id v, int rank) {
  if (l->status) return 0;
  int64_t dims[WK_MAX_RANK];
  int r = rank > 1 ? rank - 1 : 1;
  dims[0] = wk_low_type(l, v)->dims[0];
  for (int i = 1; i < r; i++) dims[i] = 1;
  return wk_low_reshape(l, v, r, dims);
}
