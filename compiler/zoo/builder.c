/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/zoo/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct wick_builder {
  wk_module *m;
  wk_graph *g;
  wk_rng rng;
  const char *scope;
  int64_t batch;   /* 0: as the network has it */
  wk_map *counts; /* layer name -> how often it was used */
  wk_status status;
};

wick_builder *wick_builder_new(const char *model, uint64_t seed) {
  wick_builder *b = wk_xcalloc(1, sizeof *b);
  b->m = wk_module_new(model);
  b->g = wk_graph_new(b->m, "main");
  b->rng.s = seed;
  b->counts = wk_map_new();
  b->m->producer = "wick zoo";
  b->m->opset = 17;
  return b;
}

wk_status wick_builder_finish(wick_builder *b, wk_module **out) {
  wk_status s = b->status;
  if (!s) s = wk_module_verify(b->m);
  if (s) wk_module_free(b->m);
  else *out = b->m;
  wk_map_free(b->counts);
  free(b);
  return s;
}

void wick_set_batch(wick_builder *b, int64_t n) { b->batch = n; }

void wick_scope(wick_builder *b, const char *scope) {
  b->scope = scope ? wk_arena_strdup(b->m->arena, scope) : NULL;
}

wk_type wick_type_of(const wick_builder *b, wick_value v) {
  return b->status || v == WICK_NO_VALUE ? (wk_type){0} : wk_val(b->g, v)->type;
}

static const char *layer_name(wick_builder *b, const char *kind) {
  wk_arena *a = b->m->arena;
  const char *name = b->scope ? wk_arena_printf(a, "%s/%s", b->scope, kind) : kind;
  uint32_t used = 0;
  wk_map_get(b->counts, name, &used);
  wk_map_put(b->counts, wk_arena_strdup(a, name), used + 1);
  return used ? wk_arena_printf(a, "%s_%u", name, used + 1) : name;
}

wick_value wick_input(wick_builder *b, const char *name, wk_dtype t, int rank,
                      const int64_t *dims) {
  wk_type type = wk_type_make(t, rank, dims);
  if (b->batch && rank == 4) type.dims[0] = b->batch;
  else if (b->batch && !b->status)
    b->status = wk_error(WK_UNSUPPORTED, "input %s has no axis of samples in front", name);
  return b->status ? WICK_NO_VALUE : wk_graph_input(b->g, name, &type);
}

void wick_output(wick_builder *b, const char *name, wick_value v) {
  if (!b->status) wk_graph_output(b->g, name, v);
}

static wick_value add_named(wick_builder *b, const char *name, wk_op op, void *attrs,
                            const wick_value *in, uint32_t n) {
  wick_value out[4] = {WICK_NO_VALUE};
  if (b->status) return WICK_NO_VALUE;
  wk_node_desc d = {.op = op, .name = name, .attrs = attrs, .in = in, .n_in = n, .out_names = &name,
                    .n_out = 1};
  b->status = wk_graph_add(b->g, &d, out);
  return b->status ? WICK_NO_VALUE : out[0];
}

static wick_value add(wick_builder *b, wk_op op, void *attrs, const wick_value *in, uint32_t n) {
  return b->status ? WICK_NO_VALUE
                   : add_named(b, layer_name(b, wk_op_get(op)->name), op, attrs, in, n);
}

static void *attrs_of(wick_builder *b, wk_op op) { return wk_attrs_new(b->m->arena, op); }
static wk_ints fill(wick_builder *b, int64_t n, int64_t v) {
  return wk_ints_fill(b->m->arena, n, v);
}

/* ---- weights --------------------------------------------------------------------------------- */

static wick_value weights(wick_builder *b, const char *name, int rank, const int64_t *dims,
                          float mean,
                          float deviation, bool positive) {
  wk_type t = wk_type_make(WK_F32, rank, dims);
  wick_value v = WICK_NO_VALUE;
  void *data;
  if (b->status) return v;
  b->status = wk_graph_constant_alloc(b->g, name, &t, &v, &data);
  if (b->status) return WICK_NO_VALUE;
  float *w = data;
  for (int64_t i = 0, n = wk_type_count(&t); i < n; i++) {
    float x = mean + deviation * wk_rng_normal(&b->rng);
    w[i] = positive ? fabsf(x) + 0.1f : x;
  }
  return v;
}

wick_value wick_constant(wick_builder *b, int rank, const int64_t *dims, const float *x) {
  wk_type t = wk_type_make(WK_F32, rank, dims);
  wick_value v = WICK_NO_VALUE;
  void *data;
  if (b->status) return v;
  b->status = wk_graph_constant_alloc(b->g, layer_name(b, "constant"), &t, &v, &data);
  if (b->status) return WICK_NO_VALUE;
  memcpy(data, x, (size_t)wk_type_bytes(&t));
  return v;
}

static const char *part(wick_builder *b, const char *layer, const char *name) {
  return wk_arena_printf(b->m->arena, "%s.%s", layer, name);
}

wick_value wick_parameter(wick_builder *b, int rank, const int64_t *dims, float deviation) {
  return b->status ? WICK_NO_VALUE
                   : weights(b, layer_name(b, "parameter"), rank, dims, 0, deviation, false);
}

static wick_value convolution(wick_builder *b, wick_value x, const wick_conv_opts *o,
                              bool transposed) {
  if (b->status) return WICK_NO_VALUE;
  const wk_type t = wick_type_of(b, x);
  int s = t.rank - 2;
  int64_t group = o->group ? o->group : 1, stride = o->stride ? o->stride : 1;
  int64_t kernel[WK_MAX_RANK], pads[2 * WK_MAX_RANK], dims[WK_MAX_RANK], fan = t.dims[1] / group;
  for (int i = 0; i < s; i++) {
    bool w = i == s - 1 && s > 1 && o->kernel_w;
    kernel[i] = w ? o->kernel_w : o->kernel;
    pads[i] = pads[s + i] = w ? o->pad_w : o->pad;
    fan *= kernel[i];
  }
  dims[0] = transposed ? t.dims[1] : o->out;
  dims[1] = transposed ? o->out / group : t.dims[1] / group;
  memcpy(dims + 2, kernel, (size_t)s * sizeof *kernel);
  wk_op op = transposed ? WK_OP_CONV_TRANSPOSE : WK_OP_CONV;
  const char *name = layer_name(b, wk_op_get(op)->name);
  wick_value in[] = {x, weights(b, part(b, name, "weight"), t.rank, dims, 0,
                                sqrtf(2.0f / (float)fan), false), WICK_NO_VALUE};
  if (o->bias) in[2] = weights(b, part(b, name, "bias"), 1, &o->out, 0, 0.05f, false);
  wk_attr_conv *a = attrs_of(b, op); /* conv_transpose begins with the same fields */
  a->strides = fill(b, s, stride);
  a->dilations = fill(b, s, o->dilation ? o->dilation : 1);
  a->pads = wk_ints_dup(b->m->arena, pads, 2 * s);
  a->group = group;
  if (transposed) ((wk_attr_conv_transpose *)(void *)a)->output_padding = fill(b, s, 0);
  return add_named(b, name, op, a, in, o->bias ? 3 : 2);
}

wick_value wick_conv(wick_builder *b, wick_value x, const wick_conv_opts *o) {
  return convolution(b, x, o, false);
}

wick_value wick_conv_transpose(wick_builder *b, wick_value x, const wick_conv_opts *o) {
  return convolution(b, x, o, true);
}

wick_value wick_batch_norm(wick_builder *b, wick_value x) {
  if (b->status) return WICK_NO_VALUE;
  int64_t c = wick_type_of(b, x).dims[1];
  const char *name = layer_name(b, "batch_norm");
  wick_value in[] = {x, weights(b, part(b, name, "scale"), 1, &c, 1.0f, 0.1f, false),
                     weights(b, part(b, name, "bias"), 1, &c, 0, 0.1f, false),
                     weights(b, part(b, name, "mean"), 1, &c, 0, 0.1f, false),
                     weights(b, part(b, name, "var"), 1, &c, 1.0f, 0.1f, true)};
  return add_named(b, name, WK_OP_BATCH_NORM, attrs_of(b, WK_OP_BATCH_NORM), in, 5);
}

wick_value wick_layer_norm(wick_builder *b, wick_value x) {
  if (b->status) return WICK_NO_VALUE;
  const wk_type t = wick_type_of(b, x);
  int64_t width = t.dims[t.rank - 1];
  const char *name = layer_name(b, "layer_norm");
  wk_attr_layer_norm *a = attrs_of(b, WK_OP_LAYER_NORM);
  a->axis = t.rank - 1;
  wick_value in[] = {x, weights(b, part(b, name, "scale"), 1, &width, 1.0f, 0.05f, false),
                     weights(b, part(b, name, "bias"), 1, &width, 0, 0.05f, false)};
  return add_named(b, name, WK_OP_LAYER_NORM, a, in, 3);
}

wick_value wick_rms_norm(wick_builder *b, wick_value x) {
  if (b->status) return WICK_NO_VALUE;
  const wk_type t = wick_type_of(b, x);
  int64_t width = t.dims[t.rank - 1];
  wick_value square = wick_binary(b, WK_OP_POW, x, wick_scalar(b, 2));
  wick_value mean = wick_mean(b, square, t.rank - 1, true);
  wick_value deviation = wick_unary(b, WK_OP_SQRT, wick_add(b, mean, wick_scalar(b, 1e-5)));
  x = wick_mul(b, x, wick_unary(b, WK_OP_RECIPROCAL, deviation));
  const char *name = layer_name(b, "rms_norm");
  return wick_mul(b, x, weights(b, part(b, name, "weight"), 1, &width, 1.0f, 0.05f, false));
}

static wick_value linear(wick_builder *b, wick_value x, int64_t out, bool biased) {
  if (b->status) return WICK_NO_VALUE;
  const wk_type t = wick_type_of(b, x);
  int64_t dims[] = {t.dims[t.rank - 1], out};
  const char *name = layer_name(b, "linear");
  wick_value in[] = {x, weights(b, part(b, name, "weight"), 2, dims, 0,
                                sqrtf(1.0f / (float)dims[0]), false), WICK_NO_VALUE};
  if (biased) in[2] = weights(b, part(b, name, "bias"), 1, &out, 0, 0.02f, false);
  return add_named(b, name, WK_OP_MATMUL, NULL, in, biased ? 3 : 2);
}

wick_value wick_linear(wick_builder *b, wick_value x, int64_t out) {
  return linear(b, x, out, true);
}

wick_value wick_project(wick_builder *b, wick_value x, int64_t out) {
  return linear(b, x, out, false);
}

static wick_value embedding(wick_builder *b, wick_value ids, int64_t rows, int64_t width,
                            float deviation) {
  if (b->status) return WICK_NO_VALUE;
  int64_t dims[] = {rows, width};
  const char *name = layer_name(b, "embedding");
  wick_value in[] = {weights(b, part(b, name, "weight"), 2, dims, 0, deviation, false), ids};
  return add_named(b, name, WK_OP_GATHER, NULL, in, 2);
}

wick_value wick_embedding(wick_builder *b, wick_value ids, int64_t rows, int64_t width) {
  return embedding(b, ids, rows, width, 1);
}

wick_value wick_rows(wick_builder *b, wick_value table, wick_value ids) {
  return add(b, WK_OP_GATHER, NULL, (const wick_value[]){table, ids}, 2);
}

/* Rows of `width` bytes and behind them scale and bias, so that numbers are about 0. */
static wick_value byte_rows(wick_builder *b, const char *name, int64_t rows, int64_t width) {
  int64_t columns = width + 2 * (int64_t)sizeof(float);
  wk_type t = wk_type_make(WK_U8, 2, (const int64_t[]){rows, columns});
  wick_value v = WICK_NO_VALUE;
  void *data;
  if (b->status) return v;
  b->status = wk_graph_constant_alloc(b->g, name, &t, &v, &data);
  if (b->status) return WICK_NO_VALUE;
  uint8_t *at = data;
  for (int64_t i = 0; i < rows; i++, at += columns) {
    float scale = (1 + (float)wk_rng_unit(&b->rng)) / 1024, tail[] = {scale, -127.5f * scale};
    for (int64_t k = 0; k < width; k++) at[k] = (uint8_t)wk_rng_range(&b->rng, 0, 255);
    memcpy(at + width, tail, sizeof tail);
  }
  return v;
}

static wick_value integers(wick_builder *b, const char *name, const int64_t *x, int64_t n) {
  wk_type t = wk_type_make(WK_I64, 1, &n);
  wick_value v = WICK_NO_VALUE;
  void *data;
  if (b->status) return v;
  b->status = wk_graph_constant_alloc(b->g, name, &t, &v, &data);
  if (b->status) return WICK_NO_VALUE;
  memcpy(data, x, (size_t)n * sizeof *x);
  return v;
}

/* Bags of k rows each as segments of one list. */
static wick_value byte_bag(wick_builder *b, wick_value ids, int64_t rows, int64_t width) {
  const wk_type t = wick_type_of(b, ids);
  int64_t n = t.dims[0], k = t.dims[1], *ends = wk_xmalloc((size_t)(n + 1) * sizeof *ends);
  const char *name = layer_name(b, "bag");
  for (int64_t i = 0; i <= n; i++) ends[i] = i * k;
  wick_value list = wick_reshape(b, ids, 1, (const int64_t[]){n * k});
  wick_value in[] = {byte_rows(b, part(b, name, "weight"), rows, width),
                     integers(b, part(b, name, "offsets"), ends, n + 1), list};
  free(ends);
  wk_attr_segment_reduce *a = attrs_of(b, WK_OP_SEGMENT_REDUCE);
  a->rows = "fused8";
  a->to = WK_F32;
  return add_named(b, name, WK_OP_SEGMENT_REDUCE, a, in, 3);
}

wick_value wick_bag(wick_builder *b, wick_value ids, int64_t rows, int64_t width, bool is_bytes) {
  if (b->status) return WICK_NO_VALUE;
  if (is_bytes) return byte_bag(b, ids, rows, width);
  wick_value x = embedding(b, ids, rows, width, 0.1f);
  wk_attr_reduce_sum *a = attrs_of(b, WK_OP_REDUCE_SUM);
  a->axes = fill(b, 1, 1);
  a->keepdims = 0;
  return add(b, WK_OP_REDUCE_SUM, a, &x, 1);
}

wick_value wick_lstm(wick_builder *b, wick_value x, int64_t hidden, bool both_ways) {
  if (b->status) return WICK_NO_VALUE;
  int64_t d = both_ways ? 2 : 1, in_width = wick_type_of(b, x).dims[2];
  int64_t w[] = {d, 4 * hidden, in_width}, r[] = {d, 4 * hidden, hidden}, bias[] = {d, 8 * hidden};
  float dev = sqrtf(1.0f / (float)hidden);
  const char *name = layer_name(b, "lstm");
  wk_attr_lstm *a = attrs_of(b, WK_OP_LSTM);
  if (both_ways) a->direction = "bidirectional";
  wick_value in[] = {x, weights(b, part(b, name, "w"), 3, w, 0, dev, false),
                     weights(b, part(b, name, "r"), 3, r, 0, dev, false),
                     weights(b, part(b, name, "b"), 2, bias, 0, 0.1f, false)};
  return add_named(b, name, WK_OP_LSTM, a, in, 4);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

wick_value wick_unary(wick_builder *b, wk_op op, wick_value x) { return add(b, op, NULL, &x, 1); }

wick_value wick_binary(wick_builder *b, wk_op op, wick_value x, wick_value y) {
  wick_value in[] = {x, y};
  return add(b, op, NULL, in, 2);
}

wick_value wick_scalar(wick_builder *b, double v) {
  return b->status ? WICK_NO_VALUE : wk_graph_scalar(b->g, WK_F32, v);
}

wick_value wick_relu(wick_builder *b, wick_value x) { return wick_unary(b, WK_OP_RELU, x); }
wick_value wick_add(wick_builder *b, wick_value x, wick_value y) {
  return wick_binary(b, WK_OP_ADD, x, y);
}
wick_value wick_mul(wick_builder *b, wick_value x, wick_value y) {
  return wick_binary(b, WK_OP_MUL, x, y);
}

wick_value wick_clip(wick_builder *b, wick_value x, double lo, double hi) {
  wk_attr_clip *a = attrs_of(b, WK_OP_CLIP);
  a->lo = lo;
  a->hi = hi;
  return add(b, WK_OP_CLIP, a, &x, 1);
}

wick_value wick_softmax(wick_builder *b, wick_value x, int axis) {
  wk_attr_softmax *a = attrs_of(b, WK_OP_SOFTMAX);
  a->axis = axis < 0 ? axis + wick_type_of(b, x).rank : axis;
  return add(b, WK_OP_SOFTMAX, a, &x, 1);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static void set_window(wick_builder *b, wk_attr_max_pool *a, int s, int64_t kernel, int64_t stride,
                       int64_t pad) {
  a->kernel = fill(b, s, kernel);
  a->strides = fill(b, s, stride);
  a->pads = fill(b, 2 * s, pad);
  a->dilations = fill(b, s, 1);
}

wick_value wick_max_pool(wick_builder *b, wick_value x, int64_t kernel, int64_t stride,
                         int64_t pad) {
  if (b->status) return WICK_NO_VALUE;
  wk_attr_max_pool *a = attrs_of(b, WK_OP_MAX_POOL);
  set_window(b, a, wick_type_of(b, x).rank - 2, kernel, stride, pad);
  return add(b, WK_OP_MAX_POOL, a, &x, 1);
}

wick_value wick_avg_pool(wick_builder *b, wick_value x, int64_t kernel, int64_t stride,
                         int64_t pad) {
  if (b->status) return WICK_NO_VALUE;
  int s = wick_type_of(b, x).rank - 2;
  wk_attr_avg_pool *a = attrs_of(b, WK_OP_AVG_POOL);
  wk_attr_max_pool w = {0};
  set_window(b, &w, s, kernel, stride, pad);
  a->kernel = w.kernel;
  a->strides = w.strides;
  a->pads = w.pads;
  a->dilations = w.dilations;
  a->real_pads = fill(b, 2 * s, 0);
  return add(b, WK_OP_AVG_POOL, a, &x, 1);
}

wick_value wick_global_avg_pool(wick_builder *b, wick_value x) {
  if (b->status) return WICK_NO_VALUE;
  wk_attr_reduce_mean *a = attrs_of(b, WK_OP_REDUCE_MEAN);
  int64_t axes[WK_MAX_RANK];
  int rank = wick_type_of(b, x).rank;
  for (int i = 2; i < rank; i++) axes[i - 2] = i;
  a->axes = wk_ints_dup(b->m->arena, axes, rank - 2);
  return add(b, WK_OP_REDUCE_MEAN, a, &x, 1);
}

wick_value wick_mean(wick_builder *b, wick_value x, int axis, bool keeps) {
  wk_attr_reduce_mean *a = attrs_of(b, WK_OP_REDUCE_MEAN);
  a->axes = fill(b, 1, axis);
  a->keepdims = keeps;
  return add(b, WK_OP_REDUCE_MEAN, a, &x, 1);
}

/* ---- movement -------------------------------------------------------------------------------- */

wick_value wick_concat(wick_builder *b, const wick_value *xs, int n, int axis) {
  wk_attr_concat *a = attrs_of(b, WK_OP_CONCAT);
  a->axis = axis;
  return add(b, WK_OP_CONCAT, a, xs, (uint32_t)n);
}

wick_value wick_reshape(wick_builder *b, wick_value x, int rank, const int64_t *dims) {
  wk_attr_reshape *a = attrs_of(b, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(b->m->arena, dims, rank);
  return add(b, WK_OP_RESHAPE, a, &x, 1);
}

wick_value wick_expand(wick_builder *b, wick_value x, int rank, const int64_t *dims) {
  wk_attr_expand *a = attrs_of(b, WK_OP_EXPAND);
  a->shape = wk_ints_dup(b->m->arena, dims, rank);
  return add(b, WK_OP_EXPAND, a, &x, 1);
}

wick_value wick_flatten(wick_builder *b, wick_value x) {
  if (b->status) return WICK_NO_VALUE;
  const wk_type t = wick_type_of(b, x);
  int64_t dims[] = {t.dims[0], 1};
  for (int i = 1; i < t.rank; i++) dims[1] *= t.dims[i];
  return wick_reshape(b, x, 2, dims);
}

wick_value wick_transpose(wick_builder *b, wick_value x, const int64_t *perm) {
  if (b->status) return WICK_NO_VALUE;
  wk_attr_transpose *a = attrs_of(b, WK_OP_TRANSPOSE);
  a->perm = wk_ints_dup(b->m->arena, perm, wick_type_of(b, x).rank);
  return add(b, WK_OP_TRANSPOSE, a, &x, 1);
}

wick_value wick_slice(wick_builder *b, wick_value x, int axis, int64_t start, int64_t size) {
  return wick_slice_steps(b, x, axis, start, size, 1);
}

wick_value wick_slice_steps(wick_builder *b, wick_value x, int axis, int64_t start, int64_t size,
                            int64_t step) {
  if (b->status) return WICK_NO_VALUE;
  const wk_type t = wick_type_of(b, x);
  int64_t starts[WK_MAX_RANK] = {0}, sizes[WK_MAX_RANK], steps[WK_MAX_RANK];
  memcpy(sizes, t.dims, sizeof sizes);
  for (int i = 0; i < t.rank; i++) steps[i] = i == axis ? step : 1;
  starts[axis] = start;
  sizes[axis] = size;
  wk_attr_slice *a = attrs_of(b, WK_OP_SLICE);
  a->starts = wk_ints_dup(b->m->arena, starts, t.rank);
  a->sizes = wk_ints_dup(b->m->arena, sizes, t.rank);
  a->steps = wk_ints_dup(b->m->arena, steps, t.rank);
  return add(b, WK_OP_SLICE, a, &x, 1);
}

wick_value wick_select(wick_builder *b, wick_value x, int axis, const int64_t *at, int64_t n) {
  if (b->status) return WICK_NO_VALUE;
  const char *name = layer_name(b, "select");
  wk_attr_gather *a = attrs_of(b, WK_OP_GATHER);
  a->axis = axis;
  wick_value in[] = {x, integers(b, part(b, name, "at"), at, n)};
  return add_named(b, name, WK_OP_GATHER, a, in, 2);
}

wick_value wick_matmul(wick_builder *b, wick_value x, wick_value y) {
  return wick_binary(b, WK_OP_MATMUL, x, y);
}
