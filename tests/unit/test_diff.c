/* SPDX-License-Identifier: Apache-2.0 */
/* How tensors are compared: every figure of a difference, within and without tolerances. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "compiler/support/support.h"

enum { MOST = 6 };

typedef struct {
  const char *name;
  wk_dtype dtype;
  double got[MOST], want[MOST];
  int n;
  wk_tolerance tolerance; /* all zeros, USUAL: none given */
  bool equal;
  int64_t worst, mismatches;
  double max_abs, max_rel; /* of f32, to six digits */
} diff_case;

#define INF INFINITY
#define USUAL {0, 0, 0}
static const diff_case cases[] = {
    {"the same", WK_F32, {1, NAN, INF}, {1, NAN, INF}, 3, USUAL, true, -1, 0, 0, 0},
    {"zeros of both signs", WK_F32, {0, -0.0}, {-0.0, 0}, 2, USUAL, true, -1, 0, 0, 0},
    {"within a thousandth", WK_F32, {1.0005, 100}, {1, 100}, 2, USUAL, true, 0, 0, 5e-4, 5e-4},
    {"the worst one counts", WK_F32, {1, 2.5, 3.1}, {1, 2, 3}, 3, USUAL, false, 1, 2, 0.5, 0.25},
    {"the first of equal ones", WK_F32, {2, 2, 1}, {1, 1, 1}, 3, USUAL, false, 0, 2, 1, 1},
    {"worst by what is allowed", WK_F32, {1.5, 102}, {1, 100}, 2, USUAL, false, 0, 2, 2, 0.5},
    {"wanted zero", WK_F32, {0.5, 1}, {0, 1}, 2, USUAL, false, 0, 1, 0.5, 0},
    {"the largest makes a floor", WK_F32, {0.0009, 100}, {0, 100}, 2, USUAL, true, 0, 0, 9e-4, 0},
    {"just above that floor", WK_F32, {0.0011, 100}, {0, 100}, 2, USUAL, false, 0, 1, 1.1e-3, 0},
    {"infinities make none", WK_F32, {0.0009, INF}, {0, INF}, 2, USUAL, false, 0, 1, 9e-4, 0},
    {"negative", WK_F32, {-3, -1}, {-2, -1}, 2, USUAL, false, 0, 1, 1, 0.5},
    {"NaN for a number", WK_F32, {1, NAN}, {1, 2}, 2, USUAL, false, 1, 1, INF, INF},
    {"a number for NaN", WK_F32, {1, 2}, {1, NAN}, 2, USUAL, false, 1, 1, INF, INF},
    {"infinity for a number", WK_F32, {1, INF}, {1, 2}, 2, USUAL, false, 1, 1, INF, INF},
    {"a number for infinity", WK_F32, {1, 1e30}, {1, INF}, 2, USUAL, false, 1, 1, INF, INF},
    {"the other infinity", WK_F32, {INF}, {-INF}, 1, USUAL, false, 0, 1, INF, INF},
    {"an absolute tolerance", WK_F32, {0.5, 7}, {0, 7}, 2, {0, 0.5, 0}, true, 0, 0, 0.5, 0},
    {"too small by little", WK_F32, {0.5, 7}, {0, 7}, 2, {0, 0.499, 0}, false, 0, 1, 0.5, 0},
    {"a relative one", WK_F32, {5, 0}, {4, 0}, 2, {0.25, 0, 0}, true, 0, 0, 1, 0.25},
    {"relative to what is wanted", WK_F32, {4, 0}, {5, 0}, 2, {0.199, 0, 0}, false, 0, 1, 1, 0.2},
    {"both together", WK_F32, {6, 0}, {4, 0}, 2, {0.25, 1, 0}, true, 0, 0, 2, 0.5},
    {"of the largest", WK_F32, {1, -8}, {0, -8}, 2, {0, 0, 0.125}, true, 0, 0, 1, 0},
    {"the larger floor counts", WK_F32, {1, -8}, {0, -8}, 2, {0, 1, 0.01}, true, 0, 0, 1, 0},
    {"of none", WK_F32, {1e-9}, {0}, 1, {1, 0, 0}, false, 0, 1, 1e-9, 0},
    {"integers", WK_I32, {7, 5, -9}, {7, 4, -12}, 3, USUAL, false, 2, 2, 3, 0.25},
    {"integers, wanted zero", WK_I8, {3, 1}, {0, 1}, 2, USUAL, false, 0, 1, 3, 0},
    {"integers take no tolerance", WK_U8, {101}, {100}, 1, {1, 5, 1}, false, 0, 1, 1, 0.01},
    {"bytes without a sign", WK_U8, {255}, {1}, 1, USUAL, false, 0, 1, 254, 254},
    {"truth values", WK_BOOL, {1, 0}, {1, 1}, 2, USUAL, false, 1, 1, 1, 1},
    {"of no elements", WK_F32, {0}, {0}, 0, USUAL, true, -1, 0, 0, 0},
};

static wk_tensor tensor_of(wk_dtype dtype, const double *values, int n) {
  const wk_type t = wk_type_make(dtype, 1, (const int64_t[]){n});
  wk_tensor out;
  assert_null(wk_tensor_alloc(&t, &out));
  for (int i = 0; i < n; i++) wk_store_f64(out.data, dtype, i, values[i]);
  return out;
}

static bool near(double a, double b) { return a == b || fabs(a - b) <= 1e-4 * fabs(b); }

static void figures(void **state) {
  (void)state;
  const wk_tolerance usual = USUAL;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    const diff_case *c = &cases[i];
    wk_tensor got = tensor_of(c->dtype, c->got, c->n), want = tensor_of(c->dtype, c->want, c->n);
    bool is_usual = !memcmp(&c->tolerance, &usual, sizeof usual);
    wk_diff d = wk_tensor_diff(&got, &want, is_usual ? NULL : &c->tolerance);
    if (d.equal != c->equal || d.worst != c->worst || d.mismatches != c->mismatches ||
        !near(d.max_abs, c->max_abs) || !near(d.max_rel, c->max_rel))
      fail_msg("%s: equal %d, worst %d, %d mismatches, %g, %g", c->name, d.equal, (int)d.worst,
               (int)d.mismatches, d.max_abs, d.max_rel);
    if (d.worst >= 0 && !isnan(c->got[d.worst]) && !isnan(c->want[d.worst]))
      assert_true(near(d.got, c->got[d.worst]) && near(d.want, c->want[d.worst]));
    wk_tensor_free(&got);
    wk_tensor_free(&want);
  }
}

static void types(void **state) {
  (void)state;
  const double one = 1;
  wk_tensor a = tensor_of(WK_F32, &one, 1), b = tensor_of(WK_F64, &one, 1);
  assert_false(wk_tensor_diff(&a, &b, NULL).equal);
  assert_int_equal(wk_tensor_diff(&a, &b, NULL).worst, -1);
  wk_tensor_free(&b);
  b = tensor_of(WK_F32, &one, 1);
  b.type.rank = 2, b.type.dims[1] = 1;
  assert_false(wk_tensor_diff(&a, &b, NULL).equal);
  wk_tensor_free(&a);
  wk_tensor_free(&b);
}

/* Integers that no double tells apart. */
static void large_integers(void **state) {
  (void)state;
  const double zero = 0;
  wk_tensor a = tensor_of(WK_I64, &zero, 1), b = tensor_of(WK_I64, &zero, 1);
  *(int64_t *)a.data = INT64_C(9007199254740993);
  *(int64_t *)b.data = INT64_C(9007199254740992);
  wk_diff d = wk_tensor_diff(&a, &b, NULL);
  assert_false(d.equal);
  assert_true(d.worst == 0 && d.mismatches == 1);
  wk_tensor_free(&a);
  wk_tensor_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(figures), cmocka_unit_test(types),
                                     cmocka_unit_test(large_integers)};
  return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
