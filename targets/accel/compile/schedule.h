/* SPDX-License-Identifier: Apache-2.0
 * schedule: when steps start, where buffers lie, and the commands that follow from it. */
#ifndef WICK_ACCEL_SCHEDULE_H
#define WICK_ACCEL_SCHEDULE_H

#include "targets/accel/compile/plan.h"
#include "targets/accel/compile/prefetch.h"
#include "targets/accel/compile/sums.h"
#include "targets/accel/isa/queues.h"
#include "targets/accel/isa/stream.h"

/* The schedule model: queues, bursts and bandwidth as events, from step to step, without data and
 * without a loop over cycles. */
typedef struct {
  int64_t *start, *retire; /* cycles, of each step */
  int64_t *place;          /* in the scratchpad, of each buffer */
  int64_t cycles;
  size_t failed;           /* the step whose buffers do not fit */
} wk_accel_times;

/* `capacity`: bytes of the scratchpad that may be in use. Times in the arena. SERIAL: those of the
 * steps one after the other, other modes are in what the steps wait for. False: a step's buffers do
 * not fit. */
bool wk_accel_simulate(const wk_accel_net *net, const wk_accel_steps *s, int64_t capacity,
                       wk_accel_prefetch mode, wk_arena *a, wk_accel_times *out);
/* The n steps by their starts, those that stand first first. */
void wk_accel_order(const wk_accel_times *t, size_t n, uint32_t *order);

/* Orders steps by their start, places buffers and tensors, adds waits. Commands with `dram` counted
 * from their segments; segment of each; 1 + what of the steps' results it computes, or 0.
 * WK_RESOURCE: it does not fit. */
typedef struct {
  WK_VEC(wk_isa_command) commands;
  WK_VEC(uint8_t) segments;
  WK_VEC(uint32_t) results;
  WK_VEC(wk_sched_span) spans; /* when the model has them run; END has none */
  int64_t work_bytes, cycles;
} wk_accel_stream;
wk_status wk_accel_schedule(wk_accel_net *net, wk_accel_steps *s, wk_accel_prefetch mode,
                            wk_accel_stream *out) WK_MUST_CHECK;
void wk_accel_stream_free(wk_accel_stream *s);

#endif
