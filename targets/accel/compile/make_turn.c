/* SPDX-License-Identifier: Apache-2.0
 * Tensors that lie in blocks along another axis than an operator wants: the vector unit transposes
 * them, tile by tile (TRN). */
#include "targets/accel/compile/net.h"

/* Rows, with the last axis but one in the place of the last if that is the one in blocks. */
static bool rows_of(wk_accel_making *k, const wk_accel_operand *x, wk_accel_view *out) {
  int64_t perm[WK_MAX_RANK];
  wk_accel_operand y = *x;
  for (int i = 0; i < x->rank; i++) perm[i] = i;
  perm[x->rank - 1] = x->rank - 2, perm[x->rank - 2] = x->rank - 1;
  if (x->lane == x->rank - 2) wk_operand_transpose(x, perm, &y);
  return wk_accel_rows(k, &y, out);
}

bool wk_accel_turn(wk_accel_making *k, wk_value_id v, int lane, wk_accel_operand *x) {
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_TURN);
  const int last = x->rank - 1;
  if (x->lane == lane) return true;
  if (last < 1 || x->lane < last - 1 || lane < last - 1)
    return wk_accel_refuse(k, "rows that do not lie in blocks of elements");
  wk_accel_operand y = wk_accel_fresh(k, v, lane);
  if (!rows_of(k, x, &op.a) || !rows_of(k, &y, &op.out)) return false;
  op.one_const = true;
  wk_accel_op *made = wk_accel_add(k, &op);
  wk_accel_cut_pieces(k, made, NULL);
  made->leaves_lanes = made->out.c % k->net->n != 0;
  *x = y;
  return true;
}
