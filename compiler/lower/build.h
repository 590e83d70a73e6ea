/* SPDX-License-Identifier: Apache-2.0
 * Building primitives in place of an operator, for lower/ and those above it that add to graphs.
 * Errors are sticky: after the first one every call returns 0 and wk_low.status keeps it, so a
 * lowering reads as a formula. */
#ifndef WICK_LOWER_BUILD_H
#define WICK_LOWER_BUILD_H

#include "compiler/lower/lower.h"

typedef struct {
  wk_graph *g;
  wk_arena *arena;     /* of the module */
  const char *name;    /* node names of what is built */
  wk_status status;
} wk_low;

/* One lowering: builds the replacement of node `n` (a copy of the node; its id may move) and stores
 * the new values of its outputs in out[n->n_out]. */
typedef void (*wk_lower_fn)(wk_low *l, const wk_node *n, wk_value_id *out);

const wk_type *wk_low_type(const wk_low *l, wk_value_id v);
wk_value_id wk_low_add(wk_low *l, wk_op op, void *attrs, const wk_value_id *in, uint32_t n_in,
                       uint32_t n_out, wk_value_id *out); /* returns the first output */
/* Elementwise: `text` is an expression template over a, b, c, d, e (expr.h); numpy broadcasting.
 * What an operator computes on the way to its result has the type wk_compute_dtype gives. */
wk_value_id wk_low_map(wk_low *l, wk_dtype out, const char *text, int n, ...);
/* Fold of pre(a) over axes, then post(a); texts NULL = identity; kind as in ops.def (post only
 * where it folds values; positions are i64 whatever `out` says). Sums and products of 16-bit floats
 * are computed in f32, those of narrow integers that have a post in i64, pre and post included. */
wk_value_id wk_low_reduce(wk_low *l, wk_dtype out, const char *kind, wk_value_id x,
                          const int64_t *axes, int n_axes, bool keepdims, const char *pre,
                          const char *post);
wk_value_id wk_low_reshape(wk_low *l, wk_value_id x, int rank, const int64_t *dims);
wk_value_id wk_low_transpose(wk_low *l, wk_value_id x, const int64_t *perm);
wk_value_id wk_low_slice(wk_low *l, wk_value_id x, int axis, int64_t start, int64_t size,
                         int64_t step);
wk_value_id wk_low_expand(wk_low *l, wk_value_id x, int rank, const int64_t *dims);
wk_value_id wk_low_concat(wk_low *l, const wk_value_id *xs, uint32_t n, int64_t axis);
/* Of floats; the result has the type `out`. */
wk_value_id wk_low_matmul(wk_low *l, wk_dtype out, wk_value_id a, wk_value_id b, wk_value_id bias);
wk_value_id wk_low_gather(wk_low *l, wk_value_id data, wk_value_id indices, int64_t axis);
/* Lengths of sequences as i64; a run with one outside 0..steps is refused. */
wk_value_id wk_low_lengths(wk_low *l, wk_value_id lengths, int64_t steps);
wk_value_id wk_low_scalar(wk_low *l, wk_dtype t, double v);
/* Constants with contents from the caller's array (copied). */
wk_value_id wk_low_const_real(wk_low *l, wk_dtype t, int rank, const int64_t *dims,
                              const double *v); /* t: a type of floats */
wk_value_id wk_low_const_i32(wk_low *l, int rank, const int64_t *dims, const int32_t *v);
wk_value_id wk_low_const_i64(wk_low *l, int rank, const int64_t *dims, const int64_t *v);
/* A constant of ones; t: an integer type. */
wk_value_id wk_low_ones(wk_low *l, wk_dtype t, int rank, const int64_t *dims);
/* A [c] vector shaped so that it broadcasts along axis 1 of a tensor of the given rank. */
wk_value_id wk_low_per_channel(wk_low *l, wk_value_id v, int rank);
void wk_low_fail(wk_low *l, wk_status s);
/* Zeroed room for n entries, where n comes from the sizes of tensors; NULL after an error, which
 * is WK_RESOURCE for tables larger than the module's budget. */
void *wk_low_table(wk_low *l, int64_t n, size_t entry);

/* The lowerings, one per GRAPH operator that is no elementwise one and no view. */
#define WK_LOWERINGS(X)                                                                            \
  X(TILE, tile) X(PAD, pad)                                                                        \
  X(REDUCE_SUM, reduce) X(REDUCE_MEAN, reduce) X(REDUCE_MAX, reduce) X(REDUCE_MIN, reduce)         \
  X(REDUCE_PROD, reduce) X(REDUCE_L1, reduce) X(REDUCE_L2, reduce) X(REDUCE_LOG_SUM, reduce)       \
  X(REDUCE_LOG_SUM_EXP, log_sum_exp) X(REDUCE_SUM_SQUARE, reduce)                                  \
  X(ARG_MAX, arg_reduce) X(ARG_MIN, arg_reduce)                                                    \
  X(SOFTMAX, softmax) X(LOG_SOFTMAX, log_softmax) X(HARDMAX, hardmax)                              \
  X(LAYER_NORM, layer_norm) X(BATCH_NORM, batch_norm) X(INSTANCE_NORM, instance_norm)              \
  X(GROUP_NORM, group_norm) X(LP_NORM, lp_norm) X(ATTENTION, attention) X(LRN, lrn)                \
  X(ONE_HOT, one_hot) X(RESIZE, resize) X(REVERSE_SEQUENCE, reverse_sequence) X(TRILU, trilu)      \
  X(MAX_UNPOOL, max_unpool) X(GRID_SAMPLE, grid_sample) X(LSTM, lstm) X(GRU, gru) X(RNN, rnn)      \
  X(INTEGER_MATMUL, integer_matmul) X(INTEGER_AVG_POOL, integer_avg_pool)                          \
  X(INTEGER_SOFTMAX, integer_softmax) X(INTEGER_NORM, integer_norm)                                \
  X(INTEGER_RESIZE, integer_resize) X(DEPTH_TO_SPACE, depth_to_space)
#define X(op, fn) void wk_lower_##fn(wk_low *l, const wk_node *n, wk_value_id *out);
WK_LOWERINGS(X)
#undef X

#endif
