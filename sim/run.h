/* SPDX-License-Identifier: Apache-2.0
 * One stream on one model: memory is filled from the stream's regions, the stream runs, and what
 * happened is kept. */
#ifndef WICK_SIM_RUN_H
#define WICK_SIM_RUN_H

#include "sim/sim.h"
#include "targets/accel/isa/charge.h"
#include "targets/accel/isa/stream.h"

#define WK_SIM_NEVER UINT64_MAX
#define WK_SIM_NOBODY UINT32_MAX

/* A command, in stream order. */
typedef struct {
  uint64_t start, retire; /* cycles, WK_SIM_NEVER; the functional model's are the order only */
  uint32_t released_by;   /* command whose retirement let this one start, or WK_SIM_NOBODY */
  uint8_t queue, opcode;
  uint16_t operator;
  uint64_t array; /* as in wk_accel_span */
} wk_sim_span;

typedef struct {
  wk_sim_result result;
  double seconds;     /* of a processor, that the model took */
  wk_sim_span *spans; /* n */
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

/* The *n commands that have run; *number, unless NULL: which each of them is. free() both. */
wk_status wk_sim_spans_of(const wk_sim_run *r, wk_accel_span **spans, uint32_t **number,
                          size_t *n) WK_MUST_CHECK;
/* Whose cycles are whose: adds to out[0 .. layers]. */
wk_status wk_sim_charge(const wk_sim_run *r, uint32_t layers, wk_accel_charge *out) WK_MUST_CHECK;

/* NULL when the run came to its END: otherwise the error register in words, with the command and
 * its line; a bus violation; a limit that was reached; another hash than the machine's; from a
 * model in C also a parameter record whose results are undefined. */
wk_status wk_sim_verdict(const wk_stream *s, const wk_machine *m,
                         const wk_sim_run *r) WK_MUST_CHECK;

#endif
