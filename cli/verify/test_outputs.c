/* SPDX-License-Identifier: Apache-2.0 */
/* What the outputs of a model depend on, as far as it decides how they are compared. */
#include <stdlib.h>

#include "cli/verify/test_case.h"

static bool is_random_node(const wk_node *n) {
  return wk_op_get(n->op)->cls == WK_CLASS_RANDOM;
}

/* Bodies by work list: a node whose body draws random numbers counts as drawing them itself. */
static bool draws(const wk_node *n) {
  WK_VEC(const wk_graph *) todo = {0};
  bool found = is_random_node(n);
  for (uint32_t b = 0; b < n->n_bodies; b++) wk_vec_push(&todo, n->bodies[b]);
  while (todo.n && !found) {
    const wk_graph *body = todo.data[--todo.n];
    for (size_t i = 0; i < body->nodes.n; i++) {
      const wk_node *inner = &body->nodes.data[i];
      if (inner->dead) continue;
      found = found || is_random_node(inner);
      for (uint32_t b = 0; b < inner->n_bodies; b++) wk_vec_push(&todo, inner->bodies[b]);
    }
  }
  wk_vec_free(&todo);
  return found;
}

/* Quantised with a scale that is computed at run time. */
static bool is_dynamic_node(const wk_graph *g, const wk_node *n) {
  return n->op == WK_OP_QUANTIZE && !wk_is_const(g, n->in[1]);
}

/* The scale of a dequantisation that makes the value, movement between them aside; 0: none. */
static double step_of(const wk_graph *g, wk_value_id v) {
  for (;;) {
    if (wk_val(g, v)->kind != WK_VALUE_NODE) return 0;
    const wk_node *n = wk_nod(g, wk_val(g, v)->node);
    if (n->op == WK_OP_DEQUANTIZE) {
      const wk_value *scale = wk_val(g, n->in[1]);
      if (scale->kind != WK_VALUE_CONSTANT || wk_type_count(&scale->type) != 1) return 0;
      return wk_load_f64(scale->data, scale->type.dtype, 0);
    }
    if (wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT || n->n_in != 1) return 0;
    v = n->in[0];
  }
}

wk_test_output *wk_test_outputs(const wk_module *m) {
  enum { RANDOM = 1, DYNAMIC = 2 };
  const wk_graph *g = m->main;
  unsigned char *mark = wk_xcalloc(g->values.n, 1);
  wk_test_output *out = wk_xcalloc(g->outputs.n, sizeof *out);
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    unsigned char all = (draws(n) ? RANDOM : 0) | (is_dynamic_node(g, n) ? DYNAMIC : 0);
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k] != WK_NONE) all |= mark[n->in[k]];
    for (uint32_t k = 0; k < n->n_out; k++)
      if (n->out[k] != WK_NONE) mark[n->out[k]] = all;
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_value_id v = g->outputs.data[i];
    out[i] = (wk_test_output){mark[v] & RANDOM, mark[v] & DYNAMIC, step_of(g, v)};
  }
  free(mark);
  return out;
}
