/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

/* Copies attributes that are floats and have the same names in ONNX and in ops.def. */
static void *float_attrs(wk_onnx_node *c, wk_op op) {
  const wk_op_info *info = wk_op_get(op);
  char *attrs = wk_make_attrs(c, op);
  for (int i = 0; i < info->n_fields; i++) {
    const wk_field *f = &info->fields[i];
    double *v = (double *)(attrs + f->offset);
    if (f->kind == WK_FIELD_FLOAT) *v = wk_onnx_float(c, f->name, *v);
  }
  return attrs;
}

wk_status wk_onnx_unary(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_make(c, c->row->op, float_attrs(c, c->row->op), 1, c->in[0]));
}

/* Opset 1 had other constants. */
wk_status wk_onnx_selu(wk_onnx_node *c) {
  wk_attr_selu *a = float_attrs(c, WK_OP_SELU);
  if (c->opset < 6) {
    a->alpha = wk_onnx_float(c, "alpha", (double)1.6732f);
    a->gamma = wk_onnx_float(c, "gamma", (double)1.0507f);
  }
  return wk_onnx_return(c, wk_make(c, WK_OP_SELU, a, 1, c->in[0]));
}

/* Before opset 7 the second operand was aligned by attributes: broadcast and axis. */
static wk_value_id legacy_operand(wk_onnx_node *c, wk_value_id a, wk_value_id b) {
  const wk_type ta = *wk_onnx_type(c, a), tb = *wk_onnx_type(c, b);
  int64_t axis = wk_onnx_int(c, "axis", ta.rank - tb.rank);
  if (c->opset >= 7 || !wk_onnx_int(c, "broadcast", 0) || tb.rank == 0) return b;
  if (axis < 0) axis += ta.rank;
  if (!wk_onnx_valid(c, axis >= 0 && axis + tb.rank <= ta.rank, "axis %lld is out of range",
                     (long long)axis))
    return b;
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < ta.rank; i++) {
    bool covered = i >= axis && i < axis + tb.rank;
    dims[i] = covered ? tb.dims[i - axis] : 1;
  }
  return wk_make_reshape(c, b, ta.rank, dims);
}

wk_status wk_onnx_binary(wk_onnx_node *c) {
  wk_value_id a = c->in[0], b = legacy_operand(c, a, c->in[1]);
  return wk_onnx_return(c, wk_make_2(c, c->row->op, a, b));
}

/* Sum, Mean, Max, Min: any number of operands. */
wk_status wk_onnx_variadic(wk_onnx_node *c) {
  wk_value_id y = c->in[0];
  for (int i = 1; i < c->n_in; i++) y = wk_make_2(c, c->row->op, y, c->in[i]);
  return wk_onnx_return(c, y);
}

wk_status wk_onnx_mean(wk_onnx_node *c) {
  wk_onnx_variadic(c);
  wk_value_id y = c->out[0].value;
  if (c->n_in == 1) return c->status;
  wk_value_id n = wk_make_scalar(c, wk_onnx_type(c, y)->dtype, c->n_in);
  return wk_onnx_return(c, wk_make_2(c, WK_OP_DIV, y, n));
}

/* The result has the type of the base. Integers to float powers are computed in floating point. */
wk_status wk_onnx_pow(wk_onnx_node *c) {
  wk_value_id x = c->in[0], y = legacy_operand(c, x, c->in[1]);
  wk_dtype base = wk_onnx_type(c, x)->dtype, exponent = wk_onnx_type(c, y)->dtype;
  if (wk_dtype_is_int(base) && wk_dtype_is_float(exponent)) {
    wk_value_id power = wk_make_2(c, WK_OP_POW, wk_make_cast(c, x, exponent), y);
    return wk_onnx_return(c, wk_make_cast(c, power, base));
  }
  return wk_onnx_return(c, wk_make_2(c, WK_OP_POW, x, wk_make_cast(c, y, base)));
}

wk_status wk_onnx_mod(wk_onnx_node *c) {
  bool fmod = wk_onnx_int(c, "fmod", 0) != 0;
  return wk_onnx_return(c, wk_make_2(c, fmod ? WK_OP_FMOD : WK_OP_MOD, c->in[0], c->in[1]));
}

wk_status wk_onnx_bit_shift(wk_onnx_node *c) {
  bool left = wk_onnx_text_is(c, "direction", "", "LEFT");
  wk_onnx_valid(c, left || wk_onnx_text_is(c, "direction", "", "RIGHT"),
                "direction must be LEFT or RIGHT");
  return wk_onnx_return(
      c, wk_make_2(c, left ? WK_OP_SHIFT_LEFT : WK_OP_SHIFT_RIGHT, c->in[0], c->in[1]));
}

wk_status wk_onnx_where(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_make_where(c, c->in[0], c->in[1], c->in[2]));
}

/* Comparisons and logic share wk_onnx_binary; this one passes the single operand on. */
wk_status wk_onnx_identity(wk_onnx_node *c) {
  c->out[0] = c->bound[0];
  return c->status;
}

/* ---- clip ---------------------------------------------------------------------------------- */

static bool is_known_bound(wk_onnx_node *c, wk_value_id v) {
  return v == WK_NONE || wk_is_const(c->g, v);
}

wk_status wk_onnx_clip(wk_onnx_node *c) {
  wk_value_id x = c->in[0], lo = WK_NONE, hi = WK_NONE;
  wk_dtype t = wk_onnx_type(c, x)->dtype;
  WK_MAKE_ATTRS(c, a, CLIP, clip);
  if (c->opset < 11) {
    a->lo = wk_onnx_float(c, "min", -INFINITY);
    a->hi = wk_onnx_float(c, "max", INFINITY);
    return wk_onnx_return(c, wk_make(c, WK_OP_CLIP, a, 1, x));
  }
  if (wk_onnx_has(c, 1)) lo = c->in[1];
  if (wk_onnx_has(c, 2)) hi = c->in[2];
  if (wk_dtype_is_float(t) && is_known_bound(c, lo) && is_known_bound(c, hi)) {
    if (lo != WK_NONE) a->lo = wk_onnx_const_float(c, lo, "the lower bound");
    if (hi != WK_NONE) a->hi = wk_onnx_const_float(c, hi, "the upper bound");
    return wk_onnx_return(c, wk_make(c, WK_OP_CLIP, a, 1, x));
  }
  if (lo != WK_NONE) x = wk_make_2(c, WK_OP_MAX, x, wk_make_reshape(c, lo, 0, NULL));
  if (hi != WK_NONE) x = wk_make_2(c, WK_OP_MIN, x, wk_make_reshape(c, hi, 0, NULL));
  return wk_onnx_return(c, x);
}

/* ---- activations with a twist -------------------------------------------------------------- */

wk_status wk_onnx_gelu(wk_onnx_node *c) {
  bool is_tanh = wk_onnx_text_is(c, "approximate", "none", "tanh");
  return wk_onnx_return(c, wk_make_1(c, is_tanh ? WK_OP_GELU_TANH : WK_OP_GELU, c->in[0]));
}

static wk_value_id swish(wk_onnx_node *c, wk_value_id x, double default_alpha) {
  double alpha = wk_onnx_float(c, "alpha", default_alpha);
  if (alpha == 1.0) return wk_make_1(c, WK_OP_SILU, x);
  wk_value_id gate = wk_make_1(c, WK_OP_SIGMOID, wk_make_mul_f(c, x, alpha));
  return wk_make_2(c, WK_OP_MUL, x, gate);
}

wk_status wk_onnx_swish(wk_onnx_node *c) { return wk_onnx_return(c, swish(c, c->in[0], 1.0)); }

/* com.microsoft: Swish that comes close to Gelu. */
wk_status wk_onnx_quick_gelu(wk_onnx_node *c) {
  return wk_onnx_return(c, swish(c, c->in[0], 1.702f));
}

/* Swish of the gate times the value; the operator does not broadcast. */
wk_status wk_onnx_swi_glu(wk_onnx_node *c) {
  const wk_type *gate = wk_onnx_type(c, c->in[0]), *value = wk_onnx_type(c, c->in[1]);
  wk_onnx_valid(c, wk_type_equal(gate, value), "the gate and the value have different types");
  return wk_onnx_return(c, wk_make_2(c, WK_OP_MUL, swish(c, c->in[0], 1.0), c->in[1]));
}

wk_status wk_onnx_is_inf(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, IS_INF, is_inf);
  a->positive = wk_onnx_int(c, "detect_positive", 1) != 0;
  a->negative = wk_onnx_int(c, "detect_negative", 1) != 0;
  return wk_onnx_return(c, wk_make(c, WK_OP_IS_INF, a, 1, c->in[0]));
}

/* The slope broadcasts to x; before opset 7, and in some later files, it is one number per
 * channel. */
wk_status wk_onnx_prelu(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), s = *wk_onnx_type(c, c->in[1]);
  wk_value_id slope = c->in[1];
  bool fits_last = x.rank > 0 && s.rank == 1 && (s.dims[0] == x.dims[x.rank - 1] || s.dims[0] == 1);
  bool fits_channels = x.rank > 1 && s.rank == 1 && s.dims[0] == x.dims[1];
  if (fits_channels && (c->opset < 7 || !fits_last)) slope = wk_make_along(c, slope, 1, x.rank);
  return wk_onnx_return(c, wk_make_2(c, WK_OP_PRELU, c->in[0], slope));
}

/* com.microsoft: Gelu(x + bias). */
wk_status wk_onnx_bias_gelu(wk_onnx_node *c) {
  wk_value_id x = wk_make_2(c, WK_OP_ADD, c->in[0], c->in[1]);
  return wk_onnx_return(c, wk_make_1(c, WK_OP_GELU, x));
}

/* com.microsoft: the tanh approximation of Gelu(x + bias). */
wk_status wk_onnx_fast_gelu(wk_onnx_node *c) {
  wk_value_id x = c->in[0];
  if (wk_onnx_has(c, 1)) x = wk_make_2(c, WK_OP_ADD, x, c->in[1]);
  return wk_onnx_return(c, wk_make_1(c, WK_OP_GELU_TANH, x));
}
