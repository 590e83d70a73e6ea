/* SPDX-License-Identifier: Apache-2.0
 * Means of images by pieces: the vector unit adds up pieces as their rows are made, and the array
 * adds up these. A piece's sum S of numbers from 0 to 255 is left as two bytes: `low`, its low 8
 * bits as a number from -128 to 127, and `high` = (S + 128) / 256 rounded down, less 128. So
 * S = low + 256 * (high + 128), and 256 is a weight of three taps. */
#include "targets/accel/compile/make_mean.h"

#include <string.h>

#include "targets/accel/compile/record.h"

enum { WORD = 16 }; /* bits of a sum */

/* `low` is the low byte of a sum of at most 15 bits and a sign: of numbers from -128 to 127, whose
 * number is even, so that it is that of S, or of S itself. Below some taps the array has more to
 * add up than it is worth that strips of rows may be small. */
enum { EVEN_TAPS = 256 - 2, ODD_TAPS = 128, LEAST_TAPS = 48, HIGH_WEIGHTS = 3 };
static const int64_t high_weights[HIGH_WEIGHTS] = {127, 127, 2};

typedef struct {
  int64_t ky, kx, rows, cols; /* of a piece; pieces */
  bool is_even;               /* all pieces, those at the edges as well */
} pieces;

static bool is_even(int64_t h, int64_t w, const pieces *p) {
  return (p->ky % 2 == 0 && h % 2 == 0) || (p->kx % 2 == 0 && w % 2 == 0);
}

/* Several pieces side by side end where the image does: what they step by is more than a field
 * holds that padding is found with. */
static bool is_piece(int64_t h, int64_t w, const pieces *p) {
  return p->ky * p->kx <= (is_even(h, w, p) ? EVEN_TAPS : ODD_TAPS) &&
         (p->cols == 1 || h % p->ky == 0);
}

static bool cut(int64_t h, int64_t w, pieces *p) {
  p->cols = wk_ceil_div(w, WK_MAX(POOL, kx));
  while (w % p->cols) p->cols++;
  p->kx = w / p->cols;
  p->ky = wk_ceil_div(LEAST_TAPS, p->kx);
  if (p->ky < wk_ceil_div(h, WK_MAX(DWC, ky))) p->ky = wk_ceil_div(h, WK_MAX(DWC, ky));
  if (p->ky > h) p->ky = h;
  while (p->ky <= h && !is_piece(h, w, p)) p->ky++;
  p->is_even = is_even(h, w, p);
  p->rows = wk_ceil_div(h, p->ky);
  return p->ky <= WK_LEAST(h, WK_MAX(POOL, sy)) && (1 + HIGH_WEIGHTS) * p->cols <= WK_MAX(DWC, kx);
}

/* A tensor of `cols` pixels a row for the pieces, as a view of `x`'s channels. */
static wk_accel_view sums(wk_accel_making *k, const wk_accel_view *x, int64_t rows, int64_t cols) {
  const int64_t n = k->net->n, blocks = wk_ceil_div(x->c, n), row = cols * n;
  int t = wk_accel_add_tensor(k->net, wk_val(k->g, k->node->out[0])->name, x->o * blocks, rows,
                              row);
  return (wk_accel_view){.tensor = t, .o = x->o, .c = x->c, .h = rows, .w = cols,
                         .so = blocks * rows * row, .sb = rows * row, .sy = row, .sx = n};
}

static void set_record(wk_accel_making *k, wk_accel_op *op, int64_t entries) {
  op->one_const = true;
  op->record_bytes = op->const_bytes = wk_accel_record_bytes(k->net->n, entries);
}

/* One of the two bytes of each piece. */
static wk_accel_view add_bytes(wk_accel_making *k, const wk_accel_op *like, const pieces *p,
                               bool is_high) {
  wk_accel_op op = *like;
  const int64_t least = op.a_u8 ? 0 : INT8_MIN;
  op.kind = WK_ACCEL_POOL, op.fn = WK_CHOICE_POOL_mean;
  op.ky = op.sy = p->ky, op.kx = p->kx, op.sx = p->cols > 1 ? p->kx : 1;
  op.has_window = p->ky * p->rows > op.a.h;
  op.out = sums(k, &op.a, p->rows, p->cols);
  op.is_helper = is_high;
  set_record(k, &op, 1);
  uint8_t *record = wk_arena_alloc(k->net->arena, (size_t)op.record_bytes);
  if (is_high) { /* a little more than 1 / 256: halves are rounded up */
    wk_accel_put_mean(record, least, INT8_MIN, INT8_MIN, INT8_MAX);
    wk_accel_put_entry(record, 0, 0, (1 << 23) + 128, WORD - 1);
  } else {
    wk_accel_put_mean(record, least + (p->is_even ? 128 : 0), 0, INT16_MIN, INT16_MAX);
    wk_accel_put_entry(record, 0, 0, 1 << 17, 1);
  }
  op.consts = record;
  wk_accel_cut_pieces(k, wk_accel_add(k, &op), &op.a);
  return op.out;
}

/* Columns [x, x + x->w) of `to` become those of `from`. */
static void add_copy(wk_accel_making *k, const wk_accel_view *from, wk_accel_view to, int64_t x) {
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_MAP);
  op.fn = WK_CHOICE_MAP_move;
  op.a = *from;
  op.out = to;
  op.out.offset += x * to.sx, op.out.w = from->w;
  op.is_helper = op.one_const = true;
  wk_accel_cut_pieces(k, wk_accel_add(k, &op), &op.a);
}

/* The bytes side by side: low ones, and high ones once for each of their weights. */
static wk_accel_view side_by_side(wk_accel_making *k, wk_accel_view low, wk_accel_view high,
                                  const pieces *p) {
  const int64_t copies = p->cols == 1 ? HIGH_WEIGHTS : 1;
  wk_accel_view y = sums(k, &low, p->rows, (1 + HIGH_WEIGHTS) * p->cols);
  add_copy(k, &low, y, 0);
  if (copies > 1) high.w = copies, high.sx = 0;
  for (int64_t i = 0; i < HIGH_WEIGHTS; i += copies) add_copy(k, &high, y, (1 + i) * p->cols);
  return y;
}

static void add_total(wk_accel_making *k, const wk_accel_op *like, const wk_accel_view *bytes,
                      const pieces *p, const wk_requant *q) {
  const int n = k->net->n;
  const int64_t least = like->a_u8 ? 0 : INT8_MIN, kx = bytes->w, taps = wk_ceil_div(kx, 3) * 3;
  wk_accel_op op = *like;
  op.kind = WK_ACCEL_DWC, op.fn = WK_CHOICE_TAPS_three;
  op.a = *bytes, op.a_u8 = false;
  op.ky = p->rows, op.kx = kx;
  op.is_helper = true;
  set_record(k, &op, n);
  op.const_bytes += p->rows * taps * n;
  uint8_t *data = wk_arena_alloc(k->net->arena, (size_t)op.const_bytes);
  int64_t bias = q->bias + like->a.h * like->a.w * least + (p->rows * p->cols << (WORD - 1));
  wk_accel_put_range(data, q->y.zero, q->y.lo, q->y.hi);
  for (int i = 0; i < n; i++) wk_accel_put_entry(data, i, bias, q->mult.value, q->shift.value);
  for (int64_t y = 0; y < p->rows; y++)
    for (int64_t x = 0; x < kx; x++)
      memset(data + op.record_bytes + (y * taps + x) * n,
             x < p->cols ? 1 : (int)high_weights[x / p->cols - 1], (size_t)n);
  op.consts = data;
  wk_accel_cut_pieces(k, wk_accel_add(k, &op), &op.a);
}

static bool can_be_in_pieces(const wk_accel_op *op, const wk_requant *q, pieces *p) {
  return !op->a.first && !op->out.first && cut(op->a.h, op->a.w, p) && p->rows > 1 &&
         q->mult.value <= WK_MULT_MAX && q->shift.value >= 1 && q->shift.value <= WK_SHIFT_MAX;
}

bool wk_accel_add_mean_in_pieces(wk_accel_making *k, const wk_accel_op *op, const wk_requant *q) {
  pieces p;
  if (!can_be_in_pieces(op, q, &p)) return false;
  wk_accel_view low = add_bytes(k, op, &p, false), high = add_bytes(k, op, &p, true);
  wk_accel_view bytes = side_by_side(k, low, high, &p);
  add_total(k, op, &bytes, &p, q);
  return true;
}
