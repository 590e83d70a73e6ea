/* SPDX-License-Identifier: Apache-2.0
 * wick sweep: models on many machines, by the timing model. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/driver/command.h"
#include "compiler/driver/jobs.h"
#include "compiler/driver/sim.h"
#include "compiler/driver/sweep.h"
#include "compiler/driver/text.h"

static const wk_sweep_opts defaults = {.timeout = 3600};

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Points"},
    {"machine", 'm', "NAME|FILE.cfg", "machine whose keys --set changes: base (default), tiny, "
     "wide or a file", .kind = WK_OPTION_STRING, .offset = offsetof(wk_sweep_opts, machine)},
    {"set", 0, "KEY=NUMBER,…", "values of a key of the machine (docs/machine.md); every value is "
     "combined with every one of the other keys", .kind = WK_OPTION_LIST,
     .offset = offsetof(wk_sweep_opts, set)},
    {"prefetch", 0, "MODE,…", "values of this setting of the target ('wick targets')",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sweep_opts, prefetch)},
    {"effort", 0, "LEVEL,…", "values of this setting of the target",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sweep_opts, effort)},
    {"what-if", 0, NULL, "also what the same streams would take if memory were faster or the "
     "scratchpad larger ('wick sim --causes'); takes several times as long",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_sweep_opts, what_if)},
    WK_BINDING_OPTIONS(wk_sweep_opts, binding),
    {.kind = WK_OPTION_GROUP, .help = "Work"},
    {"output", 'o', "DIR", "folder of the results, made if there is none; rows that it has are not "
     "computed again", .kind = WK_OPTION_STRING, .offset = offsetof(wk_sweep_opts, output)},
    {"jobs", 'j', "N", "points at a time, each in a process of its own (default: all processors, "
     "64 at most); with --slurm tasks of the array (default 16)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_sweep_opts, jobs), .min = 1, .max = 100000},
    {"timeout", 0, "SECONDS", "abandon a point after this time (default 3600)",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_sweep_opts, timeout), .min = 1, .max = 86400},
    {"slurm", 0, NULL, "submit the work as an array of Slurm jobs, and wait for it; DIR is seen by "
     "all nodes (SBATCH_PARTITION and the like in the environment choose which)",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_sweep_opts, slurm)},
    {"task", 0, "I/N", "only compute, as process I (from 0) of N that share DIR; of the points, it "
     "begins with its own part, and when that is done, helps with the others",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_sweep_opts, task)},
    {0}};

/* ---- options --------------------------------------------------------------------------------- */

static wk_status check_task(const char *text) {
  char *slash, *end;
  if (!text) return NULL;
  long task = strtol(text, &slash, 10), tasks = *slash == '/' ? strtol(slash + 1, &end, 10) : 0;
  if (slash == text || *slash != '/' || end == slash + 1 || *end || task < 0 || task >= tasks ||
      tasks > INT_MAX)
    return wk_error(WK_USAGE, "--task %s: must be I/N, such as 0/8 to 7/8", text);
  return NULL;
}

static wk_status check_options(const wk_sweep_opts *o) {
  if (!o->output) return wk_error(WK_USAGE, "where to? (--output DIR)");
  if (!o->set.n && !o->prefetch && !o->effort)
    return wk_error(WK_USAGE, "the space is empty: name a key and its values with --set");
  if (o->slurm && o->task)
    return wk_error(WK_USAGE, "--task is for the processes that --slurm starts: give one of them");
  return check_task(o->task);
}

/* Children change their working folder. */
static wk_status absolute_dir(wk_sweep *s) {
  char folder[PATH_MAX];
  const char *dir = s->o->output;
  if (*dir != '/' && !getcwd(folder, sizeof folder))
    return wk_error(WK_IO, "the working folder has no path: %s", strerror(errno));
  s->dir = *dir == '/' ? dir : wk_arena_printf(s->arena, "%s/%s", folder, dir);
  return NULL;
}

/* ---- what is printed ------------------------------------------------------------------------- */

static const char *error_of(const json_t *row) {
  return json_string_value(json_object_get(row, "error"));
}

/* "dram_latency=50, scratchpad=131072" */
static const char *point_text(const wk_sweep *s, const wk_sweep_point *p) {
  wk_str b = {0};
  for (size_t k = 0; k < s->axes.n; k++)
    wk_str_printf(&b, "%s%s=%s", k ? ", " : "", s->axes.data[k].name, p->values[k]);
  const char *text = wk_arena_strdup(s->arena, b.s);
  wk_str_free(&b);
  return text;
}

static void print_best(const wk_sweep *s, const json_t *rows) {
  wk_table t = {0};
  size_t n = 0;
  wk_table_row(&t, "model\tfewest cycles\tutilisation %%\texposed\tat");
  for (size_t m = 0; m < s->models.n; m++) {
    const json_t *best = NULL;
    size_t at = 0;
    for (size_t i = 0; i < s->points.n; i++) {
      const json_t *row = json_array_get(rows, i);
      if (s->points.data[i].model != &s->models.data[m] || error_of(row)) continue;
      json_int_t cycles = json_integer_value(json_object_get(row, "cycles"));
      if (best && cycles >= json_integer_value(json_object_get(best, "cycles"))) continue;
      best = row;
      at = i;
    }
    if (!best) continue;
    n++;
    wk_table_row(&t, "%s\t%s\t%.1f\t%s\t%s", wk_text_shown(s->arena, s->models.data[m].name),
                 wk_sim_grouped((uint64_t)json_integer_value(json_object_get(best, "cycles"))).s,
                 100 * json_number_value(json_object_get(best, "utilisation")),
                 wk_sim_grouped((uint64_t)json_integer_value(json_object_get(best, "exposed"))).s,
                 point_text(s, &s->points.data[at]));
  }
  if (n) wk_table_print(stdout, &t, "lrrrl");
  else wk_str_free(&t.text);
}

typedef struct {
  const char *text, *first; /* first: the first point that it is said of */
  size_t n;
} reason;

/* Reasons in the order in which they are met. Returns how many points failed. */
static size_t print_reasons(const wk_sweep *s, const json_t *rows) {
  WK_VEC(reason) list = {0};
  size_t failed = 0, k;
  for (size_t i = 0; i < s->points.n; i++) {
    const wk_sweep_point *p = &s->points.data[i];
    const char *text = error_of(json_array_get(rows, i));
    if (!text) continue;
    failed++;
    for (k = 0; k < list.n && strcmp(list.data[k].text, text) != 0;) k++;
    const reason fresh = {text, wk_arena_printf(s->arena, "%s, %s", p->model->name,
                                                point_text(s, p)), 0};
    if (k == list.n) wk_vec_push(&list, fresh);
    list.data[k].n++;
  }
  if (failed) puts("failed, by reason:");
  for (k = 0; k < list.n; k++) {
    printf("%6zu  %s\n", list.data[k].n, wk_text_shown(s->arena, list.data[k].text));
    printf("        first: %s\n", wk_text_shown(s->arena, list.data[k].first));
  }
  wk_vec_free(&list);
  return failed;
}

/* ---- the command ----------------------------------------------------------------------------- */

static wk_status finish(const wk_sweep *s, size_t computed) {
  json_t *rows = wk_sweep_rows(s);
  wk_status status = wk_sweep_write_table(s, rows);
  if (!status) status = wk_sweep_write_page(s, rows);
  size_t failed = 0;
  if (!status) {
    print_best(s, rows);
    failed = print_reasons(s, rows);
    printf("%zu point%s, %zu failed; %zu computed now\n", s->points.n,
           s->points.n == 1 ? "" : "s", failed, computed);
    if (failed == s->points.n) status = wk_exit_with(WK_FAILED);
  }
  json_decref(rows);
  return status;
}

static wk_status sweep(wk_sweep *s, const wk_strings *models) {
  size_t computed = 0;
  WK_TRY(absolute_dir(s));
  WK_TRY(wk_sweep_prepare(s));
  if (s->o->task) return wk_sweep_run(s, &computed);
  WK_TRY(wk_sweep_forget_deaths(s));
  WK_TRY(s->o->slurm ? wk_sweep_run_slurm(s, models, &computed) : wk_sweep_run(s, &computed));
  return finish(s, computed);
}

static wk_status run(const void *options_, const wk_strings *args) {
  wk_sweep_opts o = *(const wk_sweep_opts *)options_;
  wk_sweep s;
  WK_TRY(check_options(&o));
  if (!o.jobs && !o.slurm) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    o.jobs = processors < 1 ? 1 : processors < WK_JOBS_MAX ? processors : WK_JOBS_MAX;
  }
  wk_status status = wk_sweep_open(&o, args, &s);
  if (!status) status = sweep(&s, args);
  wk_sweep_free(&s);
  return status;
}

const wk_cmd wk_cmd_sweep = {
    .command =
        {.name = "sweep", .synopsis = "MODEL.onnx…",
         .summary = "run models on many machines, to see what each would gain",
         .description =
             "Compiles every model for every machine, runs it on the timing model with random "
             "inputs, and writes a row for each to DIR/points.csv and DIR/points.json, with "
             "diagrams in DIR/index.html: cycles, use of the array, what was waited for, bytes, "
             "sizes. A machine that cannot be, or is too "
             "small for the model, has a row with the reason.\n"
             "\n"
             "Rows are kept in DIR by the contents of model, machine, settings and compiler. "
             "Nothing is computed twice: after a crash, a full disk, or with more points, the same "
             "command goes on. Succeeds when a point did.\n"
             "\n"
             "  wick sweep net.onnx --set dram_latency=50,100,500 --set scratchpad=131072,262144 "
             "-o sweep",
         .options = options, .min_args = 1, .max_args = -1},
    .size = sizeof(wk_sweep_opts), .defaults = &defaults, .run = run};
