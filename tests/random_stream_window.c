/* SPDX-License-Identifier: Apache-2.0
 * Windows of CONV, DWC and POOL, whose first fields are the same. */
#include "tests/random_stream_draw.h"

typedef struct { /* one axis */
  int64_t outputs, taps, step, tap_step, stride, dilation, pad, size;
} axis;

static axis rows_of(const int64_t *v) {
  return (axis){v[WK_CONV_ny], v[WK_CONV_ky], v[WK_CONV_in_y],  v[WK_CONV_k_y],
                v[WK_CONV_sy], v[WK_CONV_dy], v[WK_CONV_pad_t], v[WK_CONV_h]};
}

static axis columns_of(const int64_t *v) {
  return (axis){v[WK_CONV_nx], v[WK_CONV_kx], v[WK_CONV_in_x],  v[WK_CONV_k_x],
                v[WK_CONV_sx], v[WK_CONV_dx], v[WK_CONV_pad_l], v[WK_CONV_w]};
}

static bool is_inside(const axis *a, int64_t o, int64_t k) {
  int64_t at = o * a->stride + k * a->dilation - a->pad;
  return !a->size || (at >= 0 && at < a->size);
}

/* Lowest and highest offset of a tap that is no padding; false: there is none. */
static bool find_span(const axis *a, int64_t *low, int64_t *high) {
  bool any = false;
  for (int64_t o = 0; o < a->outputs; o++)
    for (int64_t k = 0; k < a->taps; k++) {
      int64_t at = o * a->step + k * a->tap_step;
      if (!is_inside(a, o, k)) continue;
      if (!any || at < *low) *low = at;
      if (!any || at > *high) *high = at;
      any = true;
    }
  return any;
}

static int64_t most_taps(const axis *a) {
  int64_t most = 0;
  for (int64_t o = 0; o < a->outputs; o++) {
    int64_t taps = 0;
    for (int64_t k = 0; k < a->taps; k++) taps += is_inside(a, o, k);
    if (taps > most) most = taps;
  }
  return most;
}

int64_t stream_most_taps(const int64_t *v) {
  axis y = rows_of(v), x = columns_of(v);
  return most_taps(&y) * most_taps(&x);
}

static int64_t draw_step(drawing *d, int64_t most) {
  return stream_chance(d, 60)   ? 1
         : stream_chance(d, 80) ? stream_int(d, 1, 2)
                                : stream_int(d, 1, most);
}

/* Padding of an axis, and how many rows (columns) its input has then. */
static void draw_padding(drawing *d, int64_t outputs, int64_t taps, int64_t stride,
                         int64_t dilation, int64_t *pad, int64_t *size) {
  int64_t reach = (outputs - 1) * stride + (taps - 1) * dilation + 1;
  *pad = *size = 0;
  if (stream_chance(d, 40)) return;
  int64_t most = (taps - 1) * dilation + (stream_chance(d, 5) ? 9 : 0);
  *pad = stream_int(d, 0, most > 63 ? 63 : most);
  *size = stream_chance(d, 60) ? reach - 2 * *pad : stream_int(d, 1, reach + 2);
  if (*size < 1) *size = 1;
  if (*size > 1023) *size = 1023;
}

void stream_draw_window(drawing *d, int64_t *v, int64_t pixel) {
  v[WK_CONV_sy] = draw_step(d, 15);
  v[WK_CONV_sx] = draw_step(d, 15);
  v[WK_CONV_dy] = draw_step(d, stream_chance(d, 20) ? 31 : 5);
  v[WK_CONV_dx] = draw_step(d, stream_chance(d, 20) ? 31 : 5);
  draw_padding(d, v[WK_CONV_ny], v[WK_CONV_ky], v[WK_CONV_sy], v[WK_CONV_dy], &v[WK_CONV_pad_t],
               &v[WK_CONV_h]);
  draw_padding(d, v[WK_CONV_nx], v[WK_CONV_kx], v[WK_CONV_sx], v[WK_CONV_dx], &v[WK_CONV_pad_l],
               &v[WK_CONV_w]);
  int64_t width = v[WK_CONV_w];
  if (!width) width = (v[WK_CONV_nx] - 1) * v[WK_CONV_sx] + (v[WK_CONV_kx] - 1) * v[WK_CONV_dx] + 1;
  int64_t row = width * pixel + stream_gap(d);
  if (stream_chance(d, 10)) row = stream_int(d, 0, 400);
  v[WK_CONV_in_y] = v[WK_CONV_sy] * row;
  v[WK_CONV_k_y] = v[WK_CONV_dy] * row;
  v[WK_CONV_in_x] = v[WK_CONV_sx] * pixel;
  v[WK_CONV_k_x] = v[WK_CONV_dx] * pixel;
  if (stream_chance(d, 5)) v[WK_CONV_in_x] = stream_int(d, 0, 100);
  if (stream_chance(d, 5)) v[WK_CONV_k_y] = stream_int(d, 0, 300);
}

bool stream_place_window(drawing *d, stream_command *x, int64_t bytes) {
  axis rows = rows_of(x->c.v), columns = columns_of(x->c.v);
  int64_t low_y, high_y, low_x, high_x, at;
  if (!find_span(&rows, &low_y, &high_y) || !find_span(&columns, &low_x, &high_x)) {
    x->c.v[WK_CONV_in] = stream_int(d, -2000, d->m->scratchpad - 1);
    return true;
  }
  int64_t total = high_y + high_x - low_y - low_x + bytes;
  if (!stream_place_read(d, total, stream_chance(d, 50) ? d->n : 1, &at)) return false;
  x->c.v[WK_CONV_in] = at - low_y - low_x;
  stream_uses(x, BOX_SPM, false, at, total);
  return x->c.v[WK_CONV_in] >= -(1 << 20);
}
