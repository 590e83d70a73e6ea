/* SPDX-License-Identifier: Apache-2.0
 * Which files of external data a model has: those of all tensors, of whatever graph. */
#include "compiler/onnx/import/importer.h"

typedef struct {
  wk_onnx_external_fn one;
  void *ctx;
} visitor;

static wk_status visit_graph(const visitor *v, const Onnx__GraphProto *g, int depth);

static wk_status visit_tensor(const visitor *v, const Onnx__TensorProto *t) {
  if (t->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) return NULL;
  const char *location = wk_onnx_external_location(t);
  return location ? v->one(v->ctx, location) : NULL;
}

static wk_status visit_attribute(const visitor *v, const Onnx__AttributeProto *a, int depth) {
  if (a->t) WK_TRY(visit_tensor(v, a->t));
  for (size_t i = 0; i < a->n_tensors; i++) WK_TRY(visit_tensor(v, a->tensors[i]));
  if (a->g) WK_TRY(visit_graph(v, a->g, depth + 1));
  for (size_t i = 0; i < a->n_graphs; i++) WK_TRY(visit_graph(v, a->graphs[i], depth + 1));
  return NULL;
}

static wk_status visit_nodes(const visitor *v, Onnx__NodeProto *const *nodes, size_t n, int depth) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < nodes[i]->n_attribute; k++)
      WK_TRY(visit_attribute(v, nodes[i]->attribute[k], depth));
  return NULL;
}

static wk_status visit_graph(const visitor *v, const Onnx__GraphProto *g, int depth) {
  if (depth > WK_GRAPH_MAX_DEPTH) return wk_error(WK_RESOURCE, "graphs are nested too deep");
  for (size_t i = 0; i < g->n_initializer; i++) WK_TRY(visit_tensor(v, g->initializer[i]));
  return visit_nodes(v, g->node, g->n_node, depth);
}

wk_status wk_onnx_each_external(const Onnx__ModelProto *m, wk_onnx_external_fn one, void *ctx) {
  const visitor v = {one, ctx};
  WK_TRY(visit_graph(&v, m->graph, 0));
  for (size_t i = 0; i < m->n_functions; i++)
    WK_TRY(visit_nodes(&v, m->functions[i]->node, m->functions[i]->n_node, 0));
  return NULL;
}
