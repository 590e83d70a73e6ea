/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/expr/expr_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/expr/quant.h"
#include "compiler/expr/scalar.h"
#include "compiler/integer/integer.h"

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
  int64_t half = INT64_C(1) << (bits - 1);
  return wk_dtype_is_signed(t) ? wk_fact_range(-half, half - 1) : wk_fact_range(0, 2 * half - 1);
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
  int64_t lo = 0, hi = 0;
  bool over;
  if (minus)
    over = __builtin_sub_overflow(a.lo, b.hi, &lo) || __builtin_sub_overflow(a.hi, b.lo, &hi);
  else
    over = __builtin_add_overflow(a.lo, b.lo, &lo) || __builtin_add_overflow(a.hi, b.hi, &hi);
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

static wk_fact saturated(wk_fact a, wk_dtype t) {
  wk_fact any = wk_fact_any(t);
  return within(a, any) ? a : wk_fact_range(min64(max64(a.lo, any.lo), any.hi),
                                            max64(min64(a.hi, any.hi), any.lo));
}

static wk_fact rescaled(wk_fact a, wk_fact m, wk_fact s) {
  bool is_known = s.lo == s.hi && s.lo >= 1 && s.lo <= 62;
  wk_fact half = is_known ? wk_fact_value(INT64_C(1) << (s.lo - 1)) : wk_fact_any(WK_I64);
  wk_fact p = saturated(shifted(sum(product(a, m), half, false), s, WK_I64), WK_I32);
  return shifted(p, wk_fact_value(WK_RESCALE_FRACTION), WK_I32);
}

static wk_fact node_fact(const wk_expr *x, const wk_expr_node *n, const wk_fact *inputs,
                         const wk_fact *f) {
  int arity = wk_expr_op_arity(n->op);
  wk_fact any = wk_fact_any(n->dtype), a = arity > 0 ? f[n->arg[0]] : any;
  wk_fact b = arity > 1 ? f[n->arg[1]] : any;
  if (!wk_dtype_is_int(n->dtype) || n->dtype == WK_U64) return any;
  if (n->op == WK_EX_CONST) return wk_fact_value(n->imm.i);
  if (n->op == WK_EX_INPUT) return inputs ? wrapped(inputs[n->imm.i], n->dtype) : any;
  wk_dtype from = arity ? x->nodes[n->arg[0]].dtype : WK_DTYPE_NONE;
  if (n->op == WK_EX_SELECT) return wk_fact_union(b, f[n->arg[2]]);
  if (n->op == WK_EX_RESCALE) return rescaled(from == WK_U64 ? wk_fact_any(WK_I64) : a, b,
                                              f[n->arg[2]]);
  if (!wk_dtype_is_int(from) || from == WK_U64) return any;
  switch (n->op) {
    case WK_EX_CAST: return wrapped(a, n->dtype);
    case WK_EX_SAT: return saturated(a, n->dtype);
    case WK_EX_ADD: return wrapped(sum(a, b, false), n->dtype);
    case WK_EX_SUB: return wrapped(sum(a, b, true), n->dtype);
    case WK_EX_MUL: return wrapped(product(a, b), n->dtype);
    case WK_EX_MIN: return wk_fact_range(min64(a.lo, b.lo), min64(a.hi, b.hi));
    case WK_EX_MAX: return wk_fact_range(max64(a.lo, b.lo), max64(a.hi, b.hi));
    case WK_EX_SHL:
      if (b.lo != b.hi || b.lo < 0 || b.lo >= 8 * wk_dtype_size(n->dtype) - 1) return any;
      return wrapped(product(a, wk_fact_value(INT64_C(1) << b.lo)), n->dtype);
    case WK_EX_SHR:
    case WK_EX_SHR_ROUND: return wrapped(shifted(a, b, n->dtype), n->dtype);
    default: return any;
  }
}

/* ---- decisions ------------------------------------------------------------------------------- */

typedef struct {
  const wk_expr *x;
  int n_sets;
  const wk_fact *facts; /* [set][node] */
  const wk_fact *all;   /* [node], over all sets */
  wk_how *how;
} plan;

static wk_fact fact(const plan *p, int set, uint16_t node) {
  return p->facts[(size_t)set * p->x->n + node];
}

static bool is_narrow(const plan *p, uint16_t node) { return p->how[node].how & WK_HOW_NARROW; }

static bool is_word(const plan *p, uint16_t node) {
  return is_narrow(p, node) || p->x->nodes[node].dtype == WK_I32;
}

static bool are_words(const plan *p, const wk_expr_node *n) {
  return is_word(p, n->arg[0]) && is_word(p, n->arg[1]);
}

/* In no set does the last shifted-out bit decide alone. */
static bool has_no_halves(const plan *p, const wk_expr_node *n) {
  for (int k = 0; k < p->n_sets; k++)
    if (fact(p, k, n->arg[0]).zeros >= fact(p, k, n->arg[1]).lo - 1) return false;
  return true;
}

static bool half_fits(const plan *p, const wk_expr_node *n, int64_t limit) {
  for (int k = 0; k < p->n_sets; k++) {
    int64_t half = INT64_C(1) << (fact(p, k, n->arg[1]).hi - 1), sum;
    if (__builtin_add_overflow(fact(p, k, n->arg[0]).hi, half, &sum) || sum > limit) return false;
  }
  return true;
}

/* ---- (p + half) >> s in one step ------------------------------------------------------------- */

/* Shifts of m by `by` and of x by what is missing to 33 - s overflow nowhere; -1: there is none. */
static int split_shift(const plan *p, uint16_t shift, uint16_t x, uint16_t m) {
  uint64_t most = magnitude(p->all[m].lo) | magnitude(p->all[m].hi);
  int by = most < INT64_C(1) << 30 ? 30 - log2_floor(most) : 0;
  for (int k = 0; k < p->n_sets; k++) {
    wk_fact s = fact(p, k, shift);
    if (s.lo != s.hi || s.lo < 1 || s.lo > 33) return -1;
    if (33 - s.lo < by) by = (int)(33 - s.lo);
  }
  for (int k = 0; k < p->n_sets; k++) {
    int64_t rest = 33 - fact(p, k, shift).lo - by;
    if (rest > 30) return -1;
    int64_t limit = INT32_MAX >> rest;
    if (fact(p, k, x).lo < -limit || fact(p, k, x).hi > limit) return -1;
  }
  return by;
}

/* `half` is 2^(s-1) in every set. */
static bool is_half(const plan *p, uint16_t half, uint16_t shift) {
  for (int k = 0; k < p->n_sets; k++) {
    wk_fact s = fact(p, k, shift), h = fact(p, k, half);
    if (s.lo < 1 || s.lo > 33 || h.lo != h.hi || h.lo != INT64_C(1) << (s.lo - 1)) return false;
  }
  return true;
}

static bool decide_once(plan *p, uint32_t k) {
  const wk_expr_node *n = &p->x->nodes[k], *sum = &p->x->nodes[n->arg[0]];
  if (n->op != WK_EX_SHR || n->dtype != WK_I64 || sum->op != WK_EX_ADD) return false;
  if (!is_word(p, n->arg[1])) return false;
  for (int side = 0; side < 2; side++) {
    const wk_expr_node *mul = &p->x->nodes[sum->arg[side]];
    if (mul->op != WK_EX_MUL || !are_words(p, mul)) continue;
    if (!is_half(p, sum->arg[1 - side], n->arg[1])) continue;
    for (uint16_t first = 0; first < 2; first++) {
      int by = split_shift(p, n->arg[1], mul->arg[first], mul->arg[1 - first]);
      if (by < 0) continue;
      p->how[k] = (wk_how){.how = WK_HOW_ONCE | WK_HOW_NARROW,
                           .by = (uint8_t)by,
                           .product = sum->arg[side],
                           .first = first};
      return true;
    }
  }
  return false;
}

/* ---- rescaling ------------------------------------------------------------------------------- */

/* An integer at hand as i32, or one that a conversion makes it. */
static bool becomes_word(const plan *p, uint16_t node) {
  bool is_narrow_type = wk_dtype_size(p->x->nodes[node].dtype) <= 4;
  return is_word(p, node) || (is_narrow_type && fits_word(p->all[node]));
}

static bool rescale_once(plan *p, uint32_t k) {
  const wk_expr_node *n = &p->x->nodes[k];
  if (!becomes_word(p, n->arg[0])) return false;
  if (!is_word(p, n->arg[1]) || !is_word(p, n->arg[2])) return false;
  for (uint16_t first = 0; first < 2; first++) {
    int by = split_shift(p, n->arg[2], n->arg[first], n->arg[1 - first]);
    if (by < 0) continue;
    p->how[k] = (wk_how){.how = WK_HOW_TWICE, .by = (uint8_t)by, .first = first};
    return true;
  }
  return false;
}

static void decide_rescale(plan *p, uint32_t k) {
  const wk_expr_node *n = &p->x->nodes[k];
  if (rescale_once(p, k)) return;
  wk_arena *a = wk_arena_new();
  const wk_expr *steps = wk_expr_rescale_plan(a, p->x, k);
  wk_fact *of = wk_arena_alloc(a, 3 * (size_t)p->n_sets * sizeof *of);
  for (int i = 0; i < 3 * p->n_sets; i++) of[i] = fact(p, i / 3, n->arg[i % 3]);
  wk_how how[WK_RESCALE_STEPS];
  (void)wk_expr_plan(steps, &(wk_facts){3, p->n_sets, of}, how, NULL);
  for (uint32_t i = 0; i < steps->n; i++) { /* ONCE is possible here where arguments are no words */
    uint8_t step = how[i].how & WK_HOW_ONCE ? 0 : how[i].how;
    wk_assert(!(step & ~(WK_HOW_NARROW | WK_HOW_UP | WK_HOW_EVEN)));
    p->how[k].steps[i] = step;
  }
  wk_arena_free(a);
}

/* ---- other rounding shifts ------------------------------------------------------------------- */

static bool decide_high(plan *p, uint32_t k) {
  const wk_expr_node *n = &p->x->nodes[k], *of = &p->x->nodes[n->arg[0]];
  wk_fact s = p->all[n->arg[1]];
  if (n->dtype != WK_I64 || of->op != WK_EX_MUL || !are_words(p, of)) return false;
  if (!is_word(p, n->arg[1]) || s.hi > 62 || s.lo <= 32) return false;
  bool no_halves = has_no_halves(p, n);
  if (!no_halves && s.lo <= 33) return false;
  uint8_t how = no_halves ? WK_HOW_HIGH_UP : WK_HOW_HIGH_EVEN;
  p->how[k] = (wk_how){.how = how | WK_HOW_NARROW, .product = n->arg[0]};
  return true;
}

static void decide_rounding(plan *p, uint32_t k) {
  const wk_expr_node *n = &p->x->nodes[k];
  wk_fact s = p->all[n->arg[1]];
  if (!wk_dtype_is_signed(n->dtype) || s.lo < 1 || s.hi >= 8 * wk_dtype_size(n->dtype)) return;
  if (decide_high(p, k)) return;
  bool narrow = n->dtype == WK_I64 && are_words(p, n) && s.hi < 32;
  if (!half_fits(p, n, narrow ? INT32_MAX : wk_fact_any(n->dtype).hi)) return;
  uint8_t how = has_no_halves(p, n) ? WK_HOW_UP : WK_HOW_EVEN;
  p->how[k].how = how | (narrow ? WK_HOW_NARROW : 0);
}

/* An i64 node whose values fit i32 and whose arguments are at hand as i32. */
static bool can_be_narrow(const plan *p, uint32_t k) {
  const wk_expr_node *n = &p->x->nodes[k];
  if (n->dtype != WK_I64 || !fits_word(p->all[k])) return false;
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
    case WK_EX_MAX: return are_words(p, n);
    case WK_EX_SELECT: return is_word(p, n->arg[1]) && is_word(p, n->arg[2]);
    case WK_EX_SHR:
      return are_words(p, n) && p->all[n->arg[1]].lo >= 0 && p->all[n->arg[1]].hi < 32;
    default: return false;
  }
}

static void decide(plan *p) {
  for (uint32_t k = 0; k < p->x->n; k++) {
    p->how[k] = (wk_how){.how = 0};
    if (p->x->nodes[k].op == WK_EX_RESCALE) decide_rescale(p, k);
    else if (p->x->nodes[k].op == WK_EX_SHR_ROUND) decide_rounding(p, k);
    else if (!decide_once(p, k) && can_be_narrow(p, k)) p->how[k].how = WK_HOW_NARROW;
  }
}

/* ---- the quick form -------------------------------------------------------------------------- */

/* Values x * m / 2^s in a case: fine enough that ties are rare, small enough for an i32 with 15
 * fractional bits, and where x has more digits than a float, beyond all that does not saturate. */
static bool is_quick_case(const plan *p, int set, const wk_expr_node *n) {
  enum { ROUNDED = 12, LARGEST = 1 << 16, SATURATED = 1 << 10 };
  wk_fact x = fact(p, set, n->arg[0]), m = fact(p, set, n->arg[1]), s = fact(p, set, n->arg[2]);
  if (m.lo != m.hi || m.lo < 0 || m.lo >= 1 << WK_RESCALE_BITS) return false;
  if (s.lo != s.hi || s.lo < 1 || s.lo > 62) return false;
  int shift = (int)s.lo + WK_RESCALE_FRACTION;
  double factor = ldexp((double)m.lo, -shift);
  double most = (double)(magnitude(x.lo) > magnitude(x.hi) ? magnitude(x.lo) : magnitude(x.hi));
  if (most * factor > LARGEST - SATURATED) return false;
  if (most > 0x1p24 && 0x1p24 * factor < SATURATED) return false;
  if (x.lo == x.hi) { /* always the same: never near a tie */
    double rest = most * factor - floor(most * factor);
    return fabs(rest - 0.5) > 0x1p-12;
  }
  return m.lo == 0 || shift - __builtin_ctzll((uint64_t)m.lo) >= ROUNDED;
}

/* The rescaling, and what is added to it. */
static const wk_expr_node *match_quick(const plan *p, uint32_t k, wk_how *how) {
  const wk_expr *x = p->x;
  wk_requant_range y;
  if (x->nodes[k].op != WK_EX_SAT || !wk_requant_range_at(x, (uint16_t)k, &y)) return NULL;
  const wk_expr_node *n = &x->nodes[y.of];
  if (n->op != WK_EX_RESCALE || y.zero < y.lo || y.zero > y.hi) return NULL;
  if (x->nodes[n->arg[0]].dtype != WK_I32 || !is_word(p, n->arg[1]) || !is_word(p, n->arg[2]))
    return NULL;
  *how = (wk_how){.how = WK_HOW_QUICK, .product = y.of, .zero = (int16_t)y.zero};
  return n;
}

static bool decide_quick(const plan *p, wk_how *quick) {
  bool any = false;
  memcpy(quick, p->how, p->x->n * sizeof *quick);
  for (uint32_t k = 0; k < p->x->n; k++) {
    wk_how how;
    const wk_expr_node *n = match_quick(p, k, &how);
    bool all = n != NULL;
    for (int set = 0; set < p->n_sets && all; set++) all = is_quick_case(p, set, n);
    if (!all) continue;
    quick[k] = how;
    any = true;
  }
  return any;
}

bool wk_expr_plan(const wk_expr *x, const wk_facts *known, wk_how *how, wk_how *quick) {
  int n_sets = known ? known->n_sets : 1;
  wk_fact *facts = wk_xcalloc((size_t)n_sets * x->n, sizeof *facts);
  wk_fact *all = wk_xcalloc(x->n, sizeof *all);
  for (int s = 0; s < n_sets; s++) {
    wk_fact *of = facts + (size_t)s * x->n;
    const wk_fact *inputs = known ? known->of + (size_t)s * (size_t)known->n_inputs : NULL;
    for (uint32_t k = 0; k < x->n; k++) {
      of[k] = node_fact(x, &x->nodes[k], inputs, of);
      all[k] = s > 0 ? wk_fact_union(all[k], of[k]) : of[k];
    }
  }
  plan p = {x, n_sets, facts, all, how};
  decide(&p);
  bool is_quick = quick && decide_quick(&p, quick);
  free(facts);
  free(all);
  return is_quick;
}
