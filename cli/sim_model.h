/* SPDX-License-Identifier: Apache-2.0
 * --model, and what is shown while the RTL model is built. */
#ifndef WICK_CLI_SIM_MODEL_H
#define WICK_CLI_SIM_MODEL_H

#include "compiler/pipeline/runner.h"
#include "sim/device.h"

extern const char *const wk_sim_models[]; /* by wk_sim_kind; ends with NULL */

/* What was shown last; zeros to begin with. */
typedef struct {
  char what[128];
  int tenth;
  double began, shown; /* seconds */
} wk_sim_progress_line;

/* A wk_sim_progress; context: a wk_sim_progress_line. On a terminal wk_progress_end takes it
 * away. */
void wk_sim_progress_show(void *context, const char *what, int percent);

/* Row of an option table for commands that run models and packages. */
#define WK_MODEL_OPTION(type, member)                                                              \
  {"model", 0, "MODEL", "what runs the accelerator's parts (default functional; rtl: the "        \
   "hardware, cycle by cycle)", .kind = WK_OPTION_CHOICE, .offset = offsetof(type, member),        \
   .choices = wk_sim_models}

/* For packages that are loaded from now on; the line stays until the last of them is closed. */
void wk_sim_choose_model(int model, wk_sim_progress_line *line);
/* WK_USAGE when a model was chosen and r has no part that it runs. */
wk_status wk_sim_check_model(int model, const wk_runner *r) WK_MUST_CHECK;

#endif
