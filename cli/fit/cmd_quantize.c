/* SPDX-License-Identifier: Apache-2.0
 * wick quantize: a float model into one with integer arithmetic, by what calibration data shows. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/paths.h"
#include "cli/text.h"
#include "cli/fit/quantize.h"
#include "cli/model_paths.h"

const char *const wk_quantize_schemes[] = {"uint8", "int8", NULL};
const char *const wk_quantize_methods[] = {"minmax", "percentile", "mse", "entropy", NULL};

static const wk_quantize_opts defaults = {
    .random = -1, .seed = 1, .method = WK_RANGE_MSE, .percentile = 99.99};

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Calibration"},
    {"calibration", 0, "DIR|FILE",
     "a .npy or .pb file, NAME=FILE for one of several inputs, or a folder of them (see above)",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_quantize_opts, calibration)},
    {"random", 0, "N", "N random inputs, besides the files if there are any",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_quantize_opts, random), .min = 1, .max = 100000},
    {"seed", 0, "S", "seed of the random inputs (default 1)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_quantize_opts, seed), .min = 0, .max = INT64_MAX},
    {"method", 0, "METHOD",
     "how ranges are chosen (default mse): minmax covers all that was seen, percentile leaves "
     "out the outermost values, mse minimises the square error, entropy the divergence of the "
     "distributions",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(wk_quantize_opts, method),
     .choices = wk_quantize_methods},
    {"percentile", 0, "P", "values inside, in percent, for --method percentile (default 99.99)",
     .kind = WK_OPTION_DOUBLE, .offset = offsetof(wk_quantize_opts, percentile)},
    {"threads", 0, "N", "threads (default: all processors); results do not depend on it",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_quantize_opts, threads), .min = 0,
     .max = WICK_MAX_THREADS},
    {.kind = WK_OPTION_GROUP, .help = "Numbers"},
    {"scheme", 0, "TYPE", "type of activations (default uint8); weights are int8",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(wk_quantize_opts, scheme),
     .choices = wk_quantize_schemes},
    {"symmetric", 0, NULL,
     "zero point 0 for activations (uint8: 128 where there are negative values)",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_quantize_opts, symmetric)},
    {"per-channel", 0, NULL, "a scale for each output channel of weights", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_quantize_opts, per_channel)},
    {"bias-correction", 0, NULL, "take the mean error of rounded weights out of biases",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_quantize_opts, bias_correction)},
    {"equalise", 0, NULL, "even out the ranges of weights between neighbouring layers first",
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_quantize_opts, equalise)},
    {.kind = WK_OPTION_GROUP, .help = "What stays float"},
    {"keep-float", 0, "NODE|OP,…", "layers by name, or all of an operator (Conv, Add, …)",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_quantize_opts, keep_float)},
    {"target-drop", 0, "BOUND",
     "keep the noisiest layers in float until the outputs reach this: a signal-to-noise ratio "
     "(40dB) or a relative error (0.01)",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_quantize_opts, target_drop)},
    WK_BINDING_OPTIONS(wk_quantize_opts, binding),
    WK_PLUGIN_ROW(wk_quantize_opts, plugins),
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"output", 'o', "FILE", "write the quantised model to FILE", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_quantize_opts, output)},
    {"report", 0, "FILE", "write every figure as JSON", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_quantize_opts, report)},
    {"verbose", 'v', NULL, "print all layers; " WK_LIST_ALL_HELP, .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_quantize_opts, verbose)},
    {0}};

/* ---- steps ----------------------------------------------------------------------------------- */

/* What is written overwrites nothing that is read, as far as that is known yet. */
static wk_status check_paths(const wk_quantize_job *j) {
  const wk_quantize_opts *o = j->opts;
  wk_paths paths = {0};
  wk_model_paths(&paths, j->path, NULL, j->arena);
  wk_binding_paths(&paths, &o->binding);
  for (size_t i = 0; i < j->data.files.n; i++)
    wk_paths_read(&paths, "--calibration", j->data.files.data[i].path);
  wk_paths_write(&paths, "--output", o->output);
  wk_paths_write(&paths, "--report", o->report);
  return wk_paths_check(&paths);
}

static wk_status check_options(const wk_quantize_opts *o) {
  if (!o->output) return wk_error(WK_USAGE, "no output file: give -o OUT.onnx");
  if (!o->calibration.n && o->random < 0)
    return wk_error(WK_USAGE, "no calibration data: give --calibration DIR|FILE or --random N");
  if (!(o->percentile >= 50 && o->percentile <= 100))
    return wk_error(WK_USAGE, "--percentile %g: must be from 50 to 100", o->percentile);
  return NULL;
}

/* -1: what is there keeps nothing (standard output, a device, a pipe). */
static int64_t size_of(const char *path) {
  struct stat st;
  bool is_file = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
  return is_file ? (int64_t)st.st_size : -1;
}

/* Operators that ONNX cannot express are written in a domain of Wick's own. */
static bool needs_own_domain(const char *path) {
  wk_onnx_info info;
  wk_status s = wk_onnx_inspect(path, &info);
  bool found = false;
  if (s) {
    wk_status_free(s);
    return false;
  }
  for (size_t i = 0; i < info.opsets.n; i++) found |= !strcmp(info.opsets.data[i].domain, "wick");
  wk_onnx_info_free(&info);
  return found;
}

static wk_status write_model(wk_quantize_job *j) {
  wk_value_id *at = wk_xcalloc(j->m->main->values.n, sizeof *at);
  wk_module *m = NULL;
  wk_status s = wk_quantize_make(j, false, at, &m);
  if (!s) s = wk_export_onnx(m, j->opts->output);
  wk_module_free(m);
  free(at);
  WK_TRY(s);
  const char *weights = j->opts->binding.init_net; /* of a Caffe2 net */
  j->bytes_before = size_of(j->path) + (weights ? size_of(weights) : 0);
  j->bytes_after = size_of(j->opts->output);
  if (j->bytes_after >= 0 && needs_own_domain(j->opts->output))
    fprintf(stderr, "wick: %s: some operators have no ONNX form and are written in the domain "
            "'wick'; other tools will not run this file\n", j->opts->output);
  return NULL;
}

static wk_status write_report(const wk_quantize_job *j) {
  wk_out *out;
  if (!j->opts->report) return NULL;
  WK_TRY(wk_out_open(j->opts->report, &out));
  wk_quantize_json(out, j);
  return wk_out_commit(out);
}

static wk_status load(wk_quantize_job *j) {
  wk_status s = wk_quantize_load(j);
  wk_progress_end();
  wk_text_notes(stderr, j->notes.data, j->notes.n);
  return s;
}

static wk_status quantise(wk_quantize_job *j) {
  double decibel = 0;
  if (j->opts->target_drop) WK_TRY(wk_quantize_target(j->opts->target_drop, &decibel));
  WK_TRY(check_paths(j));
  WK_TRY(load(j));
  WK_TRY(check_paths(j)); /* the calibration files, too */
  WK_TRY(wk_quantize_profile(j));
  if (j->opts->target_drop) WK_TRY(wk_quantize_search(j, decibel));
  WK_TRY(wk_quantize_measure(j));
  WK_TRY(wk_quantize_measure_alone(j));
  wk_progress_end();
  WK_TRY(write_model(j));
  WK_TRY(write_report(j));
  wk_quantize_summary(strcmp(j->opts->output, "-") ? stdout : stderr, j);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  wk_quantize_opts o = *(const wk_quantize_opts *)options_;
  wk_quantize_job j = {.opts = &o, .arena = wk_arena_new(), .path = args->data[0]};
  WK_VEC(const char *) files = {0};
  for (size_t i = 0; i < o.calibration.n; i++) wk_vec_push(&files, o.calibration.data[i]);
  for (size_t i = 1; i < args->n; i++) wk_vec_push(&files, args->data[i]);
  o.calibration = (wk_strings){files.data, files.n, files.cap};
  j.options = (wk_quantize_options){
      .activation = o.scheme ? WK_I8 : WK_U8, .symmetric = o.symmetric,
      .per_channel = o.per_channel, .bias_correction = o.bias_correction,
      .method = (wk_range_method)o.method, .percentile = o.percentile};
  wk_status s = check_options(&o);
  if (!s) s = quantise(&j);
  wk_progress_end();
  wk_quantize_job_free(&j);
  wk_vec_free(&files);
  return s;
}

const wk_cmd wk_cmd_quantize = {
    .command = {.name = "quantize", .synopsis = "MODEL.onnx [CALIBRATION]...",
                .summary = "turn a float model into one with 8-bit integers",
                .description =
                    "Runs the model on calibration data, chooses a scale for every tensor, and "
                    "writes an ONNX model with QuantizeLinear and DequantizeLinear around what "
                    "becomes integer arithmetic, which other tools load as well. Then it measures "
                    "how far each layer and the outputs are from the float model. Scales are of "
                    "finite values: what sees -inf, or a mask far from all other values, stays "
                    "float.\n"
                    "\n"
                    "Calibration data is a file for the only input (NAME=FILE for one of several; "
                    "several rows of a batch are several samples), or a folder: each .npy or "
                    "input_K.pb file in it is a sample, each folder in it is one with a file for "
                    "every input, as in the ONNX tests. Files of models with several inputs are "
                    "called NAME.npy, or NAME.SUFFIX.npy for several samples.\n"
                    "\n"
                    "  wick quantize net.onnx --calibration images -o net.int8.onnx\n"
                    "  wick quantize net.onnx --random 16 --per-channel --method mse -o q.onnx\n"
                    "  wick quantize net.onnx --calibration x.npy --target-drop 30dB -o q.onnx",
                .options = options, .min_args = 1, .max_args = -1},
    .size = sizeof(wk_quantize_opts), .defaults = &defaults, .run = run};
