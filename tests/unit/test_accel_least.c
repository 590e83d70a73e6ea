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

/* A graph's net for base. */
typedef struct {
  wk_module *m;
  wk_targets targets;
  wk_parts *parts;
  wk_machine machine;
  wk_arena *arena;
  wk_accel_net net;
} netted;

static netted net_of(const char *graph) {
  netted y = {.arena = wk_arena_new()};
  wk_str text = {0};
  wk_accel_refused why;
  size_t made = 0;
  wk_str_printf(&text, "module \"t\" {\ngraph @main%s  output %%y\n}\n}\n", graph);
  wk_status s = wk_module_parse(text.s, "t", &y.m);
  if (s) fail_msg("%s: %s: %s", s->place, s->message, text.s);
  wk_str_free(&text);
  y.parts = parts_of(y.m, "accel:base", &y.targets);
  assert_null(wk_machine_read("base", &y.machine));
  wk_accel_net_init(&y.net, &y.machine, y.arena);
  for (size_t k = 0; k < y.parts->parts.n; k++) {
    if (strcmp(y.parts->parts.data[k].instance->target->name, "accel") != 0) continue;
    assert_true(wk_accel_net_make(y.parts->parts.data[k].module->main, &y.net, &why));
    made++;
  }
  assert_int_equal(made, 1);
  return y;
}

static void free_net(netted *x) {
  wk_accel_net_free(&x->net);
  wk_parts_free(x->parts);
  wk_targets_close(&x->targets);
  wk_module_free(x->m);
  wk_arena_free(x->arena);
}

static void by_hand(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < WK_COUNTOF(nets); i++) {
    netted net = net_of(nets[i].graph);
    wk_accel_least x = accel_least_of(&net.net).sum;
    free_net(&net);
    if (memcmp(&x, &nets[i].of, sizeof x) == 0) continue;
    print_error("net %zu: %llu, %llu, %llu, %llu, %llu, %llu\n", i, (unsigned long long)x.ex,
                (unsigned long long)x.drain, (unsigned long long)x.ve,
                (unsigned long long)x.weights, (unsigned long long)x.in,
                (unsigned long long)x.out);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static const struct {
  const char *graph, *cuts; /* of each layer: after, late, before, - none; bytes of weights */
} cut_nets[] = {
#define CUTS(graph, cuts) {graph, cuts},
#include "tests/unit/accel_cuts.def"
};

static void cuts_by_hand(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < WK_COUNTOF(cut_nets); i++) {
    netted net = net_of(cut_nets[i].graph);
    wk_accel_cuts *cuts = wk_xcalloc(net.net.layers.n + 1, sizeof *cuts);
    wk_accel_least *least = wk_xcalloc(net.net.layers.n + 1, sizeof *least);
    wk_str text = {0};
    wk_accel_least_of(&net.net, least, cuts);
    for (size_t l = 0; l < net.net.layers.n; l++) {
      wk_str_printf(&text, "%s%u %u ", l ? "; " : "", cuts[l].after, cuts[l].late);
      if (cuts[l].before == WK_ACCEL_NO_CUT) wk_str_add(&text, "-");
      else wk_str_printf(&text, "%u", cuts[l].before);
      wk_str_printf(&text, " %llu", (unsigned long long)cuts[l].weights);
    }
    if (strcmp(text.s, cut_nets[i].cuts) != 0) {
      print_error("net %zu: %s\n", i, text.s);
      wrong++;
    }
    wk_str_free(&text);
    free(cuts), free(least);
    free_net(&net);
  }
  assert_int_equal(wrong, 0);
}

/* Of base: 8 bytes a cycle; some 300 KB are there, or on their way, before they are needed. */
static void least_of_parts(void **state) {
  enum { HELD = 262144 + 8 * 256 + 6 * 256 + 2 * 64 * 256, MB = 1000000 };
  const uint32_t none = WK_ACCEL_NO_CUT;
  wk_machine m;
  (void)state;
  assert_null(wk_machine_read("base", &m));
  /* nothing is known of order: the most of the sums */
  const wk_accel_least two[] = {{.ex = 100, .ve = 5, .weights = 400}, {.ex = 10, .ve = 200}};
  wk_accel_need y = wk_accel_need_of_part(&m, two, NULL, 2);
  assert_true(y.cycles == 205 && !strcmp(y.binds, "vector"));
  /* one after the other */
  const wk_accel_cuts apart[] = {{.before = 1}, {.after = 1, .late = 1, .before = none}};
  y = wk_accel_need_of_part(&m, two, apart, 2);
  assert_true(y.cycles == 300 && !strcmp(y.binds, "vector"));
  /* late weights, but for what has room */
  const wk_accel_least late[] = {{.ex = 100000}, {.ex = 10, .weights = MB}};
  const wk_accel_cuts rows[] = {{.before = 1}, {.late = 1, .before = none, .weights = MB}};
  y = wk_accel_need_of_part(&m, late, NULL, 2);
  assert_true(y.cycles == MB / 8 && !strcmp(y.binds, "memory"));
  y = wk_accel_need_of_part(&m, late, rows, 2);
  assert_true(y.cycles == 100000 + (MB - HELD + 7) / 8 && !strcmp(y.binds, "array"));
  /* of which only some are late */
  const wk_accel_cuts some[] = {{.before = 1}, {.late = 1, .before = none, .weights = MB / 2}};
  y = wk_accel_need_of_part(&m, late, some, 2);
  assert_true(y.cycles == 100000 + (MB / 2 - HELD + 7) / 8);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(cuts_by_hand),
                                     cmocka_unit_test(least_of_parts), cmocka_unit_test(drawn)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, setup, teardown);
}
