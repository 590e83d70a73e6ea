/* SPDX-License-Identifier: Apache-2.0
 * Operators that go channel by channel: each block of channels can be computed by itself, from the
 * convolution that makes it to the mean over it, so what the vector unit does for one block stands
 * beside what the array computes for the next, and a block needs little room. */
#include "targets/accel/compile/emit.h"

/* Piece i has plane i of the view, or, of one that is no picture of rows, of its tensor. */
static bool has_plane_each(const wk_accel_net *net, const wk_accel_op *op,
                           const wk_accel_view *x) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t planes[2], plane = t->rows * t->row, last = (x->h - 1) * x->sy + (x->w - 1) * x->sx;
  bool is_within = !x->offset && x->sy >= 0 && x->sx >= 0 && last < plane;
  wk_accel_planes_of(net, x, planes);
  return x->o == 1 && !x->first && x->sb == plane && (wk_accel_is_picture(t, x) || is_within) &&
         planes[1] - planes[0] == (int64_t)op->n_pieces;
}

bool wk_accel_are_pieces_blocks(const wk_accel_net *net, const wk_accel_op *op) {
  for (size_t i = 0; i < op->n_pieces; i++)
    if (op->pieces[i].c != (int64_t)i * net->n) return false;
  return true;
}

bool wk_accel_goes_by_blocks(const wk_accel_net *net, const wk_accel_op *op) {
  if (op->kind != WK_ACCEL_DWC && op->kind != WK_ACCEL_MAP && op->kind != WK_ACCEL_POOL)
    return false;
  bool is_one_for_all = op->b.tensor >= 0 && op->b.c == 1;
  return op->n_pieces > 1 && wk_accel_are_pieces_blocks(net, op) &&
         has_plane_each(net, op, &op->out) && has_plane_each(net, op, &op->a) &&
         (op->b.tensor < 0 || is_one_for_all || has_plane_each(net, op, &op->b));
}

/* It makes what the other one reads. */
static bool makes_for(const wk_accel_op *op, const wk_accel_op *reader) {
  return op->out.tensor == reader->a.tensor || op->out.tensor == reader->b.tensor;
}

/* Operator i goes block by block with what it reads or with who reads it, if it can. */
static void join(wk_accel_net *net, size_t i, bool reads) {
  wk_accel_op *op = &net->ops.data[i];
  bool can = wk_accel_goes_by_blocks(net, op);
  if (op->kind == WK_ACCEL_CONV)
    can = !reads && wk_accel_goes_by_planes(net, op) &&
          (op->b.tensor < 0 || has_plane_each(net, op, &op->b));
  if (op->piece_stacks || !can) return;
  for (size_t j = reads ? 0 : i + 1; j < (reads ? i : net->ops.n) && !op->piece_stacks; j++) {
    const wk_accel_op *y = &net->ops.data[j];
    bool is_near = reads ? makes_for(y, op) : makes_for(op, y);
    if (is_near && y->piece_stacks == (int64_t)op->n_pieces && y->kind != WK_ACCEL_CONV)
      op->piece_stacks = y->piece_stacks;
  }
}

void wk_accel_find_channels(wk_accel_net *net) {
  for (size_t i = 0; i < net->ops.n; i++) {
    wk_accel_op *op = &net->ops.data[i];
    bool is_windowed = op->kind == WK_ACCEL_DWC || op->kind == WK_ACCEL_POOL;
    if (is_windowed && !op->piece_stacks && wk_accel_goes_by_blocks(net, op))
      op->piece_stacks = (int64_t)op->n_pieces;
    else join(net, i, true);
  }
  for (size_t i = net->ops.n; i-- > 0;) join(net, i, false);
}
