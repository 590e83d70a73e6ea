/* SPDX-License-Identifier: Apache-2.0
 * Conversion to and from elements of fewer than 8 bits and floats of 8. What `saturate` and
 * `round_mode` ask for beyond the conversion that expressions know (expr.def) is done on bits. */
#include <string.h>

#include "compiler/expr/narrow.h"
#include "compiler/onnx/import/handlers.h"
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/narrow.h"

static wk_value_id bitcast(wk_onnx_node *c, wk_value_id x, wk_dtype t) {
  WK_MAKE_ATTRS(c, a, BITCAST, bitcast);
  a->to = t;
  return wk_make(c, WK_OP_BITCAST, a, 1, x);
}

/* ---- floats of 8 bits, past their range ------------------------------------------------------ */

/* The first magnitude that rounds past the largest value, or (f8e4m3fn, whose neighbour is odd) the
 * last that does not. */
static double range_end(const wk_narrow_format *f) {
  double before = wk_narrow_value(f, (uint8_t)(wk_narrow_pattern(f, f->most) - 1));
  return f->most + (f->most - before) / 2;
}

/* y, and where x is out of range what comes after the largest value: infinity or NaN. */
static wk_value_id unsaturated(wk_onnx_node *c, wk_value_id x, wk_value_id y, wk_dtype t) {
  const wk_narrow_format *f = wk_narrow_format_of(t);
  int past = f->infinity >> 7 ? f->nan : f->infinity;
  wk_value_id wide = wk_make_cast(c, x, wk_onnx_type(c, x)->dtype == WK_F64 ? WK_F64 : WK_F32);
  wk_dtype w = wk_onnx_type(c, wide)->dtype;
  wk_value_id size = wk_make_1(c, WK_OP_ABS, wide), end = wk_make_scalar(c, w, range_end(f));
  bool end_fits = t == WK_F8E4M3FN; /* 464, halfway, goes to 448, which is even */
  wk_value_id over = wk_make_2(c, end_fits ? WK_OP_GREATER : WK_OP_GREATER_EQUAL, size, end);
  wk_value_id is_negative = wk_make_2(c, WK_OP_LESS, wide, wk_make_scalar(c, w, 0));
  wk_value_id negative = wk_make_scalar(c, WK_U8, past | 0x80);
  wk_value_id special = wk_make_where(c, is_negative, negative, wk_make_scalar(c, WK_U8, past));
  return bitcast(c, wk_make_where(c, over, special, bitcast(c, y, WK_U8)), t);
}

/* ---- powers of two --------------------------------------------------------------------------- */

static wk_value_id word(wk_onnx_node *c, double v) { return wk_make_scalar(c, WK_U32, v); }

/* What is added to the bits of a float so that its exponent is the rounded one. */
static double rounding(wk_onnx_node *c, const char *mode) {
  if (!strcmp(mode, "up")) return 0x7fffff;
  if (!strcmp(mode, "nearest")) return 0x400000; /* ties up */
  wk_onnx_valid(c, !strcmp(mode, "down"), "round_mode '%s' is none of up, down, nearest", mode);
  return 0;
}

/* From |x| as f32: its exponent, rounded; below 2^-127 the least value, or NaN. */
static wk_value_id scales(wk_onnx_node *c, wk_value_id x, const char *mode, bool saturates) {
  enum { LEAST = 0x400000, MOST = 254, NAN_PATTERN = 255 }; /* 2^-127 as an f32 */
  wk_value_id size = wk_make_1(c, WK_OP_ABS, wk_make_cast(c, x, WK_F32));
  wk_value_id is_nan = wk_make_1(c, WK_OP_IS_NAN, size), u = bitcast(c, size, WK_U32);
  wk_value_id e = wk_make_2(c, WK_OP_ADD, u, word(c, rounding(c, mode)));
  WK_MAKE_ATTRS(c, none, SHIFT_RIGHT, shift_right);
  e = wk_make(c, WK_OP_SHIFT_RIGHT, none, 2, e, word(c, 23));
  e = wk_make_2(c, WK_OP_MIN, e, word(c, saturates ? MOST : NAN_PATTERN));
  wk_value_id tiny = wk_make_2(c, WK_OP_LESS_EQUAL, u, word(c, LEAST));
  e = wk_make_where(c, tiny, word(c, 0), e);
  if (!saturates) {
    wk_value_id under = wk_make_2(c, WK_OP_LESS, u, word(c, LEAST));
    e = wk_make_where(c, under, word(c, NAN_PATTERN), e);
  }
  e = wk_make_where(c, is_nan, word(c, NAN_PATTERN), e);
  return bitcast(c, wk_make_cast(c, e, WK_U8), WK_F8E8M0FNU);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Cast of ONNX to any type; saturates counts for floats of 8 bits, mode for f8e8m0fnu: "up",
 * "down", "nearest". */
static wk_value_id narrow_cast(wk_onnx_node *c, wk_value_id x, wk_dtype t, bool saturates,
                               const char *mode) {
  if (t == WK_F8E8M0FNU && (!saturates || strcmp(mode, "up") != 0))
    return scales(c, x, mode, saturates);
  wk_value_id y = wk_make_cast(c, x, t);
  bool can_leave = wk_dtype_is_narrow(t) && wk_dtype_is_float(t) && wk_dtype_bits(t) == 8;
  return can_leave && !saturates && wk_onnx_ok(c) ? unsaturated(c, x, y, t) : y;
}

static wk_status cast_to(wk_onnx_node *c, wk_dtype t) {
  bool saturates = wk_onnx_int(c, "saturate", 1) != 0;
  const char *mode = wk_onnx_text(c, "round_mode", "up");
  return wk_onnx_return(c, narrow_cast(c, c->in[0], t, saturates, mode));
}

wk_status wk_onnx_cast(wk_onnx_node *c) {
  wk_dtype to = wk_onnx_dtype(c, "to", WK_DTYPE_NONE);
  wk_onnx_valid(c, to != WK_DTYPE_NONE, "attribute 'to' is missing");
  return wk_onnx_ok(c) ? cast_to(c, to) : c->status;
}

wk_status wk_onnx_cast_like(wk_onnx_node *c) {
  return cast_to(c, wk_onnx_type(c, c->in[1])->dtype);
}

wk_status wk_onnx_bit_cast(wk_onnx_node *c) {
  wk_dtype to = wk_onnx_dtype(c, "to", WK_DTYPE_NONE), from = wk_onnx_type(c, c->in[0])->dtype;
  int bits = wk_dtype_bits(from);
  wk_onnx_valid(c, to != WK_DTYPE_NONE, "attribute 'to' is missing");
  wk_onnx_valid(c, wk_dtype_bits(to) == bits, "elements of %s have %d bits, those of %s %d",
                wk_dtype_name(from), bits, wk_dtype_name(to), wk_dtype_bits(to));
  return wk_onnx_ok(c) ? wk_onnx_return(c, bitcast(c, c->in[0], to)) : c->status;
}

/* ---- bytes -------------------------------------------------------------------------------- */

wk_value_id wk_narrow_apart(wk_onnx_node *c, wk_value_id x, int per, bool high_first) {
  void *shifts;
  int bits = 8 / per;
  const int64_t n = per;
  const wk_type t = wk_type_make(WK_U8, 1, &n);
  wk_value_id shift = wk_make_constant(c, &t, &shifts);
  for (int i = 0; shifts && i < per; i++)
    ((uint8_t *)shifts)[i] = (uint8_t)((high_first ? per - 1 - i : i) * bits);
  int rank = wk_onnx_type(c, x)->rank;
  x = wk_make_unsqueeze(c, x, (wk_ints){1, (const int64_t[]){rank}});
  WK_MAKE_ATTRS(c, a, SHIFT_RIGHT, shift_right);
  x = wk_make(c, WK_OP_SHIFT_RIGHT, a, 2, x, shift);
  return wk_make_2(c, WK_OP_BIT_AND, x, wk_make_scalar(c, WK_U8, (1 << bits) - 1));
}

wk_value_id wk_narrow_pack(wk_onnx_node *c, wk_value_id x) {
  if (c->status) return WK_NONE;
  wk_type t = *wk_onnx_type(c, x);
  int last = t.rank - 1;
  WK_MAKE_ATTRS(c, a, SHIFT_LEFT, shift_left);
  wk_value_id low = wk_make_slice(c, x, last, 0, t.dims[last] / 2, 2);
  wk_value_id high = wk_make_slice(c, x, last, 1, t.dims[last] / 2, 2);
  high = wk_make(c, WK_OP_SHIFT_LEFT, a, 2, high, wk_make_scalar(c, WK_U8, 4));
  return wk_make_2(c, WK_OP_BIT_OR, low, high);
}

/* ---- quantisation ---------------------------------------------------------------------------- */

wk_value_id wk_narrow_quantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale, wk_value_id zero,
                               wk_dtype t, bool saturates) {
  scale = wk_make_cast(c, scale, WK_F32);
  wk_value_id y = wk_make_2(c, WK_OP_DIV, wk_make_cast(c, x, WK_F32), scale);
  if (zero != WK_NONE) y = wk_make_2(c, WK_OP_ADD, y, wk_make_cast(c, zero, WK_F32));
  return narrow_cast(c, y, t, saturates, "up");
}

wk_value_id wk_narrow_dequantize(wk_onnx_node *c, wk_value_id x, wk_value_id scale,
                                 wk_value_id zero) {
  wk_value_id y = wk_make_cast(c, x, WK_F32);
  if (zero != WK_NONE) y = wk_make_2(c, WK_OP_SUB, y, wk_make_cast(c, zero, WK_F32));
  return wk_make_2(c, WK_OP_MUL, y, wk_make_cast(c, scale, WK_F32));
}
