/* SPDX-License-Identifier: Apache-2.0
 * room: the schedule model's scratchpad, as time goes by. Live buffers lie in the order of their
 * addresses. A buffer gets a place when it gets its room: those that live long in the highest gap
 * that is large enough, the others in the lowest one. */
#ifndef WICK_STREAM_ROOM_H
#define WICK_STREAM_ROOM_H

#include "compiler/support/support.h"

typedef struct {
  int64_t time;
  int buffer;
} wk_sched_release;

typedef struct {
  int64_t at, end;
  int buffer;
} wk_sched_interval;

typedef struct {
  wk_sched_release *heap; /* of live buffers whose end is known, the earliest first */
  wk_sched_interval *live;
  size_t n, n_live;
  int64_t capacity;
} wk_sched_room;

/* For at most so many buffers. */
void wk_sched_room_init(wk_sched_room *r, int64_t capacity, size_t buffers);
void wk_sched_room_free(wk_sched_room *r);
/* False: there is no gap. */
bool wk_sched_room_enter(wk_sched_room *r, int buffer, int64_t bytes, bool is_long,
                         int64_t *place);
/* A live buffer will leave then. */
void wk_sched_room_end(wk_sched_room *r, int buffer, int64_t time);
/* Takes away the buffer that leaves first; there is one: n > 0. */
void wk_sched_room_leave(wk_sched_room *r);

#endif
