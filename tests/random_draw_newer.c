/* SPDX-License-Identifier: Apache-2.0
 * Patterns that the newer operators of ONNX become: narrow types with a scale for each block,
 * normalisation by the root of the mean square, rotation of pairs, caches that grow, running
 * products, columns back to images. A node that is refused ends the pattern. */
#include "tests/random_draw_newer.h"

#include <stdlib.h>

static wk_value_id reshape(draw *d, wk_value_id x, int rank, const int64_t *dims) {
  wk_attr_reshape *a = wk_attrs_new(d->a, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(d->a, dims, rank);
  return draw_1(d, WK_OP_RESHAPE, a, x);
}

static wk_value_id cast(draw *d, wk_value_id x, wk_dtype to) {
  wk_attr_cast *a = wk_attrs_new(d->a, WK_OP_CAST);
  a->to = to;
  return draw_1(d, WK_OP_CAST, a, x);
}

static wk_value_id number(draw *d, wk_value_id like, double v) {
  return draw_number(d, draw_type(d, like)->dtype, v);
}

/* ---- narrow types ---------------------------------------------------------------------------- */

/* Quantised to bytes, cut to 4 or 2 bits (limited first, or wrapped), stored as these and brought
 * back, with one scale and zero point for each block. */
static wk_value_id blocks_of_integers(draw *d, wk_value_id x, const int64_t *scales) {
  static const struct { wk_dtype narrow, byte; double lo, hi; } types[] = {
      {WK_I4, WK_I8, -8, 7}, {WK_U4, WK_U8, 0, 15}, {WK_I2, WK_I8, -2, 1}, {WK_U2, WK_U8, 0, 3}};
  const int64_t pick = draw_int(d, 0, (int64_t)WK_COUNTOF(types) - 1);
  const wk_dtype byte = types[pick].byte;
  wk_attr_quantize *a = wk_attrs_new(d->a, WK_OP_QUANTIZE);
  wk_attr_clip *limits = wk_attrs_new(d->a, WK_OP_CLIP);
  a->to = byte;
  limits->lo = types[pick].lo, limits->hi = types[pick].hi;
  wk_value_id s = draw_fresh(d, WK_F32, 3, scales, draw_chance(d, 80), 0.2, 0.9);
  wk_value_id z = draw_fresh(d, byte, 3, scales, true, 0, 1);
  wk_value_id q = draw_node(d, WK_OP_QUANTIZE, a, 3, (wk_value_id[]){x, s, z}, 0);
  if (draw_chance(d, 80)) q = draw_1(d, WK_OP_CLIP, limits, q);
  q = cast(d, cast(d, q, types[pick].narrow), byte);
  return q == WK_NONE ? q : draw_node(d, WK_OP_DEQUANTIZE, NULL, 3, (wk_value_id[]){q, s, z}, 0);
}

/* Narrow floats, with a scale for each block, which may be a power of two stored as one. */
static wk_value_id blocks_of_floats(draw *d, wk_value_id x, const int64_t *scales) {
  static const wk_dtype types[] = {WK_F8E4M3FN, WK_F8E4M3FNUZ, WK_F8E5M2, WK_F8E5M2FNUZ,
                                   WK_F4E2M1FN, WK_F6E2M3FN, WK_F6E3M2FN};
  wk_dtype to = types[draw_int(d, 0, (int64_t)WK_COUNTOF(types) - 1)];
  wk_value_id s = draw_fresh(d, WK_F32, 3, scales, draw_chance(d, 80), 0.25, 2);
  if (draw_chance(d, 40)) s = cast(d, cast(d, s, WK_F8E8M0FNU), WK_F32);
  return draw_2(d, WK_OP_MUL, NULL, cast(d, cast(d, x, to), WK_F32), s);
}

static void narrow_blocks(draw *d) {
  int64_t rows = draw_int(d, 1, 4), n = draw_int(d, 1, 3), block = draw_chance(d, 50) ? 4 : 5;
  const int64_t flat[] = {rows, n * block}, cut[] = {rows, n, block}, scales[] = {rows, n, 1};
  wk_value_id x = reshape(d, draw_fresh(d, WK_F32, 2, flat, false, -3, 3), 3, cut);
  if (x == WK_NONE) return;
  wk_value_id y = draw_chance(d, 50) ? blocks_of_integers(d, x, scales)
                                     : blocks_of_floats(d, x, scales);
  y = reshape(d, y, 2, flat);
  if (y == WK_NONE || draw_chance(d, 50)) return;
  const int64_t dims[] = {draw_dim(d), rows};
  draw_2(d, WK_OP_MATMUL, NULL, draw_of_type(d, WK_F32, 2, dims), y); /* weights in blocks */
}

/* ---- normalisation, rotation ----------------------------------------------------------------- */

static void root_mean_square(draw *d) {
  wk_value_id x = draw_real(d, 2, 4);
  const wk_type t = *draw_type(d, x);
  const int64_t last = t.rank - 1;
  wk_attr_reduce_mean *a = wk_attrs_new(d->a, WK_OP_REDUCE_MEAN);
  a->axes = wk_ints_dup(d->a, &last, 1);
  wk_value_id m = draw_1(d, WK_OP_REDUCE_MEAN, a, draw_2(d, WK_OP_MUL, NULL, x, x));
  if (m == WK_NONE) return;
  wk_value_id r = draw_1(d, WK_OP_SQRT, NULL, draw_2(d, WK_OP_ADD, NULL, m, number(d, m, 0.01)));
  if (r == WK_NONE) return;
  wk_value_id y = draw_chance(d, 50)
                      ? draw_2(d, WK_OP_DIV, NULL, x, r)
                      : draw_2(d, WK_OP_MUL, NULL, x, draw_1(d, WK_OP_RECIPROCAL, NULL, r));
  draw_2(d, WK_OP_MUL, NULL, y,
         draw_fresh(d, t.dtype, 1, &t.dims[last], draw_chance(d, 80), 0.5, 1.5));
}

static wk_value_id part(draw *d, wk_value_id x, const wk_type *t, int64_t from, int64_t step) {
  int64_t starts[WK_MAX_RANK] = {0};
  wk_type half = *t;
  int last = t->rank - 1;
  starts[last] = from;
  half.dims[last] = t->dims[last] / 2;
  wk_attr_slice *a = wk_attrs_new(d->a, WK_OP_SLICE);
  a->starts = wk_ints_dup(d->a, starts, t->rank);
  a->sizes = wk_ints_dup(d->a, half.dims, t->rank);
  a->steps = wk_ints_fill(d->a, t->rank, 1);
  ((int64_t *)(uintptr_t)a->steps.v)[last] = step;
  return draw_1(d, WK_OP_SLICE, a, x);
}

/* Halves, or neighbours, are turned by an angle for each position. */
static void rotation(draw *d) {
  int64_t dims[] = {draw_int(d, 1, 2), draw_int(d, 1, 3), draw_int(d, 2, 5), 2 * draw_int(d, 1, 3)};
  wk_dtype dtype = draw_chance(d, 70) ? WK_F32 : draw_chance(d, 50) ? WK_F16 : WK_BF16;
  bool pairs = draw_chance(d, 40);
  const wk_type t = wk_type_make(dtype, 4, dims);
  wk_value_id x = draw_of_type(d, dtype, 4, dims);
  int64_t half = dims[3] / 2, angles[] = {dims[2], half};
  wk_value_id a = part(d, x, &t, 0, pairs ? 2 : 1), b = part(d, x, &t, pairs ? 1 : half,
                                                             pairs ? 2 : 1);
  wk_value_id c = draw_fresh(d, dtype, 2, angles, true, -1, 1);
  wk_value_id s = draw_fresh(d, dtype, 2, angles, true, -1, 1);
  wk_value_id u = draw_2(d, WK_OP_SUB, NULL, draw_2(d, WK_OP_MUL, NULL, a, c),
                         draw_2(d, WK_OP_MUL, NULL, b, s));
  wk_value_id v = draw_2(d, WK_OP_ADD, NULL, draw_2(d, WK_OP_MUL, NULL, a, s),
                         draw_2(d, WK_OP_MUL, NULL, b, c));
  wk_attr_concat *j = wk_attrs_new(d->a, WK_OP_CONCAT);
  j->axis = pairs ? 4 : 3;
  if (u == WK_NONE || v == WK_NONE) return;
  const int64_t open[] = {dims[0], dims[1], dims[2], half, 1};
  if (pairs) u = reshape(d, u, 5, open), v = reshape(d, v, 5, open);
  if (u == WK_NONE || v == WK_NONE) return;
  wk_value_id y = draw_node(d, WK_OP_CONCAT, j, 2, (wk_value_id[]){u, v}, 0);
  if (pairs) reshape(d, y, 4, dims);
}

/* ---- caches, columns ------------------------------------------------------------------------- */

/* Steps are written at the place that a value says, of each sample: a scatter of slices. */
static void cache(draw *d) {
  int64_t batch = draw_int(d, 1, 2), length = draw_int(d, 3, 6), width = draw_dim(d);
  int64_t steps = draw_int(d, 1, 2), dims[] = {batch, length, width}, new[] = {batch, steps, width};
  wk_dtype dtype = draw_chance(d, 60) ? WK_F32 : draw_chance(d, 50) ? WK_F16 : WK_I8;
  wk_value_id x = draw_of_type(d, dtype, 3, dims), y = draw_of_type(d, dtype, 3, new);
  int64_t rows[] = {batch, steps, 1};
  wk_value_id at = draw_fresh(d, WK_I64, 3, rows, draw_chance(d, 50), 0, (double)(length - 1));
  if (batch != 1 || steps != 1 || at == WK_NONE) return; /* else two could meet */
  const int64_t flat[] = {length, width}, step[] = {1, width}, one[] = {1, 1};
  wk_value_id in[] = {reshape(d, x, 2, flat), reshape(d, at, 2, one), reshape(d, y, 2, step)};
  for (int k = 0; k < 3; k++)
    if (in[k] == WK_NONE) return;
  reshape(d, draw_node(d, WK_OP_SCATTER_ND, NULL, 3, in, 0), 3, dims);
}

/* Values are read by position and summed, as columns that overlap are. */
static void columns(draw *d) {
  int64_t n = draw_int(d, 2, 4), k = draw_int(d, 2, 6), dims[] = {draw_dim(d), k};
  const int64_t places[] = {n, draw_int(d, 1, 3)}, axes[] = {2};
  wk_value_id x = draw_real(d, 2, 2);
  if (draw_type(d, x)->dims[1] < 2) x = draw_of_type(d, WK_F32, 2, dims);
  k = draw_type(d, x)->dims[1];
  wk_attr_gather *a = wk_attrs_new(d->a, WK_OP_GATHER);
  a->axis = 1;
  wk_value_id at = draw_fresh(d, WK_I64, 2, places, true, 0, (double)(k - 1));
  wk_attr_reduce_sum *r = wk_attrs_new(d->a, WK_OP_REDUCE_SUM);
  r->axes = wk_ints_dup(d->a, axes, 1);
  r->keepdims = 0;
  draw_1(d, WK_OP_REDUCE_SUM, r, draw_2(d, WK_OP_GATHER, a, x, at));
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* A running product along an axis, or another fold. */
static void running_fold(draw *d) {
  static const wk_op folds[] = {WK_OP_MUL, WK_OP_ADD, WK_OP_MAX, WK_OP_MIN};
  wk_dtype dtype = draw_chance(d, 70) ? WK_F32 : draw_chance(d, 50) ? WK_F64 : WK_I32;
  int64_t dims[] = {draw_dim(d), draw_int(d, 1, 4), draw_dim(d)};
  int rank = (int)draw_int(d, 1, 3), axis = (int)draw_int(d, 0, rank - 1);
  wk_value_id x = dtype == WK_I32 ? draw_of_type(d, dtype, rank, dims)
                                  : draw_fresh(d, dtype, rank, dims, false, 0.5, 1.5);
  const wk_type i64 = wk_type_make(WK_I64, 0, NULL);
  wk_type slice = wk_type_make(dtype, 0, NULL);
  for (int i = 0; i < rank; i++)
    if (i != axis) slice.dims[slice.rank++] = dims[i];
  wk_value_id first = draw_fresh(d, dtype, slice.rank, slice.dims, draw_chance(d, 50), 1, 1.5);
  wk_graph *body = wk_graph_new(d->g->module, wk_arena_printf(d->a, "body%zu", d->g->nodes.n));
  wk_graph_input(body, NULL, &i64);
  wk_value_id in[2] = {wk_graph_input(body, "state", &slice), wk_graph_input(body, "x", &slice)};
  const wk_node_desc fold = {.op = folds[draw_int(d, 0, 3)], .in = in, .n_in = 2, .n_out = 1};
  wk_value_id after;
  wk_status s = wk_graph_add(body, &fold, &after);
  if (s) abort();
  wk_graph_output(body, "next", after);
  wk_graph_output(body, "read", draw_chance(d, 30) ? in[0] : after);
  wk_attr_loop *a = wk_attrs_new(d->a, WK_OP_LOOP);
  a->trip = dims[axis];
  a->n_state = a->n_scan = 1;
  a->scan_axes = a->out_axes = wk_ints_fill(d->a, 1, axis);
  a->scan_reverse = a->out_reverse = wk_ints_fill(d->a, 1, draw_chance(d, 40));
  const wk_value_id all[] = {WK_NONE, first, x};
  const wk_node_desc loop = {.op = WK_OP_LOOP, .attrs = a, .in = all, .n_in = 3, .n_out = 2,
                             .bodies = &body, .n_bodies = 1};
  draw_desc(d, &loop);
}

void draw_newer_motif(draw *d) {
  static void (*const motifs[])(draw *) = {narrow_blocks, narrow_blocks, root_mean_square,
                                           rotation, cache, columns, running_fold};
  motifs[draw_int(d, 0, (int64_t)WK_COUNTOF(motifs) - 1)](d);
}
