/* SPDX-License-Identifier: Apache-2.0
 * Packages for OpenCL on the first device that there is, with a plan by hand. Where there is no
 * device all of it is skipped. */
#include <pthread.h>

#include "runtime/internal.h"
#include "runtime/opencl/unit.h"
#include "runtime/wick.h"
#include "tests/unit/opencl_entries.h"
#include "tests/unit/opencl_fixture.h"
#include "tests/unit/opencl_fork.h"

static wick_session *session_of(void **state, uint32_t entry) {
  wick_session *s;
  need_device(state);
  assert_int_equal(wick_session_create(((fixture *)*state)->model, entry, 1, &s), WICK_OK);
  return s;
}

/* ---- what parts compute ---------------------------------------------------------------------- */

/* In memory that the device may use, in other memory, and in new memory at each run. */
static void entries_compute(void **state) {
  for (uint32_t e = 0; e < OCL_ENTRIES; e++) {
    wick_session *s = session_of(state, e);
    for (int k = 0; k < 12; k++) {
      buffers o = make_buffers(k % 3 == 1 ? 8 : 0);
      o.a[0] = (float)k / 2 - 1;
      if (e == OCL_CHAIN && k < 6) o.a[0] = -20;
      for (int again = 0; again < 2; again++) {
        expect_run(s, &o);
        ocl_checks[e](&o);
        o.a[0] += 1;
      }
      free(o.memory);
    }
    wick_session_free(s);
  }
}

/* Constants are where the file is mapped, which nobody can write. */
static void packages_are_mapped(void **state) {
  const fixture *f = *state;
  char path[64];
  wick_model *m;
  wick_session *s;
  buffers o = make_buffers(0);
  need_device(state);
  snprintf(path, sizeof path, "%s/package", own_cache);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(f->data, 1, f->size, file), f->size);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(wick_model_load(path, NULL, &m), WICK_OK);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(wick_session_create(m, OCL_SUM, 1, &s), WICK_OK);
  expect_run(s, &o);
  check_sum(&o);
  wick_session_free(s);
  wick_model_free(m);
  free(o.memory);
}

/* ---- at once --------------------------------------------------------------------------------- */

typedef struct {
  const wick_model *model;
  uint32_t entry;
  bool is_wrong;
} worker;

static bool is_right_sum(const buffers *o) {
  for (int i = 0; i < OCL_N; i++)
    if (o->y[i] != sum_of(o, i)) return false;
  return true;
}

static void *work(void *user) {
  worker *w = user;
  wick_session *s;
  buffers o = make_buffers(0);
  if (wick_session_create(w->model, w->entry, 1, &s) != WICK_OK) return w->is_wrong = true, NULL;
  for (int k = 0; k < 50 && !w->is_wrong; k++) {
    o.a[0] = (float)k;
    w->is_wrong = run(s, &o) != WICK_OK || (w->entry == OCL_SUM && !is_right_sum(&o));
  }
  wick_session_free(s);
  free(o.memory);
  return NULL;
}

static void sessions_run_at_once(void **state) {
  enum { WORKERS = 4 };
  pthread_t threads[WORKERS];
  worker workers[WORKERS];
  need_device(state);
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){((fixture *)*state)->model, i % 3 ? OCL_SUM : OCL_UNTIL, false};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < WORKERS; i++) assert_false(workers[i].is_wrong);
}

/* ---- one behind the other -------------------------------------------------------------------- */

/* In memory that the device may use, and in other memory; waited for as soon as that is needed. */
static void runs_are_submitted(void **state) {
  enum { BUFFERS = 3, RUNS = 30 };
  wick_session *s = session_of(state, OCL_SUM);
  buffers o[BUFFERS];
  uint64_t tickets[BUFFERS] = {0};
  for (int i = 0; i < BUFFERS; i++) o[i] = make_buffers(i == 2 ? 8 : 0);
  for (int k = 0; k < RUNS + BUFFERS; k++) {
    int i = k % BUFFERS;
    const void *inputs[] = {o[i].a, o[i].b};
    void *outputs[] = {o[i].y};
    if (k >= BUFFERS) {
      assert_int_equal(wick_session_wait(s, tickets[i]), WICK_OK);
      check_sum(&o[i]);
    }
    o[i].a[0] = (float)k;
    if (k < RUNS) assert_int_equal(wick_session_submit(s, inputs, outputs, &tickets[i]), WICK_OK);
  }
  wick_session_free(s);
  for (int i = 0; i < BUFFERS; i++) free(o[i].memory);
}

/* ---- step by step ---------------------------------------------------------------------------- */

static void steps_are_profiled(void **state) {
  wick_session *s = session_of(state, OCL_CHAIN);
  buffers o = make_buffers(0);
  const void *inputs[] = {o.a, o.b};
  void *outputs[] = {o.y, o.z};
  wick_step_profile profile[4] = {{0}};
  assert_int_equal(wick_session_entry(s)->step_count, 4);
  for (int k = 0; k < 2; k++)
    assert_int_equal(wick_session_run_profiled(s, inputs, outputs, profile), WICK_OK);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(profile[i].calls, 2);
    assert_true(profile[i].nanoseconds > 0);
  }
  check_chain(&o);
  wick_session_free(s);
  free(o.memory);
}

typedef struct {
  wick_session *session;
  uint32_t steps;
  float tensors[4][OCL_N];
} watcher;

static void watch(void *user, uint32_t step, int after, void *arena) {
  watcher *w = user;
  const wick_step_info *info = &wick_session_entry(w->session)->steps[step];
  assert_null(arena);
  if (!after) return;
  size_t size = info->tensors[0].dtype == WICK_I64 ? 8
                : info->tensors[0].dims[0] == OCL_N ? OCL_BYTES : OCL_BYTES / 2;
  assert_int_equal(
      wick_session_read_tensor(w->session, step, 0, w->tensors[w->steps++], size), WICK_OK);
}

static void expect_watched(void **state, uint32_t entry, size_t shift, watcher *w, buffers *o) {
  *o = make_buffers(shift);
  *w = (watcher){.session = session_of(state, entry)};
  const void *inputs[] = {o->a, o->b};
  void *outputs[] = {o->y, o->z};
  assert_int_equal(wick_session_run_observed(w->session, inputs, outputs, watch, w), WICK_OK);
  ocl_checks[entry](o);
  wick_session_free(w->session);
}

static void tensors_of_steps_are_read(void **state) {
  watcher w;
  buffers o;
  for (size_t shift = 0; shift <= 8; shift += 8) {
    expect_watched(state, OCL_SUM, shift, &w, &o);
    assert_int_equal(w.steps, 2);
    for (int i = 0; i < OCL_N; i++) {
      check_value("t", i, w.tensors[0][i], o.a[i] + o.b[i]);
      check_value("y", i, w.tensors[1][i], sum_of(&o, i));
    }
    free(o.memory);
    expect_watched(state, OCL_UNTIL, shift, &w, &o);
    assert_int_equal(w.steps, 2);
    for (int i = 0; i < OCL_N; i++) check_value("x", i, w.tensors[0][i], o.a[i]);
    assert_memory_equal(w.tensors[1], o.z, 8);
    free(o.memory);
    expect_watched(state, OCL_HALF, shift, &w, &o);
    for (int i = 0; i < OCL_N / 2; i++) check_value("even", i, w.tensors[0][i], 2 * o.a[2 * i]);
    free(o.memory);
  }
}

/* ---- memory of the device -------------------------------------------------------------------- */

static float *memory_for(wick_session *s, uint32_t tensor) {
  void *address;
  wick_status status = wick_session_allocate(s, tensor, &address);
  if (status != WICK_OK) fail_msg("%s: %s", wick_status_text(status), wick_session_error(s));
  return address;
}

/* y = a + b + c on the device, then y = y + b + c, y copied by nobody in between. */
static void data_stays_on_the_device(void **state) {
  wick_session *s = session_of(state, OCL_SUM);
  buffers o = make_buffers(0), on = o;
  on.a = memory_for(s, 0);
  on.y = memory_for(s, 2);
  assert_int_equal(wick_session_upload(s, on.a, o.a, OCL_BYTES), WICK_OK);
  for (int k = 0; k < 3; k++) {
    expect_run(s, &on);
    assert_int_equal(wick_session_download(s, on.y, o.y, OCL_BYTES), WICK_OK);
    check_sum(&o);
    memcpy(o.a, o.y, OCL_BYTES);
    float *other = on.a;
    on.a = on.y;
    on.y = other;
  }
  expect_run(s, &o); /* and back to the host's */
  check_sum(&o);
  wick_session_free(s);
  free(o.memory);
}

static void observers_see_memory_of_devices(void **state) {
  buffers o = make_buffers(0);
  watcher w = {.session = session_of(state, OCL_SUM)};
  void *y = memory_for(w.session, 2);
  const void *inputs[] = {o.a, o.b};
  assert_int_equal(wick_session_run_observed(w.session, inputs, &y, watch, &w), WICK_OK);
  for (int i = 0; i < OCL_N; i++) check_value("y", i, w.tensors[1][i], sum_of(&o, i));
  wick_session_free(w.session);
  free(o.memory);
}

static void memory_of_devices_has_limits(void **state) {
  wick_session *s = session_of(state, OCL_HALF);
  buffers o = make_buffers(0);
  void *address;
  assert_int_equal(wick_session_allocate(s, 1, &address), WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(s), "output 0 (y) is not one device's alone");
  assert_int_equal(wick_session_allocate(s, 2, &address), WICK_BAD_ARGUMENT);
  wick_session_free(s);
  s = session_of(state, OCL_UNTIL);
  buffers on = o;
  on.y = memory_for(s, 2);
  assert_int_equal(run(s, &on), WICK_BAD_ARGUMENT);
  assert_string_equal(wick_session_error(s), "output 0 (y) cannot be in this device's memory");
  assert_int_equal(wick_session_upload(s, on.y, o.y, OCL_BYTES), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_download(s, o.y, o.y, 4), WICK_BAD_ARGUMENT);
  assert_int_equal(wick_session_upload(s, on.y, NULL, 8), WICK_BAD_ARGUMENT);
  wick_session_free(s);
  free(o.memory);
}

static void contexts_have_the_parts_that_are_asked_for(void **state) {
  const uint32_t parts[] = {1, UINT32_MAX};
  wick_error_detail why;
  void *context;
  need_device(state);
  void *unit = ((fixture *)*state)->model->units[0].loaded;
  assert_int_equal(wick_cl_open(unit, parts, 1, 1, &context, &why), WICK_OK);
  wick_cl_close(context);
}

/* ---- which device ---------------------------------------------------------------------------- */

static void expect_choice(ocl_plan *plan, const char *device, wick_status status,
                          const char *why) {
  fixture f;
  setenv("WICK_OPENCL_DEVICE", device, 1);
  assert_int_equal(load(plan, &f), status);
  if (!strstr(f.detail.text, why)) fail_msg("says '%s', not '%s'", f.detail.text, why);
  unload(&f);
  unsetenv("WICK_OPENCL_DEVICE");
}

static void devices_are_chosen(void **state) {
  static ocl_plan plan;
  const wick_opencl_info *list;
  uint32_t n;
  need_device(state);
  assert_int_equal(wick_opencl_list(&list, &n, NULL), WICK_OK);
  ocl_fill(&plan);
  expect_choice(&plan, "0", WICK_OK, "");
  expect_choice(&plan, "opencl:0", WICK_OK, "");
  expect_choice(&plan, list[n - 1].name, WICK_OK, "");
  expect_choice(&plan, "64", WICK_BAD_MACHINE, "WICK_OPENCL_DEVICE=64 is none of the OpenCL ");
  expect_choice(&plan, "a toaster", WICK_BAD_MACHINE, "WICK_OPENCL_DEVICE=a toaster is none");
  plan.spec = list[n - 1].name;
  expect_choice(&plan, "", WICK_OK, "");
  plan.needs.local_bytes = (uint64_t)1 << 40;
  expect_choice(&plan, "", WICK_BAD_MACHINE, "' lacks 1099511627776 bytes of local memory");
  expect_choice(&plan, "0", WICK_BAD_MACHINE, "' (WICK_OPENCL_DEVICE) lacks 1099511627776 bytes");
  ocl_fill(&plan);
  plan.needs.flags = WICK_CL_NEEDS_F16;
  if (!list[0].has_f16) expect_choice(&plan, "0", WICK_BAD_MACHINE, "lacks f16 (cl_khr_fp16)");
}

/* "alone": one session at a time, for devices that are no more than simulated. */
/* ---- processes that are forked --------------------------------------------------------------- */

static void forked_processes_are_told(void **state) {
  need_device(state);
  expect_fork_is_told(*state, NULL);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_compute),
      cmocka_unit_test(packages_are_mapped),
      cmocka_unit_test(runs_are_submitted),
      cmocka_unit_test(steps_are_profiled),
      cmocka_unit_test(tensors_of_steps_are_read),
      cmocka_unit_test(data_stays_on_the_device),
      cmocka_unit_test(observers_see_memory_of_devices),
      cmocka_unit_test(memory_of_devices_has_limits),
      cmocka_unit_test(contexts_have_the_parts_that_are_asked_for),
      cmocka_unit_test(devices_are_chosen),
      cmocka_unit_test(forked_processes_are_told),
  };
  const struct CMUnitTest together[] = {cmocka_unit_test(sessions_run_at_once)};
  bool is_alone = argc > 1 && !strcmp(argv[1], "alone");
  int failed = cmocka_run_group_tests(tests, load_plain, free_plain);
  return is_alone ? failed : failed + cmocka_run_group_tests(together, load_plain, free_plain);
}
