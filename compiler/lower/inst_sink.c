/* SPDX-License-Identifier: Apache-2.0
 * Sinking copies: `P writes N; …; copy S <- N` becomes `P writes S; …` when between P and the copy
 * nothing else touches S, P itself reads S at most element by element at the positions it writes,
 * and N is mentioned nowhere else but in between, always with the same view. This is what makes the
 * state of a loop a single buffer. */
#include "compiler/lower/inst.h"

static bool mentions(const wk_inst *i, uint32_t buffer) {
  for (uint32_t k = 0; k < i->n_operands; k++)
    if (i->operands[k].buffer == buffer) return true;
  return false;
}

/* Bodies included; the flat list holds them right behind their owner. */
static bool touched_between(const wk_accesses *acc, uint32_t buffer, uint32_t after,
                            uint32_t before) {
  for (uint32_t i = acc->first[buffer]; i < acc->first[buffer + 1]; i++)
    if (acc->accesses[i].position > after && acc->accesses[i].position < before) return true;
  return false;
}

static bool reads_in_step(const wk_inst *producer, uint32_t buffer, const wk_view *dst) {
  for (uint32_t k = 0; k < producer->n_operands; k++) {
    const wk_view *v = &producer->operands[k];
    if (v->buffer != buffer) continue;
    if (producer->op != WK_OP_MAP || v->role != WK_ROLE_IN || !wk_view_same_shape(v, dst))
      return false;
  }
  return true;
}

/* The copy repeats elements: its source is no place for all of its destination. */
static bool is_broadcast(const wk_view *v) {
  for (int d = 0; d < v->rank; d++)
    if (v->dims[d] > 1 && v->strides[d] == 0) return true;
  return false;
}

/* The index in the block of the one instruction that writes `src`, if the rewrite is legal. A view
 * that steps with the loop means something else inside an inner one. */
static bool find_producer(const wk_accesses *acc, const wk_block *b, size_t copy, uint32_t position,
                          size_t *producer) {
  const wk_view *dst = &b->insts.data[copy]->operands[0], *src = &b->insts.data[copy]->operands[1];
  int depth = acc->flat[position].depth;
  const wk_access *write = NULL;
  if (is_broadcast(src)) return false;
  for (uint32_t i = acc->first[src->buffer]; i < acc->first[src->buffer + 1]; i++) {
    const wk_access *a = &acc->accesses[i];
    if (a->position > position || !wk_view_same_shape(a->view, src)) return false;
    if (dst->step != 0 && acc->flat[a->position].depth != depth) return false;
    if (a->view->role == WK_ROLE_INOUT || (a->view->role == WK_ROLE_OUT && write)) return false;
    if (a->view->role == WK_ROLE_OUT) write = a;
    else if (!write) return false;
  }
  if (!write || write->inst->n_bodies) return false;
  for (*producer = 0; *producer < copy; ++*producer)
    if (b->insts.data[*producer] == write->inst) break;
  if (*producer == copy || touched_between(acc, dst->buffer, write->position, position))
    return false;
  return !mentions(write->inst, dst->buffer) || reads_in_step(write->inst, dst->buffer, dst);
}

static bool sink_one(wk_program *p, wk_accesses *acc, wk_block *b, size_t copy, uint32_t position) {
  wk_inst *inst = b->insts.data[copy];
  wk_view dst = inst->operands[0], src = inst->operands[1];
  size_t producer;
  if (inst->op != WK_OP_COPY || p->buffers.data[src.buffer].region != WK_REGION_ACT ||
      src.buffer == dst.buffer || !find_producer(acc, b, copy, position, &producer))
    return false;
  for (uint32_t i = acc->first[src.buffer]; i < acc->first[src.buffer + 1]; i++) {
    wk_view *v = acc->accesses[i].view;
    wk_role role = v->role;
    *v = dst;
    v->role = role;
  }
  wk_block_remove(p, b, copy);
  p->buffers.data[src.buffer].size = 0;
  return true;
}

static uint32_t position_of(const wk_accesses *acc, const wk_inst *inst) {
  uint32_t i = 0;
  while (acc->flat[i].inst != inst) i++;
  return i;
}

static void sink_in_block(wk_program *p, wk_arena *scratch, wk_block *b, int64_t *changes) {
  wk_accesses acc = wk_program_accesses(p, scratch);
  for (size_t i = 0; i < b->insts.n;) {
    if (b->insts.data[i]->op == WK_OP_COPY &&
        sink_one(p, &acc, b, i, position_of(&acc, b->insts.data[i]))) {
      acc = wk_program_accesses(p, scratch);
      ++*changes;
      continue;
    }
    i++;
  }
}

wk_status wk_inst_sink_copies(wk_program *p, wk_arena *scratch, int64_t *changes) {
  wk_accesses acc = wk_program_accesses(p, scratch);
  for (size_t i = 0; i < acc.n; i++)
    for (uint32_t b = 0; b < acc.flat[i].inst->n_bodies; b++)
      sink_in_block(p, scratch, &acc.flat[i].inst->bodies[b], changes);
  sink_in_block(p, scratch, &p->body, changes);
  return NULL;
}
