/* SPDX-License-Identifier: Apache-2.0
 * sums: the schedule model's array: when CONV, DWC and MM begin, and retire (isa.md, Durations;
 * sim/rtl/wick_exec.sv); MARK, too. */
#ifndef WICK_ACCEL_SUMS_H
#define WICK_ACCEL_SUMS_H

#include "targets/accel/compile/commands.h"
#include "targets/accel/compile/ports.h"

typedef struct {
  const wk_machine *m;
  int64_t free;         /* when the next command may start */
  int64_t words, lines; /* end of the last word; last line of weights */
  int64_t drains[2];    /* when the drain has begun with the last commands but one, and last */
  int64_t drain;        /* end of the last drain */
  wk_accel_ports ports; /* what others wait for */
  double held;          /* of the vector unit's command: wk_accel_ports_held, */
  int64_t held_until;   /* and when it ends */
} wk_accel_array;

/* Step i, which starts not before `free`: when it retires. */
int64_t wk_accel_array_run(wk_accel_array *x, const wk_sched_steps *s, size_t i, int64_t start);

#endif
