/* SPDX-License-Identifier: Apache-2.0
 * Programs that a build of a model runs. */
#ifndef WICK_SIM_TOOL_H
#define WICK_SIM_TOOL_H

#include "compiler/support/support.h"

/* Runs argv (ends with NULL; found in PATH), what it prints is appended to the file `log`. Calls
 * tick(context) ten times a second while it runs. When it fails, the error names it and has the
 * last lines of the log as items. */
wk_status wk_sim_tool_run(const char *const *argv, const char *log, void (*tick)(const void *),
                          const void *context);

/* Runs argv and does not care how it ends. */
void wk_sim_tool_run_quietly(const char *const *argv);

#endif
