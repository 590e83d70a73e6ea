/* SPDX-License-Identifier: Apache-2.0
 * Expressions written out as elementwise ONNX nodes, one or a few for each step. */
#include <string.h>

#include "compiler/onnx/export/export.h"

/* Operations that ONNX has under one name for every type they occur with here. */
static const char *const direct[WK_EX_COUNT] = {
  [WK_EX_NEG] = "Neg", [WK_EX_ABS] = "Abs", [WK_EX_SIGN] = "Sign", [WK_EX_FLOOR] = "Floor",
  [WK_EX_CEIL] = "Ceil", [WK_EX_ROUND] = "Round", [WK_EX_SQRT] = "Sqrt", [WK_EX_EXP] = "Exp",
  [WK_EX_LOG] = "Log", [WK_EX_SIN] = "Sin", [WK_EX_COS] = "Cos", [WK_EX_TAN] = "Tan",
  [WK_EX_ASIN] = "Asin", [WK_EX_ACOS] = "Acos", [WK_EX_ATAN] = "Atan", [WK_EX_SINH] = "Sinh",
  [WK_EX_COSH] = "Cosh", [WK_EX_ASINH] = "Asinh", [WK_EX_ACOSH] = "Acosh",
  [WK_EX_ATANH] = "Atanh", [WK_EX_TANH] = "Tanh", [WK_EX_ERF] = "Erf", [WK_EX_IS_NAN] = "IsNaN",
  [WK_EX_IS_INF] = "IsInf", [WK_EX_ADD] = "Add", [WK_EX_SUB] = "Sub", [WK_EX_MUL] = "Mul",
  [WK_EX_DIV] = "Div", [WK_EX_POW] = "Pow", [WK_EX_MIN] = "Min", [WK_EX_MAX] = "Max",
  [WK_EX_EQ] = "Equal", [WK_EX_LT] = "Less", [WK_EX_LE] = "LessOrEqual", [WK_EX_GT] = "Greater",
  [WK_EX_GE] = "GreaterOrEqual", [WK_EX_SELECT] = "Where",
};

/* Positions along an axis of the iteration space, shaped to broadcast. */
static const char *index_constant(wk_export_graph *x, int64_t axis, const wk_type *space) {
  int64_t n = axis < space->rank ? space->dims[axis] : 1, dims[WK_MAX_RANK] = {0};
  int64_t *v = wk_arena_alloc(x->arena, (size_t)n * sizeof *v);
  int rank = axis < space->rank ? space->rank - (int)axis : 0;
  for (int64_t i = 0; i < n; i++) v[i] = i;
  for (int i = 0; i < rank; i++) dims[i] = i == 0 ? n : 1;
  wk_type t = wk_type_make(WK_I64, rank, dims);
  return wk_export_constant(x, &t, v);
}

/* An operator of the own domain. */
static const char *own(wk_export_graph *x, const char *op, const char *const arg[3],
                       const char *out) {
  out = wk_export_3(x, op, arg[0], arg[1], arg[2], out);
  wk_export_last(x)->domain = wk_arena_strdup(x->arena, WK_ONNX_OWN_DOMAIN);
  *x->uses_own_domain = true;
  return out;
}

/* Narrow types, and bits as another type, are younger than the opset written: own domain. */
static const char *own_cast(wk_export_graph *x, const char *op, const char *a, wk_dtype t,
                            const char *out) {
  out = own(x, op, (const char *const[]){a, "", ""}, out);
  wk_export_text(x, "to", wk_dtype_name(t));
  return out;
}

static const char *cast(wk_export_graph *x, const char *a, wk_dtype from, wk_dtype t,
                        const char *out) {
  if (wk_dtype_is_narrow(from) || wk_dtype_is_narrow(t)) return own_cast(x, "cast", a, t, out);
  out = wk_export_1(x, "Cast", a, out);
  wk_export_int(x, "to", wk_onnx_elem_number(t));
  return out;
}

static wk_scalar integer(int64_t v) { return (wk_scalar){.i = v}; }

/* Smallest and largest value of an integer type, as far as they fit in `in`. */
static void limits(wk_dtype t, wk_dtype in, int64_t *lo, int64_t *hi) {
  static const int bits[WK_DTYPE_COUNT] = {
      [WK_I8] = 7, [WK_I16] = 15, [WK_I32] = 31, [WK_I64] = 63,
      [WK_U8] = 8, [WK_U16] = 16, [WK_U32] = 32, [WK_U64] = 63};
  int own = bits[t], room = bits[in];
  bool is_signed = wk_dtype_is_signed(t) && wk_dtype_is_signed(in);
  int n = own < room ? own : room;
  *hi = n >= 63 ? INT64_MAX : ((int64_t)1 << n) - 1;
  *lo = is_signed ? -*hi - 1 : 0;
}

static const char *saturate(wk_export_graph *x, const char *a, wk_dtype from, wk_dtype to,
                            const char *out) {
  int64_t lo, hi;
  limits(to, from, &lo, &hi);
  a = wk_export_3(x, "Clip", a, wk_export_scalar(x, from, integer(lo)),
                  wk_export_scalar(x, from, integer(hi)), NULL);
  return cast(x, a, from, to, out);
}

/* Towards zero: down for what is positive, up for the rest. */
static const char *truncate(wk_export_graph *x, const char *a, wk_dtype t, const char *out) {
  const char *below = wk_export_2(x, "Less", a, wk_export_scalar(x, t, (wk_scalar){.f = 0}), NULL);
  return wk_export_3(x, "Where", below, wk_export_1(x, "Ceil", a, NULL),
                     wk_export_1(x, "Floor", a, NULL), out);
}

static const char *remainder_of(wk_export_graph *x, const char *a, const char *b,
                                const char *out) {
  out = wk_export_2(x, "Mod", a, b, out);
  wk_export_int(x, "fmod", 1);
  return out;
}

/* Sign of the divisor. ONNX's Mod of floats is C's: one divisor more where the signs differ. */
static const char *modulo(wk_export_graph *x, const char *a, const char *b, wk_dtype t,
                          const char *out) {
  if (!wk_dtype_is_float(t)) return wk_export_2(x, "Mod", a, b, out);
  const char *zero = wk_export_scalar(x, t, (wk_scalar){.f = 0});
  const char *r = remainder_of(x, a, b, NULL);
  const char *differ = wk_export_2(x, "Xor", wk_export_2(x, "Less", r, zero, NULL),
                                   wk_export_2(x, "Less", b, zero, NULL), NULL);
  const char *some = wk_export_1(x, "Not", wk_export_2(x, "Equal", r, zero, NULL), NULL);
  return wk_export_3(x, "Where", wk_export_2(x, "And", differ, some, NULL),
                     wk_export_2(x, "Add", r, b, NULL), r, out);
}

/* Logic and bits. Bitwise operators are younger than the opset written: own domain. */
static const char *logic(wk_export_graph *x, wk_expr_op op, wk_dtype t, const char *a,
                         const char *b, const char *out) {
  static const char *const of_bools[] = {"Not", "And", "Or", "Xor"};
  static const char *const of_bits[] = {"bit_not", "bit_and", "bit_or", "bit_xor"};
  int k = op == WK_EX_NOT ? 0 : op == WK_EX_AND ? 1 : op == WK_EX_OR ? 2 : 3;
  if (t == WK_BOOL) return wk_export_2(x, of_bools[k], a, b, out);
  return own(x, of_bits[k], (const char *const[]){a, b, ""}, out);
}

static const char *shift(wk_export_graph *x, wk_expr_op op, wk_dtype t, const char *a,
                         const char *b, const char *out) {
  static const char *const names[WK_EX_COUNT] = {[WK_EX_SHL] = "shift_left",
                                                 [WK_EX_SHR] = "shift_right",
                                                 [WK_EX_SHR_ROUND] = "shift_right_round"};
  if (wk_dtype_is_unsigned(t) && op != WK_EX_SHR_ROUND) {
    out = wk_export_2(x, "BitShift", a, b, out);
    wk_export_text(x, "direction", op == WK_EX_SHL ? "LEFT" : "RIGHT");
    return out;
  }
  return own(x, names[op], (const char *const[]){a, b, ""}, out);
}

/* Node i of e; its arguments have names already. */
static const char *write_step(wk_export_graph *x, const wk_expr *e, uint32_t i,
                              const char *const *names, const char *out) {
  const wk_expr_node *n = &e->nodes[i];
  int arity = wk_expr_op_arity(n->op);
  const char *arg[3] = {"", "", ""};
  for (int k = 0; k < arity; k++) arg[k] = names[n->arg[k]];
  wk_dtype t = arity ? e->nodes[n->arg[0]].dtype : n->dtype;
  switch (n->op) {
    case WK_EX_CAST: return cast(x, arg[0], t, n->dtype, out);
    case WK_EX_BITS: return own_cast(x, "bitcast", arg[0], n->dtype, out);
    case WK_EX_SAT: return saturate(x, arg[0], t, n->dtype, out);
    case WK_EX_TRUNC: return truncate(x, arg[0], t, out);
    case WK_EX_MOD: return modulo(x, arg[0], arg[1], t, out);
    case WK_EX_FMOD: return remainder_of(x, arg[0], arg[1], out);
    case WK_EX_NE: return wk_export_1(x, "Not", wk_export_2(x, "Equal", arg[0], arg[1], NULL), out);
    case WK_EX_NOT: case WK_EX_AND: case WK_EX_OR: case WK_EX_XOR:
      return logic(x, n->op, t, arg[0], arg[1], out);
    case WK_EX_SHL: case WK_EX_SHR: case WK_EX_SHR_ROUND:
      return shift(x, n->op, t, arg[0], arg[1], out);
    case WK_EX_RESCALE: return own(x, "rescale", arg, out);
    default: return wk_export_3(x, direct[n->op], arg[0], arg[1], arg[2], out);
  }
}

void wk_export_expr(wk_export_graph *x, const wk_expr *e, const char *const *in,
                    const char *const *out, const wk_type *space) {
  const char **names = wk_arena_alloc(x->arena, e->n * sizeof *names);
  const char **wanted = wk_arena_alloc(x->arena, e->n * sizeof *wanted);
  for (uint32_t r = 0; r < e->n_results; r++) {
    if (!wanted[e->results[r]]) wanted[e->results[r]] = out[r];
  }
  for (uint32_t i = 0; i < e->n; i++) {
    const wk_expr_node *n = &e->nodes[i];
    bool is_leaf = n->op == WK_EX_INPUT || n->op == WK_EX_CONST || n->op == WK_EX_INDEX;
    if (!is_leaf) {
      names[i] = write_step(x, e, i, names, wanted[i]);
    } else if (n->op == WK_EX_INPUT) {
      names[i] = in[n->imm.i];
    } else if (n->op == WK_EX_INDEX) {
      names[i] = index_constant(x, n->imm.i, space);
    } else {
      wk_scalar v = wk_dtype_is_float(n->dtype) ? (wk_scalar){.f = n->imm.f} : integer(n->imm.i);
      names[i] = wk_export_scalar(x, n->dtype, v);
    }
  }
  for (uint32_t r = 0; r < e->n_results; r++) { /* leaves and repeated results need a copy */
    const char *have = names[e->results[r]];
    if (strcmp(have, out[r]) != 0) wk_export_1(x, "Identity", have, out[r]);
  }
}
