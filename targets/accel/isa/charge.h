/* SPDX-License-Identifier: Apache-2.0
 * charge: whose cycles are whose, in a run or in a schedule. Every cycle belongs to one layer:
 * that of the oldest command of ex that runs, else of ve, else of the one of them that starts next,
 * for which the machine waits; behind the last one, of the transfer that is under way or starts
 * next. */
#ifndef WICK_ACCEL_CHARGE_H
#define WICK_ACCEL_CHARGE_H

#include "targets/accel/isa/isa.h"

/* A command that has run, or is expected to. Those of a queue start and retire in order. */
typedef struct {
  uint64_t start, retire; /* cycles */
  uint32_t operator;
  uint8_t queue, opcode;
} wk_accel_span;

typedef struct {
  uint64_t cycles;
  uint64_t transfers;  /* of them, those in which one is under way */
  uint64_t overlapped; /* of these, those in which a command of ex or ve runs */
} wk_accel_charge;

/* Adds `cycles` cycles to out[0 .. layers], by operator; 0 is what belongs to none. Linear in n. */
void wk_accel_charge_cycles(const wk_accel_span *spans, size_t n, uint64_t cycles, uint32_t layers,
                            wk_accel_charge *out);

#endif
