/* SPDX-License-Identifier: Apache-2.0
 * Private to integer/: from quantised graphs (real operators between dequantisation and
 * quantisation) to integer operators, as compiler/expr/quant.h defines them. One file per kind of
 * operator. */
#ifndef WICK_INTEGER_RULES_H
#define WICK_INTEGER_RULES_H

#include "compiler/expr/quant.h"
#include "compiler/integer/integer.h"
#include "compiler/passes/rewrite.h"

/* A real value that is scale * (q - zero), q in i8 or u8, one scale for all of it. */
typedef struct {
  wk_value_id q;
  wk_dtype dtype;
  double scale;
  int64_t zero;
} wk_affine;
bool wk_affine_of(const wk_rewrite *r, wk_value_id v, wk_affine *out);

/* The quantised result that a rule has to make: of the real value `from`, clamped to [lo, hi]. */
typedef struct {
  wk_value_id from;
  wk_dtype dtype;
  double scale;
  int64_t zero, lo, hi; /* in values of dtype */
  const wk_type *type;  /* of the result */
} wk_integer_result;

/* What is computed of a real value channel by channel, the last step first. */
#define WK_MOST_CHANNEL_STEPS 6
typedef struct {
  wk_node_id steps[WK_MOST_CHANNEL_STEPS];
  uint32_t operand[WK_MOST_CHANNEL_STEPS]; /* the one that is no constant */
  int n;
} wk_channel_steps;
/* The value before the steps that end in v, each the only user of what it reads; v itself: there is
 * no step. WK_NONE: too many. */
wk_value_id wk_channel_steps_of(wk_rewrite *r, wk_value_id v, wk_channel_steps *s);
/* gain * x + shift becomes what the steps make of it; `from_end` axes follow that of the channels.
 * False: a constant does not lie along the channels, or a number is not finite. */
bool wk_channel_steps_apply(wk_rewrite *r, const wk_channel_steps *s, int64_t channels,
                            int from_end, double *gain, double *shift);
/* A constant of one number, or one per channel, real or dequantised, as one per channel. */
bool wk_channel_reals(wk_rewrite *r, wk_value_id v, int64_t channels, int from_end, double *out);

/* Each returns the integer value, or WK_NONE when def (the node that makes y->from) does not fit.
 */
typedef wk_value_id (*wk_integer_rule)(wk_rewrite *r, const wk_node *def,
                                       const wk_integer_result *y);
wk_value_id wk_integer_contraction(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_sum(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_product(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_rescaled(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_choice(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_concat(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_max_pool(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_avg_pool(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_resize(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_extreme(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_mean(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_norm(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
wk_value_id wk_integer_softmax(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);
/* Any elementwise computation on scalars and quantised tensors that are all functions of the bytes
 * of one. */
wk_value_id wk_integer_table(wk_rewrite *r, const wk_node *def, const wk_integer_result *y);

/* The real result of a contraction of quantised operands that is not quantised again: integer sums,
 * scaled to f32. */
wk_value_id wk_integer_to_real(wk_rewrite *r, const wk_node *n);

/* Afterwards: functions of one byte that follow one another, or meet in a map, become one table,
 * with the same results. */
wk_status wk_integer_compose_graph(wk_graph *g, wk_pass_ctx *c) WK_MUST_CHECK;

/* Before: variables of floats that are quantised wherever they are read keep bytes. */
wk_status wk_integer_states(wk_graph *g, wk_pass_ctx *c) WK_MUST_CHECK;

/* The nearest tensor of bytes, a or b or one before them, of whose bytes both are functions, by
 * tables and maps; WK_NONE: none. */
wk_value_id wk_integer_common(const wk_rewrite *r, wk_value_id a, wk_value_id b);
/* v by the 256 bytes of x. False: x is none of what v is a function of, or too many steps before
 * it. */
bool wk_integer_function_of(const wk_rewrite *r, wk_value_id v, wk_value_id x, uint8_t *out);

/* ---- shared ---------------------------------------------------------------------------------- */

/* x with scale and zero point `from` as a value of y's type, scale and zero point, clamped; x
 * itself when nothing changes. */
wk_value_id wk_integer_requantized(wk_rewrite *r, const wk_affine *x, const wk_integer_result *y);
/* A map of the operands; results[0] is the body's result. */
wk_value_id wk_integer_map(wk_rewrite *r, wk_expr_builder *b, uint16_t result, uint32_t n_in,
                           const wk_value_id *in);
/* yes and no for bools, in bytes of type t. */
wk_value_id wk_integer_bytes(wk_rewrite *r, wk_value_id bools, wk_dtype t, int64_t yes, int64_t no);
/* A one-element constant's value; a movement of one too. */
bool wk_scalar_of(const wk_rewrite *r, wk_value_id v, double *out);
/* A constant of at most `most` elements, real or dequantised (with one scale, or one per element),
 * and its values in scratch memory; NULL: v is none. */
const double *wk_constant_reals(wk_rewrite *r, wk_value_id v, int64_t most, wk_type *type);
bool wk_is_constant_reals(wk_rewrite *r, wk_value_id v, int64_t most);
/* Somebody reads where the maxima of a pool lie. */
static inline bool wk_gives_positions(const wk_rewrite *r, const wk_node *pool) {
  return pool->n_out > 1 && pool->out[1] != WK_NONE && r->uses[pool->out[1]];
}

#endif
