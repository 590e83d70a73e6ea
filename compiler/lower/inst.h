/* SPDX-License-Identifier: Apache-2.0
 * Private to lower/: what instruction passes ask about programs. Positions are indices into the
 * flat list of wk_program_flatten. */
#ifndef WICK_LOWER_INST_H
#define WICK_LOWER_INST_H

#include "compiler/lower/lower.h"

/* One mention of a buffer. */
typedef struct {
  uint32_t position, operand;
  wk_view *view;
  wk_inst *inst;
} wk_access;

/* Side table: accesses of every buffer in program order; accesses[first[b] .. first[b+1]). */
typedef struct {
  const wk_inst_pos *flat;
  size_t n;
  const uint32_t *first;
  wk_access *accesses;
} wk_accesses;
wk_accesses wk_program_accesses(const wk_program *p, wk_arena *scratch);

/* Equal dims, strides, offset, step and element size; the buffers may differ. Strides of axes of
 * size 1 do not matter. */
bool wk_view_same_shape(const wk_view *a, const wk_view *b);
/* The view covers its buffer: as many distinct elements as fit. */
bool wk_view_covers(const wk_program *p, const wk_view *v);
/* Before an instruction is taken out of its block: a copy goes from the program's count of copies.
 * Bodies it has must be empty. */
void wk_inst_drop(wk_program *p, wk_inst *i);

wk_status wk_inst_sink_copies(wk_program *p, wk_arena *scratch, int64_t *changes);
wk_status wk_inst_in_place(wk_program *p, wk_arena *scratch, int64_t *changes);

#endif
