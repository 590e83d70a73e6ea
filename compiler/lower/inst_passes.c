/* SPDX-License-Identifier: Apache-2.0
 * The table of instruction passes, in the order in which they run, and what they share. */
#include "compiler/lower/inst.h"

#include <stdlib.h>
#include <string.h>

const wk_inst_pass wk_inst_passes[] = {
    {"dead-stores", wk_inst_dead_stores, "remove instructions whose results are never read"},
    {"sink-copies", wk_inst_sink_copies,
     "let the producer of a copied value write the copy's destination"},
    {"in-place", wk_inst_in_place,
     "let elementwise results, residual sums and scatters overwrite an operand that dies"},
};
const size_t wk_inst_passes_count = WK_COUNTOF(wk_inst_passes);

wk_accesses wk_program_accesses(const wk_program *p, wk_arena *scratch) {
  wk_accesses t = {0};
  wk_inst_pos *flat;
  t.n = wk_program_flatten(p, scratch, &flat);
  t.flat = flat;
  uint32_t *first = wk_arena_alloc(scratch, (p->buffers.n + 2) * sizeof *first);
  size_t total = 0;
  for (size_t i = 0; i < t.n; i++)
    for (uint32_t k = 0; k < wk_inst_views(flat[i].inst); k++) {
      uint32_t b = wk_inst_view(flat[i].inst, k)->buffer;
      if (b == WK_NONE) continue;
      first[b + 2]++;
      total++;
    }
  for (size_t b = 2; b < p->buffers.n + 2; b++) first[b] += first[b - 1];
  wk_access *all = wk_arena_alloc(scratch, total * sizeof *all);
  for (size_t i = 0; i < t.n; i++)
    for (uint32_t k = 0; k < wk_inst_views(flat[i].inst); k++) {
      wk_view *v = wk_inst_view(flat[i].inst, k);
      if (v->buffer == WK_NONE) continue;
      all[first[v->buffer + 1]++] =
          (wk_access){.position = (uint32_t)i, .operand = k, .view = v, .inst = flat[i].inst};
    }
  t.first = first;
  t.accesses = all;
  return t;
}

bool wk_view_same_shape(const wk_view *a, const wk_view *b) {
  if (a->rank != b->rank || a->offset != b->offset || a->step != b->step ||
      wk_dtype_size(a->dtype) != wk_dtype_size(b->dtype))
    return false;
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] != b->dims[i]) return false;
    if (a->dims[i] != 1 && a->strides[i] != b->strides[i]) return false;
  }
  return true;
}

bool wk_view_covers(const wk_program *p, const wk_view *v) {
  int64_t count = 1;
  for (int i = 0; i < v->rank; i++)
    if (v->strides[i] != 0 || v->dims[i] == 1) count *= v->dims[i];
  return v->step == 0 && count * wk_dtype_size(v->dtype) == p->buffers.data[v->buffer].size;
}

void wk_inst_drop(wk_program *p, wk_inst *gone) {
  if (gone->op == WK_OP_COPY) {
    const wk_view *v = &gone->operands[0];
    p->copies_after--;
    p->copy_bytes_after -= wk_view_count(v) * wk_dtype_size(v->dtype);
  }
  for (uint32_t k = 0; k < gone->n_bodies; k++) wk_vec_free(&gone->bodies[k].insts);
}
