/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/cgen/inst_c_make.h"

const char *const wk_inst_c_k[WK_MAX_RANK] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};
const char *const wk_inst_c_p[WK_MAX_RANK] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};

/* ---- reads ----------------------------------------------------------------------------------- */

const wk_view *wk_cgen_input(const wk_loops *m, uint32_t k) {
  return &m->i->operands[m->i->n_out + k];
}

uint32_t wk_cgen_inputs(const wk_loops *m) { return m->i->n_operands - m->i->n_out; }

wk_inst_c_read wk_cgen_read(const wk_loops *m, uint32_t k) {
  wk_inst_c_read r = {.operand = m->i->n_out + k};
  int rank = wk_cgen_input(m, k)->rank, shift = m->out->rank - rank;
  for (int d = 0; d < rank; d++) r.at[d] = wk_inst_c_i[d + shift];
  return r;
}

wk_inst_c_read *wk_cgen_reads(const wk_loops *m, size_t n) {
  return wk_arena_alloc(m->a, n * sizeof(wk_inst_c_read));
}

void wk_cgen_end_with_inputs(const wk_loops *m, const wk_expr *end) {
  uint32_t n = wk_cgen_inputs(m);
  m->out->end = end;
  m->out->n_end = n;
  m->out->end_reads = wk_cgen_reads(m, n);
  for (uint32_t k = 0; k < n; k++) m->out->end_reads[k] = wk_cgen_read(m, k);
}

/* ---- expressions ----------------------------------------------------------------------------- */

const wk_expr *wk_cgen_neutral(const wk_loops *m, const char *kind, wk_dtype t) {
  wk_expr_builder *b = wk_expr_begin(m->a);
  wk_scalar v = wk_fold_neutral(kind, t);
  return wk_expr_done(b, wk_dtype_is_float(t) ? wk_expr_f(b, t, v.f) : wk_expr_i(b, t, v.i));
}

uint16_t wk_expr_both(wk_expr_builder *b, uint16_t x, uint16_t y) {
  return wk_expr_2(b, WK_EX_AND, x, y);
}

uint16_t wk_expr_either(wk_expr_builder *b, uint16_t x, uint16_t y) {
  return wk_expr_2(b, WK_EX_OR, x, y);
}

uint16_t wk_expr_negative(wk_expr_builder *b, uint16_t x) {
  return wk_expr_2(b, WK_EX_LT, x, wk_expr_i(b, WK_I64, 0));
}

static uint16_t is_nan(wk_expr_builder *b, uint16_t x) { return wk_expr_1(b, WK_EX_IS_NAN, x); }

uint16_t wk_expr_ahead(wk_expr_builder *b, bool descends, uint16_t x, uint16_t y) {
  uint16_t ahead = wk_expr_2(b, descends ? WK_EX_GT : WK_EX_LT, x, y);
  if (!wk_dtype_is_float(wk_expr_dtype(b, x))) return ahead;
  uint16_t large = descends ? x : y, small = descends ? y : x;
  uint16_t is_number = wk_expr_1(b, WK_EX_NOT, is_nan(b, small));
  return wk_expr_either(b, ahead, wk_expr_both(b, is_nan(b, large), is_number));
}

uint16_t wk_expr_tie(wk_expr_builder *b, uint16_t x, uint16_t y) {
  uint16_t tie = wk_expr_2(b, WK_EX_EQ, x, y);
  if (!wk_dtype_is_float(wk_expr_dtype(b, x))) return tie;
  return wk_expr_either(b, tie, wk_expr_both(b, is_nan(b, x), is_nan(b, y)));
}
