/* SPDX-License-Identifier: Apache-2.0
 * sim: runs command streams on a model of the accelerator.
 *
 * The RTL model is built by Verilator, once per machine, RTL tree and compiler, into a cache
 * ($WICK_CACHE, else $XDG_CACHE_HOME/wick, else ~/.cache/wick). */
#ifndef WICK_SIM_H
#define WICK_SIM_H

#include "compiler/support/support.h"
#include "sim/model.h"
#include "targets/accel/model/model.h"

typedef enum { WK_SIM_FUNCTIONAL, WK_SIM_TIMING, WK_SIM_RTL } wk_sim_kind;

/* Called while something takes long: what (until it returns), and how far (0 .. 100, -1: not
 * known). */
typedef void wk_sim_progress(void *context, const char *what, int percent);

/* A tuned model is compiled twice, the second time with a profile of the first one's run of a
 * training stream (sim/training.s); its results are the plain one's. That takes twice as long, so
 * that it is made only when it is asked for. */
typedef enum {
  WK_SIM_TUNE_CACHED, /* take the tuned model if the cache has it, otherwise the plain one */
  WK_SIM_TUNE_NOW,    /* the tuned one; an error if it cannot be made */
  WK_SIM_TUNE_NEVER   /* the plain one */
} wk_sim_tune;

typedef struct {
  const wk_machine *machine;
  const char *rtl;      /* folder with another RTL tree; NULL: the one of this project */
  bool waves;           /* a model that can write waveforms; slower */
  bool coverage;        /* a model that counts lines and toggles; slower */
  bool probe;           /* a model that tells of accesses to the scratchpad; slower */
  bool rebuild;         /* the one that is taken, even when the cache has it */
  wk_sim_tune tune;          /* of models without waves, coverage and probe */
  wk_sim_progress *progress; /* NULL ok */
  void *context;
} wk_sim_build_options;

/* Builds the RTL model unless the cache has it. *path: the shared library, malloc'd. */
wk_status wk_sim_build(const wk_sim_build_options *o, char **path) WK_MUST_CHECK;

/* The model of a kind; the RTL's is built if need be and checked against the machine's hash when it
 * runs. Valid until the process ends. `o` is looked at for the RTL only. */
wk_status wk_sim_model_of(wk_sim_kind kind, const wk_sim_build_options *o,
                          const wk_sim_model **model) WK_MUST_CHECK;

extern const wk_dram_api wk_sim_dram_api;

/* Command `index` of a run on the functional model; no fault of the machine's is in it. False: the
 * run has ended, and r says how. */
bool wk_sim_step(wk_functional *f, const wk_isa_command *c, uint32_t index, wk_sim_result *r);

#endif
