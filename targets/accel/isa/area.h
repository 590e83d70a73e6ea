/* SPDX-License-Identifier: Apache-2.0
 * Area of a machine, estimated without synthesis: gates by a model that scripts/fit_area fitted to
 * what Yosys makes of the RTL (docs/area.md), memories by their bits. */
#ifndef WICK_ACCEL_AREA_H
#define WICK_ACCEL_AREA_H

#include "targets/accel/isa/machine.h"

typedef struct {
  double gates;        /* equivalents of a NAND of two inputs, of everything but the memories */
  double scratchpad;   /* bits, one port */
  double accumulators; /* bits, a port to read and one to write */
} wk_area;

/* mm², with the areas that the machine's keys area_gate, area_bit and area_bit_ports give to each;
 * of what: NULL ok. */
double wk_machine_area(const wk_machine *m, wk_area *of);
/* Scratchpad, accumulators and tables. */
int64_t wk_machine_onchip_bytes(const wk_machine *m);

#endif
