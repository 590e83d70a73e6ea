/* SPDX-License-Identifier: Apache-2.0
 * Random indexing, recurrent and random-number operators. */
#include "tests/random_draw.h"
#include <math.h>
#include <string.h>
#include "tests/random_draw_attrs.h"

/* ---- indexing -------------------------------------------------------------------------------- */

static wk_value_id positions(draw *d, int rank, const int64_t *dims, int64_t size) {
  if (size == 0) return WK_NONE;
  wk_dtype t = draw_chance(d, 70) ? WK_I64 : WK_I32;
  return draw_fresh(d, t, rank, dims, draw_chance(d, 60), draw_chance(d, 30) ? -(double)size : 0,
                    (double)size - 1);
}

wk_value_id draw_op_gather(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 1, 4);
  const wk_type t = *draw_type(d, x);
  int64_t dims[] = {draw_int(d, 1, 4), draw_int(d, 1, 3)};
  ATTRS(d, gather, GATHER);
  a->axis = draw_int(d, 0, t.rank - 1);
  return draw_2(d, op, a, x, positions(d, (int)draw_int(d, 0, 2), dims, t.dims[a->axis]));
}

wk_value_id draw_op_gather_elements(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 1, 4);
  const wk_type t = *draw_type(d, x);
  int64_t dims[WK_MAX_RANK], axis = draw_int(d, 0, t.rank - 1);
  for (int i = 0; i < t.rank; i++)
    dims[i] = i == axis ? draw_dim(d) : draw_int(d, t.dims[i] > 0, t.dims[i]);
  ATTRS(d, gather_elements, GATHER_ELEMENTS);
  a->axis = axis;
  return draw_2(d, op, a, x, positions(d, t.rank, dims, t.dims[axis]));
}

/* Coordinates of the first `depth` axes from `batch` on, all valid; WK_NONE: an axis is empty. */
static wk_value_id coordinates(draw *d, const wk_type *t, int batch, int depth, int64_t rows) {
  int64_t dims[WK_MAX_RANK], size = INT64_MAX;
  for (int i = 0; i < batch; i++) dims[i] = t->dims[i];
  for (int i = batch; i < batch + depth; i++) size = t->dims[i] < size ? t->dims[i] : size;
  dims[batch] = rows;
  dims[batch + 1] = depth;
  if (size == 0) return WK_NONE;
  return draw_fresh(d, WK_I64, batch + 2, dims, draw_chance(d, 50), 0, (double)size - 1);
}

wk_value_id draw_op_gather_nd(draw *d, wk_op op) {
  wk_value_id x = draw_anything(d, 2, 4);
  const wk_type t = *draw_type(d, x);
  ATTRS(d, gather_nd, GATHER_ND);
  a->batch_dims = draw_chance(d, 30);
  int depth = (int)draw_int(d, 1, t.rank - a->batch_dims);
  return draw_2(d, op, a, x, coordinates(d, &t, (int)a->batch_dims, depth, draw_int(d, 1, 3)));
}

static const char *reduction(draw *d, bool ordered) {
  static const char *const names[] = {"none", "add", "mul", "min", "max"};
  return names[draw_int(d, ordered ? 1 : 0, 4)];
}

/* Positions may repeat: then only combining is well defined. */
wk_value_id draw_op_scatter_elements(draw *d, wk_op op) {
  wk_value_id x = draw_real(d, 1, 4);
  const wk_type t = *draw_type(d, x);
  int64_t dims[WK_MAX_RANK], axis = draw_int(d, 0, t.rank - 1);
  for (int i = 0; i < t.rank; i++) dims[i] = i == axis ? draw_int(d, 1, 2) : t.dims[i];
  ATTRS(d, scatter_elements, SCATTER_ELEMENTS);
  a->axis = axis;
  a->reduction = reduction(d, dims[axis] > 1);
  const wk_value_id in[] = {x, positions(d, t.rank, dims, t.dims[axis]),
                            draw_of_type(d, t.dtype, t.rank, dims)};
  return draw_node(d, op, a, 3, in, 0);
}

wk_value_id draw_op_scatter_nd(draw *d, wk_op op) {
  wk_value_id x = draw_real(d, 1, 4);
  const wk_type t = *draw_type(d, x);
  int depth = (int)draw_int(d, 1, t.rank);
  int64_t rows = draw_int(d, 1, 3), dims[WK_MAX_RANK] = {rows};
  for (int i = depth; i < t.rank; i++) dims[1 + i - depth] = t.dims[i];
  ATTRS(d, scatter_nd, SCATTER_ND);
  a->reduction = reduction(d, rows > 1);
  const wk_value_id in[] = {x, coordinates(d, &t, 0, depth, rows),
                            draw_of_type(d, t.dtype, 1 + t.rank - depth, dims)};
  return draw_node(d, op, a, 3, in, 0);
}

wk_value_id draw_op_one_hot(draw *d, wk_op op) {
  int64_t dims[] = {draw_dim(d), draw_dim(d)}, two = 2;
  int rank = (int)draw_int(d, 0, 2);
  ATTRS(d, one_hot, ONE_HOT);
  a->depth = draw_int(d, 1, 5);
  a->axis = draw_int(d, 0, rank);
  return draw_2(d, op, a,
                draw_fresh(d, draw_chance(d, 80) ? WK_I64 : WK_I32, rank, dims, false, -6, 5),
                draw_fresh(d, WK_F32, 1, &two, true, -1, 1));
}

wk_value_id draw_op_resize(draw *d, wk_op op) {
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const maps[] = {"half_pixel", "asymmetric", "align_corners",
                                     "pytorch_half_pixel", "half_pixel_symmetric",
                                     "tf_half_pixel_for_nn"};
  static const char *const roundings[] = {
      "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  wk_value_id x = draw_image(d);
  const wk_type t = *draw_type(d, x);
  int64_t sizes[WK_MAX_RANK];
  double scales[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) {
    sizes[i] = i < 2 || draw_chance(d, 20) ? t.dims[i] : draw_int(d, 1, 2 * t.dims[i]);
    scales[i] = (double)sizes[i] / (double)t.dims[i];
  }
  ATTRS(d, resize, RESIZE);
  a->sizes = ints(d, sizes, t.rank);
  a->scales = wk_floats_dup(d->a, scales, t.rank);
  a->mode = modes[draw_int(d, 0, 2)];
  a->coordinates = maps[draw_int(d, 0, 5)];
  a->nearest = roundings[draw_int(d, 0, 3)];
  a->exclude_outside = draw_chance(d, 20);
  return draw_1(d, op, a, x);
}

wk_value_id draw_op_reverse_sequence(draw *d, wk_op op) {
  wk_value_id x = draw_real(d, 2, 4);
  const wk_type t = *draw_type(d, x);
  ATTRS(d, reverse_sequence, REVERSE_SEQUENCE);
  a->batch_axis = draw_int(d, 0, 1);
  a->time_axis = 1 - a->batch_axis;
  return draw_2(d, op, a, x, draw_fresh(d, WK_I64, 1, &t.dims[a->batch_axis], draw_chance(d, 50), 1,
                                        (double)t.dims[a->time_axis]));
}

wk_value_id draw_op_trilu(draw *d, wk_op op) {
  ATTRS(d, trilu, TRILU);
  a->upper = draw_chance(d, 50);
  const wk_value_id in[] = {draw_real(d, 2, 4), draw_number(d, WK_I64, (double)draw_int(d, -2, 2))};
  return draw_node(d, op, a, 1 + (uint32_t)draw_chance(d, 60), in, 0);
}

wk_value_id draw_op_cum_sum(draw *d, wk_op op) {
  wk_value_id x = draw_real(d, 1, 4);
  ATTRS(d, cum_sum, CUM_SUM);
  a->axis = draw_int(d, 0, draw_type(d, x)->rank - 1);
  a->exclusive = draw_chance(d, 40);
  a->reverse = draw_chance(d, 40);
  return draw_1(d, op, a, x);
}

wk_value_id draw_op_top_k(draw *d, wk_op op) {
  const int64_t few[] = {draw_int(d, 1, 3), draw_int(d, 2, 12)}; /* numbers, of which some repeat */
  wk_dtype type = draw_chance(d, 50) ? WK_U64 : draw_chance(d, 50) ? WK_I16 : WK_F32;
  wk_value_id x = draw_chance(d, 50) ? draw_fresh(d, type, 2, few, draw_chance(d, 50), 0, 4)
                                     : draw_operand(d, (draw_want){DRAW_FLOATS, 1, 4, true});
  const wk_type t = *draw_type(d, x);
  ATTRS(d, top_k, TOP_K);
  a->axis = draw_int(d, 0, t.rank - 1);
  a->k = draw_int(d, 1, t.dims[a->axis]);
  a->largest = draw_chance(d, 50);
  return draw_1(d, op, a, x);
}

/* Ascending bounds within 0..n, constants. */
static wk_value_id segment_bounds(draw *d, int64_t segments, int64_t n) {
  int64_t dims[] = {segments + 1}, at = draw_chance(d, 70) ? 0 : draw_int(d, 0, n);
  wk_dtype t = draw_chance(d, 50) ? WK_I64 : WK_I32;
  wk_value_id v = draw_fresh(d, t, 1, dims, true, 0, 0);
  for (int64_t k = 0; k <= segments; k++) {
    wk_store_i64(d->v.data[v].t.data, t, k, at);
    at = k + 1 == segments && draw_chance(d, 50) ? n : draw_int(d, at, n);
  }
  return v;
}

/* A table whose rows are bytes with an f32 or f16 scale and bias behind them. */
static wk_value_id fused_rows(draw *d, const wk_segment_rows *r, int64_t rows, int64_t bytes) {
  int64_t dims[] = {rows, bytes + 2 * r->tail};
  wk_value_id v = draw_fresh(d, WK_U8, 2, dims, true, 0, 255);
  uint8_t *to = (uint8_t *)d->v.data[v].t.data + bytes;
  for (int64_t k = 0; k < rows; k++, to += dims[1]) {
    double tail[] = {(double)draw_int(d, 1, 16) / 64, (double)draw_int(d, -8, 8) / 4};
    for (int j = 0; j < 2; j++) {
      uint32_t word = 0;
      wk_store_f64(&word, r->tail == 4 ? WK_F32 : WK_F16, 0, tail[j]);
      memcpy(to + j * r->tail, &word, (size_t)r->tail);
    }
  }
  return v;
}

wk_value_id draw_op_segment_reduce(draw *d, wk_op op) {
  static const char *const kinds[] = {"sum", "mean", "max"};
  static const char *const forms[] = {"plain", "plain", "plain", "fused8", "fused8_half", "fused4",
                                      "fused2"};
  int64_t rows = draw_int(d, 1, 9), n = draw_int(d, 1, 12), columns = draw_int(d, 1, 40);
  ATTRS(d, segment_reduce, SEGMENT_REDUCE);
  a->kind = kinds[draw_int(d, 0, 2)];
  a->rows = forms[draw_int(d, 0, 6)];
  a->padding = draw_chance(d, 20) ? draw_int(d, 0, rows - 1) : -1;
  a->empty = draw_chance(d, 50) ? 0 : -5;
  wk_segment_rows form = wk_segment_rows_of(a->rows);
  bool is_byte = !form.bits && draw_chance(d, 30), has_indices = draw_chance(d, 75);
  const int64_t dims[] = {rows, columns};
  wk_value_id in[6] = {WK_NONE, WK_NONE, WK_NONE, WK_NONE, WK_NONE, WK_NONE};
  if (form.bits) in[0] = fused_rows(d, &form, rows, draw_int(d, 1, 24));
  else if (is_byte) in[0] = draw_of_type(d, draw_chance(d, 50) ? WK_U8 : WK_I8, 2, dims);
  else in[0] = draw_of_type(d, draw_chance(d, 80) ? WK_F32 : WK_F64, 2, dims);
  a->to = draw_type(d, in[0])->dtype == WK_F64 ? WK_F64 : WK_F32;
  if (has_indices) in[2] = positions(d, 1, &n, rows);
  else n = rows;
  in[1] = segment_bounds(d, draw_int(d, 1, 5), n);
  if (draw_chance(d, 40)) in[3] = draw_fresh(d, a->to, 1, &n, draw_chance(d, 50), -1, 1);
  for (int k = 4; k < 6 && is_byte; k++)
    if (draw_chance(d, 60)) in[k] = draw_fresh(d, WK_F32, 1, &rows, draw_chance(d, 50), -1, 1);
  return draw_node(d, op, a, 6, in, 0);
}

wk_value_id draw_op_max_unpool(draw *d, wk_op op) {
  ATTRS(d, max_pool, MAX_POOL);
  a->kernel = a->strides = random_ints(d, 2, 2, 2);
  a->pads = random_ints(d, 4, 0, 0);
  a->dilations = random_ints(d, 2, 1, 1);
  int64_t dims[] = {1, draw_int(d, 1, 3), 4, 6};
  wk_value_id x = draw_of_type(d, WK_F32, 4, dims), y = draw_node(d, WK_OP_MAX_POOL, a, 1, &x, 2);
  if (y == WK_NONE) return y;
  wk_attr_max_unpool *u = wk_attrs_new(d->a, op);
  u->shape = ints(d, dims, 4);
  return draw_2(d, op, u, y, wk_nod(d->g, wk_val(d->g, y)->node)->out[1]);
}

wk_value_id draw_op_grid_sample(draw *d, wk_op op) {
  static const char *const modes[] = {"linear", "nearest", "cubic"};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  int n = (int)draw_int(d, 1, 3); /* axes */
  int64_t dims[] = {2, 2, draw_int(d, 1, 5), 4, 3}, points[] = {2, 3, 2, 2, 2};
  wk_value_id x = draw_of_type(d, WK_F32, n + 2, dims);
  ATTRS(d, grid_sample, GRID_SAMPLE);
  a->mode = modes[draw_int(d, 0, 2)];
  a->padding = paddings[draw_int(d, 0, 2)];
  a->align_corners = draw_chance(d, 50);
  a->pixels = draw_chance(d, 30);
  wk_value_id factors = draw_of_type(d, WK_F32, n + 1, points);
  points[n + 1] = n;
  const wk_value_id in[] = {x, draw_fresh(d, WK_F32, n + 2, points, false, -1.2, 1.2), factors};
  return draw_node(d, op, a, draw_chance(d, 50) ? 3 : 2, in, 1);
}

wk_value_id draw_op_roi_align(draw *d, wk_op op) {
  int64_t n = draw_int(d, 1, 3);
  ATTRS(d, roi_align, ROI_ALIGN);
  a->mode = draw_chance(d, 70) ? "avg" : "max";
  a->height = draw_int(d, 1, 3);
  a->width = draw_int(d, 1, 3);
  a->samples = draw_int(d, 0, 2);
  a->half_pixel = draw_chance(d, 50);
  const wk_value_id in[] = {draw_of_type(d, WK_F32, 4, (const int64_t[]){2, 2, 5, 6}),
                            draw_fresh(d, WK_F32, 2, (const int64_t[]){n, 4}, false, 0, 5),
                            draw_fresh(d, WK_I64, 1, &n, false, 0, 1)};
  return draw_node(d, op, a, 3, in, 0);
}

wk_value_id draw_op_non_max_suppression(draw *d, wk_op op) {
  int64_t n = draw_int(d, 2, 6);
  ATTRS(d, non_max_suppression, NON_MAX_SUPPRESSION);
  a->rows = draw_int(d, 1, 6);
  a->center_point = draw_chance(d, 40);
  a->overlap = (const char *const[]){"area", "corners", "pixels"}[a->rows % 3];
  const wk_value_id in[] = {draw_fresh(d, WK_F32, 3, (const int64_t[]){1, n, 4}, false, 0, 2),
                            draw_fresh(d, WK_F32, 3, (const int64_t[]){1, 2, n}, false, 0, 1),
                            draw_number(d, WK_I64, 3), draw_number(d, WK_F32, 0.5)};
  return draw_node(d, op, a, 4, in, 0);
}

wk_value_id draw_op_det(draw *d, wk_op op) {
  int64_t n = draw_int(d, 1, 4);
  return draw_1(d, op, NULL, draw_of_type(d, WK_F32, 3, (const int64_t[]){2, n, n}));
}

wk_value_id draw_op_recurrent(draw *d, wk_op op) {
  static const char *const directions[] = {"forward", "reverse", "bidirectional"};
  int64_t gates = op == WK_OP_LSTM ? 4 : op == WK_OP_GRU ? 3 : 1;
  wk_value_id x = draw_real(d, 3, 3);
  const wk_type t = *draw_type(d, x);
  wk_attr_rnn *a = wk_attrs_new(d->a, op); /* direction is the first field of all three */
  a->direction = directions[draw_int(d, 0, 2)];
  int64_t dir = a->direction == directions[2] ? 2 : 1, h = draw_int(d, 1, 4), n = t.dims[1];
  void *attrs = with(d, op, a, "linear_before_reset", draw_chance(d, 50));
  wk_dtype f = t.dtype;
  const int64_t state[] = {dir, n, h};
  const wk_value_id in[] = {
      x, draw_fresh(d, f, 3, (const int64_t[]){dir, gates * h, t.dims[2]}, true, -0.5, 0.5),
      draw_fresh(d, f, 3, (const int64_t[]){dir, gates * h, h}, true, -0.5, 0.5),
      draw_chance(d, 60)
          ? draw_fresh(d, f, 2, (const int64_t[]){dir, 2 * gates * h}, true, -0.5, 0.5)
                         : WK_NONE,
      draw_chance(d, 30) ? draw_fresh(d, WK_I32, 1, &n, draw_chance(d, 50), 1, (double)t.dims[0])
                         : WK_NONE,
      draw_chance(d, 50) ? draw_fresh(d, f, 3, state, false, -1, 1) : WK_NONE,
      draw_chance(d, 50) ? draw_fresh(d, f, 3, state, false, -1, 1) : WK_NONE};
  return draw_node(d, op, attrs, op == WK_OP_LSTM ? 7 : 6, in, op == WK_OP_LSTM ? 3 : 2);
}

wk_value_id draw_op_random_numbers(draw *d, wk_op op) {
  wk_attr_random_uniform *a = wk_attrs_new(d->a, op); /* the same kinds of fields in both */
  a->to = WK_F32;
  a->shape = random_ints(d, 2, 1, 5);
  a->seed = draw_int(d, 0, 99);
  return draw_node(d, op, a, 0, NULL, 0);
}

