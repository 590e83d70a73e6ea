/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL library with devices of all kinds that can be asked and do nothing else: WICK_OPENCL.
 * Two platforms, the first of which has no devices; with WICK_TEST_DRIVER=none there is only that
 * one, with "lost" none that says what it is. Compiled with ALONE it is a driver without the ICD
 * loader: one function is seen, which gives the way to the table of all. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { INTEL_SIZES = 0x4108 };

typedef struct {
  const char *name, *extensions;
  cl_device_type type;
  cl_uint align_bits, float_width, half_width, warp, wavefront;
  size_t subgroups[4];
  cl_ulong dot;
  cl_bool is_unavailable, has_no_compiler, is_mute; /* mute: tells nothing else */
} device;

static const device all[] = {
    {"  Green 1 ", "cl_khr_fp64 cl_khr_subgroups cl_nv_device_attribute_query "
     "cl_khr_integer_dot_product", CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT, 1024, 1, 0, 32, 7,
     {5}, CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR, 0, 0, 0},
    {"Red 1", "cl_khr_subgroups cl_khr_fp16 cl_amd_device_attribute_query", CL_DEVICE_TYPE_GPU,
     2048, 1, 2, 7, 64, {5}, 0, 0, 0, 0},
    {"Blue 1", "cl_intel_subgroups cl_khr_integer_dot_product cl_khr_fp16 cl_khr_fp64",
     CL_DEVICE_TYPE_GPU, 1024, 1, 1, 7, 7, {8, 32, 16},
     CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR, 0, 0, 0},
    {"Gone", "cl_khr_fp64", CL_DEVICE_TYPE_CPU, 1024, 8, 0, 0, 0, {0}, 0, CL_TRUE, 0, 0},
    {"Fixed", "cl_khr_fp64", CL_DEVICE_TYPE_ACCELERATOR, 1024, 8, 0, 0, 0, {0}, 0, 0, CL_TRUE, 0},
    {"Green 1", "cl_khr_fp64ex xcl_khr_fp16 cl_nv_device_attribute_query", CL_DEVICE_TYPE_CPU, 0, 0,
     4, 32, 64, {8}, 0, 0, 0, 0},
    {"Muet \xc3\xa9\n", "", CL_DEVICE_TYPE_ACCELERATOR, 0, 0, 0, 0, 0, {0}, 0, 0, 0, CL_TRUE},
};

static struct {
  const cl_icd_dispatch *table;
} platforms[2];

static cl_int give(const void *from, size_t n, size_t size, void *out, size_t *needed) {
  if (needed) *needed = n;
  if (out && size < n) return CL_INVALID_VALUE;
  if (out) memcpy(out, from, n);
  return CL_SUCCESS;
}

static cl_int give_text(const char *text, size_t size, void *out, size_t *needed) {
  return give(text, strlen(text) + 1, size, out, needed);
}

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *out, cl_uint *count) {
  const char *mode = getenv("WICK_TEST_DRIVER");
  *count = mode && !strcmp(mode, "none") ? 1 : 2;
  if (n > 1 && mode && !strcmp(mode, "lost")) return CL_OUT_OF_HOST_MEMORY;
  for (cl_uint i = 0; i < n && i < *count; i++) out[i] = (cl_platform_id)&platforms[i];
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t size, void *out,
                         size_t *needed) {
  (void)p;
  return what == CL_PLATFORM_NAME ? give_text("All kinds", size, out, needed) : CL_INVALID_VALUE;
}

cl_int clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *out,
                      cl_uint *count) {
  (void)type;
  if (p == (cl_platform_id)&platforms[0]) return CL_DEVICE_NOT_FOUND;
  *count = sizeof all / sizeof *all;
  for (cl_uint i = 0; i < n && i < *count; i++) out[i] = (cl_device_id)(uintptr_t)&all[i];
  return CL_SUCCESS;
}

static cl_int number_of(const device *d, cl_device_info what, cl_uint *out) {
  switch (what) {
    case CL_DEVICE_MAX_COMPUTE_UNITS: *out = 12; return CL_SUCCESS;
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: *out = 1700; return CL_SUCCESS;
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: *out = d->align_bits; return CL_SUCCESS;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: *out = d->float_width; return CL_SUCCESS;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF: *out = d->half_width; return CL_SUCCESS;
    case CL_DEVICE_HOST_UNIFIED_MEMORY: *out = d->type == CL_DEVICE_TYPE_CPU; return CL_SUCCESS;
    case CL_DEVICE_WARP_SIZE_NV: *out = d->warp; return CL_SUCCESS;
    case CL_DEVICE_WAVEFRONT_WIDTH_AMD: *out = d->wavefront; return CL_SUCCESS;
    default: return CL_INVALID_VALUE;
  }
}

static cl_int long_of(const device *d, cl_device_info what, cl_ulong *out) {
  switch (what) {
    case CL_DEVICE_TYPE: *out = d->type; return CL_SUCCESS;
    case CL_DEVICE_GLOBAL_MEM_SIZE: *out = (cl_ulong)5 << 30; return CL_SUCCESS;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: *out = (cl_ulong)5 << 28; return CL_SUCCESS;
    case CL_DEVICE_LOCAL_MEM_SIZE: *out = 48 << 10; return CL_SUCCESS;
    case CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR: *out = d->dot; return CL_SUCCESS;
    default: return CL_INVALID_VALUE;
  }
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t size, void *out,
                       size_t *needed) {
  const device *d = (const device *)id;
  const size_t group = 1024, items[] = {1024, 512, 64};
  cl_bool is_available = !d->is_unavailable, has_compiler = !d->has_no_compiler;
  cl_uint number;
  cl_ulong length;
  if (what == CL_DEVICE_NAME) return give_text(d->name, size, out, needed);
  if (what == CL_DEVICE_AVAILABLE) return give(&is_available, sizeof(cl_bool), size, out, needed);
  if (what == CL_DEVICE_COMPILER_AVAILABLE)
    return give(&has_compiler, sizeof(cl_bool), size, out, needed);
  if (d->is_mute) return CL_INVALID_VALUE;
  if (what == CL_DEVICE_EXTENSIONS) return give_text(d->extensions, size, out, needed);
  if (what == CL_DEVICE_VENDOR) return give_text("Nobody", size, out, needed);
  if (what == CL_DRIVER_VERSION) return give_text("1.2", size, out, needed);
  if (what == CL_DEVICE_VERSION) return give_text("OpenCL 3.0 ", size, out, needed);
  if (what == CL_DEVICE_MAX_WORK_GROUP_SIZE) return give(&group, sizeof group, size, out, needed);
  if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES) return give(items, sizeof items, size, out, needed);
  if (what == INTEL_SIZES) return give(d->subgroups, sizeof d->subgroups, size, out, needed);
  if (number_of(d, what, &number) == CL_SUCCESS)
    return give(&number, sizeof number, size, out, needed);
  if (long_of(d, what, &length) == CL_SUCCESS)
    return give(&length, sizeof length, size, out, needed);
  return CL_INVALID_VALUE;
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint n,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user, cl_int *code) {
  (void)properties, (void)n, (void)devices, (void)notify, (void)user;
  *code = CL_DEVICE_NOT_AVAILABLE;
  return NULL;
}

static cl_int platforms_of_driver(cl_uint n, cl_platform_id *out, cl_uint *count) {
  static cl_icd_dispatch table;
  table.clGetPlatformInfo = clGetPlatformInfo;
  table.clGetDeviceIDs = clGetDeviceIDs;
  table.clGetDeviceInfo = clGetDeviceInfo;
  table.clCreateContext = clCreateContext;
  platforms[0].table = platforms[1].table = &table;
  return clGetPlatformIDs(n, out, count);
}

__attribute__((visibility("default"))) void *clGetExtensionFunctionAddress(const char *name) {
  cl_int (*found)(cl_uint, cl_platform_id *, cl_uint *) = platforms_of_driver;
  void *address;
  memcpy(&address, &found, sizeof address);
  return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? address : NULL;
}

#ifndef ALONE
/* The rest of what has to be there. */
cl_int unsupported(void);
cl_int unsupported(void) { return CL_INVALID_OPERATION; }
#define STUB(name) __asm__(".globl cl" #name "\n.set cl" #name ", unsupported");
STUB(ReleaseContext) STUB(CreateCommandQueue) STUB(ReleaseCommandQueue)
STUB(CreateBuffer) STUB(ReleaseMemObject) STUB(CreateProgramWithSource)
STUB(CreateProgramWithBinary) STUB(BuildProgram) STUB(ReleaseProgram) STUB(GetProgramInfo)
STUB(GetProgramBuildInfo) STUB(CreateKernel) STUB(ReleaseKernel) STUB(GetKernelInfo)
STUB(GetKernelWorkGroupInfo) STUB(SetKernelArg) STUB(EnqueueNDRangeKernel)
STUB(EnqueueReadBuffer) STUB(EnqueueWriteBuffer) STUB(EnqueueFillBuffer) STUB(EnqueueMapBuffer)
STUB(EnqueueUnmapMemObject) STUB(EnqueueMarkerWithWaitList) STUB(WaitForEvents)
STUB(ReleaseEvent) STUB(GetEventProfilingInfo) STUB(Flush) STUB(Finish)
#endif
