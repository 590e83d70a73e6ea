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

wk_value_id draw_op_integer_resize(draw *d, wk_op op) {
  int64_t dims[WK_MAX_RANK];
  int rank = draw_dims(d, 1, dims);
  wk_value_id x = bytes(d, rank, dims);
  ATTRS(d, integer_resize, INTEGER_RESIZE);
  a->axis = draw_int(d, 0, rank - 1);
  a->x_zero = value(d, draw_type(d, x)->dtype);
  a->shift = draw_int(d, 1, 22);
  int64_t n = dims[a->axis] ? draw_int(d, 1, 9) : 0, most = INT64_C(1) << a->shift, list[4][9];
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < 2; k++) list[k][i] = draw_int(d, 0, dims[a->axis] - 1);
    list[2][i] = draw_chance(d, 30) ? most - 1 : draw_int(d, 0, most - 1);
    list[3][i] = most - 1 - list[2][i];
  }
  a->near = wk_ints_dup(d->a, list[0], n), a->far = wk_ints_dup(d->a, list[1], n);
  a->near_mult = wk_ints_dup(d->a, list[2], n), a->far_mult = wk_ints_dup(d->a, list[3], n);
  DRAW_RANGE(d, a);
  return draw_1(d, op, a, x);
}

wk_value_id draw_op_depth_to_space(draw *d, wk_op op) {
  ATTRS(d, depth_to_space, DEPTH_TO_SPACE);
  a->rows = draw_int(d, 1, 3), a->columns = draw_int(d, 1, 3);
  a->back = draw_chance(d, 50), a->by_columns = draw_chance(d, 50);
  int64_t deep = a->back ? 1 : a->rows * a->columns, wide[2] = {a->rows, a->columns};
  int64_t dims[] = {draw_int(d, 0, 2), deep * draw_int(d, 1, 4), draw_int(d, 1, 4),
                    draw_int(d, 1, 4)};
  for (int k = 0; k < 2 && a->back; k++) dims[2 + k] *= wide[k];
  return draw_1(d, op, a, bytes(d, 4, dims));
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
