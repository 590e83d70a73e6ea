/* SPDX-License-Identifier: Apache-2.0
 * unit_least: cycles that layers take at least, whatever the stream, from the rows of "least" and
 * "cuts" (unit.h). */
#ifndef WICK_ACCEL_UNIT_LEAST_H
#define WICK_ACCEL_UNIT_LEAST_H

#include "targets/accel/isa/machine.h"
#include "targets/accel/isa/unit.h"

typedef struct {
  uint64_t cycles;
  const char *binds; /* "array", "vector", "drain" or "memory"; "": no cycles */
} wk_accel_need;

/* That memory takes for so many bytes. */
uint64_t wk_accel_memory_cycles(const wk_machine *m, uint64_t bytes);
/* The most of these. */
wk_accel_need wk_accel_most_of(uint64_t ex, uint64_t drain, uint64_t ve, uint64_t memory);

/* Of one layer, or of sums. Memory has one bandwidth for both ways, the bus a beat each way. */
wk_accel_need wk_accel_need_of(const wk_machine *m, const wk_accel_least *x);

/* Of all layers of a part: the most over all ways to cut it. Between two cuts lies the work of the
 * layers that are behind the first and before the second; and of the weights that they use there
 * what the machine and its bus cannot have held before. binds: what most of it is of. cuts: NULL:
 * none are known. */
wk_accel_need wk_accel_need_of_part(const wk_machine *m, const wk_accel_least *layers,
                                    const wk_accel_cuts *cuts, uint32_t n);

#endif
