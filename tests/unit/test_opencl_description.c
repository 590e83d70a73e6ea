/* SPDX-License-Identifier: Apache-2.0
 * Descriptions of OpenCL devices: written and read again, and what is said of files that are
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/opencl/description.h"

static const wick_opencl_info device = {
    .name = "Some \"GPU\"", .vendor = "Somebody", .platform = "Here", .driver = "1.2",
    .version = "OpenCL 1.2", .type = WICK_OPENCL_GPU, .units = 12, .clock_mhz = 1500,
    .max_group = 256, .max_items = {256, 128, 64}, .base_align = 128, .float_width = 1,
    .half_width = 2, .subgroup = 32, .memory = 1ull << 40, .max_alloc = 1ull << 38,
    .local_memory = 49152, .has_f64 = 1, .has_dot = 1};

static char path[] = "/tmp/wick-description-XXXXXX";

static int make_file(void **state) {
  (void)state;
  int f = mkstemp(path);
  return f < 0 || close(f) != 0;
}

static int remove_file(void **state) {
  (void)state;
  return unlink(path);
}

static void write_text(const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

/* The device's description with one key set to `value`, JSON, or without it (NULL). */
static void write_changed(const char *key, const char *value) {
  json_t *o = wk_opencl_describe_json(&device);
  if (value) json_object_set_new(o, key, json_loads(value, JSON_DECODE_ANY, NULL));
  else if (key) json_object_del(o, key);
  char *text = json_dumps(o, 0);
  write_text(text);
  free(text);
  json_decref(o);
}

static void expect_refusal(const char *why) {
  wick_opencl_info info = device;
  wk_status s = wk_opencl_read_json(path, &info);
  assert_non_null(s);
  assert_string_equal(s->place, path);
  if (strcmp(s->message, why)) fail_msg("says '%s', not '%s'", s->message, why);
  assert_memory_equal(&info, &device, sizeof info);
  wk_status_free(s);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  wick_opencl_info info = {0};
  write_changed(NULL, NULL);
  wk_status s = wk_opencl_read_json(path, &info);
  if (s) fail_msg("%s", s->message);
  assert_string_equal(info.name, device.name);
  assert_string_equal(info.version, device.version);
  assert_int_equal(info.type, device.type);
  assert_int_equal(info.units, device.units);
  assert_memory_equal(info.max_items, device.max_items, sizeof info.max_items);
  assert_int_equal(info.memory, device.memory);
  assert_int_equal(info.local_memory, device.local_memory);
  assert_int_equal(info.subgroup, device.subgroup);
  assert_true(info.has_f64 && info.has_dot && !info.has_f16 && !info.has_unified_memory);
}

static void keys_are_named(void **state) {
  static const struct {
    const char *key, *value, *why;
  } cases[] = {
      {"units", NULL, "key 'units': is missing"},
      {"units", "0", "key 'units': is no integer of 1 to 4294967295"},
      {"units", "4294967296", "key 'units': is no integer of 1 to 4294967295"},
      {"units", "1.5", "key 'units': is no integer of 1 to 4294967295"},
      {"memory", "-1", "key 'memory': is no integer of 0 to 9223372036854775807"},
      {"name", "\"\"", "key 'name': a text of 1 to 127 bytes"},
      {"name", "7", "key 'name': is no text"},
      {"type", "\"tpu\"", "key 'type': is none of \"cpu\", \"gpu\", \"accelerator\""},
      {"max_items", "[1, 2]", "key 'max_items': is no list of 3 integers"},
      {"max_items", "[1, 2, 0]", "key 'max_items': is no integer of 1 to 4294967295"},
      {"base_align", "96", "key 'base_align': is no power of two"},
      {"f16", "1", "key 'f16': is neither true nor false"},
      {"colour", "1", "key 'colour': is unknown"},
      {"version", "2", "key 'version': this Wick reads version 1"},
      {"wick", "\"sim\"", "key 'wick': is not \"opencl-device\" ('wick devices --json --device "
       "opencl:0' writes such a file)"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_changed(cases[i].key, cases[i].value);
    expect_refusal(cases[i].why);
  }
}

static void other_files_are_refused(void **state) {
  (void)state;
  wick_opencl_info info;
  write_text("{\"wick\": \"opencl-device\",\n}");
  wk_status s = wk_opencl_read_json(path, &info);
  assert_non_null(s);
  assert_non_null(strstr(s->message, "line 2: is no JSON"));
  wk_status_free(s);
  write_text("[]");
  expect_refusal("key 'wick': is not \"opencl-device\" ('wick devices --json --device opencl:0' "
                 "writes such a file)");
  s = wk_opencl_read_json("/nonexistent/device.json", &info);
  assert_non_null(s);
  assert_int_equal(s->code, WK_IO);
  wk_status_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(keys_are_named),
      cmocka_unit_test(other_files_are_refused),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
