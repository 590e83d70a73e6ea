/* SPDX-License-Identifier: Apache-2.0
 * Steps of a plan. */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/machine.h"

/* What is known of a tensor while a group is built. */
typedef struct {
  wk_sched_place place; /* of this strip; buffer -1: none */
  wk_sched_place before; /* of the strip before */
  int64_t end, done;    /* rows made after this strip, after the one before */
  int64_t low, high;    /* rows that readers need in this strip */
  int64_t keep;         /* the first row that a reader may still need */
  int64_t planes[2];    /* that readers of the group need */
  int64_t made[2];      /* that the group writes */
  bool is_stored;       /* the rows of this strip are */
} tensor_state;

typedef struct {
  int64_t done, end; /* rows of the result */
  int *consts;       /* buffers of chunks, where they stay; -1: not loaded */
} op_state;

typedef struct {
  wk_sched_building base;
  const wk_sched_plan *plan;
  const wk_sched_use *uses;
  wk_arena *arena;
  tensor_state *tensors;
  op_state *ops;
  wk_sched_place *resident; /* of each tensor that is */
} building;

static const wk_sched_tensor *tensor(const building *b, int t) { return &b->base.net->tensors[t]; }
static const wk_sched_op *op_of(const building *b, int i) { return &b->base.net->ops[i]; }
static const wk_sched_machine *machine(const building *b) { return b->base.net->machine; }
static bool in_group(const building *b, int op) {
  return op >= b->base.group->first && op <= b->base.group->last;
}
static bool is_resident(const building *b, int t, int op) {
  return b->plan->resident[t] >= op;
}
static bool is_made_here(const building *b, int t) {
  return b->uses[t].first_writer >= 0 && in_group(b, b->uses[t].first_writer);
}
static bool is_read_here(const building *b, int t) {
  for (int i = b->base.group->first; i <= b->base.group->last; i++)
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      if (op_of(b, i)->in[k].tensor == t) return true;
  return false;
}
/* It has to be in memory after the group. */
static bool is_stored(const building *b, int t) {
  const wk_sched_use *u = &b->uses[t];
  if (tensor(b, t)->home == WK_SCHED_IO) return true;
  int served = b->base.group->last;
  if (b->plan->resident[t] > served) served = b->plan->resident[t];
  return u->last_reader > served || u->last_writer > served;
}

/* ---- places ---------------------------------------------------------------------------------- */

static wk_sched_place new_place(building *b, int t, int64_t row, int64_t rows, int64_t plane,
                                int64_t planes) {
  const wk_sched_tensor *x = tensor(b, t);
  wk_sched_place p = {.row = row, .rows = rows, .plane = plane, .planes = planes,
                      .pitch = x->row};
  /* what one command computes is one cell */
  bool is_small = rows * x->row <= machine(b)->most_result;
  p.buffer = wk_sched_buffer_add(b->base.steps, planes * rows * p.pitch,
                                 is_small ? rows * x->row : x->row);
  return p;
}

static wk_sched_place load(building *b, int t, uint32_t layer, int64_t r0, int64_t r1,
                           const int64_t planes[2]) {
  if (tensor(b, t)->is_shaped) return machine(b)->load(&b->base, t, r0, r1);
  wk_sched_place p = new_place(b, t, r0, r1 - r0, planes[0], planes[1] - planes[0]);
  wk_sched_move_rows(&b->base, false, layer, t, &p, r0, r1, planes[0], planes[1]);
  return p;
}

/* Rows that later strips need go along. */
static void carry(building *b, int t, uint32_t layer, int64_t r0, int64_t r1) {
  tensor_state *s = &b->tensors[t];
  wk_sched_steps_compute(b->base.steps, t, &s->place);
  machine(b)->carry(&b->base, layer, t, s->made, r0, r1, &s->before, &s->place);
}

/* Where an operand is. */
static wk_sched_place operand_place(building *b, const wk_sched_view *v, int op) {
  int t = v->tensor;
  if (t < 0) return (wk_sched_place){.buffer = -1};
  tensor_state *s = &b->tensors[t];
  const wk_sched_tensor *x = tensor(b, t);
  if (is_resident(b, t, op)) {
    const int64_t all[2] = {0, x->planes};
    if (b->resident[t].buffer < 0)
      b->resident[t] = load(b, t, op_of(b, op)->layer, 0, x->rows, all);
    return b->resident[t];
  }
  if (s->place.buffer < 0 && !is_made_here(b, t)) {
    bool same = s->before.buffer >= 0 && s->before.row <= s->low &&
                s->before.row + s->before.rows >= s->high;
    s->place = same ? s->before
                    : load(b, t, op_of(b, op)->layer, s->low, s->high, s->planes);
  }
  return s->place.buffer < 0 ? s->before : s->place;
}

/* The place of a whole strip of a result. */
static wk_sched_place result_place(building *b, int t, uint32_t layer) {
  tensor_state *s = &b->tensors[t];
  const wk_sched_tensor *x = tensor(b, t);
  if (b->plan->resident[t] >= 0) {
    if (b->resident[t].buffer < 0) b->resident[t] = new_place(b, t, 0, x->rows, 0, x->planes);
    return b->resident[t];
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
static size_t chunk_end(const building *b, const wk_sched_op *op, size_t i) {
  int64_t n = op->const_bytes ? b->plan->chunk / op->const_bytes : (int64_t)op->pieces;
  int64_t least = machine(b)->pieces_together ? machine(b)->pieces_together : 1;
  n = n < least ? least : n - n % least;
  return i + (size_t)n < op->pieces ? i + (size_t)n : op->pieces;
}

static int consts_of(building *b, int index, size_t piece, size_t end) {
  const wk_sched_op *op = op_of(b, index);
  op_state *s = &b->ops[index];
  size_t slot = op->one_const ? 0 : piece;
  bool stays = b->base.group->strips > 1 && b->base.group->keeps;
  if (stays && s->consts[slot] >= 0) return s->consts[slot];
  int64_t bytes = op->const_bytes * (op->one_const ? 1 : (int64_t)(end - piece));
  int buffer = wk_sched_load_consts(&b->base, op, op->const_bytes * (int64_t)slot, bytes);
  s->consts[slot] = buffer;
  return buffer;
}

static void compute_pieces(building *b, wk_sched_work *w, size_t i, size_t end) {
  w->piece = i, w->end = end;
  const wk_sched_op *op = op_of(b, w->op);
  w->consts = op->loads_itself || !op->const_bytes ? -1 : consts_of(b, w->op, i, end);
  machine(b)->compute(w);
}

/* Every piece of the result is a plane of its tensor, that nobody else writes. */
static bool are_pieces_planes(const building *b, const wk_sched_op *op) {
  const wk_sched_use *u = &b->uses[op->out.tensor];
  return op->plane >= 0 && u->first_writer == u->last_writer;
}

/* The result of a chunk of pieces goes to memory alone, so it has a place of its own. */
static bool is_chunked(const building *b, const wk_sched_op *op) {
  return op->by_pieces && b->plan->resident[op->out.tensor] < 0 &&
         !is_read_here(b, op->out.tensor) && are_pieces_planes(b, op);
}

static void compute_by_pieces(building *b, wk_sched_work *w) {
  const wk_sched_op *op = op_of(b, w->op);
  int t = op->out.tensor;
  tensor_state *s = &b->tensors[t];
  bool chunked = is_chunked(b, op);
  bool is_direct = is_stored(b, t) && are_pieces_planes(b, op); /* each is stored at once */
  for (size_t i = 0, end; i < op->pieces; i = end) {
    end = chunk_end(b, op, i);
    int64_t p0 = op->plane + (int64_t)i, p1 = p0 + (int64_t)(end - i);
    if (chunked) w->out = new_place(b, t, s->done, s->end - s->done, p0, p1 - p0);
    if (chunked) wk_sched_steps_compute(b->base.steps, t, &w->out);
    compute_pieces(b, w, i, end);
    if (is_direct)
      wk_sched_move_rows(&b->base, true, op->layer, t, &w->out, s->done, s->end, p0, p1);
  }
  if (is_direct) s->is_stored = true;
}

/* All pieces at once, with the constants of the first. */
static void compute_at_once(building *b, wk_sched_work *w) {
  const wk_sched_op *op = op_of(b, w->op);
  w->piece = 0, w->end = op->pieces;
  w->consts = op->const_bytes ? consts_of(b, w->op, 0, 1) : -1;
  machine(b)->compute(w);
}

/* The planes that operators of the group have written in this strip. */
static void store(building *b, const wk_sched_op *last, const wk_sched_place *p) {
  int t = last->out.tensor;
  const tensor_state *s = &b->tensors[t];
  bool *is_written = wk_xcalloc((size_t)(s->made[1] - s->made[0]), sizeof *is_written);
  for (int i = b->base.group->first; i <= b->base.group->last; i++) {
    const wk_sched_view *y = &op_of(b, i)->out;
    if (y->tensor != t || b->ops[i].end == b->ops[i].done) continue;
    for (int64_t q = y->planes[0]; q < y->planes[1]; q++) is_written[q - s->made[0]] = true;
  }
  for (int64_t from = s->made[0], to; from < s->made[1]; from = to) {
    bool is_run = is_written[from - s->made[0]];
    for (to = from; to < s->made[1] && is_written[to - s->made[0]] == is_run;) to++;
    if (is_run)
      wk_sched_move_rows(&b->base, true, last->layer, t, p, s->done, s->end, from, to);
  }
  free(is_written);
}

static void compute(building *b, int index) {
  const wk_sched_op *op = op_of(b, index);
  int t = op->out.tensor;
  tensor_state *s = &b->tensors[t];
  wk_sched_work w = {.b = &b->base, .op = index, .y0 = b->ops[index].done,
                     .y1 = b->ops[index].end, .out = {.buffer = -1}, .consts = -1};
  wk_sched_steps_compute(b->base.steps, -1, NULL);
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) w.in[k] = operand_place(b, &op->in[k], index);
  if (!is_chunked(b, op)) {
    w.out = result_place(b, t, op->layer);
    wk_sched_steps_compute(b->base.steps, t, &w.out);
  }
  if (machine(b)->prepare) machine(b)->prepare(&w);
  (op->by_pieces ? compute_by_pieces : compute_at_once)(b, &w);
  bool is_last = true;
  for (int i = index + 1; i <= b->base.group->last; i++)
    is_last = is_last && (op_of(b, i)->out.tensor != t || b->ops[i].end == b->ops[i].done);
  if (is_stored(b, t) && is_last && !s->is_stored) store(b, op, &w.out);
}

/* ---- strips ---------------------------------------------------------------------------------- */

/* Rows that the operator computes, and that it asks others for; true: they have these already. */
static bool ask_for_rows(building *b, int index) {
  const wk_sched_op *op = op_of(b, index);
  op_state *s = &b->ops[index];
  int t = op->out.tensor;
  bool is_settled = true;
  s->end = wk_sched_rows_below(tensor(b, t), &op->out, b->tensors[t].end);
  for (int k = 0; k < WK_SCHED_OPERANDS && s->end > s->done; k++) {
    const wk_sched_view *v = &op->in[k];
    int64_t rows[2];
    if (v->tensor < 0 || !is_made_here(b, v->tensor)) continue;
    wk_sched_needed_rows(tensor(b, v->tensor), v, s->done, s->end, rows);
    tensor_state *x = &b->tensors[v->tensor];
    if (rows[1] > x->end) x->end = rows[1], is_settled = false;
  }
  return is_settled;
}

static void find_rows(building *b, int strip) {
  const wk_sched_group *g = b->base.group;
  for (int i = g->first; i <= g->last; i++) {
    int t = op_of(b, i)->out.tensor;
    int64_t rows = tensor(b, t)->rows;
    bool is_driven = !is_read_here(b, t) || strip + 1 == g->strips;
    b->tensors[t].end = is_driven ? wk_ceil_div(rows * (strip + 1), g->strips) : 0;
    if (b->tensors[t].end < b->tensors[t].done) b->tensors[t].end = b->tensors[t].done;
  }
  bool is_settled = false;
  while (!is_settled) { /* again where who comes later writes a part of what is read before */
    is_settled = true;
    for (int i = g->last; i >= g->first; i--) is_settled = ask_for_rows(b, i) && is_settled;
  }
}

static void find_needs(building *b) {
  const wk_sched_group *g = b->base.group;
  for (int i = g->first; i <= g->last; i++) {
    const wk_sched_op *op = op_of(b, i);
    const op_state *s = &b->ops[i];
    for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
      const wk_sched_view *v = &op->in[k];
      int64_t rows[2];
      if (v->tensor < 0) continue;
      tensor_state *x = &b->tensors[v->tensor];
      if (s->done < op->out.rows) {
        wk_sched_needed_rows(tensor(b, v->tensor), v, s->done, s->done + 1, rows);
        if (rows[0] < x->keep) x->keep = rows[0];
      }
      if (s->end <= s->done) continue;
      wk_sched_needed_rows(tensor(b, v->tensor), v, s->done, s->end, rows);
      if (rows[0] < x->low) x->low = rows[0];
      if (rows[1] > x->high) x->high = rows[1];
    }
  }
}

static void begin_strip(building *b, int strip) {
  for (size_t t = 0; t < b->base.net->n_tensors; t++) {
    tensor_state *x = &b->tensors[t];
    if (x->place.buffer >= 0) x->before = x->place;
    x->place.buffer = -1;
    x->low = x->keep = INT64_MAX;
    x->high = 0;
    x->is_stored = false;
  }
  find_rows(b, strip);
  find_needs(b);
}

static void end_strip(building *b) {
  for (int i = b->base.group->first; i <= b->base.group->last; i++) {
    tensor_state *x = &b->tensors[op_of(b, i)->out.tensor];
    b->ops[i].done = b->ops[i].end;
    x->done = x->end;
  }
}

static void join_planes(const wk_sched_view *x, int64_t all[2]) {
  if (x->planes[0] < all[0]) all[0] = x->planes[0];
  if (x->planes[1] > all[1]) all[1] = x->planes[1];
}

static void begin_group(building *b) {
  for (size_t t = 0; t < b->base.net->n_tensors; t++) {
    b->tensors[t] = (tensor_state){.place = {.buffer = -1}, .before = {.buffer = -1},
                                   .planes = {INT64_MAX, 0}, .made = {INT64_MAX, 0}};
  }
  for (int i = b->base.group->first; i <= b->base.group->last; i++) {
    const wk_sched_op *op = op_of(b, i);
    join_planes(&op->out, b->tensors[op->out.tensor].made);
    b->ops[i].done = b->ops[i].end = 0;
    b->ops[i].consts = wk_arena_alloc(b->arena, op->pieces * sizeof(int));
    for (size_t k = 0; k < op->pieces; k++) b->ops[i].consts[k] = -1;
    for (int k = 0; k < WK_SCHED_OPERANDS; k++)
      if (op->in[k].tensor >= 0) join_planes(&op->in[k], b->tensors[op->in[k].tensor].planes);
  }
}

static void build_group(building *b, const wk_sched_group *g) {
  b->base.group = g;
  begin_group(b);
  for (int s = 0; s < g->strips; s++) {
    begin_strip(b, s);
    for (int i = g->first; i <= g->last; i++)
      if (b->ops[i].end > b->ops[i].done) compute(b, i);
    end_strip(b);
  }
}

void wk_sched_build(const wk_sched_net *net, const wk_sched_plan *p, const wk_sched_use *uses,
                    size_t g0, size_t g1, wk_sched_steps *out) {
  building b = {.base = {.net = net, .steps = out}, .plan = p, .uses = uses,
                .arena = wk_arena_new()};
  b.tensors = wk_arena_alloc(b.arena, net->n_tensors * sizeof *b.tensors);
  b.ops = wk_arena_alloc(b.arena, net->n_ops * sizeof *b.ops);
  b.resident = wk_arena_alloc(b.arena, net->n_tensors * sizeof *b.resident);
  for (size_t t = 0; t < net->n_tensors; t++) b.resident[t].buffer = -1;
  out->command_bytes = net->machine->command_bytes;
  out->lasting = p->lasting;
  out->is_begin = g0 < g1 && !p->groups.data[g0].first;
  for (size_t g = g0; g < g1; g++) {
    out->group = (int)(g - g0);
    out->groups = out->group + 1;
    wk_vec_push(&out->alone, p->groups.data[g].alone);
    build_group(&b, &p->groups.data[g]);
    if (!p->marks) continue;
    wk_sched_steps_compute(out, -1, NULL);
    net->machine->mark(&b.base, g);
  }
  wk_arena_free(b.arena);
}
