/* SPDX-License-Identifier: Apache-2.0
 * Private to sim/: what a build of the RTL model is made of besides the compilers' work. */
#ifndef WICK_SIM_BUILD_H
#define WICK_SIM_BUILD_H

#include "sim/sim.h"

/* The folder below which the sources of the RTL model have their paths of this project: share/wick
 * where the program or library with this code is installed, wherever that was moved, else the
 * project's own. */
void wk_sim_root(wk_str *out);

/* The text of sim/training.s with the lines before it that measure a machine. */
wk_status wk_sim_training_text(const wk_machine *m, wk_str *out) WK_MUST_CHECK;

/* Runs the training stream on a library that was compiled to count, and writes the counts, for
 * llvm-profdata, to `profile`. The memory's RUN keys are the defaults, whatever m has: a profile is
 * the same for all machines of this hardware. */
wk_status wk_sim_train(const char *library, const wk_machine *m,
                       const char *profile) WK_MUST_CHECK;

/* A wk_sim_find_model (sim/device.h): builds the RTL model as `options` say, a wk_sim_build_options
 * or NULL, or takes it from the cache. */
wk_status wk_sim_find_rtl(void *options, const wk_machine *m,
                          const wk_sim_model **model) WK_MUST_CHECK;

/* Loads a library for as long as the process lives. */
wk_status wk_sim_load(const char *library, const wk_sim_model **model) WK_MUST_CHECK;

#endif
