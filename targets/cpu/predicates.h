/* SPDX-License-Identifier: Apache-2.0
 * predicates: what becomes of limits of instructions (wk_limit). */
#ifndef WICK_CPU_PREDICATES_H
#define WICK_CPU_PREDICATES_H

#include "compiler/ir/program.h"

typedef enum {
  WK_CPU_PREDICATES_ON,    /* code keeps to them */
  WK_CPU_PREDICATES_OFF,   /* there are none */
  WK_CPU_PREDICATES_POISON /* results are filled with NaN, or bytes of 0xAA, before: what is left
                              out shows if anything uses it. Not those in place of an operand */
} wk_cpu_predicates;

/* Before weights are packed; `changes` grows by the instructions that are another. */
wk_status wk_cpu_set_predicates(wk_program *p, wk_cpu_predicates mode, wk_arena *scratch,
                                int64_t *changes) WK_MUST_CHECK;

#endif
