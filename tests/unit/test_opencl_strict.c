/* SPDX-License-Identifier: Apache-2.0
 * tests/opencl_strict, which stands before the OpenCL of other tests: it refuses each of the calls
 * of opencl_strict.def with one line, lets others through, and passes for a smaller device. */

#include "tests/unit/remove_folder.h"
#include "tests/unit/opencl_strict.h"
#include "targets/opencl/description.h"

static char folder[] = "/tmp/wick-opencl-strict-XXXXXX";

/* ---- threads --------------------------------------------------------------------------------- */

enum { OFTEN = 10000000, BUILDS = 100 };

static void *set_often(void *data) {
  world *w = data;
  const cl_int n = 1;
  for (int i = 0; i < OFTEN; i++) w->cl.SetKernelArg(w->twice, 2, sizeof n, &n);
  return NULL;
}

static void *build_often(void *data) {
  world *w = data;
  for (int i = 0; i < BUILDS; i++) w->cl.BuildProgram(w->program, 0, NULL, "", NULL, NULL);
  return NULL;
}

static void in_two_threads(world *w, void *(*work)(void *)) {
  pthread_t other;
  if (pthread_create(&other, NULL, work, w) != 0) _exit(6);
  work(w);
  pthread_join(other, NULL);
}

/* ---- cases ----------------------------------------------------------------------------------- */

#define COMMA ,
#define REFUSED(name, line, ...) \
  static void name(world *w) { __VA_ARGS__ }
#define TAKEN(name, ...) \
  static void name(world *w) { __VA_ARGS__ }
#include "tests/unit/opencl_strict.def"
#undef REFUSED
#undef TAKEN

static const strict_case cases[] = {
#define REFUSED(name, line, ...) {#name, name, line},
#define TAKEN(name, ...) {#name, name, NULL},
#include "tests/unit/opencl_strict.def"
#undef REFUSED
#undef TAKEN
};

static void need_device(void) {
  char said[4096];
  unsetenv("WICK_STRICT_DEVICE");
  int status = run_case(NULL, said, sizeof said);
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DEVICE) {
    print_message("skipped: there is no OpenCL device\n");
    skip();
  }
  if (status != 0 || *said) fail_msg("nothing is done: status 0x%x, %s", status, said);
}

static void cases_are_as_they_say(void **state) {
  (void)state;
  need_device();
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) expect_case(&cases[i]);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* All that the runtime takes, and none of OpenCL 2. */
static void functions_are_those_of_1_2(void **state) {
  static const char *const there[] = {
#define WICK_X(name) "cl" #name,
      WICK_CL_FUNCTIONS(WICK_X)
#undef WICK_X
  };
  static const char *const newer[] = {
      "clCreateCommandQueueWithProperties", "clSVMAlloc", "clEnqueueSVMMap",
      "clSetKernelArgSVMPointer", "clCreatePipe", "clCloneKernel", "clCreateBufferWithProperties",
      "clCreateProgramWithIL", "clGetExtensionFunctionAddress"};
  (void)state;
  void *object = dlopen(WICK_OPENCL_STRICT, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(object);
  for (size_t i = 0; i < WICK_COUNTOF(there); i++)
    if (!dlsym(object, there[i])) fail_msg("%s is missing", there[i]);
  for (size_t i = 0; i < WICK_COUNTOF(newer); i++)
    if (dlsym(object, newer[i])) fail_msg("%s is there", newer[i]);
  dlclose(object);
}

/* ---- devices that it passes for -------------------------------------------------------------- */

static void describe(const wick_opencl_info *info) {
  char path[80];
  snprintf(path, sizeof path, "%s/device.json", folder);
  json_t *o = wk_opencl_describe_json(info);
  assert_int_equal(json_dump_file(o, path, 0), 0);
  json_decref(o);
  setenv("WICK_STRICT_DEVICE", path, 1);
}

static const wick_opencl_info small = {
    .name = "small", .type = WICK_OPENCL_GPU, .units = 1, .max_group = 8, .max_items = {8, 4, 2},
    .base_align = 2048, .float_width = 1, .memory = 1 << 20, .max_alloc = 8192,
    .local_memory = 4064};

static void launch_sixteen(world *w) { launch(w, w->q, w->twice, 16, 16); }

static void launch_long(world *w) {
  const size_t n[] = {1, 8};
  w->cl.EnqueueNDRangeKernel(w->q, w->twice, 2, NULL, n, n, 0, NULL, NULL);
}

static void launch_local(world *w) {
  cl_kernel k = kernel_of(w, "fours");
  w->cl.SetKernelArg(k, 0, sizeof w->x, &w->x);
  w->cl.SetKernelArg(k, 1, 65, NULL);
  launch(w, w->q, k, 4, 4);
}

static void allocate(world *w) { buffer_of(w, w->context, 0, 8193, NULL); }

static void cut(world *w) { piece_of(w, w->x, 1024, 64); }

static void ask(world *w) {
  size_t group, items[16];
  cl_ulong local, alloc, memory;
  cl_uint align, width;
  cl_device_type type;
  cl_bool unified;
  char extensions[8192];
#define ASK(what, out) \
  expect(w->cl.GetDeviceInfo(w->device, what, sizeof out, &out, NULL))
  ASK(CL_DEVICE_MAX_WORK_GROUP_SIZE, group);
  ASK(CL_DEVICE_MAX_WORK_ITEM_SIZES, items);
  ASK(CL_DEVICE_LOCAL_MEM_SIZE, local);
  ASK(CL_DEVICE_MAX_MEM_ALLOC_SIZE, alloc);
  ASK(CL_DEVICE_GLOBAL_MEM_SIZE, memory);
  ASK(CL_DEVICE_MEM_BASE_ADDR_ALIGN, align);
  ASK(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, width);
  ASK(CL_DEVICE_TYPE, type);
  ASK(CL_DEVICE_HOST_UNIFIED_MEMORY, unified);
  ASK(CL_DEVICE_EXTENSIONS, extensions);
#undef ASK
  if (group != 8 || items[0] != 8 || items[1] != 4 || items[2] != 2) _exit(10);
  if (local != 4064 || alloc != 8192 || memory != 1 << 20) _exit(11);
  if (align != 8 * 2048 || type != CL_DEVICE_TYPE_GPU || unified) _exit(12);
  if (width != 1 || strstr(extensions, "cl_khr_fp64")) _exit(13);
}

static const strict_case small_cases[] = {
    {"a large group", launch_sixteen, "16 work items of a group along dimension 0, the device has"},
    {"a long group", launch_long, "8 work items of a group along dimension 1, the device has 4"},
    {"local memory", launch_local, "4065 bytes of local memory, the device has 4064"},
    {"an allocation", allocate, "a buffer of 8193 bytes, the device has 8192 at most"},
    {"an alignment", cut, "a piece at 1024, the device wants multiples of 2048"},
    {"what it says", ask, NULL},
};

static void devices_may_be_smaller(void **state) {
  (void)state;
  need_device();
  describe(&small);
  for (size_t i = 0; i < WICK_COUNTOF(small_cases); i++) expect_case(&small_cases[i]);
  setenv("WICK_STRICT_DEVICE", "/nonexistent.json", 1);
  const strict_case no_file = {"no file", NULL, "WICK_STRICT_DEVICE: /nonexistent.json: cannot"};
  expect_case(&no_file);
  unsetenv("WICK_STRICT_DEVICE");
}

static void libraries_may_be_missing(void **state) {
  char said[4096];
  (void)state;
  setenv("WICK_STRICT_UNDER", "/nonexistent.so", 1);
  int status = run_case(NULL, said, sizeof said);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == NO_DEVICE);
  assert_non_null(strstr(said, "strict OpenCL: WICK_STRICT_UNDER: /nonexistent.so: "));
  unsetenv("WICK_STRICT_UNDER");
}

/* ---- caches ---------------------------------------------------------------------------------- */

static int prepare(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  return setenv("POCL_CACHE_DIR", folder, 1);
}

static int clean(void **state) {
  (void)state;
  return remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_those_of_1_2),
      cmocka_unit_test(cases_are_as_they_say),
      cmocka_unit_test(devices_may_be_smaller),
      cmocka_unit_test(libraries_may_be_missing),
  };
  return cmocka_run_group_tests(tests, prepare, clean);
}
