/* SPDX-License-Identifier: Apache-2.0
 * The banks of the scratchpad (wick_spm.sv). */
#include "targets/accel/model/timing.h"

enum { OLD = 15 };

static uint32_t banks_of(const wk_timing *t, const wk_port *p) {
  uint32_t n = (uint32_t)t->n, banks = (uint32_t)t->banks, first = p->address / n % banks;
  uint32_t mask = 1u << first;
  if (p->address % n + p->bytes > n) mask |= 1u << (first + 1) % banks;
  return mask;
}

static void count(wk_timing *t, const wk_port *p) {
  uint64_t words = 1 + (p->address % (uint32_t)t->n + p->bytes > (uint32_t)t->n);
  t->r->counters[p->writes ? WK_COUNTER_spm_writes : WK_COUNTER_spm_reads] += words;
  if (t->job->accesses) t->job->accesses[p->operator].words += words;
}

void wk_timing_grant(wk_timing *t) {
  uint32_t taken = 0;
  int ports = WK_PORT_LD + t->loads, oldest = -1;
  for (int p = 0; p < ports && oldest < 0; p++)
    if (t->ports[p].wants && t->ports[p].age >= OLD) oldest = p;
  if (oldest >= 0) taken = banks_of(t, &t->ports[oldest]);
  for (int p = 0; p < ports; p++) {
    wk_port *x = &t->ports[p];
    x->granted = false;
    if (!x->wants) {
      x->age = 0;
      continue;
    }
    uint32_t need = banks_of(t, x);
    x->granted = p == oldest || !(need & taken) || t->job->free_banks;
    t->moved = true;
    if (!x->granted) {
      if (x->age < OLD) x->age++;
      continue;
    }
    taken |= need;
    x->age = 0;
    count(t, x);
  }
}
