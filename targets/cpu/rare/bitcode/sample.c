/* SPDX-License-Identifier: Apache-2.0
 * Sampling of images at points that are data; determinants. Points far outside, infinite or NaN are
 * points outside the image. */
#include "targets/cpu/rare/bitcode/math.h"

typedef struct {
  const char *base;
  int64_t dtype, row, col, h, w; /* strides in elements */
} plane;

RARE plane plane_of(const wk_rare_view *v, const void *base, int64_t n, int64_t c) {
  plane p = {rare_at(base, v, n * v->strides[0] + c * v->strides[1]), v->dtype, v->strides[2],
             v->strides[3], v->dims[2], v->dims[3]};
  return p;
}

RARE double pixel_at(const plane *p, int64_t y, int64_t x) {
  return rare_get_f(p->base + (y * p->row + x * p->col) * rare_size(p->dtype), p->dtype);
}

RARE double clamp(double x, int64_t n) {
  return x < 0 ? 0 : x > (double)(n - 1) ? (double)(n - 1) : x;
}

RARE double absolute(double x) { return x < 0 ? -x : x; }

/* ---- roi_align ------------------------------------------------------------------------------ */

typedef struct {
  double y, x, bin_h, bin_w;
  int64_t rows, cols; /* samples per bin */
} region;

typedef struct {
  double sum, most; /* of the four weighted neighbours */
} blend;

/* Points up to one pixel outside belong to the edge; further out they are 0. */
RARE blend blend_at(const plane *p, double y, double x) {
  blend b = {0, 0};
  if (!(y >= -1 && y <= (double)p->h && x >= -1 && x <= (double)p->w)) return b;
  y = clamp(y, p->h);
  x = clamp(x, p->w);
  int64_t y0 = (int64_t)y, x0 = (int64_t)x;
  int64_t y1 = y0 + 1 < p->h ? y0 + 1 : y0, x1 = x0 + 1 < p->w ? x0 + 1 : x0;
  double dy = y - (double)y0, dx = x - (double)x0;
  double v[4] = {pixel_at(p, y0, x0) * (1 - dy) * (1 - dx), pixel_at(p, y0, x1) * (1 - dy) * dx,
                 pixel_at(p, y1, x0) * dy * (1 - dx), pixel_at(p, y1, x1) * dy * dx};
  b.most = v[0];
  for (int k = 0; k < 4; k++) {
    b.sum += v[k];
    if (v[k] > b.most) b.most = v[k];
  }
  return b;
}

RARE double pool_bin(const wk_rare *d, const region *r, const plane *p, int64_t ph, int64_t pw) {
  double sum = 0, most = 0;
  for (int64_t i = 0; i < r->rows; i++) {
    for (int64_t j = 0; j < r->cols; j++) {
      double y = r->y + (double)ph * r->bin_h + ((double)i + 0.5) * r->bin_h / (double)r->rows;
      double x = r->x + (double)pw * r->bin_w + ((double)j + 0.5) * r->bin_w / (double)r->cols;
      blend b = blend_at(p, y, x);
      sum += b.sum;
      most = (i == 0 && j == 0) || b.most > most ? b.most : most;
    }
  }
  int64_t count = r->rows * r->cols;
  return d->attr[RARE_IS_MAX] ? most : sum / (double)(count > 0 ? count : 1);
}

RARE double whole_above(double x) {
  double f = rare_floor(x);
  return x > 0 ? (f < x ? f + 1 : f) : 0;
}

/* False when the region is not finite or has too many samples per bin. */
RARE bool place_region(const wk_rare *d, const double roi[4], const wk_rare_view *y, region *r) {
  double scale = rare_double(d->attr[RARE_SCALE]), shift = d->attr[RARE_HALF_PIXEL] ? 0.5 : 0;
  r->x = roi[0] * scale - shift;
  r->y = roi[1] * scale - shift;
  double w = roi[2] * scale - shift - r->x, h = roi[3] * scale - shift - r->y;
  if (!d->attr[RARE_HALF_PIXEL]) {
    if (!(w > 1)) w = 1;
    if (!(h > 1)) h = 1;
  }
  r->bin_h = h / (double)y->dims[2];
  r->bin_w = w / (double)y->dims[3];
  double samples = (double)d->attr[RARE_SAMPLES];
  double rows = samples > 0 ? samples : whole_above(r->bin_h);
  double cols = samples > 0 ? samples : whole_above(r->bin_w);
  if (!(absolute(r->x) < 1e30 && absolute(r->y) < 1e30 && rows * cols <= 0x1p24)) return false;
  r->rows = (int64_t)rows;
  r->cols = (int64_t)cols;
  return true;
}

RARE int64_t within(int64_t n, int64_t room) { return n < 1 ? 1 : n > room ? room : n; }

/* Views: y [k,c,oh,ow], x [n,c,h,w], rois [k,4], batch [k], and size [2] where there is one. A task
 * is one plane of y. */
void wk_rare_roi_align(void *const *args, void *scratch, int64_t begin, int64_t end,
                       const wk_rare *d) {
  (void)scratch;
  const wk_rare_view *y = &d->view[0], *x = &d->view[1], *rois = &d->view[2], *batch = &d->view[3];
  const bool is_sized = d->attr[RARE_IS_SIZED];
  int64_t *error = args[is_sized ? 5 : 4];
  for (int64_t t = begin; t < end; t++) {
    int64_t k = t / y->dims[1], c = t % y->dims[1];
    const void *which = rare_at(args[3], batch, k * batch->strides[0]);
    region r;
    double roi[4];
    for (int i = 0; i < 4; i++)
      roi[i] = rare_get_f(rare_at(args[2], rois, k * rois->strides[0] + i * rois->strides[1]),
                          rois->dtype);
    if (rare_get_i(which, batch->dtype) < 0 || !place_region(d, roi, y, &r)) {
      __atomic_store_n(error, RARE_BAD_INDEX, __ATOMIC_RELAXED);
      continue;
    }
    int64_t n = rare_index(which, batch->dtype, x->dims[0], error);
    plane p = plane_of(x, args[1], n, c);
    if (is_sized) {
      const wk_rare_view *size = &d->view[4];
      p.h = within(rare_get_i(args[4], size->dtype), p.h);
      p.w = within(rare_get_i(rare_at(args[4], size, size->strides[0]), size->dtype), p.w);
    }
    for (int64_t i = 0; i < y->dims[2] * y->dims[3]; i++)
      rare_put_f(rare_at(args[0], y, k * y->strides[0] + c * y->strides[1] +
                                         rare_offset(i, y->dims, y->strides, 2, 4)),
                 y->dtype, pool_bin(d, &r, &p, i / y->dims[3], i % y->dims[3]));
  }
}

/* ---- det ------------------------------------------------------------------------------------ */

/* By elimination with partial pivoting. */
RARE double determinant(double *m, int64_t n) {
  double det = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++)
      if (absolute(m[i * n + k]) > absolute(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) det = -det;
    for (int64_t j = k; pivot != k && j < n; j++) {
      double v = m[k * n + j];
      m[k * n + j] = m[pivot * n + j];
      m[pivot * n + j] = v;
    }
    det *= m[k * n + k];
    for (int64_t i = k + 1; i < n; i++) {
      double factor = m[i * n + k] / m[k * n + k];
      for (int64_t j = k + 1; j < n; j++) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return det;
}

/* Views: y [...], x [..., n, n]. A task is one matrix. */
void wk_rare_det(void *const *args, void *scratch, int64_t begin, int64_t end, const wk_rare *d) {
  const wk_rare_view *y = &d->view[0], *x = &d->view[1];
  int64_t n = x->dims[x->rank - 1];
  double *m = scratch;
  for (int64_t t = begin; t < end; t++) {
    int64_t from = rare_offset(t, x->dims, x->strides, 0, x->rank - 2);
    for (int64_t i = 0; i < n * n; i++)
      m[i] = rare_get_f(
          rare_at(args[1], x, from + rare_offset(i, x->dims, x->strides, x->rank - 2, x->rank)),
          x->dtype);
    rare_put_f(rare_at(args[0], y, rare_offset(t, y->dims, y->strides, 0, y->rank)), y->dtype,
               determinant(m, n));
  }
}
