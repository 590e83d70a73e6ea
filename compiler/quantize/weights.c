/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/quantize/weights.h"

#include <float.h>
#include <math.h>

wk_weight_view wk_weight_view_of(const wk_value *v, int axis) {
  const wk_type *t = &v->type;
  wk_weight_view w = {v->data, 1, 1, 1};
  for (int i = 0; i < t->rank; i++) {
    if (i == axis) w.channels = t->dims[i];
    else if (i < axis) w.outer *= t->dims[i];
    else w.inner *= t->dims[i];
  }
  return w;
}

int wk_weight_axis(const wk_graph *g, const wk_node *n) {
  if (n->op == WK_OP_CONV) return 0;
  if (n->op == WK_OP_CONV_TRANSPOSE) return 1;
  return wk_val(g, n->in[1])->type.rank == 2 ? 1 : -1;
}

static float round_even(float x) { /* |x| below 2^22 */
  const float big = 12582912.0f;
  return (x + big) - big;
}

static float clamp127(float q) { return q < -127 ? -127 : q > 127 ? 127 : q; }

static float greatest(const wk_weight_view *w, int64_t c) {
  float m = 0;
  for (int64_t o = 0; o < w->outer; o++) {
    const float *x = w->data + (o * w->channels + c) * w->inner;
    for (int64_t i = 0; i < w->inner; i++) m = fabsf(x[i]) > m ? fabsf(x[i]) : m;
  }
  return m;
}

static double square_error(const wk_weight_view *w, int64_t c, float scale) {
  double sum = 0;
  for (int64_t o = 0; o < w->outer; o++) {
    const float *x = w->data + (o * w->channels + c) * w->inner;
    float part = 0, inverse = 1 / scale;
    for (int64_t i = 0; i < w->inner; i++) {
      float e = x[i] - clamp127(round_even(x[i] * inverse)) * scale;
      part += e * e;
    }
    sum += (double)part;
  }
  return sum;
}

static float choose_scale(const wk_weight_view *w, int64_t c, wk_range_method method) {
  enum { STEPS = 24 };
  float top = greatest(w, c) / 127, best = top;
  if (!(top >= FLT_MIN && top <= FLT_MAX)) return 1;
  double least = INFINITY;
  for (int i = 0; method == WK_RANGE_MSE && i < STEPS; i++) {
    float s = top * (1 - (float)i / 48);
    double e = square_error(w, c, s);
    if (e < least) {
      least = e;
      best = s;
    }
  }
  return best;
}

void wk_weights_quantise(const wk_weight_view *w, const double *floors, wk_range_method method,
                         float *scale, int8_t *out) {
  for (int64_t c = 0; c < w->channels; c++) {
    scale[c] = choose_scale(w, c, method);
    if (floors && (double)scale[c] < floors[c]) scale[c] = (float)floors[c];
    for (int64_t o = 0; o < w->outer; o++) {
      int64_t at = (o * w->channels + c) * w->inner;
      for (int64_t i = at; i < at + w->inner; i++)
        out[i] = (int8_t)clamp127(rintf(w->data[i] / scale[c]));
    }
  }
}
