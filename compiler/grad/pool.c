/* SPDX-License-Identifier: Apache-2.0
 * Adjoints of windows. */
#include <string.h>

#include "compiler/grad/adjoint.h"
#include "compiler/ir/taps.h"

/* The sum, for each element of x, of g over the windows that it is in: a transposed convolution of
 * every channel with ones. */
static wk_value_id over_windows(wk_low *l, const wk_type *x, wk_value_id g, const wk_ints *kernel,
                                const wk_ints *strides, const wk_ints *pads,
                                const wk_ints *dilations) {
  if (l->status) return 0;
  const wk_type y = *wk_low_type(l, g);
  int n = x->rank - 2;
  int64_t dims[WK_MAX_RANK], more[WK_MAX_RANK];
  dims[0] = x->dims[1];
  dims[1] = 1;
  memcpy(dims + 2, kernel->v, (size_t)n * sizeof *dims);
  for (int i = 0; i < n; i++)
    more[i] = x->dims[i + 2] + pads->v[i] + pads->v[n + i] - (y.dims[i + 2] - 1) * strides->v[i] -
              dilations->v[i] * (dims[i + 2] - 1) - 1;
  const wk_type w = wk_type_make(y.dtype, x->rank, dims);
  wk_attr_conv_transpose *t = wk_attrs_new(l->arena, WK_OP_CONV_TRANSPOSE);
  t->strides = *strides;
  t->pads = *pads;
  t->dilations = *dilations;
  t->group = x->dims[1];
  t->output_padding = wk_ints_dup(l->arena, more, n);
  wk_value_id ones = wk_low_expand(l, wk_low_scalar(l, y.dtype, 1), w.rank, w.dims);
  wk_value_id in[] = {g, ones};
  return wk_low_add(l, WK_OP_CONV_TRANSPOSE, t, in, 2, 1, NULL);
}

/* The forward node becomes one that says which elements of their windows the maxima are. */
void wk_adjoint_max_pool(wk_adjoint *a) {
  wk_low *l = &a->l;
  const wk_type x = *wk_low_type(l, a->n->in[0]);
  wk_attr_max_pool *p = wk_attrs_clone(l->arena, WK_OP_MAX_POOL, a->n->attrs);
  wk_value_id out[2] = {0};
  p->column_major = 0;
  p->taps = 1;
  wk_low_add(l, WK_OP_MAX_POOL, p, a->n->in, 1, 2, out);
  if (a->n->n_out < 2 || a->n->out[1] == WK_NONE) a->out[0] = out[0];
  wk_attr_unpool *u = wk_attrs_new(l->arena, WK_OP_UNPOOL);
  u->kernel = p->kernel;
  u->strides = p->strides;
  u->pads = p->pads;
  u->dilations = p->dilations;
  u->size = wk_ints_dup(l->arena, x.dims + 2, x.rank - 2);
  wk_value_id in[] = {a->dy[0], out[1]};
  a->dx[0] = wk_low_add(l, WK_OP_UNPOOL, u, in, 2, 1, NULL);
}

static wk_value_id map_of(wk_low *l, const wk_expr *e, wk_value_id x) {
  wk_attr_map *m = wk_attrs_new(l->arena, WK_OP_MAP);
  m->body = e;
  return wk_low_add(l, WK_OP_MAP, m, &x, 1, 1, NULL);
}

/* x gets what y got at the element that its window names. */
void wk_adjoint_unpool(wk_adjoint *a) {
  wk_low *l = &a->l;
  const wk_attr_unpool *p = WK_ATTR(a->n, unpool);
  const wk_type x = *wk_low_type(l, a->n->in[0]), y = *wk_low_type(l, a->dy[0]);
  const wk_taps w = {&p->kernel, &p->strides, &p->pads, &p->dilations, y.dims, y.rank};
  wk_dtype taps = wk_low_type(l, a->n->in[1])->dtype;
  int64_t n = wk_type_count(&x), all = wk_type_count(&y);
  wk_value_id at = map_of(l, wk_taps_place(l->arena, &w, taps), a->n->in[1]);
  wk_value_id from = wk_low_reshape(l, wk_low_map(l, WK_I64, "max(a, 0)", 1, at), 1, &n);
  wk_value_id in[] = {wk_low_reshape(l, a->dy[0], 1, &all), from};
  wk_attr_gather_elements *g = wk_attrs_new(l->arena, WK_OP_GATHER_ELEMENTS);
  wk_value_id d = wk_low_add(l, WK_OP_GATHER_ELEMENTS, g, in, 2, 1, NULL);
  d = wk_low_reshape(l, d, x.rank, x.dims);
  a->dx[0] = wk_low_map(l, x.dtype, "select(lt(a, 0), 0, b)", 2, at, d);
}

/* How many positions each window's mean is over, as avg_pool counts them: [1, 1, s...]. */
static wk_value_id counts(wk_adjoint *a, wk_dtype t) {
  const wk_attr_avg_pool *p = WK_ATTR(a->n, avg_pool);
  const wk_type x = *wk_low_type(&a->l, a->n->in[0]), y = wk_val(a->l.g, a->n->out[0])->type;
  int n = x.rank - 2;
  wk_value_id all = WK_NONE;
  for (int i = 0; i < n && !a->l.status; i++) {
    int64_t out = y.dims[i + 2], dims[WK_MAX_RANK], size = x.dims[i + 2];
    int64_t *v = wk_low_table(&a->l, out, sizeof *v);
    for (int64_t o = 0; v && o < out; o++)
      for (int64_t k = 0; k < p->kernel.v[i]; k++) {
        int64_t at = o * p->strides.v[i] - p->pads.v[i] + k * p->dilations.v[i];
        v[o] += at >= -p->real_pads.v[i] && at < size + p->real_pads.v[n + i];
      }
    for (int k = 0; k < x.rank; k++) dims[k] = k == i + 2 ? out : 1;
    if (!v) return 0;
    wk_value_id c = wk_adjoint_cast(&a->l, wk_low_const_i64(&a->l, x.rank, dims, v), t);
    all = all == WK_NONE ? c : wk_low_map(&a->l, t, "mul(a, b)", 2, all, c);
  }
  return all;
}

void wk_adjoint_avg_pool(wk_adjoint *a) {
  const wk_attr_avg_pool *p = WK_ATTR(a->n, avg_pool);
  const wk_type x = *wk_low_type(&a->l, a->n->in[0]);
  wk_dtype wide = wk_compute_dtype(x.dtype);
  wk_value_id g = wk_low_map(&a->l, wide, "select(gt(b, 0), div(a, b), 0)", 2, a->dy[0],
                             counts(a, wide));
  a->dx[0] = wk_adjoint_cast(
      &a->l, over_windows(&a->l, &x, g, &p->kernel, &p->strides, &p->pads, &p->dilations), x.dtype);
}

/* y = (sum |x|^p)^(1/p): dx = sign(x) |x|^(p-1) * sum of g y^(1-p) over x's windows; 0 where y
 * is. */
void wk_adjoint_lp_pool(wk_adjoint *a) {
  const wk_attr_lp_pool *p = WK_ATTR(a->n, lp_pool);
  const wk_type x = *wk_low_type(&a->l, a->n->in[0]);
  wk_dtype wide = wk_compute_dtype(x.dtype);
  char root[80], power[80];
  snprintf(root, sizeof root, "select(eq(b, 0), 0, mul(a, pow(b, %lld)))", (long long)(1 - p->p));
  snprintf(power, sizeof power, "mul(mul(sign(a), pow(abs(a), %lld)), b)", (long long)(p->p - 1));
  wk_value_id g = wk_low_map(&a->l, wide, root, 2, a->dy[0], a->n->out[0]);
  wk_value_id sum =
      over_windows(&a->l, &x, g, &p->kernel, &p->strides, &p->pads, &p->dilations);
  a->dx[0] = wk_low_map(&a->l, x.dtype, power, 2, a->n->in[0], sum);
}
