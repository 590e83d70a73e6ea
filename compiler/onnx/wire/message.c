/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/onnx/wire/message.h"

#include <string.h>

Onnx__AttributeProto *wk_message_attribute(wk_arena *a, Onnx__NodeProto *n, const char *name,
                                           Onnx__AttributeProto__AttributeType type) {
  Onnx__AttributeProto *x = wk_arena_alloc(a, sizeof *x);
  Onnx__AttributeProto **list = wk_arena_alloc(a, (n->n_attribute + 1) * sizeof *list);
  onnx__attribute_proto__init(x);
  x->name = wk_arena_strdup(a, name);
  x->has_type = true;
  x->type = type;
  if (n->n_attribute) memcpy(list, n->attribute, n->n_attribute * sizeof *list);
  list[n->n_attribute++] = x;
  n->attribute = list;
  return x;
}

Onnx__ValueInfoProto *wk_message_value(wk_arena *a, const char *name, int32_t elem_type) {
  Onnx__ValueInfoProto *v = wk_arena_alloc(a, sizeof *v);
  onnx__value_info_proto__init(v);
  v->name = wk_arena_strdup(a, name);
  v->type = wk_arena_alloc(a, sizeof *v->type);
  onnx__type_proto__init(v->type);
  if (!elem_type) return v;
  v->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  v->type->tensor_type = wk_arena_alloc(a, sizeof *v->type->tensor_type);
  onnx__type_proto__tensor__init(v->type->tensor_type);
  v->type->tensor_type->has_elem_type = true;
  v->type->tensor_type->elem_type = elem_type;
  return v;
}

void wk_message_shape(wk_arena *a, Onnx__ValueInfoProto *v, int rank, const int64_t *dims) {
  Onnx__TensorShapeProto *s = wk_arena_alloc(a, sizeof *s);
  onnx__tensor_shape_proto__init(s);
  v->type->tensor_type->shape = s;
  s->n_dim = (size_t)rank;
  s->dim = wk_arena_alloc(a, (size_t)rank * sizeof *s->dim);
  for (int i = 0; i < rank; i++) {
    Onnx__TensorShapeProto__Dimension *d = s->dim[i] = wk_arena_alloc(a, sizeof *d);
    onnx__tensor_shape_proto__dimension__init(d);
    d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    d->dim_value = dims[i];
  }
}
