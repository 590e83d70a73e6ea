/* SPDX-License-Identifier: Apache-2.0
 * For passes/ and integer/: rewriting by local rules. The use counts stay exact while a graph
 * changes, so that a rule can ask whether a value has other users; nodes that lose their last user
 * are removed at once. Rules run on the nodes in order, then on those that rules have made. */
#ifndef WICK_PASSES_REWRITE_H
#define WICK_PASSES_REWRITE_H

#include "compiler/passes/pass.h"

/* One mention of a value: input `index` of a node (its predicate: n_in), or output `index` of the
 * graph (node WK_NONE). A cell whose place mentions another value by now is stale. */
typedef struct {
  wk_node_id node;
  uint32_t index, next;
} wk_use_cell;

typedef struct {
  wk_graph *g;
  wk_pass_ctx *c;
  wk_arena *arena;      /* of the module: for attributes */
  const char *name;     /* what new nodes are called */
  wk_status status;     /* the first failure; then nothing is changed any more */
  uint32_t *uses;       /* per value; outputs of the graph and predicates count */
  uint32_t *first;      /* per value: list of cells, 0 ends it */
  size_t n_values;      /* room in uses and first */
  WK_VEC(wk_use_cell) cells;
} wk_rewrite;

/* Looks at node `id` (n: a copy; its in and out arrays are the node's own) and rewrites it; true
 * when something changed. What a rule has built but not used is removed again. */
typedef bool (*wk_rule)(wk_rewrite *r, wk_node_id id, const wk_node *n);

/* Applies the rule until it finds nothing or a budget of rewrites is spent; counts into
 * c->changes. */
wk_status wk_rewrite_run(wk_graph *g, wk_pass_ctx *c, wk_rule rule) WK_MUST_CHECK;

static inline const wk_type *wk_type_of(const wk_rewrite *r, wk_value_id v) {
  return &wk_val(r->g, v)->type;
}
/* Exactly one use. */
static inline bool wk_once(const wk_rewrite *r, wk_value_id v) { return r->uses[v] == 1; }
/* The defining node when it has this operator and its first output is v, else NULL. */
const wk_node *wk_made_by(const wk_rewrite *r, wk_value_id v, wk_op op);
/* As above, and v has no other user. */
const wk_node *wk_made_once_by(const wk_rewrite *r, wk_value_id v, wk_op op);
/* A constant that may be read at compile time. */
bool wk_known(const wk_rewrite *r, wk_value_id v);
bool wk_is_splat(const wk_rewrite *r, wk_value_id v, double want);

/* ---- building: after a failure these return WK_NONE ------------------------------------------ */
wk_value_id wk_rewrite_add(wk_rewrite *r, wk_op op, void *attrs, uint32_t n_in,
                           const wk_value_id *in);
/* As `like`, but for attributes and inputs: the same operator, which counts as it does. */
wk_value_id wk_rewrite_like(wk_rewrite *r, const wk_node *like, void *attrs, uint32_t n_in,
                            const wk_value_id *in);
wk_value_id wk_rewrite_1(wk_rewrite *r, wk_op op, void *attrs, wk_value_id x);
wk_value_id wk_rewrite_2(wk_rewrite *r, wk_op op, void *attrs, wk_value_id x, wk_value_id y);
wk_value_id wk_rewrite_scalar(wk_rewrite *r, wk_dtype t, double v);
/* A new constant; *data is zeroed. WK_NONE past the module's budget. */
wk_value_id wk_rewrite_constant(wk_rewrite *r, const wk_type *t, void **data);
/* The contents of v as a constant: v itself, or what a movement of a known constant makes of it;
 * WK_NONE when v is neither. */
wk_value_id wk_rewrite_folded(wk_rewrite *r, wk_value_id v);
/* These return x itself when nothing changes. */
wk_value_id wk_rewrite_reshape(wk_rewrite *r, wk_value_id x, int rank, const int64_t *dims);
wk_value_id wk_rewrite_transpose(wk_rewrite *r, wk_value_id x, const int64_t *perm);
/* steps NULL: all 1 */
wk_value_id wk_rewrite_slice(wk_rewrite *r, wk_value_id x, const int64_t *starts,
                             const int64_t *sizes, const int64_t *steps);

/* ---- changing -------------------------------------------------------------------------------- */
/* `to` (WK_NONE: refused) takes the place of `from`; refused when their types differ. */
bool wk_rewrite_replace(wk_rewrite *r, wk_value_id from, wk_value_id to);
/* Operand k of a node becomes v; the caller vouches that the result's type stays. */
void wk_rewrite_set_input(wk_rewrite *r, wk_node_id id, uint32_t k, wk_value_id v);

/* Broadcast of the shapes of n->in, with `instead` as operand k, equals the shape of t. */
bool wk_spans(const wk_rewrite *r, const wk_node *n, uint32_t k, const wk_type *instead,
              const wk_type *t);
/* Quantisation per channel names an axis: such values are not moved. */
bool wk_is_movable(const wk_type *t);

#endif
