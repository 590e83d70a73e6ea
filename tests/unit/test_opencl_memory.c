/* SPDX-License-Identifier: Apache-2.0
 * Inputs and outputs of OpenCL parts on the driver of opencl_fake.h: buffers around the host's
 * memory, and memory on devices. */
#include <sys/mman.h>

#include "runtime/internal.h"
#include "runtime/session.h"

#include "tests/unit/opencl_driver.h"

/* ---- the host's memory ----------------------------------------------------------------------- */

/* Buffers around the host's memory are kept as long as the addresses are the same, and where it is
 * odd those for copies are. */
static void buffers_are_kept(void **state) {
  (void)state;
  fixture f;
  load_plain_for(FAKE_NEAR, &f);
  wick_session *s = session_of(&f, OCL_SUM);
  buffers o = make_buffers(0), other = make_buffers(0), odd = make_buffers(8), mixed = o;
  const char *same = "EnqueueNDRangeKernel 2, EnqueueMapBuffer 3, EnqueueUnmapMemObject 3, "
                     "Flush 1, Finish 1";
  expect_calls("first", s, &o, "CreateBuffer 3, SetKernelArg 3, EnqueueNDRangeKernel 2, "
               "EnqueueMapBuffer 3, EnqueueUnmapMemObject 3, Flush 1, Finish 1");
  expect_calls("again", s, &o, same);
  mixed.y = other.y;
  expect_calls("another output", s, &mixed, "CreateBuffer 1, ReleaseMemObject 1, SetKernelArg 3, "
               "EnqueueNDRangeKernel 2, EnqueueMapBuffer 3, EnqueueUnmapMemObject 3, Flush 1, "
               "Finish 1");
  mixed.b = odd.b;
  expect_calls("an odd input", s, &mixed, "CreateBuffer 1, SetKernelArg 3, EnqueueNDRangeKernel 2, "
               "EnqueueWriteBuffer 1, EnqueueMapBuffer 2, EnqueueUnmapMemObject 2, Flush 1, "
               "Finish 1");
  mixed.b = o.b;
  expect_calls("not odd", s, &mixed, "SetKernelArg 3, EnqueueNDRangeKernel 2, "
               "EnqueueMapBuffer 3, EnqueueUnmapMemObject 3, Flush 1, Finish 1");
  expect_calls("all odd", s, &odd, "CreateBuffer 2, SetKernelArg 3, EnqueueNDRangeKernel 2, "
               "EnqueueReadBuffer 1, EnqueueWriteBuffer 2, Flush 1, Finish 1");
  expect_calls("still odd", s, &odd, "EnqueueNDRangeKernel 2, EnqueueReadBuffer 1, "
               "EnqueueWriteBuffer 2, Flush 1, Finish 1");
  wick_session_free(s);
  free(o.memory), free(other.memory), free(odd.memory);
  unload_all(&f);
}

/* No two buffers are around the same bytes of the host's (the driver would fail the test): slots
 * share one, and where pieces of it are meant that cannot be, data is copied. */
static void memory_is_wrapped_once(void **state) {
  (void)state;
  fixture f;
  load_plain_for(FAKE_NEAR, &f);
  wick_session *s = session_of(&f, OCL_SUM), *beside = session_of(&f, OCL_SUM);
  buffers o = make_buffers(0), twice = o, pieces = o, imported = make_buffers(0);
  memset(o.a + OCL_N, 0, 16 * sizeof *o.a);
  twice.b = o.a;
  expect_calls("one input twice", s, &twice, "CreateBuffer 2, SetKernelArg 3, "
               "EnqueueNDRangeKernel 2, EnqueueMapBuffer 3, EnqueueUnmapMemObject 3, Flush 1, "
               "Finish 1");
  check_sum(&twice);
  pieces.b = o.a + 16;
  expect_calls("inputs that overlap", s, &pieces, "CreateBuffer 1, SetKernelArg 3, "
               "EnqueueNDRangeKernel 2, EnqueueWriteBuffer 1, EnqueueMapBuffer 2, "
               "EnqueueUnmapMemObject 2, Flush 1, Finish 1");
  check_sum(&pieces);
  expect_calls("memory of another session", beside, &o, "CreateBuffer 3, SetKernelArg 3, "
               "EnqueueNDRangeKernel 2, EnqueueReadBuffer 1, EnqueueWriteBuffer 1, "
               "EnqueueMapBuffer 1, EnqueueUnmapMemObject 1, Flush 1, Finish 1");
  check_sum(&o);
  wick_session_free(s);
  expect_calls("it is gone", beside, &o, "CreateBuffer 2, SetKernelArg 3, "
               "EnqueueNDRangeKernel 2, EnqueueMapBuffer 3, EnqueueUnmapMemObject 3, Flush 1, "
               "Finish 1");
  check_sum(&o);
  assert_int_equal(wick_session_import(beside, imported.memory, 3 * OCL_ROWS * OCL_BYTES), WICK_OK);
  expect_calls("imported", beside, &imported, "SetKernelArg 6, EnqueueNDRangeKernel 2, "
               "EnqueueMapBuffer 3, EnqueueUnmapMemObject 3, Flush 1, Finish 1");
  check_sum(&imported);
  wick_session_free(beside);
  free(o.memory), free(imported.memory);
  unload_all(&f);
}

/* What one part writes another one reads; outputs become inputs, and inputs outputs. */
static void memory_changes_hands(void **state) {
  (void)state;
  fixture f;
  load_plain_for(FAKE_NEAR, &f);
  wick_session *s = session_of(&f, OCL_CHAIN);
  buffers o = make_buffers(0), other = make_buffers(0);
  expect_calls("an edge", s, &o, "CreateBuffer 4, SetKernelArg 8, EnqueueNDRangeKernel 20, "
               "EnqueueReadBuffer 9, EnqueueFillBuffer 8, EnqueueMapBuffer 6, "
               "EnqueueUnmapMemObject 6, EnqueueMarkerWithWaitList 1, ReleaseEvent 1, Flush 2, "
               "Finish 1");
  check_chain(&o);
  for (int k = 0; k < 6; k++) {
    float *a = o.a;
    o.a = o.y, o.y = k == 3 ? other.y : a;
    expect_run(s, &o);
    check_chain(&o);
  }
  wick_session_free(s);
  free(o.memory), free(other.memory);
  unload_all(&f);
}

/* ---- memory of devices ----------------------------------------------------------------------- */

static bool is_mapped(void *page) { return msync(page, 1, MS_ASYNC) == 0; }

/* A place that nobody can read; of a device near by it is the host's. */
static void memory_of_devices_is_theirs(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    load_plain_for(d, &f);
    wick_session *s = session_of(&f, OCL_SUM);
    buffers o = make_buffers(0), on = o;
    void *a, *b, *y;
    int ends[2];
    assert_int_equal(wick_session_allocate(s, 0, &a), WICK_OK);
    assert_int_equal(wick_session_allocate(s, 1, &b), WICK_OK);
    assert_int_equal(wick_session_allocate(s, 2, &y), WICK_OK);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], y, 1), d == FAKE_NEAR ? 1 : -1);
    close(ends[0]), close(ends[1]);
    on.a = a, on.b = b, on.y = y;
    assert_int_equal(wick_session_upload(s, a, o.a, OCL_BYTES), WICK_OK);
    assert_int_equal(wick_session_upload(s, b, o.b, OCL_BYTES), WICK_OK);
    if (d == FAKE_FAR)
      expect_calls("theirs", s, &on, "SetKernelArg 3, EnqueueNDRangeKernel 2, Flush 1, Finish 1");
    expect_run(s, &on);
    if (d == FAKE_FAR)
      expect_calls("again", s, &on, "EnqueueNDRangeKernel 2, Flush 1, Finish 1");
    assert_int_equal(wick_session_download(s, y, o.y, OCL_BYTES), WICK_OK);
    check_sum(&o);
    on.a = y; /* and once more, on what it gave */
    on.y = a;
    expect_run(s, &on);
    memcpy(o.a, o.y, OCL_BYTES);
    assert_int_equal(wick_session_download(s, a, o.y, OCL_BYTES), WICK_OK);
    check_sum(&o);
    bool was = is_mapped(b);
    wick_session_free(s);
    assert_true(was && (d == FAKE_NEAR || !is_mapped(b)));
    free(o.memory);
    unload_all(&f);
  }
}

/* Memory of less bytes than a tensor has is no place for it, whichever it is. */
static void memory_is_large_enough(void **state) {
  (void)state;
  for (int d = FAKE_NEAR; d <= FAKE_FAR; d++) {
    fixture f;
    void *small;
    load_plain_for(d, &f);
    wick_session *s = session_of(&f, OCL_SUM);
    buffers o = make_buffers(0);
    assert_int_equal(wick_session_allocate(s, 2, &small), WICK_OK);
    s->memories->size = OCL_BYTES - 1;
    static const char *const why[] = {"input 0 (x) cannot be in this device's memory",
                                      "input 1 (x) cannot be in this device's memory",
                                      "output 0 (y) cannot be in this device's memory"};
    for (int k = 0; k < 3; k++) {
      buffers on = o;
      *(k == 0 ? &on.a : k == 1 ? &on.b : &on.y) = small;
      assert_int_equal(run(s, &on), WICK_BAD_ARGUMENT);
      assert_string_equal(wick_session_error(s), why[k]);
    }
    s->memories->size = OCL_BYTES;
    expect_run(s, &o);
    wick_session_free(s);
    free(o.memory);
    unload_all(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_are_kept),
      cmocka_unit_test(memory_is_wrapped_once),
      cmocka_unit_test(memory_changes_hands),
      cmocka_unit_test(memory_of_devices_is_theirs),
      cmocka_unit_test(memory_is_large_enough),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
