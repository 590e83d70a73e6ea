/* SPDX-License-Identifier: Apache-2.0
 * What a model file declares, without importing it. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"
#include "compiler/onnx/import/model.h"
#include "compiler/onnx/import/source.h"

static wk_onnx_io declared_io(const Onnx__ValueInfoProto *v, wk_arena *a) {
  wk_onnx_io io = {.name = wk_arena_strdup(a, v->name ? v->name : ""), .rank = -1};
  wk_declared d;
  wk_status s = wk_model_declared(v, &d);
  if (s) { /* a map, a sparse tensor …: shown without type */
    wk_status_free(s);
    return io;
  }
  io.dtype = d.dtype;
  io.is_sequence = d.is_sequence;
  io.is_optional = d.is_optional;
  io.rank = d.rank;
  io.is_undeclared = !d.elem_type;
  for (int i = 0; i < d.rank; i++) {
    io.dims[i] = d.dims[i];
    if (d.symbols[i]) io.symbols[i] = wk_arena_strdup(a, d.symbols[i]);
  }
  return io;
}

static void count_tensor(const Onnx__TensorProto *t, wk_onnx_info *out) {
  wk_type type;
  wk_status s = wk_onnx_tensor_type(t, &type);
  if (!s) {
    out->parameters += wk_type_count(&type);
    out->parameter_bytes += wk_type_bytes(&type);
  }
  wk_status_free(s);
}

/* Exporters write weights as initialisers or as Constant nodes. */
static void count_node_parameters(const Onnx__NodeProto *n, wk_onnx_info *out) {
  if (!n->op_type || strcmp(n->op_type, "Constant") != 0) return;
  for (size_t i = 0; i < n->n_attribute; i++)
    if (n->attribute[i]->t) count_tensor(n->attribute[i]->t, out);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Operators of every graph and function, counted by name; their parameters. */
static void count_ops(const Onnx__ModelProto *m, wk_onnx_info *out) {
  WK_VEC(const Onnx__GraphProto *) graphs = {0};
  WK_VEC(const char *) names = {0};
  wk_vec_push(&graphs, m->graph);
  size_t next_function = 0;
  for (size_t i = 0; i < graphs.n || next_function < m->n_functions;) {
    bool is_graph = i < graphs.n;
    Onnx__NodeProto *const *nodes =
        is_graph ? graphs.data[i]->node : m->functions[next_function]->node;
    for (size_t k = 0; is_graph && k < graphs.data[i]->n_initializer; k++)
      count_tensor(graphs.data[i]->initializer[k], out);
    size_t n = is_graph ? graphs.data[i]->n_node : m->functions[next_function]->n_node;
    for (size_t k = 0; k < n; k++) {
      wk_vec_push(&names, nodes[k]->op_type ? nodes[k]->op_type : "");
      count_node_parameters(nodes[k], out);
      for (size_t j = 0; j < nodes[k]->n_attribute; j++) {
        if (nodes[k]->attribute[j]->g) wk_vec_push(&graphs, nodes[k]->attribute[j]->g);
      }
    }
    if (is_graph) i++;
    else next_function++;
  }
  out->nodes = (int64_t)names.n;
  if (names.n > 0) qsort(names.data, names.n, sizeof *names.data, by_name);
  for (size_t i = 0; i < names.n; i++) {
    bool is_new = i == 0 || strcmp(names.data[i], names.data[i - 1]) != 0;
    if (is_new) {
      wk_vec_reserve(&out->ops, out->ops.n + 1);
      out->ops.data[out->ops.n].op = wk_arena_strdup(out->arena, names.data[i]);
      out->ops.data[out->ops.n++].count = 0;
    }
    out->ops.data[out->ops.n - 1].count++;
  }
  wk_vec_free(&graphs);
  wk_vec_free(&names);
}

static void fill(const Onnx__ModelProto *m, wk_onnx_info *out) {
  wk_arena *a = out->arena;
  const Onnx__GraphProto *g = m->graph;
  wk_map *initialisers = wk_map_new();
  out->producer = wk_arena_strdup(a, m->producer_name ? m->producer_name : "");
  out->producer_version = wk_arena_strdup(a, m->producer_version ? m->producer_version : "");
  out->graph_name = wk_arena_strdup(a, g->name ? g->name : "");
  out->ir_version = m->ir_version;
  for (size_t i = 0; i < g->n_initializer; i++)
    if (g->initializer[i]->name) wk_map_put(initialisers, g->initializer[i]->name, 0);
  for (size_t i = 0; i < g->n_input; i++) {
    wk_onnx_io io = declared_io(g->input[i], a);
    uint32_t ignored;
    io.has_default = wk_map_get(initialisers, io.name, &ignored);
    wk_vec_push(&out->inputs, io);
  }
  for (size_t i = 0; i < g->n_output; i++) wk_vec_push(&out->outputs, declared_io(g->output[i], a));
  for (size_t i = 0; i < m->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *o = m->opset_import[i];
    wk_vec_reserve(&out->opsets, out->opsets.n + 1);
    out->opsets.data[out->opsets.n].domain = wk_arena_strdup(a, wk_onnx_domain(o->domain));
    out->opsets.data[out->opsets.n++].version = o->version;
  }
  count_ops(m, out);
  wk_map_free(initialisers);
}

typedef struct {
  const wk_onnx_model *m;
  wk_onnx_info *out;
  wk_map *seen;
} externals;

static wk_status add_external(void *ctx, const char *location) {
  externals *e = ctx;
  uint32_t ignored;
  if (wk_map_get(e->seen, location, &ignored)) return NULL;
  wk_map_put(e->seen, location, 0);
  const char *dir = strcmp(e->m->dir, ".") ? e->m->dir : ""; /* others end with '/' */
  wk_vec_push(&e->out->external, wk_arena_printf(e->out->arena, "%s%s", dir, location));
  return NULL;
}

/* What is nested too deep is for the import to refuse. */
static void list_external(const wk_onnx_model *m, wk_onnx_info *out) {
  externals e = {m, out, wk_map_new()};
  if (m->dir) wk_status_free(wk_onnx_each_external(m->model, add_external, &e));
  wk_map_free(e.seen);
}

void wk_onnx_model_inspect(const wk_onnx_model *m, wk_onnx_info *out) {
  *out = (wk_onnx_info){.arena = wk_arena_new()};
  fill(m->model, out);
  list_external(m, out);
}

wk_status wk_onnx_inspect(const char *path, wk_onnx_info *out) {
  wk_onnx_model m;
  *out = (wk_onnx_info){0};
  WK_TRY(wk_onnx_model_open(path, &m));
  wk_onnx_model_inspect(&m, out);
  wk_onnx_model_close(&m);
  return NULL;
}

char *wk_onnx_io_text(wk_arena *a, const wk_onnx_io *io) {
  wk_str b = {0};
  bool is_tensor = io->dtype != WK_DTYPE_NONE;
  if (io->is_optional) wk_str_add(&b, "optional ");
  if (io->is_sequence) wk_str_add(&b, "sequence of ");
  wk_str_add(&b, is_tensor            ? wk_dtype_name(io->dtype)
                 : io->is_undeclared ? "its type is not declared"
                                     : "no tensor of numbers");
  if (is_tensor && io->rank < 0) wk_str_add(&b, " of any shape");
  for (int i = 0; is_tensor && i < io->rank; i++) {
    wk_str_add(&b, i ? "," : "[");
    if (io->dims[i] >= 0) wk_str_printf(&b, "%lld", (long long)io->dims[i]);
    else wk_str_add(&b, io->symbols[i] ? io->symbols[i] : "?");
  }
  if (is_tensor && io->rank >= 0) wk_str_add(&b, io->rank ? "]" : "[]");
  wk_text_clean(b.s);
  char *text = wk_arena_strdup(a, b.s);
  wk_str_free(&b);
  return text;
}

void wk_onnx_info_free(wk_onnx_info *i) {
  wk_vec_free(&i->inputs);
  wk_vec_free(&i->outputs);
  wk_vec_free(&i->opsets);
  wk_vec_free(&i->ops);
  wk_vec_free(&i->external);
  wk_arena_free(i->arena);
  *i = (wk_onnx_info){0};
}
