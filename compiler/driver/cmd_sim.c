/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/command.h"
#include "compiler/driver/paths.h"
#include "compiler/driver/sim.h"
#include "compiler/driver/sim_model.h"
#include "compiler/driver/text.h"
#include "targets/accel/check/check.h"

typedef struct {
  const char *machine, *dram, *rtl, *trace, *fst, *json, *coverage;
  wk_strings dump;
  int model;
  int64_t max_cycles, timeout, seed;
  bool build, rebuild, commands, unchecked, unverified, stalls, random_reset;
} sim_opts;

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Machine"},
    {"machine", 'm', "NAME|FILE.cfg",
     "machine to simulate: base, tiny, wide or a file (default: "
     "what the stream says, else base)",
     .kind = WK_OPTION_STRING, .offset = offsetof(sim_opts, machine)},
    {"dram", 0, "KEY=VALUE,…",
     "change the memory: latency=500,bytes=4,jitter=20,seed=3 "
     "(docs/machine.md); no rebuild",
     .kind = WK_OPTION_STRING, .offset = offsetof(sim_opts, dram)},
    {"model", 0, "MODEL",
     "functional: results only; timing: a queue model in C; rtl (default): "
     "the hardware, cycle by cycle",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(sim_opts, model), .choices = wk_sim_models},
    {"rtl", 0, "DIR", "another RTL tree with the same top, ports and registers",
     .kind = WK_OPTION_STRING, .offset = offsetof(sim_opts, rtl)},
    {"build", 0, NULL, "only build the RTL model of the machine", .kind = WK_OPTION_FLAG,
     .offset = offsetof(sim_opts, build)},
    {"rebuild", 0, NULL, "build it even if it is in the cache", .kind = WK_OPTION_FLAG,
     .offset = offsetof(sim_opts, rebuild)},
    {.kind = WK_OPTION_GROUP, .help = "Run"},
    {"max-cycles", 0, "N", "give up after N cycles", .kind = WK_OPTION_INT,
     .offset = offsetof(sim_opts, max_cycles), .min = 1, .max = INT64_MAX},
    {"timeout", 0, "N", "the machine's own watchdog: cycles without progress",
     .kind = WK_OPTION_INT, .offset = offsetof(sim_opts, timeout), .min = 0, .max = UINT32_MAX},
    {"seed", 0, "N", "of --stalls and --random-reset", .kind = WK_OPTION_INT,
     .offset = offsetof(sim_opts, seed), .min = 0, .max = INT32_MAX},
    {"stalls", 0, NULL, "the bus is not ready at random times", .kind = WK_OPTION_FLAG,
     .offset = offsetof(sim_opts, stalls)},
    {"random-reset", 0, NULL, "random registers and memories before reset", .kind = WK_OPTION_FLAG,
     .offset = offsetof(sim_opts, random_reset)},
    {"unchecked", 0, NULL, "run even what the static checker refuses", .kind = WK_OPTION_FLAG,
     .offset = offsetof(sim_opts, unchecked)},
    {"unverified", 0, NULL, "do not compare memory with the functional model",
     .kind = WK_OPTION_FLAG, .offset = offsetof(sim_opts, unverified)},
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"commands", 0, NULL, "when each command started and ended", .kind = WK_OPTION_FLAG,
     .offset = offsetof(sim_opts, commands)},
    {"dump", 0, "REGION=FILE", "write a region of memory as it is in the end",
     .kind = WK_OPTION_LIST, .offset = offsetof(sim_opts, dump)},
    {"json", 0, "FILE", "all figures and counters", .kind = WK_OPTION_STRING,
     .offset = offsetof(sim_opts, json)},
    {"trace", 0, "FILE", "timeline for ui.perfetto.dev: a track for each queue, waits as arrows",
     .kind = WK_OPTION_STRING, .offset = offsetof(sim_opts, trace)},
    {"fst", 0, "A:B",
     "waveform from the start of command A to the end of command B, to STREAM.fst; "
     "a nanosecond there is a cycle",
     .kind = WK_OPTION_STRING, .offset = offsetof(sim_opts, fst)},
    {"coverage", 0, "FILE",
     "count the RTL's lines and toggles; FILE is for verilator_coverage "
     "(bench/coverage does all of it)",
     .kind = WK_OPTION_STRING, .offset = offsetof(sim_opts, coverage)},
    {0}};

/* ---- options without effect ------------------------------------------------------------------ */

enum { /* sets of who uses an option */
  RTL = 1 << WK_SIM_RTL,
  TIMED = RTL | 1 << WK_SIM_TIMING,
  RUN = TIMED | 1 << WK_SIM_FUNCTIONAL,
  BUILD = 8,
  UNSET = -1 /* of a number that may be 0 */
};

static const sim_opts defaults = {.model = WK_SIM_RTL, .timeout = UNSET, .seed = UNSET};

static wk_status refuse(const char *option, int users, int user) {
  if (user == BUILD) return wk_error(WK_USAGE, "%s has no effect with --build", option);
  if (!(users & TIMED & ~RTL)) return wk_error(WK_USAGE, "%s needs --model rtl", option);
  return wk_error(WK_USAGE, "%s: the functional model has no time; --model timing or rtl has",
                  option);
}

/* The keys of --dram, which are valid: results depend on the size alone, and only the RTL sees
 * errors. */
static wk_status check_dram(const char *dram, int user) {
  static const char prefix[] = "dram_";
  char option[64];
  for (const char *at = dram; at; at = strchr(at, ',')) {
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
static wk_status check_effect(const sim_opts *o, int user) {
  const struct {
    const char *name;
    bool is_set;
    int users;
  } rows[] = {{"--build", o->build, RTL | BUILD},
              {"--rtl", o->rtl, RTL | BUILD},
              {"--rebuild", o->rebuild, RTL | BUILD},
              {"--fst", o->fst, RTL | BUILD},
              {"--coverage", o->coverage, RTL | BUILD},
              {"--dram", o->dram, RUN},
              {"--max-cycles", o->max_cycles, TIMED},
              {"--timeout", o->timeout != UNSET, RTL},
              {"--seed", o->seed != UNSET, RTL},
              {"--stalls", o->stalls, RTL},
              {"--random-reset", o->random_reset, RTL},
              {"--unchecked", o->unchecked, RUN},
              {"--unverified", o->unverified, RTL},
              {"--commands", o->commands, TIMED},
              {"--dump", o->dump.n > 0, RUN},
              {"--json", o->json, RUN},
              {"--trace", o->trace, TIMED}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (rows[i].is_set && !(rows[i].users & user))
      return refuse(rows[i].name, rows[i].users, user);
  if (o->seed != UNSET && !o->stalls && !o->random_reset)
    return wk_error(WK_USAGE, "--seed has no effect without --stalls or --random-reset");
  return NULL;
}

/* ---- preparation ----------------------------------------------------------------------------- */

static wk_status choose_machine(const sim_opts *o, const wk_stream *s, wk_machine *m) {
  if (o->machine) WK_TRY(wk_machine_read(o->machine, m));
  else if (s) *m = s->machine;
  else WK_TRY(wk_machine_read("base", m));
  return o->dram ? wk_machine_override(m, o->dram) : NULL;
}

static wk_status open_model(const sim_opts *o, const wk_machine *m, const wk_sim_model **model) {
  wk_sim_progress_line shown = {.tenth = 0};
  const wk_sim_build_options b = {.machine = m, .rtl = o->rtl, .waves = o->fst != NULL,
                                  .coverage = o->coverage != NULL,
                                  .rebuild = o->rebuild, .progress = wk_sim_progress_show,
                                  .context = &shown};
  wk_status s = wk_sim_model_of((wk_sim_kind)o->model, &b, model);
  wk_progress_end();
  return s;
}

/* ---- waveform -------------------------------------------------------------------------------- */

typedef struct {
  unsigned long first, last; /* commands */
} wave_window;

static wk_status parse_window(const sim_opts *o, const wk_stream *s, wave_window *w) {
  char rest;
  if (sscanf(o->fst, "%lu:%lu%c", &w->first, &w->last, &rest) != 2 || w->first > w->last ||
      w->last >= s->n)
    return wk_error(WK_USAGE, "--fst %s: two command indices A:B below %" PRIu32 ", please",
                    o->fst, s->n);
  return NULL;
}

/* Once more with a waveform; r is of a run without one, from which its cycles come. */
static wk_status run_with_wave(const wk_stream *s, const wk_sim_model *model, const wave_window *w,
                               wk_sim_run_options *ro, wk_sim_run *r) {
  wk_str file = {0};
  const char *slash = strrchr(s->source, '/'), *name = slash ? slash + 1 : s->source;
  uint64_t start = r->spans[w->first].start;
  wk_str_printf(&file, "%s.fst", name);
  ro->wave = file.s;
  ro->wave_from = start == WK_SIM_NEVER ? 0 : start;
  ro->wave_to = r->spans[w->last].retire;
  wk_sim_run_free(r);
  wk_status status = wk_sim_run_stream(s, model, ro, r);
  if (!status) fprintf(stderr, "wrote %s: cycles %" PRIu64 " to %" PRIu64 "\n", file.s,
                       ro->wave_from, ro->wave_to);
  wk_str_free(&file);
  return status;
}

/* ---- verification ---------------------------------------------------------------------------- */

/* Memory but for the mark area, where counters lie. */
static wk_status same_memory(const wk_stream *s, const wk_sim_run *got, const wk_sim_run *want) {
  uint64_t marks_end = s->marks + wk_stream_mark_bytes(s);
  enum { BLOCK = 4096 };
  for (uint64_t at = 0; at < got->memory_size; at += BLOCK) {
    if (!memcmp(got->memory + at, want->memory + at, BLOCK)) continue;
    for (uint64_t i = at; i < at + BLOCK; i++)
      if (got->memory[i] != want->memory[i] && !(i >= s->marks && i < marks_end))
        return wk_error(WK_FAILED, "memory differs from the functional model, first at 0x%" PRIx64
                        ": got %d, want %d", i, got->memory[i], want->memory[i]);
  }
  return NULL;
}

static wk_status verify(const wk_stream *s, const wk_machine *m, const wk_sim_run *got) {
  const wk_sim_run_options o = {.machine = m};
  wk_sim_run want;
  WK_TRY(wk_sim_run_stream(s, &wk_sim_functional, &o, &want));
  wk_status status = wk_sim_verdict(s, m, &want);
  if (!status) status = same_memory(s, got, &want);
  wk_sim_run_free(&want);
  return status;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* "REGION=FILE" */
static wk_status parse_dump(const wk_stream *s, const char *text, const wk_image **region,
                            const char **file) {
  const char *equals = strchr(text, '=');
  if (!equals || !equals[1]) return wk_error(WK_USAGE, "--dump %s: REGION=FILE, please", text);
  char *name = wk_xstrdup(text);
  name[equals - text] = 0;
  *region = wk_stream_find(s, name);
  *file = equals + 1;
  free(name);
  return *region ? NULL : wk_error(WK_USAGE, "--dump %s: the stream has no such region", text);
}

static wk_status write_dumps(const sim_opts *o, const wk_stream *s, const wk_sim_run *r) {
  const wk_image *region = NULL;
  const char *file = NULL;
  for (size_t i = 0; i < o->dump.n; i++) {
    WK_TRY(parse_dump(s, o->dump.data[i], &region, &file));
    WK_TRY(wk_write_file(file, r->memory + region->address, region->size));
  }
  return NULL;
}

static wk_status show(const sim_opts *o, const wk_sim_shown *x) {
  bool to_stdout = (o->json && !strcmp(o->json, "-")) || (o->trace && !strcmp(o->trace, "-"));
  FILE *f = to_stdout ? stderr : stdout;
  wk_sim_print(f, x);
  if (x->run->result.cycles && !x->run->result.gave_up) wk_sim_print_layers(f, x);
  if (o->commands) wk_sim_print_costs(f, x);
  wk_sim_print_outputs(f, x);
  WK_TRY(write_dumps(o, x->stream, x->run));
  if (o->json) WK_TRY(wk_sim_write_json(x, o->json));
  return o->trace ? wk_sim_write_trace(x, o->trace) : NULL;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* What can be said of options before anything is built or run. */
static wk_status check_options(const sim_opts *o, const wk_stream *s, wave_window *w) {
  const wk_image *region;
  const char *file;
  if (o->dram) WK_TRY(check_dram(o->dram, 1 << o->model));
  for (size_t i = 0; i < o->dump.n; i++)
    WK_TRY(parse_dump(s, o->dump.data[i], &region, &file));
  return o->fst ? parse_window(o, s, w) : NULL;
}

/* What is written overwrites neither what was read nor something else that is written. */
static wk_status check_paths(const sim_opts *o, const char *stream) {
  wk_arena *a = wk_arena_new();
  wk_paths paths = {0};
  wk_paths_read(&paths, "the stream", stream);
  wk_paths_read(&paths, "--machine", o->machine);
  for (size_t i = 0; i < o->dump.n; i++) {
    const char *equals = strchr(o->dump.data[i], '=');
    char *what = wk_arena_printf(a, "--dump %s", o->dump.data[i]);
    if (equals) wk_paths_write(&paths, what, equals + 1);
  }
  wk_paths_write(&paths, "--json", o->json);
  wk_paths_write(&paths, "--trace", o->trace);
  wk_paths_write(&paths, "--coverage", o->coverage);
  wk_status s = wk_paths_check(&paths);
  wk_arena_free(a);
  return s;
}

static wk_status simulate(const sim_opts *o, const wk_stream *s) {
  const wk_sim_model *model;
  wave_window w;
  wk_machine m;
  wk_sim_run r;
  WK_TRY(choose_machine(o, s, &m));
  WK_TRY(wk_stream_fits(s, &m));
  WK_TRY(check_options(o, s, &w));
  if (!o->unchecked) WK_TRY(wk_check(s, &m, NULL));
  WK_TRY(open_model(o, &m, &model));
  wk_sim_run_options ro = {.machine = &m, .max_cycles = (uint64_t)o->max_cycles,
                           .timeout = o->timeout == UNSET ? 0 : (uint32_t)o->timeout,
                           .seed = o->seed == UNSET ? 0 : (uint64_t)o->seed, .stalls = o->stalls,
                           .reset = o->random_reset ? WK_SIM_RESET_RANDOM : WK_SIM_RESET_ZEROS};
  WK_TRY(wk_sim_run_stream(s, model, &ro, &r));
  wk_status status = o->fst ? run_with_wave(s, model, &w, &ro, &r) : NULL;
  if (!status && o->coverage && model->write_coverage) model->write_coverage(o->coverage);
  const wk_sim_shown x = {s, &m, &r, model->name};
  if (!status) status = show(o, &x);
  if (!status) status = wk_sim_verdict(s, &m, &r);
  if (!status && o->model == WK_SIM_RTL && !o->unverified) status = verify(s, &m, &r);
  wk_sim_run_free(&r);
  return status;
}

static wk_status build_only(const sim_opts *o) {
  const wk_sim_model *model;
  wk_machine m;
  WK_TRY(choose_machine(o, NULL, &m));
  WK_TRY(open_model(o, &m, &model));
  printf("the RTL model of machine %s is ready\n", m.name);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const sim_opts *o = options_;
  wk_stream *s;
  WK_TRY(check_effect(o, o->build && o->model == WK_SIM_RTL ? BUILD : 1 << o->model));
  if (o->build && args->n > 0)
    return wk_error(WK_USAGE, "--build takes no stream; --machine names the machine");
  if (o->build) return build_only(o);
  if (args->n == 0) return wk_error(WK_USAGE, "which stream? (wick sim STREAM.s)");
  WK_TRY(check_paths(o, args->data[0]));
  wk_machine m;
  if (o->machine) WK_TRY(wk_machine_read(o->machine, &m));
  const wk_asm_options a = {.unchecked = o->unchecked, .machine = o->machine ? &m : NULL};
  WK_TRY(wk_stream_load(args->data[0], &a, &s));
  wk_status status = simulate(o, s);
  wk_stream_free(s);
  return status;
}

const wk_cmd wk_cmd_sim = {
    .command = {.name = "sim", .synopsis = "STREAM.s|STREAM.wcs",
                .summary = "run a command stream on the accelerator",
                .description =
                    "Assembles the stream if it is text, fills memory with the images it names, "
                    "checks it, runs it, and prints cycles, what every queue did and waited for, "
                    "how much of the transfers was hidden behind compute, and the results. With "
                    "the RTL, all memory is compared with the functional model afterwards.\n"
                    "\n"
                    "The RTL model of a machine is built by Verilator when it is first needed and "
                    "kept in a cache ($WICK_CACHE, else ~/.cache/wick).\n"
                    "\n"
                    "  wick sim examples/accel/2-double-buffer.s\n"
                    "  wick sim examples/accel/2-double-buffer.s --dram latency=500 --trace t.json",
                .options = options, .min_args = 0, .max_args = 1},
    .size = sizeof(sim_opts), .defaults = &defaults, .run = run};
