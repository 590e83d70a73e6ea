/* SPDX-License-Identifier: Apache-2.0
 * Masks that are added to scores: one scale for both would leave nothing to the scores. What a
 * softmax takes no part of is chosen away instead. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/passes/recognise.h"

enum {
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
    if (!(x <= WK_MASK_FAR)) return false;
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

/* A bool, as it is or as a number. */
static wk_value_id bool_of(const wk_rewrite *r, wk_value_id v) {
  const wk_node *n = wk_made_by(r, v, WK_OP_CAST);
  wk_value_id x = n ? n->in[0] : v;
  return wk_type_of(r, x)->dtype == WK_BOOL ? x : WK_NONE;
}

/* v is 0 wherever the bool is false, which was made of it. */
static bool is_made_of(const wk_rewrite *r, wk_value_id is_not_0, wk_value_id v) {
  const wk_node *n = wk_made_by(r, is_not_0, WK_OP_CAST);
  return n && n->in[0] == v;
}

static bool is_mask_within(const wk_rewrite *r, wk_value_id v, int depth, double *most);

/* One side of a choice: 0 (*most is -inf then), a number far below, a mask. */
static bool is_side(const wk_rewrite *r, wk_value_id v, int depth, double *most) {
  if (!wk_known(r, v) || !wk_const_splat(r->g, v, most)) return is_mask_within(r, v, depth, most);
  bool is_0 = *most == 0;
  if (is_0) *most = -INFINITY;
  return is_0 || *most <= WK_MASK_FAR;
}

/* where(c, 0, far) and the other way round; masks in the place of either. */
static bool is_chosen_mask(const wk_rewrite *r, const wk_node *n, int depth, double *most) {
  double of[2];
  if (is_made_of(r, n->in[0], n->in[2])) return is_side(r, n->in[1], depth, most);
  if (!is_side(r, n->in[1], depth, &of[0]) || !is_side(r, n->in[2], depth, &of[1])) return false;
  *most = fmax(of[0], of[1]);
  return true;
}

/* A mask where a bool holds. */
static bool is_held_mask(const wk_rewrite *r, const wk_node *n, int depth, double *most) {
  for (int i = 0; i < 2; i++)
    if (bool_of(r, n->in[i]) != WK_NONE) return is_mask_within(r, n->in[1 - i], depth, most);
  return false;
}

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
    case WK_OP_MUL: return is_scaled_mask(r, n, most) || is_held_mask(r, n, depth + 1, most);
    case WK_OP_WHERE: return is_chosen_mask(r, n, depth + 1, most);
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

/* ---- what is added up ------------------------------------------------------------------------ */

typedef struct {
  wk_value_id v;
  bool is_mask, is_bias; /* both: numbers of the usual size, and others far below them */
  double limit;          /* of a mask: what is less takes away */
} addend;

typedef struct {
  addend of[ADDENDS];
  size_t n;
} sum;

static int by_number(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A bias with a mask in it: *limit lies in the first gap from above that is wide enough. */
static bool is_masked_bias(const wk_rewrite *r, wk_value_id v, double *limit) {
  const wk_type *t = wk_type_of(r, v);
  if (!wk_known(r, v) || t->dtype != WK_F32) return false;
  size_t n = (size_t)wk_type_count(t), k = n;
  double *x = wk_xcalloc(n, sizeof *x);
  bool has_nan = false;
  for (size_t i = 0; i < n; i++) {
    x[i] = fmax(wk_load_f64(wk_val(r->g, v)->data, t->dtype, (int64_t)i), (double)-FLT_MAX);
    has_nan |= isnan(wk_load_f64(wk_val(r->g, v)->data, t->dtype, (int64_t)i));
  }
  qsort(x, n, sizeof *x, by_number);
  while (k > 1 && x[k - 1] - x[k - 2] < -WK_MASK_FAR) k--;
  bool found = !has_nan && k > 1 && x[k - 2] <= WK_MASK_FAR;
  if (found) *limit = (x[k - 1] + x[k - 2]) / 2;
  free(x);
  return found;
}

static addend addend_of(const wk_rewrite *r, wk_value_id v) {
  addend a = {.v = v};
  double most;
  a.is_mask = is_mask_within(r, v, 0, &most);
  if (a.is_mask) a.limit = most < (double)-FLT_MAX ? (double)-FLT_MAX / 2 : most / 2;
  else a.is_mask = a.is_bias = is_masked_bias(r, v, &a.limit);
  return a;
}

/* What v is made of is added up anew: nobody else reads v, or a mask is part of it. */
static const wk_node *taken_apart(const wk_rewrite *r, const addend *a) {
  const wk_node *add = a->is_mask ? NULL : wk_made_by(r, a->v, WK_OP_ADD);
  if (!add || add->predicate != WK_NONE) return NULL;
  bool is_apart = wk_once(r, a->v);
  for (int i = 0; i < 2 && !is_apart; i++) is_apart = addend_of(r, add->in[i]).is_mask;
  return is_apart ? add : NULL;
}

/* True: there are masks, and something else that has the shape of the whole. */
static bool sum_of(const wk_rewrite *r, wk_value_id v, sum *s) {
  bool has_mask = false, has_whole = false;
  *s = (sum){.of = {addend_of(r, v)}, .n = 1};
  for (size_t i = 0; i < s->n;) {
    const wk_node *add = s->n < ADDENDS ? taken_apart(r, &s->of[i]) : NULL;
    if (!add) {
      const addend *a = &s->of[i++];
      has_mask |= a->is_mask;
      has_whole |= !a->is_mask && wk_shape_equal(wk_type_of(r, a->v), wk_type_of(r, v));
      continue;
    }
    memmove(&s->of[i + 2], &s->of[i + 1], (s->n - i - 1) * sizeof *s->of);
    s->of[i + 1] = addend_of(r, add->in[1]);
    s->of[i] = addend_of(r, add->in[0]);
    s->n++;
  }
  return has_mask && has_whole;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* The bias, 0 where it is masked. */
static wk_value_id bias_of(wk_rewrite *r, const addend *a) {
  const wk_type t = *wk_type_of(r, a->v);
  void *data;
  wk_value_id v = wk_rewrite_constant(r, &t, &data);
  for (int64_t i = 0, n = wk_type_count(&t); v != WK_NONE && i < n; i++) {
    double x = wk_load_f64(wk_val(r->g, a->v)->data, t.dtype, i);
    wk_store_f64(data, t.dtype, i, x < a->limit ? 0 : x);
  }
  return v;
}

static wk_value_id takes_away(wk_rewrite *r, const addend *a) {
  wk_value_id limit = wk_rewrite_scalar(r, wk_type_of(r, a->v)->dtype, a->limit);
  return limit == WK_NONE ? WK_NONE : wk_rewrite_2(r, WK_OP_LESS, NULL, a->v, limit);
}

static void join(wk_rewrite *r, wk_op op, wk_value_id *all, wk_value_id v) {
  *all = *all == WK_NONE ? v : wk_rewrite_2(r, op, NULL, *all, v);
}

/* softmax(x + mask) as softmax(where(mask < half of what it takes away, -FLT_MAX, x)) */
static bool choose(wk_rewrite *r, wk_node_id id, const wk_node *n) {
  wk_value_id left = WK_NONE, away = WK_NONE;
  sum s;
  (void)id;
  if (n->op != WK_OP_SOFTMAX || n->predicate != WK_NONE ||
      wk_type_of(r, n->in[0])->dtype != WK_F32 || !sum_of(r, n->in[0], &s))
    return false;
  void *attrs = wk_attrs_clone(r->arena, n->op, n->attrs);
  const wk_value_id y = n->out[0];
  r->name = n->name;
  for (size_t i = 0; i < s.n; i++) {
    const addend *a = &s.of[i];
    if (a->is_mask) join(r, WK_OP_OR, &away, takes_away(r, a));
    if (!a->is_mask || a->is_bias)
      join(r, WK_OP_ADD, &left, a->is_bias ? bias_of(r, a) : a->v);
  }
  const wk_value_id in[] = {away, wk_rewrite_scalar(r, WK_F32, (double)-FLT_MAX), left};
  wk_value_id x = wk_rewrite_add(r, WK_OP_WHERE, NULL, 3, in);
  return x != WK_NONE && wk_rewrite_replace(r, y, wk_rewrite_1(r, WK_OP_SOFTMAX, attrs, x));
}

static wk_status choose_all(wk_graph *g, wk_pass_ctx *c) { return wk_rewrite_run(g, c, choose); }

wk_status wk_choose_masks(wk_module *m, int64_t *count) {
  static const wk_pass step = {.name = "masks", .run = choose_all};
  return wk_pass_run_one(m, &step, NULL, count);
}
