/* SPDX-License-Identifier: Apache-2.0
 * Softmax of quantised scores, some of which a mask may leave out: quant.h has the steps. */
#include <math.h>
#include <string.h>

#include "compiler/integer/rules.h"
#include "compiler/passes/recognise.h"

/* Scores, and bools that broadcast to them: they count where these are `counts`. */
typedef struct {
  wk_affine x;
  wk_value_id mask; /* WK_NONE: all count */
  bool counts;
  bool may_be_empty; /* a row may count nowhere */
} scores;

/* exp of what lies so far below the least score is 0 in f32. */
static double far_below(const wk_affine *x) {
  enum { F32_EXP = 104 };
  int64_t least = x->dtype == WK_I8 ? INT8_MIN : 0;
  return (double)(least - x->zero) * x->scale - F32_EXP;
}

static bool is_shape_fine(const wk_rewrite *r, wk_value_id q, wk_value_id mask,
                          const wk_type *y) {
  const wk_type *k = wk_type_of(r, mask);
  if (!wk_shape_equal(wk_type_of(r, q), y) || k->rank > y->rank) return false;
  for (int i = 0; i < k->rank; i++) {
    int64_t d = k->dims[i];
    if (d != 1 && d != y->dims[y->rank - k->rank + i]) return false;
  }
  return true;
}

/* where(c, x, far) or where(c, far, x) */
static bool chosen(const wk_rewrite *r, const wk_node *n, scores *s) {
  for (int i = 1; i <= 2; i++) {
    double far;
    if (!wk_affine_of(r, n->in[i], &s->x) || !wk_scalar_of(r, n->in[3 - i], &far) ||
        !(far <= far_below(&s->x)))
      continue;
    s->mask = n->in[0];
    s->counts = i == 1;
    return true;
  }
  return false;
}

/* Bools of a constant of zeros and numbers that are far below. */
static wk_value_id kept(wk_rewrite *r, wk_value_id mask, double far) {
  const wk_type t = *wk_type_of(r, mask);
  wk_type as = wk_type_make(WK_BOOL, t.rank, t.dims);
  void *data;
  if (!wk_known(r, mask) || !wk_dtype_is_float(t.dtype)) return WK_NONE;
  const void *from = wk_val(r->g, mask)->data;
  int64_t n = wk_type_count(&t);
  for (int64_t i = 0; i < n; i++) {
    double v = wk_load_f64(from, t.dtype, i);
    if (v != 0 && !(v <= far)) return WK_NONE;
  }
  wk_value_id keep = wk_rewrite_constant(r, &as, &data);
  for (int64_t i = 0; keep != WK_NONE && i < n; i++)
    ((uint8_t *)data)[i] = wk_load_f64(from, t.dtype, i) == 0;
  return keep;
}

/* x + mask */
static bool added(wk_rewrite *r, const wk_node *n, scores *s) {
  for (int i = 0; i < 2; i++) {
    if (!wk_affine_of(r, n->in[i], &s->x)) continue;
    s->mask = kept(r, n->in[1 - i], far_below(&s->x));
    s->counts = true;
    if (s->mask != WK_NONE) return true;
  }
  return false;
}

/* Of constants each row along the last axis is looked at. */
static bool may_be_empty(const wk_rewrite *r, const scores *s, int axis, const wk_type *y) {
  const wk_type *t = wk_type_of(r, s->mask);
  if (!wk_known(r, s->mask) || axis != y->rank - 1 || !t->rank) return true;
  const uint8_t *k = wk_val(r->g, s->mask)->data;
  int64_t n = t->dims[t->rank - 1], rows = wk_type_count(t) / (n ? n : 1);
  for (int64_t i = 0; i < rows; i++)
    if (!memchr(k + i * n, s->counts, (size_t)n)) return true;
  return false;
}

static bool scores_of(wk_rewrite *r, const wk_node *def, const wk_type *y, scores *s) {
  *s = (scores){.mask = WK_NONE};
  if (wk_affine_of(r, def->in[0], &s->x)) return true;
  const wk_node *n = wk_def(r->g, def->in[0]);
  if (!n || n->predicate != WK_NONE) return false;
  const wk_node of = *n;
  bool found = of.op == WK_OP_WHERE ? chosen(r, &of, s) : of.op == WK_OP_ADD && added(r, &of, s);
  if (!found || !is_shape_fine(r, s->x.q, s->mask, y)) return false;
  s->may_be_empty = may_be_empty(r, s, (int)WK_ATTR(def, softmax)->axis, y);
  return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int64_t least_of(wk_dtype t) { return t == WK_I8 ? INT8_MIN : 0; }

/* A byte for each bool: the greatest where an element counts, else the least. */
static wk_value_id bytes_of(wk_rewrite *r, const scores *s, wk_dtype t) {
  const int64_t least = least_of(t), of[2] = {least, least + UINT8_MAX};
  return wk_integer_bytes(r, s->mask, t, of[s->counts], of[!s->counts]);
}

static wk_value_id least_of_both(wk_rewrite *r, wk_dtype t, wk_value_id x, wk_value_id mask) {
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t v = wk_expr_2(b, WK_EX_MIN, wk_expr_input(b, 0, t), wk_expr_input(b, 1, t));
  return wk_integer_map(r, b, v, 2, (const wk_value_id[]){x, mask});
}

static wk_value_id greatest_of_row(wk_rewrite *r, wk_value_id x, int64_t axis) {
  wk_attr_reduce_max *a = wk_attrs_new(r->arena, WK_OP_REDUCE_MAX);
  a->axes = wk_ints_dup(r->arena, &axis, 1);
  a->keepdims = 1;
  return wk_rewrite_1(r, WK_OP_REDUCE_MAX, a, x);
}

/* Scores of a row moved up, so that its greatest is the greatest of the type; the least stays for
 * those that do not count. */
static wk_value_id lifted(wk_rewrite *r, wk_dtype t, wk_value_id x, wk_value_id most) {
  const int64_t least = least_of(t), one = 1 << (WK_RESCALE_BITS_8 - 1);
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t term[2];
  for (int i = 0; i < 2; i++)
    term[i] = wk_expr_2(b, WK_EX_MUL, wk_expr_centred(b, wk_expr_input(b, i, t), least),
                        wk_expr_i(b, WK_I32, one));
  uint16_t v = wk_expr_2(b, WK_EX_SUB, term[0], term[1]);
  v = wk_expr_2(b, WK_EX_SHR_ROUND, v, wk_expr_i(b, WK_I32, WK_RESCALE_BITS_8 - 1));
  v = wk_expr_requantized(b, v, least + UINT8_MAX, t, least + 1, least + UINT8_MAX);
  return wk_integer_map(r, b, v, 2, (const wk_value_id[]){x, most});
}

/* zero, clamped as all results are, where an element does not count. */
static wk_value_id emptied(wk_rewrite *r, wk_value_id p, wk_value_id mask, const scores *s,
                           const wk_integer_result *y) {
  int64_t zero = y->zero < y->lo ? y->lo : y->zero > y->hi ? y->hi : y->zero;
  if (s->x.dtype != y->dtype) mask = bytes_of(r, s, y->dtype);
  if (mask == WK_NONE) return WK_NONE;
  if (zero == least_of(y->dtype)) return least_of_both(r, y->dtype, p, mask);
  wk_expr_builder *b = wk_expr_begin(r->arena);
  uint16_t is_out = wk_expr_2(b, WK_EX_EQ, wk_expr_input(b, 1, y->dtype),
                              wk_expr_i(b, y->dtype, least_of(y->dtype)));
  uint16_t v = wk_expr_3(b, WK_EX_SELECT, is_out, wk_expr_i(b, y->dtype, zero),
                         wk_expr_input(b, 0, y->dtype));
  return wk_integer_map(r, b, v, 2, (const wk_value_id[]){p, mask});
}

static wk_value_id softmax(wk_rewrite *r, const wk_attr_softmax *at, const scores *s,
                           const wk_integer_result *y, int64_t far, wk_value_id q) {
  wk_attr_integer_softmax *a = wk_attrs_new(r->arena, WK_OP_INTEGER_SOFTMAX);
  int shift;
  a->axis = at->axis;
  if (!wk_softmax_factor(wk_type_of(r, q)->dims[a->axis], y->scale, &a->mult, &shift))
    return WK_NONE;
  a->scale = s->x.scale;
  a->far = far;
  a->shift = shift;
  a->zero = y->zero;
  a->lo = y->lo;
  a->hi = y->hi;
  a->to = y->dtype;
  return wk_rewrite_1(r, WK_OP_INTEGER_SOFTMAX, a, q);
}

wk_value_id wk_integer_softmax(wk_rewrite *r, const wk_node *def, const wk_integer_result *y) {
  if (def->op != WK_OP_SOFTMAX) { /* written out */
    const wk_node n = *def;
    wk_value_id v = wk_recognise_softmax(r, &n);
    def = v == WK_NONE ? NULL : wk_made_by(r, v, WK_OP_SOFTMAX);
    if (!def || def->predicate != WK_NONE) return WK_NONE;
  }
  const wk_attr_softmax at = *WK_ATTR(def, softmax);
  scores s;
  int64_t m;
  int shift;
  if (!scores_of(r, def, y->type, &s) ||
      !wk_softmax_factor(y->type->dims[at.axis], y->scale, &m, &shift))
    return WK_NONE;
  wk_value_id q = s.x.q;
  if (s.mask == WK_NONE) return softmax(r, &at, &s, y, WK_SOFTMAX_FAR, q);
  wk_dtype t = s.x.dtype;
  wk_value_id mask = bytes_of(r, &s, t);
  if (mask == WK_NONE) return WK_NONE;
  wk_value_id masked = least_of_both(r, t, q, mask);
  q = lifted(r, t, masked, greatest_of_row(r, masked, at.axis));
  q = softmax(r, &at, &s, y, UINT8_MAX, least_of_both(r, t, q, mask));
  return s.may_be_empty ? emptied(r, q, mask, &s, y) : q;
}
