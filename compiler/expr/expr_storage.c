/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow types as arithmetic on bytes. A narrow float becomes an f32 by moving exponent and
 * mantissa into place and rebasing the exponent, and comes back the same way after half a unit of
 * the last place is added; what lies in the range of exponent 0 is a multiple of one power of two,
 * which a product and `round` find. No step needs subnormal floats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/narrow.h"

typedef struct {
  wk_expr_builder *b;
} out;

static uint16_t word(const out *o, int64_t v) { return wk_expr_i(o->b, WK_U32, v); }
static uint16_t real(const out *o, double v) { return wk_expr_f(o->b, WK_F32, v); }
static uint16_t op1(const out *o, wk_expr_op op, uint16_t x) { return wk_expr_1(o->b, op, x); }
static uint16_t op2(const out *o, wk_expr_op op, uint16_t x, uint16_t y) {
  return wk_expr_2(o->b, op, x, y);
}
static uint16_t pick(const out *o, uint16_t c, uint16_t x, uint16_t y) {
  return wk_expr_3(o->b, WK_EX_SELECT, c, x, y);
}

/* ---- from bytes ------------------------------------------------------------------------------ */

static uint16_t scale_value(const out *o, const wk_narrow_format *f, uint16_t u) {
  uint16_t v = wk_expr_bits(o->b, WK_F32, op2(o, WK_EX_SHL, u, word(o, 23)));
  v = pick(o, op2(o, WK_EX_EQ, u, word(o, 0)), real(o, ldexp(1, -f->bias)), v);
  return pick(o, op2(o, WK_EX_EQ, u, word(o, f->nan_from)), real(o, (double)NAN), v);
}

/* The pattern x (u8) as f32. */
static uint16_t float_value(const out *o, const wk_narrow_format *f, uint16_t x) {
  uint16_t u = wk_expr_cast(o->b, WK_U32, x);
  if (!f->has_sign) return scale_value(o, f, u);
  int width = f->exponent + f->mantissa;
  uint16_t size = op2(o, WK_EX_AND, u, word(o, (1 << width) - 1));
  uint16_t sign = op2(o, WK_EX_NE, op2(o, WK_EX_AND, u, word(o, 1 << width)), word(o, 0));
  uint16_t moved = op2(o, WK_EX_SHL, size, word(o, 23 - f->mantissa));
  moved = op2(o, WK_EX_ADD, moved, word(o, (int64_t)(127 - f->bias) << 23));
  uint16_t unit = real(o, ldexp(1, 1 - f->bias - f->mantissa));
  uint16_t tiny = op2(o, WK_EX_MUL, wk_expr_cast(o->b, WK_F32, size), unit);
  uint16_t is_tiny = op2(o, WK_EX_LT, size, word(o, 1 << f->mantissa));
  uint16_t v = pick(o, is_tiny, tiny, wk_expr_bits(o->b, WK_F32, moved));
  if (f->infinity >> width == 0)
    v = pick(o, op2(o, WK_EX_EQ, size, word(o, f->infinity)), real(o, (double)INFINITY), v);
  if (f->nan_from >> width == 0)
    v = pick(o, op2(o, WK_EX_GE, size, word(o, f->nan_from)), real(o, (double)NAN), v);
  v = pick(o, sign, op1(o, WK_EX_NEG, v), v);
  if (f->has_minus_zero) return v;
  return pick(o, op2(o, WK_EX_EQ, u, word(o, f->nan)), real(o, (double)NAN), v);
}

/* ---- to bytes -------------------------------------------------------------------------------- */

/* x (f64) as f32 whose last bit says that something was lost, so that rounding once more is as
 * rounding once. */
static uint16_t odd(const out *o, uint16_t x) {
  uint16_t y = wk_expr_cast(o->b, WK_F32, x), back = wk_expr_cast(o->b, WK_F64, y);
  uint16_t up = op2(o, WK_EX_GT, op1(o, WK_EX_ABS, back), op1(o, WK_EX_ABS, x));
  uint16_t u = wk_expr_bits(o->b, WK_U32, y);
  uint16_t lost = op2(o, WK_EX_SUB, u, wk_expr_cast(o->b, WK_U32, up));
  lost = wk_expr_bits(o->b, WK_F32, op2(o, WK_EX_OR, lost, word(o, 1)));
  uint16_t is_exact = op2(o, WK_EX_EQ, back, x);
  return pick(o, is_exact, y, pick(o, op1(o, WK_EX_IS_NAN, x), y, lost));
}

/* A number of any type as an f32 that rounds to the same pattern. */
static uint16_t as_f32(const out *o, const wk_narrow_format *f, uint16_t x) {
  wk_dtype t = wk_expr_dtype(o->b, x);
  if (t == WK_F64) return odd(o, x);
  /* An integer that f32 rounds is far past the largest number of a format with a sign. */
  bool is_exact = wk_dtype_is_float(t) || wk_dtype_size(t) < 4;
  if (is_exact || f->has_sign) return wk_expr_cast(o->b, WK_F32, x);
  return odd(o, wk_expr_cast(o->b, WK_F64, x)); /* any magnitude matters */
}

static uint16_t scale_bits(const out *o, const wk_narrow_format *f, uint16_t x) {
  uint16_t u = wk_expr_bits(o->b, WK_U32, op1(o, WK_EX_ABS, x));
  uint16_t up = op2(o, WK_EX_SHR, op2(o, WK_EX_ADD, u, word(o, 0x7fffff)), word(o, 23));
  up = op2(o, WK_EX_MIN, up, word(o, f->nan_from - 1));
  uint16_t is_least = op2(o, WK_EX_LE, u, word(o, 0x400000)); /* 2^-127 */
  return pick(o, is_least, word(o, 0), up);
}

static uint16_t rounded_bits(const out *o, const wk_narrow_format *f, uint16_t x) {
  int width = f->exponent + f->mantissa, cut = 23 - f->mantissa;
  uint16_t size = op1(o, WK_EX_ABS, x), most = real(o, f->most);
  size = pick(o, op2(o, WK_EX_LT, size, most), size, most);
  uint16_t u = wk_expr_bits(o->b, WK_U32, size);
  uint16_t even = op2(o, WK_EX_AND, op2(o, WK_EX_SHR, u, word(o, cut)), word(o, 1));
  uint16_t sum = op2(o, WK_EX_ADD, op2(o, WK_EX_ADD, u, word(o, (1 << (cut - 1)) - 1)), even);
  uint16_t normal = op2(o, WK_EX_SHR, sum, word(o, cut));
  normal = op2(o, WK_EX_SUB, normal, word(o, (127 - f->bias) << f->mantissa));
  uint16_t steps = op2(o, WK_EX_MUL, size, real(o, ldexp(1, f->bias - 1 + f->mantissa)));
  uint16_t tiny = wk_expr_cast(o->b, WK_U32, op1(o, WK_EX_ROUND, steps));
  uint16_t is_tiny = op2(o, WK_EX_LT, size, real(o, ldexp(1, 1 - f->bias)));
  uint16_t magnitude = pick(o, is_tiny, tiny, normal);
  uint16_t sign = op2(o, WK_EX_SHR, wk_expr_bits(o->b, WK_U32, x), word(o, 31));
  sign = op2(o, WK_EX_SHL, sign, word(o, width));
  if (!f->has_minus_zero)
    sign = pick(o, op2(o, WK_EX_EQ, magnitude, word(o, 0)), word(o, 0), sign);
  return op2(o, WK_EX_OR, magnitude, sign);
}

static uint16_t float_pattern(const out *o, const wk_narrow_format *f, uint16_t x) {
  x = as_f32(o, f, x);
  uint16_t bits = f->has_sign ? rounded_bits(o, f, x) : scale_bits(o, f, x);
  bits = pick(o, op1(o, WK_EX_IS_NAN, x), word(o, f->nan), bits);
  return wk_expr_cast(o->b, WK_U8, bits);
}

/* The low bits of x as an integer of type t. */
static uint16_t wrapped(const out *o, wk_dtype t, uint16_t x) {
  int bits = wk_dtype_bits(t);
  x = wk_expr_cast(o->b, WK_I32, x);
  if (!wk_dtype_is_signed(t))
    return wk_expr_cast(o->b, WK_U8,
                        op2(o, WK_EX_AND, x, wk_expr_i(o->b, WK_I32, (1 << bits) - 1)));
  uint16_t room = wk_expr_i(o->b, WK_I32, 32 - bits);
  return wk_expr_cast(o->b, WK_I8, op2(o, WK_EX_SHR, op2(o, WK_EX_SHL, x, room), room));
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* y is what stands for argument 0 of x, of type `from`. */
static uint16_t cast(const out *o, wk_dtype from, wk_dtype to, uint16_t y) {
  const wk_narrow_format *f = wk_narrow_format_of(from);
  if (f) y = float_value(o, f, y);
  if (!wk_dtype_is_narrow(to)) return wk_expr_cast(o->b, to, y);
  f = wk_narrow_format_of(to);
  return f ? float_pattern(o, f, y) : wrapped(o, to, y);
}

static uint16_t bits(const out *o, wk_dtype from, wk_dtype to, uint16_t y) {
  if (!wk_dtype_is_narrow(from) && !wk_dtype_is_narrow(to)) return wk_expr_bits(o->b, to, y);
  if (wk_dtype_bits(to) < 8) {
    bool extends = wk_dtype_is_int(to) && wk_dtype_is_signed(to);
    wk_dtype unsigned_to = wk_dtype_bits(to) == 4 ? WK_U4 : WK_U2;
    bool is_pattern = wk_dtype_bits(to) == 6; /* of which there are no integers */
    return is_pattern ? y : wrapped(o, extends ? to : unsigned_to, y);
  }
  return wk_expr_bits(o->b, wk_dtype_storage(to), y);
}

static uint16_t constant(const out *o, const wk_expr_node *x) {
  uint8_t byte;
  if (!wk_dtype_is_narrow(x->dtype))
    return wk_dtype_is_float(x->dtype) ? wk_expr_f(o->b, x->dtype, x->imm.f)
                                       : wk_expr_i(o->b, x->dtype, x->imm.i);
  if (wk_dtype_is_float(x->dtype)) wk_scalar_store(&byte, x->dtype, (wk_scalar){.f = x->imm.f});
  else wk_scalar_store(&byte, x->dtype, (wk_scalar){.i = x->imm.i});
  wk_dtype t = wk_dtype_storage(x->dtype);
  return wk_expr_i(o->b, t, wk_scalar_load(&byte, t).i);
}

static uint16_t node(const out *o, const wk_expr *e, const wk_expr_node *x, const uint16_t *arg) {
  wk_dtype from = wk_expr_op_arity(x->op) ? e->nodes[x->arg[0]].dtype : WK_DTYPE_NONE;
  switch (x->op) {
    case WK_EX_INPUT: return wk_expr_input(o->b, x->imm.i, wk_dtype_storage(x->dtype));
    case WK_EX_INDEX: return wk_expr_index(o->b, x->imm.i);
    case WK_EX_CONST: return constant(o, x);
    case WK_EX_CAST: return cast(o, from, x->dtype, arg[0]);
    case WK_EX_BITS: return bits(o, from, x->dtype, arg[0]);
    case WK_EX_SAT: return wk_expr_sat(o->b, x->dtype, arg[0]);
    default: break;
  }
  switch (wk_expr_op_arity(x->op)) {
    case 1: return wk_expr_1(o->b, x->op, arg[0]);
    case 2: return wk_expr_2(o->b, x->op, arg[0], arg[1]);
    default: return wk_expr_3(o->b, x->op, arg[0], arg[1], arg[2]);
  }
}

const wk_expr *wk_expr_storage(wk_arena *a, const wk_expr *e) {
  bool has_narrow = false;
  for (uint32_t i = 0; i < e->n; i++)
    has_narrow = has_narrow || wk_dtype_is_narrow(e->nodes[i].dtype);
  if (!has_narrow) return e;
  out o = {wk_expr_begin(a)};
  uint16_t *to = wk_xcalloc(e->n, sizeof *to);
  uint16_t *results = wk_xcalloc(e->n_results, sizeof *results);
  for (uint32_t i = 0; i < e->n; i++) {
    const wk_expr_node *x = &e->nodes[i];
    uint16_t arg[3] = {0, 0, 0};
    for (int k = 0; k < wk_expr_op_arity(x->op); k++) arg[k] = to[x->arg[k]];
    to[i] = node(&o, e, x, arg);
  }
  for (uint32_t r = 0; r < e->n_results; r++) results[r] = to[e->results[r]];
  const wk_expr *y = wk_expr_finish(o.b, results, (int)e->n_results);
  free(results);
  free(to);
  return y;
}
