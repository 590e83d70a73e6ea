/* SPDX-License-Identifier: Apache-2.0
 * Fills: blobs whose contents are arguments. Their operators are those of init nets. */
#include <stdlib.h>
#include <string.h>

#include "compiler/caffe2/translate.h"

enum { F32 = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, I32 = ONNX__TENSOR_PROTO__DATA_TYPE__INT32,
       I64 = ONNX__TENSOR_PROTO__DATA_TYPE__INT64, F64 = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE };

static wk_ints read_shape(wk_c2_op *o) {
  wk_ints shape = wk_c2_ints(o, "shape");
  if (shape.n < 0) shape = (wk_ints){0};
  wk_c2_need(o, o->n_in == 0, "the shape is that of a blob");
  wk_c2_need(o, !wk_c2_ints(o, "extra_shape").n || !wk_c2_has(o, "extra_shape"), "extra_shape");
  wk_c2_need(o, shape.n <= WK_MAX_RANK, "rank %lld exceeds %d", (long long)shape.n, WK_MAX_RANK);
  return shape;
}

/* The initialiser that becomes output i; NULL after an error. n: elements that are given. */
static Onnx__TensorProto *constant(wk_c2_op *o, int i, int32_t elem_type, wk_ints shape,
                                   size_t n) {
  int64_t want = 0;
  bool ok = !o->status && wk_dims_product(shape.v, (int)shape.n, &want);
  wk_c2_valid(o, ok, "the shape has a negative size or is too large");
  wk_c2_valid(o, !ok || (uint64_t)want == n, "'values' holds %zu elements, the shape needs %lld",
              n, (long long)want);
  if (o->status) return NULL;
  const char *name = wk_c2_out(o, i);
  Onnx__TensorProto *t = wk_c2_tensor(o->c, name, elem_type, shape.n, shape.v);
  uint32_t slot;
  if (wk_map_get(o->c->slots, o->def->output[i], &slot)) o->c->slot.data[slot].now.constant = t;
  return t;
}

/* args: the element type, by its ONNX number. */
void wk_c2_given_fill(wk_c2_op *o) {
  int32_t elem_type = (int32_t)strtol(o->row->args, NULL, 10);
  const Caffe2__Argument *v = wk_c2_arg(o, "values");
  wk_ints shape = read_shape(o);
  bool is_float = elem_type == F32 || elem_type == F64;
  if (!wk_c2_valid(o, v != NULL, "argument 'values' is missing")) return;
  wk_c2_valid(o, is_float ? !v->n_ints : !v->n_floats, "'values' holds numbers of another type");
  Onnx__TensorProto *t = constant(o, 0, elem_type, shape, is_float ? v->n_floats : v->n_ints);
  if (!t) return;
  wk_arena *a = o->c->arena;
  if (elem_type == F32) {
    t->n_float_data = v->n_floats;
    t->float_data = v->floats;
  } else if (elem_type == I64) {
    t->n_int64_data = v->n_ints;
    t->int64_data = v->ints;
  } else if (elem_type == F64) {
    t->n_double_data = v->n_floats;
    t->double_data = wk_arena_alloc(a, (v->n_floats + 1) * sizeof *t->double_data);
    for (size_t i = 0; i < v->n_floats; i++) t->double_data[i] = v->floats[i];
  } else {
    t->n_int32_data = v->n_ints;
    t->int32_data = wk_arena_alloc(a, (v->n_ints + 1) * sizeof *t->int32_data);
    for (size_t i = 0; i < v->n_ints; i++) t->int32_data[i] = (int32_t)v->ints[i];
  }
}
