/* SPDX-License-Identifier: Apache-2.0
 * dot: the multiply-add of the register tile. k advances by words of four bytes: one float, or four
 * neighbouring 8-bit integers, of A a word in all lanes, of B a word for each column. Sums of
 * integers are exact modulo 2^32 on every instruction set. Private to this folder. */
#ifndef WICK_CPU_DOT_H
#define WICK_CPU_DOT_H

#include "targets/cpu/kernels.h"

enum { WK_DOT_PARTS = 2 };
typedef struct {
  wk_ssa part[WK_DOT_PARTS];
} wk_dot_operand;

/* Elements of a word. */
static inline int wk_dot_unit(const wk_cpu_types *t) { return t->a == WK_F32 ? 1 : 4; }
/* Where the multiply-add wants A unsigned, signed A goes in as a + 128, and each panel of B begins
 * with the sums that this takes away again, -128 * (sum of the column): 1 when it does, else 0. */
int wk_dot_heads(const wk_cpu_isa *isa, const wk_cpu_types *t);

LLVMTypeRef wk_dot_accumulator(wk_emit *e, const wk_cpu_types *t);
wk_dot_operand wk_dot_a(wk_emit *e, const wk_cpu_types *t, wk_ssa at);
wk_dot_operand wk_dot_b(wk_emit *e, const wk_cpu_types *t, wk_ssa at);
wk_ssa wk_dot_emit(wk_emit *e, const wk_cpu_types *t, const wk_dot_operand *a,
                   const wk_dot_operand *b, wk_ssa acc);
/* a.even * b.even + a.odd * b.odd of 16-bit halves of i32 lanes. */
wk_ssa wk_dot_pairs(wk_emit *e, wk_ssa a, wk_ssa b);

#endif
