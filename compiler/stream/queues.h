/* SPDX-License-Identifier: Apache-2.0
 * queues: what a machine starts its commands from. Commands of a queue start, and retire, in their
 * order; those of different queues run side by side, but for what they wait for. */
#ifndef WICK_STREAM_QUEUES_H
#define WICK_STREAM_QUEUES_H

#include "compiler/support/support.h"

enum { WK_SCHED_QUEUES = 8 }; /* the most */
#define WK_SCHED_NOBODY UINT32_MAX /* the number of no command */

/* Sets of queues are bits, 1 << queue. A queue computes, stores or loads, and does nothing else:
 * those that are in neither of the first two sets load. */
typedef struct {
  int n;
  const char *const *names;
  unsigned computes; /* the engines; of two that compute at once the first one sets the pace */
  unsigned stores;   /* from the scratchpad to memory */
  unsigned serial;   /* a command starts when the one before has retired */
} wk_sched_queues;

/* Of each queue how many of its first commands. */
typedef uint32_t wk_sched_counts[WK_SCHED_QUEUES];

static inline bool wk_sched_in(unsigned set, int queue) { return set >> queue & 1; }

#endif
