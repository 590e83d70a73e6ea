/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of images at points that are data: grid_sample, roi_align. Points far outside, infinite
 * or NaN are points outside the image. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

/* ---- grid_sample ----------------------------------------------------------------------------- */

enum { MAX_AXES = 3, MAX_TAPS = 4 };

typedef struct {
  char mode, padding; /* first letters: nearest linear cubic; zeros border reflection */
  bool align, pixels;
  bool is_f64;        /* what positions are computed in; else f32 */
  int n;              /* axes */
  int64_t size[MAX_AXES];
} grid;

/* The neighbours of a position along an axis. */
typedef struct {
  int n;
  int64_t at[MAX_TAPS]; /* -1: outside */
  double weight[MAX_TAPS];
} taps;

static double rounded(const grid *g, double x) { return g->is_f64 ? x : (double)(float)x; }

static double clamp(double x, int64_t n) {
  return x < 0 ? 0 : x > (double)(n - 1) ? (double)(n - 1) : x;
}

static double reflect(const grid *g, double x, int64_t n) {
  double low = g->align ? 0 : -0.5, span = g->align ? (double)(n - 1) : (double)n;
  if (span == 0) return isnan(x) ? x : 0;
  x = fmod(fabs(rounded(g, x - low)), 2 * span);
  return rounded(g, (x > span ? 2 * span - x : x) + low);
}

static double bounded(double x) { return fabs(x) < 1e9 ? x : -100; }

static double padded(const grid *g, double x, int64_t n) {
  if (g->padding == 'r') x = reflect(g, x, n);
  if (g->padding != 'z') x = clamp(x, n);
  return bounded(x);
}

static double in_pixels(const grid *g, double x, int64_t n) {
  if (g->pixels) return x;
  x = rounded(g, x + 1);
  if (g->align) return rounded(g, x / 2 * (double)(n - 1));
  return rounded(g, rounded(g, x * (double)n) - 1) / 2;
}

/* Cubic interpolation pads each of its neighbours, the others the position. */
static taps taps_at(const grid *g, double x, int64_t n) {
  taps t = {.n = g->mode == 'n' ? 1 : g->mode == 'l' ? 2 : 4};
  bool is_cubic = g->mode == 'c';
  x = in_pixels(g, x, n);
  x = is_cubic ? bounded(x) : padded(g, x, n);
  double first = g->mode == 'n' ? nearbyint(x) : floor(x) - is_cubic;
  if (is_cubic) wk_cubic_weights(-0.75, x - floor(x), t.weight);
  for (int k = 0; k < t.n; k++) {
    double at = is_cubic ? padded(g, first + k, n) : first + k;
    t.at[k] = at >= 0 && at <= (double)(n - 1) ? (int64_t)at : -1;
    if (g->mode == 'n') t.weight[k] = 1;
    if (g->mode == 'l') t.weight[k] = 1 - fabs(x - at);
  }
  return t;
}

/* One element: the neighbours along all axes, the last one fastest. */
static double sample_grid(const grid *g, const double *block, const taps *t) {
  int count[MAX_AXES] = {0};
  double sum = 0;
  for (int k = g->n - 1; k >= 0;) {
    double weight = 1;
    int64_t at = 0;
    for (int i = 0; i < g->n; i++) {
      int64_t step = t[i].at[count[i]];
      weight *= t[i].weight[count[i]];
      at = at < 0 || step < 0 ? -1 : at * g->size[i] + step;
    }
    if (at >= 0) sum += weight * block[at];
    for (k = g->n - 1; k >= 0 && ++count[k] == t[k].n; k--) count[k] = 0;
  }
  return sum;
}

static grid grid_of(const wk_eval_call *c) {
  const wk_attr_grid_sample *a = c->a.node->attrs;
  const wk_type *x = &c->a.in[0].type, *at = &c->a.in[1].type;
  grid g = {.mode = a->mode[0], .padding = a->padding[0], .align = a->align_corners != 0,
            .pixels = a->pixels != 0, .is_f64 = x->dtype == WK_F64 || at->dtype == WK_F64,
            .n = x->rank - 2};
  memcpy(g.size, x->dims + 2, (size_t)g.n * sizeof *g.size);
  return g;
}

wk_status wk_eval_grid_sample(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *x = &c->a.in[0], *at = &c->a.in[1], *factors = wk_eval_in(c, 2);
  wk_tensor *y = &c->a.out[0];
  grid g = grid_of(c);
  int64_t points = wk_dims_count(y->type.dims, 2, y->type.rank), channels = x->type.dims[1];
  int64_t size = wk_dims_count(g.size, 0, g.n);
  double *block;
  WK_TRY(wk_reals_alloc(size, &block));
  for (int64_t p = 0; p < x->type.dims[0] * channels; p++) {
    wk_reals_read(block, x, p * size, 1, size);
    for (int64_t i = 0; i < points; i++) {
      double point[MAX_AXES], factor = 1;
      taps t[MAX_AXES];
      int64_t from = p / channels * points + i;
      wk_reals_read(point, at, from * g.n, 1, g.n);
      if (factors) wk_reals_read(&factor, factors, from, 1, 1);
      for (int k = 0; k < g.n; k++) t[k] = taps_at(&g, point[g.n - 1 - k], g.size[k]);
      wk_store_f64(y->data, y->type.dtype, p * points + i, factor * sample_grid(&g, block, t));
    }
  }
  free(block);
  return NULL;
}

/* ---- roi_align ------------------------------------------------------------------------------- */

#define MAX_SAMPLES (INT64_C(1) << 24) /* per bin */

typedef struct {
  const wk_attr_roi_align *a;
  int64_t h, w, room;     /* of the image; of a row */
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
  const double *above = plane + y0 * r->room, *below = plane + y1 * r->room;
  double v[] = {above[x0] * (1 - dy) * (1 - dx), above[x1] * (1 - dy) * dx,
                below[x0] * dy * (1 - dx), below[x1] * dy * dx};
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

static int64_t within(int64_t n, int64_t room) { return n < 1 ? 1 : n > room ? room : n; }

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
  double most = fmax(fmax(rows, cols), rows * cols);
  if (!finite || most > (double)MAX_SAMPLES)
    return EVAL_BAD(c, "region (%g, %g, %g, %g) is too large", roi[0], roi[1], roi[2], roi[3]);
  r->rows = (int64_t)rows;
  r->cols = (int64_t)cols;
  return NULL;
}

static wk_status align_region(const wk_eval_call *c, region *r, double *plane, int64_t k) {
  const wk_tensor *x = &c->a.in[0], *batch = &c->a.in[2];
  int64_t sample = wk_load_i64(batch->data, batch->type.dtype, k);
  int64_t size = x->type.dims[2] * x->type.dims[3];
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
  const wk_tensor *size = wk_eval_in(c, 3);
  region r = {.a = c->a.node->attrs, .h = x->type.dims[2], .w = x->type.dims[3]};
  double *plane;
  WK_TRY(wk_reals_alloc(r.h * r.w, &plane));
  r.room = r.w;
  if (size) {
    r.h = within(wk_load_i64(size->data, WK_I64, 0), r.h);
    r.w = within(wk_load_i64(size->data, WK_I64, 1), r.w);
  }
  wk_status s = NULL;
  for (int64_t k = 0; k < c->a.in[1].type.dims[0] && !s; k++) s = align_region(c, &r, plane, k);
  free(plane);
  return s;
}
