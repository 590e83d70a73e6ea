/* SPDX-License-Identifier: Apache-2.0 */
/* Integer operators: what quant.h asks of their numbers. */
#include "compiler/expr/quant.h"
#include "compiler/ir/infer.h"

static bool is_8_bit(wk_dtype t) { return t == WK_I8 || t == WK_U8; }

static bool is_value(int64_t v, wk_dtype t) {
  int64_t least = t == WK_I8 ? -128 : 0;
  return v >= least && v <= least + 255;
}

static wk_status want_8_bit(const wk_infer *i, uint32_t k) {
  wk_dtype t = i->in[k]->dtype;
  if (is_8_bit(t)) return NULL;
  return BAD(i, "%s must be i8 or u8, not %s", wk_infer_operand(i, k).s, wk_dtype_name(t));
}

wk_status wk_want_zero(const wk_infer *i, uint32_t k, const char *name, int64_t zero) {
  WK_TRY(want_8_bit(i, k));
  if (is_value(zero, i->in[k]->dtype)) return NULL;
  return BAD(i, "%s %lld is not a value of %s", name, wk_ll(zero), wk_dtype_name(i->in[k]->dtype));
}

wk_status wk_want_range(const wk_infer *i) {
  static const char *const names[] = {"zero", "lo", "hi"};
  int64_t to = wk_infer_attr_int(i, "to");
  if (to != WK_I8 && to != WK_U8) return BAD(i, "to must be i8 or u8");
  for (size_t k = 0; k < WK_COUNTOF(names); k++) {
    int64_t v = wk_infer_attr_int(i, names[k]);
    if (!is_value(v, (wk_dtype)to))
      return BAD(i, "%s %lld is not a value of %s", names[k], wk_ll(v),
                 wk_dtype_name((wk_dtype)to));
  }
  if (wk_infer_attr_int(i, "lo") > wk_infer_attr_int(i, "hi")) return BAD(i, "lo is above hi");
  i->out[0].dtype = (wk_dtype)to;
  i->out[0].quant = NULL;
  return NULL;
}

static wk_status want_within(const wk_infer *i, const char *name, int64_t v, int64_t least,
                             int64_t most) {
  if (v >= least && v <= most) return NULL;
  return BAD(i, "%s is %lld, must be %lld to %lld", name, wk_ll(v), wk_ll(least), wk_ll(most));
}

wk_status wk_infer_integer_softmax(const wk_infer *i) {
  const wk_attr_integer_softmax *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(want_8_bit(i, 0));
  WK_TRY(wk_want_axis(i, "axis", at->axis, x->rank));
  if (!wk_scale_is_valid(at->scale)) return BAD(i, "scale is not a positive number");
  WK_TRY(want_within(i, "far", at->far, 1, WK_SOFTMAX_FAR));
  WK_TRY(want_within(i, "mult", at->mult, INT64_C(1) << (WK_SOFTMAX_BITS - 1),
                     (INT64_C(1) << WK_SOFTMAX_BITS) - 1));
  WK_TRY(want_within(i, "shift", at->shift, 1, WK_SOFTMAX_SHIFT));
  if (x->dims[at->axis] > WK_SOFTMAX_ROW)
    return UNSUPPORTED(i, "rows of more than %d elements", WK_SOFTMAX_ROW);
  i->out[0] = *x;
  return wk_want_range(i);
}

wk_status wk_infer_integer_norm(const wk_infer *i) {
  const wk_attr_integer_norm *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_zero(i, 0, "x_zero", at->x_zero));
  WK_TRY(wk_want_axis(i, "axis", at->axis, x->rank));
  WK_TRY(wk_want_flag(i, "centred"));
  int64_t n = 1;
  for (int k = (int)at->axis; k < x->rank; k++)
    if (!wk_mul_ok(n, x->dims[k], &n) || n > WK_NORM_ROW)
      return UNSUPPORTED(i, "rows of more than %d elements", WK_NORM_ROW);
  for (uint32_t k = 1; k <= 2; k++) {
    int rank = i->in[k]->rank == 0 ? 0 : x->rank - (int)at->axis;
    WK_TRY(wk_want_type(i, k, WK_I32, rank, x->dims + at->axis));
  }
  WK_TRY(want_within(i, "epsilon", at->epsilon, 1, wk_norm_epsilon_most(n)));
  WK_TRY(want_within(i, "shift", at->shift, WK_NORM_SHIFT_LEAST, WK_NORM_SHIFT_MOST));
  i->out[0] = *x;
  return wk_want_range(i);
}

/* ---- resize ---------------------------------------------------------------------------------- */

static wk_status want_indices(const wk_infer *i, const char *name, wk_ints v, int64_t n) {
  for (int64_t k = 0; k < v.n; k++)
    if (v.v[k] < 0 || v.v[k] >= n)
      return BAD(i, "%s[%lld] is %lld, must be 0 to %lld", name, wk_ll(k), wk_ll(v.v[k]),
                 wk_ll(n - 1));
  return NULL;
}

wk_status wk_infer_integer_resize(const wk_infer *i) {
  const wk_attr_integer_resize *at = i->attrs;
  const wk_type *x = i->in[0];
  const int64_t most = (INT64_C(1) << WK_RESCALE_BITS_8) - 1;
  WK_TRY(wk_want_zero(i, 0, "x_zero", at->x_zero));
  WK_TRY(wk_want_axis(i, "axis", at->axis, x->rank));
  int64_t n = at->near.n;
  if (n && !x->dims[at->axis]) return BAD(i, "axis %lld of x is empty", wk_ll(at->axis));
  WK_TRY(wk_want_list(i, "far", at->far, n, 0));
  WK_TRY(wk_want_list(i, "near_mult", at->near_mult, n, 0));
  WK_TRY(wk_want_list(i, "far_mult", at->far_mult, n, 0));
  WK_TRY(want_indices(i, "near", at->near, x->dims[at->axis]));
  WK_TRY(want_indices(i, "far", at->far, x->dims[at->axis]));
  WK_TRY(want_within(i, "shift", at->shift, 1, WK_RESIZE_SHIFT));
  for (int64_t k = 0; k < n; k++) {
    WK_TRY(want_within(i, "a multiplier", at->near_mult.v[k], 0, most));
    WK_TRY(want_within(i, "a multiplier", at->far_mult.v[k], 0, most));
  }
  i->out[0] = wk_type_make(x->dtype, x->rank, x->dims);
  i->out[0].dims[at->axis] = n;
  return wk_want_range(i);
}
