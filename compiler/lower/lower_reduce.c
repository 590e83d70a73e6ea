/* SPDX-License-Identifier: Apache-2.0
 * Reductions, softmax and the normalisations as `reduce` and `map`. */
#include <math.h>
#include <string.h>

#include "compiler/lower/build.h"

static int64_t count_over(const wk_type *t, const int64_t *axes, int64_t n) {
  int64_t count = 1;
  for (int64_t i = 0; i < n; i++) count *= t->dims[axes[i]];
  return count;
}

void wk_lower_reduce(wk_low *l, const wk_node *n, wk_value_id *out) {
  static const struct { wk_op op; const char *kind, *pre, *post; } rows[] = {
      {WK_OP_REDUCE_SUM, "sum", NULL, NULL},
      {WK_OP_REDUCE_MEAN, "sum", NULL, NULL}, /* then divided by the count */
      {WK_OP_REDUCE_MAX, "max", NULL, NULL},
      {WK_OP_REDUCE_MIN, "min", NULL, NULL},
      {WK_OP_REDUCE_PROD, "prod", NULL, NULL},
      {WK_OP_REDUCE_L1, "sum", "abs(a)", NULL},
      {WK_OP_REDUCE_L2, "sum", "mul(a, a)", "sqrt(a)"},
      {WK_OP_REDUCE_LOG_SUM, "sum", NULL, "log(a)"},
      {WK_OP_REDUCE_SUM_SQUARE, "sum", "mul(a, a)", NULL},
  };
  const wk_attr_reduce_sum *a = n->attrs; /* the same fields in all of them */
  char mean[48];
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    if (rows[i].op != n->op) continue;
    const char *post = rows[i].post;
    if (n->op == WK_OP_REDUCE_MEAN) {
      snprintf(mean, sizeof mean, "div(a, %lld)",
               (long long)count_over(wk_low_type(l, n->in[0]), a->axes.v, a->axes.n));
      post = mean;
    }
    out[0] = wk_low_reduce(l, wk_low_type(l, n->in[0])->dtype, rows[i].kind, n->in[0], a->axes.v,
                           (int)a->axes.n, a->keepdims != 0, rows[i].pre, post);
  }
}

/* max is taken out first so that no exponential overflows. An infinite maximum is kept out of the
 * difference: inf - inf would be NaN. */
void wk_lower_log_sum_exp(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_reduce_log_sum_exp *a = WK_ATTR(n, reduce_log_sum_exp);
  wk_dtype t = wk_low_type(l, n->in[0])->dtype, wide = wk_compute_dtype(t);
  int k = (int)a->axes.n;
  wk_value_id m = wk_low_reduce(l, t, "max", n->in[0], a->axes.v, k, true, NULL, NULL);
  m = wk_low_map(l, t, "select(is_inf(a), 0, a)", 1, m);
  wk_value_id e = wk_low_map(l, wide, "exp(sub(a, b))", 2, n->in[0], m);
  wk_value_id s = wk_low_reduce(l, wide, "sum", e, a->axes.v, k, true, NULL, NULL);
  wk_value_id y = wk_low_map(l, t, "add(log(a), b)", 2, s, m);
  if (l->status) return;
  const wk_type want = wk_val(l->g, n->out[0])->type;
  out[0] = wk_low_reshape(l, y, want.rank, want.dims);
}

void wk_lower_arg_reduce(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_arg_max *a = n->attrs; /* arg_min has the same fields */
  wk_attr_reduce *r = wk_attrs_new(l->arena, WK_OP_REDUCE);
  r->kind = n->op == WK_OP_ARG_MAX ? "argmax" : "argmin";
  r->axes = wk_ints_dup(l->arena, &a->axis, 1);
  r->keepdims = a->keepdims;
  r->select_last = a->select_last;
  out[0] = wk_low_add(l, WK_OP_REDUCE, r, n->in, 1, 1, NULL);
}

void wk_lower_softmax(wk_low *l, const wk_node *n, wk_value_id *out) {
  int64_t axis = WK_ATTR(n, softmax)->axis;
  wk_dtype t = wk_low_type(l, n->in[0])->dtype, wide = wk_compute_dtype(t);
  wk_value_id m = wk_low_reduce(l, t, "max", n->in[0], &axis, 1, true, NULL, NULL);
  wk_value_id e = wk_low_map(l, wide, "exp(sub(a, b))", 2, n->in[0], m);
  wk_value_id s = wk_low_reduce(l, wide, "sum", e, &axis, 1, true, NULL, NULL);
  out[0] = wk_low_map(l, t, "div(a, b)", 2, e, s);
}

void wk_lower_log_softmax(wk_low *l, const wk_node *n, wk_value_id *out) {
  int64_t axis = WK_ATTR(n, log_softmax)->axis;
  wk_dtype t = wk_low_type(l, n->in[0])->dtype, wide = wk_compute_dtype(t);
  wk_value_id m = wk_low_reduce(l, t, "max", n->in[0], &axis, 1, true, NULL, NULL);
  wk_value_id d = wk_low_map(l, wide, "sub(a, b)", 2, n->in[0], m);
  wk_value_id s = wk_low_reduce(l, wide, "sum", d, &axis, 1, true, "exp(a)", "log(a)");
  out[0] = wk_low_map(l, t, "sub(a, b)", 2, d, s);
}

void wk_lower_hardmax(wk_low *l, const wk_node *n, wk_value_id *out) {
  int64_t axis = WK_ATTR(n, hardmax)->axis;
  const wk_type x = *wk_low_type(l, n->in[0]);
  wk_value_id i = wk_low_reduce(l, WK_I64, "argmax", n->in[0], &axis, 1, true, NULL, NULL);
  char text[64];
  snprintf(text, sizeof text, "out(eq(a, index<%d>()))", (int)axis);
  out[0] = wk_low_map(l, x.dtype, text, 1, wk_low_expand(l, i, x.rank, x.dims));
}

/* (x - mean) and 1 / sqrt(variance + epsilon) over the axes, dims kept, as they are computed. */
typedef struct { wk_value_id mean, centred, inv_std; } moments;

static moments standardise(wk_low *l, wk_value_id x, const int64_t *axes, int n_axes,
                           double epsilon) {
  char divide[48], root[96];
  moments m = {0};
  if (l->status) return m;
  const wk_type t = *wk_low_type(l, x);
  wk_dtype wide = wk_compute_dtype(t.dtype);
  long long count = (long long)count_over(&t, axes, n_axes);
  snprintf(divide, sizeof divide, "div(a, %lld)", count);
  snprintf(root, sizeof root, "div(1, sqrt(add(div(a, %lld), %.17g)))", count, epsilon);
  m.mean = wk_low_reduce(l, wide, "sum", x, axes, n_axes, true, NULL, divide);
  m.centred = wk_low_map(l, wide, "sub(a, b)", 2, x, m.mean);
  m.inv_std = wk_low_reduce(l, wide, "sum", m.centred, axes, n_axes, true, "mul(a, a)", root);
  return m;
}

void wk_lower_layer_norm(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_layer_norm *a = WK_ATTR(n, layer_norm);
  const wk_type x = *wk_low_type(l, n->in[0]);
  int64_t axes[WK_MAX_RANK];
  int k = 0;
  for (int i = (int)a->axis; i < x.rank; i++) axes[k++] = i;
  moments m = standardise(l, n->in[0], axes, k, a->epsilon);
  bool bias = n->n_in > 2 && n->in[2] != WK_NONE;
  out[0] = bias ? wk_low_map(l, x.dtype, "add(mul(mul(a, b), c), d)", 4, m.centred, m.inv_std,
                             n->in[1], n->in[2])
                : wk_low_map(l, x.dtype, "mul(mul(a, b), c)", 3, m.centred, m.inv_std, n->in[1]);
  for (uint32_t i = 1; i < n->n_out; i++)
    if (n->out[i] != WK_NONE)
      out[i] = wk_low_map(l, wk_val(l->g, n->out[i])->type.dtype, "out(a)", 1,
                          i == 1 ? m.mean : m.inv_std);
}

/* May the mean be taken out behind the factor, x s + (b - mean s)? That leaves rounding errors as
 * large as those of mean s where the result is about s sqrt(variance): a quotient of 256 costs 8 of
 * 24 bits. */
static bool means_are_near(const wk_low *l, const wk_node *n) {
  const wk_value *mean = wk_val(l->g, n->in[3]), *var = wk_val(l->g, n->in[4]);
  double epsilon = WK_ATTR(n, batch_norm)->epsilon;
  if (!wk_is_const(l->g, n->in[3]) || !wk_is_const(l->g, n->in[4])) return false;
  if (mean->is_public || var->is_public) return false;
  for (int64_t i = 0; i < wk_type_count(&mean->type); i++) {
    double deviation = sqrt(wk_load_f64(var->data, var->type.dtype, i) + epsilon);
    if (!(fabs(wk_load_f64(mean->data, mean->type.dtype, i)) <= 256 * deviation)) return false;
  }
  return true;
}

void wk_lower_batch_norm(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_type x = *wk_low_type(l, n->in[0]);
  char text[96];
  snprintf(text, sizeof text, "div(a, sqrt(add(b, %.17g)))", WK_ATTR(n, batch_norm)->epsilon);
  wk_dtype st = wk_compute_dtype(wk_low_type(l, n->in[1])->dtype);
  wk_value_id s = wk_low_map(l, st, text, 2, n->in[1], n->in[4]), t = n->in[2];
  bool near = means_are_near(l, n);
  if (near) t = wk_low_map(l, st, "sub(a, mul(b, c))", 3, t, n->in[3], s);
  s = wk_low_per_channel(l, s, x.rank);
  t = wk_low_per_channel(l, t, x.rank);
  out[0] = near ? wk_low_map(l, x.dtype, "add(mul(a, b), c)", 3, n->in[0], s, t)
                : wk_low_map(l, x.dtype, "add(mul(sub(a, d), b), c)", 4, n->in[0], s, t,
                             wk_low_per_channel(l, n->in[3], x.rank));
}

void wk_lower_instance_norm(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_type x = *wk_low_type(l, n->in[0]);
  int64_t axes[WK_MAX_RANK];
  for (int i = 2; i < x.rank; i++) axes[i - 2] = i;
  moments m = standardise(l, n->in[0], axes, x.rank - 2, WK_ATTR(n, instance_norm)->epsilon);
  out[0] = wk_low_map(l, x.dtype, "add(mul(mul(a, b), c), d)", 4, m.centred, m.inv_std,
                      wk_low_per_channel(l, n->in[1], x.rank),
                      wk_low_per_channel(l, n->in[2], x.rank));
}

void wk_lower_group_norm(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_group_norm *a = WK_ATTR(n, group_norm);
  const wk_type x = *wk_low_type(l, n->in[0]);
  int64_t rest = 1;
  for (int i = 2; i < x.rank; i++) rest *= x.dims[i];
  int64_t dims[] = {x.dims[0], a->groups, x.dims[1] / a->groups * rest}, axis = 2;
  moments m = standardise(l, wk_low_reshape(l, n->in[0], 3, dims), &axis, 1, a->epsilon);
  wk_value_id y = wk_low_map(l, wk_compute_dtype(x.dtype), "mul(a, b)", 2, m.centred, m.inv_std);
  out[0] = wk_low_map(l, x.dtype, "add(mul(a, b), c)", 3, wk_low_reshape(l, y, x.rank, x.dims),
                      wk_low_per_channel(l, n->in[1], x.rank),
                      wk_low_per_channel(l, n->in[2], x.rank));
}

void wk_lower_lp_norm(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_lp_norm *a = WK_ATTR(n, lp_norm);
  wk_dtype t = wk_low_type(l, n->in[0])->dtype;
  wk_value_id s = wk_low_reduce(l, wk_compute_dtype(t), "sum", n->in[0], &a->axis, 1, true,
                                a->p == 1 ? "abs(a)" : "mul(a, a)", a->p == 1 ? NULL : "sqrt(a)");
  out[0] = wk_low_map(l, t, "select(eq(b, 0), 0, div(a, b))", 2,
                      n->in[0], s);
}

/* softmax(scale * q k^T + mask) v; the scale goes into the product's epilogue. */
void wk_lower_attention(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_type q = *wk_low_type(l, n->in[0]), k = *wk_low_type(l, n->in[1]);
  bool mask = n->n_in > 3 && n->in[3] != WK_NONE;
  int64_t perm[WK_MAX_RANK], last;
  for (int i = 0; i < k.rank; i++) perm[i] = i;
  perm[k.rank - 1] = k.rank - 2;
  perm[k.rank - 2] = k.rank - 1;
  char text[64];
  snprintf(text, sizeof text, mask ? "add(mul(a, %.17g), b)" : "mul(a, %.17g)",
           WK_ATTR(n, attention)->scale);
  wk_attr_matmul *a = wk_attrs_new(l->arena, WK_OP_MATMUL);
  wk_dtype wide = wk_compute_dtype(q.dtype), dtypes[] = {wide, q.dtype};
  wk_expr *e = NULL;
  wk_status s = wk_expr_template(l->arena, text, "a b", dtypes, mask ? 2 : 1, wide, NULL, NULL, &e);
  if (s) {
    wk_low_fail(l, s);
    return;
  }
  a->epilogue = e;
  wk_value_id in[] = {n->in[0], wk_low_transpose(l, n->in[1], perm), WK_NONE,
                      mask ? n->in[3] : WK_NONE};
  wk_value_id p = wk_low_add(l, WK_OP_MATMUL, a, in, mask ? 4 : 2, 1, NULL);
  if (l->status) return;
  last = wk_low_type(l, p)->rank - 1;
  wk_value_id m = wk_low_reduce(l, wide, "max", p, &last, 1, true, NULL, NULL);
  wk_value_id x = wk_low_map(l, wide, "exp(sub(a, b))", 2, p, m);
  wk_value_id t = wk_low_reduce(l, wide, "sum", x, &last, 1, true, NULL, NULL);
  p = wk_low_map(l, wide, "div(a, b)", 2, x, t);
  out[0] = wk_low_matmul(l, q.dtype, p, n->in[2], WK_NONE);
}

/* The window runs along the channel axis: pool over [n, 1, c, rest] with kernel [size, 1]. */
void wk_lower_lrn(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_lrn *a = WK_ATTR(n, lrn);
  const wk_type x = *wk_low_type(l, n->in[0]);
  int64_t rest = 1;
  if (wk_type_count(&x) == 0) { /* no window fits */
    out[0] = wk_low_map(l, x.dtype, "a", 1, n->in[0]);
    return;
  }
  for (int i = 2; i < x.rank; i++) rest *= x.dims[i];
  int64_t dims[] = {x.dims[0], 1, x.dims[1], rest}, kernel[] = {a->size, 1};
  int64_t pads[] = {(a->size - 1) / 2, 0, a->size - 1 - (a->size - 1) / 2, 0};
  wk_value_id sq = wk_low_map(l, wk_compute_dtype(x.dtype), "mul(a, a)", 1, n->in[0]);
  sq = wk_low_reshape(l, sq, 4, dims);
  wk_attr_avg_pool *p = wk_attrs_new(l->arena, WK_OP_AVG_POOL);
  p->kernel = wk_ints_dup(l->arena, kernel, 2);
  p->strides = wk_ints_fill(l->arena, 2, 1);
  p->dilations = wk_ints_fill(l->arena, 2, 1);
  p->pads = wk_ints_dup(l->arena, pads, 4);
  p->real_pads = wk_ints_dup(l->arena, pads, 4);
  wk_value_id mean = wk_low_add(l, WK_OP_AVG_POOL, p, &sq, 1, 1, NULL);
  mean = wk_low_reshape(l, mean, x.rank, x.dims);
  char text[128];
  snprintf(text, sizeof text, "div(a, pow(add(%.17g, mul(%.17g, b)), %.17g))", a->bias, a->alpha,
           a->beta);
  out[0] = wk_low_map(l, x.dtype, text, 2, n->in[0], mean);
}
