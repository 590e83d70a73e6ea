/* SPDX-License-Identifier: Apache-2.0
 * GridSample as a weighted sum of rows. A position has a few neighbours along each axis (one for
 * nearest, two for linear, four for cubic) with a weight each; all combinations of them are rows of
 * x [n*s, c], which segment_reduce reads and adds. Row n*s stands for what is outside. */
#include <string.h>

#include "compiler/lower/build.h"

typedef struct {
  const wk_attr_grid_sample *a;
  wk_dtype t;     /* of positions and weights */
  int n, taps;    /* axes; neighbours along each */
  wk_type x;
  wk_value_id source; /* x */
  int64_t points; /* per entry of the batch */
  wk_value_id at[3], weight[3]; /* along axis k: [batch, points, taps at 2 + k]; rows i64 or -1 */
} sampler;

/* Positions along axes `first` and on. */
static int64_t count_from(const wk_type *t, int first) {
  int64_t n = 1;
  for (int k = first; k < t->rank; k++) n *= t->dims[k];
  return n;
}

static bool is_mode(const sampler *s, const char *mode) { return !strcmp(s->a->mode, mode); }

static wk_value_id apply(wk_low *l, const sampler *s, wk_value_id v, const char *fmt, ...)
    WK_PRINTF(4, 5);
static wk_value_id apply(wk_low *l, const sampler *s, wk_value_id v, const char *fmt, ...) {
  char text[160];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return wk_low_map(l, s->t, text, 1, v);
}

/* The position along axis k, in pixels. */
static wk_value_id in_pixels(wk_low *l, const sampler *s, wk_value_id grid, int k) {
  int64_t size = s->x.dims[k + 2], dims[] = {s->x.dims[0], s->points, 1, 1, 1};
  wk_value_id v = wk_low_slice(l, grid, s->n + 1, s->n - 1 - k, 1, 1);
  v = apply(l, s, wk_low_reshape(l, v, s->n + 2, dims), "out(a)");
  if (s->a->pixels) return v;
  if (s->a->align_corners)
    return apply(l, s, v, "mul(div(add(a, 1), 2), %lld)", (long long)size - 1);
  return apply(l, s, v, "div(sub(mul(add(a, 1), %lld), 1), 2)", (long long)size);
}

static wk_value_id bounded(wk_low *l, const sampler *s, wk_value_id v) {
  return apply(l, s, v, "select(lt(abs(a), 1000000000), a, -100)");
}

static wk_value_id padded(wk_low *l, const sampler *s, wk_value_id v, int k) {
  int64_t size = s->x.dims[k + 2], span = s->a->align_corners ? size - 1 : size;
  double low = s->a->align_corners ? 0 : -0.5;
  if (!strcmp(s->a->padding, "reflection") && span == 0) {
    v = apply(l, s, v, "select(is_nan(a), a, 0)");
  } else if (!strcmp(s->a->padding, "reflection")) {
    v = apply(l, s, v, "fmod(abs(sub(a, %.1f)), %lld)", low, 2 * (long long)span);
    v = apply(l, s, v, "add(select(gt(a, %lld), sub(%lld, a), a), %.1f)", (long long)span,
              2 * (long long)span, low);
  }
  if (strcmp(s->a->padding, "zeros") != 0)
    v = apply(l, s, v, "min(max(a, 0), %lld)", (long long)size - 1);
  return bounded(l, s, v);
}

/* Weights of neighbours at `at` of a position v; the cubic ones are those of wk_cubic_weights for
 * a = -0.75. */
static wk_value_id weights(wk_low *l, const sampler *s, wk_value_id v, wk_value_id at) {
  wk_value_id d = wk_low_map(l, s->t, "abs(sub(a, b))", 2, v, at);
  if (is_mode(s, "linear")) return apply(l, s, d, "sub(1, a)");
  return apply(l, s, d,
               "select(le(a, 1), add(mul(mul(sub(mul(1.25, a), 2.25), a), a), 1), "
               "add(mul(sub(mul(add(mul(-0.75, a), 3.75), a), 6), a), 3))");
}

static void make_axis(wk_low *l, sampler *s, wk_value_id grid, int k) {
  bool is_cubic = is_mode(s, "cubic");
  int64_t dims[] = {s->x.dims[0], s->points, 1, 1, 1}, size = s->x.dims[k + 2];
  wk_value_id v = in_pixels(l, s, grid, k), at;
  v = is_cubic ? bounded(l, s, v) : padded(l, s, v, k);
  if (is_mode(s, "nearest")) {
    at = apply(l, s, v, "round(a)");
  } else {
    dims[k + 2] = s->taps;
    v = wk_low_expand(l, v, s->n + 2, dims);
    at = apply(l, s, v, "add(floor(a), out(sub(index<%d>(), %d)))", k + 2, is_cubic);
    s->weight[k] = weights(l, s, v, at);
  }
  if (is_cubic) at = padded(l, s, at, k);
  char text[96];
  snprintf(text, sizeof text, "select(and(ge(a, 0), lt(a, %lld)), a, -1)", (long long)size);
  s->at[k] = wk_low_map(l, WK_I64, text, 1, wk_low_map(l, WK_I64, "i64(a)", 1, at));
}

/* Rows of x for all combinations of neighbours, axis after axis; `outside` where there is none. */
static wk_value_id rows(wk_low *l, const sampler *s, int64_t outside) {
  char text[128];
  wk_value_id row = s->at[0];
  for (int k = 1; k < s->n; k++) {
    snprintf(text, sizeof text, "select(or(lt(a, 0), lt(b, 0)), -1, add(mul(a, %lld), b))",
             (long long)s->x.dims[k + 2]);
    row = wk_low_map(l, WK_I64, text, 2, row, s->at[k]);
  }
  snprintf(text, sizeof text, "select(lt(a, 0), %lld, add(a, mul(index<0>(), %lld)))",
           (long long)outside, (long long)(s->x.dims[0] ? outside / s->x.dims[0] : 0));
  return wk_low_map(l, WK_I64, text, 1, row);
}

/* Weights of the same combinations, as the sum takes them; WK_NONE: all are 1. */
static wk_value_id factors(wk_low *l, const sampler *s, const wk_node *n, wk_dtype to) {
  int64_t dims[] = {s->x.dims[0], s->points, 1, 1, 1};
  wk_value_id w = WK_NONE;
  if (n->n_in > 2 && n->in[2] != WK_NONE)
    w = apply(l, s, wk_low_reshape(l, n->in[2], s->n + 2, dims), "out(a)");
  for (int k = 0; k < s->n && s->taps > 1; k++)
    w = w == WK_NONE ? s->weight[k] : wk_low_map(l, s->t, "mul(a, b)", 2, w, s->weight[k]);
  return w == WK_NONE || to == s->t ? w : wk_low_map(l, to, "out(a)", 1, w);
}

/* x [n, c, s...] as rows [n*s, c], one of zeros behind them. */
static wk_value_id table(wk_low *l, const sampler *s, int64_t count) {
  int64_t perm[WK_MAX_RANK] = {0}, flat[] = {count, s->x.dims[1]};
  for (int k = 0; k < s->n; k++) perm[k + 1] = k + 2;
  perm[s->n + 1] = 1;
  wk_value_id v = wk_low_transpose(l, s->source, perm);
  v = wk_low_reshape(l, v, 2, flat);
  wk_attr_pad *a = wk_attrs_new(l->arena, WK_OP_PAD);
  a->before = wk_ints_dup(l->arena, (const int64_t[]){0, 0}, 2);
  a->after = wk_ints_dup(l->arena, (const int64_t[]){1, 0}, 2);
  return wk_low_add(l, WK_OP_PAD, a, &v, 1, 1, NULL);
}

/* 0, step, 2 * step … count * step */
static wk_value_id offsets(wk_low *l, int64_t count, int64_t step) {
  char text[64];
  int64_t n = count + 1;
  snprintf(text, sizeof text, "add(a, mul(index<0>(), %lld))", (long long)step);
  return wk_low_map(l, WK_I64, text, 1, wk_low_expand(l, wk_low_scalar(l, WK_I64, 0), 1, &n));
}

static wk_value_id flat(wk_low *l, wk_value_id v, int64_t count) {
  return v == WK_NONE ? v : wk_low_reshape(l, v, 1, &count);
}

void wk_lower_grid_sample(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_type x = *wk_low_type(l, n->in[0]), y = wk_val(l->g, n->out[0])->type;
  wk_dtype to = wk_compute_dtype(x.dtype), g = wk_compute_dtype(wk_low_type(l, n->in[1])->dtype);
  sampler s = {.a = n->attrs, .t = to == WK_F64 ? to : g, .n = x.rank - 2, .x = x,
               .source = n->in[0], .points = count_from(&y, 2)};
  s.taps = is_mode(&s, "nearest") ? 1 : is_mode(&s, "linear") ? 2 : 4;
  for (int k = 0; k < s.n; k++) make_axis(l, &s, n->in[1], k);
  int64_t outside = x.dims[0] * count_from(&x, 2), sums = x.dims[0] * s.points;
  int64_t each = 1;
  for (int k = 0; k < s.n; k++) each *= s.taps;
  if (l->status) return;
  wk_value_id in[] = {table(l, &s, outside), offsets(l, sums, each),
                      flat(l, rows(l, &s, outside), sums * each),
                      flat(l, factors(l, &s, n, to), sums * each)};
  if (l->status) return;
  wk_attr_segment_reduce *a = wk_attrs_new(l->arena, WK_OP_SEGMENT_REDUCE);
  a->to = to;
  a->padding = outside;
  wk_value_id v = wk_low_add(l, WK_OP_SEGMENT_REDUCE, a, in, in[3] == WK_NONE ? 3 : 4, 1, NULL);
  if (to != x.dtype) v = wk_low_map(l, x.dtype, "out(a)", 1, v);
  int64_t dims[WK_MAX_RANK] = {x.dims[0]}, perm[WK_MAX_RANK] = {0, s.n + 1};
  for (int k = 0; k < s.n; k++) {
    dims[k + 1] = y.dims[k + 2];
    perm[k + 2] = k + 1;
  }
  dims[s.n + 1] = x.dims[1];
  out[0] = wk_low_transpose(l, wk_low_reshape(l, v, x.rank, dims), perm);
}
