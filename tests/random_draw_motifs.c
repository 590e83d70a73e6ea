/* SPDX-License-Identifier: Apache-2.0
 * Patterns of several nodes that passes look for, written in the ways exporters write them, and
 * some that only look like it. A node that is refused ends the pattern: what has been drawn stays.
 */
#include "tests/random_draw.h"

#define N(d, x, v) draw_number(d, draw_type(d, x)->dtype, v)

static wk_value_id add(draw *d, wk_value_id x, wk_value_id y) {
  return draw_chance(d, 50) ? draw_2(d, WK_OP_ADD, NULL, x, y) : draw_2(d, WK_OP_ADD, NULL, y, x);
}

static wk_value_id mul(draw *d, wk_value_id x, wk_value_id y) {
  return draw_chance(d, 50) ? draw_2(d, WK_OP_MUL, NULL, x, y) : draw_2(d, WK_OP_MUL, NULL, y, x);
}

/* x * v or x / (1 / v) */
static wk_value_id times(draw *d, wk_value_id x, double v) {
  if (x == WK_NONE) return x;
  return draw_chance(d, 50) ? mul(d, x, N(d, x, v)) : draw_2(d, WK_OP_DIV, NULL, x, N(d, x, 1 / v));
}

static wk_value_id plus(draw *d, wk_value_id x, double v) {
  return x == WK_NONE ? x : add(d, x, N(d, x, v));
}

static wk_value_id clip(draw *d, wk_value_id x, double lo, double hi) {
  if (x == WK_NONE) return x;
  if (draw_chance(d, 30))
    return draw_2(d, WK_OP_MIN, NULL, draw_2(d, WK_OP_MAX, NULL, x, N(d, x, lo)), N(d, x, hi));
  wk_attr_clip *a = wk_attrs_new(d->a, WK_OP_CLIP);
  a->lo = lo;
  a->hi = hi;
  return draw_1(d, WK_OP_CLIP, a, x);
}

static wk_value_id reduce(draw *d, wk_op op, wk_value_id x, int64_t axis) {
  wk_attr_reduce_sum *a = wk_attrs_new(d->a, op);
  a->axes = wk_ints_dup(d->a, &axis, 1);
  return draw_1(d, op, a, x);
}

static wk_value_id transpose(draw *d, wk_value_id x, const int64_t *perm) {
  if (x == WK_NONE) return x;
  wk_attr_transpose *a = wk_attrs_new(d->a, WK_OP_TRANSPOSE);
  a->perm = wk_ints_dup(d->a, perm, draw_type(d, x)->rank);
  return draw_1(d, WK_OP_TRANSPOSE, a, x);
}

static wk_value_id reshape(draw *d, wk_value_id x, int rank, const int64_t *dims) {
  wk_attr_reshape *a = wk_attrs_new(d->a, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(d->a, dims, rank);
  return draw_1(d, WK_OP_RESHAPE, a, x);
}

/* ---- activations ----------------------------------------------------------------------------- */

static void gelu(draw *d) {
  wk_value_id x = draw_real(d, 1, 4), e;
  if (draw_chance(d, 50)) {
    e = draw_1(d, WK_OP_ERF, NULL, times(d, x, 0.70710678118654752440));
  } else {
    wk_value_id cube = draw_chance(d, 50) ? draw_2(d, WK_OP_POW, NULL, x, N(d, x, 3))
                                          : mul(d, mul(d, x, x), x);
    e = times(d, add(d, x, times(d, cube, 0.044715)), 0.79788456080286535588);
    e = draw_1(d, WK_OP_TANH, NULL, e);
  }
  e = plus(d, e, 1);
  switch (draw_int(d, 0, 2)) {
  case 0: times(d, mul(d, x, e), 0.5); break;
  case 1: mul(d, times(d, x, 0.5), e); break;
  default: mul(d, x, times(d, e, draw_chance(d, 80) ? 0.5 : 0.25)); break;
  }
}

static void hard_swish(draw *d) {
  wk_value_id x = draw_real(d, 1, 4);
  if (draw_chance(d, 50)) {
    times(d, mul(d, x, clip(d, plus(d, x, 3), 0, 6)), 1.0 / 6);
  } else if (draw_chance(d, 50)) {
    wk_value_id g = times(d, clip(d, plus(d, x, draw_chance(d, 80) ? 3 : 2), 0, 6), 1.0 / 6);
    if (draw_chance(d, 50)) mul(d, x, g);
  } else {
    mul(d, x, clip(d, plus(d, times(d, x, 0.2), 0.5), 0, 1));
  }
}

static void smooth_gate(draw *d) {
  wk_value_id x = draw_real(d, 1, 4);
  if (draw_chance(d, 50)) {
    mul(d, x, draw_1(d, WK_OP_SIGMOID, NULL, x));
  } else if (draw_chance(d, 50)) {
    wk_value_id e = plus(d, draw_1(d, WK_OP_EXP, NULL, draw_1(d, WK_OP_NEG, NULL, x)), 1);
    draw_2(d, WK_OP_DIV, NULL, draw_chance(d, 50) ? x : N(d, x, 1), e);
  } else if (draw_chance(d, 50)) {
    mul(d, x, draw_1(d, WK_OP_TANH, NULL, draw_1(d, WK_OP_SOFTPLUS, NULL, x)));
  } else {
    draw_2(d, WK_OP_MAX, NULL, x, times(d, x, draw_chance(d, 80) ? 0.1 : 1.5));
  }
}

/* ---- norms ----------------------------------------------------------------------------------- */

static void softmax(draw *d) {
  wk_value_id x = draw_real(d, 2, 4);
  int64_t axis = draw_int(d, 0, draw_type(d, x)->rank - 1);
  wk_value_id s = draw_2(d, WK_OP_SUB, NULL, x, reduce(d, WK_OP_REDUCE_MAX, x, axis));
  wk_value_id e = draw_1(d, WK_OP_EXP, NULL, s);
  wk_value_id sum = reduce(d, WK_OP_REDUCE_SUM, e, axis);
  if (draw_chance(d, 60)) draw_2(d, WK_OP_DIV, NULL, e, sum);
  else if (draw_chance(d, 50)) mul(d, e, draw_1(d, WK_OP_RECIPROCAL, NULL, sum));
  else draw_2(d, WK_OP_SUB, NULL, s, draw_1(d, WK_OP_LOG, NULL, sum));
}

static void layer_norm(draw *d) {
  wk_value_id x = draw_real(d, 2, 4);
  const wk_type t = *draw_type(d, x);
  int64_t axis = draw_chance(d, 85) ? t.rank - 1 : 0;
  wk_value_id c = draw_2(d, WK_OP_SUB, NULL, x, reduce(d, WK_OP_REDUCE_MEAN, x, axis));
  if (c == WK_NONE) return;
  wk_value_id sq = draw_chance(d, 50) ? draw_2(d, WK_OP_POW, NULL, c, N(d, x, 2)) : mul(d, c, c);
  wk_value_id var = plus(d, reduce(d, WK_OP_REDUCE_MEAN, sq, axis), 0.01);
  wk_value_id dev = draw_1(d, WK_OP_SQRT, NULL, var), y;
  if (draw_chance(d, 60)) y = draw_2(d, WK_OP_DIV, NULL, c, dev);
  else y = mul(d, c, draw_1(d, WK_OP_RECIPROCAL, NULL, dev));
  if (draw_chance(d, 80))
    y = mul(d, y, draw_fresh(d, t.dtype, 1, &t.dims[t.rank - 1], true, 0.5, 2));
  if (draw_chance(d, 80)) add(d, y, draw_fresh(d, t.dtype, 1, &t.dims[t.rank - 1], true, -1, 1));
}

/* ---- scales around convolutions -------------------------------------------------------------- */

static wk_value_id channel_op(draw *d, wk_value_id x) {
  static const wk_op ops[] = {WK_OP_MUL, WK_OP_ADD, WK_OP_SUB, WK_OP_DIV};
  if (x == WK_NONE) return x;
  const wk_type t = *draw_type(d, x);
  int64_t dims[WK_MAX_RANK];
  if (t.rank < 2) return x;
  if (draw_chance(d, 30)) {
    wk_value_id in[5] = {x};
    for (int k = 1; k < 5; k++)
      in[k] = draw_fresh(d, t.dtype, 1, &t.dims[1], true, k == 4 ? 0.5 : -1, 1.5);
    return draw_node(d, WK_OP_BATCH_NORM, NULL, 5, in, 0);
  }
  dims[0] = t.dims[1];
  for (int i = 1; i < t.rank - 1; i++) dims[i] = 1;
  wk_value_id c = draw_chance(d, 25) ? N(d, x, 1.75)
                                     : draw_fresh(d, t.dtype, t.rank - 1, dims, true, 0.5, 1.5);
  wk_op op = ops[draw_int(d, 0, 3)];
  return draw_chance(d, 25) ? draw_2(d, op, NULL, c, x) : draw_2(d, op, NULL, x, c);
}

static wk_value_id last(draw *d) { /* the node drawn last */
  for (size_t i = d->v.n; i-- > 0;)
    if (d->v.data[i].is_open && wk_val(d->g, (wk_value_id)i)->kind == WK_VALUE_NODE)
      return (wk_value_id)i;
  return WK_NONE;
}

static void scaled_contraction(draw *d) {
  static const wk_op ops[] = {WK_OP_CONV, WK_OP_CONV, WK_OP_MATMUL, WK_OP_CONV_TRANSPOSE,
                              WK_OP_BATCH_NORM};
  if (draw_chance(d, 40)) channel_op(d, draw_real(d, 3, 4));
  if (!draw_operator(d, ops[draw_int(d, 0, 4)])) return;
  wk_value_id y = last(d);
  for (int64_t n = draw_int(d, 1, 3); n > 0 && y != WK_NONE; n--) y = channel_op(d, y);
  if (draw_chance(d, 40)) draw_operator(d, WK_OP_CONV);
}

/* A contraction plus something of its size, or of less along some axes: a residual. */
static void residual(draw *d) {
  static const wk_op ops[] = {WK_OP_CONV, WK_OP_MATMUL, WK_OP_CONV_TRANSPOSE};
  if (!draw_operator(d, ops[draw_int(d, 0, 2)])) return;
  wk_value_id y = last(d);
  if (y == WK_NONE) return;
  const wk_type t = *draw_type(d, y);
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) dims[i] = draw_chance(d, 20) ? 1 : t.dims[i];
  y = add(d, y, draw_of_type(d, t.dtype, t.rank, dims));
  if (draw_chance(d, 50)) draw_1(d, WK_OP_RELU, NULL, y);
}

/* One operand of a product is broadcast, along what is summed or along its rows or columns. */
static void broadcast_product(draw *d) {
  int64_t dims[] = {draw_dim(d), draw_dim(d), draw_dim(d), draw_dim(d)}, small[3];
  const int64_t wide[2][3] = {{dims[0], dims[1], dims[2]}, {dims[0], dims[2], dims[3]}};
  int64_t which = draw_int(d, 0, 1);
  wk_value_id in[2];
  for (int i = 0; i < 3; i++) small[i] = draw_chance(d, 50) ? 1 : wide[which][i];
  wk_attr_expand *a = wk_attrs_new(d->a, WK_OP_EXPAND);
  a->shape = wk_ints_dup(d->a, wide[which], 3);
  in[which] = draw_1(d, WK_OP_EXPAND, a, draw_of_type(d, WK_F32, 3, small));
  in[1 - which] = draw_of_type(d, WK_F32, 3, wide[1 - which]);
  draw_2(d, WK_OP_MATMUL, NULL, in[0], in[1]);
}

static void padded_window(draw *d) {
  static const wk_op ops[] = {WK_OP_CONV, WK_OP_AVG_POOL, WK_OP_MAX_POOL, WK_OP_LP_POOL};
  wk_value_id x = draw_real(d, 3, 4);
  int64_t amounts[WK_MAX_RANK] = {0}, rank = draw_type(d, x)->rank;
  wk_attr_pad *a = wk_attrs_new(d->a, WK_OP_PAD);
  for (int64_t i = 2; i < rank; i++) amounts[i] = draw_int(d, 0, 2);
  a->before = wk_ints_dup(d->a, amounts, rank);
  for (int64_t i = 2; i < rank; i++) amounts[i] = draw_int(d, 0, 2);
  a->after = wk_ints_dup(d->a, amounts, rank);
  if (draw_1(d, WK_OP_PAD, a, x) != WK_NONE) draw_operator(d, ops[draw_int(d, 0, 3)]);
}

/* ---- movement -------------------------------------------------------------------------------- */

static wk_value_id elementwise(draw *d, wk_value_id x) {
  static const wk_op ops[] = {WK_OP_RELU, WK_OP_SIGMOID, WK_OP_TANH, WK_OP_NEG};
  if (x == WK_NONE) return x;
  if (draw_chance(d, 50)) return draw_1(d, ops[draw_int(d, 0, 3)], NULL, x);
  return draw_2(d, draw_chance(d, 50) ? WK_OP_ADD : WK_OP_MUL, NULL, x, draw_beside(d, x, false));
}

/* A slice, or padding, with other numbers on every axis. */
static wk_value_id cut_or_padded(draw *d, wk_value_id x) {
  const wk_type t = *draw_type(d, x);
  bool cuts = draw_chance(d, 50);
  int64_t first[WK_MAX_RANK], second[WK_MAX_RANK], ones[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) {
    first[i] = draw_int(d, 0, cuts ? t.dims[i] - 1 : 2);
    second[i] = cuts ? draw_int(d, 1, t.dims[i] - first[i]) : draw_int(d, 0, 2);
    ones[i] = 1;
  }
  if (!cuts) {
    wk_attr_pad *a = wk_attrs_new(d->a, WK_OP_PAD);
    a->before = wk_ints_dup(d->a, first, t.rank);
    a->after = wk_ints_dup(d->a, second, t.rank);
    return draw_1(d, WK_OP_PAD, a, x);
  }
  wk_attr_slice *a = wk_attrs_new(d->a, WK_OP_SLICE);
  a->starts = wk_ints_dup(d->a, first, t.rank);
  a->sizes = wk_ints_dup(d->a, second, t.rank);
  a->steps = wk_ints_dup(d->a, ones, t.rank);
  return draw_1(d, WK_OP_SLICE, a, x);
}

/* An operator whose attributes name axes. */
static wk_value_id along_axes(draw *d, wk_value_id x) {
  const wk_type t = *draw_type(d, x);
  int64_t axis = draw_int(d, 0, t.rank - 1);
  if (draw_chance(d, 50)) return cut_or_padded(d, x);
  if (draw_chance(d, 30)) {
    wk_attr_concat *a = wk_attrs_new(d->a, WK_OP_CONCAT);
    a->axis = axis;
    return draw_2(d, WK_OP_CONCAT, a, x, draw_of_type(d, t.dtype, t.rank, t.dims));
  }
  if (draw_chance(d, 50)) {
    wk_attr_softmax *a = wk_attrs_new(d->a, WK_OP_SOFTMAX);
    a->axis = axis;
    return draw_1(d, WK_OP_SOFTMAX, a, x);
  }
  const int64_t axes[] = {axis, t.rank - 1};
  wk_attr_reduce_max *a = wk_attrs_new(d->a, WK_OP_REDUCE_MAX);
  a->axes = wk_ints_dup(d->a, axes, axis < t.rank - 1 ? draw_int(d, 1, 2) : 1);
  return draw_1(d, WK_OP_REDUCE_MAX, a, x);
}

/* transpose, something, a transpose that may undo the first. */
static void around_transposes(draw *d) {
  wk_value_id x = draw_real(d, 2, 5);
  int rank = draw_type(d, x)->rank;
  int64_t perm[WK_MAX_RANK], back[WK_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = (i + (rank > 2 && i ? 1 : 0)) % rank;
  if (rank > 2) perm[rank - 1] = 1;
  else perm[0] = 1, perm[1] = 0;
  for (int i = 0; i < rank; i++) back[perm[i]] = i;
  wk_value_id y = transpose(d, x, perm);
  if (y == WK_NONE) return;
  for (int64_t n = draw_int(d, 1, 3); n > 0 && y != WK_NONE; n--)
    y = draw_chance(d, 30) ? along_axes(d, y) : elementwise(d, y);
  if (y == WK_NONE) return;
  if (draw_chance(d, 30)) y = add(d, y, transpose(d, draw_of_type(d, draw_type(d, x)->dtype, rank,
                                                                  draw_type(d, x)->dims), perm));
  if (draw_chance(d, 25) && y != WK_NONE) y = reduce(d, WK_OP_REDUCE_MEAN, y, rank - 1);
  if (draw_chance(d, 80)) transpose(d, y, back);
}

static void around_reshapes(draw *d) {
  wk_value_id x = draw_real(d, 2, 4);
  const wk_type t = *draw_type(d, x);
  int64_t dims[] = {t.dims[0] * t.dims[1], 1};
  for (int i = 2; i < t.rank; i++) dims[1] *= t.dims[i];
  wk_value_id y = reshape(d, x, draw_chance(d, 50) && t.rank > 2 ? 2 : 1,
                          (int64_t[]){dims[0] * (t.rank > 2 ? 1 : 1), dims[1]});
  if (y == WK_NONE) y = reshape(d, x, 1, (int64_t[]){wk_type_count(&t)});
  for (int64_t n = draw_int(d, 0, 2); n > 0 && y != WK_NONE; n--) y = elementwise(d, y);
  if (y == WK_NONE) return;
  if (draw_chance(d, 70)) reshape(d, y, t.rank, t.dims);
  else add(d, reshape(d, x, draw_type(d, y)->rank, draw_type(d, y)->dims), y);
}

static void cut_and_join(draw *d) {
  wk_value_id x = draw_real(d, 1, 4), parts[4];
  const wk_type t = *draw_type(d, x);
  wk_attr_split *s = wk_attrs_new(d->a, WK_OP_SPLIT);
  wk_attr_concat *c = wk_attrs_new(d->a, WK_OP_CONCAT);
  s->axis = draw_int(d, 0, t.rank - 1);
  c->axis = draw_chance(d, 80) ? s->axis : 0;
  int64_t sizes[3], n = draw_parts(d, t.dims[s->axis], sizes, 3);
  s->sizes = wk_ints_dup(d->a, sizes, n);
  wk_value_id y = draw_node(d, WK_OP_SPLIT, s, 1, &x, (uint32_t)n);
  if (y == WK_NONE) return;
  for (int64_t k = 0; k < n; k++) parts[k] = wk_nod(d->g, wk_val(d->g, y)->node)->out[k];
  if (draw_chance(d, 30)) parts[0] = elementwise(d, parts[0]);
  if (parts[0] == WK_NONE) return;
  y = draw_node(d, WK_OP_CONCAT, c, (uint32_t)n, parts, 0);
  if (y != WK_NONE && draw_chance(d, 50)) draw_operator(d, WK_OP_SLICE);
  else if (y != WK_NONE) draw_node(d, WK_OP_SPLIT, s, 1, &y, (uint32_t)n);
}

/* ---- attention ------------------------------------------------------------------------------- */

static void attention(draw *d) {
  static const int64_t heads[] = {0, 2, 1, 3}, keys[] = {0, 2, 3, 1};
  int64_t dims[] = {draw_int(d, 1, 2), draw_int(d, 2, 5), 2, draw_int(d, 2, 4)};
  wk_value_id x = draw_of_type(d, WK_F32, 4, dims), k = draw_of_type(d, WK_F32, 4, dims);
  wk_value_id q = transpose(d, x, heads), v = transpose(d, draw_of_type(d, WK_F32, 4, dims), heads);
  if (draw_chance(d, 30)) q = times(d, q, 0.5);
  wk_value_id s = draw_2(d, WK_OP_MATMUL, NULL, q, transpose(d, k, keys));
  if (draw_chance(d, 70)) s = times(d, s, 0.25);
  int64_t mask[] = {dims[0], 1, draw_chance(d, 50) ? 1 : dims[1], dims[1]};
  if (draw_chance(d, 60) && s != WK_NONE) s = add(d, s, draw_of_type(d, WK_F32, 4, mask));
  wk_attr_softmax *a = wk_attrs_new(d->a, WK_OP_SOFTMAX);
  a->axis = 3;
  transpose(d, draw_2(d, WK_OP_MATMUL, NULL, draw_1(d, WK_OP_SOFTMAX, a, s), v), heads);
}

/* A large constant of bytes that differ by 3 or 15 at most, dequantised. */
static void few_bits(draw *d) {
  wk_dtype t = draw_chance(d, 50) ? WK_I8 : WK_U8;
  const int64_t dims[] = {draw_int(d, 32, 36), 8, draw_int(d, 4, 6)};
  double least = (double)draw_int(d, 0, 100) - (t == WK_I8 ? 128 : 0);
  double most = least + (draw_chance(d, 50) ? 3 : 15);
  const wk_value_id in[] = {draw_fresh(d, t, 3, dims, true, least, most),
                            draw_number(d, WK_F32, 0.125), draw_number(d, t, least + 1)};
  wk_value_id y = draw_node(d, WK_OP_DEQUANTIZE, NULL, 3, in, 1);
  if (y != WK_NONE && draw_chance(d, 50)) mul(d, y, draw_of_type(d, WK_F32, 1, dims + 2));
}

void draw_motif(draw *d) {
  static void (*const motifs[])(draw *) = {
      gelu, hard_swish, smooth_gate, softmax, layer_norm, scaled_contraction, scaled_contraction,
      residual, residual, broadcast_product, padded_window, around_transposes, around_transposes,
      around_reshapes, cut_and_join, attention, few_bits, draw_cached_attention,
      draw_cached_attention, draw_rms_norm, draw_packed_product};
  motifs[draw_int(d, 0, (int64_t)WK_COUNTOF(motifs) - 1)](d);
}
