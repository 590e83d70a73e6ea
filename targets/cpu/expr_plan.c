/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/expr_plan.h"

#include <stdlib.h>

/* ---- facts ----------------------------------------------------------------------------------- */

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

static int log2_floor(uint64_t v) { return v ? 63 - __builtin_clzll(v) : 0; }

wk_fact wk_fact_range(int64_t lo, int64_t hi) {
  uint64_t a = magnitude(lo), b = magnitude(hi);
  return (wk_fact){lo, hi, log2_floor(a > b ? a : b)};
}

wk_fact wk_fact_value(int64_t v) {
  return (wk_fact){v, v, v ? __builtin_ctzll((uint64_t)v) : 0};
}

wk_fact wk_fact_any(wk_dtype t) {
  int bits = 8 * wk_dtype_size(t);
  if (t == WK_BOOL) return wk_fact_range(0, 1);
  if (!wk_dtype_is_int(t) || t == WK_U64 || t == WK_I64) return wk_fact_range(INT64_MIN, INT64_MAX);
  if (wk_dtype_is_signed(t)) return wk_fact_range(-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1);
  return wk_fact_range(0, (INT64_C(1) << bits) - 1);
}

wk_fact wk_fact_union(wk_fact a, wk_fact b) {
  return (wk_fact){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi,
                   a.zeros > b.zeros ? a.zeros : b.zeros};
}

static bool within(wk_fact a, wk_fact b) { return a.lo >= b.lo && a.hi <= b.hi; }
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static bool fits_word(wk_fact a) { return a.lo >= INT32_MIN && a.hi <= INT32_MAX; }

/* a as a value of type t, any when it may wrap. */
static wk_fact wrapped(wk_fact a, wk_dtype t) {
  wk_fact any = wk_fact_any(t);
  return within(a, any) ? a : any;
}

static wk_fact sum(wk_fact a, wk_fact b, bool minus) {
  int64_t lo, hi;
  bool over = minus ? __builtin_sub_overflow(a.lo, b.hi, &lo) || __builtin_sub_overflow(a.hi, b.lo, &hi)
                    : __builtin_add_overflow(a.lo, b.lo, &lo) || __builtin_add_overflow(a.hi, b.hi, &hi);
  return over ? wk_fact_any(WK_I64) : wk_fact_range(lo, hi);
}

static wk_fact product(wk_fact a, wk_fact b) {
  const int64_t x[] = {a.lo, a.hi}, y[] = {b.lo, b.hi};
  wk_fact f = {INT64_MAX, INT64_MIN, 0};
  for (int i = 0; i < 4; i++) {
    int64_t v;
    if (__builtin_mul_overflow(x[i / 2], y[i % 2], &v)) return wk_fact_any(WK_I64);
    f.lo = min64(f.lo, v);
    f.hi = max64(f.hi, v);
  }
  wk_fact r = wk_fact_range(f.lo, f.hi);
  if (a.zeros + b.zeros < r.zeros) r.zeros = a.zeros + b.zeros;
  return r;
}

/* Quotients of either rounding lie between those rounded down and up. */
static wk_fact shifted(wk_fact p, wk_fact s, wk_dtype t) {
  if (s.lo < 0 || s.hi >= 8 * wk_dtype_size(t)) return wk_fact_any(t);
  int64_t lo = p.lo < 0 ? p.lo >> s.lo : p.lo >> s.hi;
  int64_t hi = p.hi < 0 ? p.hi >> s.hi : p.hi >> s.lo;
  return wk_fact_range(lo, s.lo == 0 || hi == INT64_MAX ? hi : hi + 1);
}

static wk_fact node_fact(const wk_expr *x, const wk_expr_node *n, const wk_fact *inputs,
                         const wk_fact *f) {
  wk_fact any = wk_fact_any(n->dtype), a = f[n->arg[0]], b = f[n->arg[1]];
  if (!wk_dtype_is_int(n->dtype) || n->dtype == WK_U64) return any;
  if (n->op == WK_EX_CONST) return wk_fact_value(n->imm.i);
  if (n->op == WK_EX_INPUT) return inputs ? wrapped(inputs[n->imm.i], n->dtype) : any;
  wk_dtype from = wk_expr_op_arity(n->op) ? x->nodes[n->arg[0]].dtype : WK_DTYPE_NONE;
  if (n->op == WK_EX_SELECT) return wk_fact_union(b, f[n->arg[2]]);
  if (!wk_dtype_is_int(from) || from == WK_U64) return any;
  switch (n->op) {
    case WK_EX_CAST: return wrapped(a, n->dtype);
    case WK_EX_SAT:
      return within(a, any) ? a : wk_fact_range(min64(max64(a.lo, any.lo), any.hi),
                                                max64(min64(a.hi, any.hi), any.lo));
    case WK_EX_ADD: return wrapped(sum(a, b, false), n->dtype);
    case WK_EX_SUB: return wrapped(sum(a, b, true), n->dtype);
    case WK_EX_MUL: return wrapped(product(a, b), n->dtype);
    case WK_EX_MIN: return wk_fact_range(min64(a.lo, b.lo), min64(a.hi, b.hi));
    case WK_EX_MAX: return wk_fact_range(max64(a.lo, b.lo), max64(a.hi, b.hi));
    case WK_EX_SHR:
    case WK_EX_SHR_ROUND: return wrapped(shifted(a, b, n->dtype), n->dtype);
    default: return any;
  }
}

/* ---- decisions ------------------------------------------------------------------------------- */

typedef struct {
  const wk_expr *x;
  const wk_fact *facts;
  uint8_t *how;
} plan;

static bool is_word(const plan *p, uint16_t node) {
  return p->how[node] & WK_HOW_NARROW || p->x->nodes[node].dtype == WK_I32;
}

static uint8_t rounding(const plan *p, const wk_expr_node *n) {
  const wk_expr_node *of = &p->x->nodes[n->arg[0]];
  wk_fact v = p->facts[n->arg[0]], s = p->facts[n->arg[1]];
  if (!wk_dtype_is_signed(n->dtype) || s.lo < 1 || s.hi >= 8 * wk_dtype_size(n->dtype)) return 0;
  bool no_halves = v.zeros < s.lo - 1;
  if (n->dtype == WK_I64 && of->op == WK_EX_MUL && is_word(p, of->arg[0]) &&
      is_word(p, of->arg[1]) && is_word(p, n->arg[1]) && s.hi <= 62) {
    if (s.lo > 32 && no_halves) return WK_HOW_HIGH_UP | WK_HOW_NARROW;
    if (s.lo > 33) return WK_HOW_HIGH_EVEN | WK_HOW_NARROW;
  }
  int64_t sum;
  bool narrow = n->dtype == WK_I64 && is_word(p, n->arg[0]) && is_word(p, n->arg[1]) && s.hi < 32;
  int64_t limit = narrow ? INT32_MAX : wk_fact_any(n->dtype).hi;
  if (__builtin_add_overflow(v.hi, INT64_C(1) << (s.hi - 1), &sum) || sum > limit) return 0;
  return (uint8_t)((no_halves ? WK_HOW_UP : WK_HOW_EVEN) | (narrow ? WK_HOW_NARROW : 0));
}

/* An i64 node whose values fit i32 and whose arguments are at hand as i32. */
static bool is_narrow(const plan *p, uint32_t k) {
  const wk_expr_node *n = &p->x->nodes[k];
  if (n->dtype != WK_I64 || !fits_word(p->facts[k])) return false;
  wk_dtype from = wk_expr_op_arity(n->op) ? p->x->nodes[n->arg[0]].dtype : WK_DTYPE_NONE;
  switch (n->op) {
    case WK_EX_CONST:
    case WK_EX_INPUT: return true;
    case WK_EX_CAST:
    case WK_EX_SAT: return wk_dtype_is_int(from) && wk_dtype_size(from) <= 4;
    case WK_EX_ADD:
    case WK_EX_SUB:
    case WK_EX_MUL:
    case WK_EX_MIN:
    case WK_EX_MAX: return is_word(p, n->arg[0]) && is_word(p, n->arg[1]);
    case WK_EX_SELECT: return is_word(p, n->arg[1]) && is_word(p, n->arg[2]);
    case WK_EX_SHR:
      return is_word(p, n->arg[0]) && is_word(p, n->arg[1]) && p->facts[n->arg[1]].hi < 32;
    default: return false;
  }
}

void wk_expr_plan(const wk_expr *x, const wk_fact *inputs, uint8_t *how) {
  wk_fact *facts = wk_xcalloc(x->n + 1, sizeof *facts);
  plan p = {x, facts, how};
  for (uint32_t k = 0; k < x->n; k++) {
    facts[k] = node_fact(x, &x->nodes[k], inputs, facts);
    how[k] = 0;
    if (x->nodes[k].op == WK_EX_SHR_ROUND) how[k] = rounding(&p, &x->nodes[k]);
    else if (is_narrow(&p, k)) how[k] = WK_HOW_NARROW;
  }
  free(facts);
}
