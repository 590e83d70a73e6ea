/* SPDX-License-Identifier: Apache-2.0
 * How well drawn networks, and layers as large as those of real ones, are compiled for the
 * accelerator: what accel_figures.def says of each in each mode is what comes out, to the byte and
 * the cycle, and so are the commands and what the search has judged, of which accel_checksums.def
 * has checksums. Rows that differ are printed as
 * they would stand there, so that they can be taken over once the change has been understood:
 * more cycles, waits or bytes for no gain are a defect. Nothing runs beside a transfer but what the
 * mode allows, no mode that allows more than off takes longer, and none less than least.h says, on
 * the timing model.
 *   test_accel_figures print|checksums     all rows of the one table or the other */
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
#include "targets/accel/compile/package.h"
#include "tests/random_graph.h"
#include "tests/random_layers.h"
#include "tests/random_machine.h"
#include "tests/unit/accel_least.h"

enum { FIGURES = 12, CYCLES = 10 };
static const char *const names[FIGURES] = {
    "operators", "groups", "strips", "resident", "commands", "waits", "loaded", "stored",
    "scratchpad", "work", "cycles", "macs"};

/* Of all parts of a network that are the accelerator's, one after the other; of the scratchpad and
 * of memory for work the most that one of them has. -1: a part does not fit. sum: a checksum of
 * what the search has judged, of the commands, and of when they are said to run. */
typedef struct {
  int seed;
  const char *mode;
  int64_t of[FIGURES];
  uint32_t sum;
} row;

static const row rows[] = {
#define ROW(...) {__VA_ARGS__, 0},
#include "tests/unit/accel_figures.def"
};

/* Of the streams in each mode, and of all that a package says of those of mode auto. */
typedef struct {
  int seed;
  uint32_t of[WK_PREFETCH_COUNT + 1];
} checksums;

static const checksums sums[] = {
#define SUMS(...) {__VA_ARGS__},
#include "tests/unit/accel_checksums.def"
};

static const struct {
  const char *machine, *graph;
} layers[] = {
#define LAYERS(machine, ...) {machine, __VA_ARGS__},
#include "tests/unit/accel_layers.def"
};

static const char *const modes[] = {"off", "serial", "double", "auto"};
/* Drawn ones, layers, and drawn ones that are searched for long. */
/* Under sanitizers, which are many times slower, every third network. */
enum { STEP = RANDOM_COUNT(3) == 3 ? 1 : 3 };
enum { SEEDS = 60, LAYERS_END = SEEDS + WK_COUNTOF(layers), NETWORKS = LAYERS_END + 36 };

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

/* Checksums of several things, one behind the other. */
static void sum_up(uint32_t *of, const void *data, size_t n) {
  *of = wk_crc32c(*of, data, n);
}

#define SUM_UP(of, ...)                                 \
  do {                                                  \
    const int64_t numbers[] = {__VA_ARGS__};            \
    sum_up(of, numbers, sizeof numbers);                \
  } while (0)

static void sum_up_stream(uint32_t *of, const wk_accel_stream *s) {
  for (size_t i = 0; i < s->commands.n; i++) {
    uint8_t bytes[WK_COMMAND_BYTES];
    wk_isa_encode(&s->commands.data[i], bytes);
    sum_up(of, bytes, sizeof bytes);
    SUM_UP(of, s->segments.data[i], s->results.data[i]);
  }
  for (size_t i = 0; i < s->spans.n; i++) {
    const wk_sched_span *x = &s->spans.data[i];
    SUM_UP(of, (int64_t)x->start, (int64_t)x->retire, x->operator, x->queue, x->opcode);
  }
}

/* Without fractions of cycles. */
static void sum_up_candidates(uint32_t *of, const wk_sched_explain *x) {
  for (size_t i = 0; i < x->list.n; i++) {
    const wk_sched_candidate *c = &x->list.data[i];
    SUM_UP(of, c->group.first, c->group.last, c->group.strips, c->group.keeps, c->fits, c->cycles,
           c->bytes, c->busy[WK_QUEUE_ex], c->busy[WK_QUEUE_ve], c->bus, (int64_t)c->cost);
  }
}

static void add(row *r, const wk_accel_net *net, const wk_sched_plan *p, const wk_sched_steps *s,
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
  y[CYCLES] += stream->cycles;
  for (size_t i = 0; i < net->ops.n; i++) y[11] += net->ops.data[i].macs;
  sum_up_stream(&r->sum, stream);
}

/* What runs beside a transfer: nothing (off), its own layer (double), anything. */
static bool may_overlap(wk_sched_prefetch mode, const wk_sched_span *a, const wk_sched_span *b) {
  bool both_compute = a->queue <= WK_QUEUE_ve && b->queue <= WK_QUEUE_ve;
  if (both_compute || mode == WK_PREFETCH_AUTO) return true;
  return mode == WK_PREFETCH_DOUBLE && a->operator == b->operator;
}

/* Spans come by their starts; those that have not retired are kept. */
static void check_overlaps(wk_sched_prefetch mode, const wk_accel_stream *s) {
  WK_VEC(wk_sched_span) running = {0};
  for (size_t i = 0; i < s->spans.n; i++) {
    const wk_sched_span *x = &s->spans.data[i];
    size_t left = 0;
    for (size_t k = 0; k < running.n; k++) {
      const wk_sched_span y = running.data[k];
      if (y.retire <= x->start) continue;
      if (!may_overlap(mode, &y, x))
        fail_msg("%s: command %zu starts at %lld, beside one until %lld", modes[mode], i,
                 (long long)x->start, (long long)y.retire);
      running.data[left++] = y;
    }
    running.n = left;
    wk_vec_push(&running, *x);
  }
  wk_vec_free(&running);
}

/* As package.c has it. */
static void compile_part(row *r, const wk_machine *m, const wk_sched_options *o,
                         const wk_graph *g) {
  wk_sched_explain seen = {.layer = ""};
  wk_sched_options explained = *o;
  wk_accel_net net;
  wk_sched_net sched;
  wk_sched_made made = {0};
  wk_accel_stream stream = {0};
  wk_accel_refused why;
  wk_arena *a = wk_arena_new();
  wk_accel_net_init(&net, m, a);
  assert_true(wk_accel_net_make(g, &net, &why));
  wk_accel_sched_net(&net, a, &sched);
  explained.explain = &seen;
  made.uses = wk_sched_uses(&sched, a);
  wk_status s = wk_sched_find_plan(&sched, made.uses, &explained, &made.plan);
  if (!s) {
    wk_sched_build(&sched, &made.plan, made.uses, 0, made.plan.groups.n, &made.steps);
    wk_sched_prefetch mode = wk_sched_mode_of(&made.plan, o->prefetch);
    wk_sched_depend(&sched, mode, o->without, &made.steps);
    s = wk_sched_schedule_steps(&sched, &made.steps, mode, a, &made.schedule);
  }
  if (!s) wk_accel_stream_of(&sched, &made, &stream);
  if (!s) check_overlaps(o->prefetch, &stream);
  const char *below = s ? NULL : accel_below_least(&net, &stream);
  if (below) fail_msg("network %d, %s: fewer %s than the least", r->seed, r->mode, below);
  if (!s) add(r, &net, &made.plan, &made.steps, &stream);
  else r->of[CYCLES] = -1;
  sum_up_candidates(&r->sum, &seen);
  wk_vec_free(&seen.list);
  wk_status_free(s);
  wk_accel_stream_free(&stream);
  wk_sched_made_free(&made);
  wk_accel_net_free(&net);
  wk_arena_free(a);
}

/* What of a network is the accelerator's, as a device gets it. Returns the cycles that the schedule
 * model foresees. */
static int64_t sum_up_package(uint32_t *of, const wk_machine *m, const wk_sched_options *o,
                              const wk_parts *parts) {
  enum { MOST = 64 };
  wk_target_part all[MOST];
  uint32_t rows_of[MOST];
  size_t n = 0, size;
  int64_t predicted = 0;
  void *data;
  for (size_t i = 0; i < parts->parts.n; i++) {
    const wk_part *p = &parts->parts.data[i];
    if (strcmp(p->instance->target->name, "accel") != 0) continue;
    assert_true(n < MOST);
    all[n++] = (wk_target_part){.name = p->name, .graph = p->module->main, .program = p->program};
  }
  if (!n) return 0;
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "", .compiler = "", .flags = ""});
  wk_status s = wk_accel_compile(m, m->name, o, all, n, pkg, rows_of, &predicted);
  for (size_t i = 0; i < n && !s; i++) wk_package_add_whole(pkg, all[i].name, rows_of[i]);
  if (!s) s = wk_package_bytes(pkg, &data, &size);
  if (s) fail_msg("%s: %s", s->place ? s->place : "", s->message);
  *of = wk_crc32c(0, data, size);
  free(data);
  wk_package_free(pkg);
  return predicted;
}

/* A plan in groups is not much worse than one without, as the search sees it. */
static void check_groups(int seed, const wk_machine *m, const wk_sched_options *o,
                         const wk_parts *parts) {
  wk_sched_options fewer = *o;
  uint32_t sum;
  fewer.without |= WK_SCHED_FUSION | WK_SCHED_LOCAL_SEARCH;
  int64_t with = sum_up_package(&sum, m, o, parts);
  int64_t without = sum_up_package(&sum, m, &fewer, parts);
  if (with > without + without / (o->prefetch == WK_PREFETCH_AUTO ? 15 : 31))
    fail_msg("network %d, %s: %lld cycles, %lld without groups", seed, modes[o->prefetch],
             (long long)with, (long long)without);
}

/* ---- a network ------------------------------------------------------------------------------- */

/* Every fourth machine of a drawn network is drawn. */
static bool is_drawn(int seed) { return seed < SEEDS || seed >= (int)LAYERS_END; }

/* Of drawn networks, what they are drawn by: the same when there are more layers. */
static int draw_of(int seed) {
  return seed < (int)LAYERS_END ? seed : seed - (int)LAYERS_END + 100;
}

static void machine_of(int seed, wk_machine *m, char spec[80]) {
  static const char *const named[] = {"tiny", "base", "wide", NULL};
  const char *name = is_drawn(seed) ? named[draw_of(seed) % 4] : layers[seed - SEEDS].machine;
  if (name) {
    assert_null(wk_machine_read(name, m));
    snprintf(spec, 80, "accel:%s", name);
    return;
  }
  random_machine((uint64_t)draw_of(seed), m);
  assert_true(random_machine_write(m, machine_file));
  snprintf(spec, 80, "accel:%s", machine_file);
}

static wk_module *module_of(int seed) {
  wk_module *m;
  wk_str text = {0};
  int64_t changes;
  wk_status s;
  if (is_drawn(seed)) {
    int draw = draw_of(seed);
    m = random_layers_graph((uint64_t)draw + (seed < SEEDS ? 70000 : 80000),
                            seed < SEEDS ? 1 + seed % 6 : 2 + draw % 4);
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

/* Of drawn networks some leave an idea out, of the others some leave out two. */
static wk_sched_options options_of(int seed, int mode) {
  static const unsigned ideas[] = {0, 0, 0, WK_SCHED_EARLY_ISSUE, WK_SCHED_CROSS_LAYER,
                                   WK_SCHED_RESIDENCY, WK_SCHED_FUSION, WK_SCHED_LOCAL_SEARCH};
  static const unsigned more[] = {0, WK_SCHED_RESIDENCY, WK_SCHED_FUSION,
                                  WK_SCHED_EARLY_ISSUE | WK_SCHED_CROSS_LAYER, 0};
  wk_sched_options o = {.prefetch = (wk_sched_prefetch)mode, .effort = seed / 4 % 3,
                        .marks = draw_of(seed) % 11 == 0};
  if (seed < SEEDS) o.without = ideas[(size_t)seed / 2 % WK_COUNTOF(ideas)];
  if (seed >= (int)LAYERS_END) {
    o.without = more[(size_t)draw_of(seed) % WK_COUNTOF(more)];
    o.effort = 2 + draw_of(seed) / 2 % 2;
  }
  return o;
}

static void compile(int seed, row out[WK_PREFETCH_COUNT], checksums *sum) {
  char spec[80];
  wk_machine machine;
  wk_targets t;
  wk_parts *parts = NULL;
  wk_pipeline_report report = {0};
  machine_of(seed, &machine, spec);
  wk_module *m = module_of(seed);
  const wk_target_args args = {.target = spec, .cpu = "avx2",
                               .settings = WK_SETTINGS({"effort", "0"})};
  wk_status s = wk_targets_open(&args, &t);
  if (s) fail_msg("network %d: %s", seed, s->message);
  s = wk_pipeline_run(m, &(wk_pipeline_options){.targets = &t}, &report, &parts);
  if (s) fail_msg("network %d: %s", seed, s->message);
  *sum = (checksums){.seed = seed};
  for (int mode = 0; mode < WK_PREFETCH_COUNT; mode++) {
    wk_sched_options o = options_of(seed, mode);
    o.plans = wk_sched_plans_new();
    out[mode] = (row){.seed = seed, .mode = modes[mode]};
    for (size_t i = 0; i < parts->parts.n; i++) {
      const wk_part *p = &parts->parts.data[i];
      if (!strcmp(p->instance->target->name, "accel"))
        compile_part(&out[mode], &machine, &o, p->module->main);
    }
    sum->of[mode] = out[mode].sum;
    if (o.effort && !o.without && mode != WK_PREFETCH_SERIAL)
      check_groups(seed, &machine, &o, parts);
    if (mode == WK_PREFETCH_AUTO) sum_up_package(&sum->of[mode + 1], &machine, &o, parts);
    wk_sched_plans_free(o.plans);
  }
  assert_true(out[WK_PREFETCH_DOUBLE].of[CYCLES] <= out[WK_PREFETCH_OFF].of[CYCLES]);
  assert_true(out[WK_PREFETCH_AUTO].of[CYCLES] <= out[WK_PREFETCH_OFF].of[CYCLES]);
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

static void print_sums(const checksums *x) {
  printf("SUMS(%d, {", x->seed);
  for (size_t i = 0; i < WK_COUNTOF(x->of); i++) printf("%s0x%08x", i ? ", " : "", x->of[i]);
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
  if (WK_COUNTOF(rows) != NETWORKS * WK_PREFETCH_COUNT || WK_COUNTOF(sums) != NETWORKS)
    fail_msg("%zu rows, %zu of checksums", WK_COUNTOF(rows), WK_COUNTOF(sums));
  for (int seed = 0; seed < (int)NETWORKS; seed += STEP) {
    row got[WK_PREFETCH_COUNT];
    checksums sum;
    compile(seed, got, &sum);
    if (memcmp(&sums[seed], &sum, sizeof sum) != 0) print_sums(&sum), wrong++;
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

static bool prints_sums;

static void print_all(void **state) {
  (void)state;
  for (int seed = 0; seed < (int)NETWORKS; seed++) {
    row got[WK_PREFETCH_COUNT];
    checksums sum;
    compile(seed, got, &sum);
    if (prints_sums) print_sums(&sum);
    for (int mode = 0; mode < WK_PREFETCH_COUNT && !prints_sums; mode++) print(&got[mode]);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(networks)};
  const struct CMUnitTest printing[] = {cmocka_unit_test(print_all)};
  prints_sums = argc > 1 && !strcmp(argv[1], "checksums");
  if (prints_sums || (argc > 1 && !strcmp(argv[1], "print")))
    return cmocka_run_group_tests(printing, setup, teardown);
  return cmocka_run_group_tests(tests, setup, teardown);
}
