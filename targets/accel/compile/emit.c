/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/emit.h"

#include <stdlib.h>

#include "targets/accel/compile/parts.h"
#include "targets/accel/isa/queues.h"

#define PUT(c, C, field, value) ((c)->v[WK_##C##_##field] = (value))

static wk_isa_command command(const wk_sched_building *b, int opcode, int queue, uint32_t layer) {
  wk_isa_command c = wk_accel_net_of(b->net)->defaults[opcode];
  c.queue = (uint32_t)queue;
  c.operator = layer + 1;
  return c;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static wk_sched_step *add_transfer(wk_sched_building *b, const wk_sched_transfer *x) {
  wk_isa_command c = command(b, x->stores ? WK_CMD_ST : WK_CMD_LD, x->queue, x->layer);
  PUT(&c, LD, dram, x->dram);
  PUT(&c, LD, n0, x->n0);
  PUT(&c, LD, n1, x->n1);
  PUT(&c, LD, s1, x->n1 > 1 ? x->s1 : 0);
  PUT(&c, LD, c0, x->chunk);
  PUT(&c, LD, c1, x->chunks);
  PUT(&c, LD, p1, x->chunks > 1 ? x->pitch : 0);
  return wk_accel_add_command(b->steps, &c);
}

static void fill_lines(wk_sched_building *b, uint32_t layer, int buffer, int64_t at, int64_t value,
                       int64_t chunk, int64_t n1, int64_t p1, int64_t n2, int64_t p2) {
  wk_isa_command c = command(b, WK_CMD_FILL, WK_QUEUE_ld0, layer);
  PUT(&c, FILL, value, value);
  PUT(&c, FILL, c0, chunk);
  PUT(&c, FILL, c1, n1);
  PUT(&c, FILL, p1, n1 > 1 ? p1 : 0);
  PUT(&c, FILL, c2, n2);
  PUT(&c, FILL, p2, n2 > 1 ? p2 : 0);
  wk_sched_step *s = wk_accel_add_command(b->steps, &c);
  wk_sched_touch(s, &(wk_sched_access){.buffer = buffer, .field = WK_FILL_spm, .writes = true,
                                       .at = at, .from = at, .run = chunk, .n0 = n1, .s0 = p1,
                                       .n1 = n2, .s1 = p2});
}

/* n2 lines of n1 chunks, in as many commands as their fields take. */
static void fill(wk_sched_building *b, uint32_t layer, int buffer, int64_t at, int64_t value,
                 int64_t chunk, int64_t n1, int64_t p1, int64_t n2, int64_t p2) {
  const int64_t most1 = WK_MAX(FILL, c1), most2 = WK_MAX(FILL, c2);
  if (n1 == 1 && n2 > 1) n1 = n2, p1 = p2, n2 = 1;
  for (int64_t y = 0; y < n2; y += most2)
    for (int64_t x = 0; x < n1; x += most1)
      fill_lines(b, layer, buffer, at + y * p2 + x * p1, value, chunk,
                 n1 - x < most1 ? n1 - x : most1, p1, n2 - y < most2 ? n2 - y : most2, p2);
}

/* ---- dense images ---------------------------------------------------------------------------- */

/* Pixels [from, to) of rows of a dense image that its readers need; padding is outside of it. */
typedef struct {
  const wk_accel_op *op; /* one of them */
  int64_t from, to;
} dense_columns;

static dense_columns columns_of(const wk_sched_building *b, int t) {
  dense_columns c = {.from = INT64_MAX};
  for (int i = b->group->first; i <= b->group->last; i++) {
    const wk_accel_op *op = &wk_accel_net_of(b->net)->ops.data[i];
    if (op->a.tensor != t) continue;
    const int64_t from = op->a.offset % b->net->tensors[t].row / op->a.sx - op->pad_l;
    c.op = op;
    if (from < c.from) c.from = from;
    if (from + op->columns > c.to) c.to = from + op->columns;
  }
  return c;
}

static wk_sched_place load_dense(wk_sched_building *b, int t, const int64_t planes[2], int64_t r0,
                                 int64_t r1) {
  const wk_sched_tensor *x = &b->net->tensors[t];
  const dense_columns c = columns_of(b, t);
  const wk_accel_op *op = c.op;
  const int64_t pixel = op->a.sx, all = x->row / pixel;
  const int64_t from = c.from > 0 ? c.from : 0, to = c.to < all ? c.to : all;
  const int64_t left = (from - c.from) * pixel, right = (c.to - to) * pixel;
  const int64_t rows = r1 - r0, n = planes[1] - planes[0];
  wk_sched_place p = {.column = from * pixel, .width = (to - from) * pixel, .row = r0,
                      .rows = rows, .plane = planes[0], .planes = n,
                      .pitch = (c.to - c.from) * pixel, .lead = left};
  p.buffer = wk_sched_buffer_add(b->steps, n * rows * p.pitch, pixel);
  for (int64_t q = 0; q < n; q++) {
    int64_t at = q * rows * p.pitch;
    if (left) fill(b, op->layer, p.buffer, at, op->a_zero, left, rows, p.pitch, 1, 0);
    if (right)
      fill(b, op->layer, p.buffer, at + left + p.width, op->a_zero, right, rows, p.pitch, 1, 0);
  }
  wk_sched_move_rows(b, false, op->layer, t, &p, r0, r1, planes[0], planes[1]);
  return p;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* What the building keeps from command to command: which half of the accumulators is next, which
 * table, and where each of those came from. */
enum { HALF, TABLES, STATES = TABLES + 1 + WK_KEY_MAX_tables };
_Static_assert(STATES <= WK_COUNTOF(((wk_sched_building *)0)->state), "all of it has room");

/* some: room for the operator with fewer stacks. */
static wk_accel_work work_of(const wk_sched_work *w, wk_accel_op *some) {
  const wk_accel_net *net = wk_accel_net_of(w->b->net);
  const wk_accel_op *op = &net->ops.data[w->op];
  int64_t stacks = w->stacks[1] - w->stacks[0];
  if (!op->piece_stacks && stacks < wk_sched_stacks(&w->b->net->ops[w->op]))
    *some = wk_accel_some_stacks(op, w->stacks[0], w->stacks[1]), op = some;
  return (wk_accel_work){.net = net, .steps = w->b->steps, .op = op,
                         .y0 = w->y0, .y1 = w->y1, .out = w->out, .a = w->in[0], .b = w->in[1],
                         .half = &w->b->state[HALF], .tables = &w->b->state[TABLES]};
}

/* Where all results have room in the accumulators, parts of the constants come once. */
bool wk_accel_is_split(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_view *y = &op->out;
  int64_t most = net->machine->scratchpad / 5;
  if (y->o == 1 && y->h * y->w <= wk_machine_entries(net->machine))
    most = net->machine->scratchpad / 6;
  return op->kind == WK_ACCEL_CONV && !op->is_packed &&
         (op->const_bytes > most || op->kc > WK_MAX(CONV, kc));
}


/* Bytes of a piece's constants that are loaded at once: as many chunks, and so much that
 * some have room beside the operand. */
static int64_t part_bytes(const wk_sched_work *w) {
  enum { PARTS = 4 };
  const wk_sched_place *x = &w->in[0];
  int64_t room = w->b->net->machine->scratchpad - x->planes * x->rows * x->pitch;
  int64_t most = WK_ACCEL_PART_CHUNKS * w->b->chunk;
  if (room < PARTS) return most; /* it will not fit */
  return room < PARTS * most ? wk_ceil_div(room, PARTS) : most;
}

static void emit_split(const wk_sched_work *w, const wk_accel_work *x, size_t piece) {
  const wk_accel_op *op = x->op;
  const wk_sched_op *own = &w->b->net->ops[w->op];
  int64_t from = op->const_bytes * (int64_t)piece, block = wk_accel_block_bytes(x->net, op);
  int64_t parts = wk_ceil_div(op->const_bytes, part_bytes(w));
  if (parts < wk_ceil_div(op->kc, WK_MAX(CONV, kc)))
    parts = wk_ceil_div(op->kc, WK_MAX(CONV, kc));
  int64_t blocks = wk_ceil_div(op->kc, parts), chunks = wk_accel_chunks(x);
  int record = wk_sched_load_consts(w->b, own, from, op->record_bytes);
  for (int64_t c = 0; c < chunks; c += 2)
    for (int64_t k = 0; k < op->kc; k += blocks) {
      wk_accel_consts y = {.record = record, .k0 = k,
                           .k1 = k + blocks < op->kc ? k + blocks : op->kc};
      y.weights = wk_sched_load_consts(w->b, own, from + op->record_bytes + k * block,
                                       (y.k1 - k) * block);
      wk_accel_emit_sums(x, piece, &y, c, c + 2 < chunks ? c + 2 : chunks);
    }
}

static void emit_sums(const wk_sched_work *w, wk_accel_work *x) {
  const wk_accel_op *op = x->op;
  if (w->in[0].buffer < 0) {
    wk_accel_emit_parts(w, x);
    return;
  }
  for (size_t k = w->piece; k < w->end; k++) {
    if (w->consts < 0) {
      emit_split(w, x, k);
      continue;
    }
    int64_t at = op->one_const ? 0 : (int64_t)(k - w->piece) * op->const_bytes;
    wk_accel_emit_sums(x, k, &(wk_accel_consts){.weights = w->consts, .record = w->consts,
                                                .weights_at = at + op->record_bytes,
                                                .record_at = at, .k1 = op->kc},
                       0, wk_accel_chunks(x));
  }
}

static void compute(const wk_sched_work *w) {
  wk_accel_op some;
  wk_accel_work x = work_of(w, &some);
  if (wk_accel_is_sum(x.op)) {
    emit_sums(w, &x);
    return;
  }
  wk_accel_emit_vector(&x, w->piece, w->end,
                       &(wk_accel_consts){.weights = w->consts, .record = w->consts,
                                          .weights_at = x.op->record_bytes});
}

/* Lanes behind the last channel hold something, where these pieces are the last. */
void wk_accel_fill_lanes(const wk_sched_work *work) {
  wk_accel_op some;
  wk_accel_work w = work_of(work, &some);
  const wk_accel_op *op = w.op;
  if (!op->leaves_lanes || work->end < op->n_pieces) return;
  wk_accel_spot y = wk_accel_spot_of(w.net, &op->out, &w.out);
  int n = w.net->n;
  int64_t at = y.offset + (op->out.first + op->out.c - 1) / n * y.sb + w.y0 * y.sy;
  if (op->out.first + op->out.c <= n && op->out.first) { /* the lanes before belong to others */
    const wk_accel_piece *p = &op->pieces[op->n_pieces - 1];
    int64_t lane = (op->out.first + p->c) % n + p->width;
    for (int64_t o = 0; o < op->out.o; o++)
      fill(work->b, op->layer, y.buffer, at + o * y.so + lane, 0, n - lane, op->out.w, y.sx,
           w.y1 - w.y0, y.sy);
    return;
  }
  if (y.sx == n && (w.y1 - w.y0 == 1 || y.sy == op->out.w * n))
    fill(work->b, op->layer, y.buffer, at, 0, (w.y1 - w.y0) * op->out.w * n, 1, 0, op->out.o,
         y.so);
  else
    for (int64_t o = 0; o < op->out.o; o++)
      fill(work->b, op->layer, y.buffer, at + o * y.so, 0, n, op->out.w, y.sx, w.y1 - w.y0, y.sy);
}

/* By the vector unit. */
static void carry(wk_sched_building *b, uint32_t layer, int t, const int64_t made[2], int64_t r0,
                  int64_t r1, const wk_sched_place *from, const wk_sched_place *to) {
  const wk_accel_net *net = wk_accel_net_of(b->net);
  const wk_accel_tensor *x = &net->tensors.data[t];
  int n = net->n;
  int64_t planes = made[1] - made[0];
  wk_accel_view v = {.tensor = t, .offset = (made[0] * x->rows + r0) * x->row + from->column,
                     .o = 1, .c = planes * n, .h = r1 - r0, .w = from->width / n,
                     .sb = x->rows * x->row, .sy = x->row, .sx = n};
  wk_accel_piece *pieces = wk_xcalloc((size_t)planes, sizeof *pieces);
  for (int64_t i = 0; i < planes; i++) pieces[i] = (wk_accel_piece){i * n, n, n};
  wk_accel_op op = {.kind = WK_ACCEL_MAP, .fn = WK_CHOICE_MAP_move, .layer = layer, .out = v,
                    .a = v, .b = {.tensor = -1}, .pieces = pieces, .n_pieces = (size_t)planes,
                    .one_const = true};
  wk_accel_work w = {.net = net, .steps = b->steps, .op = &op, .y1 = r1 - r0, .out = *to,
                     .a = *from, .half = &b->state[HALF], .tables = &b->state[TABLES]};
  wk_accel_emit_vector(&w, 0, op.n_pieces, NULL);
  free(pieces);
}

/* So that the group's time can be read from a real machine. */
static void add_mark(wk_sched_building *b, size_t row) {
  wk_isa_command c = wk_accel_net_of(b->net)->defaults[WK_CMD_MARK];
  c.queue = WK_QUEUE_ex;
  PUT(&c, MARK, row, (int64_t)row);
  wk_accel_add_command(b->steps, &c);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void resize(const wk_sched_net *net, int64_t scratchpad, wk_arena *a, wk_sched_net *out) {
  const wk_accel_net *own = wk_accel_net_of(net);
  wk_accel_net *y = wk_arena_memdup(a, own, sizeof *own);
  wk_machine *m = wk_arena_memdup(a, own->machine, sizeof *m);
  m->scratchpad = scratchpad;
  y->machine = m;
  wk_accel_sched_net(y, a, out);
}

static void describe_view(wk_str *b, const wk_accel_view *x) {
  WK_SCHED_PUT(b, x->offset, x->o, x->c, x->h, x->w, x->so, x->sb, x->sy, x->sx, x->first);
}

static void describe_pick(wk_str *b, const wk_accel_pick *p) {
  WK_SCHED_PUT(b, p->y, p->x, p->sy, p->sx, p->ny, p->nx, p->from_y[0], p->from_y[1],
               p->from_x[0], p->from_x[1], p->step_y, p->step_x, p->c, p->from_c, p->nc, p->fn,
               p->record);
}

static void describe(const wk_sched_net *net, int i, wk_str *b) {
  const wk_accel_op *op = &wk_accel_net_of(net)->ops.data[i];
  describe_view(b, &op->out), describe_view(b, &op->a), describe_view(b, &op->b);
  WK_SCHED_PUT(b, op->kind, op->fn, op->a_u8, op->b_u8, op->ky, op->kx, op->sy, op->sx, op->dy,
               op->dx, op->pad_t, op->pad_l, op->has_window, op->is_packed, op->columns,
               op->is_line, op->is_flat, op->kc, op->k_tail, op->is_transposed, op->is_splat,
               op->record_bytes, op->tables, op->leaves_lanes);
  for (size_t k = 0; k < op->n_pieces; k++)
    WK_SCHED_PUT(b, op->pieces[k].c, op->pieces[k].n, op->pieces[k].width);
  for (size_t k = 0; k < op->n_picks; k++) describe_pick(b, &op->picks[k]);
}

void wk_accel_sched_machine(const wk_machine *m, wk_sched_machine *out) {
  const int64_t run = WK_LEAST(WK_MAX(LD, n0), WK_MAX(LD, c0));
  *out = (wk_sched_machine){
      .name = m->name,
      .queues = wk_isa_queues,
      .units = {[WK_QUEUE_ex] = "array", [WK_QUEUE_ve] = "vector"},
      .load_queue = WK_QUEUE_ld0,
      .const_queue = m->load_channels > 1 ? WK_QUEUE_ld1 : WK_QUEUE_ld0,
      .store_queue = WK_QUEUE_st,
      .scratchpad = m->scratchpad, .most_scratchpad = WK_KEY_MAX_scratchpad,
      .align = m->array, .memory_align = 64,
      .bytes_num = m->dram_bytes.num, .bytes_den = m->dram_bytes.den,
      .most_run = WK_LEAST(WK_TRANSFER_BYTES - 1, run),
      .most_runs = WK_LEAST(WK_MAX(LD, n1), WK_MAX(LD, c1)),
      .most_consts = WK_ACCEL_CONSTS,
      .most_result = wk_machine_entries(m) / 2 * m->array,
      .most_commands = WK_STREAM_COMMANDS, .command_bytes = sizeof(wk_isa_command),
      .spm_field = WK_LD_spm, .model = &wk_accel_model,
      .transfer = add_transfer, .compute = compute, .prepare = wk_accel_fill_lanes, .carry = carry,
      .load = load_dense, .mark = add_mark, .resize = resize, .describe = describe};
}

/* ---- the net --------------------------------------------------------------------------------- */

/* The plane of the tensor that the first piece of a result is, if every piece is one; or -1. */
static int64_t plane_of(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_tensor *x = &net->tensors.data[op->out.tensor];
  int64_t plane = x->rows * x->row;
  bool is_plane = (op->out.o == 1 || wk_accel_stacks(net, op) > 1) && !op->out.first &&
                  op->out.offset % plane == 0 && (op->out.sb == plane || op->n_pieces == 1) &&
                  op->out.sx == net->n && (op->out.h == 1 || op->out.sy == x->row);
  return is_plane ? op->out.offset / plane : -1;
}

/* Each piece is a block of the operands, too. */
static bool may_ride(const wk_accel_net *net, const wk_accel_op *op) {
  return (op->kind == WK_ACCEL_MAP || op->kind == WK_ACCEL_POOL) && !op->a.first &&
         (op->b.tensor < 0 || !op->b.first) && wk_accel_are_pieces_blocks(net, op);
}

static bool lie_alike(const wk_accel_view *a, const wk_accel_view *b) {
  return a->offset == b->offset && a->o == b->o && a->c == b->c && a->h == b->h && a->w == b->w &&
         a->so == b->so && a->sb == b->sb && a->sy == b->sy && a->sx == b->sx &&
         a->first == b->first;
}

/* The vector unit writes a word, or a row, when it has read it. */
static bool may_replace(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_tensor *x = &net->tensors.data[op->a.tensor];
  const wk_accel_tensor *y = &net->tensors.data[op->out.tensor];
  bool is_fold = op->kind == WK_ACCEL_ROW &&
                 (op->fn == WK_CHOICE_ROW_mean || op->fn == WK_CHOICE_ROW_max);
  return (op->kind == WK_ACCEL_MAP || (op->kind == WK_ACCEL_ROW && !is_fold)) &&
         !op->leaves_lanes && op->b.tensor != op->a.tensor && op->a.tensor != op->out.tensor &&
         lie_alike(&op->a, &op->out) && x->planes == y->planes && x->rows == y->rows &&
         x->row == y->row && !x->is_dense;
}

static wk_sched_op op_of(const wk_accel_net *net, const wk_accel_op *op) {
  wk_sched_op y = {.name = op->name, .kind = op->op, .layer = op->layer,
                   .queue = wk_accel_is_sum(op) ? WK_QUEUE_ex : WK_QUEUE_ve,
                   .out = wk_accel_sched_view(net, op, -1), .pieces = op->n_pieces,
                   .consts = op->const_tensor, .const_bytes = op->const_bytes,
                   .one_const = op->one_const, .by_pieces = wk_accel_is_sum(op),
                   .rides = may_ride(net, op), .replaces = may_replace(net, op),
                   .same_pitch = wk_accel_has_residual(op) && op->out.h > 1,
                   .loads_itself = wk_accel_is_split(net, op),
                   .takes_parts = wk_accel_takes_parts(net, op), .plane = plane_of(net, op),
                   .stacks = op->piece_stacks ? op->piece_stacks : wk_accel_stacks(net, op),
                   .shares_pieces = op->piece_stacks > 0};
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) y.in[k] = wk_accel_sched_view(net, op, k);
  return y;
}

void wk_accel_sched_net(const wk_accel_net *net, wk_arena *a, wk_sched_net *out) {
  wk_sched_machine *m = wk_arena_alloc(a, sizeof *m);
  wk_sched_tensor *tensors = wk_arena_alloc(a, net->tensors.n * sizeof *tensors);
  wk_sched_op *ops = wk_arena_alloc(a, net->ops.n * sizeof *ops);
  wk_accel_sched_machine(net->machine, m);
  for (size_t t = 0; t < net->tensors.n; t++)
    tensors[t] = wk_accel_sched_tensor(&net->tensors.data[t]);
  for (size_t i = 0; i < net->ops.n; i++) ops[i] = op_of(net, &net->ops.data[i]);
  *out = (wk_sched_net){.machine = m, .context = net, .arena = net->arena, .tensors = tensors,
                        .n_tensors = net->tensors.n, .ops = ops, .n_ops = net->ops.n,
                        .layers = net->names.data, .n_layers = net->layers.n};
}
