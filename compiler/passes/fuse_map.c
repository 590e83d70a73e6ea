/* SPDX-License-Identifier: Apache-2.0
 * Elementwise fusion on graphs of primitives:
 *   map of map        the producer's expression moves into its only user when both run over the
 *                     same space (a broadcast would compute it many times)
 *   reduce of map     the producer becomes part of what the fold reads
 *   map of reduce     a map of the fold alone becomes what is done after the fold
 *   splat constants   an operand whose elements have the same bits becomes a literal */
#include "compiler/passes/fuse.h"
#include "compiler/passes/rewrite.h"

#define MAX_VALUES (2 * WK_FUSE_MAX_INPUTS)

static bool is_plain_map(const wk_node *n) {
  return n && !n->dead && n->op == WK_OP_MAP && n->n_out == 1 && n->predicate == WK_NONE;
}

static bool small_enough(const wk_node *a, const wk_node *b, const wk_expr *x, const wk_expr *y) {
  return a->n_in + b->n_in <= WK_FUSE_MAX_INPUTS &&
         (x ? x->n : 1) + (y ? y->n : 1) <= WK_FUSE_MAX_NODES;
}

/* Every use of v is an operand of n. */
static bool used_only_by(const wk_rewrite *r, const wk_node *n, wk_value_id v) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < n->n_in; k++) count += n->in[k] == v;
  return count == r->uses[v];
}

/* The expression of n with operand v replaced by expression node `instead`. */
static const wk_expr *substituted(wk_fuse *f, const wk_node *n, const wk_expr *body, wk_value_id v,
                                  uint16_t instead) {
  wk_value_id values[MAX_VALUES];
  uint16_t given[MAX_VALUES] = {0};
  for (uint32_t k = 0; k < n->n_in; k++) {
    values[k] = n->in[k] == v ? WK_NONE : n->in[k];
    given[k] = instead;
  }
  uint16_t result = wk_fuse_inline(f, body, values, n->n_in, given);
  return wk_expr_finish(f->b, &result, 1);
}

/* ---- map of map, reduce of map --------------------------------------------------------------- */

static wk_type iteration_space(const wk_rewrite *r, const wk_node *n) {
  if (n->op == WK_OP_MAP) return *wk_type_of(r, n->out[0]);
  wk_type t = *wk_type_of(r, n->in[0]), both;
  for (uint32_t k = 1; k < n->n_in; k++) {
    wk_status s = wk_type_broadcast(&t, wk_type_of(r, n->in[k]), &both);
    if (s) wk_status_free(s); /* verified before: cannot happen */
    else t = both;
  }
  return t;
}

static const wk_expr *body_of(const wk_rewrite *r, const wk_node *n) {
  if (n->op == WK_OP_MAP) return WK_ATTR(n, map)->body;
  const wk_expr *pre = WK_ATTR(n, reduce)->pre;
  return pre ? pre : wk_expr_identity(r->arena, wk_type_of(r, n->in[0])->dtype);
}

static bool producer_fits(const wk_rewrite *r, const wk_node *n, wk_value_id v,
                          const wk_expr *body) {
  const wk_node *p = wk_def(r->g, v);
  if (!is_plain_map(p) || !used_only_by(r, n, v)) return false;
  wk_type space = iteration_space(r, n);
  const wk_type *t = wk_type_of(r, v);
  if (!wk_fuse_same_space(t, &space) || !small_enough(n, p, body, WK_ATTR(p, map)->body))
    return false;
  return t->rank == space.rank || !wk_expr_uses_index(WK_ATTR(p, map)->body);
}

/* The fused inputs must still span the space: a producer's inputs broadcast to its own output, so
 * they do. */
static bool absorb_producer(wk_rewrite *r, const wk_node *n, wk_value_id v, const wk_expr *body) {
  const wk_node *p = wk_def(r->g, v);
  wk_fuse f = {.b = wk_expr_begin(r->arena), .g = r->g};
  uint16_t inner = wk_fuse_inline(&f, WK_ATTR(p, map)->body, p->in, p->n_in, NULL);
  const wk_expr *e = substituted(&f, n, body, v, inner);
  void *attrs = wk_attrs_clone(r->arena, n->op, n->attrs);
  if (n->op == WK_OP_MAP) ((wk_attr_map *)attrs)->body = e;
  else ((wk_attr_reduce *)attrs)->pre = e;
  wk_node fused = wk_fuse_as(n, attrs, f.n, f.in, n->out);
  if (!wk_fuse_allowed(r->c, r->g, n, p, &fused)) return false;
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_add(r, n->op, attrs, f.n, f.in));
}

static bool absorb_producers(wk_rewrite *r, const wk_node *n) {
  const wk_expr *body = body_of(r, n);
  for (uint32_t k = 0; k < n->n_in; k++)
    if (producer_fits(r, n, n->in[k], body) && absorb_producer(r, n, n->in[k], body)) return true;
  return false;
}

/* ---- map of reduce --------------------------------------------------------------------------- */

static bool absorb_into_reduce(wk_rewrite *r, const wk_node *n) {
  if (n->n_in != 1 || wk_expr_uses_index(WK_ATTR(n, map)->body)) return false;
  const wk_node *reduce = wk_made_once_by(r, n->in[0], WK_OP_REDUCE);
  if (!reduce || !wk_type_equal(wk_type_of(r, n->in[0]), wk_type_of(r, n->out[0]))) return false;
  const wk_node p = *reduce;
  wk_attr_reduce *attrs = wk_attrs_clone(r->arena, WK_OP_REDUCE, p.attrs);
  wk_expr_builder *b = wk_expr_begin(r->arena);
  wk_dtype folded = wk_folded_dtype(attrs->kind, attrs->pre, wk_type_of(r, p.in[0])->dtype);
  uint16_t x = wk_expr_input(b, 0, folded);
  if (attrs->post) x = wk_expr_inline(b, attrs->post, &x, 0);
  x = wk_expr_inline(b, WK_ATTR(n, map)->body, &x, 0);
  attrs->post = wk_expr_finish(b, &x, 1);
  wk_node fused = wk_fuse_as(reduce, attrs, reduce->n_in, reduce->in, n->out);
  if (!wk_fuse_allowed(r->c, r->g, reduce, n, &fused)) return false;
  r->name = p.name;
  return wk_rewrite_replace(r, n->out[0], wk_rewrite_add(r, WK_OP_REDUCE, attrs, p.n_in, p.in));
}

/* ---- splat constants ------------------------------------------------------------------------- */

/* The output keeps its shape without operand v. */
static bool spans_without(const wk_rewrite *r, const wk_node *n, wk_value_id v) {
  wk_type t = {.dtype = WK_BOOL}, both;
  bool any = false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] == v) continue;
    wk_status s = wk_type_broadcast(&t, wk_type_of(r, n->in[i]), &both);
    if (s) {
      wk_status_free(s);
      return false;
    }
    t = both;
    any = true;
  }
  return any && wk_shape_equal(&t, wk_type_of(r, n->out[0]));
}

static bool inline_splats(wk_rewrite *r, const wk_node *n) {
  double value;
  for (uint32_t k = 0; n->n_in <= WK_FUSE_MAX_INPUTS && k < n->n_in; k++) {
    wk_value_id v = n->in[k];
    wk_dtype t = wk_type_of(r, v)->dtype;
    if (!wk_known(r, v) || !wk_const_splat(r->g, v, &value) || !spans_without(r, n, v)) continue;
    wk_fuse f = {.b = wk_expr_begin(r->arena), .g = r->g};
    uint16_t literal = wk_dtype_is_float(t)
                           ? wk_expr_f(f.b, t, value)
                           : wk_expr_i(f.b, t, wk_load_i64(wk_val(r->g, v)->data, t, 0));
    wk_attr_map *attrs = wk_attrs_new(r->arena, WK_OP_MAP);
    attrs->body = substituted(&f, n, WK_ATTR(n, map)->body, v, literal);
    wk_node fused = wk_fuse_as(n, attrs, f.n, f.in, n->out);
    if (!wk_fuse_allowed(r->c, r->g, n, NULL, &fused)) continue;
    return wk_rewrite_replace(r, n->out[0], wk_rewrite_add(r, WK_OP_MAP, attrs, f.n, f.in));
  }
  return false;
}

static bool fuse(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->op == WK_OP_REDUCE) return absorb_producers(r, n);
  if (!is_plain_map(n) || n->out[0] == WK_NONE) return false;
  return inline_splats(r, n) || absorb_producers(r, n) || absorb_into_reduce(r, n);
}

wk_status wk_pass_fuse_map(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, fuse); }
