/* SPDX-License-Identifier: Apache-2.0
 * The footprint of a command: exactly the bytes and entries that it reads and writes, as runs. */
#ifndef WICK_ACCEL_FOOTPRINT_H
#define WICK_ACCEL_FOOTPRINT_H

#include "targets/accel/isa/isa.h"

typedef enum {
  WK_SPACE_SCRATCHPAD,  /* bytes */
  WK_SPACE_ACCUMULATOR, /* entries */
  WK_SPACE_TABLE,       /* tables */
  WK_SPACE_MEMORY,      /* bytes */
  WK_SPACE_COUNT
} wk_space;

typedef enum { WK_ACCESS_READ, WK_ACCESS_WRITE } wk_access;

typedef void wk_run_fn(void *context, wk_space space, wk_access access, const char *field,
                       uint64_t from, uint64_t length);

/* What it is told. */
typedef struct {
  wk_space space;
  wk_access access;
  const char *field;
  uint64_t from, length;
} wk_run;

/* Calls f for every run; `field` names the address that it comes from. All reads come before all
 * writes. Accumulators of CONV, DWC and MM: a READ only when they accumulate, then a WRITE. */
void wk_footprint(const wk_machine *m, const wk_isa_command *c, wk_run_fn *f, void *context);

/* Of CONV, DWC and MM: their sums leave the accumulators. */
bool wk_drains(const wk_isa_command *c);

#endif
