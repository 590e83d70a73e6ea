/* SPDX-License-Identifier: Apache-2.0
 * Masks that are added to scores: one scale for both would leave nothing to the scores. What a
 * softmax takes no part of is chosen away instead. */
#include <float.h>
#include <math.h>

#include "compiler/passes/recognise.h"

enum {
  FAR = 64,      /* what a mask takes away at least: exp(-64) is 2^-92 */
  FACTOR = 1000, /* what a mask is multiplied by at least, where it is computed */
  ADDENDS = 8,
  DEPTH = 16
};

/* Zeros and numbers far below; *most is the greatest of those. */
static bool is_constant_mask(const wk_rewrite *r, wk_value_id v, double *most) {
  const wk_type *t = wk_type_of(r, v);
  if (!wk_known(r, v) || !wk_dtype_is_float(t->dtype)) return false;
  *most = -INFINITY;
  bool any = false;
  for (int64_t i = 0, n = wk_type_count(t); i < n; i++) {
    double x = wk_load_f64(wk_val(r->g, v)->data, t->dtype, i);
    if (x == 0) continue;
    if (!(x <= -FAR)) return false;
    any = true;
    if (x > *most) *most = x;
  }
  return any;
}

/* m - 1 */
static bool is_less_one(const wk_rewrite *r, wk_value_id v) {
  const wk_node *n = wk_made_by(r, v, WK_OP_SUB);
  double one;
  return n && wk_match_number(r, n->in[1], &one) && one == 1;
}

/* (1 - m) * -10000, (m - 1) * 10000: m is 1 for what takes part, and 0 else. */
static bool is_scaled_mask(const wk_rewrite *r, const wk_node *n, double *most) {
  for (int i = 0; i < 2; i++) {
    double factor;
    if (!wk_match_number(r, n->in[i], &factor)) continue;
    if (is_less_one(r, n->in[1 - i])) factor = -factor;
    *most = factor;
    return factor <= -FACTOR;
  }
  return false;
}

/* where(c, 0, far) and the other way round */
static bool is_chosen_mask(const wk_rewrite *r, const wk_node *n, double *most) {
  double x[2];
  if (!wk_match_number(r, n->in[1], &x[0]) || !wk_match_number(r, n->in[2], &x[1])) return false;
  *most = x[0] == 0 ? x[1] : x[0];
  return (x[0] == 0 || x[1] == 0) && *most <= -FAR;
}

static bool is_mask_within(const wk_rewrite *r, wk_value_id v, int depth, double *most);

/* Masks that are added up, or the lesser of them. */
static bool are_masks(const wk_rewrite *r, const wk_node *n, int depth, double *most) {
  double other;
  if (!is_mask_within(r, n->in[0], depth, most) || !is_mask_within(r, n->in[1], depth, &other))
    return false;
  if (other > *most) *most = other;
  return true;
}

static bool is_mask_within(const wk_rewrite *r, wk_value_id v, int depth, double *most) {
  if (is_constant_mask(r, v, most)) return true;
  const wk_node *n = wk_def(r->g, v);
  if (!n || n->predicate != WK_NONE || depth == DEPTH) return false;
  switch (n->op) {
    case WK_OP_MUL: return is_scaled_mask(r, n, most);
    case WK_OP_WHERE: return is_chosen_mask(r, n, most);
    case WK_OP_ADD:
    case WK_OP_MIN: return are_masks(r, n, depth + 1, most);
    case WK_OP_RESHAPE:
    case WK_OP_TRANSPOSE:
    case WK_OP_EXPAND:
    case WK_OP_SLICE:
    case WK_OP_IDENTITY: return is_mask_within(r, n->in[0], depth + 1, most);
    default: return false;
  }
}

/* Bools: mask v takes something away there, `most` or less. */
static wk_value_id takes_away(wk_rewrite *r, wk_value_id v, double most) {
  double half = most < -FLT_MAX ? -FLT_MAX / 2 : most / 2;
  wk_value_id limit = wk_rewrite_scalar(r, wk_type_of(r, v)->dtype, half);
  return limit == WK_NONE ? WK_NONE : wk_rewrite_2(r, WK_OP_LESS, NULL, v, limit);
}

/* What is added up to v and has no other reader. */
static size_t addends(const wk_rewrite *r, wk_value_id v, wk_value_id out[ADDENDS]) {
  size_t n = 1;
  out[0] = v;
  for (size_t i = 0; i < n;) {
    const wk_node *add = wk_made_by(r, out[i], WK_OP_ADD);
    if (!add || add->predicate != WK_NONE || !wk_once(r, out[i]) || n == ADDENDS) {
      i++;
      continue;
    }
    for (size_t j = n; j > i + 1; j--) out[j] = out[j - 1];
    out[i + 1] = add->in[1];
    out[i] = add->in[0];
    n++;
  }
  return n;
}

/* What is added up: masks, and what they take from. */
typedef struct {
  wk_value_id v[ADDENDS];
  bool is_mask[ADDENDS];
  double most[ADDENDS];
  size_t n;
} sum;

/* There are masks, and something else that has the shape of the whole. */
static bool sum_of(const wk_rewrite *r, wk_value_id v, sum *s) {
  bool has_mask = false, has_whole = false;
  s->n = addends(r, v, s->v);
  for (size_t i = 0; i < s->n; i++) {
    s->is_mask[i] = is_mask_within(r, s->v[i], 0, &s->most[i]);
    has_mask |= s->is_mask[i];
    has_whole |= !s->is_mask[i] && wk_shape_equal(wk_type_of(r, s->v[i]), wk_type_of(r, v));
  }
  return has_mask && has_whole;
}

/* softmax(x + mask) as softmax(where(mask < half of what it takes away, -FLT_MAX, x)) */
static bool choose(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  wk_value_id all[2] = {WK_NONE, WK_NONE}; /* what they take from; what takes away */
  sum s;
  (void)id;
  if (n->op != WK_OP_SOFTMAX || n->predicate != WK_NONE ||
      wk_type_of(r, n->in[0])->dtype != WK_F32 || !sum_of(r, n->in[0], &s))
    return false;
  void *attrs = wk_attrs_clone(r->arena, n->op, n->attrs);
  const wk_value_id y = n->out[0];
  r->name = n->name;
  for (size_t i = 0; i < s.n; i++) {
    wk_value_id v = s.is_mask[i] ? takes_away(r, s.v[i], s.most[i]) : s.v[i];
    wk_value_id *of = &all[s.is_mask[i]];
    *of = *of == WK_NONE ? v : wk_rewrite_2(r, s.is_mask[i] ? WK_OP_OR : WK_OP_ADD, NULL, *of, v);
  }
  const wk_value_id in[] = {all[1], wk_rewrite_scalar(r, WK_F32, (double)-FLT_MAX), all[0]};
  wk_value_id x = wk_rewrite_add(r, WK_OP_WHERE, NULL, 3, in);
  return x != WK_NONE && wk_rewrite_replace(r, y, wk_rewrite_1(r, WK_OP_SOFTMAX, attrs, x));
}

static wk_status choose_all(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, choose); }

wk_status wk_choose_masks(wk_module *m, int64_t *count) {
  static const wk_pass step = {.name = "masks", .run = choose_all};
  return wk_pass_run_one(m, &step, NULL, count);
}
