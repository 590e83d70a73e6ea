/* SPDX-License-Identifier: Apache-2.0
 * One stream on one model: memory is filled from the stream's regions, the stream runs, and what
 * happened is kept. */
#ifndef WICK_SIM_RUN_H
#define WICK_SIM_RUN_H

#include "sim/sim.h"
#include "targets/accel/isa/queues.h"
#include "targets/accel/isa/stream.h"

typedef struct {
  wk_sim_result result;
  double seconds;     /* of a processor, that the model took */
  wk_sched_span *spans; /* n, in stream order; the functional model's times are the order only */
  wk_timing_accesses *accesses; /* WK_TIMING_OPERATORS; all 0 unless the timing model ran to END */
  uint32_t n;
  uint8_t *memory; /* dram_size bytes, as the stream left it */
  uint64_t memory_size;
} wk_sim_run;

typedef struct {
  const wk_machine *machine; /* the stream's hardware, with the memory to simulate */
  uint64_t max_cycles;       /* 0: no limit */
  uint32_t timeout;
  wk_sim_reset reset;
  uint64_t seed;
  bool stalls;
  const char *wave; /* NULL: none */
  uint64_t wave_from, wave_to;
} wk_sim_run_options;

/* A run that the machine ended with an error is a result, not a status; wk_sim_verdict makes a
 * status of it. */
wk_status wk_sim_run_stream(const wk_stream *s, const wk_sim_model *model,
                            const wk_sim_run_options *o, wk_sim_run *out) WK_MUST_CHECK;
void wk_sim_run_free(wk_sim_run *r);

/* Whose cycles are whose: adds to out[0 .. layers]. */
wk_status wk_sim_charge(const wk_sim_run *r, uint32_t layers, wk_sched_charge *out) WK_MUST_CHECK;

/* NULL when the run came to its END: otherwise the error register in words, with the command and
 * its line; a bus violation; a limit that was reached; another hash than the machine's; from a
 * model in C also a parameter record whose results are undefined. */
wk_status wk_sim_verdict(const wk_stream *s, const wk_machine *m,
                         const wk_sim_run *r) WK_MUST_CHECK;

#endif
