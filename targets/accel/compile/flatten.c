/* SPDX-License-Identifier: Apache-2.0
 * Pixels that nobody sees as an image are rows: where all that a tensor meets takes pixels one by
 * one, its rows of w pixels become w rows of one, as a matrix has them, so that a product is cut
 * into strips in the same way however its rows are written. */
#include "targets/accel/compile/flatten.h"

static wk_accel_view *view_at(wk_accel_op *op, int i) {
  return i == 0 ? &op->out : i == 1 ? &op->a : &op->b;
}

/* Nothing of it is an image already. */
static bool is_plain(const wk_accel_view *x) { return x->tensor < 0 || x->w == 1; }

/* Rows lie one after the other. */
static bool is_dense(int n, const wk_accel_view *x) {
  return x->w == 1 || (x->sx == n && (x->h == 1 || x->sy == x->w * n));
}

static bool takes_pixels(const wk_accel_op *op) {
  if (op->kind != WK_ACCEL_CONV && op->kind != WK_ACCEL_MAP && op->kind != WK_ACCEL_ROW)
    return false;
  return op->ky == 1 && op->kx == 1 && op->sy == 1 && op->sx == 1 && !op->pad_t && !op->pad_l &&
         !op->is_packed && !op->is_flat && !op->is_line;
}

/* One by one, and those of its operands with those of its result. */
static bool can_be_rows(int n, wk_accel_op *op) {
  bool are_plain = true;
  for (int i = 0; i < 3; i++) are_plain = are_plain && is_plain(view_at(op, i));
  if (are_plain) return true;
  if (!takes_pixels(op)) return false;
  for (int i = 0; i < 3; i++) {
    const wk_accel_view *x = view_at(op, i);
    if (x->tensor < 0 || (i && x->h == 1 && x->w == 1)) continue;
    if (x->h * x->w != op->out.h * op->out.w || !is_dense(n, x)) return false;
  }
  return true;
}

/* What enters a part has no rows yet. */
static bool has_no_rows(const wk_accel_tensor *t) {
  return t->segment >= WK_SEGMENT_IO && t->row == t->bytes;
}

/* The tensor's rows are those of the view. */
static bool are_rows_of(int n, const wk_accel_tensor *t, const wk_accel_view *x) {
  return x->w == 1 || (!t->is_dense && (has_no_rows(t) || t->row == x->w * n));
}

/* An operator that needs an image keeps the tensors that it meets as images, and those keep the
 * operators that they meet. */
static void find_images(wk_accel_net *net, bool *is_image) {
  for (bool any = true; any;) {
    any = false;
    for (size_t i = 0; i < net->ops.n; i++) {
      wk_accel_op *op = &net->ops.data[i];
      bool fine = can_be_rows(net->n, op);
      for (int v = 0; v < 3 && fine; v++) {
        const wk_accel_view *x = view_at(op, v);
        fine = x->tensor < 0 || is_plain(x) ||
               (!is_image[x->tensor] && are_rows_of(net->n, &net->tensors.data[x->tensor], x));
      }
      for (int v = 0; v < 3 && !fine; v++) {
        const wk_accel_view *x = view_at(op, v);
        if (x->tensor < 0 || is_image[x->tensor]) continue;
        is_image[x->tensor] = any = true;
      }
    }
  }
}

static void make_rows(int n, wk_accel_view *x) {
  if (x->w == 1) return;
  x->h *= x->w;
  x->w = 1;
  x->sx = x->sy = n;
}

void wk_accel_flatten(wk_accel_net *net) {
  bool *is_image = wk_arena_alloc(net->arena, net->tensors.n * sizeof *is_image);
  bool *is_changed = wk_arena_alloc(net->arena, net->tensors.n * sizeof *is_changed);
  find_images(net, is_image);
  for (size_t i = 0; i < net->ops.n; i++)
    for (int v = 0; v < 3; v++) {
      wk_accel_view *x = view_at(&net->ops.data[i], v);
      if (x->tensor < 0 || x->w == 1 || is_image[x->tensor]) continue;
      is_changed[x->tensor] = true;
      make_rows(net->n, x);
    }
  for (size_t i = 0; i < net->tensors.n; i++) {
    wk_accel_tensor *t = &net->tensors.data[i];
    if (!is_changed[i] || has_no_rows(t)) continue;
    t->rows *= t->row / net->n;
    t->row = net->n;
  }
}
