/* SPDX-License-Identifier: Apache-2.0 */
/* Resize, one axis after the other: interpolation of every mode is separable. For each axis a table
 * lists the input positions that an output position mixes, and their weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

#define MAX_TAPS 4

typedef struct {
  bool outside; /* tf_crop_and_resize: beyond the input, takes the extrapolation value */
  int n;
  int64_t at[MAX_TAPS];
  double weight[MAX_TAPS];
} taps;

/* Where output position o of the axis lies in the input. */
static double source(const wk_attr_resize *a, int axis, int rank, int64_t in, int64_t o) {
  const char *mode = a->coordinates;
  double scale = a->scales.v[axis], length = scale * (double)in, n = (double)in, x = (double)o;
  double half_pixel = (x + 0.5) / scale - 0.5;
  int64_t out = a->sizes.v[axis];
  if (out == in && scale == 1 && a->roi.n == 0) return x; /* not resized: no coordinates to map */
  if (strcmp(mode, "asymmetric") == 0) return x / scale;
  if (strcmp(mode, "tf_half_pixel_for_nn") == 0) return (x + 0.5) / scale;
  if (strcmp(mode, "pytorch_half_pixel") == 0) return out > 1 ? half_pixel : 0;
  if (strcmp(mode, "align_corners") == 0)
    return o == 0 || length == 1 ? 0 : x * (n - 1) / (length - 1);
  if (strcmp(mode, "half_pixel_symmetric") == 0)
    return n / 2 * (1 - (double)out / length) + half_pixel;
  if (strcmp(mode, "tf_crop_and_resize") == 0) {
    double from = a->roi.v[axis], to = a->roi.v[rank + axis];
    if (out <= 1) return 0.5 * (from + to) * (n - 1);
    return from * (n - 1) + x * (to - from) * (n - 1) / (double)(out - 1);
  }
  return half_pixel;
}

static double nearest(const char *mode, double x) {
  if (strcmp(mode, "floor") == 0) return floor(x);
  if (strcmp(mode, "ceil") == 0) return ceil(x);
  return strcmp(mode, "round_prefer_ceil") == 0 ? floor(x + 0.5) : ceil(x - 0.5);
}

void wk_cubic_weights(double a, double ratio, double w[4]) {
  double far = ratio + 1, back = 1 - ratio, beyond = 2 - ratio;
  w[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
  w[1] = ((a + 2) * ratio - (a + 3)) * ratio * ratio + 1;
  w[2] = ((a + 2) * back - (a + 3)) * back * back + 1;
  w[3] = ((a * beyond - 5 * a) * beyond + 8 * a) * beyond - 4 * a;
}

static int64_t clamp(double x, int64_t n) {
  if (!(x > 0)) return 0;
  return x < (double)(n - 1) ? (int64_t)x : n - 1;
}

/* Neighbours outside the input repeat its edge, or with exclude_outside do not count. */
static void mix(taps *t, const wk_attr_resize *a, double first, int64_t n) {
  double sum = 0;
  for (int k = 0; k < t->n; k++) {
    double at = first + k;
    if (a->exclude_outside && (at < 0 || at > (double)(n - 1))) t->weight[k] = 0;
    t->at[k] = clamp(at, n);
    sum += t->weight[k];
  }
  for (int k = 0; a->exclude_outside && sum != 0 && k < t->n; k++) t->weight[k] /= sum;
}

static taps taps_at(const wk_attr_resize *a, double x, int64_t n) {
  taps t = {0};
  t.outside =
      strcmp(a->coordinates, "tf_crop_and_resize") == 0 && !(x >= 0 && x <= (double)(n - 1));
  double first = floor(x), ratio = x - first;
  switch (a->mode[0]) {
    case 'l':
      t.n = 2;
      t.weight[0] = 1 - ratio;
      t.weight[1] = ratio;
      mix(&t, a, first, n);
      break;
    case 'c':
      t.n = 4;
      wk_cubic_weights(a->cubic_a, ratio, t.weight);
      mix(&t, a, first - 1, n);
      break;
    default: /* picked as it is */
      t.at[0] = clamp(nearest(a->nearest, x), n);
  }
  return t;
}

/* One axis of v [outer, n, inner] to `out` positions. */
static void resize_axis(const double *v, double *y, wk_axis x, const taps *table, int64_t out) {
  for (int64_t o = 0; o < x.outer; o++) {
    for (int64_t p = 0; p < out; p++) {
      double *row = y + (o * out + p) * x.inner;
      for (int k = 0; k < table[p].n; k++) {
        const double *from = v + (o * x.n + table[p].at[k]) * x.inner;
        double w = table[p].weight[k];
        for (int64_t i = 0; i < x.inner; i++) row[i] += w * from[i];
      }
    }
  }
}

static void extrapolate(double *v, const wk_type *y, const taps *table, int axis, double value) {
  wk_axis a = wk_axis_of(y, axis);
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t p = 0; p < a.n; p++)
      for (int64_t i = 0; table[p].outside && i < a.inner; i++)
        v[(o * a.n + p) * a.inner + i] = value;
}

static wk_status interpolate(const wk_eval_call *c, taps *const *tables) {
  const wk_attr_resize *a = c->a.node->attrs;
  wk_tensor *y = &c->a.out[0];
  wk_type t = c->a.in[0].type;
  double *v;
  WK_TRY(wk_reals_of(&c->a.in[0], &v));
  for (int axis = 0; axis < t.rank; axis++) {
    if (t.dims[axis] == y->type.dims[axis] && a->scales.v[axis] == 1 && a->roi.n == 0) continue;
    wk_axis x = wk_axis_of(&t, axis);
    t.dims[axis] = y->type.dims[axis];
    double *next;
    wk_status s = wk_reals_alloc(wk_type_count(&t), &next);
    if (!s) resize_axis(v, next, x, tables[axis], t.dims[axis]);
    free(v);
    if (s) return s;
    v = next;
  }
  for (int axis = 0; axis < t.rank; axis++)
    extrapolate(v, &y->type, tables[axis], axis, a->extrapolation);
  wk_reals_write(v, y, 0, 1, wk_type_count(&y->type));
  free(v);
  return NULL;
}

/* No arithmetic on the elements: integers of any size stay exact. */
static void pick(const wk_eval_call *c, taps *const *tables) {
  const wk_tensor *y = &c->a.out[0];
  int64_t *from[WK_MAX_RANK];
  char fill[8] = {0};
  wk_store_f64(fill, y->type.dtype, 0, ((const wk_attr_resize *)c->a.node->attrs)->extrapolation);
  wk_remap_new(&y->type, from);
  for (int i = 0; i < y->type.rank; i++)
    for (int64_t p = 0; p < y->type.dims[i]; p++)
      from[i][p] = tables[i][p].outside ? -1 : tables[i][p].at[0];
  wk_tensor_remap(&c->a.in[0], y, from, fill);
  wk_remap_free(&y->type, from);
}

/* Channel p is channel p % c of pixel p / c of its block. */
wk_status wk_eval_depth_to_space(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_depth_to_space *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0], *y = &c->a.out[0];
  const wk_type *wide = a->back ? &x->type : &y->type, *deep = a->back ? &y->type : &x->type;
  const int64_t size = wk_dtype_size(x->type.dtype), channels = wide->dims[1];
  int64_t at[WK_MAX_RANK] = {0};
  for (int64_t i = 0, n = wk_type_count(deep); i < n; i++) {
    int64_t pixel = at[1] / channels;
    int64_t row = a->by_columns ? pixel % a->rows : pixel / a->columns;
    int64_t column = a->by_columns ? pixel / a->rows : pixel % a->columns;
    int64_t h = at[2] * a->rows + row, w = at[3] * a->columns + column;
    int64_t other = ((at[0] * channels + at[1] % channels) * wide->dims[2] + h) * wide->dims[3] + w;
    memcpy((char *)y->data + (a->back ? i : other) * size,
           (const char *)x->data + (a->back ? other : i) * size, (size_t)size);
    wk_walk_next(4, deep->dims, at);
  }
  return NULL;
}

wk_status wk_eval_resize(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0) || wk_type_count(&c->a.out[0].type) == 0) return NULL;
  const wk_attr_resize *a = c->a.node->attrs;
  const wk_type *x = &c->a.in[0].type, *y = &c->a.out[0].type;
  taps *tables[WK_MAX_RANK] = {0};
  wk_status s = NULL;
  for (int axis = 0; axis < x->rank && !s; axis++) {
    void *memory;
    s = wk_try_malloc((size_t)y->dims[axis] * sizeof(taps), &memory);
    tables[axis] = memory;
    for (int64_t o = 0; !s && o < y->dims[axis]; o++)
      tables[axis][o] = taps_at(a, source(a, axis, x->rank, x->dims[axis], o), x->dims[axis]);
  }
  if (!s && a->mode[0] == 'n') pick(c, tables);
  else if (!s) s = interpolate(c, tables);
  for (int axis = 0; axis < x->rank; axis++) free(tables[axis]);
  return s;
}
