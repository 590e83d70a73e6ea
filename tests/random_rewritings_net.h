/* SPDX-License-Identifier: Apache-2.0
 * Private to the rewritings: short forms for writing quantised networks. Every value is real, f32;
 * `rounded` puts a pair of quantise and dequantise behind one. */
#ifndef WICK_TESTS_RANDOM_REWRITINGS_NET_H
#define WICK_TESTS_RANDOM_REWRITINGS_NET_H

#include <math.h>

#include "compiler/ir/ir.h"

typedef struct {
  wk_module *m;
  wk_graph *g;
  wk_rng r;
  uint64_t constants; /* so far: no two are equal */
} net;

typedef struct {
  int rank;
  const int64_t *dims;
} shape;
#define SHAPE(...) \
  ((shape){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}})

static inline int64_t pick(net *n, int64_t lo, int64_t hi) { return wk_rng_range(&n->r, lo, hi); }
static inline int64_t channels(net *n) {
  static const int64_t usual[] = {16, 24, 32, 40, 48, 64, 80, 96};
  return usual[pick(n, 0, 7)];
}
static inline const wk_type *type_of(const net *n, wk_value_id v) { return &wk_val(n->g, v)->type; }
static inline wk_ints list(net *n, shape s) { return wk_ints_dup(n->m->arena, s.dims, s.rank); }

/* ---- numbers --------------------------------------------------------------------------------- */

static inline wk_value_id number(net *n, double v) { return wk_graph_scalar(n->g, WK_F32, v); }

static inline wk_value_id constant(net *n, wk_dtype dtype, shape s, double lo, double hi) {
  wk_type t = wk_type_make(dtype, s.rank, s.dims);
  wk_rng r = {++n->constants};
  wk_value_id v;
  void *data;
  wk_status_free(wk_graph_constant_alloc(n->g, NULL, &t, &v, &data));
  for (int64_t i = 0; i < wk_type_count(&t); i++) {
    double x = lo + (hi - lo) * wk_rng_unit(&r);
    if (dtype == WK_F32) wk_store_f64(data, dtype, i, x);
    else wk_store_i64(data, dtype, i, (int64_t)x);
  }
  return v;
}

static inline wk_value_id numbers(net *n, shape s, double lo, double hi) {
  return constant(n, WK_F32, s, lo, hi);
}

static inline wk_value_id dequantized(net *n, wk_value_id q, double scale, int64_t zero) {
  wk_dtype t = type_of(n, q)->dtype;
  return wk_build(n->g, WK_OP_DEQUANTIZE, NULL, 3, q, number(n, scale),
                  wk_graph_scalar(n->g, t, (double)zero));
}

enum { ZERO = 120 };
#define SCALE 0.02
#define WEIGHT_SCALE 0.001

static inline wk_value_id rounded_as(net *n, wk_value_id v, double scale, int64_t zero) {
  wk_attr_quantize *a = wk_attrs_new(n->m->arena, WK_OP_QUANTIZE);
  a->to = WK_U8;
  wk_value_id q = wk_build(n->g, WK_OP_QUANTIZE, a, 3, v, number(n, scale),
                           wk_graph_scalar(n->g, WK_U8, (double)zero));
  return dequantized(n, q, scale, zero);
}
static inline wk_value_id rounded(net *n, wk_value_id v) { return rounded_as(n, v, SCALE, ZERO); }

static inline wk_value_id weights(net *n, shape s) {
  return dequantized(n, constant(n, WK_I8, s, -127, 127), WEIGHT_SCALE, 0);
}
static inline wk_value_id bias(net *n, int64_t size) {
  return dequantized(n, constant(n, WK_I32, SHAPE(size), -1000, 1000), SCALE * WEIGHT_SCALE, 0);
}

static inline wk_value_id input(net *n, shape s) {
  wk_type t = wk_type_make(WK_U8, s.rank, s.dims);
  return dequantized(n, wk_graph_input(n->g, NULL, &t), SCALE, ZERO);
}
/* Of what is rounded: the integers, or what moves them. */
static inline void output(net *n, wk_value_id v) {
  wk_attr_quantize *a = wk_attrs_new(n->m->arena, WK_OP_QUANTIZE);
  a->to = WK_U8;
  wk_graph_output(n->g, NULL,
                  wk_build(n->g, WK_OP_QUANTIZE, a, 3, v, number(n, SCALE),
                           wk_graph_scalar(n->g, WK_U8, ZERO)));
}

/* ---- operators ------------------------------------------------------------------------------- */

static inline wk_value_id one(net *n, wk_op op, wk_value_id x) {
  return wk_build(n->g, op, NULL, 1, x);
}
static inline wk_value_id two(net *n, wk_op op, wk_value_id a, wk_value_id b) {
  return wk_build(n->g, op, NULL, 2, a, b);
}
static inline wk_value_id relu(net *n, wk_value_id x) { return one(n, WK_OP_RELU, x); }

static inline wk_value_id clipped(net *n, wk_value_id x, double lo, double hi) {
  wk_attr_clip *a = wk_attrs_new(n->m->arena, WK_OP_CLIP);
  a->lo = lo, a->hi = hi;
  return wk_build(n->g, WK_OP_CLIP, a, 1, x);
}

static inline wk_value_id softmax(net *n, wk_value_id x) {
  wk_attr_softmax *a = wk_attrs_new(n->m->arena, WK_OP_SOFTMAX);
  a->axis = type_of(n, x)->rank - 1;
  return wk_build(n->g, WK_OP_SOFTMAX, a, 1, x);
}

static inline wk_value_id layer_norm(net *n, wk_value_id x, wk_value_id gain, wk_value_id add) {
  wk_attr_layer_norm *a = wk_attrs_new(n->m->arena, WK_OP_LAYER_NORM);
  a->axis = type_of(n, x)->rank - 1;
  return wk_build(n->g, WK_OP_LAYER_NORM, a, 3, x, gain, add);
}

/* Over the last axis. */
static inline wk_value_id folded(net *n, wk_op op, wk_value_id x) {
  wk_attr_reduce_sum *a = wk_attrs_new(n->m->arena, op); /* all folds have these */
  a->axes = list(n, SHAPE(type_of(n, x)->rank - 1));
  return wk_build(n->g, op, a, 1, x);
}

static inline wk_value_id normed(net *n, wk_value_id x, int64_t c) {
  return wk_build(n->g, WK_OP_BATCH_NORM, NULL, 5, x, numbers(n, SHAPE(c), 0.5, 1.5),
                  numbers(n, SHAPE(c), -1, 1), numbers(n, SHAPE(c), -1, 1),
                  numbers(n, SHAPE(c), 0.5, 1.5));
}

static inline wk_value_id linear(net *n, wk_value_id x, int64_t out) {
  const wk_type *t = type_of(n, x);
  wk_value_id w = weights(n, SHAPE(t->dims[t->rank - 1], out));
  return two(n, WK_OP_ADD, two(n, WK_OP_MATMUL, x, w), bias(n, out));
}

static inline wk_value_id window(net *n, wk_value_id x, wk_value_id w, wk_value_id b,
                                 int64_t stride, const int64_t *pads, int64_t group) {
  int axes = type_of(n, x)->rank - 2;
  wk_attr_conv *a = wk_attrs_new(n->m->arena, WK_OP_CONV);
  a->strides = list(n, (shape){axes, (int64_t[]){stride, stride}});
  a->dilations = list(n, (shape){axes, (int64_t[]){1, 1}});
  a->pads = list(n, (shape){2 * axes, pads});
  a->group = group;
  return wk_build(n->g, WK_OP_CONV, a, 3, x, w, b);
}

static inline wk_value_id conv_padded(net *n, wk_value_id x, int64_t out, int64_t k, int64_t stride,
                                      const int64_t pads[4]) {
  wk_value_id w = weights(n, SHAPE(out, type_of(n, x)->dims[1], k, k));
  return window(n, x, w, bias(n, out), stride, pads, 1);
}
static inline wk_value_id conv(net *n, wk_value_id x, int64_t out, int64_t k, int64_t stride,
                               int64_t group) {
  wk_value_id w = weights(n, SHAPE(out, type_of(n, x)->dims[1] / group, k, k));
  int64_t p = k / 2;
  return window(n, x, w, bias(n, out), stride, (int64_t[]){p, p, p, p}, group);
}
static inline wk_value_id conv_by(net *n, wk_value_id x, wk_value_id w, wk_value_id b, int64_t p) {
  return window(n, x, w, b, 1, (int64_t[]){p, p, p, p}, 1);
}
static inline wk_value_id conv_window(net *n, wk_value_id x, int64_t out, int64_t ky, int64_t kx) {
  wk_value_id w = weights(n, SHAPE(out, type_of(n, x)->dims[1], ky, kx));
  return window(n, x, w, bias(n, out), 1, (int64_t[]){ky / 2, kx / 2, ky / 2, kx / 2}, 1);
}
static inline wk_value_id conv_line(net *n, wk_value_id x, int64_t out, int64_t k) {
  wk_value_id w = weights(n, SHAPE(out, type_of(n, x)->dims[1], k));
  return window(n, x, w, bias(n, out), 1, (int64_t[]){k / 2, k / 2}, 1);
}

static inline wk_value_id max_pool(net *n, wk_value_id x) {
  wk_attr_max_pool *a = wk_attrs_new(n->m->arena, WK_OP_MAX_POOL);
  a->kernel = a->strides = list(n, SHAPE(2, 2));
  a->pads = list(n, SHAPE(0, 0, 0, 0));
  a->dilations = list(n, SHAPE(1, 1));
  return wk_build(n->g, WK_OP_MAX_POOL, a, 1, x);
}

/* ---- movement -------------------------------------------------------------------------------- */

static inline wk_value_id reshaped(net *n, wk_value_id x, shape s) {
  wk_attr_reshape *a = wk_attrs_new(n->m->arena, WK_OP_RESHAPE);
  a->shape = list(n, s);
  return wk_build(n->g, WK_OP_RESHAPE, a, 1, x);
}

static inline wk_value_id transposed(net *n, wk_value_id x, shape perm) {
  wk_attr_transpose *a = wk_attrs_new(n->m->arena, WK_OP_TRANSPOSE);
  a->perm = list(n, perm);
  return wk_build(n->g, WK_OP_TRANSPOSE, a, 1, x);
}

static inline wk_value_id sliced(net *n, wk_value_id x, int axis, int64_t from, int64_t size) {
  const wk_type t = *type_of(n, x);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++) sizes[i] = t.dims[i], steps[i] = 1;
  starts[axis] = from, sizes[axis] = size;
  wk_attr_slice *a = wk_attrs_new(n->m->arena, WK_OP_SLICE);
  a->starts = list(n, (shape){t.rank, starts});
  a->sizes = list(n, (shape){t.rank, sizes});
  a->steps = list(n, (shape){t.rank, steps});
  return wk_build(n->g, WK_OP_SLICE, a, 1, x);
}

static inline void split(net *n, wk_value_id x, int axis, int64_t parts, wk_value_id *out) {
  int64_t sizes[8];
  for (int64_t i = 0; i < parts; i++) sizes[i] = type_of(n, x)->dims[axis] / parts;
  wk_attr_split *a = wk_attrs_new(n->m->arena, WK_OP_SPLIT);
  a->axis = axis;
  a->sizes = list(n, (shape){(int)parts, sizes});
  wk_status_free(wk_graph_add(n->g, &(wk_node_desc){.op = WK_OP_SPLIT, .attrs = a, .in = &x,
                                                    .n_in = 1, .n_out = (uint32_t)parts}, out));
}

static inline wk_value_id concat(net *n, int axis, int parts, const wk_value_id *x) {
  wk_attr_concat *a = wk_attrs_new(n->m->arena, WK_OP_CONCAT);
  wk_value_id out;
  a->axis = axis;
  wk_status_free(wk_graph_add(n->g, &(wk_node_desc){.op = WK_OP_CONCAT, .attrs = a, .in = x,
                                                    .n_in = (uint32_t)parts, .n_out = 1}, &out));
  return out;
}

/* pads: top, left, bottom, right. */
static inline wk_value_id padded(net *n, wk_value_id x, const int64_t pads[4]) {
  wk_attr_pad *a = wk_attrs_new(n->m->arena, WK_OP_PAD);
  a->mode = "constant";
  a->before = list(n, SHAPE(0, 0, pads[0], pads[1]));
  a->after = list(n, SHAPE(0, 0, pads[2], pads[3]));
  return wk_build(n->g, WK_OP_PAD, a, 1, x);
}
/* The same between quantisation and dequantisation, of what is rounded. */
static inline wk_value_id padded_integers(net *n, wk_value_id x, const int64_t pads[4]) {
  wk_attr_pad *a = wk_attrs_new(n->m->arena, WK_OP_PAD);
  wk_value_id q = wk_nod(n->g, wk_val(n->g, x)->node)->in[0];
  a->mode = "constant";
  a->before = list(n, SHAPE(0, 0, pads[0], pads[1]));
  a->after = list(n, SHAPE(0, 0, pads[2], pads[3]));
  q = wk_build(n->g, WK_OP_PAD, a, 2, q, wk_graph_scalar(n->g, WK_U8, ZERO));
  return dequantized(n, q, SCALE, ZERO);
}

#endif
