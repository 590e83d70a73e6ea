/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/area.h"

#include <math.h>

enum { TABLE_BYTES = 256 };

static double number(wk_fraction f) { return (double)f.num / (double)f.den; }

/* The names are those of machine.def, and what area.def says that they stand for. */
static double gates_of(const wk_machine *m) {
  const double array = (double)m->array, banks = (double)m->banks, tables = (double)m->tables,
               load_channels = (double)m->load_channels, fifo = (double)m->fifo,
               bus = (double)m->bus, burst = (double)m->burst, bursts = (double)m->bursts,
               address = log2((double)m->scratchpad),
               entries = log2((double)wk_machine_entries(m)), queues = wk_machine_queues(m);
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
