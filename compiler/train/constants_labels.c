/* SPDX-License-Identifier: Apache-2.0
 * Weights of classes in a loss that the model computes: factors of what depends on the labels and
 * on the network. The labels are the one input that reaches a loss, an output of one number, and
 * meets no weights of products on the way. */
#include <stdlib.h>

#include "compiler/train/finder.h"

enum { LABELS = 1, NETWORK = 2 };              /* what a value depends on */
enum { MEETS = 1, GOES_OUT = 2, IS_LOSS = 4 }; /* what becomes of it */

/* Where samples become something of the network; embeddings are products with rows of 0 and 1. */
static bool is_network(const wk_graph *g, const wk_node *n) {
  wk_op_class cls = wk_op_get(n->op)->cls;
  if (n->op == WK_OP_GATHER) return !wk_is_vector(&wk_val(g, n->in[0])->type);
  return cls == WK_CLASS_CONTRACTION || cls == WK_CLASS_RECURRENT || cls == WK_CLASS_CONTROL ||
         n->op == WK_OP_ATTENTION;
}

static uint8_t *find_fates(const wk_graph *g) {
  uint8_t *fate = wk_xcalloc(g->values.n, 1);
  for (size_t i = 0; i < g->outputs.n; i++) {
    const wk_type *t = &wk_val(g, g->outputs.data[i])->type;
    bool is_loss = wk_dtype_is_float(t->dtype) && wk_type_count(t) == 1;
    fate[g->outputs.data[i]] = is_loss ? IS_LOSS : GOES_OUT;
  }
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (n->dead) continue;
    uint8_t of = is_network(g, n) ? MEETS : 0;
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != WK_NONE) of |= fate[n->out[k]];
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] != WK_NONE) fate[n->in[k]] |= of;
  }
  return fate;
}

static wk_value_id find_labels(const wk_graph *g) {
  uint8_t *fate = find_fates(g);
  wk_value_id found = WK_NONE;
  size_t n = 0;
  for (size_t i = 0; i < g->inputs.n; i++) {
    if (fate[g->inputs.data[i]] != IS_LOSS) continue;
    found = g->inputs.data[i];
    n++;
  }
  free(fate);
  return n == 1 ? found : WK_NONE;
}

typedef struct {
  wk_finder *f;
  uint8_t *on;         /* of values: LABELS, NETWORK */
  wk_value_id *chosen; /* of values: weights that the labels choose from; WK_NONE */
} classes;

static bool is_factor(wk_op op) { return op == WK_OP_MUL || op == WK_OP_DIV; }

/* c is the factor, x what it is a factor of. */
static void visit_factor(classes *a, const wk_node *n, wk_value_id c, wk_value_id x) {
  if (a->chosen[c] == WK_NONE || (a->on[c] & NETWORK)) return;
  if ((a->on[c] | a->on[x]) == (LABELS | NETWORK))
    wk_finder_say(a->f, a->chosen[c], "class weights");
  else if (a->on[x] == LABELS && n->op == WK_OP_MUL) a->chosen[n->out[0]] = a->chosen[c];
}

static void visit(classes *a, const wk_node *n) {
  uint8_t on = is_network(a->f->g, n) ? NETWORK : 0;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (n->in[k] != WK_NONE) on |= a->on[n->in[k]];
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE) a->on[n->out[k]] = on;
  if (n->n_in == 0 || n->in[0] == WK_NONE || n->n_out == 0 || n->out[0] == WK_NONE) return;
  if (wk_moves_one(n->op) || n->op == WK_OP_REDUCE_SUM) a->chosen[n->out[0]] = a->chosen[n->in[0]];
  if (!is_factor(n->op) || n->n_in != 2 || n->in[1] == WK_NONE) return;
  visit_factor(a, n, n->in[1], n->in[0]);
  if (n->op == WK_OP_MUL) visit_factor(a, n, n->in[0], n->in[1]);
}

void wk_find_class_weights(wk_finder *f) {
  const wk_graph *g = f->g;
  wk_value_id labels = find_labels(g);
  if (labels == WK_NONE) return;
  classes a = {f, wk_xcalloc(g->values.n, 1), wk_xcalloc(g->values.n, sizeof *a.chosen)};
  a.on[labels] = LABELS;
  for (size_t i = 0; i < g->values.n; i++) {
    const wk_value *v = wk_val(g, (wk_value_id)i);
    bool is_weight = v->kind == WK_VALUE_CONSTANT && f->weight[i] != WK_NONE;
    a.chosen[i] = is_weight && wk_is_vector(&v->type) ? (wk_value_id)i : WK_NONE;
  }
  for (size_t i = 0; i < g->nodes.n; i++)
    if (!g->nodes.data[i].dead) visit(&a, wk_nod(g, (wk_node_id)i));
  free(a.on);
  free(a.chosen);
}
