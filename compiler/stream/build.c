/* SPDX-License-Identifier: Apache-2.0
 * Steps of a plan: where tensors are, and what an operator's rows in a strip need. */
#include "compiler/stream/building.h"

#include <stdlib.h>

static const wk_sched_machine *machine(const wk_sched_builder *b) { return b->base.net->machine; }
static bool in_group(const wk_sched_builder *b, int op) {
  return op >= b->base.group->first && op <= b->base.group->last;
}
static bool is_resident(const wk_sched_builder *b, int t, int op) {
  return b->plan->resident[t] >= op;
}
bool wk_sched_is_made_here(const wk_sched_builder *b, int t) {
  return b->uses[t].first_writer >= 0 && in_group(b, b->uses[t].first_writer);
}
bool wk_sched_is_read_here(const wk_sched_builder *b, int t) {
  for (int i = b->base.group->first; i <= b->base.group->last; i++)
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      if (wk_sched_op_of(b, i)->in[k].tensor == t) return true;
  return false;
}
static void stacks_of(const wk_sched_builder *b, const wk_sched_op *op, int64_t stacks[2]) {
  wk_sched_round(op, b->base.group->rounds, b->strip->round, stacks);
}
void wk_sched_round_planes(const wk_sched_builder *b, const wk_sched_op *op,
                           const wk_sched_view *x, int64_t planes[2]) {
  int64_t stacks[2];
  stacks_of(b, op, stacks);
  wk_sched_planes_of(op, x, stacks, planes);
}
/* It has to be in memory after the group. */
static bool is_stored(const wk_sched_builder *b, int t) {
  const wk_sched_use *u = &b->uses[t];
  if (wk_sched_tensor_of(b, t)->home == WK_SCHED_IO) return true;
  int served = b->base.group->last;
  if (b->plan->resident[t] > served) served = b->plan->resident[t];
  return u->last_reader > served || u->last_writer > served;
}

/* ---- places ---------------------------------------------------------------------------------- */

static wk_sched_place new_place(wk_sched_builder *b, int t, int64_t row, int64_t rows,
                                int64_t plane, int64_t planes) {
  const wk_sched_tensor *x = wk_sched_tensor_of(b, t);
  wk_sched_place p = {.row = row, .rows = rows, .plane = plane, .planes = planes,
                      .pitch = x->row};
  /* what one command computes is one cell */
  bool is_small = rows * x->row <= machine(b)->most_result;
  p.buffer = wk_sched_buffer_add(b->base.steps, planes * rows * p.pitch,
                                 is_small ? rows * x->row : x->row);
  return p;
}

static wk_sched_place load(wk_sched_builder *b, int t, uint32_t layer, int64_t r0, int64_t r1,
                           const int64_t planes[2]) {
  if (wk_sched_tensor_of(b, t)->is_shaped) return machine(b)->load(&b->base, t, planes, r0, r1);
  wk_sched_place p = new_place(b, t, r0, r1 - r0, planes[0], planes[1] - planes[0]);
  wk_sched_move_rows(&b->base, false, layer, t, &p, r0, r1, planes[0], planes[1]);
  return p;
}

/* Rows that later strips need go along. */
static void carry(wk_sched_builder *b, int t, uint32_t layer, int64_t r0, int64_t r1) {
  wk_sched_tensor_state *s = &b->strip->tensors[t];
  wk_sched_steps_compute(b->base.steps, t, &s->place);
  wk_sched_place before = wk_sched_place_before(b, t);
  machine(b)->carry(&b->base, layer, t, s->made, r0, r1, &before, &s->place);
}

/* Where an operand is. */
static wk_sched_place operand_place(wk_sched_builder *b, const wk_sched_view *v, int op) {
  int t = v->tensor;
  if (t < 0) return (wk_sched_place){.buffer = -1};
  wk_sched_tensor_state *s = &b->strip->tensors[t];
  const wk_sched_tensor *x = wk_sched_tensor_of(b, t);
  if (is_resident(b, t, op)) {
    wk_sched_resident_state *y = &b->resident[t];
    if (y->place.buffer < 0)
      y->place = load(b, t, wk_sched_op_of(b, op)->layer, 0, x->rows, y->planes);
    return y->place;
  }
  if (s->place.buffer < 0 && !wk_sched_is_made_here(b, t)) {
    const wk_sched_place before = wk_sched_place_before(b, t);
    bool same = before.buffer >= 0 && before.row <= s->low &&
                before.row + before.rows >= s->high;
    s->place = same ? before
                    : load(b, t, wk_sched_op_of(b, op)->layer, s->low, s->high, s->planes);
  }
  return s->place.buffer < 0 ? wk_sched_place_before(b, t) : s->place;
}

/* The place of a whole strip of a result. */
static wk_sched_place result_place(wk_sched_builder *b, int t, uint32_t layer) {
  wk_sched_tensor_state *s = &b->strip->tensors[t];
  const wk_sched_tensor *x = wk_sched_tensor_of(b, t);
  if (b->plan->resident[t] >= 0) {
    wk_sched_resident_state *y = &b->resident[t];
    if (y->place.buffer < 0)
      y->place = new_place(b, t, 0, x->rows, y->planes[0], y->planes[1] - y->planes[0]);
    return y->place;
  }
  if (s->place.buffer < 0) {
    int64_t low = s->keep < s->done ? s->keep : s->done;
    s->place = new_place(b, t, low, s->end - low, s->made[0], s->made[1] - s->made[0]);
    if (low < s->done) carry(b, t, layer, low, s->done);
  }
  return s->place;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Pieces [*i, result) whose constants come together. */
static size_t chunk_end(const wk_sched_builder *b, const wk_sched_op *op, size_t i) {
  int64_t n = op->const_bytes ? b->plan->chunk / op->const_bytes : (int64_t)op->pieces;
  int64_t least = machine(b)->pieces_together ? machine(b)->pieces_together : 1;
  n = n < least ? least : n - n % least;
  return i + (size_t)n < op->pieces ? i + (size_t)n : op->pieces;
}

static int consts_of(wk_sched_builder *b, int index, size_t piece, size_t end) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  int *consts = b->consts[index];
  size_t slot = op->one_const ? 0 : piece;
  const wk_sched_group *g = b->base.group;
  bool stays = (g->strips > 1 || g->rounds > 1) && g->keeps;
  if (stays && consts[slot] >= 0) return consts[slot];
  int64_t bytes = op->const_bytes * (op->one_const ? 1 : (int64_t)(end - piece));
  int buffer = wk_sched_load_consts(&b->base, op, op->const_bytes * (int64_t)slot, bytes);
  consts[slot] = buffer;
  return buffer;
}

static void compute_pieces(wk_sched_builder *b, wk_sched_work *w) {
  size_t i = w->piece, end = w->end;
  const wk_sched_op *op = wk_sched_op_of(b, w->op);
  w->consts = op->loads_itself || !op->const_bytes ? -1 : consts_of(b, w->op, i, end);
  machine(b)->compute(w);
}

/* Every piece of the result is a plane of its tensor, that nobody else writes. */
static bool are_pieces_planes(const wk_sched_builder *b, const wk_sched_op *op) {
  const wk_sched_use *u = &b->uses[op->out.tensor];
  int64_t stacks[2];
  stacks_of(b, op, stacks);
  return op->plane >= 0 && stacks[1] == stacks[0] + 1 && u->first_writer == u->last_writer;
}

/* The result of a chunk of pieces goes to memory alone, so it has a place of its own. */
static bool is_chunked(const wk_sched_builder *b, const wk_sched_op *op) {
  return op->by_pieces && b->plan->resident[op->out.tensor] < 0 &&
         !wk_sched_is_read_here(b, op->out.tensor) && are_pieces_planes(b, op);
}

static void compute_by_pieces(wk_sched_builder *b, wk_sched_work *w) {
  const wk_sched_op *op = wk_sched_op_of(b, w->op);
  int t = op->out.tensor;
  wk_sched_tensor_state *s = &b->strip->tensors[t];
  bool chunked = is_chunked(b, op);
  bool is_direct = is_stored(b, t) && are_pieces_planes(b, op); /* each is stored at once */
  for (size_t i = 0, end; i < op->pieces; i = end) {
    end = chunk_end(b, op, i);
    int64_t p0 = op->plane + w->stacks[0] * op->out.stack + (int64_t)i;
    int64_t p1 = p0 + (int64_t)(end - i);
    if (chunked) w->out = new_place(b, t, s->done, s->end - s->done, p0, p1 - p0);
    if (chunked) wk_sched_steps_compute(b->base.steps, t, &w->out);
    w->piece = i, w->end = end;
    if (chunked && machine(b)->prepare) machine(b)->prepare(w);
    compute_pieces(b, w);
    if (is_direct)
      wk_sched_move_rows(&b->base, true, op->layer, t, &w->out, s->done, s->end, p0, p1);
  }
  if (is_direct) s->is_stored = true;
}

/* All pieces at once, with the constants of the first. */
static void compute_at_once(wk_sched_builder *b, wk_sched_work *w) {
  const wk_sched_op *op = wk_sched_op_of(b, w->op);
  w->piece = 0, w->end = op->pieces;
  w->consts = op->const_bytes ? consts_of(b, w->op, 0, 1) : -1;
  machine(b)->compute(w);
}

/* The planes that operators of the group have written in this strip. */
static void store(wk_sched_builder *b, const wk_sched_op *last, const wk_sched_place *p) {
  int t = last->out.tensor;
  const wk_sched_tensor_state *s = &b->strip->tensors[t];
  bool *is_written = wk_xcalloc((size_t)(s->made[1] - s->made[0]), sizeof *is_written);
  for (int i = b->base.group->first; i <= b->base.group->last; i++) {
    const wk_sched_view *y = &wk_sched_op_of(b, i)->out;
    int64_t planes[2];
    if (y->tensor != t || b->strip->ops[i].end == b->strip->ops[i].done) continue;
    wk_sched_round_planes(b, wk_sched_op_of(b, i), y, planes);
    for (int64_t q = planes[0]; q < planes[1]; q++) is_written[q - s->made[0]] = true;
  }
  for (int64_t from = s->made[0], to; from < s->made[1]; from = to) {
    bool is_run = is_written[from - s->made[0]];
    for (to = from; to < s->made[1] && is_written[to - s->made[0]] == is_run;) to++;
    if (is_run)
      wk_sched_move_rows(&b->base, true, last->layer, t, p, s->done, s->end, from, to);
  }
  free(is_written);
}

void wk_sched_compute(wk_sched_builder *b, int index) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  int t = op->out.tensor;
  wk_sched_tensor_state *s = &b->strip->tensors[t];
  wk_sched_work w = {.b = &b->base, .op = index, .y0 = b->strip->ops[index].done,
                     .y1 = b->strip->ops[index].end, .end = op->pieces, .out = {.buffer = -1},
                     .consts = -1};
  stacks_of(b, op, w.stacks);
  wk_sched_steps_compute(b->base.steps, -1, NULL);
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) w.in[k] = operand_place(b, &op->in[k], index);
  if (!is_chunked(b, op)) {
    w.out = result_place(b, t, op->layer);
    wk_sched_steps_compute(b->base.steps, t, &w.out);
    if (machine(b)->prepare) machine(b)->prepare(&w);
  }
  (op->by_pieces ? compute_by_pieces : compute_at_once)(b, &w);
  bool is_last = true;
  for (int i = index + 1; i <= b->base.group->last; i++)
    is_last = is_last && (wk_sched_op_of(b, i)->out.tensor != t ||
                          b->strip->ops[i].end == b->strip->ops[i].done);
  if (is_stored(b, t) && is_last && !s->is_stored) store(b, op, &w.out);
}
