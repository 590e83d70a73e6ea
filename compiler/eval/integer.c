/* SPDX-License-Identifier: Apache-2.0 */
/* Integer operators, step by step as quant.h defines them. */
#include <stdlib.h>

#include "compiler/eval/handler.h"
#include "compiler/expr/quant.h"

static int64_t limited(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

static int64_t saturated(int64_t v) { return limited(v, INT32_MIN, INT32_MAX); }

static int64_t round_fraction(int64_t p) {
  wk_scalar v = {.i = p}, by = {.i = WK_RESCALE_FRACTION};
  return wk_expr_apply(WK_EX_SHR_ROUND, WK_I32, WK_I32, v, by, by).i;
}

/* ---- softmax --------------------------------------------------------------------------------- */

static void softmax_row(const wk_attr_integer_softmax *a, const int32_t *table, wk_scalar *q,
                        int64_t n) {
  int64_t most = q[0].i, sum = 0;
  for (int64_t i = 1; i < n; i++)
    if (q[i].i > most) most = q[i].i;
  for (int64_t i = 0; i < n; i++) sum += q[i].i = table[most - q[i].i];
  int z = 64 - __builtin_clzll((uint64_t)sum);
  int64_t quotient = (a->mult << (z - 7)) / sum, adj = quotient >= INT64_C(1) << 24;
  wk_rescale scale = {quotient >> adj, (int)(a->shift + z - 23 - adj)};
  for (int64_t i = 0; i < n; i++)
    q[i].i = limited(wk_rescale_apply(q[i].i, &scale) + a->zero, a->lo, a->hi);
}

wk_status wk_eval_integer_softmax(const wk_eval_call *c) {
  const wk_attr_integer_softmax *a = c->a.node->attrs;
  wk_axis v = wk_axis_of(&c->a.in[0].type, a->axis);
  int32_t table[256];
  wk_scalar *row;
  if (!wk_eval_out(c, 0) || v.n == 0) return NULL;
  wk_softmax_table(a->scale, a->far, table);
  WK_TRY(wk_scalars_alloc(v.n, &row));
  for (int64_t k = 0; k < v.outer * v.inner; k++) {
    int64_t first = k / v.inner * v.n * v.inner + k % v.inner;
    wk_scalars_read(row, c->a.in[0].data, c->a.in[0].type.dtype, first, v.inner, v.n);
    softmax_row(a, table, row, v.n);
    wk_scalars_write(row, c->a.out[0].data, c->a.out[0].type.dtype, first, v.inner, v.n);
  }
  free(row);
  return NULL;
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* r of w: 2^45 / sqrt(w) */
static int64_t inverse_root(int64_t w) {
  int64_t u = w >> 16, low = u < 1 << 15;
  int64_t r = ((int64_t)(low ? 20711 : 14645) << 16) - u * (low ? 18768 : 6635);
  for (int k = 0; k < 3; k++) {
    int64_t p = (w * ((r * r) >> 29)) >> 32;
    r = (r * ((INT64_C(3) << 29) - p)) >> 30;
  }
  return r;
}

static void norm_row(const wk_attr_integer_norm *a, const wk_tensor *gain, const wk_tensor *bias,
                     wk_scalar *q, int64_t n) {
  const int32_t *g = gain->data, *b = bias->data;
  int64_t sum = 0, squares = 0, each_g = gain->type.rank > 0, each_b = bias->type.rank > 0;
  for (int64_t i = 0; i < n; i++) {
    if (!a->centred) q[i].i -= a->x_zero;
    else sum += q[i].i;
    squares += q[i].i * q[i].i;
  }
  int64_t v = (n * squares - sum * sum) * (1 << 16) + a->epsilon, s = 30;
  while (v < INT64_C(1) << 60) {
    v *= 4;
    s--;
  }
  int64_t r = inverse_root(v >> 30), half = (INT64_C(1) << s) >> 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t x = ((n * q[i].i - sum) * r + half) >> s;
    int64_t p = (x * g[i * each_g] + (INT64_C(1) << (a->shift - 1))) >> a->shift;
    p = round_fraction(saturated(p + b[i * each_b]));
    q[i].i = limited(p + a->zero, a->lo, a->hi);
  }
}

wk_status wk_eval_integer_norm(const wk_eval_call *c) {
  const wk_attr_integer_norm *a = c->a.node->attrs;
  const wk_type *t = &c->a.in[0].type;
  int64_t rows = wk_dims_count(t->dims, 0, (int)a->axis),
          n = wk_dims_count(t->dims, (int)a->axis, t->rank);
  wk_scalar *row;
  if (!wk_eval_out(c, 0)) return NULL;
  WK_TRY(wk_scalars_alloc(n, &row));
  for (int64_t k = 0; n && k < rows; k++) {
    wk_scalars_read(row, c->a.in[0].data, t->dtype, k * n, 1, n);
    norm_row(a, &c->a.in[1], &c->a.in[2], row, n);
    wk_scalars_write(row, c->a.out[0].data, c->a.out[0].type.dtype, k * n, 1, n);
  }
  free(row);
  return NULL;
}

/* ---- resize ---------------------------------------------------------------------------------- */

wk_status wk_eval_integer_resize(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_integer_resize *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0], *y = &c->a.out[0];
  const wk_axis from = wk_axis_of(&x->type, a->axis), to = wk_axis_of(&y->type, a->axis);
  const wk_scalar by = {.i = a->shift};
  for (int64_t i = 0, n = wk_type_count(&y->type); i < n; i++) {
    int64_t o = i / (to.n * to.inner), at = i / to.inner % to.n, k = i % to.inner;
    int64_t first = o * from.n * from.inner + k;
    int64_t near = wk_load_i64(x->data, x->type.dtype, first + a->near.v[at] * from.inner);
    int64_t far = wk_load_i64(x->data, x->type.dtype, first + a->far.v[at] * from.inner);
    wk_scalar sum = {.i = (near - a->x_zero) * a->near_mult.v[at] +
                          (far - a->x_zero) * a->far_mult.v[at]};
    sum = wk_expr_apply(WK_EX_SHR_ROUND, WK_I32, WK_I32, sum, by, by);
    wk_store_i64(y->data, y->type.dtype, i, limited(sum.i + a->zero, a->lo, a->hi));
  }
  return NULL;
}
