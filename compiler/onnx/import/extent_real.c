/* SPDX-License-Identifier: Apache-2.0
 * Numbers that are computed from sizes in floats, as the scale of an image by its sides: bounds of
 * each, until they are rounded to whole ones and are sizes again. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/extent.h"

enum { RATIOS = 4 };

/* factor * over / under, of sizes; NULL: 1. */
typedef struct {
  double factor;
  const wk_size *over, *under;
} ratio;

struct wk_real {
  double least, most;
  const wk_size *size; /* it is size / divisor; NULL: no such quotient is known */
  int64_t divisor;
  int n;
  ratio above[RATIOS]; /* it is none of these at the most; positive numbers */
};

static bool is(const wk_onnx_node *c, const char *name) { return !strcmp(c->row->name, name); }

static bool is_number(const wk_real *r) { return r->least == r->most; }

static wk_real number(double v) {
  return (wk_real){.least = v, .most = v, .n = v > 0, .above[0].factor = v};
}

static wk_real of_size(wk_onnx_node *c, const wk_size *s) {
  int64_t known;
  if (wk_size_is_const(s, &known)) return number((double)known);
  wk_real r = {.least = (double)wk_size_least(c, s), .most = (double)wk_size_most(c, s), .size = s,
               .divisor = 1};
  r.n = r.least >= 0;
  r.above[0] = (ratio){.factor = 1, .over = s};
  return r;
}

/* One number, or several. */
static const wk_real *reals_of(wk_onnx_node *c, wk_value_id v, int64_t *n) {
  const wk_sized *s = wk_extent_find(c->im, c->g, v);
  const wk_size *const *sizes = wk_extent_elements(c, v, n);
  const wk_type *t = v == WK_NONE ? NULL : wk_onnx_type(c, v);
  if (s && s->reals) {
    *n = s->n;
    return s->reals;
  }
  bool is_const = t && wk_is_const(c->g, v) && wk_dtype_is_float(t->dtype) && *n == 1;
  if (c->status || (!sizes && !is_const)) return NULL;
  wk_real *r = wk_arena_alloc(c->im->arena, (size_t)(*n + 1) * sizeof *r);
  for (int64_t i = 0; i < *n; i++)
    r[i] = sizes ? of_size(c, sizes[i]) : number(wk_load_f64(wk_val(c->g, v)->data, t->dtype, i));
  return r;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* The most and least of what the ends of both give. */
static void span(wk_real *r, const double v[4]) {
  r->least = r->most = v[0];
  for (int i = 1; i < 4; i++) {
    r->least = fmin(r->least, v[i]);
    r->most = fmax(r->most, v[i]);
  }
}

static void bound_by(wk_real *r, ratio of) {
  if (r->n < RATIOS && of.factor > 0) r->above[r->n++] = of;
}

static bool sum(wk_onnx_node *c, const wk_real *a, const wk_real *b, wk_real *r) {
  *r = (wk_real){.least = a->least + b->least, .most = a->most + b->most};
  if (a->size && b->size && a->divisor == b->divisor) {
    r->size = wk_size_add(c, a->size, b->size);
    r->divisor = a->divisor;
  }
  return true;
}

static bool difference(wk_onnx_node *c, const wk_real *a, const wk_real *b, wk_real *r) {
  const wk_real less = {.least = -b->most, .most = -b->least};
  return sum(c, a, &less, r);
}

/* A quotient times a number that is a fraction of few digits. */
static void multiply_size(wk_onnx_node *c, const wk_real *a, double by, wk_real *r) {
  for (int64_t q = 1; q <= 64 && a->size && by > 0 && by < 4096; q *= 2)
    if (by * (double)q == floor(by * (double)q)) {
      r->size = wk_size_mul(c, a->size, wk_size_const(c, (int64_t)(by * (double)q)));
      r->divisor = a->divisor * q;
      return;
    }
}

static bool product(wk_onnx_node *c, const wk_real *a, const wk_real *b, wk_real *r) {
  const double ends[] = {a->least * b->least, a->least * b->most, a->most * b->least,
                         a->most * b->most};
  *r = (wk_real){0};
  span(r, ends);
  if (is_number(b)) multiply_size(c, a, b->least, r);
  else if (is_number(a)) multiply_size(c, b, a->least, r);
  for (int i = 0; i < a->n; i++)
    for (int k = 0; k < b->n; k++) {
      const ratio x = a->above[i], y = b->above[k];
      if ((x.over && y.over) || (x.under && y.under)) continue;
      bound_by(r, (ratio){x.factor * y.factor, x.over ? x.over : y.over,
                          x.under ? x.under : y.under});
    }
  return true;
}

static bool quotient(wk_onnx_node *c, const wk_real *a, const wk_real *b, wk_real *r) {
  if (!(b->least > 0)) return false;
  const double ends[] = {a->least / b->least, a->least / b->most, a->most / b->least,
                         a->most / b->most};
  *r = (wk_real){0};
  span(r, ends);
  bool is_whole = is_number(b) && b->least == floor(b->least) && b->least < 4096;
  if (is_whole && a->size) {
    r->size = a->size;
    r->divisor = a->divisor * (int64_t)b->least;
  } else if (is_number(b)) multiply_size(c, a, 1 / b->least, r);
  for (int i = 0; i < a->n; i++) {
    ratio x = a->above[i];
    if (is_number(b)) x.factor /= b->least;
    else if (b->size && b->divisor == 1 && !x.under) x.under = b->size;
    else continue;
    bound_by(r, x);
  }
  return true;
}

static bool lesser(wk_onnx_node *c, const wk_real *a, const wk_real *b, wk_real *r) {
  (void)c;
  *r = (wk_real){.least = fmin(a->least, b->least), .most = fmin(a->most, b->most)};
  for (int i = 0; i < a->n && i < RATIOS / 2; i++) bound_by(r, a->above[i]);
  for (int i = 0; i < b->n && i < RATIOS / 2; i++) bound_by(r, b->above[i]);
  return true;
}

static bool greater(wk_onnx_node *c, const wk_real *a, const wk_real *b, wk_real *r) {
  (void)c;
  *r = (wk_real){.least = fmax(a->least, b->least), .most = fmax(a->most, b->most)};
  return true;
}

static const struct {
  const char *name;
  bool (*rule)(wk_onnx_node *, const wk_real *, const wk_real *, wk_real *);
} of_two[] = {{"Add", sum}, {"Sub", difference}, {"Mul", product}, {"Div", quotient},
              {"Min", lesser}, {"Max", greater}};

static bool of_one(const wk_onnx_node *c, const wk_real *x, wk_real *r) {
  *r = *x;
  if (is(c, "Cast") || is(c, "Identity") || is(c, "Floor") || is(c, "Ceil") || is(c, "Round"))
    return true;
  if (!is(c, "Sqrt") || x->least < 0) return false;
  *r = (wk_real){.least = sqrt(x->least), .most = sqrt(x->most)};
  return true;
}

static bool compute(wk_onnx_node *c, const wk_real *const *x, wk_real *r) {
  bool known = c->n_in == 1 && of_one(c, x[0], r);
  for (size_t i = 0; i < WK_COUNTOF(of_two) && c->n_in == 2 && !known; i++)
    known = is(c, of_two[i].name) && of_two[i].rule(c, x[0], x[1], r);
  return known && isfinite(r->least) && isfinite(r->most);
}

const wk_real *wk_extent_reals(wk_onnx_node *c, int64_t *n) {
  const wk_real *of[2], *x[2];
  int64_t count[2];
  const wk_type *t = c->n_in ? wk_onnx_type(c, c->in[0]) : NULL;
  *n = 1;
  if (!wk_onnx_ok(c) || c->n_in < 1 || c->n_in > 2) return NULL;
  if (t->dtype != WK_F32 && t->dtype != WK_F64) return NULL;
  for (int i = 0; i < c->n_in; i++) {
    of[i] = reals_of(c, c->in[i], &count[i]);
    if (!of[i] || (count[i] != 1 && *n != 1 && count[i] != *n) ||
        wk_onnx_type(c, c->in[i])->rank > 1) return NULL;
    if (count[i] != 1) *n = count[i];
  }
  wk_real *out = wk_arena_alloc(c->im->arena, (size_t)(*n + 1) * sizeof *out);
  for (int64_t k = 0; k < *n; k++) {
    for (int i = 0; i < c->n_in; i++) x[i] = &of[i][count[i] == 1 ? 0 : k];
    if (!compute(c, x, &out[k])) return NULL;
  }
  return out;
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* b is a maximum that a is one of. */
static bool is_at_least(const wk_onnx_node *c, const wk_size *b, const wk_size *a) {
  if (b->n != 1 || b->terms[0].n != 1 || b->terms[0].factor != 1) return false;
  const wk_unknown *u = &c->im->extents->unknowns.data[b->terms[0].unknowns[0]];
  return u->greater_of[0] &&
         (wk_size_equal(u->greater_of[0], a) || wk_size_equal(u->greater_of[1], a));
}

static double most_of(wk_onnx_node *c, const ratio *x) {
  double over = x->over ? (double)wk_size_most(c, x->over) : 1;
  double under = x->under ? (double)wk_size_least(c, x->under) : 1;
  bool is_least = x->over && x->under &&
                  (wk_size_equal(x->over, x->under) || is_at_least(c, x->under, x->over));
  if (is_least) return x->factor;
  return under > 0 ? x->factor * over / under : INFINITY;
}

/* The size that it is rounded to; NULL: it has no bounds. */
static const wk_size *rounded(wk_onnx_node *c, const wk_real *r, wk_value_id v, int64_t k) {
  const double error = 1e-6; /* of some operations in 32 bits */
  double most = r->most;
  bool is_up = is(c, "Ceil"), is_half = is(c, "Round");
  if (is_number(r) && !is_half && r->least >= 0)
    return wk_size_const(c, (int64_t)(is_up ? ceil(r->least) : floor(r->least)));
  if (r->size && wk_size_least(c, r->size) >= 0 && !is_half)
    return wk_size_div(c, wk_size_plus(c, r->size, is_up ? r->divisor - 1 : 0),
                       wk_size_const(c, r->divisor));
  for (int i = 0; i < r->n; i++) most = fmin(most, most_of(c, &r->above[i]));
  double least = r->least - error * fabs(r->least);
  most += error * fabs(most);
  if (!(most < 0x1p31 && least > -0x1p31) || wk_onnx_type(c, v)->rank > 1) return NULL;
  const int64_t n = wk_type_count(wk_onnx_type(c, v));
  wk_value_id x = wk_make_reshape(c, wk_make_cast(c, v, WK_I64), 1, &n);
  wk_unknown u = {.g = c->g, .text = wk_extent_own_text(c, is_up ? "ceil" : "floor"),
                  .least = (int64_t)floor(least), .most = (int64_t)ceil(most),
                  .value = wk_make_reshape(c, wk_make_slice(c, x, 0, k, 1, 1), 0, NULL)};
  if (!is_up && !is_half) u.most = (int64_t)floor(most);
  return wk_size_unknown(c, &u);
}

void wk_extent_set_reals(wk_onnx_node *c, wk_value_id v, const wk_real *reals, int64_t n) {
  bool rounds = is(c, "Floor") || is(c, "Ceil") || is(c, "Round");
  if (!wk_onnx_ok(c) || v == WK_NONE || wk_is_const(c->g, v)) return;
  if (!rounds && wk_dtype_is_float(wk_onnx_type(c, v)->dtype)) {
    wk_extent_keep_reals(c, v, reals, n);
    return;
  }
  const wk_size **sizes = wk_arena_alloc(c->im->arena, (size_t)(n + 1) * sizeof *sizes);
  for (int64_t k = 0; k < n; k++) {
    sizes[k] = rounded(c, &reals[k], v, k);
    if (!sizes[k]) return;
  }
  wk_extent_set_elements(c, v, sizes, n);
}
