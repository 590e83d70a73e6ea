/* SPDX-License-Identifier: Apache-2.0
 * Private to driver/: what `wick sim` shows of a run. */
#ifndef WICK_DRIVER_SIM_H
#define WICK_DRIVER_SIM_H

#include "sim/run.h"

/* Figures from the counters; docs/machine.md has their definitions. */
typedef struct {
  uint64_t cycles, exposed;
  uint64_t dma_active, overlapped; /* cycles with a transfer active; of them with compute busy */
  uint64_t bytes_in, bytes_out;    /* moved by load and store channels */
  double utilisation;              /* multiplications / (N * N * cycles) */
} wk_sim_figures;
wk_sim_figures wk_sim_figures_of(const wk_machine *m, const uint64_t *counters);

typedef struct {
  const wk_stream *stream;
  const wk_machine *machine;
  const wk_sim_run *run;
  const char *model;
} wk_sim_shown;

void wk_sim_print(FILE *f, const wk_sim_shown *x);           /* summary and queues */
void wk_sim_print_layers(FILE *f, const wk_sim_shown *x);    /* rows between MARKs */
void wk_sim_print_costs(FILE *f, const wk_sim_shown *x);     /* commands, one a line */
void wk_sim_print_outputs(FILE *f, const wk_sim_shown *x);   /* regions marked as results */
wk_status wk_sim_write_json(const wk_sim_shown *x, const char *path) WK_MUST_CHECK;
/* For Perfetto or chrome://tracing: one track a queue, waits as arrows. */
wk_status wk_sim_write_trace(const wk_sim_shown *x, const char *path) WK_MUST_CHECK;

#endif
