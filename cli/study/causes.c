/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/study/causes.h"

#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

const wk_sched_cause_info wk_cause_infos[WK_CAUSE_COUNT] = {
    {"compute", "the array multiplies", "compute"},
    {"drain", "results leave the accumulators more slowly than they are made", "the drain"},
    {"conflicts", "the array stands still behind its commands: they begin and end, or banks",
     "conflicts"},
    {"vector", "the vector unit works, and the array waits for it or has nothing to do",
     "the vector unit"},
#define WK_X(name, doc, wait) {#name, doc, wait},
    WK_CAUSES_OF_WAITS(WK_X)
#undef WK_X
};

/* A load brings back what a store has put into memory. */
static bool reads_back(const void *context, uint32_t load, uint32_t store) {
  const wk_stream *s = context;
  wk_isa_command l, t;
  return wk_stream_get(s, load, &l) && wk_stream_get(s, store, &t) && l.opcode == WK_CMD_LD &&
         t.opcode == WK_CMD_ST && WK_V(&l, LD, dram) < wk_transfer_end(&t) &&
         WK_V(&t, ST, dram) < wk_transfer_end(&l);
}

/* The run's, with what its commands are; free(). */
static wk_sched_span *spans_of(const wk_sim_shown *x) {
  uint32_t n = x->run->n;
  wk_sched_span *spans = wk_xcalloc(n, sizeof *spans);
  bool *is_weight = wk_weights_of(x);
  int64_t words = 0;
  if (n) memcpy(spans, x->run->spans, n * sizeof *spans);
  for (uint32_t i = 0; i < n; i++) {
    wk_sched_span *s = &spans[i];
    wk_isa_command c;
    s->kind = (uint8_t)wk_isa_kind_of(s->opcode);
    if (is_weight[i]) s->moved = WK_MOVED_WEIGHTS;
    if (!wk_stream_get(x->stream, i, &c)) continue;
    wk_isa_bound b = wk_isa_bound_of(x->machine, &c, &words);
    s->array = (uint64_t)b.array, s->drain = (uint64_t)b.drain;
  }
  free(is_weight);
  return spans;
}

void wk_causes_of(const wk_sim_shown *x, wk_sched_causes *out) {
  wk_sched_span *spans = spans_of(x);
  wk_sched_causes_of(&(wk_sched_run){.queues = &wk_isa_queues, .spans = spans, .n = x->run->n,
                                     .cycles = x->run->result.cycles,
                                     .read_latency = (uint64_t)x->machine->dram_latency,
                                     .write_latency = (uint64_t)x->machine->dram_write_latency,
                                     .reads_back = reads_back, .context = x->stream},
                     out);
  free(spans);
}
