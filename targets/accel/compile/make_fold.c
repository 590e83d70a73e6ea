/* SPDX-License-Identifier: Apache-2.0
 * Means and maxima over whole axes: of images, of rows, and of columns of rows. */
#include <string.h>

#include "targets/accel/compile/make_mean.h"
#include "targets/accel/compile/record.h"

/* What is folded: sums that are requantised, or numbers of 8 bits of which one is the result. */
typedef struct {
  bool is_mean;
  int64_t taps, za;
  wk_requant q; /* is_mean */
} fold;

static bool is_cast(const wk_expr *e) {
  for (uint32_t i = 0; e && i < e->n; i++)
    if (e->nodes[i].op != WK_EX_INPUT && e->nodes[i].op != WK_EX_CAST) return false;
  return true;
}

static bool maximum_of(wk_accel_making *k, const wk_expr *post, fold *f) {
  const wk_type *x = &wk_val(k->g, k->node->in[0])->type;
  const wk_type *y = &wk_val(k->g, k->node->out[0])->type;
  f->is_mean = false;
  if (x->dtype != y->dtype || k->node->n_in != 1 || !is_cast(post))
    return wk_accel_refuse(k, "the result of the fold is no maximum of 8 bits");
  return true;
}

static bool mean_of(wk_accel_making *k, const wk_expr *post, fold *f) {
  wk_requant *q = &f->q;
  f->is_mean = true;
  return (post && wk_requant_of(post, q) && q->kind == WK_REQUANT_SUM && !q->has_second &&
          !q->n_terms && q->mult.input == WK_REQUANT_NONE && q->shift.input == WK_REQUANT_NONE) ||
         wk_accel_refuse(k, "the result of the fold is no requantised sum of 8 bits");
}

/* The vector unit takes a zero point from each number, and adds nothing to the sum. */
static bool is_one_command(wk_accel_making *k, fold *f) {
  const wk_requant *q = &f->q;
  int64_t least = wk_val(k->g, k->node->in[0])->type.dtype == WK_I8 ? INT8_MIN : 0;
  if (!f->is_mean) return true;
  f->za = -q->bias / f->taps;
  return (q->bias % f->taps == 0 && f->za >= least && f->za <= least + UINT8_MAX &&
          q->mult.value <= WK_MULT_MAX && q->shift.value >= 1 && q->shift.value <= WK_SHIFT_MAX) ||
         wk_accel_refuse(k, "a fold that the vector unit does not have");
}

static bool fold_of(wk_accel_making *k, const wk_expr *post, fold *f) {
  const wk_attr_reduce *a = WK_ATTR(k->node, reduce);
  const wk_type *x = &wk_val(k->g, k->node->in[0])->type;
  bool is_sum = !strcmp(a->kind, "sum");
  f->taps = 1;
  for (int64_t i = 0; i < a->axes.n; i++) f->taps *= x->dims[a->axes.v[i]];
  if (!wk_accel_is_8_bit(x->dtype) || (!is_sum && strcmp(a->kind, "max")) || k->node->n_in != 1 ||
      !f->taps || !is_cast(a->pre))
    return wk_accel_refuse(k, "a fold that the vector unit does not have");
  return is_sum ? mean_of(k, post, f) : maximum_of(k, post, f);
}

static void add_record(wk_accel_making *k, const fold *f, wk_accel_op *op) {
  op->one_const = true;
  op->a_u8 = wk_val(k->g, k->node->in[0])->type.dtype == WK_U8;
  if (!f->is_mean) return;
  op->record_bytes = op->const_bytes = wk_accel_record_bytes(k->net->n, 1);
  uint8_t *record = wk_arena_alloc(k->net->arena, (size_t)op->record_bytes);
  wk_accel_put_mean(record, f->za, f->q.y.zero, f->q.y.lo, f->q.y.hi);
  wk_accel_put_entry(record, 0, 0, f->q.mult.value, f->q.shift.value);
  op->consts = record;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* All pixels as a window that the vector unit has: its rows, or others of as many. */
static bool window_of_taps(wk_accel_making *k, int64_t taps, wk_accel_op *op) {
  op->ky = op->a.h, op->kx = op->a.w;
  if (op->ky <= WK_MAX(POOL, ky) && op->kx <= WK_MAX(POOL, kx)) return true;
  for (op->kx = WK_MAX(POOL, kx); taps % op->kx; op->kx--) continue;
  op->ky = taps / op->kx;
  if (op->ky > WK_MAX(POOL, ky))
    return wk_accel_refuse(k, "a fold that the vector unit does not have");
  if (op->a.w > 1 && op->a.h > 1 && op->a.sy != op->a.w * op->a.sx)
    return wk_accel_refuse(k, "rows that lie apart");
  if (op->a.w == 1) op->a.sx = op->a.sy;
  op->a.h = op->ky, op->a.w = op->kx;
  op->a.sy = op->kx * op->a.sx;
  return true;
}

static bool add_pixels(wk_accel_making *k, fold *f, wk_accel_op *op) {
  op->fn = f->is_mean ? WK_CHOICE_POOL_mean : WK_CHOICE_POOL_max;
  if (!is_one_command(k, f) || !window_of_taps(k, f->taps, op)) return false;
  add_record(k, f, op);
  wk_accel_cut_pieces(k, wk_accel_add(k, op), &op->a);
  return true;
}

/* What may have to be in the scratchpad at once is much of it: a block of channels; or most of it:
 * all of them, where images go one by one, unless they ride on what makes them. */
static bool is_large(const wk_accel_making *k, const wk_accel_view *x) {
  const int64_t n = k->net->n, all = k->net->machine->scratchpad, block = n * x->h * x->w;
  return 4 * block > all || (x->o > 1 && 4 * wk_ceil_div(x->c, n) * block > 3 * all);
}

static bool add_pieces(wk_accel_making *k, const fold *f, const wk_accel_op *op) {
  return f->is_mean && wk_accel_add_mean_in_pieces(k, op, &f->q);
}

static bool fold_images(wk_accel_making *k, fold *f) {
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_POOL);
  wk_accel_operand x, y = wk_accel_result(k, k->node->out[0]);
  const wk_accel_operand *result = &y;
  if (!wk_accel_operand_of(k, k->node->in[0], &x) || !wk_accel_image(k, &x, &op.a) ||
      !wk_accel_view_for(&result, 1, false)(k, &y, &op.out))
    return false;
  if (y.rank == 2) {
    op.out.o = op.out.h, op.out.so = op.out.sy;
    op.out.h = 1;
  }
  const wk_accel_op whole = op;
  if (is_large(k, &op.a) && add_pieces(k, f, &whole)) return true;
  return add_pixels(k, f, &op) || add_pieces(k, f, &whole);
}

/* A result without the axis before the last one has its rows where stacks would be. */
static bool fold_columns(wk_accel_making *k, fold *f) {
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_POOL);
  wk_accel_operand x, y = wk_accel_result(k, k->node->out[0]);
  if (!wk_accel_operand_of(k, k->node->in[0], &x) || !wk_accel_rows(k, &x, &op.a) ||
      !wk_accel_rows(k, &y, &op.out))
    return false;
  if (y.rank < x.rank) {
    if (op.out.o > 1 && op.out.h > 1 && op.out.so != op.out.h * op.out.sy)
      return wk_accel_refuse(k, "a stack of matrices that lies apart");
    if (op.out.h > 1) op.out.so = op.out.sy;
    op.out.o *= op.out.h;
    op.out.h = 1;
  }
  if (op.out.o != op.a.o || op.out.c != op.a.c)
    return wk_accel_refuse(k, "a fold of rows that lie apart");
  return add_pixels(k, f, &op);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool fold_rows(wk_accel_making *k, fold *f) {
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_ROW);
  if (!WK_ATTR(k->node, reduce)->keepdims)
    return wk_accel_refuse(k, "a fold of rows that leaves out their axis");
  if (!is_one_command(k, f) || !wk_accel_take_rows(k, &op, false)) return false;
  op.fn = f->is_mean ? WK_CHOICE_ROW_mean : WK_CHOICE_ROW_max;
  add_record(k, f, &op);
  wk_accel_add_rows(k, &op);
  return true;
}

bool wk_accel_make_reduce(wk_accel_making *k, const wk_expr *post) {
  const wk_attr_reduce *a = WK_ATTR(k->node, reduce);
  const int rank = wk_val(k->g, k->node->in[0])->type.rank;
  const int64_t *axes = a->axes.v;
  fold f;
  if (!fold_of(k, post, &f)) return false;
  if (rank == 4 && a->axes.n == 2 && axes[0] == 2 && axes[1] == 3) return fold_images(k, &f);
  if (a->axes.n == 1 && axes[0] == rank - 1) return fold_rows(k, &f);
  if (a->axes.n == 1 && axes[0] == rank - 2) return fold_columns(k, &f);
  return wk_accel_refuse(k, "a fold over other axes than those of images or rows");
}
