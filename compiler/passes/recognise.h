/* SPDX-License-Identifier: Apache-2.0
 * For passes/ and integer/: matching what exporters write out. A recogniser looks at the last node
 * of a pattern and builds the operator that it spells; the nodes in between must have no other user
 * where keeping them would undo the gain. */
#ifndef WICK_PASSES_RECOGNISE_H
#define WICK_PASSES_RECOGNISE_H

#include "compiler/passes/rewrite.h"

/* The operator's value, or WK_NONE when n does not end such a pattern. */
typedef wk_value_id (*wk_recogniser)(wk_rewrite *r, const wk_node *n);

wk_value_id wk_recognise_sigmoid(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_silu(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_gelu(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_hard_gate(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_leaky_relu(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_softmax(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_log_softmax(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_layer_norm(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_attention(wk_rewrite *r, const wk_node *n);
wk_value_id wk_recognise_bags(wk_rewrite *r, const wk_node *n);

/* A standardised x: (x - mean) / sqrt(variance + epsilon) over the axes from `axis` on, or, when
 * not centred, x / sqrt(mean(x^2) + epsilon). */
typedef struct {
  wk_value_id x;
  int64_t axis;
  double epsilon;
  bool is_centred;
} wk_standardised;
/* n is the quotient or product that ends one written out. */
bool wk_match_standardised(const wk_rewrite *r, const wk_node *n, wk_standardised *l);

/* v as coef * factors[0] * factors[1] * …: products, quotients by numbers, squares and cubes with
 * no other user are taken apart, v itself in any case. */
#define WK_MAX_FACTORS 4
typedef struct {
  wk_value_id factors[WK_MAX_FACTORS];
  uint32_t n;
  double coef;
} wk_product;
bool wk_match_product(const wk_rewrite *r, wk_value_id v, wk_product *p);

/* v = x + c with a number c and no other user of v (subtraction of a number too). */
bool wk_match_sum(const wk_rewrite *r, wk_value_id v, wk_value_id *x, double *c);
/* v = 1 + x and v has no other user; x or WK_NONE. */
wk_value_id wk_match_one_plus(const wk_rewrite *r, wk_value_id v);
/* A single number known at compile time. */
bool wk_match_number(const wk_rewrite *r, wk_value_id v, double *c);
/* Equal up to how exporters round their constants. */
bool wk_is_near(double a, double b);

#endif
