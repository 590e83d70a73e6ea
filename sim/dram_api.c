/* SPDX-License-Identifier: Apache-2.0
 * The memory model as RTL models call it. */
#include "sim/sim.h"

const wk_dram_api wk_sim_dram_api = {
    wk_dram_new,        wk_dram_free,      wk_dram_reset,    wk_dram_can_request,
    wk_dram_read,       wk_dram_write,     wk_dram_write_beat, wk_dram_read_beat,
    wk_dram_pop_read,   wk_dram_response,  wk_dram_pop_response, wk_dram_tick};
