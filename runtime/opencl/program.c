/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_log.h"
#include "cache.h"

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

static void compile(wick_cl_unit *u, wick_cl_piece *p) {
  p->failed = "clCreateProgramWithSource";
  p->program = u->cl->CreateProgramWithSource(u->context, p->text_count, p->texts, p->sizes,
                                              &p->code);
  if (p->code != CL_SUCCESS) {
    p->program = NULL;
    return;
  }
  p->failed = "clBuildProgram";
  p->code = u->cl->BuildProgram(p->program, 1, &u->device.device, wick_cl_options(u), NULL, NULL);
  if (p->code == CL_SUCCESS) p->failed = NULL;
}

static void load_or_compile(wick_cl_unit *u, wick_cl_piece *p) {
  p->is_from_cache = wick_cl_cache_load(u, p);
  p->failed = NULL;
  if (!p->is_from_cache) compile(u, p);
}

void wick_cl_release_programs(wick_cl_unit *u) {
  for (uint32_t i = 0; i < u->piece_count; i++) {
    wick_cl_piece *p = &u->pieces[i];
    if (p->program && !wick_cl_is_forked()) u->cl->ReleaseProgram(p->program);
    p->program = NULL;
    p->is_from_cache = false;
  }
}

wick_status wick_cl_build(wick_cl_unit *u, bool use_cache, wick_error_detail *error) {
  wick_cl_for_pieces(u, use_cache ? load_or_compile : compile);
  for (uint32_t i = 0; i < u->piece_count; i++) {
    const wick_cl_piece *p = &u->pieces[i];
    if (!p->failed) continue;
    return p->program ? fail_build(u, p->program, p->code, error)
                      : wick_cl_fail(error, p->failed, p->code);
  }
  return WICK_OK;
}

wick_status wick_cl_kernel(const wick_cl_unit *u, uint32_t number, cl_kernel *out,
                           wick_error_detail *error) {
  char name[16];
  cl_int code;
  snprintf(name, sizeof name, "k%u", number);
  *out = u->cl->CreateKernel(u->pieces[number / u->piece_kernels].program, name, &code);
  if (code == CL_SUCCESS) return WICK_OK;
  *out = NULL;
  if (code == CL_INVALID_KERNEL_NAME)
    return wick_fail(error, WICK_CORRUPT, "section 'source': there is no kernel %s", name);
  return wick_cl_fail(error, "clCreateKernel", code);
}
