/* SPDX-License-Identifier: Apache-2.0
 * The functional model behind sim/model.h: commands in stream order, no time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

typedef struct {
  wk_sim_options options;
  wk_functional f;
} model;

static void *open_model(const wk_sim_options *o) {
  model *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->options = *o;
  if (wk_functional_init(&m->f, o->machine, o->memory, o->dram.size)) return m;
  free(m);
  return NULL;
}

static void close_model(void *state) {
  model *m = state;
  wk_functional_free(&m->f);
  free(m);
}

enum { DONE = 2, FAILED = 4 }; /* STATUS */

static void fail(wk_sim_result *r, int error, uint32_t index) {
  r->status = FAILED;
  r->error = (uint32_t)error | index << 8;
}

static int error_of(int opcode) {
  switch (opcode) {
    case WK_CMD_LD: return WK_ERROR_read;
    case WK_CMD_ST: return WK_ERROR_write;
    default: return WK_ERROR_field;
  }
}

static bool read_bytes(void *context, uint64_t from, int bytes, uint8_t *out) {
  const wk_functional *f = context;
  memcpy(out, f->scratchpad + from, (size_t)bytes);
  return true;
}

/* The machine does not look at what a record holds. */
static void look_at_record(wk_functional *f, const wk_isa_command *c, uint32_t index,
                           wk_sim_result *r) {
  wk_isa_fault fault;
  if (r->undefined[0] || !wk_isa_find_record_fault(f->machine, c, read_bytes, f, &fault) ||
      fault.error != WK_ERROR_none)
    return;
  r->undefined_at = index;
  snprintf(r->undefined, sizeof r->undefined, "%s", fault.text);
}

bool wk_sim_step(wk_functional *f, const wk_isa_command *c, uint32_t index, wk_sim_result *r) {
  if (c->opcode == WK_CMD_END) {
    r->status = DONE;
    return false;
  }
  look_at_record(f, c, index, r);
  if (!wk_functional_execute(f, c)) {
    fail(r, error_of((int)c->opcode), index);
    return false;
  }
  r->done[c->queue]++;
  return true;
}

static void tell(const model *m, uint64_t time, int queue, uint32_t ordinal) {
  if (!m->options.event) return;
  m->options.event(m->options.context, time, queue, ordinal, false);
  m->options.event(m->options.context, time, queue, ordinal, true);
}

/* False: the stream has ended, r says how. */
static bool step(model *m, const wk_sim_job *job, uint32_t index, wk_sim_result *r) {
  uint64_t at = job->base + (uint64_t)index * WK_COMMAND_BYTES;
  wk_isa_command c;
  wk_isa_fault fault;
  if (index == job->count || at + WK_COMMAND_BYTES > m->f.memory_size) {
    fail(r, WK_ERROR_fetch, index);
    return false;
  }
  wk_isa_decode(m->f.memory + at, &c);
  /* what the machine does not look at (chunks or runs that overlap) is done in order */
  if (wk_isa_find_fault(m->f.machine, &c, r->done, &fault) && fault.error != WK_ERROR_none) {
    fail(r, fault.error, index);
    return false;
  }
  if (!wk_sim_step(&m->f, &c, index, r)) return false;
  tell(m, index, (int)c.queue, r->done[c.queue] - 1);
  return true;
}

static void run_model(void *state, const wk_sim_job *job, wk_sim_result *r) {
  model *m = state;
  *r = (wk_sim_result){.config = wk_machine_hash(m->options.machine)};
  for (uint32_t index = 0; step(m, job, index, r);) index++;
}

const wk_sim_model wk_sim_functional = {WK_SIM_ABI, "functional", NULL, open_model,
                                        run_model, close_model, NULL};
