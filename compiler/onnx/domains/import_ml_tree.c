/* SPDX-License-Identifier: Apache-2.0
 * Ensembles of decision trees: the attributes of three operators as a wk_forest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/onnx/domains/ml_forest.h"
#include "compiler/onnx/import/handlers.h"

static void *room(wk_onnx_node *c, int64_t n, size_t size) {
  return wk_arena_alloc(c->im->arena, (size_t)n * size);
}

/* ---- nodes by number (TreeEnsembleClassifier, TreeEnsembleRegressor) ----------------------- */

typedef struct { int64_t tree, number, node; } node_key;

static int compare_keys(const void *a, const void *b) {
  const node_key *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

typedef struct {
  wk_onnx_node *c;
  wk_forest *f;
  node_key *keys; /* sorted */
} numbering;

static int64_t find_node(const numbering *x, int64_t tree, int64_t number, const char *what) {
  const node_key key = {.tree = tree, .number = number};
  const node_key *k = bsearch(&key, x->keys, (size_t)x->f->n_nodes, sizeof key, compare_keys);
  wk_onnx_valid(x->c, k != NULL, "%s names node %lld of tree %lld, which there is not", what,
                (long long)number, (long long)tree);
  return k ? k->node : 0;
}

static wk_tree_mode mode_of(wk_onnx_node *c, const char *name) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT",
                                      "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    if (strcmp(name, names[i]) == 0) return (wk_tree_mode)i;
  wk_onnx_fail(c, WK_UNSUPPORTED, "nodes of mode '%s' are not supported", name);
  return WK_TREE_LEAF;
}

typedef struct {
  wk_ints trees, numbers, features, yes, no, missing;
  wk_texts modes;
  wk_floats values;
} node_lists;

static bool read_nodes(wk_onnx_node *c, node_lists *l) {
  *l = (node_lists){.trees = wk_onnx_ints(c, "nodes_treeids"),
                    .numbers = wk_onnx_ints(c, "nodes_nodeids"),
                    .features = wk_onnx_ints(c, "nodes_featureids"),
                    .yes = wk_onnx_ints(c, "nodes_truenodeids"),
                    .no = wk_onnx_ints(c, "nodes_falsenodeids"),
                    .missing = wk_onnx_ints(c, "nodes_missing_value_tracks_true"),
                    .modes = wk_onnx_texts(c, "nodes_modes"),
                    .values = wk_ml_floats(c, "nodes_values")};
  int64_t n = l->trees.n;
  bool fit = n > 0 && l->numbers.n == n && l->features.n == n && l->yes.n == n && l->no.n == n &&
             l->modes.n == n && l->values.n == n;
  return wk_onnx_valid(c, fit, "the lists nodes_… differ in length or are missing") &&
         wk_onnx_valid(c, l->missing.n <= 0 || l->missing.n == n,
                       "nodes_missing_value_tracks_true has %lld entries for %lld nodes",
                       (long long)l->missing.n, (long long)n);
}

/* A tree's root is the first of its nodes; a tree whose nodes are not together has several. */
static void find_roots(wk_forest *f, const node_lists *l) {
  for (int64_t i = 0; i < f->n_nodes; i++) {
    if (i == 0 || l->trees.v[i] != l->trees.v[i - 1]) f->roots[f->n_roots++] = i;
    f->nodes[i].tree = f->n_roots - 1;
  }
}

static void number_nodes(numbering *x, const node_lists *l) {
  wk_forest *f = x->f;
  x->keys = room(x->c, f->n_nodes, sizeof *x->keys);
  for (int64_t i = 0; i < f->n_nodes; i++)
    x->keys[i] = (node_key){l->trees.v[i], l->numbers.v[i], i};
  qsort(x->keys, (size_t)f->n_nodes, sizeof *x->keys, compare_keys);
  for (int64_t i = 1; i < f->n_nodes; i++) {
    if (compare_keys(&x->keys[i - 1], &x->keys[i]) != 0) continue;
    wk_onnx_fail(x->c, WK_INPUT, "node %lld of tree %lld is there twice",
                 (long long)x->keys[i].number, (long long)x->keys[i].tree);
  }
}

static void fill_nodes(numbering *x, const node_lists *l) {
  for (int64_t i = 0; i < x->f->n_nodes && wk_onnx_ok(x->c); i++) {
    wk_tree_node *n = &x->f->nodes[i];
    n->mode = mode_of(x->c, l->modes.v[i]);
    n->feature = l->features.v[i];
    n->value = l->values.v[i];
    n->missing_true = l->missing.n > 0 && l->missing.v[i] == 1;
    if (n->mode == WK_TREE_LEAF) continue;
    n->yes = find_node(x, l->trees.v[i], l->yes.v[i], "nodes_truenodeids");
    n->no = find_node(x, l->trees.v[i], l->no.v[i], "nodes_falsenodeids");
  }
}

/* Weights by leaf, in the order in which they stand; those of nodes that branch mean nothing. */
static void fill_weights(numbering *x, const char *prefix) {
  wk_onnx_node *c = x->c;
  wk_forest *f = x->f;
  wk_arena *a = c->im->arena;
  wk_ints trees = wk_onnx_ints(c, wk_arena_printf(a, "%s_treeids", prefix));
  wk_ints nodes = wk_onnx_ints(c, wk_arena_printf(a, "%s_nodeids", prefix));
  wk_ints ids = wk_onnx_ints(c, wk_arena_printf(a, "%s_ids", prefix));
  wk_floats values = wk_ml_floats(c, wk_arena_printf(a, "%s_weights", prefix));
  int64_t n = ids.n;
  bool fit = n > 0 && trees.n == n && nodes.n == n && values.n == n;
  wk_onnx_valid(c, fit, "the lists %s_… differ in length or are missing", prefix);
  if (!wk_onnx_ok(c)) return;
  int64_t *node = room(c, n, sizeof *node), *fill = room(c, f->n_nodes, sizeof *fill), sum = 0;
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    node[i] = find_node(x, trees.v[i], nodes.v[i], prefix);
    f->nodes[node[i]].n_weights++;
    wk_onnx_valid(c, ids.v[i] >= 0 && ids.v[i] < f->n_targets, "%s_ids: %lld is none of %lld",
                  prefix, (long long)ids.v[i], (long long)f->n_targets);
  }
  for (int64_t i = 0; i < f->n_nodes; i++) {
    f->nodes[i].first_weight = fill[i] = sum;
    sum += f->nodes[i].n_weights;
  }
  f->n_weights = n;
  f->weights = room(c, n, sizeof *f->weights);
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++)
    f->weights[fill[node[i]]++] = (wk_tree_weight){ids.v[i], values.v[i]};
}

/* The trees, compared in double precision when they or x have it. */
static bool read_forest(wk_onnx_node *c, const char *prefix, int64_t n_targets, wk_forest *f) {
  node_lists l;
  bool is_double = wk_onnx_type(c, c->in[0])->dtype == WK_F64;
  *f = (wk_forest){.dtype = is_double ? WK_F64 : WK_F32, .n_targets = n_targets};
  if (!wk_onnx_valid(c, n_targets > 0, "it has %lld targets", (long long)n_targets)) return false;
  if (!wk_onnx_ok(c) || !read_nodes(c, &l)) return false;
  f->n_nodes = l.trees.n;
  f->nodes = room(c, f->n_nodes, sizeof *f->nodes);
  f->roots = room(c, f->n_nodes, sizeof *f->roots);
  numbering x = {.c = c, .f = f};
  find_roots(f, &l);
  number_nodes(&x, &l);
  if (wk_onnx_ok(c)) fill_nodes(&x, &l);
  if (wk_onnx_ok(c)) fill_weights(&x, prefix);
  return wk_onnx_ok(c);
}

/* ---- regression ---------------------------------------------------------------------------- */

static wk_tree_aggregate aggregate_of(wk_onnx_node *c) {
  static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const char *name = wk_onnx_text(c, "aggregate_function", "SUM");
  for (size_t i = 0; i < WK_COUNTOF(names); i++)
    if (strcmp(name, names[i]) == 0) return (wk_tree_aggregate)i;
  wk_onnx_fail(c, WK_INPUT, "aggregate_function '%s' is not one of AVERAGE, SUM, MIN and MAX",
               name);
  return WK_TREE_SUM;
}

static wk_value_id row_of(wk_onnx_node *c, wk_floats v, wk_dtype t) {
  return wk_make_f64s(c, t, v.v, 2, (const int64_t[]){1, v.n});
}

wk_status wk_onnx_tree_regressor(wk_onnx_node *c) {
  wk_forest f;
  wk_floats base = wk_ml_floats(c, "base_values");
  wk_tree_aggregate how = aggregate_of(c);
  wk_ml_transform t = wk_ml_post_transform(c);
  wk_value_id x = wk_ml_rows(c, c->in[0]);
  if (!read_forest(c, "target", wk_onnx_int(c, "n_targets", 0), &f)) return c->status;
  wk_onnx_valid(c, base.n <= 0 || base.n == f.n_targets, "%lld base_values for %lld targets",
                (long long)base.n, (long long)f.n_targets);
  wk_forest_run run = wk_forest_emit(c, &f, x);
  wk_value_id y = wk_forest_scores(c, &run, how);
  if (base.n > 0) y = wk_make_2(c, WK_OP_ADD, y, row_of(c, base, f.dtype));
  return wk_onnx_return(c, wk_make_cast(c, wk_ml_transform_emit(c, t, y), WK_F32));
}

/* ---- classification ------------------------------------------------------------------------ */

/* What the weights are like where they are for two classes at most. */
typedef struct {
  bool single;   /* they are all for one of the two */
  bool positive; /* none is below zero */
} weight_kind;

static weight_kind look_at_weights(const wk_forest *f) {
  weight_kind w = {.positive = true};
  bool names[2] = {false};
  for (int64_t i = 0; i < f->n_weights; i++) {
    if (f->weights[i].target < 2) names[f->weights[i].target] = true;
    w.positive = w.positive && !(f->weights[i].value < 0);
  }
  w.single = f->n_targets == 2 && names[0] != names[1];
  return w;
}

typedef struct { wk_value_id classes, scores; } decision; /* [n], [n, k] transformed */

/* 1 where s [n, 1] exceeds the limit that the weights imply, else 0. */
static wk_value_id exceeds(wk_onnx_node *c, const weight_kind *w, wk_value_id s) {
  const wk_type t = *wk_onnx_type(c, s);
  double limit = w->single && w->positive ? 0.5 : 0;
  wk_value_id over = wk_make_2(c, WK_OP_GREATER, s, wk_make_scalar(c, t.dtype, limit));
  return wk_make_cast(c, wk_make_reshape(c, over, 1, t.dims), WK_I64);
}

/* The score of the only class. */
static decision decide_alone(wk_onnx_node *c, const weight_kind *w, wk_value_id s, wk_floats base,
                             wk_ml_transform t) {
  if (base.n > 0) s = wk_make_add_f(c, s, base.v[0]);
  return (decision){.classes = exceeds(c, w, s), .scores = wk_ml_transform_emit(c, t, s)};
}

/* Rows in which a leaf names the class. */
typedef struct {
  wk_forest_naming naming;
  wk_value_id rows; /* bool [n, 1] where sometimes */
} named;

static void find_named(wk_onnx_node *c, const wk_forest_run *run, named out[2]) {
  const wk_forest_naming *naming = wk_forest_naming_of(c, run->forest);
  bool some = naming[0] == WK_NAMED_SOMETIMES || naming[1] == WK_NAMED_SOMETIMES;
  wk_value_id marks = some ? wk_forest_named(c, run) : WK_NONE;
  for (int k = 0; k < 2; k++)
    out[k] = (named){naming[k], some ? wk_make_slice(c, marks, 1, k, 1, 1) : WK_NONE};
}

static wk_value_id choose(wk_onnx_node *c, const named *n, wk_value_id yes, wk_value_id no) {
  if (n->naming == WK_NAMED_SOMETIMES) return wk_make_where(c, n->rows, yes, no);
  return n->naming == WK_NAMED_ALWAYS ? yes : no;
}

/* Base values go to classes that a leaf names; with two, both scores come from the first. A row in
 * which nothing names the second class has one score, from which both classes get theirs, unless
 * there are two base values. */
static decision decide_between(wk_onnx_node *c, const wk_forest_run *run, const weight_kind *w,
                               wk_value_id sums, wk_floats base, wk_ml_transform t) {
  named by[2];
  wk_value_id s[] = {wk_make_slice(c, sums, 1, 0, 1, 1), wk_make_slice(c, sums, 1, 1, 1, 1)};
  find_named(c, run, by);
  wk_value_id first = base.n > 0 ? wk_make_add_f(c, s[0], base.v[0]) : s[0];
  if (base.n == 2) {
    wk_value_id second = wk_make_add_f(c, s[0], base.v[1]);
    first = choose(c, &by[1], wk_make_1(c, WK_OP_NEG, second), first);
    s[1] = choose(c, &by[1], second, s[1]);
  }
  s[0] = choose(c, &by[0], first, s[0]);
  decision d = {.classes = exceeds(c, w, choose(c, &by[1], s[1], s[0]))};
  d.scores = wk_ml_transform_emit(c, t, wk_make_concat(c, s, 2, 1));
  if (base.n == 2 || by[1].naming == WK_NAMED_ALWAYS) return d;
  wk_ml_second how = w->single && w->positive ? WK_ML_COMPLEMENT : WK_ML_OPPOSITE;
  d.scores = choose(c, &by[1], d.scores, wk_ml_second_emit(c, how, t, s[0]));
  return d;
}

/* The first class of the highest score among those that a leaf names. */
static decision decide_many(wk_onnx_node *c, const wk_forest_run *run, wk_value_id sums,
                            wk_floats base, wk_ml_transform t) {
  wk_dtype type = run->forest->dtype;
  bool all_named = true;
  const wk_forest_naming *naming = wk_forest_naming_of(c, run->forest);
  for (int64_t k = 0; k < run->forest->n_targets; k++)
    all_named = all_named && naming[k] == WK_NAMED_ALWAYS;
  if (base.n > 0) sums = wk_make_2(c, WK_OP_ADD, sums, row_of(c, base, type));
  wk_value_id ranked = sums;
  if (base.n <= 0 && !all_named)
    ranked = wk_make_where(c, wk_forest_named(c, run), sums, wk_make_scalar(c, type, -INFINITY));
  WK_MAKE_ATTRS(c, a, ARG_MAX, arg_max);
  a->axis = 1;
  a->keepdims = 0;
  return (decision){.classes = wk_make(c, WK_OP_ARG_MAX, a, 1, ranked),
                    .scores = wk_ml_transform_emit(c, t, sums)};
}

static decision decide(wk_onnx_node *c, const wk_forest_run *run, wk_value_id sums, wk_floats base,
                       wk_ml_transform t, bool *by_label) {
  const weight_kind w = look_at_weights(run->forest);
  int64_t n = run->forest->n_targets;
  *by_label = n > 2 || w.single;
  if (n == 1) return decide_alone(c, &w, sums, base, t);
  return n == 2 ? decide_between(c, run, &w, sums, base, t) : decide_many(c, run, sums, base, t);
}

wk_status wk_onnx_tree_classifier(wk_onnx_node *c) {
  wk_forest f;
  wk_ml_labels labels;
  wk_floats base = wk_ml_floats(c, "base_values");
  wk_ml_transform t = wk_ml_post_transform(c);
  wk_value_id x = wk_ml_rows(c, c->in[0]);
  if (!wk_ml_labels_read(c, "classlabels_int64s", "classlabels_strings", &labels) ||
      !read_forest(c, "class", labels.n, &f)) return c->status;
  bool fit = base.n <= 0 || base.n == labels.n || (base.n == 1 && labels.n == 2);
  wk_onnx_valid(c, fit, "%lld base_values for %lld classes", (long long)base.n,
                (long long)labels.n);
  wk_forest_run run = wk_forest_emit(c, &f, x);
  wk_value_id sums = wk_forest_scores(c, &run, WK_TREE_SUM);
  if (!wk_onnx_ok(c)) return c->status;
  bool by_label; /* else 0 and 1 stand for themselves */
  decision d = decide(c, &run, sums, base, t, &by_label);
  wk_onnx_need(c, labels.n > 1 || labels.ints.n > 0, "one class with a name is not supported");
  if (by_label || labels.ints.n < 0) wk_ml_labels_result(c, &labels, d.classes);
  else wk_onnx_result(c, 0, d.classes);
  wk_onnx_result(c, 1, wk_make_cast(c, d.scores, WK_F32));
  return c->status;
}

/* ---- TreeEnsemble -------------------------------------------------------------------------- */

typedef struct {
  wk_ints features, yes, no, yes_leaf, no_leaf, missing, targets, roots;
  wk_floats modes, values, weights, members;
  wk_dtype dtype;
} ensemble;

enum { MODE_MEMBER = 6, MODES = 7 };

static bool read_ensemble(wk_onnx_node *c, ensemble *e) {
  wk_dtype ignored;
  *e = (ensemble){.features = wk_onnx_ints(c, "nodes_featureids"),
                  .yes = wk_onnx_ints(c, "nodes_truenodeids"),
                  .no = wk_onnx_ints(c, "nodes_falsenodeids"),
                  .yes_leaf = wk_onnx_ints(c, "nodes_trueleafs"),
                  .no_leaf = wk_onnx_ints(c, "nodes_falseleafs"),
                  .missing = wk_onnx_ints(c, "nodes_missing_value_tracks_true"),
                  .targets = wk_onnx_ints(c, "leaf_targetids"),
                  .roots = wk_onnx_ints(c, "tree_roots")};
  e->modes = wk_ml_tensor(c, "nodes_modes", &ignored);
  e->values = wk_ml_tensor(c, "nodes_splits", &e->dtype);
  e->weights = wk_ml_tensor(c, "leaf_weights", &ignored);
  e->members = wk_ml_tensor(c, "membership_values", &ignored);
  int64_t n = e->features.n;
  bool fit = n > 0 && e->yes.n == n && e->no.n == n && e->yes_leaf.n == n && e->no_leaf.n == n &&
             e->modes.n == n && e->values.n == n && (e->missing.n <= 0 || e->missing.n == n);
  return wk_onnx_valid(c, fit, "the lists nodes_… differ in length or are missing") &&
         wk_onnx_valid(c, e->targets.n > 0 && e->targets.n == e->weights.n,
                       "leaf_targetids and leaf_weights differ in length or are missing") &&
         wk_onnx_valid(c, e->roots.n > 0, "it has no tree_roots");
}

/* Node `at` and what follows from n_nodes: a search in the sorted values set[0..n), n > 0. */
static void search_members(wk_forest *f, int64_t at, const double *set, int64_t n) {
  wk_tree_node *node = &f->nodes[at];
  const wk_tree_node whole = *node;
  if (n == 1) {
    node->mode = WK_TREE_EQ;
    node->value = set[0];
    return;
  }
  int64_t half = n / 2, low = f->n_nodes, high = low + 1;
  f->n_nodes += 2;
  f->nodes[low] = f->nodes[high] = whole;
  *node = (wk_tree_node){.mode = WK_TREE_LT, .feature = whole.feature, .value = set[half],
                         .yes = low, .no = high};
  search_members(f, low, set, half);
  search_members(f, high, set + half, n - half);
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* The set of a node: up to the next NaN. */
static void make_search(wk_onnx_node *c, wk_forest *f, int64_t node, wk_floats members,
                        int64_t *next) {
  int64_t n = 0;
  bool has_set = members.n > *next;
  if (!wk_onnx_valid(c, has_set, "membership_values has no set for node %lld", (long long)node))
    return;
  while (*next + n < members.n && !isnan(members.v[*next + n])) n++;
  double *set = room(c, n, sizeof *set);
  memcpy(set, members.v + *next, (size_t)n * sizeof *set);
  *next += n + 1;
  if (n == 0) { /* nothing is a member */
    f->nodes[node].mode = WK_TREE_GT;
    f->nodes[node].value = INFINITY;
    return;
  }
  qsort(set, (size_t)n, sizeof *set, compare_doubles);
  search_members(f, node, set, n);
}

static int64_t child(wk_onnx_node *c, const ensemble *e, int64_t k, bool yes) {
  bool leaf = (yes ? e->yes_leaf.v[k] : e->no_leaf.v[k]) != 0;
  int64_t id = yes ? e->yes.v[k] : e->no.v[k], n = leaf ? e->targets.n : e->features.n;
  bool known = id >= 0 && id < n;
  wk_onnx_valid(c, known, "node %lld leads to %s %lld, which there is not", (long long)k,
                leaf ? "leaf" : "node", (long long)id);
  return !known ? 0 : leaf ? e->features.n + id : id;
}

static void fill_ensemble(wk_onnx_node *c, const ensemble *e, wk_forest *f) {
  static const wk_tree_mode modes[MODES] = {WK_TREE_LEQ, WK_TREE_LT, WK_TREE_GTE, WK_TREE_GT,
                                            WK_TREE_EQ, WK_TREE_NEQ, WK_TREE_EQ};
  int64_t n = e->features.n, next = 0;
  for (int64_t k = 0; k < n; k++) {
    bool known = e->modes.v[k] >= 0 && e->modes.v[k] < MODES;
    if (!wk_onnx_valid(c, known, "node %lld has mode %g", (long long)k, e->modes.v[k])) return;
    f->nodes[k] = (wk_tree_node){.mode = modes[(int)e->modes.v[k]], .feature = e->features.v[k],
                                 .missing_true = e->missing.n > 0 && e->missing.v[k] == 1,
                                 .value = e->values.v[k], .yes = child(c, e, k, true),
                                 .no = child(c, e, k, false)};
  }
  for (int64_t k = 0; k < e->targets.n; k++) {
    int64_t target = e->targets.v[k];
    wk_onnx_valid(c, target >= 0 && target < f->n_targets, "leaf %lld is for target %lld",
                  (long long)k, (long long)target);
    f->nodes[n + k] = (wk_tree_node){.mode = WK_TREE_LEAF, .first_weight = k, .n_weights = 1};
    f->weights[k] = (wk_tree_weight){target, e->weights.v[k]};
  }
  for (int64_t k = 0; k < n; k++)
    if (e->modes.v[k] == MODE_MEMBER) make_search(c, f, k, e->members, &next);
  for (int64_t k = 0; k < e->roots.n; k++) {
    f->roots[k] = e->roots.v[k];
    wk_onnx_valid(c, f->roots[k] >= 0 && f->roots[k] < n, "tree_roots: there is no node %lld",
                  (long long)f->roots[k]);
  }
}

wk_status wk_onnx_tree_ensemble(wk_onnx_node *c) {
  ensemble e;
  wk_value_id x = wk_ml_rows(c, c->in[0]);
  int64_t how = wk_onnx_int(c, "aggregate_function", 1), t = wk_onnx_int(c, "post_transform", 0);
  wk_forest f = {.n_targets = wk_onnx_int(c, "n_targets", 0)};
  if (!read_ensemble(c, &e)) return c->status;
  wk_onnx_valid(c, how >= WK_TREE_AVERAGE && how <= WK_TREE_MAX, "aggregate_function %lld is not "
                "one of 0 to 3", (long long)how);
  wk_onnx_valid(c, t >= WK_ML_NONE && t <= WK_ML_PROBIT, "post_transform %lld is not one of 0 to "
                "4", (long long)t);
  if (!wk_onnx_valid(c, f.n_targets > 0, "it has no n_targets") || !wk_onnx_ok(c))
    return c->status;
  wk_dtype type = wk_onnx_type(c, x)->dtype;
  int64_t searches = 2 * (e.members.n > 0 ? e.members.n : 0);
  f.dtype = type == WK_F64 ? WK_F64 : WK_F32;
  f.n_nodes = e.features.n + e.targets.n;
  f.n_roots = e.roots.n;
  f.n_weights = e.targets.n;
  f.nodes = room(c, f.n_nodes + searches, sizeof *f.nodes);
  f.roots = room(c, f.n_roots, sizeof *f.roots);
  f.weights = room(c, f.n_weights, sizeof *f.weights);
  fill_ensemble(c, &e, &f);
  if (!wk_onnx_ok(c)) return c->status;
  wk_forest_run run = wk_forest_emit(c, &f, x);
  wk_value_id y = wk_forest_scores(c, &run, (wk_tree_aggregate)how);
  y = wk_ml_transform_emit(c, (wk_ml_transform)t, y);
  return wk_onnx_return(c, wk_make_cast(c, y, type));
}
