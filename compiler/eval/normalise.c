/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation and attention. Everything is computed in doubles and rounded once at the end. */
#include <math.h>
#include <stdlib.h>

#include "compiler/eval/handler.h"

/* ---- along one axis -------------------------------------------------------------------------- */

typedef void (*line_fn)(const wk_eval_call *c, double *v, int64_t n);

static wk_status each_line(const wk_eval_call *c, int64_t axis, line_fn run) {
  if (!wk_eval_out(c, 0)) return NULL;
  wk_axis v = wk_axis_of(&c->a.in[0].type, axis);
  double *line;
  WK_TRY(wk_reals_alloc(v.n, &line));
  for (int64_t o = 0; o < v.outer; o++) {
    for (int64_t i = 0; i < v.inner; i++) {
      int64_t first = o * v.n * v.inner + i;
      wk_reals_read(line, &c->a.in[0], first, v.inner, v.n);
      run(c, line, v.n);
      wk_reals_write(line, &c->a.out[0], first, v.inner, v.n);
    }
  }
  free(line);
  return NULL;
}

static double largest(const double *v, int64_t n) {
  double most = -INFINITY;
  for (int64_t i = 0; i < n; i++)
    if (v[i] > most || isnan(v[i])) most = v[i];
  return most;
}

static void softmax_values(double *v, int64_t n) {
  double most = largest(v, n), sum = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i] = exp(v[i] - most);
  for (int64_t i = 0; i < n; i++) v[i] /= sum;
}

static void softmax_line(const wk_eval_call *c, double *v, int64_t n) {
  (void)c;
  softmax_values(v, n);
}

static void log_softmax_line(const wk_eval_call *c, double *v, int64_t n) {
  (void)c;
  double most = largest(v, n), sum = 0;
  for (int64_t i = 0; i < n; i++) sum += exp(v[i] - most);
  for (int64_t i = 0; i < n; i++) v[i] = v[i] - most - log(sum);
}

static void hardmax_line(const wk_eval_call *c, double *v, int64_t n) {
  (void)c;
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (v[i] > v[best] || (isnan(v[i]) && !isnan(v[best]))) best = i;
  for (int64_t i = 0; i < n; i++) v[i] = i == best;
}

static void lp_norm_line(const wk_eval_call *c, double *v, int64_t n) {
  double sum = 0;
  bool squares = ((const wk_attr_lp_norm *)c->a.node->attrs)->p == 2;
  for (int64_t i = 0; i < n; i++) sum += squares ? v[i] * v[i] : fabs(v[i]);
  if (squares) sum = sqrt(sum);
  for (int64_t i = 0; i < n; i++) v[i] = sum == 0 ? 0 : v[i] / sum;
}

wk_status wk_eval_softmax(const wk_eval_call *c) {
  return each_line(c, ((const wk_attr_softmax *)c->a.node->attrs)->axis, softmax_line);
}

wk_status wk_eval_log_softmax(const wk_eval_call *c) {
  return each_line(c, ((const wk_attr_log_softmax *)c->a.node->attrs)->axis, log_softmax_line);
}

wk_status wk_eval_hardmax(const wk_eval_call *c) {
  return each_line(c, ((const wk_attr_hardmax *)c->a.node->attrs)->axis, hardmax_line);
}

wk_status wk_eval_lp_norm(const wk_eval_call *c) {
  return each_line(c, ((const wk_attr_lp_norm *)c->a.node->attrs)->axis, lp_norm_line);
}

/* ---- by statistics --------------------------------------------------------------------------- */

typedef struct { double mean, inv_std; } moments;

static moments moments_of(const double *v, int64_t n, double epsilon) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i];
  double mean = sum / (double)n;
  for (int64_t i = 0; i < n; i++) squares += (v[i] - mean) * (v[i] - mean);
  return (moments){mean, 1 / sqrt(squares / (double)n + epsilon)};
}

static moments standardise(double *v, int64_t n, double epsilon) {
  moments m = moments_of(v, n, epsilon);
  for (int64_t i = 0; i < n; i++) v[i] = (v[i] - m.mean) * m.inv_std;
  return m;
}

/* v[p] = v[p] * scale[p] + bias[p] over the dims of x, then into y. bias may be NULL. */
static wk_status scale_shift(const wk_eval_call *c, double *v, const wk_tensor *scale,
                             const wk_tensor *bias) {
  const wk_type *t = &c->a.out[0].type;
  wk_operand so = wk_operand_broadcast(scale, t->rank), bo = {0};
  double *s = NULL, *b = NULL;
  int64_t pos[WK_MAX_RANK] = {0}, n = wk_type_count(t);
  wk_status st;
  WK_TRY_GOTO(st, done, wk_reals_of(scale, &s));
  if (bias) {
    bo = wk_operand_broadcast(bias, t->rank);
    WK_TRY_GOTO(st, done, wk_reals_of(bias, &b));
  }
  for (int64_t i = 0; i < n; i++) {
    v[i] *= s[wk_walk_dot(t->rank, pos, so.strides)];
    if (b) v[i] += b[wk_walk_dot(t->rank, pos, bo.strides)];
    wk_walk_next(t->rank, t->dims, pos);
  }
  wk_reals_write(v, &c->a.out[0], 0, 1, n);
done:
  free(s);
  free(b);
  return st;
}

wk_status wk_eval_layer_norm(const wk_eval_call *c) {
  const wk_attr_layer_norm *a = c->a.node->attrs;
  const wk_tensor *x = &c->a.in[0];
  wk_tensor *mean = wk_eval_out(c, 1), *inv_std = wk_eval_out(c, 2);
  int64_t n = wk_dims_count(x->type.dims, (int)a->axis, x->type.rank);
  int64_t rows = wk_dims_count(x->type.dims, 0, (int)a->axis);
  double *v;
  WK_TRY(wk_reals_of(x, &v));
  for (int64_t r = 0; r < rows; r++) {
    moments m = standardise(v + r * n, n, a->epsilon);
    if (mean) wk_reals_write(&m.mean, mean, r, 1, 1);
    if (inv_std) wk_reals_write(&m.inv_std, inv_std, r, 1, 1);
  }
  wk_status s = NULL;
  if (wk_eval_out(c, 0)) s = scale_shift(c, v, &c->a.in[1], wk_eval_in(c, 2));
  free(v);
  return s;
}

/* A [c] vector as [c, 1, …] so that it broadcasts along axis 1. */
static wk_tensor per_channel(const wk_tensor *v, int rank) {
  wk_tensor t = *v;
  t.type = (wk_type){.dtype = v->type.dtype, .rank = rank - 1, .dims = {v->type.dims[0]}};
  for (int i = 1; i < rank - 1; i++) t.type.dims[i] = 1;
  return t;
}

/* Groups of neighbouring channels of a sample, each standardised as one. */
static wk_status normalise_groups(const wk_eval_call *c, int64_t groups, double epsilon) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *x = &c->a.in[0];
  int64_t rows = x->type.dims[0] * groups, total = wk_type_count(&x->type);
  double *v;
  WK_TRY(wk_reals_of(x, &v));
  for (int64_t r = 0; total && r < rows; r++)
    standardise(v + r * (total / rows), total / rows, epsilon);
  wk_tensor scale = per_channel(&c->a.in[1], x->type.rank);
  wk_tensor bias = per_channel(&c->a.in[2], x->type.rank);
  wk_status s = scale_shift(c, v, &scale, &bias);
  free(v);
  return s;
}

wk_status wk_eval_instance_norm(const wk_eval_call *c) {
  const wk_attr_instance_norm *a = c->a.node->attrs;
  return normalise_groups(c, c->a.in[0].type.dims[1], a->epsilon);
}

wk_status wk_eval_group_norm(const wk_eval_call *c) {
  const wk_attr_group_norm *a = c->a.node->attrs;
  return normalise_groups(c, a->groups, a->epsilon);
}

wk_status wk_eval_batch_norm(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0)) return NULL;
  const wk_tensor *x = &c->a.in[0];
  double epsilon = ((const wk_attr_batch_norm *)c->a.node->attrs)->epsilon, p[4];
  wk_axis v = wk_axis_of(&x->type, 1);
  double *line;
  WK_TRY(wk_reals_alloc(v.inner, &line));
  for (int64_t r = 0; r < v.outer * v.n; r++) {
    for (uint32_t k = 0; k < 4; k++) wk_reals_read(&p[k], &c->a.in[k + 1], r % v.n, 1, 1);
    double factor = p[0] / sqrt(p[3] + epsilon);
    wk_reals_read(line, x, r * v.inner, 1, v.inner);
    for (int64_t i = 0; i < v.inner; i++) line[i] = (line[i] - p[2]) * factor + p[1];
    wk_reals_write(line, &c->a.out[0], r * v.inner, 1, v.inner);
  }
  free(line);
  return NULL;
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct {
  double scale;
  int64_t m, n, d, e;
  double *q, *k, *v, *mask, *row, *sums; /* mask NULL: none; row: n scores; sums: e results */
  int64_t mask_row, mask_col;            /* strides */
} attention;

/* One query row against all keys. */
static void attend(const attention *a, const double *q, const double *k, const double *v,
                   const double *mask) {
  for (int64_t j = 0; j < a->n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < a->d; i++) sum += q[i] * k[j * a->d + i];
    a->row[j] = sum * a->scale + (mask ? mask[j * a->mask_col] : 0);
  }
  softmax_values(a->row, a->n);
  for (int64_t i = 0; i < a->e; i++) a->sums[i] = 0;
  for (int64_t j = 0; j < a->n; j++)
    for (int64_t i = 0; i < a->e; i++) a->sums[i] += a->row[j] * v[j * a->e + i];
}

static void attend_all(const wk_eval_call *c, attention *a) {
  wk_tensor *y = &c->a.out[0];
  int rank = y->type.rank, batch = rank - 2;
  int64_t pos[WK_MAX_RANK] = {0}, out = 0;
  const wk_tensor *mask = wk_eval_in(c, 3);
  wk_operand q = wk_operand_broadcast(&c->a.in[0], rank),
             k = wk_operand_broadcast(&c->a.in[1], rank);
  wk_operand v = wk_operand_broadcast(&c->a.in[2], rank), m = {0};
  if (mask) m = wk_operand_broadcast(mask, rank);
  a->mask_row = m.strides[rank - 2];
  a->mask_col = m.strides[rank - 1];
  do {
    const double *query = a->q + wk_walk_dot(batch, pos, q.strides);
    const double *mask_at = a->mask ? a->mask + wk_walk_dot(batch, pos, m.strides) : NULL;
    for (int64_t i = 0; i < a->m; i++, out += a->e) {
      attend(a, query + i * a->d, a->k + wk_walk_dot(batch, pos, k.strides),
             a->v + wk_walk_dot(batch, pos, v.strides), mask_at ? mask_at + i * a->mask_row : NULL);
      wk_reals_write(a->sums, y, out, 1, a->e);
    }
  } while (wk_walk_next(batch, y->type.dims, pos));
}

wk_status wk_eval_attention(const wk_eval_call *c) {
  if (!wk_eval_out(c, 0) || wk_type_count(&c->a.out[0].type) == 0) return NULL;
  const wk_type *q = &c->a.in[0].type, *k = &c->a.in[1].type, *v = &c->a.in[2].type;
  attention a = {.scale = ((const wk_attr_attention *)c->a.node->attrs)->scale,
                 .m = q->dims[q->rank - 2], .d = q->dims[q->rank - 1],
                 .n = k->dims[k->rank - 2], .e = v->dims[v->rank - 1]};
  wk_status s;
  WK_TRY_GOTO(s, done, wk_reals_of(&c->a.in[0], &a.q));
  WK_TRY_GOTO(s, done, wk_reals_of(&c->a.in[1], &a.k));
  WK_TRY_GOTO(s, done, wk_reals_of(&c->a.in[2], &a.v));
  if (wk_eval_in(c, 3)) WK_TRY_GOTO(s, done, wk_reals_of(wk_eval_in(c, 3), &a.mask));
  WK_TRY_GOTO(s, done, wk_reals_alloc(a.n, &a.row));
  WK_TRY_GOTO(s, done, wk_reals_alloc(a.e, &a.sums));
  attend_all(c, &a);
done:
  free(a.q);
  free(a.k);
  free(a.v);
  free(a.mask);
  free(a.row);
  free(a.sums);
  return s;
}
