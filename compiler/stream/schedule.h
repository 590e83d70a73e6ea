/* SPDX-License-Identifier: Apache-2.0
 * schedule: when steps start, in which order they stand in the stream, where buffers and tensors
 * lie, and what each step waits for. */
#ifndef WICK_STREAM_SCHEDULE_H
#define WICK_STREAM_SCHEDULE_H

#include "compiler/stream/machine.h"

/* The schedule model: queues, units and memory as events, from step to step, without data and
 * without a loop over cycles. */
typedef struct {
  int64_t *start, *retire; /* cycles, of each step */
  int64_t *place;          /* in the scratchpad, of each buffer */
  int64_t cycles;
  size_t failed;           /* the step whose buffers do not fit */
} wk_sched_times;

/* `capacity`: bytes of the scratchpad that may be in use. Times in the arena. SERIAL: those of the
 * steps one after the other, other modes are in what the steps wait for. False: a step's buffers do
 * not fit. */
bool wk_sched_simulate(const wk_sched_net *net, const wk_sched_steps *s, int64_t capacity,
                       wk_sched_prefetch mode, wk_arena *a, wk_sched_times *out);
/* The n steps by their starts, those that stand first first. */
void wk_sched_order(const wk_sched_times *t, size_t n, uint32_t *order);

typedef struct {
  wk_sched_times times;
  uint32_t *order;        /* steps as they stand in the stream */
  wk_sched_counts *waits; /* of each step: commands of each queue that it waits for; 0: none. What
                             follows from other waits is left out. */
  wk_sched_counts *uses;  /* of each step: what it waited for before buffers and tensors had places:
                             what it uses, and what options hold it back for */
  int64_t work_bytes;     /* that tensors of home WORK take */
} wk_sched_schedule;

/* Schedules steps that wk_sched_depend has seen. Buffers of the steps and tensors of home WORK get
 * their places; what is returned is in the arena. WK_RESOURCE: it does not fit. */
wk_status wk_sched_schedule_steps(const wk_sched_net *net, wk_sched_steps *s,
                                  wk_sched_prefetch mode, wk_arena *a,
                                  wk_sched_schedule *out) WK_MUST_CHECK;

#endif
