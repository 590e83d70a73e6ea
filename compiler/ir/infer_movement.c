/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of shape and movement. */
#include <string.h>

#include "compiler/ir/infer.h"

/* out[k] = x's element type with these dims; the rank is known to fit. */
static void set(const wk_infer *i, uint32_t k, const wk_type *x, int64_t rank,
                const int64_t *dims) {
  i->out[k] = wk_type_make(x->dtype, (int)rank, dims);
}

static wk_status want_shape(const wk_infer *i, const char *name, wk_ints v) {
  if (v.n < 0 || v.n > WK_MAX_RANK)
    return UNSUPPORTED(i, "%s has %lld entries, rank is limited to %d", name, wk_ll(v.n),
                       WK_MAX_RANK);
  return wk_want_list(i, name, v, v.n, 0);
}

/* The axis of the channels that x is quantised by, below 0 when there is none. */
static int channel_axis(const wk_type *x) { return x->quant ? x->quant->axis : -1; }

wk_status wk_infer_reshape(const wk_infer *i) {
  const wk_attr_reshape *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(want_shape(i, "shape", at->shape));
  set(i, 0, x, at->shape.n, at->shape.v);
  int64_t n;
  if (!wk_dims_product(at->shape.v, (int)at->shape.n, &n) || n != wk_type_count(x)) {
    wk_str from = {0}, to = {0};
    wk_type_print(&from, x);
    wk_type_print(&to, &i->out[0]);
    wk_status s = BAD(i, "x is %s, which does not fill %s", from.s, strchr(to.s, '['));
    wk_str_free(&from);
    wk_str_free(&to);
    return s;
  }
  bool stays = true;
  for (int k = 0; k < channel_axis(x); k++)
    stays = stays && k < at->shape.n && at->shape.v[k] == x->dims[k];
  return wk_carry_quant(i, 0, stays, &i->out[0]);
}

wk_status wk_infer_transpose(const wk_infer *i) {
  const wk_attr_transpose *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_list(i, "perm", at->perm, x->rank, 0));
  bool seen[WK_MAX_RANK] = {false};
  int64_t dims[WK_MAX_RANK];
  for (int k = 0; k < x->rank; k++) {
    int64_t p = at->perm.v[k];
    if (p >= x->rank || seen[p]) return BAD(i, "perm is not a permutation of the %d axes", x->rank);
    seen[p] = true;
    dims[k] = x->dims[p];
  }
  set(i, 0, x, x->rank, dims);
  int axis = channel_axis(x);
  return wk_carry_quant(i, 0, axis < 0 || at->perm.v[axis] == axis, &i->out[0]);
}

wk_status wk_infer_slice(const wk_infer *i) {
  const wk_attr_slice *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_list(i, "starts", at->starts, x->rank, INT64_MIN));
  WK_TRY(wk_want_list(i, "sizes", at->sizes, x->rank, 0));
  WK_TRY(wk_want_list(i, "steps", at->steps, x->rank, INT64_MIN));
  for (int k = 0; k < x->rank; k++) {
    int64_t first = at->starts.v[k], step = at->steps.v[k], n = at->sizes.v[k], last;
    if (step == 0) return BAD(i, "steps[%d] is 0", k);
    if (n == 0) continue;
    bool inside = first >= 0 && first < x->dims[k] && wk_mul_ok(n - 1, step, &last) &&
                  wk_add_ok(last, first, &last) && last >= 0 && last < x->dims[k];
    if (!inside)
      return BAD(i, "axis %d: start %lld, size %lld, step %lld leaves 0..%lld", k, wk_ll(first),
                 wk_ll(n), wk_ll(step), wk_ll(x->dims[k] - 1));
  }
  set(i, 0, x, x->rank, at->sizes.v);
  int axis = channel_axis(x);
  return wk_carry_quant(i, 0, axis < 0 || at->steps.v[axis] == 1, &i->out[0]);
}

wk_status wk_infer_expand(const wk_infer *i) {
  const wk_attr_expand *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(want_shape(i, "shape", at->shape));
  set(i, 0, x, at->shape.n, at->shape.v);
  WK_TRY(wk_want_broadcast_to(i, 0, &i->out[0]));
  return wk_carry_quant(i, 0, x->rank == at->shape.n, &i->out[0]);
}

static bool quant_agrees(const wk_type *x, const wk_type *y) {
  wk_type p = {.dtype = x->dtype, .quant = x->quant}, q = {.dtype = y->dtype, .quant = y->quant};
  return wk_type_equal(&p, &q);
}

wk_status wk_infer_concat(const wk_infer *i) {
  const wk_attr_concat *at = i->attrs;
  if (i->n_in == 0) return BAD(i, "needs at least one input");
  wk_type y = *i->in[0];
  WK_TRY(wk_want_axis(i, "axis", at->axis, y.rank));
  for (uint32_t k = 1; k < i->n_in; k++) {
    const wk_type *x = i->in[k];
    if (x->dtype != y.dtype)
      return BAD(i, "input %u is %s but input 0 is %s", k, wk_dtype_name(x->dtype),
                 wk_dtype_name(y.dtype));
    if (x->rank != y.rank) return BAD(i, "input %u has rank %d but input 0 has rank %d", k, x->rank,
                                      y.rank);
    if (!quant_agrees(x, &y)) return UNSUPPORTED(i, "input %u is quantised differently", k);
    for (int a = 0; a < y.rank; a++) {
      if (a == at->axis) {
        if (!wk_add_ok(y.dims[a], x->dims[a], &y.dims[a])) return BAD(i, "axis %d is too long", a);
      } else if (x->dims[a] != y.dims[a]) {
        return BAD(i, "input %u has %lld along axis %d but input 0 has %lld", k,
                   wk_ll(x->dims[a]), a, wk_ll(y.dims[a]));
      }
    }
  }
  i->out[0] = y;
  return wk_carry_quant(i, 0, true, &i->out[0]);
}

wk_status wk_infer_split(const wk_infer *i) {
  const wk_attr_split *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_axis(i, "axis", at->axis, x->rank));
  WK_TRY(wk_want_list(i, "sizes", at->sizes, i->n_out, 0));
  int64_t sum = 0;
  for (uint32_t k = 0; k < i->n_out; k++) {
    if (!wk_add_ok(sum, at->sizes.v[k], &sum)) return BAD(i, "sizes overflow");
    set(i, k, x, x->rank, x->dims);
    i->out[k].dims[at->axis] = at->sizes.v[k];
    WK_TRY(wk_carry_quant(i, 0, true, &i->out[k]));
  }
  if (sum != x->dims[at->axis])
    return BAD(i, "sizes add up to %lld but axis %lld has %lld", wk_ll(sum), wk_ll(at->axis),
               wk_ll(x->dims[at->axis]));
  return NULL;
}

/* Reflection needs as many elements beside the edge as it copies; edge and wrap need one. */
static wk_status pad_axis(const wk_infer *i, int k, bool reflect, bool copies, int64_t before,
                          int64_t after, int64_t *dim) {
  int64_t d = *dim, y;
  if (before < -d || after < -d)
    return BAD(i, "axis %d: %lld and %lld crop more than its %lld", k, wk_ll(before), wk_ll(after),
               wk_ll(d));
  if (!wk_add_ok(d, before, &y) || !wk_add_ok(y, after, &y) || y < 0)
    return BAD(i, "axis %d: %lld%+lld%+lld is not a size", k, wk_ll(d), wk_ll(before),
               wk_ll(after));
  if (reflect && (before >= d || after >= d) && (before > 0 || after > 0))
    return BAD(i, "axis %d: reflection by %lld and %lld needs more than %lld elements", k,
               wk_ll(before), wk_ll(after), wk_ll(d));
  if (copies && d == 0 && y > 0) return BAD(i, "axis %d is empty: nothing to pad with", k);
  *dim = y;
  return NULL;
}

wk_status wk_infer_pad(const wk_infer *i) {
  const wk_attr_pad *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_choice(i, "mode", "constant reflect edge wrap"));
  WK_TRY(wk_want_list(i, "before", at->before, x->rank, INT64_MIN));
  WK_TRY(wk_want_list(i, "after", at->after, x->rank, INT64_MIN));
  WK_TRY(wk_want_scalar(i, 1, x->dtype));
  bool reflect = strcmp(at->mode, "reflect") == 0, copies = strcmp(at->mode, "constant") != 0;
  set(i, 0, x, x->rank, x->dims);
  for (int k = 0; k < x->rank; k++)
    WK_TRY(pad_axis(i, k, reflect, copies, at->before.v[k], at->after.v[k], &i->out[0].dims[k]));
  int axis = channel_axis(x); /* `after` alone makes it longer or shorter */
  return wk_carry_quant(i, 0, axis < 0 || at->before.v[axis] == 0, &i->out[0]);
}

wk_status wk_infer_tile(const wk_infer *i) {
  const wk_attr_tile *at = i->attrs;
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_list(i, "repeats", at->repeats, x->rank, 0));
  set(i, 0, x, x->rank, x->dims);
  for (int k = 0; k < x->rank; k++)
    if (!wk_mul_ok(x->dims[k], at->repeats.v[k], &i->out[0].dims[k]))
      return BAD(i, "axis %d becomes too long", k);
  return wk_carry_quant(i, 0, true, &i->out[0]);
}
