/* SPDX-License-Identifier: Apache-2.0
 * Streams one after another on an open RTL model, whose memory can be made to fail and says where.
 */
#ifndef WICK_TEST_SIM_STREAMS_H
#define WICK_TEST_SIM_STREAMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random_stream.h"

typedef struct {
  wk_machine machine;
  const wk_sim_model *rtl;
} sim_subject;

static inline sim_subject sim_subject_of(const char *name) {
  sim_subject x = {.rtl = NULL};
  wk_status s = wk_machine_read(name, &x.machine);
  if (!s) s = wk_sim_model_of(WK_SIM_RTL, &(wk_sim_build_options){.machine = &x.machine}, &x.rtl);
  if (s) {
    wk_status_print(stderr, s);
    exit(1);
  }
  x.machine.dram_size = RANDOM_STREAM_MEMORY;
  return x;
}

/* ---- whom the memory refused ----------------------------------------------------------------- */

/* The first answer with an error: its id, and where its burst (of a read, its beat) lies. */
typedef struct {
  bool seen, is_write;
  uint8_t id;
  uint32_t address;
} sim_blame;

enum { SIM_IDS = 16, SIM_BURSTS = 4096 };
typedef struct {
  uint32_t address[SIM_BURSTS]; /* a ring */
  uint32_t head, tail, beat;
} sim_bursts;

static struct {
  sim_bursts of[2][SIM_IDS]; /* reads, writes */
  sim_blame blame;
  uint32_t bus;
} sim_watch;

static inline void sim_ask(bool is_write, uint8_t id, uint32_t address) {
  sim_bursts *b = &sim_watch.of[is_write][id];
  b->address[b->tail++ % SIM_BURSTS] = address;
}

static inline void sim_read(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats) {
  sim_ask(false, id, address);
  wk_dram_read(d, id, address, beats);
}

static inline void sim_write(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats) {
  sim_ask(true, id, address);
  wk_dram_write(d, id, address, beats);
}

static inline void sim_answer(bool is_write, uint8_t id, uint8_t resp, bool last) {
  sim_bursts *b = &sim_watch.of[is_write][id];
  uint32_t address = b->address[b->head % SIM_BURSTS] + b->beat * sim_watch.bus;
  if (resp && !sim_watch.blame.seen) sim_watch.blame = (sim_blame){true, is_write, id, address};
  b->beat++;
  if (last) b->head++, b->beat = 0;
}

static inline void sim_pop_read(wk_dram *d) {
  wk_dram_beat beat;
  if (wk_dram_read_beat(d, &beat)) sim_answer(false, beat.id, beat.resp, beat.last);
  wk_dram_pop_read(d);
}

static inline void sim_pop_response(wk_dram *d) {
  uint8_t id, resp;
  if (wk_dram_response(d, &id, &resp)) sim_answer(true, id, resp, true);
  wk_dram_pop_response(d);
}

static inline sim_blame sim_blamed(void) { return sim_watch.blame; }

static inline bool sim_is_hit(const wk_isa_command *c, uint32_t address) {
  const int64_t *v = c->v;
  for (int64_t i3 = 0; i3 < v[WK_LD_n3]; i3++)
    for (int64_t i2 = 0; i2 < v[WK_LD_n2]; i2++)
      for (int64_t i1 = 0; i1 < v[WK_LD_n1]; i1++) {
        int64_t from = v[WK_LD_dram] + i3 * v[WK_LD_s3] + i2 * v[WK_LD_s2] + i1 * v[WK_LD_s1];
        if (from < (int64_t)(address + sim_watch.bus) && address < from + v[WK_LD_n0]) return true;
      }
  return false;
}

/* Does the error register name the kind of error, and a command that it may have come from? */
static inline bool sim_blame_is_right(const wk_stream *s, const sim_blame *b, uint32_t error) {
  uint32_t index = error >> 8, code = error & 0xff;
  wk_isa_command c;
  if (!b->seen || index >= s->n) return false;
  if (!b->is_write && b->id == 0)
    return code == WK_ERROR_fetch &&
           index == (b->address - (uint32_t)s->address) / WK_COMMAND_BYTES;
  wk_stream_get(s, index, &c);
  if (!b->is_write)
    return code == WK_ERROR_read && c.opcode == WK_CMD_LD &&
           c.queue == (uint32_t)(WK_QUEUE_ld0 + b->id - 1) && sim_is_hit(&c, b->address);
  if (b->id == 1)
    return code == WK_ERROR_write && c.opcode == WK_CMD_MARK &&
           (b->address - (uint32_t)s->marks) / WK_MARK_BYTES == (uint32_t)c.v[WK_MARK_row];
  return code == WK_ERROR_write && c.opcode == WK_CMD_ST && sim_is_hit(&c, b->address);
}

/* ---- sessions -------------------------------------------------------------------------------- */

typedef struct {
  const wk_sim_model *rtl;
  void *state;
  uint8_t *memory;
} sim_session;

static inline sim_session *sim_open(const sim_subject *subject, int64_t error_beat) {
  static const wk_dram_api api = {wk_dram_new,         wk_dram_free,      wk_dram_reset,
                                  wk_dram_can_request, sim_read,          sim_write,
                                  wk_dram_write_beat,  wk_dram_read_beat, sim_pop_read,
                                  wk_dram_response,    sim_pop_response,  wk_dram_tick};
  sim_session *x = wk_xcalloc(1, sizeof *x);
  memset(&sim_watch, 0, sizeof sim_watch);
  sim_watch.bus = (uint32_t)subject->machine.bus;
  x->rtl = subject->rtl;
  x->memory = wk_xcalloc(1, RANDOM_STREAM_MEMORY);
  wk_sim_options o = {.machine = &subject->machine,
                      .dram = wk_dram_params_of(&subject->machine),
                      .dram_api = &api,
                      .memory = x->memory};
  o.dram.error_beat = error_beat;
  x->state = x->rtl->open(&o);
  return x;
}

static inline void sim_close(sim_session *x) {
  x->rtl->close(x->state);
  free(x->memory);
  free(x);
}

static inline wk_sim_result sim_run(sim_session *x, const wk_stream *s) {
  const wk_sim_job job = {.base = (uint32_t)s->address,
                          .count = s->n,
                          .mark_base = (uint32_t)s->marks,
                          .timeout = 100000,
                          .max_cycles = 1000000};
  wk_sim_result r;
  uint8_t *memory = random_stream_memory(s);
  memcpy(x->memory, memory, RANDOM_STREAM_MEMORY);
  free(memory);
  x->rtl->run(x->state, &job, &r);
  return r;
}

/* Memory as the functional model leaves it. */
static inline uint8_t *sim_expected(const wk_stream *s) {
  uint8_t *memory = random_stream_memory(s);
  uint32_t *order = wk_xcalloc(s->n, sizeof *order);
  for (uint32_t i = 0; i < s->n; i++) order[i] = i;
  random_stream_execute(s, order, memory);
  free(order);
  return memory;
}

#endif
