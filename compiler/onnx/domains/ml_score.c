/* SPDX-License-Identifier: Apache-2.0
 * Scores and labels of ai.onnx.ml. */
#include "compiler/onnx/domains/ml.h"

#include "compiler/onnx/import/labels.h"

#include <math.h>
#include <string.h>

/* ---- attributes ---------------------------------------------------------------------------- */

wk_floats wk_ml_tensor(wk_onnx_node *c, const char *name, wk_dtype *t) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, name);
  wk_tensor v = {0};
  bool borrowed = true;
  *t = WK_DTYPE_NONE;
  if (!a || !a->t || c->status) return (wk_floats){.n = -1};
  wk_onnx_latch(c, wk_onnx_tensor_read(a->t, &v, &borrowed));
  if (c->status) return (wk_floats){.n = -1};
  int64_t n = wk_type_count(&v.type);
  double *out = wk_arena_alloc(c->im->arena, (size_t)n * sizeof *out);
  for (int64_t i = 0; i < n; i++) out[i] = wk_load_f64(v.data, v.type.dtype, i);
  *t = v.type.dtype;
  if (!borrowed) wk_tensor_free(&v);
  return (wk_floats){.n = n, .v = out};
}

wk_floats wk_ml_floats(wk_onnx_node *c, const char *name) {
  wk_floats list = wk_onnx_floats(c, name);
  wk_dtype ignored;
  wk_floats tensor =
      wk_ml_tensor(c, wk_arena_printf(c->im->arena, "%s_as_tensor", name), &ignored);
  wk_onnx_valid(c, list.n <= 0 || tensor.n <= 0, "%s is given twice, as numbers and as a tensor",
                name);
  return tensor.n > 0 ? tensor : list;
}

wk_ml_transform wk_ml_post_transform(wk_onnx_node *c) {
  static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const char *name = wk_onnx_text(c, "post_transform", "NONE");
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    if (strcmp(name, names[i]) == 0) return (wk_ml_transform)i;
  wk_onnx_fail(c, WK_INPUT, "post_transform '%s' is not one of NONE, SOFTMAX, LOGISTIC, "
               "SOFTMAX_ZERO and PROBIT", name);
  return WK_ML_NONE;
}

/* ---- transforms ---------------------------------------------------------------------------- */

static wk_value_id along_columns(wk_onnx_node *c, wk_op op, wk_value_id x) {
  return wk_make_reduce(c, op, x, wk_make_axes(c, 1, 2), true);
}

/* Softmax in which zeros stay so. */
static wk_value_id softmax_zero(wk_onnx_node *c, wk_value_id x) {
  wk_value_id most = along_columns(c, WK_OP_REDUCE_MAX, x);
  wk_value_id tiny = wk_make_scalar(c, wk_onnx_type(c, x)->dtype, 0.0000001f);
  wk_value_id some = wk_make_2(c, WK_OP_GREATER, wk_make_1(c, WK_OP_ABS, x), tiny);
  wk_value_id power = wk_make_1(c, WK_OP_EXP, wk_make_2(c, WK_OP_SUB, x, most));
  wk_value_id zero = wk_make_scalar(c, wk_onnx_type(c, x)->dtype, 0);
  wk_value_id sum = along_columns(c, WK_OP_REDUCE_SUM, wk_make_where(c, some, power, zero));
  wk_value_id rest = wk_make_1(c, WK_OP_EXP, wk_make_1(c, WK_OP_NEG, most));
  rest = wk_make_2(c, WK_OP_MUL, x, rest);
  return wk_make_2(c, WK_OP_DIV, wk_make_where(c, some, power, rest), sum);
}

/* The inverse of the normal distribution, by Winitzki's approximation with a = 0.147. */
static wk_value_id probit(wk_onnx_node *c, wk_value_id p) {
  wk_value_id x = wk_make_add_f(c, wk_make_mul_f(c, p, 2), -1);
  wk_value_id square = wk_make_2(c, WK_OP_MUL, x, x);
  wk_value_id log = wk_make_1(c, WK_OP_LOG, wk_make_add_f(c, wk_make_1(c, WK_OP_NEG, square), 1));
  wk_value_id v = wk_make_add_f(c, wk_make_mul_f(c, log, 0.5), 2 / (3.14159f * 0.147f));
  wk_value_id root = wk_make_2(c, WK_OP_SUB, wk_make_2(c, WK_OP_MUL, v, v),
                               wk_make_mul_f(c, log, 1 / 0.147f));
  wk_value_id size = wk_make_2(c, WK_OP_SUB, wk_make_1(c, WK_OP_SQRT, root), v);
  size = wk_make_mul_f(c, wk_make_1(c, WK_OP_SQRT, size), 1.41421356f);
  return wk_make_2(c, WK_OP_MUL, wk_make_1(c, WK_OP_SIGN, x), size);
}

wk_value_id wk_ml_transform_emit(wk_onnx_node *c, wk_ml_transform t, wk_value_id scores) {
  if (c->status) return WK_NONE;
  bool alone = wk_onnx_type(c, scores)->dims[1] == 1;
  if (t == WK_ML_PROBIT) return probit(c, scores);
  if (t == WK_ML_NONE || alone) return scores;
  if (t == WK_ML_LOGISTIC) return wk_make_1(c, WK_OP_SIGMOID, scores);
  if (t == WK_ML_SOFTMAX_ZERO) return softmax_zero(c, scores);
  WK_MAKE_ATTRS(c, a, SOFTMAX, softmax);
  a->axis = 1;
  return wk_make(c, WK_OP_SOFTMAX, a, 1, scores);
}

wk_value_id wk_ml_second_emit(wk_onnx_node *c, wk_ml_second how, wk_ml_transform t,
                              wk_value_id s) {
  if (!wk_onnx_need(c, t != WK_ML_PROBIT, "PROBIT of one score for two classes is not supported"))
    return WK_NONE;
  bool logistic = t == WK_ML_LOGISTIC;
  wk_value_id other = wk_make_1(c, WK_OP_NEG, s);
  if (how == WK_ML_COMPLEMENT && !logistic) other = wk_make_add_f(c, other, 1);
  wk_value_id both = wk_make_concat(c, (const wk_value_id[]){other, s}, 2, 1);
  return logistic ? wk_make_1(c, WK_OP_SIGMOID, both) : both;
}

wk_value_id wk_ml_rows(wk_onnx_node *c, wk_value_id x) {
  const wk_type t = *wk_onnx_type(c, x);
  if (!wk_onnx_valid(c, t.rank == 1 || t.rank == 2, "the input has rank %d, not 1 or 2", t.rank))
    return WK_NONE;
  if (t.rank == 1) x = wk_make_reshape(c, x, 2, (const int64_t[]){1, t.dims[0]});
  return wk_dtype_is_float(t.dtype) ? x : wk_make_cast(c, x, WK_F32);
}

/* ---- labels -------------------------------------------------------------------------------- */

bool wk_ml_labels_read(wk_onnx_node *c, const char *ints, const char *strings, wk_ml_labels *out) {
  *out = (wk_ml_labels){.ints = wk_onnx_ints(c, ints), .strings = wk_onnx_texts(c, strings)};
  bool are_strings = out->strings.n > 0;
  out->n = are_strings ? out->strings.n : out->ints.n;
  if (are_strings) out->ints.n = -1;
  return wk_onnx_valid(c, out->n > 0, "it has no %s and no %s", ints, strings);
}

void wk_ml_labels_result(wk_onnx_node *c, const wk_ml_labels *labels, wk_value_id classes) {
  if (c->status) return;
  if (labels->ints.n < 0) {
    const wk_labels names = {.kind = WK_LABELS_ELEMENTS, .texts = labels->strings};
    c->out[0] = wk_label_bound(c->im, classes, &names);
    return;
  }
  bool is_count = true;
  for (int64_t i = 0; i < labels->n; i++) is_count = is_count && labels->ints.v[i] == i;
  if (!is_count)
    classes = wk_make_gather(c, wk_make_i64s(c, labels->ints.v, labels->n), classes, 0);
  wk_onnx_result(c, 0, classes);
}
