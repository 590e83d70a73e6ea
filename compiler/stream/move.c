/* SPDX-License-Identifier: Apache-2.0
 * What steps touch, and transfers between memory and the scratchpad. */
#include "compiler/stream/machine.h"

void wk_sched_touch_operands(wk_sched_step *s, const wk_sched_work *w, int first) {
  const wk_sched_net *net = w->b->net;
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    const wk_sched_view *v = &net->ops[w->op].in[k];
    int64_t rows[2], planes[2];
    if (v->tensor < 0) continue;
    wk_sched_planes_of(&net->ops[w->op], v, w->stacks, planes);
    wk_sched_needed_rows(&net->tensors[v->tensor], v, w->stacks, w->y0, w->y1, rows);
    wk_sched_touch_rows(s, &w->in[k], first + k, false, planes, rows);
  }
}

static void add_transfer(wk_sched_building *b, const wk_sched_transfer *x) {
  const wk_sched_machine *m = b->net->machine;
  wk_sched_step *s = m->transfer(b, x);
  s->tensor = x->tensor;
  s->mem_rows[0] = x->rows[0], s->mem_rows[1] = x->rows[1];
  s->mem_at = x->dram, s->mem_run = x->n0, s->mem_runs = x->n1, s->mem_stride = x->s1;
  s->bytes = x->n0 * x->n1;
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = x->buffer, .field = m->spm_field, .writes = !x->stores, .at = x->at,
      .from = x->at, .run = x->chunk, .n0 = x->chunks, .s0 = x->pitch, .n1 = 1});
  *(x->stores ? &b->steps->stored : &b->steps->loaded) += s->bytes;
}

wk_sched_place wk_sched_place_new(wk_sched_building *b, const int64_t columns[2], int64_t row,
                                  int64_t rows, int64_t plane, int64_t planes) {
  int64_t width = columns[1] - columns[0];
  wk_sched_place p = {.column = columns[0], .width = width, .row = row, .rows = rows,
                      .plane = plane, .planes = planes, .pitch = width};
  /* what one command computes is one cell */
  bool is_small = rows * width <= b->net->machine->most_result;
  p.buffer = wk_sched_buffer_add(b->steps, planes * rows * width, is_small ? rows * width : width);
  return p;
}

wk_sched_place wk_sched_place_part(const wk_sched_place *p, const int64_t columns[2]) {
  wk_sched_place y = *p;
  y.offset += columns[0] - p->column;
  y.column = columns[0], y.width = columns[1] - columns[0];
  return y;
}

/* Of the buffer, where row r of plane q begins. */
static int64_t at_row(const wk_sched_place *p, int64_t r, int64_t q) {
  return p->offset + ((q - p->plane) * p->rows + r - p->row) * p->pitch + p->lead;
}

/* A row that is longer than a transfer, of each plane, in pieces. */
static void move_long_row(wk_sched_building *b, wk_sched_transfer *move, const wk_sched_place *p,
                          int64_t r0, int64_t p0, int64_t p1) {
  const wk_sched_tensor *x = &b->net->tensors[move->tensor];
  int64_t most = b->net->machine->most_run;
  move->n1 = move->chunks = 1;
  for (int64_t q = p0; q < p1; q++)
    for (int64_t done = 0; done < p->width; done += move->n0) {
      move->n0 = move->chunk = p->width - done < most ? p->width - done : most;
      move->at = at_row(p, r0, q) + done;
      move->dram = (q * x->rows + r0) * x->row + p->column + done;
      add_transfer(b, move);
    }
}

/* Columns of rows [r0, r1) of planes [p0, p1), a run of memory each: those of all planes where all
 * are equally far apart, both here and there. */
static void move_columns(wk_sched_building *b, wk_sched_transfer *move, const wk_sched_place *p,
                         int64_t r0, int64_t r1, int64_t p0, int64_t p1) {
  const wk_sched_machine *m = b->net->machine;
  const wk_sched_tensor *x = &b->net->tensors[move->tensor];
  const bool is_one_row = r1 - r0 == 1;
  const bool is_all = r1 - r0 == x->rows && p->rows == x->rows;
  const int64_t there = is_one_row ? p->rows * p->pitch : p->pitch;
  const int64_t all = is_one_row ? p1 - p0 : is_all ? (p1 - p0) * x->rows : r1 - r0;
  move->n0 = p->width;
  move->s1 = is_one_row ? x->rows * x->row : x->row;
  for (int64_t q = p0; q < p1; q = is_one_row || is_all ? p1 : q + 1)
    for (int64_t done = 0; done < all; done += move->n1) {
      move->n1 = all - done < m->most_runs ? all - done : m->most_runs;
      move->at = at_row(p, r0, q) + done * there;
      move->dram = (q * x->rows + r0) * x->row + p->column + done * move->s1;
      const bool is_solid = there == p->width;
      move->chunk = is_solid ? move->n1 * p->width : p->width;
      move->chunks = is_solid ? 1 : move->n1;
      move->pitch = is_solid ? 0 : there;
      add_transfer(b, move);
    }
}

void wk_sched_move_rows(wk_sched_building *b, bool stores, uint32_t layer, int t,
                        const wk_sched_place *p, int64_t r0, int64_t r1, int64_t p0, int64_t p1) {
  const wk_sched_machine *m = b->net->machine;
  const wk_sched_tensor *x = &b->net->tensors[t];
  int64_t plane = x->rows * x->row, run = (r1 - r0) * x->row, there = p->rows * p->pitch;
  wk_sched_transfer move = {.stores = stores, .queue = stores ? m->store_queue : m->load_queue,
                            .layer = layer, .tensor = t, .n0 = run, .s1 = plane,
                            .buffer = p->buffer, .chunk = run, .pitch = there, .rows = {r0, r1}};
  if (p->width < x->row && p->width <= m->most_run) {
    move_columns(b, &move, p, r0, r1, p0, p1);
    return;
  }
  int64_t most = m->most_run / run;
  bool is_solid = p->rows == r1 - r0 && p->pitch == x->row;
  if (most > m->most_runs) most = m->most_runs;
  if (p->pitch != x->row && most > 0) { /* each row is a run there */
    int64_t planes = p->rows == r1 - r0 ? m->most_runs / (r1 - r0) : 1;
    if (most > planes) most = planes > 1 ? planes : 1;
  }
  if (most < 1) { /* one plane in several */
    int64_t half = (r0 + r1) / 2;
    if (r1 - r0 == 1) {
      move_long_row(b, &move, p, r0, p0, p1);
      return;
    }
    wk_sched_move_rows(b, stores, layer, t, p, r0, half, p0, p1);
    wk_sched_move_rows(b, stores, layer, t, p, half, r1, p0, p1);
    return;
  }
  for (int64_t q = p0; q < p1; q += most) {
    int64_t n = p1 - q < most ? p1 - q : most;
    move.at = at_row(p, r0, q);
    move.dram = q * plane + r0 * x->row;
    move.n1 = move.chunks = n;
    if (p->pitch != x->row) /* shaped: columns of padding between the rows */
      move.chunk = x->row, move.chunks = n * (r1 - r0), move.pitch = p->pitch;
    else if (is_solid)
      move.chunk = n * run, move.chunks = 1;
    add_transfer(b, &move);
  }
}

int wk_sched_load_each(wk_sched_building *b, const wk_sched_op *op, int64_t from, int64_t bytes,
                       int64_t n) {
  const wk_sched_machine *m = b->net->machine;
  int buffer = wk_sched_buffer_add(b->steps, bytes * n, 0);
  int64_t most = m->most_consts / bytes < m->most_runs ? m->most_consts / bytes : m->most_runs;
  wk_assert(most > 0);
  for (int64_t i = 0, runs; i < n; i += runs) {
    runs = n - i < most ? n - i : most;
    add_transfer(b, &(wk_sched_transfer){.queue = m->const_queue, .layer = op->layer,
                                         .tensor = op->consts, .dram = from + i * op->const_bytes,
                                         .n0 = bytes, .n1 = runs, .s1 = op->const_bytes,
                                         .buffer = buffer, .at = i * bytes, .chunk = runs * bytes,
                                         .chunks = 1});
  }
  return buffer;
}

int wk_sched_load_consts(wk_sched_building *b, const wk_sched_op *op, int64_t from,
                         int64_t bytes) {
  const wk_sched_machine *m = b->net->machine;
  int buffer = wk_sched_buffer_add(b->steps, bytes, 0);
  for (int64_t at = 0; at < bytes;) {
    int64_t n = bytes - at < m->most_consts ? bytes - at : m->most_consts;
    add_transfer(b, &(wk_sched_transfer){.queue = m->const_queue, .layer = op->layer,
                                         .tensor = op->consts, .dram = from + at, .n0 = n,
                                         .n1 = 1, .buffer = buffer, .at = at, .chunk = n,
                                         .chunks = 1});
    at += n;
  }
  return buffer;
}
