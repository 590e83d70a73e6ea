/* SPDX-License-Identifier: Apache-2.0
 * Private to eval/: what the handlers share. One handler per row of ops.def computes the outputs
 * of a node from its inputs; a missing one does not link. Handlers trust the types (inference has
 * checked them) and distrust the values: whatever is used as an index is verified first. */
#ifndef WICK_EVAL_HANDLER_H
#define WICK_EVAL_HANDLER_H

#include "compiler/eval/eval.h"

#define WK_EVAL_MAX_DEPTH 64 /* nested bodies */

typedef struct {
  wk_eval_node_args a;
  uint32_t n_in, n_out;
  const int64_t *origin; /* MAP, REDUCE: position of the iteration space's first element, or NULL */
  int depth;             /* of the graph the node is in; 0 = main */
  wk_eval_hook hook;
  void *ctx;
} wk_eval_call;

typedef wk_status (*wk_eval_fn)(const wk_eval_call *c);

/* Every row but the elementwise ones (which share wk_eval_elementwise) and NEST, FILL, COPY
 * (inst.c). */
#define WK_EVAL_PICK_ELEMENTWISE(name) wk_eval_elementwise
#define WK_EVAL_PICK_MOVEMENT(name) wk_eval_##name
#define WK_EVAL_PICK_CONTRACTION(name) wk_eval_##name
#define WK_EVAL_PICK_POOL(name) wk_eval_##name
#define WK_EVAL_PICK_REDUCTION(name) wk_eval_##name
#define WK_EVAL_PICK_NORMALISATION(name) wk_eval_##name
#define WK_EVAL_PICK_INDEXING(name) wk_eval_##name
#define WK_EVAL_PICK_LINALG(name) wk_eval_##name
#define WK_EVAL_PICK_RECURRENT(name) wk_eval_##name
#define WK_EVAL_PICK_CONTROL(name) wk_eval_##name
#define WK_EVAL_PICK_RANDOM(name) wk_eval_##name
#define WK_EVAL_PICK_CUSTOM(name) wk_eval_##name
#define WK_EVAL_PICK_PRIMITIVE(name) wk_eval_##name
#define WK_EVAL_PICK_INSTRUCTION(name) wk_eval_only_inst
#define OP(e, name, kind, cls, ins, outs, infer, sem, attrs, traits, doc) \
  wk_status WK_EVAL_PICK_##cls(name)(const wk_eval_call *c) WK_MUST_CHECK;
#include "compiler/ir/ops.def"
#undef OP

wk_status wk_eval_call_run(const wk_eval_call *c) WK_MUST_CHECK; /* eval.c: picks the handler */
wk_status wk_eval_graph_at(const wk_graph *g, const wk_tensor *inputs, wk_tensor *outputs,
                           wk_eval_hook hook, void *ctx, int depth) WK_MUST_CHECK;

/* Input k, NULL when it is left out; output k, NULL when it is not wanted. */
static inline const wk_tensor *wk_eval_in(const wk_eval_call *c, uint32_t k) {
  return k < c->n_in && c->a.in[k].data ? &c->a.in[k] : NULL;
}
static inline wk_tensor *wk_eval_out(const wk_eval_call *c, uint32_t k) {
  return k < c->n_out && c->a.out[k].data ? &c->a.out[k] : NULL;
}
/* Name of the node for messages: its own, else the operator's. */
const char *wk_eval_place(const wk_eval_call *c);
#define EVAL_BAD(c, ...) wk_error_at(WK_INPUT, wk_eval_place(c), __VA_ARGS__)

/* ---- strided operands (walk.c) --------------------------------------------------------------- */

/* Element p lies at base + size * sum p[k]*strides[k]. */
typedef struct {
  char *base;
  wk_dtype dtype;
  int64_t strides[WK_MAX_RANK]; /* elements */
} wk_operand;

/* The dense tensor t seen through numpy broadcasting as something of this rank. */
wk_operand wk_operand_broadcast(const wk_tensor *t, int rank);
wk_operand wk_operand_dense(const wk_tensor *t);
/* dst[p] = src[p]; equal dtypes. */
void wk_operand_copy(int rank, const int64_t *dims, const wk_operand *dst, const wk_operand *src);
/* Advances pos through dims in row-major order over `rank` axes; false after the last position. */
bool wk_walk_next(int rank, const int64_t *dims, int64_t *pos);
int64_t wk_walk_dot(int rank, const int64_t *pos, const int64_t *strides);
int64_t wk_dims_count(const int64_t *dims, int first, int last); /* product of dims[first..last) */

/* n elements from `first` on, `stride` apart: floats of every width in f, all else in i. */
void wk_scalars_read(wk_scalar *dst, const void *data, wk_dtype t, int64_t first, int64_t stride,
                     int64_t n);
/* Rounds or wraps to t. */
void wk_scalars_write(const wk_scalar *src, void *data, wk_dtype t, int64_t first, int64_t stride,
                      int64_t n);
/* The same as numbers: any dtype to and from double. */
void wk_reals_read(double *dst, const wk_tensor *t, int64_t first, int64_t stride, int64_t n);
void wk_reals_write(const double *src, wk_tensor *t, int64_t first, int64_t stride, int64_t n);
wk_status wk_scalars_alloc(int64_t n, wk_scalar **out) WK_MUST_CHECK; /* zeroed; free() */
wk_status wk_reals_alloc(int64_t n, double **out) WK_MUST_CHECK;      /* zeroed; free() */
wk_status wk_reals_of(const wk_tensor *t, double **out) WK_MUST_CHECK; /* all elements; free() */

/* y[p] = x[from[0][p0], from[1][p1], …]; -1 anywhere gives fill (one element). from: one table per
 * axis of y, from wk_remap_new. */
void wk_tensor_remap(const wk_tensor *x, const wk_tensor *y, int64_t *const *from,
                     const void *fill);
void wk_remap_new(const wk_type *y, int64_t *from[WK_MAX_RANK]);
void wk_remap_free(const wk_type *y, int64_t *from[WK_MAX_RANK]);

static inline char *wk_at(const wk_tensor *t, int64_t i) {
  return (char *)t->data + i * wk_dtype_size(t->type.dtype);
}

/* ---- expressions over operands (elementwise.c) ----------------------------------------------- */

/* out[r][p] = result r of e(in[0][p], in[1][p], …). origin is added to what index<k>() gives; NULL:
 * nothing. A result whose operand has base NULL is not wanted. */
void wk_operands_map(const wk_expr *e, int rank, const int64_t *dims, const int64_t *origin,
                     const wk_operand *in, uint32_t n_in, const wk_operand *out);
/* Where a contraction leaves accumulator + bias before its epilogue. */
typedef struct {
  wk_tensor acc; /* dense, dims of y */
  bool own;      /* acc is no alias of y */
} wk_epilogue;
wk_status wk_epilogue_begin(const wk_eval_call *c, const wk_expr *e,
                            wk_epilogue *out) WK_MUST_CHECK;
/* y = e(acc, inputs from 3 on); frees acc. */
void wk_epilogue_end(const wk_eval_call *c, const wk_expr *e, wk_epilogue *p);

/* ---- folds (reduce.c) ------------------------------------------------------------------------ */

/* The REDUCE primitive over strided operands. out has stride 0 on the reduced axes. */
wk_status wk_operands_reduce(const wk_attr_reduce *a, int rank, const int64_t *dims,
                             const int64_t *origin, const wk_operand *in, uint32_t n_in,
                             const wk_operand *out) WK_MUST_CHECK;

/* ---- matrix product on packed panels (gemm.c) ------------------------------------------------ */

#define WK_TILE 4
/* rows[r][j] = sum over k, ascending, of a[k][r] * b[panel j / 4][k][j % 4]. Integers wrap at 64
 * bits. */
typedef struct {
  bool real;
  int64_t k, columns; /* columns: a multiple of WK_TILE */
  wk_scalar *a;       /* k x WK_TILE */
  wk_scalar *b;       /* columns / WK_TILE panels of k x WK_TILE */
  wk_scalar *rows;    /* WK_TILE x columns */
  wk_scalar *line;    /* k: room for one row before it is packed */
} wk_gemm;
/* Room for at most n columns, bounded so that the panels stay in cache. */
wk_status wk_gemm_begin(wk_gemm *g, bool real, int64_t k, int64_t n) WK_MUST_CHECK;
void wk_gemm_end(wk_gemm *g);
void wk_gemm_pack_row(wk_gemm *g, int row); /* line becomes row `row` of a */
void wk_gemm_run(const wk_gemm *g, int64_t columns); /* the first `columns` columns */
static inline wk_scalar *wk_gemm_cell(const wk_gemm *g, int64_t k, int64_t j) {
  return &g->b[(j / WK_TILE * g->k + k) * WK_TILE + j % WK_TILE];
}

/* ---- interpolation (resize.c) ---------------------------------------------------------------- */

/* Weights of the four neighbours floor(x) - 1 … floor(x) + 2 where ratio = x - floor(x). */
void wk_cubic_weights(double a, double ratio, double w[4]);

/* ---- small things ---------------------------------------------------------------------------- */

/* An axis seen as [outer, n, inner]. */
typedef struct { int64_t outer, n, inner; } wk_axis;
static inline wk_axis wk_axis_of(const wk_type *t, int64_t axis) {
  int a = (int)(axis < 0 ? axis + t->rank : axis);
  return (wk_axis){wk_dims_count(t->dims, 0, a), t->dims[a],
                   wk_dims_count(t->dims, a + 1, t->rank)};
}
/* Reads an index and wraps a negative one; false when it is outside [-n, n). */
static inline bool wk_index_ok(int64_t i, int64_t n, int64_t *out) {
  if (i < -n || i >= n) return false;
  *out = i < 0 ? i + n : i;
  return true;
}

#endif
