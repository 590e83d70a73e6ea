/* SPDX-License-Identifier: Apache-2.0
 * ports: how long accesses to the scratchpad wait for banks that others have (wick_spm.sv: the
 * array's input and its drain go first, then the vector unit, at last transfers). They go through
 * their words at different paces, so that every distance between their banks is as frequent as any
 * other: an access finds the bank of a port that accesses one in every cycle taken once in `banks`
 * times, and then waits until that port goes on to the next bank: (d + 1) / 2 cycles of the d that
 * it stays at one. An access that is not aligned needs two banks. One that waited is right behind
 * that port, so where it goes on to the next words it waits for the other d - 1 cycles again. */
#ifndef WICK_ACCEL_PORTS_H
#define WICK_ACCEL_PORTS_H

#include "targets/accel/isa/isa.h"

/* A command of ex from its first word to its last; waits: cycles that an access to one bank waits
 * then, on average; behind: that each of those waits which follow in the same run of words, for
 * every access before. */
typedef struct {
  int64_t from, to;
  double waits, behind;
} wk_accel_stretch;

/* Of a command of ve: the share of its cycles, alone, in which it has an access, and how many of
 * these go through words one after the other. */
typedef struct {
  double share, run;
} wk_accel_accesses;

enum { WK_ACCEL_STRETCHES = 32 };

/* Stretches that may matter yet, in their order; the oldest is forgotten for one too many. */
typedef struct {
  wk_accel_stretch at[WK_ACCEL_STRETCHES];
  uint32_t head, n;
} wk_accel_ports;

void wk_accel_ports_add(wk_accel_ports *p, const wk_accel_stretch *s);
/* Cycles that a command with such accesses loses in [from, to). What ends before `to` is
 * forgotten. */
double wk_accel_ports_lost(wk_accel_ports *p, int64_t from, int64_t to,
                           const wk_accel_accesses *a);

/* Cycles that an access to one bank waits for the array in this cycle, on average. */
double wk_accel_ports_now(const wk_accel_ports *p, int64_t now);

/* What the array's part of a command makes others wait. */
wk_accel_stretch wk_accel_ports_stretch(const wk_machine *m, const wk_isa_command *c, int64_t from,
                                        int64_t to);
/* Cycles that a line of weights waits for a command of ve, if it needs the bank where that is, on
 * average: more than one where the words of a row all lie in a bank. */
double wk_accel_ports_held(const wk_machine *m, const wk_isa_command *c, int64_t cycles);
/* Of a command of ve that takes so many cycles alone. */
wk_accel_accesses wk_accel_ports_accesses(const wk_machine *m, const wk_isa_command *c,
                                          int64_t cycles);

#endif
