/* SPDX-License-Identifier: Apache-2.0
 * make: instructions to launches. Every function returns false, and adds nothing, when the
 * instruction is not its; the next one in the table of compile.c is asked. Private to this
 * folder. */
#ifndef WICK_OPENCL_MAKE_H
#define WICK_OPENCL_MAKE_H

#include "targets/opencl/loops.h"

typedef struct {
  wk_cl_unit *unit;
  const wk_opencl *device;
  const wk_program *p;
  const wk_inst *inst;
  wk_arena *a; /* of this instruction */
} wk_cl_making;

enum { WK_CL_BUSY = 128 }; /* work items that keep a unit of a GPU busy */

/* Launches of an instruction, by the first of the functions below that does it. */
wk_status wk_cl_add_inst(wk_cl_unit *u, const wk_program *p, const wk_inst *i) WK_MUST_CHECK;

/* A map, copy or fill whose results do not depend on where they are. */
bool wk_cl_is_plain(const wk_inst *i);
/* The same plain instruction with axes in the order of the output's memory, those joined that are
 * one in all operands. */
wk_inst *wk_cl_flat(const wk_cl_making *m);

/* Maps and copies between tensors that lie along different axes (GPU). */
bool wk_cl_make_turn(const wk_cl_making *m);
/* Elements of the outputs, many per work item (CPU), or one or a vector (GPU). */
bool wk_cl_make_each(const wk_cl_making *m);
/* Products on tiles (tile.h): matmul, and convolutions as products over taps. */
bool wk_cl_make_matmul(const wk_cl_making *m);
bool wk_cl_make_conv(const wk_cl_making *m);
/* Convolutions of each channel by itself (depthwise.h). */
bool wk_cl_make_depthwise(const wk_cl_making *m);
/* Folds of many elements by a work-group (GPU). */
bool wk_cl_make_reduce(const wk_cl_making *m);
/* Where the greatest or least of many elements is, by a work-group (GPU). */
bool wk_cl_make_find(const wk_cl_making *m);
/* Chains of map and reduce, row by row (nest.h). */
bool wk_cl_make_nest(const wk_cl_making *m);

#endif
