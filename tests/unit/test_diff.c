/* SPDX-License-Identifier: Apache-2.0
 * Comparison of tensors: what counts as a difference, and every figure of the answer. */
#include "tests/unit/case_text.h"

#include "compiler/eval/eval.h"

static const struct {
  const char *got, *want;
  wk_tolerance tol; /* relative, absolute, in parts of the largest number */
  int64_t mismatches, worst;
  double at_got, at_want, max_abs, max_rel;
} rows[] = {
    {"i32[3]{1,5,9}", "i32[3]{1,5,9}", {0, 0, 0}, 0, -1, 0, 0, 0, 0},
    {"i32[3]{1,5,9}", "i32[3]{1,4,9}", {1, 9, 1}, 1, 1, 5, 4, 1, 0.25}, /* integers are exact */
    {"i32[3]{3,5,-2}", "i32[3]{0,5,2}", {0, 0, 0}, 2, 2, -2, 2, 4, 2},
    {"i32[3]{3,5,2}", "i32[3]{0,5,2}", {0, 0, 0}, 1, 0, 3, 0, 3, 0}, /* parts of 0 are none */
    {"i8[2]{-8,-7}", "i8[2]{-4,-7}", {0, 0, 0}, 1, 0, -8, -4, 4, 1},
    {"u64[1]{9007199254740993}", "u64[1]{9007199254740992}", {0, 0, 0}, 1, 0, 9007199254740992,
     9007199254740992, 0, 0},
    {"bool[2]{1,0}", "bool[2]{1,1}", {0, 0, 0}, 1, 1, 0, 1, 1, 1},
    {"f32[2]{1,2}", "f32[2]{1,2}", {0, 0, 0}, 0, -1, 0, 0, 0, 0},
    {"f64[2]{1.25,2}", "f64[2]{1,2}", {0.25, 0, 0}, 0, 0, 1.25, 1, 0.25, 0.25},
    {"f64[2]{1.25,2}", "f64[2]{1,2}", {0.249, 0, 0}, 1, 0, 1.25, 1, 0.25, 0.25},
    {"f64[2]{0.75,2}", "f64[2]{1,2}", {0, 0.25, 0}, 0, 0, 0.75, 1, 0.25, 0.25},
    {"f64[2]{0.75,2}", "f64[2]{1,2}", {0, 0.249, 0}, 1, 0, 0.75, 1, 0.25, 0.25},
    {"f64[2]{0.5,2}", "f64[2]{1,2}", {0, 0, 0.25}, 0, 0, 0.5, 1, 0.5, 0.5},
    {"f64[2]{0.5,2}", "f64[2]{1,-2}", {0, 0, 0.25}, 1, 1, 2, -2, 4, 2},
    {"f64[2]{0.5,-2}", "f64[2]{1,-2}", {0, 0, 0.249}, 1, 0, 0.5, 1, 0.5, 0.5},
    {"f64[2]{0.5,inf}", "f64[2]{1,inf}", {0, 0, 0.5}, 0, 0, 0.5, 1, 0.5, 0.5}, /* finite ones */
    {"f64[2]{0.5,3}", "f64[2]{1,2}", {0.25, 0.25, 0}, 1, 1, 3, 2, 1, 0.5}, /* 1 and 4/3 */
    {"f64[3]{3,2,1}", "f64[3]{2,2,0}", {0.5, 0, 0}, 1, 2, 1, 0, 1, 0.5},
    {"f64[3]{3,2,4}", "f64[3]{2,2,2}", {0.1, 0, 0}, 2, 2, 4, 2, 2, 1},
    {"f64[3]{4,2,4}", "f64[3]{2,2,2}", {0.1, 0, 0}, 2, 0, 4, 2, 2, 1}, /* the first of equals */
    {"f64[2]{nan,1}", "f64[2]{nan,1}", {0, 0, 0}, 0, -1, 0, 0, 0, 0},
    {"f64[2]{-inf,1}", "f64[2]{-inf,1}", {0, 0, 0}, 0, -1, 0, 0, 0, 0},
    {"f64[2]{1,inf}", "f64[2]{1,2}", {9, 9, 9}, 1, 1, INFINITY, 2, INFINITY, INFINITY},
    {"f64[2]{1,2}", "f64[2]{1,-inf}", {9, 9, 9}, 1, 1, 2, -INFINITY, INFINITY, INFINITY},
    {"f64[2]{1,nan}", "f64[2]{1,2}", {9, 9, 9}, 1, 1, NAN, 2, INFINITY, INFINITY},
    {"f64[2]{1,2}", "f64[2]{1,nan}", {9, 9, 9}, 1, 1, 2, NAN, INFINITY, INFINITY},
    {"f64[2]{nan,0}", "f64[2]{0,0}", {9, 9, 9}, 1, 0, NAN, 0, INFINITY, 0},
    {"f16[2]{1,1.5}", "f16[2]{1,1}", {0, 0, 0}, 1, 1, 1.5, 1, 0.5, 0.5},
    {"f32[0]{}", "f32[0]{}", {0, 0, 0}, 0, -1, 0, 0, 0, 0},
};

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void figures(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_tensor got = case_tensor(rows[i].got), want = case_tensor(rows[i].want);
    wk_diff d = wk_tensor_diff(&got, &want, &rows[i].tol);
    if (d.equal != (rows[i].mismatches == 0) || d.mismatches != rows[i].mismatches ||
        d.worst != rows[i].worst || !same(d.got, rows[i].at_got) ||
        !same(d.want, rows[i].at_want) || !same(d.max_abs, rows[i].max_abs) ||
        !same(d.max_rel, rows[i].max_rel)) {
      differ++;
      print_message("%s and %s: %lld, %lld: %g and %g, %g, %g\n", rows[i].got, rows[i].want,
                    (long long)d.mismatches, (long long)d.worst, d.got, d.want, d.max_abs,
                    d.max_rel);
    }
    wk_tensor_free(&got);
    wk_tensor_free(&want);
  }
  assert_int_equal(differ, 0);
}

/* What is taken where no tolerance is given: 1e-3 of the number, 1e-5 of the largest, 1e-7. */
static void usual(void **state) {
  (void)state;
  static const struct { const char *got, *want; bool equal;
  } pairs[] = {{"f64[2]{1.0009,0}", "f64[2]{1,0}", true},
               {"f64[2]{1.0011,0}", "f64[2]{1,0}", false},
               {"f64[2]{0.0009,100}", "f64[2]{0,100}", true},
               {"f64[2]{0.0011,100}", "f64[2]{0,100}", false},
               {"f64[2]{9e-8,1e-4}", "f64[2]{0,1e-4}", true},
               {"f64[2]{11e-8,1e-4}", "f64[2]{0,1e-4}", false},
               {"i32[2]{1000001,0}", "i32[2]{1000000,0}", false}};
  for (size_t i = 0; i < WK_COUNTOF(pairs); i++) {
    wk_tensor got = case_tensor(pairs[i].got), want = case_tensor(pairs[i].want);
    if (wk_tensor_diff(&got, &want, NULL).equal != pairs[i].equal) fail_msg("%s", pairs[i].got);
    wk_tensor_free(&got);
    wk_tensor_free(&want);
  }
}

/* Nothing is compared of tensors of different types. */
static void types(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"f32[2]{1,2}", "f64[2]{1,2}"},
                                         {"f32[2]{1,2}", "f32[2,1]{1,2}"},
                                         {"f32[2]{1,2}", "f32[3]{1,2,3}"},
                                         {"i8[1]{1}", "u8[1]{1}"}};
  for (size_t i = 0; i < WK_COUNTOF(pairs); i++) {
    wk_tensor got = case_tensor(pairs[i][0]), want = case_tensor(pairs[i][1]);
    wk_diff d = wk_tensor_diff(&got, &want, NULL);
    assert_true(!d.equal && d.mismatches == 0 && d.worst == -1);
    wk_tensor_free(&got);
    wk_tensor_free(&want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(figures), cmocka_unit_test(usual),
                                     cmocka_unit_test(types)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
