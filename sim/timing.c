/* SPDX-License-Identifier: Apache-2.0
 * The timing model behind sim/model.h. What commands do to memory, and whether a stream comes to
 * its END at all, is the functional model's to say, which runs first. */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

typedef struct {
  wk_sim_options o;
  void *functional;
  uint64_t mark_base; /* of the present run */
} model;

static void *open_model(const wk_sim_options *o) {
  model *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  wk_sim_options quiet = *o;
  quiet.event = NULL;
  x->o = *o;
  x->functional = wk_sim_functional.open(&quiet);
  if (x->functional) return x;
  free(x);
  return NULL;
}

static void close_model(void *state) {
  model *x = state;
  wk_sim_functional.close(x->functional);
  free(x);
}

static void tell(void *context, uint64_t cycle, int queue, uint32_t ordinal, bool retired) {
  const model *x = context;
  if (x->o.event) x->o.event(x->o.context, cycle, queue, ordinal, retired);
}

static void write_mark(void *context, uint32_t row, const uint64_t *counters) {
  const model *x = context;
  uint64_t at = x->mark_base + (uint64_t)row * WK_MARK_BYTES;
  if (at + WK_MARK_BYTES > x->o.dram.size) return;
  memcpy(x->o.memory + at, counters, WK_COUNTER_COUNT * sizeof *counters);
}

/* The commands as they are before the stream runs; those behind END are zeros. NULL: there is no
 * memory. */
static wk_isa_command *commands_of(const model *x, const wk_sim_job *job) {
  wk_isa_command *c = calloc((size_t)job->count + 1, sizeof *c);
  for (uint32_t i = 0; c && i < job->count; i++) {
    uint64_t at = job->base + (uint64_t)i * WK_COMMAND_BYTES;
    if (at + WK_COMMAND_BYTES > x->o.dram.size) break;
    (void)wk_isa_decode(x->o.memory + at, &c[i]);
    if (c[i].opcode == WK_CMD_END) break;
  }
  return c;
}

static void run_model(void *state, const wk_sim_job *job, wk_sim_result *r) {
  model *x = state;
  wk_isa_command *commands = commands_of(x, job);
  wk_timing_result t;
  if (!commands) {
    *r = (wk_sim_result){.no_memory = true};
    return;
  }
  wk_sim_functional.run(x->functional, job, r);
  if (r->status & 2) { /* an error has no timing here */
    const wk_timing_job timing = {.machine = x->o.machine, .dram = x->o.dram,
                                  .commands = commands, .n = job->count, .address = job->base,
                                  .max_cycles = job->max_cycles, .event = tell,
                                  .mark = write_mark, .context = x,
                                  .accesses = x->o.accesses};
    x->mark_base = job->mark_base;
    wk_timing_run(&timing, &t);
    r->cycles = t.counters[WK_COUNTER_cycles];
    r->gave_up = t.gave_up;
    r->no_memory = t.no_memory;
    memcpy(r->counters, t.counters, sizeof r->counters);
    memcpy(r->done, t.done, sizeof r->done);
  }
  free(commands);
}

const wk_sim_model wk_sim_timing = {WK_SIM_ABI, "timing", NULL, open_model, run_model,
                                    close_model, NULL};
