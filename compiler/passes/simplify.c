/* SPDX-License-Identifier: Apache-2.0
 * Algebraic identities, one rule per operator. Only what holds for every float: x * 0 stays, and so
 * does x + 0, which takes the sign from -0; sums are not reassociated, a division becomes a product
 * only when the reciprocal is exact. Left open is which zero a minimum or maximum of 0 and -0 is,
 * and the last bit of a third power. */
#include <math.h>
#include <string.h>

#include "compiler/passes/simplify.h"

static bool use(wk_rewrite *r, const wk_node *n, wk_value_id v) {
  return wk_rewrite_replace(r, n->out[0], v);
}

static bool same_type(const wk_rewrite *r, const wk_node *n, wk_value_id v) {
  return wk_type_equal(wk_type_of(r, n->out[0]), wk_type_of(r, v));
}

static wk_dtype dtype_of(const wk_rewrite *r, wk_value_id v) { return wk_type_of(r, v)->dtype; }

/* ---- one operand ---------------------------------------------------------------------------- */

static bool identity(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  return use(r, n, n->in[0]);
}

static int digits(wk_dtype t) { /* bits of the integers that a type holds without gaps */
  switch (t) {
  case WK_F16: return 11;
  case WK_BF16: return 8;
  case WK_F32: return 24;
  case WK_F64: return 53;
  case WK_BOOL: return 1;
  default: return wk_dtype_bits(t) - wk_dtype_is_signed(t);
  }
}

/* Every value of `from` is one of `to`. */
static bool holds(wk_dtype to, wk_dtype from) {
  if (to == from) return true;
  if (to == WK_BOOL || (wk_dtype_is_narrow(to) && wk_dtype_is_float(to))) return false;
  if (from == WK_BOOL) return digits(to) > 0;
  if (wk_dtype_is_float(from))
    return to == WK_F64 || (to == WK_F32 && (from == WK_F16 || from == WK_BF16));
  if (wk_dtype_is_signed(from) && wk_dtype_is_unsigned(to)) return false;
  return digits(to) >= digits(from);
}

/* Two casts are one when the first loses nothing, unless it turns an integer into a float that the
 * second takes out of range: floats saturate where integers wrap. */
static bool cast(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (dtype_of(r, n->in[0]) == dtype_of(r, n->out[0])) return use(r, n, n->in[0]);
  const wk_node *inner = wk_made_by(r, n->in[0], WK_OP_CAST);
  if (!inner) return false;
  wk_value_id x = inner->in[0];
  wk_dtype from = dtype_of(r, x), via = dtype_of(r, n->in[0]), to = dtype_of(r, n->out[0]);
  bool saturates = wk_dtype_is_int(from) && wk_dtype_is_float(via) && wk_dtype_is_int(to);
  if (!holds(via, from) || (saturates && !holds(to, from))) return false;
  if (to == from) return use(r, n, x);
  return use(r, n, wk_rewrite_1(r, WK_OP_CAST, wk_attrs_clone(r->arena, WK_OP_CAST, n->attrs), x));
}

static bool involution(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  const wk_node *inner = wk_made_by(r, n->in[0], n->op);
  return inner && use(r, n, inner->in[0]);
}

static bool idempotent(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  return wk_made_by(r, n->in[0], n->op) && use(r, n, n->in[0]);
}

static bool absolute(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  const wk_node *neg = wk_made_by(r, n->in[0], WK_OP_NEG);
  if (!neg) return idempotent(r, id, n);
  return use(r, n, wk_rewrite_1(r, WK_OP_ABS, NULL, neg->in[0]));
}

/* What is rounded to integers already. */
static bool rounding(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  static const wk_op whole[] = {WK_OP_FLOOR, WK_OP_CEIL, WK_OP_ROUND};
  for (size_t i = 0; i < WK_COUNTOF(whole); i++)
    if (wk_made_by(r, n->in[0], whole[i])) return use(r, n, n->in[0]);
  return false;
}

/* ---- limits --------------------------------------------------------------------------------- */

typedef struct { double lo, hi; } limits;

/* Bounds are kept as f64: exact for the element types that hold their integers. */
static bool limits_of(const wk_rewrite *r, const wk_node *n, limits *l) {
  wk_dtype t = dtype_of(r, n->out[0]);
  if (t == WK_BOOL || t == WK_I64 || t == WK_U64) return false;
  *l = (limits){0, INFINITY};
  if (n->op == WK_OP_CLIP) *l = (limits){WK_ATTR(n, clip)->lo, WK_ATTR(n, clip)->hi};
  else if (n->op != WK_OP_RELU) return false;
  return l->lo <= l->hi;
}

static double limited(double v, limits l) { return fmin(fmax(v, l.lo), l.hi); }

/* With -0 it stays a clip, whose bound is what it gives for 0. */
static bool is_relu(limits l) { return l.lo == 0 && !signbit(l.lo) && l.hi == INFINITY; }

static wk_value_id add_clip(wk_rewrite *r, wk_value_id x, limits l) {
  if (l.lo == -INFINITY && l.hi == INFINITY) return x;
  if (is_relu(l)) return wk_rewrite_1(r, WK_OP_RELU, NULL, x);
  wk_attr_clip *a = wk_attrs_new(r->arena, WK_OP_CLIP);
  a->lo = l.lo;
  a->hi = l.hi;
  return wk_rewrite_1(r, WK_OP_CLIP, a, x);
}

static bool clip(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  limits outer, inner;
  wk_value_id x = n->in[0];
  if (!limits_of(r, n, &outer)) return false;
  const wk_node *p = wk_def(r->g, x);
  if (p && p->predicate == WK_NONE && limits_of(r, p, &inner)) {
    limits both = {limited(inner.lo, outer), limited(inner.hi, outer)};
    if (both.lo == inner.lo && both.hi == inner.hi) return use(r, n, x);
    return wk_once(r, x) && use(r, n, add_clip(r, p->in[0], both));
  }
  bool relu = is_relu(outer) && n->op == WK_OP_CLIP;
  bool all = outer.lo == -INFINITY && outer.hi == INFINITY;
  return (relu || all) && use(r, n, add_clip(r, x, outer));
}

/* min and max with one number are limits. */
static bool extreme(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  wk_dtype t = dtype_of(r, n->out[0]);
  double c;
  if (n->in[0] == n->in[1]) return use(r, n, n->in[0]);
  if (t == WK_BOOL || t == WK_I64 || t == WK_U64) return false;
  for (int k = 0; k < 2; k++) {
    if (!wk_known(r, n->in[k]) || !wk_const_splat(r->g, n->in[k], &c) || isnan(c)) continue;
    if (!same_type(r, n, n->in[1 - k])) continue;
    limits l = n->op == WK_OP_MIN ? (limits){-INFINITY, c} : (limits){c, INFINITY};
    return use(r, n, add_clip(r, n->in[1 - k], l));
  }
  return false;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static bool is_neutral(const wk_rewrite *r, wk_value_id v, double element) {
  double c;
  if (!wk_known(r, v) || !wk_const_splat(r->g, v, &c) || c != element) return false;
  return !wk_dtype_is_float(dtype_of(r, v)) || !signbit(c) == !signbit(element);
}

/* The other operand when one of the two is the neutral element. */
static bool neutral(wk_rewrite *r, const wk_node *n, double element, bool right_only) {
  if (is_neutral(r, n->in[1], element) && use(r, n, n->in[0])) return true;
  return !right_only && is_neutral(r, n->in[0], element) && use(r, n, n->in[1]);
}

static bool add(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  return neutral(r, n, -0.0, false); /* -0 + 0 is 0 */
}

static bool sub(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  return neutral(r, n, 0, true);
}

static bool negated(wk_rewrite *r, const wk_node *n, int k) {
  if (!wk_is_splat(r, n->in[k], -1) || !same_type(r, n, n->in[1 - k])) return false;
  return use(r, n, wk_rewrite_1(r, WK_OP_NEG, NULL, n->in[1 - k]));
}

static bool mul(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  return neutral(r, n, 1, false) || negated(r, n, 0) || negated(r, n, 1);
}

/* A power of two whose reciprocal is a normal number of type t. */
static bool has_exact_reciprocal(wk_dtype t, double c) {
  int exponent, limit = t == WK_F16 ? 14 : t == WK_F64 ? 1022 : 126;
  return fabs(frexp(c, &exponent)) == 0.5 && exponent - 1 <= limit && exponent - 1 >= -limit;
}

static bool divide(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  double c;
  if (neutral(r, n, 1, true)) return true;
  if (!wk_dtype_is_float(dtype_of(r, n->out[0])) || !wk_known(r, n->in[1])) return false;
  if (negated(r, n, 1)) return true;
  if (!wk_const_splat(r->g, n->in[1], &c) || !has_exact_reciprocal(dtype_of(r, n->in[1]), c))
    return false;
  const wk_type t = *wk_type_of(r, n->in[1]);
  wk_value_id by;
  if (t.rank == 0) {
    by = wk_rewrite_scalar(r, t.dtype, 1 / c);
  } else {
    void *data;
    by = wk_rewrite_constant(r, &t, &data);
    for (int64_t i = 0; by != WK_NONE && i < wk_type_count(&t); i++)
      wk_store_f64(data, t.dtype, i, 1 / c);
  }
  return by != WK_NONE && use(r, n, wk_rewrite_2(r, WK_OP_MUL, NULL, n->in[0], by));
}

static bool power(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  wk_value_id x = n->in[0];
  if (!same_type(r, n, x)) return false;
  if (wk_is_splat(r, n->in[1], 1)) return use(r, n, x);
  if (wk_is_splat(r, n->in[1], 2)) return use(r, n, wk_rewrite_2(r, WK_OP_MUL, NULL, x, x));
  wk_dtype t = wk_type_of(r, x)->dtype; /* of 16 bits, two products round twice */
  if (wk_compute_dtype(t) != t || !wk_is_splat(r, n->in[1], 3)) return false;
  return use(r, n, wk_rewrite_2(r, WK_OP_MUL, NULL, x, wk_rewrite_2(r, WK_OP_MUL, NULL, x, x)));
}

/* ---- logic ---------------------------------------------------------------------------------- */

static bool logic(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  if (n->in[0] == n->in[1] && n->op != WK_OP_XOR) return use(r, n, n->in[0]);
  return neutral(r, n, n->op == WK_OP_AND, false);
}

static bool where(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  double c;
  const wk_type t = *wk_type_of(r, n->out[0]);
  if (n->in[1] == n->in[2] && use(r, n, n->in[1])) return true;
  if (!wk_known(r, n->in[0]) || !wk_const_splat(r->g, n->in[0], &c)) return false;
  wk_value_id x = n->in[c != 0 ? 1 : 2];
  if (same_type(r, n, x)) return use(r, n, x);
  wk_attr_expand *a = wk_attrs_new(r->arena, WK_OP_EXPAND);
  a->shape = wk_ints_dup(r->arena, t.dims, t.rank);
  return wk_is_movable(wk_type_of(r, x)) && use(r, n, wk_rewrite_1(r, WK_OP_EXPAND, a, x));
}

static bool map(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  (void)id;
  return n->n_in == 1 && n->n_out == 1 && wk_expr_is_identity(WK_ATTR(n, map)->body) &&
         use(r, n, n->in[0]);
}

/* ---- operands that are only broadcast ------------------------------------------------------- */

static bool only_adds_leading_ones(const wk_type *x, const wk_type *y) {
  if (x->rank >= y->rank) return false;
  for (int i = 0; i < y->rank; i++) {
    int k = i - (y->rank - x->rank);
    if (y->dims[i] != (k < 0 ? 1 : x->dims[k])) return false;
  }
  return true;
}

/* The value that v is a broadcast of. */
static wk_value_id broadcast_source(const wk_rewrite *r, wk_value_id v) {
  const wk_node *p = wk_made_by(r, v, WK_OP_EXPAND);
  if (p) return p->in[0];
  p = wk_made_by(r, v, WK_OP_RESHAPE);
  bool adds = p && only_adds_leading_ones(wk_type_of(r, p->in[0]), wk_type_of(r, v));
  return adds ? p->in[0] : WK_NONE;
}

/* Elementwise operators broadcast by themselves. */
static bool drop_broadcasts(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  bool changed = false;
  bool follows = n->op == WK_OP_QUANTIZE || n->op == WK_OP_DEQUANTIZE; /* the shape of operand 0 */
  for (uint32_t k = follows; n->n_in > 1 && k < n->n_in; k++) {
    wk_value_id x = broadcast_source(r, n->in[k]);
    if (x == WK_NONE || wk_type_of(r, x)->quant) continue;
    if (!wk_spans(r, n, k, wk_type_of(r, x), wk_type_of(r, n->out[0]))) continue;
    wk_rewrite_set_input(r, id, k, x);
    changed = true;
  }
  return changed;
}

/* ---- the table ------------------------------------------------------------------------------ */

static const wk_rule rules[WK_OP_COUNT] = {
    [WK_OP_IDENTITY] = identity, [WK_OP_CAST] = cast,         [WK_OP_NEG] = involution,
    [WK_OP_NOT] = involution,    [WK_OP_BIT_NOT] = involution, [WK_OP_ABS] = absolute,
    [WK_OP_SIGN] = idempotent,   [WK_OP_FLOOR] = rounding,    [WK_OP_CEIL] = rounding,
    [WK_OP_ROUND] = rounding,    [WK_OP_RELU] = clip,         [WK_OP_CLIP] = clip,
    [WK_OP_MIN] = extreme,       [WK_OP_MAX] = extreme,       [WK_OP_ADD] = add,
    [WK_OP_SUB] = sub,           [WK_OP_MUL] = mul,           [WK_OP_DIV] = divide,
    [WK_OP_POW] = power,         [WK_OP_AND] = logic,         [WK_OP_OR] = logic,
    [WK_OP_XOR] = logic,         [WK_OP_WHERE] = where,       [WK_OP_MAP] = map,
};

static bool simplify(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  if (n->n_out < 1 || n->out[0] == WK_NONE) return false;
  if (rules[n->op] && rules[n->op](r, id, n)) return true;
  if (wk_simplify_movement(r, n)) return true;
  bool broadcasts = wk_op_get(n->op)->cls == WK_CLASS_ELEMENTWISE || n->op == WK_OP_MAP;
  return broadcasts && n->n_out == 1 && drop_broadcasts(r, id, n);
}

wk_status wk_pass_simplify(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, simplify); }
