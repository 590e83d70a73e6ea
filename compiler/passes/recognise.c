/* SPDX-License-Identifier: Apache-2.0
 * Recognition of operators that exporters write out, by a table: last operator of the pattern and
 * the function that looks at it. Gates of squeeze-and-excite blocks need no rule: they are products
 * with an operand [n,c,1,1], which become part of an epilogue or a map like any other product. */
#include "compiler/passes/recognise.h"

#include <math.h>

static const struct { wk_op last; wk_recogniser run; } table[] = {
    {WK_OP_DIV, wk_recognise_softmax},      {WK_OP_MUL, wk_recognise_softmax},
    {WK_OP_SUB, wk_recognise_log_softmax},  {WK_OP_DIV, wk_recognise_layer_norm},
    {WK_OP_MUL, wk_recognise_layer_norm},   {WK_OP_ADD, wk_recognise_layer_norm},
    {WK_OP_DIV, wk_recognise_sigmoid},      {WK_OP_RECIPROCAL, wk_recognise_sigmoid},
    {WK_OP_DIV, wk_recognise_silu},         {WK_OP_MUL, wk_recognise_silu},
    {WK_OP_DIV, wk_recognise_gelu},         {WK_OP_MUL, wk_recognise_gelu},
    {WK_OP_DIV, wk_recognise_hard_gate},    {WK_OP_MUL, wk_recognise_hard_gate},
    {WK_OP_CLIP, wk_recognise_hard_gate},   {WK_OP_MAX, wk_recognise_leaky_relu},
    {WK_OP_MATMUL, wk_recognise_attention}, {WK_OP_REDUCE_SUM, wk_recognise_bags},
    {WK_OP_REDUCE_MEAN, wk_recognise_bags}, {WK_OP_REDUCE_MAX, wk_recognise_bags},
};

/* ---- matching ------------------------------------------------------------------------------- */

bool wk_is_near(double a, double b) { return fabs(a - b) <= 4e-6 * fabs(b); }

bool wk_match_number(const wk_rewrite *r, wk_value_id v, double *c) {
  return wk_known(r, v) && wk_const_splat(r->g, v, c) && isfinite(*c);
}

bool wk_match_sum(const wk_rewrite *r, wk_value_id v, wk_value_id *x, double *c) {
  const wk_node *add = wk_made_once_by(r, v, WK_OP_ADD);
  const wk_node *sub = add ? NULL : wk_made_once_by(r, v, WK_OP_SUB);
  for (uint32_t k = 0; add && k < 2; k++) {
    *x = add->in[1 - k];
    if (wk_match_number(r, add->in[k], c) && wk_type_equal(wk_type_of(r, *x), wk_type_of(r, v)))
      return true;
  }
  if (!sub || !wk_match_number(r, sub->in[1], c)) return false;
  *x = sub->in[0];
  *c = -*c;
  return wk_type_equal(wk_type_of(r, *x), wk_type_of(r, v));
}

wk_value_id wk_match_one_plus(const wk_rewrite *r, wk_value_id v) {
  wk_value_id x;
  double c;
  return wk_match_sum(r, v, &x, &c) && c == 1 ? x : WK_NONE;
}

/* The operand that remains of a product or quotient with a number, of the type of v. */
static wk_value_id without_number(const wk_rewrite *r, const wk_node *n, wk_value_id v,
                                  double *coef) {
  double c;
  for (uint32_t k = 2; k-- > 0;) {
    if (n->op == WK_OP_DIV && k == 0) break;
    if (!wk_match_number(r, n->in[k], &c) ||
        !wk_type_equal(wk_type_of(r, n->in[1 - k]), wk_type_of(r, v)))
      continue;
    if (n->op == WK_OP_DIV && c == 0) break;
    *coef = n->op == WK_OP_DIV ? *coef / c : *coef * c;
    return n->in[1 - k];
  }
  return WK_NONE;
}

/* Takes v apart into at most 3 values; 0: it is a factor. */
static uint32_t take_apart(const wk_rewrite *r, wk_value_id v, wk_value_id parts[3], double *coef) {
  const wk_node *n = wk_def(r->g, v);
  double c;
  if (!n || n->dead || n->predicate != WK_NONE) return 0;
  if (n->op == WK_OP_POW && wk_match_number(r, n->in[1], &c) && (c == 2 || c == 3)) {
    parts[0] = parts[1] = parts[2] = n->in[0];
    return (uint32_t)c;
  }
  if (n->op != WK_OP_MUL && n->op != WK_OP_DIV) return 0;
  parts[0] = without_number(r, n, v, coef);
  if (parts[0] != WK_NONE) return 1;
  if (n->op == WK_OP_DIV) return 0;
  parts[0] = n->in[0];
  parts[1] = n->in[1];
  return 2;
}

bool wk_match_product(const wk_rewrite *r, wk_value_id v, wk_product *p) {
  wk_value_id work[WK_MAX_FACTORS + 3] = {v}, parts[3];
  uint32_t left = 1;
  *p = (wk_product){.coef = 1};
  while (left) {
    wk_value_id at = work[--left];
    bool open = at == v || wk_once(r, at);
    uint32_t n = open ? take_apart(r, at, parts, &p->coef) : 0;
    if (n == 0) {
      if (p->n == WK_MAX_FACTORS) return false;
      p->factors[p->n++] = at;
    }
    if (left + n + p->n > WK_MAX_FACTORS) return false;
    for (uint32_t i = 0; i < n; i++) work[left++] = parts[i];
  }
  return true;
}

/* ---- the pass ------------------------------------------------------------------------------- */

/* Floats of 16 bits are rounded by each operator: fewer operators would be other results. */
static bool recognise(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->n_out != 1) return false;
  wk_dtype t = wk_type_of(r, n->out[0])->dtype;
  if (t != WK_F32 && t != WK_F64) return false;
  for (size_t i = 0; i < WK_COUNTOF(table); i++)
    if (table[i].last == n->op && wk_rewrite_replace(r, n->out[0], table[i].run(r, n))) return true;
  return false;
}

wk_status wk_pass_recognise(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, recognise); }
