/* SPDX-License-Identifier: Apache-2.0
 * inst_c: instructions as loops around scalar expressions, for targets that generate C or OpenCL C
 * with expr_c.h (rank 1). Whatever an instruction computes, it is one thing here:
 *
 *   for all positions i
 *     accumulators = begin(elements read)
 *     for all positions k
 *       p = positions read from tensors
 *       if `counts` holds: accumulators = step(accumulators, elements read)
 *       if `stores` holds: outputs[at] = end(accumulators, elements read)
 *     without `stores`: outputs[at] = end(accumulators, elements read)
 *
 * What is done for one i needs nothing of what is done for another: loops, or work items. In a map
 * there is nothing but `end`, in a gather p before it. Only a nest is something else, a list of
 * these for each i. Positions are C expressions over i0, i1, …, k0, k1, … and p0, p1, …, which are
 * variables of a signed integer type. Text declares names of one letter and digits. */
#ifndef WICK_CGEN_INST_C_H
#define WICK_CGEN_INST_C_H

#include "compiler/ir/program.h"

/* An element of an operand. */
typedef struct {
  uint32_t operand;
  const char *at[WK_MAX_RANK]; /* position along each axis */
  const char *inside;          /* C condition under which there is one; NULL: always */
  int64_t outside;             /* what it is elsewhere */
  wk_dtype packed;             /* of bytes: the f32 or f16 that begins there; 0: the byte itself */
  const char *space;           /* address space that the base points to; NULL: WK_GLOBAL */
} wk_inst_c_read;

/* A position along an axis of `size`, read from a tensor of integers: p0, p1, … Negative ones
 * count from the end. One outside the axis is reported by the statement `WK_BAD_INDEX();` and is 0
 * then: whoever is asked to say so defines that macro, before the prelude of expr_c.h comes. */
typedef struct {
  wk_inst_c_read read;
  int64_t size;
} wk_inst_c_position;

typedef struct {
  int rank, inner_rank; /* axes of i and of k */
  int64_t dims[WK_MAX_RANK], inner_dims[WK_MAX_RANK];
  const wk_inst_c_read *range;         /* NULL, or two reads of integers: k0 is from the first one's
                                          up to before the second one's. `WK_BAD_INDEX();` and none
                                          where that is not within its dim */
  wk_inst_c_position *positions;       /* in each step; before `end` where nothing is folded */
  const char *counts;                  /* C condition; NULL: always */
  const char *stores;                  /* C condition; NULL: once, behind the steps */
  const wk_expr *begin, *step, *end;   /* begin and step NULL: nothing is folded */
  wk_inst_c_read *begin_reads, *step_reads, *end_reads; /* inputs behind the accumulators */
  size_t n_positions, n_begin, n_step, n_end;
  const char *index[WK_MAX_RANK]; /* wk_expr_c.index of step; that of end is wk_inst_c_i */
  const char *at[WK_MAX_RANK];    /* where the results of `end` go in the outputs */
} wk_inst_c;

extern const char *const wk_inst_c_i[WK_MAX_RANK]; /* i0, i1, … */

/* Why a node becomes instructions that wk_inst_c_loops does not have; NULL: it has them. Movement
 * becomes strides and copies. */
const char *wk_inst_c_refusal(const wk_graph *g, const wk_node *n);
/* The same of an operator, whatever its operands are, as wk_target.covers: true with what it does
 * not take, or false with the reason. What is lowered has loops. */
bool wk_inst_c_covers(wk_op op, const char **note);

/* The instruction as loops, memory in the arena; false for control flow, random numbers,
 * roi_align, non_max_suppression, det, custom operators, and a nest of others than map, reduce,
 * copy and fill. */
bool wk_inst_c_loops(const wk_inst *i, wk_arena *a, wk_inst_c *out);

/* `for (long i0 = 0; i0 < DIM; i0++)`, a line for each axis; what runs in them comes behind. */
void wk_inst_c_for(wk_str *b, char letter, int rank, const int64_t *dims);

/* What is read, as an expression of the element's type in memory, `((WK_GLOBAL wk_f32 *)(BASE +
 * 128))[0 + 4 * (i0)]`, text in the arena; base points to the bytes of the operand's buffer
 * (NULL: it is scratch of the text's own). Along axes of one element, where operands broadcast, the
 * position is not looked at. Bodies of loops (wk_view.step) are not for it. */
const char *wk_inst_c_element(wk_arena *a, const wk_view *v, const char *base,
                              const wk_inst_c_read *r);

/* For each buffer of a placed program a C expression that points to its bytes, text in the arena.
 * It starts from what step functions get (runtime/abi.h), as variables of these names: `char **io`
 * with the inputs, then the outputs; `char *arena`; `char *consts`, where buffer b lies at
 * const_at[b]. NULL for scratch. */
const char *const *wk_inst_c_bases(const wk_program *p, const uint64_t *const_at, wk_arena *a);

/* What stands within the loops over i: from the accumulators to the outputs. base: as
 * wk_inst_c_bases makes them, or with pointers of the caller's. Scratch of a nest whose base is
 * NULL becomes arrays that are declared there (in OpenCL C: private memory). */
void wk_inst_c_body(wk_str *b, wk_arena *a, const wk_inst *i, const wk_inst_c *l,
                    const char *const *base);

/* All of it, the loops over i one within the other; false as wk_inst_c_loops. */
bool wk_inst_c_print(wk_str *b, wk_arena *a, const wk_inst *i, const char *const *base);

/* All top-level instructions of a program, as cases of a `switch` over the number of a step: `case
 * FIRST:` is the first of them. WK_INTERNAL: wk_inst_c_loops does not have one. */
wk_status wk_inst_c_cases(wk_str *b, wk_arena *a, const wk_program *p, const char *const *base,
                          size_t first) WK_MUST_CHECK;

#endif
