/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/steps.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/stream/machine.h"

void wk_sched_steps_free(wk_sched_steps *s) {
  wk_vec_free(&s->commands);
  wk_vec_free(&s->list);
  wk_vec_free(&s->buffers);
  wk_vec_free(&s->results);
  wk_vec_free(&s->alone);
  wk_vec_free(&s->same);
  wk_vec_free(&s->first);
  wk_vec_free(&s->rounds);
  for (size_t i = 0; i < s->room.n; i++) free(s->room.data[i].data);
  wk_vec_free(&s->room);
}

void wk_sched_steps_clear(wk_sched_steps *s, const wk_sched_net *net) {
  wk_sched_steps kept = {.command_bytes = net->machine->command_bytes};
  kept.commands.data = s->commands.data, kept.commands.cap = s->commands.cap;
  kept.list.data = s->list.data, kept.list.cap = s->list.cap;
  kept.buffers.data = s->buffers.data, kept.buffers.cap = s->buffers.cap;
  kept.results.data = s->results.data, kept.results.cap = s->results.cap;
  kept.alone.data = s->alone.data, kept.alone.cap = s->alone.cap;
  kept.same.data = s->same.data, kept.same.cap = s->same.cap;
  kept.first.data = s->first.data, kept.first.cap = s->first.cap;
  kept.rounds.data = s->rounds.data, kept.rounds.cap = s->rounds.cap;
  kept.room.data = s->room.data, kept.room.n = s->room.n, kept.room.cap = s->room.cap;
  *s = kept;
}

void wk_sched_steps_compute(wk_sched_steps *s, int tensor, const wk_sched_place *place) {
  const size_t last = s->results.n;
  s->result = -1;
  if (tensor < 0) return;
  for (size_t i = last; i-- > 0 && last - i <= 2 && s->result < 0;) { /* by turns with another */
    const wk_sched_computed *r = &s->results.data[i];
    if (r->tensor == tensor && r->place.buffer == place->buffer) s->result = (int)i;
  }
  if (s->result >= 0) return;
  wk_sched_computed r = {tensor, *place};
  wk_vec_push(&s->results, r);
  s->result = (int)s->results.n - 1;
}

int wk_sched_buffer_add(wk_sched_steps *s, int64_t bytes, int64_t cell) {
  wk_sched_buffer b = {.bytes = bytes, .cell = cell < 1 ? bytes : cell, .first = -1, .last = -1};
  if (b.cell < 1) b.cell = 1; /* of a buffer of no bytes */
  wk_vec_push(&s->buffers, b);
  return (int)s->buffers.n - 1;
}

wk_sched_step *wk_sched_step_add(wk_sched_steps *s, int queue, uint32_t layer,
                                 const void *command) {
  wk_vec_reserve(&s->commands, s->commands.n + s->command_bytes);
  memcpy(&s->commands.data[s->commands.n], command, s->command_bytes);
  s->commands.n += s->command_bytes;
  wk_vec_reserve(&s->list, s->list.n + 1);
  wk_sched_step *x = &s->list.data[s->list.n++];
  *x = (wk_sched_step){.queue = queue, .layer = layer, .tensor = -1, .slot = -1,
                       .group = s->group, .result = s->result, .ordinal = s->issued[queue]++};
  return x;
}

void wk_sched_touch(wk_sched_step *s, const wk_sched_access *a) {
  wk_assert(s->n_access < WK_SCHED_ACCESSES && a->buffer >= 0);
  s->access[s->n_access++] = *a;
}

void wk_sched_touch_rows(wk_sched_step *s, const wk_sched_place *p, int field, bool writes,
                         const int64_t planes[2], const int64_t rows[2]) {
  int64_t plane = p->rows * p->pitch;
  int64_t from = (planes[0] - p->plane) * plane + (rows[0] - p->row) * p->pitch;
  wk_sched_touch(s, &(wk_sched_access){.buffer = p->buffer, .field = field, .writes = writes,
                                       .at = p->offset, .from = p->offset + from,
                                       .run = (rows[1] - rows[0]) * p->pitch,
                                       .n0 = planes[1] - planes[0], .s0 = plane, .n1 = 1});
}

void wk_sched_wait_for(wk_sched_step *s, const wk_sched_counts c) {
  for (int q = 0; q < WK_SCHED_QUEUES; q++)
    if (s->needs[q] < c[q]) s->needs[q] = c[q];
}
