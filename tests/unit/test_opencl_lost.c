/* SPDX-License-Identifier: Apache-2.0
 * Devices that are lost, or have no memory any more, on the driver of opencl_fake.h: what is said,
 * then and later, and that everything can be freed. */
#include "runtime/internal.h"

#include "tests/unit/opencl_driver.h"

static const struct {
  cl_int code;
  wick_status status;
  const char *text;
} codes[] = {
    {CL_OUT_OF_RESOURCES, WICK_DEVICE_FAILED,
     "CL_OUT_OF_RESOURCES, the device has too little memory, or a kernel has failed"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, WICK_NO_MEMORY,
     "CL_MEM_OBJECT_ALLOCATION_FAILURE, the device has too little memory"},
    {CL_DEVICE_NOT_AVAILABLE, WICK_DEVICE_FAILED,
     "CL_DEVICE_NOT_AVAILABLE, the device is lost, or somebody has it alone"},
    {-9999, WICK_DEVICE_FAILED, "error -9999, a kernel has left its memory"},
    {CL_INVALID_COMMAND_QUEUE, WICK_DEVICE_FAILED, "CL_INVALID_COMMAND_QUEUE"},
};

static void expect(wick_status status, const char *text, size_t code, const char *function) {
  const char *found = strstr(text, codes[code].text);
  if (status != codes[code].status || !found || strchr(text, '\n') || strncmp(text, "cl", 2))
    fail_msg("%s: %s", wick_status_text(status), text);
  if (function && strncmp(text + 2, function, strlen(function)))
    fail_msg("cl%s: %s", function, text);
}

static void lose(fake_function f, uint32_t n, size_t code) {
  fake.fails = f;
  fake.fails_at = fake.calls[f] + n;
  fake.code = codes[code].code;
  fake.stays = true;
}

/* From any call of a run on: that run, the next ones and new sessions say so. */
static void runs_tell(void **state) {
  static const fake_function functions[] = {
      FAKE_EnqueueNDRangeKernel, FAKE_EnqueueReadBuffer, FAKE_EnqueueWriteBuffer,
      FAKE_EnqueueMapBuffer,     FAKE_EnqueueUnmapMemObject, FAKE_EnqueueFillBuffer,
      FAKE_CreateBuffer,         FAKE_SetKernelArg,      FAKE_Finish};
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++)
    for (size_t i = 0; i < WICK_COUNTOF(functions); i++)
      for (size_t code = 0; code < WICK_COUNTOF(codes); code++) {
        fixture f;
        wick_error_detail why = {{0}};
        const wick_session_options so = {sizeof so, 1, &why};
        load_plain_for(d, &f);
        wick_session *s = session_of(&f, OCL_CHAIN), *other = NULL;
        buffers o = make_buffers(0);
        lose(functions[i], 1, code);
        wick_status status = run(s, &o);
        if (!fake.is_lost) { /* runs do not call it */
          assert_int_equal(status, WICK_OK);
        } else {
          expect(status, wick_session_error(s), code, names[functions[i]]);
          for (int k = 0; k < 2; k++) {
            status = run(s, &o);
            expect(status, wick_session_error(s), code, NULL);
          }
          status = wick_session_create_with(f.model, OCL_SUM, &so, &other);
          expect(status, why.text, code, "CreateCommandQueue");
          assert_null(other);
        }
        wick_session_free(s);
        free(o.memory);
        unload_all(&f);
      }
}

/* What follows a failure says what came first, until the device works again. */
static void first_failures_are_kept(void **state) {
  (void)state;
  fixture f;
  load_plain_for(FAKE_FAR, &f);
  wick_session *s = session_of(&f, OCL_SUM);
  buffers o = make_buffers(0);
  lose(FAKE_Finish, 1, 3);
  assert_int_equal(run(s, &o), WICK_DEVICE_FAILED);
  assert_string_equal(wick_session_error(s), "clFinish: error -9999, a kernel has left its memory");
  fake.code = CL_INVALID_COMMAND_QUEUE;
  for (int k = 0; k < 2; k++) {
    assert_int_equal(run(s, &o), WICK_DEVICE_FAILED);
    assert_string_equal(wick_session_error(s), "clEnqueueWriteBuffer: CL_INVALID_COMMAND_QUEUE; "
                        "before that: clFinish: error -9999, a kernel has left its memory");
  }
  fake.is_lost = false;
  fake.fails_at = 0;
  expect_run(s, &o);
  check_sum(&o);
  lose(FAKE_EnqueueWriteBuffer, 1, 4);
  assert_int_equal(run(s, &o), WICK_DEVICE_FAILED);
  assert_string_equal(wick_session_error(s), "clEnqueueWriteBuffer: CL_INVALID_COMMAND_QUEUE");
  wick_session_free(s);
  free(o.memory);
  unload_all(&f);
}

/* While a package is loaded: from its program on, or while it is rehearsed. */
static void loads_tell(void **state) {
  static const fake_function functions[] = {
      FAKE_CreateContext, FAKE_CreateBuffer, FAKE_CreateProgramWithSource, FAKE_BuildProgram,
      FAKE_CreateKernel,  FAKE_EnqueueNDRangeKernel, FAKE_Finish};
  static ocl_plan plan;
  (void)state;
  ocl_fill(&plan);
  for (size_t i = 0; i < WICK_COUNTOF(functions); i++)
    for (size_t code = 0; code < WICK_COUNTOF(codes); code++) {
      fixture f;
      wick_session *s = NULL;
      wick_error_detail why = {{0}};
      const wick_session_options so = {sizeof so, 1, &why};
      fake_reset();
      lose(functions[i], 1, code);
      wick_status status = load(&plan, &f);
      bool is_rehearsed = functions[i] == FAKE_EnqueueNDRangeKernel || functions[i] == FAKE_Finish;
      if (!is_rehearsed) {
        expect(status, f.detail.text, code, names[functions[i]]);
      } else {
        assert_int_equal(status, WICK_OK);
        status = wick_session_create_with(f.model, OCL_SUM, &so, &s);
        expect(status, why.text, code, NULL);
      }
      unload_all(&f);
    }
}

/* The weights, or the arena, are too large for what is left. */
static void what_has_no_memory_is_named(void **state) {
  (void)state;
  fixture f;
  static ocl_plan plan;
  wick_session *s = NULL;
  wick_error_detail why = {{0}};
  const wick_session_options so = {sizeof so, 1, &why};
  ocl_fill(&plan);
  fake_reset();
  lose(FAKE_CreateBuffer, 1, 1);
  assert_int_equal(load(&plan, &f), WICK_NO_MEMORY);
  assert_string_equal(f.detail.text, "clCreateBuffer (weights): CL_MEM_OBJECT_ALLOCATION_FAILURE, "
                                     "the device has too little memory");
  unload_all(&f);
  load_plain_for(FAKE_FAR, &f);
  lose(FAKE_CreateBuffer, 1, 1);
  fake.stays = false;
  assert_int_equal(wick_session_create_with(f.model, OCL_SUM, &so, &s), WICK_NO_MEMORY);
  assert_string_equal(why.text, "clCreateBuffer (arena): CL_MEM_OBJECT_ALLOCATION_FAILURE, the "
                                "device has too little memory");
  s = session_of(&f, OCL_SUM); /* somebody has freed some */
  buffers o = make_buffers(0);
  expect_run(s, &o);
  check_sum(&o);
  wick_session_free(s);
  free(o.memory);
  unload_all(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_tell),
      cmocka_unit_test(first_failures_are_kept),
      cmocka_unit_test(loads_tell),
      cmocka_unit_test(what_has_no_memory_is_named),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
