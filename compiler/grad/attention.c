/* SPDX-License-Identifier: Apache-2.0
 * Adjoint of attention, y = P v with P = softmax(scale q k^T + mask). P, which is the largest, is
 * computed again instead of being kept. With D the sums of g y along each row, which are those of
 * P (g v^T) as well: dS = P (g v^T - D), dq = scale dS k, dk = scale dS^T q, dv = P^T g.
 *
 * A row that the mask leaves no key has no probabilities (0/0). Who imports attention puts 0 in the
 * place of its results, so g is 0 there, and nothing of the row may reach the others by way of the
 * products: its P is 0, and so is its part of D. */
#include "compiler/grad/adjoint.h"

enum { Q, K, V, MASK };

/* Softmax along the last axis; 0 where all of a row is -inf. */
static wk_value_id softmax_or_zeros(wk_low *l, wk_dtype wide, wk_value_id s) {
  const int64_t last = wk_low_type(l, s)->rank - 1;
  wk_value_id top = wk_low_reduce(l, wide, "max", s, &last, 1, true, NULL, NULL);
  wk_value_id x = wk_low_map(l, wide, "select(eq(b, -inf), 0, exp(sub(a, b)))", 2, s, top);
  wk_value_id sum = wk_low_reduce(l, wide, "sum", x, &last, 1, true, NULL, NULL);
  return wk_low_map(l, wide, "select(eq(b, 0), 0, div(a, b))", 2, x, sum);
}

static wk_value_id probabilities(wk_adjoint *a, wk_dtype wide) {
  wk_low *l = &a->l;
  const wk_value_id *in = a->n->in;
  bool has_mask = a->n->n_in > MASK && in[MASK] != WK_NONE;
  char text[64];
  snprintf(text, sizeof text, has_mask ? "add(mul(a, %.17g), b)" : "mul(a, %.17g)",
           WK_ATTR(a->n, attention)->scale);
  wk_value_id s = wk_low_matmul(l, wide, in[Q], wk_adjoint_swapped(l, in[K]), WK_NONE);
  s = has_mask ? wk_low_map(l, wide, text, 2, s, in[MASK]) : wk_low_map(l, wide, text, 1, s);
  if (l->status) return 0;
  if (has_mask) return softmax_or_zeros(l, wide, s);
  wk_attr_softmax *p = wk_attrs_new(l->arena, WK_OP_SOFTMAX);
  p->axis = wk_low_type(l, s)->rank - 1;
  return wk_low_add(l, WK_OP_SOFTMAX, p, &s, 1, 1, NULL);
}

/* A product's leading dims may be more than those of input k, whose adjoint it is. */
static void give(wk_adjoint *a, uint32_t k, wk_value_id d) {
  if (a->l.status) return;
  const wk_type t = *wk_low_type(&a->l, a->n->in[k]);
  a->dx[k] = wk_adjoint_sum_to(&a->l, d, &t);
}

void wk_adjoint_attention(wk_adjoint *a) {
  wk_low *l = &a->l;
  const wk_value_id *in = a->n->in;
  wk_dtype wide = wk_compute_dtype(wk_low_type(l, in[Q])->dtype);
  wk_value_id g = a->dy[0], p = probabilities(a, wide);
  if (a->wants[V]) give(a, V, wk_adjoint_product(l, wide, p, g));
  if (l->status || (!a->wants[Q] && !a->wants[K] && !wk_adjoint_wants(a, MASK))) return;
  const int64_t last = wk_low_type(l, g)->rank - 1;
  wk_value_id both = wk_low_map(l, wide, "select(eq(a, 0), 0, mul(a, b))", 2, g, a->n->out[0]);
  wk_value_id d = wk_low_reduce(l, wide, "sum", both, &last, 1, true, NULL, NULL);
  wk_value_id dp = wk_low_matmul(l, wide, g, wk_adjoint_swapped(l, in[V]), WK_NONE);
  char text[80];
  snprintf(text, sizeof text, "mul(mul(a, sub(b, c)), %.17g)", WK_ATTR(a->n, attention)->scale);
  wk_value_id ds = wk_low_map(l, wide, text, 3, p, dp, d);
  if (a->wants[Q]) give(a, Q, wk_low_matmul(l, wide, ds, in[K], WK_NONE));
  if (a->wants[K]) give(a, K, wk_adjoint_product(l, wide, ds, in[Q]));
  if (!wk_adjoint_wants(a, MASK) || l->status) return;
  const wk_type mask = *wk_low_type(l, in[MASK]);
  ds = wk_low_map(l, wide, "mul(a, sub(b, c))", 3, p, dp, d);
  a->dx[MASK] = wk_adjoint_sum_to(l, ds, &mask);
}
