/* SPDX-License-Identifier: Apache-2.0
 * The probe of matrix units, on a device that has none: what other compilers get of the kernels
 * computes the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "targets/opencl/probe.h"

static void products_are_right(void **state) {
  const wick_opencl_info *list;
  uint32_t n;
  wick_error_detail why = {{0}};
  (void)state;
  if (wick_opencl_list(&list, &n, &why) != WICK_OK) {
    print_message("skipped: no OpenCL: %s\n", why.text);
    skip();
  }
  assert_true(wk_cl_probe_matrix(list, 0));
}

/* What it cannot compile for, or run, has none. */
static void no_device(void **state) {
  const wick_opencl_info small = {.name = "nothing of this name", .type = WICK_OPENCL_GPU,
                                  .units = 1, .max_group = 1, .max_items = {1, 1, 1},
                                  .base_align = 64, .float_width = 1};
  (void)state;
  assert_false(wk_cl_probe_matrix(&small, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_right),
                                     cmocka_unit_test(no_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
