/* SPDX-License-Identifier: Apache-2.0
 * Operators of whole rows, and products of two matrices that are computed at run time. */
#include <string.h>

#include "compiler/expr/quant.h"
#include "targets/accel/compile/record.h"
#include "targets/accel/compile/views.h"

static wk_dtype type_of(const wk_accel_making *k, wk_value_id v) {
  return wk_val(k->g, v)->type.dtype;
}

/* And how many blocks they have. */
static bool are_rows_fine(wk_accel_making *k, wk_accel_op *op) {
  if (op->a.first || op->out.first)
    return wk_accel_refuse(k, "rows that begin within a block");
  op->kc = wk_ceil_div(op->a.c, k->net->n);
  op->k_tail = (int)(op->a.c - (op->kc - 1) * k->net->n);
  if (op->kc > WK_ACCEL_MOST_BLOCKS)
    return wk_accel_refuse(k, "rows of %lld elements", (long long)op->a.c);
  return true;
}

/* The first operand and the result; the operand is turned where its lanes lie along other axes. */
static bool row_operands(wk_accel_making *k, wk_accel_op *op, wk_accel_operand *x,
                         wk_accel_operand *y) {
  const wk_node *nd = k->node;
  *y = wk_accel_result(k, nd->out[0]);
  if (!wk_accel_operand_of(k, nd->in[0], x)) return false;
  op->a_u8 = type_of(k, nd->in[0]) == WK_U8;
  return y->lane != y->rank - 1 || x->lane < 0 || wk_accel_turn(k, nd->in[0], x->rank - 1, x);
}

bool wk_accel_take_rows(wk_accel_making *k, wk_accel_op *op, bool pixels) {
  wk_accel_operand x, y;
  if (!row_operands(k, op, &x, &y)) return false;
  wk_accel_view_of *view = pixels ? wk_accel_rows_of(k, &y) : wk_accel_rows;
  return view(k, &x, &op->a) && view(k, &y, &op->out) && are_rows_fine(k, op);
}

void wk_accel_add_rows(wk_accel_making *k, const wk_accel_op *like) {
  wk_accel_op *op = wk_accel_add(k, like);
  wk_accel_piece *p = wk_arena_alloc(k->net->arena, sizeof *p);
  *p = (wk_accel_piece){0, k->net->n, k->net->n};
  op->pieces = p;
  op->n_pieces = 1;
  op->one_const = true;
  op->leaves_lanes = op->out.c % k->net->n != 0;
}

bool wk_accel_make_softmax(wk_accel_making *k) {
  const wk_attr_integer_softmax *a = WK_ATTR(k->node, integer_softmax);
  const wk_type *x = &wk_val(k->g, k->node->in[0])->type;
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_ROW);
  int32_t table[WK_TABLE_BYTES];
  if (a->axis != x->rank - 1)
    return wk_accel_refuse(k, "a softmax along another than the last axis");
  if (k->net->machine->tables < 3) return wk_accel_refuse(k, "the machine has too few tables");
  if (!wk_accel_take_rows(k, &op, true)) return false;
  op.fn = WK_CHOICE_ROW_softmax;
  op.tables = 3;
  op.record_bytes = wk_accel_record_bytes(k->net->n, 1);
  op.const_bytes = op.record_bytes + 3 * WK_TABLE_BYTES;
  uint8_t *at = wk_arena_alloc(k->net->arena, (size_t)op.const_bytes);
  wk_accel_put_range(at, a->zero, a->lo, a->hi);
  wk_accel_put_entry(at, 0, a->mult, 0, a->shift);
  wk_softmax_table(a->scale, a->far, table);
  for (int t = 0; t < 3; t++)
    for (int q = 0; q < WK_TABLE_BYTES; q++)
      at[op.record_bytes + t * WK_TABLE_BYTES + q] = (uint8_t)((uint32_t)table[q] >> 8 * t);
  op.consts = at;
  wk_accel_add_rows(k, &op);
  return true;
}

static int64_t parameter(const wk_accel_making *k, wk_value_id v, int64_t i) {
  const wk_value *x = wk_val(k->g, v);
  return wk_load_i64(x->data, x->type.dtype, x->type.rank ? i : 0);
}

bool wk_accel_make_norm(wk_accel_making *k) {
  const wk_attr_integer_norm *a = WK_ATTR(k->node, integer_norm);
  const wk_node *nd = k->node;
  const wk_type *x = &wk_val(k->g, nd->in[0])->type;
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_ROW);
  if (a->axis != x->rank - 1) return wk_accel_refuse(k, "a normalisation over several axes");
  if (!wk_is_const(k->g, nd->in[1]) || !wk_is_const(k->g, nd->in[2]))
    return wk_accel_refuse(k, "gain and bias are no constants");
  if (!wk_accel_take_rows(k, &op, true)) return false;
  int64_t n = op.a.c;
  op.fn = a->centred ? WK_CHOICE_ROW_layernorm : WK_CHOICE_ROW_rmsnorm;
  op.record_bytes = op.const_bytes = wk_accel_record_bytes(k->net->n, n);
  uint8_t *at = wk_arena_alloc(k->net->arena, (size_t)op.record_bytes);
  wk_accel_put_range(at, a->zero, a->lo, a->hi);
  for (int i = 0; i < 8; i++) at[8 + i] = (uint8_t)((uint64_t)a->epsilon >> 8 * i);
  at[16] = (uint8_t)a->shift;
  wk_accel_put16(at + 18, a->x_zero);
  for (int64_t i = 0; i < n; i++) {
    wk_accel_put32(at + WK_RECORD_BYTES + i * WK_ENTRY_BYTES, parameter(k, nd->in[2], i));
    wk_accel_put32(at + WK_RECORD_BYTES + i * WK_ENTRY_BYTES + 4, parameter(k, nd->in[1], i));
  }
  op.consts = at;
  wk_accel_add_rows(k, &op);
  return true;
}

/* ---- products -------------------------------------------------------------------------------- */

/* y[.., m, n] = a[.., m, k] b[.., n, k]. */
typedef struct {
  wk_accel_operand a, b, y;
} product;

/* The right matrix [.., k, n]: a block holds elements along k, or along n. */
static bool right_matrix(wk_accel_making *k, wk_accel_op *op, wk_accel_operand *out) {
  wk_accel_operand x;
  int64_t perm[WK_MAX_RANK];
  if (!wk_accel_operand_of(k, k->node->in[1], &x)) return false;
  op->is_transposed = x.lane == x.rank - 1;
  *out = x;
  if (op->is_transposed) return true;
  for (int i = 0; i < x.rank; i++) perm[i] = i;
  perm[x.rank - 1] = x.rank - 2, perm[x.rank - 2] = x.rank - 1;
  wk_operand_transpose(&x, perm, out);
  return true;
}

static bool views_of(wk_accel_making *k, const product *x, wk_accel_op *op) {
  if (!wk_accel_rows(k, &x->a, &op->a) || !wk_accel_rows(k, &x->y, &op->out) ||
      !are_rows_fine(k, op) || !wk_accel_rows(k, &x->b, &op->b))
    return false;
  if (op->b.first) return wk_accel_refuse(k, "a matrix that begins within a block");
  if (op->a.o != op->out.o) return wk_accel_refuse(k, "a stack of matrices that is broadcast");
  int64_t each = op->out.o / op->b.o;
  for (int i = 2; i < x->b.rank && i < x->y.rank && each > 1; i++) {
    if (x->b.dims[x->b.rank - 1 - i] != 1)
      return wk_accel_refuse(k, "a stack of matrices that is broadcast");
    each /= x->y.dims[x->y.rank - 1 - i];
  }
  return true;
}

/* Of the axis that is number `axis` from the last index i alone. */
static void take_one(wk_accel_operand *x, int axis, int64_t i) {
  int a = x->rank - 1 - axis;
  if (a < 0 || x->dims[a] == 1) return;
  x->offset += i * x->strides[a];
  x->dims[a] = 1;
}

static product one_of(const product *x, int axis, int64_t i) {
  product y = *x;
  take_one(&y.a, axis, i), take_one(&y.b, axis, i), take_one(&y.y, axis, i);
  return y;
}

/* The shortest axis of the stack without which matrices lie at equal distances; 0: they do so, or
 * there is none. */
static int axis_apart(wk_accel_making *k, const product *x, const wk_accel_op *op) {
  wk_accel_op trial = *op;
  int best = 0;
  const int64_t *d = x->y.dims + x->y.rank - 1;
  if (views_of(k, x, &trial)) return 0;
  for (int axis = 2; axis < x->y.rank; axis++) {
    const product one = one_of(x, axis, 0);
    if (d[-axis] > 1 && (!best || d[-axis] < d[-best]) && views_of(k, &one, &trial)) best = axis;
  }
  return best;
}

/* Results [o, o + count), of which all have matrix o / count. */
static wk_accel_op with_matrix(const wk_accel_op *op, int64_t o, int64_t count) {
  wk_accel_op y = *op;
  y.b.offset += o / count * op->b.so;
  y.b.o = 1;
  y = wk_accel_some_stacks(&y, o, o + count);
  y.b.o = count, y.b.so = 0;
  return y;
}

static void add_product(wk_accel_making *k, const wk_accel_op *op) {
  int n = k->net->n;
  wk_accel_op *made = wk_accel_add(k, op);
  wk_accel_cut_pieces(k, made, NULL);
  if (made->n_pieces && made->out.c % n) { /* columns that the matrix lacks are not read */
    wk_accel_piece *last = (wk_accel_piece *)(uintptr_t)&made->pieces[made->n_pieces - 1];
    last->width = last->n;
    made->leaves_lanes = true;
  }
}

static bool add_products(wk_accel_making *k, const product *x, wk_accel_op *op) {
  if (!views_of(k, x, op)) return false;
  int64_t each = op->out.o / op->b.o;
  if (each == 1) add_product(k, op);
  for (int64_t o = 0; each > 1 && o < op->out.o; o += each) {
    wk_accel_op part = with_matrix(op, o, each);
    add_product(k, &part);
  }
  return true;
}

bool wk_accel_make_integer_matmul(wk_accel_making *k, const wk_expr *epilogue) {
  const wk_attr_integer_matmul *a = WK_ATTR(k->node, integer_matmul);
  const wk_node *nd = k->node;
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_MM);
  wk_accel_requant r;
  product x;
  int n = k->net->n;
  if (!wk_accel_is_result_fine(k)) return false;
  if (!wk_accel_requant_of(k, epilogue, 2, 0, WK_NONE, &r)) return false;
  if (!row_operands(k, &op, &x.a, &x.y) || !right_matrix(k, &op, &x.b)) return false;
  op.a_zero = (uint8_t)a->a_zero, op.b_zero = (uint8_t)a->b_zero;
  op.b_u8 = type_of(k, nd->in[1]) == WK_U8;
  op.one_const = true;
  op.record_bytes = op.const_bytes = wk_accel_record_bytes(n, n);
  uint8_t *at = wk_arena_alloc(k->net->arena, (size_t)op.record_bytes);
  wk_accel_record_sums(&r, 0, n, n, NULL, at);
  op.consts = at;
  const int axis = axis_apart(k, &x, &op);
  const int64_t parts = axis ? x.y.dims[x.y.rank - 1 - axis] : 1;
  op.macs = wk_node_model_macs(k->g, nd) / parts;
  for (int64_t i = 0; i < parts; i++) {
    const product one = axis ? one_of(&x, axis, i) : x;
    if (!add_products(k, &one, &op)) return false;
  }
  return true;
}
