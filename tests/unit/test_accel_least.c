/* SPDX-License-Identifier: Apache-2.0
 * What a net takes at least: by hand, and of drawn networks on drawn machines, compiled in each
 * mode, and in `auto` without each idea: nothing runs below it, nor needs less of any unit.
 * test_accel_figures does the same with its networks.
 *   test_accel_least [FIRST_SEED [COUNT]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/integer/integer.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "compiler/stream/schedule.h"
#include "targets/accel/compile/emit.h"
#include "tests/random_layers.h"
#include "tests/random_machine.h"
#include "tests/unit/accel_least.h"

static uint64_t first_seed = 1, n_seeds = 40;
static char machine_file[] = "/tmp/wick-least-XXXXXX";

/* ---- by hand --------------------------------------------------------------------------------- */

static wk_parts *parts_of(wk_module *m, const char *spec, wk_targets *t) {
  const wk_target_args args = {.target = spec, .cpu = "avx2",
                               .settings = WK_SETTINGS({"effort", "0"})};
  wk_pipeline_report report = {0};
  wk_parts *parts = NULL;
  wk_status s = wk_targets_open(&args, t);
  if (!s) s = wk_pipeline_run(m, &(wk_pipeline_options){.targets = t}, &report, &parts);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  wk_pipeline_report_free(&report);
  return parts;
}

static const struct {
  const char *graph; /* on base: 16 x 16, accumulators for 1,024 pixels */
  wk_accel_least of;
} nets[] = {
#define NET(graph, ...) {graph, {__VA_ARGS__}},
#include "tests/unit/accel_least.def"
};

static void by_hand(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < WK_COUNTOF(nets); i++) {
    wk_targets t;
    wk_module *m;
    wk_str text = {0};
    wk_accel_net net;
    wk_accel_refused why;
    wk_machine machine;
    wk_arena *a = wk_arena_new();
    wk_str_printf(&text, "module \"t\" {\ngraph @main%s  output %%y\n}\n}\n", nets[i].graph);
    wk_status s = wk_module_parse(text.s, "t", &m);
    if (s) fail_msg("net %zu: %s: %s", i, s->place, s->message);
    wk_parts *parts = parts_of(m, "accel:base", &t);
    assert_null(wk_machine_read("base", &machine));
    wk_accel_net_init(&net, &machine, a);
    for (size_t k = 0; k < parts->parts.n; k++) {
      if (strcmp(parts->parts.data[k].instance->target->name, "accel") != 0) continue;
      assert_true(wk_accel_net_make(parts->parts.data[k].module->main, &net, &why));
      wk_accel_least x = accel_least_of(&net);
      if (memcmp(&x, &nets[i].of, sizeof x) == 0) continue;
      print_error("net %zu: %llu, %llu, %llu, %llu, %llu, %llu\n", i, (unsigned long long)x.ex,
                  (unsigned long long)x.drain, (unsigned long long)x.ve,
                  (unsigned long long)x.weights, (unsigned long long)x.in,
                  (unsigned long long)x.out);
      wrong++;
    }
    wk_accel_net_free(&net);
    wk_parts_free(parts);
    wk_targets_close(&t);
    wk_module_free(m);
    wk_str_free(&text);
    wk_arena_free(a);
  }
  assert_int_equal(wrong, 0);
}

/* ---- drawn ----------------------------------------------------------------------------------- */

/* False: it ran below the least. */
static bool check(uint64_t seed, const wk_accel_net *net, const wk_sched_options *o) {
  wk_arena *a = wk_arena_new();
  wk_sched_net sched;
  wk_sched_made made = {0};
  wk_accel_stream stream = {0};
  const char *what = NULL;
  wk_accel_sched_net(net, a, &sched);
  wk_status s = wk_sched_make(&sched, o, a, &made);
  if (!s) {
    wk_accel_stream_of(&sched, &made, &stream);
    what = accel_below_least(net, &stream);
    if (what)
      print_error("seed %llu, %s, without %x: fewer %s than the least\n", (unsigned long long)seed,
                  wk_sched_prefetch_names[o->prefetch], o->without, what);
  }
  wk_status_free(s);
  wk_accel_stream_free(&stream);
  wk_sched_made_free(&made);
  wk_arena_free(a);
  return !what;
}

static int check_part(uint64_t seed, const wk_machine *m, const wk_graph *g) {
  int bad = 0;
  wk_arena *a = wk_arena_new();
  wk_accel_net net;
  wk_accel_refused why;
  wk_accel_net_init(&net, m, a);
  assert_true(wk_accel_net_make(g, &net, &why));
  for (int mode = 0; mode < WK_PREFETCH_COUNT; mode++)
    bad += !check(seed, &net, &(wk_sched_options){.prefetch = (wk_sched_prefetch)mode,
                                                  .effort = (int)(seed % 3)});
  for (unsigned idea = 1; idea <= WK_SCHED_LOCAL_SEARCH; idea *= 2)
    bad += !check(seed, &net, &(wk_sched_options){.prefetch = WK_PREFETCH_AUTO, .without = idea,
                                                  .effort = (int)(seed % 2)});
  wk_accel_net_free(&net);
  wk_arena_free(a);
  return bad;
}

static int check_network(uint64_t seed) {
  static const char *const named[] = {"tiny", "base", "wide", NULL};
  const char *name = named[seed % 4];
  char spec[80];
  int64_t changes;
  int bad = 0;
  wk_machine machine;
  wk_targets t;
  wk_module *m = random_layers_graph(seed + 90000, 1 + (int)(seed % 7));
  assert_null(wk_integer_convert(m, &changes));
  if (name) assert_null(wk_machine_read(name, &machine));
  else random_machine(seed, &machine);
  if (!name) assert_true(random_machine_write(&machine, machine_file));
  snprintf(spec, sizeof spec, "accel:%s", name ? name : machine_file);
  wk_parts *parts = parts_of(m, spec, &t);
  for (size_t i = 0; i < parts->parts.n; i++)
    if (!strcmp(parts->parts.data[i].instance->target->name, "accel"))
      bad += check_part(seed, &machine, parts->parts.data[i].module->main);
  wk_parts_free(parts);
  wk_targets_close(&t);
  wk_module_free(m);
  return bad;
}

static void drawn(void **state) {
  int bad = 0;
  (void)state;
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) bad += check_network(seed);
  assert_int_equal(bad, 0);
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

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(drawn)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, setup, teardown);
}
