/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "compiler/stream/schedule.h"

/* ---- what steps need ------------------------------------------------------------------------- */

/* Of each buffer the first and the last step of a queue that use it, -1: none; buffers in the order
 * in which they are first used. */
typedef struct {
  int *from, *to;
  uint32_t *order;
  size_t n;
} users;

static users users_of(const wk_sched_steps *s, int queue) {
  size_t n = s->buffers.n;
  users u = {.from = wk_xcalloc(n, sizeof *u.from), .to = wk_xcalloc(n, sizeof *u.to),
             .order = wk_xcalloc(n, sizeof *u.order)};
  bool *is_seen = wk_xcalloc(n, sizeof *is_seen);
  for (size_t b = 0; b < n; b++) u.from[b] = u.to[b] = -1;
  for (size_t i = 0; i < s->list.n; i++)
    for (int k = 0; k < s->list.data[i].n_access; k++) {
      int b = s->list.data[i].access[k].buffer;
      if (!is_seen[b]) u.order[u.n++] = (uint32_t)b;
      is_seen[b] = true;
      if (s->list.data[i].queue != queue) continue;
      if (u.from[b] < 0) u.from[b] = (int)i;
      u.to[b] = (int)i;
    }
  free(is_seen);
  return u;
}

/* Buffers get their room in order. When one does, no step of the queue that uses it has started,
 * nor any behind it, so buffers before it that these use are there. */
static int64_t needed_by(const wk_sched_machine *m, const wk_sched_steps *s, int queue) {
  users u = users_of(s, queue);
  int64_t *left = wk_xcalloc(s->list.n, sizeof *left), present = 0, most = 0;
  int next = 0; /* steps before it may be over */
  for (size_t i = 0; i < u.n; i++) {
    uint32_t b = u.order[i];
    if (u.from[b] < 0 || u.to[b] < next) continue;
    int64_t bytes = wk_ceil_div(s->buffers.data[b].bytes, m->align) * m->align;
    for (; next < u.from[b]; next++) present -= left[next];
    present += bytes;
    left[u.to[b]] += bytes;
    if (present > most) most = present;
  }
  free(left);
  free(u.from);
  free(u.to);
  free(u.order);
  return most;
}

int64_t wk_sched_least_room(const wk_sched_machine *m, const wk_sched_steps *s) {
  int64_t most = 0;
  for (int q = 0; q < m->queues.n; q++) {
    int64_t need = wk_sched_in(m->queues.computes, q) ? needed_by(m, s, q) : 0;
    if (need > most) most = need;
  }
  return most;
}

/* ---- what does not fit ----------------------------------------------------------------------- */

int64_t wk_sched_least_scratchpad(const wk_sched_machine *m, wk_sched_fits *fits, void *ctx) {
  int64_t larger = m->scratchpad;
  do {
    larger *= 2;
    if (larger > m->most_scratchpad) return 0;
  } while (!fits(ctx, larger));
  return larger;
}

const char *wk_sched_room_reason(const wk_sched_machine *m, wk_arena *a, int64_t need,
                                 const char *what, int64_t fits) {
  const char *has = wk_arena_printf(a, "it needs %lld bytes of scratchpad for %s; machine '%s' has "
                                       "%lld", (long long)need, what, m->name,
                                    (long long)m->scratchpad);
  return fits ? wk_arena_printf(a, "%s, scratchpad=%lld fits", has, (long long)fits)
              : wk_arena_printf(a, "%s, and none is large enough", has);
}
