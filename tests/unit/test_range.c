/* SPDX-License-Identifier: Apache-2.0
 * Ranges of drawn histograms by every method, against the definitions in plain C; what scanning and
 * counting make of tensors that come one after the other. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/quantize/quantize.h"

enum { BINS = WK_RANGE_BINS };

/* ---- definitions ----------------------------------------------------------------------------- */

typedef struct { double lo, hi; } interval;
typedef struct { double scale, zero, least, most; } steps;

/* What 8 bits make of an interval, 0 included. */
static steps steps_of(interval v, const wk_quantize_options *o) {
  bool is_i8 = o->activation == WK_I8;
  double lo = fmin(v.lo, 0), hi = fmax(v.hi, 0);
  steps s = {.least = is_i8 ? -128 : 0, .most = is_i8 ? 127 : 255};
  if (o->symmetric) {
    bool whole = !is_i8 && lo == 0; /* u8 of what is never negative */
    s.scale = whole ? hi / 255 : fmax(-lo, hi) / 127;
    s.zero = is_i8 || whole ? 0 : 128;
  } else {
    s.scale = (hi - lo) / 255;
    s.zero = fmin(fmax(rint(s.least - lo / s.scale), s.least), s.most);
  }
  if (lo == 0 && hi == 0) s.scale = 1, s.zero = o->symmetric && is_i8 ? 0 : s.least;
  s.scale = (double)(float)s.scale;
  return s;
}

static double width_of(const wk_range *r) { return (r->max - r->min) / BINS; }
static double middle_of(const wk_range *r, int k) { return r->min + (k + 0.5) * width_of(r); }

/* As many bins from each end as hold no more values than may be outside there. */
static interval percentile(const wk_range *r, double percent) {
  double cut = (double)r->count * (1 - percent / 100), below = 0, above = 0;
  int first = 0, last = BINS - 1;
  bool negative = r->min < 0, positive = r->max > 0;
  double left = negative ? positive ? cut / 2 : cut : 0, right = positive ? cut - left : 0;
  while (first < last && below + (double)r->bins[first] <= left) below += (double)r->bins[first++];
  while (last > first && above + (double)r->bins[last] <= right) above += (double)r->bins[last--];
  return (interval){r->min + first * width_of(r), r->max - (BINS - 1 - last) * width_of(r)};
}

static double square_error(const wk_range *r, interval v, const wk_quantize_options *o) {
  steps s = steps_of(v, o);
  double sum = 0;
  for (int k = 0; k < BINS; k++) {
    double x = middle_of(r, k), q = fmin(fmax(rint(x / s.scale) + s.zero, s.least), s.most);
    double e = x - (q - s.zero) * s.scale;
    sum += (double)r->bins[k] * e * e;
  }
  return sum;
}

/* Of 96 intervals, each a 120th smaller than the one before: at both ends, or at one. */
static interval smaller(const wk_range *r, interval v, bool below, bool above,
                        const wk_quantize_options *o) {
  interval best = v;
  double least = INFINITY;
  for (int i = 0; i < 96; i++) {
    double by = (120 - i) / 120.0;
    interval one = {below ? v.lo * by : v.lo, above ? v.hi * by : v.hi};
    double e = square_error(r, one, o);
    if (e < least) least = e, best = one;
  }
  return best;
}

/* Both ends at once; then, where each has a step of its own, twice one after the other. */
static interval least_square(const wk_range *r, const wk_quantize_options *o) {
  interval v = smaller(r, (interval){r->min, r->max}, true, true, o);
  for (int k = 0; k < 4 && r->min < 0 && r->max > 0 && !o->symmetric; k++)
    v = k % 2 ? smaller(r, (interval){r->min, v.hi}, true, false, o)
              : smaller(r, (interval){v.lo, r->max}, false, true, o);
  return v;
}

/* Of the sizes of values: what is cut off goes to the last bin that is left; a step has the mean of
 * its bins that are not empty. */
static double divergence(const double *sizes, int n, int levels) {
  double total = 0, kept = 0, d = 0;
  for (int i = 0; i < BINS / 2; i++) total += sizes[i];
  for (int i = 0; i < n; i++) kept += sizes[i];
  if (kept == 0) return INFINITY;
  for (int i = 0, level = 0; level < levels; level++) {
    int from = level * n / levels, to = (level + 1) * n / levels, used = 0;
    double mass = 0;
    for (int k = from; k < to; k++) mass += sizes[k], used += sizes[k] > 0;
    for (; i < to; i++) {
      double p = (sizes[i] + (i + 1 == n ? total - kept : 0)) / total;
      double q = sizes[i] > 0 ? mass / used / kept : 1e-12;
      if (p > 0) d += p * log(p / q);
    }
  }
  return d;
}

static interval entropy(const wk_range *r, const wk_quantize_options *o) {
  static double sizes[BINS / 2];
  double top = fmax(-r->min, r->max), least = INFINITY, best = top;
  bool one_side = r->min >= 0 || r->max <= 0;
  int levels = one_side && !(o->symmetric && o->activation == WK_I8) ? 256 : 128;
  memset(sizes, 0, sizeof sizes);
  for (int k = 0; k < BINS; k++) {
    int at = (int)(fabs(middle_of(r, k)) / top * (BINS / 2));
    sizes[at < BINS / 2 ? at : BINS / 2 - 1] += (double)r->bins[k];
  }
  for (int n = BINS / 2; n >= levels; n -= 8) {
    double d = divergence(sizes, n, levels);
    if (d < least) least = d, best = top * n / (BINS / 2);
  }
  return (interval){fmax(r->min, -best), fmin(r->max, best)};
}

/* ---- drawn histograms ------------------------------------------------------------------------ */

enum { SHAPE_BELL, SHAPE_TAIL, SHAPE_FLAT, SHAPE_FEW, SHAPE_THIN, SHAPES };

/* Of values between min and max; the outermost bins are never empty. */
static void draw(wk_rng *g, int shape, wk_range *r) {
  static const double ends[][2] = {{-1, 1}, {0, 1}, {-1, 0}, {-0.125, 1}, {-3, 0.5}, {0.25, 1},
                                   {-2, -0.5}};
  size_t k = (size_t)wk_rng_range(g, 0, WK_COUNTOF(ends) - 1);
  double by = exp2((double)wk_rng_range(g, -8, 8)) * (1 + wk_rng_unit(g));
  r->min = ends[k][0] * by;
  r->max = ends[k][1] * by;
  r->zeros = wk_rng_range(g, 0, 100);
  r->count = r->zeros;
  double at = (wk_rng_unit(g) * 0.8 + 0.1) * BINS, spread = BINS / (2 + 30 * wk_rng_unit(g));
  for (int i = 0; i < BINS; i++) {
    double z = (i - at) / spread, n = 2;
    if (shape == SHAPE_BELL) n = 3000 * exp(-z * z / 2);
    if (shape == SHAPE_TAIL) n = 2000 / (1 + z * z * 4);
    if (shape == SHAPE_FEW) n = wk_rng_range(g, 0, 99) ? 0 : 40;
    if (shape == SHAPE_THIN) n = exp(-z * z / 2) * (double)wk_rng_range(g, 0, 3);
    r->bins[i] = (uint64_t)(n * (0.5 + wk_rng_unit(g)));
    if (i == 0 || i == BINS - 1) r->bins[i]++;
    r->count += (int64_t)r->bins[i];
  }
}

static void expect(const wk_range *r, const wk_quantize_options *o, interval want, int seed) {
  wk_quantize_params got = wk_range_choose(r, o);
  steps s = steps_of(want, o);
  if (fabs((double)got.scale - s.scale) > 1e-6 * s.scale || fabs(got.zero - s.zero) > 0)
    fail_msg("case %d, method %d, %s%s: %g, %d instead of %g, %d", seed, (int)o->method,
             o->activation == WK_I8 ? "i8" : "u8", o->symmetric ? ", symmetric" : "",
             (double)got.scale, (int)got.zero, s.scale, (int)s.zero);
}

static void test_methods(void **state) {
  (void)state;
  static const double percents[] = {99.9, 99.99, 90, 50, 100, 0};
  wk_range r = {.axis = -1, .bins = wk_xcalloc(BINS, sizeof *r.bins)};
  wk_rng g = {21};
  for (int i = 0; i < 60; i++) {
    wk_quantize_options o = {.activation = i & 1 ? WK_I8 : WK_U8, .symmetric = i & 2};
    draw(&g, i / 4 % SHAPES, &r);
    expect(&r, &o, (interval){r.min, r.max}, i);
    o.method = WK_RANGE_PERCENTILE;
    for (size_t k = 0; k < WK_COUNTOF(percents); k++) {
      o.percentile = percents[k];
      expect(&r, &o, percentile(&r, percents[k]), i);
    }
    o.method = WK_RANGE_MSE;
    if (i % 3 == 0) expect(&r, &o, least_square(&r, &o), i);
    o.method = WK_RANGE_ENTROPY;
    if (i % 3 != 0) expect(&r, &o, entropy(&r, &o), i);
  }
  wk_range_free(&r);
}

/* What the outermost bins hold is outside as soon as so much may be: of values on one side, and on
 * both, where each end has half of it. Widths of bins are 1. */
static void test_percentile_edges(void **state) {
  (void)state;
  static const struct { int cut, left; } rows[] = { /* so many outside leave so many bins */
      {0, 2000}, {1, 2000}, {2, 1999}, {3, 1999}, {4, 1998}, {7, 1998}, {8, 101}, {12, 101},
      {13, 1}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    for (int side = 0; side < 3; side++) { /* positive, negative, both */
      wk_range r = {.axis = -1, .bins = wk_xcalloc(BINS, sizeof *r.bins), .count = 4096};
      double cut = (side == 2 ? 2 : 1) * rows[i].cut;
      wk_quantize_options o = {.activation = WK_U8, .method = WK_RANGE_PERCENTILE,
                               .percentile = 100 * (4096 - cut) / 4096};
      r.min = side == 0 ? 0 : side == 1 ? -BINS : -BINS / 2;
      r.max = r.min + BINS;
      for (int end = 0; end < 2; end++) {
        if (side < 2 && end != side) continue;
        int first = side == 2 ? BINS / 2 : 0; /* from the middle on, or from 0 */
        static const int at[] = {0, 100, 1997, 1998, 1999}, n[] = {100, 5, 4, 2, 2};
        for (int k = 0; k < 5; k++) {
          int bin = first + at[k];
          r.bins[end ? BINS - 1 - bin : bin] = (uint64_t)n[k];
        }
      }
      /* What is empty behind the last values is outside first. */
      expect(&r, &o, (interval){side ? -rows[i].left : 0, side != 1 ? rows[i].left : 0}, (int)i);
      wk_range_free(&r);
    }
}

/* ---- what is seen ---------------------------------------------------------------------------- */

static wk_tensor rows_of(float *x, int64_t n, int64_t columns) {
  const int64_t dims[2] = {n, columns};
  return (wk_tensor){wk_type_make(WK_F32, 2, dims), x};
}

/* Three tensors, of which the first has no finite number: extremes, counts and sums are of all. */
static void test_scans(void **state) {
  (void)state;
  float bad[2] = {NAN, INFINITY}, one[4] = {-2, 0, -5, -0.0f}, two[6] = {3, -7, 0, FLT_MAX, 1, 2};
  wk_tensor t[] = {rows_of(bad, 1, 2), rows_of(one, 2, 2), rows_of(two, 3, 2)};
  wk_range r = {.axis = 1};
  for (int k = 1; k < 3; k++) wk_range_scan(&r, &t[k]);
  assert_true(r.min == -7 && r.max == (double)FLT_MAX);
  assert_true(r.count == 10 && r.zeros == 3 && r.infinite + r.nan == 0);
  assert_true(r.channels == 2 && r.per_channel == 5);
  assert_true(r.sums[0] == -2 - 5 + 3 + 0 + 1);
  assert_true(r.sums[1] == 0.0 - 7 + (double)FLT_MAX + 2);
  wk_range_free(&r);
  assert_true(!r.bins && !r.sums && r.count == 0);
  r = (wk_range){.axis = -1};
  wk_range_scan(&r, &t[0]);
  assert_true(r.count == 0 && r.infinite == 1 && r.nan == 1 && r.min == 0 && r.max == 0 && !r.sums);
  wk_range_scan(&r, &t[1]); /* the first that counts: not 0 to -5 */
  assert_true(r.count == 4 && r.infinite == 1 && r.nan == 1 && r.min == -5 && r.max == 0);
  wk_tensor none = rows_of(one, 0, 2);
  wk_range_scan(&r, &none);
  assert_true(r.count == 4 && r.min == -5);
  wk_range_free(&r);
  float positive[2] = {4, 3};
  wk_tensor p = rows_of(positive, 1, 2);
  r = (wk_range){.axis = 2}; /* which the tensor has not */
  wk_range_scan(&r, &p);
  assert_true(r.min == 3 && r.max == 4 && !r.sums);
  wk_range_free(&r);
  r = (wk_range){.axis = 0};
  wk_range_scan(&r, &t[2]);
  assert_true(r.channels == 3 && r.per_channel == 2 && r.sums[0] == -4 && r.sums[2] == 3);
  wk_range_free(&r);
}

/* Each bin is from its lower edge on; the last one has the greatest number too, and those that are
 * outside the range go to the ends. */
static void test_bins(void **state) {
  (void)state;
  float x[] = {-2048, 2048, -1, -0.5f, 0, 0.5f, 1, 2047.5f, NAN, -INFINITY, -4000, 4000, FLT_MAX};
  static const struct { int bin; uint64_t n; } want[] = {
      {0, 2}, {2047, 2}, {2048, 1}, {2049, 1}, {BINS - 1, 4}};
  wk_tensor t = rows_of(x, 1, WK_COUNTOF(x));
  wk_range r = {.axis = -1, .min = -2048, .max = 2048};
  t.type.dims[1]--;
  wk_range_bin(&r, &t);
  uint64_t all = 0;
  for (int k = 0; k < BINS; k++) all += r.bins[k];
  assert_int_equal(all, 9);
  for (size_t i = 0; i < WK_COUNTOF(want); i++) {
    uint64_t n = want[i].n - (want[i].bin == BINS - 1);
    if (r.bins[want[i].bin] != n)
      fail_msg("bin %d has %d", want[i].bin, (int)r.bins[want[i].bin]);
  }
  wk_range_bin(&r, &t); /* again: they add up */
  assert_int_equal(r.bins[0], 4);
  wk_range_free(&r);
  r = (wk_range){.axis = -1, .min = 3, .max = 3}; /* one number: nothing to count */
  wk_range_bin(&r, &t);
  for (int k = 0; k < BINS; k++) assert_int_equal(r.bins[k], 0);
  wk_range_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_methods), cmocka_unit_test(test_percentile_edges),
      cmocka_unit_test(test_scans), cmocka_unit_test(test_bins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
