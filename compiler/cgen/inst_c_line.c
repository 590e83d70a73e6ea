/* SPDX-License-Identifier: Apache-2.0
 * Loops that go along a line and store as they go. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

#define TOP_K_LIMIT (INT64_C(1) << 24) /* looks at elements of one line */

/* ---- cum_sum --------------------------------------------------------------------------------- */

static void sum_up(const wk_loops *m, bool exclusive) {
  wk_dtype t = wk_cgen_input(m, 0)->dtype, sum = wk_compute_dtype(t);
  int n = exclusive ? 2 : 1; /* the sum, and what it was before the step */
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t zero = wk_dtype_is_float(sum) ? wk_expr_f(b, sum, 0) : wk_expr_i(b, sum, 0);
  m->out->begin = wk_expr_finish(b, (uint16_t[]){zero, zero}, n);
  b = wk_expr_begin(m->a);
  uint16_t acc = wk_expr_input(b, 0, sum), x = wk_expr_cast(b, sum, wk_expr_input(b, n, t));
  m->out->step = wk_expr_finish(b, (uint16_t[]){wk_expr_2(b, WK_EX_ADD, acc, x), acc}, n);
  b = wk_expr_begin(m->a);
  m->out->end = wk_expr_done(b, wk_expr_cast(b, t, wk_expr_input(b, n - 1, sum)));
}

bool wk_cgen_cum_sum(const wk_loops *m) {
  const wk_attr_cum_sum *c = m->i->attrs;
  wk_inst_c *y = m->out;
  const char *at = wk_inst_c_k[c->axis];
  if (c->reverse) at = wk_arena_printf(m->a, "%lld - %s", (long long)y->dims[c->axis] - 1, at);
  y->inner_rank = y->rank;
  for (int d = 0; d < y->rank; d++) y->inner_dims[d] = d == c->axis ? y->dims[d] : 1;
  y->dims[c->axis] = 1;
  y->step_reads = wk_cgen_reads(m, 1);
  y->step_reads[0] = wk_cgen_read(m, 0);
  y->n_step = 1;
  y->step_reads[0].at[c->axis] = y->at[c->axis] = at;
  y->stores = "1";
  sum_up(m, c->exclusive != 0);
  return true;
}

/* ---- top_k ----------------------------------------------------------------------------------- */

/* What is kept between steps: the element that was found last and the best one behind it in the
 * order, each with its position, -1 where there is none. */
typedef struct {
  uint16_t last, last_at, best, best_at;
} found;

static const wk_expr *begin_top_k(const wk_loops *m, wk_dtype t) {
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t zero = wk_dtype_is_float(t) ? wk_expr_f(b, t, 0) : wk_expr_i(b, t, 0);
  uint16_t none = wk_expr_i(b, WK_I64, -1);
  return wk_expr_finish(b, (uint16_t[]){zero, none, zero, none}, 4);
}

/* The first step along the line makes the best one the last one. */
static found begin_line(wk_expr_builder *b, wk_dtype t, uint16_t at) {
  found f = {wk_expr_input(b, 0, t), wk_expr_input(b, 1, WK_I64), wk_expr_input(b, 2, t),
             wk_expr_input(b, 3, WK_I64)};
  uint16_t is_first = wk_expr_2(b, WK_EX_EQ, at, wk_expr_i(b, WK_I64, 0));
  f.last = wk_expr_3(b, WK_EX_SELECT, is_first, f.best, f.last);
  f.last_at = wk_expr_3(b, WK_EX_SELECT, is_first, f.best_at, f.last_at);
  f.best_at = wk_expr_3(b, WK_EX_SELECT, is_first, wk_expr_i(b, WK_I64, -1), f.best_at);
  return f;
}

/* Positions grow, so that of equal elements the one found first stays. */
static const wk_expr *step_top_k(const wk_loops *m, wk_dtype t, bool largest) {
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t x = wk_expr_input(b, 4, t), at = wk_expr_index(b, 0);
  found f = begin_line(b, t, at);
  uint16_t tied = wk_expr_both(b, wk_expr_tie(b, f.last, x),
                               wk_expr_2(b, WK_EX_LT, f.last_at, at));
  uint16_t behind = wk_expr_either(b, wk_expr_ahead(b, largest, f.last, x), tied);
  behind = wk_expr_either(b, wk_expr_negative(b, f.last_at), behind);
  uint16_t better = wk_expr_either(b, wk_expr_negative(b, f.best_at),
                                   wk_expr_ahead(b, largest, x, f.best));
  better = wk_expr_both(b, behind, better);
  uint16_t y[] = {f.last, f.last_at, wk_expr_3(b, WK_EX_SELECT, better, x, f.best),
                  wk_expr_3(b, WK_EX_SELECT, better, at, f.best_at)};
  return wk_expr_finish(b, y, 4);
}

/* k times along the line, which finds the next element each time. */
bool wk_cgen_top_k(const wk_loops *m) {
  const wk_attr_top_k *k = m->i->attrs;
  const wk_view *x = wk_cgen_input(m, 0);
  wk_inst_c *y = m->out;
  y->dims[k->axis] = 1;
  y->inner_rank = 2;
  y->inner_dims[0] = k->k;
  y->inner_dims[1] = x->dims[k->axis];
  y->step_reads = wk_cgen_reads(m, 1);
  y->step_reads[0] = wk_cgen_read(m, 0);
  y->n_step = 1;
  y->step_reads[0].at[k->axis] = y->index[0] = wk_inst_c_k[1];
  y->at[k->axis] = wk_inst_c_k[0];
  y->stores = wk_arena_printf(m->a, "k1 == %lld", (long long)y->inner_dims[1] - 1);
  y->begin = begin_top_k(m, x->dtype);
  y->step = step_top_k(m, x->dtype, k->largest != 0);
  wk_expr_builder *b = wk_expr_begin(m->a);
  uint16_t results[] = {wk_expr_input(b, 2, x->dtype), wk_expr_input(b, 3, WK_I64)};
  y->end = wk_expr_finish(b, results, 2);
  return true;
}

const char *wk_cgen_refuse_top_k(const wk_graph *g, const wk_node *n) {
  const wk_attr_top_k *k = n->attrs;
  int64_t looks;
  bool is_fine = wk_mul_ok(k->k, wk_val(g, n->in[0])->type.dims[k->axis], &looks);
  return is_fine && looks <= TOP_K_LIMIT ? NULL : "it would go along a long line many times";
}
