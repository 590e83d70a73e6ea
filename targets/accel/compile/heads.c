/* SPDX-License-Identifier: Apache-2.0
 * Queries, keys and values: products with constant matrices whose results are the heads of other
 * products. A head of them can be computed in the round of that head, so what the array computes
 * for the next one stands beside what the vector unit does for this one. */
#include "targets/accel/compile/emit.h"

static const wk_accel_view *view_of(const wk_accel_op *op, int operand) {
  return operand ? &op->b : &op->a;
}

/* Stacks of the reader, if each has as many planes of the tensor, all together `planes` from 0 on;
 * else 0. */
static int64_t heads_of(const wk_accel_net *net, const wk_accel_op *reader, int operand,
                        int64_t planes) {
  const wk_accel_view *x = view_of(reader, operand);
  int64_t stacks = wk_accel_stacks(net, reader), range[2];
  if (stacks < 2 || wk_accel_stack_planes(net, x) * stacks != planes) return 0;
  wk_accel_planes_of(net, x, range);
  return range[0] == 0 && range[1] == planes ? stacks : 0;
}

/* Each piece is a plane of a tensor that it alone writes, all of it. */
static bool goes_by_planes(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_tensor *t = &net->tensors.data[op->out.tensor];
  if (op->kind != WK_ACCEL_CONV || op->is_flat || op->out.o != 1 || op->out.first ||
      op->out.offset || (int64_t)op->n_pieces != t->planes || op->leaves_lanes)
    return false;
  for (size_t i = 0; i < net->ops.n; i++)
    if (&net->ops.data[i] != op && net->ops.data[i].out.tensor == op->out.tensor) return false;
  return t->planes > 1 && op->out.sb == t->rows * t->row && op->out.sx == net->n;
}

/* Of all who read the result of operator i; 0: they do not agree. *first: who does so first. */
static int64_t heads_at(const wk_accel_net *net, size_t i, size_t *first) {
  const wk_accel_op *op = &net->ops.data[i];
  int64_t heads = 0;
  if (!goes_by_planes(net, op)) return 0;
  for (size_t j = i + 1; j < net->ops.n; j++)
    for (int k = 0; k < 2; k++) {
      if (view_of(&net->ops.data[j], k)->tensor != op->out.tensor) continue;
      int64_t n = heads_of(net, &net->ops.data[j], k, (int64_t)op->n_pieces);
      if (!n || (heads && n != heads)) return 0;
      if (!heads) *first = j;
      heads = n;
    }
  return heads;
}

/* Behind the last sums before its reader that the vector unit goes on with in between. */
static void put_late(wk_accel_net *net, size_t i, size_t reader) {
  size_t at = reader - 1;
  while (at > i && !wk_accel_is_sum(&net->ops.data[at])) at--;
  if (at == i || at + 1 == reader) return;
  wk_accel_op op = net->ops.data[i];
  for (; i < at; i++) net->ops.data[i] = net->ops.data[i + 1];
  net->ops.data[at] = op;
}

void wk_accel_find_heads(wk_accel_net *net) {
  for (size_t i = net->ops.n; i-- > 0;) {
    size_t reader = 0;
    net->ops.data[i].heads = heads_at(net, i, &reader);
    if (net->ops.data[i].heads) put_late(net, i, reader);
  }
}
