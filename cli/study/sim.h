/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick sim`.
 *
 *   cmd_sim.c        options
 *   sim_stream.c     one stream on one model: run, shown, compared with the functional model
 *   sim_package.c    a package, whose parts are such streams
 *   sim_compile.c    a model, which becomes such a package
 *   sim_report.c     what is printed
 *   sim_energy.c     energy, from what was accessed
 *   sim_layers.c     the layers of a part: cycles, bytes, what was possible
 *   causes.c         --causes: what cycles were waited for; what_if.c, causes_print.c
 *   sim_record.c     what becomes files: sim_json.c, sim_trace.c (cli/trace.h); report.h: --html */
#ifndef WICK_CLI_STUDY_SIM_H
#define WICK_CLI_STUDY_SIM_H

#include "cli/accel_parts.h"
#include "cli/run.h"
#include "sim/run.h"

typedef struct {
  const char *machine, *dram, *rtl, *trace, *fst, *json, *csv, *html, *coverage, *entry;
  wk_option_pairs settings; /* of the target */
  wk_binding_args binding;
  wk_strings dump, input;
  int model, tune;
  int64_t max_cycles, timeout, seed, random, part, quantize;
  bool build, rebuild, commands, causes, no_what_if, unchecked, unverified, stalls, random_reset;
  bool with_modes;
} wk_sim_opts;
enum { WK_SIM_UNSET = -1 }; /* of a number that may be 0 */

/* A part of a package. */
typedef struct {
  const char *name;
  size_t number;
  const wk_accel_unit *unit;
  const wk_accel_part *row;
} wk_sim_part;

/* A run, while it is shown. */
typedef struct {
  const wk_stream *stream;
  const wk_machine *machine;
  const wk_sim_run *run;
  const wk_sim_model *model;
  const wk_sim_part *part; /* NULL: it is just a stream */
  const struct wk_sim_why *why; /* NULL: it was not asked for */
} wk_sim_shown;

/* The keys of --dram, which are valid, have an effect on the model. In cmd_sim.c. */
wk_status wk_sim_check_dram(const wk_sim_opts *o) WK_MUST_CHECK;

/* ---- sim_stream.c ---------------------------------------------------------------------------- */

/* What --machine and --dram say. s: whose machine it is otherwise; NULL: base. */
wk_status wk_sim_choose_machine(const wk_sim_opts *o, const wk_stream *s,
                                wk_machine *m) WK_MUST_CHECK;
/* The model that the options ask for, built if need be. */
wk_status wk_sim_open_model(const wk_sim_opts *o, const wk_machine *m,
                            const wk_sim_model **model) WK_MUST_CHECK;

/* The FILE of --fst; NULL: it names none. */
const char *wk_sim_fst_file(const char *window);

/* Where what people read goes: not where a file goes that was asked for as "-". */
FILE *wk_sim_output(const wk_sim_opts *o);

typedef struct wk_sim_record wk_sim_record;
/* Runs and shows. part: as in wk_sim_shown. *model: of this machine; NULL: it is opened, when all
 * else has been checked, and the caller may hand it to the next run. The run is the caller's also
 * after an error. */
wk_status wk_sim_simulate(const wk_sim_opts *o, const wk_stream *s, const wk_sim_part *part,
                          const wk_machine *m, const wk_sim_model **model, wk_sim_record *record,
                          wk_sim_run *r) WK_MUST_CHECK;

/* ---- sim_package.c --------------------------------------------------------------------------- */

/* file: where the package is; path: what errors and reports call it, or what it was compiled
 * from. */
wk_status wk_sim_package(const wk_sim_opts *o, const char *file, const char *path,
                         wk_sim_record *record) WK_MUST_CHECK;

/* ---- sim_compile.c --------------------------------------------------------------------------- */

wk_status wk_sim_model_file(const wk_sim_opts *o, const char *path) WK_MUST_CHECK;

/* ---- figures --------------------------------------------------------------------------------- */

/* From the counters; docs/machine.md has their definitions. */
typedef struct {
  uint64_t cycles, exposed;
  uint64_t dma_active, overlapped; /* cycles with a transfer active; of them with compute busy */
  uint64_t bytes_in, bytes_out;    /* moved by load and store channels */
  double active_lanes;             /* multiplications / (N * N * cycles), padding included */
} wk_sim_figures;
wk_sim_figures wk_sim_figures_of(const wk_machine *m, const uint64_t *counters);

/* pJ; docs/reports.md has the definitions. */
typedef struct {
  const char *name;
  double count, each, pj;
} wk_sim_energy;
enum { WK_SIM_ENERGIES = 5 };
/* Returns their sum. */
double wk_sim_energy_of(const wk_machine *m, const uint64_t *counters,
                        wk_sim_energy out[WK_SIM_ENERGIES]);

/* It ended as its stream does: what layers need is what was done for them. */
bool wk_sim_is_whole(const wk_sim_shown *x);

/* Of a layer; docs/packages.md has the definitions. */
typedef struct {
  uint64_t cycles; /* charged to it (compiler/stream/charge.h) */
  uint64_t predicted; /* those that the compiler expected */
  uint64_t transfers, overlapped, exposed; /* of them */
  uint64_t read, written;                  /* bytes */
  uint64_t words, sums; /* of scratchpad and accumulators, read and written: by the commands */
  uint64_t macs, ex, drain, ve;
  uint64_t bound;
  uint64_t hidden; /* cycles of other layers, behind which the rest of the bound lies */
  wk_accel_least need; /* whatever the commands are; zeros where the package does not say */
  uint64_t least;      /* cycles: the most that one of these takes */
  const char *limit, *binds; /* what bound and least are of: array, drain, vector or memory; none:
                                "" */
} wk_sim_layer;

/* pJ. What no layer has: fetched commands, and products that padding and tails add. */
double wk_sim_layer_energy(const wk_machine *m, const wk_sim_layer *l);

typedef struct {
  wk_sim_layer *list; /* n + 1: by operator; 0 is what belongs to none */
  uint32_t n;
  wk_sim_layer total;
} wk_sim_layers;
/* x: a part's run with time, which is whole. free() the list. */
wk_sim_layers wk_sim_layers_of(const wk_sim_shown *x);

typedef struct {
  /* parts of 1; negative: there is none. utilisation = mapping * activity */
  double share, utilisation, mapping, activity, overlap, efficiency, of_least;
} wk_sim_ratios;
wk_sim_ratios wk_sim_ratios_of(const wk_machine *m, const wk_sim_layer *l, uint64_t all_cycles);
/* "conv1" of operator 1; "other" of 0. */
const char *wk_sim_layer_name(const wk_sim_part *p, uint32_t operator);
const char *wk_sim_layer_op(const wk_sim_part *p, uint32_t operator);

/* ---- output ---------------------------------------------------------------------------------- */

void wk_sim_print(FILE *f, const wk_sim_shown *x);           /* summary and queues */
void wk_sim_print_marks(FILE *f, const wk_sim_shown *x);     /* rows between MARKs */
void wk_sim_print_layers(FILE *f, const wk_sim_shown *x, const wk_sim_layers *l);
/* For --csv: the heading where b is empty; and rows behind it. x: as for wk_sim_layers_of. */
void wk_sim_add_csv_heading(wk_str *b);
void wk_sim_add_csv(wk_str *b, const wk_sim_shown *x);
void wk_sim_print_costs(FILE *f, const wk_sim_shown *x);     /* commands, one a line */
void wk_sim_print_outputs(FILE *f, const wk_sim_shown *x);   /* regions marked as results */
wk_text24 wk_sim_grouped(uint64_t n);                        /* "1,234,567" */

/* Runs for --json, --html, --trace and --csv. package: NULL for a stream. The trace is for Perfetto
 * or chrome://tracing: a track for each queue, waits as arrows; parts follow one another. */
wk_sim_record *wk_sim_record_new(const wk_sim_opts *o, const char *package);
/* What is run: the package, or s. */
const char *wk_sim_record_file(const wk_sim_record *r, const wk_stream *s);
void wk_sim_record_add(wk_sim_record *r, const wk_sim_shown *x);
/* Run i of those that were added, a part's, has stood for so many. */
void wk_sim_record_repeat(wk_sim_record *r, size_t i, uint32_t runs);
/* Runs from now on are those of this --prefetch, of which only figures are kept and nothing is
 * printed. has_run: it has all those that came before. */
void wk_sim_record_begin_mode(wk_sim_record *r, const char *prefetch, bool has_run);
bool wk_sim_record_is_mode(const wk_sim_record *r);
void wk_sim_record_print_modes(const wk_sim_record *r, FILE *f);
/* Writes the files unless s says that something failed before there was anything to write; frees r.
 * Returns s, or what failed. */
wk_status wk_sim_record_close(wk_sim_record *r, wk_status s) WK_MUST_CHECK;

#endif
