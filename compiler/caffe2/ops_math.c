/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators with broadcasting of old, products, reductions. */
#include <string.h>

#include "compiler/caffe2/translate.h"

/* ---- two operands -------------------------------------------------------------------------- */

static const char *rank_of(wk_c2_op *o, const char *x) {
  return wk_c2_make(o, "Shape", NULL, wk_c2_make(o, "Shape", NULL, x, NULL, NULL), NULL, NULL);
}

/* b, whose axes are those of a from `axis` on, with axes of size 1 for those that follow. */
static const char *aligned(wk_c2_op *o, const char *a, const char *b, int64_t axis) {
  const char *after = wk_c2_make(o, "Sub", NULL, rank_of(o, a), wk_c2_i64s(o, &axis, 1), NULL);
  const char *n = wk_c2_make(o, "Sub", NULL, after, rank_of(o, b), NULL);
  const char *ones = wk_c2_make(o, "Expand", NULL, wk_c2_i64s(o, &(int64_t){1}, 1), n, NULL);
  const char *sizes = wk_c2_make(o, "Shape", NULL, b, NULL, NULL);
  const char *shape = wk_c2_make(o, "Concat", NULL, sizes, ones, NULL);
  wk_c2_attr_int(o, "axis", 0);
  return wk_c2_make(o, "Reshape", NULL, b, shape, NULL);
}

/* The axis of the first operand where the second one begins; -1: they end together, or (NumPy's
 * rule, which Caffe2 has had since 2018) nothing is said. */
static int64_t read_axis(wk_c2_op *o) {
  bool is_legacy = wk_c2_int(o, "broadcast", 0) != 0;
  int64_t axis = wk_c2_int(o, "axis", -1);
  const char *letter = wk_c2_text(o, "axis_str", ""), *order = wk_c2_text(o, "order", "NCHW");
  if (!is_legacy) return -1;
  wk_c2_valid(o, axis >= -1, "axis is %lld", (long long)axis);
  if (!*letter) return axis;
  const char *at = strstr(order, letter);
  wk_c2_valid(o, at && !letter[1] && axis == -1, "axis_str '%s' is no axis of order '%s'", letter,
              order);
  return at ? at - order : -1;
}

static void write_binary(wk_c2_op *o, const char *op) {
  int64_t axis = read_axis(o);
  const char *a = wk_c2_in(o, 0), *b = wk_c2_in(o, 1), *out = wk_c2_out(o, 0);
  if (axis >= 0) b = aligned(o, a, b, axis);
  if (strcmp(op, "NotEqual") != 0) wk_c2_make(o, op, out, a, b, NULL);
  else wk_c2_make(o, "Not", out, wk_c2_make(o, "Equal", NULL, a, b, NULL), NULL, NULL);
}

void wk_c2_binary(wk_c2_op *o) { write_binary(o, o->row->onnx); }

void wk_c2_not_equal(wk_c2_op *o) { write_binary(o, "NotEqual"); }

void wk_c2_pow(wk_c2_op *o) {
  if (o->n_in == 2) {
    write_binary(o, "Pow");
    return;
  }
  wk_c2_valid(o, wk_c2_has(o, "exponent"), "argument 'exponent' is missing");
  const char *exponent = wk_c2_f32(o, wk_c2_float(o, "exponent", 0));
  wk_c2_make(o, "Pow", wk_c2_out(o, 0), wk_c2_in(o, 0), exponent, NULL);
}

/* Conditional, and Where with broadcast_on_rows: one condition for each row. */
void wk_c2_where(wk_c2_op *o) {
  bool by_row = strcmp(o->row->type, "Conditional") == 0 ||
                wk_c2_int(o, "broadcast_on_rows", 0) != 0;
  const char *c = wk_c2_in(o, 0), *x = wk_c2_in(o, 1), *out = wk_c2_out(o, 0);
  if (by_row) c = aligned(o, x, c, 0);
  wk_c2_make(o, "Where", out, c, x, wk_c2_in(o, 2));
}

/* ---- one operand --------------------------------------------------------------------------- */

void wk_c2_cast(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0);
  wk_c2_valid(o, wk_c2_has(o, "to"), "argument 'to' is missing");
  int32_t to = wk_c2_elem_type(o, "to", 0);
  wk_c2_make(o, "Cast", out, wk_c2_in(o, 0), NULL, NULL);
  wk_c2_attr_int(o, "to", to);
}

void wk_c2_gelu(wk_c2_op *o) {
  bool is_fast = wk_c2_int(o, "fast_gelu", 0) != 0;
  wk_c2_function(o);
  wk_c2_attr_text(o, "by", is_fast ? "tanh" : "none");
}

/* One slope, or one for each channel. */
void wk_c2_prelu(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0);
  if (!wk_c2_is_nhwc(o)) wk_c2_function(o);
  else wk_c2_make(o, "PRelu", out, wk_c2_in(o, 0), wk_c2_in(o, 1), NULL);
}

/* ---- products ------------------------------------------------------------------------------ */

static const char *turned(wk_c2_op *o, int i, const char *argument) {
  const char *x = wk_c2_in(o, i);
  if (!wk_c2_int(o, argument, 0)) return x;
  const char *y = wk_c2_make(o, "Einsum", NULL, x, NULL, NULL);
  wk_c2_attr_text(o, "equation", "...ij->...ji");
  return y;
}

void wk_c2_batch_matmul(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0);
  wk_c2_int(o, "broadcast", 0); /* ONNX broadcasts anyway */
  const char *a = turned(o, 0, "trans_a");
  wk_c2_make(o, "MatMul", out, a, turned(o, 1, "trans_b"), NULL);
}

static const char *flat(wk_c2_op *o, int i, const char *argument) {
  const char *y = wk_c2_make(o, "Flatten", NULL, wk_c2_in(o, i), NULL, NULL);
  wk_c2_attr_int(o, "axis", wk_c2_int(o, argument, 1));
  return y;
}

void wk_c2_matmul(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0), *a = flat(o, 0, "axis_a"), *b = flat(o, 1, "axis_b");
  bool turns_a = wk_c2_int(o, "trans_a", 0) != 0, turns_b = wk_c2_int(o, "trans_b", 0) != 0;
  wk_c2_make(o, "Gemm", out, a, b, NULL);
  if (turns_a) wk_c2_attr_int(o, "transA", 1);
  if (turns_b) wk_c2_attr_int(o, "transB", 1);
}

/* ---- reductions ---------------------------------------------------------------------------- */

/* args: "front" or "back", the side whose axes go. */
void wk_c2_reduce_side(wk_c2_op *o) {
  int64_t n = wk_c2_int(o, "num_reduce_dim", 1), axes[WK_MAX_RANK];
  bool is_back = strcmp(o->row->args, "back") == 0;
  const char *out = wk_c2_out(o, 0);
  wk_c2_need(o, o->n_in == 1, "rows of different lengths are not supported");
  if (!wk_c2_valid(o, n >= 1 && n <= WK_MAX_RANK, "num_reduce_dim is %lld", (long long)n)) return;
  for (int64_t i = 0; i < n; i++) axes[i] = is_back ? i - n : i;
  wk_c2_make(o, o->row->onnx, out, wk_c2_in(o, 0), NULL, NULL);
  wk_c2_attr_ints(o, "axes", axes, n);
  wk_c2_attr_int(o, "keepdims", 0);
}

/* All elements to one: a sum, or with `average` their mean. */
static const char *total(wk_c2_op *o, const char *x, const char *out) {
  bool is_mean = wk_c2_int(o, "average", 0) != 0;
  const char *y = wk_c2_make(o, is_mean ? "ReduceMean" : "ReduceSum", out, x, NULL, NULL);
  wk_c2_attr_int(o, "keepdims", 0);
  return y;
}

void wk_c2_sum_elements(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0), *x = wk_c2_in(o, 0);
  bool is_square = strcmp(o->row->type, "SumSqrElements") == 0;
  total(o, is_square ? wk_c2_make(o, "Mul", NULL, x, x, NULL) : x, out);
}

/* The p-th power of the norm, as a vector of one element. */
void wk_c2_lp_norm(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0), *x = wk_c2_in(o, 0);
  int64_t p = wk_c2_int(o, "p", 2);
  wk_c2_valid(o, p == 1 || p == 2, "p is %lld, neither 1 nor 2", (long long)p);
  const char *power = wk_c2_make(o, p == 1 ? "Abs" : "Mul", NULL, x, p == 1 ? NULL : x, NULL);
  wk_c2_make(o, "Reshape", out, total(o, power, NULL), wk_c2_i64s(o, &(int64_t){1}, 1), NULL);
}
