/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random_integer_draw.h"

/* ---- contractions ---------------------------------------------------------------------------- */

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

void random_integer_resize(maker *k) {
  static const char *const maps[] = {"half_pixel", "asymmetric", "align_corners",
                                     "pytorch_half_pixel", "half_pixel_symmetric"};
  static const char *const roundings[] = {"round_prefer_floor", "floor", "ceil"};
  tensor x = *image(k);
  const wk_type t = *type_of(k, x.q);
  int64_t sizes[WK_MAX_RANK], factor = pick(k, 2, 4);
  double scales[WK_MAX_RANK];
  if (wk_type_count(&t) > 20000) return;
  bool is_even = chance(k, 50);
  for (int i = 0; i < t.rank; i++) {
    int64_t n = t.dims[i];
    sizes[i] = i < 2 ? n : is_even ? factor * n : chance(k, 20) ? n : pick(k, 1, 2 * n + 1);
    scales[i] = (double)sizes[i] / (double)n;
  }
  wk_attr_resize *a = wk_attrs_new(k->m->arena, WK_OP_RESIZE);
  a->sizes = list(k, sizes, t.rank);
  a->scales = wk_floats_dup(k->m->arena, scales, t.rank);
  a->mode = chance(k, 70) ? "linear" : "nearest";
  a->coordinates = maps[pick(k, 0, WK_COUNTOF(maps) - 1)];
  a->nearest = roundings[pick(k, 0, WK_COUNTOF(roundings) - 1)];
  quantise(k, wk_build(k->g, WK_OP_RESIZE, a, 1, real(k, &x)), size_of(k, &x));
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
    conv_transpose, batched_matmul, conv,   conv,     conv,      conv,      matmul,
    matmul,         binary,         binary, function, again,     softmax,   pool,
    pool,           mean,           concat, move,     normalise, normalise, random_integer_resize,
    random_integer_resize};

void random_integer_any(maker *k) { draws[pick(k, 0, WK_COUNTOF(draws) - 1)](k); }

wk_module *random_integer_graph(uint64_t seed, int layers) {
  maker k = {.m = wk_module_new("integers"), .r = {seed * 7919 + 1}, .largest = 9};
  k.g = wk_graph_new(k.m, "main");
  image(&k);
  for (int tries = 0; k.n < layers + 1 && tries < 10 * layers; tries++)
    random_integer_any(&k);
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
