/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of one instruction against its row: counts, dims, dtypes, expressions. Rows that are
 * graph operators too are checked by their inference rule on the dims of the views; a view repeats
 * what broadcasting repeats, so only map, reduce and products need rules of their own. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/infer.h"
#include "compiler/ir/program_check.h"

static const wk_view *input(const wk_inst *i, uint32_t k) { return &i->operands[i->n_out + k]; }

static bool same_dims(const wk_view *a, const wk_view *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  return true;
}

static void print_view(wk_str *b, const wk_view *v) {
  wk_type t = wk_type_make(v->dtype, v->rank, v->dims);
  wk_type_print(b, &t);
}

static wk_status differ(const wk_inst *i, uint32_t k, const wk_view *like) {
  wk_str have = {0}, want = {0};
  print_view(&have, &i->operands[k]);
  print_view(&want, like);
  wk_status s = BAD_INST(i, "operand %u is %s, needs %s", k, have.s, want.s);
  wk_str_free(&have);
  wk_str_free(&want);
  return s;
}

/* All operands from `first` on are there and have the dims of `like`. */
static wk_status want_dims(const wk_inst *i, uint32_t first, const wk_view *like) {
  for (uint32_t k = first; k < i->n_operands; k++) {
    if (i->operands[k].buffer == WK_NONE) return BAD_INST(i, "operand %u is left out", k);
    if (!same_dims(&i->operands[k], like)) return differ(i, k, like);
  }
  return NULL;
}

/* wk_want_expr on the dtypes of the inputs. */
static wk_status want_expr(const wk_inst *i, const char *name, const wk_expr *e,
                           const wk_dtype *dtypes, uint32_t n, int rank, uint32_t results) {
  wk_infer query = {.op = i->op, .attrs = i->attrs};
  return wk_want_expr(&query, name, e, dtypes, n, rank, results);
}

static wk_dtype *input_dtypes(const wk_inst *i) {
  uint32_t n = i->n_operands - i->n_out;
  wk_dtype *t = wk_xcalloc(n, sizeof *t);
  for (uint32_t k = 0; k < n; k++) t[k] = input(i, k)->dtype;
  return t;
}

static wk_dtype result_dtype(const wk_expr *e, uint32_t r, wk_dtype identity) {
  return e ? e->nodes[e->results[r]].dtype : identity;
}

static wk_status want_dtype(const wk_inst *i, uint32_t k, wk_dtype t) {
  if (i->operands[k].dtype == t) return NULL;
  return BAD_INST(i, "operand %u is %s, needs %s", k, wk_dtype_name(i->operands[k].dtype),
                  wk_dtype_name(t));
}

/* ---- map, reduce --------------------------------------------------------------------------- */

static wk_status check_map(const wk_inst *i) {
  const wk_attr_map *a = i->attrs;
  uint32_t n_in = i->n_operands - i->n_out;
  if (i->n_out == 0) return BAD_INST(i, "no outputs");
  if (!a->body) return BAD_INST(i, "body is missing");
  WK_TRY(want_dims(i, 0, &i->operands[0]));
  wk_dtype *t = input_dtypes(i);
  wk_status s = want_expr(i, "body", a->body, t, n_in, i->operands[0].rank, i->n_out);
  for (uint32_t k = 0; k < i->n_out && !s; k++)
    s = want_dtype(i, k, result_dtype(a->body, k, WK_F32));
  free(t);
  return s;
}

static bool is_fold(const char *kind) {
  static const char *const kinds[] = {"sum", "prod", "max", "min", "argmax", "argmin"};
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++)
    if (kind && strcmp(kind, kinds[k]) == 0) return true;
  return false;
}

/* The output has the iteration dims, and stands still along exactly the reduced axes. */
static wk_status check_axes(const wk_inst *i, const wk_ints *axes) {
  const wk_view *y = &i->operands[0];
  int64_t last = -1;
  for (int64_t k = 0; k < axes->n; k++) {
    if (axes->v[k] <= last || axes->v[k] >= y->rank)
      return BAD_INST(i, "axes are not ascending or outside rank %d", y->rank);
    last = axes->v[k];
    if (y->dims[last] != 1 && y->strides[last] != 0)
      return BAD_INST(i, "the output moves along the reduced axis %lld", (long long)last);
  }
  return NULL;
}

/* Nothing to fold is no instruction: the dims of its views would say that it writes nothing. */
static wk_status check_folds(const wk_inst *i, const wk_ints *axes) {
  const wk_view *y = &i->operands[0];
  int64_t results = 1, next = 0;
  for (int d = 0; d < y->rank; d++) {
    if (next < axes->n && axes->v[next] == d) next++;
    else results *= y->dims[d] > 0;
  }
  if (!results || wk_view_count(y) > 0) return NULL;
  return BAD_INST(i, "folds no elements; a map writes such results");
}

static wk_status check_reduce(const wk_inst *i) {
  const wk_attr_reduce *a = i->attrs;
  uint32_t n_in = i->n_operands - i->n_out;
  if (i->n_out != 1 || n_in == 0) return BAD_INST(i, "needs one output and an input");
  if (!a->pre && n_in != 1) return BAD_INST(i, "without `pre` it has one input");
  if (!is_fold(a->kind)) return BAD_INST(i, "unknown kind of fold");
  if (wk_fold_is_arg(a->kind) && a->axes.n != 1)
    return BAD_INST(i, "%s needs exactly one axis", a->kind);
  WK_TRY(want_dims(i, 0, &i->operands[0]));
  WK_TRY(check_axes(i, &a->axes));
  WK_TRY(check_folds(i, &a->axes));
  wk_dtype *t = input_dtypes(i);
  int rank = i->operands[0].rank;
  wk_status s = want_expr(i, "pre", a->pre, t, n_in, rank, 1);
  if (!s) {
    wk_dtype folded = wk_folded_dtype(a->kind, a->pre, t[0]);
    s = want_expr(i, "post", a->post, &folded, 1, rank, 1);
    if (!s) s = want_dtype(i, 0, result_dtype(a->post, 0, folded));
  }
  free(t);
  return s;
}

/* ---- instructions only --------------------------------------------------------------------- */

static wk_status want_counts(const wk_inst *i, uint32_t n_out, uint32_t n_in) {
  if (i->n_out == n_out && i->n_operands == n_out + n_in) return NULL;
  return BAD_INST(i, "%u outputs and %u operands, needs %u and %u", i->n_out, i->n_operands, n_out,
                  n_out + n_in);
}

static wk_status check_fill(const wk_inst *i) {
  WK_TRY(want_counts(i, 1, 0));
  return want_dims(i, 0, &i->operands[0]);
}

static wk_status check_copy(const wk_inst *i) {
  WK_TRY(want_counts(i, 1, 1));
  WK_TRY(want_dims(i, 0, &i->operands[0]));
  return want_dtype(i, 1, i->operands[0].dtype);
}

static wk_status want_one(const wk_inst *i, uint32_t k, wk_dtype t) {
  if (i->operands[k].buffer == WK_NONE) return NULL;
  WK_TRY(want_dtype(i, k, t));
  if (wk_view_count(&i->operands[k]) == 1) return NULL;
  return BAD_INST(i, "operand %u must have one element", k);
}

static wk_status check_if(const wk_inst *i) {
  WK_TRY(want_counts(i, 0, 1));
  if (i->operands[0].buffer == WK_NONE) return BAD_INST(i, "the condition is left out");
  return want_one(i, 0, WK_BOOL);
}

static wk_status check_loop(const wk_inst *i) {
  WK_TRY(want_counts(i, 0, 2));
  if (((const wk_attr_loop *)i->attrs)->trip < 0) return BAD_INST(i, "trip is negative");
  WK_TRY(want_one(i, 0, WK_BOOL));
  return want_one(i, 1, WK_I64);
}

static wk_status check_nest(const wk_inst *i) {
  WK_TRY(want_counts(i, 0, 0));
  int64_t outer = ((const wk_attr_nest *)i->attrs)->outer;
  if (outer < 0 || outer > WK_MAX_RANK) return BAD_INST(i, "outer is %lld", (long long)outer);
  const wk_view *first = NULL;
  for (size_t b = 0; b < i->bodies[0].insts.n; b++) {
    const wk_inst *x = i->bodies[0].insts.data[b];
    if (x->n_bodies) return BAD_INST(x, "has a body of its own inside a nest");
    for (uint32_t k = 0; k < x->n_operands; k++) {
      const wk_view *v = &x->operands[k];
      if (v->buffer == WK_NONE) continue;
      if (!first) first = v;
      bool same = v->rank >= outer && first->rank >= outer;
      for (int d = 0; d < outer && same; d++) same = v->dims[d] == first->dims[d];
      if (!same) return BAD_INST(x, "operand %u does not have the outer dims of its nest", k);
    }
  }
  return NULL;
}

/* ---- rows that are graph operators too ----------------------------------------------------- */

static wk_status want_inferred(const wk_inst *i, const wk_type *out) {
  for (uint32_t k = 0; k < i->n_out; k++) {
    if (i->operands[k].buffer == WK_NONE) continue;
    wk_view like = wk_view_dense(0, &out[k], WK_ROLE_OUT);
    if (!same_dims(&i->operands[k], &like) || i->operands[k].dtype != like.dtype)
      return differ(i, k, &like);
  }
  return NULL;
}

static wk_status check_inferred(const wk_inst *i) {
  uint32_t n_in = i->n_operands - i->n_out;
  wk_type *types = wk_xcalloc(i->n_operands, sizeof *types);
  const wk_type **in = wk_xcalloc(n_in, sizeof *in);
  for (uint32_t k = 0; k < n_in; k++) {
    const wk_view *v = input(i, k);
    types[i->n_out + k] = wk_type_make(v->dtype, v->rank, v->dims);
    if (v->buffer != WK_NONE) in[k] = &types[i->n_out + k];
  }
  wk_infer query = {.op = i->op, .attrs = i->attrs, .in = in, .n_in = n_in, .n_out = i->n_out,
                    .out = types};
  wk_status s = wk_infer_node(&query);
  if (!s) s = want_inferred(i, types);
  if (!s && wk_op_get(i->op)->cls == WK_CLASS_CONTRACTION && n_in > 3)
    s = want_dims(i, i->n_out + 3, &i->operands[0]);
  free(in);
  free(types);
  return s;
}

/* The factors of a product have its leading dims: what broadcasts stands still. */
static wk_status check_product(const wk_inst *i) {
  WK_TRY(check_inferred(i));
  const wk_view *y = &i->operands[0];
  for (uint32_t k = 1; k <= 2; k++) {
    const wk_view *v = &i->operands[k];
    bool same = v->rank == y->rank;
    for (int d = 0; d < y->rank - 2 && same; d++) same = v->dims[d] == y->dims[d];
    if (!same) return BAD_INST(i, "operand %u does not have the leading dims of the output", k);
  }
  return NULL;
}

static const struct {
  wk_op op;
  uint32_t bodies;
  wk_status (*check)(const wk_inst *i);
} rules[] = {
    {WK_OP_MAP, 0, check_map},   {WK_OP_REDUCE, 0, check_reduce}, {WK_OP_FILL, 0, check_fill},
    {WK_OP_COPY, 0, check_copy}, {WK_OP_IF, 2, check_if},         {WK_OP_LOOP, 1, check_loop},
    {WK_OP_NEST, 1, check_nest}, {WK_OP_MATMUL, 0, check_product},
    {WK_OP_INTEGER_MATMUL, 0, check_product},
};

wk_status wk_inst_check_operands(const wk_inst *i) {
  uint32_t bodies = 0;
  wk_status (*check)(const wk_inst *) = check_inferred;
  for (size_t k = 0; k < WK_COUNTOF(rules); k++) {
    if (rules[k].op != i->op) continue;
    bodies = rules[k].bodies;
    check = rules[k].check;
  }
  if (i->n_bodies != bodies) return BAD_INST(i, "%u bodies, needs %u", i->n_bodies, bodies);
  return check(i);
}
