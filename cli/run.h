/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick run`.
 *
 *   cmd_run.c      options, running, results
 *   run_warm.c     a first run, before those that are looked at
 *   run_inputs.c   where the inputs come from; loading the model with their shapes
 *   run_ahead.c    --ahead
 *   run_profile.c  --profile
 *   run_trace.c    --trace
 *   run_dump.c     --dump-tensors
 *   run_folder.c   folders of tensors
 *   run_state.c    --state */
#ifndef WICK_CLI_RUN_H
#define WICK_CLI_RUN_H

#include "cli/paths.h"
#include "compiler/pipeline/runner.h"

typedef struct {
  wk_binding_args binding;
  wk_target_args target;
  const char *entry, *output_dir, *dump, *state, *trace;
  wk_strings input;
  int64_t random, threads, repeat, ahead;
  int64_t quantize; /* seed; 0: no */
  const char *device; /* of OpenCL; NULL: as the environment says */
  int model; /* wk_sim_kind */
  const char *key, *signature, *memory_limit; /* of packages, like the next one */
  bool no_native_code;
  bool profile, verbose;
} wk_run_opts;

/* A file given by --input. */
typedef struct {
  const char *arg, *path, *name; /* name: of the input, NULL: by position until it is known */
  wk_tensor t;
} wk_run_file;

typedef struct {
  wk_arena *arena;
  wk_runner *runner;
  WK_VEC(wk_run_file) files;
  wk_tensor *in;    /* one per input of the runner; borrowed from files or own */
  bool *is_own;
  bool list_all;    /* as in wk_import_options */
  wk_notes notes;   /* for when all has gone well */
  size_t of_model;  /* how many of these are about the model, which may explain a fault */
} wk_run_job;

/* Reads the files, loads or compiles the model for their shapes, makes the inputs that are left.
 * Inputs have the types that the runner wants. */
wk_status wk_run_load(const wk_run_opts *o, const char *path, wk_run_job *job) WK_MUST_CHECK;
void wk_run_job_free(wk_run_job *job);
/* Reads the files of --input into a job that has an arena, and imports the model with their shapes,
 * real operators and all. The report is the caller's to free, also after an error. */
wk_status wk_run_import(wk_run_job *job, const char *path, const wk_binding_args *binding,
                        const wk_strings *input, wk_import_purpose purpose,
                        wk_import_report *report, wk_module **m) WK_MUST_CHECK;
/* What the file given for an input has, adapted to its type and checked against it; NULL: there is
 * none. */
wk_status wk_run_given(wk_run_job *job, const char *name, const wk_type *want,
                       const wk_tensor **out) WK_MUST_CHECK;

/* --state: the file is the state of the package, from before the run to behind it; where there is
 * none yet, the state begins as in the package. */
wk_status wk_run_check_state(const wk_run_opts *o, bool is_package) WK_MUST_CHECK;
wk_status wk_run_load_state(const wk_run_opts *o, wk_run_job *job) WK_MUST_CHECK;
wk_status wk_run_save_state(const wk_run_opts *o, const wk_run_job *job) WK_MUST_CHECK;

/* What runs of the job's session take. */
typedef struct {
  const void *inputs[WK_RUNNER_MAX_IO];
  void *outputs[WK_RUNNER_MAX_IO];
} wk_run_buffers;
/* Runs once, by which inputs are checked and outputs have their memory. */
wk_status wk_run_warm(wk_run_job *job, wk_tensor *out, wk_run_buffers *b) WK_MUST_CHECK;

/* Runs o->repeat times, o->ahead of them submitted before the one that is waited for, and prints
 * how long that took. `out` as for wk_runner_run. */
wk_status wk_run_ahead(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) WK_MUST_CHECK;
/* Runs o->repeat times and prints a table of where the time went. `out` as for wk_runner_run. */
wk_status wk_run_profile(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) WK_MUST_CHECK;

/* Runs o->repeat times and writes a timeline to the file; model: its title. */
wk_status wk_run_trace(const wk_run_opts *o, const char *model, wk_run_job *job,
                       wk_tensor *out) WK_MUST_CHECK;

/* Runs once and writes every intermediate tensor to the folder. */
wk_status wk_run_dump(const wk_run_opts *o, wk_run_job *job, wk_tensor *out) WK_MUST_CHECK;

/* The files that --dump-tensors may write. */
void wk_run_dump_files(const wk_run_opts *o, wk_run_job *job, wk_paths *paths);

/* A folder for tensors, made when it does not exist. What was made goes away again when writing
 * fails. Files are called wk_text_file_name(NAME).npy. */
typedef struct {
  const char *path;
  wk_arena *arena; /* borrowed */
  bool is_new;
  wk_map *count;              /* by name without ending: parts and tensors written */
  WK_VEC(const char *) files; /* written there */
} wk_run_folder;
/* "DIR/NAME.npy", the name made fit for a file; part: "DIR/NAME~1.npy", 0 for none. */
char *wk_run_folder_file(wk_arena *a, const char *folder, const char *name, uint32_t part);
wk_status wk_run_folder_open(const char *path, wk_arena *a, wk_run_folder *out) WK_MUST_CHECK;
/* The tensor of that name; nothing when it has been written before. */
wk_status wk_run_folder_write(wk_run_folder *f, const char *name, const wk_tensor *t) WK_MUST_CHECK;
/* Something that is no tensor of the model, as NAME~1.npy, NAME~2.npy, … */
wk_status wk_run_folder_write_part(wk_run_folder *f, const char *name,
                                   const wk_tensor *t) WK_MUST_CHECK;
/* Returns s, how it went. */
wk_status wk_run_folder_close(wk_run_folder *f, wk_status s) WK_MUST_CHECK;

#endif
