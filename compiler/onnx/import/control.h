/* SPDX-License-Identifier: Apache-2.0
 * control: graphs inside nodes. Either a body becomes part of the graph around it (a branch known
 * at import, an unrolled loop), or a graph of its own whose captures are explicit. */
#ifndef WICK_ONNX_IMPORT_CONTROL_H
#define WICK_ONNX_IMPORT_CONTROL_H

#include "compiler/onnx/import/make.h"

/* Imports p into the node's own graph; inputs are bound to its input names, out gets its
 * outputs. */
void wk_body_inline(wk_onnx_node *c, const Onnx__GraphProto *p, const wk_bound *in, size_t n_in,
                    wk_bound *out, size_t n_out);

/* A body as a graph of its own. in holds values of that graph (inputs and constants made
 * before). */
typedef struct {
  const Onnx__GraphProto *p;
  wk_graph *g;
  wk_scope *scope;
} wk_body;
bool wk_body_open(wk_onnx_node *c, const Onnx__GraphProto *p, wk_body *b); /* close it either way */
void wk_body_import(wk_onnx_node *c, wk_body *b, const wk_bound *in, size_t n_in, wk_bound *out,
                    size_t n_out);
void wk_body_close(wk_body *b);
/* Every output is a tensor (else latches WK_UNSUPPORTED). False also when one is unknown; then the
 * reason is on record already and *unknown says so. */
bool wk_body_tensors(wk_onnx_node *c, const wk_bound *out, size_t n, bool *unknown);
/* What the node's own results are when its body could not be imported. */
void wk_body_results_unknown(wk_onnx_node *c);

/* A Loop with this body that runs `trip` times, each time folding rows of a table into one of its
 * result, as torch exports EmbeddingBag: becomes segment_reduce. False, with nothing changed: it is
 * another loop. Bounds outside of the indices are errors when it runs, where Slice would cut. */
bool wk_onnx_loop_of_bags(wk_onnx_node *c, const Onnx__GraphProto *p, int64_t trip);

#endif
