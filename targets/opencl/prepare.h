/* SPDX-License-Identifier: Apache-2.0
 * prepare: pieces of the pass of that name. Private to this folder. */
#ifndef WICK_OPENCL_PREPARE_H
#define WICK_OPENCL_PREPARE_H

#include "targets/opencl/opencl.h"

/* A transposed convolution with constant weights, each of whose outputs has a tap at least. */
bool wk_cl_wants_phases(const wk_program *p, const wk_inst *i);
/* Appends convolutions that do the same. */
void wk_cl_add_phases(wk_program *p, wk_block *out, const wk_inst *i);

#endif
