/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/room.h"

#include <stdlib.h>
#include <string.h>

typedef wk_sched_room room;
typedef wk_sched_release release;

void wk_sched_room_init(room *r, int64_t capacity, size_t buffers) {
  *r = (room){.capacity = capacity};
  r->heap = wk_xcalloc(buffers, sizeof *r->heap);
  r->live = wk_xcalloc(buffers, sizeof *r->live);
}

void wk_sched_room_free(room *r) {
  free(r->heap);
  free(r->live);
}

void wk_sched_room_end(room *r, int buffer, int64_t time) {
  size_t i = r->n++;
  for (; i && r->heap[(i - 1) / 2].time > time; i = (i - 1) / 2)
    r->heap[i] = r->heap[(i - 1) / 2];
  r->heap[i] = (release){time, buffer};
}

static release pop(room *r) {
  release top = r->heap[0], x = r->heap[--r->n];
  size_t i = 0;
  for (size_t k; (k = 2 * i + 1) < r->n; i = k) {
    if (k + 1 < r->n && r->heap[k + 1].time < r->heap[k].time) k++;
    if (x.time <= r->heap[k].time) break;
    r->heap[i] = r->heap[k];
  }
  r->heap[i] = x;
  return top;
}

void wk_sched_room_leave(room *r) {
  release x = pop(r);
  size_t i = 0;
  while (r->live[i].buffer != x.buffer) i++;
  memmove(&r->live[i], &r->live[i + 1], (--r->n_live - i) * sizeof *r->live);
}

/* The gap before live buffer i, or behind the last one. */
static int64_t gap(const room *r, size_t i, int64_t *at) {
  *at = i ? r->live[i - 1].end : 0;
  return (i < r->n_live ? r->live[i].at : r->capacity) - *at;
}

bool wk_sched_room_enter(room *r, int buffer, int64_t bytes, bool is_long, int64_t *place) {
  size_t none = r->n_live + 1, where = none;
  for (size_t i = 0; i < none && (is_long || where == none); i++) {
    int64_t at, size = gap(r, i, &at);
    if (size < bytes) continue;
    where = i;
    *place = is_long ? at + size - bytes : at;
  }
  if (where == none) return false;
  memmove(&r->live[where + 1], &r->live[where], (r->n_live++ - where) * sizeof *r->live);
  r->live[where] = (wk_sched_interval){*place, *place + bytes, buffer};
  return true;
}
