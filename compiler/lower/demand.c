/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/lower/demand.h"

#include <string.h>

#include "compiler/lower/demand_masks.h"

#define UNKNOWN (WK_NONE - 1) /* nobody has asked yet */
#define FEW (WK_NONE - 2)

typedef struct {
  const wk_graph *g;
  wk_arena *a;
  wk_need *needs;
  wk_masks m;
} demand;

static const wk_type *type(const demand *d, wk_value_id v) { return &wk_val(d->g, v)->type; }

bool wk_is_predicate(const wk_graph *g, wk_value_id v) {
  return wk_val(g, v)->type.dtype == WK_BOOL;
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
    to->span[k] = of->span[i];
    to->second[k] = of->second[i];
  } else if (a == FEW || b == FEW) {
    wk_value_id size = a == FEW ? b : a;
    to->below[k] = size != WK_NONE && few <= least_of(d, size) ? size : WK_NONE;
    to->span[k] = 0;
  } else if (a != b || to->span[k] != of->span[i] ||
             (to->span[k] == 2 && to->second[k] != of->second[i])) {
    to->below[k] = WK_NONE;
    to->span[k] = 0;
  }
}

static wk_need unknown(void) {
  wk_need n = {{0}, {0}, {0}, {0}};
  for (int i = 0; i < WK_MAX_RANK; i++) n.below[i] = UNKNOWN;
  return n;
}

static const wk_need all = {.below = {WK_NONE, WK_NONE, WK_NONE, WK_NONE, WK_NONE, WK_NONE,
                                      WK_NONE, WK_NONE}};

/* Number k of the axes of a predicate from this one on. */
static int axis_of(const wk_need *of, int axis, int k) {
  return k == 1 && of->span[axis] == 2 ? of->second[axis] : axis + k;
}

/* The predicate at `axis` of `of` goes along these axes of v. */
static bool goes_along(const demand *d, wk_value_id v, const wk_need *of, int axis) {
  const wk_type *t = type(d, v);
  int64_t count = 1;
  for (int k = 0; k < of->span[axis]; k++) {
    int i = axis_of(of, axis, k);
    if (i >= t->rank || !wk_mul_ok(count, t->dims[i], &count)) return false;
  }
  return count == wk_type_count(type(d, of->below[axis]));
}

/* Predicates of several axes must have all of them where they were, as far from each other. */
static void need_span(demand *d, wk_value_id v, int axis, const wk_need *of, int i) {
  if (v == WK_NONE) return;
  wk_need own = all;
  own.below[axis] = of->below[i], own.few[axis] = of->few[i], own.span[axis] = of->span[i];
  own.second[axis] = of->second[i] + axis - i;
  bool fits = !own.span[axis] || goes_along(d, v, &own, axis);
  join(d, &d->needs[v], axis, fits ? &own : &all, axis);
}

/* A predicate along two axes, which are others here. */
static void need_pair(demand *d, wk_value_id v, int first, int second, wk_value_id predicate) {
  wk_need own = all;
  if (first < 0) return;
  if (second > first) own.below[first] = predicate, own.span[first] = 2, own.second[first] = second;
  need_span(d, v, first, &own, first);
}

static void need(demand *d, wk_value_id v, int axis, const wk_need *of, int i) {
  if (of->span[i] > 1) of = &all;
  need_span(d, v, axis, of, i);
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
  for (int i = 0; i < t->rank; i++) need_span(d, v, i, of, i + rank - t->rank);
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

/* Below a size rather than where a predicate is true, which is no more than a licence. */
static void narrow(wk_need *of, const wk_mask *m) {
  if (m->span && of->below[m->axis] < FEW) return;
  of->below[m->axis] = m->size;
  of->span[m->axis] = m->span;
  of->second[m->axis] = m->axis + 1;
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
      wk_mask m = {.axis = -1};
      if (x->op == WK_EX_SELECT && j == 1) m = wk_mask_in(&d->m, n, e, x->arg[0], rank);
      if (m.axis >= 0 && m.axis < rank) narrow(&own, &m);
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

/* The axis of the result that an axis of the operand is, -1 if it is folded, and back. */
static void unfolded_axes(const wk_attr_reduce *a, int rank, int *from, int *to) {
  for (int i = 0, next = 0, k = 0; i < rank; i++) {
    bool folds = k < a->axes.n && a->axes.v[k] == i;
    from[i] = folds ? -1 : a->keepdims ? i : next;
    if (from[i] >= 0) to[from[i]] = i;
    else if (a->keepdims) to[i] = -1;
    if (folds) k++;
    else next++;
  }
}

/* Along axes that are folded what changes something; along others what the result needs. */
static void through_reduce(demand *d, const wk_node *n) {
  const wk_attr_reduce *a = WK_ATTR(n, reduce);
  const wk_need *y = &d->needs[n->out[0]];
  wk_need of = all;
  int rank = 0, from[WK_MAX_RANK], to[WK_MAX_RANK] = {0}; /* to: of an axis of the result */
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != WK_NONE && type(d, n->in[i])->rank > rank) rank = type(d, n->in[i])->rank;
  unfolded_axes(a, rank, from, to);
  for (int i = 0; i < rank; i++) {
    bool is_kept = from[i] >= 0;
    int second = is_kept && y->span[from[i]] == 2 ? to[y->second[from[i]]] : -1;
    if (!is_kept) of.below[i] = d->m.folds[n->out[0]][i];
    else if (y->span[from[i]] > 1 && second < 0) of.below[i] = WK_NONE;
    else of.below[i] = y->below[from[i]], of.few[i] = y->few[from[i]];
    if (of.below[i] != WK_NONE && is_kept) of.span[i] = y->span[from[i]];
    of.second[i] = second;
  }
  if (a->pre) need_through(d, n, a->pre, &of, rank);
  else need_broadcast(d, n->in[0], &of, rank);
}

/* All positions of an axis are needed, whatever goes along it. */
static void need_no_axis(wk_need *of, int axis) {
  for (int i = 0; i <= axis; i++) {
    bool goes_there = i == axis;
    for (int k = 1; k < of->span[i]; k++) goes_there = goes_there || axis_of(of, i, k) == axis;
    if (!goes_there) continue;
    of->below[i] = WK_NONE;
    of->span[i] = 0;
  }
}

static void through_matmul(demand *d, const wk_node *n) {
  const wk_need *of = &d->needs[n->out[0]];
  int rank = type(d, n->out[0])->rank;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE) continue;
    wk_need own = *of;
    if (k < 2) need_no_axis(&own, rank - 1 - (int)k); /* what is summed up */
    if (k == 2) need_all(d, n->in[k]);
    else need_broadcast(d, n->in[k], &own, rank);
  }
}

/* The axes of x, of which y is a reshape, that have the positions of `span` axes of y from `axis`
 * on, and nothing else. */
static bool same_axes(const wk_type *x, const wk_type *y, int axis, int span, int *from, int *n) {
  int64_t before = 1, count = 1, below = 1, along = 1;
  int k = 0;
  if (!wk_type_count(x)) return false;
  for (int i = 0; i < axis + span; i++) *(i < axis ? &before : &count) *= y->dims[i];
  while (k < x->rank && below < before) below *= x->dims[k++];
  if (below != before) return false;
  for (*from = k; k < x->rank && along < count;) along *= x->dims[k++];
  *n = k - *from;
  return along == count && *n > 0;
}

/* Predicates of results of a reshape; true: axis i of its operand is among theirs. */
static bool through_reshaped_predicate(demand *d, const wk_node *n, int i) {
  const wk_type *x = type(d, n->in[0]), *y = type(d, n->out[0]);
  const wk_need *of = &d->needs[n->out[0]];
  for (int k = 0, from, span; k < y->rank; k++) {
    if (of->span[k] == 2 && of->second[k] != k + 1) {
      int first = wk_same_axis(y, x, k), second = wk_same_axis(y, x, of->second[k]);
      if (first < 0 || second < 0 || (i != first && i != second)) continue;
      if (i == first) need_pair(d, n->in[0], first, second, of->below[k]);
      else need(d, n->in[0], i, &d->needs[n->out[0]], of->second[k]);
      return true;
    }
    if (!of->span[k] || !same_axes(x, y, k, of->span[k], &from, &span)) continue;
    if (i < from || i >= from + span) continue;
    wk_need own = all;
    if (i == from) own.below[0] = of->below[k], own.span[0] = span, own.second[0] = 1;
    need_span(d, n->in[0], i, &own, 0);
    return true;
  }
  return false;
}

static void through_reshape(demand *d, const wk_node *n) {
  const wk_type *x = type(d, n->in[0]), *y = type(d, n->out[0]);
  for (int i = 0; i < x->rank; i++) {
    int axis = wk_same_axis(x, y, i);
    if (through_reshaped_predicate(d, n, i)) continue;
    need(d, n->in[0], i, axis < 0 ? &all : &d->needs[n->out[0]], axis < 0 ? i : axis);
  }
}

static void through_transpose(demand *d, const wk_node *n) {
  const wk_attr_transpose *a = WK_ATTR(n, transpose);
  const wk_need *of = &d->needs[n->out[0]];
  for (int i = 0; i < type(d, n->out[0])->rank; i++) {
    int first = (int)a->perm.v[i], second = of->span[i] == 2 ? (int)a->perm.v[of->second[i]] : -1;
    if (second > first) need_pair(d, n->in[0], first, second, of->below[i]);
    else need(d, n->in[0], first, of, i);
  }
}

static void through_slice(demand *d, const wk_node *n) {
  const wk_attr_slice *a = WK_ATTR(n, slice);
  for (int i = 0; i < type(d, n->out[0])->rank; i++) {
    int64_t last = a->starts.v[i] + (a->sizes.v[i] - 1) * a->steps.v[i];
    int64_t end = 1 + (last > a->starts.v[i] ? last : a->starts.v[i]);
    bool from_start = a->starts.v[i] == 0 && a->steps.v[i] == 1;
    bool is_open = from_start && !d->needs[n->out[0]].span[i] && d->needs[n->out[0]].below[i] < FEW;
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
  const wk_node *n = wk_def(d->g, v);
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
  return v != WK_NONE && wk_is_size(&d->m, v) ? v : WK_NONE;
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
                  wk_counting_axis(d->g, maker(d, v)->in[other->imm.i]) >= 0;
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

/* ---- scatters -------------------------------------------------------------------------------- */

/* Updates whose positions, from a size on, lie behind what is needed of the result. */
static void through_scatter(demand *d, const wk_node *n, int axis) {
  wk_value_id at = n->in[1], updates = n->in[2];
  const wk_need *y = &d->needs[n->out[0]];
  bool has_spare = y->below[axis] == FEW && type(d, at)->dtype == WK_I64;
  need_all(d, n->in[0]);
  need_all(d, at);
  for (int i = 0; i < type(d, updates)->rank; i++) {
    const wk_rest *r = i < type(d, at)->rank ? &d->m.rests[at][i] : NULL;
    bool is_spared = has_spare && r && r->size != WK_NONE && r->number.i >= y->few[axis];
    need_below(d, updates, i, is_spared ? r->size : WK_NONE);
  }
}

static bool has_one_coordinate(const demand *d, const wk_node *n) {
  const wk_type *at = type(d, n->in[1]);
  return at->rank > 0 && at->dims[at->rank - 1] == 1;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Scanned along its first axis, as the loop goes. */
static bool scans_first(const wk_attr_loop *a, int64_t k) {
  return k >= 0 && k < a->n_scan && a->scan_axes.v[k] == 0;
}

/* Slice k of what is scanned is needed where a slice of predicate j is true: of the whole what is
 * needed where the whole predicate is. */
static bool through_slices(demand *d, const wk_node *n, const wk_demand *body, int64_t k) {
  const wk_attr_loop *a = WK_ATTR(n, loop);
  const wk_graph *b = n->bodies[0];
  wk_value_id whole = n->in[1 + a->n_state + k];
  const wk_need *of = &body[b->inputs.data[1 + a->n_state + k]].need;
  bool is_apart = of->span[0] == 2 && of->second[0] != 1;
  if (!scans_first(a, k) || !of->span[0] || is_apart) return false;
  for (int64_t j = 0; j < a->n_scan; j++) {
    wk_need own = all;
    if (of->below[0] != b->inputs.data[1 + a->n_state + j] || !scans_first(a, j) ||
        a->scan_reverse.v[j] != a->scan_reverse.v[k])
      continue;
    own.below[0] = n->in[1 + a->n_state + j];
    own.span[0] = 1 + of->span[0], own.second[0] = 1;
    wk_mask m = d->m.masks[own.below[0]];
    if (m.axis != 0 || m.size != own.below[0] || wk_is_const(d->g, own.below[0])) return false;
    for (int i = 0; i < type(d, whole)->rank; i++) need_span(d, whole, i, &own, i);
    return true;
  }
  return false;
}

static void through_loop(demand *d, const wk_node *n) {
  const wk_attr_loop *a = WK_ATTR(n, loop);
  const wk_demand *body = wk_demand_find(n->bodies[0], d->a);
  for (uint32_t k = 0; k < n->n_in; k++) {
    int64_t scan = (int64_t)k - 1 - a->n_state;
    if (scan >= 0 && scan < a->n_scan && body && through_slices(d, n, body, scan)) continue;
    need_all(d, n->in[k]);
  }
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
    case WK_OP_LOOP: through_loop(d, n); break;
    case WK_OP_SCATTER_ELEMENTS:
      through_scatter(d, n, (int)WK_ATTR(n, scatter_elements)->axis);
      break;
    case WK_OP_SCATTER_ND:
      if (has_one_coordinate(d, n)) through_scatter(d, n, 0);
      else for (uint32_t k = 0; k < n->n_in; k++) need_all(d, n->in[k]);
      break;
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
  bool is_main = g == g->module->main;
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_need of = all;
    for (size_t k = 0; is_main && i < plain && k < g->module->open_axes.n; k++) {
      const wk_open_axis *a = &g->module->open_axes.data[k];
      if (a->is_output && !strcmp(a->tensor, g->output_names.data[i]))
        of.below[a->axis] = size_of(g, a);
    }
    need_broadcast(d, g->outputs.data[i], &of, type(d, g->outputs.data[i])->rank);
  }
}

/* Some operand of some node may be limited by what a run decides. */
static bool has_sizes(const demand *d) {
  for (size_t v = 0; v < d->g->values.n; v++) {
    if (d->m.masks[v].axis >= 0) return true;
    for (int i = 0; i < type(d, (wk_value_id)v)->rank; i++)
      if (d->m.rests[v][i].size != WK_NONE) return true;
  }
  return d->g == d->g->module->main && d->g->module->open_axes.n > 0;
}

wk_demand *wk_demand_find(const wk_graph *g, wk_arena *a) {
  demand d = {.g = g, .a = a, .needs = wk_arena_alloc(a, g->values.n * sizeof *d.needs),
              .m = wk_masks_find(g, a)};
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
      const wk_rest *r = &d.m.rests[v][i];
      bool is_zero = wk_dtype_is_float(type(&d, (wk_value_id)v)->dtype) ? r->number.f == 0
                                                                       : r->number.i == 0;
      if (d.needs[v].below[i] >= FEW) d.needs[v].below[i] = WK_NONE, d.needs[v].span[i] = 0;
      out[v].zero[i] = r->size != WK_NONE && is_zero ? r->size : WK_NONE;
      out[v].fold[i] = d.m.folds[v][i];
    }
  for (size_t v = 0; v < g->values.n; v++) out[v].need = d.needs[v];
  return out;
}
