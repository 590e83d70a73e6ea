/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/import/make.h"

#include <stdlib.h>
#include <string.h>

/* Results up to this size are computed at import: enough for shape arithmetic and small tables. */
#define FOLD_BYTES ((int64_t)64 << 10)

void *wk_make_attrs(wk_onnx_node *c, wk_op op) { return wk_attrs_new(c->im->m->arena, op); }

static int64_t output_bytes(const wk_graph *g, const wk_node *n) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (n->out[i] != WK_NONE) bytes += wk_type_bytes(&wk_val(g, n->out[i])->type);
  }
  return bytes;
}

/* Evaluates the node into storage of the module; NULL data for outputs left out. */
static wk_status evaluate(wk_graph *g, const wk_node *n, wk_tensor *out) {
  wk_arena *scratch = wk_arena_new();
  wk_tensor *in = wk_arena_alloc(scratch, n->n_in * sizeof *in);
  wk_status s = NULL;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == WK_NONE) continue;
    const wk_value *v = wk_val(g, n->in[i]);
    in[i] = (wk_tensor){.type = v->type, .data = (void *)(uintptr_t)v->data};
  }
  for (uint32_t i = 0; i < n->n_out && !s; i++) {
    if (n->out[i] == WK_NONE) continue;
    out[i].type = wk_val(g, n->out[i])->type;
    size_t bytes = (size_t)wk_type_bytes(&out[i].type);
    out[i].data = wk_arena_alloc_aligned(g->module->arena, bytes, 64);
  }
  const wk_eval_node_args args = {.node = n, .graph = g, .in = in, .out = out};
  s = wk_eval_node(&args);
  wk_arena_free(scratch);
  return s;
}

/* Values keep their ids and names: they turn from results of the node into constants. */
bool wk_make_fold(wk_onnx_node *c, wk_node_id id, int64_t budget) {
  wk_importer *im = c->im;
  wk_graph *g = c->g;
  const wk_node n = *wk_nod(g, id);
  if (c->status || !wk_eval_is_foldable(g, &n)) return false;
  int64_t bytes = output_bytes(g, &n), work = wk_eval_work(g, &n);
  if (bytes > budget || bytes > im->fold_bytes_left || work > im->fold_work_left) return false;
  wk_tensor *out = wk_arena_alloc(im->arena, n.n_out * sizeof *out);
  wk_onnx_latch(c, evaluate(g, &n, out));
  if (c->status) return false;
  for (uint32_t i = 0; i < n.n_out; i++) {
    if (n.out[i] == WK_NONE) continue;
    wk_value *v = wk_val(g, n.out[i]);
    v->kind = WK_VALUE_CONSTANT;
    v->node = WK_NONE;
    v->data = out[i].data;
  }
  wk_nod(g, id)->dead = true;
  im->fold_bytes_left -= bytes;
  im->fold_work_left -= work;
  im->rep->folded++;
  return true;
}

void wk_make_n(wk_onnx_node *c, wk_op op, void *attrs, const wk_value_id *in, int n_in,
               wk_value_id *out, int n_out) {
  for (int i = 0; i < n_out; i++) out[i] = WK_NONE;
  if (c->status) return;
  wk_node_desc d = {.op = op, .name = c->name, .attrs = attrs, .in = in, .n_in = (uint32_t)n_in,
                    .n_out = (uint32_t)n_out};
  if (c->im->nodes_left-- <= 0) {
    wk_onnx_fail(c, WK_RESOURCE, "the model has too many nodes");
    return;
  }
  wk_onnx_latch(c, wk_graph_add(c->g, &d, out));
  wk_node_id id = (wk_node_id)(c->g->nodes.n - 1);
  if (c->status) return;
  const wk_node *n = wk_nod(c->g, id);
  if (!wk_eval_widens(c->g, n) && !wk_training_reads(c->im, c->g, n))
    wk_make_fold(c, id, FOLD_BYTES);
}

wk_value_id wk_make(wk_onnx_node *c, wk_op op, void *attrs, int n_in, ...) {
  wk_value_id in[8], out = WK_NONE;
  va_list ap;
  va_start(ap, n_in);
  for (int i = 0; i < n_in; i++) in[i] = va_arg(ap, wk_value_id);
  va_end(ap);
  wk_make_n(c, op, attrs, in, n_in, &out, 1);
  return out;
}

/* ---- constants ----------------------------------------------------------------------------- */

wk_value_id wk_make_constant(wk_onnx_node *c, const wk_type *t, void **data) {
  wk_value_id v = WK_NONE;
  *data = NULL;
  if (c->status) return v;
  wk_status s = wk_type_check(t);
  if (!s && wk_type_bytes(t) > c->im->fold_bytes_left) {
    s = wk_error(WK_RESOURCE, "constants computed at import exceed their budget");
  }
  if (!s) s = wk_graph_constant_alloc(c->g, NULL, t, &v, data);
  if (!s) c->im->fold_bytes_left -= wk_type_bytes(t);
  wk_onnx_latch(c, s);
  return v;
}

wk_value_id wk_make_scalar(wk_onnx_node *c, wk_dtype t, double v) {
  return c->status ? WK_NONE : wk_graph_scalar(c->g, t, v);
}

wk_value_id wk_make_i64s(wk_onnx_node *c, const int64_t *v, int64_t n) {
  void *data;
  wk_type t = wk_type_make(WK_I64, 1, &n);
  wk_value_id id = wk_make_constant(c, &t, &data);
  if (data && n > 0) memcpy(data, v, (size_t)n * sizeof *v);
  return id;
}

wk_value_id wk_make_iota(wk_onnx_node *c, int64_t n) {
  void *data;
  const wk_type t = wk_type_make(WK_I64, 1, &n);
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; data && i < n; i++) ((int64_t *)data)[i] = i;
  return v;
}

wk_value_id wk_make_f64s(wk_onnx_node *c, wk_dtype t, const double *v, int rank,
                         const int64_t *dims) {
  void *data;
  wk_type type = wk_type_make(t, rank, dims);
  wk_value_id id = wk_make_constant(c, &type, &data);
  if (!data) return id;
  int64_t n = wk_type_count(&type);
  for (int64_t i = 0; i < n; i++) wk_store_f64(data, t, i, v[i]);
  return id;
}

/* ---- movement ------------------------------------------------------------------------------ */

static bool has_shape(const wk_type *t, int rank, const int64_t *dims) {
  bool same = t->rank == rank;
  for (int i = 0; same && i < rank; i++) same = t->dims[i] == dims[i];
  return same;
}

wk_value_id wk_make_reshape(wk_onnx_node *c, wk_value_id x, int rank, const int64_t *dims) {
  if (c->status) return WK_NONE;
  const wk_type *t = wk_onnx_type(c, x);
  if (!wk_onnx_need(c, rank <= WK_MAX_RANK, "rank %d exceeds %d", rank, WK_MAX_RANK))
    return WK_NONE;
  if (has_shape(t, rank, dims)) return x;
  WK_MAKE_ATTRS(c, a, RESHAPE, reshape);
  a->shape = wk_ints_dup(c->im->m->arena, dims, rank);
  return wk_make(c, WK_OP_RESHAPE, a, 1, x);
}

wk_value_id wk_make_transpose(wk_onnx_node *c, wk_value_id x, const int64_t *perm) {
  if (c->status) return WK_NONE;
  int rank = wk_onnx_type(c, x)->rank;
  bool is_identity = true;
  for (int i = 0; i < rank; i++) is_identity = is_identity && perm[i] == i;
  if (is_identity) return x;
  WK_MAKE_ATTRS(c, a, TRANSPOSE, transpose);
  a->perm = wk_ints_dup(c->im->m->arena, perm, rank);
  return wk_make(c, WK_OP_TRANSPOSE, a, 1, x);
}

wk_value_id wk_make_move_axis(wk_onnx_node *c, wk_value_id x, int from, int to) {
  int64_t perm[WK_MAX_RANK];
  int rank = wk_onnx_type(c, x)->rank, k = 0;
  for (int i = 0; i < rank; i++) {
    if (k == from) k++;
    perm[i] = i == to ? from : k++;
  }
  return wk_make_transpose(c, x, perm);
}

static wk_value_id move_channels(wk_onnx_node *c, wk_value_id x, bool to_front) {
  int last = wk_onnx_type(c, x)->rank - 1;
  if (!wk_onnx_valid(c, last >= 2, "an image has rank %d", last + 1)) return WK_NONE;
  return wk_make_move_axis(c, x, to_front ? last : 1, to_front ? 1 : last);
}

wk_value_id wk_make_channels_first(wk_onnx_node *c, wk_value_id x) {
  return move_channels(c, x, true);
}

wk_value_id wk_make_channels_last(wk_onnx_node *c, wk_value_id x) {
  return move_channels(c, x, false);
}

wk_value_id wk_make_cast(wk_onnx_node *c, wk_value_id x, wk_dtype t) {
  if (c->status || wk_onnx_type(c, x)->dtype == t) return c->status ? WK_NONE : x;
  WK_MAKE_ATTRS(c, a, CAST, cast);
  a->to = t;
  return wk_make(c, WK_OP_CAST, a, 1, x);
}

wk_value_id wk_make_expand(wk_onnx_node *c, wk_value_id x, int rank, const int64_t *dims) {
  if (c->status) return WK_NONE;
  const wk_type *t = wk_onnx_type(c, x);
  if (!wk_onnx_need(c, rank <= WK_MAX_RANK, "rank %d exceeds %d", rank, WK_MAX_RANK))
    return WK_NONE;
  if (has_shape(t, rank, dims)) return x;
  WK_MAKE_ATTRS(c, a, EXPAND, expand);
  a->shape = wk_ints_dup(c->im->m->arena, dims, rank);
  return wk_make(c, WK_OP_EXPAND, a, 1, x);
}

wk_value_id wk_make_slice(wk_onnx_node *c, wk_value_id x, int axis, int64_t start, int64_t size,
                          int64_t step) {
  if (c->status) return WK_NONE;
  const wk_type *t = wk_onnx_type(c, x);
  if (start == 0 && step == 1 && size == t->dims[axis]) return x;
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int i = 0; i < t->rank; i++) {
    sizes[i] = t->dims[i];
    steps[i] = 1;
  }
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  wk_arena *m = c->im->m->arena;
  WK_MAKE_ATTRS(c, a, SLICE, slice);
  a->starts = wk_ints_dup(m, starts, t->rank);
  a->sizes = wk_ints_dup(m, sizes, t->rank);
  a->steps = wk_ints_dup(m, steps, t->rank);
  return wk_make(c, WK_OP_SLICE, a, 1, x);
}

wk_value_id wk_make_concat(wk_onnx_node *c, const wk_value_id *xs, int n, int64_t axis) {
  wk_value_id y = WK_NONE;
  if (n == 1) return xs[0];
  WK_MAKE_ATTRS(c, a, CONCAT, concat);
  a->axis = axis;
  wk_make_n(c, WK_OP_CONCAT, a, xs, n, &y, 1);
  return y;
}

wk_value_id wk_make_gather(wk_onnx_node *c, wk_value_id x, wk_value_id indices, int64_t axis) {
  WK_MAKE_ATTRS(c, a, GATHER, gather);
  a->axis = axis;
  return wk_make(c, WK_OP_GATHER, a, 2, x, indices);
}

wk_value_id wk_make_unsqueeze(wk_onnx_node *c, wk_value_id x, wk_ints axes) {
  const wk_type *t = wk_onnx_type(c, x);
  int64_t dims[WK_MAX_RANK] = {0};
  int rank = t->rank + (int)axes.n, from = 0, k = 0;
  if (!wk_onnx_need(c, rank <= WK_MAX_RANK, "rank %d exceeds %d", rank, WK_MAX_RANK))
    return WK_NONE;
  for (int i = 0; i < rank; i++) {
    bool is_new = k < axes.n && axes.v[k] == i;
    dims[i] = is_new ? 1 : t->dims[from++];
    k += is_new;
  }
  return wk_make_reshape(c, x, rank, dims);
}

wk_value_id wk_make_squeeze(wk_onnx_node *c, wk_value_id x, wk_ints axes) {
  const wk_type *t = wk_onnx_type(c, x);
  int64_t dims[WK_MAX_RANK] = {0};
  int rank = 0, k = 0;
  for (int i = 0; i < t->rank; i++) {
    bool is_gone = k < axes.n && axes.v[k] == i;
    if (is_gone && !wk_onnx_valid(c, t->dims[i] == 1, "axis %d of size %lld cannot be squeezed", i,
                                  (long long)t->dims[i])) return WK_NONE;
    if (is_gone) k++;
    else dims[rank++] = t->dims[i];
  }
  return wk_make_reshape(c, x, rank, dims);
}

wk_value_id wk_make_along(wk_onnx_node *c, wk_value_id x, int axis, int rank) {
  int64_t dims[WK_MAX_RANK];
  int64_t n = wk_type_count(wk_onnx_type(c, x));
  if (n == 1 && wk_onnx_type(c, x)->rank == 0) return x;
  if (!wk_onnx_valid(c, rank <= WK_MAX_RANK && axis < rank, "axis %d is outside rank %d", axis,
                     rank)) {
    return WK_NONE;
  }
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? n : 1;
  return wk_make_reshape(c, x, rank, dims);
}

wk_value_id wk_make_reduce(wk_onnx_node *c, wk_op op, wk_value_id x, wk_ints axes, bool keep) {
  wk_attr_reduce_sum *a = wk_make_attrs(c, op); /* the layout that all reductions share */
  a->axes = axes;
  a->keepdims = keep;
  return wk_make(c, op, a, 1, x);
}

wk_ints wk_make_axes(wk_onnx_node *c, int first, int last) {
  int64_t v[WK_MAX_RANK];
  int n = 0;
  for (int i = first; i < last; i++) v[n++] = i;
  return wk_ints_dup(c->im->m->arena, v, n);
}

wk_value_id wk_make_add_f(wk_onnx_node *c, wk_value_id x, double v) {
  return wk_make_2(c, WK_OP_ADD, x, wk_make_scalar(c, wk_onnx_type(c, x)->dtype, v));
}

wk_value_id wk_make_mul_f(wk_onnx_node *c, wk_value_id x, double v) {
  return wk_make_2(c, WK_OP_MUL, x, wk_make_scalar(c, wk_onnx_type(c, x)->dtype, v));
}

static int64_t seed_by_place(wk_onnx_node *c) {
  wk_importer *im = c->im;
  const void *node = c->proto;
  const char *place = wk_arena_printf(im->arena, "%s/%p", c->scope->path, node);
  uint32_t at;
  if (wk_map_get(im->drawn, place, &at)) return im->seeds.data[at];
  int64_t seed = (int64_t)wk_hash64(c->name, strlen(c->name), c->g->nodes.n) >> 1;
  wk_map_put(im->drawn, place, (uint32_t)im->seeds.n);
  wk_vec_push(&im->seeds, seed);
  return seed;
}

int64_t wk_make_seed(wk_onnx_node *c) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, "seed");
  if (a && a->has_i) return a->i; /* Dropout */
  if (!a || !a->has_f) return seed_by_place(c);
  uint32_t bits;
  memcpy(&bits, &a->f, sizeof bits);
  return bits;
}
