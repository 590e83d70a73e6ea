/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/queues.h"

#include "targets/accel/isa/isa.h"

_Static_assert((int)WK_QUEUE_COUNT <= (int)WK_SCHED_QUEUES, "compiler/stream knows so many");

static const char *const names[] = {
#define QUEUE(name, number, doc) [number] = #name,
#include "targets/accel/isa.def"
};

const wk_sched_queues wk_isa_queues = {.n = WK_QUEUE_COUNT, .names = names,
                                       .computes = 1u << WK_QUEUE_ex | 1u << WK_QUEUE_ve,
                                       .stores = 1u << WK_QUEUE_st, .serial = 1u << WK_QUEUE_ve};

wk_sched_kind wk_isa_kind_of(uint32_t opcode) {
  return opcode == WK_CMD_MARK   ? WK_SCHED_MARKS
         : opcode == WK_CMD_FILL ? WK_SCHED_FILLS
                                 : WK_SCHED_WORKS;
}
