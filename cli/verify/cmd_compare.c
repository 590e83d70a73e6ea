/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/sim_model.h"
#include "cli/text.h"
#include "cli/verify/compare.h"
#include "compiler/calibrate/quantize.h"

static const wk_compare_opts defaults = {
    .run = {.random = 1, .repeat = 1, .threads = 1}, .rtol = -1, .atol = -1};


static const wk_option options[] = {
    WK_TARGET_OPTIONS(wk_compare_opts, run.target, "what is compared with the evaluator"),
    WK_QUANTIZE_RANDOM_OPTION(wk_compare_opts, run.quantize),
    WK_MODEL_OPTION(wk_compare_opts, run.model),
    {"package", 0, "FILE", "compare the steps of this package, which is not compiled again",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_compare_opts, package)},
    {"passes", 0, NULL,
     "evaluate after every compiler pass instead, and name the first that changes "
     "the result",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_compare_opts, passes)},
    {"threads", 0, "N", "threads (default 1; 0: all processors)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_compare_opts, run.threads), .min = 0, .max = WICK_MAX_THREADS},
    {"input", 'i', "NAME=FILE", "a .npy or .pb file for an input; without NAME= for the next one",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_compare_opts, run.input)},
    {"random", 0, "SEED", "seed of the inputs without a file (default 1)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_compare_opts, run.random), .min = 0, .max = INT64_MAX},
    {"rtol", 0, "R", "relative tolerance (default: by class of operator)", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(wk_compare_opts, rtol), .max = INT64_MAX},
    {"atol", 0, "A", "absolute tolerance (default: by class of operator)", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(wk_compare_opts, atol), .max = INT64_MAX},
    {"verbose", 'v', NULL, "also print what agrees, with the largest error; " WK_LIST_ALL_HELP,
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_compare_opts, run.verbose)},
    WK_BINDING_OPTIONS(wk_compare_opts, run.binding),
    {0}};

/* What moves data is exact; sums in another order and approximated functions are not. */
wk_tolerance wk_compare_tolerance(const wk_compare_opts *o, wk_op op) {
  static const wk_tolerance usual = {1e-3, 1e-7, 1e-5}, pointwise = {1e-4, 1e-7, 1e-5},
                            exact = {0, 0, 0};
  static const wk_tolerance *const by_class[WK_CLASS_COUNT] = {
      [WK_CLASS_ELEMENTWISE] = &pointwise, [WK_CLASS_MOVEMENT] = &exact,
      [WK_CLASS_POOL] = &pointwise, [WK_CLASS_REDUCTION] = &pointwise,
      [WK_CLASS_PRIMITIVE] = &pointwise, [WK_CLASS_INDEXING] = &pointwise};
  const wk_tolerance *t = by_class[wk_op_get(op)->cls];
  if (op == WK_OP_COPY || op == WK_OP_FILL || op == WK_OP_GATHER) t = &exact;
  wk_tolerance out = t ? *t : usual;
  if (o->rtol >= 0) out.rtol = o->rtol;
  if (o->atol >= 0) out = (wk_tolerance){out.rtol, o->atol, 0};
  return out;
}

static wk_status check_model(const char *path) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  bool package = wk_is_package(&f);
  wk_file_unmap(&f);
  if (!package) return NULL;
  return wk_error_at(WK_USAGE, path,
                     "is a package: compare needs the ONNX model that it was compiled from");
}

static wk_status run(const void *options_, const wk_strings *args) {
  const wk_compare_opts *o = options_;
  const char *path = args->data[0];
  wk_run_opts on_eval = o->run;
  wk_run_job job;
  WK_TRY(check_model(path));
  const wk_target_args *t = &o->run.target;
  const char *setting = o->passes    ? "passes"
                        : t->target  ? "target"
                        : t->cpu     ? "cpu"
                        : t->no_host ? "no-host"
                                     : wk_settings_given(&t->settings);
  if (o->package && setting)
    return wk_error(WK_USAGE, "--package has been compiled: --%s is of no use with it", setting);
  wk_sim_progress_line line = {.tenth = 0};
  wk_sim_choose_model(o->run.model, &line);
  on_eval.target = (wk_target_args){.target = WK_TARGET_EVAL};
  wk_status s = wk_run_load(&on_eval, path, &job);
  if (!s) s = wk_module_no_open(wk_runner_module(job.runner), "wick compare");
  if (!s)
    s = o->package  ? wk_compare_package(o, &job)
        : o->passes ? wk_compare_passes(o, &job)
                    : wk_compare_parts(o, &job);
  wk_progress_end();
  if (!s || !*s->message) wk_text_notes(stderr, job.notes.data, job.notes.n);
  wk_run_job_free(&job);
  return wk_status_place(s, path);
}

const wk_cmd wk_cmd_compare = {
    .command = {.name = "compare", .synopsis = "MODEL.onnx",
                .summary = "find the part, the operator or the pass that makes a result wrong",
                .description =
                    "Runs the targets and the evaluator part by part, each on the evaluator's "
                    "values, and names those that differ, the first one first: the host's parts "
                    "instruction by instruction, those of other targets at their outputs, and by "
                    "their instructions where they differ. With --package, runs "
                    "the steps of a package as they are, and names those whose results the "
                    "evaluator has otherwise. With --passes, evaluates the model "
                    "after every compiler pass and names the first that changes the result.\n"
                    "\n"
                    "  wick compare net.onnx --target cpu --input image=cat.npy\n"
                    "  wick compare net.onnx --package net.wick\n"
                    "  wick compare net.onnx --passes",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(wk_compare_opts), .defaults = &defaults, .run = run};
