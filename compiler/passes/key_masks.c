/* SPDX-License-Identifier: Apache-2.0
 * Keys that attention does not see. A mask that is added to scores is far lower for the tokens that
 * only pad a sequence, so that these have no part in the result:
 *
 *   attention(q, heads(k), heads(v), mask)
 *     ->  attention(q, heads(where(seen, k, 0)), heads(where(seen, v, 0)), mask)
 *
 * for k and v [batch, tokens, ..], and a predicate says which rows of them are needed
 * (lower/demand.h). A token is seen where some mask of the graph lets it through, where an output
 * is asked for it (--needed), and where it is the first, which classifiers read. What reads the
 * first tokens alone, and outputs of which some rows are asked for, go by the same predicate. */
#include <string.h>

#include "compiler/passes/rewrite.h"

#define WK_HIDDEN_NODE "key-masks" /* name of nodes that the pass makes */

enum {
  FAR_BELOW = -1000,   /* e^FAR_BELOW is 0 */
  WORTH_MACS = 1 << 18 /* of the product that makes keys, or values */
};

/* Sequences that attention goes over, and who is seen of them: bool[batch, tokens]. */
typedef struct {
  wk_rewrite *r;
  int64_t batch, tokens;
  wk_value_id seen; /* WK_NONE: not made yet */
} masks;

/* ---- who is seen ----------------------------------------------------------------------------- */

/* One number for each key of each sample, which a run decides. */
static bool is_key_mask(const masks *m, const wk_node *n) {
  if (n->dead || n->op != WK_OP_ATTENTION || n->n_in < 4 || n->in[3] == WK_NONE ||
      n->predicate != WK_NONE)
    return false;
  const wk_type *t = wk_type_of(m->r, n->in[3]), *k = wk_type_of(m->r, n->in[1]);
  return t->rank == 4 && k->rank == 4 && !wk_is_const(m->r->g, n->in[3]) && t->dims[1] == 1 &&
         t->dims[2] == 1 && t->dims[0] == m->batch && t->dims[3] == m->tokens &&
         k->dims[2] == m->tokens && k->dims[0] == m->batch && wk_dtype_is_float(t->dtype);
}

/* The mask of a key is not far below that of another. Differences, as the softmax sees no more, and
 * as they are 0 where all is the least float, and no number where all is -infinity. */
static wk_value_id let_through(masks *m, wk_value_id mask) {
  const int64_t dims[] = {m->batch, m->tokens}, axis[] = {3};
  wk_rewrite *r = m->r;
  const wk_dtype t = wk_type_of(r, mask)->dtype;
  wk_attr_reduce_max *most = wk_attrs_new(r->arena, WK_OP_REDUCE_MAX);
  most->axes = wk_ints_dup(r->arena, axis, 1);
  most->keepdims = 1;
  wk_value_id below = wk_rewrite_2(r, WK_OP_SUB, NULL, mask,
                                   wk_rewrite_1(r, WK_OP_REDUCE_MAX, most, mask));
  wk_value_id far = wk_rewrite_2(r, WK_OP_LESS_EQUAL, NULL, below,
                                 wk_rewrite_scalar(r, t, FAR_BELOW));
  return wk_rewrite_reshape(r, wk_rewrite_1(r, WK_OP_NOT, NULL, far), 2, dims);
}

static wk_value_id first_tokens(masks *m) {
  const int64_t dims[] = {1, m->tokens};
  const wk_type t = wk_type_make(WK_BOOL, 2, dims);
  void *data = NULL;
  wk_value_id v = wk_rewrite_constant(m->r, &t, &data);
  if (v != WK_NONE) *(uint8_t *)data = 1;
  return v;
}

/* The rows of output i that are asked for; NULL: all are. */
static const wk_node *asked(const masks *m, size_t i) {
  const wk_node *n = wk_def(m->r->g, m->r->g->outputs.data[i]);
  bool is_it = n && n->op == WK_OP_WHERE && n->name && !strcmp(n->name, WK_NEEDED_NODE);
  const wk_type *c = is_it ? wk_type_of(m->r, n->in[0]) : NULL;
  bool fits = c && c->rank > 1 && c->dims[0] == m->batch && c->dims[1] == m->tokens &&
              wk_type_count(c) == m->batch * m->tokens;
  return fits ? n : NULL;
}

/* Masks of nodes that follow one another are mostly the same. */
static wk_value_id all_seen(masks *m) {
  const int64_t dims[] = {m->batch, m->tokens};
  wk_rewrite *r = m->r;
  const size_t n = r->g->nodes.n;
  wk_value_id seen = WK_NONE, last = WK_NONE;
  for (size_t i = 0; i < n; i++) {
    wk_value_id mask = is_key_mask(m, &r->g->nodes.data[i]) ? r->g->nodes.data[i].in[3] : last;
    if (mask == last) continue;
    last = mask;
    wk_value_id more = let_through(m, mask);
    seen = seen == WK_NONE ? more : wk_rewrite_2(r, WK_OP_OR, NULL, seen, more);
  }
  for (size_t i = 0; i < wk_graph_plain_outputs(r->g); i++)
    if (asked(m, i))
      seen = wk_rewrite_2(r, WK_OP_OR, NULL, seen,
                          wk_rewrite_reshape(r, asked(m, i)->in[0], 2, dims));
  return wk_rewrite_2(r, WK_OP_OR, NULL, seen, first_tokens(m));
}

/* ---- rows that are needed -------------------------------------------------------------------- */

static bool is_selected(const masks *m, wk_value_id v) {
  const wk_node *n = wk_made_by(m->r, v, WK_OP_WHERE);
  return n && n->name && !strcmp(n->name, WK_HIDDEN_NODE);
}

/* v [batch, tokens, ..], or with both as one axis, where a token is seen, and else 0. */
static wk_value_id selected(masks *m, wk_value_id v) {
  const wk_type t = *wk_type_of(m->r, v);
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i < t.rank; i++)
    dims[i] = i == 0 || (i == 1 && t.dims[0] == m->batch) ? t.dims[i] : 1;
  if (m->seen == WK_NONE) m->seen = all_seen(m);
  const wk_value_id in[] = {wk_rewrite_reshape(m->r, m->seen, t.rank, dims), v,
                            wk_rewrite_scalar(m->r, t.dtype, 0)};
  return wk_rewrite_add(m->r, WK_OP_WHERE, NULL, 3, in);
}

static bool is_worth(const masks *m, wk_value_id v) {
  const wk_node *n = wk_def(m->r->g, v);
  for (int i = 0; i < 3 && n; i++) {
    if (n->op == WK_OP_MATMUL) return wk_node_macs(m->r->g, n) >= WORTH_MACS;
    if (n->op != WK_OP_ADD && n->op != WK_OP_RESHAPE) return false;
    n = wk_def(m->r->g, n->in[0]);
  }
  return false;
}

static bool has_rows(const masks *m, const wk_type *t) {
  bool apart = t->rank == 3 && t->dims[0] == m->batch && t->dims[1] == m->tokens;
  return apart || (t->rank == 2 && t->dims[0] == m->batch * m->tokens);
}

/* Operand k of attention: heads [batch, heads, tokens, depth] of what a product makes. */
static bool hide(masks *m, wk_node_id id, uint32_t k) {
  static const int64_t perm[] = {0, 2, 1, 3};
  const wk_node *t = wk_made_by(m->r, wk_nod(m->r->g, id)->in[k], WK_OP_TRANSPOSE);
  bool turns = t && !memcmp(WK_ATTR(t, transpose)->perm.v, perm, sizeof perm);
  const wk_node *apart = turns ? wk_made_by(m->r, t->in[0], WK_OP_RESHAPE) : NULL;
  if (!apart) return false;
  wk_value_id x = apart->in[0];
  const wk_type heads = *wk_type_of(m->r, t->in[0]);
  if (!has_rows(m, wk_type_of(m->r, x)) || heads.dims[1] != m->tokens || is_selected(m, x) ||
      !is_worth(m, x))
    return false;
  wk_value_id y = wk_rewrite_reshape(m->r, selected(m, x), heads.rank, heads.dims);
  y = wk_rewrite_transpose(m->r, y, perm);
  if (y != WK_NONE) wk_rewrite_set_input(m->r, id, k, y);
  return y != WK_NONE;
}

/* The first token of each sample. */
static void select_first(masks *m, wk_node_id id) {
  const wk_node *n = wk_nod(m->r->g, id);
  const wk_attr_slice *a = WK_ATTR(n, slice);
  const wk_type *t = wk_type_of(m->r, n->in[0]);
  if (n->dead || n->predicate != WK_NONE || t->rank != 3 || !has_rows(m, t) ||
      a->starts.v[1] != 0 || a->sizes.v[1] != 1 || !wk_dtype_is_float(t->dtype) ||
      is_selected(m, n->in[0]))
    return;
  wk_value_id x = selected(m, n->in[0]);
  if (x != WK_NONE) wk_rewrite_set_input(m->r, id, 0, x);
}

/* What is asked for is among what is seen. */
static void select_asked(masks *m, size_t output) {
  const wk_node *n = asked(m, output);
  if (!n) return;
  const wk_node_id id = (wk_node_id)(n - m->r->g->nodes.data);
  const wk_type t = *wk_type_of(m->r, n->in[0]);
  wk_value_id seen = wk_rewrite_reshape(m->r, m->seen, t.rank, t.dims);
  if (seen != WK_NONE) wk_rewrite_set_input(m->r, id, 0, seen);
}

/* One predicate for the whole graph: the first attention of some length has all of them done. */
static bool hide_all(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  const wk_type *k = n->op == WK_OP_ATTENTION ? wk_type_of(r, n->in[1]) : NULL;
  if (!k || k->rank != 4 || k->dims[2] < 2) return false;
  masks m = {.r = r, .batch = k->dims[0], .tokens = k->dims[2], .seen = WK_NONE};
  const size_t count = r->g->nodes.n;
  bool any = false;
  r->name = WK_HIDDEN_NODE;
  for (size_t i = 0; i < count; i++)
    for (uint32_t j = 1; j <= 2 && is_key_mask(&m, wk_nod(r->g, (wk_node_id)i)); j++)
      any |= hide(&m, (wk_node_id)i, j);
  for (size_t i = 0; i < count && any; i++)
    if (wk_nod(r->g, (wk_node_id)i)->op == WK_OP_SLICE) select_first(&m, (wk_node_id)i);
  for (size_t i = 0; i < wk_graph_plain_outputs(r->g) && any; i++) select_asked(&m, i);
  return any;
}

wk_status wk_pass_key_masks(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, hide_all);
}
