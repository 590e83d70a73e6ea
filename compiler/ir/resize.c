/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/ir/resize.h"

#include <math.h>
#include <string.h>

wk_resize_axis wk_resize_axis_of(const wk_attr_resize *a, const wk_type *x, int axis) {
  bool crops = a->roi.n == 2 * x->rank;
  return (wk_resize_axis){.in = x->dims[axis], .out = a->sizes.v[axis], .scale = a->scales.v[axis],
                          .a = a, .start = crops ? a->roi.v[axis] : 0,
                          .end = crops ? a->roi.v[x->rank + axis] : 1};
}

bool wk_resize_changes(const wk_resize_axis *m) {
  bool crops = !strcmp(m->a->coordinates, "tf_crop_and_resize") && (m->start != 0 || m->end != 1);
  return m->in != m->out || m->scale != 1 || crops;
}

double wk_resize_coordinate(const wk_resize_axis *m, int64_t i) {
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

int wk_resize_taps(const wk_resize_axis *m, double x, int64_t *first, double w[WK_RESIZE_TAPS]) {
  const wk_attr_resize *a = m->a;
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

