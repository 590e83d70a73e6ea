/* SPDX-License-Identifier: Apache-2.0
 * Loops of what goes through elements: map, copy, fill, and folds along axes. */
#include <string.h>

#include "compiler/cgen/inst_c_make.h"

bool wk_cgen_map(const wk_loops *m) {
  wk_cgen_end_with_inputs(m, ((const wk_attr_map *)m->i->attrs)->body);
  return true;
}

bool wk_cgen_copy(const wk_loops *m) {
  wk_cgen_end_with_inputs(m, wk_expr_identity(m->a, m->i->operands[0].dtype));
  return true;
}

bool wk_cgen_fill(const wk_loops *m) {
  wk_expr_builder *b = wk_expr_begin(m->a);
  double v = ((const wk_attr_fill *)m->i->attrs)->value;
  wk_cgen_end_with_inputs(m, wk_expr_done(b, wk_expr_f(b, m->i->operands[0].dtype, v)));
  return true;
}

/* ---- reduce ---------------------------------------------------------------------------------- */

typedef struct {
  const wk_loops *m;
  const wk_attr_reduce *r;
  wk_dtype t, sum; /* of the elements that are folded; of the accumulator */
} fold;

typedef struct {
  const char *kind;
  bool (*make)(const fold *f, wk_expr_op op);
  wk_expr_op op;
} fold_kind;

/* pre of what is read, which are the inputs behind the accumulators */
static uint16_t folded(const fold *f, wk_expr_builder *b, uint32_t n_accumulators) {
  uint32_t n = wk_cgen_inputs(f->m);
  uint16_t *in = wk_arena_alloc(f->m->a, n * sizeof *in);
  for (uint32_t k = 0; k < n; k++)
    in[k] = wk_expr_input(b, n_accumulators + k, wk_cgen_input(f->m, k)->dtype);
  return f->r->pre ? wk_expr_inline(b, f->r->pre, in, 0) : in[0];
}

static const wk_expr *ended(const fold *f, wk_expr_builder *b, uint16_t y) {
  return wk_expr_done(b, f->r->post ? wk_expr_inline(b, f->r->post, &y, 0) : y);
}

static bool accumulate(const fold *f, wk_expr_op op) {
  wk_inst_c *y = f->m->out;
  y->begin = wk_cgen_neutral(f->m, f->r->kind, f->sum);
  wk_expr_builder *b = wk_expr_begin(f->m->a);
  y->step = wk_expr_done(b, wk_expr_2(b, op, wk_expr_input(b, 0, f->sum),
                                      wk_expr_cast(b, f->sum, folded(f, b, 1))));
  b = wk_expr_begin(f->m->a);
  y->end = ended(f, b, wk_expr_cast(b, f->t, wk_expr_input(b, 0, f->sum)));
  return true;
}

/* The value and where it was; -1 before the first one. */
static bool find(const fold *f, wk_expr_op op) {
  wk_inst_c *y = f->m->out;
  if (f->r->axes.n != 1) return false;
  wk_expr_builder *b = wk_expr_begin(f->m->a);
  y->begin = wk_expr_finish(b, (uint16_t[]){wk_expr_f(b, f->t, 0), wk_expr_i(b, WK_I64, -1)}, 2);
  b = wk_expr_begin(f->m->a);
  uint16_t best = wk_expr_input(b, 0, f->t), where = wk_expr_input(b, 1, WK_I64);
  uint16_t x = folded(f, b, 2), at = wk_expr_index(b, f->r->axes.v[0]);
  uint16_t better = wk_expr_2(b, op, x, best);
  if (wk_dtype_is_float(f->t)) { /* NaN is both the least and the greatest */
    uint16_t is_nan = wk_expr_1(b, WK_EX_IS_NAN, x);
    uint16_t is_number = wk_expr_1(b, WK_EX_NOT, wk_expr_1(b, WK_EX_IS_NAN, best));
    better = wk_expr_either(b, better, wk_expr_both(b, is_nan, is_number));
  }
  if (f->r->select_last) better = wk_expr_either(b, better, wk_expr_tie(b, x, best));
  better = wk_expr_either(b, wk_expr_negative(b, where), better);
  uint16_t step[] = {wk_expr_3(b, WK_EX_SELECT, better, x, best),
                     wk_expr_3(b, WK_EX_SELECT, better, at, where)};
  y->step = wk_expr_finish(b, step, 2);
  b = wk_expr_begin(f->m->a);
  y->end = ended(f, b, wk_expr_input(b, 1, WK_I64));
  return true;
}

static const fold_kind kinds[] = {
    {"sum", accumulate, WK_EX_ADD}, {"prod", accumulate, WK_EX_MUL}, {"max", accumulate, WK_EX_MAX},
    {"min", accumulate, WK_EX_MIN}, {"argmax", find, WK_EX_GT},      {"argmin", find, WK_EX_LT}};

/* The axes that are folded are those of k. */
static void fold_axes(const wk_loops *m, const wk_ints *axes) {
  wk_inst_c *y = m->out;
  y->inner_rank = y->rank;
  for (int d = 0; d < y->rank; d++) y->inner_dims[d] = 1;
  for (int64_t k = 0; k < axes->n; k++) {
    int64_t d = axes->v[k];
    y->inner_dims[d] = y->dims[d];
    y->dims[d] = 1;
    y->index[d] = wk_inst_c_k[d];
  }
  uint32_t n = wk_cgen_inputs(m);
  y->n_step = n;
  y->step_reads = wk_cgen_reads(m, n);
  for (uint32_t k = 0; k < n; k++) {
    y->step_reads[k].operand = m->i->n_out + k;
    memcpy(y->step_reads[k].at, y->index, sizeof y->index);
  }
}

bool wk_cgen_reduce(const wk_loops *m) {
  fold f = {.m = m, .r = m->i->attrs, .t = wk_cgen_input(m, 0)->dtype};
  if (f.r->pre) f.t = f.r->pre->nodes[f.r->pre->results[0]].dtype;
  fold_axes(m, &f.r->axes);
  for (size_t k = 0; k < WK_COUNTOF(kinds); k++) {
    if (strcmp(kinds[k].kind, f.r->kind) != 0) continue;
    bool is_rounded_once = kinds[k].op == WK_EX_ADD || kinds[k].op == WK_EX_MUL;
    f.sum = is_rounded_once ? wk_compute_dtype(f.t) : f.t;
    return kinds[k].make(&f, kinds[k].op);
  }
  return false;
}
