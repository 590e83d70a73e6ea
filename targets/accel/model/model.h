/* SPDX-License-Identifier: Apache-2.0
 * model: the accelerator in C, for whoever runs streams and whoever makes them.
 *
 *   wk_dram        the memory behind the bus (dram.h): when it answers, and what
 *   wk_functional  what commands do to memory, without time
 *   wk_timing      when they do it, without data
 *
 * Everything is a function of what it is given: no files, no globals, nothing of the host. */
#ifndef WICK_ACCEL_MODEL_H
#define WICK_ACCEL_MODEL_H

#include "targets/accel/isa/isa.h"
#include "targets/accel/model/dram.h"

/* The memory of a machine. */
wk_dram_params wk_dram_params_of(const wk_machine *m);

/* ---- functional ------------------------------------------------------------------------------ */

/* Commands but LD have written bytes [at, at + n) of the scratchpad. */
typedef void wk_functional_written(void *context, uint64_t at, uint64_t n);

/* isa.md as C. Commands may be executed in any order that their waits allow; the result is the
 * same. */
typedef struct {
  const wk_machine *machine;
  int n; /* array */
  uint8_t *memory;
  uint64_t memory_size;
  uint8_t *scratchpad;
  int32_t *accumulators; /* entries * n */
  uint8_t *tables;       /* tables * 256 */
  wk_functional_written *written; /* NULL at first: nobody wants to know */
  void *context;                  /* of it */
} wk_functional;

/* All on-chip memories are 0. Machine and memory are borrowed. False: there is no memory. */
bool wk_functional_init(wk_functional *f, const wk_machine *machine, uint8_t *memory,
                        uint64_t memory_size);
void wk_functional_free(wk_functional *f);
/* Executes one command, in which wk_isa_find_fault finds no error of the machine's. False: an
 * address in memory lies outside of it; of ROW: a function that is not there, or softmax of a sum
 * or a record that has no result. */
bool wk_functional_execute(wk_functional *f, const wk_isa_command *c);

/* ---- timing ---------------------------------------------------------------------------------- */

/* A command started or retired; `ordinal` counts the commands of its queue from 0. Of one cycle,
 * retirements come first. */
typedef void wk_timing_event(void *context, uint64_t cycle, int queue, uint32_t ordinal,
                             bool retired);
/* A MARK wrote its row: the counters as they were when it did. */
typedef void wk_timing_mark(void *context, uint32_t row, const uint64_t *counters);

/* Accesses of the commands of an operator, read and written: words of the scratchpad, entries of
 * the accumulators. */
typedef struct {
  uint64_t words, sums;
} wk_timing_accesses;
enum { WK_TIMING_OPERATORS = 1 << 16 };

/* What cycles depend on. That is all of it: the machine has no early exit, no cache and no
 * duration that looks at a byte of memory, of the scratchpad or of a record (how many entries of a
 * record a command reads follows from its fields). */
typedef struct {
  const wk_machine *machine; /* borrowed */
  wk_dram_params dram;       /* `size` and `error_beat` are not looked at: nothing fails here */
  const wk_isa_command *commands; /* of a stream that runs to its END, borrowed */
  uint32_t n;       /* commands that are fetched; those behind END are not looked at */
  uint32_t address; /* of the first, a multiple of WK_COMMAND_BYTES: bursts end at its multiples */
  uint64_t max_cycles;    /* give up after; 0: never */
  bool free_banks;        /* of no machine: every access to the scratchpad has its own bank */
  wk_timing_event *event; /* NULL ok */
  wk_timing_mark *mark;   /* NULL ok */
  void *context;          /* of both */
  wk_timing_accesses *accesses; /* WK_TIMING_OPERATORS, to which they are added; NULL ok */
} wk_timing_job;

typedef struct {
  uint64_t counters[WK_COUNTER_COUNT]; /* those of the RTL; [WK_COUNTER_cycles]: how long it took */
  uint32_t done[WK_QUEUE_COUNT];       /* commands retired */
  bool gave_up;
  bool no_memory; /* the model had not enough: nothing else says anything */
} wk_timing_result;

/* Beside dram.h: traffic of others, or the data of a burst, was lost because there was no memory
 * for it; such bursts are answered with an error. */
bool wk_dram_has_failed(const wk_dram *d);

void wk_timing_run(const wk_timing_job *job, wk_timing_result *r);

#endif
