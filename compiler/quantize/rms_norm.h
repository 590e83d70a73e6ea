/* SPDX-License-Identifier: Apache-2.0
 * Private to quantize/: norms that are several nodes, between which nothing is quantised. */
#ifndef WICK_QUANTIZE_RMS_NORM_H
#define WICK_QUANTIZE_RMS_NORM_H

#include "compiler/ir/ir.h"

enum { WK_QUANTIZE_NORM_NODES = 9 };

/* In execution order. The first squares what is normalised; the last makes the result, which alone
 * others read. */
typedef struct {
  wk_node_id nodes[WK_QUANTIZE_NORM_NODES];
  uint32_t n;
} wk_quantize_norm;

/* An RMS normalisation written out, of f32 or others, begins with node `first`. */
bool wk_quantize_norm_at(const wk_graph *g, const wk_uses *u, wk_node_id first,
                         wk_quantize_norm *o);

#endif
