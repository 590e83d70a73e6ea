/* SPDX-License-Identifier: Apache-2.0
 * prefetch: how far transfers may run beside what computes (--prefetch). Plans are searched for
 * what the mode allows: tiles, groups, strips and residency are free in every one. */
#ifndef WICK_STREAM_PREFETCH_H
#define WICK_STREAM_PREFETCH_H

#include "compiler/stream/steps.h"

typedef enum {
  WK_PREFETCH_OFF,    /* a transfer waits for all steps before, and all behind wait for it */
  WK_PREFETCH_SERIAL, /* the commands of auto in its order, each waits for all before */
  WK_PREFETCH_DOUBLE, /* the same as off of layers: transfers run beside their own layer alone */
  WK_PREFETCH_AUTO,   /* as early as there is room */
  WK_PREFETCH_COUNT
} wk_sched_prefetch;
extern const char *const wk_sched_prefetch_names[WK_PREFETCH_COUNT];

/* Adds what steps wait for in modes OFF and DOUBLE, in their needs. A run is a step (OFF), or steps
 * of one layer that stand one behind the other (DOUBLE). A transfer waits for all steps of the runs
 * before, and every step for the transfers of the runs before; what computes waits for nothing else
 * that computes, but for what it needs. */
void wk_sched_hold_transfers(wk_sched_steps *s, const wk_sched_queues *q, wk_sched_prefetch mode);

#endif
