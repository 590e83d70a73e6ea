/* SPDX-License-Identifier: Apache-2.0
 * Memory for the entries of opencl_package.h, and what they compute. */
#ifndef WICK_TESTS_OPENCL_ENTRIES_H
#define WICK_TESTS_OPENCL_ENTRIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/wick.h"
#include "tests/unit/opencl_package.h"

/* Memory for all entries. At `shift` bytes behind a multiple of 64 it is shared with the device, or
 * not. */
typedef struct {
  uint8_t *memory;
  float *a, *b, *y;
  int64_t *z;
} buffers;

static inline buffers make_buffers(size_t shift) {
  enum { PIECE = OCL_ROWS * OCL_BYTES + 64 };
  uint8_t *m = aligned_alloc(64, 4 * PIECE);
  buffers o = {m, (float *)(m + shift), (float *)(m + PIECE + shift),
               (float *)(m + 2 * PIECE + shift), (int64_t *)(m + 3 * PIECE + shift)};
  for (int i = 0; i < OCL_N; i++) o.a[i] = (float)i - 3, o.b[i] = (float)(i % 5);
  return o;
}

static inline wick_status run(wick_session *s, const buffers *o) {
  const void *inputs[] = {o->a, o->b};
  void *outputs[] = {o->y, o->z};
  return wick_session_run(s, inputs, outputs);
}

static inline void expect_run(wick_session *s, const buffers *o) {
  wick_status status = run(s, o);
  if (status != WICK_OK) fail_msg("%s: %s", wick_status_text(status), wick_session_error(s));
}

static inline void check_value(const char *what, int i, float is, float wanted) {
  if (is != wanted) fail_msg("%s: [%d] is %g, not %g", what, i, (double)is, (double)wanted);
}

static inline float sum_of(const buffers *o, int i) {
  return o->a[i] + o->b[i] + (i < 24 ? (float)i : 0);
}

static inline void check_sum(const buffers *o) {
  for (int i = 0; i < OCL_N; i++) check_value("sum", i, o->y[i], sum_of(o, i));
}

static inline void check_until(const buffers *o) {
  int64_t times = o->a[0] < 5 ? (int64_t)(5 - o->a[0] + 0.999f) : 0;
  for (int i = 0; i < OCL_N; i++) check_value("until", i, o->y[i], o->a[i] + (float)times);
  if (times) assert_int_equal(*o->z, times - 1);
}

static inline void check_branch(const buffers *o) {
  for (int i = 0; i < OCL_N; i++)
    check_value("branch", i, o->y[i], o->a[0] < 5 ? o->a[i] + 1 : 2 * o->a[i]);
}

static inline void check_scan(const buffers *o) {
  for (int k = 0; k < OCL_ROWS; k++)
    for (int i = 0; i < OCL_N; i++)
      check_value("scan", i, o->y[k * OCL_N + i], o->a[i] + (float)k);
}

static inline void check_half(const buffers *o) {
  for (int i = 0; i < OCL_N; i++)
    check_value("half", i, o->y[i], i % 2 ? o->a[i] : 2 * o->a[i]);
}

static inline void check_chain(const buffers *o) {
  float first = sum_of(o, 0);
  int64_t times = first < 5 ? (int64_t)(5 - first + 0.999f) : 0;
  for (int i = 0; i < OCL_N; i++)
    check_value("chain", i, o->y[i], sum_of(o, i) + (float)times);
}

static inline void check_small(const buffers *o) {
  check_value("small", 0, *(uint8_t *)o->y, o->a[0] + 1 < 5);
}

static void (*const ocl_checks[OCL_ENTRIES])(const buffers *) = {
    [OCL_SUM] = check_sum,   [OCL_UNTIL] = check_until, [OCL_BRANCH] = check_branch,
    [OCL_SCAN] = check_scan, [OCL_HALF] = check_half,   [OCL_CHAIN] = check_chain,
    [OCL_SMALL] = check_small};

#endif
