/* SPDX-License-Identifier: Apache-2.0
 * One draw of each operator: operands of fitting types and attributes at random. What does not fit
 * after all, inference refuses. */
#include "tests/random_draw.h"
#include "tests/random_window.h"

#include <math.h>
#include <string.h>

typedef wk_value_id (*drawer)(draw *d, wk_op op);
#include "tests/random_draw_attrs.h"

/* ---- elementwise ----------------------------------------------------------------------------- */

/* An operand within the domain of functions that have a small one. */
static wk_value_id within_domain(draw *d, wk_op op) {
  const int64_t dims[] = {draw_dim(d), draw_dim(d), draw_dim(d)};
  bool above_one = op == WK_OP_ACOSH;
  return draw_fresh(d, WK_F32, (int)draw_int(d, 0, 3), dims, false, above_one ? 1.2 : -0.8,
                    above_one ? 3 : 0.8);
}

static wk_value_id unary(draw *d, wk_op op) {
  uint32_t types = DRAW_FLOATS;
  bool jumps = op == WK_OP_FLOOR || op == WK_OP_CEIL || op == WK_OP_ROUND || op == WK_OP_SIGN;
  if (op == WK_OP_NEG || op == WK_OP_ABS || op == WK_OP_RELU || op == WK_OP_IDENTITY)
    types |= (1u << WK_I32) | (1u << WK_I64) | (1u << WK_I8);
  if (op == WK_OP_NOT) types = DRAW_BOOLS;
  if (op == WK_OP_BIT_NOT) types = DRAW_INTS;
  void *a = with(d, op, NULL, "alpha", real(d, 0.1, 0.9));
  with(d, op, a, "gamma", real(d, 0.9, 1.1));
  with(d, op, a, "bias", real(d, 0, 0.5));
  with(d, op, a, "beta", real(d, 0.2, 0.6));
  if (op == WK_OP_ASIN || op == WK_OP_ACOS || op == WK_OP_ATANH || op == WK_OP_ACOSH)
    return draw_1(d, op, a, within_domain(d, op));
  return draw_1(d, op, a, draw_operand(d, (draw_want){types, 0, 5, jumps}));
}

static wk_value_id clip(draw *d, wk_op op) {
  ATTRS(d, clip, CLIP);
  a->lo = draw_chance(d, 20) ? -INFINITY : draw_chance(d, 50) ? 0 : real(d, -2, 0.5);
  a->hi = draw_chance(d, 20) ? INFINITY : draw_chance(d, 50) ? 6 : real(d, 0.5, 4);
  if (draw_chance(d, 20)) a->lo = floor(a->lo), a->hi = ceil(a->hi);
  uint32_t types = DRAW_FLOATS | (1u << WK_I32) | (1u << WK_I8) | (1u << WK_U8);
  return draw_1(d, op, a, draw_operand(d, (draw_want){types, 0, 5, false}));
}

static wk_value_id cast(draw *d, wk_op op) {
  static const wk_dtype to[] = {WK_F32, WK_F64, WK_I32, WK_I64, WK_I8, WK_U8, WK_BOOL};
  uint32_t types = DRAW_FLOATS | DRAW_INTS | DRAW_BOOLS;
  ATTRS(d, cast, CAST);
  wk_value_id x = draw_operand(d, (draw_want){types, 0, 5, true});
  if (draw_chance(d, 25)) { /* there and back: by way of a narrow type */
    wk_attr_cast *narrow = wk_attrs_new(d->a, WK_OP_CAST);
    narrow->to = draw_int(d, WK_I4, WK_DTYPE_COUNT - 1);
    x = draw_1(d, op, narrow, x);
  }
  a->to = to[draw_chance(d, 50) ? 0 : draw_int(d, 0, (int64_t)WK_COUNTOF(to) - 1)];
  return draw_1(d, op, a, x);
}

/* The same bits as an integer of that width. */
static wk_value_id bitcast(draw *d, wk_op op) {
  uint32_t bytes = (1u << WK_I8) | (1u << WK_U8); /* whose numbers stay small */
  uint32_t types = bytes | (1u << WK_I32) | (1u << WK_F32) | (1u << WK_F64);
  if (draw_chance(d, 50)) types = bytes;
  wk_value_id x = draw_operand(d, (draw_want){types, 0, 5, true});
  if (x == WK_NONE) return x;
  wk_dtype t = draw_type(d, x)->dtype;
  ATTRS(d, bitcast, BITCAST);
  a->to = wk_dtype_size(t) == 1 ? (t == WK_I8 ? WK_U8 : WK_I8)
          : t == WK_F64         ? WK_I64
          : t == WK_F32         ? WK_I32
                                : WK_U32;
  return draw_1(d, op, a, x);
}

/* Both operands in either order; a number now and then. */
static wk_value_id pair(draw *d, wk_op op, wk_value_id x, bool exact) {
  static const double numbers[] = {0, 1, 2, 0.5, -1, 3, 6};
  bool commutes = op != WK_OP_POW && op != WK_OP_SHIFT_LEFT && op != WK_OP_SHIFT_RIGHT &&
                  op != WK_OP_SHIFT_RIGHT_ROUND;
  wk_dtype t = draw_type(d, x)->dtype;
  wk_value_id y = wk_dtype_is_float(t) && draw_chance(d, 25)
                      ? draw_number(d, t, numbers[draw_int(d, 0, 6)])
                      : draw_beside(d, x, exact);
  if (commutes && draw_chance(d, 30)) return draw_2(d, op, NULL, y, x);
  return draw_2(d, op, NULL, x, y);
}

static wk_value_id arithmetic(draw *d, wk_op op) {
  bool jumps = op == WK_OP_MOD || op == WK_OP_FMOD;
  uint32_t types = DRAW_FLOATS | (draw_chance(d, 20) ? DRAW_INTS : 0);
  return pair(d, op, draw_operand(d, (draw_want){types, 0, 5, jumps}), jumps);
}

static wk_value_id logical(draw *d, wk_op op) {
  bool bits = op == WK_OP_BIT_AND || op == WK_OP_BIT_OR || op == WK_OP_BIT_XOR;
  return pair(d, op, draw_operand(d, (draw_want){bits ? DRAW_INTS : DRAW_BOOLS, 0, 4, false}),
              true);
}

static wk_value_id shift(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){1u << WK_U8 | 1u << WK_I32, 0, 4, false});
  const wk_type t = *draw_type(d, x);
  return draw_2(d, op, NULL, x, draw_fresh(d, t.dtype, t.rank, t.dims, true, 0, 5));
}

static wk_value_id rescale(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){1u << WK_I8 | 1u << WK_I32, 0, 4, false});
  const wk_type t = *draw_type(d, x);
  bool same = draw_chance(d, 50);
  const wk_value_id in[] = {
      x, draw_fresh(d, WK_I64, same ? 0 : t.rank, t.dims, true, 0, (1 << 24) - 1),
      draw_fresh(d, WK_I64, same ? 0 : t.rank, t.dims, true, 1, 30)};
  return draw_node(d, op, NULL, 3, in, 0);
}

static wk_value_id power(draw *d, wk_op op) {
  wk_value_id x = draw_real(d, 0, 5);
  static const double exponents[] = {1, 2, 3, 0.5, -1, 0};
  return draw_2(d, op, NULL, x, draw_number(d, draw_chance(d, 80) ? WK_F32 : WK_F64,
                                            exponents[draw_int(d, 0, 5)]));
}

static wk_value_id compare(draw *d, wk_op op) {
  return pair(d, op, draw_operand(d, (draw_want){DRAW_FLOATS | DRAW_INTS, 0, 4, true}), true);
}

static wk_value_id where(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){DRAW_FLOATS | DRAW_INTS, 0, 4, false});
  const wk_type t = *draw_type(d, x);
  wk_value_id y = draw_beside(d, x, false);
  const wk_value_id in[] = {draw_of_type(d, WK_BOOL, t.rank, t.dims), x, y};
  return draw_node(d, op, NULL, 3, in, 0);
}

static wk_value_id quantize(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){1u << WK_F32, 1, 4, true});
  const wk_type t = *draw_type(d, x);
  ATTRS(d, quantize, QUANTIZE);
  a->to = draw_chance(d, 50) ? WK_I8 : WK_U8;
  int64_t channels[] = {t.dims[t.rank - 1]};
  int rank = draw_chance(d, 50);
  const wk_value_id in[] = {x, draw_fresh(d, WK_F32, rank, channels, true, 0.05, 0.1),
                            draw_fresh(d, (wk_dtype)a->to, rank, channels, true, 0, 20)};
  return draw_node(d, op, a, 3, in, 0);
}

static wk_value_id fake_quantize(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){DRAW_FLOATS, 1, 4, true});
  const wk_type t = *draw_type(d, x);
  ATTRS(d, fake_quantize, FAKE_QUANTIZE);
  a->lo = draw_chance(d, 50) ? -8 : 0;
  a->hi = a->lo + 15;
  int64_t channels[] = {t.dims[t.rank - 1]};
  int rank = draw_chance(d, 50);
  wk_value_id scale = draw_fresh(d, t.dtype, rank, channels, true, 0.2, 0.4);
  wk_value_id zero = draw_number(d, t.dtype, (double)draw_int(d, 0, 5));
  const wk_value_id in[] = {x, scale, zero};
  return draw_node(d, op, a, 3, in, 0);
}

static wk_value_id dequantize(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){(1u << WK_I8) | (1u << WK_U8), 1, 4, false});
  const wk_type t = *draw_type(d, x);
  int64_t channels[] = {t.dims[t.rank - 1]};
  int rank = draw_chance(d, 50);
  const wk_value_id in[] = {x, draw_fresh(d, WK_F32, rank, channels, true, 0.05, 0.1),
                            draw_fresh(d, t.dtype, rank, channels, true, 0, 5)};
  return draw_node(d, op, NULL, 3, in, 0);
}

/* ---- movement -------------------------------------------------------------------------------- */

wk_value_id draw_anything(draw *d, int least, int most) {
  uint32_t types = DRAW_FLOATS | (draw_chance(d, 20) ? DRAW_INTS | DRAW_BOOLS : 0);
  return draw_operand(d, (draw_want){types, least, most, false});
}

/* Neighbouring axes merged, axes split, ones put in. */
static wk_value_id reshape(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 0, 6);
  const wk_type t = *draw_type(d, x);
  int64_t dims[3 * WK_MAX_RANK], n = 0;
  for (int i = 0; i < t.rank; i++) {
    int64_t size = t.dims[i];
    if (draw_chance(d, 15)) dims[n++] = 1;
    if (size == 1 && draw_chance(d, 50)) continue;
    if (n && draw_chance(d, 35)) dims[n - 1] *= size;
    else if (size % 2 == 0 && draw_chance(d, 25)) dims[n++] = 2, dims[n++] = size / 2;
    else dims[n++] = size;
  }
  if (n > 6) return WK_NONE;
  ATTRS(d, reshape, RESHAPE);
  a->shape = ints(d, dims, n);
  return draw_1(d, op, a, x);
}

static wk_value_id transpose(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 1, 5);
  int64_t perm[WK_MAX_RANK];
  int rank = draw_type(d, x)->rank;
  for (int i = 0; i < rank; i++) {
    int64_t at = draw_int(d, 0, i);
    perm[i] = perm[at];
    perm[at] = i;
  }
  ATTRS(d, transpose, TRANSPOSE);
  a->perm = ints(d, perm, rank);
  return draw_1(d, op, a, x);
}

static wk_value_id slice(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 1, 5);
  const wk_type t = *draw_type(d, x);
  int64_t starts[WK_MAX_RANK], sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) {
    starts[i] = 0, sizes[i] = t.dims[i], steps[i] = 1;
    if (draw_chance(d, 50) || t.dims[i] == 0) continue;
    steps[i] = draw_chance(d, 70) ? 1 : draw_chance(d, 50) ? 2 : -1;
    starts[i] = draw_int(d, 0, t.dims[i] - 1);
    int64_t room = steps[i] > 0 ? t.dims[i] - 1 - starts[i] : starts[i];
    int64_t step = steps[i] > 0 ? steps[i] : -steps[i];
    sizes[i] = draw_int(d, 1, room / step + 1);
  }
  ATTRS(d, slice, SLICE);
  a->starts = ints(d, starts, t.rank);
  a->sizes = ints(d, sizes, t.rank);
  a->steps = ints(d, steps, t.rank);
  return draw_1(d, op, a, x);
}

static wk_value_id expand(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 0, 4);
  const wk_type t = *draw_type(d, x);
  int64_t dims[WK_MAX_RANK];
  int more = draw_chance(d, 30);
  if (more) dims[0] = draw_dim(d);
  for (int i = 0; i < t.rank; i++)
    dims[more + i] = t.dims[i] == 1 && draw_chance(d, 70) ? draw_dim(d) : t.dims[i];
  ATTRS(d, expand, EXPAND);
  a->shape = ints(d, dims, t.rank + more);
  return draw_1(d, op, a, x);
}

static wk_value_id concat(draw *d, wk_op op) {
  wk_value_id in[4] = {draw_anything(d, 1, 5)};
  const wk_type t = *draw_type(d, in[0]);
  ATTRS(d, concat, CONCAT);
  a->axis = draw_int(d, 0, t.rank - 1);
  int64_t n = draw_int(d, 1, 3), dims[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) dims[i] = t.dims[i];
  for (int64_t k = 1; k <= n; k++) {
    if (draw_chance(d, 50)) dims[a->axis] = draw_dim(d);
    in[k] = draw_chance(d, 20) ? in[0] : draw_of_type(d, t.dtype, t.rank, dims);
  }
  return draw_node(d, op, a, (uint32_t)n + (n < 3), in, 0);
}

int64_t draw_parts(draw *d, int64_t size, int64_t *parts, int64_t most) {
  int64_t n = 0, left = size;
  do {
    parts[n] = n == most - 1 ? left : draw_int(d, left > 0, left);
    left -= parts[n++];
  } while (left > 0);
  return n;
}

static wk_value_id split(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 1, 5);
  const wk_type t = *draw_type(d, x);
  ATTRS(d, split, SPLIT);
  a->axis = draw_int(d, 0, t.rank - 1);
  int64_t sizes[4], n = draw_parts(d, t.dims[a->axis], sizes, 4);
  a->sizes = ints(d, sizes, n);
  return draw_node(d, op, a, 1, &x, (uint32_t)n);
}

static wk_value_id pad(draw *d, wk_op op) {
  static const char *const modes[] = {
      "constant", "constant", "constant", "reflect", "edge", "wrap"};
  wk_value_id x = draw_anything(d, 1, 5);
  const wk_type t = *draw_type(d, x);
  ATTRS(d, pad, PAD);
  a->mode = modes[draw_int(d, 0, 5)];
  int64_t before[WK_MAX_RANK], after[WK_MAX_RANK], lo = draw_chance(d, 15) ? -1 : 0;
  for (int i = 0; i < t.rank; i++) {
    bool none = draw_chance(d, 50);
    before[i] = none ? 0 : draw_int(d, lo, 2);
    after[i] = none ? 0 : draw_int(d, lo, 2);
  }
  a->before = ints(d, before, t.rank);
  a->after = ints(d, after, t.rank);
  const wk_value_id in[] = {x, draw_number(d, t.dtype, (double)draw_int(d, 0, 1))};
  return draw_node(d, op, a, 1 + (uint32_t)draw_chance(d, 50), in, 0);
}

static wk_value_id tile(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 1, 4);
  ATTRS(d, tile, TILE);
  a->repeats = random_ints(d, draw_type(d, x)->rank, 1, 2);
  return draw_1(d, op, a, x);
}

/* ---- contractions and windows ---------------------------------------------------------------- */

/* A tensor [n,c,s…] to put a window on. */
wk_value_id draw_image(draw *d) {
  wk_value_id x = draw_operand(d, (draw_want){DRAW_FLOATS, 3, 5, false});
  const wk_type t = *draw_type(d, x);
  int64_t area = 1;
  for (int i = 2; i < t.rank; i++) area *= t.dims[i];
  bool is_empty = wk_type_count(&t) == 0;
  if (!is_empty && (area >= 4 || draw_chance(d, 20))) return x;
  int rank = draw_chance(d, 75) ? 4 : draw_chance(d, 50) ? 3 : 5;
  int64_t dims[5] = {draw_int(d, 1, 2), draw_chance(d, 20) ? draw_int(d, 15, 18) : draw_dim(d)};
  for (int i = 2; i < rank; i++) dims[i] = draw_int(d, 2, rank == 5 ? 4 : 7);
  return draw_fresh(d, WK_F32, rank, dims, false, -2, 2);
}

static wk_value_id conv(draw *d, wk_op op) {
  bool ints8 = draw_chance(d, 10);
  wk_value_id x = draw_image(d);
  if (ints8) x = draw_of_type(d, WK_I8, 4, (const int64_t[]){1, 4, 5, 5});
  const wk_type t = *draw_type(d, x);
  int64_t c = t.dims[1], sp = t.rank - 2, group = draw_chance(d, 25) ? c : 1;
  int64_t per_group = draw_int(d, 1, 4), dims[WK_MAX_RANK] = {group * per_group, c / group};
  ATTRS(d, conv, CONV);
  random_window win = random_window_draw(&d->rng, (int)sp, t.dims + 2, 5, false);
  for (int i = 2; i < t.rank; i++) dims[i] = win.kernel[i - 2];
  a->strides = ints(d, win.strides, sp);
  a->pads = ints(d, win.pads, 2 * sp);
  a->dilations = ints(d, win.dilations, sp);
  a->group = group;
  if (ints8) a->pad_value = draw_int(d, -128, 127);
  wk_value_id w = ints8 ? draw_of_type(d, WK_I8, 4, dims)
                        : draw_fresh(d, t.dtype, t.rank, dims, draw_chance(d, 90), -0.5, 0.5);
  const wk_value_id in[] = {
      x, w, draw_fresh(d, wk_accumulator_dtype(t.dtype), 1, dims, true, -1, 1)};
  return draw_node(d, op, a, 2 + (uint32_t)draw_chance(d, 50), in, 0);
}

static wk_value_id conv_transpose(draw *d, wk_op op) {
  wk_value_id x = draw_image(d);
  const wk_type t = *draw_type(d, x);
  int64_t c = t.dims[1], sp = t.rank - 2, group = draw_chance(d, 25) ? c : 1;
  int64_t dims[WK_MAX_RANK] = {c, draw_int(d, 1, 4)}, channels = dims[1] * group;
  ATTRS(d, conv_transpose, CONV_TRANSPOSE);
  random_window win = random_window_transposed(&d->rng, (int)sp, t.dims + 2, 4);
  for (int i = 2; i < t.rank; i++) dims[i] = win.kernel[i - 2];
  a->strides = ints(d, win.strides, sp);
  a->pads = ints(d, win.pads, 2 * sp);
  a->dilations = ints(d, win.dilations, sp);
  a->output_padding = random_ints(d, sp, 0, draw_chance(d, 20) ? 1 : 0);
  a->group = group;
  const wk_value_id in[] = {x, draw_fresh(d, t.dtype, t.rank, dims, draw_chance(d, 90), -0.5, 0.5),
                            draw_fresh(d, t.dtype, 1, &channels, true, -1, 1)};
  return draw_node(d, op, a, 2 + (uint32_t)draw_chance(d, 50), in, 0);
}

static wk_value_id matmul(draw *d, wk_op op) {
  wk_value_id x = draw_chance(d, 6) ? draw_operand(d, (draw_want){1u << WK_I8, 2, 3, false})
                                    : draw_real(d, 2, 5);
  const wk_type t = *draw_type(d, x);
  int64_t dims[WK_MAX_RANK], n = draw_dim(d);
  int rank = draw_chance(d, 70) ? 2 : t.rank;
  for (int i = 0; i < rank - 2; i++) dims[i] = draw_chance(d, 30) ? 1 : t.dims[t.rank - rank + i];
  dims[rank - 2] = t.dims[t.rank - 1];
  dims[rank - 1] = n;
  wk_value_id w = draw_chance(d, 60) ? draw_fresh(d, t.dtype, rank, dims, true, -0.7, 0.7)
                                     : draw_of_type(d, t.dtype, rank, dims);
  const wk_value_id in[] = {x, w, draw_fresh(d, wk_accumulator_dtype(t.dtype), 1, &n, true, -1, 1)};
  return draw_node(d, op, NULL, 2 + (uint32_t)draw_chance(d, 40), in, 0);
}

static wk_value_id max_pool(draw *d, wk_op op) {
  wk_value_id x = draw_image(d);
  int64_t sp = draw_type(d, x)->rank - 2;
  random_window win = random_window_draw(&d->rng, (int)sp, draw_type(d, x)->dims + 2, 4, true);
  ATTRS(d, max_pool, MAX_POOL);
  a->kernel = ints(d, win.kernel, sp);
  a->strides = ints(d, win.strides, sp);
  a->pads = ints(d, win.pads, 2 * sp);
  a->dilations = ints(d, win.dilations, sp);
  a->taps = draw_chance(d, 50);
  return draw_node(d, op, a, 1, &x, 1 + (uint32_t)draw_chance(d, 20));
}

/* Of a max_pool's windows. */
static wk_value_id unpool(draw *d, wk_op op) {
  wk_value_id x = draw_image(d);
  int64_t sp = draw_type(d, x)->rank - 2;
  random_window win = random_window_draw(&d->rng, (int)sp, draw_type(d, x)->dims + 2, 4, true);
  ATTRS(d, max_pool, MAX_POOL);
  wk_attr_unpool *u = wk_attrs_new(d->a, op);
  a->kernel = u->kernel = ints(d, win.kernel, sp);
  a->strides = u->strides = ints(d, win.strides, sp);
  a->pads = u->pads = ints(d, win.pads, 2 * sp);
  a->dilations = u->dilations = ints(d, win.dilations, sp);
  a->taps = 1;
  u->size = ints(d, draw_type(d, x)->dims + 2, sp);
  wk_value_id y = draw_node(d, WK_OP_MAX_POOL, a, 1, &x, 2);
  if (y == WK_NONE) return y;
  return draw_2(d, op, u, y, wk_nod(d->g, wk_val(d->g, y)->node)->out[1]);
}

static wk_value_id avg_pool(draw *d, wk_op op) {
  wk_value_id x = draw_image(d);
  int64_t sp = draw_type(d, x)->rank - 2;
  random_window win = random_window_draw(&d->rng, (int)sp, draw_type(d, x)->dims + 2, 4, true);
  ATTRS(d, avg_pool, AVG_POOL);
  a->kernel = ints(d, win.kernel, sp);
  a->strides = ints(d, win.strides, sp);
  a->pads = ints(d, win.pads, 2 * sp);
  a->dilations = ints(d, win.dilations, sp);
  a->real_pads = draw_chance(d, 50) ? a->pads : random_ints(d, 2 * sp, 0, 0);
  return draw_1(d, op, a, x);
}

static wk_value_id lp_pool(draw *d, wk_op op) {
  wk_value_id x = draw_image(d);
  int64_t sp = draw_type(d, x)->rank - 2;
  random_window win = random_window_draw(&d->rng, (int)sp, draw_type(d, x)->dims + 2, 4, true);
  ATTRS(d, lp_pool, LP_POOL);
  a->kernel = ints(d, win.kernel, sp);
  a->strides = ints(d, win.strides, sp);
  a->pads = ints(d, win.pads, 2 * sp);
  a->dilations = ints(d, win.dilations, sp);
  a->p = draw_int(d, 1, 3);
  return draw_1(d, op, a, x);
}

static wk_value_id lrn(draw *d, wk_op op) {
  ATTRS(d, lrn, LRN);
  a->size = draw_int(d, 1, 5);
  a->alpha = real(d, 0.01, 0.5);
  a->beta = real(d, 0.5, 1);
  return draw_1(d, op, a, draw_real(d, 2, 5));
}

/* ---- reductions and normalisation ------------------------------------------------------------ */

/* An operand with an axis of no elements. */
static wk_value_id nothing(draw *d, wk_dtype t) {
  int64_t dims[] = {draw_dim(d), draw_dim(d), draw_dim(d)}, rank = draw_int(d, 1, 3);
  dims[draw_int(d, 0, rank - 1)] = 0;
  return draw_fresh(d, t, (int)rank, dims, draw_chance(d, 30), -2, 2);
}

static wk_value_id reduce(draw *d, wk_op op) {
  bool logs = op == WK_OP_REDUCE_LOG_SUM || op == WK_OP_REDUCE_LOG_SUM_EXP || op == WK_OP_REDUCE_L2;
  bool ints_too = !logs && draw_chance(d, 15);
  wk_value_id x =
      draw_chance(d, 5)
          ? nothing(d, ints_too ? WK_I8 : WK_F32)
          : draw_operand(d, (draw_want){DRAW_FLOATS | (ints_too ? DRAW_INTS : 0), 0, 5, false});
  wk_attr_reduce_sum *a = wk_attrs_new(d->a, op);
  int64_t axes[WK_MAX_RANK], n = 0;
  for (int i = 0; i < draw_type(d, x)->rank; i++)
    if (draw_type(d, x)->dims[i] == 0 || draw_chance(d, 45)) axes[n++] = i;
  a->axes = ints(d, axes, n);
  a->keepdims = draw_chance(d, 60);
  return draw_1(d, op, a, x);
}

static wk_value_id arg_reduce(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){DRAW_FLOATS | DRAW_INTS, 1, 4, true});
  wk_attr_arg_max *a = wk_attrs_new(d->a, op);
  a->axis = draw_int(d, 0, draw_type(d, x)->rank - 1);
  a->keepdims = draw_chance(d, 50);
  a->select_last = draw_chance(d, 40);
  return draw_1(d, op, a, x);
}

static wk_value_id along_axis(draw *d, wk_op op) {
  wk_value_id x = draw_operand(d, (draw_want){DRAW_FLOATS, 1, 5, op == WK_OP_HARDMAX});
  void *a = with(d, op, NULL, "axis", (double)draw_int(d, 0, draw_type(d, x)->rank - 1));
  with(d, op, a, "p", (double)draw_int(d, 1, 2));
  return draw_1(d, op, a, x);
}

static wk_value_id layer_norm(draw *d, wk_op op) {
  wk_value_id x = draw_real(d, 1, 5);
  const wk_type t = *draw_type(d, x);
  ATTRS(d, layer_norm, LAYER_NORM);
  a->axis = draw_int(d, 0, t.rank - 1);
  a->epsilon = 0.01;
  wk_value_id in[] = {x, WK_NONE, WK_NONE};
  for (int k = 1; k < 3; k++)
    in[k] = draw_fresh(d, t.dtype, t.rank - (int)a->axis, t.dims + a->axis, true, 0.5, 1.5);
  return draw_node(d, op, a, 2 + (uint32_t)draw_chance(d, 60), in,
                   draw_chance(d, 80) ? 1 : (uint32_t)draw_int(d, 2, 3));
}

static wk_value_id channel_norm(draw *d, wk_op op) {
  wk_value_id x = draw_real(d, op == WK_OP_INSTANCE_NORM ? 3 : 2, 5);
  const wk_type t = *draw_type(d, x);
  void *a = with(d, op, NULL, "epsilon", 0.01);
  with(d, op, a, "groups", t.dims[1] % 2 == 0 && draw_chance(d, 50) ? 2 : 1);
  wk_value_id in[5] = {x};
  for (int k = 1; k < 5; k++)
    in[k] = draw_fresh(d, t.dtype, 1, &t.dims[1], draw_chance(d, 85), k == 4 ? 0.5 : -1, 1.5);
  return draw_node(d, op, a, op == WK_OP_BATCH_NORM ? 5 : 3, in, 0);
}

static wk_value_id attention(draw *d, wk_op op) {
  wk_value_id q = draw_real(d, 2, 4);
  const wk_type t = *draw_type(d, q);
  int64_t k[WK_MAX_RANK], v[WK_MAX_RANK], n = draw_dim(d);
  for (int i = 0; i < t.rank; i++) k[i] = v[i] = t.dims[i];
  k[t.rank - 2] = v[t.rank - 2] = n;
  v[t.rank - 1] = draw_dim(d);
  int64_t mask[] = {t.dims[t.rank - 2], n};
  ATTRS(d, attention, ATTENTION);
  a->scale = real(d, 0.2, 1);
  const wk_value_id in[] = {
      q, draw_of_type(d, t.dtype, t.rank, k), draw_of_type(d, t.dtype, t.rank, v),
                            draw_of_type(d, t.dtype, 2, mask)};
  return draw_node(d, op, a, 3 + (uint32_t)draw_chance(d, 40), in, 0);
}

/* ---- the table: by inference rule ------------------------------------------------------------ */

static const struct { const char *rule; drawer run; } by_rule[] = {
    {"same", unary}, {"cast", cast}, {"bitcast", bitcast}, {"broadcast", arithmetic},
    {"compare", compare},
    {"where", where}, {"quantize", quantize}, {"dequantize", dequantize},
    {"fake_quantize", fake_quantize}, {"reshape", reshape},
    {"transpose", transpose}, {"slice", slice}, {"expand", expand}, {"concat", concat},
    {"split", split}, {"pad", pad}, {"tile", tile}, {"conv", conv},
    {"conv_transpose", conv_transpose}, {"matmul", matmul}, {"max_pool", max_pool},
    {"avg_pool", avg_pool}, {"lp_pool", lp_pool}, {"unpool", unpool}, {"lrn", lrn},
    {"reduce", reduce},
    {"arg_reduce", arg_reduce}, {"along_axis", along_axis}, {"layer_norm", layer_norm},
    {"batch_norm", channel_norm}, {"instance_norm", channel_norm}, {"group_norm", channel_norm},
    {"attention", attention}, {"gather", draw_op_gather},
    {"gather_elements", draw_op_gather_elements},
    {"gather_nd", draw_op_gather_nd}, {"scatter_elements", draw_op_scatter_elements},
    {"scatter_nd", draw_op_scatter_nd},
    {"one_hot", draw_op_one_hot}, {"resize", draw_op_resize},
    {"reverse_sequence", draw_op_reverse_sequence},
    {"trilu", draw_op_trilu}, {"cum_sum", draw_op_cum_sum}, {"top_k", draw_op_top_k},
    {"segment_reduce", draw_op_segment_reduce}, {"max_unpool", draw_op_max_unpool},
    {"grid_sample", draw_op_grid_sample}, {"roi_align", draw_op_roi_align},
    {"non_max_suppression", draw_op_non_max_suppression}, {"det", draw_op_det},
    {"rnn", draw_op_recurrent},
    {"random", draw_op_random_numbers}, {"predicate", unary},
    {"integer_matmul", draw_op_integer_matmul}, {"integer_avg_pool", draw_op_integer_avg_pool},
    {"integer_softmax", draw_op_integer_softmax}, {"integer_norm", draw_op_integer_norm},
    {"integer_resize", draw_op_integer_resize}, {"depth_to_space", draw_op_depth_to_space},
};

static drawer drawer_of(wk_op op) {
  switch (op) {
  case WK_OP_CLIP: return clip;
  case WK_OP_POW: return power;
  case WK_OP_AND: case WK_OP_OR: case WK_OP_XOR:
  case WK_OP_BIT_AND: case WK_OP_BIT_OR: case WK_OP_BIT_XOR: return logical;
  case WK_OP_RESCALE: return rescale;
  case WK_OP_SHIFT_LEFT: case WK_OP_SHIFT_RIGHT: case WK_OP_SHIFT_RIGHT_ROUND: return shift;
  default: break;
  }
  const char *rule = wk_op_get(op)->infer;
  for (size_t i = 0; i < WK_COUNTOF(by_rule); i++)
    if (!strcmp(by_rule[i].rule, rule)) return by_rule[i].run;
  return NULL;
}

bool draw_operator(draw *d, wk_op op) {
  drawer run = drawer_of(op);
  return run && run(d, op) != WK_NONE;
}
