/* SPDX-License-Identifier: Apache-2.0
 * A model that ends at tensors of its main graph: they are its outputs, and what they do not depend
 * on leaves it before anything is asked of it. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/model.h"
#include "compiler/onnx/wire/message.h"

#define NO_NODE UINT32_MAX /* an input or initialiser */

typedef struct {
  wk_arena *arena;
  Onnx__GraphProto *g;
  wk_map *makers;      /* name -> node, or NO_NODE */
  wk_map *needed;      /* names */
  bool *is_kept;       /* of each node */
  wk_onnx_names work;  /* needed, in the order found */
} cutting;

/* ---- names --------------------------------------------------------------------------------- */

static void define_all(cutting *c) {
  const Onnx__GraphProto *g = c->g;
  for (size_t i = 0; i < g->n_input; i++)
    if (g->input[i]->name) wk_map_put(c->makers, g->input[i]->name, NO_NODE);
  for (size_t i = 0; i < g->n_initializer; i++)
    if (g->initializer[i]->name) wk_map_put(c->makers, g->initializer[i]->name, NO_NODE);
  for (size_t i = 0; i < g->n_node; i++)
    for (size_t k = 0; k < g->node[i]->n_output; k++)
      wk_map_put(c->makers, g->node[i]->output[k], (uint32_t)i);
}

static wk_status refuse_name(const cutting *c, const char *name) {
  wk_onnx_names names = {0};
  for (size_t i = 0; i < c->g->n_node; i++)
    for (size_t k = 0; k < c->g->node[i]->n_output; k++)
      wk_vec_push(&names, c->g->node[i]->output[k]);
  const char *near = wk_nearest(name, names.data, names.n);
  wk_status s = near ? wk_error(WK_USAGE, "--cut %s: the model has no such tensor; did you mean "
                                "'%s'?", name, near)
                     : wk_error(WK_USAGE, "--cut %s: the model has no such tensor", name);
  wk_vec_free(&names);
  return s;
}

static void need(cutting *c, const char *name) {
  uint32_t ignored;
  if (!name || !*name || wk_map_get(c->needed, name, &ignored)) return;
  wk_map_put(c->needed, name, 1);
  wk_vec_push(&c->work, name);
}

static wk_status need_ends(cutting *c, const char *const *cut, size_t n) {
  bool computes = false;
  for (size_t i = 0; i < n; i++) {
    uint32_t maker, ignored;
    if (!*cut[i] || !wk_map_get(c->makers, cut[i], &maker)) return refuse_name(c, cut[i]);
    if (wk_map_get(c->needed, cut[i], &ignored))
      return wk_error(WK_USAGE, "--cut %s: is named twice", cut[i]);
    computes = computes || maker != NO_NODE;
    need(c, cut[i]);
  }
  if (computes) return NULL;
  return wk_error(WK_USAGE, "--cut %s: leaves nothing to compute: no node makes %s", cut[0],
                  n == 1 ? "it" : "any of these tensors");
}

/* ---- what is needed ------------------------------------------------------------------------ */

static void need_nodes(cutting *c) {
  wk_onnx_names reads = {0};
  c->is_kept = wk_arena_alloc(c->arena, c->g->n_node * sizeof *c->is_kept);
  for (size_t i = 0; i < c->work.n; i++) { /* grows while it is walked */
    uint32_t at = NO_NODE;
    wk_map_get(c->makers, c->work.data[i], &at);
    if (at == NO_NODE || c->is_kept[at]) continue;
    c->is_kept[at] = true;
    reads.n = 0;
    wk_onnx_reads(c->g->node[at], true, c->arena, &reads);
    for (size_t k = 0; k < reads.n; k++) need(c, reads.data[k]);
  }
  wk_vec_free(&reads);
}

static bool is_needed(const cutting *c, const char *name) {
  uint32_t ignored;
  return name && wk_map_get(c->needed, name, &ignored);
}

static void leave(cutting *c) {
  Onnx__GraphProto *g = c->g;
  size_t nodes = 0, inputs = 0, dense = 0, sparse = 0;
  for (size_t i = 0; i < g->n_node; i++)
    if (c->is_kept[i]) g->node[nodes++] = g->node[i];
  for (size_t i = 0; i < g->n_input; i++)
    if (is_needed(c, g->input[i]->name)) g->input[inputs++] = g->input[i];
  for (size_t i = 0; i < g->n_initializer; i++)
    if (is_needed(c, g->initializer[i]->name)) g->initializer[dense++] = g->initializer[i];
  for (size_t i = 0; i < g->n_sparse_initializer; i++) {
    const Onnx__TensorProto *values = g->sparse_initializer[i]->values;
    if (!values || is_needed(c, values->name))
      g->sparse_initializer[sparse++] = g->sparse_initializer[i];
  }
  g->n_node = nodes;
  g->n_input = inputs;
  g->n_initializer = dense;
  g->n_sparse_initializer = sparse;
}

/* Outputs that the model has stay as they are declared. */
static Onnx__ValueInfoProto *output_of(const cutting *c, const char *name) {
  for (size_t i = 0; i < c->g->n_output; i++)
    if (c->g->output[i]->name && !strcmp(c->g->output[i]->name, name)) return c->g->output[i];
  return wk_message_value(c->arena, name, 0);
}

static void set_outputs(cutting *c, const char *const *cut, size_t n) {
  Onnx__ValueInfoProto **list = wk_arena_alloc(c->arena, n * sizeof *list);
  for (size_t i = 0; i < n; i++) list[i] = output_of(c, cut[i]);
  c->g->output = list;
  c->g->n_output = n;
}

wk_status wk_model_cut(const Onnx__ModelProto *m, const wk_import_options *o, wk_arena *a) {
  Onnx__GraphProto *g = (Onnx__GraphProto *)(uintptr_t)m->graph; /* the model is the caller's */
  if (!o->n_cut) return NULL;
  cutting c = {.arena = a, .g = g, .makers = wk_map_new(), .needed = wk_map_new()};
  define_all(&c);
  wk_status s = need_ends(&c, o->cut, o->n_cut);
  if (!s) {
    need_nodes(&c);
    set_outputs(&c, o->cut, o->n_cut);
    leave(&c);
  }
  wk_map_free(c.makers);
  wk_map_free(c.needed);
  wk_vec_free(&c.work);
  return s;
}

/* ---- where to cut -------------------------------------------------------------------------- */

/* Neither refused, nor dependent on what is. */
static bool is_known(wk_importer *im, wk_scope *s, const char *name, wk_bound *b) {
  return name && *name && wk_scope_find(im, s, name, b) && b->kind != WK_BOUND_UNKNOWN;
}

/* Some result that is used is not known. */
static bool is_lost(wk_importer *im, wk_scope *s, const Onnx__NodeProto *n) {
  wk_bound b;
  uint32_t ignored;
  for (size_t k = 0; k < n->n_output; k++)
    if (wk_map_get(im->used, n->output[k], &ignored) && !is_known(im, s, n->output[k], &b))
      return true;
  return false;
}

/* Of all values of g: some input decides it. */
static bool *depends_on_inputs(const wk_graph *g, wk_arena *a) {
  bool *depends = wk_arena_alloc(a, g->values.n * sizeof *depends);
  for (wk_value_id v = 0; v < g->values.n; v++) { /* operands are mostly older than results */
    const wk_value *x = wk_val(g, v);
    depends[v] = x->kind == WK_VALUE_INPUT;
    const wk_node *n = wk_def(g, v);
    for (uint32_t i = 0; n && i < n->n_in && !depends[v]; i++)
      depends[v] = n->in[i] != WK_NONE && (n->in[i] > v || depends[n->in[i]]);
  }
  return depends;
}

static bool is_worth(const wk_graph *g, const bool *depends, const wk_bound *b) {
  if (b->kind == WK_BOUND_SEQUENCE) return b->n > 0;
  return b->kind == WK_BOUND_TENSOR && b->value != WK_NONE && depends[b->value] &&
         wk_val(g, b->value)->kind == WK_VALUE_NODE;
}

/* Too little is known, or more would be taken once values are given. */
static bool is_early(const wk_importer *im) {
  const wk_import_report *rep = im->rep;
  bool asks = rep->need_value.n && im->undecided >= (int64_t)rep->unsupported.n;
  return !rep->unsupported.n || rep->need_bind.n || asks || im->src.is_translated;
}

void wk_model_find_cut(wk_importer *im, wk_scope *s) {
  const Onnx__GraphProto *g = im->model->graph;
  wk_import_report *rep = im->rep;
  wk_onnx_names names = {0};
  wk_map *seen = wk_map_new();
  wk_bound b;
  uint32_t ignored;
  if (is_early(im)) g = NULL;
  for (size_t i = 0; g && i < g->n_output; i++) wk_vec_push(&names, g->output[i]->name);
  for (size_t i = 0; g && i < g->n_node; i++)
    if (is_lost(im, s, g->node[i])) wk_onnx_reads(g->node[i], true, im->arena, &names);
  const bool *depends = depends_on_inputs(s->g, im->arena);
  for (size_t i = 0; i < names.n; i++) {
    const char *name = names.data[i];
    if (!is_known(im, s, name, &b) || wk_map_get(seen, name, &ignored)) continue;
    wk_map_put(seen, name, 1);
    if (is_worth(s->g, depends, &b)) wk_vec_push(&rep->cut, wk_arena_strdup(rep->arena, name));
  }
  wk_map_free(seen);
  wk_vec_free(&names);
}
