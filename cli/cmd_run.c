/* SPDX-License-Identifier: Apache-2.0
 * wick run: a model or a package on given or random inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model_paths.h"
#include "cli/run.h"
#include "compiler/calibrate/quantize.h"
#include "cli/sim_model.h"
#include "cli/text.h"
#include "cli/trust.h"

static const wk_run_opts defaults = {.random = 1, .repeat = 1};

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "What runs"},
    WK_TARGET_OPTIONS(wk_run_opts, target, "what runs a model: eval, the evaluator, or targets"),
    WK_QUANTIZE_RANDOM_OPTION(wk_run_opts, quantize),
    WK_MODEL_OPTION(wk_run_opts, model),
    {"device", 0, "NAME",
     "OpenCL device that runs what was compiled for one: its number or a part of its name ('wick "
     "devices'); so does WICK_OPENCL_DEVICE in the environment",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_run_opts, device)},
    {"threads", 0, "N", "threads (default: all processors); results do not depend on it",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_run_opts, threads), .min = 0,
     .max = WICK_MAX_THREADS},
    {"entry", 0, "NAME",
     "which binding of a package, by name or number (default: the first that "
     "fits the inputs)",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_run_opts, entry)},
    WK_BINDING_OPTIONS(wk_run_opts, binding),
    {.kind = WK_OPTION_GROUP, .help = "What a package may do"},
    WK_TRUST_OPTIONS(wk_run_opts),
    {"no-native-code", 0, NULL,
     "refuse packages with machine code, or with source that becomes such: what is left runs on "
     "devices that check every command",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_run_opts, no_native_code)},
    WK_MEMORY_LIMIT_OPTION(wk_run_opts),
    {.kind = WK_OPTION_GROUP, .help = "Inputs and outputs"},
    {"input", 'i', "NAME=FILE", "a .npy or .pb file for an input; without NAME= for the next one",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_run_opts, input)},
    {"random", 0, "SEED", "seed of the inputs without a file (default 1)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_run_opts, random), .min = 0, .max = INT64_MAX},
    {"output-dir", 0, "DIR",
     "write each output to DIR/NAME.npy; what is not a letter, a digit or one of ._- in NAME is "
     "written as %XX, as in a URL",
     .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_run_opts, output_dir)},
    {"state", 0, "FILE",
     "the state of a package, such as the caches of a decoder ('wick compile --state'): read from "
     "FILE where there is one, and written there behind the run, for the next one",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_run_opts, state)},
    {.kind = WK_OPTION_GROUP, .help = "Looking closer"},
    {"repeat", 0, "N", "run N times after one run to warm up; print least, median and most time",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_run_opts, repeat), .min = 1, .max = 1000000},
    {"ahead", 0, "N",
     "begin runs of --repeat N before the one that is waited for, and print how many there are in "
     "a second: OpenCL devices go on without the host",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_run_opts, ahead), .min = 1,
     .max = WICK_MAX_SUBMITTED - 1},
    {"profile", 0, NULL, "time of each instruction", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_run_opts, profile)},
    {"trace", 0, "FILE",
     "timeline of the runs for ui.perfetto.dev: a track for each device, a slice for each "
     "instruction", .kind = WK_OPTION_STRING, .offset = offsetof(wk_run_opts, trace)},
    {"dump-tensors", 0, "DIR",
     "write intermediate tensors to DIR as .npy: with --target eval every "
     "tensor of the model, otherwise those that the compiled code still has",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_run_opts, dump)},
    {"verbose", 'v', NULL,
     "how long the package took to load and its session to make; " WK_LIST_ALL_HELP,
     .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_run_opts, verbose)},
    {0}};

/* ---- timing ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static wk_status run_timed(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) {
  size_t n = (size_t)o->repeat;
  double *t = wk_xcalloc(n, sizeof *t);
  wk_status s = n > 1 ? wk_runner_run(job->runner, job->in, out) : NULL;
  for (size_t i = 0; !s && i < n; i++) {
    wk_runner_rewind(job->runner);
    t[i] = wk_clock();
    s = wk_runner_run(job->runner, job->in, out);
    t[i] = wk_clock() - t[i];
  }
  qsort(t, n, sizeof *t, by_value);
  if (!s && n == 1) printf("time %s\n", wk_text_seconds(t[0]).s);
  else if (!s)
    printf("time min %s, median %s, max %s of %zu runs\n", wk_text_seconds(t[0]).s,
           wk_text_seconds(n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2).s,
           wk_text_seconds(t[n - 1]).s, n);
  free(t);
  return s;
}

/* wick_model_load and wick_session_create. */
static void print_start(const wk_runner *r) {
  wk_runner_start t = wk_runner_started(r);
  if (!wk_runner_session(r)) return;
  printf("start %s: load %s, session %s\n", wk_text_seconds(t.load + t.session).s,
         wk_text_seconds(t.load).s, wk_text_seconds(t.session).s);
}

/* ---- results --------------------------------------------------------------------------------- */

/* One axis with ten entries or more, nothing else: scores of classes. */
static bool is_scores(const wk_type *t) {
  int long_axes = 0;
  for (int i = 0; i < t->rank; i++) long_axes += t->dims[i] != 1;
  return wk_dtype_is_float(t->dtype) && long_axes == 1 && wk_type_count(t) >= 10;
}

static const char *label(wk_arena *a, const wk_labels *l, int64_t number) {
  bool known = l && number >= 0 && number < l->texts.n;
  return known ? wk_text_shown(a, l->texts.v[number])
               : wk_arena_printf(a, "%lld", (long long)number);
}

/* The highest of the first n elements, by number or label. */
static void print_top(const wk_tensor *t, int64_t n, const wk_labels *l, wk_arena *a) {
  enum { TOP = 5 };
  int64_t best[TOP];
  int found = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = wk_load_f64(t->data, t->type.dtype, i);
    int at = found;
    while (at > 0 && wk_load_f64(t->data, t->type.dtype, best[at - 1]) < v) at--;
    if (at == TOP || isnan(v)) continue;
    if (found < TOP) found++;
    memmove(&best[at + 1], &best[at], (size_t)(found - 1 - at) * sizeof *best);
    best[at] = i;
  }
  if (!found) return;
  fputs(n < wk_type_count(&t->type) ? "  top of the first row" : "  top", stdout);
  for (int k = 0; k < found; k++)
    printf("%s %s (%.6g)", k ? "," : "", label(a, l, best[k]),
           wk_load_f64(t->data, t->type.dtype, best[k]));
  putchar('\n');
}

/* The first elements with what they stand for. */
static void print_labelled(const wk_tensor *t, const wk_labels *l, wk_arena *a) {
  enum { SHOWN = 5 };
  int64_t n = wk_type_count(&t->type);
  fputs("  labels", stdout);
  for (int64_t i = 0; i < n && i < SHOWN; i++) {
    int64_t v = wk_load_i64(t->data, t->type.dtype, i);
    printf("%s %lld %s", i ? "," : "", (long long)v, label(a, l, v));
  }
  puts(n > SHOWN ? ", …" : "");
}

static void print_details(const wk_tensor *t, const wk_labels *l, wk_arena *a) {
  bool columns = l && l->kind == WK_LABELS_COLUMNS;
  if (l && !columns) print_labelled(t, l, a);
  else if (columns && wk_type_count(&t->type) > 0) print_top(t, l->texts.n, l, a);
  else if (is_scores(&t->type)) print_top(t, wk_type_count(&t->type), NULL, a);
}

static void print_output(const char *name, const wk_tensor *t, const wk_labels *labels) {
  wk_arena *a = wk_arena_new();
  int64_t n = wk_type_count(&t->type), nan = 0, counted = 0;
  double least = INFINITY, most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = wk_load_f64(t->data, t->type.dtype, i);
    if (isnan(v)) {
      nan++;
      continue;
    }
    least = fmin(least, v);
    most = fmax(most, v);
    sum += v;
    counted++;
  }
  printf("%s %s", wk_text_shown(a, name), wk_type_text(a, &t->type));
  if (isnan(sum)) sum = NAN; /* of infinities of both signs; without a sign of its own */
  if (counted) printf(" min %.6g max %.6g mean %.6g", least, most, sum / (double)counted);
  if (nan) printf(" NaN %lld", (long long)nan);
  putchar('\n');
  print_details(t, labels, a);
  wk_arena_free(a);
}

static wk_status write_outputs(const wk_run_opts *o, wk_run_job *job, const wk_tensor *out) {
  wk_run_folder f;
  WK_TRY(wk_run_folder_open(o->output_dir, job->arena, &f));
  wk_status s = NULL;
  for (size_t i = 0; !s && i < wk_runner_outputs(job->runner); i++)
    s = wk_run_folder_write(&f, wk_runner_output_name(job->runner, i), &out[i]);
  return wk_run_folder_close(&f, s);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void add_read(const wk_run_opts *o, const wk_run_job *job, const char *model,
                     wk_paths *paths) {
  wk_model_paths(paths, model, NULL, job->arena);
  wk_binding_paths(paths, &o->binding);
  for (size_t i = 0; i < job->files.n; i++)
    wk_paths_read(paths, "--input", job->files.data[i].path);
}

/* What is written overwrites nothing that was read. The two folders may be the same: what has one
 * name in both is the same tensor. */
static wk_status check_paths(const wk_run_opts *o, wk_run_job *job, const char *model) {
  wk_paths paths = {0};
  if (!o->output_dir && !o->dump && !o->state && !o->trace) return NULL;
  if (o->state) wk_paths_write(&paths, "--state", o->state);
  if (o->trace) wk_paths_write(&paths, "--trace", o->trace);
  add_read(o, job, model, &paths);
  for (size_t i = 0; o->output_dir && i < wk_runner_outputs(job->runner); i++)
    wk_paths_write_in(&paths, "--output-dir",
                      wk_run_folder_file(job->arena, o->output_dir,
                                         wk_runner_output_name(job->runner, i), 0));
  WK_TRY(wk_paths_check(&paths));
  add_read(o, job, model, &paths);
  if (o->dump) wk_run_dump_files(o, job, &paths);
  return wk_paths_check(&paths);
}

static wk_status check_folders(const wk_run_opts *o) {
  wk_paths paths = {0};
  wk_paths_folder(&paths, o->output_dir);
  wk_paths_folder(&paths, o->dump);
  return wk_paths_check(&paths);
}

static wk_status execute(const wk_run_opts *o, const char *model, wk_run_job *job,
                         wk_tensor *out) {
  if (o->verbose) print_start(job->runner);
  wk_text_notes(stderr, job->notes.data, job->of_model);
  if (o->dump) WK_TRY(wk_run_dump(o, job, out));
  if (o->profile) WK_TRY(wk_run_profile(o, job, out));
  if (o->trace) WK_TRY(wk_run_trace(o, model, job, out));
  if (o->ahead) WK_TRY(wk_run_ahead(o, job, out));
  if (!o->dump && !o->profile && !o->trace && !o->ahead) WK_TRY(run_timed(o, job, out));
  if (o->output_dir) WK_TRY(write_outputs(o, job, out));
  if (o->state) WK_TRY(wk_run_save_state(o, job));
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++)
    print_output(wk_runner_output_name(job->runner, i), &out[i],
                 wk_runner_output_labels(job->runner, i));
  if (job->notes.n > job->of_model)
    wk_text_notes(stderr, job->notes.data + job->of_model, job->notes.n - job->of_model);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  const wk_run_opts *o = options_;
  wk_run_job job;
  wk_sim_progress_line line = {.tenth = 0};
  WK_TRY(check_folders(o));
  wk_sim_choose_model(o->model, &line);
  if (o->device) setenv("WICK_OPENCL_DEVICE", o->device, 1);
  wk_status s = wk_run_load(o, args->data[0], &job);
  size_t n = job.runner ? wk_runner_outputs(job.runner) : 0;
  wk_tensor *out = wk_xcalloc(n, sizeof *out);
  if (!s) s = wk_sim_check_model(o->model, job.runner);
  if (!s) s = check_paths(o, &job, args->data[0]);
  if (!s) s = wk_status_place(execute(o, args->data[0], &job, out), args->data[0]);
  for (size_t i = 0; i < n; i++) wk_tensor_free(&out[i]);
  free(out);
  wk_run_job_free(&job);
  return s;
}

const wk_cmd wk_cmd_run = {
    .command = {.name = "run", .synopsis = "MODEL.onnx|PACKAGE",
                .summary = "run a model or a package",
                .description =
                    "A model is compiled first, with the shapes of the input files; inputs without "
                    "a file are random.\n"
                    "\n"
                    "  wick run net.wick --input image=cat.npy --threads 2\n"
                    "  wick run net.onnx --target eval --dump-tensors expected\n"
                    "  wick run net.onnx --profile --repeat 10\n"
                    "  wick run net.wick --trace net.json\n"
                    "  wick run decoder.wick --input word=w.npy --state caches.state",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(wk_run_opts), .defaults = &defaults, .run = run};
