/* SPDX-License-Identifier: Apache-2.0
 * How well drawn networks, and layers as large as those of real ones, are compiled for the
 * accelerator: what accel_figures.def says of each in each mode is what comes out, to the byte and
 * the cycle. Rows that differ are printed as
 * they would stand there, so that they can be taken over once the change has been understood:
 * more cycles, waits or bytes for no gain are a defect.
 *   test_accel_figures print     all rows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/driver/pipeline.h"
#include "compiler/driver/targets.h"
#include "compiler/integer/integer.h"
#include "targets/accel/compile/compile.h"
#include "targets/accel/compile/ideas.h"
#include "tests/random_layers.h"
#include "tests/random_machine.h"

enum { FIGURES = 12 };
static const char *const names[FIGURES] = {
    "operators", "groups", "strips", "resident", "commands", "waits", "loaded", "stored",
    "scratchpad", "work", "cycles", "macs"};

/* Of all parts of a network that are the accelerator's, one after the other; of the scratchpad and
 * of memory for work the most that one of them has. -1: a part does not fit. */
typedef struct {
  int seed;
  const char *mode;
  int64_t of[FIGURES];
} row;

static const row rows[] = {
#define ROW(...) {__VA_ARGS__},
#include "tests/unit/accel_figures.def"
};

static const struct {
  const char *machine, *graph;
} layers[] = {
#define LAYERS(machine, ...) {machine, __VA_ARGS__},
#include "tests/unit/accel_layers.def"
};

static const char *const modes[] = {"off", "serial", "double", "auto"};
enum { SEEDS = 60, NETWORKS = SEEDS + WK_COUNTOF(layers) };

static char machine_file[] = "/tmp/wick-figures-XXXXXX";

/* ---- a part ---------------------------------------------------------------------------------- */

static int64_t waits_of(const wk_accel_stream *s) {
  int64_t n = 0;
  for (size_t i = 0; i < s->commands.n; i++)
    for (int q = 0; q < WK_QUEUE_COUNT; q++) n += s->commands.data[i].wait >> q & 1;
  return n;
}

static void most(int64_t *of, int64_t v) {
  if (v > *of) *of = v;
}

static void add(row *r, const wk_accel_net *net, const wk_accel_plan *p, const wk_accel_steps *s,
                const wk_accel_stream *stream) {
  int64_t *y = r->of;
  y[0] += (int64_t)net->ops.n;
  y[1] += (int64_t)p->groups.n;
  for (size_t i = 0; i < p->groups.n; i++) y[2] += p->groups.data[i].strips;
  for (size_t i = 0; i < net->tensors.n; i++) y[3] += p->resident[i] >= 0;
  y[4] += (int64_t)stream->commands.n;
  y[5] += waits_of(stream);
  y[6] += s->loaded;
  y[7] += s->stored;
  for (size_t i = 0; i < s->buffers.n; i++)
    most(&y[8], s->buffers.data[i].at + s->buffers.data[i].bytes);
  most(&y[9], stream->work_bytes);
  y[10] += stream->cycles;
  for (size_t i = 0; i < net->ops.n; i++) y[11] += net->ops.data[i].macs;
}

/* As package.c has it. */
static void compile_part(row *r, const wk_machine *m, const wk_accel_options *o,
                         const wk_graph *g) {
  wk_accel_net net;
  wk_accel_plan plan = {0};
  wk_accel_steps steps = {0};
  wk_accel_stream stream = {0};
  wk_accel_refused why;
  wk_arena *a = wk_arena_new();
  wk_accel_net_init(&net, m, a);
  assert_true(wk_accel_net_make(g, &net, &why));
  wk_accel_use *uses = wk_accel_uses(&net, a);
  wk_status s = wk_accel_search(&net, uses, o, &plan);
  if (!s) {
    wk_accel_build(&net, &plan, uses, 0, plan.groups.n, &steps);
    wk_accel_depend(&net, o->without, &steps);
    s = wk_accel_schedule(&net, &steps, o->prefetch, &stream);
  }
  if (!s) add(r, &net, &plan, &steps, &stream);
  else r->of[10] = -1;
  wk_status_free(s);
  wk_accel_stream_free(&stream);
  wk_accel_steps_free(&steps);
  wk_accel_plan_free(&plan);
  wk_accel_net_free(&net);
  wk_arena_free(a);
}

/* ---- a network ------------------------------------------------------------------------------- */

/* Every fourth machine of a drawn network is drawn. */
static void machine_of(int seed, wk_machine *m, char spec[80]) {
  static const char *const named[] = {"tiny", "base", "wide", NULL};
  const char *name = seed < SEEDS ? named[seed % 4] : layers[seed - SEEDS].machine;
  if (name) {
    assert_null(wk_machine_read(name, m));
    snprintf(spec, 80, "accel:%s", name);
    return;
  }
  random_machine((uint64_t)seed, m);
  assert_true(random_machine_write(m, machine_file));
  snprintf(spec, 80, "accel:%s", machine_file);
}

static wk_module *module_of(int seed) {
  wk_module *m;
  wk_str text = {0};
  int64_t changes;
  wk_status s;
  if (seed < SEEDS) {
    m = random_layers_graph((uint64_t)seed + 70000, 1 + seed % 6);
    s = wk_integer_convert(m, &changes);
  } else {
    wk_str_printf(&text, "module \"t\" {\ngraph @main%s  output %%y\n}\n}\n",
                  layers[seed - SEEDS].graph);
    s = wk_module_parse(text.s, "t", &m);
  }
  if (s) fail_msg("network %d: %s: %s", seed, s->place ? s->place : "", s->message);
  wk_str_free(&text);
  return m;
}

/* Of drawn networks some leave an idea out. */
static wk_accel_options options_of(int seed, int mode) {
  static const unsigned ideas[] = {0, 0, 0, WK_ACCEL_EARLY_ISSUE, WK_ACCEL_CROSS_LAYER,
                                   WK_ACCEL_RESIDENCY, WK_ACCEL_FUSION, WK_ACCEL_LOCAL_SEARCH};
  return (wk_accel_options){.prefetch = (wk_accel_prefetch)mode, .effort = seed / 4 % 3,
                            .marks = seed % 11 == 0,
                            .without = seed < SEEDS ? ideas[(size_t)seed / 2 % WK_COUNTOF(ideas)]
                                                    : 0};
}

static void compile(int seed, row out[WK_PREFETCH_COUNT]) {
  char spec[80];
  wk_machine machine;
  wk_targets t;
  wk_parts *parts = NULL;
  wk_pipeline_report report = {0};
  machine_of(seed, &machine, spec);
  wk_module *m = module_of(seed);
  const wk_target_args args = {.target = spec, .cpu = "avx2", .effort = "0"};
  wk_status s = wk_targets_open(&args, &t);
  if (s) fail_msg("network %d: %s", seed, s->message);
  s = wk_pipeline_run(m, &(wk_pipeline_options){.targets = &t}, &report, &parts);
  if (s) fail_msg("network %d: %s", seed, s->message);
  for (int mode = 0; mode < WK_PREFETCH_COUNT; mode++) {
    const wk_accel_options o = options_of(seed, mode);
    out[mode] = (row){.seed = seed, .mode = modes[mode]};
    for (size_t i = 0; i < parts->parts.n; i++) {
      const wk_part *p = &parts->parts.data[i];
      if (!strcmp(p->instance->target->name, "accel"))
        compile_part(&out[mode], &machine, &o, p->module->main);
    }
  }
  wk_parts_free(parts);
  wk_pipeline_report_free(&report);
  wk_targets_close(&t);
  wk_module_free(m);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void print(const row *r) {
  printf("ROW(%d, \"%s\", {", r->seed, r->mode);
  for (int i = 0; i < FIGURES; i++) printf("%s%lld", i ? ", " : "", (long long)r->of[i]);
  printf("})\n");
}

static void print_change(const row *was, const row *is) {
  print(is);
  for (int i = 0; i < FIGURES; i++)
    if (was->of[i] != is->of[i])
      printf("  %s: %lld, was %lld\n", names[i], (long long)is->of[i], (long long)was->of[i]);
}

static void networks(void **state) {
  int wrong = 0;
  (void)state;
  if (WK_COUNTOF(rows) != NETWORKS * WK_PREFETCH_COUNT) fail_msg("%zu rows", WK_COUNTOF(rows));
  for (int seed = 0; seed < (int)NETWORKS; seed++) {
    row got[WK_PREFETCH_COUNT];
    compile(seed, got);
    for (int mode = 0; mode < WK_PREFETCH_COUNT; mode++) {
      const row *want = &rows[seed * WK_PREFETCH_COUNT + mode];
      assert_int_equal(want->seed, seed);
      assert_string_equal(want->mode, modes[mode]);
      if (!memcmp(want->of, got[mode].of, sizeof want->of)) continue;
      print_change(want, &got[mode]);
      wrong++;
    }
  }
  assert_int_equal(wrong, 0);
}

static int setup(void **state) {
  (void)state;
  int fd = mkstemp(machine_file);
  return fd < 0 || close(fd);
}

static int teardown(void **state) {
  (void)state;
  return unlink(machine_file);
}

static void print_all(void **state) {
  (void)state;
  for (int seed = 0; seed < (int)NETWORKS; seed++) {
    row got[WK_PREFETCH_COUNT];
    compile(seed, got);
    for (int mode = 0; mode < WK_PREFETCH_COUNT; mode++) print(&got[mode]);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(networks)};
  const struct CMUnitTest printing[] = {cmocka_unit_test(print_all)};
  if (argc > 1 && !strcmp(argv[1], "print"))
    return cmocka_run_group_tests(printing, setup, teardown);
  return cmocka_run_group_tests(tests, setup, teardown);
}
