/* SPDX-License-Identifier: Apache-2.0
 * Pools, means and softmax of quantised tensors. */
#include <math.h>
#include <string.h>

#include "compiler/integer/rules.h"

wk_value_id wk_integer_max_pool(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  wk_node n = *def;
  if (n.n_out > 1 && n.out[1] != WK_NONE && r->uses[n.out[1]]) return WK_NONE; /* positions */
  if (!wk_affine_of(r, n.in[0], &x)) return WK_NONE;
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

/* Positions that count under the window at output o of one spatial axis. */
static int64_t counted(const wk_attr_avg_pool *p, int64_t size, int axis, int64_t o) {
  int64_t n = p->kernel.n, first = o * p->strides.v[axis] - p->pads.v[axis], count = 0;
  for (int64_t t = 0; t < p->kernel.v[axis]; t++) {
    int64_t at = first + t * p->dilations.v[axis];
    count += at >= -p->real_pads.v[axis] && at < size + p->real_pads.v[axis + n];
  }
  return count;
}

/* Multipliers and shifts over the output positions, two tensors [1,s…]: the count varies at edges.
 */
static bool edge_scales(wk_rewrite *r, const wk_attr_avg_pool *p, const wk_type *x,
                        const wk_type *y, double factor, wk_value_id out[2], wk_rescale *same) {
  int sp = x->rank - 2;
  int64_t dims[WK_MAX_RANK] = {1}, at[WK_MAX_RANK] = {0}, n = 1;
  for (int i = 0; i < sp; i++) n *= dims[1 + i] = y->dims[2 + i];
  wk_type t = wk_type_make(WK_I32, sp + 1, dims);
  void *data[2];
  for (int k = 0; k < 2; k++)
    if ((out[k] = wk_rewrite_constant(r, &t, &data[k])) == WK_NONE) return false;
  bool uniform = true;
  for (int64_t i = 0; i < n; i++) {
    int64_t count = 1;
    wk_rescale s;
    for (int k = 0; k < sp; k++) count *= counted(p, x->dims[2 + k], k, at[k]);
    if (!wk_rescale_of(factor / (double)(count > 0 ? count : 1), &s)) return false;
    if (i == 0) *same = s;
    uniform &= s.mult == same->mult && s.shift == same->shift;
    ((int32_t *)data[0])[i] = (int32_t)s.mult;
    ((int32_t *)data[1])[i] = s.shift;
    for (int k = sp - 1; k >= 0 && ++at[k] == y->dims[2 + k]; k--) at[k] = 0;
  }
  if (uniform) out[0] = out[1] = WK_NONE;
  return true;
}

/* The sum is a depthwise convolution with weights of 1, padded with the zero point. */
wk_value_id wk_integer_avg_pool(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  wk_rescale same;
  wk_value_id scales[2];
  const wk_attr_avg_pool *p = WK_ATTR(def, avg_pool);
  if (!wk_affine_of(r, def->in[0], &x)) return WK_NONE;
  const wk_type t = *wk_type_of(r, x.q);
  int64_t dims[WK_MAX_RANK] = {t.dims[1], 1}, window = 1;
  for (int i = 2; i < t.rank; i++) window *= dims[i] = p->kernel.v[i - 2];
  if (window > 1 << 16 || t.dims[1] < 1 || t.dims[1] * window > 1 << 24) return WK_NONE;
  if (!edge_scales(r, p, &t, y->type, x.scale / y->scale, scales, &same)) return WK_NONE;
  void *data;
  wk_type wt = wk_type_make(WK_I8, t.rank, dims);
  wk_value_id w = wk_rewrite_constant(r, &wt, &data);
  if (w == WK_NONE) return WK_NONE;
  memset(data, 1, (size_t)wk_type_bytes(&wt));
  wk_attr_conv *a = wk_attrs_new(r->arena, WK_OP_CONV);
  a->strides = p->strides;
  a->pads = p->pads;
  a->dilations = p->dilations;
  a->group = t.dims[1];
  a->pad_value = x.zero;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_centred(b, wk_expr_input(b, 0, WK_I32), x.zero * window), mult, shift;
  if (scales[0] == WK_NONE) {
    mult = wk_expr_i(b, WK_I64, same.mult);
    shift = wk_expr_i(b, WK_I64, same.shift);
  } else {
    mult = wk_expr_cast(b, WK_I64, wk_expr_input(b, 1, WK_I32));
    shift = wk_expr_cast(b, WK_I64, wk_expr_input(b, 2, WK_I32));
  }
  v = wk_expr_rescale(b, v, mult, shift);
  v = wk_expr_requantized(b, v, y->zero, y->dtype, y->lo, y->hi);
  a->epilogue = wk_expr_finish(b, &v, 1);
  const wk_value_id in[] = {x.q, w, WK_NONE, scales[0], scales[1]};
  return wk_rewrite_add(r, WK_OP_CONV, a, scales[0] == WK_NONE ? 2 : 5, in);
}

/* ---- softmax --------------------------------------------------------------------------------- */

static wk_value_id reduced(wk_rewrite *r, const char *kind, int64_t axis, wk_dtype t,
                           wk_value_id x) {
  wk_attr_reduce *a = wk_attrs_new(r->arena, WK_OP_REDUCE);
  a->kind = kind;
  a->axes = wk_ints_dup(r->arena, &axis, 1);
  a->keepdims = 1;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_cast(b, t, wk_expr_input(b, 0, wk_type_of(r, x)->dtype));
  a->pre = wk_expr_finish(b, &v, 1);
  a->post = wk_expr_identity(r->arena, t);
  return wk_rewrite_add(r, WK_OP_REDUCE, a, 1, &x);
}

static wk_value_id exponentials(wk_rewrite *r, const wk_affine *x, int64_t axis) {
  int64_t n = 256;
  void *data;
  wk_type t = wk_type_make(WK_I32, 1, &n);
  wk_value_id table = wk_rewrite_constant(r, &t, &data),
              most = reduced(r, "max", axis, WK_I32, x->q);
  if (table == WK_NONE || most == WK_NONE) return WK_NONE;
  wk_softmax_table(x->scale, data);
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t q = wk_expr_cast(b, WK_I32, wk_expr_input(b, 0, x->dtype));
  uint16_t d = wk_expr_2(b, WK_EX_SUB, wk_expr_input(b, 1, WK_I32), q);
  d = wk_expr_cast(b, WK_U8, d);
  wk_value_id index = wk_integer_map(r, b, d, 2, (const wk_value_id[]){x->q, most});
  return wk_rewrite_2(r, WK_OP_GATHER, wk_attrs_new(r->arena, WK_OP_GATHER), table, index);
}

typedef struct {
  wk_value_id mult, shift;
} row_factor;

/* Multiplier and shift of each row. */
static bool row_factors(wk_rewrite *r, wk_value_id sum, int64_t m, int s, row_factor *out) {
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_softmax_bits(b, wk_expr_input(b, 0, WK_I64));
  const wk_value_id bits = wk_integer_map(r, b, v, 1, &sum);
  b = wk_expr_begin(r->arena);
  v = wk_expr_softmax_quotient(b, wk_expr_input(b, 0, WK_I64), wk_expr_input(b, 1, WK_I32), m);
  const wk_value_id quotient = wk_integer_map(r, b, v, 2, (const wk_value_id[]){sum, bits});
  b = wk_expr_begin(r->arena);
  v = wk_expr_softmax_mult(b, wk_expr_input(b, 0, WK_I32));
  out->mult = wk_integer_map(r, b, v, 1, &quotient);
  b = wk_expr_begin(r->arena);
  v = wk_expr_softmax_shift(b, wk_expr_input(b, 0, WK_I32), wk_expr_input(b, 1, WK_I32), s);
  out->shift = wk_integer_map(r, b, v, 2, (const wk_value_id[]){quotient, bits});
  return out->mult != WK_NONE && out->shift != WK_NONE;
}

wk_value_id wk_integer_softmax(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  wk_affine x;
  row_factor f;
  int64_t m, axis = WK_ATTR(def, softmax)->axis;
  int s;
  if (!wk_affine_of(r, def->in[0], &x)) return WK_NONE;
  if (!wk_softmax_factor(wk_type_of(r, x.q)->dims[axis], y->scale, &m, &s)) return WK_NONE;
  wk_value_id e = exponentials(r, &x, axis);
  if (e == WK_NONE) return WK_NONE;
  wk_value_id sum = reduced(r, "sum", axis, WK_I64, e);
  if (sum == WK_NONE || !row_factors(r, sum, m, s, &f)) return WK_NONE;
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_input(b, 0, WK_I32), mult = wk_expr_input(b, 1, WK_I32),
           shift = wk_expr_input(b, 2, WK_I32);
  v = wk_expr_rescale(b, v, wk_expr_cast(b, WK_I64, mult), wk_expr_cast(b, WK_I64, shift));
  v = wk_expr_requantized(b, v, y->zero, y->dtype, y->lo, y->hi);
  return wk_integer_map(r, b, v, 3, (const wk_value_id[]){e, f.mult, f.shift});
}
