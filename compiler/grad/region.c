/* SPDX-License-Identifier: Apache-2.0
 * roi_align as a sum that can be differentiated, by the image and by the regions: each bin is one
 * segment of the rows x [n * h * w, c], four neighbours of each of its samples with their weights.
 * Only means of a known number of samples are such sums. */
#include "compiler/grad/adjoint.h"

enum { X, ROIS, BATCH, SIZE, TAPS = 2 };

/* Along one axis: T = bins * samples positions in each of k regions. */
typedef struct {
  int64_t size, bins;
  wk_value_id row, weight; /* of each position's neighbours, [k, T, TAPS]; rows i64 */
} axis;

static wk_value_id corner(wk_adjoint *a, int which, wk_dtype wide) {
  return wk_adjoint_cast(&a->l, wk_low_slice(&a->l, a->n->in[ROIS], 1, which, 1, 1), wide);
}

/* The positions, [k, T], in pixels. */
static wk_value_id positions(wk_adjoint *a, int first, int64_t n, wk_dtype wide) {
  const wk_attr_roi_align *r = WK_ATTR(a->n, roi_align);
  wk_low *l = &a->l;
  const int64_t dims[] = {1, n};
  const wk_type along = wk_type_make(wide, 2, dims);
  char text[256];
  double shift = r->half_pixel ? 0.5 : 0;
  snprintf(text, sizeof text,
           "p = sub(mul(a, %.17g), %g); s = sub(sub(mul(b, %.17g), %g), p); "
           "add(add(p, c), mul(div(%s, %lld), add(out(index<1>()), 0.5)))",
           r->scale, shift, r->scale, shift, r->half_pixel ? "s" : "max(s, 1)", (long long)n);
  return wk_low_map(l, wide, text, 3, corner(a, first, wide), corner(a, first + 2, wide),
                    wk_adjoint_zeros(l, &along));
}

static wk_value_id pair(wk_low *l, wk_value_id first, wk_value_id second) {
  if (l->status) return 0;
  const wk_type t = *wk_low_type(l, first);
  const int64_t dims[] = {t.dims[0], t.dims[1], 1};
  wk_value_id both[TAPS] = {wk_low_reshape(l, first, 3, dims), wk_low_reshape(l, second, 3, dims)};
  return wk_low_concat(l, both, TAPS, 2);
}

/* Up to one pixel outside belongs to the edge; further out there is nothing. */
static void sample(wk_adjoint *a, axis *x, int first, wk_dtype wide) {
  wk_low *l = &a->l;
  char near[96], far[128], inside[96], text[96];
  long long last = (long long)x->size - 1;
  wk_value_id p = positions(a, first, x->bins * WK_ATTR(a->n, roi_align)->samples, wide);
  snprintf(inside, sizeof inside, "and(ge(a, -1), le(a, %lld))", last + 1);
  snprintf(text, sizeof text, "min(max(a, 0), %lld)", last);
  snprintf(near, sizeof near, "i64(floor(a))");
  snprintf(far, sizeof far, "min(add(i64(floor(a)), 1), %lld)", last);
  wk_value_id is_inside = wk_low_map(l, WK_BOOL, inside, 1, p);
  wk_value_id at = wk_low_map(l, wide, text, 1, p);
  x->row = pair(l, wk_low_map(l, WK_I64, near, 1, at), wk_low_map(l, WK_I64, far, 1, at));
  x->weight =
      pair(l, wk_low_map(l, wide, "select(b, sub(1, sub(a, floor(a))), 0)", 2, at, is_inside),
           wk_low_map(l, wide, "select(b, sub(a, floor(a)), 0)", 2, at, is_inside));
}

/* Offsets of n segments, `each` reads long. */
static wk_value_id offsets(wk_low *l, int64_t n, int64_t each) {
  const int64_t count = n + 1;
  const wk_type t = wk_type_make(WK_I64, 1, &count);
  char text[64];
  snprintf(text, sizeof text, "add(a, mul(index<0>(), %lld))", (long long)each);
  return wk_low_map(l, WK_I64, text, 1, wk_adjoint_zeros(l, &t));
}

/* Dims [k, bins of y, bins of x, samples of y, samples of x, taps of y, taps of x]. */
static wk_value_id sums(wk_adjoint *a, const axis *y, const axis *x, const wk_type *image,
                        wk_dtype wide) {
  wk_low *l = &a->l;
  if (l->status) return 0;
  const int64_t k = wk_low_type(l, a->n->in[ROIS])->dims[0];
  const int64_t s = WK_ATTR(a->n, roi_align)->samples, c = image->dims[1];
  const int64_t of_k[] = {k, 1, 1, 1, 1, 1, 1}, of_y[] = {k, y->bins, 1, s, 1, TAPS, 1};
  const int64_t of_x[] = {k, 1, x->bins, 1, s, 1, TAPS}, last[] = {0, 2, 3, 1};
  const int64_t reads = k * y->bins * x->bins * s * s * TAPS * TAPS;
  const int64_t rows[] = {image->dims[0] * y->size * x->size, c};
  char text[128];
  snprintf(text, sizeof text, "add(mul(add(mul(i64(a), %lld), b), %lld), c)", (long long)y->size,
           (long long)x->size);
  wk_value_id row = wk_low_map(l, WK_I64, text, 3, wk_low_reshape(l, a->n->in[BATCH], 7, of_k),
                               wk_low_reshape(l, y->row, 7, of_y),
                               wk_low_reshape(l, x->row, 7, of_x));
  snprintf(text, sizeof text, "div(mul(a, b), %lld)", (long long)(s * s));
  wk_value_id weight = wk_low_map(l, wide, text, 2, wk_low_reshape(l, y->weight, 7, of_y),
                                  wk_low_reshape(l, x->weight, 7, of_x));
  wk_value_id data = wk_low_transpose(l, wk_adjoint_cast(l, a->n->in[X], wide), last);
  wk_value_id in[] = {wk_low_reshape(l, data, 2, rows),
                      offsets(l, k * y->bins * x->bins, s * s * TAPS * TAPS),
                      wk_low_reshape(l, row, 1, &reads), wk_low_reshape(l, weight, 1, &reads)};
  if (l->status) return 0;
  wk_attr_segment_reduce *r = wk_attrs_new(l->arena, WK_OP_SEGMENT_REDUCE);
  r->to = wide;
  return wk_low_add(l, WK_OP_SEGMENT_REDUCE, r, in, 4, 1, NULL);
}

void wk_adjoint_roi_align(wk_adjoint *a) {
  const wk_attr_roi_align *r = WK_ATTR(a->n, roi_align);
  wk_low *l = &a->l;
  const wk_type image = *wk_low_type(l, a->n->in[X]);
  wk_dtype wide = wk_compute_dtype(image.dtype);
  axis y = {.size = image.dims[2], .bins = r->height};
  axis x = {.size = image.dims[3], .bins = r->width};
  static const int64_t first[] = {0, 3, 1, 2};
  bool is_sized = a->n->n_in > SIZE && a->n->in[SIZE] != WK_NONE;
  if (r->mode[0] == 'm' || r->samples == 0 || is_sized) {
    wk_low_fail(l, wk_error(WK_UNSUPPORTED, is_sized ? "the image has a size of its own"
                            : r->samples ? "maxima of samples have no gradient"
                            : "how many samples there are depends on the regions"));
    return;
  }
  sample(a, &y, 1, wide);
  sample(a, &x, 0, wide);
  wk_value_id bins = sums(a, &y, &x, &image, wide);
  if (l->status) return;
  const int64_t dims[] = {wk_low_type(l, a->n->in[ROIS])->dims[0], y.bins, x.bins, image.dims[1]};
  bins = wk_low_transpose(l, wk_low_reshape(l, bins, 4, dims), first);
  a->out[0] = wk_adjoint_cast(l, bins, image.dtype);
  a->lower = true;
}
