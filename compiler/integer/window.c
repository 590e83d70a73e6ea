/* SPDX-License-Identifier: Apache-2.0
 * Pools and means of quantised tensors. */
#include "compiler/integer/rules.h"
#include "compiler/ir/taps.h"

wk_value_id wk_integer_max_pool(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  wk_node n = *def;
  if (wk_gives_positions(r, &n) || !wk_affine_of(r, n.in[0], &x)) return WK_NONE;
  wk_affine pooled = x;
  pooled.q = wk_rewrite_1(r, n.op, n.attrs, x.q);
  return pooled.q == WK_NONE ? WK_NONE : wk_integer_requantized(r, &pooled, y);
}

/* The largest or smallest of quantised values is that of their integers. */
wk_value_id wk_integer_extreme(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x, most;
  wk_node n = *def;
  if (!wk_affine_of(r, n.in[0], &x)) return WK_NONE;
  most = x;
  most.q = wk_rewrite_1(r, n.op, n.attrs, x.q);
  return most.q == WK_NONE ? WK_NONE : wk_integer_requantized(r, &most, y);
}

/* ---- averages -------------------------------------------------------------------------------- */

wk_value_id wk_integer_mean(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  wk_rescale scale;
  const wk_attr_reduce_mean *m = WK_ATTR(def, reduce_mean);
  if (!wk_affine_of(r, def->in[0], &x)) return WK_NONE;
  const wk_type *t = wk_type_of(r, x.q);
  int64_t count = 1;
  for (int64_t i = 0; i < m->axes.n; i++) count *= t->dims[m->axes.v[i]];
  if (count < 1 || count > 1 << 22) return WK_NONE;
  if (!wk_rescale_of(x.scale / (y->scale * (double)count), &scale)) return WK_NONE;
  wk_attr_reduce *a = wk_attrs_new(r->arena, WK_OP_REDUCE);
  a->kind = "sum";
  a->axes = m->axes;
  a->keepdims = m->keepdims;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_centred(b, wk_expr_input(b, 0, x.dtype), 0);
  a->pre = wk_expr_finish(b, &v, 1);
  b = wk_expr_begin(r->arena);
  v = wk_expr_centred(b, wk_expr_input(b, 0, WK_I32), x.zero * count);
  v = wk_expr_rescale(b, v, wk_expr_i(b, WK_I64, scale.mult), wk_expr_i(b, WK_I64, scale.shift));
  v = wk_expr_requantized(b, v, y->zero, y->dtype, y->lo, y->hi);
  a->post = wk_expr_finish(b, &v, 1);
  return wk_rewrite_add(r, WK_OP_REDUCE, a, 1, &x.q);
}

/* Every count of a window has a factor, and there are not too many of them. */
static bool has_factors(const wk_attr_integer_avg_pool *p, const wk_type *x, const wk_type *y) {
  int sp = x->rank - 2;
  int64_t at[WK_MAX_RANK] = {0}, n = 1;
  for (int i = 0; i < sp; i++)
    if (!wk_mul_ok(n, y->dims[2 + i], &n) || n > WK_POOL_POSITIONS) return false;
  for (int64_t i = 0; i < n; i++) {
    wk_rescale s;
    if (!wk_rescale_of(p->factor / (double)wk_pool_count(p, x, at), &s)) return false;
    for (int k = sp - 1; k >= 0 && ++at[k] == y->dims[2 + k]; k--) at[k] = 0;
  }
  return true;
}

wk_value_id wk_integer_avg_pool(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  const wk_attr_avg_pool *p = WK_ATTR(def, avg_pool);
  if (!wk_affine_of(r, def->in[0], &x)) return WK_NONE;
  const wk_type t = *wk_type_of(r, x.q);
  int64_t window = 1;
  for (int i = 2; i < t.rank; i++) window *= p->kernel.v[i - 2];
  if (window > WK_POOL_TAPS || t.dims[1] < 1 || t.dims[1] * window > 1 << 24) return WK_NONE;
  wk_attr_integer_avg_pool *a = wk_attrs_new(r->arena, WK_OP_INTEGER_AVG_POOL);
  a->kernel = p->kernel;
  a->strides = p->strides;
  a->pads = p->pads;
  a->dilations = p->dilations;
  a->real_pads = p->real_pads;
  a->factor = x.scale / y->scale;
  a->x_zero = x.zero;
  a->zero = y->zero;
  a->lo = y->lo;
  a->hi = y->hi;
  a->to = y->dtype;
  if (!has_factors(a, &t, y->type)) return WK_NONE;
  return wk_rewrite_1(r, WK_OP_INTEGER_AVG_POOL, a, x.q);
}
