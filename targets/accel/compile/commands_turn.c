/* SPDX-License-Identifier: Apache-2.0
 * TRN commands: of rows x channels tiles, whole ones first. */
#include "targets/accel/compile/commands.h"

#define PUT(c, field, value) ((c)->v[WK_TRN_##field] = (value))

/* Rows [l, l + nx * rows) of the operand as channels of the result, and channels [y, y + ny * n) as
 * its rows: tiles of rows x n bytes. */
typedef struct {
  int64_t l, rows, nx, y, n, ny;
} tiles;

static void emit_tiles(const wk_accel_work *w, int64_t o, const tiles *t) {
  const wk_accel_op *op = w->op;
  const int n = w->net->n;
  const wk_accel_spot a = wk_accel_spot_of(w->net, &op->a, &w->a);
  const wk_accel_spot y = wk_accel_spot_of(w->net, &op->out, &w->out);
  const int64_t c = op->a.first + t->y;
  const int64_t in = a.offset + o * a.so + c / n * a.sb + c % n + t->l * a.sy;
  const int64_t out = y.offset + o * y.so + t->l / n * y.sb + t->y * y.sy;
  wk_isa_command command = w->net->defaults[WK_CMD_TRN];
  command.queue = WK_QUEUE_ve;
  command.operator = op->layer + 1;
  PUT(&command, in_r, a.sy);
  PUT(&command, out_r, y.sy);
  PUT(&command, nx, t->nx);
  PUT(&command, ny, t->ny);
  PUT(&command, in_x, t->nx > 1 ? n * a.sy : 0);
  PUT(&command, out_x, t->nx > 1 ? y.sb : 0);
  PUT(&command, in_y, t->ny > 1 ? a.sb : 0);
  PUT(&command, out_y, t->ny > 1 ? n * y.sy : 0);
  PUT(&command, rows, t->rows);
  PUT(&command, n, t->n);
  wk_sched_step *s = wk_accel_add_command(w->steps, &command);
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = a.buffer, .field = WK_TRN_in, .at = in, .from = in,
      .run = (t->nx * t->rows - 1) * a.sy + t->n, .n0 = t->ny, .s0 = a.sb, .n1 = 1});
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = y.buffer, .field = WK_TRN_out, .writes = true, .at = out, .from = out,
      .run = (t->ny * t->n - 1) * y.sy + t->rows, .n0 = t->nx, .s0 = y.sb, .n1 = 1});
}

/* All rows of the operand: of these channels. */
static void emit_rows(const wk_accel_work *w, int64_t o, tiles t) {
  const int n = w->net->n;
  const int64_t all = w->op->a.h, most = WK_MAX(TRN, nx);
  t.rows = n;
  for (t.l = 0; t.l + n <= all; t.l += t.nx * n) {
    t.nx = WK_LEAST((all - t.l) / n, most);
    emit_tiles(w, o, &t);
  }
  t.rows = all - t.l, t.nx = 1;
  if (t.rows) emit_tiles(w, o, &t);
}

void wk_accel_emit_turn(const wk_accel_work *w) {
  const int n = w->net->n;
  for (int64_t o = 0; o < w->op->out.o; o++)
    for (tiles t = {.y = w->y0}; t.y < w->y1; t.y += t.ny * t.n) {
      const int64_t lane = (w->op->a.first + t.y) % n, left = w->y1 - t.y;
      t.n = WK_LEAST(n - lane, left);
      t.ny = t.n == n ? WK_LEAST(left / n, WK_MAX(TRN, ny)) : 1;
      emit_rows(w, o, t);
    }
}
