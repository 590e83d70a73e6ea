/* SPDX-License-Identifier: Apache-2.0
 * window: convolutions whose rows are images. Where the window is most of the image, as in the
 * gradient of weights, few positions remain for it, and images are what there is many of: x lies
 * contiguous along n, y[n, oh, ow, o] is summed up over k = (channel, r, s), and the tile takes a
 * pointer for each k, behind which its rows are neighbours. Panels of w are packed block by block
 * of k, as a product's right operand is. Private to this folder. */
#ifndef WICK_CPU_WINDOW_H
#define WICK_CPU_WINDOW_H

#include "targets/cpu/kernels/kernels.h"

/* x is f32 with x_stride[0] 1 (or one image); w: output channels are neighbours, and `step`
 * elements lie between those of one k and the next. */
wk_status wk_cpu_window_codegen(wk_llvm *e, const wk_cpu_conv_desc *d, int64_t step,
                                const wk_cpu_epilogue *epi, wk_cpu_kernel *out) WK_MUST_CHECK;

/* Which costs less with weights that are known at run time only: this or the kernels of
 * wk_cpu_conv_codegen. What has to be copied first counts; the strides of w do not. */
bool wk_cpu_window_pays(const wk_cpu_conv_desc *d);
/* What they cost, in multiply-adds of a full tile: this one, where so many elements are copied as
 * well, and the cheaper one. */
double wk_cpu_window_cost(const wk_cpu_conv_desc *d, int64_t copied);
double wk_cpu_conv_cost(const wk_cpu_conv_desc *d);

#endif
