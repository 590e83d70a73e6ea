/* SPDX-License-Identifier: Apache-2.0
 * Resize and Upsample: sizes, scales and coordinate rules of every opset become one complete
 * set. */
#include <math.h>
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

typedef struct {
  int rank;
  int64_t in[WK_MAX_RANK], size[WK_MAX_RANK];
  double scale[WK_MAX_RANK], roi[2 * WK_MAX_RANK];
  bool has_roi;
} resize;

/* Sizes that are computed may be anything. */
static int64_t size_of(wk_onnx_node *c, double size) {
  bool fits = wk_onnx_valid(c, size >= 0 && size < 0x1p31, "size %.0f is not valid", size);
  return fits ? (int64_t)size : 0;
}

static void set_scales(wk_onnx_node *c, resize *r, wk_floats scales, wk_ints axes) {
  int64_t n = axes.n < 0 ? r->rank : axes.n;
  if (!wk_onnx_valid(c, scales.n == n, "%lld scales for %lld axes", (long long)scales.n,
                     (long long)n))
    return;
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    int64_t k = axes.n < 0 ? i : wk_onnx_axis(c, axes.v[i], r->rank);
    if (!wk_onnx_valid(c, scales.v[i] > 0 && scales.v[i] < 1e6, "scale %g is not valid",
                       scales.v[i]))
      return;
    r->scale[k] = scales.v[i];
    /* sizes follow from the scale as the 32-bit number it is */
    r->size[k] = size_of(c, floorf((float)r->in[k] * (float)scales.v[i]));
  }
}

/* keep_aspect_ratio_policy: one scale for all the axes named, the sizes rounded. */
static void keep_aspect(wk_onnx_node *c, resize *r, const int64_t *named, int64_t n,
                        bool is_larger) {
  double scale = is_larger ? 0 : INFINITY;
  for (int64_t i = 0; i < n; i++) {
    double s = (double)r->size[named[i]] / (double)r->in[named[i]];
    if (is_larger ? s > scale : s < scale) scale = s;
  }
  for (int64_t i = 0; i < n; i++) {
    r->scale[named[i]] = scale;
    r->size[named[i]] = size_of(c, floor(scale * (double)r->in[named[i]] + 0.5));
  }
}

static void set_sizes(wk_onnx_node *c, resize *r, wk_ints sizes, wk_ints axes) {
  int64_t n = axes.n < 0 ? r->rank : axes.n, named[WK_MAX_RANK];
  if (!wk_onnx_valid(c, sizes.n == n, "%lld sizes for %lld axes", (long long)sizes.n, (long long)n))
    return;
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    named[i] = axes.n < 0 ? i : wk_onnx_axis(c, axes.v[i], r->rank);
    wk_onnx_valid(c, sizes.v[i] >= 0 && sizes.v[i] < (int64_t)1 << 31, "size %lld is not valid",
                  (long long)sizes.v[i]);
    if (!wk_onnx_valid(c, r->in[named[i]] > 0, "axis %lld is empty", (long long)named[i])) return;
    r->size[named[i]] = sizes.v[i];
    r->scale[named[i]] = (double)sizes.v[i] / (double)r->in[named[i]];
  }
  const char *policy = wk_onnx_text(c, "keep_aspect_ratio_policy", "stretch");
  if (wk_onnx_ok(c) && strcmp(policy, "stretch") != 0) {
    keep_aspect(c, r, named, n, strcmp(policy, "not_smaller") == 0);
  }
}

static void set_roi(wk_onnx_node *c, resize *r, wk_ints axes) {
  int64_t n = axes.n < 0 ? r->rank : axes.n;
  wk_floats roi = wk_onnx_const_floats(c, c->in[1], "the region");
  if (!wk_onnx_valid(c, roi.n == 2 * n,
                     "the region of interest has %lld numbers, not two for each axis",
                     (long long)roi.n))
    return;
  for (int i = 0; i < r->rank; i++) r->roi[i + r->rank] = 1.0;
  for (int64_t i = 0; i < n && wk_onnx_ok(c); i++) {
    int64_t k = axes.n < 0 ? i : wk_onnx_axis(c, axes.v[i], r->rank);
    r->roi[k] = roi.v[i];
    r->roi[k + r->rank] = roi.v[i + n];
  }
  r->has_roi = true;
}

static bool shrinks(const resize *r) {
  for (int i = 0; i < r->rank; i++) {
    if (r->scale[i] < 1) return true;
  }
  return false;
}

static wk_value_id emit_resize(wk_onnx_node *c, const resize *r, const char *mode,
                               const char *coordinates, const char *nearest) {
  wk_arena *m = c->im->m->arena;
  WK_MAKE_ATTRS(c, a, RESIZE, resize);
  a->sizes = wk_ints_dup(m, r->size, r->rank);
  a->scales = wk_floats_dup(m, r->scale, r->rank);
  if (r->has_roi) a->roi = wk_floats_dup(m, r->roi, 2 * r->rank);
  a->mode = mode;
  a->coordinates = coordinates;
  a->nearest = nearest;
  a->cubic_a = wk_onnx_float(c, "cubic_coeff_a", -0.75);
  a->exclude_outside = wk_onnx_int(c, "exclude_outside", 0) != 0;
  a->extrapolation = wk_onnx_float(c, "extrapolation_value", 0.0);
  return wk_make(c, WK_OP_RESIZE, a, 1, c->in[0]);
}

/* ---- antialiasing ---------------------------------------------------------------------------- */

typedef struct {
  int64_t in, out;
  double scale, cubic_a; /* cubic_a: NAN for linear interpolation */
  const char *coordinates;
  bool exclude_outside;
} smoothing;

/* Where element i of the result lies among those of x; NAN: not by that rule. */
static double coordinate(const smoothing *s, int64_t i) {
  double at = (double)i, centred = (at + 0.5) / s->scale - 0.5;
  if (!strcmp(s->coordinates, "half_pixel")) return centred;
  if (!strcmp(s->coordinates, "pytorch_half_pixel")) return s->out > 1 ? centred : -0.5;
  if (!strcmp(s->coordinates, "asymmetric")) return at / s->scale;
  if (!strcmp(s->coordinates, "align_corners"))
    return s->out > 1 ? at * (double)(s->in - 1) / (double)(s->out - 1) : 0;
  if (strcmp(s->coordinates, "half_pixel_symmetric") != 0) return (double)NAN;
  double fits = (double)s->out / (s->scale * (double)s->in);
  return (double)s->in / 2 * (1 - fits) + centred;
}

static double kernel(const smoothing *s, double x) {
  double a = s->cubic_a;
  x = fabs(x);
  if (isnan(a)) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/* Weights [in, out]: the kernel is stretched by what the axis shrinks; neighbours outside count as
 * the border, or not at all. */
static void fill_weights(const smoothing *s, float *w) {
  double stretch = s->scale < 1 ? s->scale : 1;
  int64_t first = (int64_t)floor((isnan(s->cubic_a) ? -1 : -2) / stretch) + 1;
  for (int64_t i = 0; i < s->out; i++) {
    double x = coordinate(s, i), sum = 0;
    int64_t base = (int64_t)ceil(x) - 1;
    for (int64_t k = first; k < 2 - first; k++) {
      bool is_outside = base + k < 0 || base + k >= s->in;
      if (!is_outside || !s->exclude_outside) sum += kernel(s, stretch * ((double)(base + k) - x));
    }
    for (int64_t k = first; k < 2 - first; k++) {
      int64_t at = base + k < 0 ? 0 : base + k >= s->in ? s->in - 1 : base + k;
      if (at != base + k && s->exclude_outside) continue;
      w[at * s->out + i] += (float)(kernel(s, stretch * ((double)(base + k) - x)) / sum);
    }
  }
}

/* Each axis that changes times a matrix of weights. */
static wk_value_id emit_smooth(wk_onnx_node *c, const resize *r, const char *mode,
                               const char *coordinates) {
  enum { LARGEST = 1 << 24 };
  bool is_cubic = !strcmp(mode, "cubic");
  wk_dtype t = wk_onnx_type(c, c->in[0])->dtype;
  wk_value_id x = wk_make_cast(c, c->in[0], t == WK_F64 ? WK_F64 : WK_F32);
  for (int k = 0; k < r->rank && wk_onnx_ok(c); k++) {
    smoothing s = {.in = r->in[k], .out = r->size[k], .scale = r->scale[k],
                   .coordinates = coordinates,
                   .cubic_a = is_cubic ? wk_onnx_float(c, "cubic_coeff_a", -0.75) : (double)NAN,
                   .exclude_outside = wk_onnx_int(c, "exclude_outside", 0) != 0};
    if (s.in == s.out && s.scale == 1) continue;
    wk_onnx_need(c, !isnan(coordinate(&s, 0)), "antialiasing by '%s' is not supported",
                 coordinates);
    wk_onnx_need(c, s.in > 0 && s.out > 0 && s.in <= LARGEST / s.out && s.scale > 1e-4,
                 "antialiasing from %lld to %lld elements is not supported", (long long)s.in,
                 (long long)s.out);
    if (c->status) return WK_NONE;
    const int64_t dims[] = {s.in, s.out};
    const wk_type wt = wk_type_make(WK_F32, 2, dims);
    void *w;
    wk_value_id weights = wk_make_constant(c, &wt, &w);
    if (w) fill_weights(&s, w);
    wk_value_id rows = wk_make_move_axis(c, x, k, r->rank - 1);
    wk_type shape = *wk_onnx_type(c, rows);
    const int64_t flat[] = {s.in ? wk_type_count(&shape) / s.in : 0, s.in};
    rows = wk_make_reshape(c, rows, 2, flat);
    rows = wk_make_2(c, WK_OP_MATMUL, rows,
                     wk_make_cast(c, weights, wk_onnx_type(c, rows)->dtype));
    shape.dims[r->rank - 1] = s.out;
    x = wk_make_move_axis(c, wk_make_reshape(c, rows, r->rank, shape.dims), r->rank - 1, k);
  }
  return wk_make_cast(c, x, t);
}

/* ---- operators ------------------------------------------------------------------------------- */

static resize start(wk_onnx_node *c) {
  const wk_type x = *wk_onnx_type(c, c->in[0]);
  resize r = {.rank = x.rank};
  for (int i = 0; i < x.rank; i++) {
    r.in[i] = r.size[i] = x.dims[i];
    r.scale[i] = 1.0;
  }
  return r;
}

static bool is_empty(wk_onnx_node *c, int i) {
  return !wk_onnx_has(c, i) || wk_type_count(wk_onnx_type(c, c->in[i])) == 0;
}

/* Upsample, and Resize of opset 10: plain scaling of coordinates. */
wk_status wk_onnx_upsample(wk_onnx_node *c) {
  resize r = start(c);
  wk_floats scales = {.n = -1};
  if (c->opset >= 9) scales = wk_onnx_const_floats(c, c->in[1], "the scales");
  else scales = wk_onnx_floats(c, "scales");
  if (!wk_onnx_ok(c)) return c->status;
  if (scales.n < 0) { /* opset 1 */
    double h = wk_onnx_float(c, "height_scale", 1.0), w = wk_onnx_float(c, "width_scale", 1.0);
    scales = wk_floats_dup(c->im->m->arena, (const double[]){1.0, 1.0, h, w}, 4);
  }
  set_scales(c, &r, scales, (wk_ints){.n = -1});
  bool nearest = wk_onnx_text_is(c, "mode", "nearest", "nearest");
  if (!wk_onnx_ok(c)) return c->status;
  return wk_onnx_return(c,
                        emit_resize(c, &r, nearest ? "nearest" : "linear", "asymmetric", "floor"));
}

wk_status wk_onnx_resize(wk_onnx_node *c) {
  if (c->opset < 11) return wk_onnx_upsample(c);
  resize r = start(c);
  wk_ints axes = wk_onnx_ints(c, "axes");
  const char *mode = wk_onnx_text(c, "mode", "nearest");
  const char *coordinates = wk_onnx_text(c, "coordinate_transformation_mode", "half_pixel");
  if (!is_empty(c, 3)) set_sizes(c, &r, wk_onnx_const_ints(c, c->in[3], "the sizes"), axes);
  else if (!is_empty(c, 2))
    set_scales(c, &r, wk_onnx_const_floats(c, c->in[2], "the scales"), axes);
  else wk_onnx_valid(c, false, "neither scales nor sizes are given");
  if (strcmp(coordinates, "tf_crop_and_resize") == 0 && wk_onnx_has(c, 1)) set_roi(c, &r, axes);
  bool smooths = wk_onnx_int(c, "antialias", 0) != 0 && strcmp(mode, "nearest") != 0;
  if (!wk_onnx_ok(c)) return c->status;
  if (smooths && shrinks(&r)) {
    wk_onnx_need(c, wk_dtype_is_float(wk_onnx_type(c, c->in[0])->dtype),
                 "antialiasing of integers is not supported");
    return wk_onnx_return(c, c->status ? WK_NONE : emit_smooth(c, &r, mode, coordinates));
  }
  const char *nearest = wk_onnx_text(c, "nearest_mode", "round_prefer_floor");
  return wk_onnx_return(c, emit_resize(c, &r, mode, coordinates, nearest));
}
