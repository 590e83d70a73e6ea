/* SPDX-License-Identifier: Apache-2.0
 * What a machine says of itself, and a net of its operators, before anything is planned by it. */
#include "compiler/stream/machine.h"

static const char *fault_of_queues(const wk_sched_machine *m) {
  const wk_sched_queues *q = &m->queues;
  const int own[] = {m->load_queue, m->const_queue, m->store_queue};
  if (q->n < 1 || q->n > WK_SCHED_QUEUES) return "the number of queues";
  if (q->computes & q->stores) return "a queue that computes and stores";
  if ((q->computes | q->stores | q->serial) >> q->n) return "a set with a queue that is not there";
  for (int i = 0; i < 3; i++)
    if (own[i] < 0 || own[i] >= q->n || wk_sched_in(q->computes, own[i]) ||
        wk_sched_in(q->stores, own[i]) != (i == 2))
      return i == 2 ? "a store queue that is not among those that store"
                    : "a load queue that computes or stores";
  return NULL;
}

static const char *fault_of_machine(const wk_sched_machine *m) {
  const char *queues = fault_of_queues(m);
  if (queues) return queues;
  if (m->align < 1 || m->memory_align < 1) return "an alignment below 1";
  if (m->scratchpad < m->align || m->scratchpad % m->align)
    return "a scratchpad that is no multiple of the alignment";
  if (m->bytes_num < 1 || m->bytes_den < 1) return "a memory that moves nothing";
  if (m->most_run < 1 || m->most_runs < 1 || m->most_consts < 1) return "transfers of no bytes";
  if (!m->command_bytes || !m->model || !m->transfer || !m->compute || !m->carry)
    return "a function or a number that is needed";
  return m->model == &wk_sched_rates && !m->cycles ? "cycles, which rates need" : NULL;
}

static const char *fault_of_op(const wk_sched_net *net, size_t i) {
  const wk_sched_op *op = &net->ops[i];
  if (op->pieces < 1) return "an operator without pieces";
  if (op->queue < 0 || op->queue >= net->machine->queues.n) return "an operator of no queue";
  if (op->out.tensor < 0 || op->out.step < 0) return "an operator without a result";
  for (int k = 0; k < WK_SCHED_OPERANDS; k++) {
    int t = op->in[k].tensor;
    if (t < 0) continue;
    if (net->tensors[t].is_shaped && !net->machine->load) return "a shaped tensor and no `load`";
  }
  return NULL;
}

wk_status wk_sched_check(const wk_sched_net *net, bool marks) {
  const char *fault = fault_of_machine(net->machine);
  if (!fault && marks && !net->machine->mark) fault = "marks and no `mark`";
  for (size_t i = 0; i < net->n_ops && !fault; i++) fault = fault_of_op(net, i);
  for (size_t t = 0; t < net->n_tensors && !fault; t++)
    if (net->tensors[t].row < 1 || net->tensors[t].rows < 1 || net->tensors[t].planes < 1)
      fault = "a tensor without elements";
  return fault ? wk_error(WK_INTERNAL, "machine '%s': the scheduler cannot have %s",
                          net->machine->name, fault)
               : NULL;
}
