/* SPDX-License-Identifier: Apache-2.0 */
/* The integer definition against real arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/ir/quant.h"

static double factor_of(const wk_rescale *r) {
  return ldexp((double)r->mult, -r->shift - WK_RESCALE_FRACTION);
}

/* The multiplier has its top bit and is the f32 factor exactly. */
static void test_multipliers(void **state) {
  (void)state;
  wk_rng g = {7};
  for (int i = 0; i < 100000; i++) {
    double s = exp2(12 * wk_rng_unit(&g) - 12) * (1 + wk_rng_unit(&g));
    wk_rescale r;
    assert_true(wk_rescale_of(s, &r));
    assert_in_range(r.mult, 1 << (WK_RESCALE_BITS - 1), (1 << WK_RESCALE_BITS) - 1);
    assert_true(factor_of(&r) == (double)(float)s);
  }
}

static void test_refused_factors(void **state) {
  (void)state;
  wk_rescale r;
  int64_t mult;
  int shift;
  const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e300, 256, 1e-60};
  for (size_t i = 0; i < WK_COUNTOF(bad); i++)
    if (wk_rescale_of(bad[i], &r)) fail_msg("%g is taken", bad[i]);
  assert_true(wk_rescale_of(127.9, &r));
  assert_true(wk_rescale_of(1e-11, &r));
  assert_false(wk_rescale_common((double[]){1, -1}, 2, 22, &mult, &shift));
  assert_false(wk_rescale_common((double[]){0}, 1, 22, &mult, &shift));
  assert_false(wk_rescale_common((double[]){8388608}, 1, 22, &mult, &shift));
}

/* |rescale(a) - a * s| <= 1/2 + 2^-17, for results of less than 2^15. */
static void test_rescale_error(void **state) {
  (void)state;
  wk_rng g = {3};
  for (int i = 0; i < 2000000; i++) {
    double s = exp2(-22 * wk_rng_unit(&g));
    wk_rescale r;
    assert_true(wk_rescale_of(s, &r));
    double most = fmin(32000 / factor_of(&r), 2147483647.0);
    int64_t a = (int64_t)((2 * wk_rng_unit(&g) - 1) * most);
    double off = (double)wk_rescale_apply(a, &r) - (double)a * factor_of(&r);
    if (fabs(off) > 0.5 + 0x1p-17) fail_msg("%lld * %g: off by %g", (long long)a, s, off);
  }
}

/* Large accumulators saturate, they do not wrap. */
static void test_rescale_saturates(void **state) {
  (void)state;
  wk_rescale r;
  assert_true(wk_rescale_of(100, &r));
  assert_int_equal(wk_rescale_apply(INT32_MAX, &r), 32768);
  assert_int_equal(wk_rescale_apply(INT32_MIN, &r), -32768);
}

/* Evaluates a built expression for two operands. */
static int64_t run(const wk_expr *e, int64_t a, int64_t b) {
  wk_scalar in[2] = {{.i = a}, {.i = b}}, scratch[64], y;
  assert_true(e->n <= WK_COUNTOF(scratch));
  wk_expr_eval(e, in, NULL, scratch, &y);
  return y.i;
}

/* The expression and the function are the same thing. */
static void test_expression_agrees(void **state) {
  (void)state;
  wk_rng g = {5};
  for (int i = 0; i < 2000; i++) {
    wk_arena *arena = wk_arena_new();
    wk_rescale r;
    assert_true(wk_rescale_of(exp2(-22 * wk_rng_unit(&g)), &r));
    int64_t zero = wk_rng_range(&g, -128, 127);
    wk_expr_builder *b = wk_expr_begin(arena);
    uint16_t v = wk_expr_rescale(b, wk_expr_input(b, 0, WK_I32), wk_expr_i(b, WK_I64, r.mult),
                                 wk_expr_i(b, WK_I64, r.shift));
    v = wk_expr_requantized(b, v, zero, WK_I8, -128, 127);
    const wk_expr *e = wk_expr_finish(b, &v, 1);
    for (int j = 0; j < 200; j++) {
      int64_t a = (int32_t)wk_rng_next(&g) >> wk_rng_range(&g, 0, 24),
              want = wk_rescale_apply(a, &r) + zero;
      assert_int_equal(run(e, a, 0), want < -128 ? -128 : want > 127 ? 127 : want);
    }
    wk_arena_free(arena);
  }
}

/* All 2^16 pairs of the sum of two tensors stay within 1/2 + 2^-12 steps of the real sum. */
static void test_all_sums(void **state) {
  (void)state;
  const double scales[][3] = {
      {0.02, 0.05, 0.06}, {0.1, 0.001, 0.09}, {1, 1, 1}, {0.5, 0.5, 2.5}, {3, 0.1, 0.05}};
  for (size_t k = 0; k < WK_COUNTOF(scales); k++) {
    double f[2] = {scales[k][0] / scales[k][2], scales[k][1] / scales[k][2]};
    int64_t m[2];
    int shift;
    assert_true(wk_rescale_common(f, 2, WK_RESCALE_BITS_8, m, &shift));
    wk_arena *arena = wk_arena_new();
    wk_expr_builder *b = wk_expr_begin(arena);
    uint16_t t[2];
    for (int i = 0; i < 2; i++)
      t[i] = wk_expr_2(b, WK_EX_MUL,
                       wk_expr_centred(b, wk_expr_input(b, i, i ? WK_I8 : WK_U8), i ? -7 : 130),
                       wk_expr_i(b, WK_I32, m[i]));
    uint16_t v = wk_expr_2(b, WK_EX_SHR_ROUND, wk_expr_2(b, WK_EX_ADD, t[0], t[1]),
                           wk_expr_i(b, WK_I32, shift));
    const wk_expr *e = wk_expr_finish(b, &v, 1);
    for (int p = 0; p < 256; p++)
      for (int q = -128; q < 128; q++) {
        double real = (p - 130) * f[0] + (q + 7) * f[1];
        if (fabs((double)run(e, p, q) - real) > 0.5 + 0x1p-12)
          fail_msg("case %d: %d, %d", (int)k, p, q);
      }
    wk_arena_free(arena);
  }
}

static void test_quantize_value(void **state) {
  (void)state;
  assert_int_equal(wk_quantize_value(0.5, 1, 0, WK_I8), 0); /* ties to even */
  assert_int_equal(wk_quantize_value(1.5, 1, 0, WK_I8), 2);
  assert_int_equal(wk_quantize_value(-2.5, 1, 10, WK_I8), 8);
  assert_int_equal(wk_quantize_value(1e30, 1, 0, WK_I8), 127);
  assert_int_equal(wk_quantize_value(-INFINITY, 1, 3, WK_U8), 0);
  assert_int_equal(wk_quantize_value(NAN, 1, 3, WK_U8), 3);
}

/* One row of the integer softmax against the real one. */
static void softmax_row(wk_rng *g, int n, double scale) {
  int32_t table[256];
  int q[300], most = -128;
  int64_t sum = 0, mult;
  int shift;
  double total = 0, inverse = 256;
  wk_softmax_table(scale, table);
  assert_true(wk_rescale_common(&inverse, 1, WK_SOFTMAX_BITS, &mult, &shift));
  for (int i = 0; i < n; i++) {
    q[i] = (int)wk_rng_range(g, -128, 127);
    if (q[i] > most) most = q[i];
  }
  for (int i = 0; i < n; i++) {
    sum += table[most - q[i]];
    total += exp(scale * (q[i] - most));
  }
  for (int i = 0; i < n; i++) {
    double y = floor((double)(table[most - q[i]] * mult) / (double)sum) * ldexp(1, -shift);
    double real = 256 * exp(scale * (q[i] - most)) / total;
    if (fabs(y - real) > 0x1p-8) fail_msg("softmax of %d: %g, real %g", n, y, real);
  }
}

static void test_softmax(void **state) {
  (void)state;
  wk_rng g = {11};
  for (int i = 0; i < 3000; i++)
    softmax_row(&g, (int)wk_rng_range(&g, 1, 300), exp2(4 * wk_rng_unit(&g) - 7));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_multipliers),       cmocka_unit_test(test_refused_factors),
      cmocka_unit_test(test_rescale_error),     cmocka_unit_test(test_rescale_saturates),
      cmocka_unit_test(test_expression_agrees), cmocka_unit_test(test_all_sums),
      cmocka_unit_test(test_quantize_value),    cmocka_unit_test(test_softmax)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
