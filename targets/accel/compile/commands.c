/* SPDX-License-Identifier: Apache-2.0
 * Commands of operators. */
#include <string.h>

#include "targets/accel/compile/commands.h"

#define PUT(c, C, field, value) ((c)->v[WK_##C##_##field] = (value))

static wk_isa_command command(const wk_accel_work *w, int opcode, int queue) {
  wk_isa_command c = w->net->defaults[opcode];
  c.queue = (uint32_t)queue;
  c.operator = w->op->layer + 1;
  return c;
}

wk_sched_step *wk_accel_add_command(wk_sched_steps *s, const wk_isa_command *c) {
  return wk_sched_step_add(s, (int)c->queue, c->operator, c);
}

/* The address of piece p's first channel in a spot. */
static int64_t piece_at(int n, const wk_accel_view *x, const wk_accel_spot *s, int64_t c) {
  return s->offset + (x->first + c) / n * s->sb + (x->first + c) % n;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Rows [y, y + ny) and columns [x, x + nx) of the result, of stack o. */
typedef struct {
  int64_t o, y, x, ny, nx;
} chunk;

static int64_t half_entries(const wk_accel_work *w) {
  return wk_machine_entries(w->net->machine) / 2;
}

typedef struct {
  int64_t rows, columns, down, across; /* of a chunk; chunks */
} chunking;

/* Results in a row whose windows, together, reach over at most as many inputs. */
static int64_t most_within(int64_t inputs, int64_t taps, int64_t stride, int64_t dilation) {
  return (inputs - (taps - 1) * dilation - 1) / stride + 1;
}

/* Rows and columns of a result that the fields of a command can count, and those of its input. */
static int64_t most_rows(const wk_accel_op *op) {
  int64_t rows = WK_LEAST(WK_MAX_WINDOW(ny), WK_MAX(MM, ny));
  if (op->is_line) rows = WK_LEAST(WK_MAX_WINDOW(nx), WK_MAX_WINDOW(w) / op->sy);
  if (!op->has_window && !op->is_line) return rows;
  return WK_LEAST(rows, most_within(WK_MAX_WINDOW(h), op->ky, op->sy, op->dy));
}

int64_t wk_accel_most_columns(const wk_accel_op *op) {
  if (!op->has_window || op->is_packed) return WK_MAX_WINDOW(nx);
  return WK_LEAST(WK_MAX_WINDOW(nx), most_within(WK_MAX_WINDOW(w), op->kx, op->sx, op->dx));
}

static chunking chunking_of(const wk_accel_work *w) {
  int64_t most = w->entries ? w->entries : half_entries(w);
  int64_t width = w->op->out.w, h = w->y1 - w->y0;
  chunking k = {.across = wk_ceil_div(width, WK_LEAST(most, wk_accel_most_columns(w->op)))};
  k.columns = wk_ceil_div(width, k.across);
  k.rows = WK_LEAST(h, WK_LEAST(most / k.columns, most_rows(w->op)));
  k.down = wk_ceil_div(h, k.rows);
  k.rows = wk_ceil_div(h, k.down);
  k.down = wk_ceil_div(h, k.rows);
  return k;
}

int64_t wk_accel_chunks(const wk_accel_work *w) {
  chunking k = chunking_of(w);
  return w->op->out.o * k.down * k.across;
}

static chunk chunk_of(const wk_accel_work *w, int64_t i) {
  chunking k = chunking_of(w);
  chunk c = {.x = i % k.across * k.columns};
  i /= k.across;
  c.y = w->y0 + i % k.down * k.rows;
  c.o = i / k.down;
  c.ny = w->y1 - c.y < k.rows ? w->y1 - c.y : k.rows;
  c.nx = w->op->out.w - c.x < k.columns ? w->op->out.w - c.x : k.columns;
  return c;
}

void wk_accel_chunk_rows(const wk_accel_work *w, int64_t i, int64_t rows[2]) {
  chunk c = chunk_of(w, i);
  rows[0] = c.y, rows[1] = c.y + c.ny;
}

/* Which half of the accumulators a piece's sums are in. */
static int half_of(const wk_accel_work *w, const wk_accel_consts *k) {
  return (*w->half + k->is_other) % 2;
}

/* The window of a chunk: where tap (0, 0) of its first pixel lies, padding before it, and how much
 * of the input is left from there. */
typedef struct {
  int64_t in, in_y, in_x, k_y, k_x, pad_t, pad_l, h, w;
  int64_t row0, rows; /* of the input that it reads, from `in` */
} window;

/* A stride that no pixel and no tap goes by may be more than its field holds. Three taps at a time
 * are words one after the other in any case. */
static void leave_strides(const wk_accel_op *op, window *x) {
  bool is_three = op->kind == WK_ACCEL_DWC && op->fn == WK_CHOICE_TAPS_three;
  if (op->out.h == 1 && !op->is_line) x->in_y = 0;
  if (op->ky == 1 && !op->is_line) x->k_y = 0;
  if (op->out.w == 1 && !is_three) x->in_x = 0;
  if (op->kx == 1 && !is_three) x->k_x = 0;
}

static window window_of(const wk_accel_work *w, const chunk *c, const wk_accel_spot *a,
                        int64_t first) {
  const wk_accel_op *op = w->op;
  window x = {.in_y = op->sy * a->sy, .in_x = op->sx * a->sx, .k_y = op->dy * a->sy,
              .k_x = op->dx * a->sx};
  if (op->is_flat) {
    x.in_y = a->so, x.in_x = 0, x.k_y = a->sy, x.k_x = a->sx;
    x.in = first + c->y * a->so;
    x.rows = op->ky;
    leave_strides(op, &x);
    return x;
  }
  leave_strides(op, &x);
  int64_t top = c->y * op->sy - op->pad_t, left = c->x * op->sx - op->pad_l;
  if (op->is_packed) left = c->x * op->sx; /* padding is there */
  int64_t lead = op->is_packed ? -op->pad_l * op->a.sx : 0;
  x.in = first + c->o * a->so + top * a->sy + left * a->sx + lead;
  int64_t bottom = top + (c->ny - 1) * op->sy + (op->ky - 1) * op->dy + 1;
  x.row0 = top < 0 ? -top : 0;
  x.rows = (bottom > op->a.h ? op->a.h : bottom) - (top < 0 ? 0 : top);
  if (!op->has_window) return x;
  x.pad_t = top < 0 ? -top : 0;
  x.h = top > 0 ? op->a.h - top : op->a.h;
  if (x.h > WK_MAX_WINDOW(h)) x.h = bottom - (top > 0 ? top : 0); /* what it reaches at most */
  if (op->is_packed) return x;
  int64_t right = left + (c->nx - 1) * op->sx + (op->kx - 1) * op->dx + 1;
  x.pad_l = left < 0 ? -left : 0;
  x.w = left > 0 ? op->a.w - left : op->a.w;
  if (x.w > WK_MAX_WINDOW(w)) x.w = right - (left > 0 ? left : 0);
  return x;
}

#define PUT_WINDOW(c, C, x, ch, op)                                                   \
  (PUT(c, C, in_y, (x)->in_y), PUT(c, C, in_x, (x)->in_x), PUT(c, C, k_y, (x)->k_y), \
   PUT(c, C, k_x, (x)->k_x), PUT(c, C, ny, (ch)->ny), PUT(c, C, nx, (ch)->nx),       \
   PUT(c, C, ky, (op)->ky), PUT(c, C, kx, (op)->kx), PUT(c, C, pad_t, (x)->pad_t),   \
   PUT(c, C, pad_l, (x)->pad_l), PUT(c, C, h, (x)->h), PUT(c, C, w, (x)->w),         \
   PUT(c, C, sy, (op)->sy), PUT(c, C, sx, (op)->sx), PUT(c, C, dy, (op)->dy),        \
   PUT(c, C, dx, (op)->dx))

/* What a window reads: `count` blocks, of each some rows from their first pixel on. */
static wk_sched_access window_access(const wk_accel_work *w, const window *x, const chunk *c,
                                     const wk_accel_spot *a, int64_t first, int field,
                                     int64_t count) {
  const wk_accel_op *op = w->op;
  const wk_accel_tensor *tensor = &w->net->tensors.data[op->a.tensor];
  int64_t n = w->net->n;
  wk_sched_access y = {.buffer = a->buffer, .field = field, .at = x->in, .n0 = count, .s0 = a->sb,
                       .n1 = 1};
  if (op->is_flat) { /* whole images */
    y.from = x->in, y.n1 = c->ny, y.s1 = a->so;
    y.run = (op->ky - 1) * a->sy + (op->kx - 1) * a->sx + n;
    return y;
  }
  int64_t top = c->y * op->sy - op->pad_t + x->row0;
  y.from = first + c->o * a->so + top * a->sy;
  if (op->is_packed) y.from -= w->a.lead + op->a.offset % tensor->row - w->a.column;
  y.run = (x->rows - 1) * a->sy;
  if (op->is_packed) y.n0 = 1, y.run += w->a.pitch;
  else y.run += (op->a.w - 1) * a->sx + n;
  return y;
}

/* Result, record and residual of a command that drains. */
static void put_drain(const wk_accel_work *w, wk_sched_step *s, const chunk *c, size_t piece,
                      const wk_accel_consts *k, const int fields[4]) {
  const wk_accel_piece *p = &w->op->pieces[piece];
  int64_t record = WK_RECORD_BYTES + (int64_t)p->width * WK_ENTRY_BYTES;
  const wk_accel_view *views[2] = {&w->op->out, &w->op->b};
  const wk_sched_place *places[2] = {&w->out, &w->b};
  bool has_residual = w->op->kind != WK_ACCEL_MM && w->op->b.tensor >= 0;
  for (int i = 0; i < 1 + has_residual; i++) {
    wk_accel_spot y = wk_accel_spot_of(w->net, views[i], places[i]);
    int64_t at = piece_at(w->net->n, views[i], &y, p->c) + c->o * y.so + c->y * y.sy + c->x * y.sx;
    wk_sched_touch(s, &(wk_sched_access){
        .buffer = y.buffer, .field = fields[i], .writes = i == 0, .at = at, .from = at,
        .run = (c->nx - 1) * y.sx + p->width, .n0 = c->ny, .s0 = y.sy, .n1 = 1});
    if (i == 0) ((wk_isa_command *)wk_sched_last_command(w->steps))->v[fields[3]] = y.sy;
  }
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = k->record, .field = fields[2], .at = k->record_at, .from = k->record_at,
      .run = record, .n0 = 1, .n1 = 1});
}

static void emit_conv(const wk_accel_work *w, const chunk *ch, size_t piece,
                      const wk_accel_consts *k) {
  const wk_accel_op *op = w->op;
  const int n = w->net->n;
  wk_isa_command c = command(w, WK_CMD_CONV, WK_QUEUE_ex);
  wk_accel_spot a = wk_accel_spot_of(w->net, &op->a, &w->a);
  int64_t first = a.offset + (op->is_packed ? 0 : k->k0 * a.sb), blocks = k->k1 - k->k0;
  window x = window_of(w, ch, &a, first);
  bool is_last = k->k1 == op->kc;
  PUT_WINDOW(&c, CONV, &x, ch, op);
  if (op->is_packed) {
    PUT(&c, CONV, kx, 1);
    x.in += k->k0 * n;
  }
  PUT(&c, CONV, k_c, op->is_packed ? n : a.sb);
  PUT(&c, CONV, kc, blocks);
  PUT(&c, CONV, k_tail, is_last ? op->k_tail : n);
  PUT(&c, CONV, zero, op->a_zero);
  PUT(&c, CONV, u8, op->a_u8);
  PUT(&c, CONV, acc, half_of(w, k) * half_entries(w) + k->entry);
  PUT(&c, CONV, accumulate, k->k0 > 0);
  PUT(&c, CONV, drain, is_last);
  PUT(&c, CONV, residual, is_last && op->b.tensor >= 0);
  PUT(&c, CONV, n, op->pieces[piece].width);
  if (is_last) PUT(&c, CONV, out_x, op->out.sx);
  int64_t tiles = blocks * op->ky * (op->is_packed ? 1 : op->kx);
  wk_sched_step *s = wk_accel_add_command(w->steps, &c);
  s->slot = half_of(w, k);
  s->ends_slot = is_last && !k->goes_on;
  wk_sched_access in = window_access(w, &x, ch, &a, first, WK_CONV_in, blocks);
  wk_sched_touch(s, &in);
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = k->weights, .field = WK_CONV_wt, .at = k->weights_at, .from = k->weights_at,
      .run = tiles * n * n, .n0 = 1, .n1 = 1});
  if (is_last)
    put_drain(w, s, ch, piece, k,
              (int[]){WK_CONV_out, WK_CONV_res, WK_CONV_par, WK_CONV_out_y});
}

#define SWAP(a, b) \
  do {             \
    int64_t t = a; \
    a = b;         \
    b = t;         \
  } while (0)

/* Rows as columns: the taps of a row are computed side by side. */
static void turn(wk_accel_op *op, window *x, chunk *ch) {
  SWAP(op->ky, op->kx);
  SWAP(op->sy, op->sx);
  SWAP(op->dy, op->dx);
  SWAP(x->in_y, x->in_x);
  SWAP(x->k_y, x->k_x);
  SWAP(x->pad_t, x->pad_l);
  SWAP(x->h, x->w);
  SWAP(ch->ny, ch->nx);
}

static void emit_depthwise(const wk_accel_work *w, const chunk *ch, size_t piece,
                           const wk_accel_consts *k) {
  const wk_accel_op *op = w->op;
  const wk_accel_piece *p = &op->pieces[piece];
  wk_isa_command c = command(w, WK_CMD_DWC, WK_QUEUE_ex);
  wk_accel_spot a = wk_accel_spot_of(w->net, &op->a, &w->a);
  int64_t first = piece_at(w->net->n, &op->a, &a, p->c);
  window x = window_of(w, ch, &a, first), as = x;
  wk_accel_op turned = *op;
  chunk put = *ch;
  if (op->is_line) turn(&turned, &as, &put);
  PUT_WINDOW(&c, DWC, &as, &put, &turned);
  PUT(&c, DWC, taps, op->fn);
  PUT(&c, DWC, zero, op->a_zero);
  PUT(&c, DWC, u8, op->a_u8);
  PUT(&c, DWC, out_x, op->is_line ? wk_accel_spot_of(w->net, &op->out, &w->out).sy : op->out.sx);
  PUT(&c, DWC, acc, *w->half * half_entries(w));
  PUT(&c, DWC, drain, 1);
  PUT(&c, DWC, residual, op->b.tensor >= 0);
  PUT(&c, DWC, n, p->width);
  wk_sched_step *s = wk_accel_add_command(w->steps, &c);
  s->slot = *w->half;
  s->ends_slot = true;
  wk_sched_access in = window_access(w, &x, ch, &a, first, WK_DWC_in, 1);
  wk_sched_touch(s, &in);
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = k->weights, .field = WK_DWC_wt, .at = k->weights_at, .from = k->weights_at,
      .run = op->const_bytes - op->record_bytes, .n0 = 1, .n1 = 1});
  put_drain(w, s, ch, piece, k, (int[]){WK_DWC_out, WK_DWC_res, WK_DWC_par, WK_DWC_out_y});
}

/* Columns of the right matrix from the piece's first on; all along the sum. */
static void emit_product(const wk_accel_work *w, const chunk *ch, size_t piece,
                         const wk_accel_consts *k) {
  const wk_accel_op *op = w->op;
  const wk_accel_piece *p = &op->pieces[piece];
  int64_t n = w->net->n;
  wk_isa_command c = command(w, WK_CMD_MM, WK_QUEUE_ex);
  wk_accel_spot a = wk_accel_spot_of(w->net, &op->a, &w->a);
  wk_accel_spot b = wk_accel_spot_of(w->net, &op->b, &w->b);
  int64_t in = a.offset + ch->o * a.so + ch->y * a.sy;
  int64_t wt = b.offset + ch->o * b.so + (op->is_transposed ? p->c / n * b.sb : p->c * b.sy);
  PUT(&c, MM, in_y, a.sy);
  PUT(&c, MM, k_c, a.sb);
  PUT(&c, MM, ny, ch->ny);
  PUT(&c, MM, kc, op->kc);
  PUT(&c, MM, k_tail, op->k_tail);
  PUT(&c, MM, zero, op->a_zero);
  PUT(&c, MM, u8, op->a_u8);
  PUT(&c, MM, w_c, op->is_transposed ? n * b.sy : b.sb);
  PUT(&c, MM, w_r, b.sy);
  PUT(&c, MM, transposed, op->is_transposed);
  PUT(&c, MM, w_zero, op->b_zero);
  PUT(&c, MM, w_u8, op->b_u8);
  PUT(&c, MM, acc, *w->half * half_entries(w));
  PUT(&c, MM, drain, 1);
  PUT(&c, MM, n, p->width);
  wk_sched_step *s = wk_accel_add_command(w->steps, &c);
  s->slot = *w->half;
  s->ends_slot = true;
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = a.buffer, .field = WK_MM_in, .at = in, .from = in, .run = (ch->ny - 1) * a.sy + n,
      .n0 = op->kc, .s0 = a.sb, .n1 = 1});
  int64_t lines = op->is_transposed ? op->a.c : p->width;
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = b.buffer, .field = WK_MM_wt, .at = wt, .from = wt, .run = (lines - 1) * b.sy + n,
      .n0 = op->is_transposed ? 1 : op->kc, .s0 = b.sb, .n1 = 1});
  put_drain(w, s, ch, piece, k, (int[]){WK_MM_out, WK_MM_res, WK_MM_par, WK_MM_out_y});
}

void wk_accel_emit_sums(const wk_accel_work *w, size_t piece, const wk_accel_consts *k,
                        int64_t chunk0, int64_t chunk1) {
  int half = *w->half;
  for (int64_t i = chunk0; i < chunk1; i++) {
    chunk c = chunk_of(w, i);
    *w->half = (half + (int)(i - chunk0)) % 2;
    if (w->op->kind == WK_ACCEL_CONV) emit_conv(w, &c, piece, k);
    else if (w->op->kind == WK_ACCEL_DWC) emit_depthwise(w, &c, piece, k);
    else emit_product(w, &c, piece, k);
  }
  bool is_done = w->op->kind != WK_ACCEL_CONV || (k->k1 == w->op->kc && !k->goes_on);
  *w->half = is_done ? (half + (int)(chunk1 - chunk0)) % 2 : half;
}

/* ---- vector unit ----------------------------------------------------------------------------- */

static void put_table(const wk_accel_work *w, const wk_accel_consts *k, int table) {
  wk_isa_command c = command(w, WK_CMD_TAB, WK_QUEUE_ve);
  PUT(&c, TAB, table, table);
  PUT(&c, TAB, count, w->op->tables);
  wk_sched_step *s = wk_accel_add_command(w->steps, &c);
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = k->weights, .field = WK_TAB_in, .at = k->weights_at, .from = k->weights_at,
      .run = w->op->tables * WK_TABLE_BYTES, .n0 = 1, .n1 = 1});
}

static void touch_record(wk_sched_step *s, const wk_accel_op *op, const wk_accel_consts *k,
                         int field) {
  if (op->record_bytes)
    wk_sched_touch(s, &(wk_sched_access){
        .buffer = k->record, .field = field, .at = k->record_at, .from = k->record_at,
        .run = op->record_bytes, .n0 = 1, .n1 = 1});
}

/* A loop over words: strides of a, b, result. */
typedef struct {
  int64_t count, stride[3];
} loop;

enum { LOOPS = 4 };
#define MOST_WORDS WK_LEAST(WK_MAX(MAP, n0), WK_LEAST(WK_MAX(MAP, n1), WK_MAX(MAP, n2)))

static void add_loop(loop *l, int *n, int64_t count, int64_t a, int64_t b, int64_t y) {
  if (count == 1) return;
  loop x = {count, {a, b, y}};
  if (*n) { /* one with the loop inside of it? */
    loop *in = &l[*n - 1];
    bool joins = in->count * count <= MOST_WORDS;
    for (int i = 0; i < 3; i++) joins = joins && x.stride[i] == in->count * in->stride[i];
    if (joins) {
      in->count *= count;
      return;
    }
  }
  l[(*n)++] = x;
}

typedef struct {
  int64_t at[3];
  wk_accel_spot spot[3];
  const wk_accel_view *view[3];
  int operands, fn;
  bool is_splat;
  int64_t run; /* pieces in one go */
  int width, table;
} mapping;

static void map_access(wk_sched_step *s, const mapping *m, int i, const loop l[3], int field) {
  int64_t run = i == 1 && m->is_splat ? 1 : m->width;
  for (int k = 0; k < 2; k++)
    if (l[k].count > 1) run += (l[k].count - 1) * l[k].stride[i];
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = m->spot[i].buffer, .field = field, .writes = i == 2, .at = m->at[i],
      .from = m->at[i], .run = run, .n0 = l[2].count, .s0 = l[2].stride[i], .n1 = 1});
}

static void emit_words(const wk_accel_work *w, const mapping *m, const loop l[3],
                       const wk_accel_consts *k) {
  static const int counts[] = {WK_MAP_n0, WK_MAP_n1, WK_MAP_n2};
  static const int strides[3][3] = {{WK_MAP_a0, WK_MAP_b0, WK_MAP_y0},
                                    {WK_MAP_a1, WK_MAP_b1, WK_MAP_y1},
                                    {WK_MAP_a2, WK_MAP_b2, WK_MAP_y2}};
  const wk_accel_op *op = w->op;
  wk_isa_command c = command(w, WK_CMD_MAP, WK_QUEUE_ve);
  PUT(&c, MAP, fn, m->fn);
  PUT(&c, MAP, a_u8, op->a_u8);
  PUT(&c, MAP, b_u8, op->b_u8);
  PUT(&c, MAP, splat, op->is_splat);
  PUT(&c, MAP, n, m->width);
  PUT(&c, MAP, table, m->table);
  for (int i = 0; i < 3; i++) {
    c.v[counts[i]] = l[i].count;
    for (int j = 0; j < 3; j++)
      if (j != 1 || m->operands == 2) c.v[strides[i][j]] = l[i].stride[j];
  }
  wk_sched_step *s = wk_accel_add_command(w->steps, &c);
  map_access(s, m, 0, l, WK_MAP_a);
  if (m->operands == 2) map_access(s, m, 1, l, WK_MAP_b);
  map_access(s, m, 2, l, WK_MAP_out);
  if (m->fn != WK_CHOICE_MAP_move) touch_record(s, op, k, WK_MAP_par);
}

static bool fits(const loop *l, int level) {
#define MOST(i) WK_LEAST(WK_MAX(MAP, a##i), WK_LEAST(WK_MAX(MAP, b##i), WK_MAX(MAP, y##i)))
  static const int64_t most[] = {MOST(0), MOST(1), MOST(2)};
#undef MOST
  for (int i = 0; i < 3; i++)
    if (l->stride[i] < 0 || l->stride[i] > most[level]) return false;
  return l->count <= MOST_WORDS;
}

/* A line reads a second operand that stays the same once: such a loop comes first. */
static void put_splat_first(loop *l, int n) {
  for (int i = 1; i < n && l[0].stride[1]; i++) {
    if (l[i].stride[1] || l[i].count < 2 || !fits(&l[i], 0)) continue;
    loop first = l[i];
    memmove(l + 1, l, (size_t)i * sizeof *l);
    l[0] = first;
  }
}

/* Loops beyond the command's three, or too long for it, become commands. */
static void emit_loops(const wk_accel_work *w, mapping *m, loop *l, int n,
                       const wk_accel_consts *k) {
  if (m->operands == 2) put_splat_first(l, n);
  loop three[3] = {{1, {0}}, {1, {0}}, {1, {0}}};
  int used = 0, outer[LOOPS], n_outer = 0;
  for (int i = 0; i < n; i++)
    if (used < 3 && fits(&l[i], used)) three[used++] = l[i];
    else outer[n_outer++] = i;
  int64_t total = 1, at[3] = {m->at[0], m->at[1], m->at[2]};
  for (int i = 0; i < n_outer; i++) total *= l[outer[i]].count;
  for (int64_t t = 0; t < total; t++) {
    int64_t rest = t;
    for (int j = 0; j < 3; j++) m->at[j] = at[j];
    for (int i = 0; i < n_outer; i++) {
      int64_t q = rest % l[outer[i]].count;
      rest /= l[outer[i]].count;
      for (int j = 0; j < 3; j++) m->at[j] += q * l[outer[i]].stride[j];
    }
    emit_words(w, m, three, k);
  }
}

/* A loop that is too long for a command is cut into some. */
static void emit_long_loops(const wk_accel_work *w, mapping *m, const loop *loops, int n,
                            const wk_accel_consts *k) {
  loop l[LOOPS];
  int i = 0;
  memcpy(l, loops, (size_t)n * sizeof *l);
  while (i < n && l[i].count <= MOST_WORDS) i++;
  if (i == n) {
    emit_loops(w, m, l, n, k);
    return;
  }
  const int64_t count = l[i].count, at[3] = {m->at[0], m->at[1], m->at[2]};
  for (int64_t from = 0; from < count; from += MOST_WORDS) {
    for (int j = 0; j < 3; j++) m->at[j] = at[j] + from * l[i].stride[j];
    l[i].count = WK_LEAST(MOST_WORDS, count - from);
    emit_long_loops(w, m, l, n, k);
  }
}

/* Words of a MAP, about: it begins when what it needs is there, and not all that others behind it
 * do, and others begin when it has retired. */
enum { MAP_WORDS = 384 };

/* Pieces from i on, before `end`, that are whole blocks side by side, as many as go into one
 * command. */
static int64_t whole_pieces(const wk_accel_work *w, size_t i, size_t end) {
  const wk_accel_op *op = w->op;
  const int64_t words = op->out.o * op->out.w * (w->y1 - w->y0);
  const int64_t most = wk_ceil_div(MAP_WORDS, words);
  int n = w->net->n;
  int64_t run = 0;
  while (i + (size_t)run < end && op->pieces[i + (size_t)run].width == n) run++;
  if (run > most) run = most;
  return run ? run : 1;
}

static void emit_map(const wk_accel_work *w, size_t piece, size_t end, const wk_accel_consts *k,
                     int table) {
  const wk_accel_op *op = w->op;
  const wk_accel_view *views[3] = {&op->a, &op->b, &op->out};
  const wk_sched_place *places[3] = {&w->a, &w->b, &w->out};
  mapping m = {.operands = op->b.tensor >= 0 ? 2 : 1, .fn = op->fn, .is_splat = op->is_splat,
               .table = table};
  for (int j = 0; j < 3; j++) {
    m.view[j] = views[j];
    if (views[j]->tensor >= 0) m.spot[j] = wk_accel_spot_of(w->net, views[j], places[j]);
  }
  for (size_t i = piece; i < end; i += (size_t)m.run) {
    loop l[LOOPS];
    int n = 0;
    m.run = whole_pieces(w, i, end);
    m.width = op->pieces[i].width;
    for (int j = 0; j < 3; j++) {
      if (views[j]->tensor < 0) continue;
      int64_t c = j == 1 && op->b.c == 1 ? 0 : op->pieces[i].c;
      m.at[j] = piece_at(w->net->n, views[j], &m.spot[j], c) + w->y0 * m.spot[j].sy;
    }
    int64_t sb = op->b.c == 1 ? 0 : m.spot[1].sb;
    add_loop(l, &n, op->out.w, m.spot[0].sx, m.spot[1].sx, m.spot[2].sx);
    add_loop(l, &n, w->y1 - w->y0, m.spot[0].sy, m.spot[1].sy, m.spot[2].sy);
    add_loop(l, &n, m.run, m.spot[0].sb, sb, m.spot[2].sb);
    add_loop(l, &n, op->out.o, m.spot[0].so, m.spot[1].so, m.spot[2].so);
    emit_long_loops(w, &m, l, n, k);
  }
}

/* Of rows i, i + step, …, n of them, those in [y0, y1): numbers [from, end). */
static void some_of(int64_t i, int64_t step, int64_t n, int64_t y0, int64_t y1, int64_t *from,
                    int64_t *end) {
  *from = y0 > i ? wk_ceil_div(y0 - i, step) : 0;
  *end = y1 > i ? WK_LEAST(n, wk_ceil_div(y1 - i, step)) : 0;
}

/* Channels from c on of a pick that lie in one block of both. */
static int lanes_of(const wk_accel_work *w, const wk_accel_pick *p, int64_t c, int *width) {
  const wk_accel_op *op = w->op;
  const int n = w->net->n, lane = (int)((op->out.first + p->c + c) % n);
  const int other = (int)((op->a.first + p->from_c + c) % n);
  const int room = n - (lane > other ? lane : other);
  const int lanes = p->nc - c < room ? (int)(p->nc - c) : room;
  const bool is_last = p->c + c + lanes == op->out.c;
  *width = is_last && !op->leaves_lanes && room == n - lane ? room : lanes;
  return lanes;
}

static void emit_pick(const wk_accel_work *w, const wk_accel_pick *p, const wk_accel_consts *k) {
  const wk_accel_op *op = w->op;
  const int n = w->net->n;
  mapping m = {.view = {&op->a, &op->a, &op->out}, .fn = p->fn,
               .operands = p->fn == WK_CHOICE_MAP_add ? 2 : 1};
  m.spot[0] = m.spot[1] = wk_accel_spot_of(w->net, &op->a, &w->a);
  m.spot[2] = wk_accel_spot_of(w->net, &op->out, &w->out);
  const wk_accel_spot *a = &m.spot[0], *y = &m.spot[2];
  int64_t from, end;
  some_of(p->y, p->sy, p->ny, w->y0, w->y1, &from, &end);
  if (from >= end) return;
  const int64_t words = op->out.o * p->nx * (end - from);
  wk_accel_consts own = *k;
  own.record_at += p->record * op->record_bytes;
  for (int64_t c = 0, lanes; c < p->nc; c += lanes * m.run) {
    loop l[LOOPS];
    int loops = 0;
    lanes = lanes_of(w, p, c, &m.width);
    m.run = lanes == n ? WK_LEAST((p->nc - c) / n, wk_ceil_div(MAP_WORDS, words)) : 1;
    for (int j = 0; j < 2; j++)
      m.at[j] = piece_at(n, &op->a, a, p->from_c + c) + p->from_x[j] * a->sx +
                (p->from_y[j] + from * p->step_y) * a->sy;
    m.at[2] = piece_at(n, &op->out, y, p->c + c) + p->x * y->sx + (p->y + from * p->sy) * y->sy;
    const int64_t sx = p->step_x * a->sx, sy = p->step_y * a->sy;
    add_loop(l, &loops, p->nx, sx, sx, p->sx * y->sx);
    add_loop(l, &loops, end - from, sy, sy, p->sy * y->sy);
    add_loop(l, &loops, m.run, a->sb, a->sb, y->sb);
    add_loop(l, &loops, op->out.o, a->so, a->so, y->so);
    emit_long_loops(w, &m, l, loops, &own);
  }
}

static void emit_pool_chunk(const wk_accel_work *w, const wk_accel_consts *k, const chunk *ch,
                            const wk_accel_piece *p) {
  const wk_accel_op *op = w->op;
  wk_accel_spot a = wk_accel_spot_of(w->net, &op->a, &w->a);
  wk_accel_spot y = wk_accel_spot_of(w->net, &op->out, &w->out);
  wk_isa_command c = command(w, WK_CMD_POOL, WK_QUEUE_ve);
  int64_t first = piece_at(w->net->n, &op->a, &a, p->c);
  window x = window_of(w, ch, &a, first);
  PUT_WINDOW(&c, POOL, &x, ch, op);
  if (!x.w) PUT(&c, POOL, sx, 1); /* of padding alone */
  PUT(&c, POOL, fn, op->fn);
  PUT(&c, POOL, u8, op->a_u8);
  PUT(&c, POOL, n, p->width);
  PUT(&c, POOL, out_y, y.sy);
  PUT(&c, POOL, out_x, y.sx);
  int64_t at = piece_at(w->net->n, &op->out, &y, p->c) + ch->o * y.so + ch->y * y.sy +
               ch->x * y.sx;
  wk_sched_step *s = wk_accel_add_command(w->steps, &c);
  wk_sched_access in = window_access(w, &x, ch, &a, first, WK_POOL_in, 1);
  wk_sched_touch(s, &in);
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = y.buffer, .field = WK_POOL_out, .writes = true, .at = at, .from = at,
      .run = (ch->nx - 1) * y.sx + p->width, .n0 = ch->ny, .s0 = y.sy, .n1 = 1});
  touch_record(s, op, k, WK_POOL_par);
}

static void emit_pool(const wk_accel_work *w, size_t piece, size_t end, const wk_accel_consts *k) {
  const wk_accel_op *op = w->op;
  const int64_t rows = most_rows(op), columns = wk_accel_most_columns(op);
  for (size_t i = piece; i < end; i++)
    for (int64_t o = 0; o < op->out.o; o++)
      for (int64_t y = w->y0; y < w->y1; y += rows)
        for (int64_t x = 0; x < op->out.w; x += columns)
          emit_pool_chunk(w, k,
                          &(chunk){.o = o, .y = y, .x = x, .ny = WK_LEAST(w->y1 - y, rows),
                                   .nx = WK_LEAST(op->out.w - x, columns)},
                          &op->pieces[i]);
}

/* Rows that lie `in.sx` and `out.sx` bytes apart. */
static void emit_run(const wk_accel_work *w, const wk_accel_consts *k, int table,
                     const wk_accel_spot *in, const wk_accel_spot *out, int64_t ny) {
  const wk_accel_op *op = w->op;
  const bool is_fold = op->fn == WK_CHOICE_ROW_mean || op->fn == WK_CHOICE_ROW_max;
  wk_isa_command c = command(w, WK_CMD_ROW, WK_QUEUE_ve);
  PUT(&c, ROW, fn, op->fn);
  PUT(&c, ROW, in_y, in->sx);
  PUT(&c, ROW, in_c, in->sb);
  PUT(&c, ROW, u8, op->a_u8);
  PUT(&c, ROW, ny, ny);
  PUT(&c, ROW, kc, op->kc);
  PUT(&c, ROW, k_tail, op->k_tail);
  PUT(&c, ROW, out_y, out->sx);
  if (!is_fold) PUT(&c, ROW, out_c, out->sb);
  PUT(&c, ROW, table, table);
  wk_sched_step *s = wk_accel_add_command(w->steps, &c);
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = in->buffer, .field = WK_ROW_in, .at = in->offset, .from = in->offset,
      .run = (ny - 1) * in->sx + w->net->n, .n0 = op->kc, .s0 = in->sb, .n1 = 1});
  wk_sched_touch(s, &(wk_sched_access){
      .buffer = out->buffer, .field = WK_ROW_out, .writes = true, .at = out->offset,
      .from = out->offset, .run = (ny - 1) * out->sx + (is_fold ? 1 : w->net->n),
      .n0 = is_fold ? 1 : op->kc, .s0 = out->sb, .n1 = 1});
  touch_record(s, op, k, WK_ROW_par);
}

/* Its rows as lines of one: those along h or, of images, along w, or both where they are as one. */
static bool go_as_one(const wk_accel_op *op, wk_accel_spot *x) {
  if (op->out.w == 1) x->sx = x->sy;
  return op->out.w == 1 || x->sy == op->out.w * x->sx;
}

static void emit_rows(const wk_accel_work *w, const wk_accel_consts *k, int table) {
  const wk_accel_op *op = w->op;
  wk_accel_spot a = wk_accel_spot_of(w->net, &op->a, &w->a);
  wk_accel_spot y = wk_accel_spot_of(w->net, &op->out, &w->out);
  bool a_is_one = go_as_one(op, &a), is_one = go_as_one(op, &y) && a_is_one;
  int64_t lines = is_one ? 1 : w->y1 - w->y0, most = WK_MAX(ROW, ny);
  int64_t each = (w->y1 - w->y0) / lines * op->out.w;
  for (int64_t o = 0; o < op->out.o; o++)
    for (int64_t line = 0; line < lines; line++)
      for (int64_t i = 0; i < each; i += most) {
        wk_accel_spot in = a, out = y;
        in.offset += o * a.so + (w->y0 + line) * a.sy + i * a.sx;
        out.offset += o * y.so + (w->y0 + line) * y.sy + i * y.sx;
        emit_run(w, k, table, &in, &out, WK_LEAST(each - i, most));
      }
}

/* The first of the operator's tables, which are loaded unless they are there. */
static int take_tables(const wk_accel_work *w, const wk_accel_consts *k) {
  int *next = w->tables, *from = w->tables + 1, most = (int)w->net->machine->tables;
  for (int t = 0; t < most; t++)
    if (from[t] == k->weights + 1) return t;
  int table = *next + w->op->tables > most ? 0 : *next;
  *next = table + w->op->tables;
  for (int t = 0; t < w->op->tables; t++) from[table + t] = t ? 0 : k->weights + 1;
  put_table(w, k, table);
  return table;
}

void wk_accel_emit_vector(const wk_accel_work *w, size_t piece, size_t end,
                          const wk_accel_consts *k) {
  int table = w->op->tables ? take_tables(w, k) : 0;
  if (w->op->kind == WK_ACCEL_MAP) emit_map(w, piece, end, k, table);
  else if (w->op->kind == WK_ACCEL_PICK)
    for (size_t i = 0; i < w->op->n_picks; i++) emit_pick(w, &w->op->picks[i], k);
  else if (w->op->kind == WK_ACCEL_TURN) wk_accel_emit_turn(w);
  else if (w->op->kind == WK_ACCEL_POOL) emit_pool(w, piece, end, k);
  else emit_rows(w, k, table);
}
