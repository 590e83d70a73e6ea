/* SPDX-License-Identifier: Apache-2.0
 * Nothing runs below what is said to be the least: for tests of what is compiled for the
 * accelerator. */
#ifndef WICK_TEST_ACCEL_LEAST_H
#define WICK_TEST_ACCEL_LEAST_H

#include <stdlib.h>

#include "targets/accel/compile/least.h"
#include "targets/accel/compile/stream.h"
#include "targets/accel/isa/duration.h"
#include "targets/accel/isa/parts.h"
#include "targets/accel/isa/unit_least.h"
#include "targets/accel/model/model.h"

/* Of all layers together. */
typedef struct {
  wk_accel_least sum;
  uint64_t late; /* bytes of weights, those that cuts know of */
  uint64_t cycles;
} accel_least;

static inline accel_least accel_least_of(const wk_accel_net *net) {
  wk_accel_least *list = wk_xcalloc(net->layers.n + 1, sizeof *list);
  wk_accel_cuts *cuts = wk_xcalloc(net->layers.n + 1, sizeof *cuts);
  accel_least y = {0};
  wk_accel_least_of(net, list, cuts);
  for (size_t i = 0; i < net->layers.n; i++) {
    y.sum.ex += list[i].ex, y.sum.drain += list[i].drain, y.sum.ve += list[i].ve;
    y.sum.weights += list[i].weights, y.sum.in += list[i].in, y.sum.out += list[i].out;
    y.late += cuts[i].weights;
  }
  y.cycles = wk_accel_need_of_part(net->machine, list, cuts, (uint32_t)net->layers.n).cycles;
  free(list), free(cuts);
  return y;
}

/* What the commands need, as a package says it of layers. */
static inline wk_accel_least accel_need_of(const wk_machine *m, const wk_accel_stream *s) {
  wk_accel_least sum = {0};
  int64_t words = 0;
  for (size_t i = 0; i < s->commands.n; i++) {
    const wk_isa_command *c = &s->commands.data[i];
    wk_isa_bound b = wk_isa_bound_of(m, c, &words);
    sum.ex += (uint64_t)b.array, sum.drain += (uint64_t)b.drain;
    if (c->queue == WK_QUEUE_ve) sum.ve += wk_isa_duration(m, c);
    if (c->opcode == WK_CMD_LD) sum.in += wk_transfer_bytes(c);
    if (c->opcode == WK_CMD_ST) sum.out += wk_transfer_bytes(c);
  }
  return sum;
}

static inline uint64_t accel_cycles_of(const wk_machine *m, const wk_accel_stream *s) {
  const wk_timing_job job = {.machine = m, .dram = wk_dram_params_of(m),
                             .commands = s->commands.data, .n = (uint32_t)s->commands.n};
  wk_timing_result r;
  wk_timing_run(&job, &r);
  return r.counters[WK_COUNTER_cycles];
}

/* NULL: neither the commands, nor the cycles that they take, are below what their net takes at
 * least; otherwise what is. */
static inline const char *accel_below_least(const wk_accel_net *net, const wk_accel_stream *s) {
  const wk_machine *m = net->machine;
  const accel_least all = accel_least_of(net);
  const wk_accel_least least = all.sum, need = accel_need_of(m, s);
  if (need.ex < least.ex) return "array";
  if (need.drain < least.drain) return "drain";
  if (need.ve < least.ve) return "vector";
  if (need.in < least.weights + least.in) return "bytes that are read";
  if (need.out < least.out) return "bytes that are written";
  if (least.weights < all.late) return "weights, though more of them are late,";
  return accel_cycles_of(m, s) < all.cycles ? "cycles" : NULL;
}

#endif
