/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes/rewrite.h"

#include <stdlib.h>
#include <string.h>

/* Rewrites in one run: rules that chase each other end. */
#define BUDGET(nodes) (1000 + 8 * (nodes))

/* ---- uses ----------------------------------------------------------------------------------- */

static uint32_t *grown(wk_rewrite *r, const uint32_t *old, size_t cap) {
  uint32_t *v = wk_arena_alloc(r->c->scratch, cap * sizeof *v);
  if (r->n_values) memcpy(v, old, r->n_values * sizeof *v);
  return v;
}

static void grow_values(wk_rewrite *r) {
  size_t n = r->g->values.n, cap = n + n / 2 + 64;
  if (n <= r->n_values) return;
  r->uses = grown(r, r->uses, cap);
  r->first = grown(r, r->first, cap);
  r->n_values = cap;
}

static void add_use(wk_rewrite *r, wk_value_id v, wk_node_id node, uint32_t index) {
  if (v == WK_NONE) return;
  wk_use_cell cell = {node, index, r->first[v]};
  r->first[v] = (uint32_t)r->cells.n;
  wk_vec_push(&r->cells, cell);
  r->uses[v]++;
}

static void collect_uses(wk_rewrite *r) {
  const wk_graph *g = r->g;
  grow_values(r);
  wk_vec_push(&r->cells, (wk_use_cell){0}); /* number 0 ends lists */
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = &g->nodes.data[i];
    if (n->dead) continue;
    for (uint32_t k = 0; k < n->n_in; k++) add_use(r, n->in[k], (wk_node_id)i, k);
    add_use(r, n->predicate, (wk_node_id)i, n->n_in);
  }
  for (size_t i = 0; i < g->outputs.n; i++) add_use(r, g->outputs.data[i], WK_NONE, (uint32_t)i);
}

/* Where the cell's mention stands, NULL when its node is gone. */
static wk_value_id *place_of(wk_rewrite *r, const wk_use_cell *cell) {
  if (cell->node == WK_NONE) return &r->g->outputs.data[cell->index];
  wk_node *n = wk_nod(r->g, cell->node);
  if (n->dead) return NULL;
  return cell->index < n->n_in ? &n->in[cell->index] : &n->predicate;
}

/* Every mention of `from` becomes one of `to`; the cells move over. */
static void move_uses(wk_rewrite *r, wk_value_id from, wk_value_id to) {
  for (uint32_t i = r->first[from], next; i; i = next) {
    wk_use_cell *cell = &r->cells.data[i];
    wk_value_id *place = place_of(r, cell);
    next = cell->next;
    if (!place || *place != from) continue;
    *place = to;
    cell->next = r->first[to];
    r->first[to] = i;
  }
  r->first[from] = 0;
  r->uses[to] += r->uses[from];
  r->uses[from] = 0;
}

static bool is_unused(const wk_rewrite *r, const wk_node *n) {
  for (uint32_t k = 0; k < n->n_out; k++)
    if (n->out[k] != WK_NONE && r->uses[n->out[k]]) return false;
  return true;
}

/* Removes the node and, by a work list, those that nobody uses after it. */
static void remove_unused(wk_rewrite *r, wk_node_id id) {
  WK_VEC(wk_node_id) work = {0};
  wk_vec_push(&work, id);
  while (work.n) {
    wk_node_id at = work.data[--work.n];
    const wk_node *n = wk_nod(r->g, at);
    if (n->dead || !is_unused(r, n)) continue;
    wk_node_remove(r->g, at);
    for (uint32_t k = 0; k <= n->n_in; k++) {
      wk_value_id v = k < n->n_in ? n->in[k] : n->predicate;
      if (v == WK_NONE || --r->uses[v]) continue;
      if (wk_val(r->g, v)->kind == WK_VALUE_NODE) wk_vec_push(&work, wk_val(r->g, v)->node);
    }
  }
  wk_vec_free(&work);
}

static void drop_use(wk_rewrite *r, wk_value_id v) {
  if (--r->uses[v] == 0 && wk_val(r->g, v)->kind == WK_VALUE_NODE)
    remove_unused(r, wk_val(r->g, v)->node);
}

/* ---- asking --------------------------------------------------------------------------------- */

const wk_node *wk_made_by(const wk_rewrite *r, wk_value_id v, wk_op op) {
  const wk_node *n = wk_def_op(r->g, v, op);
  return n && n->out[0] == v && n->predicate == WK_NONE ? n : NULL;
}

const wk_node *wk_made_once_by(const wk_rewrite *r, wk_value_id v, wk_op op) {
  const wk_node *n = wk_made_by(r, v, op);
  return n && wk_once(r, v) ? n : NULL;
}

bool wk_known(const wk_rewrite *r, wk_value_id v) {
  return wk_is_const(r->g, v) && !wk_val(r->g, v)->is_public;
}

bool wk_is_splat(const wk_rewrite *r, wk_value_id v, double want) {
  double value;
  return wk_known(r, v) && wk_const_splat(r->g, v, &value) && value == want;
}

bool wk_is_movable(const wk_type *t) { return !t->quant || t->quant->axis < 0; }

bool wk_spans(const wk_rewrite *r, const wk_node *n, uint32_t k, const wk_type *instead,
              const wk_type *t) {
  wk_type all = {.dtype = t->dtype};
  for (uint32_t i = 0; i < n->n_in; i++) {
    wk_type both;
    wk_status s = wk_type_broadcast(&all, i == k ? instead : wk_type_of(r, n->in[i]), &both);
    if (s) {
      wk_status_free(s);
      return false;
    }
    all = both;
  }
  return wk_shape_equal(&all, t);
}

/* ---- building ------------------------------------------------------------------------------- */

wk_value_id wk_rewrite_add(wk_rewrite *r, wk_op op, void *attrs, uint32_t n_in,
                           const wk_value_id *in) {
  if (r->status) return WK_NONE;
  wk_node_desc d = {.op = op, .name = r->name, .attrs = attrs, .in = in, .n_in = n_in, .n_out = 1};
  wk_value_id out = WK_NONE;
  r->status = wk_graph_add(r->g, &d, &out);
  if (r->status) return WK_NONE;
  grow_values(r);
  for (uint32_t k = 0; k < n_in; k++) add_use(r, in[k], (wk_node_id)r->g->nodes.n - 1, k);
  return out;
}

wk_value_id wk_rewrite_like(wk_rewrite *r, const wk_node *like, void *attrs, uint32_t n_in,
                            const wk_value_id *in) {
  const wk_counted counted = like->counted; /* adding a node moves the array */
  wk_value_id y = wk_rewrite_add(r, like->op, attrs, n_in, in);
  if (y != WK_NONE) wk_nod(r->g, wk_val(r->g, y)->node)->counted = counted;
  return y;
}

wk_value_id wk_rewrite_1(wk_rewrite *r, wk_op op, void *attrs, wk_value_id x) {
  return wk_rewrite_add(r, op, attrs, 1, &x);
}

wk_value_id wk_rewrite_2(wk_rewrite *r, wk_op op, void *attrs, wk_value_id x, wk_value_id y) {
  const wk_value_id in[] = {x, y};
  return wk_rewrite_add(r, op, attrs, 2, in);
}

wk_value_id wk_rewrite_scalar(wk_rewrite *r, wk_dtype t, double v) {
  if (r->status) return WK_NONE;
  wk_value_id id = wk_graph_scalar(r->g, t, v);
  grow_values(r);
  return id;
}

wk_value_id wk_rewrite_constant(wk_rewrite *r, const wk_type *t, void **data) {
  wk_value_id id = WK_NONE;
  if (r->status || wk_type_bytes(t) > r->g->module->constant_bytes_left) return WK_NONE;
  r->status = wk_graph_constant_alloc(r->g, NULL, t, &id, data);
  if (r->status) return WK_NONE;
  grow_values(r);
  return id;
}

wk_value_id wk_rewrite_folded(wk_rewrite *r, wk_value_id v) {
  const wk_node *n = wk_def(r->g, v);
  if (wk_known(r, v)) return v;
  if (!n || n->dead || n->n_in != 1 || n->n_out != 1 || !wk_known(r, n->in[0]) ||
      wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT)
    return WK_NONE;
  const wk_node copy = *n;
  const wk_value *x = wk_val(r->g, copy.in[0]);
  wk_tensor in = {x->type, (void *)(uintptr_t)x->data}, out = {*wk_type_of(r, v), NULL};
  wk_value_id id = wk_rewrite_constant(r, &out.type, &out.data);
  if (id == WK_NONE) return id;
  wk_eval_node_args args = {&copy, r->g, &in, &out};
  r->status = wk_eval_node(&args);
  return r->status ? WK_NONE : id;
}

wk_value_id wk_rewrite_reshape(wk_rewrite *r, wk_value_id x, int rank, const int64_t *dims) {
  if (r->status || x == WK_NONE) return WK_NONE;
  const wk_type *t = wk_type_of(r, x);
  bool same = t->rank == rank;
  for (int i = 0; same && i < rank; i++) same = t->dims[i] == dims[i];
  if (same) return x;
  wk_attr_reshape *a = wk_attrs_new(r->arena, WK_OP_RESHAPE);
  a->shape = wk_ints_dup(r->arena, dims, rank);
  return wk_rewrite_1(r, WK_OP_RESHAPE, a, x);
}

wk_value_id wk_rewrite_transpose(wk_rewrite *r, wk_value_id x, const int64_t *perm) {
  if (r->status || x == WK_NONE) return WK_NONE;
  int rank = wk_type_of(r, x)->rank;
  bool moves = false;
  for (int i = 0; i < rank; i++) moves |= perm[i] != i;
  if (!moves) return x;
  wk_attr_transpose *a = wk_attrs_new(r->arena, WK_OP_TRANSPOSE);
  a->perm = wk_ints_dup(r->arena, perm, rank);
  return wk_rewrite_1(r, WK_OP_TRANSPOSE, a, x);
}

wk_value_id wk_rewrite_slice(wk_rewrite *r, wk_value_id x, const int64_t *starts,
                             const int64_t *sizes, const int64_t *steps) {
  if (r->status || x == WK_NONE) return WK_NONE;
  const wk_type *t = wk_type_of(r, x);
  bool cuts = false;
  for (int i = 0; i < t->rank; i++)
    cuts |= sizes[i] != t->dims[i] || (sizes[i] > 1 && steps && steps[i] != 1);
  if (!cuts) return x;
  wk_attr_slice *a = wk_attrs_new(r->arena, WK_OP_SLICE);
  a->starts = wk_ints_dup(r->arena, starts, t->rank);
  a->sizes = wk_ints_dup(r->arena, sizes, t->rank);
  a->steps = steps ? wk_ints_dup(r->arena, steps, t->rank) : wk_ints_fill(r->arena, t->rank, 1);
  return wk_rewrite_1(r, WK_OP_SLICE, a, x);
}

/* ---- changing ------------------------------------------------------------------------------- */

bool wk_rewrite_replace(wk_rewrite *r, wk_value_id from, wk_value_id to) {
  if (r->status || to == WK_NONE || from == to ||
      !wk_type_equal(wk_type_of(r, from), wk_type_of(r, to)))
    return false;
  move_uses(r, from, to);
  wk_graph_take_name(r->g, from, to);
  if (wk_val(r->g, from)->kind == WK_VALUE_NODE) remove_unused(r, wk_val(r->g, from)->node);
  return true;
}

void wk_rewrite_set_input(wk_rewrite *r, wk_node_id id, uint32_t k, wk_value_id v) {
  wk_node *n = wk_nod(r->g, id);
  wk_value_id old = n->in[k];
  n->in[k] = v;
  add_use(r, v, id, k);
  drop_use(r, old);
}

wk_status wk_rewrite_run(wk_graph *g, wk_pass_ctx *c, wk_rule rule) {
  wk_rewrite r = {.g = g, .c = c, .arena = g->module->arena};
  size_t left = BUDGET(g->nodes.n);
  collect_uses(&r);
  for (size_t i = 0; i < g->nodes.n && left && !r.status;) {
    wk_node n = *wk_nod(g, (wk_node_id)i); /* a copy: adding nodes moves the array */
    size_t before = g->nodes.n;
    r.name = n.name;
    bool changed = !n.dead && n.predicate == WK_NONE && rule(&r, (wk_node_id)i, &n);
    for (size_t k = g->nodes.n; k-- > before;) remove_unused(&r, (wk_node_id)k);
    c->changes += changed;
    left -= changed;
    if (!changed || wk_nod(g, (wk_node_id)i)->dead) i++;
  }
  wk_vec_free(&r.cells);
  return r.status;
}
