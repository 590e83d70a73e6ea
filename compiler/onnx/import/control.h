/* SPDX-License-Identifier: Apache-2.0
 * control: graphs inside nodes. Either a body becomes part of the graph around it (a branch known
 * at import, an unrolled loop), or a graph of its own whose captures are explicit. */
#ifndef WICK_ONNX_IMPORT_CONTROL_H
#define WICK_ONNX_IMPORT_CONTROL_H

#include "compiler/onnx/import/size.h"

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
void wk_body_close(wk_onnx_node *c, wk_body *b);
/* The node as one of its body; its status goes back to c. */
wk_onnx_node wk_body_node(const wk_onnx_node *c, const wk_body *b);
/* Input `inner` of the body has the sizes of v, a value of the graph around, in every run of it. */
void wk_body_sizes(wk_onnx_node *c, const wk_body *b, wk_value_id inner, wk_value_id v);
/* The same of a result of the node. */
void wk_body_result(wk_onnx_node *c, wk_value_id out, wk_value_id v);
/* *inner, a value of the body, has the type and the sizes of v, and is given its room. */
bool wk_body_keeps(wk_onnx_node *c, const wk_body *b, wk_value_id v, wk_value_id *inner);
/* In the body: `then` in iterations below the size, `before` behind them. */
wk_value_id wk_body_until(wk_onnx_node *c, const wk_body *b, wk_value_id iteration,
                          const wk_size *size, wk_value_id before, wk_value_id then);
/* `out`, a result of the node, is made of n values `inner` of the body, along a new axis; refused
 * where these may differ in size. */
void wk_body_rows(wk_onnx_node *c, const wk_body *b, wk_value_id inner, wk_value_id out, int axis,
                  const wk_size *n);
/* Every output is a tensor (else latches WK_UNSUPPORTED). False also when one is unknown; then the
 * reason is on record already and *unknown says so. */
bool wk_body_tensors(wk_onnx_node *c, const wk_bound *out, size_t n, bool *unknown);
/* What the node's own results are when its body could not be imported. */
void wk_body_results_unknown(wk_onnx_node *c);

/* The node of the body that makes state k of the state as it was with rows behind it, along the
 * first axis, which nothing else reads; NULL: there is none. */
const Onnx__NodeProto *wk_loop_joining(const Onnx__GraphProto *body, size_t state);
/* The body without the states whose joining[k] is such a node: their rows are its last outputs. In
 * the arena. */
const Onnx__GraphProto *wk_loop_rows(wk_arena *a, const Onnx__GraphProto *body, size_t n_state,
                                     const Onnx__NodeProto *const *joining);
/* The Loop as a choice of two: where count (i64[]) is 0 it has no iteration. Its outputs all have
 * names. */
wk_status wk_loop_or_none(wk_onnx_node *c, wk_value_id count);
/* It is in one of the two. */
bool wk_loop_is_entered(const wk_onnx_node *c);

/* A Loop with this body that runs `trip` times, each time folding rows of a table into one of its
 * result, as torch exports EmbeddingBag: becomes segment_reduce. False, with nothing changed: it is
 * another loop. Bounds outside of the indices are errors when it runs, where Slice would cut. */
bool wk_onnx_loop_of_bags(wk_onnx_node *c, const Onnx__GraphProto *p, int64_t trip);

#endif
