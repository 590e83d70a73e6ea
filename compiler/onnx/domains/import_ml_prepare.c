/* SPDX-License-Identifier: Apache-2.0
 * What models of ai.onnx.ml do with features before they use them. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/domains/ml.h"
#include "compiler/onnx/import/handlers.h"

/* One number for each feature of x [n, f] or [f], or one for all, to broadcast to x. */
static wk_value_id per_feature(wk_onnx_node *c, const wk_type *x, wk_floats v, wk_dtype t,
                               const char *name) {
  bool one = v.n == 1, each = x->rank == 1 || x->rank == 2;
  if (!wk_onnx_has_list(c, name, v.n)) return WK_NONE;
  if (!wk_onnx_valid(c, one || (each && v.n == x->dims[x->rank - 1]),
                     "%s has %lld numbers: neither one nor one for each feature", name,
                     (long long)v.n)) return WK_NONE;
  return wk_make_f64s(c, t, v.v, one ? 0 : 1, &v.n);
}

wk_status wk_onnx_scaler(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_floats offset = wk_onnx_floats(c, "offset"), scale = wk_onnx_floats(c, "scale");
  wk_dtype t = wk_dtype_is_float(x.dtype) ? x.dtype : WK_F32;
  wk_value_id y = wk_make_cast(c, c->in[0], t);
  y = wk_make_2(c, WK_OP_SUB, y, per_feature(c, &x, offset, t, "offset"));
  y = wk_make_2(c, WK_OP_MUL, y, per_feature(c, &x, scale, t, "scale"));
  return wk_onnx_return(c, wk_make_cast(c, y, WK_F32));
}

wk_status wk_onnx_binarizer(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  double threshold = wk_onnx_float(c, "threshold", 0);
  if (!wk_dtype_is_float(x.dtype)) threshold = floor(threshold);
  wk_value_id limit = wk_make_scalar(c, x.dtype, threshold);
  wk_value_id y = wk_make_2(c, WK_OP_GREATER, c->in[0], limit);
  return wk_onnx_return(c, wk_make_cast(c, y, x.dtype));
}

/* Elements of the last axis. */
wk_status wk_onnx_array_feature_extractor(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  if (!wk_onnx_valid(c, x.rank > 0, "the input is a scalar")) return c->status;
  int64_t n = wk_type_count(wk_onnx_type(c, c->in[1]));
  wk_value_id at = wk_make_reshape(c, c->in[1], 1, &n);
  wk_value_id y = wk_make_gather(c, c->in[0], at, x.rank - 1);
  if (x.rank == 1) y = wk_make_reshape(c, y, 2, (const int64_t[]){1, n});
  return wk_onnx_return(c, y);
}

/* ---- rows to norm 1 ------------------------------------------------------------------------ */

/* x / norm where the norm is not 0, else x. */
static wk_value_id divided(wk_onnx_node *c, wk_value_id x, wk_value_id norm) {
  wk_value_id zero = wk_make_scalar(c, WK_F32, 0), one = wk_make_scalar(c, WK_F32, 1);
  norm = wk_make_where(c, wk_make_2(c, WK_OP_EQUAL, norm, zero), one, norm);
  return wk_make_2(c, WK_OP_DIV, x, norm);
}

wk_status wk_onnx_normalizer(wk_onnx_node *c) {
  static const struct { const char *name; wk_op op; } norms[] = {
      {"MAX", WK_OP_REDUCE_MAX}, {"L1", WK_OP_REDUCE_L1}, {"L2", WK_OP_REDUCE_L2}};
  const char *name = wk_onnx_text(c, "norm", "MAX");
  int rank = wk_onnx_type(c, c->in[0])->rank;
  wk_value_id x = wk_make_cast(c, c->in[0], WK_F32);
  if (!wk_onnx_valid(c, rank == 1 || rank == 2, "the input has rank %d, not 1 or 2", rank))
    return c->status;
  for (size_t i = 0; i < WK_COUNTOF(norms); i++) {
    if (strcmp(norms[i].name, name) != 0) continue;
    wk_value_id norm = wk_make_reduce(c, norms[i].op, x, wk_make_axes(c, rank - 1, rank), true);
    return wk_onnx_return(c, divided(c, x, norm));
  }
  wk_onnx_fail(c, WK_INPUT, "norm '%s' is not one of MAX, L1 and L2", name);
  return c->status;
}
