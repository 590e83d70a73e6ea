/* SPDX-License-Identifier: Apache-2.0
 * When steps of OpenCL parts ran, on the driver of opencl_fake.h, where each command takes a
 * microsecond of the device's clock, and none of the host's. */
#include "runtime/internal.h"

#include "tests/unit/opencl_driver.h"

typedef struct {
  uint32_t n, steps[64];
  wick_clock clock;
  uint64_t lengths[64], last;
  bool is_backwards;
} times;

static void note(void *user, const wick_step_time *t) {
  times *x = user;
  if (x->n == 64) fail_msg("too many times");
  x->is_backwards |= t->start < x->last || t->end < t->start;
  x->last = t->end;
  x->lengths[x->n] = t->end - t->start;
  x->steps[x->n++] = t->step;
  x->clock = t->clock;
}

static wick_status run_timed(wick_session *s, const buffers *o, times *x) {
  const void *inputs[] = {o->a, o->b};
  void *outputs[] = {o->y, o->z};
  *x = (times){.n = 0};
  return wick_session_run_timed(s, inputs, outputs, note, x);
}

static wick_status run_profiled(wick_session *s, const buffers *o, wick_step_profile *profile) {
  const void *inputs[] = {o->a, o->b};
  void *outputs[] = {o->y, o->z};
  return wick_session_run_profiled(s, inputs, outputs, profile);
}

/* Of each launch, steps of the entry; nobody waits for steps. */
static void launches_are_timed(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    times x;
    load_plain_for(d, &f);
    wick_session *s = session_of(&f, OCL_CHAIN);
    buffers o = make_buffers(0);
    assert_int_equal(wick_session_clock(s, 0), WICK_CLOCK_HOST);
    fake.clock = 123456789; /* another one than the host's */
    assert_int_equal(run_timed(s, &o, &x), WICK_OK);
    check_chain(&o);
    static const uint32_t steps[] = {0, 1, 2, 3, 3, 3};
    assert_true(x.n == 20 && !x.is_backwards && x.clock == WICK_CLOCK_DEVICE);
    assert_memory_equal(x.steps, steps, sizeof steps);
    for (uint32_t i = 0; i < x.n; i++) assert_int_equal(x.lengths[i], 1000);
    assert_int_equal(wick_session_clock(s, 0), WICK_CLOCK_DEVICE);
    wick_step_profile profile[4] = {{0, 0}};
    for (int k = 0; k < 2; k++) assert_int_equal(run_profiled(s, &o, profile), WICK_OK);
    static const uint64_t wanted[] = {2000, 2000, 2000, 34000};
    for (int i = 0; i < 4; i++) {
      assert_int_equal(profile[i].calls, 2);
      assert_int_equal(profile[i].nanoseconds, wanted[i]);
    }
    wick_session_free(s);
    s = session_of(&f, OCL_SUM);
    uint32_t before = fake.calls[FAKE_Finish];
    assert_int_equal(run_timed(s, &o, &x), WICK_OK); /* one of them is of the queue before, … */
    assert_int_equal(fake.calls[FAKE_Finish] - before, 4);
    assert_int_equal(run_timed(s, &o, &x), WICK_OK); /* … one of what is asked whether it tells */
    assert_int_equal(fake.calls[FAKE_Finish] - before, 6);
    expect_run(s, &o);
    check_sum(&o);
    wick_session_free(s);
    free(o.memory);
    unload_all(&f);
  }
}

/* More launches than events that are kept: 100 iterations of two, often. */
static void long_loops_are_timed(void **state) {
  (void)state;
  fixture f;
  static ocl_plan plan;
  ocl_fill(&plan);
  plan.launches[4].trip = 2000;
  load_for(&plan, FAKE_NEAR, &f);
  wick_session *s = session_of(&f, OCL_UNTIL);
  buffers o = make_buffers(0);
  wick_step_profile profile[2] = {{0, 0}};
  o.a[0] = -995;
  assert_int_equal(run_profiled(s, &o, profile), WICK_OK);
  check_until(&o);
  assert_int_equal(profile[1].nanoseconds, 2001000);
  wick_session_free(s);
  free(o.memory);
  unload_all(&f);
}

/* A device that does not tell is waited for, and that is said. */
static void some_do_not_tell(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    fixture f;
    times x;
    load_plain_for(FAKE_FAR, &f);
    wick_session *s = session_of(&f, OCL_SUM);
    buffers o = make_buffers(0);
    fake.tells_no_times = k == 0;
    fake.fails = k == 1 ? FAKE_CreateCommandQueue : k == 2 ? FAKE_CreateBuffer
                                                           : FAKE_EnqueueFillBuffer;
    fake.fails_at = k ? fake.calls[fake.fails] + 1 : 0;
    fake.code = CL_OUT_OF_RESOURCES;
    assert_int_equal(run_timed(s, &o, &x), WICK_OK);
    fake.fails_at = 0;
    check_sum(&o);
    assert_true(x.n == 2 && x.steps[0] == 0 && x.steps[1] == 1);
    assert_int_equal(x.clock, WICK_CLOCK_HOST);
    wick_step_profile profile[2] = {{0, 0}};
    uint32_t queues = fake.calls[FAKE_CreateCommandQueue]; /* it is asked once */
    assert_int_equal(run_profiled(s, &o, profile), WICK_OK);
    assert_int_equal(fake.calls[FAKE_CreateCommandQueue], queues);
    assert_true(profile[0].calls == 1 && profile[1].calls == 1);
    assert_int_equal(wick_session_clock(s, 0), WICK_CLOCK_HOST);
    assert_int_equal(wick_session_clock(s, 99), WICK_CLOCK_HOST);
    wick_session_free(s);
    free(o.memory);
    unload_all(&f);
  }
}

/* Any call of a run that is timed fails: it is told, or the host times; then all is well again. */
static void failures_are_told(void **state) {
  static const fake_function may_fail[] = {FAKE_EnqueueNDRangeKernel, FAKE_GetEventProfilingInfo,
                                           FAKE_Finish, FAKE_EnqueueReadBuffer};
  (void)state;
  for (size_t i = 0; i < WICK_COUNTOF(may_fail); i++)
    for (uint32_t k = 1;; k++) {
      fixture f;
      times x;
      load_plain_for(FAKE_FAR, &f);
      wick_session *s = session_of(&f, OCL_SUM);
      buffers o = make_buffers(0);
      fake.fails = may_fail[i];
      fake.fails_at = fake.calls[may_fail[i]] + k;
      fake.code = CL_OUT_OF_RESOURCES;
      wick_status status = run_timed(s, &o, &x);
      bool is_over = fake.calls[may_fail[i]] < fake.fails_at;
      fake.fails_at = 0;
      if (is_over) assert_int_equal(x.clock, WICK_CLOCK_DEVICE);
      if (status != WICK_OK) {
        assert_int_equal(status, WICK_DEVICE_FAILED);
        assert_non_null(strstr(wick_session_error(s), ": CL_OUT_OF_RESOURCES"));
      } else {
        check_sum(&o);
      }
      assert_int_equal(run_timed(s, &o, &x), WICK_OK);
      assert_int_equal(x.n, 2);
      wick_session_free(s);
      free(o.memory);
      fake.fails = FAKE_FUNCTIONS;
      unload_all(&f);
      if (is_over) break;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_are_timed),
      cmocka_unit_test(long_loops_are_timed),
      cmocka_unit_test(some_do_not_tell),
      cmocka_unit_test(failures_are_told),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
