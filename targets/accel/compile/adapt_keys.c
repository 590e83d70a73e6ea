/* SPDX-License-Identifier: Apache-2.0
 * Attention over a cache, of which a run has filled some. What goes along the keys, from the
 * product of queries and keys to that of probabilities and values, is there for every so many keys,
 * and a run takes the one that has as many as it has filled:
 *
 *   attention(q, k, v, mask)  ->  if filled <= 64: attention(q, k[..64], v[..64], mask[..64])
 *                                 else if filled <= 128: …
 *
 * The results are the same, since masked keys have no part in them. The branches are a tree. */
#include <stdlib.h>
#include <string.h>

#include "compiler/lower/build.h"
#include "targets/accel/compile/adapt.h"
#include "targets/accel/compile/filled.h"
#include "targets/accel/compile/net.h"

enum { NO_AXIS = -1, MOST_REGION = 64, MOST_OPERANDS = 8 };

/* Nodes between the two products, and what they read from outside. */
typedef struct {
  wk_graph *g;
  wk_arena *arena;
  wk_node_id last;   /* the product of probabilities and values */
  int64_t keys;      /* of the whole cache */
  int *axis;         /* per value of g: of the keys; NO_AXIS: none */
  bool *inside;      /* per node */
  size_t n_inside;
  wk_node_id softmax; /* WK_NONE: none yet */
  bool has_scores;    /* the product of queries and keys */
  WK_VEC(wk_value_id) outside;
  WK_VEC(wk_node_id) maxima; /* along the keys */
  wk_accel_filled filled;
} region;

static const wk_type *type_of(const region *x, wk_value_id v) { return &wk_val(x->g, v)->type; }

static bool is_outside(const region *x, wk_value_id v) {
  bool has = false;
  for (size_t i = 0; i < x->outside.n; i++) has = has || x->outside.data[i] == v;
  return has;
}

static void add_outside(region *x, wk_value_id v) {
  if (!is_outside(x, v)) wk_vec_push(&x->outside, v);
}

static bool add_keyed(region *x, wk_value_id v, int axis);

static void add_inside(region *x, const wk_node *n) {
  bool *is = &x->inside[n - x->g->nodes.data];
  x->n_inside += !*is;
  *is = true;
}

/* The greatest score of a row, say: of what goes along the keys, but not along them itself. */
static bool add_unkeyed(region *x, wk_value_id v) {
  const wk_value *y = wk_val(x->g, v);
  const wk_node *n = y->kind == WK_VALUE_NODE ? wk_nod(x->g, y->node) : NULL;
  if (x->axis[v] != NO_AXIS) return false; /* somewhere else its keys are counted */
  if (!n || n->op != WK_OP_REDUCE_MAX || WK_ATTR(n, reduce_max)->axes.n != 1)
    return add_outside(x, v), true;
  int axis = (int)WK_ATTR(n, reduce_max)->axes.v[0];
  if (type_of(x, n->in[0])->dims[axis] != x->keys) return add_outside(x, v), true;
  if (!x->inside[y->node]) wk_vec_push(&x->maxima, y->node);
  add_inside(x, n);
  return add_keyed(x, n->in[0], axis);
}

static bool add_operands(region *x, const wk_node *n, int axis) {
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (n->in[k] == WK_NONE) continue;
    const wk_type *t = type_of(x, n->in[k]);
    int at = axis - type_of(x, n->out[0])->rank + t->rank;
    bool is_keyed = at >= 0 && t->dims[at] == x->keys;
    if (!(is_keyed ? add_keyed(x, n->in[k], at) : add_unkeyed(x, n->in[k]))) return false;
  }
  return true;
}

/* Queries and keys. */
static bool add_scores(region *x, const wk_node *n, int axis) {
  int last = type_of(x, n->out[0])->rank - 1;
  if (axis != last || n->n_in != 2) return false;
  x->has_scores = true;
  return add_unkeyed(x, n->in[0]) && add_keyed(x, n->in[1], type_of(x, n->in[1])->rank - 1);
}

static bool is_made_here(const region *x, const wk_node *n) {
  bool moves = n->op == WK_OP_RESHAPE || n->op == WK_OP_TRANSPOSE || n->op == WK_OP_EXPAND;
  bool computes = n->op == WK_OP_MAP || n->op == WK_OP_GATHER || n->op == WK_OP_INTEGER_SOFTMAX ||
                  n->op == WK_OP_INTEGER_MATMUL;
  bool are_bytes = n->n_in <= MOST_OPERANDS;
  for (uint32_t k = 0; k < n->n_in; k++)
    are_bytes = are_bytes && wk_accel_is_8_bit(type_of(x, n->in[k])->dtype);
  return (moves || computes) && are_bytes && n->predicate == WK_NONE && n->n_out == 1;
}

static bool add_made(region *x, const wk_node *n, int axis) {
  add_inside(x, n);
  if (x->n_inside > MOST_REGION) return false;
  switch (n->op) {
    case WK_OP_MAP: return add_operands(x, n, axis);
    case WK_OP_GATHER: /* a table */
      return wk_is_const(x->g, n->in[0]) && type_of(x, n->in[0])->rank == 1 &&
             add_unkeyed(x, n->in[0]) && add_keyed(x, n->in[1], axis);
    case WK_OP_INTEGER_SOFTMAX:
      if (WK_ATTR(n, integer_softmax)->axis != axis || x->softmax != WK_NONE) return false;
      x->softmax = (wk_node_id)(n - x->g->nodes.data);
      return add_keyed(x, n->in[0], axis);
    case WK_OP_INTEGER_MATMUL: return add_scores(x, n, axis);
    default: {
      int before = wk_accel_axis_before(x->g, n, axis);
      return before >= 0 && add_keyed(x, n->in[0], before);
    }
  }
}

static bool add_keyed(region *x, wk_value_id v, int axis) {
  if (x->axis[v] != NO_AXIS) return x->axis[v] == axis;
  const wk_value *y = wk_val(x->g, v);
  if (is_outside(x, v) || (y->kind == WK_VALUE_NODE && x->inside[y->node])) return false;
  x->axis[v] = axis;
  bool is_node = y->kind == WK_VALUE_NODE && !wk_is_update(x->g, v);
  if (is_node && is_made_here(x, wk_nod(x->g, y->node)))
    return add_made(x, wk_nod(x->g, y->node), axis);
  return add_outside(x, v), true;
}

/* ---- what must hold -------------------------------------------------------------------------- */

/* Nobody else reads what is computed in between. */
static bool is_closed(const region *x) {
  const wk_graph *g = x->g;
  wk_uses uses = wk_graph_uses(g, x->arena);
  for (size_t i = 0; i < g->nodes.n; i++) {
    if (!x->inside[i] || i == x->last) continue;
    wk_value_id v = g->nodes.data[i].out[0];
    for (uint32_t k = uses.first[v]; k < uses.first[v + 1]; k++) {
      wk_node_id user = uses.uses[k].node;
      if (user == WK_NONE || !x->inside[user]) return false;
    }
  }
  return true;
}

/* A cache is among what is read, and as many keys of everything. */
static bool reads_cache(const region *x) {
  bool any = false;
  for (size_t i = 0; i < x->outside.n; i++) {
    wk_value_id v = x->outside.data[i];
    any = any || (x->axis[v] != NO_AXIS && wk_is_update(x->g, v));
  }
  return any;
}

/* From the same position on v is the least of its type as probabilities are. */
static bool is_masked(const region *x, wk_value_id v) {
  wk_accel_filled f;
  return wk_accel_filled_of(x->g, v, x->axis[v], &f) && f.bound == x->filled.bound &&
         f.more == x->filled.more;
}

/* Masked keys are as far below the greatest score as there is, count nothing in the softmax, and
 * have probability 0 (compiler/integer/softmax.c); nor does any other maximum see them. */
static bool masks_rest(region *x) {
  const wk_node *n = wk_nod(x->g, x->last), *s = wk_nod(x->g, x->softmax);
  const wk_type *p = type_of(x, n->in[0]);
  int64_t least = p->dtype == WK_I8 ? INT8_MIN : 0;
  bool are_masked = WK_ATTR(s, integer_softmax)->far == UINT8_MAX &&
                    WK_ATTR(n, integer_matmul)->a_zero == least &&
                    wk_accel_filled_of(x->g, n->in[0], p->rank - 1, &x->filled) &&
                    is_masked(x, s->in[0]);
  for (size_t i = 0; i < x->maxima.n && are_masked; i++)
    are_masked = is_masked(x, wk_nod(x->g, x->maxima.data[i])->in[0]);
  return are_masked;
}

static bool find(region *x) {
  const wk_node *n = wk_nod(x->g, x->last);
  if (n->op != WK_OP_INTEGER_MATMUL || n->n_in != 2 || n->predicate != WK_NONE) return false;
  const int rank = type_of(x, n->in[0])->rank, other = type_of(x, n->in[1])->rank;
  if (rank < 2 || other < 2) return false;
  x->keys = type_of(x, n->in[0])->dims[rank - 1];
  x->softmax = WK_NONE;
  add_inside(x, n);
  return x->keys > 1 && add_keyed(x, n->in[0], rank - 1) && add_keyed(x, n->in[1], other - 2) &&
         x->softmax != WK_NONE && x->has_scores && reads_cache(x) && is_closed(x) && masks_rest(x);
}

/* ---- a branch for so many keys --------------------------------------------------------------- */

typedef struct {
  const region *x;
  wk_low to;
  int64_t keys;
  wk_value_id *id; /* of x->g's values in to.g */
} branch;

/* The keys that come first, of v of the branch. */
static wk_value_id first_keys(branch *b, wk_value_id v, int axis) {
  bool is_all = axis == NO_AXIS || b->keys == wk_low_type(&b->to, v)->dims[axis];
  return is_all ? v : wk_low_slice(&b->to, v, axis, 0, b->keys, 1);
}

/* Attributes that have the shape of the result. */
static void *attrs_of(branch *b, const wk_node *n) {
  void *attrs = wk_attrs_clone(b->to.arena, n->op, n->attrs);
  int axis = b->x->axis[n->out[0]];
  wk_ints *shape = n->op == WK_OP_RESHAPE  ? &((wk_attr_reshape *)attrs)->shape
                   : n->op == WK_OP_EXPAND ? &((wk_attr_expand *)attrs)->shape
                                           : NULL;
  if (!shape || axis == NO_AXIS) return attrs;
  ((int64_t *)(uintptr_t)shape->v)[axis] = b->keys;
  return attrs;
}

static void copy_nodes(branch *b) {
  const region *x = b->x;
  for (size_t i = 0; i <= x->last; i++) {
    const wk_node *n = wk_nod(x->g, (wk_node_id)i);
    wk_value_id in[MOST_OPERANDS];
    if (!x->inside[i] || b->to.status) continue;
    for (uint32_t k = 0; k < n->n_in; k++) in[k] = b->id[n->in[k]];
    b->to.name = n->name;
    b->id[n->out[0]] = wk_low_add(&b->to, n->op, attrs_of(b, n), in, n->n_in, 1, NULL);
  }
}

/* in: what the region reads from outside, in its order, constants included. */
static wk_status build(const region *x, wk_graph *to, const wk_value_id *in, int64_t keys,
                       wk_value_id *out) {
  branch b = {.x = x, .keys = keys,
              .to = {.g = to, .arena = to->module->arena, .name = wk_nod(x->g, x->last)->name},
              .id = wk_arena_alloc(x->arena, x->g->values.n * sizeof *b.id)};
  for (size_t i = 0; i < x->outside.n && !b.to.status; i++) {
    wk_value_id v = x->outside.data[i];
    b.id[v] = first_keys(&b, in[i], x->axis[v]);
  }
  copy_nodes(&b);
  *out = b.id[wk_nod(x->g, x->last)->out[0]];
  return b.to.status;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* What a graph of the tree has of the outside, and how far keys are filled (count_filled). */
typedef struct {
  wk_graph *g;
  wk_value_id *in; /* parallel to region.outside */
  wk_value_id filled;
} scope;

typedef struct {
  const region *x;
  int64_t step;
  const char *name;
} tree;

static int64_t keys_at(const tree *t, int64_t i) {
  int64_t keys = (i + 1) * t->step;
  return keys < t->x->keys ? keys : t->x->keys;
}

static wk_status grow(const tree *t, const scope *s, int64_t first, int64_t last,
                      wk_value_id *out);

/* A body with inputs for everything but constants, which it has itself. */
static wk_status body_of(const tree *t, const scope *around, int64_t first, int64_t last,
                         wk_graph **out) {
  const region *x = t->x;
  wk_graph *g = wk_graph_new(x->g->module, t->name);
  scope s = {g, wk_arena_alloc(x->arena, x->outside.n * sizeof *s.in), WK_NONE};
  for (size_t i = 0; i < x->outside.n; i++) {
    const wk_value *v = wk_val(around->g, around->in[i]);
    s.in[i] = v->kind == WK_VALUE_CONSTANT
                  ? wk_graph_constant(g, v->name, &v->type, v->data)
                  : wk_graph_input(g, v->name, &v->type);
  }
  const wk_value *filled = wk_val(around->g, around->filled);
  s.filled = wk_graph_input(g, filled->name, &filled->type);
  wk_value_id y;
  WK_TRY(grow(t, &s, first, last, &y));
  wk_graph_output(g, NULL, y);
  *out = g;
  return NULL;
}

static wk_status add_branches(const tree *t, const scope *s, int64_t keys, wk_graph **bodies,
                              wk_value_id *out) {
  wk_graph *g = s->g;
  const double bound = (double)(keys - t->x->filled.more);
  const wk_value_id compared[] = {s->filled, wk_graph_scalar(g, WK_I64, bound)};
  wk_value_id *in = wk_arena_alloc(t->x->arena, (t->x->outside.n + 2) * sizeof *in);
  uint32_t n = 1;
  WK_TRY(wk_graph_add(g, &(wk_node_desc){.op = WK_OP_LESS_EQUAL, .name = t->name, .in = compared,
                                         .n_in = 2}, &in[0]));
  for (size_t i = 0; i < t->x->outside.n; i++)
    if (!wk_is_const(g, s->in[i])) in[n++] = s->in[i];
  in[n++] = s->filled;
  return wk_graph_add(g, &(wk_node_desc){.op = WK_OP_IF, .name = t->name, .in = in, .n_in = n,
                                         .bodies = bodies, .n_bodies = 2}, out);
}

/* Branches first to last, of which half are tried first. */
static wk_status grow(const tree *t, const scope *s, int64_t first, int64_t last,
                      wk_value_id *out) {
  if (first == last) return build(t->x, s->g, s->in, keys_at(t, first), out);
  int64_t middle = (first + last) / 2;
  wk_graph *bodies[2];
  WK_TRY(body_of(t, s, first, middle, &bodies[0]));
  WK_TRY(body_of(t, s, middle + 1, last, &bodies[1]));
  return add_branches(t, s, keys_at(t, middle), bodies, out);
}

/* `more` less than the number of keys that are filled, i64[]: no sum that could wrap. */
static wk_status count_filled(const region *x, wk_value_id *out) {
  wk_low l = {.g = x->g, .arena = x->g->module->arena, .name = wk_nod(x->g, x->last)->name};
  wk_value_id v = x->filled.bound;
  const int rank = wk_low_type(&l, v)->rank;
  int64_t axes[WK_MAX_RANK];
  for (int i = 0; i < rank; i++) axes[i] = i;
  if (rank) {
    wk_attr_reduce_max *most = wk_attrs_new(l.arena, WK_OP_REDUCE_MAX);
    most->axes = wk_ints_dup(l.arena, axes, rank);
    most->keepdims = 0;
    v = wk_low_add(&l, WK_OP_REDUCE_MAX, most, &v, 1, 1, NULL);
  }
  *out = v;
  return l.status;
}

static wk_status plant(const region *x, int64_t step) {
  wk_value_id y, old = wk_nod(x->g, x->last)->out[0];
  const tree t = {x, step, wk_nod(x->g, x->last)->name};
  scope s = {x->g, x->outside.data, WK_NONE};
  WK_TRY(count_filled(x, &s.filled));
  WK_TRY(grow(&t, &s, 0, wk_ceil_div(x->keys, step) - 1, &y));
  wk_graph_replace(x->g, old, y);
  for (size_t i = x->last + 1; i-- > 0;)
    if (x->inside[i]) wk_node_remove(x->g, (wk_node_id)i);
  return NULL;
}

wk_status wk_accel_take_filled(wk_graph *g, wk_pass_ctx *c) {
  const int64_t step = *(const int64_t *)c->data;
  const size_t n = g->nodes.n; /* those of branches come behind */
  for (size_t i = 0; i < n && g == g->module->main && step > 0; i++) {
    const wk_node *node = wk_nod(g, (wk_node_id)i);
    if (node->dead || node->op != WK_OP_INTEGER_MATMUL) continue;
    wk_arena *a = wk_arena_new();
    region x = {.g = g, .arena = a, .last = (wk_node_id)i,
                .axis = wk_arena_alloc(a, g->values.n * sizeof *x.axis),
                .inside = wk_arena_alloc(a, g->nodes.n)};
    for (size_t v = 0; v < g->values.n; v++) x.axis[v] = NO_AXIS;
    wk_status s = NULL;
    if (find(&x) && x.keys > step) s = plant(&x, step), c->changes++;
    wk_vec_free(&x.outside);
    wk_vec_free(&x.maxima);
    wk_arena_free(a);
    if (s) return s;
  }
  return NULL;
}
