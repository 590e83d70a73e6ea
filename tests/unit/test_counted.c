/* SPDX-License-Identifier: Apache-2.0
 * What a run says it left out (wick_step_work): rows above limits, branches, iterations. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pipeline/runner.h"

static void must(wk_status s) {
  if (s) fail_msg("%s", s->message);
}

static wk_runner *runner_of(const char *text) {
  wk_module *m;
  wk_runner *r;
  const wk_runner_options o = {.target = {.target = "cpu"}, .threads = 1, .model_name = "counted"};
  must(wk_module_parse(text, "counted", &m));
  must(wk_runner_of_module(m, &o, &r));
  return r;
}

enum { MAX_STEPS = 64 };

/* Sums of a run's steps; *macs becomes those of the package. */
static wick_step_work work_of(const wk_runner *r, const void *const *in, void *const *out,
                              uint64_t *macs) {
  wick_session *s = wk_runner_session(r);
  const wick_entry_info *e = wick_session_entry(s);
  wick_step_profile profile[MAX_STEPS] = {{0, 0}};
  wick_step_work work[MAX_STEPS] = {{0, 0, 0}}, sum = {0, 0, 0};
  assert_true(e->step_count <= MAX_STEPS);
  assert_int_equal(wick_session_run_counted(s, in, out, profile, work), WICK_OK);
  *macs = 0;
  for (uint32_t i = 0; i < e->step_count; i++) {
    assert_int_equal(profile[i].calls, 1);
    assert_true(work[i].left_out <= e->steps[i].macs && work[i].rows <= work[i].all_rows);
    *macs += e->steps[i].macs;
    sum.rows += work[i].rows;
    sum.all_rows += work[i].all_rows;
    sum.left_out += work[i].left_out;
  }
  return sum;
}

static float x[64 * 256], y[64 * 512], weights[256 * 512];

/* Rows that a select takes. */
static void rows_are_counted(void **state) {
  static const char text[] =
      "module \"m\" { graph @main(%p: bool[64,1], %x: f32[64,256], %w: f32[256,512], %z: f32[]) {\n"
      "  %a = matmul(%x, %w)\n  %y = where(%p, %a, %z)\n  output %y\n}}";
  static const int counts[] = {0, 1, 5, 63, 64};
  (void)state;
  wk_runner *r = runner_of(text);
  for (size_t k = 0; k < WK_COUNTOF(counts); k++) {
    uint8_t p[64] = {0};
    const float z = 0;
    uint64_t macs;
    for (int i = 0; i < counts[k]; i++) p[(i * 7) % 64] = 1;
    wick_step_work w = work_of(r, (const void *[]){p, x, weights, &z}, (void *[]){y}, &macs);
    assert_int_equal(macs, 64 * 256 * 512);
    assert_int_equal(w.all_rows, 64);
    assert_int_equal(w.rows, counts[k]);
    assert_int_equal(w.left_out, (64 - counts[k]) * 256 * 512);
  }
  wk_runner_free(r);
}

/* Of a branch both sides are the step's; one is left out. */
static void branches_are_counted(void **state) {
  static const char text[] =
      "module \"m\" { graph @main(%c: bool[], %x: f32[8,8]) {\n"
      "  %y = if(%c, %x, %x) then @twice else @once\n  output %y\n}\n"
      "graph @twice(%a: f32[8,8], %b: f32[8,8]) {\n"
      "  %p = matmul(%a, %b)\n  %q = matmul(%p, %a)\n  output %q\n}\n"
      "graph @once(%a: f32[8,8], %b: f32[8,8]) {\n  %p = matmul(%a, %b)\n  output %p\n}}";
  (void)state;
  wk_runner *r = runner_of(text);
  for (uint8_t c = 0; c < 2; c++) {
    uint64_t macs;
    wick_step_work w = work_of(r, (const void *[]){&c, x}, (void *[]){y}, &macs);
    assert_int_equal(macs, 3 * 512);
    assert_int_equal(w.left_out, c ? 512 : 2 * 512);
    assert_int_equal(w.all_rows, 0);
  }
  wk_runner_free(r);
}

/* A loop of at most ten iterations that ends where the sum of x is no more below 2. */
static void iterations_are_counted(void **state) {
  static const char text[] =
      "module \"m\" { graph @main(%go: bool[], %x: f32[1,8], %one: f32[8,8], %top: f32[1,1]) {\n"
      "  %y = loop(%go, %x, %one, %top) {trip=10, n_state=1, has_cond=1} do @body\n  output %y\n}\n"
      "graph @body(%i: i64[], %s: f32[1,8], %w: f32[8,8], %top: f32[1,1]) {\n"
      "  %n = matmul(%s, %w)\n  %f = slice(%n) {starts=[0,0], sizes=[1,1], steps=[1,1]}\n"
      "  %l = less(%f, %top)\n  %c = reshape(%l) {shape=[]}\n  output %c\n  output %n\n}}";
  static const float tops[] = {1, 2, 3, 1000};
  static const int iterations[] = {1, 2, 3, 10};
  (void)state;
  wk_runner *r = runner_of(text);
  float twice[64] = {0};
  for (int i = 0; i < 8; i++) twice[9 * i] = 2, x[i] = 0.5F;
  for (size_t k = 0; k < WK_COUNTOF(tops); k++) {
    const uint8_t go = 1;
    uint64_t macs;
    wick_step_work w =
        work_of(r, (const void *[]){&go, x, twice, &tops[k]}, (void *[]){y}, &macs);
    assert_int_equal(macs, 640);
    assert_int_equal(w.left_out, 64 * (10 - iterations[k]));
  }
  wk_runner_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_counted),
                                     cmocka_unit_test(branches_are_counted),
                                     cmocka_unit_test(iterations_are_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
