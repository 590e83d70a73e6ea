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

static void expect_read(const wick_opencl_info *want) {
  wick_opencl_info info = {0};
  wk_status s = wk_opencl_read_json(path, &info);
  if (s) fail_msg("%s", s->message);
  assert_memory_equal(&info, want, sizeof info);
}

/* Each type, and each flag alone. */
static void what_is_written_is_read(void **state) {
  (void)state;
  for (int k = 0; k < 8; k++) {
    wick_opencl_info info = device;
    info.has_f64 = k == 3, info.has_f16 = k == 4, info.has_dot = k == 5;
    info.has_unified_memory = k == 6, info.has_matrix = k == 7;
    info.type = k == 0 ? WICK_OPENCL_CPU : k == 1 ? WICK_OPENCL_GPU : WICK_OPENCL_ACCELERATOR;
    json_t *o = wk_opencl_describe_json(&info);
    assert_int_equal(json_dump_file(o, path, 0), 0);
    json_decref(o);
    expect_read(&info);
  }
}

/* Files that other versions of Wick wrote have the same keys. */
static void the_text(void **state) {
  (void)state;
  json_t *o = wk_opencl_describe_json(&device);
  char *text = json_dumps(o, JSON_COMPACT);
  assert_string_equal(
      text,
      "{\"wick\":\"opencl-device\",\"version\":1,\"name\":\"Some \\\"GPU\\\"\","
      "\"vendor\":\"Somebody\",\"platform\":\"Here\",\"driver\":\"1.2\","
      "\"opencl_version\":\"OpenCL 1.2\",\"type\":\"gpu\",\"units\":12,\"clock_mhz\":1500,"
      "\"max_group\":256,\"max_items\":[256,128,64],\"base_align\":128,\"float_width\":1,"
      "\"half_width\":2,\"subgroup\":32,\"memory\":1099511627776,\"max_alloc\":274877906944,"
      "\"local_memory\":49152,\"f64\":true,\"f16\":false,\"dot\":true,"
      "\"unified_memory\":false}");
  free(text);
  json_decref(o);
}

/* Each number at both ends of its range, and one past each. */
static void ranges(void **state) {
  static const struct {
    const char *key, *least, *less, *most, *more, *range;
  } cases[] = {
#define U32_FROM_1 "1", "0", "4294967295", "4294967296", "1 to 4294967295"
#define U32_FROM_0 "0", "-1", "4294967295", "4294967296", "0 to 4294967295"
#define U64 "0", "-1", "9223372036854775807", NULL, "0 to 9223372036854775807"
      {"units", U32_FROM_1},
      {"clock_mhz", U32_FROM_0},
      {"max_group", U32_FROM_1},
      {"base_align", "1", "0", "1048576", "1048577", "1 to 1048576"},
      {"float_width", "1", "0", "1024", "1025", "1 to 1024"},
      {"half_width", "0", "-1", "1024", "1025", "0 to 1024"},
      {"subgroup", "0", "-1", "1024", "1025", "0 to 1024"},
      {"memory", U64},
      {"max_alloc", U64},
      {"local_memory", U64},
      {"max_items", "[1, 1, 1]", "[0, 1, 1]", "[4294967295, 4294967295, 4294967295]",
       "[1, 4294967296, 1]", "1 to 4294967295"},
      {"max_items", "[1, 2, 3]", "[1, 1, -1]", "[7, 8, 9]", "[1, 1, 4294967296]",
       "1 to 4294967295"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char why[128];
    snprintf(why, sizeof why, "key '%s': is no integer of %s", cases[i].key, cases[i].range);
    wick_opencl_info info;
    for (int k = 0; k < 2; k++) {
      write_changed(cases[i].key, k ? cases[i].most : cases[i].least);
      wk_status s = wk_opencl_read_json(path, &info);
      if (s) fail_msg("%s: %s", cases[i].key, s->message);
      json_t *o = wk_opencl_describe_json(&info);
      json_t *want = json_loads(k ? cases[i].most : cases[i].least, JSON_DECODE_ANY, NULL);
      if (!json_equal(json_object_get(o, cases[i].key), want)) fail_msg("%s", cases[i].key);
      json_decref(want);
      json_decref(o);
    }
    write_changed(cases[i].key, cases[i].less);
    expect_refusal(why);
    if (!cases[i].more) continue;
    write_changed(cases[i].key, cases[i].more);
    expect_refusal(why);
  }
}

/* The longest of each text, a longer one, and an empty one, which only a name may not be. */
static void lengths(void **state) {
  static const struct {
    const char *key;
    int most;
    bool is_needed;
  } cases[] = {{"name", 127, true}, {"vendor", 63, false}, {"platform", 127, false},
               {"driver", 63, false}, {"opencl_version", 63, false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int n = 0; n < 3; n++) {
      char text[256], why[128];
      int length = n == 0 ? 0 : cases[i].most + n - 1;
      snprintf(text, sizeof text, "\"%.*s\"", length,
               "................................................................"
               "................................................................");
      write_changed(cases[i].key, text);
      snprintf(why, sizeof why, "key '%s': a text of %d to %d bytes", cases[i].key,
               cases[i].is_needed, cases[i].most);
      if (n == 2 || (n == 0 && cases[i].is_needed)) {
        expect_refusal(why);
        continue;
      }
      wick_opencl_info info;
      wk_status s = wk_opencl_read_json(path, &info);
      if (s) fail_msg("%s: %s", cases[i].key, s->message);
      const char *got[] = {info.name, info.vendor, info.platform, info.driver, info.version};
      assert_int_equal(strlen(got[i]), length);
    }
}

/* None may be missing. */
static void all_are_needed(void **state) {
  (void)state;
  json_t *o = wk_opencl_describe_json(&device);
  const char *key;
  json_t *value;
  json_object_foreach(o, key, value) {
    char why[128];
    if (!strcmp(key, "wick") || !strcmp(key, "version")) continue;
    write_changed(key, NULL);
    snprintf(why, sizeof why, "key '%s': is missing", key);
    expect_refusal(why);
  }
  json_decref(o);
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
      {"max_items", "[1, 2, 3, 4]", "key 'max_items': is no list of 3 integers"},
      {"max_items", "1", "key 'max_items': is no list of 3 integers"},
      {"type", "1", "key 'type': is none of \"cpu\", \"gpu\", \"accelerator\""},
      {"f64", "0", "key 'f64': is neither true nor false"},
      {"dot", "\"yes\"", "key 'dot': is neither true nor false"},
      {"matrix", "1", "key 'matrix': is neither true nor false"},
      {"unified_memory", "null", "key 'unified_memory': is neither true nor false"},
      {"base_align", "3", "key 'base_align': is no power of two"},
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
  write_text("{\"wick\": \"opencl-device\", \"wick\": \"opencl-device\"}");
  s = wk_opencl_read_json(path, &info);
  assert_non_null(s);
  assert_non_null(strstr(s->message, "line 1: is no JSON: duplicate object key"));
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
      cmocka_unit_test(the_text),
      cmocka_unit_test(ranges),
      cmocka_unit_test(lengths),
      cmocka_unit_test(all_are_needed),
      cmocka_unit_test(keys_are_named),
      cmocka_unit_test(other_files_are_refused),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
