/* SPDX-License-Identifier: Apache-2.0
 * Kernels for GPUs of several sizes, on the first device that there is: graphs of
 * opencl_kernels.def against the evaluator, integers bit for bit. Where there is no device all of
 * it is skipped.
 *   test_opencl_kernels [DEVICE [GRAPH]]   one of the sizes: few, many, small; a graph's number */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/eval/eval.h"
#include "tests/random_graph.h"
#include "tests/unit/opencl_batch.h"
#include "tests/unit/opencl_passing.h"

enum { BATCH = 20 };

static const char *wanted; /* NULL: all */
static size_t only = SIZE_MAX; /* all */

static const struct {
  const char *arguments, *body, *mark;
} graphs[] = {
#include "tests/unit/opencl_kernels.def"
};

static bool has_mark[WK_COUNTOF(graphs)];

/* GPUs that are busy with little, and with much more than there is. */
static const struct {
  const char *name;
  uint32_t units, max_group;
  uint64_t local_memory;
} devices[] = {{"few", 1, 256, 48 << 10}, {"many", 200, 1024, 48 << 10}, {"small", 2, 64, 4 << 10}};

static void write_description(size_t k) {
  wick_opencl_info info = here;
  info.type = WICK_OPENCL_GPU;
  info.units = devices[k].units;
  info.local_memory = devices[k].local_memory;
  if (info.max_group > devices[k].max_group) info.max_group = devices[k].max_group;
  write_passing(devices[k].name, &info);
}

static int prepare(void **state) {
  (void)state;
  if (!find_device_here()) return 1;
  for (size_t k = 0; k < WK_COUNTOF(devices) && has_device; k++) write_description(k);
  return 0;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Small numbers, all of them exact in each type. */
static void add_ramp(wk_str *b, const char *type) {
  int64_t n = 1;
  for (const char *c = strchr(type, '['); *c != ']'; c = strpbrk(c + 1, ",]"))
    n *= strtol(c + 1, NULL, 10);
  wk_str_printf(b, "constant %s {", type);
  for (int64_t k = 0; k < n; k++) {
    int value = (int)(k * 37 % 23) - 11;
    if (strstr(type, "f")) wk_str_printf(b, "%s%g", k ? ", " : "", value / 8.0);
    else wk_str_printf(b, "%s%d", k ? ", " : "", value);
  }
  wk_str_add(b, "}");
}

static wk_module *module_of(size_t number) {
  wk_str b = {0};
  char type[64];
  wk_module *m = NULL;
  wk_str_printf(&b, "module \"t\" opset 17 { graph @t(%s) {\n", graphs[number].arguments);
  for (const char *c = graphs[number].body; *c; c++) {
    if (strncmp(c, "ramp(", 5) != 0) {
      wk_str_printf(&b, "%c", *c);
      continue;
    }
    size_t n = strcspn(c, ")");
    snprintf(type, sizeof type, "%.*s", (int)(n - 5), c + 5);
    add_ramp(&b, type);
    c += n;
  }
  wk_str_add(&b, "\n} }");
  wk_status s = wk_module_parse(b.s, "t", &m);
  if (s) fail_msg("%s\n%s: %s", b.s, s->place ? s->place : "", s->message);
  wk_str_free(&b);
  return m;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool is_half(const wk_graph *g) {
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_dtype t = wk_val(g, g->outputs.data[i])->type.dtype;
    if (t == WK_F16 || t == WK_BF16) return true;
  }
  return false;
}

static int differs(const opencl_batch *b, uint32_t entry, size_t number, const char *device) {
  const wk_graph *g = b->copies[entry]->main;
  wk_module *m = module_of(number);
  wk_tensor *in = random_inputs(m->main), want[4] = {0}, got[4] = {0};
  double rtol = is_half(m->main) ? 1e-2 : 1e-5;
  const wk_tolerance t = {rtol, rtol / 10, rtol};
  int bad = 0;
  wk_status s = wk_eval_graph(m->main, in, want, NULL, NULL);
  if (!s) s = opencl_batch_run(b, entry, in, got);
  if (s) fail_msg("graph %zu on %s: %s", number, device, s->message);
  for (size_t i = 0; i < g->outputs.n; i++) {
    wk_diff d = wk_tensor_diff(&got[i], &want[i], &t);
    if (!d.equal)
      print_error("graph %zu on %s: element %lld is %.9g, want %.9g (%lld differ)\n", number,
                  device, (long long)d.worst, d.got, d.want, (long long)d.mismatches);
    bad += !d.equal;
    wk_tensor_free(&got[i]);
    wk_tensor_free(&want[i]);
  }
  random_tensors_free(in, m->main->inputs.n);
  wk_module_free(m);
  return bad;
}

/* Whether the kernels of an entry have what the graph is here for. */
static void look_for_mark(const opencl_batch *b, uint32_t entry, size_t number) {
  char path[80];
  const wk_emit_options o = {.model_name = "batch", .command = ""};
  const wk_instance *t = b->targets->list[0];
  wk_emit_result result = {.scratch_bytes = -1};
  wk_file text;
  snprintf(path, sizeof path, "%s/text.cl", folder);
  wk_status s = wk_emit_output(&t->target->outputs[0], t, &b->entries[entry], 1, &o, path, &result);
  if (!s) s = wk_file_map(path, &text);
  if (s) fail_msg("graph %zu: %s", number, s->message);
  if (memmem(text.data, text.size, graphs[number].mark, strlen(graphs[number].mark)))
    has_mark[number] = true;
  wk_file_unmap(&text);
}

static int check_batch(size_t device, size_t first, size_t n) {
  char target[96];
  wk_targets t;
  opencl_batch b;
  wk_module *modules[BATCH];
  int bad = 0;
  snprintf(target, sizeof target, "opencl:%s/%s.json", folder, devices[device].name);
  wk_status s = wk_targets_open(&(wk_target_args){.target = target, .no_host = true}, &t);
  if (s) fail_msg("%s", s->message);
  for (size_t k = 0; k < n; k++) modules[k] = module_of(first + k);
  s = opencl_batch_make(&b, &t, modules, n);
  if (s) fail_msg("graphs from %zu on, %s: %s", first, devices[device].name, s->message);
  for (size_t k = 0; k < n; k++) {
    bad += differs(&b, (uint32_t)k, first + k, devices[device].name);
    look_for_mark(&b, (uint32_t)k, first + k);
  }
  opencl_batch_free(&b);
  for (size_t k = 0; k < n; k++) wk_module_free(modules[k]);
  wk_targets_close(&t);
  return bad;
}

static void kernels_compute(void **state) {
  int bad = 0;
  (void)state;
  if (!has_device) skip();
  for (size_t d = 0; d < WK_COUNTOF(devices); d++) {
    if (wanted && strcmp(devices[d].name, wanted) != 0) continue;
    if (only < WK_COUNTOF(graphs)) bad += check_batch(d, only, 1);
    for (size_t k = 0; k < WK_COUNTOF(graphs) && only == SIZE_MAX; k += BATCH) {
      size_t left = WK_COUNTOF(graphs) - k;
      bad += check_batch(d, k, left < BATCH ? left : BATCH);
    }
  }
  for (size_t k = 0; k < WK_COUNTOF(graphs) && !wanted; k++) {
    if (!has_mark[k]) print_error("graph %zu: no kernel has '%s'\n", k, graphs[k].mark);
    bad += !has_mark[k];
  }
  assert_int_equal(bad, 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_compute)};
  if (argc > 1) wanted = argv[1];
  if (argc > 2) only = strtoul(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, prepare, remove_passing);
}
