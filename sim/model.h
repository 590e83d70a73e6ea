/* SPDX-License-Identifier: Apache-2.0
 * A model of the accelerator together with its memory. Three stand behind this one interface: the
 * functional and the timing model, in C, and the RTL, a shared library that Verilator built from
 * sim/rtl or from any tree whose top module `wick_accel` has the same ports and registers. */
#ifndef WICK_SIM_MODEL_H
#define WICK_SIM_MODEL_H

#include "targets/accel/model/dram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of regs.def and isa.def, which sim/run.c holds them against: the library that Verilator
 * built does not include the tables. */
enum { WK_SIM_ABI = 6, WK_SIM_COUNTERS = 83, WK_SIM_QUEUES = 6 };

/* What registers and on-chip memories hold before reset; only the RTL has such a state. */
typedef enum { WK_SIM_RESET_ZEROS, WK_SIM_RESET_ONES, WK_SIM_RESET_RANDOM } wk_sim_reset;

/* The memory, for models that are no part of this program. */
typedef struct {
  wk_dram *(*create)(const wk_dram_params *p, uint8_t *memory);
  void (*destroy)(wk_dram *d);
  void (*reset)(wk_dram *d);
  bool (*can_request)(const wk_dram *d);
  void (*read)(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats);
  void (*write)(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats);
  bool (*write_beat)(wk_dram *d, const uint8_t *data, uint64_t strobe);
  bool (*read_beat)(wk_dram *d, wk_dram_beat *beat);
  void (*pop_read)(wk_dram *d);
  bool (*response)(wk_dram *d, uint8_t *id, uint8_t *resp);
  void (*pop_response)(wk_dram *d);
  void (*tick)(wk_dram *d);
} wk_dram_api;

/* A command started or retired; `ordinal` counts the commands of its queue from 0. Of one cycle,
 * retirements come first. */
typedef void wk_sim_event(void *context, uint64_t cycle, int queue, uint32_t ordinal,
                          bool retired);

/* The RTL reads or writes bytes of the scratchpad: address + i for every bit i of `lanes`. Ports
 * are those of wick_spm. */
typedef void wk_sim_access(void *context, int port, bool writes, uint32_t address,
                           uint64_t lanes);

typedef struct {
  const void *machine; /* wk_machine (targets/accel/isa/machine.h), borrowed; the RTL has its own */
  wk_dram_params dram;
  const wk_dram_api *dram_api;
  uint8_t *memory; /* dram.size bytes, borrowed */
  wk_sim_event *event; /* NULL ok */
  wk_sim_access *access; /* NULL ok; called by RTL models that were built with a probe */
  void *context;         /* of both */
  wk_sim_reset reset;
  uint64_t seed;       /* of a random state and of stalls */
  bool stalls;         /* the bus is not ready at random times */
  const char *wave;    /* file for the waveform of cycles wave_from .. wave_to; NULL: none */
  uint64_t wave_from, wave_to;
  void *accesses; /* of the timing model: wk_timing_accesses (accel/model/model.h); NULL ok */
} wk_sim_options;

typedef struct {
  uint32_t base, count, mark_base; /* registers */
  uint32_t timeout;                /* register; cycles */
  uint64_t max_cycles;             /* give up after; 0: never */
} wk_sim_job;

typedef struct {
  uint64_t config;       /* hash register */
  uint64_t cycles;       /* from start to done; 0 for a model without time */
  uint32_t status;       /* registers of regs.def */
  uint32_t error;
  bool gave_up;
  bool no_memory; /* the model had not enough: nothing else says anything */
  uint64_t counters[WK_SIM_COUNTERS]; /* regs.def; all 0 for a model without time */
  uint32_t done[WK_SIM_QUEUES];       /* commands retired */
  char violation[160]; /* what the bus monitor saw first, with its cycle; "": nothing */
  /* Of models in C: what made results undefined first, and which command; "": nothing. */
  char undefined[160];
  uint32_t undefined_at;
} wk_sim_result;

typedef struct {
  uint32_t abi; /* WK_SIM_ABI */
  const char *name;
  const char *build; /* of the RTL: "tuned" (sim/sim.h), else "plain"; NULL: a model in C */
  void *(*open)(const wk_sim_options *options); /* NULL: there is no memory */
  /* Runs a stream from start to done; may be called again. On-chip memories keep their contents. */
  void (*run)(void *state, const wk_sim_job *job, wk_sim_result *result);
  void (*close)(void *state);
  /* Writes what all runs so far counted: what they covered of the RTL, for verilator_coverage, or
   * the profile of a model that is being tuned, for llvm-profdata. NULL: nothing is counted. */
  void (*write_counts)(const char *path);
} wk_sim_model;

extern const wk_sim_model wk_sim_functional, wk_sim_timing;
/* A shared library exports its model as this symbol. */
#define WK_SIM_RTL_SYMBOL "wick_rtl_model"

#ifdef __cplusplus
}
#endif
#endif
