/* SPDX-License-Identifier: Apache-2.0
 * inst_c: instructions as loops around scalar expressions, for targets that generate C or OpenCL C
 * with expr_c.h (rank 1). Whatever an instruction computes, it is one thing here:
 *
 *   for all positions i of its outputs
 *     accumulators = begin
 *     for all positions k, if `counts` holds
 *       accumulators = step(accumulators, elements read)
 *     outputs[i] = end(accumulators, elements read)
 *
 * A map has nothing but `end`. Positions are C expressions over i0, i1, … and k0, k1, …, which are
 * variables of a signed integer type. */
#ifndef WICK_IR_INST_C_H
#define WICK_IR_INST_C_H

#include "compiler/ir/program.h"

/* An element of an operand. */
typedef struct {
  uint32_t operand;
  const char *at[WK_MAX_RANK]; /* position along each axis */
  const char *inside;          /* C condition under which there is one; NULL: always */
  int64_t outside;             /* what it is elsewhere */
} wk_inst_c_read;

typedef struct {
  int rank, inner_rank; /* axes of i and of k */
  int64_t dims[WK_MAX_RANK], inner_dims[WK_MAX_RANK];
  const char *counts;                /* C condition; NULL: always */
  const wk_expr *begin, *step, *end; /* begin and step NULL: nothing is folded */
  wk_inst_c_read *step_reads, *end_reads; /* inputs behind the accumulators */
  size_t n_step, n_end;
  const char *index[WK_MAX_RANK]; /* wk_expr_c.index of step; that of end is wk_inst_c_i */
} wk_inst_c;

/* i0, i1, …: where the results of `end` go in the outputs. */
extern const char *const wk_inst_c_i[WK_MAX_RANK];

/* Why a node becomes instructions that wk_inst_c_loops does not have; NULL: it has them. Movement
 * becomes strides and copies. */
const char *wk_inst_c_refusal(const wk_graph *g, const wk_node *n);

/* The instruction as loops, memory in the arena; false for any but fill, copy, map, reduce (not to
 * positions), matmul, conv, max_pool (without indices) and avg_pool (of floats). Sums of f16 and
 * bf16 are sums in f16 and bf16, which wk_inst_c_refusal refuses. */
bool wk_inst_c_loops(const wk_inst *i, wk_arena *a, wk_inst_c *out);

/* `for (long i0 = 0; i0 < DIM; i0++)`, a line for each axis; what runs in them comes behind. */
void wk_inst_c_for(wk_str *b, char letter, int rank, const int64_t *dims);

/* What is read, as an expression of the element's type in memory, `((WK_GLOBAL wk_f32 *)(BASE +
 * 128))[0 + 4 * (i0)]`, text in the arena; base points to the bytes of the operand's buffer.
 * Along axes of one element, where operands broadcast, the position is not looked at. Bodies of
 * loops (wk_view.step) are not for it. */
const char *wk_inst_c_element(wk_arena *a, const wk_view *v, const char *base,
                              const wk_inst_c_read *r);

/* For each buffer of a placed program a C expression that points to its bytes, text in the arena.
 * It starts from what step functions get (runtime/abi.h), as variables of these names: `char **io`
 * with the inputs, then the outputs; `char *arena`; `char *consts`, where buffer b lies at
 * const_at[b]. */
const char *const *wk_inst_c_bases(const wk_program *p, const uint64_t *const_at, wk_arena *a);

/* What stands within the loops over i: from the accumulators to the outputs. base: as
 * wk_inst_c_bases makes them, or with pointers of the caller's. */
void wk_inst_c_body(wk_str *b, wk_arena *a, const wk_inst *i, const wk_inst_c *l,
                    const char *const *base);

/* All of it, the loops over i one within the other; false as wk_inst_c_loops. */
bool wk_inst_c_print(wk_str *b, wk_arena *a, const wk_inst *i, const char *const *base);

/* All top-level instructions of a program, as cases of a `switch` over the number of a step: `case
 * FIRST:` is the first of them. WK_INTERNAL: wk_inst_c_loops does not have one. */
wk_status wk_inst_c_cases(wk_str *b, wk_arena *a, const wk_program *p, const char *const *base,
                          size_t first) WK_MUST_CHECK;

#endif
