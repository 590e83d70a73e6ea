/* SPDX-License-Identifier: Apache-2.0
 * A driver that refuses to make a program: which call it was, and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/opencl/unit.h"

enum { PROGRAM, KERNEL }; /* what handles stand for */

static struct {
  cl_int source, build, kernel; /* what the calls give */
  int programs; /* that are there */
  char options[128], name[16];
} driver;
static char handles[2];

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size,
                                      void *out, size_t *n) {
  (void)device, (void)size, (void)n;
  assert_int_equal(what, CL_DEVICE_SINGLE_FP_CONFIG);
  *(cl_device_fp_config *)out = CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  return CL_SUCCESS;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint n, const char **texts,
                                             const size_t *sizes, cl_int *code) {
  (void)context, (void)sizes;
  assert_int_equal(n, 1);
  assert_string_equal(texts[0], "kernel");
  *code = driver.source;
  if (*code) return NULL;
  driver.programs++;
  return (cl_program)&handles[PROGRAM];
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint n, const cl_device_id *devices,
                                        const char *options,
                                        void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
  (void)n, (void)devices, (void)notify, (void)user;
  assert_ptr_equal(program, &handles[PROGRAM]);
  snprintf(driver.options, sizeof driver.options, "%s", options);
  return driver.build;
}

static cl_int CL_API_CALL build_info(cl_program program, cl_device_id device,
                                     cl_program_build_info what, size_t size, void *out,
                                     size_t *n) {
  (void)program, (void)device, (void)what, (void)size, (void)out;
  if (n) *n = 0;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL release_program(cl_program program) {
  assert_ptr_equal(program, &handles[PROGRAM]);
  driver.programs--;
  return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code) {
  (void)program;
  snprintf(driver.name, sizeof driver.name, "%s", name);
  *code = driver.kernel;
  return (cl_kernel)&handles[KERNEL];
}

static const wick_cl functions = {.GetDeviceInfo = device_info,
                                  .CreateProgramWithSource = create_program,
                                  .BuildProgram = build_program, .GetProgramBuildInfo = build_info,
                                  .ReleaseProgram = release_program, .CreateKernel = create_kernel};

static wick_cl_unit unit_of(void) {
  memset(&driver, 0, sizeof driver);
  return (wick_cl_unit){.cl = &functions,
                        .pieces = {{.texts = {"kernel"}, .sizes = {6}, .text_count = 1}},
                        .piece_count = 1, .piece_kernels = 20};
}

static void programs(void **state) {
  (void)state;
  wick_error_detail why = {{0}};
  wick_cl_unit u = unit_of();
  assert_int_equal(wick_cl_build(&u, false, &why), WICK_OK);
  assert_ptr_equal(u.pieces[0].program, &handles[PROGRAM]);
  assert_int_equal(driver.programs, 1);
  assert_string_equal(driver.options,
                      "-cl-std=CL1.2 -w -cl-fp32-correctly-rounded-divide-sqrt");
  u = unit_of();
  driver.source = CL_INVALID_VALUE;
  assert_int_equal(wick_cl_build(&u, false, &why), WICK_DEVICE_FAILED);
  assert_string_equal(why.text, "clCreateProgramWithSource: CL_INVALID_VALUE");
  u = unit_of();
  driver.build = CL_OUT_OF_HOST_MEMORY;
  assert_int_equal(wick_cl_build(&u, false, &why), WICK_NO_MEMORY);
  assert_string_equal(why.text, "clBuildProgram: CL_OUT_OF_HOST_MEMORY");
  wick_cl_release_programs(&u);
  assert_null(u.pieces[0].program);
  assert_int_equal(driver.programs, 0);
}

static void kernels(void **state) {
  (void)state;
  wick_error_detail why = {{0}};
  wick_cl_unit u = unit_of();
  cl_kernel kernel;
  assert_int_equal(wick_cl_kernel(&u, 12, &kernel, &why), WICK_OK);
  assert_string_equal(driver.name, "k12");
  assert_ptr_equal(kernel, &handles[KERNEL]);
  driver.kernel = CL_INVALID_KERNEL_NAME;
  assert_int_equal(wick_cl_kernel(&u, 3, &kernel, &why), WICK_CORRUPT);
  assert_string_equal(why.text, "section 'source': there is no kernel k3");
  assert_null(kernel);
  driver.kernel = CL_OUT_OF_RESOURCES;
  assert_int_equal(wick_cl_kernel(&u, 3, &kernel, &why), WICK_DEVICE_FAILED);
  assert_string_equal(why.text, "clCreateKernel: CL_OUT_OF_RESOURCES, the device has too "
                                "little memory, or a kernel has failed");
  assert_null(kernel);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs), cmocka_unit_test(kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
