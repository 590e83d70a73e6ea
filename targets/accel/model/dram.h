/* SPDX-License-Identifier: Apache-2.0
 * The memory behind the accelerator's bus: a deterministic timing model of one memory channel.
 *
 * Requests of all ids wait in it; one pipe of `bytes_num / bytes_den` bytes a cycle serves them, a
 * burst at a time, reads and writes alike. A read burst accepted in cycle t is ready in cycle
 * t + latency (+ jitter), a write burst in the cycle of its last data beat. The pipe takes the
 * burst that was ready first, of those that are the oldest of their id; it loses `overhead` cycles
 * and then moves a beat every bus * bytes_den / bytes_num cycles. With s the time at which it
 * starts (a fraction: the end of the burst before, or the ready time if that is later), beat j of
 * a read burst, j from 0, is on the bus from cycle
 *   ceil(s + overhead + (j + 1) * bus / rate)
 * at the earliest; the bus takes one a cycle. The response to a write burst of b beats comes in
 *   ceil(s + overhead + b * bus / rate) + write_latency.
 * Data is read from, and written to, memory when the pipe takes the burst. docs/machine.md has all
 * of it, with refresh, traffic and errors, for whoever writes a memory of his own. */
#ifndef WICK_ACCEL_MODEL_DRAM_H
#define WICK_ACCEL_MODEL_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t bus;                         /* bytes of a beat */
  uint32_t bytes_num, bytes_den;        /* bytes a cycle */
  uint32_t latency, write_latency;      /* cycles, >= 1 */
  uint32_t outstanding;                 /* bursts inside at once, >= 1 */
  uint32_t overhead;                    /* cycles a burst */
  uint32_t jitter;                      /* cycles at most, uniform */
  uint32_t refresh_interval, refresh_cycles;
  uint32_t traffic_num, traffic_den; /* bytes a cycle of others; wk_machine_check: time is left */
  uint64_t seed;
  int64_t error_beat; /* this read beat or write response, counted together, is an error; -1 none */
  uint64_t size;      /* bytes of `memory`; what lies behind is answered with DECERR */
} wk_dram_params;

enum { WK_DRAM_OKAY = 0, WK_DRAM_SLVERR = 2, WK_DRAM_DECERR = 3 }; /* AXI responses */

typedef struct {
  uint8_t id, resp;
  bool last;
  const uint8_t *data; /* bus bytes, valid until popped; nothing where there is no memory */
} wk_dram_beat;

typedef struct wk_dram wk_dram;
/* memory: borrowed; NULL: bursts are timed, and there is no data. */
wk_dram *wk_dram_new(const wk_dram_params *p, uint8_t *memory);
void wk_dram_free(wk_dram *d);
/* Forgets all requests; time and the random numbers start again. */
void wk_dram_reset(wk_dram *d);

/* Within a cycle: offer and pop at most one each, then tick. */
bool wk_dram_can_request(const wk_dram *d);
/* `beats` full beats from `address`, a multiple of bus. */
void wk_dram_read(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats);
void wk_dram_write(wk_dram *d, uint8_t id, uint32_t address, uint32_t beats);
/* Data of the write bursts (NULL without memory) in the order of their requests. False: nobody
 * asked for a write. */
bool wk_dram_write_beat(wk_dram *d, const uint8_t *data, uint64_t strobe);
/* What the bus shows in this cycle; false: nothing. */
bool wk_dram_read_beat(wk_dram *d, wk_dram_beat *beat);
void wk_dram_pop_read(wk_dram *d);
bool wk_dram_response(wk_dram *d, uint8_t *id, uint8_t *resp);
void wk_dram_pop_response(wk_dram *d);
void wk_dram_tick(wk_dram *d);

/* The next cycle, the present one included, in which the memory may show something new; UINT64_MAX
 * when it is idle. Whoever has nothing to do until then may jump there, or to a cycle before: as if
 * the cycles between had been ticked. Takes no step for them, but for the coins of traffic. */
uint64_t wk_dram_next_event(const wk_dram *d);
void wk_dram_skip_to(wk_dram *d, uint64_t cycle);
uint64_t wk_dram_cycle(const wk_dram *d);

#ifdef __cplusplus
}
#endif
#endif
