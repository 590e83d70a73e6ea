/* SPDX-License-Identifier: Apache-2.0
 * What computes, in random ONNX models. */
#include <stdio.h>

#include "tests/unit/random_onnx.h"

/* ---- element by element ---------------------------------------------------------------------- */

static const struct {
  const char *op;
  int64_t since;
  double in, out; /* the largest operand; the largest result, 0: like the operand */
} unaries[] = {{"Relu", 1, 1e9, 0},       {"Abs", 1, 1e9, 0},      {"Neg", 1, 1e9, 0},
               {"Sigmoid", 1, 1e9, 1},    {"Tanh", 1, 1e9, 1},     {"Erf", 1, 1e9, 1},
               {"Softplus", 1, 1e9, 60},  {"Sin", 1, 1e9, 1},      {"Cos", 1, 1e9, 1},
               {"Exp", 1, 3, 20},         {"Elu", 1, 1e9, 0},      {"LeakyRelu", 1, 1e9, 0},
               {"HardSigmoid", 1, 50, 1}, {"HardSwish", 14, 1e9, 0}, {"Gelu", 20, 1e9, 0},
               {"Identity", 1, 1e9, 0},   {"Selu", 1, 1e9, 0},     {"Softsign", 1, 1e9, 1},
               {"Mish", 18, 1e9, 0},      {"Floor", 1, 1e9, 0},    {"Sign", 1, 1e9, 1},
               {"Dropout", 13, 1e9, 0},   {"Celu", 12, 1e9, 0},    {"Cosh", 1, 3, 11}};

static bool draw_unary(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 0, 5);
  size_t i = (size_t)onnx_int(d, 0, WK_COUNTOF(unaries) - 1);
  if (x < 0 || d->opset < unaries[i].since || d->v[x].most > unaries[i].in) return false;
  onnx_value r = d->v[x];
  if (unaries[i].out > 0) r.most = unaries[i].out;
  onnx_op(d, unaries[i].op, ONNX_IN(x), &r);
  return true;
}

static bool draw_positive_unary(onnx_draw *d) {
  static const char *const ops[] = {"Sqrt", "Log", "Reciprocal"};
  int x = onnx_pick(d, WK_F32, 0, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  r.most += 2;
  onnx_op(d, ops[onnx_int(d, 0, 2)], ONNX_IN(onnx_positive(d, x)), &r);
  return true;
}

/* One that x is computed with: another value, or a constant along axes of known size. */
static int beside(onnx_draw *d, const onnx_value *v) {
  int64_t dims[WK_MAX_RANK];
  if (onnx_chance(d, 60)) {
    int y = onnx_pick_for(d, v, onnx_fits_into);
    if (y >= 0) return y;
  }
  int rank = (int)onnx_int(d, 0, v->rank);
  for (int i = 0; i < rank; i++) {
    const onnx_dim *a = &v->dims[v->rank - rank + i];
    dims[i] = onnx_is_fixed(d, a) && onnx_chance(d, 70) ? a->n[0] : 1;
  }
  return onnx_floats(d, rank, dims, -2, 2);
}

/* Operands in any order. */
static int binary(onnx_draw *d, const char *op, int x, int y, bool may_swap, const onnx_value *r) {
  bool swaps = may_swap && onnx_chance(d, 50);
  return onnx_op(d, op, ONNX_IN(swaps ? y : x, swaps ? x : y), r);
}

static bool draw_binary(onnx_draw *d) {
  static const char *const ops[] = {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"};
  int x = onnx_pick(d, WK_F32, 0, 5);
  if (x < 0) return false;
  int y = beside(d, &d->v[x]);
  const char *op = ops[onnx_int(d, 0, WK_COUNTOF(ops) - 1)];
  onnx_value r = d->v[x];
  r.most = !strcmp(op, "Mul") ? r.most * d->v[y].most : r.most + d->v[y].most;
  binary(d, op, x, y, true, &r);
  return true;
}

static bool draw_division(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 0, 5);
  if (x < 0) return false;
  int y = onnx_positive(d, beside(d, &d->v[x])), way = (int)onnx_int(d, 0, 2);
  onnx_value r = d->v[x];
  r.most *= 2;
  if (way == 0) binary(d, "Div", x, y, false, &r);
  else if (way == 1) binary(d, "PRelu", x, y, false, &r);
  else {
    r.most = d->v[x].most + 2;
    onnx_op(d, "Pow", ONNX_IN(onnx_positive(d, x), onnx_number(d, 0.5)), &r);
  }
  return true;
}

static bool draw_clip(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 0, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  r.most = 1.5;
  onnx_op(d, "Clip", ONNX_IN(x, onnx_number(d, -1), onnx_number(d, 1.5)), &r);
  return true;
}

static bool draw_where(onnx_draw *d) {
  static const char *const ops[] = {"Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
  int x = onnx_pick(d, WK_F32, 0, 5);
  if (x < 0) return false;
  int y = beside(d, &d->v[x]), z = beside(d, &d->v[x]);
  onnx_value r = d->v[x];
  onnx_value near = d->v[y];
  y = onnx_hide(d, onnx_op(d, "Add", ONNX_IN(y, onnx_number(d, 0.0113)), &near));
  r.type = WK_BOOL;
  int test = binary(d, ops[onnx_int(d, 0, 3)], x, y, true, &r);
  if (onnx_chance(d, 30)) return true;
  int other = onnx_chance(d, 30) ? onnx_pick_for(d, &r, onnx_fits_into) : -1;
  if (other >= 0) test = binary(d, onnx_chance(d, 50) ? "And" : "Or", test, other, true, &r);
  if (onnx_chance(d, 20)) test = onnx_op(d, "Not", ONNX_IN(test), &r);
  r.type = WK_F32;
  r.most = d->v[x].most + d->v[z].most;
  bool swaps = onnx_chance(d, 50);
  onnx_op(d, "Where", ONNX_IN(test, swaps ? z : x, swaps ? x : z), &r);
  return true;
}

static bool draw_cast(onnx_draw *d) {
  int x = onnx_pick(d, onnx_chance(d, 50) ? WK_I64 : WK_BOOL, 0, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  r.type = WK_F32;
  r.most = 40;
  onnx_op(d, "Cast", ONNX_IN(x), &r);
  set_int(&d->b, d->node, "to", ELEM_F32);
  return true;
}

/* x by a size of some value. */
static bool draw_by_size(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 0, 5), y = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0 || y < 0) return false;
  int axis = (int)onnx_int(d, 0, d->v[y].rank - 1);
  int n = onnx_shape_of(d, y, axis, axis + 1);
  onnx_value r = d->v[n];
  r.type = WK_F32;
  if (d->v[x].rank == 0) {
    r.rank = 0;
    n = onnx_to_scalar(d, n);
  }
  n = onnx_hide(d, onnx_op(d, "Cast", ONNX_IN(n), &r));
  set_int(&d->b, d->node, "to", ELEM_F32);
  r = d->v[x];
  bool divides = onnx_chance(d, 50) && onnx_least(d, &d->v[y].dims[axis]) > 0;
  if (!divides) r.most *= 10;
  onnx_op(d, divides ? "Div" : "Mul", ONNX_IN(x, n), &r);
  return true;
}

static bool draw_quantise(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x], codes = r;
  codes.type = WK_U8;
  bool is_dynamic = onnx_chance(d, 40);
  int64_t n = 1;
  int axis = (int)onnx_int(d, 0, r.rank - 1), scale, zero = ONNX_NONE, q;
  bool is_along = onnx_is_fixed(d, &r.dims[axis]) && onnx_chance(d, 50) && !is_dynamic;
  if (is_along) n = r.dims[axis].n[0];
  if (is_dynamic) {
    q = onnx_hide(d, onnx_op(d, "DynamicQuantizeLinear", ONNX_IN(x), &codes));
    scale = onnx_hide(d, onnx_more(d, &(onnx_value){.type = WK_F32}));
    zero = onnx_hide(d, onnx_more(d, &(onnx_value){.type = WK_U8}));
  } else {
    scale = onnx_floats(d, is_along, &n, 0.02, 0.5);
    q = onnx_hide(d, onnx_op(d, "QuantizeLinear", ONNX_IN(x, scale), &codes));
    if (is_along) set_int(&d->b, d->node, "axis", axis);
  }
  onnx_op(d, "DequantizeLinear", ONNX_IN(q, scale, zero == ONNX_NONE ? -1 : zero), &r);
  if (is_along) set_int(&d->b, d->node, "axis", axis);
  return true;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Sizes of both that stand before their last two, broadcast. */
static bool batch(const onnx_draw *d, const onnx_value *a, const onnx_value *b, onnx_value *r) {
  int n = (a->rank > b->rank ? a->rank : b->rank) - 2;
  for (int i = 0; i < n; i++) {
    int at_a = i - n + a->rank - 2, at_b = i - n + b->rank - 2;
    const onnx_dim *x = at_a < 0 ? NULL : &a->dims[at_a], *y = at_b < 0 ? NULL : &b->dims[at_b];
    if (!x || (y && onnx_is_one(d, x))) x = y;
    if (y && !onnx_same(d, x, y) && !onnx_is_one(d, y)) return false;
    r->dims[i] = *x;
  }
  r->rank = n + 2;
  return true;
}

static bool multiply(onnx_draw *d, int x, int y) {
  const onnx_value *a = &d->v[x], *b = &d->v[y];
  onnx_value r = {.type = WK_F32};
  if (!onnx_same(d, &a->dims[a->rank - 1], &b->dims[b->rank - 2]) || !batch(d, a, b, &r))
    return false;
  r.dims[r.rank - 2] = a->dims[a->rank - 2];
  r.dims[r.rank - 1] = b->dims[b->rank - 1];
  r.most = a->most * b->most * (double)onnx_most(d, &a->dims[a->rank - 1]);
  onnx_op(d, "MatMul", ONNX_IN(x, y), &r);
  return true;
}

static bool fits_product(const onnx_draw *d, const onnx_value *y, const onnx_value *x) {
  onnx_value r;
  return y->type == WK_F32 && y->rank >= 2 && batch(d, x, y, &r) &&
         onnx_same(d, &x->dims[x->rank - 1], &y->dims[y->rank - 2]);
}

static bool draw_matmul(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 2, 4);
  if (x < 0) return false;
  const onnx_dim *last = &d->v[x].dims[d->v[x].rank - 1], *row = last - 1;
  switch (onnx_int(d, 0, 5)) {
  case 0:
    if (!onnx_is_fixed(d, last)) return false;
    const int64_t dims[] = {last->n[0], onnx_int(d, 1, 4)};
    return multiply(d, x, onnx_floats(d, 2, dims, -1, 1));
  case 1:
    if (!onnx_is_fixed(d, row)) return false;
    const int64_t sides[] = {onnx_int(d, 1, 4), row->n[0]};
    return multiply(d, onnx_floats(d, 2, sides, -1, 1), x);
  case 2: return multiply(d, x, onnx_transpose_last(d, x));
  case 3: return multiply(d, onnx_transpose_last(d, x), x);
  default: {
    int y = onnx_pick_for(d, &d->v[x], fits_product);
    return y >= 0 && multiply(d, x, y);
  }
  }
}

/* A vector as one of the operands. */
static bool draw_matvec(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 4), y = onnx_pick(d, WK_F32, 1, 1);
  if (x < 0 || y < 0) return false;
  onnx_value r = d->v[x];
  bool is_left = r.rank > 1 && onnx_chance(d, 50);
  int axis = is_left ? r.rank - 2 : r.rank - 1;
  if (!onnx_same(d, &r.dims[axis], &d->v[y].dims[0])) return false;
  r.most *= d->v[y].most * (double)onnx_most(d, &r.dims[axis]);
  if (is_left) r.dims[axis] = r.dims[axis + 1];
  r.rank--;
  onnx_op(d, "MatMul", ONNX_IN(is_left ? y : x, is_left ? x : y), &r);
  return true;
}

static bool fits_gemm(const onnx_draw *d, const onnx_value *y, const onnx_value *x) {
  return y->type == WK_F32 && y->rank == 2 && (onnx_same(d, &x->dims[0], &y->dims[0]) ||
         onnx_same(d, &x->dims[0], &y->dims[1]) || onnx_same(d, &x->dims[1], &y->dims[0]) ||
         onnx_same(d, &x->dims[1], &y->dims[1]));
}

static bool draw_gemm(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 2, 2);
  if (x < 0) return false;
  int y = onnx_pick_for(d, &d->v[x], fits_gemm);
  const onnx_dim *a = d->v[x].dims, *b = d->v[y].dims;
  int ta = (int)onnx_int(d, 0, 1), tb = (int)onnx_int(d, 0, 1);
  if (onnx_is_fixed(d, &a[!ta]) && onnx_chance(d, 50)) {
    const int64_t dims[] = {tb ? 3 : a[!ta].n[0], tb ? a[!ta].n[0] : 3};
    y = onnx_floats(d, 2, dims, -1, 1), b = d->v[y].dims;
  }
  if (!onnx_same(d, &a[!ta], &b[tb])) return false;
  const onnx_dim dims[] = {a[ta], b[!tb]};
  onnx_value r = onnx_like(WK_F32, 2, dims);
  int c = onnx_chance(d, 60) ? beside(d, &r) : -1;
  r.most = d->v[x].most * d->v[y].most * (double)onnx_most(d, &a[!ta]) + 3;
  if (c >= 0) r.most += d->v[c].most;
  onnx_op(d, "Gemm", ONNX_IN(x, y, c), &r);
  set_int(&d->b, d->node, "transA", ta);
  set_int(&d->b, d->node, "transB", tb);
  if (onnx_chance(d, 40)) set_float(&d->b, d->node, "alpha", 0.75f);
  if (onnx_chance(d, 40)) set_float(&d->b, d->node, "beta", 0.5f);
  return true;
}

typedef struct { int n; onnx_dim dims[2 * WK_MAX_RANK]; } letters;

/* A letter for each axis of v; one that another axis of that size has, where there is one. */
static void name_axes(onnx_draw *d, const onnx_value *v, letters *l, wk_str *s) {
  uint32_t taken = 0;
  for (int i = 0; i < v->rank; i++) {
    int k = 0;
    while (k < l->n && ((taken >> k & 1) || !onnx_same(d, &l->dims[k], &v->dims[i]) ||
                        onnx_chance(d, 25))) k++;
    if (k == l->n) l->dims[l->n++] = v->dims[i];
    taken |= 1u << k;
    wk_str_printf(s, "%c", 'a' + k);
  }
}

static bool draw_einsum(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 3), y = onnx_pick(d, WK_F32, 1, 3), order[2 * WK_MAX_RANK];
  if (x < 0) return false;
  letters l = {.n = 0};
  wk_str s = {0};
  onnx_value r = {.type = WK_F32, .most = d->v[x].most * d->v[y].most};
  bool is_alone = onnx_chance(d, 15);
  name_axes(d, &d->v[x], &l, &s);
  if (!is_alone) wk_str_printf(&s, ","), name_axes(d, &d->v[y], &l, &s);
  wk_str_printf(&s, "->");
  for (int i = 0; i < l.n; i++) {
    int k = (int)onnx_int(d, 0, i);
    order[i] = order[k], order[k] = i;
  }
  for (int i = 0; i < l.n; i++) {
    if (r.rank < 4 && onnx_chance(d, 55)) {
      wk_str_printf(&s, "%c", 'a' + order[i]);
      r.dims[r.rank++] = l.dims[order[i]];
    } else {
      r.most *= (double)onnx_most(d, &l.dims[order[i]]);
    }
  }
  onnx_op(d, "Einsum", ONNX_IN(x, is_alone ? -1 : y), &r);
  set_text(&d->b, d->node, "equation", s.s);
  wk_str_free(&s);
  return true;
}

/* ---- along axes ------------------------------------------------------------------------------ */

static bool draw_reduce(onnx_draw *d) {
  static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                                    "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
                                    "ReduceSumSquare", "ReduceProd", "ReduceSum", "ReduceMean"};
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return false;
  const char *op = ops[onnx_int(d, 0, WK_COUNTOF(ops) - 1)];
  uint32_t axes = (uint32_t)onnx_int(d, 1, (1 << d->v[x].rank) - 1);
  double n = 1, most = d->v[x].most;
  for (int i = 0; i < d->v[x].rank; i++)
    if (axes >> i & 1) n *= (double)onnx_most(d, &d->v[x].dims[i]);
  if (!strcmp(op, "ReduceLogSum")) x = onnx_positive(d, x);
  if (!strcmp(op, "ReduceProd") && (most > 2 || n > 6)) return false;
  if (!strcmp(op, "ReduceProd")) most = 64;
  else if (!strcmp(op, "ReduceSumSquare")) most *= most * n;
  else if (!strstr("ReduceMean ReduceMax ReduceMin", op)) most *= n;
  onnx_reduce(d, op, x, axes, onnx_chance(d, 50), most);
  return true;
}

static bool draw_arg(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axis = (int)onnx_int(d, 0, r.rank - 1), rank = r.rank, n = 0;
  bool keeps = onnx_chance(d, 50);
  if (r.dims[axis].data) return false;
  r.type = WK_I64, r.is_index = true, r.is_signed = false, r.below = r.dims[axis], r.rank = 0;
  for (int i = 0; i < rank; i++)
    if (i != axis || keeps) {
      const onnx_dim a = d->v[x].dims[i];
      r.dims[n++] = i == axis ? onnx_fixed(1) : a;
    }
  r.rank = n;
  x = onnx_untied(d, x, axis);
  onnx_op(d, onnx_chance(d, 50) ? "ArgMax" : "ArgMin", ONNX_IN(x), &r);
  set_int(&d->b, d->node, "axis", onnx_chance(d, 30) ? axis - rank : axis);
  set_int(&d->b, d->node, "keepdims", keeps);
  if (onnx_chance(d, 5)) set_int(&d->b, d->node, "select_last_index", 1);
  return true;
}

static bool draw_softmax(onnx_draw *d) {
  static const char *const ops[] = {"Softmax", "Softmax", "LogSoftmax", "Hardmax",
                                    "LpNormalization"};
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  const char *op = ops[onnx_int(d, 0, WK_COUNTOF(ops) - 1)];
  r.most = !strcmp(op, "LogSoftmax") ? 2 * r.most + 4 : 1;
  if (!strcmp(op, "LpNormalization")) x = onnx_positive(d, x); /* no division by 0 */
  int axis = (int)onnx_int(d, -r.rank, r.rank - 1);
  if (!strcmp(op, "Hardmax")) x = onnx_untied(d, x, axis < 0 ? axis + r.rank : axis);
  onnx_op(d, op, ONNX_IN(x), &r);
  if (axis != -1 || onnx_chance(d, 50)) set_int(&d->b, d->node, "axis", axis);
  return true;
}

static bool draw_cum_sum(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axis = (int)onnx_int(d, 0, r.rank - 1);
  r.most *= (double)onnx_most(d, &r.dims[axis]);
  onnx_op(d, "CumSum", ONNX_IN(x, onnx_scalar(d, onnx_chance(d, 50) ? axis : axis - r.rank)), &r);
  if (onnx_chance(d, 30)) set_int(&d->b, d->node, "exclusive", 1);
  if (onnx_chance(d, 30)) set_int(&d->b, d->node, "reverse", 1);
  return true;
}

static int row_of(onnx_draw *d, const onnx_dim *a, double lo, double hi) {
  return onnx_floats(d, 1, a->n, lo, hi);
}

static bool draw_norm(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 1, 5);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  const onnx_dim *last = &r.dims[r.rank - 1];
  bool is_layer = onnx_chance(d, 60) && d->opset >= 17;
  if (is_layer) {
    if (!onnx_is_fixed(d, last) || last->n[0] < 2) return false;
    r.most = 6;
    onnx_op(d, "LayerNormalization",
            ONNX_IN(x, row_of(d, last, 0.5, 2), row_of(d, last, -1, 1)), &r);
    set_float(&d->b, d->node, "epsilon", 0.05f); /* rows may be of one number */
    return true;
  }
  if (r.rank < 2 || !onnx_is_fixed(d, &r.dims[1])) return false;
  const onnx_dim *c = &r.dims[1];
  r.most = r.most * 2 + 6;
  onnx_op(d, "BatchNormalization",
          ONNX_IN(x, row_of(d, c, 0.5, 1), row_of(d, c, -1, 1), row_of(d, c, -1, 1),
                  row_of(d, c, 0.5, 2)), &r);
  return true;
}

/* ---- windows --------------------------------------------------------------------------------- */

typedef struct { int64_t kernel[2], stride[2], dilation[2], pads[4]; } window;

static window draw_window(onnx_draw *d, bool dilates) {
  window w;
  for (int i = 0; i < 2; i++) {
    w.kernel[i] = onnx_int(d, 1, 3);
    w.stride[i] = onnx_chance(d, 60) ? 1 : 2;
    w.dilation[i] = dilates && onnx_chance(d, 20) ? 2 : 1;
    for (int k = 0; k < 2; k++)
      w.pads[i + k * 2] = onnx_chance(d, 60) ? onnx_int(d, 0, w.kernel[i] - 1) : 0;
  }
  return w;
}

static void set_window(onnx_draw *d, window w, int axes) {
  const int64_t pads[] = {w.pads[0], w.pads[2]};
  set_ints(&d->b, d->node, "kernel_shape", (size_t)axes, w.kernel);
  set_ints(&d->b, d->node, "strides", (size_t)axes, w.stride);
  if (w.dilation[0] * w.dilation[1] > 1)
    set_ints(&d->b, d->node, "dilations", (size_t)axes, w.dilation);
  set_ints(&d->b, d->node, "pads", (size_t)axes * 2, axes == 1 ? pads : w.pads);
}

/* An image with a known number of channels and 1 or 2 axes behind. */
static int draw_image(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 2, 4);
  if (x < 0) return -1;
  const onnx_value *v = &d->v[x];
  if (v->rank == 2 || (v->rank == 3 && (!onnx_is_fixed(d, &v->dims[1]) || onnx_chance(d, 30))))
    return onnx_unsqueeze(d, x, 1);
  return onnx_is_fixed(d, &v->dims[1]) ? x : -1;
}

/* Windows along an axis of n: false where there is none in some run. */
static bool slide(const onnx_draw *d, onnx_dim *n, window w, int i, bool ceils) {
  int64_t before = w.pads[i], pad = before + w.pads[i + 2];
  int64_t reach = (w.kernel[i] - 1) * w.dilation[i] + 1, s = w.stride[i];
  if (n->data) return false;
  for (int k = 0; k < d->runs; k++) {
    int64_t span = n->n[k] + pad - reach;
    if (span < 0) return false;
    int64_t count = (span + (ceils ? s - 1 : 0)) / s + 1;
    if (ceils && (count - 1) * s >= n->n[k] + before) count--;
    n->n[k] = count;
  }
  return true;
}

static bool draw_conv(onnx_draw *d) {
  int x = draw_image(d);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axes = r.rank - 2;
  window w = draw_window(d, true);
  int64_t c = r.dims[1].n[0], group = onnx_chance(d, 30) ? c : 1;
  const int64_t dims[] = {group * onnx_int(d, 1, 2), c / group, w.kernel[0], w.kernel[1]};
  for (int i = 0; i < axes; i++)
    if (!slide(d, &r.dims[2 + i], w, i, false)) return false;
  r.dims[1] = onnx_fixed(dims[0]);
  r.most *= (double)(c * w.kernel[0] * w.kernel[1]);
  int bias = onnx_chance(d, 50) ? onnx_floats(d, 1, dims, -1, 1) : -1;
  onnx_op(d, "Conv", ONNX_IN(x, onnx_floats(d, r.rank, dims, -1, 1), bias), &r);
  set_window(d, w, axes);
  if (group > 1) set_int(&d->b, d->node, "group", group);
  return true;
}

static bool draw_conv_transpose(onnx_draw *d) {
  int x = draw_image(d);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axes = r.rank - 2;
  window w = draw_window(d, true);
  int64_t more[2] = {0};
  const int64_t dims[] = {r.dims[1].n[0], onnx_int(d, 1, 3), w.kernel[0], w.kernel[1]};
  for (int i = 0; i < axes; i++) {
    if (w.stride[i] > 1 && onnx_chance(d, 50)) more[i] = 1;
    int64_t end = (w.kernel[i] - 1) * w.dilation[i] + 1 - w.pads[i] - w.pads[i + 2] + more[i];
    if (r.dims[2 + i].data) return false;
    for (int k = 0; k < d->runs; k++)
      r.dims[2 + i].n[k] = (r.dims[2 + i].n[k] - 1) * w.stride[i] + end;
  }
  r.dims[1] = onnx_fixed(dims[1]);
  r.most *= (double)(dims[0] * w.kernel[0] * w.kernel[1]);
  onnx_op(d, "ConvTranspose", ONNX_IN(x, onnx_floats(d, r.rank, dims, -1, 1)), &r);
  set_window(d, w, axes);
  if (more[0] + more[1]) set_ints(&d->b, d->node, "output_padding", (size_t)axes, more);
  return true;
}

static bool draw_pool(onnx_draw *d) {
  int x = draw_image(d), way = (int)onnx_int(d, 0, 2);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  int axes = r.rank - 2;
  window w = draw_window(d, way == 0 || d->opset >= 19);
  bool ceils = way < 2 && onnx_chance(d, 30);
  for (int i = 0; i < axes; i++)
    if (!slide(d, &r.dims[2 + i], w, i, ceils)) return false;
  if (way == 2) r.most *= (double)(w.kernel[0] * w.kernel[1]);
  if (way == 2 && d->opset < 18) w.dilation[0] = w.dilation[1] = 1;
  onnx_op(d, way == 0 ? "MaxPool" : way == 1 ? "AveragePool" : "LpPool", ONNX_IN(x), &r);
  set_window(d, w, axes);
  if (ceils) set_int(&d->b, d->node, "ceil_mode", 1);
  if (way == 1 && onnx_chance(d, 50)) set_int(&d->b, d->node, "count_include_pad", 1);
  return true;
}

static bool draw_global_pool(onnx_draw *d) {
  int x = onnx_pick(d, WK_F32, 3, 4);
  if (x < 0) return false;
  onnx_value r = d->v[x];
  for (int i = 2; i < r.rank; i++) r.dims[i] = onnx_fixed(1);
  onnx_op(d, onnx_chance(d, 50) ? "GlobalAveragePool" : "GlobalMaxPool", ONNX_IN(x), &r);
  return true;
}

/* ---- recurrence ------------------------------------------------------------------------------ */

static bool draw_recurrence(onnx_draw *d) {
  static const char *const ops[] = {"RNN", "GRU", "LSTM"}, *const ways[] = {"forward", "reverse",
                                                                           "bidirectional"};
  int x = onnx_pick(d, WK_F32, 3, 3), op = (int)onnx_int(d, 0, 2), way = (int)onnx_int(d, 0, 2);
  if (x < 0 || !onnx_is_fixed(d, &d->v[x].dims[2])) return false;
  const onnx_dim *t = d->v[x].dims;
  int64_t gates = op == 0 ? 1 : op == 1 ? 3 : 4, h = onnx_int(d, 1, 3), n = way == 2 ? 2 : 1;
  const int64_t w[] = {n, gates * h, t[2].n[0]}, r[] = {n, gates * h, h}, b[] = {n, 2 * gates * h};
  const onnx_dim y[] = {t[0], onnx_fixed(n), t[1], onnx_fixed(h)};
  int bias = onnx_chance(d, 50) ? onnx_floats(d, 2, b, -1, 1) : -1;
  onnx_value all = onnx_like(WK_F32, 4, y), last = onnx_like(WK_F32, 3, &y[1]);
  onnx_op(d, ops[op], ONNX_IN(x, onnx_floats(d, 3, w, -1, 1), onnx_floats(d, 3, r, -1, 1), bias),
          &all);
  if (onnx_chance(d, 70)) onnx_more(d, &last);
  set_text(&d->b, d->node, "direction", ways[way]);
  set_int(&d->b, d->node, "hidden_size", h);
  if (op == 1 && onnx_chance(d, 50)) set_int(&d->b, d->node, "linear_before_reset", 1);
  return true;
}

const onnx_step onnx_math_steps[] = {{"unary", draw_unary, 8},
                                     {"positive unary", draw_positive_unary, 2},
                                     {"binary", draw_binary, 10},
                                     {"division", draw_division, 3},
                                     {"Clip", draw_clip, 1},
                                     {"Where", draw_where, 5},
                                     {"Cast", draw_cast, 2},
                                     {"by size", draw_by_size, 3},
                                     {"quantise", draw_quantise, 3},
                                     {"MatMul", draw_matmul, 8},
                                     {"MatMul of a vector", draw_matvec, 2},
                                     {"Gemm", draw_gemm, 4},
                                     {"Einsum", draw_einsum, 5},
                                     {"reduce", draw_reduce, 8},
                                     {"ArgMax", draw_arg, 4},
                                     {"Softmax", draw_softmax, 5},
                                     {"CumSum", draw_cum_sum, 3},
                                     {"normalise", draw_norm, 4},
                                     {"Conv", draw_conv, 6},
                                     {"ConvTranspose", draw_conv_transpose, 4},
                                     {"pool", draw_pool, 5},
                                     {"global pool", draw_global_pool, 2},
                                     {"recurrence", draw_recurrence, 3},
                                     {NULL, NULL, 0}};
