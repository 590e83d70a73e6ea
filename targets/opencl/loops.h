/* SPDX-License-Identifier: Apache-2.0
 * loops: an instruction as statements of a kernel, made of wk_inst_c loops. Private to this
 * folder. */
#ifndef WICK_OPENCL_LOOPS_H
#define WICK_OPENCL_LOOPS_H

#include "compiler/cgen/inst_c.h"
#include "targets/opencl/unit.h"

typedef struct {
  wk_str *b; /* where statements go: the body of `kernel` */
  wk_arena *a;
  wk_cl_kernel *kernel;
  const wk_inst *inst;
  wk_inst_c l;
  const char **base;  /* of each operand: pointer to its first element; NULL: scratch, or none */
  const char **space; /* of each operand: address space that `base` points to; NULL: global */
  const wk_view **twin; /* of each output: local memory that gets the results, too; NULL: none */
  const char **twin_base;
  const char **instead; /* of each operand: what stands for its elements; NULL: the memory */
  bool is_wide;      /* a work item does many elements: neighbours become vectors */
  const char *type;  /* of positions: "int" where they and all offsets are of 31 bits and the work
                        item does few elements, else "long" */
} wk_cl_loops;

/* Operands become arguments of the kernel, in order, but for operand number `left_out` (WK_NONE:
 * all do) and for scratch, which is arrays t<BUFFER> of the caller's. False: there are no loops for
 * it. */
bool wk_cl_loops_open(wk_cl_loops *x, wk_arena *a, wk_cl_kernel *k, const wk_program *p,
                      const wk_inst *i, uint32_t left_out, bool is_wide);

/* `const long <letter>AXIS = …;` for the axes of `dims` but `skip` (-1: none), from the flat
 * position that the C expression says, the last axis fastest. */
void wk_cl_positions(wk_str *b, char letter, int rank, const int64_t *dims, int skip,
                     const char *flat);

/* The same from axis `first` on as variables of x->type, from a flat position of wk_cl_flat_type:
 * ints are made by divisions of unsigned numbers, which are the cheapest. */
void wk_cl_split(const wk_cl_loops *x, char letter, int first, int rank, const int64_t *dims,
                 int skip, const char *flat);
/* All of them, axis `fast` the fastest; `flat` is a name. */
void wk_cl_split_fast(const wk_cl_loops *x, char letter, int first, int rank, const int64_t *dims,
                      int fast, const char *flat);
const char *wk_cl_flat_type(const wk_cl_loops *x); /* "uint" or "long" */

/* Of all dims but number `skip` (-1: of all). */
int64_t wk_cl_product(int rank, const int64_t *dims, int skip);
int64_t wk_cl_magnitude(int64_t x);

/* The axis along which neighbours in memory are neighbours, 0 if there is none. */
int wk_cl_fastest(const wk_view *v);

/* What is read, as a C expression of its type in memory. */
const char *wk_cl_element(const wk_cl_loops *x, const wk_inst_c_read *r);

/* From the accumulators (C expressions, NULL: there are none) to the outputs, at i0, i1, …. */
void wk_cl_end(const wk_cl_loops *x, const char *const *accumulators);

/* Declares the accumulators a0, a1, … as they are at first. */
void wk_cl_begin(const wk_cl_loops *x);
/* One step of the fold at k0, k1, …; accumulators are assigned. */
void wk_cl_step(const wk_cl_loops *x, const char *const *accumulators);
/* The same step for another element than the one that is read, at other positions. */
void wk_cl_step_with(const wk_cl_loops *x, const char *const *accumulators, const char *element,
                     const char *const *index);
/* Folds of parts can be joined: it is a reduce to one value. */
bool wk_cl_is_joinable(const wk_cl_loops *x);
/* pair[0] becomes what both parts are together. */
void wk_cl_join(const wk_cl_loops *x, const char *const *pair);

/* Everything at i0, i1, …, which are defined already. */
void wk_cl_at(const wk_cl_loops *x);
/* Everything for lo <= i<axis> < hi (C expressions); the other positions are defined already. The
 * loop is one that compilers turn into vectors. */
void wk_cl_run(const wk_cl_loops *x, int axis, const char *lo, const char *hi);

#endif
