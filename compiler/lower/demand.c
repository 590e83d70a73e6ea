/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/lower/demand.h"

#include <math.h>
#include <string.h>

#include "compiler/expr/expr.h"

#define UNKNOWN (WK_NONE - 1) /* nobody has asked yet */
#define FEW (WK_NONE - 2)

/* A value of booleans that is true at most at positions below a size along one axis. */
typedef struct {
  int axis; /* -1: it is none */
  wk_value_id size;
} mask;

/* From a size on a value has the same number everywhere. */
typedef struct {
  wk_value_id size; /* WK_NONE: that is not known */
  wk_scalar number; /* of the value's type */
} rest;

typedef struct {
  const wk_graph *g;
  wk_arena *a;
  wk_need *needs;
  mask *masks;
  rest (*rests)[WK_MAX_RANK];
  wk_value_id (*folds)[WK_MAX_RANK];
} demand;

static const rest no_rest = {.size = WK_NONE};

static const wk_type *type(const demand *d, wk_value_id v) { return &wk_val(d->g, v)->type; }

/* ---- masks ----------------------------------------------------------------------------------- */

/* The axis along which a constant counts 0, 1 …, the same at all other positions; -1: none. */
static int counting_axis(const demand *d, wk_value_id v) {
  const wk_type *t = type(d, v);
  int axis = -1;
  if (!wk_is_const(d->g, v) || t->dtype != WK_I64) return -1;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != 1) axis = axis < 0 ? i : WK_MAX_RANK;
  if (axis < 0 || axis == WK_MAX_RANK) return -1;
  for (int64_t i = 0; i < t->dims[axis]; i++)
    if (wk_load_i64(wk_val(d->g, v)->data, t->dtype, i) != i) return -1;
  return axis;
}

/* A number that is there as long as a run lasts: not what a variable had before. */
static bool is_size(const demand *d, wk_value_id v) {
  const wk_type *t = type(d, v);
  return t->dtype == WK_I64 && wk_type_count(t) == 1 && !wk_is_const(d->g, v) &&
         !wk_is_variable(d->g, v);
}

static mask mask_in(const demand *d, const wk_node *n, const wk_expr *e, uint16_t k, int rank);

/* True only where both are. */
static mask mask_of_both(const demand *d, const wk_node *n, const wk_expr *e,
                         const wk_expr_node *x, int rank) {
  mask m = mask_in(d, n, e, x->arg[0], rank);
  return m.axis >= 0 ? m : mask_in(d, n, e, x->arg[1], rank);
}

/* Node k of a map's expression as a mask of the result, whose rank is `rank`. */
static mask mask_in(const demand *d, const wk_node *n, const wk_expr *e, uint16_t k, int rank) {
  const wk_expr_node *x = &e->nodes[k];
  mask none = {.axis = -1};
  if (x->op == WK_EX_INPUT) {
    wk_value_id v = n->in[x->imm.i];
    mask m = d->masks[v];
    if (m.axis >= 0) m.axis += rank - type(d, v)->rank;
    return m;
  }
  if (x->op == WK_EX_AND) return mask_of_both(d, n, e, x, rank);
  if (x->op != WK_EX_LT) return none;
  const wk_expr_node *at = &e->nodes[x->arg[0]], *size = &e->nodes[x->arg[1]];
  if (at->op != WK_EX_INPUT || size->op != WK_EX_INPUT) return none;
  wk_value_id positions = n->in[at->imm.i], bound = n->in[size->imm.i];
  int axis = counting_axis(d, positions);
  if (axis < 0 || !is_size(d, bound)) return none;
  return (mask){axis + rank - type(d, positions)->rank, bound};
}

/* The axis of y, a reshape of x, that has the positions of axis i of x, as many before and behind
 * it; -1: none. */
static int same_axis(const wk_type *x, const wk_type *y, int i) {
  int64_t before = 1, below = 1;
  int k = 0;
  if (!wk_type_count(x)) return -1;  /* other dimensions' products may overflow then */
  for (int a = 0; a < i; a++) before *= x->dims[a];
  while (k < y->rank && below < before) below *= y->dims[k++];
  while (k < y->rank && below == before && y->dims[k] == 1 && x->dims[i] != 1) k++;
  return below == before && k < y->rank && y->dims[k] == x->dims[i] ? k : -1;
}

static mask reshaped_mask(const demand *d, const wk_node *n) {
  mask m = d->masks[n->in[0]];
  int axis = m.axis < 0 ? -1 : same_axis(type(d, n->in[0]), type(d, n->out[0]), m.axis);
  return (mask){axis, m.size};
}

/* ---- rests ----------------------------------------------------------------------------------- */

static bool is_number(const wk_expr_node *x, const rest *r) {
  if (x->op != WK_EX_CONST) return false;
  return wk_dtype_is_float(x->dtype) ? x->imm.f == r->number.f : x->imm.i == r->number.i;
}

/* b is the largest of a along the axis: e^(a - b) is 0 where a is -inf, or all others are NaN. */
static bool is_maximum(const demand *d, wk_value_id a, wk_value_id b, int axis) {
  wk_node_id made = wk_val(d->g, b)->node;
  if (wk_val(d->g, b)->kind != WK_VALUE_NODE) return false;
  const wk_node *n = wk_nod(d->g, made);
  const wk_attr_reduce *r = n->op == WK_OP_REDUCE ? WK_ATTR(n, reduce) : NULL;
  return r && !strcmp(r->kind, "max") && !r->pre && !r->post && n->in[0] == a && r->keepdims &&
         r->axes.n == 1 && r->axes.v[0] == axis;
}

static rest rest_in(const demand *d, const wk_node *n, const wk_expr *e, uint16_t k, int axis,
                    int rank);

static rest rest_of_exp(const demand *d, const wk_node *n, const wk_expr *e, uint16_t k, int axis,
                        int rank) {
  const wk_expr_node *x = &e->nodes[k];
  if (x->op != WK_EX_SUB) return no_rest;
  const wk_expr_node *a = &e->nodes[x->arg[0]], *b = &e->nodes[x->arg[1]];
  if (a->op != WK_EX_INPUT || b->op != WK_EX_INPUT) return no_rest;
  rest r = rest_in(d, n, e, x->arg[0], axis, rank);
  wk_value_id v = n->in[a->imm.i];
  if (r.size == WK_NONE || r.number.f != -(double)INFINITY ||
      !is_maximum(d, v, n->in[b->imm.i], axis - rank + type(d, v)->rank))
    return no_rest;
  r.number.f = 0;
  return r;
}

/* A number where a mask is false, or where an operand has it, too. */
static rest rest_of_select(const demand *d, const wk_node *n, const wk_expr *e,
                           const wk_expr_node *x, int axis, int rank) {
  const wk_expr_node *other = &e->nodes[x->arg[2]];
  rest r = rest_in(d, n, e, x->arg[1], axis, rank);
  mask m = mask_in(d, n, e, x->arg[0], rank);
  if (other->op != WK_EX_CONST) return no_rest;
  if (m.axis == axis && wk_dtype_is_float(other->dtype)) return (rest){m.size, {.f = other->imm.f}};
  if (m.axis == axis) return (rest){m.size, {.i = other->imm.i}};
  return r.size != WK_NONE && is_number(other, &r) ? r : no_rest;
}

/* Node k of a map's expression along an axis of the result. */
static rest rest_in(const demand *d, const wk_node *n, const wk_expr *e, uint16_t k, int axis,
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

static void find_rests(demand *d, const wk_node *n) {
  wk_value_id x = n->in[0], y = n->out[0];
  const wk_expr *e = n->op == WK_OP_MAP ? WK_ATTR(n, map)->body : NULL;
  int rank = type(d, y)->rank;
  for (int i = 0; e && i < rank; i++) d->rests[y][i] = rest_in(d, n, e, e->results[0], i, rank);
  for (int i = 0; n->op == WK_OP_TRANSPOSE && i < rank; i++)
    d->rests[y][i] = d->rests[x][WK_ATTR(n, transpose)->perm.v[i]];
  for (int i = 0; n->op == WK_OP_RESHAPE && i < type(d, x)->rank; i++) {
    int axis = same_axis(type(d, x), type(d, y), i);
    if (axis >= 0) d->rests[y][axis] = d->rests[x][i];
  }
}

static bool changes_nothing(const char *kind, const rest *r, wk_dtype t) {
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
static void find_folds(demand *d, const wk_node *n) {
  const wk_attr_reduce *a = WK_ATTR(n, reduce);
  wk_value_id x = n->in[0];
  for (int64_t k = 0; k < a->axes.n && !a->pre && x != WK_NONE; k++) {
    const rest *r = &d->rests[x][a->axes.v[k]];
    if (r->size != WK_NONE && changes_nothing(a->kind, r, type(d, x)->dtype))
      d->folds[n->out[0]][a->axes.v[k]] = r->size;
  }
}

static void find_masks(demand *d) {
  for (size_t v = 0; v < d->g->values.n; v++) {
    d->masks[v].axis = -1;
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
      d->masks[n->out[0]] = mask_in(d, n, e, e->results[0], type(d, n->out[0])->rank);
  }
}

/* ---- needs ----------------------------------------------------------------------------------- */

/* The smallest that a size can be. */
static int64_t least_of(const demand *d, wk_value_id size) {
  const wk_module *m = d->g->module;
  int64_t least = 0;
  for (size_t i = 0; i < m->open_axes.n; i++) {
    const wk_open_axis *a = &m->open_axes.data[i];
    bool is_it = !a->is_output && !strcmp(a->size, wk_val(d->g, size)->name);
    if (is_it && a->least > least) least = a->least;
  }
  return least;
}

/* Axis k of `to` is needed for what axis i of `of` is, too. */
static void join(const demand *d, wk_need *to, int k, const wk_need *of, int i) {
  wk_value_id a = to->below[k], b = of->below[i];
  int64_t few = a == FEW ? to->few[k] : of->few[i];
  if (b == UNKNOWN) return;
  if (a == FEW && b == FEW) {
    if (of->few[i] > to->few[k]) to->few[k] = of->few[i];
  } else if (a == UNKNOWN) {
    to->below[k] = b;
    to->few[k] = of->few[i];
  } else if (a == FEW || b == FEW) {
    wk_value_id size = a == FEW ? b : a;
    to->below[k] = size != WK_NONE && few <= least_of(d, size) ? size : WK_NONE;
  } else if (a != b) {
    to->below[k] = WK_NONE;
  }
}

static wk_need unknown(void) {
  wk_need n = {{0}, {0}};
  for (int i = 0; i < WK_MAX_RANK; i++) n.below[i] = UNKNOWN;
  return n;
}

static const wk_need all = {.below = {WK_NONE, WK_NONE, WK_NONE, WK_NONE, WK_NONE, WK_NONE,
                                      WK_NONE, WK_NONE}};

static void need(demand *d, wk_value_id v, int axis, const wk_need *of, int i) {
  if (v != WK_NONE) join(d, &d->needs[v], axis, of, i);
}

static void need_few(demand *d, wk_value_id v, int axis, int64_t few) {
  const wk_need of = {.below = {FEW}, .few = {few}};
  need(d, v, axis, &of, 0);
}

/* size WK_NONE: all. */
static void need_below(demand *d, wk_value_id v, int axis, wk_value_id size) {
  const wk_need of = {.below = {size}};
  need(d, v, axis, &of, 0);
}

static void need_all(demand *d, wk_value_id v) {
  for (int i = 0; v != WK_NONE && i < type(d, v)->rank; i++) need(d, v, i, &all, i);
}

/* v broadcasts to what is needed so. */
static void need_broadcast(demand *d, wk_value_id v, const wk_need *of, int rank) {
  if (v == WK_NONE) return;
  const wk_type *t = type(d, v);
  for (int i = 0; i < t->rank; i++) need(d, v, i, of, i + rank - t->rank);
}

/* What the results of a map are needed for together. */
static wk_need need_of_results(const demand *d, const wk_node *n) {
  wk_need of = unknown();
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (n->out[k] == WK_NONE) continue;
    for (int i = 0; i < type(d, n->out[k])->rank; i++) join(d, &of, i, &d->needs[n->out[k]], i);
  }
  return of;
}

/* One visit of an expression's nodes from the results: what each is needed for, which selects
 * narrow. Arguments come before their users. */
static void need_through(demand *d, const wk_node *n, const wk_expr *e, const wk_need *of,
                         int rank) {
  wk_need *needs = wk_arena_alloc(d->a, e->n * sizeof *needs);
  for (uint32_t k = 0; k < e->n; k++) needs[k] = unknown();
  for (uint32_t r = 0; r < e->n_results; r++) needs[e->results[r]] = *of;
  for (uint32_t k = e->n; k-- > 0;) {
    const wk_expr_node *x = &e->nodes[k];
    if (x->op == WK_EX_INPUT) need_broadcast(d, n->in[x->imm.i], &needs[k], rank);
    for (int j = 0; j < wk_expr_op_arity(x->op); j++) {
      wk_need own = needs[k];
      mask m = {.axis = -1};
      if (x->op == WK_EX_SELECT && j == 1) m = mask_in(d, n, e, x->arg[0], rank);
      if (m.axis >= 0 && m.axis < rank) own.below[m.axis] = m.size;
      for (int i = 0; i < rank; i++) join(d, &needs[x->arg[j]], i, &own, i);
    }
  }
}

static void through_map(demand *d, const wk_node *n) {
  const wk_need of = need_of_results(d, n);
  const wk_expr *e = WK_ATTR(n, map)->body;
  int rank = type(d, n->out[0])->rank;
  if (e) need_through(d, n, e, &of, rank);
  else need_broadcast(d, n->in[0], &of, rank);
}

/* Along axes that are folded what changes something; along others what the result needs. */
static void through_reduce(demand *d, const wk_node *n) {
  const wk_attr_reduce *a = WK_ATTR(n, reduce);
  wk_need of = all;
  int rank = 0, next = 0, k = 0;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != WK_NONE && type(d, n->in[i])->rank > rank) rank = type(d, n->in[i])->rank;
  for (int i = 0; i < rank; i++) {
    bool folds = k < a->axes.n && a->axes.v[k] == i;
    if (folds) {
      of.below[i] = d->folds[n->out[0]][i];
    } else {
      of.below[i] = d->needs[n->out[0]].below[a->keepdims ? i : next];
      of.few[i] = d->needs[n->out[0]].few[a->keepdims ? i : next];
    }
    if (folds) k++;
    else next++;
  }
  if (a->pre) need_through(d, n, a->pre, &of, rank);
  else need_broadcast(d, n->in[0], &of, rank);
}

static void through_matmul(demand *d, const wk_node *n) {
  const wk_need *of = &d->needs[n->out[0]];
  int rank = type(d, n->out[0])->rank;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE) continue;
    wk_need own = *of;
    if (k == 0) own.below[rank - 1] = WK_NONE; /* what is summed up */
    if (k == 1) own.below[rank - 2] = WK_NONE;
    if (k == 2) need_all(d, n->in[k]);
    else need_broadcast(d, n->in[k], &own, rank);
  }
}

static void through_reshape(demand *d, const wk_node *n) {
  const wk_type *x = type(d, n->in[0]), *y = type(d, n->out[0]);
  for (int i = 0; i < x->rank; i++) {
    int axis = same_axis(x, y, i);
    need(d, n->in[0], i, axis < 0 ? &all : &d->needs[n->out[0]], axis < 0 ? i : axis);
  }
}

static void through_transpose(demand *d, const wk_node *n) {
  const wk_attr_transpose *a = WK_ATTR(n, transpose);
  for (int i = 0; i < type(d, n->out[0])->rank; i++)
    need(d, n->in[0], (int)a->perm.v[i], &d->needs[n->out[0]], i);
}

static void through_slice(demand *d, const wk_node *n) {
  const wk_attr_slice *a = WK_ATTR(n, slice);
  for (int i = 0; i < type(d, n->out[0])->rank; i++) {
    int64_t last = a->starts.v[i] + (a->sizes.v[i] - 1) * a->steps.v[i];
    int64_t end = 1 + (last > a->starts.v[i] ? last : a->starts.v[i]);
    bool from_start = a->starts.v[i] == 0 && a->steps.v[i] == 1;
    bool is_open = from_start && d->needs[n->out[0]].below[i] < FEW;
    if (is_open || end == type(d, n->in[0])->dims[i])
      need(d, n->in[0], i, from_start ? &d->needs[n->out[0]] : &all, i);
    else need_few(d, n->in[0], i, end);
  }
}

static void along(demand *d, const wk_node *n, int64_t axis) {
  const wk_need of = need_of_results(d, n);
  for (uint32_t k = 0; k < n->n_in; k++)
    for (int i = 0; n->in[k] != WK_NONE && i < type(d, n->in[k])->rank; i++)
      need(d, n->in[k], i, i == axis ? &all : &of, i);
}

/* Of constant positions; those that are counted from the end need all. */
static int64_t largest(const demand *d, wk_value_id v) {
  const wk_type *t = type(d, v);
  int64_t most = 0;
  for (int64_t i = 0; i < wk_type_count(t); i++) {
    int64_t at = wk_load_i64(wk_val(d->g, v)->data, t->dtype, i);
    if (at < 0) return INT64_MAX - 1;
    if (at > most) most = at;
  }
  return most;
}

/* ---- positions ------------------------------------------------------------------------------- */

static const wk_expr *body_of(const demand *d, wk_value_id v) {
  const wk_value *x = wk_val(d->g, v);
  const wk_node *n = x->kind == WK_VALUE_NODE ? wk_nod(d->g, x->node) : NULL;
  return n && n->op == WK_OP_MAP && n->n_out == 1 ? WK_ATTR(n, map)->body : NULL;
}

static const wk_node *maker(const demand *d, wk_value_id v) {
  return wk_nod(d->g, wk_val(d->g, v)->node);
}

/* The size that node k of the expression of n is one less than; WK_NONE: none. */
static wk_value_id one_above(const demand *d, const wk_node *n, const wk_expr *e, uint16_t k) {
  const wk_expr_node *x = &e->nodes[k];
  if (x->op == WK_EX_INPUT) {
    wk_value_id v = n->in[x->imm.i];
    const wk_expr *body = body_of(d, v);
    return body ? one_above(d, maker(d, v), body, body->results[0]) : WK_NONE;
  }
  if (x->op != WK_EX_ADD && x->op != WK_EX_SUB) return WK_NONE;
  const wk_expr_node *size = &e->nodes[x->arg[0]], *one = &e->nodes[x->arg[1]];
  if (x->op == WK_EX_ADD && size->op == WK_EX_CONST) {
    const wk_expr_node *swap = size;
    size = one;
    one = swap;
  }
  bool is_one = one->op == WK_EX_CONST && one->imm.i == (x->op == WK_EX_ADD ? -1 : 1);
  wk_value_id v = is_one && size->op == WK_EX_INPUT ? n->in[size->imm.i] : WK_NONE;
  return v != WK_NONE && is_size(d, v) ? v : WK_NONE;
}

static bool is_zero(const wk_expr_node *x) { return x->op == WK_EX_CONST && x->imm.i == 0; }

/* The size that all of v are below, since it is one at least and they are the smaller of something
 * and of one less, or 0; WK_NONE: none is known. Positions that count from the end are none of
 * these. */
static wk_value_id all_below(const demand *d, wk_value_id v) {
  while (wk_val(d->g, v)->kind == WK_VALUE_NODE && !body_of(d, v) &&
         wk_op_get(maker(d, v)->op)->cls == WK_CLASS_MOVEMENT && maker(d, v)->n_in == 1)
    v = maker(d, v)->in[0];
  const wk_expr *e = body_of(d, v);
  const wk_expr_node *x = e ? &e->nodes[e->results[0]] : NULL;
  if (x && x->op == WK_EX_MAX && is_zero(&e->nodes[x->arg[1]])) x = &e->nodes[x->arg[0]];
  if (!x || x->op != WK_EX_MIN) return WK_NONE;
  for (int i = 0; i < 2; i++) {
    const wk_expr_node *other = &e->nodes[x->arg[1 - i]];
    wk_value_id size = one_above(d, maker(d, v), e, x->arg[i]);
    bool counts = other->op == WK_EX_INPUT &&
                  counting_axis(d, maker(d, v)->in[other->imm.i]) >= 0;
    if (counts && size != WK_NONE && least_of(d, size) >= 1) return size;
  }
  return WK_NONE;
}

/* Rows of a table by positions, all of which are looked at. */
static void through_gather(demand *d, const wk_node *n) {
  int axis = (int)WK_ATTR(n, gather)->axis, more = type(d, n->in[1])->rank - 1;
  for (int i = 0; i < type(d, n->in[0])->rank; i++)
    if (i != axis) need(d, n->in[0], i, &d->needs[n->out[0]], i < axis ? i : i + more);
  if (wk_is_const(d->g, n->in[1])) need_few(d, n->in[0], axis, 1 + largest(d, n->in[1]));
  else need_below(d, n->in[0], axis, all_below(d, n->in[1]));
  need_all(d, n->in[1]);
}

static void through(demand *d, const wk_node *n) {
  switch (n->op) {
    case WK_OP_MAP: through_map(d, n); break;
    case WK_OP_REDUCE: through_reduce(d, n); break;
    case WK_OP_MATMUL: through_matmul(d, n); break;
    case WK_OP_RESHAPE: through_reshape(d, n); break;
    case WK_OP_TRANSPOSE: through_transpose(d, n); break;
    case WK_OP_SLICE: through_slice(d, n); break;
    case WK_OP_GATHER: through_gather(d, n); break;
    case WK_OP_CONCAT: along(d, n, WK_ATTR(n, concat)->axis); break;
    case WK_OP_SPLIT: along(d, n, WK_ATTR(n, split)->axis); break;
    case WK_OP_EXPAND:
      need_broadcast(d, n->in[0], &d->needs[n->out[0]], type(d, n->out[0])->rank);
      break;
    default:
      for (uint32_t k = 0; k < n->n_in; k++) need_all(d, n->in[k]);
  }
  if (n->predicate != WK_NONE) need_all(d, n->predicate);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The scalar that has the size of an axis of an output. */
static wk_value_id size_of(const wk_graph *g, const wk_open_axis *a) {
  for (size_t i = 0; a->size_is_output && i < wk_graph_plain_outputs(g); i++)
    if (!strcmp(g->output_names.data[i], a->size)) return g->outputs.data[i];
  for (size_t i = 0; !a->size_is_output && i < wk_graph_plain_inputs(g); i++)
    if (!strcmp(wk_val(g, g->inputs.data[i])->name, a->size)) return g->inputs.data[i];
  return WK_NONE;
}

static void need_outputs(demand *d) {
  const wk_graph *g = d->g;
  size_t plain = wk_graph_plain_outputs(g);
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_need of = all;
    for (size_t k = 0; i < plain && k < g->module->open_axes.n; k++) {
      const wk_open_axis *a = &g->module->open_axes.data[k];
      if (a->is_output && !strcmp(a->tensor, g->output_names.data[i]))
        of.below[a->axis] = size_of(g, a);
    }
    need_broadcast(d, g->outputs.data[i], &of, type(d, g->outputs.data[i])->rank);
  }
}

/* Some operand of some node may be limited by what a run decides. */
static bool has_sizes(const demand *d) {
  for (size_t v = 0; v < d->g->values.n; v++)
    if (d->masks[v].axis >= 0) return true;
  return d->g->module->open_axes.n > 0;
}

wk_demand *wk_demand_find(const wk_graph *g, wk_arena *a) {
  if (g != g->module->main) return NULL;
  demand d = {.g = g, .a = a, .needs = wk_arena_alloc(a, g->values.n * sizeof *d.needs),
              .masks = wk_arena_alloc(a, g->values.n * sizeof *d.masks),
              .rests = wk_arena_alloc(a, g->values.n * sizeof *d.rests),
              .folds = wk_arena_alloc(a, g->values.n * sizeof *d.folds)};
  find_masks(&d);
  if (!has_sizes(&d)) return NULL;
  wk_demand *out = wk_arena_alloc(a, g->values.n * sizeof *out);
  for (size_t v = 0; v < g->values.n; v++) d.needs[v] = unknown();
  need_outputs(&d);
  for (size_t i = g->nodes.n; i-- > 0;) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (!n->dead) through(&d, n);
  }
  for (size_t v = 0; v < g->values.n; v++)
    for (int i = 0; i < WK_MAX_RANK; i++) {
      const rest *r = &d.rests[v][i];
      bool is_zero = wk_dtype_is_float(type(&d, (wk_value_id)v)->dtype) ? r->number.f == 0
                                                                       : r->number.i == 0;
      if (d.needs[v].below[i] >= FEW) d.needs[v].below[i] = WK_NONE;
      out[v].zero[i] = r->size != WK_NONE && is_zero ? r->size : WK_NONE;
      out[v].fold[i] = d.folds[v][i];
    }
  for (size_t v = 0; v < g->values.n; v++) out[v].need = d.needs[v];
  return out;
}
