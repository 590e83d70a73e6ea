/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of reductions, normalisation, attention, and of the two primitives map and reduce. */
#include <string.h>

#include "compiler/ir/infer.h"

/* axes: ascending, each below the rank. */
static wk_status want_axes(const wk_infer *i, wk_ints axes, int rank) {
  if (axes.n < 0 || axes.n > rank)
    return BAD(i, "axes has %lld entries for rank %d", wk_ll(axes.n), rank);
  for (int64_t k = 0; k < axes.n; k++) {
    WK_TRY(wk_want_axis(i, "axes", axes.v[k], rank));
    if (k && axes.v[k] <= axes.v[k - 1]) return BAD(i, "axes must ascend");
  }
  return NULL;
}

/* x without the axes, or with 1 in their place. */
static void drop_axes(const wk_type *x, wk_ints axes, bool keep, wk_type *y) {
  bool gone[WK_MAX_RANK] = {false};
  wk_type t = {.dtype = x->dtype};
  for (int64_t k = 0; k < axes.n; k++) gone[axes.v[k]] = true;
  for (int k = 0; k < x->rank; k++)
    if (keep || !gone[k]) t.dims[t.rank++] = gone[k] ? 1 : x->dims[k];
  *y = t;
}

static wk_status want_number(const wk_infer *i) {
  if (i->in[0]->dtype != WK_BOOL) return NULL;
  return BAD(i, "%s must be a number, not bool", wk_infer_operand(i, 0).s);
}

wk_status wk_infer_reduce(const wk_infer *i) {
  const wk_ints *axes = wk_infer_attr(i, "axes");
  const wk_type *x = i->in[0];
  bool any_type = i->op == WK_OP_REDUCE_MAX || i->op == WK_OP_REDUCE_MIN;
  bool real = i->op == WK_OP_REDUCE_L2 || i->op == WK_OP_REDUCE_LOG_SUM ||
              i->op == WK_OP_REDUCE_LOG_SUM_EXP;
  if (!any_type) WK_TRY(want_number(i));
  if (real && !wk_dtype_is_float(x->dtype))
    return UNSUPPORTED(i, "x is %s, only floating-point is handled", wk_dtype_name(x->dtype));
  WK_TRY(want_axes(i, *axes, x->rank));
  WK_TRY(wk_want_flag(i, "keepdims"));
  drop_axes(x, *axes, wk_infer_attr_int(i, "keepdims"), &i->out[0]);
  return NULL;
}

/* The position of an extreme needs at least one element. */
static wk_status want_elements(const wk_infer *i, const wk_type *x, int axis) {
  if (x->dims[axis] > 0 || wk_type_count(&i->out[0]) == 0) return NULL;
  return BAD(i, "axis %d is empty: no position can be the result", axis);
}

wk_status wk_infer_arg_reduce(const wk_infer *i) {
  int64_t axis = wk_infer_attr_int(i, "axis");
  const wk_type *x = i->in[0];
  WK_TRY(want_number(i));
  WK_TRY(wk_want_axis(i, "axis", axis, x->rank));
  WK_TRY(wk_want_flag(i, "keepdims"));
  WK_TRY(wk_want_flag(i, "select_last"));
  drop_axes(x, (wk_ints){1, &axis}, wk_infer_attr_int(i, "keepdims"), &i->out[0]);
  i->out[0].dtype = WK_I64;
  return want_elements(i, x, (int)axis);
}

/* ---- primitives ------------------------------------------------------------------------------ */

enum { MAX_MAP_INPUTS = 1024 };

/* Element types of all inputs, for wk_want_expr. */
static wk_status input_dtypes(const wk_infer *i, wk_dtype dtypes[MAX_MAP_INPUTS]) {
  if (i->n_in > MAX_MAP_INPUTS)
    return UNSUPPORTED(i, "%u inputs, at most %d are handled", i->n_in, MAX_MAP_INPUTS);
  for (uint32_t k = 0; k < i->n_in; k++) dtypes[k] = i->in[k]->dtype;
  return NULL;
}

wk_status wk_infer_map(const wk_infer *i) {
  const wk_attr_map *at = i->attrs;
  wk_dtype dtypes[MAX_MAP_INPUTS];
  wk_type y;
  if (!at->body) return BAD(i, "body is missing");
  WK_TRY(input_dtypes(i, dtypes));
  WK_TRY(wk_infer_broadcast_all(i, 0, &y));
  WK_TRY(wk_want_expr(i, "body", at->body, dtypes, i->n_in, y.rank, i->n_out));
  for (uint32_t k = 0; k < i->n_out; k++) {
    i->out[k] = y;
    i->out[k].dtype = at->body->nodes[at->body->results[k]].dtype;
  }
  return NULL;
}

static wk_status fold_dtype(const wk_infer *i, const wk_attr_reduce *at, int rank, wk_dtype *out) {
  wk_dtype dtypes[MAX_MAP_INPUTS];
  WK_TRY(input_dtypes(i, dtypes));
  WK_TRY(wk_want_expr(i, "pre", at->pre, dtypes, i->n_in, rank, 1));
  wk_dtype t = at->pre ? at->pre->nodes[at->pre->results[0]].dtype : dtypes[0];
  bool sums = strcmp(at->kind, "sum") == 0 || strcmp(at->kind, "prod") == 0;
  if (t == WK_BOOL && sums) return BAD(i, "bool has no %s", at->kind);
  t = wk_folded_dtype(at->kind, at->pre, dtypes[0]);
  WK_TRY(wk_want_expr(i, "post", at->post, &t, 1, rank, 1));
  *out = at->post ? at->post->nodes[at->post->results[0]].dtype : t;
  return NULL;
}

wk_status wk_infer_fold(const wk_infer *i) {
  const wk_attr_reduce *at = i->attrs;
  wk_type x;
  if (i->n_in == 0) return BAD(i, "needs at least one input");
  if (i->n_in > 1 && !at->pre) return BAD(i, "%u inputs but no pre expression", i->n_in);
  WK_TRY(wk_want_choice(i, "kind", "sum prod max min argmax argmin"));
  WK_TRY(wk_infer_broadcast_all(i, 0, &x));
  WK_TRY(want_axes(i, at->axes, x.rank));
  WK_TRY(wk_want_flag(i, "keepdims"));
  WK_TRY(wk_want_flag(i, "select_last"));
  bool is_arg = wk_fold_is_arg(at->kind);
  if (is_arg && at->axes.n != 1) return BAD(i, "%s needs exactly one axis", at->kind);
  wk_dtype t;
  WK_TRY(fold_dtype(i, at, x.rank, &t));
  drop_axes(&x, at->axes, at->keepdims, &i->out[0]);
  i->out[0].dtype = t;
  return is_arg ? want_elements(i, &x, (int)at->axes.v[0]) : NULL;
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* Along one axis, the type stays: softmax and its kin. */
wk_status wk_infer_along_axis(const wk_infer *i) {
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_axis(i, "axis", wk_infer_attr_int(i, "axis"), i->in[0]->rank));
  if (i->op == WK_OP_LP_NORM) {
    int64_t p = wk_infer_attr_int(i, "p");
    if (p != 1 && p != 2) return BAD(i, "p is %lld, must be 1 or 2", wk_ll(p));
  }
  i->out[0] = *i->in[0];
  return NULL;
}

wk_status wk_infer_layer_norm(const wk_infer *i) {
  const wk_attr_layer_norm *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_axis(i, "axis", at->axis, x->rank));
  for (uint32_t k = 1; k <= 2; k++) {
    WK_TRY(wk_want_same_dtype(i, k, 0));
    WK_TRY(wk_want_broadcast_to(i, k, x));
  }
  i->out[0] = *x;
  for (uint32_t k = 1; k < i->n_out; k++) {
    i->out[k] = *x;
    for (int a = (int)at->axis; a < x->rank; a++) i->out[k].dims[a] = 1;
  }
  return NULL;
}

/* x [n,c,...] with operands 1..n_in-1 all [c]. */
static wk_status channel_norm(const wk_infer *i, int least_rank) {
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_rank(i, 0, least_rank, WK_MAX_RANK));
  for (uint32_t k = 1; k < i->n_in; k++) WK_TRY(wk_want_type(i, k, x->dtype, 1, &x->dims[1]));
  i->out[0] = *x;
  return NULL;
}

wk_status wk_infer_batch_norm(const wk_infer *i) { return channel_norm(i, 2); }
wk_status wk_infer_instance_norm(const wk_infer *i) { return channel_norm(i, 3); }

wk_status wk_infer_group_norm(const wk_infer *i) {
  const wk_attr_group_norm *at = i->attrs;
  WK_TRY(channel_norm(i, 2));
  WK_TRY(wk_want_at_least(i, "groups", at->groups, 1));
  if (i->in[0]->dims[1] % at->groups == 0) return NULL;
  return BAD(i, "%lld channels are not divisible by %lld groups", wk_ll(i->in[0]->dims[1]),
             wk_ll(at->groups));
}

/* Broadcasts the leading dims of input k into y (leading dims only). */
static wk_status join_leading(const wk_infer *i, uint32_t k, wk_type *y) {
  const wk_type *x = i->in[k];
  wk_type lead = wk_type_make(y->dtype, x->rank - 2, x->dims), joined;
  wk_status s = wk_type_broadcast(y, &lead, &joined);
  if (s) {
    wk_status_free(s);
    return BAD(i, "the leading dims of %s do not broadcast", wk_infer_operand(i, k).s);
  }
  *y = joined;
  return NULL;
}

wk_status wk_infer_attention(const wk_infer *i) {
  const wk_type *q = i->in[0], *k = i->in[1], *v = i->in[2];
  WK_TRY(wk_want_float(i, 0));
  for (uint32_t n = 0; n < i->n_in; n++) WK_TRY(wk_want_same_dtype(i, n, 0));
  for (uint32_t n = 0; n < 3; n++) WK_TRY(wk_want_rank(i, n, 2, WK_MAX_RANK));
  int64_t m = q->dims[q->rank - 2], d = q->dims[q->rank - 1], n = k->dims[k->rank - 2];
  if (k->dims[k->rank - 1] != d)
    return BAD(i, "q has depth %lld but k has %lld", wk_ll(d), wk_ll(k->dims[k->rank - 1]));
  if (v->dims[v->rank - 2] != n)
    return BAD(i, "k has %lld positions but v has %lld", wk_ll(n), wk_ll(v->dims[v->rank - 2]));
  wk_type y = wk_type_make(q->dtype, q->rank - 2, q->dims);
  WK_TRY(join_leading(i, 1, &y));
  WK_TRY(join_leading(i, 2, &y));
  wk_type scores = y;
  scores.dims[scores.rank++] = m;
  scores.dims[scores.rank++] = n;
  WK_TRY(wk_want_broadcast_to(i, 3, &scores));
  y.dims[y.rank++] = m;
  y.dims[y.rank++] = v->dims[v->rank - 1];
  i->out[0] = y;
  return NULL;
}
