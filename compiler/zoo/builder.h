/* SPDX-License-Identifier: Apache-2.0
 * builder: a C interface for writing networks by hand (rank 3). Layers with seeded weights, sticky
 * errors: after the first failure every call returns WICK_NO_VALUE and wick_builder_finish reports
 * it, so a network reads as a list of layers.
 *
 *   wick_builder *b = wick_builder_new("tiny", 1);
 *   wick_value x = wick_input(b, "x", WK_F32, 4, (int64_t[]){1, 3, 32, 32});
 *   x = wick_relu(b, wick_conv(b, x, &(wick_conv_opts){.out = 16, .kernel = 3, .pad = 1}));
 *   wick_output(b, "y", wick_softmax(b, wick_linear(b, wick_global_avg_pool(b, x), 10), -1));
 *   WK_TRY(wick_builder_finish(b, &module));
 *
 * Activations are [n, c, spatial...]. The same calls with the same seed give the same bytes on
 * every machine. */
#ifndef WICK_BUILDER_H
#define WICK_BUILDER_H

#include "compiler/ir/ir.h"

typedef wk_value_id wick_value;
#define WICK_NO_VALUE WK_NONE

typedef struct wick_builder wick_builder;
wick_builder *wick_builder_new(const char *model, uint64_t seed);
/* Ends building either way; on success the module is the caller's. */
wk_status wick_builder_finish(wick_builder *b, wk_module **out) WK_MUST_CHECK;
/* How many samples inputs [n, c, h, w] that are made from now on hold; inputs of other ranks are
 * refused. 0: as they say. */
void wick_set_batch(wick_builder *b, int64_t n);
/* Layers made from now on get names "scope/conv", "scope/conv_2", …; NULL: no scope. */
void wick_scope(wick_builder *b, const char *scope);

wick_value wick_input(wick_builder *b, const char *name, wk_dtype t, int rank, const int64_t *dims);
void wick_output(wick_builder *b, const char *name, wick_value v);
wk_type wick_type_of(const wick_builder *b, wick_value v); /* rank 0 after an error */

/* Weights: normal, deviation sqrt(2 / fan-in). Zero fields mean 1 (stride, dilation, group) or 0.
 */
typedef struct {
  int64_t out, kernel, kernel_w; /* kernel_w 0: square (or the only one in 1-D) */
  int64_t stride, pad, pad_w, dilation, group;
  bool bias;
} wick_conv_opts;
wick_value wick_conv(wick_builder *b, wick_value x, const wick_conv_opts *o);
wick_value wick_conv_transpose(wick_builder *b, wick_value x, const wick_conv_opts *o);
wick_value wick_batch_norm(wick_builder *b, wick_value x);
wick_value wick_layer_norm(wick_builder *b, wick_value x);    /* last axis */
/* x / sqrt(mean(x^2) + 1e-5) * scale along the last axis, in operators of one step each. */
wick_value wick_rms_norm(wick_builder *b, wick_value x);
wick_value wick_linear(wick_builder *b, wick_value x, int64_t out); /* last axis, with bias */
wick_value wick_project(wick_builder *b, wick_value x, int64_t out); /* without */
wick_value wick_embedding(wick_builder *b, wick_value ids, int64_t rows, int64_t width);
wick_value wick_rows(wick_builder *b, wick_value table, wick_value ids); /* of a parameter */
/* The sum of the rows that each row of ids names: i64 [n, k] -> [n, width]. is_bytes: rows are
 * 8-bit numbers with a scale and a bias of their own. */
wick_value wick_bag(wick_builder *b, wick_value ids, int64_t rows, int64_t width, bool is_bytes);
/* [t,n,i] -> [t,d,n,h] */
wick_value wick_lstm(wick_builder *b, wick_value x, int64_t hidden, bool both_ways);
wick_value wick_parameter(wick_builder *b, int rank, const int64_t *dims, float deviation);
/* Known numbers, in row-major order; x is copied. */
wick_value wick_constant(wick_builder *b, int rank, const int64_t *dims, const float *x);

wick_value wick_unary(wick_builder *b, wk_op op, wick_value x);
wick_value wick_binary(wick_builder *b, wk_op op, wick_value x, wick_value y);
wick_value wick_scalar(wick_builder *b, double v);
wick_value wick_relu(wick_builder *b, wick_value x);
wick_value wick_clip(wick_builder *b, wick_value x, double lo, double hi);
wick_value wick_add(wick_builder *b, wick_value x, wick_value y);
wick_value wick_mul(wick_builder *b, wick_value x, wick_value y);
wick_value wick_softmax(wick_builder *b, wick_value x, int axis); /* negative: from the end */

wick_value wick_max_pool(wick_builder *b, wick_value x, int64_t kernel, int64_t stride,
                         int64_t pad);
wick_value wick_avg_pool(wick_builder *b, wick_value x, int64_t kernel, int64_t stride,
                         int64_t pad);
wick_value wick_global_avg_pool(wick_builder *b, wick_value x); /* [n, c, 1, …] */
wick_value wick_mean(wick_builder *b, wick_value x, int axis, bool keeps); /* of one axis */
wick_value wick_flatten(wick_builder *b, wick_value x);         /* [n, rest] */

wick_value wick_concat(wick_builder *b, const wick_value *xs, int n, int axis);
wick_value wick_reshape(wick_builder *b, wick_value x, int rank, const int64_t *dims);
wick_value wick_expand(wick_builder *b, wick_value x, int rank, const int64_t *dims);
wick_value wick_transpose(wick_builder *b, wick_value x, const int64_t *perm);
wick_value wick_slice(wick_builder *b, wick_value x, int axis, int64_t start, int64_t size);
wick_value wick_slice_steps(wick_builder *b, wick_value x, int axis, int64_t start, int64_t size,
                            int64_t step);
wick_value wick_select(wick_builder *b, wick_value x, int axis, const int64_t *at, int64_t n);
wick_value wick_matmul(wick_builder *b, wick_value x, wick_value y);

#endif
