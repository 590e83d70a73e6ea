/* SPDX-License-Identifier: Apache-2.0
 * How long a command takes alone, in cycles from its start to its retirement, when no port waits:
 * docs/isa.md, "Durations". LD and ST also depend on the memory, whose RUN keys are those of the
 * machine, without jitter, refresh and traffic. Takes a step for every burst of LD and ST, and none
 * for beats, accesses, words and tiles. */
#ifndef WICK_ACCEL_DURATION_H
#define WICK_ACCEL_DURATION_H

#include "targets/accel/isa/isa.h"

/* The command must be one that wk_isa_validate accepts. */
uint64_t wk_isa_duration(const wk_machine *m, const wk_isa_command *c);

#endif
