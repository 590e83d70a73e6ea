/* SPDX-License-Identifier: Apache-2.0
 * Shares are parts of a whole. Of random networks on random machines, of layers that fill few lanes
 * or wait for memory, and of random streams, no report has a share above 1, and no layer lies above
 * the roofline; layers sum to the run, and the use of the array is what the model multiplies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/accel_parts.h"
#include "cli/study/causes.h"
#include "cli/study/sim_json.h"
#include "compiler/integer/integer.h"
#include "tests/random_layers.h"
#include "tests/random_machine.h"
#include "tests/random_stream.h"
#include "tests/unit/accel_run.h"

static char folder[] = "/tmp/wick-accel-shares-XXXXXX", machine_file[64], package_file[64];
static int64_t layers_seen, hidden_seen, runs_seen, macs_compiled, macs_shown;
static int64_t macs_of_parts; /* of all targets */

/* ---- a report -------------------------------------------------------------------------------- */

static double number_of(const json_t *o, const char *name) {
  return json_number_value(json_object_get(o, name));
}

static void check_share(const char *what, const json_t *o, const char *name) {
  const json_t *v = json_object_get(o, name);
  if (!v) fail_msg("%s: no %s", what, name);
  double share = json_number_value(v);
  if (!(share >= 0 && share <= 1)) fail_msg("%s: %s is %g", what, name, share);
}

/* What is drawn, and what mapping and activity say. */
static void check_layer(const char *what, const json_t *l, double peak, double rate) {
  static const char *const shares[] = {"share",    "utilisation", "mapping",
                                       "activity", "overlap",     "efficiency"};
  for (size_t i = 0; i < WK_COUNTOF(shares); i++) check_share(what, l, shares[i]);
  double macs = number_of(l, "macs"), bytes = number_of(l, "read") + number_of(l, "written");
  double cycles = number_of(l, "cycles"), spent = cycles + number_of(l, "hidden");
  double use = number_of(l, "utilisation");
  if (macs > spent * peak || bytes > spent * rate * (1 + 1e-9))
    fail_msg("%s: %g multiplications, %g bytes in %g cycles", what, macs, bytes, spent);
  if (number_of(l, "exposed") > cycles) fail_msg("%s: exposed", what);
  if (cycles > 0 && (use > macs / (peak * cycles) + 1e-9 || use < macs / (peak * cycles) - 1e-9))
    fail_msg("%s: use of the array %g", what, use);
  if (macs > 0) {
    double product = number_of(l, "mapping") * number_of(l, "activity");
    if (product > use + 1e-9 || product < use - 1e-9)
      fail_msg("%s: %g, not %g", what, product, use);
  }
  layers_seen++;
  hidden_seen += number_of(l, "hidden") > 0;
}

/* A part's; the cycles that the array needs are all there, whosever they are. */
static void check_part(const char *what, const json_t *run, const wk_machine *m) {
  double peak = (double)m->array * (double)m->array, cycles = 0, macs = 0;
  double rate = (double)m->dram_bytes.num / (double)m->dram_bytes.den;
  const json_t *layer, *all = json_object_get(run, "all_layers");
  size_t i;
  json_array_foreach(json_object_get(run, "layers"), i, layer) {
    wk_str name = {0};
    wk_str_printf(&name, "%s, %s", what, json_string_value(json_object_get(layer, "name")));
    check_layer(name.s, layer, peak, rate);
    wk_str_free(&name);
    cycles += number_of(layer, "cycles"), macs += number_of(layer, "macs");
  }
  check_layer(what, all, peak, rate);
  check_share(what, run, "utilisation");
  macs_shown += (int64_t)macs;
  if (number_of(all, "hidden") > 0) fail_msg("%s: more is needed than there is", what);
  if (cycles != number_of(run, "cycles") || macs != number_of(all, "macs"))
    fail_msg("%s: layers have %g cycles, %g multiplications", what, cycles, macs);
  if (number_of(run, "utilisation") != number_of(all, "utilisation"))
    fail_msg("%s: two uses of the array", what);
  if (number_of(json_object_get(run, "causes"), "compute") != number_of(all, "ex"))
    fail_msg("%s: compute is not what the array needs", what);
}

static void check_run(const char *what, const wk_sim_shown *shown) {
  wk_sim_shown x = *shown;
  wk_sim_why why = {0};
  wk_sim_why_of(&x, false, &why);
  x.why = &why;
  json_t *run = wk_sim_figures_json(&x);
  check_share(what, run, "active_lanes");
  check_share(what, run, "overlap");
  if (x.part) check_part(what, run, x.machine);
  else if (!json_is_null(json_object_get(run, "utilisation"))) fail_msg("%s: use", what);
  json_decref(run);
  wk_sim_why_free(&why);
  runs_seen++;
}

static void run_stream(const char *what, const wk_stream *s, const wk_machine *m,
                       const wk_sim_part *part) {
  const wk_sim_run_options o = {.machine = m};
  wk_sim_run run;
  wk_status st = wk_sim_run_stream(s, &wk_sim_timing, &o, &run);
  if (!st) st = wk_sim_verdict(s, m, &run);
  if (st) fail_msg("%s: %s", what, st->message);
  check_run(what, &(wk_sim_shown){s, m, &run, &wk_sim_timing, part, NULL});
  wk_sim_run_free(&run);
}

/* ---- networks -------------------------------------------------------------------------------- */

static void run_parts(const char *what) {
  wick_model *model;
  wk_accel_parts parts;
  wk_file f;
  const wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_DESCRIBE};
  assert_null(wk_file_map(package_file, &f));
  assert_int_equal(wick_model_load(package_file, &lo, &model), WICK_OK);
  assert_null(wk_accel_parts_read(model, &f, &parts));
  for (size_t i = 0; i < parts.n_parts; i++) {
    const wk_accel_package_part *p = &parts.parts[i];
    const wk_sim_part part = {p->info->name, i, p->unit, p->row};
    wk_stream *s;
    assert_null(wk_accel_part_stream(p->unit, (uint32_t)p->info->code, p->io,
                                     (size_t)p->info->input_count + p->info->output_count,
                                     &(wk_accel_placement){.source = "part"}, &s, NULL));
    run_stream(what, s, &s->machine, &part);
    wk_stream_free(s);
  }
  wk_accel_parts_free(&parts);
  wick_model_free(model);
  wk_file_unmap(&f);
}

static void count_macs(const wk_parts *parts) {
  macs_compiled = macs_of_parts = 0;
  for (size_t i = 0; i < parts->parts.n; i++) {
    macs_of_parts += parts->parts.data[i].macs;
    if (!strcmp(parts->parts.data[i].instance->target->name, "accel"))
      macs_compiled += parts->parts.data[i].macs;
  }
}

static int64_t macs_of_model(const wk_module *m) {
  int64_t n = 0;
  for (size_t i = 0; i < m->main->nodes.n; i++) n += wk_node_macs(m->main, &m->main->nodes.data[i]);
  return n;
}

/* What the nodes multiply is what the layers do: neither padding nor pieces of an operator change
 * it. */
static void compile_and_run(const char *what, wk_module *m, const wk_target_args *args) {
  wk_status s = accel_compile(m, args, package_file, count_macs);
  if (s) fail_msg("%s: %s", what, s->message);
  macs_shown = 0;
  run_parts(what);
  if (macs_shown != macs_compiled)
    fail_msg("%s: %lld multiplications of %lld", what, (long long)macs_shown,
             (long long)macs_compiled);
  wk_module_free(m);
}

static void random_networks(void **state) {
  static const char *const modes[] = {"auto", "auto", "off", "double", "serial"};
  (void)state;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    char what[32], target[80];
    wk_machine machine;
    int64_t changes;
    wk_module *m = random_layers_graph(seed, 1 + (int)(seed % 9));
    assert_null(wk_integer_convert(m, &changes));
    random_machine(seed, &machine);
    assert_true(random_machine_write(&machine, machine_file));
    snprintf(what, sizeof what, "seed %d", (int)seed);
    snprintf(target, sizeof target, "accel:%s", machine_file);
    compile_and_run(what, m, &(wk_target_args){
        .target = target, .settings = WK_SETTINGS({"prefetch", modes[seed % 5]},
                                                  {"marks", seed % 4 ? NULL : "yes"})});
  }
  print_message("%lld runs, %lld layers, %lld with hidden cycles\n", (long long)runs_seen,
                (long long)layers_seen, (long long)hidden_seen);
  assert_true(hidden_seen > 0);
}

#define Q "sat<i8>(rescale(%0, 9000000i64, 13i64))"
#define CONV(y, x, w, pads, more, type)                                                            \
  "  %w" y " = constant i8[" w "] splat(3)\n  %" y " = conv(%" x ", %w" y ") {strides=[1,1], "     \
  "pads=[" pads "], dilations=[1,1]" more ", epilogue=\"" Q "\"} : i8[" type "]\n"
/* Weights of u8 and x, less their zero points. */
#define WIDENED(x, type, w, values)                                                                \
  "  %w = constant i16[" w "] " values "\n  %wide = map(%" x                                       \
  ") {body=\"sub(i16(%0), 3i16)\"} : i16[" type "]\n"
#define U8_CONV "strides=[1,1], pads=[1,1,1,1], dilations=[1,1]"
#define SHUFFLE(y, x)                                                                              \
  "  %1" y " = reshape(%" x ") {shape=[1,4,8,5,5]} : i8[1,4,8,5,5]\n"                              \
  "  %2" y " = transpose(%1" y ") {perm=[0,2,1,3,4]} : i8[1,8,4,5,5]\n"                            \
  "  %" y " = reshape(%2" y ") {shape=[1,32,5,5]} : i8[1,32,5,5]\n"
#define POOL(y, x, type)                                                                           \
  "  %" y " = max_pool(%" x ") {kernel=[3,3], strides=[1,1], pads=[1,1,1,1], dilations=[1,1]} : "  \
  "i8[" type "]\n"

static const struct {
  const char *what, *graph;
} small[] = {
    {"few channels", "(%x: i8[1,1,28,28]) {\n" CONV("y", "x", "8,1,5,5", "2,2,2,2", "",
                                                     "1,8,28,28")},
    {"taps that only see padding", "(%x: i8[1,16,1,1]) {\n" CONV("y", "x", "16,16,3,3", "1,1,1,1",
                                                                 "", "1,16,1,1")},
    {"a row, and all its weights", "(%x: i8[1,300]) {\n  %w = constant i8[300,70] splat(3)\n"
     "  %y = matmul(%x, %w) {epilogue=\"" Q "\"} : i8[1,70]\n"},
    {"depthwise", "(%x: i8[1,40,9,9]) {\n" CONV("y", "x", "40,1,3,3", "1,1,1,1", ", group=40",
                                                "1,40,9,9")},
    {"groups", "(%x: i8[1,24,9,9]) {\n" CONV("y", "x", "24,8,3,3", "1,1,1,1", ", group=3",
                                             "1,24,9,9")},
    {"a pool beside a convolution", "(%x: i8[1,32,20,20]) {\n"
     CONV("a", "x", "32,32,3,3", "1,1,1,1", "", "1,32,20,20") POOL("b", "a", "1,32,20,20")
     CONV("y", "b", "48,32,3,3", "1,1,1,1", "", "1,48,20,20")},
    {"short commands", "(%x: i8[1,64,2,2]) {\n" CONV("a", "x", "64,64,1,1", "0,0,0,0", "",
                                                     "1,64,2,2")
     CONV("b", "a", "9,64,1,1", "0,0,0,0", "", "1,9,2,2")
     CONV("y", "b", "64,9,1,1", "0,0,0,0", "", "1,64,2,2")},
    {"inverted bottleneck", "(%x: i8[1,16,14,14]) {\n"
     CONV("a", "x", "96,16,1,1", "0,0,0,0", "", "1,96,14,14")
     CONV("b", "a", "96,1,3,3", "1,1,1,1", ", group=96", "1,96,14,14")
     CONV("y", "b", "24,96,1,1", "0,0,0,0", "", "1,24,14,14")},
    {"more channels than there is room for", "(%x: i8[1,100,3,400]) {\n"
     CONV("y", "x", "100,1,3,3", "1,1,1,1", ", group=100", "1,100,3,400")},
    {"weights that take two pieces", "(%x: u8[1,32,5,5]) {\n"
     WIDENED("x", "1,32,5,5", "8,32,3,3", "splat(200)")
     "  %y = conv(%wide, %w) {" U8_CONV ", epilogue=\"" Q "\"} : i8[1,8,5,5]\n"},
    {"weights that take three, of few channels", "(%x: u8[1,3,5,5]) {\n"
     WIDENED("x", "1,3,5,5", "8,3,3,3", "splat(255)")
     "  %y = conv(%wide, %w) {" U8_CONV ", epilogue=\"" Q "\"} : i8[1,8,5,5]\n"},
    {"a matrix of two pieces, rescaled behind it", "(%x: u8[4,64]) {\n"
     WIDENED("x", "4,64", "64,20", "splat(-255)")
     "  %s = matmul(%wide, %w) : i32[4,20]\n  %y = map(%s) {body=\"" Q "\"} : i8[4,20]\n"},
    {"channels that move", "(%x: i8[1,32,5,5]) {\n" SHUFFLE("s", "x")
     CONV("y", "s", "32,32,1,1", "0,0,0,0", "", "1,32,5,5")},
    {"of two tensors", "(%x: i8[2,40,24], %z: i8[2,24,17]) {\n"
     "  %y = integer_matmul(%x, %z) {epilogue=\"" Q "\"} : i8[2,40,17]\n"},
};

/* Nor do more multiplications for weights that the machine does not have, or channels that move. */
static void layers_of_every_kind(void **state) {
  static const char *const machines[] = {"accel:tiny", "accel:base", "accel:wide"};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(small); i++)
    for (size_t k = 0; k < WK_COUNTOF(machines); k++) {
      wk_str text = {0};
      wk_module *m;
      wk_str_printf(&text, "module \"t\" {\ngraph @main%s  output %%y\n}\n}\n", small[i].graph);
      wk_status s = wk_module_parse(text.s, "t", &m);
      if (s) fail_msg("%s: %s: %s", small[i].what, s->place ? s->place : "", s->message);
      int64_t macs = macs_of_model(m);
      compile_and_run(small[i].what, m, &(wk_target_args){.target = machines[k]});
      if (macs_of_parts != macs || macs_shown != macs)
        fail_msg("%s: %lld multiplications of %lld, the model's %lld", small[i].what,
                 (long long)macs_shown, (long long)macs_of_parts, (long long)macs);
      wk_str_free(&text);
    }
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Every command of ex has the cycles that the array needs for it. */
static void check_charges(const char *what, const wk_stream *s, const wk_machine *m) {
  enum { MOST = 1 << 16 };
  const wk_sim_run_options o = {.machine = m};
  wk_sim_run run;
  assert_null(wk_sim_run_stream(s, &wk_sim_timing, &o, &run));
  wk_sched_charge *charges = wk_xcalloc(MOST, sizeof *charges);
  for (uint32_t i = 0; i < run.n; i++) run.spans[i].operator = (uint16_t)(i % (MOST - 1) + 1);
  assert_true(run.n < MOST - 1);
  assert_null(wk_sim_charge(&run, MOST - 1, charges));
  for (uint32_t i = 0; i < run.n; i++)
    if (run.spans[i].queue == WK_QUEUE_ex && charges[i + 1].cycles < run.spans[i].array)
      fail_msg("%s: command %u has %llu cycles, and needs %llu", what, i,
               (unsigned long long)charges[i + 1].cycles, (unsigned long long)run.spans[i].array);
  free(charges);
  wk_sim_run_free(&run);
}

static void random_streams(void **state) {
  static const char *const machines[] = {"tiny", "base", "wide"};
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    char what[32];
    wk_machine m;
    assert_null(wk_machine_read(machines[seed % 3], &m));
    wk_stream *s = random_stream(&m, seed, NULL);
    snprintf(what, sizeof what, "stream %d", (int)seed);
    run_stream(what, s, &s->machine, NULL);
    check_charges(what, s, &s->machine);
    wk_stream_free(s);
  }
}

static int setup(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  snprintf(machine_file, sizeof machine_file, "%s/machine.cfg", folder);
  snprintf(package_file, sizeof package_file, "%s/shares.wick", folder);
  return wick_device_register(wk_sim_device()) != WICK_OK;
}

static int teardown(void **state) {
  (void)state;
  unlink(machine_file);
  unlink(package_file);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_networks),
                                     cmocka_unit_test(layers_of_every_kind),
                                     cmocka_unit_test(random_streams)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
