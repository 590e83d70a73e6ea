/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators, tables and windows: what the vector unit computes. */
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/quant.h"
#include "compiler/ir/taps.h"
#include "targets/accel/compile/record.h"
#include "targets/accel/compile/views.h"

static wk_dtype type_of(const wk_accel_making *k, wk_value_id v) {
  return wk_val(k->g, v)->type.dtype;
}

/* Dims of a view over those of the result: an axis of one is read again and again. False: the view
 * has some of those that are one axis of the result. */
static bool broadcast(wk_accel_view *x, const wk_accel_view *y) {
  struct {
    int64_t *size, *stride, want;
  } axes[] = {{&x->o, &x->so, y->o}, {&x->h, &x->sy, y->h}, {&x->w, &x->sx, y->w}};
  for (size_t i = 0; i < WK_COUNTOF(axes); i++) {
    if (*axes[i].size == axes[i].want) continue;
    if (*axes[i].size != 1) return false;
    *axes[i].size = axes[i].want;
    *axes[i].stride = 0;
  }
  return true;
}

/* An operand with axes in front, as broadcasting has it. */
static void widen(const wk_accel_operand *x, int rank, wk_accel_operand *y) {
  int more = rank - x->rank;
  *y = *x;
  y->rank = rank;
  for (int i = rank; i-- > 0;) {
    y->dims[i] = i < more ? 1 : x->dims[i - more];
    y->strides[i] = i < more ? 0 : x->strides[i - more];
  }
  y->lane = x->lane < 0 ? -1 : x->lane + more;
}

/* Value v with the axes of the result, and lanes along the same one. */
static bool operand(wk_accel_making *k, wk_value_id v, const wk_accel_operand *result,
                    wk_accel_operand *x) {
  wk_accel_operand at;
  int lane = result->lane - (result->rank - wk_val(k->g, v)->type.rank);
  if (!(wk_is_const(k->g, v) ? wk_accel_constant(k, v, lane, &at) : wk_accel_operand_of(k, v, &at)))
    return false;
  widen(&at, result->rank, x);
  if (x->lane == result->lane && x->lane >= 0) return true;
  if (result->lane < 0)
    return wk_accel_refuse(k, "operands lie in blocks along different axes");
  if ((x->lane >= 0 && x->dims[x->lane] != 1) || x->dims[result->lane] != 1) {
    if (!wk_accel_turn(k, v, lane, &at))
      return wk_accel_refuse(k, "operands lie in blocks along different axes");
    widen(&at, result->rank, x);
    return true;
  }
  x->lane = result->lane;
  return true;
}

/* Three axes of an operand over those of the result, whatever they are; others at `offset`. */
static wk_accel_view view_of(const wk_accel_operand *x, const wk_accel_operand *result,
                             const int axes[3], int64_t offset) {
  wk_accel_view v = {.tensor = x->tensor, .offset = x->offset + offset, .o = 1,
                     .c = x->dims[x->lane], .h = 1, .w = 1, .sb = x->strides[x->lane],
                     .first = x->first};
  int64_t *sizes[] = {&v.o, &v.h, &v.w}, *strides[] = {&v.so, &v.sy, &v.sx};
  for (int i = 0; i < 3; i++) {
    if (axes[i] < 0) continue;
    *sizes[i] = result->dims[axes[i]];
    *strides[i] = x->dims[axes[i]] == 1 ? 0 : x->strides[axes[i]];
  }
  return v;
}

/* The three largest axes of the result beside that of the lanes; what is left over, and how often
 * those three are gone through. */
static int64_t choose_axes(const wk_accel_operand *y, int inner[3], int outer[], int *n) {
  int64_t total = 1;
  for (int j = 0; j < 3; j++) inner[j] = -1;
  *n = 0;
  for (int i = 0; i < y->rank; i++) {
    int axis = i == y->lane || y->dims[i] == 1 ? -1 : i;
    for (int j = 0; j < 3 && axis >= 0; j++) {
      int there = inner[j];
      if (there >= 0 && y->dims[there] >= y->dims[axis]) continue;
      inner[j] = axis, axis = there;
    }
    if (axis >= 0) outer[(*n)++] = axis, total *= y->dims[axis];
  }
  return total;
}

static bool add_map(wk_accel_making *k, wk_accel_op *op) {
  op->is_splat = op->b.tensor >= 0 && op->b.c == 1 && op->out.c > 1;
  if (op->b.tensor >= 0 && !op->is_splat && op->a.first != op->b.first)
    return wk_accel_refuse(k, "operands lie in different lanes");
  wk_accel_cut_pieces(k, wk_accel_add(k, op), &op->a);
  return true;
}

/* By three axes at a time, of up to two operands. */
static bool map_axes(wk_accel_making *k, wk_accel_op *op, const wk_accel_operand *y,
                     const wk_accel_operand *const x[2]) {
  int inner[3], outer[WK_MAX_RANK], n;
  int64_t total = choose_axes(y, inner, outer, &n);
  for (int64_t t = 0; t < total; t++) {
    int64_t at[3] = {0}, rest = t;
    for (int i = 0; i < n; rest /= y->dims[outer[i++]]) {
      int64_t q = rest % y->dims[outer[i]];
      for (int j = 0; j < 2 && x[j]; j++)
        if (x[j]->dims[outer[i]] > 1) at[j] += q * x[j]->strides[outer[i]];
      at[2] += q * y->strides[outer[i]];
    }
    op->a = view_of(x[0], y, inner, at[0]);
    if (x[1]) op->b = view_of(x[1], y, inner, at[1]);
    op->out = view_of(y, y, inner, at[2]);
    if (!add_map(k, op)) return false;
  }
  return true;
}

/* Index i of the outermost axis, or of the one that is read again and again; one axis less. */
static wk_accel_operand without_first(const wk_accel_operand *x, int64_t i) {
  wk_accel_operand y = *x;
  if (x->dims[0] > 1) y.offset += i * x->strides[0];
  y.rank--;
  y.lane--;
  memmove(y.dims, x->dims + 1, (size_t)y.rank * sizeof *y.dims);
  memmove(y.strides, x->strides + 1, (size_t)y.rank * sizeof *y.strides);
  return y;
}

/* Matrices of a stack that is too large to be gone through as a whole, which all lie in rows. */
static bool is_large_stack(const wk_accel_making *k, const wk_accel_operand *y,
                           const wk_accel_operand *const x[2]) {
  int64_t bytes = k->net->tensors.data[y->tensor].bytes;
  bool are_rows = y->rank > 3 && y->lane == y->rank - 1;
  for (int j = 0; j < 2 && x[j]; j++) are_rows = are_rows && x[j]->lane == x[j]->rank - 1;
  return are_rows && bytes > k->net->machine->scratchpad / 4;
}

static bool map_all(wk_accel_making *k, wk_accel_op *op, const wk_accel_operand *y,
                    const wk_accel_operand *const x[2]);

static bool map_stacks(wk_accel_making *k, wk_accel_op *op, const wk_accel_operand *y,
                       const wk_accel_operand *const x[2]) {
  for (int64_t i = 0; i < y->dims[0]; i++) {
    wk_accel_operand part[3] = {without_first(y, i), without_first(x[0], i)};
    if (x[1]) part[2] = without_first(x[1], i);
    if (!map_all(k, op, &part[0],
                 (const wk_accel_operand *const[]){&part[1], x[1] ? &part[2] : NULL}))
      return false;
  }
  return true;
}

/* As images or rows where all operands are, else stack by stack, or axis by axis. */
static bool map_all(wk_accel_making *k, wk_accel_op *op, const wk_accel_operand *y,
                    const wk_accel_operand *const x[2]) {
  const wk_accel_operand *const all[] = {y, x[0], x[1]};
  wk_accel_view_of *view =
      wk_accel_view_for(all, x[1] ? 3 : 2, wk_accel_lies_as_line(k->g, k->node->out[0]));
  if (view(k, y, &op->out) && view(k, x[0], &op->a) && broadcast(&op->a, &op->out) &&
      (!x[1] || (view(k, x[1], &op->b) && broadcast(&op->b, &op->out))))
    return add_map(k, op);
  if (y->lane < 0) return wk_accel_refuse(k, "a result that does not lie in blocks");
  return is_large_stack(k, y, x) ? map_stacks(k, op, y, x) : map_axes(k, op, y, x);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool add_table(wk_accel_making *k, wk_value_id x, const uint8_t table[WK_TABLE_BYTES]) {
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_MAP);
  wk_accel_operand y = wk_accel_result(k, k->node->out[0]), a;
  if (!operand(k, x, &y, &a)) return false;
  op.fn = WK_CHOICE_MAP_table;
  op.tables = 1;
  op.const_bytes = WK_TABLE_BYTES;
  op.one_const = true;
  op.consts = wk_arena_memdup(k->net->arena, table, WK_TABLE_BYTES);
  return map_all(k, &op, &y, (const wk_accel_operand *const[]){&a, NULL});
}

bool wk_accel_make_table(wk_accel_making *k) {
  const wk_attr_gather *a = WK_ATTR(k->node, gather);
  const wk_value *data = wk_val(k->g, k->node->in[0]);
  wk_value_id x = k->node->in[1];
  if (!wk_is_const(k->g, k->node->in[0]) || data->type.rank != 1 ||
      data->type.dims[0] != WK_TABLE_BYTES || a->axis != 0 ||
      !wk_accel_is_8_bit(data->type.dtype) || !wk_accel_is_8_bit(type_of(k, x)))
    return wk_accel_refuse(k, "an indexed read that is no table of %d bytes", WK_TABLE_BYTES);
  return add_table(k, x, data->data);
}

/* Any function of one byte. Constants of one element are part of it. */
static bool make_unary(wk_accel_making *k, const wk_expr *body, uint32_t input) {
  const wk_node *nd = k->node;
  wk_scalar in[16] = {{0}}, y;
  uint8_t table[WK_TABLE_BYTES];
  if (nd->n_in > WK_COUNTOF(in)) return wk_accel_refuse(k, "a function of many constants");
  for (uint32_t i = 0; i < body->n; i++)
    if (body->nodes[i].op == WK_EX_INDEX)
      return wk_accel_refuse(k, "a function of positions");
  for (uint32_t i = 0; i < nd->n_in; i++)
    if (i != input) in[i] = wk_scalar_load(wk_val(k->g, nd->in[i])->data, type_of(k, nd->in[i]));
  wk_dtype t = type_of(k, nd->in[input]);
  wk_scalar *scratch = wk_arena_alloc(k->net->arena, (size_t)body->n * sizeof *scratch);
  for (int q = 0; q < WK_TABLE_BYTES; q++) {
    in[input].i = t == WK_U8 ? q : (int8_t)q;
    wk_expr_eval(body, in, NULL, scratch, &y);
    table[q] = (uint8_t)y.i;
  }
  return add_table(k, nd->in[input], table);
}

/* ---- two operands ---------------------------------------------------------------------------- */

typedef struct {
  int fn, a, b; /* inputs of the node */
  wk_requant q;
} binary;

static bool are_zeros_fine(wk_accel_making *k, const wk_requant_operand *a,
                           const wk_requant_operand *b) {
  const wk_requant_operand *x[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    int64_t least = x[i]->dtype == WK_I8 ? INT8_MIN : 0;
    if (x[i]->zero < least || x[i]->zero > least + UINT8_MAX)
      return wk_accel_refuse(k, "a zero point that its operand does not have");
  }
  return true;
}

static bool sum_of(wk_accel_making *k, binary *x) {
  if (x->q.b.dtype == WK_DTYPE_NONE) return wk_accel_refuse(k, "a change of scale of two tensors");
  if (!wk_accel_is_mult_fine(x->q.a.mult) || !wk_accel_is_mult_fine(x->q.b.mult))
    return wk_accel_refuse(k, "a multiplier that the vector unit does not have");
  if (!are_zeros_fine(k, &x->q.a, &x->q.b)) return false;
  x->fn = WK_CHOICE_MAP_add;
  x->a = x->q.a.input, x->b = x->q.b.input;
  return true;
}

static bool product_of(wk_accel_making *k, binary *x) {
  const wk_requant *q = &x->q;
  if (q->has_second)
    return wk_accel_refuse(k, "a product with a second rounding");
  if (q->mult.input != WK_REQUANT_NONE || q->shift.input != WK_REQUANT_NONE || q->mult.value < 0 ||
      q->mult.value > WK_MULT_MAX || q->shift.value < 1 || q->shift.value > WK_SHIFT_MAX)
    return wk_accel_refuse(k, "a multiplier that the vector unit does not have");
  if (!are_zeros_fine(k, &q->factors[0], &q->factors[1])) return false;
  x->fn = WK_CHOICE_MAP_mul;
  x->a = q->factors[0].input, x->b = q->factors[1].input;
  return true;
}

/* The greater or the lesser of two numbers of one type. */
static bool extreme_of(const wk_expr *body, binary *x) {
  const wk_expr_node *e = &body->nodes[body->results[0]];
  if (body->n != 3 || (e->op != WK_EX_MIN && e->op != WK_EX_MAX)) return false;
  const wk_expr_node *a = &body->nodes[e->arg[0]], *b = &body->nodes[e->arg[1]];
  if (a->op != WK_EX_INPUT || b->op != WK_EX_INPUT) return false;
  int64_t least = e->dtype == WK_I8 ? INT8_MIN : 0;
  *x = (binary){.fn = e->op == WK_EX_MIN ? WK_CHOICE_MAP_min : WK_CHOICE_MAP_max,
                .a = (int)a->imm.i, .b = (int)b->imm.i};
  x->q.y2.lo = least, x->q.y2.hi = least + UINT8_MAX;
  return true;
}

/* Of two tensors of 8 bits: neither is a sum. */
static bool binary_of(wk_accel_making *k, const wk_expr *body, binary *x) {
  if (extreme_of(body, x)) return true;
  if (!wk_requant_of(body, &x->q))
    return wk_accel_refuse(k, "an elementwise function that the vector unit does not have");
  return x->q.kind == WK_REQUANT_VALUE ? sum_of(k, x) : product_of(k, x);
}

static void swap_operands(binary *x) {
  wk_requant_operand t = x->q.a;
  int i = x->a;
  x->q.a = x->q.b, x->q.b = t;
  t = x->q.factors[0];
  x->q.factors[0] = x->q.factors[1], x->q.factors[1] = t;
  x->a = x->b, x->b = i;
}

static bool add_binary(wk_accel_making *k, binary *x) {
  const wk_node *nd = k->node;
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_MAP);
  wk_accel_operand y = wk_accel_result(k, nd->out[0]), a, b;
  const wk_type *out = &wk_val(k->g, nd->out[0])->type;
  if (wk_type_count(&wk_val(k->g, nd->in[x->a])->type) != wk_type_count(out)) swap_operands(x);
  if (wk_type_count(&wk_val(k->g, nd->in[x->a])->type) != wk_type_count(out))
    return wk_accel_refuse(k, "both operands are broadcast");
  if (!operand(k, nd->in[x->a], &y, &a) || !operand(k, nd->in[x->b], &y, &b)) return false;
  op.fn = x->fn;
  op.a_u8 = type_of(k, nd->in[x->a]) == WK_U8;
  op.b_u8 = type_of(k, nd->in[x->b]) == WK_U8;
  op.one_const = true;
  op.record_bytes = op.const_bytes = wk_accel_record_bytes(k->net->n, 0);
  uint8_t *record = wk_arena_alloc(k->net->arena, (size_t)op.record_bytes);
  wk_accel_record_map(&x->q, record);
  op.consts = record;
  return map_all(k, &op, &y, (const wk_accel_operand *const[]){&a, &b});
}

bool wk_accel_make_map(wk_accel_making *k, const wk_expr *body) {
  const wk_node *nd = k->node;
  uint32_t tensors = 0, input = 0;
  if (nd->n_out != 1 || !body) return wk_accel_refuse(k, "several results");
  if (!wk_accel_is_result_fine(k)) return false;
  for (uint32_t i = 0; i < nd->n_in; i++) {
    if (wk_is_const(k->g, nd->in[i]) && wk_type_count(&wk_val(k->g, nd->in[i])->type) == 1)
      continue;
    if (!wk_accel_is_8_bit(type_of(k, nd->in[i])))
      return wk_accel_refuse(k, "an operand is %s", wk_dtype_name(type_of(k, nd->in[i])));
    tensors++, input = i;
  }
  if (tensors == 1) return make_unary(k, body, input);
  binary x;
  if (tensors != 2 || nd->n_in != 2)
    return wk_accel_refuse(k, "a function of %u tensors", tensors);
  return binary_of(k, body, &x) && add_binary(k, &x);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Pixels of a row lie one after the other, rows within a plane. */
static bool has_pixels(const wk_accel_net *net, const wk_accel_view *x) {
  int64_t plane = wk_accel_plane_of(&net->tensors.data[x->tensor]);
  int64_t last = (x->h - 1) * x->sy + (x->w - 1) * x->sx;
  return x->sx == net->n && x->sy >= 0 && x->offset % plane + last < plane;
}

/* Rows, with stacks that lie in the same planes, are whole before those below them begin. */
static bool are_rows_apart(const wk_accel_net *net, const wk_accel_view *x) {
  bool are_within = wk_accel_are_stacks_within(&net->tensors.data[x->tensor], x);
  int64_t row = x->w * x->sx + (are_within ? (x->o - 1) * x->so : 0);
  return (!are_within || x->so > 0) && (x->h == 1 || x->sy >= row);
}

static bool move_pixels(wk_accel_making *k, const wk_accel_operand *from,
                        const wk_accel_operand *to, wk_accel_op *op) {
  return wk_accel_pixels(k, from, &op->a) && wk_accel_pixels(k, to, &op->out) &&
         has_pixels(k->net, &op->a) && has_pixels(k->net, &op->out) &&
         are_rows_apart(k->net, &op->out);
}

/* Windows of an image that lie beside one another on one side, one behind the other on the other:
 * window by window, or row by row of all. */
static bool move_windows(wk_accel_making *k, const wk_accel_operand *from,
                         const wk_accel_operand *to, wk_accel_op *op) {
  static const int64_t perm[4] = {1, 0, 2, 3};
  wk_accel_operand x, y;
  if (from->rank != 4 || from->lane != 3) return false;
  if (move_pixels(k, from, to, op)) return true;
  wk_operand_transpose(from, perm, &x);
  wk_operand_transpose(to, perm, &y);
  return move_pixels(k, &x, &y, op);
}

/* As they are: pixels only where they can be written row by row. */
static bool are_views(wk_accel_making *k, const wk_accel_operand *from,
                      const wk_accel_operand *to) {
  wk_accel_view x, y;
  wk_accel_view_of *view = wk_accel_view_for((const wk_accel_operand *[]){to, from}, 2, false);
  return view(k, from, &x) && view(k, to, &y) &&
         (view != wk_accel_pixels || are_rows_apart(k->net, &y));
}

bool wk_accel_make_move(wk_accel_making *k, const wk_accel_operand *from,
                        const wk_accel_operand *to) {
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_MAP);
  op.fn = WK_CHOICE_MAP_move;
  op.one_const = true;
  if (from->lane == to->lane && from->rank > 3 && from->lane > 1 && !are_views(k, from, to)) {
    if (move_windows(k, from, to, &op)) return add_map(k, &op);
    for (int64_t i = 0; i < from->dims[0]; i++) { /* stacks that lie apart */
      wk_accel_operand x = without_first(from, i), y = without_first(to, i);
      if (!wk_accel_make_move(k, &x, &y)) return false;
    }
    return true;
  }
  if (from->lane != to->lane || from->lane < 0 || from->rank != to->rank)
    return wk_accel_refuse(k, "a copy into blocks along another axis");
  return map_all(k, &op, to, (const wk_accel_operand *const[]){from, NULL});
}

/* ---- windows --------------------------------------------------------------------------------- */

typedef struct {
  wk_ints kernel, strides, pads, dilations;
} window;

static bool window_of(wk_accel_making *k, const window *x, wk_accel_op *op) {
  int n = (int)x->kernel.n;
  if (n < 1 || n > 2) return wk_accel_refuse(k, "%d spatial axes", n);
  op->ky = x->kernel.v[0], op->sy = x->strides.v[0];
  op->dy = x->dilations.v[0], op->pad_t = x->pads.v[0];
  if (n == 2) {
    op->kx = x->kernel.v[1], op->sx = x->strides.v[1];
    op->dx = x->dilations.v[1], op->pad_l = x->pads.v[1];
  }
  if (op->ky > WK_MAX(POOL, ky) || op->kx > WK_MAX(POOL, kx) || op->sy > WK_MAX(POOL, sy) ||
      op->sx > WK_MAX(POOL, sx) || op->dy > WK_MAX(POOL, dy) || op->dx > WK_MAX(POOL, dx) ||
      op->pad_t > WK_MAX(POOL, pad_t) || op->pad_l > WK_MAX(POOL, pad_l))
    return wk_accel_refuse(k, "a window that the vector unit does not have");
  return true;
}

/* Rows of the machine go along a line of pixels. */
static bool turn_line(const wk_accel_making *k, wk_accel_op *op) {
  if (!wk_accel_goes_along(k->g, k->node)) return false;
  if (wk_val(k->g, k->node->out[0])->type.rank == 3) return true;
  op->ky = op->kx, op->sy = op->sx, op->dy = op->dx, op->pad_t = op->pad_l;
  op->kx = op->sx = op->dx = 1, op->pad_l = 0;
  return true;
}

static bool add_pool(wk_accel_making *k, wk_accel_op *op) {
  const wk_node *nd = k->node;
  wk_accel_operand x, y = wk_accel_result(k, nd->out[0]);
  wk_accel_view_of *image = turn_line(k, op) ? wk_accel_line : wk_accel_image;
  if (!wk_accel_operand_of(k, nd->in[0], &x) || !image(k, &x, &op->a) || !image(k, &y, &op->out))
    return false;
  if ((op->out.h - 1) * op->sy - op->pad_t >= op->a.h ||
      (op->out.w - 1) * op->sx - op->pad_l >= op->a.w)
    return wk_accel_refuse(k, "windows with nothing but padding");
  op->a_u8 = type_of(k, nd->in[0]) == WK_U8;
  op->has_window = true;
  wk_accel_cut_pieces(k, wk_accel_add(k, op), &op->a);
  return true;
}

bool wk_accel_make_max_pool(wk_accel_making *k) {
  const wk_attr_max_pool *a = WK_ATTR(k->node, max_pool);
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_POOL);
  if (!wk_accel_is_8_bit(type_of(k, k->node->in[0])))
    return wk_accel_refuse(k, "the maximum of %s", wk_dtype_name(type_of(k, k->node->in[0])));
  if (k->node->n_out > 1 && k->node->out[1] != WK_NONE)
    return wk_accel_refuse(k, "positions of maxima");
  op.fn = WK_CHOICE_POOL_max;
  op.one_const = true;
  return window_of(k, &(window){a->kernel, a->strides, a->pads, a->dilations}, &op) &&
         add_pool(k, &op);
}

/* Every window has the same count of taps; else taps inside of x alone count. */
static bool count_taps(wk_accel_making *k, const wk_attr_integer_avg_pool *a, const wk_type *x,
                       const wk_type *y, int64_t taps, bool *is_mean) {
  int64_t o[WK_MAX_RANK] = {0};
  int n = y->rank - 2;
  int64_t count = 1;
  *is_mean = true;
  for (int i = 0; i < n; i++) count *= y->dims[2 + i];
  for (int64_t at = 0; at < count && *is_mean; at++) {
    for (int64_t i = n, rest = at; i-- > 0; rest /= y->dims[2 + i]) o[i] = rest % y->dims[2 + i];
    *is_mean = wk_pool_count(a, x, o) == taps;
  }
  for (int64_t i = 0; !*is_mean && i < a->real_pads.n; i++)
    if (a->real_pads.v[i])
      return wk_accel_refuse(k, "a mean over padding and the outside of it");
  return true;
}

enum { MOST_MEANS = 4096 }; /* bytes of a record with a factor for each count of taps */

bool wk_accel_make_avg_pool(wk_accel_making *k) {
  const wk_attr_integer_avg_pool *a = WK_ATTR(k->node, integer_avg_pool);
  wk_accel_op op = wk_accel_op_new(k, WK_ACCEL_POOL);
  if (!window_of(k, &(window){a->kernel, a->strides, a->pads, a->dilations}, &op)) return false;
  int64_t taps = op.ky * op.kx;
  bool is_mean;
  if (!count_taps(k, a, &wk_val(k->g, k->node->in[0])->type, &wk_val(k->g, k->node->out[0])->type,
                  taps, &is_mean))
    return false;
  int64_t entries = is_mean ? 1 : taps;
  op.fn = is_mean ? WK_CHOICE_POOL_mean : WK_CHOICE_POOL_valid_mean;
  op.one_const = true;
  op.record_bytes = op.const_bytes = wk_accel_record_bytes(k->net->n, entries);
  if (op.record_bytes > MOST_MEANS)
    return wk_accel_refuse(k, "a mean of %lld taps", (long long)taps);
  uint8_t *record = wk_arena_alloc(k->net->arena, (size_t)op.record_bytes);
  wk_accel_put_mean(record, a->x_zero, a->zero, a->lo, a->hi);
  for (int64_t i = 0; i < entries; i++) {
    wk_rescale r;
    if (!wk_rescale_of(a->factor / (double)(is_mean ? taps : i + 1), &r))
      return wk_accel_refuse(k, "a factor that is out of range");
    wk_accel_put_entry(record, i, 0, r.mult, r.shift);
  }
  op.consts = record;
  return add_pool(k, &op);
}
