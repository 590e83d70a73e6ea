/* SPDX-License-Identifier: Apache-2.0
 * OpenCL packages on a driver that is as strict as it may be (opencl_fake.h), on devices that work
 * in the host's memory and on those that do not: results, what the driver is asked for and how
 * often, and any call of it that fails. */
#include "runtime/internal.h"

#include "tests/unit/opencl_driver.h"
#include "tests/unit/opencl_fork.h"

/* ---- results --------------------------------------------------------------------------------- */

static void entries_compute_on_all_devices(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_OTHER; d++) {
    fixture f;
    load_plain_for(d, &f);
    for (uint32_t e = 0; e < OCL_ENTRIES; e++) {
      wick_session *s = session_of(&f, e);
      for (int k = 0; k < 12; k++) {
        buffers o = make_buffers(k % 3 == 1 ? 8 : 0);
        o.a[0] = (float)k / 2 - 1;
        for (int again = 0; again < 2; again++, o.a[0] += 1) {
          memset(o.y, -1, OCL_BYTES);
          expect_run(s, &o);
          ocl_checks[e](&o);
        }
        free(o.memory);
      }
      wick_session_free(s);
    }
    unload_all(&f);
  }
}

/* What is no printable ASCII is a question mark; blanks around it are dropped. */
static void texts_are_plain(void **state) {
  (void)state;
  const wick_opencl_info *list;
  uint32_t n, found = 0;
  assert_int_equal(wick_opencl_list(&list, &n, NULL), WICK_OK);
  for (uint32_t i = 0; i < n; i++) {
    if (strcmp(list[i].name, "Apart")) continue;
    assert_string_equal(list[i].driver, "? !~ ??1?");
    found++;
  }
  assert_int_equal(found, 1);
}

/* Each kernel once with each size on a processor, a work-group of it elsewhere, and on memory that
 * has been cleared, however large it is. */
static void kernels_are_rehearsed(void **state) {
  static const char *const plain[] = {[FAKE_NEAR] = "0:64 1:64 2:64 3:64 4:32 ",
                                      [FAKE_FAR] = "0:16 1:16 2:16 3:16 4:16 "};
  static const char *const changed[] = {
      [FAKE_NEAR] = "0:64 0:48 1:64 2:64 3:64 1:16 4:32 ",
      [FAKE_FAR] = "0:16 1:16 2:16 3:16 4:16 "};
  static ocl_plan plan;
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    load_plain_for(d, &f);
    assert_string_equal(fake.launches, plain[d]);
    unload_all(&f);
    ocl_fill(&plan);
    plan.needs.arena_bytes = plan.needs.largest = 2 * 65536 + 1000;
    plan.launches[1].global[0] = 48;
    plan.launches[13].global[0] = 16;
    load_for(&plan, d, &f);
    assert_string_equal(fake.launches, changed[d]);
    unload_all(&f);
  }
}

/* Weights go to the device once, and a program is built once, however many sessions there are. */
static void sessions_share_the_unit(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    load_plain_for(d, &f);
    uint32_t copies = fake.calls[FAKE_EnqueueWriteBuffer] + fake.copies;
    assert_int_equal(fake.copies, d == FAKE_FAR);
    wick_session *s[4];
    for (int i = 0; i < 4; i++) s[i] = session_of(&f, i % 2 ? OCL_SUM : OCL_CHAIN);
    assert_int_equal(fake.calls[FAKE_CreateContext], 1);
    assert_int_equal(fake.calls[FAKE_CreateProgramWithSource], 1);
    assert_int_equal(fake.calls[FAKE_BuildProgram], 1);
    assert_int_equal(fake.calls[FAKE_EnqueueWriteBuffer] + fake.copies, copies);
    for (int i = 0; i < 4; i++) wick_session_free(s[i]);
    unload_all(&f);
  }
}

#define FAULT "sum (sum, step 0 of 2): an index is out of range"

/* A word that kernels set stays set until that has been told, once. */
static void faults_are_told(void **state) {
  static ocl_plan plan;
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    fill_faulty(&plan);
    load_for(&plan, d, &f);
    wick_session *s = session_of(&f, OCL_SUM);
    buffers o = make_buffers(0);
    for (int k = 0; k < 8; k++) {
      bool is_wrong = k % 4 == 1 || k % 4 == 2;
      o.a[0] = is_wrong ? 4 : 5;
      assert_int_equal(run(s, &o), is_wrong ? WICK_RUN_FAILED : WICK_OK);
      assert_string_equal(wick_session_error(s), is_wrong ? FAULT : "");
    }
    wick_session_free(s);
    free(o.memory);
    unload_all(&f);
  }
}

/* What the arena asks for, before anything is allocated on the device. */
static void arenas_are_limited(void **state) {
  static ocl_plan plan;
  void *data;
  size_t size;
  (void)state;
  setenv("WICK_OPENCL_DEVICE", "0", 1);
  ocl_fill(&plan);
  wk_package *p = ocl_package(&plan);
  assert_null(wk_package_bytes(p, &data, &size));
  wk_package_free(p);
  for (uint64_t limit = plan.needs.arena_bytes - 1; limit <= plan.needs.arena_bytes; limit++) {
    wick_error_detail why;
    wick_model *model;
    fake_reset();
    const wick_load_options o = {.size = sizeof o, .memory_limit = limit, .detail = &why};
    wick_status status = wick_model_load_memory(data, size, &o, &model);
    assert_int_equal(status, limit < plan.needs.arena_bytes ? WICK_NO_MEMORY : WICK_OK);
    if (status == WICK_OK) wick_model_free(model);
    else assert_string_equal(why.text, "the package asks for 4096 bytes of memory; 4095 are the "
                                       "most that there may be");
    if (status != WICK_OK) assert_int_equal(fake.calls[FAKE_CreateContext], 0);
  }
  free(data);
}

/* ---- how often the driver is asked ----------------------------------------------------------- */

static void far_devices_copy(void **state) {
  static const struct {
    const char *name;
    uint32_t entry;
    const char *calls;
  } cases[] = {
      {"sum", OCL_SUM, "EnqueueNDRangeKernel 2, EnqueueReadBuffer 1, EnqueueWriteBuffer 2, "
       "Flush 1, Finish 1"},
      {"until", OCL_UNTIL, "EnqueueNDRangeKernel 18, EnqueueReadBuffer 11, EnqueueWriteBuffer 1, "
       "EnqueueFillBuffer 8, Flush 1, Finish 1"},
      {"branch", OCL_BRANCH, "EnqueueNDRangeKernel 3, EnqueueReadBuffer 2, EnqueueWriteBuffer 1, "
       "Flush 1, Finish 1"},
      {"scan", OCL_SCAN, "SetKernelArg 6, EnqueueNDRangeKernel 6, EnqueueReadBuffer 1, "
       "EnqueueWriteBuffer 1, EnqueueFillBuffer 3, Flush 1, Finish 1"},
      {"half", OCL_HALF, "EnqueueNDRangeKernel 1, EnqueueReadBuffer 1, EnqueueWriteBuffer 1, "
       "Flush 1, Finish 1"},
  };
  (void)state;
  fixture f;
  load_plain_for(FAKE_FAR, &f);
  buffers o = make_buffers(0), odd = make_buffers(8);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wick_session *s = session_of(&f, cases[i].entry);
    expect_calls(cases[i].name, s, &o, cases[i].calls);
    expect_calls(cases[i].name, s, &odd, cases[i].calls);
    wick_session_free(s);
  }
  free(o.memory), free(odd.memory);
  unload_all(&f);
}

static void see(void *user, uint32_t step, int after, void *arena) {
  (void)user, (void)step, (void)after, (void)arena;
}

/* Steps that are seen begin when what is before them has ended. */
static void steps_that_are_watched_end_alone(void **state) {
  (void)state;
  fixture f;
  load_plain_for(FAKE_FAR, &f);
  wick_session *s = session_of(&f, OCL_SUM);
  buffers o = make_buffers(0);
  const void *inputs[] = {o.a, o.b};
  void *outputs[] = {o.y};
  uint32_t before[FAKE_FUNCTIONS];
  char calls[600];
  memcpy(before, fake.calls, sizeof before);
  assert_int_equal(wick_session_run_observed(s, inputs, outputs, see, NULL), WICK_OK);
  check_sum(&o);
  calls_since(before, calls, sizeof calls);
  assert_string_equal(calls, "EnqueueNDRangeKernel 2, EnqueueReadBuffer 1, EnqueueWriteBuffer 2, "
                             "Flush 1, Finish 4");
  wick_session_free(s);
  free(o.memory);
  unload_all(&f);
}

/* What moves with a loop lies within its buffer, though the arena goes on behind it. */
static void buffers_of_the_arena_have_ends(void **state) {
  static ocl_plan plan;
  static const struct {
    uint32_t entry, buffer;
    uint64_t bytes;
    const char *why;
  } cases[] = {{OCL_UNTIL, B_SMALL, 3, "launch 4 leaves its buffer in iteration 0"},
               {OCL_BRANCH, B_SMALL, 3, "launch 8 leaves its buffer in iteration 0"},
               {OCL_SCAN, B_I, 7, "launch 12 leaves its buffer in iteration 0"},
               {OCL_SCAN, B_I, 1, "launch 12 leaves its buffer in iteration 0"}};
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      fixture f;
      ocl_fill(&plan);
      plan.buffers[cases[i].buffer].bytes = cases[i].bytes;
      load_for(&plan, d, &f);
      wick_session *s = session_of(&f, cases[i].entry);
      buffers o = make_buffers(0);
      assert_int_equal(run(s, &o), WICK_RUN_FAILED);
      assert_string_equal(wick_session_error(s), cases[i].why);
      wick_session_free(s);
      free(o.memory);
      unload_all(&f);
    }
}

/* Buffers of the arena may share bytes, in part or all of them. */
static void buffers_of_the_arena_may_overlap(void **state) {
  static ocl_plan plan;
  static const uint64_t offsets[] = {0, 64, 1024, 3072 - 64};
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++)
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
      fixture f;
      ocl_fill(&plan);
      plan.needs.base_align = 64;
      plan.buffers[B_T].offset = 1024;
      plan.buffers[B_SMALL].offset = offsets[i];
      plan.buffers[B_SMALL].bytes = 1024;
      plan.buffers[B_I].offset = offsets[i] + 64;
      load_for(&plan, d, &f);
      wick_session *s[OCL_ENTRIES];
      for (uint32_t e = 0; e < OCL_ENTRIES; e++) s[e] = session_of(&f, e);
      buffers o = make_buffers(0);
      for (int k = 0; k < 3; k++)
        for (uint32_t e = 0; e < OCL_ENTRIES; e++) {
          o.a[0] = (float)(2 * k);
          expect_run(s[e], &o);
          ocl_checks[e](&o);
        }
      for (uint32_t e = 0; e < OCL_ENTRIES; e++) wick_session_free(s[e]);
      free(o.memory);
      unload_all(&f);
    }
}

/* ---- memory of devices ----------------------------------------------------------------------- */

/* ---- processes that are forked --------------------------------------------------------------- */

static uint32_t calls_of_the_parent[FAKE_FUNCTIONS];

static const char *nothing_is_called(void) {
  return memcmp(calls_of_the_parent, fake.calls, sizeof fake.calls) ? "the driver is called" : NULL;
}

/* Calls that the parent makes before it forks: those of the second time are the same. */
static void drivers_are_left_alone_after_fork(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    load_plain_for(d, &f);
    buffers o = make_buffers(0);
    wick_session *s = session_of(&f, OCL_SUM);
    void *memory;
    assert_int_equal(wick_session_allocate(s, 0, &memory), WICK_OK);
    expect_run(s, &o);
    uint32_t calls[FAKE_FUNCTIONS];
    memcpy(calls_of_the_parent, fake.calls, sizeof calls);
    wick_session_free(s);
    free(o.memory);
    unload_all(&f);
    load_plain_for(d, &f);
    expect_fork_is_told(&f, nothing_is_called);
    unload_all(&f);
  }
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* The first thing that went wrong. */
typedef struct {
  wick_session *session;
  wick_status status;
  wick_error_detail why;
} outcome;

static bool note(outcome *x, wick_status status) {
  if (status != WICK_OK && x->status == WICK_OK) {
    x->status = status;
    snprintf(x->why.text, sizeof x->why.text, "%s", wick_session_error(x->session));
  }
  return status == WICK_OK;
}

static void watch(void *user, uint32_t step, int after, void *arena) {
  outcome *x = user;
  char data[OCL_ROWS * OCL_BYTES];
  (void)arena;
  if (!after) return;
  const wick_tensor_info *t = &wick_session_entry(x->session)->steps[step].tensors[0];
  note(x, wick_session_read_tensor(x->session, step, 0, data, wick_tensor_dense_bytes(t)));
}

static void run_plainly(outcome *x, uint32_t entry, buffers *o, float first) {
  o->a[0] = first;
  memset(o->y, -1, OCL_BYTES);
  if (note(x, run(x->session, o))) ocl_checks[entry](o);
}

static void run_on_the_device(outcome *x, uint32_t entry, buffers *o) {
  buffers on = *o;
  uint32_t output = wick_session_entry(x->session)->input_count;
  size_t size = wick_session_entry(x->session)->outputs[0].bytes;
  void *a, *y;
  if (entry == OCL_HALF || !note(x, wick_session_allocate(x->session, 0, &a)) ||
      !note(x, wick_session_allocate(x->session, output, &y)))
    return;
  on.a = a, on.y = y;
  if (note(x, wick_session_upload(x->session, a, o->a, OCL_BYTES)) &&
      note(x, run(x->session, &on)) && note(x, wick_session_download(x->session, y, o->y, size)))
    ocl_checks[entry](o);
}

/* And then all is well again, until the session goes; nobody counts that. */
static void end_undisturbed(const outcome *x, uint32_t entry, const buffers *o) {
  uint32_t calls[FAKE_FUNCTIONS], at = fake.fails_at;
  memcpy(calls, fake.calls, sizeof calls);
  fake.fails_at = 0;
  expect_run(x->session, o);
  ocl_checks[entry](o);
  wick_session_free(x->session);
  memcpy(fake.calls, calls, sizeof calls);
  fake.fails_at = at;
}

static void use(const wick_model *m, uint32_t entry, outcome *x) {
  *x = (outcome){0};
  const wick_session_options so = {sizeof so, 1, &x->why};
  x->status = wick_session_create_with(m, entry, &so, &x->session);
  if (x->status != WICK_OK) return;
  buffers o = make_buffers(0), odd = make_buffers(8);
  const void *inputs[] = {o.a, o.b};
  void *outputs[] = {o.y, o.z};
  run_plainly(x, entry, &o, 2);
  run_plainly(x, entry, &o, 7);
  run_plainly(x, entry, &odd, 3);
  run_on_the_device(x, entry, &odd);
  if (note(x, wick_session_run_observed(x->session, inputs, outputs, watch, x)))
    ocl_checks[entry](&o);
  end_undisturbed(x, entry, &o);
  free(o.memory), free(odd.memory);
}

static const fake_function may_fail[] = {
    FAKE_CreateContext,      FAKE_CreateProgramWithSource, FAKE_BuildProgram,
    FAKE_CreateCommandQueue, FAKE_CreateBuffer,            FAKE_CreateKernel,
    FAKE_SetKernelArg,       FAKE_EnqueueNDRangeKernel,    FAKE_EnqueueReadBuffer,
    FAKE_EnqueueWriteBuffer, FAKE_EnqueueFillBuffer,       FAKE_EnqueueMapBuffer,
    FAKE_EnqueueUnmapMemObject, FAKE_Finish};

static void expect_told(const outcome *x, fake_function f, uint32_t n, cl_int code) {
  size_t size = strlen(names[f]);
  const char *why = x->why.text, *called = code == CL_INVALID_VALUE ? ": CL_INVALID_VALUE"
                                                                    : ": CL_OUT_OF_HOST_MEMORY";
  wick_status wanted = code == CL_INVALID_VALUE ? WICK_DEVICE_FAILED : WICK_NO_MEMORY;
  if (x->status != wanted || strncmp(why, "cl", 2) || strncmp(why + 2, names[f], size) ||
      !strstr(why, called))
    fail_msg("cl%s, call %u: %s: %s", names[f], n, wick_status_text(x->status), why);
}

/* Every call that a session makes fails once: that is told, nobody writes to memory afterwards, the
 * session works again, and nothing is left when it goes. */
static void failures_of_sessions_are_told(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    outcome x;
    load_plain_for(d, &f);
    int live = fake.live;
    for (uint32_t e = 0; e < OCL_ENTRIES; e++) {
      uint32_t before[FAKE_FUNCTIONS], n[FAKE_FUNCTIONS];
      memcpy(before, fake.calls, sizeof before);
      use(f.model, e, &x);
      assert_int_equal(x.status, WICK_OK);
      for (int i = 0; i < FAKE_FUNCTIONS; i++) n[i] = fake.calls[i] - before[i];
      for (size_t i = 0; i < sizeof may_fail / sizeof *may_fail; i++)
        for (uint32_t k = 1; k <= n[may_fail[i]]; k++) {
          fake.fails = may_fail[i];
          fake.fails_at = fake.calls[may_fail[i]] + k;
          fake.code = k % 2 ? CL_INVALID_VALUE : CL_OUT_OF_HOST_MEMORY;
          use(f.model, e, &x);
          expect_told(&x, fake.fails, k, fake.code);
          assert_int_equal(fake.live, live);
        }
    }
    unload_all(&f);
  }
}

/* A session that is told of a fault, unless a call fails; one more run ends what is left of it.
 * calls: those until it is told. */
static void meet_fault(const wick_model *m, outcome *x, uint32_t *calls) {
  *x = (outcome){0};
  const wick_session_options so = {sizeof so, 1, &x->why};
  x->status = wick_session_create_with(m, OCL_SUM, &so, &x->session);
  if (x->status != WICK_OK) return;
  buffers o = make_buffers(0);
  o.a[0] = 4;
  note(x, run(x->session, &o));
  memcpy(calls, fake.calls, sizeof fake.calls);
  o.a[0] = 5;
  uint32_t at = fake.fails_at;
  fake.fails_at = 0;
  wick_status status = run(x->session, &o);
  assert_true(status == WICK_OK || status == WICK_RUN_FAILED);
  assert_int_equal(run(x->session, &o), WICK_OK);
  wick_session_free(x->session);
  fake.fails_at = at;
  free(o.memory);
}

static void failures_about_faults_are_told(void **state) {
  static ocl_plan plan;
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    outcome x;
    fill_faulty(&plan);
    load_for(&plan, d, &f);
    int live = fake.live;
    uint32_t before[FAKE_FUNCTIONS], n[FAKE_FUNCTIONS], calls[FAKE_FUNCTIONS];
    memcpy(before, fake.calls, sizeof before);
    meet_fault(f.model, &x, n);
    assert_int_equal(x.status, WICK_RUN_FAILED);
    assert_string_equal(x.why.text, FAULT);
    for (size_t i = 0; i < sizeof may_fail / sizeof *may_fail; i++)
      for (uint32_t k = 1; k <= n[may_fail[i]] - before[may_fail[i]]; k++) {
        fake.fails = may_fail[i];
        fake.fails_at = fake.calls[may_fail[i]] + k;
        fake.code = k % 2 ? CL_INVALID_VALUE : CL_OUT_OF_HOST_MEMORY;
        meet_fault(f.model, &x, calls);
        expect_told(&x, fake.fails, k, fake.code);
        assert_int_equal(fake.live, live);
      }
    fake_reset();
    unload(&f);
  }
}

/* The same of loading. What is rehearsed may fail: then it is done when it is needed. */
static void failures_of_loading_are_told(void **state) {
  static const char *const wanted[] = {
      [FAKE_NEAR] = "CreateContext 1/1, CreateProgramWithSource 1/1, BuildProgram 1/1, "
                    "CreateCommandQueue 0/3, CreateBuffer 1/12, "
                    "CreateKernel 5/12, SetKernelArg 0/42, EnqueueNDRangeKernel 0/5, "
                    "EnqueueWriteBuffer 0/3, Finish 0/6",
      [FAKE_FAR] = "CreateContext 1/1, CreateProgramWithSource 1/1, BuildProgram 1/1, "
                   "CreateCommandQueue 0/3, CreateBuffer 1/12, "
                   "CreateKernel 5/12, SetKernelArg 0/32, EnqueueNDRangeKernel 0/5, "
                   "EnqueueFillBuffer 0/11, Finish 0/6"};
  static ocl_plan plan;
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    outcome x;
    char told[600] = "";
    load_plain_for(d, &f);
    uint32_t n[FAKE_FUNCTIONS];
    memcpy(n, fake.calls, sizeof n);
    unload_all(&f);
    ocl_fill(&plan);
    for (size_t i = 0; i < sizeof may_fail / sizeof *may_fail; i++) {
      uint32_t count = 0, calls = n[may_fail[i]];
      for (uint32_t k = 1; k <= calls; k++) {
        fake_reset();
        fake.fails = may_fail[i];
        fake.fails_at = k;
        fake.code = k % 2 ? CL_INVALID_VALUE : CL_OUT_OF_HOST_MEMORY;
        x = (outcome){.status = load(&plan, &f)};
        x.why = f.detail;
        if (x.status != WICK_OK) expect_told(&x, fake.fails, k, fake.code);
        else use(f.model, OCL_CHAIN, &x);
        count += f.model == NULL;
        unload_all(&f);
      }
      if (calls)
        snprintf(told + strlen(told), sizeof told - strlen(told), "%s%s %u/%u", *told ? ", " : "",
                 names[may_fail[i]], count, calls);
    }
    if (strcmp(told, wanted[d])) fail_msg("device %d: %s", d, told);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_compute_on_all_devices),
      cmocka_unit_test(texts_are_plain),
      cmocka_unit_test(kernels_are_rehearsed),
      cmocka_unit_test(sessions_share_the_unit),
      cmocka_unit_test(faults_are_told),
      cmocka_unit_test(arenas_are_limited),
      cmocka_unit_test(far_devices_copy),
      cmocka_unit_test(steps_that_are_watched_end_alone),
      cmocka_unit_test(buffers_of_the_arena_have_ends),
      cmocka_unit_test(buffers_of_the_arena_may_overlap),
      cmocka_unit_test(drivers_are_left_alone_after_fork),
      cmocka_unit_test(failures_of_sessions_are_told),
      cmocka_unit_test(failures_about_faults_are_told),
      cmocka_unit_test(failures_of_loading_are_told),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
