/* SPDX-License-Identifier: Apache-2.0
 * Resize as gathers with constant indices, one axis after the other: y = sum of weight[k] *
 * gather(x, index[k]), and what changes the place of elements alone. */
#include <string.h>

#include "compiler/ir/resize.h"
#include "compiler/lower/build.h"

static wk_value_id along_axis(wk_low *l, wk_value_id v, int rank, int axis) {
  int64_t dims[WK_MAX_RANK];
  if (l->status) return 0;
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? wk_low_type(l, v)->dims[0] : 1;
  return wk_low_reshape(l, v, rank, dims);
}

static wk_value_id weighted(wk_low *l, const wk_resize_axis *m, wk_value_id x, int axis) {
  int rank = wk_low_type(l, x)->rank, taps = 1;
  wk_dtype t = wk_low_type(l, x)->dtype, real = t == WK_F64 ? WK_F64 : WK_F32;
  int64_t *index = wk_low_table(l, m->out, WK_RESIZE_TAPS * sizeof *index);
  double *weight = wk_low_table(l, m->out, WK_RESIZE_TAPS * sizeof *weight);
  double *inside = wk_low_table(l, m->out, sizeof *inside);
  if (!inside) return 0;
  bool crop = !strcmp(m->a->coordinates, "tf_crop_and_resize"), any_outside = false;
  for (int64_t i = 0; i < m->out; i++) {
    double w[WK_RESIZE_TAPS], at = wk_resize_coordinate(m, i);
    int64_t first;
    taps = wk_resize_taps(m, at, &first, w);
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
    wk_resize_axis m = wk_resize_axis_of(a, &t, axis);
    if (wk_resize_changes(&m)) x = weighted(l, &m, x, axis);
  }
  if (convert) x = wk_low_map(l, t.dtype, "out(a)", 1, x);
  out[0] = x;
}

/* Blocks of pixels, [h,rows,w,columns], before the channels, or behind. */
void wk_lower_depth_to_space(wk_low *l, const wk_node *n, wk_value_id *out) {
  static const int64_t forth[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 3, 4, 2, 5, 1}};
  static const int64_t back[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 5, 3, 1, 2, 4}};
  const wk_attr_depth_to_space *a = WK_ATTR(n, depth_to_space);
  const wk_type x = *wk_low_type(l, n->in[0]), y = *wk_low_type(l, n->out[0]);
  const int64_t outer = a->by_columns ? a->columns : a->rows;
  const int64_t deep[] = {x.dims[0], outer, a->rows * a->columns / outer, y.dims[1], x.dims[2],
                          x.dims[3]};
  const int64_t wide[] = {x.dims[0], x.dims[1], y.dims[2], a->rows, y.dims[3], a->columns};
  wk_value_id v = wk_low_reshape(l, n->in[0], 6, a->back ? wide : deep);
  v = wk_low_transpose(l, v, (a->back ? back : forth)[a->by_columns]);
  out[0] = wk_low_reshape(l, v, 4, y.dims);
}
