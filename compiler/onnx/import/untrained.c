/* SPDX-License-Identifier: Apache-2.0
 * Constants by what they mean (untrained.def). A node's operand is followed back, through bodies
 * that it is handed to, as far as it is one tensor moved, and further where nothing that a run
 * brings is on the way. */
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/import/importer.h"

static const struct {
  const char *domain, *op;
  int input, each;
  const char *what;
  bool is_number;
} rows[] = {
#define UNTRAINED(domain, op, input, each, what) {domain, op, input, each, what, false},
#define UNTRAINED_NUMBER(domain, op, input, each, what) {domain, op, input, each, what, true},
#include "compiler/onnx/import/untrained.def"
};

typedef struct {
  wk_importer *im;
  const wk_scope *edge; /* of the graph that v is of */
  wk_value_id v;
} place;

/* What an input of a body is in the graph around it; false: nothing. */
static bool go_out(place *p) {
  const wk_scope *edge = p->edge;
  for (size_t i = 0; edge->parent && i < edge->captures.n; i++) {
    if (edge->captures.data[i].inner != p->v) continue;
    p->v = edge->captures.data[i].outer;
    p->edge = edge->parent->edge;
    return true;
  }
  return false;
}

bool wk_moves_one(wk_op op) {
  static const wk_op others[] = {WK_OP_CAST, WK_OP_IDENTITY, WK_OP_GATHER, WK_OP_GATHER_ELEMENTS,
                                 WK_OP_GATHER_ND, WK_OP_REVERSE_SEQUENCE, WK_OP_TRILU};
  for (size_t i = 0; i < WK_COUNTOF(others); i++)
    if (others[i] == op) return true;
  return wk_op_get(op)->cls == WK_CLASS_MOVEMENT && op != WK_OP_CONCAT;
}

static void mark_constant(const place *p, const char *what) {
  const wk_graph *g = p->edge->g;
  uint32_t at;
  if (!wk_training_keeps(p->im, g, p->v) ||
      !wk_map_get(p->im->weights, wk_val(g, p->v)->name, &at)) return;
  wk_import_weight *w = &p->im->rep->weights.data[at];
  if (!w->constant) w->constant = what;
}

/* Where one tensor is moved, until it is something else: true, *p is its constant. */
static bool follow(place *p) {
  for (;;) {
    const wk_value *v = wk_val(p->edge->g, p->v);
    if (v->kind == WK_VALUE_CONSTANT) return true;
    if (v->kind == WK_VALUE_INPUT) {
      if (!go_out(p)) return false;
      continue;
    }
    const wk_node *n = wk_nod(p->edge->g, v->node);
    if (!wk_moves_one(n->op)) return false;
    p->v = n->in[0];
  }
}

/* Products of weights are a part of the network, whatever they are for. */
static bool is_product(wk_op op) {
  return op == WK_OP_MATMUL || op == WK_OP_CONV || op == WK_OP_CONV_TRANSPOSE;
}

/* All that v of a graph is computed from, when these are constants: what they are. */
static void mark_sources(place p, const char *what) {
  WK_VEC(wk_value_id) found = {0};
  const wk_graph *g = p.edge->g;
  bool *seen = wk_xcalloc(g->values.n, sizeof *seen), is_fixed = true;
  wk_vec_push(&found, p.v);
  for (size_t i = 0; i < found.n && is_fixed; i++) {
    const wk_value *v = wk_val(g, found.data[i]);
    is_fixed = v->kind != WK_VALUE_INPUT;
    if (v->kind != WK_VALUE_NODE) continue;
    const wk_node *n = wk_nod(g, v->node);
    is_fixed = !is_product(n->op);
    for (uint32_t k = 0; k < n->n_in; k++) {
      if (n->in[k] == WK_NONE || seen[n->in[k]]) continue;
      seen[n->in[k]] = true;
      wk_vec_push(&found, n->in[k]);
    }
  }
  for (size_t i = 0; i < found.n && is_fixed; i++) {
    p.v = found.data[i];
    mark_constant(&p, what);
  }
  wk_vec_free(&found);
  free(seen);
}

static void mark(const wk_onnx_node *c, int input, const char *what, bool is_number) {
  place p = {c->im, c->scope->edge, c->in[input]};
  if (is_number && wk_type_count(&wk_val(c->g, p.v)->type) != 1) return;
  if (follow(&p)) mark_constant(&p, what);
  else if (!is_number) mark_sources(p, what);
}

void wk_training_operands(wk_onnx_node *c) {
  for (size_t i = 0; c->im->weights && i < WK_COUNTOF(rows); i++) {
    if (strcmp(rows[i].op, c->row->name) || strcmp(rows[i].domain, c->row->domain)) continue;
    for (int k = rows[i].input; k < c->n_in; k += rows[i].each) {
      if (c->in[k] != WK_NONE) mark(c, k, rows[i].what, rows[i].is_number);
      if (!rows[i].each) break;
    }
  }
}
