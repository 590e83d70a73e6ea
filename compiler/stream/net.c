/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/net.h"

#include <string.h>

/* Room for one more: twice as much where n is a power of two. */
static void *grow(wk_arena *a, void *data, size_t n, size_t size) {
  if (n & (n - 1)) return data;
  void *more = wk_arena_alloc(a, (n ? 2 * n : 1) * size);
  if (n) memcpy(more, data, n * size);
  return more;
}

int wk_sched_add_tensor(wk_sched_net *net, const wk_sched_tensor *t) {
  net->tensors = grow(net->arena, net->tensors, net->n_tensors, sizeof *t);
  net->tensors[net->n_tensors] = *t;
  return (int)net->n_tensors++;
}

int wk_sched_add_op(wk_sched_net *net, const wk_sched_op *op) {
  net->layers = grow(net->arena, net->layers, net->n_layers, sizeof *net->layers);
  net->layers[net->n_layers] = op->name;
  net->ops = grow(net->arena, net->ops, net->n_ops, sizeof *op);
  net->ops[net->n_ops] = *op;
  net->ops[net->n_ops].layer = (uint32_t)net->n_layers++;
  return (int)net->n_ops++;
}

void wk_sched_pieces_of(const wk_sched_op *op, const int64_t stacks[2], size_t pieces[2]) {
  size_t each = op->pieces / (size_t)wk_sched_stacks(op);
  pieces[0] = op->shares_pieces ? (size_t)stacks[0] * each : 0;
  pieces[1] = op->shares_pieces ? (size_t)stacks[1] * each : op->pieces;
}

void wk_sched_planes_of(const wk_sched_op *op, const wk_sched_view *x, const int64_t stacks[2],
                        int64_t planes[2]) {
  planes[0] = x->planes[0] + stacks[0] * x->stack;
  planes[1] = x->planes[1] - (wk_sched_stacks(op) - stacks[1]) * x->stack;
}

void wk_sched_columns_of(const wk_sched_tensor *t, const wk_sched_view *x, int64_t columns[2]) {
  const bool is_part = x->columns[1] > 0 && !t->is_shaped;
  columns[0] = is_part ? x->columns[0] : 0;
  columns[1] = is_part ? x->columns[1] : t->row;
}

void wk_sched_join_columns(const wk_sched_tensor *t, const wk_sched_view *x, int64_t columns[2]) {
  int64_t own[2];
  wk_sched_columns_of(t, x, own);
  if (own[0] < columns[0]) columns[0] = own[0];
  if (own[1] > columns[1]) columns[1] = own[1];
}

void wk_sched_rows_of(const wk_sched_tensor *t, const wk_sched_view *x, int64_t y0, int64_t y1,
                      int64_t rows[2]) {
  rows[0] = 0, rows[1] = t->rows;
  if (x->is_whole || y1 <= y0) return;
  rows[0] = x->first + y0 * x->step;
  rows[1] = x->first + (y1 - 1) * x->step + 1 + x->extra;
}

int64_t wk_sched_rows_below(const wk_sched_tensor *t, const wk_sched_view *x, int64_t end) {
  if (x->is_whole) return end >= t->rows ? x->rows : 0;
  if (end <= x->first) return 0;
  if (!x->step) return x->rows;
  int64_t y = wk_ceil_div(end - x->first, x->step);
  return y < x->rows ? y : x->rows;
}

void wk_sched_needed_rows(const wk_sched_tensor *t, const wk_sched_view *x,
                          const int64_t stacks[2], int64_t y0, int64_t y1, int64_t rows[2]) {
  if (x->has_window) {
    y0 = y0 * x->stride - x->pad;
    y1 = (y1 - 1) * x->stride - x->pad + x->span;
    if (y0 < 0) y0 = 0;
    if (y1 > x->rows) y1 = x->rows;
    if (y0 >= x->rows) y0 = x->rows - 1;
    if (y1 <= y0) y1 = y0 + 1;
  }
  if (x->needs) {
    const int64_t first = x->needs[2 * y0], end = x->needs[2 * y1 - 1];
    y0 = first, y1 = end;
  }
  if (x->takes_all) y0 = 0, y1 = x->rows;
  wk_sched_rows_of(t, x, y0, y1, rows);
  if (x->is_whole) return;
  rows[0] += stacks[0] * x->stack_rows;
  rows[1] += (stacks[1] - 1) * x->stack_rows;
}

wk_sched_use *wk_sched_uses(const wk_sched_net *net, wk_arena *a) {
  wk_sched_use *u = wk_arena_alloc(a, net->n_tensors * sizeof *u);
  for (size_t t = 0; t < net->n_tensors; t++) u[t] = (wk_sched_use){-1, -1, -1, -1};
  for (int i = 0; i < (int)net->n_ops; i++) {
    const wk_sched_op *op = &net->ops[i];
    for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
      int t = op->in[k].tensor;
      if (t < 0) continue;
      if (u[t].first_reader < 0) u[t].first_reader = i;
      u[t].last_reader = i;
    }
    wk_sched_use *y = &u[op->out.tensor];
    if (y->first_writer < 0) y->first_writer = i;
    y->last_writer = i;
  }
  return u;
}
