/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/stream/spans.h"

#include <stdlib.h>
#include <string.h>

static const wk_sched_step *step_of(const wk_sched_steps *s, const wk_sched_schedule *at,
                                    uint32_t i) {
  return &s->list.data[at->order[i]];
}

/* Of a transfer, for its bytes. */
static uint64_t memory_cycles(const wk_sched_net *net, const wk_sched_step *x) {
  const wk_sched_machine *m = net->machine;
  if (wk_sched_in(m->queues.computes, x->queue)) return 0;
  return (uint64_t)wk_ceil_div(x->bytes * m->bytes_den, m->bytes_num);
}

static bool is_const(const wk_sched_net *net, int tensor) {
  return tensor >= 0 && net->tensors[tensor].home == WK_SCHED_CONST;
}

wk_sched_span *wk_sched_spans_of(const wk_sched_net *net, const wk_sched_steps *s,
                                 const wk_sched_schedule *at, wk_arena *a) {
  uint32_t n = (uint32_t)s->list.n;
  wk_sched_span *spans = wk_arena_alloc(a, n * sizeof *spans);
  wk_sched_counts *waits = wk_xcalloc(n, sizeof *waits);
  for (uint32_t i = 0; i < n; i++) {
    const wk_sched_step *x = step_of(s, at, i);
    spans[i] = (wk_sched_span){.start = (uint64_t)at->times.start[at->order[i]],
                               .retire = (uint64_t)at->times.retire[at->order[i]],
                               .operator = x->layer, .queue = (uint8_t)x->queue,
                               .array = memory_cycles(net, x),
                               .moved = is_const(net, x->tensor) ? WK_MOVED_WEIGHTS
                                                                 : WK_MOVED_NOTHING};
    memcpy(waits[i], at->waits[at->order[i]], sizeof waits[i]);
  }
  wk_sched_find_releases(spans, n, waits);
  free(waits);
  return spans;
}

typedef struct {
  const wk_sched_steps *steps;
  const wk_sched_schedule *at;
} read_back;

static bool reads_back(const void *context, uint32_t load, uint32_t store) {
  const read_back *x = context;
  int tensor = step_of(x->steps, x->at, load)->tensor;
  return tensor >= 0 && tensor == step_of(x->steps, x->at, store)->tensor;
}

wk_sched_run wk_sched_run_of(const wk_sched_net *net, const wk_sched_steps *s,
                             const wk_sched_schedule *at, const wk_sched_span *spans,
                             wk_arena *a) {
  read_back *context = wk_arena_alloc(a, sizeof *context);
  *context = (read_back){s, at};
  return (wk_sched_run){.queues = &net->machine->queues, .spans = spans,
                        .n = (uint32_t)s->list.n, .cycles = (uint64_t)at->times.cycles,
                        .read_latency = (uint64_t)net->machine->latency,
                        .write_latency = (uint64_t)net->machine->write_latency,
                        .reads_back = reads_back, .context = context};
}

void wk_sched_needs_of(const wk_sched_run *r, const wk_sched_steps *s, const wk_sched_schedule *at,
                       wk_sched_needs *out) {
  wk_sched_numbers x;
  wk_sched_numbers_of(r->spans, r->n, &x);
  for (uint32_t i = 0; i < r->n; i++) {
    const wk_sched_step *step = step_of(s, at, i);
    wk_sched_counts places;
    memcpy(places, step->needs, sizeof places);
    for (int q = 0; q < WK_SCHED_QUEUES; q++)
      if (places[q] == at->uses[at->order[i]][q]) places[q] = 0;
    wk_sched_needs_add(out, &x, i, at->uses[at->order[i]], WK_SCHED_NEEDS_DATA);
    wk_sched_needs_add(out, &x, i, places, WK_SCHED_NEEDS_PLACE);
  }
  wk_sched_numbers_free(&x);
}
