/* SPDX-License-Identifier: Apache-2.0
 * Random integer operators: numbers that conversion might have found. */
#include "tests/random_draw.h"
#include <string.h>
#include "compiler/expr/quant.h"
#include "tests/random_draw_attrs.h"
#include "tests/random_window.h"

static wk_dtype byte(draw *d) { return draw_chance(d, 50) ? WK_I8 : WK_U8; }

static int64_t value(draw *d, wk_dtype t) {
  return t == WK_I8 ? draw_int(d, -128, 127) : draw_int(d, 0, 255);
}

static wk_value_id bytes(draw *d, int rank, const int64_t *dims) {
  wk_dtype t = byte(d);
  return draw_fresh(d, t, rank, dims, draw_chance(d, 20), t == WK_I8 ? -128 : 0,
                    t == WK_I8 ? 127 : 255);
}

/* What all of these operators say of their result. */
static void draw_range(draw *d, int64_t *to, int64_t *zero, int64_t *lo, int64_t *hi) {
  *to = byte(d);
  *zero = value(d, (wk_dtype)*to);
  int64_t a = value(d, (wk_dtype)*to), b = value(d, (wk_dtype)*to);
  bool all = draw_chance(d, 60);
  *lo = all ? (*to == WK_I8 ? -128 : 0) : a < b ? a : b;
  *hi = all ? *lo + 255 : a < b ? b : a;
}
#define DRAW_RANGE(d, a) draw_range(d, &(a)->to, &(a)->zero, &(a)->lo, &(a)->hi)

static int draw_dims(draw *d, int least, int64_t dims[WK_MAX_RANK]) {
  int rank = (int)draw_int(d, least, 4);
  for (int i = 0; i < rank; i++) dims[i] = draw_dim(d);
  return rank;
}

wk_value_id draw_op_integer_matmul(draw *d, wk_op op) {
  int64_t dims[WK_MAX_RANK];
  int rank = draw_dims(d, 2, dims);
  wk_value_id x = bytes(d, rank, dims);
  dims[rank - 2] = dims[rank - 1];
  dims[rank - 1] = draw_dim(d);
  int less = draw_chance(d, 30) ? rank - 2 : 0;
  wk_value_id y = bytes(d, rank - less, dims + less);
  ATTRS(d, integer_matmul, INTEGER_MATMUL);
  a->a_zero = draw_chance(d, 30) ? 0 : value(d, draw_type(d, x)->dtype);
  a->b_zero = draw_chance(d, 30) ? 0 : value(d, draw_type(d, y)->dtype);
  if (draw_chance(d, 70)) {
    wk_expr_builder *b = wk_expr_begin(d->a);
    uint16_t v = wk_expr_rescale(b, wk_expr_input(b, 0, WK_I32), wk_expr_i(b, WK_I64, 12345678),
                                 wk_expr_i(b, WK_I64, draw_int(d, 14, 20)));
    v = wk_expr_requantized(b, v, draw_int(d, 0, 9), WK_U8, 0, 255);
    a->epilogue = wk_expr_finish(b, &v, 1);
  }
  return draw_2(d, op, a, x, y);
}

wk_value_id draw_op_integer_avg_pool(draw *d, wk_op op) {
  int64_t dims[] = {draw_int(d, 1, 2), draw_dim(d), draw_int(d, 2, 7), draw_int(d, 2, 7)};
  wk_value_id x = bytes(d, 4, dims);
  random_window win = random_window_draw(&d->rng, 2, dims + 2, 4, true);
  ATTRS(d, integer_avg_pool, INTEGER_AVG_POOL);
  a->kernel = wk_ints_dup(d->a, win.kernel, 2);
  a->strides = wk_ints_dup(d->a, win.strides, 2);
  a->pads = wk_ints_dup(d->a, win.pads, 4);
  a->dilations = wk_ints_dup(d->a, win.dilations, 2);
  a->real_pads = draw_chance(d, 50) ? a->pads : wk_ints_fill(d->a, 4, 0);
  a->factor = 0.1 + 0.01 * (double)draw_int(d, 0, 300);
  a->x_zero = value(d, draw_type(d, x)->dtype);
  DRAW_RANGE(d, a);
  return draw_1(d, op, a, x);
}

wk_value_id draw_op_integer_softmax(draw *d, wk_op op) {
  int64_t dims[WK_MAX_RANK];
  int rank = draw_dims(d, 1, dims), shift;
  ATTRS(d, integer_softmax, INTEGER_SOFTMAX);
  a->axis = draw_int(d, 0, rank - 1);
  a->scale = 0.001 * (double)draw_int(d, 1, 200);
  if (!wk_softmax_factor(dims[a->axis], 1.0 / (double)draw_int(d, 50, 300), &a->mult, &shift))
    return WK_NONE;
  a->shift = shift;
  DRAW_RANGE(d, a);
  return draw_1(d, op, a, bytes(d, rank, dims));
}

wk_value_id draw_op_integer_norm(draw *d, wk_op op) {
  int64_t dims[WK_MAX_RANK];
  int rank = draw_dims(d, 1, dims);
  wk_value_id x = bytes(d, rank, dims);
  ATTRS(d, integer_norm, INTEGER_NORM);
  a->axis = draw_int(d, 0, rank - 1);
  a->centred = draw_chance(d, 60);
  a->x_zero = value(d, draw_type(d, x)->dtype);
  a->epsilon = draw_chance(d, 30) ? 1 : draw_int(d, 1, 1 << 20);
  a->shift = draw_int(d, 23, 28);
  DRAW_RANGE(d, a);
  wk_value_id in[] = {x, WK_NONE, WK_NONE};
  for (int k = 1; k < 3; k++) {
    bool same = draw_chance(d, 30);
    double most = k == 2 && draw_chance(d, 20) ? 0 : (1 << 24) - 1;
    in[k] = draw_fresh(d, WK_I32, same ? 0 : rank - (int)a->axis, dims + a->axis,
                       draw_chance(d, 90), -most, most);
  }
  return draw_node(d, op, a, 3, in, 0);
}
