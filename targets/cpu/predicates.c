/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/cpu/predicates.h"

#include <math.h>
#include <stdlib.h>

#include "compiler/lower/lower.h"

/* Lists of rows are read by nobody then, and go as well. */
static wk_status forget(wk_program *p, wk_arena *scratch, int64_t *changes) {
  wk_inst_pos *flat;
  size_t n = wk_program_flatten(p, scratch, &flat);
  int64_t before = *changes, removed = 0;
  for (size_t i = 0; i < n; i++) {
    *changes += flat[i].inst->n_limits > 0;
    flat[i].inst->n_limits = 0;
  }
  return *changes > before ? wk_inst_dead_stores(p, scratch, &removed) : NULL;
}

static bool is_read(const wk_inst *i, uint32_t buffer) {
  for (uint32_t k = i->n_out; k < i->n_operands; k++)
    if (i->operands[k].buffer == buffer) return true;
  return false;
}

static double poison_of(wk_dtype t) {
  if (wk_dtype_is_float(t)) return (double)NAN;
  return t == WK_BOOL || wk_dtype_size(t) == 1 ? 1 : 0xAA;
}

/* A fill of result k, whose positions are those that are written. */
static wk_inst *fill_of(wk_program *p, const wk_inst *i, uint32_t k) {
  wk_inst *fill = wk_inst_new(p, WK_OP_FILL, i->name, 1, 1);
  wk_view *v = &fill->operands[0];
  *v = i->operands[k];
  for (int d = 0; d < v->rank; d++)
    if (v->strides[d] == 0) v->dims[d] = 1;
  ((wk_attr_fill *)fill->attrs)->value = poison_of(v->dtype);
  return fill;
}

static void poison_block(wk_program *p, wk_block *b, int64_t *changes) {
  wk_block out = {0};
  for (size_t k = 0; k < b->insts.n; k++) {
    wk_inst *i = b->insts.data[k];
    for (uint32_t o = 0; o < i->n_out && i->n_limits; o++) {
      if (i->operands[o].buffer == WK_NONE || is_read(i, i->operands[o].buffer)) continue;
      wk_block_append(&out, fill_of(p, i, o));
      ++*changes;
    }
    wk_block_append(&out, i);
  }
  wk_vec_free(&b->insts);
  *b = out;
}

static void poison(wk_program *p, wk_arena *scratch, int64_t *changes) {
  wk_inst_pos *flat;
  size_t n = wk_program_flatten(p, scratch, &flat);
  poison_block(p, &p->body, changes);
  for (size_t i = 0; i < n; i++)
    for (uint32_t b = 0; b < flat[i].inst->n_bodies; b++)
      poison_block(p, &flat[i].inst->bodies[b], changes);
}

wk_status wk_cpu_set_predicates(wk_program *p, wk_cpu_predicates mode, wk_arena *scratch,
                                int64_t *changes) {
  if (mode == WK_CPU_PREDICATES_OFF) return forget(p, scratch, changes);
  if (mode == WK_CPU_PREDICATES_POISON) poison(p, scratch, changes);
  return NULL;
}
