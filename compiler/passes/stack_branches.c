/* SPDX-License-Identifier: Apache-2.0
 * What a concat joins is computed alike, branch by branch, from pieces of the same tensors, which
 * lie one behind the other, and from what all branches share: the heads of an attention where a
 * model has them one by one. They become one, with the branches as a dimension in front:
 *
 *   concat(f(x[0], c), f(x[1], c) ...)  ->  f(stack of x, c), whose first dimension goes where the
 *                                           concat had the branches
 *
 * It pays where f multiplies two things that both differ from branch to branch. Products with one
 * of them shared are better joined along columns, or rows, and elementwise operators gain
 * nothing. */
#include <string.h>

#include "compiler/passes/fuse.h"
#include "compiler/passes/movement.h"

/* Of what is stacked, which is alive at once: branches, operators of one, bytes of a result. */
enum { MOST_BRANCHES = 256, MOST_NODES = 64, MOST_BYTES = 64 << 20 };

typedef struct {
  wk_rewrite *r;
  uint32_t n;   /* branches */
  int nodes;    /* of a branch, so far */
  bool has_product;
} branches;

/* What the branches have at one place: a value of each. */
typedef const wk_value_id *values;

/* ---- what is alike --------------------------------------------------------------------------- */

static bool is_same_value(const wk_rewrite *r, wk_value_id a, wk_value_id b) {
  if (a == b) return true;
  if (a == WK_NONE || b == WK_NONE || !wk_known(r, a) || !wk_known(r, b)) return false;
  const wk_type *t = wk_type_of(r, a);
  return wk_type_equal(t, wk_type_of(r, b)) &&
         !memcmp(wk_val(r->g, a)->data, wk_val(r->g, b)->data, (size_t)wk_type_bytes(t));
}

static bool is_shared(const branches *b, values v) {
  for (uint32_t i = 1; i < b->n; i++)
    if (!is_same_value(b->r, v[0], v[i])) return false;
  return true;
}

/* The axis along which b continues a after `times` pieces of its size; -1: it does not. */
static int axis_between(const wk_piece *a, const wk_piece *b, int64_t times, int rank) {
  int axis = -1;
  if (a->x != b->x || memcmp(a->sizes, b->sizes, (size_t)rank * sizeof *a->sizes)) return -1;
  for (int i = 0; i < rank; i++) {
    int64_t by = b->starts[i] - a->starts[i];
    if (!by) continue;
    if (axis >= 0 || by != times * a->sizes[i]) return -1;
    axis = i;
  }
  return axis;
}

/* All are pieces of one tensor, of one size, one behind the other along *axis. */
static bool are_pieces(const branches *b, values v, int *axis) {
  const wk_piece first = wk_piece_of(b->r, v[0]);
  const int rank = wk_type_of(b->r, v[0])->rank;
  for (uint32_t i = 1; i < b->n; i++) {
    const wk_piece p = wk_piece_of(b->r, v[i]);
    int along = axis_between(&first, &p, i, rank);
    if (along < 0 || (i > 1 && along != *axis)) return false;
    *axis = along;
  }
  return true;
}

/* Their other operands broadcast to the first, which has to have the branches, too. */
static bool follows_first(const wk_node *n) {
  return n->op == WK_OP_QUANTIZE || n->op == WK_OP_DEQUANTIZE || n->op == WK_OP_FAKE_QUANTIZE;
}

static bool is_product(const wk_node *n) {
  if (n->op == WK_OP_INTEGER_MATMUL)
    return !wk_expr_uses_index(WK_ATTR(n, integer_matmul)->epilogue);
  return n->op == WK_OP_MATMUL && n->n_in == 2 && !WK_ATTR(n, matmul)->epilogue;
}

static int64_t *axis_of(wk_op op, void *attrs) {
  switch (op) {
  case WK_OP_SOFTMAX: return &((wk_attr_softmax *)attrs)->axis;
  case WK_OP_LOG_SOFTMAX: return &((wk_attr_log_softmax *)attrs)->axis;
  case WK_OP_INTEGER_SOFTMAX: return &((wk_attr_integer_softmax *)attrs)->axis;
  default: return NULL;
  }
}

static bool can_stack(const branches *b, const wk_node *n) {
  const wk_rewrite *r = b->r;
  if (n->dead || n->n_out != 1 || n->predicate != WK_NONE) return false;
  const wk_type *t = wk_type_of(r, n->out[0]);
  if (t->rank == WK_MAX_RANK || !wk_is_movable(t) || wk_type_bytes(t) > MOST_BYTES / b->n)
    return false;
  if (is_product(n))
    return wk_type_of(r, n->in[0])->rank > 1 && wk_type_of(r, n->in[1])->rank > 1;
  return wk_is_elementwise(n) || n->op == WK_OP_RESHAPE || n->op == WK_OP_TRANSPOSE ||
         axis_of(n->op, n->attrs);
}

static bool is_alike(const branches *b, const wk_node *n, wk_value_id v) {
  const wk_node *m = wk_def(b->r->g, v);
  return m && m->op == n->op && m->n_in == n->n_in && wk_once(b->r, v) && can_stack(b, m) &&
         wk_type_equal(wk_type_of(b->r, v), wk_type_of(b->r, n->out[0])) &&
         wk_attrs_equal(n->op, n->attrs, m->attrs);
}

static wk_value_id *operands_of(const branches *b, values v, uint32_t k) {
  wk_value_id *in = wk_arena_alloc(b->r->c->scratch, b->n * sizeof *in);
  for (uint32_t i = 0; i < b->n; i++) in[i] = wk_def(b->r->g, v[i])->in[k];
  return in;
}

/* What the branches have at one place, which is not shared, can be stacked. Counts the operators,
 * and finds products that it pays for. */
static bool match(branches *b, values v) {
  int axis;
  uint32_t differing = 0;
  if (v[0] == WK_NONE) return false;
  if (are_pieces(b, v, &axis)) return wk_type_of(b->r, v[0])->rank < WK_MAX_RANK;
  const wk_node *n = wk_def(b->r->g, v[0]);
  if (!n || ++b->nodes > MOST_NODES) return false;
  for (uint32_t i = 0; i < b->n; i++)
    if (!is_alike(b, n, v[i])) return false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    values in = operands_of(b, v, k);
    if (is_shared(b, in) && !(k == 0 && follows_first(n))) continue;
    if (!match(b, in)) return false;
    differing++;
  }
  b->has_product = b->has_product || (is_product(n) && differing == 2);
  return differing > 0;
}

/* ---- all in one ------------------------------------------------------------------------------ */

/* The pieces as [branches, piece]. */
static wk_value_id stack_pieces(const branches *b, wk_value_id first, int axis) {
  wk_piece p = wk_piece_of(b->r, first);
  const int rank = wk_type_of(b->r, first)->rank;
  int64_t dims[WK_MAX_RANK], perm[WK_MAX_RANK] = {axis};
  for (int a = 0; a <= rank; a++) {
    dims[a] = a == axis ? b->n : p.sizes[a < axis ? a : a - 1];
    if (a) perm[a] = a <= axis ? a - 1 : a;
  }
  p.sizes[axis] *= b->n;
  wk_value_id x = wk_rewrite_slice(b->r, p.x, p.starts, p.sizes, NULL);
  return wk_rewrite_transpose(b->r, wk_rewrite_reshape(b->r, x, rank + 1, dims), perm);
}

/* Operands broadcast from the right: those that have fewer dimensions get ones behind the
 * branches. */
static wk_value_id widen(const branches *b, wk_value_id x, int rank) {
  if (x == WK_NONE) return x;
  const wk_type t = *wk_type_of(b->r, x);
  int64_t dims[WK_MAX_RANK] = {b->n};
  for (int a = 1; a <= rank; a++) {
    int from = a - (rank + 1 - t.rank);
    dims[a] = from > 0 ? t.dims[from] : 1;
  }
  return wk_rewrite_reshape(b->r, x, rank + 1, dims);
}

static void *attributes(const branches *b, const wk_node *n, const wk_type *out) {
  void *attrs = wk_attrs_clone(b->r->arena, n->op, n->attrs);
  int64_t more[WK_MAX_RANK] = {n->op == WK_OP_RESHAPE ? b->n : 0};
  if (n->op == WK_OP_RESHAPE) {
    memcpy(more + 1, out->dims, (size_t)out->rank * sizeof *more);
    ((wk_attr_reshape *)attrs)->shape = wk_ints_dup(b->r->arena, more, out->rank + 1);
  } else if (n->op == WK_OP_TRANSPOSE) {
    for (int a = 0; a < out->rank; a++) more[a + 1] = WK_ATTR(n, transpose)->perm.v[a] + 1;
    ((wk_attr_transpose *)attrs)->perm = wk_ints_dup(b->r->arena, more, out->rank + 1);
  } else if (axis_of(n->op, attrs)) {
    ++*axis_of(n->op, attrs);
  }
  return attrs;
}

static wk_value_id stack(const branches *b, values v) {
  int axis;
  if (are_pieces(b, v, &axis)) return stack_pieces(b, v[0], axis);
  const wk_node n = *wk_def(b->r->g, v[0]);
  const wk_type out = *wk_type_of(b->r, v[0]);
  wk_value_id *in = wk_arena_alloc(b->r->c->scratch, n.n_in * sizeof *in);
  int rank = wk_is_elementwise(&n) ? out.rank : 0;
  for (uint32_t k = 0; k < n.n_in && is_product(&n); k++)
    if (wk_type_of(b->r, n.in[k])->rank > rank) rank = wk_type_of(b->r, n.in[k])->rank;
  for (uint32_t k = 0; k < n.n_in; k++) {
    values of = operands_of(b, v, k);
    bool is_one = is_shared(b, of);
    in[k] = is_one ? of[0] : stack(b, of);
    if (!is_one && rank) in[k] = widen(b, in[k], rank);
  }
  return wk_rewrite_like(b->r, wk_def(b->r->g, v[0]), attributes(b, &n, &out), n.n_in, in);
}

static bool stack_branches(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->op != WK_OP_CONCAT || n->n_in < 2 || n->n_in > MOST_BRANCHES) return false;
  branches b = {.r = r, .n = n->n_in};
  wk_value_id *of = wk_arena_alloc(r->c->scratch, n->n_in * sizeof *of);
  memcpy(of, n->in, n->n_in * sizeof *of);
  if (!match(&b, of) || !b.has_product) return false;
  const wk_type out = *wk_type_of(r, n->out[0]);
  const int axis = (int)WK_ATTR(n, concat)->axis;
  int64_t perm[WK_MAX_RANK];
  for (int a = 0; a <= out.rank; a++) perm[a] = a < axis ? a + 1 : a == axis ? 0 : a;
  wk_value_id y = wk_rewrite_transpose(r, stack(&b, of), perm);
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_reshape(r, y, out.rank, out.dims));
}

wk_status wk_pass_stack_branches(wk_graph *g, wk_pass_ctx *c) {
  return wk_rewrite_run(g, c, stack_branches);
}
