/* SPDX-License-Identifier: Apache-2.0
 * ml_forest: decision trees as graphs (ml_forest.c). A node is a record in tables; all trees take
 * one step at a time, for all rows. */
#ifndef WICK_ONNX_DOMAINS_ML_FOREST_H
#define WICK_ONNX_DOMAINS_ML_FOREST_H

#include "compiler/onnx/domains/ml.h"

typedef enum {
  WK_TREE_LEQ,
  WK_TREE_LT,
  WK_TREE_GTE,
  WK_TREE_GT,
  WK_TREE_EQ,
  WK_TREE_NEQ,
  WK_TREE_LEAF
} wk_tree_mode;

typedef struct {
  wk_tree_mode mode;
  bool missing_true;  /* a feature that is NaN goes the way `yes` */
  int64_t feature;
  double value;       /* that the feature is compared with */
  int64_t yes, no;    /* nodes */
  int64_t tree;
  int64_t first_weight, n_weights; /* of a leaf */
} wk_tree_node;

typedef struct { int64_t target; double value; } wk_tree_weight;

typedef enum { WK_TREE_AVERAGE, WK_TREE_SUM, WK_TREE_MIN, WK_TREE_MAX } wk_tree_aggregate;

/* Arrays lie in the arena of the import. Ways of several nodes may lead to the same one. */
typedef struct {
  wk_dtype dtype; /* in which features are compared and weights summed */
  int64_t n_nodes, n_roots, n_weights, n_targets;
  wk_tree_node *nodes;
  int64_t *roots;
  wk_tree_weight *weights; /* of one leaf after the other */
} wk_forest;

/* What the trees make of rows x [n, features]. */
typedef struct {
  const wk_forest *forest;
  wk_value_id slots; /* i32 [trees, n]: where each tree ended */
  const int64_t *node_of; /* node by slot */
  int64_t n_slots;
} wk_forest_run;

wk_forest_run wk_forest_emit(wk_onnx_node *c, const wk_forest *f, wk_value_id x);
/* [n, targets]; a target that no leaf names is 0. */
wk_value_id wk_forest_scores(wk_onnx_node *c, const wk_forest_run *r, wk_tree_aggregate how);
/* Whether some leaf that a row ends in names the target. After wk_forest_scores, which knows
 * whether so many targets are within budget. */
typedef enum { WK_NAMED_NEVER, WK_NAMED_SOMETIMES, WK_NAMED_ALWAYS } wk_forest_naming;
/* By target. */
const wk_forest_naming *wk_forest_naming_of(wk_onnx_node *c, const wk_forest *f);
wk_value_id wk_forest_named(wk_onnx_node *c, const wk_forest_run *r); /* bool [n, targets] */

#endif
