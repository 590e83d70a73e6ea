/* SPDX-License-Identifier: Apache-2.0
 * Packages for OpenCL on the first device that there is, with a plan by hand. Where there is no
 * device all of it is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/opencl/devices.h"
#include "runtime/wick.h"
#include "tests/unit/opencl_package.h"

typedef struct {
  void *data;
  size_t size;
  wick_model *model;
  wick_error_detail detail;
} fixture;

static wick_status load(const ocl_plan *plan, fixture *f) {
  wk_package *p = ocl_package(plan);
  f->model = NULL;
  assert_null(wk_package_bytes(p, &f->data, &f->size));
  wk_package_free(p);
  return wick_model_load_memory(f->data, f->size, &(wick_load_options){0, &f->detail}, &f->model);
}

static void unload(fixture *f) {
  wick_model_free(f->model);
  free(f->data);
}

static void expect_load(const ocl_plan *plan, fixture *f) {
  wick_status status = load(plan, f);
  if (status != WICK_OK) fail_msg("%s: %s", wick_status_text(status), f->detail.text);
}

static int load_plain(void **state) {
  fixture *f = calloc(1, sizeof *f);
  static ocl_plan plan;
  const wick_opencl_info *list;
  uint32_t n;
  *state = f;
  if (wick_opencl_list(&list, &n, &f->detail) != WICK_OK) return 0;
  ocl_fill(&plan);
  expect_load(&plan, f);
  return 0;
}

static int free_plain(void **state) {
  fixture *f = *state;
  unload(f);
  free(f);
  return 0;
}

static void need_device(void **state) {
  const fixture *f = *state;
  if (f->model) return;
  print_message("skipped: %s\n", f->detail.text);
  skip();
}

static wick_session *session_of(void **state, uint32_t entry) {
  wick_session *s;
  need_device(state);
  assert_int_equal(wick_session_create(((fixture *)*state)->model, entry, 1, &s), WICK_OK);
  return s;
}

/* ---- what parts compute ---------------------------------------------------------------------- */

/* Memory for all entries. At `shift` bytes behind a multiple of 64 it is shared with the device, or
 * not. */
typedef struct {
  uint8_t *memory;
  float *a, *b, *y;
  int64_t *z;
} buffers;

static buffers make_buffers(size_t shift) {
  enum { PIECE = OCL_ROWS * OCL_BYTES + 64 };
  uint8_t *m = aligned_alloc(64, 4 * PIECE);
  buffers o = {m, (float *)(m + shift), (float *)(m + PIECE + shift),
               (float *)(m + 2 * PIECE + shift), (int64_t *)(m + 3 * PIECE + shift)};
  for (int i = 0; i < OCL_N; i++) o.a[i] = (float)i - 3, o.b[i] = (float)(i % 5);
  return o;
}

static wick_status run(wick_session *s, const buffers *o) {
  const void *inputs[] = {o->a, o->b};
  void *outputs[] = {o->y, o->z};
  return wick_session_run(s, inputs, outputs);
}

static void expect_run(wick_session *s, const buffers *o) {
  wick_status status = run(s, o);
  if (status != WICK_OK) fail_msg("%s: %s", wick_status_text(status), wick_session_error(s));
}

static void check_value(const char *what, int i, float is, float wanted) {
  if (is != wanted) fail_msg("%s: [%d] is %g, not %g", what, i, (double)is, (double)wanted);
}

static float sum_of(const buffers *o, int i) {
  return o->a[i] + o->b[i] + (i < 24 ? (float)i : 0);
}

static void check_sum(const buffers *o) {
  for (int i = 0; i < OCL_N; i++) check_value("sum", i, o->y[i], sum_of(o, i));
}

static void check_until(const buffers *o) {
  int64_t times = o->a[0] < 5 ? (int64_t)(5 - o->a[0] + 0.999f) : 0;
  for (int i = 0; i < OCL_N; i++) check_value("until", i, o->y[i], o->a[i] + (float)times);
  if (times) assert_int_equal(*o->z, times - 1);
}

static void check_branch(const buffers *o) {
  for (int i = 0; i < OCL_N; i++)
    check_value("branch", i, o->y[i], o->a[0] < 5 ? o->a[i] + 1 : 2 * o->a[i]);
}

static void check_scan(const buffers *o) {
  for (int k = 0; k < OCL_ROWS; k++)
    for (int i = 0; i < OCL_N; i++)
      check_value("scan", i, o->y[k * OCL_N + i], o->a[i] + (float)k);
}

static void check_half(const buffers *o) {
  for (int i = 0; i < OCL_N; i++)
    check_value("half", i, o->y[i], i % 2 ? o->a[i] : 2 * o->a[i]);
}

static void check_chain(const buffers *o) {
  float first = sum_of(o, 0);
  int64_t times = first < 5 ? (int64_t)(5 - first + 0.999f) : 0;
  for (int i = 0; i < OCL_N; i++)
    check_value("chain", i, o->y[i], sum_of(o, i) + (float)times);
}

static void (*const checks[OCL_ENTRIES])(const buffers *) = {
    [OCL_SUM] = check_sum,   [OCL_UNTIL] = check_until, [OCL_BRANCH] = check_branch,
    [OCL_SCAN] = check_scan, [OCL_HALF] = check_half,   [OCL_CHAIN] = check_chain};

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
        checks[e](&o);
        o.a[0] += 1;
      }
      free(o.memory);
    }
    wick_session_free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_compute),
  };
  return cmocka_run_group_tests(tests, load_plain, free_plain);
}
