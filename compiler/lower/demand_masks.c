/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/lower/demand_masks.h"

#include <math.h>
#include <string.h>

static const wk_rest no_rest = {.size = WK_NONE};

static const wk_type *type(const wk_masks *d, wk_value_id v) { return &wk_val(d->g, v)->type; }

/* ---- masks ----------------------------------------------------------------------------------- */

bool wk_is_size(const wk_masks *d, wk_value_id v) {
  const wk_type *t = type(d, v);
  return t->dtype == WK_I64 && wk_type_count(t) == 1 && !wk_is_const(d->g, v) &&
         !wk_is_variable(d->g, v);
}

/* A value of booleans along neighbouring axes, as a mask of its own. */
static wk_mask predicate_of(const wk_masks *d, wk_value_id v) {
  const wk_type *t = type(d, v);
  wk_mask m = {.axis = -1, .size = v};
  int last = -1;
  if (t->dtype != WK_BOOL || wk_is_const(d->g, v) || wk_is_variable(d->g, v)) return m;
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[i] == 1) continue;
    if (last >= 0 && last != i - 1) return (wk_mask){.axis = -1};
    last = i;
    if (m.axis < 0) m.axis = i;
  }
  m.span = last - m.axis + 1;
  return m;
}

/* True only where both are; a size says more than a predicate. */
static wk_mask mask_of_both(const wk_masks *d, const wk_node *n, const wk_expr *e,
                         const wk_expr_node *x, int rank) {
  wk_mask m = wk_mask_in(d, n, e, x->arg[0], rank), other = wk_mask_in(d, n, e, x->arg[1], rank);
  bool is_first = m.axis >= 0 && (!m.span || other.axis < 0 || other.span);
  return is_first ? m : other;
}

wk_mask wk_mask_in(const wk_masks *d, const wk_node *n, const wk_expr *e, uint16_t k, int rank) {
  const wk_expr_node *x = &e->nodes[k];
  wk_mask none = {.axis = -1};
  if (x->op == WK_EX_INPUT) {
    wk_value_id v = n->in[x->imm.i];
    wk_mask m = d->masks[v];
    if (m.axis >= 0) m.axis += rank - type(d, v)->rank;
    return m;
  }
  if (x->op == WK_EX_AND) return mask_of_both(d, n, e, x, rank);
  if (x->op != WK_EX_LT) return none;
  const wk_expr_node *at = &e->nodes[x->arg[0]], *size = &e->nodes[x->arg[1]];
  if (at->op != WK_EX_INPUT || size->op != WK_EX_INPUT) return none;
  wk_value_id positions = n->in[at->imm.i], bound = n->in[size->imm.i];
  int axis = wk_counting_axis(d->g, positions);
  if (axis < 0 || !wk_is_size(d, bound)) return none;
  return (wk_mask){axis + rank - type(d, positions)->rank, bound, 0};
}

static wk_mask reshaped_mask(const wk_masks *d, const wk_node *n) {
  wk_mask m = d->masks[n->in[0]];
  int axis = m.axis < 0 ? -1 : wk_same_axis(type(d, n->in[0]), type(d, n->out[0]), m.axis);
  for (int i = 1; i < m.span && axis >= 0; i++)
    if (wk_same_axis(type(d, n->in[0]), type(d, n->out[0]), m.axis + i) != axis + i) axis = -1;
  return (wk_mask){axis, m.size, m.span};
}

/* ---- rests ----------------------------------------------------------------------------------- */

static bool is_number(const wk_expr_node *x, const wk_rest *r) {
  if (x->op != WK_EX_CONST) return false;
  return wk_dtype_is_float(x->dtype) ? x->imm.f == r->number.f : x->imm.i == r->number.i;
}

/* b is the largest of a along the axis: e^(a - b) is 0 where a is -inf, or all others are NaN. */
static bool is_maximum(const wk_masks *d, wk_value_id a, wk_value_id b, int axis) {
  wk_node_id made = wk_val(d->g, b)->node;
  if (wk_val(d->g, b)->kind != WK_VALUE_NODE) return false;
  const wk_node *n = wk_nod(d->g, made);
  const wk_attr_reduce *r = n->op == WK_OP_REDUCE ? WK_ATTR(n, reduce) : NULL;
  return r && !strcmp(r->kind, "max") && !r->pre && !r->post && n->in[0] == a && r->keepdims &&
         r->axes.n == 1 && r->axes.v[0] == axis;
}

static wk_rest rest_in(const wk_masks *d, const wk_node *n, const wk_expr *e, uint16_t k, int axis,
                       int rank);

static wk_rest rest_of_exp(const wk_masks *d, const wk_node *n, const wk_expr *e, uint16_t k,
                           int axis, int rank) {
  const wk_expr_node *x = &e->nodes[k];
  if (x->op != WK_EX_SUB) return no_rest;
  const wk_expr_node *a = &e->nodes[x->arg[0]], *b = &e->nodes[x->arg[1]];
  if (a->op != WK_EX_INPUT || b->op != WK_EX_INPUT) return no_rest;
  wk_rest r = rest_in(d, n, e, x->arg[0], axis, rank);
  wk_value_id v = n->in[a->imm.i];
  if (r.size == WK_NONE || r.number.f != -(double)INFINITY ||
      !is_maximum(d, v, n->in[b->imm.i], axis - rank + type(d, v)->rank))
    return no_rest;
  r.number.f = 0;
  return r;
}

/* A number where a mask is false, or where an operand has it, too. */
static wk_rest rest_of_select(const wk_masks *d, const wk_node *n, const wk_expr *e,
                           const wk_expr_node *x, int axis, int rank) {
  const wk_expr_node *other = &e->nodes[x->arg[2]];
  wk_rest r = rest_in(d, n, e, x->arg[1], axis, rank);
  wk_mask m = wk_mask_in(d, n, e, x->arg[0], rank);
  if (other->op != WK_EX_CONST) return no_rest;
  if (m.span) m.axis = -1; /* what is false lies anywhere */
  if (m.axis == axis && wk_dtype_is_float(other->dtype))
    return (wk_rest){m.size, {.f = other->imm.f}};
  if (m.axis == axis) return (wk_rest){m.size, {.i = other->imm.i}};
  return r.size != WK_NONE && is_number(other, &r) ? r : no_rest;
}

/* Node k of a map's expression along an axis of the result. */
static wk_rest rest_in(const wk_masks *d, const wk_node *n, const wk_expr *e, uint16_t k, int axis,
                       int rank) {
  const wk_expr_node *x = &e->nodes[k];
  if (x->op == WK_EX_SELECT) return rest_of_select(d, n, e, x, axis, rank);
  if (x->op == WK_EX_EXP) return rest_of_exp(d, n, e, x->arg[0], axis, rank);
  if (x->op != WK_EX_INPUT) return no_rest;
  wk_value_id v = n->in[x->imm.i];
  int own = axis - rank + type(d, v)->rank;
  return own >= 0 && type(d, v)->dims[own] == type(d, n->out[0])->dims[axis] ? d->rests[v][own]
                                                                            : no_rest;
}

static void find_rests(wk_masks *d, const wk_node *n) {
  wk_value_id x = n->in[0], y = n->out[0];
  const wk_expr *e = n->op == WK_OP_MAP ? WK_ATTR(n, map)->body : NULL;
  int rank = type(d, y)->rank;
  for (int i = 0; e && i < rank; i++) d->rests[y][i] = rest_in(d, n, e, e->results[0], i, rank);
  for (int i = 0; n->op == WK_OP_TRANSPOSE && i < rank; i++)
    d->rests[y][i] = d->rests[x][WK_ATTR(n, transpose)->perm.v[i]];
  for (int i = 0; n->op == WK_OP_RESHAPE && i < type(d, x)->rank; i++) {
    int axis = wk_same_axis(type(d, x), type(d, y), i);
    if (axis >= 0) d->rests[y][axis] = d->rests[x][i];
  }
}

static bool changes_nothing(const char *kind, const wk_rest *r, wk_dtype t) {
  static const struct {
    const char *kind;
    double number;
  } neutral[] = {{"sum", 0}, {"prod", 1}, {"max", -INFINITY}, {"min", INFINITY}};
  for (size_t i = 0; i < WK_COUNTOF(neutral); i++)
    if (!strcmp(kind, neutral[i].kind))
      return wk_dtype_is_float(t) ? r->number.f == neutral[i].number
                                  : r->number.i == neutral[i].number;
  return false;
}

/* Of the axes that are folded those along which the operand is neutral from a size on. */
static void find_folds(wk_masks *d, const wk_node *n) {
  const wk_attr_reduce *a = WK_ATTR(n, reduce);
  wk_value_id x = n->in[0];
  for (int64_t k = 0; k < a->axes.n && !a->pre && x != WK_NONE; k++) {
    const wk_rest *r = &d->rests[x][a->axes.v[k]];
    if (r->size != WK_NONE && changes_nothing(a->kind, r, type(d, x)->dtype))
      d->folds[n->out[0]][a->axes.v[k]] = r->size;
  }
}

static void find_all(wk_masks *d) {
  for (size_t v = 0; v < d->g->values.n; v++) {
    d->masks[v] = wk_val(d->g, (wk_value_id)v)->kind == WK_VALUE_INPUT
                      ? predicate_of(d, (wk_value_id)v)
                      : (wk_mask){.axis = -1};
    for (int i = 0; i < WK_MAX_RANK; i++) d->rests[v][i] = no_rest, d->folds[v][i] = WK_NONE;
  }
  for (size_t i = 0; i < d->g->nodes.n; i++) {
    const wk_node *n = wk_nod(d->g, (wk_node_id)i);
    if (n->dead || n->n_out != 1 || n->out[0] == WK_NONE || n->n_in == 0) continue;
    if (n->op == WK_OP_RESHAPE) d->masks[n->out[0]] = reshaped_mask(d, n);
    if (n->in[0] != WK_NONE) find_rests(d, n);
    if (n->op == WK_OP_REDUCE) find_folds(d, n);
    const wk_expr *e = n->op == WK_OP_MAP ? WK_ATTR(n, map)->body : NULL;
    if (e && type(d, n->out[0])->dtype == WK_BOOL)
      d->masks[n->out[0]] = wk_mask_in(d, n, e, e->results[0], type(d, n->out[0])->rank);
    if (d->masks[n->out[0]].axis < 0) d->masks[n->out[0]] = predicate_of(d, n->out[0]);
  }
}

/* ---- the whole ------------------------------------------------------------------------------- */

wk_masks wk_masks_find(const wk_graph *g, wk_arena *a) {
  wk_masks d = {.g = g, .masks = wk_arena_alloc(a, g->values.n * sizeof *d.masks),
                .rests = wk_arena_alloc(a, g->values.n * sizeof *d.rests),
                .folds = wk_arena_alloc(a, g->values.n * sizeof *d.folds)};
  find_all(&d);
  return d;
}
