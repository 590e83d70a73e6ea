/* SPDX-License-Identifier: Apache-2.0
 * Random nets for the scheduler: operators that read rows, windows of them, rows in steps, or all
 * of them, or columns of these; with stacks, constants and pieces, and some that ride on others. */
#ifndef WICK_TESTS_RANDOM_SCHED_NET_H
#define WICK_TESTS_RANDOM_SCHED_NET_H

#include "compiler/stream/machine.h"

enum { OPS = 10, TENSORS = 2 + OPS, CELL = 8 };

typedef struct {
  wk_sched_machine machine;
  wk_sched_net net;
  wk_sched_tensor tensors[TENSORS + OPS];
  wk_sched_op ops[OPS];
  const char *layers[OPS];
  int64_t stacks; /* of operators that have some */
  wk_rng rng;
} made;

static inline int64_t draw(made *x, int64_t low, int64_t high) {
  return wk_rng_range(&x->rng, low, high);
}

static inline int engine_of(const wk_sched_net *net, int op) {
  return wk_sched_in(net->machine->queues.computes, 1) ? op % 2 : 0;
}

static inline int add_tensor(made *x, wk_sched_home home, int64_t planes, int64_t rows,
                             int64_t row) {
  wk_sched_tensor *t = &x->tensors[x->net.n_tensors];
  *t = (wk_sched_tensor){.bytes = planes * rows * row, .planes = planes, .rows = rows, .row = row,
                         .home = home};
  return (int)x->net.n_tensors++;
}

static inline wk_sched_view view_of(const made *x, int tensor) {
  const wk_sched_tensor *t = &x->tensors[tensor];
  return (wk_sched_view){.tensor = tensor, .planes = {0, t->planes}, .rows = t->rows, .step = 1};
}

/* Stacks below one another, as far as the tensor has rows for them. */
static inline void move_stacks_down(made *x, const wk_sched_op *op, wk_sched_view *v) {
  if (v->tensor < 0 || v->is_whole || op->rides || wk_sched_stacks(op) < 2) return;
  int64_t last = v->first + (v->rows - 1) * v->step + v->extra;
  int64_t room = (x->tensors[v->tensor].rows - 1 - last) / (op->stacks - 1);
  if (room > 0 && draw(x, 0, 2)) v->stack = 0, v->stack_rows = draw(x, 1, room);
}

/* An operator with stacks: each has its planes of every tensor that has as many of them. */
static inline void add_stacks(made *x, wk_sched_op *op) {
  wk_sched_view *views[] = {&op->out, &op->in[0], &op->in[1]};
  if (x->tensors[op->out.tensor].planes % x->stacks) return;
  op->stacks = x->stacks;
  for (int i = 0; i < 3; i++) {
    int64_t planes = views[i]->tensor < 0 ? 1 : x->tensors[views[i]->tensor].planes;
    if (planes % x->stacks == 0) views[i]->stack = planes / x->stacks;
    if (i) move_stacks_down(x, op, views[i]);
  }
}

/* Some of the tensor's rows, in steps, each with some behind it that others may have as well; or,
 * for each row of the result, all of these. The rows of the result. */
static inline int64_t make_steps(made *x, wk_sched_view *v) {
  int64_t all = v->rows;
  v->first = draw(x, 0, all - 1), v->step = draw(x, 1, 3);
  v->extra = draw(x, 0, all - 1 - v->first < 3 ? all - 1 - v->first : 3);
  v->rows = (all - 1 - v->extra - v->first) / v->step + 1;
  v->takes_all = !draw(x, 0, 3);
  return v->takes_all ? draw(x, 1, 6) : v->rows;
}

/* Some of the cells of each row. */
static inline void make_columns(made *x, wk_sched_view *v) {
  int64_t cells = x->tensors[v->tensor].row / CELL;
  if (cells < 2 || draw(x, 0, 3)) return;
  v->columns[0] = CELL * draw(x, 0, cells - 1);
  v->columns[1] = v->columns[0] + CELL * draw(x, 1, cells - v->columns[0] / CELL);
}

/* Reads all rows of the tensor, or a window of them, or others; the rows of the result. */
static inline int64_t make_operand(made *x, int tensor, wk_sched_view *v) {
  *v = view_of(x, tensor);
  make_columns(x, v);
  if (!draw(x, 0, 4)) return make_steps(x, v);
  if (!draw(x, 0, 5)) {
    v->is_whole = true;
    return draw(x, 1, 6);
  }
  v->stride = draw(x, 1, 2), v->span = draw(x, 1, 4), v->pad = draw(x, 0, v->span - 1);
  v->has_window = true;
  int64_t rows = (v->rows + 2 * v->pad - v->span) / v->stride + 1;
  return rows < 1 ? v->is_whole = true, v->has_window = false, 1 : rows;
}

/* By pieces, of each stack or of all of them. */
static inline void add_consts(made *x, wk_sched_op *op) {
  op->shares_pieces = wk_sched_stacks(op) > 1 && op->out.stack && draw(x, 0, 1);
  op->pieces = (size_t)(x->tensors[op->out.tensor].planes / wk_sched_stacks(op));
  if (op->shares_pieces) op->pieces *= (size_t)op->stacks;
  op->const_bytes = CELL * draw(x, 0, 3);
  op->by_pieces = true, op->plane = 0;
  if (!op->const_bytes) return;
  int64_t bytes = op->const_bytes * (int64_t)op->pieces;
  op->consts = add_tensor(x, WK_SCHED_CONST, 1, 1, bytes);
}

/* The last columns of a result have an operator of their own. */
static inline void share_columns(made *x, wk_sched_op *op) {
  wk_sched_op *other = &x->ops[x->net.n_ops];
  int64_t row = x->tensors[op->out.tensor].row, at = CELL * draw(x, 1, row / CELL - 1);
  *other = *op;
  other->layer = (uint32_t)x->net.n_ops++;
  other->queue = engine_of(&x->net, (int)x->net.n_ops - 1);
  op->out.columns[1] = at;
  other->out.columns[0] = at, other->out.columns[1] = row;
}

/* The second half of a result, or of each of its stacks, has an operator of its own. */
static inline void share_result(made *x, wk_sched_op *op) {
  wk_sched_op *other = &x->ops[x->net.n_ops];
  int64_t each = x->tensors[op->out.tensor].planes / wk_sched_stacks(op);
  *other = *op;
  other->layer = (uint32_t)x->net.n_ops++;
  other->queue = engine_of(&x->net, (int)x->net.n_ops - 1);
  op->out.planes[1] -= each - each / 2;
  other->out.planes[0] = each / 2;
}

static inline int64_t draw_planes(made *x) {
  int64_t each = draw(x, 1, x->stacks > 1 ? 2 : 4);
  return x->stacks > 1 && draw(x, 0, 3) ? each * x->stacks : each;
}

/* Plane by plane of a tensor, or of two: its pieces may ride on whoever makes it, its result may
 * lie where that was, unless each of its rows needs several. */
static inline void ride(made *x, wk_sched_op *op, int from) {
  const wk_sched_tensor *t = &x->tensors[from];
  int64_t rows = t->rows;
  op->rides = true, op->plane = 0;
  op->in[0] = view_of(x, from);
  if (!draw(x, 0, 2)) rows = make_operand(x, from, &op->in[0]);
  for (int other = from; other-- > 0 && draw(x, 0, 1);)
    if (x->tensors[other].home != WK_SCHED_CONST && x->tensors[other].rows == rows &&
        x->tensors[other].planes == t->planes) {
      op->in[1] = view_of(x, other);
      break;
    }
  op->replaces = draw(x, 0, 2) && rows == t->rows && !op->in[0].has_window &&
                 !op->in[0].is_whole && !op->in[0].takes_all;
  op->out = view_of(x, add_tensor(x, draw(x, 0, 3) ? WK_SCHED_WORK : WK_SCHED_IO, t->planes, rows,
                                  op->replaces ? t->row : CELL * draw(x, 1, 4)));
  if (x->stacks > 1 && draw(x, 0, 7)) add_stacks(x, op);
  op->pieces = (size_t)(t->planes / wk_sched_stacks(op));
}

static inline void add_op(made *x) {
  wk_sched_op *op = &x->ops[x->net.n_ops];
  *op = (wk_sched_op){.name = "o", .kind = "k", .layer = (uint32_t)x->net.n_ops, .pieces = 1,
                      .consts = -1, .plane = -1, .in = {{.tensor = -1}, {.tensor = -1}},
                      .queue = engine_of(&x->net, (int)x->net.n_ops)};
  x->net.n_ops++;
  int from;
  do from = (int)draw(x, 0, (int64_t)x->net.n_tensors - 1);
  while (x->tensors[from].home == WK_SCHED_CONST);
  if (!draw(x, 0, 2)) {
    int last = x->net.n_ops > 1 ? op[-1].out.tensor : from;
    ride(x, op, draw(x, 0, 2) ? last : from);
    return;
  }
  int64_t rows = make_operand(x, from, &op->in[0]);
  for (int other = from; other-- > 0 && draw(x, 0, 2);) /* a second one with as many rows */
    if (x->tensors[other].home != WK_SCHED_CONST && x->tensors[other].rows == rows) {
      op->in[1] = view_of(x, other);
      break;
    }
  int out = add_tensor(x, draw(x, 0, 3) ? WK_SCHED_WORK : WK_SCHED_IO, draw_planes(x), rows,
                       CELL * draw(x, 1, 4));
  op->out = view_of(x, out);
  if (x->stacks > 1 && draw(x, 0, 7)) add_stacks(x, op);
  if (draw(x, 0, 1)) add_consts(x, op);
  else if (x->tensors[out].row > CELL && x->net.n_ops < OPS && !draw(x, 0, 2))
    share_columns(x, op);
  else if (x->tensors[out].planes > wk_sched_stacks(op) && x->net.n_ops < OPS && draw(x, 0, 1))
    share_result(x, op);
}

static inline void make_net(made *x, wk_arena *a) {
  int64_t ops = draw(x, 1, OPS - 1);
  x->net = (wk_sched_net){.machine = &x->machine, .arena = a, .tensors = x->tensors,
                          .ops = x->ops, .layers = x->layers, .n_layers = OPS};
  for (int i = 0; i < OPS; i++) x->layers[i] = "layer";
  x->stacks = draw(x, 0, 1) ? draw(x, 2, 5) : 1;
  add_tensor(x, WK_SCHED_IO, draw_planes(x), draw(x, 1, 14), CELL * draw(x, 1, 4));
  add_tensor(x, WK_SCHED_IO, draw_planes(x), draw(x, 1, 14), CELL * draw(x, 1, 4));
  while ((int64_t)x->net.n_ops < ops) add_op(x);
  for (size_t t = 0; t < x->net.n_tensors; t++) { /* what nobody reads leaves */
    bool is_read = x->tensors[t].home == WK_SCHED_CONST;
    for (size_t i = 0; i < x->net.n_ops; i++)
      is_read |= x->ops[i].in[0].tensor == (int)t || x->ops[i].in[1].tensor == (int)t;
    if (!is_read) x->tensors[t].home = WK_SCHED_IO;
  }
}

#endif
