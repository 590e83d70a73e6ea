/* SPDX-License-Identifier: Apache-2.0 */
/* How long the evaluator takes for a node, as far as shapes tell. Saturates, because sizes and
 * attributes come from a file. */
#include <stdlib.h>

#include "compiler/eval/handler.h"

#define MOST INT64_MAX

static int64_t times(int64_t a, int64_t b) {
  int64_t y;
  return wk_mul_ok(a, b, &y) ? y : MOST;
}

static int64_t plus(int64_t a, int64_t b) {
  int64_t y;
  return wk_add_ok(a, b, &y) ? y : MOST;
}

static int64_t count(const wk_graph *g, wk_value_id v) {
  return v == WK_NONE ? 0 : wk_type_count(&wk_val(g, v)->type);
}

static int64_t product(wk_ints v) {
  int64_t n = 1;
  for (int64_t i = 0; i < v.n; i++) n = times(n, v.v[i] > 0 ? v.v[i] : 1);
  return n;
}

/* A scalar operation takes as long as reading a few elements. */
static int64_t expr_work(const wk_expr *e) { return e ? 1 + 4 * (int64_t)e->n : 1; }

static const wk_type *first_type(const wk_graph *g, const wk_node *n) {
  return &wk_val(g, n->in[0])->type;
}

static int64_t samples(const wk_graph *g, const wk_node *n) {
  int64_t s = WK_ATTR(n, roi_align)->samples;
  return s > 0 ? times(s, s) : count(g, n->in[0]);
}

/* Work for one element of the result, in elements read. */
static int64_t work_per_element(const wk_graph *g, const wk_node *n) {
  switch (wk_op_get(n->op)->traits.work) {
  case WK_WORK_ONE:
  case WK_WORK_SEGMENTS: return 1;
  case WK_WORK_FEW: return 4;
  case WK_WORK_SCALAR: return 8;
  case WK_WORK_MANY: return 16;
  case WK_WORK_EXPRESSION:
  case WK_WORK_FOLD: return expr_work(wk_op_epilogue(n->op, n->attrs));
  case WK_WORK_WINDOW: return product(*wk_op_ints(n->op, n->attrs, "kernel"));
  case WK_WORK_CHANNELS: return WK_ATTR(n, lrn)->size > 0 ? WK_ATTR(n, lrn)->size : 1;
  case WK_WORK_SAMPLES: return samples(g, n);
  case WK_WORK_PAIRS: return count(g, n->in[0]);
  case WK_WORK_MATRIX: return first_type(g, n)->dims[first_type(g, n)->rank - 1];
  }
  return 1;
}

/* Elements of the rows that segments name. */
static int64_t rows_work(const wk_graph *g, const wk_node *n) {
  const wk_value_id indices = n->n_in > 2 ? n->in[2] : WK_NONE;
  int64_t rows = indices == WK_NONE ? wk_val(g, n->in[0])->type.dims[0] : count(g, indices);
  return times(rows, times(8, wk_val(g, n->out[0])->type.dims[1]));
}

/* Elements that a fold walks: its inputs broadcast against each other may be far more than they
 * are. */
static int64_t folded_work(const wk_graph *g, const wk_node *n, int64_t in) {
  wk_type space = wk_val(g, n->in[0])->type;
  for (uint32_t k = 1; k < n->n_in; k++) {
    wk_type both;
    wk_status s = wk_type_broadcast(&space, &wk_val(g, n->in[k])->type, &both);
    if (s) {
      wk_status_free(s);
      return MOST;
    }
    space = both;
  }
  int64_t walked = wk_type_count(&space);
  return times(walked > in ? walked : in, expr_work(WK_ATTR(n, reduce)->pre));
}

/* The node itself, without its bodies. */
static int64_t own_work(const wk_graph *g, const wk_node *n) {
  int64_t in = 0, out = 0;
  for (uint32_t k = 0; k < n->n_in; k++) in = plus(in, count(g, n->in[k]));
  for (uint32_t k = 0; k < n->n_out; k++) out = plus(out, count(g, n->out[k]));
  wk_work_trait work = wk_op_get(n->op)->traits.work;
  int64_t most = work == WK_WORK_PAIRS || work == WK_WORK_MATRIX ? in : out;
  if (work == WK_WORK_SEGMENTS) in = plus(in, rows_work(g, n));
  if (work == WK_WORK_FOLD) in = folded_work(g, n, in);
  return plus(wk_node_macs(g, n), plus(in, times(most, work_per_element(g, n))));
}

int64_t wk_eval_work(const wk_graph *g, const wk_node *n) {
  typedef struct { const wk_graph *g; int64_t times; } body;
  WK_VEC(body) work = {0};
  int64_t sum = own_work(g, n);
  for (uint32_t b = 0; b < n->n_bodies; b++) {
    body first = {n->bodies[b], n->op == WK_OP_LOOP ? WK_ATTR(n, loop)->trip : 1};
    wk_vec_push(&work, first);
  }
  while (work.n && sum < MOST) {
    body at = work.data[--work.n];
    for (size_t i = 0; i < at.g->nodes.n; i++) {
      const wk_node *m = &at.g->nodes.data[i];
      if (m->dead) continue;
      sum = plus(sum, times(at.times, plus(own_work(at.g, m), 16)));
      for (uint32_t b = 0; b < m->n_bodies; b++) {
        int64_t trip = m->op == WK_OP_LOOP ? WK_ATTR(m, loop)->trip : 1;
        body inner = {m->bodies[b], times(at.times, trip > 0 ? trip : 0)};
        wk_vec_push(&work, inner);
      }
    }
  }
  wk_vec_free(&work);
  return sum;
}
