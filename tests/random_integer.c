/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_integer.h"
#include "tests/random_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TENSORS 64

/* A quantised tensor of the graph. */
typedef struct {
  wk_value_id q;
  double scale;
  int64_t zero;
} tensor;

typedef struct {
  wk_module *m;
  wk_graph *g;
  wk_rng r;
  tensor t[MAX_TENSORS];
  int n;
} maker;

static int64_t pick(maker *k, int64_t lo, int64_t hi) { return wk_rng_range(&k->r, lo, hi); }
static bool chance(maker *k, int percent) { return pick(k, 0, 99) < percent; }
static const wk_type *type_of(const maker *k, wk_value_id v) { return &wk_val(k->g, v)->type; }
static double spread(maker *k) { return exp2(4 * wk_rng_unit(&k->r) - 2); } /* 1/4 … 4 */

static wk_ints ints(maker *k, int64_t n, int64_t lo, int64_t hi) {
  int64_t v[WK_MAX_RANK * 2];
  for (int64_t i = 0; i < n; i++) v[i] = pick(k, lo, hi);
  return wk_ints_dup(k->m->arena, v, n);
}

static wk_ints list(maker *k, const int64_t *v, int64_t n) {
  return wk_ints_dup(k->m->arena, v, n);
}

/* ---- dequantise, quantise -------------------------------------------------------------------- */

static wk_value_id real(maker *k, const tensor *t) {
  return wk_build(k->g, WK_OP_DEQUANTIZE, NULL, 3, t->q, wk_graph_scalar(k->g, WK_F32, t->scale),
                  wk_graph_scalar(k->g, type_of(k, t->q)->dtype, (double)t->zero));
}

static void keep(maker *k, wk_value_id q, double scale, int64_t zero) {
  if (k->n < MAX_TENSORS) k->t[k->n++] = (tensor){q, (float)scale, zero};
}

/* x with its axes the other way round. */
static wk_value_id reversed(maker *k, wk_value_id x) {
  int64_t perm[WK_MAX_RANK];
  int rank = type_of(k, x)->rank;
  for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
  wk_attr_transpose *p = wk_attrs_new(k->m->arena, WK_OP_TRANSPOSE);
  p->perm = wk_ints_dup(k->m->arena, perm, rank);
  return wk_build(k->g, WK_OP_TRANSPOSE, p, 1, x);
}

/* The real tensor y, whose values are about `size`, quantised; sometimes clamped and moved before.
 */
static void quantise(maker *k, wk_value_id y, double size) {
  wk_dtype t = chance(k, 50) ? WK_U8 : WK_I8;
  double scale = (float)(size / 50 * spread(k));
  int64_t zero = chance(k, 30) ? (t == WK_I8 ? -128 : 0) : pick(k, 0, 255) - (t == WK_I8 ? 128 : 0);
  if (chance(k, 25)) y = wk_build(k->g, WK_OP_RELU, NULL, 1, y);
  if (chance(k, 15)) {
    wk_attr_clip *c = wk_attrs_new(k->m->arena, WK_OP_CLIP);
    c->lo = -size * wk_rng_unit(&k->r);
    c->hi = size * wk_rng_unit(&k->r);
    y = wk_build(k->g, WK_OP_CLIP, c, 1, y);
  }
  if (chance(k, 8)) y = reversed(k, y);
  wk_attr_quantize *a = wk_attrs_new(k->m->arena, WK_OP_QUANTIZE);
  a->to = t;
  wk_value_id q = wk_build(k->g, WK_OP_QUANTIZE, a, 3, y, wk_graph_scalar(k->g, WK_F32, scale),
                           wk_graph_scalar(k->g, t, (double)zero));
  keep(k, q, scale, zero);
}

static void add_input(maker *k, int rank, const int64_t *dims) {
  wk_dtype dtype = chance(k, 50) ? WK_U8 : WK_I8;
  wk_type t = wk_type_make(dtype, rank, dims);
  int64_t zero = pick(k, 0, 255) - (dtype == WK_I8 ? 128 : 0);
  keep(k, wk_graph_input(k->g, NULL, &t), 0.02 * spread(k), zero);
}

static tensor *any(maker *k) { return &k->t[k->n - 1 - pick(k, 0, k->n - 1 < 3 ? k->n - 1 : 3)]; }

/* A tensor [n,c,h,w] with something to see. */
static tensor *image(maker *k) {
  for (int i = 0; i < 8 && k->n; i++) {
    tensor *t = any(k);
    const wk_type *y = type_of(k, t->q);
    if (y->rank == 4 && y->dims[2] > 1 && y->dims[3] > 1) return t;
  }
  int64_t dims[] = {chance(k, 80) ? 1 : 2, chance(k, 40) ? pick(k, 1, 5) : 4 * pick(k, 1, 18),
                    pick(k, 2, 9), pick(k, 2, 9)};
  add_input(k, 4, dims);
  return &k->t[k->n - 1];
}

static double size_of(const maker *k, const tensor *t) {
  return t->scale * (type_of(k, t->q) ? 100 : 1);
}

/* ---- contractions ---------------------------------------------------------------------------- */

/* Weights with scales per tensor or along the axis, dequantised. */
static wk_value_id weights(maker *k, int rank, const int64_t *dims, int axis, double *scale,
                           wk_value_id *scales) {
  wk_dtype dtype = chance(k, 75) ? WK_I8 : WK_U8;
  wk_type t = wk_type_make(dtype, rank, dims), st = {.dtype = WK_F32};
  void *data, *s, *z;
  wk_value_id w, zero;
  bool each = chance(k, 60);
  if (each) {
    int64_t along[WK_MAX_RANK];
    for (int i = 0; i < rank; i++) along[i] = i == axis ? dims[i] : 1;
    st = wk_type_make(WK_F32, rank, along);
  }
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &t, &w, &data));
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &st, scales, &s));
  st.dtype = dtype;
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &st, &zero, &z));
  int64_t center = dtype == WK_I8 ? 0 : chance(k, 60) ? 128 : pick(k, 100, 150);
  for (int64_t i = 0; i < wk_type_count(&t); i++)
    wk_store_i64(data, dtype, i, pick(k, 0, 255) - (dtype == WK_I8 ? 128 : 0));
  *scale = 0.01 * spread(k);
  for (int64_t i = 0; i < wk_type_count(&st); i++) {
    wk_store_f64(s, WK_F32, i, *scale * (0.25 + wk_rng_unit(&k->r)));
    wk_store_i64(z, dtype, i, center);
  }
  return wk_build(k->g, WK_OP_DEQUANTIZE, NULL, 3, w, *scales, zero);
}

/* A bias of i32 in units of the accumulator. */
static wk_value_id bias(maker *k, double sx, wk_value_id scales, int64_t n, double size) {
  wk_type t = wk_type_make(WK_I32, 1, &n), st = wk_type_make(WK_F32, 1, &n);
  void *data, *s;
  wk_value_id b, scale;
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &t, &b, &data));
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &st, &scale, &s));
  const wk_value *sw = wk_val(k->g, scales);
  bool each = wk_type_count(&sw->type) > 1;
  for (int64_t i = 0; i < n; i++) {
    ((float *)s)[i] = (float)sx * ((const float *)sw->data)[each ? i : 0];
    ((int32_t *)data)[i] = (int32_t)(size / ((float *)s)[i] * (wk_rng_unit(&k->r) - 0.5));
  }
  return wk_build(k->g, WK_OP_DEQUANTIZE, NULL, 3, b, scale, wk_graph_scalar(k->g, WK_I32, 0));
}

static void conv(maker *k) {
  tensor x = *image(k);
  const wk_type t = *type_of(k, x.q);
  bool depthwise = chance(k, 30), one = chance(k, 40);
  random_window win = random_window_draw(&k->r, 2, t.dims + 2, one ? 1 : 5, false);
  int64_t group = depthwise ? t.dims[1] : 1;
  int64_t oc = depthwise ? group : chance(k, 70) ? 4 * pick(k, 1, 20) : pick(k, 1, 9);
  int64_t kh = win.kernel[0], kw = win.kernel[1];
  int64_t dims[] = {oc, t.dims[1] / group, kh, kw};
  wk_attr_conv *a = wk_attrs_new(k->m->arena, WK_OP_CONV);
  a->strides = list(k, win.strides, 2);
  a->pads = list(k, win.pads, 4);
  a->dilations = list(k, win.dilations, 2);
  a->group = group;
  double sw;
  wk_value_id scales, w = weights(k, 4, dims, 0, &sw, &scales);
  double size = x.scale * sw * 5000 * sqrt((double)(dims[1] * kh * kw));
  wk_value_id y = chance(k, 70) ? wk_build(k->g, WK_OP_CONV, a, 3, real(k, &x), w,
                                           bias(k, x.scale, scales, oc, size))
                                : wk_build(k->g, WK_OP_CONV, a, 2, real(k, &x), w);
  quantise(k, y, size);
}

static void conv_transpose(maker *k) {
  tensor x = *image(k);
  const wk_type t = *type_of(k, x.q);
  int64_t group = t.dims[1] % 2 == 0 && chance(k, 40) ? 2 : 1;
  random_window win = random_window_transposed(&k->r, 2, t.dims + 2, 4);
  int64_t dims[] = {t.dims[1], pick(k, 1, 6), win.kernel[0], win.kernel[1]};
  wk_attr_conv_transpose *a = wk_attrs_new(k->m->arena, WK_OP_CONV_TRANSPOSE);
  a->strides = list(k, win.strides, 2);
  a->pads = list(k, win.pads, 4);
  a->dilations = list(k, win.dilations, 2);
  a->output_padding = ints(k, 2, 0, 0);
  a->group = group;
  double sw;
  wk_value_id scales, w = weights(k, 4, dims, 1, &sw, &scales);
  quantise(k, wk_build(k->g, WK_OP_CONV_TRANSPOSE, a, 2, real(k, &x), w),
           x.scale * sw * 5000 * sqrt((double)(t.dims[1] / group * 2)));
}

/* Weights of their own for each entry of the batch. */
static void batched_matmul(maker *k) {
  tensor x = *any(k);
  const wk_type t = *type_of(k, x.q);
  if (t.rank != 4 || t.dims[0] != 1) return;
  double sw;
  int64_t dims[] = {t.dims[1], t.dims[3], pick(k, 1, 8)};
  wk_value_id scales, w = weights(k, 3, dims, 2, &sw, &scales);
  quantise(k, wk_build(k->g, WK_OP_MATMUL, NULL, 2, real(k, &x), w),
           x.scale * sw * 5000 * sqrt((double)t.dims[3]));
}

/* By weights, or of two activations: x times its own transpose. */
static void matmul(maker *k) {
  tensor x = *any(k);
  const wk_type t = *type_of(k, x.q);
  if (t.rank < 2 || t.dims[t.rank - 1] > 512) return;
  int64_t depth = t.dims[t.rank - 1];
  if (chance(k, 40)) {
    int64_t perm[WK_MAX_RANK];
    for (int i = 0; i < t.rank; i++) perm[i] = i;
    perm[t.rank - 1] = t.rank - 2;
    perm[t.rank - 2] = t.rank - 1;
    wk_attr_transpose *p = wk_attrs_new(k->m->arena, WK_OP_TRANSPOSE);
    p->perm = wk_ints_dup(k->m->arena, perm, t.rank);
    wk_value_id v = real(k, &x), back = wk_build(k->g, WK_OP_TRANSPOSE, p, 1, real(k, &x));
    quantise(k, wk_build(k->g, WK_OP_MATMUL, NULL, 2, v, back),
             size_of(k, &x) * size_of(k, &x) * sqrt((double)depth));
    return;
  }
  double sw;
  int64_t dims[] = {depth, chance(k, 60) ? 4 * pick(k, 1, 20) : pick(k, 1, 9)};
  wk_value_id scales, w = weights(k, 2, dims, 1, &sw, &scales);
  double size = x.scale * sw * 5000 * sqrt((double)depth);
  wk_value_id y = wk_build(k->g, WK_OP_MATMUL, NULL, 2, real(k, &x), w);
  if (chance(k, 60))
    y = wk_build(k->g, WK_OP_ADD, NULL, 2, y, bias(k, x.scale, scales, dims[1], size));
  quantise(k, y, size);
}

/* ---- one and two tensors --------------------------------------------------------------------- */

static void binary(maker *k) {
  static const wk_op ops[] = {WK_OP_ADD, WK_OP_ADD, WK_OP_SUB, WK_OP_MUL};
  wk_op op = ops[pick(k, 0, 3)];
  tensor a = *any(k), b = *any(k);
  for (int i = 0; i < 10 && !wk_shape_equal(type_of(k, a.q), type_of(k, b.q)); i++) b = *any(k);
  if (!wk_shape_equal(type_of(k, a.q), type_of(k, b.q))) b = a;
  double size = op == WK_OP_MUL ? size_of(k, &a) * size_of(k, &b) : size_of(k, &a) + size_of(k, &b);
  quantise(k, wk_build(k->g, op, NULL, 2, real(k, &a), real(k, &b)), size);
}

static void function(maker *k) {
  static const wk_op ops[] = {WK_OP_SIGMOID, WK_OP_TANH, WK_OP_HARD_SWISH,
                              WK_OP_GELU,    WK_OP_ABS,  WK_OP_LEAKY_RELU};
  tensor x = *any(k);
  quantise(k, wk_build(k->g, ops[pick(k, 0, WK_COUNTOF(ops) - 1)], NULL, 1, real(k, &x)),
           size_of(k, &x));
}

static void again(maker *k) { /* rescaling */
  tensor x = *any(k);
  quantise(k, real(k, &x), size_of(k, &x));
}

static void softmax(maker *k) {
  tensor x = *any(k);
  wk_attr_softmax *a = wk_attrs_new(k->m->arena, WK_OP_SOFTMAX);
  a->axis = type_of(k, x.q)->rank - 1;
  quantise(k, wk_build(k->g, WK_OP_SOFTMAX, a, 1, real(k, &x)), 0.5);
}

/* A factor or bias of the last axes of t, one number or one for each place; sometimes quantised. */
static wk_value_id norm_parameter(maker *k, const wk_type *t, int axis, double middle) {
  wk_type all = wk_type_make(WK_F32, t->rank - axis, t->dims + axis);
  void *data;
  wk_value_id v;
  if (chance(k, 20)) return wk_graph_scalar(k->g, WK_F32, middle + wk_rng_unit(&k->r));
  bool quantised = chance(k, 30);
  if (quantised) all.dtype = WK_U8;
  wk_status_free(wk_graph_constant_alloc(k->g, NULL, &all, &v, &data));
  for (int64_t i = 0; i < wk_type_count(&all); i++)
    wk_store_f64(data, all.dtype, i,
                 quantised ? pick(k, 0, 255) : middle + 2 * wk_rng_unit(&k->r) - 1);
  if (!quantised) return v;
  return wk_build(k->g, WK_OP_DEQUANTIZE, NULL, 3, v, wk_graph_scalar(k->g, WK_F32, 0.01),
                  wk_graph_scalar(k->g, WK_U8, 128 - 100 * middle));
}

static wk_value_id reduced_mean(maker *k, wk_value_id x, int axis) {
  wk_attr_reduce_mean *a = wk_attrs_new(k->m->arena, WK_OP_REDUCE_MEAN);
  int64_t axes[WK_MAX_RANK], n = 0;
  for (int i = axis; i < type_of(k, x)->rank; i++) axes[n++] = i;
  a->axes = wk_ints_dup(k->m->arena, axes, n);
  a->keepdims = 1;
  return wk_build(k->g, WK_OP_REDUCE_MEAN, a, 1, x);
}

/* (x - mean) / sqrt(variance + epsilon); without the mean when not centred. */
static wk_value_id standardised(maker *k, wk_value_id x, int axis, double epsilon, bool centred) {
  if (centred) x = wk_build(k->g, WK_OP_SUB, NULL, 2, x, reduced_mean(k, x, axis));
  wk_value_id v = reduced_mean(k, wk_build(k->g, WK_OP_MUL, NULL, 2, x, x), axis);
  v = wk_build(k->g, WK_OP_ADD, NULL, 2, v, wk_graph_scalar(k->g, WK_F32, epsilon));
  return wk_build(k->g, WK_OP_DIV, NULL, 2, x, wk_build(k->g, WK_OP_SQRT, NULL, 1, v));
}

/* Layer normalisation in one or in pieces, RMS normalisation. */
static void normalise(maker *k) {
  tensor t = *any(k);
  const wk_type type = *type_of(k, t.q);
  int axis = (int)pick(k, 0, type.rank - 1);
  wk_value_id x = real(k, &t), scale = norm_parameter(k, &type, axis, 1), y;
  bool bias = chance(k, 70);
  wk_attr_layer_norm *a = wk_attrs_new(k->m->arena, WK_OP_LAYER_NORM);
  a->axis = axis;
  a->epsilon = chance(k, 50) ? 1e-5 : 1e-3;
  wk_value_id b = bias ? norm_parameter(k, &type, axis, 0) : WK_NONE;
  if (chance(k, 50)) {
    y = wk_build(k->g, WK_OP_LAYER_NORM, a, bias ? 3 : 2, x, scale, b);
  } else {
    y = standardised(k, x, axis, a->epsilon, chance(k, 60));
    y = wk_build(k->g, WK_OP_MUL, NULL, 2, y, scale);
    if (bias) y = wk_build(k->g, WK_OP_ADD, NULL, 2, b, y);
  }
  quantise(k, y, 3);
}

/* ---- windows, movement ----------------------------------------------------------------------- */

static void pool(maker *k) {
  tensor x = *image(k);
  bool max = chance(k, 50);
  const wk_type t = *type_of(k, x.q);
  random_window win = random_window_draw(&k->r, 2, t.dims + 2, 4, true);
  wk_attr_avg_pool *v = wk_attrs_new(k->m->arena, WK_OP_AVG_POOL);
  wk_attr_max_pool *m = wk_attrs_new(k->m->arena, WK_OP_MAX_POOL);
  v->kernel = m->kernel = list(k, win.kernel, 2);
  v->strides = m->strides = list(k, win.strides, 2);
  v->pads = m->pads = list(k, win.pads, 4);
  v->dilations = m->dilations = list(k, win.dilations, 2);
  v->real_pads = chance(k, 50) ? v->pads : ints(k, 4, 0, 0);
  wk_value_id y = max ? wk_build(k->g, WK_OP_MAX_POOL, m, 1, real(k, &x))
                      : wk_build(k->g, WK_OP_AVG_POOL, v, 1, real(k, &x));
  quantise(k, y, size_of(k, &x));
}

static void mean(maker *k) {
  tensor x = *image(k);
  wk_attr_reduce_mean *a = wk_attrs_new(k->m->arena, WK_OP_REDUCE_MEAN);
  a->axes = wk_ints_dup(k->m->arena, (const int64_t[]){2, 3}, 2);
  quantise(k, wk_build(k->g, WK_OP_REDUCE_MEAN, a, 1, real(k, &x)), size_of(k, &x) / 2);
}

static void concat(maker *k) {
  tensor a = *any(k), b = *any(k);
  const wk_type *t = type_of(k, a.q);
  if (!wk_shape_equal(t, type_of(k, b.q))) b = a;
  wk_attr_concat *c = wk_attrs_new(k->m->arena, WK_OP_CONCAT);
  c->axis = t->rank > 1 ? 1 : 0;
  quantise(k, wk_build(k->g, WK_OP_CONCAT, c, 2, real(k, &a), real(k, &b)),
           size_of(k, &a) + size_of(k, &b));
}

static void move(maker *k) {
  tensor x = *any(k);
  quantise(k, reversed(k, real(k, &x)), size_of(k, &x));
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void (*const draws[])(maker *) = {
    conv_transpose, batched_matmul, conv,   conv,     conv,      conv,     matmul,
    matmul,         binary,         binary, function, again,     softmax,  pool,
    pool,           mean,           concat, move,     normalise, normalise};

/* What nobody reads is an output. */
static void finish(maker *k) {
  wk_arena *a = wk_arena_new();
  wk_uses u = wk_graph_uses(k->g, a);
  for (int i = 0; i < k->n; i++)
    if (wk_use_count(&u, k->t[i].q) == 0) wk_graph_output(k->g, NULL, k->t[i].q);
  wk_arena_free(a);
}

wk_module *random_integer_graph(uint64_t seed, int layers) {
  maker k = {.m = wk_module_new("integers"), .r = {seed * 7919 + 1}};
  k.g = wk_graph_new(k.m, "main");
  image(&k);
  for (int tries = 0; k.n < layers + 1 && tries < 10 * layers; tries++)
    draws[pick(&k, 0, WK_COUNTOF(draws) - 1)](&k);
  finish(&k);
  return k.m;
}

wk_tensor *random_integer_inputs(const wk_graph *g, uint64_t seed) {
  wk_rng r = {seed + 12345};
  wk_tensor *t = wk_xcalloc(g->inputs.n + 1, sizeof *t);
  for (size_t i = 0; i < g->inputs.n; i++) {
    wk_status_free(wk_tensor_alloc(&wk_val(g, g->inputs.data[i])->type, &t[i]));
    for (int64_t j = 0; j < wk_type_count(&t[i].type); j++)
      ((uint8_t *)t[i].data)[j] = (uint8_t)wk_rng_range(&r, 0, 255);
  }
  return t;
}
