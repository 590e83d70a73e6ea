/* SPDX-License-Identifier: Apache-2.0
 * prepare: pieces of the pass of that name. Private to this folder. */
#ifndef WICK_OPENCL_PREPARE_H
#define WICK_OPENCL_PREPARE_H

#include "targets/opencl/opencl.h"

/* Convolutions of so few channels have the taps of a row and the channels of each as one run, where
 * the image lies so; images of so few are copied to lie so. */
enum { WK_CL_FEW_CHANNELS = 8 };

/* Positions along spatial axis d that windows of a convolution reach are outside of the image. */
bool wk_cl_clips(const wk_inst *i, int d);

/* A transposed convolution with constant weights, each of whose outputs has a tap at least. */
bool wk_cl_wants_phases(const wk_program *p, const wk_inst *i);
/* Appends convolutions that do the same. */
void wk_cl_add_phases(wk_program *p, wk_block *out, const wk_inst *i);

/* A reduction with work for too few units of a GPU. */
bool wk_cl_wants_stages(const wk_opencl *d, const wk_inst *i);
/* Appends two that do the same. */
void wk_cl_add_stages(const wk_opencl *d, wk_program *p, wk_block *out, wk_inst *i);

#endif
