/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/views.h"

static int64_t blocks(int n, const wk_accel_view *x) { return wk_ceil_div(x->first + x->c, n); }

/* Tensor rows from one row of the view to the next. */
static int64_t step_of(const wk_accel_tensor *t, const wk_accel_view *x) {
  return x->h > 1 ? x->sy / t->row : 0;
}

static int64_t first_of(const wk_accel_tensor *t, const wk_accel_view *x) {
  return x->offset % (t->rows * t->row) / t->row;
}

bool wk_accel_is_picture(const wk_accel_tensor *t, const wk_accel_view *x) {
  int64_t plane = t->rows * t->row;
  if (x->so % plane || x->sb % plane) return false;
  if (x->h > 1 && (x->sy % t->row || x->sy < 0)) return false;
  return first_of(t, x) + (x->h - 1) * step_of(t, x) < t->rows && (x->w - 1) * x->sx < t->row;
}

void wk_accel_planes_of(const wk_accel_net *net, const wk_accel_view *x, int64_t planes[2]) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t plane = t->rows * t->row;
  planes[0] = 0, planes[1] = t->planes;
  if (!wk_accel_is_picture(t, x) || x->so < 0 || x->sb < 0) return;
  planes[0] = x->offset / plane;
  planes[1] = (x->offset + (x->o - 1) * x->so + (blocks(net->n, x) - 1) * x->sb) / plane + 1;
}

wk_accel_spot wk_accel_spot_of(const wk_accel_net *net, const wk_accel_view *x,
                               const wk_sched_place *p) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t plane = t->rows * t->row, there = p->rows * p->pitch;
  if (p->rows == t->rows && p->planes == t->planes && p->pitch == t->row)
    return (wk_accel_spot){p->buffer, p->offset + x->offset, x->so, x->sb, x->sy, x->sx};
  int64_t number = x->offset / plane, rest = x->offset % plane;
  wk_accel_spot s = {.buffer = p->buffer, .so = x->so / plane * there,
                     .sb = x->sb / plane * there, .sy = x->sy / t->row * p->pitch, .sx = x->sx};
  s.offset = p->offset + (number - p->plane) * there + (rest / t->row - p->row) * p->pitch +
             rest % t->row + p->lead;
  return s;
}

wk_sched_tensor wk_accel_sched_tensor(const wk_accel_tensor *t) {
  wk_sched_home home = t->segment == WK_SEGMENT_CONST  ? WK_SCHED_CONST
                       : t->segment == WK_SEGMENT_WORK ? WK_SCHED_WORK
                                                       : WK_SCHED_IO;
  return (wk_sched_tensor){.bytes = t->bytes, .planes = t->planes, .rows = t->rows,
                           .row = t->row, .home = home, .at = t->at, .is_shaped = t->is_dense};
}

wk_sched_view wk_accel_sched_view(const wk_accel_net *net, const wk_accel_op *op, int operand) {
  const wk_accel_view *x = operand < 0 ? &op->out : operand ? &op->b : &op->a;
  wk_sched_view y = {.tensor = x->tensor};
  if (x->tensor < 0) return y;
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  bool is_all = (operand == 0 && op->is_flat) || (operand == 1 && op->kind == WK_ACCEL_MM);
  wk_accel_planes_of(net, x, y.planes);
  y.is_whole = is_all || !wk_accel_is_picture(t, x);
  y.rows = x->h, y.first = first_of(t, x), y.step = step_of(t, x);
  y.has_window = operand == 0 && !is_all && (op->kind == WK_ACCEL_CONV ||
                                             op->kind == WK_ACCEL_DWC || op->kind == WK_ACCEL_POOL);
  y.stride = op->sy, y.pad = op->pad_t, y.span = (op->ky - 1) * op->dy + 1;
  return y;
}
