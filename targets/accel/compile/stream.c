/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/compile/stream.h"

#include <stdlib.h>

#include "compiler/stream/spans.h"
#include "targets/accel/isa/duration.h"

void wk_accel_stream_free(wk_accel_stream *s) {
  wk_vec_free(&s->commands);
  wk_vec_free(&s->segments);
  wk_vec_free(&s->results);
  wk_vec_free(&s->spans);
}

static void put_addresses(const wk_sched_net *net, const wk_sched_steps *steps,
                          const wk_sched_step *s, wk_isa_command *c) {
  for (int k = 0; k < s->n_access; k++) {
    const wk_sched_access *a = &s->access[k];
    if (a->field >= 0) c->v[a->field] = steps->buffers.data[a->buffer].at + a->at;
  }
  if (s->tensor >= 0) c->v[WK_LD_dram] += net->tensors[s->tensor].at;
}

static void put_waits(const wk_sched_counts waits, wk_isa_command *c) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (waits[q]) wk_isa_wait(c, q, waits[q]);
}

/* Of transfers none: they compute nothing. */
static uint32_t result_of(const wk_sched_step *s, const wk_isa_command *c) {
  return s->result < 0 || c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST
             ? 0 : (uint32_t)s->result + 1;
}

static void add_command(wk_accel_stream *out, const wk_isa_command *c, int segment,
                        uint32_t result) {
  wk_vec_push(&out->commands, *c);
  wk_vec_push(&out->segments, (uint8_t)segment);
  wk_vec_push(&out->results, result);
}

static void emit(const wk_sched_net *net, const wk_sched_steps *steps,
                 const wk_sched_schedule *at, wk_sched_span *spans, wk_accel_stream *out) {
  const wk_accel_net *own = wk_accel_net_of(net);
  int64_t words = 0;
  for (size_t i = 0; i < steps->list.n; i++) {
    uint32_t number = at->order[i];
    const wk_sched_step *s = &steps->list.data[number];
    wk_isa_command c = *wk_accel_step_command(steps, number);
    put_addresses(net, steps, s, &c);
    put_waits(at->waits[number], &c);
    int segment = s->tensor < 0 ? WK_SEGMENT_NONE : own->tensors.data[s->tensor].segment;
    add_command(out, &c, segment, result_of(s, &c));
    wk_isa_bound bound = wk_isa_bound_of(own->machine, &c, &words);
    wk_sched_span *span = &spans[i];
    span->opcode = (uint8_t)c.opcode;
    span->kind = (uint8_t)wk_isa_kind_of(c.opcode);
    span->array = (uint64_t)bound.array, span->drain = (uint64_t)bound.drain;
    wk_vec_push(&out->spans, *span);
  }
  wk_isa_command end = wk_isa_command_default(own->machine, WK_CMD_END);
  add_command(out, &end, WK_SEGMENT_NONE, 0);
}

void wk_accel_stream_of(const wk_sched_net *net, const wk_sched_made *made, wk_accel_stream *out) {
  *out = (wk_accel_stream){.work_bytes = made->schedule.work_bytes,
                           .cycles = made->schedule.times.cycles};
  wk_arena *a = wk_arena_new();
  emit(net, &made->steps, &made->schedule,
       wk_sched_spans_of(net, &made->steps, &made->schedule, a), out);
  wk_arena_free(a);
}
