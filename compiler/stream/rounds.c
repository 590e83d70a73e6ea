/* SPDX-License-Identifier: Apache-2.0
 * Rounds: which stacks and planes are in each, and which operators can do some of their stacks
 * after the others. */
#include "compiler/stream/search.h"

void wk_sched_round(const wk_sched_op *op, int rounds, int round, int64_t stacks[2]) {
  int64_t all = wk_sched_stacks(op);
  if (rounds < 1) rounds = 1;
  stacks[0] = all * round / rounds;
  stacks[1] = all * (round + 1) / rounds;
}

bool wk_sched_has_stacks(const wk_sched_net *net) {
  for (size_t i = 0; i < net->n_ops; i++)
    if (wk_sched_stacks(&net->ops[i]) > 1) return true;
  return false;
}

bool wk_sched_has_whole_stacks(const wk_sched_net *net) {
  for (size_t i = 0; i < net->n_ops; i++)
    if (wk_sched_stacks(&net->ops[i]) > 1 && !net->ops[i].shares_pieces) return true;
  return false;
}

bool wk_sched_planes_in(const wk_sched_net *net, int first, int last, int tensor, unsigned uses,
                        int rounds, int round, int64_t planes[2]) {
  planes[0] = INT64_MAX, planes[1] = 0;
  for (int i = first; i <= last; i++) {
    const wk_sched_op *op = &net->ops[i];
    for (int k = -1; k < WK_SCHED_OPERANDS; k++) {
      const wk_sched_view *v = k < 0 ? &op->out : &op->in[k];
      int64_t stacks[2], own[2];
      if (v->tensor != tensor || !(uses & (k < 0 ? WK_SCHED_WRITES : WK_SCHED_READS))) continue;
      wk_sched_round(op, rounds, round, stacks);
      wk_sched_planes_of(op, v, stacks, own);
      if (own[0] < planes[0]) planes[0] = own[0];
      if (own[1] > planes[1]) planes[1] = own[1];
    }
  }
  return planes[1] > 0;
}

/* What the operators read of a tensor that they make is made in the same round, and nothing twice.
 * Rounds are alike, so the first and the last tell. */
static bool is_apart(const wk_sched_searching *x, int first, int last, int rounds, int tensor) {
  for (int k = 0; k < 2; k++) {
    int64_t made[2], read[2], next[2];
    int round = k ? rounds - 1 : 0, other = k ? rounds - 2 : 1;
    if (!wk_sched_planes_in(x->net, first, last, tensor, WK_SCHED_WRITES, rounds, round, made))
      return true;
    wk_sched_planes_in(x->net, first, last, tensor, WK_SCHED_WRITES, rounds, other, next);
    if (wk_sched_overlap(made, next)) return false;
    if (wk_sched_planes_in(x->net, first, last, tensor, WK_SCHED_READS, rounds, round, read) &&
        (read[0] < made[0] || read[1] > made[1]))
      return false;
  }
  return true;
}

/* Of tensors that operators [from, last] use. */
static bool are_rounds_apart(const wk_sched_searching *x, int first, int from, int last,
                             int rounds) {
  for (int i = from; i <= last; i++) {
    const wk_sched_op *op = &x->net->ops[i];
    if (!is_apart(x, first, last, rounds, op->out.tensor)) return false;
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      if (op->in[k].tensor >= 0 && !is_apart(x, first, last, rounds, op->in[k].tensor))
        return false;
  }
  return true;
}

int wk_sched_most_rounds(const wk_sched_searching *x, int first, int last) {
  int64_t stacks = wk_sched_stacks(&x->net->ops[first]);
  for (int i = first + 1; i <= last; i++)
    if (wk_sched_stacks(&x->net->ops[i]) != stacks) return 1;
  return stacks > 1 && are_rounds_apart(x, first, first, last, (int)stacks) ? (int)stacks : 1;
}

bool wk_sched_gains_by_rounds(const wk_sched_searching *x, int first, int last) {
  for (int i = first; i <= last; i++) {
    const wk_sched_op *op = &x->net->ops[i];
    if (!op->shares_pieces) return true;
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      if (op->in[k].tensor >= 0 && op->in[k].stack) return true;
  }
  return false;
}

bool wk_sched_can_follow(const wk_sched_searching *x, const wk_sched_plan *p, size_t g) {
  const wk_sched_group *y = &p->groups.data[g];
  size_t first = g - 1;
  if (y->rounds <= 1 || y->rounds != y[-1].rounds) return false;
  while (first && p->groups.data[first].follows) first--;
  for (int i = y[-1].first; i <= y->last; i++)
    if (wk_sched_stacks(&x->net->ops[i]) % y->rounds) return false;
  return are_rounds_apart(x, p->groups.data[first].first, y->first, y->last, y->rounds);
}
