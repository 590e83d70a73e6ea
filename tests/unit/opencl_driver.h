/* SPDX-License-Identifier: Apache-2.0
 * What the tests on the driver of opencl_fake.h share: packages for each of its devices, and how
 * often it is asked. */
#ifndef WICK_TESTS_OPENCL_DRIVER_H
#define WICK_TESTS_OPENCL_DRIVER_H

#include "tests/unit/opencl_entries.h"
#include "tests/unit/opencl_fake_program.h"
#include "tests/unit/opencl_fixture.h"

static inline int begin(void **state) {
  (void)state;
  fake_reset();
  setenv("WICK_OPENCL", "fake", 1);
  make_cache();
  setenv("WICK_OPENCL_CACHE", "no", 1);
  return 0;
}

static inline int end(void **state) {
  (void)state;
  remove_cache();
  return 0;
}

static inline void load_for(const ocl_plan *plan, int device, fixture *f) {
  char number[16];
  snprintf(number, sizeof number, "%d", device);
  setenv("WICK_OPENCL_DEVICE", number, 1);
  fake_reset();
  fake.looks_for_junk = true;
  expect_load(plan, f);
  fake.looks_for_junk = false;
}

static inline void load_plain_for(int device, fixture *f) {
  static ocl_plan plan;
  ocl_fill(&plan);
  load_for(&plan, device, f);
}

/* The model goes, and with it all that the driver was asked for. */
static inline void unload_all(fixture *f) {
  unload(f);
  assert_int_equal(fake.live, 0);
}

static inline wick_session *session_of(const fixture *f, uint32_t entry) {
  wick_session *s;
  assert_int_equal(wick_session_create(f->model, entry, 1, &s), WICK_OK);
  return s;
}

/* ---- how often the driver is asked ----------------------------------------------------------- */

static const char *const names[FAKE_FUNCTIONS] = {
#define WICK_X(name) #name,
    WICK_CL_FUNCTIONS(WICK_X)
#undef WICK_X
};

/* What has been called since then: "CreateBuffer 1, Flush 1". */
static inline void calls_since(const uint32_t *before, char *out, size_t size) {
  *out = '\0';
  for (int i = 0; i < FAKE_FUNCTIONS; i++)
    if (fake.calls[i] != before[i])
      snprintf(out + strlen(out), size - strlen(out), "%s%s %u", *out ? ", " : "", names[i],
               fake.calls[i] - before[i]);
}

static inline void expect_calls(const char *what, wick_session *s, const buffers *o,
                                const char *wanted) {
  uint32_t before[FAKE_FUNCTIONS];
  char calls[600];
  memcpy(before, fake.calls, sizeof before);
  expect_run(s, o);
  calls_since(before, calls, sizeof calls);
  if (strcmp(calls, wanted)) fail_msg("%s: %s\nnot: %s", what, calls, wanted);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* The kernel of the first launch sets a word where it is given a 4. */
static inline void fill_faulty(ocl_plan *plan) {
  ocl_fill(plan);
  plan->needs.kernel_count = 6;
  strcat(plan->source, "__kernel void k5() {}\n");
  plan->buffers[B_T] = (wick_cl_buffer){WICK_CL_FAULT, 0, 0, WICK_CL_FAULT_BYTES};
  plan->launches[0].kernel = 5;
  plan->launches[0].arg_count = 2;
  plan->args[1].buffer = B_T;
  plan->args[3].buffer = B_A;
}

#endif
