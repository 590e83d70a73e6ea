/* SPDX-License-Identifier: Apache-2.0
 * Linear models. */
#include "compiler/onnx/domains/ml.h"
#include "compiler/onnx/import/handlers.h"

/* x [n, f] times the transposed coefficients [targets, f], and intercepts where there are any. */
static wk_value_id affine(wk_onnx_node *c, wk_value_id x, wk_floats coefficients,
                          wk_floats intercepts, int64_t targets) {
  if (c->status || !wk_onnx_has_list(c, "coefficients", coefficients.n)) return WK_NONE;
  int64_t features = wk_onnx_type(c, x)->dims[1];
  bool fit = coefficients.n % targets == 0 && coefficients.n / targets == features;
  if (!wk_onnx_valid(c, fit, "%lld coefficients for %lld targets and %lld features",
                     (long long)coefficients.n, (long long)targets, (long long)features))
    return WK_NONE;
  wk_value_id w = wk_make_f64s(c, WK_F32, coefficients.v, 2, (const int64_t[]){targets, features});
  w = wk_make_transpose(c, w, (const int64_t[]){1, 0});
  wk_value_id y = wk_make_2(c, WK_OP_MATMUL, wk_make_cast(c, x, WK_F32), w);
  if (intercepts.n != targets) return y;
  wk_value_id b = wk_make_f64s(c, WK_F32, intercepts.v, 1, (const int64_t[]){targets});
  return wk_make_2(c, WK_OP_ADD, y, b);
}

wk_status wk_onnx_linear_regressor(wk_onnx_node *c) {
  wk_value_id x = wk_ml_rows(c, c->in[0]);
  int64_t targets = wk_onnx_int(c, "targets", 1);
  wk_ml_transform t = wk_ml_post_transform(c);
  if (!wk_onnx_valid(c, targets > 0, "it has %lld targets", (long long)targets)) return c->status;
  wk_value_id y = affine(c, x, wk_onnx_floats(c, "coefficients"), wk_onnx_floats(c, "intercepts"),
                         targets);
  return wk_onnx_return(c, wk_ml_transform_emit(c, t, y));
}

/* One intercept is one score, for the second of two classes. */
static wk_status decide_by_sign(wk_onnx_node *c, const wk_ml_labels *labels, wk_value_id score,
                                wk_ml_transform t) {
  const wk_type rows = *wk_onnx_type(c, score);
  wk_onnx_valid(c, labels->n == 2, "one score for %lld labels, not two", (long long)labels->n);
  wk_value_id over = wk_make_2(c, WK_OP_GREATER, score, wk_make_scalar(c, WK_F32, 0));
  over = wk_make_cast(c, wk_make_reshape(c, over, 1, rows.dims), WK_I64);
  wk_ml_labels_result(c, labels, over);
  wk_onnx_result(c, 1, wk_ml_second_emit(c, WK_ML_COMPLEMENT, t, score));
  return c->status;
}

wk_status wk_onnx_linear_classifier(wk_onnx_node *c) {
  wk_ml_labels labels;
  wk_value_id x = wk_ml_rows(c, c->in[0]);
  wk_ml_transform t = wk_ml_post_transform(c);
  wk_floats intercepts = wk_onnx_floats(c, "intercepts");
  if (!wk_ml_labels_read(c, "classlabels_ints", "classlabels_strings", &labels)) return c->status;
  if (!wk_onnx_valid(c, intercepts.n > 0, "it has no intercepts")) return c->status;
  wk_value_id y = affine(c, x, wk_onnx_floats(c, "coefficients"), intercepts, intercepts.n);
  if (!wk_onnx_ok(c)) return c->status;
  if (intercepts.n == 1) return decide_by_sign(c, &labels, y, t);
  wk_onnx_valid(c, labels.n >= intercepts.n, "%lld labels for %lld classes", (long long)labels.n,
                (long long)intercepts.n);
  WK_MAKE_ATTRS(c, a, ARG_MAX, arg_max);
  a->axis = 1;
  a->keepdims = 0;
  wk_ml_labels_result(c, &labels, wk_make(c, WK_OP_ARG_MAX, a, 1, y));
  wk_onnx_result(c, 1, wk_ml_transform_emit(c, t, y));
  return c->status;
}
