/* SPDX-License-Identifier: Apache-2.0
 * The tensors that a node depends on, by name. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"

typedef WK_VEC(const Onnx__GraphProto *) graph_list;

static void add_bodies(graph_list *list, const Onnx__NodeProto *n) {
  for (size_t i = 0; i < n->n_attribute; i++) {
    const Onnx__AttributeProto *a = n->attribute[i];
    if (a->g) wk_vec_push(list, a->g);
    for (size_t k = 0; k < a->n_graphs; k++) wk_vec_push(list, a->graphs[k]);
  }
}

static void add_text(wk_onnx_names *out, wk_arena *a, const ProtobufCBinaryData *text) {
  wk_vec_push(out, wk_arena_strndup(a, (const char *)text->data, text->len));
}

void wk_onnx_named(const Onnx__NodeProto *n, wk_arena *a, wk_onnx_names *out) {
  bool is_gradient = n->op_type && strcmp(n->op_type, "Gradient") == 0 &&
                     strcmp(wk_onnx_domain(n->domain), "ai.onnx.preview.training") == 0;
  for (size_t i = 0; is_gradient && i < n->n_attribute; i++) {
    const Onnx__AttributeProto *x = n->attribute[i];
    if (x->has_s) add_text(out, a, &x->s);
    for (size_t k = 0; k < x->n_strings; k++) add_text(out, a, &x->strings[k]);
  }
}

static void add_node(const Onnx__NodeProto *n, bool named, wk_arena *a, wk_onnx_names *out) {
  for (size_t k = 0; k < n->n_input; k++) wk_vec_push(out, n->input[k]);
  if (named) wk_onnx_named(n, a, out);
}

static void define_names(wk_map *own, const Onnx__GraphProto *g) {
  for (size_t i = 0; i < g->n_input; i++) {
    if (g->input[i]->name) wk_map_put(own, g->input[i]->name, 0);
  }
  for (size_t i = 0; i < g->n_initializer; i++) {
    if (g->initializer[i]->name) wk_map_put(own, g->initializer[i]->name, 0);
  }
  for (size_t i = 0; i < g->n_node; i++) {
    for (size_t k = 0; k < g->node[i]->n_output; k++) wk_map_put(own, g->node[i]->output[k], 0);
  }
}

/* What is read anywhere inside the graphs of a node, less what these graphs define. */
static void add_outside(const Onnx__NodeProto *node, bool named, wk_arena *a,
                        wk_onnx_names *out) {
  graph_list list = {0};
  add_bodies(&list, node);
  if (list.n == 0) return;
  wk_map *own = wk_map_new();
  uint32_t ignored;
  size_t kept = out->n, first = kept;
  for (size_t i = 0; i < list.n; i++) { /* grows while it is walked */
    const Onnx__GraphProto *g = list.data[i];
    define_names(own, g);
    for (size_t k = 0; k < g->n_node; k++) add_bodies(&list, g->node[k]);
  }
  for (size_t i = 0; i < list.n; i++) {
    const Onnx__GraphProto *g = list.data[i];
    for (size_t k = 0; k < g->n_output; k++)
      if (g->output[k]->name) wk_vec_push(out, g->output[k]->name);
    for (size_t k = 0; k < g->n_node; k++) add_node(g->node[k], named, a, out);
  }
  for (size_t i = first; i < out->n; i++)
    if (!wk_map_get(own, out->data[i], &ignored)) out->data[kept++] = out->data[i];
  out->n = kept;
  wk_map_free(own);
  wk_vec_free(&list);
}

void wk_onnx_reads(const Onnx__NodeProto *n, bool named, wk_arena *a, wk_onnx_names *out) {
  add_node(n, named, a, out);
  add_outside(n, named, a, out);
}
