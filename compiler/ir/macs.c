/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply-accumulates of a node, for reports. Saturates, because the dims come from a file. */
#include "compiler/ir/graph.h"

static int64_t times(int64_t a, int64_t b) {
  int64_t y;
  return wk_mul_ok(a, b, &y) ? y : INT64_MAX;
}

static int64_t plus(int64_t a, int64_t b) {
  int64_t y;
  return wk_add_ok(a, b, &y) ? y : INT64_MAX;
}

/* Elements of one kernel: everything past the first axis of w. */
static int64_t kernel_size(const wk_type *w) {
  int64_t n = 1;
  for (int k = 1; k < w->rank; k++) n = times(n, w->dims[k]);
  return n;
}

static const wk_type *type_of(const wk_graph *g, wk_value_id v) { return &wk_val(g, v)->type; }

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
  switch (n->op) {
    case WK_OP_LSTM:
    case WK_OP_GRU:
    case WK_OP_RNN: return recurrent(g, n);
    case WK_OP_CONV:
    case WK_OP_CONV_TRANSPOSE:
    case WK_OP_MATMUL:
    case WK_OP_ATTENTION: break;
    default: return 0;
  }
  if (n->out[0] == WK_NONE) return 0;
  const wk_type *y = type_of(g, n->out[0]), *x = type_of(g, n->in[0]);
  if (n->op == WK_OP_ATTENTION) return attention(g, n, y);
  if (n->op == WK_OP_MATMUL) return times(wk_type_count(y), x->dims[x->rank - 1]);
  const wk_type *w = type_of(g, n->in[1]);
  /* forward: an output element reads one kernel; transposed: an input element is spread by one */
  return times(wk_type_count(n->op == WK_OP_CONV ? y : x), kernel_size(w));
}
