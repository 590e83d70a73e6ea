/* SPDX-License-Identifier: Apache-2.0
 * opencl_fake.h: what devices say, programs, kernels, and how the library is found. */
#ifndef WICK_TESTS_OPENCL_FAKE_PROGRAM_H
#define WICK_TESTS_OPENCL_FAKE_PROGRAM_H

#include <dlfcn.h>
#include <time.h>

#include "tests/unit/opencl_fake.h"

/* ---- devices --------------------------------------------------------------------------------- */

static cl_int fake_give(const void *from, size_t n, size_t size, void *out, size_t *needed) {
  if (needed) *needed = n;
  if (out && size < n) return CL_INVALID_VALUE;
  if (out) memcpy(out, from, n);
  return CL_SUCCESS;
}

static cl_int fake_text(const char *text, size_t size, void *out, size_t *needed) {
  return text ? fake_give(text, strlen(text) + 1, size, out, needed) : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint n, cl_platform_id *out, cl_uint *count) {
  fake_fails(FAKE_GetPlatformIDs);
  *count = 2;
  for (cl_uint i = 0; i < n && i < 2; i++) out[i] = &fake_platforms[i];
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id p, cl_platform_info what,
                                                  size_t size, void *out, size_t *needed) {
  fake_fails(FAKE_GetPlatformInfo);
  return fake_text(what == CL_PLATFORM_NAME ? p->name : fake.platform_version, size, out, needed);
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint n,
                                               cl_device_id *out, cl_uint *count) {
  (void)type;
  fake_fails(FAKE_GetDeviceIDs);
  *count = 0;
  for (size_t i = 0; i < sizeof fake_devices / sizeof *fake_devices; i++)
    if (&fake_platforms[fake_devices[i].platform] == p && *count < n)
      out[(*count)++] = &fake_devices[i];
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t size,
                                                void *out, size_t *needed) {
  const size_t group = 64, items[] = {64, 8, 8};
  const cl_bool yes = CL_TRUE;
  const cl_uint align = 1024;
  const cl_ulong memory = (cl_ulong)1 << 30, local = 4096;
  fake_fails(FAKE_GetDeviceInfo);
  switch (what) {
    case CL_DEVICE_NAME: return fake_text(d->name, size, out, needed);
    case CL_DRIVER_VERSION: return fake_text(d->driver, size, out, needed);
    case CL_DEVICE_VERSION: return fake_text(fake.version, size, out, needed);
    case CL_DEVICE_TYPE: return fake_give(&d->type, sizeof d->type, size, out, needed);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE: return fake_give(&yes, sizeof yes, size, out, needed);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: return fake_give(&group, sizeof group, size, out, needed);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return fake_give(items, sizeof items, size, out, needed);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: return fake_give(&align, sizeof align, size, out, needed);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return fake_give(&memory, sizeof memory, size, out, needed);
    case CL_DEVICE_LOCAL_MEM_SIZE: return fake_give(&local, sizeof local, size, out, needed);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
      return fake_give(&d->is_unified, sizeof d->is_unified, size, out, needed);
    case CL_DEVICE_SINGLE_FP_CONFIG:
      return fake_give(&fake.config, sizeof fake.config, size, out, needed);
    default: return CL_INVALID_VALUE;
  }
}

CL_API_ENTRY cl_context CL_API_CALL
clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
                cl_int *code) {
  (void)notify, (void)user;
  if (fake_fails(FAKE_CreateContext)) return *code = fake.code, NULL;
  if (n != 1 || properties[0] != CL_CONTEXT_PLATFORM || properties[2] != 0 ||
      properties[1] != (cl_context_properties)&fake_platforms[devices[0]->platform])
    fail_msg("a context of another platform");
  cl_context c = calloc(1, sizeof *c);
  c->device = devices[0];
  fake.live++;
  *code = CL_SUCCESS;
  return c;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseContext(cl_context c) {
  fake_fails(FAKE_ReleaseContext);
  if (c->live) fail_msg("%d objects of the context are there", c->live);
  free(c);
  fake.live--;
  return CL_SUCCESS;
}

/* ---- programs -------------------------------------------------------------------------------- */

static cl_program fake_program(cl_context c, const char *source, size_t size, cl_int *code) {
  cl_program p = calloc(1, sizeof *p);
  p->context = c;
  c->live++;
  p->source = calloc(1, size + 1);
  memcpy(p->source, source, size);
  fake.live++;
  *code = CL_SUCCESS;
  return p;
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context c, cl_uint n,
                                                              const char **texts,
                                                              const size_t *sizes, cl_int *code) {
  if (fake_fails(FAKE_CreateProgramWithSource)) return *code = fake.code, NULL;
  char *all = calloc(1, FAKE_SOURCE);
  size_t size = 0;
  for (cl_uint i = 0; i < n; size += sizes[i++]) {
    if (size + sizes[i] > FAKE_SOURCE) fail_msg("a long source");
    memcpy(all + size, texts[i], sizes[i]);
  }
  cl_program p = fake_program(c, all, size, code);
  free(all);
  return p;
}

CL_API_ENTRY cl_program CL_API_CALL
clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *devices,
                          const size_t *sizes, const unsigned char **binaries, cl_int *each,
                          cl_int *code) {
  if (fake_fails(FAKE_CreateProgramWithBinary)) return *code = fake.code, NULL;
  if (n != 1 || devices[0] != c->device) fail_msg("a program of another device");
  *each = fake.refuses_binaries || memcmp(binaries[0], FAKE_BINARY, FAKE_BINARY_HEAD) != 0
              ? CL_INVALID_BINARY : CL_SUCCESS;
  return fake_program(c, (const char *)binaries[0] + FAKE_BINARY_HEAD,
                      sizes[0] - FAKE_BINARY_HEAD, code);
}

CL_API_ENTRY cl_int CL_API_CALL
clBuildProgram(cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
               void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
  (void)devices, (void)notify, (void)user;
  if (fake_fails(FAKE_BuildProgram)) return fake.code;
  if (n != 1 || strncmp(options, "-cl-std=CL1.2 -w", 16) != 0) fail_msg("built for nobody");
  fake.clock_ms += fake.build_ms;
  if (strstr(p->source, "nonsense")) {
    snprintf(fake.wrong, sizeof fake.wrong, "%s", p->source);
    return CL_BUILD_PROGRAM_FAILURE;
  }
  p->is_built = true;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseProgram(cl_program p) {
  fake_fails(FAKE_ReleaseProgram);
  if (p->kernels) fail_msg("%d kernels of the program are there", p->kernels);
  p->context->live--;
  free(p->source);
  free(p);
  fake.live--;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramInfo(cl_program p, cl_program_info what, size_t size,
                                                 void *out, size_t *needed) {
  const size_t n = FAKE_BINARY_HEAD + strlen(p->source),
               said = fake.binary_size ? fake.binary_size - 1 : n;
  if (fake_fails(FAKE_GetProgramInfo)) return fake.code;
  if (what == CL_PROGRAM_BINARY_SIZES) return fake_give(&said, sizeof said, size, out, needed);
  if (what != CL_PROGRAM_BINARIES || size != sizeof(uint8_t *) || said != n)
    return CL_INVALID_VALUE;
  memcpy(*(uint8_t **)out, FAKE_BINARY, FAKE_BINARY_HEAD);
  memcpy(*(uint8_t **)out + FAKE_BINARY_HEAD, p->source, n - FAKE_BINARY_HEAD);
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramBuildInfo(cl_program p, cl_device_id d,
                                                      cl_program_build_info what, size_t size,
                                                      void *out, size_t *needed) {
  (void)p, (void)d;
  if (fake_fails(FAKE_GetProgramBuildInfo) || what != CL_PROGRAM_BUILD_LOG) return CL_INVALID_VALUE;
  return fake_text(fake.log, size, out, needed);
}

/* ---- kernels --------------------------------------------------------------------------------- */

CL_API_ENTRY cl_kernel CL_API_CALL clCreateKernel(cl_program p, const char *name, cl_int *code) {
  if (fake_fails(FAKE_CreateKernel)) return *code = fake.code, NULL;
  if (!p->is_built) fail_msg("a kernel of nothing");
  if (strlen(name) != 2 || name[0] != 'k' || name[1] < '0' || name[1] > '5')
    return *code = CL_INVALID_KERNEL_NAME, NULL;
  char head[8];
  snprintf(head, sizeof head, " %s(", name);
  if (!strstr(p->source, head)) return *code = CL_INVALID_KERNEL_NAME, NULL;
  cl_kernel k = calloc(1, sizeof *k);
  k->number = name[1] - '0';
  k->program = p;
  p->kernels++;
  fake.live++;
  *code = CL_SUCCESS;
  return k;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseKernel(cl_kernel k) {
  fake_fails(FAKE_ReleaseKernel);
  k->program->kernels--;
  free(k);
  fake.live--;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelInfo(cl_kernel k, cl_kernel_info what, size_t size,
                                                void *out, size_t *needed) {
  const cl_uint n = fake.args ? fake.args : 2 * (cl_uint)fake_args[k->number];
  if (fake_fails(FAKE_GetKernelInfo) || what != CL_KERNEL_NUM_ARGS) return CL_INVALID_VALUE;
  return fake_give(&n, sizeof n, size, out, needed);
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
                                                         cl_kernel_work_group_info what,
                                                         size_t size, void *out, size_t *needed) {
  (void)k, (void)d;
  if (fake_fails(FAKE_GetKernelWorkGroupInfo)) return CL_INVALID_VALUE;
  if (what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE)
    return fake_give(fake.group, sizeof fake.group, size, out, needed);
  if (what == CL_KERNEL_WORK_GROUP_SIZE)
    return fake_give(&fake.most, sizeof fake.most, size, out, needed);
  return fake_give(&fake.local, sizeof fake.local, size, out, needed);
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel k, cl_uint i, size_t size,
                                               const void *value) {
  const cl_uint n = (cl_uint)fake_args[k->number];
  if (fake_fails(FAKE_SetKernelArg)) return fake.code;
  if (i >= 2 * n || size != 8) fail_msg("kernel k%d, argument %u", k->number, i);
  if (i >= n) memcpy(&k->offset[i - n], value, 8);
  else if (value) memcpy(&k->memory[i], value, 8), k->serial[i] = k->memory[i]->serial;
  else k->memory[i] = NULL;
  k->set |= 1u << i;
  return CL_SUCCESS;
}

/* ---- how it is found (tests.cmake: --wrap) --------------------------------------------------- */

void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path, int mode) {
  (void)mode;
  return path && strcmp(path, "fake") == 0 ? &fake : NULL;
}

void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
  void *address = NULL;
  if (library != &fake) fail_msg("another library");
#define WICK_X(function)                                  \
  if (strcmp(name, "cl" #function) == 0) {                \
    __typeof__(&cl##function) it = cl##function;          \
    memcpy(&address, &it, sizeof address);                \
  }
  WICK_CL_FUNCTIONS(WICK_X)
#undef WICK_X
  return address;
}

/* Time only passes when programs are built. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
  (void)clock;
  *out = (struct timespec){.tv_sec = (time_t)(fake.clock_ms / 1000),
                           .tv_nsec = (long)(fake.clock_ms % 1000) * 1000000};
  return 0;
}

#endif
