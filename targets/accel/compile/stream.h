/* SPDX-License-Identifier: Apache-2.0
 * stream: the commands of a schedule. */
#ifndef WICK_ACCEL_COMPILE_STREAM_H
#define WICK_ACCEL_COMPILE_STREAM_H

#include "targets/accel/compile/emit.h"
#include "targets/accel/isa/queues.h"
#include "targets/accel/isa/stream.h"

/* Commands with `dram` counted from their segments; segment of each; 1 + what of the steps' results
 * it computes, or 0. */
typedef struct {
  WK_VEC(wk_isa_command) commands;
  WK_VEC(uint8_t) segments;
  WK_VEC(uint32_t) results;
  WK_VEC(wk_sched_span) spans; /* when the model has them run; END has none */
  int64_t work_bytes, cycles;
} wk_accel_stream;

void wk_accel_stream_of(const wk_sched_net *net, const wk_sched_made *made, wk_accel_stream *out);
void wk_accel_stream_free(wk_accel_stream *s);

#endif
