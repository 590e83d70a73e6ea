/* SPDX-License-Identifier: Apache-2.0
 * Softmax and layer normalisation written out. */
#include <math.h>

#include "compiler/passes/recognise.h"

static bool is_axis(const wk_node *n, int64_t axis) {
  const wk_attr_reduce_sum *a = n->attrs; /* the same fields in all reductions */
  return a->axes.n == 1 && a->axes.v[0] == axis && a->keepdims;
}

/* ---- softmax -------------------------------------------------------------------------------- */

/* v = x - max(x) along the axis: x, else WK_NONE. v has `uses` users. */
static wk_value_id match_shifted(const wk_rewrite *r, wk_value_id v, int64_t axis, uint32_t uses) {
  const wk_node *sub = wk_made_by(r, v, WK_OP_SUB);
  const wk_node *max = sub ? wk_made_once_by(r, sub->in[1], WK_OP_REDUCE_MAX) : NULL;
  if (!max || r->uses[v] != uses || max->in[0] != sub->in[0] || !is_axis(max, axis)) return WK_NONE;
  return sub->in[0];
}

/* x is an 8-bit value of a scale with which no sum of exponentials overflows. */
static bool is_bounded(const wk_rewrite *r, wk_value_id x) {
  const wk_node *d = wk_made_by(r, x, WK_OP_DEQUANTIZE);
  double scale;
  return d && wk_dtype_size(wk_type_of(r, d->in[0])->dtype) == 1 &&
         wk_match_number(r, d->in[1], &scale) && fabs(scale) * 256 < 64;
}

/* v = e^e.in summed along one axis that is kept: that axis, else -1. */
static int64_t sum_axis(const wk_node *sum) {
  const wk_attr_reduce_sum *a = sum->attrs;
  return a->axes.n == 1 && a->keepdims ? a->axes.v[0] : -1;
}

/* e / sum(e) or e * (1 / sum(e)), e = exp(x - max(x)) */
wk_value_id wk_recognise_softmax(wk_rewrite *r, const wk_node *n) {
  for (uint32_t k = 0; k < 2; k++) {
    wk_value_id e = n->in[1 - k], s = n->in[k];
    if (n->op == WK_OP_DIV && k == 0) continue;
    if (n->op == WK_OP_MUL) {
      const wk_node *inverse = wk_made_once_by(r, s, WK_OP_RECIPROCAL);
      if (!inverse) continue;
      s = inverse->in[0];
    }
    const wk_node *exp = wk_made_by(r, e, WK_OP_EXP),
                  *sum = wk_made_once_by(r, s, WK_OP_REDUCE_SUM);
    if (!exp || !sum || sum->in[0] != e || r->uses[e] != 2 || sum_axis(sum) < 0) continue;
    int64_t axis = sum_axis(sum);
    wk_value_id x = match_shifted(r, exp->in[0], axis, 1);
    if (x == WK_NONE && is_bounded(r, exp->in[0])) x = exp->in[0];
    if (x == WK_NONE) continue;
    wk_attr_softmax *a = wk_attrs_new(r->arena, WK_OP_SOFTMAX);
    a->axis = axis;
    return wk_rewrite_1(r, WK_OP_SOFTMAX, a, x);
  }
  return WK_NONE;
}

/* d - log(sum(exp(d))), d = x - max(x) */
wk_value_id wk_recognise_log_softmax(wk_rewrite *r, const wk_node *n) {
  const wk_node *log = wk_made_once_by(r, n->in[1], WK_OP_LOG);
  const wk_node *sum = log ? wk_made_once_by(r, log->in[0], WK_OP_REDUCE_SUM) : NULL;
  const wk_node *exp = sum ? wk_made_once_by(r, sum->in[0], WK_OP_EXP) : NULL;
  if (!exp || exp->in[0] != n->in[0] || sum_axis(sum) < 0) return WK_NONE;
  int64_t axis = sum_axis(sum);
  wk_value_id x = match_shifted(r, n->in[0], axis, 2);
  if (x == WK_NONE) return x;
  wk_attr_log_softmax *a = wk_attrs_new(r->arena, WK_OP_LOG_SOFTMAX);
  a->axis = axis;
  return wk_rewrite_1(r, WK_OP_LOG_SOFTMAX, a, x);
}

/* ---- layer normalisation -------------------------------------------------------------------- */

/* A mean over the last axes, kept: the first of them, else -1. */
static int64_t mean_axis(const wk_rewrite *r, const wk_node *mean) {
  const wk_attr_reduce_mean *a = mean->attrs;
  int rank = wk_type_of(r, mean->in[0])->rank;
  if (!a->keepdims || a->axes.n < 1) return -1;
  for (int64_t i = 0; i < a->axes.n; i++)
    if (a->axes.v[i] != rank - a->axes.n + i) return -1;
  return rank - a->axes.n;
}

/* v = x - mean(x) over the axes of l. */
static bool is_centred(const wk_rewrite *r, wk_value_id v, const wk_standardised *l) {
  const wk_node *sub = wk_made_by(r, v, WK_OP_SUB);
  const wk_node *mean = sub ? wk_made_once_by(r, sub->in[1], WK_OP_REDUCE_MEAN) : NULL;
  return mean && mean->in[0] == sub->in[0] && mean_axis(r, mean) == l->axis;
}

/* v is d, or x - mean(x) like d but computed apart, for `uses` readers. */
static bool is_deviation(const wk_rewrite *r, wk_value_id v, wk_value_id d, uint32_t uses,
                         const wk_standardised *l) {
  if (v == d) return true;
  return r->uses[v] == uses && is_centred(r, v, l) && is_centred(r, d, l) &&
         wk_def(r->g, v)->in[0] == wk_def(r->g, d)->in[0];
}

/* v = mean(d^2) + epsilon; *uses: how often the square mentions d. */
static bool match_variance(const wk_rewrite *r, wk_value_id v, wk_value_id d, wk_standardised *l,
                           uint32_t *uses) {
  wk_value_id m;
  double two;
  if (!wk_match_sum(r, v, &m, &l->epsilon) || l->epsilon < 0) return false;
  const wk_node *mean = wk_made_once_by(r, m, WK_OP_REDUCE_MEAN);
  l->axis = mean ? mean_axis(r, mean) : -1;
  if (l->axis < 0) return false;
  const wk_node *pow = wk_made_once_by(r, mean->in[0], WK_OP_POW);
  const wk_node *mul = wk_made_once_by(r, mean->in[0], WK_OP_MUL);
  if (!mul && (!pow || !wk_match_number(r, pow->in[1], &two) || two != 2)) return false;
  const wk_value_id of = mul ? mul->in[0] : pow->in[0];
  *uses = of != d ? 0 : mul ? 2 : 1;
  return (!mul || mul->in[1] == of) && is_deviation(r, of, d, mul ? 2 : 1, l);
}

/* s = sqrt(variance), or its reciprocal when `inverse`. */
static wk_value_id match_deviation(const wk_rewrite *r, wk_value_id s, bool inverse) {
  double minus_half;
  if (inverse) {
    const wk_node *pow = wk_made_once_by(r, s, WK_OP_POW);
    if (pow && wk_match_number(r, pow->in[1], &minus_half) && minus_half == -0.5) return pow->in[0];
    const wk_node *reciprocal = wk_made_once_by(r, s, WK_OP_RECIPROCAL);
    const wk_node *div = reciprocal ? NULL : wk_made_once_by(r, s, WK_OP_DIV);
    if (!reciprocal && !(div && wk_is_splat(r, div->in[0], 1))) return WK_NONE;
    s = reciprocal ? reciprocal->in[0] : div->in[1];
  }
  const wk_node *sqrt = wk_made_once_by(r, s, WK_OP_SQRT);
  return sqrt ? sqrt->in[0] : WK_NONE;
}

bool wk_match_standardised(const wk_rewrite *r, const wk_node *n, wk_standardised *l) {
  if (n->op != WK_OP_DIV && n->op != WK_OP_MUL) return false;
  for (uint32_t k = n->op == WK_OP_DIV; k < 2; k++) {
    uint32_t uses;
    wk_value_id d = n->in[1 - k], v = match_deviation(r, n->in[k], n->op == WK_OP_MUL);
    if (v == WK_NONE || !match_variance(r, v, d, l, &uses)) continue;
    l->is_centred = is_centred(r, d, l);
    l->x = l->is_centred ? wk_def(r->g, d)->in[0] : d;
    if (!l->is_centred || r->uses[d] == uses + 1) return true;
  }
  return false;
}

static bool broadcasts_to(const wk_type *t, const wk_type *x) {
  if (t->dtype != x->dtype || t->rank > x->rank || t->quant) return false;
  for (int i = 1; i <= t->rank; i++)
    if (t->dims[t->rank - i] != 1 && t->dims[t->rank - i] != x->dims[x->rank - i]) return false;
  return true;
}

/* A product with a scale behind a norm whose scale is the number 1, a sum with a bias behind a norm
 * that has none. */
static wk_value_id with_operand(wk_rewrite *r, const wk_node *n) {
  for (uint32_t k = 0; k < 2; k++) {
    const wk_node *p = wk_made_once_by(r, n->in[k], WK_OP_LAYER_NORM);
    wk_value_id v = n->in[1 - k];
    const wk_type *y = wk_type_of(r, n->in[k]);
    if (!p || p->n_out != 1 || !broadcasts_to(wk_type_of(r, v), y)) continue;
    bool has_bias = p->n_in > 2 && p->in[2] != WK_NONE;
    if (has_bias || (n->op == WK_OP_MUL && !wk_is_splat(r, p->in[1], 1))) continue;
    if (wk_type_of(r, v)->rank == y->rank && !wk_known(r, v)) continue; /* a residual, a gate */
    const wk_value_id in[] = {p->in[0], n->op == WK_OP_MUL ? v : p->in[1], v};
    void *a = wk_attrs_clone(r->arena, WK_OP_LAYER_NORM, p->attrs);
    return wk_rewrite_add(r, WK_OP_LAYER_NORM, a, n->op == WK_OP_MUL ? 2 : 3, in);
  }
  return WK_NONE;
}

wk_value_id wk_recognise_layer_norm(wk_rewrite *r, const wk_node *n) {
  wk_standardised l;
  if (wk_match_standardised(r, n, &l) && l.is_centred) {
    wk_attr_layer_norm *a = wk_attrs_new(r->arena, WK_OP_LAYER_NORM);
    a->axis = l.axis;
    a->epsilon = l.epsilon;
    wk_value_id one = wk_rewrite_scalar(r, wk_type_of(r, l.x)->dtype, 1);
    return wk_rewrite_2(r, WK_OP_LAYER_NORM, a, l.x, one);
  }
  return n->op == WK_OP_DIV ? WK_NONE : with_operand(r, n);
}
