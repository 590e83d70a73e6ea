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
void wk_sched_round_rows(const wk_sched_builder *b, const wk_sched_op *op, const wk_sched_view *x,
                         int64_t y0, int64_t y1, int64_t rows[2]) {
  int64_t stacks[2];
  stacks_of(b, op, stacks);
  wk_sched_needed_rows(wk_sched_tensor_of(b, x->tensor), x, stacks, y0, y1, rows);
}
bool wk_sched_needs_all(const wk_sched_builder *b, int index, int t) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  const int64_t all = wk_sched_tensor_of(b, t)->rows;
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    int64_t rows[2];
    if (op->in[k].tensor != t) continue;
    wk_sched_round_rows(b, op, &op->in[k], op->out.rows - 1, op->out.rows, rows);
    if (all > 1 && !rows[0] && rows[1] == all) return true;
  }
  return false;
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

static wk_sched_place new_place(wk_sched_builder *b, const int64_t columns[2], int64_t row,
                                int64_t rows, const int64_t planes[2]) {
  return wk_sched_place_new(&b->base, columns, row, rows, planes[0], planes[1] - planes[0]);
}

static wk_sched_place load(wk_sched_builder *b, int t, uint32_t layer, const int64_t columns[2],
                           int64_t r0, int64_t r1, const int64_t planes[2]) {
  if (wk_sched_tensor_of(b, t)->is_shaped) return machine(b)->load(&b->base, t, planes, r0, r1);
  wk_sched_place p = new_place(b, columns, r0, r1 - r0, planes);
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
      y->place = load(b, t, wk_sched_op_of(b, op)->layer, (const int64_t[]){0, x->row}, 0, x->rows,
                      y->planes);
    return y->place;
  }
  if (s->place.buffer < 0 && !wk_sched_is_made_here(b, t)) {
    const wk_sched_place before = wk_sched_place_before(b, t);
    bool same = before.buffer >= 0 && before.row <= s->low &&
                before.row + before.rows >= s->high && before.plane <= s->read[0] &&
                before.plane + before.planes >= s->read[1];
    s->place = same ? before
                    : load(b, t, wk_sched_op_of(b, op)->layer, s->columns, s->low, s->high,
                           s->read);
  }
  return s->place.buffer < 0 ? wk_sched_place_before(b, t) : s->place;
}

/* Operand k, whose rows must lie as the result's do, alone, where others of the group have other
 * columns of its tensor: buffer -1, there are none. */
static wk_sched_place place_alone(wk_sched_builder *b, int index, int k) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  const wk_sched_view *v = &op->in[k];
  const int64_t *all = b->strip->tensors[v->tensor].columns;
  const wk_sched_op_rows *s = &b->strip->ops[index];
  int64_t columns[2], rows[2], planes[2];
  wk_sched_columns_of(wk_sched_tensor_of(b, v->tensor), v, columns);
  bool is_apart = k && op->same_pitch && !is_resident(b, v->tensor, index) &&
                  !wk_sched_is_made_here(b, v->tensor) &&
                  (columns[0] != all[0] || columns[1] != all[1]);
  if (!is_apart) return (wk_sched_place){.buffer = -1};
  wk_sched_round_rows(b, op, v, s->done, s->end, rows);
  wk_sched_round_planes(b, op, v, planes);
  return load(b, v->tensor, op->layer, columns, rows[0], rows[1], planes);
}

/* Every row of its tensor, as much of it as the group has. */
static bool is_all_rows(const wk_sched_builder *b, const wk_sched_view *x) {
  const int64_t *all = b->strip->tensors[x->tensor].columns;
  int64_t own[2];
  wk_sched_columns_of(wk_sched_tensor_of(b, x->tensor), x, own);
  return own[0] == all[0] && own[1] == all[1] && !x->is_whole && !x->takes_all &&
         !x->has_window && !x->needs && !x->stack_rows &&
         !x->first && x->step == 1 && x->rows == wk_sched_tensor_of(b, x->tensor)->rows;
}

/* Nobody but the operator needs what is at the place of its operand 0: that is a strip of the
 * round, read once and not stored. */
static bool is_spent(const wk_sched_builder *b, const wk_sched_op *op, int index) {
  int t = op->in[0].tensor, readers = 0;
  bool made = wk_sched_is_made_here(b, t);
  for (int i = b->base.group->first; i <= b->base.group->last; i++)
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      readers += wk_sched_op_of(b, i)->in[k].tensor == t;
  return readers == 1 && !is_resident(b, t, index) && !(made && is_stored(b, t)) &&
         (!made || b->uses[t].first_writer == b->uses[t].last_writer) &&
         (b->base.group->rounds <= 1 || op->in[0].stack > 0);
}

/* Where the result may take the place of operand 0: false, nowhere. */
static bool replaced_place(const wk_sched_builder *b, int index, const wk_sched_place *from,
                           wk_sched_place *out) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  const wk_sched_tensor_state *s = &b->strip->tensors[op->out.tensor];
  const wk_sched_use *u = &b->uses[op->out.tensor];
  int64_t read[2];
  if (!op->replaces || u->first_writer != u->last_writer ||
      b->plan->resident[op->out.tensor] >= 0 || !is_all_rows(b, &op->in[0]) ||
      !is_all_rows(b, &op->out) || !is_spent(b, op, index))
    return false;
  wk_sched_round_planes(b, op, &op->in[0], read);
  *out = *from;
  out->plane = s->made[0], out->column = s->columns[0];
  return from->buffer >= 0 && from->width == s->columns[1] - s->columns[0] &&
         s->keep >= s->done && from->row == s->done &&
         from->rows == s->end - s->done && from->plane == read[0] && !from->lead &&
         from->planes == read[1] - read[0] && from->planes == s->made[1] - s->made[0];
}

/* An operator of the group needs all rows of the tensor for one of its own. */
static bool is_read_at_once(const wk_sched_builder *b, int t) {
  for (int i = b->base.group->first; i <= b->base.group->last; i++)
    if (wk_sched_needs_all(b, i, t)) return true;
  return false;
}

/* The place that the strip before has of these rows, if it goes on until there. */
static bool goes_on(const wk_sched_builder *b, int t, int64_t row, int64_t end,
                    wk_sched_place *out) {
  *out = wk_sched_place_before(b, t);
  return row < b->strip->tensors[t].done && out->buffer >= 0 && out->row <= row &&
         out->row + out->rows >= end;
}

/* The place of a whole strip of a result; from: that of operand 0. */
static wk_sched_place result_place(wk_sched_builder *b, int index, const wk_sched_place *from) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  int t = op->out.tensor;
  wk_sched_tensor_state *s = &b->strip->tensors[t];
  const wk_sched_tensor *x = wk_sched_tensor_of(b, t);
  if (b->plan->resident[t] >= 0) {
    wk_sched_resident_state *y = &b->resident[t];
    if (y->place.buffer < 0)
      y->place = new_place(b, (const int64_t[]){0, x->row}, 0, x->rows, y->planes);
    return y->place;
  }
  if (s->place.buffer < 0 && !replaced_place(b, index, from, &s->place)) {
    int64_t low = s->keep < s->done ? s->keep : s->done;
    if (goes_on(b, t, low, s->end, &s->place)) return s->place;
    int64_t end = is_read_at_once(b, t) ? x->rows : s->end;
    s->place = new_place(b, s->columns, low, end - low, s->made);
    const bool is_there = wk_sched_place_before(b, t).buffer >= 0;
    if (low < s->done && is_there) carry(b, t, op->layer, low, s->done);
    if (low < s->done && !is_there) b->is_too_large = true; /* its rows come out of turn */
  }
  return s->place;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Pieces [i, result), before `end`, whose constants come together. */
static size_t chunk_end(const wk_sched_builder *b, const wk_sched_op *op, size_t i, size_t end) {
  int64_t n = op->const_bytes ? b->plan->chunk / op->const_bytes : (int64_t)op->pieces;
  int64_t least = machine(b)->pieces_together ? machine(b)->pieces_together : 1;
  n = n < least ? least : n - n % least;
  return i + (size_t)n < end ? i + (size_t)n : end;
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

/* No other operator of the group writes the tensor, or, of what stays, none at all. */
static bool is_only_writer(const wk_sched_builder *b, const wk_sched_op *op) {
  const wk_sched_use *u = &b->uses[op->out.tensor];
  if (u->first_writer == u->last_writer) return true;
  if (b->plan->resident[op->out.tensor] >= 0) return false;
  for (int i = b->base.group->first; i <= b->base.group->last; i++)
    if (wk_sched_op_of(b, i) != op && wk_sched_op_of(b, i)->out.tensor == op->out.tensor)
      return false;
  return true;
}

/* Every piece of the result is a plane of its tensor, that nobody else writes. */
static bool are_pieces_planes(const wk_sched_builder *b, const wk_sched_op *op) {
  int64_t stacks[2];
  stacks_of(b, op, stacks);
  return op->plane >= 0 && (stacks[1] == stacks[0] + 1 || op->shares_pieces) &&
         is_only_writer(b, op);
}

/* The result of a chunk of pieces goes to memory alone, or to what rides on it, so it has a place
 * of its own. */
static bool is_chunked(const wk_sched_builder *b, const wk_sched_op *op, bool is_ridden) {
  return (op->by_pieces || op->rides) && b->plan->resident[op->out.tensor] < 0 &&
         (is_ridden || !wk_sched_is_read_here(b, op->out.tensor)) && are_pieces_planes(b, op);
}

/* Every row of its result is computed in this strip. */
static bool is_done_at_once(const wk_sched_builder *b, int index) {
  const wk_sched_op_rows *s = &b->strip->ops[index];
  return !s->done && s->end == wk_sched_op_of(b, index)->out.rows;
}

/* Operand k of operator `index` is what the one before makes, plane by plane: row by row, or all
 * rows of a plane at once. */
static bool is_what_it_makes(const wk_sched_builder *b, const wk_sched_op *last, int index, int k) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  const wk_sched_view *x = &op->in[k];
  int64_t made[2], read[2];
  wk_sched_round_planes(b, last, &last->out, made);
  wk_sched_round_planes(b, op, x, read);
  bool by_rows = is_all_rows(b, x) && op->out.rows == last->out.rows;
  bool at_once = is_done_at_once(b, index - 1) && is_done_at_once(b, index) && !x->first &&
                 x->step == 1;
  return read[0] == made[0] && read[1] == made[1] && (by_rows || at_once);
}

/* Operator `index` alone reads what the one before makes, plane by plane, so each chunk of that
 * goes through it while the next one is computed. */
static bool is_ridden_by(const wk_sched_builder *b, const wk_sched_op *last, int index) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  const wk_sched_use *u = &b->uses[last->out.tensor];
  bool reads = false;
  if (!op->rides || op->pieces != last->pieces ||
      op->shares_pieces != last->shares_pieces || u->first_reader != index ||
      u->last_reader != index || !are_pieces_planes(b, last) || !are_pieces_planes(b, op) ||
      !is_all_rows(b, &last->out) || !is_all_rows(b, &op->out))
    return false;
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    if (op->in[k].tensor != last->out.tensor) continue;
    if (!is_what_it_makes(b, last, index, k)) return false;
    reads = true;
  }
  return reads;
}

/* A plan in which rows are not as far apart as the operator needs them is none. */
static void look_at_pitch(wk_sched_builder *b, const wk_sched_work *w) {
  const wk_sched_op *op = wk_sched_op_of(b, w->op);
  const int64_t *alone = b->strip->tensors[op->out.tensor].columns; /* stored by who computes it */
  int64_t out = w->out.buffer >= 0 ? w->out.pitch : alone[1] - alone[0];
  if (op->same_pitch && w->in[1].buffer >= 0 && out != w->in[1].pitch) b->is_too_large = true;
}

/* Pieces [i, end), with constants that are there or, of an operator that goes by pieces, come now;
 * where they are planes that have to be in memory, they are stored at once. */
static void compute_chunk(wk_sched_builder *b, wk_sched_work *w, size_t i, size_t end,
                          bool chunked) {
  const wk_sched_op *op = wk_sched_op_of(b, w->op);
  int t = op->out.tensor;
  wk_sched_tensor_state *s = &b->strip->tensors[t];
  int64_t first = op->shares_pieces ? 0 : w->stacks[0] * op->out.stack;
  int64_t p0 = op->plane + first + (int64_t)i;
  int64_t p1 = p0 + (int64_t)(end - i);
  if (chunked)
    w->out = new_place(b, s->columns, s->done, s->end - s->done, (const int64_t[]){p0, p1});
  look_at_pitch(b, w);
  wk_sched_steps_compute(b->base.steps, t, &w->out);
  w->piece = i, w->end = end;
  if (chunked && machine(b)->prepare) machine(b)->prepare(w);
  if (op->by_pieces) compute_pieces(b, w);
  else machine(b)->compute(w);
  if (!is_stored(b, t) || !are_pieces_planes(b, op)) return;
  wk_sched_move_rows(&b->base, true, op->layer, t, &w->out, s->done, s->end, p0, p1);
  s->is_stored = true;
}

/* An operator and what rides on it, one on the other. */
enum { MOST_ALONG = 4 };

/* Operand k of the rider, which is what the operator `from` makes, is there. */
static void take_chunk(const wk_sched_builder *b, const wk_sched_work *from, wk_sched_work *rider) {
  const wk_sched_op *last = wk_sched_op_of(b, from->op), *op = wk_sched_op_of(b, rider->op);
  for (int k = 0; k < WK_SCHED_OPERANDS; k++)
    if (op->in[k].tensor == last->out.tensor) rider->in[k] = from->out;
}

/* Chunk by chunk: works[0], and behind it what rides on it, works [1, n), in turn. */
static void compute_by_pieces(wk_sched_builder *b, wk_sched_work *works, int n) {
  const wk_sched_op *op = wk_sched_op_of(b, works->op);
  bool chunked[MOST_ALONG];
  size_t pieces[2];
  for (int k = 0; k < n; k++)
    chunked[k] = is_chunked(b, wk_sched_op_of(b, works[k].op), k + 1 < n);
  wk_sched_pieces_of(op, works->stacks, pieces);
  for (size_t i = pieces[0], end; i < pieces[1]; i = end) {
    end = chunk_end(b, op, i, pieces[1]);
    for (int k = 0; k < n; k++) {
      if (k) take_chunk(b, &works[k - 1], &works[k]);
      compute_chunk(b, &works[k], i, end, chunked[k]);
    }
  }
}

/* With what of operand 0 comes meanwhile; its pieces may be stored one by one. */
static void compute_in_parts(wk_sched_builder *b, wk_sched_work *w) {
  look_at_pitch(b, w);
  machine(b)->compute(w);
  if (w->out.buffer < 0) b->strip->tensors[wk_sched_op_of(b, w->op)->out.tensor].is_stored = true;
}

/* All pieces of the round at once, with the constants of the first. */
static void compute_at_once(wk_sched_builder *b, wk_sched_work *w) {
  const wk_sched_op *op = wk_sched_op_of(b, w->op);
  look_at_pitch(b, w);
  size_t pieces[2];
  wk_sched_pieces_of(op, w->stacks, pieces);
  w->piece = pieces[0], w->end = pieces[1];
  w->consts = op->const_bytes ? consts_of(b, w->op, 0, 1) : -1;
  machine(b)->compute(w);
}

/* The planes that operators of the group have written in this strip, and the columns. */
static void store(wk_sched_builder *b, const wk_sched_op *last, const wk_sched_place *all) {
  int t = last->out.tensor;
  const wk_sched_tensor_state *s = &b->strip->tensors[t];
  int64_t columns[2] = {INT64_MAX, 0};
  bool *is_written = wk_xcalloc((size_t)(s->made[1] - s->made[0]), sizeof *is_written);
  for (int i = b->base.group->first; i <= b->base.group->last; i++) {
    const wk_sched_view *y = &wk_sched_op_of(b, i)->out;
    int64_t planes[2];
    if (y->tensor != t || b->strip->ops[i].end == b->strip->ops[i].done) continue;
    wk_sched_round_planes(b, wk_sched_op_of(b, i), y, planes);
    wk_sched_join_columns(wk_sched_tensor_of(b, t), y, columns);
    for (int64_t q = planes[0]; q < planes[1]; q++) is_written[q - s->made[0]] = true;
  }
  const wk_sched_place p = wk_sched_place_part(all, columns);
  for (int64_t from = s->made[0], to; from < s->made[1]; from = to) {
    bool is_run = is_written[from - s->made[0]];
    for (to = from; to < s->made[1] && is_written[to - s->made[0]] == is_run;) to++;
    if (is_run)
      wk_sched_move_rows(&b->base, true, last->layer, t, &p, s->done, s->end, from, to);
  }
  free(is_written);
}

static bool is_last_writer(const wk_sched_builder *b, int index) {
  int t = wk_sched_op_of(b, index)->out.tensor;
  for (int i = index + 1; i <= b->base.group->last; i++)
    if (wk_sched_op_of(b, i)->out.tensor == t && b->strip->ops[i].end > b->strip->ops[i].done)
      return false;
  return true;
}

/* What its operand 0 is has to be loaded, and it does so itself, as it does with others. */
static bool goes_in_parts(const wk_sched_builder *b, int index) {
  const wk_sched_group *g = b->base.group;
  return g->in_parts && g->first == g->last && wk_sched_op_of(b, index)->takes_parts &&
         !is_resident(b, wk_sched_op_of(b, index)->in[0].tensor, index);
}

static bool is_in_parts(const wk_sched_builder *b, int index, int k) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  if (k && op->same_pitch && b->plan->resident[op->out.tensor] >= 0) return false;
  return goes_in_parts(b, index) && !is_resident(b, op->in[k].tensor, index);
}

/* Where its operands are, but for what it rides on, and where its result goes, as far as that is a
 * whole strip. */
static wk_sched_work begin_work(wk_sched_builder *b, int index, int on, bool is_ridden) {
  const wk_sched_op *op = wk_sched_op_of(b, index);
  wk_sched_work w = {.b = &b->base, .op = index, .y0 = b->strip->ops[index].done,
                     .y1 = b->strip->ops[index].end, .out = {.buffer = -1}, .consts = -1};
  size_t pieces[2];
  stacks_of(b, op, w.stacks);
  wk_sched_pieces_of(op, w.stacks, pieces);
  w.piece = pieces[0], w.end = pieces[1];
  wk_sched_steps_compute(b->base.steps, -1, NULL);
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    bool is_away = op->in[k].tensor >= 0 && (op->in[k].tensor == on || is_in_parts(b, index, k));
    w.in[k] = (wk_sched_place){.buffer = -1};
    if (op->in[k].tensor >= 0 && !is_away) w.in[k] = place_alone(b, index, k);
    if (!is_away && w.in[k].buffer < 0) w.in[k] = operand_place(b, &op->in[k], index);
  }
  if ((op->by_pieces || on >= 0) && is_chunked(b, op, is_ridden)) return w;
  w.out = result_place(b, index, &w.in[0]);
  wk_sched_steps_compute(b->base.steps, op->out.tensor, &w.out);
  if (machine(b)->prepare) machine(b)->prepare(&w);
  return w;
}

static void end_work(wk_sched_builder *b, const wk_sched_work *w) {
  const wk_sched_op *op = wk_sched_op_of(b, w->op);
  int t = op->out.tensor;
  if (is_stored(b, t) && is_last_writer(b, w->op) && !b->strip->tensors[t].is_stored)
    store(b, op, &w->out);
}

/* How many operators, of those before `end`, the first computes with each of its chunks. */
static int along(const wk_sched_builder *b, int index, int end) {
  int n = 1;
  if (!wk_sched_op_of(b, index)->by_pieces) return n;
  while (n < MOST_ALONG && index + n < end &&
         is_ridden_by(b, wk_sched_op_of(b, index + n - 1), index + n))
    n++;
  return n;
}

int wk_sched_compute(wk_sched_builder *b, int index, int end) {
  int n = along(b, index, end);
  wk_sched_work works[MOST_ALONG];
  for (int k = 0; k < n; k++) {
    int on = k ? wk_sched_op_of(b, index + k - 1)->out.tensor : -1;
    works[k] = begin_work(b, index + k, on, k + 1 < n);
    if (k && wk_sched_op_of(b, index + k)->const_bytes)
      works[k].consts = consts_of(b, index + k, 0, 1);
  }
  if (goes_in_parts(b, index)) compute_in_parts(b, &works[0]);
  else if (wk_sched_op_of(b, index)->by_pieces) compute_by_pieces(b, works, n);
  else compute_at_once(b, &works[0]);
  for (int k = 0; k < n; k++) end_work(b, &works[k]);
  return index + n;
}
