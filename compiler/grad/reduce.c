/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of folds, and of softmax, which is one in disguise. */
#include <string.h>

#include "compiler/grad/adjoint.h"

/* Dims of x with 1 along the axes. */
static wk_type kept_type(const wk_type *x, const wk_ints *axes) {
  wk_type t = *x;
  for (int64_t i = 0; i < axes->n; i++) t.dims[axes->v[i]] = 1;
  return t;
}

static wk_value_id with_axes(wk_low *l, wk_value_id v, const wk_type *kept) {
  return wk_low_reshape(l, v, kept->rank, kept->dims);
}

/* ---- the primitive ------------------------------------------------------------------------- */

/* What the elements of p get of g, the adjoint of their fold y; both of g's type, with 1 along the
 * axes. Where several are the maximum they share it. Products leave the element out without
 * dividing by zero. */
static wk_value_id of_elements(wk_low *l, const wk_attr_reduce *r, wk_value_id p, wk_value_id y,
                               wk_value_id g) {
  if (l->status) return 0;
  wk_dtype t = wk_low_type(l, p)->dtype;
  const int64_t *axes = r->axes.v;
  int n = (int)r->axes.n;
  if (!strcmp(r->kind, "max") || !strcmp(r->kind, "min")) {
    wk_value_id is_one = wk_low_map(l, t, "select(eq(a, b), 1, 0)", 2, p, y);
    wk_value_id count = wk_low_reduce(l, t, "sum", is_one, axes, n, true, NULL, NULL);
    return wk_low_map(l, t, "select(eq(a, b), div(c, d), 0)", 4, p, y, g, count);
  }
  if (!strcmp(r->kind, "prod")) {
    wk_value_id zeros =
        wk_low_reduce(l, t, "sum", p, axes, n, true, "select(eq(a, 0), 1, 0)", NULL);
    wk_value_id rest =
        wk_low_reduce(l, t, "prod", p, axes, n, true, "select(eq(a, 0), 1, a)", NULL);
    return wk_low_map(l, t,
                      "select(eq(c, 0), mul(d, div(b, a)), "
                      "select(and(eq(c, 1), eq(a, 0)), mul(d, b), 0))",
                      4, p, rest, zeros, g);
  }
  return g; /* a sum; broadcasts */
}

static wk_value_id fold(wk_adjoint *a, const wk_attr_reduce *r) {
  wk_attr_reduce *plain = wk_attrs_clone(a->l.arena, WK_OP_REDUCE, r);
  plain->post = NULL;
  plain->keepdims = 1;
  return wk_low_add(&a->l, WK_OP_REDUCE, plain, a->n->in, a->n->n_in, 1, NULL);
}

static wk_value_id before_fold(wk_adjoint *a, const wk_attr_reduce *r) {
  if (!r->pre) return a->n->in[0];
  wk_attr_map *m = wk_attrs_new(a->l.arena, WK_OP_MAP);
  m->body = r->pre;
  return wk_low_add(&a->l, WK_OP_MAP, m, a->n->in, a->n->n_in, 1, NULL);
}

void wk_adjoint_reduce(wk_adjoint *a) {
  const wk_attr_reduce *r = WK_ATTR(a->n, reduce);
  wk_low *l = &a->l;
  wk_value_id in[8];
  if (wk_fold_is_arg(r->kind)) return;
  if (a->n->n_in > 8) {
    wk_low_fail(l, wk_error(WK_UNSUPPORTED, "a fold of more than 8 tensors"));
    return;
  }
  memcpy(in, a->n->in, a->n->n_in * sizeof *in);
  wk_value_id p = before_fold(a, r);
  if (l->status) return;
  const wk_type kept = kept_type(wk_low_type(l, p), &r->axes);
  wk_value_id g = with_axes(l, a->dy[0], &kept), y = WK_NONE;
  bool is_sum = !strcmp(r->kind, "sum");
  if (r->post || !is_sum) y = fold(a, r);
  if (r->post) g = wk_adjoint_through(a, r->post, &y, 1, 0, g);
  if (g == WK_NONE || l->status) return;
  g = of_elements(l, r, p, y, g);
  for (uint32_t k = 0; k < a->n->n_in && !l->status; k++) {
    if (!a->wants[k]) continue;
    const wk_type x = *wk_low_type(l, a->n->in[k]);
    const wk_type full = *wk_low_type(l, p);
    if (r->pre) a->dx[k] = wk_adjoint_through(a, r->pre, in, (int)a->n->n_in, (int)k, g);
    else a->dx[k] = wk_low_expand(l, wk_adjoint_cast(l, g, x.dtype), full.rank, full.dims);
    if (a->dx[k] != WK_NONE) a->dx[k] = wk_adjoint_sum_to(l, a->dx[k], &x);
  }
}

/* ---- operators ----------------------------------------------------------------------------- */

/* The norm of zeros has derivative 0. */
void wk_adjoint_reduce_l2(wk_adjoint *a) {
  const wk_attr_reduce_l2 *r = WK_ATTR(a->n, reduce_l2);
  const wk_type x = *wk_low_type(&a->l, a->n->in[0]), kept = kept_type(&x, &r->axes);
  wk_value_id y = with_axes(&a->l, a->n->out[0], &kept);
  wk_value_id g = with_axes(&a->l, a->dy[0], &kept);
  a->dx[0] = wk_low_map(&a->l, x.dtype, "select(eq(b, 0), 0, mul(c, div(a, b)))", 3, a->n->in[0], y,
                        g);
}

void wk_adjoint_log_sum_exp(wk_adjoint *a) {
  const wk_attr_reduce_log_sum_exp *r = WK_ATTR(a->n, reduce_log_sum_exp);
  const wk_type x = *wk_low_type(&a->l, a->n->in[0]), kept = kept_type(&x, &r->axes);
  wk_value_id y = with_axes(&a->l, a->n->out[0], &kept);
  wk_value_id g = with_axes(&a->l, a->dy[0], &kept);
  a->dx[0] = wk_low_map(&a->l, x.dtype, "mul(c, exp(sub(a, b)))", 3, a->n->in[0], y, g);
}

/* A sum along one axis, kept, in the type that is computed in. */
static wk_value_id sum_along(wk_low *l, wk_value_id v, int64_t axis) {
  wk_dtype t = l->status ? WK_F32 : wk_low_type(l, v)->dtype;
  return wk_low_reduce(l, t, "sum", v, &axis, 1, true, NULL, NULL);
}

/* A line of -inf alone has no softmax: its results are NaN, in whose place something else may have
 * been chosen. Then their adjoints are 0, and so is what the line gets. */
void wk_adjoint_softmax(wk_adjoint *a) {
  wk_dtype t = wk_low_type(&a->l, a->n->in[0])->dtype, wide = wk_compute_dtype(t);
  wk_value_id y = a->n->out[0], g = a->dy[0];
  wk_value_id both = wk_low_map(&a->l, wide, "select(eq(b, 0), 0, mul(a, b))", 2, y, g);
  wk_value_id sum = sum_along(&a->l, both, WK_ATTR(a->n, softmax)->axis);
  a->dx[0] = wk_low_map(&a->l, t, "d = sub(b, c); select(eq(d, 0), 0, mul(a, d))", 3, y, g, sum);
}

void wk_adjoint_log_softmax(wk_adjoint *a) {
  wk_dtype t = wk_low_type(&a->l, a->n->in[0])->dtype, wide = wk_compute_dtype(t);
  wk_value_id g = wk_adjoint_cast(&a->l, a->dy[0], wide);
  wk_value_id sum = sum_along(&a->l, g, WK_ATTR(a->n, log_softmax)->axis);
  a->dx[0] = wk_low_map(&a->l, t, "select(eq(c, 0), b, sub(b, mul(exp(a), c)))", 3, a->n->out[0],
                        a->dy[0], sum);
}
