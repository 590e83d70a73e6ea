/* SPDX-License-Identifier: Apache-2.0
 * Queries, keys and values: products with constant matrices whose results are the heads of other
 * products. A head of them can be computed in the round of that head, so what the array computes
 * for the next one stands beside what the vector unit does for this one. Where one product makes
 * all three, it becomes three. */
#include <string.h>

#include "runtime/abi.h"
#include "targets/accel/compile/emit.h"

static const wk_accel_view *view_of(const wk_accel_op *op, int operand) {
  return operand ? &op->b : &op->a;
}

/* Stacks of the reader, if each has as many planes of the tensor, one behind the other, and all
 * together `planes`; else 0. */
static int64_t heads_of(const wk_accel_net *net, const wk_accel_op *reader, int operand,
                        int64_t planes[2]) {
  const wk_accel_view *x = view_of(reader, operand);
  int64_t stacks = wk_accel_stacks(net, reader);
  wk_accel_planes_of(net, x, planes);
  bool are_all = stacks > 1 &&
                 wk_accel_stack_planes(net, x) * stacks == planes[1] - planes[0];
  return are_all ? stacks : 0;
}

bool wk_accel_goes_by_planes(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_tensor *t = &net->tensors.data[op->out.tensor];
  if (op->kind != WK_ACCEL_CONV || op->is_flat || op->out.o != 1 || op->out.first ||
      op->out.offset || (int64_t)op->n_pieces != t->planes || op->leaves_lanes)
    return false;
  for (size_t i = 0; i < net->ops.n; i++)
    if (&net->ops.data[i] != op && net->ops.data[i].out.tensor == op->out.tensor) return false;
  return t->planes > 1 && op->out.sb == t->rows * t->row && op->out.sx == net->n;
}

/* ---- one product for several ----------------------------------------------------------------- */

enum { PARTS = 4 };
typedef struct {
  int n, tensors[PARTS];
  int64_t planes[PARTS][2]; /* one behind the other */
} parts;

/* Adds planes that somebody reads; false: others have some of them, or there are too many. */
static bool add_part(parts *x, const int64_t planes[2]) {
  int at = 0;
  while (at < x->n && x->planes[at][1] <= planes[0]) at++;
  if (at < x->n && x->planes[at][0] == planes[0] && x->planes[at][1] == planes[1]) return true;
  if (x->n == PARTS || (at < x->n && x->planes[at][0] < planes[1])) return false;
  memmove(x->planes + at + 1, x->planes + at, (size_t)(x->n++ - at) * sizeof *x->planes);
  memcpy(x->planes[at], planes, sizeof *x->planes);
  return true;
}

/* Readers have heads of some planes each, and all of them together of all. */
static bool parts_of(const wk_accel_net *net, const wk_accel_op *op, parts *x) {
  const wk_accel_tensor *t = &net->tensors.data[op->out.tensor];
  int64_t planes[2], at = 0;
  *x = (parts){0};
  if (t->segment != WK_SEGMENT_WORK) return false;
  for (size_t j = 0; j < net->ops.n; j++)
    for (int k = 0; k < 2; k++)
      if (view_of(&net->ops.data[j], k)->tensor == op->out.tensor &&
          (!heads_of(net, &net->ops.data[j], k, planes) || !add_part(x, planes)))
        return false;
  for (int i = 0; i < x->n; at = x->planes[i++][1])
    if (x->planes[i][0] != at || (x->planes[i][1] - at) * t->rows * t->row % WICK_ALIGN)
      return false;
  return x->n > 1 && at == t->planes;
}

/* Their tensors lie one behind the other, so that who asks for the whole result finds it. */
static void add_tensors(wk_accel_net *net, int whole, parts *x) {
  for (int i = 0; i < x->n; i++) {
    wk_accel_tensor t = net->tensors.data[whole];
    t.planes = x->planes[i][1] - x->planes[i][0];
    t.bytes = t.planes * t.rows * t.row;
    x->tensors[i] = (int)net->tensors.n;
    wk_vec_push(&net->tensors, t);
  }
  for (size_t i = 0; i < net->left.n; i++)
    if (net->left.data[i].at.tensor == whole) net->left.data[i].at.tensor = x->tensors[0];
}

/* A view of planes of the whole becomes one of the part that has them. */
static void move_view(const wk_accel_net *net, int whole, const parts *x, wk_accel_view *v) {
  const wk_accel_tensor *t = &net->tensors.data[whole];
  int64_t plane = t->rows * t->row;
  int i = 0;
  if (v->tensor != whole) return;
  while (x->planes[i][1] * plane <= v->offset) i++;
  v->tensor = x->tensors[i];
  v->offset -= x->planes[i][0] * plane;
}

static void take_apart(wk_accel_net *net, size_t i, parts *x) {
  const wk_accel_op op = net->ops.data[i];
  int whole = op.out.tensor;
  add_tensors(net, whole, x);
  for (int k = 0; k < x->n; k++) {
    wk_accel_op part = wk_accel_some_pieces(net, &op, (size_t)x->planes[k][0],
                                            (size_t)x->planes[k][1]);
    if (k) wk_accel_insert(net, i + (size_t)k, &part);
    else net->ops.data[i] = part;
  }
  for (size_t j = 0; j < net->ops.n; j++) {
    wk_accel_op *y = &net->ops.data[j];
    move_view(net, whole, x, &y->out);
    move_view(net, whole, x, &y->a);
    move_view(net, whole, x, &y->b);
  }
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* Of all who read the result of operator i; 0: they do not agree. *first: who does so first. */
static int64_t heads_at(const wk_accel_net *net, size_t i, size_t *first) {
  const wk_accel_op *op = &net->ops.data[i];
  int64_t heads = 0;
  if (!wk_accel_goes_by_planes(net, op)) return 0;
  for (size_t j = i + 1; j < net->ops.n; j++)
    for (int k = 0; k < 2; k++) {
      if (view_of(&net->ops.data[j], k)->tensor != op->out.tensor) continue;
      int64_t planes[2], n = heads_of(net, &net->ops.data[j], k, planes);
      if (!n || planes[1] - planes[0] != (int64_t)op->n_pieces || (heads && n != heads)) return 0;
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
  parts x;
  for (size_t i = net->ops.n; i-- > 0;)
    if (wk_accel_goes_by_planes(net, &net->ops.data[i]) && parts_of(net, &net->ops.data[i], &x))
      take_apart(net, i, &x);
  for (size_t i = net->ops.n; i-- > 0;) {
    size_t reader = 0;
    net->ops.data[i].piece_stacks = heads_at(net, i, &reader);
    if (net->ops.data[i].piece_stacks) put_late(net, i, reader);
  }
}
