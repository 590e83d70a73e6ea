/* SPDX-License-Identifier: Apache-2.0
 * A tile of the result, some rows of some pieces, stands in the accumulators until all blocks of
 * the sum have come. The operand is loaded for each group of pieces, the constants for each group
 * of rows, so tiles are those for which both together are the fewest bytes. */
#include "targets/accel/compile/parts.h"

/* Block k of a view is a plane of its tensor. */
static bool is_by_planes(const wk_accel_net *net, const wk_accel_view *x, int64_t blocks) {
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  int64_t planes[2];
  if (!wk_accel_is_picture(t, x) || x->o != 1 || x->first) return false;
  wk_accel_planes_of(net, x, planes);
  return planes[1] - planes[0] == blocks;
}

bool wk_accel_takes_parts(const wk_accel_net *net, const wk_accel_op *op) {
  if (op->kind != WK_ACCEL_CONV || op->is_packed || op->one_const || op->out.o != 1 || op->kc < 2)
    return false;
  if (op->b.tensor >= 0 && !is_by_planes(net, &op->b, (int64_t)op->n_pieces)) return false;
  return wk_accel_block_bytes(net, op) <= WK_ACCEL_CONSTS && is_by_planes(net, &op->a, op->kc) &&
         op->out.w <= WK_LEAST(wk_machine_entries(net->machine) / 2, wk_accel_most_columns(op));
}

int64_t wk_accel_parts_room(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_tensor *a = &net->tensors.data[op->a.tensor];
  const int64_t row = op->out.w * net->n, taps = (op->ky - 1) * op->dy + 1;
  const int64_t results = op->b.tensor >= 0 ? 2 : 1;
  return taps * a->row + wk_accel_block_bytes(net, op) + op->record_bytes + results * row;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Rows of the result, and pieces; in both halves of the accumulators, or in one, while the other
 * is drained. */
typedef struct {
  int64_t rows, pieces;
  bool in_both;
} tile;

/* What an operator has of its operand: bytes of a row. */
static int64_t width_of(const wk_sched_work *w) {
  const wk_sched_view *a = &w->b->net->ops[w->op].in[0];
  int64_t columns[2];
  wk_sched_columns_of(&w->b->net->tensors[a->tensor], a, columns);
  return columns[1] - columns[0];
}

/* Loads what rows [y0, y1) of the result need of some planes of operand k. */
static wk_sched_place load(const wk_sched_work *w, int k, const int64_t y[2], int64_t plane,
                           int64_t planes) {
  const wk_sched_op *own = &w->b->net->ops[w->op];
  const wk_sched_view *v = &own->in[k];
  const wk_sched_tensor *t = &w->b->net->tensors[v->tensor];
  int64_t columns[2], rows[2];
  wk_sched_needed_rows(t, v, w->stacks, y[0], y[1], rows);
  wk_sched_columns_of(t, v, columns);
  plane += v->planes[0];
  const wk_sched_place p =
      wk_sched_place_new(w->b, columns, rows[0], rows[1] - rows[0], plane, planes);
  wk_sched_move_rows(w->b, false, own->layer, v->tensor, &p, rows[0], rows[1], plane,
                     plane + planes);
  return p;
}

/* Rows of the operand that rows of the result need, about. */
static int64_t rows_for(const wk_accel_op *op, int64_t rows) {
  return (rows - 1) * op->sy + (op->ky - 1) * op->dy + 1;
}

/* Bytes that are loaded for rows [y0, y1). */
static int64_t loaded(const wk_sched_work *w, const wk_accel_op *op, const tile *t) {
  int64_t times = wk_ceil_div((int64_t)op->n_pieces, t->pieces);
  int64_t groups = wk_ceil_div(w->y1 - w->y0, t->rows);
  return times * groups * rows_for(op, t->rows) * width_of(w) * op->kc +
         groups * op->const_bytes * (int64_t)op->n_pieces;
}

enum { PART_OF_ROOM = 16 }; /* of the scratchpad, for results that leave together */

/* Pieces whose results leave together, so that transfers are fewer. */
static int64_t together(const wk_accel_net *net, const wk_accel_op *op, const tile *t) {
  int64_t most = net->machine->scratchpad / PART_OF_ROOM / (t->rows * op->out.w * net->n);
  return most < 1 ? 1 : most < t->pieces ? most : t->pieces;
}

/* Bytes of the scratchpad: two blocks of the sum, records, results and what is added, twice. */
static int64_t room_of(const wk_sched_work *w, const wk_accel_net *net, const wk_accel_op *op,
                       const tile *t) {
  int64_t block = t->pieces * wk_accel_block_bytes(net, op) + rows_for(op, t->rows) * width_of(w);
  int64_t results = (op->b.tensor >= 0 ? 4 : 2) * together(net, op, t);
  return 2 * block + t->pieces * op->record_bytes + results * t->rows * op->out.w * net->n;
}

/* Rows of so many pieces whose sums have room. */
static int64_t most_rows(const wk_sched_work *w, const wk_accel_net *net, const wk_accel_op *op,
                         const tile *t) {
  int64_t half = wk_machine_entries(net->machine) / 2, h = w->y1 - w->y0;
  int64_t rows = half / wk_ceil_div(t->pieces, t->in_both ? 2 : 1) / op->out.w;
  return rows < h ? rows : h;
}

/* Of tiles of so many pieces, as many rows as have room; 0 rows: none. */
static tile fitting_tile(const wk_sched_work *w, const wk_accel_net *net, const wk_accel_op *op,
                         int64_t pieces, bool in_both) {
  const int64_t most = net->machine->scratchpad - net->machine->scratchpad / 8, h = w->y1 - w->y0;
  tile t = {.pieces = pieces, .in_both = in_both};
  t.rows = most_rows(w, net, op, &t);
  while (t.rows && room_of(w, net, op, &t) > most) t.rows--;
  if (t.rows) t.rows = wk_ceil_div(h, wk_ceil_div(h, t.rows));
  return t;
}

static tile choose_tile(const wk_sched_work *w, const wk_accel_net *net, const wk_accel_op *op) {
  tile best = {1, 1, false};
  for (int in_both = 0; in_both < 2; in_both++)
    for (int64_t times = 1; times <= (int64_t)op->n_pieces; times++) {
      const int64_t pieces = wk_ceil_div((int64_t)op->n_pieces, times);
      const tile t = fitting_tile(w, net, op, pieces, in_both);
      if (t.rows && loaded(w, op, &t) < loaded(w, op, &best)) best = t;
    }
  return best;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Pieces [first, end) of chunk `chunk`. */
typedef struct {
  const wk_sched_work *w;
  wk_accel_work *x;
  tile t;
  int64_t chunk, rows[2];
  size_t first, end;
  size_t together; /* pieces whose results have a place together */
  int record; /* buffer */
} job;

static wk_accel_consts consts_of(const job *j, size_t piece, int weights, int64_t bytes,
                                 int64_t k0, int64_t k1) {
  const int64_t n = (int64_t)(j->end - j->first), at = (int64_t)(piece - j->first);
  const int64_t in_first = j->t.in_both ? wk_ceil_div(n, 2) : n;
  const bool is_other = at >= in_first;
  const int64_t beside = is_other ? at - in_first : at;
  return (wk_accel_consts){.weights = weights, .record = j->record, .weights_at = at * bytes,
                           .record_at = at * j->x->op->record_bytes, .k0 = k0, .k1 = k1,
                           .entry = beside * j->x->entries, .is_other = is_other,
                           .goes_on = at + 1 != (is_other ? n : in_first)};
}

/* Where results of the piece, and of those that leave with it, go: to the strip's place, or to one
 * of their own; and what is added to them. */
static void begin_results(const job *j, size_t piece) {
  const wk_sched_op *own = &j->w->b->net->ops[j->w->op];
  wk_sched_work w = *j->w;
  int64_t columns[2];
  size_t end = piece + j->together < j->end ? piece + j->together : j->end;
  if ((piece - j->first) % j->together) return;
  if (own->in[1].tensor >= 0 && w.in[1].buffer < 0)
    j->x->b = load(&w, 1, j->rows, (int64_t)piece, (int64_t)(end - piece));
  if (w.out.buffer >= 0) return;
  wk_sched_columns_of(&w.b->net->tensors[own->out.tensor], &own->out, columns);
  j->x->out = wk_sched_place_new(w.b, columns, j->rows[0], j->rows[1] - j->rows[0],
                                 own->plane + (int64_t)piece, (int64_t)(end - piece));
  w.out = j->x->out;
  w.piece = piece, w.end = end, w.y0 = j->rows[0], w.y1 = j->rows[1];
  wk_accel_fill_lanes(&w);
}

static void end_results(const job *j, size_t piece) {
  const wk_sched_op *own = &j->w->b->net->ops[j->w->op];
  const wk_sched_place *p = &j->x->out;
  bool is_last = (piece - j->first + 1) % j->together == 0 || piece + 1 == j->end;
  if (j->w->out.buffer < 0 && is_last)
    wk_sched_move_rows(j->w->b, true, own->layer, own->out.tensor, p, j->rows[0], j->rows[1],
                       p->plane, p->plane + p->planes);
}

/* Blocks [k0, k1) of the sum, whose planes and constants come now. */
static void emit_part(const job *j, int64_t k0, int64_t k1) {
  const wk_sched_work *w = j->w;
  wk_accel_work *x = j->x;
  const wk_sched_op *own = &w->b->net->ops[w->op];
  int64_t block = wk_accel_block_bytes(x->net, x->op), bytes = (k1 - k0) * block;
  const int half = *x->half;
  x->a = load(w, 0, j->rows, k0, k1 - k0);
  int weights = wk_sched_load_each(
      w->b, own, (int64_t)j->first * own->const_bytes + x->op->record_bytes + k0 * block, bytes,
      (int64_t)(j->end - j->first));
  for (size_t i = j->first; i < j->end; i++) {
    const wk_accel_consts k = consts_of(j, i, weights, bytes, k0, k1);
    if (k1 == x->op->kc) begin_results(j, i);
    wk_sched_steps_compute(w->b->steps, k1 == x->op->kc ? own->out.tensor : -1, &x->out);
    wk_accel_emit_sums(x, i, &k, j->chunk, j->chunk + 1);
    *x->half = half;
    if (k1 == x->op->kc) end_results(j, i);
  }
}

static void emit_tile(const job *j) {
  const wk_sched_work *w = j->w;
  const wk_accel_op *op = j->x->op;
  const int64_t block = wk_accel_block_bytes(j->x->net, op), n = (int64_t)(j->end - j->first);
  int64_t blocks = WK_ACCEL_PART_CHUNKS * w->b->chunk /
                   (n * block + rows_for(op, j->t.rows) * width_of(w));
  blocks = WK_LEAST(blocks, WK_LEAST(WK_ACCEL_CONSTS / block, WK_MAX(CONV, kc)));
  if (blocks < 1) blocks = 1;
  blocks = wk_ceil_div(op->kc, wk_ceil_div(op->kc, blocks));
  for (int64_t k = 0; k < op->kc; k += blocks)
    emit_part(j, k, k + blocks < op->kc ? k + blocks : op->kc);
  if (!j->t.in_both) *j->x->half = 1 - *j->x->half;
}

void wk_accel_emit_parts(const wk_sched_work *w, wk_accel_work *x) {
  const wk_sched_op *own = &w->b->net->ops[w->op];
  job j = {.w = w, .x = x, .t = choose_tile(w, x->net, x->op)};
  j.together = (size_t)together(x->net, x->op, &j.t);
  x->entries = j.t.rows * x->op->out.w;
  const int64_t chunks = wk_accel_chunks(x);
  for (j.chunk = 0; j.chunk < chunks; j.chunk++)
    for (j.first = 0; j.first < x->op->n_pieces; j.first = j.end) {
      j.end = j.first + (size_t)j.t.pieces;
      if (j.end > x->op->n_pieces) j.end = x->op->n_pieces;
      wk_accel_chunk_rows(x, j.chunk, j.rows);
      wk_sched_steps_compute(w->b->steps, -1, NULL);
      j.record = wk_sched_load_each(w->b, own, (int64_t)j.first * own->const_bytes,
                                    x->op->record_bytes, (int64_t)(j.end - j.first));
      emit_tile(&j);
    }
}
