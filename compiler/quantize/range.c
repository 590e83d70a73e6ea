/* SPDX-License-Identifier: Apache-2.0
 * What was seen of a tensor, and the range that its integers cover. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/quantize/quantize.h"

/* ---- collecting ------------------------------------------------------------------------------ */

static void add_sums(wk_range *r, const wk_tensor *t) {
  const float *x = t->data;
  int64_t n = t->type.dims[r->axis], inner = 1, count = wk_type_count(&t->type);
  for (int i = r->axis + 1; i < t->type.rank; i++) inner *= t->type.dims[i];
  if (!r->sums) r->sums = wk_xcalloc((size_t)n, sizeof *r->sums);
  r->channels = n;
  if (count == 0) return;
  r->per_channel += count / n;
  for (int64_t at = 0; at < count; at += inner) {
    double sum = 0;
    for (int64_t i = 0; i < inner; i++) sum += (double)x[at + i];
    r->sums[at / inner % n] += sum;
  }
}

/* Which binary exponents there are among numbers that are finite and not 0. */
static void add_exponents(wk_range *r, const float *x, int64_t n) {
  bool there[256] = {false};
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    there[bits >> 23 & 255] = true;
  }
  for (int e = 1; e < 255; e++)
    if (there[e]) r->exponents[e / 64] |= UINT64_C(1) << (e % 64);
}

void wk_range_scan(wk_range *r, const wk_tensor *t) {
  const float *x = t->data;
  int64_t n = wk_type_count(&t->type), zeros = 0, nan = 0, bad = 0;
  float lo = INFINITY, hi = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    bool finite = fabsf(x[i]) <= FLT_MAX;
    zeros += x[i] == 0;
    nan += x[i] != x[i];
    bad += !finite;
    lo = finite && x[i] < lo ? x[i] : lo;
    hi = finite && x[i] > hi ? x[i] : hi;
  }
  r->zeros += zeros;
  r->nan += nan;
  r->infinite += bad - nan;
  if (n > bad) { /* both are finite */
    bool first = r->count == 0;
    r->min = first || (double)lo < r->min ? (double)lo : r->min;
    r->max = first || (double)hi > r->max ? (double)hi : r->max;
  }
  r->count += n - bad;
  add_exponents(r, x, n);
  if (r->axis >= 0 && r->axis < t->type.rank) add_sums(r, t);
}

bool wk_range_is_parted(const wk_range *r) {
  enum { BIAS = 127, LARGE = BIAS + 9, HOLE = 7 };
  int above = 0;
  for (int e = 254; e > 0; e--) {
    if (!(r->exponents[e / 64] >> (e % 64) & 1)) continue;
    if (above >= LARGE && above - e >= HOLE) return true;
    above = e;
  }
  return false;
}

void wk_range_bin(wk_range *r, const wk_tensor *t) {
  const float *x = t->data;
  int64_t n = wk_type_count(&t->type);
  double width = (r->max - r->min) / WK_RANGE_BINS;
  if (!r->bins) r->bins = wk_xcalloc(WK_RANGE_BINS, sizeof *r->bins);
  if (!(width > 0)) return;
  float lo = (float)r->min, inverse = (float)(1 / width);
  for (int64_t i = 0; i < n; i++) {
    if (x[i] == 0 || !(fabsf(x[i]) <= FLT_MAX)) continue;
    float k = (x[i] - lo) * inverse; /* infinite where the range is wider than a float */
    r->bins[!(k > 0) ? 0 : k < WK_RANGE_BINS ? (int)k : WK_RANGE_BINS - 1]++;
  }
}

void wk_range_free(wk_range *r) {
  free(r->bins);
  free(r->sums);
  *r = (wk_range){0};
}

static double middle(const wk_range *r, int bin) {
  return r->min + (bin + 0.5) * (r->max - r->min) / WK_RANGE_BINS;
}

/* ---- scale and zero point -------------------------------------------------------------------- */

wk_quantize_params wk_quantize_params_of(double lo, double hi, const wk_quantize_options *o) {
  double least = wk_quantize_least(o->activation), most = wk_quantize_most(o->activation);
  double scale = 0, zero = least;
  lo = lo < 0 ? lo : 0;
  hi = hi > 0 ? hi : 0;
  if (!o->symmetric) scale = (hi - lo) / 255;
  else if (o->activation == WK_U8 && lo == 0) scale = hi / 255;
  else scale = fmax(-lo, hi) / 127;
  if (!(scale >= FLT_MIN && scale <= FLT_MAX)) scale = 1;
  if (!o->symmetric) zero = rint(least - lo / scale);
  else if (o->activation == WK_I8) zero = 0;
  else if (lo < 0) zero = 128;
  zero = zero < least ? least : zero > most ? most : zero;
  return (wk_quantize_params){(float)scale, (int32_t)zero};
}

/* ---- methods --------------------------------------------------------------------------------- */

typedef struct { double lo, hi; } interval;

static interval by_percentile(const wk_range *r, double percent) {
  double cut = (double)r->count * (1 - percent / 100), seen = 0;
  int a = 0, b = WK_RANGE_BINS - 1;
  double step = (r->max - r->min) / WK_RANGE_BINS;
  bool both = r->min < 0 && r->max > 0; /* what is cut off is shared by the two ends */
  double left = r->min < 0 ? both ? cut / 2 : cut : 0, right = r->max > 0 ? cut - left : 0;
  for (; a < b && seen + (double)r->bins[a] <= left; a++) seen += (double)r->bins[a];
  for (seen = 0; b > a && seen + (double)r->bins[b] <= right; b--) seen += (double)r->bins[b];
  return (interval){r->min + a * step, r->max - (WK_RANGE_BINS - 1 - b) * step};
}

/* Square error of the values seen when the interval is quantised. */
static double square_error(const wk_range *r, interval v, const wk_quantize_options *o) {
  wk_quantize_params p = wk_quantize_params_of(v.lo, v.hi, o);
  double least = (wk_quantize_least(o->activation) - p.zero) * (double)p.scale, sum = 0;
  double most = (wk_quantize_most(o->activation) - p.zero) * (double)p.scale;
  double inverse = 1 / (double)p.scale;
  const double big = 6755399441055744.0; /* adding and subtracting it rounds to an integer */
  for (int i = 0; i < WK_RANGE_BINS; i++) {
    if (!r->bins[i]) continue;
    double x = middle(r, i), q = ((x * inverse + big) - big) * (double)p.scale;
    q = q < least ? least : q > most ? most : q;
    sum += (double)r->bins[i] * (x - q) * (x - q);
  }
  return sum;
}

/* Shrinks one end, or both, in steps; keeps what is best. */
static interval shrink(const wk_range *r, interval from, double lo_step, double hi_step,
                       const wk_quantize_options *o) {
  enum { STEPS = 96 };
  interval best = from;
  double least = INFINITY;
  for (int i = 0; i < STEPS; i++) {
    interval v = {from.lo * (1 - lo_step * i), from.hi * (1 - hi_step * i)};
    double e = square_error(r, v, o);
    if (e < least) {
      least = e;
      best = v;
    }
  }
  return best;
}

static interval by_square_error(const wk_range *r, const wk_quantize_options *o) {
  const double step = 1.0 / 120; /* down to a fifth */
  interval v = shrink(r, (interval){r->min, r->max}, step, step, o);
  if (r->min < 0 && r->max > 0 && !o->symmetric)
    for (int round = 0; round < 2; round++) {
      v = shrink(r, (interval){v.lo, r->max}, 0, step, o);
      v = shrink(r, (interval){r->min, v.hi}, step, 0, o);
    }
  return v;
}

/* Kullback-Leibler divergence between the distribution of |x| clipped at n bins and the same in
 * `levels` steps. */
static double divergence(const double *bins, int n, int levels, double outside) {
  double d = 0, total = outside, kept = 0;
  for (int i = 0; i < n; i++) {
    total += bins[i];
    kept += bins[i];
  }
  if (!(kept > 0)) return INFINITY;
  for (int k = 0; k < levels; k++) {
    int a = (int)((int64_t)k * n / levels), b = (int)((int64_t)(k + 1) * n / levels), used = 0;
    double mass = 0;
    for (int i = a; i < b; i++) {
      mass += bins[i];
      used += bins[i] > 0;
    }
    for (int i = a; i < b; i++) {
      double p = (bins[i] + (i == n - 1 ? outside : 0)) / total;
      double q = bins[i] > 0 ? mass / used / kept : 0;
      if (p > 0) d += p * log(p / (q > 0 ? q : 1e-12));
    }
  }
  return d;
}

static interval by_entropy(const wk_range *r, const wk_quantize_options *o) {
  enum { N = WK_RANGE_BINS / 2 };
  double bins[N] = {0}, top = fmax(-r->min, r->max), least = INFINITY, best = top, outside = 0;
  bool one_side = r->min >= 0 || r->max <= 0;
  int levels = one_side && !(o->symmetric && o->activation == WK_I8) ? 256 : 128;
  if (!(top > 0)) return (interval){r->min, r->max};
  for (int i = 0; i < WK_RANGE_BINS; i++) {
    int k = (int)(fabs(middle(r, i)) / top * N);
    bins[k < N ? k : N - 1] += (double)r->bins[i];
  }
  for (int n = N; n >= levels; n -= 8) {
    double d = divergence(bins, n, levels, outside);
    if (d < least) {
      least = d;
      best = top * n / N;
    }
    for (int i = n - 8; i < n; i++) outside += bins[i];
  }
  return (interval){fmax(r->min, -best), fmin(r->max, best)};
}

wk_quantize_params wk_range_choose(const wk_range *r, const wk_quantize_options *o) {
  interval v = {r->min, r->max};
  if (r->count > 0 && r->bins) {
    if (o->method == WK_RANGE_PERCENTILE) v = by_percentile(r, o->percentile);
    else if (o->method == WK_RANGE_MSE) v = by_square_error(r, o);
    else if (o->method == WK_RANGE_ENTROPY) v = by_entropy(r, o);
  }
  return wk_quantize_params_of(v.lo, v.hi, o);
}
