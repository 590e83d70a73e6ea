/* SPDX-License-Identifier: Apache-2.0
 * When steps of several devices ran, by the host's clock where these do not tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/toy_model.h"

typedef struct {
  uint32_t n, steps[16];
  uint64_t last;
  bool is_wrong;
} times;

static void note(void *user, const wick_step_time *t) {
  times *x = user;
  x->is_wrong |= t->clock != WICK_CLOCK_HOST || t->start < x->last || t->end < t->start;
  x->last = t->end;
  if (x->n < 16) x->steps[x->n] = t->step;
  x->n++;
}

static void steps_are_timed(void **state) {
  wick_session *s;
  times x = {.n = 0};
  float in[4] = {1, 2, 3, 4}, y[4];
  const void *inputs[] = {in};
  void *outputs[] = {y};
  assert_int_equal(wick_session_create(*state, TOY_PLAN, 1, &s), WICK_OK);
  assert_int_equal(wick_session_run_timed(s, inputs, outputs, note, &x), WICK_OK);
  static const uint32_t steps[] = {0, 1, 2, 3, 4, 4, 4}; /* the last one is in a loop */
  assert_int_equal(x.n, 7);
  assert_memory_equal(x.steps, steps, sizeof steps);
  assert_false(x.is_wrong);
  for (uint32_t u = 0; u < 4; u++) assert_int_equal(wick_session_clock(s, u), WICK_CLOCK_HOST);
  assert_int_equal(wick_session_clock(NULL, 0), WICK_CLOCK_HOST);
  assert_int_equal(wick_session_run(s, inputs, outputs), WICK_OK); /* nobody is told any more */
  assert_int_equal(x.n, 7);
  assert_int_equal(wick_session_run_timed(s, inputs, outputs, NULL, &x), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_timed(NULL, inputs, outputs, note, &x), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_run_timed(s, NULL, outputs, note, &x), WICK_BAD_ARGUMENT);
  wick_session_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_timed)};
  return cmocka_run_group_tests(tests, load_toy, free_toy);
}
