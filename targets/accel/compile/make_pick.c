/* SPDX-License-Identifier: Apache-2.0
 * Results whose pixels come from pixels elsewhere: resized images, and blocks of pixels that are
 * channels. What comes in the same way, a fixed step apart, is one pick, a few commands. */
#include <string.h>

#include "targets/accel/compile/record.h"

enum { MOST_PERIOD = 64, MOST_PICKS = 4096 };

/* ---- rows that are needed -------------------------------------------------------------------- */

static void widen(int64_t *needs, int64_t y, int64_t from) {
  if (from < needs[2 * y]) needs[2 * y] = from;
  if (from >= needs[2 * y + 1]) needs[2 * y + 1] = from + 1;
}

/* Of each row of the result, as far as earlier or later ones need no more. */
static void set_needs(wk_accel_making *k, wk_accel_op *op) {
  int64_t h = op->out.h, *needs = wk_arena_alloc(k->net->arena, 2 * (size_t)h * sizeof *needs);
  for (int64_t y = 0; y < h; y++) needs[2 * y] = op->a.h, needs[2 * y + 1] = 0;
  for (size_t i = 0; i < op->n_picks; i++) {
    const wk_accel_pick *p = &op->picks[i];
    for (int64_t row = 0; row < p->ny; row++)
      for (int j = 0; j < 2; j++)
        widen(needs, p->y + row * p->sy, p->from_y[j] + row * p->step_y);
  }
  for (int64_t y = h - 1; y-- > 0;)
    if (needs[2 * y + 2] < needs[2 * y]) needs[2 * y] = needs[2 * y + 2];
  for (int64_t y = 1; y < h; y++)
    if (needs[2 * y - 1] > needs[2 * y + 1]) needs[2 * y + 1] = needs[2 * y - 1];
  op->needs = needs;
}

/* Lanes behind the last channel come along where the operand has as many behind its own. */
static bool leaves_lanes(const wk_accel_making *k, const wk_accel_op *op) {
  int n = k->net->n, behind = (int)((op->out.first + op->out.c) % n);
  bool leaves = false;
  for (size_t i = 0; i < op->n_picks; i++) {
    const wk_accel_pick *p = &op->picks[i];
    if (p->c + p->nc == op->out.c)
      leaves = leaves || (op->a.first + p->from_c + p->nc) % n != behind;
  }
  return behind && leaves;
}

static bool add_picks(wk_accel_making *k, wk_accel_op *op) {
  wk_accel_op *made = wk_accel_add(k, op);
  wk_accel_cut_pieces(k, made, NULL);
  made->leaves_lanes = leaves_lanes(k, made);
  set_needs(k, made);
  return true;
}

/* Result and operand, as images of one kind: a line that an image becomes is one of one row. */
static bool views_of(wk_accel_making *k, wk_accel_op *op, wk_accel_operand *x,
                     wk_accel_operand *y) {
  const wk_accel_operand *const all[] = {y, x};
  *y = wk_accel_result(k, k->node->out[0]);
  if (!wk_accel_operand_of(k, k->node->in[0], x)) return false;
  if (x->lane != y->lane)
    return wk_accel_refuse(k, "operand and result lie in blocks along different axes");
  bool are_lines = wk_accel_lies_as_line(k->g, k->node->out[0]) &&
                   (x->rank < 4 || x->dims[2] == 1);
  wk_accel_view_of *view = wk_accel_view_for(all, 2, are_lines);
  return view(k, y, &op->out) && view(k, x, &op->a);
}

/* ---- resize ---------------------------------------------------------------------------------- */

/* Results i, i + step, … of an axis, that lie between elements a step of theirs apart. */
typedef struct {
  int64_t i, step, count, near, far, each;
} run;

static bool same_mults(const wk_attr_integer_resize *a, int64_t i, int64_t j) {
  return a->near_mult.v[i] == a->near_mult.v[j] && a->far_mult.v[i] == a->far_mult.v[j];
}

/* The run that begins with result i of every `period`. */
static run run_at(const wk_attr_integer_resize *a, int64_t i, int64_t period) {
  run x = {i, period, 1, a->near.v[i], a->far.v[i], 0};
  int64_t next = i + period;
  if (next >= a->near.n || !same_mults(a, i, next)) return x;
  x.each = a->near.v[next] - x.near;
  for (; next < a->near.n && x.each >= 0 && same_mults(a, i, next); next += period, x.count++)
    if (a->near.v[next] != x.near + x.count * x.each || a->far.v[next] != x.far + x.count * x.each)
      break;
  return x;
}

/* All runs of a period, to `out` where there is one; how many. */
static size_t runs_of(const wk_attr_integer_resize *a, int64_t period, run *out) {
  size_t n = 0;
  for (int64_t first = 0; first < period && first < a->near.n; first++)
    for (int64_t i = first; i < a->near.n; n++) {
      const run x = run_at(a, i, period);
      if (out) out[n] = x;
      i += x.count * period;
    }
  return n;
}

static int64_t best_period(const wk_attr_integer_resize *a) {
  int64_t best = 1;
  size_t fewest = runs_of(a, 1, NULL);
  for (int64_t p = 2; p <= MOST_PERIOD && p < a->near.n; p++) {
    size_t n = runs_of(a, p, NULL);
    if (n < fewest) fewest = n, best = p;
  }
  return best;
}

static bool is_copy(const wk_accel_making *k, const wk_attr_integer_resize *a, int64_t i) {
  wk_dtype from = wk_val(k->g, k->node->in[0])->type.dtype;
  int64_t least = from == WK_I8 ? INT8_MIN : 0;
  return a->far_mult.v[i] == 0 && a->near_mult.v[i] == INT64_C(1) << a->shift &&
         (wk_dtype)a->to == from && a->x_zero == a->zero && a->lo == least &&
         a->hi == least + UINT8_MAX;
}

/* The record of result i's multipliers, among those of the results before; a new one otherwise. */
static int record_of(const wk_attr_integer_resize *a, int64_t i, int n, uint8_t *records,
                     int64_t *made, int64_t *count) {
  for (int64_t k = 0; k < *count; k++)
    if (same_mults(a, made[k], i)) return (int)k;
  const wk_requant q = {.kind = WK_REQUANT_VALUE,
                        .a = {.mult = a->near_mult.v[i], .zero = a->x_zero},
                        .b = {.mult = a->far_mult.v[i], .zero = a->x_zero},
                        .shift2 = (int)a->shift,
                        .y2 = {.zero = a->zero, .lo = a->lo, .hi = a->hi}};
  wk_accel_record_map(&q, records + *count * wk_accel_record_bytes(n, 0));
  made[*count] = i;
  return (int)(*count)++;
}

/* The whole image, but for the axis that is resized. */
static wk_accel_pick pick_of(const wk_accel_op *op, const run *x, bool goes_down) {
  wk_accel_pick p = {.sy = 1, .sx = 1, .ny = op->out.h, .nx = op->out.w, .step_y = 1, .step_x = 1,
                     .nc = op->out.c};
  if (goes_down) {
    p.y = x->i, p.sy = x->step, p.ny = x->count, p.step_y = x->each;
    p.from_y[0] = x->near, p.from_y[1] = x->far;
  } else {
    p.x = x->i, p.sx = x->step, p.nx = x->count, p.step_x = x->each;
    p.from_x[0] = x->near, p.from_x[1] = x->far;
  }
  return p;
}

static void add_resize(wk_accel_making *k, wk_accel_op *op, bool goes_down) {
  const wk_attr_integer_resize *a = WK_ATTR(k->node, integer_resize);
  wk_arena *arena = k->net->arena;
  int64_t period = best_period(a), count = 0, each = wk_accel_record_bytes(k->net->n, 0);
  size_t n = runs_of(a, period, NULL);
  run *runs = wk_arena_alloc(arena, n * sizeof *runs);
  wk_accel_pick *picks = wk_arena_alloc(arena, n * sizeof *picks);
  uint8_t *records = wk_arena_alloc(arena, n * (size_t)each);
  int64_t *made = wk_arena_alloc(arena, n * sizeof *made);
  (void)runs_of(a, period, runs);
  for (size_t i = 0; i < n; i++) {
    picks[i] = pick_of(op, &runs[i], goes_down);
    picks[i].fn = is_copy(k, a, runs[i].i)       ? WK_CHOICE_MAP_move
                  : a->far_mult.v[runs[i].i] == 0 ? WK_CHOICE_MAP_scale
                                                  : WK_CHOICE_MAP_add;
    if (picks[i].fn != WK_CHOICE_MAP_move)
      picks[i].record = record_of(a, runs[i].i, k->net->n, records, made, &count);
  }
  op->picks = picks, op->n_picks = n;
  op->record_bytes = count ? each : 0;
  op->const_bytes = count * each;
  op->consts = count ? records : NULL;
}

bool wk_accel_make_resize(wk_accel_making *k) {
  const wk_attr_integer_resize *a = WK_ATTR(k->node, integer_resize);
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_PICK);
  wk_accel_operand x, y;
  if (!views_of(k, &op, &x, &y)) return false;
  bool goes_down = op.out.h == y.dims[a->axis] && op.a.h == x.dims[a->axis] &&
                   op.out.sy == y.strides[a->axis] && op.a.sy == x.strides[a->axis];
  bool goes_along = op.out.w == y.dims[a->axis] && op.a.w == x.dims[a->axis] &&
                    op.out.sx == y.strides[a->axis] && op.a.sx == x.strides[a->axis];
  if (!goes_down && !goes_along) return wk_accel_refuse(k, "a resize of neither rows nor columns");
  if (runs_of(a, best_period(a), NULL) > MOST_PICKS)
    return wk_accel_refuse(k, "a resize to %lld elements", (long long)a->near.n);
  op.one_const = true;
  op.b_u8 = op.a_u8;
  add_resize(k, &op, goes_down);
  return add_picks(k, &op);
}

/* ---- blocks of pixels ------------------------------------------------------------------------ */

bool wk_accel_make_depth_to_space(wk_accel_making *k) {
  const wk_attr_depth_to_space *a = WK_ATTR(k->node, depth_to_space);
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_PICK);
  wk_accel_operand x, y;
  if (!wk_accel_is_result_fine(k) || !views_of(k, &op, &x, &y)) return false;
  if (y.lane != 1) return wk_accel_refuse(k, "an image that does not lie in blocks of channels");
  if (a->rows * a->columns > MOST_PICKS)
    return wk_accel_refuse(k, "blocks of %lld pixels", (long long)(a->rows * a->columns));
  const wk_accel_view *wide = a->back ? &op.a : &op.out, *deep = a->back ? &op.out : &op.a;
  const bool is_turned = wide->h != a->rows * deep->h; /* of a line the columns are rows */
  const int64_t step_y = is_turned ? a->columns : a->rows;
  const int64_t step_x = is_turned ? a->rows : a->columns;
  op.n_picks = (size_t)(a->rows * a->columns);
  wk_accel_pick *picks = wk_arena_alloc(k->net->arena, op.n_picks * sizeof *picks);
  for (int64_t i = 0; i < (int64_t)op.n_picks; i++) {
    int64_t row = a->by_columns ? i % a->rows : i / a->columns, c = i * wide->c;
    int64_t column = a->by_columns ? i / a->rows : i % a->columns;
    const int64_t at_y = is_turned ? column : row, at_x = is_turned ? row : column;
    picks[i] = (wk_accel_pick){.ny = deep->h, .nx = deep->w, .sy = 1, .sx = 1, .step_y = 1,
                               .step_x = 1, .nc = wide->c, .fn = WK_CHOICE_MAP_move};
    if (a->back) {
      picks[i].c = c;
      picks[i].step_y = step_y, picks[i].step_x = step_x;
      picks[i].from_y[0] = picks[i].from_y[1] = at_y;
      picks[i].from_x[0] = picks[i].from_x[1] = at_x;
    } else {
      picks[i].from_c = c;
      picks[i].y = at_y, picks[i].x = at_x;
      picks[i].sy = step_y, picks[i].sx = step_x;
    }
  }
  op.picks = picks;
  op.one_const = true;
  return add_picks(k, &op);
}
