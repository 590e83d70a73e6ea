/* SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"

/* Of vendors' extensions. */
enum {
  COMPUTE_CAPABILITY_NV = 0x4000, /* the major number */
  WARP_SIZE_NV = 0x4003,
  WAVEFRONT_WIDTH_AMD = 0x4043,
  SUB_GROUP_SIZES_INTEL = 0x4108
};

static struct {
  pthread_once_t once;
  wick_opencl_info info[WICK_OPENCL_MAX_DEVICES];
  wick_cl_device handles[WICK_OPENCL_MAX_DEVICES];
  uint32_t count;
  wick_error_detail why;
} devices = {.once = PTHREAD_ONCE_INIT};

/* ---- what a device says ---------------------------------------------------------------------- */

static bool ask(const wick_cl_device *d, cl_device_info what, void *out, size_t size) {
  return d->cl->GetDeviceInfo(d->device, what, size, out, NULL) == CL_SUCCESS;
}

static uint32_t ask_u32(const wick_cl_device *d, cl_device_info what) {
  cl_uint n = 0;
  return ask(d, what, &n, sizeof n) ? n : 0;
}

static uint64_t ask_u64(const wick_cl_device *d, cl_device_info what) {
  cl_ulong n = 0;
  return ask(d, what, &n, sizeof n) ? n : 0;
}

static uint32_t narrow(size_t n) { return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX; }

/* Texts are cut where they are too long, blanks around them are dropped, and what is no printable
 * ASCII becomes '?'. */
static void keep_text(char *to, size_t size, const char *from) {
  while (*from == ' ') from++;
  size_t n = strnlen(from, size - 1);
  while (n > 0 && from[n - 1] == ' ') n--;
  for (size_t i = 0; i < n; i++) to[i] = from[i] < ' ' || from[i] > '~' ? '?' : from[i];
  to[n] = '\0';
}

static void ask_texts(const wick_cl_device *d, wick_opencl_info *out) {
  static const struct {
    cl_device_info what;
    size_t offset, size;
  } texts[] = {
#define TEXT(what, field) \
  {what, offsetof(wick_opencl_info, field), sizeof((wick_opencl_info *)NULL)->field}
      TEXT(CL_DEVICE_NAME, name),
      TEXT(CL_DEVICE_VENDOR, vendor),
      TEXT(CL_DRIVER_VERSION, driver),
      TEXT(CL_DEVICE_VERSION, version),
#undef TEXT
  };
  char text[1024];
  for (size_t i = 0; i < WICK_COUNTOF(texts); i++) {
    memset(text, 0, sizeof text);
    ask(d, texts[i].what, text, sizeof text - 1);
    keep_text((char *)out + texts[i].offset, texts[i].size, text);
  }
  memset(text, 0, sizeof text);
  d->cl->GetPlatformInfo(d->platform, CL_PLATFORM_NAME, sizeof text - 1, text, NULL);
  keep_text(out->platform, sizeof out->platform, text);
}

static wick_opencl_type ask_type(const wick_cl_device *d) {
  cl_device_type type = ask_u64(d, CL_DEVICE_TYPE) & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT;
  return type == CL_DEVICE_TYPE_CPU   ? WICK_OPENCL_CPU
         : type == CL_DEVICE_TYPE_GPU ? WICK_OPENCL_GPU
                                      : WICK_OPENCL_ACCELERATOR;
}

static void ask_groups(const wick_cl_device *d, wick_opencl_info *out) {
  size_t group = 0, items[16] = {0};
  if (ask(d, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group)) out->max_group = narrow(group);
  ask(d, CL_DEVICE_MAX_WORK_ITEM_SIZES, items, sizeof items);
  for (int i = 0; i < 3; i++) out->max_items[i] = narrow(items[i]);
}

static void ask_sizes(const wick_cl_device *d, wick_opencl_info *out) {
  out->units = ask_u32(d, CL_DEVICE_MAX_COMPUTE_UNITS);
  out->clock_mhz = ask_u32(d, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  out->base_align = ask_u32(d, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  if (out->base_align == 0) out->base_align = 1;
  out->float_width = ask_u32(d, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  if (out->float_width == 0) out->float_width = 1;
  out->half_width = ask_u32(d, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF);
  out->memory = ask_u64(d, CL_DEVICE_GLOBAL_MEM_SIZE);
  out->max_alloc = ask_u64(d, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  out->local_memory = ask_u64(d, CL_DEVICE_LOCAL_MEM_SIZE);
  out->has_unified_memory = ask_u32(d, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
}

/* One name of a list with blanks between them. */
static bool lists(const char *extensions, const char *name) {
  size_t n = strlen(name);
  for (const char *at = extensions; (at = strstr(at, name)); at += n)
    if ((at == extensions || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
  return false;
}

static uint32_t ask_subgroup(const wick_cl_device *d, const char *extensions) {
  size_t sizes[16] = {0}, most = 0;
  if (!lists(extensions, "cl_khr_subgroups") && !lists(extensions, "cl_intel_subgroups")) return 0;
  if (lists(extensions, "cl_nv_device_attribute_query")) return ask_u32(d, WARP_SIZE_NV);
  if (lists(extensions, "cl_amd_device_attribute_query")) return ask_u32(d, WAVEFRONT_WIDTH_AMD);
  ask(d, SUB_GROUP_SIZES_INTEL, sizes, sizeof sizes);
  for (size_t i = 0; i < WICK_COUNTOF(sizes); i++)
    if (sizes[i] > most) most = sizes[i];
  return narrow(most);
}

static bool ask_dot(const wick_cl_device *d, const char *extensions) {
  return lists(extensions, "cl_khr_integer_dot_product") &&
         ask_u64(d, CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR) &
             CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR;
}

static bool ask_matrix(const wick_cl_device *d, const char *extensions) {
  return lists(extensions, "cl_nv_device_attribute_query") &&
         ask_u32(d, COMPUTE_CAPABILITY_NV) >= 8;
}

static void ask_extensions(const wick_cl_device *d, wick_opencl_info *out) {
  size_t size = 0;
  if (d->cl->GetDeviceInfo(d->device, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS) return;
  char *text = calloc(size + 1, 1);
  if (!text) return;
  ask(d, CL_DEVICE_EXTENSIONS, text, size);
  out->has_f64 = lists(text, "cl_khr_fp64");
  out->has_f16 = lists(text, "cl_khr_fp16");
  out->has_dot = ask_dot(d, text);
  out->has_matrix = ask_matrix(d, text);
  out->subgroup = ask_subgroup(d, text);
  if (!out->has_f16) out->half_width = 0;
  free(text);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void add_device(wick_cl_device d) {
  wick_opencl_info *out = &devices.info[devices.count];
  if (devices.count == WICK_OPENCL_MAX_DEVICES || !ask_u32(&d, CL_DEVICE_AVAILABLE) ||
      !ask_u32(&d, CL_DEVICE_COMPILER_AVAILABLE))
    return;
  ask_texts(&d, out);
  out->type = ask_type(&d);
  ask_groups(&d, out);
  ask_sizes(&d, out);
  ask_extensions(&d, out);
  d.info = out;
  devices.handles[devices.count++] = d;
}

static void find_devices(void) {
  const wick_cl *cl = wick_cl_get(&devices.why);
  cl_platform_id platforms[WICK_OPENCL_MAX_DEVICES];
  cl_device_id ids[WICK_OPENCL_MAX_DEVICES];
  cl_uint n = 0;
  if (!cl) return;
  if (cl->GetPlatformIDs(WICK_OPENCL_MAX_DEVICES, platforms, &n) != CL_SUCCESS) n = 0;
  for (cl_uint p = 0; p < n && p < WICK_OPENCL_MAX_DEVICES; p++) {
    cl_uint count = 0;
    if (cl->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, WICK_OPENCL_MAX_DEVICES, ids,
                         &count) != CL_SUCCESS)
      continue;
    for (cl_uint i = 0; i < count && i < WICK_OPENCL_MAX_DEVICES; i++)
      add_device((wick_cl_device){.cl = cl, .platform = platforms[p], .device = ids[i]});
  }
  if (devices.count == 0)
    wick_fail(&devices.why, WICK_NO_DEVICE, "no OpenCL platform has a device; on Debian: apt-get "
              "install pocl-opencl-icd");
}

void wick_opencl_spec(const wick_opencl_info *list, uint32_t index, char *out, size_t size) {
  uint32_t same = 1;
  for (uint32_t i = 0; i < index; i++) same += strcmp(list[i].name, list[index].name) == 0;
  if (same == 1) snprintf(out, size, "%s", list[index].name);
  else snprintf(out, size, "%s#%u", list[index].name, same);
}

wick_status wick_opencl_list(const wick_opencl_info **list, uint32_t *count,
                             wick_error_detail *error) {
  pthread_once(&devices.once, find_devices);
  if (devices.count == 0) {
    if (error) *error = devices.why;
    return WICK_NO_DEVICE;
  }
  *list = devices.info;
  *count = devices.count;
  return WICK_OK;
}

wick_cl_device wick_cl_device_of(uint32_t index) { return devices.handles[index]; }
