/* SPDX-License-Identifier: Apache-2.0
 * depthwise: convolutions of each channel by itself, channels last. Private to this folder. */
#ifndef WICK_OPENCL_DEPTHWISE_H
#define WICK_OPENCL_DEPTHWISE_H

#include "targets/opencl/make.h"

typedef struct {
  const wk_cl_making *m;
  wk_cl_kernel *k;
  wk_cl_loops l;
  const wk_view *y, *x, *w;
  const wk_attr_conv *c;
  int spatial;   /* axes of the window; the last of them is the axis spatial + 1 of x and y */
  int64_t taps;  /* of the window */
  wk_dtype sum;
  int lanes;     /* channels of a vector */
  int vectors;   /* CPU: of a work item */
  int pixels;    /* GPU: of a work item, along the last axis */
} wk_cl_depthwise;

/* False: the instruction is none, or its weights are not constant. */
bool wk_cl_depthwise_open(wk_cl_depthwise *v, const wk_cl_making *m);
/* The weights as an argument, [tap][channel]; its number. */
uint32_t wk_cl_depthwise_weights(const wk_cl_depthwise *v);

/* A work item computes some pixels of a row for neighbouring channels: on CPUs for vectors of
 * them, on GPUs for one vector that fits into registers with what its pixels read. */
bool wk_cl_depthwise_cpu(wk_cl_depthwise *v);
bool wk_cl_depthwise_gpu(wk_cl_depthwise *v);

#endif
