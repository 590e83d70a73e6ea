/* SPDX-License-Identifier: Apache-2.0
 * Probabilities of classes from those between each two of them: the second method of Wu, Lin and
 * Weng, "Probability estimates for multi-class classification by pairwise coupling" (2004), as
 * libsvm and ONNX Runtime compute it. With r[i][j] the probability of i where it is i or j, p is
 * what minimises p Q p, where Q[i][i] is the sum of r[j][i] squared over j and Q[i][j] is
 * -r[j][i] r[i][j]. One class after the other gets what its row of Q asks for and all are divided
 * by their sum, until every row is within EPSILON / classes of the mean, ROUNDS times at most. */
#include "compiler/onnx/domains/ml.h"

#include <string.h>

#define EPSILON 0.005
#define ROUNDS 100

typedef struct {
  int64_t rows, classes;
  wk_type matrix, vector, column; /* [rows, classes, classes], [rows, classes], [rows, 1] */
} sizes;

static wk_value_id sum_of(wk_onnx_node *c, wk_value_id x, int axis, bool keep) {
  return wk_make_reduce(c, WK_OP_REDUCE_SUM, x, wk_make_axes(c, axis, axis + 1), keep);
}

static wk_value_id minus(wk_onnx_node *c, wk_value_id x, wk_value_id y) {
  return wk_make_2(c, WK_OP_SUB, x, y);
}

static wk_value_id times(wk_onnx_node *c, wk_value_id x, wk_value_id y) {
  return wk_make_2(c, WK_OP_MUL, x, y);
}

static wk_value_id over(wk_onnx_node *c, wk_value_id x, wk_value_id y) {
  return wk_make_2(c, WK_OP_DIV, x, y);
}

/* ---- Q --------------------------------------------------------------------------------------- */

/* r [rows, classes, classes] of the pairs' probabilities; 0 in the diagonal. */
static wk_value_id square_of(wk_onnx_node *c, const sizes *z, wk_value_id pairs) {
  int64_t k = z->classes, n = k * (k - 1) / 2;
  int64_t *at = wk_arena_alloc(c->im->arena, (size_t)(k * k) * sizeof *at);
  for (int64_t i = 0, p = 0; i < k; i++) {
    at[i * k + i] = 2 * n;
    for (int64_t j = i + 1; j < k; j++, p++) {
      at[i * k + j] = p;
      at[j * k + i] = n + p;
    }
  }
  wk_value_id none = wk_make_expand(c, wk_make_scalar(c, WK_F32, 0), 2, z->column.dims);
  wk_value_id others = wk_make_add_f(c, wk_make_1(c, WK_OP_NEG, pairs), 1);
  wk_value_id all = wk_make_concat(c, (const wk_value_id[]){pairs, others, none}, 3, 1);
  return wk_make_reshape(c, wk_make_gather(c, all, wk_make_i64s(c, at, k * k), 1), 3,
                         z->matrix.dims);
}

static wk_value_id identity(wk_onnx_node *c, int64_t k) {
  void *data;
  const wk_type t = wk_type_make(WK_F32, 2, (const int64_t[]){k, k});
  wk_value_id v = wk_make_constant(c, &t, &data);
  for (int64_t i = 0; i < k && !c->status; i++) ((float *)data)[i * (k + 1)] = 1;
  return v;
}

static wk_value_id q_of(wk_onnx_node *c, const sizes *z, wk_value_id r, wk_value_id *diagonal) {
  wk_value_id rest = times(c, r, wk_make_transpose(c, r, (const int64_t[]){0, 2, 1}));
  *diagonal = sum_of(c, times(c, r, r), 1, false);
  const wk_ints middle = {.n = 1, .v = (const int64_t[]){1}};
  wk_value_id d = times(c, wk_make_unsqueeze(c, *diagonal, middle), identity(c, z->classes));
  return minus(c, d, rest);
}

/* ---- rounds --------------------------------------------------------------------------------- */

enum { P, QP, PQP, STATES };

/* Class i gets its share: p, Q p and p Q p move on. */
static wk_graph *class_body(wk_onnx_node *c, const sizes *z) {
  wk_onnx_node b;
  wk_value_id i = wk_ml_loop_body(c, &b);
  wk_value_id p = wk_graph_input(b.g, "p", &z->vector);
  wk_value_id qp = wk_graph_input(b.g, "qp", &z->vector);
  wk_value_id pqp = wk_graph_input(b.g, "pqp", &z->column);
  wk_value_id q = wk_graph_input(b.g, "q", &z->matrix);
  wk_value_id diagonal = wk_graph_input(b.g, "diagonal", &z->vector);
  wk_value_id at = wk_make_reshape(&b, i, 1, (const int64_t[]){1});
  wk_value_id row = wk_make_gather(&b, q, i, 1);
  wk_value_id own = wk_make_gather(&b, diagonal, at, 1), here = wk_make_gather(&b, qp, at, 1);
  wk_value_id step = over(&b, minus(&b, pqp, here), own);
  wk_value_id whole = wk_make_add_f(&b, step, 1);
  wk_value_id is_own = wk_make_2(&b, WK_OP_EQUAL, wk_make_iota(&b, z->classes), i);
  wk_value_id more = times(&b, step, wk_make_cast(&b, is_own, WK_F32));
  wk_value_id gain = wk_make_2(&b, WK_OP_ADD, times(&b, step, own), wk_make_mul_f(&b, here, 2));
  gain = wk_make_2(&b, WK_OP_ADD, pqp, times(&b, step, gain));
  wk_value_id moved = wk_make_2(&b, WK_OP_ADD, qp, times(&b, step, row));
  wk_value_id next[STATES] = {
      [P] = over(&b, wk_make_2(&b, WK_OP_ADD, p, more), whole),
      [QP] = over(&b, moved, whole),
      [PQP] = over(&b, over(&b, gain, whole), whole)};
  wk_onnx_latch(c, b.status);
  for (int k = 0; k < STATES && !c->status; k++) wk_graph_output(b.g, NULL, next[k]);
  return b.g;
}

/* A round, for the rows that are not there yet; goes on while there are such. */
static wk_graph *round_body(wk_onnx_node *c, const sizes *z) {
  wk_onnx_node b;
  wk_ml_loop_body(c, &b);
  wk_value_id p = wk_graph_input(b.g, "p", &z->vector);
  wk_value_id q = wk_graph_input(b.g, "q", &z->matrix);
  wk_value_id diagonal = wk_graph_input(b.g, "diagonal", &z->vector), out[STATES];
  const wk_ints middle = {.n = 1, .v = (const int64_t[]){1}};
  wk_value_id qp = sum_of(&b, times(&b, q, wk_make_unsqueeze(&b, p, middle)), 2, false);
  wk_value_id pqp = sum_of(&b, times(&b, p, qp), 1, true);
  wk_value_id off = wk_make_1(&b, WK_OP_ABS, minus(&b, qp, pqp));
  off = wk_make_reduce(&b, WK_OP_REDUCE_MAX, off, wk_make_axes(&b, 1, 2), true);
  wk_value_id limit = wk_make_scalar(&b, WK_F32, EPSILON / (double)z->classes);
  wk_value_id goes_on = wk_make_1(&b, WK_OP_NOT, wk_make_2(&b, WK_OP_LESS, off, limit));
  wk_onnx_latch(c, b.status);
  if (c->status) return NULL;
  wk_ml_loop_add(&b, class_body(&b, z), z->classes, (const wk_value_id[]){WK_NONE, p, qp, pqp, q,
                                                                    diagonal}, 6, STATES, out);
  wk_onnx_latch(c, b.status);
  if (c->status) return NULL;
  wk_value_id next = wk_make_where(&b, goes_on, out[P], p);
  wk_value_id any = wk_make_reduce(&b, WK_OP_REDUCE_MAX, wk_make_cast(&b, goes_on, WK_I32),
                                   wk_make_axes(&b, 0, 2), false);
  any = wk_make_2(&b, WK_OP_GREATER, any, wk_make_scalar(&b, WK_I32, 0));
  wk_onnx_latch(c, b.status);
  if (c->status) return NULL;
  wk_graph_output(b.g, NULL, any);
  wk_graph_output(b.g, NULL, next);
  return b.g;
}

wk_value_id wk_ml_couple(wk_onnx_node *c, wk_value_id pairs, int64_t classes) {
  if (c->status) return WK_NONE;
  int64_t rows = wk_onnx_type(c, pairs)->dims[0];
  const sizes z = {rows, classes,
                   wk_type_make(WK_F32, 3, (const int64_t[]){rows, classes, classes}),
                   wk_type_make(WK_F32, 2, (const int64_t[]){rows, classes}),
                   wk_type_make(WK_F32, 2, (const int64_t[]){rows, 1})};
  wk_value_id even = wk_make_scalar(c, WK_F32, 1 / (double)classes), diagonal, p = WK_NONE;
  even = wk_make_expand(c, even, 2, z.vector.dims);
  if (rows == 0) return even;
  if (!wk_ml_loop_fits(c, 2)) return WK_NONE;
  wk_value_id q = q_of(c, &z, square_of(c, &z, pairs), &diagonal);
  wk_graph *body = c->status ? NULL : round_body(c, &z);
  if (!body) return WK_NONE;
  wk_ml_loop_add(c, body, ROUNDS, (const wk_value_id[]){wk_make_scalar(c, WK_BOOL, 1), even, q,
                                                  diagonal}, 4, 1, &p);
  return c->status ? WK_NONE : p;
}
