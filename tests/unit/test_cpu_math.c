/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of targets/cpu/llvm/vmath.h against the C library: f32 against double, f64 against
 * long double, in units of the last place, on dense samples and on every special value. */
#include "tests/unit/cpu_loop_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef long double real;

typedef struct {
  wk_expr_op op;
  real (*want)(real x);
  double lo, hi; /* range of the dense sample; beyond, all magnitudes are tried when wild */
  bool wild;
  double ulp32, ulp64;
} function;

/* The bounds that vmath.h states, where the argument of f64 is within the range. */
static const function functions[] = {
    {WK_EX_EXP, expl, -110, 95, true, 2, 4},        {WK_EX_LOG, logl, 0, 3, true, 2, 4},
    {WK_EX_SIN, sinl, -400, 400, false, 1, 4},      {WK_EX_COS, cosl, -400, 400, false, 1, 4},
    {WK_EX_TAN, tanl, -400, 400, false, 1, 4},      {WK_EX_ASIN, asinl, -1.01, 1.01, true, 1, 4},
    {WK_EX_ACOS, acosl, -1.01, 1.01, true, 1, 4},   {WK_EX_ATAN, atanl, -9, 9, true, 1, 4},
    {WK_EX_SINH, sinhl, -95, 95, true, 1, 4},       {WK_EX_COSH, coshl, -95, 95, true, 1, 4},
    {WK_EX_ASINH, asinhl, -9, 9, true, 1, 4},       {WK_EX_ACOSH, acoshl, 0.9, 9, true, 1, 4},
    {WK_EX_ATANH, atanhl, -1.01, 1.01, true, 1, 4}, {WK_EX_TANH, tanhl, -10, 10, true, 2, 4},
    {WK_EX_ERF, erfl, -7, 7, true, 2, 4},
};

enum { SAMPLES = 100000, FUNCTIONS = WK_COUNTOF(functions) };

/* y = op(x...) over n dense elements of type t as a kernel. */
static void emit_function(lc_module *m, wk_expr_op op, wk_dtype t, int arity, int64_t n, int id) {
  wk_program *p = wk_program_new("math");
  wk_inst *i = wk_inst_new(p, WK_OP_MAP, "math", 1, 1 + (uint32_t)arity);
  wk_type type = wk_type_make(t, 1, &n);
  for (int k = 0; k <= arity; k++) {
    wk_buffer b = {.name = "b", .region = WK_REGION_ACT, .align = 64, .offset = -1, .size = n * 8};
    i->operands[k] = wk_view_dense(wk_program_buffer(p, &b), &type, k ? WK_ROLE_IN : WK_ROLE_OUT);
  }
  wk_expr_builder *b = wk_expr_begin(p->arena);
  uint16_t x = wk_expr_input(b, 0, t);
  uint16_t y = arity == 1 ? wk_expr_1(b, op, x) : wk_expr_2(b, op, x, wk_expr_input(b, 1, t));
  ((wk_attr_map *)i->attrs)->body = wk_expr_finish(b, &y, 1);
  wk_cpu_kernel k;
  lc_check(wk_cpu_map_codegen(&m->e, p, i, &k));
  assert_int_equal((k.n_tasks + 0) > 0, 1);
  lc_export(m, &k, id);
  wk_program_free(p);
}

static double ulp_of(double x, wk_dtype t) {
  int e;
  frexp(x, &e);
  int digits = t == WK_F32 ? 24 : 53, lowest = t == WK_F32 ? -149 : -1074;
  return ldexp(1, e - digits < lowest ? lowest : e - digits);
}

static double error_in_ulp(double got, real want, wk_dtype t) {
  double near = t == WK_F32 ? (double)(float)want : (double)want;
  if (isnan(near) || isnan(got)) return isnan(near) && isnan(got) ? 0 : INFINITY;
  if (got == near) return 0;
  double top = t == WK_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
  if (isinf(near) || isinf(got))
    return fabs(isinf(got) ? near : got) >= top * 0.999999 ? 1 : INFINITY;
  return (double)(fabsl((real)got - want) / (real)ulp_of(near, t));
}

static double special(int64_t i) {
  static const double values[] = {
      0.0,    -0.0,   INFINITY, -INFINITY,      NAN,  1,      -1,   0.5,   -0.5, 1e-40, -1e-40,
      1e-45,  3.4e38, -3.4e38,  1.17549435e-38, 2,    -2,     1e-8, -1e-8, 88.7, -87.4, -103.5,
      -104.5, 709.7,  -745,     0.625,          0.75, 0.9219, 4,    6};
  return values[i % (int64_t)WK_COUNTOF(values)];
}

static double any_magnitude(wk_rng *r, wk_dtype t) {
  for (;;) {
    double x;
    if (t == WK_F32) {
      uint32_t u = (uint32_t)wk_rng_next(r);
      float f;
      memcpy(&f, &u, sizeof f);
      x = (double)f;
    } else {
      uint64_t u = wk_rng_next(r);
      memcpy(&x, &u, sizeof x);
    }
    if (!isnan(x)) return x;
  }
}

static double sample(const function *f, wk_rng *r, wk_dtype t, int64_t i) {
  double x = i % 7 == 0 ? special(i / 7) : f->lo + (f->hi - f->lo) * wk_rng_unit(r);
  if (f->wild && i % 3 == 0) x = any_magnitude(r, t);
  if (!f->wild && i % 7 == 0 && fabs(x) > 1e6 && !isinf(x)) x = 1e5;
  return x;
}

static int check_function(const function *f, const char *simd, wk_dtype t, lc_task task, void *x,
                          void *y) {
  wk_rng r = {11};
  void *args[] = {y, x};
  double worst = 0, at = 0;
  for (int64_t i = 0; i < SAMPLES; i++) wk_store_f64(x, t, i, sample(f, &r, t, i));
  task(args, NULL, 0, SAMPLES);
  for (int64_t i = 0; i < SAMPLES; i++) {
    double v = wk_load_f64(x, t, i);
    double error = error_in_ulp(wk_load_f64(y, t, i), f->want((real)v), t);
    if (!(error > worst)) continue;
    worst = error;
    at = v;
  }
  double limit = t == WK_F32 ? f->ulp32 : f->ulp64;
  printf("%-7s %-6s %s %8.3f ulp at %.17g%s\n", simd, wk_expr_op_name(f->op), wk_dtype_name(t),
         worst, at, worst > limit ? " TOO MUCH" : "");
  return worst > limit;
}

static void test_functions(void **state) {
  (void)state;
  double *x = malloc(SAMPLES * sizeof *x), *y = malloc(SAMPLES * sizeof *y);
  int wrong = 0;
  for (int k = 0; wk_simd_row(k); k++) {
    const wk_simd *simd = wk_simd_row(k);
    if (!wk_simd_runs_here(simd)) continue;
    lc_module m;
    lc_begin(&m, simd);
    for (int i = 0; i < 2 * FUNCTIONS; i++)
      emit_function(&m, functions[i / 2].op, i % 2 ? WK_F64 : WK_F32, 1, SAMPLES, i);
    wrong += lc_load(&m);
    for (int i = 0; i < 2 * FUNCTIONS; i++)
      wrong += check_function(&functions[i / 2], simd->name, i % 2 ? WK_F64 : WK_F32,
                              lc_find(&m, i), x, y);
    lc_end(&m);
  }
  free(x);
  free(y);
  assert_int_equal(wrong, 0);
}

/* ---- two arguments --------------------------------------------------------------------------- */

static real mod_of(real p, real q) {
  double r = fmod((double)p, (double)q);
  if (r == 0) return (real)copysign(0, (double)q);
  return (r < 0) != (q < 0) ? r + (double)q : r;
}

static const struct {
  wk_expr_op op;
  real (*want)(real, real);
} pairs[] = {{WK_EX_POW, powl}, {WK_EX_FMOD, fmodl}, {WK_EX_MOD, mod_of}};

static void sample_pair(wk_rng *r, wk_expr_op op, wk_dtype t, int64_t i, double *p, double *q) {
  *p = i % 5 == 0 ? special(wk_rng_range(r, 0, 99)) : (double)wk_rng_normal(r) * 4;
  *q = i % 5 < 2 ? special(wk_rng_range(r, 0, 99)) : (double)wk_rng_normal(r) * 4;
  if (i % 4 == 0) *q = (double)wk_rng_range(r, -9, 9);
  if (op == WK_EX_POW) return;
  if (i % 3 == 0) *p = any_magnitude(r, t);
  if (i % 6 == 0) *q = any_magnitude(r, t);
}

static int check_pair(size_t k, const char *simd, wk_dtype t, lc_task task, void *const *memory) {
  wk_rng r = {13};
  double worst = 0, at[2] = {0, 0};
  for (int64_t i = 0; i < SAMPLES; i++) {
    double p, q;
    sample_pair(&r, pairs[k].op, t, i, &p, &q);
    wk_store_f64(memory[1], t, i, p);
    wk_store_f64(memory[2], t, i, q);
  }
  task(memory, NULL, 0, SAMPLES);
  for (int64_t i = 0; i < SAMPLES; i++) {
    double p = wk_load_f64(memory[1], t, i), q = wk_load_f64(memory[2], t, i);
    real want = pairs[k].want((real)p, (real)q);
    double got = wk_load_f64(memory[0], t, i), error = error_in_ulp(got, want, t);
    if (pairs[k].op == WK_EX_POW && t == WK_F64 && error < INFINITY)
      error = got == (double)want || want == 0 ? error : (double)fabsl((got - want) / want) / 1e-13;
    if (!(error > worst)) continue;
    worst = error;
    at[0] = p;
    at[1] = q;
  }
  printf("%-7s %-6s %s %8.3f at (%.17g, %.17g)\n", simd, wk_expr_op_name(pairs[k].op),
         wk_dtype_name(t), worst, at[0], at[1]);
  return worst > 1;
}

static void test_pairs(void **state) {
  (void)state;
  void *memory[3];
  int wrong = 0;
  for (int i = 0; i < 3; i++) memory[i] = malloc(SAMPLES * sizeof(double));
  for (int k = 0; wk_simd_row(k); k++) {
    const wk_simd *simd = wk_simd_row(k);
    if (!wk_simd_runs_here(simd)) continue;
    lc_module m;
    lc_begin(&m, simd);
    for (int i = 0; i < 6; i++)
      emit_function(&m, pairs[i / 2].op, i % 2 ? WK_F64 : WK_F32, 2, SAMPLES, i);
    wrong += lc_load(&m);
    for (int i = 0; i < 6; i++)
      wrong +=
          check_pair((size_t)i / 2, simd->name, i % 2 ? WK_F64 : WK_F32, lc_find(&m, i), memory);
    lc_end(&m);
  }
  for (int i = 0; i < 3; i++) free(memory[i]);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions),
                                     cmocka_unit_test(test_pairs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
