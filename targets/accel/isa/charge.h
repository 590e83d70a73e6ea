/* SPDX-License-Identifier: Apache-2.0
 * charge: whose cycles are whose, in a run or in a schedule. Every cycle belongs to one layer:
 * that of the command of ex that runs, else of ve, else of the one of them that starts next, for
 * which the machine waits; behind the last one, of the transfer that is under way or starts next.
 * Commands of ex overlap: one drains while the array works for the next. The older one has the
 * cycles of both, as far as each of those behind it keeps as many as the array needs for it. */
#ifndef WICK_ACCEL_CHARGE_H
#define WICK_ACCEL_CHARGE_H

#include "targets/accel/isa/isa.h"

/* A command that has run, or is expected to. Those of a queue start and retire in order. */
typedef struct {
  uint64_t start, retire; /* cycles */
  uint32_t operator;
  uint8_t queue, opcode;
  uint64_t array; /* of ex: cycles that the array needs for it (duration.h, wk_isa_bound) */
} wk_accel_span;

typedef struct {
  uint64_t cycles;
  uint64_t transfers;  /* of them, those in which one is under way */
  uint64_t overlapped; /* of these, those in which a command of ex or ve runs */
} wk_accel_charge;

/* Adds `cycles` cycles to out[0 .. layers], by operator; 0 is what belongs to none. Linear in n. */
wk_status wk_accel_charge_cycles(const wk_accel_span *spans, size_t n, uint64_t cycles,
                                 uint32_t layers, wk_accel_charge *out) WK_MUST_CHECK;

/* Cycles [from, to) are those of span `owner`, which may start at `to` or later; WK_ACCEL_NOBODY:
 * there is none any more. Transfers and compute: something of the kind is under way. */
#define WK_ACCEL_NOBODY UINT32_MAX
typedef void wk_accel_charge_visit(void *context, uint64_t from, uint64_t to, uint32_t owner,
                                   bool transfers, bool computes);
/* All cycles in the order of time, by the rule above. Spans that never started are to be left
 * out. */
wk_status wk_accel_charge_walk(const wk_accel_span *spans, size_t n, uint64_t cycles,
                               wk_accel_charge_visit *visit, void *context) WK_MUST_CHECK;

#endif
