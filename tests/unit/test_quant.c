/* SPDX-License-Identifier: Apache-2.0 */
/* The integer definition against real arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/expr/quant.h"

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

/* A factor that rounds up to a power of two has its top bit one place lower. */
static void test_rounded_up(void **state) {
  (void)state;
  const double factors[] = {1 - 0x1p-30, 0.25};
  int64_t mults[2];
  int shift;
  assert_true(wk_rescale_common(factors, 2, WK_RESCALE_BITS_8, mults, &shift));
  assert_int_equal(shift, WK_RESCALE_BITS_8 - 1);
  assert_int_equal(mults[0], 1 << (WK_RESCALE_BITS_8 - 1));
  assert_int_equal(mults[1], 1 << (WK_RESCALE_BITS_8 - 3));
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

/* The operation and the steps that define it, whatever the numbers are. */
static void test_steps_agree(void **state) {
  static const wk_dtype types[] = {WK_I8, WK_U8, WK_I16, WK_U16, WK_I32, WK_U32, WK_I64, WK_U64};
  (void)state;
  wk_rng g = {6};
  for (size_t k = 0; k < WK_COUNTOF(types); k++) {
    wk_arena *arena = wk_arena_new();
    wk_expr_builder *b = wk_expr_begin(arena);
    uint16_t x = wk_expr_input(b, 0, types[k]), m = wk_expr_input(b, 1, WK_I64),
             s = wk_expr_input(b, 2, WK_I64);
    uint16_t both[] = {wk_expr_rescale(b, x, m, s), wk_expr_rescale_steps(b, x, m, s)};
    const wk_expr *e = wk_expr_finish(b, both, 2);
    for (int i = 0; i < 20000; i++) {
      wk_scalar in[3], scratch[32], y[2];
      wk_scalar a = {.i = (int64_t)wk_rng_next(&g) >> wk_rng_range(&g, 0, 63)};
      in[0] = wk_expr_apply(WK_EX_CAST, WK_I64, types[k], a, a, a);
      in[1].i = (int64_t)wk_rng_next(&g) >> wk_rng_range(&g, 0, 63);
      in[2].i = wk_rng_range(&g, -3, 70);
      wk_expr_eval(e, in, NULL, scratch, y);
      if (y[0].i != y[1].i)
        fail_msg("rescale(%lld, %lld, %lld) of %s", (long long)in[0].i, (long long)in[1].i,
                 (long long)in[2].i, wk_dtype_name(types[k]));
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

/* ---- softmax --------------------------------------------------------------------------------- */

/* mult and shift of a row as quant.h says them, in plain C. */
static wk_rescale softmax_factor(int64_t sum, int64_t m, int s) {
  int z = 0;
  while (sum >> z) z++;
  int64_t q = (m << (z - 7)) / sum;
  assert_in_range(z, 24, 39);
  assert_in_range(q, 1 << 23, (1 << 25) - 1);
  int adj = q >= 1 << 24;
  wk_rescale f = {q >> adj, s + z - 7 - adj - 16};
  assert_in_range(f.shift, 1, 62);
  return f;
}

/* The same by the expressions. */
typedef struct {
  wk_arena *arena;
  const wk_expr *mult, *shift;
} softmax_steps;

static softmax_steps make_steps(int64_t m, int s) {
  softmax_steps x = {.arena = wk_arena_new()};
  for (int k = 0; k < 2; k++) {
    wk_expr_builder *b = wk_expr_begin(x.arena);
    uint16_t sum = wk_expr_input(b, 0, WK_I64), z = wk_expr_softmax_bits(b, sum);
    uint16_t q = wk_expr_softmax_quotient(b, sum, z, m);
    uint16_t v = k ? wk_expr_softmax_shift(b, q, z, s) : wk_expr_softmax_mult(b, q);
    *(k ? &x.shift : &x.mult) = wk_expr_finish(b, &v, 1);
  }
  return x;
}

static wk_rescale checked_factor(const softmax_steps *x, int64_t sum, int64_t m, int s) {
  wk_rescale want = softmax_factor(sum, m, s);
  assert_int_equal(run(x->mult, sum, 0), want.mult);
  assert_int_equal(run(x->shift, sum, 0), want.shift);
  return want;
}

/* Sums around every power of two, for the least and largest m and s. */
static void test_softmax_factors(void **state) {
  (void)state;
  static const int64_t ms[] = {1 << 30, (1 << 30) + 1, 0x55555555, INT32_MAX - 1, INT32_MAX};
  wk_rng g = {19};
  for (size_t k = 0; k < 2 * WK_COUNTOF(ms); k++) {
    int64_t m = ms[k / 2];
    int s = k % 2 ? 47 : 1;
    softmax_steps x = make_steps(m, s);
    for (int64_t top = 1 << 23; top <= INT64_C(1) << 38; top *= 2)
      for (int64_t near = -2; near <= 2; near++)
        if (top + near >= 1 << 23 && top + near <= INT64_C(1) << 38)
          checked_factor(&x, top + near, m, s);
    for (int i = 0; i < 20000; i++) {
      int64_t top = INT64_C(1) << wk_rng_range(&g, 24, 38);
      checked_factor(&x, wk_rng_range(&g, top / 2, top), m, s);
    }
    wk_arena_free(x.arena);
  }
}

enum { SOFTMAX_ANY, SOFTMAX_CONSTANT, SOFTMAX_OUTLIER, SOFTMAX_EXTREMES, SOFTMAX_KINDS };

static int softmax_element(wk_rng *g, int kind, int i) {
  switch (kind) {
    case SOFTMAX_ANY: return (int)wk_rng_range(g, 0, 255);
    case SOFTMAX_CONSTANT: return 77;
    case SOFTMAX_OUTLIER: return i ? (int)wk_rng_range(g, 0, 127) : 128;
    default: return i % 2 ? 0 : 255;
  }
}

/* A row against real arithmetic; the error before anything is rounded but the factor. */
static double check_softmax(const uint8_t *q, int n, double scale, double y_scale) {
  int32_t table[256];
  int64_t sum = 0, m;
  int s, most = 0;
  double total = 0, worst = 0;
  wk_softmax_table(scale, WK_SOFTMAX_FAR, table);
  assert_true(wk_softmax_factor(n, y_scale, &m, &s));
  for (int i = 0; i < n; i++) most = q[i] > most ? q[i] : most;
  for (int i = 0; i < n; i++) {
    sum += table[most - q[i]];
    total += exp(scale * (q[i] - most));
  }
  softmax_steps x = make_steps(m, s);
  wk_rescale f = checked_factor(&x, sum, m, s);
  wk_arena_free(x.arena);
  for (int i = 0; i < n; i++) {
    double r = exp(scale * (q[i] - most)) / total, e = table[most - q[i]];
    double off = fabs(e * factor_of(&f) - r / y_scale);
    double bound = (1 + r * (n + 3)) * 0x1p-24 / y_scale;
    if (off > bound) fail_msg("softmax of %d: off by %g, bound %g", n, off, bound);
    worst = fmax(worst, off);
    if (r / y_scale > 32767) continue; /* saturates */
    off = fabs((double)wk_rescale_apply((int64_t)e, &f) - r / y_scale);
    if (off > 0.5 + 0x1p-17 + bound) fail_msg("softmax of %d: off by %g", n, off);
  }
  return worst;
}

/* worst[0] for rows of at most 1000 elements with steps of 2^-8, worst[1] for the longest. */
static void test_softmax(void **state) {
  (void)state;
  static const int lengths[] = {1, 2, 3, 64, 255, 1000, WK_SOFTMAX_ROW - 1, WK_SOFTMAX_ROW};
  static uint8_t q[WK_SOFTMAX_ROW];
  wk_rng g = {11};
  double worst[2] = {0};
  for (int i = 0; i < 6000; i++) {
    bool is_long = i % 60 == 59, is_usual = i % 2;
    int n = lengths[is_long ? wk_rng_range(&g, 6, 7) : wk_rng_range(&g, 0, 5)];
    int kind = (int)wk_rng_range(&g, 0, SOFTMAX_KINDS - 1);
    double scale = exp2(24 * wk_rng_unit(&g) - 18); /* 2^-18 … 2^6 */
    double y_scale = is_usual ? 0x1p-8 : exp2(45 * wk_rng_unit(&g) - 28);
    for (int k = 0; k < n; k++) q[k] = (uint8_t)softmax_element(&g, kind, k);
    double off = check_softmax(q, n, scale, y_scale);
    if (is_usual) worst[is_long] = fmax(worst[is_long], off);
  }
  print_message("rows, in steps of 2^-8: at most 1/2 + 2^%.1f, long ones 1/2 + 2^%.1f\n",
                log2(worst[0]), log2(worst[1]));
}

/* The row that loses most: exponentials that are just not counted. */
static void test_softmax_lost_tail(void **state) {
  (void)state;
  static uint8_t q[WK_SOFTMAX_ROW] = {255};
  const double scale = 24.0001 * log(2) / 255;
  double off = check_softmax(q, WK_SOFTMAX_ROW, scale, 1.0 / 255);
  print_message("lost tail: 1/2 + %.3f steps\n", off);
}

static void test_softmax_limits(void **state) {
  (void)state;
  int64_t m;
  int s;
  assert_true(wk_softmax_factor(1, 0x1p-8, &m, &s));
  assert_true(m == 1 << 30 && s == 22);
  assert_true(wk_softmax_factor(WK_SOFTMAX_ROW, 0x1p-29, &m, &s));
  assert_true(m == 1 << 30 && s == 1);
  assert_true(wk_softmax_factor(WK_SOFTMAX_ROW, 0x1p17, &m, &s));
  assert_true(m == 1 << 30 && s == 47);
  assert_false(wk_softmax_factor(1, 0x1p-30, &m, &s));
  assert_false(wk_softmax_factor(1, 0x1p18, &m, &s));
  assert_false(wk_softmax_factor(1, 0x1p60, &m, &s));
  assert_false(wk_softmax_factor(1, 5e-324, &m, &s));
  assert_false(wk_softmax_factor(WK_SOFTMAX_ROW + 1, 0x1p-8, &m, &s));
  assert_false(wk_softmax_factor(0, 0x1p-8, &m, &s));
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* r for all of a row's variance: 2^45 / sqrt(w) to 2^-28, in 31 bits. */
static void test_inverse_root(void **state) {
  (void)state;
  wk_rng g = {13};
  wk_arena *arena = wk_arena_new();
  wk_expr_builder *b = wk_expr_begin(arena);
  uint16_t v = wk_expr_norm_shift(b, wk_expr_input(b, 0, WK_I64));
  const wk_expr *shift = wk_expr_finish(b, &v, 1);
  b = wk_expr_begin(arena);
  v = wk_expr_norm_inverse(b, wk_expr_input(b, 0, WK_I64), wk_expr_input(b, 1, WK_I32));
  const wk_expr *inverse = wk_expr_finish(b, &v, 1);
  double worst = 0;
  for (int i = 0; i < 1000000; i++) {
    int64_t x = (int64_t)(wk_rng_next(&g) >> 2) >> wk_rng_range(&g, 0, 61);
    if (i < 62) x = INT64_C(1) << i;
    else if (i < 124) x = (INT64_C(2) << (i - 62)) - 1;
    if (x < 1) x = 1;
    int64_t s = run(shift, x, 0), r = run(inverse, x, s);
    assert_in_range(s, 0, 30);
    uint64_t up = (uint64_t)x << (60 - 2 * s);
    assert_in_range(up, UINT64_C(1) << 60, (UINT64_C(1) << 62) - 1);
    assert_in_range(r, 1 << 29, (1 << 30) + 2);
    double off = (double)((long double)r * sqrtl((long double)up) / 0x1p60L - 1);
    if (fabs(off) > worst) worst = fabs(off);
  }
  print_message("1/sqrt to 2^%.2f\n", log2(worst));
  assert_true(worst <= 0x1p-28);
  wk_arena_free(arena);
}

typedef struct {
  int64_t n, zero; /* zero: of RMS normalisation */
  bool is_centred;
  double scale, epsilon, y_scale;
  int *q;
  double *gamma, *beta;
} norm_row;

/* y - y_zero before it is saturated, by the expressions. */
static void norm_integer(const norm_row *o, int32_t *y) {
  int64_t sum = 0, squares = 0, e;
  int32_t *g = wk_xcalloc((size_t)o->n, sizeof *g), *bias = wk_xcalloc((size_t)o->n, sizeof *bias);
  int shift;
  assert_true(wk_norm_epsilon(o->n, o->epsilon, o->scale, &e));
  assert_true(wk_norm_factors(o->gamma, o->beta, o->n, o->y_scale, g, bias, &shift));
  for (int64_t i = 0; i < o->n; i++) {
    int64_t q = o->q[i] - o->zero;
    sum += o->is_centred ? q : 0;
    squares += q * q;
  }
  assert_true(squares <= INT32_MAX);
  wk_arena *arena = wk_arena_new();
  wk_expr_builder *b = wk_expr_begin(arena);
  uint16_t v =
      wk_expr_norm_variance(b, wk_expr_i(b, WK_I32, sum), wk_expr_i(b, WK_I32, squares), o->n, e);
  uint16_t s = wk_expr_norm_shift(b, v), r = wk_expr_norm_inverse(b, v, s), in[3];
  for (int k = 0; k < 3; k++) in[k] = wk_expr_input(b, k, WK_I32);
  v = wk_expr_norm_standard(b, in[0], wk_expr_i(b, WK_I32, sum), r, s, o->n);
  v = wk_expr_norm_scaled(b, v, in[1], in[2], shift);
  const wk_expr *x = wk_expr_finish(b, &v, 1);
  for (int64_t i = 0; i < o->n; i++) {
    wk_scalar operands[] = {{.i = o->q[i] - o->zero}, {.i = g[i]}, {.i = bias[i]}}, scratch[64], z;
    assert_true(x->n <= WK_COUNTOF(scratch));
    wk_expr_eval(x, operands, NULL, scratch, &z);
    y[i] = (int32_t)z.i;
  }
  wk_arena_free(arena);
  free(g);
  free(bias);
}

/* The row against real arithmetic; the part of the error that is not the rounding to a step. */
static double check_norm(const norm_row *o) {
  int32_t *y = wk_xcalloc((size_t)o->n, sizeof *y);
  long double sum = 0, v = 0;
  double most = 0x1p-16, worst = 0, n = (double)o->n;
  norm_integer(o, y);
  for (int64_t i = 0; i < o->n; i++) {
    sum += o->q[i];
    most = fmax(most, fabs(o->gamma[i]) / o->y_scale);
  }
  long double middle = o->is_centred ? sum / n : (long double)o->zero;
  for (int64_t i = 0; i < o->n; i++) v += (o->q[i] - middle) * (o->q[i] - middle);
  long double deviation = sqrtl(v / n + (long double)o->epsilon / o->scale / o->scale);
  for (int64_t i = 0; i < o->n; i++) {
    double x = v == 0 ? 0 : (double)((o->q[i] - middle) / deviation), g = o->gamma[i] / o->y_scale;
    double off = fabs(y[i] - (x * g + o->beta[i] / o->y_scale)) - 0.5;
    double bound = 0x1p-16 + fabs(x * g) * 0x1p-28 + fabs(x) * most * 0x1p-24 +
                   fabs(g) * (0x1p-23 + 0x1p-17 / sqrt(fmax(n - 1, 1)));
    if (off > bound)
      fail_msg("row of %d, element %d of %d: off by 1/2 + %g, bound %g", (int)o->n, (int)i, o->q[i],
               off, bound);
    worst = fmax(worst, off);
  }
  free(y);
  return worst;
}

enum { ROW_ANY, ROW_NARROW, ROW_CONSTANT, ROW_OUTLIER, ROW_EXTREMES, ROW_KINDS };

static void fill_row(wk_rng *g, norm_row *o, int kind, int64_t least) {
  int64_t middle = wk_rng_range(g, least, least + 255);
  for (int64_t i = 0; i < o->n; i++) {
    int64_t q = wk_rng_range(g, least, least + 255);
    if (kind == ROW_NARROW) q = middle + wk_rng_range(g, -2, 2);
    if (kind == ROW_CONSTANT || kind == ROW_OUTLIER) q = middle;
    if (kind == ROW_EXTREMES) q = i % 2 ? least : least + 255;
    o->q[i] = (int)(q < least ? least : q > least + 255 ? least + 255 : q);
  }
  if (kind == ROW_OUTLIER) o->q[wk_rng_range(g, 0, o->n - 1)] = (int)(middle > 0 ? least : 127);
}

static void test_norm(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 2, 3, 5, 64, 768, 1023, WK_NORM_ROW - 1, WK_NORM_ROW};
  static const double epsilons[] = {1e-5, 1e-12, 0, 1e-3};
  wk_rng g = {17};
  double worst = 0;
  for (int i = 0; i < 4000; i++) {
    bool is_long = i % 100 == 99;
    norm_row o = {.n = lengths[wk_rng_range(&g, is_long ? 6 : 0, is_long ? 8 : 5)]};
    o.epsilon = epsilons[wk_rng_range(&g, 0, 3)];
    o.scale = exp2(-12 * wk_rng_unit(&g));
    o.y_scale = exp2(-2 - 5 * wk_rng_unit(&g));
    o.is_centred = i % 4 != 3;
    int64_t e, least = i % 2 ? -128 : 0;
    if (!o.is_centred) o.zero = wk_rng_range(&g, least, least + 255);
    if (!wk_norm_epsilon(o.n, o.epsilon, o.scale, &e)) continue;
    o.q = wk_xcalloc((size_t)o.n, sizeof *o.q);
    o.gamma = wk_xcalloc(2 * (size_t)o.n, sizeof *o.gamma);
    o.beta = o.gamma + o.n;
    double size = exp2(4 * wk_rng_unit(&g) - 2);
    for (int64_t k = 0; k < o.n; k++) {
      o.gamma[k] = wk_rng_range(&g, 0, 9) ? size * (2 * wk_rng_unit(&g) - 0.5) : 0;
      o.beta[k] = 4 * wk_rng_unit(&g) - 2;
    }
    fill_row(&g, &o, (int)wk_rng_range(&g, 0, ROW_KINDS - 1), least);
    worst = fmax(worst, check_norm(&o));
    free(o.q);
    free(o.gamma);
  }
  print_message("rows: at most 1/2 + 2^%.1f steps\n", log2(worst));
}

/* What has no integer form is refused. */
static void test_norm_limits(void **state) {
  (void)state;
  int64_t e;
  int32_t g, b;
  int shift;
  assert_true(wk_norm_epsilon(768, 1e-5, 0.02, &e));
  assert_int_equal(e, (int64_t)nearbyint(65536 * 1e-5 * 768 * 768 / 0.0004));
  assert_true(wk_norm_epsilon(1, 0, 1, &e));
  assert_int_equal(e, 1);
  assert_false(wk_norm_epsilon(WK_NORM_ROW + 1, 1e-5, 0.02, &e));
  assert_false(wk_norm_epsilon(0, 1e-5, 0.02, &e));
  assert_false(wk_norm_epsilon(768, -1, 0.02, &e));
  assert_false(wk_norm_epsilon(768, 1e-5, 1e-9, &e));
  assert_true(wk_norm_factors((double[]){0}, (double[]){0}, 1, 1, &g, &b, &shift));
  assert_int_equal(g, 0);
  assert_true(wk_norm_factors((double[]){-1023}, (double[]){16383}, 1, 1, &g, &b, &shift));
  assert_true(g < 0 && g > -(1 << WK_NORM_BITS) && b == 16383 << 16);
  assert_false(wk_norm_factors((double[]){1024}, (double[]){0}, 1, 1, &g, &b, &shift));
  assert_false(wk_norm_factors((double[]){1}, (double[]){-16384}, 1, 1, &g, &b, &shift));
  assert_false(wk_norm_factors((double[]){NAN}, (double[]){0}, 1, 1, &g, &b, &shift));
  assert_false(wk_norm_factors((double[]){1}, (double[]){INFINITY}, 1, 1, &g, &b, &shift));
}

/* The largest epsilon leaves room for the largest variance, n * squares of n times +-255, and not a
 * step more: numbers below 2^62 are at most 512 apart as doubles. */
static void test_norm_largest_epsilon(void **state) {
  (void)state;
  for (int64_t n = 1; n <= WK_NORM_ROW; n *= 2) {
    int64_t variance = n * n * 255 * 255 * 65536, room = (INT64_C(1) << 62) - variance, e = 0;
    double step = 1 / ldexp((double)(n * n), 16); /* of epsilon that is 1 of e, at scale 1 */
    assert_int_equal(wk_norm_epsilon_most(n), room - 1);
    assert_true(wk_norm_epsilon(n, (double)(room - 512) * step, 1, &e));
    assert_int_equal(e, room - 512);
    assert_true(wk_norm_epsilon(n, (double)(room - 512) * step / 16, 0.25, &e));
    assert_int_equal(e, room - 512);
    assert_false(wk_norm_epsilon(n, (double)room * step, 1, &e));
    assert_false(wk_norm_epsilon(n, (double)room * step / 16, 0.25, &e));
    assert_true(wk_norm_epsilon(n, 0.25 * step, 1, &e)); /* never 0 */
    assert_int_equal(e, 1);
    assert_true(wk_norm_epsilon(n, 1.75 * step, 1, &e));
    assert_int_equal(e, 2);
  }
  for (int64_t n = 3; n <= WK_NORM_ROW; n = n * 5 / 3 + 1)
    assert_int_equal(wk_norm_epsilon_most(n),
                     (INT64_C(1) << 62) - 1 - n * n * 255 * 255 * 65536);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_multipliers),
                                     cmocka_unit_test(test_norm_largest_epsilon),
                                     cmocka_unit_test(test_refused_factors),
                                     cmocka_unit_test(test_rounded_up),
                                     cmocka_unit_test(test_rescale_error),
                                     cmocka_unit_test(test_rescale_saturates),
                                     cmocka_unit_test(test_expression_agrees),
      cmocka_unit_test(test_steps_agree),
                                     cmocka_unit_test(test_all_sums),
                                     cmocka_unit_test(test_quantize_value),
                                     cmocka_unit_test(test_softmax_factors),
                                     cmocka_unit_test(test_softmax),
                                     cmocka_unit_test(test_softmax_lost_tail),
                                     cmocka_unit_test(test_softmax_limits),
                                     cmocka_unit_test(test_inverse_root),
                                     cmocka_unit_test(test_norm),
                                     cmocka_unit_test(test_norm_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
