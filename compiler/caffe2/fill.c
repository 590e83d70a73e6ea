/* SPDX-License-Identifier: Apache-2.0
 * Fills: blobs whose contents are arguments. Their operators are those of init nets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/caffe2/translate.h"

enum { BOOL = ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, F16 = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16,
       F32 = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, F64 = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE,
       I32 = ONNX__TENSOR_PROTO__DATA_TYPE__INT32, I64 = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
       U8 = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8 };

static wk_ints read_shape(wk_c2_op *o) {
  wk_ints shape = wk_c2_ints(o, "shape");
  if (shape.n < 0) shape = (wk_ints){0};
  wk_c2_need(o, o->n_in == 0, "a shape that is that of a blob is not supported");
  wk_c2_need(o, wk_c2_ints(o, "extra_shape").n <= 0, "extra_shape is not supported");
  wk_c2_need(o, shape.n <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)shape.n, WK_MAX_RANK);
  return shape;
}

/* Elements of the shape; -1 after an error. */
static int64_t count(wk_c2_op *o, wk_ints shape) {
  int64_t n = -1;
  bool ok = !o->status && wk_dims_product(shape.v, (int)shape.n, &n);
  wk_c2_valid(o, ok, "the shape has a negative size or is too large");
  return o->status ? -1 : n;
}

/* The initialiser that becomes output i; NULL after an error. n: elements that are given. */
static Onnx__TensorProto *constant(wk_c2_op *o, int i, int32_t elem_type, wk_ints shape,
                                   size_t n) {
  int64_t want = count(o, shape);
  wk_c2_valid(o, want < 0 || (uint64_t)want == n,
              "'values' holds %zu elements, the shape needs %lld", n, (long long)want);
  if (o->status) return NULL;
  const char *name = wk_c2_out(o, i);
  Onnx__TensorProto *t = wk_c2_tensor(o->c, name, elem_type, shape.n, shape.v);
  uint32_t slot;
  if (wk_map_get(o->c->slots, o->def->output[i], &slot)) o->c->slot.data[slot].now.constant = t;
  return t;
}

/* ---- values -------------------------------------------------------------------------------- */

static void put_doubles(wk_c2_op *o, Onnx__TensorProto *t, const Caffe2__Argument *v) {
  t->n_double_data = v->n_floats;
  t->double_data = wk_arena_alloc(o->c->arena, v->n_floats * sizeof *t->double_data);
  for (size_t i = 0; i < v->n_floats; i++) t->double_data[i] = v->floats[i];
}

/* The values that a type has; bools are whatever is not 0. */
static void want_range(wk_c2_op *o, int32_t elem_type, int64_t v) {
  wk_dtype t = wk_onnx_elem_type(elem_type);
  int bits = 8 * (int)wk_dtype_size(t) - wk_dtype_is_signed(t);
  int64_t max = ((int64_t)1 << bits) - 1, min = wk_dtype_is_signed(t) ? -max - 1 : 0;
  wk_c2_valid(o, t == WK_BOOL || (v >= min && v <= max), "'values' holds %lld, which is no %s",
              (long long)v, wk_dtype_name(t));
}

static void put_narrow(wk_c2_op *o, Onnx__TensorProto *t, const Caffe2__Argument *v) {
  for (size_t i = 0; i < v->n_ints && !o->status; i++) want_range(o, t->data_type, v->ints[i]);
  t->n_int32_data = v->n_ints;
  t->int32_data = wk_arena_alloc(o->c->arena, v->n_ints * sizeof *t->int32_data);
  for (size_t i = 0; i < v->n_ints; i++)
    t->int32_data[i] = t->data_type == BOOL ? v->ints[i] != 0 : (int32_t)v->ints[i];
}

static void put_values(wk_c2_op *o, Onnx__TensorProto *t, const Caffe2__Argument *v) {
  switch (t->data_type) {
    case F32:
      t->n_float_data = v->n_floats;
      t->float_data = v->floats;
      return;
    case I64:
      t->n_int64_data = v->n_ints;
      t->int64_data = v->ints;
      return;
    case F64: put_doubles(o, t, v); return;
    default: put_narrow(o, t, v);
  }
}

static Onnx__TensorProto *given(wk_c2_op *o, int32_t elem_type) {
  const Caffe2__Argument *v = wk_c2_arg(o, "values");
  wk_ints shape = read_shape(o);
  bool is_float = elem_type == F32 || elem_type == F64;
  if (!wk_c2_valid(o, v != NULL, "argument 'values' is missing")) return NULL;
  wk_c2_valid(o, is_float ? !v->n_ints : !v->n_floats, "'values' holds numbers of another type");
  Onnx__TensorProto *t = constant(o, 0, elem_type, shape, is_float ? v->n_floats : v->n_ints);
  if (t) put_values(o, t, v);
  return t;
}

/* args: the element type, by its ONNX number. */
void wk_c2_given_fill(wk_c2_op *o) { given(o, (int32_t)strtol(o->row->args, NULL, 10)); }

/* Given as f32. */
void wk_c2_given_half_fill(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0);
  o->inner = wk_c2_fresh(o, "values");
  given(o, F32);
  wk_c2_make(o, "Cast", out, o->inner, NULL, NULL);
  wk_c2_attr_int(o, "to", F16);
}

static void fill_bytes(wk_c2_op *o, ProtobufCBinaryData bytes) {
  Onnx__TensorProto *t = constant(o, 0, U8, read_shape(o), bytes.len);
  if (!t) return;
  t->has_raw_data = true;
  t->raw_data = bytes;
}

void wk_c2_bytes_fill(wk_c2_op *o) {
  const Caffe2__Argument *v = wk_c2_arg(o, "values");
  bool is_one = v && v->n_strings + v->has_s == 1;
  if (wk_c2_valid(o, is_one, "argument 'values' is no string"))
    fill_bytes(o, v->has_s ? v->s : v->strings[0]);
}

/* ---- one value ----------------------------------------------------------------------------- */

static Onnx__TensorProto *one_value(wk_c2_op *o, int32_t elem_type) {
  Onnx__TensorProto *t = wk_arena_alloc(o->c->arena, sizeof *t);
  const Caffe2__Argument none = CAFFE2__ARGUMENT__INIT, *v = wk_c2_arg(o, "value");
  Caffe2__Argument list = CAFFE2__ARGUMENT__INIT;
  if (!v) v = &none;
  wk_c2_valid(o, v == &none || v->has_f || v->has_i, "argument 'value' is no number");
  float f = v->has_f ? v->f : (float)v->i;
  int64_t i = v->has_i ? v->i : (int64_t)(fabsf(v->f) < 0x1p62f ? v->f : 0);
  onnx__tensor_proto__init(t);
  t->has_data_type = true;
  t->data_type = elem_type;
  t->dims = wk_arena_memdup(o->c->arena, &(int64_t){1}, sizeof(int64_t));
  t->n_dims = list.n_floats = list.n_ints = 1;
  list.floats = wk_arena_memdup(o->c->arena, &f, sizeof f);
  list.ints = wk_arena_memdup(o->c->arena, &i, sizeof i);
  put_values(o, t, &list);
  return t;
}

/* The shape to fill: an argument, that of input 0, or what input 0 holds. */
static const char *shape_to_fill(wk_c2_op *o) {
  wk_ints shape = wk_c2_ints(o, "shape"), extra = wk_c2_ints(o, "extra_shape");
  const char *sizes, *x = wk_c2_in(o, 0);
  bool holds_it = wk_c2_int(o, "input_as_shape", 0) != 0;
  wk_c2_valid(o, o->n_in == 0 || shape.n <= 0, "the shape is an argument and that of an input");
  if (o->n_in == 0) return wk_c2_i64s(o, shape.v, shape.n > 0 ? shape.n : 0);
  sizes = wk_c2_make(o, holds_it ? "Cast" : "Shape", NULL, x, NULL, NULL);
  if (holds_it) wk_c2_attr_int(o, "to", I64);
  if (extra.n <= 0) return sizes;
  const char *all = wk_c2_make(o, "Concat", NULL, sizes, wk_c2_i64s(o, extra.v, extra.n), NULL);
  wk_c2_attr_int(o, "axis", 0);
  return all;
}

void wk_c2_constant_fill(wk_c2_op *o) {
  const char *out = wk_c2_out(o, 0);
  const Caffe2__Argument *v = wk_c2_arg(o, "value");
  int32_t elem_type = wk_c2_elem_type(o, "dtype", v && v->has_i ? I64 : F32);
  bool is_known = elem_type == F32 || elem_type == F64 || elem_type == I64 || elem_type == I32 ||
                  elem_type == BOOL || elem_type == U8;
  wk_c2_need(o, is_known, "a constant of this element type is not supported");
  wk_c2_make(o, "ConstantOfShape", out, shape_to_fill(o), NULL, NULL);
  wk_c2_attr_tensor(o, "value", one_value(o, elem_type));
}

/* ---- random values ------------------------------------------------------------------------- */

/* Where weights begin at random: by the inputs or outputs of one of them. */
static float range_of(wk_c2_op *o, wk_ints shape, bool by_inputs) {
  int axis = by_inputs ? 0 : 1;
  int64_t n = count(o, shape);
  if (!wk_c2_valid(o, shape.n > axis && shape.v[axis] > 0, "the shape has too few axes")) return 0;
  float fan = fmaxf((float)n / (float)shape.v[axis], 1);
  return sqrtf((by_inputs ? 3 : 2) / fan);
}

/* args: uniform or normal; of weights, fan_in or fan_out. The blob's name is the seed. */
void wk_c2_random_fill(wk_c2_op *o) {
  bool is_uniform = strncmp(o->row->args, "uniform", 7) == 0, by_fan = strstr(o->row->args, "fan");
  const char *out = wk_c2_out(o, 0), *blob = o->def->output[0];
  wk_ints shape = read_shape(o);
  wk_c2_arg(o, "seed"); /* of another generator */
  float range = by_fan ? range_of(o, shape, is_uniform) : 0;
  float low = by_fan ? -range : wk_c2_float(o, "min", 0);
  float high = by_fan ? range : wk_c2_float(o, "max", 1);
  float mean = wk_c2_float(o, "mean", 0), deviation = by_fan ? range : wk_c2_float(o, "std", 1);
  wk_c2_make(o, is_uniform ? "RandomUniform" : "RandomNormal", out, NULL, NULL, NULL);
  wk_c2_attr_ints(o, "shape", shape.v, shape.n);
  wk_c2_attr_float(o, "seed", (float)(wk_hash64(blob, strlen(blob), 0) >> 48));
  wk_c2_attr_float(o, is_uniform ? "low" : "mean", is_uniform ? low : mean);
  wk_c2_attr_float(o, is_uniform ? "high" : "scale", is_uniform ? high : deviation);
  wk_c2_note(o->c, "%s makes random numbers, each time the same ones, and other ones than Caffe2",
             o->row->type);
}

/* ---- 8-bit tensors ------------------------------------------------------------------------- */

static void set_scale(wk_c2_op *o) {
  uint32_t slot;
  float scale = wk_c2_float(o, "Y_scale", 1);
  int64_t zero = wk_c2_int(o, "Y_zero_point", 0);
  bool is_u8 = strcmp(o->row->type, "Int8GivenTensorFill") == 0;
  wk_c2_valid(o, scale > 0 && isfinite(scale), "Y_scale is %g", (double)scale);
  wk_c2_valid(o, is_u8 ? zero >= 0 && zero <= 255 : zero == 0, "Y_zero_point is %lld",
              (long long)zero);
  if (o->status || !wk_map_get(o->c->slots, o->def->output[0], &slot)) return;
  wk_c2_blob *b = &o->c->slot.data[slot].now;
  b->is_int8 = true;
  b->scale = scale;
  b->zero = zero;
}

void wk_c2_int8_bytes_fill(wk_c2_op *o) {
  wk_c2_bytes_fill(o);
  set_scale(o);
}

void wk_c2_int8_ints_fill(wk_c2_op *o) {
  given(o, I32);
  set_scale(o);
}
