/* SPDX-License-Identifier: Apache-2.0
 * The slots of the tables are the roots, then a pair for each node that branches: copies of what it
 * leads to. A step goes from a slot to the pair of its node, by the comparison to the first or the
 * second; a leaf's pair is such that its second is the leaf itself. */
#include "compiler/onnx/domains/ml_forest.h"

#include <math.h>
#include <string.h>

#define UNROLLED 64 /* deeper trees take their steps in a loop */
#define FEATURE_BITS 28
#define MODE_BITS 4

typedef struct {
  wk_onnx_node *c;
  const wk_forest *f;
  int64_t *order; /* nodes that branch, each tree's from the root downwards */
  int64_t *pair;  /* by node: its place in order; -1 */
  int64_t n_order, depth;
} layout;

static void *room(wk_onnx_node *c, int64_t n, size_t size) {
  return wk_arena_alloc(c->im->arena, (size_t)n * size);
}

static bool branches(const wk_forest *f, int64_t node) {
  return f->nodes[node].mode != WK_TREE_LEAF;
}

static void visit(layout *l, int64_t node) {
  if (!branches(l->f, node) || l->pair[node] >= 0) return;
  l->pair[node] = l->n_order;
  l->order[l->n_order++] = node;
}

static void order_nodes(layout *l) {
  for (int64_t i = 0; i < l->f->n_nodes; i++) l->pair[i] = -1;
  int64_t done = 0;
  for (int64_t t = 0; t < l->f->n_roots; t++) {
    visit(l, l->f->roots[t]);
    for (; done < l->n_order; done++) {
      const wk_tree_node *n = &l->f->nodes[l->order[done]];
      visit(l, n->no);
      visit(l, n->yes);
    }
  }
}

/* The longest way from a root to a leaf; fails on a cycle. */
static bool measure(layout *l) {
  int64_t *into = room(l->c, l->n_order, sizeof *into);
  int64_t *depth = room(l->c, l->n_order, sizeof *depth);
  int64_t *ready = room(l->c, l->n_order, sizeof *ready), n_ready = 0;
  for (int64_t k = 0; k < l->n_order; k++) into[k] = depth[k] = 0;
  for (int64_t k = 0; k < 2 * l->n_order; k++) {
    const wk_tree_node *n = &l->f->nodes[l->order[k / 2]];
    int64_t next = l->pair[k % 2 ? n->yes : n->no];
    if (next >= 0) into[next]++;
  }
  for (int64_t k = 0; k < l->n_order; k++)
    if (into[k] == 0) ready[n_ready++] = k;
  for (int64_t i = 0; i < n_ready; i++) {
    const wk_tree_node *n = &l->f->nodes[l->order[ready[i]]];
    int64_t here = depth[ready[i]] + 1;
    if (here > l->depth) l->depth = here;
    for (int side = 0; side < 2; side++) {
      int64_t next = l->pair[side ? n->yes : n->no];
      if (next < 0) continue;
      if (here > depth[next]) depth[next] = here;
      if (--into[next] == 0) ready[n_ready++] = next;
    }
  }
  return wk_onnx_valid(l->c, n_ready == l->n_order, "a tree has a cycle");
}

/* Outcomes of a comparison, as bits: less, equal, greater, and none of them. */
static int64_t outcomes(const wk_tree_node *n) {
  static const int64_t bits[] = {[WK_TREE_LEQ] = 3, [WK_TREE_LT] = 1,  [WK_TREE_GTE] = 6,
                                 [WK_TREE_GT] = 4,  [WK_TREE_EQ] = 2,  [WK_TREE_NEQ] = 13,
                                 [WK_TREE_LEAF] = 0};
  return bits[n->mode] | (n->missing_true ? 8 : 0);
}

/* The one comparison that all nodes make, in which nothing is less than, … or equal to NaN. */
static bool is_uniform(const layout *l, wk_op *op) {
  static const wk_op ops[] = {[WK_TREE_LEQ] = WK_OP_LESS_EQUAL, [WK_TREE_LT] = WK_OP_LESS,
                              [WK_TREE_GTE] = WK_OP_GREATER_EQUAL, [WK_TREE_GT] = WK_OP_GREATER,
                              [WK_TREE_EQ] = WK_OP_EQUAL};
  if (l->n_order == 0) return false;
  const wk_tree_node *first = &l->f->nodes[l->order[0]];
  if (first->mode == WK_TREE_NEQ) return false;
  for (int64_t k = 0; k < l->n_order; k++) {
    const wk_tree_node *n = &l->f->nodes[l->order[k]];
    if (n->mode != first->mode || n->missing_true) return false;
  }
  *op = ops[first->mode];
  return true;
}

static bool check(const layout *l, int64_t features) {
  for (int64_t k = 0; k < l->n_order; k++) {
    const wk_tree_node *n = &l->f->nodes[l->order[k]];
    bool known = n->feature >= 0 && n->feature < features;
    if (!wk_onnx_valid(l->c, known, "a node reads feature %lld, the input has %lld",
                       (long long)n->feature, (long long)features)) return false;
    if (!wk_onnx_need(l->c, !(isnan(n->value) && n->missing_true),
                      "comparisons with NaN are not supported")) return false;
  }
  return wk_onnx_need(l->c, features < (int64_t)1 << FEATURE_BITS, "so many features are not "
                      "supported");
}

/* ---- tables -------------------------------------------------------------------------------- */

typedef struct {
  wk_value_id records; /* i64 by slot: the pair, the feature, outcomes() */
  wk_value_id values;
  bool uniform;
  wk_op compare;
} tables;

static int64_t *nodes_of_slots(const layout *l, int64_t n_slots) {
  const wk_forest *f = l->f;
  int64_t *node_of = room(l->c, n_slots, sizeof *node_of);
  for (int64_t t = 0; t < f->n_roots; t++) node_of[t] = f->roots[t];
  for (int64_t k = 0; k < l->n_order; k++) {
    const wk_tree_node *n = &f->nodes[l->order[k]];
    node_of[f->n_roots + 2 * k] = n->yes;
    node_of[f->n_roots + 2 * k + 1] = n->no;
  }
  return node_of;
}

static tables make_tables(const layout *l, const wk_forest_run *r) {
  wk_onnx_node *c = l->c;
  void *records, *values;
  const wk_type whole = wk_type_make(WK_I64, 1, &r->n_slots);
  const wk_type real = wk_type_make(l->f->dtype, 1, &r->n_slots);
  tables t = {.records = wk_make_constant(c, &whole, &records),
              .values = wk_make_constant(c, &real, &values)};
  t.uniform = is_uniform(l, &t.compare);
  for (int64_t s = 0; s < r->n_slots && !c->status; s++) {
    const wk_tree_node *n = &l->f->nodes[r->node_of[s]];
    int64_t pair = l->pair[r->node_of[s]];
    bool leaf = pair < 0;
    int64_t next = leaf ? s - 1 : l->f->n_roots + 2 * pair;
    int64_t record = next * ((int64_t)1 << 32);
    if (!leaf) record += n->feature << MODE_BITS | outcomes(n);
    ((int64_t *)records)[s] = record;
    wk_store_f64(values, l->f->dtype, s, leaf ? NAN : n->value);
  }
  return t;
}

/* ---- steps --------------------------------------------------------------------------------- */

static wk_value_id i64(wk_onnx_node *c, int64_t v) {
  return wk_make_scalar(c, WK_I64, (double)v);
}

/* bool: the comparison fails. */
static wk_value_id fails(wk_onnx_node *c, const tables *t, wk_value_id record, wk_value_id x,
                         wk_value_id value) {
  if (t->uniform) return wk_make_1(c, WK_OP_NOT, wk_make_2(c, t->compare, x, value));
  wk_value_id bit = wk_make_where(c, wk_make_2(c, WK_OP_GREATER, x, value), i64(c, 4), i64(c, 8));
  bit = wk_make_where(c, wk_make_2(c, WK_OP_EQUAL, x, value), i64(c, 2), bit);
  bit = wk_make_where(c, wk_make_2(c, WK_OP_LESS, x, value), i64(c, 1), bit);
  return wk_make_2(c, WK_OP_EQUAL, wk_make_2(c, WK_OP_BIT_AND, record, bit), i64(c, 0));
}

/* x [features, n]; slots [trees, n], or [trees, 1] in the first step. */
static wk_value_id step(wk_onnx_node *c, const tables *t, wk_value_id x, wk_value_id slots,
                        bool is_first) {
  wk_value_id record = wk_make_gather(c, t->records, slots, 0);
  wk_value_id value = wk_make_gather(c, t->values, slots, 0), feature, read;
  feature = wk_make_2(c, WK_OP_SHIFT_RIGHT, record, i64(c, MODE_BITS));
  feature = wk_make_2(c, WK_OP_BIT_AND, feature, i64(c, ((int64_t)1 << FEATURE_BITS) - 1));
  feature = wk_make_cast(c, feature, WK_I32);
  if (is_first) {
    feature = wk_make_reshape(c, feature, 1, wk_onnx_type(c, feature)->dims);
    read = wk_make_gather(c, x, feature, 0);
  } else {
    WK_MAKE_ATTRS(c, a, GATHER_ELEMENTS, gather_elements);
    read = wk_make(c, WK_OP_GATHER_ELEMENTS, a, 2, x, feature);
  }
  wk_value_id second = wk_make_cast(c, fails(c, t, record, read, value), WK_I32);
  wk_value_id pair = wk_make_2(c, WK_OP_SHIFT_RIGHT, record, i64(c, 32));
  return wk_make_2(c, WK_OP_ADD, wk_make_cast(c, pair, WK_I32), second);
}

/* All steps from slots [trees, n], in a loop. */
static wk_value_id step_in_loop(const layout *l, const wk_forest_run *r, wk_value_id x,
                                wk_value_id slots) {
  wk_onnx_node *c = l->c, b;
  if (c->status || !wk_ml_loop_fits(c, 1)) return WK_NONE;
  layout inside = *l;
  inside.c = &b;
  wk_ml_loop_body(c, &b);
  wk_value_id from = wk_graph_input(b.g, "slots", wk_onnx_type(c, slots));
  wk_value_id features = wk_graph_input(b.g, "features", wk_onnx_type(c, x));
  const tables tab = make_tables(&inside, r);
  wk_value_id to = step(&b, &tab, features, from, false);
  wk_onnx_latch(c, b.status);
  if (c->status) return WK_NONE;
  wk_graph_output(b.g, NULL, to);
  wk_ml_loop_add(c, b.g, l->depth, (const wk_value_id[]){WK_NONE, slots, x}, 3, 1, &slots);
  return c->status ? WK_NONE : slots;
}

wk_forest_run wk_forest_emit(wk_onnx_node *c, const wk_forest *f, wk_value_id x) {
  layout l = {.c = c, .f = f, .order = room(c, f->n_nodes, sizeof *l.order),
              .pair = room(c, f->n_nodes, sizeof *l.pair)};
  wk_forest_run r = {.forest = f, .slots = WK_NONE};
  if (c->status) return r;
  const wk_type t = *wk_onnx_type(c, x);
  order_nodes(&l);
  if (!measure(&l) || !check(&l, t.dims[1])) return r;
  r.n_slots = f->n_roots + 2 * l.n_order;
  if (!wk_onnx_need(c, r.n_slots < INT32_MAX, "so many nodes are not supported")) return r;
  r.node_of = nodes_of_slots(&l, r.n_slots);
  const int64_t all[] = {f->n_roots, t.dims[0]};
  x = wk_make_transpose(c, wk_make_cast(c, x, f->dtype), (const int64_t[]){1, 0});
  void *roots;
  const wk_type column = wk_type_make(WK_I32, 2, (const int64_t[]){f->n_roots, 1});
  r.slots = wk_make_constant(c, &column, &roots);
  for (int64_t k = 0; k < f->n_roots && !c->status; k++) ((int32_t *)roots)[k] = (int32_t)k;
  if (l.depth > UNROLLED) {
    r.slots = step_in_loop(&l, &r, x, wk_make_expand(c, r.slots, 2, all));
    return r;
  }
  const tables tab = make_tables(&l, &r);
  for (int64_t k = 0; k < l.depth; k++) r.slots = step(c, &tab, x, r.slots, k == 0);
  r.slots = wk_make_expand(c, r.slots, 2, all);
  return r;
}

/* ---- leaves -------------------------------------------------------------------------------- */

/* One column: the first weight of each leaf, or where it has none what its node has instead. */
static wk_value_id single_scores(wk_onnx_node *c, const wk_forest_run *r) {
  void *data;
  const wk_type type = wk_type_make(r->forest->dtype, 1, &r->n_slots);
  wk_value_id table = wk_make_constant(c, &type, &data);
  for (int64_t s = 0; s < r->n_slots && !c->status; s++) {
    const wk_tree_node *n = &r->forest->nodes[r->node_of[s]];
    if (n->mode != WK_TREE_LEAF) continue;
    double v = n->n_weights ? r->forest->weights[n->first_weight].value : n->value;
    wk_store_f64(data, type.dtype, s, v);
  }
  wk_value_id y = wk_make_gather(c, table, r->slots, 0);
  const wk_type t = *wk_onnx_type(c, y);
  return wk_make_reshape(c, y, 3, (const int64_t[]){t.dims[0], t.dims[1], 1});
}

/* Leaves as rows of a table with a column for each target: adds the weights to `empty`, or sets 1
 * where there is one. */
static wk_value_id leaf_rows(wk_onnx_node *c, const wk_forest_run *r, double empty, bool marks) {
  const wk_forest *f = r->forest;
  int64_t *row_of = room(c, f->n_nodes, sizeof *row_of), n_rows = 0;
  for (int64_t i = 0; i < f->n_nodes; i++)
    row_of[i] = f->nodes[i].mode == WK_TREE_LEAF ? n_rows++ : 0;
  void *rows, *table;
  const wk_type index = wk_type_make(WK_I32, 1, &r->n_slots);
  const wk_type type = wk_type_make(f->dtype, 2, (const int64_t[]){n_rows, f->n_targets});
  wk_value_id of_slot = wk_make_constant(c, &index, &rows);
  wk_value_id weights = wk_make_constant(c, &type, &table);
  if (c->status) return WK_NONE;
  for (int64_t s = 0; s < r->n_slots; s++) ((int32_t *)rows)[s] = (int32_t)row_of[r->node_of[s]];
  for (int64_t i = 0; i < n_rows * f->n_targets; i++) wk_store_f64(table, f->dtype, i, empty);
  for (int64_t i = 0; i < f->n_nodes; i++) {
    const wk_tree_node *n = &f->nodes[i];
    for (int64_t k = 0; k < n->n_weights && n->mode == WK_TREE_LEAF; k++) {
      const wk_tree_weight *w = &f->weights[n->first_weight + k];
      int64_t at = row_of[i] * f->n_targets + w->target;
      double before = wk_load_f64(table, f->dtype, at);
      double v = marks ? 1 : isinf(before) ? w->value : before + w->value;
      wk_store_f64(table, f->dtype, at, v);
    }
  }
  return wk_make_gather(c, weights, wk_make_gather(c, of_slot, r->slots, 0), 0);
}

static wk_value_id over_trees(wk_onnx_node *c, wk_op op, wk_value_id x) {
  return wk_make_reduce(c, op, x, wk_make_axes(c, 0, 1), false);
}

wk_value_id wk_forest_scores(wk_onnx_node *c, const wk_forest_run *r, wk_tree_aggregate how) {
  static const wk_op ops[] = {WK_OP_REDUCE_SUM, WK_OP_REDUCE_SUM, WK_OP_REDUCE_MIN,
                              WK_OP_REDUCE_MAX};
  double empty = how == WK_TREE_MIN ? INFINITY : how == WK_TREE_MAX ? -INFINITY : 0;
  if (c->status) return WK_NONE;
  bool single = r->forest->n_targets == 1;
  wk_value_id y = single ? single_scores(c, r) : leaf_rows(c, r, empty, false);
  y = over_trees(c, ops[how], y);
  if (how == WK_TREE_AVERAGE) {
    wk_value_id n = wk_make_scalar(c, r->forest->dtype, (double)r->forest->n_roots);
    y = wk_make_2(c, WK_OP_DIV, y, n);
  }
  if (empty == 0 || single) return y;
  wk_value_id none = wk_make_scalar(c, r->forest->dtype, empty);
  return wk_make_where(c, wk_make_2(c, WK_OP_EQUAL, y, none),
                       wk_make_scalar(c, r->forest->dtype, 0), y);
}

/* Always is where all leaves of one tree name the target. */
const wk_forest_naming *wk_forest_naming_of(wk_onnx_node *c, const wk_forest *f) {
  wk_forest_naming *naming = room(c, f->n_targets, sizeof *naming);
  int64_t *left = room(c, f->n_roots * f->n_targets, sizeof *left);
  int64_t *seen = room(c, f->n_targets, sizeof *seen);
  for (int64_t i = 0; i < f->n_roots * f->n_targets; i++) left[i] = 0;
  for (int64_t k = 0; k < f->n_targets; k++) seen[k] = -1;
  for (int64_t i = 0; i < f->n_nodes; i++)
    for (int64_t k = 0; k < f->n_targets && f->nodes[i].mode == WK_TREE_LEAF; k++)
      left[f->nodes[i].tree * f->n_targets + k]++;
  for (int64_t i = 0; i < f->n_nodes; i++) {
    const wk_tree_node *n = &f->nodes[i];
    for (int64_t k = 0; k < n->n_weights && n->mode == WK_TREE_LEAF; k++) {
      int64_t target = f->weights[n->first_weight + k].target;
      if (seen[target] != i) left[n->tree * f->n_targets + target]--;
      seen[target] = i;
    }
  }
  for (int64_t k = 0; k < f->n_targets; k++) {
    naming[k] = seen[k] < 0 ? WK_NAMED_NEVER : WK_NAMED_SOMETIMES;
    for (int64_t t = 0; t < f->n_roots; t++)
      if (left[t * f->n_targets + k] == 0) naming[k] = WK_NAMED_ALWAYS;
  }
  return naming;
}

wk_value_id wk_forest_named(wk_onnx_node *c, const wk_forest_run *r) {
  if (c->status) return WK_NONE;
  wk_value_id marks = over_trees(c, WK_OP_REDUCE_MAX, leaf_rows(c, r, 0, true));
  return wk_make_2(c, WK_OP_GREATER, marks, wk_make_scalar(c, r->forest->dtype, 0));
}
