/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "targets/accel/isa/duration.h"

_Static_assert((int)WK_SIM_COUNTERS == WK_COUNTER_COUNT && (int)WK_SIM_QUEUES == WK_QUEUE_COUNT,
               "what sim/model.h says is what regs.def and isa.def have");

typedef struct {
  wk_sim_run *run;
  wk_sched_numbers numbers;
} recorder;

static void record(void *context, uint64_t cycle, int queue, uint32_t ordinal, bool retired) {
  recorder *r = context;
  if (ordinal >= r->numbers.n[queue]) return;
  wk_sched_span *span = &r->run->spans[r->numbers.of[queue][ordinal]];
  *(retired ? &span->retire : &span->start) = cycle;
}

static void recorder_free(recorder *r) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++) free(r->numbers.of[q]);
}

/* False: there is no memory. */
static bool recorder_open(recorder *r, const wk_stream *s, wk_sim_run *run) {
  wk_isa_command c;
  *r = (recorder){.run = run};
  for (int q = 0; q < WK_QUEUE_COUNT; q++) {
    r->numbers.of[q] = calloc((size_t)s->n + 1, sizeof(uint32_t));
    if (!r->numbers.of[q]) return false;
  }
  for (uint32_t i = 0; i < s->n; i++) {
    bool known = wk_stream_get(s, i, &c);
    run->spans[i] = (wk_sched_span){.start = WK_SCHED_NOT_RUN, .retire = WK_SCHED_NOT_RUN,
                                    .released_by = WK_SCHED_NOBODY, .queue = (uint8_t)c.queue,
                                    .opcode = (uint8_t)c.opcode, .operator = c.operator,
                                    .kind = (uint8_t)wk_isa_kind_of(c.opcode)};
    if (known && c.opcode != WK_CMD_END && c.queue < WK_QUEUE_COUNT)
      r->numbers.of[c.queue][r->numbers.n[c.queue]++] = i;
  }
  return true;
}

static void find_release(recorder *r, const wk_stream *s, int queue, uint32_t ordinal) {
  uint32_t i = r->numbers.of[queue][ordinal];
  wk_sched_counts waits = {0};
  wk_isa_command c;
  if (!wk_stream_get(s, i, &c)) return;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (c.wait >> q & 1) waits[q] = c.threshold[q];
  r->run->spans[i].released_by =
      wk_sched_released_by(r->run->spans, &r->numbers, queue, ordinal, waits);
}

/* Of those that have run, which are valid. */
static void find_array(recorder *r, const wk_stream *s, const wk_machine *m) {
  int64_t words = 0;
  for (uint32_t k = 0; k < r->numbers.n[WK_QUEUE_ex]; k++) {
    wk_sched_span *span = &r->run->spans[r->numbers.of[WK_QUEUE_ex][k]];
    wk_isa_command c;
    if (span->retire != WK_SCHED_NOT_RUN && wk_stream_get(s, r->numbers.of[WK_QUEUE_ex][k], &c))
      span->array = (uint64_t)wk_isa_bound_of(m, &c, &words).array;
  }
}

static void find_releases(recorder *r, const wk_stream *s) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    for (uint32_t k = 0; k < r->numbers.n[q]; k++) find_release(r, s, q, k);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static wk_status put(wk_sim_run *r, const char *what, uint64_t address, const void *data,
                     uint64_t n) {
  if (address > r->memory_size || n > r->memory_size - address)
    return wk_error(WK_INPUT, "%s lies at 0x%" PRIx64 " to 0x%" PRIx64 "; memory has 0x%" PRIx64
                    " bytes (dram_size)", what, address, address + n, r->memory_size);
  if (data) memcpy(r->memory + address, data, n);
  return NULL;
}

static wk_status fill_memory(wk_sim_run *r, const wk_stream *s) {
  for (size_t i = 0; i < s->regions.n; i++) {
    const wk_image *region = &s->regions.data[i];
    WK_TRY(put(r, region->name, region->address, region->data, region->size));
  }
  WK_TRY(put(r, "the mark area", s->marks, NULL, wk_stream_mark_bytes(s)));
  return put(r, "the stream", s->address, s->bytes.data, s->bytes.n);
}

static wk_status open_memory(wk_sim_run *r, uint64_t size) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return wk_error(WK_RESOURCE, "no room for a memory of %" PRIu64 " bytes", size);
  r->memory = p;
  r->memory_size = size;
  return NULL;
}

void wk_sim_run_free(wk_sim_run *r) {
  if (r->memory) munmap(r->memory, r->memory_size);
  free(r->spans);
  free(r->accesses);
  *r = (wk_sim_run){0};
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may use the machine */
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* False: there is no memory. */
static bool run_model(const wk_stream *s, const wk_sim_model *model, const wk_sim_run_options *o,
                      recorder *rec, wk_sim_run *r) {
  const wk_sim_options options = {.machine = o->machine, .dram = wk_dram_params_of(o->machine),
                                  .dram_api = &wk_sim_dram_api, .memory = r->memory,
                                  .event = record, .context = rec, .reset = o->reset,
                                  .seed = o->seed, .stalls = o->stalls, .wave = o->wave,
                                  .wave_from = o->wave_from, .wave_to = o->wave_to,
                                  .accesses = r->accesses};
  const wk_sim_job job = {.base = (uint32_t)s->address, .count = s->n,
                          .mark_base = (uint32_t)s->marks, .timeout = o->timeout,
                          .max_cycles = o->max_cycles};
  void *state = model->open(&options);
  if (!state) return false;
  double began = now();
  model->run(state, &job, &r->result);
  r->seconds = now() - began;
  model->close(state);
  find_array(rec, s, o->machine);
  find_releases(rec, s);
  return !r->result.no_memory;
}

static bool record_run(const wk_stream *s, const wk_sim_model *model, const wk_sim_run_options *o,
                       wk_sim_run *r) {
  recorder rec;
  r->spans = calloc((size_t)s->n + 1, sizeof *r->spans);
  r->accesses = calloc(WK_TIMING_OPERATORS, sizeof *r->accesses);
  if (!r->spans || !r->accesses) return false;
  bool ok = recorder_open(&rec, s, r) && run_model(s, model, o, &rec, r);
  recorder_free(&rec);
  return ok;
}

wk_status wk_sim_run_stream(const wk_stream *s, const wk_sim_model *model,
                            const wk_sim_run_options *o, wk_sim_run *out) {
  *out = (wk_sim_run){.n = s->n};
  wk_status status = wk_stream_fits(s, o->machine);
  if (!status) status = open_memory(out, (uint64_t)o->machine->dram_size);
  if (!status) status = fill_memory(out, s);
  if (!status && !record_run(s, model, o, out)) status = wk_error(WK_RESOURCE, "out of memory");
  if (status) wk_sim_run_free(out);
  return status;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

wk_status wk_sim_charge(const wk_sim_run *r, uint32_t layers, wk_sched_charge *out) {
  return wk_sched_charge_cycles(&wk_isa_queues, r->spans, r->n, r->result.cycles, layers, out);
}

/* ---- verdict --------------------------------------------------------------------------------- */

/* The hardware has one code for both ways in which a fetch ends. */
static const char *error_text(int code, bool is_past) {
  if (code == WK_ERROR_fetch)
    return is_past ? "the stream ends without END"
                   : "memory answered the fetch of the command with an error";
  for (size_t i = 0; i < wk_isa_errors_count; i++)
    if (wk_isa_errors[i].number == code) return wk_isa_errors[i].doc;
  return "an unknown error";
}

static wk_status error_register(const wk_stream *s, uint32_t error) {
  uint32_t index = error >> 8;
  wk_isa_command c;
  wk_stream_place at = wk_stream_place_of(s, index);
  if (index >= s->n || !wk_stream_get(s, index, &c))
    return wk_error_at(WK_FAILED, *at.s ? at.s : s->source, "command %" PRIu32 ": %s", index,
                       error_text((int)(error & 0xff), index >= s->n));
  return wk_error_at(WK_FAILED, *at.s ? at.s : s->source, "command %" PRIu32 " (%s): %s",
                     index, wk_isa_command_of((int)c.opcode)->name,
                     error_text((int)(error & 0xff), false));
}

static wk_status undefined(const wk_stream *s, const wk_sim_result *x) {
  wk_isa_command c;
  wk_stream_place at = wk_stream_place_of(s, x->undefined_at);
  (void)wk_stream_get(s, x->undefined_at, &c);
  return wk_error_at(WK_INPUT, *at.s ? at.s : s->source,
                     "command %" PRIu32 " (%s): %s: its results are undefined", x->undefined_at,
                     wk_isa_command_of((int)c.opcode)->name, x->undefined);
}

wk_status wk_sim_verdict(const wk_stream *s, const wk_machine *m, const wk_sim_run *r) {
  const wk_sim_result *x = &r->result;
  if (x->config != wk_machine_hash(m))
    return wk_error(WK_INPUT, "the model is of another machine or other commands: its hash is %016"
                    PRIx64 ", that of machine %s is %016" PRIx64, x->config, m->name,
                    wk_machine_hash(m));
  if (x->violation[0]) return wk_error(WK_FAILED, "bus protocol: %s", x->violation);
  if (x->gave_up)
    return wk_error(WK_FAILED, "no end after the limit of cycles (--max-cycles)");
  if (x->status & 4) return error_register(s, x->error);
  if (x->undefined[0]) return undefined(s, x);
  if (!(x->status & 2)) return wk_error(WK_INTERNAL, "status register %08" PRIx32, x->status);
  return NULL;
}
