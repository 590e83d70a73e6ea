/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_log.h"

/* The compiler's words; free() them. NULL: no memory. */
static char *get_log(const wick_cl_unit *u, cl_program program) {
  size_t size = 0;
  u->cl->GetProgramBuildInfo(program, u->device.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *log = calloc(size + 1, 1);
  if (log)
    u->cl->GetProgramBuildInfo(program, u->device.device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  return log;
}

static wick_status fail_build(const wick_cl_unit *u, cl_program program, cl_int code,
                              wick_error_detail *error) {
  char *log = get_log(u, program);
  wick_status status = wick_cl_fail(error, "clBuildProgram", code);
  if (log && *log) {
    wick_cl_tell_log(u, log, error);
    status = WICK_DEVICE_FAILED;
  }
  free(log);
  return status;
}

const char *wick_cl_options(const wick_cl_unit *u) {
  cl_device_fp_config config = 0;
  u->cl->GetDeviceInfo(u->device.device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
  return config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
             ? "-cl-std=CL1.2 -w -cl-fp32-correctly-rounded-divide-sqrt"
             : "-cl-std=CL1.2 -w";
}

wick_status wick_cl_compile(wick_cl_unit *u, wick_error_detail *error) {
  cl_int code;
  cl_program program = u->cl->CreateProgramWithSource(u->context, 1, &u->plan.source,
                                                      &u->plan.source_size, &code);
  if (code != CL_SUCCESS) return wick_cl_fail(error, "clCreateProgramWithSource", code);
  code = u->cl->BuildProgram(program, 1, &u->device.device, wick_cl_options(u), NULL, NULL);
  wick_status status = code == CL_SUCCESS ? WICK_OK : fail_build(u, program, code, error);
  if (status == WICK_OK) u->program = program;
  else u->cl->ReleaseProgram(program);
  return status;
}

wick_status wick_cl_kernel(const wick_cl_unit *u, uint32_t number, cl_kernel *out,
                           wick_error_detail *error) {
  char name[16];
  cl_int code;
  snprintf(name, sizeof name, "k%u", number);
  *out = u->cl->CreateKernel(u->program, name, &code);
  if (code == CL_SUCCESS) return WICK_OK;
  *out = NULL;
  if (code == CL_INVALID_KERNEL_NAME)
    return wick_fail(error, WICK_CORRUPT, "section 'source': there is no kernel %s", name);
  return wick_cl_fail(error, "clCreateKernel", code);
}
