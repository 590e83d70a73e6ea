/* SPDX-License-Identifier: Apache-2.0
 * queues: the accelerator's queues and commands as compiler/stream sees them. */
#ifndef WICK_ACCEL_QUEUES_H
#define WICK_ACCEL_QUEUES_H

#include "compiler/stream/charge.h"

/* Of the largest machine. */
extern const wk_sched_queues wk_isa_queues;
wk_sched_kind wk_isa_kind_of(uint32_t opcode);

#endif
