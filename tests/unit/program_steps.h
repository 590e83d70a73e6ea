/* SPDX-License-Identifier: Apache-2.0
 * Steps of programs whose attributes are texts of case_text.h, and bodies for them. All that is
 * made belongs to the program. */
#ifndef WICK_TEST_PROGRAM_STEPS_H
#define WICK_TEST_PROGRAM_STEPS_H

#include "compiler/ir/program.h"
#include "tests/unit/case_text.h"

static inline wk_inst *append(wk_program *p, wk_block *b, wk_op op, const char *attrs,
                              uint32_t n_out, uint32_t n, const wk_view *operands) {
  wk_inst *i = wk_inst_new(p, op, "step", n_out, n);
  i->attrs = case_attrs(p->arena, op, attrs);
  for (uint32_t k = 0; k < n; k++) i->operands[k] = operands[k];
  wk_block_append(b, i);
  return i;
}

static inline wk_block *add_bodies(wk_program *p, wk_inst *i, uint32_t n) {
  i->n_bodies = n;
  i->bodies = wk_arena_alloc(p->arena, n * sizeof *i->bodies);
  return i->bodies;
}

#endif
