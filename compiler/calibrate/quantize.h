/* SPDX-License-Identifier: Apache-2.0
 * What quantises a float model by samples of its inputs: `wick quantize`, and --quantize-random.
 *
 *   quantize_data.c    calibration files: which there are, what input each belongs to
 *   quantize_model.c   the float model: import, passes, samples that fit it
 *   quantize_run.c     running modules with their intermediate tensors in view
 *   quantize_random.c  --quantize-random of other commands
 *   quantize_search.c  --target-drop */
#ifndef WICK_CALIBRATE_QUANTIZE_H
#define WICK_CALIBRATE_QUANTIZE_H

#include "compiler/pipeline/runner.h"
#include "compiler/quantize/quantize.h"

typedef struct {
  wk_binding_args binding;
  wk_strings calibration, keep_float, plugins;
  int64_t random, seed, threads;
  int scheme, method;
  double percentile;
  bool symmetric, per_channel, bias_correction, equalise, verbose;
  const char *target_drop, *output, *report;
} wk_quantize_opts;

/* ---- calibration data ------------------------------------------------------------------------ */

typedef struct {
  const char *path, *group; /* files of one group make one sample */
  int input;                /* which of the model's inputs */
  wk_tensor t;
} wk_calibration_file;

/* Tensors by input index; t.data NULL where the group has none. */
typedef struct {
  const char *place; /* file or folder, for messages */
  wk_tensor *in;
  const char **path;
} wk_calibration_group;

typedef struct {
  wk_arena *arena;
  wk_onnx_info info;
  WK_VEC(wk_calibration_file) files;
  WK_VEC(wk_calibration_group) groups;
} wk_calibration;

/* Reads every file there is; `paths` are files, folders or NAME=FILE. */
wk_status wk_calibration_read(const char *model, const wk_import_options *o,
                              const wk_strings *paths,
                              wk_calibration *out) WK_MUST_CHECK;
void wk_calibration_free(wk_calibration *c);

/* ---- without a file -------------------------------------------------------------------------- */

/* For exploration: the module, as imported from path, becomes what `wick quantize --random 1
 * --method minmax --seed S` makes of it, with its integer meaning. Weights that are all equal
 * become random first. After an error *m is freed and NULL. */
wk_status wk_quantize_module(wk_module **m, const char *path, int64_t seed) WK_MUST_CHECK;

#define WK_QUANTIZE_RANDOM_OPTION(type, member)                                                    \
  {"quantize-random", 0, "SEED", "quantise a float model by one random input first, to explore "   \
   "what it would cost in integers: results mean nothing (for use: 'wick quantize')",             \
   .kind = WK_OPTION_INT, .offset = offsetof(type, member), .min = 1, .max = INT64_MAX}

/* ---- the job --------------------------------------------------------------------------------- */

/* Signal and noise of a tensor over all samples. */
typedef struct { double signal, noise; } wk_quantize_noise;
double wk_quantize_decibel(wk_quantize_noise n); /* +infinity without noise */

typedef struct {
  const wk_quantize_opts *opts;
  wk_arena *arena;
  const char *path;
  wk_calibration data;
  wk_notes notes; /* of the import, also where what follows it fails */
  wk_module *m; /* float, after the passes */
  wk_quantize_options options;
  wk_quantize_plan plan;
  wk_range *ranges;        /* by value of m */
  size_t n_ranges;
  wk_value_id broken;      /* an output that was NaN */
  size_t broken_sample;    /* on this sample, counted from 1; 0: none was */
  wk_tensor **samples;     /* by sample, by input of m */
  size_t n_samples;
  WK_VEC(wk_tensor) own;   /* random inputs */
  wk_quantize_noise *drift; /* by layer: the quantised model against the float one */
  wk_quantize_noise *alone; /* by layer: fed by the float model */
  wk_quantize_noise end;    /* outputs of the model */
  WK_VEC(wk_tensor) want;   /* the float model's outputs on the measured samples, once known */
  int64_t pairs;            /* equalised */
  size_t kept;              /* layers that --target-drop kept */
  int64_t bytes_before, bytes_after; /* after: -1 when no file keeps it */
} wk_quantize_job;

/* Imports and prepares the model, makes the samples fit it. */
wk_status wk_quantize_load(wk_quantize_job *j) WK_MUST_CHECK;
/* Inputs that are added to scores and are, in all samples, 0 or far below it, become choices
 * between two numbers, which wk_choose_masks knows as masks. */
wk_status wk_quantize_given_masks(wk_quantize_job *j) WK_MUST_CHECK;
/* Its second half, for a module as imported and calibration data as read. */
wk_status wk_quantize_prepare(wk_quantize_job *j) WK_MUST_CHECK;
void wk_quantize_job_free(wk_quantize_job *j);
/* Ranges of all values that may be quantised; what no scale suits is kept in float. WK_INPUT where
 * the float model's outputs are NaN, WK_UNSUPPORTED where nothing is left to quantise. */
wk_status wk_quantize_profile(wk_quantize_job *j) WK_MUST_CHECK;
/* The module as planned at present; simulated and at as for wk_quantize_build. */
wk_status wk_quantize_make(const wk_quantize_job *j, bool simulated, wk_value_id *at,
                           wk_module **out) WK_MUST_CHECK;
/* Fills end and drift. */
wk_status wk_quantize_measure(wk_quantize_job *j) WK_MUST_CHECK;
/* Fills alone. */
wk_status wk_quantize_measure_alone(wk_quantize_job *j) WK_MUST_CHECK;
/* Noise of the outputs as planned at present, on so many samples. */
wk_status wk_quantize_measure_outputs(wk_quantize_job *j, size_t samples,
                                      wk_quantize_noise *out) WK_MUST_CHECK;
enum { WK_QUANTIZE_MEASURED = 8 }; /* samples at most, evenly spread over those given */
/* Keeps layers in float until the noise at the outputs is at most that of `decibel`. */
wk_status wk_quantize_search(wk_quantize_job *j, double decibel) WK_MUST_CHECK;
/* "40dB", or an error such as 0.01 relative to the outputs. */
wk_status wk_quantize_target(const char *text, double *decibel) WK_MUST_CHECK;

#endif
