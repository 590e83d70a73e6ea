/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model_paths.h"
#include "cli/paths.h"
#include "cli/sim_model.h"
#include "cli/study/sim.h"
#include "cli/text.h"
#include "compiler/calibrate/quantize.h"
#include "targets/accel/check/check.h"

static const char *const tunes[] = {"cached", "now", "never", NULL}; /* wk_sim_tune */

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Machine"},
    {"machine", 'm', "NAME|FILE.cfg",
     "machine to simulate: base, tiny, wide or a file (default: "
     "what the stream says, else base)",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, machine)},
    {"dram", 0, "KEY=VALUE,…",
     "change the memory: latency=500,bytes=4,jitter=20,seed=3 "
     "(docs/machine.md); no rebuild",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, dram)},
    {"model", 0, "MODEL",
     "functional: results only; timing: a queue model in C; rtl (default): "
     "the hardware, cycle by cycle",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(wk_sim_opts, model), .choices = wk_sim_models},
    {"rtl", 0, "DIR", "another RTL tree with the same top, ports and registers",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, rtl)},
    {"build", 0, NULL, "only build the RTL model of the machine", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_sim_opts, build)},
    {"rebuild", 0, NULL, "build it even if it is in the cache", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_sim_opts, rebuild)},
    {"tune", 0, "WHEN",
     "now: build an RTL model that a profile makes faster, in twice the time; "
     "cached (default): run it if it was built; never: run the plain one",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(wk_sim_opts, tune), .choices = tunes},
    {.kind = WK_OPTION_GROUP, .help = "Run"},
    {"max-cycles", 0, "N", "give up after N cycles", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_sim_opts, max_cycles), .min = 1, .max = INT64_MAX},
    {"timeout", 0, "N", "the machine's own watchdog: cycles without progress",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_sim_opts, timeout), .min = 0, .max = UINT32_MAX},
    {"seed", 0, "N", "of --stalls and --random-reset", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_sim_opts, seed), .min = 0, .max = INT32_MAX},
    {"stalls", 0, NULL, "the bus is not ready at random times", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_sim_opts, stalls)},
    {"random-reset", 0, NULL, "random registers and memories before reset", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_sim_opts, random_reset)},
    {"unchecked", 0, NULL, "run even what the static checker refuses", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_sim_opts, unchecked)},
    {"unverified", 0, NULL, "do not compare memory with the functional model",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_sim_opts, unverified)},
    {.kind = WK_OPTION_GROUP, .help = "Of a package"},
    {"input", 'i', "NAME=FILE", "a .npy or .pb file for an input; without NAME= for the next one",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_sim_opts, input)},
    {"random", 0, "SEED", "seed of the inputs without a file (default 1)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_sim_opts, random), .min = 0, .max = INT64_MAX},
    {"entry", 0, "NAME", "which binding, by name or number (default: the first that fits the "
     "inputs)", .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, entry)},
    WK_PART_OPTION(wk_sim_opts, part, "only this part for the accelerator; others run on the "
                   "functional model, unseen"),
    {.kind = WK_OPTION_GROUP, .help = "Of a model"},
    {"prefetch", 0, "MODE", "when data is loaded for what computes later: off, serial, double, "
     "auto (default; 'wick targets')", .kind = WK_OPTION_PAIR,
     .offset = offsetof(wk_sim_opts, settings)},
    {"with-modes", 0, NULL, "compile and run it with every --prefetch, and compare them",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_sim_opts, with_modes)},
    {"effort", 0, "N", "how long to search for a schedule ('wick targets')",
     .kind = WK_OPTION_PAIR, .offset = offsetof(wk_sim_opts, settings)},
    {.kind = WK_OPTION_ROWS, .offset = offsetof(wk_sim_opts, settings), .rows = wk_setting_row,
     .is_unlisted = true},
    WK_QUANTIZE_RANDOM_OPTION(wk_sim_opts, quantize),
    WK_BINDING_OPTIONS(wk_sim_opts, binding),
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"causes", 0, NULL,
     "the critical path: what cycles were waited for, and why; and what the same stream would take "
     "if memory were faster or the scratchpad larger",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_sim_opts, causes)},
    {"commands", 0, NULL, "when each command started and ended", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_sim_opts, commands)},
    {"dump", 0, "REGION=FILE", "write a region of memory as it is in the end",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_sim_opts, dump)},
    {"json", 0, "FILE", "all figures and counters", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_sim_opts, json)},
    {"csv", 0, "FILE", "the table of a package's layers", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_sim_opts, csv)},
    {"html", 0, "FILE",
     "a page for a browser: causes, layers, timeline, roofline, scratchpad over time; no network "
     "is needed", .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, html)},
    {"trace", 0, "FILE", "timeline for ui.perfetto.dev: a track for each queue, waits as arrows",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, trace)},
    {"fst", 0, "A:B[=FILE]",
     "waveform from the start of command A to the end of command B of a stream, or of a part "
     "(--part N where there are several); a nanosecond there is a cycle. FILE: by default "
     "STREAM.fst or PACKAGE.N.fst in the current folder",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, fst)},
    {"coverage", 0, "FILE",
     "count the RTL's lines and toggles; FILE is for verilator_coverage "
     "(bench/coverage does all of it)",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sim_opts, coverage)},
    {0}};

/* ---- options without effect ------------------------------------------------------------------ */

enum { /* sets of who uses an option */
  RTL = 1 << WK_SIM_RTL,
  TIMED = RTL | 1 << WK_SIM_TIMING,
  RUN = TIMED | 1 << WK_SIM_FUNCTIONAL,
  BUILD = 8
};

static const wk_sim_opts defaults = {.model = WK_SIM_RTL, .timeout = WK_SIM_UNSET,
                                     .seed = WK_SIM_UNSET, .random = WK_SIM_UNSET,
                                     .part = WK_ACCEL_ALL_PARTS};

static wk_status refuse(const char *option, int users, int user) {
  if (user == BUILD) return wk_error(WK_USAGE, "%s has no effect with --build", option);
  if (!(users & TIMED & ~RTL)) return wk_error(WK_USAGE, "%s needs --model rtl", option);
  return wk_error(WK_USAGE, "%s: the functional model has no time; --model timing or rtl has",
                  option);
}

/* Results depend on the size alone, and only the RTL sees errors. */
wk_status wk_sim_check_dram(const wk_sim_opts *o) {
  static const char prefix[] = "dram_";
  char option[64];
  int user = 1 << o->model;
  for (const char *at = o->dram; at; at = strchr(at, ',')) {
    at += *at == ',';
    const char *name = strncmp(at, prefix, strlen(prefix)) ? at : at + strlen(prefix);
    size_t n = strcspn(name, "=,");
    int users = n == 4 && !strncmp(name, "size", n)    ? RUN
                : n == 5 && !strncmp(name, "error", n) ? RTL
                                                       : TIMED;
    snprintf(option, sizeof option, "--dram %.*s", (int)n, name);
    if (!(users & user)) return refuse(option, users, user);
  }
  return NULL;
}

/* None is ignored: whoever gives one expects something of it. */
static wk_status check_effect(const wk_sim_opts *o, int user) {
  const struct {
    const char *name;
    bool is_set;
    int users;
  } rows[] = {{"--build", o->build, RTL | BUILD},
              {"--rtl", o->rtl, RTL | BUILD},
              {"--rebuild", o->rebuild, RTL | BUILD},
              {"--tune", o->tune != WK_SIM_TUNE_CACHED, RTL | BUILD},
              {"--fst", o->fst, RTL | BUILD},
              {"--coverage", o->coverage, RTL | BUILD},
              {"--dram", o->dram, RUN},
              {"--max-cycles", o->max_cycles, TIMED},
              {"--timeout", o->timeout != WK_SIM_UNSET, RTL},
              {"--seed", o->seed != WK_SIM_UNSET, RTL},
              {"--stalls", o->stalls, RTL},
              {"--random-reset", o->random_reset, RTL},
              {"--unchecked", o->unchecked, RUN},
              {"--unverified", o->unverified, RTL},
              {"--causes", o->causes, TIMED},
              {"--commands", o->commands, TIMED},
              {"--dump", o->dump.n > 0, RUN},
              {"--json", o->json, RUN},
              {"--csv", o->csv, TIMED},
              {"--with-modes", o->with_modes, TIMED},
              {"--html", o->html, TIMED},
              {"--trace", o->trace, TIMED}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (rows[i].is_set && !(rows[i].users & user))
      return refuse(rows[i].name, rows[i].users, user);
  if (o->seed != WK_SIM_UNSET && !o->stalls && !o->random_reset)
    return wk_error(WK_USAGE, "--seed has no effect without --stalls or --random-reset");
  if (o->tune == WK_SIM_TUNE_NOW && (o->fst || o->coverage))
    return wk_error(WK_USAGE, "--tune now has no effect with %s", o->fst ? "--fst" : "--coverage");
  return NULL;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* What is written overwrites neither what was read nor something else that is written. */
static wk_status check_paths(const wk_sim_opts *o, const char *kind, const char *path) {
  wk_arena *a = wk_arena_new();
  wk_paths paths = {0};
  wk_paths_read(&paths, kind, path);
  wk_paths_read(&paths, "--machine", o->machine);
  wk_binding_paths(&paths, &o->binding);
  for (size_t i = 0; i < o->dump.n; i++) {
    const char *equals = strchr(o->dump.data[i], '=');
    char *what = wk_arena_printf(a, "--dump %s", o->dump.data[i]);
    if (equals) wk_paths_write(&paths, what, equals + 1);
  }
  wk_paths_write(&paths, "--json", o->json);
  wk_paths_write(&paths, "--csv", o->csv);
  wk_paths_write(&paths, "--html", o->html);
  wk_paths_write(&paths, "--trace", o->trace);
  wk_paths_write(&paths, "--coverage", o->coverage);
  wk_paths_write(&paths, "--fst", wk_sim_fst_file(o->fst));
  wk_status s = wk_paths_check(&paths);
  wk_arena_free(a);
  return s;
}

static wk_status simulate(const wk_sim_opts *o, const wk_stream *s) {
  wk_sim_record *record = wk_sim_record_new(o, NULL);
  const wk_sim_model *model = NULL;
  wk_sim_run r = {0};
  wk_machine m;
  wk_status status = wk_sim_choose_machine(o, s, &m);
  if (!status) status = wk_sim_simulate(o, s, NULL, &m, &model, record, &r);
  wk_sim_run_free(&r);
  return wk_sim_record_close(record, status);
}

/* What only models have: "effort"; NULL. */
static const char *model_option(const wk_sim_opts *o) {
  const char *setting = wk_settings_given(&o->settings), *binding = wk_binding_given(&o->binding);
  return setting         ? setting
         : o->with_modes ? "with-modes"
         : o->quantize   ? "quantize-random"
         : binding       ? binding + strlen("--")
                         : NULL;
}

/* What only packages have, and models. */
static const char *package_option(const wk_sim_opts *o) {
  return o->input.n                      ? "input"
         : o->random != WK_SIM_UNSET     ? "random"
         : o->entry                      ? "entry"
         : o->part != WK_ACCEL_ALL_PARTS ? "part"
         : o->csv                        ? "csv"
                                         : NULL;
}

static wk_status check_stream_options(const wk_sim_opts *o) {
  const char *option = package_option(o);
  return option ? wk_error(WK_USAGE, "--%s is for packages; this is a stream", option) : NULL;
}

static wk_status run_stream(const wk_sim_opts *o, const char *path) {
  wk_machine m;
  wk_stream *s;
  WK_TRY(wk_status_place(check_stream_options(o), path));
  if (o->machine) WK_TRY(wk_machine_read(o->machine, &m));
  const wk_asm_options a = {.unchecked = o->unchecked, .machine = o->machine ? &m : NULL};
  WK_TRY(wk_stream_load(path, &a, &s));
  wk_status status = simulate(o, s);
  wk_stream_free(s);
  return status;
}

static wk_status run_package(const wk_sim_opts *o, const char *path) {
  wk_sim_record *record = wk_sim_record_new(o, path);
  return wk_sim_record_close(record, wk_sim_package(o, path, path, record));
}

static wk_status build_only(const wk_sim_opts *o) {
  const wk_sim_model *model;
  wk_machine m;
  const char *option = model_option(o) ? model_option(o) : package_option(o);
  if (option) return wk_error(WK_USAGE, "--%s has no effect with --build", option);
  WK_TRY(check_paths(o, NULL, NULL));
  WK_TRY(wk_sim_choose_machine(o, NULL, &m));
  WK_TRY(wk_sim_open_model(o, &m, &model));
  printf("the %s RTL model of machine %s is ready\n", model->build, m.name);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const wk_sim_opts *o = options_;
  wk_file f;
  WK_TRY(check_effect(o, o->build && o->model == WK_SIM_RTL ? BUILD : 1 << o->model));
  if (o->build && args->n > 0)
    return wk_error(WK_USAGE, "--build takes no stream; --machine names the machine");
  if (o->build) return build_only(o);
  if (args->n == 0) return wk_error(WK_USAGE, "which stream? (wick sim STREAM.s)");
  const char *path = args->data[0];
  WK_TRY(wk_file_map(path, &f));
  bool is_package = wk_is_package(&f), is_model = !is_package && wk_is_model_name(path);
  wk_file_unmap(&f);
  WK_TRY(check_paths(o, is_package ? "the package" : is_model ? "the model" : "the stream", path));
  if (is_model) return wk_sim_model_file(o, path);
  const char *option = model_option(o);
  if (option)
    return wk_error_at(WK_USAGE, path, "--%s is for models; this is a %s", option,
                       is_package ? "package" : "stream");
  return is_package ? run_package(o, path) : run_stream(o, path);
}

const wk_cmd wk_cmd_sim = {
    .command = {.name = "sim", .synopsis = "STREAM.s|STREAM.wcs|PACKAGE|MODEL.onnx",
                .summary = "run command streams on the accelerator",
                .description =
                    "Assembles the stream if it is text, fills memory with the images it names, "
                    "checks it, runs it, and prints cycles, what every queue did and waited for, "
                    "how much of the transfers was hidden behind compute, and the results. With "
                    "the RTL, all memory is compared with the functional model afterwards.\n"
                    "\n"
                    "A package is run whole, and each of its parts for the accelerator is shown, "
                    "with a table of its layers: cycles (each is charged to the layer whose "
                    "command runs, or is waited for), use of the array (mapping x activity), "
                    "transfers hidden and exposed, bytes, and the least that the layer could "
                    "take.\n"
                    "\n"
                    "A model is compiled first, for the machine and its memory.\n"
                    "\n"
                    "The RTL model of a machine is built by Verilator when it is first needed and "
                    "kept in a cache ($WICK_CACHE, else ~/.cache/wick). With --tune now it is "
                    "built with a profile of a training run; it is faster then, and does the "
                    "same. It runs from then on; while it is built, and when it cannot be, the "
                    "plain one does.\n"
                    "\n"
                    "  wick sim examples/accel/2-double-buffer.s\n"
                    "  wick sim examples/accel/2-double-buffer.s --dram latency=500\n"
                    "  wick sim net.wick --input image=cat.npy --model timing --csv layers.csv\n"
                    "  wick sim net.onnx --machine tiny --model timing --with-modes --html n.html",
                .options = options, .min_args = 0, .max_args = 1},
    .size = sizeof(wk_sim_opts), .defaults = &defaults, .run = run};
