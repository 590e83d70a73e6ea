/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, their order, learning rates. */
#include "tests/unit/case_text.h"

#include "compiler/train/data.h"

/* ---- order ----------------------------------------------------------------------------------- */

static void test_split(void **state) {
  (void)state;
  wk_split s;
  wk_split_make(12, 0.2, &s);
  assert_int_equal(s.n_held_out, 2);
  assert_int_equal(s.held_out[0], 4);
  assert_int_equal(s.held_out[1], 9);
  assert_int_equal(s.n_train, 10);
  assert_int_equal(s.train[4], 5);
  wk_split_free(&s);
  for (int64_t n = 0; n < 200; n++) {
    wk_split_make(n, 0.1, &s);
    assert_int_equal(s.n_held_out, n / 10);
    assert_int_equal(s.n_train + s.n_held_out, n);
    wk_split_free(&s);
  }
  wk_split_make(5, 0, &s);
  assert_int_equal(s.n_train, 5);
  wk_split_free(&s);
}

static void test_shuffle(void **state) {
  (void)state;
  enum { N = 1000, EPOCHS = 200 };
  static int64_t from[N], out[N], again[N], first[N];
  double moved = 0;
  for (int64_t i = 0; i < N; i++) from[i] = i;
  wk_shuffle(7, 3, from, N, out);
  wk_shuffle(7, 3, from, N, again);
  assert_memory_equal(out, again, sizeof out);
  wk_shuffle(7, 4, from, N, again);
  assert_memory_not_equal(out, again, sizeof out);
  wk_shuffle(8, 3, from, N, again);
  assert_memory_not_equal(out, again, sizeof out);
  memset(first, 0, sizeof first);
  for (int64_t e = 0; e < EPOCHS; e++) {
    bool seen[N] = {false};
    wk_shuffle(1, e, from, N, out);
    for (int64_t i = 0; i < N; i++) {
      assert_false(seen[out[i]]);
      seen[out[i]] = true;
    }
    moved += (double)out[0];
  }
  /* The mean of what comes first has a deviation of 289 / sqrt(200). */
  assert_true(fabs(moved / EPOCHS - 499.5) < 5 * 20.5);
}

/* The order is part of what a seed promises: files with checkpoints go on with it. */
static void test_shuffle_stays(void **state) {
  (void)state;
  static const int64_t from[] = {10, 11, 12, 13, 14, 15, 16, 17};
  int64_t out[8] = {0};
  wk_shuffle(7, 3, from, 8, out);
  static const int64_t want[] = {14, 17, 15, 11, 10, 13, 16, 12};
  for (int k = 0; k < 8; k++)
    if (out[k] != want[k]) fail_msg("number %d is %d", k, (int)out[k]);
  out[0] = 5;
  wk_shuffle(7, 3, NULL, 0, out);
  assert_int_equal(out[0], 5);
  wk_shuffle(7, 3, from, 1, out);
  assert_int_equal(out[0], 10);
}

/* ---- learning rates -------------------------------------------------------------------------- */

static void test_rates(void **state) {
  (void)state;
  assert_true(wk_schedule_rate(WK_SCHEDULE_CONSTANT, 0.5, 99, 100) == 0.5);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 1, 0, 9) == 1);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 1, 2, 9) == 1);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 1, 3, 9) == 0.1);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 1, 8, 9) == 0.01);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 3, 5, 9) == 0.3);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 1, 6, 9) == 0.01);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 1, 3, 10) == 1);
  assert_true(wk_schedule_rate(WK_SCHEDULE_STEP, 1, 4, 10) == 0.1);
  assert_true(wk_schedule_rate(WK_SCHEDULE_COSINE, 2, 0, 10) == 2);
  assert_true(fabs(wk_schedule_rate(WK_SCHEDULE_COSINE, 2, 5, 10) - 1) < 1e-15);
  assert_true(fabs(wk_schedule_rate(WK_SCHEDULE_COSINE, 2, 4, 12) - 1.5) < 1e-15);
  assert_true(fabs(wk_schedule_rate(WK_SCHEDULE_COSINE, 2, 10, 10)) < 1e-15);
}

/* ---- columns --------------------------------------------------------------------------------- */

static const struct {
  const char *samples, *want;
  int64_t classes;
  const char *error; /* NULL: none */
} checks[] = {
    {"f32[2,3]{1}", "f32[4,3]", 0, NULL},
    {"u8[2,3]{255}", "f32[4,1,3]", 0, NULL},
    {"f64[2,3]{1}", "f16[4,3,1]", 0, NULL},
    {"i64[2]{9,0}", "i64[4]", 10, NULL},
    {"i64[2,1]{9,0}", "i64[4]", 10, NULL},
    {"i64[2,3]{0,0,0,0,12,0}", "i64[4,3]", 10,
     "sample 1, element [1]: 12 is outside the classes 0..9"},
    {"i8[3]{0,-1,0}", "i64[4]", 2, "sample 1: -1 is outside the classes 0..1"},
    {"f32[2]{1,0}", "i64[4]", 10, "holds f32, where classes are wanted: integers, 0..9"},
    {"f32[2]{1,0}", "i64[4]", 0, "holds f32, where integers (i64) are wanted"},
    {"i64[2,3]{0,1,0,1,0,0}", "i64[4]", 3, "has 3 numbers where one class is wanted, 0..2: of "
     "labels that are 1 at their class give the positions (argmax)"},
    {"f64[2]{1.0,1e300}", "f32[4]", 0, "sample 1: 1e+300 does not fit into f32"},
    {"f32[2,3]{0,0,0,0,0,nan}", "f32[4,3]", 0, "sample 1, element [2]: nan is no finite number"},
    {"f32[1,2]{0,nan}", "f32[4,2]", 0, "sample 0, element [1]: nan is no finite number"},
    {"f32[2]{inf,0}", "f32[4]", 0, "sample 0: inf is no finite number"},
    {"f32[2,3]{1}", "f32[4,4]", 0, "samples have the shape [3], the input x has [4]"},
    {"f32[2,3,4]{1}", "f32[4,12]", 0, "samples have the shape [3,4], the input x has [12]"},
    {"i32[3]{0,255,256}", "u8[4]", 0, "sample 2: 256 does not fit into u8"},
    {"i32[1]{2}", "bool[1]", 0, "sample 0: 2 does not fit into bool"},
    {"f32[]{1}", "f32[4]", 0, "is a single number, samples lie along axis 0"},
    {"f32[1,2,1,3]{1}", "f32[4,1,2,3,1]", 0, NULL}, /* axes of 1 do not count */
    {"f32[1,2,3]{1}", "f32[4,3,2]", 0, "samples have the shape [2,3], the input x has [3,2]"},
    {"f32[1,2]{1}", "f32[4,2,3]", 0, "samples have the shape [2], the input x has [2,3]"},
    {"f32[1,2,3]{1}", "f32[4,2]", 0, "samples have the shape [2,3], the input x has [2]"},
    {"f32[2]{1,0}", "f32[4,2]", 0, "samples have the shape [], the input x has [2]"},
    {"f32[2,2,2]{0,0,0,0,0,0,nan,0}", "f32[4,2,2]", 0,
     "sample 1, element [1,0]: nan is no finite number"},
    {"f32[3,1]{0,0,nan}", "f32[4,1]", 0, "sample 2: nan is no finite number"},
    {"i64[3]{0,1,2}", "i64[4]", 2, "sample 2: 2 is outside the classes 0..1"},
    {"i64[1]{1}", "i64[4]", 1, "sample 0: 1 is outside the classes 0..0"},
    {"i64[1,2]{0,1}", "i64[4]", 1, "samples have the shape [2], the input x has []"},
    {"u64[2]{0,-1}", "i64[4]", 3, "sample 1: 18446744073709551615 is outside the classes 0..2"},
    {"u64[2]{0,9223372036854775807}", "i64[4]", 0, NULL},
    {"u64[2]{0,-1}", "i64[4]", 0, "sample 1: 18446744073709551615 does not fit into i64"},
    {"i64[2]{0,-1}", "u64[4]", 0, "sample 1: -1 does not fit into u64"},
    {"i64[2]{0,9223372036854775807}", "u64[4]", 0, NULL},
    {"i32[3]{-128,127,128}", "i8[4]", 0, "sample 2: 128 does not fit into i8"},
    {"i32[3]{-128,127,-129}", "i8[4]", 0, "sample 2: -129 does not fit into i8"},
    {"i32[2]{0,1}", "bool[1]", 0, NULL},
    {"i32[2]{0,-1}", "bool[1]", 0, "sample 1: -1 does not fit into bool"},
    {"i32[2]{0,70000}", "f16[1]", 0, NULL}, /* integers become floats as they may */
    {"f32[2]{0,65520}", "f16[1]", 0, "sample 1: 65520 does not fit into f16"},
    {"f32[2]{0,65519}", "f16[1]", 0, NULL},
};

static void test_checks(void **state) {
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(checks); i++) {
    wk_column c = {.name = "x", .path = "x.npy", .t = case_tensor(checks[i].samples)};
    wk_type want = case_type(checks[i].want);
    wk_status s = wk_column_check(&c, &want, checks[i].classes);
    if (s && !checks[i].error) fail_msg("%s: %s", checks[i].samples, s->message);
    if (!s && checks[i].error) fail_msg("%s: no error", checks[i].samples);
    if (s) assert_string_equal(s->message, checks[i].error);
    if (s) assert_string_equal(s->place, "x.npy");
    wk_status_free(s);
    wk_tensor_free(&c.t);
  }
}

/* Of one sample; where there is none it has none. */
static void test_elements(void **state) {
  (void)state;
  static const struct { const char *t; int64_t elements; } rows[] = {
      {"f32[4]{1}", 1}, {"f32[2,3,4]{1}", 12}, {"f32[0,3]{}", 0}, {"f32[0]{}", 0},
      {"f32[2,0]{}", 0}, {"f32[1,1,5]{1}", 5}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_column c = {.name = "x", .path = "x.npy", .t = case_tensor(rows[i].t)};
    assert_int_equal(wk_column_elements(&c), rows[i].elements);
    wk_tensor_free(&c.t);
  }
}

static void test_gather(void **state) {
  (void)state;
  static const int64_t at[] = {2, 0, 2};
  wk_column c = {.t = case_tensor("u8[3,2]{1,2,3,4,5,255}")};
  float got[6], want[6] = {5, 255, 1, 2, 5, 255};
  wk_column_gather(&c, at, 3, WK_F32, got);
  assert_memory_equal(got, want, sizeof got);
  int64_t whole[6];
  wk_column_gather(&c, at, 3, WK_I64, whole);
  assert_int_equal(whole[1], 255);
  assert_int_equal(whole[0], 5);
  assert_int_equal(whole[3], 2);
  double reals[3], at_two[3] = {1.5, -2, 1.5};
  wk_column one = {.t = case_tensor("f32[3]{-2,7,1.5}")};
  wk_column_gather(&one, (const int64_t[]){2, 0, 2}, 3, WK_F64, reals);
  assert_memory_equal(reals, at_two, sizeof reals);
  wk_tensor_free(&one.t);
  one.t = case_tensor("i64[2]{9007199254740993,-5}"); /* no number of f64 */
  uint64_t exact[2];
  wk_column_gather(&one, (const int64_t[]){1, 0}, 2, WK_U64, exact);
  assert_true(exact[0] == (uint64_t)-5 && exact[1] == 9007199254740993);
  wk_tensor_free(&one.t);
  uint8_t same[6], bytes[6] = {5, 255, 1, 2, 5, 255};
  wk_column_gather(&c, at, 3, WK_U8, same);
  assert_memory_equal(same, bytes, sizeof bytes);
  wk_tensor_free(&c.t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_split), cmocka_unit_test(test_shuffle),
      cmocka_unit_test(test_shuffle_stays), cmocka_unit_test(test_rates),
      cmocka_unit_test(test_checks), cmocka_unit_test(test_gather),
      cmocka_unit_test(test_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
