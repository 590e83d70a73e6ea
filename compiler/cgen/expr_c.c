/* SPDX-License-Identifier: Apache-2.0
 * Each node becomes a constant of its own. Values of f16 and bf16 are floats; only casts round to
 * them. */
#include "compiler/cgen/expr_c.h"

#include <math.h>

#include "compiler/expr/scalar.h"

#define WK_C_TYPE(t) "wk_" #t
static const char *const types[WK_DTYPE_COUNT] = {
    [WK_F32] = WK_C_TYPE(f32), [WK_F16] = WK_C_TYPE(f16),   [WK_BF16] = WK_C_TYPE(bf16),
    [WK_F64] = WK_C_TYPE(f64), [WK_I8] = WK_C_TYPE(i8),     [WK_I16] = WK_C_TYPE(i16),
    [WK_I32] = WK_C_TYPE(i32), [WK_I64] = WK_C_TYPE(i64),   [WK_U8] = WK_C_TYPE(u8),
    [WK_U16] = WK_C_TYPE(u16), [WK_U32] = WK_C_TYPE(u32),   [WK_U64] = WK_C_TYPE(u64),
    [WK_BOOL] = WK_C_TYPE(bool)};

const char *wk_expr_c_type(wk_dtype t) { return types[t]; }

static bool is_half(wk_dtype t) { return t == WK_F16 || t == WK_BF16; }

/* What a value of type t is computed in. */
static const char *value_type(wk_dtype t) { return types[is_half(t) ? WK_F32 : t]; }

/* ---- operations ------------------------------------------------------------------------------ */

/* %a %b %c arguments, %t type of the result, %u unsigned type in which arguments wrap, %w their
 * width, %m all bits set, %f(name) the function and %n the name of the arguments' float type. u64:
 * NULL where it is as for other integers. */
/* clang-format off */
static const struct {
  const char *real, *integer, *u64;
} rules[WK_EX_COUNT] = {
    [WK_EX_NEG] = {"-%a", "(%t)(0 - (%u)%a)", NULL},
    [WK_EX_ABS] = {"%f(fabs)(%a)", "(%t)(%a < 0 ? 0 - (%u)%a : (%u)%a)", "%a"},
    [WK_EX_SIGN] = {"%a > 0 ? 1 : %a < 0 ? -1 : %a == 0 ? 0 : %a", "(%a > 0) - (%a < 0)", NULL},
    [WK_EX_FLOOR] = {"%f(floor)(%a)", "%a", NULL},
    [WK_EX_CEIL] = {"%f(ceil)(%a)", "%a", NULL},
    [WK_EX_ROUND] = {"%f(rint)(%a)", "%a", NULL},
    [WK_EX_TRUNC] = {"%f(trunc)(%a)", "%a", NULL},
    [WK_EX_SQRT] = {"%f(sqrt)(%a)", NULL, NULL},
    [WK_EX_EXP] = {"%f(exp)(%a)", NULL, NULL},
    [WK_EX_LOG] = {"%f(log)(%a)", NULL, NULL},
    [WK_EX_SIN] = {"%f(sin)(%a)", NULL, NULL},
    [WK_EX_COS] = {"%f(cos)(%a)", NULL, NULL},
    [WK_EX_TAN] = {"%f(tan)(%a)", NULL, NULL},
    [WK_EX_ASIN] = {"%f(asin)(%a)", NULL, NULL},
    [WK_EX_ACOS] = {"%f(acos)(%a)", NULL, NULL},
    [WK_EX_ATAN] = {"%f(atan)(%a)", NULL, NULL},
    [WK_EX_SINH] = {"%f(sinh)(%a)", NULL, NULL},
    [WK_EX_COSH] = {"%f(cosh)(%a)", NULL, NULL},
    [WK_EX_ASINH] = {"%f(asinh)(%a)", NULL, NULL},
    [WK_EX_ACOSH] = {"%f(acosh)(%a)", NULL, NULL},
    [WK_EX_ATANH] = {"%f(atanh)(%a)", NULL, NULL},
    [WK_EX_TANH] = {"%f(tanh)(%a)", NULL, NULL},
    [WK_EX_ERF] = {"%f(erf)(%a)", NULL, NULL},
    [WK_EX_NOT] = {NULL, "(%t)(%a ^ %m)", NULL},
    [WK_EX_IS_NAN] = {"%a != %a", NULL, NULL},
    [WK_EX_IS_INF] = {"%f(fabs)(%a) == INFINITY", NULL, NULL},
    [WK_EX_ADD] = {"%a + %b", "(%t)((%u)%a + (%u)%b)", NULL},
    [WK_EX_SUB] = {"%a - %b", "(%t)((%u)%a - (%u)%b)", NULL},
    [WK_EX_MUL] = {"%a * %b", "(%t)((%u)%a * (%u)%b)", NULL},
    [WK_EX_DIV] = {"%a / %b", "(%t)wk_div_i64(%a, %b)", "wk_div_u64(%a, %b)"},
    [WK_EX_MOD] = {"wk_mod_%n(%a, %b)", "(%t)wk_mod_i64(%a, %b)", "wk_rem_u64(%a, %b)"},
    [WK_EX_FMOD] = {"%f(fmod)(%a, %b)", "(%t)wk_rem_i64(%a, %b)", "wk_rem_u64(%a, %b)"},
    [WK_EX_POW] = {"%f(pow)(%a, %b)", "(%t)wk_pow_i64(%a, %b)", "wk_pow_u64(%a, %b)"},
    [WK_EX_MIN] = {"%a < %b || %a != %a ? %a : %b", "%a < %b ? %a : %b", NULL},
    [WK_EX_MAX] = {"%a > %b || %a != %a ? %a : %b", "%a > %b ? %a : %b", NULL},
    [WK_EX_AND] = {NULL, "(%t)(%a & %b)", NULL},
    [WK_EX_OR] = {NULL, "(%t)(%a | %b)", NULL},
    [WK_EX_XOR] = {NULL, "(%t)(%a ^ %b)", NULL},
    [WK_EX_SHL] = {NULL, "(%t)wk_shl(%a, %b, %w)", NULL},
    [WK_EX_SHR] = {NULL, "(%t)wk_shr_i64(%a, %b, %w)", "wk_shr_u64(%a, %b)"},
    [WK_EX_SHR_ROUND] = {NULL, "(%t)wk_shr_round_i64(%a, %b, %w)", "wk_shr_round_u64(%a, %b)"},
    [WK_EX_EQ] = {"%a == %b", "%a == %b", NULL},
    [WK_EX_NE] = {"%a != %b", "%a != %b", NULL},
    [WK_EX_LT] = {"%a < %b", "%a < %b", NULL},
    [WK_EX_LE] = {"%a <= %b", "%a <= %b", NULL},
    [WK_EX_GT] = {"%a > %b", "%a > %b", NULL},
    [WK_EX_GE] = {"%a >= %b", "%a >= %b", NULL},
    [WK_EX_SELECT] = {"%a ? %b : %c", "%a ? %b : %c", NULL},
    [WK_EX_RESCALE] = {NULL, "wk_rescale((wk_i64)%a, %b, %c)", NULL},
};
/* clang-format on */

typedef struct {
  wk_str *b;
  const wk_expr *e;
  const wk_expr_c *c;
} printer;

/* An integer as the long or unsigned long literal that it is. */
static char *literal(char text[32], wk_dtype t, int64_t v) {
  if (t == WK_U64) snprintf(text, 32, "%lluul", (unsigned long long)v);
  else snprintf(text, 32, v == INT64_MIN ? "(-%lldl - 1)" : "(%lldl)",
                v == INT64_MIN ? (long long)INT64_MAX : (long long)v);
  return text;
}

static void add_float(wk_str *b, wk_dtype t, double v) {
  if (isnan(v)) {
    wk_str_add(b, "NAN");
    return;
  }
  wk_str_add(b, signbit(v) ? "(-" : "(");
  if (isinf(v)) wk_str_add(b, "INFINITY");
  else if (t == WK_F64) wk_str_f64(b, fabs(v));
  else wk_str_f32(b, (float)fabs(v));
  wk_str_add(b, isinf(v) || t == WK_F64 ? ")" : "f)");
}

static void add_value(const printer *p, uint16_t k) {
  const wk_expr_node *x = &p->e->nodes[k];
  if (x->op != WK_EX_CONST) {
    wk_str_printf(p->b, "%s_%u", p->c->name, (unsigned)k);
  } else if (wk_dtype_is_float(x->dtype)) {
    add_float(p->b, x->dtype, x->imm.f);
  } else {
    char text[32];
    wk_str_printf(p->b, "(%s)%s", types[x->dtype], literal(text, x->dtype, x->imm.i));
  }
}

/* The text of a rule for node x. */
static void add_text(const printer *p, const wk_expr_node *x, const char *text) {
  wk_dtype from = p->e->nodes[x->arg[0]].dtype;
  for (; *text; text++) {
    if (*text != '%') {
      wk_str_printf(p->b, "%c", *text);
      continue;
    }
    switch (*++text) {
      case 'a':
      case 'b':
      case 'c': add_value(p, x->arg[*text - 'a']); break;
      case 't': wk_str_add(p->b, value_type(x->dtype)); break;
      case 'u': wk_str_add(p->b, wk_dtype_size(from) == 8 ? "wk_u64" : "wk_u32"); break;
      case 'w': wk_str_printf(p->b, "%d", 8 * wk_dtype_size(from)); break;
      case 'm': wk_str_add(p->b, from == WK_BOOL ? "1" : "-1"); break;
      case 'n': wk_str_add(p->b, from == WK_F64 ? "f64" : "f32"); break;
      default: wk_str_add(p->b, from == WK_F64 ? "WK_F64" : "WK_F32"); break;
    }
  }
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* The first number above the range is a power of two, which a float has. */
static void add_float_to_int(const printer *p, const wk_expr_node *x) {
  char rule[200], low[32], high[32], lowest[32] = "0";
  int bits = 8 * wk_dtype_size(x->dtype), top = bits - wk_dtype_is_signed(x->dtype);
  int64_t lo, hi;
  wk_int_range(x->dtype, &lo, &hi);
  if (lo) snprintf(lowest, sizeof lowest, "-0x1p%df", top);
  literal(low, x->dtype, lo);
  literal(high, x->dtype, x->dtype == WK_U64 ? -1 : hi);
  snprintf(rule, sizeof rule, "%%a > %s ? %%a < 0x1p%df ? (%%t)%%a : %s : %%a <= %s ? %s : 0",
           lowest, top, high, lowest, low);
  add_text(p, x, rule);
}

static void add_saturated(const printer *p, const wk_expr_node *x) {
  wk_dtype from = p->e->nodes[x->arg[0]].dtype;
  char text[32], rule[80];
  int64_t lo, hi, least, most;
  wk_int_range(x->dtype, &lo, &hi);
  wk_int_range(from, &least, &most);
  wk_str_printf(p->b, "(%s)(", types[x->dtype]);
  if (least < lo) {
    literal(text, WK_I64, lo);
    snprintf(rule, sizeof rule, "%%a < %s ? %s : ", text, text);
    add_text(p, x, rule);
  }
  if (from == WK_U64 ? x->dtype != WK_U64 : most > hi) {
    literal(text, from == WK_U64 ? WK_U64 : WK_I64, hi);
    snprintf(rule, sizeof rule, "%%a > %s ? %s : ", text, text);
    add_text(p, x, rule);
  }
  add_text(p, x, "%a)");
}

static const char *round_of(wk_dtype t) { return t == WK_F16 ? "wk_round_f16" : "wk_round_bf16"; }

static void add_cast(const printer *p, const wk_expr_node *x) {
  wk_dtype from = p->e->nodes[x->arg[0]].dtype;
  bool is_wide = wk_dtype_is_int(from) || from == WK_F64; /* a float may not hold it */
  if (x->dtype == WK_BOOL) {
    add_text(p, x, "%a != 0");
  } else if (wk_dtype_is_float(from) && !wk_dtype_is_float(x->dtype)) {
    add_float_to_int(p, x);
  } else if (is_half(x->dtype)) {
    wk_str_printf(p->b, "%s(", round_of(x->dtype));
    add_text(p, x, !is_wide ? "%a" : from == WK_F64 ? "wk_odd_f64(%a)"
                          : from == WK_U64 ? "wk_odd_u64(%a)" : "wk_odd_i64(%a)");
    wk_str_add(p->b, ")");
  } else {
    add_text(p, x, "(%t)%a");
  }
}

/* By way of the bits in memory. */
static void add_bits(const printer *p, const wk_expr_node *x) {
  wk_dtype from = p->e->nodes[x->arg[0]].dtype, to = x->dtype;
  wk_str_add(p->b, to == WK_F32    ? "wk_bits_float("
                   : to == WK_F64  ? "wk_bits_double("
                   : to == WK_F16  ? "wk_value_f16("
                   : to == WK_BF16 ? "wk_value_bf16("
                   : to == WK_BOOL ? "0 != ("
                                   : "(");
  bool is_signed = wk_dtype_is_signed(to);
  wk_str_printf(p->b, "(%s)", is_signed || wk_dtype_is_unsigned(to) ? types[to]
                              : wk_dtype_size(to) == 8              ? "wk_u64"
                              : wk_dtype_size(to) == 4              ? "wk_u32"
                              : wk_dtype_size(to) == 2              ? "wk_u16"
                                                                    : "wk_u8");
  add_text(p, x, from == WK_F32    ? "wk_float_bits(%a))"
                 : from == WK_F64  ? "wk_double_bits(%a))"
                 : from == WK_F16  ? "wk_bits_f16(%a))"
                 : from == WK_BF16 ? "wk_bits_bf16(%a))"
                                   : "%a)");
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Bits in memory, where a value is not computed as it is stored. */
static const char *stored(wk_dtype t, bool is_load) {
  if (t == WK_BOOL) return is_load ? "0 != (" : "(";
  if (t == WK_F16) return is_load ? "wk_value_f16(" : "wk_bits_f16(";
  if (t == WK_BF16) return is_load ? "wk_value_bf16(" : "wk_bits_bf16(";
  return "(";
}

static void add_operation(const printer *p, const wk_expr_node *x) {
  wk_dtype from = p->e->nodes[x->arg[x->op == WK_EX_SELECT]].dtype;
  bool is_real = wk_dtype_is_float(from);
  const char *text = is_real                                     ? rules[x->op].real
                     : from == WK_U64 && rules[x->op].u64 != NULL ? rules[x->op].u64
                                                                  : rules[x->op].integer;
  add_text(p, x, text);
}

static void add_node(const printer *p, const wk_expr_node *x) {
  switch (x->op) {
    case WK_EX_INPUT:
      wk_str_printf(p->b, "%s%s)", stored(x->dtype, true), p->c->inputs[x->imm.i]);
      break;
    case WK_EX_INDEX: wk_str_add(p->b, p->c->index[x->imm.i]); break;
    case WK_EX_CAST: add_cast(p, x); break;
    case WK_EX_SAT: add_saturated(p, x); break;
    case WK_EX_BITS: add_bits(p, x); break;
    default: add_operation(p, x);
  }
}

void wk_expr_c_print(wk_str *b, const wk_expr *e, const wk_expr_c *c) {
  printer p = {b, e, c};
  const char *indent = c->indent ? c->indent : "";
  for (uint32_t k = 0; k < e->n; k++) {
    const wk_expr_node *x = &e->nodes[k];
    if (x->op == WK_EX_CONST) continue;
    wk_str_printf(b, "%sconst %s %s_%u = ", indent, value_type(x->dtype), c->name, (unsigned)k);
    add_node(&p, x);
    wk_str_add(b, ";\n");
  }
  for (uint32_t r = 0; r < e->n_results; r++) {
    wk_dtype t = e->nodes[e->results[r]].dtype;
    wk_str_printf(b, "%sconst %s %s%u = %s", indent, types[t], c->name, (unsigned)r,
                  stored(t, false));
    add_value(&p, e->results[r]);
    wk_str_add(b, ");\n");
  }
}
