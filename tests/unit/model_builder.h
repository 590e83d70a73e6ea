/* SPDX-License-Identifier: Apache-2.0
 * Builds ONNX models in memory for tests. Everything lives in one arena. */
#ifndef WICK_TESTS_MODEL_BUILDER_H
#define WICK_TESTS_MODEL_BUILDER_H

#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/onnx.h"
#include "onnx.pb-c.h"

typedef struct {
  wk_arena *a;
  Onnx__ModelProto model;
  Onnx__GraphProto *g; /* main graph */
} builder;

/* Appends to a protobuf-c repeated pointer field. */
#define ADD(b, list, count, item)                                              \
  do {                                                                         \
    void **bigger_ = wk_arena_alloc((b)->a, ((count) + 1) * sizeof(void *));   \
    if (count) memcpy(bigger_, (list), (count) * sizeof(void *));              \
    bigger_[(count)++] = (item);                                               \
    (list) = (void *)bigger_;                                                  \
  } while (0)

static inline char *text(builder *b, const char *s) { return wk_arena_strdup(b->a, s); }

static inline Onnx__GraphProto *new_graph(builder *b, const char *name) {
  Onnx__GraphProto *g = wk_arena_alloc(b->a, sizeof *g);
  onnx__graph_proto__init(g);
  g->name = text(b, name);
  return g;
}

static inline void add_opset(builder *b, const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *o = wk_arena_alloc(b->a, sizeof *o);
  onnx__operator_set_id_proto__init(o);
  o->domain = text(b, domain);
  o->has_version = true;
  o->version = version;
  ADD(b, b->model.opset_import, b->model.n_opset_import, o);
}

static inline builder new_model(int64_t opset) {
  builder b = {.a = wk_arena_new()};
  onnx__model_proto__init(&b.model);
  b.model.has_ir_version = true;
  b.model.ir_version = 8;
  b.g = b.model.graph = new_graph(&b, "test");
  add_opset(&b, "", opset);
  return b;
}

/* Space-separated names, "-" for an absent one, into a repeated string field. */
static inline void add_names(builder *b, char ***list, size_t *n, const char *names) {
  char *copy = text(b, names), *state = NULL;
  for (char *p = strtok_r(copy, " ", &state); p; p = strtok_r(NULL, " ", &state)) {
    ADD(b, *list, *n, strcmp(p, "-") == 0 ? text(b, "") : p);
  }
}

static inline Onnx__NodeProto *new_node(builder *b, const char *op, const char *in,
                                        const char *out) {
  Onnx__NodeProto *n = wk_arena_alloc(b->a, sizeof *n);
  onnx__node_proto__init(n);
  n->op_type = text(b, op);
  add_names(b, &n->input, &n->n_input, in);
  add_names(b, &n->output, &n->n_output, out);
  return n;
}

static inline Onnx__NodeProto *add_node(builder *b, Onnx__GraphProto *g, const char *op,
                                        const char *in, const char *out) {
  Onnx__NodeProto *n = new_node(b, op, in, out);
  ADD(b, g->node, g->n_node, n);
  return n;
}

static inline Onnx__AttributeProto *attribute(builder *b, Onnx__NodeProto *n, const char *name) {
  Onnx__AttributeProto *a = wk_arena_alloc(b->a, sizeof *a);
  onnx__attribute_proto__init(a);
  a->name = text(b, name);
  ADD(b, n->attribute, n->n_attribute, a);
  return a;
}

static inline void set_int(builder *b, Onnx__NodeProto *n, const char *name, int64_t v) {
  Onnx__AttributeProto *a = attribute(b, n, name);
  a->has_i = true;
  a->i = v;
}

static inline void set_graph(builder *b, Onnx__NodeProto *n, const char *name,
                             Onnx__GraphProto *g) {
  attribute(b, n, name)->g = g;
}

/* A declared value. dims: space-separated sizes and symbols, "?" unknown; NULL: no shape. */
static inline Onnx__ValueInfoProto *value(builder *b, const char *name, int32_t elem,
                                          const char *dims) {
  Onnx__ValueInfoProto *v = wk_arena_alloc(b->a, sizeof *v);
  onnx__value_info_proto__init(v);
  v->name = text(b, name);
  v->type = wk_arena_alloc(b->a, sizeof *v->type);
  onnx__type_proto__init(v->type);
  v->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  Onnx__TypeProto__Tensor *t = v->type->tensor_type = wk_arena_alloc(b->a, sizeof *t);
  onnx__type_proto__tensor__init(t);
  t->has_elem_type = true;
  t->elem_type = elem;
  if (!dims) return v;
  t->shape = wk_arena_alloc(b->a, sizeof *t->shape);
  onnx__tensor_shape_proto__init(t->shape);
  char *copy = text(b, dims), *state = NULL;
  for (char *p = strtok_r(copy, " ", &state); p; p = strtok_r(NULL, " ", &state)) {
    Onnx__TensorShapeProto__Dimension *d = wk_arena_alloc(b->a, sizeof *d);
    onnx__tensor_shape_proto__dimension__init(d);
    if (*p >= '0' && *p <= '9') {
      d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      d->dim_value = atoll(p);
    } else if (*p != '?') {
      d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      d->dim_param = p;
    }
    ADD(b, t->shape->dim, t->shape->n_dim, d);
  }
  return v;
}

#define ELEM_F32 1
#define ELEM_I64 7
#define ELEM_BOOL 9

static inline void add_input(builder *b, Onnx__GraphProto *g, const char *name, int32_t elem,
                             const char *dims) {
  ADD(b, g->input, g->n_input, value(b, name, elem, dims));
}

static inline void add_output(builder *b, Onnx__GraphProto *g, const char *name, int32_t elem) {
  ADD(b, g->output, g->n_output, value(b, name, elem, NULL));
}

/* A tensor with raw data. */
static inline Onnx__TensorProto *raw_tensor(builder *b, const char *name, int32_t elem, int rank,
                                            const int64_t *dims, const void *data, size_t bytes) {
  Onnx__TensorProto *t = wk_arena_alloc(b->a, sizeof *t);
  onnx__tensor_proto__init(t);
  t->name = text(b, name);
  t->has_data_type = true;
  t->data_type = elem;
  t->n_dims = (size_t)rank;
  t->dims = wk_arena_memdup(b->a, dims, (size_t)rank * sizeof *dims);
  t->has_raw_data = true;
  t->raw_data.len = bytes;
  t->raw_data.data = wk_arena_memdup(b->a, data, bytes);
  return t;
}

static inline void add_i64s(builder *b, Onnx__GraphProto *g, const char *name, const int64_t *v,
                            int64_t n) {
  int64_t copy[64] = {0};
  memcpy(copy, v, (size_t)n * sizeof *v);
  Onnx__TensorProto *t = raw_tensor(b, name, ELEM_I64, 1, &n, copy, (size_t)n * sizeof *v);
  ADD(b, g->initializer, g->n_initializer, t);
}

/* Packs and imports; frees the builder. */
static inline wk_status import_model(builder *b, const wk_import_options *o, wk_import_report *r,
                                     wk_module **out) {
  size_t n = onnx__model_proto__get_packed_size(&b->model);
  uint8_t *bytes = malloc(n + 1);
  onnx__model_proto__pack(&b->model, bytes);
  wk_status s = wk_import_onnx_memory(bytes, n, o, r, out);
  free(bytes);
  wk_arena_free(b->a);
  return s;
}

/* A model that can be imported; frees the builder. */
static inline wk_module *import_for(builder *b, wk_import_purpose purpose, wk_import_report *r) {
  wk_module *m;
  const wk_import_options o = {.purpose = purpose};
  wk_status s = import_model(b, &o, r, &m);
  if (s) fail_msg("%s", s->message);
  return m;
}

#endif
