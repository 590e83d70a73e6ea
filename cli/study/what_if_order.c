/* SPDX-License-Identifier: Apache-2.0
 * A list schedule (compiler/stream/list.h): the vector unit, the array and stores keep their order,
 * loads do not. */
#include <stdlib.h>
#include <string.h>

#include "cli/study/what_if.h"
#include "compiler/stream/list.h"
#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"

enum { TAIL = 64 }; /* cycles until what an engine has made is there for others */

static bool moves(const wk_isa_command *c) {
  return c->opcode == WK_CMD_LD || c->opcode == WK_CMD_ST;
}

static bool is_ordered(const wk_isa_command *c) { return c->queue < WK_QUEUE_ld0; }

/* words: of the last tile of ex */
static uint64_t busy_cycles(const wk_machine *m, int assumed, const wk_isa_command *c,
                            int64_t *words) {
  if (moves(c)) {
    uint64_t n = wk_transfer_bytes(c);
    if (assumed & WK_IF_FAST) return wk_ceil_div(n, (uint64_t)m->bus);
    return n * (uint64_t)m->dram_bytes.den / (uint64_t)m->dram_bytes.num + 1;
  }
  if (c->queue != WK_QUEUE_ex || c->opcode == WK_CMD_MARK) return wk_isa_duration(m, c) + 1;
  wk_isa_bound b = wk_isa_bound_of(m, c, words);
  return (uint64_t)(b.array > b.drain ? b.array : b.drain) + 1;
}

static uint64_t delay(const wk_machine *m, int assumed, const wk_isa_command *c) {
  if (!moves(c) || assumed & WK_IF_AT_ONCE) return TAIL;
  return TAIL + (uint64_t)(c->opcode == WK_CMD_LD ? m->dram_latency : m->dram_write_latency);
}

/* Loads take turns with the channels. */
static void hand_out(const wk_if_commands *x, const uint32_t *order, uint32_t n,
                     wk_isa_command *out) {
  uint32_t *ordinal = wk_xcalloc(x->n, sizeof *ordinal), count[WK_QUEUE_COUNT] = {0};
  int *queue = wk_xcalloc(x->n, sizeof *queue), turn = 0;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t i = order[k];
    out[k] = x->c[i];
    if (!is_ordered(&x->c[i])) {
      out[k].queue = (uint32_t)(WK_QUEUE_ld0 + turn);
      turn = (turn + 1) % (int)x->machine->load_channels;
    }
    queue[i] = (int)out[k].queue;
    ordinal[i] = ++count[queue[i]];
    out[k].wait = 0;
    memset(out[k].threshold, 0, sizeof out[k].threshold);
    for (uint32_t j = x->first[i]; j < x->first[i + 1]; j++)
      wk_isa_wait(&out[k], queue[x->needs[j]], ordinal[x->needs[j]]);
  }
  free(ordinal);
  free(queue);
}

uint32_t wk_if_order(const wk_if_commands *x, int assumed, wk_isa_command *out) {
  uint8_t *queue = wk_xcalloc(x->n, sizeof *queue);
  bool *moving = wk_xcalloc(x->n, sizeof *moving);
  wk_sched_time *time = wk_xcalloc(x->n, sizeof *time);
  uint32_t *order = wk_xcalloc(x->n, sizeof *order);
  int64_t words = 0;
  for (uint32_t i = 0; i < x->n; i++) {
    const wk_isa_command *c = &x->c[i];
    queue[i] = (uint8_t)c->queue;
    moving[i] = moves(c);
    if (x->is_gone[i]) continue;
    time[i] = (wk_sched_time){busy_cycles(x->machine, assumed, c, &words),
                              delay(x->machine, assumed, c)};
  }
  const wk_sched_list list = {.n = x->n, .queue = queue, .moves = moving, .is_gone = x->is_gone,
                              .time = time, .first = x->first, .needs = x->needs,
                              .computes = wk_isa_queues.computes,
                              .ordered = wk_isa_queues.computes | wk_isa_queues.stores};
  uint32_t n = wk_sched_list_order(&list, order, NULL);
  hand_out(x, order, n, out);
  free(queue);
  free(moving);
  free(time);
  free(order);
  return n;
}
