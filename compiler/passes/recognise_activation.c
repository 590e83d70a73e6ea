/* SPDX-License-Identifier: Apache-2.0
 * Activations written out. A product is compared as a whole (wk_match_product), so the order of its
 * factors and where the numbers stand do not matter. */
#include <math.h>

#include "compiler/passes/recognise.h"

static bool is_one(const wk_rewrite *r, wk_value_id v) { return wk_is_splat(r, v, 1); }

/* ---- sigmoid and SiLU ----------------------------------------------------------------------- */

/* v = 1 + exp(-x): x, else WK_NONE. */
static wk_value_id logistic_denominator(const wk_rewrite *r, wk_value_id v) {
  wk_value_id e = wk_match_one_plus(r, v);
  const wk_node *exp = e == WK_NONE ? NULL : wk_made_once_by(r, e, WK_OP_EXP);
  const wk_node *neg = exp ? wk_made_once_by(r, exp->in[0], WK_OP_NEG) : NULL;
  return neg ? neg->in[0] : WK_NONE;
}

/* 1 / (1 + exp(-x)) */
wk_value_id wk_recognise_sigmoid(wk_rewrite *r, const wk_node *n) {
  if (n->op == WK_OP_DIV && !is_one(r, n->in[0])) return WK_NONE;
  wk_value_id x = logistic_denominator(r, n->in[n->op == WK_OP_DIV]);
  return x == WK_NONE ? x : wk_rewrite_1(r, WK_OP_SIGMOID, NULL, x);
}

/* x / (1 + exp(-x)), x * sigmoid(x), x * tanh(softplus(x)) */
wk_value_id wk_recognise_silu(wk_rewrite *r, const wk_node *n) {
  if (n->op == WK_OP_DIV) {
    bool same = logistic_denominator(r, n->in[1]) == n->in[0];
    return same ? wk_rewrite_1(r, WK_OP_SILU, NULL, n->in[0]) : WK_NONE;
  }
  for (uint32_t k = 0; k < 2; k++) {
    wk_value_id x = n->in[1 - k];
    const wk_node *s = wk_made_once_by(r, n->in[k], WK_OP_SIGMOID);
    if (s && s->in[0] == x) return wk_rewrite_1(r, WK_OP_SILU, NULL, x);
    const wk_node *t = wk_made_once_by(r, n->in[k], WK_OP_TANH);
    const wk_node *p = t ? wk_made_once_by(r, t->in[0], WK_OP_SOFTPLUS) : NULL;
    if (p && p->in[0] == x) return wk_rewrite_1(r, WK_OP_MISH, NULL, x);
  }
  return WK_NONE;
}

/* ---- GELU ----------------------------------------------------------------------------------- */

/* v = coef * x^power and nothing else. */
static bool is_power(const wk_rewrite *r, wk_value_id v, wk_value_id x, uint32_t power,
                     double coef) {
  wk_product p;
  if (!wk_match_product(r, v, &p) || p.n != power || !wk_is_near(p.coef, coef)) return false;
  for (uint32_t i = 0; i < p.n; i++)
    if (p.factors[i] != x) return false;
  return true;
}

/* v = sqrt(2 / pi) * (x + 0.044715 x^3), with x perhaps taken out of the sum. */
static bool is_tanh_argument(const wk_rewrite *r, wk_value_id v, wk_value_id x) {
  const double cubic = 0.044715;
  wk_product p;
  if (!wk_match_product(r, v, &p) || !wk_is_near(p.coef, 0.79788456080286535588)) return false;
  if (p.n == 1) {
    const wk_node *add = wk_made_once_by(r, p.factors[0], WK_OP_ADD);
    for (uint32_t k = 0; add && k < 2; k++)
      if (add->in[k] == x && is_power(r, add->in[1 - k], x, 3, cubic)) return true;
    return false;
  }
  for (uint32_t k = 0; p.n == 2 && k < 2; k++) {
    wk_value_id square = wk_match_one_plus(r, p.factors[k]);
    if (p.factors[1 - k] == x && square != WK_NONE && is_power(r, square, x, 2, cubic)) return true;
  }
  return false;
}

/* 0.5 * x * (1 + erf(x / sqrt 2)) and 0.5 * x * (1 + tanh(…)) */
wk_value_id wk_recognise_gelu(wk_rewrite *r, const wk_node *n) {
  wk_product p;
  if (!wk_match_product(r, n->out[0], &p) || p.n != 2 || !wk_is_near(p.coef, 0.5)) return WK_NONE;
  for (uint32_t k = 0; k < 2; k++) {
    wk_value_id x = p.factors[k], e = wk_match_one_plus(r, p.factors[1 - k]);
    if (e == WK_NONE) continue;
    const wk_node *erf = wk_made_once_by(r, e, WK_OP_ERF);
    if (erf && is_power(r, erf->in[0], x, 1, 0.70710678118654752440))
      return wk_rewrite_1(r, WK_OP_GELU, NULL, x);
    const wk_node *tanh = wk_made_once_by(r, e, WK_OP_TANH);
    if (tanh && is_tanh_argument(r, tanh->in[0], x))
      return wk_rewrite_1(r, WK_OP_GELU_TANH, NULL, x);
  }
  return WK_NONE;
}

/* ---- hard sigmoid and hard swish ------------------------------------------------------------ */

/* v = height * max(0, min(1, alpha * x + beta)) */
typedef struct {
  wk_value_id x;
  double alpha, beta, height;
} hard_gate;

/* v = alpha * x + beta with at least one of them in the graph. */
static bool match_line(const wk_rewrite *r, wk_value_id v, hard_gate *h) {
  wk_product p;
  wk_value_id x;
  h->beta = 0;
  if (!wk_match_sum(r, v, &x, &h->beta)) x = v;
  else if (!wk_once(r, x)) { /* others use the product: it stays a whole */
    h->x = x;
    h->alpha = 1;
    return true;
  }
  if (!wk_match_product(r, x, &p) || p.n != 1) p = (wk_product){{x}, 1, 1};
  h->x = p.factors[0];
  h->alpha = p.coef;
  return h->x != v && h->alpha > 0 &&
         wk_type_equal(wk_type_of(r, h->x), wk_type_of(r, v));
}

static bool match_gate(const wk_rewrite *r, const wk_node *n, hard_gate *h) {
  if (n->op == WK_OP_HARD_SIGMOID) {
    const wk_attr_hard_sigmoid *a = n->attrs;
    *h = (hard_gate){n->in[0], a->alpha, a->beta, 1};
    return true;
  }
  const wk_attr_clip *a = n->attrs;
  if (n->op != WK_OP_CLIP || a->lo != 0 || !(a->hi > 0) || !isfinite(a->hi) ||
      !match_line(r, n->in[0], h))
    return false;
  h->height = a->hi;
  h->alpha /= a->hi;
  h->beta /= a->hi;
  return true;
}

static bool match_gate_of(const wk_rewrite *r, wk_value_id v, hard_gate *h) {
  const wk_node *n = wk_def(r->g, v);
  return n && !n->dead && n->predicate == WK_NONE && wk_once(r, v) && match_gate(r, n, h);
}

static wk_value_id add_hard_sigmoid(wk_rewrite *r, const hard_gate *h) {
  wk_attr_hard_sigmoid *a = wk_attrs_new(r->arena, WK_OP_HARD_SIGMOID);
  a->alpha = h->alpha;
  a->beta = h->beta;
  return wk_rewrite_1(r, WK_OP_HARD_SIGMOID, a, h->x);
}

/* clip(a x + b, 0, 1); clip(x + 3, 0, 6) / 6; x * clip(x + 3, 0, 6) / 6 */
wk_value_id wk_recognise_hard_gate(wk_rewrite *r, const wk_node *n) {
  hard_gate h;
  wk_product p;
  if (n->op == WK_OP_CLIP)
    return match_gate(r, n, &h) && h.height == 1 ? add_hard_sigmoid(r, &h) : WK_NONE;
  if (!wk_match_product(r, n->out[0], &p)) return WK_NONE;
  if (p.n == 1 && match_gate_of(r, p.factors[0], &h) && wk_is_near(p.coef * h.height, 1) &&
      wk_def(r->g, p.factors[0])->op == WK_OP_CLIP)
    return add_hard_sigmoid(r, &h);
  for (uint32_t k = 0; p.n == 2 && k < 2; k++)
    if (match_gate_of(r, p.factors[k], &h) && p.factors[1 - k] == h.x &&
        wk_is_near(p.coef * h.height, 1) && wk_is_near(h.alpha, 1.0 / 6) && wk_is_near(h.beta, 0.5))
      return wk_rewrite_1(r, WK_OP_HARD_SWISH, NULL, h.x);
  return WK_NONE;
}

/* ---- leaky ReLU ----------------------------------------------------------------------------- */

/* max(x, a x) with 0 < a <= 1 */
wk_value_id wk_recognise_leaky_relu(wk_rewrite *r, const wk_node *n) {
  for (uint32_t k = 0; k < 2; k++) {
    wk_product p;
    wk_value_id x = n->in[1 - k];
    if (!wk_made_once_by(r, n->in[k], WK_OP_MUL) || !wk_match_product(r, n->in[k], &p)) continue;
    if (p.n != 1 || p.factors[0] != x || p.coef <= 0 || p.coef > 1) continue;
    wk_attr_leaky_relu *a = wk_attrs_new(r->arena, WK_OP_LEAKY_RELU);
    a->alpha = p.coef;
    return wk_rewrite_1(r, WK_OP_LEAKY_RELU, a, x);
  }
  return WK_NONE;
}
