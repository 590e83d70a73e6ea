/* SPDX-License-Identifier: Apache-2.0
 * Kernels and what they know of their parameters: where a program does not say, arguments are taken
 * as they come. */
#include <ctype.h>
#include <stdio.h>

#include "strict.h"

/* ---- parameters ------------------------------------------------------------------------------ */

/* "float4", "unsigned int" …; 0: it is not known. */
static size_t size_of_type(const char *name) {
  static const struct {
    const char *name;
    size_t size;
  } types[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},
               {"int", 4},  {"uint", 4},  {"float", 4}, {"long", 8},   {"ulong", 8},
               {"double", 8}};
  if (strncmp(name, "unsigned ", 9) == 0) name += 9;
  for (size_t i = 0; i < WICK_COUNTOF(types); i++) {
    size_t n = strlen(types[i].name);
    if (strncmp(name, types[i].name, n) != 0) continue;
    if (name[n] == '\0') return types[i].size;
    if (!isdigit((unsigned char)name[n])) continue;
    unsigned long width = strtoul(name + n, NULL, 10);
    return types[i].size * (width == 3 ? 4 : width);
  }
  return 0;
}

static void ask_arg(const strict_call *c, cl_kernel real, cl_uint i, strict_arg *out) {
  cl_kernel_arg_address_qualifier where = 0;
  cl_kernel_arg_type_qualifier how = 0;
  char type[64] = "";
  if (c->under->GetKernelArgInfo(real, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof where, &where,
                                 NULL) != CL_SUCCESS)
    return;
  c->under->GetKernelArgInfo(real, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof how, &how, NULL);
  c->under->GetKernelArgInfo(real, i, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, NULL);
  out->is_const = how & CL_KERNEL_ARG_TYPE_CONST || where == CL_KERNEL_ARG_ADDRESS_CONSTANT;
  out->kind = where == CL_KERNEL_ARG_ADDRESS_LOCAL     ? STRICT_LOCAL
              : where == CL_KERNEL_ARG_ADDRESS_PRIVATE ? STRICT_VALUE
                                                       : STRICT_POINTER;
  if (out->kind == STRICT_VALUE) out->size = size_of_type(type);
}

static cl_ulong ask_local(const strict_call *c, const strict_object *context, cl_kernel real) {
  cl_ulong most = 0, n;
  for (size_t i = 0; i < context->of.devices.n; i++)
    if (c->under->GetKernelWorkGroupInfo(real, context->of.devices.data[i],
                                         CL_KERNEL_LOCAL_MEM_SIZE, sizeof n, &n,
                                         NULL) == CL_SUCCESS && n > most)
      most = n;
  return most;
}

CL_API_ENTRY cl_kernel CL_API_CALL clCreateKernel(cl_program handle, const char *name,
                                                  cl_int *code) {
  strict_call c;
  strict_begin(&c, "clCreateKernel");
  strict_object *program = strict_use(&c, handle, STRICT_PROGRAM);
  if (!name) strict_refuse(&c, program, "a kernel without a name");
  if (!program->program.is_built) strict_refuse(&c, program, "it has not been built");
  strict_forward(&c);
  cl_kernel real = c.under->CreateKernel(program->real, name, code);
  cl_uint n = 0;
  cl_ulong local = 0;
  strict_arg *args = NULL;
  if (real) {
    local = ask_local(&c, program->context, real);
    c.under->GetKernelInfo(real, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
    args = calloc((size_t)n + 1, sizeof *args);
    if (!args) abort();
    for (cl_uint i = 0; i < n; i++) ask_arg(&c, real, i, &args[i]);
  }
  strict_resume(&c);
  strict_object *o = strict_make(&c, STRICT_KERNEL, program->context, real);
  if (o) {
    o->kernel.program = program;
    o->kernel.args = args;
    o->kernel.arg_count = n;
    o->kernel.own_local = local;
    snprintf(o->kernel.name, sizeof o->kernel.name, "%s", name);
    program->program.kernels++;
  }
  strict_end(&c);
  return (cl_kernel)o;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Whether it is a buffer, and then which: *real is what the real library is to be told. */
static void take_pointer(const strict_call *c, const strict_object *kernel, cl_uint i, size_t size,
                         const void *value, strict_arg *a, void **real) {
  void *handle = NULL;
  if (size != sizeof(cl_mem))
    strict_refuse(c, kernel, "argument %u is a buffer, and is set to %zu bytes", i, size);
  if (value) memcpy(&handle, value, sizeof handle);
  if (!handle) return;
  a->memory = strict_check(c, handle, STRICT_MEMORY);
  if (a->memory->context != kernel->context)
    strict_refuse(c, kernel, "argument %u is buffer #%llu of another context", i,
                  (unsigned long long)a->memory->number);
  *real = a->memory->real;
}

static bool is_handle(size_t size, const void *value) {
  void *handle;
  if (size != sizeof handle || !value) return false;
  memcpy(&handle, value, sizeof handle);
  return strict_find(handle) != NULL;
}

static void take_value(const strict_call *c, const strict_object *kernel, cl_uint i, size_t size,
                       const void *value, const strict_arg *a) {
  if (!value) strict_refuse(c, kernel, "argument %u is a value, and is set to NULL", i);
  if (a->size && size != a->size)
    strict_refuse(c, kernel, "argument %u has %zu bytes, and is set to %zu", i, a->size, size);
}

static void set_arg(const strict_call *c, strict_object *kernel, cl_uint i, size_t size,
                    const void *value, void **real) {
  strict_arg *a = &kernel->kernel.args[i];
  a->memory = NULL;
  a->local = 0;
  if (size == 0) strict_refuse(c, kernel, "argument %u is set to no bytes", i);
  if (a->kind == STRICT_POINTER) take_pointer(c, kernel, i, size, value, a, real);
  else if (a->kind == STRICT_VALUE) take_value(c, kernel, i, size, value, a);
  else if (a->kind == STRICT_LOCAL && value)
    strict_refuse(c, kernel, "argument %u is local memory, and is set to %p", i, value);
  else if (a->kind == STRICT_LOCAL) a->local = size;
  else if (is_handle(size, value)) take_pointer(c, kernel, i, size, value, a, real);
  else if (!value && size != sizeof(cl_mem)) a->local = size;
  a->bytes = a->local ? 0 : size;
  a->is_set = true;
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint i, size_t size,
                                               const void *value) {
  strict_call c;
  void *real = NULL;
  strict_begin(&c, "clSetKernelArg");
  strict_object *kernel = strict_use(&c, handle, STRICT_KERNEL);
  if (kernel->pins > 1) strict_refuse(&c, kernel, "another thread uses it at the same time");
  if (i >= kernel->kernel.arg_count)
    strict_refuse(&c, kernel, "argument %u of %u", i, kernel->kernel.arg_count);
  set_arg(&c, kernel, i, size, value, &real);
  kernel->kernel.is_setting = true;
  strict_forward(&c);
  cl_int code = c.under->SetKernelArg(kernel->real, i, size, real ? &real : value);
  strict_resume(&c);
  kernel->kernel.is_setting = false;
  if (code != CL_SUCCESS) kernel->kernel.args[i].is_set = false;
  strict_end(&c);
  return code;
}

/* ---- answers --------------------------------------------------------------------------------- */

static strict_object *begin_question(strict_call *c, const char *function, cl_kernel handle) {
  strict_begin(c, function);
  strict_object *kernel = strict_use(c, handle, STRICT_KERNEL);
  strict_forward(c);
  return kernel;
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelInfo(cl_kernel handle, cl_kernel_info what, size_t size,
                                                void *out, size_t *needed) {
  strict_call c;
  const strict_object *kernel = begin_question(&c, "clGetKernelInfo", handle);
  cl_int code = c.under->GetKernelInfo(kernel->real, what, size, out, needed);
  if (what == CL_KERNEL_CONTEXT) strict_answer(kernel->context, code, out);
  if (what == CL_KERNEL_PROGRAM) strict_answer(kernel->kernel.program, code, out);
  strict_resume(&c);
  strict_end(&c);
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel handle, cl_uint i,
                                                   cl_kernel_arg_info what, size_t size, void *out,
                                                   size_t *needed) {
  strict_call c;
  const strict_object *kernel = begin_question(&c, "clGetKernelArgInfo", handle);
  cl_int code = c.under->GetKernelArgInfo(kernel->real, i, what, size, out, needed);
  strict_resume(&c);
  strict_end(&c);
  return code;
}

/* The device's limit is the smaller one where it passes for another. */
CL_API_ENTRY cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device,
                                                         cl_kernel_work_group_info what,
                                                         size_t size, void *out, size_t *needed) {
  strict_call c;
  strict_limits limits;
  size_t most;
  const strict_object *kernel = begin_question(&c, "clGetKernelWorkGroupInfo", handle);
  cl_int code = c.under->GetKernelWorkGroupInfo(kernel->real, device, what, size, out, needed);
  if (code == CL_SUCCESS && out && what == CL_KERNEL_WORK_GROUP_SIZE) {
    strict_limits_of(&c, device, &limits);
    memcpy(&most, out, sizeof most);
    if (most > limits.group) memcpy(out, &limits.group, sizeof most);
  }
  strict_resume(&c);
  strict_end(&c);
  return code;
}
