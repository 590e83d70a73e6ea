/* SPDX-License-Identifier: Apache-2.0
 * wick devices: what there is to run models on. Everything is collected as JSON, of which tables
 * show some or all. */
#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/text.h"
#include "targets/accel/isa/isa.h"
#include "targets/cpu/simd.h"
#include "targets/opencl/description.h"
#include "targets/opencl/query.h"

typedef struct {
  const char *device;
  bool json, verbose;
} devices_opts;

static const wk_option options[] = {
    {"device", 0, "DEVICE", "this one alone, by its name in the list (default: all)",
     .kind = WK_OPTION_STRING, .offset = offsetof(devices_opts, device)},
    {"json", 0, NULL, "as JSON; of one OpenCL device the file that --target opencl:FILE reads",
     .kind = WK_OPTION_FLAG, .offset = offsetof(devices_opts, json)},
    {"verbose", 'v', NULL, "everything that is known of each", .kind = WK_OPTION_FLAG,
     .offset = offsetof(devices_opts, verbose)},
    {0}};

/* ---- what there is --------------------------------------------------------------------------- */

/* A list of objects whose "device" is the name of one; and why OpenCL has none. */
typedef struct {
  json_t *list;
  wick_error_detail no_opencl;
} found_devices;

/* "model name" of /proc/cpuinfo, or what the machine is. */
static char *processor_name(void) {
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256], *name = NULL;
  while (f && !name && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = '\0';
    name = wk_xstrdup(colon + 1 + strspn(colon + 1, " "));
  }
  if (f) fclose(f);
  return name ? name : wk_xstrdup("processor");
}

static wk_status add_processor(json_t *list) {
  const wk_simd *simd;
  cpu_set_t usable;
  int cores = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
  WK_TRY(wk_simd_find("native", &simd));
  char *name = processor_name();
  json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i}", "device", "cpu", "name", name,
                                        "instructions", simd->name, "processors", cores));
  free(name);
  return NULL;
}

static void add_opencl(found_devices *d) {
  const wick_opencl_info *list;
  uint32_t n;
  wk_status s = wk_cl_query(&list, &n);
  if (s) {
    const char *said = s->message; /* "opencl: …" */
    if (!strncmp(said, "opencl: ", 8)) said += 8;
    snprintf(d->no_opencl.text, sizeof d->no_opencl.text, "%s", said);
    wk_status_free(s);
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    json_t *o = json_pack("{s:o}", "device", json_sprintf("opencl:%u", i));
    json_t *info = wk_opencl_describe_json(&list[i]);
    json_object_del(info, "wick");
    json_object_del(info, "version");
    json_object_update(o, info);
    json_decref(info);
    json_array_append_new(d->list, o);
  }
}

static wk_status add_machines(json_t *list) {
  for (size_t i = 0; i < wk_machine_preset_count(); i++) {
    const char *name = wk_machine_preset_name(i);
    wk_machine m;
    WK_TRY(wk_machine_read(name, &m));
    json_array_append_new(
        list, json_pack("{s:o, s:s, s:s, s:o}", "device", json_sprintf("accel:%s", name), "name",
                        "the accelerator, simulated", "models", "functional, timing, RTL",
                        "hash", json_sprintf("%016" PRIx64, wk_machine_hash(&m))));
  }
  return NULL;
}

static wk_status find_devices(found_devices *d) {
  d->list = json_array();
  WK_TRY(add_processor(d->list));
  add_opencl(d);
  return add_machines(d->list);
}

static const char *name_of(const json_t *o) {
  return json_string_value(json_object_get(o, "device"));
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int64_t number(const json_t *o, const char *key) {
  return json_integer_value(json_object_get(o, key));
}

/* What matters most, in one line. */
static void summarise(const json_t *o, wk_str *b) {
  const char *text = json_string_value(json_object_get(o, "instructions"));
  b->n = 0;
  if (text) wk_str_printf(b, "%s, %" PRId64 " processors", text, number(o, "processors"));
  else if ((text = json_string_value(json_object_get(o, "models")))) wk_str_add(b, text);
  else
    wk_str_printf(b, "%s, %" PRId64 " units, %s%s%s, %s",
                  json_string_value(json_object_get(o, "type")), number(o, "units"),
                  wk_bytes_text((uint64_t)number(o, "memory")).s,
                  json_is_true(json_object_get(o, "f16")) ? ", f16" : "",
                  json_is_true(json_object_get(o, "f64")) ? ", f64" : "",
                  json_string_value(json_object_get(o, "platform")));
}

static void print_table(const found_devices *d) {
  wk_table t = {0};
  wk_str b = {0};
  json_t *o;
  size_t i;
  wk_table_row(&t, "DEVICE\tNAME\tWHAT IT HAS");
  json_array_foreach(d->list, i, o) {
    summarise(o, &b);
    wk_table_row(&t, "%s\t%s\t%s", name_of(o), json_string_value(json_object_get(o, "name")), b.s);
  }
  wk_table_print(stdout, &t, "lll");
  wk_str_free(&b);
}

static void print_all(const found_devices *d) {
  json_t *o, *value;
  const char *key;
  size_t i;
  json_array_foreach(d->list, i, o) {
    wk_table t = {0};
    printf("%s%s\n", i ? "\n" : "", name_of(o));
    json_object_foreach(o, key, value) {
      char *text = json_dumps(value, JSON_ENCODE_ANY);
      const char *plain = json_string_value(value);
      if (strcmp(key, "device")) wk_table_row(&t, "  %s\t%s", key, plain ? plain : text);
      free(text);
    }
    wk_table_print(stdout, &t, "ll");
  }
}

static void print_text(const found_devices *d, bool verbose) {
  if (verbose) print_all(d);
  else print_table(d);
  if (d->no_opencl.text[0]) printf("\nOpenCL: %s\n", d->no_opencl.text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void print_json(const json_t *o) {
  json_dumpf(o, stdout, JSON_INDENT(2));
  putchar('\n');
}

static void print_list(const found_devices *d) {
  json_t *root = json_pack("{s:s, s:i, s:O}", "wick", "devices", "version", 1, "devices", d->list);
  if (d->no_opencl.text[0])
    json_object_set_new(root, "no_opencl", json_string(d->no_opencl.text));
  print_json(root);
  json_decref(root);
}

/* The description of an OpenCL device; of another one what the list has of it. */
static void print_one(const json_t *o) {
  const wick_opencl_info *list;
  uint32_t n, index;
  if (sscanf(name_of(o), "opencl:%u", &index) != 1) {
    print_json(o);
    return;
  }
  wk_status s = wk_cl_query(&list, &n); /* known, as it is in the list */
  if (s) {
    wk_status_free(s);
    return;
  }
  json_t *description = wk_opencl_describe_json(&list[index]);
  print_json(description);
  json_decref(description);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The list becomes the one device that is asked for. */
static wk_status choose(found_devices *d, const char *name) {
  json_t *o;
  size_t i;
  json_array_foreach(d->list, i, o) {
    if (strcmp(name_of(o), name) != 0) continue;
    json_t *one = json_pack("[O]", o);
    json_decref(d->list);
    d->list = one;
    d->no_opencl.text[0] = '\0';
    return NULL;
  }
  if (!strncmp(name, "opencl", 6) && d->no_opencl.text[0])
    return wk_error(WK_USAGE, "there is no device '%s': %s", name, d->no_opencl.text);
  return wk_error(WK_USAGE, "there is no device '%s'; 'wick devices' lists them", name);
}

static wk_status run(const void *options_, const wk_strings *args) {
  const devices_opts *o = options_;
  found_devices d = {0};
  (void)args;
  wk_status s = find_devices(&d);
  if (!s && o->device) s = choose(&d, o->device);
  if (!s && o->json && o->device) print_one(json_array_get(d.list, 0));
  else if (!s && o->json) print_list(&d);
  else if (!s) print_text(&d, o->verbose);
  json_decref(d.list);
  return s;
}

const wk_cmd wk_cmd_devices = {
    .command = {.name = "devices", .synopsis = "",
                .summary = "list what there is to run models on",
                .description =
                    "Lists this machine's processor, the OpenCL devices that it has, by the "
                    "numbers that WICK_OPENCL_DEVICE and --target take, and the accelerator's "
                    "machines.\n"
                    "\n"
                    "OpenCL needs a loader, libOpenCL.so.1, or what WICK_OPENCL names, and the "
                    "driver of a device; on Debian ocl-icd-libopencl1 and, for processors, "
                    "pocl-opencl-icd.\n"
                    "\n"
                    "  wick devices -v\n"
                    "  wick devices --json --device opencl:0 >gpu.json\n"
                    "  wick compile net.onnx --target opencl:gpu.json",
                .options = options},
    .size = sizeof(devices_opts), .run = run};
