/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/steps.h"

#include <stdlib.h>

void wk_accel_steps_free(wk_accel_steps *s) {
  wk_vec_free(&s->list);
  wk_vec_free(&s->buffers);
  wk_vec_free(&s->results);
  wk_vec_free(&s->alone);
}

void wk_accel_steps_compute(wk_accel_steps *s, int tensor, const wk_accel_place *place) {
  s->result = -1;
  if (tensor < 0) return;
  wk_accel_computed r = {tensor, *place};
  wk_vec_push(&s->results, r);
  s->result = (int)s->results.n - 1;
}

void wk_accel_steps_clear(wk_accel_steps *s) {
  wk_accel_steps kept = {0};
  kept.list.data = s->list.data, kept.list.cap = s->list.cap;
  kept.buffers.data = s->buffers.data, kept.buffers.cap = s->buffers.cap;
  kept.results.data = s->results.data, kept.results.cap = s->results.cap;
  kept.alone.data = s->alone.data, kept.alone.cap = s->alone.cap;
  *s = kept;
}

int wk_accel_buffer_add(wk_accel_steps *s, int64_t bytes, int64_t cell) {
  wk_accel_buffer b = {.bytes = bytes, .cell = cell < 1 ? bytes : cell, .first = -1, .last = -1};
  wk_vec_push(&s->buffers, b);
  return (int)s->buffers.n - 1;
}

wk_accel_step *wk_accel_step_add(wk_accel_steps *s, const wk_isa_command *c) {
  wk_vec_reserve(&s->list, s->list.n + 1);
  wk_accel_step *x = &s->list.data[s->list.n++];
  *x = (wk_accel_step){.c = *c, .tensor = -1, .half = -1, .group = s->group,
                       .result = s->result,
                       .ordinal = s->issued[c->queue]++};
  return x;
}

bool wk_accel_is_transfer(const wk_accel_step *s) {
  return s->c.queue != WK_QUEUE_ex && s->c.queue != WK_QUEUE_ve;
}

void wk_accel_wait_for(wk_accel_step *s, const wk_accel_counts c) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (s->needs[q] < c[q]) s->needs[q] = c[q];
}

/* ---- rows and planes ------------------------------------------------------------------------- */

static int64_t blocks(int n, const wk_accel_view *x) { return wk_ceil_div(x->first + x->c, n); }

bool wk_accel_is_picture(const wk_accel_tensor *t, const wk_accel_view *x) {
  int64_t plane = t->rows * t->row;
  if (x->so % plane || x->sb % plane) return false;
  if (x->h > 1 && (x->sy % t->row || x->sy < 0)) return false;
  int64_t first = x->offset % plane / t->row, step = x->h > 1 ? x->sy / t->row : 0;
  return first + (x->h - 1) * step < t->rows && (x->w - 1) * x->sx < t->row;
}

void wk_accel_rows_of(const wk_accel_net *net, const wk_accel_view *x, int64_t y0, int64_t y1,
                      int64_t rows[2]) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  rows[0] = 0, rows[1] = t->rows;
  if (!wk_accel_is_picture(t, x) || y1 <= y0) return;
  int64_t first = x->offset % (t->rows * t->row) / t->row, step = x->h > 1 ? x->sy / t->row : 0;
  rows[0] = first + y0 * step;
  rows[1] = first + (y1 - 1) * step + 1;
}

int64_t wk_accel_rows_below(const wk_accel_net *net, const wk_accel_view *x, int64_t end) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  if (!wk_accel_is_picture(t, x)) return end >= t->rows ? x->h : 0;
  int64_t first = x->offset % (t->rows * t->row) / t->row, step = x->h > 1 ? x->sy / t->row : 0;
  if (end <= first) return 0;
  if (!step) return x->h;
  int64_t y = wk_ceil_div(end - first, step);
  return y < x->h ? y : x->h;
}

void wk_accel_planes_of(const wk_accel_net *net, const wk_accel_view *x, int64_t planes[2]) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t plane = t->rows * t->row;
  planes[0] = 0, planes[1] = t->planes;
  if (!wk_accel_is_picture(t, x) || x->so < 0 || x->sb < 0) return;
  planes[0] = x->offset / plane;
  planes[1] = (x->offset + (x->o - 1) * x->so + (blocks(net->n, x) - 1) * x->sb) / plane + 1;
}

void wk_accel_needed_rows(const wk_accel_net *net, const wk_accel_op *op, int operand, int64_t y0,
                          int64_t y1, int64_t rows[2]) {
  const wk_accel_view *x = operand ? &op->b : &op->a;
  bool is_whole = operand ? op->kind == WK_ACCEL_MM : op->is_flat;
  bool is_window = !operand && (op->kind == WK_ACCEL_CONV || op->kind == WK_ACCEL_DWC ||
                                op->kind == WK_ACCEL_POOL);
  if (is_whole) {
    rows[0] = 0, rows[1] = net->tensors.data[x->tensor].rows;
    return;
  }
  if (is_window) {
    y0 = y0 * op->sy - op->pad_t;
    y1 = (y1 - 1) * op->sy - op->pad_t + (op->ky - 1) * op->dy + 1;
    if (y0 < 0) y0 = 0;
    if (y1 > x->h) y1 = x->h;
    if (y0 >= x->h) y0 = x->h - 1;
    if (y1 <= y0) y1 = y0 + 1;
  }
  wk_accel_rows_of(net, x, y0, y1, rows);
}

wk_accel_spot wk_accel_spot_of(const wk_accel_net *net, const wk_accel_view *x,
                               const wk_accel_place *p) {
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
