/* SPDX-License-Identifier: Apache-2.0
 * What a requantising expression computes. The expressions are those of quant.h and of fusion,
 * which puts one in the place of another's operand; whatever has the same meaning in another form
 * is none. */
#include <string.h>

#include "compiler/integer/integer.h"

typedef struct {
  const wk_expr *x;
  wk_requant *r;
  uint16_t first; /* the node of the first stage's result; NONE: not met yet */
  bool has_sum;
} match;

enum { NONE = UINT16_MAX };

static const wk_expr_node *at(const wk_expr *x, uint16_t k) { return &x->nodes[k]; }

static bool is_literal(const wk_expr *x, uint16_t k, int64_t *value) {
  if (at(x, k)->op != WK_EX_CONST) return false;
  *value = at(x, k)->imm.i;
  return true;
}

static bool is_8_bit(wk_dtype t) { return t == WK_I8 || t == WK_U8; }

static int64_t least_of(wk_dtype t) { return t == WK_I8 ? -128 : 0; }

/* k is op(of, literal). */
static bool with_literal(const wk_expr *x, wk_expr_op op, uint16_t k, uint16_t *of,
                         int64_t *literal) {
  const wk_expr_node *n = at(x, k);
  if (n->op != op || !is_literal(x, n->arg[1], literal)) return false;
  *of = n->arg[0];
  return true;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static int64_t limited(wk_expr_op op, int64_t v, int64_t by) {
  return op == WK_EX_MAX ? (v > by ? v : by) : (v < by ? v : by);
}

bool wk_requant_range_at(const wk_expr *x, uint16_t k, wk_requant_range *out) {
  const wk_expr_node *n = at(x, k);
  int64_t limit;
  if (n->op == WK_EX_MAX || n->op == WK_EX_MIN) {
    if (!is_literal(x, n->arg[1], &limit) || !wk_requant_range_at(x, n->arg[0], out)) return false;
    out->lo = limited(n->op, out->lo, limit);
    out->hi = limited(n->op, out->hi, limit);
    return true;
  }
  if (n->op != WK_EX_SAT || !is_8_bit(n->dtype) || at(x, n->arg[0])->dtype != WK_I32) return false;
  *out = (wk_requant_range){.dtype = n->dtype, .saturation = k, .of = n->arg[0]};
  out->lo = least_of(n->dtype);
  out->hi = out->lo + 255;
  (void)with_literal(x, WK_EX_ADD, n->arg[0], &out->of, &out->zero);
  return true;
}

/* A record of the accelerator holds zero points of 16 bits; no expression of ours has larger. */
static bool is_range(const wk_expr *x, uint16_t k, wk_requant_range *out) {
  return wk_requant_range_at(x, k, out) && out->zero >= INT16_MIN && out->zero <= INT16_MAX;
}

/* ---- the first stage ------------------------------------------------------------------------- */

/* A literal, or an element of an operand, as i64. */
static bool number(const wk_expr *x, uint16_t k, wk_requant_number *out) {
  *out = (wk_requant_number){.input = WK_REQUANT_NONE};
  if (is_literal(x, k, &out->value)) return true;
  const wk_expr_node *n = at(x, k);
  if (n->op == WK_EX_CAST && wk_dtype_is_int(at(x, n->arg[0])->dtype)) n = at(x, n->arg[0]);
  if (n->op != WK_EX_INPUT || n->dtype == WK_U64) return false;
  out->input = (int)n->imm.i;
  return true;
}

/* i32(v) - zero of an 8-bit node v. */
static bool centred(const wk_expr *x, uint16_t k, uint16_t *v, int64_t *zero) {
  *zero = 0;
  (void)with_literal(x, WK_EX_SUB, k, &k, zero);
  const wk_expr_node *n = at(x, k);
  if (n->op != WK_EX_CAST || n->dtype != WK_I32 || !is_8_bit(at(x, n->arg[0])->dtype)) return false;
  *v = n->arg[0];
  return *zero >= INT16_MIN && *zero <= INT16_MAX;
}

static bool centred_input(const wk_expr *x, uint16_t k, wk_requant_operand *out) {
  uint16_t v;
  if (!centred(x, k, &v, &out->zero) || at(x, v)->op != WK_EX_INPUT) return false;
  out->input = (int)at(x, v)->imm.i;
  out->dtype = at(x, v)->dtype;
  out->mult = 1;
  return true;
}

static bool product(const wk_expr *x, uint16_t k, wk_requant *r) {
  const wk_expr_node *n = at(x, k);
  r->kind = WK_REQUANT_PRODUCT;
  return n->op == WK_EX_MUL && centred_input(x, n->arg[0], &r->factors[0]) &&
         centred_input(x, n->arg[1], &r->factors[1]);
}

static bool add_term(match *m, const wk_expr_node *input, int64_t factor) {
  wk_requant *r = m->r;
  if (input->op != WK_EX_INPUT || input->dtype != WK_I32) return false;
  if (input->imm.i == 0) {
    bool is_first = !m->has_sum && factor == 1;
    m->has_sum = true;
    return is_first;
  }
  if (r->n_terms == WK_REQUANT_TERMS) return false;
  r->terms[r->n_terms++] = (wk_requant_term){(int)input->imm.i, factor};
  return true;
}

/* input 0 + literals + terms, modulo 2^32. */
static bool sum(match *m, uint16_t k, int sign, int depth) {
  const wk_expr *x = m->x;
  const wk_expr_node *n = at(x, k);
  int64_t literal;
  uint16_t of;
  if (n->dtype != WK_I32 || depth > 8) return false;
  if (is_literal(x, k, &literal)) {
    m->r->bias = (int32_t)(uint32_t)(m->r->bias + sign * literal);
    return true;
  }
  if (with_literal(x, WK_EX_MUL, k, &of, &literal)) return add_term(m, at(x, of), sign * literal);
  if (n->op != WK_EX_ADD && n->op != WK_EX_SUB) return add_term(m, n, sign);
  return sum(m, n->arg[0], sign, depth + 1) &&
         sum(m, n->arg[1], n->op == WK_EX_SUB ? -sign : sign, depth + 1);
}

static bool first_stage(match *m, const wk_requant_range *y) {
  const wk_expr *x = m->x;
  wk_requant *r = m->r;
  const wk_expr_node *n = at(x, y->of);
  if (n->op != WK_EX_RESCALE || !number(x, n->arg[1], &r->mult) || !number(x, n->arg[2], &r->shift))
    return false;
  r->y = *y;
  if (product(x, n->arg[0], r)) return true;
  r->kind = WK_REQUANT_SUM;
  memset(r->factors, 0, sizeof r->factors);
  return sum(m, n->arg[0], 1, 0) && m->has_sum;
}

/* ---- the second stage ------------------------------------------------------------------------ */

/* (v - zero) * mult, where v is an input or the first stage's result. */
static bool operand(match *m, uint16_t k, int64_t sign, wk_requant_operand *out) {
  int64_t mult = 1;
  uint16_t v;
  (void)with_literal(m->x, WK_EX_MUL, k, &k, &mult);
  *out = (wk_requant_operand){.mult = sign * mult, .input = WK_REQUANT_NONE};
  if (!centred(m->x, k, &v, &out->zero)) return false;
  out->dtype = at(m->x, v)->dtype;
  if (at(m->x, v)->op == WK_EX_INPUT) {
    out->input = (int)at(m->x, v)->imm.i;
    return true;
  }
  wk_requant_range y;
  if (m->first == NONE && is_range(m->x, v, &y) && first_stage(m, &y)) m->first = v;
  return m->first == v;
}

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

/* The largest absolute value of an operand's term. */
static int64_t reach(const wk_requant_operand *o) {
  int64_t least = least_of(o->dtype) - o->zero, most = least + 255;
  int64_t far = magnitude(least) > magnitude(most) ? magnitude(least) : magnitude(most);
  return far * magnitude(o->mult);
}

static bool is_result(const wk_requant_operand *o) { return o->input == WK_REQUANT_NONE; }

/* The first stage's result comes first, and once. */
static bool settle(wk_requant *r, bool has_b) {
  wk_requant_operand *a = &r->a, *b = &r->b;
  if (!has_b) *b = (wk_requant_operand){.input = WK_REQUANT_NONE};
  if (has_b && is_result(a) && is_result(b)) {
    if (a->zero != b->zero) return false;
    a->mult += b->mult;
    *b = (wk_requant_operand){.input = WK_REQUANT_NONE};
  } else if (has_b && is_result(b)) {
    wk_requant_operand swapped = *a;
    *a = *b;
    *b = swapped;
  }
  return reach(a) + (b->dtype ? reach(b) : 0) <= INT32_MAX;
}

static bool second_stage(match *m, const wk_requant_range *y) {
  wk_requant *r = m->r;
  const wk_expr *x = m->x;
  uint16_t k = y->of;
  r->has_second = true;
  r->y2 = *y;
  (void)with_literal(x, WK_EX_SHR_ROUND, k, &k, &r->shift2);
  if (r->shift2 < 0 || r->shift2 > 31) return false;
  const wk_expr_node *n = at(x, k);
  if (operand(m, k, 1, &r->a)) return settle(r, false);
  if (n->op != WK_EX_ADD && n->op != WK_EX_SUB) return false;
  return operand(m, n->arg[0], 1, &r->a) &&
         operand(m, n->arg[1], n->op == WK_EX_SUB ? -1 : 1, &r->b) && settle(r, true);
}

bool wk_requant_of(const wk_expr *x, wk_requant *out) {
  wk_requant_range y;
  match m = {.x = x, .r = out, .first = NONE};
  memset(out, 0, sizeof *out);
  if (x->n_results != 1 || !is_range(x, x->results[0], &y)) return false;
  if (at(x, y.of)->op == WK_EX_RESCALE) return first_stage(&m, &y);
  return second_stage(&m, &y);
}
