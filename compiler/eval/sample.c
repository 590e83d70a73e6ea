/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of images at points that are data: grid_sample, roi_align. Points far outside, infinite
 * or NaN are points outside the image. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

typedef struct {
  char mode, padding; /* first letters: nearest bilinear c (bicubic); zeros border reflection */
  bool align;
  int64_t h, w;
} grid;

static double clamp(double x, int64_t n) {
  return x < 0 ? 0 : x > (double)(n - 1) ? (double)(n - 1) : x;
}

static double reflect(double x, int64_t n, bool align) {
  double low = align ? 0 : -0.5, span = align ? (double)(n - 1) : (double)n;
  if (span == 0) return 0;
  x = fabs(x - low);
  double extra = fmod(x, span);
  return fmod(floor(x / span), 2) == 0 ? extra + low : span - extra + low;
}

static double padded(const grid *g, double x, int64_t n) {
  if (g->padding == 'b') x = clamp(x, n);
  if (g->padding == 'r') x = clamp(reflect(x, n, g->align), n);
  return x > -1e9 && x < 1e9 ? x : -100;
}

static double pixel(const grid *g, const double *plane, double y, double x) {
  if (y < 0 || x < 0 || y > (double)(g->h - 1) || x > (double)(g->w - 1)) return 0;
  return plane[(int64_t)y * g->w + (int64_t)x];
}

static double bilinear(const grid *g, const double *plane, double y, double x) {
  double y0 = floor(y), x0 = floor(x), dy = y - y0, dx = x - x0;
  return pixel(g, plane, y0, x0) * (1 - dy) * (1 - dx) +
         pixel(g, plane, y0, x0 + 1) * (1 - dy) * dx + pixel(g, plane, y0 + 1, x0) * dy * (1 - dx) +
         pixel(g, plane, y0 + 1, x0 + 1) * dy * dx;
}

/* Padding applies to each of the sixteen neighbours. */
static double bicubic(const grid *g, const double *plane, double y, double x) {
  double y0 = floor(y), x0 = floor(x), wy[4], wx[4], sum = 0;
  wk_cubic_weights(-0.75, y - y0, wy);
  wk_cubic_weights(-0.75, x - x0, wx);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      sum += wy[i] * wx[j] *
             pixel(g, plane, padded(g, y0 - 1 + i, g->h), padded(g, x0 - 1 + j, g->w));
  return sum;
}

static double sample_grid(const grid *g, const double *plane, double ny, double nx) {
  double y = g->align ? (ny + 1) / 2 * (double)(g->h - 1) : ((ny + 1) * (double)g->h - 1) / 2;
  double x = g->align ? (nx + 1) / 2 * (double)(g->w - 1) : ((nx + 1) * (double)g->w - 1) / 2;
  if (g->mode == 'c') {
    if (!(fabs(y) < 1e9)) y = -100;
    if (!(fabs(x) < 1e9)) x = -100;
    return bicubic(g, plane, y, x);
  }
  y = padded(g, y, g->h);
  x = padded(g, x, g->w);
  return g->mode == 'n' ? pixel(g, plane, nearbyint(y), nearbyint(x)) : bilinear(g, plane, y, x);
}

wk_status wk_eval_grid_sample(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_grid_sample *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0], *at = &c->a.in[1];
  wk_tensor *y = &c->a.out[0];
  grid g = {.mode = strcmp(a->mode, "bicubic") == 0 ? 'c' : a->mode[0], .padding = a->padding[0],
            .align = a->align_corners != 0, .h = x->type.dims[2], .w = x->type.dims[3]};
  int64_t points = y->type.dims[2] * y->type.dims[3], channels = x->type.dims[1], size = g.h * g.w;
  double *plane;
  WK_TRY(wk_reals_alloc(size, &plane));
  for (int64_t p = 0; p < x->type.dims[0] * channels; p++) {
    wk_reals_read(plane, x, p * size, 1, size);
    for (int64_t i = 0; i < points; i++) {
      double point[2];
      wk_reals_read(point, at, (p / channels * points + i) * 2, 1, 2);
      wk_store_f64(y->data, y->type.dtype, p * points + i,
                   sample_grid(&g, plane, point[1], point[0]));
    }
  }
  free(plane);
  return NULL;
}

/* ---- roi_align ------------------------------------------------------------------------------- */

#define MAX_SAMPLES (INT64_C(1) << 24) /* per bin */

typedef struct {
  const wk_attr_roi_align *a;
  int64_t h, w;           /* of the image */
  double y, x, bin_h, bin_w;
  int64_t rows, cols;     /* samples per bin */
} region;

typedef struct { double sum, most; } blend; /* of the four weighted neighbours */

/* Points up to one pixel outside belong to the edge; further out they are 0. */
static blend blend_at(const region *r, const double *plane, double y, double x) {
  if (y < -1 || y > (double)r->h || x < -1 || x > (double)r->w) return (blend){0, 0};
  y = clamp(y, r->h);
  x = clamp(x, r->w);
  int64_t y0 = (int64_t)y, x0 = (int64_t)x;
  int64_t y1 = y0 + 1 < r->h ? y0 + 1 : y0, x1 = x0 + 1 < r->w ? x0 + 1 : x0;
  double dy = y - (double)y0, dx = x - (double)x0;
  double v[] = {plane[y0 * r->w + x0] * (1 - dy) * (1 - dx), plane[y0 * r->w + x1] * (1 - dy) * dx,
                plane[y1 * r->w + x0] * dy * (1 - dx), plane[y1 * r->w + x1] * dy * dx};
  return (blend){v[0] + v[1] + v[2] + v[3], fmax(fmax(v[0], v[1]), fmax(v[2], v[3]))};
}

/* The maximum is over the weighted neighbours, as the operator is defined. */
static double pool_bin(const region *r, const double *plane, int64_t ph, int64_t pw) {
  double sum = 0, most = 0;
  for (int64_t i = 0; i < r->rows; i++) {
    for (int64_t j = 0; j < r->cols; j++) {
      double y = r->y + (double)ph * r->bin_h + ((double)i + 0.5) * r->bin_h / (double)r->rows;
      double x = r->x + (double)pw * r->bin_w + ((double)j + 0.5) * r->bin_w / (double)r->cols;
      blend b = blend_at(r, plane, y, x);
      sum += b.sum;
      most = (i == 0 && j == 0) || b.most > most ? b.most : most;
    }
  }
  int64_t count = r->rows * r->cols;
  return r->a->mode[0] == 'm' ? most : sum / (double)(count > 0 ? count : 1);
}

static wk_status place_region(const wk_eval_call *c, region *r, const double *roi) {
  const wk_attr_roi_align *a = r->a;
  double shift = a->half_pixel ? 0.5 : 0;
  r->x = roi[0] * a->scale - shift;
  r->y = roi[1] * a->scale - shift;
  double width = roi[2] * a->scale - shift - r->x, height = roi[3] * a->scale - shift - r->y;
  if (!a->half_pixel) {
    width = fmax(width, 1);
    height = fmax(height, 1);
  }
  r->bin_h = height / (double)a->height;
  r->bin_w = width / (double)a->width;
  double rows = a->samples > 0 ? (double)a->samples : fmax(ceil(r->bin_h), 0);
  double cols = a->samples > 0 ? (double)a->samples : fmax(ceil(r->bin_w), 0);
  bool finite = isfinite(r->x) && isfinite(r->y) && isfinite(r->bin_h) && isfinite(r->bin_w);
  if (!finite || rows * cols > (double)MAX_SAMPLES)
    return EVAL_BAD(c, "region (%g, %g, %g, %g) is too large", roi[0], roi[1], roi[2], roi[3]);
  r->rows = (int64_t)rows;
  r->cols = (int64_t)cols;
  return NULL;
}

static wk_status align_region(const wk_eval_call *c, region *r, double *plane, int64_t k) {
  const wk_tensor *x = &c->a.in[0], *batch = &c->a.in[2];
  int64_t sample = wk_load_i64(batch->data, batch->type.dtype, k), size = r->h * r->w;
  if (sample < 0 || sample >= x->type.dims[0])
    return EVAL_BAD(c, "batch index %lld is outside 0..%lld", (long long)sample,
                    (long long)x->type.dims[0] - 1);
  double roi[4];
  wk_reals_read(roi, &c->a.in[1], k * 4, 1, 4);
  WK_TRY(place_region(c, r, roi));
  int64_t to = k * wk_dims_count(c->a.out[0].type.dims, 1, 4);
  for (int64_t channel = 0; channel < x->type.dims[1]; channel++) {
    wk_reals_read(plane, x, (sample * x->type.dims[1] + channel) * size, 1, size);
    for (int64_t p = 0; p < r->a->height * r->a->width; p++) {
      double v = pool_bin(r, plane, p / r->a->width, p % r->a->width);
      wk_reals_write(&v, &c->a.out[0], to++, 1, 1);
    }
  }
  return NULL;
}

wk_status wk_eval_roi_align(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *x = &c->a.in[0];
  region r = {.a = c->a.node->attrs, .h = x->type.dims[2], .w = x->type.dims[3]};
  double *plane;
  WK_TRY(wk_reals_alloc(r.h * r.w, &plane));
  wk_status s = NULL;
  for (int64_t k = 0; k < c->a.in[1].type.dims[0] && !s; k++) s = align_region(c, &r, plane, k);
  free(plane);
  return s;
}
