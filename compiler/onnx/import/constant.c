/* SPDX-License-Identifier: Apache-2.0
 * Values that must be known at import because they decide a shape. A value that is no constant yet
 * is traced back to what it depends on: when that is nothing but constants (too big to be folded as
 * a matter of course) it is computed now, otherwise the model inputs behind it go into the
 * report. What training keeps apart is constant all the same where it decides something, in a body,
 * too, to which it is handed. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/extent.h"

#define DECISIVE_BYTES ((int64_t)32 << 20)

typedef WK_VEC(wk_value_id) ids;

typedef struct {
  ids work, outside;   /* values to visit in this graph; captures in the enclosing one */
  ids handed;          /* constants from outside that are inputs of this graph */
  WK_VEC(const char *) read; /* constants of this graph */
  uint8_t *seen;       /* by value */
  uint8_t *is_needed;  /* by node */
  WK_VEC(const char *) inputs;
  bool is_local;       /* no input was reached */
  bool is_too_large;   /* what is constant is past a budget */
} trace;

static void add_input(trace *t, const char *name) {
  for (size_t i = 0; i < t->inputs.n; i++) {
    if (strcmp(t->inputs.data[i], name) == 0) return;
  }
  wk_vec_push(&t->inputs, name);
}

static void visit_input(trace *t, const wk_scope *edge, wk_value_id v) {
  t->is_local = false;
  if (edge->g == edge->g->module->main) add_input(t, wk_val(edge->g, v)->name);
  for (size_t i = 0; i < edge->captures.n; i++) {
    if (edge->captures.data[i].inner == v) wk_vec_push(&t->outside, edge->captures.data[i].outer);
  }
}

/* The constant of an enclosing graph that v, an input of a body, stands for; NULL: none. */
static const wk_value *handed_constant(const wk_scope *edge, wk_value_id v) {
  while (wk_val(edge->g, v)->kind == WK_VALUE_INPUT) {
    size_t i = 0;
    while (i < edge->captures.n && edge->captures.data[i].inner != v) i++;
    if (i == edge->captures.n || !edge->parent) return NULL;
    v = edge->captures.data[i].outer;
    edge = edge->parent->edge;
  }
  return wk_is_const(edge->g, v) ? wk_val(edge->g, v) : NULL;
}

/* Walks one graph back from t->work; `edge` is the outermost scope of that graph. */
static void walk_graph(trace *t, const wk_scope *edge) {
  const wk_graph *g = edge->g;
  t->seen = wk_xcalloc(g->values.n, 1);
  t->is_needed = wk_xcalloc(g->nodes.n, 1);
  while (t->work.n > 0) {
    wk_value_id v = t->work.data[--t->work.n];
    if (v == WK_NONE || t->seen[v]) continue;
    t->seen[v] = 1;
    const wk_value *value = wk_val(g, v);
    if (value->kind == WK_VALUE_CONSTANT) wk_vec_push(&t->read, value->name);
    if (value->kind == WK_VALUE_INPUT && handed_constant(edge, v)) wk_vec_push(&t->handed, v);
    else if (value->kind == WK_VALUE_INPUT) visit_input(t, edge, v);
    if (value->kind != WK_VALUE_NODE || t->is_needed[value->node]) continue;
    t->is_needed[value->node] = 1;
    const wk_node *n = wk_nod(g, value->node);
    for (uint32_t i = 0; i < n->n_in; i++) wk_vec_push(&t->work, n->in[i]);
  }
}

/* The nodes on the way read the constant itself. */
static void take_handed(wk_onnx_node *c, const trace *t, size_t n_nodes, wk_value_id v) {
  const wk_value *x = handed_constant(c->scope->edge, v);
  wk_training_read(c->im, x->name);
  wk_value_id constant = wk_graph_constant(c->g, x->name, &x->type, x->data);
  for (size_t i = 0; i < n_nodes; i++) {
    const wk_node *n = wk_nod(c->g, (wk_node_id)i);
    for (uint32_t k = 0; t->is_needed[i] && k < n->n_in; k++)
      if (n->in[k] == v) n->in[k] = constant;
  }
}

/* All inputs are constants: computes the nodes on the way, in order. */
static void fold_needed(wk_onnx_node *c, trace *t, size_t n_nodes) {
  for (size_t i = 0; c->g == c->im->m->main && i < t->read.n; i++)
    wk_training_read(c->im, t->read.data[i]);
  for (size_t i = 0; i < t->handed.n; i++) take_handed(c, t, n_nodes, t->handed.data[i]);
  for (size_t i = 0; i < n_nodes; i++) {
    if (!t->is_needed[i] || wk_make_fold(c, (wk_node_id)i, DECISIVE_BYTES)) continue;
    t->is_too_large = wk_eval_is_foldable(c->g, wk_nod(c->g, (wk_node_id)i));
    return;
  }
}

static void need_value(wk_importer *im, const char *name) {
  for (size_t k = 0; k < im->rep->need_value.n; k++)
    if (strcmp(im->rep->need_value.data[k], name) == 0) return;
  wk_vec_push(&im->rep->need_value, wk_arena_strdup(im->rep->arena, name));
}

static void report_inputs(wk_onnx_node *c, const trace *t, const char *what) {
  wk_importer *im = c->im;
  wk_str b = {0};
  bool is_sized = false; /* by what a run says */
  for (size_t i = 0; i < t->inputs.n; i++) {
    const char *name = t->inputs.data[i];
    is_sized = is_sized || wk_extents_has_size(im, name);
    if (is_sized) continue;
    need_value(im, name);
    wk_str_printf(&b, "%s--value %s=FILE", i ? ", " : "", name);
  }
  im->undecided++;
  if (b.s && !is_sized)
    wk_onnx_fail(c, WK_UNSUPPORTED, "%s must be known at compile time: give %s%s", what, b.s,
                 t->inputs.n < im->m->main->inputs.n
                     ? "" : " (no input is left then, and the result is a constant)");
  else wk_onnx_fail(c, WK_UNSUPPORTED, "%s is only known at run time", what);
  wk_str_free(&b);
}

static void free_trace(trace *t) {
  free(t->seen);
  free(t->is_needed);
  wk_vec_free(&t->work);
  wk_vec_free(&t->outside);
  wk_vec_free(&t->handed);
  wk_vec_free(&t->inputs);
  wk_vec_free(&t->read);
}

void wk_onnx_note_deciding(wk_onnx_node *c, wk_value_id v) {
  trace t = {.is_local = true};
  wk_vec_push(&t.work, v);
  walk_graph(&t, c->scope->edge);
  for (size_t i = 0; i < t.inputs.n; i++)
    if (!wk_extents_has_size(c->im, t.inputs.data[i])) need_value(c->im, t.inputs.data[i]);
  free_trace(&t);
}

bool wk_onnx_is_computable(wk_onnx_node *c, wk_value_id v) {
  trace t = {.is_local = true};
  size_t n_nodes = c->g->nodes.n;
  wk_vec_push(&t.work, v);
  walk_graph(&t, c->scope->edge);
  bool is_computable = t.is_local;
  for (size_t i = 0; i < n_nodes && is_computable; i++)
    is_computable = !t.is_needed[i] ||
                    wk_op_is_pure(wk_nod(c->g, (wk_node_id)i)->op);
  free_trace(&t);
  return is_computable;
}

static void resolve(wk_onnx_node *c, wk_value_id v, const char *what) {
  trace t = {.is_local = true};
  const wk_scope *edge = c->scope->edge;
  size_t n_nodes = c->g->nodes.n;
  wk_vec_push(&t.work, v);
  walk_graph(&t, edge);
  if (t.is_local) fold_needed(c, &t, n_nodes);
  while (!wk_is_const(c->g, v) && t.outside.n > 0 && edge->parent) {
    edge = edge->parent->edge;
    ids next = t.outside;
    t.outside = t.work;
    t.outside.n = 0;
    t.work = next;
    free(t.seen);
    free(t.is_needed);
    walk_graph(&t, edge);
  }
  if (t.is_too_large)
    wk_onnx_fail(c, WK_RESOURCE, "%s is a constant that takes too much to compute", what);
  else if (!wk_is_const(c->g, v)) report_inputs(c, &t, what);
  free_trace(&t);
}

const void *wk_onnx_const(wk_onnx_node *c, wk_value_id v, const char *what) {
  if (c->status) return NULL;
  if (!wk_onnx_valid(c, v != WK_NONE, "input for %s is missing", what)) return NULL;
  const wk_value *handed = handed_constant(c->scope->edge, v);
  if (handed) wk_training_read(c->im, handed->name);
  if (handed) return handed->data;
  if (wk_training_keeps(c->im, c->g, v)) wk_training_read(c->im, wk_val(c->g, v)->name);
  if (!wk_is_const(c->g, v)) resolve(c, v, what);
  return wk_is_const(c->g, v) ? wk_val(c->g, v)->data : NULL;
}
