/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick train`.
 *
 *   cmd_train.c      options and their meaning
 *   train_data.c     files of samples
 *   train_model.c    what is trained and compiled
 *   train_output.c   what is written and told at the end
 *   train_program.c  compiled steps and what lives between them
 *   train_run.c      epochs
 *   train_checkpoint.c  a run's state in a file
 *   train_history.c  the line per epoch, as text, CSV and a diagram */
#ifndef WICK_CLI_FIT_TRAIN_H
#define WICK_CLI_FIT_TRAIN_H

#include "cli/paths.h"
#include "compiler/pipeline/runner.h"
#include "compiler/train/data.h"
#include "compiler/train/quantised.h"
#include "compiler/train/step.h"

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct {
  wk_arena *arena;
  wk_onnx_info info;         /* of the model */
  WK_VEC(wk_column) columns; /* one for each input that is not given otherwise, in order */
  wk_column labels;          /* t.data NULL: there are none */
  int64_t n;                 /* samples, the same in all columns */
  WK_VEC(wk_file) files;     /* mapped, or */
  WK_VEC(void *) blobs;      /* malloc'ed: where the columns' data is */
  const char *folder;         /* of sets; NULL: there was none */
  WK_VEC(const char *) paths; /* of all files of samples, those of folders too */
} wk_train_data;

/* What --data (FILE.npy, NAME=FILE.npy, or a folder in the layout of the ONNX tests) and --labels
 * (FILE.npy; NULL: none, unless the folder has outputs) name. Samples lie along axis 0, those of a
 * folder's sets one behind the other. files as in wk_test_data_read. Inputs that the binding fixes
 * to a value have none. */
wk_status wk_train_data_read(const char *model, const wk_import_options *files,
                             const wk_binding_set *binding, const wk_strings *data,
                             const char *labels, wk_train_data *out) WK_MUST_CHECK;
void wk_train_data_free(wk_train_data *d);

/* ---- history --------------------------------------------------------------------------------- */

typedef struct {
  int64_t epoch, step; /* epochs and steps that have been done */
  double rate;         /* of the last step */
  double loss, metric; /* means over the epoch's training batches */
  double held_loss, held_metric; /* of held-out samples; NaN: there are none */
  double seconds, samples;       /* training alone */
} wk_epoch;

/* What a step gave: means over its batches; the norm of the gradients before it is limited. */
typedef struct {
  double rate, loss, metric, norm;
} wk_step_figures;

typedef struct {
  const char *metric; /* its name; "": there is none */
  int64_t epochs;     /* in all */
  int64_t per_epoch;  /* steps */
  WK_VEC(wk_epoch) rows;
  bool has_steps;
  WK_VEC(wk_step_figures) steps; /* from the first one on; none unless has_steps */
} wk_history;

/* "epoch 3/10: loss 0.134, accuracy 0.95, held-out …, 12.3 k samples/s, 14 s left" */
void wk_history_line(FILE *f, const wk_history *h, const wk_epoch *e);
/* A line of names, then a line for each epoch; NaN is an empty cell. */
void wk_history_csv(wk_str *b, const wk_history *h);
/* The same for each step: step,epoch,rate,loss,METRIC,gradient_norm. */
void wk_history_steps_csv(wk_str *b, const wk_history *h);
/* Loss and metric over the epochs, and loss and norm over the steps if these are known, as a page
 * of their own (HTML). */
void wk_history_page(wk_str *b, const wk_history *h);

/* ---- programs -------------------------------------------------------------------------------- */

/* Modules compiled into one package: an entry for each, all on one state. */
typedef struct {
  const char *name;
  wk_module *module; /* changed by compiling */
} wk_train_entry;
typedef struct {
  wk_target_args target;
  int64_t threads;
  const char *model_name, *command;
  uint64_t input_hash; /* of the model file */
  const wk_target_output *output; /* of the host, to write instead of a package; NULL: none */
  int64_t memory_budget;          /* of the activations of each entry; 0: as it comes */
} wk_train_compiling;
/* What the first entry takes. */
typedef struct {
  int64_t macs;
  wk_remat_report remat; /* peak 0: there was no budget */
} wk_train_cost;
/* path: of what is written. The modules may become others, which keep those that they were. cost:
 * may be NULL. */
wk_status wk_train_compile(wk_train_entry *entries, size_t n, const wk_train_compiling *o,
                           const char *path, wk_train_cost *cost) WK_MUST_CHECK;

/* An entry that runs, with memory for its inputs and outputs. */
typedef struct {
  wick_session *session;
  const wick_entry_info *entry;
  void **in, **out;
} wk_train_program;
wk_status wk_train_program_open(const wick_model *m, uint32_t entry, wick_state *state,
                                int64_t threads, wk_train_program *out) WK_MUST_CHECK;
void wk_train_program_close(wk_train_program *p);
wk_status wk_train_program_run(wk_train_program *p) WK_MUST_CHECK;

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct {
  int64_t batch, accumulate, epochs, steps; /* steps: in all, which may end within an epoch */
  int64_t per_epoch;                        /* steps of a whole epoch */
  uint64_t seed;
  double rate;
  wk_schedule schedule;
} wk_train_plan;

typedef struct {
  wk_train_plan plan;
  const wk_train_data *data;
  wk_split split;
  wk_step step, evaluation;
  wk_module *module;      /* of the step, to look for what is not finite */
  wick_model *model;
  wick_state *state;
  void **variables;       /* contents of those of `step`, in the state */
  wk_train_program train, evaluate;
  wk_history history;
  int64_t done;           /* steps */
  wk_epoch running;       /* the epoch that has begun: sums instead of means, nothing held out */
  const char *checkpoint; /* file, NULL: none */
  int64_t every;          /* steps after which it is written, besides ends of epochs; 0: never */
  const char *settings;   /* lines "name value": what a checkpoint must agree with */
  FILE *shown;            /* takes the lines */
} wk_train_run;

/* Trains until all steps of the plan are done, from `done` on, and prints a line for each epoch.
 * WK_FAILED: a loss or a gradient was no finite number. The state is then that before the step. */
wk_status wk_train_epochs(wk_train_run *r) WK_MUST_CHECK;

/* The state of a run, its history and settings, written atomically. */
wk_status wk_checkpoint_save(const wk_train_run *r) WK_MUST_CHECK;
/* WK_INPUT: the file is damaged; WK_USAGE: it is of another run, whose first setting that differs
 * is named, or has no figures of single steps where they are wanted. */
wk_status wk_checkpoint_load(wk_train_run *r) WK_MUST_CHECK;

/* ---- the command ----------------------------------------------------------------------------- */

/* What --emit names, in the order of the choices. */
typedef enum { WK_TRAIN_ONNX, WK_TRAIN_PACKAGE, WK_TRAIN_BUNDLE } wk_train_emission;

typedef struct {
  wk_binding_args binding;
  const char *labels, *loss, *of, *checkpoint, *history, *history_steps, *plot,
      *output, *cpu, *memory_budget;
  wk_strings data, train, freeze;
  double rate, weight_decay, clip_norm, validate;
  int64_t batch, accumulate, epochs, steps, seed, threads, checkpoint_every;
  int optimizer, schedule, batch_norm, emit;
  bool qat, resume, verbose;
} wk_train_opts;

/* what: as for wk_paths_write. */
typedef struct {
  const char *what, *path;
} wk_train_file;

/* A trained weight that is written as integers, or as halves. */
typedef struct {
  const wk_quantised_weight *weight; /* NULL: halves */
  const wk_step_variable *variable;
  const void *floats; /* in the state */
  wk_type type;       /* of the file */
  void *codes;        /* of it, packed */
} wk_train_codes;

typedef struct {
  const wk_train_opts *o;
  const char *path;
  wk_arena *arena;
  wk_binding_set binding;
  wk_train_data data;
  wk_step_options step;
  wk_train_run run;
  wk_import_report report;
  wk_quantised quantised; /* what --qat found in the model of the step */
  wk_weight_names names; /* that are trained */
  size_t n_weights;      /* of the model that could be */
  wk_notes notes;
  int64_t memory_budget; /* bytes; 0: none */
  wk_train_cost cost;
  WK_VEC(wk_train_file) written;
  WK_VEC(wk_train_codes) codes; /* that are written; in the arena */
  wk_write_back *back;   /* from wk_train_write_open on, when the model is written */
} wk_train_job;

/* Shapes of the inputs, and the batch, from the samples and the options. */
wk_status wk_train_shapes(wk_train_job *j) WK_MUST_CHECK;
/* Makes and compiles the step, and the evaluation if samples are held out; checks the samples. */
wk_status wk_train_open(wk_train_job *j) WK_MUST_CHECK;
void wk_train_close(wk_train_job *j);
/* Pieces of that: an import; the evaluation of a step; how modules are compiled. */
wk_status wk_train_import(wk_train_job *j, wk_import_purpose purpose, wk_import_report *report,
                          wk_module **out) WK_MUST_CHECK;
wk_status wk_train_evaluation(wk_train_job *j, wk_step *step, wk_module **out) WK_MUST_CHECK;
wk_train_compiling wk_train_settings(const wk_train_job *j);
/* Every file that is written; those of the model's external data are known when it is opened. */
wk_status wk_train_name_files(wk_train_job *j) WK_MUST_CHECK;
/* The model file with its new weights, or a package or bundle of train, evaluate and infer. Opening
 * comes before the run and finds what cannot be written: no training is lost for that. */
wk_status wk_train_write_open(wk_train_job *j) WK_MUST_CHECK;
wk_status wk_train_write(wk_train_job *j) WK_MUST_CHECK;
void wk_train_print_weights(const wk_train_job *j);
void wk_train_print_summary(const wk_train_job *j);

#endif
