/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "compiler/stream/proof.h"
#include "compiler/stream/search.h"

enum { SCRATCHPAD, WORK, PORTS, SPACES };

typedef struct {
  const wk_sched_net *net;
  const wk_sched_made *made;
  wk_arena *a;
  int64_t *tensors; /* where each begins in its memory: WORK, or that of all ports */
  int64_t *stored;  /* of each: bytes */
  WK_VEC(wk_sched_bytes) bytes; /* of all commands */
  size_t *first;                /* of each command */
} proving;

static void add(proving *x, int space, bool writes, int64_t from, int64_t length) {
  const wk_sched_bytes b = {.space = space, .writes = writes, .from = (uint64_t)from,
                            .length = (uint64_t)length};
  wk_vec_push(&x->bytes, b);
}

/* Memory of constants is only read. Returns the bytes of all ports. */
static uint64_t place_memory(proving *x) {
  int64_t end = 0;
  x->stored = wk_arena_alloc(x->a, x->net->n_tensors * sizeof *x->stored);
  x->tensors = wk_arena_alloc(x->a, x->net->n_tensors * sizeof *x->tensors);
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_tensor *y = &x->net->tensors[t];
    x->tensors[t] = y->home == WK_SCHED_WORK ? y->at : end;
    if (y->home == WK_SCHED_IO) end += y->bytes;
  }
  return (uint64_t)end;
}

static void add_step(proving *x, const wk_sched_step *s) {
  for (int k = 0; k < s->n_access; k++) {
    const wk_sched_access *a = &s->access[k];
    int64_t at = x->made->steps.buffers.data[a->buffer].at + a->from;
    for (int64_t i = 0; i < a->n1; i++)
      for (int64_t j = 0; j < a->n0; j++)
        add(x, SCRATCHPAD, a->writes, at + i * a->s1 + j * a->s0, a->run);
  }
  if (s->tensor < 0 || x->net->tensors[s->tensor].home == WK_SCHED_CONST) return;
  bool stores = wk_sched_in(x->net->machine->queues.stores, s->queue);
  int space = x->net->tensors[s->tensor].home == WK_SCHED_WORK ? WORK : PORTS;
  if (stores) x->stored[s->tensor] += s->mem_run * s->mem_runs;
  for (int64_t i = 0; i < s->mem_runs; i++)
    add(x, space, stores, x->tensors[s->tensor] + s->mem_at + i * s->mem_stride, s->mem_run);
}

static void describe(const void *context, uint32_t command, wk_str *out) {
  const proving *x = context;
  const wk_sched_step *s = &x->made->steps.list.data[x->made->schedule.order[command]];
  wk_str_printf(out, "command %u (of %s on %s)", command,
                s->layer ? x->net->layers[s->layer - 1] : "no layer",
                x->net->machine->queues.names[s->queue]);
}

/* Every byte of a result that leaves is stored; no row is stored twice. */
static wk_status prove_results(const proving *x) {
  for (size_t t = 0; t < x->net->n_tensors; t++) {
    const wk_sched_tensor *y = &x->net->tensors[t];
    if (y->home == WK_SCHED_IO && x->made->uses[t].first_writer >= 0 && x->stored[t] < y->bytes)
      return wk_error(WK_INTERNAL, "the proof refuses what was scheduled: port %d gets %lld bytes "
                                   "of %lld", y->port, (long long)x->stored[t],
                      (long long)y->bytes);
  }
  return NULL;
}

static wk_status prove(proving *x, const wk_sched_proof_command *commands, uint64_t ports) {
  const wk_sched_machine *m = x->net->machine;
  const wk_sched_space spaces[SPACES] = {
      [SCRATCHPAD] = {"scratchpad bytes", (uint64_t)m->scratchpad, false},
      [WORK] = {"bytes of working memory", (uint64_t)x->made->schedule.work_bytes, false},
      [PORTS] = {"bytes of inputs and outputs", ports, true}};
  const wk_sched_hardware on = {m->queues, spaces, SPACES};
  wk_sched_fault fault;
  if (wk_sched_prove(&on, commands, (uint32_t)x->made->steps.list.n, &fault))
    return prove_results(x);
  wk_str text = {0};
  wk_sched_fault_text(&fault, &on, describe, x, &text);
  wk_status s = wk_error(WK_INTERNAL, "the proof refuses what was scheduled: %s", text.s);
  wk_str_free(&text);
  return s;
}

wk_status wk_sched_prove_made(const wk_sched_net *net, const wk_sched_made *made) {
  proving x = {.net = net, .made = made, .a = wk_arena_new()};
  size_t n = made->steps.list.n;
  wk_sched_proof_command *commands = wk_arena_alloc(x.a, n * sizeof *commands);
  uint64_t ports = place_memory(&x);
  x.first = wk_arena_alloc(x.a, (n + 1) * sizeof *x.first);
  for (size_t i = 0; i < n; i++) {
    add_step(&x, &made->steps.list.data[made->schedule.order[i]]);
    x.first[i + 1] = x.bytes.n;
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t number = made->schedule.order[i];
    commands[i] = (wk_sched_proof_command){.queue = made->steps.list.data[number].queue,
                                           .runs = x.bytes.data + x.first[i],
                                           .n_runs = x.first[i + 1] - x.first[i]};
    memcpy(commands[i].waits, made->schedule.waits[number], sizeof commands[i].waits);
  }
  wk_status s = prove(&x, commands, ports);
  wk_vec_free(&x.bytes);
  wk_arena_free(x.a);
  return s;
}
