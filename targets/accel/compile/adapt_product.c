/* SPDX-License-Identifier: Apache-2.0
 * Products of queries with fewer heads than they have: exporters write each head of keys and values
 * as often as queries share it. The queries that share one are a stack of their own instead. And
 * products with constants, for which exporters join the matrices of a stack to one: these stay
 * apart, as they lie. */
#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/net.h"

/* A right operand [.., groups * times, k, n] that is x [.., groups, 1, k, n], each matrix `times`
 * times, or x with its last two axes exchanged. */
typedef struct {
  wk_value_id x;
  int64_t times;
  bool is_turned;
} repeated;

static bool exchanges_last(const wk_attr_transpose *a) {
  int rank = (int)a->perm.n;
  for (int i = 0; i < rank - 2; i++)
    if (a->perm.v[i] != i) return false;
  return rank >= 2 && a->perm.v[rank - 1] == rank - 2;
}

/* One axis of y, the last but two, was of one in x. */
static bool repeats_matrices(const wk_type *x, const wk_type *y) {
  int axis = y->rank - 3;
  if (x->rank != y->rank || axis < 1 || x->dims[axis] != 1) return false;
  for (int i = 0; i < y->rank; i++)
    if (i != axis && x->dims[i] != y->dims[i]) return false;
  return true;
}

/* The axes before the matrices of x, the last two of them as one. */
static bool joins_stacks(const wk_type *x, const wk_type *y) {
  int axis = x->rank - 3;
  if (y->rank != x->rank - 1 || y->dims[axis - 1] != x->dims[axis - 1] * x->dims[axis])
    return false;
  for (int i = 0; i < axis - 1; i++)
    if (y->dims[i] != x->dims[i]) return false;
  return y->dims[axis] == x->dims[axis + 1];
}

static bool repeated_of(const wk_rewrite *r, wk_value_id v, repeated *out) {
  const wk_node *t = wk_made_by(r, v, WK_OP_TRANSPOSE);
  out->is_turned = t && exchanges_last(WK_ATTR(t, transpose));
  if (out->is_turned) v = t->in[0];
  const wk_node *joined = wk_made_by(r, v, WK_OP_RESHAPE);
  const wk_node *e = joined ? wk_made_by(r, joined->in[0], WK_OP_EXPAND) : NULL;
  if (!e) return false;
  const wk_type *x = wk_type_of(r, e->in[0]), *y = wk_type_of(r, e->out[0]);
  if (!repeats_matrices(x, y) || !joins_stacks(y, wk_type_of(r, v))) return false;
  out->x = e->in[0];
  out->times = y->dims[y->rank - 3];
  return true;
}

static wk_value_id turned(wk_rewrite *r, wk_value_id x) {
  int64_t perm[WK_MAX_RANK];
  int rank = wk_type_of(r, x)->rank;
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 1] = rank - 2, perm[rank - 2] = rank - 1;
  return wk_rewrite_transpose(r, x, perm);
}

/* The left operand with a stack for each of the right one's. */
static wk_value_id apart(wk_rewrite *r, wk_value_id v, const repeated *by) {
  const wk_type t = *wk_type_of(r, v);
  int64_t dims[WK_MAX_RANK];
  int axis = t.rank - 3;
  for (int i = 0; i < t.rank; i++) dims[i < axis + 1 ? i : i + 1] = t.dims[i];
  dims[axis] = t.dims[axis] / by->times;
  dims[axis + 1] = by->times;
  return wk_rewrite_reshape(r, v, t.rank + 1, dims);
}

bool wk_accel_share_heads(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  repeated by;
  (void)id;
  if (n->op != WK_OP_INTEGER_MATMUL || n->n_in != 2 || n->predicate != WK_NONE ||
      !repeated_of(r, n->in[1], &by))
    return false;
  const wk_type a = *wk_type_of(r, n->in[0]), y = *wk_type_of(r, n->out[0]);
  const wk_type *b = wk_type_of(r, n->in[1]);
  if (a.rank != b->rank || a.rank + 1 >= WK_MAX_RANK || a.dims[a.rank - 3] != b->dims[a.rank - 3])
    return false;
  r->name = n->name;
  const wk_value_id in[2] = {apart(r, n->in[0], &by), by.is_turned ? turned(r, by.x) : by.x};
  wk_value_id product = wk_rewrite_like(r, n, wk_attrs_clone(r->arena, n->op, n->attrs), 2, in);
  return product != WK_NONE &&
         wk_rewrite_replace(r, n->out[0], wk_rewrite_reshape(r, product, y.rank, y.dims));
}

/* x [a, b, ..] as the matrix [a * b, k]: as a stack of a matrices, whose rows are so many that the
 * array hides the loading of its tiles. */
static bool joined_of(const wk_rewrite *r, const wk_node *n, wk_value_id *x, int64_t dims[3]) {
  const wk_machine *m = r->c->data;
  const wk_node *joined = wk_made_by(r, n->in[0], WK_OP_RESHAPE);
  if (!joined) return false;
  *x = joined->in[0];
  const wk_type *from = wk_type_of(r, *x), *to = wk_type_of(r, n->in[0]);
  if (to->rank != 2 || from->rank < 3 || from->dims[0] < 2 || from->dims[1] < 2 * m->array ||
      from->dims[0] * from->dims[1] != to->dims[0])
    return false;
  dims[0] = from->dims[0], dims[1] = from->dims[1], dims[2] = to->dims[1];
  return true;
}

static bool is_apart(const wk_type *t, int64_t stacks) {
  int64_t n = 1;
  int i = 0;
  while (i < t->rank && n < stacks) n *= t->dims[i++];
  return n == stacks && i + 1 < t->rank;
}

/* Who reads v takes its rows apart into these stacks again. */
static bool are_readers_apart(const wk_rewrite *r, wk_value_id v, int64_t stacks) {
  uint32_t readers = 0;
  for (uint32_t c = r->first[v]; c; c = r->cells.data[c].next) {
    const wk_use_cell *u = &r->cells.data[c];
    if (u->node == WK_NONE) continue;
    const wk_node *n = wk_nod(r->g, u->node);
    if (n->dead || n->op != WK_OP_RESHAPE || n->in[0] != v) continue;
    readers += is_apart(wk_type_of(r, n->out[0]), stacks);
  }
  return readers && readers == r->uses[v];
}

/* Operands beside the matrices are the same for all rows. */
static bool are_extras_of_columns(const wk_rewrite *r, const wk_node *n) {
  for (uint32_t i = 2; i < n->n_in; i++)
    if (n->in[i] != WK_NONE && wk_type_of(r, n->in[i])->rank > 1) return false;
  return true;
}

bool wk_accel_keep_stacks(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  wk_value_id x, in[WK_MAX_RANK + 8];
  int64_t dims[3];
  (void)id;
  if (n->op != WK_OP_MATMUL || n->predicate != WK_NONE || n->n_in > WK_COUNTOF(in) ||
      !wk_known(r, n->in[1]) || !are_extras_of_columns(r, n) || !joined_of(r, n, &x, dims) ||
      !are_readers_apart(r, n->out[0], dims[0]))
    return false;
  const wk_type y = *wk_type_of(r, n->out[0]);
  r->name = n->name;
  for (uint32_t i = 1; i < n->n_in; i++) in[i] = n->in[i];
  in[0] = wk_rewrite_reshape(r, x, 3, dims);
  if (in[0] == WK_NONE) return false;
  wk_value_id made = wk_rewrite_like(r, n, wk_attrs_clone(r->arena, n->op, n->attrs), n->n_in, in);
  return made != WK_NONE &&
         wk_rewrite_replace(r, n->out[0], wk_rewrite_reshape(r, made, y.rank, y.dims));
}
