/* SPDX-License-Identifier: Apache-2.0
 * Attention written out: softmax(scale * q k^T + mask) v, where the scale may stand on q, on k or
 * on the scores. k^T must be a transpose, which then turns into one that swaps no positions (or
 * none at all): lowering writes the same product again, so nothing is lost where no target takes
 * the whole. */
#include "compiler/passes/recognise.h"

static const wk_node *plain_product(const wk_rewrite *r, wk_value_id v) {
  const wk_node *n = wk_made_once_by(r, v, WK_OP_MATMUL);
  return n && n->n_in == 2 && !WK_ATTR(n, matmul)->epilogue ? n : NULL;
}

/* v = x times a number: x, and the number goes into *scale. */
static wk_value_id unscaled(const wk_rewrite *r, wk_value_id v, double *scale) {
  wk_product p;
  if (!wk_once(r, v) || !wk_match_product(r, v, &p) || p.n != 1) return v;
  if (!wk_type_equal(wk_type_of(r, p.factors[0]), wk_type_of(r, v))) return v;
  *scale *= p.coef;
  return p.factors[0];
}

/* scores + mask where the mask does not enlarge them. */
static wk_value_id unmasked(const wk_rewrite *r, wk_value_id v, wk_value_id *mask) {
  const wk_node *add = wk_made_once_by(r, v, WK_OP_ADD);
  *mask = WK_NONE;
  for (uint32_t k = 0; add && k < 2; k++) {
    double scale = 1;
    wk_value_id scores = add->in[k];
    if (!wk_type_equal(wk_type_of(r, scores), wk_type_of(r, v))) continue;
    if (!plain_product(r, unscaled(r, scores, &scale))) continue;
    *mask = add->in[1 - k];
    return scores;
  }
  return v;
}

/* k from k^T. */
static wk_value_id untransposed(wk_rewrite *r, wk_value_id v, double *scale) {
  v = unscaled(r, v, scale);
  const wk_node *t = wk_made_once_by(r, v, WK_OP_TRANSPOSE);
  if (!t) return WK_NONE;
  wk_value_id x = unscaled(r, t->in[0], scale);
  int rank = wk_type_of(r, v)->rank;
  int64_t perm[WK_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    int from = i < rank - 2 ? i : 2 * rank - 3 - i; /* the last two swapped */
    perm[i] = WK_ATTR(t, transpose)->perm.v[from];
  }
  return wk_rewrite_transpose(r, x, perm);
}

wk_value_id wk_recognise_attention(wk_rewrite *r, const wk_node *n) {
  if (n->n_in != 2 || WK_ATTR(n, matmul)->epilogue) return WK_NONE;
  const wk_node *softmax = wk_made_once_by(r, n->in[0], WK_OP_SOFTMAX);
  int rank = wk_type_of(r, n->in[0])->rank;
  if (!softmax || WK_ATTR(softmax, softmax)->axis != rank - 1) return WK_NONE;
  wk_attr_attention *a = wk_attrs_new(r->arena, WK_OP_ATTENTION);
  wk_value_id mask, scores = unmasked(r, softmax->in[0], &mask);
  if (!wk_once(r, scores)) return WK_NONE;
  scores = unscaled(r, scores, &a->scale);
  const wk_node *product = plain_product(r, scores);
  if (!product) return WK_NONE;
  wk_value_id q = unscaled(r, product->in[0], &a->scale), kt = product->in[1], v = n->in[1];
  const wk_value_id in[] = {q, untransposed(r, kt, &a->scale), v, mask};
  if (in[1] == WK_NONE) return WK_NONE;
  return wk_rewrite_add(r, WK_OP_ATTENTION, a, mask == WK_NONE ? 3 : 4, in);
}
