/* SPDX-License-Identifier: Apache-2.0
 * Does an operator fit into the scratchpad, a row of its result at a time? Stacks of images go one
 * by one, and what goes channel by channel is cut until it does. */
#include "targets/accel/compile/parts.h"

static bool goes_by_channels(const wk_accel_op *op) {
  return op->kind == WK_ACCEL_DWC || op->kind == WK_ACCEL_MAP || op->kind == WK_ACCEL_POOL;
}

/* Bytes of a row that a view has. To take pixels out of rows one by one is no way to make room:
 * memory serves one of them as slowly as many. */
static int64_t width_of(const wk_accel_net *net, const wk_sched_tensor *t,
                        const wk_sched_view *x) {
  int64_t columns[2];
  wk_sched_columns_of(t, x, columns);
  return columns[1] - columns[0] > net->n ? columns[1] - columns[0] : t->row;
}

/* Of operand 0 or 1, for row y of the result. */
static int64_t operand_room(const wk_accel_net *net, const wk_accel_op *op, int operand,
                            int64_t y) {
  wk_sched_view v = wk_accel_sched_view(net, op, operand);
  int64_t rows[2];
  if (v.tensor < 0) return 0;
  wk_sched_tensor t = wk_accel_sched_tensor(&net->tensors.data[v.tensor]);
  wk_sched_needed_rows(&t, &v, (int64_t[]){0, wk_accel_stacks(net, op)}, y, y + 1, rows);
  if (op->is_packed && !operand) t.row = op->columns * op->a.sx;
  return (v.planes[1] - v.planes[0]) * (rows[1] - rows[0]) * width_of(net, &t, &v);
}

/* Bytes of the scratchpad that an operator alone needs for a row of its result. */
static int64_t least_room(const wk_accel_net *net, const wk_accel_op *op) {
  wk_sched_tensor out = wk_accel_sched_tensor(&net->tensors.data[op->out.tensor]);
  wk_sched_view v = wk_accel_sched_view(net, op, -1);
  int64_t most = 0, rows[2], consts = op->const_bytes;
  for (int64_t y = 0; y < op->out.h; y++) {
    int64_t room = operand_room(net, op, 0, y) + operand_room(net, op, 1, y);
    if (room > most) most = room;
  }
  wk_sched_rows_of(&out, &v, 0, 1, rows);
  if (wk_accel_is_sum(op) && op->out.o == 1 && !op->out.first && !op->leaves_lanes)
    v.planes[1] = v.planes[0] + 1;
  if (wk_accel_is_split(net, op)) { /* at least a block at a time */
    int64_t block = wk_accel_block_bytes(net, op), split = net->machine->scratchpad / 8;
    consts = op->record_bytes + (block > split ? block : split);
  }
  return most + consts +
         (v.planes[1] - v.planes[0]) * (rows[1] - rows[0]) * width_of(net, &out, &v);
}

wk_accel_op wk_accel_some_pieces(const wk_accel_net *net, const wk_accel_op *op, size_t from,
                                 size_t to) {
  wk_accel_op y = *op;
  wk_accel_view *views[3] = {&y.out, &y.a, &y.b};
  const wk_accel_piece *last = &op->pieces[to - 1], *end = &op->pieces[op->n_pieces - 1];
  int64_t c = op->pieces[from].c, count = last->c + last->n - c;
  wk_accel_piece *pieces = wk_arena_alloc(net->arena, (to - from) * sizeof *pieces);
  for (size_t i = from; i < to; i++) {
    pieces[i - from] = op->pieces[i];
    pieces[i - from].c -= c;
  }
  y.pieces = pieces;
  y.n_pieces = to - from;
  if (!op->one_const && op->consts) y.consts = op->consts + (int64_t)from * op->const_bytes;
  y.macs = op->macs / (end->c + end->n) * count;
  y.leaves_lanes = op->leaves_lanes && to == op->n_pieces;
  for (int i = 0; i < 3; i++) {
    wk_accel_view *v = views[i];
    if (v->tensor < 0 || v->c != op->out.c || (i == 1 && op->kind == WK_ACCEL_CONV)) continue;
    v->offset += (v->first + c) / net->n * v->sb;
    v->first = (int)((v->first + c) % net->n);
    v->c = count;
  }
  return y;
}

/* ---- fields of commands ---------------------------------------------------------------------- */

static bool is_backwards(const wk_accel_view *x) {
  return x->tensor >= 0 && (x->sy < 0 || x->sx < 0);
}

static bool is_windowed(const wk_accel_op *op) {
  return op->kind == WK_ACCEL_CONV || op->kind == WK_ACCEL_DWC || op->kind == WK_ACCEL_POOL;
}

/* Strides of a window over its input, and how far before the input it begins. */
static bool is_window_fine(const wk_accel_op *op) {
  const wk_accel_view *x = &op->a;
  int64_t pitch = op->is_packed ? op->columns * x->sx : x->sy;
  if (op->is_flat) return x->so >= 0 && (op->kx == 1 || x->sx <= WK_MAX_WINDOW(k_x));
  return (op->out.w == 1 || op->sx * x->sx <= WK_MAX_WINDOW(in_x)) &&
         (op->kx == 1 || op->is_packed || op->dx * x->sx <= WK_MAX_WINDOW(k_x)) &&
         (op->out.h == 1 || op->sy * pitch <= WK_MAX_WINDOW(in_y)) &&
         (op->ky == 1 || op->dy * pitch <= WK_MAX_WINDOW(k_y)) &&
         op->pad_t * pitch + op->pad_l * x->sx <= WK_MAX_WINDOW(in) + 1; /* it has a sign */
}

/* What is added to sums lies in rows as far apart as those of the result, or both are there row by
 * row. */
static bool is_residual_fine(const wk_accel_net *net, const wk_accel_op *op) {
  const wk_accel_view *b = &op->b, *y = &op->out;
  if (!wk_accel_has_residual(op) || y->h == 1 || b->sy == y->sy) return true;
  const wk_accel_tensor *from = &net->tensors.data[b->tensor], *to = &net->tensors.data[y->tensor];
  return wk_accel_is_picture(from, b) && wk_accel_is_by_rows(to, y) && b->w == y->w &&
         b->sy * to->row == y->sy * from->row;
}

/* Of MAP every stride that a field cannot hold becomes commands. */
static bool are_fields_fine(wk_accel_making *k, const wk_accel_op *op) {
  if (op->kind == WK_ACCEL_MAP) return true;
  if (is_backwards(&op->a) || is_backwards(&op->b) || is_backwards(&op->out))
    return wk_accel_refuse(k, "a tensor that lies backwards");
  if (!is_residual_fine(k->net, op))
    return wk_accel_refuse(k, "the second operand of its epilogue lies in other lanes");
  if (is_windowed(op) && !is_window_fine(op))
    return wk_accel_refuse(k, "a window whose pixels lie too far apart");
  int64_t most = op->kind == WK_ACCEL_POOL ? WK_MAX(POOL, out_x)
                                           : WK_LEAST(WK_MAX(CONV, out_x), WK_MAX(DWC, out_x));
  if (is_windowed(op) && op->out.w > 1 && op->out.sx > most)
    return wk_accel_refuse(k, "results every %lld bytes", (long long)op->out.sx);
  return true;
}

/* ---- room ------------------------------------------------------------------------------------ */

void wk_accel_insert(wk_accel_net *net, size_t at, const wk_accel_op *op) {
  wk_vec_push(&net->ops, *op);
  for (size_t i = net->ops.n - 1; i > at; i--) net->ops.data[i] = net->ops.data[i - 1];
  net->ops.data[at] = *op;
}

static int64_t larger_room(const wk_accel_net *net, const wk_accel_op *first,
                           const wk_accel_op *last) {
  int64_t a = least_room(net, first), b = least_room(net, last);
  return a > b ? a : b;
}

/* Of one stack, the first or the last. */
static int64_t stack_room(const wk_accel_net *net, const wk_accel_op *op) {
  wk_accel_op first = wk_accel_some_stacks(op, 0, 1);
  wk_accel_op last = wk_accel_some_stacks(op, op->out.o - 1, op->out.o);
  return larger_room(net, &first, &last);
}

/* Of one block of channels, the first or the last. */
static int64_t block_room(const wk_accel_net *net, const wk_accel_op *op) {
  wk_accel_op first = wk_accel_some_pieces(net, op, 0, 1);
  wk_accel_op last = wk_accel_some_pieces(net, op, op->n_pieces - 1, op->n_pieces);
  return larger_room(net, &first, &last);
}

/* Of what the scheduler does in one go, at least. */
static int64_t room_of(const wk_accel_net *net, const wk_accel_op *op) {
  if (wk_accel_takes_parts(net, op)) {
    int64_t in_parts = wk_accel_parts_room(net, op), whole = least_room(net, op);
    return in_parts < whole ? in_parts : whole;
  }
  if (op->piece_stacks) return block_room(net, op);
  return wk_accel_stacks(net, op) > 1 ? stack_room(net, op) : least_room(net, op);
}

/* Images of a batch, one by one, as operators of their own, where that takes less room, and, as
 * the scheduler may do them so, where even one takes more than `most`. */
static int64_t cut_stacks(wk_accel_net *net, size_t i, int64_t room, int64_t most) {
  wk_accel_op op = net->ops.data[i];
  bool is_apart = wk_accel_stacks(net, &op) > 1;
  if (op.out.o == 1 || op.is_flat || (is_apart ? room <= most : op.kind == WK_ACCEL_MAP))
    return room;
  wk_accel_op first = wk_accel_some_stacks(&op, 0, 1);
  int64_t each = stack_room(net, &op);
  if (each >= room && !is_apart) return room;
  net->ops.data[i] = first;
  for (int64_t o = 1; o < op.out.o; o++) {
    wk_accel_op one = wk_accel_some_stacks(&op, o, o + 1);
    wk_accel_insert(net, i + (size_t)o, &one);
  }
  return each;
}

/* Some channels after the others; the number of operators that it has become. 0: it cannot be. */
static size_t cut_channels(wk_accel_net *net, size_t i, size_t parts) {
  wk_accel_op op = net->ops.data[i];
  if (!goes_by_channels(&op) || op.n_pieces < parts || op.out.o != 1 || op.piece_stacks) return 0;
  size_t each = wk_ceil_div(op.n_pieces, parts), made = 0;
  for (size_t at = 0; at < op.n_pieces; at += each, made++) {
    size_t end = at + each < op.n_pieces ? at + each : op.n_pieces;
    wk_accel_op part = wk_accel_some_pieces(net, &op, at, end);
    if (made) wk_accel_insert(net, i + made, &part);
    else net->ops.data[i] = part;
  }
  return made;
}

/* Some of it is left to transfers that run ahead. */
static int64_t most_room(const wk_machine *m) { return m->scratchpad - m->scratchpad / 8; }

typedef struct {
  const wk_accel_net *net;
  const wk_accel_op *op;
} fitting;

/* The operator fits, as it is or cut. */
static bool can_fit(void *ctx, int64_t scratchpad) {
  const fitting *x = ctx;
  wk_accel_net net = *x->net;
  wk_machine m = *net.machine;
  m.scratchpad = scratchpad;
  net.machine = &m;
  int64_t room = room_of(&net, x->op), most = most_room(&m);
  if (wk_accel_goes_by_blocks(&net, x->op)) return block_room(&net, x->op) <= most;
  return room <= most || (goes_by_channels(x->op) && x->op->out.o == 1 &&
                          (int64_t)x->op->n_pieces >= wk_ceil_div(2 * room, most));
}

static bool is_whole_tensor(const wk_accel_net *net, const wk_accel_view *x) {
  if (x->tensor < 0) return false;
  const wk_accel_tensor *t = &net->tensors.data[x->tensor];
  return (t->rows == 1 && x->h > 1) || !wk_accel_is_picture(t, x);
}

static bool refuse_room(wk_accel_making *k, const wk_accel_op *op, int64_t room) {
  const wk_accel_net *net = k->net;
  fitting x = {net, op};
  bool is_whole = is_whole_tensor(net, &op->out) || is_whole_tensor(net, &op->a) ||
                  is_whole_tensor(net, &op->b);
  wk_sched_machine m;
  wk_accel_sched_machine(net->machine, &m);
  k->reason = wk_sched_room_reason(&m, net->arena, wk_ceil_div(8 * room, 7),
                                   is_whole ? "tensors that it cannot take row by row"
                                            : "one row of its result",
                                   wk_sched_least_scratchpad(&m, can_fit, &x));
  return false;
}

bool wk_accel_fit(wk_accel_making *k) {
  wk_accel_net *net = k->net;
  int64_t most = most_room(net->machine);
  for (size_t i = 0; i < net->ops.n; i++) {
    if (net->nodes.n) k->node = net->nodes.data[net->ops.data[i].layer];
    k->refused = k->node;
    if (!are_fields_fine(k, &net->ops.data[i])) return false;
    int64_t room = room_of(net, &net->ops.data[i]);
    if (2 * room > most) room = cut_stacks(net, i, room, most);
    if (room > most && wk_accel_goes_by_blocks(net, &net->ops.data[i])) {
      net->ops.data[i].piece_stacks = (int64_t)net->ops.data[i].n_pieces;
      room = room_of(net, &net->ops.data[i]);
    }
    if (room <= most) continue;
    size_t made = cut_channels(net, i, (size_t)wk_ceil_div(2 * room, most));
    if (!made) return refuse_room(k, &net->ops.data[i], room);
    i += made - 1;
  }
  return true;
}
