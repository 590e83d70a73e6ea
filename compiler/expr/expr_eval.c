/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of expressions. There is one implementation, over columns of up to WK_EXPR_BLOCK
 * wk_scalar: a node's kernel computes in double or 64-bit integers, then the column is rounded or
 * wrapped to the node's dtype. A single element is a block of one: both ways agree bit for bit. */
#include <string.h>

#include "compiler/expr/scalar.h"

/* ---- one operation --------------------------------------------------------------------------- */

static void round_column(wk_scalar *y, wk_dtype t, int n) {
  if (t == WK_F32) COLUMN_LOOP(y[i].f = (double)(float)y[i].f;)
  if (t == WK_F16) COLUMN_LOOP(y[i].f = wk_round_f16(y[i].f);)
  if (t == WK_BF16) COLUMN_LOOP(y[i].f = wk_round_bf16(y[i].f);)
  if (wk_dtype_is_narrow(t)) COLUMN_LOOP(y[i].f = wk_round_float(y[i].f, t);)
}

static void wrap_column(wk_scalar *y, wk_dtype t, int n) {
  if (t == WK_I64 || t == WK_U64) return;
  if (t == WK_I32) COLUMN_LOOP(y[i].i = (int32_t)y[i].i;)
  else COLUMN_LOOP(y[i].i = wk_wrap_int(y[i].i, t);)
}

/* Float to a signed or narrow integer: the limits are exact in a double but for i64, whose upper
 * one becomes 2^63 and is never converted. */
static void truncate_column(const wk_scalar *a, wk_scalar *y, wk_dtype to, int n) {
  int64_t lo, hi;
  wk_int_range(to, &lo, &hi);
  double least = (double)lo, most = (double)hi;
  for (int i = 0; i < n; i++) {
    double v = a[i].f;
    y[i].i = v > least ? v < most ? (int64_t)v : hi : v <= least ? lo : 0;
  }
}

static void cast_column(const wk_scalar *a, wk_scalar *y, wk_dtype from, wk_dtype to, int n) {
  bool real_from = wk_dtype_is_float(from), real_to = wk_dtype_is_float(to);
  if (real_from && real_to) {
    memcpy(y, a, (size_t)n * sizeof *y);
    round_column(y, to, n);
  } else if (real_from && to != WK_BOOL && to != WK_U64 && !wk_dtype_is_narrow(to)) {
    truncate_column(a, y, to, n);
  } else if (real_to && from != WK_I64 && from != WK_U64) { /* exact in a double */
    for (int i = 0; i < n; i++) y[i].f = (double)a[i].i;
    round_column(y, to, n);
  } else {
    for (int i = 0; i < n; i++) y[i] = wk_scalar_cast(a[i], from, to);
  }
}

static void saturate_column(const wk_scalar *a, wk_scalar *y, wk_dtype from, wk_dtype to, int n) {
  int64_t lo, hi;
  wk_int_range(to, &lo, &hi);
  for (int i = 0; i < n; i++) {
    int64_t v = a[i].i;
    if (from == WK_U64) y[i].i = to != WK_U64 && (uint64_t)v > (uint64_t)hi ? hi : v;
    else y[i].i = v < lo ? lo : v > hi ? hi : v;
  }
}

static void apply_column(wk_expr_op op, wk_dtype from, wk_dtype to, const wk_scalar *a,
                         const wk_scalar *b, const wk_scalar *c, wk_scalar *y, int n) {
  if (op == WK_EX_CAST) {
    cast_column(a, y, from, to, n);
  } else if (op == WK_EX_BITS) {
    for (int i = 0; i < n; i++) y[i] = wk_scalar_bits(a[i], from, to);
  } else if (op == WK_EX_SAT) {
    saturate_column(a, y, from, to, n);
  } else if (op == WK_EX_SELECT) {
    for (int i = 0; i < n; i++) y[i] = a[i].i ? b[i] : c[i];
  } else if (op == WK_EX_RESCALE) {
    for (int i = 0; i < n; i++) y[i].i = wk_scalar_rescale(a[i].i, b[i].i, c[i].i);
  } else {
    const wk_expr_rule *rule = wk_expr_rule_get(op);
    wk_expr_kernel kernel = wk_dtype_is_float(from) ? rule->real
                            : from == WK_U64        ? rule->integer_u64
                                                    : rule->integer;
    kernel(a, b, y, n, 8 * wk_dtype_size(from));
    if (!wk_dtype_is_float(to)) wrap_column(y, to, n);
    else if (!rule->is_exact) round_column(y, to, n);
  }
}

wk_scalar wk_expr_apply(wk_expr_op op, wk_dtype arg_dtype, wk_dtype result_dtype, wk_scalar a,
                        wk_scalar b, wk_scalar c) {
  wk_scalar y;
  apply_column(op, arg_dtype, result_dtype, &a, &b, &c, &y, 1);
  return y;
}

static const char *refused(char buf[64], wk_expr_op op, const char *why) {
  snprintf(buf, 64, "%s %s", wk_expr_op_name(op), why);
  return buf;
}

const char *wk_expr_refusal(wk_expr_op op, const wk_dtype *args, char buf[64]) {
  if (op == WK_EX_CAST || op == WK_EX_BITS || wk_expr_op_arity(op) == 0) return NULL;
  if (op == WK_EX_SAT)
    return wk_dtype_is_int(args[0]) && !wk_dtype_is_narrow(args[0])
               ? NULL : refused(buf, op, "needs an integer");
  if (op == WK_EX_SELECT) {
    if (args[0] != WK_BOOL) return refused(buf, op, "needs a bool condition");
    return args[1] == args[2] ? NULL : refused(buf, op, "needs arms of one type");
  }
  if (op == WK_EX_RESCALE) {
    if (!wk_dtype_is_int(args[0])) return refused(buf, op, "needs an integer");
    bool fits = args[1] == WK_I64 && args[2] == WK_I64;
    return fits ? NULL : refused(buf, op, "needs a multiplier and a shift of i64");
  }
  if (wk_expr_op_arity(op) == 2 && args[0] != args[1]) {
    snprintf(buf, 64, "%s needs arguments of one type, not %s and %s", wk_expr_op_name(op),
             wk_dtype_name(args[0]), wk_dtype_name(args[1]));
    return buf;
  }
  const wk_expr_rule *rule = wk_expr_rule_get(op);
  bool ok = wk_dtype_is_narrow(args[0])  ? false
            : wk_dtype_is_float(args[0]) ? rule->real != NULL
            : args[0] == WK_BOOL       ? rule->takes_bool
                                       : rule->integer != NULL;
  bool rounds = !rule->is_exact && wk_compute_dtype(args[0]) != args[0];
  if (ok && !rounds) return NULL;
  snprintf(buf, 64, "%s is not defined for %s", wk_expr_op_name(op), wk_dtype_name(args[0]));
  return buf;
}

/* ---- loading and storing columns ------------------------------------------------------------- */

#define LOAD_AS(ctype, member)                                                       \
  for (int i = 0; i < n; i++) y[i].member = ((const ctype *)data)[(int64_t)i * stride]
#define STORE_AS(ctype, member) \
  for (int i = 0; i < n; i++) ((ctype *)data)[(int64_t)i * stride] = (ctype)v[i].member

static void load_column(wk_scalar *restrict y, const void *restrict data, wk_dtype t,
                        int64_t stride, int n) {
  if (t == WK_F32 && stride == 1) {
    const float *x = data;
    COLUMN_LOOP(y[i].f = (double)x[i];)
    return;
  }
  switch (t) {
    case WK_F32: LOAD_AS(float, f); break;
    case WK_F64: LOAD_AS(double, f); break;
    case WK_I8: LOAD_AS(int8_t, i); break;
    case WK_U8: LOAD_AS(uint8_t, i); break;
    case WK_I32: LOAD_AS(int32_t, i); break;
    case WK_I64: LOAD_AS(int64_t, i); break;
    default: {
      int64_t step = stride * wk_dtype_size(t);
      for (int i = 0; i < n; i++) y[i] = wk_scalar_load((const char *)data + i * step, t);
    }
  }
}

static void store_column(void *restrict data, wk_dtype t, int64_t stride,
                         const wk_scalar *restrict v, int n) {
  if (t == WK_F32 && stride == 1) {
    float *y = data;
    COLUMN_LOOP(y[i] = (float)v[i].f;)
    return;
  }
  switch (t) {
    case WK_F32: STORE_AS(float, f); break;
    case WK_F64: STORE_AS(double, f); break;
    case WK_I8:
    case WK_U8:
    case WK_BOOL: STORE_AS(uint8_t, i); break;
    case WK_I32: STORE_AS(int32_t, i); break;
    case WK_I64: STORE_AS(int64_t, i); break;
    default: {
      int64_t step = stride * wk_dtype_size(t);
      for (int i = 0; i < n; i++) wk_scalar_store((char *)data + i * step, t, v[i]);
    }
  }
}

/* ---- whole expressions ----------------------------------------------------------------------- */

void wk_expr_eval(const wk_expr *e, const wk_scalar *inputs, const int64_t *index,
                  wk_scalar *scratch, wk_scalar *results) {
  for (uint32_t i = 0; i < e->n; i++) {
    const wk_expr_node *x = &e->nodes[i];
    switch (x->op) {
      case WK_EX_INPUT: scratch[i] = inputs[x->imm.i]; break;
      case WK_EX_INDEX: scratch[i].i = index[x->imm.i]; break;
      case WK_EX_CONST:
        if (wk_dtype_is_float(x->dtype)) scratch[i].f = x->imm.f;
        else scratch[i].i = x->imm.i;
        break;
      default:
        scratch[i] = wk_expr_apply(x->op, e->nodes[x->arg[0]].dtype, x->dtype, scratch[x->arg[0]],
                                   scratch[x->arg[1]], scratch[x->arg[2]]);
    }
  }
  for (uint32_t r = 0; r < e->n_results; r++) results[r] = scratch[e->results[r]];
}

size_t wk_expr_block_scratch(const wk_expr *e) { return (size_t)e->n * WK_EXPR_BLOCK; }

void wk_expr_block_begin(const wk_expr *e, wk_scalar *scratch) {
  for (uint32_t k = 0; k < e->n; k++) {
    const wk_expr_node *x = &e->nodes[k];
    if (x->op != WK_EX_CONST) continue;
    wk_scalar v;
    if (wk_dtype_is_float(x->dtype)) v.f = x->imm.f;
    else v.i = x->imm.i;
    for (int i = 0; i < WK_EXPR_BLOCK; i++) scratch[(size_t)k * WK_EXPR_BLOCK + (size_t)i] = v;
  }
}

void wk_expr_eval_block(const wk_expr *e, const void *const *inputs, const int64_t *in_strides,
                        const int64_t *const *index, int n, wk_scalar *scratch,
                        void *const *results, const int64_t *out_strides) {
  wk_assert(n >= 0 && n <= WK_EXPR_BLOCK);
#define COLUMN(k) (scratch + (size_t)(k) * WK_EXPR_BLOCK)
  for (uint32_t k = 0; k < e->n; k++) {
    const wk_expr_node *x = &e->nodes[k];
    switch (x->op) {
      case WK_EX_CONST: break;
      case WK_EX_INPUT: {
        int64_t stride = in_strides ? in_strides[x->imm.i] : 1;
        load_column(COLUMN(k), inputs[x->imm.i], x->dtype, stride, n);
        break;
      }
      case WK_EX_INDEX: load_column(COLUMN(k), index[x->imm.i], WK_I64, 1, n); break;
      default:
        apply_column(x->op, e->nodes[x->arg[0]].dtype, x->dtype, COLUMN(x->arg[0]),
                     COLUMN(x->arg[1]), COLUMN(x->arg[2]), COLUMN(k), n);
    }
  }
  for (uint32_t r = 0; r < e->n_results; r++) {
    if (!results[r]) continue;
    uint16_t k = e->results[r];
    store_column(results[r], e->nodes[k].dtype, out_strides ? out_strides[r] : 1, COLUMN(k), n);
  }
#undef COLUMN
}
