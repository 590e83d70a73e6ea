/* SPDX-License-Identifier: Apache-2.0
 * Steps of a plan. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/compile/plan.h"

#define PUT(c, C, field, value) ((c)->v[WK_##C##_##field] = (value))

wk_accel_use *wk_accel_uses(const wk_accel_net *net, wk_arena *a) {
  wk_accel_use *u = wk_arena_alloc(a, net->tensors.n * sizeof *u);
  for (size_t t = 0; t < net->tensors.n; t++) u[t] = (wk_accel_use){-1, -1, -1, -1};
  for (int i = 0; i < (int)net->ops.n; i++) {
    const wk_accel_op *op = &net->ops.data[i];
    const int reads[2] = {op->a.tensor, op->b.tensor};
    for (int k = 0; k < 2; k++) {
      if (reads[k] < 0) continue;
      if (u[reads[k]].first_reader < 0) u[reads[k]].first_reader = i;
      u[reads[k]].last_reader = i;
    }
    if (u[op->out.tensor].first_writer < 0) u[op->out.tensor].first_writer = i;
    u[op->out.tensor].last_writer = i;
  }
  return u;
}

/* What is known of a tensor while a group is built. */
typedef struct {
  wk_accel_place place; /* of this strip; buffer -1: none */
  wk_accel_place before; /* of the strip before */
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
  const wk_accel_net *net;
  const wk_accel_plan *plan;
  const wk_accel_use *uses;
  wk_accel_steps *steps;
  wk_arena *arena;
  const wk_accel_group *group;
  tensor_state *tensors;
  op_state *ops;
  wk_accel_place *resident; /* of each tensor that is */
  int half, table;
} building;

static const wk_accel_tensor *tensor(const building *b, int t) { return &b->net->tensors.data[t]; }
static bool in_group(const building *b, int op) {
  return op >= b->group->first && op <= b->group->last;
}
static bool is_resident(const building *b, int t, int op) {
  return b->plan->resident[t] >= op;
}
static bool is_made_here(const building *b, int t) {
  return b->uses[t].first_writer >= 0 && in_group(b, b->uses[t].first_writer);
}
static bool is_read_here(const building *b, int t) {
  for (int i = b->group->first; i <= b->group->last; i++)
    if (b->net->ops.data[i].a.tensor == t || b->net->ops.data[i].b.tensor == t) return true;
  return false;
}
/* It has to be in memory after the group. */
static bool is_stored(const building *b, int t) {
  const wk_accel_use *u = &b->uses[t];
  if (tensor(b, t)->segment >= WK_SEGMENT_IO) return true;
  int served = b->plan->resident[t] > b->group->last ? b->plan->resident[t] : b->group->last;
  return u->last_reader > served || u->last_writer > served;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static wk_isa_command command(const building *b, int opcode, int queue, uint32_t layer) {
  wk_isa_command c = b->net->defaults[opcode];
  c.queue = (uint32_t)queue;
  c.operator = layer + 1;
  return c;
}

static int load_queue(const building *b, bool is_const) {
  return b->net->machine->load_channels > 1 && is_const ? WK_QUEUE_ld1 : WK_QUEUE_ld0;
}

/* Between memory, n1 runs of n0 bytes, s1 bytes from one to the next, and a buffer, as many bytes
 * in chunks, `pitch` from one to the next. */
typedef struct {
  int opcode, queue; /* LD or ST */
  uint32_t layer;
  int tensor;
  int64_t dram, n0, n1, s1; /* dram: from the start of the tensor */
  int buffer;
  int64_t at, chunk, chunks, pitch; /* at: from the start of the buffer */
  int64_t rows[2];                  /* of the tensor, first and end */
} transfer;

static void add_transfer(building *b, const transfer *x) {
  wk_isa_command c = command(b, x->opcode, x->queue, x->layer);
  PUT(&c, LD, dram, x->dram);
  PUT(&c, LD, n0, x->n0);
  PUT(&c, LD, n1, x->n1);
  PUT(&c, LD, s1, x->n1 > 1 ? x->s1 : 0);
  PUT(&c, LD, c0, x->chunk);
  PUT(&c, LD, c1, x->chunks);
  PUT(&c, LD, p1, x->chunks > 1 ? x->pitch : 0);
  wk_accel_step *s = wk_accel_step_add(b->steps, &c);
  s->tensor = x->tensor;
  s->mem_rows[0] = x->rows[0], s->mem_rows[1] = x->rows[1];
  s->bytes = x->n0 * x->n1;
  s->access[s->n_access++] = (wk_accel_access){
      .buffer = x->buffer, .field = WK_LD_spm, .writes = x->opcode == WK_CMD_LD, .at = x->at,
      .from = x->at, .run = x->chunk, .n0 = x->chunks, .s0 = x->pitch, .n1 = 1};
  if (x->opcode == WK_CMD_LD) b->steps->loaded += s->bytes;
  else b->steps->stored += s->bytes;
}

/* Rows [r0, r1) of planes [p0, p1) between memory and a place that holds them. */
static void move_rows(building *b, int opcode, uint32_t layer, int t, const wk_accel_place *p,
                      int64_t r0, int64_t r1, int64_t p0, int64_t p1) {
  const wk_accel_tensor *x = tensor(b, t);
  int64_t plane = x->rows * x->row, run = (r1 - r0) * x->row, there = p->rows * p->pitch;
  transfer move = {.opcode = opcode,
                   .queue = opcode == WK_CMD_ST ? WK_QUEUE_st : load_queue(b, false),
                   .layer = layer, .tensor = t, .n0 = run, .s1 = plane, .buffer = p->buffer,
                   .chunk = run, .pitch = there, .rows = {r0, r1}};
  int64_t most = WK_LEAST(WK_TRANSFER_BYTES - 1, WK_LEAST(WK_MAX(LD, n0), WK_MAX(LD, c0))) / run;
  bool is_solid = p->rows == r1 - r0 && p->pitch == x->row;
  most = WK_LEAST(most, WK_LEAST(WK_MAX(LD, n1), WK_MAX(LD, c1)));
  if (most < 1) { /* one plane in several */
    int64_t half = (r0 + r1) / 2;
    if (r1 - r0 > 1) {
      move_rows(b, opcode, layer, t, p, r0, half, p0, p1);
      move_rows(b, opcode, layer, t, p, half, r1, p0, p1);
    }
    return;
  }
  for (int64_t q = p0; q < p1; q += most) {
    int64_t n = p1 - q < most ? p1 - q : most;
    move.at = p->offset + (q - p->plane) * there + (r0 - p->row) * p->pitch + p->lead;
    move.dram = q * plane + r0 * x->row;
    move.n1 = move.chunks = n;
    if (p->pitch != x->row) /* dense, of one plane: columns of padding between the rows */
      move.chunk = x->row, move.chunks = n * (r1 - r0), move.pitch = p->pitch;
    else if (is_solid)
      move.chunk = n * run, move.chunks = 1;
    add_transfer(b, &move);
  }
}

static void fill(building *b, uint32_t layer, int buffer, int64_t at, int64_t value, int64_t chunk,
                 int64_t n1, int64_t p1, int64_t n2, int64_t p2) {
  if (n1 == 1 && n2 > 1) n1 = n2, p1 = p2, n2 = 1;
  wk_isa_command c = command(b, WK_CMD_FILL, load_queue(b, false), layer);
  PUT(&c, FILL, value, value);
  PUT(&c, FILL, c0, chunk);
  PUT(&c, FILL, c1, n1);
  PUT(&c, FILL, p1, n1 > 1 ? p1 : 0);
  PUT(&c, FILL, c2, n2);
  PUT(&c, FILL, p2, n2 > 1 ? p2 : 0);
  wk_accel_step *s = wk_accel_step_add(b->steps, &c);
  s->access[s->n_access++] =
      (wk_accel_access){.buffer = buffer, .field = WK_FILL_spm, .writes = true, .at = at,
                        .from = at, .run = chunk, .n0 = n1, .s0 = p1, .n1 = n2, .s1 = p2};
}

/* ---- places ---------------------------------------------------------------------------------- */

static wk_accel_place new_place(building *b, int t, int64_t row, int64_t rows, int64_t plane,
                                int64_t planes) {
  const wk_accel_tensor *x = tensor(b, t);
  wk_accel_place p = {.row = row, .rows = rows, .plane = plane, .planes = planes,
                      .pitch = x->row};
  /* what one command computes is one cell */
  bool is_small = rows * x->row <= wk_machine_entries(b->net->machine) / 2 * b->net->n;
  p.buffer = wk_accel_buffer_add(b->steps, planes * rows * p.pitch,
                                 is_small ? rows * x->row : x->row);
  return p;
}

/* Columns that the readers of a dense image need: before its first one, and from there on. */
typedef struct {
  const wk_accel_op *op; /* one of them */
  int64_t before, others;
} dense_columns;

static dense_columns columns_of(const building *b, int t) {
  dense_columns c = {0};
  for (int i = b->group->first; i <= b->group->last; i++) {
    const wk_accel_op *op = &b->net->ops.data[i];
    if (op->a.tensor != t) continue;
    int64_t others = op->columns - op->pad_l;
    c.op = op;
    if (op->pad_l > c.before) c.before = op->pad_l;
    if (others > c.others) c.others = others;
  }
  return c;
}

static wk_accel_place load_dense(building *b, int t, int64_t r0, int64_t r1) {
  const wk_accel_tensor *x = tensor(b, t);
  const dense_columns c = columns_of(b, t);
  const wk_accel_op *op = c.op;
  int64_t rows = r1 - r0, left = c.before * op->a.sx;
  wk_accel_place p = {.row = r0, .rows = rows, .plane = 0, .planes = x->planes,
                      .pitch = (c.before + c.others) * op->a.sx, .lead = left};
  p.buffer = wk_accel_buffer_add(b->steps, x->planes * rows * p.pitch, op->a.sx);
  int64_t right = p.pitch - left - x->row;
  if (left)
    fill(b, op->layer, p.buffer, 0, op->a_zero, left, rows * x->planes, p.pitch, 1, 0);
  if (right)
    fill(b, op->layer, p.buffer, left + x->row, op->a_zero, right, rows * x->planes, p.pitch, 1,
         0);
  move_rows(b, WK_CMD_LD, op->layer, t, &p, r0, r1, 0, x->planes);
  return p;
}

static wk_accel_place load(building *b, int t, uint32_t layer, int64_t r0, int64_t r1,
                           const int64_t planes[2]) {
  if (tensor(b, t)->is_dense) return load_dense(b, t, r0, r1);
  wk_accel_place p = new_place(b, t, r0, r1 - r0, planes[0], planes[1] - planes[0]);
  move_rows(b, WK_CMD_LD, layer, t, &p, r0, r1, planes[0], planes[1]);
  return p;
}

/* Rows that later strips need go along, by the vector unit. */
static void carry(building *b, int t, uint32_t layer, int64_t r0, int64_t r1) {
  const wk_accel_tensor *x = tensor(b, t);
  tensor_state *s = &b->tensors[t];
  int n = b->net->n;
  int64_t planes = s->made[1] - s->made[0];
  wk_accel_view v = {.tensor = t, .offset = (s->made[0] * x->rows + r0) * x->row, .o = 1,
                     .c = planes * n, .h = r1 - r0, .w = x->row / n, .sb = x->rows * x->row,
                     .sy = x->row, .sx = n};
  wk_accel_piece *pieces = wk_arena_alloc(b->arena, (size_t)planes * sizeof *pieces);
  for (int64_t i = 0; i < planes; i++) pieces[i] = (wk_accel_piece){i * n, n, n};
  wk_accel_op op = {.kind = WK_ACCEL_MAP, .fn = WK_CHOICE_MAP_move, .layer = layer, .out = v,
                    .a = v, .b = {.tensor = -1}, .pieces = pieces, .n_pieces = (size_t)planes,
                    .one_const = true};
  wk_accel_work w = {.net = b->net, .steps = b->steps, .op = &op, .y1 = r1 - r0, .out = s->place,
                     .a = s->before, .half = &b->half, .table = &b->table};
  wk_accel_steps_compute(b->steps, t, &s->place);
  wk_accel_emit_vector(&w, NULL);
}

/* Where an operand is. */
static wk_accel_place operand_place(building *b, const wk_accel_view *v, int op) {
  int t = v->tensor;
  tensor_state *s = &b->tensors[t];
  if (t < 0) return (wk_accel_place){.buffer = -1};
  const wk_accel_tensor *x = tensor(b, t);
  if (is_resident(b, t, op)) {
    const int64_t all[2] = {0, x->planes};
    if (b->resident[t].buffer < 0)
      b->resident[t] = load(b, t, b->net->ops.data[op].layer, 0, x->rows, all);
    return b->resident[t];
  }
  if (s->place.buffer < 0 && !is_made_here(b, t)) {
    bool same = s->before.buffer >= 0 && s->before.row <= s->low &&
                s->before.row + s->before.rows >= s->high;
    s->place = same ? s->before
                    : load(b, t, b->net->ops.data[op].layer, s->low, s->high, s->planes);
  }
  return s->place.buffer < 0 ? s->before : s->place;
}

/* The place of a whole strip of a result. */
static wk_accel_place result_place(building *b, int t, uint32_t layer) {
  tensor_state *s = &b->tensors[t];
  const wk_accel_tensor *x = tensor(b, t);
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

enum { MOST_CONSTS = WK_TRANSFER_BYTES / 2 }; /* of a transfer */

static int load_consts(building *b, const wk_accel_op *op, int64_t from, int64_t bytes) {
  int buffer = wk_accel_buffer_add(b->steps, bytes, 0);
  for (int64_t at = 0; at < bytes;) {
    int64_t n = WK_LEAST(bytes - at, MOST_CONSTS);
    add_transfer(b, &(transfer){.opcode = WK_CMD_LD, .queue = load_queue(b, true),
                                .layer = op->layer, .tensor = op->const_tensor,
                                .dram = from + at, .n0 = n, .n1 = 1, .buffer = buffer, .at = at,
                                .chunk = n, .chunks = 1});
    at += n;
  }
  return buffer;
}

/* Pieces [*i, result) whose constants come together. */
static size_t chunk_end(const building *b, const wk_accel_op *op, size_t i) {
  int64_t n = op->const_bytes ? b->plan->chunk / op->const_bytes : (int64_t)op->n_pieces;
  if (n < 1) n = 1;
  return i + (size_t)n < op->n_pieces ? i + (size_t)n : op->n_pieces;
}

static int consts_of(building *b, int index, size_t piece, size_t end) {
  const wk_accel_op *op = &b->net->ops.data[index];
  op_state *s = &b->ops[index];
  size_t slot = op->one_const ? 0 : piece;
  bool stays = b->group->strips > 1 && b->group->keeps;
  if (stays && s->consts[slot] >= 0) return s->consts[slot];
  int64_t bytes = op->const_bytes * (op->one_const ? 1 : (int64_t)(end - piece));
  int buffer = load_consts(b, op, op->const_bytes * (int64_t)slot, bytes);
  s->consts[slot] = buffer;
  return buffer;
}

static void emit_split(building *b, wk_accel_work *w, size_t piece) {
  const wk_accel_op *op = w->op;
  int n = b->net->n;
  int64_t from = op->const_bytes * (int64_t)piece, block = op->ky * op->kx * n * n;
  int64_t parts = wk_ceil_div(op->const_bytes, wk_accel_split_bytes(b->net));
  if (parts < wk_ceil_div(op->kc, WK_MAX(CONV, kc)))
    parts = wk_ceil_div(op->kc, WK_MAX(CONV, kc));
  int64_t blocks = wk_ceil_div(op->kc, parts), chunks = wk_accel_chunks(w);
  int record = load_consts(b, op, from, op->record_bytes);
  for (int64_t c = 0; c < chunks; c += 2)
    for (int64_t k = 0; k < op->kc; k += blocks) {
      wk_accel_consts x = {.record = record, .k0 = k,
                           .k1 = k + blocks < op->kc ? k + blocks : op->kc};
      x.weights = load_consts(b, op, from + op->record_bytes + k * block, (x.k1 - k) * block);
      wk_accel_emit_sums(w, piece, &x, c, c + 2 < chunks ? c + 2 : chunks);
    }
}

static void emit_pieces(building *b, int index, wk_accel_work *w, size_t i, size_t end) {
  const wk_accel_op *op = w->op;
  if (wk_accel_is_split(b->net, op)) {
    for (; i < end; i++) emit_split(b, w, i);
    return;
  }
  int buffer = consts_of(b, index, i, end);
  for (size_t k = i; k < end; k++) {
    int64_t at = op->one_const ? 0 : (int64_t)(k - i) * op->const_bytes;
    wk_accel_emit_sums(w, k, &(wk_accel_consts){.weights = buffer, .record = buffer,
                                                .weights_at = at + op->record_bytes,
                                                .record_at = at, .k1 = op->kc},
                       0, wk_accel_chunks(w));
  }
}

/* Every piece of the result is a plane of its tensor, that nobody else writes. */
static bool are_pieces_planes(const building *b, const wk_accel_op *op) {
  const wk_accel_use *u = &b->uses[op->out.tensor];
  const wk_accel_tensor *x = tensor(b, op->out.tensor);
  int64_t plane = x->rows * x->row;
  return op->out.o == 1 && !op->out.first && !op->leaves_lanes &&
         u->first_writer == u->last_writer && op->out.offset % plane == 0 &&
         (op->out.sb == plane || op->n_pieces == 1) && op->out.sx == b->net->n &&
         (op->out.h == 1 || op->out.sy == x->row);
}

/* The result of a chunk of pieces goes to memory alone, so it has a place of its own. */
static bool is_chunked(const building *b, const wk_accel_op *op) {
  return b->plan->resident[op->out.tensor] < 0 && !is_read_here(b, op->out.tensor) &&
         are_pieces_planes(b, op);
}

static void emit_sums(building *b, int index, wk_accel_work *w) {
  const wk_accel_op *op = w->op;
  int t = op->out.tensor;
  const wk_accel_tensor *x = tensor(b, t);
  tensor_state *s = &b->tensors[t];
  bool chunked = is_chunked(b, op);
  bool is_direct = is_stored(b, t) && are_pieces_planes(b, op); /* each is stored at once */
  for (size_t i = 0, end; i < op->n_pieces; i = end) {
    end = chunk_end(b, op, i);
    int64_t p0 = op->out.offset / (x->rows * x->row) + (int64_t)i, p1 = p0 + (int64_t)(end - i);
    if (chunked) w->out = new_place(b, t, s->done, s->end - s->done, p0, p1 - p0);
    if (chunked) wk_accel_steps_compute(b->steps, t, &w->out);
    emit_pieces(b, index, w, i, end);
    if (is_direct)
      move_rows(b, WK_CMD_ST, op->layer, t, &w->out, s->done, s->end, p0, p1);
  }
  if (is_direct) s->is_stored = true;
}

static void fill_lanes(building *b, const wk_accel_work *w) {
  const wk_accel_op *op = w->op;
  wk_accel_spot y = wk_accel_spot_of(b->net, &op->out, &w->out);
  int n = b->net->n;
  int64_t at = y.offset + (op->out.first + op->out.c - 1) / n * y.sb + w->y0 * y.sy;
  if (op->out.first + op->out.c <= n && op->out.first) { /* the lanes before belong to others */
    const wk_accel_piece *p = &op->pieces[op->n_pieces - 1];
    int64_t lane = (op->out.first + p->c) % n + p->width;
    for (int64_t o = 0; o < op->out.o; o++)
      fill(b, op->layer, y.buffer, at + o * y.so + lane, 0, n - lane, op->out.w, y.sx,
           w->y1 - w->y0, y.sy);
    return;
  }
  if (y.sx == n && (w->y1 - w->y0 == 1 || y.sy == op->out.w * n))
    fill(b, op->layer, y.buffer, at, 0, (w->y1 - w->y0) * op->out.w * n, 1, 0, op->out.o, y.so);
  else
    for (int64_t o = 0; o < op->out.o; o++)
      fill(b, op->layer, y.buffer, at + o * y.so, 0, n, op->out.w, y.sx, w->y1 - w->y0, y.sy);
}

/* The planes that operators of the group have written in this strip. */
static void store(building *b, const wk_accel_op *last, const wk_accel_place *p) {
  int t = last->out.tensor;
  const tensor_state *s = &b->tensors[t];
  bool *is_written = wk_xcalloc((size_t)(s->made[1] - s->made[0]), sizeof *is_written);
  for (int i = b->group->first; i <= b->group->last; i++) {
    const wk_accel_view *y = &b->net->ops.data[i].out;
    int64_t planes[2];
    if (y->tensor != t || b->ops[i].end == b->ops[i].done) continue;
    wk_accel_planes_of(b->net, y, planes);
    for (int64_t q = planes[0]; q < planes[1]; q++) is_written[q - s->made[0]] = true;
  }
  for (int64_t from = s->made[0], to; from < s->made[1]; from = to) {
    bool is_run = is_written[from - s->made[0]];
    for (to = from; to < s->made[1] && is_written[to - s->made[0]] == is_run;) to++;
    if (is_run) move_rows(b, WK_CMD_ST, last->layer, t, p, s->done, s->end, from, to);
  }
  free(is_written);
}

static void emit_op(building *b, int index) {
  const wk_accel_op *op = &b->net->ops.data[index];
  op_state *os = &b->ops[index];
  int t = op->out.tensor;
  tensor_state *s = &b->tensors[t];
  wk_accel_work w = {.net = b->net, .steps = b->steps, .op = op, .y0 = os->done, .y1 = os->end,
                     .half = &b->half, .table = &b->table};
  wk_accel_steps_compute(b->steps, -1, NULL);
  w.a = operand_place(b, &op->a, index);
  if (op->b.tensor >= 0) w.b = operand_place(b, &op->b, index);
  bool is_sum = wk_accel_is_sum(op);
  if (!is_sum || !is_chunked(b, op)) {
    w.out = result_place(b, t, op->layer);
    wk_accel_steps_compute(b->steps, t, &w.out);
  }
  if (op->leaves_lanes) fill_lanes(b, &w);
  if (!is_sum) {
    wk_accel_consts c = {.record = -1};
    if (op->const_bytes) {
      c.weights = c.record = consts_of(b, index, 0, 1);
      c.weights_at = op->record_bytes;
    }
    wk_accel_emit_vector(&w, &c);
  } else emit_sums(b, index, &w);
  bool is_last = true;
  for (int i = index + 1; i <= b->group->last; i++)
    is_last = is_last && (b->net->ops.data[i].out.tensor != t || b->ops[i].end == b->ops[i].done);
  if (is_stored(b, t) && is_last && !s->is_stored) store(b, op, &w.out);
}

/* ---- strips ---------------------------------------------------------------------------------- */

/* Rows that the operator computes, and that it asks others for; true: they have these already. */
static bool ask_for_rows(building *b, int index) {
  const wk_accel_op *op = &b->net->ops.data[index];
  op_state *s = &b->ops[index];
  const wk_accel_view *reads[2] = {&op->a, &op->b};
  bool is_settled = true;
  s->end = wk_accel_rows_below(b->net, &op->out, b->tensors[op->out.tensor].end);
  for (int k = 0; k < 2 && s->end > s->done; k++) {
    int64_t rows[2];
    if (reads[k]->tensor < 0 || !is_made_here(b, reads[k]->tensor)) continue;
    wk_accel_needed_rows(b->net, op, k, s->done, s->end, rows);
    tensor_state *x = &b->tensors[reads[k]->tensor];
    if (rows[1] > x->end) x->end = rows[1], is_settled = false;
  }
  return is_settled;
}

static void find_rows(building *b, int strip) {
  const wk_accel_group *g = b->group;
  for (int i = g->first; i <= g->last; i++) {
    int t = b->net->ops.data[i].out.tensor;
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
  const wk_accel_group *g = b->group;
  for (int i = g->first; i <= g->last; i++) {
    const wk_accel_op *op = &b->net->ops.data[i];
    const op_state *s = &b->ops[i];
    const wk_accel_view *reads[2] = {&op->a, &op->b};
    for (int k = 0; k < 2; k++) {
      int64_t rows[2];
      if (reads[k]->tensor < 0) continue;
      tensor_state *x = &b->tensors[reads[k]->tensor];
      if (s->done < op->out.h) {
        wk_accel_needed_rows(b->net, op, k, s->done, s->done + 1, rows);
        if (rows[0] < x->keep) x->keep = rows[0];
      }
      if (s->end <= s->done) continue;
      wk_accel_needed_rows(b->net, op, k, s->done, s->end, rows);
      if (rows[0] < x->low) x->low = rows[0];
      if (rows[1] > x->high) x->high = rows[1];
    }
  }
}

static void begin_strip(building *b, int strip) {
  for (size_t t = 0; t < b->net->tensors.n; t++) {
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
  for (int i = b->group->first; i <= b->group->last; i++) {
    tensor_state *x = &b->tensors[b->net->ops.data[i].out.tensor];
    b->ops[i].done = b->ops[i].end;
    x->done = x->end;
  }
}

static void join_planes(const building *b, const wk_accel_view *x, int64_t all[2]) {
  int64_t planes[2];
  wk_accel_planes_of(b->net, x, planes);
  if (planes[0] < all[0]) all[0] = planes[0];
  if (planes[1] > all[1]) all[1] = planes[1];
}

static void begin_group(building *b) {
  for (size_t t = 0; t < b->net->tensors.n; t++) {
    b->tensors[t] = (tensor_state){.place = {.buffer = -1}, .before = {.buffer = -1},
                                   .planes = {INT64_MAX, 0}, .made = {INT64_MAX, 0}};
  }
  for (int i = b->group->first; i <= b->group->last; i++) {
    const wk_accel_op *op = &b->net->ops.data[i];
    const wk_accel_view *reads[2] = {&op->a, &op->b};
    join_planes(b, &op->out, b->tensors[op->out.tensor].made);
    b->ops[i].done = b->ops[i].end = 0;
    b->ops[i].consts = wk_arena_alloc(b->arena, op->n_pieces * sizeof(int));
    for (size_t k = 0; k < op->n_pieces; k++) b->ops[i].consts[k] = -1;
    for (int k = 0; k < 2; k++) {
      if (reads[k]->tensor >= 0)
        join_planes(b, reads[k], b->tensors[reads[k]->tensor].planes);
    }
  }
}

/* Behind the group, so that its time can be read from a real machine. */
static void add_mark(building *b, size_t row) {
  wk_isa_command c = b->net->defaults[WK_CMD_MARK];
  c.queue = WK_QUEUE_ex;
  PUT(&c, MARK, row, (int64_t)row);
  wk_accel_steps_compute(b->steps, -1, NULL);
  wk_accel_step_add(b->steps, &c);
}

static void build_group(building *b, const wk_accel_group *g) {
  b->group = g;
  begin_group(b);
  for (int s = 0; s < g->strips; s++) {
    begin_strip(b, s);
    for (int i = g->first; i <= g->last; i++)
      if (b->ops[i].end > b->ops[i].done) emit_op(b, i);
    end_strip(b);
  }
}

void wk_accel_build(const wk_accel_net *net, const wk_accel_plan *p, const wk_accel_use *uses,
                    size_t g0, size_t g1, wk_accel_steps *out) {
  building b = {.net = net, .plan = p, .uses = uses, .steps = out, .arena = wk_arena_new()};
  b.tensors = wk_arena_alloc(b.arena, net->tensors.n * sizeof *b.tensors);
  b.ops = wk_arena_alloc(b.arena, net->ops.n * sizeof *b.ops);
  b.resident = wk_arena_alloc(b.arena, net->tensors.n * sizeof *b.resident);
  for (size_t t = 0; t < net->tensors.n; t++) b.resident[t].buffer = -1;
  out->lasting = p->lasting;
  out->is_begin = g0 < g1 && !p->groups.data[g0].first;
  for (size_t g = g0; g < g1; g++) {
    out->group = (int)(g - g0);
    out->groups = out->group + 1;
    wk_vec_push(&out->alone, p->groups.data[g].alone);
    build_group(&b, &p->groups.data[g]);
    if (p->marks) add_mark(&b, g);
  }
  wk_arena_free(b.arena);
}
