/* SPDX-License-Identifier: Apache-2.0
 * wick sweep: models on many machines, by the timing model. */
#include <stdlib.h>
#include <string.h>

#include "cli/study/sim.h"
#include "cli/sweep/sweep.h"
#include "cli/text.h"

static const wk_sweep_opts defaults = {.timeout = WK_SWEEP_TIMEOUT};

/* In the order of wk_sweep_model_kind. */
static const char *const models[] = {"timing", "rtl", "schedule", NULL};

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Points"},
    {"machine", 'm', "NAME|FILE.cfg", "machine whose keys --set changes: base (default), tiny, "
     "wide or a file", .kind = WK_OPTION_STRING, .offset = offsetof(wk_sweep_opts, machine)},
    {"set", 0, "KEY=NUMBER,…", "values of a key of the machine (docs/machine.md); every value is "
     "combined with every one of the other keys", .kind = WK_OPTION_LIST,
     .offset = offsetof(wk_sweep_opts, set)},
    {"prefetch", 0, "MODE,…", "values of this setting of the target ('wick targets')",
     .kind = WK_OPTION_PAIR, .offset = offsetof(wk_sweep_opts, settings)},
    {"effort", 0, "LEVEL,…", "values of this setting of the target",
     .kind = WK_OPTION_PAIR, .offset = offsetof(wk_sweep_opts, settings)},
    {"without", 0, "IDEAS,…", "values of this setting of the target: none, or ideas with + between "
     "them", .kind = WK_OPTION_PAIR, .offset = offsetof(wk_sweep_opts, settings)},
    WK_SWEEP_SETTING_ROWS(wk_sweep_opts,),
    {"model", 0, "timing|rtl|schedule", "what finds the cycles: the timing model (default), the "
     "RTL, which takes minutes to build for each machine, or the compiler's schedule model alone",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(wk_sweep_opts, model), .choices = models},
    {"what-if", 0, NULL, "also what the same streams would take if memory were faster or the "
     "scratchpad larger ('wick sim --causes'); takes several times as long",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_sweep_opts, what_if)},
    WK_QUANTIZE_RANDOM_OPTION(wk_sweep_opts, quantize),
    WK_BINDING_OPTIONS(wk_sweep_opts, binding),
    WK_SWEEP_WORK_OPTIONS(wk_sweep_opts,),
    {0}};

/* ---- options --------------------------------------------------------------------------------- */

static wk_status check_options(const wk_sweep_opts *o) {
  if (!o->set.n && !o->settings.n)
    return wk_error(WK_USAGE, "the space is empty: name a key and its values with --set");
  if (o->what_if && o->model != WK_SWEEP_TIMING)
    return wk_error(WK_USAGE, "--what-if is by the timing model alone");
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

static wk_status sweep(wk_sweep *s) {
  size_t computed = 0;
  WK_TRY(wk_sweep_fill(s));
  WK_TRY(wk_sweep_prepare(s));
  if (s->o->task) return wk_sweep_run(s, &computed);
  WK_TRY(wk_sweep_forget_deaths(s));
  WK_TRY(s->o->slurm ? wk_sweep_run_slurm(s, &computed) : wk_sweep_run(s, &computed));
  return finish(s, computed);
}

static wk_status run(const void *options_, const wk_strings *args) {
  const wk_sweep_opts *o = options_;
  wk_sweep s;
  WK_TRY(check_options(o));
  wk_status status = wk_sweep_open(o, &wk_cmd_sweep, o, args, &s);
  if (!status) status = sweep(&s);
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
