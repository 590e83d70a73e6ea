/* SPDX-License-Identifier: Apache-2.0
 * Random quantised networks, compiled for random machines; what the accelerator does not take runs
 * on the processor. The functional model computes what the evaluator computes, bit for bit, every
 * layer's tensors too, and so do the modes of --prefetch, all efforts, schedules --without ideas,
 * and the RTL. A failure prints the shrunk graph, the target and the machine.
 *   test_random_accel [FIRST_SEED [COUNT]]     random machines and wide images alone; 120 machines
 *                                              and 60 images in every run */
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
#include "compiler/ir/graph_names.h"
#include "sim/build.h"
#include "targets/accel/compile/widths.h"
#include "tests/random_graph.h"
#include "tests/random_integer.h"
#include "tests/random_layers.h"
#include "tests/random_machine.h"
#include "tests/random_tokens.h"
#include "tests/random_wide.h"
#include "tests/unit/accel_run.h"

static uint64_t first_seed = 1, n_seeds = RANDOM_COUNT(120);
static char folder[] = "/tmp/wick-random-accel-XXXXXX", machine_file[64], package_file[64];

/* What was compiled and run, of all graphs of a test. */
static struct {
  int64_t graphs, parts, macs, accel_macs, nodes, accel_nodes, no_room, refused, steps;
} tally;

/* ---- one graph ------------------------------------------------------------------------------- */

/* How a graph is compiled; and, in check_graph, what is wrong with it. */
typedef struct {
  wk_target_args target;
  const wk_machine *machine; /* to be printed; NULL: its name says enough */
  bool has_no_steps; /* the model tells no layers apart */
  wk_str text;
} attempt;

static wk_module *draw(uint64_t seed) {
  int64_t changes;
  wk_module *m = random_layers_graph(seed, 1 + (int)(seed % 9));
  wk_status s = wk_integer_convert(m, &changes);
  if (s) fail_msg("%s", s->message);
  for (wk_value_id v = 0; v < m->main->values.n; v++) /* so that steps can be told by names */
    if (wk_name_is_generated(wk_val(m->main, v)->name))
      wk_graph_set_name(m->main, v, wk_arena_printf(m->arena, "value%u", v));
  return m;
}

static void count_parts(const wk_parts *parts) {
  for (size_t i = 0; i < parts->parts.n; i++) {
    const wk_part *p = &parts->parts.data[i];
    bool is_accel = !strcmp(p->instance->target->name, "accel");
    tally.nodes += p->nodes, tally.macs += p->macs;
    if (is_accel) tally.parts++, tally.accel_nodes += p->nodes, tally.accel_macs += p->macs;
  }
  tally.refused += (int64_t)parts->reasons.n;
  for (size_t i = 0; i < parts->reasons.n; i++)
    tally.no_room += !!strstr(parts->reasons.data[i].reason, " bytes of scratchpad for ");
}

static wk_status on_accel(void *ctx, const wk_module *m, const wk_tensor *in, wk_tensor *out) {
  attempt *a = ctx;
  wk_module *y = wk_module_clone(m);
  wk_status s = accel_compile(y, &a->target, package_file, count_parts);
  wk_module_free(y);
  if (!s) s = accel_run(package_file, m->main, in, out);
  return s;
}

/* After a run whose results are right. */
static bool steps_differ(attempt *a, const wk_graph *g, const wk_tensor *in) {
  size_t steps = 0, different = 0;
  wk_status s = accel_compare_steps(package_file, g, in, &steps, &different);
  if (s) wk_str_printf(&a->text, "observed: %s", s->message);
  else if (different) wk_str_printf(&a->text, "%zu steps differ", different);
  tally.steps += (int64_t)steps;
  bool bad = s || different;
  wk_status_free(s);
  return bad;
}

/* random_check */
static bool differs(void *ctx, const wk_module *m) {
  attempt *a = ctx;
  const wk_graph *g = m->main;
  wk_tensor *in = random_integer_inputs(g, 1);
  wk_tensor *want = wk_xcalloc(g->outputs.n + 1, sizeof *want);
  wk_tensor *got = wk_xcalloc(g->outputs.n + 1, sizeof *got);
  wk_str_free(&a->text);
  a->text = (wk_str){0};
  wk_status s = wk_eval_graph(g, in, want, NULL, NULL);
  bool bad = false;
  if (!s) {
    s = on_accel(a, m, in, got);
    if (s) wk_str_printf(&a->text, "%s: %s", s->place ? s->place : "", s->message);
    bad = s || !random_same(g, got, want, &a->text) ||
          (!a->has_no_steps && steps_differ(a, g, in));
  }
  wk_status_free(s);
  random_tensors_free(got, g->outputs.n);
  random_tensors_free(want, g->outputs.n);
  random_tensors_free(in, g->inputs.n);
  return bad;
}

/* False, after the smallest graph that fails has been printed. */
static bool check_graph(uint64_t seed, const wk_module *m, attempt *a) {
  tally.graphs++;
  if (!differs(a, m)) return true;
  wk_str graph = {0};
  wk_module *small = random_reduce(m, differs, a);
  differs(a, small);
  wk_module_print(&graph, small, WK_PRINT_SHORT);
  wk_str settings = {0};
  wk_settings_text(&settings, &a->target.settings);
  print_error("seed %llu, --target %s%s: %s\n%s\n", (unsigned long long)seed, a->target.target,
              settings.s, a->text.s, graph.s);
  wk_str_free(&settings);
  if (a->machine) {
    wk_str text = {0};
    wk_machine_text(&text, a->machine);
    print_error("%s", text.s);
    wk_str_free(&text);
  }
  wk_str_free(&graph);
  wk_module_free(small);
  return false;
}

/* Takes the network. */
static bool check_with(uint64_t seed, wk_module *m, const wk_target_args *target) {
  attempt a = {.target = *target};
  bool fine = check_graph(seed, m, &a);
  wk_str_free(&a.text);
  wk_module_free(m);
  return fine;
}

static wk_module *parsed(wk_str *text, const char *name) {
  wk_module *m;
  wk_status s = wk_module_parse(text->s, name, &m);
  if (s) fail_msg("%s: %s: %s", s->place, s->message, text->s);
  wk_str_free(text);
  return m;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* None at times. */
static const char *draw_without(uint64_t seed, char text[80]) {
  static const char *const ideas[] = {"early-issue", "cross-layer", "residency", "fusion",
                                      "stagger", "stacks", "local-search"};
  wk_rng random = {seed};
  *text = '\0';
  if (wk_rng_range(&random, 0, 2)) return NULL;
  for (size_t i = 0; i < sizeof ideas / sizeof *ideas; i++)
    if (wk_rng_range(&random, 0, 1))
      snprintf(text + strlen(text), 80 - strlen(text), "%s%s", *text ? "," : "", ideas[i]);
  return *text ? text : NULL;
}

/* A network and a machine of the seed's. */
static bool check_machine(uint64_t seed) {
  static const char *const modes[] = {"auto", "auto", "off", "double", "serial"};
  static const char *const efforts[] = {"0", "1", "2"};
  char target[80], without[80];
  wk_machine machine;
  attempt a = {.machine = &machine};
  wk_module *m = draw(seed);
  random_machine(seed, &machine);
  snprintf(target, sizeof target, "accel:%s", machine_file);
  assert_true(random_machine_write(&machine, machine_file));
  a.target = (wk_target_args){
      .target = target,
      .settings = WK_SETTINGS({"prefetch", modes[seed % 5]}, {"effort", efforts[seed / 5 % 3]},
                              {"marks", seed % 4 ? NULL : "yes"},
                              {"without", draw_without(seed, without)})};
  bool fine = check_graph(seed, m, &a);
  wk_str_free(&a.text);
  wk_module_free(m);
  return fine;
}

static void random_machines(void **state) {
  int bad = 0;
  (void)state;
  memset(&tally, 0, sizeof tally);
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) bad += !check_machine(seed);
  print_message("%lld graphs, %lld parts; %lld of %lld nodes, %.1f of %.1f million "
                "multiplications on the accelerator; %lld steps' tensors; %lld were refused "
                "for want of room\n",
                (long long)tally.graphs, (long long)tally.parts, (long long)tally.accel_nodes,
                (long long)tally.nodes, (double)tally.accel_macs / 1e6, (double)tally.macs / 1e6,
                (long long)tally.steps, (long long)tally.no_room);
  assert_int_equal(bad, 0);
}

/* ---- sizes beyond the fields of commands ----------------------------------------------------- */

/* A window over `rows` by `columns`, or, with no rows, a line; sizes become those of its result. */
static void add_window(wk_str *b, wk_rng *random, int i, int64_t *rows, int64_t *columns) {
  static const char *const operators[] = {"conv", "conv", "max_pool", "integer_avg_pool"};
  int kind = (int)wk_rng_range(random, 0, 3), is_line = !*rows;
  int64_t kx = wk_rng_range(random, 1, 5), sx = wk_rng_range(random, 1, 2);
  int64_t ky = *rows ? wk_rng_range(random, 1, *rows < 3 ? *rows : 3) : 1;
  int64_t before = wk_rng_range(random, 0, kx - 1), dx = wk_rng_range(random, 1, 2);
  int64_t w = (*columns + before - (kx - 1) * dx - 1) / sx + 1, h = *rows ? *rows - ky + 1 : 0;
  char shape[60], kernel[40];
  snprintf(shape, sizeof shape, is_line ? "[1,20,%lld]" : "[1,20,%lld,%lld]",
           (long long)(is_line ? w : h), (long long)w);
  snprintf(kernel, sizeof kernel, is_line ? "%lld" : "%lld,%lld",
           (long long)(is_line ? kx : ky), (long long)kx);
  if (kind < 2)
    wk_str_printf(b, "  %%w%d = constant i8[20,%d,%s] splat(3)\n", i, kind ? 1 : 20, kernel);
  wk_str_printf(b, "  %%v%d = %s(%%v%d", i + 1, operators[kind], i);
  if (kind < 2) wk_str_printf(b, ", %%w%d", i);
  wk_str_printf(b, is_line ? ") {strides=[%lld], pads=[%lld,0], dilations=[%lld]"
                           : ") {strides=[1,%lld], pads=[0,%lld,0,0], dilations=[1,%lld]",
                (long long)sx, (long long)before, (long long)dx);
  if (kind < 2)
    wk_str_printf(b, ", group=%d, pad_value=%d, epilogue=\"sat<i8>(rescale(%%0, 9000000i64, "
                     "%di64))\"", kind ? 20 : 1, (int)wk_rng_range(random, -9, 9),
                  kind ? 26 : 30);
  else wk_str_printf(b, ", kernel=[%s]", kernel);
  if (kind == 3)
    wk_str_printf(b, ", real_pads=[0,0%s], factor=1.0, lo=-128, hi=127, to=i8",
                  is_line ? "" : ",0,0");
  wk_str_printf(b, "} : i8%s\n", shape);
  *rows = h, *columns = w;
}

/* Windows over images and lines of 500 columns and more. */
static wk_module *wide(uint64_t seed) {
  wk_rng random = {seed};
  wk_str b = {0};
  int64_t rows = wk_rng_range(&random, 0, 1) * 4, columns;
  columns = wk_rng_range(&random, 500, rows ? 1500 : 2500);
  int n = (int)wk_rng_range(&random, 1, 3);
  wk_str_printf(&b, "module \"wide\" {\ngraph @main(%%v0: i8[1,20,");
  if (rows) wk_str_printf(&b, "%lld,", (long long)rows);
  wk_str_printf(&b, "%lld]) {\n", (long long)columns);
  for (int i = 0; i < n; i++) add_window(&b, &random, i, &rows, &columns);
  wk_str_printf(&b, "  output %%v%d\n}\n}\n", n);
  return parsed(&b, "wide");
}

static void wide_images(void **state) {
  static const char *const machines[] = {"accel:base", "accel:wide"};
  static const char *const modes[] = {"auto", "auto", "off", "double", "serial"};
  int bad = 0;
  (void)state;
  memset(&tally, 0, sizeof tally);
  for (uint64_t seed = 0; seed < RANDOM_COUNT(60); seed++) {
    const wk_target_args target = {.target = machines[seed % 2],
                                   .settings = WK_SETTINGS({"prefetch", modes[seed / 2 % 5]},
                                                           {"effort", "1"})};
    bad += !check_with(seed, wide(seed), &target);
  }
  assert_int_equal(bad, 0);
  assert_int_equal(tally.refused, 0);
}

/* It would be computed in pieces of its width. */
static bool is_cut(const wk_module *m, const wk_machine *machine) {
  wk_module *y;
  wk_status s = wk_accel_cut_width(machine, m->main, &y);
  if (s) fail_msg("%s", s->message);
  if (!y) return false;
  wk_module_free(y);
  return true;
}

/* Machines of the seed's, but for a scratchpad that few rows have room in. */
static void pieces_of_width(void **state) {
  static const char *const modes[] = {"auto", "auto", "off", "double", "serial"};
  int bad = 0, cut = 0;
  (void)state;
  memset(&tally, 0, sizeof tally);
  for (uint64_t seed = first_seed; seed < first_seed + n_seeds / 2; seed++) {
    char target[80];
    wk_machine machine;
    attempt a = {.machine = &machine};
    random_machine(seed, &machine);
    machine.scratchpad = seed % 3 ? 16384 : 32768;
    snprintf(target, sizeof target, "accel:%s", machine_file);
    assert_true(random_machine_write(&machine, machine_file));
    a.target = (wk_target_args){
        .target = target, .settings = WK_SETTINGS({"prefetch", modes[seed % 5]},
                                                  {"effort", seed % 4 ? "0" : "1"})};
    wk_module *m = random_wide(seed);
    cut += is_cut(m, &machine);
    bad += !check_graph(seed, m, &a);
    wk_str_free(&a.text);
    wk_module_free(m);
  }
  print_message("%lld graphs, %d of them cut; %.1f of %.1f million multiplications on the "
                "accelerator; %lld were refused for want of room\n",
                (long long)tally.graphs, cut, (double)tally.accel_macs / 1e6,
                (double)tally.macs / 1e6, (long long)tally.no_room);
  assert_int_equal(bad, 0);
  assert_true((uint64_t)cut * 4 > n_seeds / 2);
  assert_true(tally.no_room < 2 * tally.graphs);
}

/* Windows that lie side by side. */
static wk_module *patches(uint64_t seed) {
  wk_rng random = {seed};
  wk_str b = {0};
  const int k = (int)wk_rng_range(&random, 2, 20), l = (int)wk_rng_range(&random, 2, 20);
  const int c = (int)wk_rng_range(&random, 1, 4), h = (int)wk_rng_range(&random, 1, 9);
  const int w = (int)wk_rng_range(&random, 1, 9), out = (int)wk_rng_range(&random, 1, 40);
  wk_str_printf(&b, "module \"patches\" {\ngraph @main(%%x: u8[2,%d,%d,%d]) {\n", c,
                h * k + (int)wk_rng_range(&random, 0, k - 1), w * l);
  wk_str_printf(&b, "  %%w = constant i8[%d,%d,%d,%d] splat(3)\n  %%y = conv(%%x, %%w) "
                "{strides=[%d,%d], pads=[0,0,0,0], dilations=[1,1], epilogue=\"sat<i8>("
                "rescale(%%0, 9000000i64, 30i64))\"} : i8[2,%d,%d,%d]\n  output %%y\n}\n}\n",
                out, c, k, l, k, l, out, h, w);
  return parsed(&b, "patches");
}

static void patches_as_channels(void **state) {
  int bad = 0;
  (void)state;
  memset(&tally, 0, sizeof tally);
  for (uint64_t seed = 0; seed < RANDOM_COUNT(40); seed++)
    bad += !check_with(seed, patches(seed),
                       &(wk_target_args){.target = seed % 2 ? "accel:base" : "accel:tiny",
                                         .settings = WK_SETTINGS({"effort", "1"})});
  assert_int_equal(bad, 0);
  assert_int_equal(tally.accel_macs, tally.macs);
}

/* Blocks of pixels as channels, or back, of images and of lines, and then a window at times. */
static wk_module *blocks(uint64_t seed) {
  wk_rng random = {seed};
  wk_str b = {0};
  const int n = (int)wk_rng_range(&random, 1, 2), c = (int)wk_rng_range(&random, 1, 18);
  const int is_line = !wk_rng_range(&random, 0, 2), back = (int)wk_rng_range(&random, 0, 1);
  const int rows = is_line ? 1 : (int)wk_rng_range(&random, 1, 3);
  const int columns = (int)wk_rng_range(&random, 1, 3);
  const int by_columns = (int)wk_rng_range(&random, 0, 1);
  const int h = is_line ? 1 : (int)wk_rng_range(&random, 1, 5);
  const int w = (int)wk_rng_range(&random, 1, 9), deep = rows * columns * c;
  char wide[60], narrow[60];
  snprintf(wide, sizeof wide, "%d,%d,%d,%d", n, c, h * rows, w * columns);
  snprintf(narrow, sizeof narrow, "%d,%d,%d,%d", n, deep, h, w);
  wk_str_printf(&b, "module \"blocks\" {\ngraph @main(%%x: i8[%s]) {\n", back ? wide : narrow);
  wk_str_printf(&b, "  %%y = depth_to_space(%%x) {rows=%d, columns=%d, by_columns=%d, back=%d} : "
                "i8[%s]\n", rows, columns, by_columns, back, back ? narrow : wide);
  if (seed % 2)
    wk_str_printf(&b, "  %%z = max_pool(%%y) {kernel=[1,2], strides=[1,1], pads=[0,1,0,0], "
                  "dilations=[1,1]} : i8[%s]\n", back ? narrow : wide);
  wk_str_printf(&b, "  output %%%c\n}\n}\n", seed % 2 ? 'z' : 'y');
  return parsed(&b, "blocks");
}

static void blocks_of_pixels(void **state) {
  int bad = 0;
  (void)state;
  memset(&tally, 0, sizeof tally);
  for (uint64_t seed = 0; seed < RANDOM_COUNT(150); seed++)
    bad += !check_with(seed, blocks(seed),
                       &(wk_target_args){.target = seed % 4 ? "accel:base" : "accel:tiny",
                                         .settings = WK_SETTINGS({"effort", "0"})});
  assert_int_equal(bad, 0);
  assert_true(tally.accel_nodes * 3 > tally.nodes);
}

/* ---- tokens -------------------------------------------------------------------------------- */

/* Networks on three machines in turn: with `effort` every `often` times, else with `usual`. */
static void check_drawn(wk_module *(*network)(uint64_t seed), uint64_t often, const char *effort,
                        const char *usual) {
  static const char *const machines[] = {"accel:base", "accel:tiny", "accel:wide"};
  int bad = 0;
  memset(&tally, 0, sizeof tally);
  for (uint64_t seed = 0; seed < RANDOM_COUNT(60); seed++) {
    const wk_target_args target = {
        .target = machines[seed % 3],
        .settings = WK_SETTINGS({"effort", seed % often ? usual : effort})};
    bad += !check_with(seed, network(seed), &target);
  }
  assert_int_equal(bad, 0);
}

static void windows_of_tokens(void **state) {
  (void)state;
  check_drawn(random_windowed, 4, "1", "0");
  assert_int_equal(tally.accel_macs, tally.macs);
}

static void projected_attention(void **state) {
  (void)state;
  check_drawn(random_projected, 3, "0", "1");
  assert_true(tally.accel_macs > tally.macs / 2);
}

static void masked_attention(void **state) {
  (void)state;
  check_drawn(random_attention, 5, "2", "0");
  assert_int_equal(tally.parts, RANDOM_COUNT(60));
  assert_int_equal(tally.accel_macs, tally.macs);
}

/* Networks that bugs were found by. */
static void seeds_that_failed(void **state) {
  static const uint64_t seeds[] = {50800, 10385, 275, 60104, 20357};
  (void)state;
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) assert_true(check_machine(seeds[i]));
}

/* ---- modes and efforts ----------------------------------------------------------------------- */

static char *contents(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *data = wk_xmalloc(*n + 1);
  assert_int_equal(fread(data, 1, *n, f), *n);
  fclose(f);
  return data;
}

/* The same module gives the same bytes. */
static void compile_twice(const wk_module *m, const attempt *a) {
  char *bytes[2];
  size_t size[2];
  for (int i = 0; i < 2; i++) {
    wk_module *copy = wk_module_clone(m);
    wk_status s = accel_compile(copy, &a->target, package_file, NULL);
    if (s) fail_msg("%s", s->message);
    bytes[i] = contents(package_file, &size[i]);
    wk_module_free(copy);
  }
  assert_int_equal(size[0], size[1]);
  assert_memory_equal(bytes[0], bytes[1], size[0]);
  free(bytes[0]);
  free(bytes[1]);
}

static void modes_and_efforts(void **state) {
  static const char *const modes[] = {"auto", "off", "double", "serial"};
  static const char *const efforts[] = {"0", "1", "2", "3"};
  static const char *const machines[] = {"accel:tiny", "accel:base", "accel:wide"};
  int bad = 0;
  (void)state;
  for (uint64_t seed = 5000; seed < 5000 + RANDOM_COUNT(6); seed++)
    for (int i = 0; i < 16; i++) {
      wk_module *m = draw(seed);
      attempt a = {.target = {.target = machines[seed % 3],
                              .settings = WK_SETTINGS({"prefetch", modes[i % 4]},
                                                      {"effort", efforts[i / 4]})}};
      bad += !check_graph(seed, m, &a);
      if (i == 4 || i == 13) compile_twice(m, &a);
      wk_str_free(&a.text);
      wk_module_free(m);
    }
  assert_int_equal(bad, 0);
}

static void ideas_left_out(void **state) {
  static const char *const ideas[] = {"early-issue", "cross-layer", "residency", "fusion",
                                      "stagger", "stacks", "local-search",
                                      "early-issue,cross-layer",
                                      "early-issue,cross-layer,residency,fusion,stagger,stacks,"
                                      "local-search"};
  static const char *const machines[] = {"accel:tiny", "accel:base", "accel:wide"};
  int bad = 0;
  (void)state;
  for (uint64_t seed = 5100; seed < 5100 + RANDOM_COUNT(6); seed++)
    for (size_t i = 0; i < sizeof ideas / sizeof *ideas; i++)
      bad += !check_with(seed, draw(seed),
                         &(wk_target_args){.target = machines[seed % 3],
                                           .settings = WK_SETTINGS({"prefetch", "auto"},
                                                                   {"effort", "2"},
                                                                   {"without", ideas[i]})});
  assert_int_equal(bad, 0);
}

/* ---- the RTL --------------------------------------------------------------------------------- */

/* Whatever the memory takes, the data are the same. */
static void rtl_and_memories(void **state) {
  static const char *const machines[] = {"tiny", "tiny", "base", "tiny", "wide"};
  int bad = 0;
  (void)state;
  for (uint64_t seed = 6000; seed < 6010; seed++) {
    char target[80];
    wk_module *m = draw(seed);
    const char *machine = machines[seed % 5];
    wk_machine hardware;
    assert_null(wk_machine_read(machine, &hardware));
    attempt a = {.target = {.target = target,
                            .settings = WK_SETTINGS({"prefetch", "auto"}, {"effort", "1"})},
                 .has_no_steps = true};
    snprintf(target, sizeof target, "accel:%s", machine);
    for (int k = 0; k < (seed == 6000 ? 20 : 1); k++) {
      char memory[80];
      snprintf(memory, sizeof memory, "jitter=%d,seed=%d,latency=%d", k * 40, k + 1, 60 + 25 * k);
      wk_sim_device_configure(&(wk_sim_device_options){.model = WK_SIM_RTL,
                                                       .find = wk_sim_find_rtl,
                                                       .machine = &hardware, .memory = memory});
      bad += !check_graph(seed, m, &a);
    }
    wk_str_free(&a.text);
    wk_module_free(m);
  }
  wk_sim_device_configure(&(wk_sim_device_options){0});
  assert_int_equal(bad, 0);
}

static int setup(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  snprintf(machine_file, sizeof machine_file, "%s/machine.cfg", folder);
  snprintf(package_file, sizeof package_file, "%s/random.wick", folder);
  return wick_device_register(wk_sim_device()) != WICK_OK;
}

static int teardown(void **state) {
  (void)state;
  unlink(machine_file);
  unlink(package_file);
  return rmdir(folder);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_machines),
                                     cmocka_unit_test(pieces_of_width),
                                     cmocka_unit_test(seeds_that_failed),
                                     cmocka_unit_test(wide_images),
                                     cmocka_unit_test(patches_as_channels),
                                     cmocka_unit_test(blocks_of_pixels),
                                     cmocka_unit_test(masked_attention),
                                     cmocka_unit_test(projected_attention),
                                     cmocka_unit_test(windows_of_tokens),
                                     cmocka_unit_test(modes_and_efforts),
                                     cmocka_unit_test(ideas_left_out),
                                     cmocka_unit_test(rtl_and_memories)};
  if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) n_seeds = strtoull(argv[2], NULL, 10);
  if (argc > 1) return _cmocka_run_group_tests("random machines", tests, 2, setup, teardown);
  return cmocka_run_group_tests(tests, setup, teardown);
}
