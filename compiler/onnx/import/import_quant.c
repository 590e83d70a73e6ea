/* SPDX-License-Identifier: Apache-2.0
 * Quantised operators. With constant parameters they are written as the real operator between
 * dequantisation and quantisation, which compiler/passes/integer.c turns into integers; otherwise
 * integers are widened to i32, zero points subtracted, products summed exactly in i32, results
 * scaled in floating point and quantised again. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/conv.h"
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/matmul.h"
#include "compiler/onnx/import/narrow.h"
#include "compiler/onnx/import/quant.h"

/* Scales and zero points: a scalar, or one number per slice along `axis`. */
static wk_value_id along(wk_onnx_node *c, wk_value_id v, int64_t axis, int rank) {
  if (v == WK_NONE) return v;
  if (wk_type_count(wk_onnx_type(c, v)) == 1) return wk_make_reshape(c, v, 0, NULL);
  return wk_onnx_ok(c) ? wk_make_along(c, v, (int)axis, rank) : WK_NONE;
}

/* Blocks along an axis (opset 21): entry i of the parameters is for elements i * size and on. */
typedef struct {
  int64_t axis, size; /* size 0: there are none */
  bool divides;       /* the axis is that many whole blocks, and can be split */
} blocks;

static int64_t block_size(wk_onnx_node *c) {
  return c->opset >= 21 ? wk_onnx_int(c, "block_size", 0) : 0;
}

static blocks blocks_of(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), t = *wk_onnx_type(c, c->in[1]);
  blocks b = {.size = block_size(c)};
  if (b.size <= 0 || (wk_type_count(&t) == 1 && t.rank <= 1)) return (blocks){0};
  b.axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 1), x.rank);
  if (!wk_onnx_ok(c)) return b;
  bool fits = t.rank == x.rank && b.size < (int64_t)1 << 31 &&
              t.dims[b.axis] * b.size >= x.dims[b.axis];
  wk_onnx_valid(c, fits, "block_size %lld does not fit the axis", (long long)b.size);
  fits = fits && (!wk_onnx_has(c, 2) || wk_shape_equal(wk_onnx_type(c, c->in[2]), &t));
  wk_onnx_valid(c, fits, "the zero point has another shape than the scale");
  b.divides = fits && t.dims[b.axis] * b.size == x.dims[b.axis] && x.rank < WK_MAX_RANK;
  return b;
}

/* v with its axis as [blocks, size]. */
static wk_value_id in_blocks(wk_onnx_node *c, const blocks *b, wk_value_id v, int64_t size) {
  if (v == WK_NONE || !wk_onnx_ok(c)) return v;
  const wk_type t = *wk_onnx_type(c, v);
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) dims[i <= b->axis ? i : i + 1] = t.dims[i];
  dims[b->axis] = t.dims[b->axis] / size;
  dims[b->axis + 1] = size;
  return wk_make_reshape(c, v, t.rank + 1, dims);
}

wk_value_id wk_quant_spread(wk_onnx_node *c, wk_value_id v, int64_t axis, int64_t block,
                            int64_t size) {
  if (v == WK_NONE || !wk_onnx_ok(c)) return v;
  const wk_type t = *wk_onnx_type(c, v);
  const blocks b = {.axis = axis, .size = block};
  int64_t wide[WK_MAX_RANK], flat[WK_MAX_RANK];
  if (!wk_onnx_valid(c, axis < t.rank, "parameters of rank %d have no axis %lld", t.rank,
                     (long long)axis))
    return WK_NONE;
  if (!wk_onnx_need(c, t.rank < WK_MAX_RANK, "tensors of rank %d are not supported here", t.rank))
    return WK_NONE;
  for (int i = 0; i < t.rank; i++) {
    wide[i <= axis ? i : i + 1] = t.dims[i];
    flat[i] = i == axis ? t.dims[i] * block : t.dims[i];
  }
  wide[axis + 1] = block;
  v = wk_make_expand(c, in_blocks(c, &b, v, 1), t.rank + 1, wide);
  return wk_make_slice(c, wk_make_reshape(c, v, t.rank, flat), (int)axis, 0, size, 1);
}

/* onnxruntime's quantiser writes axis 0 for biases of shape [1,n] with n scales: then the only axis
 * of that size is meant. */
static int64_t fitting_axis(const wk_type *x, int64_t axis, const wk_type *scale) {
  int64_t n = wk_type_count(scale), found = axis;
  int fits = 0;
  if (x->dims[axis] != 1) return axis;
  for (int i = 0; i < x->rank; i++) {
    if (x->dims[i] != n) continue;
    found = i;
    fits++;
  }
  return fits == 1 ? found : axis;
}

/* The scale or zero point of input i of a node with axis (and block_size) attributes; with blocks
 * that divide the axis, for operand(). */
static wk_value_id parameter(wk_onnx_node *c, const blocks *b, int i) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  if (!wk_onnx_has(c, i)) return WK_NONE;
  const wk_type t = *wk_onnx_type(c, c->in[i]);
  if (wk_type_count(&t) == 1 && t.rank <= 1) return wk_make_reshape(c, c->in[i], 0, NULL);
  if (b->divides) return in_blocks(c, b, c->in[i], 1);
  if (b->size) return wk_quant_spread(c, c->in[i], b->axis, b->size, x.dims[b->axis]);
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 1), x.rank);
  return wk_onnx_ok(c) ? along(c, c->in[i], fitting_axis(&x, axis, &t), x.rank) : WK_NONE;
}

static wk_value_id operand(wk_onnx_node *c, const blocks *b) {
  return b->divides ? in_blocks(c, b, c->in[0], b->size) : c->in[0];
}

/* What was made of operand(), in the shape of input 0. */
static wk_status return_whole(wk_onnx_node *c, wk_value_id y) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  return wk_onnx_return(c, wk_onnx_ok(c) ? wk_make_reshape(c, y, x.rank, x.dims) : y);
}

/* Quantisers write 0 for channels without values, and nothing forbids a negative scale: both
 * compute as written. What is no number is said at once; a scale that is computed may be any. */
static bool is_scale(wk_onnx_node *c, wk_value_id v) {
  if (v == WK_NONE || !wk_onnx_ok(c) || !wk_is_const(c->g, v)) return wk_onnx_ok(c);
  const wk_value *s = wk_val(c->g, v);
  for (int64_t i = 0; i < wk_type_count(&s->type); i++) {
    double scale = wk_load_f64(s->data, s->type.dtype, i);
    if (!wk_onnx_valid(c, isfinite(scale), "scale %g at position %lld: it must be finite", scale,
                       (long long)i))
      return false;
  }
  return true;
}

/* Parameters for one tensor, one per slice of x along the axis, or for blocks, which blocks_of()
 * checks; the zero point has x's type. */
static bool are_parameters(wk_onnx_node *c, wk_dtype quantised) {
  const wk_type x = *wk_onnx_type(c, c->in[0]), s = *wk_onnx_type(c, c->in[1]);
  if (!is_scale(c, c->in[1])) return false;
  if (wk_onnx_has(c, 2)) {
    const wk_type z = *wk_onnx_type(c, c->in[2]);
    if (!wk_onnx_valid(c, z.dtype == quantised, "the zero point is %s, the quantised tensor %s",
                       wk_dtype_name(z.dtype), wk_dtype_name(quantised)) ||
        !wk_onnx_valid(c, wk_type_count(&z) == wk_type_count(&s),
                       "%lld scales but %lld zero points", (long long)wk_type_count(&s),
                       (long long)wk_type_count(&z)))
      return false;
  }
  if (wk_type_count(&s) == 1 || s.rank != 1 || block_size(c) > 0) return true;
  int64_t axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", 1), x.rank);
  if (!wk_onnx_ok(c)) return false;
  axis = fitting_axis(&x, axis, &s);
  return wk_onnx_valid(c, s.dims[0] == x.dims[axis], "%lld scales for axis %lld of size %lld",
                       (long long)s.dims[0], (long long)axis, (long long)x.dims[axis]);
}

static wk_value_id zero_of(wk_onnx_node *c, wk_value_id zero, wk_dtype t) {
  return zero != WK_NONE ? zero : wk_make_scalar(c, t, 0);
}

/* Parameters of one element are scalars, whatever their rank. */
static wk_value_id scalar_or_all(wk_onnx_node *c, wk_value_id v) {
  bool is_one = v != WK_NONE && wk_type_count(wk_onnx_type(c, v)) == 1;
  return is_one ? wk_make_reshape(c, v, 0, NULL) : v;
}

wk_value_id wk_quant_quantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale, wk_value_id zero,
                              wk_dtype t) {
  WK_MAKE_ATTRS(c, a, QUANTIZE, quantize);
  a->to = t;
  if (!is_scale(c, scale)) return WK_NONE;
  scale = scalar_or_all(c, scale);
  return wk_make(c, WK_OP_QUANTIZE, a, 3, x, scale, zero_of(c, scalar_or_all(c, zero), t));
}

wk_value_id wk_quant_dequantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale,
                                wk_value_id zero) {
  if (!is_scale(c, scale)) return WK_NONE;
  zero = zero_of(c, scalar_or_all(c, zero), wk_onnx_type(c, x)->dtype);
  return wk_make(c, WK_OP_DEQUANTIZE, NULL, 3, x, scalar_or_all(c, scale), zero);
}

/* Scales may be powers of two, and integers. */
static void widen_scale(wk_onnx_node *c) {
  wk_dtype t = wk_onnx_type(c, c->in[1])->dtype;
  if (wk_dtype_is_narrow(t) || wk_dtype_is_int(t)) c->in[1] = wk_make_cast(c, c->in[1], WK_F32);
}

/* Integers of fewer bits: as bytes, within their limits. */
static wk_value_id quantize_few_bits(wk_onnx_node *c, wk_value_id x, wk_value_id scale,
                                     wk_value_id zero, wk_dtype t) {
  int bits = wk_dtype_bits(t);
  bool is_signed = wk_dtype_is_signed(t);
  wk_dtype byte = wk_dtype_storage(t);
  if (zero != WK_NONE) zero = wk_make_cast(c, zero, byte);
  double least = is_signed ? -(double)(1 << (bits - 1)) : 0, most = least + (1 << bits) - 1;
  wk_value_id y = wk_quant_quantize(c, x, scale, zero, byte);
  y = wk_make_2(c, WK_OP_MAX, y, wk_make_scalar(c, byte, least));
  return wk_make_cast(c, wk_make_2(c, WK_OP_MIN, y, wk_make_scalar(c, byte, most)), t);
}

wk_status wk_onnx_quantize(wk_onnx_node *c) {
  wk_dtype to = wk_onnx_has(c, 2) ? wk_onnx_type(c, c->in[2])->dtype
                                  : wk_onnx_dtype(c, "output_dtype", WK_U8);
  widen_scale(c);
  if (!are_parameters(c, to)) return c->status;
  blocks b = blocks_of(c);
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id x = operand(c, &b), scale = parameter(c, &b, 1), zero = parameter(c, &b, 2);
  if (wk_dtype_is_narrow(to) && wk_dtype_is_float(to)) {
    bool saturates = wk_onnx_int(c, "saturate", 1) != 0;
    return return_whole(c, wk_narrow_quantize(c, x, scale, zero, to, saturates));
  }
  if (wk_onnx_type(c, x)->dtype == WK_I32) x = wk_make_cast(c, x, WK_F32);
  scale = wk_make_cast(c, scale, wk_onnx_type(c, x)->dtype);
  return return_whole(c, wk_dtype_is_narrow(to) ? quantize_few_bits(c, x, scale, zero, to)
                                                : wk_quant_quantize(c, x, scale, zero, to));
}

wk_status wk_onnx_dequantize(wk_onnx_node *c) {
  wk_dtype from = wk_onnx_type(c, c->in[0])->dtype, of = wk_onnx_type(c, c->in[1])->dtype;
  wk_dtype t = wk_onnx_dtype(c, "output_dtype", wk_dtype_is_narrow(of) ? WK_F32 : of);
  widen_scale(c);
  if (!are_parameters(c, from)) return c->status;
  blocks b = blocks_of(c);
  if (!wk_onnx_ok(c)) return c->status;
  wk_value_id scale = wk_make_cast(c, parameter(c, &b, 1), WK_F32), zero = parameter(c, &b, 2);
  wk_value_id x = operand(c, &b), y;
  if (wk_dtype_is_narrow(from) && wk_dtype_is_float(from)) {
    y = wk_narrow_dequantize(c, x, scale, zero);
  } else {
    wk_dtype byte = wk_dtype_storage(from);
    if (zero != WK_NONE) zero = wk_make_cast(c, zero, byte);
    y = wk_quant_dequantize(c, wk_make_cast(c, x, byte), scale, zero);
  }
  return return_whole(c, wk_make_cast(c, y, t));
}

wk_dynamic wk_quant_dynamic(wk_onnx_node *c, wk_value_id x) {
  wk_ints all = wk_make_axes(c, 0, wk_onnx_type(c, x)->rank);
  wk_value_id nil = wk_make_scalar(c, WK_F32, 0);
  wk_value_id hi = wk_make_2(c, WK_OP_MAX, wk_make_reduce(c, WK_OP_REDUCE_MAX, x, all, false), nil);
  wk_value_id lo = wk_make_2(c, WK_OP_MIN, wk_make_reduce(c, WK_OP_REDUCE_MIN, x, all, false), nil);
  wk_value_id levels = wk_make_scalar(c, WK_F32, 255);
  wk_value_id scale = wk_make_2(c, WK_OP_DIV, wk_make_2(c, WK_OP_SUB, hi, lo), levels);
  wk_value_id is_flat = wk_make_2(c, WK_OP_EQUAL, scale, nil); /* x is 0 everywhere */
  scale = wk_make_where(c, is_flat, wk_make_scalar(c, WK_F32, 1), scale);
  wk_value_id zero = wk_make_2(c, WK_OP_DIV, wk_make_2(c, WK_OP_SUB, nil, lo), scale);
  WK_MAKE_ATTRS(c, a, CLIP, clip);
  a->lo = 0;
  a->hi = 255;
  zero = wk_make_1(c, WK_OP_ROUND, wk_make(c, WK_OP_CLIP, a, 1, zero));
  zero = wk_make_cast(c, zero, WK_U8);
  return (wk_dynamic){wk_quant_quantize(c, x, scale, zero, WK_U8), scale, zero};
}

wk_status wk_onnx_dynamic_quantize(wk_onnx_node *c) {
  wk_dynamic d = wk_quant_dynamic(c, c->in[0]);
  wk_onnx_result(c, 0, d.q);
  wk_onnx_result(c, 1, d.scale);
  wk_onnx_result(c, 2, d.zero);
  return c->status;
}

/* ---- integer products ---------------------------------------------------------------------- */

wk_value_id wk_quant_centred(wk_onnx_node *c, wk_value_id x, wk_value_id zero) {
  x = wk_make_cast(c, x, WK_I32);
  if (zero == WK_NONE) return x;
  return wk_make_2(c, WK_OP_SUB, x, wk_make_cast(c, zero, WK_I32));
}

/* Zero point of the left operand: per row when it has several entries. */
static wk_value_id rows(wk_onnx_node *c, wk_value_id v, wk_value_id a) {
  if (v == WK_NONE || wk_onnx_type(c, v)->rank > 1) return v;
  int rank = wk_onnx_type(c, a)->rank;
  return along(c, v, rank >= 2 ? rank - 2 : 0, rank);
}

/* … of the right one: per column. */
static wk_value_id columns(wk_onnx_node *c, wk_value_id v, wk_value_id b) {
  if (v == WK_NONE || wk_onnx_type(c, v)->rank > 1) return v;
  int rank = wk_onnx_type(c, b)->rank;
  return along(c, v, rank - 1, rank);
}

/* Sums along an axis as i32, times the other side's zero point. */
static wk_value_id zero_term(wk_onnx_node *c, wk_value_id x, int axis, wk_value_id zero) {
  int64_t at = axis;
  wk_ints axes = wk_ints_dup(c->im->m->arena, &at, 1);
  wk_value_id sum = wk_make_reduce(c, WK_OP_REDUCE_SUM, wk_make_cast(c, x, WK_I32), axes, true);
  return wk_make_2(c, WK_OP_MUL, sum, wk_make_cast(c, zero, WK_I32));
}

/* a b - za * (columns of b summed) - zb * (rows of a summed) + k * za * zb: the product itself has
 * operands of 8 bits. */
static wk_value_id product_8_bit(wk_onnx_node *c, wk_value_id a, wk_value_id za, wk_value_id b,
                                 wk_value_id zb) {
  const wk_type ta = *wk_onnx_type(c, a), tb = *wk_onnx_type(c, b);
  wk_value_id y = wk_matmul_emit(c, a, b);
  if (za != WK_NONE) y = wk_make_2(c, WK_OP_SUB, y, zero_term(c, b, tb.rank - 2, za));
  if (zb != WK_NONE) y = wk_make_2(c, WK_OP_SUB, y, zero_term(c, a, ta.rank - 1, zb));
  if (za == WK_NONE || zb == WK_NONE) return y;
  wk_value_id both =
      wk_make_2(c, WK_OP_MUL, wk_make_cast(c, za, WK_I32), wk_make_cast(c, zb, WK_I32));
  wk_value_id k = wk_make_scalar(c, WK_I32, (double)ta.dims[ta.rank - 1]);
  return wk_make_2(c, WK_OP_ADD, y, wk_make_2(c, WK_OP_MUL, both, k));
}

wk_value_id wk_quant_unless_zero(wk_onnx_node *c, wk_value_id v) {
  if (v == WK_NONE || !wk_is_const(c->g, v)) return v;
  const wk_value *x = wk_val(c->g, v);
  for (int64_t i = 0; i < wk_type_count(&x->type); i++)
    if (wk_load_i64(x->data, x->type.dtype, i)) return v;
  return WK_NONE;
}

wk_status wk_onnx_matmul_integer(wk_onnx_node *c) {
  wk_value_id a = c->in[0], b = c->in[1];
  wk_value_id za = wk_quant_unless_zero(c, rows(c, c->in[2], a)),
              zb = wk_quant_unless_zero(c, columns(c, c->in[3], b));
  if (!wk_onnx_ok(c)) return c->status;
  if (wk_onnx_type(c, a)->rank >= 2 && wk_onnx_type(c, b)->rank >= 2)
    return wk_onnx_return(c, product_8_bit(c, a, za, b, zb));
  return wk_onnx_return(c,
                        wk_matmul_emit(c, wk_quant_centred(c, a, za), wk_quant_centred(c, b, zb)));
}

wk_value_id wk_quant_product(wk_onnx_node *c, wk_value_id a, wk_value_id za, wk_value_id sa,
                             wk_value_id b, wk_value_id zb, wk_value_id sb, wk_value_id bias) {
  wk_onnx_valid(c, wk_onnx_type(c, a)->rank >= 2 && wk_onnx_type(c, b)->rank >= 2,
                "an operand is not a matrix");
  if (!wk_onnx_ok(c)) return WK_NONE;
  za = wk_quant_unless_zero(c, rows(c, za, a));
  zb = wk_quant_unless_zero(c, columns(c, zb, b));
  sa = rows(c, sa, a);
  sb = columns(c, sb, b);
  if (!wk_onnx_ok(c)) return WK_NONE;
  wk_value_id y = wk_make_cast(c, product_8_bit(c, a, za, b, zb), WK_F32);
  y = wk_make_2(c, WK_OP_MUL, y, wk_make_2(c, WK_OP_MUL, sa, sb));
  return bias == WK_NONE ? y : wk_make_2(c, WK_OP_ADD, y, bias);
}

static wk_value_id optional(wk_onnx_node *c, int i) {
  return wk_onnx_has(c, i) ? c->in[i] : WK_NONE;
}

/* com.microsoft MatMulIntegerToFloat: a, b, their scales, their zero points, bias. */
wk_status wk_onnx_matmul_integer_to_float(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_quant_product(c, c->in[0], optional(c, 4), c->in[2], c->in[1],
                                            optional(c, 5), c->in[3], optional(c, 6)));
}

/* com.microsoft DynamicQuantizeMatMul: a real, b, its scale and zero point, bias. */
wk_status wk_onnx_dynamic_quantize_matmul(wk_onnx_node *c) {
  wk_dynamic d = wk_quant_dynamic(c, c->in[0]);
  if (!wk_onnx_ok(c)) return c->status;
  return wk_onnx_return(c, wk_quant_product(c, d.q, d.zero, d.scale, c->in[1], optional(c, 3),
                                            c->in[2], optional(c, 4)));
}

wk_status wk_onnx_conv_integer(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[1])->rank;
  wk_value_id x =
      wk_quant_centred(c, c->in[0], along(c, c->in[2], 1, wk_onnx_type(c, c->in[0])->rank));
  wk_value_id w = wk_quant_centred(c, c->in[1], along(c, c->in[3], 0, rank));
  return wk_onnx_return(c, wk_conv_emit(c, x, w, WK_NONE));
}

/* sum * (scale_a * scale_b / scale_y), quantised with the zero point of y. */
static wk_value_id requantize(wk_onnx_node *c, wk_value_id sum, wk_value_id sa, wk_value_id sb,
                              wk_value_id sy, wk_value_id zero) {
  wk_value_id scale = wk_make_2(c, WK_OP_DIV, wk_make_2(c, WK_OP_MUL, sa, sb), sy);
  wk_value_id real = wk_make_2(c, WK_OP_MUL, wk_make_cast(c, sum, WK_F32), scale);
  return wk_quant_quantize(c, real, wk_make_scalar(c, WK_F32, 1), zero,
                           wk_onnx_type(c, zero)->dtype);
}

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };

bool wk_quant_is_fixed(const wk_onnx_node *c, const int *inputs, int n) {
  for (int i = 0; i < n; i++)
    if (wk_onnx_has(c, inputs[i]) && !wk_is_const(c->g, c->in[inputs[i]])) return false;
  return true;
}

/* The bias of integer sums as a real tensor. */
wk_value_id wk_quant_bias(wk_onnx_node *c, wk_value_id bias, wk_value_id sx, wk_value_id sw) {
  return wk_quant_dequantize(c, bias, wk_make_2(c, WK_OP_MUL, sx, sw), WK_NONE);
}

/* Of c->in[X], whose channels come first. */
static wk_status qlinear_conv(wk_onnx_node *c) {
  static const int fixed[] = {X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS};
  int rank = wk_onnx_type(c, c->in[X])->rank;
  wk_value_id bias = c->n_in > BIAS ? c->in[BIAS] : WK_NONE;
  wk_value_id zx = along(c, c->in[X_ZERO], 1, rank), zw = along(c, c->in[W_ZERO], 0, rank);
  wk_value_id sx = along(c, c->in[X_SCALE], 1, rank);
  wk_value_id sy = along(c, c->in[Y_SCALE], 1, rank), zero = along(c, c->in[Y_ZERO], 1, rank);
  if (!wk_onnx_ok(c)) return c->status;
  if (wk_quant_is_fixed(c, fixed, WK_COUNTOF(fixed))) {
    wk_value_id x = wk_quant_dequantize(c, c->in[X], sx, zx);
    wk_value_id w = wk_quant_dequantize(c, c->in[W], along(c, c->in[W_SCALE], 0, rank), zw);
    if (bias != WK_NONE)
      bias = wk_quant_bias(c, bias, scalar_or_all(c, sx), scalar_or_all(c, c->in[W_SCALE]));
    wk_dtype t = wk_onnx_type(c, zero)->dtype;
    return wk_onnx_return(c, wk_quant_quantize(c, wk_conv_emit(c, x, w, bias), sy, zero, t));
  }
  wk_value_id x = wk_quant_centred(c, c->in[X], zx), w = wk_quant_centred(c, c->in[W], zw);
  wk_value_id sum = wk_conv_emit(c, x, w, bias);
  wk_value_id sw = along(c, c->in[W_SCALE], 1, rank);
  return wk_onnx_return(c, requantize(c, sum, sx, sw, sy, zero));
}

/* com.microsoft has the attribute channels_last. */
wk_status wk_onnx_qlinear_conv(wk_onnx_node *c) {
  bool last = wk_onnx_int(c, "channels_last", 0) != 0;
  if (last) c->in[X] = wk_make_channels_first(c, c->in[X]);
  if (c->status || qlinear_conv(c) || !last) return c->status;
  return wk_onnx_return(c, wk_make_channels_last(c, c->out[0].value));
}

wk_status wk_onnx_qlinear_matmul(wk_onnx_node *c) {
  static const int fixed[] = {X_SCALE, X_ZERO, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO};
  wk_value_id a = c->in[X], b = c->in[W];
  wk_value_id za = rows(c, c->in[X_ZERO], a), zb = columns(c, c->in[W_ZERO], b);
  wk_value_id sa = wk_make_cast(c, rows(c, c->in[X_SCALE], a), WK_F32);
  wk_value_id sb = wk_make_cast(c, columns(c, c->in[W_SCALE], b), WK_F32);
  if (!wk_onnx_ok(c)) return c->status;
  bool is_fixed = wk_quant_is_fixed(c, fixed, WK_COUNTOF(fixed));
  wk_value_id sum =
      is_fixed
          ? wk_matmul_emit(c, wk_quant_dequantize(c, a, sa, za), wk_quant_dequantize(c, b, sb, zb))
          : wk_matmul_emit(c, wk_quant_centred(c, a, za), wk_quant_centred(c, b, zb));
  wk_value_id sy = wk_make_cast(c, rows(c, c->in[Y_SCALE], sum), WK_F32);
  wk_value_id zero = rows(c, c->in[Y_ZERO], sum);
  if (!wk_onnx_ok(c)) return c->status;
  if (!is_fixed) return wk_onnx_return(c, requantize(c, sum, sa, sb, sy, zero));
  return wk_onnx_return(c, wk_quant_quantize(c, sum, sy, zero, wk_onnx_type(c, zero)->dtype));
}
