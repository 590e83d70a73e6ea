/* SPDX-License-Identifier: Apache-2.0
 * The model of machines whose numbers say enough. An engine does one command after the other.
 * Memory serves one transfer after the other, in the order in which they start: its bytes come
 * `latency` cycles after the start, or behind those of the one before; the next command of its
 * queue starts so that its own bytes can follow at once, unless the queue is serial. A store's
 * retirement is its answer. */
#include <stdlib.h>

#include "compiler/stream/machine.h"

typedef struct {
  wk_sched_units base;
  const wk_sched_net *net;
  const wk_sched_steps *steps;
  int64_t free[WK_SCHED_QUEUES];
  int64_t memory; /* when it has served all that have started */
} units;

static wk_sched_units *open_units(const wk_sched_net *net, const wk_sched_steps *s) {
  units *x = wk_xcalloc(1, sizeof *x);
  x->net = net, x->steps = s;
  return &x->base;
}

static void close_units(wk_sched_units *u) { free(u); }

static int64_t free_at(const wk_sched_units *u, int queue) {
  return ((const units *)(const void *)u)->free[queue];
}

/* When the transfer has retired. */
static int64_t transfer(units *x, const wk_sched_step *s, int64_t at) {
  const wk_sched_machine *m = x->net->machine;
  bool stores = wk_sched_in(m->queues.stores, s->queue);
  int64_t first = stores ? at : at + m->latency;
  if (first < x->memory) first = x->memory;
  x->memory = first + wk_ceil_div(s->bytes * m->bytes_den, m->bytes_num);
  int64_t next = x->memory - (stores ? 0 : m->latency);
  int64_t retire = x->memory + (stores ? m->write_latency : 0);
  x->free[s->queue] = wk_sched_in(m->queues.serial, s->queue) ? retire : next > at ? next : at + 1;
  return retire;
}

static void start(wk_sched_units *u, uint32_t step, int64_t at) {
  units *x = (units *)(void *)u;
  const wk_sched_step *s = &x->steps->list.data[step];
  const wk_sched_machine *m = x->net->machine;
  int64_t end;
  if (wk_sched_in(m->queues.computes, s->queue))
    end = x->free[s->queue] = at + m->cycles(x->net, wk_sched_command(x->steps, step));
  else
    end = transfer(x, s, at);
  u->done[u->n_done++] = (wk_sched_done){step, end};
}

const wk_sched_model wk_sched_rates = {.open = open_units, .close = close_units, .free = free_at,
                                       .start = start};
