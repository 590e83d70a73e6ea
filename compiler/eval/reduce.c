/* SPDX-License-Identifier: Apache-2.0 */
/* Folds. The iteration space is walked in row-major order, a block of the last axis at a time;
 * every element goes to the accumulator of its output position. Accumulators are doubles or 64-bit
 * integers (sums and products wrap, which is exact modulo the width of the result). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/handler.h"

typedef enum {
  FOLD_SUM, FOLD_PROD, FOLD_MAX, FOLD_MIN, FOLD_ARGMAX, FOLD_ARGMIN,
  FOLD_ABS, FOLD_SQUARE, /* sums of |x| and x * x */
  FOLD_EXP               /* sum of e^(x - shift) */
} fold_kind;

typedef struct {
  fold_kind kind;
  bool select_last;
  int rank;
  int64_t dims[WK_MAX_RANK], origin[WK_MAX_RANK];
  bool reduced[WK_MAX_RANK];
  const wk_expr *pre; /* NULL: input 0 as it is */
  const wk_operand *in;
  uint32_t n_in;
  wk_dtype dtype; /* of the folded elements */
  /* derived */
  int64_t n;                       /* accumulators */
  int64_t to[WK_MAX_RANK];         /* strides of the accumulators; 0 on reduced axes */
  int64_t along[WK_MAX_RANK];      /* strides of the position within what is folded */
  wk_scalar *acc;
  int64_t *where;                  /* ARG folds: position, -1 before the first element */
  const wk_scalar *shift;
} fold;

static wk_status fold_begin(fold *f) {
  int64_t kept = 1, folded = 1;
  for (int i = f->rank - 1; i >= 0; i--) {
    f->to[i] = f->reduced[i] ? 0 : kept;
    f->along[i] = f->reduced[i] ? folded : 0;
    if (f->reduced[i]) folded *= f->dims[i];
    else kept *= f->dims[i];
  }
  f->n = kept;
  WK_TRY(wk_scalars_alloc(f->n, &f->acc));
  void *where = NULL;
  wk_status s = wk_try_malloc((size_t)f->n * sizeof *f->where, &where);
  if (s) {
    free(f->acc);
    return s;
  }
  f->where = where;
  for (int64_t i = 0; i < f->n; i++) f->where[i] = -1;
  return NULL;
}

static void fold_end(fold *f) {
  free(f->acc);
  free(f->where);
}

/* ---- one block ------------------------------------------------------------------------------- */

static int compare(wk_dtype t, wk_scalar a, wk_scalar b) { /* NaN is no part of it */
  if (wk_dtype_is_float(t)) return (a.f > b.f) - (a.f < b.f);
  if (t == WK_U64) return ((uint64_t)a.i > (uint64_t)b.i) - ((uint64_t)a.i < (uint64_t)b.i);
  return (a.i > b.i) - (a.i < b.i);
}

/* Keeps the extreme value and where it was. NaN wins over everything, the first one for good. */
static void fold_extreme(fold *f, const wk_scalar *v, int64_t to, int64_t to_step, int64_t at,
                         int64_t at_step, int n) {
  int sign = f->kind == FOLD_MAX || f->kind == FOLD_ARGMAX ? 1 : -1;
  bool real = wk_dtype_is_float(f->dtype);
  for (int j = 0; j < n; j++, to += to_step, at += at_step) {
    int better = f->where[to] < 0 ? 1 : sign * compare(f->dtype, v[j], f->acc[to]);
    if (real && f->where[to] >= 0) {
      if (isnan(v[j].f)) better = isnan(f->acc[to].f) ? 0 : 1;
      else if (isnan(f->acc[to].f)) better = -1;
    }
    if (better < 0 || (better == 0 && !f->select_last)) continue;
    f->acc[to] = v[j];
    f->where[to] = at;
  }
}

static void fold_real(fold *f, const wk_scalar *v, int64_t to, int64_t step, int n) {
  wk_scalar *acc = f->acc + to;
  switch (f->kind) {
    case FOLD_SUM: for (int j = 0; j < n; j++) acc[j * step].f += v[j].f; break;
    case FOLD_PROD: for (int j = 0; j < n; j++) acc[j * step].f *= v[j].f; break;
    case FOLD_ABS: for (int j = 0; j < n; j++) acc[j * step].f += fabs(v[j].f); break;
    case FOLD_SQUARE: for (int j = 0; j < n; j++) acc[j * step].f += v[j].f * v[j].f; break;
    case FOLD_EXP:
      for (int j = 0; j < n; j++) acc[j * step].f += exp(v[j].f - f->shift[to + j * step].f);
      break;
    default: break;
  }
}

static void fold_integer(fold *f, const wk_scalar *v, int64_t to, int64_t step, int n) {
  for (int j = 0; j < n; j++, to += step) {
    uint64_t acc = (uint64_t)f->acc[to].i, x = (uint64_t)v[j].i;
    switch (f->kind) {
      case FOLD_SUM: acc += x; break;
      case FOLD_PROD: acc *= x; break;
      case FOLD_ABS: acc += v[j].i < 0 && f->dtype != WK_U64 ? 0 - x : x; break;
      case FOLD_SQUARE: acc += x * x; break;
      default: break;
    }
    f->acc[to].i = (int64_t)acc;
  }
}

static void fold_block(fold *f, const wk_scalar *v, const int64_t *pos, int n) {
  int last = f->rank - 1;
  int64_t to = wk_walk_dot(f->rank, pos, f->to), step = last >= 0 ? f->to[last] : 0;
  switch (f->kind) {
    case FOLD_MAX:
    case FOLD_MIN:
    case FOLD_ARGMAX:
    case FOLD_ARGMIN:
      fold_extreme(f, v, to, step, wk_walk_dot(f->rank, pos, f->along),
                   last >= 0 ? f->along[last] : 0, n);
      break;
    default:
      if (wk_dtype_is_float(f->dtype)) fold_real(f, v, to, step, n);
      else fold_integer(f, v, to, step, n);
  }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static wk_scalar neutral(const fold *f) {
  const char *kind = f->kind == FOLD_PROD  ? "prod"
                     : f->kind == FOLD_MAX ? "max"
                     : f->kind == FOLD_MIN ? "min"
                                           : "sum";
  return wk_fold_neutral(kind, f->dtype);
}

/* The elements of one block: values of pre, or of input 0. */
typedef struct {
  wk_scalar *scratch;
  const void **inputs;
  int64_t *steps, *index;
  wk_scalar raw[WK_EXPR_BLOCK], values[WK_EXPR_BLOCK];
} source;

static void read_block(fold *f, source *s, const int64_t *pos, int n) {
  int last = f->rank - 1;
  for (uint32_t k = 0; k < f->n_in; k++) {
    const wk_operand *o = &f->in[k];
    s->inputs[k] = o->base + wk_dtype_size(o->dtype) * wk_walk_dot(f->rank, pos, o->strides);
    s->steps[k] = last >= 0 ? o->strides[last] : 0;
  }
  if (!f->pre) {
    wk_scalars_read(s->values, s->inputs[0], f->dtype, 0, s->steps[0], n);
    return;
  }
  const int64_t *index[WK_MAX_RANK];
  for (int a = 0; a < f->rank; a++) {
    index[a] = s->index + a * WK_EXPR_BLOCK;
    for (int j = 0; j < n; j++)
      s->index[a * WK_EXPR_BLOCK + j] = f->origin[a] + pos[a] + (a == last ? j : 0);
  }
  void *results[] = {s->raw};
  wk_expr_eval_block(f->pre, s->inputs, s->steps, index, n, s->scratch, results, NULL);
  wk_scalars_read(s->values, s->raw, f->dtype, 0, 1, n);
}

static void fold_walk(fold *f, source *s) {
  int outer = f->rank > 0 ? f->rank - 1 : 0;
  int64_t pos[WK_MAX_RANK] = {0}, length = f->rank ? f->dims[outer] : 1;
  do {
    for (int64_t from = 0; from < length; from += WK_EXPR_BLOCK) {
      int n = (int)(length - from < WK_EXPR_BLOCK ? length - from : WK_EXPR_BLOCK);
      if (f->rank) pos[outer] = from;
      read_block(f, s, pos, n);
      fold_block(f, s->values, pos, n);
    }
    if (f->rank) pos[outer] = 0;
  } while (wk_walk_next(outer, f->dims, pos));
}

static void fold_run(fold *f) {
  for (int64_t i = 0; i < f->n; i++) f->acc[i] = neutral(f);
  if (wk_dims_count(f->dims, 0, f->rank) == 0) return;
  source *s = wk_xcalloc(1, sizeof *s);
  s->inputs = wk_xcalloc(f->n_in, sizeof *s->inputs);
  s->steps = wk_xcalloc(f->n_in, sizeof *s->steps);
  if (f->pre) {
    s->scratch = wk_xcalloc(wk_expr_block_scratch(f->pre), sizeof *s->scratch);
    s->index = wk_xcalloc(WK_MAX_RANK * WK_EXPR_BLOCK, sizeof *s->index);
    wk_expr_block_begin(f->pre, s->scratch);
  }
  fold_walk(f, s);
  free(s->scratch);
  free(s->index);
  free(s->inputs);
  free(s->steps);
  free(s);
}

/* ---- the REDUCE primitive -------------------------------------------------------------------- */

static fold_kind kind_of(const char *name) {
  static const struct { const char *name; fold_kind kind; } rows[] = {
      {"sum", FOLD_SUM}, {"prod", FOLD_PROD}, {"max", FOLD_MAX}, {"min", FOLD_MIN},
      {"argmax", FOLD_ARGMAX}, {"argmin", FOLD_ARGMIN}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    if (strcmp(rows[i].name, name) == 0) return rows[i].kind;
  return FOLD_SUM;
}

static void mark_axes(fold *f, wk_ints axes) {
  for (int64_t i = 0; i < axes.n; i++) f->reduced[axes.v[i]] = true;
}

/* Rounds the accumulators to what they stand for and applies post on the way to the output. */
static wk_status finish(fold *f, const wk_expr *post, const wk_operand *out) {
  bool arg = f->kind == FOLD_ARGMAX || f->kind == FOLD_ARGMIN;
  wk_dtype t = arg ? WK_I64 : f->dtype;
  int64_t dims[WK_MAX_RANK] = {0};
  for (int i = 0; i < f->rank; i++) dims[i] = f->reduced[i] ? 1 : f->dims[i];
  for (int64_t i = 0; arg && i < f->n; i++) f->acc[i].i = f->where[i] < 0 ? 0 : f->where[i];
  void *rounded;
  WK_TRY(wk_try_malloc((size_t)(f->n * wk_dtype_size(t)), &rounded));
  wk_scalars_write(f->acc, rounded, t, 0, 1, f->n);
  wk_operand in = {.base = rounded, .dtype = t};
  memcpy(in.strides, f->to, sizeof in.strides);
  if (post) wk_operands_map(post, f->rank, dims, f->origin, &in, 1, out);
  else wk_operand_copy(f->rank, dims, out, &in);
  free(rounded);
  return NULL;
}

wk_status wk_operands_reduce(const wk_attr_reduce *a, int rank, const int64_t *dims,
                             const int64_t *origin, const wk_operand *in, uint32_t n_in,
                             const wk_operand *out) {
  fold f = {.kind = kind_of(a->kind), .select_last = a->select_last != 0, .rank = rank,
            .pre = a->pre, .in = in, .n_in = n_in};
  memcpy(f.dims, dims, (size_t)rank * sizeof *dims);
  if (origin) memcpy(f.origin, origin, (size_t)rank * sizeof *origin);
  mark_axes(&f, a->axes);
  f.dtype = a->pre ? a->pre->nodes[a->pre->results[0]].dtype : in[0].dtype;
  WK_TRY(fold_begin(&f));
  fold_run(&f);
  wk_status s = finish(&f, a->post, out);
  fold_end(&f);
  return s;
}

/* Strides of the dense output y against the iteration space: 0 on reduced axes. */
static wk_operand reduced_output(const wk_tensor *y, int rank, wk_ints axes, bool keepdims) {
  wk_operand dense = wk_operand_dense(y), out = {.base = dense.base, .dtype = dense.dtype};
  int next = 0;
  for (int i = 0, k = 0; i < rank; i++) {
    bool reduced = k < axes.n && axes.v[k] == i;
    if (reduced) k++;
    else out.strides[i] = dense.strides[keepdims ? i : next++];
  }
  return out;
}

wk_status wk_eval_reduce(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_reduce *a = c->a.node->attrs;
  wk_type space = c->a.in[0].type;
  for (uint32_t k = 1; k < c->n_in; k++) {
    wk_type both;
    WK_TRY(wk_type_broadcast(&space, &c->a.in[k].type, &both));
    space = both;
  }
  wk_operand *in = wk_xcalloc(c->n_in, sizeof *in);
  for (uint32_t k = 0; k < c->n_in; k++) in[k] = wk_operand_broadcast(&c->a.in[k], space.rank);
  wk_operand out = reduced_output(&c->a.out[0], space.rank, a->axes, a->keepdims != 0);
  wk_status s = wk_operands_reduce(a, space.rank, space.dims, c->origin, in, c->n_in, &out);
  free(in);
  return s;
}

/* ---- arg_max, arg_min ------------------------------------------------------------------------ */

static wk_status arg_reduce(const wk_eval_call *c, const char *kind) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_arg_max *a = c->a.node->attrs; /* arg_min has the same fields */
  wk_attr_reduce r = {.kind = kind, .axes = {1, &a->axis}, .select_last = a->select_last};
  int rank = c->a.in[0].type.rank;
  wk_operand in = wk_operand_dense(&c->a.in[0]);
  wk_operand out = reduced_output(&c->a.out[0], rank, r.axes, a->keepdims != 0);
  return wk_operands_reduce(&r, rank, c->a.in[0].type.dims, NULL, &in, 1, &out);
}

wk_status wk_eval_arg_max(const wk_eval_call *c) { return arg_reduce(c, "argmax"); }
wk_status wk_eval_arg_min(const wk_eval_call *c) { return arg_reduce(c, "argmin"); }

/* ---- reduce_<…> ------------------------------------------------------------------------------ */

typedef enum { END_NONE, END_MEAN, END_SQRT, END_LOG, END_LOG_SHIFT } ending;

static void end_real(wk_scalar *acc, ending e, int64_t n, int64_t count, const wk_scalar *shift) {
  for (int64_t i = 0; i < n; i++) {
    double v = acc[i].f;
    switch (e) {
      case END_NONE: break;
      case END_MEAN: v /= (double)count; break;
      case END_SQRT: v = sqrt(v); break;
      case END_LOG: v = log(v); break;
      case END_LOG_SHIFT: v = log(v) + shift[i].f; break;
    }
    acc[i].f = v;
  }
}

/* Integers: the mean truncates; they have no roots and logarithms. */
static void end_integer(wk_scalar *acc, ending e, wk_dtype t, int64_t n, int64_t count) {
  for (int64_t i = 0; i < n && e == END_MEAN; i++) {
    if (t == WK_U64 && count) acc[i].i = (int64_t)((uint64_t)acc[i].i / (uint64_t)count);
    else acc[i].i = count ? acc[i].i / count : 0;
  }
}

static wk_status log_sum_exp(fold *f) {
  wk_scalar *most;
  f->kind = FOLD_MAX;
  fold_run(f);
  most = f->acc;
  /* an infinite maximum is left in the exponent: inf - inf would be NaN */
  for (int64_t i = 0; i < f->n; i++)
    if (isinf(most[i].f)) most[i].f = 0;
  f->kind = FOLD_EXP;
  f->shift = most;
  wk_status s = wk_scalars_alloc(f->n, &f->acc);
  if (!s) {
    fold_run(f);
    end_real(f->acc, END_LOG_SHIFT, f->n, 1, most);
  }
  free(most);
  return s;
}

static wk_status reduce_node(const wk_eval_call *c, fold_kind kind, ending e) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_attr_reduce_sum *a = c->a.node->attrs; /* the same fields in all of them */
  const wk_tensor *x = &c->a.in[0];
  wk_tensor *y = &c->a.out[0];
  wk_operand in = wk_operand_dense(x);
  fold f = {.kind = kind, .rank = x->type.rank, .in = &in, .n_in = 1, .dtype = x->type.dtype};
  memcpy(f.dims, x->type.dims, sizeof f.dims);
  mark_axes(&f, a->axes);
  int64_t count = 1;
  for (int64_t i = 0; i < a->axes.n; i++) count *= x->type.dims[a->axes.v[i]];
  WK_TRY(fold_begin(&f));
  wk_status s = NULL;
  if (kind == FOLD_EXP) {
    s = log_sum_exp(&f);
  } else {
    fold_run(&f);
    if (wk_dtype_is_float(f.dtype)) end_real(f.acc, e, f.n, count, NULL);
    else end_integer(f.acc, e, f.dtype, f.n, count);
  }
  if (!s) wk_scalars_write(f.acc, y->data, y->type.dtype, 0, 1, f.n);
  fold_end(&f);
  return s;
}

wk_status wk_eval_reduce_sum(const wk_eval_call *c) { return reduce_node(c, FOLD_SUM, END_NONE); }
wk_status wk_eval_reduce_mean(const wk_eval_call *c) { return reduce_node(c, FOLD_SUM, END_MEAN); }
wk_status wk_eval_reduce_max(const wk_eval_call *c) { return reduce_node(c, FOLD_MAX, END_NONE); }
wk_status wk_eval_reduce_min(const wk_eval_call *c) { return reduce_node(c, FOLD_MIN, END_NONE); }
wk_status wk_eval_reduce_prod(const wk_eval_call *c) { return reduce_node(c, FOLD_PROD, END_NONE); }
wk_status wk_eval_reduce_l1(const wk_eval_call *c) { return reduce_node(c, FOLD_ABS, END_NONE); }
wk_status wk_eval_reduce_l2(const wk_eval_call *c) { return reduce_node(c, FOLD_SQUARE, END_SQRT); }
wk_status wk_eval_reduce_log_sum(const wk_eval_call *c) {
  return reduce_node(c, FOLD_SUM, END_LOG);
}
wk_status wk_eval_reduce_log_sum_exp(const wk_eval_call *c) {
  return reduce_node(c, FOLD_EXP, END_NONE);
}
wk_status wk_eval_reduce_sum_square(const wk_eval_call *c) {
  return reduce_node(c, FOLD_SQUARE, END_NONE);
}
