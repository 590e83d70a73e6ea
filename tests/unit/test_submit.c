/* SPDX-License-Identifier: Apache-2.0
 * Runs that are submitted and carried out at once, because several devices, dims or state have part
 * in them. (test_opencl_jobs.c: those that are left to a device.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/toy_model.h"

static wick_session *session_of(void **state, uint32_t entry) {
  wick_session *s;
  assert_int_equal(wick_session_create(*state, entry, 1, &s), WICK_OK);
  return s;
}

static wick_status submit(wick_session *s, const void *x, void *y, void *z, uint64_t *ticket) {
  const void *inputs[] = {x};
  void *outputs[] = {y, z};
  return wick_session_submit(s, inputs, outputs, ticket);
}

static void plans_are_carried_out(void **state) {
  wick_session *s = session_of(state, TOY_CHAIN);
  float x[WICK_MAX_SUBMITTED][4], y[WICK_MAX_SUBMITTED + 1][4], z[WICK_MAX_SUBMITTED + 1][4];
  uint64_t tickets[WICK_MAX_SUBMITTED], more;
  const void *inputs[] = {x[0]};
  void *outputs[] = {y[0], z[0]};
  for (int i = 0; i < WICK_MAX_SUBMITTED; i++) {
    for (int k = 0; k < 4; k++) x[i][k] = (float)(10 * i + k);
    assert_int_equal(submit(s, x[i], y[i], z[i], &tickets[i]), WICK_OK);
    for (int k = 0; k < 4; k++) assert_true(z[i][k] == 2 * (x[i][k] + 1));
  }
  assert_int_equal(submit(s, x[0], y[0], z[0], &more), WICK_BUSY);
  assert_int_equal(wick_session_run(s, inputs, outputs), WICK_BUSY);
  for (int i = WICK_MAX_SUBMITTED - 1; i >= 0; i--) {
    assert_int_equal(wick_session_wait(s, tickets[i]), WICK_OK);
    assert_int_equal(wick_session_wait(s, tickets[i]), WICK_BAD_ARGUMENT);
  }
  assert_int_equal(wick_session_run(s, inputs, outputs), WICK_OK);
  assert_int_equal(submit(s, x[0], y[0], z[0], &more), WICK_OK);
  assert_true(more > tickets[WICK_MAX_SUBMITTED - 1]);
  wick_session_free(s); /* not waited for */
}

/* Dims are those of the run that has been waited for: there is no other one. */
static void dims_belong_to_one_run(void **state) {
  wick_session *s = session_of(state, TOY_COUNT_ENTRY);
  float x[4] = {0};
  int64_t y[4];
  uint64_t ticket, other;
  assert_int_equal(submit(s, x, y, NULL, &ticket), WICK_OK);
  assert_int_equal(submit(s, x, y, NULL, &other), WICK_BUSY);
  assert_int_equal(wick_session_wait(s, ticket), WICK_OK);
  assert_int_equal(wick_session_output_dims(s, 0)[0], 3);
  assert_int_equal(submit(s, x, y, NULL, &other), WICK_OK);
  assert_int_equal(wick_session_wait(s, other), WICK_OK);
  wick_session_free(s);
}

/* By submit, which gives no ticket, and the session goes on. */
static void failures_are_told_at_once(void **state) {
  static const struct {
    uint32_t entry;
    wick_status status;
    const char *why;
  } cases[] = {
      {TOY_FAIL_ENTRY, WICK_DEVICE_FAILED, "target 'async': part 'fail' does not work"},
      {TOY_LARGE, WICK_RUN_FAILED, "output y is larger than it may be"},
      {TOY_KEEP_ENTRY, WICK_NO_STATE, ""},
  };
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wick_session *s = session_of(state, cases[i].entry);
    _Alignas(8) float x[4] = {0}, y[16], z[16];
    uint64_t ticket = 5;
    for (int k = 0; k < 2; k++) {
      assert_int_equal(submit(s, x, y, z, &ticket), cases[i].status);
      assert_string_equal(wick_session_error(s), cases[i].why);
    }
    assert_int_equal(ticket, 5);
    assert_int_equal(submit(s, x, y, z, NULL), WICK_BAD_ARGUMENT);
    wick_session_free(s);
  }
}

static void state_is_free_between_runs(void **state) {
  wick_session *s = session_of(state, TOY_KEEP_ENTRY);
  wick_state *kept;
  float x[4] = {1, 2, 3, 4}, y[4];
  uint64_t ticket;
  assert_int_equal(wick_state_new(*state, &kept), WICK_OK);
  assert_int_equal(wick_session_bind_state(s, kept), WICK_OK);
  assert_int_equal(submit(s, x, y, NULL, &ticket), WICK_OK);
  assert_int_equal(wick_state_reset(kept), WICK_OK);
  assert_int_equal(wick_session_wait(s, ticket), WICK_OK);
  wick_session_free(s);
  wick_state_free(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_are_carried_out),
      cmocka_unit_test(dims_belong_to_one_run),
      cmocka_unit_test(failures_are_told_at_once),
      cmocka_unit_test(state_is_free_between_runs),
  };
  return cmocka_run_group_tests(tests, load_toy, free_toy);
}
