/* SPDX-License-Identifier: Apache-2.0
 * Operators without run-time inputs: constants, and random numbers. */
#include <math.h>
#include <string.h>

#include "compiler/ir/graph_names.h"
#include "compiler/onnx/import/labels.h"
#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

/* ---- Constant ------------------------------------------------------------------------------ */

static wk_value_id from_floats(wk_onnx_node *c, const float *v, int64_t n, int rank) {
  void *data;
  wk_type t = wk_type_make(WK_F32, rank, &n);
  wk_value_id id = wk_make_constant(c, &t, &data);
  if (data && n > 0) memcpy(data, v, (size_t)n * sizeof *v);
  return id;
}

/* The strings that it has; false: it has none. */
static bool is_text(wk_onnx_node *c) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, "value");
  wk_texts texts = wk_onnx_texts(c, "value_strings");
  const char *one = wk_onnx_text(c, "value_string", NULL);
  bool is_tensor = a && a->t && a->t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  if (is_tensor) {
    wk_onnx_latch(c, wk_label_tensor(c->im, c->g, NULL, a->t, &c->out[0]));
  } else if (one || texts.n >= 0) {
    const char **v = wk_arena_memdup(c->im->m->arena, &one, sizeof one);
    if (one) texts = (wk_texts){.n = 1, .v = v};
    const wk_type t = wk_type_make(WK_I64, one ? 0 : 1, &texts.n);
    wk_onnx_latch(c, wk_label_constant(c->im, c->g, NULL, &t, texts, &c->out[0]));
  }
  return is_tensor || one || texts.n >= 0;
}

/* Numbers in attributes have a derivative as tensors have, but are not written back. */
static void keep_numbers(wk_onnx_node *c, wk_value_id v) {
  bool is_node;
  const char *name = wk_training_constant(c, &is_node);
  if (c->status || !name || c->im->opt->purpose != WK_FOR_DERIVATIVES) return;
  wk_graph_set_name(c->g, v, wk_arena_strdup(c->im->m->arena, name));
  wk_training_weight(c->im, c->g, v, is_node);
}

wk_status wk_onnx_constant(wk_onnx_node *c) {
  const Onnx__AttributeProto *a;
  wk_value_id v = WK_NONE;
  if (is_text(c)) return c->status;
  if ((a = wk_onnx_attr(c, "value")) && a->t) {
    bool is_node;
    const char *name = wk_training_constant(c, &is_node);
    wk_onnx_latch(c, wk_onnx_tensor_constant(c->im, c->g, name, a->t, &v));
    if (name && !c->status) wk_training_weight(c->im, c->g, v, is_node);
  } else if ((a = wk_onnx_attr(c, "sparse_value")) && a->sparse_tensor) {
    wk_onnx_latch(c, wk_onnx_sparse_constant(c->im, c->g, NULL, a->sparse_tensor, &v));
  } else if ((a = wk_onnx_attr(c, "value_int"))) {
    v = wk_make_reshape(c, wk_make_i64s(c, &a->i, 1), 0, NULL);
  } else if ((a = wk_onnx_attr(c, "value_ints"))) {
    v = wk_make_i64s(c, a->ints, (int64_t)a->n_ints);
  } else if ((a = wk_onnx_attr(c, "value_float"))) {
    v = from_floats(c, &a->f, 1, 0);
    keep_numbers(c, v);
  } else if ((a = wk_onnx_attr(c, "value_floats"))) {
    v = from_floats(c, a->floats, (int64_t)a->n_floats, 1);
    keep_numbers(c, v);
  } else {
    wk_onnx_valid(c, false, "it has no value");
  }
  return wk_onnx_return(c, v);
}

/* Type and value of the one-element tensor attribute `value`; f32 zero when absent. */
static wk_dtype splat_value(wk_onnx_node *c, uint8_t value[8]) {
  const Onnx__AttributeProto *a = wk_onnx_attr(c, "value");
  memset(value, 0, 8);
  if (!a || !a->t) return WK_F32;
  wk_tensor t;
  bool borrowed;
  wk_onnx_latch(c, wk_onnx_tensor_read(a->t, &t, &borrowed));
  if (c->status) return WK_F32;
  bool is_one = wk_type_count(&t.type) == 1;
  if (is_one) memcpy(value, t.data, (size_t)wk_dtype_size(t.type.dtype));
  if (!borrowed) wk_tensor_free(&t);
  wk_onnx_valid(c, is_one, "the value must have one element");
  return t.type.dtype;
}

static wk_value_id splat_of(wk_onnx_node *c, wk_ints shape, const char *what) {
  uint8_t value[8];
  wk_dtype t = splat_value(c, value);
  if (!wk_onnx_need(c, shape.n <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)shape.n,
                    WK_MAX_RANK)) {
    return WK_NONE;
  }
  for (int64_t i = 0; i < shape.n; i++) wk_onnx_valid(c, shape.v[i] >= 0, "%s is negative", what);
  wk_type type = wk_type_make(t, (int)shape.n, shape.v);
  return wk_make_constant_splat(c, &type, value);
}

wk_status wk_onnx_constant_of_shape(wk_onnx_node *c) {
  wk_ints shape = wk_onnx_const_ints(c, c->in[0], "the shape");
  return wk_onnx_ok(c) ? wk_onnx_return(c, splat_of(c, shape, "the shape")) : c->status;
}

wk_status wk_onnx_range(wk_onnx_node *c) {
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  double first = wk_onnx_const_float(c, c->in[0], "the start");
  double limit = wk_onnx_const_float(c, c->in[1], "the limit");
  double step = wk_onnx_const_float(c, c->in[2], "the step");
  if (!wk_onnx_ok(c) ||
      !wk_onnx_valid(c, isfinite(first) && isfinite(limit), "it runs from %g to %g", first,
                     limit) ||
      !wk_onnx_valid(c, step != 0, "the step is 0")) {
    return c->status;
  }
  /* since opset 27; it counts for half types only: computed in f32 or, as here anyway, in f64 */
  wk_dtype stash = wk_onnx_dtype(c, "stash_type", WK_F32);
  bool is_half = t == WK_F16 || t == WK_BF16, in_f32 = is_half && stash == WK_F32;
  wk_onnx_need(c, !is_half || in_f32 || stash == WK_F64, "stash_type %s is not supported",
               wk_dtype_name(stash));
  double count = ceil((limit - first) / step);
  if (!wk_onnx_need(c, count < 1e8, "a range of %g elements is not supported", count))
    return c->status;
  int64_t n = count > 0 ? (int64_t)count : 0;
  void *data;
  wk_type type = wk_type_make(t, 1, &n);
  wk_value_id v = wk_make_constant(c, &type, &data);
  for (int64_t i = 0; data && i < n; i++) {
    if (in_f32) wk_store_f64(data, t, i, (float)first + (float)i * (float)step);
    else if (wk_dtype_is_float(t)) wk_store_f64(data, t, i, first + (double)i * step);
    else wk_store_i64(data, t, i, (int64_t)first + i * (int64_t)step);
  }
  return wk_onnx_return(c, v);
}

wk_status wk_onnx_eye_like(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t k = wk_onnx_int(c, "k", 0);
  if (!wk_onnx_valid(c, x.rank == 2, "the input is not a matrix")) return c->status;
  void *data;
  wk_type t = wk_type_make(wk_onnx_dtype(c, "dtype", x.dtype), 2, x.dims);
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; data && i < x.dims[0]; i++) {
    int64_t column;
    if (!wk_add_ok(i, k, &column) || column < 0 || column >= x.dims[1]) continue;
    wk_store_i64(data, t.dtype, i * x.dims[1] + column, 1);
  }
  return wk_onnx_return(c, v);
}

/* ---- random numbers ------------------------------------------------------------------------ */

static wk_value_id uniform(wk_onnx_node *c, wk_dtype t, int rank, const int64_t *dims, double low,
                           double high) {
  WK_MAKE_ATTRS(c, a, RANDOM_UNIFORM, random_uniform);
  a->to = t;
  a->shape = wk_ints_dup(c->im->m->arena, dims, rank);
  a->low = low;
  a->high = high;
  a->seed = wk_make_seed(c);
  return wk_make(c, WK_OP_RANDOM_UNIFORM, a, 0);
}

static wk_value_id random_values(wk_onnx_node *c, wk_dtype t, int rank, const int64_t *dims) {
  if (c->row->op == WK_OP_RANDOM_UNIFORM) {
    return uniform(c, t, rank, dims, wk_onnx_float(c, "low", 0.0), wk_onnx_float(c, "high", 1.0));
  }
  WK_MAKE_ATTRS(c, a, RANDOM_NORMAL, random_normal);
  a->to = t;
  a->shape = wk_ints_dup(c->im->m->arena, dims, rank);
  a->mean = wk_onnx_float(c, "mean", 0.0);
  a->scale = wk_onnx_float(c, "scale", 1.0);
  a->seed = wk_make_seed(c);
  return wk_make(c, WK_OP_RANDOM_NORMAL, a, 0);
}

wk_status wk_onnx_random(wk_onnx_node *c) {
  wk_ints shape = wk_onnx_ints(c, "shape");
  if (!wk_onnx_valid(c, shape.n >= 0 && shape.n <= WK_MAX_RANK, "the shape is not valid"))
    return c->status;
  wk_dtype t = wk_onnx_dtype(c, "dtype", WK_F32);
  return wk_onnx_return(c, random_values(c, t, (int)shape.n, shape.v));
}

wk_status wk_onnx_random_like(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_dtype t = wk_onnx_dtype(c, "dtype", wk_dtype_is_float(x.dtype) ? x.dtype : WK_F32);
  return wk_onnx_return(c, random_values(c, t, x.rank, x.dims));
}

/* 1 with probability x. */
wk_status wk_onnx_bernoulli(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  wk_value_id u = uniform(c, x.dtype, x.rank, x.dims, 0.0, 1.0);
  wk_value_id hit = wk_make_2(c, WK_OP_LESS, u, c->in[0]);
  return wk_onnx_return(c, wk_make_cast(c, hit, wk_onnx_dtype(c, "dtype", x.dtype)));
}

/* Multinomial: samples of log-probabilities x [batch, classes], the largest of x + Gumbel noise. */
wk_status wk_onnx_multinomial(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  int64_t n = wk_onnx_int(c, "sample_size", 1);
  wk_dtype t = wk_onnx_dtype(c, "dtype", WK_I32);
  if (!wk_onnx_valid(c, x.rank == 2 && n > 0, "sample_size %lld is not valid", (long long)n))
    return c->status;
  const int64_t dims[3] = {x.dims[0], n, x.dims[1]};
  wk_value_id noise = uniform(c, x.dtype, 3, dims, 1e-7, 1.0);
  for (int i = 0; i < 2; i++) { /* -log(-log(u)) */
    noise = wk_make_1(c, WK_OP_NEG, wk_make_1(c, WK_OP_LOG, noise));
  }
  wk_ints middle = wk_ints_fill(c->im->m->arena, 1, 1);
  wk_value_id v = wk_make_2(c, WK_OP_ADD, wk_make_unsqueeze(c, c->in[0], middle), noise);
  WK_MAKE_ATTRS(c, a, ARG_MAX, arg_max);
  a->axis = 2;
  a->keepdims = 0;
  return wk_onnx_return(c, wk_make_cast(c, wk_make(c, WK_OP_ARG_MAX, a, 1, v), t));
}

/* ---- Dropout ------------------------------------------------------------------------------- */

static wk_value_id true_mask(wk_onnx_node *c, const wk_type *x) {
  const uint8_t one[8] = {1};
  float one_f = 1;
  wk_type t = wk_type_make(c->opset < 10 ? x->dtype : WK_BOOL, x->rank, x->dims);
  if (t.dtype == WK_BOOL) return wk_make_constant_splat(c, &t, one);
  wk_type f32 = wk_type_make(WK_F32, x->rank, x->dims);
  return wk_make_cast(c, wk_make_constant_splat(c, &f32, &one_f), t.dtype);
}

/* Inference hands x on, unless the node says that it trains (opset 12): then elements are zeroed
 * with probability `ratio`. */
wk_status wk_onnx_dropout(wk_onnx_node *c) {
  wk_import_purpose purpose = c->im->opt->purpose;
  if (purpose > WK_FOR_EVALUATION) return wk_onnx_dropout_step(c);
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  bool trains = purpose < WK_FOR_EVALUATION && wk_onnx_has(c, 2) &&
                wk_onnx_const_int(c, c->in[2], "the training mode") != 0;
  bool is_certain = !wk_onnx_has(c, 1) || wk_is_const(c->g, c->in[1]);
  if (!wk_onnx_ok(c)) return c->status;
  double ratio = 0.5;
  if (wk_onnx_has(c, 1) && is_certain) ratio = wk_onnx_const_float(c, c->in[1], "the ratio");
  if (!trains || (is_certain && ratio == 0)) {
    wk_onnx_result(c, 0, c->in[0]);
    if (wk_onnx_wants(c, 1)) wk_onnx_result(c, 1, true_mask(c, &x));
    return c->status;
  }
  wk_value_id r = wk_make_scalar(c, x.dtype, ratio);
  if (!is_certain) r = wk_make_cast(c, wk_make_reshape(c, c->in[1], 0, NULL), x.dtype);
  wk_value_id u = uniform(c, x.dtype, x.rank, x.dims, 0.0, 1.0);
  wk_value_id mask = wk_make_2(c, WK_OP_GREATER_EQUAL, u, r);
  wk_value_id kept = wk_make_2(c, WK_OP_SUB, wk_make_scalar(c, x.dtype, 1), r);
  wk_value_id y = wk_make_2(c, WK_OP_MUL, c->in[0], wk_make_cast(c, mask, x.dtype));
  wk_onnx_result(c, 0, wk_make_2(c, WK_OP_DIV, y, kept));
  wk_onnx_result(c, 1, mask);
  return c->status;
}
