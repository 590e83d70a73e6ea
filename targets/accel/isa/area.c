/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/area.h"

#include <math.h>

enum { TABLE_BYTES = 256 };

static double number(wk_fraction f) { return (double)f.num / (double)f.den; }

static double gates_of(const wk_machine *m) {
  const struct {
    double array, banks, tables, load_channels, fifo, bus, bursts, queues;
  } k = {(double)m->array, (double)m->banks, (double)m->tables, (double)m->load_channels,
         (double)m->fifo, (double)m->bus, (double)m->bursts, wk_machine_queues(m)};
  double gates = 0;
#define GATES(part, coefficient, of) gates += (coefficient) * (of);
#include "targets/accel/area.def"
  return gates;
}

double wk_machine_area(const wk_machine *m, wk_area *of) {
  const wk_area a = {gates_of(m), 8 * (double)m->scratchpad, 8 * (double)m->accumulators};
  if (of) *of = a;
  return 1e-6 * (a.gates * number(m->area_gate) + a.scratchpad * number(m->area_bit) +
                 a.accumulators * number(m->area_bit_ports));
}

int64_t wk_machine_onchip_bytes(const wk_machine *m) {
  return m->scratchpad + m->accumulators + m->tables * TABLE_BYTES;
}
