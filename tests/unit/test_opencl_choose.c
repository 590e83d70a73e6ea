/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several OpenCL devices runs a unit: the code of the runtime, with devices of the test's
 * own, of which each may lack one thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define wick_opencl_list list_of_test
#define wick_cl_device_of device_of_test
#define wick_cl_choose choose_of_test
#include "runtime/opencl/choose.c"

enum { DEVICES = 4 };
static wick_opencl_info devices[DEVICES];
static uint32_t device_count;

wick_status list_of_test(const wick_opencl_info **list, uint32_t *count,
                         wick_error_detail *error) {
  *list = devices;
  *count = device_count;
  return device_count ? WICK_OK : wick_fail(error, WICK_NO_DEVICE, "no device");
}

wick_cl_device device_of_test(uint32_t index) {
  return (wick_cl_device){.info = &devices[index]};
}

/* Two of one name, in between a processor, at last something else. */
static void reset(void) {
  static const char *const names[DEVICES] = {"Alpha 10", "Beta", "Alpha 10", "Gamma 3"};
  static const wick_opencl_type types[DEVICES] = {WICK_OPENCL_GPU, WICK_OPENCL_CPU, WICK_OPENCL_GPU,
                                                  WICK_OPENCL_ACCELERATOR};
  device_count = DEVICES;
  for (int i = 0; i < DEVICES; i++) {
    devices[i] = (wick_opencl_info){
        .type = types[i], .max_group = 256, .max_items = {256, 128, 64}, .base_align = 128,
        .subgroup = 32, .memory = 1 << 20, .max_alloc = 1 << 18, .local_memory = 1 << 15,
        .has_f64 = 1, .has_f16 = 1, .has_dot = 1};
    snprintf(devices[i].name, sizeof devices[i].name, "%s", names[i]);
  }
  unsetenv("WICK_OPENCL_DEVICE");
}

/* All that the devices have. */
static const wick_cl_needs everything = {
    .flags = WICK_CL_NEEDS_F64 | WICK_CL_NEEDS_F16 | WICK_CL_NEEDS_DOT | WICK_CL_NEEDS_SUBGROUPS |
             WICK_CL_NEEDS_MATRIX,
    .base_align = 128, .max_group = 256, .max_items = {256, 128, 64}, .type = WICK_OPENCL_CPU,
    .local_bytes = 1 << 15, .largest = 1 << 18, .arena_bytes = 1 << 20};

/* The index, or -1 with the message in `said`. */
static wick_error_detail said;
static int chosen(const wick_cl_needs *needs, const char *spec) {
  wick_cl_device d = {0};
  wick_status s = choose_of_test(needs, spec, &d, &said);
  if (s == WICK_OK) return (int)(d.info - devices);
  assert_int_equal(s, device_count ? WICK_BAD_MACHINE : WICK_NO_DEVICE);
  return -1;
}
static int of_type(wick_opencl_type type, const char *spec) {
  wick_cl_needs n = everything;
  n.type = type;
  return chosen(&n, spec);
}

static void prefers_its_own(void **state) {
  (void)state;
  reset();
  assert_int_equal(of_type(WICK_OPENCL_CPU, "Alpha 10"), 0); /* the name before the type */
  assert_int_equal(of_type(WICK_OPENCL_CPU, "Alpha 10#2"), 2);
  assert_int_equal(of_type(WICK_OPENCL_CPU, "Gamma 3"), 3);
  assert_int_equal(of_type(WICK_OPENCL_CPU, "Alpha"), 1); /* no part of a name */
  assert_int_equal(of_type(WICK_OPENCL_CPU, "alpha 10"), 1);
  assert_int_equal(of_type(WICK_OPENCL_CPU, "Alpha 10#3"), 1);
  assert_int_equal(of_type(WICK_OPENCL_GPU, "any"), 0); /* the first of them */
  assert_int_equal(of_type(WICK_OPENCL_ACCELERATOR, "any"), 3);
  assert_int_equal(of_type(0, "any"), 0); /* of no type that is there: the first of all */
  devices[0].has_f64 = 0;
  assert_int_equal(of_type(WICK_OPENCL_GPU, "Alpha 10"), 2);
  assert_int_equal(of_type(WICK_OPENCL_GPU, "any"), 2);
  assert_int_equal(of_type(0, "any"), 1);
  devices[2].has_f64 = devices[1].has_f64 = 0;
  assert_int_equal(of_type(WICK_OPENCL_GPU, "Alpha 10"), 3);
  devices[0].has_f64 = devices[1].has_f64 = devices[2].has_f64 = 1;
  devices[3].has_f64 = 0;
  assert_int_equal(of_type(WICK_OPENCL_ACCELERATOR, "Gamma 3"), 0);
  device_count = 0;
  assert_int_equal(of_type(WICK_OPENCL_GPU, "any"), -1);
  assert_string_equal(said.text, "no device");
}

/* Kernels compute without matrix units, but for compilers of NVIDIA's, which get PTX. */
static void lacks_matrix_units(void **state) {
  (void)state;
  reset();
  for (int i = 0; i < 4; i++) snprintf(devices[i].vendor, sizeof devices->vendor, "NVIDIA Corp.");
  devices[3].has_matrix = 1;
  assert_int_equal(of_type(WICK_OPENCL_CPU, "any"), 3);
  devices[3].has_matrix = 0;
  assert_int_equal(of_type(WICK_OPENCL_CPU, "any"), -1);
  assert_non_null(strstr(said.text, "lacks matrix units (compute capability 8.0)"));
  devices[1].vendor[0] = 'n';
  assert_int_equal(of_type(WICK_OPENCL_CPU, "any"), 1);
}

/* Each thing that a device may lack: with all that is needed it is taken, with less by one not. */
static void lacks_one_thing(void **state) {
  (void)state;
  const struct { size_t offset; int size; uint64_t less; const char *what;
  } things[] = {
#define THING(field, less, what) \
  {offsetof(wick_opencl_info, field), sizeof devices->field, less, what}
      THING(has_f64, 0, "f64 (cl_khr_fp64)"),
      THING(has_f16, 0, "f16 (cl_khr_fp16)"),
      THING(has_dot, 0, "cl_khr_integer_dot_product"),
      THING(subgroup, 0, "subgroups"),
      THING(max_group, 255, "256 work items of a group"),
      THING(max_items[0], 255, "256 work items along dimension 0"),
      THING(max_items[1], 127, "128 work items along dimension 1"),
      THING(max_items[2], 63, "64 work items along dimension 2"),
      THING(local_memory, (1 << 15) - 1, "32768 bytes of local memory"),
      THING(max_alloc, (1 << 18) - 1, "262144 bytes in one allocation"),
      THING(memory, (1 << 20) - 1, "1048576 bytes of memory"),
#undef THING
  };
  for (size_t i = 0; i < WICK_COUNTOF(things); i++) {
    char want[160];
    reset();
    memcpy((char *)&devices[1] + things[i].offset, &things[i].less, (size_t)things[i].size);
    assert_int_equal(chosen(&everything, "Beta"), 0); /* another one */
    device_count = 1;
    devices[0] = devices[1];
    assert_int_equal(chosen(&everything, "Beta"), -1);
    snprintf(want, sizeof want, "OpenCL device 'Beta' lacks %s", things[i].what);
    assert_string_equal(said.text, want);
    setenv("WICK_OPENCL_DEVICE", "bet", 1);
    assert_int_equal(chosen(&everything, "any"), -1);
    snprintf(want, sizeof want, "OpenCL device 'Beta' (WICK_OPENCL_DEVICE) lacks %s",
             things[i].what);
    assert_string_equal(said.text, want);
    unsetenv("WICK_OPENCL_DEVICE");
  }
}

/* Needs nothing of it. */
static void is_not_asked(void **state) {
  (void)state;
  const wick_cl_needs little = {.base_align = 128};
  reset();
  device_count = 1;
  devices[0].has_f64 = devices[0].has_f16 = devices[0].has_dot = 0;
  devices[0].subgroup = devices[0].max_group = 0;
  devices[0].memory = devices[0].max_alloc = devices[0].local_memory = 0;
  devices[0].base_align = 4096; /* offsets need not be multiples of it */
  assert_int_equal(chosen(&little, "any"), 0);
}

static void takes_the_named_one(void **state) {
  (void)state;
  static const struct { const char *name; int index;
  } cases[] = {{"0", 0},       {"1", 1},      {"3", 3},          {"4", -1},
               {"alpha", 0},   {"10", -1},    {"pha 1", 0},      {"GAMMA", 3},
               {"3a", -1},     {"delta", -1}, {"opencl:2", 2},   {"opencl:beta", 1},
               {"opencl:4", -1}, {"opencl:delta", -1}, {"opencl", -1}, {"18446744073709551615", -1},
               {"", 1}};
  for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
    char want[160];
    reset();
    setenv("WICK_OPENCL_DEVICE", cases[i].name, 1);
    if (chosen(&everything, "Beta") != cases[i].index) fail_msg("%s", cases[i].name);
    if (cases[i].index >= 0) continue;
    snprintf(want, sizeof want, "WICK_OPENCL_DEVICE=%s is none of the OpenCL devices (0 .. 3)",
             cases[i].name);
    assert_string_equal(said.text, want);
  }
  reset();
}

/* What each of them lacks first, as far as there is room for it. */
static void says_why(void **state) {
  (void)state;
  reset();
  device_count = 3;
  devices[0].has_f16 = 0;
  devices[1].has_f64 = devices[1].has_f16 = 0;
  devices[2].memory = 0;
  assert_int_equal(chosen(&everything, "any"), -1);
  assert_string_equal(said.text, "OpenCL device 'Alpha 10' lacks f16 (cl_khr_fp16), 'Beta' lacks "
                                 "f64 (cl_khr_fp64), 'Alpha 10' lacks 1048576 bytes of memory");
  for (int i = 0; i < 3; i++) {
    memset(devices[i].name, 'a' + i, sizeof devices[i].name - 1);
    devices[i].has_f16 = 0;
  }
  assert_int_equal(chosen(&everything, "any"), -1);
  assert_int_equal(strlen(said.text), sizeof said.text - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prefers_its_own),     cmocka_unit_test(lacks_matrix_units),
      cmocka_unit_test(lacks_one_thing),
      cmocka_unit_test(is_not_asked),        cmocka_unit_test(takes_the_named_one),
      cmocka_unit_test(says_why)};
  return cmocka_run_group_tests_name("opencl choose", tests, NULL, NULL);
}
