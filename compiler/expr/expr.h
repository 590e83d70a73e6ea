/* SPDX-License-Identifier: Apache-2.0
 * Scalar expressions: what `map` computes per element, what `reduce` applies before and after, and
 * every epilogue. Built, printed, parsed and evaluated here once; each target emits them in one
 * place. An expression is a list of nodes in evaluation order (arguments come earlier) and a list
 * of results. Immutable after wk_expr_finish; lives in an arena.
 *
 * Text: prefix calls; a node used more than once is named first:
 *   max(%0, 0.0f32)
 *   a = sub(%0, %1); mul(a, a)
 *   several results are separated by commas:  add(%0, %1), sub(%0, %1)
 * The dtypes of the inputs come from the operands. */
#ifndef WICK_EXPR_EXPR_H
#define WICK_EXPR_EXPR_H

#include "compiler/expr/types.h"

typedef enum {
#define EXPR(e, name, arity, result, doc, derivative) WK_EX_##e,
#include "compiler/expr/expr.def"
#undef EXPR
  WK_EX_COUNT
} wk_expr_op;

typedef struct {
  wk_expr_op op;
  wk_dtype dtype;
  uint16_t arg[3];
  union { double f; int64_t i; } imm; /* CONST: f for float dtypes, else i; INPUT/INDEX: i */
} wk_expr_node;

typedef struct wk_expr {
  uint32_t n, n_results;
  wk_expr_node *nodes;
  uint16_t *results; /* node indices */
} wk_expr;

#define WK_EXPR_MAX_NODES 4096

const char *wk_expr_op_name(wk_expr_op op);
int wk_expr_op_arity(wk_expr_op op);

/* Builder. Common subexpressions are merged, constants folded and casts that change nothing left
 * out (f32(f16(x)) of an x that is an f16's value) as nodes are added. Adding never fails before
 * WK_EXPR_MAX_NODES; callers that fuse check wk_expr.n first. */
typedef struct wk_expr_builder wk_expr_builder;
wk_expr_builder *wk_expr_begin(wk_arena *a);
uint16_t wk_expr_input(wk_expr_builder *b, int64_t k, wk_dtype t);
uint16_t wk_expr_index(wk_expr_builder *b, int64_t axis);
uint16_t wk_expr_f(wk_expr_builder *b, wk_dtype t, double v); /* literal of dtype t, any class */
uint16_t wk_expr_i(wk_expr_builder *b, wk_dtype t, int64_t v);
uint16_t wk_expr_cast(wk_expr_builder *b, wk_dtype t, uint16_t x);
uint16_t wk_expr_sat(wk_expr_builder *b, wk_dtype t, uint16_t x);
uint16_t wk_expr_bits(wk_expr_builder *b, wk_dtype t, uint16_t x); /* types of as many bits */
uint16_t wk_expr_1(wk_expr_builder *b, wk_expr_op op, uint16_t x);
uint16_t wk_expr_2(wk_expr_builder *b, wk_expr_op op, uint16_t x, uint16_t y);
uint16_t wk_expr_3(wk_expr_builder *b, wk_expr_op op, uint16_t x, uint16_t y, uint16_t z);
/* Copies e into b: input k of e becomes node inputs[k]; index axes are kept. Returns result r. */
uint16_t wk_expr_inline(wk_expr_builder *b, const wk_expr *e, const uint16_t *inputs, int r);
wk_dtype wk_expr_dtype(const wk_expr_builder *b, uint16_t node);
uint32_t wk_expr_count(const wk_expr_builder *b); /* nodes so far */
/* Drops what no result needs and renumbers into a canonical order (depth first from the results),
 * so that equal expressions are equal node by node however they were built. */
wk_expr *wk_expr_finish(wk_expr_builder *b, const uint16_t *results, int n);

/* NULL when the operation is defined for arguments of these dtypes (arity entries), else why not:
 * "exp is not defined for i32". Building anything else asserts. What rounds is not defined for f16
 * and bf16 (wk_compute_dtype). */
const char *wk_expr_refusal(wk_expr_op op, const wk_dtype *args, char buf[64]);

/* Per node, the 16-bit floats whose values are all that it can have, as a set: a cast to one of
 * them changes nothing. */
typedef enum { WK_FITS_F16 = 1, WK_FITS_BF16 = 2 } wk_half_set;
void wk_expr_fits(const wk_expr *e, uint8_t *fits);

/* Reverse mode. out[k], k < n_inputs: what input k gets, an expression over e's inputs and, as
 * inputs n_inputs + r, the adjoint of each result r (of its dtype); NULL where that is always 0,
 * the input is no float or not in `wanted`. Computed in wk_compute_dtype, rounded once to the
 * input's dtype. WK_RESOURCE: too long for an expression. */
wk_status wk_expr_adjoints(wk_arena *a, const wk_expr *e, int n_inputs, const bool *wanted,
                           wk_expr **out) WK_MUST_CHECK;

/* One input handed through: the epilogue that does nothing. */
wk_expr *wk_expr_identity(wk_arena *a, wk_dtype t);
bool wk_expr_is_identity(const wk_expr *e);
wk_expr *wk_expr_clone(wk_arena *a, const wk_expr *e);
bool wk_expr_equal(const wk_expr *x, const wk_expr *y);
uint64_t wk_expr_hash(const wk_expr *e, uint64_t seed);
int wk_expr_inputs(const wk_expr *e); /* 1 + largest input index used, 0 if none */

void wk_expr_print(wk_str *b, const wk_expr *e);
/* dtypes[k] is the dtype of input k. On failure the error says the column within s. */
wk_status wk_expr_parse(wk_arena *a, const char *s, const wk_dtype *dtypes, int n_inputs,
                        wk_expr **out) WK_MUST_CHECK;

/* Operator-table templates: text in the same syntax where inputs are the operator's input names,
 * untyped literals take the dtype of the other argument, `$name` is the value of a numeric
 * attribute and `out(x)` casts to the output dtype. names is the space-separated input list of
 * ops.def. Inputs of f16 and bf16 are cast to f32 first; a result that is f32 where the output is
 * one of them is cast last, so that an operator rounds once. */
typedef bool (*wk_expr_attr_fn)(const void *ctx, const char *name, size_t n, double *value);
wk_status wk_expr_template(wk_arena *a, const char *text, const char *names, const wk_dtype *dtypes,
                           int n_inputs, wk_dtype out_dtype, wk_expr_attr_fn attr, const void *ctx,
                           wk_expr **out) WK_MUST_CHECK;

/* One element. Floats of every width are held in f, all else in i. */
typedef union { double f; int64_t i; } wk_scalar;
/* Applies one operation to arguments that already have dtype t (the arguments' dtype). */
wk_scalar wk_expr_apply(wk_expr_op op, wk_dtype arg_dtype, wk_dtype result_dtype, wk_scalar a,
                        wk_scalar b, wk_scalar c);
/* scratch holds e->n scalars; index holds the iteration position (may be NULL if unused). */
void wk_expr_eval(const wk_expr *e, const wk_scalar *inputs, const int64_t *index,
                  wk_scalar *scratch, wk_scalar *results);
wk_scalar wk_scalar_load(const void *data, wk_dtype t);        /* one element at data */
void wk_scalar_store(void *data, wk_dtype t, wk_scalar v);

/* A block of n <= WK_EXPR_BLOCK elements, node by node: the same results bit for bit, many times
 * faster than element by element.
 *   inputs[k]     first element of input k, in that input's dtype (unused inputs may be NULL)
 *   in_strides    distance between elements in elements; 0 repeats one; NULL: dense (all 1)
 *   index[a]      n positions along iteration axis a; only axes that INDEX nodes name are read;
 *                 NULL when there are none
 *   scratch       wk_expr_block_scratch(e) scalars, prepared once by wk_expr_block_begin (which
 *                 writes the constants); one per thread, reused from block to block
 *   results[r]    first element of result r, in its dtype; NULL: not wanted. May be memory of an
 *                 input: all inputs of the block are read before any result is written
 *   out_strides   as in_strides, for the results */
#define WK_EXPR_BLOCK 256
size_t wk_expr_block_scratch(const wk_expr *e);
void wk_expr_block_begin(const wk_expr *e, wk_scalar *scratch);
void wk_expr_eval_block(const wk_expr *e, const void *const *inputs, const int64_t *in_strides,
                        const int64_t *const *index, int n, wk_scalar *scratch,
                        void *const *results, const int64_t *out_strides);

#endif
