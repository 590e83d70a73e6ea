/* SPDX-License-Identifier: Apache-2.0
 * list: a list schedule. A queue that keeps its order starts its next command as soon as the one
 * before has left it free and what it needs has retired; commands of other queues may pass those
 * that wait. All that do not compute start when memory is free, one after the
 * other: of several that may, the one that comes first in the list. */
#ifndef WICK_STREAM_LIST_H
#define WICK_STREAM_LIST_H

#include "compiler/stream/queues.h"

typedef struct {
  uint64_t busy;  /* cycles for which its queue is busy, or memory */
  uint64_t delay; /* from then until others have what it made: it retires */
} wk_sched_time;

typedef struct {
  uint32_t n;
  const uint8_t *queue;
  const bool *moves; /* memory is busy with it; of queues that do not compute */
  const bool *is_gone; /* it need not be, and nobody needs it; NULL: none is */
  const wk_sched_time *time;
  const uint32_t *first, *needs; /* command i starts when those have retired: needs[first[i] ..
                                    first[i + 1] - 1], all before i */
  unsigned computes, ordered;    /* queues that compute, that keep their order: these and more */
  unsigned serial;               /* that are busy until a command has retired */
} wk_sched_list;

/* Writes those that are not gone to order[0 ..] as they start; returns how many. *cycles, unless it
 * is NULL: until the last of them has retired. */
uint32_t wk_sched_list_order(const wk_sched_list *x, uint32_t *order, uint64_t *cycles);

#endif
