/* SPDX-License-Identifier: Apache-2.0
 * The schedule model's units: array, vector unit, transfers with their memory, the front end. */
#include <stdlib.h>

#include "targets/accel/compile/dma.h"
#include "targets/accel/compile/emit.h"
#include "targets/accel/compile/sums.h"
#include "targets/accel/isa/duration.h"

/* The vector unit's command: when it retires depends on what the array does until then. */
typedef struct {
  bool busy;
  uint32_t step;
  int64_t seen, end; /* seen: up to here it is known; end: if there is nothing behind that */
  double lost;
  wk_accel_accesses accesses;
} vector;

typedef struct {
  wk_sched_units base;
  const wk_sched_steps *steps;
  const wk_machine *m;
  wk_accel_array array;
  vector ve;
  wk_accel_dma dma;
  int64_t started; /* commands */
} units;

static units *units_of(wk_sched_units *u) { return (units *)(void *)u; }

static wk_sched_units *open_units(const wk_sched_net *net, const wk_sched_steps *s) {
  units *x = wk_xcalloc(1, sizeof *x);
  x->steps = s;
  x->m = x->array.m = wk_accel_net_of(net)->machine;
  wk_accel_dma_init(&x->dma, x->m, &x->array.ports, (int64_t)s->list.n + 1, s->is_begin);
  return &x->base;
}

static void close_units(wk_sched_units *u) { free(u); }

static int64_t fetched(wk_sched_units *u, int64_t n) {
  return wk_accel_dma_fetched(&units_of(u)->dma, n);
}

static int64_t free_at(const wk_sched_units *u, int queue) {
  const units *x = (const units *)(const void *)u;
  if (queue == WK_QUEUE_ex) return x->array.free;
  if (queue == WK_QUEUE_ve) return x->ve.busy ? WK_SCHED_NEVER : x->ve.end;
  return wk_accel_dma_free(&x->dma, (uint32_t)queue);
}

static void note_end(units *x, uint32_t step, int64_t retire) {
  x->base.done[x->base.n_done++] = (wk_sched_done){step, retire};
}

static void note_transfers(units *x) {
  for (int i = 0; i < x->dma.n_done; i++) note_end(x, x->dma.done[i].step, x->dma.done[i].retire);
  x->dma.n_done = 0;
}

static void start(wk_sched_units *u, uint32_t step, int64_t at) {
  units *x = units_of(u);
  const wk_isa_command *c = wk_accel_step_command(x->steps, step);
  wk_accel_dma_fetch(&x->dma, ++x->started, at);
  if (c->queue >= WK_QUEUE_st) {
    wk_accel_dma_start(&x->dma, x->steps, step, at);
    note_transfers(x);
  } else if (c->queue == WK_QUEUE_ex) {
    if (x->ve.busy) x->array.held_until = x->ve.end;
    note_end(x, step, wk_accel_array_run(&x->array, x->steps, step, at));
  } else {
    int64_t cycles = (int64_t)wk_isa_duration(x->m, c);
    x->ve = (vector){true, step, at, at + cycles, 0, wk_accel_ports_accesses(x->m, c, cycles)};
    wk_accel_dma_vector(&x->dma, x->ve.accesses.share);
    x->array.held = wk_accel_ports_held(x->m, c, cycles);
    x->array.held_until = x->ve.end;
  }
}

/* The vector unit's command may be done; or the array has been in its way. */
static void end_vector(units *x) {
  vector *v = &x->ve;
  v->lost += wk_accel_ports_lost(&x->array.ports, v->seen, v->end, &v->accesses);
  v->seen = v->end;
  v->busy = v->lost >= 1;
  if (!v->busy) {
    wk_accel_dma_vector(&x->dma, 0);
    note_end(x, v->step, v->end);
    return;
  }
  v->end += (int64_t)v->lost;
  v->lost -= (double)(int64_t)v->lost;
}

static bool run(wk_sched_units *u, int64_t until) {
  units *x = units_of(u);
  bool ends = x->ve.busy && x->ve.end <= until;
  if (wk_accel_dma_run(&x->dma, ends ? x->ve.end : until)) {
    x->base.now = x->dma.now;
    note_transfers(x);
    return true;
  }
  if (!ends) return false;
  x->base.now = x->ve.end;
  end_vector(x);
  return true;
}

const wk_sched_model wk_accel_model = {.open = open_units, .close = close_units,
                                       .fetched = fetched, .free = free_at, .start = start,
                                       .run = run};
