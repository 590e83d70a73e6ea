/* SPDX-License-Identifier: Apache-2.0
 * Energy, estimated: what was accessed, times what the machine's keys say of an access. */
#include "cli/study/sim.h"

static double number(wk_fraction f) { return (double)f.num / (double)f.den; }

double wk_sim_energy_of(const wk_machine *m, const uint64_t *c,
                        wk_sim_energy out[WK_SIM_ENERGIES]) {
  double lanes = (double)m->array, total = 0;
  const wk_sim_energy rows[WK_SIM_ENERGIES] = {
      {"multiplications", (double)c[WK_COUNTER_macs], number(m->energy_mac), 0},
      {"scratchpad", lanes * (double)(c[WK_COUNTER_spm_reads] + c[WK_COUNTER_spm_writes]),
       number(m->energy_scratchpad), 0},
      {"accumulators", lanes * (double)(c[WK_COUNTER_acc_reads] + c[WK_COUNTER_acc_writes]),
       number(m->energy_accumulators), 0},
      {"memory", (double)(c[WK_COUNTER_bytes_ld0] + c[WK_COUNTER_bytes_ld1] +
                          c[WK_COUNTER_bytes_ld2] + c[WK_COUNTER_bytes_st] +
                          c[WK_COUNTER_bytes_fetch]), number(m->energy_dram), 0},
      {"cycles", (double)c[WK_COUNTER_cycles], number(m->energy_idle), 0}};
  for (int i = 0; i < WK_SIM_ENERGIES; i++) {
    out[i] = rows[i];
    out[i].pj = out[i].count * out[i].each;
    total += out[i].pj;
  }
  return total;
}

double wk_sim_layer_energy(const wk_machine *m, const wk_sim_layer *l) {
  double lanes = (double)m->array;
  return (double)l->macs * number(m->energy_mac) +
         lanes * (double)l->words * number(m->energy_scratchpad) +
         lanes * (double)l->sums * number(m->energy_accumulators) +
         (double)(l->read + l->written) * number(m->energy_dram) +
         (double)l->cycles * number(m->energy_idle);
}
