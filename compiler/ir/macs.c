/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply-accumulates of nodes and instructions, and bytes of instructions, for reports and
 * estimates. Saturates, because the dims come from a file. */
#include <stdlib.h>

#include "compiler/ir/graph.h"
#include "compiler/ir/program.h"

static int64_t times(int64_t a, int64_t b) {
  int64_t y;
  return wk_mul_ok(a, b, &y) ? y : INT64_MAX;
}

static int64_t plus(int64_t a, int64_t b) {
  int64_t y;
  return wk_add_ok(a, b, &y) ? y : INT64_MAX;
}

/* An operand, of a node or of an instruction. */
typedef struct {
  const int64_t *dims;
  int rank;
} extent;

static int64_t product(extent e, int first) {
  int64_t n = 1;
  for (int k = first; k < e.rank; k++) n = times(n, e.dims[k]);
  return n;
}

/* y = x w: a product sums over the last axis of x; of a convolution an output element reads one
 * kernel (everything past the first axis of w), of a transposed one an input element is spread by
 * one. */
static int64_t contraction(wk_macs_trait macs, extent y, extent x, extent w) {
  if (macs == WK_MACS_PRODUCT) return times(product(y, 0), x.dims[x.rank - 1]);
  return times(product(macs == WK_MACS_CONV ? y : x, 0), product(w, 1));
}

static const wk_type *type_of(const wk_graph *g, wk_value_id v) { return &wk_val(g, v)->type; }
static extent extent_of(const wk_type *t) { return (extent){t->dims, t->rank}; }

static int64_t recurrent(const wk_graph *g, const wk_node *n) {
  const wk_type *x = type_of(g, n->in[0]);
  int64_t per_step = plus(wk_type_count(type_of(g, n->in[1])), wk_type_count(type_of(g, n->in[2])));
  return times(times(x->dims[0], x->dims[1]), per_step);
}

/* q k^T and the product with v, each [..., m, n] times one depth. */
static int64_t attention(const wk_graph *g, const wk_node *n, const wk_type *y) {
  const wk_type *q = type_of(g, n->in[0]), *k = type_of(g, n->in[1]);
  int64_t rows = 1;
  for (int a = 0; a < y->rank - 1; a++) rows = times(rows, y->dims[a]);
  int64_t depth = plus(q->dims[q->rank - 1], y->dims[y->rank - 1]);
  return times(times(rows, k->dims[k->rank - 2]), depth);
}

int64_t wk_node_macs(const wk_graph *g, const wk_node *n) {
  wk_macs_trait macs = wk_op_get(n->op)->traits.macs;
  if (macs == WK_MACS_NONE) return 0;
  if (macs == WK_MACS_STEPS) return recurrent(g, n); /* results of which any may be missing */
  if (n->out[0] == WK_NONE) return 0;
  const wk_type *y = type_of(g, n->out[0]), *x = type_of(g, n->in[0]);
  switch (macs) {
  case WK_MACS_PRODUCT:
  case WK_MACS_CONV:
  case WK_MACS_SPREAD:
    return contraction(macs, extent_of(y), extent_of(x), extent_of(type_of(g, n->in[1])));
  case WK_MACS_ATTENTION: return attention(g, n, y);
  case WK_MACS_NONE:
  case WK_MACS_STEPS: break;
  }
  return 0;
}

int64_t wk_node_model_macs(const wk_graph *g, const wk_node *n) {
  int64_t macs = wk_node_macs(g, n), pieces = n->counted.pieces;
  if (n->counted.only_moves) return 0;
  if (n->counted.all) {
    const wk_type *y = &wk_val(g, n->out[0])->type;
    macs = macs / y->dims[y->rank - 1] * n->counted.own;
  }
  return pieces > 1 ? macs / pieces : macs;
}

static extent shown(const wk_view *v) { return (extent){v->dims, v->rank}; }

int64_t wk_inst_macs(const wk_inst *i) {
  wk_macs_trait macs = wk_op_get(i->op)->traits.macs;
  switch (macs) {
  case WK_MACS_PRODUCT:
  case WK_MACS_CONV:
  case WK_MACS_SPREAD:
    return contraction(macs, shown(&i->operands[0]), shown(&i->operands[1]),
                       shown(&i->operands[2]));
  case WK_MACS_NONE:
  case WK_MACS_STEPS: /* no instructions */
  case WK_MACS_ATTENTION: break;
  }
  return 0;
}

/* Axes of stride 0 are there once. */
static int64_t bytes_of(const wk_view *v) {
  int64_t n = wk_dtype_size(v->dtype);
  for (int k = 0; k < v->rank; k++)
    if (v->strides[k] != 0) n = times(n, v->dims[k]);
  return n;
}

int64_t wk_inst_bytes(const wk_inst *i) {
  int64_t n = 0;
  for (uint32_t k = 0; k < i->n_operands; k++)
    if (i->operands[k].buffer != WK_NONE) n = plus(n, bytes_of(&i->operands[k]));
  return n;
}

void wk_inst_work(const wk_inst *top, int64_t *macs, int64_t *bytes) {
  typedef struct {
    const wk_inst *inst;
    int64_t times;
  } work;
  WK_VEC(work) todo = {0};
  wk_vec_push(&todo, ((work){top, 1}));
  while (todo.n > 0) {
    work w = todo.data[--todo.n];
    const wk_inst *i = w.inst;
    *macs = plus(*macs, times(wk_inst_macs(i), w.times));
    *bytes = plus(*bytes, times(wk_inst_bytes(i), w.times));
    if (i->op == WK_OP_LOOP) w.times = times(w.times, ((const wk_attr_loop *)i->attrs)->trip);
    for (uint32_t b = 0; b < i->n_bodies; b++)
      for (size_t k = 0; k < i->bodies[b].insts.n; k++)
        wk_vec_push(&todo, ((work){i->bodies[b].insts.data[k], w.times}));
  }
  wk_vec_free(&todo);
}
