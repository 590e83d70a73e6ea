/* SPDX-License-Identifier: Apache-2.0
 * Loops of pools, and where the positions of windows are. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

const char *wk_cgen_in_window(const wk_loops *m, const wk_cgen_window *w, const int64_t *margin,
                               const char **at) {
  const wk_view *x = wk_cgen_input(m, 0);
  const char *inside = NULL;
  int n = x->rank - 2;
  for (int d = 0; d < n; d++) {
    at[d + 2] = wk_arena_printf(m->a, "i%d * %lld + k%d * %lld - %lld", d + 2,
                                (long long)w->strides->v[d], d + 2, (long long)w->dilations->v[d],
                                (long long)w->pads->v[d]);
    inside = wk_arena_printf(m->a, "%s%s%s >= %lld && %s < %lld", inside ? inside : "",
                             inside ? " && " : "", at[d + 2],
                             margin ? -(long long)margin[d] : 0, at[d + 2],
                             (long long)(x->dims[d + 2] + (margin ? margin[n + d] : 0)));
  }
  return inside;
}

const char *wk_cgen_reached(const wk_loops *m, const wk_cgen_window *w, const char **at) {
  const wk_view *x = wk_cgen_input(m, 0);
  wk_str inside = {0};
  for (int d = 2; d < x->rank; d++) {
    long long stride = (long long)w->strides->v[d - 2], n = (long long)x->dims[d];
    const char *from = wk_arena_printf(m->a, "(i%d + %lld - k%d * %lld)", d,
                                       (long long)w->pads->v[d - 2], d,
                                       (long long)w->dilations->v[d - 2]);
    at[d] = wk_arena_printf(m->a, "%s / %lld", from, stride);
    wk_str_printf(&inside, "%s%s >= 0 && %s < %lld", inside.n ? " && " : "", from, from,
                  n * stride);
    if (stride > 1) wk_str_printf(&inside, " && %s %% %lld == 0", from, stride);
  }
  const char *text = wk_arena_strdup(m->a, inside.s);
  wk_str_free(&inside);
  return text;
}

/* One read of each of the first n inputs per position of the window. */
static wk_inst_c_read *begin_pool(const wk_loops *m, const wk_ints *kernel, uint32_t n) {
  wk_inst_c_read *x = m->out->step_reads = wk_cgen_reads(m, n);
  for (uint32_t k = 0; k < n; k++) x[k] = wk_cgen_read(m, k);
  m->out->n_step = n;
  m->out->inner_rank = m->out->rank;
  for (int d = 0; d < m->out->rank; d++) m->out->inner_dims[d] = d < 2 ? 1 : kernel->v[d - 2];
  return x;
}

/* ---- maxima ---------------------------------------------------------------------------------- */

/* Where the step is in x, in the order of its memory, or with the first spatial axis fastest. */
static uint16_t place(const wk_loops *m, wk_expr_builder *b, bool by_column) {
  const wk_view *x = wk_cgen_input(m, 0);
  uint16_t at = wk_expr_i(b, WK_I64, 0);
  for (int k = 2; k < x->rank; k++) {
    int d = by_column ? x->rank + 1 - k : k;
    at = wk_expr_2(b, WK_EX_ADD, wk_expr_2(b, WK_EX_MUL, at, wk_expr_i(b, WK_I64, x->dims[d])),
                   wk_expr_index(b, d));
  }
  return at;
}

/* The number of the step in its window, where the index of an axis is k. */
static uint16_t tap(const wk_loops *m, wk_expr_builder *b, const wk_ints *kernel) {
  uint16_t at = wk_expr_i(b, WK_I64, 0);
  for (int d = 2; d < m->out->rank; d++) {
    m->out->index[d] = wk_inst_c_k[d];
    at = wk_expr_2(b, WK_EX_ADD,
                   wk_expr_2(b, WK_EX_MUL, at, wk_expr_i(b, WK_I64, kernel->v[d - 2])),
                   wk_expr_index(b, d));
  }
  return at;
}

/* What stands for a place in a plane, -1 before the first element: the place in x, or the tap. */
static uint16_t result(const wk_loops *m, wk_expr_builder *b, const wk_attr_max_pool *p) {
  const wk_view *x = wk_cgen_input(m, 0);
  uint16_t where = wk_expr_input(b, 1, WK_I64);
  int64_t size = 1;
  where = wk_expr_2(b, WK_EX_MAX, where, wk_expr_i(b, WK_I64, 0));
  if (p->taps) return wk_expr_cast(b, m->i->operands[1].dtype, where);
  for (int d = 2; d < x->rank; d++) size *= x->dims[d];
  uint16_t plane = wk_expr_2(b, WK_EX_MUL, wk_expr_index(b, 0), wk_expr_i(b, WK_I64, x->dims[1]));
  plane = wk_expr_2(b, WK_EX_ADD, plane, wk_expr_index(b, 1));
  return wk_expr_2(b, WK_EX_ADD, wk_expr_2(b, WK_EX_MUL, plane, wk_expr_i(b, WK_I64, size)), where);
}

/* The maximum and its place in the plane or its tap. */
static bool max_with_indices(const wk_loops *m, wk_dtype t, const wk_attr_max_pool *p) {
  wk_scalar least = wk_fold_neutral("max", t);
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t y[] = {wk_dtype_is_float(t) ? wk_expr_f(b, t, least.f) : wk_expr_i(b, t, least.i),
                  wk_expr_i(b, WK_I64, -1)};
  m->out->begin = wk_expr_finish(b, y, 2);
  b = wk_expr_begin(m->a);
  uint16_t best = wk_expr_input(b, 0, t), where = wk_expr_input(b, 1, WK_I64);
  uint16_t v = wk_expr_input(b, 2, t);
  uint16_t better = wk_expr_either(b, wk_expr_negative(b, where), wk_expr_ahead(b, true, v, best));
  y[0] = wk_expr_3(b, WK_EX_SELECT, better, v, best);
  uint16_t here = p->taps ? tap(m, b, &p->kernel) : place(m, b, p->column_major != 0);
  y[1] = wk_expr_3(b, WK_EX_SELECT, better, here, where);
  m->out->step = wk_expr_finish(b, y, 2);
  b = wk_expr_begin(m->a);
  y[0] = wk_expr_input(b, 0, t);
  y[1] = result(m, b, p);
  m->out->end = wk_expr_finish(b, y, 2);
  return true;
}

bool wk_cgen_max_pool(const wk_loops *m) {
  const wk_attr_max_pool *p = m->i->attrs;
  wk_dtype t = wk_cgen_input(m, 0)->dtype;
  wk_inst_c_read *x = begin_pool(m, &p->kernel, 1);
  m->out->counts = wk_cgen_in_window(
      m, &(wk_cgen_window){&p->strides, &p->dilations, &p->pads}, NULL, x->at);
  memcpy(m->out->index, x->at, sizeof m->out->index);
  if (m->i->n_out > 1 && m->i->operands[1].buffer != WK_NONE)
    return max_with_indices(m, t, p);
  m->out->begin = wk_cgen_neutral(m, "max", t);
  wk_expr_builder *b = wk_expr_begin(m->a);
  m->out->step = wk_expr_done(b, wk_expr_2(b, WK_EX_MAX, wk_expr_input(b, 0, t),
                                           wk_expr_input(b, 1, t)));
  m->out->end = wk_expr_identity(m->a, t);
  return true;
}

bool wk_cgen_unpool(const wk_loops *m) {
  const wk_attr_unpool *p = m->i->attrs;
  const wk_view *x = wk_cgen_input(m, 0), *taps = wk_cgen_input(m, 1);
  wk_dtype sum = wk_compute_dtype(x->dtype);
  wk_inst_c_read *r = begin_pool(m, &p->kernel, 2);
  m->out->counts = wk_cgen_reached(
      m, &(wk_cgen_window){&p->strides, &p->dilations, &p->pads}, r[0].at);
  memcpy(r[1].at, r[0].at, sizeof r[1].at);
  m->out->begin = wk_cgen_neutral(m, "sum", sum);
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t named = wk_expr_cast(b, WK_I64, wk_expr_input(b, 2, taps->dtype));
  uint16_t is_it = wk_expr_2(b, WK_EX_EQ, named, tap(m, b, &p->kernel));
  uint16_t v = wk_expr_cast(b, sum, wk_expr_input(b, 1, x->dtype));
  v = wk_expr_3(b, WK_EX_SELECT, is_it, v, wk_expr_f(b, sum, 0));
  m->out->step = wk_expr_done(b, wk_expr_2(b, WK_EX_ADD, wk_expr_input(b, 0, sum), v));
  b = wk_expr_begin(m->a);
  m->out->end = wk_expr_done(b, wk_expr_cast(b, x->dtype, wk_expr_input(b, 0, sum)));
  return true;
}

/* ---- means and norms ------------------------------------------------------------------------- */

/* The second accumulator counts what the sum is divided by. */
bool wk_cgen_avg_pool(const wk_loops *m) {
  const wk_attr_avg_pool *p = m->i->attrs;
  wk_dtype t = wk_cgen_input(m, 0)->dtype, sum = wk_compute_dtype(t);
  const wk_cgen_window w = {&p->strides, &p->dilations, &p->pads};
  if (!wk_dtype_is_float(t)) return false;
  wk_inst_c_read *x = begin_pool(m, &p->kernel, 1);
  m->out->counts = wk_cgen_in_window(m, &w, p->real_pads.v, x->at);
  x->inside = wk_cgen_in_window(m, &w, NULL, x->at);
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t y[] = {wk_expr_f(b, sum, 0), wk_expr_i(b, WK_I64, 0)};
  m->out->begin = wk_expr_finish(b, y, 2);
  b = wk_expr_begin(m->a);
  y[0] = wk_expr_2(b, WK_EX_ADD, wk_expr_input(b, 0, sum),
                   wk_expr_cast(b, sum, wk_expr_input(b, 2, t)));
  y[1] = wk_expr_2(b, WK_EX_ADD, wk_expr_input(b, 1, WK_I64), wk_expr_i(b, WK_I64, 1));
  m->out->step = wk_expr_finish(b, y, 2);
  b = wk_expr_begin(m->a); /* 0 divided by 1 where nothing counts */
  uint16_t n = wk_expr_2(b, WK_EX_MAX, wk_expr_input(b, 1, WK_I64), wk_expr_i(b, WK_I64, 1));
  n = wk_expr_2(b, WK_EX_DIV, wk_expr_input(b, 0, sum), wk_expr_cast(b, sum, n));
  m->out->end = wk_expr_done(b, wk_expr_cast(b, t, n));
  return true;
}

bool wk_cgen_lp_pool(const wk_loops *m) {
  const wk_attr_lp_pool *p = m->i->attrs;
  wk_dtype t = wk_cgen_input(m, 0)->dtype, sum = wk_compute_dtype(t);
  if (!wk_dtype_is_float(t)) return false;
  wk_inst_c_read *x = begin_pool(m, &p->kernel, 1);
  m->out->counts = wk_cgen_in_window(
      m, &(wk_cgen_window){&p->strides, &p->dilations, &p->pads}, NULL, x->at);
  m->out->begin = wk_cgen_neutral(m, "sum", sum);
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t v = wk_expr_1(b, WK_EX_ABS, wk_expr_cast(b, sum, wk_expr_input(b, 1, t)));
  if (p->p == 2) v = wk_expr_2(b, WK_EX_MUL, v, v);
  else if (p->p != 1) v = wk_expr_2(b, WK_EX_POW, v, wk_expr_f(b, sum, (double)p->p));
  m->out->step = wk_expr_done(b, wk_expr_2(b, WK_EX_ADD, wk_expr_input(b, 0, sum), v));
  b = wk_expr_begin(m->a);
  v = wk_expr_input(b, 0, sum);
  if (p->p == 2) v = wk_expr_1(b, WK_EX_SQRT, v);
  else if (p->p != 1) v = wk_expr_2(b, WK_EX_POW, v, wk_expr_f(b, sum, 1.0 / (double)p->p));
  m->out->end = wk_expr_done(b, wk_expr_cast(b, t, v));
  return true;
}
