/* SPDX-License-Identifier: Apache-2.0
 * Heads of queries that share a head of keys and values, which a model repeats for them:
 *
 *   matmul(q, repeat(k, g))  ->  matmul(q grouped by g, k)
 *
 * repeat is what exporters write for it: an axis of one element behind the heads, expanded to g and
 * merged with them, or a single head expanded. Transposes and elementwise operators in between are
 * done before it. The group becomes an axis along which k is broadcast or, where each head has a
 * single row, the rows of one product. Nothing is repeated then. */
#include "compiler/passes/fuse.h"
#include "compiler/passes/movement.h"

enum { MOST_STEPS = 8 }; /* of operators between the repetition and the product */

/* A value whose axis has `shared` heads, each `times` times, one behind the other. */
typedef struct {
  int axis;
  int64_t shared, times; /* 0: no repetition */
} repeat;

static const repeat none = {0};

static bool is_same(const repeat *a, const repeat *b) {
  return a->axis == b->axis && a->shared == b->shared && a->times == b->times;
}

/* ---- what repeats ---------------------------------------------------------------------------- */

/* The axis that an expansion makes of one element; -1: none, or others. */
static int expanded_axis(const wk_type *x, const wk_type *y) {
  int axis = -1;
  for (int i = 0; i < y->rank && x->rank == y->rank; i++) {
    if (x->dims[i] == y->dims[i]) continue;
    if (axis >= 0) return -1;
    axis = i;
  }
  return axis;
}

static repeat of_expand(const wk_rewrite *r, const wk_node *n) {
  const wk_type *y = wk_type_of(r, n->out[0]);
  int axis = expanded_axis(wk_type_of(r, n->in[0]), y);
  return axis < 0 ? none : (repeat){axis, 1, y->dims[axis]};
}

/* An expansion whose axis is merged with the one before it. */
static repeat of_reshape(const wk_rewrite *r, const wk_node *n) {
  const wk_node *p = wk_made_by(r, n->in[0], WK_OP_EXPAND);
  const wk_type *t = wk_type_of(r, n->out[0]), *y = wk_type_of(r, n->in[0]);
  int at = p ? expanded_axis(wk_type_of(r, p->in[0]), y) : -1;
  if (at < 1 || t->rank != y->rank - 1) return none;
  for (int i = 0; i < t->rank; i++) {
    int64_t want = i == at - 1 ? y->dims[i] * y->dims[at] : y->dims[i < at ? i : i + 1];
    if (t->dims[i] != want) return none;
  }
  return (repeat){at - 1, y->dims[at - 1], y->dims[at]};
}

static bool can_follow(const wk_rewrite *r, const wk_node *n) {
  if (n->n_out != 1 || n->predicate != WK_NONE || !wk_once(r, n->out[0])) return false;
  if (n->op == WK_OP_QUANTIZE || n->op == WK_OP_DEQUANTIZE || n->op == WK_OP_FAKE_QUANTIZE)
    return false;
  return wk_is_elementwise(n);
}

static repeat repeat_of(const wk_rewrite *r, wk_value_id v, int steps);

/* All operands repeat alike, or have one element along the axis. */
static repeat of_elementwise(const wk_rewrite *r, const wk_node *n, int steps) {
  const int rank = wk_type_of(r, n->out[0])->rank;
  repeat found = none;
  for (uint32_t k = 0; k < n->n_in && !found.times; k++)
    if (n->in[k] != WK_NONE && wk_type_of(r, n->in[k])->rank == rank)
      found = repeat_of(r, n->in[k], steps);
  for (uint32_t k = 0; k < n->n_in && found.times; k++) {
    const wk_type *t = n->in[k] == WK_NONE ? NULL : wk_type_of(r, n->in[k]);
    int axis = t ? found.axis - rank + t->rank : -1;
    if (axis < 0 || t->dims[axis] == 1) continue;
    repeat other = t->rank == rank ? repeat_of(r, n->in[k], steps) : none;
    if (!is_same(&found, &other)) return none;
  }
  return found;
}

static repeat repeat_of(const wk_rewrite *r, wk_value_id v, int steps) {
  const wk_node *n = wk_def(r->g, v);
  if (!n || steps == 0 || wk_type_of(r, v)->quant) return none;
  if (n->op == WK_OP_EXPAND) return of_expand(r, n);
  if (n->op == WK_OP_RESHAPE) return of_reshape(r, n);
  if (n->op != WK_OP_TRANSPOSE)
    return can_follow(r, n) ? of_elementwise(r, n, steps - 1) : none;
  repeat x = repeat_of(r, n->in[0], steps - 1);
  int axis = 0;
  while (x.times && WK_ATTR(n, transpose)->perm.v[axis] != x.axis) axis++;
  x.axis = axis;
  return x;
}

/* ---- what is left without the repetition ----------------------------------------------------- */

static wk_value_id single(wk_rewrite *r, wk_value_id v);

static wk_value_id single_elementwise(wk_rewrite *r, const wk_node *n, const repeat *x) {
  const int rank = wk_type_of(r, n->out[0])->rank;
  wk_value_id *in = wk_arena_alloc(r->c->scratch, n->n_in * sizeof *in);
  for (uint32_t k = 0; k < n->n_in; k++) {
    const wk_type *t = n->in[k] == WK_NONE ? NULL : wk_type_of(r, n->in[k]);
    int axis = t ? x->axis - rank + t->rank : -1;
    in[k] = axis < 0 || t->dims[axis] == 1 ? n->in[k] : single(r, n->in[k]);
  }
  return wk_rewrite_like(r, n, wk_attrs_clone(r->arena, n->op, n->attrs), n->n_in, in);
}

/* v, which repeats, with what it shares alone. */
static wk_value_id single(wk_rewrite *r, wk_value_id v) {
  const wk_node n = *wk_def(r->g, v);
  const repeat x = repeat_of(r, v, MOST_STEPS);
  wk_type t = *wk_type_of(r, v);
  if (n.op == WK_OP_EXPAND) return n.in[0];
  if (n.op == WK_OP_TRANSPOSE)
    return wk_rewrite_transpose(r, single(r, n.in[0]), WK_ATTR(&n, transpose)->perm.v);
  if (n.op != WK_OP_RESHAPE) return single_elementwise(r, &n, &x);
  t.dims[x.axis] = x.shared;
  return wk_rewrite_reshape(r, wk_def(r->g, n.in[0])->in[0], t.rank, t.dims);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Heads are axis x.axis of `rank`, and rows the last axis but one. */
typedef struct {
  repeat x;
  int rank;
  bool is_row; /* a single one, so that a group becomes the rows */
} groups;

/* x [.., heads or 1, rows, columns]: [.., shared, times, rows, columns], or without the rows. */
static wk_value_id grouped(wk_rewrite *r, const groups *g, wk_value_id x) {
  const wk_type t = *wk_type_of(r, x);
  int axis = g->x.axis - g->rank + t.rank, n = 0;
  int64_t dims[WK_MAX_RANK + 1];
  if (axis < 0) return x;
  for (int i = 0; i < t.rank; i++) {
    if (g->is_row && i == axis + 1) continue;
    dims[n++] = i == axis && t.dims[i] != 1 ? g->x.shared : t.dims[i];
    if (i == axis) dims[n++] = t.dims[i] != 1 ? g->x.times : 1;
  }
  return wk_rewrite_reshape(r, x, n, dims);
}

static wk_value_id shared(wk_rewrite *r, const groups *g, wk_value_id v) {
  v = single(r, v);
  if (v == WK_NONE || g->is_row) return v;
  const wk_type t = *wk_type_of(r, v);
  int64_t dims[WK_MAX_RANK + 1];
  for (int i = 0, n = 0; i < t.rank; i++) {
    dims[n++] = t.dims[i];
    if (i == g->x.axis) dims[n++] = 1;
  }
  return wk_rewrite_reshape(r, v, t.rank + 1, dims);
}

/* Operands from 1 on repeat alike, and operand 0 has all their heads; others are groups as well. */
static bool find_groups(const wk_rewrite *r, const wk_node *n, uint32_t n_repeated, groups *g) {
  const wk_type *q = wk_type_of(r, n->in[0]), *y = wk_type_of(r, n->out[0]);
  *g = (groups){.x = repeat_of(r, n->in[1], MOST_STEPS), .rank = y->rank};
  if (!g->x.times || q->rank != y->rank || g->x.axis > y->rank - 3) return false;
  for (uint32_t k = 1; k <= n_repeated; k++) {
    repeat other = repeat_of(r, n->in[k], MOST_STEPS);
    if (wk_type_of(r, n->in[k])->rank != y->rank || !is_same(&g->x, &other)) return false;
  }
  for (uint32_t k = 0; k < n->n_in; k++) {
    const wk_node *p = n->in[k] == WK_NONE ? NULL : wk_def(r->g, n->in[k]);
    if (p && p->op == WK_OP_DEQUANTIZE) return false; /* products of integers are others' */
  }
  g->is_row = q->dims[y->rank - 2] == 1 && g->x.axis == y->rank - 3;
  return q->dims[g->x.axis] == g->x.shared * g->x.times && (g->is_row || y->rank < WK_MAX_RANK);
}

static bool share(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  groups g;
  bool is_product = (n->op == WK_OP_MATMUL && n->n_in == 2 && !WK_ATTR(n, matmul)->epilogue) ||
                    (n->op == WK_OP_INTEGER_MATMUL && n->n_in == 2);
  uint32_t n_repeated = is_product ? 1 : 2;
  if ((!is_product && n->op != WK_OP_ATTENTION) || n->out[0] == WK_NONE) return false;
  if (wk_type_of(r, n->out[0])->quant || !find_groups(r, n, n_repeated, &g)) return false;
  wk_value_id in[8];
  if (n->n_in > WK_COUNTOF(in)) return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    in[k] = n->in[k] == WK_NONE ? WK_NONE
            : k && k <= n_repeated ? shared(r, &g, n->in[k]) : grouped(r, &g, n->in[k]);
  wk_value_id y = wk_rewrite_like(r, n, wk_attrs_clone(r->arena, n->op, n->attrs), n->n_in, in);
  const wk_type t = *wk_type_of(r, n->out[0]);
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_reshape(r, y, t.rank, t.dims));
}

wk_status wk_pass_share_repeats(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, share);
}
