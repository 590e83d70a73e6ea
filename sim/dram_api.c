/* SPDX-License-Identifier: Apache-2.0
 * The memory model as a machine describes it, and as RTL models call it. */
#include "sim/sim.h"

const wk_dram_api wk_sim_dram_api = {
    wk_dram_new,        wk_dram_free,      wk_dram_reset,    wk_dram_can_request,
    wk_dram_read,       wk_dram_write,     wk_dram_write_beat, wk_dram_read_beat,
    wk_dram_pop_read,   wk_dram_response,  wk_dram_pop_response, wk_dram_tick};

wk_dram_params wk_sim_dram(const wk_machine *m) {
  return (wk_dram_params){.bus = (uint32_t)m->bus,
                          .bytes_num = (uint32_t)m->dram_bytes.num,
                          .bytes_den = (uint32_t)m->dram_bytes.den,
                          .latency = (uint32_t)m->dram_latency,
                          .write_latency = (uint32_t)m->dram_write_latency,
                          .outstanding = (uint32_t)m->dram_outstanding,
                          .overhead = (uint32_t)m->dram_overhead,
                          .jitter = (uint32_t)m->dram_jitter,
                          .refresh_interval = (uint32_t)m->dram_refresh_interval,
                          .refresh_cycles = (uint32_t)m->dram_refresh_cycles,
                          .traffic_num = (uint32_t)m->dram_traffic.num,
                          .traffic_den = (uint32_t)m->dram_traffic.den,
                          .seed = (uint64_t)m->dram_seed,
                          .error_beat = m->dram_error,
                          .size = (uint64_t)m->dram_size};
}
