/* SPDX-License-Identifier: Apache-2.0
 * emit: short forms with which handlers add nodes. All of them return WK_NONE once c->status is
 * set. A node all of whose inputs are constants is computed at once when the result is small. */
#ifndef WICK_ONNX_IMPORT_MAKE_H
#define WICK_ONNX_IMPORT_MAKE_H

#include "compiler/onnx/import/importer.h"

/* Attributes with the table's defaults, in the module's arena. */
void *wk_make_attrs(wk_onnx_node *c, wk_op op);
#define WK_MAKE_ATTRS(c, var, e, name) wk_attr_##name *var = wk_make_attrs((c), WK_OP_##e)

/* One node; inputs may be WK_NONE where the operator allows it. Returns the first output. */
wk_value_id wk_make(wk_onnx_node *c, wk_op op, void *attrs, int n_in, ...);
void wk_make_n(wk_onnx_node *c, wk_op op, void *attrs, const wk_value_id *in, int n_in,
               wk_value_id *out, int n_out);
/* Computes a node all of whose inputs are constants, if its results stay within budget (bytes). */
bool wk_make_fold(wk_onnx_node *c, wk_node_id id, int64_t budget);
#define wk_make_1(c, op, x) wk_make((c), (op), NULL, 1, (x))
#define wk_make_2(c, op, x, y) wk_make((c), (op), NULL, 2, (x), (y))
#define wk_make_where(c, cond, x, y) wk_make((c), WK_OP_WHERE, NULL, 3, (cond), (x), (y))

/* Constants. */
wk_value_id wk_make_constant(wk_onnx_node *c, const wk_type *t, void **data);
wk_value_id wk_make_scalar(wk_onnx_node *c, wk_dtype t, double v);
wk_value_id wk_make_i64s(wk_onnx_node *c, const int64_t *v, int64_t n);
wk_value_id wk_make_iota(wk_onnx_node *c, int64_t n); /* i64[n]: 0, 1 … */
wk_value_id wk_make_f64s(wk_onnx_node *c, wk_dtype t, const double *v, int rank,
                         const int64_t *dims);
/* A tensor with the same element everywhere; `value` points at one element. */
wk_value_id wk_make_constant_splat(wk_onnx_node *c, const wk_type *t, const void *value);

/* Movement. Nothing is added where the result would be x itself. */
wk_value_id wk_make_reshape(wk_onnx_node *c, wk_value_id x, int rank, const int64_t *dims);
wk_value_id wk_make_transpose(wk_onnx_node *c, wk_value_id x, const int64_t *perm);
wk_value_id wk_make_move_axis(wk_onnx_node *c, wk_value_id x, int from, int to);
/* [n,..,c] <-> [n,c,..] */
wk_value_id wk_make_channels_first(wk_onnx_node *c, wk_value_id x);
wk_value_id wk_make_channels_last(wk_onnx_node *c, wk_value_id x);
wk_value_id wk_make_cast(wk_onnx_node *c, wk_value_id x, wk_dtype t);
wk_value_id wk_make_expand(wk_onnx_node *c, wk_value_id x, int rank, const int64_t *dims);
wk_value_id wk_make_slice(wk_onnx_node *c, wk_value_id x, int axis, int64_t start, int64_t size,
                          int64_t step);
wk_value_id wk_make_concat(wk_onnx_node *c, const wk_value_id *xs, int n, int64_t axis);
wk_value_id wk_make_gather(wk_onnx_node *c, wk_value_id x, wk_value_id indices, int64_t axis);
/* Inserts (removes) axes of size 1; `axes` refer to the result (to x), ascending. */
wk_value_id wk_make_unsqueeze(wk_onnx_node *c, wk_value_id x, wk_ints axes);
wk_value_id wk_make_squeeze(wk_onnx_node *c, wk_value_id x, wk_ints axes);
/* [c] -> [c,1,1…] so that it broadcasts along axis `axis` of a tensor of this rank. */
wk_value_id wk_make_along(wk_onnx_node *c, wk_value_id x, int axis, int rank);
/* Reductions: ascending axes. */
wk_value_id wk_make_reduce(wk_onnx_node *c, wk_op op, wk_value_id x, wk_ints axes, bool keep);
/* Axes first, first+1 … last-1. */
wk_ints wk_make_axes(wk_onnx_node *c, int first, int last);

/* Arithmetic with a literal of x's type. */
wk_value_id wk_make_add_f(wk_onnx_node *c, wk_value_id x, double v);
wk_value_id wk_make_mul_f(wk_onnx_node *c, wk_value_id x, double v);

/* Random stream of this node: from its seed attribute, else from its position in the model. Each
 * call and each iteration has another one; a node that is imported once more has that of before. */
int64_t wk_make_seed(wk_onnx_node *c);

/* softmax, log_softmax or hardmax of x by the node's `axis`; before opset 13 x counts as a matrix.
 */
wk_value_id wk_make_softmax(wk_onnx_node *c, wk_op op, wk_value_id x, int64_t opset);

#endif
