/* SPDX-License-Identifier: Apache-2.0
 * What a device says, and the description of a smaller one that it passes for. */
#include "targets/opencl/description.h"

#include <pthread.h>

#include "strict.h"

/* ---- the description ------------------------------------------------------------------------- */

static struct {
  pthread_once_t once;
  wick_opencl_info info;
  bool is_there;
} described = {.once = PTHREAD_ONCE_INIT};

static void read_description(void) {
  const strict_call c = {.function = "WICK_STRICT_DEVICE"};
  const char *path = getenv("WICK_STRICT_DEVICE");
  if (!path || !*path) return;
  wk_status s = wk_opencl_read_json(path, &described.info);
  if (s) strict_refuse(&c, NULL, "%s: %s", path, s->message);
  described.is_there = true;
}

/* NULL: there is none. */
static const wick_opencl_info *description(void) {
  pthread_once(&described.once, read_description);
  return described.is_there ? &described.info : NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* LEAST: of 64 bits, as a size_t is; LEAST_SIZES: of three of these; LEAST_UINT: of 32 bits;
 * MOST_BITS: said in bits. */
typedef enum { LEAST, LEAST_SIZES, LEAST_UINT, MOST_BITS, A_TYPE, BOTH } rule;

#define ANSWER(what, rule, member)                                    \
  {what, rule, offsetof(wick_opencl_info, member),                    \
   sizeof((wick_opencl_info *)NULL)->member}

static const struct {
  cl_device_info what;
  rule rule;
  size_t offset, size; /* in the description */
} answers[] = {
    ANSWER(CL_DEVICE_MAX_WORK_GROUP_SIZE, LEAST, max_group),
    ANSWER(CL_DEVICE_MAX_WORK_ITEM_SIZES, LEAST_SIZES, max_items),
    ANSWER(CL_DEVICE_LOCAL_MEM_SIZE, LEAST, local_memory),
    ANSWER(CL_DEVICE_MAX_MEM_ALLOC_SIZE, LEAST, max_alloc),
    ANSWER(CL_DEVICE_GLOBAL_MEM_SIZE, LEAST, memory),
    ANSWER(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, LEAST_UINT, float_width),
    ANSWER(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, LEAST_UINT, half_width),
    ANSWER(CL_DEVICE_MEM_BASE_ADDR_ALIGN, MOST_BITS, base_align),
    ANSWER(CL_DEVICE_TYPE, A_TYPE, type),
    ANSWER(CL_DEVICE_HOST_UNIFIED_MEMORY, BOTH, has_unified_memory),
};

static const cl_device_type types[] = {[WICK_OPENCL_CPU] = CL_DEVICE_TYPE_CPU,
                                       [WICK_OPENCL_GPU] = CL_DEVICE_TYPE_GPU,
                                       [WICK_OPENCL_ACCELERATOR] = CL_DEVICE_TYPE_ACCELERATOR};

static uint64_t described_number(const wick_opencl_info *d, size_t offset, size_t size) {
  uint64_t n = 0;
  memcpy(&n, (const char *)d + offset, size); /* the machine is little-endian */
  return n;
}

static void least_sizes(const wick_opencl_info *d, void *out, size_t size) {
  size_t n;
  for (size_t i = 0; i < 3 && (i + 1) * sizeof n <= size; i++) {
    memcpy(&n, (char *)out + i * sizeof n, sizeof n);
    if (n > d->max_items[i]) n = d->max_items[i];
    memcpy((char *)out + i * sizeof n, &n, sizeof n);
  }
}

static void change(rule r, uint64_t said, void *out) {
  cl_uint n;
  cl_ulong length;
  if (r == LEAST) {
    memcpy(&length, out, sizeof length);
    if (length > said) memcpy(out, &said, sizeof said);
    return;
  }
  if (r == A_TYPE) {
    memcpy(out, &types[said], sizeof types[said]);
    return;
  }
  memcpy(&n, out, sizeof n);
  if (r == LEAST_UINT && n > said) n = (cl_uint)said;
  if (r == MOST_BITS && n < 8 * said) n = (cl_uint)(8 * said);
  if (r == BOTH) n = n && said;
  memcpy(out, &n, sizeof n);
}

/* A name that stands in a list with blanks is taken out of it. */
static void take_out(char *list, const char *name) {
  size_t n = strlen(name);
  for (char *at = list; (at = strstr(at, name)); at++) {
    if ((at != list && at[-1] != ' ') || (at[n] != ' ' && at[n] != '\0')) continue;
    memmove(at, at + n, strlen(at + n) + 1);
    return;
  }
}

static void change_extensions(const wick_opencl_info *d, char *out) {
  if (!d->has_f64) take_out(out, "cl_khr_fp64");
  if (!d->has_f16) take_out(out, "cl_khr_fp16");
  if (!d->has_dot) take_out(out, "cl_khr_integer_dot_product");
}

static cl_int get_info(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *needed) {
  const wick_opencl_info *d = description();
  const strict_functions *under = strict_under();
  if (!under) return CL_INVALID_DEVICE;
  cl_int code = under->GetDeviceInfo(device, what, size, out, needed);
  if (code != CL_SUCCESS || !out || !d) return code;
  if (what == CL_DEVICE_EXTENSIONS) change_extensions(d, out);
  for (size_t i = 0; i < WICK_COUNTOF(answers); i++) {
    if (answers[i].what != what) continue;
    if (answers[i].rule == LEAST_SIZES) least_sizes(d, out, size);
    else change(answers[i].rule, described_number(d, answers[i].offset, answers[i].size), out);
  }
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what,
                                                size_t size, void *out, size_t *needed) {
  return get_info(device, what, size, out, needed);
}

/* ---- platforms ------------------------------------------------------------------------------- */

enum { NO_PLATFORM = -1001 }; /* CL_PLATFORM_NOT_FOUND_KHR */

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint n, cl_platform_id *out, cl_uint *count) {
  strict_call c;
  if (!strict_under()) return NO_PLATFORM;
  strict_begin(&c, "clGetPlatformIDs");
  strict_forward(&c);
  cl_int code = c.under->GetPlatformIDs(n, out, count);
  strict_resume(&c);
  strict_end(&c);
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id p, cl_platform_info what,
                                                  size_t size, void *out, size_t *needed) {
  const strict_functions *under = strict_under();
  return under ? under->GetPlatformInfo(p, what, size, out, needed) : CL_INVALID_PLATFORM;
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint n,
                                               cl_device_id *out, cl_uint *count) {
  const strict_functions *under = strict_under();
  return under ? under->GetDeviceIDs(p, type, n, out, count) : CL_INVALID_PLATFORM;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void ask(const strict_call *c, cl_device_id device, cl_device_info what, void *out,
                size_t size) {
  if (get_info(device, what, size, out, NULL) != CL_SUCCESS)
    strict_refuse(c, NULL, "the device does not say what its 0x%x is", what);
}

void strict_limits_of(const strict_call *c, cl_device_id device, strict_limits *out) {
  size_t items[16] = {0};
  ask(c, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &out->group, sizeof out->group);
  ask(c, device, CL_DEVICE_MAX_WORK_ITEM_SIZES, items, sizeof items);
  ask(c, device, CL_DEVICE_MAX_PARAMETER_SIZE, &out->parameters, sizeof out->parameters);
  ask(c, device, CL_DEVICE_LOCAL_MEM_SIZE, &out->local, sizeof out->local);
  ask(c, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &out->allocation, sizeof out->allocation);
  ask(c, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &out->align, sizeof out->align);
  memcpy(out->items, items, sizeof out->items);
  out->align /= 8;
}

void strict_check_device(const strict_call *c, const strict_object *context, cl_device_id device) {
  for (size_t i = 0; i < context->of.devices.n; i++)
    if (context->of.devices.data[i] == device) return;
  strict_refuse(c, context, "it does not have device %p", (void *)device);
}

void strict_answer(const void *handle, cl_int code, void *out) {
  if (code == CL_SUCCESS && out) memcpy(out, &handle, sizeof handle);
}

/* ---- contexts -------------------------------------------------------------------------------- */

CL_API_ENTRY cl_context CL_API_CALL
clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
                cl_int *code) {
  strict_call c;
  strict_begin(&c, "clCreateContext");
  if (n == 0 || !devices) strict_refuse(&c, NULL, "there are no devices");
  strict_forward(&c);
  cl_context real = c.under->CreateContext(properties, n, devices, notify, user, code);
  strict_resume(&c);
  strict_object *o = strict_make(&c, STRICT_CONTEXT, NULL, real);
  for (cl_uint i = 0; o && i < n; i++) STRICT_ADD(&o->of.devices, devices[i]);
  strict_end(&c);
  return (cl_context)o;
}

#define COUNTED(verb, name, type, kind, function)                \
  CL_API_ENTRY cl_int CL_API_CALL cl##verb##name(type handle) {  \
    strict_call c;                                               \
    strict_begin(&c, "cl" #verb #name);                          \
    type real = (type)function(&c, handle, kind);                \
    strict_forward(&c);                                          \
    cl_int code = c.under->verb##name(real);                     \
    strict_resume(&c);                                           \
    strict_end(&c);                                              \
    return code;                                                 \
  }
#define COUNTED_BOTH(name, type, kind)                 \
  COUNTED(Retain, name, type, kind, strict_retain)     \
  COUNTED(Release, name, type, kind, strict_release)

COUNTED_BOTH(Context, cl_context, STRICT_CONTEXT)
COUNTED_BOTH(CommandQueue, cl_command_queue, STRICT_QUEUE)
COUNTED_BOTH(MemObject, cl_mem, STRICT_MEMORY)
COUNTED_BOTH(Program, cl_program, STRICT_PROGRAM)
COUNTED_BOTH(Kernel, cl_kernel, STRICT_KERNEL)
COUNTED_BOTH(Event, cl_event, STRICT_EVENT)
