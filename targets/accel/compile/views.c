/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/views.h"

static int64_t blocks(int n, const wk_accel_view *x) { return wk_ceil_div(x->first + x->c, n); }

int64_t wk_accel_plane_of(const wk_accel_tensor *t) { return t->rows * t->row; }

static int64_t first_of(const wk_accel_tensor *t, const wk_accel_view *x) {
  return x->offset % wk_accel_plane_of(t) / t->row;
}

bool wk_accel_are_stacks_within(const wk_accel_tensor *t, const wk_accel_view *x) {
  return x->o > 1 && x->so % wk_accel_plane_of(t);
}

/* Where a row of the view ends: its pixels and the stacks within a plane go on by whole rows of the
 * tensor, or within one, forwards from where it begins and backwards. */
typedef struct {
  int64_t rows, ahead, back; /* ahead, back: bytes */
} extent;

static void extend(const wk_accel_tensor *t, int64_t n, int64_t stride, extent *x) {
  if (stride > 0 && stride % t->row == 0) x->rows += (n - 1) * (stride / t->row);
  else if (stride > 0) x->ahead += (n - 1) * stride;
  else x->back -= (n - 1) * stride;
}

static extent extent_of(const wk_accel_tensor *t, const wk_accel_view *x) {
  extent y = {0};
  extend(t, x->w, x->sx, &y);
  if (wk_accel_are_stacks_within(t, x)) extend(t, x->o, x->so, &y);
  return y;
}

/* Tensor rows from one row of the view to the next; of one row alone, that row's. */
static int64_t step_of(const wk_accel_tensor *t, const wk_accel_view *x) {
  return x->h > 1 ? x->sy / t->row : 1 + extent_of(t, x).rows;
}

bool wk_accel_is_picture(const wk_accel_tensor *t, const wk_accel_view *x) {
  const extent e = extent_of(t, x);
  const int64_t column = x->offset % t->row;
  if (x->sb % wk_accel_plane_of(t) || (wk_accel_are_stacks_within(t, x) && x->so < 0)) return false;
  if (x->h > 1 && (x->sy % t->row || x->sy < 0)) return false;
  return first_of(t, x) + (x->h - 1) * step_of(t, x) + e.rows < t->rows && column >= e.back &&
         column + e.ahead < t->row;
}

bool wk_accel_is_by_rows(const wk_accel_tensor *t, const wk_accel_view *x) {
  const int64_t more = extent_of(t, x).rows;
  return wk_accel_is_picture(t, x) && (!more || more < step_of(t, x));
}

void wk_accel_planes_of(const wk_accel_net *net, const wk_accel_view *x, int64_t planes[2]) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t plane = wk_accel_plane_of(t), so = wk_accel_are_stacks_within(t, x) ? 0 : x->so;
  planes[0] = 0, planes[1] = t->planes;
  if (!wk_accel_is_picture(t, x) || so < 0 || x->sb < 0) return;
  planes[0] = x->offset / plane;
  planes[1] = (x->offset + (x->o - 1) * so + (blocks(net->n, x) - 1) * x->sb) / plane + 1;
}

/* Where rows lie at the pitch of a place, and planes behind one another. */
static int64_t stride_there(const wk_accel_tensor *t, const wk_sched_place *p, int64_t stride) {
  if (stride % wk_accel_plane_of(t) == 0) return stride / wk_accel_plane_of(t) * p->rows * p->pitch;
  return stride % t->row ? stride : stride / t->row * p->pitch;
}

wk_accel_spot wk_accel_spot_of(const wk_accel_net *net, const wk_accel_view *x,
                               const wk_sched_place *p) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t plane = wk_accel_plane_of(t), there = p->rows * p->pitch;
  if (p->rows == t->rows && p->pitch == t->row && p->width == t->row)
    return (wk_accel_spot){p->buffer, p->offset + x->offset - p->plane * plane + p->lead,
                           x->so, x->sb, x->sy, x->sx};
  int64_t number = x->offset / plane, rest = x->offset % plane;
  wk_accel_spot s = {.buffer = p->buffer, .so = stride_there(t, p, x->so),
                     .sb = stride_there(t, p, x->sb), .sy = x->sy / t->row * p->pitch,
                     .sx = x->w > 1 ? stride_there(t, p, x->sx) : x->sx};
  s.offset = p->offset + (number - p->plane) * there + (rest / t->row - p->row) * p->pitch +
             rest % t->row - p->column + p->lead;
  return s;
}

int64_t wk_accel_stack_planes(const wk_accel_net *net, const wk_accel_view *x) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  if (x->o == 1 || !x->so) return 0;
  if (!wk_accel_is_picture(t, x) || x->so < 0 || x->sb < 0) return -1;
  if (wk_accel_are_stacks_within(t, x)) return 0;
  return x->so > (blocks(net->n, x) - 1) * x->sb ? x->so / wk_accel_plane_of(t) : -1;
}

int64_t wk_accel_stacks(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_view *operands[] = {&op->a, &op->b};
  if (op->out.o == 1 || op->is_flat || wk_accel_stack_planes(net, &op->out) < 1) return 1;
  for (int i = 0; i < 2; i++) {
    const wk_accel_view *x = operands[i];
    bool is_fine = x->o == 1 || x->o == op->out.o;
    if (x->tensor >= 0 && (!is_fine || wk_accel_stack_planes(net, x) < 0)) return 1;
  }
  return op->out.o;
}

wk_accel_op wk_accel_some_stacks(const wk_accel_op *op, int64_t o, int64_t end) {
  wk_accel_op y = *op;
  wk_accel_view *views[] = {&y.out, &y.a, &y.b};
  y.macs = op->macs / op->out.o * (end - o);
  for (int i = 0; i < 3; i++) {
    if (views[i]->tensor < 0 || views[i]->o == 1) continue;
    views[i]->offset += o * views[i]->so;
    views[i]->o = end - o;
    if (end - o == 1) views[i]->so = 0;
  }
  return y;
}

wk_sched_tensor wk_accel_sched_tensor(const wk_accel_tensor *t) {
  wk_sched_home home = t->segment == WK_SEGMENT_CONST  ? WK_SCHED_CONST
                       : t->segment == WK_SEGMENT_WORK ? WK_SCHED_WORK
                                                       : WK_SCHED_IO;
  return (wk_sched_tensor){.bytes = t->bytes, .planes = t->planes, .rows = t->rows,
                           .row = t->row, .home = home, .at = t->at, .is_shaped = t->is_dense};
}

/* Rows from one stack to the next, where those are in the same planes. */
static int64_t stack_rows_of(const wk_accel_tensor *t, const wk_accel_view *x) {
  return wk_accel_are_stacks_within(t, x) && x->so % t->row == 0 ? x->so / t->row : 0;
}

/* Bytes of a row that the pixels of a picture lie in. */
static void columns_of(const wk_accel_net *net, const wk_accel_tensor *t, const wk_accel_view *x,
                       int64_t columns[2]) {
  const extent e = extent_of(t, x);
  const int64_t at = x->offset % t->row / net->n * net->n;
  columns[0] = at - e.back;
  columns[1] = at + e.ahead + net->n;
  if (columns[0] < 0 || columns[1] > t->row) columns[0] = 0, columns[1] = t->row;
}

wk_sched_view wk_accel_sched_view(const wk_accel_net *net, const wk_accel_op *op, int operand) {
  const wk_accel_view *x = operand < 0 ? &op->out : operand ? &op->b : &op->a;
  wk_sched_view y = {.tensor = x->tensor};
  if (x->tensor < 0) return y;
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  bool is_all = (operand == 0 && (op->is_flat || op->kind == WK_ACCEL_TURN)) ||
                (operand == 1 && op->kind == WK_ACCEL_MM);
  bool has_rows = operand < 0 ? wk_accel_is_by_rows(t, x) : wk_accel_is_picture(t, x);
  wk_accel_planes_of(net, x, y.planes);
  if (wk_accel_stacks(net, op) > 1) {
    y.stack = wk_accel_stack_planes(net, x);
    y.stack_rows = has_rows ? stack_rows_of(t, x) : 0;
  }
  if (has_rows && !t->is_dense) columns_of(net, t, x, y.columns);
  bool is_apart = op->piece_stacks && (operand || op->kind != WK_ACCEL_CONV);
  if (is_apart) y.stack = (y.planes[1] - y.planes[0]) / op->piece_stacks;
  y.is_whole = !has_rows;
  y.takes_all = is_all;
  y.rows = x->h, y.first = first_of(t, x), y.step = step_of(t, x);
  y.extra = extent_of(t, x).rows - (y.stack_rows ? (x->o - 1) * y.stack_rows : 0);
  y.has_window = operand == 0 && !is_all && (op->kind == WK_ACCEL_CONV ||
                                             op->kind == WK_ACCEL_DWC || op->kind == WK_ACCEL_POOL);
  if (operand == 0) y.needs = op->needs;
  y.stride = op->sy, y.pad = op->pad_t, y.span = (op->ky - 1) * op->dy + 1;
  return y;
}
