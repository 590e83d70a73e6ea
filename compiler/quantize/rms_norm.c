/* SPDX-License-Identifier: Apache-2.0
 * RMS normalisation written out: x x, its mean, the square root of that, and x by it. */
#include "compiler/quantize/rms_norm.h"

static wk_node_id only_reader(const wk_graph *g, const wk_uses *u, wk_value_id v) {
  if (wk_use_count(u, v) != 1) return WK_NONE;
  wk_node_id id = u->uses[u->first[v]].node;
  bool is_plain = id != WK_NONE && !wk_nod(g, id)->dead && wk_nod(g, id)->predicate == WK_NONE;
  return is_plain ? id : WK_NONE;
}

static bool is_number(const wk_graph *g, wk_value_id v) {
  return wk_is_const(g, v) && wk_type_count(&wk_val(g, v)->type) == 1;
}

static bool is_square(const wk_graph *g, const wk_node *n) {
  if (n->op == WK_OP_MUL) return n->in[0] == n->in[1];
  const wk_value *by = n->op == WK_OP_POW ? wk_val(g, n->in[1]) : NULL;
  return by && is_number(g, n->in[1]) && wk_load_f64(by->data, by->type.dtype, 0) == 2;
}

static bool is_mean_of_rows(const wk_graph *g, const wk_node *n) {
  if (n->op != WK_OP_REDUCE_MEAN) return false;
  const wk_attr_reduce_mean *a = WK_ATTR(n, reduce_mean);
  int rank = wk_val(g, n->in[0])->type.rank;
  if (!a->keepdims || a->axes.n < 1) return false;
  for (int64_t i = 0; i < a->axes.n; i++)
    if (a->axes.v[i] != rank - a->axes.n + i) return false;
  return true;
}

/* An operator on v and numbers: epsilon, the root, its reciprocal. */
static bool is_of_one(const wk_graph *g, const wk_node *n, wk_value_id v) {
  if (wk_op_get(n->op)->cls != WK_CLASS_ELEMENTWISE || n->n_out != 1) return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != v && !is_number(g, n->in[i])) return false;
  return true;
}

/* n is the product or quotient of x and v, in this order for a quotient. */
static bool is_scaling(const wk_node *n, wk_value_id x, wk_value_id v) {
  if (n->op == WK_OP_DIV) return n->in[0] == x && n->in[1] == v;
  return n->op == WK_OP_MUL && ((n->in[0] == x && n->in[1] == v) ||
                                (n->in[1] == x && n->in[0] == v));
}

static bool append(wk_quantize_norm *o, wk_node_id id) {
  if (o->n == WK_QUANTIZE_NORM_NODES) return false;
  o->nodes[o->n++] = id;
  return true;
}

/* A product with a constant behind it, and a sum with one. */
static void append_parameters(const wk_graph *g, const wk_uses *u, wk_quantize_norm *o) {
  static const wk_op ops[] = {WK_OP_MUL, WK_OP_ADD};
  for (size_t i = 0; i < WK_COUNTOF(ops); i++) {
    wk_value_id v = wk_nod(g, o->nodes[o->n - 1])->out[0];
    wk_node_id id = only_reader(g, u, v);
    const wk_node *n = id == WK_NONE ? NULL : wk_nod(g, id);
    if (!n || n->op != ops[i] || !wk_is_const(g, n->in[n->in[0] == v]) ||
        !wk_shape_equal(&wk_val(g, n->out[0])->type, &wk_val(g, v)->type))
      continue;
    (void)append(o, id);
  }
}

bool wk_quantize_norm_at(const wk_graph *g, const wk_uses *u, wk_node_id first,
                         wk_quantize_norm *o) {
  const wk_node *n = wk_nod(g, first);
  *o = (wk_quantize_norm){.nodes = {first}, .n = 1};
  if (n->dead || n->predicate != WK_NONE || !is_square(g, n)) return false;
  wk_value_id x = n->in[0], v = n->out[0];
  wk_node_id id = only_reader(g, u, v);
  if (id == WK_NONE || !is_mean_of_rows(g, wk_nod(g, id)) || !append(o, id)) return false;
  for (v = wk_nod(g, id)->out[0];; v = wk_nod(g, id)->out[0]) {
    id = only_reader(g, u, v);
    if (id == WK_NONE || !append(o, id)) return false;
    if (is_scaling(wk_nod(g, id), x, v)) break;
    if (!is_of_one(g, wk_nod(g, id), v)) return false;
  }
  append_parameters(g, u, o);
  return true;
}
