/* SPDX-License-Identifier: Apache-2.0
 * depthwise: convolution with one input and one output channel per group. Private to this folder.
 */
#ifndef WICK_CPU_DEPTHWISE_H
#define WICK_CPU_DEPTHWISE_H

#include "targets/cpu/kernels/kernels.h"

bool wk_depthwise_fits(const wk_cpu_conv_desc *d);
int64_t wk_depthwise_packed_bytes(const wk_simd *simd, const wk_cpu_conv_desc *d);
/* Weights as [channel block][heads + words of a window][lanes] words of taps of a column (dot.h).
 */
void wk_depthwise_pack(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *w,
                       const int64_t w_stride[4], void *out);
/* What packing does to floats (kernels.h: wk_cpu_conv_pieces). */
int wk_depthwise_pieces(const wk_simd *simd, const wk_cpu_conv_desc *d,
                        wk_cpu_conv_piece out[WK_CPU_CONV_PIECES]);
void wk_depthwise_reach(const wk_simd *simd, const wk_cpu_conv_desc *d, const void *packed,
                        int64_t (*reach)[2]);
wk_status wk_depthwise_codegen(wk_llvm *e, const wk_cpu_conv_desc *d, const wk_cpu_epilogue *epi,
                               wk_cpu_kernel *out) WK_MUST_CHECK;

#endif
