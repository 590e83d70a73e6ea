/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of convolutions and pools. Spatial axes are those from 2 on; pads hold all begins, then all
 * ends. */
#include "compiler/expr/quant.h"
#include "compiler/expr/scalar.h"
#include "compiler/ir/infer.h"

typedef struct {
  wk_ints strides, pads, dilations;
} window;

static wk_status want_window(const wk_infer *i, const window *w, int spatial) {
  WK_TRY(wk_want_list(i, "strides", w->strides, spatial, 1));
  WK_TRY(wk_want_list(i, "pads", w->pads, 2 * spatial, 0));
  return wk_want_list(i, "dilations", w->dilations, spatial, 1);
}

/* dilation * (kernel - 1) + 1 */
static bool extent_ok(int64_t kernel, int64_t dilation, int64_t *out) {
  return wk_mul_ok(dilation, kernel - 1, out) && wk_add_ok(*out, 1, out);
}

/* floor((in + pads - extent) / stride) + 1 */
static wk_status window_dim(const wk_infer *i, const window *w, int k, int spatial, int64_t in,
                            int64_t kernel, int64_t *out) {
  int64_t extent, room;
  if (!extent_ok(kernel, w->dilations.v[k], &extent) || !wk_add_ok(in, w->pads.v[k], &room) ||
      !wk_add_ok(room, w->pads.v[spatial + k], &room))
    return BAD(i, "spatial axis %d is too long", k);
  if (room < extent)
    return BAD(i, "spatial axis %d: a window of %lld does not fit into %lld (padding included)", k,
               wk_ll(extent), wk_ll(room));
  *out = (room - extent) / w->strides.v[k] + 1;
  return NULL;
}

static wk_status transposed_dim(const wk_infer *i, const window *w, int k, int spatial, int64_t in,
                                int64_t kernel, int64_t more, int64_t *out) {
  int64_t extent, y;
  if (!extent_ok(kernel, w->dilations.v[k], &extent) ||
      !wk_mul_ok(in - 1, w->strides.v[k], &y) || !wk_add_ok(y, extent, &y) ||
      !wk_add_ok(y, more, &y) || !wk_add_ok(y, -w->pads.v[k], &y) ||
      !wk_add_ok(y, -w->pads.v[spatial + k], &y))
    return BAD(i, "spatial axis %d is too long", k);
  if (in == 0 || y < 0)
    return BAD(i, "spatial axis %d: result of %lld is negative or comes from nothing", k, wk_ll(y));
  *out = y;
  return NULL;
}

/* ---- contractions ---------------------------------------------------------------------------- */

/* Operands of a contraction: floats that are summed in one type, or integers of one width up to 16
 * bits of either sign, or wider integers of one type. */
static wk_status want_factors(const wk_infer *i) {
  wk_dtype a = i->in[0]->dtype, b = i->in[1]->dtype;
  if (a == WK_BOOL)
    return BAD(i, "%s must be a number, not bool", wk_infer_operand(i, 0).s);
  bool narrow = wk_dtype_is_int(a) && wk_dtype_is_int(b) && wk_dtype_size(a) <= 2 &&
                wk_dtype_size(a) == wk_dtype_size(b);
  bool floats = wk_dtype_is_float(a) && wk_compute_dtype(a) == wk_compute_dtype(b);
  return narrow || floats ? NULL : wk_want_same_dtype(i, 1, 0);
}

/* Of the type that is summed in, or a 16-bit float where that is a float. */
static wk_status want_bias(const wk_infer *i, wk_dtype accumulator, int64_t channels) {
  const wk_type *b = wk_infer_in(i, 2);
  bool fits = b && wk_compute_dtype(b->dtype) == accumulator;
  return wk_want_type(i, 2, fits ? b->dtype : accumulator, 1, &channels);
}

/* Bias, extras and epilogue; sets the element type of out[0], whose dims are set. */
static wk_status finish_contraction(const wk_infer *i, const wk_expr *epilogue, int64_t channels) {
  wk_type *y = &i->out[0];
  wk_dtype accumulator = wk_accumulator_dtype(i->in[0]->dtype);
  WK_TRY(want_bias(i, accumulator, channels));
  uint32_t n = i->n_in > 3 ? i->n_in - 3 : 0;
  if (n && !epilogue) return BAD(i, "%u extra operands but no epilogue", n);
  if (n > 64) return UNSUPPORTED(i, "%u extra operands, at most 64 are handled", n);
  wk_dtype dtypes[65] = {accumulator};
  for (uint32_t k = 0; k < n; k++) {
    WK_TRY(wk_want_broadcast_to(i, 3 + k, y));
    dtypes[k + 1] = i->in[3 + k]->dtype;
  }
  WK_TRY(wk_want_expr(i, "epilogue", epilogue, dtypes, n + 1, y->rank, 1));
  y->dtype = wk_contraction_dtype(epilogue, i->in[0]->dtype);
  return NULL;
}

static wk_status want_kernel(const wk_infer *i) {
  const wk_type *x = i->in[0], *w = i->in[1];
  WK_TRY(want_factors(i));
  WK_TRY(wk_want_rank(i, 0, 3, WK_MAX_RANK));
  if (w->rank != x->rank) return BAD(i, "x has rank %d but w has rank %d", x->rank, w->rank);
  for (int k = 2; k < w->rank; k++)
    if (w->dims[k] < 1) return BAD(i, "kernel is empty along spatial axis %d", k - 2);
  return NULL;
}

static wk_status want_pad_value(const wk_infer *i, int64_t value) {
  wk_dtype t = i->in[0]->dtype;
  if (value == 0 || (wk_dtype_is_int(t) && wk_wrap_int(value, t) == value)) return NULL;
  return BAD(i, "pad_value %lld is not a value of %s", wk_ll(value), wk_dtype_name(t));
}

wk_status wk_infer_conv(const wk_infer *i) {
  const wk_attr_conv *at = i->attrs;
  const wk_type *x = i->in[0], *w = i->in[1];
  const window win = {at->strides, at->pads, at->dilations};
  WK_TRY(want_kernel(i));
  int spatial = x->rank - 2;
  WK_TRY(want_window(i, &win, spatial));
  WK_TRY(wk_want_at_least(i, "group", at->group, 1));
  WK_TRY(want_pad_value(i, at->pad_value));
  int64_t channels;
  if (!wk_mul_ok(w->dims[1], at->group, &channels) || channels != x->dims[1])
    return BAD(i, "x has %lld channels but w expects %lld (group %lld)", wk_ll(x->dims[1]),
               wk_ll(channels), wk_ll(at->group));
  if (w->dims[0] % at->group)
    return BAD(i, "%lld output channels are not divisible by group %lld", wk_ll(w->dims[0]),
               wk_ll(at->group));
  wk_type y = {.rank = x->rank, .dims = {x->dims[0], w->dims[0]}};
  for (int k = 0; k < spatial; k++)
    WK_TRY(window_dim(i, &win, k, spatial, x->dims[2 + k], w->dims[2 + k], &y.dims[2 + k]));
  i->out[0] = y;
  return finish_contraction(i, at->epilogue, w->dims[0]);
}

wk_status wk_infer_conv_transpose(const wk_infer *i) {
  const wk_attr_conv_transpose *at = i->attrs;
  const wk_type *x = i->in[0], *w = i->in[1];
  const window win = {at->strides, at->pads, at->dilations};
  WK_TRY(want_kernel(i));
  int spatial = x->rank - 2;
  WK_TRY(want_window(i, &win, spatial));
  WK_TRY(wk_want_list(i, "output_padding", at->output_padding, spatial, 0));
  WK_TRY(wk_want_at_least(i, "group", at->group, 1));
  if (w->dims[0] != x->dims[1])
    return BAD(i, "x has %lld channels but w expects %lld", wk_ll(x->dims[1]), wk_ll(w->dims[0]));
  if (x->dims[1] % at->group)
    return BAD(i, "%lld channels are not divisible by group %lld", wk_ll(x->dims[1]),
               wk_ll(at->group));
  int64_t channels;
  if (!wk_mul_ok(w->dims[1], at->group, &channels)) return BAD(i, "too many output channels");
  wk_type y = {.rank = x->rank, .dims = {x->dims[0], channels}};
  for (int k = 0; k < spatial; k++)
    WK_TRY(transposed_dim(i, &win, k, spatial, x->dims[2 + k], w->dims[2 + k],
                          at->output_padding.v[k], &y.dims[2 + k]));
  i->out[0] = y;
  return finish_contraction(i, at->epilogue, channels);
}

/* Dims of a product, in *out. */
static wk_status product_dims(const wk_infer *i, wk_type *out) {
  const wk_type *a = i->in[0], *b = i->in[1];
  WK_TRY(want_factors(i));
  WK_TRY(wk_want_rank(i, 0, 2, WK_MAX_RANK));
  WK_TRY(wk_want_rank(i, 1, 2, WK_MAX_RANK));
  int64_t m = a->dims[a->rank - 2], k = a->dims[a->rank - 1], n = b->dims[b->rank - 1];
  if (b->dims[b->rank - 2] != k)
    return BAD(i, "a has %lld columns but b has %lld rows", wk_ll(k), wk_ll(b->dims[b->rank - 2]));
  wk_type p = wk_type_make(WK_BOOL, a->rank - 2, a->dims);
  wk_type q = wk_type_make(WK_BOOL, b->rank - 2, b->dims), y;
  wk_status s = wk_type_broadcast(&p, &q, &y);
  if (s) {
    wk_status_free(s);
    return BAD(i, "the leading dims of a and b do not broadcast");
  }
  y.dims[y.rank++] = m;
  y.dims[y.rank++] = n;
  *out = y;
  return NULL;
}

wk_status wk_infer_matmul(const wk_infer *i) {
  const wk_attr_matmul *at = i->attrs;
  WK_TRY(product_dims(i, &i->out[0]));
  return finish_contraction(i, at->epilogue, i->in[1]->dims[i->in[1]->rank - 1]);
}

wk_status wk_infer_integer_matmul(const wk_infer *i) {
  const wk_attr_integer_matmul *at = i->attrs;
  const int64_t zeros[] = {at->a_zero, at->b_zero};
  const char *names[] = {"a_zero", "b_zero"};
  for (uint32_t k = 0; k < 2; k++) WK_TRY(wk_want_zero(i, k, names[k], zeros[k]));
  WK_TRY(product_dims(i, &i->out[0]));
  return finish_contraction(i, at->epilogue, 0);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static wk_status pool(const wk_infer *i, wk_ints kernel, const window *w) {
  const wk_type *x = i->in[0];
  WK_TRY(wk_want_rank(i, 0, 3, WK_MAX_RANK));
  int spatial = x->rank - 2;
  WK_TRY(wk_want_list(i, "kernel", kernel, spatial, 1));
  WK_TRY(want_window(i, w, spatial));
  wk_type y = *x;
  y.quant = NULL;
  for (int k = 0; k < spatial; k++)
    WK_TRY(window_dim(i, w, k, spatial, x->dims[2 + k], kernel.v[k], &y.dims[2 + k]));
  i->out[0] = y;
  return NULL;
}

/* Taps of a window are numbered in this type. */
static wk_status taps_dtype(const wk_infer *i, wk_ints kernel, wk_dtype *out) {
  int64_t taps = 1;
  for (int64_t k = 0; k < kernel.n; k++)
    if (!wk_mul_ok(taps, kernel.v[k], &taps) || taps > INT32_MAX)
      return UNSUPPORTED(i, "taps of windows of more than %d elements", INT32_MAX);
  *out = taps <= UINT8_MAX + 1 ? WK_U8 : taps <= UINT16_MAX + 1 ? WK_U16 : WK_I32;
  return NULL;
}

wk_status wk_infer_max_pool(const wk_infer *i) {
  const wk_attr_max_pool *at = i->attrs;
  const window w = {at->strides, at->pads, at->dilations};
  if (i->in[0]->dtype == WK_BOOL) return BAD(i, "x must be a number, not bool");
  WK_TRY(wk_want_flag(i, "column_major"));
  WK_TRY(wk_want_flag(i, "taps"));
  if (at->taps && at->column_major) return BAD(i, "taps have no order by columns");
  WK_TRY(pool(i, at->kernel, &w));
  const wk_quant *q = i->in[0]->quant;
  WK_TRY(wk_carry_quant(i, 0, q && q->axis < 2, &i->out[0]));
  if (i->n_out > 1) {
    i->out[1] = i->out[0];
    i->out[1].dtype = WK_I64;
    i->out[1].quant = NULL;
    if (at->taps) WK_TRY(taps_dtype(i, at->kernel, &i->out[1].dtype));
  }
  return NULL;
}

wk_status wk_infer_unpool(const wk_infer *i) {
  const wk_attr_unpool *at = i->attrs;
  const window w = {at->strides, at->pads, at->dilations};
  const wk_type *x = i->in[0];
  wk_dtype taps;
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_rank(i, 0, 3, WK_MAX_RANK));
  int spatial = x->rank - 2;
  WK_TRY(wk_want_list(i, "kernel", at->kernel, spatial, 1));
  WK_TRY(want_window(i, &w, spatial));
  WK_TRY(wk_want_list(i, "size", at->size, spatial, 0));
  WK_TRY(taps_dtype(i, at->kernel, &taps));
  WK_TRY(wk_want_type(i, 1, taps, x->rank, x->dims));
  wk_type y = *x;
  for (int k = 0; k < spatial; k++) {
    int64_t windows;
    WK_TRY(window_dim(i, &w, k, spatial, at->size.v[k], at->kernel.v[k], &windows));
    if (windows != x->dims[2 + k])
      return BAD(i, "spatial axis %d has %lld windows but x has %lld elements", k, wk_ll(windows),
                 wk_ll(x->dims[2 + k]));
    y.dims[2 + k] = at->size.v[k];
  }
  i->out[0] = y;
  return NULL;
}

wk_status wk_infer_avg_pool(const wk_infer *i) {
  const wk_attr_avg_pool *at = i->attrs;
  const window w = {at->strides, at->pads, at->dilations};
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(pool(i, at->kernel, &w));
  return wk_want_list(i, "real_pads", at->real_pads, 2 * (i->in[0]->rank - 2), 0);
}

wk_status wk_infer_integer_avg_pool(const wk_infer *i) {
  const wk_attr_integer_avg_pool *at = i->attrs;
  const window w = {at->strides, at->pads, at->dilations};
  WK_TRY(wk_want_zero(i, 0, "x_zero", at->x_zero));
  WK_TRY(pool(i, at->kernel, &w));
  WK_TRY(wk_want_list(i, "real_pads", at->real_pads, 2 * (i->in[0]->rank - 2), 0));
  if (!wk_scale_is_valid(at->factor)) return BAD(i, "factor is not a positive number");
  int64_t taps = 1;
  for (int64_t k = 0; k < at->kernel.n; k++)
    if (!wk_mul_ok(taps, at->kernel.v[k], &taps) || taps > WK_POOL_TAPS)
      return UNSUPPORTED(i, "windows of more than %d taps", WK_POOL_TAPS);
  int64_t positions = 1;
  for (int k = 2; k < i->out[0].rank; k++)
    if (!wk_mul_ok(positions, i->out[0].dims[k], &positions) || positions > WK_POOL_POSITIONS)
      return UNSUPPORTED(i, "windows at more than %d positions", WK_POOL_POSITIONS);
  return wk_want_range(i);
}

wk_status wk_infer_lp_pool(const wk_infer *i) {
  const wk_attr_lp_pool *at = i->attrs;
  const window w = {at->strides, at->pads, at->dilations};
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_at_least(i, "p", at->p, 1));
  return pool(i, at->kernel, &w);
}

wk_status wk_infer_lrn(const wk_infer *i) {
  const wk_attr_lrn *at = i->attrs;
  WK_TRY(wk_want_float(i, 0));
  WK_TRY(wk_want_rank(i, 0, 2, WK_MAX_RANK));
  WK_TRY(wk_want_at_least(i, "size", at->size, 1));
  i->out[0] = *i->in[0];
  return NULL;
}
