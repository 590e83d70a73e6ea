/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "strict.h"

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context handle, cl_uint n,
                                                              const char **texts,
                                                              const size_t *sizes, cl_int *code) {
  strict_call c;
  strict_begin(&c, "clCreateProgramWithSource");
  strict_object *context = strict_use(&c, handle, STRICT_CONTEXT);
  if (n == 0 || !texts) strict_refuse(&c, context, "there is no source");
  for (cl_uint i = 0; i < n; i++)
    if (!texts[i]) strict_refuse(&c, context, "source %u is NULL", i);
  strict_forward(&c);
  cl_program real = c.under->CreateProgramWithSource(context->real, n, texts, sizes, code);
  strict_resume(&c);
  strict_object *o = strict_make(&c, STRICT_PROGRAM, context, real);
  strict_end(&c);
  return (cl_program)o;
}

CL_API_ENTRY cl_program CL_API_CALL
clCreateProgramWithBinary(cl_context handle, cl_uint n, const cl_device_id *devices,
                          const size_t *sizes, const unsigned char **binaries, cl_int *each,
                          cl_int *code) {
  strict_call c;
  strict_begin(&c, "clCreateProgramWithBinary");
  strict_object *context = strict_use(&c, handle, STRICT_CONTEXT);
  if (n == 0 || !devices || !sizes || !binaries)
    strict_refuse(&c, context, "devices, sizes or binaries are missing");
  for (cl_uint i = 0; i < n; i++) {
    strict_check_device(&c, context, devices[i]);
    if (sizes[i] == 0 || !binaries[i]) strict_refuse(&c, context, "binary %u is empty", i);
  }
  strict_forward(&c);
  cl_program real = c.under->CreateProgramWithBinary(context->real, n, devices, sizes, binaries,
                                                     each, code);
  strict_resume(&c);
  strict_object *o = strict_make(&c, STRICT_PROGRAM, context, real);
  strict_end(&c);
  return (cl_program)o;
}

/* ---- building -------------------------------------------------------------------------------- */

/* With what kernels say of their arguments; free() it. */
static char *make_options(const char *options) {
  char *text = NULL;
  if (asprintf(&text, "%s%s-cl-kernel-arg-info", options ? options : "", options ? " " : "") < 0)
    abort();
  return text;
}

CL_API_ENTRY cl_int CL_API_CALL
clBuildProgram(cl_program handle, cl_uint n, const cl_device_id *devices, const char *options,
               void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
  strict_call c;
  strict_begin(&c, "clBuildProgram");
  strict_object *program = strict_use(&c, handle, STRICT_PROGRAM);
  strict_program *p = &program->program;
  if ((n == 0) != (devices == NULL))
    strict_refuse(&c, program, "%u devices, no list of so many", n);
  for (cl_uint i = 0; i < n; i++) strict_check_device(&c, program->context, devices[i]);
  if (p->is_building) strict_refuse(&c, program, "another thread builds it at the same time");
  if (p->kernels) strict_refuse(&c, program, "there are %u kernels of it", p->kernels);
  if (notify) strict_refuse(&c, program, "callbacks are not followed");
  char *all = make_options(options);
  p->is_building = true;
  p->is_built = false;
  strict_forward(&c);
  cl_int code = c.under->BuildProgram(program->real, n, devices, all, NULL, user);
  strict_resume(&c);
  free(all);
  p->is_building = false;
  p->is_built = code == CL_SUCCESS;
  strict_end(&c);
  return code;
}

/* ---- answers --------------------------------------------------------------------------------- */

static strict_object *begin_question(strict_call *c, const char *function, cl_program handle) {
  strict_begin(c, function);
  strict_object *program = strict_use(c, handle, STRICT_PROGRAM);
  if (program->program.is_building)
    strict_refuse(c, program, "another thread builds it at the same time");
  strict_forward(c);
  return program;
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramInfo(cl_program handle, cl_program_info what,
                                                 size_t size, void *out, size_t *needed) {
  strict_call c;
  const strict_object *program = begin_question(&c, "clGetProgramInfo", handle);
  cl_int code = c.under->GetProgramInfo(program->real, what, size, out, needed);
  if (what == CL_PROGRAM_CONTEXT) strict_answer(program->context, code, out);
  strict_resume(&c);
  strict_end(&c);
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramBuildInfo(cl_program handle, cl_device_id device,
                                                      cl_program_build_info what, size_t size,
                                                      void *out, size_t *needed) {
  strict_call c;
  const strict_object *program = begin_question(&c, "clGetProgramBuildInfo", handle);
  cl_int code = c.under->GetProgramBuildInfo(program->real, device, what, size, out, needed);
  strict_resume(&c);
  strict_end(&c);
  return code;
}
