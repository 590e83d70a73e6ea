/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of the integer definition, of several channels together and at every limit, against what
 * the definition says in other words; and what of an expression is left out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/expr/quant.h"
#include "compiler/ir/taps.h"

/* The most bits that the largest factor can have: the largest shift of 0 .. 62 at which it rounds
 * to less than 2^bits, -1 where there is none. */
static int shift_of(double most, int bits) {
  for (int s = 62; s >= 0; s--)
    if (rint(ldexp(most, s)) < ldexp(1, bits)) return s;
  return -1;
}

/* Powers of two and what lies on either side of them, and any others. */
static double draw_factor(wk_rng *g) {
  double v = exp2((double)wk_rng_range(g, -70, 33));
  switch (wk_rng_range(g, 0, 4)) {
    case 0: return v;
    case 1: return v * (1 - 0x1p-26);
    case 2: return v * (1 + 0x1p-26);
    case 3: return 0;
    default: return v * (1 + wk_rng_unit(g));
  }
}

static void test_common(void **state) {
  (void)state;
  wk_rng g = {3};
  int taken = 0;
  for (int round = 0; round < 20000; round++) {
    const int all_bits[] = {1, 8, WK_RESCALE_BITS_8, WK_RESCALE_BITS, 31};
    int n = (int)wk_rng_range(&g, 1, 3), shift = -9;
    int bits = all_bits[wk_rng_range(&g, 0, 4)];
    double f[3], most = 0;
    int64_t mults[4] = {-7, -7, -7, -7};
    for (int k = 0; k < n; k++) {
      f[k] = draw_factor(&g);
      if (f[k] > most) most = f[k];
    }
    int want = most > 0 ? shift_of(most, bits) : -1;
    bool ok = wk_rescale_common(f, n, bits, mults, &shift);
    assert_int_equal(ok, want >= 0);
    if (!ok) continue;
    taken++;
    assert_int_equal(shift, want);
    for (int k = 0; k < 4; k++)
      assert_int_equal(mults[k], k < n ? (int64_t)rint(ldexp(f[k], want)) : -7);
  }
  assert_in_range(taken, 5000, 19000);
}

/* One that is not a factor is enough, wherever it is. */
static void test_no_factor(void **state) {
  (void)state;
  const double bad[] = {-0x1p-70, -1, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < WK_COUNTOF(bad); i++)
    for (int at = 0; at < 3; at++) {
      double f[] = {1, 0.5, 2};
      int64_t mults[3];
      int shift;
      assert_true(wk_rescale_common(f, 3, 22, mults, &shift));
      f[at] = bad[i];
      assert_false(wk_rescale_common(f, 3, 22, mults, &shift));
    }
}

/* A factor of f32, below 2^7. */
static void test_alone(void **state) {
  (void)state;
  wk_rng g = {4};
  const double limits[] = {128, 128 - 0x1p-17, 128 - 0x1p-18, 127.5, 64, 1, 0x1p-22, 0x1p-23,
                           0x1p-38, 0x1p-39, 0x1p-149, 0x1p-150, 0x1.8p-150, 0x1p-151, 3e38, 4e38};
  for (int i = 0; i < 20000; i++) {
    double f = i < (int)WK_COUNTOF(limits) ? limits[i] : draw_factor(&g);
    wk_rescale r;
    bool ok = wk_rescale_of(f, &r);
    double single = (float)f;
    assert_int_equal(ok, single > 0 && single < 128);
    if (!ok) continue;
    int shift = shift_of(single, WK_RESCALE_BITS);
    assert_int_equal(r.shift, shift - WK_RESCALE_FRACTION);
    assert_int_equal(r.mult, (int64_t)rint(ldexp(single, shift)));
  }
}

/* Gains of a row for one shift, biases in steps of 2^-16; both have a limit in steps of y. */
static void test_norm_factors(void **state) {
  (void)state;
  wk_rng g = {5};
  int refused = 0;
  for (int round = 0; round < 20000; round++) {
    static const double odd[] = {1023.9990234375, 1024, -1024, -1023.9990234375, NAN, INFINITY};
    static const double odd_bias[] = {16383.99993896484375, 16384, -16384, -16383.5, NAN,
                                      -INFINITY};
    int n = (int)wk_rng_range(&g, 1, 3), shift = -9;
    double y = exp2((double)wk_rng_range(&g, -3, 3)), gamma[3], beta[3], most = 0x1p-16;
    int32_t got[4] = {-7, -7, -7, -7}, bias[4] = {-7, -7, -7, -7};
    bool fits = true;
    for (int k = 0; k < n; k++) {
      double a = draw_factor(&g) * (wk_rng_range(&g, 0, 1) ? 1 : -1), b = draw_factor(&g);
      if (fabs(a) >= 1024) a = ldexp(a, -32);
      if (b >= 16384) b = -ldexp(b, -28);
      if (!wk_rng_range(&g, 0, 9)) a = odd[wk_rng_range(&g, 0, 5)];
      if (!wk_rng_range(&g, 0, 9)) b = odd_bias[wk_rng_range(&g, 0, 5)];
      fits = fits && fabs(a) < 1024 && fabs(b) < 16384;
      if (fabs(a) > most) most = fabs(a);
      gamma[k] = a * y, beta[k] = b * y;
    }
    assert_int_equal(wk_norm_factors(gamma, beta, n, y, got, bias, &shift), fits);
    if (!fits) refused++;
    if (!fits) continue;
    int want = shift_of(most, WK_NORM_BITS);
    assert_int_equal(shift, want + WK_NORM_FRACTION - WK_RESCALE_FRACTION);
    for (int k = 0; k < 4; k++) {
      assert_int_equal(got[k], k < n ? (int64_t)rint(ldexp(gamma[k] / y, want)) : -7);
      assert_int_equal(bias[k], k < n ? (int64_t)rint(ldexp(beta[k] / y, 16)) : -7);
    }
  }
  assert_in_range(refused, 1000, 12000);
}

/* Exponentials of differences, 2^23 for none. */
static void test_exponentials(void **state) {
  (void)state;
  const double scales[] = {1, 0.5, 0x1p-6, 0.013, 1e-9, 100};
  for (size_t i = 0; i < WK_COUNTOF(scales); i++) {
    int32_t table[256];
    wk_softmax_table(scales[i], WK_SOFTMAX_FAR, table);
    assert_int_equal(table[0], 1 << 23);
    for (int d = 0; d < 256; d++)
      assert_true(fabs(table[d] - 0x1p23 * exp(-d * scales[i])) <= 0.5 + 1e-6);
  }
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Taps that lie in what counts, one after the other; 1 where there are none. */
static int64_t counted(const wk_attr_integer_avg_pool *p, const wk_type *x, const int64_t *o) {
  int64_t axes = p->kernel.n, n = 1;
  for (int64_t k = 0; k < axes; k++) {
    int64_t here = 0;
    for (int64_t t = 0; t < p->kernel.v[k]; t++) {
      int64_t at = o[k] * p->strides.v[k] - p->pads.v[k] + t * p->dilations.v[k];
      here += at >= -p->real_pads.v[k] && at < x->dims[2 + k] + p->real_pads.v[axes + k];
    }
    n *= here;
  }
  return n ? n : 1;
}

static void test_pool_count(void **state) {
  (void)state;
  wk_rng g = {6};
  for (int round = 0; round < 20000; round++) {
    int axes = (int)wk_rng_range(&g, 1, 3);
    int64_t kernel[3], strides[3], dilations[3], pads[6], real[6], o[3];
    int64_t dims[5] = {2, 3};
    for (int k = 0; k < axes; k++) {
      kernel[k] = wk_rng_range(&g, 1, 4);
      strides[k] = wk_rng_range(&g, 1, 3);
      dilations[k] = wk_rng_range(&g, 1, 3);
      dims[2 + k] = wk_rng_range(&g, 1, 5);
      o[k] = wk_rng_range(&g, 0, 4);
    }
    for (int k = 0; k < 2 * axes; k++) {
      pads[k] = wk_rng_range(&g, 0, 4);
      real[k] = wk_rng_range(&g, 0, pads[k]);
    }
    const wk_attr_integer_avg_pool p = {
        .kernel = {axes, kernel}, .strides = {axes, strides}, .dilations = {axes, dilations},
        .pads = {2 * axes, pads}, .real_pads = {2 * axes, real}};
    const wk_type x = wk_type_make(WK_I8, 2 + axes, dims);
    assert_int_equal(wk_pool_count(&p, &x, o), counted(&p, &x, o));
  }
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* A zero point of 0 is not added, a limit that the type has anyway is not looked at. */
static void test_left_out(void **state) {
  static const struct {
    int64_t zero, lo, hi;
    wk_dtype t;
    const char *requantized, *centred;
  } rows[] = {
      {0, -128, 127, WK_I8, "sat<i8>(%0)", "i32(%0)"},
      {1, -128, 127, WK_I8, "sat<i8>(add(%0, 1i32))", "sub(i32(%0), 1i32)"},
      {-1, -128, 127, WK_I8, "sat<i8>(add(%0, -1i32))", "sub(i32(%0), -1i32)"},
      {0, -127, 127, WK_I8, "max(sat<i8>(%0), -127i8)", "i32(%0)"},
      {0, -128, 126, WK_I8, "min(sat<i8>(%0), 126i8)", "i32(%0)"},
      {3, -1, 5, WK_I8, "min(max(sat<i8>(add(%0, 3i32)), -1i8), 5i8)", "sub(i32(%0), 3i32)"},
      {0, 0, 255, WK_U8, "sat<u8>(%0)", "i32(%0)"},
      {0, 1, 255, WK_U8, "max(sat<u8>(%0), 1u8)", "i32(%0)"},
      {128, 0, 254, WK_U8, "min(sat<u8>(add(%0, 128i32)), 254u8)", "sub(i32(%0), 128i32)"}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_arena *a = wk_arena_new();
    wk_str text[2] = {{0}, {0}};
    for (int k = 0; k < 2; k++) {
      wk_expr_builder *b = wk_expr_begin(a);
      uint16_t x = wk_expr_input(b, 0, k ? rows[i].t : WK_I32);
      x = k ? wk_expr_centred(b, x, rows[i].zero)
            : wk_expr_requantized(b, x, rows[i].zero, rows[i].t, rows[i].lo, rows[i].hi);
      wk_expr_print(&text[k], wk_expr_finish(b, &x, 1));
    }
    assert_string_equal(text[0].s, rows[i].requantized);
    assert_string_equal(text[1].s, rows[i].centred);
    wk_str_free(&text[0]);
    wk_str_free(&text[1]);
    wk_arena_free(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_common),       cmocka_unit_test(test_no_factor),
      cmocka_unit_test(test_alone),        cmocka_unit_test(test_norm_factors),
      cmocka_unit_test(test_exponentials), cmocka_unit_test(test_pool_count),
      cmocka_unit_test(test_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
