/* SPDX-License-Identifier: Apache-2.0
 * Dead stores: an instruction goes when all it writes are activations that nothing reads, a control
 * instruction when nothing is left in its bodies. */
#include "compiler/lower/inst.h"

static void count_reads(const wk_accesses *acc, size_t n_buffers, uint32_t *reads) {
  for (size_t b = 0; b < n_buffers; b++) {
    reads[b] = 0;
    for (uint32_t i = acc->first[b]; i < acc->first[b + 1]; i++)
      if (acc->accesses[i].view->role != WK_ROLE_OUT) reads[b]++;
  }
}

static bool has_empty_bodies(const wk_inst *i) {
  for (uint32_t b = 0; b < i->n_bodies; b++)
    if (i->bodies[b].insts.n) return false;
  return true;
}

/* The condition of a loop is read by the loop alone, or by its body, which is empty when asked. */
static bool is_dead(const wk_program *p, const wk_inst *i, const uint32_t *reads) {
  if (i->n_bodies) return has_empty_bodies(i);
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *v = &i->operands[k];
    if (v->buffer == WK_NONE || v->role == WK_ROLE_IN) continue;
    if (p->buffers.data[v->buffer].region != WK_REGION_ACT || reads[v->buffer]) return false;
  }
  return i->n_out > 0;
}

static void close_gaps(wk_block *b) {
  size_t kept = 0;
  for (size_t i = 0; i < b->insts.n; i++)
    if (b->insts.data[i]) b->insts.data[kept++] = b->insts.data[i];
  b->insts.n = kept;
}

static void sweep(wk_program *p, wk_block *b, uint32_t *reads, int64_t *removed) {
  int64_t before = *removed;
  for (size_t i = b->insts.n; i-- > 0;) {
    wk_inst *inst = b->insts.data[i];
    if (!is_dead(p, inst, reads)) continue;
    for (uint32_t k = 0; k < wk_inst_views(inst); k++) {
      const wk_view *v = wk_inst_view(inst, k);
      if (v->buffer != WK_NONE && v->role != WK_ROLE_OUT) reads[v->buffer]--;
    }
    wk_inst_drop(p, inst);
    b->insts.data[i] = NULL;
    ++*removed;
  }
  if (*removed > before) close_gaps(b);
}

wk_status wk_inst_dead_stores(wk_program *p, wk_arena *scratch, int64_t *changes) {
  uint32_t *reads = wk_arena_alloc(scratch, p->buffers.n * sizeof *reads);
  for (int64_t removed = 1; removed;) {
    removed = 0;
    wk_accesses acc = wk_program_accesses(p, scratch);
    count_reads(&acc, p->buffers.n, reads);
    for (size_t i = acc.n; i-- > 0;) /* inner bodies before the blocks around them */
      for (uint32_t b = 0; b < acc.flat[i].inst->n_bodies; b++)
        sweep(p, &acc.flat[i].inst->bodies[b], reads, &removed);
    sweep(p, &p->body, reads, &removed);
    *changes += removed;
  }
  return NULL;
}
