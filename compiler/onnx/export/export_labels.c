/* SPDX-License-Identifier: Apache-2.0
 * Outputs that are strings or lists of maps in ONNX. */
#include "compiler/onnx/export/export.h"
#include "compiler/onnx/wire/message.h"

#include <stdlib.h>

/* An initialiser of strings. */
static const char *texts_constant(wk_export_graph *x, wk_texts texts) {
  Onnx__TensorProto *m = wk_arena_alloc(x->arena, sizeof *m);
  onnx__tensor_proto__init(m);
  m->n_dims = 1;
  m->dims = wk_arena_memdup(x->arena, &texts.n, sizeof texts.n);
  m->has_data_type = true;
  m->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
  m->n_string_data = (size_t)texts.n;
  m->string_data = wk_arena_alloc(x->arena, (size_t)texts.n * sizeof *m->string_data);
  for (int64_t i = 0; i < texts.n; i++) m->string_data[i] = wk_export_bytes(x, texts.v[i]);
  m->name = (char *)(uintptr_t)wk_export_fresh(x);
  wk_vec_push(&x->constants, m);
  return m->name;
}

/* A list of maps from these keys to numbers. */
static Onnx__ValueInfoProto *maps_info(wk_arena *a, const char *name, int32_t key) {
  Onnx__ValueInfoProto *v = wk_message_value(a, name, 0);
  Onnx__TypeProto__Sequence *s = wk_arena_alloc(a, sizeof *s);
  Onnx__TypeProto__Map *m = wk_arena_alloc(a, sizeof *m);
  Onnx__TypeProto *element = wk_arena_alloc(a, sizeof *element);
  onnx__type_proto__sequence__init(s);
  onnx__type_proto__map__init(m);
  onnx__type_proto__init(element);
  v->type->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
  v->type->sequence_type = s;
  s->elem_type = element;
  element->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
  element->map_type = m;
  m->has_key_type = true;
  m->key_type = key;
  m->value_type = wk_message_value(a, "", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)->type;
  return v;
}

static wk_ints numbers_of(wk_export_graph *x, wk_texts texts) {
  int64_t *v = wk_arena_alloc(x->arena, (size_t)texts.n * sizeof *v);
  for (int64_t i = 0; i < texts.n; i++) v[i] = strtoll(texts.v[i], NULL, 10);
  return (wk_ints){.n = texts.n, .v = v};
}

Onnx__ValueInfoProto *wk_export_labelled(wk_export_graph *x, const wk_labels *l, const char *name,
                                         const wk_type *t) {
  if (l->kind == WK_LABELS_ELEMENTS) {
    wk_export_2(x, "Gather", texts_constant(x, l->texts), name, l->output);
    Onnx__ValueInfoProto *v =
        wk_message_value(x->arena, l->output, ONNX__TENSOR_PROTO__DATA_TYPE__STRING);
    wk_message_shape(x->arena, v, t->rank, t->dims);
    return v;
  }
  wk_export_1(x, "ZipMap", name, l->output);
  wk_export_last(x)->domain = wk_arena_strdup(x->arena, WK_EXPORT_ML_DOMAIN);
  *x->uses_ml_domain = true;
  if (l->are_numbers) wk_export_ints(x, "classlabels_int64s", numbers_of(x, l->texts));
  else wk_export_texts(x, "classlabels_strings", l->texts);
  return maps_info(x->arena, l->output, l->are_numbers ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64
                                                       : ONNX__TENSOR_PROTO__DATA_TYPE__STRING);
}
