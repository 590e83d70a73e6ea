/* SPDX-License-Identifier: Apache-2.0
 * Resize as gathers with constant indices, one axis after the other. Along an axis, output i
 * reads the input at coordinate x(i) (ONNX Resize, coordinate_transformation_mode) through taps:
 * one for nearest, two for linear, four for cubic; y = sum of weight[k] * gather(x, index[k]). */
#include <math.h>
#include <string.h>

#include "compiler/lower/build.h"

#define MAX_TAPS 4

typedef struct {
  int64_t in, out;
  double scale, start, end; /* roi of tf_crop_and_resize, in units of the input's length */
  const wk_attr_resize *a;
} axis_map;

static double coordinate(const axis_map *m, int64_t i) {
  const char *mode = m->a->coordinates;
  double x = (double)i, n = (double)m->in;
  if (!strcmp(mode, "half_pixel")) return (x + 0.5) / m->scale - 0.5;
  if (!strcmp(mode, "pytorch_half_pixel")) return m->out > 1 ? (x + 0.5) / m->scale - 0.5 : 0;
  if (!strcmp(mode, "align_corners"))
    return i == 0 || n * m->scale == 1 ? 0 : x * (n - 1) / (n * m->scale - 1);
  if (!strcmp(mode, "tf_half_pixel_for_nn")) return (x + 0.5) / m->scale;
  if (!strcmp(mode, "half_pixel_symmetric")) {
    double centre = n / 2, adjust = (double)m->out / (n * m->scale);
    return centre * (1 - adjust) + (x + 0.5) / m->scale - 0.5;
  }
  if (!strcmp(mode, "tf_crop_and_resize"))
    return m->out > 1
               ? m->start * (n - 1) + x * (m->end - m->start) * (n - 1) / (double)(m->out - 1)
               : 0.5 * (m->start + m->end) * (n - 1);
  return x / m->scale; /* asymmetric */
}

/* A whole number; beyond any axis one that is no less so, and before all where there is none. */
static int64_t position(double x) {
  static const int64_t far = INT64_C(1) << 48;
  return !(x > -(double)far) ? -far : x < (double)far ? (int64_t)x : far;
}

static int64_t nearest(const char *mode, double x) {
  if (!strcmp(mode, "floor")) return position(floor(x));
  if (!strcmp(mode, "ceil")) return position(ceil(x));
  if (!strcmp(mode, "round_prefer_ceil")) return position(floor(x + 0.5));
  return position(ceil(x - 0.5)); /* round_prefer_floor */
}

static int taps_of(const wk_attr_resize *a, const axis_map *m, double x, int64_t *first,
                   double *w) {
  if (!strcmp(a->mode, "nearest")) {
    *first = nearest(a->nearest, x);
    w[0] = 1;
    return 1;
  }
  double base = floor(x), f = x - base;
  if (!strcmp(a->mode, "linear")) {
    *first = position(base);
    w[0] = 1 - f;
    w[1] = f;
    return 2;
  }
  double c = a->cubic_a;
  *first = position(base) - 1;
  w[0] = ((c * (f + 1) - 5 * c) * (f + 1) + 8 * c) * (f + 1) - 4 * c;
  w[1] = ((c + 2) * f - (c + 3)) * f * f + 1;
  w[2] = ((c + 2) * (1 - f) - (c + 3)) * (1 - f) * (1 - f) + 1;
  w[3] = ((c * (2 - f) - 5 * c) * (2 - f) + 8 * c) * (2 - f) - 4 * c;
  if (!a->exclude_outside) return 4;
  double sum = 0;
  for (int k = 0; k < 4; k++) {
    if (*first + k < 0 || *first + k >= m->in) w[k] = 0;
    sum += w[k];
  }
  for (int k = 0; k < 4 && sum != 0; k++) w[k] /= sum;
  return 4;
}

static wk_value_id along_axis(wk_low *l, wk_value_id v, int rank, int axis) {
  int64_t dims[WK_MAX_RANK];
  if (l->status) return 0;
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? wk_low_type(l, v)->dims[0] : 1;
  return wk_low_reshape(l, v, rank, dims);
}

static wk_value_id weighted(wk_low *l, const axis_map *m, wk_value_id x, int axis) {
  int rank = wk_low_type(l, x)->rank, taps = 1;
  wk_dtype t = wk_low_type(l, x)->dtype, real = t == WK_F64 ? WK_F64 : WK_F32;
  int64_t *index = wk_low_table(l, m->out, MAX_TAPS * sizeof *index);
  double *weight = wk_low_table(l, m->out, MAX_TAPS * sizeof *weight);
  double *inside = wk_low_table(l, m->out, sizeof *inside);
  if (!inside) return 0;
  bool crop = !strcmp(m->a->coordinates, "tf_crop_and_resize"), any_outside = false;
  for (int64_t i = 0; i < m->out; i++) {
    double w[MAX_TAPS], at = coordinate(m, i);
    int64_t first;
    taps = taps_of(m->a, m, at, &first, w);
    inside[i] = !crop || (at >= 0 && at <= (double)(m->in - 1));
    any_outside |= inside[i] == 0;
    for (int k = 0; k < taps; k++) {
      int64_t p = first + k;
      index[k * m->out + i] = p < 0 ? 0 : p >= m->in ? m->in - 1 : p;
      weight[k * m->out + i] = w[k];
    }
  }
  wk_value_id y = 0;
  for (int k = 0; k < taps; k++) {
    wk_value_id g = wk_low_gather(l, x, wk_low_const_i64(l, 1, &m->out, index + k * m->out), axis);
    if (taps > 1) {
      wk_value_id w =
          along_axis(l, wk_low_const_real(l, real, 1, &m->out, weight + k * m->out), rank, axis);
      g = k ? wk_low_map(l, real, "add(c, mul(a, b))", 3, g, w, y)
            : wk_low_map(l, real, "mul(a, b)", 2, g, w);
    }
    y = g;
  }
  if (!any_outside || l->status) return y;
  char text[64];
  snprintf(text, sizeof text, "select(gt(b, 0), a, %.17g)", m->a->extrapolation);
  wk_value_id mask = along_axis(l, wk_low_const_real(l, real, 1, &m->out, inside), rank, axis);
  return wk_low_map(l, wk_low_type(l, y)->dtype, text, 2, y, mask);
}

void wk_lower_resize(wk_low *l, const wk_node *n, wk_value_id *out) {
  const wk_attr_resize *a = WK_ATTR(n, resize);
  wk_value_id x = n->in[0];
  const wk_type t = *wk_low_type(l, x);
  bool convert = strcmp(a->mode, "nearest") && t.dtype != WK_F32 && t.dtype != WK_F64;
  if (convert) x = wk_low_map(l, WK_F32, "f32(a)", 1, x);
  for (int axis = 0; axis < t.rank && !l->status; axis++) {
    bool roi = a->roi.n == 2 * t.rank;
    axis_map m = {.in = t.dims[axis], .out = a->sizes.v[axis], .scale = a->scales.v[axis], .a = a,
                  .start = roi ? a->roi.v[axis] : 0, .end = roi ? a->roi.v[t.rank + axis] : 1};
    bool crop = !strcmp(a->coordinates, "tf_crop_and_resize") && (m.start != 0 || m.end != 1);
    if (m.in == m.out && m.scale == 1 && !crop) continue;
    x = weighted(l, &m, x, axis);
  }
  if (convert) x = wk_low_map(l, t.dtype, "out(a)", 1, x);
  out[0] = x;
}
