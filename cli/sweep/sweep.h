/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick sweep`, and what computes and keeps the points of `wick
 * explore`.
 *
 *   cmd_sweep.c     options, and what is printed
 *   sweep_space.c   the points: models, machines, settings
 *   sweep_store.c   the folder: what has been computed, who computes what
 *   sweep_point.c   one point: compiled, run on the timing model
 *   sweep_run.c     many points, in processes of their own
 *   sweep_slurm.c   many points, in an array of Slurm jobs
 *   sweep_table.c   the rows as CSV and JSON
 *   sweep_page.c    the rows as a page of diagrams */
#ifndef WICK_CLI_SWEEP_SWEEP_H
#define WICK_CLI_SWEEP_SWEEP_H

#include <jansson.h>

#include "cli/command.h"
#include "compiler/calibrate/quantize.h"
#include "compiler/pipeline/model.h"
#include "compiler/pipeline/targets.h"
#include "targets/accel/isa/machine.h"

typedef struct {
  wk_binding_args binding;
  const char *machine, *output, *task;
  wk_option_pairs settings; /* of the target: of a sweep values with commas between them */
  wk_strings set;
  int64_t jobs, timeout, quantize;
  int model; /* a wk_sweep_model_kind */
  bool what_if, slurm;
} wk_sweep_opts;

/* Rows of an option table about work on points; prefix: "x." of a member x, a
 * wk_sweep_opts; nothing when the struct is one. */
#define WK_SWEEP_WORK_OPTIONS(type, prefix)                                                        \
  {.kind = WK_OPTION_GROUP, .help = "Work"},                                                       \
  {"output", 'o', "DIR", "folder of the results, made if there is none; rows that it has are not " \
   "computed again", .kind = WK_OPTION_STRING, .offset = offsetof(type, prefix output)},           \
  {"jobs", 'j', "N", "points at a time, each in a process of its own (default: all processors, "   \
   "64 at most); with --slurm tasks of the array (default 16)", .kind = WK_OPTION_INT,             \
   .offset = offsetof(type, prefix jobs), .min = 1, .max = 100000},                                \
  {"timeout", 0, "SECONDS", "abandon a point after this time (default 3600)",                      \
   .kind = WK_OPTION_INT, .offset = offsetof(type, prefix timeout), .min = 1, .max = 86400},       \
  {"slurm", 0, NULL, "submit the work as an array of Slurm jobs, and wait for it; DIR is seen by " \
   "all nodes (SBATCH_PARTITION and the like in the environment choose which)",                    \
   .kind = WK_OPTION_FLAG, .offset = offsetof(type, prefix slurm)},                                \
  {"task", 0, "I/N", "only compute, as process I (from 0) of N that share DIR; of the points, it " \
   "begins with its own part, and when that is done, helps with the others",                       \
   .kind = WK_OPTION_STRING, .offset = offsetof(type, prefix task)}
#define WK_SWEEP_TIMEOUT 3600 /* default */

/* All settings that there are, but for those with rows of their own. */
#define WK_SWEEP_SETTING_ROWS(type, prefix)                                                        \
  {.kind = WK_OPTION_ROWS, .offset = offsetof(type, prefix settings), .rows = wk_setting_row,      \
   .is_unlisted = true}

/* How cycles are found out. */
typedef enum {
  WK_SWEEP_TIMING,   /* by the timing model: those of the RTL */
  WK_SWEEP_RTL,      /* by the RTL itself */
  WK_SWEEP_SCHEDULE  /* by what the compiler foresees: nothing runs */
} wk_sweep_model_kind;

/* ---- the space ------------------------------------------------------------------------------- */

/* What differs between points: a key of the machine, or a setting of the target. */
typedef struct {
  const char *name;
  const wk_machine_key *key; /* NULL: a setting */
  WK_VEC(const char *) values;
} wk_sweep_axis;

typedef struct {
  const char *path; /* absolute */
  const char *name; /* in rows: no two have the same */
  uint64_t hash;    /* of its files */
} wk_sweep_model;

typedef struct {
  const wk_sweep_model *model;
  const char **values; /* per axis */
  wk_machine machine;
  const char *refusal; /* why there is no such machine; NULL: there is */
  wk_option_pairs settings; /* of the target; in the arena */
  wk_sweep_model_kind kind;
  const char *identity; /* text of all that the row depends on */
  char key[20];         /* its hash */
  const char *lost;     /* why there is no row in the folder; NULL: there is, or nobody knows */
} wk_sweep_point;

typedef struct {
  const wk_sweep_opts *o;
  const wk_cmd *cmd;        /* whose options `values` are: what other processes are started with */
  const void *values;
  const wk_strings *paths;  /* of the models, as they were given */
  const char *dir; /* absolute */
  const char *shared; /* text of what the rows of all points depend on */
  wk_arena *arena;
  wk_machine base;
  wk_binding_set binding;
  WK_VEC(wk_sweep_model) models;
  WK_VEC(wk_sweep_axis) axes;
  WK_VEC(wk_sweep_point) points; /* of a sweep: the last axis changes first, the model last */
  const char *stage; /* what progress begins with; NULL: nothing */
  long array; /* the last array of Slurm jobs; 0: none */
} wk_sweep;

/* Checks the options about work, reads the models and what the points share. There are no axes and
 * no points yet. `o` lies in `values`. Free it also after an error. */
wk_status wk_sweep_open(const wk_sweep_opts *o, const wk_cmd *cmd, const void *values,
                        const wk_strings *models, wk_sweep *out) WK_MUST_CHECK;
void wk_sweep_free(wk_sweep *s);
/* Axes of --set and of settings, and all points. Machines that are none become points with a
 * refusal. */
wk_status wk_sweep_fill(wk_sweep *s) WK_MUST_CHECK;
/* The machine with these values of the axes that are keys; why there is none, in the arena, or
 * NULL. */
const char *wk_sweep_machine_of(wk_sweep *s, const char *const *values, wk_machine *out);
/* The target's error when one of its settings has no such value. */
wk_status wk_sweep_check_settings(const wk_option_pairs *settings) WK_MUST_CHECK;
/* A point of a machine that is one; what is not set below is as the target has it. */
void wk_sweep_add(wk_sweep *s, const wk_sweep_point *p);

/* ---- the folder ------------------------------------------------------------------------------ */

/* DIR/store/KEY.json     a row: what a point has come to, or why it cannot be computed
 * DIR/machines/HASH.cfg  the machines
 * DIR/log                "start KEY" before a point is computed, "done KEY" when its row is there
 * DIR/lock               byte KEY is locked by who computes that point
 * A row is whole or not there, whatever ends the process. Locks go with the process, and hold
 * between machines where the file system has locks of fcntl (NFS has). */
wk_status wk_sweep_prepare(const wk_sweep *s) WK_MUST_CHECK;
/* "DIR/machines/HASH.cfg"; HASH.cfg alone is its name there. */
const char *wk_sweep_machine_file(const wk_sweep *s, const wk_sweep_point *p);
/* NULL: there is none of this identity. json_decref. */
json_t *wk_sweep_row(const wk_sweep *s, const wk_sweep_point *p);
bool wk_sweep_has_row(const wk_sweep *s, const wk_sweep_point *p);
wk_status wk_sweep_put_row(const wk_sweep *s, const wk_sweep_point *p, json_t *row) WK_MUST_CHECK;
/* Forgets why points have crashed or taken too long, so that they are tried again. */
wk_status wk_sweep_forget_deaths(const wk_sweep *s) WK_MUST_CHECK;
/* Waits until nobody else computes the point; closing the descriptor lets others. */
wk_status wk_sweep_lock(const wk_sweep *s, const wk_sweep_point *p, int *fd) WK_MUST_CHECK;
wk_status wk_sweep_log(const wk_sweep *s, const char *what, const wk_sweep_point *p) WK_MUST_CHECK;

/* ---- points ---------------------------------------------------------------------------------- */

/* Compiles and runs; for a process of its own, whose working folder and standard streams it
 * changes. *row: figures, or the reason why there are none. A status is not about the point: it
 * could not be computed now (WK_IO: no room for temporary files). */
wk_status wk_sweep_compute(const wk_sweep *s, const wk_sweep_point *p, json_t **row) WK_MUST_CHECK;

/* Those without a row, o->jobs at a time. What crashes or takes too long gets a row that says so;
 * `lost` is set of what was killed. Ends early with what kept a row from being written. *computed:
 * how many got a row. */
wk_status wk_sweep_run(wk_sweep *s, size_t *computed) WK_MUST_CHECK;
/* The same by an array of Slurm jobs. */
wk_status wk_sweep_run_slurm(wk_sweep *s, size_t *computed) WK_MUST_CHECK;

/* "12 of 240, 3 min left" on a terminal. began: wk_clock() when `done` was 0. */
void wk_sweep_progress(const wk_sweep *s, size_t done, size_t total, double began);

/* ---- results --------------------------------------------------------------------------------- */

/* Of every point, in order: {"model", "key", then its axes, then its figures or "error"}. */
json_t *wk_sweep_rows(const wk_sweep *s);
wk_status wk_sweep_write_table(const wk_sweep *s, const json_t *rows) WK_MUST_CHECK;
wk_status wk_sweep_write_page(const wk_sweep *s, const json_t *rows) WK_MUST_CHECK;
/* A cell of a table of such a page, for a string, a number or nothing. */
void wk_sweep_page_cell(wk_str *b, const json_t *v);

#endif
