/* SPDX-License-Identifier: Apache-2.0
 * Runs as JSON values. */
#ifndef WICK_CLI_STUDY_SIM_JSON_H
#define WICK_CLI_STUDY_SIM_JSON_H

#include <jansson.h>

#include "cli/study/sim.h"
#include "cli/trace.h"

/* What --json has of a run. */
json_t *wk_sim_figures_json(const wk_sim_shown *x);

typedef struct {
  wk_trace to;
  uint64_t from; /* when the run starts: behind those before */
} wk_sim_trace;
void wk_sim_trace_add(const wk_sim_trace *t, const wk_sim_shown *x);

#endif
