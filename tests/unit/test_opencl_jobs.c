/* SPDX-License-Identifier: Apache-2.0
 * Runs of an OpenCL session that are submitted, on the driver of opencl_fake.h, which does nothing
 * that nobody waits for: what has finished when, and what is said of those that failed. */
#include "runtime/internal.h"

#include "tests/unit/opencl_driver.h"

enum { RUNS = WICK_MAX_SUBMITTED };

typedef struct {
  fixture f;
  wick_session *s;
  buffers o[RUNS];
  uint64_t tickets[RUNS];
} world;

static void open_plan(world *w, const ocl_plan *plan, int device) {
  load_for(plan, device, &w->f);
  w->s = session_of(&w->f, OCL_SUM);
  for (int i = 0; i < RUNS; i++) {
    w->o[i] = make_buffers(0);
    w->o[i].a[0] = (float)i + 10;
    memset(w->o[i].y, -1, OCL_BYTES);
  }
}

static void open_world(world *w, int device) {
  static ocl_plan plan;
  ocl_fill(&plan);
  open_plan(w, &plan, device);
}

static void close_world(world *w) {
  wick_session_free(w->s);
  for (int i = 0; i < RUNS; i++) free(w->o[i].memory);
  unload_all(&w->f);
}

static wick_status submit(world *w, int i) {
  const void *inputs[] = {w->o[i].a, w->o[i].b};
  void *outputs[] = {w->o[i].y};
  return wick_session_submit(w->s, inputs, outputs, &w->tickets[i]);
}

static void submit_all(world *w) {
  for (int i = 0; i < RUNS; i++) {
    assert_int_equal(submit(w, i), WICK_OK);
    assert_true(i == 0 || w->tickets[i] > w->tickets[i - 1]);
  }
}

static bool has_run(const world *w, int i) {
  const uint8_t *y = (const uint8_t *)w->o[i].y;
  return y[0] != 0xff || y[3] != 0xff;
}

/* ---- what has finished ----------------------------------------------------------------------- */

static void runs_are_under_way(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    world w;
    open_world(&w, d);
    submit_all(&w);
    uint64_t other;
    const void *inputs[] = {w.o[0].a, w.o[0].b};
    void *outputs[] = {w.o[0].y};
    assert_int_equal(wick_session_submit(w.s, inputs, outputs, &other), WICK_BUSY);
    assert_int_equal(run(w.s, &w.o[0]), WICK_BUSY);
    if (d == FAKE_FAR) assert_false(has_run(&w, RUNS - 2));
    assert_int_equal(wick_session_wait(w.s, w.tickets[2]), WICK_OK);
    for (int i = 0; i <= 2; i++) check_sum(&w.o[i]);
    if (d == FAKE_FAR) assert_false(has_run(&w, RUNS - 2));
    assert_int_equal(wick_session_wait(w.s, w.tickets[0]), WICK_OK);
    w.o[0].a[0] = 77; /* there is room for another one */
    assert_int_equal(submit(&w, 0), WICK_OK);
    for (int i = RUNS - 1; i >= 0; i--) {
      if (i == 2) continue;
      assert_int_equal(wick_session_wait(w.s, w.tickets[i]), WICK_OK);
      check_sum(&w.o[i]);
    }
    expect_run(w.s, &w.o[1]);
    close_world(&w);
  }
}

static void expect_no_ticket(world *w, uint64_t ticket) {
  char text[80];
  snprintf(text, sizeof text, "there is no run with ticket %llu", (unsigned long long)ticket);
  assert_int_equal(wick_session_wait(w->s, ticket), WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(w->s), text);
}

static void tickets_are_waited_for_once(void **state) {
  (void)state;
  world w;
  open_world(&w, FAKE_FAR);
  expect_no_ticket(&w, 0);
  expect_no_ticket(&w, 1);
  submit_all(&w);
  expect_no_ticket(&w, 0);
  expect_no_ticket(&w, w.tickets[RUNS - 1] + 1);
  assert_int_equal(wick_session_wait(w.s, w.tickets[1]), WICK_OK);
  assert_string_equal(wick_session_error(w.s), "");
  expect_no_ticket(&w, w.tickets[1]);
  assert_int_equal(wick_session_wait(NULL, w.tickets[0]), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_submit(w.s, NULL, NULL, &w.tickets[1]), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_submit(NULL, NULL, NULL, &w.tickets[1]), WICK_BAD_ARGUMENT);
  close_world(&w); /* the others are waited for */
  world far;
  open_world(&far, FAKE_FAR);
  submit_all(&far);
  wick_session_free(far.s);
  for (int i = 0; i < RUNS; i++) check_sum(&far.o[i]);
  far.s = NULL;
  close_world(&far);
}

/* Parts in a row share their edges: each run is carried out at once. */
static void other_runs_are_carried_out_at_once(void **state) {
  (void)state;
  world w;
  open_world(&w, FAKE_FAR);
  wick_session *s = session_of(&w.f, OCL_CHAIN);
  uint64_t tickets[RUNS];
  for (int i = 0; i < RUNS; i++) {
    const void *inputs[] = {w.o[i].a, w.o[i].b};
    void *outputs[] = {w.o[i].y, w.o[i].z};
    assert_int_equal(wick_session_submit(s, inputs, outputs, &tickets[i]), WICK_OK);
    check_chain(&w.o[i]);
  }
  assert_int_equal(run(s, &w.o[0]), WICK_BUSY);
  for (int i = RUNS - 1; i >= 0; i--)
    assert_int_equal(wick_session_wait(s, tickets[i]), WICK_OK);
  wick_session_free(s);
  close_world(&w);
}

/* What one run gives the next one takes, in memory of the host that nobody looks into; outputs of
 * two runs in one place are those of the later one. */
static void runs_read_what_others_wrote(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    world w;
    open_world(&w, d);
    for (int i = 1; i < 4; i++) w.o[i].a = w.o[i - 1].y;
    float *end = w.o[7].y;
    w.o[6].y = end;
    submit_all(&w);
    for (int i = 0; i < RUNS; i++)
      assert_int_equal(wick_session_wait(w.s, w.tickets[i]), WICK_OK);
    for (int i = 0; i < RUNS; i++)
      if (i != 6) check_sum(&w.o[i]);
    close_world(&w);
  }
}

/* Through memory of the driver's, or directly where it has none. */
static void outputs_with_gaps_are_left_alone(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    world w;
    open_world(&w, FAKE_FAR);
    wick_session *s = session_of(&w.f, OCL_HALF);
    if (k) {
      fake.fails = k == 1 ? FAKE_CreateBuffer : FAKE_EnqueueMapBuffer;
      fake.fails_at = fake.calls[fake.fails] + 1;
      fake.code = CL_OUT_OF_RESOURCES;
    }
    for (int i = 0; i < RUNS; i++) {
      const void *inputs[] = {w.o[i].a};
      void *outputs[] = {w.o[i].y};
      assert_int_equal(wick_session_submit(s, inputs, outputs, &w.tickets[i]), WICK_OK);
    }
    for (int i = 0; i < RUNS; i++) {
      assert_int_equal(wick_session_wait(s, w.tickets[i]), WICK_OK);
      check_half(&w.o[i]);
    }
    wick_session_free(s);
    close_world(&w);
  }
}

/* Memory of devices is copied by nobody, beside what is. */
static void memory_of_devices_is_used(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    world w;
    void *a;
    open_world(&w, d);
    assert_int_equal(submit(&w, 0), WICK_OK);
    assert_int_equal(wick_session_allocate(w.s, 0, &a), WICK_OK);
    assert_int_equal(wick_session_upload(w.s, a, w.o[1].a, OCL_BYTES), WICK_OK);
    const void *inputs[] = {a, w.o[1].b};
    void *outputs[] = {w.o[1].y};
    assert_int_equal(wick_session_submit(w.s, inputs, outputs, &w.tickets[1]), WICK_OK);
    for (int i = 1; i >= 0; i--) {
      assert_int_equal(wick_session_wait(w.s, w.tickets[i]), WICK_OK);
      check_sum(&w.o[i]);
    }
    close_world(&w);
  }
}

/* ---- failures -------------------------------------------------------------------------------- */

#define FAULT "sum (sum, step 0 of 2): an index is out of range"

/* Run 2 has a fault: what is before it is well, what is behind it is not. */
static void faults_are_of_their_run(void **state) {
  static ocl_plan plan;
  (void)state;
  fill_faulty(&plan);
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++)
    for (int k = 0; k < 2; k++) {
      world w;
      open_plan(&w, &plan, d);
      w.o[2].a[0] = 4;
      submit_all(&w);
      if (k) assert_int_equal(wick_session_wait(w.s, w.tickets[5]), WICK_RUN_FAILED);
      if (k) assert_string_equal(wick_session_error(w.s), "a run before this one failed: " FAULT);
      for (int i = 0; i < RUNS; i++) {
        if (k && i == 5) continue;
        wick_status status = wick_session_wait(w.s, w.tickets[i]);
        assert_int_equal(status, i < 2 ? WICK_OK : WICK_RUN_FAILED);
        assert_string_equal(wick_session_error(w.s),
                            i < 2 ? "" : i == 2 ? FAULT : "a run before this one failed: " FAULT);
      }
      w.o[2].a[0] = 5;
      submit_all(&w);
      for (int i = 0; i < RUNS; i++)
        assert_int_equal(wick_session_wait(w.s, w.tickets[i]), WICK_OK);
      close_world(&w);
    }
}

/* Any call fails, once or from then on: each run says so or has the right result. */
static void failures_are_told(void **state) {
  static const fake_function may_fail[] = {
      FAKE_EnqueueNDRangeKernel, FAKE_EnqueueReadBuffer, FAKE_EnqueueWriteBuffer,
      FAKE_EnqueueMarkerWithWaitList, FAKE_WaitForEvents, FAKE_Finish, FAKE_CreateBuffer,
      FAKE_EnqueueMapBuffer};
  (void)state;
  for (size_t i = 0; i < WICK_COUNTOF(may_fail); i++)
    for (uint32_t k = 1; k <= 10; k++)
      for (int stays = 0; stays < 2; stays++) {
        world w;
        bool is_told = false;
        open_world(&w, FAKE_FAR);
        fake.fails = may_fail[i];
        fake.fails_at = fake.calls[may_fail[i]] + k;
        fake.code = CL_OUT_OF_RESOURCES;
        fake.stays = stays;
        for (int r = 0; r < RUNS; r++) {
          w.tickets[r] = 0;
          if (submit(&w, r) != WICK_OK) {
            is_told = true;
            assert_non_null(strstr(wick_session_error(w.s), "CL_OUT_OF_RESOURCES"));
          }
        }
        for (int r = 0; r < RUNS; r++) {
          if (!w.tickets[r]) continue;
          wick_status status = wick_session_wait(w.s, w.tickets[r]);
          if (status == WICK_OK) {
            if (!stays) check_sum(&w.o[r]);
            continue;
          }
          is_told = true;
          assert_int_equal(status, WICK_DEVICE_FAILED);
          assert_non_null(strstr(wick_session_error(w.s), "CL_OUT_OF_RESOURCES"));
        }
        if (stays && fake.is_lost) assert_true(is_told);
        fake.is_lost = fake.stays = false;
        fake.fails_at = 0;
        expect_run(w.s, &w.o[0]);
        check_sum(&w.o[0]);
        fake.fails = FAKE_FUNCTIONS;
        close_world(&w);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_are_under_way),
      cmocka_unit_test(tickets_are_waited_for_once),
      cmocka_unit_test(other_runs_are_carried_out_at_once),
      cmocka_unit_test(runs_read_what_others_wrote),
      cmocka_unit_test(outputs_with_gaps_are_left_alone),
      cmocka_unit_test(memory_of_devices_is_used),
      cmocka_unit_test(faults_are_of_their_run),
      cmocka_unit_test(failures_are_told),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
