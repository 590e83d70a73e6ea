/* SPDX-License-Identifier: Apache-2.0
 * Keys that attention does not see. A mask that is added to scores is far below zero for the tokens
 * that only pad a sequence, so that these have no part in the result:
 *
 *   attention(q, heads(k), heads(v), mask)
 *     ->  attention(q, heads(where(seen, k, 0)), heads(where(seen, v, 0)), mask)
 *
 * for k and v [batch, tokens, ..], and a predicate says which rows of them are needed
 * (lower/demand.h). A token is seen where some mask of the graph lets it through, where an output
 * is asked for it (--needed), where it is the first, which classifiers read, and where the mask
 * lets none of its sequence through. What reads the first tokens alone, and outputs of which some
 * rows are asked for, go by the same predicate. */
#include <string.h>

#include "compiler/passes/fuse.h"

#define WK_HIDDEN_NODE "key-masks" /* name of nodes that the pass makes */

enum {
  FAR_BELOW = -1000,   /* e^FAR_BELOW is 0 */
  WORTH_MACS = 1 << 18 /* of the product that makes keys, or values */
};

typedef struct {
  wk_graph *g;
  wk_pass_ctx *c;
  int64_t batch, tokens;
  wk_value_id seen; /* bool[batch, tokens]; WK_NONE: not made yet */
  wk_status status;
} masks;

/* ---- building -------------------------------------------------------------------------------- */

static wk_value_id add(masks *m, wk_op op, void *attrs, const wk_value_id *in, uint32_t n) {
  wk_value_id out = WK_NONE;
  const wk_node_desc d = {.op = op, .name = WK_HIDDEN_NODE, .attrs = attrs, .in = in, .n_in = n};
  if (!m->status) m->status = wk_graph_add(m->g, &d, &out);
  return out;
}

static wk_value_id add_2(masks *m, wk_op op, wk_value_id x, wk_value_id y) {
  return add(m, op, NULL, (wk_value_id[]){x, y}, 2);
}

static wk_value_id reshape(masks *m, wk_value_id v, int rank, const int64_t *dims) {
  wk_attr_reshape *a = wk_attrs_new(m->g->module->arena, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(m->g->module->arena, dims, rank);
  return add(m, WK_OP_RESHAPE, a, &v, 1);
}

static wk_value_id cast(masks *m, wk_value_id v, wk_dtype t) {
  wk_attr_cast *a = wk_attrs_new(m->g->module->arena, WK_OP_CAST);
  a->to = t;
  return add(m, WK_OP_CAST, a, &v, 1);
}

/* ---- who is seen ----------------------------------------------------------------------------- */

/* One number for each key of each sample, which a run decides. */
static bool is_key_mask(const masks *m, const wk_node *n) {
  if (n->dead || n->op != WK_OP_ATTENTION || n->n_in < 4 || n->in[3] == WK_NONE ||
      n->predicate != WK_NONE)
    return false;
  const wk_type *t = &wk_val(m->g, n->in[3])->type, *k = &wk_val(m->g, n->in[1])->type;
  return t->rank == 4 && k->rank == 4 && !wk_is_const(m->g, n->in[3]) && t->dims[1] == 1 &&
         t->dims[2] == 1 && t->dims[0] == m->batch && t->dims[3] == m->tokens &&
         k->dims[2] == m->tokens && k->dims[0] == m->batch && wk_dtype_is_float(t->dtype);
}

static wk_value_id let_through(masks *m, wk_value_id mask) {
  const int64_t dims[] = {m->batch, m->tokens}, axis[] = {1};
  const wk_dtype t = wk_val(m->g, mask)->type.dtype;
  wk_attr_reduce_sum *sum = wk_attrs_new(m->g->module->arena, WK_OP_REDUCE_SUM);
  sum->axes = wk_ints_dup(m->g->module->arena, axis, 1);
  sum->keepdims = 1;
  wk_value_id seen = add_2(m, WK_OP_GREATER, mask, wk_graph_scalar(m->g, t, FAR_BELOW));
  seen = reshape(m, seen, 2, dims);
  wk_value_id count = cast(m, seen, WK_I32);
  count = add(m, WK_OP_REDUCE_SUM, sum, &count, 1);
  return add_2(m, WK_OP_OR, seen,
               add_2(m, WK_OP_EQUAL, count, wk_graph_scalar(m->g, WK_I32, 0)));
}

static wk_value_id first_tokens(masks *m) {
  const int64_t dims[] = {1, m->tokens};
  const wk_type t = wk_type_make(WK_BOOL, 2, dims);
  wk_value_id v = WK_NONE;
  void *data = NULL;
  if (!m->status) m->status = wk_graph_constant_alloc(m->g, NULL, &t, &v, &data);
  if (data) *(uint8_t *)data = 1;
  return v;
}

/* The rows of output i that are asked for; NULL: all are. */
static const wk_node *asked(const masks *m, size_t i) {
  const wk_value *v = wk_val(m->g, m->g->outputs.data[i]);
  const wk_node *n = v->kind == WK_VALUE_NODE ? wk_nod(m->g, v->node) : NULL;
  bool is_it = n && n->op == WK_OP_WHERE && n->name && !strcmp(n->name, WK_NEEDED_NODE);
  const wk_type *c = is_it ? &wk_val(m->g, n->in[0])->type : NULL;
  return c && c->rank > 1 && c->dims[0] == m->batch && c->dims[1] == m->tokens &&
                 wk_type_count(c) == m->batch * m->tokens
             ? n : NULL;
}

/* Each mask once, in the order of nodes. */
static wk_value_id all_seen(masks *m) {
  const int64_t dims[] = {m->batch, m->tokens};
  const size_t n = m->g->nodes.n;
  wk_value_id seen = WK_NONE, last = WK_NONE;
  for (size_t i = 0; i < n; i++) {
    wk_value_id mask = is_key_mask(m, &m->g->nodes.data[i]) ? m->g->nodes.data[i].in[3] : last;
    if (mask == last) continue;
    last = mask;
    wk_value_id more = let_through(m, mask);
    seen = seen == WK_NONE ? more : add_2(m, WK_OP_OR, seen, more);
  }
  for (size_t i = 0; i < wk_graph_plain_outputs(m->g); i++)
    if (asked(m, i)) seen = add_2(m, WK_OP_OR, seen, reshape(m, asked(m, i)->in[0], 2, dims));
  return add_2(m, WK_OP_OR, seen, first_tokens(m));
}

/* ---- rows that are needed -------------------------------------------------------------------- */

static const wk_node *maker(const masks *m, wk_value_id v, wk_op op) {
  const wk_value *x = wk_val(m->g, v);
  const wk_node *n = x->kind == WK_VALUE_NODE ? wk_nod(m->g, x->node) : NULL;
  return n && n->op == op && n->predicate == WK_NONE ? n : NULL;
}

static bool is_selected(const masks *m, wk_value_id v) {
  const wk_node *n = maker(m, v, WK_OP_WHERE);
  return n && n->name && !strcmp(n->name, WK_HIDDEN_NODE);
}

/* v [batch, tokens, ..], or with both as one axis, where a token is seen, and else 0. */
static wk_value_id select(masks *m, wk_value_id v) {
  const wk_type t = wk_val(m->g, v)->type;
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++)
    dims[i] = i == 0 || (i == 1 && t.dims[0] == m->batch) ? t.dims[i] : 1;
  if (m->seen == WK_NONE) m->seen = all_seen(m);
  const wk_value_id in[] = {m->status ? WK_NONE : reshape(m, m->seen, t.rank, dims), v,
                            wk_graph_scalar(m->g, t.dtype, 0)};
  return add(m, WK_OP_WHERE, NULL, in, 3);
}

static bool is_worth(const masks *m, wk_value_id v) {
  const wk_value *x = wk_val(m->g, v);
  for (int i = 0; i < 3 && x->kind == WK_VALUE_NODE; i++) {
    const wk_node *n = wk_nod(m->g, x->node);
    if (n->op == WK_OP_MATMUL) return wk_node_macs(m->g, n) >= WORTH_MACS;
    if (n->n_in == 0 || (n->op != WK_OP_ADD && n->op != WK_OP_RESHAPE)) return false;
    x = wk_val(m->g, n->in[0]);
  }
  return false;
}

static bool has_rows(const masks *m, const wk_type *t) {
  bool apart = t->rank == 3 && t->dims[0] == m->batch && t->dims[1] == m->tokens;
  return apart || (t->rank == 2 && t->dims[0] == m->batch * m->tokens);
}

/* Operand k of attention: heads [batch, heads, tokens, depth] of what a product makes. */
static void hide(masks *m, wk_node_id id, uint32_t k) {
  static const int64_t perm[] = {0, 2, 1, 3};
  const wk_node *t = maker(m, wk_nod(m->g, id)->in[k], WK_OP_TRANSPOSE);
  const wk_node *apart = t && !memcmp(WK_ATTR(t, transpose)->perm.v, perm, sizeof perm)
                             ? maker(m, t->in[0], WK_OP_RESHAPE) : NULL;
  if (!apart) return;
  wk_value_id x = apart->in[0];
  const wk_type heads = wk_val(m->g, t->in[0])->type;
  if (!has_rows(m, &wk_val(m->g, x)->type) || heads.dims[1] != m->tokens ||
      is_selected(m, x) || !is_worth(m, x))
    return;
  wk_attr_transpose *a = wk_attrs_clone(m->g->module->arena, WK_OP_TRANSPOSE, t->attrs);
  wk_value_id y = reshape(m, select(m, x), heads.rank, heads.dims);
  y = add(m, WK_OP_TRANSPOSE, a, &y, 1);
  if (m->status) return;
  wk_nod(m->g, id)->in[k] = y;
  m->c->changes++;
}

/* The first token of each sample. */
static void select_first(masks *m, wk_node_id id) {
  const wk_node *n = wk_nod(m->g, id);
  const wk_attr_slice *a = WK_ATTR(n, slice);
  const wk_type *t = &wk_val(m->g, n->in[0])->type;
  if (n->dead || n->predicate != WK_NONE || t->rank != 3 || !has_rows(m, t) ||
      a->starts.v[1] != 0 || a->sizes.v[1] != 1 || !wk_dtype_is_float(t->dtype) ||
      is_selected(m, n->in[0]))
    return;
  wk_value_id x = select(m, n->in[0]);
  if (m->status) return;
  wk_nod(m->g, id)->in[0] = x;
  m->c->changes++;
}

/* What is asked for is among what is seen. */
static void select_asked(masks *m, size_t output) {
  const wk_node *n = asked(m, output);
  if (!n) return;
  const wk_node_id id = (wk_node_id)(n - m->g->nodes.data);
  const wk_type t = wk_val(m->g, n->in[0])->type;
  wk_value_id seen = reshape(m, m->seen, t.rank, t.dims);
  if (!m->status) wk_nod(m->g, id)->in[0] = seen;
}

wk_status wk_pass_key_masks(wk_graph *g, wk_pass_ctx *c) {
  masks m = {.g = g, .c = c, .seen = WK_NONE};
  const size_t n = g->nodes.n;
  int64_t before = c->changes;
  for (size_t i = 0; i < n && !m.status; i++) {
    if (g->nodes.data[i].op != WK_OP_ATTENTION) continue;
    const wk_type *k = &wk_val(g, g->nodes.data[i].in[1])->type;
    if (m.tokens == 0 && k->rank == 4 && k->dims[2] > 1)
      m.batch = k->dims[0], m.tokens = k->dims[2];
    for (uint32_t j = 1; j <= 2 && is_key_mask(&m, &g->nodes.data[i]) && !m.status; j++)
      hide(&m, (wk_node_id)i, j);
  }
  if (c->changes == before || m.status) return m.status;
  for (size_t i = 0; i < n && !m.status; i++)
    if (g->nodes.data[i].op == WK_OP_SLICE) select_first(&m, (wk_node_id)i);
  for (size_t i = 0; i < wk_graph_plain_outputs(g) && !m.status; i++) select_asked(&m, i);
  return m.status;
}
